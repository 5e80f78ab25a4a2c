"""The WAF that theory expects is that of how the drive maps, or none."""

from __future__ import annotations

from typing import Any

import pytest

import opennandlab as onl
from opennandlab.prediction import predicted_waf
from opennandlab.theory import fifo_zipf, greedy, waf_bast, waf_fast

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
