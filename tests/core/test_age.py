"""Wear as a starting point: a drive that was given its age is as one that was written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import opennandlab as onl
from opennandlab.base.errors import ConfigError

FILL: dict[str, Any] = {"kind": "sequential_fill"}
# 2 dies of 128 blocks of 64 pages.
WORN: dict[str, Any] = {
    "nand": {
        "channels": 1,
        "dies_per_channel": 2,
        "planes_per_die": 1,
        "blocks_per_plane": 128,
        "pages_per_block": 64,
        "max_pe_cycles": 3000,
    },
    "ftl": {"over_provisioning_pct": 0.12},
}


def writes(count: float) -> dict[str, Any]:
    return {"kind": "workload", "drive_writes": count}


def age(cycles: float, **more: Any) -> dict[str, Any]:
    return {"kind": "age", "pe_cycles": cycles, **more}


def measured(steps: list[dict[str, Any]], **changes: Any) -> onl.Result:
    """Write four drive writes behind these steps, and read a fifth of the requests."""
    work = {
        "name": "after age",
        "read_pct": 20,
        "timed": False,
        "total": {"drive_writes": 4},
        "precondition": steps,
        **changes,
    }
    return onl.benchmark(WORN, work, seed=7)


def steps_of(order: str, cycles: float) -> list[dict[str, Any]]:
    mark = age(cycles, spread_ratio=0.01)
    return [mark, FILL, writes(8)] if order == "empty" else [FILL, writes(5), mark, writes(3)]


@pytest.mark.parametrize("order", ["empty", "with data"])
def test_an_aged_drive_is_as_one_that_was_written(order: str) -> None:
    written = measured([FILL, writes(200)]).metrics
    wear = written["wear"]["mean"]
    # What is written behind the age adds to it: a first run says how much.
    added = measured(steps_of(order, wear)).metrics["wear"]["mean"] - wear
    aged = measured(steps_of(order, wear - added))
    found = aged.metrics
    assert found["wear"]["mean"] == pytest.approx(wear, rel=1e-3)
    # The spread that writing leaves, 0.7 %, is that of a ratio of 1 % either way within a half.
    assert found["wear"]["stddev"] == pytest.approx(written["wear"]["stddev"], rel=0.5)
    # Two windows of four drive writes of the same drive differ as much.
    assert found["waf"] == pytest.approx(written["waf"], rel=0.02)
    # Corrected bits of a codeword: the raw bit error rate, by a Weibull law of wear.
    rate = "ecc_correction_rate_pct"
    assert found[rate] == pytest.approx(written[rate], rel=0.005)
    step = next(it for it in aged.document["state"]["steps"] if "failed_blocks" in it)
    assert (step["host_bytes_written"], step["waf"]) == (0, None)
    assert aged.document["checks"]["passed"]
    # The life before is in no counter of the run.
    assert found["host_bytes_written"] == written["host_bytes_written"]


def test_blocks_that_fail_on_the_way_are_those_of_the_model() -> None:
    failing = {"program": 0.0, "erase": 4e-5, "growth": 1.0}
    changes = {"nand.failures": failing, "ftl.over_provisioning_pct": 0.28}
    device = onl.load_device(WORN, changes)
    drive = onl.Simulation(device, seed=3)
    result = drive.run({"name": "w", "total": {"ios": 1}, "precondition": [age(1000)]})
    failed = result.document["state"]["steps"][0]["failed_blocks"]
    # 1 - (1 - 4e-5)^1000 of 256 blocks: 10.0, within 4.5 standard deviations.
    share = 1 - (1 - 4e-5) ** 1000
    assert abs(failed - 256 * share) < 4.5 * (256 * share * (1 - share)) ** 0.5
    assert failed > 0


def test_age_of_a_timed_run_takes_no_time_and_shows_in_times() -> None:
    device = onl.load_device(WORN, {"nand.wear_timing": {"program_slope": 0.5}})
    work = {"name": "t", "queue_depth": 4, "total": {"ios": 3000}}
    young, old = (
        onl.benchmark(device, {**work, "precondition": [*steps, {**FILL, "timed": True}]})
        for steps in ([], [age(2900)])
    )
    assert old.metrics["host_bytes_written"] == young.metrics["host_bytes_written"]
    assert old.metrics["wear"]["mean"] == pytest.approx(2900 + young.metrics["wear"]["mean"], 1e-3)
    # Programs take half as long again at the rated cycles, and nothing else does.
    least = [it.metrics["latency_us"]["write"]["min"] for it in (young, old)]
    assert 1.4 < least[1] / least[0] < 1.5


def test_a_drive_at_its_rated_cycles_is_dead_or_stays_in_use() -> None:
    steps = [age(3000), FILL]
    dead = measured(steps)
    assert dead.document["state"]["worn_out"]
    assert any("wear_out" in text for text in dead.document["warnings"])
    device = onl.load_device(WORN, {"nand.wear_out": "ignore"})
    used = onl.benchmark(
        device, {"timed": False, "total": {"drive_writes": 1}, "precondition": steps}
    )
    assert not used.document["state"]["worn_out"]
    assert used.metrics["wear"]["min"] >= 3000


@pytest.mark.parametrize(
    ("step", "key"),
    [
        (age(-1), "pe_cycles"),
        (age(1e7), "pe_cycles"),
        (age(float("nan")), "pe_cycles"),
        (age(10, spread_ratio=2), "spread_ratio"),
        (age(10, retention_h=5), "retention_h"),
        ({"kind": "age"}, "pe_cycles"),
    ],
)
def test_what_cannot_be_is_refused_with_its_key(step: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError, match=key):
        measured([step])


@pytest.mark.parametrize(
    "mapping",
    [
        {"kind": "block"},
        {"kind": "fast", "log_blocks": 8},
        {"kind": "dftl", "cache_bytes": 16384},
    ],
)
def test_other_maps_age_while_they_are_empty(mapping: dict[str, Any]) -> None:
    device = onl.load_device(
        WORN,
        {"ftl.mapping": mapping, "ftl.over_provisioning_pct": 0.28},
    )
    work = {"name": "m", "pattern": "sequential", "total": {"ios": 200}, "timed": False}
    found = onl.benchmark(device, {**work, "precondition": [age(500), FILL]})
    assert found.metrics["wear"]["min"] >= 500
    late = {**work, "precondition": [FILL, age(500)]}
    if mapping["kind"] == "dftl":
        assert onl.benchmark(device, late).document["checks"]["passed"]
        return
    with pytest.raises(ConfigError, match=r"precondition\[1\]"):
        onl.benchmark(device, late)


def test_a_drive_ages_before_a_trace(tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("time_ns,op,offset_bytes,size_bytes,volume,process,flags\n0,write,0,4096,,,\n")
    found = onl.replay(WORN, trace, {"precondition": [age(700), FILL]})
    assert found.metrics["wear"]["min"] >= 700


# Share of lost blocks; WAF of uniform 4 KiB writes and of JESD219, from a run of 0.1.0 of this
# program over 8 drive writes, compared with an independent simulator within half a percent.
LOST = ((0.0, 8.360, 9.357), (0.01, 9.693, 10.75), (0.02, 11.57, 12.70), (0.03, 14.66, 15.88))
JESD219: dict[str, Any] = {
    "pattern": {
        "kind": "zoned",
        "zones": [
            {"fraction": 0.05, "share": 0.5},
            {"fraction": 0.15, "share": 0.3},
            {"fraction": 0.80, "share": 0.2},
        ],
    },
    "block_size_bytes": {
        "512": 4, "1024": 1, "1536": 1, "2048": 1, "2560": 1, "3072": 1, "3584": 1, "4096": 67,
        "8192": 10, "16384": 7, "32768": 3, "65536": 3,
    },
}  # fmt: skip


def long_waf(changes: dict[str, Any], work: dict[str, Any]) -> float:
    device = onl.load_device(
        "tlc_standard", {"nand.blocks_per_plane": 128, "nand.wear_out": "ignore", **changes}
    )
    run = {"timed": False, "total": {"drive_writes": 2}, "precondition": [FILL, writes(6)], **work}
    return float(onl.benchmark(device, run).metrics["waf"])


@pytest.mark.parametrize(("lost", "uniform", "jesd219"), LOST)
def test_lost_blocks_cost_spare_area(lost: float, uniform: float, jesd219: float) -> None:
    # The capacity is that of the whole drive: blocks are lost from its spare area.
    changes = {
        "nand.factory_bad_block_ratio": lost,
        "ftl.over_provisioning_pct": 1.07 * (1 - lost) - 1,
    }
    assert long_waf(changes, {}) == pytest.approx(uniform, rel=0.01)
    work = {**JESD219, "align_bytes": 4096}
    assert long_waf(changes, work) == pytest.approx(jesd219, rel=0.01)
    device = onl.load_device("tlc_standard", {"nand.blocks_per_plane": 128, **changes})
    whole = onl.load_device("tlc_standard", {"nand.blocks_per_plane": 128})
    pages = [it.effective["logical_pages"] for it in (device, whole)]
    assert pages[0] == pytest.approx(pages[1], rel=3e-4)


def test_blocks_that_fail_are_lost_unevenly() -> None:
    # Mean of 1 / (a - b x) over dies whose losses x are binomial: 4.5 % above that of equal losses.
    lost = {"nand.factory_bad_block_ratio": 0.02, "ftl.over_provisioning_pct": 1.07 * 0.98 - 1}
    even = long_waf({**lost, "ftl.gc_reserve_blocks": 32}, {})
    failing = {"nand.max_pe_cycles": 1000, "nand.failures.infant": {"ratio": 0.02, "cycles": 500}}
    steps = [{"kind": "age", "pe_cycles": 500}, FILL, writes(6)]
    assert 1.0 < long_waf(failing, {"precondition": steps}) / even < 1.08


def test_jesd219_at_its_natural_alignment() -> None:
    # 9.066 of whole pages x 1.99625 pages a request x 4096 / 7818.24 B a request.
    expected = 9.066 * 1.99625 * 4096 / 7818.24
    assert expected == pytest.approx(9.48, abs=0.005)
    natural = long_waf({}, {**JESD219, "align_bytes": "natural"})
    assert natural == pytest.approx(expected, rel=0.01)
    assert long_waf({}, {**JESD219, "align_bytes": 512}) == pytest.approx(13.22, rel=0.01)
