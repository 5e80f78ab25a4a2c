"""Reports show what the standard asks for, and nothing that is not in the document."""

from __future__ import annotations

from typing import Any

import pytest

import pts_documents
from opennandlab.base.canonical import digest
from opennandlab.documents import pts
from opennandlab.documents.partial import readable
from opennandlab.documents.pts_origin import method
from opennandlab.pts import STANDARD, TESTS
from opennandlab.reports import scales, words
from opennandlab.reports.figure.model import Plot, Relief
from opennandlab.reports.figure_tables import table_of
from opennandlab.reports.model import Badge, Chapter, Item, Report, Table
from opennandlab.reports.pts import header, views
from opennandlab.reports.pts.headline import SMOKE
from opennandlab.reports.pts.source import read

# What each report holds, in order: the list that a reader of the standard would tick off.
STEADY = ["tracked", "window", "determination"]
HISTOGRAM = ["histogram-response_time", "by-percentile", "confidence-levels"]
SHOWN = {
    "iops": [
        "iops", "mb_s", "art", "spread", "3d-surface-log", "3d-columns", "3d-surface",
        "by-block-size-log",
        "by-block-size-linear",
        *[f"{name}-{place}" for place in (1, 2, 3) for name in STEADY], "convergence", "results",
    ],
    "throughput": [
        "throughput", "throughput-2d", "convergence-1024", "convergence-128",
        *[f"{name}-{place}" for place in (1, 2) for name in STEADY], "results",
    ],
    "latency": [
        "art", "mrt", "percentiles", "art-3d-columns", "mrt-3d-columns", "convergence-art",
        "convergence-mrt", *STEADY, *HISTOGRAM, "results",
    ],
    "wsat": [
        "results", "iops-time-linear", "iops-time-log", "mb-s-time", "iops-tgbw-linear",
        "iops-tgbw-log", "iops-fills-linear", "response-time", "art-iops", "waf", *STEADY,
        "samples", *HISTOGRAM,
    ],
    "hir": [
        "segments", "gain", "iops-time", *[f"iops-time-{wait}" for wait in (1, 2, 3, 5, 10)],
        "precondition-time", "precondition-tgbw", *STEADY, "results",
    ],
    "xsr": [
        "mb_s", "tp-all", "tp-all-log", "tp-fills", "tp-1-2", "tp-2-3", "art", "mrt", "results",
    ],
    "surface": [
        "3d-surface-log", "3d-surface", "3d-columns", "map", "map-log", "iops",
        "by-block-size-log",
        "by-block-size-linear", *STEADY, "results",
    ],
    "stability": [
        "results", "iops-time-linear", "iops-time-log", "response-time", "distribution", *HISTOGRAM,
        *STEADY,
    ],
    "consistency": ["runs", "iops-time-linear", "iops-time-log"],
    "independence": ["independence", "results"],
    "composite": ["iops", "iops-curve", *STEADY, "results"],
    "rw_ratio": [
        "iops", "iops-curve", "mixed_efficiency", "mixed_efficiency-curve", "rms", *STEADY,
        "results",
    ],
    "block_size": ["by-size-iops", "by-size-mb_s", "by-size-lat_us_mean", *STEADY, "results"],
    "scalability": ["normalised", "efficiency", *STEADY, "results"],
    "pathological": [
        "cases-iops", "cases-waf", *[f"{name}-{place}" for place in (1, 2, 3) for name in STEADY],
        "results",
    ],
}  # fmt: skip
DEMAND = [
    "points", "demand-variation", "demand-intensity", "iops-oio", "art-oio", "iops-3d", "cpu-3d",
    "histogram-maxiops", "histogram-miniops", "histogram-midiops", "by-percentile",
    "confidence-levels", "histogram-prewrite_maxiops", "histogram-prewrite_miniops",
    "histogram-prewrite_midiops", "by-percentile-prewrite", "confidence-levels-prewrite",
    *[f"{name}-precondition" for name in STEADY], "prewrites", "rounds",
    *[f"{name}-rounds" for name in STEADY], "results",
]  # fmt: skip
SHOWN |= {"dirth": DEMAND, "ecw": DEMAND}
LOADS = [16527, 41317, 66107, 90897, 115687, 140478, 165268, 181794]
SHOWN |= {
    "skew": ["skew-mb-s", "skew-waf", "skew", "results"],
    "fill": ["fill-waf", "fill-mb-s", "fill", "results"],
    "identify": ["identify-mb-s", "cells", "readings", "results"],
    "zones": ["zones-size", "zones-open", "zones", "estimates", "results"],
    "load": [
        "load-reads", "load-writes", "load-achieved", "load",
        *[f"histogram-reads_{rate}" for rate in LOADS], "by-percentile", "confidence-levels",
        "results",
    ],
}  # fmt: skip
SHOWN |= {
    "access_time": [
        "access_time", "histogram-reads", "histogram-writes", "by-percentile", "confidence-levels",
        *STEADY, "results",
    ],
    "position": ["position", "position-2", "results"],
    "burst": [
        "burst", "burst-RND-4-KiB-0-100", "burst-SEQ-128-KiB-0-100",
        *[f"{name}-{place}" for place in (1, 2) for name in STEADY], "results",
    ],
}  # fmt: skip


