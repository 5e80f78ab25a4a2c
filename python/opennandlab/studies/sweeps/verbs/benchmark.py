"""`benchmark` and `replay`: a workload, or a recorded trace, on a simulated drive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from opennandlab import _core
from opennandlab.base.campaign import Watcher
from opennandlab.base.errors import OpenNandLabError
from opennandlab.core.config import (
    WorkloadConfig,
    load_device,
    load_replay,
    load_workload,
    read_device,
    read_workload,
)
from opennandlab.core.memory import available_beside
from opennandlab.core.overrides import set_path
from opennandlab.core.result import Result
from opennandlab.core.run import SEED, benchmark, replay
from opennandlab.core.slices import Progress
from opennandlab.core.traces import check_without_traces
from opennandlab.documents.metrics import Metrics
from opennandlab.documents.record import JsonObject, number_paths
from opennandlab.store.entry import numbers
from opennandlab.studies.sweeps.point import PATHS
from opennandlab.studies.sweeps.predicted import predicted_at
from opennandlab.studies.sweeps.verb import Reader, Verb, drafted

DEFAULT_DEVICE = "config"


class FailedChecksError(OpenNandLabError):
    """A run whose self-checks failed: its numbers are not to be used."""


class Drafts:
    """Documents as they stand in files, each read once."""

    def __init__(self, read: Callable[[Any], JsonObject]) -> None:
        """Take what reads one."""
        self._read = read
        self._known: dict[str, JsonObject] = {}

    def get(self, source: object) -> JsonObject:
        """Return the document of a name, a path or a mapping."""
        if isinstance(source, Mapping):
            return self._read(source)
        name = str(source)
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name]


class Made(dict[str, Any]):
    """Settings that know what they were made from.

    Resolving them again would be a third of what Python does for a short point.
    """

    def __init__(self, settings: JsonObject, workload: WorkloadConfig) -> None:
        """Keep both."""
        super().__init__(settings)
        self.workload = workload

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[JsonObject]]:
        """Travel as plain settings."""
        return dict, (dict(self),)


def made_of(settings: JsonObject) -> WorkloadConfig | None:
    """Return the workload that settings were made from; None where they came from elsewhere."""
    return settings.workload if isinstance(settings, Made) else None


class OnDrive(Verb):
    """What all verbs have in common that run on a simulated drive."""

    def memory_bytes(self, settings: JsonObject) -> int:
        """Return the memory of the drive."""
        made = made_of(settings)
        device = load_device(settings["device"]) if made is None else made.device
        return int(device.effective["memory_bytes"])


class Simulated(OnDrive):
    """What requests on a drive have in common."""

    metric: ClassVar[str] = "waf"
    columns: ClassVar[tuple[str, ...]] = (
        "waf", "predicted_waf", "iops.total", "throughput_mb_s.total", "latency_us.all.p99",
    )  # fmt: skip
    theory: ClassVar[str | None] = "predicted_waf"

    def names(self, request: Mapping[str, Any]) -> list[str]:
        """Return the numbers of `metrics`, and that of theory."""
        del request
        return [*number_paths(Metrics), "predicted_waf"]

    def metrics(self, document: JsonObject) -> dict[str, float]:
        """Return the numbers of `metrics`, and the write amplification that theory predicts."""
        found = dict(numbers(document["metrics"]))
        predicted = document["effective"].get("predicted_waf")
        return found if predicted is None else found | {"predicted_waf": float(predicted)}


class Benchmark(Simulated):
    """A workload on a drive."""

    def predicted(self, settings: JsonObject, key: str, value: float) -> float | None:
        """Return the write amplification that theory predicts."""
        return predicted_at(settings, key, value)

    name: ClassVar[str] = "benchmark"
    title: ClassVar[str] = "a workload on a drive"
    keys: ClassVar[Mapping[str, str]] = {
        "device": "a preset, a file, or the keys of a device",
        "workload": "W1 to W5, a file, or the keys of a workload",
        "state": "fresh: begin with an empty drive, without preconditioning",
    }
    needed: ClassVar[tuple[str, ...]] = ("workload",)

    def reader(self, request: Mapping[str, Any]) -> Reader:
        """Return what resolves device and workload of a point."""
        devices, workloads = Drafts(read_device), Drafts(read_workload)

        def settings(changes: Mapping[str, Any]) -> JsonObject:
            own, device_changes = drafted(changes, "workload")
            draft = draft_of(devices, request, device_changes)
            source = device_changes.pop("workload", request.get("workload"))
            is_fresh = device_changes.pop("state", request.get("state")) == "fresh"
            device = load_device(draft, device_changes)
            workload = load_workload(workloads.get(source), device, overrides=own, fresh=is_fresh)
            check_without_traces(workload, "a sweep")
            return Made({"device": device.to_dict(), "workload": workload.to_dict()}, workload)

        return settings

    def run(
        self, settings: JsonObject, seed: int | None, watch: Watcher, place: Path | None = None
    ) -> JsonObject:
        """Run the workload."""
        del place  # an interrupted point restarts
        workload = made_of(settings)
        if workload is None:  # they came from elsewhere
            workload = load_workload(settings["workload"], load_device(settings["device"]))
        device = workload.device
        return _checked(benchmark(device, workload, seed=_seed(seed), progress=_told(watch)))


class Replay(Simulated):
    """A recorded trace on a drive."""

    name: ClassVar[str] = "replay"
    title: ClassVar[str] = "a recorded trace on a drive"
    keys: ClassVar[Mapping[str, str]] = {
        "device": "a preset, a file, or the keys of a device",
        "trace": "the trace file",
        "options": "how it is read and run, such as {format: msr, loop: {kind: closed}}",
    }
    needed: ClassVar[tuple[str, ...]] = ("trace",)

    def reader(self, request: Mapping[str, Any]) -> Reader:
        """Return what resolves device and options of a point, and reads its trace once."""
        devices, digests = Drafts(read_device), dict[tuple[str, str], str]()

        def settings(changes: Mapping[str, Any]) -> JsonObject:
            own, device_changes = drafted(changes, "options")
            draft = draft_of(devices, request, device_changes)
            path = str(device_changes.pop("trace", request.get("trace")))
            device = load_device(draft, device_changes)
            options = _merged(request.get("options") or {}, own)
            resolved = load_replay({"trace": {"file": _file_name(path)}} | options, device)
            form = str(resolved.to_dict().get("format"))
            if (path, form) not in digests:
                trace = _core.Trace(path, resolved.core, available_beside(device))
                digests[path, form] = trace.digest()
            found = resolved.of(_file_name(path), digests[path, form])
            return {
                "device": device.to_dict(),
                "options": found.to_dict(),
                PATHS: {"trace": path},
            }

        return settings

    def run(
        self, settings: JsonObject, seed: int | None, watch: Watcher, place: Path | None = None
    ) -> JsonObject:
        """Replay the trace, which must be the one that was resolved."""
        del place  # an interrupted point restarts
        path = settings[PATHS]["trace"]
        result = replay(
            settings["device"], path, settings["options"], seed=_seed(seed), progress=_told(watch)
        )
        return _checked(result)


def draft_of(drafts: Drafts, request: Mapping[str, Any], changes: dict[str, Any]) -> JsonObject:
    """Return the device of a point as it stands in its file; `changes` loses what names it."""
    source = changes.pop("device", request.get("device"))
    return drafts.get(DEFAULT_DEVICE if source is None else source)


def _merged(options: Mapping[str, Any], changes: Mapping[str, Any]) -> JsonObject:
    merged = dict(options)
    for path, value in changes.items():
        set_path(merged, path, value)
    return merged


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]


def _seed(seed: int | None) -> int:
    return SEED if seed is None else seed


def _told(watch: Watcher) -> Callable[[Progress], None]:
    return lambda state: watch(state.fraction)


def _checked(result: Result) -> JsonObject:
    if not result.passed:
        raise FailedChecksError(f"self-checks failed: {'; '.join(result.failed_checks())}")
    return result.document
