"""Performance against the mix of reads and writes, and what the mixture itself costs.

Five mixes of random requests of 4 and of 128 KiB in the steady state. If reads and writes did not
disturb each other, bandwidth would be the harmonic mean 1 / (r/B_R + (1-r)/B_W) of pure reads and
pure writes; *mixed efficiency* is what was measured over that. Below 1, they collide.

The RMS over the five mixes, sqrt(sum x^2 / 5), is one number for a drive that serves all of them.

Next to them stands the mix of database servers, 67 % reads, of random 4 and 8 KiB requests: two
thirds of reads, as data sheets and Iometer users quote it. It counts in neither of the two figures.

Source: SNIA NAND performance tutorial, L. Smith, 2009 (mixes, RMS); the formulas are our reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import methodcaller

from opennandlab.base.units import kib
from opennandlab.documents.pts import Table
from opennandlab.documents.pts_results import MixCurve, MixResults
from opennandlab.pts.bench.document import listing, table
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.grid import by_mix
from opennandlab.pts.bench.plan import RANDOM_LOAD
from opennandlab.pts.bench.record import Cell
from opennandlab.pts.bench.rounds import cells_of, prepare_steady
from opennandlab.pts.bench.test import Test
from opennandlab.pts.tests.block_size import COLUMNS
from opennandlab.theory.scaling import rms

KIB = 1024
MIXES = (100, 75, 50, 25, 0)
BLOCKS = (4 * KIB, 128 * KIB)
DATABASE_READ_PCT = 67
DATABASE_BLOCKS = (4 * KIB, 8 * KIB)


def run(bench: Bench) -> Findings:
    """Bring the drive to its steady state and run the mixes."""
    before = prepare_steady(bench)
    found = measure_mixes(bench, BLOCKS)
    database = _measure_database(bench)
    curves: list[MixCurve] = []
    for size in BLOCKS:
        iops = [found[size, read_pct].iops for read_pct in MIXES]
        mb_s = [found[size, read_pct].measurement.mb_s for read_pct in MIXES]
        curves.append(
            MixCurve(
                block_bytes=size,
                rms_iops=rms(iops),
                rms_mb_s=rms(mb_s),
                mixed_efficiency=mixed_efficiency(MIXES, mb_s),
            )
        )
    return Findings(
        results=MixResults(
            attained=before.attained,
            read_pct=list(MIXES),
            curves=curves,
            iops_rnd_4kib_67_33=database["4"].iops,
            iops_rnd_8kib_67_33=database["8"].iops,
        ),
        tables=[
            _table("iops", "IOPS", "IOPS", [[found[s, m].iops for m in MIXES] for s in BLOCKS]),
            _table(
                "mb_s",
                "Throughput",
                "MB/s",
                [[found[s, m].measurement.mb_s for m in MIXES] for s in BLOCKS],
            ),
            _table(
                "mixed_efficiency",
                "Measured over harmonic prediction",
                "ratio",
                [curve.mixed_efficiency for curve in curves],
            ),
            _database_table(database),
        ],
    )


def measure_mixes(
    bench: Bench, blocks: Sequence[int], group: str = ""
) -> dict[tuple[int, int], Cell]:
    """Run the five mixes of random requests, by block size and percent of reads."""
    stimuli = {
        (size, read_pct): bench.stimulus(read_pct=read_pct, block_bytes=size)
        for size in blocks
        for read_pct in MIXES
    }
    return cells_of(bench, "mixes", stimuli, group=group)


def _measure_database(bench: Bench) -> dict[str, Cell]:
    """Run the mix of database servers, a cell for each block size."""
    return cells_of(
        bench,
        "database",
        {
            kib(size): bench.stimulus(read_pct=DATABASE_READ_PCT, block_bytes=size)
            for size in DATABASE_BLOCKS
        },
    )


def _database_table(cells: dict[str, Cell]) -> Table:
    metrics = {**COLUMNS, "99 % (µs)": "lat_us_p99"}
    return listing(
        "database",
        "Random requests, 67 % reads",
        "IOPS; MB/s; µs",
        "Block size (KiB)",
        cells,
        {head: methodcaller("value", metric) for head, metric in metrics.items()},
    )


def mixed_efficiency(read_pct: Sequence[float], mb_s: Sequence[float]) -> list[float | None]:
    """Return measured over harmonic prediction, from the pure ends of the curve.

    >>> mixed_efficiency([100, 50, 0], [300.0, 120.0, 100.0])
    [1.0, 0.8, 1.0]
    """
    reads = mb_s[list(read_pct).index(100)]
    writes = mb_s[list(read_pct).index(0)]
    if not reads or not writes:
        return [None for _ in mb_s]
    shares = [percent / 100 for percent in read_pct]
    return [
        value * (share / reads + (1 - share) / writes)
        for share, value in zip(shares, mb_s, strict=True)
    ]


def _table(identity: str, title: str, unit: str, values: list[list[float | None]]) -> Table:
    return table(
        identity,
        title,
        unit,
        **by_mix(BLOCKS, MIXES),
        values=values,
    )


TEST = Test(
    name="rw_ratio",
    title="Read/write ratio",
    summary="Five mixes, their RMS, and what reads and writes cost each other.",
    run=run,
    load=RANDOM_LOAD,
)
