"""A server of NVMe without privileges, and under hosts that are slow, greedy or wrong.

Each server is a process of its own, on loopback; its memory is what the kernel says of it.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from test_serve import DEVICE, LIMIT_S, noise

from opennandlab.serving.power import ask
from opennandlab.targets.nbd_wire import AnswerError
from opennandlab.targets.nvme_wire import (
    DATA,
    ENTRY,
    GET_LOG,
    HEAD,
    INITIALIZE,
    SGL,
    Link,
    Queue,
    parse_address,
    patient,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opennandlab.targets.nvme_wire import Address

BLOCK = 4096
CUTTABLE = ("--power-socket", "power", "--set", "ftl.gc_reserve_blocks=8")
NOBODY = 65534
# What a server may grow by, beyond the bytes that hosts have sent it.
SLACK_KB = 64 << 10


@dataclass(frozen=True)
class Privileges:
    """How a process is started.

    Args:
        prefix: Words before its command.
        user: Whose it is; None for the user of the test.
    """

    prefix: tuple[str, ...] = ()
    user: int | None = None

    def extra(self) -> dict[str, Any]:
        """Return the arguments of `subprocess`."""
        if self.user is None:
            return {}
        return {"user": self.user, "group": self.user, "extra_groups": []}


OWN = Privileges()


class Server:
    """A running server."""

    def __init__(self, folder: Path, *options: str, privileges: Privileges = OWN) -> None:
        (folder / "device.yaml").write_text(DEVICE)
        words = ["serve", "--config", "device.yaml", "--nvme", "127.0.0.1:0", *options]
        self.process = subprocess.Popen(
            [*privileges.prefix, sys.executable, "-m", "opennandlab", *words], cwd=folder,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **privileges.extra(),
        )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.startswith("ready "):
            raise RuntimeError(self.process.communicate(timeout=LIMIT_S)[1])
        self.address: Address = parse_address(line.split()[1])

    def fact(self, name: str) -> str:
        """Return what the kernel says of the process."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(line.split(":")[1].strip() for line in status.splitlines()
                    if line.startswith(f"{name}:"))  # fmt: skip

    def memory_kb(self) -> int:
        """Return its resident memory."""
        return int(self.fact("VmRSS").split()[0])

    def reach(self) -> socket.socket:
        """Return a connection on which nothing was said."""
        return socket.create_connection((self.address.host, self.address.port), LIMIT_S)

    def end(self) -> str:
        """Stop it; return what it printed as errors."""
        self.process.send_signal(signal.SIGTERM)
        errors = self.process.communicate(timeout=LIMIT_S)[1]
        assert self.process.returncode == 0, errors
        return errors


@contextlib.contextmanager
def serving(folder: Path, *options: str, privileges: Privileges = OWN) -> Iterator[Server]:
    """Serve until the end of the block."""
    server = Server(folder, *options, privileges=privileges)
    try:
        yield server
    except BaseException:
        server.process.kill()
        server.process.communicate()
        raise
    server.end()


def exchange(link: Link, seed: int, place: int = 0) -> None:
    """Write, flush and read as an orderly host does."""
    content = noise(2 * BLOCK, seed)
    link.write(place, content)
    link.flush()
    assert link.read(place, len(content)) == content


def without_privileges() -> Privileges:
    """Return how a process is started that has none: as a test without them, or as another user.

    Where others may not read this installation, root stays root and loses all capabilities.
    """
    if os.geteuid() != 0:
        return Privileges()
    dropping = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
    for found in (Privileges(user=NOBODY), Privileges(dropping)):
        trial = [*found.prefix, sys.executable, "-c", "import opennandlab"]
        with contextlib.suppress(OSError):
            done = subprocess.run(trial, capture_output=True, check=False, **found.extra())
            if done.returncode == 0:
                return found
    pytest.skip("others may not read this installation, and setpriv is missing")


def test_a_server_needs_no_privilege() -> None:
    """It has no capability while a host writes and reads."""
    found = without_privileges()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if found.user is not None:
            os.chown(folder, found.user, found.user)
        with serving(folder, "--save-image", "drive.onl", privileges=found) as server:
            link = Link(server.address)
            for seed in range(8):
                exchange(link, seed, seed * 2 * BLOCK)
                for sort in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
                    assert int(server.fact(sort), 16) == 0
            link.close()
        assert (folder / "drive.onl").stat().st_size > 0


