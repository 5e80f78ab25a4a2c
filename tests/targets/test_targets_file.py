"""What fio really does on a small file: addresses, limits, pieces, interruption."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from opennandlab.targets import file as file_module
from opennandlab.targets.base import (
    ActiveRange,
    Limit,
    Measurement,
    Step,
    Stimulus,
    TargetError,
    Zone,
)
from opennandlab.targets.consent import Consent
from opennandlab.targets.file import FileTarget
from opennandlab.targets.fio import job, runner
from opennandlab.targets.fio import target as target_module
from opennandlab.targets.fio.runner import Fio, find_fio
from opennandlab.targets.nbd import NbdTarget
from opennandlab.targets.nbd_wire import negotiate, parse_address
from real_drives import Serve, needs_fio, needs_nbdkit, servers

MIB = 1 << 20
SIZE = 64 * MIB
ALLOWED = Consent(destructive=True)
ECW = (
    *((512, 4.0), (1024, 1.0), (1536, 1.0), (2048, 1.0), (2560, 1.0), (3072, 1.0), (3584, 1.0)),
    *((4096, 67.0), (8192, 10.0), (16384, 7.0), (32768, 3.0), (65536, 3.0)),
)
# A greeting, and the head of a reply to NBD_OPT_INFO.
REPLY = b"NBDMAGICIHAVEOPT\x00\x03\x00\x03\xe8\x89\x04\x55\x65\xa9"
ECW_ZONES = (Zone(0.05, 0.5), Zone(0.15, 0.3), Zone(0.8, 0.2))


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    """Make one file for all tests that only read and write it."""
    folder = tmp_path_factory.mktemp("file")
    made = FileTarget(folder / "target.img", SIZE, folder=folder / "fio")
    yield made
    made.close()


@pytest.fixture
def logged(target, tmp_path, monkeypatch):
    """Return what runs a stimulus and gives every request that fio issued, leg by leg."""
    plain = job.job_text
    legs: list[Path] = []

    def with_log(*arguments):
        legs.append(tmp_path / f"{len(legs)}.log")
        return plain(*arguments) + f"write_iolog={legs[-1]}\n"

    monkeypatch.setattr(job, "job_text", with_log)

    def go(
        stimulus: Stimulus, limit: Limit, seed: int = 42
    ) -> tuple[Measurement, list[np.ndarray]]:
        first = len(legs)
        found = target.run(stimulus, limit, seed=seed)
        return found, [requests_of(path) for path in legs[first:]]

    return go


def requests_of(path: Path) -> np.ndarray:
    """Read an iolog: int64, (requests, 3) of is_read, offset, bytes, in the order of issue."""
    rows = [line.split() for line in path.read_text().splitlines()]
    return np.array(
        [
            (fields[2] == "read", int(fields[3]), int(fields[4]))
            for fields in rows
            if len(fields) == 5 and fields[2] in {"read", "write"}
        ],
        dtype=np.int64,
    )


@needs_fio
def test_a_new_file_says_what_it_is(target):
    facts = target.facts()
    assert facts.device.capacity_bytes == target.capacity_bytes == SIZE
    assert target.sector_bytes in {512, 4096}
    assert facts.device.serial_sha256 is None
    assert facts.platform["fio_version"].startswith("fio-3.")
    for key in ("cpu", "ram_bytes", "os", "kernel", "driver"):
        assert facts.platform[key]
    assert target.set_cache(enabled=False) == "unknown"
    assert not target.is_virtual
    assert target.checkpoint() is None


@needs_fio
def test_purge_gives_blocks_back_and_takes_them_again(target):
    target.path.write_bytes(b"x" * SIZE)
    done = target.purge()
    assert not done.is_purge
    assert "not purged" in done.note
    assert target.path.stat().st_size == SIZE
    assert target.path.stat().st_blocks * 512 >= SIZE
    assert not any(target.path.read_bytes())


@needs_fio
def test_the_enterprise_workload_is_what_was_asked_for(logged):
    """Binomial bounds of 4.5 sigma on sizes, reads and zones; independence of the three."""
    n = 100_000
    stimulus = Stimulus("random", 40, ECW, 1, 32, zones=ECW_ZONES)
    _, (requests,) = logged(stimulus, Limit(ios=n))
    assert len(requests) == n
    is_read, offset, size = requests.T

    def near(found: np.ndarray, share: float) -> bool:
        return abs(found.sum() - n * share) <= 4.5 * (n * share * (1 - share)) ** 0.5

    assert near(is_read == 1, 0.4)
    for block, percent in ECW:
        assert near(size == block, percent / 100), block
    for first, last, share in ((0, 0.05, 0.5), (0.05, 0.2, 0.3), (0.2, 1, 0.2)):
        inside = (offset >= first * SIZE) & (offset < last * SIZE)
        assert near(inside, share)
        # Uniform within its zone: chi-square of 9 degrees of freedom, 1e-6 beyond 45.
        counts, _ = np.histogram(offset[inside], bins=10, range=(first * SIZE, last * SIZE))
        assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < 45
    assert not (offset % 4096).any()
    assert (offset + size).max() <= SIZE
    for one, other in ((is_read, size), (is_read, offset), (size, offset)):
        assert abs(np.corrcoef(one, other)[0, 1]) < 4.5 / n**0.5


@needs_fio
def test_addresses_reach_all_of_a_large_drive(tmp_path, monkeypatch):
    """A source of 32 bits would leave most of 8 TiB out; blocks of 4 KiB need 31 of them."""
    path = tmp_path / "large.img"
    path.touch()
    try:
        os.truncate(path, 8 << 40)
    except OSError:
        pytest.skip("this file system has no sparse files of 8 TiB")
    plain = job.job_text
    log = tmp_path / "log"
    monkeypatch.setattr(job, "job_text", lambda *given: f"{plain(*given)}write_iolog={log}\n")
    large = FileTarget(path, consent=ALLOWED, folder=tmp_path / "fio")
    large.run(Stimulus("random", 100, 512, 1, 8, align_bytes=512), Limit(ios=5000), seed=3)
    large.close()
    offset = requests_of(log)[:, 1]
    counts, _ = np.histogram(offset, bins=10, range=(0, 8 << 40))
    assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < 45
    # Each address bit from 2^9 to 2^42 is set half of the time.
    for bit in range(9, 43):
        assert abs((offset >> bit & 1).sum() - 2500) <= 4.5 * 1250**0.5, bit
    assert len(set(offset.tolist())) == 5000


@needs_fio
def test_another_seed_gives_other_addresses_and_the_same_seed_the_same(logged):
    stimulus = Stimulus("random", 0, 4096, 1, 1)
    runs = [logged(stimulus, Limit(ios=50), seed)[1][0] for seed in (1, 1, 2)]
    assert (runs[0] == runs[1]).all()
    assert (runs[0][:, 1] != runs[2][:, 1]).mean() > 0.9


@needs_fio
def test_a_stream_goes_on_where_the_last_one_ended_and_wraps(logged):
    stimulus = Stimulus("sequential", 0, MIB, 1, 4)
    first, (one,) = logged(stimulus, Limit(bytes=40 * MIB))
    assert first.end_bytes == 40 * MIB
    assert one[:, 1].tolist() == [place * MIB for place in range(40)]
    again = Stimulus("sequential", 0, MIB, 1, 4, start_bytes=first.end_bytes)
    second, (two, three) = logged(again, Limit(bytes=40 * MIB))
    assert two[:, 1].tolist() == [place * MIB for place in range(40, 64)]
    assert three[:, 1].tolist() == [place * MIB for place in range(16)]
    assert second.end_bytes == 16 * MIB
    assert second.written_bytes == 40 * MIB
    assert second.writes.ios == 40


@needs_fio
def test_threads_have_equal_slices_and_pass_over_them(logged):
    """Two capacities in all, as preconditioning asks: each slice is written twice."""
    stimulus = Stimulus("sequential", 0, 128 << 10, 4, 2)
    found, (requests,) = logged(stimulus, Limit(bytes=2 * SIZE))
    assert found.written_bytes == 2 * SIZE
    assert found.writes.ios == 1024
    # Threads write one log together: a few of its lines are mixed up.
    counts = np.bincount(requests[:, 1] // (128 << 10), minlength=512)[:512]
    assert (counts == 2).sum() >= 500


@needs_fio
def test_segments_are_all_that_is_touched(logged, target):
    active = ActiveRange(1.0, 8 * MIB)
    where = job.layout(target.place(), Stimulus(active_range=active))
    for pattern in ("random", "sequential"):
        stimulus = Stimulus(pattern, 0, 4096, 1, 4, active_range=active)
        _, legs = logged(stimulus, Limit(bytes=16 * MIB))
        requests = np.concatenate(legs)
        segment, within = np.divmod(requests[:, 1], where.stride_bytes)
        assert within.max() < where.segment_bytes
        counts = np.bincount(segment, minlength=100)
        assert len(counts) == 100
        # 41 requests per segment and pass; at random within 5 sigma.
        assert abs(counts - len(requests) / 100).max() <= 5 * (len(requests) / 100) ** 0.5
    assert any("100 segments" in text for text in target.deviations)


@needs_fio
def test_all_limits_are_reached(target):
    stimulus = Stimulus("random", 50, 4096, 2, 4)
    found = target.run(stimulus, Limit(seconds=0.2, ios=40_000, bytes=200 * MIB), seed=1)
    assert found.seconds >= 0.2 - 0.01
    assert found.ios >= 40_000
    assert found.reads.bytes + found.writes.bytes >= 200 * MIB
    assert found.inside["legs"] >= 2
    capped = target.run(stimulus, Limit(ios=10**9, seconds_max=0.3), seed=1)
    assert capped.seconds > 0.25
    assert capped.ios == capped.latency.count < 10**9


@needs_fio
def test_a_ramp_is_left_out_of_what_is_measured(target):
    stimulus = Stimulus("random", 0, 4096, 1, 4)
    timed = target.run(stimulus, Limit(seconds=0.5, ramp_ratio=0.4), seed=1)
    assert timed.seconds >= 0.29
    assert timed.elapsed_s == pytest.approx(timed.seconds + 0.2)
    estimate = timed.inside["ramp_bytes_estimated"]
    assert timed.written_bytes == timed.writes.bytes + estimate
    assert estimate == pytest.approx(timed.writes.bytes * 0.2 / timed.seconds, rel=0.01)
    counted = target.run(stimulus, Limit(ios=1000, ramp_ratio=0.1), seed=1)
    assert counted.ios == 900
    assert counted.written_bytes == 1000 * 4096


@needs_fio
def test_pieces_in_time_add_up(target):
    seen = []
    found = target.run(
        Stimulus("random", 30, 4096, 2, 4),
        Limit(seconds=1.2),
        seed=1,
        sample_s=0.2,
        watch=seen.append,
    )
    assert 1 <= len(found.samples) <= 7
    # Counts are brought to 0.2 s each; at their true lengths they are all that there were.
    ends = [0.0, *(piece.end_s for piece in found.samples)]
    counted = sum(
        piece.ios * (end - start) / 0.2
        for piece, (start, end) in zip(found.samples, pairwise(ends), strict=True)
    )
    assert counted == pytest.approx(found.ios, abs=2 * len(found.samples) * max(1, ends[-1] / 0.2))
    assert all(later.end_s > former.end_s for former, later in pairwise(found.samples))
    assert found.samples[-1].end_s == pytest.approx(found.seconds, abs=0.02)
    assert max(piece.latency_us_max for piece in found.samples) == found.latency.max_ns * 1e-3
    assert seen
    assert all(0 <= step.fraction <= 1 for step in seen)


@needs_fio
def test_ctrl_c_stops_fio(target, monkeypatch):
    """Pressed when bytes have moved; fio has 0.15 s at most to end, first asked, then made."""
    monkeypatch.setattr(target_module, "PROGRESS_S", 0.1)
    stopped = []
    plain = runner.stop

    def stop(process: subprocess.Popen[bytes]) -> None:
        stopped.append((process, process.poll()))
        plain(process)

    def press(step: Step) -> None:
        if step.fraction:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(runner, "stop", stop)
    with pytest.raises(KeyboardInterrupt):
        target.run(Stimulus("random", 0, 4096, 4, 8), Limit(bytes=1 << 50), seed=1, watch=press)
    ((process, before),) = stopped
    assert before is None  # it was running
    assert process.wait() != 0
    assert runner.GRACE_S * 1.5 <= 0.2
    again = target.run(Stimulus("random", 100), Limit(ios=10), seed=1)
    assert again.ios == 10


@needs_fio
def test_files_that_must_not_or_cannot_be_used(tmp_path):
    held = tmp_path / "held"
    held.write_bytes(b"letters" * 1_000_000)
    before = held.read_bytes()
    cases = [
        ((held,), {}, "holds 7000000 bytes, which would be lost; --destructive"),
        ((held, 4 * MIB), {"consent": ALLOWED}, "exists with 7000000 bytes, not"),
        ((tmp_path / "none",), {}, "no such file; .*size=1GiB makes one"),
        ((tmp_path, 4 * MIB), {}, "not a regular file"),
        ((Path("/dev/null"),), {"consent": ALLOWED}, "not a regular file"),
        ((tmp_path / "none" / "deep", 4 * MIB), {}, "cannot be made: No such file"),
        ((tmp_path / "tiny", 4096), {}, "too few; at least 2 MiB"),
        ((tmp_path / "huge", 1 << 56), {}, "cannot be taken: No space left"),
        ((tmp_path / "a\nb", 4 * MIB), {}, "names with control characters"),
    ]
    for arguments, named, words in cases:
        with pytest.raises(TargetError, match=words):
            FileTarget(*arguments, **named)
    assert held.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["held"]


@needs_fio
def test_a_file_that_holds_something_is_used_with_consent(tmp_path):
    held = tmp_path / "held"
    held.write_bytes(b"x" * 4 * MIB)
    target = FileTarget(held, consent=ALLOWED)
    assert target.capacity_bytes == 4 * MIB
    with pytest.raises(TargetError, match="another run is using it"):
        FileTarget(held, consent=ALLOWED)
    target.close()
    target.close()
    assert not target.folder.exists()
    assert held.exists()


@needs_fio
def test_fio_chooses_its_clock_once(tmp_path):
    """A third of a short leg went by while fio tried its clocks, in each process again."""
    target = FileTarget(tmp_path / "a.img", 4 * MIB, folder=tmp_path / "one")
    clock = target.place().clock
    assert clock in {"cpu", "clock_gettime"}
    found = target.run(Stimulus("random", 100), Limit(ios=10), seed=1)
    target.close()
    assert found.ios == 10
    (text,) = [path.read_text() for path in (tmp_path / "one").glob("*-t1-q1.fio")]
    assert f"\nclocksource={clock}\n" in text


@needs_fio
def test_a_fio_that_does_not_tell_its_clock_chooses_it_each_time(tmp_path):
    real = find_fio()
    script = tmp_path / "fio"
    script.write_text(
        '#!/bin/sh\ncase "$*" in *--debug*) '
        "echo 'fio: debug tracing not included in build' >&2; exit 1;; esac\n"
        f'exec {real.path} "$@"\n'
    )
    script.chmod(0o755)
    quiet = Fio(str(script), real.version)
    target = FileTarget(tmp_path / "a.img", 4 * MIB, folder=tmp_path / "two", fio=quiet)
    assert target.place().clock is None
    target.run(Stimulus("random", 100), Limit(ios=10), seed=1)
    target.close()
    (text,) = [path.read_text() for path in (tmp_path / "two").glob("*-t1-q1.fio")]
    assert "clocksource" not in text


@needs_fio
def test_an_empty_file_that_cannot_be_filled_stays_as_it_was(tmp_path):
    """`file:empty?size=900TiB` removed the user's file, and through a link the link."""
    empty, soft, hard = tmp_path / "empty", tmp_path / "soft", tmp_path / "hard"
    empty.touch(mode=0o640)
    soft.symlink_to(empty)
    os.link(empty, hard)
    before = empty.stat()
    for path in (empty, soft, hard):
        with pytest.raises(TargetError, match="cannot be taken"):
            FileTarget(path, 900 << 40)
    assert soft.is_symlink()
    after = empty.stat()
    assert (after.st_ino, after.st_mode, after.st_nlink, after.st_size) == (
        (before.st_ino, before.st_mode, 2, 0)
    )
    broken = Fio("/nowhere/fio", "fio-3.33")
    for path in (empty, tmp_path / "new"):
        with pytest.raises(TargetError, match="No such file"):
            FileTarget(path, 4 * MIB, fio=broken)
    assert empty.stat().st_size == 0
    assert not (tmp_path / "new").exists()


