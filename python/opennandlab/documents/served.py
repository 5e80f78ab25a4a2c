"""The document `opennandlab.served/1`: what a served drive was asked for and did."""

from __future__ import annotations

from typing import Final, Literal

from opennandlab.documents.placement import Fdp
from opennandlab.documents.record import JsonObject, Number, Record
from opennandlab.documents.zones import Zones

SCHEMA: Final = "opennandlab.served/1"


class Kinds(Record, frozen=True, kw_only=True):
    """Counts by kind of request.

    Args:
        read: Reads.
        write: Writes.
        flush: Flushes.
        trim: Trims.
        write_zeroes: Zeros, allocated or not.
        cache: Reads ahead for the client.
        block_status: Questions for data and holes.
        append: Appends to zones; this and the next two only of a drive that was asked for some.
        zone_reset: Resets of one zone.
        zone: Other commands for zones.
    """

    read: int
    write: int
    flush: int
    trim: int
    write_zeroes: int
    cache: int
    block_status: int
    append: int | None = None
    zone_reset: int | None = None
    zone: int | None = None


class Span(Record, frozen=True, kw_only=True):
    """Times in microseconds; a percentile is `null` with fewer than ten samples beyond it.

    Args:
        count: Samples.
        mean: Their mean; `null` without any.
        p50: Median.
        p99: 99th percentile.
        p999: 99.9th percentile.
        max: Largest; `null` without any.
    """

    count: int
    mean: Number | None
    p50: Number | None
    p99: Number | None
    p999: Number | None
    max: Number | None


class ServedDrive(Record, frozen=True, kw_only=True):
    """What the drive did since it was served, and what it holds.

    Args:
        read_bytes: Bytes of sectors that clients read.
        written_bytes: Bytes of sectors that they wrote, zeroes and copies among them.
        trimmed_bytes: Bytes of sectors that they trimmed.
        flushes: Flushes, that of the end included.
        fua_writes: Writes that completed only on the flash.
        programmed_bytes: Bytes that were programmed.
        waf: Programmed over written bytes; `null` without a write.
        collections: Blocks erased by garbage collection.
        moved_pages: Pages that it moved, in map units.
        erases: Blocks erased.
        free_blocks: Erased blocks at the end.
        mapped_pages: Map units that hold data at the end.
        buffered_pages: Map units in the write buffer.
        stored_bytes: Memory of what the flash holds, old versions included.
        uncorrectable_reads: Pages of clients' reads that the model could not correct: I/O errors.
        erase_count_mean: How often a good block was erased since the factory.
        erase_count_max: The most often that one was.
        is_worn_out: The drive took no more writes.
        zeroed_bytes: Those of `written_bytes` that were zeroes, which clients do not send; older
            documents do not know it, nor the next two.
        copied_bytes: Those of `written_bytes` that copies wrote.
        copy_source_bytes: Those of `read_bytes` that copies read.
        zones: States, counts and report of zones; only with `ftl.mapping` zoned.
        fdp: Log of placement handles; only with `ftl.placement` fdp.
    """

    read_bytes: int
    written_bytes: int
    trimmed_bytes: int
    flushes: int
    fua_writes: int
    programmed_bytes: int
    waf: Number | None
    collections: int
    moved_pages: int
    erases: int
    free_blocks: int
    mapped_pages: int
    buffered_pages: int
    stored_bytes: int
    uncorrectable_reads: int
    erase_count_mean: Number | None
    erase_count_max: int
    is_worn_out: bool
    zeroed_bytes: int | None = None
    copied_bytes: int | None = None
    copy_source_bytes: int | None = None
    zones: Zones | None = None
    fdp: Fdp | None = None


class ServedPower(Record, frozen=True, kw_only=True):
    """What losses of power did, of a drive that was served with a switch.

    Args:
        unsafe_shutdowns: Cuts.
        capacitor_failures: Cuts after which capacitors had not saved all.
        torn_pages: Interrupted pages that could not be read.
        damaged_pages: Earlier pages of their wordlines that could not be read.
        protected_pages: Earlier pages that would have been damaged, and were kept.
        half_erased_blocks: Interrupted erases, which were done again.
        saved_pages: Pages that capacitors saved.
        ready_us_max: Longest time from power to ready, of the model, in microseconds.
    """

    unsafe_shutdowns: int
    capacitor_failures: int
    torn_pages: int
    damaged_pages: int
    protected_pages: int
    half_erased_blocks: int
    saved_pages: int
    ready_us_max: Number


class ServedChecks(Record, frozen=True, kw_only=True):
    """Whether drive and contents agree at the end.

    Args:
        contradiction: The first between map, out-of-band areas and what the pages hold, but for
            units that faults have struck, or between what clients wrote and what became of it;
            `null` if there is none.
        media_errors: Reads that the protection refused, as something else than what was written.
        media_errors_by_cause: The same by what was found.
        silent_errors: Reads that returned something else than what was written, as data.
        faults_struck: Units that injected faults have struck.
        passed: No contradiction, and no error of either kind that no fault explains.
    """

    contradiction: str | None
    media_errors: int
    media_errors_by_cause: dict[str, int]
    silent_errors: int
    faults_struck: int
    passed: bool


class ServedRun(Record, frozen=True, kw_only=True):
    """Facts of this machine and hour, outside the digest.

    Args:
        wall_ns: How long it was served, in nanoseconds.
        accepted: Connections that came.
        connections: Those that were open at the end.
        rejected: Those that were closed for what they sent, or since there were too many.
        lateness_us: Reply after the time at which the model was done.
        latency_us: End by the model after arrival.
        response_us: Reply after arrival.
    """

    wall_ns: int
    accepted: int
    connections: int
    rejected: int
    lateness_us: Span
    latency_us: Span
    response_us: Span


class ServedDocument(Record, frozen=True, kw_only=True):
    """What `serve` did.

    Args:
        schema: Kind and version of the document.
        device: The resolved device.
        seed: Seed of what was drawn at random.
        timing: `real`, `off` or `scaled:K`.
        read_only: Writes were refused.
        requests: Requests that were answered.
        bytes: Bytes that they named.
        errors: Requests that failed.
        drive: What the drive did.
        checks: Whether it is consistent.
        passed: No check failed.
        power: What losses of power did; `null` where the power could not fail.
        run: Facts of this machine.
        digest: SHA-256 over all but `run` and itself.
    """

    schema: Literal["opennandlab.served/1"]
    device: JsonObject
    seed: int
    timing: str
    read_only: bool
    requests: Kinds
    bytes: Kinds
    errors: int
    drive: ServedDrive
    checks: ServedChecks
    passed: bool
    power: ServedPower | None = None
    run: ServedRun
    digest: str
