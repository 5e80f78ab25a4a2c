"""Mixes of IO streams in one closed loop, of which each request is of one kind or another.

```text
weights ─► stream of the next request ─► its place: random, or at the end of its stream
                                                │
          fio (its log), discs, arrays ◄────────┴────────► simulated flash drives: a `Player`
```
fio and the core draw size and direction apart, and one order for all: neither has 10 % sequential
64 KiB reads next to 20 % random 4 KiB writes. So these requests are drawn here, from a counter, and
carried out there. Each thread draws for itself and has its own place in each sequential stream; all
of them share the range of the random ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from opennandlab.base.errors import ConfigError
from opennandlab.targets.base import IoStream, Stimulus
from opennandlab.targets.stamps import GOLDEN, mixed

READ, WRITE = 0, 1
UNIT_BYTES = 4096
# Of a draw: the bits of a double.
BITS = 53

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def of(base: Stimulus, streams: Sequence[IoStream], *, is_counted: bool = False) -> Stimulus:
    """Return a stimulus of several streams.

    Args:
        base: Threads, queue depth and range.
        streams: Its streams.
        is_counted: Whether their weights are counts.

    >>> pair = [IoStream("random", 4096, True, 3), IoStream("sequential", 8192, False, 1)]
    >>> found = of(Stimulus(), pair)
    >>> found.read_pct, found.block_bytes
    (75.0, ((4096, 3), (8192, 1)))
    """
    sizes: dict[int, float] = {}
    for one in streams:
        sizes[one.block_bytes] = sizes.get(one.block_bytes, 0) + one.weight
    total = sum(one.weight for one in streams)
    reads = sum(one.weight for one in streams if one.is_read)
    blocks = tuple(sizes.items())
    return replace(
        base,
        pattern="random",
        read_pct=100 * reads / total,
        block_bytes=blocks[0][0] if len(blocks) == 1 else blocks,
        streams=tuple(streams),
        is_counted=is_counted,
    )


class Drawn:
    """The requests of a thread, without end unless they are counted.

    Args:
        stimulus: The mix.
        capacity_bytes: Of the target.
        seed: Decides all of them.
        thread: Number of the thread, from 0.

    Raises:
        ConfigError: for a range without room, and one that is cut into segments.
    """

    def __init__(self, stimulus: Stimulus, capacity_bytes: int, seed: int, thread: int) -> None:
        """Begin at the first request."""
        part = stimulus.active_range
        if part.amount_bytes is not None:
            message = "segments, for a mix of streams; accepted: all of --active-range-pct"
            raise ConfigError("ar-amount", message)
        self._streams = stimulus.streams
        reach = int(capacity_bytes * part.share) // UNIT_BYTES * UNIT_BYTES
        self._reach, self._slice = reach, reach // stimulus.threads // UNIT_BYTES * UNIT_BYTES
        self._first = thread * self._slice
        largest = max(one.block_bytes for one in self._streams)
        if self._slice < largest:
            message = f"a part of {self._slice} bytes has no room for a request of {largest}"
            raise ConfigError("threads", f"{message}; accepted: fewer threads, or a larger target")
        weights = np.array([one.weight for one in self._streams], dtype=np.float64)
        self._limits = np.cumsum(weights) / weights.sum()
        with np.errstate(over="ignore"):
            self._key = mixed(np.uint64(seed) * GOLDEN + np.uint64(thread))
        self._drawn = 0
        # Next place of each sequential stream, in its own requests.
        self._places = (self._unit(len(weights), 2) * (1 << 40)).astype(np.int64)
        self._order = self._shuffled(weights) if stimulus.is_counted else None

    def draw(self, count: int) -> tuple[Ints, Ints, Ints]:
        """Return kinds, first bytes and bytes of the next requests.

        They are fewer, or none, at the end of counted ones.
        """
        if self._order is None:
            kinds = np.searchsorted(self._limits, self._unit(count, 0), side="right")
        else:
            kinds = self._order[self._drawn : self._drawn + count]
        offsets = np.zeros(len(kinds), dtype=np.int64)
        where = self._unit(len(kinds), 1)
        for number, one in enumerate(self._streams):
            own = np.flatnonzero(kinds == number)
            size = one.block_bytes
            if one.order == "random":
                offsets[own] = (where[own] * (self._reach // size)).astype(np.int64) * size
            else:
                places = self._places[number] + np.arange(len(own))
                offsets[own] = self._first + places % (self._slice // size) * size
                self._places[number] += len(own)
        self._drawn += len(kinds)
        sizes = np.array([one.block_bytes for one in self._streams], dtype=np.int64)
        ops = np.array([READ if one.is_read else WRITE for one in self._streams], dtype=np.int64)
        return ops[kinds], offsets, sizes[kinds]

    def lines(self, name: str, count: int) -> bytes:
        """Return requests as lines of a log of fio, as `_core.Stream` does."""
        rows = zip(*(column.tolist() for column in self.draw(count)), strict=True)
        words = (f"{name} read", f"{name} write")
        return "".join(f"{words[kind]} {at} {size}\n" for kind, at, size in rows).encode()

    def _unit(self, count: int, column: int) -> Floats:
        """Return the next numbers of a column from 0 to below 1."""
        counter = np.arange(self._drawn, self._drawn + count, dtype=np.uint64)
        with np.errstate(over="ignore"):
            words = mixed(self._key + (counter * np.uint64(4) + np.uint64(column)) * GOLDEN)
        found: Floats = (words >> np.uint64(64 - BITS)) / float(1 << BITS)
        return found

    def _shuffled(self, weights: Floats) -> Ints:
        """Return the streams of counted requests in random order."""
        kinds = np.repeat(np.arange(len(weights)), weights.astype(np.int64))
        return kinds[np.argsort(self._unit(len(kinds), 3), kind="stable")]


def sources(stimulus: Stimulus, capacity_bytes: int, seed: int) -> list[Drawn]:
    """Return the requests of each thread of a mix."""
    return [Drawn(stimulus, capacity_bytes, seed, thread) for thread in range(stimulus.threads)]
