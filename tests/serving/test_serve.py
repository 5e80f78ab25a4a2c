"""A served drive under the clients that people have: libnbd, qemu, fio, and the kernel.

Oracles: what was written comes back by another program, fio's own checksums, `qemu-img compare`,
`fsck`. Servers are processes of their own, on Unix sockets in the folder of the test; each test
ends those that it started.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

DEVICE = """
nand: {channels: 2, dies_per_channel: 2, planes_per_die: 1,
       blocks_per_plane: 40, pages_per_block: 64}
ftl: {over_provisioning_pct: 0.2, write_buffer_pages: 64}
"""
LIMIT_S = 60
# What a server is started with; here a fork, elsewhere a process that is itself the server.
START = [sys.executable, "-m", "opennandlab"]


@pytest.fixture(autouse=True)
def forked(command: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the tests of this file the start of an interpreter for each server and client."""
    monkeypatch.setattr(sys.modules[__name__], "START", [str(command)])


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skip a test where a program is not installed."""
    lacking = [name for name in programs if shutil.which(name) is None]
    return pytest.mark.skipif(bool(lacking), reason=f"not installed: {', '.join(lacking)}")


class Server:
    """A process of `opennandlab serve`."""

    def __init__(self, folder: Path, *options: object, device: str | None = DEVICE) -> None:
        self.socket = folder / "socket"
        self.uri = f"nbd+unix:///?socket={self.socket}"
        self.result = folder / "served.json"
        command = [*START, "serve", "--socket", self.socket]
        if device is not None:
            (folder / "device.yaml").write_text(device)
            command += ["--config", folder / "device.yaml"]
        self.process = subprocess.Popen(
            [*map(str, command), "--result", str(self.result), *map(str, options)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        ready = self.process.stdout.readline()  # which ends where the process ends
        if not ready:
            raise RuntimeError(self.process.communicate(timeout=LIMIT_S)[1])
        assert ready == f"ready {self.uri}\n"

    def stop(self) -> dict[str, Any]:
        """End it as a service manager does; return what it did."""
        self.process.send_signal(signal.SIGTERM)
        _, errors = self.process.communicate(timeout=LIMIT_S)
        assert (self.process.returncode, self.socket.exists()) == (0, False), errors
        document: dict[str, Any] = json.loads(self.result.read_text())
        assert document["passed"], document["checks"]
        return document


@contextlib.contextmanager
def serving(folder: Path, *options: object, device: str | None = DEVICE) -> Iterator[Server]:
    """Serve a drive, and end the server whatever happens."""
    server = Server(folder, *options, device=device)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.communicate(timeout=LIMIT_S)


def run(*command: object, check: bool = True) -> str:
    """Run a client; return what it printed."""
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0 or not check, done.stdout + done.stderr
    return done.stdout


def noise(count: int, seed: int) -> bytes:
    """Return bytes that look random."""
    return random.Random(seed).randbytes(count)  # noqa: S311 (no secret)


def content(folder: Path, count: int, seed: int = 1) -> Path:
    """Make a file of random bytes."""
    path = folder / f"content{seed}.img"
    path.write_bytes(noise(count, seed))
    return path


@needs("nbdinfo")
def test_what_is_announced(tmp_path: Path) -> None:
    """Size, block sizes and flags are those of the interface."""
    with serving(tmp_path, "--timing", "off") as server:
        known = json.loads(run("nbdinfo", "--json", server.uri))
        export = known["exports"][0]
        assert known["protocol"] == "newstyle-fixed"
        sizes = [export[f"block_size_{name}"] for name in ("minimum", "preferred", "maximum")]
        assert sizes == [512, 4096, 32 << 20]
        for flag in ("can_flush", "can_fua", "can_trim", "can_zero", "can_multi_conn", "can_cache"):
            assert export[flag], flag
        assert not export["is_read_only"]
        assert "base:allocation" in export["contexts"]
        holes = json.loads(run("nbdinfo", "--map", "--json", server.uri))
        assert [(row["offset"], row["type"]) for row in holes] == [(0, 3)]
        assert (
            holes[0]["length"] == export["export-size"] == int(run("nbdinfo", "--size", server.uri))
        )
        server.stop()


@needs("nbdcopy", "qemu-img")
@pytest.mark.parametrize("timing", ["off", "real"])
def test_copies_come_back_after_a_restart(tmp_path: Path, timing: str) -> None:
    """Bytes survive SIGTERM in the image; the drive goes on from there."""
    image = tmp_path / "drive.onl"
    source = content(tmp_path, 4 << 20)
    with serving(tmp_path, "--timing", timing, "--save-image", image) as server:
        run("nbdcopy", "--flush", source, server.uri)
        run("qemu-img", "compare", "-f", "raw", "-F", "raw", source, server.uri)
        first = server.stop()
    assert first["requests"]["write"] > 0
    assert first["drive"]["buffered_pages"] == 0
    with serving(tmp_path, "--timing", "off", "--image", image, device=None) as server:
        run("qemu-img", "compare", "-f", "raw", "-F", "raw", source, server.uri)
        # Holes are holes still.
        assert '"hole' in run("nbdinfo", "--map", "--json", server.uri)
        assert server.stop()["drive"]["mapped_pages"] == first["drive"]["mapped_pages"]


@needs("fio")
def test_collections_move_what_fio_wrote(tmp_path: Path) -> None:
    """A drive that is overwritten three times, with checksums of fio on every block."""
    with serving(tmp_path, "--timing", "off") as server:
        job = tmp_path / "job.fio"
        job.write_text(
            f"[j]\nioengine=nbd\nuri={server.uri}\nrw=randwrite\nbs=4k\niodepth=32\nsize=30M\n"
            "loops=3\nverify=crc32c\nverify_fatal=1\nverify_backlog=512\nrandseed=7\n"
            "verify_state_save=0\nfsync=256\n"
        )
        said = run("fio", "--output-format=json", job)
        report = json.loads(said[said.index("{") :])["jobs"][0]
        assert report["error"] == 0
        assert report["read"]["total_ios"] >= 3 * (30 << 8)
        document = server.stop()
    assert document["drive"]["collections"] > 100
    assert document["drive"]["moved_pages"] > 0
    assert document["checks"] == {
        "contradiction": None, "media_errors": 0, "media_errors_by_cause": {},
        "silent_errors": 0, "faults_struck": 0, "passed": True,
    }  # fmt: skip


@needs("nbdcopy", "nbdinfo")
def test_a_killed_server_leaves_the_last_image(tmp_path: Path) -> None:
    """SIGKILL loses what was not saved, and nothing else: image, lock and socket are usable."""
    image = tmp_path / "drive.onl"
    source = content(tmp_path, 1 << 20)
    with serving(tmp_path, "--timing", "off", "--save-image", image) as server:
        run("nbdcopy", source, server.uri)
        server.stop()
    saved = image.read_bytes()
    with serving(tmp_path, "--timing", "off", "--image", image, device=None) as server:
        run("nbdcopy", content(tmp_path, 1 << 20, seed=2), server.uri)
        with pytest.raises(RuntimeError, match="is being served by another process"):
            Server(tmp_path / "..", "--timing", "off", "--image", image, device=None)
        server.process.kill()
        server.process.communicate(timeout=LIMIT_S)
    assert image.read_bytes() == saved
    with serving(tmp_path, "--timing", "off", "--image", image, device=None) as server:
        run("nbdcopy", server.uri, tmp_path / "back.img")
        assert (tmp_path / "back.img").read_bytes()[: 1 << 20] == source.read_bytes()
        server.stop()
    assert not list(tmp_path.glob(".*")), "neither locks nor parts of files stay"


@needs("nbdcopy")
def test_a_reader_changes_nothing(tmp_path: Path) -> None:
    """Writes are refused, and the image stays as it is."""
    image = tmp_path / "drive.onl"
    with serving(tmp_path, "--timing", "off", "--save-image", image) as server:
        server.stop()
    saved = image.read_bytes()
    with serving(
        tmp_path, "--timing", "off", "--readonly", "--image", image, device=None
    ) as server:
        source = content(tmp_path, 4096)
        done = subprocess.run(
            ["nbdcopy", source, server.uri], capture_output=True, timeout=LIMIT_S, check=False
        )
        assert done.returncode != 0
        server.stop()
    assert image.read_bytes() == saved


def test_garbage_ends_connections_alone(tmp_path: Path) -> None:
    """Thousands of messages that nobody should send; `tools/garbage.py` sends more."""
    sys.path.insert(0, str(ROOT / "tools"))
    from garbage import messages, send

    with serving(tmp_path, "--timing", "off") as server:
        for message in messages(seed=5, count=3000):
            send(str(server.socket), message)
        # What garbage wrote is of no value; the server still answers, and the drive is sound.
        document = server.stop()
        assert document["run"]["accepted"] == 3000
        # Some got through to the drive, and were refused there.
        assert document["errors"] > 1000


@needs("nbdcopy")
def test_records_replay(tmp_path: Path) -> None:
    """A record has every request once, in order, and other programs read its other forms."""
    source = content(tmp_path, 1 << 20)
    volumes = {}
    for suffix in (".csv", ".iolog", ".blkparse"):
        record = tmp_path / f"record{suffix}"
        with serving(tmp_path, "--timing", "off", "--record", record) as server:
            run("nbdcopy", "--flush", source, server.uri)
            document = server.stop()
        replayed = json.loads(
            run(
                *START, "replay", record, "--config",
                tmp_path / "device.yaml", "--closed-loop", 4, "--json",
            )
        )  # fmt: skip
        volumes[suffix] = replayed["metrics"]["host_bytes_written"]
        if suffix == ".csv":
            rows = [line.split(",") for line in record.read_text().splitlines()[1:]]
            assert [int(row[0]) for row in rows] == list(range(len(rows)))
            assert len(rows) == sum(document["requests"].values())
            for row in rows:
                arrive, target, reply = map(int, row[6:])
                assert arrive <= target <= reply
    assert set(volumes.values()) == {1 << 20}


def test_what_cannot_be_served_is_said(tmp_path: Path) -> None:
    """Exit code 2 and a sentence, before anything is made."""
    # A device such as /dev/null would be lost just so; a pipe is one that a test may lose.
    os.mkfifo(tmp_path / "pipe")
    for options, message in (
        (("--timing", "fast"), "accepted: `real`, `off`"),
        (("--tcp", "0.0.0.0:0"), "is not a loopback address"),
        (("--tcp", "here"), "ADDRESS:PORT"),
        (("--record", tmp_path), "directory"),
        (("--save-image", tmp_path / "pipe"), "must not be replaced"),
        (("--record", tmp_path / "pipe"), "must not be replaced"),
        (("--set", "nand.dies_per_channel=0"), "nand.dies_per_channel"),
    ):
        done = subprocess.run(
            [*START, "serve", "--config", "tlc_standard",
             "--set", "nand.blocks_per_plane=40", "--socket", str(tmp_path / "socket"),
             *map(str, options)],
            capture_output=True, text=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip
        assert done.returncode in {2, 3}, done.stderr
        assert message in " ".join(done.stderr.split()), done.stderr
        assert not (tmp_path / "socket").exists()


def mountable() -> str | None:
    """Return why no file system can be mounted here; None where it can."""
    if os.geteuid() != 0:
        return "not root"
    for path in ("/dev/fuse", "/dev/loop-control"):
        if not os.access(path, os.R_OK | os.W_OK):
            return f"no access to {path}"
    lacking = [name for name in ("nbdfuse", "mkfs.ext4", "losetup", "fstrim", "mount")
               if shutil.which(name) is None]  # fmt: skip
    return f"not installed: {', '.join(lacking)}" if lacking else None


@pytest.mark.skipif(mountable() is not None, reason=mountable() or "")
def test_a_file_system_lives_on_it(tmp_path: Path) -> None:
    """mkfs, files, fstrim, umount, fsck; the server sees flushes and trims."""
    with serving(tmp_path, "--timing", "off") as server, contextlib.ExitStack() as stack:
        disk, place = tmp_path / "disk", tmp_path / "mount"
        disk.touch()
        place.mkdir()
        fuse = subprocess.Popen(["nbdfuse", str(disk), server.uri])
        stack.callback(fuse.wait, timeout=LIMIT_S)
        stack.callback(run, "umount", disk, check=False)
        # `nbdfuse` says nothing when it is ready: the size of the file does.
        deadline = time.monotonic() + LIMIT_S
        while disk.stat().st_size == 0:
            assert fuse.poll() is None
            assert time.monotonic() < deadline
        try:
            loop = run("losetup", "--find", "--show", "--direct-io=on", disk).strip()
        except AssertionError as error:
            pytest.skip(f"no loop device: {error}")
        stack.callback(run, "losetup", "--detach", loop, check=False)
        assert str(disk) in run("losetup", "--list", "--noheadings", loop)
        run("mkfs.ext4", "-q", "-E", "nodiscard", loop)
        run("mount", loop, place)
        stack.callback(run, "umount", place, check=False)
        for number in range(40):
            (place / f"file{number}").write_bytes(noise(100_000, number))
        for number in range(0, 40, 2):
            (place / f"file{number}").unlink()
        os.sync()
        run("fstrim", place)
        run("umount", place)
        run("fsck.ext4", "-f", "-n", loop)  # exit code 0: no errors
        run("mount", loop, place)
        for number in range(1, 40, 2):
            found = (place / f"file{number}").read_bytes()
            assert found == noise(100_000, number)
        run("umount", place)
        stack.close()
        document = server.stop()
    assert document["drive"]["flushes"] > 1
    assert document["drive"]["trimmed_bytes"] > 0


def test_a_recipe_can_be_typed(tmp_path: Path) -> None:
    """Nothing is done without `--run`, and what `attach` did not make is left alone."""
    onl = START
    socket = tmp_path / "socket"
    said = json.loads(run(*onl, "attach", "--socket", socket, "--mount", tmp_path / "m", "--json"))
    assert said["uri"] == f"nbd+unix:///?socket={socket}"
    commands = said["recipe"]["up"]
    assert commands[-2].startswith("mkfs.ext4 /dev/")
    assert said["recipe"]["down"][0] == f"umount {tmp_path / 'm'}"
    assert list(tmp_path.iterdir()) == []
    done = subprocess.run(
        [*onl, "detach", "/", "--run"], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 2
    assert "was not made by" in done.stderr


@pytest.mark.skipif(mountable() is not None, reason=mountable() or "")
def test_attach_takes_down_what_it_made(tmp_path: Path) -> None:
    """`attach --run` gives a file system, `detach --run` leaves nothing."""
    onl = START
    place = tmp_path / "mount"
    with serving(tmp_path, "--timing", "off") as server:
        options = ("--socket", server.socket, "--mount", place, "--json")
        made = json.loads(run(*onl, "attach", "--run", *options))["attached"]
        try:
            (place / "file").write_bytes(noise(50_000, 1))
            assert (place / "file").read_bytes() == noise(50_000, 1)
            again = subprocess.run(
                [*map(str, (*onl, "attach", "--run", *options))],
                capture_output=True, timeout=LIMIT_S, check=False,
            )  # fmt: skip
            assert again.returncode == 2
        finally:
            run(*onl, "detach", place, "--run")
        assert not place.is_mount()
        assert not Path(made["file"]).exists()
        server.stop()


FILE_SYSTEMS = {
    "ext4": ("mkfs.ext4", ["fsck.ext4", "-f", "-n"]),
    "xfs": ("mkfs.xfs", ["xfs_repair", "-n"]),
    "btrfs": ("mkfs.btrfs", ["btrfs", "check"]),
}
# 580 MB: the least of xfs are 300.
ROOMY = """
nand: {channels: 2, dies_per_channel: 2, planes_per_die: 1, blocks_per_plane: 160,
       pages_per_block: 256, page_size_bytes: 4096}
