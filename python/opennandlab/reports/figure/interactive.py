"""The interactive renderer: figures as plotly reads them, to be turned, zoomed and asked.

```text
figure ──► { data, layout, narrow }      narrow: what a narrow screen changes, by path in the layout
           TEMPLATE                      what all layouts share; a page holds it once
```
Colours are the light ones; the script of the page swaps them for dark ones, and back.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from opennandlab.reports import words
from opennandlab.reports.figure import colours, scale
from opennandlab.reports.figure.model import Axis, Figure, Number, Plot, Relief, Series, Stack

Palette = list[list[float | str]]
HEIGHT, HEIGHT_TALL, HEIGHT_SOLID = 400, 560, 500
MODES = {
    "line": "lines", "dots": "lines+markers", "points": "markers", "dashed": "lines",
    "steps": "lines", "bounds": "markers",
}  # fmt: skip
DOTS_MAX = 60
# Behind words that lie on a line, which goes on below them.
CLEAR = "rgba(0,0,0,0)"
# Letters across and lines down a plot on a narrow screen, for which labels are placed.
LETTERS, LINES = 44, 20
LETTER = 6.4
ROW = 20
# Height of a row of names above a plot.
ROW_NAMES = 14
# More labels along an axis of a 3-D figure overlap on a narrow screen.
NARROW_TICKS = 8
# Distance of the eye, so that the whole box fits.
EYE = {"x": 1.26, "y": 1.5, "z": 0.86}
_AXIS = {
    "gridcolor": colours.GRID, "linecolor": colours.FRAME, "showline": True, "mirror": True,
    "zeroline": False, "automargin": True, "exponentformat": "none", "separatethousands": True,
    "title": {"standoff": 8},
}  # fmt: skip
_SOLID_AXIS = {
    "gridcolor": colours.GRID, "linecolor": colours.FRAME, "showbackground": False,
    "zerolinecolor": colours.GRID,
}  # fmt: skip
TEMPLATE: dict[str, Any] = {
    "layout": {
        "font": {
            "family": "system-ui, 'Segoe UI', Roboto, Arial, sans-serif",
            "color": colours.INK,
            "size": 12,
        },
        "paper_bgcolor": colours.PAPER,
        "plot_bgcolor": colours.PAPER,
        "modebar": {"bgcolor": CLEAR, "color": colours.GUIDE},
        "hoverlabel": {"bgcolor": colours.PAPER, "font": {"color": colours.INK}},
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "scene": dict.fromkeys(("xaxis", "yaxis", "zaxis"), _SOLID_AXIS),
        "legend": {"orientation": "h", "y": 0, "yref": "container", "yanchor": "bottom", "x": 0},
        "separators": ". ",
        # A name in a bar that is too narrow for it is left out: the numbers are below.
        "uniformtext": {"minsize": 8, "mode": "hide"},
        "margin": {"l": 64, "r": 18, "t": 30, "b": 56},
    }
}


def figure(drawn: Figure) -> dict[str, Any]:
    """Return a figure as plotly reads it."""
    if isinstance(drawn, Plot):
        return _plot(drawn)
    if isinstance(drawn, Stack):
        return _stack(drawn)
    return _bands(drawn) if drawn.shape == "bands" else _solid(drawn)


def _legend(names: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return height and margin that leave room for a legend: as it is, and on a narrow screen."""
    wide = 46 + LETTER * max(map(len, names), default=0)

    def room(width: float) -> int:
        return ROW * -(-len(names) // max(1, int(width // wide)))

    return (
        {"height": HEIGHT + room(700), "margin": {"b": 56 + room(700)}},
        {"height": HEIGHT - 40 + room(330), "margin.b": 60 + room(330)},
    )


def _plot(plot: Plot) -> dict[str, Any]:
    named = plot.legend
    layout, narrow = _legend([plot.series[index].label for index in named])
    rows = scale.mark_rows(plot, LETTERS)
    level = max((len(mark.text) for mark in plot.marks if mark.axis == "y"), default=0)
    if plot.is_tall:
        layout["height"] += HEIGHT_TALL - HEIGHT
        narrow["height"] += (HEIGHT_TALL - HEIGHT) // 2
    above = ROW_NAMES * (max((row for row, _ in rows.values()), default=-1) + 1)
    layout["height"] += above
    layout["margin"] |= {"t": 30 + above, "r": round(18 + LETTER * level)}
    layout |= {
        "xaxis": _axis(plot.x, scale.ends(plot, "x")),
        "yaxis": _axis(plot.y, scale.ends(plot, "y")),
        **_right(plot),
        "showlegend": bool(named),
        "hovermode": "closest",
        "barmode": "group",
        "shapes": [_shape(mark.axis, mark.value) for mark in plot.marks],
        "annotations": [*_mark_names(plot), *_point_names(plot)],
    }
    # A narrow plot has no room next to it: there the names of levels stand above the frame.
    levels = len(scale.level_labels(plot, 0.0))
    narrow |= {"margin.r": 18, "margin.t": 30 + above + ROW_NAMES * levels}
    narrow["height"] += above + ROW_NAMES * levels
    # Long names under it lean so that the last one ends below its place.
    if sum(len(text) + 2 for _, text in plot.x.ticks) > LETTERS:
        narrow["xaxis.tickangle"] = -35
    for at in range(levels):
        there = {"xanchor": "right", "yanchor": "bottom", "y": 1, "yshift": above + ROW_NAMES * at}
        narrow |= {f"annotations.{at}.{key}": value for key, value in there.items()}
    data = [_series(plot, index) for index in range(len(plot.series))]
    data += [
        _band(line, colours.of_series(plot, index)) | {"showlegend": False}
        for index, line in enumerate(plot.series)
        if line.is_banded and line.high
    ]
    return {"data": data, "layout": layout, "narrow": narrow}


def _right(plot: Plot) -> dict[str, Any]:
    """Return the second axis of values, where there is one."""
    if plot.right is None:
        return {}
    shape = _axis(plot.right, scale.ends(plot, "right"))
    return {
        "yaxis2": {**_AXIS, **shape, "overlaying": "y", "side": "right", "showgrid": False,
                   "mirror": False},
    }  # fmt: skip


def _series(plot: Plot, index: int) -> dict[str, Any]:
    line = plot.series[index]
    colour = colours.of_series(plot, index)
    shape: dict[str, Any] = {"name": line.label or line.name, "x": list(line.x), "y": list(line.y)}
    shape["showlegend"] = index in plot.legend
    if line.is_right:
        shape["yaxis"] = "y2"
    if line.draw == "bars":
        shape |= {"type": "bar", "marker": {"color": colour}}
        if line.texts:
            # A level line would run through what stands above a bar.
            where = "inside" if any(mark.axis == "y" for mark in plot.marks) else "outside"
            shape |= {"text": list(line.texts), "textposition": where, "cliponaxis": False,
                      "insidetextanchor": "end", "textangle": 0}  # fmt: skip
        return shape
    if line.draw == "area":
        return shape | _bins(line, colour)
    if line.draw == "band":
        return shape | _band(line, colour)
    shape |= _looks(line, index, colour)
    if line.draw == "steps":
        shape["line"]["shape"] = "hv"
    if line.high and not line.is_banded:
        shape["error_y"] = _intervals(plot, line)
    if line.texts:
        shape |= {"text": list(line.texts), "hovertemplate": "%{text}<br>%{x}, %{y}"}
    return shape


def _looks(line: Series, index: int, colour: str) -> dict[str, Any]:
    """Return mode, stroke and markers of a series."""
    (_, symbol), (_, dash) = colours.style(line, index)
    is_marked = line.draw in {"points", "bounds"}
    is_dense = line.draw == "dots" and (len(line.x) > DOTS_MAX or line.filling == "none")
    opened = {"full": symbol, "hollow": f"{symbol}-open", "none": symbol}
    marker: dict[str, Any] = {
        "size": 9 if is_marked else 7, "symbol": opened[line.filling], "color": colour,
    }  # fmt: skip
    if line.marks and not is_dense:
        marker["symbol"] = [opened[one] for one in line.marks]
        marker["opacity"] = [float(one != "none") for one in line.marks]
    if line.draw == "bounds":
        # The flat end of the arrow is at the bound; in the legend its middle does in the row.
        marker |= {"symbol": symbol, "size": 10, "standoff": 0 if line.is_key else 10}
    looks: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines" if is_dense else MODES[line.draw],
        "line": {"color": colour, "width": 2, "dash": dash},
        "marker": marker,
    }
    if line.alone:
        sizes = [0] * len(line.x)
        for at in line.alone:
            sizes[at] = marker["size"]
        looks |= {"mode": "lines+markers", "marker": marker | {"size": sizes}}
    # Without a place plotly has no row for it in the legend.
    return looks | ({"x": [None], "y": [None], "hoverinfo": "skip"} if line.is_key else {})


