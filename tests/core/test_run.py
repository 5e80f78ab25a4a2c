"""Running: reproducible, interruptible, and the same however it is sliced."""

from __future__ import annotations

import json
import os
import pickle
import resource
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

import opennandlab as onl
from conftest import COMMAND
from opennandlab import _core
from opennandlab.core import images, memory, run
from opennandlab.core.history import History
from opennandlab.core.observation import Observation
from opennandlab.core.requests import Requests


def test_the_same_seed_gives_the_same_result_and_another_does_not(small: Any, short: Any) -> None:
    digests = [onl.benchmark(small, short, seed=seed).digest for seed in (42, 42, 43)]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("slice_ops", [1, 7, 1000, 10**9])
def test_slices_do_not_change_a_result(small: Any, short: Any, timed: Any, slice_ops: int) -> None:
    work = {**short, "timed": timed, "total": {"ios": 3000}}
    whole = onl.benchmark(small, work)
    sliced = run.prepare_benchmark(run.Start(small), work).measure(slice_ops=slice_ops)
    assert sliced.digest == whole.digest


def test_the_result_has_every_section_of_the_contract(small: Any, short: Any) -> None:
    document = onl.benchmark(small, short).document
    assert document["schema"] == "opennandlab.result/1"
    assert document["seed"] == 42
    assert set(document) >= {
        *("model_version", "tool", "created", "device", "effective", "workload", "state"),
        *("metrics", "series", "checks", "warnings", "digest", "run"),
    }
    assert set(document["tool"]) >= {"version", "commit", "dirty", "python", "os", "cpu"}
    assert document["tool"]["dirty"] is _core.dirty()
    assert document["created"].endswith("Z")
    assert set(document["effective"]) >= {
        *("raw_bytes", "logical_bytes", "physical_pages", "logical_pages"),
        *("spare_factor", "spare_factor_effective", "predicted_waf"),
    }
    assert set(document["metrics"]) >= {
        *("waf", "host_bytes_written", "nand_bytes_written", "host_bytes_read", "programs"),
        *("reads", "erases", "throughput_mb_s", "iops", "duration_s", "latency_us", "gc_cycles"),
        *("gc_pages_moved", "wear", "wl_stddev", "ecc_correction_rate_pct", "uber"),
        *("uncorrectable_read_rate", "lifetime_days", "tbw_tb"),
    }
    assert set(document["series"]) >= {"t_s", "iops", "throughput_mb_s", "waf", "free_blocks"}
    checks = document["checks"]
    assert checks["passed"] is True
    assert checks["issued"] == checks["served"]
    assert set(document["run"]) >= {
        *("wall_s", "precondition_wall_s", "measured_wall_s", "host_ios_per_s"),
        *("flash_ops_per_s", "peak_rss_bytes"),
    }
    json.dumps(document, allow_nan=False)


def test_programs_are_what_waf_says(small: Any, short: Any) -> None:
    metrics = onl.benchmark(small, short).metrics
    pages = sum(metrics["programs"].values())
    assert metrics["nand_bytes_written"] == pages * 4096
    assert metrics["waf"] == metrics["nand_bytes_written"] / metrics["host_bytes_written"]


def test_an_untimed_run_measures_no_time(small: Any, short: Any) -> None:
    result = onl.benchmark(small, {**short, "timed": False})
    assert result.metrics["waf"] > 1
    assert result.metrics["latency_us"] is None
    assert result.metrics["throughput_mb_s"] == {"read": None, "write": None, "total": None}
    assert result.passed


def test_progress_goes_forward_to_the_end(small: Any, short: Any) -> None:
    seen: list[onl.Progress] = []
    run.prepare_benchmark(run.Start(small), short).measure(progress=seen.append, slice_ops=500)
    assert seen[-1].finished
    assert all(not state.finished for state in seen[:-1])
    ios = [state.host_ios for state in seen]
    assert ios == sorted(ios)
    assert [state.measured for state in seen[:-1]] == sorted(state.measured for state in seen[:-1])
    assert {state.stage for state in seen[:-1]} == {"sequential fill", "short"}
    assert all(0 <= (state.fraction or 0) <= 1 for state in seen)
    assert any(state.eta_s is not None for state in seen)


