"""What fio carries out of requests that are drawn here, seen by an NBD server that logs them."""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opennandlab.documents.record import plain
from opennandlab.pts import TESTS, Place, Settings, run_test
from opennandlab.pts.bench.runner import BrokenError
from opennandlab.targets import file as file_module
from opennandlab.targets.base import Limit, Logs, Skew, Stimulus, TargetError
from opennandlab.targets.consent import Consent
from opennandlab.targets.device import DeviceTarget
from opennandlab.targets.file import FileTarget
from opennandlab.targets.fio import job, streams
from opennandlab.targets.nbd import NbdTarget
from real_drives import loop_devices, needs_fio, needs_nbdkit, servers

MIB = 1 << 20
ALLOWED = Consent(destructive=True)
PLACES = 1024
LINE = re.compile(r"(Write|Trim|Read) id=\d+ offset=(0x[0-9a-f]+) count=(0x[0-9a-f]+)")


@pytest.fixture
def arrived(tmp_path):
    """Return what runs a stimulus on an export and gives the requests that arrived, in order."""

    def go(stimulus: Stimulus, limit: Limit, size: int = 4 * MIB) -> tuple[Any, list[Any]]:
        log = tmp_path / "requests.log"
        with servers(tmp_path) as serve:
            server = serve("--filter=log", "memory", str(size), f"logfile={log}")
            target = NbdTarget(server.uri, consent=ALLOWED, folder=tmp_path / "fio")
            begin = log.stat().st_size
            done = target.run(stimulus, limit, seed=5)
            target.close()
        with log.open() as stream:
            stream.seek(begin)
            found = [
                (kind, int(at, 16), int(count, 16))
                for kind, at, count in LINE.findall(stream.read())
            ]
        # Opening looks at the first sector.
        return done, [request for request in found if request[0] != "Read"]

    return go


