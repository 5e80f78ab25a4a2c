"""Demand intensity and response time histogram (DIRTH), with an OLTP or a video pattern.

The procedure is that of `demand`. The SNIA PTS tutorial (Kim and Ho, 2013) names two patterns: OLTP
with random 8 KiB 65/35, video server with random 128 KiB 90/10.
"""

from __future__ import annotations

from opennandlab.pts.bench import demand
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.patterns import OLTP, VIDEO
from opennandlab.pts.bench.plan import DEMAND_LOAD, PUBLISHED, Option
from opennandlab.pts.bench.test import Test

PATTERNS = {pattern.name: pattern for pattern in (OLTP, VIDEO)}


def run(bench: Bench) -> Findings:
    """Run the demand test with the pattern of the option."""
    return demand.run(bench, PATTERNS[bench.plan.text("pattern")])


TEST = Test(
    name="dirth",
    title="Demand intensity and response time histogram",
    summary="49 combinations of threads and queue depth, and histograms at operating points.",
    run=run,
    fixes_load=True,
    client_from=PUBLISHED,
    load=DEMAND_LOAD,
    wipc=False,
    options=(
        Option("pattern", "oltp", "Access pattern.", choices=tuple(PATTERNS)),
        *demand.OPTIONS,
    ),
)
