"""Documents of the standard tests as they come from disk: whole, older, damaged or cut off.

```text
bytes ──► salvage ──► mapping ──► Measured { header, phases, cells, steady, … }, and what is missing
```
Everything that a view touches has been checked here: a number is a finite float or None, a row has
all its columns, a list is a list. What cannot be used is left out and named in `missing`, so that
views draw what is there and never stumble over what is not.
"""

from __future__ import annotations

import errno
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from opennandlab.canonical import digest
from opennandlab.errors import ResultError
from opennandlab.files import read_bytes
from opennandlab.reports.pts.salvage import salvage
from opennandlab.stats.histogram import Histogram

SCHEMA = "opennandlab.pts/1"
SUITE_SCHEMA = "opennandlab.suite/1"
# Larger files are no documents of a test; reading one would take all memory.
BYTES_MAX = 512 << 20
# Sections that every document has; `samples` and `histograms` only where a test keeps them.
SECTIONS = ("header", "phases", "cells", "steady_state", "results", "tables")
HEADER_KEYS = (
    "pts_version", "profile", "conformance", "deviations", "target", "time_base", "seed", "cache",
    "data", "active_range", "threads", "queue_depth", "purge", "wipc",
)  # fmt: skip
# Of these, null is an answer: the test has none, or sets it itself.
NULLABLE = {"wipc", "threads", "queue_depth"}
# Tests that last for a time or measure a grid once, and so have no steady state to reach.
WITHOUT_STEADY_STATE = {"xsr", "independence", "consistency"}


@dataclass(frozen=True)
class Phase:
    """A stretch of a test, in the target's time."""

    name: str
    round: int | None
    start_s: float | None
    end_s: float | None
    written_bytes: float | None


@dataclass(frozen=True)
class CellRow:
    """One measured cell; every number is None where it is unknown."""

    phase: str
    round: int | None
    label: str
    rw_pct: float | None = None
    block_bytes: float | None = None
    threads: float | None = None
    queue_depth: float | None = None
    start_s: float | None = None
    seconds: float | None = None
    ios: float | None = None
    iops: float | None = None
    read_iops: float | None = None
    write_iops: float | None = None
    mb_s: float | None = None
    read_mb_s: float | None = None
    write_mb_s: float | None = None
    lat_us_mean: float | None = None
    lat_us_p50: float | None = None
    lat_us_p99: float | None = None
    lat_us_p999: float | None = None
    lat_us_p9999: float | None = None
    lat_us_p99999: float | None = None
    lat_us_max: float | None = None
    written_bytes: float | None = None
    waf: float | None = None
    cpu_pct: float | None = None

    @property
    def outstanding(self) -> float | None:
        """Requests outstanding in all threads together (OIO)."""
        if self.threads is None or self.queue_depth is None:
            return None
        return self.threads * self.queue_depth

    @property
    def end_s(self) -> float | None:
        """Its end in the target's time."""
        return None if self.start_s is None else self.start_s + (self.seconds or 0.0)

    def get(self, metric: str) -> float | None:
        """Return a number by its name; None for a name that is unknown."""
        value = getattr(self, metric, None)
        return value if isinstance(value, float) else None


NUMBERS = tuple(
    field.name for field in fields(CellRow) if field.name not in {"phase", "round", "label"}
)


@dataclass(frozen=True)
class Sample:
    """A piece of a cell, of fixed length in time."""

    phase: str
    end_s: float | None
    iops: float | None
    mb_s: float | None
    lat_us_mean: float | None
    lat_us_max: float | None
    written_bytes: float | None


@dataclass(frozen=True)
class Steady:
    """One tracking variable and what the rule said of it."""

    label: str
    group: str
    metric: str
    rw_pct: float | None
    block_bytes: float | None
    attained: bool | None
    round: int | None
    rounds: int | None
    window: tuple[int, ...]
    values: tuple[float, ...]
    by_round: tuple[tuple[int, float], ...]
    numbers: dict[str, float | None]
    reason: str

    @property
    def usable(self) -> bool:
        """Whether the window can be drawn."""
        return len(self.values) > 0 and len(self.values) == len(self.window)


@dataclass(frozen=True)
class Block:
    """A table as the test made it: one number for each row and column."""

    id: str
    title: str
    unit: str
    row_label: str
    column_label: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | str | None, ...], ...]


@dataclass(frozen=True)
class Spread:
    """Response times of one operating point."""

    id: str
    title: str
    histogram: Histogram


