"""A campaign on a drive outside: written, cut, read back twice, and judged, again and again.

```text
fill ─► { workload ─► off ─► on ─► ready? ─► read back twice ─► judge ─► evidence } × cuts
```
After each cut everything that was touched is read, a tenth of the rest, and each fiftieth time all
of it. Units that were found damaged are written again before the next cut, so each cut is judged by
itself; the drive is never formatted. Where hosts do so, what was not answered is sent again and
flushed then, and the next cut shows whether it was kept. A drive that counts its losses of power
must count each. A campaign that was interrupted goes on with its counts, and
fills the range again, since the contents of the drive are unknown.
"""

from __future__ import annotations

import json
import math
import random
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from opennandlab import _core
from opennandlab.base.errors import ConfigError, OutputError
from opennandlab.base.journal import Journal
from opennandlab.core.power_cut import CLAIMS
from opennandlab.studies.power.campaign import CUTS_MAX, WORKLOADS, check_limit
from opennandlab.studies.power.outside import records
from opennandlab.studies.power.outside.disks import Disk, Link
from opennandlab.studies.power.outside.host import Asked, Asking, Host, rows, send, slices
from opennandlab.studies.power.outside.records import DATA, EMPTY, ERROR, Reading, Write, content
from opennandlab.studies.power.outside.supply import Supply, SupplyError
from opennandlab.targets.base import TargetError

JOURNAL: Final = "power.cuts.jsonl"
UNITS_MAX: Final = 1 << 18
FULL_SCAN_EVERY: Final = 50
SAMPLE_RATIO: Final = 0.1
# After a drive that does not come back, the power is given again so often.
MORE_CYCLES: Final = 3
POLL_S: Final = 0.02
EVIDENCE_MAX: Final = 5
TRIPLE: Final = struct.Struct("<QQQ")
PAIR: Final = struct.Struct("<QQ")
NS_PER_S: Final = 1_000_000_000


@dataclass(frozen=True)
class Settings:
    """What is done to a drive.

    Args:
        cuts: How many.
        workloads: Taken in turns.
        claims: What the drive promises.
        seed: Seed of workloads and moments.
        limit_us: From power to ready; longer is slow.
        span_bytes: From the beginning of the drive; that much is written.
        unit_bytes: What the drive writes whole or not at all.
        after_ms: Least and most time from the first request to the cut.

    Raises:
        ConfigError: for invalid values.
    """

    cuts: int = 200
    workloads: Sequence[str] = WORKLOADS
    claims: Sequence[str] = ("honest-flush",)
    seed: int = 42
    limit_us: float = 10e6
    span_bytes: int = 64 << 20
    unit_bytes: int = 4096
    after_ms: tuple[float, float] = (50.0, 500.0)

    def __post_init__(self) -> None:
        """Check what can be checked without the drive."""
        if not 1 <= self.cuts <= CUTS_MAX:
            message = f"{self.cuts} is not valid; accepted: 1 to {CUTS_MAX}"
            raise ConfigError("--cuts", message)
        check_limit(self.limit_us)
        for option, names, known in (
            ("--workload", self.workloads, WORKLOADS), ("--claims", self.claims, CLAIMS),
        ):  # fmt: skip
            for name in names:
                if name not in known:
                    message = f"`{name}` is not known; accepted: {', '.join(known)}"
                    raise ConfigError(option, message)
        unit = self.unit_bytes
        if unit < records.SECTOR_BYTES or unit & (unit - 1) or unit > 1 << 16:
            accepted = "accepted: a power of two from 512 to 65536"
            raise ConfigError("--atomic-bytes", f"{unit} is not valid; {accepted}")
        least, most = self.after_ms
        if not 0.0 <= least <= most <= 1e6:
            message = f"{least:g}:{most:g} is not valid; accepted: FROM:TO, 0 to 1e6 ms"
            raise ConfigError("--after-ms", message)
        if not unit <= self.span_bytes <= UNITS_MAX * unit:
            most_mib = UNITS_MAX * unit >> 20
            message = f"{self.span_bytes >> 20} is not valid; accepted: up to {most_mib}, one unit"
            raise ConfigError("--span-mib", message)

    def document(self) -> dict[str, Any]:
        """Return what decides the result, next to the drive."""
        return {
            "cuts": self.cuts,
            "workloads": list(self.workloads),
            "at": ["random"],
            "claims": [name for name in CLAIMS if name in self.claims],
            "seed": self.seed,
            "limit_us": self.limit_us,
            "span_bytes": self.span_bytes,
            "atomic_bytes": self.unit_bytes,
            "after_ms": list(self.after_ms),
        }


