"""The bench: does the steps of a test one after the other and keeps the record of them.

A procedure calls `purge`, `precondition`, `measure` and `idle`; the bench gives each step its seed
and its place in time, writes it to the journal, makes checkpoints and tells how far everything is.
Device time is the sum of what the target said each step took, so that a resumed run has the times
of one that was never cut.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from msgspec import structs

from opennandlab.documents import pts_header
from opennandlab.documents.ocp import DeviceLogs, DriveLogs
from opennandlab.documents.record import made, plain
from opennandlab.measured.ocp import changes
from opennandlab.pts.bench.journal import Journal, measurement_from_dict, measurement_to_dict
from opennandlab.pts.bench.plan import WIPC_BLOCK_BYTES, WIPC_CAPACITIES, Plan, seed_of
from opennandlab.pts.bench.record import Cell, Phase, Progress, Record, Watcher
from opennandlab.stats.steady import SteadyState
from opennandlab.targets.base import (
    ActiveRange,
    Imprint,
    Limit,
    Measurement,
    Step,
    Stimulus,
    Target,
    TargetError,
)

# Wall time between two states that are kept in memory, and between two on the disk.
CHECKPOINT_S = 10.0
CHECKPOINT_FILE_S = 60.0
# Keeping states may take this share of the time.
CHECKPOINT_SHARE = 0.02
# Throughput times response time against the requests outstanding, in cells of real drives.
LITTLES_LAW_TOLERANCE = 0.05
# Overwrites of a place on average after which a block holds nothing valid.
DEAD_AFTER = 5
# What of a fill runs with a clock, which tells how long all of it took.
FILL_TIMED_SHARE = 0.01
FILL_TIMED_BYTES_MIN = 64 << 20


class Bench:
    """One test on one target.

    Args:
        target: What is measured.
        plan: The test with all defaults filled in.
        journal: Where steps are kept; None for nowhere.
        watch: Called before, during and after each step.
        checkpoint_s: Wall time between states of the drive that are kept in memory.
    """

    def __init__(
        self,
        target: Target,
        plan: Plan,
        journal: Journal | None = None,
        watch: Watcher | None = None,
        checkpoint_s: float = CHECKPOINT_S,
    ) -> None:
        """Begin at step 0 and time 0."""
        self.target = self._first_target = target
        self.plan = plan
        # Asked now: a target that vanishes in the middle cannot be asked any more.
        self.facts = structs.replace(target.facts(), state=target.state_facts())
        self.power = target.power_facts()
        self.record = Record()
        self.progress = Progress(plan.test.name)
        self._journal = journal
        self._watch = watch
        self._checkpoint_s = checkpoint_s
        self._step = self._target_since = 0
        self._is_live = journal is None or not journal.resumed
        self._clock_s = 0.0
        self._written_bytes = 0
        self._kept: tuple[int, bytes] | None = None
        self._began = self._kept_at = self._filed_at = time.monotonic()
        # A log of a power meter has the clock of the wall.
        self.began_s = time.time()

    @property
    def steps(self) -> int:
        """Steps done so far."""
        return self._step

    @property
    def is_resumed(self) -> bool:
        """Whether the journal is that of a run that was cut."""
        return self._journal is not None and self._journal.resumed

    @property
    def clock_s(self) -> float:
        """Device time since the start of the test."""
        return self._clock_s

    @property
    def written_bytes(self) -> int:
        """Bytes written since the last purge."""
        return self._written_bytes

    @property
    def fills(self) -> float:
        """Bytes written since the last purge, in user capacities."""
        return self._written_bytes / self.plan.time.capacity_bytes

    @property
    def is_range_small(self) -> bool:
        """Whether blocks are dead by the time they are reclaimed; False where unknown.

        They are where all that the test may write fits into the spare area. Without
        preconditioning everything else is spare area, and each place is written again
        `DEAD_AFTER` times on average before a block is needed: of random writes exp(-5),
        0.7 %, are still valid then.
        """
        physical, written = self.facts.device.physical_bytes, self.plan.range_bytes
        if physical is None:
            return False
        if not self.plan.test.wipc and written * (1 + DEAD_AFTER) <= physical:
            return True
        return written <= physical - self.plan.time.capacity_bytes

    def stimulus(self, **changes: Any) -> Stimulus:  # noqa: ANN401 (fields of Stimulus)
        """Return the test's load (threads, depth, range, data) with what a cell adds."""
        plan = self.plan
        base = Stimulus(
            threads=plan.threads,
            queue_depth=plan.queue_depth,
            active_range=plan.active_range,
            data=plan.settings.data,
        )
        return replace(base, **changes)

    @contextlib.contextmanager
    def phase(
        self,
        name: str,
        round_number: int | None = None,
        *,
        group: str = "",
        cells: int | None = None,
    ) -> Iterator[None]:
        """Collect the steps within as one phase of the record."""
        phase = Phase(name, round_number, group, self._clock_s)
        self.record.phases.append(phase)
        self.progress.phase, self.progress.round = name, round_number
        self.progress.cell, self.progress.cells = 0, cells
        yield
        phase.end_s, phase.written_bytes = self._clock_s, self._written_bytes

    def note_logs(self) -> None:
        """Read the logs of the drive before the test, if its kind has some."""
        if self.target.has_logs:
            outcome = self._do(
                "logs", "logs of the drive", lambda: {"logs": plain(self.target.device_logs())}
            )
            self.record.logs_before = made(outcome["logs"], DeviceLogs)

    def logs(self) -> DriveLogs | None:
        """Return the logs of the drive before the test and now; None if its kind has none."""
        before = self.record.logs_before
        if before is None:
            return None
        after = self.target.device_logs()
        return DriveLogs(before=before, after=after, change=changes(before, after))

    def restart_point(self) -> None:
        """Say that a run on a real drive that is cut after this goes on from here."""
        self._restart_point(self.target.imprint)

    def bind(self, digest: str) -> None:
        """Note the digest of an input as a step: a run is not resumed with another one."""
        self._do(f"input {digest}", "input", dict)

    def purge(self, *, group: str = "") -> None:
        """Bring the target into the state as if nothing had been written; set its cache."""
        self._restart_point(self._unwritten)
        with self.phase("purge", group=group):
            outcome = self._do("purge", "purge", self._purge_target)
        self._written_bytes = 0
        self.record.phases[-1].written_bytes = 0
        self.record.purge = made(outcome["purge"], pts_header.Purge)
        self.record.cache = outcome["cache"]

    def _unwritten(self) -> Imprint | None:
        """Return what the target is before a purge: what it holds does not matter."""
        found = self.target.imprint()
        return replace(found, written_share=0.0) if found else None

    def _purge_target(self) -> dict[str, Any]:
        self.target.purge_watch = self._watch_step if self._watch else None
        done = self.target.purge()
        state = self.target.set_cache(enabled=self.plan.cache_enabled)
        purge = {"method": done.method, "is_purge": done.is_purge, "note": done.note}
        return {"purge": purge, "cache": state}

    def precondition(self, block_bytes: int = WIPC_BLOCK_BYTES, *, group: str = "") -> None:
        """Fill the range sequentially, as often as the plan says (WIPC)."""
        plan = self.plan
        base = 1.0 if plan.settings.wipc_base == "user" else plan.wipc_range.share
        limit = plan.time.capacities(self.wipc_capacities() * base)
        stimulus = self.stimulus(
            pattern="sequential", block_bytes=block_bytes, active_range=plan.wipc_range
        )
        seconds = None
        if plan.wipc_capacities > 0:
            with self.phase("wipc", group=group):
                seconds = self.fill(stimulus, limit, label="WIPC")
        self.record.wipc = pts_header.Wipc(
            pattern="sequential",
            block_bytes=block_bytes,
            capacities=plan.wipc_capacities * base,
            bytes=limit.bytes if plan.wipc_capacities > 0 else 0,
            passes=plan.wipc_capacities * base / plan.wipc_range.share,
            threads=stimulus.threads,
            queue_depth=stimulus.queue_depth,
            seconds=seconds,
        )

    def wipc_capacities(self) -> float:
        """Return how often the drive is filled, and note where that is not the standard's."""
        if self.plan.settings.wipc_capacities is None:
            self.plan.time.note_wipc(WIPC_CAPACITIES)
        return self.plan.wipc_capacities

    def fill(self, stimulus: Stimulus, limit: Limit, *, label: str) -> float:
        """Write sequentially without measuring, and return the time that it took.

        A simulated drive writes all but the last hundredth without a clock, which is many times
        faster; the rate of that hundredth says how long the rest took, and its clock goes on by as
        much.
        """
        if not self.target.is_virtual:
            cell = self.measure(stimulus, limit, label=label, is_measured=False)
            return cell.measurement.elapsed_s or 0.0
        timed = max(int(limit.bytes * FILL_TIMED_SHARE), FILL_TIMED_BYTES_MIN)
        timed = min(timed // WIPC_BLOCK_BYTES * WIPC_BLOCK_BYTES, limit.bytes)
        untimed = limit.bytes - timed
        end = 0
        if untimed > 0:
            first = self.measure(
                stimulus, replace(limit, bytes=untimed), label=label, is_measured=False
            )
            end = first.measurement.end_bytes
        last = self.measure(
            replace(stimulus, start_bytes=end),
            replace(limit, bytes=limit.bytes - untimed),
            label=label,
            is_cell=False,
        )
        last_s = last.measurement.elapsed_s or 0.0
        passed_s = last_s * untimed / max(timed, 1)
        self._let_pass(passed_s, label)
        return last_s + passed_s

    def fill_range(self, part: ActiveRange, *, group: str = "") -> None:
        """Write a range once, sequentially, as a phase of its own."""
        stimulus = self.stimulus(
            pattern="sequential", block_bytes=WIPC_BLOCK_BYTES, active_range=part
        )
        with self.phase("fill", group=group, cells=1):
            self.fill(stimulus, self.plan.time.capacities(part.share), label="fill")

    def _let_pass(self, seconds: float, label: str) -> None:
        """Let blocks age by the time that writes without a clock took."""

        def let_pass() -> dict[str, Any]:
            self.target.pass_time(seconds)
            return {}

        self._do("clock", label, let_pass)
        self._clock_s += seconds

    def measure(  # noqa: PLR0913 (all but two by name)
        self,
        stimulus: Stimulus,
        limit: Limit,
        *,
        label: str,
        part: str | None = None,
        sample_s: float | None = None,
        is_measured: bool = True,
        is_cell: bool = True,
        writes_rest: bool = False,
    ) -> Cell:
        """Apply a stimulus as the next cell of the phase.

        What is not measured is not a cell of the document: only its bytes and its time count.

        Args:
            stimulus: What to do.
            limit: For how long.
            label: Name of the cell in tables.
            part: What the document has as its phase, where that is not the phase it runs in.
            sample_s: Length of the pieces in time that are wanted; None for none.
            is_measured: False for what only writes, on a simulated drive without a clock.
            is_cell: False for what is no cell of the document although it is measured.
            writes_rest: Whether what a scaled cell would have written more in its minute is written
                behind it, see `TimeBase.rest_of_minute`.
        """
        if is_measured and self.target.is_virtual:
            limit = self.plan.time.with_ramp(limit, stimulus)
        phase = self.record.phases[-1]
        place = (f"{phase.name}/{phase.group}", phase.round or 0, phase.cells)
        phase.cells += 1
        self.progress.cell = phase.cells
        key = "/".join(map(str, place))
        seed = seed_of(self.plan.settings.seed, self.plan.test.name, *place)

        def run() -> dict[str, Any]:
            done = self.target.run(
                stimulus,
                limit,
                seed=seed,
                sample_s=sample_s,
                is_measured=is_measured,
                watch=self._watch_step if self._watch else None,
            )
            # What the document needs is what the journal keeps: no second way to a number.
            return {"measurement": done}

        outcome = self._do(key, label, run)
        measurement = outcome["measurement"]
        if not isinstance(measurement, Measurement):
            measurement = measurement_from_dict(measurement)
        start_s = self._clock_s
        self._clock_s += measurement.elapsed_s or 0.0
        self._written_bytes += measurement.written_bytes
        temperature = measurement.inside.get("temperature_c")
        if temperature is not None:
            self.record.temperatures_c.append(float(temperature))
        cell = Cell(
            part or phase.name,
            phase.group,
            phase.round,
            stimulus,
            label,
            start_s,
            measurement,
            self._written_bytes,
        )
        if cell.lost_pages:
            self.record.lost.append((label, cell.lost_pages))
        if is_measured and is_cell:
            self.record.cells.append(cell)
            self._note_littles_law(cell)
            self._note_short(cell)
        if writes_rest:
            self._write_rest(cell, key)
        return cell

    def _write_rest(self, cell: Cell, key: str) -> None:
        """Write what a scaled cell would have written more in its minute, without a clock."""
        plan = self.plan
        size, seconds = plan.time.rest_of_minute(cell.stimulus, cell.measurement, plan.range_bytes)
        if not size:
            return
        phase = self.record.phases[-1]
        phase.rests.append(phase.cells)
        writes = replace(cell.stimulus, read_pct=0)
        seed = seed_of(plan.settings.seed, plan.test.name, key, "rest")

        def write() -> dict[str, Any]:
            self.target.run(
                writes,
                Limit(bytes=size),
                seed=seed,
                is_measured=False,
                watch=(lambda _: self._show()) if self._watch else None,
            )
            self.target.pass_time(seconds)
            return {}

        self._do(f"{key}/rest", cell.label, write)
        self._written_bytes += size
        self._clock_s += seconds

    def _note_littles_law(self, cell: Cell) -> None:
        """Note a cell whose throughput, response time and outstanding requests do not agree."""
        error = cell.measurement.inside.get("littles_law_error")
        if error is not None and abs(error) > LITTLES_LAW_TOLERANCE:
            self.record.littles_law.append((cell.label, float(error)))

    def _note_short(self, cell: Cell) -> None:
        """Note a cell of a closed loop in which the queue did not turn over once."""
        if cell.is_short:
            outstanding, ios = cell.stimulus.outstanding, cell.measurement.ios
            self.record.short.append((cell.label, ios, outstanding))

    def idle(self, seconds: float) -> None:
        """Let time pass in the target."""

        def rest() -> dict[str, Any]:
            self.target.idle(seconds)
            return {}

        self._do("idle", f"idle {seconds:g} s", rest)
        self._clock_s += seconds

    def exchange(self, target: Target, plan: Plan) -> None:
        """Go on with another target of the same kind, which is purged first."""
        self.close()
        self.target, self.plan = target, plan
        # A state of the target before is none of this one.
        self._kept = None
        self._target_since = self._step

    def close(self) -> None:
        """Close the target of the last `exchange`, and go back to the first."""
        if self.target is not self._first_target:
            self.target.close()
            self.target = self._first_target

    def host_path(self) -> pts_header.HostPath | None:
        """Return how requests reached the target; None for one that is gone."""
        try:
            return self.target.host_path()
        except TargetError:
            return None

    def warn(self, text: str) -> None:
        """Note what the reader of the document should know, once."""
        if text not in self.record.warnings:
            self.record.warnings.append(text)

    def leave_out(self, text: str) -> None:
        """Note a cell of the specification that this target cannot do."""
        if text not in self.record.cells_left_out:
            self.record.cells_left_out.append(text)

    def tell(self, steady: SteadyState | None) -> None:
        """Show the rule, applied to the rounds so far."""
        self.progress.steady = steady

    def keep_state(self) -> None:
        """Write the last state that is in memory; called when the run is cut."""
        if self._journal is not None and self._kept is not None:
            self._journal.write_checkpoint(*self._kept)
            self._kept = None

    def _restart_point(self, look: Callable[[], Imprint | None]) -> None:
        if self._journal is not None:
            self._journal.restart_point(self._step, look)

    def _do(self, key: str, label: str, act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Do a step, or take its outcome from the journal."""
        self.progress.label, self.progress.fraction = label, 0.0
        index, self._step = self._step, self._step + 1
        if self._journal is not None and not self._is_live:
            recorded = self._journal.recorded(index, key)
            if recorded is not None:
                return recorded
            self._go_live(self._journal)
        self._show()
        outcome = act()
        if self._journal is not None:
            self._journal.append(index, key, _plain(outcome))
            self._keep_sometimes()
        self.progress.fraction = 1.0
        self._show()
        return outcome

    def _go_live(self, journal: Journal) -> None:
        """Bring the target to where the recorded steps end."""
        self._is_live = True
        if self._step - 1 == self._target_since:
            return  # nothing is recorded of this target: the purge comes first
        state = journal.state()
        self.target.set_cache(enabled=self.plan.cache_enabled)
        if state is not None:
            self.target.restore(state)
        elif self.target.is_virtual:
            raise TargetError(f"{self.target.name}: no state to continue from")

    def _keep_sometimes(self) -> None:
        """Keep the state of the drive when the last one is old enough."""
        now = time.monotonic()
        if not self.target.is_virtual or now - self._kept_at < self._checkpoint_s:
            return
        state = self.target.checkpoint()
        if state is None:
            return
        self._kept = (self._step, state)
        if now - self._filed_at >= min(CHECKPOINT_FILE_S, 6 * self._checkpoint_s):
            self.keep_state()
            self._filed_at = time.monotonic()
        cost = time.monotonic() - now
        self._kept_at = now + cost + cost / CHECKPOINT_SHARE

    def _watch_step(self, step: Step) -> None:
        self.progress.fraction = step.fraction
        self._show(step.target_s)

    def _show(self, step_s: float = 0.0) -> None:
        if self._watch is None:
            return
        progress = self.progress
        progress.device_s = self._clock_s + step_s
        progress.elapsed_s = time.monotonic() - self._began
        self._watch(progress)


def _plain(outcome: dict[str, Any]) -> dict[str, Any]:
    """Return an outcome as the journal keeps it."""
    measurement = outcome.get("measurement")
    if isinstance(measurement, Measurement):
        return {**outcome, "measurement": measurement_to_dict(measurement)}
    return outcome
