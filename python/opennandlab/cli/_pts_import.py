"""`pts import`: figures that others measured, as a document of a standard test."""

from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import Printed
from opennandlab.cli.options.fio import FioChoice
from opennandlab.cli.options.rows import argument, flag

if TYPE_CHECKING:
    from opennandlab.documents.pts import PtsDocument
    from opennandlab.measured.importing import Wanted

EXAMPLE = "opennandlab pts import reference:client_2013_iops --output drive.json"
SIZE = "SIZE"
# What is said of files of others.
DESCRIBING = ("test", "unit", "block_size", "pattern", "threads", "queue_depth", "job", "any_order",
              "allow_cut", "name", "model", "capacity", "amount", "profile", "source")  # fmt: skip


class TestName(str, Enum):
    """Tests that cells can be of."""

    IOPS = "iops"
    THROUGHPUT = "throughput"
    LATENCY = "latency"
    WSAT = "wsat"


class ProfileName(str, Enum):
    """Profiles of the specification."""

    CLIENT = "C"
    ENTERPRISE = "E"


@dataclass(frozen=True, kw_only=True)
class ImportOptions(FioChoice, Printed):
    """Options of `import`."""

    files: Annotated[
        list[str] | None,
        argument(
            "JSON, JSON+, terse or logs of fio, tables as CSV, a document of a standard test, "
            "or reference:NAME.",
            metavar="FILE…",
            show_default=False,
        ),
    ] = None
    output: Annotated[
        Path | None, flag("Write the document to this file.", "-o", metavar="FILE.json")
    ] = None
    references: Annotated[bool, flag("List the published tables that are shipped.", "--list")] = (
        False
    )
    test: Annotated[TestName | None, flag("The test. Default: by the figures.")] = None
    unit: Annotated[
        str | None,
        flag(
            "Unit of a wide table (iops, mb_s, art_ms, …) or of logs (lat_ns, lat_us, …).",
            metavar="UNIT",
        ),
    ] = None
    block_size: Annotated[
        str | None, flag("Bytes of a request in logs, such as 4KiB.", metavar=SIZE)
    ] = None
    any_order: Annotated[bool, flag("Take the mixes of a table in any order.")] = False
    allow_cut: Annotated[
        bool, flag("Take what is complete in a truncated output or log of fio.")
    ] = False
    name: Annotated[str | None, flag("Name of the document.", metavar="NAME")] = None
    model: Annotated[str | None, flag("Model of the drive.", metavar="TEXT")] = None
    capacity: Annotated[
        str | None, flag("Capacity of the drive, such as 233GiB.", metavar=SIZE)
    ] = None
    amount: Annotated[
        str | None,
        flag("Amount of the drive that was tested, in 2048 segments.", "--ar-amount", metavar=SIZE),
    ] = None
    profile: Annotated[ProfileName | None, flag("Profile of the specification.")] = None
    source: Annotated[str | None, flag("Author and publication.", metavar="TEXT")] = None


def import_(given: ImportOptions) -> None:
    """Import figures that others measured; nothing is written unless all of them are valid."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.base.units import parse_bytes
    from opennandlab.measured.published import PREFIX

    if given.references:
        _list(as_json=given.as_json)
        return
    if not given.files:
        raise ConfigError(".", "nothing to import; accepted: files, reference:NAME, --list")
    inputs = {f"the input {path}": Path(path) for path in given.files}
    terminal.check_outputs({"--output": given.output}, dict(inputs))
    if any(one.startswith(PREFIX) for one in given.files):
        given.refuse(DESCRIBING, "on a published table, which states it; accepted: with files")
    document = _document(
        given.files,
        replace(
            given.chosen(),
            test=given.test.value if given.test else None,
            unit=given.unit,
            block_bytes=parse_bytes(given.block_size) if given.block_size else None,
            any_order=given.any_order,
            allow_cut=given.allow_cut,
            name=given.name,
            model=given.model,
            capacity_bytes=parse_bytes(given.capacity) if given.capacity else None,
            amount_bytes=parse_bytes(given.amount) if given.amount else None,
            profile=given.profile.value if given.profile else None,
            source=given.source,
        ),
    )
    _tell(document, given.output, given)


def _document(files: list[str], wanted: "Wanted") -> "PtsDocument":
    from opennandlab.base.errors import ConfigError
    from opennandlab.measured import import_files, reference
    from opennandlab.measured.published import PREFIX

    named = [one for one in files if one.startswith(PREFIX)]
    if named and len(files) > 1:
        raise ConfigError(".", f"{named[0]} stands alone; `compare` takes several")
    return reference(named[0]) if named else import_files(files, wanted)


def _tell(document: "PtsDocument", output: Path | None, given: Printed) -> None:
    from opennandlab.base.canonical import as_bytes, readable_json
    from opennandlab.base.files import write_atomically
    from opennandlab.cli._pts_tables import grid, title
    from opennandlab.documents.pts import to_json
    from opennandlab.reports.pts import source, tables

    if output is not None:
        write_atomically(output, as_bytes(readable_json(to_json(document)) + "\n"))
    if given.as_json:
        terminal.emit_json(to_json(document))
        return
    if given.quiet:
        return
    console = terminal.stdout(is_numbers=True)
    console.print(title(document), style="bold", markup=False, soft_wrap=True)
    measured = source.read(to_json(document), document.name)
    for table in (*tables.of_blocks(measured), *tables.of_repeats(measured.document)):
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
        terminal.emit_json({"references": {one.name: asdict(one) for one in found}})
        return
    rows = [[one.name, one.test, one.title, one.source] for one in found]
    heads = ("reference", "test", "what", "source")
    terminal.stdout().print(terminal.Grid(heads, rows, left=(0, 1, 2, 3)))
