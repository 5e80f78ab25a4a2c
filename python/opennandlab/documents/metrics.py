"""The metrics of a result: figures of the measured part, and what they are made of.

Every figure is a difference of counters between the start and the end of the measured part; nothing
of the preconditioning is in them. One that was not measured is `null`, never zero.
"""

from __future__ import annotations

from opennandlab.documents.energy import Power
from opennandlab.documents.health import Failures, Health, Patrol, Refreshed
from opennandlab.documents.mapping import Mapping, TracePages
from opennandlab.documents.placement import Fdp, Streams
from opennandlab.documents.read_errors import Cells, RawErrors, Recovery
from opennandlab.documents.record import Record
from opennandlab.documents.zones import Zones


class Activity(Record, frozen=True, kw_only=True):
    """What the controller did; only with the full back end.

    Args:
        channel_busy_ratio: Mean share of the time in which a channel was busy.
        copybacks: Pages moved inside a plane, without the channel.
        die_busy_ratio: Mean share of the time in which a die was busy. A plane that reads by itself
            counts as its share of the die.
        link_busy_ratio: The same of the host link; only where there is one.
        memory_reads: Pages read from the controller's memory, not yet being on the flash.
        multi_plane_ops: Operations over several planes.
        retry_steps: Senses repeated with other reference voltages.
        suspensions: Programs and erases suspended for a read.
    """

    channel_busy_ratio: float
    copybacks: int
    die_busy_ratio: float
    link_busy_ratio: LinkBusy | None = None
    memory_reads: int
    multi_plane_ops: int
    retry_steps: int
    suspensions: int


class LinkBusy(Record, frozen=True, kw_only=True):
    """Shares of the time in which the host link was busy.

    Args:
        to_drive: With data for the drive.
        to_host: With data for the host.
    """

    to_drive: float
    to_host: float


class Band(Record, frozen=True, kw_only=True):
    """Commands of one class between two percentiles of latency, and where their time went.

    Args:
        band: `all`, `p0-p50`, `p50-p90`, `p90-p99`, `p99-p99.9` or `p99.9-max`.
        count: Commands.
        latency_us_mean: Their mean latency.
        parts_us: Mean time by part; parts that took none are absent. They sum to the mean.
    """

    band: str
    count: int
    latency_us_mean: float
    parts_us: dict[str, float]


class ClassBreakdown(Record, frozen=True, kw_only=True):
    """Where the time of one class of commands went.

    Args:
        bands: Bands by percentile, all commands first.
        count: Commands.
    """

    bands: list[Band]
    count: int


class Breakdown(Record, frozen=True, kw_only=True):
    """Where the time of commands went, by class; classes without commands are absent.

    Args:
        flush: Flushes.
        read: Reads.
        trim: Trims.
        write: Writes.
    """

    flush: ClassBreakdown | None = None
    read: ClassBreakdown | None = None
    trim: ClassBreakdown | None = None
    write: ClassBreakdown | None = None

    def by_class(self) -> dict[str, ClassBreakdown]:
        """Return the classes that had commands, by name."""
        named = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return {name: found for name, found in named if found is not None}


class Erases(Record, frozen=True, kw_only=True):
    """Blocks erased in the measured part, by reason.

    Args:
        fold: To empty the SLC cache.
        gc: By garbage collection, or by merges.
        map: Of map pages; only with `ftl.mapping` `dftl`.
        refresh: To refresh its data; only with `ftl.refresh`.
        wear: By wear leveling.
    """

    fold: int
    gc: int
    map: int | None = None
    refresh: int | None = None
    wear: int


class Programs(Record, frozen=True, kw_only=True):
    """Map units programmed in the measured part, by reason.

    Args:
        fold: Moved out of the SLC cache.
        gc: Moved by garbage collection.
        host: Written by the host.
        map: The drive's own records (`ftl.metadata_share`), map pages (`ftl.mapping`).
        pad: Without data, to complete a unit.
        parity: Parity over dies.
        refresh: Moved to renew charge (`ftl.refresh`).
        wear: Moved by wear leveling.
    """

    fold: int
    gc: int
    host: int
    map: int
    pad: int
    parity: int
    refresh: int
    wear: int


