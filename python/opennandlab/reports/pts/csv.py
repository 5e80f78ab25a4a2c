"""A report as CSV: one file for each table and each figure, all cells in one, all tables in one.

Numbers are written with all their digits and a point; what was not measured is an empty field. The
first row names the columns, units included; marks of numbers have a column of their own.
`report.csv` holds all tables below one another, each under its chapter and title, for those who
want one file.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from opennandlab.base.files import no_formula, write_into
from opennandlab.documents import pts
from opennandlab.documents.pts_inside import IdentifyPoint
from opennandlab.reports import words
from opennandlab.reports.figure_tables import table_of
from opennandlab.reports.model import Cell, Marked, Report, Table
from opennandlab.reports.pts.source import Measured

# Between the thousands of a number, not between words.
THOUSANDS = re.compile(r"(?<=\d) (?=\d)")
# The columns of cells that name a cell.
FIRST = ("phase", "round", "label")


def write(report: Report, measured: Sequence[Measured | None], folder: Path) -> list[Path]:
    """Write the files of a report into a folder, which is made where it is missing.

    Args:
        report: The report.
        measured: The document behind each chapter; None where there is none.
        folder: Where to.

    Returns:
        The files, in the order of the report.

    Raises:
        OutputError: when one cannot be written, and why.
    """
    return write_into(folder, ((name, text.encode()) for name, text in files(report, measured)))


def files(report: Report, measured: Sequence[Measured | None]) -> Iterator[tuple[str, str]]:
    """Yield name and content of each file."""
    yield "report.csv", _everything(report)
    if report.summary is not None:
        yield "summary.csv", text_of(report.summary)
    for place, chapter in enumerate(report.chapters):
        prefix = f"{words.file_name(chapter.id)}-" if len(report.chapters) > 1 else ""
        for item in chapter.items:
            table = item if isinstance(item, Table) else table_of(item, rows_max=1 << 30)
            yield f"{prefix}{words.file_name(item.id)}.csv", text_of(table)
        source = measured[place] if place < len(measured) else None
        if source is not None and source.cells:
            yield f"{prefix}cells.csv", _cells(source.cells)


def _everything(report: Report) -> str:
    """Return all tables below one another, each with its chapter, title and note."""
    rows: list[Sequence[Cell]] = []
    for chapter in report.chapters:
        worth = chapter.verdict.text if chapter.verdict else ""
        rows += [[chapter.title, chapter.subtitle, worth], []]
        if chapter.headlines:
            rows += [["result", "value", "unit"]]
            rows += [
                [one.name, THOUSANDS.sub("", one.value), one.unit] for one in chapter.headlines
            ]
            rows.append([])
        for item in chapter.items:
            if isinstance(item, Table):
                rows += [[text] for text in (item.title, item.note) if text]
                rows += [*_rows(item), []]
    return _written(rows)


def text_of(table: Table) -> str:
    r"""Return a table as CSV.

    >>> text_of(Table("t", "T", ("round", "IOPS"), ((1.0, 2.5), ("mean", None))))
    'round,IOPS\r\n1,2.5\r\nmean,\r\n'
    """
    return _written(_rows(table))


# Columns of measured cells for `calibrate --to`, and where a cell of `identify` has them.
LONG_FORM = {
    "pattern": "pattern", "region_bytes": "region_bytes", "zone_bytes": "", "open": "",
    "rate": "rate", "block_size_bytes": "block_size_bytes", "queue_depth": "queue_depth",
    "mb_s": "mb_s", "waf": "waf", "r50": "read_us_p50", "r99": "read_us_p99",
    "r99.9": "read_us_p999", "w50": "write_us_p50", "w99": "write_us_p99",
    "w99.9": "write_us_p999",
}  # fmt: skip


def long_form(points: Sequence[IdentifyPoint]) -> str:
    """Return measured cells, one a row, without those that have no figure.

    A field is empty if it is unknown, and for times of 0, of drives without a link.
    """
    rows = [
        [(getattr(point, key) or None) if key else None for key in LONG_FORM.values()]
        for point in points
        if point.mb_s is not None
    ]
    return _written([list(LONG_FORM), *rows])


def _rows(table: Table) -> list[tuple[Cell, ...]]:
    """Return heads and rows of a table, with the marks of its numbers in a column of their own."""
    first, *others = table.columns
    if table.unit:
        others = [f"{head} ({table.unit})" if head else table.unit for head in others]
    rows: list[tuple[Cell, ...]] = [(first, *others), *table.rows]
    if table.marked is None:
        return rows
    at = table.marked + 1
    heads = (*table.columns[:at], "mark", *table.columns[at:])
    return [heads, *((*row[: at - 1], *_apart(row[at - 1]), *row[at:]) for row in table.rows)]


def _apart(cell: Cell) -> tuple[Cell, Cell]:
    return (cell.amount, cell.mark) if isinstance(cell, Marked) else (cell, None)


def _cells(cells: Sequence[pts.Cell]) -> str:
    names = [*FIRST, *(name for name in pts.Cell.__struct_fields__ if name not in FIRST)]
    return _written([names, *([getattr(cell, name) for name in names] for cell in cells)])


def _written(rows: Sequence[Sequence[Cell]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerows([[_field(cell) for cell in row] for row in rows])
    return stream.getvalue()


def _field(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
    return no_formula(str(cell))
