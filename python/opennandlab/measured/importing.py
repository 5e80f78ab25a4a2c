"""Reading files of figures: what they are is told by their content, never by their names."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from opennandlab.base.canonical import digest
from opennandlab.base.errors import DocumentError, ResultError
from opennandlab.base.files import read_bytes
from opennandlab.documents import pts, pts_header
from opennandlab.documents.pts import PtsDocument
from opennandlab.documents.record import JsonObject
from opennandlab.documents.saved import BYTES_MAX, read_content, refuse_odd
from opennandlab.measured import csv, saturation
from opennandlab.measured.document import TABLES, UNKNOWN, Cell, Said, made, sealed
from opennandlab.measured.fio import course, jobs, logs, repeats
from opennandlab.measured.fio.record import legible, version_of
from opennandlab.measured.fio.terse import TerseError
from opennandlab.measured.fio.text import Pieces, pieces, results, runs

# From here on response times are in ns.
NS_SINCE = (2, 99, 0)
# Logs leave the begin and the end of a run out, more does not fit together.
REQUESTS_TOLERANCE = 0.2
# Marks at the begin of a text.
UTF_16 = {b"\xff\xfe", b"\xfe\xff"}
# Lines of the other formats of fio, near the begin of a file.
TEXT_OF_FIO = re.compile(r"^2;[^;]*;\d+;\d+(;[\d.]+){8}|^\S+: \(g(roupid)?=\d", re.MULTILINE)
TEXT_CHARS = 1 << 16
OF_FIO = re.compile(rb'"fio version"|^\d+;fio-', re.MULTILINE)
ACCEPTED = (
    "the JSON output of fio (or terse 3 or 5), its logs, a table as CSV, or a document of a "
    "standard test (opennandlab.pts/1)"
)


@dataclass(frozen=True)
class Wanted:
    """How figures are to be read, and what is known besides; None for anything not given.

    Args:
        test: `iops`, `throughput`, `latency` or, of series, `wsat`.
        pattern: `random` or `sequential`: which jobs of fio are taken.
        unit: Of a wide table, of the column `value`, or of a log.
        block_bytes: Size of a request, of logs that do not tell.
        threads: Threads (TC); of fio, which jobs are taken.
        queue_depth: Requests outstanding per thread (QD); of fio, which jobs are taken.
        jobs: Names of the jobs of fio that are taken; empty for all.
        any_order: Take the mixes of a table in any order.
        allow_cut: Take the whole documents of fio before one that breaks off.
        name: Name of the document.
        model: Of the drive.
        capacity_bytes: Of the drive.
        amount_bytes: What of the drive was tested, in segments.
        profile: `E` or `C`.
        source: Who measured, and where it was published.
    """

    test: str | None = None
    pattern: str | None = None
    unit: str | None = None
    block_bytes: int | None = None
    threads: int | None = None
    queue_depth: int | None = None
    jobs: tuple[str, ...] = ()
    any_order: bool = False
    allow_cut: bool = False
    name: str | None = None
    model: str | None = None
    capacity_bytes: int | None = None
    amount_bytes: int | None = None
    profile: str | None = None
    source: str | None = None


@dataclass(frozen=True)
class _File:
    name: str
    sha256: str
    text: str
    pieces: Pieces
    log: logs.Log | None = None

    @property
    def content(self) -> JsonObject | None:
        """Its first JSON document."""
        return self.pieces.documents[0] if self.pieces.documents else None


@dataclass(frozen=True)
class _Found:
    """Cells of some files, and what these say besides."""

    origin: str
    cells: list[Cell]
    is_random: bool = True
    threads: int | None = None
    queue_depth: int | None = None
    fio_version: str | None = None
    notes: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def import_files(paths: Sequence[str | Path], wanted: Wanted | None = None) -> PtsDocument:
    r"""Return the figures of files as one document of a standard test.

    Args:
        paths: Outputs of fio, or tables, together; or one document of a standard test.
        wanted: How they are to be read, and what is known besides.

    Raises:
        ResultError: with file, place and what is accepted; nothing was written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder) / "drive.csv"
    ...     _ = table.write_text("Block size (KiB),0/100,100/0\n4,9000,70000\n")
    ...     import_files([table]).tables[0].values
    [[9000.0, 70000.0]]
    """
    asked = wanted or Wanted()
    files = [_read(Path(path), asked) for path in paths]
    if not files:
        raise ResultError(f"no file was named; accepted: {ACCEPTED}")
    for place, one in enumerate(files):
        if any(one.sha256 == other.sha256 for other in files[:place]):
            raise ResultError(f"{one.name}: the same file twice; accepted: each once")
    kinds = {_kind(one) for one in files}
    if kinds == {"own"}:
        return _own(files, asked)
    if kinds <= {"log", "fio"} and ("log" in kinds or asked.test == "wsat"):
        return _of_series(files, asked)
    if len(kinds) > 1:
        raise ResultError(
            "files of different kinds do not make one measurement; accepted: outputs of fio, "
            "or tables, "
            "or one document"
        )
    found = _of_fio(files, asked) if kinds == {"fio"} else _of_tables(files, asked)
    imported = pts_header.Imported(
        origin=found.origin, files=_origins(files), source=asked.source,
        unknown=list(found.unknown),
    )  # fmt: skip
    return made(_said(found, asked, files), found.cells, imported)


def of_fio(path: Path, wanted: Wanted | None = None) -> PtsDocument | None:
    """Return the document of a file that is an output of fio; None for any other, and for a pipe.

    Args:
        path: The file.
        wanted: Which jobs of it are taken; None for all.

    Raises:
        ResultError: for an output that cannot be imported.
    """
    if not may_be_fio(path):
        return None
    file = _read(path, Wanted())
    return import_files([path], wanted) if jobs.is_output(file.content) else None


def may_be_fio(path: Path) -> bool:
    """Return whether a file looks like an output of fio; not of a pipe, which is read once."""
    try:
        raw = read_bytes(path, BYTES_MAX) if path.is_file() else b""
    except OSError:
        return False
    is_wide = raw[:2] in UTF_16
    return OF_FIO.search(raw.replace(b"\0", b"") if is_wide else raw) is not None


def _read(path: Path, asked: Wanted) -> _File:
    raw = read_content(path, ACCEPTED)
    try:
        is_wide = raw[:2] in UTF_16
        text = raw.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ResultError(
            f"{path}: byte {error.start} is not UTF-8 text; accepted: {ACCEPTED}"
        ) from None
    try:
        found = pieces(text)
    except TerseError as error:
        raise ResultError(f"{path}: {error}") from None
    if found.cut is not None:
        _refuse_cut(path, text, raw, found, asked)
    for document in found.documents:
        refuse_odd(path, document)
    lines = text[: text.rfind("\n") + 1] if asked.allow_cut else text
    log = None if found.documents else logs.read(lines, path.name)
    return _File(path.name, hashlib.sha256(raw).hexdigest(), text, found, log)


def _refuse_cut(path: Path, text: str, raw: bytes, found: Pieces, asked: Wanted) -> None:
    """Refuse a file whose last document is not whole, unless those before it were asked for."""
    cut = found.cut
    count = len(found.documents)
    if cut is None or (asked.allow_cut and count):
        return
    encoding = "utf-16-le" if raw[:2] in UTF_16 else "utf-8"
    mark = 2 if encoding == "utf-16-le" else 3 if raw[:3] == b"\xef\xbb\xbf" else 0
    start, at = (mark + len(text[:place].encode(encoding)) for place in (cut.start, cut.at))
    way = f"{ACCEPTED}, whole"
    if count:
        many = "s" * (count > 1)
        way += f"; `pts import --allow-cut` takes the {count} whole document{many} before it"
    raise ResultError(
        f"{path}: incomplete JSON: the value that begins at byte {start} breaks off or is "
        f"damaged at byte "
        f"{at} of {len(raw)} ({cut}); accepted: {way}"
    )


def _kind(file: _File) -> str:
    """Return `fio`, `log`, `own` or `csv`."""
    if jobs.is_output(file.content):
        return "fio"
    if file.content is not None:
        schema = file.content.get("schema")
        if schema == pts.SCHEMA:
            return "own"
        said = f"holds `{schema}`" if schema else "is JSON of neither fio nor a standard test"
        raise ResultError(f"{file.name}: {said}; accepted: {ACCEPTED}")
    if file.log is not None:
        return "log"
    if TEXT_OF_FIO.search(file.text[:TEXT_CHARS]):
        raise ResultError(
            f"{file.name}: text of fio, terse 2 or normal; accepted: what "
            "--output-format=json+, json or terse (3 or 5) writes"
        )
    if not csv.is_table(file.text):
        raise ResultError(f"{file.name}: neither JSON nor a table; accepted: {ACCEPTED}")
    return "csv"


def _own(files: Sequence[_File], asked: Wanted) -> PtsDocument:
    """Return a document of another place, marked."""
    if len(files) > 1:
        raise ResultError(
            "one document of a standard test is imported at a time; `compare` takes several"
        )
    found: JsonObject = files[0].content or {}
    if found.get("digest") != digest(found):
        raise ResultError(
            f"{files[0].name}: damaged or edited: the content does not match its digest; accepted: "
            "a whole document"
        )
    try:
        document, _ = pts.from_file(found)
    except DocumentError as error:
        raise ResultError(f"{files[0].name}: damaged: {error}") from error
    imported = pts_header.Imported(
        origin="pts/1", files=_origins(files), source=asked.source, unknown=[]
    )
    header = structs.replace(document.header, imported=imported)
    return sealed(structs.replace(document, header=header, name=asked.name or document.name))


def _origins(files: Sequence[_File]) -> list[pts_header.ImportedFile]:
    return [pts_header.ImportedFile(name=one.name, sha256=one.sha256) for one in files]


def _of_fio(files: Sequence[_File], asked: Wanted) -> _Found:
    told = jobs.Told(
        None if asked.pattern is None else asked.pattern == "random",
        asked.threads,
        asked.queue_depth,
    )
    found: list[jobs.Job] = []
    names: dict[str, None] = {}
    refused: list[str] = []
    versions: set[str] = set()
    for file in files:
        for document in results([one for one in file.pieces.documents if jobs.is_output(one)]):
            taken, others = jobs.jobs(document, file.name, told)
            found += taken
            names |= dict.fromkeys(job.name for job in taken)
            refused += others
            versions.add(legible(document["fio version"]))
    if not found:
        raise ResultError(refused[0] + (f" (and {len(refused) - 1} more)" * (len(refused) > 1)))
    found = [
        job for job in found
        if told.is_random in {None, job.is_random} and told.threads in {None, job.threads}
        and told.queue_depth in {None, job.queue_depth}
        and (not asked.jobs or job.name in asked.jobs)
    ]  # fmt: skip
    # Of one size and mix, not those whose figures are not of the depth that was asked.
    sure = {_place(job) for job in found if not job.cell.doubts}
    other = [job for job in found if job.cell.doubts and not job.is_told and _place(job) in sure]
    refused += [f"{job.where}: {'; '.join(job.cell.doubts)}" for job in other]
    found = [job for job in found if job not in other]
    if not found:
        there = ", ".join(sorted(filter(None, names)))
        raise ResultError(
            "no job has the pattern, threads, queue depth and names that were asked for"
            + (f"; there are {there}" if there else "")
        )
    if {True, False} <= {job.is_random for job in found}:
        raise ResultError(
            f"{found[0].where} and others have random and sequential requests; accepted: one "
            f"of the two, by --pattern random or sequential, or --job NAME"
        )
    found = repeats.joined(found)
    threads = {job.threads for job in found}
    depths = {job.queue_depth for job in found}
    is_json = any('"fio version"' in file.text for file in files)
    return _Found(
        "fio JSON" if is_json else "terse output of fio",
        [job.cell for job in found],
        all(job.is_random is not False for job in found),
        threads.pop() if len(threads) == 1 else None,
        depths.pop() if len(depths) == 1 else None,
        ", ".join(sorted(versions)),
        tuple(_notes(found)),
        (*(f"refused: {text}" for text in refused), *_beside(files)),
        ("pattern",) if any(job.is_random is None for job in found) else (),
    )


def _place(job: jobs.Job) -> tuple[int, float]:
    return job.cell.block_bytes, job.cell.read_pct


def _notes(found: Sequence[jobs.Job]) -> Iterator[str]:
    """Yield what the reader of some jobs should know, each with the cells that it is of."""
    cells: dict[str, list[str]] = {}
    for job in found:
        for note in job.notes:
            cells.setdefault(note, []).append(job.cell.label)
    for note, labels in cells.items():
        more = f" and {len(labels) - 3} more" if len(labels) > 4 else ""
        named = ", ".join(labels[:3] if more else labels) + more
        yield note if len(labels) == len(found) > 1 else f"{named}: {note}"


def _beside(files: Sequence[_File]) -> Iterator[str]:
    """Yield what files hold besides results."""
    for file in files:
        found = file.pieces
        if found.other:
            count = len(found.other)
            more = f" and {count - 1} lines more" if count > 1 else ""
            yield f"{file.name}: other text is skipped: `{found.other[0][:80]}`{more}"
        outputs = [one for one in found.documents if jobs.is_output(one)]
        if passed := len(outputs) - len(results(outputs)):
            yield (
                f"{file.name}: {passed} statuses on the way are skipped: the last one counts "
                "(of them a series is made by --test wsat)"
            )
        others = [one for one in found.documents if not jobs.is_output(one)]
        if others:
            yield f"{file.name}: {len(others)} JSON documents are not of fio, and were skipped"
        if found.cut is not None:
            yield (
                f"{file.name}: cut: the last document breaks off; the figures are those of the one "
                "before"
            )


def _of_series(files: Sequence[_File], asked: Wanted) -> PtsDocument:
    """Return the document of logs of one run, or of what came between its statuses."""
    if asked.test not in {None, "wsat"}:
        raise ResultError(f"a series is not data of the test {asked.test}; accepted: --test wsat")
    outputs = [one for one in files if one.log is None]
    taken = [one.log for one in files if one.log is not None]
    found = _of_fio(outputs, asked) if outputs else _Found("fio logs", [])
    if len(found.cells) > 1 or any(cell.spreads for cell in found.cells):
        raise ResultError("a series covers one cell; accepted: the output of one run of one load")
    every = [run for file in outputs for run in runs(
        [one for one in file.pieces.documents if jobs.is_output(one)])]  # fmt: skip
    version = max((version_of(run[-1]) or (0,) for run in every), default=None)
    if taken:
        time_ns = None if version is None else 1e3 if version < NS_SINCE else 1.0
        tracks = logs.tracks(taken, asked.unit, time_ns)
    elif len(every) > 1 or len(every[0]) < 2:
        raise ResultError(
            f"{files[0].name}: no series; accepted: the statuses of one run (--status-interval), "
            "or its logs"
        )
    else:
        try:
            tracks = course.of_statuses(every[0])
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ResultError(f"{files[0].name}: its statuses are not a series: {error}") from error
    cell = found.cells[0] if found.cells else None
    pattern = None if asked.pattern is None else asked.pattern == "random"
    imported = pts_header.Imported(
        origin="fio logs" if taken else "statuses of fio JSON", files=_origins(files),
        source=asked.source, unknown=list(found.unknown),
    )  # fmt: skip
    said = _known("wsat", replace(
        found, threads=found.threads or asked.threads,
        queue_depth=found.queue_depth or asked.queue_depth,
        notes=tuple(_of_logs(taken, tracks, cell)),
    ), asked, files)  # fmt: skip
    size = asked.block_bytes or (cell.block_bytes if cell else None) or logs.size_of(taken)
    load = saturation.Load(size, found.is_random if cell else pattern)
    return saturation.document(tracks, said, imported, load)


def _of_logs(
    taken: Sequence[logs.Log], tracks: Sequence[course.Track], cell: Cell | None
) -> Iterator[str]:
    """Yield the columns of logs, and whether the output given with them is of the same run."""
    for columns in dict.fromkeys(one.told for one in taken):
        files = [one.file for one in taken if one.told == columns]
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        yield f"{files[0]}{more}: {columns}"
    if cell is None:
        return
    yield from (f"uncertain: {cell.label}: {doubt}" for doubt in cell.doubts)
    logged = sum(float(one.values.sum()) for one in tracks if one.figure == "ios")
    counted = sum(float(row.ios) for row in cell.rows)
    if logged and counted and abs(logged / counted - 1) > REQUESTS_TOLERANCE:
        yield f"the series has {logged:.0f} requests, the output {counted:.0f}: of other runs?"


def _of_tables(files: Sequence[_File], asked: Wanted) -> _Found:
    if asked.unit is not None and asked.unit not in csv.UNITS:
        raise ResultError(f"--unit: `{asked.unit}` is none; accepted: {', '.join(csv.UNITS)}")
    joined: dict[tuple[int, float], tuple[Cell, str]] = {}
    for file in files:
        for cell in csv.cells(file.text, file.name, asked.unit, any_order=asked.any_order):
            place = (cell.block_bytes, cell.read_pct)
            before = joined.get(place)
            if before is None:
                joined[place] = (cell, file.name)
                continue
            twice = before[0].figures.keys() & cell.figures.keys()
            if twice:
                raise ResultError(
                    f"{cell.label} is given twice: {before[1]}, {file.name}; accepted: each cell "
                    "once"
                )
            both = {**before[0].figures, **cell.figures}
            joined[place] = (Cell(*place, both), file.name)
    return _Found(
        "CSV", [cell for cell, _ in joined.values()], asked.pattern != "sequential",
        asked.threads, asked.queue_depth,
    )  # fmt: skip


def _said(found: _Found, asked: Wanted, files: Sequence[_File]) -> Said:
    test = asked.test or _test_of(found)
    known = {column.column for column in TABLES[test].values()}
    if not any(cell.figure(column) is not None for cell in found.cells for column in known):
        given = sorted({name for cell in found.cells for name in cell.figures})
        raise ResultError(
            f"the test {test} has no figure of {', '.join(given)}; accepted: --test "
            f"{' or '.join(TABLES)}"
        )
    return _known(test, found, asked, files)


def _known(test: str, found: _Found, asked: Wanted, files: Sequence[_File]) -> Said:
    return Said(
        test=test,
        name=asked.name
        or next(
            (one.log.prefix for one in files if one.log is not None and one.log.prefix),
            Path(files[0].name).stem,
        ),
        model=asked.model,
        capacity_bytes=asked.capacity_bytes,
        threads=found.threads,
        queue_depth=found.queue_depth,
        amount_bytes=asked.amount_bytes,
        segments=None if asked.amount_bytes is None else 2048,
        profile=asked.profile or UNKNOWN,
        fio_version=found.fio_version,
        notes=(*found.notes, *found.refused),
    )


def _test_of(found: _Found) -> str:
    """Return the test that some cells are most like."""
    if not found.is_random:
        return "throughput"
    figures = {name for cell in found.cells for name, value in cell.figures.items() if value}
    is_single = found.threads == 1 and found.queue_depth == 1
    is_single = is_single and not any(cell.doubts for cell in found.cells)
    return "latency" if is_single or not figures & {"iops", "mb_s"} else "iops"
