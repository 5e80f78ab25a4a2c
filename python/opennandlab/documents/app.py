"""The document `opennandlab.app/1`: how long a user waited for application-shaped work."""

from __future__ import annotations

from typing import Final, Literal

from opennandlab.documents.record import JsonObject, Number, Record

# Percent of the photos that rounds of filling delete, unless the document has another one.
DELETE_PCT: Final = 25.0
APP_SCHEMA: Final = "opennandlab.app/1"


class AppTime(Record, frozen=True, kw_only=True):
    """Run time over the runs, in milliseconds; of a part its rate as well.

    Args:
        mean: Mean of the runs.
        sd: Their standard deviation, of a sample; 0 for one run.
        samples: Each run.
    """

    mean: float
    sd: float
    samples: list[float]


class AppResponse(Record, frozen=True, kw_only=True):
    """Response of the iterations of all runs, in milliseconds.

    Args:
        count: Iterations.
        min: The shortest.
        mean: Their mean.
        p50: Median, by nearest rank.
        p99: 99th percentile, by nearest rank; `null` with fewer than 100 iterations.
        max: The longest.
        samples: Each iteration, a list for each run.
    """

    count: int
    min: float
    mean: float
    p50: float
    p99: float | None
    max: float
    samples: list[list[float]]


class AppAccess(Record, frozen=True, kw_only=True):
    """Rate and access time of a case of a desktop, over all runs.

    Of a simulated drive these are of its requests. In a directory they are of calls on files, with
    the time of their syncs; pages of databases are not seen there.

    Args:
        operations: Reads and writes of a run, on average.
        bytes: Their bytes.
        mb_s: MB of 10^6 bytes over the time in which one of them or a flush was waited for.
        access_us: Mean time of a read or write, in microseconds; in a directory with its share of
            the syncs.
    """

    operations: float
    bytes: float
    mb_s: float
    access_us: float


class AppCase(Record, frozen=True, kw_only=True):
    """A case in one phase of the suite.

    Args:
        case: Its name.
        phase: `main`, or `first`, `full` and `second` of a suite that fills the device in between.
        iterations: Iterations of each run; 0 for a case that was left out.
        run_time_ms: Time of all iterations of a run; `null` for a case that was left out.
        response_ms: Time of each; `null` for a case that was left out.
        drive_ms: Part of the run time in which the drive had a request; absent for a live run and
            for a case that was left out.
        access: Rate and access time; absent for other cases than those of a desktop, and without a
            read or write.
    """

    case: str
    phase: str
    iterations: int
    run_time_ms: AppTime | None
    response_ms: AppResponse | None
    drive_ms: AppTime | None = None
    access: AppAccess | None = None


class AppCpu(Record, frozen=True, kw_only=True):
    """Think time that was spread before the requests of each iteration.

    Args:
        name: `phone2013`, or the name of a file.
        think_ms: Milliseconds an iteration, by case.
    """

    name: str
    think_ms: dict[str, float]


class AppPart(Record, frozen=True, kw_only=True):
    """A kind of work that iterations of a case do in turn.

    Args:
        case: The case.
        part: Its name.
        unit: What its rates count, per second: `MB` of 10^6 bytes, or `statements`.
        run_time_ms: Time over the runs.
        rate: Rate over the runs.
        slices: Mean rate of each slice, from the start of the file; absent for a part in one piece.
    """

    case: str
    part: str
    unit: str
    run_time_ms: AppTime
    rate: AppTime
    slices: list[float] | None = None


class AppScore(Record, frozen=True, kw_only=True):
    """Scores; `null` where nothing can be compared.

    Args:
        score: 1000 times the geometric mean of the baseline's time over this one, of all cases that
            ran and that the baseline has; larger is faster.
        baseline: What the baseline is.
        compat: Total run time in seconds times the number of cases of the suite, which is how the
            report of the source looks to be made (our inference).
    """

    score: float | None
    baseline: str
    compat: float | None


