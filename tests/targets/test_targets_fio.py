"""Job files, fio's output, and everything that a fio can do wrong, with scripts in its place."""

from __future__ import annotations

import json
import os
import select
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from math import ceil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opennandlab.targets.base import (
    ActiveRange,
    CacheState,
    Limit,
    Purge,
    Step,
    Stimulus,
    TargetError,
    Zone,
)
from opennandlab.targets.fio import job, parse, runner
from opennandlab.targets.fio.runner import Fio, find_fio
from opennandlab.targets.fio.target import FioTarget
from places import FOLDER

RECORDED, MIB = FOLDER / "fio", 1 << 20
WHERE = job.Layout(64 * MIB, 64 * MIB)
PLACE = job.Place("io_uring", (("filename", "target.img"),), 64 * MIB, 512)
ECW = (
    *((512, 4.0), (1024, 1.0), (1536, 1.0), (2048, 1.0), (2560, 1.0), (3072, 1.0), (3584, 1.0)),
    *((4096, 67.0), (8192, 10.0), (16384, 7.0), (32768, 3.0), (65536, 3.0)),
)
ECW_ZONES = (Zone(0.05, 0.5), Zone(0.15, 0.3), Zone(0.8, 0.2))

ALWAYS = """\
; Run it again, in this folder: fio --output=OUTPUT.json --output-format=json+ THIS_FILE
[stimulus]
ioengine=io_uring
filename=target.img
direct=1
allow_file_create=0
overwrite=1
fallocate=none
"""
ALWAYS_LAST = """\
lat_percentiles=1
clat_percentiles=0
slat_percentiles=0
"""


class Scripted(FioTarget):
    """A target whose fio is a script."""

    def __init__(self, script: Path, folder: Path) -> None:
        super().__init__("scripted", folder=folder, fio=Fio(str(script), "fio-3.33"))
        self.capacity_bytes, self.sector_bytes = 64 * MIB, 512

    def place(self) -> job.Place:
        return PLACE

    def sector(self) -> Any:
        return SimpleNamespace(pieces=lambda offsets, _size: [b"x" for _ in offsets])

    def facts(self) -> dict[str, Any]:
        return {"platform": self.platform()}

    def set_cache(self, *, enabled: bool) -> CacheState:
        return "enabled" if enabled else "unknown"

    def purge(self) -> Purge:
        return Purge("none", is_purge=False)


@pytest.fixture
def fake(tmp_path: Path):
    """Return what makes a target of the body of a shell script; `$out` is the output file."""

    def make(body: str) -> Scripted:
        script = tmp_path / "fio"
        head = (
            '#!/bin/sh\nfor a in "$@"; do case $a in --output=*) out=${a#--output=};; esac; done\n'
        )
        script.write_text(head + body + "\n")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return Scripted(script, tmp_path / "run")

    return make


def body(text: str) -> str:
    """Return the lines of a job file that differ between stimuli."""
    assert text.startswith(ALWAYS)
    assert text.endswith(ALWAYS_LAST)
    return text.removeprefix(ALWAYS).removesuffix(ALWAYS_LAST)


def test_job_of_a_timed_random_mix():
    stimulus = Stimulus("random", 65, 65536, threads=4, queue_depth=32)
    leg = job.Leg(seconds=59.4, ramp_s=0.6)
    assert body(job.job_text(PLACE, stimulus, leg, 7)) == (
        "rw=randrw\nrwmixread=65\nbs=65536\nsize=67108864\n"
        "runtime=59400ms\nramp_time=600ms\ntime_based=1\n"
        "numjobs=4\nthread=1\ngroup_reporting=1\niodepth=32\n"
        "randrepeat=0\nrandseed=7\nrandom_generator=tausworthe64\nnorandommap=1\n"
        "refill_buffers=1\n"
    )


def test_job_of_the_enterprise_composite_workload():
    stimulus = Stimulus("random", 40, ECW, threads=1, queue_depth=1, zones=ECW_ZONES)
    text = body(job.job_text(PLACE, stimulus, job.Leg(ios=1000, seconds=60.0), 1))
    assert (
        "bssplit=512/4:1024/1:1536/1:2048/1:2560/1:3072/1:3584/1:4096/67:8192/10:16384/7:"
        "32768/3:65536/3\nblockalign=4096\nsize=67108864\n"
        "random_distribution=zoned:50/5:30/15:20/80\nruntime=60000ms\n"
        "io_size=1125899906842624\nnumber_ios=1000\n"
    ) in text
    assert "time_based" not in text


