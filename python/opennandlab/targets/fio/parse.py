"""fio's JSON: counts, histograms of response times, and pieces in time.

With `--output-format=json+` fio gives the bins of the histogram of `lat` (submission to
completion): 64 per power of two, so 1.6 % wide, each under its middle. Mean and maximum are exact
next to them. `--status-interval` appends a whole document of running totals each time; the
differences of two of them are exact counts of a piece. The maximum of a piece is exact when it is
the largest until then, else it is the last bin that grew.

Notes that fio prints before the first document are kept as its message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from opennandlab.measured.fio import text as pieces
from opennandlab.measured.fio.record import Side, of_side, version_of
from opennandlab.stats.histogram import Histogram
from opennandlab.targets.base import Requests, Sample

# A document begins with the version, whatever notes stand before it.
CUT = "the output of fio is cut off or damaged"
START = re.compile(r'^\{\s*"fio version"', re.MULTILINE)
SIDES = ("read", "write")
# fio's numbers of clocks; the first, gettimeofday, is none that it chooses by itself.
CLOCK = re.compile(r"gettime: clocksource=(\d)")
CLOCKS = {"2": "clock_gettime", "3": "cpu"}


class OutputError(ValueError):
    """Output that fio did not end, or that is not fio's."""


@dataclass(frozen=True)
class Totals:
    """Running totals of a job.

    Args:
        seconds: Time in which they came about, the ramp left out.
        reads: Requests that read.
        writes: Requests that wrote.
        cpu_pct: Time in user and kernel mode, in percent of one thread's time.
        util_pct: How long the disk below was busy, in percent; None when fio does not say.
        error: fio's error number; 0 for none.
        parts: The same of each of several jobs; nothing for one.
    """

    seconds: float
    reads: Requests
    writes: Requests
    cpu_pct: float
    util_pct: float | None
    error: int
    parts: tuple[Totals, ...] = ()

    @property
    def ios(self) -> int:
        """Requests of both kinds."""
        return self.reads.ios + self.writes.ios

    @property
    def bytes(self) -> int:
        """Bytes of both kinds."""
        return self.reads.bytes + self.writes.bytes


def each(text: str) -> Iterator[dict[str, Any]]:
    """Yield the documents of an output, one after the other: there may be thousands.

    Raises:
        OutputError: at one that is cut off or damaged.
    """
    try:
        for document, _, _ in pieces.each(text):
            yield document
    except pieces.CutError as error:
        raise OutputError(f"{CUT}: {error} at character {error.at}") from error


def last(text: str) -> tuple[dict[str, Any], str]:
    """Return the last document of an output, and the notes around the documents.

    Raises:
        OutputError: when there is none, or when the last one is cut off.
    """
    starts = [match.start() for match in START.finditer(text)]
    if not starts:
        raise OutputError(f"fio wrote no result: {text.strip()[:300] or 'its output is empty'}")
    try:
        document, end = json.JSONDecoder().raw_decode(text, starts[-1])
    except (ValueError, RecursionError) as error:
        raise OutputError(f"{CUT}: {error}") from error
    return document, (text[: starts[0]] + text[end:]).strip()


def clock(text: str) -> str | None:
    """Return the `clocksource` that fio chose, of an output with `--debug=time`; None if unknown.

    >>> clock("time     4711 gettime: clocksource=3")
    'cpu'
    """
    found = CLOCK.search(text)
    return CLOCKS.get(found[1]) if found else None


def totals(document: dict[str, Any]) -> Totals:
    """Read one document, with one group of jobs or several at the same time.

    During the ramp fio counts requests, but keeps no response times: such a document says nothing
    of what is measured, and its time is 0.

    Raises:
        OutputError: when something that we need is missing.
    """
    try:
        first, *others = (_of_job(job, document) for job in document["jobs"])
        return _together((first, *others)) if others else first
    except (KeyError, TypeError, ValueError) as error:
        raise OutputError(f"the output of fio lacks what is expected: {error!r}") from error


