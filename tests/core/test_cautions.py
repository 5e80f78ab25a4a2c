"""The usual mistakes are caught by rule, in every run, in the same words."""

from __future__ import annotations

from typing import Any

import pytest

import opennandlab as onl
from opennandlab.base.words import number
from opennandlab.reports import summary
from opennandlab.reports.metric_rows import metric_rows
from opennandlab.theory.prediction import predicted_waf

RANDOM = {
    "pattern": "random",
    "timed": False,
    "total": {"drive_writes": 4},
    "precondition": [{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 4}],
}


def warnings(device: Any, workload: Any, **options: Any) -> str:
    return " ".join(onl.benchmark(device, workload, **options).warnings)


def test_a_sequential_workload_measures_no_collection(small: Any) -> None:
    sequential = {**RANDOM, "pattern": "sequential", "precondition": [{"kind": "sequential_fill"}]}
    result = onl.benchmark(small, sequential)
    assert result.metrics["waf"] == 1.0
    assert "GC" in " ".join(result.warnings)


def test_a_steady_random_run_needs_no_warning(small: Any) -> None:
    assert warnings(small, RANDOM) == ""


def test_a_drive_that_still_fills_its_spare_area_is_not_steady(small: Any) -> None:
    """WAF is flat at 1 before the first collection, and was called steady for that."""
    small["nand"]["blocks_per_plane"] = 256
    small["ftl"]["over_provisioning_pct"] = 2.2
    stage = {"kind": "workload", "until": "steady"}
    steady: dict[str, Any] = {**RANDOM, "total": {"drive_writes": 1}}
    steady["precondition"] = [{"kind": "sequential_fill"}, stage]
    found = onl.benchmark(small, steady).document
    assert found["state"]["steps"][1]["steady"] is True
    assert found["effective"]["predicted_waf"] == pytest.approx(1.031, abs=0.001)
    assert found["metrics"]["waf"] == pytest.approx(1.031, abs=0.006)
    steady["precondition"][1] = {**stage, "max_drive_writes": 1.2}
    assert "ended before WAF was steady" in warnings(small, steady)


def test_a_fresh_drive_is_warned_of(small: Any) -> None:
    assert "fresh drive" in warnings(small, RANDOM, state="fresh")


def test_a_few_superblocks_of_writes_are_warned_of() -> None:
    device = {
        "nand": {
            "channels": 4,
            "dies_per_channel": 1,
            "planes_per_die": 1,
            "blocks_per_plane": 64,
            "pages_per_block": 16,
        },
        "ftl": {"allocation": "superblock", "over_provisioning_pct": 0.3},
    }
    # A superblock is 64 units of 4 KiB.
    few = {**RANDOM, "timed": True, "queue_depth": 4, "total": {"ios": 128}}
    said = "the measured part wrote 2 superblocks"
    assert said in warnings(device, few)
    assert "superblocks" not in warnings(device, {**few, "total": {"ios": 64 * 8}})
    assert "superblocks" not in warnings(device, {**few, "timed": False})
    assert "superblocks" not in warnings(device, {**few, "pattern": "sequential"})
    assert "superblocks" not in warnings(device, {**few, "read_pct": 100})
    assert "superblocks" not in warnings(device, few, state="fresh")


def test_too_few_samples_for_the_tail_are_warned_of(small: Any, short: Any) -> None:
    few = {**short, "total": {"ios": 2000}}
    result = onl.benchmark(small, few)
    assert result.metrics["latency_us"]["write"]["p999"] is None
    assert "too few for p99.9" in " ".join(result.warnings)
    many = {**short, "total": {"ios": 20_000}}
    assert "too few for p99.9" not in warnings(small, many)


