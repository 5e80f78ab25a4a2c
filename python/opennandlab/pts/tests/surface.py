"""The IOPS surface: 12 block sizes by 11 mixes of reads and writes, in one pass.

The drive is purged, filled twice and written at random to the steady state; then every combination
of block size (512 B to 1 MiB, powers of two) and mix (0 to 100 % reads in steps of ten) runs for a
minute, mixes outside with reads first, block sizes inside with the largest first.

Source: "What's up with these numbers? The need for performance benchmarking standardization", E.
Spanjer, step 2 (block size against mix); the sizes and the step of the mixes are ours.
"""

from __future__ import annotations

from opennandlab.base.units import kib
from opennandlab.documents.pts import Table
from opennandlab.documents.pts_results import SurfaceResults
from opennandlab.pts.bench.document import table
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.grid import by_mix
from opennandlab.pts.bench.plan import RANDOM_LOAD
from opennandlab.pts.bench.record import Cell
from opennandlab.pts.bench.rounds import cells_of, prepare_steady
from opennandlab.pts.bench.test import Test

BLOCKS = tuple(512 << power for power in range(11, -1, -1))
MIXES = tuple(range(100, -1, -10))


def run(bench: Bench) -> Findings:
    """Bring the drive to its steady state and measure the surface."""
    before = prepare_steady(bench)
    sizes = possible_sizes(bench)
    stimuli = {
        (size, read_pct): bench.stimulus(read_pct=read_pct, block_bytes=size)
        for read_pct in MIXES
        for size in sizes
    }
    cells = cells_of(bench, "surface", stimuli)
    most = max(cells.values(), key=lambda cell: cell.iops)
    return Findings(
        results=SurfaceResults(
            attained=before.attained,
            iops_max=most.iops,
            iops_max_at=most.label,
            iops_min=min(cell.iops for cell in cells.values()),
        ),
        tables=[
            grid(identity, title, unit, metric, cells)
            for identity, title, unit, metric in (
                ("iops", "IOPS", "IOPS", "iops"),
                ("mb_s", "Throughput", "MB/s", "mb_s"),
                ("art", "Mean response time", "µs", "lat_us_mean"),
            )
        ],
    )


def possible_sizes(bench: Bench) -> list[int]:
    """Return the block sizes that the target can do; the document names the others."""
    sector_bytes = bench.plan.sector_bytes
    sizes = [size for size in BLOCKS if size >= sector_bytes]
    for size in set(BLOCKS) - set(sizes):
        bench.leave_out(f"no {kib(size)} KiB: the sectors have {sector_bytes} B")
    return sizes


def grid(
    identity: str, title: str, unit: str, metric: str, cells: dict[tuple[int, int], Cell]
) -> Table:
    """Return a table of block sizes, small first, by mixes, writes first."""
    sizes = sorted({size for size, _ in cells})
    mixes = sorted({read_pct for _, read_pct in cells})
    return table(
        identity,
        title,
        unit,
        **by_mix(sizes, mixes),
        values=[[cells[size, read_pct].value(metric) for read_pct in mixes] for size in sizes],
    )


TEST = Test(
    name="surface",
    title="IOPS surface",
    summary="12 block sizes by 11 mixes on a drive in its steady state.",
    run=run,
    load=RANDOM_LOAD,
)
