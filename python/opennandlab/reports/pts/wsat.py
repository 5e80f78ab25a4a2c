"""Write saturation: how the speed of small random writes falls as the drive fills up, and again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opennandlab.documents import pts
from opennandlab.documents.pts_results import SaturationResults
from opennandlab.reports import words
from opennandlab.reports.figure.model import Axis, Mark, Plot, Scale, Series
from opennandlab.reports.model import Item, Section, Table
from opennandlab.reports.pts import course, response, steady, tables
from opennandlab.reports.pts.course import Across, Course
from opennandlab.reports.pts.source import Measured

# Rows of the table of samples.
TABLE_ROWS = 40


def sections(measured: Measured) -> Iterator[Section]:
    """Yield what a report of the write saturation test shows."""
    cells = [cell for cell in measured.cells if cell.phase not in {"histogram", "wipc", "gap"}]
    yield from tables.results(measured)
    items: list[Item] = list(_speed(measured, cells, "time", course.by_time(cells)))
    items.append(
        course.plot(
            "mb-s-time", "Throughput against time", course.by_time(cells),
            [Course("MB/s", cells, "mb_s")],
        )
    )  # fmt: skip
    yield Section("time", "IOPS and throughput against time", tuple(items))
    written: list[Item] = list(_speed(measured, cells, "tgbw", course.by_written(cells)))
    if measured.capacity_bytes:
        across = course.by_fills(measured.capacity_bytes)
        written += _speed(measured, cells, "fills", across)[:1]
    yield Section("written", "IOPS against what was written", tuple(written))
    latencies = (*_latencies(cells), _response_over_rate(cells))
    yield Section("response", "Response time against time and against IOPS", latencies)
    if any(cell.waf is not None for cell in cells):
        waf = course.plot(
            "waf", "Write amplification against time", course.by_time(cells),
            [Course("WAF", cells, "waf")],
        )  # fmt: skip
        yield Section("waf", "Write amplification", (waf,))
    yield from steady.sections(measured)
    yield Section("samples", "Samples", (_samples(measured, cells),))
    if measured.histograms:
        shown = tuple(response.items(response.of_test(measured)))
        yield Section("histogram", "Response time histogram, after the end", shown)


def _speed(measured: Measured, cells: Sequence[pts.Cell], name: str, across: Across) -> list[Plot]:
    levels = []
    steady_text = "not steady; mean of the window" if measured.attained is False else "steady"
    found = measured.results
    if isinstance(found, SaturationResults):
        stated = ((found.fob_iops, "fresh out of the box"), (found.steady_iops, steady_text))
        for level, text in stated:
            if level is not None:
                levels.append(Mark("y", level, f"{text}: {words.value(level)}"))
    against = {"time": "time", "tgbw": "what was written", "fills": "drive fills"}[name]
    scales: tuple[Scale, Scale] = ("linear", "log")
    return [
        course.plot(
            f"iops-{name}-{scale}",
            f"IOPS against {against}, {scale} scale",
            across,
            [Course("IOPS", cells, "iops")],
            scale=scale,
            marks=tuple(levels),
        )
        for scale in scales
    ]


def _latencies(cells: Sequence[pts.Cell]) -> Iterator[Plot]:
    across = course.by_time(cells)
    rows = (
        ("mean (ART)", "lat_us_mean"),
        ("99 %", "lat_us_p99"),
        ("99.9 %", "lat_us_p999"),
        ("longest (MRT)", "lat_us_max"),
    )
    courses = [
        Course(name, cells, metric, draw="line")
        for name, metric in rows
        if any(cell.number(metric) is not None for cell in cells)
    ]
    yield course.plot(
        "response-time", "Response time against time, log scale", across, courses, scale="log",
        label="response time, ms",
    )  # fmt: skip


def _response_over_rate(cells: Sequence[pts.Cell]) -> Plot:
    """Return mean response time against IOPS: the same load, at every state of the drive."""
    return Plot(
        "art-iops",
        "Mean response time against IOPS",
        Axis("IOPS", zero=True),
        Axis("ART, ms", "log"),
        (
            Series(
                "samples",
                [cell.iops for cell in cells],
                [tables.ms(cell.lat_us_mean) for cell in cells],
                draw="points",
            ),
        ),
        "One point for each sample, from the new drive at the right to the written one.",
    )


def _samples(measured: Measured, cells: Sequence[pts.Cell]) -> Table:
    """Return the samples as a table, evenly thinned."""
    step = max(1, -(-len(cells) // TABLE_ROWS))
    capacity = measured.capacity_bytes
    rows = tuple(
        (
            words.span(cell.end_s),
            cell.written_bytes / 1e9,
            cell.written_bytes / capacity if capacity else None,
            cell.iops,
            cell.mb_s,
            tables.ms(cell.lat_us_mean),
            *(tables.ms(cell.number(metric)) for _, metric in tables.PERCENTILES[1:]),
            tables.ms(cell.lat_us_max),
        )
        for cell in cells[::step]
    )
    heads = (
        "end", "TGBW, GB", "drive fills", "IOPS", "MB/s", "ART, ms",
        *(f"{name}, ms" for name, _ in tables.PERCENTILES[1:]), "MRT, ms",
    )  # fmt: skip
    note = f"One in {step} of {len(cells)} samples. " if step > 1 else ""
    note += tables.MISSING if any(None in row[6:] for row in rows) else ""
    # A percentile that no sample states needs no column.
    known = [
        place
        for place, column in enumerate(zip(*rows, strict=True))
        if any(cell is not None for cell in column)
    ]
    return Table(
        "samples", "Samples", tuple(heads[place] for place in known),
        tuple(tuple(row[place] for place in known) for row in rows), note,
    )  # fmt: skip
