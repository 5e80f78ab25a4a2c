"""`calibrate`: a device file compared with what was measured, or its keys fitted to that."""

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._progress import shown
from opennandlab.cli._report_tables import show
from opennandlab.cli._typed import typed_device
from opennandlab.cli.options.common import ForPrint, Jobs, Printed, Seed, draw
from opennandlab.cli.options.rows import flag

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opennandlab.reports.figure.paper import Paper
    from opennandlab.studies.calibration import Calibration
    from opennandlab.studies.calibration.objective import Progress

REQUESTS, REQUESTS_MAX = 2000, 20_000_000
SETTLE = 2.0


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions(ForPrint, Printed):
    """Options of `calibrate`."""

    device: Annotated[
        str, flag("The device to calibrate.", "-d", metavar="PRESET|FILE", callback=typed_device)
    ]
    to: Annotated[
        list[str],
        flag(
            "Measurements: IOPS, throughput, latency (`pts import`), JSON of fio, skew, fill, "
            "zones, load, or a CSV of cells. Repeatable for tables of one drive.",
            metavar="FILE|reference:NAME",
        ),
    ]
    free: Annotated[
        list[str] | None,
        flag(
            "A key to fit; bounds: a tenth to ten times, within the schema; or values to "
            "choose among, each with a separate fit. Repeatable. Without it the device is "
            "compared as it is.",
            metavar="KEY[=LOW:HIGH|=ONE,OTHER]",
        ),
    ] = None
    output: Annotated[
        Path | None,
        flag(
            "Write the fitted device; without --free the document (FILE.json).",
            "-o",
            metavar="FILE.yaml",
        ),
    ] = None
    hold_out: Annotated[
        str | None,
        flag(
            "Cells that take no part in the fit, such as 0.25 or 4:0/100.", metavar="SHARE|CELL,…"
        ),
    ] = None
    runs: Annotated[int | None, flag("Runs of each start; default 40 per key.", min=1)] = None
    starts: Annotated[
        int | None,
        flag(
            "Maximum number of starts; fewer if two end equally well. Default 4; 1 for skew, fill, "
            "zones and load.",
            min=1,
            max=100,
        ),
    ] = None
    threads: Annotated[int | None, flag("Threads (TC).", min=1)] = None
    queue_depth: Annotated[int | None, flag("Outstanding per thread (QD).", min=1)] = None
    active_range: Annotated[
        float | None, flag("Part of the drive in use.", "--active-range-pct", min=0.1, max=100)
    ] = None
    amount: Annotated[
        str | None,
        flag("Bytes of the drive that were tested, in segments.", "--ar-amount", metavar="SIZE"),
    ] = None
    requests: Annotated[
        int,
        flag(
            "Minimum number of requests of a cell (fewer if they are large); writes continue "
            "until the drive has reclaimed enough.",
            min=10,
        ),
    ] = REQUESTS
    requests_max: Annotated[
        int,
        flag("Maximum number of requests of a cell; a cell that needs more is refused.", min=10),
    ] = REQUESTS_MAX
    settle: Annotated[
        float, flag("Writes before each cell, as multiples of its range.", min=0, max=100)
    ] = SETTLE
    blocks: Annotated[
        int | None,
        flag("Blocks per plane that are simulated, in place of --shrink; 0: all.", min=0),
    ] = None
    shrink: Annotated[
        str,
        flag(
            "Divide the pages of a block; auto: above 16 GiB, and for skew, fill, zones and load.",
            metavar="auto|1|N",
        ),
    ] = "auto"
    weights: Annotated[
        str | None,
        flag(
            "Weights of figures; default waf=3,rate=1,p50=0.5,p99=0.5,p99.9=0.25.",
            metavar="KIND=WEIGHT,…",
        ),
    ] = None
    html: Annotated[Path | None, flag("Write a report as an HTML page.", metavar="FILE")] = None
    plot: Annotated[
        Path | None, flag("Draw the errors of all cells: SVG, PNG, PDF or HTML.", metavar="FILE")
    ] = None
    force: Annotated[bool, flag("Also use cells that are uncertain or were not steady.")] = False
    seed: Seed = 42
    jobs: Jobs = None