def test_hosts_that_say_nothing_are_let_go_and_others_come(tmp_path: Path) -> None:
    """As many as may be connected at once, silent or half way: ten seconds later all are gone."""
    begin = INITIALIZE.pack(0, 0, 128, 0, 128, 0, 0, 0, 0)
    halves = [b"", begin[:100], begin, begin + HEAD.pack(4, 0, 72, 72, 1096) + b"\x7f"]
    with serving(tmp_path) as server, contextlib.ExitStack() as stack:
        before = server.memory_kb()
        silent = [stack.enter_context(server.reach()) for _ in range(64)]
        for number, one in enumerate(silent):
            one.sendall(halves[number % 4])
        ends = time.monotonic() + LIMIT_S
        while True:
            with contextlib.suppress(OSError):
                link = Link(server.address)
                break
            assert time.monotonic() < ends, "no host gets in"
            time.sleep(0.2)
        exchange(link, 1)
        link.close()
        assert server.memory_kb() - before < SLACK_KB
        for one in silent:
            with contextlib.suppress(ConnectionResetError):
                while one.recv(1 << 16):
                    pass


def test_a_host_that_dribbles_is_let_go_too(tmp_path: Path) -> None:
    """Ten seconds are for all of its beginning, and not for each byte of it."""
    with serving(tmp_path) as server, server.reach() as one:
        begin = INITIALIZE.pack(0, 0, 128, 0, 128, 0, 0, 0, 0)
        sent = 0
        with contextlib.suppress(ConnectionError):
            for byte in begin:
                one.sendall(bytes([byte]))
                time.sleep(0.5)
                sent += 1
        assert sent < len(begin)
        link = Link(server.address)
        exchange(link, 2)
        link.close()


def test_connections_without_an_end_are_refused(tmp_path: Path) -> None:
    """Of queues, controllers and connections there is a greatest number each."""
    with serving(tmp_path) as server, contextlib.ExitStack() as stack:
        orderly = Link(server.address)
        before = server.memory_kb()
        host = b"h" * 16
        admin = Queue(server.address, 0, host_id=host)
        stack.callback(admin.close)
        admin.ask(0x7F, 0, struct.pack("<IIQ8x", 0, 0x14, 0x460001))
        queues = 0
        for number in range(1, 200):
            with contextlib.suppress(AnswerError):
                queue = Queue(server.address, number, admin.controller, host)
                stack.callback(queue.close)
                queues += 1
        assert queues == 8
        controllers = 0
        for _ in range(40):
            with contextlib.suppress(OSError):
                stack.callback(Queue(server.address, 0).close)
                controllers += 1
        assert controllers == 14
        connections = [stack.enter_context(server.reach()) for _ in range(200)]
        for one in connections:
            with contextlib.suppress(OSError):
                one.sendall(bytes(64))
        exchange(orderly, 3)
        assert server.memory_kb() - before < SLACK_KB
        stack.close()
        patient(server.address).close()
        orderly.close()


def stuffed(queue: Queue) -> int:
    """Ask for as many large writes as fit into a queue, and send all but the end of each."""
    stream, part = queue._socket, bytes([7]) * (96 << 10)
    for number in range(32):
        words = struct.pack("<QI12x", 0, 31)
        entry = ENTRY.pack(1, SGL, number, 1, 128 << 10, 0x5A, words)
        stream.sendall(HEAD.pack(4, 0, 72, 0, 72) + entry)
        kind, _, rest = queue._pdu()
        assert kind == 9
        tag = struct.unpack_from("<H", rest, 2)[0]
        stream.sendall(
            HEAD.pack(6, 0, 24, 24, 24 + len(part)) + DATA.pack(number, tag, 0, len(part))
        )
        stream.sendall(part)
    return 32 * len(part)


def test_halves_of_writes_take_their_own_bytes_and_no_more(tmp_path: Path) -> None:
    """All queues of several hosts are full of writes that never end; then power fails."""
    with serving(tmp_path, *CUTTABLE) as server:
        orderly = Link(server.address)
        exchange(orderly, 4)
        before, sent, queues = server.memory_kb(), 0, []
        for number in range(4):
            host = bytes([number]) * 16
            admin = Queue(server.address, 0, host_id=host)
            admin.ask(0x7F, 0, struct.pack("<IIQ8x", 0, 0x14, 0x460001))
            queues += [
                admin,
                *(Queue(server.address, it, admin.controller, host) for it in (1, 2, 3, 4)),
            ]
            sent += sum(stuffed(queue) for queue in queues[-4:])
        # A write holds its whole length as soon as a part of it has come.
        assert server.memory_kb() - before < sent * 4 // 3 // 1024 + SLACK_KB
        exchange(orderly, 5)
        ask(tmp_path / "power", "cut")
        for queue in queues:
            queue.close()
        orderly.close()
        link = patient(server.address)
        assert link.read(0, 2 * BLOCK) == noise(2 * BLOCK, 5), "no half of a write is there"
        assert link.unsafe_shutdowns() == 1
        link.close()


