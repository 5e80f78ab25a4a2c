"""Tables on a terminal, as narrow as it is: no number is ever cut, broken or left out.

```text
fits                 name │ A │ B │ C                as wide as it must be
else, words wrap     name that │ A │ B │ C           texts and heads, at words
                     is long   │   │   │
else, turned         head │ row │ row │ row          a column for each row, if all fit
else, in blocks      name │ A │ B    name │ C         blocks of columns, the labels in each
        or, both     head │ row │ row  head │ row    blocks of rows, whichever is shorter
else                 head │ value                    a list of heads and values for each row
```
Numbers stay whole: also with spaces, signs and units in them (`188 853`, `7 / 10.14 / 12`,
`4.1 ± 0.2`, `+7.5 %`, `64 KiB`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.segment import Segment

# A text is not made narrower than this, unless it is shorter.
TEXT_MIN = 12
# In a list the heads take this share of a line at most.
HEAD_SHARE = 3
GAP, PLAIN_GAP = 3, 2
# Text, or parts that are aligned.
Cell = str | tuple[str, ...]

_NUMBER = r"[-+−]?(?:\d{1,3}(?: \d{3})+(?!\d)(?:\.\d+)?|\d[\d.,:]*(?:e[-+]?\d+)?)"
_ITEM = rf"(?:{_NUMBER}|n/a|-(?!\w))"
_UNIT = r"(?:%|[kKMGT]?i?B(?:/s)?|[nµm]?s|min|h|d|dB|°C|P/E)(?!\w)"
# Compiled at its first use: a help has no table.
_FIGURE = (
    rf"(?:[<>≤≥=~±x×+] )?{_ITEM}(?:(?: [/±x×·] | \.\. ){_ITEM})*(?: {_UNIT})?(?: \(x {_NUMBER}\))?"
)
# What a word that is too long is broken into, at worst.
_PIECE = rf"(?s:{_NUMBER}|.)"


def words(text: str) -> list[str]:
    """Return the parts of a text that are never broken: words, and numbers with their units.

    >>> words("took 188 853 µs, p99 4.1 ± 0.2 of 7 / 10.14 / 12")
    ['took', '188 853 µs,', 'p99', '4.1 ± 0.2', 'of', '7 / 10.14 / 12']
    """
    whole = re.sub(_FIGURE, lambda found: found.group().replace(" ", "\0"), text)
    return [word.replace("\0", " ") for word in whole.split()]


def wrapped(text: str, wide: int) -> list[str]:
    """Return a text in lines; a word that is too long is broken, a number never.

    >>> wrapped("host bytes 1 188 853 B", 10), wrapped("nand.timing.t_read_us=50", 10)
    (['host bytes', '1 188 853 B'], ['nand.timin', 'g.t_read_u', 's=50'])
    """
    if _width(text) <= wide:
        return [text]
    lines: list[str] = []
    for word in words(text):
        is_long = _width(word) > wide and not re.fullmatch(_FIGURE, word)
        pieces = re.findall(_PIECE, word) if is_long else [word]
        for place, piece in enumerate(pieces):
            space = "" if place else " "
            if lines and _width(lines[-1]) + len(space) + _width(piece) <= wide:
                lines[-1] += space + piece
            else:
                lines.append(piece)
    return lines or [""]


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


@dataclass(frozen=True)
class _Column:
    """A column: its head and its cells."""

    head: str
    cells: Sequence[str]
    is_left: bool
    styles: Sequence[str | None]
    is_whole: bool = False
    is_broken: bool = False

    @cached_property
    def natural(self) -> int:
        return max(_width(line) for cell in (self.head, *self.cells) for line in cell.split("\n"))

    @cached_property
    def least(self) -> int:
        """The least width at which no word is broken, or no cell of several parts."""
        if self.is_broken:
            return min(self.natural, TEXT_MIN)
        if self.is_whole:
            return max(_word_width(self.head), *map(_width, self.cells))
        return max(_word_width(self.head), *map(_least, self.cells), 0)


def _column(
    head: str, cells: Sequence[Cell], styles: Sequence[str | None], *, is_left: bool
) -> _Column:
    """Return a column; parts of cells are aligned, each on the right of its own width."""
    if not any(isinstance(cell, tuple) for cell in cells):
        return _Column(head, [str(cell) for cell in cells], is_left, styles)
    parts = [cell if isinstance(cell, tuple) else (cell,) for cell in cells]
    widths = [max(map(_width, column)) for column in zip_longest(*parts, fillvalue="")]
    rows = [
        "  ".join(
            " " * (wide - _width(part)) + part
            for part, wide in zip([*row, *[""] * len(widths)], widths, strict=False)
            if wide
        )
        for row in parts
    ]
    return _Column(head, rows, is_left, styles, is_whole=True)


def _word_width(text: str) -> int:
    return max(map(_width, words(text)), default=0)


def _least(text: str) -> int:
    """Return how narrow a cell can be: a text wraps, a number with a word or two next to it not."""
    parts = words(text)
    if len(parts) <= 2 and re.match(_FIGURE, text):
        return _width(text)
    return max(_word_width(text), min(_width(text), TEXT_MIN))


@dataclass(frozen=True)
class _Block:
    """Columns next to each other, with the width of each."""

    columns: Sequence[_Column]
    widths: Sequence[int]

    @cached_property
    def heads(self) -> list[list[str]]:
        return [
            wrapped(one.head, wide) for one, wide in zip(self.columns, self.widths, strict=True)
        ]

    @cached_property
    def rows(self) -> list[list[list[str]]]:
        """Lines of each cell of each row."""
        sides = list(zip(self.columns, self.widths, strict=True))
        return [
            [
                [line for part in one.cells[row].split("\n") for line in wrapped(part, wide)]
                for one, wide in sides
            ]
            for row in range(len(self.columns[0].cells))
        ]


@dataclass(frozen=True)
class Grid:
    """A table of words and numbers; printed, it takes the room that there is.

    Args:
        heads: Heads of the columns.
        lines: Cells of each row, text or a tuple of parts that are aligned and never broken; those
            that are missing at its end are empty.
        labels: Number of first columns that name a row; blocks repeat them.
        left: Columns whose cells stand on the left; the others stand on the right.
        sections: Rows with a rule above.
        styles: Row, or row and column, to the style of its cells.
        is_plain: Without heads and rules.
        repeated: Number of columns after the labels that each block of columns repeats.
    """

    heads: Sequence[str]
    lines: Sequence[Sequence[Cell]]
    labels: int = 1
    left: Collection[int] = (0,)
    sections: Collection[int] = ()
    styles: Mapping[int, str] | Mapping[tuple[int, int], str] | None = None
    is_plain: bool = False
    repeated: int = 0

    @cached_property
    def _cells(self) -> list[list[Cell]]:
        """Cells of each column, its head first."""
        columns = zip_longest(self.heads, *self.lines, fillvalue="")
        return [[_inert(cell) for cell in column] for column in columns]

    @cached_property
    def _columns(self) -> list[_Column]:
        rows = range(len(self.lines))
        return [
            _column(
                str(head), cells, [self._style(row, at) for row in rows], is_left=at in self.left
            )
            for at, (head, *cells) in enumerate(self._cells)
        ]

    def _style(self, row: int, column: int) -> str | None:
        styles: Mapping[Any, str] = self.styles or {}
        return styles.get((row, column)) or styles.get(row)

    @property
    def _gap(self) -> int:
        return PLAIN_GAP if self.is_plain else GAP

    def blocks(self, width: int) -> list[_Block]:
        """Return what is printed on a terminal of this width, one below the other."""
        whole = self._fitted(self._columns, width)
        if whole or not self.lines:
            return [whole or _Block(self._columns, [one.natural for one in self._columns])]
        upright = self._upright(width)
        if self.is_plain:
            # Turned, its rows would lose their names: those are its heads, which are not drawn.
            return upright or [self._squeezed(width)]
        across = self._across(width)
        if across and (not upright or len(across) == 1 or _height(across) < _height(upright)):
            return across
        return upright or self._listed(width)

    def _fitted(self, columns: Sequence[_Column], width: int) -> _Block | None:
        """Return columns next to each other, the widest made narrower; None where they do not fit.

        Numbers keep their width, and texts are not squeezed into a column of single words.
        """
        room = width - self._gap * (len(columns) - 1)
        widths = [one.natural for one in columns]
        if sum(widths) > room and sum(one.least for one in columns) > room:
            return None
        while (over := sum(widths) - room) > 0:
            able = [at for at, one in enumerate(columns) if widths[at] > one.least]
            first, *others = sorted(able, key=lambda at: -widths[at])
            next_width = widths[others[0]] if others else 0
            step = max(1, widths[first] - max(next_width, columns[first].least))
            widths[first] -= min(step, over)
        return _Block(columns, widths)

    def _squeezed(self, width: int) -> _Block:
        """Return all columns next to each other; words are broken, numbers stay whole."""
        narrow = [replace(one, is_broken=True) for one in self._columns]
        return self._fitted(narrow, width) or _Block(narrow, [one.least for one in narrow])

    def _upright(self, width: int) -> list[_Block] | None:
        """Return blocks of columns, each with the labels; None where one does not fit."""
        first = self.labels + self.repeated
        labels, others = self._columns[:first], self._columns[first:]
        blocks: list[_Block] = []
        for one in others:
            more = self._fitted([*blocks[-1].columns, one], width) if blocks else None
            alone = None if more else self._fitted([*labels, one], width)
            if more:
                blocks[-1] = more
            elif alone:
                blocks.append(alone)
            else:
                return None
        return blocks

    def _across(self, width: int) -> list[_Block] | None:
        """Return blocks with a column for each row; None where one does not fit."""
        blocks: list[_Block] = []
        names = self._names
        for column in self._turned:
            more = self._fitted([*blocks[-1].columns, column], width) if blocks else None
            alone = None if more else self._fitted([names, column], width)
            if more:
                blocks[-1] = more
            elif alone:
                blocks.append(alone)
            else:
                return None
        return blocks

    def _listed(self, width: int) -> list[_Block]:
        """Return a block for each row; a number that is wider than the terminal stays whole."""
        names = self._names
        longest = max(map(_word_width, (names.head, *names.cells)))
        first = min(names.natural, max(longest, width // HEAD_SHARE))
        found = []
        for column in self._turned:
            texts = [column.head, *column.cells]
            whole = [
                word for text in texts for word in words(text)
                if _width(word) <= TEXT_MIN or re.fullmatch(_FIGURE, word)
            ]  # fmt: skip
            least = max(map(_width, column.cells if column.is_whole else whole), default=1)
            second = max(least, min(column.natural, width - first - self._gap))
            found.append(_Block([names, column], [first, second]))
        return found

    @property
    def _names(self) -> _Column:
        """The heads as a column."""
        label = ", ".join(one.head for one in self._columns[: self.labels])
        heads = [one.head for one in self._columns[self.labels :]]
        return _Column(label, heads, is_left=True, styles=[None] * len(heads))

    @property
    def _turned(self) -> Iterator[_Column]:
        """The rows as columns."""
        for row in range(len(self.lines)):
            label = ", ".join(one.cells[row] for one in self._columns[: self.labels])
            cells = [column[row + 1] for column in self._cells[self.labels :]]
            is_left = any(isinstance(cell, str) and _least(cell) < _width(cell) for cell in cells)
            styles = [self._style(row, at) for at in range(self.labels, len(self._cells))]
            yield _column(label, cells, styles, is_left=is_left)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it as wide as the console is."""
        from rich.box import HEAVY_HEAD
        from rich.segment import Segment

        box = HEAVY_HEAD.substitute(options)
        bars = ("", "") if self.is_plain else (box.head_vertical, box.mid_vertical)
        blocks = self.blocks(options.max_width)
        is_turned = blocks[0].columns[0] is not self._columns[0]
        for place, block in enumerate(blocks):
            if place:
                yield Segment.line()
            if not self.is_plain and any(map(any, block.heads)):
                heads = ["table.header"] * len(block.columns)
                yield from _drawn(console, _lines(block, block.heads, is_head=True), heads, bars[0])
                yield Segment(_rule(block, box.head_row_horizontal, box.head_row_cross))
                yield Segment.line()
            for row, cells in enumerate(block.rows):
                if row in self.sections and not is_turned:
                    yield Segment(_rule(block, box.row_horizontal, box.row_cross))
                    yield Segment.line()
                styles = [one.styles[row] for one in block.columns]
                yield from _drawn(console, _lines(block, cells), styles, bars[1])


