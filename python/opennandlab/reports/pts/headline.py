"""The few figures of a test that are quoted: what a page, a suite and the terminal show first.

Each test has four to six, from its results and tables, in the units in which people say them. A
figure that the document lacks is left out; one that was sought and not found is a word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import UnsetType

from opennandlab.documents import pts_demand, pts_inside, pts_results, pts_rwsw, pts_small
from opennandlab.documents.pts import PtsDocument
from opennandlab.documents.pts_base import Results
from opennandlab.documents.pts_origin import is_own_matrix
from opennandlab.reports import words
from opennandlab.reports.model import Headline
from opennandlab.reports.pts.tables import ENDS
from opennandlab.reports.pts.verdict import is_steady

Found = Iterator[Headline | None]


# Digits of a ratio, and of one of short cells by a clock of milliseconds.
DIGITS, SHORT_DIGITS = 4, 3


# Precedes the figures of a smoke, on every page and screen.
SMOKE = Headline("smoke: cells too short to measure", "not a result")


def headlines(document: PtsDocument) -> tuple[Headline, ...]:
    """Return the figures of a document that are quoted; those of a smoke behind a warning."""
    make = OF.get(type(document.results))
    found = tuple(one for one in make(document.results, document) if one) if make else ()
    is_smoke = document.header.time_base.name == "smoke"
    return (SMOKE, *found) if found and is_smoke else found


def one(name: str, value: float | None, unit: str = "") -> Headline | None:
    """Return a figure; None for one that is not known. Times are in ms or µs as they are short."""
    if value is None:
        return None
    if unit == "ms" and abs(value) < 1:
        value, unit = value * 1e3, "µs"
    elif unit == "µs" and abs(value) >= 1e3:
        value, unit = value * 1e-3, "ms"
    return Headline(name, words.value(value, 0 if abs(value) >= 1e3 else None), unit)


def ratio(document: PtsDocument, name: str, value: float | None, unit: str = "") -> Headline | None:
    """Return a ratio with the digits that it has, also one of exactly 1."""
    if value is None:
        return None
    base = document.header.time_base
    is_short = base.clock == "real" and base.name != "full"
    digits = SHORT_DIGITS if is_short else DIGITS
    return Headline(name, words.padded(value, digits), unit)


def _cell(document: PtsDocument, table: str, row: str, column: str) -> float | None:
    """Return a number of a table by the names of its row and column."""
    for block in document.tables:
        if block.id == table and row in block.rows and column in block.columns:
            try:
                found = block.values[block.rows.index(row)][block.columns.index(column)]
            except IndexError:
                return None
            return None if isinstance(found, str) or found is None else float(found)
    return None


def _corners(document: PtsDocument, *wanted: tuple[str, str, int, str]) -> Found:
    """Yield figures of a matrix of one's own: of its first and its last mix, each once.

    Args:
        document: With tables by block size and mix, small and writes first.
        wanted: Table, unit, place of the block size, and what the figure is.
    """
    order = "sequential" if document.test == "throughput" else "random"
    names = set()
    for table, unit, at, what in wanted:
        block = next((block for block in document.tables if block.id == table), None)
        if block is None:
            continue
        for column in (block.columns[0], block.columns[-1]):
            name = f"{order} {block.rows[at]} KiB {column}{what}"
            if (name, unit) not in names:
                yield one(name, _cell(document, table, block.rows[at], column), unit)
            names.add((name, unit))


def _iops(found: pts_results.IopsResults, document: PtsDocument) -> Found:
    if is_own_matrix(document.header):
        yield from _corners(document, ("iops", "IOPS", 0, ""), ("mb_s", "MB/s", -1, ""))
        return
    yield one("random 4 KiB writes", found.iops_rnd_4kib_write, "IOPS")
    yield one("random 4 KiB, 65 % reads", found.iops_rnd_4kib_65_35, "IOPS")
    yield one("random 4 KiB reads", found.iops_rnd_4kib_read, "IOPS")
    for column, what in (("0/100", "writes"), ("100/0", "reads")):
        yield one(f"random 1024 KiB {what}", _cell(document, "mb_s", "1024", column), "MB/s")
    yield one("write amplification, 4 KiB writes", found.waf_rnd_4kib_write)


def _throughput(found: pts_results.ThroughputResults, document: PtsDocument) -> Found:
    if is_own_matrix(document.header):
        yield from _corners(document, *(("throughput", "MB/s", at, "") for at in (-1, 0)))
        return
    for size in ("1024", "128"):
        for what in ("write", "read"):
            value = getattr(found, f"mb_s_seq_{size}kib_{what}")
            if isinstance(value, int | float):
                yield one(f"sequential {size} KiB {what}s", value, "MB/s")


def _latency(found: pts_results.LatencyResults, document: PtsDocument) -> Found:
    if is_own_matrix(document.header):
        small = (("art", "ms", 0, ", mean (ART)"), ("mrt", "ms", 0, ", longest (MRT)"))
        yield from _corners(document, *small, ("art", "ms", -1, ", mean (ART)"))
        return
    yield one("4 KiB write, mean (ART)", found.art_ms_rnd_4kib_write, "ms")
    yield one("4 KiB write, 99.9 %", _cell(document, "p999", "4", "0/100"), "ms")
    yield one("4 KiB write, longest (MRT)", found.mrt_ms_rnd_4kib_write, "ms")
    yield one("4 KiB read, mean (ART)", found.art_ms_rnd_4kib_read, "ms")
    yield one("4 KiB read, 99.9 %", _cell(document, "p999", "4", "100/0"), "ms")
    yield one("4 KiB 65/35, mean (ART)", _cell(document, "art", "4", "65/35"), "ms")


def _level(document: PtsDocument) -> str:
    """Return what the mean of the window may be called."""
    return "steady state" if is_steady(document.steady_state) else "mean of the window"


def _saturation(found: pts_results.SaturationResults, document: PtsDocument) -> Found:
    level = _level(document) if found.attained else "mean of the last rounds"
    yield one("fresh out of the box", found.fob_iops, "IOPS")
    yield one(level, found.steady_iops, "IOPS")
    yield ratio(document, f"{level} / fresh", found.steady_ratio)
    cliff = "write cliff (first below 90 %)"
    if found.cliff_drive_fills is None:
        yield Headline(cliff, "none")
    else:
        yield one(cliff, found.cliff_drive_fills, "drive fills")
    yield one("write amplification at the end", found.waf_end)
    ended = ENDS.get(found.ended_by, found.ended_by)
    yield one(f"written, ended by {ended}", found.drive_fills, "drive fills")


def _idle(found: pts_results.IdleResults, document: PtsDocument) -> Found:
    yield one(_level(document), found.baseline_iops, "IOPS")
    gains = [segment for segment in found.segments if segment.gain is not None]
    if gains:
        best = max(gains, key=lambda segment: segment.gain or 0.0)
        yield ratio(document, f"best gain, at wait state {best.wait_state:g}", best.gain, "×")
        for segment in (gains[0], gains[-1]):
            if segment is not best:
                yield ratio(
                    document, f"gain at wait state {segment.wait_state:g}", segment.gain, "×"
                )
    back = [segment.return_ratio for segment in found.segments if segment.return_ratio is not None]
    yield ratio(document, "lowest return ratio", min(back, default=None), "×")
    yield one("time of writing between pauses (u)", found.unit_s, "s")


def _recovered(name: str, seconds: float | None) -> Headline:
    """Return a measure of the recovery; one that never came is a word."""
    if not seconds:
        return Headline(name, "never" if seconds is None else "at once")
    return Headline(name, *words.span(seconds).split(" ", 1))


def _cross(found: pts_results.CrossResults, document: PtsDocument) -> Found:
    for group in found.groups:
        yield one(
            f"group {group.group}, mean: {group.label.split(': ')[-1]}", group.mb_s_mean, "MB/s"
        )
    yield _recovered("recovered: five samples at 90 %", found.recovery_s)
    if not isinstance(found.to_mean_s, UnsetType):
        yield _recovered("recovered: first minute at the mean of group 1", found.to_mean_s)
    yield one("recovered after", found.recovery_drive_fills or None, "drive fills")
    if len(found.groups) > 2:
        first, last = found.groups[0].mb_s_mean, found.groups[-1].mb_s_mean
        yield ratio(
            document, "group 3 / group 1", last / first if first and last is not None else None
        )


# How the note of an operating point begins that was sought and not found.
NONE_UNDER = "none under"


def _demand(found: pts_demand.DemandResults, document: PtsDocument) -> Found:
    is_slow = any(point.note.startswith(NONE_UNDER) for point in found.points[:1])
    for point in found.points[: 2 if is_slow else 3]:
        place = f"TC {point.threads} QD {point.queue_depth}"
        if is_slow and point is found.points[0]:
            yield Headline("MaxIOPS: combinations below 5 ms", "none")
            yield one(f"lowest mean response time, at {place}", point.lat_us_mean, "µs")
            continue
        yield one(f"{point.name}, at {place}", point.iops, "IOPS")
        if point is found.points[0]:
            yield one(f"mean response time at {point.name}", point.lat_us_mean, "µs")
            spread = next((h for h in document.histograms if h.id == "max_iops"), None)
            if spread is not None:
                yield one(f"99.9 % at {point.name}", spread.latency_us.p999, "µs")
    yield one("one request at a time", found.single_iops, "IOPS")


def _surface(found: pts_results.SurfaceResults, document: PtsDocument) -> Found:
    yield one(f"most, {found.iops_max_at}", found.iops_max, "IOPS")
    yield one("least", found.iops_min, "IOPS")
    for column, what in (("0/100", "writes"), ("100/0", "reads")):
        yield one(f"4 KiB {what}", _cell(document, "iops", "4", column), "IOPS")
        yield one(f"1024 KiB {what}", _cell(document, "mb_s", "1024", column), "MB/s")


def _stability(found: pts_results.StabilityResults, document: PtsDocument) -> Found:
    yield one("mean", found.iops_mean, "IOPS")
    yield ratio(document, "standard deviation / mean (CV)", found.cv)
    yield ratio(document, "lowest sample / mean", found.min_to_mean)
    share = found.share_below_half
    yield one("samples below half the mean", None if share is None else 100 * share, "%")
    yield one("99.9 % response time", found.lat_us_p999, "µs")


def _consistency(found: pts_results.ConsistencyResults, document: PtsDocument) -> Found:
    for run in found.runs[:2]:
        yield one(f"{run.label}: mean", run.iops_mean, "IOPS")
        yield one(f"{run.label}: mean / deviation", run.mean_to_deviation)
        yield ratio(document, f"{run.label}: lowest / mean", run.min_to_mean)


def _independence(found: pts_results.IndependenceResults, _: PtsDocument) -> Found:
    yield one("first sequential writes", found.first_mb_s, "MB/s")
    yield one("random writes", found.random_mb_s, "MB/s")
    yield one("sequential writes after them", found.third_mb_s, "MB/s")
    yield one("lost by what came before", found.drop_pct, "%")


def _composite(found: pts_results.CompositeResults, _: PtsDocument) -> Found:
    for pattern in found.patterns:
        depths = list(pattern.iops)
        for depth in dict.fromkeys(depths[:1] + depths[-1:]):
            yield one(f"{pattern.title or pattern.name}, QD {depth}", pattern.iops[depth], "IOPS")


def _mixes(found: pts_results.MixResults, document: PtsDocument) -> Found:
    for curve in found.curves:
        size = words.block(curve.block_bytes)
        yield one(f"{size}, RMS over the mixes", curve.rms_iops, "IOPS")
        yield one(f"{size}, RMS over the mixes", curve.rms_mb_s, "MB/s")
        known = [value for value in curve.mixed_efficiency if value is not None]
        yield ratio(document, f"{size}, least efficiency of a mix", min(known, default=None))


def _block_sizes(_: pts_results.BlockSizeResults, document: PtsDocument) -> Found:
    block = next((table for table in document.tables if table.id == "block_size"), None)
    for row in ("4", "128", "1024"):
        if block is not None:
            for column in ("IOPS", "MB/s"):
                yield one(f"{row} KiB", _cell(document, "block_size", row, column), column)


def _dies(found: pts_results.ScalabilityResults, document: PtsDocument) -> Found:
    if found.steps:
        last = found.steps[-1]
        for step in dict.fromkeys((found.steps[0].dies, last.dies)):
            of = next(one_step for one_step in found.steps if one_step.dies == step)
            dies = f"{step} die{'' if step == 1 else 's'}"
            yield one(f"4 KiB, {dies} (RMS)", of.rms_iops, "IOPS")
            yield one(f"128 KiB, {dies} (RMS)", of.rms_mb_s, "MB/s")
        yield ratio(document, "4 KiB, per die against one", last.efficiency_iops)
        yield ratio(document, "128 KiB, per die against one", last.efficiency_mb_s)


def _pathological(found: pts_results.PathologicalResults, document: PtsDocument) -> Found:
    for place, case in enumerate(found.cases[:6]):
        if place == 0:
            yield one(case.name, case.write_mb_s, "MB/s")
        else:
            yield ratio(document, case.name, case.ratio, "×")


def _access_time(found: pts_small.AccessTimeResults, _: PtsDocument) -> Found:
    for what, times in (("read", found.reads), ("write", found.writes)):
        yield one(f"4 KiB {what}, mean", times.lat_us_mean, "µs")
        yield one(f"4 KiB {what}, 99 %", times.lat_us_p99, "µs")
        yield one(f"4 KiB {what}, 99.9 %", times.lat_us_p999, "µs")


def _position(found: pts_small.PositionResults, _: PtsDocument) -> Found:
    for what in ("write", "read"):
        yield one(f"{what}s, mean", getattr(found, f"{what}_mb_s_mean"), "MB/s")
        yield one(f"{what}s, slowest slice", getattr(found, f"{what}_mb_s_min"), "MB/s")
    yield one("reads after random writes, mean", found.scattered_read_mb_s_mean, "MB/s")
    yield one("writes after them, slowest slice", found.scattered_write_mb_s_min, "MB/s")


def _burst(found: pts_small.BurstResults, _: PtsDocument) -> Found:
    for load in found.loads:
        yield one(f"{load.name}: burst", load.burst_mb_s, "MB/s")
        yield one(f"{load.name}: sustained", load.sustained_mb_s, "MB/s")
        if load.volume_drive_fills is None:
            yield Headline(f"{load.name}: end of the burst", "none")
        else:
            yield one(f"{load.name}: burst lasts", load.volume_drive_fills, "drive fills")


def _skew(found: pts_inside.SkewResults, _: PtsDocument) -> Found:
    if found.points:
        yield one("first minute", found.points[0].first_mb_s, "MB/s")
    rated = [point for point in found.points if point.steady_mb_s is not None]
    rated.sort(key=lambda point: point.steady_mb_s or 0.0)
    uniform = next((point for point in rated if point.pattern == "uniform"), None)
    for point in dict.fromkeys((uniform, *rated[:1], *rated[-1:])):
        if point is not None:
            level = "steady" if point.steady else "at the end"
            yield one(f"{level}, {point.pattern}", point.steady_mb_s, "MB/s")
    if uniform is not None:
        yield one("write amplification, uniform", uniform.waf)


def _fill(found: pts_inside.FillResults, _: PtsDocument) -> Found:
    for point in dict.fromkeys((*found.points[:1], *found.points[-1:])):
        yield one(f"{point.pct:g} % in use", point.mb_s, "MB/s")
        yield one(f"write amplification, {point.pct:g} % in use", point.waf)


def _zones(found: pts_inside.ZonesResults, document: PtsDocument) -> Found:
    mib = 1 << 20
    yield one("plateau", found.plateau_mb_s, "MB/s")
    if found.superblock_bytes is not None:
        yield one("largest zone below 0.9 of it", found.superblock_bytes / mib, "MiB")
    elif not document.partial:
        yield Headline("zones slower than 0.9 of it", "none", "")
    if found.superblock_bytes_estimated is not None:
        yield one("superblock, estimated", found.superblock_bytes_estimated / mib, "MiB")
    if found.open_superblocks is not None:
        yield one("open superblocks", found.open_superblocks)


def _load(found: pts_inside.LoadResults, document: PtsDocument) -> Found:
    yield one("sustained", found.sustained_per_s, "writes/s")
    if found.knee_per_s is not None:
        yield one("knee", found.knee_per_s, "writes/s")
    elif not document.partial:
        yield Headline("knee", "not found", "")
    for point in found.points[:1]:
        yield one("99 % of the reads, lowest load", point.read_us_p99, "µs")
    for point in found.points:
        if point.asked_per_s == found.knee_per_s:
            yield one("99 % of the reads, at the knee", point.read_us_p99, "µs")


def _identify(found: pts_inside.IdentifyResults, _: PtsDocument) -> Found:
    yield one("space for data, alpha", found.alpha)
    # The reason of an unknown policy is no value.
    policy, *why = found.policy.split(": ", 1)
    yield Headline(": ".join(["choice of victims", *why]), policy, "")
    if found.sigma is not None:
        yield one("static data, sigma", found.sigma)


def _real_world(found: pts_rwsw.RwswResults, _: PtsDocument) -> Found:
    if found.mix is not None:
        yield one("the mix", found.mix.iops, "IOPS")
        yield one("99 % of its requests", found.mix.lat_us_p99, "µs")
    if found.mix_efficiency is not None:
        yield one("mix efficiency", found.mix_efficiency)
    for stream in found.streams[:3]:
        if stream.alone is not None:
            yield one(f"{stream.label} alone", stream.alone.iops, "IOPS")
    if found.replay is not None:
        yield one("replayed in", sum(step.busy_s for step in found.replay), "s of requests")


# Results -> the figures quoted from them.
OF: dict[type[Results], Callable[[Any, PtsDocument], Found]] = {
    pts_results.IopsResults: _iops,
    pts_results.ThroughputResults: _throughput,
    pts_results.LatencyResults: _latency,
    pts_results.SaturationResults: _saturation,
    pts_results.IdleResults: _idle,
    pts_results.CrossResults: _cross,
    pts_demand.DemandResults: _demand,
    pts_results.SurfaceResults: _surface,
    pts_results.StabilityResults: _stability,
    pts_results.ConsistencyResults: _consistency,
    pts_results.IndependenceResults: _independence,
    pts_results.CompositeResults: _composite,
    pts_results.MixResults: _mixes,
    pts_results.BlockSizeResults: _block_sizes,
    pts_results.ScalabilityResults: _dies,
    pts_results.PathologicalResults: _pathological,
    pts_small.AccessTimeResults: _access_time,
    pts_small.PositionResults: _position,
    pts_small.BurstResults: _burst,
    pts_inside.SkewResults: _skew,
    pts_inside.FillResults: _fill,
    pts_inside.ZonesResults: _zones,
    pts_inside.LoadResults: _load,
    pts_inside.IdentifyResults: _identify,
    pts_rwsw.RwswResults: _real_world,
}