class Reads(Record, frozen=True, kw_only=True):
    """Map units read in the measured part, by reason.

    Args:
        fold: To move them out of the SLC cache.
        gc: To move them in a collection.
        host: For the host.
        map: Of map pages; 0 where the map is in memory.
        merge: To complete a page of which the host writes a part.
        parity: To compute parity.
        rebuild: To rebuild a page from its stripe.
        refresh: To renew charge (`ftl.refresh`), and on patrol (`controller.patrol`).
        wear: To move them for wear leveling.
    """

    fold: int
    gc: int
    host: int
    map: int
    merge: int
    parity: int
    rebuild: int
    refresh: int
    wear: int


class HostPages(Record, frozen=True, kw_only=True):
    """What became of the pages that the host named.

    Args:
        absorbed: Overwritten in the write buffer before they were programmed.
        buffer_read: Read from the write buffer.
        buffer_trimmed: Trimmed in the write buffer.
        flush_commands: Flush commands; only where there were some.
        flushed: Pages that flushes programmed; only with flushes.
        fua_commands: Writes with force unit access; only where there were some.
        read_ahead: Read from the flash ahead of a sequential reader, and counted among the reads of
            the host; only where the drive reads ahead.
        read_ahead_hits: Read from what was read ahead; only where the drive does that.
        read_cache_hits: Read from the read cache; only with one.
        rejected: Writes refused because the drive is worn out.
        unmapped_read: Reads of pages that were never written.
        written: Pages written by the host.
    """

    absorbed: int
    buffer_read: int
    buffer_trimmed: int
    flush_commands: int | None = None
    flushed: int | None = None
    fua_commands: int | None = None
    read_ahead: int | None = None
    read_ahead_hits: int | None = None
    read_cache_hits: int | None = None
    rejected: int
    unmapped_read: int
    written: int


class Iops(Record, frozen=True, kw_only=True):
    """Commands per second of simulated time; `null` for untimed runs.

    Args:
        flush: Flushes; only where there were some.
        read: Reads.
        total: All commands.
        trim: Trims.
        write: Writes.
    """

    flush: float | None = None
    read: float | None
    total: float | None
    trim: float | None
    write: float | None


class Throughput(Record, frozen=True, kw_only=True):
    """Host bytes per second of simulated time, in 10^6 bytes; `null` for untimed runs.

    Args:
        read: Read.
        total: Both.
        write: Written.
    """

    read: float | None
    total: float | None
    write: float | None


class Latency(Record, frozen=True, kw_only=True):
    """Time from submission to completion of the commands of a kind, in microseconds.

    A percentile is `null` when fewer than ten commands lie beyond it.

    Args:
        count: Commands.
        max: Longest.
        mean: Mean.
        min: Shortest.
        p50: Half of the commands take at most this.
        p90: 90 % do.
        p99: 99 % do.
        p999: 99.9 % do.
        p9999: 99.99 % do.
        p99999: 99.999 % do.
        stddev: Standard deviation.
    """

    count: int
    max: float | None
    mean: float | None
    min: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    p999: float | None
    p9999: float | None
    p99999: float | None
    stddev: float | None


class Latencies(Record, frozen=True, kw_only=True):
    """Latencies by kind of command; kinds without commands are absent.

    Args:
        all: All commands.
        flush: Flushes.
        read: Reads.
        trim: Trims.
        write: Writes.
    """

    all: Latency
    flush: Latency | None = None
    read: Latency | None = None
    trim: Latency | None = None
    write: Latency | None = None

    def by_operation(self) -> dict[str, Latency]:
        """Return the kinds that had commands, by name; `all` is not one of them."""
        named = ((name, getattr(self, name)) for name in self.__struct_fields__ if name != "all")
        return {name: found for name, found in named if found is not None}


class ByCollection(Record, frozen=True, kw_only=True):
    """Latencies of commands that waited for a collection or an erase, and of the others.

    Args:
        met: Of those that waited behind moved pages or an erase, or for an erased block; `null`
            when none did.
        not_met: Of the others; `null` when there are none.
    """

    met: Latencies | None
    not_met: Latencies | None


