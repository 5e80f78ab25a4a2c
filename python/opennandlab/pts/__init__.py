"""The standard tests of solid-state drives: one file each, and a row here.

A test is a procedure that tells a bench (`engine.Bench`) what to do and returns results and tables;
what it measures is a target, simulated or real. `plan` fills in the defaults of profile and
version, `time_base` the durations, `rounds` looks for the steady state, `document` writes down
everything. Nothing here draws or prints.

They follow the SNIA Solid State Storage Performance Test Specification, versions 1.1 and 2.0.2; for
those of `inside` see there. No certification by anyone is implied.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opennandlab.core.tested import PtsResult
from opennandlab.pts.bench.folder import Place
from opennandlab.pts.bench.plan import Settings
from opennandlab.pts.bench.record import Watcher
from opennandlab.pts.bench.runner import run_test
from opennandlab.pts.bench.running import run_named
from opennandlab.pts.bench.test import Test
from opennandlab.pts.tests import (
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
    rwsw,
    scalability,
    stability,
    surface,
    throughput,
    wsat,
    xsr,
)
from opennandlab.pts.tests.inside import INSIDE
from opennandlab.targets.consent import NONE, Consent

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
# Those of a capture, which no other has.
REAL_WORLD: dict[str, Test] = {rwsw.TEST.name: rwsw.TEST}
TESTS: dict[str, Test] = {**STANDARD, **TUTORIAL, **INSIDE, **REAL_WORLD}

__all__ = [
    "INSIDE",
    "REAL_WORLD",
    "STANDARD",
    "TESTS",
    "TUTORIAL",
    "Consent",
    "Place",
    "PtsResult",
    "Settings",
    "Test",
    "run",
    "run_test",
]


def run(  # noqa: PLR0913 (options, by name)
    test: str,
    target: str,
    *,
    changes: Mapping[str, Any] | None = None,
    output: str | Path | None = None,
    resume: bool = False,
    consent: Consent = NONE,
    progress: Watcher | None = None,
    **settings: Any,  # noqa: ANN401 (those of all tests, and the options of this one)
) -> PtsResult:
    """Run a standard test on a target: what the command `opennandlab pts TEST` does.

    Args:
        test: Its name, one of `TESTS`: `iops`, `throughput`, `latency`, `wsat` …
        target: `sim:PRESET|FILE`, `file:PATH[?size=1GiB]`, `/dev/…` or `nbd+unix:///…`.
        changes: Keys of a simulated device, by dotted path.
        output: Directory for document and journal; None keeps nothing on disk.
        resume: Go on with the run that was cut in `output`.
        consent: What may be lost on a real target: nothing, unless it states this.
        progress: Called before, during and after each step.
        **settings: Fields of `Settings` (`profile`, `time_base`, `seed`, `queue_depth` …), and
            options of this test.

    Returns:
        The document: results and tables as attributes, `frame()`, `plot()` and `save()`.

    Raises:
        Cut: on Ctrl-C, a `KeyboardInterrupt` with the partial document.
        BrokenError: when target or output fails in the middle, with the partial document.
        ConfigError: for what this test on this target cannot have; nothing was run.
        TargetError: when the target is refused, and why.

    >>> small = {"nand.channels": 1, "nand.dies_per_channel": 1, "nand.planes_per_die": 1,
    ...          "nand.blocks_per_plane": 64, "nand.pages_per_block": 64}
    >>> found = run("latency", "sim:tlc_standard", changes=small, time_base="smoke")
    >>> found.verdict.word, found.frame("art").shape
    ('smoke', (3, 3))
    """
    return run_named(
        TESTS,
        test,
        target,
        changes=changes,
        output=output,
        resume=resume,
        consent=consent,
        progress=progress,
        given=settings,
    )
