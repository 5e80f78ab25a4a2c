"""Write amplification: published and independently computed values, limits, and orders.

The numbers are facts with sources: evaluations of the formulas of Menon 1995, Bux & Iliadis 2010,
Desnoyers 2012/2014 and Van Houdt 2013 by another program, to four digits; and Xiang & Kurkoski 2012
(arXiv:1110.4245) for over-provisioning 0.3.
"""

from __future__ import annotations

import itertools
import math

import pytest

from opennandlab.theory import (
    Traffic,
    d_choices,
    d_choices_hot_cold,
    fifo,
    fifo_classes,
    fifo_zipf,
    greedy,
    greedy_level,
    lambert_w0,
    mapped_share,
    predict_waf,
    random_victim,
    spare_factor_effective,
    spare_factor_with_static,
    spare_factor_with_trim,
    two_pools,
)

SEVEN_PERCENT = 0.07 / 1.07
FOUR_DIGITS = 6e-4


@pytest.mark.parametrize(
    ("spare", "expected"),
    [
        (0.05, 10.17),
        (0.10, 5.179),
        (0.20, 2.693),
        (1 - 1 / 1.3, 2.364),
    ],
)
def test_fifo_values(spare: float, expected: float) -> None:
    assert fifo(spare) == pytest.approx(expected, rel=FOUR_DIGITS)


@pytest.mark.parametrize(
    ("block", "spare", "expected"),
    [
        (16, 0.05, 6.590),
        (128, 0.05, 9.460),
        (64, SEVEN_PERCENT, 7.010),
        (256, SEVEN_PERCENT, 7.597),
        (16, 0.10, 3.981),
        (128, 0.10, 4.992),
        (64, 0.15, 3.354),
        (256, 0.15, 3.476),
        (16, 0.20, 2.361),
        (128, 0.20, 2.645),
        (64, 0.28, 1.942),
        (256, 0.28, 1.979),
        (256, 1 - 1 / 1.3, 2.346),
    ],
)
def test_greedy_values(block: int, spare: float, expected: float) -> None:
    assert greedy(block, spare) == pytest.approx(expected, rel=FOUR_DIGITS)


@pytest.mark.parametrize(
    ("spare", "two", "ten"),
    [
        (0.05, 13.27, 9.284),
        (SEVEN_PERCENT, 10.28, 7.323),
        (0.10, 6.852, 5.000),
        (0.15, 4.647, 3.464),
        (0.20, 3.533, 2.675),
        (0.28, 2.573, 1.993),
    ],
)
def test_d_choices_values(spare: float, two: float, ten: float) -> None:
    assert d_choices(64, spare, 2) == pytest.approx(two, rel=FOUR_DIGITS)
    assert d_choices(64, spare, 10) == pytest.approx(ten, rel=FOUR_DIGITS)


@pytest.mark.parametrize(("reserve", "expected"), [(1, 7.699), (8, 8.505), (32, 13.61)])
def test_the_reserve_is_no_spare_space(reserve: int, expected: float) -> None:
    spare = spare_factor_effective(1024 * 256, 244_994, reserve, 256)
    assert greedy(256, spare) == pytest.approx(expected, rel=FOUR_DIGITS)


@pytest.mark.parametrize("block", [1, 2, 16, 64, 256, 2048])
@pytest.mark.parametrize("spare", [0.005, 0.0654, 0.2, 0.5, 0.9])
def test_more_choice_is_never_worse(block: int, spare: float) -> None:
    values = [greedy(block, spare)]
    values += [d_choices(block, spare, d) for d in (1e6, 1000, 30, 10, 3, 2, 1.5, 1)]
    values.append(random_victim(spare))
    assert all(a <= b * (1 + 1e-9) for a, b in itertools.pairwise(values)), values
    assert values[0] >= 1.0
    assert values[0] <= fifo(spare) * (1 + 1e-9)


@pytest.mark.parametrize("block", [1, 2, 16, 64, 256, 2048])
@pytest.mark.parametrize("spare", [0.005, 0.0654, 0.2, 0.9])
def test_d_choices_joins_random_and_greedy(block: int, spare: float) -> None:
    assert d_choices(block, spare, 1) == pytest.approx(random_victim(spare), rel=1e-9)
    assert d_choices(block, spare, 1e8) == pytest.approx(greedy(block, spare), rel=1e-5)


@pytest.mark.parametrize("spare", [0.0654, 0.1, 0.2, 0.28])
def test_fifo_beats_three_choices_from_64_pages_on(spare: float) -> None:
    for block in (64, 256):
        assert fifo(spare) < d_choices(block, spare, 3)


def test_greedy_tends_to_fifo_in_large_blocks() -> None:
    assert greedy(1 << 16, 0.1) == pytest.approx(fifo(0.1), rel=1e-3)


