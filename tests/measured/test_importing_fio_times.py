"""Jobs of fio that ran together, one after another, or as processes of one."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from test_importing_fio import Document, imported, sample

from opennandlab.base.errors import ResultError


def test_jobs_that_ran_at_the_same_time_are_uncertain(tmp_path: Path) -> None:
    """A reader and a writer of one file without `stonewall` came in as if each ran alone."""
    document = sample("plain")
    (reader,) = document["jobs"]
    writer = copy.deepcopy(reader)
    writer |= {"jobname": "writer", "read": reader["write"], "write": reader["read"]}
    writer["job options"]["rw"] = "randwrite"
    document["jobs"].append(writer)
    said = {reason: cell for cell in imported(tmp_path, document).header.imported.uncertain or []
            for reason in cell.reasons}  # fmt: skip
    assert set(said) == {"job `read` ran at the same time", "job `writer` ran at the same time"}
    # Behind a stonewall, a delay, or another job by the time of its start (from fio 3.36 on).
    seconds = reader["read"]["runtime"] / 1000
    for change in ({"groupid": 1}, {"job options": {**writer["job options"], "wait_for": "read"}}):
        alone = copy.deepcopy(document)
        alone["jobs"][1] |= change
        assert imported(tmp_path, alone).header.imported.uncertain is None
    for start_s, count in ((seconds + 0.001, 0), (seconds / 2, 2)):
        for job, start in zip(document["jobs"], (1000.0, 1000.0 + start_s), strict=True):
            job["job_start"] = round(start * 1000)
        document["jobs"][1]["groupid"] = 1
        assert len(imported(tmp_path, document).header.imported.uncertain or []) == count


def two_jobs(
    first: dict[str, str], second: dict[str, str], starts_s: tuple[float, float] | None = None
) -> Document:
    """Return a reader and a writer of 200 ms each, in one group."""
    document = sample("plain")
    (reader,) = document["jobs"]
    writer = copy.deepcopy(reader)
    writer |= {"jobname": "writer", "read": reader["write"], "write": reader["read"]}
    writer["job options"] |= {"rw": "randwrite", **second}
    reader["job options"] |= first
    document["jobs"].append(writer)
    for job, start in zip(document["jobs"], starts_s or (), strict=False):
        job["job_start"] = 1_700_000_000_000 + round(start * 1000)
    return document


@pytest.mark.parametrize(
    ("first", "second", "starts_s", "is_apart"),
    [
        # Any `startdelay` was taken for one that parts them: 1 ms of 200.
        ({}, {"startdelay": "1ms"}, None, False),
        ({}, {"startdelay": "100ms-300ms"}, None, False),
        ({}, {"startdelay": "300000us"}, None, True),
        ({}, {"startdelay": "1"}, None, True),
        # Requests of `ramp_time` are not counted, and disturb others all the same.
        ({"ramp_time": "1"}, {"startdelay": "1100ms"}, None, False),
        ({"ramp_time": "1"}, {"startdelay": "1300ms"}, None, True),
        ({"ramp_time": "1"}, {}, (0.0, 1.1), False),
        ({"ramp_time": "1"}, {}, (0.0, 1.3), True),
        ({}, {"wait_for": "read"}, None, True),
        ({}, {"wait_for": "another"}, None, False),
        # fio begins at once what had to wait for longer than its delay.
        ({"startdelay": "1"}, {"wait_for": "read", "startdelay": "100ms"}, None, True),
    ],
)
def test_delays_part_jobs_as_far_as_they_reach(
    tmp_path: Path,
    first: dict[str, str],
    second: dict[str, str],
    starts_s: tuple[float, float] | None,
    is_apart: bool,  # noqa: FBT001 (a parameter of the test)
) -> None:
    found = imported(tmp_path, two_jobs(first, second, starts_s)).header.imported.uncertain or []
    reasons = [reason for one in found for reason in one.reasons]
    said = ["job `read` ran at the same time", "job `writer` ran at the same time"]
    assert sorted(reasons) == ([] if is_apart else said)


def test_wait_for_parts_no_other_jobs(tmp_path: Path) -> None:
    """It turned the check off for every pair that had it in one of the two."""
    document = two_jobs({}, {"wait_for": "read"})
    third = copy.deepcopy(document["jobs"][1])
    third |= {"jobname": "third"}
    third["job options"]["bs"] = "32k"
    for key in ("io_bytes", "bw_bytes", "bw"):
        third["write"][key] *= 2
    document["jobs"].append(third)
    doubts = imported(tmp_path, document).header.imported.uncertain or []
    assert [one.reasons for one in doubts] == [
        ["job `third` ran at the same time"], ["job `writer` ran at the same time"]
    ]  # fmt: skip
    third["job options"]["wait_for"] = "writer"
    assert imported(tmp_path, document).header.imported.uncertain is None


def test_runs_in_sequence_are_not_processes_of_one(tmp_path: Path) -> None:
    """One job twice, behind `stonewall`, was a cell of the sum of both: 27,622 IOPS, 2 threads."""
    document = sample("plain")
    document["jobs"].append(copy.deepcopy(document["jobs"][0]))
    document["jobs"][1]["groupid"] = 1
    rate = imported(tmp_path, sample("plain")).cells.rows[0].iops
    rows = imported(tmp_path, document).cells.rows
    assert [(row.round, row.iops, row.threads) for row in rows] == [(1, rate, 1), (2, rate, 1)]
    document["jobs"][1]["job options"]["ioengine"] = "other"
    twice = (r"job `read` of group 0, run.json: job `read` of group 1: no repeats, since they "
             r"differ in ioengine \(.*, other\)")  # fmt: skip
    with pytest.raises(ResultError, match=twice):
        imported(tmp_path, document)
    document["jobs"][1]["job options"] = dict(document["jobs"][0]["job options"])
    # Of one group they are processes, as `numjobs` makes them; a range of delays parts these.
    document["jobs"][1]["groupid"] = 0
    for job in document["jobs"]:
        job["job options"]["numjobs"] = "2"
    found = imported(tmp_path, document)
    assert (found.header.threads, found.header.imported.uncertain) == (2, None)
    for job in document["jobs"]:
        job["job options"]["startdelay"] = "0-5"
    (doubt,) = imported(tmp_path, document).header.imported.uncertain or []
    assert doubt.reasons == ["startdelay is 0-5: its processes began at different times"]
    for job, start_ms in zip(document["jobs"], (0, 9000), strict=True):
        del job["job options"]["startdelay"]
        job["job_start"] = start_ms
    (doubt,) = imported(tmp_path, document).header.imported.uncertain or []
    assert doubt.reasons == ["its processes ran at different times, by job_start"]
