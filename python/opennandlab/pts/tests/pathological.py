"""The pathological write condition, and what each way out of it gives.

Three things together are the worst that can be asked of a drive: most of its capacity is in use,
what is written has nothing to do with what was written at about the same time, and there is no
pause. Random 4 KiB writes to a full drive without idle time, to the steady state, are the baseline;
then one condition is relaxed at a time: half of the range, sequential writes, hot and cold data,
and pauses (5 s of writes, 5 s of idle).

Source: SNIA NAND performance tutorial, L. Smith, 2009; the relaxations are of the implementation.
"""

from __future__ import annotations

from dataclasses import replace

from opennandlab.documents.pts_results import PathologicalResults, WriteCase
from opennandlab.pts.bench.document import table
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.plan import RANDOM_LOAD
from opennandlab.pts.bench.record import Cell
from opennandlab.pts.bench.rounds import (
    CellPlan,
    Rounds,
    Tracking,
    mean,
    until_steady,
    write_to_steady,
)
from opennandlab.pts.bench.test import Test
from opennandlab.targets.base import ActiveRange, Limit, Stimulus, Zone

HALF = 0.5
# Four fifths of the writes to one fifth of the range.
HOT = (Zone(0.2, 0.8), Zone(0.8, 0.2))


def run(bench: Bench) -> Findings:
    """Measure the baseline and each relaxation, each from a purge."""
    base = bench.stimulus(block_bytes=4096)
    part = ActiveRange(share=HALF * base.active_range.share, seed=base.active_range.seed)
    cases: dict[str, Stimulus] = {
        "baseline": base,
        "half the range": replace(base, active_range=part),
        "sequential": replace(base, pattern="sequential", block_bytes=128 << 10),
        "hot and cold": replace(base, zones=HOT),
        "pauses": base,
    }
    found = {name: _case(bench, name, stimulus) for name, stimulus in cases.items()}
    # In pages of 4 KiB, so that sequential writes of large blocks compare.
    speeds = {name: rounds.mean(0, "write_mb_s") for name, rounds in found.items()}
    wafs = {name: mean([cell.waf for cell in rounds.windowed(0)]) for name, rounds in found.items()}
    first = speeds["baseline"]
    rows = [
        WriteCase(
            name=name,
            write_mb_s=speed,
            iops_4kib=None if speed is None else speed * 1e6 / 4096,
            waf=wafs[name],
            ratio=bench.plan.time.ratio(speed, first),
            attained=found[name].attained,
        )
        for name, speed in speeds.items()
    ]
    return Findings(
        results=PathologicalResults(attained=all(row.attained for row in rows), cases=rows),
        tables=[
            table(
                "pathological",
                "Relaxing one condition at a time",
                "4 KiB per second; ratios",
                row_label="Condition",
                column_label="",
                rows=list(cases),
                columns=["4 KiB writes per s", "WAF", "ratio to the baseline"],
                values=[[row.iops_4kib, row.waf, row.ratio] for row in rows],
            )
        ],
    )


def _case(bench: Bench, name: str, stimulus: Stimulus) -> Rounds:
    bench.purge(group=name)
    fill = replace(stimulus, pattern="sequential", block_bytes=128 << 10, zones=())
    share = stimulus.active_range.share
    limit = bench.plan.time.capacities(bench.wipc_capacities() * share)
    with bench.phase("fill", group=name, cells=1):
        bench.fill(fill, limit, label="fill")
    if name != "pauses":
        return write_to_steady(bench, stimulus, name, phase="round", group=name)
    return _with_pauses(bench, stimulus, name)


def _with_pauses(bench: Bench, stimulus: Stimulus, name: str) -> Rounds:
    """Write as much as between two samples, with a pause after each piece."""
    unit_s = bench.plan.time.idle_unit_s()
    limit = Limit(seconds=unit_s)
    gap = bench.plan.time.gap(stimulus)

    def run_round(_: int) -> list[Cell]:
        cells: list[Cell] = []
        while not cells or not _is_over(cells, gap):
            cells.append(bench.measure(stimulus, limit, label=name, part="gap"))
            bench.idle(unit_s)
        sample = bench.measure(stimulus, limit, label=name)
        bench.idle(unit_s)
        return [sample]

    tracked = [Tracking("iops", 0, CellPlan(stimulus, limit, name))]
    return until_steady(bench, run_round, tracked, group=name)


def _is_over(cells: list[Cell], gap: Limit) -> bool:
    if gap.bytes:
        return sum(cell.measurement.written_bytes for cell in cells) >= gap.bytes
    return sum(cell.measurement.elapsed_s or 0.0 for cell in cells) >= gap.seconds


TEST = Test(
    name="pathological",
    title="Pathological write condition",
    summary="Random writes to a full drive without pause, then one condition relaxed at a time.",
    run=run,
    load=RANDOM_LOAD,
    wipc=False,
)
