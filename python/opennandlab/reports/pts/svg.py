"""Flat plots as SVG: seen until the interactive plot is drawn, without script, in print, in docs.

```text
  ┌─────────────────────┐  TOP
  │  grid, marks, lines  │
  └─────────────────────┘  ticks, axis label
   — name  — name  — name  legend, as many rows as it needs
```
One unit is a pixel of a drawing 760 wide. Reliefs are in `relief`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from html import escape

from opennandlab.reports.chart import Axis, Number, nice_ticks
from opennandlab.reports.pts import colours, words
from opennandlab.reports.pts.model import Plot, Relief, Series

WIDTH, PANEL = 760, 330
LEFT, RIGHT, TOP, BOTTOM = 78, 18, 14, 50
LEGEND_ROW = 18
# Seven units are a wide letter of the font.
LETTER = 6.6
STYLE = "font:12px system-ui,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
# Markers on more points than these hide the line.
DOTS_MAX = 60

Ends = tuple[float, float]


def standalone(figure: Plot | Relief) -> str:
    """Return a drawing as a file of its own, on white."""
    from opennandlab.reports.pts.relief import drawing as relief_drawing

    text = drawing(figure) if isinstance(figure, Plot) else relief_drawing(figure)
    head, _, rest = text.partition(">")
    return f'{head} style="{STYLE}"><rect width="100%" height="100%" fill="white"/>{rest}\n'


def drawing(plot: Plot) -> str:
    """Return a plot as one SVG element."""
    xs, ys = ends(plot, "x"), ends(plot, "y")
    rows = list(_legend_rows(plot))
    height = PANEL + LEGEND_ROW * len(rows) + (6 if rows else 0)
    parts = [
        (
            f'<svg viewBox="0 0 {WIDTH} {height}" role="img" class="static" '
            f'aria-label="{escape(plot.title)}" xmlns="http://www.w3.org/2000/svg">'
        )
    ]
    parts.extend(_grid(plot, xs, ys))
    # A point at the very edge of a fixed axis must not draw over the frame's labels.
    for index, line in enumerate(plot.series):
        parts.append(_drawn(plot, index, line, xs, ys))
    parts.extend(_marks(plot, xs, ys))
    parts.extend(_legend(plot, rows))
    return "".join([*parts, "</svg>"])


def ticks(axis: Axis, ends: Ends) -> list[tuple[float, str]]:
    """Return the ticks of an axis as (value, text)."""
    low, high = ends
    if axis.ticks:
        inside = [(value, text) for value, text in axis.ticks if low <= value <= high]
        step = max(1, math.ceil(len(inside) / 16))
        return inside[::step]
    if axis.scale == "log":
        return _decade_ticks(low, high)
    return [(value, words.number(_rounded(value))) for value, _ in nice_ticks(low, high)]


def ends_of(axis: Axis, values: Sequence[Number]) -> Ends:
    """Return the ends of an axis: the data with a margin, from zero where that is asked."""
    seen = [value for value in values if value is not None and axis.shows(value)]
    if not seen:
        return (1.0, 10.0) if axis.scale == "log" else (0.0, 1.0)
    low, high = min(seen), max(seen)
    if axis.scale == "log":
        # At least a decade: on less, what is steady looks wild.
        stretch = max((high / low) ** 0.04, 1.15, math.sqrt(10 * low / high))
        return low / stretch, high * stretch
    if axis.zero:
        low, high = min(0.0, low), max(0.0, high)
        margin = 0.06 * (high - low) or 1.0
        return (low - margin if low < 0 else low), high + margin
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - margin, high + margin


def _rounded(value: float) -> float:
    return float(f"{value:.9g}")


def _decade_ticks(low: float, high: float) -> list[tuple[float, str]]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    decades = [10.0**power for power in range(first, last + 1)]
    step = max(1, math.ceil(len(decades) / 8))
    if len(decades) >= 2:
        return [(value, words.number(value)) for value in decades[::step]]
    steps = [
        factor * 10.0**power for power in range(first - 2, last + 2) for factor in (1, 2, 3, 5, 7)
    ]
    return [(value, words.number(value)) for value in steps if low <= value <= high]


def ends(plot: Plot, axis: str) -> Ends:
    """Return the ends of one axis of a plot, `x` or `y`."""
    values: list[Number] = []
    for line in plot.series:
        values.extend(line.x if axis == "x" else line.y)
        if axis == "x" and line.draw == "bars":
            places = [x for x in line.x if x is not None]
            values.extend([min(places, default=0.0) - 0.6, max(places, default=0.0) + 0.6])
    values.extend(mark.value for mark in plot.marks if mark.axis == axis)
    return ends_of(plot.x if axis == "x" else plot.y, values)


def _grid(plot: Plot, xs: Ends, ys: Ends) -> Iterator[str]:
    base, right = PANEL - BOTTOM, WIDTH - RIGHT
    for value, text in ticks(plot.x, xs):
        place = _across(value, xs, plot.x)
        yield (
            f'<line x1="{place}" x2="{place}" y1="{TOP}" y2="{base}" stroke="{colours.GRID}"/>'
            f'<text x="{place}" y="{base + 17}" text-anchor="middle">{escape(text)}</text>'
        )
    for value, text in ticks(plot.y, ys):
        place = _up(value, ys, plot.y)
        yield (
            f'<line x1="{LEFT}" x2="{right}" y1="{place}" y2="{place}" stroke="{colours.GRID}"/>'
            f'<text x="{LEFT - 7}" y="{place + 4}" text-anchor="end">{escape(text)}</text>'
        )
    middle = (TOP + base) / 2
    yield (
        f'<rect x="{LEFT}" y="{TOP}" width="{right - LEFT}" height="{base - TOP}" fill="none" '
        f'stroke="{colours.FRAME}"/>'
        f'<text x="{(LEFT + right) / 2}" y="{base + 38}" text-anchor="middle">'
        f"{escape(plot.x.label)}</text>"
        f'<text transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">'
        f"{escape(plot.y.label)}</text>"
    )


def _drawn(plot: Plot, index: int, line: Series, xs: Ends, ys: Ends) -> str:
    colour = colours.of_series(plot, index)
    if line.draw == "bars":
        return _bars(plot, index, line, xs, ys)
    if line.draw == "area":
        return _area(plot, line, xs, ys, colour)
    runs: list[list[tuple[float, float]]] = [[]]
    for x, y in zip(line.x, line.y, strict=False):
        if plot.x.shows(x) and plot.y.shows(y):
            runs[-1].append((_across(x or 0.0, xs, plot.x), _up(y or 0.0, ys, plot.y)))
        else:
            runs.append([])
    if line.draw == "steps":
        runs = [_stepped(run) for run in runs]
    parts = []
    dash = _dashes(line)
    width = 1.3 if line.draw == "dashed" else 1.8
    for run in runs:
        if len(run) < 2 or line.draw == "points":
            continue
        path = " ".join(f"{x},{y}" for x, y in run)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"'
            f' stroke-linejoin="round"{dash}/>'
        )
    points = [point for run in runs for point in run]
    lone = [run[0] for run in runs if len(run) == 1]
    if line.draw == "points" or (line.draw == "dots" and len(points) <= DOTS_MAX):
        lone = points
    if line.draw not in {"steps", "dashed"}:
        parts.extend(_marker(colours.marker(plot, index), x, y, colour) for x, y in lone)
    return "".join(parts)


def _area(plot: Plot, line: Series, xs: Ends, ys: Ends, colour: str) -> str:
    """Return bars that reach from each position to the next."""
    floor = PANEL - BOTTOM
    parts = []
    for low, high, y in zip(line.x, line.x[1:], line.y, strict=False):
        if plot.x.shows(low) and plot.x.shows(high) and plot.y.shows(y) and y:
            left, right = _across(low or 0.0, xs, plot.x), _across(high or 0.0, xs, plot.x)
            top = _up(y, ys, plot.y)
            parts.append(f"M{left} {floor}V{top}H{right}V{floor}Z")
    return f'<path d="{"".join(parts)}" fill="{colour}" stroke="white" stroke-width="0.4"/>'


def _dashes(line: Series) -> str:
    pattern = colours.stroke(line)[0]
    return f' stroke-dasharray="{pattern}"' if pattern else ""


def _stepped(run: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return a course in which each height holds until the next position."""
    path = run[:1]
    for (_, before), (x, y) in itertools.pairwise(run):
        path += [(x, before), (x, y)]
    return path


