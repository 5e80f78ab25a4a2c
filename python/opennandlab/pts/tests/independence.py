"""Workload independence: sequential writes, random writes, and the same sequential ones again.

A drive that keeps its speed whatever was written before gives the same throughput before and after
the random writes; one that does not loses some of it for a while. The drop is the difference over
the first.

Source: "What's up with these numbers?", E. Spanjer, step 4: one drive went from 172.5 to 16.8 MB/s
(90 %), another from 118.3 to 113.3 MB/s (4 %). How much is written is of the implementation: a
quarter of the capacity, all of it at random, a quarter again.
"""

from __future__ import annotations

from typing import Literal

from opennandlab.documents.pts_results import IndependenceResults
from opennandlab.pts.bench.document import listing
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.plan import SEQUENTIAL_LOAD, Option
from opennandlab.pts.bench.test import Test
from opennandlab.pts.bench.words import name

KIB = 1024


def run(bench: Bench) -> Findings:
    """Write the three groups and compare the first with the last."""
    bench.purge()
    bench.precondition()
    small = int(bench.plan.number("random_kib") * KIB)
    steps: tuple[tuple[Literal["sequential", "random"], int], ...] = (
        ("sequential", 128 * KIB),
        ("random", small),
        ("sequential", 128 * KIB),
    )
    cells = []
    for number, (pattern, size) in enumerate(steps, start=1):
        stimulus = bench.stimulus(pattern=pattern, block_bytes=size)
        label = f"group {number}"
        bench.restart_point()
        with bench.phase("group", group=label, cells=1):
            limit = bench.plan.time.independence(pattern)
            cells.append(bench.measure(stimulus, limit, label=f"{label}: {name(stimulus)}"))
    first, _, third = (cell.measurement.mb_s for cell in cells)
    return Findings(
        results=IndependenceResults(
            first_mb_s=first,
            random_mb_s=cells[1].measurement.mb_s,
            third_mb_s=third,
            drop_pct=(first - third) / first * 100 if first else None,
        ),
        tables=[
            listing(
                "independence",
                "Workload independence",
                "MB/s; µs",
                "Group",
                {cell.label: cell for cell in cells},
                {
                    "MB/s": lambda cell: cell.measurement.mb_s,
                    "ART (µs)": "latency_us_mean",
                    "WAF": "waf",
                },
            )
        ],
    )


TEST = Test(
    name="independence",
    title="Workload independence",
    summary="Sequential, random and sequential writes: how much throughput the third loses.",
    run=run,
    load=SEQUENTIAL_LOAD,
    options=(Option("random_kib", 4.0, "Block size of the random writes in KiB.", minimum=0.5),),
)
