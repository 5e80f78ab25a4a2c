"""A report as PDF, drawn by matplotlib: every figure and table, the header on each page.

```text
report ──► blocks { height, draw } ──► A4 pages, filled from the top
```
No browser is needed. A block is never cut: a table that is too long is several of them, and a
heading is kept with what follows. Figures give way by up to a third, so that pages become full. The
same report gives the same bytes.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from opennandlab.reports import words
from opennandlab.reports.figure import colours, static
from opennandlab.reports.figure.model import Stack
from opennandlab.reports.model import Chapter, Facts, Item, Kind, Report, Section, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Sheet

# A4 in inches, and its margins.
WIDTH, HEIGHT = 8.27, 11.69
SIDE, TOP, BOTTOM = 0.535, 0.95, 0.6
WIDE, TALL = WIDTH - 2 * SIDE, HEIGHT - TOP - BOTTOM
# Share of its height by which a figure may become lower.
GIVES = 0.33
LINE, ROW = 0.155, 0.178
# Size of the letters of a table, and to which it may shrink before its columns are parted.
TABLE, TABLE_LEAST = 7.0, 5.0
ROWS_MAX = 50
# Where cells break into lines: size of letters, a line in inches, shares of the columns.
CARD, CARD_LINE = 6.5, 0.115
# Most letters are narrower than `LETTER` has them, which leaves room between columns.
CARD_FILL = 1.06
COLUMNS = (0.18, 0.08, 0.05, 0.15, 0.18, 0.24, 0.12)
PAIR = (0.15, 0.85)
# Inches of a letter for each point of its size.
LETTER = 0.0089
WARNING, BAD, GOOD, NOTED = "#6b4a00", "#a03c00", "#00543d", "#fff8e5"
KIND: dict[Kind, str] = {"good": GOOD, "plain": colours.INK, "warning": WARNING, "bad": BAD}


# Groups of facts that one run has at most.
FACTS_MAX = 6


@dataclass(frozen=True)
class _Block:
    """Something that stands on one page.

    Args:
        height: In inches.
        draw: Draws it on a sheet: inches from the top of the page, and its height.
        room: What must also fit below it, in inches.
        slack: By how much it may become lower.
    """

    height: float
    draw: Callable[[Sheet, float, float], None]
    room: float = 0.0
    slack: float = 0.0


def document(report: Report) -> bytes:
    """Return a report as the bytes of a PDF."""
    from matplotlib.backends.backend_pdf import PdfPages

    stream = io.BytesIO()
    # Neither date nor producer: the same report gives the same file.
    about = {"Title": report.title, "CreationDate": None, "Producer": None,
             "Creator": "opennandlab"}  # fmt: skip
    with static.style(), PdfPages(stream, metadata=about) as pages:
        for sheet in _sheets(report):
            pages.savefig(sheet)
    return stream.getvalue()


def _sheets(report: Report) -> Iterator[Sheet]:
    from matplotlib.figure import Figure as Sheet

    number = 0
    first = Chapter("summary", report.title)
    for chapter in (first, *report.chapters) if report.summary else report.chapters:
        for page in _pages(_summary(report) if chapter is first else _blocks(report, chapter)):
            number += 1
            sheet, down = Sheet(figsize=(WIDTH, HEIGHT)), TOP
            _frame(sheet, report, chapter, number)
            over = max(0.0, sum(block.height for block in page) - TALL)
            slack = sum(block.slack for block in page) or 1.0
            for block in page:
                tall = block.height - over * block.slack / slack
                block.draw(sheet, down, tall)
                down += tall
            yield sheet


def _pages(blocks: Iterator[_Block]) -> Iterator[list[_Block]]:
    """Yield the blocks of each page: as many as fit when figures give way."""
    page: list[_Block] = []
    for block in blocks:
        least = sum(one.height - one.slack for one in (*page, block))
        if page and least + block.room > TALL:
            yield page
            page = []
        page.append(block)
    if page:
        yield page


def _frame(sheet: Sheet, report: Report, chapter: Chapter, number: int) -> None:
    """Set what stands on every page: the header in short, what made it, the number."""
    lines = _wrapped(chapter.brief, 6.5)[:3]
    if chapter.deviations:
        lines.append(f"Deviations: {'; '.join(chapter.deviations)}")
    for place, text in enumerate(lines):
        shown = textwrap.shorten(text, 150, placeholder=" …")
        _text(sheet, SIDE, 0.38 + 0.12 * place, shown, size=6.5, color=colours.SOFT)
    if lines:
        _rule(sheet, 0.82)
    _text(sheet, SIDE, HEIGHT - 0.32, report.foot, size=6.5, color=colours.SOFT)
    _text(sheet, WIDTH - SIDE, HEIGHT - 0.32, str(number), size=6.5, ha="right")


def _blocks(report: Report, chapter: Chapter) -> Iterator[_Block]:
    """Yield the blocks of a chapter from top to bottom."""
    title = report.title if len(report.chapters) == 1 else chapter.title
    yield from _lines(title, 15, weight="bold")
    if not report.summary:
        yield from _lines(report.lead, 8, color=colours.SOFT)
    yield from _lines(chapter.subtitle, 8, color=colours.SOFT)
    if chapter.verdict is not None:
        looks = {"weight": "bold", "color": KIND[chapter.verdict.kind]}
        yield from _lines(chapter.verdict.text, 10, **looks)
    yield from _lines(chapter.reason, 8, color=colours.SOFT)
    is_bad = any(badge.kind == "bad" for badge in chapter.badges)
    badges = "   ".join(badge.text for badge in chapter.badges)
    yield from _lines(badges, 8, weight="bold", color=BAD if is_bad else colours.SOFT)
    if chapter.headlines:
        yield _headlines(chapter)
    noted = [
        f"{name}: {text}"
        for name, texts in (
            ("Warning", (*report.warnings, *chapter.warnings)),
            ("Deviation", chapter.deviations),
            ("Missing", chapter.missing),
        )
        for text in texts[:12]
    ]
    if noted:
        yield _box(noted)
    if chapter.opening is not None:
        yield from _item(chapter.opening)
    yield from _facts(chapter.facts)
    for section, items in chapter.rest:
        yield from _of_section(section, items, title)


def _summary(report: Report) -> Iterator[_Block]:
    """Yield what comes before the first of several chapters: what is quoted of each."""
    yield from _lines(report.title, 15, weight="bold")
    yield from _lines(report.lead, 8, color=colours.SOFT)
    for chapter in report.chapters:
        texts = [f"{one.name}: {one.text}" for one in chapter.headlines]
        lines = list(_lines("; ".join(texts), 7.5))
        count = len(chapter.deviations)
        yield _Block(0.12, lambda _sheet, _down, _tall: None, 0.4)
        for block in _lines(chapter.title, 9.5, weight="bold"):
            yield replace(block, room=0.15 + sum(line.height for line in lines))
        if chapter.verdict is not None:
            said = f"{chapter.verdict.text}; {count or 'no'} deviation{'' if count == 1 else 's'}"
            yield from _lines(said, 7.5, color=KIND[chapter.verdict.kind])
        yield from lines


def _of_section(section: Section, items: Sequence[Item], title: str) -> Iterator[_Block]:
    parts = [part for item in items for part in _parts(item)]
    bodies = [_item(replace(one, title="") if one.title == section.title else one) for one in parts]
    if bodies:
        lead = list(_lines(section.lead, 7.5, color=colours.SOFT))
        first = sum(block.height - block.slack for block in (*bodies[0], *lead))

        def heading(sheet: Sheet, down: float, _tall: float) -> None:
            _rule(sheet, down + 0.06)
            _text(sheet, SIDE, down + 0.3, section.title, size=11.5, weight="bold")

        if section.title != title:
            yield _Block(0.4, heading, first)
        yield from lead
    for body in bodies:
        yield from body


def _parts(item: Item) -> Iterator[Item]:
    """Yield an item, or a table that is longer or wider than a page in parts."""
    if not isinstance(item, Table):
        yield item
        return
    title = item.title
    for columns in [range(len(item.columns))] if item.wraps else _column_parts(item):
        heads = tuple(item.columns[at] for at in columns)
        rows = [tuple(row[at] for at in columns) for row in item.rows]
        for first in range(0, max(len(rows), 1), ROWS_MAX):
            part = tuple(rows[first : first + ROWS_MAX])
            yield replace(item, title=title, columns=heads, rows=part)
            title = f"{item.title}, continued"


def _column_parts(table: Table) -> Iterator[Sequence[int]]:
    """Yield the columns of each part of a table; the names of the rows begin every part."""
    widths = _widths(_cells(table))
    names = 2 if table.columns[1:2] == ("run",) else 1
    room = WIDE * TABLE / TABLE_LEAST - sum(widths[:names])
    part: list[int] = []
    for at in range(names, len(widths)):
        if part and sum(widths[one] for one in part) + widths[at] > room:
            yield [*range(names), *part]
            part = []
        part.append(at)
    yield [*range(names), *part]


def _widths(rows: Sequence[Sequence[str]]) -> list[float]:
    """Return the inches of each column in letters of the usual size."""
    return [0.062 * max(map(len, column)) + 0.2 for column in zip(*rows, strict=True)]


def _cells(table: Table) -> list[Sequence[str]]:
    """Return heads and rows as they are written."""
    written = (
        [words.value(row[0]), *(words.value(cell, table.digits) for cell in row[1:])]
        for row in table.rows
    )
    return [table.columns, *written]


def _item(item: Item) -> list[_Block]:
    """Return title, note and body, kept together."""
    if isinstance(item, Table) and item.wraps:
        body = _cards(item)
    elif isinstance(item, Table):
        body = _Block(ROW * (len(item.rows) + 1 + bool(item.span)) + 0.1,
                      lambda sheet, down, _tall: _table(sheet, item, down))  # fmt: skip
    else:
        tall = static.height(item)
        body = _Block(
            tall,
            lambda sheet, down, given: static.draw(
                sheet, item, (SIDE, HEIGHT - down - given, static.WIDTH, given)
            ),
            slack=0.0 if isinstance(item, Stack) else GIVES * tall,
        )
    head = [
        *_lines(item.title, 9, weight="bold"), *_lines(item.note, 7, color=colours.SOFT)
    ]  # fmt: skip
    found = [body]
    for block in reversed(head):
        below = sum(one.height - one.slack for one in found)
        found.insert(0, replace(block, room=below))
    return found


def _lines(text: str, size: float, **looks: Any) -> Iterator[_Block]:  # noqa: ANN401
    """Yield a text, wrapped; nothing for an empty one."""
    step = 0.0195 * size

    for line in _wrapped(text, size):

        def draw(sheet: Sheet, down: float, _tall: float, line: str = line) -> None:
            _text(sheet, SIDE, down + 0.8 * step, line, size=size, **looks)

        yield _Block(step, draw)


def _wrapped(text: str, size: float, wide: float = WIDE) -> list[str]:
    return textwrap.wrap(text, int(wide / (LETTER * size)))


def _text(  # looks as matplotlib has them
    sheet: Sheet,
    across: float,
    down: float,
    text: str,
    **looks: Any,  # noqa: ANN401
) -> None:
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    sheet.text(across / WIDTH, 1 - down / HEIGHT, shown, va="baseline", **looks)


def _rule(sheet: Sheet, down: float, end: float = WIDTH - SIDE, color: str = colours.FRAME) -> None:
    from matplotlib.lines import Line2D

    up = 1 - down / HEIGHT
    sheet.add_artist(Line2D([SIDE / WIDTH, end / WIDTH], [up, up], color=color, linewidth=0.5))


def _headlines(chapter: Chapter) -> _Block:
    """Return the figures that are quoted, three in a row."""
    step = WIDE / 3

    def draw(sheet: Sheet, top: float, _tall: float) -> None:
        for place, one in enumerate(chapter.headlines):
            across, down = SIDE + step * (place % 3), top + 0.2 + 0.38 * (place // 3)
            _text(sheet, across, down, one.text, size=11, weight="bold")
            _text(sheet, across, down + 0.14, one.name, size=7, color=colours.SOFT)

    return _Block(0.2 + 0.38 * -(-len(chapter.headlines) // 3), draw)


def _box(texts: Sequence[str]) -> _Block:
    """Return warnings, deviations and missing parts in a frame."""
    step, inset = 0.15, 0.1
    lines = [line for text in texts for line in _wrapped(text, 8, WIDE - 2 * inset)]
    tall = step * len(lines) + 2 * inset

    def draw(sheet: Sheet, down: float, _tall: float) -> None:
        from matplotlib.patches import Rectangle

        size = (WIDE / WIDTH, tall / HEIGHT)
        place = (SIDE / WIDTH, 1 - (down + 0.06 + tall) / HEIGHT)
        sheet.add_artist(
            Rectangle(place, *size, facecolor=NOTED, edgecolor=WARNING, linewidth=0.6, zorder=-1)
        )
        for at, line in enumerate(lines):
            at_y = down + 0.06 + inset + step * (at + 0.75)
            _text(sheet, SIDE + inset, at_y, line, size=8, color=WARNING)

    return _Block(tall + 0.14, draw)


def _facts(groups: Facts) -> Iterator[_Block]:
    """Yield the facts, in two columns: those of one run at once, those of many runs in pairs."""
    step = 2 if len(groups) > FACTS_MAX else FACTS_MAX
    for first in range(0, len(groups), step):
        part = groups[first : first + step]
        half = -(-step // 2)
        yield _beside(part[:half], part[half:])


def _beside(left: Facts, right: Facts) -> _Block:
    texts: list[tuple[float, float, str, dict[str, Any]]] = []
    ends = []
    for across, groups in ((SIDE, left), (WIDTH / 2, right)):
        down = 0.2
        for name, rows in groups:
            texts.append((across, down, name, {"size": 7.5, "weight": "bold"}))
            down += LINE
            for key, value in rows:
                texts.append((across, down, key, {"size": 7, "color": colours.SOFT}))
                for line in _wrapped(value, 7, 2.4) or [""]:
                    texts.append((across + 1.25, down, line, {"size": 7}))
                    down += 0.9 * LINE
            down += 0.06
        ends.append(down)

    def draw(sheet: Sheet, top: float, _tall: float) -> None:
        for across, down, text, looks in texts:
            _text(sheet, across, top + down, text, **looks)

    return _Block(max(ends), draw)


def _cards(table: Table) -> _Block:
    """Return a table whose cells break into lines."""
    count = len(table.columns)
    known = {len(shares): shares for shares in (PAIR, COLUMNS)}
    shares = known.get(count, (1 / count,) * count)
    wide = [WIDE * share for share in shares]
    written = [[words.value(cell, table.digits) for cell in row] for row in table.rows]
    rows = [list(table.columns), *written] if len(table.columns) > len(PAIR) else written
    lines = [
        [
            _wrapped(cell, CARD, CARD_FILL * width) or [""]
            for cell, width in zip(row, wide, strict=True)
        ]
        for row in rows
    ]
    tall = [CARD_LINE * max(map(len, row)) + 0.05 for row in lines]
    heads = len(rows) - len(written)
    tones = [colours.SOFT] * heads + [KIND[tone] for tone in table.tones]

    def draw(sheet: Sheet, down: float, _tall: float) -> None:
        for place, row in enumerate(lines):
            color = tones[place] if place < len(tones) else colours.INK
            left = SIDE
            for cell, width in zip(row, wide, strict=True):
                for line, text in enumerate(cell):
                    at = down + CARD_LINE * (line + 0.9)
                    _text(sheet, left, at, text, size=CARD, color=color)
                left += width
            down += tall[place]
            _rule(sheet, down, color=colours.FRAME if place < heads else colours.GRID)

    return _Block(sum(tall) + 0.1, draw)


def _table(sheet: Sheet, table: Table, down: float) -> None:
    rows = _cells(table)
    widths = _widths(rows)
    scale = min(1.0, WIDE / sum(widths))
    size = max(TABLE * scale, 3.6)
    ends = [SIDE + scale * sum(widths[: place + 1]) - 0.06 for place in range(len(widths))]
    if table.span:
        middle = (ends[0] + ends[-1]) / 2
        _text(sheet, middle, down + 0.75 * ROW, table.span, size=size, ha="center")
        down += ROW
    wordy = table.wordy
    for place, row in enumerate(rows):
        looks = {"size": size, "color": colours.INK if place else colours.SOFT}
        _text(sheet, SIDE, down + 0.75 * ROW, row[0], **looks)
        for column, cell in enumerate(row[1:], start=1):
            end, side = (
                (ends[column - 1] + 0.2, "left") if wordy[column] else (ends[column], "right")
            )
            _text(sheet, end, down + 0.75 * ROW, cell, ha=side, **looks)
        down += ROW
        _rule(sheet, down, ends[-1], colours.GRID if place else colours.FRAME)
