"""A report in a line, as text, and in a notebook: its headlines and tables, and one figure."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import chain

from opennandlab.reports import drawing, words
from opennandlab.reports.model import Chapter, Report, Table

# Rows of a table that are shown; files have all.
ROWS_MAX = 20


def line(report: Report) -> str:
    """Return title, subtitle and verdict."""
    chapter = report.chapters[0]
    verdict = f", {chapter.verdict.text.lower()}" if chapter.verdict else ""
    about = f": {chapter.subtitle}" if chapter.subtitle else ""
    return f"{chapter.title}{about}{verdict}"


def text(report: Report) -> str:
    """Return headlines and tables in columns, for `print`."""
    parts = [line(report)]
    for chapter in report.chapters:
        if chapter.reason:
            parts[-1] += f"\n{chapter.reason}"
        parts += ["\n".join(_lines(table)) for table in _tables(chapter)]
    return "\n\n".join(parts)


def html(report: Report) -> str:
    """Return headlines, tables and the first figure as HTML, for a notebook."""
    parts = [f"<b>{escape(line(report))}</b>"]
    for chapter in report.chapters:
        if chapter.reason:
            parts.append(f"<p>{escape(chapter.reason)}</p>")
        parts += map(_html, _tables(chapter))
    return "".join(parts) + drawing.element(report.figures)


def _tables(chapter: Chapter) -> Iterator[Table]:
    """Yield the headlines as a table, and the tables of a chapter."""
    if chapter.headlines:
        rows = tuple((one.name, one.text) for one in chapter.headlines)
        yield Table("headlines", "", ("", "result"), rows)
    yield from (item for item in chapter.items if isinstance(item, Table) and item.rows)


def _cells(table: Table) -> list[list[str]]:
    return [[words.value(cell, table.digits) for cell in row] for row in table.rows[:ROWS_MAX]]


def _rest(table: Table) -> str:
    """Return how many rows are not shown; nothing for none."""
    left = len(table.rows) - ROWS_MAX
    return f"and {left} more" if left > 0 else ""


def _lines(table: Table) -> Iterator[str]:
    """Yield a table in lines: words on the left, numbers on the right."""
    yield from filter(None, [table.title, table.note])
    rows = [list(table.columns), *_cells(table)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = [at == 0 or is_words for at, is_words in enumerate(table.wordy)]
    for cells in chain(rows[:1], [["─" * wide for wide in widths]], rows[1:]):
        padded = (
            cell.ljust(wide) if is_left else cell.rjust(wide)
            for cell, wide, is_left in zip(cells, widths, sides, strict=True)
        )
        yield "  ".join(padded).rstrip()
    yield from filter(None, [_rest(table)])


def _html(table: Table) -> str:
    sides = ["left" if at == 0 or words_ else "right" for at, words_ in enumerate(table.wordy)]

    def row(tag: str, cells: list[str]) -> str:
        inner = (
            f"<{tag} style='text-align:{side}'>{escape(cell)}</{tag}>"
            for cell, side in zip(cells, sides, strict=True)
        )
        return f"<tr>{''.join(inner)}</tr>"

    head = row("th", list(table.columns)) if any(table.columns) else ""
    body = "".join(row("td", cells) for cells in _cells(table))
    notes = "".join(f"<p>{escape(one)}</p>" for one in (table.note, _rest(table)) if one)
    title = f"<p><b>{escape(table.title)}</b></p>" if table.title else ""
    return f"{title}<table><thead>{head}</thead><tbody>{body}</tbody></table>{notes}"
