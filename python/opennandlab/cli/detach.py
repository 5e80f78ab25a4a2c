"""`detach`: take down what `attach --run` made."""

from dataclasses import asdict, dataclass
from typing import Annotated

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import Printed
from opennandlab.cli.options.rows import argument, flag


@dataclass(frozen=True, kw_only=True)
class DetachOptions(Printed):
    """Options of `detach`."""

    name: Annotated[
        str,
        argument(
            "Mount point, loop device, or socket of the server.",
            metavar="DIR|DEVICE|SOCKET",
            show_default=False,
        ),
    ]
    run: Annotated[bool, flag("Run the commands, instead of printing them.")] = False


def detach(given: DetachOptions) -> None:
    """Unmount and detach a drive that `attach --run` made, and nothing else."""
    from opennandlab.serving import recipes

    made = recipes.found(given.name)
    if given.run:
        recipes.detach(made)
    if given.as_json:
        terminal.emit_json({"detached" if given.run else "attached": asdict(made)})
    elif not given.quiet:
        done = [f"detached {made.device}"]
        terminal.plain_lines(*(done if given.run else recipes.commands_down(made)))
