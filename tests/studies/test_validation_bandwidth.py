"""The bandwidth suite as data: an ideal drive, which obeys the formula, passes with no error."""

from __future__ import annotations

import math
from typing import Any

import pytest

from opennandlab.studies.validation import Effort, Kind, Verdict, run_cases, select_cases
from opennandlab.studies.validation.suites.bandwidth import Point
from opennandlab.theory.bandwidth import TUTORIAL_VARIANTS


def ideal_drive(device: dict[str, Any], workload: dict[str, Any], _: int) -> dict[str, Any]:
    """Answer from the device file alone: pages per second of dies that never wait for a channel."""
    nand = device["nand"]
    times, page = nand["timing"], nand["page_size_bytes"]
    size = workload["block_size_bytes"]
    transfer_us = page / times["bus_mt_s"]
    pages = math.ceil(size / page)
    read_us = times["t_read_us"] + transfer_us
    erase_us = times["t_erase_us"] / nand["pages_per_block"]
    write_us = times["t_program_us"] + transfer_us + erase_us
    share = workload["read_pct"] / 100.0
    dies = nand["channels"] * nand["dies_per_channel"]
    mean_us = share * read_us + (1.0 - share) * write_us
    total = min(dies * page / mean_us, nand["channels"] * times["bus_mt_s"]) * size / (pages * page)
    return {
        "metrics": {
            "throughput_mb_s": {"total": total},
            "programs": {"host": 64 * nand["pages_per_block"], "gc": 0},
            "erases": {"gc": 64},
        },
        "checks": {"passed": True},
    }


@pytest.mark.parametrize("effort", list(Effort))
def test_an_ideal_drive_passes(effort: Effort) -> None:
    rows = list(run_cases(select_cases(["bandwidth"], "*", effort), ideal_drive, threads=1))
    assert [row.case.name for row in rows if row.verdict is not Verdict.PASSED] == []
    formulas = [row for row in rows if row.case.kind is Kind.FORMULA]
    assert max(abs(row.error) for row in formulas) < 1e-9


def test_a_drive_that_forgets_erases_fails() -> None:
    def careless(device: dict[str, Any], workload: dict[str, Any], seed: int) -> dict[str, Any]:
        times = {**device["nand"]["timing"], "t_erase_us": 0.0}
        nand = {**device["nand"], "timing": times}
        return ideal_drive({**device, "nand": nand}, workload, seed)

    cases = select_cases(["bandwidth"], "*-0-100", Effort.FULL)
    rows = list(run_cases(cases, careless, threads=1))
    assert len(rows) > 18
    assert {row.verdict for row in rows} == {Verdict.FAILED}


def test_every_die_count_of_the_tutorial_is_measured() -> None:
    names = {case.name for case in select_cases(["bandwidth"], "*", Effort.FULL)}
    for variant in ("SLC-n64", "MLC-n64", "MLC-n128"):
        for dies in (1, 2, 4, 8, 16, 32):
            for mix in ("100-0", "75-25", "50-50", "25-75", "0-100", "rms"):
                assert f"{variant}-N{dies}-{mix}" in names


def test_points_refuse_dies_that_do_not_fill_their_channels() -> None:
    point = Point(TUTORIAL_VARIANTS["SLC n=64"], dies=9, read_share=1.0, channels=2)
    with pytest.raises(ValueError, match="a multiple of the 2 channels"):
        point.run()