def chapter(test: str, **changes: Any) -> Chapter:
    return views.chapter(pts_documents.MAKERS[test]() | changes, test)


def item(shown: Chapter, name: str) -> Item:
    return next(one for one in shown.items if one.id == name)


def table(shown: Chapter, name: str) -> Table:
    found = item(shown, name)
    assert isinstance(found, Table)
    return found


def plot(shown: Chapter, name: str) -> Plot:
    found = item(shown, name)
    assert isinstance(found, Plot)
    return found


@pytest.mark.parametrize("test", pts_documents.MAKERS)
def test_the_documents_of_these_tests_are_as_declared(test: str) -> None:
    document = pts_documents.MAKERS[test]()
    assert pts.to_json(pts.from_json(document))["digest"] == digest(document)


@pytest.mark.parametrize("test", pts_documents.MAKERS)
def test_a_whole_document_is_shown_whole(test: str) -> None:
    shown = chapter(test)
    assert shown.missing == ()
    assert [one.id for one in shown.items] == SHOWN[test]
    assert len({one.id for one in shown.items}) == len(list(shown.items))


def test_every_test_has_a_view_and_every_view_a_document() -> None:
    assert set(views.VIEWS) == set(pts_documents.MAKERS) == set(SHOWN)


def test_the_iops_table_has_the_layout_of_the_tutorial() -> None:
    shown = table(chapter("iops"), "iops")
    assert shown.columns[1:] == ("0/100", "5/95", "35/65", "50/50", "65/35", "95/5", "100/0")
    assert [row[0] for row in shown.rows] == ["0.5", "4", "8", "16", "32", "64", "128", "1024"]
    assert shown.digits == 1


def test_the_table_is_made_from_the_cells_of_the_window_where_the_document_has_none() -> None:
    stated = table(chapter("iops"), "iops")
    made = table(chapter("iops", tables=[]), "iops")
    for ours, theirs in zip(made.rows, stated.rows, strict=True):
        assert ours[0] == theirs[0]
        assert ours[1:] == pytest.approx(theirs[1:])


def test_a_window_has_its_points_the_mean_both_guides_and_the_fitted_line() -> None:
    document = pts_documents.iops()
    state = document["steady_state"][0]
    found = plot(views.chapter(document, "iops"), "window-1")
    lines = {line.name: list(line.y) for line in found.series}
    mean = state["average"]
    assert lines["mean"] == [mean, mean]
    assert lines["110 % of the mean"] == pytest.approx([1.1 * mean] * 2)
    assert lines["90 % of the mean"] == pytest.approx([0.9 * mean] * 2)
    # The line fitted to all five points, not one from the first of them to the last.
    ends = [state["intercept"], state["intercept"] + 4 * state["slope"]]
    assert lines["fitted line"] == pytest.approx(ends)
    assert lines["fitted line"] != pytest.approx([state["values"][0], state["values"][4]])
    assert lines["IOPS of RND 4 KiB 0/100"] == state["values"]


