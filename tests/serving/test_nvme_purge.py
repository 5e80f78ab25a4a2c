"""Format, Sanitize and images of an NVMe drive, from the command line; servers that are killed.

The host is that of `test_nvme`; the commands have their tests in `crates/nvme/tests/all/purge.rs`.
"""

from __future__ import annotations

import contextlib
import json
import random
import signal
import struct
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from test_nvme import BLOCK, connected, ranged
from test_serve import DEVICE, LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from test_nvme import Host

DOOR = ("--nvme", "127.0.0.1:0", "--timing", "off")
# Blocks that a server which will be killed is written to, one after the other, in rounds.
BLOCKS = 64


@contextlib.contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Serve a drive in a process of its own; give the process and its ready line."""
    (folder / "device.yaml").write_text(DEVICE)
    words = [sys.executable, "-m", "opennandlab", "serve", *DOOR, *options]
    server = subprocess.Popen(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        line = server.stdout.readline()
        if not line:
            raise RuntimeError(server.communicate(timeout=LIMIT_S)[1])
        yield server, line
    finally:
        if server.poll() is None:
            server.send_signal(signal.SIGTERM)
        errors = server.communicate(timeout=LIMIT_S)[1]
    assert server.returncode in {0, -signal.SIGKILL}, errors


def log(admin: Host, number: int) -> bytes:
    """Return the first 512 bytes of a log."""
    entry = struct.pack("<BBHI32xI20x", 2, 0x40, 2, 0xFFFFFFFF, number | 127 << 16)
    _, status, page = admin.ask(entry, wanted=512)
    assert status == 0
    return page


def numbers(page: bytes, *offsets: int) -> list[int]:
    """Return the numbers of eight bytes at these places."""
    return [struct.unpack_from("<Q", page, at)[0] for at in offsets]


def administer(admin: Host, opcode: int, dword: int) -> None:
    """Carry out a command of namespace 1, which goes well."""
    assert admin.ask(struct.pack("<BBHI32xI20x", opcode, 0x40, 2, 1, dword))[1] == 0


def smart(admin: Host) -> list[int]:
    """Return what continues over images: units, commands, unsafe shutdowns, errors, entries."""
    return numbers(log(admin, 2), 32, 48, 64, 80, 144, 160, 176)


def test_a_drive_is_the_same_after_a_restart(tmp_path: Path) -> None:
    """Name, format, counters and the state of the last sanitize come from the image."""
    saved = ("--save-image", "drive.onl", "--result", "served.json")
    with serving(tmp_path, "--config", "device.yaml", *saved) as (_, line):
        name = line.rpartition("/")[2]
        with connected(line) as (admin, queue):
            for block in range(300):
                assert queue.ask(ranged(1, block), bytes([block % 255]) * BLOCK)[1] == 0
            administer(admin, 0x84, 4)
            assert struct.unpack_from("<HHI", log(admin, 0x81)) == (0xFFFF, 0x101, 4)
            administer(admin, 0x80, 0 | 1 << 9)
            assert queue.ask(ranged(1, 7), bytes(512))[1] == 0
            assert queue.ask(ranged(0))[1] == 0
            before = smart(admin)
            written = numbers(log(admin, 0xC0), 0)[0]
    document = json.loads((tmp_path / "served.json").read_text())
    assert document["passed"]
    assert (before[3], written) == (301, document["drive"]["programmed_bytes"])
    with serving(tmp_path, "--image", "drive.onl", "--result", "served.json") as (_, line):
        assert line.rpartition("/")[2] == name
        with connected(line) as (admin, queue):
            assert smart(admin) == before
            assert numbers(log(admin, 2), 112) == [2]
            # Zeros were written since the sanitize.
            assert struct.unpack_from("<HHI", log(admin, 0x81)) == (0xFFFF, 1, 4)
            assert queue.ask(ranged(2, 7), wanted=512)[1:] == (0, bytes(512))
            assert queue.ask(ranged(1, 8), bytes(512))[1] == 0
            assert queue.ask(ranged(0))[1] == 0
            now = smart(admin)
            assert now[3] == before[3] + 1
            programmed = numbers(log(admin, 0xC0), 0)[0]
    document = json.loads((tmp_path / "served.json").read_text())
    assert programmed == written + document["drive"]["programmed_bytes"]


def test_an_image_with_a_damaged_section_is_refused(tmp_path: Path) -> None:
    """The sentence names the section."""
    with serving(tmp_path, "--config", "device.yaml", "--save-image", "drive.onl"):
        pass
    image = bytearray((tmp_path / "drive.onl").read_bytes())
    image[-2] ^= 1
    (tmp_path / "drive.onl").write_bytes(image)
    with (
        pytest.raises(RuntimeError, match="the section `life` is damaged"),
        serving(tmp_path, "--image", "drive.onl"),
    ):
        pass


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--save-every 0 --save-image d.onl", "save-every: 0; accepted: more than 0"),
        ("--save-every nan --save-image d.onl", "save-every: nan; accepted: more than 0"),
        ("--save-every 5", "save-every: nothing is saved: give --save-image FILE as well"),
    ],
)
def test_periods_that_cannot_be_are_refused(options: str, said: str, tmp_path: Path) -> None:
    """A sentence with the value and what is accepted."""
    with (
        pytest.raises(RuntimeError, match=r"^error") as refused,
        serving(tmp_path, "--config", "device.yaml", *options.split()),
    ):
        pass
    assert said in " ".join(str(refused.value).split())


class Life:
    """A drive whose server is killed again and again.

    Blocks are written in order, in rounds; each holds the number of its write. So the state at any
    time is a number: that of the last write.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.image = folder / "drive.onl"
        self.last = 0

    def begin(self) -> None:
        """Save an empty drive."""
        with serving(self.folder, "--config", "device.yaml", "--save-image", "drive.onl"):
            pass

    def _state(self, queue: Host) -> int:
        """Return the last write that a drive holds, which must be whole up to there."""
        found = []
        for block in range(BLOCKS):
            content = queue.ask(ranged(2, block), wanted=BLOCK)[2]
            number = struct.unpack_from("<Q", content)[0]
            assert content == stamp(number)
            found.append(number)
        last = max(found)
        for block, number in enumerate(found):
            newest = last - (last - 1 - block) % BLOCKS if last else 0
            assert number == max(newest, 0), (block, found)
        return last

    def kill(self, rng: random.Random) -> tuple[int, int, int]:
        """Serve, write until a random moment, and kill the server.

        Returns:
            Writes that were done when the save before the last one was there, at the kill, and what
            the drive holds afterwards.
        """
        options = ("--image", "drive.onl", "--save-every", "0.05")
        with serving(self.folder, *options) as (server, line), connected(line) as (admin, queue):
            assert self._state(queue) == self.last
            cycles = numbers(log(admin, 2), 112, 144)
            done, saves = self.last, [self.last, self.last]
            inode = self.image.stat().st_ino
            end = time.monotonic() + rng.uniform(0.0, 0.5)
            while time.monotonic() < end:
                done += 1
                assert queue.ask(ranged(1, (done - 1) % BLOCKS), stamp(done))[1] == 0
                if (found := self.image.stat().st_ino) != inode:
                    inode = found
                    saves.append(done)
            server.send_signal(signal.SIGKILL)
            server.wait(LIMIT_S)
        again = ("--image", "drive.onl", "--readonly")
        with serving(self.folder, *again) as (_, line), connected(line) as (admin, queue):
            state = self._state(queue)
            now = numbers(log(admin, 2), 112, 144)
        # Without a save in that time, the image is the one from before; with one, the drive knows
        # that nothing has shut it down.
        was_saved = now[0] - cycles[0]
        assert was_saved in {0, 1}
        assert now[1] - cycles[1] == was_saved
        assert was_saved or len(saves) == 2
        self.last = state
        # A write that was in progress when a save was there may be later than the next one.
        return saves[-2] - 1, done, state


def stamp(number: int) -> bytes:
    """Return the content of a block at its write of this number; 0: it was never written."""
    return struct.pack("<Q", number) * (BLOCK // 8)


def check_kills(folder: Path, kills: int, seed: int) -> dict[str, Any]:
    """Kill a server this often at random moments, and look at what is left each time."""
    rng, life = random.Random(seed), Life(folder)  # noqa: S311
    life.begin()
    for number in range(kills):
        least, most, state = life.kill(rng)
        assert least <= state <= most, f"kill {number} of seed {seed}"
        # Nothing is left of a save that was in progress, once the image was served again.
        assert not list(folder.glob(".drive.onl.*.tmp"))
    return {"kills": kills, "writes": life.last}


def test_a_server_that_is_killed_leaves_its_last_save(tmp_path: Path) -> None:
    """Three kills at random moments."""
    assert check_kills(tmp_path, 3, 1)["writes"] > 0


@pytest.mark.long
def test_servers_that_are_killed_leave_their_last_save(tmp_path: Path) -> None:
    """Fifty kills at random moments."""
    assert check_kills(tmp_path, 50, 2)["writes"] > BLOCKS
