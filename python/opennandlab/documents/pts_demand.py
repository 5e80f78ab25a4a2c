"""What the demand tests found out: `results` of their documents."""

from __future__ import annotations

from opennandlab.documents.pts_base import Results
from opennandlab.documents.record import Number, Record

Figure = Number | None


class PatternFacts(Record, frozen=True, kw_only=True):
    """An access pattern.

    Args:
        name: Its name.
        title: Its title.
        read_pct: Reads in percent.
        blocks: Size of a request in bytes, or pairs of size and share.
        zones: Pairs of share of the range and share of the requests.
    """

    name: str
    title: str
    read_pct: Number
    blocks: int | list[list[Number]]
    zones: list[list[Number]]


class OperatingPoint(Record, frozen=True, kw_only=True):
    """A combination of threads and queue depth that was chosen.

    Args:
        name: `MaxIOPS`, `MinIOPS`, `MidIOPS`, …
        threads: Threads (TC).
        queue_depth: Requests outstanding per thread (QD).
        iops: Mean IOPS.
        lat_us_mean: Mean response time (ART).
        target_iops: What it should come near to; `null` for the ends.
        note: What is unusual about it; empty for nothing.
        iops_min: Least IOPS in a round of the window; absent in older documents.
        iops_max: Most IOPS in a round of the window; absent in older documents.
    """

    name: str
    threads: int
    queue_depth: int
    iops: Number
    lat_us_mean: Number
    target_iops: Figure
    note: str
    iops_min: Figure = None
    iops_max: Figure = None


class DemandResults(Results, frozen=True, kw_only=True):
    """Demand: a pattern under 49 combinations of threads and queue depth.

    Args:
        attained: Whether both steady states were attained.
        pattern: The access pattern.
        points: Operating points.
        single_iops: IOPS of one request at a time.
    """

    attained: bool
    pattern: PatternFacts
    points: list[OperatingPoint]
    single_iops: Number
