"""The document of a test: everything that was measured, from which every report is drawn.

Its schema is `opennandlab.pts/1`. Two documents of a simulated drive with equal settings are equal
byte by byte, so what belongs to one machine and moment is left out of them and stands in `run.json`
next to them. Documents of real drives carry it themselves.
"""

from __future__ import annotations

import datetime as dt
import math
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from msgspec import structs

from opennandlab import _core
from opennandlab.base.canonical import digest, readable_json
from opennandlab.base.errors import DocumentError, InternalError, ResultError
from opennandlab.base.files import write_atomically
from opennandlab.base.threads import cores
from opennandlab.core.tested import to_bytes
from opennandlab.documents import pts, pts_header
from opennandlab.documents.pts import SCHEMA, PtsDocument
from opennandlab.documents.pts_base import Results
from opennandlab.documents.record import plain
from opennandlab.documents.saved import read_document, read_moments
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.journal import settings_sha256_of
from opennandlab.pts.bench.plan import WIPC_CAPACITIES, Plan
from opennandlab.pts.bench.record import COLUMNS, Cell
from opennandlab.pts.bench.watts import power_tables
from opennandlab.stats.histogram import Histogram

Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Remarks:
    """What is said of a run by hand; no figure depends on it.

    Args:
        operator: Who runs it.
        notes: Sentences for the report.
        model: Model of the device.
        overrides: Keys of a simulated device that were changed, by dotted path.
    """

    operator: str | None = None
    notes: tuple[str, ...] = ()
    model: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)


def table(  # noqa: PLR0913 (all by name)
    name: str,
    title: str,
    unit: str,
    *,
    row_label: str,
    column_label: str = "",
    rows: list[str],
    columns: list[str],
    values: Sequence[Sequence[float | str | None]],
    low: Sequence[Sequence[float | None]] | None = None,
    high: Sequence[Sequence[float | None]] | None = None,
) -> pts.Table:
    """Return a table of the document."""
    return pts.Table(
        id=name,
        title=title,
        unit=unit,
        row_label=row_label,
        column_label=column_label,
        rows=rows,
        columns=columns,
        values=[list(row) for row in values],
        low=None if low is None else [list(row) for row in low],
        high=None if high is None else [list(row) for row in high],
    )


def listing(  # noqa: PLR0913, PLR0917 (a table has these parts)
    name: str,
    title: str,
    unit: str,
    row_label: str,
    things: Mapping[str, Thing],
    columns: Mapping[str, str | Callable[[Thing], float | str | None]],
) -> pts.Table:
    """Return a table with a row for each thing; a column is an attribute or a function of it."""
    return table(
        name,
        title,
        unit,
        row_label=row_label,
        rows=list(things),
        columns=list(columns),
        values=[
            [getattr(thing, of) if isinstance(of, str) else of(thing) for of in columns.values()]
            for thing in things.values()
        ],
    )


def histogram(
    name: str, title: str, latency: Histogram, *, iops: float | None = None
) -> pts.Histogram:
    """Return a histogram of the document, with the percentiles that its count supports."""
    return pts.Histogram(
        id=name,
        title=title,
        count=latency.count,
        **latency.to_dict(),
        latency_us=pts.Percentiles(**latency.percentiles_us()),
        iops=iops,
    )


def samples_of(cells: list[Cell]) -> pts.Samples | None:
    """Return the pieces in time of cells that were sampled; None without any."""
    rows = []
    for cell in cells:
        start_s, written = cell.start_s, cell.written_bytes - cell.measurement.written_bytes
        before = 0.0
        share = cell.stimulus.read_pct / 100
        for sample in cell.measurement.samples:
            seconds = sample.end_s - before
            before = sample.end_s
            # Samples count requests of both kinds: what was written follows from the mix.
            written += round(sample.bytes * (1 - share))
            rows.append(
                pts.Sample(
                    phase=cell.phase,
                    end_s=start_s + sample.end_s,
                    iops=sample.ios / seconds if seconds > 0 else None,
                    mb_s=sample.bytes * 1e-6 / seconds if seconds > 0 else None,
                    lat_us_mean=sample.latency_us_mean,
                    lat_us_max=sample.latency_us_max,
                    written_bytes=written,
                )
            )
    return pts.Samples(columns=list(pts.Sample.__struct_fields__), rows=rows) if rows else None


