"""`sweep` from the command line: table, plot, JSON, failures, dry runs, signals, two at once."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from opennandlab.cli import app
from opennandlab.store import Store

DEVICE = "nand: {channels: 1, dies_per_channel: 1, planes_per_die: 1, blocks_per_plane: 64, \
pages_per_block: 32}\n"
WORK = "pattern: random\ntotal: {drive_writes: 2}\ntimed: false\n"
SLOW = "pattern: random\ntotal: {drive_writes: 4000}\ntimed: false\n"
GRID = ("--vary", "ftl.gc_policy=greedy,fifo", "--vary", "ftl.over_provisioning_pct=0.1:0.3:3")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    (tmp_path / "dev.yaml").write_text(DEVICE)
    (tmp_path / "work.yaml").write_text(WORK)
    (tmp_path / "slow.yaml").write_text(SLOW)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENNANDLAB_STORE", raising=False)
    return tmp_path


def run(*asked: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["sweep", *asked, "--store", "kept"])
    assert result.exit_code == code, result.output
    return result.stdout if "--json" in asked else result.output


def swept(*more: str, code: int = 0) -> str:
    return run("-c", "dev.yaml", "-w", "work.yaml", *GRID, *more, code=code)


def test_a_sweep_prints_a_table_with_intervals():
    text = swept("--seeds", "3")
    assert "greedy" in text
    assert "±" in text
    assert max(map(len, text.splitlines())) <= 100
    again = swept("--seeds", "3")
    assert "18 of 18 points are known" in again


def test_json_has_points_and_groups():
    found = json.loads(swept("--seeds", "2", "--json"))
    assert found["counts"] == {"points": 12, "known": 0, "failed": 0}
    assert len(found["groups"]) == 6
    assert all(point["metrics"]["waf"] >= 1 for point in found["points"])
    assert json.loads(swept("--seeds", "2", "--json"))["counts"]["known"] == 12


@pytest.mark.parametrize("ending", ["svg", "png", "pdf", "html"])
def test_a_sweep_is_drawn_into_a_file(here, ending):
    swept("--seeds", "2", "--plot", f"waf.{ending}")
    head = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF", "html": b"<!DOCTYPE"}[ending]
    assert (here / f"waf.{ending}").read_bytes().startswith(head)


def test_a_plot_has_the_axes_that_are_asked_for(here):
    swept("--plot", "a.svg", "--x", "ftl.gc_policy", "--lines", "ftl.over_provisioning_pct")
    assert "victim policy" in (here / "a.svg").read_text()
    swept("--plot", "b.html", "--facets", "ftl.gc_policy")
    page = (here / "b.html").read_text()
    assert "victim policy: greedy" in page
    assert "is not varied" in swept("--plot", "c.svg", "--x", "nand.channels", code=2)


def test_a_dry_run_says_what_it_would_cost_and_keeps_nothing():
    text = swept("--seeds", "2", "--dry-run")
    assert "12 points, 0 known, 12 to run" in text
    found = json.loads(swept("--seeds", "2", "--dry-run", "--json"))
    assert (found["missing"], found["pilot_s"] > 0) == (12, True)
    assert not Path("kept").exists()


def test_failures_are_rows_and_the_exit_code_tells():
    text = run(
        "-c", "dev.yaml", "-w", "work.yaml", "--vary", "ftl.gc_policy=greedy,none_such", code=1
    )
    assert "1 of 2 points failed" in text
    assert "none_such" in text
    # It stays a failure, and costs nothing again.
    assert "2 of 2 points are known" in run(
        "-c", "dev.yaml", "-w", "work.yaml", "--vary", "ftl.gc_policy=greedy,none_such", code=1
    )


def test_a_sweep_file_and_options_over_it():
    Path("op.yaml").write_text(
        "device: dev.yaml\nworkload: work.yaml\nset: {ftl.write_frontiers: host_gc}\n"
        "grid: {ftl.gc_policy: [greedy, fifo]}\nseeds: {count: 2}\nplot: {y: gc_cycles}\n"
    )
    assert "gc_cycles" in run("op.yaml")
    found = json.loads(run("op.yaml", "--vary", "ftl.gc_policy=random", "--json"))
    assert [group["coordinates"] for group in found["groups"]] == [{"ftl.gc_policy": "random"}]
    with Store.open(Path("kept")) as store:
        assert [sweep.name for sweep in store.sweeps()] == ["op"]


def test_formulas_and_codes_are_swept_too():
    assert "2.693" in run("theory.waf", "--set", "policy=fifo", "--vary",
                          "over_provisioning_pct=0.07,0.25")  # fmt: skip
    text = run("ecc.curve", "--set", "code=bch:m=8,t=4", "--vary", "x=1e-3:1e-2:3:log")
    assert "fer_high" in text


@pytest.mark.parametrize(("asked", "said"), [
    (["none.yaml"], "none.yaml"),
    (["bench"], "did you mean `benchmark`"),
    (["-c", "dev.yaml"], "workload"),
    (["-w", "work.yaml", "--vary", "ftl.gc_policy"], "accepted: KEY="),
    (["-w", "work.yaml", "--vary", "nand.channel=1,2"], "nand.channel"),
    (["-w", "work.yaml", "--until", "waf"], "waf=0.5%"),
    (["-w", "work.yaml", "--seeds", "0"], "seeds.count"),
    (["-w", "work.yaml", "--metrics", "wafs", "-c", "dev.yaml"], "did you mean `waf`"),
    (["theory.waf", "--seeds", "3"], "no seeds"),
    (["theory.waf", "-w", "work.yaml"], "accepted: policy"),
    (["-w", "work.yaml", "--plot", "x.gif"], "gif"),
    (["-w", "work.yaml", "--scheduler", "tcp://127.0.0.1:1"], "--engine dask"),
    (["-w", "work.yaml", "--engine", "dask", "--scheduler", "nonsense"], "for example tcp://"),
    (["-w", "work.yaml", "--vary", "ftl.over_provisioning_pct=.nan,0.1"], "not a finite number"),
    (["-w", "work.yaml", "--set", "ftl.over_provisioning_pct=.inf"], "not a finite number"),
    (["-w", "work.yaml", "--vary", "ftl.over_provisioning_pct=2020-01-01,0.1"], "neither number"),
    (["-w", "work.yaml", "--name", "bad\udcff"], "printable characters"),
    (["-w", "work.yaml", "--name", ""], "printable characters"),
    (["-w", "work.yaml", "--seed", "18446744073709551615", "--seeds", "2"], "accepted: 0 to"),
    (["pts.iops", "-c", "dev.yaml", "--set", "pts=3"], "wrong kind"),
    (["pts.iops", "-c", "dev.yaml", "--set", "pts.threads=abc"], "wrong kind"),
    (["ecc.curve", "--set", "code=bch:m=8,t=4", "--set", "x=1e-3", "--set",
      "decoder.iterations=abc"], "wrong kind"),
    (["theory.waf", "--set", "spare_factor=0.1", "--vary", "over_provisioning_pct=0.1:0.2:2",
      "--x", "nothing"], "is not varied"),
    (["theory.waf", "--vary", "over_provisioning_pct=0.1:0.2:1000000"], "at most 100000"),
    (["theory.waf", "--vary", "spare_factor=0.1,0.2:0.3:4"], "a range in a list of values"),
    (["theory.waf", "--vary", "d=2,3", "--set", "d=4"], "in --set and in --vary"),
    (["theory.waf", "--plot", "x.svg"], "nothing is varied"),
    (["ecc.curve", "--set", "code=bch:m=8,t=4", "--vary", "x=1e-3", "--set", "errors=-1"],
     "accepted: 1 and more"),
    (["ecc.curve", "--set", "code=bch:m=8,t=4", "--vary", "x=-1,2"], "accepted:"),
    (["ecc.curve", "--set", "code=bch:m=8,t=4", "--set", "x=1e-3", "--vary",
      "decoder.iterations=1,2"], "changes nothing with BCH"),
])  # fmt: skip
def test_what_cannot_be_is_refused_with_a_sentence(asked, said):
    text = run(*asked, code=2)
    assert said in text
    assert "Traceback" not in text
    # A refused sweep once left an empty store.
    assert not Path("kept").exists()


@pytest.mark.parametrize("asked", [("--metrics", "wfa"), ("--y", "wfa"), ("--until", "wfa=1%")])
def test_names_of_no_number_are_refused_before_anything_runs(asked):
    """An hour of points ended in the refusal of a name with a slip."""
    for verb in (["-c", "dev.yaml", "-w", "work.yaml", *GRID, "--dry-run"],
                 ["reliability.drive-life", "-c", "dev.yaml", "--vary", "life.tbw_tb=1,2"],
                 ["pts.iops", "-c", "dev.yaml", "--vary", "pts.oio=1,2"]):  # fmt: skip
        text = run(*verb, *asked, code=2)
        assert "`wfa` is not a metric of these runs" in text
        assert not Path("kept").exists()
    assert "did you mean `waf`" in swept(*asked, code=2)


def test_numbers_that_the_first_point_lacks_are_no_slips():
    """The names were those of one point: of cost_benefit, which has no closed form."""
    grid = ("theory.waf", "--vary", "policy=cost_benefit,greedy")
    assert "`waff` is not a metric" in run(*grid, "--metrics", "waff", code=2)
    assert not Path("kept").exists()
    text = run(*grid, "--metrics", "waf", "--plot", "waf.svg", "--y", "waf")
    assert re.search(r"cost_benefit │ +1 │ +- *\n", text)
    assert re.search(r"greedy +│ +1 │ 7\.597", text)


@pytest.mark.parametrize("more", [["--store", "kept"], []])
def test_a_sweep_names_its_store_once_and_paper_is_silent_with_quiet(monkeypatch, more):
    monkeypatch.setenv("OPENNANDLAB_STORE", "usual")
    asked = ["sweep", "theory.waf", "--vary", "spare_factor=0.1,0.2", *more]
    said = CliRunner().invoke(app, asked).output
    assert said.count(f"points are kept in the store {'kept' if more else 'usual'}\n") == 1
    drawn = [*asked, "--plot", "waf.pdf", "--paper", "85mm"]
    assert "includegraphics" in CliRunner().invoke(app, drawn).output
    assert CliRunner().invoke(app, [*drawn, "--quiet"]).output == ""


COMMAND = (sys.executable, "-m", "opennandlab", "sweep", "-c", "dev.yaml", "--store", "kept")


def begun(*asked: str) -> subprocess.Popen[str]:
    """Start a sweep that takes its time, and wait until it has kept something."""
    process = subprocess.Popen(
        [*COMMAND, *asked], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if Path("kept/runs.db").exists():
            with Store.open(Path("kept")) as store:
                if len(store) >= 2:
                    return process
        time.sleep(0.02)
    process.kill()
    raise AssertionError(process.communicate())


def kept_keys() -> set[str]:
    with Store.open(Path("kept")) as store:
        return set(store.keys())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_keeps_what_is_done_and_the_same_command_goes_on(number):
    asked = ("-w", "slow.yaml", "--vary", "ftl.over_provisioning_pct=0.2:0.4:9", "--seeds", "40",
             "--jobs", "2", "--set", "nand.max_pe_cycles=1000000000")  # fmt: skip
    process = begun(*asked)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    before = kept_keys()
    assert 2 <= len(before) < 360
    if number != signal.SIGKILL:
        assert process.returncode == 130
        assert "the same command continues" in err
        assert "Traceback" not in err + out
    # A little sweep of the same points: those that are there are known.
    with Store.open(Path("kept")) as store:
        row = store.rows(columns=["ftl.over_provisioning_pct", "seed"], limit=1)
    op, seed = row.rows[0]
    fixed = ("-c", "dev.yaml", "-w", "slow.yaml", "--set", "nand.max_pe_cycles=1000000000")
    one = ("--vary", f"ftl.over_provisioning_pct={op}", "--seed", str(seed), "--json")
    found = json.loads(run(*fixed, *one))
    assert found["counts"]["known"] == 1


def test_two_sweeps_at_once_into_one_store_lose_nothing():
    asked = ["-w", "work.yaml", *GRID, "--seeds", "8", "--quiet"]
    both = [subprocess.Popen([*COMMAND, *asked], env={**os.environ}) for _ in range(2)]
    assert [process.wait(120) for process in both] == [0, 0]
    assert len(kept_keys()) == 48
    assert json.loads(run("-c", "dev.yaml", *asked[:-1], "--json"))["counts"]["known"] == 48


def test_a_store_that_another_process_holds_is_told_and_nothing_is_lost(monkeypatch):
    swept("--seeds", "1")
    monkeypatch.setattr(Store.open.__func__, "__kwdefaults__", {"create": True, "timeout_s": 0.1})
    with sqlite3.connect("kept/runs.db", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        text = swept("--seeds", "2", code=3)
        other.execute("ROLLBACK")
    assert "the same command continues" in text
    assert len(kept_keys()) == 6
    swept("--seeds", "2")
    assert len(kept_keys()) == 12


def test_points_over_unlike_axes_are_not_put_side_by_side():
    text = run("ecc.curve", "--set", "code=bch:m=8,t=4", "--vary", "channel=bsc,awgn", "--set",
               "x=5e-3", code=1)  # fmt: skip
    assert "accepted: one kind in a sweep" in text


def test_what_a_reader_must_know_is_said_under_the_table():
    # The two capacities behind a fill are no steady state.
    Path("work.yaml").write_text(WORK + "precondition: [{kind: sequential_fill}]\n")
    assert "of waf are further from predicted_waf than their interval" in swept("--seeds", "3")
    text = run("ecc.curve", "--set", "code=bch:m=8,t=4", "--set", "x=5e-3", "--until",
               "fer=0.1%", "--seeds-max", "4")  # fmt: skip
    assert "1 of 1 intervals of fer are wider than 0.001 of the mean" in text
    assert "fer_low" not in text  # ends of intervals have no mean
    Path("pts.yaml").write_text("nand: {blocks_per_plane: 64, pages_per_block: 32}\n")
    text = run("pts.throughput", "-c", "pts.yaml", "--set", "pts.time_base=smoke", "--vary",
               "ftl.over_provisioning_pct=0.1,0.2")  # fmt: skip
    assert "smoke: not a result" in text
    assert "steady" in text


def test_a_dry_run_tells_of_known_points_that_failed():
    asked = ("theory.waf", "--vary", "policy=greedy,fifo", "--vary", "d=2")
    bad = ("-c", "dev.yaml", "-w", "work.yaml", "--vary", "ftl.over_provisioning_pct=0.2,0.0001")
    run(*asked)
    run(*bad, code=1)
    assert "1 of them failed (--retry" in run(*bad, "--dry-run")
    assert "failed" not in run(*asked, "--dry-run")
