"""Enterprise composite workload (ECW; in version 2.0 composite block size workload, CBW).

The procedure of `demand` with the composite pattern: 12 block sizes, three groups of addresses,
40 % reads. Block size, group and direction of a request are drawn independently; it is uniform
within its group, which is that of its first byte.

Source: SNIA PTS tutorial, Kim and Ho, 2013; JEDEC JESD219.
"""

from __future__ import annotations

from opennandlab.pts.bench import demand
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.patterns import COMPOSITE
from opennandlab.pts.bench.plan import DEMAND_LOAD, PUBLISHED
from opennandlab.pts.bench.test import Test


def run(bench: Bench) -> Findings:
    """Run the demand test with the composite pattern."""
    if bench.plan.sector_bytes > 512:
        bench.leave_out(
            f"composite sizes below {bench.plan.sector_bytes} B are rounded up to a sector"
        )
    return demand.run(bench, COMPOSITE)


TEST = Test(
    name="ecw",
    title="Composite block size workload (CBW)",
    titles={"1.1": "Enterprise composite workload (ECW)"},
    summary="The demand test with a mix of 12 block sizes and three groups of addresses.",
    run=run,
    fixes_load=True,
    client_from=PUBLISHED,
    load=DEMAND_LOAD,
    wipc=False,
    options=demand.OPTIONS,
)
