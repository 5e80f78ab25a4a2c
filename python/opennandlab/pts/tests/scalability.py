"""Scalability: how far performance follows the number of dies. Simulated drives only.

The drive is built with 1, 2, 4, … of its dies, first over more channels, then more per channel;
capacity grows with them. Each is filled, brought to its steady state and run through the five mixes
of reads and writes. The RMS over the mixes, divided by that of one die, is the normalised RMS;
divided by the number of dies once more, the scaling efficiency.

Source: SNIA NAND performance tutorial, L. Smith, 2009; the formulas are our reading.
"""

from __future__ import annotations

import copy
from typing import Any

from opennandlab.documents.pts_results import DieStep, ScalabilityResults
from opennandlab.pts.bench.document import listing
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.plan import RANDOM_LOAD, make_plan
from opennandlab.pts.bench.rounds import prepare_steady
from opennandlab.pts.bench.test import Test
from opennandlab.pts.tests.rw_ratio import MIXES, measure_mixes
from opennandlab.targets.base import Target
from opennandlab.theory.scaling import rms

KIB = 1024
BLOCKS = (4 * KIB, 128 * KIB)


def run(bench: Bench) -> Findings:
    """Measure the drive with more and more of its dies."""
    config = bench.facts.device.config or {}
    steps = die_counts(config["nand"]["channels"], config["nand"]["dies_per_channel"])
    rows: list[DieStep] = []
    attained = True
    for count, channels, per_channel in steps:
        _resize(bench, config, channels, per_channel)
        group = f"{count} dies" if count > 1 else "1 die"
        attained = prepare_steady(bench, group).attained and attained
        found = measure_mixes(bench, BLOCKS, group=group)
        iops = rms([found[BLOCKS[0], read_pct].iops for read_pct in MIXES])
        mb_s = rms([found[BLOCKS[1], read_pct].measurement.mb_s for read_pct in MIXES])
        one_iops, one_mb_s = (rows[0].rms_iops, rows[0].rms_mb_s) if rows else (iops, mb_s)
        rows.append(
            DieStep(
                dies=count,
                channels=channels,
                dies_per_channel=per_channel,
                rms_iops=iops,
                rms_mb_s=mb_s,
                normalised_iops=iops / one_iops,
                efficiency_iops=iops / one_iops / count,
                normalised_mb_s=mb_s / one_mb_s,
                efficiency_mb_s=mb_s / one_mb_s / count,
            )
        )
    return Findings(
        results=ScalabilityResults(attained=attained, read_pct=list(MIXES), steps=rows),
        tables=[
            listing(
                "scalability",
                "RMS over five mixes by the number of dies",
                "IOPS of 4 KiB; MB/s of 128 KiB; ratios",
                "Dies",
                {str(row.dies): row for row in rows},
                {
                    "RMS IOPS": "rms_iops",
                    "normalised": "normalised_iops",
                    "efficiency": "efficiency_iops",
                    "RMS MB/s": "rms_mb_s",
                    "normalised MB/s": "normalised_mb_s",
                    "efficiency MB/s": "efficiency_mb_s",
                },
            )
        ],
    )


def die_counts(channels: int, dies_per_channel: int) -> list[tuple[int, int, int]]:
    """Return dies, channels and dies per channel of each step: powers of two, then all.

    >>> die_counts(4, 2)
    [(1, 1, 1), (2, 2, 1), (4, 4, 1), (8, 4, 2)]
    """
    wide = [(count, 1) for count in _powers(channels)]
    deep = [(channels, count) for count in _powers(dies_per_channel)[1:]]
    return [(one * other, one, other) for one, other in (*wide, *deep)]


def _powers(most: int) -> list[int]:
    counts = []
    count = 1
    while count < most:
        counts.append(count)
        count *= 2
    return [*counts, most]


def _resize(bench: Bench, config: dict[str, Any], channels: int, per_channel: int) -> None:
    """Go on with the drive of so many dies, and the plan for its capacity."""
    changed = copy.deepcopy(config)
    changed["nand"]["channels"] = channels
    changed["nand"]["dies_per_channel"] = per_channel
    # What was derived from the old number of dies is derived again.
    changed["ftl"].pop("gc_reserve_blocks", None)
    drive: Any = bench.target  # only those of the kinds of `TEST` come here
    target: Target = drive.sibling(changed)
    plan = bench.plan
    bench.exchange(target, make_plan(plan.test, plan.settings, target))


TEST = Test(
    name="scalability",
    title="Scalability",
    summary="The drive with more and more of its dies: RMS over five mixes.",
    run=run,
    load=RANDOM_LOAD,
    kinds=("sim",),
    needs_dies=True,
)
