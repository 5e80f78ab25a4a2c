"""The fio binary: found, started, watched, ended.

fio runs in a process group of its own, so that Ctrl-C of the terminal reaches us alone: we ask fio
to stop (SIGINT), and after 0.1 s we make it (SIGKILL). Should this process be killed itself, the
kernel ends fio too, where `setpriv` of util-linux is installed. A process that moves no byte for
two minutes, or takes longer than its leg can, is stopped as hanging.

Output goes to a file, because fio prints notes before the JSON on its standard output. fio runs in
the folder of its files and is given their bare names, which are ours; see `names`.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from opennandlab.targets.base import TargetError

# The oldest version whose JSON we know: Debian 12's.
VERSION_MIN = (3, 33)
# How long fio has to stop by itself, so that Ctrl-C takes 0.2 s at most.
GRACE_S = 0.1
POLL_S = 0.02
# Longer than any drive's own timeout for one command (Linux: 30 s, retried).
STALL_S = 120.0
# Starting, opening and reporting, beyond the time that a leg itself takes.
MARGIN_S = 30.0
PROGRESS = re.compile(rb'"io_bytes" : (\d+)')
INSTALL = "install fio 3.33 or newer (Debian: apt install fio)"

# Called with the seconds that passed and the bytes moved as far as the output says.
Told = Callable[[float, int], None]


@dataclass(frozen=True)
class Fio:
    """A usable fio.

    Args:
        path: Of the binary.
        version: Such as `fio-3.33`.
    """

    path: str
    version: str


@dataclass(frozen=True)
class Files:
    """What one process of fio reads and writes, in one folder; it stays on disk.

    Args:
        job: The job file.
        output: fio's JSON.
        messages: What else it printed.
    """

    job: Path
    output: Path
    messages: Path


@dataclass(frozen=True)
class Terms:
    """How a job file is run.

    Args:
        seconds_max: The most that the job itself can take; None when only its size ends it.
        status_s: How often fio writes its counters into the output; None for at the end only.
        readonly: Whether fio refuses to write, whatever the job file says.
        tells_clock: Whether fio says in its output which clock it measures with.
    """

    seconds_max: float | None = None
    status_s: float | None = None
    readonly: bool = False
    tells_clock: bool = False


def find_fio(name: str = "fio") -> Fio:
    """Find fio on the search path and check its version.

    Raises:
        TargetError: when there is none, when it does not start, and when it is too old.
    """
    path = _program(name)
    if path is None:
        raise TargetError(f"{name} was not found: real targets run through it; {INSTALL}")
    try:
        shown = subprocess.run(  # noqa: S603 (a path that `which` found)
            [path, "--version"], capture_output=True, text=True, timeout=MARGIN_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TargetError(f"{path} does not start: {error}; {INSTALL}") from error
    version = shown.stdout.strip()
    found = re.match(r"fio-(\d+)\.(\d+)", version)
    if found is None:
        raise TargetError(f"{path} --version says {version[:60]!r}, which is not fio; {INSTALL}")
    if (int(found[1]), int(found[2])) < VERSION_MIN:
        raise TargetError(f"{path} is {version}, which is too old; {INSTALL}")
    return Fio(path, version)


def _program(name: str) -> str | None:
    """Return a program's absolute path: it starts in another folder than ours."""
    path = shutil.which(name)
    return None if path is None else str(Path(path).absolute())


@functools.cache
def _guard(setpriv: str | None) -> tuple[str, ...]:
    """Return what goes before a command that is to end with us; that of busybox cannot do it."""
    if setpriv is None:
        return ()
    command = (setpriv, "--pdeathsig", "KILL")
    tried = subprocess.run([*command, "true"], check=False, capture_output=True)  # noqa: S603
    return () if tried.returncode else command


def run_fio(fio: Fio, files: Files, terms: Terms, watch: Told) -> int:
    """Run a job file to its end and return fio's exit status.

    Args:
        fio: The binary.
        files: The job file, which exists, and where its output goes.
        terms: How it runs.
        watch: Called about every 0.1 s.

    Raises:
        TargetError: when fio hangs.
        KeyboardInterrupt: on Ctrl-C; fio is stopped then.
    """
    command = [fio.path, f"--output={files.output.name}", "--output-format=json+"]
    if terms.status_s is not None:
        command.append(f"--status-interval={max(1, round(terms.status_s * 1e3))}ms")
    if terms.readonly:
        command.append("--readonly")
    if terms.tells_clock:
        command.append("--debug=time")
    prefix = _guard(_program("setpriv"))
    with files.messages.open("wb") as messages:
        process = subprocess.Popen(  # noqa: S603 (a path that `which` found)
            [*prefix, *command, files.job.name],
            cwd=files.job.parent,
            stdin=subprocess.DEVNULL,
            stdout=messages,
            stderr=messages,
            start_new_session=True,
        )
        try:
            return _follow(process, files, terms.seconds_max, watch)
        finally:
            stop(process)


def _follow(
    process: subprocess.Popen[bytes],
    files: Files,
    seconds_max: float | None,
    watch: Told,
) -> int:
    """Wait for the end, telling how far it is; complain when it hangs."""
    began = moved_at = time.monotonic()
    moved, told, pause = 0, 0.0, 0.005
    tail = _Tail(files.output)
    while True:
        # Short legs end early, long ones need no quick look.
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(pause)
        pause = min(POLL_S, pause * 1.5)
        now = time.monotonic()
        if now - told < 0.1:
            continue
        told = now
        seen = tail.bytes_moved()
        if seen != moved:
            moved, moved_at = seen, now
        watch(now - began, moved)
        limit = None if seconds_max is None else seconds_max * 1.1 + MARGIN_S
        if limit is not None and now - began > limit:
            raise TargetError(
                f"fio did not end within {limit:.0f} s and was stopped; job file: {files.job}"
            )
        if seconds_max is None and now - moved_at > STALL_S:
            raise TargetError(
                f"no byte moved in {STALL_S:.0f} s, fio was stopped; job file: {files.job}"
            )


class _Tail:
    """The counters at the end of a growing output."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = -1
        self._moved = 0

    def bytes_moved(self) -> int:
        """Return reads plus writes of the last complete status, 0 before the first one."""
        try:
            size = self._path.stat().st_size
            if size == self._size:
                return self._moved
            with self._path.open("rb") as stream:
                stream.seek(max(0, size - (256 << 10)))
                text = stream.read()
        except OSError:
            return self._moved
        self._size = size
        # The last status that has ended, with each job's reads, writes and trims.
        whole = text[: text.rfind(b"\n}") + 1]
        begin = whole.rfind(b'{\n  "fio version"')
        if begin >= 0:
            self._moved = sum(int(found) for found in PROGRESS.findall(whole, begin))
        return self._moved


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process group: by asking, then by force; at once when it has ended already."""
    if process.poll() is not None:
        return
    _signal(process, signal.SIGINT)
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGKILL)
        # A process that waits for a dead device stays until the kernel gives up: not our wait.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S / 2)


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