def test_job_of_a_sequential_stream_in_slices():
    stimulus = Stimulus("sequential", 0, MIB, threads=3, queue_depth=8, data="file")
    text = body(job.job_text(PLACE, stimulus, job.Leg(bytes=100 * MIB, start_bytes=4 * MIB), 1))
    # 64 MiB hold three slices of 21 whole requests; the rest of the slice after 4 MiB is 17.
    assert text.startswith(
        "rw=write\nbs=1048576\noffset=4194304\nsize=17825792\noffset_increment=22020096\n"
        f"io_size={ceil(100 / 3) * MIB}\nnumjobs=3\n"
    )
    assert text.endswith("refill_buffers=1\nbuffer_compress_percentage=50\n")


def test_job_of_reads_fills_no_buffers():
    text = job.job_text(PLACE, Stimulus("random", 100, data="file"), job.Leg(seconds=1), 1)
    assert "rw=randread\n" in text
    assert "refill_buffers" not in text
    assert "rwmixread" not in text


def test_amounts_lie_in_equal_segments():
    stimulus = Stimulus("random", 0, 4096, active_range=ActiveRange(0.75, 8 * MIB))
    where = job.layout(PLACE, stimulus)
    assert where.segments == 100
    assert where.segment_bytes == 8 * MIB // 100 // 4096 * 4096
    assert where.range_bytes <= 48 * MIB
    text = job.job_text(PLACE, stimulus, job.Leg(seconds=1), 1)
    gap = where.stride_bytes - where.segment_bytes
    assert f"random_distribution=zoned_abs:1/{where.segment_bytes}:0/{gap}:1/" in text
    segments, rounded = job.deviations(PLACE, stimulus)
    assert "100 segments" in segments
    assert rounded == "active amount of 8192000 bytes instead of 8388608: whole segments (fio)"
    stream = replace(stimulus, pattern="sequential")
    text = job.job_text(PLACE, stream, job.Leg(bytes=MIB, start_bytes=where.segment_bytes + 1), 1)
    assert f"offset={where.stride_bytes}\n" in text
    assert f"zonemode=strided\nzonerange={where.segment_bytes}\n" in text


def test_what_fio_does_otherwise_is_said():
    assert job.deviations(PLACE, Stimulus("random", 40, ECW, zones=ECW_ZONES)) == []
    odd = Stimulus("random", 12.5, ((4096, 1.0), (8192, 2.0)), zones=(Zone(0.005, 0.5), Zone(1, 1)))
    texts = job.deviations(PLACE, odd)
    assert texts[0] == "reads 12 % instead of 12.5 %"
    assert [text.split(" rounded")[0] for text in texts[1:]] == [
        "shares of the sizes of requests",
        "shares of the accesses of zones",
        "shares of the ranges of zones",
    ]
    assert job.deviations(PLACE, Stimulus("sequential", 90))


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=20))
def test_whole_percents_add_up_and_stay_near(weights):
    parts = job.whole_percents(weights)
    assert sum(parts) == 100
    for part, weight in zip(parts, weights, strict=True):
        assert abs(part - 100 * weight / sum(weights)) < 1 + 1e-6


@pytest.mark.parametrize(
    ("stimulus", "words"),
    [
        (Stimulus("random", 0, 1000), "multiples of 512"),
        (Stimulus("random", 0, 128 * MIB), "has no room"),
        (Stimulus("sequential", 0, 32 * MIB, threads=3), "no room for 3 x"),
        (Stimulus("random", 0, 4096, active_range=ActiveRange(1.0, 1024)), "amount of 1024"),
        (
            Stimulus("random", zones=ECW_ZONES, active_range=ActiveRange(1.0, MIB)),
            "zones inside segments",
        ),
        (
            Stimulus("sequential", threads=2, active_range=ActiveRange(1.0, MIB)),
            "with one thread",
        ),
    ],
)
def test_stimuli_that_fio_cannot_do_are_refused(stimulus, words):
    with pytest.raises(TargetError, match=words):
        job.layout(PLACE, stimulus)


@pytest.mark.parametrize("value", ["a#2", "a;b", "a b", "a$b", "a:b", "a\n[x]", "", "a\\b", "../a"])
def test_a_job_file_holds_no_name_that_fio_would_read_otherwise(value):
    with pytest.raises(TargetError, match="cannot be written as `filename`"):
        job.Place("io_uring", (("filename", value),), 64 * MIB, 512)


