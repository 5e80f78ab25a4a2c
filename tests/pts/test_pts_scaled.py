"""Scaled cells against their minute, where a short one would say something else.

Each case was wrong once by the factor that its comment has, with the verdict "steady".
"""

from __future__ import annotations

from typing import Any

import pytest

from opennandlab.documents.pts import PtsDocument
from opennandlab.pts import TESTS, Settings
from opennandlab.pts.bench.runner import run_test
from opennandlab.pts.bench.time_base import CELL_RAMP_RATIO, MIX_TURNS, TimeBase
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
# It makes room while it is read, and writes live on that for seconds.
RESERVE = {
    "nand.channels": 1,
    "nand.dies_per_channel": 1,
    "nand.blocks_per_plane": 256,
    "ftl.over_provisioning_pct": 0.15,
    "ftl.write_frontiers": "host_gc",
    "ftl.collection": {
        "kind": "steps", "soft_spare_blocks": 12, "hard_spare_blocks": 2, "step_pages": 1
    },
}  # fmt: skip
HOT = {
    "nand.channels": 2,
    "nand.dies_per_channel": 2,
    "nand.blocks_per_plane": 32,
    "host.throttle.thermal": {"active_mb_s": 100},
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


def test_reads_and_writes_beside_each_other_are_those_of_whole_minutes():
    # 1.4 times, and 1.1 the reads: the drive lived on what it had made room for while it was read.
    full, scaled = (
        measured(base, "latency", "tlc_standard", RESERVE, mixes="100,65,0", block_sizes="8k,4k")
        for base in ("full", "scaled")
    )
    assert rates(scaled) == pytest.approx(rates(full), rel=0.1)


def test_a_drive_that_gets_hot_is_measured_by_the_minute():
    # 2.4 times: a fifth of a second heats nothing.
    full, scaled = (
        measured(base, "throughput", "tlc_standard", HOT).results for base in ("full", "scaled")
    )
    assert scaled.mb_s_seq_1024kib_read == pytest.approx(full.mb_s_seq_1024kib_read, rel=0.1)


def test_a_cell_of_fewer_requests_than_outstanding_is_never_steady():
    settings = Settings(cell_seconds=0.001, ss_max_rounds=6, options={"block_sizes": "64k"})
    document = run_test(TESTS["iops"], SimulatedTarget("tlc_standard", GEOMETRY), settings=settings)
    assert {one.reason for one in document.steady_state} == {"invalid"}


@pytest.mark.parametrize("read_pct", [5, 65, 95])
def test_a_cell_of_a_mix_turns_over_the_writes_in_its_queue(read_pct):
    base = TimeBase("scaled", is_virtual=True, capacity_bytes=32 << 30)
    stimulus = Stimulus("random", read_pct, 1 << 20, queue_depth=128)
    limit = base.cell(stimulus)
    assert limit.ios >= MIX_TURNS * 128 / (1 - read_pct / 100)
    # The ramp is as short as without it.
    assert limit.ramp_ratio * limit.ios <= CELL_RAMP_RATIO * 2000
