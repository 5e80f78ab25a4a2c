"""A magnetic disc as the target of a test, in virtual time: the baseline that is no flash.

Each request is served alone; how long it takes is `theory.disc`. A request that begins where the
last one ended streams: no seek and no wait, and the overhead hides behind the data. In a queue:

    fcfs      requests are served in the order in which they came
    nearest   of those that wait, the one with the shortest way for the head (shortest seek first,
              P. J. Denning, "Effects of scheduling on file memory operations", AFIPS 1967); all
              that are outstanding are known to the disc, and a far one may wait for long

What a disc does not have is null in documents: no write amplification, no life in bytes. Writes in
place need no purge, and idle time changes nothing. The write cache of real discs is not modelled.

Everything follows from file, stimulus and seed. Seek times come from a table, and the angle of the
platter from a mixed counter, so that no function of a machine's own decides a nanosecond.
"""

from __future__ import annotations

import hashlib
import json
import math
from functools import cache
from typing import Any, ClassVar

import numpy as np

from opennandlab import _core
from opennandlab.base.canonical import canonical_json
from opennandlab.base.errors import ConfigError
from opennandlab.documents import pts_header
from opennandlab.targets.base import (
    CacheState,
    Limit,
    Measurement,
    Purge,
    Step,
    Stimulus,
    Target,
    TargetError,
    Watcher,
)
from opennandlab.targets.course import Batch, Course, Ints, Source, check, passed_over
from opennandlab.targets.stamps import GOLDEN, MIX_1, MIX_2, mixed
from opennandlab.theory.disc import KIND, Disc, Seek

# Knots of the table of seek times, at squares of equal steps: the curve is steep at first.
KNOTS = 4096
TURN_BITS = 53
MASK = (1 << 64) - 1


