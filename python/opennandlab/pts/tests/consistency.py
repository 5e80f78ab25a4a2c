"""Consistency: an hour of random writes on a full drive, with and without more spare area.

Fill sequentially, then random 4 KiB writes at 32 outstanding requests for an hour, in samples of a
second; once on the whole drive and once on the part that leaves a quarter more of it as spare area
(80 % of the user capacity). The score is the mean of the last ninth (400 s of 3600 s), and that
mean over its standard deviation.

Source: AnandTech's performance consistency test of drives from 2012 on.
"""

from __future__ import annotations

from dataclasses import asdict

from opennandlab.documents.pts_results import ConsistencyResults, Evenness
from opennandlab.pts.bench.document import listing
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.evenness import evenness
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.test import Test
from opennandlab.targets.base import ActiveRange

# Share of the user capacity in use -> its name: 1 / 1.25 leaves 25 % of what is used as more spare.
SHARES = {1.0: "default", 0.8: "+25 % OP"}
LAST_SHARE = 1 / 9


def run(bench: Bench) -> Findings:
    """Write the two ranges and score them."""
    found = {label: _series(bench, share, label) for share, label in SHARES.items()}
    scores = {label: _score(label, values) for label, values in found.items()}
    return Findings(
        results=ConsistencyResults(runs=list(scores.values())),
        tables=[
            listing(
                "consistency",
                "Last ninth of the hour",
                "IOPS; ratio",
                "Spare area",
                scores,
                {"mean": "iops_mean", "mean / standard deviation": "mean_to_deviation"},
            )
        ],
    )


def _series(bench: Bench, share: float, label: str) -> list[float]:
    """Return the IOPS of the samples of a range."""
    part = ActiveRange(share=share * bench.plan.active_range.share)
    bench.purge(group=label)
    bench.fill_range(part, group=label)
    limit, sample_s = bench.plan.time.consistency()
    stimulus = bench.stimulus(block_bytes=4096, active_range=part)
    bench.restart_point()
    with bench.phase("consistency", group=label, cells=1):
        part_name = f"consistency {label}"
        cell = bench.measure(stimulus, limit, label=label, part=part_name, sample_s=sample_s)
    # The last piece is as long as was left.
    return [sample.ios / sample_s for sample in cell.measurement.samples[:-1]]


def _score(label: str, values: list[float]) -> Evenness:
    figures = evenness(values[-max(2, round(LAST_SHARE * len(values))) :])
    cv = figures.cv
    return Evenness(label=label, **asdict(figures), mean_to_deviation=1 / cv if cv else None)


TEST = Test(
    name="consistency",
    title="Consistency",
    summary="An hour of random writes on a full drive, by default and with 25 % more spare area.",
    run=run,
    load={"E": (1, 32), "C": (1, 32)},
    wipc=False,
)