def test_greedy_meets_empty_blocks_when_there_is_room() -> None:
    # rho H_b <= 1: b = 16, H = 3.3807.
    assert greedy(16, 1 - 0.999 / 3.380729) == 1.0
    assert greedy(16, 1 - 1.001 / 3.380729) > 1.0
    level, intensity, waiting = greedy_level(64, 0.1)
    assert 0.0 <= waiting <= intensity / level


def test_fifo_solves_its_equation() -> None:
    for spare in (1e-5, 1e-3, 0.1, 0.5, 0.99):
        waf, ratio = fifo(spare), 1 / (1 - spare)
        assert 1 / waf == pytest.approx(-math.expm1(-ratio / waf), rel=1e-9)
    # Small spare factors: A = 1/(2 S) + 1/6 + ...
    assert fifo(1e-6) == pytest.approx(500_000.17, rel=1e-8)


def test_lambert_w_inverts() -> None:
    for w in (-0.999, -0.5, -1e-3, 0.0, 1e-6, 0.5, 3.0, 50.0):
        assert lambert_w0(w * math.exp(w)) == pytest.approx(w, rel=1e-6, abs=1e-15)
    assert lambert_w0(-1 / math.e) == -1.0
    with pytest.raises(ValueError, match="argument"):
        lambert_w0(-0.4)


@pytest.mark.parametrize(
    ("spare", "one_log", "ten_choices", "pools"),
    [(SEVEN_PERCENT, 8.182, 7.665, 4.732), (0.20, 3.034, 3.003, 1.936)],
)
def test_hot_and_cold_values(
    spare: float, one_log: float, ten_choices: float, pools: float
) -> None:
    assert fifo_classes([0.2, 0.8], [0.8, 0.2], spare) == pytest.approx(one_log, rel=FOUR_DIGITS)
    value = d_choices_hot_cold(64, spare, 10, 0.2, 0.8)
    assert value == pytest.approx(ten_choices, rel=FOUR_DIGITS)
    split = two_pools(lambda own: greedy(64, own), spare, 0.2, 0.8)
    assert split.waf == pytest.approx(pools, rel=FOUR_DIGITS)
    # The hot fifth of the pages wants about half of the spare space.
    assert 0.45 < split.hot_spare_share < 0.55


def test_many_choices_in_one_log_match_simulated_greedy() -> None:
    # Simulated with 16384 blocks: 7.403 and 2.954.
    assert d_choices_hot_cold(64, SEVEN_PERCENT, 1e5, 0.2, 0.8) == pytest.approx(7.403, rel=3e-3)
    assert d_choices_hot_cold(64, 0.20, 1e5, 0.2, 0.8) == pytest.approx(2.954, rel=3e-3)


@pytest.mark.parametrize("block", [1, 4, 32])
@pytest.mark.parametrize("d", [1, 2, 10])
def test_equal_heat_is_uniform(block: int, d: int) -> None:
    uniform = d_choices(block, 0.15, d)
    assert d_choices_hot_cold(block, 0.15, d, 0.3, 0.3) == pytest.approx(uniform, rel=1e-6)
    assert fifo_classes([0.3, 0.7], [0.3, 0.7], 0.15) == pytest.approx(fifo(0.15), rel=1e-9)


def test_skew_makes_one_log_worse_and_two_pools_better() -> None:
    uniform = d_choices(32, 0.1, 10)
    assert d_choices_hot_cold(32, 0.1, 10, 0.2, 0.8) > uniform
    assert d_choices_hot_cold(32, 0.1, 10, 0.8, 0.2) > uniform
    pools = two_pools(lambda spare: d_choices(32, spare, 10), 0.1, 0.2, 0.8)
    assert pools.waf < uniform


def test_swapping_the_classes_changes_nothing() -> None:
    one = d_choices_hot_cold(16, 0.2, 5, 0.1, 0.9)
    other = d_choices_hot_cold(16, 0.2, 5, 0.9, 0.1)
    assert one == pytest.approx(other, rel=1e-6)


def test_zipf_is_between_uniform_and_static() -> None:
    values = [fifo_zipf(5000, theta, 0.1) for theta in (0.0, 0.5, 0.99, 1.5)]
    assert values[0] == pytest.approx(fifo(0.1), rel=1e-9)
    assert values == sorted(values)


def test_static_pages() -> None:
    assert spare_factor_with_static(0.1, 0.0) == pytest.approx(0.1)
    # In a circular log static pages are copied, and cost: they are the limit of a cold class.
    frozen = fifo_classes([0.5, 0.5], [1.0, 0.0], 0.1)
    nearly = fifo_classes([0.5, 0.5], [1.0 - 1e-9, 1e-9], 0.1)
    assert frozen == pytest.approx(nearly, rel=1e-6)
    assert frozen > fifo(0.1)