def test_the_determination_states_what_the_rule_compared() -> None:
    document = pts_documents.iops()
    state = document["steady_state"][0]
    shown = table(views.chapter(document, "iops"), "determination-1")
    rows = {str(row[0]): row[1:] for row in shown.rows}
    spread = rows["Spread, largest less smallest"]
    assert spread[0] == state["excursion"]
    assert spread[2] == state["excursion_allowed"]
    assert spread[3] == "yes"
    # As a function of the round itself.
    at_zero = state["intercept"] - state["slope"] * state["window"][0]
    assert f"{abs(at_zero):.{shown.digits}f}" in shown.note
    assert "· R" in shown.note


def test_the_rounding_of_a_sum_is_not_a_spread() -> None:
    """Five equal rounds had a spread of 4.547e-13 and a line of slope −1.36424e−13."""
    document = pts_documents.iops()
    dust = {"excursion": 4.5e-13, "slope": -1.4e-13, "slope_excursion": 5.5e-13}
    document["steady_state"][0].update(dust)
    shown = table(views.chapter(document, "iops"), "determination-1")
    assert [row[1] for row in shown.rows[1:3]] == [0.0, 0.0]
    assert "= 0 · R" in shown.note


def test_latencies_are_shown_in_milliseconds() -> None:
    document = pts_documents.latency()
    shown = views.chapter(document, "latency")
    mean = document["steady_state"][0]["average"]
    assert table(shown, "determination").rows[0][1] == pytest.approx(mean * 1e-3)
    assert plot(shown, "tracked").y.label == "ART, ms"


def test_percentiles_share_a_table_that_says_once_why_one_is_missing() -> None:
    shown = table(chapter("latency"), "percentiles")
    assert shown.columns == ("cell", "requests", "99.999 %, ms")
    assert [row[0] for row in shown.rows][:2] == ["0.5 KiB 0/100", "4 KiB 0/100"]
    assert all(isinstance(row[1], float) and row[1] > 0 for row in shown.rows)
    assert {row[2] for row in shown.rows} == {None}
    assert "fewer than ten" in shown.note


def test_what_was_not_attained_is_said_first() -> None:
    shown = views.chapter(pts_documents.iops(attained=False), "iops")
    assert shown.verdict is not None
    assert (shown.verdict.text, shown.verdict.kind) == ("steady state NOT ATTAINED", "bad")
    assert "2 of 3 tracked values are not steady" in shown.reason
    assert "NOT ATTAINED" in shown.brief
    assert "NOT ATTAINED" in plot(shown, "window-1").note


def test_the_header_holds_what_the_standard_asks_for() -> None:
    shown = chapter("iops")
    facts = {key: value for _, rows in shown.facts for key, value in rows}
    assert facts["Specification"] == "SNIA SSS PTS 2.0.2"
    assert facts["Conformance"] == "scaled"
    assert facts["Purge"] == "erase of all blocks"
    assert facts["WIPC"] == "sequential 128 KiB, 2 × user capacity"
    assert facts["User capacity"] == "34.36 GB (32 GiB)"
    assert facts["Threads / queue depth"] == "TC 4 / QD 32"
    assert facts["Over-provisioning"] == "7.37 %"
    assert shown.deviations == ("cells of 0.5 s instead of 60 s (time base scaled)",)
    for part in ("PTS-E", "2.0.2", "scaled", "sim:tlc_standard", "cache disabled", "1 deviation"):
        assert part in shown.brief


def facts_of(document: dict[str, Any], moment: pts.Moment | None = None) -> dict[str, str]:
    measured = read(document, document["name"], moment=moment)
    return {key: value for _, rows in header.facts(measured) for key, value in rows}