class AppIo(Record, frozen=True, kw_only=True):
    """Requests of a class of sizes, of all runs.

    Args:
        size: The class, `total` for all.
        reads: Reads.
        read_bytes: Their bytes.
        writes: Writes.
        write_bytes: Their bytes.
        read_busy_ms: Sum of the response times of the reads.
        write_busy_ms: The same of the writes.
        read_iops_busy: Reads over their busy time, a second; `null` without any.
        read_mb_s_busy: MB of 10^6 bytes over their busy time.
        write_iops_busy: Writes over their busy time.
        write_mb_s_busy: MB over their busy time.
        read_iops_wall: Reads over the run time of all cases.
        read_mb_s_wall: MB over the run time.
        write_iops_wall: Writes over the run time.
        write_mb_s_wall: MB over the run time.
    """

    size: str
    reads: int
    read_bytes: int
    writes: int
    write_bytes: int
    read_busy_ms: float
    write_busy_ms: float
    read_iops_busy: Number | None
    read_mb_s_busy: Number | None
    write_iops_busy: Number | None
    write_mb_s_busy: Number | None
    read_iops_wall: Number | None
    read_mb_s_wall: Number | None
    write_iops_wall: Number | None
    write_mb_s_wall: Number | None


class AppLatency(Record, frozen=True, kw_only=True):
    """Response times of one kind of request, in microseconds.

    Args:
        count: Requests.
        mean: Their mean; `null` without any.
        p50: Median, by nearest rank.
        p99: 99th percentile; `null` with fewer than 100 requests.
        max: The longest, which is the longest stall.
    """

    count: int
    mean: float | None
    p50: float | None
    p99: float | None
    max: float | None


class AppFloor(Record, frozen=True, kw_only=True):
    """The fast end of the response times of one kind of request, in microseconds.

    Args:
        count: Requests; at least 100.
        p1: First percentile, by nearest rank.
        p5: Fifth percentile.
        p50: Median.
    """

    count: int
    p1: float
    p5: float
    p50: float


class AppChunk(Record, frozen=True, kw_only=True):
    """Response times of the writes of a size.

    Args:
        bytes_max: The largest of the class, a power of two; the class begins above half of it.
        count: Writes.
        min_us: The shortest, in microseconds.
        mean_us: Their mean.
        p99_us: 99th percentile; `null` with fewer than 100 writes.
        max_us: The longest.
    """

    bytes_max: int
    count: int
    min_us: float
    mean_us: float
    p99_us: float | None
    max_us: float


class AppWindow(Record, frozen=True, kw_only=True):
    """Writes and flushes that began in a window of the run.

    Args:
        at_ms: Begin of the window, from the first request.
        count: Writes and flushes.
        mean_us: Mean of their response times.
        max_us: The longest.
    """

    at_ms: float
    count: int
    mean_us: float
    max_us: float


class AppPeriod(Record, frozen=True, kw_only=True):
    """Windows in a row that were slow.

    Args:
        begin_ms: Begin of the first.
        end_ms: End of the last.
        count: Writes and flushes.
        mean_us: Mean of their response times.
        times: That mean over the mean of the run.
    """

    begin_ms: float
    end_ms: float
    count: int
    mean_us: float
    times: float


class AppLong(Record, frozen=True, kw_only=True):
    """A request that took longer than a user waits without noticing.

    Args:
        at_ms: When it began, from the first request.
        kind: `read`, `write` or `flush`.
        bytes: Of it; 0 for a flush.
        took_ms: Its response time.
    """

    at_ms: float
    kind: str
    bytes: int
    took_ms: float


class AppCourse(Record, frozen=True, kw_only=True):
    """Response times over the time of the run.

    Args:
        window_ms: Length of a window.
        windows: Those in which writes or flushes began.
        slow_periods: Windows in a row whose mean is three times that of the run or more.
        long_ms: From when on a request is long.
        long_count: Long requests.
        longest: The first hundred of them, the longest first.
        long_writes: Those of them that are writes.
    """

    window_ms: float
    windows: list[AppWindow]
    slow_periods: list[AppPeriod]
    long_ms: float
    long_count: int
    longest: list[AppLong]
    long_writes: int | None = None


