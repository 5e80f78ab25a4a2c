"""The stages of a chain: what can be done to a drive before it is handed to the next stage.

```text
image before ─► a drive ─► cuts | ageing | applications | a standard test ─► image after, `Left`
```
A stage takes a device image and leaves one: the drive is switched off in between, at rest. So a
stage does not depend on which process ran the one before it.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Final

from opennandlab import _core
from opennandlab.app import replaying, states
from opennandlab.base.campaign import Watcher
from opennandlab.base.errors import ConfigError
from opennandlab.base.files import write_atomically
from opennandlab.base.hints import nearest
from opennandlab.base.plain import is_number
from opennandlab.core.config import DeviceConfig
from opennandlab.core.images import drive_of, read_image
from opennandlab.core.power_cut import TARGETS, cut_power, promises
from opennandlab.core.run import Simulation
from opennandlab.documents.app import figures
from opennandlab.documents.record import JsonObject, plain
from opennandlab.pts import REAL_WORLD, TESTS
from opennandlab.pts.bench.record import Progress as Measured
from opennandlab.reliability.drive_cuts import WORKLOADS, Cutter
from opennandlab.store.unfinished import empty
from opennandlab.studies.sweeps.verbs.application import (
    NAMES,
    Application,
    AppSettings,
    plan_of,
    replayed,
)
from opennandlab.studies.sweeps.verbs.standard_test import StandardTest
from opennandlab.targets.simulated import SimulatedTarget

CUTS_MAX: Final = 100_000
# The whole drive is read after each cut.
PAGES_MAX: Final = 1 << 20
READY_MS_MAX: Final = 6.05e8
# What a host can do before a cut; see `core.power_cut`.
CUT_WORKLOADS: Final = (*WORKLOADS, "trim", "hot")
# A standard test that builds other drives, and measures nothing of the one that it is given.
STATELESS: Final = ("scalability",)


@dataclass(frozen=True, kw_only=True)
class Job:
    """A stage of a device that is to be run.

    Args:
        device: The drive as it is declared.
        settings: What `Stage.read` returned.
        seed: Seed of all randomness of the stage.
        before: Image of the drive.
        after: Where the stage leaves the image of the drive.
        folder: Where a stage that is resumable leaves what it has.
        watch: Called with the progress.
    """

    device: DeviceConfig
    settings: JsonObject
    seed: int
    before: Path
    after: Path
    folder: Path
    watch: Watcher

    def drive(self) -> _core.Drive:
        """Return the drive of the image."""
        return self.device.consulted(drive_of(read_image(self.before), self.seed, self.before))


@dataclass(frozen=True, kw_only=True)
class Left:
    """The findings of a stage.

    Args:
        metrics: Its numbers by name.
        why: Why the drive did not pass; empty if it did.
        note: What a reader of the numbers must know; empty for nothing.
        digest: Digest of its document; empty for a stage without one.
    """

    metrics: Mapping[str, float]
    why: str = ""
    note: str = ""
    digest: str = ""


class Stage(ABC):
    """Something that can be done to a drive."""

    # The key under which its settings are.
    key: ClassVar[str]
    # Numbers of a table, those of them that it has.
    columns: Sequence[str]

    @abstractmethod
    def read(self, given: Mapping[str, Any], device: DeviceConfig) -> JsonObject:
        """Return resolved settings.

        Args:
            given: As they are in the file, of any type.
            device: The drive.

        Raises:
            ConfigError: with the key below that of the stage, the value, and what is accepted.
        """

    def rehearse(self, device: DeviceConfig) -> None:  # noqa: B027 (most have nothing to add)
        """Refuse a drive to which this cannot be done, as far as a moment's work can tell.

        Raises:
            ConfigError: with the key of the device and what is accepted.
        """

    @abstractmethod
    def run(self, job: Job) -> Left:
        """Run the stage, and leave the image of the drive.

        Raises:
            OpenNandLabError: when the drive does not come to the end of the stage.
            KeyboardInterrupt: as soon as `job.watch` raises `Stopped`.
        """


@dataclass(frozen=True)
class CutSettings:
    """Settings of power cuts; as a user gave them, of any type until checked.

    Args:
        cuts: How many.
        workloads: What the host does before a cut, in turns.
        at: Where cuts are aimed, in turns.
        claims: Promises of the drive; None: those of its options.
        active_range_pct: Share of the drive that the host works with, percent.
        ready_ms: From power to ready, milliseconds; longer is slow.

    Raises:
        ConfigError: for a value of another type, out of range, or unknown.
    """

    cuts: int = 50
    workloads: Sequence[str] = WORKLOADS
    at: Sequence[str] = TARGETS
    claims: Sequence[str] | None = None
    active_range_pct: float = 100.0
    ready_ms: float = 10_000.0

    def __post_init__(self) -> None:
        """Check types and ranges."""
        is_whole = isinstance(self.cuts, int) and not isinstance(self.cuts, bool)
        if not is_whole or not 1 <= self.cuts <= CUTS_MAX:
            raise ConfigError("cuts", f"`{self.cuts}`; accepted: 1 to {CUTS_MAX}")
        for key, known in (("workloads", CUT_WORKLOADS), ("at", TARGETS)):
            names = getattr(self, key)
            is_list = isinstance(names, Sequence) and not isinstance(names, str) and names
            if not is_list or not all(name in known for name in names):
                raise ConfigError(key, f"`{names}`; accepted: a list of {', '.join(known)}")
        if self.claims is not None:
            if not isinstance(self.claims, Sequence) or isinstance(self.claims, str):
                raise ConfigError("claims", f"`{self.claims}`; accepted: a list of names")
            try:
                promises([str(name) for name in self.claims])
            except ConfigError as error:
                raise ConfigError("claims", error.message) from None
        for key, most in (("active_range_pct", 100.0), ("ready_ms", READY_MS_MAX)):
            value = getattr(self, key)
            if not is_number(value) or not 0 < value <= most:
                raise ConfigError(key, f"`{value}`; accepted: above 0, at most {most:g}")


class Cuts(Stage):
    """A drive that is cut from power again and again, in one life."""

    key: ClassVar[str] = "power"
    columns: Sequence[str] = ("per_1000", "ready_ms_mean", "ready_ms_max", "waf")

    def read(self, given: Mapping[str, Any], device: DeviceConfig) -> JsonObject:
        """Return the settings with their defaults."""
        known = tuple(each.name for each in fields(CutSettings))
        checked = CutSettings(**_only(given, known))
        pages = device.effective["logical_pages"]
        if pages > PAGES_MAX:
            message = f"{pages} logical pages would be read after each cut"
            raise ConfigError("cuts", f"{message}; accepted: a drive of at most {PAGES_MAX}")
        found = asdict(checked)
        return {key: list(it) if isinstance(it, Sequence) else it for key, it in found.items()}

    def rehearse(self, device: DeviceConfig) -> None:
        """Cut a new drive once."""
        cut_power(Simulation(device), 0)

    def run(self, job: Job) -> Left:
        """Cut the drive; the judge holds the whole drive against the log of the host each time."""
        asked = CutSettings(**job.settings)
        drive = Simulation.load(job.before, job.seed)
        cutter = Cutter(
            drive, {"active_range_pct": asked.active_range_pct}, asked.claims,
            workloads=asked.workloads, targets=asked.at, ready_ms=asked.ready_ms,
        )  # fmt: skip
        for number in range(asked.cuts):
            cutter.cut(number / asked.cuts, 0.0)
            job.watch((number + 1) / asked.cuts)
        drive.save(job.after)
        found = cutter.found()
        metrics = {key: float(value) for key, value in plain(found).items() if is_number(value)}
        metrics["per_1000"] = 1000.0 * found.faulty_cuts / found.cuts
        if found.host_bytes:
            metrics["waf"] = found.nand_bytes / found.host_bytes
        metrics |= {f"faults.{name}": float(one.cuts) for name, one in found.faults.items()}
        faults = ", ".join(f"{name} after {one.cuts}" for name, one in found.faults.items())
        said = [f"{found.faulty_cuts} of {found.cuts} cuts lost data ({faults})"] if faults else []
        return Left(metrics=metrics, why="; ".join(said + found.errors))


class Age(Stage):
    """A drive that is worn, and filled with files of which some go, as `app` makes drives old."""

    key: ClassVar[str] = "age"
    columns: Sequence[str] = ("erase_count_mean", "erase_count_max", "lost_blocks")
    # Keys in a file -> parts of `states.Wanted`.
    KEYS: ClassVar[Mapping[str, str]] = {
        "state": "name", "drive_writes": "drive_writes", "dirty_writes": "dirty_writes",
        "dirt": "dirt_of", "age": "age_by", "format": "format_by",
    }  # fmt: skip
    STATES: ClassVar[Sequence[str]] = tuple(it for it in states.STATES if it != "young-clean")

    def read(self, given: Mapping[str, Any], device: DeviceConfig) -> JsonObject:
        """Return the settings with their defaults; `app` checks their types."""
        del device
        wanted = _only(given, tuple(self.KEYS))
        checked = AppSettings(**{"state": "old-clean", **wanted})
        if checked.state not in self.STATES:
            accepted = f"accepted: {', '.join(self.STATES)}"
            raise ConfigError("state", f"`{checked.state}` ages nothing; {accepted}")
        return {key: getattr(checked, key) for key in self.KEYS}

    def run(self, job: Job) -> Left:
        """Age the drive."""
        asked = {self.KEYS[key]: value for key, value in job.settings.items()}
        wanted = states.Wanted(**asked)

        def told(what: str, share: float) -> None:
            job.watch(share / 2 if what == "aging" else 0.5 + share / 2)

        before = job.drive()
        blocks = json.loads(before.wear())["blocks"]
        drive = states.reached(job.device, job.seed, wanted, told, before)
        write_atomically(job.after, drive.image())
        lost = blocks - json.loads(drive.wear())["blocks"]
        is_worn_out = bool(json.loads(_core.Player(drive).status())["is_worn_out"])
        why = "the drive is worn out and takes no more writes" if is_worn_out else ""
        return Left(metrics={"lost_blocks": float(lost)}, why=why)


class Applications(Stage):
    """A suite of applications on the drive in the state in which it is."""

    key: ClassVar[str] = "app"
    columns: Sequence[str] = Application.columns
    KEYS: ClassVar[Sequence[str]] = tuple(
        name for name in NAMES if name in {"suite", "cases", "runs", "idle_ms"}
    )

    def read(self, given: Mapping[str, Any], device: DeviceConfig) -> JsonObject:
        """Return the settings with their defaults, and the digests of the traces."""
        checked = AppSettings(**_only(given, self.KEYS))
        counts = {case: count for case, count in checked.chosen_suite().counts.items() if count}
        traces = replaying.prepare(plan_of(device, checked, 0))
        digests = {case: trace.digest for case, trace in traces.items()}
        return {
            **{key: getattr(checked, key) for key in self.KEYS}, "cases": counts, "traces": digests,
        }  # fmt: skip

    def run(self, job: Job) -> Left:
        """Replay the suite."""
        checked = AppSettings(**{key: job.settings[key] for key in self.KEYS})
        plan = plan_of(job.device, checked, job.seed, before=job.before, after=job.after)
        document, failed = replayed(plan, job.watch)
        return Left(metrics=figures(plain(document)), why=failed, digest=document.digest)


class Standard(Stage):
    """A standard test; it purges the drive first, as the specification has it, and wear stays."""

    key: ClassVar[str] = "pts"

    def __init__(self, verb: StandardTest) -> None:
        """Take the test."""
        self.verb = verb
        self.columns = verb.columns

    def read(self, given: Mapping[str, Any], device: DeviceConfig) -> JsonObject:
        """Return the settings with their defaults."""
        if given.get("state") is not None:
            accepted = "accepted: a stage `age` before this one"
            raise ConfigError("state", f"`{given['state']}` is for new drives; {accepted}")
        reader = self.verb.reader({"device": device.to_dict(), "pts": dict(given)})
        found: JsonObject = reader({})["pts"]
        return found

    def run(self, job: Job) -> Left:
        """Run the test; its journal and the states of its drive are in the folder."""
        if _is_done(job.folder, self.verb.test.name):
            # Killed behind the test and before its drive was kept: a document gives no drive.
            empty(job.folder)
        target = SimulatedTarget(job.device, seed=job.seed)

        def told(progress: Measured) -> None:
            job.watch(progress.fraction)

        try:
            target.load_image(job.before, job.seed)
            document = self.verb.measured(target, job.settings, job.seed, told, job.folder)
            target.save_image(job.after)
        finally:
            target.close()
        found = plain(document)
        metrics = self.verb.metrics(found)
        is_smoke = job.settings["time_base"] == "smoke"
        notes = ["smoke: no measurement"] * is_smoke
        notes += ["not steady"] * (metrics.get("steady") == 0.0)
        return Left(metrics=metrics, note="; ".join(notes), digest=document.digest)


STAGES: Final[dict[str, Stage]] = {
    "power": Cuts(),
    "age": Age(),
    "app": Applications(),
    **{
        f"pts.{test.name}": Standard(StandardTest(test))
        for test in TESTS.values()
        if (not test.kinds or "sim" in test.kinds) and test.name not in {*STATELESS, *REAL_WORLD}
    },
}


def stage_of(name: object, known: Sequence[str]) -> Stage:
    """Return a stage by its name.

    Args:
        name: As it is in a file.
        known: Names of what can be run alone.

    Raises:
        ConfigError: for another name, and for what hands no state on.
    """
    if isinstance(name, str) and name in STAGES:
        return STAGES[name]
    tests = [one for one in STAGES if one.startswith("pts.")]
    others = [one for one in STAGES if one not in tests]
    is_test = str(name).startswith("pts.")
    accepted = f"accepted: {', '.join(tests if is_test else [*others, 'pts.TEST'])}"
    if name in known:
        raise ConfigError("run", f"`{name}` passes no drive on to another stage; {accepted}")
    near = nearest(str(name), list(STAGES))
    meant = f"; did you mean `{near}`?" if near else ""
    raise ConfigError("run", f"`{name}` is not a stage; {accepted}{meant}")


def _is_done(folder: Path, name: str) -> bool:
    """Return whether a folder has the whole document of a test."""
    try:
        found = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and not found.get("partial", True)


def _only(given: Mapping[str, Any], known: Sequence[str]) -> dict[str, Any]:
    unknown = next((key for key in given if key not in known), None)
    if unknown is not None:
        raise ConfigError(str(unknown), f"is unknown; accepted: {', '.join(known)}")
    return dict(given)