ftl: {over_provisioning_pct: 0.15}
"""


@pytest.mark.skipif(mountable() is not None, reason=mountable() or "")
@pytest.mark.parametrize("kind", [pytest.param("ext4", marks=pytest.mark.always), "xfs", "btrfs"])
def test_applications_on_file_systems(kind: str, tmp_path: Path) -> None:
    """Files are overwritten until the drive collects, contacts are made, and all of it is sound."""
    make, check = FILE_SYSTEMS[kind]
    if shutil.which(make) is None:
        pytest.skip(f"not installed: {make}")
    onl = START
    place = tmp_path / "mount"
    with serving(tmp_path, "--timing", "off", device=ROOMY) as server:
        options = ("--socket", server.socket, "--mount", place, "--fs", kind, "--json")
        made = json.loads(run(*onl, "attach", "--run", *options))["attached"]
        try:
            for seed in range(4):
                (place / "large").write_bytes(noise(180_000_000, seed))
                os.sync()
            target = ("--target", f"dir:{place}", "--case", "contact=10", "--runs", "1")
            live = json.loads(run(*onl, "app", "run", *target, "--json"))
            assert live["passed"], live["checks"]
            assert live["cases"][0]["response_ms"]["count"] == 10
            run("fstrim", place)
            run("umount", place)
            run(*check, made["device"])
            run("mount", made["device"], place)
            assert (place / "large").read_bytes() == noise(180_000_000, 3)
        finally:
            run(*onl, "detach", place, "--run")
        document = server.stop()
    assert document["drive"]["collections"] > 0
    assert document["drive"]["trimmed_bytes"] > 0
