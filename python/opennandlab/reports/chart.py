"""A chart described once and drawn twice: by plotly on screen, as SVG without script and in print.

```text
Chart { title, axes, lines } ──► figure(chart): JSON for plotly
                             └─► svg(chart):    static drawing, no script, no font to fetch
```
Left out: everything but lines over a common x axis, linear or logarithmic.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal

# Okabe and Ito, "Color Universal Design" (2008): told apart by colour-blind readers.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
WIDTH, HEIGHT = 720, 340
LEFT, RIGHT, TOP, BOTTOM = 76, 16, 16, 52
TICKS = 6

Number = float | None
Scale = Literal["linear", "log"]


@dataclass(frozen=True)
class Axis:
    """One axis.

    Args:
        label: What it shows, with its unit.
        scale: `linear` or `log`.
        ticks: Fixed ticks as (value, text); empty for automatic ones.
        zero: Start a linear axis at zero.
    """

    label: str
    scale: Scale = "linear"
    ticks: tuple[tuple[float, str], ...] = ()
    zero: bool = False

    def shows(self, value: Number) -> bool:
        """Whether a value has a place on this axis."""
        if value is None or not math.isfinite(value):
            return False
        return self.scale != "log" or value > 0


@dataclass(frozen=True)
class Line:
    """One line; points without a value are gaps.

    Args:
        name: For tables and the legend.
        x: Positions.
        y: Values, as many as positions.
        dots: Mark the points.
        stroke: `solid`, `dashed`, or `none` for points alone.
        colour: Index into `COLOURS`, so that lines can share one; by default each has its own.
        legend: What the legend says instead of the name; empty to leave the line out of it.
    """

    name: str
    x: Sequence[Number]
    y: Sequence[Number]
    dots: bool = False
    stroke: str = "solid"
    colour: int | None = None
    legend: str | None = None

    @property
    def label(self) -> str:
        """Text in the legend; empty for none."""
        return self.name if self.legend is None else self.legend


@dataclass(frozen=True)
class Chart:
    """Lines over a common x axis.

    Args:
        title: What it shows.
        x: The common axis.
        y: The axis of values.
        lines: At least one.
        note: A sentence below the title.
        legend: Where names stand in the drawing: `upper left`, or `lower right` for curves that
            rise from the left.
    """

    title: str
    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    note: str = ""
    legend: str = "upper left"
    anchor: str = field(default="", compare=False)


def figure(chart: Chart) -> dict[str, Any]:
    """Return the chart as plotly reads it."""
    legend = len(chart.lines) > 1
    return {
        "data": [
            {
                "type": "scatter",
                "mode": _mode(line),
                "name": line.label,
                "x": list(line.x),
                "y": list(line.y),
                "line": {"color": _colour(line, index), "width": 2}
                | ({"dash": "dash"} if line.stroke == "dashed" else {}),
            }
            | ({"marker": {"size": 9, "symbol": "circle-open"}} if line.stroke == "none" else {})
            | ({} if line.label else {"showlegend": False})
            for index, line in enumerate(chart.lines)
        ],
        "layout": {
            "height": HEIGHT + 60,
            # The buttons of plotly stand above the frame.
            "margin": {"l": 80, "r": 20, "t": 40, "b": 60},
            "xaxis": _plotly_axis(chart.x, _decades(line.x for line in chart.lines)),
            "yaxis": _plotly_axis(chart.y, _decades(line.y for line in chart.lines)),
            "showlegend": legend,
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "hovermode": "x unified",
            "paper_bgcolor": "white",
            "plot_bgcolor": "white",
            "font": {"family": "system-ui, sans-serif", "color": "#222"},
        },
    }


def svg(chart: Chart) -> str:
    """Return the chart as one SVG element."""
    xs = _range([value for line in chart.lines for value in line.x], chart.x)
    ys = _range([value for line in chart.lines for value in line.y], chart.y)
    head = (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" class="static" '
        f'aria-label="{escape(chart.title)}" xmlns="http://www.w3.org/2000/svg">'
    )
    frame = (
        f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" '
        f'height="{HEIGHT - TOP - BOTTOM}" fill="none" stroke="#999"/>'
    )
    parts = [head, frame]
    for value, text in _ticks(chart.x, xs):
        place = _across(value, xs, chart.x)
        parts.append(
            f'<line x1="{place}" x2="{place}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#e5e5e5"/>'
            f'<text x="{place}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">'
            f"{escape(text)}</text>"
        )
    for value, text in _ticks(chart.y, ys):
        place = _up(value, ys, chart.y)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{place}" y2="{place}" stroke="#e5e5e5"/>'
            f'<text x="{LEFT - 6}" y="{place + 4}" text-anchor="end">{escape(text)}</text>'
        )
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">'
        f"{escape(chart.x.label)}</text>"
        f'<text transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">'
        f"{escape(chart.y.label)}</text>"
    )
    for index, line in enumerate(chart.lines):
        parts.append(_drawn(line, chart, xs, ys, _colour(line, index)))
    if sum(bool(line.label) for line in chart.lines) > 1:
        parts.extend(_legend(chart))
    return "".join([*parts, "</svg>"])


def _legend(chart: Chart) -> Iterable[str]:
    """Yield the names of the lines, below one another."""
    named = [(index, line) for index, line in enumerate(chart.lines) if line.label]
    left, first = LEFT + 10, TOP + 16
    if chart.legend == "lower right":
        # Seven units of the drawing are a wide letter of its font.
        width = 40 + 7 * max(len(line.label) for _, line in named)
        left = WIDTH - RIGHT - width
        first = HEIGHT - BOTTOM - 16 * len(named) + 6
        yield (
            f'<rect x="{left - 4}" y="{first - 15}" width="{width}" '
            f'height="{16 * len(named) + 6}" fill="#fff" fill-opacity="0.8"/>'
        )
    for place, (index, line) in enumerate(named):
        top = first + 16 * place
        yield (
            f"{_sample(line, left, top - 4, _colour(line, index))}"
            f'<text x="{left + 26}" y="{top}">{escape(line.label)}</text>'
        )


def _colour(line: Line, index: int) -> str:
    return COLOURS[(index if line.colour is None else line.colour) % len(COLOURS)]


def _mode(line: Line) -> str:
    if line.stroke == "none":
        return "markers"
    return "lines+markers" if line.dots else "lines"


def _dash(line: Line) -> str:
    return ' stroke-dasharray="7 4"' if line.stroke == "dashed" else ""


def _sample(line: Line, left: int, middle: int, colour: str) -> str:
    """Return what stands for the line in the legend."""
    if line.stroke == "none":
        return _ring(left + 10, middle, colour)
    return (
        f'<line x1="{left}" x2="{left + 20}" y1="{middle}" y2="{middle}" '
        f'stroke="{colour}" stroke-width="2"{_dash(line)}/>'
    )


def _ring(across: float, up: float, colour: str) -> str:
    return (
        f'<circle cx="{across}" cy="{up}" r="4" fill="none" stroke="{colour}" stroke-width="1.6"/>'
    )


def _plotly_axis(axis: Axis, decades: float) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "title": {"text": axis.label},
        "type": axis.scale,
        "gridcolor": "#e5e5e5",
        "linecolor": "#999",
        "showline": True,
        "mirror": True,
        "zeroline": False,
    }
    if axis.scale == "log":
        shape["exponentformat"] = "power"
        if decades > 2:
            shape["dtick"] = 1
    if axis.zero and axis.scale == "linear":
        shape["rangemode"] = "tozero"
    if axis.ticks:
        shape |= {
            "tickmode": "array",
            "tickvals": [value for value, _ in axis.ticks],
            "ticktext": [text for _, text in axis.ticks],
        }
        shape.pop("dtick", None)
    return shape


def _decades(columns: Iterable[Sequence[Number]]) -> float:
    seen = [value for column in columns for value in column if value is not None and value > 0]
    return math.log10(max(seen) / min(seen)) if seen else 0.0


def _drawn(
    line: Line, chart: Chart, xs: tuple[float, float], ys: tuple[float, float], colour: str
) -> str:
    runs: list[list[str]] = [[]]
    dots = []
    for x, y in zip(line.x, line.y, strict=True):
        if not (_visible(x, chart.x) and _visible(y, chart.y)):
            runs.append([])
            continue
        across, up = _across(x or 0.0, xs, chart.x), _up(y or 0.0, ys, chart.y)
        runs[-1].append(f"{across},{up}")
        if line.stroke == "none":
            dots.append(_ring(across, up, colour))
        elif line.dots:
            dots.append(f'<circle cx="{across}" cy="{up}" r="3" fill="{colour}"/>')
    strokes = [
        f'<polyline points="{" ".join(run)}" fill="none" stroke="{colour}" stroke-width="1.6"'
        f"{_dash(line)}/>"
        for run in runs
        if run and line.stroke != "none"
    ]
    return "".join(strokes + dots)


def _visible(value: Number, axis: Axis) -> bool:
    return value is not None and math.isfinite(value) and (axis.scale != "log" or value > 0)


def _range(values: Sequence[Number], axis: Axis) -> tuple[float, float]:
    """Return the ends of an axis: whole decades, or the data with a margin."""
    seen = [value for value in values if value is not None and _visible(value, axis)]
    if not seen:
        return (1.0, 10.0) if axis.scale == "log" else (0.0, 1.0)
    low, high = min(seen), max(seen)
    if axis.scale == "log":
        if axis.ticks:
            return low, high * 1.05
        low, high = 10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high))
        return (low, high) if high > low else (low, 10 * low)
    low = min(0.0, low) if axis.zero else low
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return (low if axis.zero else low - margin), high + margin


def _ticks(axis: Axis, ends: tuple[float, float]) -> list[tuple[float, str]]:
    low, high = ends
    if axis.ticks:
        return [(value, text) for value, text in axis.ticks if low <= value <= high]
    if axis.scale == "log":
        first, last = round(math.log10(low)), round(math.log10(high))
        step = max(1, math.ceil((last - first) / TICKS))
        return [(10.0**power, f"1e{power}") for power in range(first, last + 1, step)]
    return nice_ticks(low, high)


def nice_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return about six ticks at 1, 2 or 5 times a power of ten, as (value, text)."""
    raw = (high - low) / TICKS
    power = 10 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [(count * step, f"{count * step:.6g}") for count in range(first, last + 1)]


def _share(value: float, ends: tuple[float, float], axis: Axis) -> float:
    low, high = ends
    if axis.scale == "log":
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def _across(value: float, ends: tuple[float, float], axis: Axis) -> float:
    return round(LEFT + _share(value, ends, axis) * (WIDTH - LEFT - RIGHT), 1)


def _up(value: float, ends: tuple[float, float], axis: Axis) -> float:
    return round(HEIGHT - BOTTOM - _share(value, ends, axis) * (HEIGHT - TOP - BOTTOM), 1)