def test_what_was_written_is_the_sum_over_all_purges() -> None:
    """The header told what one pattern of eleven had written: documents count from the purge."""
    document = pts_documents.ran("skew")
    purges = [one for one in document["phases"] if one["name"] == "purge"]
    assert len(purges) > 1
    ends = [one["start_s"] for one in purges[1:]] + [float("inf")]
    parts = document["phases"]
    most = [
        max(one["written_bytes"] for one in parts if purge["end_s"] <= one["start_s"] < end)
        for purge, end in zip(purges, ends, strict=True)
    ]
    assert facts_of(document)["Written"].startswith(words.capacity(sum(most)))


def test_a_rule_of_ones_own_is_a_steady_state_in_the_header_too() -> None:
    """The badge said `all points steady`, the header `not part of this test`."""
    document = pts_documents.ran("skew")
    document["header"]["time_base"]["name"] = "scaled"
    verdict = views.chapter(document, "skew").verdict
    assert verdict is not None
    assert facts_of(document)["Steady state"] == verdict.text
    assert "drive writes" not in facts_of(document)["Options"]
    assert facts_of(pts_documents.xsr())["Steady state"] == "not part of this test"


def test_a_changed_device_is_named_on_the_first_screen() -> None:
    """A drive of 640 MiB stood there as `sim:emmc_16gb`, with `Options: none`."""
    told = {"tool": {"version": "1"}, "created": "", "run": {"wall_s": 1.0}}
    moment = readable(told | {"overrides": {"nand.blocks_per_plane": 96}}, pts.Moment)[0]
    assert facts_of(pts_documents.iops(), moment)["Keys changed"] == "nand.blocks_per_plane=96"
    measured = read(pts_documents.iops(), "iops", moment=moment)
    assert "device changed: nand.blocks_per_plane=96" in [
        badge.text for badge in views.chapter_of(measured).badges
    ]
    assert "Keys changed" not in facts_of(pts_documents.iops())


@pytest.mark.parametrize("test", TESTS)
def test_a_page_names_the_specification_or_whose_method_it_is(test: str) -> None:
    measured = read(pts_documents.MAKERS["iops"]() | {"test": test}, test)
    shown, foot = header.subtitle(measured), header.foot(measured)
    facts = dict(row for _, rows in header.facts(measured) for row in rows)
    profile = "PTS-E (enterprise)"
    if test in STANDARD:
        assert f"{profile} 2.0.2" in shown
        assert (facts["Specification"], facts["Profile"]) == ("SNIA SSS PTS 2.0.2", profile)
        assert "published specification" in foot
        return
    followed = method(test)
    assert followed and followed in shown and profile not in shown  # noqa: PT018
    assert facts["Specification"] == f"none; {followed}"
    assert facts["Profile"] == f"settings of {profile} 2.0.2"
    assert f"Not a test of SNIA: {followed}" in foot


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({}, "steady"),
        ({"partial": True, "results": {}}, "partial"),
        ({"steady_state": []}, "measured"),
    ],
)
def test_a_document_has_one_verdict(changes: dict[str, Any], word: str) -> None:
    measured = read(pts_documents.iops() | changes, "iops")
    assert measured.verdict.word == word
    assert views.chapter_of(measured).verdict == Badge(measured.verdict.text, measured.verdict.kind)


def test_a_smoke_is_no_measurement_however_steady() -> None:
    document = pts_documents.iops()
    document["header"]["time_base"]["name"] = "smoke"
    found = read(document, "iops").verdict
    assert (found.word, found.kind) == ("smoke", "warning")
    assert "steady in rounds 4 to 8" in found.reason


def test_a_document_without_its_steady_state_has_no_verdict() -> None:
    document = pts_documents.iops()
    del document["steady_state"]
    assert read(document, "iops").verdict.word == "unknown"


@pytest.mark.parametrize("test", pts_documents.MAKERS)
def test_no_figure_is_quoted_that_the_document_lacks(test: str) -> None:
    shown = chapter(test)
    # Six, and that a smoke is no result.
    assert sum(one is not SMOKE for one in shown.headlines) <= 6
    assert all("n/a" not in one.value and one.name for one in shown.headlines)


