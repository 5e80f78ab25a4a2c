"""The screens of `ui`: columns, groups, tags, live runs, figures that are never a blank."""

from __future__ import annotations

import re
import sqlite3
import statistics
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import ui_store
from opennandlab.comparing import chance
from opennandlab.reports.model import Table
from opennandlab.store import Store
from opennandlab.studies.sweeps.drawing import drawing
from opennandlab.ui import listing, parallel, screens
from opennandlab.ui.application import make
from opennandlab.ui.guard import Door
from opennandlab.ui.jobs import Job, Jobs
from stored import entry, failed, key

testclient = pytest.importorskip("starlette.testclient", reason="starlette needs httpx for tests")

BASE = ui_store.BASE


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ui_store.made(tmp_path_factory.mktemp("shown"))


@pytest.fixture(scope="module")
def door() -> Door:
    return Door("127.0.0.1", 8765)


@pytest.fixture
def asked(store: Path, door: Door) -> Iterator[Any]:
    with testclient.TestClient(make(store, door), base_url=BASE) as client:
        yield client


def heads(text: str) -> list[str]:
    """Return the heads of the first table of a page."""
    table = re.findall(r"<thead>.*?</thead>", text, re.DOTALL)[0]
    cells = re.findall(r"<th\b[^>]*>(.*?)</th>", table)
    return [re.sub(r"<[^>]+>|[▾▴]", "", cell).strip() for cell in cells]


# Runs.


def test_the_number_that_is_asked_for_first_is_next_to_the_run(asked: Any) -> None:
    shown = heads(asked.get("/?sweep=grid").text)
    assert shown[:3] == ["Choose", "run", "WAF"]
    assert shown[-5:] == ["seed", "tags", "sweep", "verb", "time, UTC"]


def test_columns_are_those_that_were_picked(asked: Any) -> None:
    picked = "/?sweep=grid&col=key&col=ftl.gc_policy&col=note&show=gc_cycles"
    assert heads(asked.get(picked).text) == ["Choose", "run", "gc_cycles", "gc_policy", "note"]
    assert heads(asked.get("/?sweep=grid&col=key").text) == ["Choose", "run", "WAF"]
    boxes = re.findall(r'<input type="checkbox" name="(?:show|col)" value="([^"]+)" checked',
                       asked.get(picked).text)  # fmt: skip
    assert sorted(boxes) == ["ftl.gc_policy", "gc_cycles", "note"]


def test_points_of_several_verbs_have_theirs_next_to_the_run(asked: Any) -> None:
    mixed = asked.get("/").text
    assert heads(mixed)[:3] == ["Choose", "run", "verb"]
    assert heads(mixed).count("verb") == 1
    assert ">benchmark</td>" in mixed
    # A column that was not picked is not there, and a group has it as its name.
    assert "verb" not in heads(asked.get("/?col=seed").text)
    assert "verb" not in heads(asked.get("/?group=verb").text)


def test_points_of_numbers_are_below_each_other() -> None:
    found = listing.aligned(["2.04", "13", "-", "3.869e-33", "1 000"])
    assert found[2:4] == ["-", "3.869e-33"]
    wide = [one for one in found if one not in {"-", "3.869e-33"}]
    # A figure space is as wide as a digit: all end at the same place behind their points.
    ends = [len(one) - one.replace(listing.POINT, ".").index(".") for one in wide]
    assert ends == [3, 3, 3]
    assert listing.aligned(["3", "12"]) == ["3", "12"]


def test_rows_are_grouped_by_sweep(asked: Any) -> None:
    text = asked.get("/?group=sweep").text
    groups = re.findall(r'scope="rowgroup"[^>]*>(?:<a [^>]*>)?([^<]+)', text)
    assert {"grid", "depth"} <= set(groups)
    assert len(groups) == len(set(groups))
    assert "sweep" not in heads(text)
    assert 'scope="rowgroup"' not in asked.get("/?group=nothing").text


def test_tags_and_notes_are_kept_and_shown(store: Path, asked: Any, door: Door) -> None:
    first, second = ui_store.keys(store, "sweep=grid")[:2]
    body: dict[str, Any] = {"keys": [first], "tags": "good, figure-3", "note": "<b>as planned"}
    assert ui_store.post(asked, door, "/api/remark", body).json() == {"kept": 1}
    body = {"keys": [first, second], "add": "seen"}
    assert ui_store.post(asked, door, "/api/remark", body).status_code == 200
    assert ui_store.keys(store, "tag=figure-3") == [first]
    assert set(ui_store.keys(store, "tag=seen")) == {first, second}
    text = asked.get("/?tag=figure-3").text
    assert re.findall(r'class="tag" href="[^"]*">([^<]+)', text) == ["good", "figure-3", "seen"]
    assert "&lt;b&gt;as planned" in text
    assert "1 run, " in text
    page = asked.get(f"/run?key={first}").text
    assert 'value="good figure-3 seen"' in page
    assert "&lt;b&gt;as planned</textarea>" in page


