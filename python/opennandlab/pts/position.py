"""Position: the rate of sequential writes and reads by the address at which they are.

The active range is cut into 64 equal slices, filled, and written and read from its start to its
end, a slice at a time, in requests of 128 KiB. Then random 4 KiB writes, as many bytes as the range
has, scatter its data, and it is read and written once more. A disc is slower towards its inner
tracks; a flash drive has no such places, so what differs between slices is its state: a cache that
is full by then, a collection that begins, data that lies unevenly on its dies.

    MB/s │▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔    after sequential writes: one rate
         │            ▁▁▁▂▂▃▃▄▄▅▅▆▆    writes after random ones: slow while random data is left
         └──────────────────────────── position

Source: the curve of read rate against position of disc benchmarks, as in zcav of bonnie++ (R.
Coker); slices and their number are of the implementation.
"""

from __future__ import annotations

from opennandlab.documents.pts_small import PositionResults, Slice
from opennandlab.pts.document import table
from opennandlab.pts.engine import Bench
from opennandlab.pts.findings import Findings
from opennandlab.pts.plan import RANDOM_LOAD, SEQUENTIAL_LOAD
from opennandlab.pts.rounds import mean
from opennandlab.pts.test import Test
from opennandlab.pts.words import name
from opennandlab.targets.base import Limit

BLOCK_BYTES = 128 << 10
SLICES = 64
# What is measured -> its name in the results.
KEYS = {
    "writes": "write",
    "reads": "read",
    "reads after random writes": "scattered_read",
    "writes after random writes": "scattered_write",
}


def run(bench: Bench) -> Findings:
    """Fill the range, write and read it slice by slice; scatter its data, and do so again."""
    bench.purge()
    bench.precondition()
    plan, time = bench.plan, bench.plan.time
    turn = time.turn_bytes(plan.threads * plan.queue_depth * BLOCK_BYTES)
    count, size = slices(plan.range_bytes, turn)
    limit = Limit(bytes=time.slice_bytes(size, BLOCK_BYTES, turn))
    found: dict[str, list[float]] = {}

    def sweep(kind: str, read_pct: int) -> None:
        bench.restart_point()
        with bench.phase("position", group=kind, cells=count):
            cells = [
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
        found[kind] = [cell.measurement.mb_s for cell in cells]

    sweep("writes", 0)
    sweep("reads", 100)
    bench.restart_point()
    with bench.phase("scatter", cells=1):
        threads, depth = RANDOM_LOAD[bench.plan.profile]
        scatter = bench.stimulus(block_bytes=4096, threads=threads, queue_depth=depth)
        bench.measure(scatter, time.scatter(bench.plan.range_bytes), label=name(scatter))
    sweep("reads after random writes", 100)
    sweep("writes after random writes", 0)
    return Findings(
        results=PositionResults(
            slice_bytes=size,
            **{
                f"{key}_mb_s_{what}": of(found[kind])
                for kind, key in KEYS.items()
                for what, of in (("mean", mean), ("min", min), ("max", max))
            },
            slices=[
                Slice(
                    start_bytes=place * size,
                    **{f"{key}_mb_s": found[kind][place] for kind, key in KEYS.items()},
                )
                for place in range(count)
            ],
        ),
        tables=[
            table(
                "position",
                "Sequential 128 KiB by position",
                "MB/s",
                row_label="Rate",
                column_label="",
                rows=list(found),
                columns=["mean", "least", "most", "first slice", "last slice"],
                values=[
                    [mean(rates), min(rates), max(rates), rates[0], rates[-1]]
                    for rates in found.values()
                ],
            )
        ],
    )


def slices(range_bytes: int, least_bytes: int = 0) -> tuple[int, int]:
    """Return the number of slices and their size: whole requests, and at least one.

    >>> slices(64 << 20), slices(1 << 20), slices(64 << 20, least_bytes=16 << 20)
    ((64, 1048576), (8, 131072), (4, 16777216))
    """
    count = max(1, min(SLICES, range_bytes // max(least_bytes, BLOCK_BYTES)))
    return count, max(1, range_bytes // count // BLOCK_BYTES) * BLOCK_BYTES


TEST = Test(
    name="position",
    title="Rate by position",
    summary="Sequential writes and reads in 64 slices of the range; again after random writes.",
    run=run,
    load=SEQUENTIAL_LOAD,
)
