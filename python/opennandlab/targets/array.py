"""An array of drives (RAID 0, 5, 6, 10) as the target of a test, in virtual time.

```text
request ─► layout: steps ─► reads of members ─► writes of members ─► done, and the next one is made
```
Members are discs or simulated flash drives, and each has its own queue, state and collections. The
requests outstanding are counted at the *array*, as with any target. Left out: time of the
controller and its links, a cache of stripes that joins small writes, rebuilding a member.

Steps without a clock run on each member alone: it gets its part of the bytes, with the parity or
copies that small random writes (or whole rows, for sequential ones) take, at random places.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, TypeGuard, TypeVar

import numpy as np

from opennandlab.base.errors import ConfigError
from opennandlab.base.units import parse_bytes
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
from opennandlab.targets.course import Batch, Course, Source, check, passed_over
from opennandlab.targets.disc import DiscTarget, Mechanics, facts_of
from opennandlab.targets.layout import Layout, Op
from opennandlab.targets.members import DiscMember, FlashMember, Member
from opennandlab.targets.simulated import SimulatedTarget
from opennandlab.theory.array import LEVELS, level_of

KEY: Final = "array"
KEYS: Final = ("level", "members", "chunk", "failed")
MEMBERS_MAX: Final = 64
CHUNK_UNIT: Final = 4096
CHUNK_BYTES: Final = 64 << 10
# Requests between two looks at the limit.
TOLD_EVERY: Final = 256
# More requests at one time mean that no time passes.
STANDSTILL: Final = 100_000

Kind = TypeVar("Kind")
Drive = DiscTarget | SimulatedTarget


@dataclass
class _Step:
    """A step of a request: the operations that are left, and those that follow."""

    left: int
    then: list[Op]
    request: _Request


@dataclass
class _Request:
    kind: int
    size: int
    began_ns: int
    left: int


class ArrayTarget(Target):
    """An array in virtual time.

    Args:
        document: The file, with the key `array`.
        model: Its name.
        name: As the user named it.
        open_member: Opens a drive by its entry in the list of members, and its number.

    Raises:
        ConfigError: for an array that is invalid, with the key.
    """

    kind: ClassVar[str] = "sim"
    is_virtual: ClassVar[bool] = True

    def __init__(
        self,
        document: Mapping[str, Any],
        model: str,
        name: str,
        open_member: Callable[[str, int], Drive],
    ) -> None:
        """Open the members, all of them empty."""
        self.name, self._model = name, model
        level, members, chunk, failed = _checked(document)
        self.layout = Layout(level, len(members), chunk, failed)
        self._names = members
        self.drives = _opened(members, open_member)
        room = self.drives[0].capacity_bytes // chunk
        if not room:
            message = (
                f"`{chunk}` bytes; accepted: at most a member, {self.drives[0].capacity_bytes}"
            )
            raise ConfigError("array.chunk", message)
        self.capacity_bytes = room * chunk * self.layout.data_chunks
        self.sector_bytes = 512
        self._flash = [one for one in self.drives if isinstance(one, SimulatedTarget)]
        if len(self._flash) < len(self.drives):
            self.waf_missing = "a member writes in place"
        self.prefers_full = all(one.prefers_full for one in self.drives)
        self.has_no_memory = all(one.has_no_memory for one in self.drives)
        self.warnings = tuple(f"member {number} has failed" for number in sorted(failed))

    def facts(self) -> pts_header.Target:
        """Return the facts of the array and its members for a report."""
        layout = self.layout
        own = {"level": layout.level, "chunk": layout.chunk_bytes, "members": self._names}
        if layout.failed:
            own["failed"] = sorted(layout.failed)
        drives = [drive.facts().device.config for drive in self.drives]
        return facts_of(self, self._model, {KEY: own, "drives": drives})

    def host_path(self) -> pts_header.HostPath:
        """Return the way through the simulated host."""
        return pts_header.HostPath(
            engine="simulated host",
            layer=f"RAID {self.layout.level} of {self.layout.members} drives; "
            "the array itself takes no time",
            direct=None,
            notes=["requests under way when a cell ends are dropped"],
        )

    def set_cache(self, *, enabled: bool) -> CacheState:
        """Set the write caches of all members."""
        states = {drive.set_cache(enabled=enabled) for drive in self.drives}
        return states.pop() if len(states) == 1 else "unknown"

    def purge(self) -> Purge:
        """Purge all members."""
        done = [drive.purge() for drive in self.drives]
        methods = ", ".join(dict.fromkeys(one.method for one in done))
        return Purge(methods, is_purge=all(one.is_purge for one in done), note="of each member")

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
            ConfigError: for a stimulus that an array does not take; nothing was done.
            TargetError: when a member is worn out, or no time passes.
        """
        source = Source(stimulus, self.capacity_bytes, seed)
        passed = None if is_measured else passed_over(stimulus, limit, self.capacity_bytes)
        if passed is not None:
            nand = self._write_unwatched(stimulus, passed.written_bytes, seed, watch)
            return replace(passed, inside=self._inside(nand, passed.written_bytes))
        course = Course(limit)
        members = [self._member(number, seed) for number in range(len(self.drives))]
        _Loop(self, members, source, course, stimulus.outstanding).run(watch)
        found, _ = course.measured(stimulus, self.capacity_bytes, sample_s)
        nand = sum(self._take_back(number, one) for number, one in enumerate(members))
        return replace(found, inside=self._inside(nand, found.written_bytes))

    def idle(self, seconds: float) -> None:
        """Let time pass on all members."""
        for drive in self._alive:
            drive.idle(seconds)

    def pass_time(self, seconds: float) -> None:
        """Advance the clock of all members."""
        for drive in self._alive:
            drive.pass_time(seconds)

    def checkpoint(self) -> bytes | None:
        """Return the states of all members, each behind its length."""
        states = [drive.checkpoint() or b"" for drive in self.drives]
        return b"".join(struct.pack("<Q", len(state)) + state for state in states)

    def restore(self, state: bytes) -> None:
        """Take a state that `checkpoint` returned.

        Raises:
            TargetError: for bytes that are no checkpoint, or one of another array.
        """
        parts = list(_parts(state))
        if len(parts) != len(self.drives):
            raise TargetError(f"{self.name}: the checkpoint belongs to another array")
        for drive, part in zip(self.drives, parts, strict=True):
            drive.restore(part)

    def close(self) -> None:
        """Give back what the members hold."""
        for drive in self.drives:
            drive.close()

    @property
    def _alive(self) -> Iterator[Drive]:
        failed = self.layout.failed
        return (drive for number, drive in enumerate(self.drives) if number not in failed)

    def _inside(self, nand_bytes: int, written: int) -> dict[str, float | int | None]:
        if len(self._flash) < len(self.drives):
            return {}
        return {
            "nand_bytes_written": nand_bytes,
            "waf": nand_bytes / written if written else None,
        }

    def _member(self, number: int, seed: int) -> Member:
        drive = self.drives[number]
        if isinstance(drive, DiscTarget):
            return DiscMember(Mechanics(drive.disc, seed + number, drive.head))
        return FlashMember(drive.player(), self.name)

    def _take_back(self, number: int, member: Member) -> int:
        """Take the drive of a member back, and return the bytes that its flash took."""
        drive = self.drives[number]
        if isinstance(member, DiscMember) and isinstance(drive, DiscTarget):
            drive.head = member.mechanics.head
        elif isinstance(member, FlashMember) and isinstance(drive, SimulatedTarget):
            return drive.take_back(member.player)
        return 0

    def _write_unwatched(
        self, stimulus: Stimulus, written: int, seed: int, watch: Watcher | None
    ) -> int:
        """Write what small random writes, or whole rows, bring to each member."""
        level, members = LEVELS[self.layout.level], self.layout.members
        share = level.writes / members
        if stimulus.pattern == "sequential":
            share = 1 / self.layout.data_chunks
        part = stimulus.active_range
        if part.amount_bytes is not None:
            amount = part.amount_bytes // self.layout.data_chunks
            part = replace(part, amount_bytes=max(amount, part.segments * CHUNK_UNIT))
        own = replace(stimulus, read_pct=0.0, active_range=part, start_bytes=0)
        limit = Limit(bytes=max(int(written * share) // CHUNK_UNIT * CHUNK_UNIT, CHUNK_UNIT))
        nand = 0
        for number, drive in enumerate(self._alive):
            done = drive.run(own, limit, seed=seed + number, is_measured=False, watch=watch)
            nand += int(done.inside.get("nand_bytes_written") or 0)
        return nand


class _Loop:
    """A closed loop over the array: each request that ends makes the next one, until the limit."""

    def __init__(
        self,
        array: ArrayTarget,
        members: list[Member],
        source: Source,
        course: Course,
        outstanding: int,
    ) -> None:
        """Begin at time 0."""
        self._array, self._members, self._source = array, members, source
        self._course, self._outstanding = course, outstanding
        self._drawn: Iterator[tuple[int, int, int]] = iter(())
        self._steps: dict[int, _Step] = {}
        self._token = 0
        # Kind, size, begin and end of requests that ended.
        self._ended: list[tuple[int, int, int, int]] = []
        self._at_once = 0

    def run(self, watch: Watcher | None) -> None:
        """Serve requests until the limit."""
        now_ns, course = 0, self._course
        for _ in range(self._outstanding):
            self._make(now_ns)
        while not course.is_over:
            before_ns = now_ns
            now_ns = min(one.next_ns for one in self._members if one.next_ns is not None)
            if now_ns > before_ns:
                self._at_once = 0
            for member in self._members:
                if member.next_ns is not None and member.next_ns <= now_ns:
                    for token in member.advance(now_ns):
                        self._end(token, now_ns)
            if len(self._ended) >= TOLD_EVERY:
                self._tell()
                if watch is not None:
                    watch(Step(course.fraction, now_ns * 1e-9))

    def _tell(self) -> None:
        rows = np.array(self._ended, dtype=np.int64).reshape(-1, 4)
        self._ended.clear()
        nowhere = np.zeros(len(rows), dtype=np.int64)
        self._course.add(Batch(rows[:, 0], nowhere, rows[:, 1]), rows[:, 2], rows[:, 3])
        if self._at_once > STANDSTILL:
            raise TargetError(
                f"{self._array.name}: reads of places that were never written take no time; write "
                f"the range first"
            )

    def _make(self, now_ns: int) -> None:
        """Make the next request."""
        one = next(self._drawn, None)
        while one is None:
            batch = self._source.draw(max(self._course.missing, TOLD_EVERY))
            columns = (batch.kinds.tolist(), batch.offsets.tolist(), batch.sizes.tolist())
            self._drawn = zip(*columns, strict=True)
            one = next(self._drawn, None)
        kind, offset, size = one
        steps = self._array.layout.steps(kind, offset, size)
        request = _Request(kind, size, now_ns, len(steps))
        for first, then in steps:
            self._issue(first or then, then if first else [], request, now_ns)

    def _issue(self, ops: list[Op], then: list[Op], request: _Request, now_ns: int) -> None:
        step = _Step(len(ops), then, request)
        for member, kind, offset, size in ops:
            self._token += 1
            self._steps[self._token] = step
            self._members[member].start(now_ns, self._token, kind, offset, size)

    def _end(self, token: int, now_ns: int) -> None:
        step = self._steps.pop(token)
        step.left -= 1
        if step.left:
            return
        request = step.request
        if step.then:
            self._issue(step.then, [], request, now_ns)
            return
        request.left -= 1
        if not request.left:
            self._at_once += 1
            self._ended.append((request.kind, request.size, request.began_ns, now_ns))
            self._make(now_ns)


def _checked(document: Mapping[str, Any]) -> tuple[int, list[str], int, frozenset[int]]:
    """Return level, members, bytes of a chunk, and members that failed.

    Raises:
        ConfigError: with the key, its value and the accepted ones.
    """
    _only(document, (KEY, "name"), "")
    found = document[KEY]
    if not isinstance(found, Mapping):
        raise ConfigError(KEY, f"`{found}`; accepted: {{{', '.join(KEYS)}}}")
    _only(found, KEYS, f"{KEY}.")
    members: object = found.get("members")
    level: Any = found.get("level")
    if not _is_list(members, str) or not 1 <= len(members) <= MEMBERS_MAX:
        message = f"`{members}`; accepted: a list of 1 to {MEMBERS_MAX} presets or files"
        raise ConfigError("array.members", message)
    levels = [level]
    if not _is_list(levels, int):
        raise ConfigError("array.level", f"`{level}`; accepted: {', '.join(map(str, LEVELS))}")
    level = levels[0]
    try:
        level_of(level, len(members))
    except ValueError as error:
        raise ConfigError("array.level", str(error)) from None
    chunk = parse_bytes(str(found.get("chunk", CHUNK_BYTES)))
    if chunk < CHUNK_UNIT or chunk % CHUNK_UNIT:
        accepted = f"a multiple of {CHUNK_UNIT} bytes, such as 64KiB"
        raise ConfigError("array.chunk", f"`{found['chunk']}`; accepted: {accepted}")
    failed = _failed(found.get("failed", []), len(members))
    if Layout(level, len(members), chunk, failed).is_lost:
        told = f"`{sorted(failed)}`: the data of a RAID {level} of {len(members)} members are lost"
        raise ConfigError("array.failed", f"{told}; accepted: fewer failed members")
    return level, members, chunk, failed


def _failed(failed: Any, members: int) -> frozenset[int]:  # noqa: ANN401 (as the file has it)
    if not _is_list(failed, int) or not all(0 <= one < members for one in failed):
        message = f"`{failed}`; accepted: a list of members, 0 to {members - 1}"
        raise ConfigError("array.failed", message)
    return frozenset(failed)


def _only(document: Mapping[str, Any], known: tuple[str, ...], parent: str) -> None:
    for key in document:
        if key not in known:
            raise ConfigError(f"{parent}{key}", f"unknown key; accepted: {', '.join(known)}")


def _is_list(value: object, kind: type[Kind]) -> TypeGuard[list[Kind]]:
    """Whether a value is a list of numbers or texts; a truth value is no number."""
    return isinstance(value, list) and all(type(one) is kind for one in value)


def _opened(names: list[str], open_member: Callable[[str, int], Drive]) -> list[Drive]:
    """Open the members.

    Raises:
        ConfigError: for drives of unequal size.
    """
    drives: list[Drive] = []
    for number, name in enumerate(names):
        drives.append(open_member(name, number))
    sizes = {name: drive.capacity_bytes for name, drive in zip(names, drives, strict=True)}
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise ConfigError("array.members", f"unequal sizes: {told} bytes; accepted: equal ones")
    return drives


def _parts(state: bytes) -> Iterator[bytes]:
    while state:
        if len(state) < 8:
            return
        (length,) = struct.unpack_from("<Q", state)
        yield state[8 : 8 + length]
        state = state[8 + length :]
