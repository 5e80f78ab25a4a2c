"""The five-point rule against its golden vectors, and histograms against plain sorting."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opennandlab.stats.histogram import Histogram
from opennandlab.stats.steady import steady_state

# Worked by hand from the rule: name, values, mean, excursion, slope, slope excursion, verdict.
GOLDEN = [
    ("level", [1000] * 5, 1000, 0, 0, 0, "steady"),
    ("noise", [12040, 11870, 12310, 12105, 11960], 12057, 440, 7.5, 30, "steady"),
    ("spread of exactly 20 %", [1100, 900, 1000, 900, 1100], 1000, 200, 0, 0, "steady"),
    ("spread above", [1101, 900, 1000, 900, 1099], 1000, 201, -0.4, 1.6, "excursion"),
    ("slope of exactly 10 %", [950, 975, 1000, 1025, 1050], 1000, 100, 25, 100, "steady"),
    ("slope above", [948, 974, 1000, 1026, 1052], 1000, 104, 26, 104, "slope"),
    ("falling", [5300, 5200, 5050, 4900, 4770], 5044, 530, -136, 544, "slope"),
    ("ms", [0.0520, 0.0531, 0.0517, 0.0525, 0.0522], 0.0523, 0.0014, -2e-5, 8e-5, "steady"),
    ("rising ms", [0.0520, 0.0535, 0.0550, 0.0565, 0.0580], 0.055, 0.006, 0.0015, 0.006, "slope"),
]
DECAY = [5000, 3900, 3100, 2500, 2100, 1850, 1700, 1610, 1560, 1530, 1515, 1508]


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: row[0])
def test_golden_vectors(row):
    _, values, average, excursion, slope, slope_excursion, reason = row
    found = steady_state(values)
    assert found.reason == reason
    assert found.steady == (reason == "steady")
    measured = [found.average, found.excursion, found.slope, found.slope_excursion]
    assert measured == pytest.approx([average, excursion, slope, slope_excursion], rel=1e-9)
    assert found.intercept == pytest.approx(average - 2 * slope, rel=1e-9)
    assert found.excursion_allowed == pytest.approx(0.2 * average, rel=1e-12)
    assert found.slope_allowed == pytest.approx(0.1 * average, rel=1e-12)


def test_a_decay_is_steady_first_at_its_twelfth_round():
    verdicts = [steady_state(DECAY[:count]).steady for count in range(1, len(DECAY) + 1)]
    assert verdicts == [False] * 11 + [True]
    eleventh, twelfth = steady_state(DECAY[:11]), steady_state(DECAY)
    percent = [
        100 * value / verdict.average
        for verdict in (eleventh, twelfth)
        for value in (verdict.excursion, verdict.slope_excursion)
    ]
    assert percent == pytest.approx([11.687, 11.371, 6.604, 6.448], abs=5e-4)


def test_what_cannot_be_judged_is_not_steady():
    assert steady_state([1, 1, 1, 1]).reason == "insufficient"
    for values in ([0] * 5, [-1] * 5, [1, 1, math.nan, 1, 1], [1, 1, math.inf, 1, 1], [1e308] * 5):
        assert steady_state(values).reason == "invalid"


def test_only_the_last_five_rounds_count_and_only_their_size():
    assert steady_state([1e9, *DECAY[-5:]]) == steady_state(DECAY)
    # 0.1 is not a binary fraction; a spread of 20 % of it is one all the same.
    assert steady_state([0.11, 0.09, 0.1, 0.09, 0.11]).steady


@given(st.lists(st.floats(1e-3, 1e6), min_size=5, max_size=5))
def test_the_line_is_that_of_least_squares(values):
    slope, intercept = np.polyfit(range(5), values, 1)
    found = steady_state(values)
    scale = max(values)
    assert found.slope == pytest.approx(slope, abs=1e-9 * scale)
    assert found.intercept == pytest.approx(intercept, abs=1e-9 * scale)


@given(st.lists(st.integers(1, 10**10), min_size=1, max_size=300), st.integers(1, 299))
def test_percentiles_are_those_of_sorting(samples, cut):
    parts = [samples[:cut], samples[cut:]]
    merged = Histogram.merged([Histogram.of_bins((ns, 1) for ns in part) for part in parts])
    assert merged.count == len(samples)
    assert merged.mean_ns == pytest.approx(np.mean(samples))
    assert merged.max_ns == max(samples)
    for share in (0.5, 0.9, 0.99):
        found = merged.quantile_ns(share)
        if len(samples) * (1 - share) < 9.99:
            assert found is None
        else:
            rank = math.ceil(share * len(samples) - 1e-9)
            assert found == sorted(samples)[rank - 1]


def test_an_empty_histogram_has_no_figures():
    nothing = Histogram.merged([Histogram.empty(), Histogram.of_bins([])])
    assert set(nothing.percentiles_us().values()) == {None}
    assert Histogram.from_dict(nothing.to_dict()).count == 0