def test_a_link_to_nothing_makes_no_file_elsewhere(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / "link").symlink_to(elsewhere)
    with pytest.raises(TargetError, match="cannot be made: it is a link to nothing"):
        FileTarget(tmp_path / "link", 4 * MIB)
    assert not elsewhere.exists()
    assert (tmp_path / "link").is_symlink()


@needs_fio
def test_a_file_that_vanishes_or_changes_is_an_error(tmp_path):
    target = FileTarget(tmp_path / "a.img", 4 * MIB)
    os.truncate(target.path, 3 * MIB)
    with pytest.raises(TargetError, match="replaced or resized"):
        target.run(Stimulus(), Limit(ios=10), seed=1)
    target.path.unlink()
    for verb in (target.purge, lambda: target.run(Stimulus(), Limit(ios=10), seed=1)):
        with pytest.raises(TargetError, match="the file is gone"):
            verb()
    assert not target.path.exists()
    target.close()


@needs_fio
def test_a_folder_of_the_run_that_vanishes_or_is_full_is_named(tmp_path, monkeypatch):
    target = FileTarget(tmp_path / "a.img", 4 * MIB, folder=tmp_path / "fio")
    full = SimpleNamespace(f_bavail=0)
    monkeypatch.setattr(target_module.os, "statvfs", lambda _: full)
    monkeypatch.setattr(target_module, "run_fio", lambda *_: 0)
    with pytest.raises(TargetError, match=f"fio ended with status 0: no space left in {tmp_path}"):
        target.run(Stimulus(), Limit(ios=10), seed=1)
    monkeypatch.undo()
    (tmp_path / "fio").rename(tmp_path / "elsewhere")
    with pytest.raises(TargetError, match=f"the folder of the run {tmp_path}/fio is gone"):
        target.run(Stimulus(), Limit(ios=10), seed=1)
    target.close()


