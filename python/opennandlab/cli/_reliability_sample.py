"""`reliability plan`: what a sample of drives shows after JESD218."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import Printed
from opennandlab.cli.options.reliability import Class
from opennandlab.cli.options.rows import flag

if TYPE_CHECKING:
    from opennandlab.reliability.sample import Count, SamplePlan

PLAN_EXAMPLE = "opennandlab reliability plan --class client --drives 31 --tbw 70"
# Failures for which the fewest drives are printed.
FAILURES = range(6)


@dataclass(frozen=True, kw_only=True)
class PlanOptions(Printed):
    """Options of `plan`."""

    tbw: Annotated[float, flag("TB that the host writes to each drive.")]
    drive_class: Annotated[Class, flag("Class of JESD218.", "--class")] = Class.CLIENT
    drives: Annotated[int, flag("Drives of the sample.")] = 31
    read: Annotated[
        float | None, flag("TB that are read of each drive; default: as many as are written.")
    ] = None
    failures: Annotated[int | None, flag("Drives that failed in the test.")] = None
    errors: Annotated[int | None, flag("Data errors of all drives in the test.")] = None


def plan(given: PlanOptions) -> None:
    """Sample plan after JESD218: drives that are needed, failures and data errors allowed.

    Exit code 1 when the failures or the errors given are too many.
    """
    from opennandlab.reliability import sample_plan

    found = sample_plan(
        given.drive_class.value,
        given.drives,
        given.tbw,
        read_tb=given.read,
        failures=given.failures,
        errors=given.errors,
    )
    if given.as_json:
        terminal.emit_json(_document(found))
    elif not given.quiet:
        _print(found)
    if found.passed is False:
        raise typer.Exit(terminal.FAILED)


def _needed(found: "SamplePlan") -> list[int]:
    from opennandlab.reliability import CLASSES, drives_needed

    share = CLASSES[found.drive_class].functional_failures_max
    return [drives_needed(failures, share) for failures in FAILURES]


def _document(found: "SamplePlan") -> dict[str, Any]:
    def of(count: "Count") -> dict[str, Any]:
        return {
            "limit": count.limit,
            "allowed": count.allowed,
            "found": count.found,
            "passed": count.passed,
        }

    return {
        "drive_class": found.drive_class,
        "drives": found.drives,
        "terabytes": found.terabytes,
        "failures": of(found.failures),
        "errors": of(found.errors),
        "drives_needed": _needed(found),
        "passed": found.passed,
    }


def _verdict(count: "Count") -> str:
    if count.allowed is None:
        return "cannot be shown"
    if count.passed is None:
        return "not known"
    return "passed" if count.passed else "not passed"


def _print(found: "SamplePlan") -> None:
    from opennandlab.base.words import number

    def row(name: str, count: "Count") -> tuple[str, ...]:
        allowed = "-" if count.allowed is None else number(count.allowed)
        seen = "-" if count.found is None else number(count.found)
        return name, f"{count.limit:.4g}", allowed, seen, _verdict(count)

    console = terminal.stdout()
    console.print(
        f"JESD218 {found.drive_class}, {number(found.drives)} drives, "
        f"{number(found.terabytes)} TB each (rules recalled, unverified)",
        style="bold",
        markup=False,
    )
    heads = ("", "mean at most (60 %)", "allowed", "found", "verdict")
    rows = [row("drives that fail", found.failures), row("data errors", found.errors)]
    console.print(terminal.Grid(heads, rows, left=(0, 4)))
    needed = ", ".join(
        f"{failures}: {number(count)}"
        for failures, count in zip(FAILURES, _needed(found), strict=True)
    )
    console.print(f"drives needed, by drives that fail: {needed}", markup=False)
