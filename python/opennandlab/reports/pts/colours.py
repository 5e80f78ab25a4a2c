"""Colours of all renderers: told apart by colour-blind readers, and in order where series are.

Named things take the palette of Okabe and Ito, as all charts of this package do; ordered things
(block sizes, queue depths, heights) take viridis, which is even in lightness.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence

from opennandlab.reports.chart import COLOURS
from opennandlab.reports.pts.model import Plot, Relief, Series

GUIDE = "#8a8f98"
INK = "#222222"
GRID = "#e5e5e5"
FRAME = "#999999"
# Ten even steps of viridis (van der Walt and Smith, 2015), dark to light.
VIRIDIS = (
    "#440154", "#482878", "#3e4a89", "#31688e", "#26828e",
    "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725",
)  # fmt: skip
# Lighter than this a line can hardly be seen on white.
LINE_SHARE_MAX = 0.8
MARKERS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star")
# Strokes of lines: what SVG, plotly and matplotlib call them.
STROKES = (
    ("", "solid", "-"),
    ("7 4", "dash", "--"),
    ("2 3", "dot", ":"),
    ("8 3 2 3", "dashdot", "-."),
)
NAMED = (*COLOURS, "#7f3c8d", "#5d6d1e")


def shade(share: float) -> str:
    """Return the colour at a share of the way from dark to light.

    >>> shade(0.0), shade(1.0)
    ('#440154', '#fde725')
    """
    place = min(max(share, 0.0), 1.0) * (len(VIRIDIS) - 1)
    low = min(int(place), len(VIRIDIS) - 2)
    return _blend(VIRIDIS[low], VIRIDIS[low + 1], place - low)


def of_series(plot: Plot, index: int) -> str:
    """Return the colour of a series of a plot."""
    line = plot.series[index]
    if line.colour is not None and line.colour < 0:
        return GUIDE if line.colour == -1 else NAMED[1]
    place = index if line.colour is None else line.colour
    if plot.ordered:
        places = [at if line.colour is None else line.colour for at, line in enumerate(plot.series)]
        last = max(*places, 1)
        return shade(LINE_SHARE_MAX * place / last)
    return NAMED[place % len(NAMED)]


def stroke(line: Series) -> tuple[str, str, str]:
    """Return the stroke of a line, as SVG, plotly and matplotlib call it."""
    return STROKES[1 if line.draw == "dashed" else line.stroke % len(STROKES)]


def marker(plot: Plot, index: int) -> str:
    """Return the marker of a series: another one for each, so that colour is not needed."""
    line: Series = plot.series[index]
    place = index if line.colour is None else abs(line.colour)
    return MARKERS[place % len(MARKERS)]


def of_height(relief: Relief, value: float) -> str:
    """Return the colour of a value of a relief; one colour for a whole band, where it has bands."""
    if relief.shape == "bands" and relief.z.scale == "log":
        edges = band_edges(relief)
        place = min(max(bisect.bisect_right(edges, value) - 1, 0), len(edges) - 2)
        return shade((place + 0.5) / (len(edges) - 1))
    if relief.band:
        steps = max(round(top_of_bands(relief) / relief.band), 1)
        return shade((min(int(value / relief.band), steps - 1) + 0.5) / steps)
    return shade((relief.height(value) or 0.0) / relief.height_top)


def top_of_bands(relief: Relief) -> float:
    """Return the end of the last band; the largest value where there are none."""
    if not relief.band:
        return relief.top
    count = -(-relief.top // relief.band)
    return max(count, 1.0) * relief.band


def band_edges(relief: Relief) -> Sequence[float]:
    """Return the edges of all bands; on a log scale 1, 2 and 5 of each decade."""
    if relief.z.scale == "log":
        powers = range(relief.floor_power, relief.floor_power + math.ceil(relief.height_top) + 1)
        steps = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
        # Up to the first edge above everything.
        return steps[: sum(step < relief.top for step in steps) + 1]
    if not relief.band:
        return (0.0, relief.top)
    count = round(top_of_bands(relief) / relief.band)
    return [step * relief.band for step in range(count + 1)]


def darker(colour: str, share: float) -> str:
    """Return a colour with a share of black, as a side that lies in the shade."""
    return _blend(colour, "#000000", share)


def readable_on(colour: str) -> str:
    """Return black or white, whichever is read better on a colour."""
    red, green, blue = _parts(colour)
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _blend(one: str, other: str, share: float) -> str:
    pairs = zip(_parts(one), _parts(other), strict=True)
    return "#" + "".join(f"{round(low + (high - low) * share):02x}" for low, high in pairs)
