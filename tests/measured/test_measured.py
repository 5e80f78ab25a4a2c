"""Drives that others measured: the data, what was fitted to it, and a figure on a small drive.

The whole comparison is the suite `measured` of `validate`.
"""

from __future__ import annotations

from functools import cache

import pytest

import opennandlab as onl
from opennandlab.studies.validation import Case, Effort, Kind
from opennandlab.studies.validation.measured import (
    DRIVES,
    MICRON,
    PRO,
    SOLIDIGM,
    Drive,
    fills,
    loads,
    skews,
)
from opennandlab.studies.validation.suites import measured

IDS = [drive.short for drive in DRIVES]


@cache
def cases() -> dict[str, Case]:
    return {case.name: case for case in measured.cases(Effort.FULL)}


def test_every_published_figure_is_a_case() -> None:
    kinds = {Kind.RATE, Kind.WAF, Kind.STATE_WAF, Kind.EDGE, Kind.COUNT}
    kinds |= {Kind.PERCENTILE, Kind.TAIL, Kind.DATA_SHEET}
    assert {case.kind for case in cases().values()} == kinds
    for drive in DRIVES:
        for skew in skews(drive):
            assert cases()[f"{drive.short}-{skew.name}-mb-s"].expected_value == skew.mb_s
        for load in loads(drive):
            for (operation, key), microseconds in load.us.items():
                case = cases()[f"{drive.short}-load-{load.k_writes}-{operation}-{key}"]
                assert case.expected_value == microseconds


def test_no_case_has_a_goal_of_its_own() -> None:
    """A tolerance is the goal of the kind; a count of open zones is right within one."""
    for name, case in cases().items():
        assert case.tolerance is None or (case.kind is Kind.COUNT and case.tolerance == 1.0), name


def test_what_is_fitted_and_what_is_missing_is_said_of_cases_that_exist() -> None:
    missing = {name: lacks for lacks, names in measured.MISSES.items() for name in names}
    assert len(missing) == sum(map(len, measured.MISSES.values()))
    for name in (*measured.FITTED, *measured.CHOSEN, *missing):
        assert name in cases()
    for name, lacks in missing.items():
        case = cases()[name]
        assert case.miss is not None
        assert case.miss.mechanism == lacks
        low, high = case.accepted
        assert not low <= case.miss.error <= high, name


@pytest.mark.parametrize("drive", DRIVES, ids=IDS)
def test_at_most_five_keys_are_fitted_and_each_says_so(drive: Drive) -> None:
    device = onl.load_device(drive.preset)
    fitted = {key for name, key in measured.FITTED.items() if name.startswith(f"{drive.short}-")}
    assert len(fitted) <= 5
    for key in fitted - {"host.command_cost_us"}:
        assert "itted" in device.origin(key), key
    assert "itted" in device.origin("host.command_cost_us.read")


def test_the_third_drive_differs_in_its_capacity_alone() -> None:
    first, third = (measured.device(drive) for drive in (MICRON, PRO))
    assert first.replace(dict(PRO.changes)).to_dict() == third.to_dict()
    assert [key for key, _ in PRO.changes] == ["ftl.over_provisioning_pct"]
    # 960 GB by the sector count of the industry.
    sectors = 97_696_368 + 1_953_504 * (960 - 50)
    assert third.effective["logical_bytes"] == pytest.approx(512 * sectors, rel=1e-4)


@pytest.mark.parametrize("drive", DRIVES, ids=IDS)
def test_a_smaller_drive_keeps_its_shape(drive: Drive) -> None:
    whole = measured.device(drive)
    part = onl.load_device(measured.skew_run(drive, skews(drive)[0]).device)
    for key in ("channels", "dies_per_channel", "planes_per_die", "blocks_per_plane", "program"):
        assert whole[f"nand.{key}"] == part[f"nand.{key}"]
    assert part["nand.timing.t_erase_us"] * measured.SHRINK == whole["nand.timing.t_erase_us"]
    shares = [it.effective["spare_factor"] for it in (whole, part)]
    assert shares[0] == pytest.approx(shares[1], rel=0.01)


def test_two_classes_of_addresses_are_written_by_their_shares() -> None:
    (run,) = cases()["7450-hot-0.1-0.9-mb-s"].runs
    pattern = run.workload["pattern"]
    assert (pattern["kind"], pattern["fraction"], pattern["share"]) == ("hot_cold", 0.1, 0.9)


def test_writes_to_a_part_of_the_drive_cost_what_was_measured() -> None:
    fill = fills(MICRON)[3]
    run = measured.fill_run(MICRON, fill)
    document = onl.benchmark(run.device, run.workload, seed=1).document
    assert document["metrics"]["waf"] == pytest.approx(fill.waf, rel=0.03)
    rate = document["metrics"]["throughput_mb_s"]["write"]
    assert rate == pytest.approx(fill.mb_s, rel=0.15)


def test_reads_beside_writes_take_what_was_measured() -> None:
    load = loads(SOLIDIGM)[4]
    run = measured.load_run(SOLIDIGM, load)
    workload = {**run.workload, "total": {"ios": 500_000}}
    document = onl.benchmark(run.device, workload, seed=1).document
    for key in ("p50", "p99"):
        microseconds = measured.probe("read", key)([document])
        assert microseconds == pytest.approx(load.us["read", key], rel=0.25), key
