"""A document of a standard test, made of cells that somebody else measured.

Tables are those that the test of the same name makes, so that both can be laid side by side. IOPS
and MB/s follow from each other where all requests have one size: MB/s = IOPS x bytes / 10^6. No
other figure is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from msgspec import structs

from opennandlab.base.canonical import digest
from opennandlab.base.errors import ResultError
from opennandlab.base.units import kib, mix
from opennandlab.documents import pts, pts_header
from opennandlab.documents.pts_base import Results
from opennandlab.stats.histogram import PERCENTILES, Histogram

UNKNOWN = "unknown"
TITLES = {"iops": "IOPS", "throughput": "Throughput", "latency": "Latency",
          "wsat": "Write saturation"}  # fmt: skip
# What a document of a test says of its procedure; what no origin tells is named.
PROCEDURE = (
    "version of the specification", "purge", "preconditioning", "steady state", "active range",
    "write cache", "data pattern", "time base",
)  # fmt: skip


@dataclass(frozen=True)
class Column:
    """A figure of a cell.

    Args:
        title: Of its table.
        unit: Of its table.
        factor: From the unit of cells to that of the table.
        column: Of the rows of cells.
    """

    title: str
    unit: str
    factor: float
    column: str


_MS = 1e-3
QUANTILES = ("p50", "p99", "p999", "p9999", "p99999")
# What a percentile is of: `lat` from submission to completion, `clat` from when the kernel had it.
KINDS = {"lat": "response time", "clat": "completion latency (clat)"}
# Reads and writes are separate where the percentile of both is unknown.
APART = {"": "", "_read": " of reads", "_write": " of writes"}


def _percentiles() -> dict[str, Column]:
    """Return the tables of percentiles, which all tests have."""
    return {
        f"{'clat_' if kind == 'clat' else ''}{name}{apart}": Column(
            f"{100 * PERCENTILES[name]:g} % {said}{of}", "ms", _MS, f"{kind}_us_{name}{apart}"
        )
        for kind, said in KINDS.items()
        for apart, of in APART.items()
        for name in QUANTILES
    }


# Test -> table -> figure of cells. Figures of cells are IOPS, MB/s and microseconds.
TABLES: dict[str, dict[str, Column]] = {
    "iops": {
        "iops": Column("IOPS", "IOPS", 1.0, "iops"),
        "mb_s": Column("Throughput", "MB/s", 1.0, "mb_s"),
        "art": Column("Mean response time", "µs", 1.0, "lat_us_mean"),
        **_percentiles(),
    },
    "throughput": {
        "throughput": Column("Throughput", "MB/s", 1.0, "mb_s"),
        **_percentiles(),
    },
    "latency": {
        "art": Column("Mean response time (ART)", "ms", _MS, "lat_us_mean"),
        "mrt": Column("Longest response time (MRT)", "ms", _MS, "lat_us_max"),
        **_percentiles(),
        "iops": Column("IOPS", "IOPS", 1.0, "iops"),
    },
}


@dataclass(frozen=True)
class Spread:
    """A figure of several runs.

    Args:
        count: Runs.
        mean: Their mean.
        sd: Sample standard deviation.
        half_width: Half of the 95 % interval of the mean.
        least: The least value.
        greatest: The greatest.
    """

    count: int
    mean: float
    sd: float
    half_width: float
    least: float
    greatest: float


@dataclass(frozen=True)
class Cell:
    """What was measured of one request size and mix.

    Args:
        block_bytes: Size of a request.
        read_pct: Reads in percent of the requests.
        figures: By column of the rows of cells: `iops`, `mb_s`, `lat_us_mean`, …
        rows: The whole row, of each run; none where only some figures are known.
        latency: All response times; None where they are not known.
        doubts: Why it is not, or not surely, of this size and mix; empty where it is.
        spreads: Of runs that were repeated, of which the figures are the means.
    """

    block_bytes: int
    read_pct: float
    figures: Mapping[str, float | None]
    rows: tuple[pts.Cell, ...] = ()
    latency: Histogram | None = None
    doubts: tuple[str, ...] = ()
    spreads: Mapping[str, Spread] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Its name in messages: `4 KiB 65/35`."""
        return f"{kib(self.block_bytes)} KiB {mix(self.read_pct)}"

    def figure(self, column: str) -> float | None:
        """Return a figure, computed where IOPS and MB/s follow from each other."""
        found = self.figures.get(column)
        if found is None and column == "mb_s" and self.figures.get("iops") is not None:
            return (self.figures["iops"] or 0.0) * self.block_bytes * 1e-6
        if found is None and column == "iops" and self.figures.get("mb_s") is not None:
            return (self.figures["mb_s"] or 0.0) / self.block_bytes * 1e6
        return found


