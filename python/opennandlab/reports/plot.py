"""The `--plot` page of one result: its course over time or over the drive's life, in one file.

It opens offline (plotly's script is inlined once), can be read without JavaScript and printed
(static drawings and tables of numbers beside each plot), and shows nothing that is not in the
result file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from opennandlab.documents.record import plain
from opennandlab.documents.result import ResultDocument
from opennandlab.files import write_atomically
from opennandlab.reports.chart import Axis, Chart, Line, figure, svg
from opennandlab.result import Result
from opennandlab.summary import (
    latency_table,
    metric_rows,
    number,
    size,
    state_text,
    tenant_table,
)

# As HdrHistogram plots percentiles: x = 1/(1-p), so that each further nine has equal width.
PERCENTILES = (
    ("p50", 2.0, "50 %"),
    ("p90", 10.0, "90 %"),
    ("p99", 1e2, "99 %"),
    ("p999", 1e3, "99.9 %"),
    ("p9999", 1e4, "99.99 %"),
    ("p99999", 1e5, "99.999 %"),
)
# (heading, y axis, [(series, name in the legend)]): a chart appears when one of its series does.
OVER_LIFE = (
    (
        "Raw bit error rate",
        Axis("RBER", "log"),
        (("rber_mean", "mean"), ("rber_max", "most worn block")),
    ),
    ("Write amplification", Axis("WAF"), (("waf", "WAF"),)),
    (
        "Wear",
        Axis("erases per block", zero=True),
        (
            ("erase_count_max", "maximum"),
            ("erase_count_mean", "mean"),
        ),
    ),
    (
        "Spare area",
        Axis("spare factor", zero=True),
        (("spare_ratio", "spare factor"),),
    ),
    ("Retired blocks", Axis("blocks", zero=True), (("retired_blocks", "retired blocks"),)),
)
OVER_TIME = (
    (
        "Throughput",
        Axis("MB/s", zero=True),
        (("throughput_mb_s", "throughput"),),
    ),
    ("I/O per second", Axis("IOPS", zero=True), (("iops", "IOPS"),)),
    (
        "Latency",
        Axis("µs", "log"),
        (("latency_us_p99", "p99"), ("latency_us_mean", "mean")),
    ),
    OVER_LIFE[1],
    ("Erased blocks", Axis("blocks", zero=True), (("free_blocks", "erased blocks"),)),
)
TABLE_ROWS = 24
# Below so many capacities written, wear and errors hardly move: a timed run shows its time alone.
DRIVE_WRITES_AGED = 2.0

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 62rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .4rem; }
.lead { color: #555; margin-top: .2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid #e5e5e5; text-align: right;
  white-space: nowrap; }
th:first-child, td:first-child, td.text { text-align: left; }
thead th { border-bottom: 1px solid #999; }
svg.static { width: 100%; height: auto; font: 12px system-ui, sans-serif; }
.print { display: none; }
.warning { background: #fff4e0; border-left: 4px solid #e69f00; padding: .4rem .8rem;
  margin: .4rem 0; }
details > summary { cursor: pointer; color: #0072b2; margin: .3rem 0; }
.wide { overflow-x: auto; }
footer { margin-top: 2.5rem; color: #555; font-size: .85rem; overflow-wrap: anywhere; }
@media print {
  body { max-width: none; margin: 0; font-size: 11px; }
  table { font-size: 9px; } th, td { padding: .05rem .5rem; } .wide { overflow: visible; }
  .plot { display: none; } .print { display: block; }
  section { break-inside: avoid; }
  details > summary { display: none; }
}
"""

# Draws each figure, and copies the static drawing to where print shows it.
SCRIPT = """
for (const section of document.querySelectorAll('section[data-figure]')) {
  const source = document.getElementById(section.dataset.figure);
  const figure = JSON.parse(source.textContent);
  Plotly.newPlot(section.querySelector('.plot'), figure.data, figure.layout,
    {responsive: true, displaylogo: false});
  section.querySelector('.print').innerHTML = section.querySelector('noscript').textContent;
}
addEventListener('beforeprint', () => {
  document.querySelectorAll('details').forEach(part => { part.open = true; });
});
"""


