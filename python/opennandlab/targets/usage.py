"""Who else uses a file or a device: swap, loop devices over it, processes that may write to it.

The kernel's exclusive open finds mounts, arrays and mappers, but neither a loop device (a file
system may be mounted through one) nor a program that opened the device plainly, as databases and
virtual machines do. These are looked for here, by number and inode, never by name alone.

What cannot be seen: processes of other users, unless we are root; a mapping that outlived its file
handle; users inside the kernel that show no handle, such as an exported NFS file or a ZFS pool made
of files.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable

from opennandlab.targets.names import printable, same_file
from opennandlab.targets.probe import Probe

# Access modes of /proc/PID/fdinfo that write: O_WRONLY and O_RDWR.
WRITING = {os.O_WRONLY, os.O_RDWR}
WRITERS_NAMED_MAX = 3


def unescaped(text: str) -> str:
    r"""Read a path as the kernel writes it: a space is `\040`."""
    return re.sub(r"\\(\d{3})", lambda found: chr(int(found[1], 8)), text)


def swap_names(probe: Probe) -> list[str]:
    """Return the paths of swap devices and files."""
    lines = (probe.text("/proc/swaps") or "").splitlines()[1:]
    return [unescaped(line.split()[0]) for line in lines if line.split()]


def loops_over(found: os.stat_result, probe: Probe) -> list[str]:
    """Return the loop devices made of a file or device, by the kernel's names."""
    return [
        name
        for name in probe.names("/sys/class/block")
        if (path := probe.text(f"/sys/class/block/{name}/loop/backing_file")) is not None
        and (probe.is_loop_over(name, found) or _is_at(path, found, probe))
    ]


def loops_over_devices(names: Iterable[str], probe: Probe) -> list[str]:
    """Return the loop devices made of block devices, all by the kernel's names."""
    over = []
    for name in names:
        node = probe.status(device_node(name))
        over += loops_over(node, probe) if node is not None else []
    return over


def device_node(name: str) -> str:
    """Return the path of a device: the kernel writes a slash in a name as `!`."""
    return f"/dev/{name.replace('!', '/')}"


def writers(found: os.stat_result, probe: Probe) -> list[str]:
    """Return the processes that hold a file or device open for writing, as `4711 (postgres)`."""
    own = str(os.getpid())
    return [
        f"{pid} ({printable(probe.text(f'/proc/{pid}/comm') or 'unknown')})"
        for pid in probe.names("/proc")
        if pid.isdecimal() and pid != own and _writes(pid, found, probe)
    ]


def use_of_file(found: os.stat_result, probe: Probe) -> list[str]:
    """Return everything that speaks against overwriting a regular file."""
    reasons = [f"/dev/{name} is made of it" for name in loops_over(found, probe)]
    if any(_is_at(name, found, probe) for name in swap_names(probe)):
        reasons.append("it is used as swap")
    return reasons + use_by_writers(found, probe)


def use_by_writers(found: os.stat_result, probe: Probe) -> list[str]:
    """Return the objection against a file or device that others may write to, if there is one."""
    named = writers(found, probe)
    if not named:
        return []
    more = ", …" if len(named) > WRITERS_NAMED_MAX else ""
    return [f"open for writing in process {', '.join(named[:WRITERS_NAMED_MAX])}{more}"]


def _writes(pid: str, found: os.stat_result, probe: Probe) -> bool:
    """Return whether a process holds a file or device open for writing."""
    for handle in probe.names(f"/proc/{pid}/fd"):
        place = f"/proc/{pid}/fd/{handle}"
        # Pipes, sockets and the like are none; a file on a server that is gone is not asked for.
        if not probe.link(place).startswith("/"):
            continue
        facts = probe.text(f"/proc/{pid}/fdinfo/{handle}") or ""
        flags = re.search(r"^flags:\s*([0-7]+)", facts, re.MULTILINE)
        if flags is None or int(flags[1], 8) & os.O_ACCMODE not in WRITING:
            continue
        if _is_at(place, found, probe):
            return True
    return False


def _is_at(path: str, found: os.stat_result, probe: Probe) -> bool:
    other = probe.status(path)
    if other is None or stat.S_IFMT(other.st_mode) != stat.S_IFMT(found.st_mode):
        return False
    return same_file(other, found)
