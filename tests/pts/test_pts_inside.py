"""Tests that look into an FTL: what they decide, what they find on simulated drives, refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from fake_target import FakeTarget
from opennandlab.base.errors import ConfigError
from opennandlab.documents.pts import is_of_power
from opennandlab.documents.pts_inside import LoadPoint
from opennandlab.documents.record import plain
from opennandlab.pts import INSIDE, TESTS, Place, Settings, run_test
from opennandlab.pts.bench.document import to_bytes
from opennandlab.pts.bench.runner import BrokenError, Cut
from opennandlab.pts.tests.inside import course, fill, load, skew, zones
from opennandlab.pts.tests.inside.facts import of_config
from opennandlab.reports.figure.model import Plot
from opennandlab.reports.pts import views
from opennandlab.targets.base import ActiveRange, Limit, Logs, Skew, Stimulus, TargetError
from opennandlab.targets.simulated import SimulatedTarget
from opennandlab.theory.waf import Traffic, predict_waf

MIB = 1 << 20
# The Micron preset with two dies and blocks of 24 pages: 1.2 GB, superblocks of 3 MiB.
SMALL: dict[str, Any] = {
    "nand.pages_per_block": 24,
    "nand.channels": 2,
    "nand.dies_per_channel": 1,
    "nand.max_pe_cycles": 1_000_000,
    "ftl.gc_reserve_blocks": 2,
    "ftl.write_buffer_pages": 256,
}


def drive(**changes: Any) -> SimulatedTarget:
    return SimulatedTarget("micron_7450_max_800gb", {**SMALL, **changes})


def run(name: str, target: Any = None, *, place: Place | None = None, **options: Any) -> Any:
    settings = Settings(time_base=options.pop("time_base", "scaled"), options=options)
    more = {} if place is None else {"place": place}
    return run_test(TESTS[name], target or drive(), settings=settings, **more)


def found(name: str, target: Any = None, **options: Any) -> dict[str, Any]:
    return plain(run(name, target, **options))


# What is written.


@pytest.mark.parametrize("name", INSIDE)
def test_every_point_of_skew_fill_and_zones_begins_with_a_purge(name):
    document = found(name, FakeTarget(), time_base="smoke")
    groups = [phase.get("group") for phase in document["phases"] if phase["name"] == "purge"]
    measured = {phase.get("group") for phase in document["phases"] if phase["name"] != "purge"}
    if name == "load":
        assert groups == [None]
    elif name == "identify":
        # Cells 2 and 6 go on with what cell 1 has written.
        assert [group[0] for group in groups] == ["1", "3", "4", "5"]
    else:
        assert set(groups) == measured
        assert len(groups) == len(document["results"]["points"])


def test_a_course_writes_what_it_says_and_times_the_end_of_the_last_five_pieces():
    target = FakeTarget()
    document = found("skew", target, skews="zipf:0.5", drive_writes=2.0)
    asked = [(stimulus, limit) for stimulus, limit, _ in target.asked if stimulus.skew is not None]
    capacity = target.capacity_bytes
    assert {stimulus.skew for stimulus, _ in asked} == {asked[0][0].skew}, "one law, one shuffle"
    assert sum(limit.bytes for _, limit in asked) == pytest.approx(2 * capacity, rel=0.01)
    timed = [limit for _, limit in asked if limit.ramp_ratio > 0]
    # One more times the first minute.
    assert len(timed) == 6
    for limit in timed[1:]:
        assert limit.bytes == pytest.approx(0.03 * capacity, abs=8192)
        assert limit.ramp_ratio >= 1 / 3 - 1e-9
    assert document["results"]["points"][0]["drive_writes"] == pytest.approx(2.0, abs=0.01)


def test_drive_writes_by_pattern_are_those_of_the_source():
    patterns = skew.patterns(skew.DEFAULT)
    assert len(patterns) == 11
    assert {one.name: one.writes for one in patterns if one.writes != 5.0} == {
        "zipf:1": 6.0,
        **dict.fromkeys([f"static:0.{digit}" for digit in (2, 4, 6, 8, 9)], 7.0),
    }


def test_a_course_until_steady_is_shorter():
    point = found("skew", skews="uniform", until="steady", drive_writes=10.0)["results"]["points"][
        0
    ]
    assert point["steady"]
    assert 2.0 <= point["drive_writes"] < 10.0


@pytest.mark.parametrize(
    ("how", "pattern", "share"), [("sequential", "sequential", 1.0), ("shuffled", "shuffled", 1.0)]
)
def test_a_pass_comes_before(how, pattern, share):
    target = FakeTarget()
    found("skew", target, skews="uniform", fill=how, drive_writes=1.0)
    first, limit, _ = target.asked[0]
    assert first.pattern == pattern
    assert limit.bytes == target.capacity_bytes * share
    target = FakeTarget()
    found("skew", target, skews="uniform", fill="none", drive_writes=1.0)
    assert target.asked[0][0].pattern == "random"


# What is found on a simulated drive.


def test_waf_by_share_in_use_is_the_closed_form():
    results = found("fill", points="50,75,100")["results"]
    for point in results["points"]:
        assert point["steady"]
        assert point["waf"] == pytest.approx(point["waf_predicted"], rel=0.01)
    rates = [point["mb_s"] for point in results["points"]]
    assert rates == sorted(rates, reverse=True)
    assert "waf_missing" not in results


def test_a_write_of_a_quarter_of_a_page_costs_four_times_the_closed_form():
    small = {"nand.blocks_per_plane": 64, "nand.channels": 1, "nand.page_size_bytes": 16384}
    target = SimulatedTarget("tlc_standard", small)
    known = of_config(target.facts().device.config)
    assert known.waf(0.8, 4096) == pytest.approx(4 * known.waf(0.8, known.unit_bytes), rel=1e-5)
    (point,) = found("fill", target, points="80")["results"]["points"]
    assert point["waf"] == pytest.approx(point["waf_predicted"], rel=0.03)


def test_skew_costs_a_drive_that_does_not_tell_hot_from_cold():
    results = found("skew", skews="uniform,zipf:0.8,static:0.8")["results"]
    uniform, zipf, static = results["points"]
    assert uniform["waf"] == pytest.approx(
        of_config(drive().facts().device.config).waf(1.0, 4096), rel=0.01
    )
    assert zipf["waf"] > uniform["waf"]
    # Of a fifth that is written, greedy victims are soon all of it: nearly nothing is moved.
    assert static["waf"] < uniform["waf"]
    for point in results["points"]:
        assert point["first_mb_s"] > point["steady_mb_s"] > 0


def test_hot_and_cold_writes_cost_what_theory_says():
    """One die and one open block under greedy: the mean field of Van Houdt (2013)."""
    changes = {
        "nand.channels": 1,
        "nand.dies_per_channel": 1,
        "nand.planes_per_die": 1,
        "nand.blocks_per_plane": 1024,
        "nand.pages_per_block": 32,
        "nand.max_pe_cycles": 1_000_000,
        "ftl.over_provisioning_pct": 0.2,
        "ftl.write_frontiers": "single",
    }
    target = SimulatedTarget("tlc_standard", changes)
    known = of_config(target.facts().device.config)
    document = found("skew", target, skews="uniform,hot:0.2:0.8", drive_writes=10.0)
    uniform, hot = (point["waf"] for point in document["results"]["points"])
    traffic = Traffic("hot_cold", fraction=0.2, share=0.8)
    pages = known.pages_per_block
    expected = predict_waf("greedy", None, pages, known.spare_factor, traffic)
    assert uniform == pytest.approx(known.waf(1.0, known.unit_bytes), rel=0.01)
    assert hot == pytest.approx(expected, rel=0.01)


def test_skew_slows_dies_that_have_fixed_pages_before_anything_is_collected():
    """More than their WAF does; where a write may go to any die, the WAF is all there is."""

    def ends(allocation: str) -> tuple[float, float, float]:
        changes = {"nand.blocks_per_plane": 64, "nand.pages_per_block": 64}
        target = SimulatedTarget("tlc_standard", {**changes, "ftl.allocation": allocation})
        results = found("skew", target, skews="uniform,zipf:1", drive_writes=2.0)["results"]
        even, skewed = results["points"]
        rates = skewed["steady_mb_s"] / even["steady_mb_s"]
        return skewed["first_mb_s"] / even["first_mb_s"], rates, even["waf"] / skewed["waf"]

    first, rate, by_waf = ends("CDP")
    assert first < 0.95
    assert rate < 0.85 * by_waf
    first, rate, by_waf = ends("dynamic")
    assert first == pytest.approx(1.0, rel=0.01)
    assert rate == pytest.approx(by_waf, rel=0.05)


def test_zones_find_the_superblock_and_that_one_is_open():
    results = found("zones", drive_writes=3.0)["results"]
    declared = results["superblock_bytes_declared"]
    assert declared == 2 * 4 * 24 * 16384  # dies, planes, pages of a block, bytes of a page
    assert results["superblock_bytes"] < results["superblock_bytes_below"]
    assert results["superblock_bytes_estimated"] == pytest.approx(declared, rel=0.5)
    # One is open for the host; with a third of the flash to spare, two zones may do as well.
    assert results["open_superblocks"] in {1, 2}
    assert results["open_superblocks_below"] == results["open_superblocks"] + 1


def test_zones_are_enlarged_where_a_whole_superblock_shows_that_the_largest_is_slow():
    changes = {"nand.blocks_per_plane": 64}
    document = run_test(
        TESTS["zones"], SimulatedTarget("emmc_16gb", changes), settings=Settings(time_base="scaled")
    )
    results = document.results
    assert results.superblock_bytes < results.superblock_bytes_below
    assert results.open_superblocks is not None
    assert not document.warnings
    listed = Settings(options={"zones": "1x8MiB,1x13.5MiB"})
    short = run_test(TESTS["zones"], SimulatedTarget("emmc_16gb", changes), settings=listed)
    assert short.results.superblock_bytes_estimated is None
    assert short.warnings == ["zones of 13.5 MiB, the largest that were tried, are slow: no edge"]


def test_listed_zones_are_tried_as_they_are():
    results = found("zones", zones="1x2MiB,1x8MiB,2x8MiB", drive_writes=1.5)["results"]
    tried = [(point["open"], point["zone_bytes"] // MIB) for point in results["points"]]
    assert tried == [(1, 2), (1, 8), (2, 8)]
    assert results["counted_zone_bytes"] == 8 * MIB


def test_latency_grows_with_the_load_until_it_is_not_achieved():
    document = found("load", rates="10%,60%,150%", time_base="smoke")
    results = document["results"]
    low, middle, high = results["points"]
    assert low["is_achieved"]
    assert middle["is_achieved"]
    assert not high["is_achieved"]
    assert high["achieved_per_s"] < 1.05 * results["sustained_per_s"]
    assert low["achieved_per_s"] == pytest.approx(low["asked_per_s"], rel=0.1)
    assert low["read_us_p50"] <= middle["read_us_p50"]
    assert low["write_us_p50"] < high["write_us_p50"]
    assert any("only" in text and "achieved" in text for text in document["warnings"])
    assert results["sees_collection"] is True


def test_a_range_too_small_to_see_collection_is_told():
    settings = Settings(time_base="smoke", active_range_pct=10.0, options={"rates": "50%"})
    document = plain(run_test(TESTS["load"], drive(), settings=settings))
    assert document["results"]["sees_collection"] is False
    assert any("saw no collection" in text for text in document["warnings"])


def points(*rows: tuple[float, float | None, bool]) -> list[LoadPoint]:
    blank = dict.fromkeys([*LoadPoint.__struct_fields__], None)
    return [
        LoadPoint(
            **{
                **blank,
                "asked_per_s": asked,
                "achieved_per_s": asked,
                "read_us_p99": p99,
                "is_achieved": is_achieved,
            }
        )
        for asked, p99, is_achieved in rows
    ]


def test_the_knee_is_the_last_load_before_reads_take_twice_as_long():
    assert load.knee(points((10, 100, True), (30, 201, True), (20, 200, True)), 1000) == 20
    assert load.knee(points((10, 100, True), (20, 150, False)), 1000) == 10
    assert load.knee(points((10, 100, True), (20, 300, True), (30, 150, True)), 1000) == 10
    assert load.knee(points((10, None, True), (20, 150, True)), 1000) is None


def test_a_probe_that_is_starved_is_told_and_has_no_knee():
    document = found("load", rates="10%,50%", probe=100_000.0, time_base="smoke")
    results = document["results"]
    low, high = results["points"]
    assert low["probe_achieved_per_s"] < 0.9 * 100_000
    assert results["knee_per_s"] is None
    (told,) = [text for text in document["warnings"] if "no knee" in text]
    for point in (low, high):
        assert f"({point['probe_achieved_per_s'] / 100_000:.0%}) beside" in told
    (table,) = [one for one in document["tables"] if not is_of_power(one["id"])]
    place = table["columns"].index("probe, requests/s")
    assert table["values"][0][place] == low["probe_achieved_per_s"]


def test_a_probe_that_is_starved_beside_a_high_load_alone_has_a_knee():
    def at(asked: float, got: float) -> LoadPoint:
        return msgspec.structs.replace(points((asked, 100, True))[0], probe_achieved_per_s=got)

    rows = [at(20, 899), at(10, 900)]
    assert load.knee(rows, 1000) == 20
    told = load.starved(rows, 1000, 450)
    assert told is not None
    assert "got 899/s (90%) beside 20 writes/s;" in told
    assert "knee" not in told
    assert load.starved(rows[1:], 1000, 450) is None
    assert load.knee([at(10, 899), at(20, 1000)], 1000) is None


def test_a_probe_that_fits_is_not_starved():
    document = found("load", rates="10%,50%", probe=1000.0, time_base="smoke")
    for point in document["results"]["points"]:
        assert point["probe_achieved_per_s"] == pytest.approx(1000, rel=0.1)
    assert not any("the probe asks" in text for text in document["warnings"])


def test_loads_of_a_target_are_kept_apart():
    target = drive()
    target.run(Stimulus("sequential", block_bytes=MIB), Limit(bytes=target.capacity_bytes), seed=1,
               is_measured=False)  # fmt: skip
    beside = Stimulus(read_pct=1, threads=2, queue_depth=8, rate_per_s=20_000)
    probe = Stimulus(read_pct=50, queue_depth=8, rate_per_s=10_000, beside=(beside,))
    done = target.run(probe, Limit(ios=30_000), seed=3)
    assert [part.reads.ios + part.writes.ios for part in done.loads] == pytest.approx(
        [10_000, 20_000], rel=0.05
    )
    assert sum(part.reads.ios for part in done.loads) == done.reads.ios
    assert sum(part.writes.bytes for part in done.loads) == done.writes.bytes
    assert done.loads[0].reads.ios == pytest.approx(5_000, rel=0.1)
    # A Poisson process of 30 000 a second.
    assert done.seconds == pytest.approx(1.0, abs=4.5 / 30_000**0.5)
    target.audit()


def test_a_paced_load_has_as_many_outstanding_as_it_may():
    """Beyond what a drive can do, a load with a limit is a closed loop of that depth."""

    def rate(stimulus: Stimulus) -> tuple[float, float]:
        target = drive()
        done = target.run(stimulus, Limit(ios=20_000), seed=3)
        # Little's law: outstanding = rate x response time.
        mean = done.latency.mean_ns
        assert mean is not None
        return done.iops, done.iops * mean * 1e-9

    closed = Stimulus(queue_depth=16)
    paced, outstanding = rate(replace(closed, rate_per_s=1e7))
    plain_rate, plain_outstanding = rate(closed)
    assert paced == pytest.approx(plain_rate, rel=0.01)
    assert outstanding == pytest.approx(plain_outstanding, rel=0.02)
    assert outstanding == pytest.approx(16, rel=0.02)


def test_trims_of_zones_are_no_part_of_a_limit():
    target = drive()
    stimulus = Stimulus(block_bytes=512 << 10, logs=Logs(2 * MIB, 2))
    for is_measured in (True, False):
        done = target.run(stimulus, Limit(bytes=64 * MIB), seed=1, is_measured=is_measured)
        assert done.written_bytes == 64 * MIB
    kinds, sectors, counts = target.commands(stimulus, seed=1, count=100)
    trims = kinds == 2
    assert set(counts[trims].tolist()) == {4096}
    assert not np.any(sectors[trims] % 4096)
    target.audit()


# The same again.


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("skew", {"skews": "uniform,zipf:0.8", "drive_writes": 1.0}),
        ("fill", {"points": "50,100", "region_writes": 1.0}),
        ("zones", {"zones": "1x1MiB,1x2MiB,1x4MiB,1x8MiB", "drive_writes": 1.0}),
        ("load", {"rates": "20%,60%", "time_base": "smoke"}),
        ("identify", {"drive_writes": 0.5, "seconds": 0.2, "time_base": "smoke"}),
    ],
)
def test_a_run_that_was_cut_ends_with_the_same_bytes(name, options, tmp_path):
    whole = to_bytes(run(name, **options))
    assert to_bytes(run(name, **options)) == whole
    steps = {"count": 0}

    class Cutting(SimulatedTarget):
        def run(self, *arguments: Any, **named: Any) -> Any:
            steps["count"] += 1
            if steps["count"] == 4:
                raise KeyboardInterrupt
            return super().run(*arguments, **named)

    target = Cutting("micron_7450_max_800gb", SMALL)
    given = {key: value for key, value in options.items() if key != "time_base"}
    settings = Settings(time_base=options.get("time_base", "scaled"), options=given)
    with pytest.raises(Cut):
        run_test(TESTS[name], target, settings=settings, place=Place(tmp_path), checkpoint_s=0.0)
    again = run_test(
        TESTS[name], drive(), settings=settings, place=Place(tmp_path, resume=True),
        checkpoint_s=0.0,
    )  # fmt: skip
    assert to_bytes(again) == whole


def test_a_target_that_fails_leaves_what_was_measured(tmp_path):
    class Failing(FakeTarget):
        def run(self, *arguments: Any, **named: Any) -> Any:
            if self.calls > 40:
                raise TargetError("the device is gone")
            return super().run(*arguments, **named)

    with pytest.raises(BrokenError, match="gone") as caught:
        run("skew", Failing(), place=Place(tmp_path), time_base="smoke")
    assert caught.value.document.partial
    assert caught.value.document.cells.rows
    assert (tmp_path / "skew.json").exists()
    assert (tmp_path / "skew.journal.jsonl").exists()


@pytest.mark.parametrize(
    ("name", "options", "edge"),
    [
        ("skew", {"skews": "uniform,zipf:0.8,static:0.5"}, None),
        ("fill", {"points": "50,75,100"}, None),
        ("zones", {"zones": "1x1MiB,1x4MiB,1x8MiB"}, "superblock_bytes"),
        ("load", {"rates": "10%,50%,90%"}, "knee_per_s"),
    ],
)
def test_points_that_are_done_when_a_run_is_cut_are_drawn(name, options, edge):
    """Two of three stand in what is left, without what takes all of them."""
    # Points of a load share one purge.
    starts = {"left": 4 if name == "load" else 3}

    class Gone(FakeTarget):
        def purge(self) -> Any:
            self.begin()
            return super().purge()

        def run(self, stimulus: Stimulus, *arguments: Any, **named: Any) -> Any:
            if stimulus.beside:
                self.begin()
            return super().run(stimulus, *arguments, **named)

        def begin(self) -> None:
            starts["left"] -= 1
            if not starts["left"]:
                raise TargetError("the device is gone")

    with pytest.raises(BrokenError) as caught:
        run(name, Gone(256 * MIB), time_base="smoke", **options)
    part = caught.value.document
    assert part.partial
    assert len(part.results.points) == len(part.tables[0].rows) == 2
    assert edge is None or getattr(part.results, edge) is None
    assert views.chapter(plain(part), name).sections


@pytest.mark.parametrize(
    ("name", "options"), [("skew", {"skews": "uniform"}), ("fill", {"points": "50,100"})]
)
def test_a_drive_that_does_not_tell_its_write_amplification_has_no_empty_plot(name, options):
    class Silent(FakeTarget):
        def run(self, *arguments: Any, **named: Any) -> Any:
            return replace(super().run(*arguments, **named), inside={})

    document = found(name, Silent(256 * MIB), time_base="smoke", **options)
    for point in document["results"]["points"]:
        point["waf"] = None
        if name == "fill":
            point["waf_predicted"] = None
    shown = views.chapter(document, name)
    plots = [item.id for section in shown.sections for item in section.items
             if isinstance(item, Plot)]  # fmt: skip
    assert f"{name}-mb-s" in plots
    assert f"{name}-waf" not in plots
    assert not any("no values" in text for text in shown.missing)


# Refusals.


@pytest.mark.parametrize(
    ("name", "option", "value", "words"),
    [
        ("skew", "skews", "uniform,pareto:1", "`pareto:1` is not a pattern; accepted: uniform"),
        ("skew", "skews", "zipf:11", "`zipf:11` is out of range"),
        ("skew", "skews", "static:1", "`static:1` is out of range"),
        ("skew", "skews", "hot:0.1", "`hot:0.1` is not a pattern; accepted: uniform"),
        ("skew", "skews", "hot:0.1:1", "`hot:0.1:1` is out of range"),
        ("skew", "skews", "hot:0:0.5", "`hot:0:0.5` is out of range"),
        ("skew", "skews", "zipf:0.8,zipf:0.80", "`zipf:0.8` is named twice"),
        ("skew", "skews", "", "`` is not a pattern"),
        ("skew", "fill", "twice", "accepted: sequential, shuffled, none"),
        ("skew", "until", "bored", "accepted: written, steady"),
        ("skew", "drive_writes", "-1", "too small"),
        ("skew", "drive_writes", "inf", "not a finite number"),
        ("fill", "points", "0", "`0` is out of range; accepted: 1 to 100"),
        ("fill", "points", "50,half", "`half` is not a number"),
        ("fill", "points", "50,50.0", "named twice"),
        ("zones", "zones", "1x", "`1x` is not a point; accepted: auto, or OPENxSIZE"),
        ("zones", "zones", "0x1GiB", "out of range"),
        ("zones", "zones", "1x1KiB", "out of range"),
        ("zones", "zones", "1x1GB?", "accepted"),
        ("zones", "zones", "2x600MiB", "does not fit"),
        ("zones", "spare_factor", "1", "1 is too large; accepted: 0 to 0.99"),
        ("load", "seconds", 0.001, "0.001 is too small; accepted: 0, or from 0.1"),
        ("load", "rates", "10%,20%,10%", "`10%` is named twice"),
        ("load", "rates", "fast", "`fast` is not a rate; accepted: shares"),
        ("load", "rates", "0", "out of range"),
        ("load", "rates", "2000%", "out of range"),
        ("load", "probe", "0", "too small"),
        ("load", "seconds", "-1", "too small"),
    ],
)
def test_an_option_that_cannot_be_says_what_can(name, option, value, words):
    with pytest.raises((ConfigError, BrokenError)) as caught:
        run(name, drive(), **{option: value})
    assert option in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("stimulus", "path"),
    [
        (Stimulus(skew=Skew("zipf", 20.0)), "skew.value"),
        (Stimulus("sequential", skew=Skew("zipf", 1.0)), "skew"),
        (Stimulus(skew=Skew("static", 0.5), active_range=ActiveRange(1.0, 4 * MIB)), "skew"),
        (Stimulus(logs=Logs(5000)), "logs.zone_bytes"),
        (Stimulus(rate_per_s=-1.0), "rate_per_s"),
        (Stimulus(beside=(Stimulus("sequential"),)), "beside[0].pattern"),
    ],
)
def test_a_stimulus_that_cannot_be_is_refused_before_anything_is_done(stimulus, path):
    with pytest.raises(ConfigError) as caught:
        drive().run(stimulus, Limit(ios=10), seed=1)
    assert caught.value.path == path


def test_points_are_read_as_they_are_written():
    assert [one.name for one in zones.listed("1x1GiB, 2x512KiB")] == ["1 x 1024 MiB", "2 x 0.5 MiB"]
    assert zones.listed("auto") == []
    assert fill.shares("100,62.5") == [100.0, 62.5]
    assert [rate.per_s(1000) for rate in load.rates("50%,40k,7")] == [500, 40_000, 7]
    assert course.whole(5000) == 4096
