"""Running: one workload on one device, in slices, with progress, and out comes a `Result`.

Everything is checked before anything is run. How a run is sliced (`slices`) cannot change it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import structs

from opennandlab import _core
from opennandlab.base import logs
from opennandlab.base.errors import ConfigError
from opennandlab.base.files import write_atomically
from opennandlab.core import images
from opennandlab.core.config import (
    DeviceConfig,
    ReplayConfig,
    Source,
    WorkloadConfig,
    load_device,
    load_steps,
    load_workload,
)
from opennandlab.core.history import History, Past
from opennandlab.core.images import drive_of, parse_state, read_image, same_device, with_policy
from opennandlab.core.memory import available_beside, check_memory
from opennandlab.core.observation import Observation, logs_of_run, observe, timeline_of, watched
from opennandlab.core.readers import load_own
from opennandlab.core.recorded import check_digest, table_of
from opennandlab.core.requests import Recording, RequestFile
from opennandlab.core.result import Interrupted, Result, assemble, outcome_of
from opennandlab.core.slices import Clock, Exclusive, Watcher, iter_run
from opennandlab.core.traces import TenantTraces, legible, printable, read_traces, unnamed
from opennandlab.documents.result import Effective, Observed, Origin
from opennandlab.documents.wear import DriveWear
from opennandlab.policies.source import named_in
from opennandlab.theory.prediction import fills, has_lost_blocks, mapping_of, predicted_waf

SEED = 42
UNWATCHED = Observation()


class Simulation:
    """A drive that is run step by step, keeping its state between steps.

    Every step draws its own addresses: the first from the seed itself, later ones from seeds that
    follow from it. Their results record the steps before them and cannot be verified alone.

    A drive does one thing at a time: while a run is under way, everything else that is asked of it,
    in another thread or in `progress`, raises `BusyError`.

    Args:
        device: Preset name, path, mapping or `DeviceConfig`.
        seed: Seed of all randomness of the drive; recorded in every result.
        gc_policy: A policy of your own, in place of `ftl.gc_policy`: see `opennandlab.policies`.

    Raises:
        ConfigError: for a device that cannot be built, or that needs more memory than there is.

    >>> import opennandlab as onl
    >>> drive = onl.Simulation("tlc_standard", seed=42)
    >>> drive.precondition([{"kind": "sequential_fill", "fills": 1}])
    >>> drive.run({"pattern": "random", "total": {"ios": 1000}, "timed": False}).metrics["waf"] >= 1
    True
    """

    def __init__(self, device: Source, seed: int = SEED, *, gc_policy: object = None) -> None:
        """Build an empty drive."""
        self.device = load_device(device).with_policy(gc_policy)
        self.seed = _checked_seed(seed)
        check_memory(self.device)
        self._core = self.device.drive(seed)
        self._exclusive = Exclusive()
        self._history = History()

    @classmethod
    def load(cls, path: str | Path, seed: int = SEED, *, gc_policy: object = None) -> Simulation:
        """Build a drive from a device image.

        Args:
            path: The image.
            seed: Seed of what is drawn at random from now on.
            gc_policy: The policy of your own that it had, if not found by name; without its notes.

        Raises:
            ConfigError: when it is another policy than that of the image.
            ImageError: when the file is truncated, foreign, damaged or newer, and why.
        """
        image = read_image(path)
        self = cls.__new__(cls)
        self.seed = _checked_seed(seed)
        self._core = drive_of(image, seed, path)
        self._exclusive = Exclusive()
        self.device = with_policy(DeviceConfig(self._core.device(), Path(path).name), gc_policy)
        with named_in(path, is_record=True):
            self.device.consulted(self._core)
        origin = outcome_of(self._core).state.origin
        name = f"image {origin.image_crc32}" if isinstance(origin, Origin) else origin
        self._history = History(names=[name], is_filled=True)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the drive as it stands: what the copy gives is what this one would have given.

        Totals over the life of the drive (`metrics.health`) begin again in the copy.

        Raises:
            BusyError: while a run is in progress.
        """
        history = self._history
        if not history.names:
            return Simulation, (self.device, self.seed)
        with self._exclusive:
            if not history.jobs:
                return _of_image, (self._core.image(), self.device, self.seed, history)
            return _of_checkpoint, (self._core.checkpoint(), self.device, self.seed, history)

    def save(self, path: str | Path) -> None:
        """Write the drive's state as a device image: all of it, or nothing.

        Raises:
            BusyError: while a run is in progress.
            OutputError: with the reason.
        """
        with self._exclusive:
            image = self._core.image()
        write_atomically(Path(path), image)

    def precondition(
        self, steps: list[Mapping[str, Any]], *, progress: Watcher | None = None
    ) -> None:
        """Bring the drive into a state by really writing; nothing is measured.

        Args:
            steps: As under `precondition:` in a workload file.
            progress: Called about 50 times a second.

        Raises:
            BusyError: while a run is in progress.
            ConfigError: for a step that is not understood.
            Interrupted: on Ctrl-C; the drive stays usable.
        """
        loaded = load_steps(steps)
        with self._exclusive:
            self._core.begin_precondition(loaded.core, self._history.job_seed(self.seed))
            self._history.add(loaded)
            self._follow(progress)

    def idle(self, seconds: float, *, progress: Watcher | None = None) -> None:
        """Let simulated time pass, at most 1e9 s: dies collect, fold and refresh as they do then.

        Raises:
            BusyError: while a run is in progress.
            ConfigError: for a time out of range.
        """
        if not 0.0 <= seconds <= 1e9:
            raise ConfigError("idle", f"`{seconds}` is out of range; accepted: 0 to 1e9 seconds")
        with self._exclusive:
            self._core.begin_idle(round(seconds * 1e9))
            self._history.add_idle()
            self._follow(progress)

    def _follow(self, progress: Watcher | None) -> None:
        with self._history.ending():
            for state in iter_run(self._core):
                if progress is not None:
                    progress(state)

    def set_stress(self, **stress: float) -> None:
        """Age the data: pages are read under another stress from now on.

        Args:
            stress: Keys of `nand.stress`; others go back to defaults, but for `count_reads`.

        Raises:
            BusyError: while a run is in progress.
            ConfigError: for an unknown key, or a value out of range.
        >>> Simulation("tlc_standard").set_stress(retention_h=8760.0)
        """
        with self._exclusive:
            known = self.device.to_dict()["nand"].get("stress", {}).get("count_reads", False)
            changed = self.device.replace({"nand.stress": {"count_reads": known, **stress}})
            self._core.set_stress(json.dumps(changed.to_dict()["nand"]["stress"]))
            self.device = changed

    def wear(self) -> DriveWear:
        """Return how often the good blocks were erased since the factory.

        Raises:
            BusyError: while a run is in progress.
        """
        with self._exclusive:
            return images.wear_of(self._core)

    def run(  # noqa: PLR0913 (options, by name)
        self,
        workload: Source,
        *,
        breakdown: bool = False,
        timeline: tuple[float, float] | None = None,
        requests: str | Path | None = None,
        requests_every: int | None = None,
        ocp: Sequence[float] | bool = False,
        progress: Watcher | None = None,
    ) -> Result:
        """Run a workload on the drive as it is now; its own preconditioning is done first.

        Args:
            workload: `W1` to `W5`, a path, a mapping or a `WorkloadConfig`.
            breakdown: Account for the time of every command: `Result.breakdown`.
            timeline: From and to, in seconds of the measured part: `Result.timeline`.
            requests: A file for a row of each request: `Result.requests`.
            requests_every: A row for each request of this number.
            ocp: Keep the logs of the drive: `Result.logs`; or four limits of slow commands in ms.
            progress: Called about 50 times a second.

        Raises:
            BusyError: while another run is in progress.
            ConfigError: for a workload that does not fit.
            Interrupted: on Ctrl-C, with the partial result.
        """
        traces = read_traces(load_workload(workload, self.device))
        loaded = traces.workload
        watch = watched(breakdown, timeline, requests, requests_every, ocp)
        watch.check(loaded.to_dict())
        with self._exclusive:
            observe(self._core, watch)
            self._core.begin(loaded.core, self._history.job_seed(self.seed), traces.read)
            past = Past(traces.paths, self._history.session(), self._history.is_filled)
            run = Run(self._core, self.device, loaded, seed=self.seed, past=past, watch=watch)
            self._history.add(loaded)
            with self._history.ending():
                return run.measure(progress=progress)