class ReadsApart(Record, frozen=True, kw_only=True):
    """Latencies of reads by what became of them.

    Args:
        lost: Of reads of a page that was lost; `null` without any.
        served: Of the others; `null` without any.
    """

    lost: Latency | None
    served: Latency | None


class LostReads(Record, frozen=True, kw_only=True):
    """Reads that gave no data, since no step of recovery corrected a page; absent without any.

    Rates and latencies of all other sections count these reads as served.

    Args:
        command_share: `commands` over all reads of the host; only of timed runs.
        commands: Reads of the host of which a page was lost; only of timed runs.
        host_page_reads: Pages that were read for the host.
        host_page_share: `pages.host` over `host_page_reads`.
        latency_us: Latencies apart; `null` when the host lost none; only of timed runs.
        pages: Pages by who asked for them: `host`, `merge` for writes of a part, `gc` and the like
            for pages that are moved.
    """

    command_share: float | None = None
    commands: int | None = None
    host_page_reads: int
    host_page_share: float | None
    latency_us: ReadsApart | None = None
    pages: dict[str, int]


class Fairness(Record, frozen=True, kw_only=True):
    """How evenly bytes were shared out among tenants, by weight.

    Args:
        jain_index: Jain's index, 1 for equal shares; `null` while nothing was moved.
        max_min_ratio: Largest share over the smallest; `null` while a tenant got nothing.
    """

    jain_index: float | None
    max_min_ratio: float | None


class TraceVolume(Record, frozen=True, kw_only=True):
    """Figures of a volume of the trace of a tenant.

    Args:
        iops: Commands per second.
        latency_us: Latencies.
        name: From the trace.
        served: Commands completed.
        throughput_mb_s: Bytes per second.
    """

    iops: Iops
    latency_us: Latencies
    name: str
    served: int
    throughput_mb_s: Throughput


class Tenant(TraceVolume, frozen=True, kw_only=True):
    """What one of several hosts got.

    Args:
        iops: Commands per second.
        latency_us: Latencies.
        name: From the workload.
        priority: Priority class of its queue.
        served: Commands completed.
        throughput_mb_s: Bytes per second.
        trace_pages: Pages of its trace; only if addresses were changed.
        trace_requests: Requests of its trace; only with a trace.
        volumes: Figures of each volume; only of a trace with several.
        weight: Weight of its queue.
    """

    priority: str
    trace_pages: TracePages | None = None
    trace_requests: int | None = None
    volumes: list[TraceVolume] | None = None
    weight: int


class Namespace(Record, frozen=True, kw_only=True):
    """Pages programmed in a namespace.

    Args:
        name: From the device.
        programs: Map units programmed, by reason.
        waf: All of them over those of the host; `null` when it programmed none.
    """

    name: str
    programs: Programs
    waf: float | None


class Wear(Record, frozen=True, kw_only=True):
    """Erases per good block, since the drive was new.

    Args:
        max: Most.
        mean: Mean.
        min: Fewest.
        stddev: Standard deviation.
    """

    max: int
    mean: float
    min: int
    stddev: float