@needs_fio
def test_file_systems_without_direct_io_are_refused(tmp_path, monkeypatch):
    def refuse(path, flags, *rest):
        if flags & os.O_DIRECT:
            raise OSError(22, "Invalid argument")
        return plain(path, flags, *rest)

    plain = os.open
    monkeypatch.setattr(file_module.os, "open", refuse)
    with pytest.raises(TargetError, match=r"refuses direct I/O .*page cache"):
        FileTarget(tmp_path / "a.img", 4 * MIB)
    assert not (tmp_path / "a.img").exists()


@needs_fio
def test_memory_is_no_drive(tmp_path, monkeypatch):
    monkeypatch.setattr(file_module, "file_system_of", lambda _path: "tmpfs")
    target = FileTarget(tmp_path / "a.img", 4 * MIB)
    assert target.deviations == ["the file lies in memory (tmpfs): no drive is measured"]
    target.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Serve]:
    """Return what starts an NBD server, for a test's length."""
    with servers(tmp_path) as serve:
        yield serve


@needs_fio
@needs_nbdkit
def test_an_export_is_measured(served, tmp_path):
    uri = served("memory", str(16 * MIB + 512)).uri
    with pytest.raises(TargetError, match="--destructive allows that"):
        NbdTarget(uri)
    target = NbdTarget(uri, consent=ALLOWED, folder=tmp_path / "fio")
    assert (target.capacity_bytes, target.sector_bytes) == (16 * MIB + 512, 512)
    found = target.run(Stimulus("random", 40, 4096, 2, 4), Limit(ios=2000), seed=1)
    assert found.ios == 2000
    assert found.latency.count == 2000
    written = target.imprint()
    assert written.identity == ""
    # Random requests for 30 % of 4096 places: 26 % of them, as 128 of them show.
    assert written.written_share == pytest.approx(0.25, abs=0.16)
    assert target.purge().is_purge
    assert target.imprint().written_share == 0
    assert target.set_cache(enabled=True) == "unknown"
    zeros = target.write_zeros()
    assert not zeros.is_purge
    assert target.facts().device.can_trim
    target.close()


