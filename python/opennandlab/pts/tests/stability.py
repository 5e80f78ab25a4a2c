"""Stability: how even a drive in its steady state is, second by second.

After the steady state of random 4 KiB writes, 20 minutes of the same in samples of one second. The
coefficient of variation is the standard deviation over the mean; next to it stand the smallest
sample, the share of samples below half of the mean, and the 99.9 % response time.

Source: "What's up with these numbers?", E. Spanjer, step 3 (performance against time); the figures
derived are of the implementation.
"""

from __future__ import annotations

from dataclasses import asdict

from opennandlab.documents.pts_results import StabilityResults
from opennandlab.pts.bench.document import histogram
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.evenness import evenness
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.plan import RANDOM_LOAD
from opennandlab.pts.bench.rounds import prepare_steady
from opennandlab.pts.bench.test import Test
from opennandlab.targets.base import Limit


def run(bench: Bench) -> Findings:
    """Bring the drive to its steady state and sample it."""
    before = prepare_steady(bench)
    count, sample_s = bench.plan.time.stability()
    stimulus = bench.stimulus(block_bytes=4096)
    bench.restart_point()
    with bench.phase("stability", cells=1):
        cell = bench.measure(
            stimulus, Limit(seconds=count * sample_s), label="RND 4 KiB 0/100", sample_s=sample_s
        )
    values = [sample.ios / sample_s for sample in cell.measurement.samples[:count]]
    tail = cell.latency.quantile_ns(0.999)
    return Findings(
        results=StabilityResults(
            attained=before.attained,
            sample_s=sample_s,
            **asdict(evenness(values)),
            lat_us_p999=None if tail is None else tail * 1e-3,
        ),
        histograms=[histogram("response_time", "Response time, RND 4 KiB 0/100", cell.latency)],
    )


TEST = Test(
    name="stability",
    title="Stability",
    summary="20 minutes of random 4 KiB writes in the steady state, in samples of one second.",
    run=run,
    load=RANDOM_LOAD,
)