def test_the_figures_of_write_saturation_have_units_and_words() -> None:
    document = pts_documents.wsat()
    document["results"] |= {
        "attained": True, "ended_by": "written", "fob_iops": 21400.0, "steady_iops": 2900.0,
        "steady_ratio": 0.1355, "cliff_drive_fills": None, "drive_fills": 4.0, "waf_end": 6.5,
    }  # fmt: skip
    found = {one.name: one.text for one in views.chapter(document, "wsat").headlines}
    assert found == {
        "fresh out of the box": "21 400 IOPS",
        "steady state": "2 900 IOPS",
        "steady state / fresh": "0.1355",
        "write cliff (first below 90 %)": "none",
        "write amplification at the end": "6.500",
        "written, ended by bytes written": "4 drive fills",
    }


def test_an_operating_point_that_was_not_found_is_said_to_be_none() -> None:
    document = pts_documents.dirth()
    points = document["results"]["points"]
    slow = {"threads": 1, "queue_depth": 1, "iops": 184.6, "lat_us_mean": 5420.0}
    for point, note in zip(
        points,
        ("none under 5 ms: the one with the lowest ART", "the combination of MaxIOPS",
         "the combination of MaxIOPS; none under 5 ms"),
        strict=True,
    ):  # fmt: skip
        point.update(slow, note=note)
    shown = views.chapter(document, "dirth")
    found = {one.name: one.text for one in shown.headlines}
    assert found["MaxIOPS: combinations below 5 ms"] == "none"
    assert found["lowest mean response time, at TC 1 QD 1"] == "5.420 ms"
    assert not any(name.startswith(("MaxIOPS, at", "MidIOPS, at")) for name in found)
    # What was measured once stands in the rows of all points there.
    rows = table(shown, "points").rows
    assert rows[0][5:10] == rows[1][5:10] == rows[2][5:10]
    assert "n/a" not in rows[1][5:7]
    marked = plot(shown, "demand-intensity").series[-1]
    assert marked.texts == ["MaxIOPS, MinIOPS, MidIOPS"]


def test_idle_recovery_is_also_compared_with_the_writes_before() -> None:
    document = pts_documents.hir()
    for place, segment in enumerate(document["results"]["segments"]):
        segment["gain_before"] = 1.5 + place
    shown = views.chapter(document, "hir")
    found = table(shown, "segments")
    place = found.columns.index("over the writes before")
    assert [row[place] for row in found.rows] == [1.5, 2.5, 3.5, 4.5, 5.5]
    samples = plot(shown, "precondition-tgbw").series[0]
    assert samples.x == sorted(samples.x, key=lambda x: x or 0.0)
    assert len(samples.x) == len(plot(shown, "precondition-time").series[0].x) > 4


def test_cells_that_are_short_for_their_queue_are_told() -> None:
    document = pts_documents.iops()
    columns = document["cells"]["columns"]
    iops, mean, tc, qd = (
        columns.index(key) for key in ("iops", "lat_us_mean", "threads", "queue_depth")
    )
    for row in document["cells"]["rows"]:
        if row[iops]:
            row[mean] = 1e6 * row[tc] * row[qd] / row[iops]
    assert views.chapter(document, "iops").warnings == ()
    row = document["cells"]["rows"][-1]
    row[mean] *= 0.8
    (told,) = views.chapter(document, "iops").warnings
    assert "in 1 of 280 cells" in told
    assert f"worst -20.0 %, {row[columns.index('label')]}" in told
    assert "Response times are too short there" in told
    row[mean] *= 1.3 / 0.8
    (told,) = views.chapter(document, "iops").warnings
    assert f"worst +30.0 %, {row[columns.index('label')]}" in told
    assert "too short there" not in told
    row[mean] *= 0.947 / 1.3
    (told,) = views.chapter(document, "iops").warnings
    assert "by more than 5 % in 1 of 280 cells (Little's law; worst -5.3 %" in told
    document["header"]["time_base"]["clock"] = "real"
    assert views.chapter(document, "iops").warnings == ()


