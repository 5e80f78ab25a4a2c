"""A report as PDF, drawn by matplotlib: every plot and table, the header on each page.

No browser is needed. A page is A4 upright; figures and tables follow one another down the page, and
a table that is too long goes on overleaf.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opennandlab.errors import OutputError
from opennandlab.files import write_atomically
from opennandlab.reports.pts import figures, words
from opennandlab.reports.pts.model import Chapter, Item, Plot, Relief, Report, Section, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A4 in inches, and its margins.
WIDTH, HEIGHT = 8.27, 11.69
LEFT, RIGHT, TOP, BOTTOM = 0.6, 0.6, 0.95, 0.6
LINE = 0.155
PLOT_HEIGHT, RELIEF_HEIGHT = 2.9, 4.0
TITLE = 0.28
ROWS_MAX = 52
SMALL, BODY = 6.5, 8.0


def write(report: Report, path: Path) -> None:
    """Write a report as PDF.

    Raises:
        OutputError: when matplotlib is not installed, or the file cannot be written, and why.
    """
    write_atomically(path, document(report))


def document(report: Report) -> bytes:
    """Return a report as the bytes of a PDF.

    Raises:
        OutputError: when matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_pdf import PdfPages
    except ImportError as error:
        raise OutputError(
            "a PDF needs matplotlib: pip install 'opennandlab[pdf]', or print the HTML page"
        ) from error
    stream = io.BytesIO()
    # Neither date nor producer: the same document gives the same file.
    about = {
        "Title": report.title,
        "CreationDate": None,
        "Producer": None,
        "Creator": "opennandlab",
    }
    with figures.style(), PdfPages(stream, metadata=about) as pages:
        for page in _pages(report):
            pages.savefig(page)
    return stream.getvalue()


@dataclass
class _Page:
    """A page under way: its figure, and how far down it is used, in inches from the top."""

    figure: Figure
    used: float = TOP

    @property
    def left(self) -> float:
        """What is left of it."""
        return HEIGHT - BOTTOM - self.used


def _pages(report: Report) -> Iterator[Figure]:
    number = 0
    for chapter in report.chapters:
        page = _page(report, chapter, number := number + 1)
        _head(page, report, chapter)
        for section in chapter.sections:
            for block in _blocks(section):
                height = _height(block)
                if height > page.left:
                    yield page.figure
                    page = _page(report, chapter, number := number + 1)
                _place(page, block, height)
        yield page.figure


@dataclass(frozen=True)
class _Heading:
    """The heading of a section, kept with what follows it."""

    text: str
    lead: str
    follower: Item


Block = _Heading | Item


def _blocks(section: Section) -> Iterator[Block]:
    """Yield what is set below one another, long tables in parts."""
    items = [part for item in section.items for part in _parts(item)]
    for place, item in enumerate(items):
        titled = replace(item, title="") if item.title == section.title else item
        if place == 0:
            yield _Heading(section.title, section.lead, titled)
        yield titled


def _parts(item: Item) -> Iterator[Item]:
    if not isinstance(item, Table) or len(item.rows) <= ROWS_MAX:
        yield item
        return
    for first in range(0, len(item.rows), ROWS_MAX):
        title = item.title if first == 0 else f"{item.title}, continued"
        yield replace(item, title=title, rows=item.rows[first : first + ROWS_MAX])


def _height(block: Block) -> float:
    if isinstance(block, _Heading):
        # Room for what it heads is needed too, but not used by the heading itself.
        return _own_height(block) + _height(block.follower)
    return _own_height(block)


def _own_height(block: Block) -> float:
    if isinstance(block, _Heading):
        return 0.42 + LINE * len(_wrapped(block.lead))
    note = LINE if block.note else 0.0
    title = TITLE if block.title else 0.08
    if isinstance(block, Table):
        heads = 2 if block.span else 1
        return (
            title + note * len(_wrapped(block.note)) + LINE * 1.15 * (len(block.rows) + heads) + 0.1
        )
    rows = 0.2 * figures.legend_rows(block) if isinstance(block, Plot) else 0.0
    return title + note + (RELIEF_HEIGHT if isinstance(block, Relief) else PLOT_HEIGHT) + rows


