"""Identify: six cells that pin a drive, and the properties that follow from them.

    purge | 1 sequential | 2 uniform | 6 probe next to two loads
    purge | half filled  | 3 uniform on it, the rest empty
    purge | one pass     | 4 a part static, every piece timed
    purge | one pass     | 5 skewed

Cell 1 writes the whole drive by requests of 512 KiB, one at a time, and is the pass before cell 2;
cell 6 comes after cell 2, which leaves the drive as that test needs it. All the rest are courses of
`skew` and `fill`, and points of `load`: about 25 drive writes. `reading` draws the conclusions.

A cell that cannot be had is left out with its reason: half of a drive that was not really purged is
not empty. One that is not steady at its end keeps its rates and has no figure.

Source: method of opennandlab; the patterns, and drive writes, of SSD-iq (G. Haas and co-authors).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from msgspec import structs

from opennandlab.core.config import described_device
from opennandlab.core.shrinking import row_units
from opennandlab.documents.pts import Table
from opennandlab.documents.pts_inside import IdentifyPoint, IdentifyResults, LoadPoint, Reading
from opennandlab.pts.bench.document import listing
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.plan import Option
from opennandlab.pts.bench.test import Test
from opennandlab.pts.tests.inside import course, load, reading, skew
from opennandlab.pts.tests.inside.facts import inside_of
from opennandlab.pts.tests.inside.reference import Ratio, ratio_at

SKEWED = ("zipf:0.8", "hot:0.1:0.9")
STATIC = f"static:{reading.STATIC:g}"
HALF = 0.5
# Of the probe, half of them reads; and all writes: a rate, and a part of cell 2's.
PROBE_PER_S, LOW_PER_S, PART = 10_000.0, 10_000.0, 0.6
PROBE_WRITES_PER_S = PROBE_PER_S * (1.0 - load.PROBE_READ_PCT / 100.0)
LOAD_THREADS, LOAD_DEPTH = load.LOAD["E"]
# Longer than in a course, since collections come in bursts.
WINDOW = 0.1
# Part of a row's rate that the slowest die leaves, if dies and blocks differ by 3 %.
EVENNESS = 0.94


@dataclass
class _Cells:
    """The cells that were measured."""

    bench: Bench
    points: list[IdentifyPoint] = field(default_factory=list)
    ratios: dict[float, Ratio] = field(default_factory=dict)

    def add(self, point: IdentifyPoint) -> None:
        """Take a cell: a run that is cut afterwards has it."""
        self.points.append(point)
        if point.note:
            self.bench.warn(f"cell {point.cell}, {point.pattern}: {point.note}")
        self.bench.record.so_far = self.found()

    def found(self) -> Findings:
        """Return the cells until now, and the properties that follow."""
        points = sorted(self.points, key=lambda point: point.cell)
        space, known = reading.space_of(points), _known(self.bench)
        if space.is_bound:
            known = replace(known, row_bytes=None)
        ratio = None
        if space.alpha is not None:
            # To three digits, so that no last bit of a rate decides how a drive is built.
            alpha = round(space.alpha, 3)
            ratio = self.ratios.setdefault(alpha, ratio_at(alpha))
        sigma, word = reading.policy(points, space, ratio)
        rows = [*reading.readings(points, space, known, (sigma, word))]
        rows += reading.hot_data(points, ratio)
        rows += reading.scheduler(points, reading.wordline_us(points, known))
        rows.append(reading.left_open(rows))
        results = IdentifyResults(
            alpha=space.alpha and space.alpha * known.share,
            sigma=sigma,
            policy=word,
            points=points,
            readings=rows,
            waf_missing=self.bench.target.waf_missing or None,
        )
        return Findings(results, tables=_tables(points, rows))


def run(bench: Bench) -> Findings:
    """Measure the cells, in the order that writes least."""
    found = _Cells(bench)
    bench.purge(group="1 sequential")
    found.add(_cell(bench, 1, "sequential"))
    found.add(_cell(bench, 2, "uniform"))
    # To whole writes, which a command can repeat.
    part = float(round(PART * (reading.at_end(found.points[1]) or 0.0) * 1e6 / course.SMALL))
    found.add(_load(bench, LOW_PER_S))
    if part > PROBE_WRITES_PER_S:
        found.add(_load(bench, part))
    else:
        bench.warn(
            f"cell 6: {PART:g} of cell 2's rate is {part:.0f} writes/s: less than the probe's"
        )
    for number, pattern in ((3, "uniform"), (4, STATIC), (5, bench.plan.text("skewed"))):
        found.add(_cell(bench, number, pattern))
    return found.found()


def _cell(bench: Bench, number: int, pattern: str) -> IdentifyPoint:
    """Measure a cell of writes; those from the third on begin with a purge."""
    one = _course(bench, number, pattern)
    group, part = one.group, one.stimulus.active_range
    if number > 2:
        bench.purge(group=group)
    point = IdentifyPoint(
        cell=number,
        pattern=pattern,
        region_bytes=one.unit_bytes,
        block_size_bytes=course.LARGE if number == 1 else course.SMALL,
        queue_depth=one.stimulus.outstanding,
    )
    done = bench.record.purge
    if number == 3 and done is not None and not done.is_purge:
        why = f"not measured: {done.method} leaves no part of the drive empty"
        return structs.replace(point, note=why)
    if number > 2:
        course.prepare(bench, group, "sequential", part)
    return _ended(bench, point, course.write(bench, one))


def _course(bench: Bench, number: int, pattern: str) -> course.Course:
    plan = bench.plan
    share = plan.active_range.share * (HALF if number == 3 else 1.0)
    part = course.over(share, plan.active_range)
    stimulus = bench.stimulus(block_bytes=course.SMALL, active_range=part)
    writes = 1.0
    if number == 1:
        stimulus = replace(
            stimulus, pattern="sequential", block_bytes=course.LARGE, threads=1, queue_depth=1
        )
    else:
        (skewed,) = skew.patterns(pattern)
        stimulus = skewed.applied(stimulus)
        writes = course.writes_of(bench, plan.number("drive_writes"), skewed.writes)
    return course.Course(
        group=f"{number} {pattern}",
        stimulus=stimulus,
        unit_bytes=course.whole(plan.time.capacity_bytes * share),
        writes=writes,
        timed={1: "all", 4: "each"}.get(number, "end"),
        window=WINDOW,
    )


def _ended(bench: Bench, point: IdentifyPoint, done: course.End) -> IdentifyPoint:
    """Return a cell with its figures; none if it was not steady."""
    verdict, notes = done.verdict, []
    if not verdict.steady:
        notes.append(f"not steady at the end ({verdict.reason})")
    elif done.waf is None and not bench.target.waf_missing:
        notes.append("no WAF: the counter of flash programs did not change")
    return structs.replace(
        point,
        mb_s=done.mb_s if verdict.steady else None,
        waf=done.waf if verdict.steady else None,
        first_mb_s=done.first_mb_s,
        steady=verdict.steady,
        excursion_pct=done.excursion_pct,
        rates_mb_s=[cell.measurement.mb_s for cell in done.pieces],
        drive_writes=round(done.writes, 2),
        note="; ".join(notes),
    )


def _load(bench: Bench, rate: float) -> IdentifyPoint:
    """Measure a cell of reads next to writes at a rate."""
    plan = bench.plan
    writes = bench.stimulus(
        block_bytes=course.SMALL,
        read_pct=load.LOAD_READ_PCT,
        threads=LOAD_THREADS,
        queue_depth=LOAD_DEPTH,
    )
    limit = load.limit_of(bench, plan.number("seconds"))
    point, cell = load.beside(bench, writes, rate - PROBE_WRITES_PER_S, PROBE_PER_S, limit)
    note = _refused(point)
    figures = {key: getattr(point, key) for key in TIMES}
    figures["mb_s"] = cell.measurement.rate(cell.measurement.writes.bytes * 1e-6)
    figures["waf"] = point.waf or None
    return IdentifyPoint(
        cell=6,
        pattern="load",
        region_bytes=course.whole(plan.range_bytes),
        block_size_bytes=course.SMALL,
        queue_depth=writes.outstanding,
        rate=rate,
        note=note,
        **({} if note else figures),
    )


TIMES = tuple(f"{side}_us_{name}" for side in load.SIDES for name in ("p50", "p99", "p999"))


def _refused(point: LoadPoint) -> str:
    """Return why the response times of a load are those of a full queue; empty if they are not."""
    if not point.is_achieved:
        return (
            f"next to the probe only {point.achieved_per_s:.0f} writes/s of {point.asked_per_s:.0f}"
        )
    probe = point.probe_achieved_per_s
    if probe is not None and probe < load.FED * PROBE_PER_S:
        return f"the probe got only {probe:.0f} requests/s of {PROBE_PER_S:.0f}"
    return ""


def _known(bench: Bench) -> reading.Known:
    """Return the rows of a simulated drive by its file, and the part in use."""
    share, config = bench.plan.active_range.share, bench.facts.device.config
    inside = inside_of(bench)
    if inside is None or config is None:
        return reading.Known(share=share)
    device = described_device(dict(config))[0]
    varies = bool(config["nand"].get("variation"))
    row_bytes = row_units(device) * inside.unit_bytes
    return reading.Known(row_bytes, EVENNESS if varies else 1.0, share)


def _tables(points: list[IdentifyPoint], rows: list[Reading]) -> list[Table]:
    def named(point: IdentifyPoint) -> str:
        where = " on half" if point.cell == 3 else ""
        return f"{point.cell} {point.pattern}{where}" + (
            f", {point.rate:.0f} writes/s" if point.rate is not None else ""
        )

    cells = {named(point): point for point in points}
    loads = {name: point for name, point in cells.items() if point.pattern == "load"}
    written: dict[str, Any] = {
        "MB/s": "mb_s",
        "WAF": "waf",
        "first minute MB/s": "first_mb_s",
        "steady": lambda point: {True: "yes", False: "NO", None: None}[point.steady],
        "spread %": "excursion_pct",
        "drive writes": "drive_writes",
    }
    times: dict[str, Any] = {
        f"{side} {word}, ms": partial(_ms, f"{side}_us_{name}")
        for side in load.SIDES
        for name, word in (("p50", "50 %"), ("p99", "99 %"), ("p999", "99.9 %"))
    }
    told = {"value": "value", "unit": "unit", "meaning": "meaning"}
    unit = "MB/s; 1; %; drive writes"
    named_rows = {row.name: row for row in rows}
    return [
        listing("cells", "The cells", unit, "cell", cells, written),
        listing("latencies", "Response times of the probe", "ms", "cell", loads, times),
        listing("readings", "Properties of the drive", "", "of", named_rows, told),
    ]


def _ms(name: str, point: IdentifyPoint) -> float | None:
    us = getattr(point, name)
    return None if us is None else us * 1e-3


TEST = Test(
    name="identify",
    title="Six cells that pin a drive",
    summary="Six cells that reveal spare area, policy and scheduler; for `calibrate` too.",
    run=run,
    load=skew.LOAD,
    wipc=False,
    cache_enabled=True,
    options=(
        Option("skewed", SKEWED[0], "Pattern of cell 5.", choices=SKEWED),
        Option("drive_writes", 0.0, "Drive writes of cells 2 to 5; 0 means 5 (static and hot: 7)."),
        Option("seconds", 0.0, "Length of each load of cell 6; 0: as in the time base."),
    ),
)