def write(result: Result, path: str | Path) -> None:
    """Write the page of a result.

    Raises:
        OutputError: when it cannot be written, and why.
    """
    write_atomically(Path(path), page(result.content).encode())


def page(document: ResultDocument) -> str:
    """Return the HTML page of a result document."""
    name = document.run.device_name or "device"
    title = f"{document.workload.get('name', 'workload')} on {name}"
    head = f"{_lead(document)}{_warnings(document)}"
    head += f"<h2>Metrics</h2>{_metrics(document)}{_latency(document)}"
    return chart_page(title, head, list(charts(document)), _footer(document))


def chart_page(title: str, head: str, drawn: Sequence[Chart], foot: str = "") -> str:
    """Return a page of charts that opens offline.

    Args:
        title: Heading, as text.
        head: HTML between the heading and the charts.
        drawn: The charts.
        foot: HTML after them.
    """
    sections = [
        Section(chart.title, chart.note, figure(chart), svg(chart), _numbers(chart))
        for chart in drawn
    ]
    return section_page(title, head, sections, foot)


@dataclass(frozen=True)
class Section:
    """One plot of a page.

    Args:
        title: Its heading, as text.
        note: A sentence below, as text; empty for none.
        figure: What plotly draws.
        drawing: The same as an SVG element.
        numbers: The same as a table: HTML, or head and rows.
    """

    title: str
    note: str
    figure: dict[str, Any]
    drawing: str
    numbers: str | tuple[list[str], list[list[str]]]


def section_page(title: str, head: str, drawn: Sequence[Section], foot: str = "") -> str:
    """Return a page of plots that opens offline; see `chart_page`."""
    from plotly.offline import get_plotlyjs

    sections = "".join(_section(index, section) for index, section in enumerate(drawn))
    # `</` would end the script element early; inside a string `<\\/` is the same.
    script = get_plotlyjs().replace("</script", "<\\/script") if drawn else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>"
        f"<h1>{escape(title)}</h1>{head}{sections}{foot}"
        + (f"<script>{script}</script><script>{SCRIPT}</script>" if drawn else "")
        + "</body></html>\n"
    )


def charts(document: ResultDocument) -> Iterator[Chart]:
    """Yield the charts that a result has data for."""
    series = columns_of(document)
    for group, axis in _groups(document):
        x = series.get(axis[0])
        if not x:
            continue
        for title, y, members in group:
            lines = tuple(
                Line(name, x, series[key])
                for key, name in members
                if _has_values(series.get(key), y) and len(series[key]) == len(x)
            )
            if any(value for line in lines for value in line.y):
                yield Chart(title, Axis(axis[1]), y, lines)
    tail = _tail(document)
    if tail:
        yield tail


def columns_of(document: ResultDocument) -> dict[str, list[float | None]]:
    """Return the columns of the series by name; none when the measured part never began."""
    return {} if document.series is None else plain(document.series)


def _groups(
    document: ResultDocument,
) -> Iterator[tuple[Sequence[tuple[str, Axis, tuple[tuple[str, str], ...]]], tuple[str, str]]]:
    series = columns_of(document)
    timed = _has_values(series.get("iops"), Axis(""))
    ages = ((series.get("drive_writes") or [0.0])[-1] or 0.0) >= DRIVE_WRITES_AGED
    if ages or not timed:
        yield OVER_LIFE, ("drive_writes", "drive writes (logical capacities written)")
    if timed:
        yield (
            tuple(row for row in OVER_TIME if not (ages and row is OVER_LIFE[1])),
            ("t_s", "simulated time, s"),
        )


def _has_values(values: Sequence[float | None] | None, axis: Axis) -> bool:
    if not values:
        return False
    seen = [value for value in values if value is not None]
    return any(value > 0 for value in seen) if axis.scale == "log" else bool(seen)


