"""Tables of a report on the terminal, written as on its pages."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from opennandlab.cli import _terminal as terminal

if TYPE_CHECKING:
    from opennandlab.reports.model import Table

# Rows of words that are shown; all of them are in the files.
WORDS_MAX = 20


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