def _wrapped(text: str, width: int = 128) -> list[str]:
    return textwrap.wrap(text, width) if text else []


def _page(report: Report, chapter: Chapter, number: int) -> _Page:
    from matplotlib.figure import Figure

    page = _Page(Figure(figsize=(WIDTH, HEIGHT)))
    for line, text in enumerate(_wrapped(chapter.brief, 150)[:3]):
        _text(page, LEFT, 0.38 + 0.12 * line, text, size=SMALL, colour="#555555")
    if chapter.deviations:
        text = textwrap.shorten(
            f"Deviations: {'; '.join(chapter.deviations)}", 150, placeholder=" …"
        )
        _text(page, LEFT, 0.38 + 0.12 * 3, text, size=SMALL, colour="#6b4a00")
    page.figure.add_artist(_rule(0.82))
    _text(page, LEFT, HEIGHT - 0.32, report.foot, size=SMALL, colour="#555555")
    _text(page, WIDTH - RIGHT, HEIGHT - 0.32, str(number), size=SMALL, colour="#555555", right=True)
    return page


def _rule(down: float) -> Any:  # noqa: ANN401 (an artist of an untyped library)
    from matplotlib.lines import Line2D

    up = 1 - down / HEIGHT
    return Line2D([LEFT / WIDTH, 1 - RIGHT / WIDTH], [up, up], color="#999999", linewidth=0.5)


def _text(  # noqa: PLR0913 (the looks by name)
    page: _Page,
    across: float,
    down: float,
    text: str,
    *,
    size: float = BODY,
    colour: str = "#1f2328",
    bold: bool = False,
    right: bool = False,
) -> None:
    page.figure.text(
        across / WIDTH, 1 - down / HEIGHT, _plain(text), fontsize=size, color=colour, va="baseline",
        ha="right" if right else "left", fontweight="bold" if bold else "normal",
        parse_math=False,
    )  # fmt: skip


