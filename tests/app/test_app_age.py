"""Age that is set beside age that is written, responses over a run, and the history of a device."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab import _core
from opennandlab.app.course import SLOW_TIMES, Timed, chunks, course
from opennandlab.app.states import Wanted, aged
from opennandlab.app.trace import WRITE, Request, records
from opennandlab.base.errors import ConfigError
from opennandlab.cli import app as command_line
from opennandlab.core.config import load_device

RUNNER = CliRunner()
# 1/64 of the 16 GB preset, with failures that are frequent enough to be counted on 36 superblocks.
SCALED: dict[str, Any] = {
    "nand.blocks_per_plane": 72,
    "nand.pages_per_block": 128,
    "nand.failures": {"program": 1e-7, "erase": 1e-4, "growth": 10},
}


def quiet(what: str, fraction: float) -> None:
    """Tell nobody."""


def worn(drive: Any) -> dict[str, float]:
    """Return how worn a drive is."""
    found: dict[str, float] = json.loads(drive.wear())
    return found


def test_an_age_that_wears_the_drive_out_is_refused() -> None:
    """30 erases of each block take as many pages as about 39 fills have."""
    nand = {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1, "blocks_per_plane": 64}
    device = load_device({
        "nand": {**nand, "pages_per_block": 32, "max_pe_cycles": 30},
        "ftl": {"over_provisioning_pct": 0.28, "gc_reserve_blocks": 8},
    })  # fmt: skip
    assert worn(aged(device, 1, Wanted("old-clean", drive_writes=39), quiet))
    for fills in (40, 100):
        with pytest.raises(ConfigError, match=rf"drive_writes: .* in fill 39\.\d of {fills}; "):
            aged(device, 1, Wanted("old-clean", drive_writes=fills), quiet)


def test_a_warped_drive_is_as_one_that_was_written(tmp_path: Path) -> None:
    """Mean P/E and free blocks within 5 %, mean 4 KiB write latency within 10 %."""
    device = load_device("emmc_16gb", SCALED)
    workload = {
        "pattern": "random", "read_pct": 0, "block_size_bytes": 4096, "queue_depth": 4,
        "total": {"ios": 20_000}, "precondition": [{"kind": "sequential_fill", "fills": 1}],
    }  # fmt: skip
    found = {}
    for age_by in ("write", "warp"):
        drive = aged(device, 5, Wanted("old-clean", drive_writes=60, age_by=age_by), quiet)
        assert drive.audit() is None
        wear = worn(drive)
        (tmp_path / "drive.onl").write_bytes(drive.image())
        simulation = onl.Simulation.load(tmp_path / "drive.onl", seed=5)
        metrics = simulation.run(workload).metrics
        found[age_by] = (wear["erase_count_mean"], wear["free_blocks"], metrics["latency_us"])
    (mean, free, latency), (mean_again, free_again, latency_again) = found.values()
    assert mean_again == pytest.approx(mean, rel=0.05)
    assert free_again == pytest.approx(free, rel=0.05)
    assert latency_again["write"]["mean"] == pytest.approx(latency["write"]["mean"], rel=0.1)


def test_a_discarded_drive_has_its_blocks_still_to_erase() -> None:
    """Nothing is mapped after either format; wear agrees, and free blocks tell them apart."""
    device = load_device("emmc_16gb", SCALED)
    found = {}
    for age_by in ("write", "warp"):
        for format_by in ("erase", "discard"):
            wanted = Wanted("old-clean", drive_writes=20, age_by=age_by, format_by=format_by)
            drive = aged(device, 5, wanted, quiet)
            assert (drive.audit(), drive.mapped_pages()) == (None, 0)
            found[age_by, format_by] = worn(drive)
    for age_by in ("write", "warp"):
        erased, discarded = found[age_by, "erase"], found[age_by, "discard"]
        assert erased["free_blocks"] == erased["blocks"]
        assert discarded["free_blocks"] < discarded["blocks"] / 2
    mean, again = (found[age_by, "discard"]["erase_count_mean"] for age_by in ("write", "warp"))
    assert again == pytest.approx(mean, rel=0.05)


def test_counters_of_an_aged_drive_have_one_origin() -> None:
    """WAF was 0.0001: 30 fills counted as written, and what the flash did began again at the state.

    A WAF a little below 1 is right here: 64 units wait in the write buffer.
    """
    device = load_device("emmc_16gb", SCALED)
    for age_by in ("write", "warp"):
        for format_by in ("erase", "discard"):
            wanted = Wanted("old-clean", drive_writes=20, age_by=age_by, format_by=format_by)
            player = _core.Player(aged(device, 5, wanted, quiet))
            begun = json.loads(player.status())
            assert (begun["written_bytes"], begun["programmed_bytes"], begun["waf"]) == (0, 0, None)
            assert begun["erase_count_mean"] > 10
            player.play(
                records(
                    [Request(WRITE, 0, 8192 * at, 4096, 1000 * at, 1000 * at) for at in range(999)]
                )
            )
            now = json.loads(player.status())
            assert (now["written_bytes"], now["unaccounted"]) == (999 * 4096, None)
            waiting = now["buffered_pages"]
            assert now["programmed_bytes"] >= (999 - waiting) * 4096
            assert now["waf"] == pytest.approx(now["programmed_bytes"] / now["written_bytes"])


def test_age_is_felt_where_the_map_lies_in_the_flash(tmp_path: Path) -> None:
    """What was written once is read back from the map, and what never was is not."""
    found = {}
    for name, settings in {
        "ram": [],
        "flash": ["--set", "ftl.mapping={kind: dftl, cache_bytes: 524288}"],
    }.items():
        words = ["app", "run", "--target", "sim:emmc_16gb", "--case", "web=3", "--runs", "1",
                 "--state", "old-clean", "--age", "warp", "--format", "discard", "--relative",
                 "--output", str(tmp_path / name), "--quiet", *settings]  # fmt: skip
        done = RUNNER.invoke(command_line, words)
        assert done.exit_code == 0, done.output
        found[name] = json.loads((tmp_path / name / "app.json").read_text())["relative"]
    assert found["ram"]["run_time"] > 1.0  # blocks that were discarded are still to be erased
    assert found["flash"]["run_time"] > found["ram"]["run_time"] + 0.02
    assert found["flash"]["flush"] > found["ram"]["flush"] + 0.02


def test_a_warp_needs_an_empty_drive_and_sound_numbers() -> None:
    """Nothing changes where it is refused."""
    drive = load_device("emmc_16gb", SCALED).drive(1)
    for cycles, spread, path in ((-1.0, 0.0, "cycles"), (float("nan"), 0.0, "cycles"),
                                 (1.0, 1.5, "spread")):  # fmt: skip
        with pytest.raises(ConfigError, match=path):
            drive.warp(cycles, spread, 1)
    assert worn(drive)["erase_count_max"] == 0
    with pytest.raises(ConfigError, match="write, warp"):
        Wanted("old-clean", age_by="wish")


def test_writes_go_into_the_class_of_their_size() -> None:
    """Classes are powers of two from 4 KiB on; reads and flushes are in none."""
    requests = [
        Timed("write", 512, 0, 1000),
        Timed("write", 4096, 0, 3000),
        Timed("write", 4097, 0, 5000),
        Timed("write", 1 << 20, 0, 9000),
        Timed("read", 4096, 0, 10**9),
        Timed("flush", 0, 0, 10**9),
    ]
    found = [(one.bytes_max, one.count, one.min_us, one.mean_us, one.max_us)
             for one in chunks(requests)]  # fmt: skip
    assert found == [
        (4096, 2, 1.0, 2.0, 3.0), (8192, 1, 5.0, 5.0, 5.0), (1 << 20, 1, 9.0, 9.0, 9.0),
    ]  # fmt: skip


def test_slow_periods_and_long_requests_are_found() -> None:
    """One write a millisecond, but for two stalls: each is a period, and has its requests."""
    requests = [
        Timed("write", 4096, at * 1_000_000, 150_000_000 if 500 <= at < 510 or at == 900 else 10**6)
        for at in range(1000)
    ]
    found = course(requests)
    assert found is not None
    assert found.long_count == 11
    assert {one.took_ms for one in found.longest} == {150.0}
    first, second = found.slow_periods
    assert first.begin_ms <= 505 <= first.end_ms
    assert second.begin_ms <= 900 <= second.end_ms
    assert min(first.times, second.times) >= SLOW_TIMES
    assert sum(one.count for one in found.windows) == 1000
    assert course([Timed("read", 4096, 0, 5)]) is None


def test_the_history_of_a_device(tmp_path: Path) -> None:
    """Runs that were kept, in order, each next to the first of its device and suite."""
    store = ["--store", str(tmp_path / "kept")]
    options = ["app", "run", "--target", "sim:emmc_16gb", "--case", "camera=2", "--runs", "1"]
    first = RUNNER.invoke(command_line, [*options, *store, "--keep", "--json"])
    assert first.exit_code == 0, first.output
    old = ["--state", "old-clean", "--age", "warp", "--relative", "--output", str(tmp_path / "old")]
    second = RUNNER.invoke(command_line, [*options, *old, "--quiet"])
    assert second.exit_code == 0, second.output
    document = json.loads((tmp_path / "old" / "app.json").read_text())
    assert document["relative"]["run_time"] == pytest.approx(
        document["total_ms"]["mean"] / json.loads(first.output)["total_ms"]["mean"]
    )
    assert document["chunks"][0]["bytes_max"] == 4096
    assert sum(one["count"] for one in document["chunks"]) == document["requests"]["write"]["count"]
    added = RUNNER.invoke(command_line, ["runs", "add", str(tmp_path / "old" / "app.json"), *store])
    assert added.exit_code == 0, added.output
    said = RUNNER.invoke(command_line, ["app", "history", *store, "--json"])
    rows = json.loads(said.output)["runs"]
    assert [row["state"] for row in rows] == ["young-clean", "old-clean"]
    assert rows[0]["times_first"] == 1
    assert rows[1]["times_first"] == pytest.approx(document["relative"]["run_time"])
    none = RUNNER.invoke(command_line, ["app", "history", *store, "--suite", "heavy", "--json"])
    assert json.loads(none.output)["runs"] == []