def _height(blocks: Sequence[_Block]) -> int:
    """Return how many lines blocks take, with their heads, rules and gaps."""
    return sum(
        sum(max(map(len, cells)) for cells in (block.heads, *block.rows)) + 2 for block in blocks
    )


def _inert(cell: Cell) -> Cell:
    from opennandlab.base.errors import inert_lines

    if isinstance(cell, tuple):
        return tuple(inert_lines(part) for part in cell)
    return inert_lines(cell)


def _rule(block: _Block, line: str, cross: str) -> str:
    return (line + cross + line).join(line * wide for wide in block.widths)


def _lines(
    block: _Block, cells: Sequence[Sequence[str]], *, is_head: bool = False
) -> Iterator[list[str]]:
    """Yield the lines of a row, a text for each column; heads are at the bottom."""
    count = max(map(len, cells))
    for at in range(count):
        parts = []
        for column, wide, lines in zip(block.columns, block.widths, cells, strict=True):
            place = at - (count - len(lines)) if is_head else at
            text = lines[place] if 0 <= place < len(lines) else ""
            space = " " * (wide - _width(text))
            parts.append(text + space if column.is_left else space + text)
        yield parts


def _drawn(
    console: Console, lines: Iterator[list[str]], styles: Sequence[str | None], bar: str
) -> Iterator[Segment]:
    """Yield lines with their styles; without bars, none ends in spaces."""
    from rich.segment import Segment

    for parts in lines:
        shown = parts if bar else [*parts[:-1], parts[-1].rstrip()]
        for place, (text, style) in enumerate(zip(shown, styles, strict=True)):
            if place:
                yield Segment(f" {bar} ")
            yield Segment(text, console.get_style(style) if style else None)
        yield Segment.line()


def plain_table(head: Sequence[str], lines: Sequence[Sequence[str]], *, labels: int = 1) -> Grid:
    """Return a table of words on the left and figures on the right.

    Columns of words are the first, units, and those in which no cell begins with a figure.
    """
    columns = zip_longest(*lines, fillvalue="")
    left = {at for at, cells in enumerate(columns) if head[at] == "unit" or _is_wordy(cells)}
    return Grid(head, lines, labels, {0, *left})


def _is_wordy(cells: Sequence[str]) -> bool:
    """Return whether a column has words alone, next to cells without a value."""
    filled = [cell for cell in cells if cell not in {"", "-", "n/a"}]
    return bool(filled) and not any(re.match(_FIGURE, cell) for cell in filled)
