"""Losses of power of a drive that is served over NVMe, seen by a host of our own.

A relay between host and drive breaks promises that no option of a drive breaks.
"""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab.cli import app as command_line
from opennandlab.documents.power_loss import PowerDocument
from opennandlab.measured.ocp import count, logs_of
from opennandlab.serving.power import ask
from opennandlab.serving.server import Plan, Served
from opennandlab.studies.power.campaign import SMALL
from opennandlab.studies.power.outside.campaign import Campaign, Settings
from opennandlab.studies.power.outside.disks import NvmeDisk, opened
from opennandlab.studies.power.outside.host import Ask, Asking
from opennandlab.studies.power.outside.supply import Switched
from opennandlab.studies.power.outside.telling import document
from opennandlab.targets import nvme_wire
from opennandlab.targets.base import TargetError
from opennandlab.targets.consent import Consent
from opennandlab.targets.nbd_wire import AnswerError

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 4096
MINE = Consent(destructive=True)
SHORT = ("--cuts", "5", "--span-mib", "8", "--after-ms", "20:80", "--destructive", "--quiet")


def noise(count: int, seed: int) -> bytes:
    """Return bytes that nobody else has written."""
    return bytes((place * 31 + seed * 97 + (place >> 8)) & 0xFF for place in range(count))


def served(folder: Path, changes: dict[str, Any] | None = None, **more: Any) -> Served:
    """Serve a drive with a buffer of 64 pages, ten times as fast as its model."""
    ftl = {**SMALL["ftl"], "write_buffer_pages": 64, "write_frontiers": "host_gc"}
    device = onl.load_device({**SMALL, "ftl": ftl}, changes)
    places = {"nvme": "127.0.0.1:0", "power_socket": folder / "p", **more}
    return Served(Plan(device=device, timing="scaled:0.1", **places))


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[Served]:
    """Serve an honest drive."""
    found = served(tmp_path)
    yield found
    assert found.stop().passed


def run(folder: Path, drive: Served, *options: str) -> tuple[int, str, PowerDocument]:
    """Carry out a campaign from the command line."""
    words = ["power", "run", "--target", drive.uris[-1], "--output", str(folder / "cuts"),
             "--power-socket", str(folder / "p"), *SHORT, *options]  # fmt: skip
    done = CliRunner().invoke(command_line, words)
    found = onl.load(folder / "cuts" / "power.json")
    assert isinstance(found, PowerDocument)
    return done.exit_code, " ".join(done.output.split()), found


@pytest.mark.parametrize("lba", [512, 4096])
def test_an_honest_drive_passes_and_counts_each_cut(tmp_path: Path, lba: int) -> None:
    drive = served(tmp_path, lba=lba)
    code, text, found = run(tmp_path, drive, "--claims", "honest-flush,rzat")
    assert code == 0, text
    assert (found.cuts, found.classes, found.errors) == (5, {}, [])
    assert found.device["interface"] == "nvme-tcp"
    assert opened(drive.uris[0], MINE).unsafe_shutdowns() == 5
    told = drive.stop()
    assert told.power is not None
    assert told.power.unsafe_shutdowns == 5
    assert told.passed


def test_ignored_flushes_are_found(tmp_path: Path) -> None:
    drive = served(tmp_path, {"power.flush": "ignored"})
    code, text, found = run(tmp_path, drive, "--workload", "sync")
    drive.stop()
    assert code == 1
    assert "lost_flushed" in text
    assert found.violations["G1"] > 0