def _together(parts: tuple[Totals, ...]) -> Totals:
    """Return jobs at the same time as one."""

    def joined(sides: list[Requests]) -> Requests:
        latency = Histogram.merged([side.latency for side in sides])
        return Requests(sum(it.ios for it in sides), sum(it.bytes for it in sides), latency)

    return Totals(
        seconds=max(part.seconds for part in parts),
        reads=joined([part.reads for part in parts]),
        writes=joined([part.writes for part in parts]),
        cpu_pct=sum(part.cpu_pct for part in parts),
        util_pct=parts[0].util_pct,
        error=next((part.error for part in parts if part.error), 0),
        parts=parts,
    )


def _of_job(job: dict[str, Any], document: dict[str, Any]) -> Totals:
    version = version_of(document)
    sides = {name: of_side(job[name], version, ("lat",)) for name in (*SIDES, "trim")}
    seconds = max(side.seconds for side in sides.values())
    reads, writes = (_requests(sides[name], job[name]["lat_ns"]["N"]) for name in SIDES)
    if reads.ios + writes.ios == 0:
        reads = writes = Requests(0, 0, Histogram.empty())
        seconds = 0.0
    disks = document.get("disk_util") or []
    util = float(disks[0]["util"]) if len(disks) == 1 and "util" in disks[0] else None
    return Totals(
        seconds=seconds,
        reads=reads,
        writes=writes,
        cpu_pct=float(job["usr_cpu"]) + float(job["sys_cpu"]),
        util_pct=None if util is None else min(util, 100.0),
        error=int(job["error"]),
    )


def _requests(side: Side, count: int) -> Requests:
    """Read one direction; the histogram counts, so that it and the number of requests agree."""
    bins = Histogram.empty() if side.lat is None else side.lat.bins
    if count and side.ios and not bins.count:
        raise ValueError("no bins of lat_ns")
    return Requests(ios=bins.count, bytes=side.bytes, latency=bins)


def samples(series: list[Totals], sample_s: float, start_s: float = 0.0) -> list[Sample]:
    """Cut running totals into pieces of nearly equal length.

    fio counts its intervals from the start of the process, not of the requests, so the first and
    the last piece are shorter. One of less than half of `sample_s` is joined to its neighbour;
    counts of pieces that are longer or shorter are brought to `sample_s` in proportion.

    Args:
        series: Totals at the ends of the pieces, ascending in time.
        sample_s: Length asked for.
        start_s: Time of the stimulus before the first piece.
    """
    marks = [mark for mark in series if mark.seconds > 0]
    kept: list[Totals] = []
    before = 0.0
    for index, mark in enumerate(marks):
        is_last = index == len(marks) - 1
        if mark.seconds - before < sample_s / 2 and not (is_last and not kept):
            if is_last:
                kept[-1] = mark
            continue
        kept.append(mark)
        before = mark.seconds
    pieces = []
    last: Totals | None = None
    for mark in kept:
        pieces.append(_piece(last, mark, sample_s, start_s))
        last = mark
    return pieces


def _piece(last: Totals | None, mark: Totals, sample_s: float, start_s: float) -> Sample:
    """Return what came between two totals."""
    length = mark.seconds - (last.seconds if last else 0.0)
    ios = mark.ios - (last.ios if last else 0)
    size = mark.bytes - (last.bytes if last else 0)
    now = Histogram.merged([mark.reads.latency, mark.writes.latency])
    was = Histogram.merged([last.reads.latency, last.writes.latency]) if last else Histogram.empty()
    if ios <= 0:
        return Sample(start_s + mark.seconds, 0, max(size, 0), None, None)
    mean_us = (now.sum_ns - was.sum_ns) / ios * 1e-3
    scale = sample_s / length
    return Sample(
        end_s=start_s + mark.seconds,
        ios=round(ios * scale),
        bytes=round(size * scale),
        latency_us_mean=mean_us,
        latency_us_max=_largest_ns(was, now) * 1e-3,
    )


def _largest_ns(was: Histogram, now: Histogram) -> int:
    """Return the largest response time that came since an earlier total."""
    if now.max_ns > was.max_ns:
        return now.max_ns
    before = dict(zip(was.ns.tolist(), was.counts.tolist(), strict=True))
    grown = [
        ns
        for ns, count in zip(now.ns.tolist(), now.counts.tolist(), strict=True)
        if count > before.get(ns, 0)
    ]
    return min(max(grown, default=0), now.max_ns)