def _bars(plot: Plot, index: int, line: Series, xs: Ends, ys: Ends) -> str:
    groups = [place for place, one in enumerate(plot.series) if one.draw == "bars"]
    share = 0.76 / len(groups)
    offset = -0.38 + share * groups.index(index)
    floor = _up(max(ys[0], 0.0) if plot.y.scale == "linear" else ys[0], ys, plot.y)
    parts = []
    for place, (x, y) in enumerate(zip(line.x, line.y, strict=False)):
        if x is None or not plot.y.shows(y):
            continue
        left = _across(x + offset, xs, plot.x)
        width = _across(x + offset + share, xs, plot.x) - left
        top = _up(y or 0.0, ys, plot.y)
        colour = colours.of_series(plot, index)
        parts.append(
            f'<rect x="{left}" y="{min(top, floor)}" width="{round(width * 0.94, 1)}" '
            f'height="{round(abs(floor - top), 1)}" fill="{colour}"/>'
        )
        if place < len(line.texts) and line.texts[place]:
            parts.append(
                f'<text x="{round(left + width * 0.47, 1)}" y="{round(min(top, floor) - 4, 1)}" '
                f'text-anchor="middle">{escape(line.texts[place])}</text>'
            )
    return "".join(parts)


def _marks(plot: Plot, xs: Ends, ys: Ends) -> Iterator[str]:
    """Yield the lines across, and what points are called."""
    base, right = PANEL - BOTTOM, WIDTH - RIGHT
    rows: list[list[tuple[float, float]]] = []
    for mark in sorted(plot.marks, key=lambda mark: mark.value):
        if mark.axis == "x" and plot.x.shows(mark.value):
            place = _across(mark.value, xs, plot.x)
            # Names of lines that stand close go below one another.
            wide = 10 + LETTER * len(mark.text)
            leaning = place + wide > right
            extent = (place - wide, place) if leaning else (place, place + wide)
            row = next((r for r, taken in enumerate(rows) if _is_clear(extent, taken)), len(rows))
            if row == len(rows):
                rows.append([])
            rows[row].append(extent)
            yield (
                f'<line x1="{place}" x2="{place}" y1="{TOP}" y2="{base}" stroke="{colours.GUIDE}" '
                f'stroke-dasharray="3 3"/><text x="{place + (-4 if leaning else 4)}" '
                f'y="{TOP + 13 + 14 * row}" text-anchor="{"end" if leaning else "start"}" '
                f'fill="#444">{escape(mark.text)}</text>'
            )
        elif mark.axis == "y" and plot.y.shows(mark.value):
            place = _up(mark.value, ys, plot.y)
            yield (
                f'<line x1="{LEFT}" x2="{right}" y1="{place}" y2="{place}" '
                f'stroke="{colours.GUIDE}" stroke-dasharray="3 3"/>'
                f'<text x="{right - 5}" y="{place - 4}" text-anchor="end" fill="#444">'
                f"{escape(mark.text)}</text>"
            )
    for line in plot.series:
        if line.draw != "bars":
            yield from _names(plot, line, xs, ys)


