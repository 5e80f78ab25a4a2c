"""The `--breakdown-plot`: where the time of each class of commands went, as stacked bars.

```text
            µs, linear                          share of the latency
p0-p50      ██ 64 µs                            ████████░░░▒▒▒▒
p99.9-max   ███████████████████████ 3.2 ms      █████████████░░
```
A row per percentile band, twice: in microseconds on a linear axis, since lengths on a logarithmic
one cannot be added, and as shares, so that the short bars can be read too. A part has the same
colour in every plot: waiting is warm, work on the flash green, transfers blue, the rest grey.
A file whose name ends in .svg gets the drawings alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from opennandlab.documents.result import ResultDocument
from opennandlab.files import write_atomically
from opennandlab.reports.chart import nice_ticks
from opennandlab.reports.plot import Section, section_page
from opennandlab.result import Result
from opennandlab.summary import (
    PARTS,
    REST,
    BreakdownTable,
    breakdown_tables,
    number,
    shown_parts,
    span,
    state_text,
)

# Okabe and Ito, "Color Universal Design" (2008), and lighter or darker tones of theirs.
COLOURS = {
    "submission": "#999999",
    "controller": "#555555",
    "link": "#56b4e9",
    "throttle": "#f7d9e8",
    "cache": "#f0e442",
    "room": "#e8b98a",
    "queue": "#e69f00",
    "gc": "#d55e00",
    "erase": "#8c2d04",
    "bus_wait": "#9ecae1",
    "bus": "#0072b2",
    "sense": "#009e73",
    "retry": "#00614a",
    "program": "#8fd3b6",
    "suspended": "#cc79a7",
    "ecc": "#5e3c99",
    "rebuild": "#b2abd2",
    "other": "#cccccc",
    REST: "#dddddd",
}
WIDTH = 900
ROW, BAR, TOP, FOOT, LEGEND = 34, 20, 30, 46, 20
LEFT, SPLIT, RIGHT = 86, 570, 12
# Room for the text at the end of a bar.
LABEL = 74
# Entries of the legend in a line.
LEGEND_COLUMNS = 5
NOTE = (
    "Mean latency in each band of percentiles, by what it was spent on; p99.9-max holds the "
    "slowest thousandth."
)


@dataclass(frozen=True)
class Bars:
    """The stacked bars of one class of commands.

    Args:
        op: The class.
        bands: Names of the rows.
        totals: Mean latency of each, in µs.
        parts: Part to its µs in each band.
        answer: The sentence below the title.
        table: The numbers.
    """

    op: str
    bands: list[str]
    totals: list[float]
    parts: dict[str, list[float]]
    answer: str
    table: BreakdownTable

    @property
    def title(self) -> str:
        """Heading of the plot."""
        return f"Where the time of {self.op}s went"

    @property
    def height(self) -> int:
        """Height of the drawing, in pixels."""
        lines = -(-len(self.parts) // LEGEND_COLUMNS)
        return TOP + ROW * len(self.bands) + FOOT + LEGEND * lines


def write(result: Result, path: str | Path) -> None:
    """Write the figure: an HTML page, or an SVG drawing where the name ends in .svg.

    Raises:
        OutputError: when it cannot be written, and why.
    """
    text = (drawing if Path(path).suffix.lower() == ".svg" else page)(result.content)
    write_atomically(Path(path), text.encode())


def page(document: ResultDocument) -> str:
    """Return the HTML page of a result with a breakdown."""
    name = document.run.device_name or "device"
    title = f"Where the time went: {document.workload.get('name', 'workload')} on {name}"
    lead = f"{NOTE} Measured from {state_text(document.state)}; seed {document.seed}."
    sections = [
        Section(
            bars.title, bars.answer, figure(bars), svg(bars), (bars.table.head, bars.table.rows)
        )
        for bars in classes(document)
    ]
    meanings = "".join(
        f"<tr><td>{escape(part)}</td><td class='text'>{escape(PARTS[part])}</td></tr>"
        for part in PARTS
        if any(part in bars.parts for bars in classes(document))
    )
    foot = f"<h2>The parts</h2><table><tbody>{meanings}</tbody></table>"
    return section_page(title, f'<p class="lead">{escape(lead)}</p>', sections, foot)


def drawing(document: ResultDocument) -> str:
    """Return the plots below each other as one SVG document."""
    parts, top = [], 0
    for bars in classes(document):
        parts.append(
            f'<text x="12" y="{top + 20}" font-weight="bold">{escape(bars.title)}</text>'
            f'<text x="12" y="{top + 38}" fill="#555">{escape(bars.answer)}</text>'
            f'<svg y="{top + 44}" width="{WIDTH}" height="{bars.height}" '
            + svg(bars).removeprefix("<svg ")
        )
        top += bars.height + 56
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" '
        f'font-family="system-ui, sans-serif" font-size="12">'
        f'<rect width="{WIDTH}" height="{top}" fill="white"/>{"".join(parts)}</svg>\n'
    )


def classes(document: ResultDocument) -> Iterator[Bars]:
    """Yield the bars of each class of commands; none without a breakdown."""
    breakdown = document.metrics and document.metrics.breakdown
    sections = breakdown.by_class() if breakdown else {}
    for table in breakdown_tables(document):
        bands = sections[table.op].bands
        shown, folded = shown_parts(bands)
        parts = {part: [band.parts_us.get(part, 0.0) for band in bands] for part in shown}
        if folded:
            parts[REST] = [sum(band.parts_us.get(part, 0.0) for part in folded) for band in bands]
        totals = [band.latency_us_mean for band in bands]
        names = [band.band for band in bands]
        yield Bars(table.op, names, totals, parts, table.answer, table)


def figure(bars: Bars) -> dict[str, Any]:
    """Return the bars as plotly reads them."""
    data = []
    for part, spent in bars.parts.items():
        shares = [100 * us / (total or 1.0) for us, total in zip(spent, bars.totals, strict=True)]
        for axis, values, unit in (("x", spent, "µs"), ("x2", shares, "%")):
            data.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": part,
                    "legendgroup": part,
                    "showlegend": axis == "x",
                    "y": bars.bands,
                    "x": values,
                    "xaxis": axis,
                    "marker": {"color": COLOURS[part]},
                    "hovertemplate": f"{part}: %{{x:.4g}} {unit}",
                }
            )
    grid = {"gridcolor": "#e5e5e5", "linecolor": "#999", "zeroline": False}
    return {
        "data": data,
        "layout": {
            "barmode": "stack",
            "height": bars.height + 120,
            "margin": {"l": 90, "r": 20, "t": 60, "b": 60},
            "xaxis": {"title": {"text": "mean latency, µs"}, "domain": [0, 0.58], **grid},
            "xaxis2": {"title": {"text": "share, %"}, "domain": [0.64, 1], "range": [0, 100]}
            | grid,
            "yaxis": {"autorange": "reversed", "type": "category"},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "paper_bgcolor": "white",
            "plot_bgcolor": "white",
            "font": {"family": "system-ui, sans-serif", "color": "#222"},
        },
    }


def svg(bars: Bars) -> str:
    """Return the bars as one SVG element."""
    bottom = TOP + ROW * len(bars.bands)
    longest = max(bars.totals) or 1.0
    head = (
        f'<svg viewBox="0 0 {WIDTH} {bars.height}" role="img" class="static" '
        f'aria-label="{escape(bars.title)}" xmlns="http://www.w3.org/2000/svg">'
    )
    parts = [head]
    wide = SPLIT - LEFT - LABEL
    parts += _axis(LEFT, wide, longest, bottom, "mean latency, µs")
    parts += _axis(SPLIT, WIDTH - RIGHT - SPLIT, 100.0, bottom, "share of the latency, %")
    for row, (band, total) in enumerate(zip(bars.bands, bars.totals, strict=True)):
        top = TOP + ROW * row + (ROW - BAR) // 2
        spent = {part: values[row] for part, values in bars.parts.items() if values[row] > 0}
        parts.append(f'<text x="{LEFT - 8}" y="{top + 14}" text-anchor="end">{escape(band)}</text>')
        parts += _stack(spent, LEFT, wide / longest, top)
        parts += _stack(spent, SPLIT, (WIDTH - RIGHT - SPLIT) / (total or 1.0), top)
        end = LEFT + total * wide / longest
        parts.append(f'<text x="{end + 6:.1f}" y="{top + 14}">{escape(span(total))}</text>')
    for index, part in enumerate(bars.parts):
        left = LEFT + index % LEGEND_COLUMNS * 155
        top = bottom + FOOT + index // LEGEND_COLUMNS * LEGEND
        parts.append(
            f'<rect x="{left}" y="{top}" width="12" height="12" fill="{COLOURS[part]}"/>'
            f'<text x="{left + 18}" y="{top + 11}">{escape(part)}</text>'
        )
    return "".join([*parts, "</svg>"])


def _stack(spent: dict[str, float], left: float, scale: float, top: int) -> Iterator[str]:
    """Yield the pieces of one bar, from the left."""
    for part, us in spent.items():
        width = us * scale
        yield (
            f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{BAR}" '
            f'fill="{COLOURS[part]}"><title>{escape(part)}: {number(us)} µs</title></rect>'
        )
        left += width


def _axis(left: int, width: int, longest: float, bottom: int, label: str) -> Iterator[str]:
    """Yield a grid from zero, its numbers, and what they are."""
    for value, text in nice_ticks(0.0, longest):
        place = round(left + value / longest * width, 1)
        yield (
            f'<line x1="{place}" x2="{place}" y1="{TOP - 6}" y2="{bottom}" stroke="#e5e5e5"/>'
            f'<text x="{place}" y="{bottom + 15}" text-anchor="middle">{text}</text>'
        )
    yield (
        f'<text x="{left + width / 2}" y="{bottom + 33}" text-anchor="middle" fill="#555">'
        f"{escape(label)}</text>"
    )
