"""Workload analyses of `characterise`: independence, composites, mixes, sizes, scaling, extremes.

Each is a table that the test made and the drawing that goes with it; where they come from is said
in the documentation of the tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opennandlab.reports import words
from opennandlab.reports.figure.model import Axis, Plot, Series
from opennandlab.reports.model import Item, Section, Table
from opennandlab.reports.pts import surface, tables
from opennandlab.reports.pts.source import (
    Block,
    CellRow,
    Measured,
    as_dict,
    as_list,
    as_number,
    as_text,
)


def independence(measured: Measured) -> Iterator[Section]:
    """Yield sequential, random and sequential writes in turn, with the drop in percent."""
    groups = [cell for cell in measured.cells if cell.phase == "group"] or list(measured.cells)
    drop = as_number(measured.results.get("drop_pct"))
    names = [cell.label.partition(": ")[2] or cell.label for cell in groups]
    places = [float(place) for place in range(len(groups))]
    ticks = tuple((at, f"{at + 1:g}. {name}") for at, name in zip(places, names, strict=True))
    texts = [words.value(cell.mb_s, 1) for cell in groups]
    if drop is not None and texts:
        texts[-1] += f" ({-drop:+.1f} %)".replace("-", "−")
    plot = Plot(
        "independence",
        "Throughput of three groups of writes, one after the other",
        Axis("group, in the order in which they ran", ticks=ticks),
        Axis("MB/s", zero=True),
        (Series("MB/s", places, [cell.mb_s for cell in groups], draw="bars", texts=texts),),
    )
    lead = ""
    if drop is not None:
        word = "drop" if drop >= 0 else "gain"
        lead = (
            f"After random writes the same sequential writes {word} by {abs(drop):.2f} %. A drive "
            "whose speed depends on what was written before is not independent of its workload."
        )
    items: list[Item] = [plot, *tables.of_blocks(measured)]
    yield Section("independence", "Workload independence", tuple(items), lead)
    yield from tables.results(measured)
    yield from surface.preconditioning(measured)


def composite(measured: Measured) -> Iterator[Section]:
    """Yield composite workloads over the queue depth."""
    items: list[Item] = []
    for block in measured.blocks:
        items.append(tables.of_block(block))
        items.extend(_over_columns(block, "queue depth", log=True))
    yield Section("composite", "Composite workloads", tuple(items), COMPOSITES)
    yield from surface.preconditioning(measured)


COMPOSITES = (
    "Mixes of sizes and of reads and writes, as in the Iometer loads of the same names; the queue "
    "depth stands for how busy the machine is."
)


def rw_ratio(measured: Measured) -> Iterator[Section]:
    """Yield speed over the share of reads, with the efficiency of mixing."""
    items: list[Item] = []
    for block in measured.blocks:
        items.append(tables.of_block(block))
        items.extend(_over_columns(block, "read / write mix, %", log=False))
    lead = (
        "Mixed efficiency is what was measured over the harmonic prediction "
        "1 / (r / B(100/0) + (1 − r) / B(0/100)); below 1 reads and writes get in each other's way."
    )
    yield Section("rw-ratio", "Speed against the share of reads", tuple(items), lead)
    curves = _rows(measured, "curves", ("block_bytes", "rms_iops", "rms_mb_s"))
    if curves:
        rows = tuple((words.block(row[0]), *row[1:]) for row in curves)
        heads = ("block size", "RMS IOPS", "RMS MB/s")
        table = Table("rms", "Root mean square over the mixes", heads, rows)
        yield Section("rms", "Root mean square over the mixes", (table,))
    yield from surface.preconditioning(measured)


def block_size(measured: Measured) -> Iterator[Section]:
    """Yield speed over the block size at one mix."""
    cells = [cell for cell in surface.measured_cells(measured) if cell.block_bytes]
    x = [(cell.block_bytes or 0.0) / 1024 for cell in cells]
    ticks = tuple(sorted((at, f"{at:g}") for at in set(x)))
    axis = Axis("block size, KiB", "log", ticks)
    plots = tuple(
        Plot(
            f"by-size-{metric}",
            f"{words.metric(metric)[0].partition(',')[0]} against block size",
            axis,
            Axis(words.metric(metric)[0], "log" if metric == "iops" else "linear", zero=True),
            (Series(words.metric(metric)[0], x, _scaled(cells, metric)),),
        )
        for metric in ("iops", "mb_s", "lat_us_mean")
    )
    read = as_number(measured.results.get("read_pct"))
    lead = f"Random requests, reads / writes {words.mix(read)}." if read is not None else ""
    shown: tuple[Item, ...] = (*tables.of_blocks(measured), *plots)
    yield Section("block-size", "Speed against block size", shown, lead)
    yield from surface.preconditioning(measured)


def scalability(measured: Measured) -> Iterator[Section]:
    """Yield how the root mean square over five mixes grows with the number of dies."""
    keys = ("dies", "normalised_iops", "normalised_mb_s", "efficiency_iops", "efficiency_mb_s")
    steps = _rows(measured, "steps", keys)
    items: list[Item] = list(tables.of_blocks(measured))
    if steps:
        dies = [row[0] for row in steps]
        ticks = tuple((at, f"{at:g}") for at in dies if at is not None)
        known = [at for at in dies if at is not None]
        first = min(known, default=1.0)
        ideal = Series(
            "ideal", dies, [None if at is None else at / first for at in dies], "dashed", colour=-1
        )
        grown = (
            Series("IOPS of 4 KiB", dies, [row[1] for row in steps], colour=0),
            Series("MB/s of 128 KiB", dies, [row[2] for row in steps], colour=1),
        )
        share = (
            Series("IOPS of 4 KiB", dies, [row[3] for row in steps], colour=0),
            Series("MB/s of 128 KiB", dies, [row[4] for row in steps], colour=1),
        )
        axis = Axis("dies", "log", ticks)
        items += [
            Plot("normalised", "Root mean square over five mixes, normalised to the smallest drive",
                 axis, Axis("normalised RMS", "log"), (*grown, ideal)),
            Plot("efficiency", "Scaling efficiency", axis,
                 Axis("normalised RMS / ideal", zero=True), share),
        ]  # fmt: skip
    yield Section("scalability", "Scalability", tuple(items))
    yield from surface.preconditioning(measured)


def pathological(measured: Measured) -> Iterator[Section]:
    """Yield the pathological write condition, and what each relaxation gives."""
    cases = [
        (as_text(case.get("name")), as_number(case.get("iops_4kib")), as_number(case.get("waf")),
         as_number(case.get("ratio")))
        for case in map(as_dict, as_list(measured.results.get("cases")))
    ]  # fmt: skip
    items: list[Item] = list(tables.of_blocks(measured))
    if cases:
        items.append(_case_bars("iops", "4 KiB writes per second", cases, 1, with_ratio=True))
        items.append(_case_bars("waf", "WAF", cases, 2))
    yield Section("pathological", "Relaxing one condition at a time", tuple(items), PATHOLOGICAL)
    yield from surface.preconditioning(measured)


PATHOLOGICAL = (
    "The baseline fills the whole range, writes at random all over it and never pauses. Each other "
    "case relaxes one of these; in a drive that collects garbage each should be faster."
)

Case = tuple[str, float | None, float | None, float | None]


def _case_bars(
    name: str, label: str, cases: Sequence[Case], column: int, *, with_ratio: bool = False
) -> Plot:
    places = [float(place) for place in range(len(cases))]
    ticks = tuple((at, case[0]) for at, case in zip(places, cases, strict=True))
    values = [case[column] for case in cases]
    numbers = [value if isinstance(value, float) else None for value in values]
    texts = [
        f"{words.value(value)} ({words.value(case[3], 2)}×)" if with_ratio else words.value(value)
        for value, case in zip(numbers, cases, strict=True)
    ]
    return Plot(
        f"cases-{name}", f"{label} by case", Axis("case", ticks=ticks), Axis(label, zero=True),
        (Series(label, places, numbers, draw="bars", texts=texts),),
    )  # fmt: skip


def _over_columns(block: Block, label: str, *, log: bool) -> Iterator[Plot]:
    """Yield a table as lines over its columns, one for each row."""
    columns = [float(name) if log else float(at) for at, name in enumerate(block.columns)
               if not log or name.replace(".", "", 1).isdigit()]  # fmt: skip
    if len(columns) != len(block.columns):
        return
    ticks = tuple(zip(columns, block.columns, strict=True))
    unit = block.unit or block.title
    by_size = block.row_label.startswith("Block size")
    series = tuple(
        Series(
            f"{name} KiB" if by_size else name,
            columns,
            [value if isinstance(value, float) else None for value in row],
        )
        for name, row in zip(block.rows, block.values, strict=True)
    )
    yield Plot(
        f"{block.id}-curve", f"{block.title} against {label.partition(',')[0]}",
        Axis(label, "log" if log else "linear", ticks), Axis(unit, zero=True), series,
    )  # fmt: skip


def _rows(measured: Measured, key: str, names: Sequence[str]) -> list[tuple[float | None, ...]]:
    entries = map(as_dict, as_list(measured.results.get(key)))
    return [tuple(as_number(entry.get(name)) for name in names) for entry in entries]


def _scaled(cells: Sequence[CellRow], metric: str) -> list[float | None]:
    factor = words.metric(metric)[1]
    found = [cell.get(metric) for cell in cells]
    return [None if value is None else value * factor for value in found]
