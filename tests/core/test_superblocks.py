"""Superblocks and parity across dies, as users meet them: results, predictions, `config show`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import opennandlab as onl
from conftest import Cli
from opennandlab.theory.prediction import predicted_waf

DEVICE = {
    "nand": {
        "channels": 4,
        "dies_per_channel": 1,
        "planes_per_die": 1,
        "blocks_per_plane": 64,
        "pages_per_block": 16,
    },
    "ftl": {
        "allocation": {"kind": "superblock", "dies": 4},
        "parity": {"kind": "die_stripe"},
        "over_provisioning_pct": 0.2,
        "gc_reserve_blocks": 4,
    },
}
WORKLOAD = {
    "pattern": "random",
    "timed": False,
    "total": {"drive_writes": 4},
    "precondition": [{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 6}],
}


def test_a_result_names_its_superblocks_and_meets_its_prediction() -> None:
    result = onl.benchmark(onl.load_device(DEVICE), WORKLOAD, seed=1)
    shape = result.document["effective"]["superblocks"]
    assert shape == {
        "count": 64,
        "data_pages": 48,
        "dies": 4,
        "groups": 1,
        "pages": 64,
        "reserve": 1,
    }
    predicted = result.document["effective"]["predicted_waf"]
    # A small log: 64 blocks.
    assert result.metrics["waf"] == pytest.approx(predicted, rel=0.03)
    programs = result.metrics["programs"]
    assert programs["parity"] == pytest.approx(sum(programs.values()) / 4, rel=0.01)


def test_a_sequential_writer_pays_for_parity() -> None:
    device = onl.load_device(DEVICE)
    predicted = predicted_waf(device.to_dict(), device.effective, {"pattern": "sequential"})
    assert predicted == pytest.approx(4 / 3, rel=1e-5)


def test_the_arithmetic_is_shown(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "device.yaml"
    file.write_text(json.dumps(DEVICE))
    shown = " ".join(cli("config", "show", str(file)).stdout.split())
    assert "64 of 4 dies x 16 = 64 map units, 3/4 = 48 of data" in shown
    assert "(1 + 0.2) x 4/3 - 1 = 0.6" in shown
    assert "gc_reserve_blocks = 4 = 1 x 4" in shown


@pytest.mark.long
def test_a_drive_whose_members_fail_to_the_last_wears_out_and_ends() -> None:
    # A superblock that is retired gives none back: its pages once took the last erased one.
    device = {
        "nand": {
            "channels": 2,
            "dies_per_channel": 2,
            "planes_per_die": 1,
            "blocks_per_plane": 256,
            "pages_per_block": 32,
            "max_pe_cycles": 1_000_000,
            "failures": {"program": 1.25e-4},
        },
        "ftl": {
            "over_provisioning_pct": 0.8,
            "gc_reserve_blocks": 8,
            "allocation": {"kind": "superblock", "bad_block": "remap"},
        },
        "ecc": {"algorithm": "none"},
    }
    workload = {
        "timed": False,
        "total": {"drive_writes": 100},
        "precondition": [{"kind": "sequential_fill"}],
    }
    result = onl.benchmark(onl.load_device(device), workload, seed=1)
    assert result.metrics["host_pages"]["rejected"] > 0
    assert result.document["checks"]["passed"]