@pytest.mark.parametrize("policy", ["greedy", "fifo", "random", {"kind": "d_choices", "d": 4}])
def test_theory_and_simulation_agree(policy: Any) -> None:
    """64 blocks are few for a mean field, so the tolerance is that of small devices and more."""
    device = onl.load_device(
        {
            "nand": {
                "channels": 1,
                "dies_per_channel": 1,
                "planes_per_die": 1,
                "blocks_per_plane": 512,
                "pages_per_block": 32,
            },
            "ftl": {"over_provisioning_pct": 0.15, "gc_reserve_blocks": 1, "gc_policy": policy},
        }
    )
    result = onl.benchmark(device, {**RANDOM, "total": {"drive_writes": 10}})
    predicted = result.document["effective"]["predicted_waf"]
    assert result.metrics["waf"] == pytest.approx(predicted, rel=0.02)


@pytest.mark.parametrize(
    ("device", "workload", "known"),
    [
        ({}, {}, True),
        ({"gc_policy": "cost_benefit"}, {}, False),
        ({"write_buffer_pages": 64}, {}, False),
        ({}, {"block_size_bytes": 8192}, False),
        ({}, {"block_size_bytes": 512, "pattern": "sequential"}, False),
        ({}, {"block_size_bytes": 8192, "pattern": "sequential"}, True),
        ({}, {"active_range_pct": 50}, False),
        ({}, {"read_pct": 50}, True),
        ({}, {"trim_pct": 10}, True),
        ({}, {"trim_pct": 60, "trim_target": "mapped"}, False),
        ({}, {"pattern": {"kind": "zipf"}}, False),
    ],
)
def test_where_no_formula_holds_none_is_claimed(
    small: Any, device: Any, workload: Any, known: Any
) -> None:
    loaded = onl.load_device({**small, "ftl": {**small["ftl"], **device}})
    resolved = onl.load_workload({**RANDOM, **workload}, loaded).to_dict()
    value = predicted_waf(loaded.to_dict(), loaded.effective, resolved)
    assert (value is not None) == known


def test_nothing_is_predicted_for_a_fresh_drive(small: Any) -> None:
    fresh = onl.benchmark(small, RANDOM, state="fresh")
    assert fresh.document["effective"]["predicted_waf"] is None


def test_requests_smaller_than_a_page_are_warned_of(small: Any) -> None:
    part = {**RANDOM, "block_size_bytes": 512, "total": {"ios": 1000}}
    assert "programs a whole page" in warnings(small, part)
    small["ftl"]["write_buffer_pages"] = 8
    assert "programs a whole page" not in warnings(small, part)


def test_figures_over_the_loss_of_a_die_are_warned_of() -> None:
    device: dict[str, Any] = {
        "nand": {
            "channels": 4,
            "dies_per_channel": 1,
            "planes_per_die": 1,
            "blocks_per_plane": 64,
            "pages_per_block": 16,
            "faults": [{"kind": "die_lost", "die": 3, "at_s": 0.1}],
        },
        "ftl": {
            "allocation": "superblock",
            "parity": {"kind": "die_stripe"},
            "over_provisioning_pct": 0.3,
        },
    }
    reads = {
        "pattern": "random",
        "read_pct": 100,
        "total": {"seconds": 0.2},
        "precondition": [{"kind": "sequential_fill"}],
    }
    assert "die 3 is lost at 0.1 s: the figures cover" in warnings(device, reads)
    device["nand"]["faults"][0]["at_s"] = 1
    assert "die 3 is lost at 1 s: the measured part ended before" in warnings(device, reads)
    device["nand"]["faults"][0]["at_s"] = 0
    assert "is lost" not in warnings(device, reads)


def lossy(small: Any) -> dict[str, Any]:
    """A drive that keeps data for less than the year that it is asked for."""
    return {
        **small,
        "nand": {**small["nand"], "cell_type": "TLC", "stress": {"retention_h": 8760}},
        "reliability": {"kind": "states"},
        "ecc": {"algorithm": "bch", "bch_m": 14, "bch_t": 40},
        "controller": {"read_retry": {"step_count_max": 5}},
    }


