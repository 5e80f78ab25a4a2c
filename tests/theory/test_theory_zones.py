"""Zones written in turn: the list of times next to closed forms, and the drive next to both."""

from __future__ import annotations

from typing import Any

import pytest

import opennandlab as onl
from opennandlab.theory.zones import ZoneDies, lockstep_ns

PAGE = 4096
PROGRAM_NS, TRANSFER_NS = 700_000, 5_120  # 4096 B on 800 MT/s
SLOT_NS = PROGRAM_NS + TRANSFER_NS
# Drawn once from 112 zones, and the dies of 16 where they begin.
DRAWN = (17, 72, 108, 102, 97, 8, 32, 15, 63, 57, 60, 83, 48, 100)
BEGINS = [1, 8, 12, 6, 1, 8, 0, 15, 15, 9, 12, 3, 0, 4]


def shape(dies: int, zone_dies: int = 0, channels: int | None = None) -> ZoneDies:
    return ZoneDies(channels or dies, dies, PROGRAM_NS, TRANSFER_NS, zone_dies)


def busy(drive: ZoneDies, begins: list[int], depth: int, pages: int = 600) -> float:
    """Return the mean number of busy dies, as programs per time of one."""
    return len(begins) * pages * SLOT_NS / lockstep_ns(drive, begins, depth, pages)


@pytest.mark.parametrize(
    ("dies", "begins", "depth", "expected"),
    [
        (16, [0] * 14, 1, 1.0),  # one request at a time
        (16, list(range(14)), 1, 1.0),
        (1, [0] * 14, 8, 1.0),  # one die
        (16, [0] * 14, 8, 2.0),  # the last of a turn and the first of the next
        (16, list(range(14)), 8, 8.0),  # never two of eight in a row on one die
        (16, list(range(14)), 14, 14.0),
        (16, BEGINS, 8, 7.0),  # a turn of fourteen in the time of two programs
        (16, list(range(16)), 64, 16.0),  # all dies
        (16, [0], 8, 8.0),  # one zone: eight pages in a row
        (16, [0, 8], 8, 8.0),
        (4, [0, 1], 64, 4.0),
    ],
)
def test_times_are_those_of_closed_forms(
    dies: int, begins: list[int], depth: int, expected: float
) -> None:
    assert busy(shape(dies), begins, depth) == pytest.approx(expected, rel=0.01)


def test_a_channel_transfers_one_page_at_a_time() -> None:
    """Transfers as long as programs on one channel: half of the time of a die is transfer."""
    drive = ZoneDies(1, 4, 1000, 1000)
    time = lockstep_ns(drive, [0, 1, 2, 3], 64, 1000)
    assert time == pytest.approx(4 * 1000 * 1000, rel=0.001)


def measured(  # noqa: PLR0913 (half of them by name)
    drive: ZoneDies, zones: list[int], depth: int, pages: int, *, stagger: bool, size: int = PAGE
) -> dict[str, Any]:
    """Return the metrics of a drive that writes pages of zones in turn."""
    zone_dies = drive.zone_dies or drive.dies
    rows, block = 1, -(-pages // zone_dies)
    zone_bytes = zone_dies * rows * block * PAGE
    zoned = max(zones) + 1
    mapping = {"kind": "zoned", "zone_bytes": zone_bytes, "stagger": stagger}
    mapping |= {"open_zones_max": len(zones), "active_zones_max": len(zones)}
    if drive.zone_dies:
        mapping["zone_dies"] = drive.zone_dies
    device = {
        "nand": {
            "channels": drive.channels,
            "dies_per_channel": drive.dies // drive.channels,
            "planes_per_die": 1,
            "blocks_per_plane": 2 * rows * (-(-zoned * zone_dies // drive.dies) + zone_dies),
            "pages_per_block": block,
            "timing": {"t_program_us": 700, "bus_mt_s": 800},
        },
        "ftl": {"over_provisioning_pct": 0.6, "mapping": mapping},
    }
    workload = {
        "pattern": {"kind": "zone_actions", "steps": [{"do": "write", "zone": it} for it in zones]},
        "block_size_bytes": size,
        "queue_depth": depth,
        "total": {"ios": len(zones) * pages * PAGE // size},
    }
    metrics: dict[str, Any] = onl.benchmark(device, workload, seed=1).metrics
    assert metrics["zones"]["refused"] == {}
    assert metrics["waf"] == 1.0
    return metrics


@pytest.mark.parametrize("stagger", [False, True])
@pytest.mark.parametrize(
    ("drive", "zones", "depth"),
    [
        (shape(16, channels=8), list(range(14)), 8),
        (shape(16, channels=8), list(DRAWN), 8),
        (shape(16, channels=8), list(DRAWN), 1),
        (shape(16, channels=8), list(DRAWN), 32),
        (shape(4, channels=1), list(range(6)), 4),
        (shape(4, channels=2), [0, 1, 5, 7, 8, 10, 3], 16),
        (shape(6, channels=3), [0, 1, 2, 9, 4], 3),
        (shape(32, channels=8), [3, 1, 4, 15, 9, 2, 6, 5, 35, 8], 8),
        (shape(16, 4, channels=8), list(range(14)), 8),
        (shape(16, 4, channels=8), list(DRAWN), 8),
        (shape(16, 1, channels=8), list(DRAWN), 8),
        (shape(8, 2, channels=4), [0, 2, 4, 6, 8, 10], 5),
    ],
    ids=str,
)
def test_a_drive_writes_open_zones_as_fast_as_the_list_says(
    drive: ZoneDies,
    zones: list[int],
    depth: int,
    stagger: bool,  # noqa: FBT001 (a parameter of the test)
) -> None:
    pages = 128
    metrics = measured(drive, zones, depth, pages, stagger=stagger)
    time = lockstep_ns(drive, drive.begins(zones, stagger=stagger), depth, pages)
    expected = len(zones) * pages * PAGE * 1000 / time
    assert metrics["throughput_mb_s"]["write"] == pytest.approx(expected, rel=0.001)


def test_fourteen_open_zones_eight_deep() -> None:
    """Two dies are busy of 16, and seven once the zones are staggered."""
    drive = shape(16, channels=8)
    found = [
        measured(drive, list(DRAWN), 8, 512, stagger=way)["throughput_mb_s"]["write"]
        for way in (False, True)
    ]
    die = PAGE * 1000 / SLOT_NS
    assert found == pytest.approx([2 * die, 7 * die], rel=0.03)
    assert found == pytest.approx([11.6, 40.7], rel=0.03)