def _of_image(image: bytes, device: DeviceConfig, seed: int, history: History) -> Simulation:
    return _again(_core.Drive.from_image(image, seed), device, seed, history)


def _of_checkpoint(state: bytes, device: DeviceConfig, seed: int, history: History) -> Simulation:
    return _again(_core.Drive.from_checkpoint(state), device, seed, history)


def _again(core: _core.Drive, device: DeviceConfig, seed: int, history: History) -> Simulation:
    """Return the drive of a pickled one."""
    drive = Simulation.__new__(Simulation)
    device.consulted(core)
    drive.device = device
    drive.seed = seed
    drive._core = core  # noqa: SLF001 (it is being built)
    drive._exclusive = Exclusive()  # noqa: SLF001
    drive._history = history  # noqa: SLF001
    return drive


class Run:
    """A workload that is ready to be run on a device: everything is checked, nothing has happened.

    Args:
        core: The simulation, its job begun.
        device: The resolved device.
        workload: The resolved workload.
        seed: Recorded in the result.
        past: What is known of the drive.
        watch: What the core was asked to watch.
    """

    def __init__(  # noqa: PLR0913 (half of them by name)
        self,
        core: _core.Drive,
        device: DeviceConfig,
        workload: WorkloadConfig | ReplayConfig,
        *,
        seed: int,
        past: Past,
        watch: Observation,
    ) -> None:
        """Keep the parts; see `prepare_benchmark` and `prepare_replay`."""
        self._core = core
        self._exclusive = Exclusive()
        self._watch = watch
        self.device = device
        self.workload = workload
        self.seed = seed
        self.trace: _core.Trace | None = None  # if one is replayed
        self.traces: TenantTraces | None = None
        self.names = {"device_name": device.name, "workload_name": workload.name, **past.paths}
        self._session = past.session
        # Before the run, because after Ctrl-C there is no time to import numerics.
        self._work = work = workload.to_dict()
        self._predicted_waf = (
            predicted_waf(device.to_dict(), device.effective, work)
            if past.is_filled or fills(work) or mapping_of(device.to_dict())[0] == "zoned"
            else None
        )

    def measure(self, *, progress: Watcher | None = None, slice_ops: int | None = None) -> Result:
        """Run it to its end.

        Args:
            progress: Called about 50 times a second.
            slice_ops: Operations in a slice; results do not depend on it.

        Raises:
            BusyError: when it is in progress already.
            Interrupted: on Ctrl-C, with the partial result; without one before the measured part.
        """
        work = self.names["workload_name"]
        logs.info("run", f"begin {work} on {self.device.name}, seed {self.seed}", seed=self.seed)
        recording = Recording(self._core, self._watch.requests, self._work, self.trace)
        with self._exclusive, recording:
            clock = Clock()
            try:
                for state in iter_run(self._core, slice_ops):
                    clock.update(state)
                    if progress is not None:
                        progress(state)
            except KeyboardInterrupt:
                if outcome_of(self._core).metrics is None:
                    logs.info("run", "interrupted before the measured part")
                    raise Interrupted(None) from None
                kept = recording.end()
                raise Interrupted(self._result(clock, kept, partial=True)) from None
            return self._result(clock, recording.end(), partial=False)

    def save_image(self, path: str | Path) -> None:
        """Write the drive's state as a device image: all of it, or nothing.

        Raises:
            BusyError: while the run is in progress.
            OutputError: with the reason.
        """
        with self._exclusive:
            image = self._core.image()
        write_atomically(Path(path), image)

    def _result(self, clock: Clock, kept: RequestFile | None, *, partial: bool) -> Result:
        outcome = outcome_of(self._core)
        if self._session is not None:
            state = structs.replace(outcome.state, origin=Origin(session=self._session))
            outcome = structs.replace(outcome, state=state)
        predicted = None if has_lost_blocks(self.device, outcome.metrics) else self._predicted_waf
        result = assemble(
            outcome,
            effective=Effective(**structs.asdict(outcome.effective), predicted_waf=predicted),
            device=self.device.to_dict(),
            seed=self.seed,
            run=structs.replace(clock.facts(), **self.names),
            observed=Observed(breakdown=True) if self._watch.breakdown else None,
            partial=partial,
        )
        digest, wall_s = result.digest, result.content.run.wall_s
        said = "interrupted" if partial else f"done, self-checks {result.passed}"
        logs.info("run", f"{said}, {wall_s:.3g} s, digest {digest}", digest=digest, wall_s=wall_s,
                  passed=result.passed, partial=partial)  # fmt: skip
        result.timeline = timeline_of(self._core, self._watch, outcome.metrics)
        result.requests = kept
        result.logs = logs_of_run(self._core, self._watch, self.names)
        return result