@pytest.mark.parametrize("timed", [True, False])
def test_lost_reads_lead_the_warnings_and_have_rows_of_their_own(small: Any, timed: Any) -> None:
    """More than half of the reads gave no data, without a word, and counted as served."""
    reads = {
        "pattern": "random", "read_pct": 100, "timed": timed, "total": {"ios": 4000},
        "precondition": [{"kind": "sequential_fill"}],
    }  # fmt: skip
    result = onl.benchmark(lossy(small), reads)
    lost = result.metrics["lost_reads"]
    # The share that the model expects; of 4000 reads, 4.5 standard deviations are 3.6 %.
    expected = result.metrics["raw_errors"]["uncorrectable_expected"] / 4000
    assert 0.4 < expected < 0.7
    assert lost["host_page_share"] == pytest.approx(expected, abs=0.036)
    assert lost["pages"] == {"host": lost["host_page_share"] * lost["host_page_reads"]}
    assert result.warnings[0].startswith(f"data lost: {lost['pages']['host']} of 4000 page reads")
    assert result.passed
    rows = {row[0]: row for row in metric_rows(result.content)}
    assert rows["Reads lost"][1] == number(lost["pages"]["host"])
    assert f"{100 * lost['host_page_share']:.4g} %" in rows["Reads lost"][2]
    _, latencies = summary.latency_table(result.content)
    if not timed:
        assert "commands" not in lost
        assert not latencies
        return
    served, all_lost = lost["latency_us"]["served"], lost["latency_us"]["lost"]
    whole = result.metrics["latency_us"]["read"]
    assert lost["commands"] == lost["pages"]["host"] == all_lost["count"]
    assert served["count"] + all_lost["count"] == whole["count"] == 4000
    mean = (served["mean"] * served["count"] + all_lost["mean"] * all_lost["count"]) / 4000
    assert mean == pytest.approx(whole["mean"])
    # A read that is lost has climbed the whole ladder.
    assert all_lost["min"] > served["min"]
    assert [row[0] for row in latencies] == ["read", "read, served", "read, lost", "all"]


def test_nothing_is_said_of_losses_while_nothing_is_lost(small: Any, short: Any) -> None:
    result = onl.benchmark(small, {**short, "read_pct": 50})
    assert "lost_reads" not in result.metrics
    assert "data lost" not in " ".join(result.warnings)


def test_reads_of_less_than_a_page_are_told_that_they_transfer_all_of_it(small: Any) -> None:
    small["nand"]["page_size_bytes"] = 8192
    reads = {
        "pattern": "random", "read_pct": 100, "total": {"ios": 1000},
        "precondition": [{"kind": "sequential_fill"}],
    }  # fmt: skip
    assert "transfer a whole page of 8192" in warnings(small, reads)
    assert "transfer a whole" not in warnings(small, {**reads, "block_size_bytes": 8192})
    small["ftl"]["map_unit_bytes"] = 4096
    assert "transfer a whole" not in warnings(small, reads)


def test_a_steady_state_of_other_writes_than_the_tenants_is_told(small: Any) -> None:
    workload = {
        "tenants": [{"name": "one", "pattern": "sequential", "range_pct": [0, 50]},
                    {"name": "two", "pattern": "sequential", "range_pct": [50, 100]}],
        "total": {"drive_writes": 4},
        "precondition": [{"kind": "sequential_fill"}, {"kind": "workload", "until": "steady"}],
    }  # fmt: skip
    assert "which may still be on its way" not in warnings(small, workload)
    workload["precondition"][1]["requests"] = "workload"
    assert "with the writes of the tenants (`requests: tenants`)" in warnings(small, workload)


def test_a_filled_drive_is_not_where_theory_is(small: Any) -> None:
    filled = {**RANDOM, "precondition": [{"kind": "sequential_fill"}], "total": {"ios": 2000}}
    said = "theory is of the steady state, and nothing shows that the drive is there"
    assert said in warnings(small, filled)
    settled = [{"kind": "sequential_fill"}, {"kind": "workload", "until": "steady"}]
    assert said not in warnings(small, {**filled, "precondition": settled})


def test_a_few_writes_give_no_write_amplification(small: Any) -> None:
    said = "WAF is that of 10 pages programmed for the host"
    assert said in warnings(small, {**RANDOM, "total": {"ios": 10}})
    block = small["nand"]["pages_per_block"]
    assert "WAF is that of" not in warnings(small, {**RANDOM, "total": {"ios": block}})
