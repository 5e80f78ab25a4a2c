"""Map units smaller than a page, from the outside: capacity, prediction, warnings, life."""

from __future__ import annotations

from typing import Any

import pytest

import opennandlab as onl
from opennandlab.core.cautions import cautions
from opennandlab.reliability import life_test

NAND = {
    "channels": 1,
    "dies_per_channel": 1,
    "planes_per_die": 1,
    "blocks_per_plane": 128,
    "pages_per_block": 32,
    "page_size_bytes": 16384,
}


def device(unit_bytes: int | None) -> Any:
    ftl = {"over_provisioning_pct": 0.25, "gc_reserve_blocks": 2}
    if unit_bytes is not None:
        ftl["map_unit_bytes"] = unit_bytes
    return onl.load_device({"nand": NAND, "ftl": ftl})


def test_units_divide_pages_and_leave_the_capacity() -> None:
    whole, units = device(None).effective, device(4096).effective
    assert units["pages_per_block"] == 4 * whole["pages_per_block"]
    assert units["raw_bytes"] == whole["raw_bytes"]
    # Rounded down to units instead of pages.
    assert 0 <= units["logical_bytes"] - whole["logical_bytes"] < 16384
    assert "map_unit_bytes" not in device(None)["ftl"], "digests of other devices stay"


def test_theory_takes_a_block_of_as_many_units() -> None:
    work = {
        "pattern": "random",
        "block_size_bytes": 4096,
        "timed": False,
        "total": {"drive_writes": 4},
        "precondition": [{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 8}],
    }
    found = onl.benchmark(device(4096), work)
    expected = found.content.effective.predicted_waf
    # A drive of 128 blocks is off the mean field by a few blocks in a hundred.
    assert found.document["metrics"]["waf"] == pytest.approx(expected, rel=0.05)
    assert not any("map unit" in text for text in cautions(found.content))


def test_parts_of_a_unit_are_warned_of() -> None:
    work = {"pattern": "random", "block_size_bytes": 512, "timed": False, "total": {"ios": 100}}
    found = onl.benchmark(device(4096), work)
    assert any("map unit of 4096" in text for text in cautions(found.content))


def test_a_life_test_counts_the_same_bytes() -> None:
    lives = [life_test(device(unit), waf=2.0) for unit in (None, 4096)]
    assert lives[0].tbw_tb == pytest.approx(lives[1].tbw_tb, rel=1e-9)
