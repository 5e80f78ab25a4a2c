"""Performance against block size, at 75 % reads.

Random requests of 512 B to 1 MiB, 75/25, in the steady state: IOPS fall and throughput grows with
the block size; below the size of a page both lose, since whole pages are moved.

Source: SNIA NAND performance tutorial, L. Smith, 2009.
"""

from __future__ import annotations

from opennandlab.base.units import kib, mix
from opennandlab.documents.pts_results import BlockSizeResults
from opennandlab.pts.bench.document import table
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.plan import RANDOM_LOAD
from opennandlab.pts.bench.rounds import prepare_steady
from opennandlab.pts.bench.test import Test
from opennandlab.pts.bench.words import name
from opennandlab.pts.tests.surface import BLOCKS

READ_PCT = 75


def run(bench: Bench) -> Findings:
    """Bring the drive to its steady state and run the block sizes."""
    before = prepare_steady(bench)
    plan = bench.plan
    sizes = [size for size in BLOCKS if size >= plan.sector_bytes]
    for size in set(BLOCKS) - set(sizes):
        bench.leave_out(f"no {kib(size)} KiB: the sectors have {plan.sector_bytes} B")
    cells = {}
    bench.restart_point()
    with bench.phase("blocks", cells=len(sizes)):
        for size in sizes:
            stimulus = bench.stimulus(read_pct=READ_PCT, block_bytes=size)
            limit = plan.time.cell(stimulus)
            cells[size] = bench.measure(stimulus, limit, label=name(stimulus))
    return Findings(
        results=BlockSizeResults(attained=before.attained, read_pct=READ_PCT),
        tables=[
            table(
                "block_size",
                f"Random {mix(READ_PCT)} by block size",
                "IOPS; MB/s; µs",
                row_label="Block size (KiB)",
                column_label="",
                rows=[kib(size) for size in sorted(sizes)],
                columns=["IOPS", "MB/s", "ART (µs)"],
                values=[
                    [cells[size].value(metric) for metric in ("iops", "mb_s", "lat_us_mean")]
                    for size in sorted(sizes)
                ],
            )
        ],
    )


TEST = Test(
    name="block_size",
    title="Block size",
    summary="Random 75/25 from 512 B to 1 MiB.",
    run=run,
    load=RANDOM_LOAD,
)
