"""`chain`: one drive through several stages: the drive that was cut is the one that ages.

```yaml
run: chain
device: emmc_16gb
stages:
  cut: {run: power, power: {cuts: 50}}
  old: {run: age, age: {drive_writes: 10}}
  test: {run: pts.iops, pts: {profile: C, time_base: smoke}}
```
```text
new drive ─► image ─► stage ─► image ─► stage ─► image …        row by row into the journal
```
Each stage draws from a separate stream, by its name: a stage more behind it changes nothing. A
stage that finds faults hands its drive on all the same; behind one that did not come to its end
there is no drive, and the rest is not run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from opennandlab import _core
from opennandlab.base import scratch
from opennandlab.base.campaign import Watcher
from opennandlab.base.canonical import digest
from opennandlab.base.errors import CodeError, ConfigError, OpenNandLabError, OutputError
from opennandlab.base.files import write_atomically
from opennandlab.base.journal import Journal, JournalError
from opennandlab.core.config import DeviceConfig, load_device, read_device
from opennandlab.core.images import drive_of, read_image
from opennandlab.core.overrides import set_path
from opennandlab.core.run import SEED
from opennandlab.documents.record import JsonObject
from opennandlab.pts.bench.runner import BrokenError
from opennandlab.store.unfinished import empty
from opennandlab.studies.sweeps.verb import Reader, drafted
from opennandlab.studies.sweeps.verbs.benchmark import Drafts, OnDrive, draft_of
from opennandlab.studies.sweeps.verbs.stages import STAGES, Job, Stage, stage_of

CHAIN_SCHEMA: Final = "opennandlab.chain/1"
JOURNAL: Final = "chain.jsonl"
STAGES_MAX: Final = 100
# Numbers that each stage has, of the drive that it left, and what the core calls them.
WEAR: Final = {
    "erase_count_mean": "erase_count_mean",
    "erase_count_max": "erase_count_max",
    "good_blocks": "blocks",
}
# Bytes of the hash that a stage draws from.
SEED_BYTES: Final = 6
EXAMPLE: Final = "accepted: for example {cut: {run: power, power: {cuts: 50}}, old: {run: age}}"


@dataclass(frozen=True)
class _Run:
    """A chain that runs.

    Args:
        device: The drive.
        stages: Settings by name, in order.
        seed: Seed of all randomness.
        folder: Where images and journal are.
        watch: Called with the progress.
    """

    device: DeviceConfig
    stages: Mapping[str, JsonObject]
    seed: int
    folder: Path
    watch: Watcher

    def rows(self, journal: Journal) -> list[JsonObject]:
        """Return a row for each stage; those of the journal are not run again.

        Raises:
            OutputError: when a file cannot be written.
            KeyboardInterrupt: as soon as the watcher raises `Stopped`.
        """
        found = self._known(journal)
        if not found:
            write_atomically(self._image(0), self.device.drive(self.seed).image())
        for at, (name, stage) in enumerate(self.stages.items()):
            if at < len(found):
                continue
            if found and found[-1]["state"] is None:
                broken = next(row["stage"] for row in found if row["state"] is None)
                found.append(_row(name, stage, "not_run", f"stage `{broken}` left no drive"))
                continue
            found.append(self._stage(at, name, stage))
            if found[-1]["state"] is not None:
                journal.add(found[-1])
                self._image(at).unlink(missing_ok=True)
        return found

    def _stage(self, at: int, name: str, stage: JsonObject) -> JsonObject:
        def told(share: float | None) -> None:
            self.watch((at + (share or 0.0)) / len(self.stages))

        kind = STAGES[stage["run"]]
        own = self.folder / f"stage-{at}"
        own.mkdir(exist_ok=True)
        job = Job(
            device=self.device, settings=stage[kind.key], seed=seed_of(self.seed, name),
            before=self._image(at), after=self._image(at + 1), folder=own, watch=told,
        )  # fmt: skip
        try:
            left = kind.run(job)
        except OpenNandLabError as error:
            cause = error.error if isinstance(error, BrokenError) else error
            if isinstance(cause, CodeError | OutputError):  # not of the drive: run again
                raise
            return _row(name, stage, "failed", str(error))
        image = read_image(job.after)
        empty(own)
        return _row(name, stage, "failed" if left.why else "passed", left.why) | {
            "note": left.note,
            "digest": left.digest,
            "metrics": {**left.metrics, **wear_of(image, job.after)},
            "state": hashlib.sha256(image).hexdigest(),
        }

    def _known(self, journal: Journal) -> list[JsonObject]:
        """Return the rows of the journal whose last image is there; none without it."""
        found = [row for row in journal.records if row["state"] is not None]
        try:
            image = read_image(self._image(len(found))) if found else b""
        except OpenNandLabError:
            image = b""
        if found and hashlib.sha256(image).hexdigest() == found[-1]["state"]:
            return found
        journal.keep(0)
        return []

    def _image(self, at: int) -> Path:
        return self.folder / f"state-{at}.image"


class Chain(OnDrive):
    """Stages on one drive, one after the other."""

    name: ClassVar[str] = "chain"
    title: ClassVar[str] = "several stages on one drive: cuts, ageing, applications, tests"
    is_resumable: ClassVar[bool] = True
    keys: ClassVar[Mapping[str, str]] = {
        "device": "a preset, a file, or the keys of a device",
        "stages": "what is done to the drive, by name, such as {cut: {run: power}}",
    }
    needed: ClassVar[tuple[str, ...]] = ("stages",)
    metric: ClassVar[str] = "stages_passed"
    columns: ClassVar[tuple[str, ...]] = ("stages_passed",)

    def reader(self, request: Mapping[str, Any]) -> Reader:
        """Return what resolves device and stages of a point."""
        devices = Drafts(read_device)
        shared = request.get("stages")
        _check(shared)

        def settings(changes: Mapping[str, Any]) -> JsonObject:
            own, device_changes = drafted(changes, "stages")
            device = load_device(draft_of(devices, request, device_changes), device_changes)
            stages = deepcopy(dict(shared or {}))
            for key, value in own.items():
                if key.partition(".")[0] not in stages:
                    accepted = f"accepted: {', '.join(stages)}"
                    raise ConfigError(f"stages.{key}", f"belongs to no stage; {accepted}")
                set_path(stages, key, value)
            found = {str(name): _resolved(str(name), it, device) for name, it in stages.items()}
            return {"device": device.to_dict(), "stages": found, "order": list(found)}

        return settings

    def run(
        self, settings: JsonObject, seed: int | None, watch: Watcher, place: Path | None = None
    ) -> JsonObject:
        """Run the stages; images, and the rows of those that are done, are in the place."""
        number = SEED if seed is None else seed
        device = load_device(settings["device"])
        stages = {name: settings["stages"][name] for name in settings["order"]}
        identity = {
            "schema": CHAIN_SCHEMA,
            "program": f"{_core.version()} {_core.commit()}{' changed' if _core.dirty() else ''}",
            "seed": number,
            "stages": stages,
        }
        with _folder(place) as folder, _journal(folder, identity) as journal:
            rows = _Run(device, stages, number, folder, watch).rows(journal)
        passed = all(row["verdict"] == "passed" for row in rows)
        document = {"schema": CHAIN_SCHEMA, "seed": number, "stages": rows, "passed": passed}
        return document | {"digest": digest(document)}

    def rehearse(self, settings: JsonObject) -> None:
        """Refuse a drive to which a stage cannot be done."""
        device = load_device(settings["device"])
        for name, stage in settings["stages"].items():
            _rehearse(name, stage["run"], device)

    def names(self, request: Mapping[str, Any]) -> list[str]:
        """Return the names of stages; which numbers these have depends on how they end."""
        return [*(f"{stage}.*" for stage in request["stages"]), "stages_passed"]

    def metrics(self, document: JsonObject) -> dict[str, float]:
        """Return the numbers of all stages, each below its name, and how many stages passed."""
        rows = document["stages"]
        found = {
            f"{row['stage']}.{key}": value for row in rows for key, value in row["metrics"].items()
        }
        return found | {"stages_passed": float(sum(row["verdict"] == "passed" for row in rows))}

    def memory_bytes(self, settings: JsonObject) -> int:
        """Return the memory of the drive, and of the copy that a stage begins with."""
        return 2 * super().memory_bytes(settings)


def columns_of(request: Mapping[str, Any], name: str) -> Sequence[str]:
    """Return the numbers of a table of a stage."""
    return STAGES[request["stages"][name]["run"]].columns


def seed_of(seed: int, name: str) -> int:
    """Return the seed of a stage.

    >>> seed_of(1, "cut") != seed_of(1, "test") != seed_of(2, "test")
    True
    """
    word = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(word[:SEED_BYTES], "little")


def wear_of(image: bytes, path: Path) -> dict[str, float]:
    """Return mean and most erases of a block, and the good blocks, of a device image."""
    found = json.loads(drive_of(image, SEED, path).wear())
    return {name: float(found[key]) for name, key in WEAR.items() if found[key] is not None}


def _row(name: str, stage: JsonObject, verdict: str, why: str) -> JsonObject:
    return {
        "stage": name, "run": stage["run"], "verdict": verdict, "why": why, "note": "",
        "metrics": {}, "state": None, "digest": "",
    }  # fmt: skip


def _check(stages: object) -> None:
    """Refuse stages that are none, before any device is examined."""
    if not isinstance(stages, Mapping) or not 1 <= len(stages) <= STAGES_MAX:
        message = f"`{stages}`; accepted: 1 to {STAGES_MAX} stages by name"
        raise ConfigError("stages", f"{message}, {EXAMPLE.removeprefix('accepted: ')}")
    for name, given in stages.items():
        if not isinstance(name, str) or not name.isprintable() or not name.strip():
            raise ConfigError("stages", f"`{name}` is not a name; accepted: printable characters")
        if "." in name or "/" in name:
            raise ConfigError("stages", f"`{name}`; accepted: a name without dots and slashes")
        if not isinstance(given, Mapping) or "run" not in given:
            raise ConfigError(f"stages.{name}", f"`{given}` is not a stage; {EXAMPLE}")
        _kind(name, given)


def _kind(name: str, given: Mapping[str, Any]) -> Stage:
    from opennandlab.studies.sweeps.verbs import VERBS

    try:
        kind = stage_of(given["run"], tuple(VERBS))
    except ConfigError as error:
        raise ConfigError(f"stages.{name}.{error.path}", error.message) from None
    unknown = next((key for key in given if key not in {"run", kind.key}), None)
    if unknown is not None:
        raise ConfigError(f"stages.{name}.{unknown}", f"is unknown; accepted: run, {kind.key}")
    return kind


def _rehearse(name: str, run: str, device: DeviceConfig) -> None:
    try:
        STAGES[run].rehearse(device)
    except CodeError:
        raise
    except ConfigError as error:
        raise ConfigError(f"stages.{name}.run", f"`{run}`: {error}") from None


def _resolved(name: str, given: Mapping[str, Any], device: DeviceConfig) -> JsonObject:
    kind = _kind(name, given)
    place = f"stages.{name}.{kind.key}"
    own = given.get(kind.key) or {}
    if not isinstance(own, Mapping):
        raise ConfigError(place, f"`{own}` is not a mapping; accepted: keys and values")
    try:
        return {"run": given["run"], kind.key: kind.read(own, device)}
    except CodeError:
        raise
    except ConfigError as error:
        inner = error.path.removeprefix("app.").removeprefix(f"{kind.key}.")
        raise ConfigError(f"{place}.{inner}", error.message) from None


@contextmanager
def _folder(place: Path | None) -> Iterator[Path]:
    """Give the place, or a folder for a while without one."""
    if place is not None:
        yield place
        return
    with scratch.folder("opennandlab-chain-") as found:
        yield found


@contextmanager
def _journal(folder: Path, identity: JsonObject) -> Iterator[Journal]:
    """Give the journal of a chain; one that is damaged, or of another build, begins again."""
    path = folder / JOURNAL
    try:
        journal = Journal(path, identity)
    except JournalError:
        empty(folder)
        journal = Journal(path, identity)
    try:
        yield journal
    finally:
        journal.close()
