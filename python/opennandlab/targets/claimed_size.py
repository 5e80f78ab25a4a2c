"""Is a drive as large as it claims? Stamps are written all over it, and read again.

A drive that claims more than it has either *wraps* (an address beyond its end is an address at its
start), or *loses* all data beyond (reads give zeros, garbage, one and the same block, or an error).
Both look sound until they are full.

    1  stamps: the last two blocks, all multiples of R from the highest down, then the first R bytes
    2  flush, and *wash*: as many bytes as a cache may hold go between the lowest stamps
    3  read, in the order of the writes: the oldest stamps have left the caches first

R is 1 MiB, or a 4096th of a larger drive. Why this order: a drive of S bytes puts the stamp of x at
x mod S, where the stamp of a lower address overwrites it later. Some multiple of R, x, is between S
and S + R, and its place, x - S, within the first R bytes, which were all stamped after it: x reads
another stamp, o, and x - o = S. Stamps elsewhere, and those of the wash, are wrong by multiples of
S; the greatest common divisor of all differences is S. That is confirmed: the stamp of address S
must be gone after that of address 0 was written.

Lost data have no such arithmetic: the end is between the highest stamp that was found and the
lowest that was not, and bisection finds it to the sector. The same is done if only the upper part
of the drive wraps. With `is_full` every byte is stamped, in the same order, and there is no wash:
the reads of the end of the drive clear the caches of its start.

Not found are: a drive with a cache larger than the wash; unless `is_full`, damage between the
stamps, and a drive of which only the upper part wraps; and how long data last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import gcd

import numpy as np

from opennandlab.base.errors import ConfigError
from opennandlab.targets.base import TargetError
from opennandlab.targets.raw import REQUEST_BYTES_MAX, Raw, RequestError
from opennandlab.targets.stamps import SECTOR_BYTES, Flags, seen, stamped

STAMP_BYTES = 4096
# At the end two blocks: where one block answers for all that is lost, one would look sound.
TAIL_BYTES = 2 * STAMP_BYTES
STEPS_MAX = 4096
STEP_BYTES_MIN = 1 << 20
CAPACITY_MIN = 64 << 10
# The wash of a step of the bisection has at least 16 pieces, because some are left out.
WASH_PIECES = 16

Piece = tuple[int, int]


@dataclass(frozen=True)
class Plan:
    """What a check does to a target.

    Args:
        capacity_bytes: Bytes that it claims, in whole sectors.
        unit_bytes: Size of a sector.
        is_full: Whether every byte is written and read.
        cache_bytes: What caches may hold.
    """

    capacity_bytes: int
    unit_bytes: int
    is_full: bool
    cache_bytes: int

    @property
    def step_bytes(self) -> int:
        """R: the distance of stamps, and the part at the start that is stamped in full."""
        step = max(STEP_BYTES_MIN, self.capacity_bytes // STEPS_MAX)
        return -(-step // STAMP_BYTES) * STAMP_BYTES

    def pieces(self) -> Iterator[Piece]:
        """Yield offset and length of all stamped pieces, from the end to the start."""
        end = self.capacity_bytes
        last = end - TAIL_BYTES
        if not self.is_full and last >= self.step_bytes:
            yield last, TAIL_BYTES
            for number in range(last // self.step_bytes, 0, -1):
                if number * self.step_bytes + STAMP_BYTES <= last:
                    yield number * self.step_bytes, STAMP_BYTES
            end = self.step_bytes
        for number in range((end - 1) // REQUEST_BYTES_MAX, -1, -1):
            start = number * REQUEST_BYTES_MAX
            yield start, min(REQUEST_BYTES_MAX, end - start)

    def wash(self) -> Iterator[Piece]:
        """Yield the pieces that are written between the stamps, to leave no stamp in a cache."""
        room, step = self.cache_bytes, self.step_bytes
        if self.is_full:
            return
        last = self.capacity_bytes - TAIL_BYTES
        for start in range(step, last, step):
            for offset, length in _cut(start + STAMP_BYTES, min(start + step, last)):
                part = min(length, room) // self.unit_bytes * self.unit_bytes
                if part:
                    yield offset, part
                room -= part

    @property
    def stamp_bytes(self) -> int:
        """Bytes of all stamps."""
        return sum(length for _, length in self.pieces())

    @property
    def wash_bytes(self) -> int:
        """Bytes of the wash; fewer than a cache may hold where the target has no room."""
        return sum(length for _, length in self.wash())


def make_plan(capacity_bytes: int, sector_bytes: int, *, is_full: bool, cache_bytes: int) -> Plan:
    """Return the plan of a check.

    Raises:
        ConfigError: for a target that is too small.
    """
    if capacity_bytes < CAPACITY_MIN:
        raise ConfigError(
            "target", f"has {capacity_bytes} bytes; accepted: at least {CAPACITY_MIN}"
        )
    whole = capacity_bytes // sector_bytes * sector_bytes
    return Plan(whole, sector_bytes, is_full, cache_bytes)


def _cut(start: int, end: int) -> Iterator[Piece]:
    """Yield a part of the target in requests of the largest size."""
    for offset in range(start, end, REQUEST_BYTES_MAX):
        yield offset, min(REQUEST_BYTES_MAX, end - offset)


@dataclass(frozen=True)
class Stage:
    """How far a check is.

    Args:
        text: The step.
        done: Bytes that were moved.
        total: Bytes to move; None while the end is looked for.
    """

    text: str
    done: int
    total: int | None


Watch = Callable[[Stage], None]


@dataclass
class Found:
    """The outcome of all reads.

    Args:
        read_bytes: Bytes that should hold stamps.
        own_bytes: Those that did.
        counts: The others, in bytes: `strange` (a stamp of another place), `blank`, `old` (a stamp
            of another run), `garbage`, `error` (reading or writing was refused).
        first_bad: Lowest place of these; None without any.
        good_below: Highest sector below it that held its stamp; None without any.
        is_mixed: Whether a sector above some bad one held its stamp.
        divisor: Greatest common divisor of how far strange stamps were from home.
        example: A strange stamp: the place that it was read at, and the one that it belongs to.
        origins: Lowest and highest place that strange stamps belong to.
        aliases: Of each piece the lowest place that is another one too: the higher of the two.
    """

    read_bytes: int = 0
    own_bytes: int = 0
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("strange", "blank", "old", "garbage", "error"), 0)
    )
    first_bad: int | None = None
    good_below: int | None = None
    is_mixed: bool = False
    divisor: int = 0
    example: Piece | None = None
    origins: Piece | None = None
    aliases: list[int] = field(default_factory=list)

    def add_error(self, offset: int, length: int) -> None:
        """Count a piece that could not be read or written; its end at least is bad."""
        self.counts["error"] += length
        self.read_bytes += length
        self.is_mixed = self.is_mixed or self.own_bytes > 0
        self._mark(offset + length - SECTOR_BYTES)

    def add(self, offset: int, data: bytes, tag: int) -> None:
        """Count a piece that was read."""
        what = seen(offset, data, tag)
        for name, flags in (
            ("strange", what.strange),
            ("blank", what.blank),
            ("old", what.old),
            ("garbage", what.garbage),
        ):
            self.counts[name] += int(flags.sum()) * SECTOR_BYTES
        at = np.flatnonzero(what.strange)
        if at.size:
            places = offset + at * SECTOR_BYTES
            origins = what.origins[at].astype(np.int64)
            self.divisor = gcd(self.divisor, int(np.gcd.reduce(np.abs(places - origins))))
            if self.example is None or places[0] > origins[0]:
                self.example = (int(places[0]), int(origins[0]))
            ends = (int(origins.min()), int(origins.max()), *(self.origins or ()))
            self.origins = (min(ends), max(ends))
            self.aliases.append(int(np.maximum(places, origins).min()))
        self._place(offset, what.own)

    def _place(self, offset: int, own: Flags) -> None:
        """Note where good and bad sectors are; pieces come from the end to the start."""
        self.read_bytes += len(own) * SECTOR_BYTES
        self.own_bytes += int(own.sum()) * SECTOR_BYTES
        good, bad = np.flatnonzero(own), np.flatnonzero(~own)
        if bad.size:
            # Good sectors above the lowest bad one of this piece.
            below = good[good < bad[0]]
            self.is_mixed = self.is_mixed or self.own_bytes > below.size * SECTOR_BYTES
            self._mark(offset + int(bad[0]) * SECTOR_BYTES)
            good = below
        if good.size and self.good_below is None and self.first_bad is not None:
            self.good_below = offset + int(good[-1]) * SECTOR_BYTES

    def _mark(self, bad: int) -> None:
        self.first_bad = bad
        self.good_below = None


@dataclass(frozen=True)
class Verdict:
    """The answer.

    Args:
        kind: `sound`, `wraps`, `lost` (all data beyond the real size), or `damaged` (bad places
            among good ones).
        real_bytes: The real size; None where the target is damaged.
        found: The outcome of all reads.
        written_bytes: By the check, all in all.
    """

    kind: str
    real_bytes: int | None
    found: Found
    written_bytes: int


class Check:
    """One check of one target.

    Args:
        raw: The target.
        plan: What to do.
        tag: Tag of this run: a number that older stamps on the target do not have.
        watch: Called with the progress.
    """

    def __init__(self, raw: Raw, plan: Plan, tag: int, watch: Watch | None = None) -> None:
        """Know what to do."""
        self._raw, self._plan, self._tag = raw, plan, tag
        self._watch = watch or _nobody
        self._written = 0
        self._moved = 0
        self._total = 2 * plan.stamp_bytes + plan.wash_bytes

    def run(self) -> Verdict:
        """Write, read, and find the real size if it is not the claimed one.

        Raises:
            TargetError: when the target is gone.
        """
        refused = set()
        for piece in self._plan.pieces():
            if not self._wrote(*piece):
                refused.add(piece[0])
            self._tell("writing", piece[1])
        self._flush()
        for piece in self._plan.wash():
            self._wrote(*piece)
            self._tell("clearing caches", piece[1])
        self._flush()
        found = Found()
        for offset, length in self._plan.pieces():
            if offset in refused:
                found.add_error(offset, length)
            else:
                self._read(found, offset, length)
            self._tell("reading", length)
        kind, real = self._judged(found)
        return Verdict(kind, real, found, self._written)

    def _read(self, found: Found, offset: int, length: int) -> None:
        try:
            found.add(offset, self._raw.read(offset, length), self._tag)
        except RequestError:
            found.add_error(offset, length)

    def _judged(self, found: Found) -> tuple[str, int | None]:
        """Return the kind of fault, and the real size."""
        first = found.first_bad
        if first is None:
            return "sound", self._raw.capacity_bytes
        if found.counts["strange"]:
            return self._judged_by_strange(found)
        if found.is_mixed:
            return "damaged", None
        unit = self._plan.unit_bytes
        good = -unit if found.good_below is None else found.good_below // unit * unit
        return "lost", self._bisected(good, first // unit * unit, None)

    def _judged_by_strange(self, found: Found) -> tuple[str, int | None]:
        """Return the same from stamps of other places."""
        step, unit = found.divisor, self._plan.unit_bytes
        if step % unit:
            return "damaged", None
        if not self._holds(step, step):
            return "wraps", step
        beyond = [place // unit * unit for place in found.aliases if place >= step + unit]
        kind = "wraps"
        low, high = found.origins or (0, 0)
        if high - low < TAIL_BYTES and not self._holds(low // unit * unit, None):
            # One block answers for all that is lost, and so for the place that it belongs to.
            kind, beyond = "lost", [*beyond, low // unit * unit]
        if not beyond:
            return "damaged", None
        return kind, self._bisected(step, min(beyond), step if kind == "wraps" else None)

    def _bisected(self, good: int, bad: int, step: int | None) -> int:
        """Return the lowest place that does not hold its stamp, between a good and a bad one."""
        unit = self._plan.unit_bytes
        while bad - good > unit:
            self._watch(Stage("looking for the end", self._moved, None))
            middle = (good + bad) // 2 // unit * unit
            if self._holds(middle, step):
                good = middle
            else:
                bad = middle
        return bad

    def _holds(self, place: int, step: int | None) -> bool:
        """Return whether a sector holds its stamp after another one was written.

        Args:
            place: Place of the sector.
            step: The other one is this distance below; None for those at the end of the target.
        """
        unit, end = self._plan.unit_bytes, self._plan.capacity_bytes
        if not self._wrote(place, unit):
            return False
        others = range(end - TAIL_BYTES, end, unit) if step is None else (place - step,)
        for other in others:
            if other != place:
                self._wrote(other, unit)
        self._flush()
        self._rinse(place, {place, *others})
        self._flush()
        try:
            data = self._raw.read(place, unit)
        except RequestError:
            return False
        return bool(seen(place, data, self._tag).own.all())

    def _rinse(self, end: int, kept: set[int]) -> None:
        """Write as much as a cache may hold below a place, but for some sectors.

        Places below the end that is looked for are on the drive whatever its real size.
        """
        unit = self._plan.unit_bytes
        size = min(REQUEST_BYTES_MAX, end // WASH_PIECES // unit * unit)
        if size <= 0:
            return
        places = [
            start
            for start in range(0, end - size + 1, size)
            if not any(start <= place < start + size for place in kept)
        ]
        written = 0
        while places and written < self._plan.cache_bytes:
            for start in places:
                self._wrote(start, size)
                written += size
                if written >= self._plan.cache_bytes:
                    break

    def _wrote(self, offset: int, length: int) -> bool:
        """Write stamps; return whether the target took them."""
        try:
            self._raw.write(offset, stamped(offset, length, self._tag))
        except RequestError:
            return False
        self._written += length
        return True

    def _flush(self) -> None:
        try:
            self._raw.flush()
        except RequestError as error:
            raise TargetError(f"{self._raw.name}: flush failed: {error}") from error

    def _tell(self, text: str, length: int) -> None:
        self._moved += length
        self._watch(Stage(text, self._moved, self._total))


def _nobody(_stage: Stage) -> None:
    """Watch nothing."""
