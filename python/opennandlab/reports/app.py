"""The report of an application benchmark: what the user waited for, and what the drive did for it.

Seven parts, in this order: score, run time, response, requests by size, device, state, environment.
`compat` shows the layout of the report in "Truth about eMMC performance benchmark" (A. Lee): one
score, run times with deviations (0 for a case that was left out), and rates by classes of requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from opennandlab.base.words import number
from opennandlab.documents.app import DELETE_PCT, AppCase, AppDocument, AppDrive, AppIo, AppTime
from opennandlab.reports import words
from opennandlab.reports.figure.model import Axis, Plot, Series
from opennandlab.reports.model import (
    Badge,
    Cell,
    Chapter,
    Headline,
    Item,
    Report,
    Section,
    Table,
)

TITLE = "What an application feels"
# What `app history` says of a run, as JSON.
HISTORY = ("created", "target", "suite", "state", "score", "total_ms", "write_us_mean",
           "write_us_max", "times_first")  # fmt: skip
# Of the long requests on a page; the document has more.
LONGEST_SHOWN = 20
RATES = ("read IOPS", "read MB/s", "write IOPS", "write MB/s")
COMPAT_CLASSES = {
    "total": "Total",
    "<= 8 KiB": "4K/8K",
    "(8, 64] KiB": "16K/32K/64K",
    "(64, 512] KiB": "128K/256K/512K",
    "> 512 KiB": "an excess of 512K",
}
COMPAT_CASES = {
    "camera": "Camera", "web": "Web", "contact": "Contact",
    "install": "Install", "mediascan": "MediaScan", "gallery": "Gallery",
}  # fmt: skip
DRIVE_ROWS = {
    "written_bytes": "written by the host, bytes",
    "programmed_bytes": "programmed, bytes",
    "waf": "WAF",
    "collections": "blocks collected",
    "moved_pages": "map units moved",
    "erases": "blocks erased",
    "free_blocks": "free blocks",
    "mapped_pages": "map units in use",
    "erase_count_mean": "erase count, mean of blocks",
    "erase_count_max": "erase count, highest",
}


def report(document: AppDocument) -> Report:
    """Return the report of a document."""
    sections = tuple(
        Section(name, title, items)
        for name, title, items in (
            ("score", "Score", (score(document),)),
            ("run-time", "Run time", (run_time(document),)),
            ("access", "Rate and access time", tuple(_access(document))),
            ("response", "Response", (response(document), *_courses(document))),
            ("parts", "Parts", tuple(_parts(document))),
            ("relative", "Against young and clean", tuple(_relative(document))),
            ("io", "Requests by size", tuple(io_tables(document))),
            ("chunks", "Writes by size", tuple(_chunks(document))),
            ("course", "Over the run", tuple(_over_time(document))),
            ("device", "Device", tuple(device(document))),
            ("environment", "Environment", (environment(document),)),
        )
        if items
    )
    failed = [f"{one.name}: {one.detail}" for one in document.checks if not one.passed]
    chapter = Chapter(
        id="app",
        title=f"{document.suite} on {document.run.target}",
        subtitle=subtitle(document),
        verdict=Badge.of_outcome(passed=document.passed, partial=document.partial),
        reason="; ".join(failed),
        headlines=tuple(_headlines(document)),
        sections=sections,
        test="app",
    )
    foot = f"opennandlab {document.run.version}, digest {document.digest}"
    return Report(TITLE, chapter.title, (chapter,), (), foot, "an application benchmark")


def subtitle(document: AppDocument) -> str:
    """Return a line on how it was run."""
    how = "closed-loop replay in virtual time" if document.mode == "replay" else "live"
    state = f", {document.state.name}" if document.state else ""
    return f"{how}{state}, {_runs(document)}, seed {document.seed}"


def _runs(document: AppDocument) -> str:
    return "1 run" if document.runs == 1 else f"{document.runs} runs"


def _headlines(document: AppDocument) -> Iterator[Headline]:
    if document.score.score is not None:
        yield Headline("score", words.value(document.score.score, 0))
    if document.total_ms is not None:
        yield Headline("run time", words.value(document.total_ms.mean, 0), "ms")
    longest = [one for one in document.cases if one.response_ms]
    if longest:
        worst = max(longest, key=lambda one: one.response_ms.max if one.response_ms else 0.0)
        if worst.response_ms:
            yield Headline(f"longest response, {worst.case}", f"{worst.response_ms.max:.1f}", "ms")


def score(document: AppDocument) -> Table:
    """Return both scores."""
    rows = (
        ("score", *_dashes(document.score.score)),
        ("compat", *_dashes(document.score.compat)),
    )
    note = (
        f"Score: larger is faster; 1000 is {document.score.baseline}. Compat: total seconds times "
        "the cases of the suite, as the source's report looks to be made."
    )
    return Table("score", "Score", ("", "value"), rows, note, digits=3)


def run_time(document: AppDocument) -> Table:
    """Return run times of all cases."""
    rows: list[tuple[Cell, ...]] = []
    if document.total_ms is not None:
        drive = _means(document.drive_ms)
        rows.append(("total", "-", document.total_ms.mean, document.total_ms.sd, *drive))
    for one in document.cases:
        time = one.run_time_ms
        cells = ("-", "-") if time is None else (time.mean, time.sd)
        rows.append((label(one), str(one.iterations or "-"), *cells, *_means(one.drive_ms)))
    heads = ("case", "iterations", "mean ms", "sd ms", "drive ms")
    note = "Drive: the part in which the drive had a request."
    return Table("run-time", "Run time", heads, tuple(rows), note, digits=1)


def _means(time: AppTime | None) -> tuple[Cell, ...]:
    return _dashes(None if time is None else time.mean)


def label(one: AppCase) -> str:
    """Return what a case is called in a table."""
    return one.case if one.phase == "main" else f"{one.case}, {one.phase}"


def response(document: AppDocument) -> Table:
    """Return responses of all cases."""
    rows = tuple(
        (
            label(one),
            str(it.count),
            it.min,
            it.mean,
            it.p50,
            "-" if it.p99 is None else it.p99,
            it.max,
        )
        for one in document.cases
        if (it := one.response_ms) is not None
    )  # fmt: skip
    heads = ("case", "count", "min ms", "mean ms", "p50 ms", "p99 ms", "max ms")
    return Table("response", "Response of an iteration", heads, rows, digits=2)


def _access(document: AppDocument) -> Iterator[Item]:
    """Yield rate and access time of the cases of a desktop."""
    rows = tuple(
        (label(one), it.operations, it.bytes / 1e6, it.mb_s, it.access_us)
        for one in document.cases
        if (it := one.access) is not None
    )
    if rows:
        what = "requests of the drive" if document.mode == "replay" else "calls on files"
        heads = ("case", "accesses", "MB", "MB/s", "access µs")
        note = f"Of {what}, a run. Access: the mean time of a read or write."
        yield Table("access", "Rate and access time", heads, rows, note, digits=1)


def _parts(document: AppDocument) -> Iterator[Item]:
    """Yield rates of the parts of cases, and those of slices of a file."""
    found = document.parts or []
    if not found:
        return
    rows = tuple(
        (one.case, one.part, one.run_time_ms.mean, f"{one.unit}/s", one.rate.mean, one.rate.sd)
        for one in found
    )
    heads = ("case", "part", "mean ms", "unit", "rate", "sd")
    note = f"Means and standard deviations over {_runs(document)}."
    yield Table("parts", "Rates of parts", heads, rows, note, digits=1)
    sliced = [one for one in found if one.slices]
    if sliced:
        places = [at / len(sliced[0].slices or ()) for at in range(len(sliced[0].slices or ()))]
        yield Plot(
            "slices",
            "Rates over the file",
            Axis("place in the file, 0 to 1"),
            Axis("MB/s", "log"),
            tuple(Series(one.part, places, one.slices or [], "line") for one in sliced),
        )
        yield Table(
            "slices", "MB/s by place in the file", ("slice", *(one.part for one in sliced)),
            tuple(
                (str(at + 1), *values)
                for at, values in enumerate(zip(*(one.slices or () for one in sliced), strict=True))
            ), digits=1,
        )  # fmt: skip


def _courses(document: AppDocument) -> Iterator[Item]:
    series = []
    for one in document.cases:
        if one.response_ms is not None:
            values = [value for run in one.response_ms.samples for value in run]
            places = [at / max(1, len(values)) for at in range(len(values))]
            series.append(Series(label(one), places, values, "points"))
    if series:
        yield Plot(
            "responses",
            "Response of each iteration, in order",
            Axis("first to last iteration of each case, 0 to 1"),
            Axis("response, ms", "log"),
            tuple(series),
        )


def io_tables(document: AppDocument) -> Iterator[Table]:
    """Yield counts, and rates over busy and over wall time."""
    rows = document.io
    if rows is None:
        return
    counts = tuple(
        (one.size, one.reads, one.read_bytes, one.writes, one.write_bytes) for one in rows
    )
    heads = ("size", "reads", "bytes read", "writes", "bytes written")
    yield Table("io-count", "Requests", heads, counts)
    yield Table(
        "io-busy", "Rates over busy time (count / sum of response times)", ("size", *RATES),
        tuple((one.size, *busy(one)) for one in rows), digits=1,
    )  # fmt: skip
    yield Table(
        "io-wall", "Rates over run time", ("size", *RATES),
        tuple((one.size, *_wall(one)) for one in rows), digits=1,
    )  # fmt: skip


def busy(one: AppIo) -> tuple[Cell, ...]:
    """Return the rates over busy time."""
    return _dashes(one.read_iops_busy, one.read_mb_s_busy, one.write_iops_busy, one.write_mb_s_busy)


def _wall(one: AppIo) -> tuple[Cell, ...]:
    return _dashes(one.read_iops_wall, one.read_mb_s_wall, one.write_iops_wall, one.write_mb_s_wall)


def _dashes(*values: float | None) -> tuple[Cell, ...]:
    return tuple("-" if value is None else value for value in values)


def _relative(document: AppDocument) -> Iterator[Item]:
    it = document.relative
    if it is None:
        return
    names = {
        "run time": it.run_time,
        "read, mean": it.read,
        "write, mean": it.write,
        "flush, mean": it.flush,
        "longest write": it.write_longest,
        "longest response": it.response_longest,
        "write of 4 KiB, p1": it.small_write_p1,
        "write of 4 KiB, p5": it.small_write_p5,
        "write of 4 KiB, p50": it.small_write_p50,
    }
    rows = tuple((name, *_dashes(value)) for name, value in names.items())
    note = "The same suite on the same drive as it comes from the factory is 1."
    yield Table("relative", "Times the young and clean drive", ("", "times"), rows, note, digits=3)


def _chunks(document: AppDocument) -> Iterator[Item]:
    found = document.chunks
    if not found:
        return
    names = [chunk_label(one.bytes_max) for one in found]
    rows = tuple(
        (name, number(one.count), one.min_us, one.mean_us, *_dashes(one.p99_us), one.max_us)
        for name, one in zip(names, found, strict=True)
    )
    heads = ("size", "writes", "min µs", "mean µs", "p99 µs", "max µs")
    yield Table("chunks", "Response times of writes by size", heads, rows, digits=1)
    sizes = [one.bytes_max / 1024 for one in found]
    yield Plot(
        "chunks-plot",
        "Response times of writes by size",
        Axis("size of a write up to, KiB", "log"),
        Axis("response, µs", "log"),
        tuple(
            Series(name, sizes, values, "dots")
            for name, values in (
                ("shortest", [one.min_us for one in found]),
                ("mean", [one.mean_us for one in found]),
                ("longest", [one.max_us for one in found]),
            )
        ),
    )


def chunk_label(bytes_max: int) -> str:
    """Return a size in words.

    >>> chunk_label(4096), chunk_label(1 << 20)
    ('<= 4 KiB', '<= 1 MiB')
    """
    return f"<= {bytes_max >> 20} MiB" if bytes_max >= 1 << 20 else f"<= {bytes_max >> 10} KiB"


def _over_time(document: AppDocument) -> Iterator[Item]:
    it = document.course
    if it is None:
        return
    places = [one.at_ms for one in it.windows]
    yield Plot(
        "course",
        "Writes and flushes over the run",
        Axis("begin, ms"),
        Axis("response, µs", "log"),
        (
            Series("mean of a window", places, [one.mean_us for one in it.windows], "line"),
            Series("longest", places, [one.max_us for one in it.windows], "points"),
        ),
        note=f"Windows of {it.window_ms:.1f} ms, by when a request began.",
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (one.begin_ms, one.end_ms, str(one.count), one.mean_us, one.times)
        for one in it.slow_periods
    )
    heads = ("from ms", "to ms", "requests", "mean µs", "times the run's mean")
    note = "Windows in a row whose mean is three times that of the run or more."
    if not rows:
        rows = (("none", "-", "-", "-", "-"),)
    yield Table("slow", "Slow periods", heads, rows, note, digits=1)
    long: tuple[tuple[Cell, ...], ...] = tuple(
        (one.at_ms, one.kind, str(one.bytes), one.took_ms) for one in it.longest[:LONGEST_SHOWN]
    )
    writes = "" if it.long_writes is None else f", of them {it.long_writes} writes"
    title = f"Requests of {it.long_ms:.0f} ms and more: {it.long_count}{writes}"
    if not long:
        long = (("none", "-", "-", "-"),)
    yield Table("long", title, ("at ms", "kind", "bytes", "took ms"), long, digits=1)


def history(runs: Sequence[Mapping[str, Cell]]) -> Table:
    """Return the table of the runs of devices over time.

    Args:
        runs: Each with the names of `HISTORY`.
    """
    rows = tuple(
        (
            str(it["created"])[:16].replace("T", " "),
            it["target"],
            ", ".join(str(it[key]) for key in ("suite", "state") if it[key]),
            *(_dashes(*(it[key] for key in HISTORY[4:]))),  # type: ignore[arg-type]
        )
        for it in runs
    )
    heads = ("when", "target", "run", "score", "ms", "write µs", "longest µs", "x first")
    note = "Run time; mean and longest write; run time over that of the first run of its kind."
    return Table("history", "Runs over time", heads, rows, note, digits=2)


def device(document: AppDocument) -> Iterator[Table]:
    """Yield response times of requests, and the drive before and after."""
    found = document.requests
    if found is not None:
        rows = tuple(
            (name, str(it.count), *_dashes(it.mean, it.p50, it.p99, it.max))
            for name, it in (("read", found.read), ("write", found.write), ("flush", found.flush))
        )
        note = (
            f"FUA writes {found.fua}, trims {found.trims} of {found.trim_bytes} bytes, refused "
            f"writes {found.refused}"
        )
        heads = ("request", "count", "mean µs", "p50 µs", "p99 µs", "max µs")
        yield Table("requests", "Response times of requests", heads, rows, note, digits=1)
        if (small := found.small_write) is not None:
            floor = ((str(small.count), small.p1, small.p5, small.p50),)
            names = ("writes", "p1 µs", "p5 µs", "p50 µs")
            yield Table("floor", "Writes of 4 KiB", names, floor, digits=1)
    state = document.state
    if state is not None:
        drive = tuple(
            (name, *_of(state.before, key), *_of(state.after, key))
            for key, name in DRIVE_ROWS.items()
        )
        note = f"{state.name}. Age: {state.age}. Dirt: {state.dirt}."
        yield Table("drive", "The drive", ("", "before", "after"), drive, note)


def _of(drive: AppDrive, key: str) -> tuple[Cell, ...]:
    return _dashes(getattr(drive, key))


def _thinking(document: AppDocument) -> str:
    if document.cpu is None:
        return "none"
    times = ", ".join(f"{case} {ms:g}" for case, ms in document.cpu.think_ms.items())
    return f"{document.cpu.name}, ms an iteration: {times}"


def environment(document: AppDocument) -> Table:
    """Return where it ran."""
    it, profile = document.environment, document.profile
    rows = (
        ("mode", document.mode),
        ("path", it.path),
        ("file system", it.file_system),
        ("kernel", it.kernel),
        ("eviction", it.eviction),
        ("flush", it.flush),
        ("SQLite", f"{profile.journal}, {profile.sync}, pages of {profile.page_bytes} bytes"),
        ("idle time", f"{document.idle_ms} ms"),
        ("think time", _thinking(document)),
        ("checks", ", ".join(f"{one.name}: {one.detail}" for one in document.checks)),
    )
    return Table("environment", "Environment", ("", "value"), rows, wraps=True)


def compat(document: AppDocument) -> list[Table]:
    """Return the tables in the layout of the source's report."""
    by_case: dict[str, list[AppCase]] = {}
    for one in document.cases:
        by_case.setdefault(one.case, []).append(one)
    total = document.total_ms
    rows: list[tuple[Cell, ...]] = [
        ("Total", total.mean if total else 0.0, total.sd if total else 0.0)
    ]
    for case, found in by_case.items():
        times = [one.run_time_ms for one in found if one.run_time_ms is not None]
        mean = sum(time.mean for time in times)
        rows.append((case.capitalize(), mean, sum(time.sd for time in times)))
    score = document.score.compat
    title = f"Total Score {score:.3f} ms" if score is not None else "Total Score -"
    tables = [Table("compat", title, ("", "Run Time Average, ms", "SD"), tuple(rows), digits=1)]
    if document.io is not None:
        classes = tuple(
            (COMPAT_CLASSES[one.size], *(0.0 if cell == "-" else cell for cell in busy(one)))
            for one in document.io
        )
        tables.append(Table("compat-io", "Rates", ("", *RATES), classes, digits=1))
    return [*tables, _suite_information(document, by_case)]


def _suite_information(document: AppDocument, by_case: Mapping[str, Sequence[AppCase]]) -> Table:
    """Return type, pause, deletions and counts of a suite, two to a line as the source has them."""
    # A document that does not state the deletions has the usual ones.
    percent = DELETE_PCT if document.delete_pct is None else document.delete_pct
    facts = [
        ("Suite Type", document.suite.capitalize()),
        ("Run", str(document.runs)),
        ("Idle Time (ms)", str(document.idle_ms)),
        ("Ratio to Delete DCIM (%)", f"{percent:g}"),
    ]
    for case, name in COMPAT_CASES.items():
        counts = [one.iterations for one in by_case.get(case, ())]
        facts.append((name, str(max(counts, default=0))))
    rows = tuple((*facts[at], *facts[at + 1]) for at in range(0, len(facts), 2))
    return Table("compat-suite", "Suite Information", ("", "", "", ""), rows)
