"""Response times of one operating point: histogram, confidence levels, percentile by nines.

A percentile is stated only if ten or more samples are beyond it. ART is the average response time
and MRT the maximum, as the PTS names them. No histogram is empty: `source` leaves those out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from opennandlab.documents import pts
from opennandlab.reports import variation, words
from opennandlab.reports.figure.colours import NAMED
from opennandlab.reports.figure.model import Axis, Mark, Plot, Series
from opennandlab.reports.model import Cell, Item, Table
from opennandlab.reports.pts import tables
from opennandlab.reports.pts.source import Measured
from opennandlab.stats.histogram import Histogram

# Bins of a drawn histogram to a factor of ten.
BINS_PER_DECADE = 40
BIN_WIDTH_PCT = round(100 * (10 ** (1 / BINS_PER_DECADE) - 1))
LEVELS = (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999)
# Levels from this one on are marked in a histogram.
MARKED_MIN = 0.99
# Percentiles at the axis: 1 / (1 - share) to share.
TICKS = {2.0: 0.5} | {10.0**nines: 1 - 10.0**-nines for nines in range(1, 7)}
PERCENT_TICKS = tuple((float(share), str(share)) for share in range(0, 101, 20))
# More lines cannot be distinguished.
LINES_MAX = 12

Shown = TypeVar("Shown", Plot, Table)


@dataclass(frozen=True, kw_only=True)
class Group:
    """Histograms that are shown together.

    Args:
        histograms: The histograms.
        device: The resolved device, None for a drive that is not simulated.
        suffix: Suffix of the ids of the items that show all of them.
        drawn: The ones of `histograms` that are drawn as bars; by default all.
        title: Title of the group, if one page has several.
        is_open: Whether requests arrived at a rate, however many were outstanding.
    """

    histograms: Sequence[pts.Histogram]
    device: Mapping[str, Any] | None
    suffix: str = ""
    drawn: Sequence[pts.Histogram] | None = None
    title: str = ""
    is_open: bool = False


def of_test(measured: Measured) -> Group:
    """Return all histograms of a test as a group."""
    config = measured.header.target.device.config
    return Group(histograms=measured.histograms, device=config)


def items(group: Group) -> Iterator[Item]:
    """Yield the figures and the table of a group: bars of each, then all by percentile."""
    remark = variation.note(group.device)
    varied = [one for one in group.histograms if not _is_one_bar(one)]
    alike = [one for one in group.histograms if _is_one_bar(one)]
    drawn = varied if group.drawn is None else [one for one in group.drawn if not _is_one_bar(one)]
    for histogram in drawn:
        yield bars(histogram, remark)
    lines = varied if len(varied) <= LINES_MAX else drawn
    if lines:
        plot = by_percentile(lines, group.suffix, is_open=group.is_open)
        yield _titled(plot, group.title)
    if group.histograms:
        table = _titled(levels(group.histograms, group.suffix), group.title)
        if alike:
            note = f"{_in_words(alike)}{remark} {table.note}"
            table = replace(table, note=note.strip())
        yield table


def _titled(item: Shown, title: str) -> Shown:
    return replace(item, title=f"{item.title}: {title}") if title else item


def _is_one_bar(histogram: pts.Histogram) -> bool:
    """Return whether the shortest and the longest response time are in the same drawn bin."""
    known = [ns for ns, count in zip(histogram.ns, histogram.counts, strict=True) if count]
    low, high = max(min(known), 1), max(*known, histogram.max_ns, 1)
    return _bin_of(low) == _bin_of(high)


def _bin_of(ns: int) -> int:
    return int(np.floor(np.log10(ns) * BINS_PER_DECADE))


def _in_words(alike: Sequence[pts.Histogram]) -> str:
    """Return the content of histograms of one bar each, in a sentence."""
    if len(alike) == 1:
        count = words.number(alike[0].count)
        text = f"All {count} requests of “{alike[0].title}” took {_time(alike[0])}"
    else:
        times = "; ".join(f"“{histogram.title}” {_time(histogram)}" for histogram in alike)
        text = f"In each of these all requests took the same time: {times}"
    return f"{text}. Of equal response times no histogram is drawn."


def _time(histogram: pts.Histogram) -> str:
    """Return the one response time of a histogram, or the ends of its one bar."""
    low, high = (words.value(ns * 1e-3) for ns in (min(histogram.ns), histogram.max_ns))
    return f"{high if low == high else f'{low} to {high}'} µs"


def _percentile(share: float) -> str:
    """Return the name of a percentile.

    >>> [_percentile(share) for share in (0.5, 0.999, 0.999999)]
    ['50 %', '99.9 %', '99.9999 %']
    """
    return f"{100 * share:g} %"


def samples_of(histogram: pts.Histogram) -> Histogram:
    """Return the response times of a histogram of the document."""
    bins = zip(histogram.ns, histogram.counts, strict=True)
    return Histogram.of_bins(bins, float(histogram.sum_ns), histogram.max_ns)


def bars(histogram: pts.Histogram, remark: str = "") -> Plot:
    """Return a histogram as bars and as a cumulative line, with ART, confidence levels and MRT."""
    found = samples_of(histogram)
    edges, counts, early = _bins(found)
    unit, size = _unit(found)
    marks = []
    mean = found.mean_ns
    if mean:
        marks.append(Mark("x", mean / size, f"ART: {words.value(mean / size)} {unit}"))
    for share in LEVELS:
        ns = found.quantile_ns(share) if share >= MARKED_MIN else None
        if ns is not None and ns > 0:
            text = f"{_percentile(share)}: {words.value(ns / size)} {unit}"
            marks.append(Mark("x", ns / size, text))
    longest = found.max_ns / size
    marks.append(Mark("x", longest, f"MRT: {words.value(longest)} {unit}"))
    count = words.number(found.count)
    note = f"{count} requests; bins {BIN_WIDTH_PCT} % wide, both axes logarithmic."
    if early:
        note += f" The first bin holds {words.number(early)} that were faster still."
    note += remark
    return Plot(
        f"histogram-{histogram.id}",
        f"Response time histogram: {histogram.title}",
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
        right=Axis("cumulative share, %", ticks=PERCENT_TICKS, zero=True),
    )  # fmt: skip


def _cumulative(counts: Sequence[float]) -> list[float]:
    """Return the share of the requests up to each edge of the bins, in percent."""
    sums = np.concatenate([[0.0], np.cumsum(counts)[:-1]])
    return (100 * sums / max(sums[-1], 1.0)).tolist()  # type: ignore[no-any-return]


def by_percentile(
    histograms: Sequence[pts.Histogram], suffix: str = "", *, is_open: bool = False
) -> Plot:
    """Return response time against percentile; each further nine is as wide as the one before."""
    lines = []
    for place, histogram in enumerate(histograms):
        found = samples_of(histogram)
        points = [
            (1 / (1 - share), ns * 1e-6)
            for share in _shares(found.count)
            if (ns := found.quantile_ns(share)) is not None and ns > 0
        ]
        lines.append(
            Series(
                histogram.title,
                [x for x, _ in points],
                [y for _, y in points],
                draw="line",
                stroke=place // len(NAMED),
            )
        )
    most = max((x for line in lines for x in line.x if x is not None), default=10.0)
    ticks = tuple(
        (place, _percentile(share)) for place, share in TICKS.items() if place <= most * 1.01
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


def levels(histograms: Sequence[pts.Histogram], suffix: str = "") -> Table:
    """Return the confidence levels as a table in ms, one row for each histogram."""
    rows: list[tuple[Cell, ...]] = []
    for histogram in histograms:
        found = samples_of(histogram)
        times = (found.mean_ns, *map(found.quantile_ns, LEVELS), found.max_ns)
        in_ms = (None if ns is None else ns * 1e-6 for ns in times)
        rows.append((histogram.title, float(found.count), *in_ms))
    names = map(_percentile, LEVELS)
    heads = ("histogram", "requests", "ART, ms", *(f"{name}, ms" for name in names), "MRT, ms")
    note = tables.MISSING if any(None in row for row in rows) else ""
    return Table(f"confidence-levels{suffix}", "Confidence levels", heads, tuple(rows), note)


def _shares(count: int) -> list[float]:
    """Return shares from a half to the last that can be stated, evenly spaced in nines."""
    last = np.log10(max(count / 10, 2.0))
    return [1 - 10 ** (-power) for power in np.linspace(np.log10(2), last, 80).tolist()]


def _bins(found: Histogram) -> tuple[list[float], list[float], int]:
    """Return edges, counts and early requests of bins of even width on a log axis.

    The last bin is empty. Requests that took less than half the time of the fastest thousandth
    (reads of unwritten pages take no time) are counted in the first bin, so that they do not
    stretch the axis; their number is the third value.
    """
    timed = np.cumsum(np.where(found.ns > 0, found.counts, 0))
    fastest = int(np.searchsorted(timed, timed[-1] / 1000))
    low = max(int(found.ns[0]), int(found.ns[fastest]) // 2, 1)
    early = int(found.counts[found.ns < low].sum())
    first, last = _bin_of(low), _bin_of(max(found.max_ns, int(found.ns[-1]), low)) + 1
    edges = 10 ** (np.arange(first, last + 1) / BINS_PER_DECADE)
    place = np.searchsorted(edges, np.maximum(found.ns, low), side="right") - 1
    counts = np.zeros(edges.size)
    np.add.at(counts, np.clip(place, 0, edges.size - 1), found.counts)
    return edges.tolist(), counts.tolist(), early


def _unit(found: Histogram) -> tuple[str, float]:
    """Return the unit in which a histogram is drawn, and its length in nanoseconds."""
    mean = found.mean_ns or 0.0
    return ("µs", 1e3) if mean < 1e6 else ("ms", 1e6)
