"""The end of a command with a report: its files, its tables on the terminal, its exit code."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import Printed

if TYPE_CHECKING:
    from opennandlab.reports.model import Report, Table

# Rows of words that are shown; all of them are in the files.
WORDS_MAX = 20


def write(
    content: object, page: "Report", folder: Path, stem: str, *, as_csv: bool = False
) -> None:
    """Write a document and its page as STEM.json and STEM.html, its tables as CSV if asked for.

    Without the packages that draw the page is left out, with a warning.
    """
    from opennandlab.base.canonical import readable_json
    from opennandlab.base.extras import MissingError
    from opennandlab.base.files import write_into
    from opennandlab.reports import output
    from opennandlab.reports.pts import csv

    files = [(f"{stem}.json", readable_json(content).encode())]
    try:
        files.append((f"{stem}.html", output.content(page, ".html")))
    except MissingError as error:
        terminal.note(f"warning: {stem}.html was not written: {error}", style="yellow")
    if as_csv:
        files += [(name, text.encode()) for name, text in csv.files(page, ())]
    write_into(folder, iter(files))


def tell(
    document: Any,  # noqa: ANN401 (a record with `digest`, `partial` and `passed`)
    given: Printed,
    title: str,
    tables: "Iterable[Table]",
    ending: Iterable[str],
    failure: str,
) -> None:
    """Print a document as the options ask, and end with the exit code of its outcome.

    Args:
        document: The record.
        given: Whether it is printed, and as JSON.
        title: Printed above the tables.
        tables: Its tables.
        ending: Notes below them.
        failure: Why it did not pass.
    """
    from opennandlab.documents.record import plain

    if given.as_json:
        terminal.emit_json(plain(document))
    elif not given.quiet:
        show(title, tables, document.digest)
        for text in ending:
            terminal.note(text, style="yellow" if text.startswith("warning: ") else "")
    end(document, failure)


def end(document: Any, failure: str) -> None:  # noqa: ANN401 (as above)
    """End with the exit code of a document that is partial or did not pass."""
    if document.partial:
        terminal.stop(terminal.INTERRUPTED, "interrupted: the result is partial")
    if not document.passed:
        terminal.stop(terminal.FAILED, failure)


def show(title: str, tables: "Iterable[Table]", digest: str | None) -> None:
    """Print tables below a title, and the digest of their document, if they have one."""
    from opennandlab.reports import words

    console = terminal.stdout()
    console.print(title, style="bold", markup=False, soft_wrap=True)
    for table in tables:
        console.print()
        console.print(table.title, markup=False, style="bold")
        if table.note:
            console.print(table.note, markup=False, soft_wrap=True)
        if table.wraps:
            for name, *cells in table.rows[:WORDS_MAX]:
                text = ", ".join(words.value(cell) for cell in cells)
                console.print(f"{name}: {text}", markup=False, soft_wrap=True)
            if len(table.rows) > WORDS_MAX:
                console.print(f"and {len(table.rows) - WORDS_MAX} more")
            continue
        lines = [[words.value(cell, table.digits) for cell in row] for row in table.rows]
        console.print(terminal.plain_table(list(table.columns), lines))
    if digest is not None:
        console.print(f"\ndigest {digest}", markup=False, soft_wrap=True)
