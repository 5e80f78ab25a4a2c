"""The header of a document of a standard test: settings, target and procedure.

It holds what the specification wants reported with every figure.
"""

from __future__ import annotations

from opennandlab.documents.health import LifeEstimates
from opennandlab.documents.ocp import DriveLogs
from opennandlab.documents.record import JsonObject, Number, Record

# What is known of a machine or a simulator: names to values.
Platform = dict[str, str | Number | None]


class DeviceFacts(Record, frozen=True, kw_only=True):
    """What is known of the device under test; what its kind does not have is absent.

    Args:
        vendor: Who made it.
        model: Model, preset or kind of file.
        path: The file that stands for a drive.
        file_system: Where that file is.
        firmware: Version of the firmware, or of the simulator.
        serial_sha256: SHA-256 of the serial number.
        capacity_bytes: What the host can address.
        sector_bytes: Smallest unit of a request.
        nand_type: `SLC`, `MLC`, `TLC` or `QLC`, where known.
        interface: How the host is connected.
        config: The resolved device, as in the schema of device files; simulated drives only.
        config_sha256: SHA-256 of its canonical JSON; simulated drives only.
        over_provisioning_ratio: Spare over logical capacity; simulated drives only.
        physical_bytes: Capacity of the flash; simulated drives only.
        page_bytes: Size of a page; simulated drives only.
        data: Whether the content of writes matters; simulated drives only.
        can_trim: Whether the server discards blocks; exports only.
        life: Life that the device estimates; real eMMC and UFS devices only.
    """

    vendor: str | None
    model: str | None
    path: str | None = None
    file_system: str | None = None
    firmware: str | None
    serial_sha256: str | None
    capacity_bytes: int
    sector_bytes: int
    nand_type: str | None
    interface: str | None
    config: JsonObject | None = None
    config_sha256: str | None = None
    over_provisioning_ratio: float | None = None
    physical_bytes: int | None = None
    page_bytes: int | None = None
    data: str | None = None
    can_trim: bool | None = None
    life: LifeEstimates | None = None


class DriveState(Record, frozen=True, kw_only=True):
    """The state of a simulated drive before the test.

    Args:
        name: `young`, `old` (half of the rated cycles), `eol` (all of them), or `image`.
        erase_count_mean: Mean erase count of its good blocks; `null` if none is good.
        rated_pe_cycles: Program/erase cycles that its blocks are rated for.
        lost_blocks: Blocks, or superblocks, that failed before they had this wear; `null` of an
            image, which does not know it.
        image_sha256: SHA-256 of the image; `null` for others.
    """

    name: str
    erase_count_mean: Number | None
    rated_pe_cycles: int
    lost_blocks: int | None
    image_sha256: str | None


class Target(Record, frozen=True, kw_only=True):
    """What was measured.

    Args:
        kind: `sim`, `file`, `nbd` or `device`.
        name: As it was given.
        device: The device under test.
        platform: The machine, or the simulator: names to values.
        state: The state of a simulated drive before the test; absent if none was asked for.
    """

    kind: str
    name: str
    device: DeviceFacts
    platform: Platform
    state: DriveState | None = None


class CellLength(Record, frozen=True, kw_only=True):
    """How long a cell of a round takes.

    Args:
        seconds: At least so much time.
        ios: At least so many requests; `null` for any number.
        seconds_max: At most so much time; `null` for any.
        ramp_ratio: Share at the start that is not counted.
        reclaims: Blocks that collections have reclaimed in every pool of a simulated drive, in
            cells that write; `null` where they do not count.
    """

    seconds: Number | None
    ios: Number | None
    seconds_max: Number | None
    ramp_ratio: Number | None
    reclaims: int | None = None


class GapLength(Record, frozen=True, kw_only=True):
    """What is written between two samples of a steady state.

    Args:
        seconds: For so much time.
        bytes: So many bytes.
        capacities: The same in user capacities.
    """

    seconds: Number | None
    bytes: Number | None
    capacities: Number | None


