"""A drive that is served over NVMe, from the command line: two doors of one drive, bad options.

The host is a few lines of our own; the controller has its tests in `crates/nvme/tests`.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import struct
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from test_serve import DEVICE, LIMIT_S, needs, noise, run

from opennandlab.serving.power import ask

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BLOCK = 4096


class Host:
    """A connection that is one queue."""

    def __init__(self, port: int, nqn: str, queue: int, controller: int = 0xFFFF) -> None:
        self.stream = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)
        self.stream.sendall(struct.pack("<BBBBI120x", 0, 0, 128, 0, 128))
        assert self._take(128)[0] == 1
        data = struct.pack("<16sH238x256s256s256x", b"host", controller, nqn.encode(), b"nqn.a")
        entry = struct.pack("<BBHB35xHHHxxI12x", 0x7F, 0x40, 1, 1, 0, queue, 127, 0)
        self.controller, status, _ = self.ask(entry, data)
        assert status == 0

    def _take(self, count: int) -> bytes:
        content = b""
        while len(content) < count:
            part = self.stream.recv(count - len(content))
            if not part:
                raise EOFError
            content += part
        return content

    def ask(self, entry: bytes, data: bytes = b"", wanted: int = 0) -> tuple[int, int, bytes]:
        """Return the first dword, the status and the data of a command."""
        place = struct.pack("<II3xB", len(data) or wanted, 0, 1 if data else 0x5A)
        entry = entry[:32] + place[:4] + b"\0\0\0" + place[-1:] + entry[40:]
        pdu = struct.pack("<BBBBI", 4, 0, 72, 72 if data else 0, 72 + len(data))
        self.stream.sendall(pdu + entry + data)
        found = b""
        while True:
            head = self._take(8)
            rest = self._take(struct.unpack("<I", head[4:])[0] - 8)
            if head[0] == 5:
                return struct.unpack("<I", rest[:4])[0], struct.unpack("<H", rest[14:16])[0], found
            assert head[0] == 7
            found += rest[16:]


def ranged(opcode: int, first: int = 0, count: int = 1) -> bytes:
    """Return the entry of a command for a range of blocks."""
    return struct.pack("<BBHI32xQI12x", opcode, 0x40, 2, 1, first, count - 1)


def begin(folder: Path, program: Path, *options: str) -> tuple[subprocess.Popen[str], list[str]]:
    """Start a server; return it and the lines that it prints when it is ready."""
    (folder / "device.yaml").write_text(DEVICE)
    words = [str(program), "serve", "--config", "device.yaml", "--result", "served.json", *options]
    server = subprocess.Popen(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    doors = sum(option in {"--socket", "--tcp", "--nvme"} for option in options)
    lines = [server.stdout.readline() for _ in range(doors)]
    if not lines[-1]:
        raise RuntimeError(server.communicate(timeout=LIMIT_S)[1])
    return server, lines


@contextlib.contextmanager
def ending(server: subprocess.Popen[str], folder: Path) -> Iterator[dict[str, Any]]:
    """Stop a server in the end; its document is in what is yielded then."""
    document: dict[str, Any] = {}
    try:
        yield document
    finally:
        server.send_signal(signal.SIGTERM)
        errors = server.communicate(timeout=LIMIT_S)[1]
    assert server.returncode == 0, errors
    document |= json.loads((folder / "served.json").read_text())


@contextlib.contextmanager
def connected(line: str) -> Iterator[tuple[Host, Host]]:
    """Connect the two queues of the drive that a ready line names."""
    found = re.fullmatch(r"ready nvme\+tcp://127\.0\.0\.1:(\d+)/(nqn\.\S+)\n", line)
    assert found is not None, line
    port, nqn = int(found[1]), found[2]
    admin = Host(port, nqn, 0)
    enable = struct.pack("<BBHB35xIII12x", 0x7F, 0x40, 2, 0, 0, 0x14, 0x460001)
    assert admin.ask(enable)[1] == 0
    queue = Host(port, nqn, 1, admin.controller)
    with admin.stream, queue.stream:
        yield admin, queue


@needs("nbdcopy")
def test_one_drive_has_two_doors(tmp_path: Path, command: Path) -> None:
    """What is written through one is read through the other, and one document has both."""
    doors = ("--socket", "drive.sock", "--nvme", "127.0.0.1:0", "--timing", "off")
    server, lines = begin(tmp_path, command, *doors, "--serial", "S1", "--record", "r.csv")
    with ending(server, tmp_path) as document, connected(lines[1]) as (admin, queue):
        page = admin.ask(struct.pack("<BBHI32xI20x", 6, 0x40, 2, 0, 1), wanted=4096)[2]
        assert page[4:24].rstrip() == b"S1"
        assert page[24:64].rstrip() == b"opennandlab device.yaml"
        content = noise(2 * BLOCK, 3)
        assert queue.ask(ranged(1, 5, 2), content)[1] == 0
        run("nbdcopy", f"nbd+unix:///?socket={tmp_path / 'drive.sock'}", tmp_path / "copy")
        assert (tmp_path / "copy").read_bytes()[5 * BLOCK : 7 * BLOCK] == content
        assert queue.ask(ranged(2, 5, 2), wanted=2 * BLOCK)[1:] == (0, content)
    assert document["requests"]["write"] == 1
    lines = (tmp_path / "r.csv").read_text().splitlines()
    assert sum(",write," in line for line in lines) == 1


def test_a_cut_ends_the_association(tmp_path: Path, command: Path) -> None:
    """Both queues end, and a host that comes back reads from its log that power failed."""
    doors = ("--nvme", "127.0.0.1:0", "--power-socket", "power", "--set", "ftl.gc_reserve_blocks=8")
    server, lines = begin(tmp_path, command, *doors)
    with ending(server, tmp_path):
        with connected(lines[0]) as (admin, queue):
            assert queue.ask(ranged(1, 5), noise(BLOCK, 1))[1] == 0
            ask(tmp_path / "power", "cut")
            for one in (admin, queue):
                with pytest.raises((EOFError, OSError)):
                    one.ask(ranged(0))
        with connected(lines[0]) as (admin, _):
            entry = struct.pack("<BBHI32xI20x", 2, 0x40, 2, 1, 2 | 127 << 16)
            log = admin.ask(entry, wanted=512)[2]
        assert struct.unpack("<Q", log[144:152]) == (1,)
        assert struct.unpack("<Q", log[112:120]) == (2,)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--nvme here", "--nvme: `here`; accepted: ADDRESS:PORT, such as 127.0.0.1:4420"),
        ("--nvme 0.0.0.0:0", "is not a loopback address"),
        ("--nvme 127.0.0.1:0 --nqn drive", "nqn: `drive`; accepted: `nqn.` and more"),
        ("--nvme 127.0.0.1:0 --serial 123456789012345678901", "serial: `1234"),
        ("--nvme 127.0.0.1:0 --lba 520", "lba: 520; accepted: 512, 4096"),
    ],
)
def test_what_cannot_be_is_refused(options: str, said: str, tmp_path: Path, command: Path) -> None:
    """Exit code 2, and a sentence with the value and what is accepted."""
    with pytest.raises(RuntimeError, match=r"^error") as refused:
        begin(tmp_path, command, *options.split())
    assert said in " ".join(str(refused.value).split())


def test_a_port_that_is_taken_is_refused(tmp_path: Path, command: Path) -> None:
    """Two servers on one port, and the socket that the second has made is gone."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RuntimeError, match="in use"):
            begin(tmp_path, command, "--socket", "s", "--nvme", f"127.0.0.1:{port}")
    assert not (tmp_path / "s").exists()
