"""How a served drive becomes a block device of this machine, and how it goes away again.

```text
kernel NBD ── nbd-client ──► /dev/nbdN
ublk ──────── nbdublk ─────► /dev/ublkbN
else ──────── nbdfuse, losetup --direct-io ──► /dev/loopN
```
A recipe is a list of commands with the commands that undo them. What was carried out is kept in a
state file, which names device, mount point and process; only what stands in one is taken down, and
only while the device is still the one that was made.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from opennandlab.base.errors import ConfigError, OutputError, WriteError
from opennandlab.base.files import write_atomically

FILE_SYSTEMS: Final = ("ext4", "xfs", "btrfs", "f2fs", "exfat")
WAIT_S: Final = 30.0
COMMAND_S: Final = 300.0
END_S: Final = 5.0


@dataclass(frozen=True)
class Attached:
    """What was made, so that it can be taken down.

    Args:
        socket: Socket of the server.
        file: File as which FUSE shows the drive.
        device: The loop device.
        mount: Its mount point; None if it is not mounted.
        pid: Process of `nbdfuse`.
    """

    socket: str
    file: str
    device: str
    mount: str | None
    pid: int


@dataclass(frozen=True)
class Recipe:
    """Commands in order, and those that undo them in order.

    Args:
        way: `nbd`, `ublk` or `fuse`.
        reason: Why this way was chosen.
        up: Commands that attach.
        down: Commands that detach.
    """

    way: str
    reason: str
    up: list[str]
    down: list[str]


def uri(socket: Path) -> str:
    """Return where clients find a server."""
    return f"nbd+unix:///?socket={quote(os.fspath(socket.absolute()), safe='/')}"


def recipe(socket: Path, mount: Path | None, fs: str) -> Recipe:
    """Choose the recipe for this machine.

    Args:
        socket: Socket of the server.
        mount: Where to mount a file system; None for the bare device.
        fs: One of `FILE_SYSTEMS`; the kernel must have it to mount it.

    Raises:
        ConfigError: for another file system.
    """
    if fs not in FILE_SYSTEMS:
        raise ConfigError("fs", f"`{fs}`; accepted: {', '.join(FILE_SYSTEMS)}")
    path = shlex.quote(str(socket.absolute()))
    if Path("/sys/module/nbd").exists() and shutil.which("nbd-client"):
        way, reason, device = "nbd", "the kernel has NBD, and nbd-client is here", "/dev/nbd0"
        up = [f"nbd-client -unix {path} {device}"]
        down = [f"nbd-client -d {device}"]
    elif Path("/dev/ublk-control").exists() and shutil.which("nbdublk"):
        way, reason, device = "ublk", "the kernel has ublk, and nbdublk is here", "/dev/ublkb0"
        up = [f"nbdublk {device} '{uri(socket)}' &"]
        down = [f"ublk del -n {device.removeprefix('/dev/ublkb')}"]
    else:
        way, reason, device = "fuse", "neither NBD nor ublk in the kernel", "/dev/loopN"
        file = shlex.quote(f"{socket.absolute()}.disk")
        up = [
            f"touch {file}",
            f"nbdfuse {file} '{uri(socket)}' &",
            f"losetup --find --show --direct-io=on {file}   # prints the device",
        ]
        down = _loop_down(device, f"{socket.absolute()}.disk")
    if mount is not None:
        place = shlex.quote(str(mount))
        up += [f"mkfs.{fs} {device}   # unless it has one already", f"mount {device} {place}"]
        down.insert(0, f"umount {place}")
    return Recipe(way, reason, up, down)


def commands_down(made: Attached) -> list[str]:
    """Return the commands that take down what `attach` made, for a shell.

    >>> commands_down(Attached("s", "s.disk", "/dev/loop7", "/mnt/my drive", 1))[0]
    "umount '/mnt/my drive'"
    """
    mounted = [] if made.mount is None else [shlex.join(("umount", made.mount))]
    return mounted + _loop_down(made.device, made.file)


def _loop_down(device: str, file: str) -> list[str]:
    commands = ("losetup", "--detach", device), ("umount", file), ("rm", file)
    return [shlex.join(command) for command in commands]


def attach(socket: Path, mount: Path | None, fs: str) -> Attached:
    """Carry out the recipe of FUSE and a loop device, which every Linux with both can.

    The file system is made on the device that was made here, after a look that it is that one. What
    was done is undone when a step fails.

    Raises:
        ConfigError: for a file system that is not known, or a drive that is attached already.
        OutputError: when a command fails, and what it said.
    """
    recipe(socket, mount, fs)  # which checks the file system
    if state_of(socket) is not None:
        raise ConfigError("socket", f"{socket} is attached already: `detach` it first")
    file = Path(f"{socket.absolute()}.disk")
    if file.exists():
        raise ConfigError("socket", f"{file} exists, and was not made by `attach`")
    with contextlib.ExitStack() as undo:
        file.touch(mode=0o600)
        undo.callback(file.unlink, missing_ok=True)
        fuse = _start("nbdfuse", str(file), uri(socket))
        undo.callback(_run_anyhow, "umount", str(file))
        _await_size(file, fuse)
        device = _run("losetup", "--find", "--show", "--direct-io=on", str(file)).strip()
        undo.callback(_run_anyhow, "losetup", "--detach", device)
        _check_device(device, file)
        if mount is not None:
            mount.mkdir(parents=True, exist_ok=True)
            if not _has_file_system(device):
                _run(f"mkfs.{fs}", "-q" if fs != "btrfs" else "--quiet", device)
            _run("mount", device, str(mount))
            undo.callback(_run_anyhow, "umount", str(mount))
        place = None if mount is None else str(mount.absolute())
        made = Attached(str(socket.absolute()), str(file), device, place, fuse)
        write_atomically(_state_file(socket), json.dumps(asdict(made)).encode())
        undo.pop_all()
    return made


def detach(made: Attached) -> None:
    """Take down what `attach` made: mount, loop device, FUSE, files.

    Raises:
        WriteError: when a step fails, such as for a file system in use; the rest stays then.
    """
    if made.mount is not None and os.path.ismount(made.mount):
        _run("umount", made.mount)
    if _backing_file(made.device) == made.file:
        _run("losetup", "--detach", made.device)
    if _is_shown(Path(made.file)):
        _run("umount", made.file)
    _await_end(made.pid)
    Path(made.file).unlink(missing_ok=True)
    _state_file(Path(made.socket)).unlink(missing_ok=True)


def _is_shown(file: Path) -> bool:
    """Return whether FUSE has a file mounted, also when its process or the server has ended."""
    try:
        file.lstat()
    except OSError as error:
        return error.errno == errno.ENOTCONN
    return os.path.ismount(file)


def found(name: str) -> Attached:
    """Return what is attached under a mount point, a device or a socket.

    Raises:
        ConfigError: when `attach` has made no such thing.
    """
    absolute = str(Path(name).absolute())
    for path in _state_folder().glob("*.json"):
        with contextlib.suppress(OSError, ValueError, TypeError):
            made = Attached(**json.loads(path.read_text()))
            if {name, absolute} & {made.mount, made.device, made.socket}:
                return made
    raise ConfigError("detach", f"`{name}` was not made by `attach --run`")


def state_of(socket: Path) -> Attached | None:
    """Return what is attached of a server; None if nothing is."""
    try:
        return found(str(socket.absolute()))
    except ConfigError:
        return None


def _state_folder() -> Path:
    """Return the folder of this user's state files, which nobody else can write."""
    folder = Path(tempfile.gettempdir()) / f"opennandlab-attached-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o022 or folder.is_symlink():
        raise OutputError(f"{folder} belongs to another user")
    return folder


