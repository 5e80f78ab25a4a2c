"""The machine that a real target is measured on, as a report names it."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from opennandlab.base.threads import cores
from opennandlab.documents import pts_header
from opennandlab.targets.machine import board_facts
from opennandlab.targets.probe import Probe


def platform_facts() -> pts_header.Platform:
    """Return processor, memory, system, kernel and board; None or `unknown` for missing facts."""
    return {
        "cpu": _cpu(),
        "ram_bytes": _ram_bytes(),
        "os": _os(),
        "kernel": f"{platform.system()} {platform.release()}",
        **board_facts(Probe()),
    }


def _cpu() -> str | None:
    """Model of the first processor and how many this process may use."""
    model = platform.processor() or platform.machine()
    for line in _lines(Path("/proc/cpuinfo")):
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return f"{cores()} x {model}" if model else None


def _ram_bytes() -> int | None:
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return None


def _os() -> str | None:
    for line in _lines(Path("/etc/os-release")):
        if line.startswith("PRETTY_NAME="):
            return line.split("=", 1)[1].strip().strip('"')
    return None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def file_system_of(path: Path) -> str:
    """Return the type of the file system that holds a file, such as `ext4`."""
    device = path.stat().st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    kinds = []
    for line in _lines(Path("/proc/self/mountinfo")):
        before, _, after = line.partition(" - ")
        if before.split()[2] == wanted and after:
            kinds.append(after.split()[0])
    return kinds[-1] if kinds else "unknown"


def scheduler_of(device: int) -> str | None:
    """Return the I/O scheduler in use for a block device or the disk of a partition.

    Args:
        device: Its number, as `st_dev` or `st_rdev` gives it.
    """
    node = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    for queue in (node / "queue", node.resolve().parent / "queue"):
        for line in _lines(queue / "scheduler"):
            chosen = line.partition("[")[2].partition("]")[0]
            return chosen or line.strip()
    return None