def test_ctrl_c_gives_what_was_measured_until_then(small: Any, short: Any) -> None:
    def interrupt(state: onl.Progress) -> None:
        if state.measured and state.done > state.total / 2:
            raise KeyboardInterrupt

    prepared = run.prepare_benchmark(run.Start(small), short)
    with pytest.raises(onl.Interrupted) as stop:
        prepared.measure(progress=interrupt, slice_ops=100)
    result = stop.value.result
    assert result is not None
    assert result.partial
    assert result.document["partial"] is True
    full = onl.benchmark(small, short)
    share = result.metrics["host_bytes_written"] / full.metrics["host_bytes_written"]
    assert 0.4 < share < 0.8
    assert any("interrupted" in text for text in result.warnings)


def test_ctrl_c_in_the_preconditioning_leaves_no_result(
    small: Any, short: Any, tmp_path: Path
) -> None:
    """A document without metrics was saved, and passed for the result of a run."""

    def interrupt(state: onl.Progress) -> None:
        assert not state.measured
        raise KeyboardInterrupt

    watch = Observation(requests=Requests(tmp_path / "requests.csv"))
    prepared = run.prepare_benchmark(run.Start(small), short, watch=watch)
    with pytest.raises(onl.Interrupted) as stop:
        prepared.measure(progress=interrupt, slice_ops=10)
    assert stop.value.result is None
    assert not list(tmp_path.iterdir())


def test_a_drive_in_two_threads_runs_one_job_and_refuses_the_other(small: Any) -> None:
    """Runs of several threads on one drive shared their slices: all reported the shortest one."""
    drive = onl.Simulation(small)
    refused: list[BaseException] = []

    def second() -> None:
        try:
            drive.run({"pattern": "random", "timed": False, "total": {"ios": 50}})
        except onl.BusyError as error:
            refused.append(error)

    def start_another(state: onl.Progress) -> None:
        if not (refused or state.finished):
            thread = threading.Thread(target=second)
            thread.start()
            thread.join()

    job = {"pattern": "random", "timed": False, "total": {"ios": 20_000}}
    result = drive.run(job, progress=start_another)
    assert result.document["checks"]["issued"] == 20_000
    assert len(refused) == 1
    assert "carrying out a run" in str(refused[0])


