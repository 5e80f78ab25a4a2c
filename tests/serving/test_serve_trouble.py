"""A served drive in trouble: killed, short of room, in the way of others, damaged."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_serve import LIMIT_S, Server, content, mountable, needs, noise, run, serving

from documents import blocks
from opennandlab.base.errors import ConfigError, ImageError
from opennandlab.serving.power import Switch, ask
from opennandlab.serving.server import Plan, Served, locked
from places import ROOT

LARGE = """
nand: {channels: 2, dies_per_channel: 2, planes_per_die: 1, blocks_per_plane: 80,
       pages_per_block: 128}
ftl: {over_provisioning_pct: 0.2}
"""
SMALL = """
nand: {channels: 1, dies_per_channel: 2, planes_per_die: 1, blocks_per_plane: 24,
       pages_per_block: 16, page_size_bytes: 4096, faults: [%s]}
ftl: {over_provisioning_pct: 0.4}
host: {protection: %s}
"""


@needs("nbdcopy", "qemu-img")
def test_a_server_killed_in_mid_save_leaves_the_last_image(tmp_path: Path) -> None:
    """SIGKILL while the new image is half written: the old one is whole, and loads."""
    image = tmp_path / "drive.onl"
    source = content(tmp_path, 1 << 20)
    with serving(tmp_path, "--timing", "off", "--save-image", image, device=LARGE) as server:
        run("nbdcopy", source, server.uri)
        server.stop()
    saved = image.read_bytes()
    with serving(tmp_path, "--timing", "off", "--image", image, device=None) as server:
        # Long enough to write that the kill comes in between.
        run("nbdcopy", content(tmp_path, 96 << 20, seed=2), server.uri)
        server.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + LIMIT_S
        while not [it for it in tmp_path.glob(".drive.onl.*.tmp") if it.stat().st_size > 1 << 20]:
            assert server.process.poll() is None, "it saved before it could be killed"
            assert time.monotonic() < deadline
        server.process.kill()
        server.process.communicate(timeout=LIMIT_S)
        assert server.process.returncode == -signal.SIGKILL
    assert image.read_bytes() == saved
    assert list(tmp_path.glob(".drive.onl.*.tmp")), "it was not killed while it saved"
    with serving(tmp_path, "--timing", "off", "--image", image, device=None) as server:
        run("nbdcopy", server.uri, tmp_path / "back.img")
        assert (tmp_path / "back.img").read_bytes()[: 1 << 20] == source.read_bytes()
        server.stop()
    assert not list(tmp_path.glob(".*")), "the half of the image that was killed is gone"


@needs("nbdcopy")
def test_an_image_that_finds_no_room_leaves_the_last_one(tmp_path: Path) -> None:
    """Files may not grow above 1 MiB, as on a full disk: exit code 3, the old image stays."""
    image = tmp_path / "drive.onl"
    with serving(tmp_path, "--timing", "off", "--save-image", image) as server:
        server.stop()
    saved = image.read_bytes()
    with serving(tmp_path, "--timing", "off", "--image", image, device=None) as server:
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        run("nbdcopy", content(tmp_path, 4 << 20), server.uri)
        server.process.send_signal(signal.SIGTERM)
        _, errors = server.process.communicate(timeout=LIMIT_S)
    assert server.process.returncode == 3, errors
    assert "what was there stays" in " ".join(errors.split())
    assert image.read_bytes() == saved
    assert not list(tmp_path.glob(".*"))
    assert not server.socket.exists()


def test_a_record_is_kept_where_the_image_cannot_be_saved(tmp_path: Path) -> None:
    image, record = tmp_path / "folder" / "drive.onl", tmp_path / "record.csv"
    image.parent.mkdir()
    with serving(tmp_path, "--timing", "off", "--save-image", image, "--record", record) as server:
        shutil.rmtree(image.parent)
        server.process.send_signal(signal.SIGTERM)
        _, errors = server.process.communicate(timeout=LIMIT_S)
    assert server.process.returncode == 3, errors
    assert "cannot write" in errors
    assert record.read_text().startswith("seq,conn,op")
    assert not server.socket.exists()


def test_damaged_contents_are_refused_by_the_name_of_the_image(tmp_path: Path) -> None:
    image = tmp_path / "drive.onl"
    with serving(tmp_path, "--timing", "off", "--save-image", image) as server:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(server.socket))
            _negotiate(client)
            client.sendall(struct.pack(">IHHQQI", 0x25609513, 0, 1, 7, 0, 4096) + b"x" * 4096)
            client.recv(16, socket.MSG_WAITALL)
        server.stop()
    whole = image.read_bytes()
    # Where the drive ends and its contents begin.
    end = 24 + int.from_bytes(whole[12:20], "little")
    for length, said in (
        (len(whole) - 100, "`life` is cut off"),
        (end + 100, "contents are cut off"),
        (end, "is missing"),
    ):
        image.write_bytes(whole[:length])
        with pytest.raises(ImageError, match=rf"drive\.onl: .*{said}"):
            Served(Plan(image=image, timing="off", socket=tmp_path / "s"))


def test_who_says_nothing_keeps_nobody_from_the_power_switch(tmp_path: Path) -> None:
    path = tmp_path / "p"
    switch = Switch(path, lambda: 0, lambda: None)
    silent = [socket.socket(socket.AF_UNIX) for _ in range(20)]
    try:
        for one in silent:
            one.connect(str(path))
        assert ask(path, "cut") == {"ready_ms": 0.0}
    finally:
        for one in silent:
            one.close()
        switch.close()


def test_what_is_at_the_socket_is_left_alone(tmp_path: Path) -> None:
    """A file, a folder, and the socket of a server that answers; one of a dead server goes."""
    device = tmp_path / "device.yaml"
    with serving(tmp_path, "--timing", "off") as server:
        refused = _serve(device, server.socket)
        assert refused.returncode == 2
        assert "another server answers there" in " ".join(refused.stderr.split())
        server.stop()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    for name in ("file", "folder"):
        refused = _serve(device, tmp_path / name)
        assert (refused.returncode, "exists and is not a socket" in refused.stderr) == (2, True)
    assert (tmp_path / "file").read_text() == "mine"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "socket"))
    with serving(tmp_path, "--timing", "off") as server:
        server.stop()


def _serve(device: Path, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "opennandlab", "serve", "--config", device, "--socket", path],
        capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("timing", ["off", "scaled:0.001"])
def test_a_client_that_does_not_read_costs_bounded_memory(timing: str, tmp_path: Path) -> None:
    """It asks for 4 GB and reads nothing: the server keeps less than 300 MB more, and answers."""
    with serving(tmp_path, "--timing", timing) as server:
        before = _resident_bytes(server.process.pid)
        with socket.socket(socket.AF_UNIX) as greedy:
            greedy.connect(str(server.socket))
            _negotiate(greedy)
            greedy.settimeout(1.0)
            ask = b"".join(
                struct.pack(">IHHQQI", 0x25609513, 0, 0, number, 0, 1 << 20)
                for number in range(4096)
            )
            with pytest.raises(TimeoutError):
                greedy.sendall(ask * 100)
            assert _resident_bytes(server.process.pid) - before < 300 << 20
            with socket.socket(socket.AF_UNIX) as other:
                other.connect(str(server.socket))
                _negotiate(other)
                other.sendall(struct.pack(">IHHQQI", 0x25609513, 0, 0, 7, 0, 4096))
                reply = other.recv(16, socket.MSG_WAITALL)
                assert struct.unpack(">IIQ", reply)[1:] == (0, 7)
        server.stop()


def _negotiate(stream: socket.socket) -> None:
    stream.settimeout(LIMIT_S)
    stream.recv(18, socket.MSG_WAITALL)
    # NBD_FLAG_C_FIXED_NEWSTYLE and NO_ZEROES, then NBD_OPT_EXPORT_NAME of the empty name.
    stream.sendall(struct.pack(">I", 3) + struct.pack(">QII", 0x49484156454F5054, 1, 0))
    stream.recv(10, socket.MSG_WAITALL)


def _resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    ("protection", "found", "silent"),
    [("none", 0, 2), ("crc", 2, 0), ("{kind: dif, type: 1}", 2, 0), ("{kind: dif, type: 3}", 1, 1)],
)
def test_damage_below_is_an_error_and_never_data(
    protection: str, found: int, silent: int, tmp_path: Path
) -> None:
    """A changed bit and a misdirected write under what the device protects its data with."""
    faults = "{kind: corrupt, unit: 2, at_s: 0}, {kind: misdirected, unit: 3, to: 5, at_s: 0}"
    with serving(tmp_path, "--timing", "off", device=SMALL % (faults, protection)) as server:
        with socket.socket(socket.AF_UNIX) as stream:
            stream.connect(str(server.socket))
            _negotiate(stream)
            data = noise(8 * 4096, 3)
            stream.sendall(struct.pack(">IHHQQI", 0x25609513, 0, 1, 0, 0, len(data)) + data)
            assert struct.unpack(">IIQ", stream.recv(16, socket.MSG_WAITALL))[1] == 0
            refused = []
            for unit in range(8):
                ask = struct.pack(">IHHQQI", 0x25609513, 0, 0, unit, unit * 4096, 4096)
                stream.sendall(ask)
                errno = struct.unpack(">IIQ", stream.recv(16, socket.MSG_WAITALL))[1]
                if errno:
                    assert errno == 5  # EIO
                    refused.append(unit)
                    continue
                there = stream.recv(4096, socket.MSG_WAITALL)
                is_true = there == data[unit * 4096 : (unit + 1) * 4096]
                assert is_true or (unit in {2, 5} and silent)
        checks = server.stop()["checks"]
    assert set(refused) <= {2, 5}
    assert (checks["media_errors"], checks["silent_errors"]) == (found, silent)
    assert checks["faults_struck"] == 2
    assert sum(checks["media_errors_by_cause"].values()) == found


def test_faults_of_units_that_are_not_there_are_refused(tmp_path: Path) -> None:
    """A unit beyond the end is an error with its path, before anything is served."""
    for fault, path in (
        ("{kind: corrupt, unit: 100000, at_s: 0}", "nand.faults[0].unit"),
        ("{kind: misdirected, unit: 1, to: 100000, at_s: 0}", "nand.faults[0].to"),
        ("{kind: misdirected, unit: 1, to: 1, at_s: 0}", "nand.faults[0].to"),
    ):
        device = SMALL % (fault, "crc")
        with pytest.raises(RuntimeError, match=re.escape(path)):
            Server(tmp_path, "--timing", "off", device=device)


def lines_of(page: str) -> list[str]:
    """Return the commands of the indented blocks of a page, those that go on joined."""
    text = (ROOT / page).read_text(encoding="utf-8")
    fenced = {at for block in blocks(text) for at in range(len(block.lines) + block.start)
              if at >= block.start}  # fmt: skip
    lines = enumerate(text.splitlines())
    shown = [line[4:] for at, line in lines if line.startswith("    ") and at not in fenced]
    return "\n".join(shown).replace("\\\n", " ").splitlines()


@needs("nbdinfo", "nbdcopy")
def test_the_commands_of_the_page_work(tmp_path: Path) -> None:
    """Those of docs/serve.md, in order; those that need root and FUSE where both are there."""
    content(tmp_path, 1 << 20).rename(tmp_path / "some.img")
    place = tmp_path / "mnt"
    program = f"{sys.executable} -m opennandlab"
    server: subprocess.Popen[str] | None = None
    done = []
    try:
        for line in lines_of("docs/serve.md"):
            # A switch of power needs a drive that has one: test_power_outside.py turns it.
            if line.startswith(("seq,conn", "opennandlab power cut")):
                continue
            command = line.replace("opennandlab ", f"{program} ").replace("/mnt/drive", str(place))
            is_root = line.split()[0] in {"mkdir", "nbdfuse", "losetup", "mkfs.ext4", "mount"} | {
                "umount"
            } or re.match(r"opennandlab (attach|detach)", line)
            if is_root and (mountable() or not line.startswith("opennandlab")):
                continue
            if line.startswith("opennandlab serve"):
                if server is not None:
                    server.send_signal(signal.SIGTERM)
                    server.communicate(timeout=LIMIT_S)
                    assert server.returncode == 0
                server = subprocess.Popen(
                    ["bash", "-c", f"exec {command}"],
                    cwd=tmp_path, stdout=subprocess.PIPE, text=True,
                )  # fmt: skip
                assert server.stdout is not None
                assert server.stdout.readline().startswith("ready nbd+unix:///")
            else:
                subprocess.run(
                    ["bash", "-c", command], cwd=tmp_path, check=True, timeout=LIMIT_S,
                    capture_output=True, env={**os.environ, "PWD": str(tmp_path)},
                )  # fmt: skip
            done.append(line)
    finally:
        if server is not None:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=LIMIT_S)
    assert server is not None
    assert server.returncode == 0
    assert sum(line.startswith("opennandlab serve") for line in done) == 2
    assert any(line.startswith("nbdcopy") for line in done)


@pytest.mark.skipif(mountable() is not None, reason=mountable() or "")
def test_the_commands_by_hand_work(tmp_path: Path) -> None:
    """Those of docs/serve.md that go without `attach`, with the device that losetup printed."""
    place = tmp_path / "mnt"
    lines = [line for line in lines_of("docs/serve.md") if not line.startswith("opennandlab")]
    first = next(at for at, line in enumerate(lines) if line.startswith("mkdir"))
    with serving(tmp_path, "--timing", "off") as server:
        server.socket.rename(tmp_path / "drive.sock")
        device = ""
        for line in lines[first : lines.index("umount disk") + 1]:
            command = line.replace("/mnt/drive", str(place)).replace("/dev/loopN", device)
            if line.endswith("&"):
                command = command.replace(" &", " > fuse.log 2>&1 &")
            printed = subprocess.run(
                ["bash", "-c", command], cwd=tmp_path, check=True, timeout=LIMIT_S,
                capture_output=True, text=True, env={**os.environ, "PWD": str(tmp_path)},
            ).stdout  # fmt: skip
            if line.endswith("&"):
                deadline = time.monotonic() + LIMIT_S
                while (tmp_path / "disk").stat().st_size == 0:
                    assert time.monotonic() < deadline
            if line.startswith("losetup --find"):
                device = printed.strip()
        assert not place.is_mount()
        server.process.send_signal(signal.SIGTERM)
        server.process.communicate(timeout=LIMIT_S)
    assert device
    # By what lies behind it: its number may be another test's by now.
    assert str(tmp_path) not in run("losetup", "--list", "--noheadings", "--output", "BACK-FILE")


@pytest.mark.skipif(mountable() is not None, reason=mountable() or "")
def test_a_drive_in_use_is_not_detached(tmp_path: Path) -> None:
    """`detach` of a file system with an open file: an error, and all stays as it was."""
    onl = (sys.executable, "-m", "opennandlab")
    place = tmp_path / "mount"
    with serving(tmp_path, "--timing", "off") as server:
        options = ("--socket", server.socket, "--mount", place, "--json")
        made = json.loads(run(*onl, "attach", "--run", *options))["attached"]
        try:
            with (place / "file").open("wb") as file:
                file.write(noise(50_000, 1))
                refused = subprocess.run(
                    [*onl, "detach", place, "--run"],
                    capture_output=True, text=True, timeout=LIMIT_S, check=False,
                )  # fmt: skip
                assert refused.returncode == 3
                assert "busy" in refused.stderr
                assert place.is_mount()
                assert Path(made["file"]).exists()
            assert (place / "file").read_bytes() == noise(50_000, 1)
        finally:
            run(*onl, "detach", place, "--run")
        assert not place.is_mount()
        server.stop()


@pytest.mark.parametrize("how", ["symlink_to", "hardlink_to"])
def test_an_image_is_locked_under_all_of_its_names(how: str, tmp_path: Path) -> None:
    """The lock was next to the name as given: of two servers by two names one lost its data."""
    image, other = tmp_path / "d.onl", tmp_path / "elsewhere" / "l.onl"
    image.write_bytes(b"content")
    other.parent.mkdir()
    getattr(other, how)(image)
    for first, second in ((image, other), (other, image)):
        refused = pytest.raises(ConfigError, match=f"{second.name} is being served")
        with locked(first), refused, locked(second):
            pass
    # Read by one name and saved under another, by one server.
    with locked(image, other):
        pass
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["d.onl", "elsewhere", "l.onl"]


def test_an_image_stays_locked_while_another_file_takes_its_name(tmp_path: Path) -> None:
    image = tmp_path / "d.onl"
    image.write_bytes(b"before")
    with locked(image):
        (tmp_path / "new").write_bytes(b"after")
        (tmp_path / "new").replace(image)
        with pytest.raises(ConfigError, match="is being served"), locked(image):
            pass
    with locked(image):
        assert image.read_bytes() == b"after"
