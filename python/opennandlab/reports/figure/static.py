"""The static renderer: figures by matplotlib, as SVG, PNG and parts of PDF pages.

```text
        ┌ names of upright lines ┐
   tick │                        │ names of level lines, or the bar of colours
        └────────────────────────┘
         ticks, axis, legend
```
Sizes are in inches. The same figure gives the same bytes: no date, ids by a fixed salt, coordinates
rounded. In a page the colours of an SVG become variables, which light and dark set.
"""

from __future__ import annotations

import functools
import io
import itertools
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from opennandlab.reports.figure import colours, scale
from opennandlab.reports.figure.model import Figure, Plot, Relief, Series, Stack

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Sheet

WIDTH = 7.2
PLOT, TALL, SOLID, MAP = 2.6, 3.9, 4.2, 3.1
BELOW, ABOVE, LINE = 0.46, 0.08, 0.155
BAR = 0.27
TITLE = 0.3
# Sizes of letters, in points.
FONT, SOLID_FONT, ON_COLUMN = 7.5, 6.5, 5
# Inches of a narrow solid.
SOLID_NARROW = 5.0
FRAME_LEAST = 0.05
# Lines above the first figure: their height, and letters in each.
HEADING, HEADING_LETTERS = 0.17, 118
# A wide letter of the font.
LETTER = 0.062
# Markers on more points than these hide the line.
DOTS_MAX = 60
Box = tuple[float, float, float, float]
# Coordinates that are rounded, not the sizes of letters that are paths.
FINE = re.compile(r"scale\([^)]*\)|-?\d+\.\d{3,}")
# What no document of XML may hold; names in damaged files do.
NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


