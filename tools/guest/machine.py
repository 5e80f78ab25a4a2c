"""The two sides: a drive that is served, and the guest that uses it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from guest import parts
from guest.image import initramfs

# What the guest calls this machine's loopback.
ADDRESS = "10.0.2.2"
STOP_S = 60


class Server:
    """A drive of this machine's loopback; its document is there when it has ended.

    Args:
        folder: Where it keeps its files.
        options: Of `serve`, besides those of the door.
        port: To listen on; 0 for a free one.
    """

    def __init__(self, folder: Path, *options: str, port: int = 0) -> None:
        """Start it, and wait until it is ready."""
        self.folder = folder
        self.document: dict[str, Any] = {}
        self._result = folder / "served.json"
        command = [
            sys.executable, "-m", "opennandlab", "serve", "--nvme", f"127.0.0.1:{port}",
            "--result", str(self._result), *options,
        ]  # fmt: skip
        with (folder / "served.log").open("a") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        line = self.process.stdout.readline() if self.process.stdout else ""
        ready = re.fullmatch(r"ready nvme\+tcp://127\.0\.0\.1:(\d+)/(\S+)\n", line)
        if ready is None:
            self.end()
            raise RuntimeError(f"serve {' '.join(options)}: {line}{self.said()}")
        self.port, self.nqn = int(ready[1]), ready[2]

    def end(self) -> None:
        """Stop it as a user would, and read what it says of the drive."""
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(STOP_S)
        if self._result.exists():
            self.document = json.loads(self._result.read_text())

    def said(self) -> str:
        """Return what it printed as errors."""
        return (self.folder / "served.log").read_text()

    def kill(self) -> None:
        """End it at once: nothing is saved."""
        self.process.kill()
        self.process.wait(STOP_S)


@dataclass(frozen=True)
class Kit:
    """What a guest has besides busybox, nvme and a network.

    Args:
        programs: By name.
        modules: By name, each behind those that it needs.
        files: More files, by their path without a slash before it.
        memory_mb: Its memory.
        cpu: A processor that QEMU knows.
        more: Further options of QEMU.
    """

    programs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    memory_mb: int = 512
    cpu: str = "max"
    more: tuple[str, ...] = ()


class Guest:
    """A running guest; what it prints is kept in a file.

    Args:
        folder: Where its files are.
        script: What it does.
        settings: Variables of the script, by name.
        kit: What it has.
    """

    def __init__(self, folder: Path, script: str, settings: Mapping[str, object], kit: Kit) -> None:
        """Start it."""
        self._console = folder / "console.log"
        first = folder / "initramfs"
        held = initramfs(script, settings, kit.programs, kit.modules, kit.files)
        first.write_bytes(held)
        command = [
            parts.QEMU, "-accel", "tcg", "-cpu", kit.cpu, "-m", str(kit.memory_mb), "-smp", "2",
            "-display", "none", "-nodefaults", "-no-reboot", "-serial", "stdio",
            "-kernel", str(parts.kernel()), "-initrd", str(first),
            "-append", "console=ttyS0 quiet panic=1", "-netdev", "user,id=n0",
            "-device", "virtio-net-pci,netdev=n0,romfile=", *kit.more,
        ]  # fmt: skip
        with self._console.open("wb") as console:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=console)

    @property
    def console(self) -> str:
        """What was printed so far."""
        return self._console.read_text(errors="replace").replace("\r", "")

    def wait_for(self, text: str, limit_s: float = 60) -> None:
        """Wait until the guest has printed a text.

        Raises:
            TimeoutError: when it does not, or has ended.
        """
        ends = time.monotonic() + limit_s
        while text not in self.console:
            if time.monotonic() > ends or self.process.poll() is not None:
                if text in self.console:
                    return
                raise TimeoutError(f"the guest did not print `{text}`; last: {self.console[-300:]}")
            time.sleep(0.1)

    def say(self, line: str) -> None:
        """Send a line, which `hear` of a script waits for."""
        keyboard: IO[bytes] | None = self.process.stdin
        if keyboard is not None:
            keyboard.write(line.encode() + b"\n")
            keyboard.flush()

    def kill(self) -> None:
        """Take its power away."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(STOP_S)

    def end(self, limit_s: float = 300) -> str:
        """Wait for its end; return what it printed.

        Raises:
            Skipped: when its script found that it cannot be tried.
        """
        try:
            self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.kill()
        reason = re.search(r"^== skip (.*)", self.console, re.MULTILINE)
        if reason is not None:
            raise parts.Skipped(reason[1])
        return self.console
