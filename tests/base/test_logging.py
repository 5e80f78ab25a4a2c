"""Logs: what the package says under its name, and where the command puts it."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

import opennandlab as onl
from conftest import SHORT, SMALL, Cli
from opennandlab.cli._progress import shown

RUN = ("benchmark", "-w", "short.yaml", "-c", "small.yaml", "--quiet")


def test_a_run_says_what_it_begins_and_what_came_of_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "opennandlab"):
        result = onl.benchmark(SMALL, SHORT, seed=3)
    begun, done = caplog.records
    assert (begun.name, begun.levelname) == ("opennandlab.run", "INFO")
    assert begun.getMessage().startswith("begin custom on custom, seed 3")
    assert result.digest in done.getMessage()
    assert done.facts["passed"] is True


def test_a_standard_test_and_a_sweep_say_what_they_do(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    with caplog.at_level(logging.INFO, "opennandlab"):
        onl.sweep(SMALL, SHORT, vary={"ftl.gc_policy": ["greedy", "none_such"]}, store=tmp_path)
    said = [one.getMessage() for one in caplog.records if one.name == "opennandlab.sweep"]
    assert said[0] == "ftl.gc_policy = greedy, seed 42: done"


def test_nothing_is_logged_unless_it_is_asked_for(cli: Cli, folder: Path) -> None:
    before = {path.name for path in folder.iterdir()}
    done = cli(*RUN)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert {path.name for path in folder.iterdir()} == before


def test_verbose_goes_to_stderr_and_leaves_stdout_alone(cli: Cli) -> None:
    done = cli("-v", *RUN[:-1], "--json")
    assert json.loads(done.stdout)["seed"] == 42
    lines = done.stderr.splitlines()
    assert " INFO    opennandlab.run begin short" in lines[0]
    assert any("done, self-checks True" in line and "digest" in line for line in lines)


def test_a_log_file_is_appended_to_and_holds_what_was_said_on_stderr(
    cli: Cli, folder: Path
) -> None:
    log = ("--log", "run.log", "--log-format", "json")
    assert cli(*log, *RUN).returncode == 0
    failed = cli(*log, "benchmark", "-w", "short.yaml", "-c", "none\x1b[31m")
    assert failed.returncode == 2
    rows = [json.loads(line) for line in (folder / "run.log").read_text().splitlines()]
    assert [row["name"] for row in rows] == [
        "opennandlab.run",
        "opennandlab.run",
        "opennandlab.cli",
    ]
    assert rows[1]["passed"] is True
    assert (rows[2]["level"], rows[2]["message"][:6]) == ("error", "error:")
    assert all(row["time"].endswith("Z") for row in rows)
    text = cli("--log", "text.log", "benchmark", "-w", "short.yaml", "-c", "none\x1b[31m\n")
    assert text.returncode == 2
    lines = (folder / "text.log").read_text().splitlines()
    assert len(lines) == 1
    assert "\x1b" not in lines[0]


@pytest.mark.parametrize(("path", "code"), [(".", 2), ("none/run.log", 2)])
def test_a_log_that_cannot_be_written_is_refused_before_anything_runs(
    cli: Cli, path: str, code: int
) -> None:
    done = cli("--log", path, *RUN)
    assert done.returncode == code
    assert done.stderr.count(f"cannot write the log {path}") == 1


def test_a_full_disk_behind_the_log_changes_no_outcome(cli: Cli) -> None:
    assert cli("--log", "/dev/full", *RUN).returncode == 0


def test_a_log_keeps_a_line_of_progress_every_ten_seconds(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    now = iter([0.0] * 4 + [9.0] * 2 + [11.0] * 2 + [12.0] * 2)
    with (
        caplog.at_level(logging.INFO, "opennandlab"),
        shown(lambda state: f"at {state}", quiet=False, clock=lambda: next(now)) as watch,
    ):
        assert watch is not None
        for state in range(4):
            watch(state)
    assert [one.getMessage() for one in caplog.records] == ["at 2"]
