"""Position: the rate of sequential writes and reads by the address at which they are.

The active range is cut into 64 equal slices, filled, and written and read from its start to its
end, a slice at a time, in requests of 128 KiB. A disc is slower towards its inner tracks; a flash
drive has no such places, so what differs between slices is its state: a cache that is full by then,
a collection that begins, data that lies unevenly on its dies.

Source: the curve of read rate against position of disc benchmarks, as in zcav of bonnie++ (R.
Coker); slices and their number are of the implementation.
"""

from __future__ import annotations

from opennandlab.documents.pts_small import PositionResults, Slice
from opennandlab.pts.document import table
from opennandlab.pts.engine import Bench
from opennandlab.pts.plan import SEQUENTIAL_LOAD
from opennandlab.pts.record import Cell
from opennandlab.pts.rounds import mean
from opennandlab.pts.test import Findings, Test
from opennandlab.targets.base import Limit

BLOCK_BYTES = 128 << 10
SLICES = 64


def run(bench: Bench) -> Findings:
    """Fill the range, then write it and read it slice by slice."""
    bench.purge()
    bench.precondition()
    count, size = slices(bench.plan.range_bytes)
    limit = Limit(bytes=bench.plan.time.slice_bytes(size, BLOCK_BYTES))
    found: dict[str, list[Cell]] = {}
    for kind, read_pct in (("writes", 0), ("reads", 100)):
        bench.restart_point()
        with bench.phase("position", group=kind, cells=count):
            found[kind] = [
                bench.measure(
                    bench.stimulus(
                        pattern="sequential",
                        read_pct=read_pct,
                        block_bytes=BLOCK_BYTES,
                        start_bytes=place * size,
                    ),
                    limit,
                    label=f"{kind} at {100 * place / count:.4g} %",
                )
                for place in range(count)
            ]
    rows = [
        Slice(
            start_bytes=place * size,
            write_mb_s=write.measurement.mb_s,
            read_mb_s=read.measurement.mb_s,
        )
        for place, (write, read) in enumerate(zip(*found.values(), strict=True))
    ]
    writes, reads = [row.write_mb_s for row in rows], [row.read_mb_s for row in rows]
    return Findings(
        results=PositionResults(
            slice_bytes=size,
            write_mb_s_mean=mean(writes),
            write_mb_s_min=min(writes),
            write_mb_s_max=max(writes),
            read_mb_s_mean=mean(reads),
            read_mb_s_min=min(reads),
            read_mb_s_max=max(reads),
            slices=rows,
        ),
        tables=[
            table(
                "position",
                "Sequential 128 KiB by position",
                "MB/s",
                row_label="Rate",
                column_label="",
                rows=["writes", "reads"],
                columns=["mean", "least", "most", "first slice", "last slice"],
                values=[
                    [mean(rates), min(rates), max(rates), rates[0], rates[-1]]
                    for rates in (writes, reads)
                ],
            )
        ],
    )


def slices(range_bytes: int) -> tuple[int, int]:
    """Return the number of slices and their size: whole requests, and at least one.

    >>> slices(64 << 20), slices(1 << 20)
    ((64, 1048576), (8, 131072))
    """
    count = max(1, min(SLICES, range_bytes // BLOCK_BYTES))
    return count, max(1, range_bytes // count // BLOCK_BYTES) * BLOCK_BYTES


TEST = Test(
    name="position",
    title="Rate by position",
    summary="Sequential writes and reads in 64 slices of the range, from its start to its end.",
    run=run,
    load=SEQUENTIAL_LOAD,
)