@needs_fio
@needs_nbdkit
def test_exports_without_trim_are_filled_with_zeros_and_read_only_ones_refused(served, tmp_path):
    parts = tmp_path / "split.img"
    parts.write_bytes(b"x" * (4 * MIB + 512))
    target = NbdTarget(served("split", str(parts)).uri, consent=ALLOWED, folder=tmp_path / "fio")
    assert target.purge().method == "zeros over the whole range"
    target.close()
    assert parts.read_bytes() == bytes(4 * MIB + 512)
    with pytest.raises(TargetError, match="read-only"):
        NbdTarget(served("--readonly", "memory", "16M").uri, consent=ALLOWED)


@needs_fio
@needs_nbdkit
def test_an_export_that_vanishes_ends_the_test(served, tmp_path, monkeypatch):
    """The words are fio's and depend on what it was doing; that it failed, and where, are ours."""
    server = served("memory", "16M")
    target = NbdTarget(server.uri, consent=ALLOWED, folder=tmp_path / "fio")
    monkeypatch.setattr(target_module, "PROGRESS_S", 0.1)

    def kill_in_the_middle(step: Step) -> None:
        if step.fraction:  # bytes have moved
            server.kill()

    with pytest.raises(TargetError, match=r"fio failed .*error \[\d+\].*job file: .*0001-rand"):
        target.run(Stimulus(), Limit(bytes=1 << 50), seed=1, watch=kill_in_the_middle)
    with pytest.raises(TargetError, match="Connection refused"):
        target.run(Stimulus(), Limit(seconds=20), seed=1)
    target.close()


