"""The one door to what the system says of block devices, so that tests can show another system.

Reads come from /sys and /proc below `root`; tools are called by name when they are installed, and
their absence is an answer, not an error. Nothing here changes a device but `act`, which the purge
and the cache setting use after the safety gate.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import signal
import stat
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

# linux/loop.h: struct loop_info64 begins with device, inode and number of what it is made of.
LOOP_GET_STATUS64 = 0x4C05
LOOP_INFO_BYTES = 232
# A tool that only reads answers at once or not at all.
ASK_S = 20.0


@dataclass(frozen=True)
class Answer:
    """What a tool said.

    Args:
        code: Its exit status; 124 when it took too long.
        text: Its standard output.
        errors: Its standard error.
    """

    code: int
    text: str
    errors: str = ""


class Probe:
    """The running system.

    Args:
        root: Where /sys and /proc are found.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        """Look below `root`."""
        self.root = root

    def text(self, path: str) -> str | None:
        """Return a file's text without the line end; None when there is none."""
        try:
            raw = (self.root / path.lstrip("/")).read_bytes()
        except OSError:
            return None
        return raw.decode("utf-8", errors="replace").strip("\0 \n\t")

    def number(self, path: str) -> int | None:
        """Return a file's whole number; None when there is none."""
        try:
            return int(self.text(path) or "")
        except ValueError:
            return None

    def names(self, path: str) -> list[str]:
        """Return what a folder holds, sorted; nothing when there is none."""
        try:
            return sorted(entry.name for entry in (self.root / path.lstrip("/")).iterdir())
        except OSError:
            return []

    def link(self, path: str) -> str:
        """Return where a link leads; nothing when it is none."""
        try:
            return str((self.root / path.lstrip("/")).readlink())
        except OSError:
            return ""

    def status(self, path: str) -> os.stat_result | None:
        """Return what is at a path, links followed; None when there is nothing."""
        try:
            return (self.root / path.lstrip("/")).stat()
        except (OSError, ValueError):
            return None

    def is_loop_over(self, name: str, found: os.stat_result) -> bool:
        """Ask a loop device itself what it is made of: a path may lead elsewhere by now."""
        try:
            handle = os.open(f"/dev/{name}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            answer = fcntl.ioctl(handle, LOOP_GET_STATUS64, bytes(LOOP_INFO_BYTES))
        except OSError:
            return False
        finally:
            os.close(handle)
        device, inode, number = struct.unpack_from("QQQ", answer)
        if stat.S_ISBLK(found.st_mode):
            return bool(number == found.st_rdev)
        return (device, inode) == (found.st_dev, found.st_ino)

    def kernel_name(self, path: str | int) -> str | None:
        """Return the kernel's name of a block device, such as `nvme0n1`; None for anything else.

        Args:
            path: Path of the device, or the handle of an open one.

        Raises:
            OSError: when there is nothing at that path.
        """
        found = os.stat(path)  # noqa: PTH116 (also a handle)
        if not stat.S_ISBLK(found.st_mode):
            return None
        number = f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"
        return Path(self.root / "sys/dev/block" / number).resolve().name

    def has(self, tool: str) -> bool:
        """Return whether a tool is installed."""
        return self._which(tool) is not None

    def ask(self, *command: str) -> Answer | None:
        """Call a tool that only reads; None when it is not installed."""
        path = self._which(command[0])
        if path is None:
            return None
        return self._called(path, command, ASK_S, f"no answer in {ASK_S:.0f} s")

    def act(self, *command: str, seconds_max: float) -> Answer:
        """Call a tool that changes a device, and wait for it.

        It runs in a session of its own: Ctrl-C ends our waiting and the tool, though not what the
        device has begun.
        """
        path = self._which(command[0]) or command[0]
        late = f"{command[0]} took longer than {seconds_max:.0f} s"
        return self._called(path, command, seconds_max, late)

    @staticmethod
    def _called(path: str, command: tuple[str, ...], seconds_max: float, late: str) -> Answer:
        """Call a tool in a session of its own, and end with it whatever it has begun."""
        try:
            process = subprocess.Popen(  # noqa: S603 (no shell, a tool that was found)
                [path, *command[1:]],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            return Answer(126, "", f"{path}: {error.strerror}")
        with process:
            try:
                text, errors = process.communicate(timeout=seconds_max)
            except BaseException as why:
                with contextlib.suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
                if isinstance(why, subprocess.TimeoutExpired):
                    return Answer(124, "", late)
                raise
        return Answer(process.returncode, text, errors)

    def write(self, path: str, text: str) -> bool:
        """Write a setting below /sys; return whether the kernel took it."""
        try:
            (self.root / path.lstrip("/")).write_text(text, encoding="ascii")
        except OSError:
            return False
        return True

    def wait(self, seconds: float) -> None:
        """Let time pass between two questions."""
        time.sleep(seconds)

    def hold(self, path: str) -> int:
        """Open a block device so that nobody else can mount it or take it; return the handle.

        Raises:
            OSError: EBUSY when it is in use.
        """
        return os.open(path, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)

    def release(self, handle: int) -> None:
        """Close what `hold` opened."""
        with contextlib.suppress(OSError):
            os.close(handle)

    def in_use(self, path: str) -> str | None:
        """Return why a block device cannot be held; None when it can."""
        try:
            # For reading: closing after writing would make udev look at the device again.
            handle = os.open(path, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC)
        except OSError as error:
            if error.errno == errno.EBUSY:
                return "it is in use: the kernel refuses to open it exclusively"
            return f"it cannot be opened: {error.strerror}"
        self.release(handle)
        return None

    def _which(self, tool: str) -> str | None:
        # Tools for devices live where a user's search path may not look.
        path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
        return shutil.which(tool, path=path)
