"""The plot page: readable offline, in print and without JavaScript; nothing in it is made up."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import opennandlab as onl
from conftest import SHORT, SMALL
from opennandlab.reports.chart import Axis, Chart, Line, figure, svg
from opennandlab.reports.plot import charts, page, write

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


def figures(text: str) -> list[dict[str, Any]]:
    found = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL)
    return [json.loads(part) for part in found]


def test_a_life_is_shown_over_drive_writes(life: onl.Result) -> None:
    drawn = {chart.title: chart for chart in charts(life.content)}
    for title in ("Raw bit error rate", "Write amplification", "Wear", "Spare area"):
        assert "drive writes" in drawn[title].x.label
    assert "Latency" not in drawn
    assert list(drawn["Write amplification"].lines[0].y) == life.document["series"]["waf"]


def test_a_timed_run_is_shown_over_time_with_its_tail(timed: onl.Result) -> None:
    drawn = {chart.title: chart for chart in charts(timed.content)}
    for title in ("Throughput", "I/O per second", "Latency", "Write amplification"):
        assert "time" in drawn[title].x.label
    tail = drawn["Latency by percentile"]
    assert [line.name for line in tail.lines] == ["read", "write"]
    # x is 1/(1-p): the median stands at 2, p99 at 100.
    assert list(tail.lines[0].x)[:3] == [2, 10, 100]
    assert tail.lines[0].y[2] == timed.metrics["latency_us"]["read"]["p99"]


def test_the_page_needs_no_network_and_inlines_the_script_once(timed: onl.Result) -> None:
    text = page(timed.content)
    assert text.count("plotly.js v") == 1
    assert not re.search(r'<(script|link|img)[^>]+(src|href)="', text)
    for part in figures(text):
        assert part["data"]


def test_the_page_holds_drawings_and_tables_without_javascript(timed: onl.Result) -> None:
    text = page(timed.content)
    static = re.findall(r"<noscript>(<svg.*?</svg>)</noscript>", text, re.DOTALL)
    assert len(static) == len(figures(text)) > 3
    for drawing in static:
        ET.fromstring(drawing)  # well-formed
        assert "NaN" not in drawing
    assert text.count("<table>") >= len(static) + 2


def test_names_cannot_inject_anything(timed: onl.Result) -> None:
    document = json.loads(json.dumps(timed.document))
    document["workload"]["name"] = "</script><script>alert(1)</script>"
    document["warnings"] = ["<img src=x onerror=alert(1)>"]
    text = page(onl.Result(document).content)
    assert "<script>alert(1)" not in text
    assert "<img src=x" not in text


def test_a_partial_result_without_metrics_still_makes_a_page(timed: onl.Result) -> None:
    document = {**timed.document, "metrics": {}, "series": {}}
    assert figures(page(onl.Result(document).content)) == []


def test_gaps_and_zeros_do_not_break_a_logarithmic_axis() -> None:
    chart = Chart(
        "t", Axis("x"), Axis("y", "log"), (Line("a", [0, 1, 2, 3], [None, 0.0, 1e-8, 1e-5]),)
    )
    drawing = svg(chart)
    ET.fromstring(drawing)
    assert drawing.count("<polyline") == 1
    json.dumps(figure(chart), allow_nan=False)
    flat = Chart("t", Axis("x"), Axis("y"), (Line("a", [0.0], [5.0]),))
    ET.fromstring(svg(flat))
    empty = Chart("t", Axis("x"), Axis("y", "log"), (Line("a", [], []),))
    ET.fromstring(svg(empty))


class Errors(HTMLParser):
    """Checks that what is opened is closed."""

    VOID = ("meta", "br", "img", "link")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        del attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        """An SVG element without content."""

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def test_the_page_is_balanced_html(timed: onl.Result) -> None:
    parser = Errors()
    parser.feed(page(timed.content))
    assert parser.wrong == []
    assert parser.open == []


def test_a_browser_draws_every_figure(timed: onl.Result, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("no chromium on this machine")
    path = tmp_path / "plot.html"
    write(timed, path)
    shown = subprocess.run(
        [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"),
            *("--virtual-time-budget=20000", f"file://{path}"),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    drawn = shown.stdout.count('class="plot js-plotly-plot"')
    assert drawn == len(figures(path.read_text(encoding="utf-8"))) > 3
