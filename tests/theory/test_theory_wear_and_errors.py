"""Wear, life and bit errors: values from the binomial and Weibull formulas, computed apart.

The binomial tail is compared with sums of whole numbers; the four points of the wear curve are
those of the OpenNANDLab 2.0 benchmark page.
"""

from __future__ import annotations

import csv
import itertools
import math
import os
from fractions import Fraction
from pathlib import Path

import pytest

from opennandlab.theory import (
    PageCode,
    WeibullRber,
    codeword_failure,
    corrected_bits_mean,
    drive_writes_per_day,
    lifetime_days,
    log_codeword_failure,
    mean_erases,
    meets_class,
    page_failure,
    rber_for_failure,
    static_share_stddev,
    tbw_bytes,
    uber,
    variance_to_mean_greedy,
    variance_to_mean_random,
)

FOUR_DIGITS = 6e-4


def test_spread_of_erase_counts() -> None:
    # Simulated: mean 216, standard deviation 3.9 to 4.1, so 0.070 to 0.078.
    assert variance_to_mean_greedy(64, 0.1) == pytest.approx(0.072, abs=6e-4)
    assert variance_to_mean_random() == 1.0
    ratios = [variance_to_mean_greedy(64, spare) for spare in (0.05, 0.1, 0.2, 0.4)]
    assert ratios == sorted(ratios, reverse=True)
    assert variance_to_mean_greedy(1, 0.5) == 1.0


def test_erases_follow_from_pages() -> None:
    assert mean_erases(50, 4.8213, 0.1) == pytest.approx(216.96, rel=1e-4)
    assert static_share_stddev(200, 0.5) == 100.0
    assert static_share_stddev(200, 0.0) == 0.0


def test_life_of_a_drive() -> None:
    tbw = tbw_bytes(1.024e12, 3000, 2.0)
    assert tbw == pytest.approx(1536e12)
    assert tbw_bytes(1.024e12, 3000, 2.0, wear_efficiency=0.5) == pytest.approx(768e12)
    assert drive_writes_per_day(tbw, 1e12, 5) == pytest.approx(1536 / 1825)
    assert lifetime_days(tbw, 3e12) == pytest.approx(512)
    assert meets_class(1e-15, "client")
    assert not meets_class(1e-15, "enterprise")
    with pytest.raises(ValueError, match=r"waf is 0\.5"):
        tbw_bytes(1e12, 3000, 0.5)
    with pytest.raises(ValueError, match="accepted: client, enterprise"):
        meets_class(1e-15, "consumer")


@pytest.mark.parametrize(
    ("cycles", "rber"), [(0, 1.00e-8), (500, 4.12e-6), (1500, 3.24e-4), (3000, 9.87e-4)]
)
def test_weibull_curve_meets_its_points(cycles: int, rber: float) -> None:
    assert WeibullRber().at(cycles) == pytest.approx(rber, rel=1e-4)


def test_weibull_curve_is_monotone_and_bounded() -> None:
    curve = WeibullRber()
    values = [curve.at(cycles) for cycles in range(0, 10_000, 100)]
    assert all(a <= b for a, b in itertools.pairwise(values))
    assert values[-1] <= curve.ceiling
    with pytest.raises(ValueError, match="pe_cycles is -1"):
        curve.at(-1)
    with pytest.raises(ValueError, match="above ceiling"):
        WeibullRber(floor=1e-3, ceiling=1e-4)


@pytest.mark.parametrize(
    ("bits", "t", "rber", "expected"),
    [
        (255, 4, 1e-4, 8.46e-11),
        (255, 4, 3.24e-4, 2.88e-8),
        (255, 4, 1e-3, 7.017e-6),
        (255, 4, 2e-3, 1.826e-4),
        (255, 4, 5e-3, 9.664e-3),
        (8752, 40, 1e-3, 2.380e-15),
        (8752, 40, 2.5e-3, 1.642e-4),
    ],
)
def test_codeword_failure_values(bits: int, t: int, rber: float, expected: float) -> None:
    assert codeword_failure(bits, t, rber) == pytest.approx(expected, rel=1.5e-3)


