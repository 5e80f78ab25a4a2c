"""Six cells that pin a drive: known values, simulated drives that must be told apart, refusals."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import opennandlab as onl
from fake_target import FakeTarget
from opennandlab.cli import app
from opennandlab.documents.pts_inside import IdentifyPoint, IdentifyResults
from opennandlab.measured.published import figures
from opennandlab.pts import TESTS, Settings, run_test
from opennandlab.pts.tests.inside import reading
from opennandlab.pts.tests.inside.facts import of_config
from opennandlab.pts.tests.inside.reference import POLICIES, ratio_at
from opennandlab.reports.pts.csv import LONG_FORM, long_form
from opennandlab.studies.calibration.tables import WEIGHTS, measured
from opennandlab.targets.base import Measurement, Purge
from opennandlab.targets.file import FileTarget
from opennandlab.targets.simulated import SimulatedTarget
from real_drives import needs_fio

MIB = 1 << 20
# The Micron preset with two dies, blocks of 24 pages and erases that fit them.
SMALL: dict[str, Any] = {
    "nand.pages_per_block": 24,
    "nand.blocks_per_plane": 274,
    "nand.channels": 2,
    "nand.dies_per_channel": 1,
    "nand.max_pe_cycles": 1_000_000,
    "nand.timing.t_erase_us": 150,
    "ftl.gc_reserve_blocks": 2,
    "ftl.write_buffer_pages": 1024,
}


def drive(**more: Any) -> SimulatedTarget:
    return SimulatedTarget("micron_7450_max_800gb", {**SMALL, **more})


def identified(target: Any, time_base: str = "scaled", **options: Any) -> IdentifyResults:
    settings = Settings(time_base=time_base, options={"seconds": 1.0, **options})
    results = run_test(TESTS["identify"], target, settings=settings).results
    assert isinstance(results, IdentifyResults)
    return results


def named(results: IdentifyResults) -> dict[str, Any]:
    return {row.name: row for row in results.readings}


def cell(number: int, mb_s: float | None, **more: Any) -> IdentifyPoint:
    pattern = {1: "sequential", 4: "static:0.6", 5: "zipf:0.8", 6: "load"}.get(number, "uniform")
    more = {"drive_writes": 7.0, "region_bytes": 10**9, **more}
    return IdentifyPoint(
        cell=number, pattern=pattern, block_size_bytes=4096, queue_depth=512, mb_s=mb_s, **more
    )


# Known values.


@pytest.mark.parametrize(
    ("alpha", "expected"),
    [
        (1.4635, [1.586, 1.385, 1.197, 1.043]),
        (1.1957, [2.736, 2.233, 1.737, 1.264]),
    ],
)
def test_ideal_separation_takes_static_data_out_of_the_log(alpha, expected):
    found = [reading.ideal(alpha, share) for share in (0.2, 0.4, 0.6, 0.8)]
    assert found == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize(
    ("table", "alpha", "sigma", "policy"),
    [
        ("7450_skew", 1.4635, 0.01, "greedy"),
        ("p5520_skew", 1.1957, 0.48, "age counts or streams mix"),
    ],
)
def test_sigma_of_two_measured_drives(table, alpha, sigma, policy):
    """Values of drives that others measured; greedy is another simulated drive there."""
    rates = figures(table)
    static, uniform = (rates[name]["steady MB/s"] for name in ("static:0.6", "uniform"))
    greedy, other = (ratio_at(alpha)(name, "static:0.6", 7.0) for name in POLICIES)
    found = reading.sigma_of(static / uniform, alpha, greedy)
    assert found == pytest.approx(sigma, abs=0.05)
    assert reading.policy_of(found, reading.sigma_of(other, alpha, greedy)) == policy


@given(st.floats(1.05, 2.4), st.floats(0.0, 0.35), st.floats(1e7, 1e10))
def test_space_follows_from_rates_and_waf(alpha, cost, rate):
    made = reading.amplified(alpha)
    cells = [
        cell(1, rate, waf=1.04),
        cell(2, rate / made / (1 + cost), waf=1.04 * made),
    ]
    found = reading.space_of(cells)
    assert found.alpha == pytest.approx(alpha, rel=1e-6)
    assert found.cost == pytest.approx(cost, abs=1e-6)


def test_a_first_cell_that_the_host_bounds_gives_no_cost():
    """A sequential rate below that of the programs of cell 2 would make c negative."""
    cells = [cell(1, 975.0, waf=1.04), cell(2, 697.0, waf=1.88), cell(3, 1234.0, waf=1.11)]
    found = reading.space_of(cells)
    assert found.is_bound
    assert found.alpha == pytest.approx(1.458, abs=0.01)
    assert (found.cost, found.by_rates) == (None, None)
    rows = {row.name: row for row in reading.readings(cells, found, reading.Known(), (None, ""))}
    assert rows["cost of collecting, c"].value is None
    assert rows["cost of collecting, c"].meaning == reading.BOUND


def test_the_measured_drive_is_found_without_its_waf():
    """745 GiB of 1080: by the filled fractions of the same drive, 1.45 by its WAF of 1.89."""
    fill = figures("7450_fill")
    cells = [cell(1, 1458.0), cell(2, fill["100 %"]["MB/s"]), cell(3, fill["50 %"]["MB/s"])]
    assert reading.space_of(cells).alpha == pytest.approx(1080 / 745, rel=0.03)
    by_waf = [cell(1, 1458.0, waf=1.04), cell(2, 654.0, waf=fill["100 %"]["WAF"])]
    assert reading.space_of(by_waf).alpha == pytest.approx(1080 / 745, rel=0.005)


@given(st.integers(1, 24), st.floats(2.1, 10.0), st.floats(10.0, 5000.0))
def test_a_step_is_found_where_it_is(at, factor, rate):
    assert reading.slc_step([rate * factor] * at + [rate] * (25 - at)) == at
    assert reading.slc_step([rate] * at + [rate * factor] * (25 - at)) is None


@pytest.mark.parametrize(
    ("rates", "word"),
    [
        ([100.0 - 2 * index for index in range(25)], "static wear leveling"),
        ([52.0] * 25, "housekeeping moves static data"),
    ],
)
def test_slower_than_greedy_is_housekeeping(rates, word):
    cells = [
        cell(1, 200.0, waf=1.0),
        cell(2, 100.0, waf=1.8),
        cell(4, sum(rates[-5:]) / 5, rates_mb_s=rates),
    ]
    sigma, found = reading.policy(cells, reading.space_of(cells), lambda *_: 0.9)
    assert sigma is not None
    assert sigma < -0.15
    assert found.startswith(word)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        # Response times of two drives that others measured, at 10 000 and 40 000 writes a second.
        ((70, 256, 410, 26), (117, 413, 531, 50), ["suspended within", "suspended", "no limit",
                                                    "no bursts"]),
        ((65, 162, 390, 14), (75, 371, 3080, 6944), ["suspended within", "suspended", "a limit",
                                                     "in bursts"]),
        ((70, 2500, 9000, 26), (90, 2600, 9900, 50), ["none: reads", "not suspended", "no limit",
                                                      "no bursts"]),
    ],
)  # fmt: skip
def test_a_load_curve_is_read(low, high, expected):
    def load(rate: float, times: tuple[float, ...]) -> IdentifyPoint:
        p50, p99, p999, write = (float(one) for one in times)
        return cell(6, rate * 4096e-6, rate=rate, read_us_p50=p50, read_us_p99=p99,
                    read_us_p999=p999, write_us_p99=write)  # fmt: skip

    cells = [cell(2, 500.0), load(10e3, low), load(40e3, high)]
    rows = list(reading.scheduler(cells, None))
    assert rows[0].value == low[0]
    for row, word in zip(rows[1:], expected, strict=True):
        assert word in row.meaning


# Simulated drives.


@pytest.mark.parametrize(
    ("more", "policy"),
    [
        ({}, "greedy"),
        ({"ftl.over_provisioning_pct": 0.21}, "greedy"),
        ({"ftl.gc_policy": "cost_benefit"}, "separated"),
        ({"ftl.gc_policy": "cost_benefit", "ftl.over_provisioning_pct": 0.21}, "separated"),
        ({"ftl.wear_leveling": {"kind": "static", "threshold": 3}}, "static wear leveling"),
    ],
)
def test_a_simulated_drive_is_identified(more, policy):
    target = drive(**more)
    known = of_config(target.facts().device.config)
    results = identified(target)
    rows = named(results)
    assert results.policy.startswith(policy)
    assert results.alpha == pytest.approx(1 / (1 - known.spare_factor), rel=0.01)
    assert rows["alpha without WAF"].value == pytest.approx(results.alpha, rel=0.04)
    assert rows["SLC cache"].value is None
    assert rows["time of a word line"].value == pytest.approx(1950, rel=0.1)
    assert [point.cell for point in results.points][:5] == [1, 2, 3, 4, 5]
    uniform, half = (results.points[index].waf for index in (1, 2))
    assert uniform == pytest.approx(known.waf(1.0, 4096), rel=0.01)
    assert half == pytest.approx(known.waf(0.5, 4096), rel=0.01)


def test_an_slc_cache_is_seen_in_the_first_cell():
    small = {
        "nand.blocks_per_plane": 400,
        "nand.pages_per_block": 48,
        "nand.channels": 2,
        "nand.dies_per_channel": 1,
        "ftl.slc_cache.static_bytes": 4_000_000,
        "ftl.slc_cache.dynamic_bytes_max": 40_000_000,
    }
    target = SimulatedTarget("nvme_gen4_tlc", small)
    results = identified(target, drive_writes=0.5)
    assert named(results)["SLC cache"].value == pytest.approx(0.044, rel=0.1)
    first = results.points[0]
    assert first.first_mb_s > 1.5 * first.mb_s


# What is not a figure.


class Falling(FakeTarget):
    """Each stimulus takes 4 % longer than the one before."""

    def run(self, *arguments: Any, **named: Any) -> Measurement:
        done = super().run(*arguments, **named)
        return replace(done, seconds=done.seconds * 1.04**self.calls)


class Still(FakeTarget):
    """A counter that does not move."""

    def run(self, *arguments: Any, **named: Any) -> Measurement:
        done = super().run(*arguments, **named)
        return replace(done, inside={"nand_bytes_written": 0})


class Full(FakeTarget):
    """A drive that refuses to be emptied."""

    def purge(self) -> Purge:
        super().purge()
        return Purge("zeros over the whole range", is_purge=False)


def test_a_cell_that_is_not_steady_is_no_figure():
    results = identified(Falling(256 * MIB))
    uniform = results.points[1]
    assert not uniform.steady
    assert uniform.mb_s is None
    assert uniform.waf is None
    assert "not steady" in uniform.note
    assert results.alpha is None
    assert results.sigma is None
    assert "cell" in results.policy
    assert not [row for row in csv.DictReader(long_form(results.points).splitlines())
                if row["pattern"] == "uniform"]  # fmt: skip


def test_a_counter_that_does_not_move_gives_no_waf():
    results = identified(Still(256 * MIB))
    assert {point.waf for point in results.points} == {None}
    assert "did not change" in results.points[1].note
    assert not named(results)["space for data, alpha"].meaning.startswith("by the WAF")


def test_half_of_a_drive_that_cannot_be_emptied_is_not_measured():
    results = identified(Full(256 * MIB))
    (half,) = (point for point in results.points if point.cell == 3)
    assert half.mb_s is None
    assert half.note == "not measured: zeros over the whole range leaves no part of the drive empty"


@needs_fio
def test_a_file_is_measured(tmp_path):
    target = FileTarget(tmp_path / "drive.img", 16 * MIB, folder=tmp_path / "fio")
    results = identified(target, "smoke", drive_writes=0.5, seconds=0.5, skewed="hot:0.1:0.9")
    target.close()
    assert "no counter" in str(results.waf_missing)
    assert {point.cell for point in results.points} >= {1, 2, 3, 4, 5, 6}
    assert named(results)["time of a word line"].value is None


# On the command line.


def test_the_cells_are_written_as_a_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sets = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    command = ["pts", "identify", "--target", "sim:micron_7450_max_800gb", *sets, "--time-base",
               "smoke", "--csv", "cells.csv", "-o", "run", "--shrink", "2"]  # fmt: skip
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    document = json.loads((tmp_path / "run/identify.json").read_text())
    assert document["header"]["target"]["device"]["config"]["nand"]["pages_per_block"] == 12
    rows = list(csv.DictReader((tmp_path / "cells.csv").read_text().splitlines()))
    assert list(rows[0]) == list(LONG_FORM)
    assert rows[0]["pattern"] == "sequential"
    for row in rows:
        assert math.isfinite(float(row["mb_s"]))
        assert not row["zone_bytes"]
    assert next(row["rate"] for row in rows if row["pattern"] == "load") == "10000"
    # A fit takes the same figures of the document and of the table.
    sources = (onl.load("run/identify.json"), Path("cells.csv"))
    first, second = (measured([one], WEIGHTS, 10**9).targets for one in sources)
    assert [(one.load, one.value) for one in first] == [(one.load, one.value) for one in second]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--shrink", "7"], "704 word lines a block are not a multiple of it; accepted: 4"),
        (["--csv", "run/cells.csv", "--output", "run"], "accepted: a file outside of run"),
        (["--shrink", "none"], "`none` is not valid; accepted: auto, 1 or more"),
        (["--skewed", "zipf:2"], "'zipf:2' is not one of 'zipf:0.8', 'hot:0.1:0.9'"),
        (["--vary", "threads=1,2", "--csv", "cells.csv"], "accepted: without --vary"),
    ],
)
def test_refusals(words, message):
    command = ["pts", "identify", "--target", "sim:micron_7450_max_800gb", "--dry-run", *words]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
