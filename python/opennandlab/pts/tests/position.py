"""Position: the rate of sequential writes and reads by the address at which they are.

The active range is cut into 64 equal slices or fewer, filled, and written and read from its start
to its end, a slice at a time, in requests of 128 KiB. Then random 4 KiB writes, as many bytes as
the range has, scatter its data, and it is read and written once more. A disc is slower towards its
inner tracks; a flash drive has no such places, so what differs between slices is its state: a cache
that is full by then, a collection that begins, data that is unevenly on its dies.

    MB/s │▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔    after sequential writes: one rate
         │            ▁▁▁▂▂▃▃▄▄▅▅▆▆    writes after random ones: slow while random data is left
         └──────────────────────────── position

    slice of a simulated drive     queue fills │ measured, whole rows of blocks │ in progress
    ends exactly at the next one                                          limit ┘

What is in progress at the limit of a slice is carried out too, so the limit is before its end by as
much: a slice that ran into the next one would write its start twice, and a drive that is written
twice in places is no longer written in order. What is measured are whole rows (a block of every
plane), each of which erases as often as the next; a small drive has fewer slices for that.

Source: the curve of read rate against position of disc benchmarks, as in zcav of bonnie++ (R.
Coker); slices and their number are of the implementation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import itemgetter

from opennandlab.documents.pts_small import PositionResults, Slice
from opennandlab.pts.bench.document import listing
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.plan import RANDOM_LOAD, SEQUENTIAL_LOAD
from opennandlab.pts.bench.rounds import mean
from opennandlab.pts.bench.test import Test
from opennandlab.pts.bench.words import name
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


RATES: dict[str, Callable[[list[float]], float | None]] = {
    "mean": mean,
    "least": min,
    "most": max,
    "first slice": itemgetter(0),
    "last slice": itemgetter(-1),
}


def run(bench: Bench) -> Findings:
    """Fill the range, write and read it slice by slice; scatter its data, and do so again."""
    bench.purge()
    bench.precondition()
    time = bench.plan.time
    count, size, limit = _layout(bench)
    found: dict[str, list[float]] = {}
    if count == 1:
        bench.warn(
            "the range holds one slice only, all of it: the rates are its means, and how they "
            "differ by position is unknown; take a larger drive or range"
        )

    def sweep(kind: str, read_pct: int) -> None:
        bench.restart_point()
        with bench.phase("position", group=kind, cells=count):
            cells = [
                bench.measure(
                    bench.stimulus(
                        pattern="sequential",
                        read_pct=read_pct,
                        block_bytes=BLOCK_BYTES,
                        start_bytes=place * size // bench.plan.threads,
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
        results=_results(found, size),
        tables=[
            listing("position", "Sequential 128 KiB by position", "MB/s", "Rate", found, RATES)
        ],
    )


def _results(found: dict[str, list[float]], size: int) -> PositionResults:
    return PositionResults(
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
            for place in range(len(found["writes"]))
        ],
    )


def _layout(bench: Bench) -> tuple[int, int, Limit]:
    """Return the number of slices, their size, and the limit of one."""
    plan, time = bench.plan, bench.plan.time
    outstanding = plan.threads * plan.queue_depth
    turn = time.turn_bytes(outstanding * BLOCK_BYTES)
    unit = plan.threads * BLOCK_BYTES
    if not time.is_virtual:
        count, size = slices(plan.range_bytes, turn, unit)
        return count, size, Limit(bytes=time.slice_bytes(size, BLOCK_BYTES, turn))
    under_way = (outstanding - 1) * BLOCK_BYTES
    aside = under_way + outstanding * BLOCK_BYTES
    row = _row_bytes(bench) if time.name != "smoke" else 0
    count, size = slices(plan.range_bytes, max(turn, aside + row), unit)
    part = min(time.slice_bytes(size, BLOCK_BYTES, turn), size - under_way)
    rows = (size - aside) // row * row if row else 0
    limit = Limit(bytes=max(part, BLOCK_BYTES))
    # Half a request less, so that no rounding makes the ramp one request longer.
    ratio = 1 - (rows + BLOCK_BYTES // 2) / part
    return count, size, replace(limit, ramp_ratio=ratio) if rows > 0 else limit


def _row_bytes(bench: Bench) -> int:
    """Return the bytes of a block of every plane of a simulated drive."""
    device = bench.facts.device
    if device.physical_bytes is None or device.config is None:
        return 0
    return device.physical_bytes // int(device.config["nand"]["blocks_per_plane"])


def slices(
    range_bytes: int, least_bytes: int = 0, unit_bytes: int = BLOCK_BYTES
) -> tuple[int, int]:
    """Return the number of slices and their size: whole requests of all threads, at least one.

    >>> slices(64 << 20), slices(1 << 20), slices(64 << 20, least_bytes=16 << 20)
    ((64, 1048576), (8, 131072), (4, 16777216))
    """
    count = max(1, min(SLICES, range_bytes // max(least_bytes, unit_bytes)))
    return count, max(1, range_bytes // count // unit_bytes) * unit_bytes


TEST = Test(
    name="position",
    title="Rate by position",
    summary="Sequential writes and reads in 64 slices of the range; again after random writes.",
    run=run,
    load=SEQUENTIAL_LOAD,
)
