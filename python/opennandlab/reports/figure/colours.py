"""Colours of both renderers, in light and dark: distinguished by colour-blind readers.

Named things take the palette of Okabe and Ito ("Color Universal Design", 2008) and two more.
Ordered things (block sizes, queue depths) take the hues of the rainbow of P. Tol ("Colour Schemes",
2021), sampled in steps of even perceived difference and without its pale tones: as lines on paper
seven of them lie twice as far apart as seven of viridis. Heights take viridis, which is even in
lightness (van der Walt and Smith, 2015).

```text
model ──► light colour #rrggbb ──► static: var(--c-rrggbb)  ──┐ a page sets each variable twice,
                               └─► plotly: swapped by script ─┘ for light and for dark
```
"""

from __future__ import annotations

from collections.abc import Iterable

from opennandlab.reports.figure.model import Figure, Plot, Series

INK, SOFT, GRID, FRAME, GUIDE, PAPER = (
    "#1f2328", "#57606a", "#e3e6ea", "#9aa1a9", "#8a8f98", "#ffffff",
)  # fmt: skip
NAMED = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f3c8d", "#5d6d1e",
)  # fmt: skip
# What each colour is on dark paper.
DARK = {
    INK: "#e6e8eb", SOFT: "#a6afb9", GRID: "#2b3138", FRAME: "#5b6470", GUIDE: "#8d96a1",
    PAPER: "#14181d",
    "#0072b2": "#3f9fe8", "#d55e00": "#f0793a", "#009e73": "#21b98b", "#cc79a7": "#e29cc2",
    "#56b4e9": "#93d3fa", "#e69f00": "#f0b02e", "#7f3c8d": "#b987c6", "#5d6d1e": "#a9bb55",
    # Parts of a breakdown that would sink into dark paper.
    "#8c2d04": "#b8471c", "#00614a": "#0f8a6b", "#5e3c99": "#8a68c8", "#555555": "#70767e",
}  # fmt: skip
# Ten even steps, dark to light.
VIRIDIS = (
    "#440154", "#482878", "#3e4a89", "#31688e", "#26828e",
    "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725",
)  # fmt: skip
ORDERED = (
    "#5b1a78", "#2c50a7", "#3581c4", "#45a2c4", "#33a095", "#209d66",
    "#62a848", "#a7b42e", "#f0a020", "#e5621d", "#b73118", "#7a0e12",
)  # fmt: skip
# Letters on a colour, the same on light and dark paper: so they are none of the colours above.
ON_LIGHT_FROM = 0.45
ON_DARK, ON_LIGHT = "#fefefe", "#101418"
# How much white an ordered colour takes in on dark paper.
DARK_WHITE = 0.28
# Markers, as matplotlib and plotly call them: colour alone need not distinguish series.
MARKERS = (
    ("o", "circle"), ("s", "square"), ("D", "diamond"), ("^", "triangle-up"),
    ("v", "triangle-down"), ("P", "cross"), ("X", "x"), ("*", "star"),
)  # fmt: skip
# Strokes of lines, as matplotlib and plotly call them.
STROKES = (("-", "solid"), ((0, (5, 2.5)), "dash"), ((0, (1, 1.6)), "dot"), ("-.", "dashdot"))


def shade(scale: tuple[str, ...], share: float) -> str:
    """Return the colour at a share of the way along a scale.

    >>> shade(VIRIDIS, 0.0), shade(VIRIDIS, 1.0)
    ('#440154', '#fde725')
    """
    place = min(max(share, 0.0), 1.0) * (len(scale) - 1)
    low = min(int(place), len(scale) - 2)
    pairs = zip(_parts(scale[low]), _parts(scale[low + 1]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * (place - low)):02x}" for a, b in pairs)


def upon(share: float) -> str:
    """Return the colour of letters on the colour at a share of the way along viridis.

    >>> upon(0.1), upon(0.9)
    ('#fefefe', '#101418')
    """
    return ON_LIGHT if share > ON_LIGHT_FROM else ON_DARK


def of_series(plot: Plot, index: int, *, dark: bool = False) -> str:
    """Return the colour of a series of a plot."""
    line = plot.series[index]
    place = index if line.colour is None else line.colour
    if plot.ordered and place >= 0:
        places = [at if one.colour is None else one.colour for at, one in enumerate(plot.series)]
        colour = shade(ORDERED, place / max(*places, 1))
        return shade((colour, "#ffffff"), DARK_WHITE) if dark else colour
    named = {-1: GUIDE, -2: NAMED[2]}.get(place, NAMED[place % len(NAMED)])
    return DARK[named] if dark else named


def style(line: Series, index: int) -> tuple[tuple[str, str], tuple[object, str]]:
    """Return marker and stroke of a series, each as matplotlib and plotly call it."""
    place = index if line.colour is None else abs(line.colour)
    # Colours repeat after so many series; their markers then do not.
    marker = MARKERS[(place + place // len(NAMED)) % len(MARKERS)]
    if line.draw == "bounds":
        marker = ("arrow", "arrow-down")
    elif line.is_key:
        marker = MARKERS[0]
    return marker, STROKES[1 if line.draw == "dashed" else line.stroke % len(STROKES)]


def theme(figures: Iterable[Figure]) -> dict[str, str]:
    """Return what each light colour of some figures is in the dark."""
    found = dict(DARK)
    for figure in figures:
        if isinstance(figure, Plot):
            for index in range(len(figure.series)):
                found.setdefault(of_series(figure, index), of_series(figure, index, dark=True))
    return found


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