def calibrate(given: CalibrateOptions) -> None:
    """Compare a device file with measurements, or fit keys of it.

    The same command continues after Ctrl-C.
    """
    from opennandlab.base.units import parse_bytes
    from opennandlab.core.shrinking import asked_divisor
    from opennandlab.studies.calibration import calibrating
    from opennandlab.studies.calibration.conditions import Asked
    from opennandlab.studies.calibration.planning import plan

    is_shown = given.as_json or given.html is not None or given.plot is not None
    fitted, document = _places(given.output, is_fit=bool(given.free), is_shown=is_shown)
    journal = None if fitted is None else fitted.with_name(f".{fitted.name}.journal")
    inputs = {"--device": Path(given.device), **{f"--to {one}": Path(one) for one in given.to}}
    outputs = {
        "--output": fitted,
        "the document": document,
        "--html": given.html,
        "--plot": given.plot,
    }
    terminal.check_outputs(outputs, dict(inputs))
    paper = given.page(given.plot)
    wanted = plan(
        given.device,
        given.to,
        given.free or (),
        hold_out=given.hold_out,
        runs=given.runs,
        starts=given.starts,
        seed=given.seed,
        asked=Asked(
            threads=given.threads,
            queue_depth=given.queue_depth,
            share=None if given.active_range is None else given.active_range / 100,
            amount_bytes=parse_bytes(given.amount) if given.amount else None,
            requests=given.requests,
            requests_max=given.requests_max,
            settle=given.settle,
            blocks=given.blocks,
            shrink=asked_divisor(given.shrink),
        ),
        weights=given.weights,
        force=given.force,
    )
    with shown(line, quiet=given.quiet) as watch:
        found = calibrating.run(
            wanted, jobs=given.jobs, journal=journal, watch=watch, command=_command()
        )
    if found.document.partial:
        terminal.ignore_signals()
    wrote = _write(found, outputs, paper, is_told=not given.quiet)
    _tell(found, wrote, given)


def _places(
    output: Path | None, *, is_fit: bool, is_shown: bool
) -> tuple[Path | None, Path | None]:
    """Return where the fitted device goes, and the document.

    Args:
        output: As it was given.
        is_fit: Whether keys are fitted.
        is_shown: Whether what is found goes elsewhere too: a page, a figure, JSON.

    Raises:
        ConfigError: for a fit that would be lost, and a device file where none is made.
    """
    from opennandlab.base.errors import ConfigError

    if is_fit:
        if output is None and not is_shown:
            message = "is missing: the fitted device needs a place; accepted: FILE.yaml"
            raise ConfigError("--output", message)
        return output, None if output is None else output.with_suffix(".json")
    if output is not None and output.suffix.lower() in {".yaml", ".yml"}:
        message = f"{output}: no key is free, so no device is made; accepted: FILE.json, or --free"
        raise ConfigError("--output", message)
    return None, output


def line(state: "Progress") -> str:
    """Return the text of the progress line of a calibration.

    >>> from opennandlab.studies.calibration.objective import Progress
    >>> line(Progress("search", 40, 200, 12.34, 20.0))
    'search · at most 1 min 20 s left · run 40 of at most 200 · RMS error 12.34 %'
    """
    from opennandlab.cli._streams import duration

    left = "" if state.left_s is None else f"at most {duration(state.left_s)} left"
    parts = [state.stage, *filter(None, [left]), f"run {state.runs} of at most {state.runs_max}"]
    if state.rms_pct is not None:
        parts.append(f"RMS error {state.rms_pct:.2f} %")
    return " · ".join(parts)


def _command() -> str:
    """Return the command line, if it is that of `calibrate`; empty otherwise."""
    return shlex.join(["opennandlab", *sys.argv[1:]]) if sys.argv[1:2] == ["calibrate"] else ""


def _write(
    found: "Calibration",
    outputs: "Mapping[str, Path | None]",
    paper: "Paper | None",
    *,
    is_told: bool,
) -> list[Path]:
    """Write what was asked for; return the files."""
    from opennandlab.base.canonical import as_bytes, readable_json
    from opennandlab.base.files import write_atomically
    from opennandlab.documents.record import plain
    from opennandlab.reports import calibration as pages
    from opennandlab.reports import output as writer

    for option, path in outputs.items():
        if path is None:
            continue
        if option == "--html":
            writer.write(pages.report(found.document), path, ".html")
        elif option == "--plot":
            draw(pages.drawn(found.document), path, paper, is_told=is_told)
        elif option == "--output":
            write_atomically(path, found.text.encode())
        else:
            write_atomically(path, as_bytes(readable_json(plain(found.document)) + "\n"))
    return [path for path in outputs.values() if path is not None]


def _tell(found: "Calibration", wrote: list[Path], given: Printed) -> None:
    from opennandlab.documents.record import plain
    from opennandlab.reports import calibration as pages

    document = found.document
    if given.as_json:
        terminal.emit_json(plain(document))
    elif not given.quiet:
        for text in document.warnings:
            terminal.note(f"warning: {text}")
        title = f"{document.device}: {pages.subtitle(document)}"
        if document.verdict is not None:
            title += f", {document.runs} runs"
            show(title, tuple(pages.found(document)), document.digest)
        else:
            show(title, (pages.errors(document), pages.by_cell(document)), document.digest)
        for path in wrote:
            terminal.note(f"wrote {os.fspath(path)}")
    if document.partial:
        text = "interrupted: the best so far is written; the same command goes on from there"
        terminal.stop(terminal.INTERRUPTED, text)
    if document.verdict == "no variant fits":
        terminal.stop(terminal.FAILED, "no variant fits")
