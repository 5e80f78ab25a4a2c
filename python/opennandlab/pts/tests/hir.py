"""Host idle recovery: what a drive makes of the pauses that its host leaves.

After random 4 KiB writes to the steady state (samples 30 minutes apart) come five segments, each
of two parts with u = 5 s:

    wait state n      1     2     3     5     10
    part 1            360 x (u of writes, n u of idle)
    part 2            360 x u of writes, no idle: back to where it was

A sample is the IOPS of one u of writes. The recovery gain is part 1 over the steady level, the
return ratio part 2 over it. A steady level may still fall by the 10 % that the rule allows, which
pulls every gain down with it; so the gain over the part 2 before is given as well.

Source: SNIA PTS tutorial, Kim and Ho, 2013; the ratios are of the implementation.
"""

from __future__ import annotations

from opennandlab.documents.pts_results import IdleResults, IdleSegment
from opennandlab.pts.bench.document import listing
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.plan import PUBLISHED, RANDOM_LOAD
from opennandlab.pts.bench.record import Cell
from opennandlab.pts.bench.rounds import mean, write_to_steady
from opennandlab.pts.bench.test import Test
from opennandlab.pts.bench.words import name
from opennandlab.targets.base import Limit, Stimulus

KIB = 1024
WAIT_STATES = (1, 2, 3, 5, 10)


def run(bench: Bench) -> Findings:
    """Purge, write to the steady state, then run the five segments."""
    bench.purge()
    stimulus = bench.stimulus(block_bytes=4 * KIB)
    rounds = write_to_steady(bench, stimulus, name(stimulus))
    steady = rounds.mean(0, "iops")
    segments: list[IdleSegment] = []
    for number, wait in enumerate(WAIT_STATES, start=1):
        before = segments[-1].part2_iops if segments else steady
        segments.append(_segment(bench, stimulus, number, wait, (steady, before)))
    return Findings(
        results=IdleResults(
            attained=rounds.attained,
            baseline_iops=steady,
            unit_s=bench.plan.time.idle_unit_s(),
            loops=bench.plan.time.idle_loops,
            segments=segments,
        ),
        tables=[
            listing(
                "segments",
                "Host idle recovery",
                "IOPS; ratios to the steady state",
                "Wait state",
                {str(segment.wait_state): segment for segment in segments},
                {
                    "Part 1": "part1_iops",
                    "Part 2": "part2_iops",
                    "Recovery gain": "gain",
                    "over part 2 before": "gain_before",
                    "Return ratio": "return_ratio",
                },
            )
        ],
    )


def _segment(
    bench: Bench,
    stimulus: Stimulus,
    number: int,
    wait: int,
    bases: tuple[float | None, float | None],
) -> IdleSegment:
    """Run both parts; `bases` are the steady level and that of the part before."""
    steady, before = bases
    unit_s = bench.plan.time.idle_unit_s()
    idle_s = wait * unit_s
    parts: list[list[Cell]] = []
    bench.restart_point()
    start_s = bench.clock_s
    for word, rest_s in (("active", idle_s), ("return", 0.0)):
        cells = []
        loops = bench.plan.time.idle_loops
        label = f"wait {wait} {word}"
        with bench.phase("segment", group=label, cells=loops):
            for _ in range(loops):
                cells.append(bench.measure(stimulus, Limit(seconds=unit_s), label=label))
                if rest_s:
                    bench.idle(rest_s)
        parts.append(cells)
    rates = (mean([cell.iops for cell in cells]) for cells in parts)
    first, second = (bench.plan.time.rate(rate) for rate in rates)
    return IdleSegment(
        segment=number,
        wait_state=wait,
        idle_s=idle_s,
        part1_iops=first,
        part2_iops=second,
        gain=bench.plan.time.ratio(first, steady),
        gain_before=bench.plan.time.ratio(first, before),
        return_ratio=bench.plan.time.ratio(second, steady),
        start_s=start_s,
        end_s=bench.clock_s,
    )


TEST = Test(
    name="hir",
    title="Host idle recovery",
    summary="Random writes with pauses of five lengths: how much speed idle time restores.",
    run=run,
    client_from=PUBLISHED,
    load=RANDOM_LOAD,
    wipc=False,
)