@dataclass(frozen=True)
class Start:
    """What a run starts from.

    Args:
        device: Preset name, path, mapping or `DeviceConfig`; None for the default device, or
            for the device of the image.
        seed: Seed of all randomness; recorded in the result.
        state: None for the workload's own preconditioning, `"fresh"` for an empty drive,
            `"image:FILE"` for a saved one.
        gc_policy: A policy of the user's own, in place of `ftl.gc_policy`.
    """

    device: Source | None
    seed: int = SEED
    state: str | None = None
    gc_policy: object = None

    def open(self) -> tuple[DeviceConfig, _core.Drive | None, dict[str, str]]:
        """Return the device, its drive if an image brought one, and paths for the record."""
        _checked_seed(self.seed)
        path = parse_state(self.state)
        if path is None:
            device = load_device("config" if self.device is None else self.device)
            return device.with_policy(self.gc_policy), None, {}
        core = drive_of(read_image(path), self.seed, path)
        device = with_policy(DeviceConfig(core.device(), path.name), self.gc_policy)
        same_device(device, self.device, path)
        with named_in(path, is_record=True):
            device.consulted(core)
        return device, core, legible(image_path=path)

    @property
    def is_given(self) -> bool:
        """True when the state is chosen here, so that no preconditioning is wanted."""
        return self.state is not None


