"""Ends and ticks of axes, and places of labels: the same for both renderers.

Ticks stand at 1, 2, 2.5 or 5 times a power of ten, or at whole decades. A label that would lie on
another moves: names of upright lines go into further rows, names of level lines apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from opennandlab.base.words import number
from opennandlab.reports.figure.model import Axis, Number, Plot, Relief

TICKS = 6
# Fixed ticks beyond this number are thinned.
TICKS_MAX = 16
GRID_TICKS_MAX = 12
# Names along a side of a solid, for each inch of its width.
NAMES_PER_INCH = 1.8
BANDS_MAX = 100
# More values than these on columns are a heap of letters; the table has them.
COLUMN_LABELS_MAX = 64
# Letters of what stands next to a frame: two of these leave it half of the width.
LABEL_CHARS_MAX = 40
PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))

# How much of the height of a plot the arrow of an upper bound takes.
ARROW_SHARE = 0.05

Ends = tuple[float, float]
Ticks = list[tuple[float, str]]


def nice_ticks(low: float, high: float) -> list[float]:
    """Return about six ticks at 1, 2, 2.5 or 5 times a power of ten.

    >>> nice_ticks(0.0, 10.0)
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    """
    raw = (high - low) / TICKS
    power = 10 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [float(f"{count * step:.9g}") for count in range(first, last + 1)]


def brief(value: float) -> str:
    """Write a number in few letters, where room is scarce.

    >>> brief(100000.0), brief(2500.0), brief(0.5)
    ('100k', '2.5k', '0.5')
    """
    for size, prefix in PREFIXES:
        if abs(value) >= size:
            return f"{value / size:.4g}{prefix}"
    return number(value)


def label(text: str) -> str:
    """Return what stands next to a frame: of a longer text its beginning, so that room is left.

    >>> label("a" * 50)
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…'
    """
    return text if len(text) <= LABEL_CHARS_MAX else f"{text[: LABEL_CHARS_MAX - 1]}…"


def ticks(axis: Axis, ends: Ends) -> Ticks:
    """Return the ticks of an axis as (value, text)."""
    low, high = ends
    if axis.ticks:
        inside = [(value, label(text)) for value, text in axis.ticks if low <= value <= high]
        return inside[:: max(1, math.ceil(len(inside) / max(TICKS_MAX, axis.decades)))]
    if axis.scale == "log":
        return _decade_ticks(low, high, axis.decades)
    return [(value, number(value)) for value in nice_ticks(low, high)]


def small_ticks(axis: Axis, ends: Ends) -> list[float]:
    """Return the multiples of the decades of a logarithmic axis that have a tick each.

    >>> small_ticks(Axis("", "log"), (0.95, 40.0))
    [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 20.0, 30.0, 40.0]
    """
    powers = [math.floor(math.log10(end)) for end in ends] if axis.scale == "log" else [0, 99]
    if powers[1] - powers[0] >= axis.decades:
        return []
    steps = [
        float(f"{factor}e{power}")
        for power in range(powers[0], powers[1] + 1)
        for factor in range(2, 10)
    ]
    return [step for step in steps if ends[0] <= step <= ends[1]]


def _decade_ticks(low: float, high: float, most: int) -> Ticks:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    step = max(1, math.ceil((last - first + 1) / most))
    if last > first + 1:
        return [(10.0**power, power_text(power)) for power in range(first, last + 1, step)]
    factors = (1, 2, 5) if high / low > 30 else (1, 2, 3, 5, 7)
    steps = [factor * 10.0**power for power in range(first - 2, last + 2) for factor in factors]
    inside = [value for value in steps if low <= value <= high]
    # An axis of less than an octave or so is almost even.
    return [
        (value, number(value)) for value in (inside if len(inside) > 2 else nice_ticks(low, high))
    ]


def power_text(power: int) -> str:
    """Write a power of ten: as a number where that is short.

    >>> power_text(3), power_text(-2), power_text(-7)
    ('1 000', '0.01', '1e-7')
    """
    return number(10.0**power) if -4 < power < 9 else f"1e{power}"


def ends_of(axis: Axis, values: Sequence[Number]) -> Ends:
    """Return the ends of an axis: the data with a margin, from zero where that is asked."""
    seen = [value for value in values if value is not None and axis.shows(value)]
    if not seen:
        return (1.0, 10.0) if axis.scale == "log" else (0.0, 1.0)
    low, high = min(seen), max(seen)
    if axis.scale == "log":
        # At least half a decade: on less, what is steady looks wild.
        stretch = max(high**0.04 / low**0.04, 1.15, math.sqrt(10 * (low / high)))
        return low / stretch, high * stretch
    if axis.zero:
        low, high = min(0.0, low), max(0.0, high)
        margin = 0.06 * (high - low) or 1.0
        return (low - margin if low < 0 else low), high + margin
    if axis.least is not None and low >= axis.least:
        return axis.least, high + (0.05 * (high - axis.least) or 1.0)
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - margin, high + margin


def ends(plot: Plot, axis: str) -> Ends:
    """Return the ends of one axis of a plot, `x`, `y` or `right`."""
    fixed = {"x": plot.x, "y": plot.y}.get(axis)
    if fixed is not None and fixed.ends is not None:
        return fixed.ends
    values: list[Number] = []
    if axis == "right":
        values = [y for line in plot.series if line.is_right for y in line.y]
        return ends_of(plot.right or Axis(""), values)
    for line in plot.series:
        if axis == "y" and line.is_right:
            continue
        values.extend(line.x if axis == "x" else [*line.y, *line.low, *line.high])
        if axis == "x" and line.draw == "bars":
            places = [x for x in line.x if x is not None]
            values.extend([min(places, default=0.0) - 0.6, max(places, default=0.0) + 0.6])
    values.extend(mark.value for mark in plot.marks if mark.axis == axis)
    chosen = plot.x if axis == "x" else plot.y
    if axis == "y" and chosen.scale == "log" and any(one.draw == "area" for one in plot.series):
        # A bar of a histogram is as long as the decades that it counts, from one request on.
        values.append(1.0)
    if axis == "y" and chosen.scale == "log":
        values.extend(_arrow_ends(plot, values))
    if axis == "x" and chosen.scale == "log":
        # Positions need no decade of their own: a sweep fills its axis.
        seen = [value for value in values if value is not None and chosen.shows(value)]
        stretch = max(seen) ** 0.04 / min(seen) ** 0.04 if seen else 1.0
        if stretch > 1.0:
            return min(seen) / stretch, max(seen) * stretch
    return ends_of(chosen, values)


def _arrow_ends(plot: Plot, values: Sequence[Number]) -> list[Number]:
    """Return down to where the arrows of bounds reach on a logarithmic axis."""
    seen = [value for value in values if value is not None and plot.y.shows(value)]
    lowest = [y for line in plot.series if line.draw == "bounds" for y in line.y if plot.y.shows(y)]
    if not lowest or not seen:
        return []
    reach = max((max(seen) / min(seen)) ** ARROW_SHARE, 10**ARROW_SHARE)
    return [y / reach for y in lowest if y is not None]


def height_ticks(relief: Relief) -> Ticks:
    """Return the ticks of the heights: whole decades, or rounded numbers from zero."""
    if relief.z.scale == "linear":
        return [(value, brief(value)) for value in nice_ticks(0.0, max(relief.top, 1e-300))]
    floor = relief.floor_power
    count = math.floor(relief.height_top + 1e-9)
    return [(float(step), brief(10.0 ** (floor + step))) for step in range(count + 1)]


def column_labels(relief: Relief) -> list[tuple[int, int, float, str]]:
    """Return what is written on columns as (x, y, height, text); nothing on too many."""
    found = [
        (x, y, top, brief(float(f"{value:.3g}")))
        for y, (row, tops) in enumerate(zip(relief.values, relief.heights, strict=True))
        for x, (value, top) in enumerate(zip(row, tops, strict=True))
        if value is not None and top is not None
    ]
    return found if len(found) <= COLUMN_LABELS_MAX else []


def band_edges(relief: Relief) -> list[float]:
    """Return the edges of all bands; on a log scale 1, 2 and 5 of each decade."""
    if relief.z.scale == "log":
        powers = range(relief.floor_power, relief.floor_power + math.ceil(relief.height_top) + 1)
        steps = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
        # Up to the first edge above everything; one band at least.
        return steps[: max(sum(step < relief.top for step in steps), 1) + 1]
    band = max(relief.band or relief.top / 10, relief.top / BANDS_MAX)
    return [step * band for step in range(max(math.ceil(relief.top / band - 1e-9), 1) + 1)]


def grid_ticks(names: Sequence[str], most: int = GRID_TICKS_MAX) -> tuple[list[int], list[str]]:
    """Return places and names along one side of a grid, thinned where there are many."""
    step = grid_step(len(names), most)
    return list(range(0, len(names), step)), [label(name) for name in names[::step]]


def names_most(relief: Relief, width: float) -> int:
    """Return how many names a side of a grid has room for; the width is in inches."""
    return GRID_TICKS_MAX if relief.shape == "bands" else int(NAMES_PER_INCH * width)


def grid_step(count: int, most: int = GRID_TICKS_MAX) -> int:
    """Return which of the names along a side of a grid are shown: 1 for each, 3 for every third."""
    return max(1, -(-count // min(most, GRID_TICKS_MAX)))


def share(value: float, ends: Ends, axis: Axis) -> float:
    """Return how far along an axis a value is, from 0 to 1."""
    low, high = ends
    if axis.scale == "log":
        return (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))
    return (value - low) / (high - low)


def mark_rows(plot: Plot, letters: float) -> dict[int, tuple[int, bool]]:
    """Return for each upright line its row of labels, and whether its label stands to the left.

    Args:
        plot: The plot.
        letters: How many letters are as wide as the plot.
    """
    found: dict[int, tuple[int, bool]] = {}
    taken: list[list[tuple[float, float]]] = []
    upright = [at for at, mark in enumerate(plot.marks) if mark.axis == "x"]
    for at in sorted(upright, key=lambda at: plot.marks[at].value):
        mark = plot.marks[at]
        if not plot.x.shows(mark.value):
            continue
        place = share(mark.value, ends(plot, "x"), plot.x)
        wide = (len(mark.text) + 2) / letters
        leaning = place + wide > 1.0
        first, last = (place - wide, place) if leaning else (place, place + wide)
        row = next(
            (r for r, spans in enumerate(taken) if all(last <= a or first >= b for a, b in spans)),
            len(taken),
        )
        if row == len(taken):
            taken.append([])
        taken[row].append((first, last))
        found[at] = row, leaning
    return found


def level_labels(plot: Plot, gap: float) -> dict[int, float]:
    """Return how high the label of each level line stands, from 0 to 1, at least `gap` apart."""
    found: dict[int, float] = {}
    level = [at for at, mark in enumerate(plot.marks) if mark.axis == "y"]
    last = -1.0
    for at in sorted(level, key=lambda at: plot.marks[at].value):
        if plot.y.shows(plot.marks[at].value):
            last = max(share(plot.marks[at].value, ends(plot, "y"), plot.y), last + gap)
            found[at] = last
    return found


def point_labels(plot: Plot, letters: float, lines: float) -> list[tuple[int, int, float, float]]:
    """Return names of points as (series, point, x, y): where the middle of each name stands.

    Args:
        plot: The plot.
        letters: How many letters are as wide as the plot.
        lines: How many lines of text are as high as the plot.
    """
    xs, ys = ends(plot, "x"), ends(plot, "y")
    taken: list[tuple[float, float, float]] = []
    found = []
    for index, line in enumerate(plot.series):
        if line.draw == "bars":
            continue
        for at, (x, y, text) in enumerate(zip(line.x, line.y, line.texts, strict=False)):
            if x is None or y is None or not (text and plot.x.shows(x) and plot.y.shows(y)):
                continue
            wide = (len(text) + 2) / letters
            across = min(max(share(x, xs, plot.x), wide / 2), 1 - wide / 2)
            up = share(y, ys, plot.y)
            step = 1.6 / lines
            # Above the point, below it, then further away.
            places = [up + step * k for k in (1, -1, 2, -2, 3, -3, 4, -4)]
            up = next(
                (
                    place for place in places
                    if step / 2 < place < 1 - step / 2 and all(
                        abs(across - a) > (wide + w) / 2 or abs(place - b) > 1.2 / lines
                        for a, b, w in taken
                    )
                ),
                up + step,
            )  # fmt: skip
            taken.append((across, up, wide))
            found.append((index, at, across, up))
    return found
