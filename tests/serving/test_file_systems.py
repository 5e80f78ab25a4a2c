"""File systems on a served drive: made, cut from power, and found sound by their own checkers.

Nothing is mounted, so no root is needed: the tools work on the file that nbdfuse shows.
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

from opennandlab.core.config import load_device
from opennandlab.serving.server import Plan, Served

LIMIT_S = 60
CONTENT = bytes(range(256)) * 4096
# Makers, checkers, and a command that takes a file out again where there is one without a mount.
ROWS = {
    "ext4": (
        ["mkfs.ext4", "-q", "-F", "-d", "{files}", "{disk}"],
        ["e2fsck", "-f", "-n", "{disk}"],
        ["debugfs", "-R", "dump /a.bin {out}", "{disk}"],
    ),
    "xfs": (["mkfs.xfs", "-q", "-f", "{disk}"], ["xfs_repair", "-n", "-f", "{disk}"], None),
    "btrfs": (["mkfs.btrfs", "-q", "-f", "{disk}"], ["btrfs", "check", "{disk}"], None),
    "f2fs": (["mkfs.f2fs", "-f", "{disk}"], ["fsck.f2fs", "{disk}"], None),
    "exfat": (["mkfs.exfat", "{disk}"], ["fsck.exfat", "-n", "{disk}"], None),
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
