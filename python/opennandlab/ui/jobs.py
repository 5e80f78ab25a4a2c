"""What was started from a page: one worker process at a time, the rest waits in a queue.

A sweep takes all cores by itself, so two at once would only get in each other's way. The worker
writes the store; here is only what it says of its progress.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opennandlab.base.errors import OpenNandLabError
from opennandlab.policies.source import program
from opennandlab.ui.pages import address

QUEUE_MAX = 20
# Ended ones that are still listed.
ENDED_MAX = 20
# How long a worker may take to end when it is told to, before it is killed.
GRACE_S = 5.0
SAID_CHARS_MAX = 2000
ACTIVE = ("queued", "running")


class BusyQueueError(OpenNandLabError):
    """More was asked for than waits in a queue."""


@dataclass
class Job:
    """One sweep that was started here, or a point that is checked.

    Args:
        number: Number of the job, from 1.
        name: Name of the sweep.
        sweep: What is run, with the keys of a sweep file; of a point, its key and how, as `check`.
        retry: Whether points that failed before are run again.
        state: `queued`, `running`, `done`, `failed` or `stopped`.
        progress: What the worker said last.
        message: Why it failed.
        began: When it began, s; 0 before.
    """

    number: int
    name: str
    sweep: dict[str, Any]
    retry: bool = False
    state: str = "queued"
    progress: dict[str, Any] = field(default_factory=dict)
    message: str = ""
    began: float = 0.0
    process: subprocess.Popen[str] | None = field(default=None, repr=False)

    @property
    def is_active(self) -> bool:
        """Whether the job runs or waits."""
        return self.state in ACTIVE

    @property
    def page(self) -> str:
        """Where its progress is."""
        check = self.sweep.get("check")
        return address("/run", key=check["key"]) if check else address("/sweep", name=self.name)


class Jobs:
    """The jobs of this server.

    Args:
        store: Folder of the store.
        tell: Called whenever a job has changed, from any thread.
        jobs: Points at a time in a worker; None for all cores.
    """

    def __init__(self, store: Path, tell: Callable[[], None], jobs: int | None = None) -> None:
        """Begin with none."""
        self._store = store
        self._tell = tell
        self._jobs = jobs
        self._lock = threading.RLock()
        self._all: list[Job] = []
        self._count = 0
        self._is_over = False
        self._follower: threading.Thread | None = None

    def start(self, sweep: dict[str, Any], *, retry: bool = False) -> Job:
        """Run a sweep, as soon as those before it are done.

        Raises:
            BusyQueueError: when too many wait, or one of this name does.
        """
        name = str(sweep["name"])
        with self._lock:
            waiting = [job for job in self._all if job.is_active]
            if any(job.name == name for job in waiting):
                raise BusyQueueError(f"`{name}` is under way; accepted: when it has ended")
            if len(waiting) >= QUEUE_MAX or self._is_over:
                raise BusyQueueError(f"{len(waiting)} sweeps wait; accepted: {QUEUE_MAX}")
            self._count += 1
            job = Job(self._count, name, sweep, retry)
            self._all.append(job)
            self._next()
        self._tell()
        return job

    def stop(self, name: str) -> bool:
        """End a sweep as Ctrl-C would; return whether there was one."""
        with self._lock:
            job = next((one for one in self._all if one.name == name and one.is_active), None)
            if job is None:
                return False
            if job.process is None:
                job.state = "stopped"
            else:
                _interrupt(job.process)
        self._tell()
        return True

    def of(self, name: str) -> Job | None:
        """Return the last job of a name."""
        with self._lock:
            return next((one for one in reversed(self._all) if one.name == name), None)

    @property
    def listed(self) -> list[Job]:
        """All jobs that are remembered, the newest first."""
        with self._lock:
            return list(reversed(self._all))

    def end(self) -> None:
        """End all workers; what they have done is in the store."""
        with self._lock:
            self._is_over = True
            running = [job.process for job in self._all if job.process is not None]
            for job in self._all:
                if job.state == "queued":
                    job.state = "stopped"
        for process in running:
            _interrupt(process)
        until = time.monotonic() + GRACE_S
        for process in running:
            _await(process, max(0.1, until - time.monotonic()))
        if self._follower is not None:
            self._follower.join(GRACE_S)

    def _next(self) -> None:
        """Begin the next job where none runs."""
        if self._is_over or any(job.state == "running" for job in self._all):
            return
        job = next((one for one in self._all if one.state == "queued"), None)
        if job is None:
            return
        ended = [one for one in self._all if not one.is_active]
        for old in ended[: max(0, len(ended) - ENDED_MAX)]:
            self._all.remove(old)
        job.state, job.began = "running", time.monotonic()
        try:
            job.process = subprocess.Popen(  # noqa: S603 (no shell, our own program)
                program("opennandlab.ui.worker"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                errors="replace",
                # Ctrl-C at the terminal ends the server, which ends the worker in its turn.
                start_new_session=True,
            )
        except OSError as error:
            job.state, job.message = "failed", f"no worker can be started: {error}"
            return
        self._follower = threading.Thread(target=self._follow, args=(job, job.process), daemon=True)
        self._follower.start()

    def _follow(self, job: Job, process: subprocess.Popen[str]) -> None:
        """Read what a worker says until it has ended."""
        request = {"store": str(self._store), "sweep": job.sweep, "retry": job.retry,
                   "jobs": self._jobs}  # fmt: skip
        said = ""
        try:
            if process.stdin is not None and process.stdout is not None:
                with contextlib.suppress(OSError):
                    process.stdin.write(json.dumps(request) + "\n")
                    process.stdin.flush()
                for text in process.stdout:
                    try:
                        self._take(job, json.loads(text))
                    except (ValueError, TypeError, AttributeError):
                        said = (said + text)[-SAID_CHARS_MAX:]
                    self._tell()
        finally:
            code = process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            with self._lock:
                if job.state == "running":
                    job.state = "failed"
                    last = said.strip().splitlines()[-1:]
                    job.message = "".join(last) or f"the worker ended with {code}"
                job.process = None
                self._next()
            self._tell()

    def _take(self, job: Job, line: dict[str, Any]) -> None:
        with self._lock:
            job.progress = {**job.progress, **line}
            if line.get("event") == "end":
                job.state = str(line["state"])
                job.message = str(line.get("message", ""))


def _interrupt(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(OSError):
        process.terminate()


def _await(process: subprocess.Popen[str], seconds: float) -> None:
    """Wait for the end of a process, and kill it where it takes longer."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
