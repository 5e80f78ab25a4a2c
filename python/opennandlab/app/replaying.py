"""Suites in virtual time: the recorded requests of each case, played on a simulated drive.

```text
device ─age─► drive ─┬─ dirt ─► what the traces read is laid down ─► case, case, … ─► Outcome
                     └ a copy: the player of the core (closed loop with dependencies)
```
A case that is asked for more iterations than its trace holds plays it again; the drive keeps what
was done to it from case to case and from run to run. Nothing depends on the machine: the same
device, traces and seed give the same document, byte for byte.
"""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from opennandlab import _core
from opennandlab.app import states
from opennandlab.app.outcome import Outcome, Progress, Sample, Watcher
from opennandlab.app.requests import Counted, Moved, moved
from opennandlab.app.states import Wanted
from opennandlab.app.suites import Suite
from opennandlab.app.thinking import Processor, spread
from opennandlab.app.trace import WRITE, Request, Trace, load, records, shipped
from opennandlab.base.errors import ConfigError
from opennandlab.base.files import write_atomically
from opennandlab.core.config import DeviceConfig
from opennandlab.core.images import drive_of, read_image
from opennandlab.core.memory import check_memory
from opennandlab.documents.app import (
    AppCheck,
    AppDrive,
    AppEnvironment,
    AppProfile,
    AppState,
)
from opennandlab.policies.source import named_in