def test_a_verdict_shows_whether_the_drive_collected() -> None:
    document = pts_documents.latency()
    document["steady_state"][0]["collection"] = "seen"
    rows = table(views.chapter(document, "latency"), "determination").rows
    assert rows[-1][:2] == ("Garbage collected in each round", "yes")


def test_a_mean_over_the_window_has_the_rounds_it_is_of_as_error_bars() -> None:
    document = pts_documents.iops()
    shown = views.chapter(document, "iops")
    line = next(one for one in plot(shown, "by-block-size-log").series if one.name == "0/100")
    place = [round(x * 1024) for x in line.x if x is not None].index(4096)
    window = document["steady_state"][0]["values"]
    assert line.low[place] == pytest.approx(min(window))
    assert line.high[place] == pytest.approx(max(window))
    spread = table(shown, "spread")
    row = next(row for row in spread.rows if row[0] == "4")
    mean = sum(window) / 5
    assert row[1] == pytest.approx(100 * (max(window) - min(window)) / mean)


def test_a_histogram_marks_mean_nines_and_longest_and_adds_up() -> None:
    document = pts_documents.latency()
    document["histograms"] = [pts_documents.histogram("response_time", "Response time", 2_000_000)]
    found = plot(views.chapter(document, "latency"), "histogram-response_time")
    assert [mark.text.split(":")[0] for mark in found.marks] == [
        "ART", "99 %", "99.9 %", "99.99 %", "99.999 %", "MRT",
    ]  # fmt: skip
    requests, total = found.series
    assert total.is_right
    assert found.right is not None
    assert (total.y[0], total.y[-1]) == (0.0, 100.0)
    counts = [count or 0.0 for count in requests.y]
    assert total.y[5] == pytest.approx(100 * sum(counts[:5]) / sum(counts))


def test_of_equal_response_times_words_say_what_one_bar_would() -> None:
    document = pts_documents.latency()
    document["histograms"] = [
        {
            "id": "response_time", "title": "Response time", "count": 1_000_000, "ns": [56950],
            "counts": [1_000_000], "sum_ns": 56950.0 * 1_000_000, "max_ns": 56950,
            "latency_us": dict.fromkeys(pts.Percentiles.__struct_fields__),
        }
    ]  # fmt: skip
    shown = views.chapter(document, "latency")
    assert not [one for one in shown.items if one.id.startswith(("histogram", "by-percentile"))]
    note = table(shown, "confidence-levels").note
    assert note.startswith("All 1 000 000 requests of “Response time” took 56.95 µs.")
    assert "no source of variation" in note


def test_the_cells_of_the_window_have_their_response_times() -> None:
    document = pts_documents.latency()
    document["histograms"] = [
        pts_documents.histogram(f"window_{place}", f"RND {size} KiB 0/100, window", 20_000)
        for place, size in enumerate((8, 4, 0.5), 1)
    ] + document["histograms"]
    shown = views.chapter(document, "latency")
    ids = [one.id for one in shown.items if one.id.startswith("histogram")]
    assert ids == ["histogram-window_2", "histogram-response_time"]
    assert len(table(shown, "confidence-levels-window").rows) == 3
    assert len(table(shown, "confidence-levels").rows) == 1


def test_tails_are_drawn_against_outstanding_requests() -> None:
    document = pts_documents.dirth()
    document["tables"].append(
        pts_documents.table(
            "tail", "99 % response time", "µs", ["1", "2"],
            {"1": [100.0, 200.0], "4": [400.0, None]}, "Threads (TC)", "Queue depth (QD)",
        )
    )  # fmt: skip
    found = plot(views.chapter(document, "dirth"), "p99-oio")
    assert [(list(line.x), list(line.y)) for line in found.series] == [
        ([1.0, 2.0], [0.1, 0.2]), ([4.0, 8.0], [0.4, None]),
    ]  # fmt: skip


