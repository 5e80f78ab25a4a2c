"""The result document `opennandlab.result/1`: one workload, measured on one device.

```text
core ──outcome()──► Outcome ┐
device, seed, this machine ─┴─► ResultDocument ──► results.json
```
The core's own part is `Outcome`; every run reads it as that record, so that core and declaration
cannot part ways unnoticed. `device` and `workload` are the resolved descriptions, whose keys are in
the schemas of those files.

Units are in the names: `_s`, `_us`, `_days`, `_bytes`, `_mb_s` (10^6 bytes per second), `_tb`
(10^12 bytes), `_pct`. A figure that was not measured is `null`, never zero.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from opennandlab.documents.metrics import Metrics
from opennandlab.documents.record import JsonObject, Record, decoded, made, plain, read

SCHEMA: Final = "opennandlab.result/1"
# Sections that are `{}` in the file of a run whose measured part never began.
EMPTY_SECTIONS = ("metrics", "series")


class Tool(Record, frozen=True, kw_only=True):
    """What made the result. Not part of the digest.

    Args:
        name: Always `opennandlab`.
        version: Version of the package.
        commit: Commit it was built from; `unknown` outside of its repository.
        dirty: Whether the sources of the core were changed after that commit; changes of the Python
            package, which is not compiled, are not noted.
        python: Version of the Python interpreter.
        os: System, release and machine.
        cpu: Model of the processor and how many this process could use.
    """

    name: str
    version: str
    commit: str
    dirty: bool | UnsetType = UNSET
    python: str
    os: str
    cpu: str


class Superblocks(Record, frozen=True, kw_only=True):
    """Open blocks that span the dies of a group.

    Args:
        count: Superblocks that have a good block, in all groups.
        data_pages: Map units of a superblock without bad blocks that take data.
        dies: Dies of a group.
        groups: Groups of the drive.
        pages: Map units of a superblock, those of parity included.
        reserve: Erased superblocks that collection keeps, in all groups together.
    """

    count: int
    data_pages: int
    dies: int
    groups: int
    pages: int
    reserve: int


class EffectiveNamespace(Record, frozen=True, kw_only=True):
    """A namespace on some of the dies.

    Args:
        blocks: Blocks that it has, bad ones included.
        dies: Dies of these blocks.
        first_page: Its first logical page among those of the drive.
        logical_pages: Its capacity in map units.
        name: From the device.
        reserve_blocks: Erased blocks that collection keeps in it.
        spare_factor: `1 - U / T` of it (share).
        spare_factor_effective: The same without its reserve.
    """

    blocks: int
    dies: list[int]
    first_page: int
    logical_pages: int
    name: str
    reserve_blocks: int
    spare_factor: float
    spare_factor_effective: float


class CoreEffective(Record, frozen=True, kw_only=True):
    """What follows from the device.

    Args:
        bad_blocks: Factory bad blocks of all dies.
        blocks_per_die: Blocks of a die that the FTL manages; planes joined to a row count once.
        codewords_per_page: Codewords of the ECC in a page; 0 without ECC.
        die_count: Dies of the drive.
        logical_bytes: User capacity.
        logical_pages: User capacity in map units.
        map_blocks: Blocks that are set apart for map pages; only with `ftl.mapping` `dftl`.
        memory_bytes: Memory that the simulation of this device takes.
        namespaces: Parts of the range on some dies; only with `host.namespaces`.
        pages_per_block: Map units in a block.
        parity_bytes_per_page: Bytes of ECC parity in the spare area of a page.
        parity_share: Share of the pages that hold parity over dies.
        physical_pages: Map units of the good blocks.
        physical_pages_per_block: Pages of a block as the flash has them.
        planes_per_row: Planes that are written and erased together.
        raw_bytes: Capacity of the flash without its spare areas.
        reserve_blocks: Erased blocks that collection keeps, in all dies together.
        reserve_text: How that number came about.
        slc_cache_blocks: Blocks of the static SLC cache.
        slc_pages_per_block: Map units of a block written one bit per cell.
        spare_factor: `1 - U / T`: logical over good data pages (share).
        spare_factor_effective: The same without blocks that never hold data: reserve, open blocks.
        superblocks: Open blocks that span dies; only where there are some.
        transfer_us: Time of one page on the channel.
    """

    bad_blocks: int
    blocks_per_die: int
    codewords_per_page: int
    die_count: int
    logical_bytes: int
    logical_pages: int
    map_blocks: int | None = None
    memory_bytes: int
    namespaces: list[EffectiveNamespace] | None = None
    pages_per_block: int
    parity_bytes_per_page: int
    parity_share: float
    physical_pages: int
    physical_pages_per_block: int
    planes_per_row: int
    raw_bytes: int
    reserve_blocks: int
    reserve_text: str
    slc_cache_blocks: int
    slc_pages_per_block: int
    spare_factor: float
    spare_factor_effective: float
    superblocks: Superblocks | None = None
    transfer_us: float


class Effective(CoreEffective, frozen=True, kw_only=True):
    """What follows from the device, and what a closed form says of the workload on it.

    Args:
        predicted_waf: WAF in steady state by the closed form; `null` where none is known.
    """

    predicted_waf: float | None


class Session(Record, frozen=True, kw_only=True):
    """What a drive went through that is run step by step.

    Args:
        jobs_before: Workloads and preconditionings before this run.
        steps: Their names, in order.
    """

    jobs_before: int
    steps: list[str]


class Origin(Record, frozen=True, kw_only=True):
    """A state that the drive did not begin empty with.

    Args:
        image_crc32: Checksum of the device image it was loaded from.
        session: What was run on it before.
    """

    image_crc32: str | None = None
    session: Session | None = None


class Step(Record, frozen=True, kw_only=True):
    """A step of preconditioning.

    Args:
        failed_blocks: Blocks that failed before they had the wear that was set; only of steps of
            age.
        host_bytes_written: Bytes that the host wrote in it.
        rest_s: Simulated seconds that the drive rested; only of steps of rest.
        steady: Whether WAF became steady; only of steps that wait for it.
        steady_waf: Mean write amplification of the windows that agreed; only where it became
            steady.
        step: What was done.
        waf: Write amplification of the whole step; `null` when nothing was written.
    """

    failed_blocks: int | None = None
    host_bytes_written: int
    rest_s: float | None = None
    steady: bool | None = None
    steady_waf: float | None = None
    step: str
    waf: float | None


class State(Record, frozen=True, kw_only=True):
    """How the state was reached in which the measurement began.

    Args:
        origin: `fresh` for an empty drive, or a mapping.
        steps: Preconditioning, in order.
        worn_out: Too few good blocks are left and writes are refused.
    """

    origin: str | Origin
    steps: list[Step] | None = None
    worn_out: bool | None = None


class Observed(Record, frozen=True, kw_only=True):
    """What was watched next to the metrics.

    Args:
        breakdown: `metrics.breakdown` was asked for.
    """

    breakdown: bool


Column = list[float | None]


class Series(Record, frozen=True, kw_only=True):
    """How the measured part went: one entry per sample, `null` where there is no value.

    Rates and means belong to the interval since the last sample, levels to the moment. A run that
    was cut before its first sample has no columns.

    Args:
        drive_writes: Bytes written by the host since the start, in user capacities.
        erase_count_max: Most erases of a block.
        erase_count_mean: Mean erases of a block.
        free_blocks: Erased blocks.
        iops: Commands per second; only of timed runs.
        latency_us_mean: Mean latency; only of timed runs.
        latency_us_p99: 99 % latency; only of timed runs.
        rber_max: Raw bit error rate of the most worn block.
        rber_mean: Raw bit error rate, mean of the good blocks.
        retired_blocks: Blocks taken out of use.
        spare_ratio: Share of the good pages that is not logical capacity.
        t_s: Simulated time since the start; only of timed runs.
        throughput_mb_s: Bytes per second; only of timed runs.
        waf: Write amplification.
    """

    drive_writes: Column | None = None
    erase_count_max: Column | None = None
    erase_count_mean: Column | None = None
    free_blocks: Column | None = None
    iops: Column | None = None
    latency_us_mean: Column | None = None
    latency_us_p99: Column | None = None
    rber_max: Column | None = None
    rber_mean: Column | None = None
    retired_blocks: Column | None = None
    spare_ratio: Column | None = None
    t_s: Column | None = None
    throughput_mb_s: Column | None = None
    waf: Column | None = None


class Checks(Record, frozen=True, kw_only=True):
    """Self-checks of the run. When one does not hold, its figures cannot be trusted.

    Of a run whose measured part never began there are only `failures` and `passed`.

    Args:
        failures: What did not hold, and by how much.
        flash_violations: Operations against the rules of the flash.
        issued: Commands issued.
        littles_law_error: Relative error of `L = lambda W`; `null` for untimed runs.
        map_audit: `passed`, or the first contradiction between the tables of the FTL.
        passed: Whether all of them held.
        program_identity: Whether every program has its reason.
        served: Commands completed.
    """

    failures: list[str]
    flash_violations: int | None = None
    issued: int | None = None
    littles_law_error: float | UnsetType | None = UNSET
    map_audit: str | None = None
    passed: bool
    program_identity: bool | None = None
    served: int | None = None


class RunFacts(Record, frozen=True, kw_only=True):
    """This run on this machine. Not part of the digest.

    Args:
        device_name: Preset, file or `custom`.
        workload_name: The same of the workload.
        image_path: Device image that the run began with.
        trace_path: Trace that was replayed.
        trace_paths: Traces of tenants.
        wall_s: Wall time.
        precondition_wall_s: Of that, preconditioning.
        measured_wall_s: Of that, the measured part.
        host_ios_per_s: Commands simulated per second of wall time.
        flash_ops_per_s: Flash operations simulated per second of wall time.
        peak_rss_bytes: Most memory of the process so far; `null` where the system does not say.
    """

    device_name: str | None = None
    workload_name: str | None = None
    image_path: str | None = None
    trace_path: str | None = None
    trace_paths: list[str] | None = None
    wall_s: float
    precondition_wall_s: float
    measured_wall_s: float
    host_ios_per_s: int | None
    flash_ops_per_s: int | None
    peak_rss_bytes: int | None


class Outcome(Record, frozen=True, kw_only=True):
    """What the core says of a run.

    Args:
        checks: Self-checks; absent before the measured part.
        complete: Whether the measured part is over; absent before the job began.
        effective: What follows from the device.
        metrics: Figures; absent before the measured part.
        series: How it went; absent before the measured part.
        state: How the state was reached.
        warnings: What the reader of the numbers should know.
        workload: The resolved workload; absent before the job began.
    """

    checks: Checks | None = None
    complete: bool | None = None
    effective: CoreEffective
    metrics: Metrics | None = None
    series: Series | None = None
    state: State
    warnings: list[str] | None = None
    workload: JsonObject | None = None


class ResultDocument(Record, frozen=True, kw_only=True):
    """What one workload on one device gave.

    Units are in the names: `_s`, `_us`, `_days`, `_bytes`, `_mb_s` (10^6 bytes per second), `_tb`
    (10^12 bytes), `_pct` (percent). A figure that was not measured is `null`, never zero.

    Args:
        schema: Kind and version of the document.
        model_version: Version of the model; results are comparable only within one.
        tool: What made it.
        created: When, in UTC.
        partial: The run was interrupted; absent otherwise.
        device: The resolved device, as in the schema of device files.
        effective: What follows from the device.
        workload: The resolved workload, as in the schema of workload files or replay options.
        seed: Seed of all randomness.
        state: How the state was reached in which the measurement began.
        observed: What was watched next to the metrics; absent when nothing was.
        metrics: Figures of the measured part; `{}` when it never began.
        series: How the measured part went; `{}` when it never began.
        checks: Self-checks.
        warnings: What the reader of the numbers should know.
        digest: SHA-256, in hex, of the canonical JSON of all but `tool`, `created`, `run` and
            itself: the same for the same build, device, workload and seed, on any machine.
        run: This run on this machine.
    """

    schema: Literal["opennandlab.result/1"]
    model_version: int
    tool: Tool
    created: str
    partial: bool | None = None
    device: JsonObject
    effective: Effective
    workload: JsonObject
    seed: int
    state: State
    observed: Observed | None = None
    metrics: Metrics | None
    series: Series | None
    checks: Checks
    warnings: list[str]
    digest: str
    run: RunFacts


def outcome(text: str) -> Outcome:
    """Return what the core says of a run.

    Raises:
        DocumentError: when it is not what is declared here.
    """
    try:
        return decoded(text, Outcome)
    except msgspec.ValidationError:
        return made(msgspec.json.decode(text), Outcome)


def to_json(document: ResultDocument) -> JsonObject:
    """Return the document as it is in a file."""
    found = plain(document)
    return found | {name: {} for name in EMPTY_SECTIONS if found[name] is None}


def from_json(value: JsonObject) -> ResultDocument:
    """Return a document that this program made.

    Raises:
        DocumentError: with path, value and what is accepted.
    """
    return made(_filled(value), ResultDocument)


def from_file(value: JsonObject) -> tuple[ResultDocument, list[str]]:
    """Return the document of a file, and the paths of the keys that this build does not know.

    Raises:
        DocumentError: with path, value and what is accepted.
    """
    return read(_filled(value), ResultDocument)


def _filled(value: JsonObject) -> JsonObject:
    empty = [name for name in EMPTY_SECTIONS if value.get(name) == {}]
    return value | dict.fromkeys(empty)