def exact_tail(bits: int, t: int, rate: Fraction) -> Fraction:
    """Sum the binomial distribution in whole numbers."""
    return sum(
        (math.comb(bits, k) * rate**k * (1 - rate) ** (bits - k) for k in range(t + 1, bits + 1)),
        Fraction(0),
    )


@pytest.mark.parametrize("bits", [1, 2, 31, 63])
@pytest.mark.parametrize("t", [0, 1, 5])
@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2)])
def test_tail_against_whole_numbers(bits: int, t: int, rate: Fraction) -> None:
    exact = exact_tail(bits, t, rate)
    assert codeword_failure(bits, t, float(rate)) == pytest.approx(float(exact), rel=1e-11)
    mended = sum(
        k * math.comb(bits, k) * rate**k * (1 - rate) ** (bits - k) for k in range(min(t, bits) + 1)
    )
    assert corrected_bits_mean(bits, t, float(rate)) == pytest.approx(float(mended), rel=1e-11)


def test_tail_limits() -> None:
    assert codeword_failure(255, 255, 0.4) == 0.0
    assert codeword_failure(255, 4, 0.0) == 0.0
    assert codeword_failure(255, 4, 1.0) == 1.0
    assert codeword_failure(255, 4, 0.5) == pytest.approx(1.0)
    # Far below the smallest float, still exact in the logarithm: n p^(t+1) / (t+1)! and so on.
    assert log_codeword_failure(10, 9, 1e-100) == pytest.approx(10 * math.log(1e-100))
    values = [codeword_failure(16640, 110, 10**exponent) for exponent in (-4, -3.5, -3, -2.5, -2)]
    assert values == sorted(values)


@pytest.mark.parametrize(
    ("bits", "t", "expected"), [(2047, 29, 7.78e-3), (576, 9, 5.17e-3), (16640, 110, 4.89e-3)]
)
def test_rber_at_one_failure_in_a_thousand(bits: int, t: int, expected: float) -> None:
    value = rber_for_failure(bits, t, 1e-3)
    assert value == pytest.approx(expected, rel=1e-3)
    assert codeword_failure(bits, t, value) == pytest.approx(1e-3, rel=1e-9)


def test_page_of_many_codewords() -> None:
    page = PageCode(4096, 223, 32, 4)
    assert page.codewords == 147
    # The last codeword holds 210 of 223 data bits: 146.77 codewords' worth of failures.
    assert page.failure(1e-4) == pytest.approx(1.241584e-8, rel=1e-6)
    assert page.failure(1e-3) < page_failure(codeword_failure(255, 4, 1e-3), 147)
    assert page.uber(1e-4) == pytest.approx(uber(codeword_failure(255, 4, 1e-4), 223), rel=2e-3)
    bits = 8 * 4096 + 147 * 32
    assert page.corrected_bits_mean(1e-5) == pytest.approx(bits * 1e-5, rel=1e-9)
    assert PageCode(4096, 4096, 104, 8).failure(5e-3) == pytest.approx(1.0)
    assert page_failure(1.0, 3) == 1.0


def test_against_the_table_of_failures() -> None:
    # A table computed apart, when it lies at hand: its folder is named in this variable.
    folder = os.environ.get("OPENNANDLAB_REFERENCE", "")
    path = Path(folder, "ecc", "bch", "analytic_failure.csv")
    if not folder or not path.is_file():
        pytest.skip("no table: set OPENNANDLAB_REFERENCE to the folder that holds ecc/bch")
    with path.open(newline="", encoding="ascii") as lines:
        for row in csv.DictReader(lines):
            bits, t, data = int(row["n"]), int(row["t"]), int(row["data_bits"])
            rber = float(row["rber"])
            expected = float(row["p_fail_codeword"])
            assert codeword_failure(bits, t, rber) == pytest.approx(expected, rel=1e-6), row
            page = PageCode(4096, data, bits - data, t)
            expected = float(row["p_fail_4KiB"])
            assert page.failure(rber) == pytest.approx(expected, rel=1e-6), row
