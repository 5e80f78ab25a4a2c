"""The logs of a simulated drive after a run, against the rows of its requests and its result."""

from __future__ import annotations

import copy
import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from conftest import SHORT, SMALL
from opennandlab.cli import app
from opennandlab.measured.ocp import count, read_logs

LIMITS = (5, 10, 20, 40)
# Programs so slow that requests at a depth of 32 are in all buckets.
SLOW: dict[str, Any] = {
    **SMALL,
    "nand": {**SMALL["nand"], "timing": {"t_program_us": 1500, "t_erase_us": 9000}},
}
MIXED: dict[str, Any] = {
    **SHORT, "read_pct": 40, "trim_pct": 5, "queue_depth": 32, "total": {"ios": 6000},
}  # fmt: skip


def buckets(path: Path) -> dict[str, list[int]]:
    """Count rows of requests by kind and by the limits."""
    found = {kind: [0] * 4 for kind in ("read", "write", "trim")}
    with path.open(newline="") as stream:
        for row in csv.DictReader(stream):
            ns = int(row["complete_ns"]) - int(row["arrival_ns"])
            passed = sum(ns >= limit * 1_000_000 for limit in LIMITS)
            if passed and row["op"] in found:
                found[row["op"]][passed - 1] += 1
    return found


def test_slow_commands_are_those_of_the_rows(tmp_path):
    path = tmp_path / "requests.csv"
    result = onl.benchmark(SLOW, MIXED, seed=3, requests=path, ocp=LIMITS)
    assert result.logs is not None
    log = result.logs.after.latency_monitor_log
    assert log is not None
    counted = {
        kind: [log[f"Active Bucket Counter: Bucket {it}"][kind.capitalize()] for it in range(4)]
        for kind in ("read", "write", "trim")
    }
    assert counted == buckets(path)
    assert min(counted["write"]) > 0
    longest = [log[f"Active Measured Latency: Bucket {it}"]["Write"] for it in range(4)]
    tops = (*LIMITS[1:], 1 << 16)
    assert all(low <= ms < top for low, ms, top in zip(LIMITS, longest, tops, strict=True))
    plain = onl.benchmark(SLOW, MIXED, seed=3)
    assert plain.digest == result.digest
    assert plain.logs is None


