"""Suites on a file system: scripts are run in a fresh directory, by the clock on the wall.

```text
PATH ─► PATH/opennandlab-app-… ─► case by case, run by run ─► removed, whatever happens
```
What a killed run left there is removed by the next one in the same directory (`scratch`).
Nothing else below PATH is touched. Before anything is written, the largest amount that any run may
take is compared with what the file system has free.
"""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from opennandlab.app import cases
from opennandlab.app.executor import Executor, Marked, Profile, chosen_eviction
from opennandlab.app.outcome import Outcome, Progress, Sample, Watcher
from opennandlab.app.suites import FULL_RATIO, Suite, check_delete_pct, deleted
from opennandlab.base import scratch
from opennandlab.base.errors import ConfigError, OutputError, WriteError
from opennandlab.documents.app import DELETE_PCT, AppCheck, AppEnvironment, AppProfile

# What a file system needs next to the files: their metadata, and room to breathe.
MARGIN_RATIO: Final = 0.1
MARGIN_BYTES: Final = 64 << 20
PREFIX: Final = "opennandlab-app-"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be run where.

    Args:
        path: The directory; a fresh one is made below it.
        suite: Cases and counts.
        seed: Seed of scripts and contents.
        runs: How often each case is run.
        profile: Settings of databases.
        sizes: Sizes that differ from the defaults, by case and name.
        idle_ms: The user's pause between iterations.
        compress_ratio: Share of the written bytes that compresses away.
        evict: `auto`, `drop_caches` or `dontneed`.
        may_fill: Whether a suite may fill the file system.
        fill_rounds: How often photos are deleted and written again.
        delete_pct: Percent of the photos, by count, that each of these rounds deletes.
    """

    path: Path
    suite: Suite
    seed: int = 42
    runs: int = 5
    profile: Profile = field(default_factory=Profile)
    sizes: cases.Sizes = field(default_factory=dict)
    idle_ms: int = 0
    compress_ratio: float = 0.0
    evict: str = "auto"
    may_fill: bool = False
    fill_rounds: int = 30
    delete_pct: float = DELETE_PCT


def merged_sizes(plan: Plan) -> dict[str, dict[str, int]]:
    """Return the sizes of the suite with those of the plan over them."""
    names = {**plan.suite.sizes, **plan.sizes}
    return {name: {**plan.suite.sizes.get(name, {}), **plan.sizes.get(name, {})} for name in names}


def prepare(plan: Plan) -> None:
    """Refuse what cannot be run; nothing is written.

    Raises:
        ConfigError: for a path that is no directory, sizes that no case has, or too little room.
    """
    if not plan.path.exists():
        raise ConfigError("target", f"dir:{plan.path}: no such directory")
    if not plan.path.is_dir():
        raise ConfigError("target", f"dir:{plan.path}: is not a directory")
    if not os.access(plan.path, os.W_OK | os.X_OK):
        raise ConfigError("target", f"dir:{plan.path}: cannot be written by this user")
    sizes = merged_sizes(plan)
    cases.check_sizes(sizes)
    chosen_eviction(plan.evict)
    check_delete_pct(plan.delete_pct)
    if plan.suite.fill and not plan.may_fill:
        raise ConfigError(
            "suite",
            f"`{plan.suite.name}` fills the file system of {plan.path} to {FULL_RATIO:.0%}: "
            f"give --may-fill if that is what you want, on a file system used for nothing else",
        )
    largest = max(
        (cases.make(name, plan.seed, sizes).bytes(count), name)
        for name, count in plan.suite.counts.items()
        if count
    )
    need = int(largest[0] * (1 + MARGIN_RATIO)) + MARGIN_BYTES
    free = shutil.disk_usage(plan.path).free
    if need > free:
        raise ConfigError(
            "target",
            f"dir:{plan.path}: {largest[1]} takes up to {largest[0]} bytes; with a reserve of "
            f"a tenth and {MARGIN_BYTES} bytes that is {need} bytes, and only {free} are free",
        )


def run(plan: Plan, watch: Watcher | None = None) -> Outcome:
    """Run a suite.

    After Ctrl-C the outcome holds what was run, and states this; the directory is removed. The same
    when an operation fails after a case has ended.

    Raises:
        ConfigError: nothing was run.
        WriteError: when an operation of the first case fails, such as for a full disk.
    """
    prepare(plan)
    scratch.remove_left(PREFIX, plan.path)
    live = _Live(plan, watch)
    outcome = live.outcome
    try:
        live.all()
    except KeyboardInterrupt:
        outcome.is_partial = True
    except OutputError as error:
        if not any(outcome.samples):
            raise
        outcome.is_partial, outcome.failure = True, str(error)
    return live.finished()


class _Live:
    """A run in progress."""

    def __init__(self, plan: Plan, watch: Watcher | None) -> None:
        self._plan = plan
        self._watch = watch
        self._start = time.monotonic()
        self._sizes = merged_sizes(plan)
        self._eviction = chosen_eviction(plan.evict)
        self._checked = 0
        self._damaged: list[str] = []
        self._wanted = 0
        self._done = 0
        phases = 2 if plan.suite.fill else 1
        self._total = plan.runs * phases * sum(plan.suite.counts.values())
        profile = plan.profile
        self.outcome = Outcome(
            AppEnvironment(
                path="directory",
                file_system=file_system(plan.path),
                kernel=platform.release(),
                eviction=self._eviction,
                flush="of the file system and its device",
                traces=None,
            ),
            AppProfile(journal=profile.journal, sync=profile.sync, page_bytes=profile.page_bytes),
        )

    def all(self) -> None:
        """Run everything."""
        plan = self._plan
        for _ in range(plan.runs):
            self.outcome.samples.append([])
            if not plan.suite.fill:
                self._phase("main")
                continue
            self._phase("first")
            with fresh(plan.path) as root:
                self._fill(root)
                self._phase("second")

    def finished(self) -> Outcome:
        """Return the outcome with its checks."""
        outcome = self.outcome
        outcome.checks = [
            AppCheck(
                name="iterations",
                passed=self._done == self._wanted and not outcome.is_partial,
                detail=f"{self._done} of {self._wanted} were run",
            ),
            *(
                [AppCheck(name="operations", passed=False, detail=outcome.failure)]
                if outcome.failure
                else []
            ),
            AppCheck(
                name="integrity_check",
                passed=not self._damaged,
                detail=", ".join(self._damaged) or f"{self._checked} databases are ok",
            ),
        ]
        if self._watch is not None:
            self._watch(Progress("done", 1.0, time.monotonic() - self._start, is_finished=True))
        return outcome

    def _phase(self, phase: str) -> None:
        for case, count in self._plan.suite.counts.items():
            if count:
                self._wanted += count
                with fresh(self._plan.path) as root:
                    self._case(phase, case, count, root)

    def _case(self, phase: str, name: str, count: int, root: Path) -> None:
        plan = self._plan
        responses: list[int] = []
        with closing(self._executor(root)) as executor:
            case = cases.make(name, plan.seed, self._sizes)
            self._tell(name)
            for marked in executor.run(cases.script(case, count, plan.idle_ms)):
                responses.append(marked.end_ns - marked.begin_ns)
                self._done += 1
                self._tell(name)
        self.outcome.samples[-1].append(Sample(phase, name, responses, moved=executor.moved))
        for path in sorted(root.rglob("*.db")):
            self._checked += 1
            self._damaged += [f"{name}/{path.name}: {text}" for text in damage(path)]

    def _fill(self, root: Path) -> None:
        """Take photos until the file system is full, and delete a share of them, in rounds."""
        plan = self._plan
        case = cases.make("camera", plan.seed, self._sizes)
        with closing(self._executor(root)) as executor:
            script = cases.script(case, 1 << 40)
            photos: list[Path] = []
            taken = executor.run(script)
            for number in range(plan.fill_rounds):
                while _used_ratio(root) < FULL_RATIO:
                    _next(taken)
                    photos.append(root / "photos" / f"{len(photos):05d}.jpg")
                    self._tell(f"filling, round {number + 1}/{plan.fill_rounds}")
                if number < plan.fill_rounds - 1:
                    there = [path for path in photos if path.exists()]
                    for at in deleted(len(there), plan.delete_pct):
                        there[at].unlink()

    def _executor(self, root: Path) -> Executor:
        plan = self._plan
        return Executor(
            root,
            plan.profile,
            plan.seed,
            compress_ratio=plan.compress_ratio,
            eviction=self._eviction,
        )

    def _tell(self, what: str) -> None:
        if self._watch is not None:
            number = len(self.outcome.samples)
            text = f"run {number}/{self._plan.runs} {what}"
            fraction = self._done / max(1, self._total)
            self._watch(Progress(text, fraction, time.monotonic() - self._start))


def _next(taken: Iterator[Marked]) -> None:
    try:
        next(taken)
    except OutputError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        raise WriteError(f"while filling: {error}") from error


def _used_ratio(path: Path) -> float:
    usage = shutil.disk_usage(path)
    return 1 - usage.free / max(1, usage.used + usage.free)


@contextmanager
def fresh(path: Path) -> Iterator[Path]:
    """Give a directory of our own below another; it is always removed at the end.

    Raises:
        OutputError: when it cannot be made.
    """
    with ExitStack() as stack:
        try:
            root = stack.enter_context(scratch.folder(PREFIX, path))
        except OSError as error:
            raise OutputError(f"cannot make a directory in {path}: {error.strerror}") from error
        yield root


def damage(path: Path) -> list[str]:
    """Return what SQLite finds wrong with a database; nothing if it is well."""
    try:
        with closing(sqlite3.connect(path)) as database:
            rows = database.execute("PRAGMA integrity_check").fetchall()
    except sqlite3.Error as error:
        return [str(error)]
    return [str(row[0]) for row in rows if row[0] != "ok"]


def file_system(path: Path) -> str:
    """Return type and options of the file system that holds a path; `unknown` where none is told.

    Paths and devices are left out: they say nothing of speed.
    """
    try:
        lines = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "unknown"
    real = os.path.realpath(path)
    best = ("", "unknown")
    for line in lines:
        fields = line.split()
        if len(fields) < 4:
            continue
        place = fields[1].replace("\\040", " ")
        inside = real == place or real.startswith(place.rstrip("/") + "/")
        if inside and len(place) >= len(best[0]):
            best = (place, f"{fields[2]} {fields[3]}")
    return best[1]