def _tail(document: ResultDocument) -> Chart | None:
    """Return latency over percentiles."""
    lines = []
    latencies = document.metrics and document.metrics.latency_us
    for op in ("read", "write", "trim"):
        row = getattr(latencies, op, None)
        points = [(x, getattr(row, key)) for key, x, _ in PERCENTILES if getattr(row, key, None)]
        if len(points) > 1:
            lines.append(Line(op, [x for x, _ in points], [y for _, y in points], dots=True))
    if not lines:
        return None
    ticks = tuple((x, text) for _, x, text in PERCENTILES)
    note = "A percentile is shown only where ten or more samples lie beyond it. " + _loop(document)
    return Chart(
        "Latency by percentile",
        Axis("percentile", "log", ticks),
        Axis("µs", "log"),
        tuple(lines),
        note,
    )


def _loop(document: ResultDocument) -> str:
    load = document.workload.get("queue_depth")
    if isinstance(load, int):
        return f"Closed loop, {load} outstanding: a slow operation delays the next one's start."
    return "Open loop: operations arrive whether the drive is ready or not."


def _section(index: int, section: Section) -> str:
    # No name can end the element, nor begin a comment or another element in it.
    data = json.dumps(section.figure, allow_nan=False).replace("<", "\\u003c")
    note = f'<p class="lead">{escape(section.note)}</p>' if section.note else ""
    numbers = section.numbers if isinstance(section.numbers, str) else _table(*section.numbers)
    return (
        f'<section data-figure="figure-{index}"><h2>{escape(section.title)}</h2>{note}'
        f'<div class="plot"></div><div class="print"></div>'
        f"<noscript>{section.drawing}</noscript>"
        f'<script type="application/json" id="figure-{index}">{data}</script>'
        f"<details><summary>Numbers</summary>{numbers}</details></section>"
    )


def _numbers(chart: Chart) -> str:
    """Return the chart as a table, thinned to a page."""
    x = chart.lines[0].x
    same = all(list(line.x) == list(x) for line in chart.lines)
    lines = chart.lines if same else chart.lines[:1]
    step = max(1, -(-len(x) // TABLE_ROWS))
    rows = [*range(0, len(x), step)]
    if rows and rows[-1] != len(x) - 1:
        rows.append(len(x) - 1)
    labels = dict(chart.x.ticks)
    head = [chart.x.label, *(f"{line.name}, {chart.y.label}" for line in lines)]
    body = [
        [labels.get(x[row] or 0.0, number(x[row])), *(number(line.y[row]) for line in lines)]
        for row in rows
    ]
    table = _table(head, body)
    if not same:
        table += "".join(
            _numbers(Chart(chart.title, chart.x, chart.y, (line,))) for line in chart.lines[1:]
        )
    return table


def _table(head: list[str], body: list[list[str]]) -> str:
    cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body
    )
    table = f"<table><thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div class="wide">{table}</div>'


def _lead(document: ResultDocument) -> str:
    effective = document.effective
    text = (
        f"{size(effective.raw_bytes)} raw, {size(effective.logical_bytes)} logical, spare "
        f"factor {number(effective.spare_factor)} (effective "
        f"{number(effective.spare_factor_effective)}); measured from "
        f"{state_text(document.state)}; seed {document.seed}"
    )
    return f'<p class="lead">{escape(text)}</p>'


def _warnings(document: ResultDocument) -> str:
    return "".join(f'<p class="warning">{escape(text)}</p>' for text in document.warnings)


def _metrics(document: ResultDocument) -> str:
    rows = "".join(
        f"<tr><td>{escape(label)}</td><td>{escape(value)}</td>"
        f'<td class="text">{escape(unit)}</td></tr>'
        for label, value, unit in metric_rows(document)
        if value != "-"
    )
    return f'<div class="wide"><table><tbody>{rows}</tbody></table></div>'


def _latency(document: ResultDocument) -> str:
    head, rows = latency_table(document)
    latency = f"<h2>Latency</h2>{_table(head, rows)}" if rows else ""
    head, rows = tenant_table(document)
    return latency + (f"<h2>Tenants</h2>{_table(head, rows)}" if rows else "")


def _footer(document: ResultDocument) -> str:
    tool = document.tool
    text = (
        f"opennandlab {tool.version or '?'} ({tool.commit or '?'}), "
        f"{document.created}, digest {document.digest}"
    )
    return f"<footer>{escape(text)}</footer>"
