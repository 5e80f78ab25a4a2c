"""The table of a comparison as cells: value, interval and delta, best and worst marked.

Names are shortened to the part in which they differ; if that is still too long, letters replace
them, with a legend above.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from opennandlab.comparing.naming import folded, letters, width
from opennandlab.comparing.rows import may_be_chance
from opennandlab.comparing.words import bounded, change, short, spread
from opennandlab.documents.comparison import Row

# Characters of the name of a document, at most.
HEAD_MAX = 16
# Below this no table is readable; lines are then as long as they must be.
WIDTH_MIN = 40
FILES = "files: "


@dataclass(frozen=True)
class Glyphs:
    """What is drawn with.

    Args:
        best: Before the best value of a row.
        worst: Before the worst.
        times: Before a factor.
        over: Before its inverse.
        dots: For what is left out.
        micro: The sign of micro in units.
        reach: Before how far an interval reaches.
        alike: Before a change that may be chance.
    """

    best: str = "▲"
    worst: str = "▼"
    times: str = "×"
    over: str = "÷"
    dots: str = "…"
    micro: str = "µ"
    reach: str = "±"
    alike: str = "≈"

    def plain(self, text: str) -> str:
        """Return a text with its signs as this terminal can print them."""
        signs = {
            "×": self.times, "÷": self.over, "…": self.dots, "µ": self.micro, "±": self.reach,
            "≈": self.alike,
        }  # fmt: skip
        for sign, ours in signs.items():
            text = text.replace(sign, ours)
        return text


ASCII = Glyphs("*", "!", "x", "/", "...", "u", "+-", "~")


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
        delta: Its change against the first, behind a sign if it may be chance; empty for the first.
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
        has_intervals: Whether intervals stand next to the values.
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
        said = f"≈ {said}" if said and row.better and may_be_chance(row, place) else said
        plain = screen.signs.plain
        found.append(Cell(text, plain(reach), plain(said), row.mark(place)))
    return found


@dataclass(frozen=True)
class Drawn:
    """A table: its heads and cells, and what its names mean.

    Args:
        heads: Of its columns; the first is that of the names of numbers.
        lines: Name, then the parts of each cell: mark and value, interval, delta.
        marks: `best` and `worst` cells, by row and column.
        legend: Which file each name means, as lines; none if the names show it.
    """

    heads: list[str]
    lines: list[list[str | tuple[str, ...]]]
    marks: dict[tuple[int, int], str]
    legend: list[str]


def table(
    rows: Sequence[tuple[str, Row]],
    names: Sequence[str],
    sources: Sequence[str] | None,
    screen: Screen,
) -> Drawn:
    """Return the table of a comparison.

    Args:
        rows: Name and values of each row.
        names: Of the documents.
        sources: Their files; None for documents in memory.
        screen: What it is drawn for.
    """
    signs = screen.signs
    grid = [cells_of(row, screen) for _, row in rows]
    heads = _heads(names, signs)
    lines: list[list[str | tuple[str, ...]]] = [
        [signs.plain(label), *(_parts(cell, signs) for cell in cells)]
        for (label, _), cells in zip(rows, grid, strict=True)
    ]
    marks: dict[tuple[int, int], str] = {
        (row, column + 1): cell.mark
        for row, cells in enumerate(grid)
        for column, cell in enumerate(cells)
        if cell.mark
    }
    legend = list(_legend(heads, names, sources, max(screen.width, WIDTH_MIN), signs))
    return Drawn(["", *heads], lines, marks, legend)


def chance_note(rows: Sequence[Row], seeds: int) -> str:
    """Return what the sign of chance means in these rows; empty if none has it.

    Args:
        rows: Those of the table.
        seeds: Runs with other seeds that chance is estimated from; 0 for an assumed share.
    """
    known = [row for row in rows if row.better]
    marked = [
        row for row in known for place in range(1, len(row.values)) if may_be_chance(row, place)
    ]
    if not marked:
        return ""
    shares = [row.chance_pct for row in marked if row.chance_pct is not None]
    is_met = len(shares) < len(marked)
    if not shares:
        return "≈ may be chance: intervals meet"
    least, most = f"{min(shares):.2g}", f"{max(shares):.2g}"
    limit = f"{least} %" if least == most else f"{least} to {most} %"
    why = f"by {seeds} runs with other seeds" if seeds else "assumed, as no other seeds are known"
    return f"≈ may be chance: below {limit}, {why}{'; or intervals meet' if is_met else ''}"


def _parts(cell: Cell, signs: Glyphs) -> tuple[str, ...]:
    sign = {"best": f"{signs.best} ", "worst": f"{signs.worst} "}.get(cell.mark, "")
    return sign + cell.value, cell.spread, cell.delta


def _heads(names: Sequence[str], signs: Glyphs) -> list[str]:
    """Return short names; letters if short ones would be equal."""
    found = folded(names, HEAD_MAX)
    plain = [signs.plain(name) for name in found or ()]
    fits = len(set(plain)) == len(names) and all(width(name) <= HEAD_MAX for name in plain)
    return plain if fits else letters(len(names))


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
        # A file with several columns, such as a comparison of codes, does not distinguish them.
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
        yield f"{head + ' ' * (wide - width(head))}  {pieces[0]}"
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


def paragraph(text: str, width_max: int) -> list[str]:
    """Return a sentence as lines, those after the first moved in."""
    wide = max(width_max, WIDTH_MIN)
    return textwrap.wrap(
        text, wide, subsequent_indent="  ", break_on_hyphens=False, break_long_words=True
    ) or [""]