def build(
    bench: Bench, found: Findings | None, *, name: str, interrupted: bool = False
) -> PtsDocument:
    """Return the document of a test.

    Args:
        bench: The bench with its record.
        found: What the procedure returned; None for a run that was cut.
        name: Name of the run.
        interrupted: Whether a real drive was measured in more than one go.

    Raises:
        InternalError: when something in it is not as declared.
    """
    record, plan = bench.record, bench.plan
    is_partial = found is None
    found = found or record.so_far
    phases = _phases(bench)
    cells = [cell.row() for cell in record.cells]
    document = PtsDocument(
        schema=SCHEMA,
        test=plan.test.name,
        title=plan.test.title_of(plan.pts_version),
        name=name,
        header=_header(bench, interrupted=interrupted),
        phases=phases,
        cells=pts.Cells(columns=list(COLUMNS), rows=cells),
        steady_state=[entry for entries in record.steady.values() for entry in entries],
        results=found.results if found else Results(),
        tables=[*(found.tables if found else []), *power_tables(phases, cells)],
        histograms=found.histograms if found else [],
        warnings=_warnings(bench),
        partial=is_partial,
        samples=samples_of(record.cells),
        digest="",
    )
    document = _checked(document)
    document = structs.replace(document, digest=digest(pts.to_json(document)))
    if plan.time.is_virtual:
        return document
    began_s = None if interrupted else round(bench.began_s, 3)
    now = moment(bench.progress.elapsed_s, began_s)
    return structs.replace(document, tool=now.tool, created=now.created, run=now.run)


def _phases(bench: Bench) -> list[pts.Phase]:
    return [
        pts.Phase(
            name=phase.name,
            index=index,
            round=phase.round,
            start_s=phase.start_s,
            end_s=bench.clock_s if phase.end_s is None else phase.end_s,
            written_bytes=phase.written_bytes,
            group=phase.group or None,
        )
        for index, phase in enumerate(bench.record.phases)
    ]


def _checked(document: PtsDocument) -> PtsDocument:
    """Return a document as a reader gets it: as declared, with null for NaN and infinities."""
    try:
        return pts.from_json(finite(pts.to_json(document)))
    except DocumentError as error:
        raise InternalError(f"the document of `{document.test}` is not as declared: {error}") from (
            error
        )


def moment(wall_s: float, began_s: float | None = None) -> pts.Moment:
    """Return what belongs to this machine and moment."""
    now = dt.datetime.now(dt.timezone.utc)
    return pts.Moment(
        tool=tool(),
        created=now.isoformat(timespec="seconds").replace("+00:00", "Z"),
        run=pts.RunFacts(wall_s=round(wall_s, 3), began_s=began_s),
    )


def tool() -> pts.Tool:
    """Return the program that made a document."""
    return pts.Tool(
        version=_core.version(),
        commit=_core.commit(),
        dirty=_core.dirty(),
        python=platform.python_version(),
        os=f"{platform.system()} {platform.release()}",
        cpu=platform.machine(),
        cpus=cores(),
    )


def save(document: PtsDocument, folder: Path) -> Path:
    """Write a document into the output directory of its run: all of it, or nothing.

    Raises:
        OutputError: with the reason.
    """
    path = folder / f"{document.name}.json"
    write_atomically(path, to_bytes(document))
    return path


def load_finished(folder: Path, name: str, settings_sha256: str) -> PtsDocument | None:
    """Return the document of a run with these settings that is done; None when it is not."""
    try:
        if settings_sha256_of(folder / f"{name}.journal.jsonl") != settings_sha256:
            return None
        raw = read_document(folder / f"{name}.json", [pts.SCHEMA])
        if raw.get("digest") != digest(raw):
            return None
        document, _ = pts.from_file(raw)
    except (OSError, ValueError, RecursionError, ResultError):
        return None
    return None if document.partial else document


