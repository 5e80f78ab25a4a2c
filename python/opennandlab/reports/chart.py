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
from typing import Any

# Okabe and Ito, "Color Universal Design" (2008): told apart by colour-blind readers.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
WIDTH, HEIGHT = 720, 340
LEFT, RIGHT, TOP, BOTTOM = 76, 16, 16, 52
TICKS = 6

Number = float | None


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
    scale: str = "linear"
    ticks: tuple[tuple[float, str], ...] = ()
    zero: bool = False


@dataclass(frozen=True)
class Line:
    """One line; points without a value are gaps.

    Args:
        name: For the legend.
        x: Positions.
        y: Values, as many as positions.
        dots: Mark the points.
        dash: Draw a broken line, such as a limit.
    """

    name: str
    x: Sequence[Number]
    y: Sequence[Number]
    dots: bool = False
    dash: bool = False


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
                "mode": "lines+markers" if line.dots else "lines",
                "name": line.name,
                "x": list(line.x),
                "y": list(line.y),
                "line": {
                    "color": COLOURS[index % len(COLOURS)],
                    "width": 2,
                    **({"dash": "dash"} if line.dash else {}),
                },
            }
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
        parts.append(_drawn(line, chart, xs, ys, COLOURS[index % len(COLOURS)]))
    if len(chart.lines) > 1:
        parts.extend(_legend(chart))
    return "".join([*parts, "</svg>"])


def _legend(chart: Chart) -> Iterable[str]:
    """Yield the names of the lines, below one another."""
    left, first = LEFT + 10, TOP + 16
    if chart.legend == "lower right":
        # Seven units of the drawing are a wide letter of its font.
        width = 40 + 7 * max(len(line.name) for line in chart.lines)
        left = WIDTH - RIGHT - width
        first = HEIGHT - BOTTOM - 16 * len(chart.lines) + 6
        yield (
            f'<rect x="{left - 4}" y="{first - 15}" width="{width}" '
            f'height="{16 * len(chart.lines) + 6}" fill="#fff" fill-opacity="0.8"/>'
        )
    for index, line in enumerate(chart.lines):
        top = first + 16 * index
        yield (
            f'<line x1="{left}" x2="{left + 20}" y1="{top - 4}" y2="{top - 4}" '
            f'stroke="{COLOURS[index % len(COLOURS)]}" stroke-width="2"{_dashes(line)}/>'
            f'<text x="{left + 26}" y="{top}">{escape(line.name)}</text>'
        )


def _dashes(line: Line) -> str:
    return ' stroke-dasharray="6 4"' if line.dash else ""


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
        if line.dots:
            dots.append(f'<circle cx="{across}" cy="{up}" r="3" fill="{colour}"/>')
    strokes = [
        f'<polyline points="{" ".join(run)}" fill="none" stroke="{colour}" stroke-width="1.6"'
        f"{_dashes(line)}/>"
        for run in runs
        if run
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
