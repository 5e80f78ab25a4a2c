"""What the small tests of `characterise` found out: access time, rate by position, burst."""

from __future__ import annotations

from opennandlab.documents.pts_base import Results
from opennandlab.documents.record import Number, Record

Figure = Number | None


class AccessTime(Record, frozen=True, kw_only=True):
    """Response times of one request at a time.

    Args:
        iops: Requests per second.
        count: Requests.
        lat_us_mean: Mean.
        lat_us_p50: 50 % of the requests take at most this; `null` with less than ten beyond.
        lat_us_p99: 99 % do.
        lat_us_p999: 99.9 % do.
        lat_us_max: Longest.
    """

    iops: Number
    count: int
    lat_us_mean: Figure
    lat_us_p50: Figure
    lat_us_p99: Figure
    lat_us_p999: Figure
    lat_us_max: Figure


class AccessTimeResults(Results, frozen=True, kw_only=True):
    """Access time: random 4 KiB requests, one at a time.

    Args:
        attained: Whether the steady state was attained before.
        reads: Of reads.
        writes: Of writes.
    """

    attained: bool
    reads: AccessTime
    writes: AccessTime


class Slice(Record, frozen=True, kw_only=True):
    """A part of the active range.

    Args:
        start_bytes: Where it begins, from the start of the range.
        write_mb_s: Rate of sequential writes.
        read_mb_s: Rate of sequential reads.
        scattered_read_mb_s: Rate of sequential reads after random writes to the whole range.
        scattered_write_mb_s: Rate of the sequential writes that follow.
    """

    start_bytes: Number
    write_mb_s: Number
    read_mb_s: Number
    scattered_read_mb_s: Number
    scattered_write_mb_s: Number


class PositionResults(Results, frozen=True, kw_only=True):
    """Sequential rate by position, in 10^6 bytes per second.

    Args:
        slice_bytes: Size of a slice.
        write_mb_s_mean: Mean of the slices, of writes.
        write_mb_s_min: Slowest slice.
        write_mb_s_max: Fastest slice.
        read_mb_s_mean: Mean of the slices, of reads.
        read_mb_s_min: Slowest slice.
        read_mb_s_max: Fastest slice.
        scattered_read_mb_s_mean: Mean of the slices, of reads after random writes.
        scattered_read_mb_s_min: Slowest slice.
        scattered_read_mb_s_max: Fastest slice.
        scattered_write_mb_s_mean: Mean of the slices, of the writes after them.
        scattered_write_mb_s_min: Slowest slice.
        scattered_write_mb_s_max: Fastest slice.
        slices: All of them, from the start of the range.
    """

    slice_bytes: Number
    write_mb_s_mean: Figure
    write_mb_s_min: Figure
    write_mb_s_max: Figure
    read_mb_s_mean: Figure
    read_mb_s_min: Figure
    read_mb_s_max: Figure
    scattered_read_mb_s_mean: Figure
    scattered_read_mb_s_min: Figure
    scattered_read_mb_s_max: Figure
    scattered_write_mb_s_mean: Figure
    scattered_write_mb_s_min: Figure
    scattered_write_mb_s_max: Figure
    slices: list[Slice]


class BurstLoad(Record, frozen=True, kw_only=True):
    """Writes from a purged and rested drive on.

    Args:
        name: Name of the load.
        attained: Whether the steady state was attained.
        burst_mb_s: Rate of the first piece.
        burst_iops: The same in requests per second.
        burst_of_bytes: What was written in that piece.
        sustained_mb_s: Mean of the window.
        sustained_iops: The same in requests per second.
        ratio: Burst over sustained rate.
        volume_bytes: Written before the first piece that is slower than half-way between the two
            rates; `null` where the sustained rate is at least 90 % of the burst.
        volume_drive_fills: The same in user capacities.
    """

    name: str
    attained: bool
    burst_mb_s: Figure
    burst_iops: Figure
    burst_of_bytes: Number
    sustained_mb_s: Figure
    sustained_iops: Figure
    ratio: Figure
    volume_bytes: Figure
    volume_drive_fills: Figure


class BurstResults(Results, frozen=True, kw_only=True):
    """Burst against sustained writes.

    Args:
        attained: Whether every load attained its steady state.
        loads: Random and sequential writes.
    """

    attained: bool
    loads: list[BurstLoad]