@contextmanager
def style(salt: str = "", own: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Set the looks inside; `salt` sets ids of a drawing apart, `own` settings come last."""
    import matplotlib as mpl

    ink = ("text.color", "axes.labelcolor", "xtick.color", "ytick.color")
    looks: dict[Any, Any] = {
        **dict.fromkeys(ink, colours.INK),
        "font.family": "DejaVu Sans",
        "font.size": FONT,
        "axes.edgecolor": colours.FRAME,
        "axes.facecolor": "none",
        "axes.linewidth": 0.6,
        "xtick.major.width": 0.4,
        "ytick.major.width": 0.4,
        "lines.linewidth": 1.2,
        "lines.markersize": 4.0,
        "grid.color": colours.GRID,
        "grid.linewidth": 0.5,
        "legend.fontsize": "medium",
        "legend.frameon": False,
        "legend.labelspacing": 0.25,
        "legend.handlelength": 2.2,
        "legend.columnspacing": 1.5,
        "text.parse_math": False,
        "pdf.fonttype": 42,
        "svg.fonttype": "none",
        "svg.hashsalt": f"opennandlab{salt}",
        **(own or {}),
    }
    with mpl.rc_context(looks), warnings.catch_warnings():
        # A name may hold letters that the font has not: what is drawn states this, not a library.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


def height(figure: Figure, width: float = WIDTH) -> float:
    """Return how high a figure is drawn, without its title; both in inches."""
    if isinstance(figure, Relief):
        bands = min(MAP, 0.75 * width) + BELOW + ABOVE
        return bands if figure.shape == "bands" else min(SOLID, 0.77 * width)
    if isinstance(figure, Stack):
        frame = BAR * len(figure.rows)
    else:
        frame = min(TALL, 0.9 * width) if figure.is_tall else min(PLOT, 0.6 * width)
    return frame + _above(figure, width) + BELOW + LINE * _legend_rows(figure, width)


def letter() -> float:
    """Return the inches of a wide letter, in the size that `style` has set."""
    import matplotlib as mpl

    return LETTER * (float(mpl.rcParams["font.size"]) / FONT)


def inline(figure: Figure, salt: str) -> str:
    """Return a figure as an SVG element for a page: without paper, its colours as variables."""
    text = _svg([figure], salt, is_titled=False)
    text = re.sub(r"^.*?<svg [^>]*?(viewBox=\"[^\"]*\")[^>]*>", r"<svg \1>", text, flags=re.DOTALL)
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL).replace("xlink:href", "href")
    for light in colours.theme([figure]):
        text = text.replace(light, f"var(--c-{light[1:]})")
    head = f'<svg role="img" aria-label="{escape(figure.title)}" xmlns='
    return text.replace("<svg ", f'{head}"http://www.w3.org/2000/svg" ', 1).strip()


def svg(figures: Sequence[Figure], heading: Sequence[str] = ()) -> str:
    """Return figures below one another, each with its title, as an SVG document.

    Args:
        figures: The figures.
        heading: Lines above the first: drive, workload, seed.
    """
    return _svg(figures, "", is_titled=True, heading=heading)


def png(
    figures: Sequence[Figure], heading: Sequence[str] = (), *, dots_per_inch: int = 160
) -> bytes:
    """Return figures below one another, each with its title, as a PNG.

    Args:
        figures: The figures.
        heading: Lines above the first: drive, workload, seed.
        dots_per_inch: How fine.
    """
    stream = io.BytesIO()
    with style():
        sheet = _sheet(figures, is_titled=True, heading=heading)
        sheet.savefig(stream, format="png", dpi=dots_per_inch, metadata={"Software": None})
    return stream.getvalue()


def _svg(
    figures: Sequence[Figure], salt: str, *, is_titled: bool, heading: Sequence[str] = ()
) -> str:
    with style(salt):
        sheet = _sheet(figures, is_titled=is_titled, heading=heading)
        return svg_of(sheet, transparent=not is_titled)


def svg_of(sheet: Sheet, *, transparent: bool = False) -> str:
    """Return a sheet, drawn inside `style`, as an SVG document: the same bytes each time.

    Args:
        sheet: What was drawn.
        transparent: Without paper.
    """
    import matplotlib as mpl

    stream = io.StringIO()
    about = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    sheet.savefig(stream, format="svg", metadata=about, transparent=transparent)
    drawn = NO_XML.sub("\N{REPLACEMENT CHARACTER}", stream.getvalue())
    text = re.sub(r"<!DOCTYPE.*?>\s*|<metadata>.*?</metadata>\s*", "", drawn,
                  flags=re.DOTALL)  # fmt: skip
    # Only ids that something refers to: the others would be the same in each drawing of a page.
    used = set(re.findall(r"#([\w-]+)", text))
    text = re.sub(r' id="([^"]+)"', lambda m: m[0] if m[1] in used else "", text)
    text = re.sub(r"<[^>]+>", lambda tag: re.sub(FINE, _rounded, tag[0]), text)
    text = text.replace("'DejaVu Sans'", "system-ui, 'Segoe UI', Roboto, Arial, sans-serif")
    # What made it: another version of the library may place things a little differently.
    return text.replace("<svg ", f'<svg data-by="matplotlib {mpl.__version__}" ', 1)


def _rounded(match: re.Match[str]) -> str:
    return match[0] if match[0][0] == "s" else f"{round(float(match[0]), 2) + 0.0:g}"


def _sheet(figures: Sequence[Figure], *, is_titled: bool, heading: Sequence[str] = ()) -> Sheet:
    """Return a sheet with figures below one another."""
    from matplotlib.figure import Figure as Sheet

    title = TITLE if is_titled else 0.0
    lines = [part for line in heading for part in wrap(line, HEADING_LETTERS)]
    above = HEADING * len(lines) + (ABOVE if lines else 0.0)
    whole = above + sum(height(figure) + title for figure in figures)
    sheet = Sheet(figsize=(WIDTH, whole))
    top = whole
    for at, line in enumerate(lines):
        place = (whole - HEADING * (at + 1)) / whole
        looks: dict[str, Any] = {"weight": "bold"} if at == 0 else {"color": colours.SOFT}
        sheet.text(0.1 / WIDTH, place, line, fontsize=9 - min(at, 1), **looks)
    top -= above
    for figure in figures:
        if is_titled:
            sheet.text(0.1 / WIDTH, (top - 0.2) / whole, figure.title, fontsize=9, weight="bold")
        top -= height(figure) + title
        draw(sheet, figure, (0.0, top, WIDTH, height(figure)))
    return sheet


def draw(sheet: Sheet, figure: Figure, box: Box, least: float = 0.0) -> None:
    """Draw into a part of a sheet.

    Args:
        sheet: The sheet.
        figure: What to draw.
        box: Left, bottom, width and height in inches.
        least: Size of the smallest letters, in points.
    """
    if isinstance(figure, Plot):
        _plot(sheet, figure, box)
    elif isinstance(figure, Stack):
        _stack(sheet, figure, box)
    elif figure.shape == "bands":
        _bands(sheet, figure, box)
    else:
        _solid(sheet, figure, box, least)


def _frame(sheet: Sheet, box: Box, **options: Any) -> Any:  # noqa: ANN401 (3-D axes are not typed)
    width, tall = sheet.get_size_inches()
    left, bottom, wide, high = box
    # A frame without room is refused when it is fitted.
    size = (max(wide, FRAME_LEAST) / width, max(high, FRAME_LEAST) / tall)
    return sheet.add_axes((left / width, bottom / tall, *size), **options)


def _names(figure: Plot | Stack) -> list[str]:
    if isinstance(figure, Stack):
        return [part.name for part in figure.parts]
    return [figure.series[index].label for index in figure.legend]


def _legend_columns(figure: Plot | Stack, width: float) -> int:
    longest = max(map(len, _names(figure)), default=0)
    return max(1, int((width - 0.8) / (0.55 + letter() * longest)))


def _legend_rows(figure: Plot | Stack, width: float) -> int:
    return -(-len(_names(figure)) // _legend_columns(figure, width))


def _above(figure: Plot | Stack, width: float) -> float:
    """Return the room above the frame, for the names of upright lines."""
    if isinstance(figure, Stack):
        return ABOVE
    rows = [row for row, _ in scale.mark_rows(figure, (width - 1) / letter()).values()]
    return ABOVE + 0.14 * (max(rows, default=-1) + 1)


def _legend(
    axes: Axes, figure: Plot | Stack, width: float, frame: float, other: Axes | None = None
) -> None:
    """Set the legend below a frame; `other` is its second axis of values."""
    drawn = [one.get_legend_handles_labels() for one in (axes, other) if one is not None]
    handles = [handle for found, _ in drawn for handle in found]
    labels = [label for _, found in drawn for label in found]
    if _names(figure):
        columns = _legend_columns(figure, width)
        # Filled column by column by the library, read row by row by people.
        order = [at for first in range(columns) for at in range(first, len(labels), columns)]
        axes.legend(
            [handles[at] for at in order], [labels[at] for at in order], loc="upper left",
            ncols=min(columns, len(labels)), borderaxespad=0,
            bbox_to_anchor=(0, -(BELOW - 0.04) / frame),
        )  # fmt: skip


def _plot(sheet: Sheet, plot: Plot, box: Box) -> None:
    left, bottom, width, tall = box
    texts = [text for _, text in scale.ticks(plot.y, scale.ends(plot, "y"))]
    inset = 0.3 + letter() * max(map(len, texts), default=1)
    named = [scale.label(mark.text) for mark in plot.marks if mark.axis == "y"]
    outside = max(map(len, named), default=0)
    if plot.right is not None:
        outside = max(outside, 5 + max(map(len, _right_texts(plot)), default=0))
    wide = width - inset - 0.14 - letter() * outside
    below = BELOW + LINE * _legend_rows(plot, width)
    frame = tall - below - _above(plot, width)
    axes = _frame(sheet, (left + inset, bottom + below, wide, frame))
    _scale(axes, plot)
    other = None if plot.right is None else _right(axes, plot)
    for index, line in enumerate(plot.series):
        _series(other if other is not None and line.is_right else axes, plot, index, line)
    _marks(axes, plot, wide, frame)
    for index, at, x, y in scale.point_labels(plot, wide / letter(), frame / 0.13):
        line = plot.series[index]
        point = (line.x[at] or 0.0, line.y[at] or 0.0)
        axes.annotate(
            line.texts[at], point, (x, y), textcoords="axes fraction", ha="center", va="center",
            weight="bold", arrowprops={"arrowstyle": "-", "color": colours.SOFT, "lw": 0.5},
            bbox={"fc": colours.PAPER, "ec": "none", "alpha": 0.8, "pad": 0.6},
        )  # fmt: skip
    _legend(axes, plot, width, frame, other)


def _scale(axes: Axes, plot: Plot) -> None:
    for name, axis in (("x", plot.x), ("y", plot.y)):
        ends = scale.ends(plot, name)
        marks = scale.ticks(axis, ends)
        axes.set(**{f"{name}scale": axis.scale, f"{name}lim": ends, f"{name}label": axis.label})
        part = axes.xaxis if name == "x" else axes.yaxis
        part.set_ticks([value for value, _ in marks], [text for _, text in marks])
        part.set_ticks(scale.small_ticks(axis, ends) if plot.is_tall else [], minor=True)
        part.set_tick_params(which="minor", length=1.6, width=0.4, labelsize=0)
        part.set_minor_formatter("")
    axes.grid(visible=True)
    axes.set_axisbelow(True)


def _right_texts(plot: Plot) -> list[str]:
    axis = plot.right or plot.y
    return [text for _, text in scale.ticks(axis, scale.ends(plot, "right"))]


def _right(axes: Axes, plot: Plot) -> Axes:
    """Return a second axis of values, at the right."""
    axis, ends = plot.right or plot.y, scale.ends(plot, "right")
    marks = scale.ticks(axis, ends)
    other = axes.twinx()
    other.set(yscale=axis.scale, ylim=ends, ylabel=axis.label)
    other.yaxis.set_ticks([value for value, _ in marks], [text for _, text in marks])
    other.yaxis.set_ticks([], minor=True)
    return other


def _known(values: Sequence[float | None]) -> list[float]:
    return [math.nan if value is None else value for value in values]


def _series(axes: Axes, plot: Plot, index: int, line: Series) -> None:
    colour = colours.of_series(plot, index)
    label = line.label if index in plot.legend else f"_{line.name}"
    xs, ys = ([value if axis.shows(value) else None for value in values]
              for axis, values in ((plot.x, line.x), (plot.y, line.y)))  # fmt: skip
    x, y = _known(xs), _known(ys)
    if line.draw == "bars":
        _bars(axes, plot, index, label)
        return
    if line.draw == "area":
        widths = [high - low for low, high in itertools.pairwise(x)]
        axes.bar(x[:-1], y[:-1], widths, align="edge", color=colour, edgecolor=colours.PAPER,
                 linewidth=0.2, label=label)  # fmt: skip
        return
    if line.draw == "band":
        axes.fill_between(x, _known(line.low), _known(line.high), color=colour, alpha=0.16,
                          linewidth=0, label=label)  # fmt: skip
        return
    looks = _looks(line, index) | {"color": colour, "label": label}
    axes.plot(x, y, **looks)
    rest = [at for at, one in enumerate(line.marks) if one == "hollow"]
    if rest and looks["marker"] and line.filling == "full":
        axes.plot([x[at] for at in rest], [y[at] for at in rest], color=colour, linestyle="none",
                  marker=looks["marker"], markerfacecolor=colours.PAPER,
                  label=f"_{line.name}")  # fmt: skip
    if line.high:
        _intervals(axes, plot, index, x)


def _looks(line: Series, index: int) -> dict[str, Any]:
    """Return marker and stroke of a series."""
    (marker, _), (stroke, _) = colours.style(line, index)
    is_marked = line.draw in {"points", "bounds"}
    is_dotted = line.draw == "dots" and len(line.x) <= DOTS_MAX and line.filling != "none"
    looks: dict[str, Any] = {
        "linestyle": "none" if is_marked else stroke,
        "marker": marker if is_marked or is_dotted else "",
    }
    if line.filling == "hollow":
        looks |= {"markerfacecolor": "none" if is_marked else colours.PAPER, "markersize": 5}
    if line.draw == "bounds":
        arrow = _arrow(is_centred=line.is_key)
        looks |= {"marker": arrow, "markersize": 13, "markeredgewidth": 1.0}
    if line.draw == "steps":
        looks["drawstyle"] = "steps-post"
    if line.alone:
        looks |= {"marker": marker, "markevery": line.alone}
    if is_dotted and line.marks:
        looks["markevery"] = [at for at, one in enumerate(line.marks) if one == line.filling]
    return looks


def _intervals(axes: Axes, plot: Plot, index: int, x: Sequence[float]) -> None:
    """Draw the band of a series, or its bars; in a tall plot, where they cross lines, with ends."""
    line, colour = plot.series[index], colours.of_series(plot, index)
    if line.is_banded:
        axes.fill_between(x, _known(line.low), _known(line.high), color=colour, alpha=0.22,
                          linewidth=0)  # fmt: skip
        return
    ends = [(at, low, high) for at, low, high in zip(x, line.low, line.high, strict=True)
            if low is not None and high is not None]  # fmt: skip
    floor = axes.get_ylim()[0]
    axes.vlines(
        [at for at, _, _ in ends], [max(low, floor) for _, low, _ in ends],
        [high for _, _, high in ends], color=colour, linewidth=0.8,
    )  # fmt: skip
    places = [(at, end) for at, *both in ends for end in both if end >= floor]
    if plot.is_tall and places:
        axes.plot(*zip(*places, strict=True), color=colour, marker="_", linestyle="none",
                  markersize=3.5, markeredgewidth=0.8, label=f"_{line.name}")  # fmt: skip


@functools.cache
def _arrow(*, is_centred: bool) -> Any:  # noqa: ANN401 (paths are not typed)
    """Return the mark of an upper bound: a bar at the value, and an arrow down from it.

    In a legend its middle is in the row.
    """
    from matplotlib.path import Path

    strokes = (((-0.55, 0), (0.55, 0)), ((0, 0), (0, -1.5)), ((-0.4, -1), (0, -1.5), (0.4, -1)))
    codes = [Path.MOVETO if at == 0 else Path.LINETO for one in strokes for at in range(len(one))]
    up = 0.75 if is_centred else 0.0
    points = [(x, y + up) for one in strokes for x, y in one]
    # The library scales a mark by its farthest point: this one is never drawn.
    return Path([*points, (0, 1.5)], [*codes, Path.MOVETO])


def _bars(axes: Axes, plot: Plot, index: int, label: str) -> None:
    line = plot.series[index]
    groups = [place for place, one in enumerate(plot.series) if one.draw == "bars"]
    share = 0.76 / len(groups)
    offset = -0.38 + share * (groups.index(index) + 0.5)
    shown = [(x + offset, y, at) for at, (x, y) in enumerate(zip(line.x, line.y, strict=False))
             if x is not None and y is not None
             and plot.x.shows(x) and plot.y.shows(y)]  # fmt: skip
    axes.bar([x for x, _, _ in shown], [y for _, y, _ in shown], share * 0.94,
             color=colours.of_series(plot, index), label=label)  # fmt: skip
    # A level line would run through what stands above a bar.
    is_inside = any(mark.axis == "y" for mark in plot.marks)
    looks: dict[str, Any] = {"va": "top", "color": colours.ON_DARK} if is_inside else {}
    for x, y, at in shown:
        if at < len(line.texts):
            axes.annotate(line.texts[at], (x, y), xytext=(0, -2 if is_inside else 2), ha="center",
                          textcoords="offset points", **looks)  # fmt: skip


def _marks(axes: Axes, plot: Plot, wide: float, frame: float) -> None:
    """Draw the lines across, named above and to the right of the frame, clear of the data."""
    looks: dict[str, Any] = {"color": colours.GUIDE, "linewidth": 0.9, "linestyle": (0, (1, 1.6))}
    text: dict[str, Any] = {"color": colours.SOFT, "fontsize": 7, "annotation_clip": False}
    levels = scale.level_labels(plot, 0.13 / frame)
    rows = scale.mark_rows(plot, wide / letter())
    for at, mark in enumerate(plot.marks):
        if at in levels:
            axes.axhline(mark.value, **looks)
            place = (1 + 0.05 / wide, levels[at])
            axes.annotate(scale.label(mark.text), place, xycoords="axes fraction", va="center",
                          **text)  # fmt: skip
        elif at in rows:
            row, leaning = rows[at]
            axes.axvline(mark.value, **looks)
            axes.annotate(mark.text, (mark.value, 1), xycoords=("data", "axes fraction"),
                          xytext=(-1 if leaning else 1, 3 + 10 * row), va="bottom",
                          textcoords="offset points", ha="right" if leaning else "left",
                          **text)  # fmt: skip


def _stack(sheet: Sheet, stack: Stack, box: Box) -> None:
    left, bottom, width, tall = box
    rows = [scale.label(row) for row in stack.rows]
    inset = 0.2 + letter() * max(map(len, rows))
    below = BELOW + LINE * _legend_rows(stack, width)
    frame = tall - below - ABOVE
    end = 0.1 + letter() * max(map(len, stack.ends), default=0)
    wide = 0.62 * (width - inset)
    rest = width - inset - wide - 0.4
    lengths = _frame(sheet, (left + inset, bottom + below, wide, frame))
    shares = _frame(sheet, (left + inset + wide + 0.2, bottom + below, rest, frame))
    places = range(len(stack.rows))
    for axes, divisors, label in (
        (lengths, [1.0] * len(stack.rows), stack.x.label),
        (shares, [total / 100 for total in stack.totals], "share, %"),
    ):
        starts = [0.0] * len(stack.rows)
        for part in stack.parts:
            values = [us / by for us, by in zip(part.values, divisors, strict=True)]
            axes.barh(places, values, 0.7, starts, color=part.colour, label=part.name)
            starts = [a + b for a, b in zip(starts, values, strict=True)]
        top = max(*starts, 1e-300)
        # The longest bar leaves room for what is written at its end.
        room = 1 - end / wide if axes is lengths else 1.0
        axes.set(xlim=(0, top / room), ylim=(len(stack.rows) - 0.4, -0.6), xlabel=label)
        marks = scale.nice_ticks(0.0, top / room)
        axes.set_xticks(marks, [scale.brief(value) for value in marks])
        axes.grid(visible=True, axis="x")
        axes.set_axisbelow(True)
    lengths.set_yticks(places, rows)
    shares.set_yticks([])
    for row, text in enumerate(stack.ends):
        total = sum(part.values[row] for part in stack.parts)
        lengths.annotate(text, (total, row), xytext=(3, 0), textcoords="offset points",
                         va="center", annotation_clip=False)  # fmt: skip
    _legend(lengths, stack, width, frame)


@functools.cache
def _heat() -> Any:  # noqa: ANN401 (colour maps are not typed)
    from matplotlib.colors import LinearSegmentedColormap

    # The bar of a map of more than 50 colours becomes a bitmap.
    return LinearSegmentedColormap.from_list("heights", colours.VIRIDIS, 48)


def _heights(relief: Relief) -> Any:  # noqa: ANN401 (an array)
    import numpy as np

    z = np.array([_known(row) for row in relief.heights], dtype=np.float64)
    # What nobody sees is flat: the shading divides by the sides of a column.
    return np.where(np.abs(z) < 1e-9 * relief.height_top, 0.0, z)


def _solid(sheet: Sheet, relief: Relief, box: Box, least: float) -> None:
    import numpy as np
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    left, bottom, width, tall = box
    # A narrow one has a name at its axis of heights in place of the bar of colours.
    is_narrow = width < SOLID_NARROW
    up, right = (0.07 * tall, 0.0) if is_narrow else (0.0, 0.9)
    axes = _frame(sheet, (left, bottom + up, width - right, tall), projection="3d")
    z = _heights(relief)
    x, y = np.meshgrid(np.arange(z.shape[1], dtype=float), np.arange(z.shape[0], dtype=float))
    paint = ScalarMappable(Normalize(0, relief.height_top), _heat())
    if relief.shape == "columns":
        known = np.isfinite(z)
        if known.any():
            axes.bar3d(x[known] - 0.36, y[known] - 0.36, 0.0, 0.72, 0.72, z[known],
                       color=paint.to_rgba(z[known]), edgecolor="white",
                       linewidth=0.15)  # fmt: skip
        for column, row, top, text in scale.column_labels(relief) if least <= ON_COLUMN else ():
            axes.text(column, row, top, text, fontsize=ON_COLUMN, ha="center", va="center",
                      zorder=1e6, color=colours.upon(top / relief.height_top))  # fmt: skip
    else:
        # A facet has the colour of the mean of its corners; the last of each row colour nothing.
        known = np.pad(np.nan_to_num(z), ((0, 1), (0, 1)), mode="edge")
        faces = (known[:-1, :-1] + known[1:, :-1] + known[:-1, 1:] + known[1:, 1:]) / 4
        axes.plot_surface(x, y, z, facecolors=paint.to_rgba(faces), rstride=1,
                          cstride=1, edgecolor="white", linewidth=0.3, shade=False)  # fmt: skip
    most = scale.names_most(relief, width)
    for name, names, label in (("x", relief.columns, relief.x), ("y", relief.rows, relief.y)):
        places, shown = scale.grid_ticks(names, most)
        axes.set(**{f"{name}label": label, f"{name}ticks": places, f"{name}ticklabels": shown})
        getattr(axes, f"{name}axis").labelpad = -1
    marks = scale.height_ticks(relief)
    axes.set_zlim(0.0, relief.height_top)
    axes.set_zticks([value for value, _ in marks], [text for _, text in marks])
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_pane_color((0, 0, 0, 0))
        axis._axinfo["grid"]["color"] = colours.GRID  # noqa: SLF001 (no other way to set it)
        axis.line.set_color(colours.FRAME)
    axes.tick_params(labelsize=max(SOLID_FONT, least), pad=-1)
    # The eye is where the grid is low.
    azimuth = {(True, True): 45, (False, True): 135, (False, False): 225, (True, False): -45}
    axes.view_init(elev=26, azim=azimuth[relief.low_sides])
    axes.set_box_aspect((1.3, 1.3, 0.75), zoom=1.03 if is_narrow else 1.12)
    if is_narrow:
        axes.text2D(0.98, 0.72, relief.z.label, transform=axes.transAxes, ha="right")
        return
    _key(sheet, paint, _frame(sheet, (left + width - 0.75, bottom + 0.5, 0.13, tall - 1)), relief)


def _key(sheet: Sheet, drawn: Any, axes: Axes, relief: Relief) -> None:  # noqa: ANN401
    """Draw the bar that states which colour means what."""
    bar = sheet.colorbar(drawn, cax=axes, label=relief.z.label)
    marks = scale.height_ticks(relief)
    bar.set_ticks([value for value, _ in marks], labels=[text for _, text in marks], minor=False)
    bar.minorticks_off()


def _bands(sheet: Sheet, relief: Relief, box: Box) -> None:
    import numpy as np
    from matplotlib.colors import BoundaryNorm

    left, bottom, width, tall = box
    inset = 0.3 + letter() * max(len(scale.label(row)) for row in relief.rows)
    frame = tall - BELOW - ABOVE
    axes = _frame(sheet, (left + inset, bottom + BELOW, width - inset - 1.0, frame))
    edges = [relief.height(edge) or 0.0 for edge in scale.band_edges(relief)]
    middles = [(low + high) / 2 / edges[-1] for low, high in itertools.pairwise(edges)]
    palette = _heat().resampled(256)
    from matplotlib.colors import ListedColormap

    listed = ListedColormap([palette(middle) for middle in middles])
    drawn = axes.pcolormesh(_heights(relief), cmap=listed, norm=BoundaryNorm(edges, listed.N))
    for name, names, label in (("x", relief.columns, relief.x), ("y", relief.rows, relief.y)):
        places, shown = scale.grid_ticks(names)
        getattr(axes, f"set_{name}ticks")(np.array(places) + 0.5, shown)
        axes.set(**{f"{name}label": label})
    beside = _frame(sheet, (left + width - 0.85, bottom + BELOW, 0.15, frame))
    _key(sheet, drawn, beside, relief)