@dataclass(frozen=True)
class Said:
    """What is known besides the cells, from the origin or by hand.

    Args:
        test: `iops`, `throughput` or `latency`; others where the tables are given as they are.
        name: Name of the document.
        model: Of the drive.
        capacity_bytes: Of the drive.
        threads: Threads (TC).
        queue_depth: Requests outstanding per thread (QD).
        amount_bytes: What of the drive was tested, in segments spread over it; None for all.
        segments: How many.
        profile: `E`, `C` or unknown.
        fio_version: What measured, where that was fio.
        notes: For the reader, as warnings.
    """

    test: str
    name: str
    model: str | None = None
    capacity_bytes: int | None = None
    threads: int | None = None
    queue_depth: int | None = None
    amount_bytes: int | None = None
    segments: int | None = None
    profile: str = UNKNOWN
    fio_version: str | None = None
    notes: tuple[str, ...] = field(default=())


def made(said: Said, cells: Sequence[Cell], imported: pts_header.Imported) -> pts.PtsDocument:
    """Return the document of cells.

    Args:
        said: What is known besides.
        cells: At least one, each size and mix once.
        imported: Where they come from.

    Raises:
        ResultError: for a size and mix that is given twice.
    """
    places: dict[tuple[int, float], Cell] = {}
    for cell in cells:
        if (cell.block_bytes, cell.read_pct) in places:
            raise ResultError(f"{cell.label} is given twice; accepted: each size and mix once")
        places[cell.block_bytes, cell.read_pct] = cell
    found = [(table, _grid(table, column, places)) for table, column in TABLES[said.test].items()]
    uncertain = [
        pts_header.Uncertain(row=kib(cell.block_bytes), column=mix(cell.read_pct),
                             reasons=list(cell.doubts))
        for cell in cells if cell.doubts
    ]  # fmt: skip
    doubts = [f"uncertain: {cell.label}: {'; '.join(cell.doubts)}" for cell in cells if cell.doubts]
    said = replace(said, notes=(*doubts, *said.notes))
    repeats = [
        _repeat(cell, table, column, one)
        for table, column in TABLES[said.test].items()
        for cell in cells if (one := cell.spreads.get(column.column)) is not None
    ]  # fmt: skip
    imported = structs.replace(imported, uncertain=uncertain or None, repeats=repeats or None)
    return bare(
        said,
        [one for _, one in found if one is not None],
        imported,
        rows=[row for cell in cells for row in cell.rows],
        histograms=[_histogram(place, cell) for place, cell in enumerate(cells, 1) if cell.latency],
    )


def bare(  # noqa: PLR0913 (a document in parts, all but three by name)
    said: Said,
    tables: Sequence[pts.Table],
    imported: pts_header.Imported,
    *,
    rows: Sequence[pts.Cell] = (),
    histograms: Sequence[pts.Histogram] = (),
    results: Results | None = None,
) -> pts.PtsDocument:
    """Return the document of tables that are as their test makes them."""
    document = pts.PtsDocument(
        schema=pts.SCHEMA,
        test=said.test,
        title=TITLES.get(said.test, said.test),
        name=said.name,
        header=_header(said, imported),
        phases=[],
        cells=pts.Cells(columns=list(pts.Cell.__struct_fields__), rows=list(rows)),
        steady_state=[],
        results=results or Results(),
        tables=list(tables),
        histograms=list(histograms),
        warnings=[f"imported from {imported.origin}: not measured here", *said.notes],
        partial=False,
        digest="",
    )
    return sealed(document)


def sealed(document: pts.PtsDocument) -> pts.PtsDocument:
    """Return a document with the digest of its content."""
    return structs.replace(document, digest=digest(pts.to_json(document)))