class Mechanics:
    """The arm and the platter of a disc: how long requests take, one after the other.

    Args:
        disc: The file.
        seed: Decides the angle of the platter when the head arrives.
    """

    def __init__(self, disc: Disc, seed: int, head: int) -> None:
        """Begin with the head behind a byte."""
        self.disc, self.head = disc, head
        self._seed, self._served = np.uint64(seed), 0
        self._tables = [_table(seek) for seek in (disc.read, disc.write)]
        self._lists: list[list[int]] = [table.tolist() for table in self._tables]
        self._turn_ns = round(disc.turn_ms * 1e6)
        self._overhead_ns = round(disc.overhead_ms * 1e6)

    def seek_ns(self, kinds: Ints, offsets: Ints, heads: Ints) -> Ints:
        """Return the time of the arm from some places to others."""
        track = self.disc.bytes_per_track
        ways = np.abs(offsets - heads)
        steps = np.sqrt(ways / self.disc.capacity_bytes) * KNOTS
        index = np.minimum(steps.astype(np.int64), KNOTS - 1)
        part = steps - index
        found = np.zeros(offsets.size, dtype=np.int64)
        for kind, table in enumerate(self._tables):
            rise = ((table[index + 1] - table[index]) * part).astype(np.int64)
            found = np.where(kinds == kind, table[index] + rise, found)
        return np.where(offsets // track == heads // track, 0, found)

    def serve(self, batch: Batch) -> Ints:
        """Return the time of each request, served in this order."""
        ends = batch.offsets + batch.sizes
        heads = np.concatenate([[self.head], ends[:-1]])
        data = (batch.sizes * 1e9 / self.disc.bytes_per_s).astype(np.int64)
        counter = np.arange(self._served, self._served + ends.size, dtype=np.uint64)
        with np.errstate(over="ignore"):
            words = mixed(mixed(self._seed * GOLDEN) + counter * GOLDEN)
        share = (words >> np.uint64(64 - TURN_BITS)) / float(1 << TURN_BITS)
        turn = (share * self._turn_ns).astype(np.int64)
        arm = self.seek_ns(batch.kinds, batch.offsets, heads)
        self.head, self._served = int(ends[-1]), self._served + int(ends.size)
        streamed = np.maximum(data, self._overhead_ns)
        return np.where(batch.offsets == heads, streamed, self._overhead_ns + arm + turn + data)

    def serve_one(self, kind: int, offset: int, size: int) -> int:
        """Return the time of one request, the same as `serve` does, at a fifth of the cost."""
        disc, head = self.disc, self.head
        data = int(size * 1e9 / disc.bytes_per_s)
        word = _mixed(_mixed(int(self._seed) * int(GOLDEN)) + self._served * int(GOLDEN))
        self.head, self._served = offset + size, self._served + 1
        if offset == head:
            return max(data, self._overhead_ns)
        turn = int((word >> (64 - TURN_BITS)) / float(1 << TURN_BITS) * self._turn_ns)
        if offset // disc.bytes_per_track == head // disc.bytes_per_track:
            return self._overhead_ns + turn + data
        steps = math.sqrt(abs(offset - head) / disc.capacity_bytes) * KNOTS
        index, table = min(int(steps), KNOTS - 1), self._lists[kind]
        arm = table[index] + int((table[index + 1] - table[index]) * (steps - index))
        return self._overhead_ns + arm + turn + data


class DiscTarget(Target):
    """A disc in virtual time.

    Args:
        document: The file, with `kind: disc`.
        model: Its name: of the preset or file.
        name: As the user named it.

    `head` is the byte behind which the head is.

    Raises:
        ConfigError: for a disc that is invalid.
    """

    kind: ClassVar[str] = "sim"
    is_virtual: ClassVar[bool] = True
    prefers_full = True
    has_no_memory = True

    def __init__(self, document: dict[str, Any], model: str, name: str) -> None:
        """Begin with the head at the start."""
        self.disc = Disc.of(document)
        self.name, self._model = name, model
        self.capacity_bytes = self.disc.capacity_bytes
        self.sector_bytes = 512
        self.waf_missing = "a disc writes in place"
        self.head = 0
        self._is_open = True

    def facts(self) -> pts_header.Target:
        """Return the facts of the disc for a report."""
        return facts_of(self, self._model, self.disc.to_dict())

    def host_path(self) -> pts_header.HostPath:
        """Return the way through the simulated host."""
        order = {"fcfs": "in the order in which they came", "nearest": "the shortest seek first"}
        return pts_header.HostPath(
            engine="simulated host",
            layer=f"no link; the disc serves one request at a time, {order[self.disc.queue]}",
            direct=None,
            notes=["requests under way when a cell ends are dropped"],
        )

    def set_cache(self, *, enabled: bool) -> CacheState:
        """Have none: the write cache of real discs is not modelled."""
        del enabled
        return "absent"

    def purge(self) -> Purge:
        """Bring the head to the start: all else is as if nothing had been written."""
        self.head = 0
        return Purge("none needed", is_purge=True, note="a disc writes in place")

    def check(self, stimulus: Stimulus) -> None:
        """Refuse what `run` would."""
        check(stimulus)

    def run(  # noqa: PLR0913 (as in the base)
        self,
        stimulus: Stimulus,
        limit: Limit,
        *,
        seed: int,
        sample_s: float | None = None,
        is_measured: bool = True,
        watch: Watcher | None = None,
    ) -> Measurement:
        """Apply a stimulus until its limit; see `base.Target.run`.

        Raises:
            ConfigError: for a stimulus that a disc does not take; nothing was done.
        """
        if not self._is_open:
            raise TargetError(f"{self.name}: it was closed")
        source = Source(stimulus, self.capacity_bytes, seed)
        passed = None if is_measured else passed_over(stimulus, limit, self.capacity_bytes)
        if passed is not None:
            return passed
        course = Course(limit)
        queue = _Queue(Mechanics(self.disc, seed, self.head), stimulus.outstanding)
        while not course.is_over:
            queue.serve(source.draw(course.missing), course)
            if watch is not None:
                watch(Step(course.fraction, course.now_ns * 1e-9))
        found, done = course.measured(stimulus, self.capacity_bytes, sample_s)
        self.head = int(queue.places[done - 1]) if done else self.head
        return found

    def idle(self, seconds: float) -> None:
        """Change nothing: a disc has no work for its pauses."""
        if not 0.0 <= seconds <= 1e9:
            raise ConfigError("idle", f"`{seconds}` is out of range; accepted: 0 to 1e9 seconds")

    def checkpoint(self) -> bytes | None:
        """Return where the head is, which is all that a disc remembers."""
        return json.dumps({KIND: self.disc.to_dict(), "head": self.head}).encode()

    def restore(self, state: bytes) -> None:
        """Take a state that `checkpoint` returned.

        Raises:
            TargetError: for bytes that are no checkpoint, or one of another disc.
        """
        try:
            found = json.loads(state)
            if found[KIND] != self.disc.to_dict():
                raise TargetError(f"{self.name}: the checkpoint belongs to another disc")
            self.head = int(found["head"])
        except (ValueError, KeyError, TypeError) as error:
            raise TargetError(f"{self.name}: no checkpoint of a disc") from error

    def close(self) -> None:
        """Take no requests any more."""
        self._is_open = False


class _Queue:
    """Requests before the head: a closed loop, in which each that ends makes the next one.

    The order depends on places alone, not on times; so it is decided first, in a loop only for
    `nearest`, and the times of a whole batch follow.
    """

    def __init__(self, mechanics: Mechanics, outstanding: int) -> None:
        """Begin without requests, at time 0."""
        self._mechanics = mechanics
        self._outstanding = outstanding
        self._is_nearest = mechanics.disc.queue == "nearest" and outstanding > 1
        self._head, self._now_ns = mechanics.head, 0
        # Rows of those that wait: kind, offset, size; and when each was made.
        self._rows = np.zeros((0, 3), dtype=np.int64)
        self._made_ns = np.zeros(0, dtype=np.int64)
        self._parts: list[Ints] = []

    @property
    def places(self) -> Ints:
        """Where the head was after each request."""
        return np.concatenate(self._parts)

    def serve(self, batch: Batch, course: Course) -> None:
        """Serve as many requests as come, and add them to the course."""
        fresh = np.stack([batch.kinds, batch.offsets, batch.sizes], axis=1)
        rows = np.concatenate([self._rows, fresh])
        waiting = min(self._outstanding, len(rows))
        order, makers, slots = self._order(rows[:, 1], rows[:, 1] + rows[:, 2], waiting)
        if not len(order):
            self._rows, self._made_ns = rows, np.zeros(len(rows), dtype=np.int64)
            return
        served = Batch(*rows[order].T)
        ended = self._now_ns + np.cumsum(self._mechanics.serve(served))
        # Those that wait at first were made before; each of the others when its maker ended.
        made = np.concatenate([self._made_ns, np.zeros(waiting - len(self._made_ns), np.int64)])
        made = np.concatenate([made, ended[makers]])
        course.add(served, made[order], ended)
        self._rows, self._made_ns = rows[slots], made[slots]
        self._parts.append(served.offsets + served.sizes)
        self._now_ns = int(ended[-1])

    def _order(self, starts: Ints, ends: Ints, waiting: int) -> tuple[Ints, Ints, Ints]:
        """Return the rows in the order of service, the maker of each row, and what then waits.

        The first `waiting` rows wait at first; each service makes the next row.
        """
        count = len(starts) - waiting
        everything = np.arange(len(starts), dtype=np.int64)
        if not self._is_nearest:
            return everything[:count], everything[:count], everything[count:]
        slots = everything[:waiting].copy()
        places = starts[:waiting].copy()
        order = np.zeros(count, dtype=np.int64)
        for service in range(count):
            slot = int(np.abs(places - self._head).argmin())
            row = slots[slot]
            order[service] = row
            self._head = ends[row]
            slots[slot], places[slot] = waiting + service, starts[waiting + service]
        return order, everything[:count], slots


def _mixed(word: int) -> int:
    """Return the finaliser of splitmix64 of one word, as `mixed` does of many."""
    word &= MASK
    word = ((word ^ (word >> 30)) * int(MIX_1)) & MASK
    word = ((word ^ (word >> 27)) * int(MIX_2)) & MASK
    return word ^ (word >> 31)


@cache
def _table(seek: Seek) -> Ints:
    """Return the seek times at squares of equal steps, in nanoseconds."""
    rise = seek.full - seek.track
    times = [
        seek.track + rise * math.pow((step / KNOTS) ** 2, seek.exponent)
        for step in range(KNOTS + 1)
    ]
    return np.array([round(ms * 1e6) for ms in times], dtype=np.int64)


def facts_of(target: Target, model: str, config: dict[str, Any]) -> pts_header.Target:
    """Return the facts of a target that a file describes; no machine is in them."""
    text = canonical_json(config)
    return pts_header.Target(
        kind=target.kind,
        name=target.name,
        device=pts_header.DeviceFacts(
            vendor="opennandlab",
            model=model,
            firmware=_core.version(),
            serial_sha256=None,
            capacity_bytes=target.capacity_bytes,
            sector_bytes=target.sector_bytes,
            nand_type=None,
            interface=None,
            config=config,
            config_sha256=hashlib.sha256(text.encode()).hexdigest(),
            data="no effect by design",
        ),
        platform={
            "simulator_version": _core.version(),
            "model_version": _core.model_version(),
        },
    )
