"""Settings, defaults of the profiles, deviations, and the time bases."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from fake_target import FakeTarget
from opennandlab.base.errors import ConfigError
from opennandlab.core.config import load_device
from opennandlab.pts import STANDARD, TESTS, TUTORIAL, Settings, run_test
from opennandlab.pts.bench import declared
from opennandlab.pts.bench.plan import Plan, make_plan, seed_of
from opennandlab.pts.bench.time_base import CELL_RECLAIMS, NAMES, TimeBase
from opennandlab.stats.histogram import Histogram
from opennandlab.targets.base import Limit, Measurement, Requests, Stimulus
from opennandlab.targets.simulated import SimulatedTarget

GIB = 1 << 30
# The loads of cross stimulus recovery.
CROSS = [
    Stimulus(pattern, block_bytes=size, queue_depth=32)
    for pattern, size in (("sequential", 1 << 20), ("random", 8192), ("sequential", 1 << 20))
]


def plan(test: str = "iops", **settings: Any) -> Plan:
    return make_plan(TESTS[test], Settings(**settings), FakeTarget(32 * GIB))


def test_profiles_have_the_defaults_of_the_specification():
    enterprise = plan()
    assert (enterprise.threads, enterprise.queue_depth) == (4, 32)
    assert not enterprise.cache_enabled
    assert enterprise.active_range.share == 1.0
    client = plan(profile="C")
    assert (client.threads, client.queue_depth) == (2, 16)
    assert client.cache_enabled
    assert client.active_range.share == 0.75
    assert client.wipc_range.share == 0.75
    assert enterprise.deviations == client.deviations == ()


def test_client_1_1_preconditions_all_and_tests_8_gib_in_2048_segments():
    client = plan(profile="C", pts_version="1.1")
    assert client.active_range.amount_bytes == 8 * GIB
    assert client.active_range.segments == 2048
    assert client.wipc_range.amount_bytes is None
    assert client.wipc_range.share == 1.0
    assert client.range_bytes == 8 * GIB


def test_an_amount_that_does_not_fit_is_all_and_says_so():
    small = make_plan(TESTS["iops"], Settings(profile="C", pts_version="1.1"), FakeTarget(4 * GIB))
    assert small.active_range.amount_bytes is None
    assert any("more than there is" in text for text in small.deviations)


@pytest.mark.parametrize(
    ("test", "threads", "depth"),
    [("throughput", 1, 32), ("latency", 1, 1), ("xsr", 1, 32), ("dirth", 32, 32), ("wsat", 4, 32)],
)
def test_each_test_has_its_load(test, threads, depth):
    assert (plan(test).threads, plan(test).queue_depth) == (threads, depth)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"active_range_pct": 50}, "active range 50% (profile: 100%)"),
        ({"active_range_pct": 33.3}, "active range 33.3% (profile: 100%)"),
        ({"ar_amount_bytes": GIB}, "active range amount 1073741824 B (profile: all)"),
        ({"cache": "enabled"}, "write cache enabled (profile: disabled)"),
        ({"data": "file"}, "data pattern file (profile: random)"),
        ({"ss_max_rounds": 30}, "at most 30 rounds (standard: 25)"),
        ({"wipc_capacities": 1}, "preconditioning by 1 capacities (standard: 2)"),
    ],
)
def test_what_differs_from_the_profile_is_a_deviation(change, words):
    (found,) = plan(**change).deviations
    assert words in found


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"threads": 8}, "TC 8 / QD 32 (the operator's choice; recommended: TC 4 / QD 32)"),
        ({"oio": 2}, "2 outstanding requests in all (OIO throttle)"),
        ({"oio": 1}, "1 outstanding request in all (OIO throttle)"),
    ],
)
def test_threads_and_depth_are_the_choice_of_the_operator(change, words):
    assert plan(**change).deviations == ()
    assert plan(**change).choices == (words,)
    # The latency test is that of single requests, and demand that of 32 times 32.
    (told,) = plan("latency", queue_depth=2).deviations
    assert told == "TC 1 / QD 2 (profile: TC 1 / QD 1)"
    assert plan("dirth", **change).deviations


def test_fills_of_the_range_are_a_deviation_where_the_range_is_not_the_drive():
    text = "preconditioning counts fills of the active range (standard: of the user capacity)"
    assert text in plan(active_range_pct=50, wipc_base="range").deviations
    assert plan(wipc_base="range").deviations == ()


def test_asking_for_what_the_profile_has_is_no_deviation():
    same = plan(threads=4, queue_depth=32, cache="disabled", active_range_pct=100)
    assert same.deviations == ()


def test_oio_is_one_thread():
    throttled = plan("wsat", oio=8)
    assert (throttled.threads, throttled.queue_depth) == (1, 8)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"profile": "X"}, "profile"),
        ({"pts_version": "3"}, "pts"),
        ({"time_base": "quick"}, "time-base"),
        ({"ss_max_rounds": 4}, "ss-max-rounds"),
        ({"ss_max_rounds": 101}, "ss-max-rounds"),
        ({"active_range_pct": 0}, "active-range-pct"),
        ({"threads": 0}, "threads"),
        ({"queue_depth": 5000}, "queue-depth"),
        ({"wipc_capacities": -1}, "wipc-capacities"),
        ({"oio": 2, "threads": 4}, "oio"),
        ({"options": {"order": "nested"}}, "order"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(change, path):
    with pytest.raises(ConfigError) as refused:
        plan(**change)
    assert refused.value.path == path


@pytest.mark.parametrize(
    ("test", "options"),
    [
        ("dirth", {"order": "random"}),
        ("dirth", {"mid_points": 0}),
        ("xsr", {"random_kib": "much"}),
        ("wsat", {"hours": float("inf")}),
    ],
)
def test_options_of_a_test_are_checked(test, options):
    with pytest.raises(ConfigError):
        plan(test, options=options)


def test_saturation_lasts_24_hours_in_1_1_and_6_in_2_0():
    assert plan("wsat").number("hours") == 6
    assert plan("wsat", pts_version="1.1").number("hours") == 24
    assert plan("wsat", pts_version="1.1").deviations == ()


def test_scalability_needs_a_simulated_drive():
    target = FakeTarget()
    target.kind = "file"  # type: ignore[misc]
    with pytest.raises(ConfigError, match="needs a target of the kind sim"):
        make_plan(TESTS["scalability"], Settings(), target)


def test_seeds_are_hashes_not_neighbours():
    seeds = {
        seed_of(42, "iops", "round/", number, cell) for number in range(25) for cell in range(56)
    }
    assert len(seeds) == 25 * 56
    ordered = sorted(seeds)
    assert min(b - a for a, b in pairwise(ordered)) > 1
    # A golden value: another one would change every document.
    assert seed_of(42, "iops", "round/", 1, 0) == 24289934882998


def test_the_full_time_base_is_that_of_the_specification():
    full = TimeBase("full", is_virtual=True, capacity_bytes=256 * GIB)
    assert full.cell(Stimulus()) == full.cell(Stimulus(read_pct=100)) == Limit(seconds=60)
    assert full.gap(Stimulus()) == Limit(seconds=1800)
    assert full.minute() == Limit(seconds=60)
    assert full.gap_pieces == 30
    assert full.saturation_bytes(4.0) == 1024 * GIB
    assert full.saturation_s(6 * 3600) == 21600
    assert (full.idle_unit_s(), full.idle_loops) == (5.0, 360)
    assert full.cross_groups(CROSS) == [
        (480, Limit(seconds=60)),
        (360, Limit(seconds=60)),
        (480, Limit(seconds=60)),
    ]
    assert full.pre_write("round", Stimulus()) == Limit(seconds=300)
    assert full.pre_write("point", Stimulus()) == Limit(seconds=3600)
    assert full.histogram(600, Stimulus()) == Limit(seconds=600)
    assert full.wipc_capacities(2.0) == 2.0
    assert (full.consistency(), full.sample_s) == ((Limit(seconds=3600), 1.0), 1.0)
    assert full.deviations == []


def test_the_scaled_time_base_keeps_drive_fills():
    scaled = TimeBase("scaled", is_virtual=True, capacity_bytes=32 * GIB)
    limit = Limit(seconds=0.2, ios=2000, seconds_max=60, ramp_ratio=0.02)
    # What writes before have left to do is no part of a cell of reads.
    assert scaled.cell(Stimulus(read_pct=100)) == replace(limit, quiet_seconds=0.05)
    # What writes goes on until the drive has collected.
    assert scaled.cell(Stimulus(read_pct=95)) == replace(limit, reclaims=CELL_RECLAIMS)
    # Large random writes are no larger part of a round than in whole minutes; streams are alone.
    large = Stimulus(block_bytes=1 << 20, queue_depth=32)
    assert (scaled.cell(large).ios, scaled.cell(replace(large, pattern="sequential")).ios) == (
        250,
        2000,
    )
    # 1024 outstanding requests need more than 2000 to be measured.
    assert scaled.cell(Stimulus(threads=32, queue_depth=32)).ios == 4096
    assert scaled.gap(Stimulus()).bytes == 16 * GIB
    assert scaled.minute().bytes * 30 == pytest.approx(16 * GIB, rel=1e-4)
    assert scaled.saturation_bytes(4.0) == 320 * GIB
    assert scaled.saturation_s(3600) is None
    assert scaled.idle_unit_s() == 5 * 32 / 256
    assert scaled.idle_loops == 36
    groups = scaled.cross_groups(CROSS)
    assert [count for count, _ in groups] == [480, 360, 480]
    assert [round(count * limit.bytes / (32 * GIB), 3) for count, limit in groups] == [4, 3, 4]
    assert scaled.pre_write("round", Stimulus()).bytes == pytest.approx(0.1 * 32 * GIB, abs=4096)
    assert scaled.pre_write("point", Stimulus()).bytes == 32 * GIB


def test_writes_before_a_test_may_take_longer_where_time_is_virtual():
    scaled = TimeBase("scaled", is_virtual=True, capacity_bytes=GIB)
    assert scaled.precondition_rounds(None, 25) == 50
    assert scaled.precondition_rounds(30, 30) == 30
    assert TimeBase("full", is_virtual=True, capacity_bytes=GIB).precondition_rounds(None, 25) == 25
    assert TimeBase("scaled", is_virtual=False, capacity_bytes=GIB).precondition_rounds(
        None, 25
    ) == 25  # fmt: skip
    scaled.note_precondition_rounds(25, 25)
    assert scaled.deviations == []
    scaled.note_precondition_rounds(27, 25)
    assert scaled.deviations == ["rounds of preconditioning: 27 (standard: at most 25)"]


def test_a_sample_of_cross_stimulus_recovery_holds_its_queue():
    small = TimeBase("scaled", is_virtual=True, capacity_bytes=64 << 20)
    queue = 32 << 20
    groups = small.cross_groups(CROSS)
    # The smallest drives are filled more often than four times, in as many samples as a smoke has.
    assert groups[0] == groups[2] == (16, Limit(bytes=4 * queue))
    assert groups[1] == (192, Limit(bytes=4 * 32 * 8192))
    assert small.noted["group 1"] == "32 drive fills, not by time (standard: 8 h)"
    assert small.noted["group 2"] == "3 drive fills, not by time (standard: 6 h)"
    middle = TimeBase("scaled", is_virtual=True, capacity_bytes=4 * GIB).cross_groups(CROSS)
    assert middle[0] == (128, Limit(bytes=4 * queue))


def written_in(seconds, elapsed_s, written_bytes):
    none = Histogram.of_bins([])
    writes = Requests(1, written_bytes, none)
    return Measurement(seconds, elapsed_s, Requests(0, 0, none), writes, written_bytes)


@pytest.mark.parametrize(
    ("block_bytes", "elapsed_s", "rest"),
    [
        (64 << 10, 20.0, (4 * GIB, 40.0)),  # 100 MiB a second for the rest of its minute
        (4096, 60.0, (0, 0.0)),
        (4096, 1.0, (5 * GIB, 50.0)),  # no more than the range
        (512, 1.0, (5 * GIB // 8, 6.25)),  # of which each write moves a page
    ],
)
def test_the_rest_of_a_minute_is_written_behind_a_cell(block_bytes, elapsed_s, rest):
    scaled = TimeBase("scaled", is_virtual=True, capacity_bytes=50 * 10**9)
    measured = written_in(10.0, elapsed_s, GIB)
    asked = Stimulus("random", read_pct=35, block_bytes=block_bytes)
    assert scaled.rest_of_minute(asked, measured, 5 * GIB) == rest
    assert ("rest of the minute of random writes" in scaled.noted) == bool(rest[0])


@pytest.mark.parametrize(
    ("name", "is_virtual", "cell_s"),
    [("full", True, None), ("smoke", True, None), ("scaled", False, None), ("scaled", True, 1.0)],
)
def test_nothing_is_written_behind_a_cell_of_any_other_kind(name, is_virtual, cell_s):
    base = TimeBase(name, is_virtual, 50 * 10**9, cell_s=cell_s)
    asked = Stimulus("random", block_bytes=4096)
    found = base.rest_of_minute(asked, written_in(1.0, 1.0, GIB), 5 * GIB)
    assert (found, base.deviations) == ((0, 0.0), [])


def test_idle_units_cover_ten_block_reclaims():
    slow = TimeBase("scaled", is_virtual=True, capacity_bytes=1 * GIB, reclaim_s=0.2)
    assert slow.idle_unit_s() == 2.0


def test_steps_that_differ_from_the_specification_are_named_once_asked_for():
    scaled = TimeBase("scaled", is_virtual=True, capacity_bytes=32 * GIB)
    assert scaled.deviations == []
    scaled.cell(Stimulus())
    scaled.gap(Stimulus())
    assert scaled.deviations == [
        (
            "cells of writes: until 16 blocks are reclaimed in every pool, at most 60 s "
            "(standard: 60 s)"
        ),
        "gaps between samples: 0.5 drive fills (standard: 30 min)",
    ]
    # What the header says of cell and gap is no step that was taken.
    other = TimeBase("scaled", is_virtual=True, capacity_bytes=32 * GIB)
    other.describe()
    assert other.deviations == []


def test_cells_of_real_drives_are_minutes_in_proportion_to_256_gib():
    def cell(name, gib, stimulus=None):
        base = TimeBase(name, is_virtual=False, capacity_bytes=gib * GIB)
        return base.cell(stimulus or Stimulus())

    def least(seconds, ios):
        """Return a limit of so much time, and of four or two times the queue."""
        return Limit(seconds=pytest.approx(seconds, abs=0.001), ios=ios, seconds_max=60)

    assert cell("scaled", 64) == least(15, 4)
    assert cell("scaled", 1) == least(1, 4)
    assert cell("scaled", 1024) == cell("full", 1) == Limit(seconds=60)
    # A quarter of a second is 250 ticks of fio's clock; 1024 requests or 128 MiB need longer.
    assert cell("smoke", 1, Stimulus(threads=32, queue_depth=32)) == least(0.357, 2048)
    large = Stimulus(block_bytes=1 << 20, threads=4, queue_depth=32)
    assert cell("smoke", 1, large) == least(2.718, 256)


def test_a_smoke_of_a_real_drive_is_one_round():
    def rounds(name, asked=None, *, is_virtual=False):
        base = TimeBase(name, is_virtual, capacity_bytes=GIB)
        return base.rounds_max(asked, 25), base.deviations

    assert rounds("smoke") == (1, ["rounds: 1 (standard: until steady, at most 25)"])
    assert rounds("smoke", 7) == (7, [])
    assert rounds("smoke", is_virtual=True) == rounds("scaled") == (25, [])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_virtual", [True, False])
def test_the_user_sets_the_length_of_cells(name, is_virtual):
    base = TimeBase(name, is_virtual, 32 * GIB, cell_s=5.0)
    assert base.cell(Stimulus()) == base.cell(Stimulus(read_pct=100)) == Limit(seconds=5)
    assert base.deviations == ["cells: 5 s (standard: 60 s)"]


def test_latency_runs_in_full_where_time_is_virtual_and_the_drive_small():
    def base(test, capacity=32 * GIB, *, is_virtual=True, asked=None):
        target = FakeTarget(capacity)
        target.is_virtual = is_virtual  # type: ignore[misc]
        return make_plan(TESTS[test], Settings(time_base=asked), target).time.name

    assert (base("latency"), base("iops")) == ("full", "scaled")
    assert base("latency", 2000 * GIB) == "scaled"
    assert base("latency", asked="smoke") == "smoke"
    assert base("iops", is_virtual=False) == "full"


@pytest.mark.parametrize(
    ("test", "changes", "amount"),
    [
        ("iops", {}, 8 * GIB),
        ("latency", {}, 8 * GIB),
        ("throughput", {}, 8 * GIB),
        ("wsat", {}, None),
        ("iops", {"profile": "E"}, None),
        ("iops", {"ar_amount_bytes": 0}, None),
        ("iops", {"active_range_pct": 50.0}, None),
    ],
)
def test_a_preset_with_a_published_table_is_tested_as_it_was(test, changes, amount):
    """The plain command took 75 % of the drive, the tutorial 8 GiB: 14.7 % off on average."""
    target = FakeTarget(250 * 10**9)
    target.name, target.is_virtual = "sim:client_sata_2013", True
    found = make_plan(TESTS[test], Settings(**{"profile": "C", **changes}), target)
    assert found.active_range.amount_bytes == amount
    words = "8589934592 B in 2048 segments, as the published table client_2013_"
    assert any(words in text for text in found.deviations) == (amount is not None)
    if test == "iops" and amount:
        assert (found.threads, found.queue_depth, found.active_range.segments) == (2, 16, 2048)
    target.name = "sim:my_copy.yaml"
    other = make_plan(TESTS[test], Settings(**{"profile": "C", **changes}), target)
    assert other.active_range.amount_bytes in {None, 0}


def test_a_range_in_the_spare_area_has_no_collections_to_wait_for():
    small = TimeBase("scaled", is_virtual=True, capacity_bytes=GIB, is_range_small=True)
    for read_pct, seconds in ((0, 1.0), (65, 1.0), (100, 0.2)):
        limit = small.cell(Stimulus(read_pct=read_pct))
        assert (limit.seconds, limit.reclaims) == (seconds, 0)
    assert small.deviations[1].startswith("cells of writes: 1 s and 2000 requests or more (")
    whole = TimeBase("scaled", is_virtual=True, capacity_bytes=GIB)
    assert whole.cell(Stimulus()).reclaims == CELL_RECLAIMS


# Which of them take more than a minute in `full`; docs/performance.md has the times.
@pytest.mark.parametrize(
    ("device", "profile", "expected"),
    [
        ("tlc_standard", "E", "full"),
        ("nvme_gen4_tlc", "E", "full"),
        ("nvme_gen4_tlc", "C", "scaled"),
        ("pci_c_2009", "E", "full"),
        ("pci_c_2009", "C", "scaled"),
        ("qlc_pslc", "C", "full"),
        ("micron_7450_max_800gb", "E", "scaled"),
        ("mlc_enterprise_plp", "E", "full"),
    ],
)
def test_latency_is_scaled_where_a_buffer_answers_at_once(device, profile, expected):
    drive = load_device(device)
    target = FakeTarget(int(drive.effective["logical_bytes"]))
    target.config = drive.to_dict()
    settings = Settings(profile=profile)
    assert make_plan(TESTS["latency"], settings, target).time.name == expected


@pytest.mark.parametrize(
    ("device", "overrides"),
    [
        ("sata_b_2009", {}),
        ("pci_c_2009", {}),
        ("emmc_16gb", {}),
        ("tlc_standard", {}),
        ("pci_c_2009", {"host.command_cost_us": {"write": 50, "per_kib": {"write": 2}}}),
    ],
)
def test_a_new_drive_answers_writes_as_fast_as_its_file_says(device, overrides):
    drive = SimulatedTarget(device, overrides)
    found = drive.run(Stimulus(block_bytes=4096), Limit(ios=200), seed=1)
    least_s = declared.least_write_s(declared.config_of(drive), cache_enabled=True)
    assert 1 / found.iops == pytest.approx(least_s, rel=0.03)


@pytest.mark.parametrize("name", NAMES)
def test_every_limit_is_reached(name):
    base = TimeBase(name, is_virtual=True, capacity_bytes=64 << 20)
    limits = [
        base.cell(Stimulus()),
        base.cell(Stimulus(read_pct=100)),
        base.gap(Stimulus()),
        base.minute(),
        base.pre_write("round", Stimulus()),
        base.pre_write("point", Stimulus()),
        base.histogram(60, Stimulus()),
        base.consistency()[0],
        base.independence("random"),
        *(limit for _, limit in base.cross_groups(CROSS)),
    ]
    for limit in limits:
        assert limit.seconds > 0 or limit.ios > 0 or limit.bytes >= 4096


def test_the_registry_names_every_test_once():
    assert list(STANDARD) == ["iops", "throughput", "latency", "wsat", "hir", "xsr", "dirth", "ecw"]
    assert not set(STANDARD) & set(TUTORIAL)
    assert all(name == test.name for name, test in TESTS.items())


def test_the_ramp_of_a_simulated_cell_fills_its_queue():
    base = TimeBase("scaled", is_virtual=True, capacity_bytes=32 * GIB)
    cell = Limit(ios=2000, ramp_ratio=0.02)
    assert base.with_ramp(cell, Stimulus()) == cell
    assert base.with_ramp(cell, Stimulus(queue_depth=40)) == cell
    # 1960 requests count in any case.
    deep = base.with_ramp(cell, Stimulus(threads=4, queue_depth=32))
    assert (deep.ios, deep.ios * deep.ramp_ratio) == (2088, pytest.approx(128))
    # Bytes are not added to: drive fills are counted.
    fill = base.with_ramp(Limit(bytes=1 << 28), Stimulus(queue_depth=32, block_bytes=1 << 20))
    assert fill == Limit(bytes=1 << 28, ramp_ratio=0.125)
    assert base.with_ramp(Limit(bytes=1 << 20), Stimulus(queue_depth=512)).ramp_ratio == 0.5
    assert base.with_ramp(Limit(seconds=60), Stimulus(queue_depth=32)) == Limit(seconds=60)


@pytest.mark.parametrize(
    ("test", "changes", "expected"),
    [
        ("iops", {}, "full"),
        ("iops", {"wipc_capacities": 0.5}, "scaled"),
        ("wsat", {}, "full"),
        ("wsat", {"options": {"hours": 0.1}}, "scaled"),
        ("wsat", {"options": {"capacities": 8.0}}, "full"),
        # Left to the operator.
        ("iops", {"threads": 1, "queue_depth": 8}, "full"),
        ("iops", {"profile": "C", "threads": 1}, "full"),
        ("wsat", {"oio": 4}, "full"),
        # Fixed: cache, range and data of each profile, and the load of the latency test.
        ("iops", {"cache": "enabled"}, "partial"),
        ("iops", {"active_range_pct": 75}, "partial"),
        ("iops", {"data": "file"}, "partial"),
        ("iops", {"profile": "C", "cache": "disabled"}, "partial"),
        ("iops", {"profile": "C", "active_range_pct": 100}, "partial"),
        ("latency", {"queue_depth": 2}, "partial"),
    ],
)
def test_less_than_the_specification_is_not_conformance(test, changes, expected):
    found = run_test(TESTS[test], FakeTarget(), settings=Settings(time_base="full", **changes))
    assert found.header.conformance == expected


def test_the_header_reports_choices_and_where_settings_come_from():
    changes = {"profile": "C", "threads": 1}
    found = run_test(TESTS["wsat"], FakeTarget(), settings=Settings(**changes)).header
    assert (found.threads, found.queue_depth) == (1, 16)
    assert found.choices == ["TC 1 / QD 16 (the operator's choice; recommended: TC 2 / QD 16)"]
    assert found.ranges_from == (
        "ranges of published implementations: active range 75 %, write cache enabled, TC 1 / QD 16"
    )
    for test in ("hir", "xsr", "dirth", "ecw"):
        assert TESTS[test].client_from == TESTS["wsat"].client_from
    for test, profile in (("iops", "C"), ("throughput", "C"), ("latency", "C"), ("wsat", "E")):
        settings = Settings(profile=profile, time_base="smoke")
        plainly = run_test(TESTS[test], FakeTarget(), settings=settings).header
        assert plainly.choices is plainly.ranges_from is None


@pytest.mark.parametrize(
    ("version", "title"),
    [
        ("2.0.2", "Composite block size workload (CBW)"),
        ("1.1", "Enterprise composite workload (ECW)"),
    ],
)
def test_the_composite_workload_has_the_name_of_the_version(version, title):
    settings = Settings(time_base="smoke", ss_max_rounds=5, pts_version=version)
    assert run_test(TESTS["ecw"], FakeTarget(), settings=settings).title == title


def test_the_composite_load_of_write_saturation_is_written_alone():
    target = FakeTarget()
    settings = Settings(options={"workload": "cbw"})
    found = run_test(TESTS["wsat"], target, settings=settings)
    stimulus = target.asked[0][0]
    assert stimulus.read_pct == 0
    assert isinstance(stimulus.block_bytes, tuple)
    assert found.cells.rows[0].label == "RND CBW 0/100"


def test_a_length_of_cells_that_no_step_asks_for_is_a_warning():
    base = TimeBase("full", is_virtual=True, capacity_bytes=GIB, cell_s=2.0)
    assert (base.has_cells, base.describe().cell.seconds) == (False, 0)
    base.cell(Stimulus())
    assert (base.has_cells, base.describe().cell.seconds) == (True, 2)
    found = run_test(TESTS["xsr"], FakeTarget(), settings=Settings(cell_seconds=1.0))
    assert any("--cell-seconds changes nothing" in text for text in found.warnings)
