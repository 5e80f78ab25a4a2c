"""The memory of this machine: whether a device fits, asked before it is built, and what it took.

What the machine has left, what a container has left of its share, and what the process has left of
its address space (`ulimit -v`) are all limits; where none can be known, nothing is refused.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from opennandlab.base.errors import ConfigError
from opennandlab.base.words import size
from opennandlab.core.config import DeviceConfig


def check_memory(device: DeviceConfig) -> None:
    """Refuse a device that does not fit the memory of this machine, before allocating it.

    Raises:
        ConfigError: with the memory needed and the memory available.
    """
    needs = int(device.effective["memory_bytes"])
    available = available_bytes()
    if available is not None and needs > available:
        pages = device.effective["physical_pages"]
        raise ConfigError(
            "nand",
            f"this device has {pages} pages and needs {size(needs)} of memory ({needs} bytes); "
            f"{size(available)} are available here: use fewer blocks, or larger pages",
        )


def available_bytes() -> int | None:
    """Return the memory that this process may still take, or None where it cannot be known."""
    amounts = (_free_memory(), _free_share(), _free_address_space())
    found = [amount for amount in amounts if amount is not None]
    return max(0, min(found)) if found else None


def available_beside(device: DeviceConfig) -> int | None:
    """Return what is left of the available memory once a device is built; None if not known."""
    available = available_bytes()
    return None if available is None else max(0, available - int(device.effective["memory_bytes"]))


def _free_memory() -> int | None:
    """Return the free memory of the machine."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    line = re.search(r"^MemAvailable: *(\d+) kB$", text, re.MULTILINE)
    return int(line.group(1)) * 1024 if line else None


def _free_share() -> int | None:
    """Return what a container has left of its share (cgroup version 2)."""
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii")
        return None if limit == "max" else int(limit) - int(used)
    except (OSError, ValueError):
        return None


def _free_address_space() -> int | None:
    """Return what the process has left of its address space; None without a limit."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit == resource.RLIM_INFINITY:
            return None
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        return limit - pages * resource.getpagesize()
    except (ImportError, OSError):  # no limits on Windows, no such file elsewhere
        return None


def peak_rss_bytes() -> int | None:
    """Return the most memory that this process ever held; None where it is not counted."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
