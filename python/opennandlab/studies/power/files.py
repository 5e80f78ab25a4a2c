"""Losses of power under a file system with a database: recorded once, cut many times.

```text
served drive ◄─ ext4 ◄─ SQLite, row by row ──► commits, outside the drive
     │ every write, flush and trim with its bytes                  │
     ▼                                                             ▼
  record ─ cuts × what the disk makes of them ─► image ─ e2fsck ─► database ─► verdict
```
The records stay in the folder, so the same command goes on after an interruption, and judges the
same cuts in the same way. A record holds the times of one run of this machine: another recording
gives other cuts.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from opennandlab import _core
from opennandlab.base import scratch
from opennandlab.base.campaign import Pool, Task
from opennandlab.base.canonical import digest
from opennandlab.base.errors import ConfigError, ResultError
from opennandlab.base.files import write_atomically
from opennandlab.base.journal import Journal
from opennandlab.core.config import DeviceConfig
from opennandlab.documents.power_files import POWER_FILES_SCHEMA, FilesDocument
from opennandlab.documents.record import made, plain
from opennandlab.serving import recipes
from opennandlab.serving.server import Plan, Served
from opennandlab.studies.power import capture as captures
from opennandlab.studies.power import crash, databases, filesystems
from opennandlab.studies.power.campaign import wilson
from opennandlab.studies.power.databases import MODES, Commit, Mode, Verdict

JOURNAL: Final = "files.cuts.jsonl"
# Folders in which images of disks are judged, in the folder for temporary files.
PREFIX: Final = "opennandlab-cut-"
ROWS_MAX: Final = 100_000
CUTS_MAX: Final = 100_000
# Evidence that a document keeps of each cell.
EVIDENCE_MAX: Final = 3
OUTCOMES: Final = ("ok", "lost_last", "lost", "corrupt", "unopenable")
# A drive for a small file system: 64 MiB of flash.
DRIVE: Final[dict[str, Any]] = {
    "name": "small disk",
    "nand": {
        "cell_type": "TLC", "channels": 2, "dies_per_channel": 2, "planes_per_die": 1,
        "blocks_per_plane": 64, "pages_per_block": 64, "page_size_bytes": 4096,
    },
    "ftl": {"over_provisioning_pct": 0.2},
}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """What is recorded and cut.

    Args:
        device: The drive that is served.
        cuts: Cuts of each mode and variant.
        rows: Rows that are committed.
        modes: Modes of the database.
        variants: What the disk makes of a cut.
        atomic_bytes: What it writes whole or not at all.
        window_ms: For how long `flush_ignored` ignores flushes.
        seed: Seed of the cuts.

    Raises:
        ConfigError: for invalid values.
    """

    device: DeviceConfig
    cuts: int = 25
    rows: int = 200
    modes: Sequence[str] = tuple(mode.name for mode in MODES)
    variants: Sequence[str] = crash.VARIANTS
    atomic_bytes: int = 512
    window_ms: float = 50.0
    seed: int = 42

    def __post_init__(self) -> None:
        """Check what can be checked without running."""
        for option, value, most in (
            ("--cuts", self.cuts, CUTS_MAX), ("--rows", self.rows, ROWS_MAX),
        ):  # fmt: skip
            if not 1 <= value <= most:
                raise ConfigError(option, f"{value} is not valid; accepted: 1 to {most}")
        known_modes = [mode.name for mode in MODES]
        for option, names, known in (
            ("--mode", self.modes, known_modes), ("--variant", self.variants, crash.VARIANTS),
        ):  # fmt: skip
            for name in names:
                if name not in known:
                    message = f"`{name}` is not known; accepted: {', '.join(known)}"
                    raise ConfigError(option, message)
            if len(set(names)) < len(names):
                raise ConfigError(option, "a name is given twice")
        unit = self.atomic_bytes
        if unit < 512 or unit & (unit - 1) or unit > 1 << 16:
            accepted = "accepted: a power of two from 512 to 65536"
            raise ConfigError("--atomic-bytes", f"{unit} is not valid; {accepted}")
        if not 0.0 <= self.window_ms <= 1e6:
            message = f"{self.window_ms} is not valid; accepted: 0 to 1e6"
            raise ConfigError("--window-ms", message)

    def document(self) -> dict[str, Any]:
        """Return what decides the result, next to device and records."""
        return {
            "cuts": self.cuts,
            "rows": self.rows,
            "modes": list(self.modes),
            "variants": list(self.variants),
            "file_system": "ext4",
            "atomic_bytes": self.atomic_bytes,
            "window_ms": self.window_ms,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class Recording:
    """A database that was written, and the requests that the drive received meanwhile.

    Args:
        mode: Mode of the database.
        commits: In their order.
        capture: The requests.
        sha256: SHA-256 of the file of the requests.
    """

    mode: Mode
    commits: Sequence[Commit]
    capture: captures.Capture
    sha256: str

    def places(self) -> range:
        """Return the places of cuts: from the first commit to the last."""
        first, last = self.commits[0].at_ns, self.commits[-1].at_ns
        times = self.capture.times_ns
        inside = [place for place, at in enumerate(times) if first <= at <= last]
        if not inside:
            raise ResultError(f"the drive received no requests while {self.mode.name} was written")
        return range(inside[0] + 1, inside[-1] + 2)


def file_name(mode: Mode) -> str:
    """Return the first part of the file names of a mode.

    >>> file_name(MODES[0])
    'wal-full'
    """
    return mode.name.lower().replace("/", "-")


def record(
    device: DeviceConfig,
    mode: Mode,
    rows: int,
    folder: Path,
    watch: Callable[[int], None] | None = None,
) -> None:
    """Serve a drive, write a database on ext4, and keep what the drive was told.

    Args:
        device: The drive.
        mode: Mode of the database.
        rows: Rows.
        folder: Gets `MODE.capture` and `MODE.json`, which has the commits.
        watch: Told the rows so far.

    Raises:
        ConfigError: where no file system can be mounted.
        OutputError: when a step fails; what was attached is detached.
    """
    reason = filesystems.cannot_record()
    if reason is not None:
        raise ConfigError("power files", f"cannot record here: {reason}")
    kept = folder / f"{file_name(mode)}.capture"
    with tempfile.TemporaryDirectory(prefix="opennandlab-") as place:
        socket, mount = Path(place) / "socket", Path(place) / "mount"
        served = Served(Plan(device=device, timing="off", socket=socket, record_data=kept))
        try:
            attached = recipes.attach(socket, mount, "ext4")
            try:
                os.sync()
                commits = databases.write(mount, mode, rows, watch)
            finally:
                recipes.detach(attached)
        finally:
            served.stop()
    told = {"mode": mode.name, "rows": rows, "commits": [[it.row, it.at_ns] for it in commits]}
    write_atomically(folder / f"{file_name(mode)}.json", json.dumps(told).encode())


def recorded(folder: Path, mode: Mode, rows: int) -> Recording | None:
    """Return what was recorded before; None where that is not all there.

    Raises:
        ResultError: for files that are not what they must be.
    """
    told, kept = folder / f"{file_name(mode)}.json", folder / f"{file_name(mode)}.capture"
    if not told.exists() or not kept.exists():
        return None
    try:
        document = json.loads(told.read_bytes())
        commits = [Commit(int(row), int(at)) for row, at in document["commits"]]
        is_same = document["mode"] == mode.name and document["rows"] == rows == len(commits)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ResultError(f"{told}: damaged; remove it to record again") from error
    if not is_same:
        raise ConfigError(
            "--output",
            f"{told} has {document['rows']} rows; accepted: the same, or another folder",
        )
    found = captures.read(kept)
    if not found.is_whole:
        raise ResultError(f"{kept}: is cut off; remove it to record again")
    return Recording(mode, commits, found, hashlib.sha256(kept.read_bytes()).hexdigest())


@dataclass(frozen=True)
class Judged:
    """A cut, and what was left.

    Args:
        mode: Mode of the database.
        variant: What the disk made of it.
        cut: Number.
        place: Entries of the record before it.
        outcome: Outcome of the database.
        rows: Rows that were there.
        owed: Commits that had come back.
        why: In words.
        unclean: What e2fsck complained of; empty where nothing.
    """

    mode: str
    variant: str
    cut: int
    place: int
    outcome: str
    rows: int
    owed: int
    why: str
    unclean: str


class Campaign:
    """All cuts of some settings.

    Args:
        settings: What is recorded and cut.
        folder: Where records and journal lie.
        jobs: Cuts at the same time.
        watch: Told what is done.

    Raises:
        ConfigError: where nothing can be recorded or judged, and for a folder of other settings.
    """

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        *,
        jobs: int = 1,
        watch: Callable[[str], None] | None = None,
    ) -> None:
        """Find or make the records."""
        self.settings = settings
        reason = filesystems.cannot_judge()
        if reason is not None:
            raise ConfigError("power files", f"cannot judge here: {reason}")
        self._jobs, self._watch, self._began = jobs, watch, time.monotonic()
        scratch.remove_left(PREFIX)
        self.recordings = [
            self._recording(mode, folder) for mode in MODES if mode.name in settings.modes
        ]
        self._journal = Journal(folder / JOURNAL, self._identity())
        self.cut_off_bytes = self._journal.cut_off_bytes
        self._known = {
            (it["mode"], it["variant"], it["cut"]): Judged(**it) for it in self._journal.records
        }

    @property
    def done(self) -> int:
        """Cuts that are judged."""
        return len(self._known)

    @property
    def wanted(self) -> int:
        """Cuts that will be judged."""
        return len(self.recordings) * len(self.settings.variants) * self.settings.cuts

    def to_the_end(self) -> None:
        """Judge what is missing.

        Raises:
            KeyboardInterrupt: on Ctrl-C, when what is done is kept.
        """
        try:
            for recording in self.recordings:
                mode = recording.mode.name
                cuts = self._cuts(recording)
                missing = [it for it in cuts if (mode, it[1].variant, it[0]) not in self._known]
                if missing:
                    self._judge(recording, missing)
        finally:
            self._journal.close()

    def _judge(self, recording: Recording, missing: Sequence[tuple[int, crash.Cut]]) -> None:
        since = self._since(recording)
        base = bytes(_base(recording.capture, since))

        def task(number: int, cut: crash.Cut) -> Task[tuple[str, int], Judged]:
            key = cut.variant, number
            return Task(key, lambda _: judge(recording, number, cut, base, since))

        # Few at a time: an image is as large as the drive.
        with closing(Pool[tuple[str, int], Judged](self._jobs)) as pool:
            for ended in pool.in_order(task(*one) for one in missing):
                self._keep(ended.result())

    def document(self, command: str, *, partial: bool = False) -> FilesDocument:
        """Return the document of the campaign.

        Args:
            command: What ran it.
            partial: Whether it was interrupted.
        """
        cells, evidence = [], []
        for recording in self.recordings:
            for variant in self.settings.variants:
                judged = [
                    self._known[key]
                    for key in sorted(self._known)
                    if key[:2] == (recording.mode.name, variant)
                ]
                if judged:
                    cells.append(cell(recording.mode, variant, judged))
                bad = [it for it in judged if it.outcome != "ok" or it.unclean]
                evidence += [_evidence(it) for it in bad[:EVIDENCE_MAX]]
        is_sound = all(it["reading"] != "contradiction" for it in cells)
        content = {
            "schema": POWER_FILES_SCHEMA,
            "device": self.settings.device.to_dict(),
            "settings": self.settings.document(),
            "recordings": [_told(it) for it in self.recordings],
            "cells": cells,
            "evidence": evidence,
            "partial": partial,
            "passed": is_sound and not partial and bool(cells),
            "run": {
                "version": _core.version(),
                "wall_s": round(time.monotonic() - self._began, 3),
                "command": command,
            },
            "digest": "",
        }
        whole = made(content, FilesDocument)
        return structs.replace(whole, digest=digest(plain(whole)))

    def _recording(self, mode: Mode, folder: Path) -> Recording:
        rows = self.settings.rows
        found = recorded(folder, mode, rows)
        if found is None:

            def told(row: int) -> None:
                if self._watch is not None:
                    self._watch(f"recording {mode.name}: row {row} of {rows}")

            record(self.settings.device, mode, rows, folder, told)
            found = recorded(folder, mode, rows)
        if found is None:
            raise ResultError(f"{folder} has no record of {mode.name}")
        return found

    def _identity(self) -> dict[str, Any]:
        return {
            "model_version": _core.model_version(),
            "device": self.settings.device.to_dict(),
            "settings": self.settings.document(),
            "records": {it.mode.name: it.sha256 for it in self.recordings},
        }

    def _cuts(self, recording: Recording) -> Iterator[tuple[int, crash.Cut]]:
        places = recording.places()
        settings = self.settings
        for variant in settings.variants:
            name = f"{settings.seed}/{recording.mode.name}/{variant}"
            stream = random.Random(name)  # noqa: S311 (a simulation)
            for number in range(settings.cuts):
                place = places[int(stream.random() * len(places))]
                yield (
                    number,
                    crash.Cut(
                        place,
                        variant,
                        settings.atomic_bytes,
                        settings.window_ms,
                        f"{name}/{number}",
                    ),
                )

    def _since(self, recording: Recording) -> int:
        window_ns = int(self.settings.window_ms * crash.NS_PER_MS)
        return crash.settled(recording.capture, recording.commits[0].at_ns - window_ns)

    def _keep(self, judged: Judged) -> None:
        self._journal.add(asdict(judged))
        self._known[judged.mode, judged.variant, judged.cut] = judged
        if self._watch is not None:
            self._watch(f"{self.done} of {self.wanted} cuts")


def judge(recording: Recording, number: int, cut: crash.Cut, base: bytes, since: int) -> Judged:
    """Build what a disk holds after a cut, and say what is left of file system and database.

    Args:
        recording: What was told to it.
        number: Number of the cut.
        cut: Where, and what the disk makes of it.
        base: What it held before `since`.
        since: An entry before which everything is covered.
    """
    with scratch.folder(PREFIX) as folder:
        image = folder / "image"
        image.write_bytes(crash.image(recording.capture, cut, base, since))
        checked = filesystems.check(image)
        names = [databases.NAME + end for end in databases.BESIDE]
        filesystems.take_out(image, names, folder)
        at_ns = recording.capture.times_ns[cut.place - 1]
        verdict: Verdict = databases.judge(folder, recording.commits, at_ns)
    return Judged(
        recording.mode.name, cut.variant, number, cut.place, verdict.outcome, verdict.rows,
        verdict.owed, verdict.why, "" if checked.is_clean else checked.why or "not clean",
    )  # fmt: skip


def cell(mode: Mode, variant: str, judged: Sequence[Judged]) -> dict[str, Any]:
    """Return the counts of one mode and one variant, and how they are to be read."""
    counts = {name: sum(it.outcome == name for it in judged) for name in OUTCOMES}
    unclean = sum(bool(it.unclean) for it in judged)
    bad = sum(it.outcome != "ok" or bool(it.unclean) for it in judged)
    low, high = wilson(bad, len(judged))
    is_honest = variant in crash.HONEST
    may_be = mode.may_lose_last and bad == counts["lost_last"] and not unclean
    if not bad:
        reading = "sound"
    elif may_be and (is_honest or variant == "torn_below"):  # which loses them untorn as well
        reading = "application semantics"
    else:
        reading = "contradiction" if is_honest else "fault"
    return {
        "mode": mode.name,
        "variant": variant,
        "honest": is_honest,
        "cuts": len(judged),
        **counts,
        "unclean": unclean,
        "per_1000": round(1000 * bad / len(judged), 6),
        "low": round(1000 * low, 6),
        "high": round(1000 * high, 6),
        "reading": reading,
    }


def _base(capture: captures.Capture, since: int) -> bytearray:
    disk = bytearray(capture.capacity_bytes)
    for request in capture.requests:
        if request.begun < since and request.command != captures.FLUSH:
            crash.apply(disk, request, [(0, request.length)], capture.unit_bytes)
    return disk


def _evidence(judged: Judged) -> dict[str, Any]:
    told = asdict(judged)
    unclean = told.pop("unclean")
    words = [judged.why, f"e2fsck: {unclean}" if unclean else ""]
    return told | {"why": "; ".join(word for word in words if word)}


def _told(recording: Recording) -> dict[str, Any]:
    requests = recording.capture.requests
    count = {command: sum(it.command == command for it in requests) for command in (1, 3, 4, 6)}
    commits = recording.commits
    return {
        "mode": recording.mode.name,
        "rows": len(commits),
        "writes": count[captures.WRITE],
        "flushes": count[captures.FLUSH],
        "trims": count[captures.TRIM] + count[captures.WRITE_ZEROES],
        "bytes": sum(len(it.data) for it in requests),
        "seconds": round((commits[-1].at_ns - commits[0].at_ns) / 1e9, 6),
        "sha256": recording.sha256,
    }