def save_run(folder: Path, name: str, wall_s: float) -> None:
    """Add a line about this machine and moment to `run.json`."""
    path = folder / "run.json"
    runs = read_moments(path)
    before = runs.get(name)
    kept = {
        key: before[key]
        for key in ("operator", "notes", "model")
        if isinstance(before, dict) and key in before
    }
    runs[name] = {**plain(moment(wall_s)), **kept}
    write_atomically(path, (readable_json(runs) + "\n").encode())


def add_remarks(folder: Path, document: PtsDocument, remarks: Remarks) -> None:
    """Add to `run.json` which document a run made, and what was said of it by hand.

    What is not said again stays: a run that goes on keeps the notes of its beginning.
    """
    path = folder / "run.json"
    runs = read_moments(path)
    entry = runs.get(document.name)
    if not isinstance(entry, dict):
        return
    given = {
        "operator": remarks.operator,
        "notes": list(remarks.notes) or None,
        "model": remarks.model,
        "overrides": dict(remarks.overrides),
    }
    runs[document.name] = {
        **entry,
        "digest": document.digest,
        **{key: value for key, value in given.items() if value is not None},
    }
    write_atomically(path, (readable_json(runs) + "\n").encode())


def finite(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    """Return JSON in which what is not a number is null.

    >>> finite({"a": [1.0, float("nan")]})
    {'a': [1.0, None]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def conformance(bench: Bench) -> str:
    """Return `partial` when a step was left out, `scaled` when one was shortened, or `full`.

    A setting that the specification fixes and the user changed is a step of another test.
    """
    record, plan = bench.record, bench.plan
    left_out = (
        record.purge is None
        or not record.purge.is_purge
        or record.cache == "unknown"
        or bool(record.cells_left_out)
        or plan.is_own_matrix
        or plan.has_other_fixed
        or (plan.test.wipc and plan.wipc_capacities == 0)
    )
    if left_out:
        return "partial"
    is_full = plan.time.name == "full" and not plan.time.noted and not _is_cut_by_options(plan)
    return "full" if is_full else "scaled"


def _is_cut_by_options(plan: Plan) -> bool:
    """Return whether the user asked for less writing or time than the specification has."""
    if plan.test.wipc and plan.wipc_capacities < WIPC_CAPACITIES:
        return True
    return any(
        plan.number(option.key) < float(option.default_for(plan.pts_version))
        for option in plan.test.options
        if option.is_length
    )


def _header(bench: Bench, *, interrupted: bool) -> pts_header.Header:
    plan, record = bench.plan, bench.record
    part = plan.active_range
    temperatures = record.temperatures_c
    return pts_header.Header(
        pts_version=plan.pts_version,
        profile=plan.profile,
        conformance=conformance(bench),
        deviations=[*_deviations(bench), *(["interrupted and resumed"] if interrupted else [])],
        target=bench.facts,
        time_base=plan.time.describe(),
        seed=plan.settings.seed,
        cache=pts_header.Cache(
            asked="enabled" if plan.cache_enabled else "disabled", state=record.cache
        ),
        data=plan.settings.data,
        active_range=pts_header.Range(
            share=part.share,
            amount_bytes=part.amount_bytes,
            segments=part.segments if part.amount_bytes is not None else None,
        ),
        threads=plan.threads,
        queue_depth=plan.queue_depth,
        align_bytes=None,
        purge=record.purge,
        wipc=record.wipc,
        oio_throttle=plan.settings.oio,
        options=_named(plan),
        interrupted=interrupted,
        temperature_c=[min(temperatures), max(temperatures)] if temperatures else None,
        host_path=bench.host_path(),
        power=bench.power,
        choices=list(plan.choices) or None,
        ranges_from=_ranges_from(plan),
        logs=bench.logs(),
    )


def _ranges_from(plan: Plan) -> str | None:
    """Return the source of the settings of a client test, if not the specification."""
    if plan.profile != "C" or not plan.test.client_from:
        return None
    share, cache = plan.active_range.share, "enabled" if plan.cache_enabled else "disabled"
    load = f"TC {plan.threads} / QD {plan.queue_depth}"
    return f"{plan.test.client_from}: active range {100 * share:g} %, write cache {cache}, {load}"


def _named(plan: Plan) -> dict[str, float | str]:
    """Return the options of a test; of files only the names, which other machines have too."""
    files = {option.key for option in plan.test.options if option.reader is Path}
    return {
        key: Path(str(value)).name if key in files else value for key, value in plan.options.items()
    }


def _deviations(bench: Bench) -> list[str]:
    """Return what deviates from the profile, what the target forced included."""
    plan, record = bench.plan, bench.record
    found = list(plan.deviations)
    asked = "enabled" if plan.cache_enabled else "disabled"
    if record.cache == "absent" and plan.cache_enabled:
        found.append("the drive has no volatile write cache to enable")
    elif record.cache not in {asked, "absent"}:
        found.append(f"write cache {record.cache} (asked: {asked})")
    if record.purge is not None and not record.purge.is_purge:
        found.append(f"{record.purge.method} is not a purge")
    if record.lost and plan.settings.allow_lost:
        found.append("reads that gave no data are allowed")
    found += plan.time.deviations
    # What a real target could not do as it was asked: fio states this.
    found += bench.target.deviations
    return [*found, *record.cells_left_out]


def _warnings(bench: Bench) -> list[str]:
    record = bench.record
    # The rule is the same for all values that are tracked together.
    first = [entries[0] for entries in record.steady.values() if entries]
    missed = [
        f"steady state NOT ATTAINED after {entry.rounds} round{'' if entry.rounds == 1 else 's'}"
        + (f" ({entry.group})" if entry.group else "")
        for entry in first
        if not entry.attained
    ]
    short, unused = _short(record.short), _unused(bench.plan)
    lost = _lost(record.lost, may_lose=bench.plan.settings.allow_lost)
    told = [*record.warnings, *_littles_law(record.littles_law)]
    return [*lost, *told, *bench.target.warnings, *short, *missed, *unused]


def _lost(cells: list[tuple[str, int]], *, may_lose: bool) -> list[str]:
    if not cells:
        return []
    label, most = max(cells, key=lambda one: one[1])
    count = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
    verdict = (
        "allowed by --allow-lost" if may_lose else "no steady state counts (--allow-lost lets it)"
    )
    text = (
        f"data lost: {sum(pages for _, pages in cells)} pages that were read in {count} could not "
        f"be corrected by any step of recovery, {most} of them in {label}; rates and latencies "
        f"count these reads as served; {verdict}"
    )
    return [text]


def _unused(plan: Plan) -> list[str]:
    if plan.settings.cell_seconds is None or plan.time.has_cells:
        return []
    return ["--cell-seconds changes nothing in this test: it has no cells of a minute"]


def _short(cells: list[tuple[str, int, int]]) -> list[str]:
    if not cells:
        return []
    label, ios, outstanding = min(cells, key=lambda one: one[1] / one[2])
    count = "1 cell has" if len(cells) == 1 else f"{len(cells)} cells have"
    text = (
        f"{count} counted fewer requests than were outstanding, {label} {ios} of {outstanding}: "
        "too short for such a queue, or the target too small for it"
    )
    return [text]


def _littles_law(off: list[tuple[str, float]]) -> list[str]:
    if not off:
        return []
    label, worst = max(off, key=lambda one: abs(one[1]))
    count = "1 cell" if len(off) == 1 else f"{len(off)} cells"
    text = (
        f"Little's law is off by more than 5 % in {count}, by {worst:+.1%} in {label}: too short, "
        "or the host could not keep the queue full"
    )
    return [text]
