"""Access time: how long one random request of 4 KiB takes when nothing else is in progress.

In the steady state of random 4 KiB writes, reads and then writes with one thread and one request
outstanding (TC 1 / QD 1), uniformly over the active range; every response time is kept. The access
time that data sheets of discs state is the mean of the reads; a flash drive needs the rest of the
distribution too.

Source: access time is the oldest figure of storage reviews; ten minutes of each are of the
implementation, after the histograms of the demand tests of SNIA SSS PTS.
"""

from __future__ import annotations

from opennandlab.documents.pts_small import AccessTime, AccessTimeResults
from opennandlab.pts.bench.document import histogram, listing
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.plan import RANDOM_LOAD
from opennandlab.pts.bench.record import Cell
from opennandlab.pts.bench.rounds import prepare_steady
from opennandlab.pts.bench.test import Test
from opennandlab.pts.bench.time_base import MINUTE_S
from opennandlab.pts.bench.words import name

FULL_S = 10 * MINUTE_S
COLUMNS = {"mean": "mean", "p50": "50 %", "p99": "99 %", "p999": "99.9 %", "max": "longest"}


def run(bench: Bench) -> Findings:
    """Bring the drive to its steady state and take one request at a time."""
    before = prepare_steady(bench)
    cells: dict[str, Cell] = {}
    bench.restart_point()
    with bench.phase("access", cells=2):
        for kind, read_pct in (("reads", 100), ("writes", 0)):
            stimulus = bench.stimulus(read_pct=read_pct, block_bytes=4096, threads=1, queue_depth=1)
            limit = bench.plan.time.histogram(FULL_S, stimulus)
            cells[kind] = bench.measure(stimulus, limit, label=name(stimulus))
    found = {kind: _access_time(cell) for kind, cell in cells.items()}
    return Findings(
        results=AccessTimeResults(
            attained=before.attained, reads=found["reads"], writes=found["writes"]
        ),
        tables=[
            listing(
                "access_time",
                "Access time of random 4 KiB requests, TC 1 / QD 1",
                "µs",
                "Requests",
                found,
                {head: f"lat_us_{key}" for key, head in COLUMNS.items()},
            )
        ],
        histograms=[
            histogram(kind, f"Access time, {cell.label}", cell.latency, iops=cell.iops)
            for kind, cell in cells.items()
        ],
    )


def _access_time(cell: Cell) -> AccessTime:
    times = cell.latency.percentiles_us()
    return AccessTime(
        iops=cell.iops,
        count=cell.latency.count,
        **{f"lat_us_{key}": times[key] for key in COLUMNS},
    )


TEST = Test(
    name="access_time",
    title="Access time",
    summary="Random 4 KiB reads and writes, one at a time: mean, percentiles, distribution.",
    run=run,
    load=RANDOM_LOAD,
)
