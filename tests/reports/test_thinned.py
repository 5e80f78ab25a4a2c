"""Figures of very many points are drawn with fewer, and no extreme is hidden."""

from __future__ import annotations

import pytest

from opennandlab.reports.figure.model import Axis, Plot, Series
from opennandlab.reports.model import Table
from opennandlab.reports.thinned import LINES_MAX, cut, thinned


def plot(*series: Series, scale: str = "linear") -> Plot:
    return Plot("runs", "many", Axis("x", scale), Axis("y"), series)  # type: ignore[arg-type]


def test_neighbours_are_one_point_with_their_extremes() -> None:
    x = [float(place) for place in range(10_000)]
    y = [1.0 + place % 7 for place in range(10_000)]
    y[4321] = 99.0
    y[77] = -5.0
    found = thinned(plot(Series("a", x, y, colour=0), Series("theory", [None], [None], "dashed", -1,
                                                             is_key=True)), 500)  # fmt: skip
    line = found.series[0]
    assert len(line.x) == len(line.y) == len(line.low) == len(line.high) == 500
    assert (max(line.high), min(line.low)) == (99.0, -5.0)
    assert line.x[0] == pytest.approx(9.5)
    assert sum(value or 0.0 for value in line.y) / 500 == pytest.approx(sum(y) / len(y))
    assert "10000 points are drawn as 500" in found.note
    assert found.series[1].is_key


def test_intervals_and_gaps_and_logarithms_are_kept() -> None:
    x = [10.0**place for place in range(4)]
    line = Series("a", x, [1.0, None, 3.0, None], colour=0, low=[0.5, None, 2.5, None],
                  high=[1.5, None, 3.5, None])  # fmt: skip
    found = thinned(plot(line, scale="log"), 2).series[0]
    assert found.x == pytest.approx([10**0.5, 10**2.5])
    assert (found.y, found.low, found.high) == ([1.0, 3.0], [0.5, 2.5], [1.5, 3.5])
    dashed = thinned(plot(Series("theory", x, [1.0, 2.0, 3.0, 4.0], "dashed", 0)), 2).series[0]
    assert (dashed.y, dashed.low) == ([1.5, 3.5], ())


def test_few_points_stay_as_they_are() -> None:
    whole = plot(Series("a", [1.0, 2.0], [3.0, 4.0], colour=0))
    assert thinned(whole, 2) is whole


def test_lines_beyond_the_first_are_left_out() -> None:
    many = [Series(f"{place}", [1.0], [float(place)], colour=place) for place in range(100)]
    found = thinned(plot(*many), 500)
    assert len(found.series) == LINES_MAX
    assert f"first {LINES_MAX} of 100 lines" in found.note


def test_a_long_table_says_what_it_leaves_out() -> None:
    table = Table("runs", "Runs", ("key", "waf"), tuple((str(n), n) for n in range(9)), note="So.")
    assert cut(table, 9) is table
    found = cut(table, 4)
    assert len(found.rows) == 4
    assert found.note == "So. The first 4 of 9 rows; `runs table --csv` has all of them."
