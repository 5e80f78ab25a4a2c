"""The requests of a stimulus, drawn here and served by a model of Python: a disc, or an array.

```text
Stimulus ─► Source ─► kinds, offsets, sizes ─► the model ─► when each began and ended
                                                                  │
                                       Course ◄───────────────────┘ ─► Measurement
```
The addresses are those that the core draws for simulated drives and for fio (`_core.Stream`); with
the same stimulus and seed all of them get the same. `Course` knows when the limit is reached, which
part of the time is the ramp, and how long requests took. Times are whole nanoseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from opennandlab import _core
from opennandlab.base.errors import ConfigError
from opennandlab.stats.histogram import Histogram
from opennandlab.targets.base import Limit, Measurement, Requests, Sample, Stimulus
from opennandlab.targets.mixture import Drawn, sources
from opennandlab.targets.spec import stream_spec

READ, WRITE = 0, 1
# Words of the lines of `_core.Stream`, by the file name `x`; a trim is nothing to these models.
WORDS = ((b"x read", b"0"), (b"x write", b"1"), (b"x trim", b"2"))
UNIT_BYTES = 4096
# Bins of response times are known to this many bits: 0.05 to 0.1 %.
BIN_BITS = 11

# Requests that are drawn at once, at first, at least and at most.
BATCH_FIRST, BATCH_MIN, BATCH_MAX = 256, 64, 1 << 16

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Batch:
    """Requests in the order in which they are made; `int64, (requests,)`.

    Args:
        kinds: 0 for a read, 1 for a write.
        offsets: First bytes.
        sizes: Bytes.
    """

    kinds: Ints
    offsets: Ints
    sizes: Ints


class Source:
    """The requests of a stimulus, without end.

    Threads of a sequential stimulus take turns: each has an equal part of the queue, and requests
    that are served in their order are also made in this order.

    Raises:
        ConfigError: for a stimulus that these models do not take.
    """

    def __init__(self, stimulus: Stimulus, capacity_bytes: int, seed: int) -> None:
        """Begin at the first request."""
        check(stimulus)
        self._streams: Sequence[_core.Stream | Drawn]
        if stimulus.streams:
            self._streams = sources(stimulus, capacity_bytes, seed)
            return
        threads = stimulus.threads if stimulus.pattern == "sequential" else 1
        spec, room = stream_spec(stimulus), capacity_bytes // UNIT_BYTES * UNIT_BYTES
        self._streams = [_core.Stream(spec, room, seed, thread) for thread in range(threads)]

    def draw(self, count: int) -> Batch:
        """Return about `count` more requests: whole turns of the threads, trims left out."""
        each = -(-count // len(self._streams))
        columns = np.stack([_parsed(stream.lines("x", each)) for stream in self._streams], axis=1)
        rows = columns.reshape(-1, 3)
        rows = rows[rows[:, 0] <= WRITE]
        return Batch(rows[:, 0], rows[:, 1], rows[:, 2])


def check(stimulus: Stimulus) -> None:
    """Refuse a stimulus that only simulated flash drives take.

    Raises:
        ConfigError: with the accepted load.
    """
    for key in ("rate_per_s", "beside"):
        if getattr(stimulus, key):
            message = f"`{key}` is for simulated flash drives; accepted: one closed loop"
            raise ConfigError("target", message)
    if stimulus.is_counted:
        message = "requests by count are for flash drives and real targets; accepted: one of them"
        raise ConfigError("target", message)


def end_bytes(stimulus: Stimulus, capacity_bytes: int, moved: int) -> int:
    """Return where a sequential stream continues after `moved` bytes of all its threads."""
    if stimulus.pattern != "sequential":
        return 0
    part = stimulus.active_range
    room = int(capacity_bytes * part.share) // stimulus.threads // UNIT_BYTES * UNIT_BYTES
    if part.amount_bytes is not None:
        room = min(room, part.amount_bytes // stimulus.threads)
    block = stimulus.block_bytes
    size = block if isinstance(block, int) else max(size for size, _ in block)
    lap = max(room // size * size, size)
    return (stimulus.start_bytes + moved // stimulus.threads // size * size) % lap


def passed_over(stimulus: Stimulus, limit: Limit, capacity_bytes: int) -> Measurement | None:
    """Return the measurement of writes without a clock, on a drive that keeps only a position.

    None if the limit is a time, so that the clock decides how much they write.
    """
    if limit.seconds or limit.seconds_max is not None:
        return None
    block = stimulus.block_bytes
    pairs = ((block, 1.0),) if isinstance(block, int) else block
    mean = sum(size * weight for size, weight in pairs) / sum(weight for _, weight in pairs)
    moved = max(limit.bytes, round(limit.ios * mean))
    written = round(moved * (1 - stimulus.read_pct / 100))
    nothing = Requests(0, 0, Histogram.empty())
    end = end_bytes(stimulus, capacity_bytes, moved)
    return Measurement(0.0, None, nothing, nothing, written, end)


def _parsed(lines: bytes) -> npt.NDArray[np.int64]:
    for word, number in WORDS:
        lines = lines.replace(word, number)
    found = np.fromstring(lines.decode(), dtype=np.int64, sep=" ")
    return found.reshape(-1, 3)


@dataclass
class Course:
    """The requests that ended, in the order of their ends.

    Args:
        limit: The end of all.
    """

    limit: Limit
    ios: int = 0
    bytes: int = 0
    now_ns: int = 0
    _parts: list[tuple[Ints, Ints, Ints, Ints]] = field(default_factory=list)

    def add(self, served: Batch, began_ns: Ints, ended_ns: Ints) -> None:
        """Take requests in the order in which they ended, none before those taken already."""
        if not ended_ns.size:
            return
        self._parts.append((served.kinds, served.sizes, began_ns, ended_ns))
        self.ios += int(ended_ns.size)
        self.bytes += int(served.sizes.sum())
        self.now_ns = int(ended_ns[-1])

    @property
    def is_over(self) -> bool:
        """Whether the limit is reached."""
        limit = self.limit
        if limit.seconds_max is not None and self.now_ns >= limit.seconds_max * 1e9:
            return True
        is_enough = self.now_ns >= limit.seconds * 1e9 and self.bytes >= limit.bytes
        return bool(self.ios) and is_enough and self.ios >= limit.ios

    @property
    def missing(self) -> int:
        """An estimate of the requests that are still needed."""
        if not self.ios:
            return BATCH_FIRST
        left = self.ios * (1 / max(self.fraction, 1e-9) - 1)
        return int(min(max(1.02 * left, BATCH_MIN), BATCH_MAX))

    @property
    def fraction(self) -> float:
        """Part of the limit that is reached."""
        limit = self.limit
        shares = [
            done / asked
            for done, asked in (
                (self.now_ns, limit.seconds * 1e9),
                (self.ios, limit.ios),
                (self.bytes, limit.bytes),
            )
            if asked
        ]
        most = self.now_ns / (limit.seconds_max * 1e9) if limit.seconds_max else 0.0
        return min(1.0, max(min(shares, default=1.0), most))

    def measured(
        self, stimulus: Stimulus, capacity_bytes: int, sample_s: float | None
    ) -> tuple[Measurement, int]:
        """Return what the time of the limit holds, and how many requests ended in it."""
        columns = zip(*self._parts, strict=True)
        kinds, sizes, began, ended = (np.concatenate(column) for column in columns)
        moved = np.cumsum(sizes)
        end_ns = self._reached(1.0, moved, ended)
        if self.limit.seconds_max is not None:
            end_ns = min(end_ns, round(self.limit.seconds_max * 1e9))
        ramp_ns = self._reached(self.limit.ramp_ratio, moved, ended)
        count = int(np.searchsorted(ended, end_ns, side="right"))
        first = int(np.searchsorted(ended, ramp_ns, side="right")) if ramp_ns else 0
        kinds, sizes, ended = kinds[:count], sizes[:count], ended[:count]
        took = ended - began[:count]
        inside = np.arange(count) >= first
        reads, writes = (
            _requests(sizes[chosen], took[chosen])
            for chosen in (inside & (kinds == kind) for kind in (READ, WRITE))
        )
        found = Measurement(
            seconds=(end_ns - ramp_ns) / 1e9,
            elapsed_s=end_ns / 1e9,
            reads=reads,
            writes=writes,
            written_bytes=int(sizes[kinds == WRITE].sum()),
            end_bytes=end_bytes(stimulus, capacity_bytes, int(sizes.sum())),
            samples=_samples(sample_s, end_ns, sizes, took, ended),
        )
        return found, count

    def _reached(self, share: float, moved: Ints, ended: Ints) -> int:
        """Return when a share of the limit was reached."""
        limit, last = self.limit, ended.size - 1
        at = [round(share * limit.seconds * 1e9)]
        if ios := round(share * limit.ios):
            at.append(int(ended[min(ios - 1, last)]))
        if size := share * limit.bytes:
            at.append(int(ended[min(int(np.searchsorted(moved, size)), last)]))
        return max(at)


def _requests(sizes: Ints, took: Ints) -> Requests:
    if not took.size:
        return Requests(0, 0, Histogram.empty())
    # A bin is the number with its first bits; the exponent of a double is exact.
    shift = np.maximum(np.frexp(took.astype(np.float64))[1] - BIN_BITS, 0).astype(np.int64)
    places = ((took >> shift) << shift) + (np.left_shift(1, shift) >> 1)
    ns, counts = np.unique(places, return_counts=True)
    histogram = Histogram(ns, counts.astype(np.int64), float(took.sum()), int(took.max()))
    return Requests(int(took.size), int(sizes.sum()), histogram)


def _samples(
    sample_s: float | None, end_ns: int, sizes: Ints, took: Ints, ended: Ints
) -> tuple[Sample, ...]:
    if sample_s is None:
        return ()
    length = sample_s * 1e9
    edges = [round(length * (number + 1)) for number in range(int(end_ns / length + 1e-9))]
    found, first = [], 0
    for edge in edges:
        last = int(np.searchsorted(ended, edge, side="right"))
        part = took[first:last]
        mean, most = (
            (float(part.mean()) * 1e-3, int(part.max()) * 1e-3) if part.size else (None, None)
        )
        size = int(sizes[first:last].sum())
        found.append(Sample(edge / 1e9, last - first, size, mean, most))
        first = last
    return tuple(found)
