"""Figures of fio in time: of logs, of histograms and of `--status-interval`, in one form.

```text
logs, histograms ──logs──┐
                         ├─ Track (a process, a direction, a figure) ──joined──► Course (intervals)
documents ──of_statuses──┘
```
Processes are joined interval by interval: requests and bytes are summed, response times are means
weighted by the requests of their process, histograms are added. Windows of other lengths, and ones
that drift, are cut at the ends of an interval in proportion; a histogram counts at its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from opennandlab.measured.fio.record import Latency, Side, of_job
from opennandlab.stats.histogram import Histogram

Array = npt.NDArray[np.float64]
LATENCIES = ("lat", "clat", "slat")
# A single request is a window of this length.
INSTANT_S = 1e-9
# Ends of windows this near to a multiple of their length, as a share of it, are meant to be there.
SNAP_RATIO = 0.05
# Gaps below this share of the median are those of an end, not of a window.
SHORT_RATIO, SHORT_QUANTILE = 0.2, 0.02
# The share of ends that are multiples of a window, and the parts of a gap that may be one.
ON_GRID, PARTS_MAX = 0.98, 65
# More would fill the memory.
INTERVALS_MAX = 1_000_000


@dataclass(frozen=True)
class Track:
    """One figure of one process and direction, window by window.

    Args:
        figure: `ios`, `bytes`, `lat`, `clat`, `slat`, or one of these with `_hist`.
        process: The same for all tracks of one process.
        direction: `read`, `write`, `trim` or `mixed`.
        begins_s: Begin of each window.
        ends_s: End of each, ascending.
        values: Amounts of `ios` and `bytes`; ns, of single requests with `_hist` too.
        hists: Of `_hist`, one for each window; none of single requests.
        sizes: Bytes of single requests; None for windows.
    """

    figure: str
    process: str
    direction: str
    begins_s: Array
    ends_s: Array
    values: Array
    hists: Sequence[Histogram] = ()
    sizes: Array | None = None

    @property
    def requests(self) -> Array:
        """Requests of each window, as single ones and histograms count them; empty for others."""
        if self.sizes is not None:
            return np.ones_like(self.sizes)
        return np.array([float(one.count) for one in self.hists])


@dataclass(frozen=True)
class Course:
    """Intervals of all processes together, of one direction or of several.

    Args:
        edges_s: Begin of the first interval, and ends of all.
        columns: A value for each interval, by name of the columns of cells (`iops`, `read_mb_s`,
            `lat_us_mean`, `clat_us_p99`, …); `nan` for an unknown one.
        hists: By `lat`, `clat` or `slat`, all response times of each interval.
    """

    edges_s: Array
    columns: dict[str, Array]
    hists: dict[str, list[Histogram]]


def windows(ends_s: Array) -> tuple[Array, Array]:
    """Return begins and ends of windows of one length, from their ends, ascending.

    The clock of fio is late by some milliseconds: ends are meant to be at multiples of the length.
    Windows without a request are left out, so that the length is about the shortest gap.
    """
    gaps = np.diff(ends_s)
    some = gaps[gaps > 0]
    length = float(ends_s[0])
    if some.size:
        usual = float(np.median(some))
        length = float(np.quantile(some[some > SHORT_RATIO * usual], SHORT_QUANTILE))
        # The last gap may be that of an end.
        length = _sparse(ends_s, float(np.min(some[:-1], initial=some[0])), usual) or length
    if length <= 0:
        return ends_s - INSTANT_S, ends_s
    near = float(f"{length:.2g}")
    length = near if abs(near - length) <= 0.01 * length else length
    aimed = np.round(ends_s / length) * length
    ends = np.where(np.abs(aimed - ends_s) <= SNAP_RATIO * length, aimed, ends_s)
    before = np.concatenate([[ends[0] - length], ends[:-1]])
    begins = np.where(ends - before > 1.5 * length, ends - length, before)
    return np.maximum(begins, 0.0), ends


def _sparse(ends_s: Array, shortest_s: float, usual_s: float) -> float | None:
    """Return the length of windows of which few have a request; None if they are not.

    Then the shortest gap may be that of several windows, and the length is the longest part of it
    of which all ends but a few are multiples.
    """
    wholes = [shortest_s / parts for parts in range(1, PARTS_MAX)]
    lengths = {*wholes, *(float(f"{one:.{digits}g}") for one in wholes for digits in (1, 2))}
    for length in sorted(lengths, reverse=True):
        off = np.abs(ends_s / length - np.round(ends_s / length))[:-1]
        if np.mean(off <= SNAP_RATIO) >= ON_GRID:
            return length if usual_s >= length / SHORT_RATIO else None
    return None


def width_of(tracks: Sequence[Track]) -> float:
    """Return the length of the longest windows, which all tracks can give; 1 s of requests."""
    lengths = (float(np.median(one.ends_s - one.begins_s)) for one in tracks if one.sizes is None)
    return max(lengths, default=0.0) or 1.0


def joined(tracks: Sequence[Track], width_s: float | None = None) -> Course:
    """Return the intervals of tracks of any direction.

    Args:
        tracks: At least one; those of one process and direction belong together.
        width_s: Length of an interval; None for that of the longest windows.

    Raises:
        ValueError: for too many intervals.
    """
    tracks = [*tracks, *_derived(tracks)]
    edges = _edges(tracks, width_s or width_of(tracks))
    columns: dict[str, Array] = {}
    for figure, column, factor in (("ios", "iops", 1.0), ("bytes", "mb_s", 1e-6)):
        for way in ("", "read_", "write_"):
            parts = [_spread(one, one.values, edges) for one in tracks
                     if one.figure == figure and way in {"", f"{one.direction}_"}]  # fmt: skip
            if parts:
                columns[way + column] = np.sum(parts, axis=0) / np.diff(edges) * factor
    hists: dict[str, list[Histogram]] = {}
    for name in LATENCIES:
        if given := [one for one in tracks if one.figure == name]:
            columns[f"{name}_us_mean"] = _mean_us(given, tracks, edges)
        if given := [one for one in tracks if one.figure == f"{name}_hist"]:
            hists[name] = _added(given, edges)
            named = [one.percentiles_us() for one in hists[name]]
            for key in named[0]:
                values = [np.nan if one[key] is None else one[key] for one in named]
                columns.setdefault(f"{name}_us_{key}", np.array(values))
    return Course(edges, columns, hists)


def _derived(tracks: Sequence[Track]) -> Iterator[Track]:
    """Yield requests and bytes that no log has: of single requests, or of histograms."""
    figures = list(dict.fromkeys(one.figure for one in tracks))
    for wanted in {"ios", "bytes"}.difference(figures):
        for figure in figures:
            found = [
                replace(one, figure=wanted, values=values, hists=())
                for one in tracks if one.figure == figure
                if (values := one.requests if wanted == "ios" else one.sizes) is not None
                and values.size
            ]  # fmt: skip
            if found:
                yield from found
                break


def _edges(tracks: Sequence[Track], width_s: float) -> Array:
    first = min(float(one.begins_s[0]) for one in tracks)
    # Rates end a window before response times: an interval without them is none.
    rates = [one for one in tracks if one.figure in {"ios", "bytes"}]
    last = max(float(one.ends_s[-1]) for one in rates or tracks)
    count = max(1.0, np.ceil((last - first) / width_s - 0.01))
    if not count <= INTERVALS_MAX:
        raise ValueError(
            f"{last - first:.4g} s in intervals of {width_s:.4g} s are more than {INTERVALS_MAX}"
        )
    edges: Array = first + np.arange(int(count) + 1, dtype=np.float64) * width_s
    edges[-1] = max(last, edges[-2] + INSTANT_S)
    return edges


def _spread(track: Track, amounts: Array, edges_s: Array) -> Array:
    """Return how much of amounts is in each interval."""
    knots = np.stack([track.begins_s, track.ends_s], axis=1).ravel()
    total = np.cumsum(amounts)
    sums = np.stack([total - amounts, total], axis=1).ravel()
    return np.diff(np.interp(edges_s, knots, sums))


def _mean_us(given: Sequence[Track], tracks: Sequence[Track], edges_s: Array) -> Array:
    """Return the mean of response times, weighted by the requests of each process."""
    total = weight = np.zeros(len(edges_s) - 1)
    for track in given:
        weights = track.ends_s - track.begins_s
        for one in tracks:
            if (one.figure, one.process, one.direction) == ("ios", track.process, track.direction):
                ends = np.stack([track.begins_s, track.ends_s], axis=1).ravel()
                weights = _spread(one, one.values, ends)[::2]
        total = total + _spread(track, track.values * weights, edges_s)
        weight = weight + _spread(track, weights, edges_s)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Array = np.where(weight > 0, total / weight * 1e-3, np.nan)
    return found


def _added(given: Sequence[Track], edges_s: Array) -> list[Histogram]:
    """Return the histograms of each interval, of which the last takes what ends just behind it."""
    parts: list[list[Histogram]] = [[] for _ in edges_s[1:]]
    slack = 0.01 * (edges_s[1] - edges_s[0])
    for track in given:
        places = np.maximum(np.searchsorted(edges_s, track.ends_s - slack, side="left") - 1, 0)
        for place in range(int(places[0]), min(int(places[-1]) + 1, len(parts))):
            inside = np.flatnonzero(places == place)
            if track.hists:
                parts[place] += [track.hists[at] for at in inside.tolist()]
            else:
                parts[place].append(Histogram.of_bins((ns, 1) for ns in track.values[inside]))
    return [Histogram.merged(part) for part in parts]


def of_statuses(documents: Sequence[Mapping[str, Any]]) -> list[Track]:
    """Return what came between the totals of one run.

    Args:
        documents: Of `--status-interval`, in order: each has the totals until then.

    Raises:
        KeyError, TypeError, ValueError: for a document without the figures.
    """
    found: list[Track] = []
    for place in range(len(documents[-1]["jobs"])):
        records = [of_job(document, document["jobs"][place]) for document in documents]
        names = list(records[-1].sides)
        # Where reads and writes are there too, `mixed` has them again.
        for name in names if len(names) == 1 else [one for one in names if one != "mixed"]:
            sides = [record.sides[name] for record in records if name in record.sides]
            found += _between(str(place), name, sides)
    return found


def _between(process: str, direction: str, sides: Sequence[Side]) -> Iterator[Track]:
    kept = [Side(0, 0, 0.0, None, None)]
    for side in sides:
        # During a ramp, and after the end of a job, totals do not change.
        if side.seconds > kept[-1].seconds and side.ios >= kept[-1].ios:
            kept.append(side)
        elif side.seconds == kept[-1].seconds > 0 and side.ios > kept[-1].ios:
            # The result, in the same millisecond as the last status.
            kept[-1] = side
    if not kept[-1].ios:
        return
    begins, ends = (np.array([one.seconds for one in part]) for part in (kept[:-1], kept[1:]))
    for figure in ("ios", "bytes"):
        amounts = np.diff([float(getattr(one, figure)) for one in kept])
        yield Track(figure, process, direction, begins, ends, amounts)
    for name in ("lat", "clat"):
        times: list[Latency | None] = [getattr(one, name) for one in kept]
        if any(one is None for one in times[1:]):
            continue
        sums = np.array([one.mean_ns * one.samples if one else 0.0 for one in times])
        counts = np.array([one.samples if one else 0 for one in times])
        means = np.maximum(np.diff(sums), 0.0) / np.maximum(np.diff(counts), 1)
        yield Track(name, process, direction, begins, ends, means)
        bins = [one.bins if one else Histogram.empty() for one in times]
        if all(one.count for one in bins[1:]):
            hists = [_grown(old, new) for old, new in pairwise(bins)]
            yield Track(f"{name}_hist", process, direction, begins, ends, means, hists)


def _grown(old: Histogram, new: Histogram) -> Histogram:
    """Return what a histogram has more than an earlier one."""
    before = dict(zip(old.ns.tolist(), old.counts.tolist(), strict=True))
    bins = [(ns, count - before.get(ns, 0))
            for ns, count in zip(new.ns.tolist(), new.counts.tolist(), strict=True)]  # fmt: skip
    return Histogram.of_bins(bins, max(new.sum_ns - old.sum_ns, 0.0))
