"""What tests of real drives make for themselves: NBD servers, and loop devices of their own files.

Nothing here waits by the clock: a server is given a socket that listens already, and one that is
ended is gone when the call returns. A loop device is let go by the name that `losetup` gave.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest

needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
needs_nbdkit = pytest.mark.skipif(shutil.which("nbdkit") is None, reason="nbdkit is not installed")

# Hands over a socket as systemd does.
SERVE = 'exec 3<&0 0</dev/null; export LISTEN_FDS=1 LISTEN_PID=$$; exec nbdkit "$@"'


@dataclass(frozen=True)
class Server:
    """An NBD server that runs.

    Args:
        uri: Address of its export.
        process: The server.
    """

    uri: str
    process: subprocess.Popen[bytes]

    def kill(self) -> None:
        """End it at once, and wait until it is gone."""
        self.process.kill()
        self.process.wait()


Serve = Callable[..., Server]
Attach = Callable[[Path], str]


@contextmanager
def servers(folder: Path) -> Iterator[Serve]:
    """Yield what starts a server: options of nbdkit, and the name of its socket."""
    started: list[Server] = []

    def serve(*options: str, name: str | None = None) -> Server:
        path = folder / (name or f"{len(started)}.sock")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen()
            command = ["sh", "-c", SERVE, "sh", "--foreground", *options]
            process = subprocess.Popen(command, stdin=listener)
        started.append(Server(f"nbd+unix:///?socket={quote(str(path))}", process))
        return started[-1]

    try:
        yield serve
    finally:
        for server in started:
            server.kill()


@contextmanager
def loop_devices(folder: Path) -> Iterator[Attach]:
    """Yield what makes a loop device of a file below `folder`, or skips the test."""
    made: list[str] = []

    def attach(image: Path) -> str:
        is_device = image.is_block_device() and str(image) in made
        assert is_device or folder in image.parents, "only what the test made itself"
        if shutil.which("losetup") is None or os.geteuid() != 0:
            pytest.skip("loop devices need root and losetup")
        command = ["losetup", "--find", "--show", str(image)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no loop device can be made: {done.stderr.strip()}")
        made.append(done.stdout.strip())
        return made[-1]

    try:
        yield attach
    finally:
        for name in reversed(made):
            subprocess.run(["losetup", "--detach", name], check=True)
