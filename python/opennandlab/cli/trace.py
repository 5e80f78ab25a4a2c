"""`trace`: what recorded requests are, without a drive, and in another format."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli import _trace_tables as tables
from opennandlab.cli._progress import shown
from opennandlab.cli.options.common import Printed
from opennandlab.cli.options.rows import argument, command, flag
from opennandlab.cli.options.trace import ReadOptions, remap_of

app = typer.Typer(
    help="Recorded block traces: count what is in them, check them, convert them.",
    epilog="Example: opennandlab trace info msr.csv.gz",
    no_args_is_help=True,
)

# Pages that `info` keeps: some 15 MB, which the caches of a processor hold in part.
EXACT = 1 << 22
# The first bytes of records of blktrace, of which there is a file for each processor.
BLKTRACE = b"tae"


class Align(str, Enum):
    """The common zero of the times of several files."""

    START = "start"
    CLOCK = "clock"


class Target(str, Enum):
    """Formats that can be written."""

    CSV = "csv"
    FIO_IOLOG = "fio_iolog"
    BLKPARSE = "blkparse"
    MQSIM = "mqsim"


ADDRESSES = ("keep", "wrap", "scale", "dense")


class Part(str, Enum):
    """Requests that are written to one file."""

    VOLUME = "volume"
    PROCESS = "process"


@dataclass(frozen=True, kw_only=True)
class JoinedOptions(ReadOptions, Printed):
    """Files that are read as one trace."""

    files: Annotated[
        list[Path],
        argument(
            "Trace files; may be compressed with gzip, bzip2, xz or zstd. Several are joined by "
            "time; the files of blktrace, one for each processor, are one trace.",
            metavar="FILE...",
            show_default=False,
        ),
    ]
    align: Annotated[
        Align, flag("Several files: each begins at 0 (start), or they share a clock.")
    ] = Align.START
    dedupe: Annotated[
        bool, flag("Several files: drop requests that another has within a microsecond.")
    ] = False

    def config(self, **edit: Any) -> str:  # noqa: ANN401 (of JSON)
        """Return how they are read and changed, as the core takes it."""
        return json.dumps(
            {**self.reading(), "align": self.align.value, "dedupe": self.dedupe, "edit": edit}
        )

    def name(self) -> str:
        """Return what the trace is called."""
        return self.files[0].name + (f" and {len(self.files) - 1} more" if self.files[1:] else "")


@dataclass(frozen=True, kw_only=True)
class FileOptions(JoinedOptions):
    """Files that are read as one trace of pages."""

    page: Annotated[str, flag("Size of a page, 512 to 64KiB.", metavar="SIZE")] = "4KiB"

    def page_bytes(self) -> int:
        """Return the bytes of a page."""
        from opennandlab.base.units import parse_bytes

        return parse_bytes(self.page)


@dataclass(frozen=True, kw_only=True)
class InfoOptions(FileOptions):
    """Options of `info`."""

    exact: Annotated[
        int,
        flag(
            "Number of pages up to which all are counted; beyond it, one in 2, 4, 8, … is, "
            "and the rest is estimated.",
            min=1024,
            max=1 << 28,
            metavar="PAGES",
        ),
    ] = EXACT


@command(app, example="opennandlab trace info msr.csv.gz")
def info(given: InfoOptions) -> None:
    """Count what a trace holds: requests, footprint, locality, by volume and process."""
    found = _statistics(given, given.exact)
    if (sampled := found["sampled_one_in"]) > 1:
        warning = (
            f"distances are those of one page in {sampled}, multiplied: if few pages are hot, rows "
            "can be off by tens of percent, and those below that number are not resolved; "
            "--exact PAGES counts more"
        )
        found["warnings"] = [*found["warnings"], warning]
    if given.as_json:
        terminal.emit_json(found)
    elif not given.quiet:
        for warning in found["warnings"]:
            terminal.note(f"warning: {warning}")
        typer.echo(f"{given.name()}: read as {found['format']}")
        for table in tables.of(found):
            typer.echo("")
            terminal.stdout().print(table)


@command(app, example="opennandlab trace check *.csv")
def check(given: FileOptions) -> None:
    """Read each file to its end, and report errors with their positions."""
    from opennandlab.base.errors import TraceError

    reports = []
    for group in _groups(given.files):
        report: dict[str, Any] = {"file": " + ".join(group), "error": None, "notes": []}
        try:
            found = _read_one(group, given)
            report |= {"format": found["format"], "requests": _requests(found)}
            report["notes"] = found["warnings"]
            if found["first_late"] is not None:
                report["notes"].append(
                    f"{group[0]}:{found['first_late']}: the first request whose time is before "
                    "that of one above it"
                )
        except TraceError as error:
            report["error"] = str(error)
        reports.append(report)
    if given.as_json:
        terminal.emit_json({"files": reports})
    for one in reports:
        if one["error"]:
            typer.echo(f"error: {one['error']}", err=True)
        elif not (given.as_json or given.quiet):
            typer.echo(f"{one['file']}: sound, {one['format']}, {one['requests']} requests")
            for note in one["notes"]:
                typer.echo(f"  note: {note}")
    if any(one["error"] for one in reports):
        raise typer.Exit(2)


@dataclass(frozen=True, kw_only=True)
class ConvertOptions(FileOptions):
    """Options of `convert`."""

    output: Annotated[Path, flag("The file that is written.", "-o", metavar="FILE")]
    to: Annotated[Target, flag("Its format.")] = Target.CSV
    repeat: Annotated[
        int,
        flag(
            "Number of times that the whole trace is written, one after another.",
            min=1,
            max=1_000_000,
        ),
    ] = 1
    period: Annotated[
        float | None,
        flag(
            "Seconds from one start to the next; default: the span and the mean gap.",
            min=0.0,
            max=1e9,
        ),
    ] = None
    time_scale: Annotated[float, flag("Factor on times, 1e-6 to 1e6.")] = 1.0
    from_time: Annotated[
        float, flag("Only requests from this second on, counted from the first.", min=0.0, max=1e9)
    ] = 0.0
    to_time: Annotated[
        float | None,
        flag("Only requests before this second, counted from the first.", min=0.0, max=1e9),
    ] = None
    addresses: Annotated[
        str,
        flag(
            "keep; wrap (modulo --size) and scale (shrink page numbers to --size), volume by "
            "volume; dense (number the touched pages from 0, through all volumes); "
            "remap:MAP.csv (as a table of ranges says).",
            metavar="HOW",
        ),
    ] = "keep"
    size: Annotated[str | None, flag("Size of the target, for wrap and scale.", metavar="SIZE")] = (
        None
    )
    split_by: Annotated[Part | None, flag("Write a file for each volume or process.")] = None

    def edit(self) -> dict[str, Any]:
        """Return the changes, as the core takes them."""
        from opennandlab.base.units import parse_bytes

        def ns(seconds: float | None) -> int | None:
            return None if seconds is None else round(seconds * 1e9)

        return {
            "from_ns": ns(self.from_time),
            "to_ns": ns(self.to_time),
            "time_scale": self.time_scale,
            "repeat": self.repeat,
            "period_ns": ns(self.period),
            "addresses": "keep" if remap_of(self.addresses, ADDRESSES) else self.addresses,
            "size_bytes": None if self.size is None else parse_bytes(self.size),
            "page_bytes": self.page_bytes(),
        }


@command(app, example="opennandlab trace convert sda.blktrace.* --to fio_iolog -o sda.log")
def convert(given: ConvertOptions) -> None:
    """Write traces in another format: joined, cut, repeated, renumbered, split."""
    from opennandlab.base.errors import ConfigError

    if any(given.output.resolve() == file.resolve() for file in given.files):
        raise ConfigError("-o", f"{given.output} is also an input; accepted: another file")
    terminal.check_outputs({"--output": given.output})
    config = given.config(**given.edit())
    traces = _traces(given, config)
    duplicates = traces.duplicates()
    remap, moved = remap_of(given.addresses, ADDRESSES), dict[str, Any]()
    if remap is not None:
        traces, counted = traces.moved(str(remap), given.page_bytes())
        moved = json.loads(counted)
    traces, counted = traces.edit(config)
    pages = json.loads(counted) | moved.pop("pages", {})
    names = json.loads(traces.names())
    written = []
    for path, where in _parts(given, names):
        losses = json.loads(traces.write(str(path), given.to.value, **where))
        if losses["written"]:
            written.append({"file": str(path), **losses})
        else:
            path.unlink()
    document = {
        "files": written, "pages": pages, "duplicates": duplicates,
        "dropped": duplicates if given.dedupe else 0, "warnings": names["warnings"], **moved,
    }  # fmt: skip
    if given.as_json:
        terminal.emit_json(document)
    elif not given.quiet:
        for warning in names["warnings"]:
            terminal.note(f"warning: {warning}")
        for table in tables.of_conversion(document):
            terminal.stdout().print(table)


def _counted(count: int) -> str:
    return f"{count} requests counted"


@dataclass(frozen=True, kw_only=True)
class CaptureOptions(JoinedOptions):
    """Options of `capture`."""

    output: Annotated[
        Path | None, flag("The capture that is written.", "-o", metavar="FILE.json")
    ] = None
    step: Annotated[
        str | None,
        flag(
            "Length of a step, such as 5min; default: a 290th of the trace, at most 5min.",
            metavar="TIME",
        ),
    ] = None


@command(app, example="opennandlab trace capture msr.csv.gz -o capture.json")
def capture(given: CaptureOptions) -> None:
    """Count the IO streams of a trace, by steps of time: what `pts rwsw` runs."""
    from opennandlab.base.canonical import as_bytes, readable_json
    from opennandlab.base.errors import ConfigError
    from opennandlab.base.files import write_atomically
    from opennandlab.core.capture import capture as captured
    from opennandlab.documents.record import plain

    output = given.output
    if output is not None and any(output.resolve() == file.resolve() for file in given.files):
        raise ConfigError("-o", f"{output} is also an input; accepted: another file")
    terminal.check_outputs({"--output": output})
    with shown(_counted, quiet=given.quiet) as watch:
        found = captured(_groups(given.files), given.config(), step=given.step, watch=watch)
    document = plain(found)
    if output is not None:
        write_atomically(output, as_bytes(readable_json(document)))
    if given.as_json:
        terminal.emit_json(document)
    elif not given.quiet:
        for warning in found.warnings:
            terminal.note(f"warning: {warning}")
        for table in tables.of_capture(found):
            terminal.stdout().print(table)


def _parts(given: ConvertOptions, names: dict[str, Any]) -> list[tuple[Path, dict[str, int]]]:
    """Return the files to be written, and the requests of each."""
    if given.split_by is None:
        return [(given.output, {})]
    by = given.split_by.value
    listed = names["volumes" if by == "volume" else "processes"]
    found, paths = [], set()
    for at, name in enumerate(listed):
        safe = "".join(one if one.isalnum() or one in "._-" else "_" for one in name) or "none"
        path = given.output.with_name(f"{given.output.stem}.{safe}{given.output.suffix}")
        if path in paths:
            path = path.with_name(f"{path.stem}.{at}{path.suffix}")
        paths.add(path)
        found.append((path, {by: at}))
    return found


def _groups(files: Sequence[Path]) -> list[list[str]]:
    """Return the files of each trace: those of blktrace are one, others are one each."""
    raw: list[str] = []
    others: list[str] = []
    for file in files:
        try:
            with file.open("rb") as stream:
                head = stream.read(4)
        except OSError:
            head = b""
        (raw if head[1:4] == BLKTRACE else others).append(str(file))
    return [group for group in (raw, *([name] for name in others)) if group]


def _read_one(group: list[str], given: FileOptions, exact: int = EXACT) -> dict[str, Any]:
    from opennandlab import _core

    text = _core.trace_statistics(group, given.config(), given.page_bytes(), exact)
    found: dict[str, Any] = json.loads(text)
    return found


def _statistics(given: FileOptions, exact: int) -> dict[str, Any]:
    """Count in one pass; requests that are out of order, or of several files, are sorted first."""
    from opennandlab.base.errors import TraceError

    groups = _groups(given.files)
    found: dict[str, Any] | None = None
    if len(groups) == 1:
        found = _read_one(groups[0], given, exact)
        if not found["late_count"] or not given.files[0].is_file():
            return found
    try:
        traces = _traces(given, given.config())
    except TraceError:
        # No memory for them: the order of the file is better than nothing, and a warning names it.
        if found is None:
            raise
        return found
    of_all: dict[str, Any] = json.loads(traces.statistics(given.page_bytes(), exact))
    return of_all | {"duplicates": traces.duplicates()}


def _traces(given: FileOptions, config: str) -> Any:  # noqa: ANN401 (of the core)
    from opennandlab import _core
    from opennandlab.core.memory import available_bytes

    return _core.Traces(_groups(given.files), config, available_bytes())


def _requests(found: dict[str, Any]) -> int:
    return sum(counts["count"] for counts in found["ops"])
