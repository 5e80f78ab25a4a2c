"""Who else uses a file or a device: what is mounted elsewhere, swapped to, or held open.

Processes, swap and loop devices of another system are folders made here; the loop devices of this
one are made from files of the test.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from opennandlab.targets import file as file_module
from opennandlab.targets.base import TargetError
from opennandlab.targets.consent import Consent
from opennandlab.targets.file import FileTarget
from opennandlab.targets.probe import Probe
from opennandlab.targets.safety import known_block, objections
from opennandlab.targets.usage import loops_over, use_of_file, writers
from real_drives import Attach, loop_devices, needs_fio

MIB = 1 << 20
ALLOWED = Consent(destructive=True)


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Attach]:
    """Return what makes a loop device of a file of the test."""
    with loop_devices(tmp_path) as attach:
        yield attach


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """Make a file that holds something."""
    path = tmp_path / "disk.img"
    path.write_bytes(b"precious" * MIB)
    return path


def refused(image: Path, words: str, probe: Probe | None = None) -> None:
    before = image.read_bytes()
    with pytest.raises(TargetError, match=words):
        FileTarget(image, consent=ALLOWED, probe=probe)
    assert image.read_bytes() == before


def test_a_device_under_a_loop_device_is_refused_by_nothing_less_than_its_end(loop, image):
    """`losetup -f /dev/loop0`, `mount /dev/loop1`: loop0 was overwritten under the mount."""
    below = loop(image)
    name = Path(below).name
    forced = Consent(destructive=True, i_know=name, force=True)
    probe = Probe()
    assert objections(known_block(below, probe), forced, probe) == []
    over = loop(Path(below))
    (reason,) = objections(known_block(below, probe), forced, probe)
    assert reason == f"held by {Path(over).name} (LVM, RAID, mapper or loop device)"


def test_a_file_under_a_loop_device_is_refused(loop, image, tmp_path):
    """Only `--destructive` was asked for the image of a mounted loop device."""
    over = loop(image)
    refused(image, f"refused: {over} is made of it")
    # Another name of the same inode, and a name that leads there.
    hard, soft = tmp_path / "hard", tmp_path / "soft"
    os.link(image, hard)
    soft.symlink_to(image)
    refused(hard, "is made of it")
    refused(soft, "is made of it")
    # The name that the kernel shows leads nowhere any more.
    image.unlink()
    refused(hard, "is made of it")


def system(folder: Path, files: dict[str, str]) -> Probe:
    """Make /sys and /proc of another system."""
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return Probe(folder)


def test_a_swap_file_is_refused(image, tmp_path):
    """The kernel alone refused it, at the first purge."""
    swaps = "Filename Type Size Used Priority\n/my\\040swap file 1 0 -2\n"
    probe = system(tmp_path / "system", {"proc/swaps": swaps})
    (tmp_path / "system/my swap").symlink_to(image)
    refused(image, "it is used as swap", probe)


def test_loop_devices_are_known_by_the_inode_of_what_they_are_made_of(image, tmp_path):
    name = "sys/class/block/loop77777/loop/backing_file"
    probe = system(tmp_path / "system", {name: "/there\n", "sys/class/block/sda/size": "8"})
    assert loops_over(image.stat(), probe) == []
    (tmp_path / "system/there").symlink_to(image)
    assert loops_over(image.stat(), probe) == ["loop77777"]
    assert use_of_file(image.stat(), probe) == ["/dev/loop77777 is made of it"]


@contextmanager
def opener(path: Path, mode: str) -> Iterator[int]:
    """Hold a file open in another process; yield its number."""
    code = (
        "import os, sys; handle = os.open(sys.argv[1], getattr(os, sys.argv[2])); "
        "print('open', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path), mode],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    try:
        yield process.pid
    finally:
        process.communicate()


@pytest.mark.parametrize("mode", ["O_RDWR", "O_WRONLY"])
def test_a_file_that_a_process_may_write_is_refused(image, mode):
    """Databases and virtual machines open plainly: the exclusive open does not see them."""
    with opener(image, mode) as pid:
        refused(image, rf"open for writing in process {pid} \(")
    assert writers(image.stat(), Probe()) == []


def test_readers_lose_nothing_and_are_no_obstacle(image):
    with opener(image, "O_RDONLY"):
        assert writers(image.stat(), Probe()) == []


def test_a_device_that_a_process_may_write_is_refused(loop, image):
    device = loop(image)
    forced = Consent(destructive=True, i_know=Path(device).name, force=True)
    probe = Probe()
    with opener(Path(device), "O_RDWR") as pid:
        (reason,) = objections(known_block(device, probe), forced, probe)
    assert reason.startswith(f"open for writing in process {pid} (")
    assert objections(known_block(device, probe), forced, probe) == []


def test_a_few_processes_are_named(image, tmp_path):
    files = {}
    for pid in ("11", "12", "13", "14", "x1", str(os.getpid())):
        files[f"proc/{pid}/comm"] = "data\x1b[31mbase\n"
        files[f"proc/{pid}/fdinfo/4"] = "pos:\t0\nflags:\t0100002\nmnt_id:\t31\n"
        files[f"proc/{pid}/fdinfo/5"] = "flags:\tnone\n"
    probe = system(tmp_path / "system", files)
    for pid in ("11", "12", "13", "14", "x1", str(os.getpid())):
        fd = tmp_path / f"system/proc/{pid}/fd"
        fd.mkdir()
        (fd / "4").symlink_to(image)
        (fd / "5").symlink_to(image)
        (fd / "6").symlink_to("socket:[77]")
    assert use_of_file(image.stat(), probe) == [
        "open for writing in process 11 (data?[31mbase), 12 (data?[31mbase), 13 (data?[31mbase), …"
    ]


@needs_fio
def test_a_purge_that_fails_leaves_a_file_that_can_be_purged(tmp_path, monkeypatch):
    """A file that had 0 bytes then was no target any more, and `--resume` refused it."""
    target = FileTarget(tmp_path / "a.img", 4 * MIB)
    with monkeypatch.context() as patched:
        full = SimpleNamespace(f_bavail=0, f_frsize=4096)
        patched.setattr(file_module.os, "fstatvfs", lambda _: full)
        with pytest.raises(TargetError, match="purge failed: No space"):
            target.purge()
    assert target.path.stat().st_size == 4 * MIB
    assert target.path.stat().st_blocks == 0
    target.close()
    again = FileTarget(target.path, consent=ALLOWED)
    again.purge()
    assert again.path.stat().st_blocks * 512 >= 4 * MIB
    again.close()