def _state_file(socket: Path) -> Path:
    name = quote(str(socket.absolute()), safe="")
    return _state_folder() / f"{name}.json"


def _backing_file(device: str) -> str | None:
    """Return the file behind a loop device."""
    path = Path("/sys/block") / Path(device).name / "loop/backing_file"
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _check_device(device: str, file: Path) -> None:
    if _backing_file(device) != str(file):
        raise OutputError(f"{device} is not the device of {file}; nothing was written to it")


def _has_file_system(device: str) -> bool:
    """Return whether a drive that was saved holds a file system already, which is then kept."""
    try:
        return bool(_run("blkid", "--probe", "--output", "value", "--match-tag", "TYPE", device))
    except OutputError:  # its way to say that there is none
        return False


def _start(*command: str) -> int:
    """Start a program that stays, also when this one ends; return its process.

    Raises:
        OutputError: when there is no such program.
    """
    quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    try:
        return os.posix_spawnp(command[0], command, os.environ, file_actions=quiet, setsid=True)
    except OSError as error:
        raise OutputError(f"{command[0]}: {error.strerror or error}") from error


def _has_ended(pid: int) -> bool:
    """Return whether a process that we started has ended; not ours never has."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return False


def _await_end(pid: int) -> None:
    """Give a process of ours, whose file system was taken down, the time to end."""
    deadline = time.monotonic() + END_S
    while time.monotonic() < deadline and Path(f"/proc/{pid}").exists() and not _has_ended(pid):
        time.sleep(0.01)


def _await_size(file: Path, fuse: int) -> None:
    """Wait until FUSE shows the drive in place of the empty file."""
    deadline = time.monotonic() + WAIT_S
    while file.stat().st_size == 0:
        if _has_ended(fuse) or time.monotonic() > deadline:
            raise OutputError("nbdfuse shows no drive; is the server running, and FUSE allowed?")
        time.sleep(0.02)


def _run(*command: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 (no shell, our own words)
            command, capture_output=True, text=True, timeout=COMMAND_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WriteError(f"{' '.join(command)}: {error}") from error
    if done.returncode:
        raise WriteError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def _run_anyhow(*command: str) -> None:
    with contextlib.suppress(OutputError):
        _run(*command)