class Metrics(Record, frozen=True, kw_only=True):
    """Figures of the measured part. Nothing of the preconditioning is in them.

    Args:
        activity: What the controller did.
        breakdown: Where the time went; only when it was asked for.
        cells: Reads of blocks that have cells; only with `ecc.fidelity: cells`.
        copyback_pages: Pages moved by copyback.
        duration_s: Simulated time; `null` for untimed runs.
        ecc_correction_rate_pct: Bits that first reads correct, per 100 page reads.
        ecc_margin: Factor by which error rates could grow until `uber` is at its limit.
        erases: Blocks erased.
        failures: Operations of the flash that failed; only with `nand.failures`.
        fairness: Shares of the tenants; only with tenants.
        fdp: Log of placement handles; only with `ftl.placement` fdp.
        free_blocks: Erased blocks at the end.
        gc_cycles: Blocks erased by garbage collection.
        gc_pages_moved: Map units moved by garbage collection.
        health: What the drive would report of itself; with `nand.failures`, and of an eMMC.
        host_bytes_read: Bytes that the host read.
        host_bytes_trimmed: Bytes that the host trimmed.
        host_bytes_written: Bytes that the host wrote.
        host_pages: What became of the host's pages.
        iops: Commands per second.
        latency_by_collection: Latencies apart for commands that met a collection; only with
            `breakdown`.
        latency_us: Latencies; `null` for untimed runs.
        lifetime_days: Time until the blocks are worn out at this rate; `null` without a limit.
        lost_reads: Reads that gave no data; only where there were some.
        mapping: What the way to map did; only where `ftl.mapping` is not `page`.
        namespaces: Pages programmed in each namespace; only with `host.namespaces`.
        nand_bytes_written: Bytes programmed.
        outstanding_mean: Mean number of commands in the drive.
        partial_programs: Programs of a part of a page, that left room for another; only with
            `nand.partial_programs`.
        patrol: Reads of the patrol; only with `controller.patrol`.
        power: What the drive drew; only of timed runs with `nand.energy` or `controller.power`.
        programs: Map units programmed.
        raw_errors: Bit errors before correction.
        reads: Map units read.
        recovery: Page reads by what corrected them.
        refresh: Blocks that were refreshed; only with `ftl.refresh`.
        retired_blocks: Blocks taken out of use.
        streams: What was written to streams; only with `ftl.placement` streams.
        tbw_tb: Bytes that a host can write until the blocks are worn out, in 10^12.
        tenants: Figures of each tenant; only with tenants.
        throughput_mb_s: Bytes per second.
        trace_pages: Pages that a trace touches; only of replays with wrapped or scaled addresses.
        uber: Data errors per bit read (JESD218); `null` without reads.
        uber_interval: Its 95 % interval where it was observed, else twice the value.
        uber_method: `observed`, `analytic`, `table` or `extrapolated`.
        uncorrectable_read_rate: Uncorrectable page reads over page reads.
        uncorrectable_read_rate_method: As `uber_method`.
        uncorrectable_reads: Uncorrectable page reads.
        waf: Bytes programmed over bytes written by the host; `null` when it wrote none.
        wear: Erases per block.
        wl_stddev: Standard deviation of erases per block; `wear.stddev`.
        zones: States and report of zones; only with `ftl.mapping` zoned.
    """

    activity: Activity | None = None
    breakdown: Breakdown | None = None
    cells: Cells | None = None
    copyback_pages: int
    duration_s: float | None
    ecc_correction_rate_pct: float | None
    ecc_margin: float | None
    erases: Erases
    failures: Failures | None = None
    fairness: Fairness | None = None
    fdp: Fdp | None = None
    free_blocks: int
    gc_cycles: int
    gc_pages_moved: int
    health: Health | None = None
    host_bytes_read: int
    host_bytes_trimmed: int
    host_bytes_written: int
    host_pages: HostPages
    iops: Iops
    latency_by_collection: ByCollection | None = None
    latency_us: Latencies | None
    lifetime_days: float | None
    lost_reads: LostReads | None = None
    mapping: Mapping | None = None
    namespaces: list[Namespace] | None = None
    nand_bytes_written: int
    outstanding_mean: float | None
    partial_programs: int | None = None
    patrol: Patrol | None = None
    power: Power | None = None
    programs: Programs
    raw_errors: RawErrors | None = None
    reads: Reads
    recovery: Recovery
    refresh: Refreshed | None = None
    retired_blocks: int
    streams: Streams | None = None
    tbw_tb: float | None
    tenants: list[Tenant] | None = None
    throughput_mb_s: Throughput
    trace_pages: TracePages | None = None
    uber: float | None
    uber_interval: list[float] | None
    uber_method: str | None
    uncorrectable_read_rate: float | None
    uncorrectable_read_rate_method: str | None
    uncorrectable_reads: int
    waf: float | None
    wear: Wear
    wl_stddev: float
    zones: Zones | None = None
