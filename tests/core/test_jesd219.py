"""The enterprise workload of JESD219 as a named workload, and what drives make of it.

Write amplifications are those of version 0.1.0 of this program (an independent simulator gave 9.36
for the first), in steady state: a fill, six drive writes, and two that are measured. Units of a
request, and what follows from them, are computed here.
"""

from __future__ import annotations

from typing import Any

import pytest

import opennandlab as onl
from opennandlab.core.config import read_workload
from opennandlab.core.overrides import set_path

NAME = "jesd219-enterprise"
SHORT = {"nand.blocks_per_plane": 128, "nand.wear_out": "ignore"}
SIZES = {512: 4, 1024: 1, 1536: 1, 2048: 1, 2560: 1, 3072: 1, 3584: 1, 4096: 67, 8192: 10}
SIZES |= {16384: 7, 32768: 3, 65536: 3}
KIB = 1024
# Write amplification of whole units, whichever they are.
WHOLE_UNITS = 9.066
# Accepted share of difference; the expected values have as much.
TOLERANCE = 0.005

BOUNDS = [{"fraction": 0.05, "id": 0}, {"fraction": 0.15, "id": 1}, {"id": 2}]
HANDLES = {"kind": "fdp", "handles": 3, "isolation": "persistently"}
BY_GROUP = {"placement": {"by": "range", "ranges": BOUNDS}}
DECIDED = {"ftl.gc_policy": {"kind": "d_choices", "d": 10}}
PAGES = {"nand.page_size_bytes": 16 * KIB}


def written(device: dict[str, Any], work: dict[str, Any], preset: str = "tlc_standard") -> float:
    """Return the write amplification of the named workload with changes."""
    document = read_workload(NAME)
    changes = {
        "read_pct": 0,
        "timed": False,
        "total": {"drive_writes": 2},
        "precondition": [{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 6}],
        "align_bytes": 4096,
        **work,
    }
    for path, value in changes.items():
        set_path(document, path, value)
    drive = onl.load_device(preset, {**SHORT, **device})
    return float(onl.benchmark(drive, document).metrics["waf"])