def _intervals(plot: Plot, line: Series) -> dict[str, Any]:
    """Return the bars of a series."""
    # One that reaches zero has no end on a logarithmic axis.
    floor = scale.ends(plot, "y")[0] if plot.y.scale == "log" else -math.inf
    ends = [
        (0.0, 0.0) if y is None or low is None or high is None
        else (high - y, y - max(low, min(floor, y)))
        for y, low, high in zip(line.y, line.low, line.high, strict=True)
    ]  # fmt: skip
    return {
        "type": "data", "symmetric": False, "array": [up for up, _ in ends],
        "arrayminus": [down for _, down in ends], "width": 3 if plot.is_tall else 0,
        "thickness": 1,
    }  # fmt: skip


def _band(line: Series, colour: str) -> dict[str, Any]:
    """Return what is between two lines as a closed shape; in the legend a broad stroke."""
    if line.is_key:
        return {
            "type": "scatter", "mode": "lines", "x": [None], "y": [None], "hoverinfo": "skip",
            "line": {"width": 9, "color": colour}, "opacity": 0.3,
        }  # fmt: skip
    known = [
        (x, low, high) for x, low, high in zip(line.x, line.low, line.high, strict=True)
        if x is not None and low is not None and high is not None
    ]  # fmt: skip
    return {
        "type": "scatter", "mode": "lines", "fill": "toself", "line": {"width": 0},
        "fillcolor": colour, "opacity": 0.16, "hoverinfo": "skip",
        "x": [x for x, _, _ in known] + [x for x, _, _ in reversed(known)],
        "y": [high for _, _, high in known] + [low for _, low, _ in reversed(known)],
    }  # fmt: skip


