"""Outputs of fio with several documents: those of a server, of `--status-interval`, of scripts."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import pytest
from test_importing_fio import SAMPLES, cells, imported, sample

from opennandlab.base.errors import ResultError


def test_the_output_of_a_server_is_that_of_its_clients(tmp_path: Path) -> None:
    document = sample("plain")
    (job,) = document.pop("jobs")
    one, two = ({**job, "hostname": name, "port": 8765} for name in ("one", "two"))
    total = {**job, "jobname": "All clients", "hostname": "", "port": 0}
    found = imported(tmp_path, {**document, "client_stats": [one, total]})
    assert cells(found) == cells(imported(tmp_path, sample("plain")))
    with pytest.raises(ResultError, match=r"given twice: run\.json: host one, .*host two, "):
        imported(tmp_path, {**document, "client_stats": [one, two, total]})


def test_statuses_of_a_server_are_not_processes(tmp_path: Path) -> None:
    """A server lists every status of its clients: seven were added up to 178,084 IOPS of 30,077."""
    document = sample("plain")
    (job,) = document.pop("jobs")
    job |= {"hostname": "one", "port": 8765}
    early = copy.deepcopy(job)
    early["read"]["total_ios"] //= 2
    early["read"]["io_bytes"] //= 2
    total = {**job, "jobname": "All clients", "hostname": "", "port": 0}
    found = imported(tmp_path, {**document, "client_stats": [early, total, job, job]})
    assert cells(found) == cells(imported(tmp_path, sample("plain")))
    # Two processes, each with two statuses.
    for one in (early, job):
        one["job options"]["numjobs"] = "2"
    found = imported(tmp_path, {**document, "client_stats": [early, early, job, job]})
    assert found.cells.rows[0].ios == 2 * job["read"]["total_ios"]
    other = {**job, "port": 8766}
    with pytest.raises(ResultError, match=r"host one, port 8765, .*host one, port 8766, "):
        imported(tmp_path, {**document, "client_stats": [job, job, other, other]})


def test_a_run_with_a_job_that_has_not_begun_goes_on(tmp_path: Path) -> None:
    """Its next status, late on a busy machine, was taken for the end of another run."""
    first = sample("plain")
    later = copy.deepcopy(first["jobs"][0])
    later |= {"jobname": "later", "groupid": 1}
    later["job options"]["bs"] = "8k"
    later["read"] |= {"total_ios": 0, "io_bytes": 0, "runtime": 0}
    first["jobs"].append(later)
    second = copy.deepcopy(first)
    second["timestamp_ms"] += 10 * first["jobs"][0]["read"]["runtime"]
    second["jobs"][0]["read"]["total_ios"] += 1
    found = imported(tmp_path, json.dumps(first) + "\n" + json.dumps(second))
    assert [row.ios for row in found.cells.rows] == [second["jobs"][0]["read"]["total_ios"]]
    assert any("1 statuses on the way are skipped" in it for it in found.warnings)


def test_the_last_status_is_the_result(tmp_path: Path) -> None:
    text = (SAMPLES / "status.json").read_text()
    last = json.loads(text[text.rindex('{\n  "fio version"') :])
    found = imported(tmp_path, text)
    assert any(re.search(r"\d+ statuses on the way are skipped", it) for it in found.warnings)
    assert found.cells.rows[0].ios == sum(
        side["total_ios"] for name in ("read", "write") for side in [last["jobs"][0][name]]
    )


def test_runs_in_one_file_are_not_the_statuses_of_one(tmp_path: Path) -> None:
    """The second run of a script that appends would have replaced the first: they are repeats."""
    first, second = sample("plain"), sample("plain")
    second["timestamp_ms"] += 60_000
    second["jobs"][0]["read"]["total_ios"] += 1
    second["jobs"][0]["read"]["runtime"] += 1
    found = imported(tmp_path, json.dumps(first) + "\n" + json.dumps(second))
    rates = [one["jobs"][0]["read"] for one in (first, second)]
    rates = [side["total_ios"] / side["runtime"] * 1e3 for side in rates]
    assert cells(found)["iops[16, 100/0]"] == pytest.approx(sum(rates) / 2)
    assert [row.round for row in found.cells.rows] == [1, 2]
