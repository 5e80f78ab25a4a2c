"""What a report consists of, as plain data: chapters of sections of plots, reliefs and tables.

```text
document (JSON) ──► views ──► Chapter { Section { Plot | Relief | Table } } ──► html | pdf | csv
```
A view decides what is shown; a renderer decides how. Nothing here knows a test, a drawing library
or a file. Values that were not measured are None and stay so until they are written as `n/a`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from opennandlab.reports.chart import Axis, Number

Cell = float | int | str | None
Draw = Literal["line", "dots", "points", "dashed", "bars", "steps", "area"]
Kind = Literal["good", "plain", "warning", "bad"]
Shape = Literal["surface", "columns", "bands"]


@dataclass(frozen=True)
class Series:
    """Values over positions; a point without a value is a gap.

    Args:
        name: For the legend and the table of numbers.
        x: Positions.
        y: Values, as many as positions.
        draw: `line`, `dots` (a line through marked points), `points` alone, `dashed`, `bars`,
            `steps` (a value holds until the next position) or `area` (bars from each position to
            the next, for histograms).
        colour: Place in the palette, so that series can share one; by default each has its own.
            -1 is the grey of guides, -2 stands out from series in order.
        texts: What each point is called, where that is not clear from its position.
        quiet: Left out of the legend and of the table of numbers: a guide, not a measurement.
        stroke: Which stroke a line has: 0 whole, then dashed, dotted, and both in turn.
    """

    name: str
    x: Sequence[Number]
    y: Sequence[Number]
    draw: Draw = "dots"
    colour: int | None = None
    texts: Sequence[str] = ()
    quiet: bool = False
    stroke: int = 0


@dataclass(frozen=True)
class Mark:
    """A straight line across a plot, at one value of an axis.

    Args:
        axis: The axis on which `value` lies.
        value: Where.
        text: What it says.
    """

    axis: Literal["x", "y"]
    value: float
    text: str


@dataclass(frozen=True)
class Plot:
    """A flat drawing: lines, points, bars.

    Args:
        id: Stable name, unique in its chapter: `convergence`.
        title: What it shows.
        x: The common axis.
        y: The axis of values.
        series: At least one.
        note: A sentence below the title.
        marks: Lines across.
        ordered: The series follow an order (block sizes, queue depths), and so do their colours.
    """

    id: str
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    note: str = ""
    marks: tuple[Mark, ...] = ()
    ordered: bool = False

    @property
    def drawable(self) -> bool:
        """Whether a single point of it has a place."""
        return any(
            self.x.shows(x) and self.y.shows(y)
            for line in self.series
            for x, y in zip(line.x, line.y, strict=False)
        )


@dataclass(frozen=True)
class Relief:
    """Values over a grid of two categories.

    Args:
        id: Stable name, unique in its chapter.
        title: What it shows.
        x: Name of the columns of the grid.
        y: Name of the rows of the grid.
        z: What the values are, with unit.
        columns: Names along x.
        rows: Names along y.
        values: One list for each row.
        shape: `surface`, `columns` standing on the grid, or `bands`: a map in steps of colour.
        band: Height of a band in the unit of z; None for a continuous scale.
        note: A sentence below the title.
    """

    id: str
    title: str
    x: str
    y: str
    z: Axis
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    values: tuple[tuple[Number, ...], ...]
    shape: Shape = "surface"
    band: float | None = None
    note: str = ""

    @property
    def cells(self) -> Iterator[float]:
        """All values that were measured."""
        return (value for row in self.values for value in row if value is not None)

    @property
    def top(self) -> float:
        """The largest value; 1 where all are zero."""
        return max(self.cells, default=1.0) or 1.0

    @property
    def floor_power(self) -> int:
        """The power of ten on which a logarithmic relief stands."""
        low = min((value for value in self.cells if value > 0), default=1.0)
        return math.floor(math.log10(low))

    def height(self, value: Number) -> Number:
        """Return how high a value stands: itself, or decades above the floor; None for no place."""
        if value is None or self.z.scale == "linear":
            return value
        return math.log10(value) - self.floor_power if value > 0 else None

    @property
    def height_top(self) -> float:
        """The height of the largest value; never zero."""
        return (self.height(self.top) or 0.0) or 1.0


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
    """

    id: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    span: str = ""
    digits: int | None = None


Item = Plot | Relief | Table


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
class Chapter:
    """The report of one document.

    Args:
        id: Stable name, unique in the report.
        title: Its heading.
        subtitle: A line below it.
        facts: Groups of (name, value) that make the header.
        badges: What qualifies everything below.
        deviations: Where the run left the specification.
        warnings: What the test itself warned of.
        missing: What the document does not hold, or what of it cannot be used.
        sections: What it shows.
        brief: The header in one line, for the head of each printed page.
        test: Name of the test, such as `iops`.
    """

    id: str
    title: str
    subtitle: str
    facts: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    badges: tuple[Badge, ...]
    deviations: tuple[str, ...]
    warnings: tuple[str, ...]
    missing: tuple[str, ...]
    sections: tuple[Section, ...]
    brief: str
    test: str = ""

    @property
    def items(self) -> Iterator[Item]:
        """All plots and tables."""
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
    """

    title: str
    lead: str
    chapters: tuple[Chapter, ...]
    warnings: tuple[str, ...] = ()
    foot: str = field(default="", compare=False)

    @property
    def missing(self) -> tuple[str, ...]:
        """What any chapter misses."""
        named = len(self.chapters) > 1
        return tuple(
            f"{chapter.title}: {text}" if named else text
            for chapter in self.chapters
            for text in chapter.missing
        )


def numbers(figure: Plot | Relief, rows_max: int = 60) -> Table:
    """Return a figure as a table, thinned where it has more than `rows_max` positions.

    Args:
        figure: A plot or a relief.
        rows_max: Rows at most; the last position is always kept.
    """
    if isinstance(figure, Relief):
        rows = tuple((name, *row) for name, row in zip(figure.rows, figure.values, strict=True))
        return Table(
            figure.id, f"{figure.title}, {figure.z.label}", (figure.y, *figure.columns), rows,
            span=figure.x,
        )  # fmt: skip
    lines = [line for line in figure.series if not line.quiet] or list(figure.series)
    places = _places(lines)
    kept = thinned(places, rows_max)
    names = dict(figure.x.ticks)
    found = [dict(zip(line.x, line.y, strict=False)) for line in lines]
    rows = tuple(
        (names.get(place, place), *(column.get(place) for column in found)) for place in kept
    )
    columns = (figure.x.label, *(line.name for line in lines))
    note = f"{len(kept)} of {len(places)} positions" if len(kept) < len(places) else ""
    return Table(figure.id, f"{figure.title}, {figure.y.label}", columns, rows, note)


def thinned(places: Sequence[float], count_max: int) -> list[float]:
    """Return at most `count_max` of the places, evenly, the first and the last among them."""
    if len(places) <= count_max:
        return list(places)
    step = (len(places) - 1) / (count_max - 1)
    return [places[round(index * step)] for index in range(count_max)]


def _places(lines: Iterable[Series]) -> list[float]:
    return sorted({x for line in lines for x in line.x if x is not None})