def _bins(line: Series, colour: str) -> dict[str, Any]:
    """Return bars that reach from each position to the next."""
    pairs = list(itertools.pairwise(x for x in line.x if x is not None))
    return {
        "type": "bar",
        "x": [(low + high) / 2 for low, high in pairs],
        "width": [high - low for low, high in pairs],
        "y": [y or None for y in line.y[: len(pairs)]],
        "marker": {"color": colour, "line": {"width": 0}},
        "hovertemplate": "%{x:.4g}: %{y}<extra></extra>",
    }


def _axis(axis: Axis, ends: scale.Ends) -> dict[str, Any]:
    """Return an axis; its ticks are ours where they are fixed, or the axis is logarithmic."""
    shape: dict[str, Any] = {"title": {"text": axis.label}, "type": axis.scale}
    is_log = axis.scale == "log"
    shape["range"] = [math.log10(end) for end in ends] if is_log else list(ends)
    if axis.ticks or is_log:
        marks = scale.ticks(axis, ends)
        shape |= {"tickmode": "array", "tickvals": [value for value, _ in marks]}
        shape["ticktext"] = [text for _, text in marks]
    return shape


def _shape(axis: str, value: float) -> dict[str, Any]:
    other = "y" if axis == "x" else "x"
    return {
        "type": "line", f"{axis}0": value, f"{axis}1": value, f"{axis}ref": axis,
        f"{other}0": 0, f"{other}1": 1, f"{other}ref": f"{other} domain",
        "line": {"color": colours.GUIDE, "width": 1, "dash": "dot"},
    }  # fmt: skip


