"""Runs of one cell that were repeated: one cell, with the mean of each figure and its interval.

Of n runs with a sample deviation sd, 95 % of such means are within t sd / sqrt(n) of the truth, t
by Student's distribution. The longest response time of all is the longest of any.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from opennandlab.base.errors import ResultError
from opennandlab.measured.document import UNKNOWN, Cell, Spread
from opennandlab.measured.fio.jobs import Job
from opennandlab.stats.histogram import Histogram
from opennandlab.stats.student import half_width

# Options in which runs of one load may differ; those of logs too.
OTHERS = frozenset({
    "name", "description", "randseed", "group_reporting", "new_group", "stonewall", "wait_for",
    "startdelay", "numa_cpu_nodes", "cpus_allowed", "eta", "disk_util", "per_job_logs",
})  # fmt: skip


def joined(found: Sequence[Job]) -> list[Job]:
    """Return jobs with the runs of one cell as one.

    Raises:
        ResultError: for a size and mix that is given twice, by runs that are no repeats.
    """
    groups: dict[tuple[int, float], list[Job]] = {}
    for job in found:
        groups.setdefault((job.cell.block_bytes, job.cell.read_pct), []).append(job)
    return [_one(group) if len(group) > 1 else group[0] for group in groups.values()]


def spread(values: Sequence[float]) -> Spread:
    """Return mean, deviation and interval of repeated values, at least two.

    >>> found = spread([100.0, 104.0, 96.0])
    >>> found.count, found.mean, found.sd, round(found.half_width, 2), found.least, found.greatest
    (3, 100.0, 4.0, 9.94, 96.0, 104.0)
    """
    return Spread(
        count=len(values),
        mean=statistics.fmean(values),
        sd=statistics.stdev(values),
        half_width=half_width(values) or 0.0,
        least=min(values),
        greatest=max(values),
    )


def _one(group: Sequence[Job]) -> Job:
    first = group[0]
    for job in group[1:]:
        if reason := _unlike(first, job):
            raise ResultError(
                f"{job.cell.label} is given twice: {first.where}, {job.where}: no repeats, since "
                f"{reason}; accepted: runs of one load, of which the mean is taken; --job, "
                "--threads and --queue-depth choose, or one output, one host of a server, at a time"
            )
    cells = [job.cell for job in group]
    figures: dict[str, float | None] = {}
    spreads: dict[str, Spread] = {}
    lost: list[str] = []
    for name in dict.fromkeys(name for cell in cells for name in cell.figures):
        values = [cell.figures.get(name) for cell in cells]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            figures[name] = None
            lost += [name] if known else []
        elif name.endswith("_max"):
            figures[name] = max(known)
        else:
            spreads[name] = spread(known)
            figures[name] = spreads[name].mean
    latency = [cell.latency for cell in cells if cell.latency is not None]
    rows = [structs.replace(row, round=at) for at, cell in enumerate(cells, 1) for row in cell.rows]
    cell = Cell(
        first.cell.block_bytes, first.cell.read_pct, figures, tuple(rows),
        Histogram.merged(latency) if len(latency) == len(cells) else None,
        tuple(dict.fromkeys(doubt for one in cells for doubt in one.doubts)), spreads,
    )  # fmt: skip
    notes = [note for job in group for note in job.notes]
    notes.append(f"the mean of {len(group)} runs")
    if lost:
        notes.append(f"left out, as not all of its runs have them: {', '.join(lost)}")
    return replace(first, cell=cell, notes=tuple(dict.fromkeys(notes)))


def _unlike(one: Job, other: Job) -> str:
    """Return why two runs are no repeats of one load; empty for repeats."""
    for what, here, there in (
        ("host", one.host, other.host),
        ("threads x depth", _outstanding(one), _outstanding(other)),
        ("pattern", one.is_random, other.is_random),
        ("name", None, None) if one.options is not None else ("name", one.name, other.name),
    ):
        if here != there:
            return f"they differ in {what} ({here or UNKNOWN}, {there or UNKNOWN})"
    if (one.options is None) != (other.options is None):
        return "one has no options"
    mine, theirs = (_load(job.options or {}) for job in (one, other))
    for key in dict.fromkeys((*mine, *theirs)):
        if mine.get(key) != theirs.get(key):
            return f"they differ in {key} ({_shown(mine, key)}, {_shown(theirs, key)})"
    return ""


def _load(options: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in options.items()
            if key not in OTHERS and "log" not in key}  # fmt: skip


def _shown(options: Mapping[str, str], key: str) -> str:
    return options.get(key, "not given")[:40]


def _outstanding(job: Job) -> str:
    return f"{job.threads or UNKNOWN} x {job.queue_depth or UNKNOWN}"