def test_all_limits_are_reached_one_after_the_other():
    """Fio ends at its first limit: seconds come first, then what is missing of the others."""
    stimulus, limit = Stimulus(threads=4), Limit(seconds=2, ios=1000, bytes=64 * MIB)
    done = job.Done()
    leg = job.next_leg(stimulus, limit, done, WHERE)
    assert leg == job.Leg(seconds=2)
    done = job.Done(legs=1, seconds=2.0, ios=400, bytes=MIB)
    leg = job.next_leg(stimulus, limit, done, WHERE)
    assert leg == job.Leg(ios=600)
    done = job.Done(legs=2, seconds=3.0, ios=1003, bytes=4 * MIB)
    leg = job.next_leg(stimulus, limit, done, WHERE)
    assert leg == job.Leg(bytes=60 * MIB)
    done = job.Done(legs=3, seconds=9.0, ios=99999, bytes=64 * MIB - 4096)
    assert job.next_leg(stimulus, limit, done, WHERE) is None


def test_the_most_seconds_end_everything():
    stimulus, limit = Stimulus(), Limit(seconds=10, ios=10**9, seconds_max=12)
    assert job.next_leg(stimulus, limit, job.Done(1, 10.0, 5), WHERE) == job.Leg(
        seconds=2, ios=10**9 - 5
    )
    assert job.next_leg(stimulus, limit, job.Done(2, 11.995, 5), WHERE) is None
    assert job.next_leg(stimulus, Limit(seconds_max=3), job.Done(), WHERE) == job.Leg(seconds=3)
    assert job.next_leg(stimulus, replace(limit, seconds_max=4), job.Done(), WHERE) == job.Leg(
        seconds=4
    )
    with pytest.raises(TargetError, match="never end"):
        job.next_leg(stimulus, Limit(), job.Done(), WHERE)


def test_ramps_in_time_are_fios_own_and_others_a_leg():
    timed = job.next_leg(Stimulus(), Limit(seconds=10, ramp_ratio=0.1), job.Done(), WHERE)
    assert timed == job.Leg(seconds=9, ramp_s=1)
    counted = Limit(ios=2000, ramp_ratio=0.02)
    assert job.next_leg(Stimulus(), counted, job.Done(), WHERE) == job.Leg(ios=40, is_ramp=True)
    assert job.next_leg(Stimulus(), counted, job.Done(1, 0.1, 40), WHERE) == job.Leg(ios=1960)


def test_a_stream_inside_its_slice_ends_there_first():
    stimulus = Stimulus("sequential", 0, MIB, threads=2)
    limit, slices = Limit(seconds=60), job.Layout(32 * MIB, 16 * MIB)
    leg = job.next_leg(stimulus, limit, job.Done(start_bytes=12 * MIB), slices)
    assert leg == job.Leg(seconds=60, bytes=8 * MIB, start_bytes=12 * MIB)
    leg = job.next_leg(stimulus, limit, job.Done(1, 2.0, 8, 8 * MIB), slices)
    assert leg == job.Leg(seconds=58)
    few = job.next_leg(stimulus, Limit(ios=3), job.Done(start_bytes=12 * MIB), slices)
    assert few == job.Leg(ios=3, start_bytes=12 * MIB)


@given(
    limit=st.builds(
        Limit,
        seconds=st.sampled_from([0.0, 0.2, 5.0]),
        ios=st.integers(0, 5000),
        bytes=st.integers(1, 300 * MIB),
        seconds_max=st.sampled_from([None, 0.1, 7.0]),
        ramp_ratio=st.sampled_from([0.0, 0.02, 0.9]),
    ),
    rate=st.floats(10.0, 1e6),
    pattern=st.sampled_from(["random", "sequential"]),
    threads=st.integers(1, 5),
    start=st.integers(0, 63),
)
def test_legs_end_and_reach_what_was_asked(limit, rate, pattern, threads, start):
    """Next to a fio that does `rate` requests a second and ends as its manual says."""
    stimulus = Stimulus(pattern, 0, 65536, threads=threads)
    where = job.layout(PLACE, stimulus)
    done = job.Done(start_bytes=start * 65536 % where.slice_bytes if pattern[0] == "s" else 0)
    for _ in range(1000):
        leg = job.next_leg(stimulus, limit, done, where)
        if leg is None:
            break
        asked = ceil(leg.ios / threads) * threads if leg.ios else 1 << 60
        if leg.bytes:
            asked = ceil(leg.bytes / threads / 65536) * threads
            if pattern == "sequential" and done.start_bytes:
                assert asked * 65536 <= (where.slice_bytes - done.start_bytes) * threads
        ios = asked
        if leg.seconds is not None:
            ios = max(1, min(asked, int(rate * (leg.seconds + leg.ramp_s))))
        done.legs += 1
        done.ios += ios
        done.bytes += ios * 65536
        done.seconds += ios / rate if ios == asked else leg.seconds + leg.ramp_s
        if pattern == "sequential":
            moved = done.start_bytes + ios // threads * 65536
            done.start_bytes = moved % where.slice_bytes
    else:
        pytest.fail(f"no end: {done}")
    by_time = limit.seconds_max is not None and done.seconds > limit.seconds_max - 0.011
    assert by_time or done.seconds >= limit.seconds - 0.011
    assert by_time or done.ios >= limit.ios
    assert by_time or done.bytes > limit.bytes - threads * 65536


