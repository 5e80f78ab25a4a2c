"""The report of a device image: the erase counts of its blocks, added up by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import opennandlab as onl
from conftest import Cli
from opennandlab.base.errors import ImageError
from opennandlab.core.loading import report_of
from opennandlab.reports.figure.model import Plot
from opennandlab.reports.model import Table

DRIVE = {
    "nand": {
        "channels": 1, "dies_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 64,
        "pages_per_block": 16, "page_size_bytes": 4096, "max_pe_cycles": 100,
    },
    "ftl": {"over_provisioning_pct": 0.25},
}  # fmt: skip


def worn(writes: int) -> onl.Simulation:
    """Return a drive after random overwrites."""
    drive = onl.Simulation(DRIVE, seed=7)
    drive.precondition([{"kind": "sequential_fill", "fills": 1}])
    if writes:
        drive.run({"pattern": "random", "total": {"ios": writes}, "timed": False})
    return drive


def test_the_erase_counts_add_up_to_the_erases_of_the_run() -> None:
    drive = onl.Simulation(DRIVE, seed=7)
    drive.precondition([{"kind": "sequential_fill", "fills": 1}])
    result = drive.run({"pattern": "random", "total": {"ios": 20_000}, "timed": False})
    wear = drive.wear()
    assert sum(blocks for _, blocks in wear.erase_counts) == wear.blocks == 128
    erases = sum(count * blocks for count, blocks in wear.erase_counts)
    assert erases == sum(result.metrics["erases"].values()) > 1000
    assert wear.erase_count_mean == pytest.approx(erases / 128)
    counts = [count for count, _ in wear.erase_counts]
    assert counts == sorted(set(counts))
    assert counts[-1] == wear.erase_count_max
    assert all(blocks > 0 for _, blocks in wear.erase_counts)


def test_a_report_of_an_image_draws_its_wear(cli: Cli, tmp_path: Path) -> None:
    drive = worn(20_000)
    drive.save(tmp_path / "worn.onl")
    done = cli("report", "worn.onl", "--html", "w.html", "--figures", "figures", "--json")
    written = json.loads(done.stdout)["written"]
    assert [Path(one).name for one in written] == ["w.html", "wear.svg"]
    report = report_of(tmp_path / "worn.onl")
    cards = {one.name: one.value for one in report.chapters[0].headlines}
    wear = drive.wear()
    assert cards["largest erase count"] == str(wear.erase_count_max)
    assert wear.erase_count_mean is not None
    assert float(cards["of 100 rated P/E cycles"]) == pytest.approx(wear.erase_count_mean, rel=1e-3)
    plot = report.figures[0]
    assert isinstance(plot, Plot)
    assert sum(filter(None, plot.series[0].y)) == wear.blocks


@pytest.mark.parametrize("own", [None, 500])
def test_blocks_of_unlike_rating_are_not_mixed(own: int | None, tmp_path: Path) -> None:
    """Twelve blocks of one bit per cell shared "of 100 rated P/E cycles" with all others."""
    cache = {"kind": "static", "blocks_per_die": 6, "when_full": "fold", "max_pe_cycles": own}
    ftl = {"over_provisioning_pct": 0.6, "slc_cache": cache, "write_frontiers": "host_gc"}
    drive = onl.Simulation({**DRIVE, "ftl": ftl})
    drive.precondition([{"kind": "sequential_fill", "fills": 2}])
    drive.save(tmp_path / "cached.onl")
    report = report_of(tmp_path / "cached.onl")
    assert not [one for one in report.chapters[0].headlines if "rated" in one.name]
    table = next(one for one in report.chapters[0].items if one.id == "ratings")
    assert isinstance(table, Table)
    assert [row[:4] for row in table.rows] == [
        ("full density", 128 - 12, 100, "unknown"),
        ("static SLC cache", 12, own or 1000, "unknown"),
    ]
    # Every page goes through the cache, a third of a block at a time: its blocks stand apart.
    counts = dict(drive.wear().erase_counts)
    assert sum(blocks for count, blocks in counts.items() if count > 4) == 12, counts


def test_an_unworn_drive_has_one_bar(tmp_path: Path) -> None:
    worn(0).save(tmp_path / "new.onl")
    report = report_of(tmp_path / "new.onl")
    plot = report.figures[0]
    assert isinstance(plot, Plot)
    assert list(plot.series[0].x) == [-0.5, 0.5]
    assert list(plot.series[0].y) == [128.0, 0.0]


def test_a_cut_image_is_refused_by_name(cli: Cli, tmp_path: Path) -> None:
    whole = tmp_path / "whole.onl"
    worn(0).save(whole)
    cut = tmp_path / "cut.onl"
    cut.write_bytes(whole.read_bytes()[:200])
    with pytest.raises(ImageError, match=r"cut\.onl"):
        report_of(cut)
    done = cli("report", "cut.onl", "--html", "c.html")
    assert done.returncode == 2
    assert "cut.onl" in done.stderr
    assert not (tmp_path / "c.html").exists()
