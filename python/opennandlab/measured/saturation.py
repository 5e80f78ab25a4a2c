"""Write saturation of a drive that others wrote: a course of fio as the test's document.

A run of at least five minutes is cut into minutes, as the test has them; a shorter one into the
intervals of its log. The levels are those of the test. The five-point rule examines the last minute
of every 31; what the test decides by it, and when it ends, is not known here.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opennandlab.base.errors import ResultError
from opennandlab.base.units import kib, mix
from opennandlab.documents import pts, pts_header
from opennandlab.documents.pts_results import SaturationResults
from opennandlab.measured.document import QUANTILES, UNKNOWN, Said, bare
from opennandlab.measured.fio.course import Array, Course, Track, joined, width_of
from opennandlab.stats import saturation
from opennandlab.stats.histogram import Histogram
from opennandlab.stats.steady import WINDOW_ROUNDS, steady_state

MINUTE_S = 60.0
# A shorter run has fewer minutes than the rule needs points.
MINUTES_FROM_S = 300.0
INTERVALS_MAX = 3000
ROUND_MINUTES = 31
# A mean size this near to a whole number of sectors is that.
SIZE_TOLERANCE = 1e-3
SECTOR_BYTES = 512


@dataclass(frozen=True)
class Load:
    """Requests of a run.

    Args:
        block_bytes: Their size; None for an unknown one, or a mix.
        is_random: Whether they are at random places; None if unknown.
    """

    block_bytes: int | None
    is_random: bool | None


def document(
    tracks: Sequence[Track], said: Said, imported: pts_header.Imported, load: Load
) -> pts.PtsDocument:
    """Return the document of a run.

    Args:
        tracks: All processes and directions of it.
        said: Name, drive and load.
        imported: Its files.
        load: Its requests.

    Raises:
        ResultError: for a run of which rate, bytes or all requests are unknown.
    """
    trims = [one for one in tracks if one.direction == "trim"]
    tracks = [one for one in tracks if one.direction != "trim"]
    if not tracks or any(one.direction == "mixed" for one in tracks):
        raise ResultError(
            "a series without reads and writes, or with both as one (unified_rw_reporting); "
            "accepted: one with both separate"
        )
    try:
        course = joined(tracks, _width(tracks))
    except ValueError as error:
        raise ResultError(f"{error}; accepted: the log of one run") from None
    columns = _filled(course, load.block_bytes)
    lengths = np.diff(course.edges_s)
    total = float(np.sum(columns["iops"] * lengths))
    if not total > 0:
        raise ResultError("the series has no requests; accepted: one of a run that had some")
    if load.block_bytes is None:
        mean = float(np.sum(columns["mb_s"] * lengths)) * 1e6 / total
        load = replace(load, block_bytes=_whole(mean))
    rows = _rows(course.edges_s, columns, said, load)
    results, notes = _results(rows, said.capacity_bytes, float(lengths[0]))
    notes += {
        "lat": [],
        "clat": ["response times are of completion latency (clat): fio logged no lat"],
        None: ["response times are unknown: no log of lat or clat"],
    }[_times(columns)]
    notes += ["trims are left out"] if trims else []
    notes.append(f"intervals of {lengths[0]:g} s")
    of = next(iter(course.hists), None)
    whole = Histogram.merged(course.hists[of]) if of else Histogram.empty()
    return bare(
        replace(said, notes=(*said.notes, *notes)), [], imported, rows=rows, results=results,
        histograms=[_histogram(whole, rows[0].label, of or "")] if whole.count else [],
    )  # fmt: skip


def _width(tracks: Sequence[Track]) -> float:
    """Return the length of an interval: a minute, of short runs that of the log."""
    width = width_of(tracks)
    begin = min(float(one.begins_s[0]) for one in tracks)
    seconds = max(float(one.ends_s[-1]) for one in tracks) - begin
    if seconds >= MINUTES_FROM_S:
        return max(width, MINUTE_S)
    return max(width, 1.0) if seconds / width > INTERVALS_MAX else width


def _filled(course: Course, size: int | None) -> dict[str, Array]:
    """Return the columns of a course with IOPS and MB/s, of which one may follow from the other."""
    columns = dict(course.columns)
    lacking = [name for name in ("iops", "mb_s") if name not in columns]
    if len(lacking) == 2 or (lacking and size is None):
        raise ResultError(
            f"a series of {', '.join(sorted(columns))}: {' and '.join(lacking)} do not follow from "
            "it; accepted: logs of IOPS and bandwidth, or one of the two with --block-size"
        )
    nothing = np.zeros(len(course.edges_s) - 1)
    for way in ("", "read_", "write_"):
        if lacking == ["mb_s"]:
            columns[f"{way}mb_s"] = columns.get(f"{way}iops", nothing) * (size or 0) * 1e-6
        if lacking == ["iops"]:
            columns[f"{way}iops"] = columns.get(f"{way}mb_s", nothing) / (size or 1) * 1e6
        for name in ("iops", "mb_s"):
            columns.setdefault(way + name, nothing)
    return columns


def _whole(mean: float) -> int | None:
    """Return the size of all requests, by their mean; None for a mix."""
    whole = round(mean / SECTOR_BYTES) * SECTOR_BYTES
    return whole if whole and abs(mean / whole - 1) <= SIZE_TOLERANCE else None


def _times(columns: Mapping[str, Array]) -> str | None:
    """Return which response times are known: `lat`, else `clat`."""
    return next((of for of in ("lat", "clat") if f"{of}_us_mean" in columns), None)


def _rows(edges_s: Array, columns: Mapping[str, Array], said: Said, load: Load) -> list[pts.Cell]:
    lengths = np.diff(edges_s)
    read, write = columns["read_iops"], columns["write_iops"]
    written = np.cumsum(columns["write_mb_s"] * lengths) * 1e6
    reads, writes = float(read @ lengths), float(write @ lengths)
    share = round(100.0 * reads / (reads + writes), 1)
    size = load.block_bytes
    order = {True: "RND ", False: "SEQ ", None: ""}[load.is_random]
    times = {name: f"{_times(columns)}_us_{name}" for name in ("mean", *QUANTILES, "max")}

    def row(at: int) -> pts.Cell:
        known = {name: float(values[at]) for name, values in columns.items()}
        both = known["read_iops"] + known["write_iops"]
        latency: dict[str, Any] = {
            f"lat_us_{name}": None if math.isnan(value) else value
            for name, column in times.items() for value in [known.get(column, math.nan)]
        }  # fmt: skip
        rates = ("iops", "read_iops", "write_iops", "mb_s", "read_mb_s", "write_mb_s")
        return pts.Cell(
            phase="wsat",
            round=None,
            rw_pct=100.0 * known["read_iops"] / both if both else share,
            block_bytes=size,
            threads=said.threads,
            queue_depth=said.queue_depth,
            label=f"{order}{f'{kib(size)} KiB' if size else 'mix'} {mix(share)}",
            start_s=float(edges_s[at] - edges_s[0]),
            seconds=float(lengths[at]),
            ios=known["iops"] * float(lengths[at]),
            **{name: known[name] for name in rates},
            **latency,
            written_bytes=float(written[at]),
            waf=None,
            cpu_pct=None,
        )

    return [row(at) for at in range(len(lengths))]


def _results(
    rows: Sequence[pts.Cell], capacity: int | None, width_s: float
) -> tuple[SaturationResults, list[str]]:
    """Return the figures of the curve, and how they came about."""
    rates = [float(row.iops) for row in rows]
    written = [float(row.written_bytes) for row in rows]
    notes = []
    fob = saturation.new_level(rates, written, capacity) if capacity else None
    if not capacity:
        notes.append("the level of the new drive is unknown without --capacity")
    at = saturation.cliff(rates, fob)
    window = _window(rates) if width_s == MINUTE_S else None
    steady = statistics.fmean(window[1]) if window else saturation.last_level(rates)
    if window:
        notes.append(f"steady by the five-point rule at round {window[0]}, of 31 minutes each")
    else:
        notes.append("not steady by the five-point rule, or too short for it: the steady level is "
                     "the mean of the last tenth")  # fmt: skip
    last = rows[-1]
    return SaturationResults(
        attained=window is not None,
        ended_by=UNKNOWN,
        fob_iops=fob,
        steady_iops=steady,
        steady_ratio=steady / fob if fob else None,
        cliff_minutes=None if at is None else rows[at].end_s / 60,
        cliff_drive_fills=written[at] / capacity if capacity and at is not None else None,
        written_bytes=last.written_bytes,
        drive_fills=written[-1] / capacity if capacity else None,
        minutes=last.end_s / 60,
        waf_end=None,
    ), notes


def _window(rates: Sequence[float]) -> tuple[int, Sequence[float]] | None:
    """Return the first round at which the rule holds, and the values of its window."""
    samples = rates[ROUND_MINUTES - 1 :: ROUND_MINUTES]
    for last in range(WINDOW_ROUNDS, len(samples) + 1):
        window = samples[last - WINDOW_ROUNDS : last]
        if steady_state(window).steady:
            return last, window
    return None


def _histogram(whole: Histogram, label: str, of: str) -> pts.Histogram:
    return pts.Histogram(
        id="imported_1",
        title=f"{label} ({of})",
        count=whole.count,
        **whole.to_dict(),
        latency_us=pts.Percentiles(**whole.percentiles_us()),
    )