@dataclass(frozen=True)
class Measured:
    """A document of a test, checked part by part."""

    name: str
    test: str
    title: str
    header: dict[str, Any]
    tool: dict[str, Any]
    run: dict[str, Any]
    created: str
    digest: str
    phases: tuple[Phase, ...]
    cells: tuple[CellRow, ...]
    steady: tuple[Steady, ...]
    results: dict[str, Any]
    blocks: tuple[Block, ...]
    samples: tuple[Sample, ...]
    spreads: tuple[Spread, ...]
    warnings: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def attained(self) -> bool | None:
        """Whether every tracking variable was steady; None where nothing was tracked."""
        return all(one.attained is True for one in self.steady) if self.steady else None

    @property
    def capacity_bytes(self) -> float | None:
        """What the host can address."""
        return as_number(as_dict(self.target.get("device")).get("capacity_bytes"))

    @property
    def target(self) -> dict[str, Any]:
        """What was measured."""
        return as_dict(self.header.get("target"))

    def in_phase(self, *names: str) -> tuple[CellRow, ...]:
        """Return the cells of phases of these names."""
        return tuple(cell for cell in self.cells if cell.phase in names)

    def block(self, name: str) -> Block | None:
        """Return a table by its id."""
        return next((block for block in self.blocks if block.id == name), None)