@pytest.mark.parametrize(
    ("share", "spare", "greedy_value", "fifo_value"),
    [(0.1, 0.1693, 3.013, 3.142), (0.3, 0.4660, 1.300, 1.319)],
)
def test_trim_values(share: float, spare: float, greedy_value: float, fifo_value: float) -> None:
    value = spare_factor_with_trim(SEVEN_PERCENT, share, "mapped")
    assert value == pytest.approx(spare, rel=FOUR_DIGITS)
    assert greedy(64, value) == pytest.approx(greedy_value, rel=FOUR_DIGITS)
    assert fifo(value) == pytest.approx(fifo_value, rel=FOUR_DIGITS)


def test_mapped_share_limits() -> None:
    assert mapped_share(0.0, "any") == mapped_share(0.0, "mapped") == 1.0
    assert mapped_share(0.25, "any") == 0.75
    with pytest.raises(ValueError, match=r"less than 0\.5"):
        mapped_share(0.5, "mapped")
    with pytest.raises(ValueError, match="accepted: any, mapped"):
        mapped_share(0.1, "all")


def test_predict_picks_the_formula() -> None:
    hot = Traffic("hot_cold", fraction=0.2, share=0.8)
    assert predict_waf("greedy", None, 64, 0.1) == greedy(64, 0.1)
    assert predict_waf("fifo", {}, 64, 0.1) == fifo(0.1)
    assert predict_waf("random", None, 64, 0.1) == random_victim(0.1)
    assert predict_waf("d_choices", None, 64, 0.1) == d_choices(64, 0.1, 10)
    assert predict_waf("fifo", None, 64, 0.2, hot) == pytest.approx(3.034, rel=FOUR_DIGITS)
    assert predict_waf("random", None, 64, 0.2, hot) == 5.0
    trimmed = Traffic(trim_share=0.1, trim_target="mapped")
    assert predict_waf("greedy", None, 64, SEVEN_PERCENT, trimmed) == pytest.approx(3.013, rel=1e-3)
    zipf = Traffic("zipf", logical_pages=1000)
    assert predict_waf("fifo", None, 64, 0.1, zipf) == fifo_zipf(1000, 0.99, 0.1)
    static = Traffic(static_share=0.5)
    reduced = greedy(64, spare_factor_with_static(0.1, 0.5))
    assert predict_waf("greedy", None, 64, 0.1, static) == reduced
    apart = Traffic(frontiers="host_gc")
    assert predict_waf("greedy", None, 64, 0.1, apart) == greedy(64, 0.1)


@pytest.mark.parametrize(
    ("policy", "traffic"),
    [
        ("cost_benefit", Traffic()),
        ("windowed_greedy", Traffic()),
        ("greedy", Traffic("hot_cold", frontiers="host_gc")),
        ("greedy", Traffic("zipf", logical_pages=1000)),
        ("fifo", Traffic("zipf")),
        ("d_choices", Traffic(static_share=0.5)),
        ("greedy", Traffic("hot_cold", trim_share=0.1)),
    ],
)
def test_predict_says_when_nobody_knows(policy: str, traffic: Traffic) -> None:
    assert predict_waf(policy, None, 64, 0.1, traffic) is None


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1, 1.5, math.nan, math.inf])
def test_spare_factors_out_of_range_are_refused(bad: float) -> None:
    for formula in (
        random_victim,
        fifo,
        lambda spare: greedy(64, spare),
        lambda spare: d_choices(64, spare, 2),
        lambda spare: d_choices_hot_cold(64, spare, 2, 0.2, 0.8),
        lambda spare: predict_waf("cost_benefit", None, 64, spare),
    ):
        with pytest.raises(ValueError, match="spare_factor"):
            formula(bad)


def test_other_bad_arguments_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="pages_per_block is 0"):
        greedy(0, 0.1)
    with pytest.raises(ValueError, match=r"pages_per_block is 64\.0"):
        greedy(64.0, 0.1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"choices is 0\.5"):
        d_choices(64, 0.1, 0.5)
    with pytest.raises(ValueError, match="policy is 'gredy'"):
        predict_waf("gredy", None, 64, 0.1)
    with pytest.raises(ValueError, match="d is True"):
        predict_waf("d_choices", {"d": True}, 64, 0.1)
    with pytest.raises(ValueError, match="do not fit"):
        spare_factor_effective(1000, 990, 1, 10)
    with pytest.raises(ValueError, match="sums to"):
        fifo_classes([0.5, 0.6], [0.5, 0.5], 0.1)
    with pytest.raises(ValueError, match="classes"):
        fifo_classes([0.5, 0.5], [1.0], 0.1)
    with pytest.raises(ValueError, match="pattern is 'hot'"):
        Traffic("hot")