def test_a_stream_over_segments_makes_one_pass_at_a_time():
    """Behind the last segment fio 3.33 goes on with further ones, outside of the range."""
    stimulus = Stimulus("sequential", active_range=ActiveRange(1.0, 8 * MIB))
    where = job.layout(PLACE, stimulus)
    leg = job.next_leg(stimulus, Limit(bytes=16 * MIB), job.Done(), where)
    assert leg == job.Leg(bytes=where.slice_bytes)


def test_each_leg_draws_its_own_addresses():
    seeds = {job.leg_seed(seed, leg) for seed in range(20) for leg in range(5)}
    assert len(seeds) == 100
    assert all(seed % 2 and 0 < seed < 1 << 48 for seed in seeds)
    assert job.leg_seed(42, 0) == 255551321351021


def recorded(name: str) -> list[dict[str, Any]]:
    return list(parse.each((RECORDED / name).read_text()))


def test_counts_bins_and_sums_of_a_recorded_run():
    (document,) = recorded("mixed.json")
    found = parse.totals(document)
    assert (found.ios, found.bytes, found.error) == (300, 300 * 4096, 0)
    assert found.reads.ios == found.reads.latency.count == document["jobs"][0]["read"]["total_ios"]
    for side, requests in (("read", found.reads), ("write", found.writes)):
        raw = document["jobs"][0][side]["lat_ns"]
        assert requests.latency.mean_ns == pytest.approx(raw["mean"])
        assert requests.latency.max_ns == raw["max"]
        # Bins are 1.6 % wide at most.
        binned = requests.latency.ns @ requests.latency.counts
        assert binned == pytest.approx(requests.latency.sum_ns, rel=0.016)
    assert found.seconds == pytest.approx(0.004)
    assert found.cpu_pct == 0.0  # of 4 ms


def test_fields_of_newer_versions_do_no_harm():
    (document,) = recorded("mixed.json")
    job_part = document["jobs"][0]
    document["fio version"] = "fio-3.41"
    job_part["new"] = {"io_bytes": 1}
    job_part["read"]["lat_ns"]["new"] = [1]
    document["disk_util"] = [{"name": "x", "util": 250.0, "read_sectors": 3}]
    found = parse.totals(document)
    assert found.ios == 300
    assert found.util_pct == 100.0


def test_notes_before_the_document_are_kept():
    document, notes = parse.last((RECORDED / "notes.json").read_text())
    assert document == recorded("notes.json")[0]
    assert notes.startswith("note: both iodepth >= 1")


def test_running_totals_become_pieces():
    series = [parse.totals(document) for document in recorded("status.json")]
    assert series[0].ios == 0  # within the ramp
    pieces = parse.samples(series, 0.1, start_s=0.06)
    assert [round(piece.end_s, 3) for piece in pieces] == [0.16, 0.259, 0.359, 0.411]
    counts = [151, 150 / 0.99, 146, 78 / 0.52]
    assert [piece.ios for piece in pieces] == [round(count) for count in counts]
    total = series[-1].writes.latency
    assert max(piece.latency_us_max for piece in pieces) * 1e3 == total.max_ns
    weights = [151, 150, 146, 78]
    mean = np.average([piece.latency_us_mean for piece in pieces], weights=weights)
    assert mean * 1e3 == pytest.approx(total.mean_ns)