def _is_clear(extent: tuple[float, float], taken: Sequence[tuple[float, float]]) -> bool:
    return all(extent[1] <= start or extent[0] >= end for start, end in taken)


def _names(plot: Plot, line: Series, xs: Ends, ys: Ends) -> Iterator[str]:
    """Yield what points are called, each name clear of the one before."""
    taken: list[tuple[float, float]] = []
    for x, y, text in zip(line.x, line.y, line.texts, strict=False):
        if not text or not plot.x.shows(x) or not plot.y.shows(y):
            continue
        across, up = _across(x or 0.0, xs, plot.x), _up(y or 0.0, ys, plot.y) - 7
        wide = LETTER * len(text) + 12
        while any(abs(across - a) < wide and abs(up - b) < 14 for a, b in taken):
            up -= 14
        taken.append((across, up))
        leaning = across > WIDTH - RIGHT - wide
        yield (
            f'<text x="{across + (-8 if leaning else 8)}" y="{round(max(up, TOP + 12), 1)}" '
            f'text-anchor="{"end" if leaning else "start"}" font-weight="600">'
            f"{escape(text)}</text>"
        )


def legend_entries(plot: Plot) -> list[int]:
    """Return the series that the legend names; none where one series speaks for itself."""
    named = [index for index, line in enumerate(plot.series) if line.name and not line.quiet]
    return named if len(named) > 1 else []