class AppRelative(Record, frozen=True, kw_only=True):
    """Ratios to the same suite on the same drive, young and clean.

    Args:
        run_time: Of run times.
        read: Of mean response times of reads; `null` without any.
        write: The same of writes.
        flush: The same of flushes.
        write_longest: Of the longest write.
        response_longest: Of the longest response of an iteration.
        small_write_p1: Of the first percentile of the writes of 4 KiB; absent without 100 of them.
        small_write_p5: The same of the fifth percentile.
        small_write_p50: The same of the median.
    """

    run_time: float
    read: float | None
    write: float | None
    flush: float | None
    write_longest: float | None
    response_longest: float
    small_write_p1: float | None = None
    small_write_p5: float | None = None
    small_write_p50: float | None = None


class AppRequests(Record, frozen=True, kw_only=True):
    """Requests that the drive got while cases ran.

    Args:
        read: Reads.
        write: Writes.
        flush: Flushes.
        trims: Trims.
        trim_bytes: Their bytes.
        fua: Writes with force unit access.
        refused: Writes that a worn-out drive refused.
        small_write_ratio: Share of the writes of 4 KiB; `null` without writes.
        small_write: Response times of the writes of 4 KiB; absent with fewer than 100.
    """

    read: AppLatency
    write: AppLatency
    flush: AppLatency
    trims: int
    trim_bytes: int
    fua: int
    refused: int
    small_write_ratio: float | None
    small_write: AppFloor | None = None


class AppDrive(Record, frozen=True, kw_only=True):
    """A simulated drive at one moment, counted since it came to its age, or out of its image.

    Args:
        written_bytes: Bytes that the host wrote.
        programmed_bytes: Bytes that were programmed.
        waf: Programmed over written bytes; `null` without a write.
        collections: Blocks erased by garbage collection.
        moved_pages: Map units that it moved.
        erases: Blocks erased.
        free_blocks: Erased blocks.
        mapped_pages: Map units that hold data.
        erase_count_mean: How often a good block was erased since the factory.
        erase_count_max: The most often that one was.
        is_worn_out: The drive takes no more writes.
    """

    written_bytes: int
    programmed_bytes: int
    waf: Number | None
    collections: int
    moved_pages: int
    erases: int
    free_blocks: int
    mapped_pages: int
    erase_count_mean: Number | None
    erase_count_max: int
    is_worn_out: bool


class AppState(Record, frozen=True, kw_only=True):
    """The state of a simulated drive, and how it was reached.

    Args:
        name: `young-clean`, `young-dirty`, `old-clean`, `old-dirty` or `image`.
        age: How it came to its age.
        dirt: How it came to what it holds.
        drive_writes: Capacities written to age it.
        dirty_writes: Capacities written to make it dirty.
        before: The drive before the first case.
        after: The drive after the last.
    """

    name: str
    age: str
    dirt: str
    drive_writes: float
    dirty_writes: float
    before: AppDrive
    after: AppDrive


class AppProfile(Record, frozen=True, kw_only=True):
    """How databases kept their promises.

    Args:
        journal: SQLite's journal mode.
        sync: Its `synchronous`.
        page_bytes: Page size of a database.
    """

    journal: str
    sync: str
    page_bytes: int


class AppEnvironment(Record, frozen=True, kw_only=True):
    """Where it ran.

    Args:
        path: `sim` for a simulated drive in virtual time, `directory` for a file system.
        file_system: Type and mount options, or what the traces were recorded on.
        kernel: Version of Linux; that of a recording is under `file_system`.
        eviction: How pages left the cache; `recorded` for a replay.
        flush: How durability reaches the drive.
        traces: Name and SHA-256 of the traces, by case; `null` for a live run.
    """

    path: str
    file_system: str
    kernel: str
    eviction: str
    flush: str
    traces: dict[str, str] | None


class AppCheck(Record, frozen=True, kw_only=True):
    """A self-check.

    Args:
        name: What was checked.
        passed: Whether it holds.
        detail: What was found.
    """

    name: str
    passed: bool
    detail: str


class AppRun(Record, frozen=True, kw_only=True):
    """Facts of this machine and hour, outside the digest.

    Args:
        version: Version of the program.
        kernel: Kernel of the machine.
        sqlite: Version of SQLite.
        wall_s: How long all took.
        target: The target as it was given.
        created: When it began, UTC.
    """

    version: str
    kernel: str
    sqlite: str
    wall_s: float
    target: str
    created: str


