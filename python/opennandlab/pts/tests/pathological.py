"""The pathological write condition, and the gain from relaxing each part of it.

The worst load of a drive has three parts: most of the capacity is in use, neighbouring writes have
unrelated addresses, and there is no pause. Random 4 KiB writes to a full drive without idle time,
to the steady state, are the baseline. Then one condition is relaxed at a time: half of the range,
sequential writes, hot and cold data, and pauses (5 s of writes, 5 s of idle).

Source: SNIA NAND performance tutorial, L. Smith, 2009; the relaxations are of the implementation.
"""

from __future__ import annotations

from dataclasses import replace

from opennandlab.documents.pts_results import PathologicalResults, WriteCase
from opennandlab.pts.bench.document import listing
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
    found = {name: _case(bench, name, stimulus) for name, stimulus in _stimuli(bench).items()}
    baseline = found["baseline"].mean(0, "write_mb_s")
    rows = [_row(bench, name, rounds, baseline) for name, rounds in found.items()]
    return Findings(
        results=PathologicalResults(attained=all(row.attained for row in rows), cases=rows),
        tables=[
            listing(
                "pathological",
                "Relaxing one condition at a time",
                "4 KiB per second; ratios",
                "Condition",
                {row.name: row for row in rows},
                {"4 KiB writes per s": "iops_4kib", "WAF": "waf", "ratio to the baseline": "ratio"},
            )
        ],
    )


def _stimuli(bench: Bench) -> dict[str, Stimulus]:
    """Return the writes of each condition, by its name."""
    base = bench.stimulus(block_bytes=4096)
    part = ActiveRange(share=HALF * base.active_range.share, seed=base.active_range.seed)
    return {
        "baseline": base,
        "half the range": replace(base, active_range=part),
        "sequential": replace(base, pattern="sequential", block_bytes=128 << 10),
        "hot and cold": replace(base, zones=HOT),
        "pauses": base,
    }


def _row(bench: Bench, name: str, rounds: Rounds, baseline_mb_s: float | None) -> WriteCase:
    speed = rounds.mean(0, "write_mb_s")
    return WriteCase(
        name=name,
        write_mb_s=speed,
        # In pages of 4 KiB, so that the large blocks of sequential writes compare.
        iops_4kib=None if speed is None else speed * 1e6 / 4096,
        waf=mean([cell.waf for cell in rounds.windowed(0)]),
        ratio=bench.plan.time.ratio(speed, baseline_mb_s),
        attained=rounds.attained,
    )


def _case(bench: Bench, name: str, stimulus: Stimulus) -> Rounds:
    """Purge, fill the range, and write to the steady state."""
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
    """Write to the steady state in pieces, with a pause after each.

    A round writes as much as comes between two samples without pauses, then takes one sample. On a
    drive without a memory, such as a disc, one piece has the effect of all: 360 of 5 s make 30
    minutes, and each is a step of the journal.
    """
    unit_s = bench.plan.time.idle_unit_s()
    limit = Limit(seconds=unit_s)
    gap = bench.plan.time.gap(stimulus)
    is_one = bench.target.has_no_memory
    if is_one:
        noted = "one of each (standard: 30 min of writes)"
        bench.plan.time.noted["writes and pauses between samples"] = noted

    def run_round(_: int) -> list[Cell]:
        cells: list[Cell] = []
        while not cells or not (is_one or _is_over(cells, gap)):
            cells.append(bench.measure(stimulus, limit, label=name, part="gap"))
            bench.idle(unit_s)
        sample = bench.measure(stimulus, limit, label=name)
        bench.idle(unit_s)
        return [sample]

    tracked = [Tracking("iops", 0, CellPlan(stimulus, limit, name))]
    return until_steady(bench, run_round, tracked, group=name)


def _is_over(cells: list[Cell], gap: Limit) -> bool:
    """Return whether the pieces together reach the limit of a gap between samples."""
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
