"""Response times of one operating point: histogram, confidence levels, percentile by nines.

A percentile is stated only where ten or more samples lie beyond it; else it says how many samples
there were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from opennandlab.documents import pts
from opennandlab.reports import variation, words
from opennandlab.reports.figure.colours import NAMED
from opennandlab.reports.figure.model import Axis, Mark, Plot, Series
from opennandlab.reports.model import Cell, Item, Table
from opennandlab.reports.pts import tables
from opennandlab.stats.histogram import Histogram

# Width of a drawn bin: so many to a factor of ten, 6 % each.
BINS_PER_DECADE = 40
LEVELS = (
    ("50 %", 0.5),
    ("90 %", 0.9),
    ("95 %", 0.95),
    ("99 %", 0.99),
    ("99.9 %", 0.999),
    ("99.99 %", 0.9999),
    ("99.999 %", 0.99999),
)
MARKED = ("99 %", "99.9 %", "99.99 %", "99.999 %")


Shown = TypeVar("Shown", Plot, Table)
# More lines cannot be told apart.
LINES_MAX = 12


def items(  # noqa: PLR0913 (all but three by name)
    spreads: Sequence[pts.Histogram],
    device: Mapping[str, Any] | None,
    suffix: str = "",
    drawn: Sequence[pts.Histogram] | None = None,
    of: str = "",
    *,
    is_open: bool = False,
) -> Iterator[Item]:
    """Yield what is shown of histograms: each as bars, then all by percentile and as a table.

    Args:
        spreads: The histograms.
        device: The resolved device, None for a drive that is not simulated.
        suffix: Suffix of the ids of what is shown of all.
        drawn: Those that are drawn as bars; by default all.
        of: What they are of, where one page has several such groups.
        is_open: Whether requests arrived at a rate, whatever was outstanding.
    """
    alike = [one for one in spreads if _ends(one)[0] == _ends(one)[1]]
    varied = [one for one in spreads if one not in alike]
    single = varied if drawn is None else [one for one in drawn if one in varied]
    for spread in single:
        yield histogram(spread, variation.note(device))
    lines = varied if len(varied) <= LINES_MAX else single
    if lines:
        yield _titled(by_percentile(lines, suffix, is_open=is_open), of)
    if spreads:
        table = _titled(levels(spreads, suffix), of)
        if alike:
            told = f"{_told(alike)}{variation.note(device)} {table.note}"
            table = replace(table, note=told.strip())
        yield table


def _titled(item: Shown, of: str) -> Shown:
    return replace(item, title=f"{item.title}: {of}") if of else item


def _ends(spread: pts.Histogram) -> tuple[int, int]:
    """Return the bins, as they are drawn, of the shortest and the longest response time."""
    known = [ns for ns, count in zip(spread.ns, spread.counts, strict=True) if count]
    low, high = max(min(known), 1), max(*known, spread.max_ns, 1)
    return (
        int(np.floor(np.log10(low) * BINS_PER_DECADE)),
        int(np.floor(np.log10(high) * BINS_PER_DECADE)),
    )


def _told(alike: Sequence[pts.Histogram]) -> str:
    """Say in words what a histogram of a single bar would show."""
    took = [f"“{spread.title}” {_time(spread)}" for spread in alike]
    if len(alike) == 1:
        count = words.number(alike[0].count)
        took = [f"All {count} requests of “{alike[0].title}” took {_time(alike[0])}"]
    else:
        took[0] = f"In each of these all requests took the same time: {took[0]}"
    return f"{'; '.join(took)}. Of equal response times no histogram is drawn."


def _time(spread: pts.Histogram) -> str:
    """Return the one response time of a histogram, or the ends of its one bar."""
    low, high = (words.value(ns * 1e-3) for ns in (min(spread.ns), spread.max_ns))
    return f"{high if low == high else f'{low} to {high}'} µs"


def samples_of(spread: pts.Histogram) -> Histogram:
    """Return the response times of a histogram of the document."""
    bins = zip(spread.ns, spread.counts, strict=True)
    return Histogram.of_bins(bins, float(spread.sum_ns), spread.max_ns)


def histogram(spread: pts.Histogram, remark: str = "") -> Plot:
    """Return how many requests took how long, with the confidence levels and a remark."""
    found = samples_of(spread)
    edges, counts, early = _bins(found)
    unit, size = _unit(found)
    marks = []
    mean = found.mean_ns
    if mean:
        marks.append(Mark("x", mean / size, f"ART: {words.value(mean / size)} {unit}"))
    for name, share in LEVELS:
        ns = found.quantile_ns(share) if name in MARKED else None
        if ns is not None and ns > 0:
            marks.append(Mark("x", ns / size, f"{name}: {words.value(ns / size)} {unit}"))
    longest = found.max_ns / size
    marks.append(Mark("x", longest, f"MRT: {words.value(longest)} {unit}"))
    count = words.number(found.count)
    note = f"{count} requests; bins 6 % wide, both axes logarithmic."
    if early:
        note += f" The first bin holds {words.number(early)} that were faster still."
    note += remark
    return Plot(
        f"histogram-{spread.id}",
        f"Response time histogram: {spread.title}",
        Axis(f"response time, {unit}", "log"),
        Axis("requests", "log"),
        (
            Series("requests", [edge / size for edge in edges], counts, draw="area", colour=0),
            Series(
                "cumulative, % (right)", [edge / size for edge in edges], _cumulative(counts),
                draw="line", colour=1, is_right=True,
            ),
        ),
        note,
        tuple(marks),
        right=Axis("cumulative share, %", ticks=PERCENT, zero=True),
    )  # fmt: skip


PERCENT = tuple((float(share), str(share)) for share in range(0, 101, 20))


def _cumulative(counts: Sequence[float]) -> list[float]:
    """Return the share of the requests up to each edge of the bins, in percent."""
    sums = np.concatenate([[0.0], np.cumsum(counts)[:-1]])
    return (100 * sums / max(sums[-1], 1.0)).tolist()  # type: ignore[no-any-return]


def by_percentile(
    spreads: Sequence[pts.Histogram], suffix: str = "", *, is_open: bool = False
) -> Plot:
    """Return response time against percentile; each further nine is as wide as the one before."""
    lines = []
    for place, spread in enumerate(spreads):
        found = samples_of(spread)
        points = [
            (1 / (1 - share), ns * 1e-6)
            for share in _shares(found.count)
            if (ns := found.quantile_ns(share)) is not None and ns > 0
        ]
        lines.append(
            Series(
                spread.title,
                [x for x, _ in points],
                [y for _, y in points],
                draw="line",
                stroke=place // len(NAMED),
            )
        )
    names = ("50 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %")
    places = (2.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6)
    most = max((x for line in lines for x in line.x if x is not None), default=10.0)
    ticks = tuple(
        (place, name) for place, name in zip(places, names, strict=True) if place <= most * 1.01
    )
    note = "Drawn only where ten or more requests lie beyond."
    if not is_open:
        note += " Closed loop: a slow request delays the next."
    return Plot(
        f"by-percentile{suffix}",
        "Response time by percentile",
        Axis("percentile", "log", ticks),
        Axis("response time, ms", "log"),
        tuple(lines),
        note,
    )


def levels(spreads: Sequence[pts.Histogram], suffix: str = "") -> Table:
    """Return the confidence levels as a table in ms, one row for each histogram."""
    rows: list[tuple[Cell, ...]] = []
    for spread in spreads:
        found = samples_of(spread)
        mean = found.mean_ns
        row: list[Cell] = [spread.title, float(found.count), None if mean is None else mean * 1e-6]
        for _, share in LEVELS:
            ns = found.quantile_ns(share)
            row.append(None if ns is None else ns * 1e-6)
        rows.append((*row, found.max_ns * 1e-6))
    heads = ("", "requests", "ART, ms", *(f"{name}, ms" for name, _ in LEVELS), "MRT, ms")
    note = tables.MISSING if any(None in row for row in rows) else ""
    return Table(f"confidence-levels{suffix}", "Confidence levels", heads, tuple(rows), note)


def _shares(count: int) -> list[float]:
    """Return shares from a half to the last that can be stated, evenly spaced in nines."""
    last = np.log10(max(count / 10, 2.0))
    return [1 - 10 ** (-power) for power in np.linspace(np.log10(2), last, 80).tolist()]


def _bins(found: Histogram) -> tuple[list[float], list[float], int]:
    """Return edges and counts of bins of even width on a log axis, the last one empty.

    What took less than half the time of the fastest thousandth (reads of what was never written
    take no time) is counted in the first bin, and returned, so that it does not stretch the axis.
    """
    timed = np.cumsum(np.where(found.ns > 0, found.counts, 0))
    fastest = int(np.searchsorted(timed, timed[-1] / 1000))
    low = max(int(found.ns[0]), int(found.ns[fastest]) // 2, 1)
    early = int(found.counts[found.ns < low].sum())
    first = int(np.floor(np.log10(low) * BINS_PER_DECADE))
    last = int(np.floor(np.log10(max(found.max_ns, int(found.ns[-1]), low)) * BINS_PER_DECADE)) + 1
    edges = 10 ** (np.arange(first, last + 1) / BINS_PER_DECADE)
    place = np.searchsorted(edges, np.maximum(found.ns, low), side="right") - 1
    counts = np.zeros(edges.size)
    np.add.at(counts, np.clip(place, 0, edges.size - 1), found.counts)
    return edges.tolist(), counts.tolist(), early


def _unit(found: Histogram) -> tuple[str, float]:
    mean = found.mean_ns or 0.0
    return ("µs", 1e3) if mean < 1e6 else ("ms", 1e6)
