"""Outputs of fio (`--output-format=json` and `json+`), one or many jobs and files.

A job is a cell: its size, mix and pattern are in its options. Processes of one job that fio lists
one by one are joined. `lat_ns` is from submission to completion, as the specification has response
times; where fio kept bins of `clat_ns` alone, percentiles are of these, and a note says so.

Source: HOWTO of fio, "Output format" and the options `bs`, `rw`, `rwmixread`, `iodepth`, `numjobs`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opennandlab.documents import pts
from opennandlab.errors import ResultError
from opennandlab.measured.document import Cell, kib, mix
from opennandlab.stats.histogram import Histogram

SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
# `rw` of fio -> random, and percent of reads; None where `rwmixread` says.
KINDS: dict[str, tuple[bool, float | None]] = {
    "randread": (True, 100.0), "randwrite": (True, 0.0), "randrw": (True, None),
    "read": (False, 100.0), "write": (False, 0.0), "rw": (False, None), "readwrite": (False, None),
}  # fmt: skip
MIX_DEFAULT = 50.0
JOBS_MAX = 100_000
NUMBER_MAX = 1 << 63
CLAT_NOTE = (
    "percentiles are of completion latency (clat): fio kept no bins of lat; mean and maximum are "
    "of lat"
)


@dataclass(frozen=True)
class Job:
    """A job of fio, or several processes of one.

    Args:
        where: File and name, for messages.
        is_random: Whether requests are at random places.
        threads: Processes.
        queue_depth: Requests outstanding in each.
        cell: What it measured.
        is_clat: Whether its percentiles are of `clat`.
    """

    where: str
    is_random: bool
    threads: int
    queue_depth: int
    cell: Cell
    is_clat: bool


@dataclass(frozen=True)
class _Side:
    """Requests of one direction, of one process."""

    ios: int
    bytes: int
    seconds: float
    latency: Histogram
    mean_us: float | None
    max_us: float | None
    is_clat: bool


def is_output(document: object) -> bool:
    """Tell whether JSON is an output of fio."""
    return isinstance(document, dict) and "fio version" in document and "jobs" in document


def parsed(text: str) -> object:
    """Return the JSON of a file; fio writes warnings before it where both go to one place.

    Raises:
        ValueError: when there is none.
    """
    start = re.search(r"^\s*\{", text, re.MULTILINE)
    return json.loads(text[start.start() :]) if start else json.loads(text)


def jobs(document: Mapping[str, Any], file: str) -> list[Job]:
    """Return the jobs of an output.

    Args:
        document: The output.
        file: Its name, for messages.

    Raises:
        ResultError: for a job that failed, that is no plain load, or that lacks a figure.
    """
    found = document["jobs"]
    if not isinstance(found, list) or not found or len(found) > JOBS_MAX:
        raise ResultError(f"{file}: `jobs` holds no jobs; accepted: the JSON output of fio")
    common = document.get("global options") or {}
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for place, job in enumerate(found, 1):
        where = f"{file}: job {place}"
        if not isinstance(job, dict):
            raise ResultError(f"{where} is no mapping; accepted: the JSON output of fio")
        own = job.get("job options") or {}
        if not isinstance(common, dict) or not isinstance(own, dict):
            raise ResultError(f"{where}: its options are no mapping; accepted: the output of fio")
        options = {**common, **own}
        key = (str(job.get("jobname", place)), json.dumps(options, sort_keys=True))
        groups.setdefault(key, []).append({**job, "job options": options})
    return [_job(f"{file}: job `{name}`", parts) for (name, _), parts in groups.items()]


def _job(where: str, parts: Sequence[Mapping[str, Any]]) -> Job:
    options = parts[0]["job options"]
    try:
        if any(int(part.get("error", 0)) for part in parts):
            raise ResultError(f"{where} ended with an error; accepted: jobs that were completed")
        is_random, read_pct = _load(where, options)
        block_bytes = _block(where, options)
        threads = max(len(parts), _count(options, "numjobs"))
        depth = _count(options, "iodepth")
        sides = [[_side(part[name]) for part in parts] for name in ("read", "write")]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ResultError(
            f"{where} lacks what is expected, or has it as something else ({_reason(error)}); "
            "accepted: the output of `fio --output-format=json+`, or json"
        ) from error
    row, latency = _row(where, block_bytes, read_pct, (threads, depth), sides, is_random)
    figures = {name: row.number(name) for name in ("iops", "mb_s", "lat_us_mean", "lat_us_max")}
    figures |= {f"lat_us_{name}": row.number(f"lat_us_{name}") for name in QUANTILES}
    cell = Cell(block_bytes, read_pct, figures, row, latency if latency.count else None)
    is_clat = any(side.is_clat for group in sides for side in group)
    return Job(where, is_random, threads, depth, cell, is_clat)


def _reason(error: Exception) -> str:
    return f"nothing is called {error}" if isinstance(error, KeyError) else str(error)


def _load(where: str, options: Mapping[str, Any]) -> tuple[bool, float]:
    asked = str(options.get("rw", options.get("readwrite", "read"))).partition(":")[0]
    if asked not in KINDS:
        raise ResultError(
            f"{where}: rw `{asked}` is no load of a test; accepted: {', '.join(KINDS)}"
        )
    is_random, read_pct = KINDS[asked]
    if read_pct is None:
        reads = options.get("rwmixread")
        writes = options.get("rwmixwrite")
        read_pct = float(reads) if reads is not None else MIX_DEFAULT
        if reads is None and writes is not None:
            read_pct = 100.0 - float(writes)
        if not 0.0 <= read_pct <= 100.0:
            asked = f"rwmixread {reads}" if reads is not None else f"rwmixwrite {writes}"
            raise ResultError(f"{where}: {asked} is no share; accepted: 0 to 100 percent")
    return is_random, read_pct


def _block(where: str, options: Mapping[str, Any]) -> int:
    if "bssplit" in options or "bsrange" in options or "blocksize_range" in options:
        raise ResultError(f"{where} mixes sizes of requests; accepted: one size (bs) for each job")
    text = str(options.get("bs", options.get("blocksize", "4k")))
    sizes = {size_of(one) for one in text.split(",") if one}
    if len(sizes) != 1 or None in sizes:
        raise ResultError(f"{where}: bs `{text}` is no size; accepted: one such as 4k")
    return int(sizes.pop() or 0)


def size_of(text: str) -> int | None:
    """Return a size in bytes as fio writes it; None for what is none.

    >>> size_of("4k"), size_of("0.5KiB"), size_of("4096"), size_of("x")
    (4096, 512, 4096, None)
    """
    found = SIZE.fullmatch(text.strip())
    size = float(found[1]) * FACTORS[found[2].lower()] if found else 0.0
    return int(size) if size >= 1 and size == int(size) else None


def _count(options: Mapping[str, Any], name: str) -> int:
    return max(1, int(options.get(name, 1)))


def _side(side: Mapping[str, Any]) -> _Side:
    """Read one direction of one process."""
    latency = side.get("lat_ns") or {}
    clat = side.get("clat_ns") or {}
    bins, is_clat = latency.get("bins"), False
    if not bins and clat.get("bins"):
        bins, is_clat = clat["bins"], True
    counts = [(int(ns), int(count)) for ns, count in (bins or {}).items()]
    if any(not 0 <= one < NUMBER_MAX for pair in counts for one in pair):
        raise ValueError("a time or a count of the bins is below 0 or beyond 2^63")
    histogram = Histogram.of_bins(counts)
    ios = int(side["total_ios"])
    if ios < 0 or int(side["io_bytes"]) < 0 or not 0 <= float(side["runtime"]) < math.inf:
        raise ValueError("a count below 0")
    known = int(latency.get("N", 0)) > 0
    if known and not 0 <= float(latency["mean"]) <= float(latency["max"]) < NUMBER_MAX:
        raise ValueError("lat_ns: the mean is below 0 or above the maximum")
    if histogram.count and known:
        largest = max(int(latency["max"]), histogram.max_ns if is_clat else 0)
        total = float(latency["mean"]) * histogram.count
        histogram = Histogram(histogram.ns, histogram.counts, total, largest)
    return _Side(
        ios=ios,
        bytes=int(side["io_bytes"]),
        seconds=float(side["runtime"]) * 1e-3,
        latency=histogram,
        mean_us=float(latency["mean"]) * 1e-3 if known else None,
        max_us=float(latency["max"]) * 1e-3 if known else None,
        is_clat=is_clat,
    )


QUANTILES = ("p50", "p99", "p999", "p9999", "p99999")


def _row(  # noqa: PLR0913, PLR0917 (a cell in parts)
    where: str,
    block_bytes: int,
    read_pct: float,
    outstanding: tuple[int, int],
    sides: Sequence[Sequence[_Side]],
    is_random: bool,  # noqa: FBT001
) -> tuple[pts.Cell, Histogram]:
    every = [side for group in sides for side in group]
    reads, writes = (sum(side.ios for side in group) for group in sides)
    seconds = max(side.seconds for side in every)
    if not reads + writes or seconds <= 0 or not math.isfinite(seconds):
        raise ResultError(f"{where} completed no request; accepted: jobs that measured something")
    read_bytes, write_bytes = (sum(side.bytes for side in group) for group in sides)
    latency = Histogram.merged([side.latency for side in every])
    quantiles = latency.percentiles_us()
    means = [(side.mean_us, side.ios) for side in every if side.ios]
    mean = (
        math.fsum((value or 0.0) * ios for value, ios in means) / (reads + writes)
        if all(value is not None for value, _ in means)
        else None
    )
    longest = [side.max_us for side in every if side.max_us is not None]
    order = "RND" if is_random else "SEQ"
    cell = pts.Cell(
        phase="imported",
        round=None,
        rw_pct=read_pct,
        block_bytes=block_bytes,
        threads=outstanding[0],
        queue_depth=outstanding[1],
        label=f"{order} {kib(block_bytes)} KiB {mix(read_pct)}",
        start_s=0.0,
        seconds=seconds,
        ios=reads + writes,
        iops=(reads + writes) / seconds,
        read_iops=reads / seconds,
        write_iops=writes / seconds,
        mb_s=(read_bytes + write_bytes) / seconds * 1e-6,
        read_mb_s=read_bytes / seconds * 1e-6,
        write_mb_s=write_bytes / seconds * 1e-6,
        lat_us_mean=mean,
        **{f"lat_us_{name}": quantiles[name] for name in QUANTILES},
        lat_us_max=max(longest, default=None),
        written_bytes=write_bytes,
        waf=None,
        cpu_pct=None,
    )
    return cell, latency


def notes(found: Sequence[Job]) -> Iterator[str]:
    """Yield what a reader of the figures of some jobs should know."""
    if any(job.is_clat for job in found):
        yield CLAT_NOTE
