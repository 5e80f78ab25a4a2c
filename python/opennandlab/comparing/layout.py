"""The table of a comparison as lines of a terminal, none longer than it is wide.

```text
fits         number │ A │ B │ C               one row for each number
does not     number │ A │ B    number │ A │ C     blocks of columns, the reference in each,
        or   name │ WAF │ IOPS    …              one row for each document: whichever is shorter
```
Names are shortened to what tells them apart; where that is still too long, letters stand for them,
with a legend above. Values and deltas are aligned, and marks stand before the value.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from opennandlab.comparing.naming import folded, letters, width
from opennandlab.comparing.words import bounded, change, short, spread
from opennandlab.documents.comparison import Row

# A head of a column is at most so wide, and so is the name of a number.
HEAD_MAX = 16
LABEL_MAX = 40
# Below this no table is readable; lines are then as long as they must be.
WIDTH_MIN = 40
# Lines of a head over which the name of a number is broken.
HEAD_LINES = 3
# A word in it is broken if it is longer.
WORD_MAX = 20
FILES = "files: "
# The share of a line that the name of a document may take, where each has a row.
NAME_SHARE = 4

Span = tuple[str, str]
Line = list[Span]


@dataclass(frozen=True)
class Glyphs:
    """What is drawn with.

    Args:
        best: Before the best value of a row.
        worst: Before the worst.
        bar: Between columns.
        rule: Below the heads.
        cross: Where both meet.
        times: Before a factor.
        over: Before its inverse.
        dots: For what is left out.
        micro: The sign of micro in units.
        reach: Before how far an interval reaches.
    """

    best: str = "▲"
    worst: str = "▼"
    bar: str = " │ "
    rule: str = "━"
    cross: str = "━┿━"
    times: str = "×"
    over: str = "÷"
    dots: str = "…"
    micro: str = "µ"
    reach: str = "±"

    def plain(self, text: str) -> str:
        """Return a text with its signs as this terminal can print them."""
        signs = {
            "×": self.times, "÷": self.over, "…": self.dots, "µ": self.micro, "±": self.reach,
        }  # fmt: skip
        for sign, ours in signs.items():
            text = text.replace(sign, ours)
        return text


ASCII = Glyphs("*", "!", " | ", "-", "-+-", "x", "/", "...", "u", "+-")


def glyphs(encoding: str | None) -> Glyphs:
    """Return what can be printed in an encoding.

    >>> glyphs("utf-8").best, glyphs("ascii").best, glyphs(None).best
    ('▲', '*', '*')
    """
    signs = Glyphs()
    try:
        "".join(vars(signs).values()).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return signs


@dataclass(frozen=True)
class Cell:
    """A value in its row.

    Args:
        value: The number.
        spread: How far its interval reaches; empty where it is not shown.
        delta: Its change against the first; empty for the first.
        mark: `best`, `worst` or empty.
    """

    value: str
    spread: str = ""
    delta: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Screen:
    """What a table is drawn for.

    Args:
        width: Columns of the terminal.
        signs: What is drawn with.
        has_intervals: Whether intervals stand beside the values.
    """

    width: int
    signs: Glyphs
    has_intervals: bool = False


def cells_of(row: Row, screen: Screen) -> list[Cell]:
    """Return the cells of a row."""
    blank = [None] * len(row.values)
    ends = zip(row.low or blank, row.high or blank, strict=True)
    found = []
    for place, (value, (low, high)) in enumerate(zip(row.values, ends, strict=True)):
        said = change(row.values[0], value, row.delta_pct[place]) if place else ""
        text, reach = short(value), ""
        if screen.has_intervals:
            text, reach = bounded(value, low, high), spread(value, low, high)
            # Of a bound it is not known how far it is from the first.
            said = "" if value == 0 and text != short(value) else said
        plain = screen.signs.plain
        found.append(Cell(text, plain(reach), plain(said), row.mark(place)))
    return found


@dataclass(frozen=True)
class Drawn:
    """A table as lines.

    Args:
        lines: Spans of each: text, and `head`, `best`, `worst` or nothing.
        legend: Which file each name stands for, as lines; none where the names say it.
        first: What the first document is called.
    """

    lines: list[Line]
    legend: list[str]
    first: str


def table(
    rows: Sequence[tuple[str, Row]],
    names: Sequence[str],
    sources: Sequence[str] | None,
    screen: Screen,
) -> Drawn:
    """Return the table of a comparison.

    Args:
        rows: Name and values of each row.
        names: What the documents are called.
        sources: Their files; None for documents in memory.
        screen: What it is drawn for.
    """
    width_max, signs = max(screen.width, WIDTH_MIN), screen.signs
    grid = [cells_of(row, screen) for _, row in rows]
    labels = [signs.plain(label) for label, _ in rows]
    heads = _heads(names, HEAD_MAX, signs)
    blocks = _upright(labels, grid, heads, width_max, signs) if rows else []
    is_wide = any(_line_width(line) > width_max for block in blocks for line in block)
    if is_wide or len(blocks) > 1:
        tall = _heads(names, width_max // NAME_SHARE, signs)
        across = _across(labels, grid, tall, width_max, signs)
        if is_wide or len(across) == 1 or _height(across) <= _height(blocks):
            heads, blocks = tall, across
    lines: list[Line] = []
    for block in blocks:
        lines += [*([[]] if lines else []), *block]
    return Drawn(lines, list(_legend(heads, names, sources, width_max, signs)), heads[0])


def _heads(names: Sequence[str], chars_max: int, signs: Glyphs) -> list[str]:
    """Return names of at most so many characters; letters where that does not tell them apart."""
    found = folded(names, chars_max)
    plain = [signs.plain(name) for name in found or ()]
    fits = len(set(plain)) == len(names) and all(width(name) <= chars_max for name in plain)
    return plain if fits else letters(len(names))


def _line_width(line: Line) -> int:
    return sum(width(text) for text, _ in line)


def _height(blocks: Sequence[Sequence[Line]]) -> int:
    return sum(map(len, blocks)) + len(blocks)


def _legend(
    heads: Sequence[str],
    names: Sequence[str],
    sources: Sequence[str] | None,
    width_max: int,
    signs: Glyphs,
) -> Iterator[str]:
    """Yield the lines that say which file each name stands for."""
    is_named = all(head == signs.plain(name) for head, name in zip(heads, names, strict=True))
    texts = list(names)
    if sources is not None:
        pattern = _pattern(names, sources) if is_named else None
        if pattern is not None and width(pattern) + len(FILES) <= width_max:
            yield from [] if pattern == "*.json" else [f"{FILES}{signs.plain(pattern)}"]
            return
        # A file with several columns, such as a comparison of codes, does not tell them apart.
        texts = [
            source if is_named or sources.count(source) == 1 else f"{source}  {name}"
            for source, name in zip(sources, names, strict=True)
        ]
    elif is_named:
        return
    wide = max(map(width, heads))
    room = width_max - wide - 2
    for head, text in zip(heads, _shortened(texts, room), strict=True):
        pieces = _pieces(signs.plain(text), room)
        yield f"{_padded(head, wide)}  {pieces[0]}"
        yield from (f"{' ' * (wide + 2)}{piece}" for piece in pieces[1:])


def _pattern(names: Sequence[str], sources: Sequence[str]) -> str | None:
    """Return what all files are called, `*` for the name of the document; None for nothing.

    >>> _pattern(["a", "b"], ["x/a/iops.json", "x/b/iops.json"])
    'x/*/iops.json'
    >>> _pattern(["a", "b"], ["x/a.json", "y/b.json"])
    """
    found = set()
    for name, source in zip(names, sources, strict=True):
        begin, is_there, end = source.rpartition(name)
        if not is_there or begin[-1:] not in {"", "/"} or end[:1] not in {"", "/", "."}:
            return None
        found.add(f"{begin}*{end}")
    return found.pop() if len(found) == 1 else None


def _shortened(texts: Sequence[str], room: int) -> list[str]:
    """Return paths that fit, the folders that all share folded where they do not."""
    if all(width(text) <= room for text in texts):
        return list(texts)
    parts = [text.split("/") for text in texts]
    while all(len(one) > 1 for one in parts) and len({one[0] for one in parts}) == 1:
        parts = [one[1:] for one in parts]
    found = ["/".join(one) for one in parts]
    return [f"…/{one}" for one in found] if found != list(texts) else found


def _pieces(text: str, room: int) -> list[str]:
    """Return a text in pieces that fit; a name is broken where it must be."""
    found, taken = [""], 0
    for letter in text:
        wide = width(letter)
        if taken + wide > room:
            found.append("")
            taken = 0
        found[-1] += letter
        taken += wide
    return found


@dataclass(frozen=True)
class _Column:
    """A column of cells, with the widths of its parts.

    Args:
        head: Lines of its head.
        cells: Its cells.
        has_marks: Whether room is kept for marks.
    """

    head: list[str]
    cells: list[Cell]
    has_marks: bool

    @property
    def value_width(self) -> int:
        return max(width(cell.value) for cell in self.cells)

    @property
    def spread_width(self) -> int:
        return max(width(cell.spread) for cell in self.cells)

    @property
    def delta_width(self) -> int:
        return max(width(cell.delta) for cell in self.cells)

    @property
    def inner(self) -> int:
        more = sum(2 + wide for wide in (self.spread_width, self.delta_width) if wide)
        return 2 * self.has_marks + self.value_width + more

    @property
    def width(self) -> int:
        return max(self.inner, *map(width, self.head))

    def drawn(self, place: int, signs: Glyphs) -> Line:
        cell = self.cells[place]
        mark = {"best": signs.best, "worst": signs.worst}.get(cell.mark, " ")
        text = " " * (self.width - self.inner)
        text += f"{mark} " if self.has_marks else ""
        text += " " * (self.value_width - width(cell.value)) + cell.value
        for part, wide in ((cell.spread, self.spread_width), (cell.delta, self.delta_width)):
            text += f"  {_padded(part, wide, is_right=True)}" if wide else ""
        return [(text, cell.mark)]


def _upright(
    labels: Sequence[str],
    grid: Sequence[Sequence[Cell]],
    names: Sequence[str],
    width_max: int,
    signs: Glyphs,
) -> list[list[Line]]:
    """Return blocks with a row for each number, the first document in each of them."""
    has_marks = any(cell.mark for row in grid for cell in row)
    columns = [
        _Column([name], [row[place] for row in grid], has_marks) for place, name in enumerate(names)
    ]
    widest = max((column.width for column in columns[1:]), default=0)
    room = width_max - columns[0].width - widest - 2 * len(signs.bar)
    wraps = [_wrapped(label, min(LABEL_MAX, max(room, 12))) for label in labels]
    label_width = max(width(text) for lines in wraps for text in lines)
    room = width_max - label_width - len(signs.bar) - columns[0].width
    groups = _groups(columns[1:], room, signs)
    return [_block(wraps, label_width, [columns[0], *group], signs) for group in groups]


def _across(
    labels: Sequence[str],
    grid: Sequence[Sequence[Cell]],
    names: Sequence[str],
    width_max: int,
    signs: Glyphs,
) -> list[list[Line]]:
    """Return blocks with a row for each document."""
    columns = []
    for label, row in zip(labels, grid, strict=True):
        has_marks = any(cell.mark for cell in row)
        body = _Column([""], list(row), has_marks)
        longest = max(map(width, label.split()), default=0)
        least = max(-(-width(label) // HEAD_LINES), min(longest, WORD_MAX))
        head = _wrapped(label, max(body.inner, least))
        columns.append(_Column(head, list(row), has_marks))
    label_width = max(map(width, names))
    wraps = [[name] for name in names]
    groups = _groups(columns, width_max - label_width, signs)
    return [_block(wraps, label_width, group, signs) for group in groups]


def _groups(columns: Sequence[_Column], room: int, signs: Glyphs) -> Iterator[list[_Column]]:
    """Yield as many columns at a time as there is room for, but at least one."""
    group: list[_Column] = []
    taken = 0
    for column in columns:
        wide = len(signs.bar) + column.width
        if group and taken + wide > room:
            yield group
            group, taken = [], 0
        group.append(column)
        taken += wide
    if group:
        yield group


def _block(
    wraps: Sequence[Sequence[str]],
    label_width: int,
    columns: Sequence[_Column],
    signs: Glyphs,
) -> list[Line]:
    """Return heads, rule and rows."""
    count = max(len(column.head) for column in columns)
    found: list[Line] = []
    for at in range(count):
        line: Line = [(" " * label_width, "head")]
        for column in columns:
            # Heads stand on the rule.
            place = at - (count - len(column.head))
            text = column.head[place] if place >= 0 else ""
            line += [(signs.bar, ""), (_padded(text, column.width, is_right=True), "head")]
        found.append(line)
    rule = signs.cross.join(
        signs.rule * wide for wide in [label_width, *(c.width for c in columns)]
    )
    found.append([(rule, "")])
    for at, texts in enumerate(wraps):
        for text in texts[:-1]:
            blank = [(signs.bar + " " * column.width, "") for column in columns]
            found.append([(_padded(text, label_width), ""), *blank])
        line = [(_padded(texts[-1], label_width), "")]
        for column in columns:
            line += [(signs.bar, ""), *column.drawn(at, signs)]
        found.append(line)
    return found


def _padded(text: str, wide: int, *, is_right: bool = False) -> str:
    space = " " * max(0, wide - width(text))
    return space + text if is_right else text + space


def _wrapped(text: str, wide: int) -> list[str]:
    """Return a text as lines; words that are too long are broken."""
    if width(text) <= wide:
        return [text]
    return textwrap.wrap(text, wide, break_on_hyphens=False) or [""]


def paragraph(text: str, width_max: int) -> list[str]:
    """Return a sentence as lines, those after the first moved in."""
    wide = max(width_max, WIDTH_MIN)
    return textwrap.wrap(
        text, wide, subsequent_indent="  ", break_on_hyphens=False, break_long_words=True
    ) or [""]
