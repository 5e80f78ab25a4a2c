"""Runs that end early: at a page that is refused, and at an interrupt."""

from __future__ import annotations

from typing import Any

import pytest

import opennandlab as onl

DYING: dict[str, Any] = {
    "nand": {
        "channels": 2, "dies_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 64,
        "pages_per_block": 64, "page_size_bytes": 16384, "max_pe_cycles": 6,
        "failures": {"program": 0.0, "erase": 1e-9, "growth": 1.0},
    },
    "ftl": {"over_provisioning_pct": 0.3},
}  # fmt: skip


@pytest.mark.parametrize("block_bytes", [16384, 65536, 1 << 20])
@pytest.mark.parametrize("threads", [1, 3])
def test_sequential_writes_end_at_the_page_that_is_refused(block_bytes: int, threads: int) -> None:
    """Of a run for several threads all pages behind were counted as refused, 12224 of 1 MiB."""
    onl.set_threads(threads)
    load = {"pattern": "sequential", "block_size_bytes": block_bytes, "timed": False,
            "total": {"drive_writes": 60}}  # fmt: skip
    metrics = onl.Simulation(DYING, seed=1).run(load).metrics
    onl.set_threads(1)
    assert metrics["host_pages"]["rejected"] == 1
    written = metrics["host_pages"]["written"] + 1
    commands = metrics["health"]["host_write_commands"]
    assert commands == -(-written * 16384 // block_bytes)


def test_an_interrupted_run_is_a_step_of_its_own() -> None:
    """Results behind it looked like those behind a whole run, and were ranked."""
    drive = onl.Simulation(DYING, seed=1)

    def stop(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drive.run({"total": {"drive_writes": 2}, "timed": False}, progress=stop)
    after = drive.run({"total": {"ios": 100}, "timed": False})
    assert after.document["state"]["origin"]["session"]["steps"] == ["workload", "interrupted"]
