"""Demand intensity: threads by queue depth, the operating points found in them, their histograms.

Serves DIRTH and the enterprise composite workload, which share procedure and plots:

```text
preconditioning ─► rounds of (pre-write, 49 cells) until TC 32 / QD 32 is steady
mean of the window ─► demand variation, demand intensity ─► MaxIOPS, MidIOPS, MinIOPS ─► histograms
```
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from opennandlab.documents import pts
from opennandlab.documents.pts_demand import DemandResults, OperatingPoint
from opennandlab.reports import words
from opennandlab.reports.figure.model import Axis, Mark, Plot, Relief, Series
from opennandlab.reports.model import Cell, Item, Section, Table
from opennandlab.reports.pts import response, steady, tables
from opennandlab.reports.pts.source import Measured

# MaxIOPS is the highest rate below this mean response time (SNIA PTS tutorial, 2013, DIRTH).
ART_MS_MAX = 5.0
PRECONDITIONING = {"precondition"}

Key = tuple[float, float]


def sections(measured: Measured) -> Iterator[Section]:
    """Yield what a report of a demand intensity test shows."""
    rounds = [cell for cell in measured.cells if cell.phase in {"round", ""}]
    first, second = _states(measured)
    grid = _grid(rounds, second, "iops", 1.0)
    arts = _grid(rounds, second, "lat_us_mean", 1e-3)
    found = measured.results
    points = found.points if isinstance(found, DemandResults) else []
    yield Section(
        "points", "Operating points", tuple(_points_table(measured, points)), _lead(points)
    )
    plots = (*_demand(grid, arts, points, _extremes(rounds, second)), *_tails(measured))
    yield Section("demand", "Demand", plots)
    shown = tuple(
        tables.of_block(block)
        for block in measured.tables
        if any(value is not None for row in block.values for value in row)
    )
    yield Section("tables", "All combinations", (*shown, *_processor(rounds, second)))
    if measured.histograms:
        yield Section("histograms", "Response time histograms", tuple(_histograms(measured)))
    yield from _convergence(measured, rounds, first, second)


def _states(measured: Measured) -> tuple[Sequence[pts.Steady], Sequence[pts.Steady]]:
    """Return the tracking variables of the preconditioning, and those of the rounds."""
    if not any(cell.phase in PRECONDITIONING for cell in measured.cells):
        return (), measured.steady
    return measured.steady[:1], measured.steady[1:]


def _points_table(measured: Measured, points: Sequence[OperatingPoint]) -> Iterator[Table]:
    rows: list[tuple[Cell, ...]] = []
    for point in points:
        # Of several points at one combination the first one was measured.
        first = next(
            one for one in points
            if (one.threads, one.queue_depth) == (point.threads, point.queue_depth)
        )  # fmt: skip
        cell = next((one for one in measured.in_phase("point") if one.label == first.name), None)
        tails: list[Cell] = [words.NOTHING] * 5
        if cell is not None:
            tails = [
                *(tables.percentile(cell, metric) for _, metric in tables.PERCENTILES),
                tables.ms(cell.lat_us_max),
            ]
        rows.append(
            (point.name, point.threads, point.queue_depth, point.iops,
             tables.ms(point.lat_us_mean), *tails, point.note)
        )  # fmt: skip
    if rows:
        heads = (
            "point", "TC", "QD", "IOPS", "ART, ms", *(f"{n}, ms" for n, _ in tables.PERCENTILES),
            "MRT, ms", "note",
        )  # fmt: skip
        columns = heads if any(point.note for point in points) else heads[:-1]
        yield Table(
            "points", "Operating points", columns, tuple(row[: len(columns)] for row in rows)
        )


def _lead(points: Sequence[OperatingPoint]) -> str:
    if not points:
        return ""
    return (
        f"MaxIOPS is the highest rate with a mean response time below {ART_MS_MAX:g} ms, MinIOPS "
        "the lowest rate that was measured, MidIOPS is nearest to even steps between them. Rates "
        "and mean response times are those of the rounds; percentiles and histograms are of the "
        "step at each point after them, whose every response time is kept."
    )


def _grid(
    cells: Sequence[pts.Cell], states: Sequence[pts.Steady], metric: str, factor: float
) -> dict[Key, float]:
    """Return a metric by threads and queue depth, averaged over the window."""
    window = {number for state in states for number in state.window}
    found: dict[Key, list[float]] = {}
    for cell in cells:
        value = cell.number(metric)
        if value is not None and (not window or cell.round in window):
            key = float(cell.threads or 0), float(cell.queue_depth or 0)
            found.setdefault(key, []).append(value * factor)
    return {key: sum(values) / len(values) for key, values in found.items()}


def _extremes(
    cells: Sequence[pts.Cell], states: Sequence[pts.Steady]
) -> tuple[dict[Key, float], dict[Key, float]]:
    """Return least and greatest IOPS by threads and queue depth, over the rounds of the window."""
    window = {number for state in states for number in state.window}
    low: dict[Key, float] = {}
    high: dict[Key, float] = {}
    for cell in cells:
        if not window or cell.round in window:
            key = float(cell.threads or 0), float(cell.queue_depth or 0)
            low[key] = min(low.get(key, cell.iops), cell.iops)
            high[key] = max(high.get(key, cell.iops), cell.iops)
    return low, high


def _tails(measured: Measured) -> Iterator[Plot]:
    """Yield the 99 % response time against outstanding requests, where the document has it."""
    block = measured.table("tail")
    if block is None:
        return
    threads, depths = [float(name) for name in block.rows], [float(name) for name in block.columns]
    series = tuple(
        Series(
            f"TC {tc:g}", [tc * qd for qd in depths],
            [value * 1e-3 if isinstance(value, int | float) else None for value in row],
        )
        for tc, row in zip(threads, block.values, strict=True)
    )  # fmt: skip
    totals = sorted({tc * qd for tc in threads for qd in depths})
    ticks = _powers(tuple((total, f"{total:g}") for total in totals))
    yield Plot(
        "p99-oio", "99 % response time against outstanding requests",
        Axis("outstanding requests in all (OIO = TC × QD)", "log", ticks),
        Axis("99 % response time, ms", "log"), series,
        "Of all requests of the window together.", ordered=True,
    )  # fmt: skip


def _demand(
    iops: dict[Key, float],
    arts: dict[Key, float],
    points: Sequence[OperatingPoint],
    ends: tuple[dict[Key, float], dict[Key, float]],
) -> Iterator[Plot | Relief]:
    threads = sorted({tc for tc, _ in iops})
    depths = sorted({qd for _, qd in iops})
    if not threads or not depths:
        return
    ticks = tuple((depth, f"{depth:g}") for depth in depths)
    variation = tuple(
        Series(
            f"TC {tc:g}", depths, [iops.get((tc, qd)) for qd in depths],
            low=[ends[0].get((tc, qd)) for qd in depths],
            high=[ends[1].get((tc, qd)) for qd in depths],
        )
        for tc in threads
    )  # fmt: skip
    yield Plot(
        "demand-variation",
        "Demand variation: IOPS against queue depth",
        Axis("queue depth (QD)", "log", ticks),
        Axis("IOPS", zero=True),
        variation,
        "One series for each thread count; upright lines go from the least to the greatest round.",
        ordered=True,
    )
    yield _intensity(iops, arts, points, threads)
    totals = sorted({tc * qd for tc, qd in iops})
    steps = tuple((total, f"{total:g}") for total in totals if float(total).is_integer())
    axis = Axis("outstanding requests in all (OIO = TC × QD)", "log", _powers(steps))
    for name, grid, y in (
        ("iops-oio", iops, Axis("IOPS", zero=True)),
        ("art-oio", arts, Axis("ART, ms", "log")),
    ):
        series = tuple(
            Series(f"TC {tc:g}", [tc * qd for qd in depths], [grid.get((tc, qd)) for qd in depths])
            for tc in threads
        )
        title = f"{y.label.split(',')[0]} against outstanding requests"
        yield Plot(name, title, axis, y, series, ordered=True)
    if len(threads) > 1 and len(depths) > 1:
        yield Relief(
            "iops-3d", "IOPS by threads and queue depth, 3-D", "queue depth", "threads",
            Axis("IOPS", zero=True), tuple(f"{qd:g}" for qd in depths),
            tuple(f"{tc:g}" for tc in threads),
            tuple(tuple(iops.get((tc, qd)) for qd in depths) for tc in threads), "columns",
        )  # fmt: skip


def _powers(ticks: tuple[tuple[float, str], ...]) -> tuple[tuple[float, str], ...]:
    """Return the ticks at powers of two, so that they do not run into each other."""
    return tuple(tick for tick in ticks if int(tick[0]) & (int(tick[0]) - 1) == 0)


def _intensity(
    iops: dict[Key, float],
    arts: dict[Key, float],
    points: Sequence[OperatingPoint],
    threads: list[float],
) -> Plot:
    lines = []
    for tc in threads:
        keys = sorted(key for key in iops if key[0] == tc)
        lines.append(
            Series(f"TC {tc:g}", [iops[key] for key in keys], [arts.get(key) for key in keys])
        )
    places: dict[Key, list[str]] = {}
    for point in points:
        places.setdefault((float(point.iops), float(point.lat_us_mean)), []).append(point.name)
    if places:
        lines.append(
            Series(
                "operating points",
                [rate for rate, _ in places],
                [tables.ms(mean) for _, mean in places],
                draw="points",
                # Beyond the end of the ordered colours: it belongs to no thread count.
                colour=-2,
                texts=[", ".join(names) for names in places.values()],
            )
        )
    most = max(arts.values(), default=0.0)
    marks = (Mark("y", ART_MS_MAX, f"{ART_MS_MAX:g} ms"),) if most > ART_MS_MAX / 10 else ()
    return Plot(
        "demand-intensity",
        "Demand intensity: mean response time against IOPS",
        Axis("IOPS", zero=True),
        Axis("ART, ms", "log"),
        tuple(lines),
        "One series for each thread count; along it the queue depth grows.",
        marks,
        ordered=True,
    )


def _processor(cells: Sequence[pts.Cell], states: Sequence[pts.Steady]) -> Iterator[Relief]:
    """Yield the load of the host's processors, where it was measured."""
    grid = _grid(cells, states, "cpu_pct", 1.0)
    threads = sorted({tc for tc, _ in grid})
    depths = sorted({qd for _, qd in grid})
    if len(threads) < 2 or len(depths) < 2:
        return
    yield Relief(
        "cpu-3d", "Host processor time, 3-D", "queue depth", "threads",
        Axis("CPU, %", zero=True), tuple(f"{qd:g}" for qd in depths),
        tuple(f"{tc:g}" for tc in threads),
        tuple(tuple(grid.get((tc, qd)) for qd in depths) for tc in threads), "columns",
    )  # fmt: skip