def _grid(
    identity: str, column: Column, places: Mapping[tuple[int, float], Cell]
) -> pts.Table | None:
    """Return one figure by size and mix, smallest first, writes first; None where none is known."""
    sizes = sorted({size for size, _ in places})
    mixes = sorted({read_pct for _, read_pct in places})

    def value(size: int, read_pct: float) -> float | None:
        cell = places.get((size, read_pct))
        found = cell.figure(column.column) if cell else None
        return None if found is None else found * column.factor

    def end(size: int, read_pct: float, sign: int) -> float | None:
        cell = places.get((size, read_pct))
        found = cell.spreads.get(column.column) if cell else None
        return (found.mean + sign * found.half_width) * column.factor if found else None

    def grid(of: Callable[[int, float], float | None]) -> list[list[float | None]]:
        return [[of(size, read_pct) for read_pct in mixes] for size in sizes]

    values = grid(value)
    if all(one is None for row in values for one in row):
        return None
    low, high = (grid(partial(end, sign=sign)) for sign in (-1, 1))
    has_ends = any(one is not None for row in low for one in row)
    return pts.Table(
        id=identity,
        title=column.title,
        unit=column.unit,
        row_label="Block size (KiB)",
        column_label="R/W mix (%)",
        rows=[kib(size) for size in sizes],
        columns=[mix(read_pct) for read_pct in mixes],
        values=[list(row) for row in values],
        low=[list(row) for row in low] if has_ends else None,
        high=[list(row) for row in high] if has_ends else None,
    )


def _repeat(cell: Cell, table: str, column: Column, found: Spread) -> pts_header.Repeats:
    return pts_header.Repeats(
        table=table,
        row=kib(cell.block_bytes),
        column=mix(cell.read_pct),
        count=found.count,
        **{
            name: getattr(found, name) * column.factor
            for name in ("mean", "sd", "half_width", "least", "greatest")
        },
    )


def _histogram(place: int, cell: Cell) -> pts.Histogram:
    latency = cell.latency or Histogram.empty()
    return pts.Histogram(
        id=f"imported_{place}",
        title=cell.label,
        count=latency.count,
        **latency.to_dict(),
        latency_us=pts.Percentiles(**latency.percentiles_us()),
        iops=cell.figure("iops"),
    )


def _header(said: Said, imported: pts_header.Imported) -> pts_header.Header:
    told: dict[str, Callable[[], bool]] = {
        "threads": lambda: said.threads is not None,
        "queue depth": lambda: said.queue_depth is not None,
        "capacity": lambda: said.capacity_bytes is not None,
        "model of the drive": lambda: said.model is not None,
        "profile": lambda: said.profile != UNKNOWN,
    }
    unknown = [*PROCEDURE, *(name for name, is_known in told.items() if not is_known())]
    if said.amount_bytes is not None:
        unknown.remove("active range")
    nothing = pts_header.CellLength(seconds=None, ios=None, seconds_max=None, ramp_ratio=None)
    return pts_header.Header(
        pts_version=UNKNOWN,
        profile=said.profile,
        conformance=UNKNOWN,
        deviations=[],
        target=_target(said),
        time_base=pts_header.TimeBase(
            name=UNKNOWN,
            clock="real",
            cell=nothing,
            gap=pts_header.GapLength(seconds=None, bytes=None, capacities=None),
        ),
        seed=0,
        cache=pts_header.Cache(asked=UNKNOWN, state=UNKNOWN),
        data=UNKNOWN,
        active_range=pts_header.Range(
            share=1.0, amount_bytes=said.amount_bytes, segments=said.segments
        ),
        threads=said.threads,
        queue_depth=said.queue_depth,
        align_bytes=None,
        purge=None,
        wipc=None,
        oio_throttle=None,
        options={},
        interrupted=False,
        temperature_c=None,
        imported=structs.replace(imported, unknown=[*imported.unknown, *unknown]),
    )


def _target(said: Said) -> pts_header.Target:
    return pts_header.Target(
        kind="imported",
        name=said.model or said.name,
        device=pts_header.DeviceFacts(
            vendor=None,
            model=said.model,
            firmware=None,
            serial_sha256=None,
            capacity_bytes=said.capacity_bytes or 0,
            sector_bytes=512,
            nand_type=None,
            interface=None,
        ),
        platform={"fio_version": said.fio_version} if said.fio_version else {},
    )