def test_short_pieces_join_their_neighbours():
    series = [parse.totals(document) for document in recorded("status.json")]
    (whole,) = parse.samples(series[-2:], 0.3)
    assert whole.end_s == pytest.approx(0.351)
    assert whole.ios == round(525 * 0.3 / 0.351)
    assert len(parse.samples(series, 0.2)) == 2
    assert parse.samples([], 0.2) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text[:-3],
        lambda _text: "",
        lambda _text: "{}",
        lambda _text: "\x00\xff{[",
        lambda text: text.replace('"lat_ns"', '"tal_ns"'),
        lambda text: text.replace('"bins"', '"bin"'),
        lambda text: text.replace('"jobs" : [', '"jobs" : {}, "x" : ['),
        lambda text: text.replace('"runtime" : ', '"runtime" : "x", "y" : '),
    ],
)
def test_damaged_output_is_an_error(change):
    damaged = change((RECORDED / "mixed.json").read_text())
    with pytest.raises(parse.OutputError):
        parse.totals(parse.last(damaged)[0])


def test_no_fio_an_old_fio_and_what_is_none(fake, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TargetError, match=r"fio was not found.*apt install fio"):
        find_fio()
    for said, words in (
        ("fio-2.99", "is fio-2.99, which is too old; install fio 3.33 or newer"),
        ("fio-3.9-12-gabc", "too old"),
        ("hello", "says 'hello', which is not fio"),
    ):
        fake(f"echo {said}")
        with pytest.raises(TargetError, match=words):
            find_fio()
    fake("echo fio-3.41-dirty")
    assert find_fio().version == "fio-3.41-dirty"


STIMULUS = Stimulus("random", 65, 4096, threads=2, queue_depth=4)


def run(target: Scripted, limit: Limit | None = None):
    return target.run(STIMULUS, limit or Limit(ios=300), seed=1)


def test_a_run_with_a_recorded_answer(fake):
    target = fake(f'cp {RECORDED / "mixed.json"} "$out"')
    found = run(target)
    assert (found.ios, found.seconds, found.elapsed_s) == (300, 0.004, 0.004)
    assert found.written_bytes == found.writes.ios * 4096
    assert found.latency.count == 300
    assert found.inside["legs"] == 1
    target.close()
    # The folder was named by the caller, so its job files stay.
    names = sorted(path.name for path in target.folder.iterdir())
    assert names == [f"0000-randrw65-4096-t2-q4.{end}" for end in ("fio", "json")]


def test_numbers_go_on_in_a_folder_that_was_used(fake):
    target = fake(f'cp {RECORDED / "mixed.json"} "$out"')
    run(target)
    again = Scripted(Path(target.fio.path), target.folder)
    run(again)
    assert (target.folder / "0001-randrw65-4096-t2-q4.fio").exists()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (
            f'cp {RECORDED / "full.json"} "$out"; cat {RECORDED / "full.log"} >&2; exit 1',
            "No space left on device",
        ),
        (f'cp {RECORDED / "full.json"} "$out"', r"error \[28\]"),
        ("echo 'fio: failed to open' >&2; exit 1", r"ended with status 1: fio: failed to open"),
        (f'head -c 3000 {RECORDED / "mixed.json"} > "$out"', "cut off or damaged"),
        ('echo "{ nonsense" > "$out"', "wrote no result: { nonsense"),
        ("kill -9 $$", "was killed by signal 9"),
        (f'sed "s/lat_ns/tal_ns/" {RECORDED / "mixed.json"} > "$out"', "lacks what is expected"),
        (
            f'sed \'s/"N" : [0-9]*/"N" : 0/; s/"bins"/"b"/\' {RECORDED / "mixed.json"} > "$out"',
            "no request was completed",
        ),
    ],
)
def test_failures_name_the_job_file_and_fios_own_words(fake, script, words):
    target = fake(script)
    with pytest.raises(TargetError, match=words) as caught:
        run(target)
    (job_file,) = target.folder.glob("*.fio")
    assert str(job_file) in str(caught.value)