def _histograms(measured: Measured) -> Iterator[Item]:
    """Yield the histograms of the points, then those of the writes before them."""
    before = tuple(one for one in measured.histograms if one.id.startswith("prewrite"))
    points = tuple(one for one in measured.histograms if one not in before)
    whole = response.of_test(measured)
    yield from response.items(replace(whole, histograms=points))
    title = "writes before a point"
    yield from response.items(replace(whole, histograms=before, suffix="-prewrite", title=title))


def _convergence(
    measured: Measured,
    rounds: Sequence[pts.Cell],
    first: Sequence[pts.Steady],
    second: Sequence[pts.Steady],
) -> Iterator[Section]:
    items = list(steady.items(first, "precondition"))
    if items:
        yield Section(
            "preconditioning", "Preconditioning, writes only", tuple(items), steady.lead(first)
        )
    prewrites = [cell for cell in measured.in_phase("prewrite") if cell.round is not None]
    most = max((cell.threads or 0 for cell in rounds), default=0)
    plots = [
        steady.convergence(
            prewrites, "iops", title="Writes before each round: IOPS", name="prewrites"
        ),
        steady.convergence(
            [cell for cell in rounds if cell.threads == most],
            "iops",
            title=f"TC {most:g}: IOPS against round, all queue depths",
            name="rounds",
            split="queue_depth",
        ),
    ]
    shown: list[Item] = [plot for plot in plots if plot]
    shown += steady.items(second, "rounds")
    yield Section("convergence", "Convergence of the rounds", tuple(shown), steady.lead(second))
