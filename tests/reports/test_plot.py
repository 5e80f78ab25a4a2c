"""The plot page: readable offline, in print and without JavaScript; nothing in it is made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import opennandlab as onl
from conftest import SHORT, SMALL
from opennandlab.reports import html
from opennandlab.reports.figure import scale
from opennandlab.reports.metric_rows import metric_rows
from opennandlab.reports.model import Table
from opennandlab.reports.output import write_figures
from opennandlab.reports.plot import plots, report
from opennandlab.reports.summary import footnotes

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
    # Too few requests for p99 of each interval: the mean alone, which the axis names.
    lone = drawn["Latency over time"]
    assert ([line.name for line in lone.series], lone.y.label) == (["mean"], "mean latency, µs")
    tail = drawn["Latency by percentile"]
    assert [line.name for line in tail.series] == ["read", "write"]
    # x is 1/(1-p): the median stands at 2, p99 at 100.
    assert list(tail.series[0].x)[:3] == [2, 10, 100]
    assert tail.series[0].y[2] == timed.metrics["latency_us"]["read"]["p99"]


def test_the_first_figure_answers_the_question_of_the_run(
    timed: onl.Result, life: onl.Result
) -> None:
    """Error rates that nobody had asked for came first on runs of a life."""
    assert next(iter(timed.figures)) == "throughput"
    assert next(iter(life.figures)) == "write-amplification"
    aged = onl.benchmark(SMALL, {**SHORT, "total": {"drive_writes": 3}})
    assert list(aged.figures)[:2] == ["throughput", "io-per-second"]
    assert "write-amplification" in aged.figures


def test_a_figure_alone_names_drive_and_load(timed: onl.Result, tmp_path: Path) -> None:
    """Only figures for print named them."""
    timed.plot(tmp_path / "one.svg", figure="latency-over-time")
    write_figures(report(timed.content), tmp_path / "all")
    drawn = [tmp_path / "one.svg", *(tmp_path / "all").iterdir()]
    assert len(drawn) == 1 + len(timed.figures)
    for path in drawn:
        text = path.read_text(encoding="utf-8")
        assert "short on custom" in text, path.name
        assert "12.5 MiB logical" in text, path.name
    shown = timed.plot(figure="throughput")
    assert shown is not None
    assert shown.layout.title.text == "Throughput: short on custom"


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


def rows(document: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {name: (value, unit) for name, value, unit in metric_rows(onl.Result(document).content)}


def edited(result: onl.Result, **metrics: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(result.document))
    document["metrics"] |= metrics
    return document


def test_a_life_from_few_erases_is_not_told(timed: onl.Result) -> None:
    """After 0.000248 erases a block the estimate was a day, and 0.6 TB."""
    assert rows(timed.document)["Lifetime estimate"][0] != "-"
    few = edited(timed, wear={"min": 0, "mean": 0.000248, "max": 1, "stddev": 0.016})
    shown = rows(few)
    for name in ("Lifetime estimate", "TBW"):
        assert shown[name][0] == "-"
        assert "too few erases: 0.000248 a block" in shown[name][1]
    assert not footnotes(onl.Result(few).content)
    assert footnotes(timed.content)


def test_erases_for_other_reasons_are_told(timed: onl.Result) -> None:
    few = edited(timed, gc_cycles=0, erases={"fold": 0, "gc": 0, "map": 7, "wear": 0})
    shown = rows(few)
    assert shown["GC cycles"] == ("0", "blocks erased")
    assert shown["Erased in the map"] == ("7", "blocks")
    assert "Erased to level wear" not in shown


def test_a_drive_of_superblocks_counts_them(timed: onl.Result) -> None:
    document = json.loads(json.dumps(timed.document))
    document["device"]["ftl"]["allocation"] = {"kind": "superblock", "dies": "all"}
    assert rows(document)["GC cycles"][1] == "superblocks erased"
    for shape, unit in ((document, "superblocks"), (timed.document, "blocks")):
        drawn = {plot.title: plot for plot in plots(onl.Result(shape).content)}
        assert drawn["Free blocks"].y.label == f"free {unit}"


def test_write_amplification_begins_at_one_and_has_its_closed_form(timed: onl.Result) -> None:
    """An axis from 4.85 to 5.05 made noise look like a trend."""
    document = json.loads(json.dumps(timed.document))
    document["series"]["waf"] = [
        4.9 + 0.01 * (at % 2) for at in range(len(document["series"]["t_s"]))
    ]
    for predicted in (4.89, None):
        document["effective"]["predicted_waf"] = predicted
        drawn = {plot.title: plot for plot in plots(onl.Result(document).content)}
        (shown,) = [one for one in drawn.values() if one.title == "Write amplification"]
        assert scale.ends(shown, "y")[0] == 1.0
        lines = {line.name: line for line in shown.series}
        assert ("closed form, steady state" in lines) == (predicted is not None)
        if predicted is not None:
            assert set(lines["closed form, steady state"].y) == {predicted}
    bare = {"MB/s", "µs", "IOPS", "WAF", "RBER", "blocks"}
    assert not bare & {axis for plot in drawn.values() for axis in (plot.x.label, plot.y.label)}


def test_one_warning_tells_of_all_thin_tails(timed: onl.Result) -> None:
    thin = "{} latency: {} too few for p99.9 (ten must lie beyond a percentile)"
    document = json.loads(json.dumps(timed.document))
    document["warnings"] = [
        thin.format("read", "1 sample is"),
        thin.format("trim", "2 samples are"),
    ]
    assert report(onl.Result(document).content).warnings == (
        "latency of 1 read, 2 trim: too few samples for p99.9 (ten must lie beyond a percentile)",
    )