def counted(requests: list[Any]) -> np.ndarray:
    """Return writes by place: int64, (places,)."""
    assert {count for _, _, count in requests} == {4096}
    places = np.array([at // 4096 for _, at, _ in requests])
    return np.bincount(places, minlength=PLACES)


def chi_square(counts: np.ndarray, mass: np.ndarray) -> float:
    """Return by how many deviations counts miss the law that `mass` is proportional to."""
    expected = mass / mass.sum() * counts.sum()
    found = float(((counts - expected) ** 2 / expected).sum())
    freedom = len(mass) - 1
    return (found - freedom) / (2 * freedom) ** 0.5


@needs_fio
@needs_nbdkit
@pytest.mark.parametrize("theta", [0.8, 1.0])
def test_what_arrives_of_a_zipf_law_is_one(arrived, theta):
    stimulus = Stimulus(threads=2, queue_depth=16, skew=Skew("zipf", theta, shuffle=False))
    done, requests = arrived(stimulus, Limit(ios=30_000))
    counts = counted(requests)
    mass = np.arange(1, PLACES + 1, dtype=float) ** -theta
    assert abs(chi_square(counts, mass)) < 4.5
    # All of it was counted, and nothing else has arrived.
    assert counts.sum() == done.writes.ios == 30_000


@needs_fio
@needs_nbdkit
def test_shuffled_places_have_the_same_law_and_all_are_used(arrived):
    stimulus = Stimulus(threads=2, queue_depth=16, skew=Skew("zipf", 0.8))
    _, requests = arrived(stimulus, Limit(ios=30_000))
    counts = counted(requests)
    # fio's own distribution leaves out about 1/e of the places.
    assert (counts > 0).all()
    assert counts.argmax() != 0
    mass = np.arange(1, PLACES + 1, dtype=float) ** -0.8
    # Sorted, counts follow the ranks but for noise among neighbours: compared by hundreds.
    ranked = np.sort(counts)[::-1][:600].reshape(6, 100).sum(axis=1)
    share = mass[:600].reshape(6, 100).sum(axis=1) / mass.sum()
    assert ranked / counts.sum() == pytest.approx(share, rel=0.1)


@needs_fio
@needs_nbdkit
def test_a_static_share_never_arrives(arrived):
    stimulus = Stimulus(threads=2, queue_depth=8, skew=Skew("static", 0.6))
    _, requests = arrived(stimulus, Limit(bytes=16 * MIB))
    counts = counted(requests)
    assert (counts > 0).sum() == round(0.4 * PLACES)
    written = counts[counts > 0]
    assert abs(chi_square(written, np.ones(len(written)))) < 4.5


@needs_fio
@needs_nbdkit
def test_a_shuffled_pass_is_every_place_once(arrived):
    stimulus = Stimulus("shuffled", threads=4, queue_depth=1)
    _, requests = arrived(stimulus, Limit(bytes=4 * MIB))
    assert (counted(requests) == 1).all()
    places = [at for _, at, _ in requests]
    assert places != sorted(places)


@needs_fio
@needs_nbdkit
def test_zones_arrive_trimmed_and_then_from_end_to_end(arrived):
    stimulus = Stimulus(block_bytes=64 << 10, logs=Logs(MIB, 2))
    done, requests = arrived(stimulus, Limit(bytes=24 * MIB), 8 * MIB)
    trims, starts, written = Counter[int](), Counter[int](), dict[int, int]()
    for kind, at, count in requests:
        zone, place = divmod(at, MIB)
        if kind == "Trim":
            assert (place, count) == (0, MIB)
            trims[zone] += 1
            continue
        starts[zone] += place == 0
        # fio reads ahead, so trims come early; but none is missing.
        assert trims[zone] >= starts[zone]
        assert (written.get(zone, 0) % MIB, count) == (place, 64 << 10)
        written[zone] = place + count
        assert sum(0 < it < MIB for it in written.values()) <= 2
    assert done.writes.bytes == 24 * MIB
    assert sum(trims.values()) == 24


@needs_fio
def test_a_zone_that_cannot_be_trimmed_ends_the_test(tmp_path, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(file_module, "punch", refuse)
    target = FileTarget(tmp_path / "drive.img", 8 * MIB, folder=tmp_path / "fio")
    stimulus = Stimulus(block_bytes=64 << 10, logs=Logs(MIB))
    with pytest.raises(TargetError, match="Operation not supported"):
        target.run(stimulus, Limit(bytes=4 * MIB), seed=1)
    target.close()


@needs_fio
def test_a_trimmed_zone_of_a_block_device_holds_nothing(tmp_path):
    image = tmp_path / "loop.img"
    image.write_bytes(b"x" * 8 * MIB)
    with loop_devices(tmp_path) as attach:
        name = attach(image)
        consent = Consent(destructive=True, i_know=Path(name).name)
        target = DeviceTarget(name, consent=consent, folder=tmp_path / "fio")
        target.trim(MIB, 2 * MIB)
        target.close()
    content = image.read_bytes()
    assert not any(content[MIB : 3 * MIB])
    assert set(content[4096:MIB] + content[3 * MIB :]) == {ord("x")}


@needs_fio
def test_a_trimmed_zone_of_a_file_holds_nothing_and_keeps_its_room(tmp_path):
    (tmp_path / "drive.img").write_bytes(b"x" * 8 * MIB)
    target = FileTarget(tmp_path / "drive.img", None, consent=ALLOWED, folder=tmp_path / "fio")
    target.trim(MIB, 2 * MIB)
    content = (tmp_path / "drive.img").read_bytes()
    assert not any(content[MIB : 3 * MIB])
    assert set(content[:MIB] + content[3 * MIB :]) == {ord("x")}
    assert (tmp_path / "drive.img").stat().st_blocks * 512 >= 8 * MIB
    target.close()


@needs_fio
def test_a_stream_ends_with_its_time(tmp_path):
    target = FileTarget(tmp_path / "drive.img", 8 * MIB, folder=tmp_path / "fio")
    stimulus = Stimulus(threads=2, queue_depth=4, skew=Skew("zipf", 0.5))
    done = target.run(stimulus, Limit(seconds=0.5), seed=1)
    assert done.seconds == pytest.approx(0.5, abs=0.3)
    assert done.writes.ios > 0
    assert not list((tmp_path / "fio").glob("*.sock"))
    target.close()


@needs_fio
@pytest.mark.parametrize(
    ("data", "read_pct", "least", "most"),
    [("random", 0, 0.88, 1.01), ("random", 60, 0.88, 1.01), ("file", 0, 0.45, 0.6)],
)
def test_what_is_written_is_new_and_compresses_as_told(tmp_path, data, read_pct, least, most):
    """A mix wrote what it had read: of a file that had just been made, zeros."""
    target = FileTarget(tmp_path / "drive.img", 8 * MIB)
    stimulus = Stimulus("random", read_pct, 16384, queue_depth=4, data=data)
    seen: set[bytes] = set()
    for seed in (1, 2):
        target.run(stimulus, Limit(bytes=16 * MIB), seed=seed)
        content = target.path.read_bytes()
        pieces = [content[at : at + 4096] for at in range(0, len(content), 4096)]
        written = [piece for piece in pieces if any(piece)]
        assert len(set(written)) == len(written) > 1000
        assert seed == 1 or len(seen & set(written)) < len(written) / 2
        seen.update(written)
        sizes = [len(zlib.compress(piece)) for piece in written]
        assert least < sum(sizes) / 4096 / len(sizes) < most
        assert max(sizes) < 4096 * most
        assert min(sizes) > 4096 * (least - 0.05)
    target.close()


@needs_fio
def test_a_mix_writes_new_data_also_where_it_reads_what_was_written(tmp_path):
    target = FileTarget(tmp_path / "drive.img", 8 * MIB, folder=tmp_path / "fio")
    target.run(Stimulus("sequential", block_bytes=MIB), Limit(bytes=8 * MIB), seed=1)
    before = target.path.read_bytes()
    target.run(Stimulus(read_pct=50, queue_depth=4), Limit(bytes=64 * MIB), seed=2)
    assert "refill" not in max((tmp_path / "fio").glob("*.fio")).read_text()
    after = target.path.read_bytes()
    pieces = [after[at : at + 4096] for at in range(0, len(after), 4096)]
    assert len(set(pieces)) == len(pieces)
    assert sum(piece in before for piece in pieces) < len(pieces) / 10
    sizes = [len(zlib.compress(piece)) for piece in pieces]
    assert min(sizes) > 4096 * 0.83
    target.close()


@needs_fio
def test_loads_at_a_rate_are_kept_apart(tmp_path):
    target = FileTarget(tmp_path / "drive.img", 8 * MIB, folder=tmp_path / "fio")
    beside = Stimulus(read_pct=10, threads=2, queue_depth=4, rate_per_s=600)
    probe = Stimulus(read_pct=50, queue_depth=4, rate_per_s=300, beside=(beside,))
    done = target.run(probe, Limit(seconds=2.0), seed=1)
    rates = [(part.reads.ios + part.writes.ios) / done.seconds for part in done.loads]
    # Poisson: a deviation of 4 % and 3 %; but a busy machine may be late with both.
    assert rates[0] < 400
    assert rates[1] < 800
    assert rates[1] / rates[0] == pytest.approx(2.0, rel=0.4)
    assert done.ios == sum(part.reads.ios + part.writes.ios for part in done.loads)
    with pytest.raises(TargetError, match="by time alone"):
        target.run(probe, Limit(ios=100), seed=1)
    target.close()


def test_job_files_of_streams_and_rates():
    place = job.Place("io_uring", (("filename", "target.img"),), 64 * MIB, 512)
    skewed = Stimulus(threads=2, queue_depth=8, skew=Skew("zipf", 0.8))
    text = job.job_text(place, skewed, job.Leg(seconds=2.0), 1, ["a.sock", "b.sock"])
    for line in ("read_iolog=a.sock:b.sock", "read_iolog_chunked=1", "replay_no_stall=1",
                 "runtime=2000ms", "numjobs=2", "rw=randwrite"):  # fmt: skip
        assert f"\n{line}\n" in text
    # It crashes with threads, and an endless log needs no limit.
    assert "thread=1" not in text
    assert "time_based" not in text
    loaded = Stimulus(read_pct=50, rate_per_s=1000, beside=(Stimulus(read_pct=1, rate_per_s=500),))
    text = job.job_text(place, loaded, job.Leg(seconds=2.0), 1)
    first, second = text.split("[beside1]")
    assert "\nrate_iops=500,500\nrate_process=poisson\n" in first
    assert "\nrate_iops=5,495\nrate_process=poisson\n" in second
    assert "\nnew_group=1\n" in second
    assert "new_group" not in first


def test_logs_end_where_fio_waits_for_what_is_under_way():
    skewed = Stimulus(threads=4, queue_depth=8, skew=Skew("zipf", 0.8))
    assert streams.count_of(skewed, 10, 0) == 3
    assert streams.count_of(skewed, 0, 40 * 4096) == 10
    assert ("thinktime_blocks", 3) in streams.end_lines(skewed, 3)
    endless = streams.count_of(skewed, 0, 0)
    assert streams.end_lines(skewed, endless) == []
    zones = Stimulus(block_bytes=1 << 19, logs=Logs(MIB), queue_depth=2)
    with pytest.raises(TargetError, match="one request outstanding"):
        streams.count_of(zones, 10, 0)


@needs_fio
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("skew", {"skews": "zipf:0.8", "drive_writes": 0.5}),
        ("fill", {"points": "50", "region_writes": 0.5}),
        ("zones", {"zones": "1x1MiB,2x1MiB", "drive_writes": 1.0}),
        ("load", {"rates": "50%,200", "probe": 100.0, "seconds": 0.5}),
    ],
)
def test_tests_on_a_file(tmp_path, name, options):
    target = FileTarget(tmp_path / "drive.img", 16 * MIB, folder=tmp_path / "fio")
    settings = Settings(time_base="smoke", threads=2, queue_depth=2, options=options)
    found = plain(run_test(TESTS[name], target, settings=settings))
    target.close()
    assert not found["partial"]
    results = found["results"]
    for point in results["points"]:
        assert point.get("waf") is None
        assert point.get("mb_s", point.get("steady_mb_s", point.get("achieved_per_s"))) > 0
    if name == "load":
        assert results["sees_collection"] is None
    else:
        assert "no counter" in results["waf_missing"]


@needs_fio
@pytest.mark.parametrize("name", ["zones", "load"])
def test_a_break_is_gone_on_from_and_leaves_other_files_alone(tmp_path, name):
    """The file vanishes in mid-run; a neighbour of almost its name is what it was."""
    options = {
        "zones": {"zones": "1x1MiB,1x2MiB", "drive_writes": 1.0},
        "load": {"rates": "100,200", "probe": 100.0, "seconds": 0.3},
    }[name]
    settings = Settings(time_base="smoke", threads=2, queue_depth=2, options=options)
    other = tmp_path / "drive.img2"
    other.write_bytes(b"precious" * 1000)
    (tmp_path / "run").mkdir()
    target = FileTarget(tmp_path / "drive.img", 8 * MIB, folder=tmp_path / "run" / "fio")
    run, count = target.run, 0

    def failing(*arguments: Any, **named: Any) -> Any:
        nonlocal count
        count += 1
        if count == {"zones": 2, "load": 4}[name]:
            target.path.unlink()
        return run(*arguments, **named)

    target.run = failing  # type: ignore[method-assign]
    with pytest.raises(BrokenError, match="gone"):
        run_test(TESTS[name], target, settings=settings, place=Place(tmp_path / "run"))
    target.close()
    partial = json.loads((tmp_path / "run" / f"{name}.json").read_text())
    assert partial["partial"]
    target = FileTarget(tmp_path / "drive.img", 8 * MIB, folder=tmp_path / "run" / "fio")
    again = Place(tmp_path / "run", resume=True)
    found = plain(run_test(TESTS[name], target, settings=settings, place=again))
    target.close()
    # Of the removed file nothing is kept.
    is_anew = any("began from the start" in text for text in found["warnings"])
    assert found["header"]["interrupted"] != is_anew
    assert is_anew or name == "load"
    assert len(found["results"]["points"]) == 2
    assert other.read_bytes() == b"precious" * 1000


def test_the_name_in_a_log_is_that_of_the_file():
    with_file = job.Place("libaio", (("filename", "target"),), MIB, 512)
    export = job.Place("nbd", (("uri", "nbd+unix:///?socket=s"),), MIB, 512)
    assert (with_file.file, export.file) == ("target", "export")
    assert Path(with_file.file).name == with_file.file
