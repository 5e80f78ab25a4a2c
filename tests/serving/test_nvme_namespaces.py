"""Namespaces, Copy, several paths and the latency log, from the command line."""

from __future__ import annotations

import shlex
import struct
import subprocess
from typing import TYPE_CHECKING

import pytest
from test_nvme import BLOCK, Host, begin, connected, ending
from test_serve import noise
from typer.testing import CliRunner

from opennandlab.cli import app

if TYPE_CHECKING:
    from pathlib import Path

DOOR = ("--nvme", "127.0.0.1:0")


def admin_entry(opcode: int, namespace: int, *dwords: int) -> bytes:
    """Return the entry of an admin command with dwords from 10 on."""
    content = struct.pack("<BBHI32x", opcode, 0x40, 2, namespace)
    return (content + struct.pack(f"<{len(dwords)}I", *dwords)).ljust(64, b"\0")


def identify(admin: Host, kind: int, namespace: int) -> bytes:
    """Return a page of what the drive says of itself."""
    _, status, page = admin.ask(admin_entry(6, namespace, kind), wanted=4096)
    assert status == 0
    return page


def of(namespace: int, opcode: int, first: int) -> bytes:
    """Return the entry of a command for one block of a namespace."""
    return struct.pack("<BBHI32xQI12x", opcode, 0x40, 2, namespace, first, 0)