DRIVE_KEYS: Final = (
    "written_bytes", "programmed_bytes", "waf", "collections", "moved_pages", "erases",
    "free_blocks", "mapped_pages", "erase_count_mean", "erase_count_max", "is_worn_out",
)  # fmt: skip
PAGE: Final = 4096
FLUSH_WORDS: Final = "recorded: FUSE turns force-unit-access into a write and a flush"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be played on what.

    Args:
        device: The drive.
        suite: Cases and counts.
        seed: Seed of the drive and its dirt.
        runs: How often each case is run.
        wanted: The state of the drive.
        image: A saved drive instead of a state.
        image_after: Where the drive is saved in the end; None for nowhere.
        idle_ms: The user's pause between iterations.
        traces: Traces of your own, by case.
        cpu: Who thinks between the requests of an iteration.
        transfer_max: Bytes above which the host splits a read or write; 0 for
            `host.max_transfer_bytes` of the device, and as recorded without it.
    """

    device: DeviceConfig
    suite: Suite
    seed: int = 42
    runs: int = 5
    wanted: Wanted = field(default_factory=Wanted)
    image: Path | None = None
    image_after: Path | None = None
    idle_ms: int = 0
    traces: dict[str, Path] = field(default_factory=dict)
    cpu: Processor = field(default_factory=Processor)
    transfer_max: int = 0

    @property
    def split_above(self) -> int:
        """Bytes above which reads and writes are split; 0 for none."""
        own = self.device.to_dict()["host"].get("max_transfer_bytes")
        return self.transfer_max or int(own or 0)


def prepare(plan: Plan) -> dict[str, Trace]:
    """Return the traces of a suite.

    Raises:
        ConfigError: for a drive that is too small for one.
        TraceError: for an invalid file.
    """
    if plan.transfer_max and (plan.transfer_max < PAGE or plan.transfer_max % PAGE):
        message = f"{plan.transfer_max}; accepted: 0, or a multiple of {PAGE}"
        raise ConfigError("max_transfer_bytes", message)
    wanted = [case for case, count in plan.suite.counts.items() if count]
    for case in plan.traces:
        if case not in wanted:
            message = f"`{case}` is not a case of this suite; accepted: {', '.join(wanted)}"
            raise ConfigError("trace", message)
    found = {}
    for case in wanted:
        own = plan.traces.get(case)
        trace = shipped(case) if own is None else load(own)
        found[case] = trace.split(plan.split_above) if plan.split_above else trace
    capacity = plan.device.effective.get("logical_bytes", 0)
    for case, trace in found.items():
        if plan.image is None and trace.end > capacity:
            raise ConfigError(
                "target",
                f"the trace of {case} reaches byte {trace.end - 1}, and the drive has {capacity}; "
                "accepted: a larger drive",
            )
    return found


def replay(plan: Plan, watch: Watcher | None = None) -> Outcome:
    """Play a suite.

    After Ctrl-C the outcome holds what was played, and states this.

    Raises:
        ConfigError: nothing was run.
        TraceError: for a trace that cannot be used.
    """
    traces = prepare(plan)
    run = _Replay(plan, traces, watch)
    try:
        run.all()
    except KeyboardInterrupt:
        run.outcome.is_partial = True
    outcome = run.finished()
    if plan.image_after is not None and not outcome.is_partial:
        run.save(plan.image_after)
    return outcome


class _Replay:
    """A run in progress."""

    def __init__(self, plan: Plan, traces: dict[str, Trace], watch: Watcher | None) -> None:
        self._plan = plan
        self._traces = traces
        self._watch = watch
        self._start = time.monotonic()
        self._status: dict[str, AppDrive] = {}
        self._lost_before = 0
        self._player: _core.Player | None = None
        self._played = 0
        self._wanted_iterations = 0
        about = sorted({trace.about.partition("; ")[2] for trace in traces.values()})
        digests = {case: f"{trace.name} {trace.digest}" for case, trace in traces.items()}
        self.outcome = Outcome(
            AppEnvironment(
                path="sim",
                file_system=" | ".join(about),
                kernel="of the recording, see file_system",
                eviction="recorded",
                flush=FLUSH_WORDS,
                traces=digests,
            ),
            _profile(about),
            counted=Counted(),
            cpu=plan.cpu.record(),
            device=plan.device.to_dict(),
            sizes={case: dict(trace.sizes) for case, trace in traces.items() if trace.sizes},
        )

    def all(self) -> None:
        """Bring the drive into its state and play all runs."""
        plan = self._plan
        drive = self._drive()
        self._player = player = _core.Player(drive)
        capacity = player.capacity_bytes()
        if any(trace.end > capacity for trace in self._traces.values()):
            raise ConfigError("state", f"the drive of the image has only {capacity} bytes")
        if plan.image is None and plan.wanted.is_dirty:
            states.soil(player, plan.seed, plan.wanted, self._tell(0.1, 0.4))
        for trace in self._traces.values():
            self._lay_down(trace)
        self._status["before"] = self._drive_now()
        self._lost_before = self._lost_pages()
        for number in range(plan.runs):
            self.outcome.samples.append([])
            if not plan.suite.fill:
                self._phase("main", number, (0.0, 1.0))
                continue
            self._phase("first", number, (0.0, 0.3))
            # Filled once: what follows finds the device as the first run left it.
            if number == 0:
                states.soil(player, plan.seed, plan.wanted, self._tell(0.5, 0.3 / plan.runs))
            self._phase("second", number, (0.6, 1.0))

    def save(self, path: Path) -> None:
        """Write the image of the drive, at rest; nothing is played behind it."""
        if self._player is not None:
            write_atomically(path, self._player.drive().image())
            self._player = None

    def finished(self) -> Outcome:
        """Return the outcome with state and checks."""
        plan, outcome = self._plan, self.outcome
        if self._player is not None:
            before = self._status.get("before") or self._drive_now()
            is_image = plan.image is not None
            outcome.state = AppState(
                name="image" if is_image else plan.wanted.name,
                age="of the image" if is_image else plan.wanted.age,
                dirt="of the image" if is_image else plan.wanted.dirt,
                drive_writes=plan.wanted.drive_writes if plan.wanted.is_old else 0,
                dirty_writes=plan.wanted.dirty_writes if plan.wanted.is_dirty else 0,
                before=before,
                after=self._drive_now(),
            )
        refused = outcome.counted.refused if outcome.counted else 0
        outcome.checks = [
            AppCheck(
                name="iterations",
                passed=self._played == self._wanted_iterations and not outcome.is_partial,
                detail=f"{self._played} of {self._wanted_iterations} were played",
            ),
            AppCheck(
                name="writes accepted", passed=refused == 0, detail=f"{refused} writes were refused"
            ),
            *self._counters(),
        ]
        lost = self._lost_pages() - self._lost_before
        if lost:
            detail = f"{lost} pages that were read could not be corrected by any step of recovery"
            outcome.checks.append(AppCheck(name="data kept", passed=False, detail=detail))
        if self._watch is not None:
            self._watch(Progress("done", 1.0, time.monotonic() - self._start, is_finished=True))
        return outcome

    def _counters(self) -> Iterator[AppCheck]:
        """Yield whether what the host wrote and what became of it agree, so that WAF means it.

        Below 1 it is then right: pages were overwritten or trimmed while they waited in the write
        buffer, wait there still, or were compressed.
        """
        if self._player is not None:
            found = json.loads(self._player.status())["unaccounted"]
            detail = found or "all units that were written are accounted for"
            yield AppCheck(name="counters", passed=found is None, detail=detail)

    def _drive(self) -> _core.Drive:
        plan = self._plan
        if plan.image is not None:
            drive = drive_of(read_image(plan.image), plan.seed, plan.image)
            with named_in(plan.image, is_record=True):
                return plan.device.consulted(drive)
        check_memory(plan.device)
        return states.aged(plan.device, plan.seed, plan.wanted, self._tell(0.0, 0.1))

    def _tell(self, first: float, share: float) -> Callable[[str, float], None]:
        """Return what is told of a part of the whole."""

        def tell(what: str, fraction: float) -> None:
            if self._watch is not None:
                done = first + share * fraction
                self._watch(Progress(what, done, time.monotonic() - self._start))

        return tell

    def _lay_down(self, trace: Trace) -> None:
        runs = trace.laid_down()
        writes = [
            Request(WRITE, 0, offset, length, 1000 * at, 1000 * at + 1000)
            for at, (offset, length) in enumerate(runs)
        ]
        if self._player is not None:
            self._player.play(records(writes))

    def _phase(self, phase: str, number: int, part: tuple[float, float]) -> None:
        plan = self._plan
        own = 0.5 / plan.runs
        first = 0.5 + number * own
        counts = [(case, count) for case, count in plan.suite.counts.items() if count]
        for place, (case, count) in enumerate(counts):
            share = part[0] + (part[1] - part[0]) * place / len(counts)
            self._tell(first, own)(f"run {number + 1}/{plan.runs} {case}", share)
            self.outcome.samples[-1].append(self._case(phase, case, count))

    def _case(self, phase: str, case: str, count: int) -> Sample:
        trace = self._traces[case]
        self._wanted_iterations += count
        windows: list[tuple[int, int]] = []
        found = Moved()
        while len(windows) < count:
            requests = spread(trace.first(count - len(windows)), self._plan.cpu.think_ns(case))
            if self._plan.idle_ms:
                requests = _with_pauses(requests, self._plan.idle_ms * 1_000_000)
            times = self._played_times(requests)
            played = _iterations(requests, times)
            found += moved(requests, times, played)
            windows += played
        self._played += len(windows)
        responses = [end - begin for begin, end in windows]
        return Sample(phase, case, responses, found.busy_ns, found)

    def _played_times(self, requests: tuple[Request, ...]) -> list[tuple[int, int]]:
        """Play requests; return when each began and ended."""
        if self._player is None or self.outcome.counted is None:
            return []
        words = self._player.play(records(requests))
        times: list[tuple[int, int]] = list(struct.iter_unpack("<QQ", words))
        self.outcome.counted.add(requests, times)
        return times

    def _lost_pages(self) -> int:
        """Return the pages of reads so far that gave no data."""
        # Without a code correction is left out, and every bit error counts.
        if self._player is None or self._plan.device.to_dict()["ecc"]["algorithm"] == "none":
            return 0
        return int(json.loads(self._player.status())["uncorrectable_reads"])

    def _drive_now(self) -> AppDrive:
        status = json.loads(self._player.status()) if self._player is not None else {}
        return AppDrive(**{key: status[key] for key in DRIVE_KEYS})


def _iterations(
    requests: tuple[Request, ...], times: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return begin and end of the iterations."""
    found = []
    begun = 0
    for one, (start, end) in zip(requests, times, strict=True):
        if one.mark is None:
            continue
        if one.mark[2]:
            found.append((begun, end))
        else:
            begun = start
    return found


def _with_pauses(requests: tuple[Request, ...], pause_ns: int) -> tuple[Request, ...]:
    """Return requests with a pause before each iteration but the first."""
    moved = []
    shift = 0
    for one in requests:
        if one.mark is not None and not one.mark[2] and one.mark[1]:
            shift += pause_ns
        moved.append(
            Request(
                one.kind, one.stream, one.offset, one.length, one.arrive + shift,
                one.reply + shift, one.mark,
            )
        )  # fmt: skip
    return tuple(moved)


def _profile(about: list[str]) -> AppProfile:
    """Return the profile that the first line of a trace names; empty words where it does not."""
    words = [word.strip() for word in about[0].split(";")[-1].split(",")] if about else []
    journal, sync = words[1:3] if len(words) >= 3 else ("", "")
    return AppProfile(journal=journal, sync=sync, page_bytes=4096)
