"""What a figure is, as plain data: a plot over two axes, values over a grid, or stacked bars.

```text
Plot     series over an x and a y axis: lines, points, bars, steps, histograms, error bars, bounds
Relief   values over a grid of two categories: a surface, columns, or a map in bands of colour
Stack    lengths made of parts, one bar a row: once as they are, once as shares
```
A view decides what is shown; a renderer decides how. Values that were not measured are None.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Number = float | None
Scale = Literal["linear", "log"]
Draw = Literal["line", "dots", "points", "dashed", "bars", "steps", "area", "bounds", "band"]
Filling = Literal["full", "hollow", "none"]
Shape = Literal["surface", "columns", "bands"]

# Values beyond these stand in damaged or edited files; an axis would have no room for a margin.
LARGEST, LEAST = 1e100, 1e-250


@dataclass(frozen=True)
class Axis:
    """One axis.

    Args:
        label: What it shows, with its unit.
        scale: `linear` or `log`.
        ticks: Fixed ticks as (value, text); empty for automatic ones.
        zero: Start a linear axis at zero.
        least: Start a linear axis here, at the least of what can be, unless values are below it.
        decades: Of more decades than these only every second one, or fewer, has a tick; of fixed
            ticks too, where it is more than the usual number.
        ends: Begin and end of an axis that plots share; None for those of its values.
    """

    label: str
    scale: Scale = "linear"
    ticks: tuple[tuple[float, str], ...] = ()
    zero: bool = False
    decades: int = 8
    ends: tuple[float, float] | None = None
    least: float | None = None

    def shows(self, value: Number) -> bool:
        """Whether a value has a place on this axis."""
        if value is None or not abs(value) <= LARGEST:
            return False
        return self.scale != "log" or value >= LEAST


@dataclass(frozen=True)
class Series:
    """Values over positions; a point without a value is a gap.

    Args:
        name: For the legend and the table of numbers.
        x: Positions.
        y: Values, as many as positions.
        draw: `line`, `dots` (a line through marked points), `points` alone, `dashed`, `bars`,
            `steps` (a value holds until the next position), `area` (bars from each position to
            the next, for histograms), `bounds` (points that state an upper bound, as arrows that
            hang from it) or `band` (what is between `low` and `high`).
        colour: Place in the palette, so that series can share one; by default each has its own.
            -1 is the grey of guides, -2 stands out from series in order.
        texts: What each point is called, where that is not clear from its position.
        quiet: Left out of the legend and of the table of numbers: a guide, not a measurement.
        stroke: Which stroke a line has: 0 solid, then dashed, dotted, and both in turn.
        legend: What the legend says instead of the name; empty to leave the series out of it.
        low: Lower ends of the intervals, as many as positions; empty for none.
        high: Upper ends of the intervals.
        is_right: Whether its values lie on the axis at the right.
        marks: How each point of `dots` and `points` is marked; by default the first are full and
            the second hollow. A line goes through points without a mark.
        is_key: Says in the legend what a mark or a stroke means, and has no values.
        is_banded: Whether its intervals are a band along the line, in place of bars.
    """

    name: str
    x: Sequence[Number]
    y: Sequence[Number]
    draw: Draw = "dots"
    colour: int | None = None
    texts: Sequence[str] = ()
    quiet: bool = False
    stroke: int = 0
    legend: str | None = None
    low: Sequence[Number] = ()
    high: Sequence[Number] = ()
    is_right: bool = False
    marks: Sequence[Filling] = ()
    is_key: bool = False
    is_banded: bool = False

    @property
    def filling(self) -> Filling:
        """How most of its points are marked: what its mark in the legend looks like."""
        if self.marks:
            return (
                "full" if "full" in self.marks else "hollow" if "hollow" in self.marks else "none"
            )
        if self.draw == "dots":
            return "full"
        return "hollow" if self.draw in {"points", "bounds"} else "none"

    @property
    def alone(self) -> list[int]:
        """The points of a line that no segment reaches: without a marker nothing shows them."""
        if self.draw not in {"line", "dashed", "steps"}:
            return []
        known = [x is not None and y is not None for x, y in zip(self.x, self.y, strict=False)]
        beside = [False, *known, False]
        return [at for at, one in enumerate(known) if one and not (beside[at] or beside[at + 2])]

    @property
    def label(self) -> str:
        """Text in the legend; empty for none."""
        return "" if self.quiet else self.name if self.legend is None else self.legend


@dataclass(frozen=True)
class Mark:
    """A straight line across a plot, at one value of an axis.

    Args:
        axis: The axis on which `value` is.
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
        right: A second axis of values, for the series that lie on it; None for no such axis.
        is_tall: Half as high again, for values over many decades; between decades are small ticks.
        caption: In a paper; empty for title and note.
    """

    id: str
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    note: str = ""
    marks: tuple[Mark, ...] = ()
    ordered: bool = False
    right: Axis | None = None
    is_tall: bool = False
    caption: str = ""

    @property
    def drawable(self) -> bool:
        """Whether a single point of it has a place."""
        return any(
            self.x.shows(x) and self.y.shows(y)
            for line in self.series
            for x, y in zip(line.x, line.y, strict=False)
        )

    @property
    def legend(self) -> list[int]:
        """The series that the legend names; none where one series speaks for itself."""
        named = [index for index, line in enumerate(self.series) if line.label]
        return named if len(named) > 1 else []


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
        caption: In a paper; empty for title and note.
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
    caption: str = ""

    @property
    def cells(self) -> Iterator[float]:
        """All values that were measured and have a place."""
        return (
            value
            for row in self.values
            for value in row
            if value is not None and self._holds(value)
        )

    def _holds(self, value: float) -> bool:
        # Zero has a cell on a logarithmic scale too, without a height. No drive gives less.
        return value == 0 or (value > 0 and self.z.shows(value))

    @property
    def top(self) -> float:
        """The largest value; 1 where all are zero."""
        return max(self.cells, default=1.0) or 1.0

    @property
    def floor_power(self) -> int:
        """The power of ten on which a logarithmic relief stands."""
        low = min((value for value in self.cells if self.z.shows(value)), default=1.0)
        return math.floor(math.log10(low))

    def height(self, value: Number) -> Number:
        """Return how high a value stands: itself, or decades above the floor; None for no place."""
        if value is None or value < 0 or not self.z.shows(value):
            return None
        return value if self.z.scale == "linear" else math.log10(value) - self.floor_power

    @property
    def heights(self) -> list[list[Number]]:
        """How high each value stands, one list for each row."""
        return [[self.height(value) for value in row] for row in self.values]

    @property
    def height_top(self) -> float:
        """The height of the largest value; never zero."""
        return (self.height(self.top) or 0.0) or 1.0

    @property
    def low_sides(self) -> tuple[bool, bool]:
        """Whether the low sides, from which little is hidden, are the last column and row."""

        def total(values: Sequence[Number]) -> float:
            return sum(value for value in values if value is not None)

        def is_first_higher(first: Sequence[Number], last: Sequence[Number]) -> bool:
            # By more than noise, so that figures of like values are seen from the same side.
            return total(first) > 1.02 * total(last)

        first, last = ([row[at] for row in self.values] for at in (0, -1))
        return is_first_higher(first, last), is_first_higher(self.values[0], self.values[-1])


@dataclass(frozen=True)
class Part:
    """What a part contributes to each bar of a stack.

    Args:
        name: For the legend and the table of numbers.
        values: One for each row, in the unit of the stack.
        colour: As `#rrggbb`: a part keeps its colour from figure to figure.
    """

    name: str
    values: tuple[float, ...]
    colour: str


@dataclass(frozen=True)
class Stack:
    """Lengths made of parts: a horizontal bar for each row, in their unit and as shares.

    Args:
        id: Stable name, unique in its chapter.
        title: What it shows.
        x: What the lengths are, with unit.
        rows: Names of the bars, the first on top.
        parts: From the left.
        ends: What is written at the end of each bar.
        note: A sentence below the title.
        caption: In a paper; empty for title and note.
    """

    id: str
    title: str
    x: Axis
    rows: tuple[str, ...]
    parts: tuple[Part, ...]
    ends: tuple[str, ...] = ()
    note: str = ""
    caption: str = ""

    @property
    def totals(self) -> list[float]:
        """Length of each bar; 1 where it has none, so that shares can be taken."""
        columns = zip(*(part.values for part in self.parts), strict=True)
        return [sum(column) or 1.0 for column in columns]


Figure = Plot | Relief | Stack
