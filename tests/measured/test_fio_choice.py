"""Outputs of fio with several loads: the same options choose jobs wherever such files are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Cli

JOBS = """
[global]
ioengine=libaio
size=16m
bs=16k
number_ios=5000
[random]
rw=randread
iodepth=4
[deep]
stonewall
rw=randread
iodepth=8
[rows]
stonewall
rw=read
"""


@pytest.fixture
def outputs(cli: Cli, folder: Path) -> Path:
    (folder / "jobs.fio").write_text(JOBS)
    run = ("benchmark", "-c", "tlc_standard", "-w", "jobs.fio", "-q", "--fio-output")
    assert cli(*run, "here.json").returncode == 0
    there = json.loads((folder / "here.json").read_text())
    there["fio version"] = "fio-3.38"
    for job in there["jobs"]:
        # 1.25 times as long for as much: 0.8 times the rate.
        job["read"]["runtime"] *= 1.25
        job["read"]["iops"] *= 0.8
    (folder / "there.json").write_text(json.dumps(there))
    return folder


def test_a_refusal_of_two_loads_is_answered_by_options_of_the_same_verb(
    cli: Cli, outputs: Path
) -> None:
    """`compare` and `report` named an option that only `pts import` had."""
    names = ("compare", "here.json", "there.json", "--force"), ("report", "there.json")
    for words in names:
        refused = cli(*words)
        assert refused.returncode == 2
        assert "--pattern random or sequential, or --job NAME" in refused.stderr
        refused = cli(*words, "--pattern", "random")
        assert refused.returncode == 2
        assert "--threads and --queue-depth choose" in refused.stderr
        for more in (("--pattern", "random", "--queue-depth", "8"), ("--job", "deep")):
            done = cli(*words, *more)
            assert done.returncode == 0, done.stderr
        missing = cli(*words, "--job", "none")
        assert missing.returncode == 2
        assert "there are deep, random, rows" in missing.stderr
    assert (outputs / "there.html").is_file()


@pytest.mark.usefixtures("outputs")
def test_figures_of_this_simulator_are_simulated_in_an_output_of_fio_too(cli: Cli) -> None:
    for pair in (("there.json", "here.json"), ("here.json", "there.json")):
        shown = cli("compare", *pair, "--job", "deep", "--force").stdout
        assert "here against there, as measured" in shown
        assert "Simulated against measured. Error: 100 (simulated / measured - 1)." in shown
        # 1 / 0.8, in the one cell: no best and worst.
        assert "median |error|, %" in shown
        assert "at best" not in shown
        times = "1.25" if pair[0] == "there.json" else "0.8"
        assert f"has {times} × the IOPS of {pair[0][:-5]}, at 16 KiB, 100/0." in shown


@pytest.mark.usefixtures("outputs")
def test_options_of_outputs_of_fio_are_refused_where_they_choose_nothing(cli: Cli) -> None:
    cli("benchmark", "-c", "small.yaml", "-w", "short.yaml", "-q", "-o", "own.json")
    for words in (("report", "own.json"), ("compare", "own.json", "own.json")):
        found = cli(*words, "--pattern", "random")
        assert found.returncode == 2
        assert "--pattern: has no effect as no file is output of fio" in found.stderr