@pytest.mark.parametrize("body", [
    [], {}, {"keys": "x"}, {"keys": [1]}, {"keys": [], "tags": 5}, {"keys": ["x"], "tags": "a"},
    {"keys": [], "tags": "a=b"}, {"keys": [], "add": "x" * 41}, {"keys": [], "note": "x" * 2001},
    {"keys": ["0" * 64], "note": "of nothing"}, {"keys": ["x"] * 1001},
])  # fmt: skip
def test_odd_remarks_are_refused(asked: Any, door: Door, body: Any) -> None:
    answer = ui_store.post(asked, door, "/api/remark", body)
    assert answer.status_code in {200, 422}
    assert answer.status_code == 422 or body["keys"] == []


@pytest.mark.parametrize("count", [20_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_a_large_store_is_paged_by_the_store(
    tmp_path: Path, door: Door, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    folder = ui_store.many(tmp_path, count)
    with Store.open(folder) as kept:
        kept.remark(kept.keys(["waf>1.999"])[:3], tags=["last"])
    statements: list[str] = []
    connect = sqlite3.connect

    def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        made = connect(*arguments, **options)
        made.set_trace_callback(statements.append)
        return made

    monkeypatch.setattr(sqlite3, "connect", traced)
    last = count // listing.ROWS_PER_PAGE
    with testclient.TestClient(make(folder, door), base_url=BASE) as client:
        for path in ("/", f"/?page={last}", "/?order=-waf", "/?group=sweep", "/?where=waf%3E1.9",
                     "/?tag=last", "/live", "/sweeps"):  # fmt: skip
            statements.clear()
            answer = client.get(path)
            assert answer.status_code == 200, path
            # What is asked of the store, and what is sent, is that of a page.
            assert len(statements) < 60, path
            assert len(answer.content) < 120_000, path
        assert f"of {count:,} runs".replace(",", " ") in client.get("/").text


# Live.


def test_live_shows_what_runs_waits_and_has_ended(tmp_path: Path) -> None:
    now = datetime.now(timezone.utc)
    points = [entry(number, sweep="there", key=key(number), coordinates={"a": number},
                    created=(now - timedelta(seconds=5 - number)).isoformat())
              for number in range(4)]  # fmt: skip
    jobs = Jobs(tmp_path, lambda: None)
    jobs._all += [
        Job(1, "over", {}, state="failed", message="a <bad> end"),
        Job(2, "runs", {}, state="running", began=1.0, progress={
            "done": 3, "total": 12, "failed": 1, "running": [0.5, None], "eta_s": 75.0}),
        Job(3, "waits", {}),
        Job(4, "vain", {}, state="stopped"),
        Job(5, "old", {}, state="stopped"),
    ]  # fmt: skip
    with Store.open(tmp_path) as kept:
        kept.note_sweep("there", {"run": "benchmark", "grid": {"a": [0, 1, 2, 3]}},
                        [(one.key, one.coordinates) for one in points])  # fmt: skip
        kept.note_sweep("old", {"run": "benchmark", "grid": {"a": [0]}}, [(key(9), {"a": 0})])
        connection = kept._database.connection
        connection.execute("UPDATE sweep SET created = '2020-01-01T00:00:00Z' WHERE name = 'old'")
        kept.add([failed(0, **vars(points[0]) | {"document": None, "metrics": {}, "error": "x"}),
                  *points[1:3]])  # fmt: skip
        found = screens.live(kept, jobs)
    runs, waits, there = found["running"]
    assert (runs.name, runs.state, waits.state, there.name) == (
        "runs",
        "running",
        "queued",
        "there",
    )
    assert runs.share == pytest.approx(3.5 / 12)
    assert runs.text == "3 of 12 points · 25 % · 1 failed · 1 min 15 s left"
    assert there.state == "outside"
    assert there.share == 0.75
    assert "3 of 4 points" in there.text
    # A sweep without a new point for years was left, and does not run.
    old, vain, over = found["ended"]
    assert (old.name, vain.name, over.name) == ("old", "vain", "over")
    assert over.note == "a <bad> end"
    # What left no point has no page to lead to.
    assert (old.page, vain.page) == ("/sweep?name=old", "")
    assert "before its first point" in vain.text


# Plot.


def test_plot_begins_with_the_newest_sweep_that_has_something_to_draw(asked: Any) -> None:
    text = asked.get("/plot").text
    # The newest of all has one point, and none of its two is drawn.
    assert re.search(r'<option value="depth" selected', text)
    assert "data-figure" in text
    assert re.search(r"y axis <select", text)
    assert not re.search(r">Up ", text)
    every = asked.get("/plot?sweep=*").text
    assert re.search(r'<option value="\*">all', every)
    assert 'value="depth" selected' not in every


def test_what_cannot_be_drawn_as_lines_ends_in_no_blank(asked: Any) -> None:
    text = asked.get("/plot?sweep=*").text
    assert 'role="alert"' in text
    assert "--where" not in text
    assert "lines across" in text
    for sweep in ("grid", "depth"):
        assert f'href="/plot?sweep={sweep}"' in text
    nothing = asked.get("/plot?where=waf%3E1e9").text
    assert "No finished point is left" in nothing
    assert 'href="/plot?sweep=grid"' in nothing


def test_a_store_without_points_has_no_menus_of_a_plot(tmp_path: Path, door: Door) -> None:
    Store.open(tmp_path).close()
    with testclient.TestClient(make(tmp_path, door), base_url=BASE) as client:
        text = client.get("/plot").text
        assert "Nothing to draw yet" in text
        assert "y axis" not in text
        missing = client.get("/run?key=abcd", headers={"accept": "text/html"}).text
        assert "No point in" in missing
        assert 'class="empty bad"' in missing


def test_numbers_of_a_plot_rise_whatever_ended_first(tmp_path: Path) -> None:
    # Points that ran at the same time are kept in the order in which they ended.
    points = [
        entry(number, key=key(number), sweep="depth", seed=1, metrics={"waf": 1.0 + number},
              coordinates={"policy": policy, "depth": depth})
        for number, (policy, depth) in enumerate([
            ("greedy", 8), ("fifo", 2), ("greedy", 1), ("fifo", 32), ("fifo", 1), ("greedy", 2),
        ])
    ]  # fmt: skip
    with Store.open(tmp_path) as kept:
        kept.add(points)
        [table] = [one for one in drawing(kept, [], {}).report.chapters[0].items
                   if isinstance(one, Table)]  # fmt: skip
    assert [row[:2] for row in table.rows] == [
        ("greedy", "1"), ("greedy", "2"), ("greedy", "8"), ("fifo", "1"), ("fifo", "2"),
        ("fifo", "32"),
    ]  # fmt: skip


def test_the_set_up_of_a_test_is_folded_above_its_figures(asked: Any, store: Path) -> None:
    text = asked.get(f"/run?key={ui_store.keys(store, 'verb=pts.iops')[0]}").text
    assert '<details class="set-up"><summary>Test' in text
    assert text.index('class="sections"') < text.index('class="set-up"') < text.index("<figure")


def test_many_keys_are_parallel_coordinates(tmp_path: Path, door: Door) -> None:
    points = [
        entry(
            number, key=key(number), sweep="many", seed=1, metrics={"waf": 1.0 + number},
            settings={"n": number},
            coordinates={"a": number % 2, "b": f"v{number // 2 % 2}", "c": number // 4 % 2 == 1,
                         "d": number // 8, "e": None if number % 3 else 10.0 ** number},
        )
        for number in range(16)
    ]  # fmt: skip
    with Store.open(tmp_path) as kept:
        kept.add(points)
        kept.note_sweep("many", {"run": "benchmark", "grid": {"a": [0, 1]}},
                        [(one.key, one.coordinates) for one in points])  # fmt: skip
        drawn = parallel.parallel(kept, ["sweep=many"], "waf")
    assert drawn is not None
    assert [axis.name for axis in drawn.axes] == ["a", "b", "c", "d", "e", "waf"]
    assert len(drawn.lines) == 16
    assert drawn.ends == ("1", "16")
    by_label = {label: (path, colour) for path, colour, label in drawn.lines}
    low = next(it for label, it in by_label.items() if label.endswith("WAF 1"))
    high = next(it for label, it in by_label.items() if label.endswith("WAF 16"))
    assert (low[1], high[1]) == (0, 9)
    # The least value ends at the bottom of the last axis, the greatest at its top.
    assert low[0].endswith(f"{parallel.BOTTOM:.1f}")
    assert high[0].endswith(f"{parallel.TOP:.1f}")
    ticks = {axis.name: [tick.text for tick in axis.ticks] for axis in drawn.axes}
    assert ticks["a"] == ["0", "1"]
    assert ticks["c"] == ["false", "true"] or set(ticks["c"]) == {"true", "false"}
    assert ticks["e"][-1] == "none"
    with testclient.TestClient(make(tmp_path, door), base_url=BASE) as client:
        # Five keys would be mixed up in a plot with three.
        text = client.get("/plot").text
        assert "would be mixed in one plot" in text
        links = [unescape(one) for one in re.findall(r'<a href="(/plot[^"]*kind=parallel)"', text)]
        narrower = [one for one in links if "where=b%3Dv0" in one]
        assert narrower
        text = client.get(narrower[0]).text
        # The page, and lines and heads of both drawings: the wide one, and that of a phone.
        assert text.count("<title>") == 1 + 2 * (8 + 5)
        assert len(drawn.levels) == len(drawn.axes)
        # The least value is at the left end of the last axis there, the greatest at the right.
        ends = [one.rpartition("C")[2].split()[-2] for one in drawn.falls]
        assert {min(ends, key=float), max(ends, key=float)} == {"14.0", "346.0"}


# A run.


def test_a_run_states_its_load_and_its_drive(asked: Any, store: Path) -> None:
    [found, *_] = ui_store.keys(store, "sweep=depth", "queue_depth=4")
    said = re.findall(r'class="load">([^<]+)', asked.get(f"/run?key={found}").text)
    assert len(said) == 1
    assert "queue depth 4" in said[0]
    assert re.search(r"MiB raw, TLC$", said[0])
    curve = re.findall(r'class="load">', asked.get(f"/run?key={key(2)}").text)
    # What has neither drive nor code in its settings says nothing.
    assert curve == []


# Compare.


def seeds(values: dict[str, list[float]]) -> list[Any]:
    """Return points of settings, with the values of a metric over their seeds."""
    return [
        entry(0, key=key(1000 * place + seed), seed=seed, settings={"device": name},
              coordinates={"device": name}, metrics={"waf": value})
        for place, (name, row) in enumerate(values.items()) for seed, value in enumerate(row)
    ]  # fmt: skip


def test_noise_is_the_least_significant_difference_of_two_runs(tmp_path: Path) -> None:
    values = {"a": [2.0, 2.1, 1.9], "b": [4.0, 4.3, 3.9, 4.2]}
    with Store.open(tmp_path) as kept:
        kept.add(seeds(values))
        found = chance.noise(kept, list(kept.entries(["seed=0"])), ["waf", "other"])
        alone = chance.noise(kept, list(kept.entries(["seed=3"])), ["waf"])
    # By hand: variances of ratios to the mean, weighted by degrees of freedom; t of 5 degrees.
    variances = [statistics.variance([one / statistics.fmean(row) for one in row])
                 for row in values.values()]  # fmt: skip
    pooled = (2 * variances[0] + 3 * variances[1]) / 5
    assert found.ratios["waf"] == pytest.approx(2.5705818366147395 * (2 * pooled) ** 0.5)
    assert found.seeds == 7
    assert found.of("other") == chance.ASSUMED
    assert alone.seeds == 4
    assert "7 runs" in found.text


def test_noise_is_not_coloured(asked: Any, store: Path) -> None:
    one, two = ui_store.keys(store, "sweep=grid", "gc_policy=greedy", "over_provisioning_pct=0.2")
    other = ui_store.keys(store, "sweep=grid", "gc_policy=fifo", "over_provisioning_pct=0.2")[0]
    text = asked.get(f"/compare?key={one}&key={two}").text
    assert 'class="best"' not in text
    assert 'class="worst"' not in text
    assert "Against the first" in text
    assert "differ by more than chance" in text
    assert "Against the first" in asked.get(f"/compare?key={one}&key={other}").text


# A run.


@pytest.mark.parametrize(("which", "cards"), [
    ("sweep=depth", ["write amplification (WAF)", "IOPS", "throughput", "median latency",
                     "99th percentile of latency"]),
    ("verb=ecc.curve", ["frame error rate", "lower end of its 95 % interval",
                        "upper end of its 95 % interval"]),
    ("verb=pts.iops", []),
])  # fmt: skip
def test_a_run_opens_with_cards(asked: Any, store: Path, which: str, cards: list[str]) -> None:
    text = asked.get(f"/run?key={ui_store.keys(store, which)[0]}").text
    found = text[text.index('aria-label="Main numbers"') :]
    names = re.findall(r'<span class="name">([^<]+)', found[: found.index("</ul>")])
    assert names[: len(cards)] == cards
    assert names
    assert text.index('aria-label="Main numbers"') < text.index("<figure")
    if which == "sweep=depth":
        drawn = re.findall(r'<section id="c1-([\w-]+)"', text)
        assert drawn[0] == "write-amplification"


def test_faults_of_a_form_are_told_at_all_their_fields(asked: Any, door: Door) -> None:
    values = {**ui_store.body()["values"], "ftl.over_provisioning_pct": "28"}
    wrong = ui_store.body(values=values, seeds="x", vary=[["nand.channels", ""]])
    answer = ui_store.post(asked, door, "/api/check", wrong)
    assert answer.status_code == 422
    found = answer.json()
    fields = {found["field"], *(one["field"] for one in found["also"])}
    assert {"ftl.over_provisioning_pct", "seeds", "vary-0"} >= fields
    assert len(fields) > 1