def _placed(axis: Axis, value: float) -> float:
    """Return a value as annotations want it: the exponent on a logarithmic axis."""
    return math.log10(value) if axis.scale == "log" and value > 0 else value


def _mark_names(plot: Plot) -> list[dict[str, Any]]:
    looks = {"showarrow": False, "font": {"color": colours.SOFT, "size": 11}}
    rows, levels = scale.mark_rows(plot, LETTERS), scale.level_labels(plot, 1 / LINES)
    beside = {"xref": "x domain", "x": 1, "xanchor": "left", "yref": "y domain"}
    return [
        {"text": plot.marks[at].text, "y": level, "yanchor": "middle", **beside, **looks}
        for at, level in levels.items()
    ] + [
        {
            "text": plot.marks[at].text, "x": _placed(plot.x, plot.marks[at].value),
            "xanchor": "right" if leaning else "left", "yref": "y domain", "y": 1,
            "yanchor": "bottom", "yshift": ROW_NAMES * row, **looks,
        }
        for at, (row, leaning) in rows.items()
    ]  # fmt: skip


def _point_names(plot: Plot) -> list[dict[str, Any]]:
    found = []
    for index, at, _, up in scale.point_labels(plot, LETTERS, LINES):
        line = plot.series[index]
        x, y = line.x[at] or 0.0, line.y[at] or 0.0
        there = scale.share(y, scale.ends(plot, "y"), plot.y)
        across = scale.share(x, scale.ends(plot, "x"), plot.x)
        found.append(
            {
                "text": line.texts[at], "x": _placed(plot.x, x), "y": _placed(plot.y, y),
                "ax": 0, "ay": (there - up) * (HEIGHT - 120), "arrowhead": 0, "arrowwidth": 0.7,
                "arrowcolor": colours.SOFT, "font": {"weight": 600}, "bgcolor": CLEAR,
                "xanchor": "left" if across < 0.15 else "right" if across > 0.85 else "center",
            }
        )  # fmt: skip
    return found


def _stack(stack: Stack) -> dict[str, Any]:
    """Return two panels: side by side, and below one another on a narrow screen."""
    layout, narrow = _legend([part.name for part in stack.parts])
    rows, totals = list(stack.rows), stack.totals
    tall = 30 * len(rows)
    layout["height"] += tall + 120 - HEIGHT
    narrow["height"] += 2 * tall + 180 - HEIGHT
    layout |= {
        "barmode": "stack",
        "xaxis": {"title": {"text": stack.x.label}, "domain": [0, 0.56]},
        "xaxis2": {
            **_AXIS, "title": {"text": "share, %"}, "domain": [0.66, 1], "range": [0, 100],
            "anchor": "y2",
        },
        "yaxis": {"autorange": "reversed", "type": "category"},
        "yaxis2": {
            **_AXIS, "autorange": "reversed", "type": "category", "showticklabels": False,
            "anchor": "x2",
        },
        "annotations": [
            {
                "text": text, "x": sum(part.values[row] for part in stack.parts), "y": rows[row],
                "xanchor": "left", "showarrow": False, "xshift": 3,
            }
            for row, text in enumerate(stack.ends)
        ],
    }  # fmt: skip
    narrow |= {
        "xaxis.domain": [0, 0.84], "yaxis.domain": [0.6, 1], "xaxis2.domain": [0, 0.84],
        "yaxis2.domain": [0, 0.4], "yaxis2.showticklabels": True,
    }  # fmt: skip
    data = []
    for part in stack.parts:
        shares = [100 * value / total for value, total in zip(part.values, totals, strict=True)]
        for place, values in (("", list(part.values)), ("2", shares)):
            data.append(
                {
                    "type": "bar", "orientation": "h", "name": part.name, "legendgroup": part.name,
                    "showlegend": not place, "y": rows, "x": values, "xaxis": f"x{place}",
                    "yaxis": f"y{place}", "marker": {"color": part.colour, "line": {"width": 0}},
                    "hovertemplate": f"{part.name}: %{{x:.4g}}{' %' if place else ''}",
                }
            )  # fmt: skip
    return {"data": data, "layout": layout, "narrow": narrow}


