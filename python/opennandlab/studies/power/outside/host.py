"""A host that writes until the power goes, and keeps a log of what it knows.

Workers ask at the same time, each with a connection of its own; none writes a unit that another is
writing. The log is the oracle: what was asked for, when, what was acknowledged, and which flush
covers it. It is written on the way, so it is there when this program is killed.

A flush covers what was acknowledged before it was issued, on any connection.
"""

from __future__ import annotations

import json
import random
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, TextIO

from opennandlab.studies.power.outside.disks import Disk, Link
from opennandlab.studies.power.outside.records import Write, content
from opennandlab.targets.nbd_wire import AnswerError

# Requests in progress, by workload, as in simulated campaigns.
DEPTHS: Final = {"random": 8, "sequential": 4, "sync": 1, "trim": 8, "hot": 16}
HOT_UNITS: Final = 64
# Bits of an entry for the judge.
IS_TRIM, IS_COVERED = 1, 2
# Workers end within so many seconds once the disk is gone, or the campaign ends.
END_S: Final = 30.0
ROW: Final = struct.Struct("<QQQQQ")


@dataclass
class Asked:
    """A write or a trim of one unit.

    Args:
        unit: Index of the unit.
        version: Number of the write or trim among those of the unit.
        is_trim: Whether it trims.
        issued_ns: Time at which it was issued.
        acked_ns: Time at which it was acknowledged; None if it was not.
        is_covered: A flush that was issued later was acknowledged, or it was forced.
    """

    unit: int
    version: int
    is_trim: bool
    issued_ns: int
    acked_ns: int | None = None
    is_covered: bool = False

    def row(self) -> bytes:
        """Return the row that the judge takes."""
        bits = IS_TRIM * self.is_trim + IS_COVERED * self.is_covered
        acked = 0 if self.acked_ns is None else self.acked_ns + 1
        return ROW.pack(self.unit, self.version, self.issued_ns, acked, bits)


@dataclass(frozen=True)
class Ask:
    """The next request of a worker: units from `first` on, or a flush of everything."""

    op: str
    first: int = 0
    count: int = 0
    is_forced: bool = False


@dataclass
class Asking:
    """Draws requests of a workload.

    Args:
        workload: Name of the workload.
        units: Units of the range that is written.
        stream: Randomness of the cut.
        can_trim: Whether the disk takes trims; else they are writes.
    """

    workload: str
    units: int
    stream: random.Random
    can_trim: bool
    _cursor: int = field(init=False)
    _owes_flush: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        """Draw the first position."""
        self._cursor = self.stream.randrange(self.units)

    def next(self) -> Ask:
        """Return the next request."""
        if self.workload == "sync":
            self._owes_flush = not self._owes_flush
            return self._write(self.stream.randint(1, 4)) if self._owes_flush else Ask("flush")
        if self._one_in(12 if self.workload == "trim" else 16):
            return Ask("flush")
        if self.workload == "sequential":
            count = min(16, self.units)
            if self._cursor + count > self.units:
                self._cursor = 0
            self._cursor += count
            return Ask("write", self._cursor - count, count, self._one_in(32))
        if self.workload == "hot":
            return Ask("write", self.stream.randrange(min(HOT_UNITS, self.units)), 1)
        count = self.stream.choice([1, 1, 2, 4, 16])
        asked = self._write(count, is_forced=self._one_in(32))
        if self.workload == "trim" and self.can_trim and self._one_in(4):
            return Ask("trim", asked.first, asked.count)
        return asked

    def _write(self, count: int, *, is_forced: bool = False) -> Ask:
        count = min(count, self.units)
        return Ask("write", self.stream.randrange(self.units - count + 1), count, is_forced)

    def _one_in(self, count: int) -> bool:
        return self.stream.randrange(count) == 0


