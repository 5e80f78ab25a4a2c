"""Workload analyses of `characterise`: independence, composites, mixes, sizes, scaling, extremes.

Each is a table that the test made and the drawing that goes with it; where they come from is said
in the documentation of the tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opennandlab.documents import pts
from opennandlab.documents.pts_results import (
    BlockSizeResults,
    IndependenceResults,
    MixResults,
    PathologicalResults,
    ScalabilityResults,
)
from opennandlab.documents.pts_small import BurstLoad, BurstResults, PositionResults
from opennandlab.reports import words
from opennandlab.reports.figure.model import Axis, Mark, Plot, Series
from opennandlab.reports.model import Item, Section, Table
from opennandlab.reports.pts import course, response, surface, tables
from opennandlab.reports.pts.course import Course
from opennandlab.reports.pts.source import Measured


def independence(measured: Measured) -> Iterator[Section]:
    """Yield sequential, random and sequential writes in turn, with the drop in percent."""
    groups = [cell for cell in measured.cells if cell.phase == "group"] or list(measured.cells)
    found = measured.results
    drop = found.drop_pct if isinstance(found, IndependenceResults) else None
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
    for block in measured.tables:
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
    for block in measured.tables:
        items.append(tables.of_block(block))
        if block.id != "database":
            items.extend(_over_columns(block, "read / write mix, %", log=False))
    lead = (
        "Mixed efficiency is what was measured over the harmonic prediction "
        "1 / (r / B(100/0) + (1 − r) / B(0/100)); below 1 reads and writes get in each other's way."
    )
    yield Section("rw-ratio", "Speed against the share of reads", tuple(items), lead)
    found = measured.results
    if isinstance(found, MixResults) and found.curves:
        rows = tuple(
            (words.block(one.block_bytes), one.rms_iops, one.rms_mb_s) for one in found.curves
        )
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
    found = measured.results
    lead = ""
    if isinstance(found, BlockSizeResults) and measured.has("results", "read_pct"):
        lead = f"Random requests, reads / writes {words.mix(found.read_pct)}."
    shown: tuple[Item, ...] = (*tables.of_blocks(measured), *plots)
    yield Section("block-size", "Speed against block size", shown, lead)
    yield from surface.preconditioning(measured)


def scalability(measured: Measured) -> Iterator[Section]:
    """Yield how the root mean square over five mixes grows with the number of dies."""
    found = measured.results
    items: list[Item] = list(tables.of_blocks(measured))
    if isinstance(found, ScalabilityResults) and found.steps:
        steps = found.steps
        dies = [float(one.dies) for one in steps]
        ticks = tuple((at, f"{at:g}") for at in dies)
        ideal = Series("ideal", dies, [at / min(dies) for at in dies], "dashed", colour=-1)
        grown = (
            Series("IOPS of 4 KiB", dies, [one.normalised_iops for one in steps], colour=0),
            Series("MB/s of 128 KiB", dies, [one.normalised_mb_s for one in steps], colour=1),
        )
        share = (
            Series("IOPS of 4 KiB", dies, [one.efficiency_iops for one in steps], colour=0),
            Series("MB/s of 128 KiB", dies, [one.efficiency_mb_s for one in steps], colour=1),
        )
        axis = Axis("dies", "log", ticks)
        items += [
            Plot("normalised", "Root mean square over five mixes, normalised to the smallest drive",
                 axis, Axis("normalised RMS", "log"), (*grown, ideal)),
            Plot("efficiency", "Scaling efficiency", axis,
                 Axis("normalised RMS / ideal", zero=True), share),
        ]  # fmt: skip
    yield Section("scalability", "Scalability", tuple(items))
    if isinstance(found, ScalabilityResults) and found.steps:
        whole = found.steps[-1]
        units = [float(1 << power) for power in range(4)]
        shown = list(_over_units(found, whole.dies, units))
        if shown:
            yield Section("units", "Dies against drives", tuple(shown), UNITS)
    yield from surface.preconditioning(measured)


UNITS = (
    "What is measured is one drive with more and more of its dies. The line of drives is no "
    "measurement: that many whole drives, independent of each other, striped, with as many "
    "requests outstanding at each as at the one, and no host in the way. Its efficiency is 1 by "
    "definition; the distance to the dies is what they lose to what they share."
)


def _over_units(found: ScalabilityResults, dies: int, drives: Sequence[float]) -> Iterator[Plot]:
    """Yield the RMS over the dies of one drive, and over drives with all of theirs."""
    pairs = (("rms_iops", "IOPS of 4 KiB"), ("rms_mb_s", "MB/s of 128 KiB"))
    for at, (key, label) in enumerate(pairs):
        values = [float(getattr(step, key)) for step in found.steps]
        x = [float(step.dies) for step in found.steps]
        if not values[-1] or min(x) < 1:
            continue
        more = [dies * count for count in drives]
        one_die = values[0] / x[0]
        ticks = tuple((place, f"{place:g}") for place in sorted({*x, *more}))
        yield Plot(
            f"units-{key.removeprefix('rms_').replace('_', '-')}",
            f"RMS over five mixes against the number of dies, in one drive and in several: {label}",
            Axis("dies", "log", ticks), Axis(label, "log"),
            (
                Series("one drive, measured", x, values, colour=at),
                Series("whole drives, ideal", more, [values[-1] * count for count in drives],
                       "dashed", colour=at),
                Series("one die each, ideal", [*x, *more[1:]],
                       [one_die * count for count in (*x, *more[1:])], "dashed", colour=-1),
            ),
        )  # fmt: skip


def pathological(measured: Measured) -> Iterator[Section]:
    """Yield the pathological write condition, and what each relaxation gives."""
    found = measured.results
    items: list[Item] = list(tables.of_blocks(measured))
    if isinstance(found, PathologicalResults) and found.cases:
        names = [case.name for case in found.cases]
        rates = [case.iops_4kib for case in found.cases]
        gains = [
            f"{words.value(case.iops_4kib)} ({words.value(case.ratio, 2)}×)" for case in found.cases
        ]
        items.append(_case_bars("iops", "4 KiB writes per second", names, rates, gains))
        wafs = [case.waf for case in found.cases]
        items.append(_case_bars("waf", "WAF", names, wafs, list(map(words.value, wafs))))
    yield Section("pathological", "Relaxing one condition at a time", tuple(items), PATHOLOGICAL)
    yield from surface.preconditioning(measured)


PATHOLOGICAL = (
    "The baseline fills the whole range, writes at random all over it and never pauses. Each other "
    "case relaxes one of these; in a drive that collects garbage each should be faster."
)


def access_time(measured: Measured) -> Iterator[Section]:
    """Yield the access time of reads and writes, and how it is distributed."""
    yield Section("access-time", "Access time", tuple(tables.of_blocks(measured)), ACCESS)
    if measured.histograms:
        shown = tuple(response.items(response.of_test(measured)))
        yield Section("distribution", "Distribution", shown)
    yield from surface.preconditioning(measured)


ACCESS = "Random 4 KiB requests all over the active range, one thread, one request outstanding."


def position(measured: Measured) -> Iterator[Section]:
    """Yield the sequential rates of the slices of the range."""
    items: list[Item] = []
    found = measured.results
    if isinstance(found, PositionResults) and found.slices:
        unit, size = words.byte_unit(found.slices[-1].start_bytes + found.slice_bytes)
        # A rate holds until the next slice begins; the last one to the end of the range.
        x = [one.start_bytes / size for one in found.slices]
        x.append(x[-1] + found.slice_bytes / size)
        sweeps = (
            ("writes", 0, 0, [one.write_mb_s for one in found.slices]),
            ("reads", 1, 0, [one.read_mb_s for one in found.slices]),
            ("reads after random writes", 1, 1, [one.scattered_read_mb_s for one in found.slices]),
            ("writes after them", 0, 1, [one.scattered_write_mb_s for one in found.slices]),
        )
        lines = tuple(
            Series(name, x, [*rates, rates[-1]], "steps", colour=colour, stroke=stroke)
            for name, colour, stroke, rates in sweeps
        )
        known = [rate for *_, rates in sweeps for rate in rates if rate]
        # Slow writes would lie on the axis of a linear scale.
        is_wide = bool(known) and max(known) > WIDE * min(known)
        rate = Axis("MB/s", "log") if is_wide else Axis("MB/s", zero=True)
        items.append(
            Plot(
                "position", f"Sequential 128 KiB in {len(found.slices)} slices of the range",
                Axis(f"position in the active range, {unit}"), rate, lines,
            )
        )  # fmt: skip
    items += tables.of_blocks(measured)
    yield Section("slices", "Rate by position", tuple(items), POSITION)


# Between the greatest and the least rate of a plot that is drawn on a logarithmic scale.
WIDE = 20.0
POSITION = (
    "Flash has no slow tracks: after sequential writes the line is level, and what differs between "
    "slices is the state of the drive. After random 4 KiB writes all over the range a sequential "
    "read finds its pages where those writes left them, and sequential writes pay for collecting "
    "random data until it is overwritten."
)


def burst(measured: Measured) -> Iterator[Section]:
    """Yield the rate of writes since the purge, with burst and sustained rate."""
    items: list[Item] = list(tables.of_blocks(measured))
    found = measured.results
    loads = found.loads if isinstance(found, BurstResults) else []
    for load in loads:
        cells = [cell for cell in measured.in_phase("burst") if cell.label == load.name]
        if cells:
            is_steady = measured.is_steady_in(load.name)
            items.append(_burst(load, cells, is_steady=is_steady))
    yield Section("burst-rate", "Burst and sustained rate", tuple(items), BURST)
    yield from surface.preconditioning(measured)


BURST = (
    "From a purged and rested drive on. Burst is the first piece: a second, or 1 % of the capacity "
    "where time is scaled. Sustained is the mean of the window of the steady state."
)


def _burst(load: BurstLoad, cells: Sequence[pts.Cell], *, is_steady: bool) -> Plot:
    levels = (
        (load.burst_mb_s, "burst"),
        (load.sustained_mb_s, "sustained" if is_steady else "not steady; mean of the window"),
    )
    marks = [
        Mark("y", level, f"{text}: {words.value(level)}")
        for level, text in levels
        if level is not None
    ]
    across = course.by_written(cells)
    if load.volume_bytes is not None:
        unit, size = words.byte_unit(max(cell.written_bytes for cell in cells))
        volume = load.volume_bytes / size
        marks.append(Mark("x", volume, f"burst ends: {words.value(volume)} {unit}"))
    return course.plot(
        words.file_name(f"burst {load.name}"), f"{load.name}: rate against what was written",
        across, [Course("MB/s", cells, "mb_s", draw="line")], marks=tuple(marks),
    )  # fmt: skip


def _case_bars(
    name: str,
    label: str,
    cases: Sequence[str],
    values: Sequence[float | None],
    texts: Sequence[str],
) -> Plot:
    places = [float(place) for place in range(len(cases))]
    ticks = tuple(zip(places, cases, strict=True))
    return Plot(
        f"cases-{name}", f"{label} by case", Axis("case", ticks=ticks), Axis(label, zero=True),
        (Series(label, places, values, draw="bars", texts=texts),),
    )  # fmt: skip


def _over_columns(block: pts.Table, label: str, *, log: bool) -> Iterator[Plot]:
    """Yield a table as lines over its columns, one for each row."""
    columns = [float(name) if log else float(at) for at, name in enumerate(block.columns)
               if not log or name.replace(".", "", 1).isdigit()]  # fmt: skip
    if len(columns) != len(block.columns):
        return
    ticks = tuple(zip(columns, block.columns, strict=True))
    (block,) = tables.in_one_unit([block])
    unit = block.unit or block.title
    by_size = block.row_label.startswith("Block size")
    series = tuple(
        Series(
            f"{name} KiB" if by_size else name,
            columns,
            [None if isinstance(value, str) else value for value in row],
        )
        for name, row in zip(block.rows, block.values, strict=True)
    )
    yield Plot(
        f"{block.id}-curve", f"{block.title} against {label.partition(',')[0]}",
        Axis(label, "log" if log else "linear", ticks), Axis(unit, zero=True), series,
    )  # fmt: skip


def _scaled(cells: Sequence[pts.Cell], metric: str) -> list[float | None]:
    factor = words.metric(metric)[1]
    found = [cell.number(metric) for cell in cells]
    return [None if value is None else value * factor for value in found]
