"""The answer of the gate before a real target, for plans."""

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from opennandlab.targets.opening import Request
    from opennandlab.targets.safety import Work


def gate_plan(request: "Request", work: "Work", *, is_said: bool) -> dict[str, Any] | None:
    """Print what speaks against writing to a device or a file; None for other targets.

    Args:
        request: The target.
        work: What would be done to it.
        is_said: Whether it is printed.
    """
    if request.kind == "device":
        from opennandlab.targets.safety import make_plan

        gate = make_plan(request.text, request.consent, work)
        lines, found = gate.lines(), gate.to_dict()
    elif request.kind == "file":
        from opennandlab.targets.file import objections
        from opennandlab.targets.opening import file_parts

        reasons = objections(*file_parts(request.text), request.consent)
        lines, found = [f"refused: {reason}" for reason in reasons], {"refused": reasons}
    else:
        return None
    for line in lines if is_said else ():
        typer.echo(line)
    return found
