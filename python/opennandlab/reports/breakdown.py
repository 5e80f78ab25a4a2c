"""The `--breakdown-plot`: where the time of each class of commands went, as stacked bars.

A row per percentile band, twice: in microseconds on a linear axis, since lengths on a logarithmic
one cannot be added, and as shares, so that the short bars can be read too. A part has the same
colour in every plot: waiting is warm, work on the flash green, transfers blue, the rest grey.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from opennandlab.documents.result import ResultDocument
from opennandlab.reports import output
from opennandlab.reports.figure.model import Axis, Part, Stack
from opennandlab.reports.model import Report, Table, page_of
from opennandlab.reports.summary import state_text
from opennandlab.reports.time_parts import PARTS, REST, breakdown_tables, shown_parts, span

# Okabe and Ito, "Color Universal Design" (2008), and lighter or darker tones of theirs.
COLOURS = {
    "submission": "#999999",
    "controller": "#555555",
    "link": "#56b4e9",
    "throttle": "#f7d9e8",
    "mapping": "#a6761d",
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
NOTE = (
    "Mean latency in each band of percentiles, by what it was spent on; p99.9-max holds the "
    "slowest thousandth."
)


def write(document: ResultDocument, path: str | Path) -> None:
    """Write the figures, in the form of the file's ending.

    Raises:
        OutputError: when they cannot be written, and why.
    """
    output.write(report(document), Path(path))


def report(document: ResultDocument) -> Report:
    """Return the report of a result with a breakdown."""
    name = document.run.device_name or "device"
    title = f"Where the time went: {document.workload.get('name', 'workload')} on {name}"
    lead = f"{NOTE} Measured from {state_text(document.state)}; seed {document.seed}."
    figures = list(stacks(document))
    shown = {part.name for figure in figures for part in figure.parts}
    meanings = tuple((part, text) for part, text in PARTS.items() if part in shown)
    words = Table("parts", "The parts", ("part", "what it is"), meanings)
    return replace(page_of(title, lead, [*figures, words]), kind="breakdown of a run")


def stacks(document: ResultDocument) -> Iterator[Stack]:
    """Yield the stacked bars of each class of commands; none without a breakdown."""
    breakdown = document.metrics and document.metrics.breakdown
    sections = breakdown.by_class() if breakdown else {}
    for table in breakdown_tables(document):
        bands = sections[table.op].bands
        shown, folded = shown_parts(bands)
        groups = [(part, [part]) for part in shown] + ([(REST, list(folded))] if folded else [])
        totals = [band.latency_us_mean for band in bands]
        # Lengths in ms where µs would be long numbers.
        unit, divisor = ("ms", 1e3) if max(totals) >= 1e4 else ("µs", 1.0)
        parts = tuple(
            Part(
                name,
                tuple(
                    sum(band.parts_us.get(part, 0.0) for part in members) / divisor
                    for band in bands
                ),
                COLOURS[name],
            )
            for name, members in groups
        )
        yield Stack(
            f"breakdown-{table.op}",
            f"Where the time of {table.op}s went",
            Axis(f"mean latency, {unit}", zero=True),
            tuple(band.band for band in bands),
            parts,
            tuple(map(span, totals)),
            table.answer,
        )
