"""Latency: one random request at a time, three mixes and three block sizes.

    for each mix 100/0, 65/35, 0/100
        for each block size 8, 4, 0.5 KiB
            one minute of one thread with one outstanding request

ART is the mean over all requests of a cell, each counting once, MRT the longest. Since version 2.0
the steady state is followed by 20 minutes of 4 KiB writes whose every response time is kept. Five
rounds can be steady by the rule while a drive drifts slowly; where the mean of these 20 minutes is
not that of the window, a warning says so.

Source: SNIA SSS PTS 1.1 and 2.0.2, latency test; SNIA PTS tutorial, Kim and Ho, 2013.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opennandlab.documents.pts import Histogram, Table
from opennandlab.documents.pts_results import LatencyResults
from opennandlab.pts.dispersion import mean_table
from opennandlab.pts.document import histogram, table
from opennandlab.pts.engine import Bench
from opennandlab.pts.findings import Findings
from opennandlab.pts.plan import SINGLE_LOAD
from opennandlab.pts.rounds import CellPlan, Rounds, Tracking, cells_of_round, until_steady
from opennandlab.pts.test import Test
from opennandlab.pts.words import kib, mix, name

KIB = 1024
MIXES = (100, 65, 0)
BLOCKS = (8 * KIB, 4 * KIB, 512)
TRACKED = (0, 4 * KIB)
HISTOGRAM_S = 20 * 60.0
# Between the means of the window and of the histogram, relative to the window's.
DRIFT = 0.05
QUANTILES = {"p99": 0.99, "p999": 0.999, "p9999": 0.9999, "p99999": 0.99999}


def run(bench: Bench) -> Findings:
    """Purge, precondition, run rounds to the steady state, then record the histogram."""
    bench.purge()
    bench.precondition()
    plans = _cells(bench)
    places = {
        (plan.stimulus.read_pct, plan.stimulus.block_bytes): at for at, plan in enumerate(plans)
    }
    tracked = [Tracking("lat_us_mean", places[TRACKED], plans[places[TRACKED]])]
    rounds = until_steady(
        bench,
        lambda _: cells_of_round(bench, plans),
        tracked,
        cells=len(plans),
        makes_up=True,
    )
    kept = [
        histogram(f"window_{at + 1}", f"{plan.label}, window", rounds.latency(at))
        for at, plan in enumerate(plans)
    ]
    if bench.plan.pts_version != "1.1":
        kept.append(add_on(bench))
        drifted = drift(rounds.mean(places[TRACKED], "lat_us_mean"), kept[-1])
        if drifted is not None:
            bench.warn(drifted)
    tables = _tables(rounds, places)
    return Findings(
        results=LatencyResults(
            attained=rounds.attained,
            art_ms_rnd_4kib_write=_ms(rounds.mean(places[TRACKED], "lat_us_mean")),
            mrt_ms_rnd_4kib_write=_ms(rounds.maximum(places[TRACKED], "lat_us_max")),
            art_ms_rnd_4kib_read=_ms(rounds.mean(places[100, 4 * KIB], "lat_us_mean")),
        ),
        tables=tables,
        histograms=kept,
    )


def add_on(bench: Bench) -> Histogram:
    """Write 4 KiB for 20 minutes and keep every response time (since version 2.0)."""
    stimulus = bench.stimulus(block_bytes=4 * KIB)
    bench.restart_point()
    with bench.phase("histogram", cells=1):
        cell = bench.measure(stimulus, bench.plan.time.histogram(HISTOGRAM_S), label=name(stimulus))
    return histogram("response_time", f"Response time, {name(stimulus)}", cell.latency)


def drift(window_us: float | None, after: Histogram) -> str | None:
    """Return what to say where the histogram has another mean than the window; None else."""
    if not window_us or not after.count:
        return None
    mean_us = after.sum_ns / after.count * 1e-3
    change = mean_us / window_us - 1.0
    if abs(change) <= DRIFT:
        return None
    return (
        f"the mean response time of 4 KiB writes was {window_us * 1e-3:.4g} ms in the window and "
        f"{mean_us * 1e-3:.4g} ms in the histogram after it ({change:+.1%}): the drive was still "
        "changing"
    )


def _cells(bench: Bench) -> list[CellPlan]:
    blocks = [size for size in BLOCKS if size >= bench.plan.sector_bytes]
    for size in set(BLOCKS) - set(blocks):
        bench.leave_out(f"no {kib(size)} KiB: the sectors have {bench.plan.sector_bytes} B")
    time = bench.plan.time
    stimuli = [
        bench.stimulus(read_pct=read_pct, block_bytes=size) for read_pct in MIXES for size in blocks
    ]
    return [CellPlan(stimulus, time.cell(stimulus), name(stimulus)) for stimulus in stimuli]


def _tables(rounds: Rounds, places: dict[tuple[float, Any], int]) -> list[Table]:
    sizes = sorted({size for _, size in places})
    mixes = sorted({read_pct for read_pct, _ in places})

    def grid(identity: str, title: str, unit: str, of: Callable[[int], float | None]) -> Table:
        return table(
            identity,
            title,
            unit,
            row_label="Block size (KiB)",
            column_label="R/W mix (%)",
            rows=[kib(size) for size in sizes],
            columns=[mix(read_pct) for read_pct in mixes],
            values=[[of(places[read_pct, size]) for read_pct in mixes] for size in sizes],
        )

    merged = [rounds.latency(at) for at in range(len(places))]
    tails = [
        grid(
            identity,
            f"{share * 100:.10g} % of the requests of the window are faster",
            "ms",
            lambda at, share=share: _ns_to_ms(merged[at].quantile_ns(share)),  # type: ignore[misc]
        )
        for identity, share in QUANTILES.items()
    ]

    def means(identity: str, title: str, unit: str, metric: str, factor: float) -> Table:
        return mean_table(
            [[(rounds, places[read_pct, size]) for read_pct in mixes] for size in sizes],
            metric,
            identity=identity,
            title=title,
            unit=unit,
            row_label="Block size (KiB)",
            column_label="R/W mix (%)",
            rows=[kib(size) for size in sizes],
            columns=[mix(read_pct) for read_pct in mixes],
            factor=factor,
        )

    return [
        means("art", "Mean response time (ART), mean of the window", "ms", "lat_us_mean", 1e-3),
        grid(
            "mrt",
            "Longest response time (MRT) of the window",
            "ms",
            lambda at: _ms(rounds.maximum(at, "lat_us_max")),
        ),
        *tails,
        means("iops", "IOPS, mean of the window", "IOPS", "iops", 1.0),
    ]


def _ms(us: float | None) -> float | None:
    return None if us is None else us * 1e-3


def _ns_to_ms(ns: int | None) -> float | None:
    return None if ns is None else ns * 1e-6


TEST = Test(
    name="latency",
    title="Latency",
    summary="One random request at a time: mean, tail and longest response time.",
    run=run,
    load=SINGLE_LOAD,
    virtual_base="full",
)
