"""File systems on a served drive: made, cut from power, and found sound by their own checkers.

The tools work on the file that nbdfuse shows, without root. Where the kernel has a file system, and
this user may attach and mount, it is mounted, trimmed and cut while it is in use, too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from opennandlab.base.errors import OutputError
from opennandlab.core.config import load_device
from opennandlab.serving.recipes import Attached, attach, detach
from opennandlab.serving.server import Plan, Served

LIMIT_S = 60
FILES = 8
KNOWN = Path("/proc/filesystems")
CONTENT = bytes(range(256)) * 4096
# Makers, checkers, and a command that takes a file out again, if one does so without a mount.
ROWS = {
    "ext4": (
        ["mkfs.ext4", "-q", "-F", "-d", "{files}", "{disk}"],
        ["e2fsck", "-f", "-n", "{disk}"],
        ["debugfs", "-R", "dump /a.bin {out}", "{disk}"],
    ),
    "xfs": (["mkfs.xfs", "-q", "-f", "{disk}"], ["xfs_repair", "-n", "-f", "{disk}"], None),
    "btrfs": (["mkfs.btrfs", "-q", "-f", "{disk}"], ["btrfs", "check", "{disk}"], None),
}
# Those whose tools want a block device: a maker, one that writes files, and a checker.
DEVICE_ROWS = {
    "f2fs": (
        ["mkfs.f2fs", "-f", "{disk}"],
        ["sload.f2fs", "-f", "{files}", "{disk}"],
        ["fsck.f2fs", "--dry-run", "-t", "{disk}"],
    ),
    # No tool writes files into an exFAT that is not mounted.
    "exfat": (["mkfs.exfat", "{disk}"], None, ["fsck.exfat", "-n", "{disk}"]),
}


@contextmanager
def shown(socket: Path, folder: Path) -> Iterator[Path]:
    """Show a served drive as a file."""
    folder.mkdir(exist_ok=True)
    disk = folder / "nbd"
    helper = subprocess.Popen(["nbdfuse", str(folder), "--unix", str(socket)])
    try:
        for _ in range(100 * LIMIT_S):
            if disk.exists() or helper.poll() is not None:
                break
            time.sleep(0.01)
        if not disk.exists():
            pytest.skip("nbdfuse cannot show a file here: no FUSE")
        yield disk
    finally:
        helper.terminate()
        helper.wait(LIMIT_S)


@pytest.mark.parametrize("name", ROWS)
def test_a_file_system_outlives_a_cut(name: str, tmp_path: Path):
    make, check, take_out = ROWS[name]
    for tool in ("nbdfuse", make[0], check[0]):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    files, out = tmp_path / "files", tmp_path / "out.bin"
    files.mkdir()
    (files / "a.bin").write_bytes(CONTENT)
    socket, switch = tmp_path / "s", tmp_path / "p"

    def run(command: list[str], disk: Path) -> None:
        words = [word.format(files=files, disk=disk, out=out) for word in command]
        done = subprocess.run(words, capture_output=True, timeout=LIMIT_S, check=False)
        assert done.returncode == 0, (words, done.stdout, done.stderr)

    served = Served(
        Plan(device=load_device("tlc_standard"), timing="real", socket=socket, power_socket=switch)
    )
    try:
        with shown(socket, tmp_path / "before") as disk:
            run(make, disk)
            with disk.open("r+b") as handle:
                os.fsync(handle.fileno())
        served._core.power_off()
        served._core.power_on()
        with shown(socket, tmp_path / "after") as disk:
            run(check, disk)
            if take_out is not None:
                run(take_out, disk)
                assert out.read_bytes() == CONTENT
    finally:
        served.stop()


def cannot_attach(*tools: str) -> str:
    """Return why a served drive cannot be a block device here; nothing if it can."""
    for tool in ("nbdfuse", "losetup", *tools):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    if os.geteuid() != 0 or not os.access("/dev/loop-control", os.W_OK):
        return "only root can use loop devices"
    return ""


@contextmanager
def serving(folder: Path) -> Iterator[tuple[Served, Path]]:
    """Serve a drive whose power can be cut; yield it and its socket."""
    socket, switch = folder / "s", folder / "p"
    plan = Plan(
        device=load_device("tlc_standard"), timing="real", socket=socket, power_socket=switch
    )
    served = Served(plan)
    try:
        yield served, socket
    finally:
        served.stop()


@contextmanager
def attached(socket: Path, mount: Path | None, name: str) -> Iterator[Attached]:
    """Attach a drive as a block device, mounted or not."""
    try:
        made = attach(socket, mount, name)
    except OutputError as error:
        pytest.skip(f"cannot be attached here: {error}")
    try:
        yield made
    finally:
        detach(made)


@pytest.mark.parametrize("name", ROWS)
def test_a_mounted_file_system_outlives_a_cut(name: str, tmp_path: Path) -> None:
    """Synchronised files are whole after a cut in use, and room that became free is trimmed.

    The next mount recovers the journal; only then is the checker satisfied.
    """
    make, check, _ = ROWS[name]
    names = KNOWN.read_text().split() if KNOWN.exists() else []
    why = cannot_attach("mount", "fstrim", make[0], check[0])
    if why or name not in names:
        pytest.skip(why or f"this kernel has no {name}")
    mount = tmp_path / "mount"
    with serving(tmp_path) as (served, socket):
        with attached(socket, mount, name):
            for number in range(FILES):
                with (mount / f"{number}.bin").open("wb") as handle:
                    handle.write(CONTENT)
                    handle.flush()
                    os.fsync(handle.fileno())
            for number in range(FILES // 2):
                (mount / f"{number}.bin").unlink()
            os.sync()
            before = served.status()["drive"]["trimmed_bytes"]
            subprocess.run(["fstrim", str(mount)], check=True, timeout=LIMIT_S)
            assert served.status()["drive"]["trimmed_bytes"] > before
            # Not synchronised: it may be there in part, or not at all.
            (mount / "late.bin").write_bytes(CONTENT)
            served._core.power_off()
        served._core.power_on()
        with attached(socket, mount, name):
            for number in range(FILES // 2, FILES):
                assert (mount / f"{number}.bin").read_bytes() == CONTENT
            assert not any((mount / f"{number}.bin").exists() for number in range(FILES // 2))
        with shown(socket, tmp_path / "after") as disk:
            words = [word.format(disk=disk) for word in check]
            done = subprocess.run(words, capture_output=True, timeout=LIMIT_S, check=False)
            assert done.returncode == 0, (words, done.stdout, done.stderr)


@pytest.mark.parametrize("name", DEVICE_ROWS)
def test_a_file_system_on_a_block_device_outlives_a_cut(name: str, tmp_path: Path) -> None:
    """Their tools write less than a sector, or allocate, which the file of nbdfuse cannot."""
    rows = DEVICE_ROWS[name]
    if why := cannot_attach(*(row[0] for row in rows if row)):
        pytest.skip(why)
    make, load, check = rows
    files = tmp_path / "files"
    files.mkdir()
    (files / "a.bin").write_bytes(CONTENT)

    def run(command: list[str], disk: str) -> str:
        words = [word.format(files=files, disk=disk) for word in command]
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    with serving(tmp_path) as (served, socket):
        with attached(socket, None, name) as made:
            for command in (make, load):
                if command is not None:
                    run(command, made.device)
            with Path(made.device).open("r+b") as handle:
                os.fsync(handle.fileno())
            served._core.power_off()
        served._core.power_on()
        with attached(socket, None, name) as made:
            found = run(check, made.device)
        assert load is None or "a.bin" in found
