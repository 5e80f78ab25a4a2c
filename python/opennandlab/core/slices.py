"""Slices of a run: the core works for about 20 ms with the GIL released, then Python has a look.

So Ctrl-C just works, progress needs no callback out of Rust, and how a run is sliced cannot change
its numbers.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from opennandlab import _core
from opennandlab.base.errors import BusyError
from opennandlab.core.memory import peak_rss_bytes
from opennandlab.documents.result import RunFacts

# Ctrl-C must be felt within 0.2 s. A slice that runs from an untimed into a timed stage takes up to
# six times as long as it was meant to, because its operations get so much slower.
SLICE_S = 0.02
# The first slice of a stage: even at 200 000 operations a second it ends within 40 ms.
SLICE_OPS_FIRST = 8192
# Sizes of slices grow by at most this factor, since a drive gets slower when collection starts.
SLICE_GROWTH = 8.0


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Args:
        stage: What is being done, such as `sequential fill`.
        stage_index: Its place, from 0.
        stage_count: Stages in all, the measured one included.
        measured: True in the part whose numbers are reported.
        done: Units done in this stage.
        total: Units of this stage; 0 when it ends by a condition.
        simulated_ns: Time that passed in the drive, in this stage.
        host_ios: Host commands so far, in all stages.
        flash_ops: Flash operations so far, in all stages.
        finished: True once everything is done.
        elapsed_s: Seconds since the run began.
        stage_elapsed_s: Seconds since the stage began.
    """

    stage: str
    stage_index: int
    stage_count: int
    measured: bool
    done: int
    total: int
    simulated_ns: int
    host_ios: int
    flash_ops: int
    finished: bool
    elapsed_s: float = 0.0
    stage_elapsed_s: float = 0.0

    @property
    def fraction(self) -> float | None:
        """Share of the stage that is done, 0 to 1; None when its end is not known."""
        return min(1.0, self.done / self.total) if self.total else None

    @property
    def eta_s(self) -> float | None:
        """Seconds until the stage ends, at its mean speed so far."""
        fraction = self.fraction
        if not fraction:
            return None
        return self.stage_elapsed_s * (1.0 - fraction) / fraction


Watcher = Callable[[Progress], None]


class Exclusive:
    """Lets one user at a time work with a drive, for the length of a `with`.

    A second one is refused instead of made to wait: inside a watcher it would wait for ever, and in
    another thread its slices would go to the job of the first.
    """

    def __init__(self) -> None:
        """Nobody works with the drive."""
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        """Begin to work with the drive.

        Raises:
            BusyError: when somebody does already.
        """
        if not self._lock.acquire(blocking=False):
            raise BusyError(
                "this drive is carrying out a run: wait until it ends, "
                "or use another drive in another thread"
            )

    def __exit__(self, *_: object) -> None:
        """Let others work with it."""
        self._lock.release()


def iter_run(core: _core.Drive, slice_ops: int | None = None) -> Iterator[Progress]:
    """Advance a begun simulation slice by slice, yielding after each.

    Args:
        core: A simulation with a job.
        slice_ops: Fixed operations per slice; None adapts them to about 20 ms.
    """
    began = stage_began = now = time.perf_counter()
    stage, ops = -1, float(slice_ops or SLICE_OPS_FIRST)
    while True:
        progress = json.loads(core.advance(int(ops)))
        before, now = now, time.perf_counter()
        if progress["stage_index"] != stage:
            # Untimed and timed stages differ tenfold in speed: start small again.
            stage, stage_began = progress["stage_index"], before
            ops = float(slice_ops or SLICE_OPS_FIRST)
        elif slice_ops is None:
            wanted = ops * SLICE_S / max(now - before, 1e-6)
            ops = min(max(wanted, 64.0), ops * SLICE_GROWTH)
        yield Progress(**progress, elapsed_s=now - began, stage_elapsed_s=now - stage_began)
        if progress["finished"]:
            return


class Clock:
    """Wall time and rates of this machine: the `run` section."""

    def __init__(self) -> None:
        """Begin before the first slice."""
        self.last: Progress | None = None
        self.before: Progress | None = None  # the last one before the measured part

    def update(self, state: Progress) -> None:
        """Note how far the run is after a slice."""
        if not (state.measured or state.finished):
            self.before = state
        self.last = state

    def facts(self) -> RunFacts:
        """Return wall times, rates and the most memory so far."""
        last, before = self.last, self.before
        wall = last.elapsed_s if last else 0.0
        before_s = before.elapsed_s if before else 0.0
        measured_s = wall - before_s
        ios = (last.host_ios if last else 0) - (before.host_ios if before else 0)
        ops = (last.flash_ops if last else 0) - (before.flash_ops if before else 0)
        return RunFacts(
            wall_s=round(wall, 6),
            precondition_wall_s=round(before_s, 6),
            measured_wall_s=round(measured_s, 6),
            host_ios_per_s=round(ios / measured_s) if measured_s > 0 else None,
            flash_ops_per_s=round(ops / measured_s) if measured_s > 0 else None,
            peak_rss_bytes=peak_rss_bytes(),
        )
