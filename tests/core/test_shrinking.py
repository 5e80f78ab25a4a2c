"""A drive of fewer pages a block that stands for the whole one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from opennandlab.base.errors import ConfigError
from opennandlab.core.config import load_device
from opennandlab.core.run import benchmark
from opennandlab.core.shrinking import asked_divisor, divisors, shrink

MICRON = "micron_7450_max_800gb"
UNIFORM: dict[str, Any] = {
    "pattern": "random",
    "block_size_bytes": 4096,
    "queue_depth": 512,
    "total": {"drive_writes": 1},
}


def test_what_the_drive_writes_is_divided_and_what_a_page_takes_stays() -> None:
    device = load_device(MICRON)
    found = shrink(device, UNIFORM, 64).device
    assert found["nand.pages_per_block"] == 2112 // 64
    assert found["nand.timing.t_erase_us"] == 10_000 / 64
    assert found["controller.patrol.period_days"] == 30 / 64
    assert found["ftl.refresh.after_days"] == 90 / 64
    for key in ("nand.program", "nand.blocks_per_plane", "ftl.over_provisioning_pct", "host"):
        assert found[key] == device[key]
    # A row of 16 dies of four planes with three pages of four units, twice, less 512 requests.
    assert found["ftl.write_buffer_pages"] == 2 * 16 * 4 * 3 * 4 - 512
    # Records are whole word lines of a die, 7 of 176: the nearest to the share.
    shape = found.effective["superblocks"]
    assert 1 - shape["data_pages"] / shape["pages"] == pytest.approx(7 / 176)
    assert shrink(device, UNIFORM, 4).device["ftl.write_buffer_pages"] == 8192 // 4
    deep = {**UNIFORM, "queue_depth": 2000}
    assert shrink(device, deep, 64).device["ftl.write_buffer_pages"] == 2000


def test_a_workload_asks_for_as_much_of_the_smaller_drive() -> None:
    device = load_device(MICRON)
    work = {
        **UNIFORM,
        "pattern": {"kind": "zipf", "theta": 1.0},
        "total": {"bytes": 64 << 30},
        "idle": {"busy": {"seconds": 64.0}, "idle_ms": 640.0},
    }
    found = shrink(device, work, 64).workload.to_dict()
    assert found["pattern"]["ranks_per_place"] == 64
    assert found["total"] == {"bytes": 1 << 30}
    assert found["idle"] == {"busy": {"seconds": 1.0}, "idle_ms": 10.0}
    whole = shrink(device, work, 1)
    assert whole.workload.to_dict()["total"] == {"bytes": 64 << 30}
    assert whole.device == device
    assert not whole.notes


def test_tenants_are_divided_too() -> None:
    tenants = [
        {"name": "a", "pattern": {"kind": "zipf"}, "queue_depth": 900},
        {"name": "b", "read_pct": 100, "queue_depth": 900},
    ]
    found = shrink(load_device(MICRON), {"tenants": tenants, "total": {"ios": 6400}}, 64)
    work = found.workload.to_dict()
    assert work["tenants"][0]["pattern"]["ranks_per_place"] == 64
    assert work["total"] == {"ios": 100}
    assert found.device["ftl.write_buffer_pages"] == 1800


@pytest.mark.parametrize(
    ("divisor", "said"),
    [
        (5, "704 word lines a block are not a multiple of it; accepted: 4"),
        (1000, "accepted: 704"),
        (0, "accepted: auto, 1 or more"),
        (True, "accepted: auto, 1 or more"),
        ("x", "accepted: auto, 1 or more"),
    ],
)
def test_a_divisor_that_breaks_word_lines_is_refused(divisor: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        shrink(load_device(MICRON), UNIFORM, divisor)


def test_a_divisor_that_breaks_zones_is_refused() -> None:
    zones = {"kind": "log_zones", "zone_bytes": 12 << 19}
    work = {**UNIFORM, "pattern": zones, "block_size_bytes": 1 << 19, "queue_depth": 1}
    device = load_device(MICRON)
    assert shrink(device, work, 4).workload.to_dict()["pattern"]["zone_bytes"] == 3 << 19
    said = "pattern.zone_bytes of 12 is not a multiple of it; accepted: 4"
    with pytest.raises(ConfigError, match=said):
        shrink(device, work, 8)


def test_auto_keeps_eleven_word_lines_and_256_superblocks() -> None:
    device = load_device(MICRON)
    assert shrink(device, UNIFORM, "auto").divisor == 64
    assert divisors(device)[:5] == [1, 2, 4, 8, 11]
    few = device.replace({"nand.blocks_per_plane": 255})
    assert shrink(few, UNIFORM, "auto").divisor == 1


def test_rates_and_amplification_are_those_of_the_larger_drive() -> None:
    """Four dies, a drive and its eighth: within 1.2 % and 1 %, of a short run."""
    device = load_device(
        {
            "nand": {
                "cell_type": "TLC", "channels": 2, "dies_per_channel": 2, "planes_per_die": 2,
                "multi_plane": True, "page_size_bytes": 16384, "pages_per_block": 264,
                "blocks_per_plane": 260, "max_pe_cycles": 100_000,
                "program": {"kind": "one_shot", "t_wordline_us": 1950},
                "timing": {"t_read_us": 50, "t_erase_us": 10_000, "bus_mt_s": 1600},
            },
            "ftl": {
                "map_unit_bytes": 4096, "over_provisioning_pct": 0.4, "gc_policy": "greedy",
                "allocation": {"kind": "superblock", "dies": "all", "bad_block": "remap"},
                "write_frontiers": "host_gc", "write_buffer_pages": 8192,
                "write_buffer_absorbs": False,
                "collection": {"kind": "steps", "soft_spare_blocks": 1},
            },
            "controller": {"scheduler": "priority"},
            "host": {"power_loss_protected": True},
        }
    )  # fmt: skip
    work = {
        **UNIFORM,
        "queue_depth": 64,
        "precondition": [
            {"kind": "sequential_fill"},
            {"kind": "workload", "drive_writes": 2.9},
            {"kind": "workload", "drive_writes": 0.1, "timed": True},
        ],
        "total": {"drive_writes": 0.3},
    }
    found = []
    for divisor in (1, 8):
        smaller = shrink(device, work, divisor)
        found.append(benchmark(smaller.device, smaller.workload).metrics)
    whole, part = found
    rates = [float(one["throughput_mb_s"]["write"]) for one in (whole, part)]
    assert rates[1] == pytest.approx(rates[0], rel=0.012)
    assert part["waf"] == pytest.approx(whole["waf"], rel=0.01)


def test_a_trace_of_a_tenant_is_not_shrunk(tmp_path: Path) -> None:
    """The smaller workload had no folder, so that traces of the current one would be read."""
    (tmp_path / "t.trace").write_text("0 0 0 8 0\n", encoding="utf-8")
    (tmp_path / "w.yaml").write_text("tenants: [{trace: t.trace}]\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"tenants\[0\]\.trace: a trace in a shrunk drive"):
        shrink(load_device("tlc_standard"), tmp_path / "w.yaml", 2)


@pytest.mark.parametrize("text", ["", "-1", "0", "1.5", "9" * 30, "autos"])
def test_what_is_no_divisor_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="accepted: auto, 1 or more"):
        asked_divisor(text)


def test_what_short_blocks_and_buffers_do_is_told() -> None:
    notes = " ".join(shrink(load_device("client_sata_2013"), UNIFORM, 16).notes)
    assert "blocks keep 4 word lines" in notes
    notes = " ".join(shrink(load_device(MICRON), UNIFORM, 64).notes)
    assert "ftl.write_buffer_pages keeps 1024" in notes
    assert "word lines" not in notes
