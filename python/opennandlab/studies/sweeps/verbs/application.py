"""`app`: application-shaped work, replayed on a simulated drive in one of its four states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from opennandlab.app import replaying
from opennandlab.app.assembling import assemble
from opennandlab.app.outcome import Progress
from opennandlab.app.states import Wanted
from opennandlab.app.suites import Suite, suite
from opennandlab.base.campaign import Stopped, Watcher
from opennandlab.base.errors import ConfigError
from opennandlab.base.plain import is_number
from opennandlab.core.config import DeviceConfig, load_device, read_device
from opennandlab.core.run import SEED
from opennandlab.documents.app import FIGURES, AppDocument, figures
from opennandlab.documents.record import JsonObject, plain
from opennandlab.studies.sweeps.verb import Reader, drafted
from opennandlab.studies.sweeps.verbs.benchmark import Drafts, FailedChecksError, OnDrive, draft_of

RUNS_MAX, IDLE_MS_MAX = 1000, 3_600_000


@dataclass(frozen=True)
class AppSettings:
    """Settings of a point, besides its device; as a user gave them, of any type until checked.

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
        ConfigError: for a value of another type, out of range, or unknown.
    """

    suite: str = "light"
    cases: Mapping[str, int] | None = None
    state: str = Wanted.name
    drive_writes: int = Wanted.drive_writes
    dirty_writes: float = Wanted.dirty_writes
    dirt: str = Wanted.dirt_of
    age: str = Wanted.age_by
    format: str = Wanted.format_by
    runs: int = 1
    idle_ms: int = 0

    def __post_init__(self) -> None:
        """Check types and ranges; suite and state check the rest."""
        if self.cases is not None and not isinstance(self.cases, Mapping):
            raise ConfigError("app.cases", "is not a mapping; accepted: for example {contact: 5}")
        for name in ("suite", "state", "dirt", "age", "format"):
            if not isinstance(value := getattr(self, name), str):
                raise ConfigError(f"app.{name}", f"`{value}` is not text")
        for name, least, most in (("runs", 1, RUNS_MAX), ("idle_ms", 0, IDLE_MS_MAX)):
            value = getattr(self, name)
            if not _is_whole(value) or not least <= value <= most:
                raise ConfigError(f"app.{name}", f"`{value}`; accepted: {least} to {most}")
        if not _is_whole(self.drive_writes):
            raise ConfigError("app.drive_writes", f"`{self.drive_writes}` is not a whole number")
        if not is_number(self.dirty_writes):
            raise ConfigError("app.dirty_writes", f"`{self.dirty_writes}` is not a number")
        self.chosen_suite()
        self.drive_state()

    def chosen_suite(self) -> Suite:
        """Return the suite with its cases."""
        return suite(self.suite, self.cases)

    def drive_state(self) -> Wanted:
        """Return the state that the drive is brought into."""
        return Wanted(
            self.state, self.drive_writes, self.dirty_writes, self.dirt, self.age, self.format
        )


NAMES = tuple(field.name for field in fields(AppSettings))


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class Application(OnDrive):
    """A suite of applications on a drive."""

    name: ClassVar[str] = "app"
    title: ClassVar[str] = "a suite of applications on a drive"
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
            raise ConfigError("app", f"`{shared}` is not a mapping; accepted: {', '.join(NAMES)}")

        def settings(changes: Mapping[str, Any]) -> JsonObject:
            own, device_changes = drafted(changes, "app")
            given = {**shared, **own}
            unknown = next((key for key in given if key not in NAMES), None)
            if unknown is not None:
                raise ConfigError(f"app.{unknown}", f"is unknown; accepted: {', '.join(NAMES)}")
            checked = AppSettings(**given)
            device = load_device(draft_of(devices, request, device_changes), device_changes)
            counts = checked.chosen_suite().counts
            traces = replaying.prepare(plan_of(device, checked, SEED))
            return {
                "device": device.to_dict(),
                "app": {
                    **{name: getattr(checked, name) for name in NAMES},
                    "cases": {case: count for case, count in counts.items() if count},
                },
                "traces": {case: trace.digest for case, trace in traces.items()},
            }

        return settings

    def run(
        self, settings: JsonObject, seed: int | None, watch: Watcher, place: Path | None = None
    ) -> JsonObject:
        """Replay the suite."""
        del place  # an interrupted point restarts
        checked = AppSettings(**settings["app"])
        plan = plan_of(load_device(settings["device"]), checked, SEED if seed is None else seed)

        document, failed = replayed(plan, watch)
        if not document.passed:
            raise FailedChecksError(f"self-checks failed: {failed}")
        return plain(document)

    def names(self, request: Mapping[str, Any]) -> list[str]:
        """Return all numbers: a case that writes nothing has no WAF, and a suite may vary."""
        del request
        return list(FIGURES)

    def metrics(self, document: JsonObject) -> dict[str, float]:
        """Return score, run time, responses, times of requests and what the drive wrote."""
        return figures(document)


def replayed(plan: replaying.Plan, watch: Watcher) -> tuple[AppDocument, str]:
    """Replay a plan; return its document and the self-checks that failed, as text.

    Raises:
        Stopped: when the replay was interrupted.
    """

    def watched(state: Progress) -> None:
        if not state.is_finished:
            watch(state.fraction)

    outcome = replaying.replay(plan, watched)
    if outcome.is_partial:
        raise Stopped
    known: dict[str, object] = {
        "mode": "replay", "seed": plan.seed, "runs": plan.runs, "idle_ms": plan.idle_ms,
        "sizes": {},
    }  # fmt: skip
    document = assemble(outcome, plan.suite, known, target="sim:", wall_s=0.0)
    failed = "; ".join(f"{it.name}: {it.detail}" for it in document.checks if not it.passed)
    return document, failed


def plan_of(
    device: DeviceConfig,
    settings: AppSettings,
    seed: int,
    before: Path | None = None,
    after: Path | None = None,
) -> replaying.Plan:
    """Return what is to be played; with `before` on the drive of an image, left in `after`."""
    return replaying.Plan(
        device=device,
        suite=settings.chosen_suite(),
        seed=seed,
        runs=settings.runs,
        wanted=settings.drive_state(),
        image=before,
        image_after=after,
        idle_ms=settings.idle_ms,
    )
