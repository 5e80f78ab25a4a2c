"""`runs plot`, `runs rerun`, `runs sweeps`: what a sweep left in the store."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab.cli import app
from opennandlab.store import Store

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
    assert "waf against ftl.over_provisioning_pct" in text
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
    (["a.svg", "--where", "waf>100"], "no point is left"),
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
    assert found == {"key": key, "identical": True}


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
    found = json.loads(run("sweeps", "--json"))
    assert [(one["name"], one["points"], one["done"]) for one in found] == [("grid", 12, 12)]
    assert found[0]["definition"]["grid"] == {key: list(values) for key, values in VARY.items()}