@needs_nbdkit
def test_old_servers_are_understood(served):
    plain = negotiate(parse_address(served("memory", "16M").uri))
    old = negotiate(parse_address(served("--mask-handshake=0", "memory", "16M").uri))
    assert (old.size_bytes, old.can_trim) == (plain.size_bytes, plain.can_trim)


def answering(path: Path, answer: bytes) -> threading.Thread:
    """Be a server that says one thing and hangs up."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve() -> None:
        with listener, listener.accept()[0] as link:
            link.sendall(answer)
            link.shutdown(socket.SHUT_WR)
            with suppress(ConnectionResetError):
                while link.recv(4096):
                    pass

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "closed the connection"),
        (b"HTTP/1.1 400 Bad Request\r\n", "not an NBD server"),
        (b"NBDMAGICIHAVEOPT\x00\x03" + b"\xff" * 20, "does not follow the protocol"),
        (
            REPLY + b"\x00\x00\x00\x06\x80\x00\x00\x06\x00\x00\x00\x00",
            "has no export 'x'",
        ),
        (
            REPLY + b"\x00\x00\x00\x06\x80\x00\x00\x02\x00\x00\x00\x02no",
            "refuses export 'x': error 2 no",
        ),
        (b"NBDMAGICIHAVEOPT\x00\x00", "has no export 'x'"),
    ],
)
def test_servers_that_are_none(tmp_path, answer, words):
    path = tmp_path / "s"
    thread = answering(path, answer)
    with pytest.raises(TargetError, match=words):
        negotiate(parse_address(f"nbd+unix:///x?socket={path}"))
    thread.join()


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("nbd+unix:///x", "names no socket"),
        ("nbd+unix://host/x?socket=/s", "names no socket"),
        ("http://host/x", "not the address of an export"),
        ("nbd://host:99999/x", "nbd://host:99999/x: "),
        ("nbd+unix:///a b?socket=/s", "%20"),
    ],
)
def test_addresses_that_are_none(uri, words):
    with pytest.raises(TargetError, match=words):
        parse_address(uri)


def test_addresses_that_are_some():
    found = parse_address("nbd+unix:///my%20drive?socket=/run/s.sock")
    assert (found.export, found.socket) == ("my drive", "/run/s.sock")
    found = parse_address("nbd://localhost/d")
    assert (found.host, found.port, found.export, found.socket) == ("localhost", 10809, "d", None)
    with pytest.raises(TargetError, match="No such file"):
        negotiate(parse_address("nbd+unix:///?socket=/nowhere/s"))
