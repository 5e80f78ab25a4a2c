"""`runs plot`, `runs rerun`, `runs sweeps`: what a sweep left in the store."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab.base.errors import ConfigError
from opennandlab.cli import app
from opennandlab.reports.runs import choose, plots
from opennandlab.stats.groups import Group, Mean
from opennandlab.store import Store
from opennandlab.studies.sweeps import drawing
from opennandlab.studies.sweeps.predicted import predicted_at
from opennandlab.theory.prediction import predicted_waf

SMALL = {"nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
                  "blocks_per_plane": 64, "pages_per_block": 32}}  # fmt: skip
WORK = {"pattern": "random", "total": {"drive_writes": 2}, "timed": False}
VARY = {"ftl.gc_policy": ["greedy", "fifo"], "ftl.over_provisioning_pct": [0.1, 0.2, 0.3]}


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onl.sweep(SMALL, WORK, vary=VARY, seeds=2, store="kept", name="grid")
    return tmp_path


def run(*asked: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["runs", *asked, "--store", "kept"])
    assert result.exit_code == code, result.output
    return result.stdout if "--json" in asked else result.output


def test_what_a_store_has_is_drawn(kept):
    assert "12 points drawn" in run("plot", "a.svg")
    text = (kept / "a.svg").read_text()
    assert "Write amplification against over-provisioning" in text
    # Keys may be given by their ends.
    run("plot", "b.png", "--x", "gc_policy", "--lines", "over_provisioning_pct", "--y", "gc_cycles")
    assert (kept / "b.png").read_bytes().startswith(b"\x89PNG")
    run("plot", "c.html", "--where", "sweep=grid", "--where", "gc_policy=greedy", "--title", "Mine")
    page = (kept / "c.html").read_text()
    assert "<title>Mine" in page


@pytest.mark.parametrize(("asked", "said"), [
    (["a.gif"], "gif"),
    (["a.svg", "--x", "nothing"], "no point has `nothing`"),
    (["a.svg", "--y", "wafs"], "wafs"),
    (["a.svg", "--where", "waf>100"], "no finished point is left"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_told(kept, asked, said):
    assert said in run("plot", *asked, code=2)
    assert not (kept / "a.svg").exists()


def test_unlike_points_are_not_averaged(kept):
    # The same coordinates, another drive.
    other = {"nand": {**SMALL["nand"], "pages_per_block": 64}}
    onl.sweep(other, WORK, vary=VARY, store="kept", name="other")
    assert "different settings" in run("plot", "a.svg", code=2)
    run("plot", "a.svg", "--where", "sweep=other")
    assert (kept / "a.svg").exists()


def test_a_point_that_is_run_again_is_identical(kept):
    with Store.open(kept / "kept") as store:
        key = store.keys()[0]
    assert "identical" in run("rerun", key[:10])
    found = json.loads(run("rerun", key[:10], "--json"))
    assert (found["key"], found["identical"]) == (key, True)


def test_a_document_that_another_program_made_is_told(kept):
    with Store.open(kept / "kept") as store:
        entry = store.entry(store.keys()[0])
    changed = {**entry.document, "digest": "00" * 32}
    changed["metrics"] = {**changed["metrics"], "waf": 99.0}
    made = onl.open_store(kept / "made")
    with made as store:
        from dataclasses import replace

        store.add([replace(entry, document=changed)])
    result = CliRunner().invoke(app, ["runs", "rerun", entry.key[:8], "--store", "made"])
    assert result.exit_code == 1
    assert "metrics.waf: 99.0 against" in result.output


@pytest.mark.usefixtures("kept")
def test_sweeps_are_listed():
    assert "grid" in run("sweeps")
    found = json.loads(run("sweeps", "--json"))["sweeps"]
    assert [(one["name"], one["points"], one["done"]) for one in found] == [("grid", 12, 12)]
    assert found[0]["definition"]["grid"] == {key: list(values) for key, values in VARY.items()}


COUNTED = {"code": "nand-n1024-r0889", "method": "monte_carlo", "max_frames": 2000}
POINTS = {"x": [2e-4, 4e-3, 1e-2]}


def drawn(name: str, seeds: int = 1, **asked):
    from opennandlab.reports.runs import choose, plots

    vary = asked.pop("vary", POINTS)
    runs = onl.sweep(verb="ecc.curve", vary=vary, seeds=seeds, changes={**COUNTED, **asked},
                     store="kept", name=name)  # fmt: skip
    groups = runs.groups
    return plots(groups, choose(groups, {}, "fer", None))[0], runs


def test_a_point_of_one_seed_has_the_interval_of_its_document(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    figure, runs = drawn("one")
    line, bound, key = figure.series
    rows = [row.metrics for row in runs.rows]
    assert rows[0]["frame_errors"] == 0
    assert line.y == [None, rows[1]["fer"], rows[2]["fer"]]
    assert line.low == [None, rows[1]["fer_low"], rows[2]["fer_low"]]
    assert line.high == [None, rows[1]["fer_high"], rows[2]["fer_high"]]
    assert bound.y == [rows[0]["fer_high"], None, None]
    assert (key.is_key, key.draw) == (True, "bounds")
    assert (figure.x.label, figure.x.scale) == ("raw bit error rate (RBER)", "log")
    run("plot", "one.png", "--where", "sweep=one")
    assert (tmp_path / "one.png").exists()


def test_several_seeds_are_one_count(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    figure, runs = drawn("three", seeds=3)
    line, bound, _ = figure.series
    rows = [row.metrics for row in runs.rows if row.coordinates["x"] == 4e-3]
    errors, frames = (sum(row[key] for row in rows) for key in ("frame_errors", "frames"))
    assert line.y[1] == pytest.approx(errors / frames)
    # Narrower than that of a seed, and within a fifth of that of the normal distribution.
    half = 1.96 * (errors * (1 - errors / frames)) ** 0.5 / frames
    assert line.high[1] - line.low[1] == pytest.approx(2 * half, rel=0.2)
    # 6000 frames without an error, by the formula of Clopper and Pearson.
    assert bound.y[0] == pytest.approx(1 - 0.025 ** (1 / 6000))


def test_weighted_points_keep_the_interval_of_students_distribution(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = {"method": "importance_sampling", "channel": "sensing:3",
             "vary": {"x": [6e-3, 8e-3]}, "max_frames": 20_000}  # fmt: skip
    figure, runs = drawn("weighted", seeds=2, **asked)
    means = [group.means["fer"] for group in runs.groups]
    assert figure.series[0].y == [mean.mean for mean in means]
    assert figure.series[0].high == [mean.high for mean in means]
    assert figure.series[0].marks == ["hollow", "hollow"]
    figure, runs = drawn("single", **asked)
    assert figure.series[0].marks == ["hollow", "hollow"]
    assert figure.series[0].low == [row.metrics["fer_low"] for row in runs.rows]


def test_decibels_and_error_rates_share_no_axis(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    figure, _ = drawn("db", channel="awgn", vary={"x": [4, 5]})
    assert (figure.x.label, figure.x.scale) == ("Eb/N0, dB per information bit", "linear")
    with pytest.raises(ConfigError, match=r"Eb/N0 \(awgn\) and over raw bit error rates"):
        drawn("both", vary={"x": [0.01, 0.02], "channel": ["awgn", "bsc"]})


def test_theory_is_drawn_between_the_points(tmp_path):
    """With over-provisioning of 0.07 and 0.28 the curve read 5.3 at 0.18: a straight line."""
    drive = {"nand": {**SMALL["nand"], "channels": 2}, "ftl": {"gc_reserve_blocks": 2}}
    work = {**WORK, "precondition": [{"kind": "sequential_fill"}]}
    vary = {"ftl.over_provisioning_pct": [0.07, 0.28], "ftl.gc_policy": ["greedy", "fifo"]}
    made = onl.sweep(drive, work, vary=vary, store=tmp_path / "kept", name="two")
    with Store.open(tmp_path / "kept", create=False) as store:
        drawn = drawing.drawing(store, [], {})
    kept_plot = drawn.report.chapters[0].sections[0].items[0]
    for plot in (kept_plot, plots(made.groups, made._wanted({}))[0]):
        curves = {one.name: one for one in plot.series if one.name.endswith(", theory")}
        assert set(curves) == {"greedy, theory", "FIFO, theory"}
        # The legend shows a line of theory in the colour that it has.
        keys = {plot.series[at].name: plot.series[at].colour for at in plot.legend}
        assert keys["greedy, theory"] == keys["greedy"] != keys["FIFO, theory"] == keys["FIFO"]
        assert plot.y.least == 1.0
        assert plot.x.label == "over-provisioning (%)"
        for policy, word in (("greedy", "greedy"), ("fifo", "FIFO")):
            curve = curves[f"{word}, theory"]
            assert (curve.draw, len(curve.x)) == ("dashed", 122)
            assert (curve.x[0], curve.x[-1]) == pytest.approx((7.0, 28.0))
            found = dict(zip([x / 100 for x in curve.x], curve.y, strict=True))
            at = min(found, key=lambda place: abs(place - 0.18))
            changes = {"ftl.over_provisioning_pct": at, "ftl.gc_policy": policy}
            device = onl.load_device(drive, changes)
            straight = curve.y[0] + (curve.y[-1] - curve.y[0]) * (at - 0.07) / 0.21
            assert found[at] == pytest.approx(predicted_waf(device.to_dict(), device.effective))
            assert found[at] < 0.8 * straight
            assert list(curve.y) == sorted(curve.y, reverse=True)


def test_a_curve_of_whole_numbers_and_one_that_nobody_knows():
    groups = [
        Group({"d": d}, 1, 0, None, {"waf": Mean(3.0, None, 1), "predicted_waf": Mean(v, None, 1)})
        for d, v in ((2, 5.0), (6, 3.0))
    ]
    wanted = choose(groups, {}, "waf", "predicted_waf")

    def whole(coordinates, key, value):
        assert (coordinates["d"], key) == (2, "d")
        return 10.0 / value if isinstance(value, int) else None

    (plot,) = plots(groups, replace(wanted, formula=whole))
    curve = next(one for one in plot.series if one.name == "write amplification, theory")
    assert (list(curve.x), curve.draw) == ([2.0, 3, 4, 5, 6.0], "dashed")
    (plot,) = plots(groups, wanted)
    curve = next(one for one in plot.series if one.name == "write amplification, theory")
    assert (list(curve.x), curve.draw) == ([2.0, 6.0], "points")


def test_code_that_settings_name_is_not_run_for_a_curve(tmp_path):
    device = onl.load_device(SMALL).to_dict()
    device["ftl"]["gc_policy"] = {
        "kind": "python", "name": "os:mkdir", "parameters": {"path": str(tmp_path / "made")},
        "source_sha256": None,
    }  # fmt: skip
    assert predicted_at({"device": device, "workload": WORK}, "nand.channels", 2) is None
    assert not (tmp_path / "made").exists()