class TimeBase(Record, frozen=True, kw_only=True):
    """How the durations of the specification were taken.

    Args:
        name: `full`, `scaled` or `smoke`.
        clock: `virtual` for simulated drives, else `real`.
        cell: Length of a cell.
        gap: What is between two samples.
    """

    name: str
    clock: str
    cell: CellLength
    gap: GapLength


class Cache(Record, frozen=True, kw_only=True):
    """The volatile write cache of the drive.

    Args:
        asked: `enabled` or `disabled`.
        state: `enabled`, `disabled`, `absent` or `unknown`.
    """

    asked: str
    state: str


class Range(Record, frozen=True, kw_only=True):
    """The addresses that the test touched.

    Args:
        share: Share of the user capacity, from its start.
        amount_bytes: Of that, only so much, in segments; `null` for all.
        segments: Number of the segments.
    """

    share: Number
    amount_bytes: int | None
    segments: int | None


class Purge(Record, frozen=True, kw_only=True):
    """How the target was brought into the state as if nothing had been written.

    Args:
        method: What was done.
        is_purge: Whether that is a purge by the specification.
        note: What to know about it; empty for nothing.
    """

    method: str
    is_purge: bool
    note: str


class Wipc(Record, frozen=True, kw_only=True):
    """Workload independent preconditioning: a sequential fill.

    Args:
        pattern: Always `sequential`.
        block_bytes: Size of the requests.
        capacities: What was written, in user capacities.
        bytes: The same in bytes.
        passes: The same in passes over the range.
        threads: Threads.
        queue_depth: Requests outstanding per thread.
        seconds: Time it took; of a simulated drive by the rate of its last hundredth. `null` where
            nothing was written, absent in older documents.
    """

    pattern: str
    block_bytes: int
    capacities: Number
    bytes: Number | None
    passes: Number
    threads: int
    queue_depth: int
    seconds: Number | None = None


class HostPath(Record, frozen=True, kw_only=True):
    """How a request reached the drive.

    Args:
        engine: What issues requests, and by which interface.
        layer: What they go through, such as a file system.
        direct: Whether the page cache of the host is bypassed; `null` if there is none.
        requests_asked: Requests that were issued while the kernel's counters were watched, ramps
            among them; `null` where there are no such counters.
        requests_seen: Requests that reached the device in the same time, of all programs.
        requests_joined: Requests that the kernel joined with a neighbour before.
        cpu_pct: Mean processor time of the host while requests ran, in percent of one processor.
        pause_s: Mean time without requests between two stimuli.
        notes: What else to know.
    """

    engine: str
    layer: str
    direct: bool | None
    requests_asked: int | None = None
    requests_seen: int | None = None
    requests_joined: int | None = None
    cpu_pct: Number | None = None
    pause_s: Number | None = None
    notes: list[str]


class ImportedFile(Record, frozen=True, kw_only=True):
    """A file that figures came from.

    Args:
        name: Its name, without folders.
        sha256: SHA-256 of its content, in hex.
    """

    name: str
    sha256: str


class Uncertain(Record, frozen=True, kw_only=True):
    """A cell whose figures are not, or not surely, those of one load.

    Args:
        row: Its row in the tables: the mean size of a request in KiB.
        column: Its column: reads and writes in percent of the requests.
        reasons: Which checks it failed, with their figures.
    """

    row: str
    column: str
    reasons: list[str]


class Repeats(Record, frozen=True, kw_only=True):
    """A figure of runs that were repeated; numbers are in the unit of its table.

    Args:
        table: Its table.
        row: Its row.
        column: Its column.
        count: Runs.
        mean: Their mean, as in the table.
        sd: Sample standard deviation.
        half_width: Half of the 95 % interval of the mean: t sd / sqrt(count).
        least: The least value.
        greatest: The greatest value.
    """

    table: str
    row: str
    column: str
    count: int
    mean: Number
    sd: Number
    half_width: Number
    least: Number
    greatest: Number


