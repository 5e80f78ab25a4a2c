"""Demand: a pattern under 49 combinations of threads and queue depth, and histograms of some.

1. Purge, then the pattern as pure writes with TC 32 / QD 32 to the steady state, samples 30 minutes
   apart.
2. Rounds: 5 minutes of such writes, then a minute of each of 7 x 7 combinations of TC and QD with
   decreasing outstanding requests (OIO), until the IOPS of (32, 32) are steady.
3. Operating points from the means of the window. *MaxIOPS*: the most IOPS among combinations whose
   mean response time is below 5 ms; *MinIOPS*: the least IOPS; *MidIOPS*: those nearest to equal
   steps between the two, again below 5 ms; ties go to the smaller OIO, then to fewer threads.
4. At each different point 60 minutes of writes, then 10 minutes of the pattern with every response
   time kept.

Source: SNIA PTS tutorial, Kim and Ho, 2013 (steps, patterns, 5 ms, 10 minutes); published
implementations of PTS-E 2.0 (5 and 60 minutes of writes). Decreasing OIO is read as sorted by
TC x QD, ties by TC; `--order nested` is the other reading, TC outside and QD inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from opennandlab.documents.pts import Histogram, Table
from opennandlab.documents.pts_demand import DemandResults, OperatingPoint, PatternFacts
from opennandlab.pts.bench.dispersion import mean_table
from opennandlab.pts.bench.document import histogram, table
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.patterns import Pattern
from opennandlab.pts.bench.plan import Option
from opennandlab.pts.bench.record import Cell
from opennandlab.pts.bench.rounds import CellPlan, Rounds, Tracking, until_steady, write_to_steady

STEPS = (1, 2, 4, 6, 8, 16, 32)
ART_US_MAX = 5000.0
SAME = "the combination of"
HISTOGRAM_S = 10 * 60.0
OPTIONS = (
    Option(
        "order",
        "sorted",
        "Order of the combinations: sorted by outstanding requests, or nested (TC, then QD).",
        choices=("sorted", "nested"),
    ),
    Option(
        "mid_points",
        1,
        "Operating points between MinIOPS and MaxIOPS.",
        minimum=1,
        # More than there are combinations would all be the same ones.
        maximum=len(STEPS) ** 2,
    ),
)


@dataclass(frozen=True)
class Combination:
    """A combination of threads and queue depth, and what it gave.

    Args:
        threads: TC.
        queue_depth: QD.
        iops: Mean of the window.
        latency_us_mean: Mean of the window (ART).
    """

    threads: int
    queue_depth: int
    iops: float
    latency_us_mean: float

    @property
    def outstanding(self) -> int:
        """Requests outstanding in all (OIO)."""
        return self.threads * self.queue_depth

    @property
    def smallness(self) -> tuple[int, int]:
        """What decides a tie: fewer outstanding, then fewer threads."""
        return self.outstanding, self.threads


@dataclass(frozen=True)
class Point:
    """An operating point.

    Args:
        name: `MaxIOPS`, `MinIOPS`, `MidIOPS`; with more of these, `MidIOPS 1`, …
        chosen: The combination.
        target_iops: Target value; None for the ends.
        note: What is unusual about it; empty for nothing.
    """

    name: str
    chosen: Combination
    target_iops: float | None = None
    note: str = ""


def order(kind: str) -> list[tuple[int, int]]:
    """Return the combinations of threads and queue depth in the order in which they run."""
    pairs = [(tc, qd) for tc in reversed(STEPS) for qd in reversed(STEPS)]
    if kind == "nested":
        return pairs
    return sorted(pairs, key=lambda pair: (-pair[0] * pair[1], -pair[0]))


def points(found: Sequence[Combination], mid_count: int = 1) -> list[Point]:
    """Choose MaxIOPS, MinIOPS and MidIOPS, in this order.

    >>> few = [Combination(1, 1, 100.0, 90.0), Combination(2, 1, 190.0, 95.0)]
    >>> [point.chosen.iops for point in points(few)]
    [190.0, 100.0, 100.0]
    """
    quick = [one for one in found if one.latency_us_mean < ART_US_MAX]
    if quick:
        most = max(one.iops for one in quick)
        best = min((one for one in quick if one.iops == most), key=lambda one: one.smallness)
        top = Point("MaxIOPS", best)
    else:
        best = min(found, key=lambda one: (one.latency_us_mean, *one.smallness))
        top = Point("MaxIOPS", best, note="none under 5 ms: the one with the lowest ART")
    least = min(found, key=lambda one: (one.iops, *one.smallness))
    chosen = [top, Point("MinIOPS", least)]
    for number in range(1, mid_count + 1):
        target = least.iops + number * (best.iops - least.iops) / (mid_count + 1)
        near = _nearest(quick or found, target)
        note = "" if quick else "none under 5 ms"
        name = "MidIOPS" if mid_count == 1 else f"MidIOPS {number}"
        chosen.append(Point(name, near, target, note))
    return [_marked(point, chosen[:place]) for place, point in enumerate(chosen)]


def _marked(point: Point, before: Sequence[Point]) -> Point:
    """Note where a point is one that was chosen already: it is not measured twice."""
    same = next((one.name for one in before if one.chosen == point.chosen), None)
    if same is None:
        return point
    return replace(point, note="; ".join(filter(None, (f"{SAME} {same}", point.note))))


def _nearest(found: Sequence[Combination], iops: float) -> Combination:
    return min(found, key=lambda one: (abs(one.iops - iops), *one.smallness))


def run(bench: Bench, pattern: Pattern) -> Findings:
    """Run the four steps with a pattern."""
    bench.purge()
    if bench.plan.time.fills_first():
        bench.fill_range(bench.plan.wipc_range)
    writes = bench.stimulus(**pattern.writes(bench.plan.sector_bytes))
    before = write_to_steady(bench, writes, f"{pattern.name.upper()} 0/100")
    pairs = order(bench.plan.text("order"))
    rounds = _rounds(bench, pattern, pairs)
    combinations = [
        Combination(*pair, rounds.mean(at, "iops") or 0.0, rounds.mean(at, "lat_us_mean") or 0.0)
        for at, pair in enumerate(pairs)
    ]
    chosen = points(combinations, int(bench.plan.number("mid_points")))
    kept = [
        one
        for point in chosen
        if not point.note.startswith(SAME)
        for one in _histograms(bench, pattern, point)
    ]
    single = combinations[pairs.index((1, 1))]
    return Findings(
        results=DemandResults(
            attained=before.attained and rounds.attained,
            pattern=PatternFacts(
                name=pattern.name,
                title=pattern.title,
                read_pct=pattern.read_pct,
                blocks=pattern.blocks
                if isinstance(pattern.blocks, int)
                else [list(pair) for pair in pattern.blocks],
                zones=[[zone.range_share, zone.access_share] for zone in pattern.zones],
            ),
            points=[_point(point, rounds, pairs) for point in chosen],
            single_iops=single.iops,
        ),
        tables=[
            _grid(pairs, rounds, "iops", "iops", "IOPS", "IOPS"),
            _grid(pairs, rounds, "lat_us_mean", "art", "Mean response time (ART)", "µs"),
            _tail(pairs, rounds),
            _grid(pairs, rounds, "cpu_pct", "cpu", "Processor time of the host", "%"),
        ],
        histograms=kept,
    )


def _rounds(bench: Bench, pattern: Pattern, pairs: list[tuple[int, int]]) -> Rounds:
    fields = pattern.fields(bench.plan.sector_bytes)
    writes = bench.stimulus(**pattern.writes(bench.plan.sector_bytes))
    plans = []
    for threads, depth in pairs:
        stimulus = bench.stimulus(**fields, threads=threads, queue_depth=depth)
        limit = bench.plan.time.cell(stimulus)
        plans.append(CellPlan(stimulus, limit, f"TC {threads} QD {depth}"))

    def run_round(_: int) -> list[Cell]:
        limit = bench.plan.time.pre_write("round", writes)
        bench.measure(writes, limit, label="pre-write", part="prewrite")
        return [bench.measure(plan.stimulus, plan.limit, label=plan.label) for plan in plans]

    at = pairs.index((32, 32))
    tracked = [Tracking("iops", at, plans[at])]
    return until_steady(bench, run_round, tracked, cells=len(plans) + 1)


def _histograms(bench: Bench, pattern: Pattern, point: Point) -> list[Histogram]:
    """Return the response times at a point, and those of the writes before it."""
    fields = pattern.fields(bench.plan.sector_bytes)
    stimulus = bench.stimulus(
        **fields, threads=point.chosen.threads, queue_depth=point.chosen.queue_depth
    )
    bench.restart_point()
    with bench.phase("point", group=point.name, cells=2):
        writes = bench.stimulus(
            **pattern.writes(bench.plan.sector_bytes),
            threads=stimulus.threads,
            queue_depth=stimulus.queue_depth,
        )
        before = bench.measure(
            writes,
            bench.plan.time.pre_write("point", writes),
            label=f"{point.name} pre-write",
            part="prewrite",
        )
        limit = bench.plan.time.histogram(HISTOGRAM_S, stimulus)
        sample_s = bench.plan.time.sample_s
        cell = bench.measure(stimulus, limit, label=point.name, sample_s=sample_s)
    identity = point.name.lower().replace("iops", "_iops").replace(" ", "_")
    title = f"{point.name}, TC {stimulus.threads} QD {stimulus.queue_depth}"
    return [
        histogram(identity, title, cell.latency, iops=cell.iops),
        histogram(
            f"prewrite_{identity}", f"Writes before {title}", before.latency, iops=before.iops
        ),
    ]


def _point(point: Point, rounds: Rounds, pairs: list[tuple[int, int]]) -> OperatingPoint:
    at = pairs.index((point.chosen.threads, point.chosen.queue_depth))
    return OperatingPoint(
        name=point.name,
        threads=point.chosen.threads,
        queue_depth=point.chosen.queue_depth,
        iops=point.chosen.iops,
        lat_us_mean=point.chosen.latency_us_mean,
        target_iops=point.target_iops,
        note=point.note,
        iops_min=rounds.minimum(at, "iops"),
        iops_max=rounds.maximum(at, "iops"),
    )


def _grid(  # noqa: PLR0913, PLR0917 (a table has these parts)
    pairs: list[tuple[int, int]],
    rounds: Rounds,
    metric: str,
    identity: str,
    title: str,
    unit: str,
) -> Table:
    places = [[(rounds, pairs.index((tc, qd))) for qd in STEPS] for tc in STEPS]
    return mean_table(
        places,
        metric,
        name=identity,
        title=f"{title}, mean of the window",
        unit=unit,
        row_label="Threads (TC)",
        column_label="Queue depth (QD)",
        rows=[str(step) for step in STEPS],
        columns=[str(step) for step in STEPS],
    )


def _tail(pairs: list[tuple[int, int]], rounds: Rounds) -> Table:
    """Return the 99 % response time of all requests of the window together."""

    def found(threads: int, depth: int) -> float | None:
        ns = rounds.latency(pairs.index((threads, depth))).quantile_ns(0.99)
        return None if ns is None else ns * 1e-3

    return table(
        "tail",
        "99 % response time of the window",
        "µs",
        row_label="Threads (TC)",
        column_label="Queue depth (QD)",
        rows=[str(step) for step in STEPS],
        columns=[str(step) for step in STEPS],
        values=[[found(tc, qd) for qd in STEPS] for tc in STEPS],
    )