def _plain(text: str) -> str:
    """Return text without what the fonts of a PDF cannot draw."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _head(page: _Page, report: Report, chapter: Chapter) -> None:
    """Set title, badges, deviations, what is missing, and all facts."""
    title = report.title if len(report.chapters) == 1 else chapter.title
    _text(page, LEFT, page.used + 0.2, title, size=15, bold=True)
    page.used += 0.4
    _text(page, LEFT, page.used, chapter.subtitle, colour="#57606a")
    page.used += 0.2
    badges = "   ".join(badge.text for badge in chapter.badges)
    is_bad = any(badge.kind == "bad" for badge in chapter.badges)
    _text(page, LEFT, page.used, badges, bold=True, colour="#a03c00" if is_bad else "#00543d")
    page.used += 0.2
    for name, texts in (
        ("Warning", (*report.warnings, *chapter.warnings)),
        ("Deviation", chapter.deviations),
        ("Missing", chapter.missing),
    ):
        for text in texts[:12]:
            for line in _wrapped(f"{name}: {text}"):
                _text(page, LEFT, page.used, line, colour="#6b4a00")
                page.used += LINE
    page.used += 0.08
    _facts(page, chapter)


def _facts(page: _Page, chapter: Chapter) -> None:
    """Set the facts in two columns."""
    top = page.used
    ends = []
    wide = (WIDTH - LEFT - RIGHT) / 2
    halves = (chapter.facts[:3], chapter.facts[3:])
    for place, groups in enumerate(halves):
        down = top
        across = LEFT + wide * place
        for name, rows in groups:
            _text(page, across, down, name, bold=True, size=7.5)
            down += LINE
            for key, value in rows:
                _text(page, across, down, key, size=7, colour="#57606a")
                for line in _wrapped(value, 38):
                    _text(page, across + 1.25, down, line, size=7)
                    down += LINE * 0.9
            down += 0.06
        ends.append(down)
    page.used = max(ends) + 0.05


def _place(page: _Page, block: Block, height: float) -> None:
    if isinstance(block, _Heading):
        page.figure.add_artist(_rule(page.used + 0.04))
        _text(page, LEFT, page.used + 0.28, block.text, size=11.5, bold=True)
        for line, text in enumerate(_wrapped(block.lead)):
            _text(page, LEFT, page.used + 0.45 + LINE * line, text, size=7.5, colour="#57606a")
        page.used += _own_height(block)
        return
    down = page.used
    if block.title:
        _text(page, LEFT, down + 0.2, block.title, size=9, bold=True)
        down += TITLE
    for note in _wrapped(block.note)[: None if isinstance(block, Table) else 1]:
        _text(page, LEFT, down + 0.08, note, size=7, colour="#57606a")
        down += LINE
    rest = page.used + height - down
    if isinstance(block, Table):
        _table(page, block, down)
    else:
        box = (LEFT, down, WIDTH - LEFT - RIGHT, rest)
        figures.draw(page.figure, block, _share(box))
    page.used += height


def _share(box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    """Return a box in inches from the top left as shares of the page from the bottom left."""
    across, down, width, height = box
    return across / WIDTH, 1 - (down + height) / HEIGHT, width / WIDTH, height / HEIGHT


def _table(page: _Page, table: Table, down: float) -> None:
    heads = [*table.columns]
    rows = [
        [words.value(row[0]), *(words.value(cell, table.digits) for cell in row[1:])]
        for row in table.rows
    ]
    size = 7.0
    widths = _widths(heads, rows)
    room = WIDTH - LEFT - RIGHT
    if sum(widths) > room:
        size = max(size * room / sum(widths), 3.6)
        widths = [width * room / sum(widths) for width in widths]
    step = LINE * 1.15
    ends = [LEFT + sum(widths[: place + 1]) - 0.06 for place in range(len(widths))]
    if table.span:
        middle = (LEFT + widths[0] + ends[-1]) / 2
        page.figure.text(
            middle / WIDTH, 1 - (down + step * 0.75) / HEIGHT, _plain(table.span), fontsize=size,
            color="#57606a", ha="center", parse_math=False,
        )  # fmt: skip
        down += step
    _row(page, heads, down, size, widths[0], ends, colour="#57606a")
    page.figure.add_artist(_line(down + step, ends[-1], "#8a8f98"))
    for row in rows:
        down += step
        _row(page, row, down, size, widths[0], ends)
        page.figure.add_artist(_line(down + step, ends[-1], "#e3e6ea"))


def _row(  # noqa: PLR0913, PLR0917 (one caller)
    page: _Page,
    cells: Sequence[str],
    down: float,
    size: float,
    first: float,
    ends: Sequence[float],
    colour: str = "#1f2328",
) -> None:
    base = down + LINE * 0.85
    del first
    _text(page, LEFT, base, cells[0], size=size, colour=colour)
    for end, cell in zip(ends[1:], cells[1:], strict=False):
        _text(page, end, base, cell, size=size, colour=colour, right=True)


def _line(down: float, end: float, colour: str) -> Any:  # noqa: ANN401 (as `_rule`)
    from matplotlib.lines import Line2D

    up = 1 - down / HEIGHT
    return Line2D([LEFT / WIDTH, end / WIDTH], [up, up], color=colour, linewidth=0.4)


def _widths(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[float]:
    """Return the width of each column in inches, from its longest text at 7 points."""
    longest = [
        max(len(row[place]) for row in [heads, *rows] if place < len(row))
        for place in range(len(heads))
    ]
    return [0.062 * length + 0.2 for length in longest]
