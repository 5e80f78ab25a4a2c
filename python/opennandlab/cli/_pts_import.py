"""`pts import`: figures that others measured, as a document of a standard test."""

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._terminal import Json, Quiet

if TYPE_CHECKING:
    from opennandlab.documents.pts import PtsDocument
    from opennandlab.measured.importing import Wanted

EXAMPLE = "opennandlab pts import reference:client_2013_iops --output drive.json"
SIZE = "SIZE"


class TestName(str, Enum):
    """Tests that cells can be of."""

    IOPS = "iops"
    THROUGHPUT = "throughput"
    LATENCY = "latency"


class PatternName(str, Enum):
    """Orders of requests."""

    RANDOM = "random"
    SEQUENTIAL = "sequential"


class ProfileName(str, Enum):
    """Profiles of the specification."""

    CLIENT = "C"
    ENTERPRISE = "E"


def import_(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE…",
            help="JSON or JSON+ of fio, tables as CSV, a document of a standard test, or "
            "reference:NAME.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.json", help="Write the document."),
    ] = None,
    references: Annotated[
        bool, typer.Option("--list", help="List the published tables that are shipped.")
    ] = False,
    test: Annotated[
        TestName | None, typer.Option("--test", help="The test. Default: by what was measured.")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option("--unit", metavar="UNIT", help="Of a wide table: iops, mb_s, art_ms, …"),
    ] = None,
    pattern: Annotated[
        PatternName | None, typer.Option("--pattern", help="Take these jobs of fio only.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Threads (TC); of fio, these jobs only.")
    ] = None,
    queue_depth: Annotated[
        int | None,
        typer.Option("--queue-depth", min=1, help="Outstanding per thread (QD), likewise."),
    ] = None,
    any_order: Annotated[
        bool, typer.Option("--any-order", help="Take the mixes of a table in any order.")
    ] = False,
    allow_cut: Annotated[
        bool,
        typer.Option(
            "--allow-cut", help="Of an output of fio that breaks off, take what is whole."
        ),
    ] = False,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Name of the document.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="TEXT", help="Model of the drive.")
    ] = None,
    capacity: Annotated[
        str | None, typer.Option("--capacity", metavar=SIZE, help="Of the drive, such as 233GiB.")
    ] = None,
    amount: Annotated[
        str | None,
        typer.Option("--ar-amount", metavar=SIZE, help="What of it was tested, in 2048 segments."),
    ] = None,
    profile: Annotated[
        ProfileName | None, typer.Option("--profile", help="Profile of the specification.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="TEXT", help="Who measured it, where it was published."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Import what others measured; nothing is written unless all of it is sound."""
    with terminal.guard(as_json=as_json):
        from opennandlab.base.errors import ConfigError
        from opennandlab.measured.importing import Wanted
        from opennandlab.targets.opening import parse_size

        if references:
            _list(as_json=as_json)
            return
        if not files:
            raise ConfigError("FILE", "nothing to import; accepted: files, reference:NAME, --list")
        inputs = {f"the input {path}": Path(path) for path in files}
        terminal.check_outputs({"--output": output}, dict(inputs))
        document = _document(
            files,
            Wanted(
                test=test.value if test else None,
                pattern=pattern.value if pattern else None,
                unit=unit,
                threads=threads,
                queue_depth=queue_depth,
                any_order=any_order,
                allow_cut=allow_cut,
                name=name,
                model=model,
                capacity_bytes=parse_size(capacity) if capacity else None,
                amount_bytes=parse_size(amount) if amount else None,
                profile=profile.value if profile else None,
                source=source,
            ),
        )
        _tell(document, output, as_json=as_json, quiet=quiet)


def _document(files: list[str], wanted: "Wanted") -> "PtsDocument":
    from opennandlab.base.errors import ConfigError
    from opennandlab.measured import import_files, reference
    from opennandlab.measured.published import PREFIX

    named = [one for one in files if one.startswith(PREFIX)]
    if named and len(files) > 1:
        raise ConfigError("FILE", f"{named[0]} stands alone; `compare` takes several")
    return reference(named[0]) if named else import_files(files, wanted)


def _tell(document: "PtsDocument", output: Path | None, *, as_json: bool, quiet: bool) -> None:
    from opennandlab.base.canonical import as_bytes, readable_json
    from opennandlab.base.files import write_atomically
    from opennandlab.cli._pts_tables import grid, title
    from opennandlab.documents.pts import to_json
    from opennandlab.reports.pts import source, tables

    if output is not None:
        write_atomically(output, as_bytes(readable_json(to_json(document)) + "\n"))
    if as_json:
        terminal.emit_json(to_json(document))
        return
    if quiet:
        return
    console = terminal.stdout(is_numbers=True)
    console.print(title(document), style="bold", markup=False, soft_wrap=True)
    for table in tables.of_blocks(source.read(to_json(document), document.name)):
        console.print(f"\n{table.title}", markup=False)
        console.print(grid(table))
        if table.note:
            console.print(table.note, markup=False, soft_wrap=True)
    for text in document.warnings:
        console.print(f"note: {text}", markup=False, soft_wrap=True)
    found = document.header.imported
    if found is not None and found.unknown:
        console.print(f"unknown: {', '.join(found.unknown)}", markup=False, soft_wrap=True)
    wrote = f"wrote {output}" if output else "nothing was written; --output FILE.json keeps it"
    console.print(wrote, markup=False, soft_wrap=True)


def _list(*, as_json: bool) -> None:
    from dataclasses import asdict

    from opennandlab.measured import references

    found = references()
    if as_json:
        terminal.emit_json({one.name: asdict(one) for one in found})
        return
    rows = [[one.name, one.test, one.title, one.source] for one in found]
    heads = ("reference", "test", "what", "source")
    terminal.stdout().print(terminal.Grid(heads, rows, left=(0, 1, 2, 3)))
