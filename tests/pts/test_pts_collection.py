"""Steady by the rule, and steady: whether a drive collected in the window, told everywhere."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from msgspec import structs
from typer.testing import CliRunner

import opennandlab
from opennandlab.cli import app
from opennandlab.cli._pts_tables import show
from opennandlab.comparing.model import UnlikeError
from opennandlab.documents import pts
from opennandlab.documents.record import plain
from opennandlab.pts import TESTS, Settings
from opennandlab.pts.bench.cells import Question, measured
from opennandlab.pts.bench.dispersion import warn_of_other_cells
from opennandlab.pts.bench.rounds import CellPlan, Collected, Rounds, Tracking
from opennandlab.pts.bench.runner import run_test
from opennandlab.pts.bench.time_base import TimeBase
from opennandlab.reports.figure.model import Plot
from opennandlab.reports.model import Table
from opennandlab.reports.pts import slides, source, views
from opennandlab.reports.pts.verdict import SMALL_RANGE, verdict
from opennandlab.stats.steady import steady_state
from opennandlab.targets.base import Limit, Stimulus, TargetError
from opennandlab.targets.simulated import SimulatedTarget

SMALL = {
    "nand.channels": 2,
    "nand.dies_per_channel": 1,
    "nand.blocks_per_plane": 32,
    "nand.pages_per_block": 32,
}


def tracking(read_pct: float = 0) -> Tracking:
    return Tracking("iops", 0, CellPlan(Stimulus(read_pct=read_pct), Limit(ios=1), "cell"))


@pytest.mark.parametrize(
    ("collected", "is_small", "says"),
    [
        ([Collected(1, 8)] * 5, False, "seen"),
        ([Collected(0, 0), *[Collected(2, 9)] * 5], False, "seen"),
        ([*[Collected(2, 9)] * 4, Collected(0, 9)], False, "none"),
        ([Collected(0, 9)] * 5, True, "not_applicable"),
        ([Collected(0, 0)] * 5, True, "none"),
        ([Collected(None, 0)] * 5, False, "unknown"),
    ],
)
def test_what_is_said_of_collections(collected, is_small, says):
    rounds = Rounds([tracking()], 25, "", is_small, collected=collected)
    assert rounds.collection(tracking()) == says
    assert rounds.collection(tracking(read_pct=100)) == "not_applicable"


def test_collections_of_a_round_are_those_of_all_its_cells():
    class Inside:
        def __init__(self, **inside: Any) -> None:
            self.measurement = type("M", (), {"inside": inside})

    of = Collected.of
    assert of([Inside(reclaims=2, collections=9), Inside(reclaims=0, collections=1)]) == Collected(
        2, 10
    )
    assert of([Inside(cpu_pct=3.0)]) == of([]) == Collected(None, 0)


@pytest.fixture(scope="module")
def short() -> pts.PtsDocument:
    """Latency in cells that are far too short for the spare area of the drive."""
    drive = SimulatedTarget("tlc_standard", SMALL | {"ftl.over_provisioning_pct": 0.5})
    settings = Settings(time_base="full", cell_seconds=0.01)
    return run_test(TESTS["latency"], drive, settings=settings)


def test_a_drive_that_has_not_begun_to_collect_is_not_steady(short):
    (entry,) = short.steady_state
    assert (entry.steady, entry.attained, entry.collection) == (True, True, "none")
    assert not entry.holds
    found = verdict(short)
    assert (found.word, found.text) == (
        "not steady",
        "steady state NOT ATTAINED: not every round collected garbage",
    )
    assert "did not collect" in found.reason
    assert any("--cell-seconds)" in text for text in short.warnings)


def test_terminal_and_page_have_one_verdict_on_a_drive_that_does_not_collect(short, capsys):
    """The verdict was "not steady", and the tables of both said "attained"."""
    show(short)
    shown = capsys.readouterr().out
    row = next(line for line in shown.splitlines() if line.startswith("RND 4 KiB 0/100, ART"))
    assert "NOT ATTAINED" in row
    assert "\nNOT ATTAINED: not every round collected garbage\n" in shown
    page = views.chapter(json.loads(json.dumps(plain(short))), "latency")
    items = [item for section in page.sections for item in section.items]
    said = [*shown.splitlines(), page.brief, *(section.lead for section in page.sections)]
    said += [item.note for item in items if isinstance(item, Table | Plot)]
    claims = [text for text in said if "attained" in text.lower()]
    assert len(claims) > 4
    assert all("NOT ATTAINED" in text for text in claims)
    tables = {item.id: item for item in items if isinstance(item, Table)}
    assert ("steady state attained", "no") in tables["results"].rows
    assert "cells: 0.01 s (standard: 60 s)" in short.header.deviations
    assert short.header.conformance == "scaled"


def test_the_same_drive_is_steady_once_it_collects(short):
    drive = SimulatedTarget("tlc_standard", SMALL | {"ftl.over_provisioning_pct": 0.5})
    long = run_test(TESTS["latency"], drive, settings=Settings(time_base="scaled"))
    (entry,) = long.steady_state
    assert (entry.collection, entry.holds, verdict(long).word) == ("seen", True, "steady")
    # What the short cells had published.
    art = "art_ms_rnd_4kib_write"
    assert getattr(long.results, art) > 1.5 * getattr(short.results, art)


def test_a_scaled_cell_leaves_the_drive_as_its_minute_would():
    """Scaled, random reads of 1 MiB were 1.2 to 1.4 times as fast as in full on three presets.

    A scaled round wrote a part of what minutes write, so that data lay less scattered.
    """
    drive = SimulatedTarget("tlc_standard", SMALL | {"ftl.over_provisioning_pct": 0.5})
    found = run_test(TESTS["latency"], drive, settings=Settings(time_base="scaled"))
    assert {cell.phase for cell in found.cells.rows} == {"round", "histogram"}
    rows = [cell for cell in found.cells.rows if cell.round == 2]
    assert [row.rw_pct for row in rows] == [100] * 3 + [65] * 3 + [0] * 3
    for row, after in pairwise(rows):
        pause_s = after.start_s - row.start_s - row.seconds / 0.98  # the ramp is not counted
        is_first = row.rw_pct > 0 and row.block_bytes > 4096
        if is_first or (row.rw_pct < 65 and row.block_bytes >= 4096):
            # The longest response time is a result, and the cell before decides it. Reads behind
            # writes, and writes behind reads, find what the others have left to do.
            assert row.seconds == pytest.approx(60, rel=1e-3)
            continue
        if row.rw_pct == 100:
            assert pause_s < 0.5  # until the drive is idle
            continue
        # The drive is so small that a minute writes more than the range. Requests of 512 B move a
        # page each.
        least = drive.capacity_bytes * min(row.block_bytes / 4096, 1)
        rate = row.write_mb_s * 1e6
        assert pause_s == pytest.approx(min(least / rate, 60 - row.seconds), rel=0.1)


def test_a_drive_is_brought_to_where_it_collects():
    """Host idle recovery was measured on a drive that had used up none of its spare area."""
    drive = SimulatedTarget("emmc_16gb", {"nand.blocks_per_plane": 141})
    settings = Settings(time_base="scaled", profile="C")
    found = run_test(TESTS["hir"], drive, settings=settings)
    (entry,) = found.steady_state
    assert entry.collection == "seen"
    assert entry.window[0] > 1
    assert any("until steady and collecting" in text for text in found.header.deviations)


def test_cells_outside_the_rule_are_told():
    class One:
        is_short, lost_pages = False, 0

        def __init__(self, value: float) -> None:
            self.measurement = type("M", (), {"ios": 9, "inside": {}})
            self.value = lambda _: value

    told: list[str] = []
    bench: Any = type("B", (), {"warn": told.append, "plan": None})
    bench.plan = type(
        "P", (), {"time": TimeBase("scaled", is_virtual=True, capacity_bytes=1 << 30)}
    )
    plans = [CellPlan(Stimulus(), Limit(ios=1), label) for label in ("held", "free")]
    rounds = Rounds([Tracking("iops", 0, plans[0])], 25)
    for free in (300, 100, 100, 100, 100):
        cells: Any = [One(100), One(free)]
        rounds.add(cells, cells)
    warn_of_other_cells(bench, rounds, plans, "iops")
    # The range is 200 of a mean of 140.
    assert len(told) == 1
    assert "1 of 2 cells change by more than 20 %" in told[0]
    assert "most of all free (143 %)" in told[0]
    bench.plan.time = TimeBase("smoke", is_virtual=True, capacity_bytes=1 << 30)
    warn_of_other_cells(bench, rounds, plans, "iops")
    assert len(told) == 1


def test_require_steady_is_an_exit_code(tmp_path):
    sets = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    base = ["pts", "latency", "--target", "sim:tlc_standard", *sets, "--require-steady", "-q"]
    runner = CliRunner()
    short = runner.invoke(app, [*base, "--cell-seconds", "0.01", "-o", str(tmp_path / "short")])
    assert short.exit_code == 1
    assert "not every round collected garbage" in short.output
    assert (tmp_path / "short" / "latency.json").exists()
    smoke = runner.invoke(app, [*base, "--time-base", "smoke"])
    assert (smoke.exit_code, "not a result" in smoke.output) == (1, True)
    long = runner.invoke(app, [*base, "--time-base", "scaled", "--json"])
    assert long.exit_code == 0
    assert json.loads(long.stdout)["steady_state"][0]["collection"] == "seen"


def test_require_steady_looks_at_each_point_of_a_test_that_tracks_nothing():
    sets = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    base = ["pts", "fill", "--target", "sim:tlc_standard", *sets, "--time-base", "scaled"]
    runner = CliRunner()
    found = runner.invoke(app, [*base, "--region-writes", "2", "--require-steady", "--json"])
    points = json.loads(found.stdout)["results"]["points"]
    moving = sum(not point["steady"] for point in points)
    assert moving
    assert found.exit_code == 1
    assert f"fill: {moving} of {len(points)} points NOT STEADY" in found.output


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "1e9"])
def test_a_cell_has_a_length(seconds):
    arguments = ["pts", "iops", "--target", "sim:tlc_standard", "--cell-seconds", seconds]
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 2
    assert "cell-seconds" in found.output
    assert "0.001 to 86400" in found.output


def test_a_protected_buffer_is_no_volatile_cache():
    drive = SimulatedTarget("mlc_enterprise_plp", {"nand.blocks_per_plane": 64})
    before = drive.device.json
    assert drive.set_cache(enabled=False) == "absent"
    assert drive.device.json == before
    volatile = {"host.power_loss_protected": False, "nand.blocks_per_plane": 64}
    assert SimulatedTarget("mlc_enterprise_plp", volatile).set_cache(enabled=False) == "disabled"


def test_preconditioning_has_a_clock():
    drive = SimulatedTarget("tlc_standard", SMALL | {"ftl.write_buffer_pages": 0})
    found = run_test(TESTS["latency"], drive, settings=Settings(time_base="scaled"))
    wipc = found.header.wipc
    assert wipc is not None
    assert wipc.bytes is not None
    assert wipc.seconds is not None
    # Two dies, joined planes or not: what the flash programs in this time at most and at least.
    again = SimulatedTarget("tlc_standard", SMALL | {"ftl.write_buffer_pages": 0})
    fill = Stimulus("sequential", block_bytes=128 << 10, queue_depth=1)
    timed = again.run(fill, Limit(bytes=int(wipc.bytes)), seed=1)
    assert wipc.seconds == pytest.approx(timed.elapsed_s, rel=0.1)
    phase = next(one for one in found.phases if one.name == "wipc")
    assert phase.end_s - phase.start_s == pytest.approx(wipc.seconds)


@pytest.mark.parametrize(
    ("share_pct", "says"), [(10, "not_applicable"), (25, "seen"), (50, "seen")]
)
def test_write_saturation_of_a_part_goes_on_until_the_drive_collects(share_pct, says):
    """Of small parts the first rounds were those of the new drive, and steady by the rule."""
    drive = SimulatedTarget("tlc_standard", {"nand.blocks_per_plane": 64})
    settings = Settings(time_base="scaled", active_range_pct=share_pct)
    found = run_test(TESTS["wsat"], drive, settings=settings)
    (entry,) = found.steady_state
    assert (entry.collection, entry.holds, entry.attained) == (says, True, True)
    assert entry.window[0] > 1
    told = "rounds: until steady and collecting (standard: until steady)"
    early = [value.value or 0.0 for value in entry.values_by_round[:5]]
    by_the_rule = steady_state(early).steady
    assert (told in found.header.deviations) == by_the_rule
    assert by_the_rule == (share_pct < 50)
    shown = slides.chapter(
        name="active-range",
        title="Active range",
        measured=[source.read(plain(found), "wsat", [])],
        labels=["part"],
        varied=pts.Varied(key="active-range-pct", values=[str(share_pct)], documents=["wsat"]),
    )
    _, table = shown.items
    assert isinstance(table, Table)
    assert (f"part: {SMALL_RANGE}" in table.note) == (says == "not_applicable")


def test_a_range_too_small_to_see_collection_is_told():
    """Blocks are dead before they are reclaimed: steady, and nothing is known of collection."""
    target = SimulatedTarget("tlc_standard", SMALL)
    settings = Settings(time_base="scaled", active_range_pct=2, ss_max_rounds=10)
    found = run_test(TESTS["latency"], target, settings=settings)
    assert {one.collection for one in found.steady_state} == {"not_applicable"}
    told = verdict(found)
    assert told.word == "steady"
    assert SMALL_RANGE in told.reason


def test_a_drive_smaller_than_a_queue_of_large_writes_still_recovers_from_something():
    found = run_test(
        TESTS["xsr"], SimulatedTarget("tlc_standard", SMALL), settings=Settings(time_base="smoke")
    )
    first, _, third = found.results.groups
    assert first.mb_s_min > 0
    assert third.lat_us_mean_mean > 0
    assert min(row.ios for row in found.cells.rows) >= 32


def test_points_that_are_too_short_for_the_rule_say_so():
    settings = Settings(time_base="smoke", active_range_pct=5.0, options={"skews": "uniform"})
    found = run_test(TESTS["skew"], SimulatedTarget("tlc_standard", SMALL), settings=settings)
    short = [text for text in found.warnings if "fewer requests than were outstanding" in text]
    assert len(short) == 1
    assert "of 512: too short" in short[0]
    whole = structs.replace(
        found,
        header=structs.replace(
            found.header, time_base=structs.replace(found.header.time_base, name="scaled")
        ),
    )
    judged = verdict(whole)
    assert judged.text == "1 of 1 points NOT STEADY"
    assert judged.reason.startswith("It was too short")
    twice = structs.replace(
        whole, results=structs.replace(whole.results, points=whole.results.points * 2)
    )
    assert verdict(twice).reason.startswith("They were too short")


def test_a_smoke_without_collection_says_why_it_is_not_steady():
    target = SimulatedTarget("emmc_16gb", {"nand.blocks_per_plane": 64})
    found = run_test(TESTS["latency"], target, settings=Settings(time_base="smoke"))
    (entry,) = found.steady_state
    assert (entry.steady, entry.collection) == (True, "none")
    assert "not steady after 5 rounds: RND 4 KiB 0/100 (not every" in verdict(found).reason


@pytest.mark.parametrize("kind", ["block", "bast", "fast"])
def test_merges_of_a_map_of_blocks_are_collections(kind):
    mapping = kind if kind == "block" else {"kind": kind, "log_blocks": 4}
    target = SimulatedTarget("tlc_standard", {**SMALL, "ftl.mapping": mapping})
    found = run_test(TESTS["wsat"], target, settings=Settings(time_base="scaled"))
    (entry,) = found.steady_state
    assert entry.collection == "seen"
    assert verdict(found).word == ("steady" if entry.steady else "not steady")


def test_means_of_recovery_are_over_time():
    """Bytes of a group over its time: its samples have equal bytes."""
    target = SimulatedTarget("tlc_standard", SMALL)
    found = run_test(TESTS["xsr"], target, settings=Settings(time_base="scaled"))
    cells = plain(found)["cells"]
    rows = [dict(zip(cells["columns"], row, strict=True)) for row in cells["rows"]]
    for group in found.results.groups:
        of = [row for row in rows if row["label"] == group.label]
        assert len(of) == group.samples
        seconds = sum(row["seconds"] for row in of)
        mb_s = sum(row["mb_s"] * row["seconds"] for row in of) / seconds
        assert group.mb_s_mean == pytest.approx(mb_s, rel=1e-9)


def test_slices_of_a_small_range_turn_the_queue_over():
    target = SimulatedTarget("tlc_standard", {**SMALL, "nand.blocks_per_plane": 256})
    for base in ("scaled", "smoke"):
        settings = Settings(time_base=base, active_range_pct=20)
        found = run_test(TESTS["position"], target, settings=settings)
        assert min(one.read_mb_s for one in found.results.slices) > 0
        assert not [text for text in found.warnings if "fewer requests" in text]


def test_shares_are_compared_in_as_many_digits_as_they_have():
    documents = [
        run_test(
            TESTS["latency"],
            SimulatedTarget("tlc_standard", SMALL),
            settings=Settings(time_base="smoke", active_range_pct=percent),
        )
        for percent in (33.3, 50)
    ]
    with pytest.raises(UnlikeError, match=r"different active range: #1 has share 0\.333, "):
        opennandlab.compare(documents)


def test_a_cell_without_a_counted_request_took_no_time():
    drive = SimulatedTarget("tlc_standard", SMALL)
    one = Limit(bytes=4096, ramp_ratio=0.5)
    found = drive.run(Stimulus(queue_depth=32), one, seed=1)
    assert (found.ios, found.seconds, found.mb_s) == (0, 0.0, 0.0)


# Keeps data for less than the year that it is asked for: more than half of the reads fail.
LOSSY = SMALL | {
    "nand.cell_type": "TLC",
    "nand.stress": {"retention_h": 8760},
    "reliability": {"kind": "states"},
    "ecc": {"algorithm": "bch", "bch_m": 14, "bch_t": 40},
    "controller.read_retry": {"step_count_max": 5},
}


@pytest.mark.parametrize("allow_lost", [False, True])
def test_reads_that_gave_no_data_are_no_steady_state_unless_they_are_allowed(allow_lost):
    """The latency test of a drive that had lost most of its data said `attained`, and nothing."""
    drive = SimulatedTarget("tlc_standard", LOSSY)
    settings = Settings(time_base="full", cell_seconds=0.01, allow_lost=allow_lost)
    found = run_test(TESTS["latency"], drive, settings=settings)
    assert found.warnings[0].startswith("data lost: ")
    assert ("--allow-lost lets it" in found.warnings[0]) != allow_lost
    assert ("reads that gave no data are allowed" in found.header.deviations) == allow_lost
    (entry,) = found.steady_state
    assert entry.attained == entry.steady == allow_lost
    assert (entry.reason == "lost reads") != allow_lost
    if not allow_lost:
        assert "lost reads" in verdict(found).reason
        assert entry.rounds == entry.rounds_max


def test_settings_without_lost_reads_are_those_of_before():
    assert "allow_lost" not in Settings().to_dict()
    assert Settings(**Settings(allow_lost=True).to_dict()).allow_lost


def test_a_fit_to_a_drive_that_loses_data_is_refused():
    device = opennandlab.load_device("tlc_standard", LOSSY).to_dict()
    question = Question.of({"cells": [[4096, 65.0]], "requests": 200})
    with pytest.raises(TargetError, match=r"data lost: .* cell 4:65/35"):
        measured(device, question, 42)


def test_littles_law_of_an_iops_test_is_on_the_terminal_as_on_its_page(tmp_path):
    sets = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    asked = ["pts", "iops", "--target", "sim:tlc_standard", *sets, "--time-base", "smoke"]
    done = CliRunner().invoke(
        app, [*asked, "--ss-max-rounds", "5", "--output", str(tmp_path / "i")]
    )
    (said,) = [line for line in done.output.splitlines() if "Little's law" in line]
    page = views.chapter(json.loads((tmp_path / "i" / "iops.json").read_text()), "iops")
    (warning,) = [text for text in page.warnings if "Little's law" in text]
    assert said == f"warning: iops: {warning}"
    assert page.headlines[0].value == "not a result"
