"""IOPS: random requests of 8 block sizes and 7 read/write mixes, round by round.

    for each mix, reads first            100/0, 95/5, 65/35, 50/50, 35/65, 5/95, 0/100
        for each block size, large first   1024, 128, 64, 32, 16, 8, 4, 0.5 KiB
            one minute of random requests; IOPS = reads + writes

The order is normative, because each cell leaves its traces for the next. A drive whose sectors have
4 KiB cannot do the 0.5 KiB column; the document states this. Other sizes and mixes can be given
(`matrix`).

Source: SNIA SSS PTS 2.0.2 and 1.1, IOPS test; the three tracked values are those of 2.0.2, version
1.1 tracks the first alone.
"""

from __future__ import annotations

from opennandlab.documents.pts import Table
from opennandlab.documents.pts_results import IopsResults
from opennandlab.pts.bench.dispersion import mean_table, warn_of_other_cells
from opennandlab.pts.bench.document import histogram
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.grid import BLOCK_SIZES, MIXES, by_mix, cell_plans, mean, tracking
from opennandlab.pts.bench.matrix import Matrix
from opennandlab.pts.bench.plan import RANDOM_LOAD
from opennandlab.pts.bench.rounds import Rounds, cells_of_round, until_steady
from opennandlab.pts.bench.test import Test

KIB = 1024
CELLS = Matrix(
    (1024 * KIB, 128 * KIB, 64 * KIB, 32 * KIB, 16 * KIB, 8 * KIB, 4 * KIB, 512),
    (100, 95, 65, 50, 35, 5, 0),
)
# Tracked cells of each version: percent of reads, block size.
TRACKED = {
    "2.0.2": ((0, 4 * KIB), (65, 64 * KIB), (100, 1024 * KIB)),
    "1.1": ((0, 4 * KIB),),
}


def run(bench: Bench) -> Findings:
    """Purge, precondition, run rounds to the steady state, and tabulate the window."""
    bench.purge()
    bench.precondition()
    plans = cell_plans(bench)
    tracked = tracking(bench, plans, "iops", TRACKED[bench.plan.pts_version])
    rounds = until_steady(bench, lambda _: cells_of_round(bench, plans), tracked, cells=len(plans))
    warn_of_other_cells(bench, rounds, plans, "iops")
    return Findings(
        results=IopsResults(
            attained=rounds.attained,
            iops_rnd_4kib_write=mean(bench, rounds, (0, 4 * KIB), "iops"),
            iops_rnd_4kib_read=mean(bench, rounds, (100, 4 * KIB), "iops"),
            iops_rnd_4kib_65_35=mean(bench, rounds, (65, 4 * KIB), "iops"),
            waf_rnd_4kib_write=mean(bench, rounds, (0, 4 * KIB), "waf"),
        ),
        tables=[
            grid(rounds, "iops", "iops", "IOPS, mean of the window", "IOPS"),
            grid(rounds, "mb_s", "mb_s", "Throughput, mean of the window", "MB/s"),
            grid(rounds, "lat_us_mean", "art", "Mean response time, mean of the window", "µs"),
        ],
        histograms=[
            histogram(f"tracked_{place}", f"{cell.plan.label}, window", rounds.latency(cell.index))
            for place, cell in enumerate(tracked, 1)
        ],
    )


def grid(rounds: Rounds, metric: str, identity: str, title: str, unit: str) -> Table:
    """Return a table of a metric: block sizes, small first, by mixes, writes first."""
    stimuli = [cell.stimulus for cell in rounds.cells[0]]
    places = {(cell.block_bytes, cell.read_pct): place for place, cell in enumerate(stimuli)}
    sizes = sorted({cell.block_bytes for cell in stimuli if isinstance(cell.block_bytes, int)})
    mixes = sorted({cell.read_pct for cell in stimuli})
    return mean_table(
        [[(rounds, places[size, read_pct]) for read_pct in mixes] for size in sizes],
        metric,
        name=identity,
        title=title,
        unit=unit,
        **by_mix(sizes, mixes),
    )


TEST = Test(
    name="iops",
    title="IOPS",
    summary="Random requests of 8 block sizes and 7 mixes, to the steady state.",
    run=run,
    load=RANDOM_LOAD,
    options=(BLOCK_SIZES, MIXES),
    matrix={"E": CELLS, "C": CELLS},
)
