"""Requests that were counted while cases ran: by class of sizes, and their response times.

Rates are given twice: over the busy time of a class, which is the sum of the response times of its
requests, and over the run time of all cases. The source's classes exceed its totals, so its rates
are of the first kind; its "128-512K" reads average 100 kB, so its classes are intervals.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from opennandlab.app.trace import FLUSH, FUA_WRITE, MARK, READ, TRIM, WRITE, Request
from opennandlab.documents.app import AppFloor, AppIo, AppLatency, AppRequests

KIB: Final = 1024
# Name and largest size of each class.
CLASSES: Final = (
    ("<= 8 KiB", 8 * KIB),
    ("(8, 64] KiB", 64 * KIB),
    ("(64, 512] KiB", 512 * KIB),
    ("> 512 KiB", 1 << 62),
)
PAGE: Final = 4096
# Fewer samples than this have no 99th percentile.
P99_MIN: Final = 100


def rank(ordered: Sequence[float], share: float) -> float:
    """Return a percentile of ordered samples by nearest rank.

    >>> rank([1.0, 2.0, 3.0, 4.0], 0.5), rank([1.0], 0.99)
    (2.0, 1.0)
    """
    return ordered[max(0, -(-int(share * 10_000) * len(ordered) // 10_000) - 1)]


def busy_ns(
    requests: Sequence[Request],
    times: Sequence[tuple[int, int]],
    windows: Sequence[tuple[int, int]],
) -> int:
    """Return the time of windows, in order of time, in which the drive had a request.

    >>> made = [Request(WRITE, 0, 0, 4096, 0, 0)] * 3
    >>> busy_ns(made, [(0, 4), (2, 6), (9, 20)], [(1, 10), (12, 13)])
    7
    """
    busy = sorted(
        (start, end)
        for one, (start, end) in zip(requests, times, strict=True)
        if one.kind != MARK and end > start
    )
    total, place, until = 0, 0, 0
    for begin, finish in windows:
        until = max(until, begin)
        while place < len(busy) and busy[place][0] < finish:
            start, end = busy[place]
            total += max(0, min(end, finish) - max(start, until))
            until = max(until, min(end, finish))
            if end > finish:
                break
            place += 1
    return total


@dataclass(frozen=True)
class Moved:
    """Reads and writes of a case in its iterations.

    Args:
        operations: Reads and writes.
        bytes: Theirs.
        waited_ns: Sum of their response times.
        busy_ns: Time in which one of them, or a flush, was waited for.
    """

    operations: int = 0
    bytes: int = 0
    waited_ns: int = 0
    busy_ns: int = 0

    def __add__(self, other: Moved) -> Moved:
        """Return the sum of two."""
        return Moved(
            self.operations + other.operations,
            self.bytes + other.bytes,
            self.waited_ns + other.waited_ns,
            self.busy_ns + other.busy_ns,
        )


def moved(
    requests: Sequence[Request],
    times: Sequence[tuple[int, int]],
    windows: Sequence[tuple[int, int]],
) -> Moved:
    """Count the reads and writes that began in windows, which are in order of time.

    >>> made = [Request(WRITE, 0, 0, 4096, 0, 0)] * 3
    >>> moved(made, [(0, 4), (2, 6), (9, 20)], [(1, 10), (12, 13)])
    Moved(operations=2, bytes=8192, waited_ns=15, busy_ns=7)
    """
    begins = [begin for begin, _ in windows]
    own = [
        (one.length, end - start)
        for one, (start, end) in zip(requests, times, strict=True)
        if one.kind in {READ, WRITE, FUA_WRITE}
        and end > start
        and (at := bisect_right(begins, start))
        and start < windows[at - 1][1]
    ]
    return Moved(
        len(own),
        sum(length for length, _ in own),
        sum(took for _, took in own),
        busy_ns(requests, times, windows),
    )


@dataclass
class Counted:
    """Requests with their response times, collected case by case.

    Args:
        sizes: Bytes, nanoseconds and begin of reads, and of writes.
        flushes: Nanoseconds and begin of flushes.
        trims: Bytes of trims.
        fua: Writes with force unit access.
        refused: Writes that were refused.
    """

    sizes: dict[str, list[tuple[int, int, int]]] = field(default_factory=lambda: {"r": [], "w": []})
    flushes: list[tuple[int, int]] = field(default_factory=list)
    trims: list[int] = field(default_factory=list)
    fua: int = 0
    refused: int = 0

    def add(self, requests: Sequence[Request], times: Sequence[tuple[int, int]]) -> None:
        """Count requests.

        Args:
            requests: What was asked.
            times: When each began and ended, in nanoseconds; an end of 0 was refused.
        """
        for one, (start, end) in zip(requests, times, strict=True):
            if one.kind == MARK:
                continue
            if end == 0:
                self.refused += 1
                continue
            took = end - start
            if one.kind == READ:
                self.sizes["r"].append((one.length, took, start))
            elif one.kind in {WRITE, FUA_WRITE}:
                self.sizes["w"].append((one.length, took, start))
                self.fua += one.kind == FUA_WRITE
            elif one.kind == FLUSH:
                self.flushes.append((took, start))
            elif one.kind == TRIM:
                self.trims.append(one.length)

    def table(self, wall_ns: int) -> list[AppIo]:
        """Return the rows of the I/O table, the total first."""
        rows = [self._row("total", 0, 1 << 62, wall_ns)]
        low = 0
        for name, high in CLASSES:
            rows.append(self._row(name, low, high, wall_ns))
            low = high
        return rows

    def _row(self, name: str, low: int, high: int, wall_ns: int) -> AppIo:
        counts: dict[str, tuple[int, int, int]] = {}
        for kind, sizes in self.sizes.items():
            own = [one for one in sizes if low < one[0] <= high]
            counts[kind] = (len(own), sum(one[0] for one in own), sum(one[1] for one in own))
        (reads, read_bytes, read_ns), (writes, write_bytes, write_ns) = counts["r"], counts["w"]
        return AppIo(
            size=name,
            reads=reads,
            read_bytes=read_bytes,
            writes=writes,
            write_bytes=write_bytes,
            read_busy_ms=read_ns / 1e6,
            write_busy_ms=write_ns / 1e6,
            read_iops_busy=_rate(reads, read_ns),
            read_mb_s_busy=_rate(read_bytes / 1e6, read_ns),
            write_iops_busy=_rate(writes, write_ns),
            write_mb_s_busy=_rate(write_bytes / 1e6, write_ns),
            read_iops_wall=_rate(reads, wall_ns),
            read_mb_s_wall=_rate(read_bytes / 1e6, wall_ns),
            write_iops_wall=_rate(writes, wall_ns),
            write_mb_s_wall=_rate(write_bytes / 1e6, wall_ns),
        )

    def summary(self) -> AppRequests:
        """Return counts and response times."""
        writes = self.sizes["w"]
        small = sorted(took / 1000 for length, took, _ in writes if length == PAGE)
        return AppRequests(
            read=_latency([took for _, took, _ in self.sizes["r"]]),
            write=_latency([took for _, took, _ in writes]),
            flush=_latency([took for took, _ in self.flushes]),
            trims=len(self.trims),
            trim_bytes=sum(self.trims),
            fua=self.fua,
            refused=self.refused,
            small_write_ratio=len(small) / len(writes) if writes else None,
            small_write=_floor(small),
        )


def _rate(amount: float, ns: int) -> float | None:
    return amount * 1e9 / ns if amount and ns else None


def _floor(ordered: list[float]) -> AppFloor | None:
    if len(ordered) < P99_MIN:
        return None
    p1, p5, p50 = (rank(ordered, share) for share in (0.01, 0.05, 0.5))
    return AppFloor(count=len(ordered), p1=p1, p5=p5, p50=p50)


def _latency(times: list[int]) -> AppLatency:
    if not times:
        return AppLatency(count=0, mean=None, p50=None, p99=None, max=None)
    ordered = [one / 1000 for one in sorted(times)]
    return AppLatency(
        count=len(ordered),
        mean=sum(times) / len(times) / 1000,
        p50=rank(ordered, 0.5),
        p99=rank(ordered, 0.99) if len(ordered) >= P99_MIN else None,
        max=ordered[-1],
    )