def test_a_host_that_reads_no_reply_is_not_waited_for(tmp_path: Path) -> None:
    """Its replies are kept up to a bound; others are served meanwhile."""
    with serving(tmp_path) as server:
        orderly, greedy = Link(server.address), Link(server.address)
        greedy.write(0, noise(128 << 10, 1))
        before = server.memory_kb()
        stream = greedy._queue._socket
        stream.settimeout(1)
        words = struct.pack("<QI12x", 0, 31)
        with contextlib.suppress(TimeoutError):
            for number in range(100_000):
                entry = ENTRY.pack(2, SGL, number & 0x7FFF, 1, 128 << 10, 0x5A, words)
                stream.sendall(HEAD.pack(4, 0, 72, 0, 72) + entry)
        exchange(orderly, 6)
        assert server.memory_kb() - before < (96 << 10) + SLACK_KB
        greedy.close()
        orderly.close()


@pytest.mark.parametrize(
    ("offset", "length", "status"),
    [
        (508, 4, None),
        (0, 1024, None),
        (512, 4, "0/02h"),
        (2, 4, "0/02h"),
        (1 << 62, 512, "0/02h"),
        ((1 << 64) - 4, 512, "0/02h"),
        (0, 1 << 20, "0/02h"),
        (0, 1 << 34, "0/02h"),
    ],
)
def test_parts_of_a_log_are_inside_of_it(
    tmp_path: Path, offset: int, length: int, status: str | None
) -> None:
    with serving(tmp_path) as server:
        link = Link(server.address)
        dwords = length // 4 - 1
        words = struct.pack("<HHIQ8x", 2, dwords & 0xFFFF, dwords >> 16, offset)
        admin = link._admin
        if status is None:
            found = admin.ask(GET_LOG, 0xFFFF_FFFF, words, wanted=length)[1]
            assert found[:4] == link.log(2, 512)[offset : offset + 4]
        else:
            with pytest.raises(AnswerError, match=status):
                admin.ask(GET_LOG, 0xFFFF_FFFF, words, wanted=min(length, 1 << 17))
        exchange(link, 7)
        link.close()


def throw(server: Server, stopping: threading.Event, seed: int) -> None:
    """Connect again and again with something that makes no sense."""
    stream = random.Random(seed)  # noqa: S311 (no secret)
    while not stopping.is_set():
        with contextlib.suppress(OSError), server.reach() as one:
            one.settimeout(0.2)
            begin = INITIALIZE.pack(0, 0, 128, 0, 128, 0, 0, 0, 0) if stream.random() < 0.7 else b""
            entry = HEAD.pack(4, 0, 72, 72, 72 + 1024) if stream.random() < 0.5 else b""
            one.sendall(begin + entry + stream.randbytes(stream.randrange(1200)))
            one.recv(1024)


def test_garbage_while_the_power_fails(tmp_path: Path) -> None:
    """What an orderly host has flushed is there behind each of the cuts, all of them counted."""
    with serving(tmp_path, *CUTTABLE) as server:
        stopping = threading.Event()
        throwers = [threading.Thread(target=throw, args=(server, stopping, it)) for it in range(4)]
        before = server.memory_kb()
        for one in throwers:
            one.start()
        try:
            for cut in range(20):
                link = patient(server.address)
                exchange(link, cut, cut * 2 * BLOCK)
                link.write(100 * BLOCK, noise(8 * BLOCK, cut))
                ask(tmp_path / "power", "cut")
                link.close()
                link = patient(server.address)
                for seed in range(cut + 1):
                    assert link.read(seed * 2 * BLOCK, 2 * BLOCK) == noise(2 * BLOCK, seed)
                assert link.unsafe_shutdowns() == cut + 1
                link.close()
        finally:
            stopping.set()
            for one in throwers:
                one.join()
        assert server.memory_kb() - before < SLACK_KB


def test_a_second_server_of_a_name_is_allowed_with_a_warning(tmp_path: Path) -> None:
    """Both serve, with the same identifiers, which is what the warning says."""
    names = ("--nqn", f"nqn.2014-08.org.example:{os.getpid()}", "--timing", "off")
    (tmp_path / "other").mkdir()
    first = Server(tmp_path, *names)
    second = Server(tmp_path / "other", *names)
    links = [Link(server.address) for server in (first, second)]
    assert links[0].serial == links[1].serial
    for link in links:
        exchange(link, 8)
        link.close()
    said = " ".join(second.end().split())
    assert "another server of this machine is nqn.2014-08.org.example:" in said
    assert "accepted: another --nqn" in said
    assert "another server" not in first.end()
    third = Server(tmp_path, *names)
    assert "another server" not in third.end()
