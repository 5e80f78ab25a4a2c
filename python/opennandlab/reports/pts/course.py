"""Courses: what cells measured against time, against what was written, against drive fills."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from opennandlab.documents import pts
from opennandlab.reports import words
from opennandlab.reports.figure.model import Axis, Draw, Mark, Number, Plot, Scale, Series

# Where a cell stands on the common axis.
Place = Callable[[pts.Cell], Number]


@dataclass(frozen=True)
class Course:
    """Cells that make one line.

    Args:
        name: For the legend.
        cells: In the order in which they ran.
        metric: Name of a number of a cell.
        draw: How the line is drawn.
        colour: Place in the palette; by default each course has its own.
    """

    name: str
    cells: Sequence[pts.Cell]
    metric: str
    draw: Draw = "dots"
    colour: int | None = None


@dataclass(frozen=True)
class Across:
    """The common axis of courses.

    Args:
        label: With its unit.
        place: Where a cell stands on it.
    """

    label: str
    place: Place


def by_time(cells: Sequence[pts.Cell], start_s: float | None = None) -> Across:
    """Return the axis of the target's time since the first of the cells began."""
    first = min((cell.start_s for cell in cells), default=0.0) if start_s is None else start_s
    unit, size = words.time_unit(max((cell.end_s for cell in cells), default=1.0) - first)

    def place(cell: pts.Cell) -> Number:
        return (cell.end_s - first) / size

    return Across(f"time, {unit}", place)


def by_written(cells: Sequence[pts.Cell]) -> Across:
    """Return the axis of what was written since the purge (TGBW)."""
    unit, size = words.byte_unit(max((cell.written_bytes for cell in cells), default=1.0))

    def place(cell: pts.Cell) -> Number:
        return cell.written_bytes / size

    return Across(f"written since the purge (TGBW), {unit}", place)


def by_fills(capacity_bytes: float) -> Across:
    """Return the axis of what was written since the purge, in user capacities."""

    def place(cell: pts.Cell) -> Number:
        return cell.written_bytes / capacity_bytes

    return Across("drive fills (user capacities) since the purge", place)


def plot(  # noqa: PLR0913 (half of them by name)
    name: str,
    title: str,
    across: Across,
    courses: Sequence[Course],
    *,
    scale: Scale = "linear",
    label: str = "",
    note: str = "",
    marks: tuple[Mark, ...] = (),
) -> Plot:
    """Return courses over a common axis.

    Args:
        name: Id of the plot.
        title: Its heading.
        across: The common axis.
        courses: The lines.
        scale: Scale of the axis of values.
        label: Name of that axis; that of the first metric by default.
        note: A sentence below the title.
        marks: Lines across.
    """
    lines = []
    for one in courses:
        _, factor = words.metric(one.metric)
        found = [cell.number(one.metric) for cell in one.cells]
        lines.append(
            Series(
                one.name,
                [across.place(cell) for cell in one.cells],
                [None if value is None else value * factor for value in found],
                draw=one.draw,
                colour=one.colour,
            )
        )
    named = label or (words.metric(courses[0].metric)[0] if courses else "")
    axis = Axis(named, scale, zero=scale == "linear")
    return Plot(name, title, Axis(across.label), axis, tuple(lines), note, marks)
