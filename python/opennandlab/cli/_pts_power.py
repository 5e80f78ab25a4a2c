"""`pts power`: the log of a power meter, attached to what a real drive has measured."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import Printed
from opennandlab.cli.options.rows import argument

if TYPE_CHECKING:
    from opennandlab.documents.pts import PtsDocument

EXAMPLE = "opennandlab pts power run watts.csv"
# Option of the tests, and argument of the verb, in errors.
OPTION, ARGUMENT = "--power-log", "LOG"
# Note on a run whose log does not fit it.
AFTERWARDS = "`opennandlab pts power RESULT LOG` attaches a log to results that are there"


@dataclass(frozen=True, kw_only=True)
class PowerOptions(Printed):
    """Options of `power`."""

    result: Annotated[
        Path,
        argument(
            "Document of a standard test of a real drive, or the folder of a run: all of its "
            "documents. They are rewritten.",
            metavar="RESULT",
            show_default=False,
        ),
    ]
    log: Annotated[
        Path,
        argument(
            "Lines of seconds,watts: seconds since 1970, or since the beginning of the test.",
            metavar="LOG",
            show_default=False,
        ),
    ]


def power(given: PowerOptions) -> None:
    """Add the watts of a power meter's log to each cell that a real drive has measured."""
    from opennandlab.documents.record import plain
    from opennandlab.measured.power_log import read_power_log
    from opennandlab.pts.bench.watts import attached

    log = read_power_log(given.log, ARGUMENT)
    found = [(path, attached(one, log, ARGUMENT)) for path, one in _documents(given.result)]
    for path, document in found:
        _rewrite(path, document)
    if given.as_json:
        terminal.emit_json({"documents": [plain(document) for _, document in found]})
    elif not given.quiet:
        for path, document in found:
            _show(path, document)


def with_log(document: "PtsDocument", log: Path) -> "PtsDocument":
    """Return the document of a test that has ended with the watts of its log.

    A log that does not fit costs no measurement: it becomes a warning of the document.
    """
    from msgspec import structs

    from opennandlab.base.canonical import digest
    from opennandlab.base.errors import ConfigError
    from opennandlab.documents.pts import to_json
    from opennandlab.measured.power_log import read_power_log
    from opennandlab.pts.bench.watts import attached

    try:
        return attached(document, read_power_log(log, OPTION), OPTION)
    except ConfigError as error:
        told = structs.replace(document, warnings=[*document.warnings, f"{error}; {AFTERWARDS}"])
        return structs.replace(told, digest=digest(to_json(told)))


def is_without(document: "PtsDocument") -> bool:
    """Return whether the log that was asked for did not fit a document."""
    return document.header.power is None or document.header.power.source is None


def checked(log: Path | None, *, is_virtual: bool) -> Path | None:
    """Return the log of `--power-log`, which a meter may still be writing.

    Raises:
        ConfigError: for a log of a simulated drive, and one that is no log.
    """
    from opennandlab.base.errors import ConfigError
    from opennandlab.measured.power_log import read_power_log
    from opennandlab.pts.bench.watts import refuse_virtual

    if log is None:
        return None
    refuse_virtual(is_virtual, OPTION)
    if not log.exists():
        raise ConfigError(
            OPTION, f"{log} does not exist; accepted: the file that a meter writes; {AFTERWARDS}"
        )
    read_power_log(log, OPTION)
    return log


def _documents(result: Path) -> "list[tuple[Path, PtsDocument]]":
    """Return the documents of a file or a folder, and where each is.

    Raises:
        ResultError: for an invalid file.
        ConfigError: for a folder without one.
    """
    from opennandlab.base.errors import ConfigError, ResultError
    from opennandlab.documents import pts
    from opennandlab.documents.saved import read_document

    if not result.is_dir():
        return [(result, pts.from_file(read_document(result, [pts.SCHEMA]))[0])]
    found = []
    for path in sorted(result.glob("*.json")):
        try:
            raw = read_document(path, [pts.SCHEMA])
        except ResultError:  # `run.json`, `suite.json`, and files of others
            continue
        found.append((path, pts.from_file(raw)[0]))
    if not found:
        raise ConfigError("RESULT", f"{result} has no document; accepted: {pts.SCHEMA}")
    return found


def _rewrite(path: Path, document: "PtsDocument") -> None:
    """Write a document in its place, and its new digest into the files next to it."""
    from opennandlab.base.canonical import digest, readable_json
    from opennandlab.base.errors import ResultError
    from opennandlab.base.files import write_atomically
    from opennandlab.core.tested import to_bytes
    from opennandlab.documents.pts import SUITE_SCHEMA
    from opennandlab.documents.saved import read_document
    from opennandlab.pts.bench.document import Remarks, add_remarks

    write_atomically(path, to_bytes(document))
    if (path.parent / "run.json").exists():
        add_remarks(path.parent, document, Remarks())
    suite = path.parent / "suite.json"
    try:
        content = read_document(suite, [SUITE_SCHEMA])
    except ResultError:
        return
    if document.name in content.get("digests", {}):
        content["digests"][document.name] = document.digest
        content["digest"] = digest(content)
        write_atomically(suite, (readable_json(content) + "\n").encode())


def _show(path: Path, document: "PtsDocument") -> None:
    """Print what a document has of the log."""
    from opennandlab.cli._pts_tables import grid, title
    from opennandlab.documents.pts import is_of_power
    from opennandlab.reports.pts.drive import power_text
    from opennandlab.reports.pts.tables import of_block

    console = terminal.stdout(is_numbers=True)
    console.print(title(document), style="bold", markup=False, soft_wrap=True)
    console.print(power_text(document.header), markup=False, soft_wrap=True)
    for block in document.tables:
        if is_of_power(block.id):
            table = of_block(block)
            console.print(f"\n{table.title}", markup=False)
            console.print(grid(table))
    terminal.note(f"saved {path}")
