"""The memory of this machine: whether a device fits, asked before it is built, and what it took.

What the machine has left and what a container has left of its share are both limits; where neither
can be known, nothing is refused.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from opennandlab.config import DeviceConfig
from opennandlab.errors import ConfigError
from opennandlab.summary import size


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
    found = [amount for amount in (_free_memory(), _free_share()) if amount is not None]
    return max(0, min(found)) if found else None


def _free_memory() -> int | None:
    """Return what the machine has left."""
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


def peak_rss_bytes() -> int | None:
    """Return the most memory that this process ever held; None where it is not counted."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
