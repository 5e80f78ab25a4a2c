"""Job files on a simulated drive: counts of fio itself, its output, its logs."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opennandlab.core.config import load_device
from opennandlab.core.jobs import JobResult, JobRun
from opennandlab.core.run import Start
from opennandlab.measured.fio.record import of_job

MIB = 1 << 20
DEVICE = load_device("tlc_standard")


def run(folder: Path, text: str, *, logs: Path | None = None, **given: Any) -> JobResult:
    path = folder / "job.fio"
    path.write_text(text, encoding="utf-8")
    start = Start(given.pop("device", DEVICE), given.pop("seed", 42), given.pop("state", "fresh"))
    slice_ops = given.pop("slice_ops", None)
    found = JobRun(start, path, folder=logs, **given).measure(slice_ops=slice_ops)
    assert not found.problem
    return found


def counts(document: dict[str, Any]) -> list[tuple[int, ...]]:
    """Return requests, bytes and flushes of each job."""
    return [
        (*(job[side][key] for side in ("read", "write", "trim")
           for key in ("total_ios", "io_bytes")), job["sync"].get("total_ios", 0))
        for job in document["jobs"]
    ]  # fmt: skip


# Options on 8 MiB with blocks of 4 KiB, and what fio 3.33 did with them: requests, MiB, flushes.
RUNS = {
    "rw=read": (2048, 8, 0), "rw=randread": (2048, 8, 0), "rw=write:4k": (2048, 8, 0),
    "rw=read:-8k": (2048, 8, 0), "rw=randread:8": (2048, 8, 0),
    "rw=randread\nnorandommap": (2048, 8, 0),
    "rw=randread:4\nrw_sequencer=identical": (2048, 8, 0),
    "rw=randread\nnumber_ios=100": (100, 100 / 256, 0),
    "rw=randread\nnumber_ios=5000": (2048, 8, 0),
    "rw=randread\nloops=2\nnumber_ios=100": (200, 200 / 256, 0),
    "rw=randwrite\nio_size=20m": (5120, 20, 0), "rw=write\nio_size=20m": (5120, 20, 0),
    "rw=read\nio_size=20m": (5120, 20, 0), "rw=randread\nio_size=9m": (2304, 9, 0),
    "rw=randread\nio_size=1m": (256, 1, 0), "rw=write\nloops=2": (4096, 16, 0),
    "rw=write\nfsync=3\nnumber_ios=8": (8, 8 / 256, 2),
    "rw=write\nfsync=3\nsize=32k": (8, 8 / 256, 2), "rw=write\nend_fsync=1": (2048, 8, 0),
    "rw=randread\nnumjobs=3\ngroup_reporting": (6144, 24, 0),
    "rw=read\noffset=2m\nsize=1m": (256, 1, 0),
    "rw=read\noffset_increment=1m\nnumjobs=2\nsize=1m\ngroup_reporting": (512, 2, 0),
    "rw=randread\nrandom_distribution=zipf:1.2": (2048, 8, 0),
    "rw=randread\npercentage_random=30": (2048, 8, 0),
    "rw=read\nzonemode=strided\nzonesize=16k\nzoneskip=16k": (2048, 8, 0),
    "rw=randread\nzonemode=strided\nzonesize=128k\nzonerange=64k\nzoneskip=64k": (2048, 8, 0),
    "rw=randread\nioengine=libaio\niodepth=16": (2048, 8, 0),
    "rw=randread\ntime_based\nruntime=1\nramp_time=1\nrate_iops=100": (100, 100 / 256, 0),
    "rw=randread\nioengine=libaio\niodepth=4\nthinktime=10ms\nthinktime_blocks=5\nnumber_ios=40":
        (40, 40 / 256, 0),
}  # fmt: skip


@pytest.mark.parametrize("options", RUNS)
def test_counts_are_those_of_fio(tmp_path: Path, options: str) -> None:
    found = run(tmp_path, f"[job]\nsize=8m\n{options}\n").document()
    [(*sides, flushes)] = counts(found)
    requests, mib, expected = RUNS[options]
    assert (sum(sides[::2]), sum(sides[1::2]), flushes) == (requests, round(mib * MIB), expected)


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
@pytest.mark.parametrize("options", ["rw=randread\nnumber_ios=100", "rw=write\nfsync=3\nsize=32k"])
def test_the_installed_fio_counts_the_same(tmp_path: Path, options: str) -> None:
    (tmp_path / "data").write_bytes(bytes(8 * MIB))
    text = f"[job]\nfilename={tmp_path}/data\nsize=8m\n{options}\n"
    found = run(tmp_path, text).document()
    asked = ["fio", "--output-format=json", str(tmp_path / "job.fio")]
    out = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    theirs = json.loads(out[out.index("{\n") :])
    assert counts(found) == counts(theirs)
    # Keys of 3.33 that are there for every job, whatever it does.
    for name in ("read", "sync", "latency_us", "iodepth_level"):
        assert set(theirs["jobs"][0][name]) <= set(found["jobs"][0][name]), name
    assert set(theirs["jobs"][0]) <= set(found["jobs"][0])


TIMES = {
    # Requests 0 to 99 at k/200 s; 100 requests of 4 KiB at 400 KiB/s.
    "rw=randread\nrate_iops=200\nnumber_ios=100": 99 / 200,
    "rw=read\nrate=400k\nsize=400k": 99 / 100,
    # fio waits 7 times 10 ms: nothing follows the last 5 requests.
    "rw=randread\nthinktime=10ms\nthinktime_blocks=5\nnumber_ios=36": 0.07,
    "rw=read\ntime_based\nruntime=250ms\nrate_iops=1000": 0.25,
    # fio 3.33 as well: its rate is that of requests of 4 KiB; but for those of bssplit in 3.42.
    "rw=write\nbsrange=4k-16k\nrate_iops=2000\nio_size=4m": 0.512,
    # 20 requests in 95 ms, 50 ms: 13 times, and 18 of 5 ms. fio has 280 requests in 2 s.
    "rw=randread\nrate_iops=200\nthinktime=50ms\nthinktime_blocks=20\nnumber_ios=279\n"
    "rate_ignore_thinktime=1": 1.975,
    # Reads alternate with pauses at their own pace.
    "rw=randrw\nrate_iops=100,50\nnumber_ios=60\nnorandommap": 0.39,
}


@pytest.mark.parametrize("options", TIMES)
def test_rates_and_pauses_take_their_time(tmp_path: Path, options: str) -> None:
    found = run(tmp_path, f"[job]\nsize=8m\n{options}\n").document()["jobs"][0]
    assert found["job_runtime"] == pytest.approx(TIMES[options] * 1000, abs=12)


def test_jobs_behind_a_stonewall_begin_when_the_others_have_ended(tmp_path: Path) -> None:
    text = """
        [global]
        time_based
        runtime=100ms
        size=8m
        rate_iops=1000
        [a]
        [late]
        startdelay=50ms
        [after]
        wait_for=a
        [last]
        stonewall
    """
    found = run(tmp_path, text).document()["jobs"]
    assert [job["job_start"] for job in found] == [0, 50, 100, 200]
    assert [job["groupid"] for job in found] == [0, 0, 0, 1]


def test_a_job_may_end_the_others(tmp_path: Path) -> None:
    text = "[a]\nsize=8m\nnumber_ios=10\nrate_iops=100\nexitall\n[b]\nsize=8m\nrate_iops=100\n"
    found = run(tmp_path, text).document()["jobs"]
    assert [job["read"]["total_ios"] for job in found] == [10, 10]


def test_a_steady_job_ends_early(tmp_path: Path) -> None:
    text = """
        [job]
        rw=randread
        size=64m
        time_based
        runtime=60
        ss=iops:2%
        ss_dur=5
        ss_interval=1
    """
    found = run(tmp_path, text, state=None).document()["jobs"][0]
    assert found["steadystate"]["attained"] == 1
    assert len(found["steadystate"]["data"]["iops"]) == 5
    assert found["job_runtime"] == pytest.approx(5000, abs=2)


def test_the_output_is_read_by_what_reads_fio(tmp_path: Path) -> None:
    text = "[a]\nrw=randrw\nrwmixread=70\nbs=8k\nsize=64m\nioengine=libaio\niodepth=8\nnumjobs=2\n"
    found = run(tmp_path, text, state=None).document()
    assert found["fio version"].startswith("fio-3.38 (opennandlab ")
    assert found["global options"] == {}
    for job in found["jobs"]:
        record = of_job(found, job)
        assert record.options is not None
        assert {"rw": "randrw", "bs": "8k", "iodepth": "8", "numjobs": "2"}.items() <= (
            record.options.items()
        )
        assert record.sides["read"].doubt == record.sides["write"].odd == ""
        total = sum(side.ios for side in record.sides.values())
        assert total == 64 * MIB // 8192


def test_percentiles_and_means_are_those_of_the_requests(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    text = """
        [job]
        rw=randread
        size=16m
        norandommap
        ioengine=libaio
        iodepth=4
        write_lat_log=x
        write_bw_log=x
        write_hist_log=x
        log_offset=1
        lat_percentiles=1
        percentile_list=50:99:100
    """
    found = run(tmp_path, text, logs=logs, state=None).document()["jobs"][0]["read"]
    assert sorted(path.name for path in logs.iterdir()) == [
        f"x_{kind}.1.log" for kind in ("bw", "clat", "clat_hist", "lat", "slat")
    ]
    rows = np.loadtxt(logs / "x_lat.1.log", delimiter=",", dtype=np.int64)
    latency = rows[:, 1]
    assert rows.shape == (4096, 6)
    assert set(rows[:, 2]) == {0}
    assert set(rows[:, 3]) == {4096}
    assert (rows[:, 4] % 4096 == 0).all()
    assert rows[:, 4].max() < 16 * MIB
    for kind in ("lat_ns", "clat_ns"):
        assert [found[kind][key] for key in ("min", "max")] == [latency.min(), latency.max()]
        assert found[kind]["mean"] == pytest.approx(latency.mean(), abs=1e-3)
        assert found[kind]["stddev"] == pytest.approx(latency.std(ddof=1), rel=1e-9)
        for share, value in found[kind]["percentile"].items():
            # Half of a bucket of 64 for each power of two.
            exact = np.percentile(latency, float(share), method="inverted_cdf")
            assert value == pytest.approx(exact, rel=1 / 128)
    bins = found["clat_ns"]["bins"]
    assert sum(bins.values()) == 4096
    hist = np.loadtxt(logs / "x_clat_hist.1.log", delimiter=",", dtype=np.int64, ndmin=2)
    assert hist.shape[1] == 3 + 1856
    assert hist[:, 3:].sum() == 4096


def test_windows_of_logs_sum_to_the_run(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    text = """
        [job]
        rw=randrw
        size=64m
        time_based
        runtime=2
        log_avg_msec=250
        numjobs=2
        rate_iops=1000,500
    """
    found = run(tmp_path, text, logs=logs, state=None).document()["jobs"][0]
    rows = np.loadtxt(logs / "randrw-iodepth-1-numjobs-2_iops.1.log", delimiter=",", dtype=int)
    reads = rows[rows[:, 2] == 0]
    assert set(rows[:, 3]) == {0}
    assert reads[:, 0].tolist() == [250, 500, 750, 1000, 1250, 1500, 1750, 2000]
    # fio writes one line for two of its windows of 500 ms, or more.
    assert sum(reads[:, 1]) / 4 == pytest.approx(found["read"]["total_ios"], abs=8)
    assert found["read"]["iops_samples"] == 4
    assert found["read"]["iops_mean"] == pytest.approx(1000, abs=2)
    assert found["write"]["iops_mean"] == pytest.approx(500, abs=2)


def test_groups_and_mixed_reporting_join_processes(tmp_path: Path) -> None:
    text = "[a]\nrw=rw\nsize=8m\nnumjobs=3\n"
    apart = run(tmp_path, text).document()["jobs"]
    [grouped] = run(tmp_path, text + "group_reporting\n").document()["jobs"]
    [mixed] = run(tmp_path, text + "group_reporting\nunified_rw_reporting=1\n").document()["jobs"]
    for side in ("read", "write"):
        for key in ("total_ios", "io_bytes"):
            assert grouped[side][key] == sum(job[side][key] for job in apart)
    assert grouped["job_runtime"] == sum(job["job_runtime"] for job in apart)
    assert "read" not in mixed
    assert mixed["mixed"]["total_ios"] == 3 * 2048


def test_the_same_bytes_whatever_the_slices(tmp_path: Path) -> None:
    text = (
        "[a]\nrw=randrw\nsize=32m\nioengine=libaio\niodepth=8\nfsync=7\n[b]\nstonewall\nrw=read\n"
    )
    text = text + "size=1m\n"
    documents = {
        json.dumps(run(tmp_path, text, state=None, slice_ops=ops).document())
        for ops in (None, 100, 5000)
    }
    assert len(documents) == 1
    other = json.dumps(run(tmp_path, text, state=None, seed=7).document())
    assert other not in documents


def test_placement_ids_go_to_the_handles_of_the_drive(tmp_path: Path) -> None:
    device = load_device("tlc_standard", {"ftl.placement": {"kind": "fdp", "handles": 4}})
    text = "[a]\nrw=randwrite\nsize=64m\nnumber_ios=4000\nfdp=1\nplids=1,2\n"
    found = run(tmp_path, text, device=device)
    assert found.plan.processes[0].spec["handles"] == {"by": "round_robin", "ids": [1, 2]}
    assert counts(found.document())[0][2] == 4000


def test_time_that_does_not_pass_is_no_result(tmp_path: Path) -> None:
    path = tmp_path / "job.fio"
    path.write_text("[a]\nrw=randread\ntime_based\nruntime=1\n")
    found = JobRun(Start(DEVICE, 42, "fresh"), path).measure()
    assert "no time passes" in found.problem
