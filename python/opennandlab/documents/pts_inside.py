"""What the tests that look into an FTL found out: `results` of their documents."""

from __future__ import annotations

import msgspec

from opennandlab.documents.pts_base import Results
from opennandlab.documents.record import Number, Record

Figure = Number | None
NAMES = ("skew", "fill", "zones", "load", "identify")


class SkewPoint(Record, frozen=True, kw_only=True):
    """A pattern of writes.

    Args:
        pattern: `uniform`, `zipf:THETA`, `static:SHARE` or `hot:SHARE:WRITES`.
        first_mb_s: Throughput of the first minute.
        steady_mb_s: Throughput of the last fifth.
        waf: Write amplification of the last fifth; `null` where it is unknown.
        steady: Whether the last five rates are steady by the five-point rule.
        excursion_pct: Largest of them less smallest, in percent of their mean.
        slope_pct: Change of the line through them, in percent of their mean.
        drive_writes: Written in all, in capacities, the fill left out.
    """

    pattern: str
    first_mb_s: Figure
    steady_mb_s: Figure
    waf: Figure
    steady: bool
    excursion_pct: Figure
    slope_pct: Figure
    drive_writes: Number


class SkewResults(Results, frozen=True, kw_only=True):
    """Skewed writes.

    Args:
        fill: The pass over the drive before: `sequential`, `shuffled` or `none`.
        points: The patterns.
        waf_missing: Why no write amplification is known; absent where it is.
    """

    fill: str
    points: list[SkewPoint]
    waf_missing: str | None = None


class FillPoint(Record, frozen=True, kw_only=True):
    """Writes to a part of the drive.

    Args:
        pct: The part, in percent.
        region_bytes: The same in bytes.
        mb_s: Throughput of the last fifth.
        waf: Write amplification of the last fifth; `null` where it is unknown.
        waf_predicted: The closed form of greedy; `null` where the flash is unknown.
        steady: Whether the last five rates are steady by the five-point rule.
        excursion_pct: Largest of them less smallest, in percent of their mean.
        slope_pct: Change of the line through them, in percent of their mean.
        region_writes: How often the part was written, the fill left out.
    """

    pct: Number
    region_bytes: Number
    mb_s: Figure
    waf: Figure
    waf_predicted: Figure
    steady: bool
    excursion_pct: Figure
    slope_pct: Figure
    region_writes: Number


class FillResults(Results, frozen=True, kw_only=True):
    """Filled fraction.

    Args:
        points: The parts.
        raw_bytes: Flash of a simulated drive; `null` of a real one.
        waf_missing: Why no write amplification is known; absent where it is.
    """

    points: list[FillPoint]
    raw_bytes: Figure
    waf_missing: str | None = None


class ZonePoint(Record, frozen=True, kw_only=True):
    """Zones of one size.

    Args:
        open: Zones that are written in turn.
        zone_bytes: Size of a zone.
        mb_s: Throughput.
        waf: Write amplification; `null` where it is unknown.
    """

    open: int
    zone_bytes: int
    mb_s: Figure
    waf: Figure


class ZonesResults(Results, frozen=True, kw_only=True):
    """Zones that are trimmed and written from end to end.

    Args:
        plateau_mb_s: The best throughput with one open zone.
        superblock_bytes: Largest zone below 0.9 of it, an estimate of the superblock; `null` when
            none was.
        superblock_bytes_below: The next larger zone that was tried; `null` when none was.
        superblock_bytes_estimated: The edge with its bias by the spare area taken out; `null`
            where that is unknown.
        superblock_bytes_declared: What fills together by the file of a simulated drive; `null` of a
            real one.
        open_superblocks: Most open zones at 0.9 of the throughput of one; `null` when that was not
            tried.
        open_superblocks_below: Fewest open zones below it; `null` when all are as fast.
        counted_zone_bytes: Size of the zones of which several were open; `null` when none were.
        points: What was tried.
        waf_missing: Why no write amplification is known; absent where it is.
    """

    plateau_mb_s: Number
    superblock_bytes: int | None
    superblock_bytes_below: int | None
    superblock_bytes_estimated: int | None
    superblock_bytes_declared: int | None
    open_superblocks: int | None
    open_superblocks_below: int | None
    counted_zone_bytes: int | None
    points: list[ZonePoint]
    waf_missing: str | None = None


