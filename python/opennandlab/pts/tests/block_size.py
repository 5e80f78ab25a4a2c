"""Performance against block size, at 75 % reads.

Random requests of 512 B to 1 MiB, 75/25, in the steady state: IOPS fall and throughput grows with
the block size; below the size of a page both lose, since whole pages are moved.

Source: SNIA NAND performance tutorial, L. Smith, 2009.
"""

from __future__ import annotations

from operator import methodcaller

from opennandlab.base.units import kib, mix
from opennandlab.documents.pts_results import BlockSizeResults
from opennandlab.pts.bench.document import listing
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.plan import RANDOM_LOAD
from opennandlab.pts.bench.rounds import cells_of, prepare_steady
from opennandlab.pts.bench.test import Test
from opennandlab.pts.tests.surface import possible_sizes

READ_PCT = 75
COLUMNS = {"IOPS": "iops", "MB/s": "mb_s", "ART (µs)": "lat_us_mean"}


def run(bench: Bench) -> Findings:
    """Bring the drive to its steady state and run the block sizes."""
    before = prepare_steady(bench)
    sizes = possible_sizes(bench)
    stimuli = {size: bench.stimulus(read_pct=READ_PCT, block_bytes=size) for size in sizes}
    cells = cells_of(bench, "blocks", stimuli)
    return Findings(
        results=BlockSizeResults(attained=before.attained, read_pct=READ_PCT),
        tables=[
            listing(
                "block_size",
                f"Random {mix(READ_PCT)} by block size",
                "IOPS; MB/s; µs",
                "Block size (KiB)",
                {kib(size): cells[size] for size in sorted(sizes)},
                {head: methodcaller("value", metric) for head, metric in COLUMNS.items()},
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
