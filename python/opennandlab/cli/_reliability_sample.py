"""`reliability plan` and `life --drives`: what a sample of drives shows after JESD218."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._engines import carried_out, threads_of
from opennandlab.cli._progress import shown
from opennandlab.cli._sweep_tables import line
from opennandlab.cli.options.common import Jobs, Printed
from opennandlab.cli.options.reliability import Class
from opennandlab.cli.options.rows import Options, flag

if TYPE_CHECKING:
    from opennandlab.reliability.sample import Count, SamplePlan

PLAN_EXAMPLE = "opennandlab reliability plan --class client --drives 31 --tbw 70"
# Options of a life test that only a sample has.
OF_SAMPLES = ("accept", "read", "ramps", "jobs", "store")


@dataclass(frozen=True, kw_only=True)
class SampleOptions(Options):
    """Options of `life` that make it a test of several drives."""

    drives: Annotated[
        int | None,
        flag(
            "Test this number of drives, with a seed each, to --tbw.",
            metavar="N",
            min=1,
            max=10_000,
        ),
    ] = None
    accept: Annotated[
        bool,
        flag("With --drives: judge them together, by failures and data errors (60 % confidence)."),
    ] = False
    read: Annotated[
        float | None, flag("With --drives: TB read from each; default: as many as are written.")
    ] = None
    ramps: Annotated[
        bool,
        flag(
            "With --drives: temperatures cycle; otherwise half the drives are hot and half "
            "are cold."
        ),
    ] = False
    jobs: Jobs = None
    store: Annotated[
        Path | None, flag("With --drives: where finished drives are kept.", metavar="DIR")
    ] = None


@dataclass(frozen=True, kw_only=True)
class PlanOptions(Printed):
    """Options of `plan`."""

    tbw: Annotated[float, flag("TB that the host writes to each drive.")]
    drive_class: Annotated[Class, flag("Class of JESD218.", "--class")] = Class.CLIENT
    drives: Annotated[int, flag("Drives of the sample.")] = 31
    read: Annotated[
        float | None, flag("TB that are read from each drive; default: as many as are written.")
    ] = None
    failures: Annotated[int | None, flag("Drives that failed in the test.")] = None
    errors: Annotated[int | None, flag("Data errors of all drives in the test.")] = None


def plan(given: PlanOptions) -> None:
    """Sampling plan after JESD218: drives that are needed, failures and data errors allowed.

    Exit code 1 when the failures or the errors given are too many, 4 when the sample is too small
    to show anything.
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
        terminal.emit_json(found.to_dict())
    elif not given.quiet:
        _print(found)
    _end(found)


def life_of_sample(
    given: Any,  # noqa: ANN401 (the options of `life`)
    config: str,
    sets: dict[str, Any],
    life: dict[str, Any],
) -> None:
    """Test a sample of drives; finished ones are kept, and the same command continues.

    Args:
        given: Its options.
        config: The device.
        sets: Keys of the device that are set in all.
        life: Settings of the life test.
    """
    from opennandlab.store import Store
    from opennandlab.studies.fleet.life import LifeCampaign, Sample

    settings = {**life, "drive_class": given.drive_class.value}
    sample = Sample(config, given.drives, settings, sets, given.read, given.ramps, given.seed)
    planned = sample.plan()
    if given.accept and not given.quiet and not planned.can_show:
        terminal.note(f"note: {_too_small(planned)}", style="yellow")
    with (
        Store.open(given.store) as kept,
        shown(line, quiet=given.quiet) as watch,
    ):
        campaign = LifeCampaign(sample, kept, watch)
        is_partial = carried_out(
            lambda: campaign.to_the_end(lambda: threads_of(kept, given.jobs)),
            lambda: f"{campaign.done_count} of {given.drives} drives are",
        )
        document = campaign.document()
    failed = [row for row in document["tested"] if "error" in row]
    done = len(document["tested"]) - len(failed)
    counts = (document[key]["found"] if done == given.drives else None
              for key in ("failures", "errors"))  # fmt: skip
    judged = sample.plan(*counts)
    if given.as_json:
        terminal.emit_json(document)
    elif not given.quiet:
        _print_drives(document)
        _print(judged)
        for text in document["warnings"]:
            terminal.note(f"warning: {text}", style="yellow")
    if is_partial:
        terminal.stop(terminal.INTERRUPTED, "interrupted: the result is partial")
    if failed:
        reason = f"drive {failed[0]['drive']}: {failed[0]['error']}"
        terminal.stop(terminal.FAILED, f"{len(failed)} drives were not tested; {reason}")
    if given.accept:
        _end(judged)