def test_counts_of_the_flash_are_those_of_the_run():
    """Preconditioning counts too: the drive was made for this run."""
    work = {**SHORT, "precondition": []}
    result = onl.benchmark(SMALL, work, seed=5, ocp=True)
    metrics, logs = result.content.metrics, result.logs
    assert metrics is not None
    assert logs is not None
    health = logs.after.smart_add_log
    assert health is not None
    assert count(health["physical_media_units_written"]) == metrics.nand_bytes_written
    units = -(-metrics.host_bytes_written // 512_000)
    assert logs.after.smart_log["data_units_written"] == units
    assert logs.change.waf == metrics.nand_bytes_written / (units * 512_000)
    low, high = logs.change.waf_range
    assert low <= metrics.waf <= high
    assert (health["max_user_data_erase_count"], health["min_user_data_erase_count"]) == (
        metrics.wear.max, metrics.wear.min)  # fmt: skip
    assert health["bad_user_nand_blocks_raw"] == 0
    # What the model does not have is unknown, not 0.
    for name in ("capacitor_health", "unaligned_io", "pcie_correctable_errors", "plp_start_count"):
        assert health[name] is None
    monitor = logs.after.latency_monitor_log
    assert [monitor[f"Active Threshold {it}"] for it in "ABCD"] == [30, 100, 155, 235]
    assert monitor["Active Bucket Timer Threshold"] == 10080


def test_a_later_run_has_its_own_slow_commands_and_the_life_of_the_drive():
    drive = onl.Simulation(SLOW, seed=1)
    first = drive.run(MIXED, ocp=LIMITS).logs
    again = drive.run({**MIXED, "precondition": []}, ocp=LIMITS).logs
    last = drive.run({**MIXED, "precondition": []})
    assert last.logs is None
    written = [
        count(it.after.smart_add_log["physical_media_units_written"]) for it in (first, again)
    ]
    assert written[1] > written[0]
    key = "Active Bucket Counter: Bucket"
    # Most of 6000 requests are slow: the second run does not add to the first.
    sums = [
        sum(sum(it.after.latency_monitor_log[f"{key} {at}"].values()) for at in range(4))
        for it in (first, again)
    ]
    assert min(sums) > 4000
    assert max(sums) < 6000


def test_options_are_refused_where_they_have_no_effect(tmp_path):
    (tmp_path / "d.yaml").write_text(json.dumps(SMALL))
    (tmp_path / "w.yaml").write_text(json.dumps(SHORT))
    (tmp_path / "u.yaml").write_text(json.dumps({**SHORT, "timed": False}))
    base = ["benchmark", "-c", str(tmp_path / "d.yaml"), "-w", str(tmp_path / "w.yaml")]
    out = str(tmp_path / "ocp.json")
    limits = ("30,100,155", "30,100,155,155", "1,5,10,20", "5,10,20,1285", "a,b,c,d", "5,10,20,1e3")
    for wrong in limits:
        done = CliRunner().invoke(app, [*base, "--ocp", out, "--ocp-thresholds", wrong])
        assert done.exit_code == 2, wrong
        assert "5 to 1280 in ascending order" in " ".join(done.output.split())
    done = CliRunner().invoke(app, [*base, "--ocp-thresholds", "5,10,15,20"])
    assert (done.exit_code, "--ocp FILE" in done.output) == (2, True)
    base[-1] = str(tmp_path / "u.yaml")
    done = CliRunner().invoke(app, [*base, "--ocp", out])
    assert (done.exit_code, "timed: false" in done.output) == (2, True)
    for wrong in (5, "abcd", [1, 2], (5, 10, 20, float("nan"))):
        with pytest.raises(onl.ConfigError, match="ocp_thresholds"):
            onl.benchmark(SMALL, SHORT, ocp=wrong)


def test_the_file_of_a_run_is_read_by_the_verb(tmp_path):
    (tmp_path / "d.yaml").write_text(json.dumps(SMALL))
    (tmp_path / "w.yaml").write_text(json.dumps(SHORT))
    out = tmp_path / "ocp.json"
    base = ["benchmark", "-c", str(tmp_path / "d.yaml"), "-w", str(tmp_path / "w.yaml")]
    done = CliRunner().invoke(app, [*base, "--ocp", str(out)])
    assert done.exit_code == 0, done.output
    assert type(onl.load(out)).__name__ == "OcpDocument"
    assert read_logs(out).smart_log is not None
    done = CliRunner().invoke(app, ["ocp", str(out)])
    assert "write amplification since the counters began: " in done.output


def test_an_emmc_has_its_health_without_failures():
    """A tenth of the life is one step; a drive at 95 % of its cycles is in the last one."""
    device = {**SMALL, "host": {"link": "emmc51_hs400"}}
    rated = 1000
    device["nand"] = {**SMALL["nand"], "max_pe_cycles": rated}
    for share, step in ((0.0, 1), (0.15, 2), (0.95, 10)):
        work = {**SHORT, "total": {"ios": 100}, "precondition": [
            {"kind": "age", "pe_cycles": share * rated}]}  # fmt: skip
        health = onl.benchmark(device, work, seed=2).metrics["health"]
        assert health["emmc"] == {"device_life_time_est_typ_b": step, "pre_eol_info": 1}


def test_a_standard_test_saves_the_logs_of_its_drive(tmp_path):
    """By the end of the test, fill included; of a test that was cut they are unknown."""
    (tmp_path / "d.yaml").write_text(json.dumps(SMALL))
    base = ["pts", "iops", "--target", f"sim:{tmp_path / 'd.yaml'}", "--time-base", "smoke"]
    base += ["--block-sizes", "4k", "--mixes", "0", "-q"]
    out = tmp_path / "out"
    done = CliRunner().invoke(app, [*base, "--ocp", "-o", str(out)])
    assert done.exit_code == 0, done.output
    document = onl.load(out / "iops.ocp.json")
    assert document.source == [f"sim:{tmp_path / 'd.yaml'}", "iops"]
    low, high = document.change.waf_range
    test = onl.load(out / "iops.json")
    wafs = [cell.waf for cell in test.cells.rows if cell.waf is not None]
    assert 1.0 <= low <= high <= max(wafs)
    assert document.after.latency_monitor_log["Active Threshold D"] == 235
    plain = tmp_path / "plain"
    assert CliRunner().invoke(app, [*base, "-o", str(plain)]).exit_code == 0
    assert not (plain / "iops.ocp.json").exists()
    assert onl.load(plain / "iops.json").digest == test.digest
    done = CliRunner().invoke(app, [*base, "--ocp"])
    assert (done.exit_code, "--output DIR" in done.output) == (2, True)
    base[3] = f"file:{tmp_path / 'f.img'}?size=8MiB"
    done = CliRunner().invoke(app, [*base, "--ocp", "-o", str(tmp_path / "file")])
    assert done.exit_code == 2
    assert "is not simulated" in " ".join(done.output.split())


def test_other_data_of_a_drive_with_compression_begin_its_counters_anew(tmp_path):
    """The figures of a part of its life would pass for those of the whole."""
    squeezed = copy.deepcopy(SMALL)
    squeezed["ftl"]["compression"] = {"data": "file", "ratio": 0.5}
    (tmp_path / "d.yaml").write_text(json.dumps(squeezed))
    base = ["pts", "iops", "--target", f"sim:{tmp_path / 'd.yaml'}", "--time-base", "smoke"]
    base += ["--block-sizes", "4k", "--mixes", "0", "-q", "--ocp", "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(app, base)
    assert done.exit_code == 0, done.output
    document = onl.load(tmp_path / "out" / "iops.ocp.json")
    assert document.after.smart_add_log is None
    assert document.change.waf is None
