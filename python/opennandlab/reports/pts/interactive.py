"""Figures as plotly reads them: the same data as the static drawings, to be turned and zoomed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any

from opennandlab.reports.chart import Axis
from opennandlab.reports.pts import colours, svg, words
from opennandlab.reports.pts.model import Plot, Relief, Series
from opennandlab.reports.pts.relief import height_ticks

FONT = {
    "family": "system-ui, 'Segoe UI', Roboto, Arial, sans-serif",
    "color": colours.INK,
    "size": 12,
}
MODES = {"line": "lines", "dots": "lines+markers", "points": "markers", "dashed": "lines"}
SYMBOLS = {"cross": "cross-thin-open", "x": "x-thin-open", "star": "asterisk-open"}
DOTS_MAX = 60
HEIGHT, HEIGHT_RELIEF = 420, 560
# Distance of the eye, so that the whole box fits a drawing 560 high.
EYE = {"x": 1.28, "y": 1.52, "z": 0.88}


def figure(drawn: Plot | Relief) -> dict[str, Any]:
    """Return a figure as plotly reads it."""
    return _relief(drawn) if isinstance(drawn, Relief) else _plot(drawn)


def _plot(plot: Plot) -> dict[str, Any]:
    named = svg.legend_entries(plot)
    columns = max(1, 620 // max(40 + 7 * max((len(s.name) for s in plot.series), default=1), 1))
    rows = -(-len(named) // columns)
    layout: dict[str, Any] = {
        "height": HEIGHT + 20 * rows,
        "margin": {"l": 74, "r": 18, "t": 34, "b": 56},
        "xaxis": _axis(plot.x, [x for line in plot.series for x in line.x]),
        "yaxis": _axis(plot.y, [y for line in plot.series for y in line.y]),
        "showlegend": bool(named),
        "legend": {"orientation": "h", "y": -0.17, "yanchor": "top", "x": 0},
        "hovermode": "closest",
        "barmode": "group",
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "font": FONT,
        "separators": ". ",
        "shapes": [_shape(mark.axis, mark.value) for mark in plot.marks],
        "annotations": [
            *(_mark_text(plot, index) for index in range(len(plot.marks))),
        ],
    }
    data = [_series(plot, index, index in named) for index in range(len(plot.series))]
    return {"data": data, "layout": layout}


def _series(plot: Plot, index: int, is_named: bool) -> dict[str, Any]:  # noqa: FBT001 (one caller)
    line: Series = plot.series[index]
    colour = colours.of_series(plot, index)
    shape: dict[str, Any] = {
        "name": line.name,
        "x": list(line.x),
        "y": list(line.y),
        "showlegend": is_named,
    }
    if line.draw == "bars":
        shape |= {"type": "bar", "marker": {"color": colour}}
        if line.texts:
            shape |= {"text": list(line.texts), "textposition": "outside", "cliponaxis": False}
        return shape
    if line.draw == "area":
        return shape | _bins(line, colour)
    shape |= {"type": "scatter", "line": {"color": colour, "width": 1.4 if _is_guide(line) else 2}}
    shape["line"]["dash"] = colours.stroke(line)[1]
    if line.draw == "steps":
        shape["mode"] = "lines"
        shape["line"]["shape"] = "hv"
        return shape
    symbol = colours.marker(plot, index)
    is_dense = line.draw == "dots" and len(line.x) > DOTS_MAX
    shape["mode"] = "lines" if is_dense else MODES[line.draw]
    shape["marker"] = {
        "size": 9 if line.draw == "points" else 7,
        "symbol": SYMBOLS.get(symbol, symbol),
        "color": colour,
        "line": {"color": colour, "width": 1.6},
    }
    if line.texts:
        shape |= {"text": list(line.texts), "textposition": _sides(line)}
        shape["mode"] += "+text"
        shape |= {"textfont": {"weight": 600}, "cliponaxis": False}
    return shape


def _sides(line: Series) -> list[str]:
    """Return where the text of each point stands: in turn, so that close ones do not collide."""
    order = sorted(range(len(line.x)), key=lambda at: line.x[at] or 0.0)
    sides = ["top right"] * len(order)
    for place, at in enumerate(order):
        sides[at] = ("top left", "bottom right")[place % 2] if place else "top right"
    return sides


def _bins(line: Series, colour: str) -> dict[str, Any]:
    """Return bars that reach from each position to the next."""
    edges = [x for x in line.x if x is not None]
    pairs = list(itertools.pairwise(edges))
    return {
        "type": "bar",
        "x": [(low + high) / 2 for low, high in pairs],
        "width": [high - low for low, high in pairs],
        "y": [y or None for y in line.y[: len(pairs)]],
        "marker": {"color": colour, "line": {"width": 0}},
        "hovertemplate": "%{x:.4g}: %{y}<extra></extra>",
    }


def _is_guide(line: Series) -> bool:
    return line.colour is not None and line.colour < 0


def _axis(axis: Axis, values: list[float | None]) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "title": {"text": axis.label, "standoff": 8},
        "type": axis.scale,
        "gridcolor": colours.GRID,
        "linecolor": colours.FRAME,
        "showline": True,
        "mirror": True,
        "zeroline": False,
        "automargin": True,
    }
    if axis.scale == "log":
        low, high = svg.ends_of(axis, values)
        shape |= {"exponentformat": "none", "dtick": 1}
        shape["range"] = [math.log10(low), math.log10(high)]
        if high / low < 100 and not axis.ticks:
            marks = svg.ticks(axis, (low, high))
            shape |= {"tickvals": [value for value, _ in marks]}
            shape |= {"ticktext": [text for _, text in marks], "tickmode": "array"}
    else:
        shape["separatethousands"] = True
        shape["exponentformat"] = "none"
    if axis.zero and axis.scale == "linear":
        shape["rangemode"] = "tozero"
    if axis.ticks:
        shape.pop("dtick", None)
        step = max(1, math.ceil(len(axis.ticks) / 16))
        shape |= {
            "tickmode": "array",
            "tickvals": [value for value, _ in axis.ticks[::step]],
            "ticktext": [text for _, text in axis.ticks[::step]],
        }
    return shape


def _shape(axis: str, value: float) -> dict[str, Any]:
    other = "y" if axis == "x" else "x"
    return {
        "type": "line",
        f"{axis}0": value,
        f"{axis}1": value,
        f"{axis}ref": axis,
        f"{other}0": 0,
        f"{other}1": 1,
        f"{other}ref": f"{other} domain",
        "line": {"color": colours.GUIDE, "width": 1, "dash": "dot"},
    }


def _mark_text(plot: Plot, index: int) -> dict[str, Any]:
    mark = plot.marks[index]
    scale = (plot.x if mark.axis == "x" else plot.y).scale
    place = math.log10(mark.value) if scale == "log" and mark.value > 0 else mark.value
    if mark.axis == "y":
        return {
            "text": mark.text, "showarrow": False, "xref": "x domain", "x": 1, "xanchor": "right",
            "y": place, "yanchor": "bottom", "font": {"color": "#444", "size": 11},
        }  # fmt: skip
    order = sorted(range(len(plot.marks)), key=lambda one: plot.marks[one].value).index(index)
    low, high = svg.ends(plot, "x")
    if scale == "log":
        low, high = math.log10(low), math.log10(high)
    return {
        "text": mark.text, "showarrow": False, "x": place,
        "xanchor": "right" if place > low + 0.7 * (high - low) else "left", "yref": "y domain",
        "y": 1 - 0.055 * (order % 6), "yanchor": "top", "font": {"color": "#444", "size": 11},
        "bgcolor": "rgba(255,255,255,0.75)",
    }  # fmt: skip


def _relief(relief: Relief) -> dict[str, Any]:
    if relief.shape == "bands":
        return _bands(relief)
    data = [_columns(relief)] if relief.shape == "columns" else [_surface(relief)]
    return {
        "data": data,
        "layout": {
            "height": HEIGHT_RELIEF,
            "margin": {"l": 0, "r": 0, "t": 30, "b": 0},
            "paper_bgcolor": "white",
            "font": FONT,
            "separators": ". ",
            "showlegend": False,
            "scene": {
                "xaxis": _grid_axis(relief.x, relief.columns),
                "yaxis": _grid_axis(relief.y, relief.rows),
                "zaxis": _height_axis(relief),
                "aspectmode": "manual",
                "aspectratio": {"x": 1.25, "y": 1.25, "z": 0.75},
                "camera": _camera(relief),
                "dragmode": "turntable",
            },
        },
    }


def _camera(relief: Relief) -> dict[str, Any]:
    """Return an eye from which what is low stands in front of what is high."""

    def total(values: Iterable[float | None]) -> float:
        return sum(value for value in values if value is not None)

    first, last = total(row[0] for row in relief.values), total(row[-1] for row in relief.values)
    near, far = total(relief.values[0]), total(relief.values[-1])
    eye = {
        "x": EYE["x"] if first > last else -EYE["x"],
        "y": EYE["y"] if near > far else -EYE["y"],
        "z": EYE["z"],
    }
    return {"eye": eye, "center": {"x": 0, "y": 0, "z": -0.2}}


def _grid_axis(label: str, names: tuple[str, ...]) -> dict[str, Any]:
    step = max(1, -(-len(names) // 12))
    places = list(range(0, len(names), step))
    return {
        "title": {"text": label},
        "tickmode": "array",
        "tickvals": places,
        "ticktext": [names[place] for place in places],
        "range": [-0.6, len(names) - 0.4],
        "gridcolor": "#d5d5d5",
    }


def _height_axis(relief: Relief) -> dict[str, Any]:
    marks = height_ticks(relief)
    return {
        "title": {"text": relief.z.label},
        "rangemode": "tozero",
        "gridcolor": "#d5d5d5",
        "tickmode": "array",
        "tickvals": [value for value, _ in marks],
        "ticktext": [text for _, text in marks],
    }


def _name(relief: Relief, x: int, y: int) -> str:
    value = words.value(relief.values[y][x])
    return (
        f"{relief.y}: {relief.rows[y]}<br>{relief.x}: {relief.columns[x]}"
        f"<br>{relief.z.label}: {value}"
    )


def _surface(relief: Relief) -> dict[str, Any]:
    width, depth = len(relief.columns), len(relief.rows)
    return {
        "type": "surface",
        "x": list(range(width)),
        "y": list(range(depth)),
        "z": [[relief.height(value) for value in row] for row in relief.values],
        "text": [[_name(relief, x, y) for x in range(width)] for y in range(depth)],
        "hoverinfo": "text",
        "colorscale": _scale(relief),
        "cmin": 0,
        "cmax": relief.height_top,
        "showscale": False,
        "lighting": {"ambient": 0.75, "diffuse": 0.5, "specular": 0.05},
        "contours": {
            axis: {
                "show": True, "color": "rgba(255,255,255,0.7)", "width": 1, "start": 0,
                "end": count - 1, "size": 1, "highlight": False,
            }
            for axis, count in (("x", width), ("y", depth))
        },
    }  # fmt: skip


def _columns(relief: Relief) -> dict[str, Any]:
    """Return all columns as one solid: eight corners and twelve triangles for each."""
    corners: dict[str, list[float]] = {"x": [], "y": [], "z": []}
    faces: dict[str, list[int]] = {"i": [], "j": [], "k": []}
    paint: list[str] = []
    texts: list[str] = []
    # Bottom 0-3 and top 4-7, counterclockwise; the bottom itself is never seen.
    quads = ((4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))
    half = 0.36
    for y, row in enumerate(relief.values):
        for x, value in enumerate(row):
            top = relief.height(value)
            if value is None or top is None:
                continue
            first = len(corners["x"])
            for height in (0.0, top):
                for across, away in ((-half, -half), (half, -half), (half, half), (-half, half)):
                    corners["x"].append(x + across)
                    corners["y"].append(y + away)
                    corners["z"].append(height)
            texts += [_name(relief, x, y)] * 8
            colour = colours.of_height(relief, value)
            for a, b, c, d in quads:
                for i, j, k in ((a, b, c), (a, c, d)):
                    faces["i"].append(first + i)
                    faces["j"].append(first + j)
                    faces["k"].append(first + k)
                    paint.append(colour)
    return {
        "type": "mesh3d", **corners, **faces, "facecolor": paint, "text": texts,
        "hoverinfo": "text", "flatshading": True,
        "lighting": {"ambient": 0.7, "diffuse": 0.6, "specular": 0.05, "fresnel": 0},
        "lightposition": {"x": 300, "y": -900, "z": 900},
    }  # fmt: skip


def _scale(relief: Relief) -> list[list[float | str]]:
    if not relief.band:
        last = len(colours.VIRIDIS) - 1
        return [[place / last, colour] for place, colour in enumerate(colours.VIRIDIS)]
    edges = list(colours.band_edges(relief))
    top = edges[-1]
    return [
        [edge / top, colours.of_height(relief, (low + high) / 2)]
        for low, high in itertools.pairwise(edges)
        for edge in (low, high)
    ]


def _bands(relief: Relief) -> dict[str, Any]:
    width, depth = len(relief.columns), len(relief.rows)
    edges = [relief.height(edge) or 0.0 for edge in colours.band_edges(relief)]
    marks = height_ticks(relief)
    is_log = relief.z.scale == "log"
    return {
        "data": [
            {
                "type": "contour",
                "x": list(range(width)),
                "y": list(range(depth)),
                "z": [[relief.height(value) for value in row] for row in relief.values],
                "text": [[_name(relief, x, y) for x in range(width)] for y in range(depth)],
                "hoverinfo": "text",
                "autocontour": False,
                "contours": {
                    "start": edges[0],
                    "end": edges[-1],
                    # Thirds of a decade are about 1, 2 and 5.
                    "size": 1 / 3 if is_log else relief.band or edges[-1] / 10,
                    "coloring": "fill" if relief.band else "heatmap",
                },
                "line": {"width": 0.6, "color": "rgba(255,255,255,0.8)"},
                "colorscale": _scale(relief),
                "zmin": 0,
                "zmax": edges[-1],
                "colorbar": {
                    "title": {"text": relief.z.label},
                    "tickvals": [place for place, _ in marks],
                    "ticktext": [text for _, text in marks],
                    "thickness": 16,
                },
            }
        ],
        "layout": {
            "height": HEIGHT + 60,
            "margin": {"l": 74, "r": 18, "t": 34, "b": 56},
            "xaxis": _map_axis(relief.x, relief.columns),
            "yaxis": _map_axis(relief.y, relief.rows),
            "paper_bgcolor": "white",
            "plot_bgcolor": "white",
            "font": FONT,
            "separators": ". ",
        },
    }


def _map_axis(label: str, names: tuple[str, ...]) -> dict[str, Any]:
    axis = _grid_axis(label, names)
    axis.pop("range")
    return axis | {"linecolor": colours.FRAME, "showline": True, "mirror": True, "zeroline": False}