class DeadDriveError(OutputError):
    """The drive does not come back."""


class Campaign:
    """A run of settings on a drive.

    Args:
        settings: What is done.
        disk: To whom; everything in the range is lost.
        supply: What cuts its power.
        folder: Gets journal, host log and evidence.
        watch: Told how many cuts are done.

    Raises:
        ConfigError: for a folder with another campaign.
        OSError: when the drive does not answer.
    """

    def __init__(
        self,
        settings: Settings,
        disk: Disk,
        supply: Supply,
        folder: Path,
        watch: Callable[[int], None] | None = None,
    ) -> None:
        """Read what is known."""
        self.settings, self._disk, self._supply = settings, disk, supply
        self._folder, self._watch = folder, watch
        self.facts = disk.facts()
        self._capacity = disk.capacity_bytes()
        self.units = min(settings.span_bytes, self._capacity) // settings.unit_bytes
        identity = {"drive": self.facts, "settings": settings.document()}
        self._journal = Journal(folder / JOURNAL, identity)
        self.cut_off_bytes = self._journal.cut_off_bytes
        self._cycles: list[Mapping[str, Any]] = list(self._journal.records)
        # Another number each time, so that what an earlier run has left is told from what is new.
        self._number = random.Random(f"{settings.seed}/{self.done}").getrandbits(63)  # noqa: S311
        self._versions: list[int] = []
        self._base: list[tuple[int, bool]] = []
        self._newest: dict[int, Write] = {}
        self._damaged: set[int] = set()
        self._checked = 0
        self._is_off = False
        # Of the cut that is made.
        self._losses = 0
        self._anew: list[Asked] = []

    @property
    def done(self) -> int:
        """Cuts that are made."""
        return len(self._cycles)

    @property
    def cycles(self) -> Sequence[Mapping[str, Any]]:
        """What each cut has shown."""
        return self._cycles

    def to_the_end(self) -> None:
        """Make the cuts that are missing.

        Raises:
            KeyboardInterrupt: on Ctrl-C, when what is done is kept.
            SupplyError: when the power could not be switched; the host log is kept.
            DeadDriveError: when the drive does not come back.
        """
        try:
            if self.done < self.settings.cuts:
                self._fill()
            while self.done < self.settings.cuts:
                self._cycle(self.done)
        except KeyboardInterrupt:
            # A drive that was cut is not left without power.
            if self._is_off:
                with suppress(SupplyError):
                    self._supply.on()
            raise
        finally:
            self._journal.close()

    def forget(self) -> None:
        """Take the journal away: the document has it all."""
        self._journal.forget()

    def _fill(self) -> None:
        self._versions = [0] * self.units
        self._base = [(0, False)] * self.units
        self._newest = {}
        self._anew = self._write_anew(range(self.units))

    def _write_anew(self, units: Sequence[int]) -> list[Asked]:
        """Write units one after another, and flush; the log of that, which the drive owes too."""
        link = self._disk.connect()
        asked = []
        try:
            for unit in units:
                self._versions[unit] += 1
                write = Write(unit, self._versions[unit], issued_ns=time.monotonic_ns())
                self._newest[unit] = write
                data = content(self._number, write, self.settings.unit_bytes)
                link.write(unit * self.settings.unit_bytes, data)
                now = time.monotonic_ns()
                log = Asked(unit, write.version, is_trim=False, issued_ns=write.issued_ns)
                log.acked_ns, log.is_covered = now, True
                asked.append(log)
            link.flush()
        finally:
            link.close()
        return asked

    def _heal(self) -> None:
        """Write what was damaged again: from now on it owes that, and nothing of before."""
        for unit in self._damaged:
            self._base[unit] = (0, False)
        self._anew += self._write_anew(sorted(self._damaged))
        self._damaged.clear()

    def _cycle(self, number: int) -> None:
        stream = random.Random(f"{self.settings.seed}/cut {number}")  # noqa: S311 (no secret)
        self._heal()
        counted, self._losses = self._disk.unsafe_shutdowns(), 0
        workload = self.settings.workloads[number % len(self.settings.workloads)]
        log_path = self._folder / "host.log.jsonl"
        with log_path.open("w", encoding="utf-8") as log:
            host = Host(
                self._disk,
                campaign=self._number,
                cycle=number,
                unit_bytes=self.settings.unit_bytes,
                versions=self._versions,
                asking=Asking(workload, self.units, stream, self._disk.can_trim),
                log=log,
                earlier=self._anew,
            )
            self._anew = []
            cut_ns, early = self._cut(host, number, stream)
        ready_ns, faults = self._come_back(number)
        early += self._miscounted(counted)
        faults += self._judged(host, stream, is_full=number % FULL_SCAN_EVERY == 0)
        record = {
            "cut": number,
            "workload": workload,
            "cut_ns": cut_ns,
            "ready_ns": ready_ns,
            "requests": host.acked_requests,
            "units_written": len(host.written),
            "units_acked": sum(it.acked_ns is not None for it in host.written),
            "ack_ns": host.ack_ns,
            "units_checked": self._checked,
            "sent_again": len(host.open) if self._disk.resends else 0,
            "errors": early,
            "faults": self._few(faults),
            "classes": sorted({fault["class"] for fault in faults}),
            "guarantees": sorted({fault["guarantee"] for fault in faults}),
        }
        if faults:
            self._evidence(number, log_path, record)
        if self._disk.resends:
            self._send_again(host)
        self._keep(record)
        if self._watch is not None:
            self._watch(self.done)

    def _keep(self, record: Mapping[str, Any]) -> None:
        self._cycles.append(record)
        self._journal.add(record)

    def _cut(self, host: Host, number: int, stream: random.Random) -> tuple[int, list[str]]:
        """Let the host work, and cut; nanoseconds until then, and errors from before."""
        began = time.monotonic_ns()
        try:
            host.start()
            time.sleep(stream.uniform(*self.settings.after_ms) / 1000.0)
            early, cut_ns = list(host.errors), time.monotonic_ns() - began
            self._is_off = True
            self._losses += 1
            self._supply.off()
        except SupplyError as error:
            host.stop()
            raise self._kept(error, number) from error
        finally:
            is_over = host.stop()
        if not is_over:
            message = f"{self._disk.name}: requests did not end after the power was cut"
            raise self._kept(SupplyError(message), number)
        if len(host.errors) == len(early) and self._answers():
            message = (
                f"{self._disk.name} still answers after its power was cut, and no request ended "
                "with an error: nothing was cut; accepted: a switch that returns when it is off"
            )
            raise self._kept(SupplyError(message), number)
        return cut_ns, early

    def _come_back(self, number: int) -> tuple[int, list[dict[str, Any]]]:
        """Give the power back; return how long the drive took, and what is wrong with it."""
        limit_s = self.settings.limit_us / 1e6
        faults: list[dict[str, Any]] = []
        for attempt in range(1 + MORE_CYCLES):
            start = time.monotonic()
            try:
                if attempt:
                    self._losses += 1
                    self._supply.off()
                self._supply.on()
                self._is_off = False
            except SupplyError as error:
                raise self._kept(error, number) from error
            capacity = self._ready(start + limit_s)
            if capacity is None:
                if not faults:
                    faults.append(_of_drive("slow_recovery", "not ready in time"))
                continue
            if capacity != self._capacity:
                faults.append(_of_drive("dead_device", f"a capacity of {capacity} bytes"))
            return int((time.monotonic() - start) * NS_PER_S), faults
        record = {
            "cut": number, "faults": [_of_drive("dead_device", "it does not come back")],
            "classes": ["dead_device"], "guarantees": ["G9"],
        }  # fmt: skip
        self._evidence(number, self._folder / "host.log.jsonl", record)
        self._keep(record)
        raise DeadDriveError(
            f"{self._disk.name} does not come back after cut {number}, nor after {MORE_CYCLES} "
            f"more power cycles; evidence is in {self._place(number)}"
        )

    def _miscounted(self, before: int | None) -> list[str]:
        """Say whether the drive has counted its losses of power."""
        now = self._disk.unsafe_shutdowns()
        if before is None or now == before + self._losses:
            return []
        return [f"{before} unsafe shutdowns before {self._losses} more, and {now} after"]

    def _send_again(self, host: Host) -> None:
        """Send what was not answered; it is flushed then, and owed."""
        link = self._disk.connect()
        again = []
        try:
            for ask, data, asked in host.open.values():
                now = time.monotonic_ns()
                send(link, ask, data, self.settings.unit_bytes)
                for it in asked:
                    done = Asked(it.unit, it.version, is_trim=it.is_trim, issued_ns=now)
                    done.acked_ns, done.is_covered = time.monotonic_ns(), True
                    again.append(done)
                    if not it.is_trim:
                        self._newest[it.unit] = host.writes[it.unit][it.version]
            link.flush()
        finally:
            link.close()
        self._anew += again

    def _answers(self) -> bool:
        """Whether the drive can be read now."""
        with suppress(OSError, TargetError):
            link = self._disk.connect()
            try:
                link.read(0, self.settings.unit_bytes)
            finally:
                link.close()
            return True
        return False

    def _ready(self, deadline: float) -> int | None:
        """Return the capacity of the drive once it answers; None where it does not in time."""
        while True:
            with suppress(OSError, TargetError):
                capacity = self._disk.capacity_bytes()
                link = self._disk.connect()
                try:
                    link.read(0, self.settings.unit_bytes)
                except OSError as error:
                    # A unit that cannot be read is for the judge; a drive that is away is not.
                    if error.errno in {None, 6, 19, 32, 104, 111}:
                        raise
                finally:
                    link.close()
                return capacity
            if time.monotonic() > deadline:
                return None
            time.sleep(POLL_S)

    def _judged(self, host: Host, stream: random.Random, *, is_full: bool) -> list[dict[str, Any]]:
        """Read back, twice, and hold it against the log."""
        touched = {it.unit for it in host.asked}
        wanted = set(range(self.units)) if is_full else touched
        if not is_full:
            count = math.ceil(SAMPLE_RATIO * self.units)
            wanted |= set(stream.sample(range(self.units), count))
        self._checked = len(wanted)
        link = self._disk.connect()
        try:
            first = self._read(link, wanted)
            second = self._read(link, wanted)
        finally:
            link.close()
        unstable = [unit for unit in sorted(wanted) if first[unit] != second[unit]]
        readings = {unit: self._reading(unit, first[unit], host) for unit in wanted}
        unread = [(DATA if has else EMPTY, unit, version if has else 0)
                  for unit, (version, has) in enumerate(self._base)]  # fmt: skip
        answers = [readings.get(unit, unread[unit]) for unit in range(self.units)]
        claims = [name in self.settings.claims for name in CLAIMS]
        told = _core.power_check(
            b"".join(PAIR.pack(version, has) for version, has in self._base),
            rows(host.asked),
            b"".join(TRIPLE.pack(*answer) for answer in answers),
            (claims[0], claims[1], claims[2], claims[3]),
        )
        faults: list[dict[str, Any]] = json.loads(told)
        faults += [
            {"class": "unstable_read", "guarantee": "G9", "unit": unit, "owed_version": 0,
             "found": "two reads that differ"}
            for unit in unstable
        ]  # fmt: skip
        self._take_over(readings, faults, host)
        return faults

    def _read(self, link: Link, wanted: set[int]) -> dict[int, bytes | None]:
        """Return what each unit holds; None where the drive gives an error."""
        size = self.settings.unit_bytes
        found: dict[int, bytes | None] = {}
        for part in slices(self.units):
            if wanted.isdisjoint(part):
                continue
            try:
                data = link.read(part.start * size, len(part) * size)
            except OSError:
                for unit in wanted.intersection(part):
                    found[unit] = self._read_one(link, unit)
                continue
            for unit in wanted.intersection(part):
                place = (unit - part.start) * size
                found[unit] = data[place : place + size]
        return found

    def _read_one(self, link: Link, unit: int) -> bytes | None:
        with suppress(OSError):
            return link.read(unit * self.settings.unit_bytes, self.settings.unit_bytes)
        return None

    def _reading(self, unit: int, found: bytes | None, host: Host) -> Reading:
        if found is None:
            return ERROR, unit, 0
        reading = records.read(self._number, unit, found, {})
        if reading[0] in {DATA, EMPTY}:
            return reading
        # Only of what is not whole: the writes that may be there in part.
        writes = dict(host.writes.get(unit, {}))
        if unit in self._newest:
            writes[self._newest[unit].version] = self._newest[unit]
        size = self.settings.unit_bytes
        known = {version: content(self._number, it, size) for version, it in writes.items()}
        return records.read(self._number, unit, found, known)

    def _take_over(
        self, readings: Mapping[int, Reading], faults: Sequence[Mapping[str, Any]], host: Host
    ) -> None:
        """From now on the drive owes what it has shown; what is damaged is to be written again."""
        self._damaged = {fault["unit"] for fault in faults if fault["unit"] is not None}
        for unit, (kind, its_unit, version) in readings.items():
            if kind == DATA and its_unit == unit and version > 0:
                self._base[unit] = (version, True)
                own = host.writes.get(unit, {})
                if version in own:
                    self._newest[unit] = own[version]
            elif kind == EMPTY:
                self._base[unit] = (self._versions[unit], False)
            else:
                self._damaged.add(unit)

    def _few(self, faults: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        kept: dict[str, int] = {}
        few = []
        for fault in faults:
            kept[fault["class"]] = kept.get(fault["class"], 0) + 1
            if kept[fault["class"]] <= EVIDENCE_MAX:
                few.append(fault)
        return few

    def _place(self, number: int) -> Path:
        return self._folder / "evidence" / f"cut-{number:06d}"

    def _evidence(self, number: int, log_path: Path, record: Mapping[str, Any]) -> None:
        """Keep the log of the host, the faults, and what the units hold that they name."""
        place = self._place(number)
        place.mkdir(parents=True, exist_ok=True)
        (place / "host.log.jsonl").write_bytes(log_path.read_bytes())
        text = json.dumps({"seed": self.settings.seed, **record}, indent=1)
        (place / "faults.json").write_text(text + "\n", encoding="utf-8")
        units = [fault["unit"] for fault in record["faults"] if fault["unit"] is not None]
        with suppress(OSError, TargetError):
            link = self._disk.connect()
            try:
                for unit in units:
                    found = self._read_one(link, unit)
                    text = "an error\n" if found is None else _hexdump(found)
                    (place / f"unit-{unit}.hex").write_text(text, encoding="ascii")
            finally:
                link.close()

    def _kept(self, error: SupplyError, number: int) -> SupplyError:
        """Keep the log of the host of a cut that went wrong; return the error with its place."""
        place = self._place(number)
        place.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):
            log = (self._folder / "host.log.jsonl").read_bytes()
            (place / "host.log.jsonl").write_bytes(log)
        return SupplyError(f"{error}; the host log of cut {number} is in {place}")


def _of_drive(name: str, found: str) -> dict[str, Any]:
    return {"class": name, "guarantee": "G9", "unit": None, "owed_version": 0, "found": found}


def _hexdump(data: bytes) -> str:
    """Return bytes as lines of sixteen.

    >>> print(_hexdump(b"ONLREC"), end="")
    00000000  4f 4e 4c 52 45 43  ONLREC
    """
    lines = []
    for first in range(0, len(data), 16):
        part = data[first : first + 16]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        lines.append(f"{first:08x}  {part.hex(' ')}  {text}\n")
    return "".join(lines)
