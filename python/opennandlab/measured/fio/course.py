"""Figures of fio in time: of logs, of histograms and of `--status-interval`, in one form.

```text
logs, histograms ──logs──┐
                         ├─ Track (a process, a direction, a figure) ──joined──► Course (intervals)
documents ──of_statuses──┘
```
Processes are joined interval by interval: requests and bytes are summed, response times are means
weighted by the requests of their process, histograms are added. A track keeps *amounts* (requests,
bytes, ns x requests) of its windows, so that windows of other lengths, and ones that drift, are cut
at the ends of an interval in proportion; counts of histograms go where their window ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from opennandlab.measured.fio.record import Latency, Side, of_job
from opennandlab.stats.histogram import Histogram

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
LATENCIES = ("lat", "clat", "slat")
# Ends of windows that are so near to a multiple of their length are meant to be there.
SNAP_RATIO = 0.05
# Gaps below this share of the median are those of an end, not of a window.
SHORT_RATIO = 0.2
SHORT_QUANTILE = 0.02
# More is no course that anybody looks at, and would fill the memory.
INTERVALS_MAX = 1_000_000


@dataclass(frozen=True)
class Track:
    """One figure of one process and direction.

    Args:
        figure: `ios`, `bytes`, `lat`, `clat`, `slat`, or `hist` (of `clat`, or of `lat`).
        process: Which; tracks of one process have the same.
        direction: `read`, `write`, `trim` or `mixed`.
        begins_s: Where each window begins; its end, for a single request.
        ends_s: Where it ends, ascending.
        values: Amounts of `ios` and `bytes`, means in ns of response times; empty of `hist`.
        hists: Of `hist`, one for each window.
        is_each: Whether every window is a single request.
        of: Of `hist`: `lat` or `clat`.
        sizes: Of single requests, their bytes.
    """

    figure: str
    process: str
    direction: str
    begins_s: Array
    ends_s: Array
    values: Array
    hists: Sequence[Histogram] = ()
    is_each: bool = False
    of: str = "clat"
    sizes: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def length_s(self) -> float:
        """How long its windows are; 0 of single requests."""
        return 0.0 if self.is_each else float(np.median(self.ends_s - self.begins_s))


@dataclass(frozen=True)
class Course:
    """Intervals of all processes together, of one direction or of several.

    Args:
        edges_s: Begin of the first interval and ends of all.
        columns: By name of the columns of cells (`iops`, `mb_s`, `lat_us_mean`, `clat_us_p99`, …),
            a value for each interval; `nan` where nothing is known.
        hists: By `lat` or `clat`, all response times of each interval.
    """

    edges_s: Array
    columns: Mapping[str, Array]
    hists: Mapping[str, Sequence[Histogram]] = field(default_factory=dict)


def windows(ends_s: Array) -> tuple[Array, Array]:
    """Return begins and ends of windows of one length, of which the ends are known, ascending.

    The clock of fio is late by some milliseconds: ends are meant to be at multiples of the length.
    Windows without a request are left out, so that the length is about the shortest gap.
    """
    gaps = np.diff(ends_s)
    some = gaps[gaps > SHORT_RATIO * np.median(gaps[gaps > 0])] if (gaps > 0).any() else gaps[:0]
    length = float(np.quantile(some, SHORT_QUANTILE)) if some.size else float(ends_s[0])
    if length <= 0:
        return ends_s, ends_s
    near = float(f"{length:.2g}")
    length = near if abs(near - length) <= 0.01 * length else length
    aimed = np.round(ends_s / length) * length
    ends = np.where(np.abs(aimed - ends_s) <= SNAP_RATIO * length, aimed, ends_s)
    before = np.concatenate([[ends[0] - length], ends[:-1]])
    begins = np.where(ends - before > 1.5 * length, ends - length, before)
    return np.maximum(begins, 0.0), ends


def _derived(tracks: Sequence[Track]) -> Iterator[Track]:
    """Yield requests and bytes where no log has them: of single requests, or of histograms."""
    figures = {one.figure for one in tracks}
    for wanted in {"ios", "bytes"} - figures:
        for figure in ("ios", "bytes", *LATENCIES, "hist"):
            given = [one for one in tracks if one.figure == figure
                     and (one.is_each or (wanted == "ios" and one.hists))]  # fmt: skip
            for one in given:
                ios = (
                    [float(each.count) for each in one.hists] if one.hists else 1.0 + 0 * one.ends_s
                )
                values = one.sizes if wanted == "bytes" else np.array(ios)
                yield replace(one, figure=wanted, values=values, hists=())
            if given:
                break


def _spread(track: Track, amounts: Array, edges_s: Array) -> Array:
    """Return how much of amounts lies in each interval."""
    if track.is_each:
        places, inside = _places(track.ends_s, edges_s)
        return np.bincount(places, amounts[inside], len(edges_s) - 1).astype(np.float64)
    knots = np.stack([track.begins_s, track.ends_s], axis=1).ravel()
    total = np.cumsum(amounts)
    sums = np.stack([total - amounts, total], axis=1).ravel()
    return np.diff(np.interp(edges_s, knots, sums))


def _places(ends_s: Array, edges_s: Array) -> tuple[Places, Places]:
    """Return the interval that each moment is in, its end included; and which moments are in one.

    Windows that end within a hundredth behind the last edge are of the last interval.
    """
    slack = 0.01 * (edges_s[1] - edges_s[0])
    inside = np.flatnonzero((ends_s >= edges_s[0]) & (ends_s <= edges_s[-1] + slack))
    found = np.searchsorted(edges_s, ends_s[inside] - 1e-9, side="left") - 1
    return np.clip(found, 0, len(edges_s) - 2), inside


def width_of(tracks: Sequence[Track]) -> float:
    """Return the length of intervals that all tracks can give: of the longest windows, or 1 s."""
    return max((track.length_s for track in tracks), default=0.0) or 1.0


def joined(tracks: Sequence[Track], width_s: float | None = None) -> Course:
    """Return the intervals of tracks, of whatever directions they are.

    Args:
        tracks: At least one; those of one process and direction belong together.
        width_s: Length of an interval; None for that of the longest windows.

    Raises:
        ValueError: for more intervals than anybody looks at.
    """
    tracks = [*tracks, *_derived(tracks)]
    width = width_s or width_of(tracks)
    first = min(float(track.begins_s[0]) for track in tracks)
    # Rates end a window before response times: an interval without them is none.
    rates = [track for track in tracks if track.figure in {"ios", "bytes"}]
    last = max(float(track.ends_s[-1]) for track in rates or tracks)
    count = max(1.0, np.ceil((last - first) / width - 0.01))
    if not count <= INTERVALS_MAX:
        raise ValueError(
            f"{last - first:.4g} s in intervals of {width:.4g} s are more than {INTERVALS_MAX}"
        )
    edges: Array = first + np.arange(int(count) + 1, dtype=np.float64) * width
    edges[-1] = max(last, edges[-2] + 1e-6)
    lengths = np.diff(edges)
    columns: dict[str, Array] = {}
    for name, column, factor in (("ios", "iops", 1.0), ("bytes", "mb_s", 1e-6)):
        for way in ("", "read_", "write_"):
            given = [
                one for one in tracks if one.figure == name and way in {"", f"{one.direction}_"}
            ]
            if given:
                amounts = [_spread(one, one.values, edges) for one in given]
                columns[way + column] = np.sum(amounts, axis=0) / lengths * factor
    for name in LATENCIES:
        given = [track for track in tracks if track.figure == name]
        if given:
            columns[f"{name}_us_mean"] = _mean_us(given, tracks, edges)
            if all(track.is_each for track in given):
                columns[f"{name}_us_max"] = _max_us(given, edges)
    hists = {
        of: _added([one for one in tracks if one.figure == "hist" and one.of == of], edges)
        for of in dict.fromkeys(one.of for one in tracks if one.figure == "hist")
    }
    for of, found in hists.items():
        named = [one.percentiles_us() for one in found]
        for key in named[0] if named else ():
            values = np.array([np.nan if one[key] is None else one[key] for one in named])
            columns.setdefault(f"{of}_us_{key}", values)
    return Course(edges, columns, hists)


def _mean_us(given: Sequence[Track], tracks: Sequence[Track], edges_s: Array) -> Array:
    """Return the mean of response times, weighted by the requests of each process."""
    total = weight = np.zeros(len(edges_s) - 1)
    for track in given:
        weights = np.ones_like(track.values) if track.is_each else _weights(track, tracks)
        total = total + _spread(track, track.values * weights, edges_s)
        weight = weight + _spread(track, weights, edges_s)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Array = np.where(weight > 0, total / weight * 1e-3, np.nan)
    return found


def _weights(track: Track, tracks: Sequence[Track]) -> Array:
    """Return the requests in each window, of the same process; its length where nothing tells."""
    for one in tracks:
        if (one.figure, one.process, one.direction) == ("ios", track.process, track.direction):
            ends = np.stack([track.begins_s, track.ends_s], axis=1).ravel()
            return _spread(one, one.values, ends)[::2] if not one.is_each else _within(one, track)
    return track.ends_s - track.begins_s


def _within(each: Track, track: Track) -> Array:
    ends = np.searchsorted(each.ends_s, track.ends_s, side="right")
    found: Array = (ends - np.searchsorted(each.ends_s, track.begins_s, side="right")).astype(float)
    return found


def _max_us(given: Sequence[Track], edges_s: Array) -> Array:
    found = np.full(len(edges_s) - 1, np.nan)
    for track in given:
        places, inside = _places(track.ends_s, edges_s)
        np.fmax.at(found, places, track.values[inside] * 1e-3)
    return found


def _added(given: Sequence[Track], edges_s: Array) -> list[Histogram]:
    parts: list[list[Histogram]] = [[] for _ in edges_s[1:]]
    for track in given:
        places, inside = _places(track.ends_s, edges_s)
        for place, at in zip(places, inside, strict=True):
            parts[place].append(track.hists[at])
    return [Histogram.merged(part) for part in parts]


def of_statuses(documents: Sequence[Mapping[str, Any]]) -> list[Track]:
    """Return what came between the totals of one run.

    Args:
        documents: Of `--status-interval`, in order: each has the totals until then.

    Raises:
        KeyError, TypeError, ValueError: for a document without the figures.
    """
    found: list[Track] = []
    counts = {len(document["jobs"]) for document in documents}
    if len(counts) > 1:
        raise ValueError("its statuses have different numbers of jobs")
    for place in range(counts.pop() if counts else 0):
        records = [of_job(document, document["jobs"][place]) for document in documents]
        names = [name for name in ("read", "write", "trim", "mixed") if name in records[-1].sides]
        for name in names if len(names) == 1 else [one for one in names if one != "mixed"]:
            sides = [record.sides[name] for record in records if name in record.sides]
            found += _between(f"{records[-1].name} {place + 1}", name, sides)
    return found


def _between(process: str, direction: str, sides: Sequence[Side]) -> list[Track]:
    kept = [Side(0, 0, 0.0, None, None)]
    for side in sides:
        # During a ramp, and after the end of a job, totals stay where they are.
        if side.seconds > kept[-1].seconds and side.ios >= kept[-1].ios:
            kept.append(side)
    if not kept[-1].ios:
        return []
    pairs = list(pairwise(kept))
    begins, ends = (np.array([pair[at].seconds for pair in pairs]) for at in (0, 1))
    made = [
        Track("ios", process, direction, begins, ends,
              np.array([float(new.ios - old.ios) for old, new in pairs])),
        Track("bytes", process, direction, begins, ends,
              np.array([float(new.bytes - old.bytes) for old, new in pairs])),
    ]  # fmt: skip
    for name in ("lat", "clat"):
        totals = [(getattr(old, name), getattr(new, name)) for old, new in pairs]
        if any(new is None for _, new in totals):
            continue
        means = np.array([_mean_between(old, new) for old, new in totals])
        made.append(Track(name, process, direction, begins, ends, means))
        if all(new.bins.count for _, new in totals):
            hists = [_grown(old.bins if old else Histogram.empty(), new.bins)
                     for old, new in totals]  # fmt: skip
            made.append(Track("hist", process, direction, begins, ends, means, hists, of=name))
    return made


def _mean_between(old: Latency | None, new: Latency) -> float:
    count = new.samples - (old.samples if old else 0)
    total = new.mean_ns * new.samples - (old.mean_ns * old.samples if old else 0.0)
    return max(total / count, 0.0) if count > 0 else 0.0


def _grown(old: Histogram, new: Histogram) -> Histogram:
    """Return what a histogram has more than an earlier one."""
    before = dict(zip(old.ns.tolist(), old.counts.tolist(), strict=True))
    bins = [(ns, count - before.get(ns, 0))
            for ns, count in zip(new.ns.tolist(), new.counts.tolist(), strict=True)]  # fmt: skip
    return Histogram.of_bins(bins, max(new.sum_ns - old.sum_ns, 0.0))
