"""`calibrate`: a device file held against what was measured, or its keys fitted to that."""

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._engines import Jobs
from opennandlab.cli._progress import shown
from opennandlab.cli._report_tables import show
from opennandlab.cli._terminal import Json, Quiet, Seed
from opennandlab.cli._typed import typed_device

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opennandlab.studies.calibration.calibrating import Calibration
    from opennandlab.studies.calibration.objective import Progress

REQUESTS, REQUESTS_MAX = 2000, 20_000_000
SETTLE = 2.0


def calibrate(
    device: Annotated[
        str,
        typer.Option(
            "--device",
            "-d",
            metavar="PRESET|FILE",
            callback=typed_device,
            help="The device before.",
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="FILE|reference:NAME",
            help="What was measured: IOPS, throughput or latency (`pts import`), or JSON of fio.",
        ),
    ],
    free: Annotated[
        list[str] | None,
        typer.Option(
            "--free",
            metavar="KEY[=LOW:HIGH]",
            help="A key to fit; bounds: a tenth to ten times, within the schema. Repeatable. "
            "Without it the device is compared as it is.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE.yaml",
            help="Write the fitted device; without --free the document (FILE.json).",
        ),
    ] = None,
    hold_out: Annotated[
        str | None,
        typer.Option(
            "--hold-out",
            metavar="SHARE|CELL,…",
            help="Cells that take no part in the fit, such as 0.25 or 4:0/100.",
        ),
    ] = None,
    runs: Annotated[
        int | None, typer.Option("--runs", min=1, help="Runs of each start; default 40 per key.")
    ] = None,
    starts: Annotated[
        int,
        typer.Option(
            "--starts", min=1, max=100, help="Starts at most; no more when two end equally well."
        ),
    ] = 4,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="Threads (TC).")] = None,
    queue_depth: Annotated[
        int | None, typer.Option("--queue-depth", min=1, help="Outstanding per thread (QD).")
    ] = None,
    active_range: Annotated[
        float | None,
        typer.Option("--active-range-pct", min=0.1, max=100, help="Part of the drive in use."),
    ] = None,
    amount: Annotated[
        str | None,
        typer.Option("--ar-amount", metavar="SIZE", help="What of it was tested, in segments."),
    ] = None,
    requests: Annotated[
        int,
        typer.Option(
            "--requests",
            min=10,
            help="Requests of a cell at least, fewer of large ones: writes last as long as what "
            "the drive must reclaim.",
        ),
    ] = REQUESTS,
    requests_max: Annotated[
        int,
        typer.Option(
            "--requests-max", min=10, help="Requests of a cell; one that takes more is refused."
        ),
    ] = REQUESTS_MAX,
    settle: Annotated[
        float, typer.Option("--settle", min=0, max=100, help="Writes before, in range sizes.")
    ] = SETTLE,
    blocks: Annotated[
        int | None,
        typer.Option(
            "--blocks", min=0, help="Blocks per plane that are simulated; 0: all. Default: 16 GiB."
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a report as a page.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Draw the errors of all cells: SVG, PNG, PDF, page."
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Take cells of the import that are uncertain.")
    ] = False,
    seed: Seed = 42,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Hold a device file against what was measured, or fit keys of it.

    The same command goes on after Ctrl-C.
    """
    with terminal.guard(as_json=as_json):
        from opennandlab.studies.calibration import calibrating
        from opennandlab.studies.calibration.conditions import Asked
        from opennandlab.targets.opening import parse_size

        is_shown = as_json or html is not None or plot is not None
        fitted, document = _places(output, is_fit=bool(free), is_shown=is_shown)
        journal = None if fitted is None else fitted.with_name(f".{fitted.name}.journal")
        inputs = {"--device": Path(device), "--to": Path(to)}
        outputs = {"--output": fitted, "the document": document, "--html": html, "--plot": plot}
        terminal.check_outputs(outputs, dict(inputs))
        wanted = calibrating.plan(
            device,
            to,
            free or (),
            hold_out=hold_out,
            runs=runs,
            starts=starts,
            seed=seed,
            asked=Asked(
                threads=threads,
                queue_depth=queue_depth,
                share=None if active_range is None else active_range / 100,
                amount_bytes=parse_size(amount) if amount else None,
                requests=requests,
                requests_max=requests_max,
                settle=settle,
                blocks=blocks,
            ),
            force=force,
        )
        with shown(line, quiet=quiet) as watch:
            found = calibrating.run(
                wanted, jobs=jobs, journal=journal, watch=watch, command=_command()
            )
        if found.document.partial:
            terminal.ignore_signals()
        wrote = _write(found, outputs)
        _tell(found, wrote, as_json=as_json, quiet=quiet)


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
    """Return how far a calibration is.

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
    """Return what was typed."""
    return shlex.join(["opennandlab", *sys.argv[1:]]) if sys.argv[1:2] == ["calibrate"] else ""


def _write(found: "Calibration", outputs: "Mapping[str, Path | None]") -> list[Path]:
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
            writer.write(pages.drawn(found.document), path)
        elif option == "--output":
            write_atomically(path, found.text.encode())
        else:
            write_atomically(path, as_bytes(readable_json(plain(found.document)) + "\n"))
    return [path for path in outputs.values() if path is not None]


def _tell(found: "Calibration", wrote: list[Path], *, as_json: bool, quiet: bool) -> None:
    from opennandlab.documents.record import plain
    from opennandlab.reports import calibration as pages

    document = found.document
    if as_json:
        terminal.emit_json(plain(document))
    elif not quiet:
        for text in document.warnings:
            terminal.note(f"warning: {text}")
        title = f"{document.device}: {pages.subtitle(document)}"
        if document.keys:
            title += f", {document.runs} runs"
            show(title, (pages.brief(document), pages.errors(document)), document.digest)
        else:
            show(title, (pages.errors(document), pages.by_cell(document)), document.digest)
        for path in wrote:
            terminal.note(f"wrote {os.fspath(path)}")
    if document.partial:
        text = "interrupted: the best so far is written; the same command goes on from there"
        terminal.stop(terminal.INTERRUPTED, text)
