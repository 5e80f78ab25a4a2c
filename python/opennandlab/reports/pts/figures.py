"""Figures drawn by matplotlib: for the PDF, and as PNG files where an SVG would be too heavy."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from opennandlab.reports.chart import Axis
from opennandlab.reports.pts import colours, svg
from opennandlab.reports.pts.model import Mark, Plot, Relief, Series
from opennandlab.reports.pts.relief import height_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = {
    "circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "triangle-down": "v",
    "cross": "+", "x": "x", "star": "*",
}  # fmt: skip
LEGEND_COLUMNS = 4
SMALL = 7.0
Box = tuple[float, float, float, float]


@contextmanager
def style() -> Iterator[None]:
    """Set the looks of everything drawn inside."""
    import matplotlib as mpl

    with mpl.rc_context(
        {
            "font.family": "DejaVu Sans",
            "font.size": SMALL,
            "axes.edgecolor": colours.FRAME,
            "axes.labelcolor": colours.INK,
            "axes.linewidth": 0.6,
            "xtick.color": colours.INK,
            "ytick.color": colours.INK,
            "xtick.major.width": 0.4,
            "ytick.major.width": 0.4,
            "lines.linewidth": 1.1,
            "lines.markersize": 3.2,
            "pdf.fonttype": 42,
            "svg.hashsalt": "opennandlab",
        }
    ):
        yield


def png(drawn: Plot | Relief, *, dots_per_inch: int = 110) -> bytes:
    """Return a figure as a PNG of its own."""
    from matplotlib.figure import Figure

    stream = io.BytesIO()
    with style():
        figure = Figure(figsize=(7.2, 4.8 if isinstance(drawn, Relief) else 3.4))
        draw(figure, drawn, (0.02, 0.02, 0.96, 0.96))
        figure.savefig(stream, format="png", dpi=dots_per_inch, metadata={"Software": None})
    return stream.getvalue()


def draw(figure: Figure, drawn: Plot | Relief, box: Box) -> None:
    """Draw into a part of a figure.

    Args:
        figure: The page.
        drawn: What to draw.
        box: Left, bottom, width and height as shares of the page.
    """
    if isinstance(drawn, Plot):
        _plot(figure, drawn, box)
    elif drawn.shape == "bands":
        _bands(figure, drawn, box)
    else:
        _solid(figure, drawn, box)


def legend_rows(plot: Plot) -> int:
    """Return how many rows the legend of a plot needs."""
    return -(-len(svg.legend_entries(plot)) // LEGEND_COLUMNS)


def _plot(figure: Figure, plot: Plot, box: Box) -> None:
    left, bottom, width, height = box
    inches = figure.get_figheight()
    below = (0.48 + 0.2 * legend_rows(plot)) / inches
    axes = figure.add_axes(
        (left + 0.085, bottom + below, width - 0.1, height - below - 0.1 / inches)
    )
    for index, line in enumerate(plot.series):
        _series(axes, plot, index, line)
    _scale(axes, plot)
    for mark in plot.marks:
        _mark(axes, plot, mark)
    axes.grid(visible=True, color=colours.GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    named = svg.legend_entries(plot)
    if named:
        handles, labels = axes.get_legend_handles_labels()
        axes.legend(
            handles, labels, loc="upper left", ncols=LEGEND_COLUMNS, frameon=False, fontsize=SMALL,
            bbox_to_anchor=(0, -0.36 / (inches * (height - below))), borderaxespad=0,
        )  # fmt: skip


def _series(axes: Axes, plot: Plot, index: int, line: Series) -> None:
    colour = colours.of_series(plot, index)
    label = line.name if index in svg.legend_entries(plot) else f"_{line.name}"
    pairs = [
        (x if plot.x.shows(x) else math.nan, y if plot.y.shows(y) else math.nan)
        for x, y in zip(line.x, line.y, strict=False)
    ]
    xs: list[Any] = [x for x, _ in pairs]
    ys: list[Any] = [y for _, y in pairs]
    if line.draw == "bars":
        _bars(axes, plot, index, line, label)
        return
    if line.draw == "area":
        widths = [high - low for low, high in itertools.pairwise(xs)]
        axes.bar(xs[:-1], ys[:-1], widths, align="edge", color=colour, edgecolor="white",
                 linewidth=0.2, label=label)  # fmt: skip
        return
    marker = MARKERS[colours.marker(plot, index)]
    dotted = line.draw == "points" or (line.draw == "dots" and len(xs) <= svg.DOTS_MAX)
    axes.plot(
        xs, ys, color=colour, label=label,
        linestyle="none" if line.draw == "points" else colours.stroke(line)[2],
        marker=marker if dotted else "",
        drawstyle="steps-post" if line.draw == "steps" else "default",
    )  # fmt: skip
    seen = [x for x in xs if x == x]  # noqa: PLR0124 (NaN is not equal to itself)
    middle = (min(seen, default=0.0) + max(seen, default=0.0)) / 2
    for x, y, text in zip(xs, ys, line.texts, strict=False):
        side = 1 if x <= middle else -1
        axes.annotate(text, (x, y), xytext=(5 * side, 5), textcoords="offset points",
                      fontweight="bold", ha="left" if side > 0 else "right",
                      parse_math=False)  # fmt: skip


def _bars(axes: Axes, plot: Plot, index: int, line: Series, label: str) -> None:
    groups = [place for place, one in enumerate(plot.series) if one.draw == "bars"]
    share = 0.76 / len(groups)
    offset = -0.38 + share * (groups.index(index) + 0.5)
    for place, (x, y) in enumerate(zip(line.x, line.y, strict=False)):
        if x is None or not plot.y.shows(y):
            continue
        axes.bar([x + offset], [y or 0.0], share * 0.94, color=colours.of_series(plot, index),
                 label=label if place == 0 else "_more")  # fmt: skip
        if place < len(line.texts):
            axes.annotate(line.texts[place], (x + offset, y or 0.0), xytext=(0, 2), ha="center",
                          textcoords="offset points", parse_math=False)  # fmt: skip


def _scale(axes: Axes, plot: Plot) -> None:
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    for name, axis in (("x", plot.x), ("y", plot.y)):
        ends = svg.ends(plot, name)
        part = axes.xaxis if name == "x" else axes.yaxis
        getattr(axes, f"set_{name}scale")(axis.scale)
        getattr(axes, f"set_{name}lim")(*ends)
        marks = svg.ticks(axis, ends)
        part.set_major_locator(FixedLocator([value for value, _ in marks]))
        part.set_major_formatter(FixedFormatter([text for _, text in marks]))
        part.set_minor_locator(NullLocator())
        part.set_label_text(_label(axis))


def _label(axis: Axis) -> str:
    return axis.label.replace("$", r"\$")


def _mark(axes: Axes, plot: Plot, mark: Mark) -> None:
    looks: dict[str, Any] = {"color": colours.GUIDE, "linewidth": 0.8, "linestyle": ":"}
    text: dict[str, Any] = {"fontsize": 6.5, "color": "#444444", "parse_math": False}
    if mark.axis == "y":
        axes.axhline(mark.value, **looks)
        axes.annotate(mark.text, (1, mark.value), xycoords=("axes fraction", "data"),
                      xytext=(-3, 2), textcoords="offset points", ha="right", **text)  # fmt: skip
        return
    axes.axvline(mark.value, **looks)
    across = [one for one in sorted(plot.marks, key=lambda one: one.value) if one.axis == "x"]
    row = across.index(mark)
    low, high = axes.get_xlim()
    share = (
        math.log(mark.value / low) / math.log(high / low)
        if plot.x.scale == "log"
        else (mark.value - low) / (high - low)
    )
    leaning = share > 0.75
    axes.annotate(mark.text, (mark.value, 1), xycoords=("data", "axes fraction"),
                  xytext=(-3 if leaning else 3, -9 - 8 * row), textcoords="offset points",
                  ha="right" if leaning else "left", **text)  # fmt: skip


def _solid(figure: Figure, relief: Relief, box: Box) -> None:
    import numpy as np

    left, bottom, width, height = box
    axes: Any = figure.add_axes((left + 0.02, bottom, width - 0.04, height), projection="3d")
    heights = [[relief.height(value) for value in row] for row in relief.values]
    z = np.array(
        [[np.nan if height is None else height for height in row] for row in heights], dtype=float
    )
    x, y = np.meshgrid(np.arange(z.shape[1], dtype=float), np.arange(z.shape[0], dtype=float))
    if relief.shape == "columns":
        known = np.isfinite(z)
        tops = [colours.shade(height / relief.height_top) for height in z[known].tolist()]
        axes.bar3d(x[known] - 0.36, y[known] - 0.36, 0.0, 0.72, 0.72, z[known], color=tops,
                   shade=True, edgecolor="white", linewidth=0.15)  # fmt: skip
    else:
        shares = np.nan_to_num(z) / relief.height_top
        paint = np.array([[colours.shade(share) for share in row] for row in shares.tolist()])
        axes.plot_surface(x, y, z, facecolors=paint, rstride=1, cstride=1, edgecolor="white",
                          linewidth=0.3, shade=False)  # fmt: skip
    _grid_axes(axes, relief)
    first, last = np.nansum(z[:, 0]), np.nansum(z[:, -1])
    near, far = np.nansum(z[0]), np.nansum(z[-1])
    # The eye is where the grid is low.
    azimuth = {(True, True): 45, (False, True): 135, (False, False): 225, (True, False): -45}
    axes.view_init(elev=26, azim=azimuth[bool(first > last), bool(near > far)])
    axes.set_box_aspect((1.3, 1.3, 0.8), zoom=1.05)


def _grid_axes(axes: Any, relief: Relief) -> None:  # noqa: ANN401 (3-D axes are not typed)
    for name, names, label in (("x", relief.columns, relief.x), ("y", relief.rows, relief.y)):
        step = max(1, -(-len(names) // 12))
        getattr(axes, f"set_{name}ticks")(range(0, len(names), step), names[::step])
        getattr(axes, f"set_{name}label")(label)
    marks = height_ticks(relief)
    axes.set_zlim(0.0, relief.height_top)
    axes.set_zticks([value for value, _ in marks], [text for _, text in marks])
    axes.set_zlabel(relief.z.label)
    axes.tick_params(labelsize=6.5, pad=1)


def _bands(figure: Figure, relief: Relief, box: Box) -> None:
    import numpy as np
    from matplotlib.colors import BoundaryNorm, ListedColormap

    left, bottom, width, height = box
    inches = figure.get_figheight()
    below = 0.5 / inches
    axes = figure.add_axes(
        (left + 0.085, bottom + below, width - 0.2, height - below - 0.1 / inches)
    )
    z = np.array(
        [[np.nan if value is None else value for value in row] for row in relief.values],
        dtype=float,
    )
    edges = list(colours.band_edges(relief))
    if len(edges) < 3:
        edges = np.linspace(0.0, edges[-1], 11).tolist()
    is_log = relief.z.scale == "log"
    middles = [
        math.sqrt(low * high) if is_log else (low + high) / 2
        for low, high in itertools.pairwise(edges)
    ]
    palette = ListedColormap([colours.of_height(relief, value) for value in middles])
    drawn = axes.pcolormesh(z, cmap=palette, norm=BoundaryNorm(edges, palette.N))
    axes.set_xticks(np.arange(len(relief.columns)) + 0.5, relief.columns)
    axes.set_yticks(np.arange(len(relief.rows)) + 0.5, relief.rows)
    axes.set_xlabel(relief.x)
    axes.set_ylabel(relief.y)
    beside = figure.add_axes(
        (left + width - 0.09, bottom + below, 0.02, height - below - 0.1 / inches)
    )
    legend = figure.colorbar(drawn, cax=beside)
    legend.set_label(relief.z.label)