class Host:
    """A host between two cuts.

    Args:
        disk: What it writes.
        campaign: Number of the campaign.
        cycle: Number of the cut that follows.
        unit_bytes: Size of an atomic unit.
        versions: By unit, the newest version so far; it goes on from there.
        asking: What is asked for.
        log: Where it is told.
        earlier: What was written and flushed since the last cut.

    Attributes:
        open: Writes and trims without an answer, by their number.
    """

    def __init__(  # noqa: PLR0913 (all of a cycle, by name)
        self,
        disk: Disk,
        *,
        campaign: int,
        cycle: int,
        unit_bytes: int,
        versions: list[int],
        asking: Asking,
        log: TextIO,
        earlier: Sequence[Asked] = (),
    ) -> None:
        """Ask for nothing yet."""
        self._disk, self._campaign, self._cycle = disk, campaign, cycle
        self._unit_bytes, self._versions, self._asking = unit_bytes, versions, asking
        self._log = log
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._busy: set[int] = set()
        self._sequence = 0
        self._uncovered: list[Asked] = []
        self.asked: list[Asked] = list(earlier)
        self._earlier = len(earlier)
        self.writes: dict[int, dict[int, Write]] = {}
        self.open: dict[int, tuple[Ask, bytes, list[Asked]]] = {}
        self.acked_requests = 0
        self.ack_ns = 0
        self.errors: list[str] = []
        self._workers = [
            threading.Thread(target=self._work, args=(number,), daemon=True)
            for number in range(DEPTHS[asking.workload])
        ]

    @property
    def written(self) -> Sequence[Asked]:
        """What was asked for by its workers."""
        return self.asked[self._earlier :]

    def start(self) -> None:
        """Begin."""
        for worker in self._workers:
            worker.start()

    def stop(self) -> bool:
        """End; whether all workers did, in time."""
        self._stopping.set()
        deadline = time.monotonic() + END_S
        for worker in self._workers:
            if worker.ident is not None:
                worker.join(max(0.0, deadline - time.monotonic()))
        with self._lock:
            self._log.flush()
        return not any(worker.is_alive() for worker in self._workers)

    def _work(self, worker: int) -> None:
        try:
            link = self._disk.connect()
        except Exception as error:  # noqa: BLE001 (told, and the cut goes on without it)
            self.errors.append(str(error))
            return
        done = 0
        try:
            while not self._stopping.is_set():
                self._one(link, worker, done)
                done += 1
        except OSError as error:
            # The power, or the disk: what was in progress is not acknowledged.
            self.errors.append(str(error))
        finally:
            with suppress(OSError):
                link.close()

    def _one(self, link: Link, worker: int, done: int) -> None:
        with self._lock:
            ask = self._asking.next()
            units = range(ask.first, ask.first + ask.count)
            if self._busy.intersection(units):
                ask = Ask("read", ask.first, ask.count)
            sequence, now = self._sequence, time.monotonic_ns()
            self._sequence += 1
            told = {"t": now, "n": sequence, "op": ask.op, "unit": ask.first, "count": ask.count}
            if ask.op in {"write", "trim"}:
                self._busy.update(units)
                own = [self._asked(unit, ask, now) for unit in units]
                told |= {"versions": [it.version for it in own], "forced": ask.is_forced}
                data = self._data(own, ask, (worker, done, sequence)) if ask.op == "write" else b""
                self.open[sequence] = (ask, data, own)
            covered = list(self._uncovered) if ask.op == "flush" else []
            self._note(told)
        if ask.op == "read":
            with suppress(OSError):
                link.read(ask.first * self._unit_bytes, ask.count * self._unit_bytes)
        else:
            try:
                send(link, ask, data if ask.op == "write" else b"", self._unit_bytes)
            except AnswerError:
                self.open.pop(sequence, None)
                raise
        with self._lock:
            now = time.monotonic_ns()
            self._note({"t": now, "ack": sequence})
            self.open.pop(sequence, None)
            if ask.op in {"write", "trim"}:
                self._acked(own, now, is_forced=ask.is_forced)
            elif ask.op == "flush":
                for it in covered:
                    it.is_covered = True
                self._uncovered = [it for it in self._uncovered if not it.is_covered]
            self._busy.difference_update(units if ask.op in {"write", "trim"} else ())
            self.acked_requests += 1

    def _asked(self, unit: int, ask: Ask, now: int) -> Asked:
        self._versions[unit] += 1
        asked = Asked(unit, self._versions[unit], ask.op == "trim", now)
        self.asked.append(asked)
        return asked

    def _data(self, own: list[Asked], ask: Ask, numbers: tuple[int, int, int]) -> bytes:
        worker, done, sequence = numbers
        parts = []
        for index, it in enumerate(own):
            write = Write(
                it.unit, it.version, self._cycle, worker, done, sequence, ask.count, index,
                it.issued_ns, it.version - 1, ask.is_forced,
            )  # fmt: skip
            self.writes.setdefault(it.unit, {})[it.version] = write
            parts.append(content(self._campaign, write, self._unit_bytes))
        return b"".join(parts)

    def _acked(self, own: list[Asked], now: int, *, is_forced: bool) -> None:
        for it in own:
            it.acked_ns = now
            it.is_covered = it.is_covered or (is_forced and not it.is_trim)
            self.ack_ns += now - it.issued_ns
            if not it.is_covered:
                self._uncovered.append(it)

    def _note(self, told: dict[str, Any]) -> None:
        # After Ctrl-C a worker may outlive its log.
        if not self._log.closed:
            self._log.write(json.dumps(told) + "\n")


def send(link: Link, ask: Ask, data: bytes, unit_bytes: int) -> None:
    """Carry out a write, a trim or a flush.

    Raises:
        OSError: what the disk says.
    """
    offset = ask.first * unit_bytes
    if ask.op == "write":
        link.write(offset, data, is_forced=ask.is_forced)
    elif ask.op == "trim":
        link.trim(offset, ask.count * unit_bytes)
    else:
        link.flush()


def rows(asked: list[Asked]) -> bytes:
    """Return the log as the judge takes it."""
    return b"".join(it.row() for it in asked)


def slices(units: int, at_a_time: int = 64) -> Iterator[range]:
    """Yield ranges of units that are read or written at a time."""
    for first in range(0, units, at_a_time):
        yield range(first, min(first + at_a_time, units))