def test_what_can_be_is_drawn_on_log_scales() -> None:
    report = scales.logarithmic(Report("", "", (chapter("wsat"), chapter("hir"))))
    plots = {one.id: one for one in report.figures if isinstance(one, Plot)}
    assert "iops-time-linear" not in plots
    assert plots["iops-time-log"].y.scale == plots["mb-s-time"].y.scale == "log"
    # The length of a bar is its value.
    assert plots["gain"].y.scale == "linear"
    assert all(one.drawable for one in plots.values())


def test_operating_points_are_marked_in_the_demand_intensity() -> None:
    found = plot(chapter("dirth"), "demand-intensity")
    marked = next(line for line in found.series if line.name == "operating points")
    assert list(marked.texts) == ["MaxIOPS", "MinIOPS", "MidIOPS"]
    assert found.y.scale == "log"
    assert [line.name for line in found.series][:2] == ["TC 1", "TC 2"]


def test_a_histogram_holds_every_request_once() -> None:
    document = pts_documents.latency()
    found = plot(views.chapter(document, "latency"), "histogram-response_time")
    assert sum(count or 0 for count in found.series[0].y) == document["histograms"][0]["count"]


def test_the_drop_of_independence_is_the_one_of_the_tutorial() -> None:
    shown = chapter("independence")
    assert "drop by 90.26 %" in shown.sections[0].lead
    assert plot(shown, "independence").series[0].texts[-1] == "16.8 (−90.3 %)"


def test_a_recovery_that_never_came_is_called_so() -> None:
    shown = chapter("xsr")
    assert "never recovered" in shown.sections[0].lead
    rows = dict(row[:2] for row in table(shown, "results").rows)
    assert rows["five samples at 90 % of that: after, s"] == "never"


def test_a_recovery_without_a_loss_is_told_as_such() -> None:
    """A page said `recovered after 0 s and 0 drive fills`."""
    document = pts_documents.xsr()
    document["results"] |= {"recovery_s": 0.0, "recovery_drive_fills": 0.0}
    shown = views.chapter(document, "xsr")
    assert "at once" in next(one.lead for one in shown.sections if one.title == "Groups")
    quoted = {one.name: one.text for one in shown.headlines}
    assert quoted["recovered: five samples at 90 %"] == "at once"
    assert "recovered after" not in {one.name for one in shown.headlines}


def test_the_map_goes_in_bands() -> None:
    found = item(chapter("surface"), "map")
    assert isinstance(found, Relief)
    assert found.band
    assert 5 <= found.top / found.band <= 16
    assert (len(found.rows), len(found.columns)) == (12, 11)


def test_a_figure_is_a_table_too() -> None:
    shown = chapter("wsat")
    made = table_of(plot(shown, "iops-time-linear"), rows_max=10)
    assert len(made.rows) == 10
    assert made.note == "10 of 70 positions"
    series = plot(shown, "iops-time-linear").series[0]
    assert made.rows[0] == (series.x[0], series.y[0])
    assert made.rows[-1] == (series.x[-1], series.y[-1])


def test_an_unknown_test_is_shown_by_its_tables() -> None:
    document = pts_documents.iops()
    document["test"] = "later"
    shown = views.chapter(document, "later")
    assert {"iops", "window-1"} <= {one.id for one in shown.items}
    assert any("digest" in text for text in shown.missing)


@pytest.mark.parametrize("count", [7, 100_000])
def test_requests_that_took_no_time_do_not_stretch_the_histogram(count: int) -> None:
    document = pts_documents.latency()
    histogram = document["histograms"][0]
    histogram["ns"].insert(0, 0)
    histogram["counts"].insert(0, count)
    found = plot(views.chapter(document, "latency"), "histogram-response_time")
    assert f"holds {words.number(count)} that were faster still" in found.note
    assert min(x for x in found.series[0].x if x) > 20
    assert sum(count or 0 for count in found.series[0].y) == sum(histogram["counts"])
