"""Response times of requests by size and over the run: the two figures of the source's talk.

```text
requests ─┬─ writes by power of two ─► chunks
          └─ 200 windows of the run ─► means, slow periods; requests of 100 ms and more
```
"Truth about eMMC performance benchmark" (A. Lee) draws write latency by chunk and over time, and
points at slow periods and at requests above 100 ms. It does not say when a period is slow: here,
when the mean of a window is three times that of the run.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from opennandlab.app.requests import P99_MIN, Counted, rank
from opennandlab.documents.app import (
    AppChunk,
    AppCourse,
    AppDocument,
    AppFloor,
    AppLong,
    AppPeriod,
    AppRelative,
    AppWindow,
)

WINDOWS: Final = 200
SLOW_TIMES: Final = 3.0
LONG_NS: Final = 100_000_000
LONGEST_MAX: Final = 100
CHUNK_MIN: Final = 4096


@dataclass(frozen=True)
class Timed:
    """A request that was answered.

    Args:
        kind: `read`, `write` or `flush`.
        length: Its bytes; 0 for a flush.
        begin_ns: When it began.
        took_ns: How long it took.
    """

    kind: str
    length: int
    begin_ns: int
    took_ns: int


def answered(counted: Counted) -> list[Timed]:
    """Return the requests that were counted."""
    found = [
        Timed(kind, length, start, took)
        for kind, key in (("read", "r"), ("write", "w"))
        for length, took, start in counted.sizes[key]
    ]
    return found + [Timed("flush", 0, start, took) for took, start in counted.flushes]


def chunks(requests: Sequence[Timed]) -> list[AppChunk]:
    """Return response times of writes by size.

    >>> [found] = chunks([Timed("write", 6000, 0, 2000), Timed("write", 8192, 9, 4000)])
    >>> found.bytes_max, found.count, found.min_us, found.mean_us, found.max_us
    (8192, 2, 2.0, 3.0, 4.0)
    """
    by_size: dict[int, list[int]] = {}
    for one in requests:
        if one.kind == "write":
            size = max(CHUNK_MIN, 1 << (one.length - 1).bit_length())
            by_size.setdefault(size, []).append(one.took_ns)
    found = []
    for size, times in sorted(by_size.items()):
        ordered = [time / 1000 for time in sorted(times)]
        found.append(
            AppChunk(
                bytes_max=size,
                count=len(ordered),
                min_us=ordered[0],
                mean_us=sum(times) / len(times) / 1000,
                p99_us=rank(ordered, 0.99) if len(ordered) >= P99_MIN else None,
                max_us=ordered[-1],
            )
        )
    return found


def course(requests: Sequence[Timed]) -> AppCourse | None:
    """Return response times over the run; None without writes and flushes."""
    changing = [one for one in requests if one.kind != "read"]
    if not changing:
        return None
    origin = min(one.begin_ns for one in requests)
    span = max(one.begin_ns for one in requests) - origin
    window_ns = span // WINDOWS + 1
    by_window: dict[int, list[int]] = {}
    for one in changing:
        by_window.setdefault((one.begin_ns - origin) // window_ns, []).append(one.took_ns)
    windows = [
        AppWindow(
            at_ms=place * window_ns / 1e6,
            count=len(times),
            mean_us=statistics.fmean(times) / 1000,
            max_us=max(times) / 1000,
        )
        for place, times in sorted(by_window.items())
    ]
    mean_us = statistics.fmean(one.took_ns for one in changing) / 1000
    long = sorted(
        (one for one in requests if one.took_ns >= LONG_NS),
        key=lambda one: (-one.took_ns, one.begin_ns),
    )
    return AppCourse(
        window_ms=window_ns / 1e6,
        windows=windows,
        slow_periods=_slow(windows, window_ns / 1e6, mean_us),
        long_ms=LONG_NS / 1e6,
        long_count=len(long),
        longest=[
            AppLong(
                at_ms=(one.begin_ns - origin) / 1e6,
                kind=one.kind,
                bytes=one.length,
                took_ms=one.took_ns / 1e6,
            )
            for one in long[:LONGEST_MAX]
        ],
        long_writes=sum(one.kind == "write" for one in long),
    )


def _slow(windows: Sequence[AppWindow], window_ms: float, mean_us: float) -> list[AppPeriod]:
    """Return windows in a row that are slow, as one period each."""
    groups: list[list[AppWindow]] = []
    for one in windows:
        if one.mean_us < SLOW_TIMES * mean_us:
            continue
        if groups and one.at_ms - groups[-1][-1].at_ms < 1.5 * window_ms:
            groups[-1].append(one)
        else:
            groups.append([one])
    found = []
    for group in groups:
        count = sum(one.count for one in group)
        own = sum(one.count * one.mean_us for one in group) / count
        found.append(
            AppPeriod(
                begin_ms=group[0].at_ms,
                end_ms=group[-1].at_ms + window_ms,
                count=count,
                mean_us=own,
                times=own / mean_us,
            )
        )
    return found


def relative(document: AppDocument, young: AppDocument) -> AppRelative | None:
    """Return ratios to the same suite on the young and clean drive; None where one was cut short.

    Args:
        document: Document of the drive in its state.
        young: Document of the drive young and clean.
    """
    ours, theirs = document.requests, young.requests
    if not (document.total_ms and young.total_ms and ours and theirs):
        return None

    def ratio(here: float | None, there: float | None) -> float | None:
        return here / there if here is not None and there else None

    longest = [
        max(one.response_ms.max for one in it.cases if one.response_ms) for it in (document, young)
    ]
    return AppRelative(
        run_time=document.total_ms.mean / young.total_ms.mean,
        read=ratio(ours.read.mean, theirs.read.mean),
        write=ratio(ours.write.mean, theirs.write.mean),
        flush=ratio(ours.flush.mean, theirs.flush.mean),
        write_longest=ratio(ours.write.max, theirs.write.max),
        response_longest=longest[0] / longest[1],
        **_floors(ours.small_write, theirs.small_write),
    )


def _floors(here: AppFloor | None, there: AppFloor | None) -> dict[str, float]:
    if here is None or there is None:
        return {}
    parts = ("p1", "p5", "p50")
    return {f"small_write_{part}": getattr(here, part) / getattr(there, part) for part in parts}