def prepare_benchmark(
    start: Start,
    workload: Source,
    overrides: Mapping[str, Any] | None = None,
    watch: Observation = UNWATCHED,
    traces: Sequence[str | Path] = (),
) -> Run:
    """Check everything that `benchmark` needs, and build the drive.

    Args:
        start: Device, seed and state.
        workload: `W1` to `W5`, a path, a mapping or a `WorkloadConfig`.
        overrides: Dotted path to value, for the workload.
        watch: What to watch next to the metrics.
        traces: Paths of the traces of tenants, if other than in the workload.

    Raises:
        ConfigError: nothing was run.
        ImageError: the image cannot be used.
        TraceError: with file and line number.
    """
    device, core, paths = start.open()
    job = load_workload(workload, device, overrides=overrides, fresh=start.is_given)
    watch.check(job.to_dict())
    # How an image was made is not known; most hold a drive that was filled.
    is_filled = core is not None
    if core is None:
        check_memory(device)
    read = read_traces(job, traces)
    if core is None:
        core = device.drive(start.seed)
    observe(core, watch)
    core.begin(read.workload.core, start.seed, read.read)
    past = Past({**paths, **read.paths}, is_filled=is_filled)
    run = Run(core, device, read.workload, seed=start.seed, past=past, watch=watch)
    run.traces = read
    return run


def prepare_replay(
    start: Start,
    trace: str | Path,
    options: Mapping[str, Any] | None = None,
    watch: Observation = UNWATCHED,
) -> Run:
    """Check everything that `replay` needs, read the trace and build the drive.

    Args:
        start: Device, seed and state.
        trace: The trace file; plain, or gzip, bzip2, xz or zstd.
        options: How to read and run it: the keys of replay options, such as
            `{"format": "msr", "loop": {"kind": "closed", "queue_depth": 8}, "beyond": "wrap"}`;
            with the `trace` of a result, the file must be that trace, under any name.
        watch: What to watch next to the metrics.

    Raises:
        ConfigError: nothing was run.
        TraceError: with file and line number.
    """
    device, core, paths = start.open()
    path = Path(trace)
    document = {"name": printable(path.name or str(path))} | dict(options or {})
    recorded = document.get("trace")
    source = {"file": printable(path.name)}
    if isinstance(recorded, Mapping):
        source |= {key: recorded[key] for key in ("reader", "reader_sha256") if key in recorded}
    document["trace"] = source
    if document.get("remap") is not None:
        document["remap"] = table_of(document["remap"])
    if start.is_given:
        document["precondition"] = []
    resolved, reader = load_own(document, device)
    watch.check(resolved.to_dict())
    if core is None:
        check_memory(device)
    memory_bytes_max = available_beside(device)
    try:
        with nullcontext(trace) if reader is None else reader.text_of(trace) as text:
            records = _core.Trace(str(text), resolved.core, memory_bytes_max)
    except UnicodeEncodeError as error:
        raise unnamed(path) from error
    if document.get("remap") is not None:
        page_bytes = device.to_dict()["nand"]["page_size_bytes"]
        records, _ = records.moved(document["remap"]["file"], page_bytes)
    file = printable(path.name)
    if isinstance(recorded, Mapping):
        check_digest(records.digest(), recorded, path)
        file = str(recorded.get("file", file))  # it may be renamed by now
    if core is None:
        core = device.drive(start.seed)
    # The digest of the text makes sure that a verification replays the same trace.
    resolved = resolved.of(file, records.digest())
    observe(core, watch)
    core.begin_replay(resolved.core, records)
    paths |= legible(trace_path=trace)
    run = Run(core, device, resolved, seed=start.seed, past=Past(paths), watch=watch)
    run.trace = records
    return run


