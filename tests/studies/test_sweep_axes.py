"""What is varied: axes as they are typed, combinations, seeds and their rule."""

from __future__ import annotations

import math
import statistics
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opennandlab.base.errors import ConfigError
from opennandlab.stats.groups import grouped
from opennandlab.stats.student import half_width, quantile, within
from opennandlab.studies.sweeps.axes import Axis, combinations, label
from opennandlab.studies.sweeps.runner import Row
from opennandlab.studies.sweeps.seeds import Seeds

# Quantiles of Student's distribution, two-sided (W. S. Gosset; any table).
TABLE = {(0.95, 1): 12.706, (0.95, 2): 4.303, (0.95, 5): 2.571, (0.95, 10): 2.228,
         (0.95, 29): 2.045, (0.99, 1): 63.657, (0.99, 4): 4.604, (0.99, 30): 2.750,
         (0.90, 3): 2.353, (0.90, 120): 1.658}  # fmt: skip


@pytest.mark.parametrize(("text", "key", "values"), [
    ("ftl.gc_policy=greedy,fifo", "ftl.gc_policy", ("greedy", "fifo")),
    ("nand.channels=1, 2,4", "nand.channels", (1, 2, 4)),
    ("x=0.1:0.3:3", "x", (0.1, 0.2, 0.3)),
    ("nand.blocks=10:40:4", "nand.blocks", (10, 20, 30, 40)),
    ("x=1e-4:1e-2:3:log", "x", (1e-4, 1e-3, 1e-2)),
    ("x=4:1:4", "x", (4, 3, 2, 1)),
    ("ftl.gc_policy={kind: d_choices, d: 2},fifo", "ftl.gc_policy",
     ({"kind": "d_choices", "d": 2}, "fifo")),
    ("policy=mine:second_chance", "policy", ("mine:second_chance",)),
    ("flag=true,false", "flag", (True, False)),
])  # fmt: skip
def test_axes_are_read_as_they_are_typed(text, key, values):
    axis = Axis.parse(text)
    assert (axis.key, axis.values) == (key, values)


@pytest.mark.parametrize("text", [
    "ftl.gc_policy", "=1,2", "a..b=1", "x=", "x=1:2:1", "x=1:1:5", "x=0:1:5:log", "x=1,1",
    "x=1,,2", "x=[1", "x=1:2:10000000", "x=0.1:0.4",
])  # fmt: skip
def test_what_is_no_axis_is_refused(text):
    with pytest.raises(ConfigError):
        Axis.parse(text)


@given(
    first=st.floats(1e-6, 1e6), ratio=st.floats(1.01, 1e3), count=st.integers(2, 40),
    is_log=st.booleans(),
)  # fmt: skip
def test_ranges_end_where_they_are_told_and_rise(first, ratio, count, is_log):
    last = first * ratio
    values = Axis.parse(f"x={first!r}:{last!r}:{count}" + ":log" * is_log).values
    assert len(values) == count
    assert values[0] == pytest.approx(first, rel=1e-11)
    assert values[-1] == pytest.approx(last, rel=1e-11)
    assert all(one < other for one, other in pairwise(values))


@given(st.lists(st.lists(st.integers(), min_size=1, max_size=4, unique=True), max_size=4))
def test_combinations_are_the_product_in_order(lists):
    axes = [Axis(f"k{place}", tuple(values)) for place, values in enumerate(lists)]
    found = combinations(axes)
    assert len(found) == math.prod(map(len, lists))
    assert len({tuple(row.items()) for row in found}) == len(found)
    if lists:
        # The last one varies fastest.
        assert [row[axes[-1].key] for row in found[: len(lists[-1])]] == lists[-1]


def test_rows_of_a_list_stand_beside_the_grid():
    rows = [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    assert combinations([Axis("c", (5, 6))], rows) == [
        {"a": 1, "b": 2, "c": 5}, {"a": 1, "b": 2, "c": 6},
        {"a": 3, "b": 4, "c": 5}, {"a": 3, "b": 4, "c": 6},
    ]  # fmt: skip
    with pytest.raises(ConfigError, match="twice"):
        combinations([Axis("a", (5,))], rows)
    with pytest.raises(ConfigError, match="given twice"):
        combinations([], [*rows, rows[0]])
    with pytest.raises(ConfigError, match="at most"):
        combinations([Axis(f"k{place}", tuple(range(1000))) for place in range(3)])


def test_a_mapping_is_named_by_its_kind():
    assert label({"kind": "d_choices", "d": 2}) == "d_choices d=2"
    assert label({"fraction": 0.2}) == "fraction=0.2"


@pytest.mark.parametrize(("share", "degrees"), TABLE)
def test_quantiles_are_those_of_the_tables(share, degrees):
    assert quantile(share, degrees) == pytest.approx(TABLE[share, degrees], abs=6e-4)


@given(st.floats(0.01, 50), st.integers(1, 400))
def test_the_quantile_undoes_the_share(t, degrees):
    share = within(t, degrees)
    if 0.001 < share < 0.999999:
        assert quantile(share, degrees) == pytest.approx(t, rel=1e-6)


def test_a_single_value_has_no_interval():
    assert half_width([1.0]) is None
    assert half_width([2.0, 2.0]) == 0.0


@given(st.lists(st.floats(0.5, 1.5), min_size=3, max_size=60), st.sampled_from([0.5, 0.01, 0.001]))
def test_seeds_are_enough_exactly_when_the_interval_is_narrow(values, goal):
    seeds = Seeds(count=3, until={"waf": goal}, count_max=1000)
    wanted = seeds.wanted([{"waf": value} for value in values])
    narrow = (half_width(values) or 0.0) <= goal * abs(statistics.fmean(values))
    assert (wanted <= len(values)) == narrow
    # An estimate never asks for more than half as many again.
    assert wanted <= len(values) + (len(values) + 1) // 2


def test_a_rule_for_a_number_that_is_not_there_is_refused():
    seeds = Seeds(until={"wafs": 0.01})
    with pytest.raises(ConfigError, match="did you mean `waf`"):
        seeds.wanted([{"waf": 2.0}] * 3)


def test_seeds_stop_at_the_most():
    seeds = Seeds(count=3, until={"waf": 0.001}, count_max=5)
    assert seeds.wanted([{"waf": 1.0}, {"waf": 2.0}, {"waf": 3.0}]) == 5
    assert seeds.wanted([{"waf": float(value)} for value in range(5)]) == 5


@pytest.mark.parametrize("given", [
    0, -1, 1.5, True, "five", {"count": 0}, {"most": 3}, {"until": 3}, {"until": {"waf": "x"}},
    {"until": {"waf": 0}}, {"first": -1},
])  # fmt: skip
def test_what_are_no_seeds_is_refused(given):
    with pytest.raises(ConfigError):
        Seeds.of(given)


def test_runs_are_grouped_by_what_was_varied():
    def row(op, seed, waf, error=None):
        metrics = {} if error else {"waf": waf}
        return Row("k", {"op": op}, seed, metrics, error, was_known=False)

    rows = [row(0.1, 1, 2.0), row(0.2, 1, 1.0), row(0.1, 2, 4.0), row(0.2, 2, 0, "worn out")]
    first, second = grouped(rows)
    assert (first.coordinates, first.count, first.means["waf"].mean) == ({"op": 0.1}, 2, 3.0)
    assert first.means["waf"].half == pytest.approx(12.706, abs=1e-3)
    assert (second.count, second.failed, second.problem) == (1, 1, "worn out")
    assert second.means["waf"].half is None
