"""A mix of streams on a simulated flash drive, request by request: each that ends makes the next.

The drive is stepped from event to event, at some 20 us a request. It reports its collections, but
neither those of each pool nor the pages that were moved: a cell that waits for collections ends
when the dies have had as many as asked on average.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from opennandlab import _core
from opennandlab.targets.base import (
    Limit,
    Measurement,
    Step,
    Stimulus,
    TargetError,
    Watcher,
    WornOutError,
)
from opennandlab.targets.course import Batch, Course
from opennandlab.targets.mixture import Drawn

# Requests drawn at once, and between two looks at the limit.
DRAWN, TOLD_EVERY = 1024, 256
# More requests at one time mean that no time passes.
STANDSTILL = 100_000


@dataclass
class _Pending:
    """A request that was made: thread, kind, size and begin."""

    thread: int
    kind: int
    size: int
    began_ns: int


class Loop:
    """A mix on a simulated drive: each request that ends makes the next one of its thread.

    Args:
        name: Name of the drive in errors.
        player: The drive.
        sources: The requests of each thread.
        depth: Requests outstanding per thread.
        limit: The end.
        dies: Of the drive, for `Limit.reclaims`.
    """

    def __init__(  # noqa: PLR0913, PLR0917 (one call)
        self,
        name: str,
        player: _core.Player,
        sources: Sequence[Drawn],
        depth: int,
        limit: Limit,
        dies: int,
    ) -> None:
        """Begin at time 0."""
        self._name, self._player, self._sources, self._depth = name, player, sources, depth
        self._limit, self._needed = limit, limit.reclaims * dies
        self.course = Course(limit)
        self._waiting: list[list[tuple[int, int, int]]] = [[] for _ in sources]
        self._pending: dict[int, _Pending] = {}
        self._ended: list[tuple[int, int, int, int]] = []
        self._token = 0
        self._next_ns: int | None = 0
        self._done: list[tuple[int, int, bool]] = []

    def run(self, watch: Watcher | None) -> None:
        """Serve requests until the limit, or the last one of counted ones.

        Raises:
            WornOutError: when the drive takes no more writes.
            TargetError: when no time passes.
        """
        now_ns = at_once = 0
        for thread in range(len(self._sources)):
            for _ in range(self._depth):
                self._make(thread, now_ns)
        while self._pending:
            if not self._done:
                before_ns, now_ns = now_ns, max(now_ns, self._next_ns or 0)
                at_once = at_once if now_ns == before_ns else 0
                self._step(now_ns, None)
            ended, self._done = self._done, []
            at_once += len(ended)
            for token, at_ns, is_refused in ended:
                if is_refused:
                    raise WornOutError(f"{self._name}: it is worn out and takes no more writes")
                one = self._pending.pop(token)
                self._ended.append((one.kind, one.size, one.began_ns, at_ns))
                self._make(one.thread, now_ns)
            if at_once > STANDSTILL:
                raise TargetError(f"{self._name}: no time passes: the range was never written")
            if len(self._ended) >= TOLD_EVERY and self._is_over(now_ns, watch):
                return
        self._tell()

    def measured(
        self, stimulus: Stimulus, capacity_bytes: int, sample_s: float | None
    ) -> Measurement:
        """Return what the time of the limit holds."""
        limit = self._limit
        if self._needed and self.course.ios > limit.ios:
            # Longer than its requests, until the dies have collected.
            ios = self.course.ios
            share = limit.ramp_ratio * limit.ios / ios
            self.course.limit = replace(limit, ios=ios, ramp_ratio=share)
        return self.course.measured(stimulus, capacity_bytes, sample_s)[0]

    def _is_over(self, now_ns: int, watch: Watcher | None) -> bool:
        self._tell()
        if watch is not None:
            watch(Step(self.course.fraction, now_ns * 1e-9))
        most_s = self._limit.seconds_max
        is_late = most_s is not None and now_ns >= most_s * 1e9
        return self.course.is_over and (is_late or self._has_collected())

    def _has_collected(self) -> bool:
        return not self._needed or json.loads(self._player.status())["collections"] >= self._needed

    def _tell(self) -> None:
        rows = np.array(self._ended, dtype=np.int64).reshape(-1, 4)
        self._ended.clear()
        rows = rows[np.argsort(rows[:, 3], kind="stable")]
        nowhere = np.zeros(len(rows), dtype=np.int64)
        self.course.add(Batch(rows[:, 0], nowhere, rows[:, 1]), rows[:, 2], rows[:, 3])

    def _make(self, thread: int, now_ns: int) -> None:
        """Make the next request of a thread, if it has one."""
        waiting = self._waiting[thread]
        if not waiting:
            columns = (column.tolist() for column in self._sources[thread].draw(DRAWN))
            waiting += reversed(list(zip(*columns, strict=True)))
        if waiting:
            kind, offset, size = waiting.pop()
            self._token += 1
            self._pending[self._token] = _Pending(thread, kind, size, now_ns)
            self._step(now_ns, (self._token, kind, offset, size))

    def _step(self, now_ns: int, request: tuple[int, int, int, int] | None) -> None:
        done, self._next_ns = self._player.step(now_ns, request)
        self._done += done
