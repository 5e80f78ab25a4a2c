"""Results of jobs in the JSON form of fio 3.x, key by key.

The core hands a row for each process (`Simulation::jobs`): counts and response times by fio's
buckets, for each kind of request, and series of windows. With `group_reporting` the processes of a
group are one job of the output. No time of this machine is in it: `timestamp` and `job_start` begin
at 0, and everything else follows from the drive and the seed.

Source: `show_thread_status_json` in `stat.c` of fio 3.42; outputs of 3.33.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from opennandlab.measured.fio.plan import MS, Plan, Process
from opennandlab.measured.fio.record import middle

VERSION = "fio-3.38"
BITS = 6
BUCKETS = 29 << BITS
SIDES = ("read", "write", "trim")
PERCENTILES = (1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5,
               99.9, 99.95, 99.99)  # fmt: skip
SHORT = ("2", "4", "10", "20", "50", "100", "250", "500", "750", "1000")
COARSE = {"latency_ns": SHORT, "latency_us": SHORT, "latency_ms": (*SHORT, "2000", ">=2000")}
DEPTHS = ("1", "2", "4", "8", "16", "32", ">=64")
BATCHES = ("0", "4", "8", "16", "32", "64", ">=64")
EPOCH = "Thu Jan  1 00:00:00 1970"


@dataclass(frozen=True)
class Times:
    """Response times of one kind of request.

    Args:
        count: How many.
        sum_ns: Their sum.
        squares: The sum of their squares.
        min_ns: The shortest.
        max_ns: The longest.
        buckets: int64, (1856,), by fio's buckets.
    """

    count: int
    sum_ns: int
    squares: float
    min_ns: int
    max_ns: int
    buckets: npt.NDArray[np.int64]

    @property
    def mean_ns(self) -> float:
        """Their mean; 0 for none."""
        return self.sum_ns / self.count if self.count else 0.0

    def percentile(self, share: float) -> int:
        """Return the middle of the bucket in which a percentile is, as fio states it."""
        sums = np.cumsum(self.buckets)
        place = int(np.searchsorted(sums, share / 100.0 * self.count - 1e-9))
        return int(middle(min(place, BUCKETS - 1), BITS))

    def to_json(self, percentiles: Sequence[float] = ()) -> dict[str, Any]:
        """Return them as fio does; with percentiles also the buckets."""
        variance = 0.0
        if self.count > 1:
            rest = self.squares - self.sum_ns * self.sum_ns / self.count
            variance = max(rest, 0.0) / (self.count - 1)
        found: dict[str, Any] = {
            "min": self.min_ns, "max": self.max_ns, "mean": round(self.mean_ns, 6),
            "stddev": round(math.sqrt(variance), 6), "N": self.count,
        }  # fmt: skip
        if percentiles and self.count:
            found["percentile"] = {f"{one:.6f}": self.percentile(one) for one in percentiles}
            found["bins"] = {str(int(middle(int(place), BITS))): int(self.buckets[place])
                             for place in np.flatnonzero(self.buckets)}  # fmt: skip
        return found


def times(rows: Sequence[Mapping[str, Any]]) -> Times:
    """Return response times of several processes or kinds together."""
    buckets = np.zeros(BUCKETS, dtype=np.int64)
    for row in rows:
        buckets[np.array(row["buckets"], dtype=np.int64)] += np.array(row["counts"], dtype=np.int64)
    return Times(
        count=sum(row["count"] for row in rows),
        sum_ns=sum(row["sum"] for row in rows),
        squares=math.fsum(row["squares"] for row in rows),
        min_ns=min((row["min"] for row in rows if row["count"]), default=0),
        max_ns=max((row["max"] for row in rows), default=0),
        buckets=buckets,
    )


@dataclass(frozen=True)
class Reported:
    """A job of the output: a process, or a group of them.

    Args:
        processes: Its processes.
        rows: The row of the core for each.
        begun_ns: When their stage began, from the begin of the file.
        steady: The row of the core on its steady state; None if none was asked for.
    """

    processes: Sequence[Process]
    rows: Sequence[Mapping[str, Any]]
    begun_ns: int
    steady: Mapping[str, Any] | None

    @cached_property
    def sides(self) -> dict[str, Times]:
        """Response times by direction."""
        return {side: times([row[side] for row in self.rows]) for side in SIDES}

    @property
    def first(self) -> Process:
        """The process whose name and options it has."""
        return self.processes[0]

    @property
    def job_ms(self) -> int:
        """Run times of its processes together."""
        return sum(_ms(row["ended_ns"] - row["epoch_ns"]) for row in self.rows)

    def bytes(self, side: str) -> int:
        """Return the bytes of a direction."""
        return int(sum(row[side]["bytes"] for row in self.rows))

    def ran_ns(self, side: str) -> int:
        """Return the time of the longest process in a direction."""
        return int(max(row[side]["ran_ns"] for row in self.rows))


def _ms(ns: int) -> int:
    return -(-ns // MS)


def reported(plan: Plan, outcomes: Sequence[Mapping[str, Any]]) -> Iterator[Reported]:
    """Yield the jobs of the output.

    Args:
        plan: The plan that was run.
        outcomes: The outcome of each stage, from the core.
    """
    begun_ns = 0
    for stage, outcome in zip(plan.stages, outcomes, strict=True):
        groups: dict[int, list[int]] = {}
        for index, process in enumerate(stage):
            is_grouped = process.job.values.get("group_reporting")
            groups.setdefault(-process.group - 1 if is_grouped else index, []).append(index)
        for members in groups.values():
            steady = next((one for one in outcome["steady"] if members[0] in one["members"]), None)
            rows = [outcome["processes"][index] for index in members]
            yield Reported([stage[index] for index in members], rows, begun_ns, steady)
        begun_ns += outcome["elapsed_ns"]


def document(jobs: Sequence[Reported], version: str, elapsed_ns: int) -> dict[str, Any]:
    """Return the output of fio.

    Args:
        jobs: Of `reported`.
        version: Version of this package.
        elapsed_ns: Simulated time of all stages.
    """
    totals: dict[tuple[int, str], int] = {}
    for job in jobs:
        for side in SIDES:
            rate = job.bytes(side) * 1000 // max(_ms(job.ran_ns(side)), 1)
            key = (job.first.group, side)
            totals[key] = totals.get(key, 0) + rate
    return {
        "fio version": f"{VERSION} (opennandlab {version})",
        "timestamp": elapsed_ns // 10**9, "timestamp_ms": elapsed_ns // MS, "time": EPOCH,
        "global options": {},
        "jobs": [_job(job, totals, elapsed_ns) for job in jobs],
        "disk_util": [],
    }  # fmt: skip


def _job(job: Reported, totals: Mapping[tuple[int, str], int], elapsed_ns: int) -> dict[str, Any]:
    values = job.first.job.values
    found: dict[str, Any] = {
        "jobname": str(values.get("name", job.first.job.section.name)),
        "groupid": job.first.group,
        "job_start": (job.begun_ns + min(row["begun_ns"] for row in job.rows)) // MS,
        "error": 0, "eta": 0, "elapsed": -(-elapsed_ns // 10**9),
        "job options": options(job.first),
    }  # fmt: skip
    is_mixed = values.get("unified_rw_reporting") in {"mixed", "1"}
    if not is_mixed:
        for side in SIDES:
            found[side] = _side(job, [side], totals.get((job.first.group, side), 0))
    if is_mixed or values.get("unified_rw_reporting") in {"both", "2"}:
        total = sum(totals.get((job.first.group, side), 0) for side in SIDES)
        found["mixed"] = _side(job, SIDES, total)
    flushes = times([row["flush"] for row in job.rows])
    found["sync"] = {"total_ios": flushes.count, "lat_ns": flushes.to_json(_percentiles(job))}
    found |= {"job_runtime": job.job_ms, "usr_cpu": 0.0, "sys_cpu": 0.0, "ctx": 0, "majf": 0,
              "minf": 0, **_shares(job), "latency_depth": job.first.spec["depth"],
              "latency_target": 0, "latency_percentile": 100.0, "latency_window": 0}  # fmt: skip
    if "description" in values:
        found["desc"] = str(values["description"])
    if job.steady is not None:
        found["steadystate"] = _steady(job, job.steady)
    return found


def options(process: Process) -> dict[str, str]:
    """Return the options of a job as text, those of `global` too; some always."""
    given = process.job.given
    found = {name: "1" if one.text is None else one.text for name, one in given.items()}
    always = {"rw": "read", "bs": "4096", "iodepth": "1", "numjobs": "1"}
    return {**found, **{name: text for name, text in always.items() if name not in found}}


def _percentiles(job: Reported) -> Sequence[float]:
    found: Sequence[float] = job.first.job.values.get("percentile_list", PERCENTILES)
    return found


def _side(job: Reported, sides: Sequence[str], total: int) -> dict[str, Any]:
    """Return one direction, or all of them together."""
    values, found = job.first.job.values, times([row[side] for row in job.rows for side in sides])
    bytes_ = sum(job.bytes(side) for side in sides)
    ms = _ms(max(job.ran_ns(side) for side in sides))
    rate = bytes_ * 1000 // ms if ms else 0
    shares = _percentiles(job)
    nothing = times([])
    wants = {name: values.get(f"{name}_percentiles", name == "clat")
             for name in ("slat", "clat", "lat")}  # fmt: skip
    return {
        "io_bytes": bytes_, "io_kbytes": bytes_ >> 10, "bw_bytes": rate, "bw": rate >> 10,
        "iops": round(1000.0 * found.count / ms, 6) if ms else 0.0, "runtime": ms,
        "total_ios": found.count, "short_ios": 0, "drop_ios": 0,
        "slat_ns": nothing.to_json(),
        "clat_ns": found.to_json(shares if wants["clat"] else ()),
        "lat_ns": found.to_json(shares if wants["lat"] else ()),
        **_spread(job, sides, total),
    }  # fmt: skip


def _spread(job: Reported, sides: Sequence[str], total: int) -> dict[str, Any]:
    """Return how `bw` (KiB/s) and `iops` spread over the whole windows of the run."""
    found: dict[str, Any] = {}
    for name, column in (("bw", 1), ("iops", 0)):
        length = job.first.job.window_ms(name) * MS
        sums: dict[int, int] = {}
        for row in job.rows:
            last = (row["ended_ns"] - row["epoch_ns"]) // length
            series = next(one for one in row["series"] if one["ns"] == length)
            for side in sides:
                for index, figures in zip(series["index"], series[side], strict=True):
                    if index < last and figures[0]:
                        sums[index] = sums.get(index, 0) + figures[column]
        scale = 10**9 / length / (1024 if name == "bw" else 1)
        rates = np.array([int(one * scale) for one in sums.values()], dtype=np.float64)
        mean = float(rates.mean()) if rates.size else 0.0
        spread = float(rates.std(ddof=1)) if rates.size > 1 else 0.0
        least, most = (int(rates.min()), int(rates.max())) if rates.size else (0, 0)
        found |= {f"{name}_min": least, f"{name}_max": most}
        if name == "bw":
            share = min(100.0 * mean * 1024 / total, 100.0) if total else 0.0
            found["bw_agg"] = round(share, 6)
        found |= {f"{name}_mean": round(mean, 6),
                  "bw_dev" if name == "bw" else "iops_stddev": round(spread, 6),
                  f"{name}_samples": int(rates.size)}  # fmt: skip
    return found


def _shares(job: Reported) -> dict[str, dict[str, float]]:
    """Return shares of the requests by depth, batches and response time, in percent."""
    count = sum(one.count for one in job.sides.values())

    def percent(names: Sequence[str], counts: Sequence[int]) -> dict[str, float]:
        pairs = zip(names, counts, strict=True)
        return {name: round(100.0 * one / count, 6) if count else 0.0 for name, one in pairs}

    depths = [sum(row["depths"][place] for row in job.rows) for place in range(len(DEPTHS))]
    one_each = percent(BATCHES, [0, count, 0, 0, 0, 0, 0])
    found = {"iodepth_level": percent(DEPTHS, depths),
             "iodepth_submit": one_each, "iodepth_complete": one_each}  # fmt: skip
    sums = np.sum([row[side]["coarse"] for row in job.rows for side in SIDES], axis=0).tolist()
    for name, limits in COARSE.items():
        found[name] = percent(limits, sums[: len(limits)])
        sums = sums[len(limits) :]
    return found


def _steady(job: Reported, steady: Mapping[str, Any]) -> dict[str, Any]:
    spec = job.first.spec["steady"]
    mark = "%" if spec["is_percent"] else ""
    slope = "_slope" if spec["is_slope"] else ""

    def mean(name: str) -> int:
        return sum(steady[name]) // len(steady[name]) if steady[name] else 0

    data = {"bw_mean": mean("bw"), "iops_mean": mean("iops"),
            "iops": steady["iops"], "bw": steady["bw"]}  # fmt: skip
    if spec["of"] == "lat":
        data |= {"lat_mean": mean("lat"), "lat_ns": steady["lat"]}
    return {
        "ss": f"{spec['of']}{slope}:{spec['limit']:f}{mark}",
        "duration": spec["window"] * spec["interval_ns"] // 10**9,
        "attained": int(steady["attained"]),
        "criterion": f"{steady['criterion']:f}{mark}",
        "max_deviation": 0.0 if spec["is_slope"] else steady["max_deviation"],
        "slope": steady["slope"] if spec["is_slope"] else 0.0,
        "data": data,
    }  # fmt: skip