@pytest.fixture
def stopped(monkeypatch) -> list[subprocess.Popen[bytes]]:
    """Return the processes that the runner stopped while they ran."""
    found: list[subprocess.Popen[bytes]] = []
    plain = runner.stop

    def stop(process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            found.append(process)
        plain(process)

    monkeypatch.setattr(runner, "stop", stop)
    return found


def test_ctrl_c_ends_a_fio_that_does_not_listen(fake, tmp_path, stopped):
    """It is asked, and 0.1 s later made; another 0.05 s is the most that is waited for its end."""
    target = fake(f"trap '' INT TERM; : > {tmp_path}/deaf; exec sleep 60")

    def press(_step: object) -> None:
        if (tmp_path / "deaf").exists():
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        target.run(STIMULUS, Limit(seconds=60), seed=1, watch=press)
    (process,) = stopped
    assert process.wait() == -signal.SIGKILL
    assert runner.GRACE_S * 1.5 <= 0.2


def test_a_fio_that_hangs_is_stopped(fake, monkeypatch, stopped):
    monkeypatch.setattr(runner, "MARGIN_S", 0.2)
    monkeypatch.setattr(runner, "STALL_S", 0.2)
    target = fake("exec sleep 60")
    with pytest.raises(TargetError, match="did not end within"):
        run(target, Limit(seconds=0.01))
    with pytest.raises(TargetError, match="no byte moved"):
        run(target, Limit(ios=10))
    assert [process.wait() < 0 for process in stopped] == [True, True]


def test_progress_follows_the_running_totals(fake, tmp_path):
    """The script ends when it is told that what it wrote was seen."""
    text = RECORDED / "status.json"
    os.mkfifo(tmp_path / "go")
    target = fake(f'cp {text} "$out"; read line < {tmp_path}/go')
    seen: list[float] = []

    def watch(step: Step) -> None:
        if step.fraction and not seen:
            (tmp_path / "go").write_text("on\n")
        seen.extend([step.fraction] if step.fraction else [])

    target.run(STIMULUS, Limit(bytes=4 << 20, seconds_max=0.351), seed=1, watch=watch)
    last = json.loads(text.read_text()[text.read_text().rfind('{\n  "fio version"') :])
    moved = last["jobs"][0]["write"]["io_bytes"]
    assert seen[0] == seen[-1] == pytest.approx(moved / (4 << 20))


def test_job_files_of_a_failed_run_stay(fake, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    script = Path(fake("exit 3").fio.path)
    kept = Scripted.__new__(Scripted)
    FioTarget.__init__(kept, "own folder", fio=Fio(str(script), "fio-3.33"))
    kept.capacity_bytes, kept.sector_bytes = 64 * MIB, 512
    with pytest.raises(TargetError):
        run(kept)
    kept.close()
    assert list(kept.folder.glob("*.fio"))
    unused = Scripted.__new__(Scripted)
    FioTarget.__init__(unused, "own folder", fio=Fio(str(script), "fio-3.33"))
    unused.close()
    assert not unused.folder.exists()


def test_fio_ends_with_the_process_that_started_it(tmp_path):
    """A killed test run must not go on writing to a drive."""
    if not Path("/usr/bin/setpriv").exists():
        pytest.skip("setpriv is not installed")
    os.mkfifo(tmp_path / "pid")
    script = tmp_path / "fio"
    script.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 60\n")
    script.chmod(0o755)
    code = (
        "from pathlib import Path\n"
        "from opennandlab.targets.fio.runner import Files, Fio, Terms, run_fio\n"
        f"here = Path({str(tmp_path)!r})\n"
        "files = Files(here / 'job', here / 'output', here / 'messages')\n"
        f"run_fio(Fio({str(script)!r}, ''), files, Terms(60.0), lambda s, b: None)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    # Reading waits until the script runs.
    handle = os.pidfd_open(int((tmp_path / "pid").read_text()))
    process.kill()
    process.wait()
    try:
        ended, _, _ = select.select([handle], [], [], 60)
        assert ended, "the script outlived the process that started it"
    finally:
        os.close(handle)


@pytest.mark.parametrize(
    ("depth", "exact", "engine"),
    [
        (8, "libaio", "io_uring"),
        (6, "libaio", "libaio"),
        (6, None, "io_uring"),
        (1, None, "io_uring"),
    ],
)
def test_depths_that_an_engine_rounds_up_go_through_another(
    depth: int, exact: str | None, engine: str
) -> None:
    """Fio makes 8 of a depth of 6 for io_uring: throughput times response time is 7.4 there."""
    place = replace(PLACE, exact_engine=exact)
    stimulus = Stimulus(queue_depth=depth)
    assert f"ioengine={engine}\n" in job.job_text(place, stimulus, job.Leg(seconds=1.0), 1)
    told = [text for text in job.deviations(place, stimulus) if "queue depth" in text]
    assert told == (["queue depth 6 is 8 (io_uring of fio)"] if (depth, exact) == (6, None) else [])
