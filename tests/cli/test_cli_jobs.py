"""`benchmark` of a job file of fio, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Cli
from opennandlab.core.config import load_device
from opennandlab.core.jobs import JobRun
from opennandlab.core.run import Start
from opennandlab.measured.fio.output import Reported
from opennandlab.reports.jobs import report

JOBS = """
[global]
ioengine=libaio
direct=1
size=16m
[read]
rw=randread
iodepth=4
[write]
stonewall
rw=randwrite
write_iops_log=mine
"""
RUN = ("benchmark", "-c", "tlc_standard", "-w", "jobs.fio")


@pytest.fixture(autouse=True)
def jobs(folder: Path) -> None:
    (folder / "jobs.fio").write_text(JOBS)


def test_jobs_are_run_and_their_files_written(cli: Cli, folder: Path) -> None:
    found = cli(*RUN, "--fio-output", "out.json", "--fio-logs", "logs")
    assert found.returncode == 0, found.stderr
    assert "randread" in found.stdout
    assert "4096" in found.stdout
    assert "without meaning on a simulated drive: direct" in found.stderr
    document = json.loads((folder / "out.json").read_text())
    assert [job["jobname"] for job in document["jobs"]] == ["read", "write"]
    assert (folder / "logs/mine_iops.2.log").is_file()
    assert (folder / "logs/randread-iodepth-4-numjobs-1_bw.1.log").is_file()
    # What reads outputs of fio reads this one.
    imported = cli("pts", "import", "out.json", "-o", "cells.json")
    assert imported.returncode == 0, imported.stderr


def test_sections_can_be_chosen(cli: Cli, folder: Path) -> None:
    found = cli(*RUN, "--section", "write", "--json")
    assert [job["jobname"] for job in json.loads(found.stdout)["jobs"]] == ["write"]
    assert "--fio-logs DIR" in found.stderr
    same = cli(*RUN, "--section", "write", "--fio-output", "-")
    assert same.stdout == found.stdout
    assert not (folder / "-").exists()
    found = cli(*RUN, "--section", "none")
    assert found.returncode == 2
    assert "accepted: read, write" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--plot", "x.txt"], "accepted file extensions"),
        (["--breakdown"], "--fio-output, --fio-logs, --plot"),
        (["-o", "x.json"], "has no effect on a job file"),
        (["--set", "workload.pattern=random"], "a job file has no keys"),
        (["--fio-output", "/none/x.json"], "cannot write"),
        (["--fio-output", "jobs.fio"], "is also the job file"),
    ],
)
def test_options_without_effect_are_refused(cli: Cli, arguments: list[str], words: str) -> None:
    found = cli(*RUN, *arguments)
    assert found.returncode == 2
    assert words in found.stderr


def test_bad_files_are_refused_with_their_place(cli: Cli, folder: Path) -> None:
    (folder / "jobs.fio").write_text("[a]\nsize=${SIZE}\nnumber_ios=1\n")
    found = cli(*RUN)
    assert found.returncode == 2
    assert "jobs.fio:2: `${SIZE}`" in found.stderr
    assert cli(*RUN, "--env", SIZE="1m").returncode == 0
    found = cli(*RUN, "--env", SIZE="1t")
    assert found.returncode == 2
    assert "jobs.fio:2: `size=1t`" in found.stderr
    found = cli("benchmark", "-w", "short.yaml", "-c", "small.yaml", "--section", "a")
    assert found.returncode == 2


def test_a_job_without_requests_is_named(cli: Cli, folder: Path) -> None:
    (folder / "jobs.fio").write_text(
        "[first]\nrw=read\nnumber_ios=1\nexitall\n[late]\nstartdelay=1h\n"
    )
    found = cli(*RUN)
    assert found.returncode == 0, found.stderr
    assert "note: jobs.fio:5: [late]: no request in process 0" in found.stderr


def test_jobs_of_parts_of_pages_are_warned_of_as_workloads_are(cli: Cli, folder: Path) -> None:
    """4K writes on pages of 16 KiB had a WAF of 20 without a word."""
    job = "[a]\nrw=randrw\nbs=4k\nsize=1m\nnumber_ios=200\n"
    (folder / "part.fio").write_text(job)
    (folder / "part.yaml").write_text(
        '{"pattern": "random", "read_pct": 50, "block_size_bytes": 4096, "total": {"ios": 200}}'
    )
    own, ours = (
        [line for line in cli("benchmark", "-c", "small.yaml", "--set",
                              "nand.page_size_bytes=16384", "-w", name).stderr.splitlines()
         if " bytes" in line]
        for name in ("part.fio", "part.yaml")
    )  # fmt: skip
    assert len(own) == 2
    assert own == ours


def test_latencies_of_jobs_are_drawn(cli: Cli, folder: Path) -> None:
    """A plot of a job file was refused without a way to one."""
    found = cli(*RUN, "--plot", "jobs.svg", "--fio-output", "out.json")
    assert found.returncode == 0, found.stderr
    assert "plot saved to jobs.svg" in found.stderr
    shown = (folder / "jobs.svg").read_text(encoding="utf-8")
    for text in ("jobs.fio on tlc_standard, seed 42", ">read<", ">write<", "Latency by percentile"):
        assert text in shown
    document = json.loads((folder / "out.json").read_text())
    made = report([*_jobs(folder)], "t")
    (plot,) = made.figures
    for line, job in zip(plot.series, document["jobs"], strict=True):
        bins = job[line.name]["clat_ns"]["percentile"]
        p99 = line.y[list(line.x).index(100.0)]
        assert p99 is not None
        assert p99 * 1e3 == pytest.approx(bins["99.000000"])


def _jobs(folder: Path) -> list[Reported]:
    device = load_device("tlc_standard")
    return JobRun(Start(device, 42, None), folder / "jobs.fio").measure().jobs
