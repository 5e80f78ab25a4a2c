"""Refresh, patrol reads and decoding time by the formulas, against sums and walks by hand."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from opennandlab.theory import (
    LayeredMinSum,
    PageCode,
    patrol_reads_per_s,
    patrol_wait_us,
    refresh_pages_per_s,
    refresh_share,
)


def test_everything_is_moved_once_per_age_limit_and_read_once_per_period() -> None:
    assert refresh_pages_per_s(1000, 0.5) * 0.5 * 86_400 == pytest.approx(1000)
    assert patrol_reads_per_s(1000, 0.5) * 0.5 * 86_400 == pytest.approx(1000)
    assert refresh_pages_per_s(0, 1.0) == 0.0


@pytest.mark.parametrize("load", [0.05, 0.5, 2.0])
def test_refresh_of_a_page_that_is_overwritten_at_random(load: float) -> None:
    """A page by itself: it is written again after exponential times, and moved at age 1."""
    draws = random.Random(3)  # noqa: S311 - a simulation
    writes, moves = 40_000, 0
    for _ in range(writes):
        moves += math.floor(draws.expovariate(load))
    assert moves / writes == pytest.approx(refresh_share(load), rel=0.03)


def test_light_writes_save_half_of_an_age_limit() -> None:
    assert refresh_share(1e-3) == pytest.approx(1e3 - 0.5, rel=1e-6)
    assert refresh_share(20.0) == pytest.approx(math.exp(-20.0), rel=1e-6)


def test_a_read_waits_for_half_of_a_patrol_read_that_it_meets() -> None:
    assert patrol_wait_us(60.0, 60.0) == 30.0
    assert patrol_wait_us(60.0, 600.0, 4) == pytest.approx(0.1 / 4 * 30.0)
    # No patrol to speak of: M/D/1 at a load of 0.3.
    alone = patrol_wait_us(60.0, 1e12, 1, 0.3 / 60e-6)
    assert alone == pytest.approx(0.3 * 60.0 / (2 * 0.7), rel=1e-6)
    # As much for each of two dies that share the host reads.
    assert patrol_wait_us(60.0, 1e12, 2, 2 * 0.3 / 60e-6) == pytest.approx(alone, rel=1e-6)


def test_errors_of_the_worst_codeword_by_enumeration() -> None:
    # Two codewords of 12 and one of 8 bits, which mend two errors.
    page = PageCode(page_bytes=2, data_bits=6, parity_bits=6, correctable=2)
    lengths = (12, 12, 10)
    assert page.codewords == 3
    rate = 0.03

    def probability(bits: int, errors: int) -> float:
        return math.comb(bits, errors) * rate**errors * (1 - rate) ** (bits - errors)

    mean = whole = 0.0
    for errors in itertools.product(range(3), repeat=3):
        share = math.prod(map(probability, lengths, errors))
        mean += share * max(errors)
        whole += share
    assert page.worst_errors_mean(rate) == pytest.approx(mean / whole, rel=1e-12)
    assert page.worst_errors_mean(0.0) == 0.0
    assert page.worst_errors_mean(1.0) == 2.0


def test_iterations_grow_with_errors_and_words_up_to_the_limit() -> None:
    code = LayeredMinSum(128, 16, 64)
    rates = (1e-6, 1e-4, 1e-3, 3e-3, 6e-3, 1e-2, 0.1)
    means = [code.iterations_mean(rate) for rate in rates]
    assert means == sorted(means)
    assert means[0] == pytest.approx(1.0, abs=1e-2)
    assert means[-1] == 20.0
    assert code.iterations_mean(3e-3) < code.iterations_mean(3e-3, words=16)
    assert code.iterations_mean(0.1, iterations_max=7) == 7.0
    shares = code.wrong_bits(3e-3, 20)
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] < 1e-9


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: refresh_pages_per_s(-1, 1.0), "live_pages is -1"),
        (lambda: refresh_pages_per_s(1, 0.0), "after_days is 0"),
        (lambda: refresh_share(0.0), "drive_writes_per_age is 0"),
        (lambda: patrol_reads_per_s(1, -1.0), "period_days is -1"),
        (lambda: patrol_wait_us(60.0, 59.0), "interval_us is 59"),
        (lambda: patrol_wait_us(60.0, 100.0, 0), "dies is 0"),
        (lambda: patrol_wait_us(60.0, 100.0, 1, 2e4), "iops is 20000"),
        (lambda: LayeredMinSum(0, 2, 1), "info_blocks is 0"),
        (lambda: LayeredMinSum(1, 1, 1), "rows is 1"),
        (lambda: LayeredMinSum(9, 3, 8).iterations_mean(0.0), "rber is 0"),
        (lambda: LayeredMinSum(9, 3, 8).iterations_mean(1e-3, words=0), "words is 0"),
        (lambda: LayeredMinSum(9, 3, 8).wrong_bits(1e-3, 0), "iterations is 0"),
    ],
)
def test_arguments_out_of_range_are_refused(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()
