"""The plot page: readable offline, in print and without JavaScript; nothing in it is made up."""

from __future__ import annotations

import json
from typing import Any

import pytest

import opennandlab as onl
from conftest import SHORT, SMALL
from opennandlab.reports import html
from opennandlab.reports.model import Table
from opennandlab.reports.plot import plots, report

LIFE = {
    "name": "life",
    "pattern": "random",
    "timed": False,
    "total": {"drive_writes": 30},
    "precondition": [{"kind": "sequential_fill"}],
}


@pytest.fixture(scope="module")
def timed() -> onl.Result:
    return onl.benchmark(SMALL, {**SHORT, "read_pct": 50, "total": {"drive_writes": 1}})


@pytest.fixture(scope="module")
def life() -> onl.Result:
    return onl.benchmark(SMALL, LIFE)


def test_a_life_is_shown_over_drive_writes(life: onl.Result) -> None:
    drawn = {plot.title: plot for plot in plots(life.content)}
    for title in ("Raw bit error rate", "Write amplification", "Wear", "Spare area"):
        assert "drive writes" in drawn[title].x.label
    assert "Latency" not in drawn
    assert list(drawn["Write amplification"].series[0].y) == life.document["series"]["waf"]


def test_a_timed_run_is_shown_over_time_with_its_tail(timed: onl.Result) -> None:
    drawn = {plot.title: plot for plot in plots(timed.content)}
    for title in ("Throughput", "I/O per second", "Latency over time", "Write amplification"):
        assert "time" in drawn[title].x.label
    tail = drawn["Latency by percentile"]
    assert [line.name for line in tail.series] == ["read", "write"]
    # x is 1/(1-p): the median stands at 2, p99 at 100.
    assert list(tail.series[0].x)[:3] == [2, 10, 100]
    assert tail.series[0].y[2] == timed.metrics["latency_us"]["read"]["p99"]


def test_the_page_shows_metrics_latency_and_every_plot(timed: onl.Result) -> None:
    made = report(timed.content)
    items = {item.id: item for item in made.chapters[0].items}
    assert len(items) == len(list(made.chapters[0].items))
    rows = {row[0]: row[1] for row in items["metrics"].rows}
    assert float(str(rows["WAF"])) == pytest.approx(timed.metrics["waf"], rel=1e-3)
    assert items["operations"].columns[1] == "ops"
    drawn = list(plots(timed.content))
    assert [item for item in items.values() if not isinstance(item, Table)] == drawn
    text = html.page(made)
    assert text.count("<figure") == text.count("<summary>Numbers: ") == len(drawn) > 3
    assert timed.digest in text


def test_names_cannot_inject_anything(timed: onl.Result) -> None:
    document = json.loads(json.dumps(timed.document))
    document["workload"]["name"] = "</script><script>alert(1)</script>"
    document["warnings"] = ["<img src=x onerror=alert(1)>"]
    text = html.page(report(onl.Result(document).content))
    assert "<script>alert(1)" not in text
    assert "<img src=x" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;" in text


def test_a_partial_result_without_metrics_still_makes_a_page(timed: onl.Result) -> None:
    document: dict[str, Any] = {**timed.document, "metrics": {}, "series": {}}
    made = report(onl.Result(document).content)
    assert made.figures == []
    assert "<script" not in html.page(made)
