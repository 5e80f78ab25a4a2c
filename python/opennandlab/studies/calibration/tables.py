"""Measured tables of skew, fill, zones and load as targets of a fit: documents and a long CSV.

```text
pattern,region_bytes,zone_bytes,open,rate,block_size_bytes,queue_depth,mb_s,waf,r50,r99,r99.9,…
uniform,,,,,,512,653,1.89,,,
zipf:0.8,,,,,,512,580,,,,
```
A row of the CSV is a cell. An empty field is unknown, never zero; latencies are in us.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opennandlab.base.canonical import as_bytes, canonical_json
from opennandlab.base.errors import ResultError
from opennandlab.documents.pts import PtsDocument
from opennandlab.documents.pts_inside import NAMES, IdentifyResults
from opennandlab.reports.pts.csv import long_form
from opennandlab.studies.calibration.cells import COMPARED, Target, table_of, targets
from opennandlab.studies.calibration.conditions import CACHES, LOADS, PROFILE
from opennandlab.studies.calibration.loads import (
    FIGURES,
    FIRST_MINUTE,
    LARGE,
    LOAD,
    LOAD_DEPTH,
    MIB,
    PROBE_PER_S,
    SEQUENTIAL,
    SMALL,
    ZONES,
    Load,
    pattern_of,
)  # fmt: skip

CONDITIONS = (
    "pattern", "region_bytes", "zone_bytes", "open", "rate", "block_size_bytes", "queue_depth",
)  # fmt: skip
WEIGHTS: Mapping[str, float] = {"waf": 3.0, "rate": 1.0, "p50": 0.5, "p99": 0.5, "p99.9": 0.25}
# A write of a load that takes longer than its way into the buffer waits for the drive.
SATURATED_US = 100.0
# Two figures of one cell that are further apart are of two drives.
REPEATED = 0.15
# A region that is larger than the device by more is of another drive.
LARGER = 0.03
REGION = "region_bytes"
HEAD = ",".join([*CONDITIONS, *FIGURES])


@dataclass(frozen=True)
class Measured:
    """The compared figures.

    Args:
        names: Of the documents.
        test: Their tests.
        sources: Who measured them.
        digest: Digest of all of them.
        targets: The figures.
        table: Id, title and unit of the table that is compared.
        warnings: Remarks.
        document: The document whose cells follow each other on one drive; None for cells that are
            runs of their own.
    """

    names: list[str]
    test: str
    sources: list[str]
    digest: str
    targets: list[Target]
    table: tuple[str, str, str] = ("cells", "Cells", "MB/s, WAF or µs")
    warnings: list[str] = field(default_factory=list)
    document: PtsDocument | None = None

    @property
    def name(self) -> str:
        """All names."""
        return " and ".join(self.names)

    @property
    def loads(self) -> list[Load]:
        """The cells that are single runs."""
        return list(dict.fromkeys(one.load for one in self.targets if one.load is not None))


def is_csv(path: Path) -> bool:
    """Whether a file is a CSV of this kind: its head has a column `pattern`."""
    if not path.is_file():
        return False
    try:
        with path.open(encoding="utf-8-sig") as file:
            head = file.readline(4096)
    except (OSError, UnicodeDecodeError):
        return False
    return "pattern" in [word.strip() for word in head.split(",")]


def weights_of(text: str | None) -> dict[str, float]:
    """Return weights by kind of figure.

    Raises:
        ResultError: for an unknown kind, or an invalid weight.

    >>> weights_of("waf=1,p99.9=0")["p99.9"]
    0.0
    """
    found = dict(WEIGHTS)
    for part in (text or "").split(",") if text else ():
        kind, _, value = (word.strip() for word in part.partition("="))
        if kind not in found or not re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,6})?", value):
            raise ResultError(
                f"--weights: `{part.strip()[:40]}` is not valid; accepted: KIND=WEIGHT from 0 to "
                f"9999, of {', '.join(found)}"
            )
        found[kind] = float(value)
    return found


def measured(
    sources: Sequence[PtsDocument | Path],
    weights: Mapping[str, float],
    capacity_bytes: int,
    *,
    force: bool = False,
) -> Measured:
    """Return what documents and tables measured.

    Args:
        sources: Documents of tests, and CSV files.
        weights: By kind of figure.
        capacity_bytes: Of the device: what a region is a part of.
        force: Take cells that were not steady.

    Raises:
        ResultError: for cells that are invalid, figures of two drives, and nothing to compare.
    """
    _one_drive([one for one in sources if isinstance(one, PtsDocument)])
    warnings: list[str] = []
    found: list[Target] = []
    for source in sources:
        if isinstance(source, Path):
            rows = list(_of_file(source, capacity_bytes, warnings))
        elif isinstance(source.results, IdentifyResults):
            cells = long_form(source.results.points)
            rows = list(_of_csv(cells, source.name, capacity_bytes, warnings))
        else:
            rows = list(_of_document(source, warnings, force=force))
        for load, figure, value, where in rows:
            weight = weights[FIGURES[figure][1]]
            found.append(Target(load.name, figure, load.block_bytes, load.read_pct, value,
                                weight, load, where))  # fmt: skip
    if not any(one.weight for one in found):
        raise ResultError("no common cell: no figure has a weight; accepted: one or more")
    documents = [one for one in sources if isinstance(one, PtsDocument)]
    digests = [
        one.digest if isinstance(one, PtsDocument) else hashlib.sha256(one.read_bytes()).hexdigest()
        for one in sources
    ]
    return Measured(
        [one.name if isinstance(one, PtsDocument) else one.stem for one in sources],
        "+".join(dict.fromkeys(
            one.test if isinstance(one, PtsDocument) else "CSV" for one in sources
        )),
        list(dict.fromkeys(
            str(one.header.imported.source) for one in documents
            if one.header.imported and one.header.imported.source
        )),
        digests[0] if len(digests) == 1
        else hashlib.sha256(as_bytes(canonical_json(digests))).hexdigest(),
        _once(found),
        warnings=warnings,
    )  # fmt: skip


def of_sizes(document: PtsDocument, warnings: list[str]) -> Measured:
    """Return a document of sizes and mixes, whose cells follow each other on one drive."""
    imported, table = document.header.imported, table_of(document)
    source = imported.source if imported else None
    return Measured(
        [document.name], document.test, [source] if source else [], document.digest,
        targets(document), (table.id, table.title, table.unit), warnings, document,
    )  # fmt: skip


def _one_drive(documents: Sequence[PtsDocument]) -> None:
    """Refuse documents of different drives."""
    models = {
        one.header.target.device.model: one.name
        for one in documents
        if one.header.target.device.model
    }
    if len(models) > 1:
        told = ", ".join(f"{name} is of `{model}`" for model, name in models.items())
        raise ResultError(f"two different drives: {told}; accepted: tables of one drive")


def _once(found: Sequence[Target]) -> list[Target]:
    """Return each figure once, repeated ones by their mean.

    Raises:
        ResultError: for two that are too far apart to be of one drive.
    """
    known: dict[tuple[Load | None, str], list[Target]] = {}
    for one in found:
        known.setdefault((one.load, one.column), []).append(one)
    for (_, column), alike in known.items():
        low, high = (pick(alike, key=lambda one: one.value) for pick in (min, max))
        if high.value > (1 + REPEATED) * low.value:
            raise ResultError(
                f"two different drives? {column} of the cell {low.row} is {low.value:g} in "
                f"{low.where} and {high.value:g} in {high.where}; accepted: repeated figures "
                f"within {100 * REPEATED:g} %"
            )
    return [
        Target(one.row, one.column, one.block_bytes, one.read_pct,
               math.fsum(it.value for it in alike) / len(alike), one.weight, one.load, one.where)
        for alike in known.values()
        for one in alike[:1]
    ]  # fmt: skip


Figure = tuple[Load, str, float, str]
# Columns of tables of `pts`, their figures here, and factors.
COLUMNS: Mapping[str, tuple[str, float]] = {
    "MB/s": ("mb_s", 1.0),
    "steady MB/s": ("mb_s", 1.0),
    "first minute MB/s": ("mb_s", 1.0),
    "WAF": ("waf", 1.0),
    "achieved": ("mb_s", SMALL * 1e-6),
    **{
        f"{side} {share} %, ms": (f"{side[0]}{share}", 1e3)
        for side in ("read", "write")
        for share in ("50", "99", "99.9")
    },
}
FIRST_COLUMN, STEADY_COLUMN, ACHIEVED = "first minute MB/s", "steady", "achieved"
PROBE_COLUMN = "probe, requests/s"


def _of_document(document: PtsDocument, warnings: list[str], *, force: bool) -> Iterator[Figure]:
    head = document.header
    if document.test in COMPARED:
        yield from _of_sizes(document, warnings)
        return
    table = next((one for one in document.tables if one.id == document.test), None)
    if document.test not in NAMES or table is None:
        raise ResultError(
            f"{document.name}: no common cell: it is of the test `{document.test}`; accepted: "
            f"documents of {', '.join([*COMPARED, *NAMES])}"
        )
    depth = (head.threads or 4) * (head.queue_depth or 128)
    probe = float(getattr(document.results, "probe_per_s", PROBE_PER_S))
    for row, values in zip(table.rows, table.values, strict=True):
        cells = dict(zip(table.columns, values, strict=True))
        if cells.get(STEADY_COLUMN) == "NO":
            left = "" if force else ": left out (--force takes it)"
            warnings.append(f"{document.name}: {row} was not steady when it was measured{left}")
            if not force:
                continue
        load = _load(document.test, row, cells, depth, document.name, probe)
        for column, value in cells.items():
            figure, factor = COLUMNS.get(column, ("", 0.0))
            if not figure or isinstance(value, str) or value is None or not value > 0:
                continue
            one = Load(FIRST_MINUTE, queue_depth=depth) if column == FIRST_COLUMN else load
            found = float(value)
            if column == ACHIEVED and isinstance(requests := cells.get(PROBE_COLUMN), float):
                found += requests / 2
            yield one, figure, found * factor, document.name


def _load(  # noqa: PLR0913, PLR0917 (a row, and what its document says)
    test: str,
    row: str,
    cells: Mapping[str, float | str | None],
    depth: int,
    name: str,
    probe: float,
) -> Load:
    """Return the cell of a row."""
    try:
        if test == "skew":
            return Load(pattern_of(row), queue_depth=depth)
        if test == "fill":
            return Load("uniform", share=float(row.rstrip(" %")) / 100, queue_depth=depth)
        if test == "zones":
            count, _, mib, _ = row.split()
            size = round(float(mib) * MIB)
            return Load(ZONES, zone_bytes=size, open=int(count), block_bytes=LARGE, queue_depth=1)
        slow = cells.get("write 50 %, ms")
        is_slow = isinstance(slow, float) and slow * 1e3 > SATURATED_US
        # `pts load` counts the writes of its probe apart.
        rate = float(row) + (probe / 2 if PROBE_COLUMN in cells else 0)
        return Load(LOAD, rate=rate, probe=probe, queue_depth=LOAD_DEPTH, is_saturated=is_slow)
    except ValueError:
        raise ResultError(f"{name}: the row `{row[:40]}` is not a cell of {test}") from None


def _of_sizes(document: PtsDocument, warnings: list[str]) -> Iterator[Figure]:
    """Yield cells of a standard test: a rate of requests, or of bytes."""
    head = document.header
    if document.test == "latency":
        raise ResultError(
            f"{document.name}: mean response times cannot be combined with these tables"
        )
    is_sequential = document.test == "throughput"
    usual = LOADS[document.test][head.profile if head.profile in CACHES else PROFILE]
    threads, each = head.threads or usual[0], head.queue_depth or usual[1]
    if head.threads is None or head.queue_depth is None:
        text = f"threads and queue depth are assumed: {threads} and {each}"
        warnings.append(f"{document.name}: {text}")
    depth = threads * each
    for one in targets(document):
        load = Load(
            SEQUENTIAL if is_sequential and one.read_pct == 0 else "uniform",
            block_bytes=one.block_bytes, queue_depth=depth, read_pct=one.read_pct,
        )  # fmt: skip
        factor = 1.0 if is_sequential else one.block_bytes * 1e-6
        yield load, "mb_s", one.value * factor, document.name


def _of_file(path: Path, capacity_bytes: int, warnings: list[str]) -> Iterator[Figure]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ResultError(f"{path.name}: {error}; accepted: CSV in UTF-8") from None
    yield from _of_csv(text, path.name, capacity_bytes, warnings)


def _of_csv(text: str, name: str, capacity_bytes: int, warnings: list[str]) -> Iterator[Figure]:
    try:
        rows = list(csv.reader(io.StringIO(text)))
    except csv.Error as error:
        raise ResultError(f"{name}: {error}; accepted: CSV in UTF-8") from None
    heads = [word.strip() for word in rows[0]]
    unknown = [word for word in heads if word not in {*CONDITIONS, *FIGURES}]
    if unknown or len(set(heads)) < len(heads):
        bad = unknown[0] if unknown else next(one for one in heads if heads.count(one) > 1)
        why = "unknown" if unknown else "given twice"
        raise ResultError(f"{name}:1: the column `{bad[:40]}` is {why}; accepted: {HEAD}")
    cells: list[tuple[dict[str, str], str]] = []
    for number, row in enumerate(rows[1:], start=2):
        if not any(word.strip() for word in row):
            continue
        where = f"{name}:{number}"
        if len(row) != len(heads):
            raise ResultError(f"{where}: {len(row)} fields; accepted: {len(heads)}, as in the head")
        words = {head: word.strip() for head, word in zip(heads, row, strict=True) if word.strip()}
        cells.append((words, where))
    if not cells:
        raise ResultError(f"{name}: no cell; accepted: a row for each")
    capacity = _capacity([words for words, _ in cells], capacity_bytes, name, warnings)
    for words, where in cells:
        found = {head: _number(words[head], head, where) for head in FIGURES if head in words}
        if not found:
            raise ResultError(f"{where}: a row without a figure; accepted: one or more")
        load = _of_row(words, found, capacity, where)
        yield from ((load, head, value, where) for head, value in found.items())


def _capacity(
    cells: Sequence[Mapping[str, str]], capacity_bytes: int, name: str, warnings: list[str]
) -> float:
    """Return the capacity of the measured drive: its largest region, if each cell has one."""
    regions = [_number(words[REGION], REGION, name) for words in cells if REGION in words]
    if len(regions) < len(cells):
        return capacity_bytes
    if abs(max(regions) / capacity_bytes - 1) > LARGER:
        warnings.append(
            f"{name}: the largest region has {max(regions):.0f} bytes and the device "
            f"{capacity_bytes}: regions are taken as shares of the former"
        )
    return max(regions)


def _number(word: str, head: str, where: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value <= 0:
        raise ResultError(f"{where}: {head} is `{word[:40]}`; accepted: a number above 0, or empty")
    return value


def _of_row(
    words: Mapping[str, str], found: Mapping[str, float], capacity_bytes: float, where: str
) -> Load:
    """Return the cell of a row of a CSV."""
    try:
        pattern = pattern_of(words.get("pattern", ""))
    except ValueError as error:
        raise ResultError(f"{where}: {error}") from None
    given = {head: _number(words[head], head, where) for head in CONDITIONS[1:] if head in words}
    needed = {ZONES: ("zone_bytes",), LOAD: ("rate",)}.get(pattern, ())
    for head in ("zone_bytes", "open", "rate"):
        allowed = {"zone_bytes": ZONES, "open": ZONES, "rate": LOAD}[head]
        if (head in needed and head not in given) or (head in given and pattern != allowed):
            what = "is missing" if head in needed else f"is of {allowed} only"
            raise ResultError(f"{where}: {head} {what}; accepted: {allowed} cells with it")
    if pattern == LOAD and given["rate"] <= PROBE_PER_S / 2:
        raise ResultError(
            f"{where}: rate is {given['rate']:g}; accepted: above {PROBE_PER_S / 2:g}, the writes "
            "of the probe"
        )
    share = given.get(REGION, capacity_bytes) / capacity_bytes
    if share > 1 + LARGER:
        raise ResultError(
            f"{where}: region_bytes is {given['region_bytes']:.0f} and the device has "
            f"{capacity_bytes:.0f}: another drive?; accepted: at most that"
        )
    is_large = pattern in {SEQUENTIAL, ZONES}
    usual = 1 if is_large else LOAD_DEPTH if pattern == LOAD else 512
    return Load(
        pattern,
        share=1.0 if share > 1 - LARGER else share,
        zone_bytes=round(given["zone_bytes"]) if "zone_bytes" in given else None,
        open=round(given.get("open", 1)),
        rate=given.get("rate"),
        block_bytes=round(given.get("block_size_bytes", LARGE if is_large else SMALL)),
        queue_depth=round(given.get("queue_depth", usual)),
        is_saturated=pattern == LOAD and found.get("w50", 0.0) > SATURATED_US,
    )