def _legend_rows(plot: Plot) -> Iterator[list[tuple[float, int]]]:
    row: list[tuple[float, int]] = []
    left = float(LEFT)
    for index in legend_entries(plot):
        width = 40 + LETTER * len(plot.series[index].name)
        if row and left + width > WIDTH - RIGHT:
            yield row
            row, left = [], float(LEFT)
        row.append((left, index))
        left += width
    if row:
        yield row


def _legend(plot: Plot, rows: list[list[tuple[float, int]]]) -> Iterator[str]:
    for number, row in enumerate(rows):
        middle = PANEL + 4 + LEGEND_ROW * number
        for left, index in row:
            line = plot.series[index]
            colour = colours.of_series(plot, index)
            if line.draw in {"bars", "area"}:
                yield (
                    f'<rect x="{left + 4}" y="{middle - 5}" width="12" height="10" '
                    f'fill="{colour}"/>'
                )
            elif line.draw != "points":
                dash = _dashes(line)
                yield (
                    f'<line x1="{left}" x2="{left + 20}" y1="{middle}" y2="{middle}" '
                    f'stroke="{colour}" stroke-width="2"{dash}/>'
                )
            if line.draw in {"points", "dots"}:
                yield _marker(colours.marker(plot, index), left + 10, middle, colour)
            yield f'<text x="{left + 25}" y="{middle + 4}">{escape(line.name)}</text>'


def _marker(kind: str, x: float, y: float, colour: str) -> str:
    if kind == "circle":
        return f'<circle cx="{x}" cy="{y}" r="3.2" fill="{colour}"/>'
    shapes = {
        "square": ((-3, -3), (3, -3), (3, 3), (-3, 3)),
        "diamond": ((0, -4.2), (4.2, 0), (0, 4.2), (-4.2, 0)),
        "triangle-up": ((0, -4), (3.8, 3), (-3.8, 3)),
        "triangle-down": ((0, 4), (3.8, -3), (-3.8, -3)),
    }
    if kind in shapes:
        path = " ".join(f"{round(x + a, 1)},{round(y + b, 1)}" for a, b in shapes[kind])
        return f'<polygon points="{path}" fill="{colour}"/>'
    strokes = {
        "cross": ((-4, 0, 4, 0), (0, -4, 0, 4)),
        "x": ((-3, -3, 3, 3), (-3, 3, 3, -3)),
        "star": ((-4, 0, 4, 0), (-2, -3.5, 2, 3.5), (-2, 3.5, 2, -3.5)),
    }
    lines = strokes.get(kind, strokes["x"])
    path = "".join(
        f"M{round(x + a, 1)} {round(y + b, 1)}L{round(x + c, 1)} {round(y + d, 1)}"
        for a, b, c, d in lines
    )
    return f'<path d="{path}" stroke="{colour}" stroke-width="1.8" fill="none"/>'


def _share(value: float, ends: Ends, axis: Axis) -> float:
    low, high = ends
    if axis.scale == "log":
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def _across(value: float, ends: Ends, axis: Axis) -> float:
    return round(LEFT + _share(value, ends, axis) * (WIDTH - LEFT - RIGHT), 1)


def _up(value: float, ends: Ends, axis: Axis) -> float:
    return round(PANEL - BOTTOM - _share(value, ends, axis) * (PANEL - BOTTOM - TOP), 1)
