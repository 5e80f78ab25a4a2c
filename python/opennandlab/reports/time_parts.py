"""The parts of the time of commands: their meaning, and tables by class and percentile band."""

from __future__ import annotations

from dataclasses import dataclass

from opennandlab.base.words import NOTHING, number
from opennandlab.documents.metrics import Band
from opennandlab.documents.result import ResultDocument

# Parts in the order in which a command meets them: column, and words.
PARTS = {
    "submission": "waiting outside the drive for its turn",
    "controller": "processing in the controller",
    "link": "the host link, waiting for it included",
    "throttle": "being held back by the throttle",
    "mapping": "reading and writing map pages",
    "cache": "the write cache, waiting for room included",
    "room": "waiting for an erased block",
    "queue": "waiting on a die behind other host operations",
    "gc": "waiting on a die behind pages that are moved",
    "erase": "waiting behind erases",
    "bus_wait": "waiting for the channel",
    "bus": "transfer over the channel",
    "sense": "sensing the page",
    "retry": "sensing the page again",
    "program": "programming",
    "suspended": "being suspended for reads",
    "ecc": "decoding",
    "rebuild": "reading the rest of the stripe",
    "other": "what no other part accounts for",
}
# More columns do not fit a terminal: the smallest parts then share one, `rest`.
PART_COLUMNS_MAX = 9
REST = "rest"


@dataclass(frozen=True)
class BreakdownTable:
    """The mean latency of one class of commands, by parts.

    Args:
        op: The class: `read`, `write`, `trim`, `flush`.
        head: Heads of the columns.
        rows: A row for each percentile band, in µs.
        answer: A sentence that names the largest part of the top band.
    """

    op: str
    head: list[str]
    rows: list[list[str]]
    answer: str


def breakdown_tables(document: ResultDocument) -> list[BreakdownTable]:
    """Return a table for each class of commands; none if the run has no breakdown."""
    tables = []
    breakdown = document.metrics and document.metrics.breakdown
    for op, section in breakdown.by_class().items() if breakdown else ():
        shown, folded = shown_parts(section.bands)
        head = [f"{op}s, mean µs", "ops", "latency", *shown, *([REST] if folded else [])]
        rows = []
        for band in section.bands:
            parts = band.parts_us
            cells = [parts.get(part, 0.0) for part in shown]
            cells += [sum(parts.get(part, 0.0) for part in folded)] if folded else []
            row = [band.band, number(band.count), number(band.latency_us_mean)]
            rows.append(row + [number(cell) if cell else NOTHING for cell in cells])
        tables.append(BreakdownTable(op, head, rows, _answer(op, section.bands[-1])))
    return tables


def shown_parts(bands: list[Band]) -> tuple[list[str], list[str]]:
    """Return the parts with a separate column, and those that share one, both in order.

    The size of a part is its largest share of a band, so a part that dominates only the tail is
    shown.
    """
    sizes = {
        # Commands that took no time, such as flushes of nothing, have no parts.
        part: max(band.parts_us.get(part, 0.0) / (band.latency_us_mean or 1.0) for band in bands)
        for part in PARTS
        if any(band.parts_us.get(part, 0.0) > 0 for band in bands)
    }
    if len(sizes) <= PART_COLUMNS_MAX:
        return list(sizes), []
    largest = set(sorted(sizes, key=lambda part: -sizes[part])[: PART_COLUMNS_MAX - 1])
    return [part for part in sizes if part in largest], [
        part for part in sizes if part not in largest
    ]


def _answer(op: str, band: Band) -> str:
    part, spent = max(band.parts_us.items(), key=lambda item: item[1], default=("other", 0.0))
    latency = band.latency_us_mean
    percent = 100 * spent / latency if latency else 0.0
    return f"{band.band} {op}s: {percent:.0f} % of {span(latency)} is {PARTS[part]} ({part})"


def span(us: float) -> str:
    """Write a latency for a sentence.

    >>> span(3212.0), span(64.25)
    ('3.2 ms', '64 µs')
    """
    if us < 1000:
        return f"{us:.2g} µs" if us < 100 else f"{us:.0f} µs"
    return f"{us / 1000:.2g} ms" if us < 1e5 else f"{us / 1000:.0f} ms"