def benchmark(  # noqa: PLR0913 (options, by name)
    device: Source | None,
    workload: Source,
    *,
    seed: int = SEED,
    state: str | None = None,
    gc_policy: object = None,
    breakdown: bool = False,
    timeline: tuple[float, float] | None = None,
    requests: str | Path | None = None,
    requests_every: int | None = None,
    ocp: Sequence[float] | bool = False,
    progress: Watcher | None = None,
) -> Result:
    """Run one workload on one device: what the command `opennandlab benchmark` does.

    Args:
        device: Preset name, path, mapping or `DeviceConfig`; None for the default device, or
            for the device of the image.
        workload: `W1` to `W5`, a path, a mapping or a `WorkloadConfig`.
        seed: Seed of all randomness; recorded in the result.
        state: None for the workload's own preconditioning, `"fresh"` for an empty drive,
            `"image:FILE"` for a saved one.
        gc_policy: A policy of your own, in place of `ftl.gc_policy`: see `opennandlab.policies`.
        breakdown: Account for the time of every command: `Result.breakdown`.
        timeline: From and to, in seconds of the measured part: `Result.timeline`.
        requests: A file for a row of each request: `Result.requests`.
        requests_every: A row for each request of this number.
        ocp: Keep the logs of the drive: `Result.logs`; or four limits of slow commands in ms.
        progress: Called about 50 times a second with a `Progress`.

    Returns:
        The result; failed self-checks are in it, not raised.

    Raises:
        ConfigError: nothing was run.
        ImageError: the image cannot be used.
        Interrupted: on Ctrl-C, with the partial result.

    >>> import opennandlab as onl
    >>> small = {"nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
    ...                   "blocks_per_plane": 64, "pages_per_block": 32}}
    >>> work = {"pattern": "random", "total": {"drive_writes": 2}}
    >>> onl.benchmark(small, work, seed=7).digest == onl.benchmark(small, work, seed=7).digest
    True
    """
    watch = watched(breakdown, timeline, requests, requests_every, ocp)
    run = prepare_benchmark(Start(device, seed, state, gc_policy), workload, watch=watch)
    return run.measure(progress=progress)


def replay(  # noqa: PLR0913 (options, by name)
    device: Source | None,
    trace: str | Path,
    options: Mapping[str, Any] | None = None,
    *,
    seed: int = SEED,
    gc_policy: object = None,
    breakdown: bool = False,
    timeline: tuple[float, float] | None = None,
    requests: str | Path | None = None,
    requests_every: int | None = None,
    ocp: Sequence[float] | bool = False,
    progress: Watcher | None = None,
) -> Result:
    """Replay a recorded block trace on a device: what the command `opennandlab replay` does.

    Args:
        device: Preset name, path, mapping or `DeviceConfig`.
        trace: The trace file; plain, or gzip, bzip2, xz or zstd.
        options: How to read and run it, see `prepare_replay`.
        seed: Seed of the drive.
        gc_policy: A policy of your own, in place of `ftl.gc_policy`: see `opennandlab.policies`.
        breakdown: Account for the time of every command: `Result.breakdown`.
        timeline: From and to, in seconds of the measured part: `Result.timeline`.
        requests: A file for a row of each request: `Result.requests`.
        requests_every: A row for each request of this number.
        ocp: Keep the logs of the drive: `Result.logs`; or four limits of slow commands in ms.
        progress: Called about 50 times a second.

    Raises:
        TraceError: with file and line number.
        ConfigError: nothing was run.
        Interrupted: on Ctrl-C, with the partial result.
    """
    watch = watched(breakdown, timeline, requests, requests_every, ocp)
    run = prepare_replay(Start(device, seed, gc_policy=gc_policy), trace, options, watch)
    return run.measure(progress=progress)


def _checked_seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << 64:
        raise ConfigError("seed", f"`{seed}` is not a valid seed; accepted: 0 to 2^64 - 1")
    return seed
