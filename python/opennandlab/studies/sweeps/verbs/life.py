"""`reliability.life` and `reliability.drive-life`: life tests after JESD218."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from opennandlab.base.campaign import Watcher
from opennandlab.base.errors import ConfigError
from opennandlab.base.hints import nearest
from opennandlab.core.by_hand import is_set, overruled
from opennandlab.core.config import DeviceConfig, load_device, read_device, read_workload
from opennandlab.core.overrides import set_path
from opennandlab.core.run import SEED
from opennandlab.core.slices import Progress
from opennandlab.documents.life import DriveLifeTest, LifeTest, LifeTrace
from opennandlab.documents.record import JsonObject, number_paths, plain
from opennandlab.reliability import Model, load_model
from opennandlab.reliability.drive_life import drive_life_test
from opennandlab.reliability.life import life_test
from opennandlab.reliability.writes import TRACE, Recorded
from opennandlab.store.entry import numbers
from opennandlab.studies.sweeps.point import PATHS
from opennandlab.studies.sweeps.verb import Reader, Verb, drafted
from opennandlab.studies.sweeps.verbs.benchmark import Drafts, OnDrive, draft_of

# Settings that are left out of a point where they are as they were before there were any: points
# that were run then are found again.
LATER: dict[str, object] = {
    "cuts": 0, "claims": None, "storage_h": None, "storage_c": None, "repeat": False,
    "trace_sha256": None,
}  # fmt: skip
# What a life test of a drive without an amount to write makes of it.
WORN = {"wear_out": "ignore"}
# Keys of `nand.stress` that a point sets, and the settings of the test that they stand for.
KEPT = {"retention_h": "storage_h", "temperature_c": "storage_c", "reads": "reads"}
# Pages of scaled drives: no more than the programs of the test, unless these are very few.
PAGES_MIN = 1 << 20
# Before a key of the workload.
WRITTEN = "workload."
# Arguments of both tests that are not settings of their own.
ASIDE = ("device", "seed", "progress")


def stated_model(source: Any) -> JsonObject:  # noqa: ANN401 (what a model is made of)
    """Return an error model with all its parameters: what a point depends on, not where it is."""
    found = load_model(source)
    return {"name": found.name, "parameters": found.parameters}


def model_of(stated: Mapping[str, Any]) -> Model:
    """Return the model that `stated_model` wrote down."""
    found = load_model(stated["parameters"])
    found.name = stated["name"]
    return found


class Life(OnDrive):
    """A life test by the models."""

    name: ClassVar[str] = "reliability.life"
    title: ClassVar[str] = "a life test by the models"
    metric: ClassVar[str] = "uber"
    columns: ClassVar[tuple[str, ...]] = (
        "uber",
        "uber_max",
        "passed",
        "pe_cycles",
        "pe_cycles_rated",
    )
    keys: ClassVar[Mapping[str, str]] = {
        "device": "a preset, a file, or the keys of a device",
        "life": "settings of the test, such as {drive_class: enterprise, tbw_tb: 600}",
    }
    test: ClassVar[Callable[..., Any]] = life_test

    @property
    def usual(self) -> dict[str, Any]:
        """Settings of the test, with their defaults."""
        given = inspect.signature(type(self).test).parameters.values()
        return {each.name: each.default for each in given if each.name not in ASIDE}

    def reader(self, request: Mapping[str, Any]) -> Reader:
        """Return what resolves device and settings of a point."""
        devices, usual, hosts = Drafts(read_device), self.usual, _Hosts()

        def settings(changes: Mapping[str, Any]) -> JsonObject:
            own, device_changes = drafted(changes, "life")
            device = load_device(draft_of(devices, request, device_changes), device_changes)
            written = {key: own.pop(key) for key in list(own) if key.startswith(WRITTEN)}
            asked = {**(request.get("life") or {}), **own}
            unknown = next((key for key in asked if key not in usual), None)
            if unknown is not None:
                near = nearest(unknown, list(usual))
                meant = f"; did you mean `{near}`?" if near else ""
                accepted = ", ".join(usual)
                message = f"is not a setting; accepted: {accepted}{meant}"
                raise ConfigError(f"life.{unknown}", message)
            found = {**usual, **asked, **_kept(device, asked)}
            for key, default in LATER.items():
                if found.get(key, default) == default:
                    found.pop(key, None)
            if found["model"] is not None:
                found["model"] = stated_model(found["model"])
            paths = hosts.resolve(found, written, device)
            self.refuse_lost(device, found)
            document = device.to_dict()
            if any(is_set(device, f"nand.stress.{key}") for key in KEPT):
                # Data is kept so at the end, and the drive is written without it.
                counts = document["nand"].pop("stress")["count_reads"]
                document["nand"] |= {"stress": {"count_reads": True}} if counts else {}
            return {"device": document, "life": found, **paths}

        return settings

    def refuse_lost(self, device: DeviceConfig, asked: JsonObject) -> None:
        """Refuse keys that a point sets and that the test would set otherwise.

        Raises:
            ConfigError: with the first of them.
        """
        if asked["model"] is None:
            return
        other = {"reliability": asked["model"]["parameters"]}
        for text in overruled(device, other, "the errors are those of life.model"):
            raise ConfigError("life.model", f"{text}; accepted: one of them")

    def run(
        self, settings: JsonObject, seed: int | None, watch: Watcher, place: Path | None = None
    ) -> JsonObject:
        """Run the test."""
        del place  # an interrupted point restarts
        asked = dict(settings["life"])
        if asked["model"] is not None:
            asked["model"] = model_of(asked["model"])
        if PATHS in settings:
            asked["workload"] = TRACE + settings[PATHS]["trace"]
        more = self.watched(watch)
        test = type(self).test
        found = test(settings["device"], seed=SEED if seed is None else seed, **asked, **more)
        return plain(found)

    def watched(self, watch: Watcher) -> dict[str, Any]:
        """Return what tells a watcher how far the test is."""
        watch(None)
        return {}

    def names(self, request: Mapping[str, Any]) -> list[str]:
        """Return the numbers of both kinds of life test."""
        del request
        paths = dict.fromkeys([*number_paths(LifeTest), *number_paths(DriveLifeTest)])
        return [*(path for path in paths if path != "seed"), "passed", "extrapolated"]

    def metrics(self, document: JsonObject) -> dict[str, float]:
        """Return the numbers of the outcome; `passed` and `extrapolated` are 1 or 0."""
        found = {name: value for name, value in numbers(document) if name != "seed"}
        found["passed"] = float(document["passed"])
        if "uber_method" in document:
            found["extrapolated"] = float(document["uber_method"] == "extrapolated")
        return found


class _Hosts:
    """What hosts write: files of workloads and traces, each read once."""

    def __init__(self) -> None:
        """Read nothing yet."""
        self._traces: dict[str, LifeTrace] = {}

    def resolve(
        self, life: JsonObject, changes: Mapping[str, Any], device: DeviceConfig
    ) -> JsonObject:
        """Put the keys of a workload, or the digest of a trace, in place of its name.

        Args:
            life: Settings of the test, which are changed.
            changes: Keys of the workload by dotted path, each behind `WRITTEN`.
            device: The drive.

        Returns:
            Where the trace is; nothing without one.

        Raises:
            ConfigError: for changes without a workload, and for a trace without writes.
            TraceError: for a trace that cannot be read, or is another one.
        """
        given = life.get("workload")
        is_trace = isinstance(given, str) and given.startswith(TRACE)
        if changes and (given is None or is_trace):
            raise ConfigError(f"life.{next(iter(changes))}", "has no effect without a workload")
        if given is None:
            return {}
        if not is_trace:
            life["workload"] = document = read_workload(given)
            for key, value in changes.items():
                set_path(document, key.removeprefix(WRITTEN), value)
            return {}
        path = str(given).removeprefix(TRACE)
        if path not in self._traces:
            self._traces[path] = Recorded.read(path, device, life.get("trace_sha256")).found
        found = self._traces[path]
        life |= {"workload": f"{TRACE}{found.file}", "trace_sha256": found.sha256}
        return {PATHS: {"trace": path}}


def _kept(device: DeviceConfig, asked: Mapping[str, Any]) -> dict[str, float]:
    """Return how data is kept by the keys of `nand.stress` that a point sets.

    Raises:
        ConfigError: where settings of the test say otherwise.
    """
    found = {}
    for key, name in KEPT.items():
        path = f"nand.stress.{key}"
        if is_set(device, path):
            found[name] = float(device[path])
            if asked.get(name) not in {None, found[name]}:
                message = f"{asked[name]} is not {path}, which is {found[name]:g}"
                raise ConfigError(f"life.{name}", f"{message}; accepted: one of them")
    return found


class DriveLife(Life):
    """A life test of a simulated drive."""

    name: ClassVar[str] = "reliability.drive-life"
    title: ClassVar[str] = "a life test of a simulated drive"
    columns: ClassVar[tuple[str, ...]] = (
        "uber",
        "extrapolated",
        "uber_max",
        "passed",
        "pe_cycles",
        "waf",
    )
    test: ClassVar[Callable[..., Any]] = drive_life_test

    def memory_bytes(self, settings: JsonObject) -> int:
        """Return the memory of the drive that is simulated: of the whole one, at most its part."""
        device = load_device(settings["device"])
        pages = max(float(settings["life"]["programs"]), PAGES_MIN)
        share = min(1.0, pages / float(device.effective["physical_pages"]))
        return int(share * float(device.effective["memory_bytes"]))

    def refuse_lost(self, device: DeviceConfig, asked: JsonObject) -> None:
        """Refuse also what becomes of worn blocks where they are all used to the end."""
        super().refuse_lost(device, asked)
        if asked["tbw_tb"] is None:
            why = "without life.tbw_tb blocks are used until the mean is worn out"
            for text in overruled(device, {"nand": {**device.to_dict()["nand"], **WORN}}, why):
                raise ConfigError("nand.wear_out", f"{text}; accepted: ignore, or life.tbw_tb")

    def watched(self, watch: Watcher) -> dict[str, Any]:
        """Return what tells a watcher how far the test is."""

        def told(state: Progress) -> None:
            watch(state.fraction)

        return {"progress": told}


LIFE_TESTS: tuple[Verb, ...] = (Life(), DriveLife())