class LoadPoint(Record, frozen=True, kw_only=True):
    """A probe next to writes at a fixed rate; response times in microseconds.

    Args:
        asked_per_s: Writes a second that were asked for.
        achieved_per_s: Those that were done.
        is_achieved: Whether that is at least 0.97 of them.
        read_us_p50: Of the reads of the probe, 50 % take at most this.
        read_us_p99: 99 % do.
        read_us_p999: 99.9 % do.
        read_us_p9999: 99.99 % do; `null`, as all of these, with less than ten beyond.
        write_us_p50: The same of the writes of the probe.
        write_us_p99: 99 % do.
        write_us_p999: 99.9 % do.
        write_us_p9999: 99.99 % do.
        load_us_p99: The same of the writes next to it.
        waf: Write amplification; `null` where it is unknown.
        probe_achieved_per_s: Requests a second that the probe got; absent where it is not told
            apart from the load.
    """

    asked_per_s: Number
    achieved_per_s: Number
    is_achieved: bool
    read_us_p50: Figure
    read_us_p99: Figure
    read_us_p999: Figure
    read_us_p9999: Figure
    write_us_p50: Figure
    write_us_p99: Figure
    write_us_p999: Figure
    write_us_p9999: Figure
    load_us_p99: Figure
    waf: Figure
    probe_achieved_per_s: Number | None = None


class LoadResults(Results, frozen=True, kw_only=True):
    """Latency against load.

    Args:
        probe_per_s: Requests a second of the probe, half of them reads.
        sustained_per_s: Writes a second of the closed loop.
        knee_per_s: Largest load with a p99 of at most twice that of the lowest; `null` for none, as
            where the probe was starved next to the lowest.
        sees_collection: Whether data was moved in the windows; `null` where that is unknown.
        points: The loads.
    """

    probe_per_s: Number
    sustained_per_s: Number
    knee_per_s: Figure
    sees_collection: bool | None
    points: list[LoadPoint]


class IdentifyPoint(Record, frozen=True, kw_only=True):
    """One of the cells that pin a drive; figures that are unknown or not steady are left out.

    Args:
        cell: Its number, 1 to 6.
        pattern: `sequential`, `uniform`, `static:0.6` and the like, or `load`.
        region_bytes: Size of the region that was written, from the start of the range.
        rate: Writes a second that were asked for, of a load; those of the probe are among them.
        block_size_bytes: Size of a request.
        queue_depth: Requests outstanding in all.
        mb_s: Throughput of the last fifth; of a load that of all writes.
        waf: Write amplification of the last fifth.
        read_us_p50: Of the reads of a probe next to a load, 50 % take at most this.
        read_us_p99: 99 % do.
        read_us_p999: 99.9 % do.
        write_us_p50: The same of the writes of the probe.
        write_us_p99: 99 % do.
        write_us_p999: 99.9 % do.
        first_mb_s: Throughput of the first minute.
        steady: Whether the last five rates are steady by the five-point rule; not of a load.
        excursion_pct: Largest of them less smallest, in percent of their mean.
        rates_mb_s: Rates that were measured, oldest first, in equal pieces of the cell.
        drive_writes: Written in all, in sizes of the region, the fill left out.
        note: Why a figure is missing.
    """

    cell: int
    pattern: str
    region_bytes: int
    block_size_bytes: int
    queue_depth: int
    rate: Figure = None
    mb_s: Figure = None
    waf: Figure = None
    read_us_p50: Figure = None
    read_us_p99: Figure = None
    read_us_p999: Figure = None
    write_us_p50: Figure = None
    write_us_p99: Figure = None
    write_us_p999: Figure = None
    first_mb_s: Figure = None
    steady: bool | None = None
    excursion_pct: Figure = None
    rates_mb_s: list[Number] = msgspec.field(default_factory=list)
    drive_writes: Figure = None
    note: str = ""


class Reading(Record, frozen=True, kw_only=True):
    """A property of a drive that the cells show.

    Args:
        name: Its name.
        value: The figure; `null` if it is unknown, or is a word.
        unit: Its unit; empty for none.
        meaning: What follows from it, or why it is unknown.
    """

    name: str
    value: Figure
    unit: str
    meaning: str


class IdentifyResults(Results, frozen=True, kw_only=True):
    """Six cells that pin a drive.

    Args:
        alpha: Space for data over the user capacity; `null` if unknown.
        sigma: How far static data are kept apart: 0 as under greedy, 1 ideally; `null` if unknown.
        policy: The choice of victims by `sigma`, or why it is unknown.
        points: The cells.
        readings: Properties of the drive that follow.
        waf_missing: Why no write amplification is known; absent if it is.
    """

    alpha: Figure
    sigma: Figure
    policy: str
    points: list[IdentifyPoint]
    readings: list[Reading]
    waf_missing: str | None = None
