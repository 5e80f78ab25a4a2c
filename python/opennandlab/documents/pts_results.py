"""What each standard test found out, next to its cells and tables: `results` of its document.

`RESULTS` has one row per test. Means are over the measurement window, the five rounds by which the
steady state was decided, unless a field says otherwise.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from opennandlab.documents.pts_base import Results
from opennandlab.documents.pts_demand import DemandResults
from opennandlab.documents.pts_inside import (
    FillResults,
    IdentifyResults,
    LoadResults,
    SkewResults,
    ZonesResults,
)
from opennandlab.documents.pts_rwsw import RwswResults
from opennandlab.documents.pts_small import AccessTimeResults, BurstResults, PositionResults
from opennandlab.documents.record import Number, Record

Figure = Number | None


class IopsResults(Results, frozen=True, kw_only=True):
    """IOPS.

    Args:
        attained: Whether the steady state was attained.
        iops_rnd_4kib_write: IOPS of random 4 KiB writes.
        iops_rnd_4kib_read: IOPS of random 4 KiB reads.
        iops_rnd_4kib_65_35: IOPS of random 4 KiB requests, 65 % reads.
        waf_rnd_4kib_write: Write amplification of random 4 KiB writes.
    """

    attained: bool
    iops_rnd_4kib_write: Figure
    iops_rnd_4kib_read: Figure
    iops_rnd_4kib_65_35: Figure
    waf_rnd_4kib_write: Figure


class ThroughputResults(Results, frozen=True, kw_only=True):
    """Throughput, in 10^6 bytes per second.

    Args:
        attained: Whether every block size attained its steady state.
        mb_s_seq_1024kib_read: Sequential reads of 1024 KiB.
        mb_s_seq_1024kib_write: Sequential writes of 1024 KiB.
        mb_s_seq_128kib_read: Sequential reads of 128 KiB; profile E only.
        mb_s_seq_128kib_write: Sequential writes of 128 KiB; profile E only.
    """

    attained: bool
    mb_s_seq_1024kib_read: Figure
    mb_s_seq_1024kib_write: Figure
    mb_s_seq_128kib_read: Number | UnsetType | None = UNSET
    mb_s_seq_128kib_write: Number | UnsetType | None = UNSET


class LatencyResults(Results, frozen=True, kw_only=True):
    """Response times of one request at a time.

    Args:
        attained: Whether the steady state was attained.
        art_ms_rnd_4kib_write: Mean response time of random 4 KiB writes.
        mrt_ms_rnd_4kib_write: Longest response time of random 4 KiB writes.
        art_ms_rnd_4kib_read: Mean response time of random 4 KiB reads.
    """

    attained: bool
    art_ms_rnd_4kib_write: Figure
    mrt_ms_rnd_4kib_write: Figure
    art_ms_rnd_4kib_read: Figure


class SaturationResults(Results, frozen=True, kw_only=True):
    """Write saturation: how a purged drive slows down.

    Args:
        attained: Whether the steady state was attained.
        ended_by: `steady_state`, `written`, `time` or `rounds`; `unknown` of an import.
        fob_iops: IOPS fresh out of the box: mean over the first 1 % of the capacity.
        steady_iops: IOPS at the end.
        steady_ratio: `steady_iops` over `fob_iops`.
        cliff_minutes: When IOPS fell below 90 % of `fob_iops`; `null` when they did not.
        cliff_drive_fills: The same in user capacities.
        written_bytes: Bytes written in all.
        drive_fills: The same in user capacities; `null` where the capacity is unknown.
        minutes: Time it took.
        waf_end: Write amplification of the last minute.
    """

    attained: bool
    ended_by: str
    fob_iops: Figure
    steady_iops: Figure
    steady_ratio: Figure
    cliff_minutes: Figure
    cliff_drive_fills: Figure
    written_bytes: Number
    drive_fills: Figure
    minutes: Number
    waf_end: Figure


class IdleSegment(Record, frozen=True, kw_only=True):
    """Writes with pauses of one length, and the writes without pause after them.

    Args:
        segment: Its number, from 1.
        wait_state: Length of a pause in units of `unit_s`.
        idle_s: Length of a pause.
        part1_iops: Mean IOPS of the writes with pauses.
        part2_iops: Mean IOPS of the writes without.
        gain: `part1_iops` over the steady level.
        gain_before: `part1_iops` over the writes without pause before it; absent in older
            documents.
        return_ratio: `part2_iops` over the steady level.
        start_s: Begin.
        end_s: End.
    """

    segment: int
    wait_state: int
    idle_s: Number
    part1_iops: Figure
    part2_iops: Figure
    gain: Figure
    return_ratio: Figure
    start_s: Number
    end_s: Number
    gain_before: Figure = None


class IdleResults(Results, frozen=True, kw_only=True):
    """Host idle recovery.

    Args:
        attained: Whether the steady state was attained.
        baseline_iops: IOPS of the steady state.
        unit_s: Unit of pauses and samples.
        loops: Samples of each part.
        segments: The five segments.
    """

    attained: bool
    baseline_iops: Figure
    unit_s: Number
    loops: int
    segments: list[IdleSegment]


class StimulusGroup(Record, frozen=True, kw_only=True):
    """One of the three groups of cross stimulus recovery.

    Args:
        group: Its number, from 1.
        label: What was written.
        samples: How many.
        mb_s_min: Least throughput of a sample.
        mb_s_mean: Mean throughput, over time.
        mb_s_max: Greatest throughput.
        lat_us_mean_min: Least mean response time.
        lat_us_mean_mean: Mean of the mean response times, over time.
        lat_us_mean_max: Greatest mean response time.
        lat_us_max_min: Least of the longest response times.
        lat_us_max_mean: Mean of the longest response times, over time.
        lat_us_max_max: The longest response time.
    """

    group: int
    label: str
    samples: int
    mb_s_min: Figure
    mb_s_mean: Figure
    mb_s_max: Figure
    lat_us_mean_min: Figure
    lat_us_mean_mean: Figure
    lat_us_mean_max: Figure
    lat_us_max_min: Figure
    lat_us_max_mean: Figure
    lat_us_max_max: Figure


class CrossResults(Results, frozen=True, kw_only=True):
    """Cross stimulus recovery.

    Args:
        groups: The three groups.
        reference_mb_s: Mean throughput of the last eighth of group 1.
        recovery_sample: Sample of group 3, from 1, at which it is recovered; `null` for never.
        recovery_s: Time until then, from the end of group 2.
        recovery_drive_fills: Bytes written until then, in user capacities.
        group_1_mb_s: Mean throughput of group 1; absent in older documents, as what follows.
        to_mean_sample: First sample of group 3 at or above it, from 1, the measure of published
            implementations of PTS 2.0; `null` for never.
        to_mean_s: Time until then, from the end of group 2.
        to_mean_drive_fills: Bytes written until then, in user capacities.
    """

    groups: list[StimulusGroup]
    reference_mb_s: Figure
    recovery_sample: int | None
    recovery_s: Figure
    recovery_drive_fills: Figure
    group_1_mb_s: Figure | UnsetType = UNSET
    to_mean_sample: int | UnsetType | None = UNSET
    to_mean_s: Figure | UnsetType = UNSET
    to_mean_drive_fills: Figure | UnsetType = UNSET


class SurfaceResults(Results, frozen=True, kw_only=True):
    """The IOPS surface.

    Args:
        attained: Whether the steady state was attained before.
        iops_max: Most IOPS.
        iops_max_at: The cell that has them.
        iops_min: Least IOPS.
    """

    attained: bool
    iops_max: Number
    iops_max_at: str
    iops_min: Number


class StabilityResults(Results, frozen=True, kw_only=True):
    """How even a drive is, second by second.

    Args:
        attained: Whether the steady state was attained before.
        sample_s: Length of a sample.
        samples: How many.
        iops_mean: Mean IOPS.
        cv: Coefficient of variation: standard deviation over mean.
        iops_min: Least IOPS of a sample.
        iops_max: Most IOPS of a sample.
        min_to_mean: `iops_min` over `iops_mean`.
        share_below_half: Share of the samples below half of the mean.
        lat_us_p999: 99.9 % response time.
    """

    attained: bool
    sample_s: Number
    samples: int
    iops_mean: Figure
    cv: Figure
    iops_min: Figure
    iops_max: Figure
    min_to_mean: Figure
    share_below_half: Figure
    lat_us_p999: Figure


class Evenness(Record, frozen=True, kw_only=True):
    """How even the last ninth of a run is.

    Args:
        label: Which run.
        samples: How many.
        iops_mean: Mean IOPS.
        cv: Coefficient of variation: standard deviation over mean.
        iops_min: Least IOPS of a sample.
        iops_max: Most IOPS of a sample.
        min_to_mean: `iops_min` over `iops_mean`.
        share_below_half: Share of the samples below half of the mean.
        mean_to_deviation: Mean over standard deviation.
    """

    label: str
    samples: int
    iops_mean: Figure
    cv: Figure
    iops_min: Figure
    iops_max: Figure
    min_to_mean: Figure
    share_below_half: Figure
    mean_to_deviation: Figure


class ConsistencyResults(Results, frozen=True, kw_only=True):
    """Consistency with and without more spare area.

    Args:
        runs: The runs.
    """

    runs: list[Evenness]


class IndependenceResults(Results, frozen=True, kw_only=True):
    """Workload independence.

    Args:
        first_mb_s: Throughput of the first sequential writes.
        random_mb_s: Throughput of the random writes.
        third_mb_s: Throughput of the sequential writes after them.
        drop_pct: What the third lose against the first.
    """

    first_mb_s: Number
    random_mb_s: Number
    third_mb_s: Number
    drop_pct: Figure


class CompositePattern(Record, frozen=True, kw_only=True):
    """A pattern and its IOPS.

    Args:
        name: Its name.
        title: Its title.
        iops: IOPS by queue depth.
    """

    name: str
    title: str
    iops: dict[str, Number]


class CompositeResults(Results, frozen=True, kw_only=True):
    """Composite workloads.

    Args:
        attained: Whether the steady state was attained before.
        patterns: File server, web server, database.
    """

    attained: bool
    patterns: list[CompositePattern]


class MixCurve(Record, frozen=True, kw_only=True):
    """The mixes of reads and writes of one block size.

    Args:
        block_bytes: Size of a request.
        rms_iops: Root mean square of the IOPS over the mixes.
        rms_mb_s: The same of the throughput.
        mixed_efficiency: Measured over harmonic prediction, by mix.
    """

    block_bytes: int
    rms_iops: Number
    rms_mb_s: Number
    mixed_efficiency: list[Figure]


class MixResults(Results, frozen=True, kw_only=True):
    """Performance against the mix of reads and writes.

    Args:
        attained: Whether the steady state was attained before.
        read_pct: The mixes.
        curves: One per block size.
        iops_rnd_4kib_67_33: IOPS of random 4 KiB requests, 67 % reads; absent in older documents.
        iops_rnd_8kib_67_33: The same of 8 KiB.
    """

    attained: bool
    read_pct: list[Number]
    curves: list[MixCurve]
    iops_rnd_4kib_67_33: Figure = None
    iops_rnd_8kib_67_33: Figure = None


class BlockSizeResults(Results, frozen=True, kw_only=True):
    """Performance against block size.

    Args:
        attained: Whether the steady state was attained before.
        read_pct: Reads in percent.
    """

    attained: bool
    read_pct: Number


class DieStep(Record, frozen=True, kw_only=True):
    """The drive with some of its dies.

    Args:
        dies: How many.
        channels: Over so many channels.
        dies_per_channel: So many on each.
        rms_iops: Root mean square of the IOPS of 4 KiB over five mixes.
        rms_mb_s: The same of the throughput of 128 KiB.
        normalised_iops: `rms_iops` over that of one die.
        efficiency_iops: That over the number of dies.
        normalised_mb_s: `rms_mb_s` over that of one die.
        efficiency_mb_s: That over the number of dies.
    """

    dies: int
    channels: int
    dies_per_channel: int
    rms_iops: Number
    rms_mb_s: Number
    normalised_iops: Number
    efficiency_iops: Number
    normalised_mb_s: Number
    efficiency_mb_s: Number


class ScalabilityResults(Results, frozen=True, kw_only=True):
    """How far performance follows the number of dies.

    Args:
        attained: Whether every step attained its steady state.
        read_pct: The mixes.
        steps: One per number of dies.
    """

    attained: bool
    read_pct: list[Number]
    steps: list[DieStep]


class WriteCase(Record, frozen=True, kw_only=True):
    """A condition of writing.

    Args:
        name: What was relaxed.
        write_mb_s: Throughput.
        iops_4kib: The same in pages of 4 KiB per second.
        waf: Write amplification.
        ratio: Throughput over that of the baseline.
        attained: Whether the steady state was attained.
    """

    name: str
    write_mb_s: Figure
    iops_4kib: Figure
    waf: Figure
    ratio: Figure
    attained: bool


class PathologicalResults(Results, frozen=True, kw_only=True):
    """The pathological write condition.

    Args:
        attained: Whether every case attained its steady state.
        cases: The baseline, and one per relaxed condition.
    """

    attained: bool
    cases: list[WriteCase]


# Test -> what its results are.
RESULTS: dict[str, type[Results]] = {
    "iops": IopsResults,
    "throughput": ThroughputResults,
    "latency": LatencyResults,
    "wsat": SaturationResults,
    "hir": IdleResults,
    "xsr": CrossResults,
    "dirth": DemandResults,
    "ecw": DemandResults,
    "surface": SurfaceResults,
    "stability": StabilityResults,
    "consistency": ConsistencyResults,
    "independence": IndependenceResults,
    "composite": CompositeResults,
    "rw_ratio": MixResults,
    "block_size": BlockSizeResults,
    "scalability": ScalabilityResults,
    "pathological": PathologicalResults,
    "access_time": AccessTimeResults,
    "position": PositionResults,
    "burst": BurstResults,
    "skew": SkewResults,
    "fill": FillResults,
    "zones": ZonesResults,
    "load": LoadResults,
    "identify": IdentifyResults,
    "rwsw": RwswResults,
}
