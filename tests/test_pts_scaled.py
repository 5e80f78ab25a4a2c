"""Scaled cells against their minute, where a short one would say something else.

Each case was wrong once by the factor that its comment has, with the verdict "steady".
"""

from __future__ import annotations

from typing import Any

import pytest

from opennandlab.documents.pts import PtsDocument
from opennandlab.pts import TESTS, Settings
from opennandlab.pts.runner import run_test
from opennandlab.pts.time_base import CELL_RAMP_RATIO, MIX_TURNS, TimeBase
from opennandlab.targets.base import Stimulus
from opennandlab.targets.simulated import SimulatedTarget

GEOMETRY = {
    "nand.channels": 2,
    "nand.dies_per_channel": 2,
    "nand.planes_per_die": 1,
    "nand.blocks_per_plane": 128,
    "nand.pages_per_block": 64,
    "ftl.over_provisioning_pct": 0.1,
}
# Reads overtake the pages that are moved, writes wait for them.
STEPS = {**GEOMETRY, "ftl.collection": "steps", "ftl.write_frontiers": "host_gc"}


def measured(base: str, test: str, device: Any, overrides: dict[str, Any], **options: str) -> Any:
    settings = Settings(time_base=base, options=options)
    return run_test(TESTS[test], SimulatedTarget(device, overrides), settings=settings)


def rates(document: PtsDocument) -> list[float]:
    found = next(table for table in document.tables if table.unit == "IOPS")
    return [float(value) for row in found.values for value in row]


@pytest.mark.parametrize(
    ("overrides", "options"),
    [
        # 2.2 times: a closed loop of reads and slow writes fills up with writes.
        (STEPS, {"block_sizes": "1m", "mixes": "95,0"}),
        # 1.13 times: what 4 KiB writes scatter, larger ones had brought together.
        (GEOMETRY, {"block_sizes": "128k,4k", "mixes": "65,5"}),
    ],
)
def test_a_scaled_matrix_is_that_of_whole_minutes(overrides, options):
    full, scaled = (
        measured(base, "iops", "tlc_standard", overrides, **options) for base in ("full", "scaled")
    )
    assert rates(scaled) == pytest.approx(rates(full), rel=0.1)


def test_the_longest_response_of_a_scaled_test_is_that_of_whole_minutes():
    # 2.2 times: what the cell before has left to do was not there.
    shrunk = {"nand.blocks_per_plane": 141}
    full, scaled = (
        measured(base, "latency", "emmc_16gb", shrunk, mixes="0").results
        for base in ("full", "scaled")
    )
    assert scaled.mrt_ms_rnd_4kib_write == pytest.approx(full.mrt_ms_rnd_4kib_write, rel=0.3)
    assert scaled.art_ms_rnd_4kib_write == pytest.approx(full.art_ms_rnd_4kib_write, rel=0.02)


@pytest.mark.parametrize("read_pct", [5, 65, 95])
def test_a_cell_of_a_mix_turns_over_the_writes_in_its_queue(read_pct):
    base = TimeBase("scaled", is_virtual=True, capacity_bytes=32 << 30)
    stimulus = Stimulus("random", read_pct, 1 << 20, queue_depth=128)
    limit = base.cell(stimulus)
    assert limit.ios >= MIX_TURNS * 128 / (1 - read_pct / 100)
    # The ramp is as short as without it.
    assert limit.ramp_ratio * limit.ios <= CELL_RAMP_RATIO * 2000