def _solid(relief: Relief) -> dict[str, Any]:
    last_column, last_row = relief.low_sides
    # What is low stands in front of what is high.
    eye = {
        "x": EYE["x"] if last_column else -EYE["x"],
        "y": EYE["y"] if last_row else -EYE["y"],
        "z": EYE["z"],
    }
    marks = scale.height_ticks(relief)
    layout: dict[str, Any] = {
        "height": HEIGHT_SOLID,
        "margin": {"l": 0, "r": 0, "t": 20, "b": 0},
        "showlegend": False,
        "scene": {
            "xaxis": _grid_axis(relief.x, relief.columns),
            "yaxis": _grid_axis(relief.y, relief.rows),
            "zaxis": {
                "title": {"text": ""}, "range": [0, _ceiling(relief)], "tickmode": "array",
                "tickvals": [value for value, _ in marks], "ticktext": [text for _, text in marks],
            },
            "aspectmode": "manual",
            "aspectratio": {"x": 1.25, "y": 1.25, "z": 0.75},
            "camera": {"eye": eye, "center": {"x": 0, "y": 0, "z": -0.22}},
            "dragmode": "turntable",
        },
        "coloraxis": _key(relief, _viridis(), relief.height_top),
    }  # fmt: skip
    narrow: dict[str, Any] = {
        "height": 400, "scene.camera.eye": {axis: 1.3 * at for axis, at in eye.items()},
        "coloraxis.colorbar.orientation": "h", "coloraxis.colorbar.len": 0.9,
        "coloraxis.colorbar.y": 0, "coloraxis.colorbar.yanchor": "bottom",
        "scene.domain.y": [0.16, 1],
    }  # fmt: skip
    for axis in ("xaxis", "yaxis"):
        ticks = layout["scene"][axis]
        if len(ticks["tickvals"]) > NARROW_TICKS:
            narrow |= {f"scene.{axis}.{key}": ticks[key][::2] for key in ("tickvals", "ticktext")}
    if relief.shape == "columns":
        layout["scene"] |= {"annotations": _column_names(relief)}
        # Letters are wider than columns there.
        narrow["scene.annotations"] = []
    data = _columns(relief) if relief.shape == "columns" else _surface(relief)
    return {"data": [data], "layout": layout, "narrow": narrow}


def _grid_axis(label: str, names: tuple[str, ...]) -> dict[str, Any]:
    places, shown = scale.grid_ticks(names)
    return {
        "title": {"text": label}, "tickmode": "array", "tickvals": places, "ticktext": shown,
        "range": [-0.6, len(names) - 0.4],
    }  # fmt: skip


def _texts(relief: Relief) -> list[list[str]]:
    return [
        [
            f"{relief.y}: {row}<br>{relief.x}: {column}<br>{relief.z.label}: {words.value(value)}"
            for column, value in zip(relief.columns, values, strict=True)
        ]
        for row, values in zip(relief.rows, relief.values, strict=True)
    ]


def _key(relief: Relief, palette: Palette, top: float) -> dict[str, Any]:
    """Return which colour means what, and the bar that states this."""
    marks = scale.height_ticks(relief)
    bar = {
        "title": {"text": relief.z.label}, "tickvals": [value for value, _ in marks],
        "ticktext": [text for _, text in marks], "thickness": 14, "len": 0.8, "outlinewidth": 0,
    }  # fmt: skip
    return {"colorscale": palette, "cmin": 0, "cmax": top, "colorbar": bar}


def _viridis() -> Palette:
    last = len(colours.VIRIDIS) - 1
    return [[place / last, colour] for place, colour in enumerate(colours.VIRIDIS)]