class Imported(Record, frozen=True, kw_only=True):
    """Where a document comes from that this program did not measure.

    Args:
        origin: What was read: `fio JSON`, `CSV`, `pts/1` or `reference`.
        files: The files.
        source: Who measured it and where it was published; `null` where nobody said.
        unknown: What a document of a test says and the origin does not, by name.
        uncertain: Cells that fail a check, labelled by their figures; absent without any.
        repeats: Figures of cells that were measured several times; absent without any.
    """

    origin: str
    files: list[ImportedFile]
    source: str | None
    unknown: list[str]
    uncertain: list[Uncertain] | None = None
    repeats: list[Repeats] | None = None


class PowerLog(Record, frozen=True, kw_only=True):
    """A log of a power meter.

    Args:
        name: Name of the file, without folders.
        sha256: SHA-256 of its content, in hex.
        samples: Its samples within the test.
        clock: `epoch` if its times are seconds since 1970, `run` if since the begin of the test.
    """

    name: str
    sha256: str
    samples: int
    clock: str


class Power(Record, frozen=True, kw_only=True):
    """Where the watts of the cells come from.

    Args:
        source: `energies` of the device file, or `log` of a meter; `null` if they are unknown.
        counted: Keys of the device file whose energies are counted; empty for others.
        idle_w: Power of the drive without a request, in watts; `null` if that is unknown.
        missing: The unknown part, and why; absent without one.
        log: The log; absent without one.
    """

    source: str | None
    counted: list[str]
    idle_w: Number | None
    missing: str | None = None
    log: PowerLog | None = None


class Header(Record, frozen=True, kw_only=True):
    """Settings, target and procedure, as the specification wants them reported.

    Args:
        pts_version: Version of the SNIA PTS.
        profile: `E` (enterprise) or `C` (client).
        conformance: `full`, `scaled` when a duration was shortened, `partial` when a step was left
            out.
        deviations: What differs from the profile.
        target: What was measured.
        time_base: How durations were taken.
        seed: Decides all addresses.
        cache: Write cache of the drive.
        data: What was written: `random` or `file`.
        active_range: The addresses that were touched.
        threads: Threads (TC); `null` where the test sets them itself.
        queue_depth: Requests outstanding per thread (QD).
        align_bytes: Alignment of requests; `null` for their own size.
        purge: The last purge; `null` before it.
        wipc: The last sequential fill; `null` for tests without.
        oio_throttle: Requests outstanding in all, where that was set.
        options: Parameters that only this test has.
        interrupted: Whether a real drive was measured in more than one go.
        temperature_c: Least and greatest temperature of the drive; `null` where it says none.
        host_path: How a request reached the drive; absent in older documents.
        imported: Where the figures come from; absent where this program measured them.
        power: Where the watts come from; absent in older documents.
        choices: Settings that the specification leaves to the operator, with those that it
            recommends, if they differ; absent otherwise. They do not lower the conformance.
        ranges_from: Where ranges, cache and load come from if not from a text of the specification;
            absent otherwise.
        logs: Logs of the drive before and after the test, purge and preconditioning included; real
            NVMe drives only. Its times are not those of the host.
    """

    pts_version: str
    profile: str
    conformance: str
    deviations: list[str]
    target: Target
    time_base: TimeBase
    seed: int
    cache: Cache
    data: str
    active_range: Range
    threads: int | None
    queue_depth: int | None
    align_bytes: int | None
    purge: Purge | None
    wipc: Wipc | None
    oio_throttle: int | None
    options: dict[str, str | Number]
    interrupted: bool
    temperature_c: list[Number] | None
    host_path: HostPath | None = None
    imported: Imported | None = None
    power: Power | None = None
    choices: list[str] | None = None
    ranges_from: str | None = None
    logs: DriveLogs | None = None
