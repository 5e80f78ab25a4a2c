"""The tests that look into an FTL: curves of rate, write amplification and response times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from opennandlab.documents.pts_inside import (
    FillResults,
    IdentifyResults,
    LoadResults,
    SkewResults,
    ZonesResults,
)
from opennandlab.reports.figure.model import Axis, Mark, Plot, Series
from opennandlab.reports.model import Item, Section
from opennandlab.reports.pts import response, tables
from opennandlab.reports.pts.source import Measured

MIB = 1 << 20
# As the tests have it.
PLATEAU = 0.9


def skew(measured: Measured) -> Iterator[Section]:
    """Yield the rates of the patterns, new and steady, and their write amplification."""
    found, items = measured.results, list[Item]()
    if isinstance(found, SkewResults) and found.points:
        points = found.points
        places = [float(place) for place in range(len(points))]
        axis = Axis(
            "pattern",
            ticks=tuple(zip(places, (point.pattern for point in points), strict=True)),
        )
        steady = Series("steady", places, [point.steady_mb_s for point in points], "dots")
        first = Series("first minute", places, [point.first_mb_s for point in points], "points")
        rate = Axis("MB/s", zero=True)
        items.append(Plot("skew-mb-s", "Throughput by pattern", axis, rate, (steady, first)))
        waf = Series("WAF", places, [point.waf for point in points], "dots")
        # A real drive without a counter of its flash has none; `waf_missing` states why.
        if _has_values(waf):
            items.append(_waf("skew-waf", "Write amplification by pattern", axis, (waf,)))
    lead = (
        "A drive that keeps hot and cold data apart gets faster with skew; one that mixes them "
        "moves cold pages again and again."
    )
    yield Section("skew", "Skewed writes", (*items, *tables.of_blocks(measured)), lead)
    yield from _reasons(measured)


def fill(measured: Measured) -> Iterator[Section]:
    """Yield rate and write amplification by the share in use, and what theory expects."""
    found, items = measured.results, list[Item]()
    if isinstance(found, FillResults) and found.points:
        shares = [float(point.pct) for point in found.points]
        axis = Axis("in use, % of the user capacity")
        lines = [Series("measured", shares, [point.waf for point in found.points], "dots")]
        predicted = [point.waf_predicted for point in found.points]
        if any(value is not None for value in predicted):
            lines.append(Series("closed form (greedy)", shares, predicted, "dashed", colour=-1))
        if any(map(_has_values, lines)):
            items.append(
                _waf("fill-waf", "Write amplification by the share in use", axis, tuple(lines))
            )
        rates = Series("steady", shares, [point.mb_s for point in found.points], "dots")
        title = "Throughput by the share in use"
        items.append(Plot("fill-mb-s", title, axis, Axis("MB/s", zero=True), (rates,)))
    lead = "What is not in use is spare area: the drive moves less for every page that it writes."
    yield Section("fill", "Filled fraction", (*items, *tables.of_blocks(measured)), lead)
    yield from _reasons(measured)


def zones(measured: Measured) -> Iterator[Section]:
    """Yield rates by the size of a zone, and by how many are open."""
    found, items = measured.results, list[Item]()
    if isinstance(found, ZonesResults) and found.points:
        floor = (Mark("y", PLATEAU * found.plateau_mb_s, "0.9 of the plateau"),)
        one = sorted(
            (point for point in found.points if point.open == 1), key=lambda it: it.zone_bytes
        )
        sizes = [point.zone_bytes / MIB for point in one]
        marks = list(floor)
        if found.superblock_bytes_declared is not None:
            declared = found.superblock_bytes_declared / MIB
            marks.append(Mark("x", declared, "superblock of the device file"))
        line = Series("MB/s", sizes, [point.mb_s for point in one])
        items.append(
            Plot(
                "zones-size",
                "Throughput by the size of a zone, one open",
                Axis("zone, MiB", "log"),
                Axis("MB/s", zero=True),
                (line,),
                marks=tuple(marks),
            )
        )
        several = [p for p in found.points if p.zone_bytes == found.counted_zone_bytes]
        if len(several) > 1:
            several.sort(key=lambda point: point.open)
            counts = [float(point.open) for point in several]
            items.append(
                Plot(
                    "zones-open",
                    f"Throughput by open zones of {several[0].zone_bytes / MIB:g} MiB",
                    Axis("open zones", "log", tuple((at, f"{at:g}") for at in counts)),
                    Axis("MB/s", zero=True),
                    (Series("MB/s", counts, [point.mb_s for point in several]),),
                    marks=floor,
                )
            )
    lead = (
        "Zones smaller than a superblock share it, and so do zones that are written in turn where "
        "fewer superblocks are open: then a trim frees none of them alone."
    )
    yield Section("zones", "Zones with trim", (*items, *tables.of_blocks(measured)), lead)
    yield from _reasons(measured)


# Below so many writes per second they are not counted in thousands.
SLOW_PER_S = 2000


def load(measured: Measured) -> Iterator[Section]:
    """Yield response times of the probe by the load, and their histograms."""
    found, items = measured.results, list[Item]()
    if isinstance(found, LoadResults) and found.points:
        points = sorted(found.points, key=lambda point: point.asked_per_s)
        # A drive of a few hundred writes per second has no thousands.
        is_slow = points[-1].asked_per_s < SLOW_PER_S
        unit, asked_for, count = (
            (1.0, "writes asked for, 1/s", "writes/s")
            if is_slow
            else (1e3, "writes asked for, 1000/s", "1000 writes/s")
        )
        rates = [point.asked_per_s / unit for point in points]
        marks = []
        if found.knee_per_s is not None:
            marks.append(Mark("x", found.knee_per_s / unit, "knee"))
        for side in ("read", "write"):
            lines = tuple(
                Series(
                    text, rates, [tables.ms(getattr(point, f"{side}_us_{key}")) for point in points]
                )
                for key, text in (
                    ("p50", "50 %"),
                    ("p99", "99 %"),
                    ("p999", "99.9 %"),
                    ("p9999", "99.99 %"),
                )
            )
            items.append(
                Plot(
                    f"load-{side}s",
                    f"Response times of the probe's {side}s by the load",
                    Axis(asked_for, zero=True),
                    Axis("response time, ms", "log"),
                    lines,
                    marks=tuple(marks),
                    ordered=True,
                )
            )
        achieved = Series("achieved", rates, [point.achieved_per_s / unit for point in points])
        items.append(
            Plot(
                "load-achieved",
                "Writes achieved by writes asked for",
                Axis(asked_for, zero=True),
                Axis(count, zero=True),
                (achieved, Series("asked for", rates, rates, "dashed", colour=-1)),
            )
        )
    lead = (
        "A response time begins when the drive is given a request; beyond saturation requests wait "
        "before that, and the achieved rate is below the one asked for."
    )
    yield Section("load", "Latency against load", (*items, *tables.of_blocks(measured)), lead)
    if measured.histograms:
        shown = response.items(replace(response.of_test(measured), is_open=True))
        yield Section("histograms", "Reads of the probe", tuple(shown))
    yield from tables.results(measured)


def identify(measured: Measured) -> Iterator[Section]:
    """Yield the rates over the cells of which all pieces were measured, and the tables."""
    found, items = measured.results, list[Item]()
    if isinstance(found, IdentifyResults):
        lines = tuple(
            Series(
                f"{one.cell} {one.pattern}",
                [100.0 * (at + 1) / len(one.rates_mb_s) for at in range(len(one.rates_mb_s))],
                [*one.rates_mb_s],
            )
            for one in found.points
            if one.cell in {1, 4} and one.rates_mb_s
        )
        axis, rate = Axis("of the cell, %", zero=True), Axis("MB/s", zero=True)
        if lines:
            items.append(Plot("identify-mb-s", "Throughput over a cell", axis, rate, lines))
    lead = "A step in cell 1 is an SLC cache; a rate of cell 4 that keeps falling is housekeeping."
    yield Section("identify", "The cells", (*items, *tables.of_blocks(measured)), lead)
    yield from _reasons(measured)


def _has_values(line: Series) -> bool:
    return any(value is not None for value in line.y)


def _waf(name: str, title: str, axis: Axis, lines: tuple[Series, ...]) -> Plot:
    return Plot(name, title, axis, Axis("bytes programmed per byte written", zero=True), lines)


def _reasons(measured: Measured) -> Iterator[Section]:
    yield from tables.results(measured)
