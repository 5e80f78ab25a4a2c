"""The outcome of a run of a suite, live or replayed: samples by phase and case.

`live` and `replaying` fill it, `assembling` makes the document of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from opennandlab.app.requests import Counted, Moved
from opennandlab.documents.app import AppCheck, AppCpu, AppEnvironment, AppProfile, AppState
from opennandlab.documents.record import JsonObject


@dataclass(frozen=True)
class Progress:
    """The progress of a run.

    Args:
        what: The present step, in words.
        fraction: Share that is done, 0 to 1: live, of the iterations of all cases and runs; in a
            replay the preparation of the drive is the first half, and the cases, equally, the rest.
        elapsed_s: Seconds since the beginning.
        is_finished: Whether this is the last report of the run.
    """

    what: str
    fraction: float
    elapsed_s: float
    is_finished: bool = False

    @property
    def eta_s(self) -> float | None:
        """Seconds that are left at the rate so far; None before there is one."""
        if self.fraction <= 0:
            return None
        return self.elapsed_s * (1 - self.fraction) / self.fraction


Watcher = Callable[[Progress], None]
"""Receives the progress of a run; `KeyboardInterrupt` from it ends the run, whose part is kept."""


@dataclass(frozen=True)
class Sample:
    """One case of one run.

    Args:
        phase: `main`; of a suite that fills the device, `first` before that and `second` after it.
        case: Name of the case.
        responses_ns: Time of each iteration.
        drive_ns: Time of them in which the drive had a request; None live: it is not seen.
        moved: Reads and writes in them; live, of files.
    """

    phase: str
    case: str
    responses_ns: list[int]
    drive_ns: int | None = None
    moved: Moved | None = None

    @property
    def run_ns(self) -> int:
        """Time of the case, without its setup and pauses."""
        return sum(self.responses_ns)


@dataclass
class Outcome:
    """The results of a run, while it runs and after it.

    Args:
        environment: The machine and the file system, or the simulated drive.
        profile: Settings of databases.
        samples: Cases of each run, in order.
        counted: Counts and times of requests; None live, where they are not seen.
        cpu: Think time that was added; None without.
        state: State that a simulated drive was brought into; None live.
        device: Resolved device of a simulated drive; None live.
        checks: Self-checks.
        is_partial: Whether the run was interrupted or failed.
        sizes: Sizes of recordings that differ from the defaults, by case and name.
        failure: Message of the error that ended the run; empty otherwise.
    """

    environment: AppEnvironment
    profile: AppProfile
    samples: list[list[Sample]] = field(default_factory=list)
    counted: Counted | None = None
    cpu: AppCpu | None = None
    state: AppState | None = None
    device: JsonObject | None = None
    checks: list[AppCheck] = field(default_factory=list)
    is_partial: bool = False
    sizes: dict[str, dict[str, int]] = field(default_factory=dict)
    failure: str = ""