def units(unit_bytes: int, align_bytes: int, small_bytes: int) -> float:
    """Return the mean number of units that a request touches, counted place by place.

    Args:
        unit_bytes: Of a unit.
        align_bytes: Requests of 4 KiB and more start at its multiples.
        small_bytes: Others do at multiples of this.
    """
    total = 0.0
    for size, share in SIZES.items():
        step = align_bytes if size >= 4096 else small_bytes
        starts = range(0, max(unit_bytes, align_bytes), step)
        touched = [(start + size - 1) // unit_bytes - start // unit_bytes + 1 for start in starts]
        total += share / 100 * sum(touched) / len(touched)
    return total


def test_the_workload_is_that_of_the_standard() -> None:
    device = onl.load_device("tlc_standard")
    found = onl.load_workload(NAME, device).to_dict()
    assert {int(size): share for size, share in found["block_size_bytes"].items()} == SIZES
    assert sum(SIZES.values()) == 100
    assert sum(size * share for size, share in SIZES.items()) / 100 == 7818.24
    shares = [(zone["fraction"], zone["share"]) for zone in found["pattern"]["zones"]]
    assert shares == [(0.05, 0.5), (0.15, 0.3), (0.8, 0.2)]
    assert (found["read_pct"], found["align_bytes"], found["name"]) == (40, "natural", NAME)
    assert found["precondition"][0]["kind"] == "sequential_fill"
    assert NAME in onl.presets()["workloads"]


def test_smaller_requests_become_4_kib() -> None:
    device = onl.load_device("tlc_standard")
    found = onl.load_workload(NAME, device, overrides={"min_size_bytes": "4KiB"}).to_dict()
    assert found["block_size_bytes"]["4096"] == 77
    assert len(found["block_size_bytes"]) == 5
    assert onl.load_workload(found, device).to_dict() == found


@pytest.mark.parametrize(
    ("unit", "pages", "natural"),
    [(4, 1.97, 1.99625), (8, 1.485, 1.4981), (16, 1.2425, 1.2491), (64, 1.0606, 1.0623)],
)
def test_units_of_a_request(unit: int, pages: float, natural: float) -> None:
    assert units(unit * KIB, 4096, 4096) == pytest.approx(pages, abs=5e-5)
    assert units(unit * KIB, 4096, 512) == pytest.approx(natural, abs=5e-5)


@pytest.mark.parametrize(
    ("key", "value", "accepted"),
    [
        ("pattern.shift", 1.0, "0 to below 1"),
        ("pattern.shift", -0.05, "0 to below 1"),
        ("min_size_bytes", 1000, "multiple of 512"),
        ("min_size_bytes", 0, "multiple of 512"),
        ("min_size_bytes", "2GiB", "512 B to 1 GiB"),
    ],
)
def test_changes_that_cannot_be_are_refused(key: str, value: object, accepted: str) -> None:
    device = onl.load_device("tlc_standard")
    with pytest.raises(onl.ConfigError, match=accepted) as raised:
        onl.load_workload(NAME, device, overrides={key: value})
    assert str(raised.value).startswith(f"{key}: ")


def test_a_quarter_of_the_drive_is_near() -> None:
    device = {"ftl.over_provisioning_pct": 1.0, "nand.blocks_per_plane": 32}
    assert written(device, {}) == pytest.approx(1.662, rel=0.02)
    pages = {"pattern": "random", "block_size_bytes": 4096}
    assert written(device, pages) == pytest.approx(1.301, rel=0.02)


@pytest.mark.parametrize(
    ("over_provisioning", "jesd219", "uniform"),
    [
        pytest.param(0.07, 9.357, 8.360, id="7", marks=pytest.mark.long),
        pytest.param(0.14, 5.406, 4.592, id="14", marks=pytest.mark.long),
        pytest.param(0.28, 3.317, 2.658, id="28", marks=pytest.mark.long),
        pytest.param(0.50, 2.336, 1.816, id="50", marks=pytest.mark.long),
        pytest.param(1.00, 1.662, 1.301, id="100", marks=pytest.mark.long),
    ],
)
def test_over_provisioning(over_provisioning: float, jesd219: float, uniform: float) -> None:
    device = {"ftl.over_provisioning_pct": over_provisioning}
    assert written(device, {}) == pytest.approx(jesd219, rel=TOLERANCE)
    pages = {"pattern": "random", "block_size_bytes": 4096}
    assert written(device, pages) == pytest.approx(uniform, rel=TOLERANCE)


@pytest.mark.long
@pytest.mark.parametrize(
    ("device", "work", "expected"),
    [
        pytest.param({}, {"block_size_bytes": 4096}, 9.069, id="groups"),
        pytest.param({}, {"pattern": "random"}, 8.625, id="sizes"),
        pytest.param({}, {"pattern.shift": 0.25}, 9.361, id="shifted"),
        pytest.param({}, {"pattern.shift": 0.9}, 9.361, id="wrapped"),
        pytest.param({}, {"min_size_bytes": 4096}, 9.065, id="min-4096"),
        pytest.param({"ftl.write_buffer_pages": 64}, {}, 9.357, id="buffer"),
        pytest.param({"ftl.gc_policy": "fifo"}, {}, 9.625, id="fifo"),
        pytest.param({"ftl.gc_policy": "cost_benefit"}, {}, 9.397, id="cost-benefit"),
        pytest.param(DECIDED, {}, 9.584, id="d10"),
        pytest.param({"ftl.gc_policy": "random"}, {}, 17.47, id="random"),
        pytest.param({"ftl.write_frontiers": "host_gc"}, {}, 9.151, id="host-gc"),
        pytest.param({"ftl.placement": HANDLES}, BY_GROUP, 8.949, id="handles"),
        pytest.param({"ftl.placement": HANDLES, **DECIDED}, BY_GROUP, 6.919, id="handles-d10"),
        pytest.param({**PAGES, "ftl.map_unit_bytes": 4096}, {}, 9.538, id="units-4"),
        pytest.param(PAGES, {}, 23.60, id="units-16"),
    ],
)
def test_single_changes(device: dict[str, Any], work: dict[str, Any], expected: float) -> None:
    assert written(device, work) == pytest.approx(expected, rel=TOLERANCE)


@pytest.mark.long
def test_another_drive() -> None:
    assert written({}, {}, "mlc_enterprise") == pytest.approx(4.173, rel=TOLERANCE)


@pytest.mark.long
@pytest.mark.parametrize(("unit", "small"), [(4, 4096), (4, 512), (16, 4096)])
def test_what_follows_from_units(unit: int, small: int) -> None:
    expected = WHOLE_UNITS * units(unit * KIB, 4096, small) * unit * KIB / 7818.24
    device = {"nand.page_size_bytes": unit * KIB}
    found = written(device, {"align_bytes": "natural" if small == 512 else 4096})
    assert found == pytest.approx(expected, rel=TOLERANCE)