def _grid(relief: Relief) -> dict[str, Any]:
    return {
        "x": list(range(len(relief.columns))), "y": list(range(len(relief.rows))),
        "z": relief.heights, "text": _texts(relief), "hoverinfo": "text",
        "coloraxis": "coloraxis",
    }  # fmt: skip


def _surface(relief: Relief) -> dict[str, Any]:
    sides = (("x", len(relief.columns)), ("y", len(relief.rows)))
    return _grid(relief) | {
        "type": "surface",
        "lighting": {"ambient": 0.75, "diffuse": 0.5, "specular": 0.05},
        "contours": {
            axis: {
                "show": True, "color": "rgba(255,255,255,0.7)", "width": 1, "start": 0,
                "end": count - 1, "size": 1, "highlight": False,
            }
            for axis, count in sides
        },
    }  # fmt: skip


def _ceiling(relief: Relief) -> float:
    """Return the end of the axis of heights: what stands at the very end loses its name."""
    return 1.001 * relief.height_top


def _columns(relief: Relief) -> dict[str, Any]:
    """Return all columns as one solid: eight corners and ten triangles for each."""
    corners: list[tuple[float, float, float]] = []
    faces: list[tuple[int, int, int]] = []
    tops: list[Number] = []
    texts: list[str] = []
    # Bottom 0-3 and top 4-7, counterclockwise; the bottom itself is never seen.
    quads = ((4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))
    half = 0.36
    square = ((-half, -half), (half, -half), (half, half), (-half, half))
    names = _texts(relief)
    for y, row in enumerate(relief.heights):
        for x, top in enumerate(row):
            if top is None:
                continue
            at = len(corners)
            corners += [(x + a, y + b, height) for height in (0.0, top) for a, b in square]
            faces += [
                (at + i, at + j, at + k)
                for a, b, c, d in quads
                for i, j, k in ((a, b, c), (a, c, d))
            ]
            tops += [top] * 8
            texts += [names[y][x]] * 8
    return {
        "type": "mesh3d",
        **dict(zip("xyz", map(list, zip(*corners, strict=True)), strict=False)),
        **dict(zip("ijk", map(list, zip(*faces, strict=True)), strict=False)),
        "intensity": tops, "coloraxis": "coloraxis", "text": texts,
        "hoverinfo": "text", "flatshading": True,
        "lighting": {"ambient": 0.7, "diffuse": 0.6, "specular": 0.05, "fresnel": 0},
        "lightposition": {"x": 300, "y": -900, "z": 900},
    }  # fmt: skip


def _column_names(relief: Relief) -> list[dict[str, Any]]:
    """Return the values on top of the columns, where they are not too many."""
    shares = [(label, label[2] / relief.height_top) for label in scale.column_labels(relief)]
    return [
        {
            "x": x, "y": y, "z": top, "text": text, "showarrow": False, "borderpad": 0,
            "font": {"size": 9, "color": colours.upon(share)},
            "bgcolor": colours.shade(colours.VIRIDIS, share),
        }
        for (x, y, top, text), share in shares
    ]  # fmt: skip


def _bands(relief: Relief) -> dict[str, Any]:
    edges = [relief.height(edge) or 0.0 for edge in scale.band_edges(relief)]
    steps: Palette = [
        [edge / edges[-1], colours.shade(colours.VIRIDIS, (low + high) / 2 / edges[-1])]
        for low, high in itertools.pairwise(edges)
        for edge in (low, high)
    ]
    map_ = _grid(relief) | {
        "type": "heatmap", "xgap": 1, "ygap": 1,
    }  # fmt: skip
    layout = {
        "height": HEIGHT,
        "coloraxis": _key(relief, steps, edges[-1]),
        "xaxis": _grid_axis(relief.x, relief.columns) | {"showgrid": False},
        "yaxis": _grid_axis(relief.y, relief.rows) | {"showgrid": False},
    }
    return {"data": [map_], "layout": layout, "narrow": {"height": HEIGHT - 40}}
