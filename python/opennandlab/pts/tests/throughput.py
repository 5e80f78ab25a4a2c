"""Throughput: large sequential requests, read and written, for each block size on its own.

Each block size begins with a purge and a fill of its own. A round is one minute of reads and one of
writes; each stream goes on where it ended in the round before, so that a round never meets only
what its neighbour has just written. Write throughput must be steady.

Source: SNIA SSS PTS 2.0.1/2.0.2, throughput test: 1024 and 128 KiB for enterprise drives, 1024 KiB
for client drives. The SNIA PTS tutorial (Kim and Ho, 2013) fills with 128 KiB, the specification
with the block size under test: the latter is the default.
"""

from __future__ import annotations

from collections.abc import Mapping

from opennandlab.base.units import kib
from opennandlab.documents.pts_results import ThroughputResults
from opennandlab.pts.bench.dispersion import mean_table
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.grid import BLOCK_SIZES, by_mix, cells
from opennandlab.pts.bench.matrix import Matrix
from opennandlab.pts.bench.plan import SEQUENTIAL_LOAD, Option, Profile
from opennandlab.pts.bench.record import Cell
from opennandlab.pts.bench.rounds import CellPlan, Rounds, Tracking, until_steady
from opennandlab.pts.bench.test import Test
from opennandlab.pts.bench.words import name

KIB = 1024
MIXES = (100, 0)
CELLS: dict[Profile, Matrix] = {
    "E": Matrix((1024 * KIB, 128 * KIB), MIXES),
    "C": Matrix((1024 * KIB,), MIXES),
}


def run(bench: Bench) -> Findings:
    """Run each block size to its steady state and tabulate the windows."""
    sizes = cells(bench).sizes
    found = {size: _block_size(bench, size) for size in sizes}
    return Findings(
        results=ThroughputResults(
            attained=all(rounds.attained for rounds in found.values()), **_rates(found)
        ),
        tables=[
            mean_table(
                [[(found[size], at) for at in (1, 0)] for size in sorted(sizes)],
                "mb_s",
                name="throughput",
                title="Throughput, mean of the window",
                unit="MB/s",
                **by_mix(sorted(sizes), (0, 100)),
            )
        ],
    )


def _rates(found: Mapping[int, Rounds]) -> dict[str, float | None]:
    """Return the results of the block sizes that the specification has; the table has them all."""
    rates: dict[str, float | None] = dict.fromkeys(
        ("mb_s_seq_1024kib_read", "mb_s_seq_1024kib_write")
    )
    for size in set(CELLS["E"].sizes) & set(found):
        for at, word in enumerate(("read", "write")):
            rates[f"mb_s_seq_{kib(size)}kib_{word}"] = found[size].mean(at, "mb_s")
    return rates


def _block_size(bench: Bench, size: int) -> Rounds:
    group = f"{kib(size)} KiB"
    bench.purge(group=group)
    fill = 128 * KIB if bench.plan.text("wipc_block") == "128KiB" else size
    bench.precondition(fill, group=group)
    plans = []
    for read_pct in MIXES:
        stimulus = bench.stimulus(pattern="sequential", read_pct=read_pct, block_bytes=size)
        plans.append(CellPlan(stimulus, bench.plan.time.cell(stimulus), name(stimulus)))
    ends = [0 for _ in plans]

    def run_round(_: int) -> list[Cell]:
        cells = []
        for at, plan in enumerate(plans):
            stimulus = bench.stimulus(
                pattern="sequential",
                read_pct=plan.stimulus.read_pct,
                block_bytes=size,
                start_bytes=ends[at],
            )
            cells.append(bench.measure(stimulus, plan.limit, label=plan.label))
            ends[at] = cells[-1].measurement.end_bytes
        return cells

    tracked = [Tracking("write_mb_s", 1, plans[1])]
    return until_steady(bench, run_round, tracked, group=group, cells=len(plans))


TEST = Test(
    name="throughput",
    title="Throughput",
    summary="Sequential reads and writes of large blocks, each block size to its steady state.",
    run=run,
    load=SEQUENTIAL_LOAD,
    matrix=CELLS,
    options=(
        BLOCK_SIZES,
        Option(
            "wipc_block",
            "tested",
            "Block size of preconditioning: the one under test, or 128KiB.",
            choices=("tested", "128KiB"),
        ),
    ),
)
