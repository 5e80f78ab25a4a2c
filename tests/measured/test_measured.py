"""Drives that others measured: the data, what was fitted to it, and a figure on a small drive.

The whole comparison is the suite `measured` of `validate`.
"""

from __future__ import annotations

from functools import cache

import pytest

import opennandlab as onl
from opennandlab.studies.validation import Case, Effort, Kind
from opennandlab.studies.validation.measured import (
    MICRON,
    SHORT,
    SOLIDIGM,
    TITLES,
    fills,
    loads,
    skews,
)
from opennandlab.studies.validation.suites import measured

# The times of a program unit and the shares of the space stay.
TINY = {MICRON: 44, SOLIDIGM: 72}


@cache
def cases() -> dict[str, Case]:
    return {case.name: case for case in measured.cases(Effort.FULL)}


def test_every_published_figure_is_a_case() -> None:
    kinds = {Kind.RATE, Kind.WAF, Kind.PERCENTILE, Kind.TAIL, Kind.DATA_SHEET}
    assert {case.kind for case in cases().values()} == kinds
    for drive, short in SHORT.items():
        expected = [cases()[f"{short}-{it.name}-mb-s"].expected_value for it in skews()]
        assert expected == [it.mb_s[drive] for it in skews()]
        for load in loads(drive):
            for key, microseconds in load.reads.items():
                case = cases()[f"{short}-load-{load.k_writes}-read-{key}"]
                assert case.expected_value == microseconds


def test_what_is_fitted_and_what_is_missing_is_said_of_cases_that_exist() -> None:
    missing = {name: lacks for lacks, names in measured.MISSES.items() for name in names}
    for name in (*measured.FITTED, *measured.CHOSEN, *missing):
        assert name in cases()
    for name, lacks in missing.items():
        case = cases()[name]
        assert case.miss is not None
        assert case.miss.mechanism == lacks
        assert name not in measured.FITTED


def test_rates_of_shortened_blocks_say_how_they_are_biased() -> None:
    """An erase takes as long for a tenth of the pages, so that every rate pays for it."""
    for name, case in cases().items():
        is_rate = case.quantity in {"MB/s", "writes/s"}
        assert ("erase times" in case.caution) == is_rate, name
    short = "264 of 2112 pages"
    assert cases()["7450-uniform-mb-s"].caution.startswith(short)
    pages = onl.load_device(MICRON)["nand.pages_per_block"]
    assert short == f"{pages // measured.SHRINK[MICRON]} of {pages} pages"


@pytest.mark.parametrize("drive", TITLES)
def test_at_most_five_keys_are_fitted_and_each_says_so(drive: str) -> None:
    short, device = SHORT[drive], onl.load_device(drive)
    fitted = {key for name, key in measured.FITTED.items() if name.startswith(short)}
    assert len(fitted) <= 5
    for key in fitted - {"host.command_cost_us"}:
        assert "itted" in device.origin(key), key
    assert "itted" in device.origin("host.command_cost_us.read")


@pytest.mark.parametrize("drive", TITLES)
def test_a_drive_with_shorter_blocks_keeps_its_shape(drive: str) -> None:
    whole = onl.load_device(drive)
    for shrink in (measured.SHRINK[drive], TINY[drive]):
        part = onl.load_device(measured.device(drive, shrink))
        for key in ("channels", "dies_per_channel", "planes_per_die", "blocks_per_plane", "timing"):
            assert whole[f"nand.{key}"] == part[f"nand.{key}"]
        shares = [it.effective["spare_factor"] for it in (whole, part)]
        assert shares[0] == pytest.approx(shares[1], rel=0.01)


def test_writes_to_a_part_of_the_drive_cost_what_was_measured() -> None:
    fill = fills()[3]
    run = measured.fill_run(MICRON, fill, TINY[MICRON])
    document = onl.benchmark(run.device, run.workload, seed=1).document
    assert document["metrics"]["waf"] == pytest.approx(fill.waf, rel=0.05)
    rate = document["metrics"]["throughput_mb_s"]["write"]
    # Short blocks: the erases of a victim weigh more than in the case of the suite.
    assert rate == pytest.approx(fill.mb_s, rel=0.20)


def test_reads_beside_writes_take_what_was_measured() -> None:
    load = loads(SOLIDIGM)[4]
    run = measured.load_run(SOLIDIGM, load, TINY[SOLIDIGM])
    workload = {**run.workload, "total": {"ios": 500_000}}
    document = onl.benchmark(run.device, workload, seed=1).document
    # Short blocks: the collection is urgent more often than in the case of the suite.
    for key in ("p50", "p99"):
        microseconds = measured.probe("read", key)([document])
        assert microseconds == pytest.approx(load.reads[key], rel=0.4), key
