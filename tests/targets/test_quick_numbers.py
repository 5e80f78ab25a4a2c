"""`quick`: eight numbers that agree with those of the other verbs, and of fio itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from fake_target import FakeTarget
from opennandlab.base.errors import ConfigError
from opennandlab.cli import app
from opennandlab.cli.quick import _Line
from opennandlab.targets.base import TargetError
from opennandlab.targets.opening import Request, open_target
from opennandlab.targets.quick import (
    CELLS,
    OPS,
    Quick,
    Settings,
    Stage,
    make_plan,
    run_quick,
)
from opennandlab.targets.simulated import SimulatedTarget
from real_drives import needs_fio

MIB = 1 << 20
RUNNER = CliRunner()


@pytest.fixture(scope="module")
def measured() -> Quick:
    return run_quick(SimulatedTarget("tlc_standard"), Settings(runs=3, seconds=2.0))


def test_eight_rows_in_the_order_of_the_table(measured: Quick) -> None:
    assert [(row.cell, row.op) for row in measured.rows] == [
        (cell, op) for op in OPS for cell in CELLS
    ]
    assert [cell.name for cell in CELLS] == [
        "SEQ1M Q8T1",
        "SEQ1M Q1T1",
        "RND4K Q32T1",
        "RND4K Q1T1",
    ]
    assert all(len(row.runs) == 3 for row in measured.rows)
    assert measured.range_bytes == 1 << 30
    assert measured.state.name == "fresh"
    written = sum(run.written_bytes for row in measured.rows for run in row.runs)
    assert measured.written_bytes == (1 << 30) + written


def test_littles_law_holds_in_every_run(measured: Quick) -> None:
    """IOPS x mean response time is the queue depth, but for requests cut by a run's ends.

    At most a queue of them, of all that a run has.
    """
    for row in measured.rows:
        for run in row.runs:
            outstanding = run.iops * (run.latency.mean_ns or 0.0) * 1e-9
            depth = row.cell.queue_depth
            assert outstanding == pytest.approx(depth, rel=(depth + 1) / run.ios), row.cell.name


@pytest.mark.parametrize("number", range(8))
def test_a_row_agrees_with_benchmark(measured: Quick, number: int) -> None:
    """The same cell as a workload of a drive that is filled otherwise, and with another seed.

    Reads agree within 0.1 %. Writes differ by the request at the end of a run of 2 s (a
    sequential run has 176 of them) and by what the range held before.
    """
    row = measured.rows[number]
    share = (measured.range_bytes + 0.5) / SimulatedTarget("tlc_standard").capacity_bytes
    workload = {
        "pattern": row.cell.pattern,
        "read_pct": 100 if row.op == "read" else 0,
        "block_size_bytes": row.cell.block_bytes,
        "queue_depth": row.cell.queue_depth,
        "active_range_pct": 100.0 * share,
        "precondition": [{"kind": "sequential_fill", "fills": 1}],
        "total": {"bytes": row.runs[0].ios * row.cell.block_bytes},
    }
    found = onl.benchmark("tlc_standard", workload, seed=3).document["metrics"]["iops"]["total"]
    tolerance = 0.001 if row.op == "read" else 0.015
    assert row.median(lambda run: run.iops) == pytest.approx(found, rel=tolerance)


def test_best_and_median_are_those_of_the_runs(measured: Quick) -> None:
    row = measured.rows[2]
    rates = sorted(run.mb_s for run in row.runs)
    assert row.best(lambda run: run.mb_s) == rates[-1]
    assert row.median(lambda run: run.mb_s) == rates[1]
    assert row.best(lambda run: run.iops) * 4096e-6 == pytest.approx(rates[-1])


def test_the_same_seed_gives_the_same_numbers_and_another_one_others() -> None:
    def rates(seed: int) -> list[float]:
        settings = Settings(size_bytes=16 * MIB, runs=2, seconds=0.05, seed=seed)
        found = run_quick(SimulatedTarget("tlc_standard"), settings)
        return [run.iops for row in found.rows for run in row.runs]

    assert rates(1) == rates(1) != rates(2)


def test_steady_is_slower_than_fresh_and_as_the_formula_says() -> None:
    """The WAF of the random writes is that of a drive in steady state, not 1."""
    settings = Settings(size_bytes=30623 * MIB, runs=1, seconds=20.0, prepare="steady")
    found = run_quick(SimulatedTarget("tlc_standard"), settings)
    assert found.state.name == "steady"
    write = next(row for row in found.rows if (row.cell.name, row.op) == ("RND4K Q32T1", "write"))
    # 8.341 by theory, as `benchmark -w W2` shows; 20 s are one or two blocks a die.
    assert write.runs[0].inside["waf"] == pytest.approx(8.341, rel=0.05)


def test_filled_is_what_the_test_filled() -> None:
    settings = Settings(size_bytes=8 * MIB, runs=1, seconds=0.01, prepare="fill")
    target = SimulatedTarget("emmc_16gb", {"nand.blocks_per_plane": 64})
    found = run_quick(target, settings)
    assert found.state.name == "filled"
    written = sum(run.written_bytes for row in found.rows for run in row.runs)
    assert found.written_bytes - written == pytest.approx(target.capacity_bytes, abs=1 << 17)


def test_a_drive_that_never_gets_steady_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from opennandlab.stats.steady import SteadyState
    from opennandlab.targets import quick

    never = SteadyState(steady=False, reason="excursion")
    monkeypatch.setattr(quick, "steady_state", lambda _: never)
    with pytest.raises(TargetError, match="not steady after 25 rounds"):
        run_quick(FakeTarget(), Settings(size_bytes=8 * MIB, prepare="steady"))


def test_ctrl_c_keeps_what_was_measured() -> None:
    def interrupt(stage: Stage) -> None:
        if stage.text.startswith("SEQ1M Q1T1 read, run 2"):
            raise KeyboardInterrupt

    target = SimulatedTarget("tlc_standard")
    found = run_quick(target, Settings(size_bytes=64 * MIB, seconds=0.1), interrupt)
    assert found.is_cut
    assert [(row.cell.name, len(row.runs)) for row in found.rows] == [
        ("SEQ1M Q8T1", 5),
        ("SEQ1M Q1T1", 1),
    ]


@pytest.mark.parametrize("size", [0, MIB, 8 * MIB + 1, 1 << 50])
def test_a_range_that_does_not_fit_is_refused(size: int) -> None:
    with pytest.raises(ConfigError, match="whole MiB, from 8388608 to"):
        Settings(size_bytes=size).range_bytes(1 << 30)


def test_a_plan_says_what_is_written_at_most() -> None:
    plan = make_plan(Settings(size_bytes=64 * MIB, runs=3, seconds=2.0), 1 << 30)
    assert plan.write_bytes_max == 64 * MIB * 13  # once before, and 4 cells x 3 runs
    assert plan.seconds_max == 48.0
    assert make_plan(Settings(prepare="fill"), 1 << 30).prepare_bytes == 1 << 30


def test_the_time_left_is_that_of_the_share_that_was_seen() -> None:
    now = [10.0]
    line = _Line(lambda: now[0])
    assert line(Stage("filling", None)) == "quick · filling"
    assert line(Stage("a", 0.2)) == "quick · 20% · a"
    now[0] += 6.0
    assert line(Stage("a", 0.5)) == "quick · 50% · 10 s left · a"


def test_rows_fit_80_columns_and_json_has_every_run() -> None:
    words = ["quick", "--target", "sim:tlc_standard", "--size", "64MiB", "--runs", "2"]
    words += ["--seconds", "0.2"]
    done = RUNNER.invoke(app, words)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 24
    assert "state before: fresh" in done.stdout
    document = json.loads(RUNNER.invoke(app, [*words, "--json"]).stdout)
    assert len(document["cells"]) == 8
    for cell in document["cells"]:
        assert cell["iops_best"] == max(run["iops"] for run in cell["runs"])
        assert cell["mb_s_best"] == pytest.approx(cell["iops_best"] * cell["block_bytes"] * 1e-6)


@needs_fio
def test_on_a_file_the_numbers_are_those_of_fio_itself(tmp_path: Path) -> None:
    path = tmp_path / "drive.img"
    request = Request(f"file:{path}?size=16MiB", folder=tmp_path / "fio")
    target = open_target(request)
    found = run_quick(target, Settings(runs=1, seconds=0.3))
    target.close()
    assert found.state.name == "unknown"
    outputs = sorted((tmp_path / "fio").glob("*-t1-q*.json"))
    outputs = [one for one in outputs if "probe" not in one.name][1:]  # the first wrote the range
    measured = [*(found.rows[:4]), *reversed(found.rows[4:])]
    assert len(outputs) == len(measured) == 8
    for row, output in zip(measured, outputs, strict=True):
        text = output.read_text()
        job = json.loads(text[text.index("{") :])["jobs"][0][row.op]
        assert row.runs[0].ios == job["total_ios"]
        assert row.runs[0].latency.mean_ns == pytest.approx(job["lat_ns"]["mean"], rel=1e-6)
        seconds = job["runtime"] * 1e-3
        assert row.runs[0].seconds == pytest.approx(seconds)
        # Rates have no more digits than fio's clock of milliseconds.
        assert row.runs[0].iops == pytest.approx(
            job["total_ios"] / seconds, rel=1e-3 / seconds * 10
        )


@needs_fio
def test_a_file_that_holds_something_needs_consent(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_bytes(b"mine" * MIB)
    words = ["quick", "--target", f"file:{path}"]
    refused = RUNNER.invoke(app, words)
    assert refused.exit_code == 3
    assert "--destructive allows that" in refused.output
    plan = RUNNER.invoke(app, [*words, "--dry-run", "--size", "8MiB", "--json"])
    assert plan.exit_code == 2  # 4 MiB have no room
    assert path.read_bytes() == b"mine" * MIB


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--size", "7MiB"), "whole MiB"),
        (("--size", "many"), "is not understood"),
        (("--runs", "0"), "--runs"),
        (("--target", "nothing"), "is not understood"),
    ],
)
def test_bad_values_are_refused(words: tuple[str, ...], said: str) -> None:
    done = RUNNER.invoke(app, ["quick", "--target", "sim:tlc_standard", *words])
    assert done.exit_code == 2
    assert said in done.output


def test_no_number_of_seconds_is_refused() -> None:
    done = RUNNER.invoke(app, ["quick", "--target", "sim:tlc_standard", "--seconds", "nan"])
    assert done.exit_code == 2
    assert "`nan` is not valid; accepted: a number" in done.stderr