def test_shares_become_namespaces(tmp_path: Path, command: Path) -> None:
    """Three namespaces of one drive: sizes by their shares, data apart, one endurance group."""
    server, lines = begin(
        tmp_path, command, *DOOR, "--timing", "off", "--namespaces", "25%,50%,25%"
    )
    with ending(server, tmp_path) as document, connected(lines[0]) as (admin, queue):
        assert struct.unpack("<4I", identify(admin, 2, 0)[:16]) == (1, 2, 3, 0)
        sizes = [struct.unpack("<Q", identify(admin, 0, number)[:8])[0] for number in (1, 2, 3)]
        whole = struct.unpack("<Q", identify(admin, 1, 0)[280:288])[0] // BLOCK
        assert sum(sizes) == whole
        assert [size * 4 // whole for size in (sizes[0] + 1, sizes[1] + 1)] == [1, 2]
        for number in (1, 2, 3):
            assert queue.ask(of(number, 1, 0), noise(BLOCK, number))[1] == 0
        # A write that is in memory has no place yet.
        assert queue.ask(of(0xFFFFFFFF, 0, 0))[1] == 0
        for number in (1, 2, 3):
            assert queue.ask(of(number, 2, 0), wanted=BLOCK)[2] == noise(BLOCK, number)
            assert struct.unpack("<Q", identify(admin, 0, number)[16:24]) == (1,)
        assert queue.ask(of(4, 2, 0), wanted=BLOCK)[1] >> 1 & 0x3FFF == 0x0B
    assert document["drive"]["mapped_pages"] == 3


@pytest.mark.parametrize("shares", ["25%,70%", "100", "0%,100%", "nan%", "1%," * 99 + "1%", ""])
def test_shares_that_cannot_be_are_refused(shares: str, tmp_path: Path, command: Path) -> None:
    """Exit code 2, the value and what is accepted."""
    with pytest.raises(RuntimeError, match=r"^error") as refused:
        begin(tmp_path, command, *DOOR, "--namespaces", shares)
    said = "".join(str(refused.value).split())
    accepted = "accepted:1to64sharesabove0thatare100%together,suchas25%,75%"
    assert f"namespaces:`{shares}`;{accepted}" in said


def test_borders_stay_where_an_image_has_them(tmp_path: Path, command: Path) -> None:
    """Moved borders would give the data of one namespace to another."""
    server, lines = begin(
        tmp_path, command, *DOOR, "--timing", "off", "--namespaces", "25%,75%",
        "--save-image", "d.onl",
    )  # fmt: skip
    with ending(server, tmp_path), connected(lines[0]) as (admin, queue):
        page = identify(admin, 0, 2)
        assert queue.ask(of(2, 1, 0), noise(BLOCK, 5))[1] == 0
    again = [str(command), "serve", "--image", "d.onl", *DOOR, "--timing", "off"]
    moved = subprocess.run(
        [*again, "--namespaces", "50%,50%"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert moved.returncode == 2
    assert "a drive whose image has others" in " ".join(moved.stderr.split())
    words = [*again, "--result", "served.json"]
    server = subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    line = server.stdout.readline()
    with ending(server, tmp_path), connected(line) as (admin, queue):
        assert identify(admin, 0, 2)[:16] == page[:16]
        assert queue.ask(of(2, 2, 0), wanted=BLOCK)[2] == noise(BLOCK, 5)


@pytest.mark.parametrize("option", [("--namespaces", "50%,50%"), ("--multipath",)])
def test_options_of_nvme_need_its_door(
    option: tuple[str, ...], tmp_path: Path, command: Path
) -> None:
    """Without --nvme they have no effect, and are refused."""
    with pytest.raises(RuntimeError, match="has no effect without --nvme"):
        begin(tmp_path, command, "--socket", "s", *option)


def test_a_copy_stays_in_the_drive(tmp_path: Path, command: Path) -> None:
    """Two ranges become one, the counters have the work, and the log of failures the refusal."""
    server, lines = begin(tmp_path, command, *DOOR)
    with ending(server, tmp_path) as document, connected(lines[0]) as (_, queue):
        for first in (0, 1, 2):
            assert queue.ask(of(1, 1, first), noise(BLOCK, first))[1] == 0
        ranges = b"".join(struct.pack("<8xQHHI8x", first, 0, 0, 0) for first in (2, 0))
        copy = struct.pack("<BBHI32xQI12x", 0x19, 0x40, 2, 1, 9, 1)
        assert queue.ask(copy, ranges)[1] == 0
        assert queue.ask(of(1, 2, 9), wanted=BLOCK)[2] == noise(BLOCK, 2)
        assert queue.ask(of(1, 2, 10), wanted=BLOCK)[2] == noise(BLOCK, 0)
        beyond = struct.pack("<BBHI32xQI12x", 0x19, 0x40, 2, 1, 1 << 40, 0)
        assert queue.ask(beyond, ranges[:32])[1] >> 1 & 0x3FFF == 0x80
    drive = document["drive"]
    assert (drive["read_bytes"], drive["written_bytes"]) == (4 * BLOCK, 5 * BLOCK)


def test_paths_are_announced_when_they_are_allowed(tmp_path: Path, command: Path) -> None:
    """With --multipath a host may have several controllers, and each names all of them."""
    server, lines = begin(tmp_path, command, *DOOR, "--multipath")
    with ending(server, tmp_path), connected(lines[0]) as (first, queue):
        with connected(lines[0]) as (second, other):
            assert (identify(second, 1, 0)[76], identify(second, 0, 1)[30]) == (2, 1)
            assert struct.unpack("<3H", identify(first, 0x13, 0)[:6]) == (2, 1, 2)
            assert queue.ask(of(1, 1, 3), noise(BLOCK, 1))[1] == 0
            assert other.ask(of(1, 2, 3), wanted=BLOCK)[2] == noise(BLOCK, 1)
        assert queue.ask(of(1, 2, 3), wanted=BLOCK)[2] == noise(BLOCK, 1)


def test_slow_commands_are_logged(tmp_path: Path, command: Path) -> None:
    """Programs of 160 ms are in the third bucket of writes; the server is ten times faster."""
    slow = ("--timing", "scaled:0.1", "--set", "nand.timing.t_program_us=160000")
    server, lines = begin(tmp_path, command, *DOOR, *slow)
    with ending(server, tmp_path), connected(lines[0]) as (admin, queue):
        for first in range(2):
            # Complete on the flash: force unit access.
            entry = struct.pack("<BBHI32xQI12x", 1, 0x40, 2, 1, first, 1 << 30)
            assert queue.ask(entry, noise(BLOCK, first))[1] == 0
        entry = admin_entry(2, 0xFFFFFFFF, 0xC3 | 127 << 16)
        log = admin.ask(entry, wanted=512)[2]
    counters = struct.unpack("<16I", log[0x20:0x60])
    assert counters == (0,) * 10 + (2,) + (0,) * 5
    assert log[0x1F0:] == bytes.fromhex("927ac08cd0846c9c7043e6d4585ed485")


def test_lines_to_connect_are_printed(tmp_path: Path) -> None:
    """What a server prints when it is ready gives the commands of a host, as a shell reads them."""
    mount = str(tmp_path / "Tom's drive")
    uri = "nvme+tcp://[::1]:4420/nqn.2026-01.org.example:a;b"
    printed = CliRunner().invoke(app, ["attach", "--nvme", uri, "--mount", mount])
    assert printed.exit_code == 0
    words = [shlex.split(line, comments=True) for line in printed.stdout.splitlines()]
    assert words[1:4] == [
        ["modprobe", "nvme-tcp"],
        shlex.split("nvme connect -t tcp -a ::1 -s 4420 -n 'nqn.2026-01.org.example:a;b'"),
        ["nvme", "list"],
    ]
    assert words[-2:] == [["umount", mount], shlex.split("nvme disconnect -n '" + uri[22:] + "'")]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--nvme", "127.0.0.1:4420"], "`127.0.0.1:4420`; accepted: ADDRESS:PORT/NQN"),
        (["--nvme", "127.0.0.1:99999/nqn.a"], "accepted: ADDRESS:PORT/NQN"),
        (["--nvme", "a;b:1/nqn.a"], "accepted: ADDRESS:PORT/NQN"),
        (["--nvme", f"a:1/nqn.{'x' * 220}"], "accepted: ADDRESS:PORT/NQN"),
        (["--nvme", "a:1/nqn.a", "--socket", "s"], "and not both"),
        (["--nvme", "a:1/nqn.a", "--run"], "has no effect with --nvme"),
        (["--nvme", "a:1/nqn.a", "--fs", "fat"], "`fat`; accepted: ext4, xfs, btrfs"),
        ([], "give --socket PATH or --nvme"),
    ],
)
def test_places_that_cannot_be_are_refused(
    options: list[str], said: str, command: Path, tmp_path: Path
) -> None:
    """Exit code 2, and nothing is printed that could be pasted."""
    import subprocess

    done = subprocess.run(
        [str(command), "attach", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert said in " ".join(done.stderr.split())
