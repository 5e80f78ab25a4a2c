"""Tables that more than one test has: what the test itself tabulated, results, and raw cells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import structs

from opennandlab.documents import pts
from opennandlab.documents.pts_origin import is_own_matrix
from opennandlab.reports import words
from opennandlab.reports.model import Cell, Section, Table
from opennandlab.reports.pts.source import Measured, plain
from opennandlab.stats import histogram

# Decimals by unit, as the tables of the SNIA PTS tutorial of 2013 have them.
DIGITS = {
    "IOPS": 1, "MB/s": 1, "ms": 3, "us": 1, "µs": 1, "%": 1, "WAF": 3, "W": 3, "J/GB": 2,
    "IOPS/W": 1,
}  # fmt: skip
# Headings in place of those that documents have, by the table; the latter are part of the digest.
HEADINGS = {
    "j_per_gb": "Energy per host byte",
    "iops_per_w": "IOPS per watt",
    "cpu": "Host processor time",
}
# From here on microseconds are hard to read.
LONG_US = 1e3
PERCENTILES = (
    ("99 %", "lat_us_p99"),
    ("99.9 %", "lat_us_p999"),
    ("99.99 %", "lat_us_p9999"),
    ("99.999 %", "lat_us_p99999"),
)


def in_one_unit(blocks: Sequence[pts.Table]) -> list[pts.Table]:
    """Return tables of one quantity as they are, or in ms where any of them holds long times."""
    if not any(block.unit in {"us", "µs"} and _most(block) >= LONG_US for block in blocks):
        return list(blocks)
    return [
        structs.replace(
            block,
            unit="ms",
            values=[
                [one * 1e-3 if isinstance(one, int | float) else one for one in row]
                for row in block.values
            ],
        )
        for block in blocks
    ]


def _most(block: pts.Table) -> float:
    numbers = (one for row in block.values for one in row if isinstance(one, int | float))
    return max(numbers, default=0.0)


def heading(block: pts.Table) -> str:
    """Return the heading of a table of a document; some of the saved ones read badly.

    >>> energy = pts.Table(id="j_per_gb-2", title="Energy for the data of the host, burst",
    ...     unit="J/GB", row_label="", column_label="", rows=[], columns=[], values=[])
    >>> heading(energy)
    'Energy per host byte, burst'
    """
    _, comma, group = block.title.partition(", ")
    said = HEADINGS.get(block.id.partition("-")[0])
    return block.title if said is None else f"{said}{comma}{group}"


def of_block(block: pts.Table) -> Table:
    """Return a table of the document as the report shows it; long times in ms instead of µs."""
    (shown,) = in_one_unit([block])
    # Thousands of ms next to tenths, tens of µs next to thousands: as many decimals as each needs.
    is_wide = shown is not block or (block.unit == "ms" and _most(block) >= 1e3)
    block = shown
    title = heading(block)
    # Columns of several units name them themselves.
    unit = "" if ";" in block.unit else block.unit
    return Table(
        block.id,
        f"{title}, {unit}" if unit not in title else title,
        (block.row_label, *block.columns),
        tuple((name, *values) for name, values in zip(block.rows, block.values, strict=True)),
        span=block.column_label,
        digits=None if is_wide else DIGITS.get(block.unit),
        unit=unit,
    )


def of_blocks(measured: Measured) -> Iterator[Table]:
    """Yield the tables of the document as they are read; watts have a separate section."""
    others = [block for block in measured.document.tables if not pts.is_of_power(block.id)]
    return of_document(structs.replace(measured.document, tables=others))


def of_document(document: pts.PtsDocument) -> Iterator[Table]:
    """Yield the tables of a document: none without a number, those of percentiles folded."""
    tails = iter(of_tails(document))
    seen = set()
    for block in document.tables:
        if (tail := _tail(block)) is not None:
            if tail not in seen:
                seen.add(tail)
                yield next(tails)
        elif any(value is not None for row in block.values for value in row):
            yield of_block(block)


def of_tails(document: pts.PtsDocument) -> Iterator[Table]:
    """Yield the tables of percentiles of a document, folded: a column for each percentile."""
    folded: dict[tuple[str, ...], list[pts.Table]] = {}
    for block in document.tables:
        if (tail := _tail(block)) is not None:
            folded.setdefault(tail, []).append(block)
    for tail, blocks in folded.items():
        yield _folded(document, blocks, tail)


# Of several figures of a cell these show how its runs scatter.
REPEATED = ("iops", "throughput", "art")


def of_repeats(document: pts.PtsDocument) -> Iterator[Table]:
    """Yield how the runs of cells scatter that were measured several times."""
    found = document.header.imported
    known = {block.id: block for block in document.tables if block.id in REPEATED}
    rows = tuple(
        (f"{one.row} KiB {one.column}", of_block(known[one.table]).title,
         str(one.count), one.mean, one.sd, one.half_width, one.least, one.greatest)
        for one in (found and found.repeats) or () if one.table in known
    )  # fmt: skip
    if rows:
        heads = ("cell", "figure", "runs", "mean", "sd", "± 95 %", "least", "greatest")
        note = "± 95 %: half of the interval of the mean, t sd / √runs; sd: of the sample."
        yield Table("repeats", "Repeated runs", heads, rows, note)


# Why a percentile is not there, said once for a table.
MISSING = "n/a: fewer than ten of these requests took longer, so the percentile is not stated."
# What was measured elsewhere may lack others.
UNSTATED = "the source does not state it, or only for parts (reads, writes, processes), not joined"
# Tables of one percentile each, and what it is called.
TAILS = {
    "p50": "50 %", "p99": "99 %", "p999": "99.9 %", "p9999": "99.99 %", "p99999": "99.999 %",
}  # fmt: skip
PURE = {words.mix(100.0), words.mix(0.0)}
# What was measured elsewhere may have those of completion latency too, and of reads and writes.
TAIL = re.compile(rf"(clat_)?({'|'.join(TAILS)})(_read|_write)?")


def _tail(block: pts.Table) -> tuple[str, ...] | None:
    """Return what percentiles a table is of, besides which; None for another table."""
    found = TAIL.fullmatch(block.id) if block.row_label == "Block size (KiB)" else None
    return (found[1] or "", found[3] or "") if found else None


def _folded(document: pts.PtsDocument, blocks: Sequence[pts.Table], tail: tuple[str, ...]) -> Table:
    """Return tables of one percentile each as one, a row for each of their cells.

    Reads alone, or writes, are all the requests of their cell: they have no row in a table of one
    direction. Nor has a size with a mix that nobody measured.
    """
    kind, of = tail
    what = "of completion latency (clat) " if kind else ""
    what += f"of all {of[1:]}s" if of else "of all requests of the window"
    first = blocks[0]
    counts = _counts(document, of)
    rows = [
        (
            f"{row} KiB {column}",
            counts.get((row, column)),
            *(block.values[at][place] for block in blocks),
        )
        for place, column in enumerate(first.columns)
        for at, row in enumerate(first.rows)
        if not (of and column in PURE)
    ]
    rows = [row for row in rows if any(one is not None for one in row[1:])]
    names = [block.id.removeprefix(kind).removesuffix(of) for block in blocks]
    is_foreign = document.header.imported is not None
    # Of each percentile that is missing, whether so few requests were beyond it; None for unknown.
    few = {
        True if not is_foreign else None if row[1] is None
        else float(row[1]) * (1 - histogram.PERCENTILES[name]) < histogram.BEYOND_MIN - 0.01
        for row in rows for name, one in zip(names, row[2:], strict=True) if one is None
    }  # fmt: skip
    note = ""
    if few == {True}:
        note = MISSING
    elif few:
        note = f"n/a: {UNSTATED}" + ("." if few == {False} else f"; or {MISSING[5:]}")
    heads = ("cell", "requests", *(f"{TAILS[name]}, ms" for name in names))
    return Table(f"{kind}percentiles{of}", f"Percentiles {what}", heads, tuple(rows), note)


def _counts(document: pts.PtsDocument, of: str) -> dict[tuple[str, str], float]:
    """Return how many requests of the window each block size and mix had, or reads or writes."""
    imported = [cell for cell in document.cells.rows if cell.phase == "imported"]
    grid = mean_grid(imported or window_of(document), "ios", total=True)
    if of:
        grid = {
            (cell.block_bytes, cell.rw_pct): cell.seconds
            * (cell.read_iops if of == "_read" else cell.write_iops)
            for cell in imported
        }
    return {(words.kib(size), words.mix(read)): count for (size, read), count in grid.items()}


def results(measured: Measured) -> Iterator[Section]:
    """Yield the scalars that the test found, where it states any."""
    rows: list[tuple[Cell, ...]] = []
    is_own = is_own_matrix(measured.header)
    for key, stated in measured.figures.items():
        # The rule alone passes drives that did not collect: the verdict decides.
        is_ruled = key == "attained" and measured.steady
        found = measured.attained if is_ruled else stated
        if found is None and is_own:
            continue  # a cell of the specification that was not asked for
        shown: Cell = (
            found if isinstance(found, int | float) and not isinstance(found, bool) else None
        )
        is_never = found is None and key.startswith(("recovery_", "to_mean_"))
        word = "never" if is_never else _word(found)
        rows.append((spoken(key), word if shown is None else shown))
    if rows:
        yield Section(
            "results", "Results", (Table("results", "Results", ("result", "value"), tuple(rows)),)
        )


# Sweeps of the position test.
SWEEPS = {
    "write": "writes",
    "read": "reads",
    "scattered_read": "reads after random writes",
    "scattered_write": "writes after them",
}
SPOKEN = {
    "attained": "steady state attained",
    "fob_iops": "fresh out of the box, IOPS",
    "steady_iops": "mean of the window, IOPS",
    "steady_ratio": "mean of the window / fresh out of the box",
    "cliff_minutes": "write cliff (first below 90 %), minutes",
    "cliff_drive_fills": "write cliff (first below 90 %), drive fills",
    "drive_fills": "drive fills",
    "minutes": "duration, minutes",
    "waf_end": "WAF at the end",
    "single_iops": "IOPS of TC 1 / QD 1",
    "baseline_iops": "steady state, IOPS",
    "unit_s": "write time between pauses, s",
    "loops": "loops in each part",
    "slice_bytes": "size of a slice, bytes",
    **{
        f"{kind}_mb_s_{part}": f"{said}, {words_of}, MB/s"
        for kind, said in SWEEPS.items()
        for part, words_of in (
            ("mean", "mean of the slices"),
            ("min", "slowest slice"),
            ("max", "fastest slice"),
        )
    },
    "first_mb_s": "first sequential writes, MB/s",
    "random_mb_s": "random writes, MB/s",
    "third_mb_s": "sequential writes after them, MB/s",
    "drop_pct": "lost by what came before, %",
    "read_pct": "reads, %",
    "iops_mean": "mean of the samples, IOPS",
    "iops_min": "least, IOPS",
    "iops_max": "greatest, IOPS",
    "iops_max_at": "greatest at",
    "cv": "standard deviation / mean (CV)",
    "min_to_mean": "least sample / mean",
    "share_below_half": "share of samples below half the mean",
    "lat_us_p999": "99.9 % response time, µs",
    "sample_s": "length of a sample, s",
    "raw_bytes": "flash, bytes",
    "fill": "filled before",
    "sees_collection": "collection seen",
    "sustained_per_s": "sustained, writes/s",
    "probe_per_s": "probe, requests/s",
    "knee_per_s": "knee, writes/s",
    "plateau_mb_s": "plateau, MB/s",
    "reference_mb_s": "mean of the last eighth of group 1, MB/s",
    "recovery_sample": "five samples at 90 % of that: from sample",
    "recovery_s": "five samples at 90 % of that: after, s",
    "recovery_drive_fills": "five samples at 90 % of that: after, drive fills",
    "group_1_mb_s": "mean of group 1, MB/s",
    "to_mean_sample": "first minute at the mean of group 1: sample",
    "to_mean_s": "first minute at the mean of group 1: after, s",
    "to_mean_drive_fills": "first minute at the mean of group 1: after, drive fills",
    "superblock_bytes": "largest zone below 0.9 of the plateau, bytes",
    "superblock_bytes_below": "next larger zone, bytes",
    "superblock_bytes_estimated": "superblock, estimated with the spare area, bytes",
    "superblock_bytes_declared": "superblock of the device file, bytes",
    "open_superblocks": "most open zones as fast as one",
    "open_superblocks_below": "fewest open zones that are slower",
    "counted_zone_bytes": "zones of which several were open, bytes",
}


# What ended write saturation.
ENDS = {
    "steady_state": "the five-point rule", "written": "bytes written", "time": "time",
    "rounds": "the last round",
}  # fmt: skip
UNITS = {
    "per_s": "1/s",
    "iops": "IOPS", "mb_s": "MB/s", "us": "µs", "ms": "ms", "s": "s", "pct": "%",
    "bytes": "bytes", "minutes": "minutes", "ratio": "ratio",
}  # fmt: skip


# A metric of one cell: metric, pattern, block size, mix.
CELL = re.compile(r"(iops|mb_s|art_ms|mrt_ms|waf)_(rnd|seq)_(\d+)kib_(\w+)")
METRICS = {
    "iops": ("", "IOPS"), "mb_s": ("", "MB/s"), "art_ms": ("ART, ", "ms"),
    "mrt_ms": ("MRT, ", "ms"), "waf": ("", "WAF"),
}  # fmt: skip


def spoken(key: str) -> str:
    """Return a key as words.

    >>> spoken("part_mb_s"), spoken("art_ms_rnd_4kib_write"), spoken("iops_rnd_4kib_65_35")
    ('part, MB/s', 'ART, random 4 KiB writes, ms', 'random 4 KiB 65/35, IOPS')
    """
    if key in SPOKEN:
        return SPOKEN[key]
    cell = CELL.fullmatch(key)
    if cell:
        metric, pattern, size, what = cell.groups()
        of, unit = METRICS[metric]
        mix = what.replace("_", "/") if what[0].isdigit() else f"{what}s"
        order = {"rnd": "random", "seq": "sequential"}[pattern]
        return f"{of}{order} {size} KiB {mix}, {unit}"
    for suffix, unit in UNITS.items():
        if key.endswith(f"_{suffix}"):
            return f"{key.removesuffix(f'_{suffix}').replace('_', ' ')}, {unit}"
    return " ".join(UPPER.get(word, word) for word in key.split("_"))


def spoken_path(path: str) -> str:
    """Return the path of a number as words: a result has a name of its own.

    >>> spoken_path("results.art_ms_rnd_4kib_write"), spoken_path("iops[4, 0/100]")
    ('ART, random 4 KiB writes, ms', 'iops[4, 0/100]')
    """
    return spoken(path.removeprefix("results.")) if path.startswith("results.") else path


UPPER = {"iops": "IOPS", "waf": "WAF", "cv": "CV"}


def _word(found: object) -> str:
    if found is None:
        return words.NOTHING
    if isinstance(found, bool):
        return "yes" if found else "no"
    return ENDS.get(found, found) if isinstance(found, str) else plain(found)


def percentile(cell: pts.Cell, metric: str) -> Cell:
    """Return a percentile in ms, or why it is not there."""
    found = cell.number(metric)
    if found is not None:
        return found * 1e-3
    return no_percentile(cell.ios)


def no_percentile(count: float | None) -> str:
    """Say that a percentile was not measured, and from how many samples."""
    return words.NOTHING if count is None else f"n/a ({count:,.0f} samples)".replace(",", " ")


def ms(found: float | None) -> float | None:
    """Return microseconds in milliseconds."""
    return None if found is None else found * 1e-3


def window_cells(measured: Measured) -> tuple[pts.Cell, ...]:
    """Return the cells of the measurement window; of all rounds where there is no window."""
    return window_of(measured.document)


def window_of(document: pts.PtsDocument) -> tuple[pts.Cell, ...]:
    """Return the cells of the window of a document; of all rounds where there is none."""
    # Variables are steady in the same window; of a damaged document the last one counts.
    windows = [steady.window for steady in document.steady_state if steady.window]
    rounds = max(windows, key=lambda window: window[-1], default=())
    cells = tuple(
        cell
        for cell in document.cells.rows
        if cell.round is not None and cell.phase in {"round", ""}
    )
    return tuple(cell for cell in cells if cell.round in rounds) if rounds else cells


def mean_grid(
    cells: Sequence[pts.Cell],
    metric: str,
    factor: float = 1.0,
    *,
    largest: bool = False,
    total: bool = False,
) -> dict[tuple[float | None, float | None], float]:
    """Return a metric by (block size, reads in %), averaged over rounds.

    Args:
        cells: Cells of the window.
        metric: Name of a number of a cell.
        factor: From the document's unit to the one wanted.
        largest: The maximum over the rounds instead of their mean.
        total: Their sum.
    """
    found: dict[tuple[float | None, float | None], list[float]] = {}
    for cell in cells:
        number = cell.number(metric)
        if number is not None:
            found.setdefault((cell.block_bytes, cell.rw_pct), []).append(number * factor)
    if largest:
        return {key: max(values) for key, values in found.items()}
    return {key: sum(values) / (1 if total else len(values)) for key, values in found.items()}


Grid = dict[tuple[float | None, float | None], float]


def extremes(cells: Sequence[pts.Cell], metric: str, factor: float = 1.0) -> tuple[Grid, Grid]:
    """Return the least and the greatest value of a metric by (block size, reads in %)."""
    low: Grid = {}
    high: Grid = {}
    for cell in cells:
        number = cell.number(metric)
        if number is not None:
            key = cell.block_bytes, cell.rw_pct
            low[key] = min(low.get(key, number * factor), number * factor)
            high[key] = max(high.get(key, number * factor), number * factor)
    return low, high


def spread(cells: Sequence[pts.Cell], metric: str, name: str) -> Table | None:
    """Return how far the rounds of the window lie apart, in percent of their mean.

    One round, as that of a smoke test, has no spread: there is no table of zeros.
    """
    if len({cell.round for cell in cells}) < 2:
        return None
    means, (low, high) = mean_grid(cells, metric), extremes(cells, metric)
    shares = {key: 100 * (high[key] - low[key]) / mean for key, mean in means.items() if mean}
    title = f"Spread of the window: {words.metric(metric)[0].split(',')[0]}, greatest less least "
    return grid_table(shares, name=name, title=f"{title}round, % of the mean", digits=1)


def grid_table(
    grid: dict[tuple[float | None, float | None], float],
    *,
    name: str,
    title: str,
    digits: int,
) -> Table | None:
    """Return a grid as the standard prints it: block sizes down, mixes 0/100 to 100/0 across."""
    sizes = sorted({size for size, _ in grid if size is not None})
    mixes = sorted({read for _, read in grid if read is not None})
    if not sizes or not mixes:
        return None
    rows = tuple((words.kib(size), *(grid.get((size, read)) for read in mixes)) for size in sizes)
    return Table(
        name, title, ("Block size (KiB)", *map(words.mix, mixes)), rows,
        span="R/W mix (%)", digits=digits,
    )  # fmt: skip