def load(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Read a JSON document, mending one that was cut off.

    Args:
        path: The file.

    Returns:
        The document, and what was wrong with the file; nothing for a whole one.

    Raises:
        ResultError: when nothing can be made of it, and why.
    """
    try:
        raw = read_bytes(path, BYTES_MAX)
    except OSError as error:
        hint = ": this is not a document of a test" if error.errno == errno.EFBIG else ""
        raise ResultError(f"{path}: {error.strerror or error}{hint}") from error
    if not raw.strip():
        raise ResultError(f"{path}: empty")
    document, complaints = salvage(raw)
    if b"\\ud" in raw.lower():
        document = _printable(document)
    if not isinstance(document, dict):
        why = f" ({complaints[0]})" if complaints else ""
        raise ResultError(f"{path}: no JSON document of a test{why}")
    return document, complaints


def _printable(value: Any) -> Any:  # noqa: ANN401 (as varied as JSON)
    """Replace halves of surrogate pairs: JSON can hold them, no page and no terminal can."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_printable(key): _printable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_printable(inner) for inner in value]
    return value


def family(document: dict[str, Any]) -> str:
    """Return what a document is: `pts`, `suite`, `result`, another of ours, or empty."""
    schema = document.get("schema")
    if isinstance(schema, str):
        return schema.partition("/")[0].removeprefix("opennandlab.") if _is_ours(schema) else ""
    # The beginning may be lost: a table of cells is what only a test has.
    cells = as_dict(document.get("cells"))
    if isinstance(cells.get("rows"), list) and isinstance(cells.get("columns"), list):
        return "pts"
    return "pts" if isinstance(document.get("steady_state"), list) else ""


def _is_ours(schema: str) -> bool:
    return schema.startswith("opennandlab.") and "/" in schema


def read(document: dict[str, Any], name: str, complaints: list[str] | None = None) -> Measured:
    """Check a document part by part.

    Args:
        document: As in the file.
        name: What to call it where it has no name.
        complaints: What was wrong with the file.
    """
    missing = list(complaints or [])
    missing += _wrong_schema(document)
    absent = [key for key in SECTIONS if key not in document and not _may_lack(document, key)]
    if absent:
        missing.append(f"the document has no {_listed(absent)}")
    if not complaints:
        missing += _wrong_digest(document)
    if document.get("partial") is True:
        missing.append("the run was interrupted: what it had not measured by then is not there")
    header = _mapping(document, "header", missing)
    if header:
        lacks = [
            key
            for key in HEADER_KEYS
            if key not in header or (header[key] is None and key not in NULLABLE)
        ]
        if lacks:
            missing.append(f"the header does not say: {_listed(lacks)}")
    phases = _phases(document, missing)
    test = as_text(document.get("test"))
    if not test:
        missing.append("the document does not say which test it is")
    title = as_text(document.get("title")) or test.upper() or "Unknown test"
    return Measured(
        name=as_text(document.get("name")) or name,
        test=test,
        title=title,
        header=header,
        tool=as_dict(document.get("tool")),
        run=as_dict(document.get("run")),
        created=as_text(document.get("created")),
        digest=as_text(document.get("digest")),
        phases=phases,
        cells=_cells(document, phases, missing),
        steady=_steady_states(document, missing),
        results=_mapping(document, "results", missing),
        blocks=tuple(_blocks(document, missing)),
        samples=_samples(document, phases, missing),
        spreads=tuple(_spreads(document, missing)),
        warnings=tuple(as_text(text) for text in as_list(document.get("warnings")) if text),
        missing=tuple(missing),
    )


def _may_lack(document: dict[str, Any], key: str) -> bool:
    return key == "steady_state" and document.get("test") in WITHOUT_STEADY_STATE


def _wrong_schema(document: dict[str, Any]) -> Iterator[str]:
    schema = document.get("schema")
    if schema is None:
        yield f"the document does not name its schema; it is read as {SCHEMA}"
    elif schema != SCHEMA:
        yield f"written as `{schema}`; this build reads {SCHEMA}: what it does not know is left out"


def _wrong_digest(document: dict[str, Any]) -> Iterator[str]:
    stated = document.get("digest")
    if stated is None:
        yield "the document has no digest: whether it was changed cannot be told"
        return
    try:
        found = digest(document)
    except (ValueError, TypeError, RecursionError):
        found = ""
    if stated != found:
        yield "the content does not match its digest: it was edited or damaged"


def _mapping(document: dict[str, Any], key: str, missing: list[str]) -> dict[str, Any]:
    value = document.get(key)
    if key in document and not isinstance(value, dict):
        missing.append(f"`{key}` is not a mapping")
    return as_dict(value)


def _list(document: dict[str, Any], key: str, missing: list[str]) -> list[Any]:
    value = document.get(key)
    if key in document and not isinstance(value, list):
        missing.append(f"`{key}` is not a list")
    return value if isinstance(value, list) else []


def _rows(document: dict[str, Any], key: str, missing: list[str]) -> list[dict[str, Any]]:
    """Return the rows of a columnar part as mappings."""
    part = document.get(key)
    if part is None:
        return []
    columns, rows = as_dict(part).get("columns"), as_dict(part).get("rows")
    if not isinstance(columns, list) or not isinstance(rows, list):
        missing.append(f"`{key}` has no columns or no rows")
        return []
    names = [column if isinstance(column, str) else "" for column in columns]
    whole = [
        dict(zip(names, row, strict=True))
        for row in rows
        if isinstance(row, list) and len(row) == len(names)
    ]
    if len(whole) < len(rows):
        missing.append(f"`{key}`: {len(rows) - len(whole)} of {len(rows)} rows are not whole")
    return whole


def _phases(document: dict[str, Any], missing: list[str]) -> tuple[Phase, ...]:
    rows = _list(document, "phases", missing)
    found = tuple(
        Phase(
            name=as_text(row.get("name")),
            round=as_count(row.get("round")),
            start_s=as_number(row.get("start_s")),
            end_s=as_number(row.get("end_s")),
            written_bytes=as_number(row.get("written_bytes")),
        )
        for row in map(as_dict, rows)
    )
    unnamed = sum(not phase.name for phase in found)
    if unnamed:
        missing.append(f"`phases`: {unnamed} of {len(found)} have no name")
    return found


def _phase_name(value: object, phases: tuple[Phase, ...]) -> str:
    """Return the name of a phase that a row gives by name or by place."""
    place = as_count(value)
    if place is not None and 0 <= place < len(phases):
        return phases[place].name
    return as_text(value)


def _cells(
    document: dict[str, Any], phases: tuple[Phase, ...], missing: list[str]
) -> tuple[CellRow, ...]:
    rows = _rows(document, "cells", missing)
    wanted = [
        name for name in ("phase", "round", "label", *NUMBERS) if rows and name not in rows[0]
    ]
    if wanted:
        missing.append(f"`cells` has no column {_listed(wanted)}")
    return tuple(
        CellRow(
            phase=_phase_name(row.get("phase"), phases),
            round=as_count(row.get("round")),
            label=as_text(row.get("label")),
            **{name: as_number(row.get(name)) for name in NUMBERS},
        )
        for row in rows
    )


def _samples(
    document: dict[str, Any], phases: tuple[Phase, ...], missing: list[str]
) -> tuple[Sample, ...]:
    names = [field.name for field in fields(Sample) if field.name != "phase"]
    return tuple(
        Sample(
            phase=_phase_name(row.get("phase"), phases),
            **{name: as_number(row.get(name)) for name in names},
        )
        for row in _rows(document, "samples", missing)
    )


def _steady_states(document: dict[str, Any], missing: list[str]) -> tuple[Steady, ...]:
    found = []
    for place, entry in enumerate(_list(document, "steady_state", missing)):
        if not isinstance(entry, dict):
            missing.append(f"`steady_state[{place}]` is not a mapping")
            continue
        steady = _steady(entry)
        if not steady.usable:
            missing.append(
                f"steady state of {steady.label or f'variable {place + 1}'}: "
                "no window with its values"
            )
        found.append(steady)
    return tuple(found)


STEADY_NUMBERS = (
    "average", "excursion", "excursion_allowed", "slope", "intercept", "slope_excursion",
    "slope_allowed",
)  # fmt: skip


def _steady(entry: dict[str, Any]) -> Steady:
    tracking = as_dict(entry.get("tracking"))
    # Where several variables are tracked, `attained` is said of all and `steady` of this one.
    attained = entry.get("steady", entry.get("attained"))
    values = [as_number(value) for value in as_list(entry.get("values"))]
    window = [as_count(value) for value in as_list(entry.get("window"))]
    pairs = [pair for pair in as_list(entry.get("values_by_round")) if isinstance(pair, list)]
    rounds = [(as_count(pair[0]), as_number(pair[1])) for pair in pairs if len(pair) == 2]
    return Steady(
        label=as_text(tracking.get("label")),
        group=as_text(entry.get("group")),
        metric=as_text(tracking.get("metric")),
        rw_pct=as_number(tracking.get("rw_pct")),
        block_bytes=as_number(tracking.get("block_bytes")),
        attained=attained if isinstance(attained, bool) else None,
        round=as_count(entry.get("round")),
        rounds=as_count(entry.get("rounds")),
        window=tuple(value for value in window if value is not None),
        values=tuple(value for value in values if value is not None),
        by_round=tuple((r, v) for r, v in rounds if r is not None and v is not None),
        numbers={name: as_number(entry.get(name)) for name in STEADY_NUMBERS},
        reason=as_text(entry.get("reason")),
    )


def _blocks(document: dict[str, Any], missing: list[str]) -> Iterator[Block]:
    for place, entry in enumerate(_list(document, "tables", missing)):
        part = as_dict(entry)
        rows = tuple(as_text(name) for name in as_list(part.get("rows")))
        columns = tuple(as_text(name) for name in as_list(part.get("columns")))
        values = [row for row in as_list(part.get("values")) if isinstance(row, list)]
        title = as_text(part.get("title"))
        if not rows or not columns or len(values) != len(rows):
            missing.append(f"table {title or place + 1}: not whole, left out")
            continue
        if any(len(row) != len(columns) for row in values):
            missing.append(f"table {title or place + 1}: rows of different length")
        yield Block(
            id=as_text(part.get("id")) or f"table-{place + 1}",
            title=title or f"Table {place + 1}",
            unit=as_text(part.get("unit")),
            row_label=as_text(part.get("row_label")),
            column_label=as_text(part.get("column_label")),
            rows=rows,
            columns=columns,
            values=tuple(
                tuple(
                    _table_value(row[at]) if at < len(row) else None for at in range(len(columns))
                )
                for row in values
            ),
        )


def _table_value(value: object) -> float | str | None:
    return value if isinstance(value, str) else as_number(value)


def _spreads(document: dict[str, Any], missing: list[str]) -> Iterator[Spread]:
    for place, entry in enumerate(_list(document, "histograms", missing)):
        part = as_dict(entry)
        title = as_text(part.get("title")) or f"Histogram {place + 1}"
        ns = [as_count(value) for value in as_list(part.get("ns"))]
        counts = [as_count(value) for value in as_list(part.get("counts"))]
        bins = [
            (value, count)
            for value, count in zip(ns, counts, strict=False)
            if value is not None and count is not None and value >= 0 and count > 0
        ]
        if len(ns) != len(counts) or len(bins) < sum(count != 0 for count in counts) or not bins:
            missing.append(f"histogram {title}: bins are missing or not numbers")
        if bins:
            total, top = as_number(part.get("sum_ns")), as_count(part.get("max_ns"))
            histogram = Histogram.of_bins(bins, total, top)
            yield Spread(as_text(part.get("id")) or f"histogram-{place + 1}", title, histogram)


def as_number(value: object) -> float | None:
    """Return a finite float, or None for everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def as_count(value: object) -> int | None:
    """Return a whole number of at most 63 bits, or None for everything else."""
    number = as_number(value)
    if number is None or abs(number) >= 2**63 or number != int(number):
        return None
    return int(number)


def as_text(value: object) -> str:
    """Return text, or nothing for everything else."""
    return value if isinstance(value, str) else ""


def as_dict(value: object) -> dict[str, Any]:
    """Return a mapping, or an empty one for everything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return a list, or an empty one for everything else."""
    return value if isinstance(value, list) else []


def plain(value: object) -> str:
    """Write any JSON value on one line, for a table."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _listed(names: list[str]) -> str:
    return ", ".join(names)
