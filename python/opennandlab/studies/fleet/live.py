"""A fleet of drives that are there: served ones, directories, block devices.

```yaml
name: bench
targets: [dir:/mnt/phone0, "nbd+unix:///?socket=/run/a.sock", /dev/sdb]
suites:
  apps: {run: app, app: {suite: light, runs: 1}}                # on directories
  load: {run: pts.load, pts: {profile: C, time_base: smoke}}    # on the others; destroys their data
```
Each suite of each device is a command of this program, in a separate process: so what is run, and
what keeps it from destroying what is not meant, is what `app run` and `pts` do.

```text
device 0   load ── ready ┐       ┌ go ── suite ── suite ──►
device 1   load ─ ready ─┤ gate ─┤ go ── suite ──►            why it failed, if it did
device 63  load ─── ready┘       └ go ── suite ── suite ──►
```
All devices work at the same time, however many cores there are: the devices take the time. The
suites of a device come one after the other, each on what the one before has left. What is done is
in a journal until all is, so a run that was killed continues. A real drive is never the same twice:
a run that completed is not known to the next one, and no digest comes twice.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from opennandlab import _core
from opennandlab.base.campaign import Pool, Task
from opennandlab.base.errors import ConfigError
from opennandlab.base.files import read_yaml
from opennandlab.base.journal import Journal
from opennandlab.base.plain import to_json
from opennandlab.documents import app as applications
from opennandlab.policies.source import program
from opennandlab.store.entry import numbers
from opennandlab.studies.fleet.definition import SEED_BYTES
from opennandlab.studies.sweeps.definition import checked_name, mapping_at
from opennandlab.targets.base import TargetError

OWN_KEYS: Final = ("name", "targets", "suites")
TARGETS_MAX: Final = 64
DRIVES: Final = "nbd+unix:///?socket=PATH, file:PATH, /dev/…"
# What a suite cannot say, since the fleet does.
FORBIDDEN: Final = ("target", "output", "seed", "json", "quiet", "destructive", "i_know", "force",
                    "resume", "dry_run", "store", "keep", "allow_code", "set", "help",
                    "h")  # fmt: skip
KEY: Final = re.compile(r"[a-z][a-z0-9_-]*")
MAY_FILL: Final = "--may-fill"
ERROR_CHARS_MAX: Final = 500
# A process that ignores a signal gets the next one after these times, seconds.
PATIENCE_S: Final = (20.0, 40.0)
# The module that holds a command back, and the word that it waits for.
HELD, GO = "opennandlab.cli._held", "go\n"
# The longest wait for devices whose commands are not loaded.
READY_S: Final = 300.0
# How often a wait looks whether all is to end.
LOOK_S: Final = 0.1
JOURNAL: Final = "fleet.journal.jsonl"
JOURNAL_SCHEMA: Final = "opennandlab.fleet-journal/1"


@dataclass(frozen=True)
class Permission:
    """What may be destroyed; see `targets.consent`.

    Args:
        destructive: The data of real targets may be lost.
        known: Devices that are meant, each by the last part of its path.
        force: A partition table or file system stops no test.
        may_fill: Suites that ask for it may fill the file systems of directories.
    """

    destructive: bool = False
    known: Sequence[str] = ()
    force: bool = False
    may_fill: bool = False


@dataclass(frozen=True)
class Suite:
    """What is run on each device of its kind.

    Args:
        name: Name of the suite.
        words: The command, without target, output and seed.
    """

    name: str
    words: tuple[str, ...]

    @property
    def is_application(self) -> bool:
        """Whether it is run in a directory."""
        return self.words[0] == "app"


@dataclass(frozen=True)
class Found:
    """What a suite on a device gave.

    Args:
        device: Index of the device.
        suite: Name of the suite.
        metrics: Its numbers; empty where it failed.
        error: Why it failed.
        digest: Digest of its document; empty without one.
        began_s: When it was let go, seconds since the beginning of the run; None for one that is
            known from a run before.
        ended_s: When it had ended.
    """

    device: int
    suite: str
    metrics: Mapping[str, float]
    error: str | None
    digest: str = ""
    began_s: float | None = None
    ended_s: float | None = None

    @classmethod
    def known(cls, record: Mapping[str, Any]) -> Found:
        """Return the row of a record of a journal."""
        kept = ("device", "suite", "metrics", "error", "digest")
        return cls(**{key: record[key] for key in kept})

    @property
    def record(self) -> dict[str, Any]:
        """The record of a journal."""
        return {"device": self.device, "suite": self.suite, "metrics": dict(self.metrics),
                "error": self.error, "digest": self.digest}  # fmt: skip


class _Gate:
    """Holds commands back until all that can run at the same time are loaded.

    Args:
        count: Commands that it waits for.
    """

    def __init__(self, count: int) -> None:
        """Begin closed."""
        self._left = count
        self._lock = threading.Lock()
        self._open = threading.Event()

    def arrive(self) -> None:
        """Count a command that is loaded, or will never be."""
        with self._lock:
            self._left -= 1
            if self._left <= 0:
                self._open.set()

    def wait(self, is_over: Callable[[], bool]) -> None:
        """Wait until it opens; it stays open."""
        end = time.monotonic() + READY_S
        while not self._open.wait(LOOK_S) and not is_over() and time.monotonic() < end:
            pass


@dataclass(frozen=True)
class LiveFleet:
    """Targets and suites.

    Args:
        name: Name of the campaign.
        targets: In order; the place is the index of the device.
        suites: In order.
        document: As it was read.
    """

    name: str
    targets: Sequence[str]
    suites: Sequence[Suite]
    document: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> LiveFleet | None:
        """Read a fleet file; None for one of simulated drives.

        Raises:
            ConfigError: with the key, what stands there, and what is accepted.
        """
        document = read_yaml(path)
        return cls.of({"name": path.stem} | document) if "targets" in document else None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> LiveFleet:
        """Read a fleet from a mapping with the keys of a file.

        Raises:
            ConfigError: with the key, what stands there, and what is accepted.
        """
        to_json(document)
        unknown = next((key for key in document if key not in OWN_KEYS), None)
        if unknown is not None:
            message = f"is not a key of a fleet of targets; accepted: {', '.join(OWN_KEYS)}"
            raise ConfigError(str(unknown), message)
        targets = document.get("targets")
        if not isinstance(targets, list) or not 1 <= len(targets) <= TARGETS_MAX:
            found = f"{len(targets)} targets" if isinstance(targets, list) else f"`{targets}`"
            message = f"{found}; accepted: a list of 1 to {TARGETS_MAX} targets"
            raise ConfigError("targets", message)
        for place, target in enumerate(targets):
            if not isinstance(target, str) or not _is_target(target):
                accepted = f"accepted: dir:PATH, {DRIVES}"
                raise ConfigError(f"targets[{place}]", f"`{target}`; {accepted}")
            same = next((it for it in targets[:place] if _place(it) == _place(target)), None)
            if same is not None:
                message = f"`{target}` is the same as `{same}`; accepted: each target once"
                raise ConfigError(f"targets[{place}]", message)
        given = mapping_at(document, "suites")
        suites = [_suite(str(name), suite) for name, suite in given.items()]
        if not suites:
            raise ConfigError(
                "suites", "there is nothing to run; accepted: for example {a: {run: app}}"
            )
        fleet = cls(checked_name(document.get("name", "fleet")), targets, suites, document)
        for suite in suites:
            if not any(suite.is_application == _is_folder(target) for target in targets):
                kind, places = (
                    ("directory", "dir:PATH") if suite.is_application else ("drive", DRIVES)
                )
                message = f"no target is a {kind}; accepted: with {places} in targets"
                raise ConfigError(f"suites.{suite.name}", message)
        return fleet

    def seed(self, index: int) -> int:
        """Return the seed of a device, as in a fleet of simulated drives."""
        word = hashlib.sha256(f"{self.name}/{index}".encode()).digest()
        return int.from_bytes(word[:SEED_BYTES], "little")

    def check(self, indices: Sequence[int], permission: Permission) -> None:
        """Refuse what was not permitted, before anything is run.

        Raises:
            ConfigError: for an index that does not exist.
            TargetError: for a device whose data were not given up, and a file system that would be
                filled.
        """
        filling = next((one.name for one in self.suites if MAY_FILL in one.words), None)
        if filling is not None and not permission.may_fill:
            message = "file systems of targets would be filled; accepted: with --may-fill"
            raise TargetError(f"suites.{filling}.app.may_fill: {message}")
        for index in indices:
            if not 0 <= index < len(self.targets):
                raise ConfigError("--only", f"{index}; accepted: 0 to {len(self.targets) - 1}")
            target = self.targets[index]
            if _is_folder(target) or all(suite.is_application for suite in self.suites):
                continue
            if not permission.destructive:
                message = f"all data of {target} would be destroyed; accepted: with --destructive"
                raise TargetError(f"targets[{index}]: {message}")
            if target.startswith("/dev/") and Path(target).name not in permission.known:
                message = f"{target} was not named; accepted: with --i-know {Path(target).name}"
                raise TargetError(f"targets[{index}]: {message}")

    def command(self, index: int, suite: Suite, output: Path, permission: Permission) -> list[str]:
        """Return what runs a suite on a device, without the program."""
        target = self.targets[index]
        words = [*suite.words, "--target", target, "--seed", str(self.seed(index)),
                 "--output", str(output), "--json", "--quiet"]  # fmt: skip
        if not suite.is_application:
            words += ["--destructive"] * permission.destructive + ["--force"] * permission.force
            if target.startswith("/dev/"):
                words += ["--i-know", Path(target).name]
        return words


class LiveCampaign:
    """A run of a fleet of targets.

    Args:
        fleet: What is wanted.
        output: Where each suite of each device has a folder.
        indices: The devices.
        permission: What may be destroyed.
        watch: Told what was done, and how much of it.
        is_retry: Whether what failed before the run was interrupted is run again.

    Raises:
        ConfigError: also for a folder with the journal of another fleet.
    """

    def __init__(  # noqa: PLR0913 (as `run` of the command has them)
        self,
        fleet: LiveFleet,
        output: Path,
        indices: Sequence[int],
        permission: Permission,
        watch: Callable[[str, float], None],
        *,
        is_retry: bool = False,
    ) -> None:
        """Check what is permitted, and read what an interrupted run has left; nothing runs."""
        fleet.check(indices, permission)
        self.fleet, self.indices = fleet, indices
        self._output, self._permission, self._watch = output, permission, watch
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._is_stopping = False
        self._gate = _Gate(0)
        is_whole = list(indices) == list(range(len(fleet.targets)))
        identity = {"schema": JOURNAL_SCHEMA, "version": _core.version(),
                    "fleet": dict(fleet.document)}  # fmt: skip
        self._journal = Journal(output / JOURNAL if is_whole else None, identity)
        known = {(it["device"], it["suite"]): Found.known(it) for it in self._journal.records}
        self.found = [one for one in known.values() if one.error is None or not is_retry]
        self.known_count = len(self.found)
        self.began = time.monotonic()

    @property
    def count(self) -> int:
        """How many suites of devices there are."""
        return sum(len(self._of_kind(index)) for index in self.indices)

    def to_the_end(self, jobs: int, interrupted: Callable[[], None]) -> bool:
        """Run all of it; return whether it was interrupted.

        Args:
            jobs: Devices at once.
            interrupted: Called first when it is: afterwards no signal should interrupt again, since
                processes are ended, which is waited for.
        """
        waiting = [index for index in self.indices if self._suites(index)]
        if not waiting:
            return False
        slots = min(jobs, len(waiting))
        self._gate = _Gate(slots)
        tasks = (self._task(index) for index in waiting)
        try:
            with closing(Pool[int, None](slots)) as pool:
                try:
                    for ended in pool.in_order(tasks, ahead=len(waiting)):
                        ended.result()
                except KeyboardInterrupt:
                    interrupted()
                    self._stop()
                    return True
        finally:
            self._journal.close()
        return False

    def forget(self) -> None:
        """Take the journal away: the document has it all."""
        self._journal.forget()

    def _task(self, index: int) -> Task[int, None]:
        return Task(index, lambda _: self._device(index))

    def _of_kind(self, index: int) -> list[Suite]:
        is_folder = _is_folder(self.fleet.targets[index])
        return [suite for suite in self.fleet.suites if suite.is_application == is_folder]

    def _suites(self, index: int) -> list[Suite]:
        """Return the suites of a device that are still to be run."""
        with self._lock:
            known = {one.suite for one in self.found if one.device == index}
        return [suite for suite in self._of_kind(index) if suite.name not in known]

    def _device(self, index: int) -> None:
        for suite in self._suites(index):
            if self._is_stopping:
                return
            place = self._output / f"device-{index}" / suite.name
            words = self.fleet.command(index, suite, place, self._permission)
            try:
                place.mkdir(parents=True, exist_ok=True)
                found = self._run(index, suite, words)
            except OSError as error:  # such as no more processes: the others are not stopped
                self._gate.arrive()
                found = Found(index, suite.name, {}, str(error)[:ERROR_CHARS_MAX])
            with self._lock:
                if not self._is_stopping:
                    self._journal.add(found.record)
                    self.found.append(found)
                    self._watch(f"device {index} {suite.name}", len(self.found) / self.count)

    def _run(self, index: int, suite: Suite, words: Sequence[str]) -> Found:
        guard = shutil.which("setpriv")
        # When this process is killed, what it began ends as by SIGTERM.
        prefix = [guard, "--pdeathsig", "TERM"] if guard else []
        with subprocess.Popen(  # noqa: S603 (no shell, our own program)
            [*prefix, *program(HELD), *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        ) as process:  # fmt: skip
            with self._lock:
                self._running.add(process)
                if self._is_stopping:  # it was begun in the same moment
                    process.send_signal(signal.SIGINT)
            began_s = self._let_go(process)
            said, complaint = self._communicate(process)
            ended_s = time.monotonic() - self.began
            with self._lock:
                self._running.discard(process)
        metrics: Mapping[str, float] = {}
        error, digest = None, ""
        if process.returncode:
            lines = [line for line in complaint.splitlines() if line.strip()]
            error = " ".join(lines[-1:])[:ERROR_CHARS_MAX] or f"exit code {process.returncode}"
        else:
            try:
                metrics, digest = _numbers(said, suite)
            except (ValueError, KeyError, TypeError) as problem:
                error = f"the command did not print its document: {problem!r}"[:ERROR_CHARS_MAX]
        return Found(index, suite.name, metrics, error, digest, began_s, ended_s)

    def _let_go(self, process: subprocess.Popen[str]) -> float:
        """Let a command begin, together with those of other devices; return when it began."""
        if process.stdin is None or process.stdout is None:
            raise TypeError("a command without input and output")
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            end = time.monotonic() + READY_S
            while not self._is_stopping and time.monotonic() < end:
                if selector.select(LOOK_S):
                    process.stdout.readline()  # that it is ready; nothing from one that ended
                    break
        self._gate.arrive()
        self._gate.wait(lambda: self._is_stopping)
        began_s = time.monotonic() - self.began
        if self._is_stopping:  # the end of its input ends it
            return began_s
        with contextlib.suppress(OSError):  # it has ended, and says why
            process.stdin.write(GO)
            process.stdin.flush()
        return began_s

    def _communicate(self, process: subprocess.Popen[str]) -> tuple[str, str]:
        """Return what a process wrote, in the end; one that was told to end, and does not, ends."""
        while not self._is_stopping:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.communicate(timeout=1.0)
        for patience, last in zip(PATIENCE_S, (signal.SIGINT, signal.SIGKILL), strict=True):
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.communicate(timeout=patience)
            process.send_signal(last)
        return process.communicate()

    def _stop(self) -> None:
        """End what runs, as Ctrl-C would: what it holds open is closed and removed."""
        with self._lock:
            self._is_stopping = True
            for process in self._running:
                process.send_signal(signal.SIGINT)


def _is_folder(target: str) -> bool:
    return target.startswith("dir:")


def _numbers(said: str, suite: Suite) -> tuple[Mapping[str, float], str]:
    """Return the numbers and the digest of the document that a command printed."""
    document = json.loads(said)
    if suite.is_application:
        return applications.figures(document), str(document["digest"])
    return dict(numbers(document["results"])), str(document["digest"])


def _place(target: str) -> str:
    """Return where a target is, the same for two ways of writing one path."""
    kind, _, rest = target.partition(":")
    if kind in {"dir", "file"}:
        return os.path.realpath(rest.partition("?")[0] if kind == "file" else rest)
    return os.path.realpath(target) if target.startswith("/dev/") else target


def _is_target(target: str) -> bool:
    prefixes = ("dir:", "file:", "nbd+unix://", "nbd://", "/dev/")
    return any(target.startswith(prefix) and target != prefix for prefix in prefixes)


def folder_name(name: str) -> str:
    """Return the name of a suite, under which each device has a folder.

    Raises:
        ConfigError: for a name that would lead elsewhere.
    """
    checked_name(name)
    if name in {".", ".."} or "/" in name or "\\" in name or "\0" in name:
        raise ConfigError("suites", f"`{name}` is a path; accepted: a name without slashes")
    return name


def _test_of(place: str, run: str) -> str:
    """Return the standard test that is run; empty for applications.

    Raises:
        ConfigError: for what cannot be run on targets.
    """
    verb, _, test = run.partition(".")
    if verb in {"chain", "power", "age"}:
        message = f"`{run}` is of simulated drives; accepted: app, and pts.TEST, which follow each "
        raise ConfigError(f"{place}.run", message + "other on one target in any case")
    if verb not in {"app", "pts"} or (verb == "pts") != bool(test):
        raise ConfigError(place, f"`{run}`; accepted: app, and pts.TEST")
    return test


def _suite(name: str, given: object) -> Suite:
    place = f"suites.{folder_name(name)}"
    if not isinstance(given, Mapping) or not isinstance(given.get("run"), str):
        raise ConfigError(place, f"`{given}` is not a suite; accepted: for example {{run: app}}")
    test = _test_of(place, given["run"])
    verb = "pts" if test else "app"
    unknown = next((key for key in given if key not in {"run", verb}), None)
    if unknown is not None:
        raise ConfigError(f"{place}.{unknown}", f"is unknown; accepted: run, {verb}")
    words = ["app", "run"] if verb == "app" else ["pts", test]
    for key, value in mapping_at(given, verb).items():
        if not isinstance(key, str) or not KEY.fullmatch(key):
            message = f"`{key}` is not an option; accepted: for example runs"
            raise ConfigError(f"{place}.{verb}", message)
        if key.replace("-", "_") in FORBIDDEN:
            raise ConfigError(f"{place}.{verb}.{key}", "is set by the fleet; leave it out")
        option = f"--{key.replace('_', '-')}"
        for one in value if isinstance(value, list) else [value]:
            if one is True:
                words.append(option)
            elif one is not False:
                # In one word, so that no value can be taken for an option.
                words.append(f"{option}={one}")
    return Suite(name, tuple(words))
