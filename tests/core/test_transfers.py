"""A host that sends a large request as several commands: no byte is lost, and none is added."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import opennandlab as onl
from conftest import SMALL
from opennandlab.base.errors import ConfigError
from opennandlab.targets.base import Limit, Stimulus
from opennandlab.targets.simulated import SimulatedTarget

LIMIT = {"host.max_transfer_bytes": "64KiB"}
MIXED: dict[str, Any] = {
    "name": "large",
    "queue_depth": 8,
    "read_pct": 40,
    "trim_pct": 10,
    "block_size_bytes": {"4KiB": 1, "64KiB": 1, "160KiB": 1},
    "total": {"bytes": "64MiB"},
    "precondition": [{"kind": "sequential_fill"}],
}


def replayed(changes: dict[str, Any], folder: Path) -> tuple[onl.Result, list[tuple[str, ...]]]:
    """Replay requests of several sizes, and return the rows of what reached the drive."""
    trace, rows = folder / "trace.csv", folder / f"rows-{len(changes)}.csv"
    kinds, sizes = ("write", "read", "write", "trim"), (4, 160, 64, 160, 1000)
    lines = [
        f"{200_000 * at},{kinds[at % 4]},{4096 * (97 * at % 2000)},{sizes[at % 5] << 10},,,"
        for at in range(400)
    ]
    head = "time_ns,op,offset_bytes,size_bytes,volume,process,flags"
    trace.write_text("\n".join([head, *lines]) + "\n")
    device = onl.load_device(SMALL, {"host.link": "sata3", **changes})
    result = onl.replay(device, trace, requests=rows)
    table = [tuple(line.split(",")) for line in rows.read_text().splitlines()]
    columns = [table[0].index(name) for name in ("op", "offset_bytes", "size_bytes")]
    return result, sorted(tuple(row[it] for it in columns) for row in table[1:])


def test_large_requests_are_split_and_no_byte_is_lost(tmp_path: Path) -> None:
    (whole, rows), (split, pieces) = (replayed(changes, tmp_path) for changes in ({}, LIMIT))
    limit = 64 << 10
    expected = [
        (op, str(int(first) + done), str(min(step, int(size) - done)))
        for op, first, size in rows
        for step in [int(size) if op == "trim" else limit]
        for done in range(0, int(size), step)
    ]
    assert len(rows) == 400
    assert pieces == sorted(expected)
    for key in ("host_bytes_read", "host_bytes_written", "host_bytes_trimmed"):
        assert split.metrics[key] == whole.metrics[key] > 0
    assert whole.document["checks"]["passed"]
    assert split.document["checks"]["passed"]
    # Each piece is a command of the drive.
    assert split.metrics["latency_us"]["read"]["count"] == sum(it[0] == "read" for it in pieces)


def test_untimed_writes_are_the_same_drive() -> None:
    work = {**MIXED, "queue_depth": 1, "trim_pct": 0, "read_pct": 0, "timed": False}
    waf = [
        onl.benchmark(onl.load_device(SMALL, changes), work).metrics["waf"]
        for changes in ({}, LIMIT)
    ]
    assert waf[0] == pytest.approx(waf[1], rel=1e-3)


@pytest.mark.parametrize("limit", [0, 1000, "6KiB", "2GiB", -4096, "many"])
def test_other_limits_are_refused(limit: object) -> None:
    with pytest.raises(ConfigError, match="max_transfer_bytes"):
        onl.load_device(SMALL, {"host.max_transfer_bytes": limit})


def test_tests_that_count_whole_requests_refuse_larger_ones() -> None:
    target = SimulatedTarget(SMALL, LIMIT)
    target.run(Stimulus("sequential", block_bytes=64 << 10), Limit(ios=4), seed=1)
    for one in (target.check, lambda it: target.run(it, Limit(ios=4), seed=1)):
        with pytest.raises(ConfigError, match=r"host\.max_transfer_bytes 65536"):
            one(Stimulus("sequential", block_bytes=128 << 10))


def test_zones_are_written_by_hosts_that_know_them() -> None:
    zones = {"kind": "zoned", "zone_bytes": "128KiB", "open_zones_max": 4, "active_zones_max": 4}
    with pytest.raises(ConfigError, match=r"host\.max_transfer_bytes"):
        onl.load_device(SMALL, {**LIMIT, "ftl.mapping": zones})
