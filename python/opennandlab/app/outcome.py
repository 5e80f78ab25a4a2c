"""What a run of a suite gave, whatever it ran on: samples by phase and case.

`live` and `replaying` fill it, `assembling` makes the document of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from opennandlab.app.requests import Counted
from opennandlab.documents.app import AppCheck, AppEnvironment, AppProfile, AppState
from opennandlab.documents.record import JsonObject


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Args:
        what: What is done now.
        fraction: Share of the whole that is done, 0 to 1.
        elapsed_s: Seconds since the beginning.
        finished: Whether it is over.
    """

    what: str
    fraction: float
    elapsed_s: float
    finished: bool = False

    @property
    def eta_s(self) -> float | None:
        """Seconds that are left at the rate so far; None before there is one."""
        if self.fraction <= 0:
            return None
        return self.elapsed_s * (1 - self.fraction) / self.fraction


Watcher = Callable[[Progress], None]


@dataclass(frozen=True)
class Sample:
    """One case of one run.

    Args:
        phase: Of the suite.
        case: Its name.
        run_ns: Time of the case: the sum of its iterations.
        responses_ns: Each iteration.
    """

    phase: str
    case: str
    run_ns: int
    responses_ns: list[int]


@dataclass
class Outcome:
    """What was found, so far.

    Args:
        environment: Where it runs.
        profile: Of databases.
        samples: A list for each run.
        counted: Requests; None where they are not known.
        state: Of a simulated drive.
        device: Of a simulated drive.
        checks: Self-checks.
        partial: Whether it was interrupted, or failed.
        failure: Why it ended early, where nobody interrupted it; empty otherwise.
    """

    environment: AppEnvironment
    profile: AppProfile
    samples: list[list[Sample]] = field(default_factory=list)
    counted: Counted | None = None
    state: AppState | None = None
    device: JsonObject | None = None
    checks: list[AppCheck] = field(default_factory=list)
    partial: bool = False
    failure: str = ""
