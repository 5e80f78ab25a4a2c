"""Reliefs as SVG: columns and surfaces seen from above at an angle, and maps in bands of colour.

The eye looks along a fixed direction, so nearer things are drawn later and hide what lies behind:

```text
            y (rows), away from the eye
           ╱
          ╱____________ x (columns), to the right and nearer
```
What is high goes to the back, so that it hides little; the axes say in which order they run.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from html import escape

from opennandlab.reports.chart import Number, nice_ticks
from opennandlab.reports.pts import colours, words
from opennandlab.reports.pts.model import Relief

WIDTH, HEIGHT = 760, 470
# Place of the grid's left corner, and where the two axes go, each over the whole grid.
ORIGIN = (70.0, 330.0)
ALONG_X, ALONG_Y = (400.0, 95.0), (250.0, -130.0)
RISE = 190.0
# How dark the two visible sides of a column are.
SIDES = (0.18, 0.36)

Point = tuple[float, float]


def drawing(relief: Relief) -> str:
    """Return a relief as one SVG element."""
    body = _bands(relief) if relief.shape == "bands" else _solid(relief)
    height = _map_height(relief) if relief.shape == "bands" else HEIGHT
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" class="static" '
        f'aria-label="{escape(relief.title)}" xmlns="http://www.w3.org/2000/svg">'
        f"{''.join(body)}</svg>"
    )


class _View:
    """Where things of a relief stand on the drawing."""

    def __init__(self, relief: Relief) -> None:
        """Turn the grid so that what is high stands at the back."""
        self.columns, self.rows = list(relief.columns), list(relief.rows)
        values = [list(row) for row in relief.values]
        if _sum(values[0]) > _sum(values[-1]):
            values.reverse()
            self.rows.reverse()
        first, last = [row[0] for row in values], [row[-1] for row in values]
        if _sum(last) > _sum(first):
            values = [row[::-1] for row in values]
            self.columns.reverse()
        self.values = values
        self.ticks = height_ticks(relief)
        self.relief = relief

    def at(self, x: float, y: float, height: float = 0.0) -> Point:
        """Return the place of a point; x and y in steps of the grid."""
        across, away = x / len(self.columns), y / len(self.rows)
        rise = RISE * height / self.relief.height_top
        return (
            round(ORIGIN[0] + across * ALONG_X[0] + away * ALONG_Y[0], 1),
            round(ORIGIN[1] + across * ALONG_X[1] + away * ALONG_Y[1] - rise, 1),
        )


def height_ticks(relief: Relief) -> list[tuple[float, str]]:
    """Return the ticks of the heights: whole decades, or rounded numbers from zero."""
    if relief.z.scale == "linear":
        ticks = nice_ticks(0.0, max(relief.top, 1e-300))
        return [(value, words.number(float(f"{value:.9g}"))) for value, _ in ticks]
    floor = relief.floor_power
    count = math.floor(relief.height_top + 1e-9)
    return [(float(step), words.number(10.0 ** (floor + step))) for step in range(count + 1)]


def _sum(values: list[Number]) -> float:
    return sum(value for value in values if value is not None)


def _solid(relief: Relief) -> Iterator[str]:
    view = _View(relief)
    yield from _walls(view)
    yield from (_columns(relief, view) if relief.shape == "columns" else _surface(relief, view))
    yield from _names(relief, view)


def _walls(view: _View) -> Iterator[str]:
    """Yield the floor and the two walls behind, with the lines of the heights."""
    width, depth = len(view.columns), len(view.rows)
    corners = [view.at(*place) for place in ((0, 0), (width, 0), (width, depth), (0, depth))]
    yield _polygon(corners, "#fafafa", colours.FRAME)
    for value, _ in view.ticks:
        path = [view.at(0, 0, value), view.at(0, depth, value), view.at(width, depth, value)]
        yield _polyline(path, colours.GRID)
    for place in ((0, 0), (0, depth), (width, depth)):
        yield _polyline([view.at(*place), view.at(*place, view.relief.height_top)], colours.FRAME)


def _columns(relief: Relief, view: _View) -> Iterator[str]:
    inset = 0.14
    for y in range(len(view.rows) - 1, -1, -1):
        for x in range(len(view.columns)):
            value = view.values[y][x]
            height = relief.height(value)
            if value is None or height is None:
                continue
            left, right, near, far = x + inset, x + 1 - inset, y + inset, y + 1 - inset
            colour = colours.of_height(relief, value)
            front = [view.at(left, near), view.at(right, near)]
            front += [view.at(right, near, height), view.at(left, near, height)]
            side = [view.at(right, near), view.at(right, far)]
            side += [view.at(right, far, height), view.at(right, near, height)]
            top = [view.at(left, near, height), view.at(right, near, height)]
            top += [view.at(right, far, height), view.at(left, far, height)]
            row, column = view.rows[y], view.columns[x]
            name = f"{row}, {column}: {words.value(value)}"
            yield f"<g><title>{escape(name)}</title>"
            yield _polygon(front, colours.darker(colour, SIDES[0]))
            yield _polygon(side, colours.darker(colour, SIDES[1]))
            yield _polygon(top, colour, "#ffffff") + "</g>"


def _surface(relief: Relief, view: _View) -> Iterator[str]:
    for y in range(len(view.rows) - 2, -1, -1):
        for x in range(len(view.columns) - 1):
            places = ((x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1))
            values = [view.values[b][a] for a, b in places]
            heights = [relief.height(value) for value in values]
            known = [height for height in heights if height is not None]
            if len(known) < 4:
                continue
            corners = [
                view.at(a + 0.5, b + 0.5, height)
                for (a, b), height in zip(places, known, strict=True)
            ]
            yield _polygon(
                corners, colours.shade(sum(known) / 4 / relief.height_top), "#ffffff", 0.6
            )


def _names(relief: Relief, view: _View) -> Iterator[str]:
    width, depth = len(view.columns), len(view.rows)
    step = max(1, -(-width // 12))
    for x in range(0, width, step):
        across, down = view.at(x + 0.5, 0)
        yield _text(across - 4, down + 15, view.columns[x], "middle")
    step = max(1, -(-depth // 12))
    for y in range(0, depth, step):
        across, down = view.at(width, y + 0.5)
        yield _text(across + 8, down + 8, view.rows[y], "start")
    for value, text in view.ticks:
        across, up = view.at(0, 0, value)
        yield _text(across - 6, up + 4, text, "end")
    across, down = view.at(width / 2, 0)
    yield _text(across - 30, down + 44, relief.x, "middle")
    across, down = view.at(width, depth / 2)
    yield _text(across + 48, down + 40, relief.y, "start")
    across, up = view.at(0, 0, relief.height_top)
    yield _text(across - 50, up - 20, relief.z.label, "start")


ROW, LEFT, TOP = 27, 74, 14


def _map_height(relief: Relief) -> int:
    return TOP + ROW * len(relief.rows) + 56 + 22 * _legend_rows(relief)


def _legend_rows(relief: Relief) -> int:
    return -(-(len(colours.band_edges(relief)) - 1) // 6)


def _bands(relief: Relief) -> Iterator[str]:
    """Yield a map: one field for each value, in the colour of its band."""
    width = (WIDTH - LEFT - 20) / len(relief.columns)
    for y, (name, row) in enumerate(
        zip(reversed(relief.rows), reversed(relief.values), strict=True)
    ):
        up = TOP + ROW * y
        yield _text(LEFT - 7, up + 18, name, "end")
        for x, value in enumerate(row):
            colour = "#ffffff" if value is None else colours.of_height(relief, value)
            left = round(LEFT + width * x, 1)
            yield (
                f'<rect x="{left}" y="{up}" width="{round(width, 1)}" height="{ROW}" '
                f'fill="{colour}"/>'
            )
            text = words.value(value) if value is not None else words.NOTHING
            yield _text(left + width / 2, up + 18, text, "middle", colours.readable_on(colour))
    base = TOP + ROW * len(relief.rows)
    for x, name in enumerate(relief.columns):
        yield _text(LEFT + width * (x + 0.5), base + 16, name, "middle")
    yield _text(LEFT + (WIDTH - LEFT - 20) / 2, base + 36, relief.x, "middle")
    middle = (TOP + base) / 2
    yield (
        f'<text transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">'
        f"{escape(relief.y)}</text>"
    )
    yield from _band_legend(relief, base + 52)


def _band_legend(relief: Relief, top: float) -> Iterator[str]:
    edges = list(colours.band_edges(relief))
    for place, (low, high) in enumerate(itertools.pairwise(edges)):
        left, up = LEFT + 112 * (place % 6), top + 22 * (place // 6)
        middle = math.sqrt(low * high) if relief.z.scale == "log" else (low + high) / 2
        colour = colours.of_height(relief, middle)
        yield f'<rect x="{left}" y="{up - 9}" width="14" height="12" fill="{colour}"/>'
        yield _text(left + 19, up + 2, f"{short(low)}–{short(high)}", "start")


def short(value: float) -> str:
    """Write a number with k or M, for legends.

    >>> short(1500), short(250000), short(0)
    ('1.5k', '250k', '0')
    """
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.4g}{unit}"
    return f"{value:.4g}"


def _polygon(corners: list[Point], fill: str, stroke: str = "none", width: float = 0.5) -> str:
    path = " ".join(f"{x},{y}" for x, y in corners)
    return f'<polygon points="{path}" fill="{fill}" stroke="{stroke}" stroke-width="{width}"/>'


def _polyline(path: list[Point], stroke: str) -> str:
    points = " ".join(f"{x},{y}" for x, y in path)
    return f'<polyline points="{points}" fill="none" stroke="{stroke}"/>'


def _text(x: float, y: float, text: str, anchor: str, colour: str = "") -> str:
    fill = f' fill="{colour}"' if colour else ""
    return (
        f'<text x="{round(x, 1)}" y="{round(y, 1)}" text-anchor="{anchor}"{fill}>'
        f"{escape(text)}</text>"
    )
