"""The standard tests of solid-state drives: one file each, and a row here.

A test is a procedure that tells a bench (`engine.Bench`) what to do and returns results and tables;
what it measures is a target, simulated or real. `plan` fills in the defaults of profile and
version, `time_base` the durations, `rounds` looks for the steady state, `document` writes down
everything. Nothing here draws or prints.

They follow the SNIA Solid State Storage Performance Test Specification, versions 1.1 and 2.0.2; for
those of `inside` see there. No certification by anyone is implied.
"""

from __future__ import annotations

from opennandlab.pts import (
    access_time,
    block_size,
    burst,
    composite,
    consistency,
    dirth,
    ecw,
    hir,
    independence,
    iops,
    latency,
    pathological,
    position,
    rw_ratio,
    scalability,
    stability,
    surface,
    throughput,
    wsat,
    xsr,
)
from opennandlab.pts.folder import Place
from opennandlab.pts.inside import INSIDE
from opennandlab.pts.plan import Settings
from opennandlab.pts.runner import run_test
from opennandlab.pts.test import Test

# Those of the specification, in the order of a complete run.
STANDARD: dict[str, Test] = {
    test.name: test
    for test in (
        iops.TEST,
        throughput.TEST,
        latency.TEST,
        wsat.TEST,
        hir.TEST,
        xsr.TEST,
        dirth.TEST,
        ecw.TEST,
    )
}
# Those of the tutorials, in the order of `characterise`.
TUTORIAL: dict[str, Test] = {
    test.name: test
    for test in (
        surface.TEST,
        stability.TEST,
        consistency.TEST,
        independence.TEST,
        composite.TEST,
        rw_ratio.TEST,
        block_size.TEST,
        scalability.TEST,
        pathological.TEST,
        access_time.TEST,
        position.TEST,
        burst.TEST,
    )
}
TESTS: dict[str, Test] = {**STANDARD, **TUTORIAL, **INSIDE}

__all__ = ["INSIDE", "STANDARD", "TESTS", "TUTORIAL", "Place", "Settings", "Test", "run_test"]
