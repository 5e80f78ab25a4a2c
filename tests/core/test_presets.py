"""Product presets: their structure, and the main figures of their drives, on small drives.

The whole comparison is the suite `presets` of `validate`; here are its data, and the cells that a
change of the model is most likely to move.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import opennandlab as onl
from opennandlab import _core
from opennandlab.studies.validation import Effort, Kind, Relation
from opennandlab.studies.validation.drives import DRIVES
from opennandlab.studies.validation.suites import presets

# Drives of 2009 have pages of 4 KiB and an unknown structure, and are as they were.
REFITTED = [name for name in DRIVES if not name.endswith("_2009")]
CELLS = [(name, cell) for name, drive in DRIVES.items() for cell in drive.cells]


def simulated(preset: str, name: str, shrink: int, ios: int, **keys: Any) -> float:
    """Return the figure of a cell, of a smaller drive and fewer requests than in the suite."""
    cell = next(cell for cell in DRIVES[preset].cells if cell.name == name)
    run = presets.cell_run(preset, cell, shrink)
    workload = {**run.workload, "total": {"ios": ios}, **keys}
    metrics = onl.benchmark(run.device, workload, seed=1).document["metrics"]
    return float(metrics["iops"][cell.operation])


@pytest.mark.parametrize("name", DRIVES)
def test_a_fraction_of_a_drive_keeps_its_shape(name: str) -> None:
    whole, part = onl.load_device(name), onl.load_device(presets.device(name))
    for key in ("channels", "dies_per_channel", "planes_per_die", "pages_per_block", "timing"):
        assert whole[f"nand.{key}"] == part[f"nand.{key}"]
    shares = [it.effective["spare_factor"] for it in (whole, part)]
    assert shares[0] == pytest.approx(shares[1], rel=0.01)


@pytest.mark.parametrize("name", REFITTED)
def test_product_presets_do_what_drives_do(name: str) -> None:
    device = onl.load_device(name)
    assert device["ftl.map_unit_bytes"] == 4096
    assert device["ftl.collection.kind"] == "steps"
    assert device["ftl.write_frontiers.kind"] == "host_gc"
    assert device["controller.scheduler.kind"] == "priority"
    if name == "client_sata_2013":
        # Its planes take turns.
        assert device["ftl.allocation"] == "dynamic"
    else:
        assert device["ftl.allocation.kind"] == "superblock"
    for key in (
        "nand.variation.block_stddev",
        "nand.failures.erase",
        "nand.energy.program_uj",
        "ftl.refresh.after_days",
        "controller.patrol.period_days",
    ):
        assert device[key] > 0, key


@pytest.mark.parametrize("name", REFITTED)
def test_at_most_five_keys_are_fitted_and_each_exists(name: str) -> None:
    fitted = {cell.fitted for cell in DRIVES[name].cells if cell.fitted}
    assert 1 <= len(fitted) <= 5
    device = onl.load_device(name)
    for key in fitted:
        assert "itted" in device.origin(key), key


def test_what_is_far_off_says_why() -> None:
    for name, cell in CELLS:
        assert bool(cell.lacks) == bool(cell.missed), (name, cell.name)
        assert cell.source
        assert cell.published > 0


def test_cells_are_cases() -> None:
    cases = presets.cases(Effort.FULL)
    assert len(cases) == len(CELLS)
    for case, (_, cell) in zip(cases, CELLS, strict=True):
        assert (case.kind is Kind.REFERENCE) == (cell.relation is Relation.AT_LEAST)
        assert case.accepted[1] <= 0.15
        assert case.expected_value == cell.published


def test_cells_of_one_write_share_their_run() -> None:
    runs = {
        presets.cell_run(name, cell).key(1)
        for name, cell in CELLS
        if cell.size == "1 MiB" and name == "nvme_gen4_tlc"
    }
    assert len(runs) == 1


def test_the_cache_ends_where_the_rate_falls() -> None:
    shares = [step / 100 for step in range(1, 101)]
    rates = [5000.0 if share <= 0.12 else 2000.0 for share in shares]
    times = [sum(1e4 / rate for rate in rates[: step + 1]) for step in range(100)]
    found = presets.cliff(
        {
            "effective": {"logical_bytes": 1_000_000_000_000},
            "series": {"drive_writes": shares, "throughput_mb_s": rates, "t_s": times},
        }
    )
    assert found["GB cached"] == pytest.approx(130e9, rel=0.01)
    assert found["MB/s into the cache"] == 5000.0
    assert found["MB/s beyond the cache"] == pytest.approx(2000.0, rel=1e-6)


def test_gen4_random_writes_of_an_empty_drive() -> None:
    iops = simulated("nvme_gen4_tlc", "random-write-4KiB-q32-fresh-iops", 8, 40_000)
    assert iops == pytest.approx(1e6, rel=0.10)


def test_qlc_random_writes_of_an_empty_drive() -> None:
    name = "random-write-4KiB-q256-fresh-iops-rated"
    assert simulated("qlc_pslc", name, 8, 40_000) == pytest.approx(230_000, rel=0.20)


def test_qlc_writes_past_its_cache() -> None:
    name = "sequential-write-128KiB-q32-filled-mb-per-s"
    # The workload takes the part that is cache for good.
    way = [{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 0.05}]
    iops = simulated("qlc_pslc", name, 8, 100_000, precondition=way)
    assert iops * 0.131072 == pytest.approx(100.0, rel=0.20)


def test_emmc_classes_of_requests() -> None:
    published = {
        "random-read-4KiB-q1-filled-iops-talk": 5231,
        "random-write-4KiB-q1-fresh-iops-talk": 2288,
        "random-read-256KiB-q1-filled-mb-per-s": 56.5e6 / 262_144,
        "random-write-256KiB-q1-fresh-mb-per-s": 35.8e6 / 262_144,
    }
    for name, expected in published.items():
        found = simulated("emmc_16gb", name, 16, 2000)
        assert found == pytest.approx(expected, rel=0.20), (name, found)


def test_emmc_writes_take_half_as_long_again_on_the_dirty_device() -> None:
    dirty = simulated("emmc_16gb", "random-write-4KiB-q1-dirty-iops", 1, 100_000)
    clean = simulated("emmc_16gb", "random-write-4KiB-q1-fresh-iops-talk", 1, 2000)
    assert 1.3 <= clean / dirty <= 1.7


def test_enterprise_random_writes_in_steady_state() -> None:
    way = [
        {"kind": "sequential_fill"},
        {"kind": "workload", "drive_writes": 2.0},
        {"kind": "workload", "drive_writes": 0.02, "timed": True},
    ]
    for size, published in ((4, 36_000), (8, 20_000)):
        name = f"random-write-{size}KiB-q32-steady-iops"
        found = simulated("mlc_enterprise_plp", name, 8, 60_000, precondition=way)
        assert found == pytest.approx(published, rel=0.15), (size, found)


def test_gen4_random_reads_from_the_cache() -> None:
    iops = simulated("nvme_gen4_tlc", "random-read-4KiB-q256-cached-iops", 8, 40_000)
    assert iops == pytest.approx(1e6, rel=0.10)


@pytest.mark.parametrize(
    ("name", "step_bytes", "m", "words", "parity_bytes"),
    [
        ("emmc_16gb", 1024, 14, 4, 224),
        # Two map units a page, each read by itself.
        ("mlc_enterprise_plp", 1024, 14, 8, 448),
        ("sata_a_2009", 512, 13, 8, 96),
        ("sata_b_2009", 512, 13, 8, 56),
        ("pci_c_2009", 256, 12, 16, 272),
    ],
)
def test_pages_are_cut_into_equal_codewords(
    name: str, step_bytes: int, m: int, words: int, parity_bytes: int
) -> None:
    """As data sheets and controllers have them."""
    device = onl.load_device(name)
    code = json.loads(_core.page_code(device.json))
    assert code["data_bits"] == code["last_data_bits"] == 8 * step_bytes
    # Reads decode units of 4 KiB, whole pages of them where no unit is given.
    assert code["codewords"] * 8 * step_bytes == 8 * 4096 == code["page_bits"]
    assert code["parity_bits"] == m * device["ecc.strength"]
    effective = device.effective
    assert effective["codewords_per_page"] == words
    assert effective["parity_bytes_per_page"] == parity_bytes
    assert parity_bytes <= device["nand.oob_size_bytes"]
    assert device.origin("ecc.step_bytes").startswith(("[1]", "Assumed"))
