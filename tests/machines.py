"""A Dask cluster of processes on the loopback address, each of which can be killed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

LOOPBACK = ("--host", "127.0.0.1", "--no-dashboard")
START_S = 60


class Machines:
    """A scheduler and its workers, each a process of its own.

    Args:
        folder: Where they keep their files.
    """

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        self.folder = folder
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start("dask_scheduler", "--port", "0")

    def _start(self, module: str, *more: str) -> subprocess.Popen[bytes]:
        named = ("--scheduler-file", str(self.file))
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{module}", *LOOPBACK, *named, *more],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder,
        )  # fmt: skip

    def add_worker(self) -> None:
        """Start one more."""
        self.workers.append(self._start("dask_worker", "--no-nanny", "--nthreads", "1"))

    def kill_worker(self, number: int) -> None:
        """Kill one."""
        process = self.workers.pop(number)
        process.kill()
        process.wait(20)

    def address(self, workers: int) -> str:
        """Wait until so many workers are there."""
        from distributed import Client

        deadline = time.monotonic() + START_S
        while not self.file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        address = str(json.loads(self.file.read_text())["address"])
        with Client(address, timeout=30, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=START_S)
        return address

    def end(self) -> None:
        """Kill all of them."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait(20)