def test_a_run_inside_its_own_progress_is_refused(small: Any, tmp_path: Path) -> None:
    """An outer run of 2 M commands that started one of 50 in `progress` reported 50."""
    drive = onl.Simulation(small)
    inner = {"pattern": "random", "timed": False, "total": {"ios": 50}}
    fill = {"kind": "sequential_fill", "fills": 1}
    attempts = [
        lambda: drive.run(inner),
        lambda: drive.precondition([fill]),
        lambda: drive.set_stress(retention_h=1.0),
        lambda: drive.save(tmp_path / "drive.image"),
    ]
    seen: list[str] = []

    def interfere(_: onl.Progress) -> None:
        for attempt in attempts:
            with pytest.raises(onl.BusyError) as refused:
                attempt()
            seen.append(str(refused.value))

    result = drive.run({**inner, "total": {"ios": 20_000}}, progress=interfere)
    assert result.document["checks"]["issued"] == 20_000
    assert len(seen) >= len(attempts)
    assert not list(tmp_path.iterdir())
    # Afterwards, and after an interrupted run, the drive is free.
    assert drive.run(inner).document["checks"]["issued"] == 50

    def interrupt(_: onl.Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(onl.Interrupted):
        drive.run(inner, progress=interrupt)
    assert drive.run(inner).document["checks"]["issued"] == 50


def test_a_prepared_run_inside_its_own_progress_is_refused(small: Any, short: Any) -> None:
    prepared = run.prepare_benchmark(run.Start(small), short)

    def again(_: onl.Progress) -> None:
        with pytest.raises(onl.BusyError):
            prepared.measure()

    assert prepared.measure(progress=again).digest == onl.benchmark(small, short).digest


def test_other_threads_run_while_the_core_works(small: Any) -> None:
    core = _core.Drive(onl.load_device(small).core, 42)
    job = {"pattern": "random", "timed": False, "total": {"drive_writes": 2000}}
    core.begin(onl.load_workload(job, onl.load_device(small)).core, 42)
    worker = threading.Thread(target=core.advance, args=(20_000_000,))
    worker.start()
    ticks = 0
    while worker.is_alive():
        ticks += 1
    # Without releasing the GIL this loop would run once.
    assert ticks > 100


def test_a_fresh_start_drops_the_preconditioning_and_warns(small: Any, short: Any) -> None:
    fresh = onl.benchmark(small, short, state="fresh")
    assert fresh.document["workload"]["precondition"] == []
    assert fresh.document["state"]["origin"] == "fresh"
    assert any("fresh drive" in text for text in fresh.warnings)
    assert fresh.metrics["waf"] < onl.benchmark(small, short).metrics["waf"]


def test_a_saved_drive_is_the_drive(small: Any, short: Any, tmp_path: Path) -> None:
    drive = onl.Simulation(small, seed=7)
    drive.precondition([{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 2}])
    drive.save(tmp_path / "state.onl")
    again = onl.Simulation.load(tmp_path / "state.onl", seed=7)
    assert again.device == drive.device
    work = {**short, "precondition": []}
    assert again.run(work).metrics["gc_cycles"] > 0
    by_name = onl.benchmark(None, work, seed=7, state=f"image:{tmp_path / 'state.onl'}")
    loaded = onl.Simulation.load(tmp_path / "state.onl", seed=7)
    assert by_name.digest == loaded.run(work).digest


def test_steps_may_follow_each_other(small: Any, short: Any) -> None:
    drive = onl.Simulation(small, seed=1)
    drive.precondition([{"kind": "sequential_fill"}])
    work = {**short, "precondition": [], "total": {"ios": 500}}
    first, second = drive.run(work), drive.run(work)
    assert first.metrics["host_bytes_written"] == second.metrics["host_bytes_written"] == 500 * 4096
    assert second.metrics["wear"]["mean"] > first.metrics["wear"]["mean"]


def test_a_later_step_has_its_own_addresses_and_says_what_came_before(
    small: Any, short: Any, tmp_path: Path
) -> None:
    """Steps with one seed would write the same pages again and find them all overwritten."""
    drive = onl.Simulation(small, seed=1)
    work = {**short, "precondition": [], "total": {"ios": 1000}, "timed": False}
    first, second = drive.run(work), drive.run(work)
    assert first.digest == onl.benchmark(small, work, seed=1, state="fresh").digest
    assert (first.document["seed"], second.document["seed"]) == (1, 1)
    assert second.document["state"]["origin"] == {"session": {"jobs_before": 1, "steps": ["short"]}}
    assert any("fresh drive" in text for text in first.warnings)
    assert not any("fresh drive" in text for text in second.warnings)
    second.save(tmp_path / "second.json")
    with pytest.raises(onl.ResultError, match="made step by step: cannot be repeated"):
        onl.verify(tmp_path / "second.json")
    with pytest.raises(onl.ResultError, match="different state"):
        onl.compare([first, second])


def test_the_seeds_of_steps_differ() -> None:
    history = History()
    assert history.job_seed(42) == 42
    history.jobs = 1
    second = history.job_seed(42)
    history.jobs = 2
    assert len({42, second, history.job_seed(42)}) == 3
    assert second < 1 << 64


@pytest.fixture
def image(small: Any, tmp_path: Path) -> Path:
    drive = onl.Simulation(small)
    drive.precondition([{"kind": "sequential_fill"}])
    drive.save(tmp_path / "state.onl")
    return tmp_path / "state.onl"


def test_a_damaged_image_is_refused_with_its_reason(image: Path, short: Any) -> None:
    whole = image.read_bytes()
    newer = whole[:8] + (99).to_bytes(4, "little") + whole[12:]
    flipped = whole[:-1] + bytes([whole[-1] ^ 1])
    for content, words in (
        (b"", "not a device image"),
        (b"PK\x03\x04 something else entirely", "not a device image"),
        # A cut image was called none, with the word that it does start with.
        (whole[:3], "not a device image"),
        (whole[:8], "cut off after 8 bytes: its header alone has 24"),
        (whole[:23], "cut off after 23 bytes: its header alone has 24; accepted: the whole file"),
        (whole[:24], "cut off or has grown: 0 bytes of body"),
        (whole[:-5], "cut off"),
        (whole + b"x", "grown"),
        (newer, "newer"),
        (flipped, "damaged"),
    ):
        image.write_bytes(content)
        with pytest.raises(onl.ImageError, match=words) as refusal:
            onl.benchmark(None, short, state=f"image:{image}")
        assert str(image) in str(refusal.value)
    with pytest.raises(onl.ImageError, match="No such file"):
        onl.Simulation.load(image.with_name("none.onl"))


def test_an_image_is_a_file_that_fits_the_memory(
    image: Path, short: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--state image:/dev/zero` read 5.9 GB, and a pipe without a writer was waited for."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, "/dev/zero", tmp_path):
        with pytest.raises(onl.ImageError, match=r"not a file|directory"):
            onl.benchmark(None, short, state=f"image:{path}")
    monkeypatch.setattr(images, "available_bytes", lambda: image.stat().st_size - 1)
    with pytest.raises(onl.ImageError, match="larger than the memory"):
        onl.Simulation.load(image)


def test_an_image_belongs_to_its_device(image: Path, small: Any, short: Any) -> None:
    assert onl.benchmark(small, short, state=f"image:{image}").passed
    small["ftl"]["gc_policy"] = "fifo"
    with pytest.raises(onl.ConfigError, match=r"another device.*gc_policy"):
        onl.benchmark(small, short, state=f"image:{image}")


@pytest.mark.parametrize("state", ["", "steady", "image:", "image"])
def test_an_unknown_state_is_refused(small: Any, short: Any, state: str) -> None:
    with pytest.raises(onl.ConfigError, match="accepted: fresh, image:FILE"):
        onl.benchmark(small, short, state=state)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, True])
def test_a_seed_is_a_whole_number(small: Any, short: Any, seed: Any) -> None:
    with pytest.raises(onl.ConfigError, match="not a valid seed"):
        onl.benchmark(small, short, seed=seed)


def test_a_device_beyond_memory_is_refused_with_what_it_needs(
    small: Any, short: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs = onl.load_device(small).effective["memory_bytes"]
    monkeypatch.setattr(memory, "available_bytes", lambda: needs - 1)
    with pytest.raises(onl.ConfigError, match=f"needs .*{needs} bytes") as refusal:
        onl.benchmark(small, short)
    assert refusal.value.path == "nand"
    monkeypatch.setattr(memory, "available_bytes", lambda: needs)
    assert onl.benchmark(small, short).passed


def test_a_limit_of_the_address_space_counts_as_memory(folder: Path) -> None:
    """Under `ulimit -v` the run was aborted with SIGABRT."""
    large = {"nand": {"channels": 64, "dies_per_channel": 8, "blocks_per_plane": 4096}}
    (folder / "large.yaml").write_text(json.dumps(large), encoding="utf-8")
    command = f"ulimit -v 500000; {COMMAND} benchmark -c large.yaml -w short.yaml -q"
    shown = subprocess.run(
        ["sh", "-c", command], cwd=folder, capture_output=True, timeout=60, check=False
    )
    assert shown.returncode == 2
    assert b"of memory" in shown.stderr


def test_memory_that_is_not_granted_is_an_error_not_an_abort(
    small: Any, short: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The estimate of what a device needs may be passed and the memory be taken meanwhile."""
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    huge = {"nand": {"channels": 64, "dies_per_channel": 8, "blocks_per_plane": 16380}}
    huge["nand"]["pages_per_block"] = 256
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, limits[1]))
    try:
        with pytest.raises(MemoryError, match="bytes were not granted"):
            onl.benchmark(huge, short)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert onl.benchmark(small, short).passed


def test_a_drive_that_was_pickled_goes_on_as_itself(small: Any, short: Any, tmp_path: Path) -> None:
    """Pools of processes send drives: it could not be pickled at all."""

    def sent(drive: onl.Simulation) -> onl.Simulation:
        again: onl.Simulation = pickle.loads(pickle.dumps(drive))
        return again

    drive = onl.Simulation(small, seed=7)
    copies = [sent(drive)]
    drive.precondition([{"kind": "sequential_fill"}])
    copies[0].precondition([{"kind": "sequential_fill"}])
    copies.append(sent(drive))
    drive.save(tmp_path / "drive.onl")
    work = {**short, "precondition": [], "total": {"ios": 2000}}
    expected = drive.run(work)
    for copy in copies:
        assert copy.run(work).digest == expected.digest
    loaded = onl.Simulation.load(tmp_path / "drive.onl", seed=7)
    assert sent(loaded).run(work).digest == loaded.run(work).digest


def test_a_pickled_drive_goes_on_with_its_reads(small: Any, short: Any) -> None:
    small["nand"] |= {"stress": {"count_reads": True}, "rber_floor": 1e-3, "rber_ceil": 2e-3}
    # With failures, a drive reports its health, which counts all that it was ever asked.
    small["nand"]["failures"] = {"erase": 1e-9}
    drive = onl.Simulation(small)
    reads = {**short, "read_pct": 80, "total": {"ios": 3000}}
    drive.run(reads)
    copy = pickle.loads(pickle.dumps(drive))
    expected = drive.run(reads)
    assert expected.metrics["uncorrectable_reads"] > 0
    assert expected.metrics["health"]["host_read_commands"] > 4000
    assert copy.run(reads).digest == expected.digest


@pytest.mark.parametrize("target", ["any", "mapped"])
def test_preconditioning_by_the_workload_trims(target: str) -> None:
    """Trims were left out of it, and the way to the smaller number of mapped pages was measured.

    At OP 7 % and 20 % trims the WAF was 2.09 instead of 1.84.
    """
    nand = {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1, "blocks_per_plane": 1024}
    ftl = {"over_provisioning_pct": 0.07, "gc_reserve_blocks": 2, "write_frontiers": "single"}
    device = {"nand": {**nand, "pages_per_block": 64}, "ftl": {**ftl, "wear_leveling": "none"}}
    work = {
        "pattern": "random",
        "trim_pct": 20,
        "trim_target": target,
        "timed": False,
        "total": {"drive_writes": 2},
    }
    steps = [{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 6}]
    result = onl.benchmark(device, {**work, "precondition": steps})
    predicted = result.document["effective"]["predicted_waf"]
    assert result.metrics["waf"] == pytest.approx(predicted, rel=0.02)


def test_the_largest_device_is_refused_before_anything_is_allocated(short: Any) -> None:
    """16 TiB of 4 KiB pages take about 36 GB; more than 2^32 pages cannot be addressed at all."""
    huge = {"nand": {"channels": 64, "dies_per_channel": 8, "blocks_per_plane": 16380}}
    huge["nand"]["pages_per_block"] = 256
    if (memory.available_bytes() or 35e9) >= 35e9:
        pytest.skip("this machine could hold it")
    with pytest.raises(onl.ConfigError, match="of memory"):
        onl.benchmark(huge, short)
    huge["nand"]["channels"] = 256
    with pytest.raises(onl.ConfigError, match="nand"):
        onl.benchmark(huge, short)


def test_the_smallest_device_that_is_accepted_runs(short: Any) -> None:
    tiny = {
        "nand": {
            "channels": 1,
            "dies_per_channel": 1,
            "planes_per_die": 1,
            "blocks_per_plane": 8,
            "pages_per_block": 4,
        },
        "ftl": {"over_provisioning_pct": 1.0, "gc_reserve_blocks": 1},
    }
    result = onl.benchmark(tiny, {**short, "total": {"ios": 1000}})
    assert result.passed
    assert result.metrics["waf"] >= 1


def test_a_panic_of_the_core_is_an_internal_error(small: Any) -> None:
    core = _core.Drive(onl.load_device(small).core, 42)
    other = onl.load_device(small, {"nand.blocks_per_plane": 65})
    work = onl.load_workload({"total": {"ios": 1}}, other)
    with pytest.raises(onl.ConfigError, match="resolved for a device of"):
        core.begin(work.core, 42)
    assert json.loads(core.advance(1))["finished"] is True
