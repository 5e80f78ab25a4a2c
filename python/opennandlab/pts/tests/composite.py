"""Composite workloads: file server, web server and database at five loads.

After the steady state of random 4 KiB writes each pattern runs at 1, 4, 8, 64 and 256 outstanding
requests: linear, very light, light, moderate and heavy in the words of Iometer's users (fio,
examples).

Source: "What's up with these numbers?", E. Spanjer, step 5, which names file and web server without
figures; the patterns are those of `patterns`.
"""

from __future__ import annotations

from opennandlab.documents.pts_results import CompositePattern, CompositeResults
from opennandlab.pts.bench.document import table
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.patterns import DATABASE, FILE_SERVER, WEB_SERVER
from opennandlab.pts.bench.plan import RANDOM_LOAD
from opennandlab.pts.bench.record import Cell
from opennandlab.pts.bench.rounds import prepare_steady
from opennandlab.pts.bench.test import Test

PATTERNS = (FILE_SERVER, WEB_SERVER, DATABASE)
DEPTHS = (1, 4, 8, 64, 256)


def run(bench: Bench) -> Findings:
    """Bring the drive to its steady state and run the patterns."""
    before = prepare_steady(bench)
    cells: dict[tuple[str, int], Cell] = {}
    bench.restart_point()
    with bench.phase("composite", cells=len(PATTERNS) * len(DEPTHS)):
        for pattern in PATTERNS:
            for depth in DEPTHS:
                fields = pattern.fields(bench.plan.sector_bytes)
                stimulus = bench.stimulus(**fields, threads=1, queue_depth=depth)
                limit = bench.plan.time.cell(stimulus)
                label = f"{pattern.title} QD {depth}"
                cells[pattern.name, depth] = bench.measure(stimulus, limit, label=label)
    return Findings(
        results=CompositeResults(
            attained=before.attained,
            patterns=[
                CompositePattern(
                    name=pattern.name,
                    title=pattern.title,
                    iops={str(depth): cells[pattern.name, depth].iops for depth in DEPTHS},
                )
                for pattern in PATTERNS
            ],
        ),
        tables=[
            table(
                identity,
                title,
                unit,
                row_label="Workload",
                column_label="Queue depth",
                rows=[pattern.title for pattern in PATTERNS],
                columns=[str(depth) for depth in DEPTHS],
                values=[
                    [cells[pattern.name, depth].value(metric) for depth in DEPTHS]
                    for pattern in PATTERNS
                ],
            )
            for identity, title, unit, metric in (
                ("iops", "IOPS", "IOPS", "iops"),
                ("mb_s", "Throughput", "MB/s", "mb_s"),
                ("art", "Mean response time", "µs", "lat_us_mean"),
                ("p99", "99 % of the requests are faster", "µs", "lat_us_p99"),
            )
        ],
    )


TEST = Test(
    name="composite",
    title="Composite workloads",
    summary="File server, web server and database at five queue depths.",
    run=run,
    load=RANDOM_LOAD,
)