class Relay:
    """Between hosts and a drive; takes force unit access away from writes.

    Args:
        address: Of the drive.
    """

    def __init__(self, address: nvme_wire.Address) -> None:
        self._to = (address.host, address.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.uri = f"nvme+tcp://127.0.0.1:{self._listener.getsockname()[1]}/{address.nqn}"
        self.forced = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no further host."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                host = self._listener.accept()[0]
                drive = socket.create_connection(self._to)
                for pump in (self._down, self._up):
                    threading.Thread(target=pump, args=(host, drive), daemon=True).start()

    def _up(self, host: socket.socket, drive: socket.socket) -> None:
        with host, drive, suppress(OSError):
            while data := drive.recv(1 << 16):
                host.sendall(data)
            # Closing waits for the other way, which may have a request that came too late.
            host.shutdown(socket.SHUT_RDWR)

    def _down(self, host: socket.socket, drive: socket.socket) -> None:
        with suppress(OSError), host.makefile("rb") as stream:
            while len(head := stream.read(8)) == 8:
                pdu = bytearray(head + stream.read(int.from_bytes(head[4:], "little") - 8))
                # A capsule with a write; the bit is of dword 12.
                if pdu[0] == 4 and pdu[8] == 1 and pdu[8 + 51] & 0x40:
                    pdu[8 + 51] &= ~0x40
                    self.forced += 1
                drive.sendall(pdu)
        with suppress(OSError):
            drive.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("is_honest", [False, True])
def test_force_unit_access_that_is_none_is_found(
    tmp_path: Path, drive: Served, *, is_honest: bool
) -> None:
    """Each write is forced and then cut, with no flush that would hide it."""
    relay = Relay(nvme_wire.parse_address(drive.uris[0]))
    disk = opened(drive.uris[0] if is_honest else relay.uri, MINE)
    for value in range(4):
        link, content = disk.connect(), noise(8 * BLOCK, value)
        link.write(0, content, is_forced=True)
        ask(tmp_path / "p", "cut")
        with pytest.raises(ConnectionError):
            link.read(0, BLOCK)
        link.close()
        link = disk.connect()
        assert (link.read(0, len(content)) == content) == is_honest
        link.close()
    relay.close()
    assert relay.forced == (0 if is_honest else 4)


def test_lying_force_unit_access_breaks_a_campaign(
    tmp_path: Path, drive: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each write is forced, and none is flushed."""
    monkeypatch.setattr(
        Asking, "next", lambda it: Ask("write", it.stream.randrange(it.units), 1, is_forced=True)
    )
    relay = Relay(nvme_wire.parse_address(drive.uris[0]))
    settings = Settings(3, workloads=("random",), span_bytes=1 << 20, after_ms=(50.0, 100.0))
    made = Campaign(settings, opened(relay.uri, MINE), Switched(tmp_path / "p", 60.0), tmp_path)
    made.to_the_end()
    relay.close()
    found = document(made, "x", 0.0)
    assert relay.forced > 0
    assert "lost_flushed" in found.classes
    assert found.errors == []


def test_what_was_not_answered_is_sent_again_and_kept(tmp_path: Path, drive: Served) -> None:
    """The log of each cut has what was open, and the next cut takes none of that away."""
    disk = opened(drive.uris[0], MINE)
    settings = Settings(6, workloads=("random", "hot"), span_bytes=8 << 20, after_ms=(20.0, 60.0))
    made = Campaign(settings, disk, Switched(tmp_path / "p", 60.0), tmp_path)
    made.to_the_end()
    assert sum(cycle["sent_again"] for cycle in made.cycles) > 0
    found = document(made, "x", 0.0)
    assert (found.classes, found.errors) == ({}, [])


def test_a_shutdown_that_was_announced_loses_nothing(tmp_path: Path, drive: Served) -> None:
    """CC.SHN takes what is in memory to the flash; no loss of power is counted for it."""
    disk, content = opened(drive.uris[0], MINE), noise(48 * BLOCK, 1)
    link = disk.connect()
    link.write(0, content)
    link.shut_down()
    assert link.unsafe_shutdowns() == 0
    link.close()
    ask(tmp_path / "p", "cut")
    link = disk.connect()
    assert link.read(0, len(content)) == content
    # Without it the same is gone, in part at least.
    link.write(0, noise(48 * BLOCK, 2))
    ask(tmp_path / "p", "cut")
    link.close()
    link = disk.connect()
    assert link.read(0, len(content)) != noise(48 * BLOCK, 2)
    assert link.unsafe_shutdowns() == 2
    link.close()


def feature(link: nvme_wire.Link, opcode: int, value: int = 0) -> int:
    """Set or get the write cache."""
    words = struct.pack("<II16x", 6, value)
    return link._admin.ask(opcode, 0, words)[0]


def test_a_cache_that_is_switched_off_holds_nothing(tmp_path: Path, drive: Served) -> None:
    """Each write is on the flash when it is answered; the next power has the default again."""
    disk = opened(drive.uris[0], MINE)
    link = disk.connect()
    assert feature(link, 0x0A) == 1
    feature(link, 0x09, 0)
    assert feature(link, 0x0A) == 0
    content = noise(48 * BLOCK, 3)
    link.write(0, content)
    ask(tmp_path / "p", "cut")
    link.close()
    link = disk.connect()
    assert link.read(0, len(content)) == content
    assert feature(link, 0x0A) == 1
    link.close()


def test_no_host_is_connected_while_the_power_is_off(tmp_path: Path, drive: Served) -> None:
    disk = opened(drive.uris[0], MINE)
    link = disk.connect()
    ask(tmp_path / "p", "off")
    for attempt in (lambda: link.read(0, BLOCK), disk.connect, disk.capacity_bytes):
        with pytest.raises(OSError, match=r"closed|reset|refused|pipe"):
            attempt()
    link.close()
    ask(tmp_path / "p", "on")
    assert disk.capacity_bytes() == disk.facts()["capacity_bytes"]


def test_more_hosts_than_controllers_wait_or_are_refused(drive: Served) -> None:
    address = nvme_wire.parse_address(drive.uris[0])
    with ExitStack() as stack:
        links = [nvme_wire.Link(address) for _ in range(16)]
        for link in links[1:]:
            stack.callback(link.close)
        with pytest.raises(AnswerError, match="status 1/81h"):
            nvme_wire.Link(address)
        threading.Timer(0.2, links[0].close).start()
        nvme_wire.patient(address).close()


def test_data_of_all_lengths_goes_both_ways(drive: Served) -> None:
    """In the capsule, asked for, and in several commands."""
    link = nvme_wire.Link(nvme_wire.parse_address(drive.uris[0]))
    for blocks in (1, 4, 5, 32, 33, 70):
        content = noise(blocks * BLOCK, blocks)
        link.write(blocks * BLOCK, content)
        assert link.read(blocks * BLOCK, len(content)) == content
    link.trim(70 * BLOCK, BLOCK)
    assert link.read(70 * BLOCK, BLOCK) == bytes(BLOCK)
    with pytest.raises(AnswerError, match="status 0/80h"):
        link.read(link.size_bytes, BLOCK)
    with pytest.raises(OSError, match="blocks have 4096"):
        link.read(1, BLOCK)
    assert link.read(0, BLOCK) == bytes(BLOCK), "an answer ends no connection"
    link.close()


def test_logs_of_a_served_drive_are_read_from_their_bytes(drive: Served) -> None:
    """C0h and C3h of the front, byte for byte, by the reader of real drives' logs."""
    link = nvme_wire.Link(nvme_wire.parse_address(drive.uris[0]))
    link.write(0, noise(64 * BLOCK, 1))
    link.flush()
    health, slow = (logs_of(link.log(page, 512), f"{page:x}h") for page in (0xC0, 0xC3))
    link.close()
    assert health.smart_add_log is not None
    assert count(health.smart_add_log["physical_media_units_written"]) >= 64 * BLOCK
    assert health.smart_add_log["log_page_version"] == 3
    assert slow.latency_monitor_log is not None
    limits = [slow.latency_monitor_log[f"Active Threshold {it}"] for it in "ABCD"]
    assert limits == [30, 100, 155, 235]


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("nvme+tcp://127.0.0.1:1/nqn.a", "refused"),
        ("nvme+tcp://127.0.0.1:4420/", "accepted: nvme\\+tcp://HOST"),
        ("nvme+tcp://127.0.0.1:4420/drive", "accepted: nvme\\+tcp://HOST"),
        ("nvme+tcp://127.0.0.1:high/nqn.a", "accepted: nvme\\+tcp://HOST"),
        ("nvme+tcp://a b/nqn.a", "accepted: nvme\\+tcp://HOST"),
    ],
)
def test_addresses_that_are_none(uri: str, said: str) -> None:
    with pytest.raises(TargetError, match=said):
        NvmeDisk(uri, MINE)


def test_a_drive_needs_consent_and_its_name(tmp_path: Path, drive: Served) -> None:
    with pytest.raises(TargetError, match="--destructive allows that"):
        NvmeDisk(drive.uris[0], Consent())
    with pytest.raises(TargetError, match="status 1/82h"):
        NvmeDisk(drive.uris[0] + "x", MINE)
    guarded = served(tmp_path, read_only=True, power_socket=None)
    with pytest.raises(TargetError, match="write protected"):
        NvmeDisk(guarded.uris[0], MINE)
    guarded.stop()


def test_a_key_of_the_host_that_has_no_effect_is_named(tmp_path: Path) -> None:
    drive = served(tmp_path, {"host.max_transfer_bytes": 65536})
    assert any(text.startswith("host.max_transfer_bytes has no effect") for text in drive.warnings)
    drive.stop()
