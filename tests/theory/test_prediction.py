"""The WAF that theory expects is that of how the drive maps, or none."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import opennandlab as onl
from opennandlab.reports.metric_rows import metric_rows
from opennandlab.theory import fifo_zipf, greedy, waf_bast, waf_fast
from opennandlab.theory.prediction import predicted_waf, why_no_formula

# 256 blocks of data on each of two dies, and 16 blocks more.
DEVICE = {
    "nand": {
        "channels": 2,
        "dies_per_channel": 1,
        "planes_per_die": 1,
        "blocks_per_plane": 272,
        "pages_per_block": 64,
    },
    "ftl": {"over_provisioning_pct": 272 * 64 / (256 * 64 + 0.25) - 1},
}
PAGE = 4096
BAST = {"kind": "bast", "log_blocks": 16}
FAST = {"kind": "fast", "log_blocks": 16}
DFTL = {"kind": "dftl", "cache_bytes": 65_536}


def predicted(mapping: dict[str, Any] | str, work: dict[str, Any], **keys: object) -> float | None:
    loaded = onl.load_device(DEVICE)
    device = loaded.to_dict()
    device["ftl"] |= {"mapping": mapping, **keys}
    return predicted_waf(device, loaded.effective, {"pattern": "random", **work})


@pytest.mark.parametrize(
    ("mapping", "work", "expected"),
    [
        ({"kind": "block"}, {}, 64.0),
        ({"kind": "block"}, {"pattern": {"kind": "zipf", "theta": 0.99}}, 64.0),
        ({"kind": "block"}, {"pattern": {"kind": "zipf", "shuffle": False}}, None),
        ({"kind": "block"}, {"active_range_pct": 50}, None),
        ({"kind": "block"}, {"block_size_bytes": 2 * PAGE}, None),
        ({"kind": "block"}, {"pattern": "sequential"}, 1.0),
        (BAST, {}, waf_bast(256, 8, 64)),
        ({**BAST, "replacement": "lru"}, {}, waf_bast(256, 8, 64, "lru")),
        (BAST, {"pattern": {"kind": "hot_cold", "fraction": 0.2, "share": 0.8}}, None),
        (BAST, {"pattern": "sequential"}, 1.0),
        (BAST, {"trim_pct": 10}, None),
        (BAST, {"pattern": "sequential", "read_pct": 50}, None),
        (FAST, {}, waf_fast(256, 8, 64)),
        (FAST, {"pattern": {"kind": "zipf", "theta": 0.99}}, None),
        (FAST, {"pattern": "sequential", "block_size_bytes": 4 * PAGE}, 1.0),
        # Single pages in order go to the log of random writes, whatever lies in it.
        (FAST, {"pattern": "sequential"}, None),
        # A request less at the end of the space: its block is merged.
        (BAST, {"pattern": "sequential", "block_size_bytes": 3 * PAGE}, None),
        (DFTL, {}, None),
        (DFTL, {"pattern": "sequential"}, None),
    ],
)
def test_prediction_of_a_mapping(
    mapping: dict[str, Any], work: dict[str, Any], expected: float | None
) -> None:
    value = predicted(mapping, work)
    assert value == (None if expected is None else pytest.approx(expected, rel=1e-5))


def test_a_map_that_is_in_the_cache_costs_nothing() -> None:
    whole = {"kind": "dftl", "cache_bytes": 4 * 2 * 256 * 64}
    spare = onl.load_device(DEVICE).effective["spare_factor_effective"]
    assert (
        predicted(whole, {}) == predicted("page", {}) == pytest.approx(greedy(64, spare), rel=1e-5)
    )
    assert predicted(whole, {"pattern": "sequential"}) == 1.0


def test_a_buffer_makes_it_another_drive() -> None:
    assert predicted(BAST, {}, write_buffer_pages=16) is None


def test_zipf_writes_have_the_form_of_the_log_only() -> None:
    work = {"pattern": {"kind": "zipf", "theta": 0.99}}
    effective = onl.load_device(DEVICE).effective
    form = fifo_zipf(effective["logical_pages"], 0.99, effective["spare_factor_effective"])
    assert predicted("page", work, gc_policy="fifo") == pytest.approx(form, rel=1e-5)
    assert predicted("page", work, gc_policy="greedy") is None
    assert predicted("page", {**work, "trim_pct": 10}, gc_policy="fifo") is None
    assert predicted("page", work, gc_policy="fifo", write_frontiers="host_gc") is None


# Four dies of 256 blocks, filled and overwritten eight times before what is compared.
SMALL: dict[str, Any] = {
    "nand": {
        "channels": 2, "dies_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 256,
        "pages_per_block": 64, "max_pe_cycles": 1_000_000,
    },
    "ftl": {
        "over_provisioning_pct": 0.15, "gc_policy": "greedy", "gc_reserve_blocks": 4,
        "wear_leveling": "none",
    },
}  # fmt: skip
WIDE = {"ftl.allocation": "superblock", "ftl.gc_reserve_blocks": 16}
APART = {"ftl.write_frontiers": "host_gc", "ftl.gc_reserve_blocks": 8}
SKEWED = {"pattern": {"kind": "hot_cold", "fraction": 0.2, "share": 0.8}}
UNITS = {"nand.page_size_bytes": 4 * PAGE, "ftl.map_unit_bytes": PAGE, "nand.pages_per_block": 16}
ONE_SHOT = {"nand.program": {"kind": "one_shot", "t_wordline_us": 1000}, "nand.pages_per_block": 66}


def small(keys: dict[str, Any], work: dict[str, Any] | None = None) -> onl.Result:
    device = copy.deepcopy(SMALL)
    for path, value in keys.items():
        section, key = path.split(".")
        device.setdefault(section, {})[key] = value
    steady = [{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 8}]
    workload = {
        "pattern": "random", "block_size_bytes": PAGE, "queue_depth": 8, "timed": False,
        "precondition": steady, "total": {"drive_writes": 3}, **(work or {}),
    }  # fmt: skip
    return onl.benchmark(device, workload, seed=1)


@pytest.mark.parametrize(
    ("keys", "work"),
    [
        ({}, {}),
        ({}, {"timed": True, "total": {"drive_writes": 1}}),
        ({}, {"read_pct": 50}),
        ({}, {"align_bytes": 2 * PAGE}),
        ({"ftl.parity": {"stripe": 4}}, {}),
        ({"ftl.parity": {"stripe": 8}, "ftl.gc_policy": "fifo"}, {}),
        ({"ftl.parity": {"stripe": 4}}, {"pattern": "sequential"}),
        (WIDE, {}),
        ({**WIDE, "ftl.parity": {"kind": "die_stripe"}}, {}),
        ({**WIDE, "ftl.metadata_share": 0.02}, {}),
        (
            {**WIDE, "ftl.metadata_share": 0.02, "ftl.parity": {"kind": "die_stripe"}},
            {"pattern": "sequential"},
        ),
        ({"ftl.allocation": "dynamic"}, {}),
        ({"ftl.wear_leveling": "dynamic", "ftl.gc_reserve_blocks": 32}, {}),
        (APART, {}),
        ({**APART, "ftl.gc_policy": "fifo"}, {}),
        ({"ftl.gc_policy": "random"}, SKEWED),
        ({"ftl.gc_policy": {"kind": "d_choices", "d": 3}}, {}),
        ({"ftl.gc_policy": {"kind": "d_choices", "d": 3}}, SKEWED),
        ({"ftl.gc_policy": "fifo"}, SKEWED),
        ({"ftl.gc_policy": "fifo"}, {"pattern": {"kind": "zipf", "theta": 0.8}}),
        ({}, SKEWED),
        ({}, {"trim_pct": 40}),
        ({}, {"trim_pct": 10, "read_pct": 20, "trim_target": "mapped"}),
        ({}, {"pattern": "sequential", "trim_pct": 40}),
        ({"nand.planes_per_die": 2, "nand.multi_plane": True}, {}),
        (ONE_SHOT, {"timed": True, "total": {"drive_writes": 1}, "queue_depth": 1}),
        (UNITS, {}),
        ({"ftl.mapping": {"kind": "dftl", "cache_bytes": 1 << 22}}, {}),
        ({"ftl.placement": {"kind": "fdp", "handles": 2}}, {}),
        ({"nand.blocks_per_plane": 64}, {}),
    ],
)  # fmt: skip
def test_a_formula_that_is_printed_holds_within_3_percent(
    keys: dict[str, Any], work: dict[str, Any]
) -> None:
    """Parity inside blocks printed the formula of a drive without: 1.61 next to 2.16."""
    document = small(keys, work).content
    assert document.metrics is not None
    assert document.effective.predicted_waf == pytest.approx(document.metrics.waf, rel=0.03)


@pytest.mark.parametrize(
    ("keys", "work", "reason"),
    [
        ({"nand.failures": {"program": 1e-5}}, {}, "retired blocks"),
        ({"nand.failures": {"program": 1e-12}}, {}, "nand.failures"),
        ({"nand.max_pe_cycles": 30}, {}, "retired blocks"),
        ({"ftl.compression": {"data": "random"}}, {}, "ftl.compression"),
        ({"ftl.wear_leveling": {"kind": "static", "threshold": 5}}, {}, "ftl.wear_leveling"),
        ({"ftl.refresh": {"after_days": 1}}, {}, "ftl.refresh"),
        ({"ftl.write_buffer_pages": 16}, {}, "ftl.write_buffer_pages"),
        ({"ftl.gc_policy": "cost_benefit"}, {}, "cost_benefit under random writes"),
        ({**APART, "ftl.collection": "steps"}, {}, "ftl.collection"),
        ({**APART, "nand.blocks_per_plane": 96}, {}, "spare blocks in a pool with several open"),
        ({"nand.blocks_per_plane": 32}, {}, "32 blocks in a pool"),
        ({}, {"active_range_pct": 50}, "workload.active_range_pct"),
        ({}, {"pattern": "sequential", "read_pct": 50}, "sequential writes with reads"),
        ({}, {"flush_every": 8}, "workload.flush_every"),
        ({}, {"block_size_bytes": 2 * PAGE}, "requests of several pages"),
        ({}, {"precondition": []}, "a drive that was not filled before"),
        ({}, {"read_pct": 100, "total": {"ios": 1000}}, "a workload that writes nothing"),
    ],
)
def test_a_row_without_a_formula_says_what_no_formula_knows(
    keys: dict[str, Any], work: dict[str, Any], reason: str
) -> None:
    """Compression printed 0.54 next to 1.10, failures 2.31 next to 2.03."""
    document = small(keys, {"total": {"drive_writes": 1}, **work}).content
    assert document.effective.predicted_waf is None
    (row,) = (row for row in metric_rows(document) if row[0] == "WAF by theory")
    assert row[1] == "-"
    assert row[2].startswith("no formula for ")
    assert reason in row[2]


def test_what_is_new_in_a_drive_has_no_formula_until_it_is_known() -> None:
    """The list names what formulas know, not what they do not."""
    loaded = onl.load_device(SMALL)
    device, effective = loaded.to_dict(), loaded.effective
    assert why_no_formula(device, effective) == ""
    for section in ("ftl", "nand", "host", "controller"):
        for off in (None, False, 0, "none", {"kind": "none"}):
            changed = {**device, section: {**device[section], "brand_new": off}}
            assert why_no_formula(changed, effective) == ""
        changed = {**device, section: {**device[section], "brand_new": {"kind": "some"}}}
        assert why_no_formula(changed, effective) == f"{section}.brand_new"
    assert why_no_formula({**device, "brand_new": {"on": True}}, effective) == "brand_new"
    work = {"pattern": "random", "brand_new": 3}
    assert why_no_formula(device, effective, work) == "workload.brand_new"
