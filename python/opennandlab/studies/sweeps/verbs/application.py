"""`app`: application-shaped work, replayed on a simulated drive in one of its four states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from opennandlab.app import replaying
from opennandlab.app.assembling import assemble
from opennandlab.app.outcome import Progress
from opennandlab.app.states import Wanted
from opennandlab.app.suites import Suite, suite
from opennandlab.base.campaign import Stopped, Watcher
from opennandlab.base.errors import ConfigError
from opennandlab.core.config import load_device, read_device
from opennandlab.core.run import SEED
from opennandlab.documents.app import figures
from opennandlab.documents.record import JsonObject, plain
from opennandlab.studies.sweeps.verb import Reader, drafted
from opennandlab.studies.sweeps.verbs.benchmark import Drafts, FailedChecksError, OnDrive, draft_of

RUNS_MAX, IDLE_MS_MAX = 1000, 3_600_000


@dataclass(frozen=True)
class Asked:
    """What a point runs, besides its device.

    Args:
        suite: Name of the suite.
        cases: Iterations of cases instead of those of the suite; empty for the suite's.
        state: State of the drive.
        drive_writes: Capacities written to make a drive old.
        dirty_writes: Capacities written to make a drive dirty.
        dirt: What is written then: files or pages.
        age: Whether age is written or set: write or warp.
        format: How an old drive is formatted: erase or discard.
        runs: How often each case is run.
        idle_ms: Pause between iterations.

    Raises:
        ConfigError: for what cannot be asked for.
    """

    suite: str = "light"
    cases: Mapping[str, int] | None = None
    state: str = "young-clean"
    drive_writes: int = 30
    dirty_writes: float = 1.19
    dirt: str = "files"
    age: str = "write"
    format: str = "erase"
    runs: int = 1
    idle_ms: int = 0

    def __post_init__(self) -> None:
        """Check the numbers; suite and state check theirs."""
        if self.cases is not None and not isinstance(self.cases, Mapping):
            raise ConfigError("app.cases", "is no mapping; accepted: such as {contact: 5}")
        for name, least, most in (("runs", 1, RUNS_MAX), ("idle_ms", 0, IDLE_MS_MAX)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise ConfigError(f"app.{name}", f"`{value}`; accepted: {least} to {most}")
        _ = self.chosen, self.wanted

    @property
    def chosen(self) -> Suite:
        """The suite with its cases."""
        return suite(str(self.suite), self.cases)

    @property
    def wanted(self) -> Wanted:
        """The state."""
        return Wanted(
            str(self.state), self.drive_writes, self.dirty_writes, str(self.dirt),
            str(self.age), str(self.format),
        )  # fmt: skip


NAMES = tuple(Asked.__dataclass_fields__)


class Application(OnDrive):
    """A suite of applications on a drive."""

    name: ClassVar[str] = "app"
    keys: ClassVar[Mapping[str, str]] = {
        "device": "a preset, a file, or the keys of a device",
        "app": f"what is run, with {', '.join(NAMES)}",
    }
    metric: ClassVar[str] = "total_ms"
    columns: ClassVar[tuple[str, ...]] = (
        "score", "total_ms", "response_ms.max", "write_us.mean", "flush_us.mean", "waf",
    )  # fmt: skip

    def reader(self, request: Mapping[str, Any]) -> Reader:
        """Return what resolves device and suite of a point; traces are read to know their content.

        The digests of the traces are part of the settings: other traces are another point.
        """
        devices = Drafts(read_device)
        shared = request.get("app") or {}
        if not isinstance(shared, Mapping):
            raise ConfigError("app", f"`{shared}` is no mapping; accepted: {', '.join(NAMES)}")

        def settings(changes: Mapping[str, Any]) -> JsonObject:
            own, device_changes = drafted(changes, "app")
            asked = {**shared, **own}
            unknown = next((key for key in asked if key not in NAMES), None)
            if unknown is not None:
                raise ConfigError(f"app.{unknown}", f"is unknown; accepted: {', '.join(NAMES)}")
            found = Asked(**asked)
            device = load_device(draft_of(devices, request, device_changes), device_changes)
            traces = replaying.prepare(_plan(device, found, SEED))
            return {
                "device": device.to_dict(),
                "app": {
                    **{name: getattr(found, name) for name in NAMES},
                    "cases": {case: count for case, count in found.chosen.counts.items() if count},
                },
                "traces": {case: trace.digest for case, trace in traces.items()},
            }

        return settings

    def run(
        self, settings: JsonObject, seed: int | None, watch: Watcher, place: Path | None = None
    ) -> JsonObject:
        """Replay the suite."""
        del place  # what ran without its end is run again
        asked = Asked(**settings["app"])
        plan = _plan(load_device(settings["device"]), asked, SEED if seed is None else seed)

        def told(state: Progress) -> None:
            if not state.is_finished:
                watch(state.fraction)

        outcome = replaying.replay(plan, told)
        if outcome.is_partial:
            raise Stopped
        known: dict[str, object] = {
            "mode": "replay", "seed": plan.seed, "runs": plan.runs, "idle_ms": plan.idle_ms,
            "sizes": {},
        }  # fmt: skip
        document = assemble(outcome, plan.suite, known, target="sim:", wall_s=0.0)
        if not document.passed:
            failed = "; ".join(f"{it.name}: {it.detail}" for it in document.checks if not it.passed)
            raise FailedChecksError(f"self-checks failed: {failed}")
        return plain(document)

    def metrics(self, document: JsonObject) -> dict[str, float]:
        """Return score, run time, responses, times of requests and what the drive wrote."""
        return figures(document)


def _plan(device: Any, asked: Asked, seed: int) -> replaying.Plan:  # noqa: ANN401 (a DeviceConfig)
    return replaying.Plan(
        device=device,
        suite=asked.chosen,
        seed=seed,
        runs=asked.runs,
        wanted=asked.wanted,
        idle_ms=asked.idle_ms,
    )
