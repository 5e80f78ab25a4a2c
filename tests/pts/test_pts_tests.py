"""What each standard test decides: its ends, points, ratios, and the figures of its patterns."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

import pts_documents
from fake_target import FakeTarget
from opennandlab.documents.record import plain
from opennandlab.pts import STANDARD, TESTS, Settings, run_test
from opennandlab.pts.bench.demand import Combination, order, points
from opennandlab.pts.bench.document import histogram
from opennandlab.pts.bench.evenness import evenness
from opennandlab.pts.bench.patterns import COMPOSITE, DATABASE, FILE_SERVER, WEB_SERVER
from opennandlab.pts.tests import latency
from opennandlab.pts.tests.rw_ratio import mixed_efficiency
from opennandlab.pts.tests.scalability import die_counts
from opennandlab.pts.tests.xsr import first_at, recovery
from opennandlab.reports.model import Table
from opennandlab.reports.pts import views
from opennandlab.stats.histogram import Histogram
from opennandlab.targets.base import Limit, Stimulus
from opennandlab.targets.simulated import SimulatedTarget
from opennandlab.theory.scaling import rms

MIB = 1 << 20
GIB = 1 << 30


def document(test: str, target: FakeTarget | None = None, **changes: Any) -> dict[str, Any]:
    chosen = Settings(**{"time_base": "smoke", **changes})
    return plain(run_test(TESTS[test], target or FakeTarget(), settings=chosen))


def rows(found: dict[str, Any]) -> list[dict[str, Any]]:
    columns = found["cells"]["columns"]
    return [dict(zip(columns, row, strict=True)) for row in found["cells"]["rows"]]


# `rwsw` needs a capture, and has tests of its options.
PLAIN = [it for it in TESTS if it != "rwsw"]


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("profile", ["E", "C"])
@pytest.mark.parametrize("version", ["2.0.2", "1.1"])
def test_every_test_runs_in_every_profile_and_version(name, profile, version):
    found = document(name, profile=profile, pts_version=version)
    assert not found["partial"]
    assert found["results"]
    assert found["cells"]["rows"]
    for table in found["tables"]:
        assert len(table["values"]) == len(table["rows"]) > 0
        assert {len(values) for values in table["values"]} == {len(table["columns"])}


# Write saturation.


def test_saturation_ends_at_the_steady_state():
    found = document("wsat", time_base="scaled")["results"]
    assert found["ended_by"] == "steady_state"
    assert found["attained"]
    assert 0.2 < found["steady_ratio"] < 0.3  # write amplification 4 of the drive of formulas
    # 1 + 3 (1 - exp(-2 d)) passes 1 / 0.9 at d = ln(27 / 26) / 2.
    assert found["cliff_drive_fills"] == pytest.approx(math.log(27 / 26) / 2, abs=0.04)


class Ageing(FakeTarget):
    """Gets slower all the time, and so is never steady."""

    def _waf(self, stimulus: Stimulus) -> float:
        del stimulus
        return 1.0 + 2.0 * sum(1 for asked, _, _ in self.asked if asked.read_pct == 0) ** 1.5


def test_saturation_ends_by_bytes():
    found = document("wsat", Ageing(), time_base="scaled")
    assert found["results"]["ended_by"] == "written"
    # Ten fills where the standard has four: virtual time is free, and the header says so.
    assert found["results"]["drive_fills"] == pytest.approx(10.0, abs=0.02)
    assert (
        "write saturation: 10 drive fills (standard: 4 drive fills)"
        in found["header"]["deviations"]
    )
    assert any("NOT ATTAINED" in text for text in found["warnings"])


def test_saturation_ends_by_time():
    # Of 64 GiB, a minute at 4 KiB writes at the speed of formulas is a small part.
    options = {"hours": 0.2, "capacities": 1000.0}
    found = document("wsat", Ageing(1 << 40), time_base="full", options=options)["results"]
    assert found["ended_by"] == "time"
    assert found["minutes"] == pytest.approx(12, rel=0.01)


def test_saturation_ends_after_the_last_round():
    options = {"capacities": 1000.0}
    found = document("wsat", Ageing(), ss_max_rounds=5, options=options)["results"]
    assert found["ended_by"] == "rounds"


def test_a_saturation_round_is_31_minutes_with_the_sample_last():
    target = FakeTarget(4 << 30)
    found = document("wsat", target, time_base="scaled")
    cells = [cell for cell in rows(found) if cell["phase"] == "wsat"]
    assert Counter(cell["round"] for cell in cells)[1] == 31
    tracked = found["steady_state"][0]["values_by_round"]
    assert tracked[0][1] == cells[30]["iops"]
    first = document("wsat", time_base="scaled", options={"sample_minute": "first"})
    assert first["steady_state"][0]["values_by_round"][0][1] == rows(first)[0]["iops"]


def test_saturation_begins_without_preconditioning_and_ends_with_a_histogram():
    found = document("wsat")
    assert [phase["name"] for phase in found["phases"]][:2] == ["purge", "wsat"]
    assert found["histograms"][0]["count"] == 2000
    assert not document("wsat", pts_version="1.1")["histograms"]


@pytest.mark.parametrize(
    ("workload", "read_pct", "pattern"),
    [
        ("oltp", 65, "random"),
        ("vod", 90, "sequential"),
        ("metadata", 50, "sequential"),
        ("cbw", 0, "random"),
    ],
)
def test_saturation_has_the_loads_of_version_2(workload, read_pct, pattern):
    target = FakeTarget()
    found = document("wsat", target, options={"workload": workload})
    assert (target.asked[0][0].read_pct, target.asked[0][0].pattern) == (read_pct, pattern)
    # Fills are of what is written, whatever the mix.
    assert found["results"]["drive_fills"] > 0.4


# Host idle recovery.


def test_idle_recovery_has_five_segments_of_two_parts():
    target = FakeTarget()
    found = document("hir", target)
    segments = found["results"]["segments"]
    assert [segment["wait_state"] for segment in segments] == [1, 2, 3, 5, 10]
    unit_s = found["results"]["unit_s"]
    assert [segment["idle_s"] / unit_s for segment in segments] == pytest.approx([1, 2, 3, 5, 10])
    labels = Counter(cell["label"] for cell in rows(found) if cell["phase"] == "segment")
    assert labels == {
        f"wait {n} {word}": 6 for n in (1, 2, 3, 5, 10) for word in ("active", "return")
    }
    # The drive of formulas writes into what idle time freed, and not without it.
    assert all(segment["gain"] > 2 for segment in segments)
    assert all(segment["return_ratio"] < 2 for segment in segments)


def test_the_second_part_has_no_idle_time():
    found = document("hir")
    cells = [cell for cell in rows(found) if cell["label"] == "wait 10 return"]
    for one, other in pairwise(cells):
        assert other["start_s"] - one["start_s"] == pytest.approx(one["seconds"])


def test_a_full_run_lasts_as_long_as_the_specification_says():
    parts = [360 * 5 * (1 + n) + 360 * 5 for n in (1, 2, 3, 5, 10)]
    assert parts == [5400, 7200, 9000, 12600, 21600]
    found = document("hir", FakeTarget(1 << 40), time_base="full", ss_max_rounds=5)
    segments = found["results"]["segments"]
    spans = [segment["end_s"] - segment["start_s"] for segment in segments]
    assert spans == pytest.approx(parts, rel=1e-3)
    assert sum(parts) == 55_800


# Cross stimulus recovery.


@pytest.mark.parametrize(
    ("values", "at"),
    [
        ([100] * 5, 0),
        ([10, 20, 90, 90, 90, 90, 90, 10], 2),
        ([95, 95, 95, 95, 10, 95, 95, 95, 95, 95], 5),
        ([95, 95, 95, 95], None),
        ([89.9] * 20, None),
        ([], None),
    ],
)
def test_recovery_takes_five_samples_in_a_row_at_90_percent(values, at):
    assert recovery(values, 100.0) == at


def test_cross_stimulus_groups_follow_each_other():
    target = FakeTarget(2 * GIB)
    found = document("xsr", target)
    loads = [(asked.pattern, asked.block_bytes) for asked, _, _ in target.asked]
    large, small = ("sequential", MIB), ("random", 8192)
    assert loads == [large] * 16 + [small] * 12 + [large] * 16
    starts = [asked.start_bytes for asked, _, _ in target.asked[:16]]
    assert starts[0] == 0
    assert all(start > 0 for start in starts[1:-1])
    assert [group["samples"] for group in found["results"]["groups"]] == [16, 12, 16]
    assert document("xsr", options={"random_kib": 4})["results"]["groups"][1]["label"].startswith(
        "group 2: RND 4 KiB"
    )


@pytest.mark.parametrize(
    ("values", "mean", "at"),
    [
        ([50, 95, 101, 90], 100.0, 2),
        ([100.0, 1.0], 100.0, 0),
        ([99.9] * 9, 100.0, None),
        ([], 100.0, None),
        ([1.0], None, None),
    ],
)
def test_the_other_measure_takes_the_first_minute_at_the_mean_of_group_1(values, mean, at):
    assert first_at(values, mean) == at


def test_both_measures_of_the_recovery_are_in_the_results():
    found = document("xsr")
    results, groups = found["results"], found["results"]["groups"]
    assert results["group_1_mb_s"] == groups[0]["mb_s_mean"]
    columns = found["cells"]["columns"]
    cells = [dict(zip(columns, row, strict=True)) for row in found["cells"]["rows"]]
    third = [cell for cell in cells if cell["label"].startswith("group 3")]
    enough = [cell["mb_s"] >= groups[0]["mb_s_mean"] for cell in third]
    expected = enough.index(True) + 1 if any(enough) else None
    assert results["to_mean_sample"] == expected
    if expected is None:
        assert results["to_mean_s"] is results["to_mean_drive_fills"] is None
    else:
        begin = third[expected - 1]["start_s"] - third[0]["start_s"]
        assert results["to_mean_s"] == pytest.approx(begin)


def test_the_recovery_is_shown_by_both_measures() -> None:
    content = pts_documents.xsr()
    content["results"] |= {
        "recovery_s": 20.0, "recovery_drive_fills": 0.5, "group_1_mb_s": 450.0,
        "to_mean_sample": 4, "to_mean_s": 90.0, "to_mean_drive_fills": 2.0,
    }  # fmt: skip
    shown = views.chapter(content, "xsr")
    lead = shown.sections[0].lead
    assert "By our measure, five samples in a row at 90 %" in lead
    assert "group 3 recovered after 20 s and 0.5" in lead
    assert "the first minute at or above the mean of group 1 (450 MB/s), it did after" in lead
    quoted = {one.name: one.text for one in shown.headlines}
    assert quoted["recovered: five samples at 90 %"] == "20 s"
    assert quoted["recovered: first minute at the mean of group 1"] == "90 s"
    content["results"] |= dict.fromkeys(("to_mean_sample", "to_mean_s", "to_mean_drive_fills"))
    never = views.chapter(content, "xsr")
    assert "(450 MB/s), it never did." in never.sections[0].lead
    (table,) = [item for item in never.items if item.id == "results" and isinstance(item, Table)]
    rows = dict(row[:2] for row in table.rows)
    assert rows["first minute at the mean of group 1: after, s"] == "never"


def test_recovery_can_be_never():
    class Spoilt(FakeTarget):
        def _wear(self, stimulus: Stimulus, written: int) -> None:
            if stimulus.pattern == "random":
                self.dirt += written / self.capacity_bytes

    found = document("xsr", Spoilt())["results"]
    assert found["recovery_s"] is None
    assert found["recovery_sample"] is None


# Demand.


def test_combinations_run_with_decreasing_outstanding_requests():
    pairs = order("sorted")
    assert len(pairs) == len(set(pairs)) == 49
    assert pairs[:6] == [(32, 32), (32, 16), (16, 32), (32, 8), (16, 16), (8, 32)]
    products = [tc * qd for tc, qd in pairs]
    assert products == sorted(products, reverse=True)
    assert all(
        one[0] >= other[0]
        for one, other in pairwise(pairs)
        if one[0] * one[1] == other[0] * other[1]
    )
    nested = order("nested")
    assert nested[:7] == [(32, qd) for qd in (32, 16, 8, 6, 4, 2, 1)]
    assert nested[7] == (16, 32)


def one(tc: int, qd: int, iops: float, ms: float) -> Combination:
    return Combination(tc, qd, iops, ms * 1000)


def test_max_is_the_most_below_5_ms_strictly():
    found = points(
        [one(32, 32, 900, 20), one(8, 8, 800, 5.0), one(4, 4, 700, 4.999), one(1, 1, 100, 1)]
    )
    assert [point.name for point in found] == ["MaxIOPS", "MinIOPS", "MidIOPS"]
    assert found[0].chosen.iops == 700
    assert found[1].chosen.iops == 100
    assert found[2].target_iops == 400


def test_ties_go_to_fewer_outstanding_requests_then_fewer_threads():
    tied = [
        one(4, 2, 500, 1),
        one(2, 4, 500, 1),
        one(8, 8, 500, 1),
        one(1, 1, 100, 1),
        one(2, 1, 100, 1),
    ]
    found = points(tied)
    assert (found[0].chosen.threads, found[0].chosen.queue_depth) == (2, 4)
    assert (found[1].chosen.threads, found[1].chosen.queue_depth) == (1, 1)
    # 200 and 400 are equally near to the target of 300.
    even = [one(1, 1, 100, 1), one(2, 2, 400, 1), one(1, 2, 200, 1), one(8, 8, 500, 1)]
    assert points(even)[2].chosen.iops == 200


def test_none_under_5_ms_takes_the_lowest_response_time():
    found = points([one(2, 1, 90, 6), one(1, 1, 50, 7), one(4, 1, 95, 8)])
    assert found[0].chosen.iops == 90
    assert "none under 5 ms" in found[0].note
    assert found[1].chosen.iops == 50


def test_the_least_iops_need_not_be_under_5_ms():
    found = points([one(32, 32, 40, 50), one(1, 1, 50, 1), one(2, 1, 90, 1)])
    assert found[1].chosen.iops == 40


def test_several_mid_points_lie_at_equal_steps():
    line = [one(1, qd, 100.0 * qd, 1) for qd in range(1, 11)]
    found = points(line, mid_count=2)
    assert [point.target_iops for point in found[2:]] == [400, 700]
    assert [point.chosen.iops for point in found[2:]] == [400, 700]
    assert [point.name for point in found[2:]] == ["MidIOPS 1", "MidIOPS 2"]


def test_a_demand_round_is_a_pre_write_and_49_cells():
    found = document("dirth")
    first = [
        cell
        for cell in rows(found)
        if cell["round"] == 1 and cell["phase"] in {"prewrite", "round"}
    ]
    assert len(first) == 50
    assert (first[0]["rw_pct"], first[0]["threads"], first[0]["queue_depth"]) == (0, 32, 32)
    assert (first[1]["rw_pct"], first[1]["block_bytes"]) == (65, 8192)
    # What is tracked is the second: reads and writes of TC 32, QD 32.
    tracked = next(e for e in found["steady_state"] if e["tracking"]["label"] == "TC 32 QD 32")
    assert tracked["values_by_round"][0][1] == first[1]["iops"]


def test_histograms_are_of_the_points_and_of_the_writes_before():
    found = document("dirth", options={"mid_points": 2})
    assert [kept["id"] for kept in found["histograms"]] == [
        name
        for point in ("max_iops", "min_iops", "mid_iops_1", "mid_iops_2")
        for name in (point, f"prewrite_{point}")
    ]
    for kept in found["histograms"]:
        assert kept["count"] == sum(kept["counts"])


def test_the_video_pattern_is_128_kib_90_10():
    found = document("dirth", options={"pattern": "video"})["results"]["pattern"]
    assert (found["blocks"], found["read_pct"]) == (128 * 1024, 90)


# Composite patterns.


def test_composite_shares_sum_to_100_and_the_mean_is_7818_24_bytes():
    sizes = dict(COMPOSITE.blocks)
    assert sum(sizes.values()) == 100
    assert sum(size * share for size, share in sizes.items()) / 100 == pytest.approx(7818.24)
    assert sum(share for size, share in sizes.items() if size < 4096) == 10
    assert COMPOSITE.read_pct == 40
    assert sum(zone.range_share for zone in COMPOSITE.zones) == pytest.approx(1)
    densities = [zone.access_share / zone.range_share for zone in COMPOSITE.zones]
    assert densities == pytest.approx([10, 2, 0.25])


@pytest.mark.parametrize(("pattern", "mean"), [(FILE_SERVER, 11_345.92), (WEB_SERVER, 16_035.84)])
def test_server_patterns_have_their_means(pattern, mean):
    sizes = dict(pattern.blocks)
    assert sum(sizes.values()) == 100
    assert sum(size * share for size, share in sizes.items()) / 100 == pytest.approx(mean)
    assert DATABASE.blocks == 8192


def test_a_4kn_drive_gets_whole_sectors():
    sizes = dict(COMPOSITE.fields(4096)["block_bytes"])
    assert min(sizes) == 4096
    assert sizes[4096] == 77
    assert sum(sizes.values()) == 100


def test_composite_requests_of_the_simulator_have_these_shares():
    """4.5 sigma of 1e5 draws, for sizes, groups of addresses and reads."""
    drive = SimulatedTarget("tlc_standard")
    stimulus = Stimulus(**COMPOSITE.fields(), threads=32, queue_depth=32)
    count = 100_000
    kinds, sectors, lengths = drive.commands(stimulus, seed=7, count=count)
    checks = [((kinds == 0).mean(), 0.4)]
    checks += [((lengths * 512 == size).mean(), share / 100) for size, share in COMPOSITE.blocks]
    edges = [0.0, 0.05, 0.2, 1.0]
    places = sectors * 512 / drive.capacity_bytes
    for zone, low, high in zip(COMPOSITE.zones, edges, edges[1:], strict=False):
        checks.append((((places >= low) & (places < high)).mean(), zone.access_share))
    for found, share in checks:
        # A group ends at a page, not where the share of the range does: far below the tolerance.
        assert abs(found - share) < 4.5 * math.sqrt(share * (1 - share) / count) + 1e-6
    assert (sectors * 512 % 4096 == 0).all()
    assert ((sectors + lengths) * 512 <= drive.capacity_bytes).all()


# Tutorials.


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_a_smoke_names_preconditioning_where_there_is_some(name):
    found = document(name)
    told = [text for text in found["header"]["deviations"] if text.startswith("preconditioning")]
    # Of the pathological conditions each is filled like that.
    filled = found["header"].get("wipc") is not None or name == "pathological"
    assert told == (["preconditioning: 1 drive fill (standard: 2 drive fills)"] if filled else [])


def test_a_smoke_of_saturation_says_what_it_wrote():
    found = document("wsat")
    fills = found["results"]["drive_fills"]
    assert found["results"]["ended_by"] == "steady_state"
    assert fills < 1.9
    (told,) = [text for text in found["header"]["deviations"] if text.startswith("write satur")]
    assert told == (
        f"write saturation: {fills:.3g} drive fills (standard: until steady, at most 4 drive fills)"
    )


class Drifting(FakeTarget):
    """A drive whose response times change once it has written for long."""

    def run(self, stimulus: Stimulus, limit: Limit, **named: Any) -> Any:
        done = super().run(stimulus, limit, **named)
        if limit.seconds_max != 20 * 60.0:
            return done
        before = done.writes.latency
        bins = [
            (round(ns * 0.85), int(count))
            for ns, count in zip(before.ns, before.counts, strict=True)
        ]
        return replace(done, writes=replace(done.writes, latency=Histogram.of_bins(bins)))


def test_a_drive_that_goes_on_changing_after_the_window_is_told():
    found = document("latency", Drifting())
    window_ms = found["results"]["art_ms_rnd_4kib_write"]
    (kept,) = [one for one in found["histograms"] if one["id"] == "response_time"]
    after_ms = kept["sum_ns"] / kept["count"] * 1e-6
    assert found["results"]["attained"]
    (told,) = [text for text in found["warnings"] if "still changing" in text]
    assert f"{window_ms:.4g} ms in the window and {after_ms:.4g} ms in the histogram" in told
    assert f"({after_ms / window_ms - 1:+.1%})" in told


@pytest.mark.parametrize(("after_us", "is_told"), [(949, True), (951, False), (1051, True)])
def test_a_mean_may_differ_by_5_percent(after_us, is_told):
    kept = histogram("response_time", "", Histogram.of_bins([(after_us * 1000, 10)]))
    told = latency.drift(1000.0, kept, "4 KiB writes")
    assert (told is not None) is is_told
    assert latency.drift(None, kept, "4 KiB writes") is None


def test_the_surface_has_12_sizes_and_11_mixes():
    (iops, *_) = document("surface")["tables"]
    assert len(iops["rows"]) == 12
    assert iops["columns"] == [f"{r}/{100 - r}" for r in range(0, 101, 10)]


def test_evenness_of_known_samples():
    found = evenness([100.0, 100.0, 40.0, 160.0])
    assert found.iops_mean == 100
    assert found.cv == pytest.approx(math.sqrt(7200 / 4) / 100)
    assert found.share_below_half == 0.25
    assert evenness([]).samples == 0


def test_stability_takes_samples_in_time():
    found = document("stability")
    assert len(found["samples"]["rows"]) == 20
    assert found["results"]["samples"] == 20


def test_independence_is_the_drop_from_the_first_to_the_third():
    found = document("independence")["results"]
    drop = (found["first_mb_s"] - found["third_mb_s"]) / found["first_mb_s"] * 100
    assert found["drop_pct"] == pytest.approx(drop)
    assert found["drop_pct"] > 0


def test_rms_and_mixed_efficiency_of_the_tutorial():
    # SLC dies of the tutorial: five mixes and their RMS, in MB/s.
    mixes = [114.286, 44.214, 27.409, 19.860, 15.572]
    assert rms(mixes) == pytest.approx(57.279, abs=1e-3)
    # Its model has no collisions: every mix is the harmonic mean of the ends.
    shares = (100, 75, 50, 25, 0)
    assert mixed_efficiency(shares, mixes) == pytest.approx([1.0] * 5, abs=1e-4)
    assert mixed_efficiency([100, 0], [0.0, 1.0]) == [None, None]


@pytest.mark.parametrize(
    ("channels", "per_channel", "counts"),
    [(1, 1, [1]), (8, 2, [1, 2, 4, 8, 16]), (3, 2, [1, 2, 3, 6]), (1, 4, [1, 2, 4])],
)
def test_dies_double_over_channels_first(channels, per_channel, counts):
    assert [count for count, _, _ in die_counts(channels, per_channel)] == counts


def test_scaling_of_a_drive_of_formulas_is_nearly_linear():
    steps = document("scalability")["results"]["steps"]
    assert [step["dies"] for step in steps] == [1, 2, 4]
    assert steps[0]["efficiency_iops"] == 1
    assert steps[2]["normalised_mb_s"] == pytest.approx(4, rel=0.1)


def test_every_relaxation_but_hot_data_raises_what_a_drive_with_collection_writes():
    cases = document("pathological")["results"]["cases"]
    ratios = {case["name"]: case["ratio"] for case in cases}
    assert ratios["baseline"] == 1
    assert min(ratios[name] for name in ("half the range", "sequential", "pauses")) > 1


def test_pauses_last_as_long_as_the_writes():
    target = FakeTarget()
    idle: list[float] = []
    rest = target.idle

    def rested(seconds: float) -> None:
        idle.append(seconds)
        rest(seconds)

    target.idle = rested  # type: ignore[method-assign]
    found = document("pathological", target)
    writes = [cell for cell in rows(found) if cell["label"] == "pauses"]
    assert len(idle) == len(writes)
    assert set(idle) == {target.asked[-1][1].seconds}


def test_limits_of_the_full_time_base_reach_the_target():
    target = FakeTarget(1 << 40)
    document("iops", target, time_base="full", ss_max_rounds=5)
    assert {limit for _, limit, _ in target.asked[2:]} == {Limit(seconds=60)}
    # The fill: all but a hundredth without a clock.
    whole, last = (limit.bytes for _, limit, _ in target.asked[:2])
    assert whole + last == 2 << 40
    assert last == pytest.approx(0.02 * (1 << 40), rel=1e-4)


def test_every_standard_test_has_a_purge_first():
    for name in STANDARD:
        assert document(name)["phases"][0]["name"] == "purge"


@pytest.mark.parametrize("name", ["dirth", "ecw"])
def test_a_smoke_of_a_real_drive_is_filled_before_its_mixes(name: str):
    """What a mix writes over a range without data is drawn anew, and the queue is not full then."""

    class Real(FakeTarget):
        kind, is_virtual = "file", False

    asked: dict[bool, list[Stimulus]] = {}
    for target in (Real(), FakeTarget()):
        document = run_test(TESTS[name], target, settings=Settings(time_base="smoke"))
        asked[target.is_virtual] = [stimulus for stimulus, _, _ in target.asked]
        noted = any("sequential fill" in text for text in document.header.deviations)
        assert noted is not target.is_virtual
        first, limit, _ = target.asked[0]
        if not target.is_virtual:
            assert (first.pattern, first.read_pct, limit.bytes) == ("sequential", 0, 64 << 20)
    assert asked[False][1] == asked[True][0]
