"""Plots of suites: sweeps and courses that a single number cannot show, as SVG drawings.

    Plot { name, runs, draw(results) -> Chart }      declared beside the suite, as cases are
    draw_plots(plots, simulate, folder)              simulates, draws, writes NAME.svg

A drawing needs no script and no font, and has its legend above the frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

from opennandlab.files import write_atomically
from opennandlab.reports.chart import COLOURS, HEIGHT, WIDTH, Chart, svg
from opennandlab.validation.case import Document, Run, Simulate

HEAD = 52
SEED = 42
# A wide letter of a font of 12 units, and what a sample line takes.
LETTER, SAMPLE = 6.6, 44


@dataclass(frozen=True)
class Plot:
    """A drawing and the simulations that it needs.

    Example:
        >>> Plot("empty", {}, lambda results: None).name
        'empty'
    """

    name: str
    """Name of the file, without its ending."""
    runs: Mapping[str, Run]
    """Simulations by a name of the plot's own."""
    draw: Callable[[Mapping[str, Document]], Chart]
    """Makes the chart of their results."""


def draw_plots(plots: Sequence[Plot], simulate: Simulate, folder: Path) -> Iterator[Path]:
    """Simulate, draw and write plots.

    Args:
        plots: the plots.
        simulate: runs a device and a workload with a seed.
        folder: where files go; made if it does not exist.

    Yields:
        The path of each file, once it is written.

    Raises:
        OutputError: when a file cannot be written.

    Example:
        >>> list(draw_plots([], lambda device, workload, seed: {}, Path(".")))
        []
    """
    for plot in plots:
        results = {
            name: simulate(run.device, run.workload, SEED) for name, run in plot.runs.items()
        }
        path = folder / f"{plot.name}.svg"
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, drawing(plot.draw(results)).encode())
        yield path


def drawing(chart: Chart) -> str:
    """Return a chart as an SVG document: title, legend, frame.

    Args:
        chart: the chart.

    Returns:
        The document.

    Example:
        >>> from opennandlab.reports.chart import Axis, Line
        >>> chart = Chart("t", Axis("x"), Axis("y"), (Line("a", [1, 2], [1, 2]),))
        >>> drawing(chart).startswith("<svg xmlns")
        True
    """
    bare = replace(chart, lines=tuple(replace(line, legend="") for line in chart.lines))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT + HEAD}" '
        f'font-family="system-ui, sans-serif" font-size="12">'
        f'<rect width="{WIDTH}" height="{HEIGHT + HEAD}" fill="white"/>'
        f'<text x="12" y="20" font-size="14" font-weight="bold">{escape(chart.title)}</text>'
        f"{''.join(_legend(chart))}"
        f'<svg y="{HEAD}" width="{WIDTH}" height="{HEIGHT}" '
        + svg(bare).removeprefix("<svg ")
        + "</svg>\n"
    )


def _legend(chart: Chart) -> Iterator[str]:
    """Yield the names of the lines, side by side."""
    left, middle = 12.0, HEAD - 12
    for index, line in enumerate(chart.lines):
        if not line.label:
            continue
        colour = COLOURS[(index if line.colour is None else line.colour) % len(COLOURS)]
        if line.stroke == "none":
            yield (
                f'<circle cx="{left + 10:.0f}" cy="{middle}" r="4" fill="none" '
                f'stroke="{colour}" stroke-width="1.6"/>'
            )
        else:
            dash = ' stroke-dasharray="7 4"' if line.stroke == "dashed" else ""
            yield (
                f'<line x1="{left:.0f}" x2="{left + 20:.0f}" y1="{middle}" y2="{middle}" '
                f'stroke="{colour}" stroke-width="2"{dash}/>'
            )
        yield f'<text x="{left + 26:.0f}" y="{middle + 4}">{escape(line.label)}</text>'
        left += SAMPLE + LETTER * len(line.label)
