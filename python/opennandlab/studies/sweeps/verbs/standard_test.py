"""`pts.iops` and its siblings: a standard test on a simulated drive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar

from opennandlab.base.campaign import Watcher
from opennandlab.base.errors import ConfigError
from opennandlab.base.journal import JournalError
from opennandlab.core.config import load_device, read_device
from opennandlab.core.run import SEED
from opennandlab.documents.pts import PtsDocument
from opennandlab.documents.pts_base import Results
from opennandlab.documents.pts_results import RESULTS
from opennandlab.documents.record import JsonObject, number_paths, plain
from opennandlab.pts.bench.folder import Place
from opennandlab.pts.bench.plan import Settings
from opennandlab.pts.bench.record import Progress
from opennandlab.pts.bench.runner import run_test
from opennandlab.pts.bench.test import Test
from opennandlab.store.entry import numbers
from opennandlab.store.unfinished import empty
from opennandlab.studies.sweeps.verb import Reader, drafted
from opennandlab.studies.sweeps.verbs.benchmark import Drafts, OnDrive, draft_of
from opennandlab.targets.simulated import SimulatedTarget

# The seed belongs to the point.
NAMES = tuple(field.name for field in fields(Settings) if field.name != "seed")


class StandardTest(OnDrive):
    """A standard test on a drive."""

    is_resumable: ClassVar[bool] = True
    keys: ClassVar[Mapping[str, str]] = {
        "device": "a preset, a file, or the keys of a device",
        "pts": "settings of the test, such as {profile: C, time_base: smoke, options: {hours: 1}}",
    }

    def __init__(self, test: Test) -> None:
        """Take the test."""
        self.test = test
        self.name = f"pts.{test.name}"  # type: ignore[misc]
        self.title = test.title  # type: ignore[misc]
        self.metric = "average_1"  # type: ignore[misc]
        self.columns = ("average_1", "steady")  # type: ignore[misc]

    def reader(self, request: Mapping[str, Any]) -> Reader:
        """Return what resolves device and settings of a point."""
        devices = Drafts(read_device)

        def settings(changes: Mapping[str, Any]) -> JsonObject:
            own, device_changes = drafted(changes, "pts")
            device = load_device(draft_of(devices, request, device_changes), device_changes)
            asked = _settings({**(request.get("pts") or {}), **own})
            asked.check()
            wanted = asked.to_dict()
            wanted.pop("seed")
            return {"device": device.to_dict(), "pts": wanted}

        return settings

    def run(
        self, settings: JsonObject, seed: int | None, watch: Watcher, place: Path | None = None
    ) -> JsonObject:
        """Run the test; its journal and the state of its drive are in the place."""
        number = SEED if seed is None else seed
        state = Settings(**settings["pts"]).state
        target = SimulatedTarget(settings["device"], seed=number, state=state)

        def told(progress: Progress) -> None:
            watch(progress.fraction)

        try:
            return plain(self.measured(target, settings["pts"], number, told, place))
        finally:
            target.close()

    def measured(
        self,
        target: SimulatedTarget,
        wanted: JsonObject,
        seed: int,
        watch: Callable[[Progress], None],
        place: Path | None,
    ) -> PtsDocument:
        """Run the test on a drive; its journal and the states of the drive are in the place.

        Args:
            target: The drive; it stays open.
            wanted: Settings of the test.
            seed: Seed of all randomness.
            watch: Called with the progress.
            place: A folder; None for nowhere.
        """
        asked = Settings(**wanted, seed=seed)
        files = Place(place, resume=place is not None)
        try:
            return run_test(self.test, target, settings=asked, place=files, watch=watch)
        except JournalError:  # damaged, or of another build of the program
            if place is None:
                raise
            empty(place)
            return run_test(self.test, target, settings=asked, place=files, watch=watch)

    def caution(self, settings: JsonObject) -> str | None:
        """Say that a smoke is no measurement."""
        is_smoke = settings["pts"]["time_base"] == "smoke"
        return "smoke: not a result; the cells are too short for it" if is_smoke else None

    def names(self, request: Mapping[str, Any]) -> list[str]:
        """Return the numbers of the results of the test, and of its steady states."""
        del request
        results = RESULTS.get(self.test.name, Results)
        return [*number_paths(results), "steady", "average_*"]

    def metrics(self, document: JsonObject) -> dict[str, float]:
        """Return the numbers of `results`, and the mean of the window of each tracked value.

        `steady` is 1 where all of these are steady and the drive collected, else 0.
        """
        found = dict(numbers(document["results"]))
        if document["steady_state"]:
            found["steady"] = float(all(_is_steady(state) for state in document["steady_state"]))
        for place, state in enumerate(document["steady_state"], 1):
            if state["average"] is not None:  # no window was whole, as on a drive that wore out
                found[f"average_{place}"] = float(state["average"])
        return found


def _is_steady(state: JsonObject) -> bool:
    return bool(state["attained"]) and state.get("collection") != "none"


def _settings(asked: Mapping[str, Any]) -> Settings:
    options: dict[str, Any] = dict(asked.get("options") or {})
    plain_keys: dict[str, Any] = {}
    for key, value in asked.items():
        head, _, rest = key.partition(".")
        if head == "options":
            if rest:
                options[rest] = value
        elif key in NAMES:
            plain_keys[key] = value
        else:
            raise ConfigError(f"pts.{key}", f"is not a setting; accepted: {', '.join(NAMES)}")
    return Settings(**plain_keys, options=options)