class AppDocument(Record, frozen=True, kw_only=True):
    """A run of the application benchmark.

    Args:
        schema: Kind and version of the document.
        suite: Name of the suite.
        mode: `live` or `replay`.
        seed: Seed of scripts, contents and the simulated drive.
        runs: How often each case was run.
        idle_ms: The user's pause between iterations.
        delete_pct: Percent of the photos that rounds of filling delete; absent for 25, the usual.
        max_transfer_bytes: Above which the host split reads and writes; absent as recorded.
        profile: Of databases; of a replay, that of the recording.
        sizes: Sizes that differ from the defaults, by case and name; of a replay, those of the
            recordings.
        cases: What the user waited for.
        parts: Kinds of work of synthetic cases; absent without any.
        total_ms: Run time of all cases.
        score: Both scores.
        io: Requests by class of sizes; `null` where they are not known.
        requests: Response times of requests; `null` where they are not known.
        chunks: Response times of writes by size; `null` where they are not known.
        course: Response times over the run; `null` where they are not known.
        relative: Compared with the young and clean drive; `null` where that was not asked for.
        state: State of a simulated drive; `null` for others.
        device: The resolved device; `null` for others.
        environment: Where it ran.
        checks: Self-checks.
        passed: Whether all checks hold and nothing was cut short.
        partial: Whether it was interrupted.
        run: Facts of this machine.
        digest: SHA-256 over all but `run` and itself.
        drive_ms: Part of the run time of all cases in which the drive had a request; absent for a
            live run.
        cpu: Think time of a processor; absent without.
    """

    schema: Literal["opennandlab.app/1"]
    suite: str
    mode: str
    seed: int
    runs: int
    idle_ms: int
    delete_pct: float | None = None
    max_transfer_bytes: int | None = None
    profile: AppProfile
    sizes: dict[str, dict[str, int]]
    cases: list[AppCase]
    parts: list[AppPart] | None = None
    total_ms: AppTime | None
    score: AppScore
    io: list[AppIo] | None
    requests: AppRequests | None
    chunks: list[AppChunk] | None
    course: AppCourse | None
    relative: AppRelative | None
    state: AppState | None
    device: JsonObject | None
    environment: AppEnvironment
    checks: list[AppCheck]
    passed: bool
    partial: bool
    run: AppRun
    digest: str
    drive_ms: AppTime | None = None
    cpu: AppCpu | None = None


KINDS, PARTS = ("read", "write", "flush"), ("mean", "p99", "max")
# Names of all numbers that `figures` may return, `*` for a case.
FIGURES = (
    "score", "total_ms", "response_ms.max", "waf", "erase_count_mean", "collections",
    *(f"{kind}_us.{part}" for kind in KINDS for part in PARTS),
    "*.response_ms.mean", "*.mb_s", "*.access_us",
)  # fmt: skip


def figures(document: JsonObject) -> dict[str, float]:
    """Return score, run time, responses, times of requests and what the drive wrote.

    Args:
        document: A document with at least one case that was run.
    """
    cases = [one for one in document["cases"] if one["response_ms"] is not None]
    found: dict[str, float | None] = {
        "score": document["score"]["score"],
        "total_ms": document["total_ms"]["mean"],
        "response_ms.max": max(one["response_ms"]["max"] for one in cases),
    }
    if document["state"] is not None:
        before, after = document["state"]["before"], document["state"]["after"]
        written, programmed = (
            after[key] - before[key] for key in ("written_bytes", "programmed_bytes")
        )
        found["waf"] = programmed / written if written else None
        found["erase_count_mean"] = after["erase_count_mean"]
        found["collections"] = after["collections"] - before["collections"]
    for one in cases:
        phase = "" if one["phase"] == "main" else f".{one['phase']}"
        found[f"{one['case']}{phase}.response_ms.mean"] = one["response_ms"]["mean"]
        if access := one.get("access"):
            found |= {f"{one['case']}{phase}.{key}": access[key] for key in ("mb_s", "access_us")}
    for kind in KINDS:
        for part in PARTS:
            requests = document["requests"]
            found[f"{kind}_us.{part}"] = None if requests is None else requests[kind][part]
    return {name: float(value) for name, value in found.items() if value is not None}
