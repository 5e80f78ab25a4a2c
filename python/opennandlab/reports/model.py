"""What a report consists of, as plain data: chapters of sections of figures and tables.

```text
document (JSON) ──► views ──► Chapter { Section { Figure | Table } } ──► html | pdf | csv | svg
```
A view decides what is shown; a renderer decides how. Nothing here knows a test, a drawing library
or a file. Values that were not measured are None and stay so until they are written as `n/a`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from opennandlab.reports.figure.model import Figure, Plot, Relief, Series, Stack

Cell = float | int | str | None
Kind = Literal["good", "plain", "warning", "bad"]
# Groups of (name, value).
Facts = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


class Marked(str):
    """A number that bears a mark: text on a page, both apart in CSV.

    Args:
        amount: The number.
        mark: Its mark.
    """

    __slots__ = ("amount", "mark")

    amount: float
    mark: str

    @classmethod
    def of(cls, text: str, amount: float, mark: str) -> Marked:
        """Return the text of a number with its mark, and both apart."""
        made = cls(text)
        made.amount, made.mark = amount, mark
        return made


@dataclass(frozen=True)
class Table:
    """A table of numbers or words.

    Args:
        id: Stable name, unique in its chapter, and that of its CSV file.
        title: What it shows, with the unit.
        columns: Heads; the first is that of the row names.
        rows: Name of the row, then its cells; a string is written as it is.
        note: A sentence below the title.
        span: Head over all columns but the first, such as `R/W mix (%)`.
        digits: Decimals of its numbers; None for as many as four digits need.
        wraps: Whether words in its cells break into lines, and rows become cards on a phone.
        tones: How each row is coloured; empty for no colours.
        marked: The column whose numbers may be `Marked`; None for none.
        unit: That of all numbers, where they have one; files of tables name it in each head.
    """

    id: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    span: str = ""
    digits: int | None = None
    wraps: bool = False
    tones: tuple[Kind, ...] = ()
    marked: int | None = None
    unit: str = ""

    @property
    def wordy(self) -> tuple[bool, ...]:
        """Whether each column holds words, which begin on the left, rather than numbers."""
        columns = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.columns)
        return tuple(map(_holds_words, columns))


Item = Figure | Table


@dataclass(frozen=True)
class Section:
    """Items that belong together.

    Args:
        id: Stable name, unique in its chapter.
        title: Its heading.
        items: What it shows, in order.
        lead: Sentences below the heading.
    """

    id: str
    title: str
    items: tuple[Item, ...]
    lead: str = ""


@dataclass(frozen=True)
class Badge:
    """A word or two that qualify the whole chapter.

    Args:
        text: Such as `STEADY STATE NOT ATTAINED`.
        kind: `good`, `plain`, `warning` or `bad`.
    """

    text: str
    kind: Kind = "plain"


@dataclass(frozen=True)
class Headline:
    """A figure that is quoted.

    Args:
        name: What it is.
        value: The number, written.
        unit: Its unit; empty for a ratio or a word.
    """

    name: str
    value: str
    unit: str = ""

    @property
    def text(self) -> str:
        """The number with its unit."""
        return f"{self.value} {self.unit}".strip()


@dataclass(frozen=True)
class Chapter:
    """The report of one document.

    Args:
        id: Stable name, unique in the report.
        title: Its heading.
        subtitle: A line below it.
        verdict: What the document is worth, in a word.
        reason: Why, as a sentence.
        headlines: The figures that are quoted, shown before everything else.
        facts: Groups of (name, value) that make the header.
        badges: What qualifies everything below.
        deviations: Where the run left the specification.
        standard: What they deviate from.
        warnings: What the test itself warned of.
        missing: What the document does not hold, or what of it cannot be used.
        sections: What it shows.
        brief: The header in one line, for the head of each printed page.
        test: Name of the test, such as `iops`.
    """

    id: str
    title: str
    subtitle: str = ""
    verdict: Badge | None = None
    reason: str = ""
    headlines: tuple[Headline, ...] = ()
    facts: Facts = ()
    badges: tuple[Badge, ...] = ()
    deviations: tuple[str, ...] = ()
    standard: str = "the specification"
    warnings: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    brief: str = ""
    test: str = ""

    @property
    def items(self) -> Iterator[Item]:
        """All figures and tables."""
        return (item for section in self.sections for item in section.items)


@dataclass(frozen=True)
class Report:
    """Chapters under one title.

    Args:
        title: Heading.
        lead: A sentence below it.
        chapters: At least one.
        warnings: What concerns the report as a whole, such as runs that are unlike each other.
        foot: What made it.
        kind: What such reports are of, for the line above the title.
    """

    title: str
    lead: str
    chapters: tuple[Chapter, ...]
    warnings: tuple[str, ...] = ()
    foot: str = field(default="", compare=False)
    kind: str = "standard tests of solid-state storage"

    @property
    def figures(self) -> list[Figure]:
        """All figures."""
        return [
            item
            for chapter in self.chapters
            for item in chapter.items
            if not isinstance(item, Table)
        ]

    @property
    def summary(self) -> Table | None:
        """One row for each chapter: what is quoted of it, what it is worth; None for one alone."""
        if len(self.chapters) < 2:
            return None
        rows = tuple(
            (
                chapter.title,
                chapter.verdict.text if chapter.verdict else "",
                "; ".join(f"{one.name}: {one.text}" for one in chapter.headlines),
                len(chapter.deviations),
            )
            for chapter in self.chapters
        )
        return Table("summary", "Summary", ("test", "verdict", "results", "deviations"), rows)

    @property
    def missing(self) -> tuple[str, ...]:
        """What any chapter misses."""
        named = len(self.chapters) > 1
        return tuple(
            f"{chapter.title}: {text}" if named else text
            for chapter in self.chapters
            for text in chapter.missing
        )


def page_of(title: str, lead: str, items: Sequence[Item], foot: str = "") -> Report:
    """Return a report of figures and tables, each a section of its own.

    Args:
        title: Heading.
        lead: A sentence below it.
        items: What it shows.
        foot: What made it.
    """
    sections = tuple(Section(item.id, item.title, (item,)) for item in items)
    return Report(title, lead, (Chapter("figures", title, sections=sections),), (), foot, "figures")


def _is_unknown(cell: Cell) -> bool:
    return isinstance(cell, str) and cell.startswith("n/a")


def _holds_words(cells: Sequence[Cell]) -> bool:
    """Whether most of the cells that say anything begin with a letter.

    >>> _holds_words(("MB/s", "%", "")), _holds_words(("7 / 10", "n/a", 3.0)), _holds_words(())
    (True, False, False)
    """
    said = [cell for cell in cells if cell not in {None, "", "-"} and not _is_unknown(cell)]
    words = [cell for cell in said if _is_words(cell)]
    return 2 * len(words) > len(said)


def _is_words(cell: Cell) -> bool:
    """Tell whether a cell begins with a letter; a number that bears a mark does not."""
    if not isinstance(cell, str) or isinstance(cell, Marked):
        return False
    return not cell.lstrip("+-.")[0].isdigit()


def numbers(figure: Figure, rows_max: int = 60) -> Table:
    """Return a figure as a table, thinned where it has more than `rows_max` positions.

    Args:
        figure: Any.
        rows_max: Rows at most; the last position is always kept.
    """
    if isinstance(figure, Relief):
        rows = tuple((name, *row) for name, row in zip(figure.rows, figure.values, strict=True))
        return Table(
            figure.id, f"{figure.title}, {figure.z.label}", (figure.y, *figure.columns), rows,
            span=figure.x,
        )  # fmt: skip
    if isinstance(figure, Stack):
        parts = [part.values for part in figure.parts]
        rows = tuple((name, *values) for name, *values in zip(figure.rows, *parts, strict=True))
        heads = ("", *(part.name for part in figure.parts))
        return Table(figure.id, f"{figure.title}, {figure.x.label}", heads, rows)
    return _of_plot(figure, rows_max)


def _of_plot(plot: Plot, rows_max: int) -> Table:
    said = [line for line in plot.series if not line.is_key]
    lines = [line for line in said if not line.quiet] or said
    columns = [column for line in lines for column in _columns(line)]
    places = sorted({x for _, column in columns for x in column})
    kept = thinned(places, rows_max)
    names = dict(plot.x.ticks)
    rows = tuple(
        (names.get(place, place), *(column.get(place) for _, column in columns)) for place in kept
    )
    heads = (plot.x.label, *(name for name, _ in columns))
    note = f"{len(kept)} of {len(places)} positions" if len(kept) < len(places) else ""
    return Table(plot.id, f"{plot.title}, {plot.y.label}", heads, rows, note)


def _columns(line: Series) -> Iterator[tuple[str, dict[float, float | None]]]:
    """Yield values by position, and those of the error bars where there are any."""
    ends = ((", low", line.low), (", high", line.high))
    for suffix, values in ends if line.draw == "band" else (("", line.y), *ends):
        if values or not suffix:
            pairs = zip(line.x, values, strict=False)
            yield line.name + suffix, {x: y for x, y in pairs if x is not None}


def thinned(places: Sequence[float], count_max: int) -> list[float]:
    """Return at most `count_max` of the places, evenly, the first and the last among them."""
    if len(places) <= count_max:
        return list(places)
    step = (len(places) - 1) / (count_max - 1)
    return [places[round(index * step)] for index in range(count_max)]