def _end(found: "SamplePlan") -> None:
    """End with the exit code of a verdict."""
    if found.passed is False:
        raise typer.Exit(terminal.FAILED)
    if not found.can_show:
        terminal.stop(terminal.UNDECIDED, _too_small(found))


def _too_small(found: "SamplePlan") -> str:
    """Return what a sample cannot show."""
    from opennandlab.base.words import number
    from opennandlab.reliability import CLASSES, drives_needed

    required = CLASSES[found.drive_class]
    if found.failures.allowed is None:
        share = required.functional_failures_max
        return (
            f"{number(found.drives)} drives cannot show {100 * share:g} %; accepted: "
            f"{drives_needed(0, share)} or more"
        )
    return (
        f"{number(found.terabytes)} TB of {number(found.drives)} drives cannot show an UBER of "
        f"{required.uber_max:g}; accepted: more drives or more TB"
    )


def _print_drives(document: dict[str, Any]) -> None:
    """Print the tested drives by their temperature, and why others were not tested."""
    from math import fsum
    from statistics import fmean

    from opennandlab.base.words import number

    if (host := document["host"]) is not None:
        trace = f", SHA-256 {host['trace']['sha256'][:12]}…" if host["trace"] else ""
        terminal.stdout().print(f"workload: {host['workload']}{trace}", markup=False)
    heads = ("", "drives", "written", "WAF", "P/E", "UBER", "failed", "errors, mean", "drawn")
    rows = []
    tested = [row for row in document["tested"] if "error" not in row]
    for name in dict.fromkeys(row["temperature"] for row in tested):
        own = [row for row in tested if row["temperature"] == name]
        cycles = [row["pe_cycles"] for row in own]
        methods = "/".join(sorted({row["uber_method"] for row in own}))
        rows.append(
            (
                name,
                number(len(own)),
                f"{number(fmean(row['tbw_tb'] for row in own))} TB",
                number(fmean(row["waf"] for row in own)),
                f"{number(min(cycles))} to {number(max(cycles))}",
                f"{fmean(row['uber'] for row in own):.3e} {methods}",
                number(sum(row["failed"] for row in own)),
                number(fsum(row["errors_expected"] for row in own)),
                number(sum(row["errors"] for row in own)),
            )
        )
    if rows:
        terminal.stdout().print(terminal.Grid(heads, rows, left=(0,)))


def _verdict(count: "Count") -> str:
    if count.passed is None:
        return "cannot be shown" if count.allowed is None else "not known"
    return "passed" if count.passed else "not passed"


def _print(found: "SamplePlan") -> None:
    from opennandlab.base.words import number

    def row(name: str, count: "Count") -> tuple[str, ...]:
        allowed = "-" if count.allowed is None else number(count.allowed)
        seen = "-" if count.found is None else number(count.found)
        return name, f"{count.limit:.4g}", allowed, seen, _verdict(count)

    from opennandlab.reliability import CLASSES, drives_needed
    from opennandlab.reliability.jedec import BAKE_C, BAKE_H
    from opennandlab.reliability.sample import FAILURES

    required = CLASSES[found.drive_class]
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
        f"{failures}: {number(drives_needed(failures, required.functional_failures_max))}"
        for failures in FAILURES
    )
    console.print(f"drives needed, by drives that fail: {needed}", markup=False)
    console.print(
        f"retention: {number(required.retention_h)} h at {number(required.retention_c)} °C, as "
        f"{number(required.bake_h(BAKE_C))} h at {number(BAKE_C)} °C; baked for {number(BAKE_H)} h",
        markup=False,
    )
