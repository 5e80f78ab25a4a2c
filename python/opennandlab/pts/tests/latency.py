"""Latency: one random request at a time, three mixes and three block sizes.

    for each mix 100/0, 65/35, 0/100
        for each block size 8, 4, 0.5 KiB
            one minute of one thread with one outstanding request

ART is the mean over all requests of a cell, each counting once, MRT the longest. Since version 2.0
the steady state is followed by 20 minutes of 4 KiB writes whose every response time is kept. Five
rounds can be steady by the rule while a drive drifts slowly; where the mean of these 20 minutes is
not that of the window, a warning states this.

Source: SNIA SSS PTS 1.1 and 2.0.2, latency test; SNIA PTS tutorial, Kim and Ho, 2013.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from opennandlab.documents.pts import Histogram, Table
from opennandlab.documents.pts_results import LatencyResults
from opennandlab.pts.bench.dispersion import mean_table, warn_of_other_cells
from opennandlab.pts.bench.document import histogram, table
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.grid import (
    BLOCK_SIZES,
    MIXES,
    Key,
    by_mix,
    cell_plans,
    cells,
    mean,
    tracking,
)
from opennandlab.pts.bench.matrix import Matrix
from opennandlab.pts.bench.plan import SINGLE_LOAD
from opennandlab.pts.bench.rounds import Rounds, cells_of_round, until_steady
from opennandlab.pts.bench.test import Test
from opennandlab.pts.bench.words import name
from opennandlab.targets.base import Stimulus

KIB = 1024
CELLS = Matrix((8 * KIB, 4 * KIB, 512), (100, 65, 0))
TRACKED = (0, 4 * KIB)
HISTOGRAM_S = 20 * 60.0
# Between the means of the window and of the histogram, relative to the window's.
DRIFT = 0.05
QUANTILES = {"p99": 0.99, "p999": 0.999, "p9999": 0.9999, "p99999": 0.99999}


def run(bench: Bench) -> Findings:
    """Purge, precondition, run rounds to the steady state, then record the histogram."""
    bench.purge()
    bench.precondition()
    plans = cell_plans(bench)
    tracked = tracking(bench, plans, "lat_us_mean", [TRACKED])
    judged = tracked[0]
    for at, plan in enumerate(plans):
        # The longest response time is of a request that waits for what the cell before has left to
        # do. That of the first cell is the last one, of the round before.
        decides = at in {judged.index, (judged.index - 1) % len(plans)}
        is_read, was_read = (one.stimulus.read_pct >= 100 for one in (plan, plans[at - 1]))
        # What writes leave to do goes on next to the first reads, longer than a scaled cell waits.
        if (decides and not is_read) or (is_read and not was_read):
            plans[at] = replace(plan, limit=bench.plan.time.whole(plan.limit))
    rounds = until_steady(bench, lambda _: cells_of_round(bench, plans), tracked, cells=len(plans))
    warn_of_other_cells(bench, rounds, plans, "lat_us_mean")
    kept = [
        histogram(f"window_{at + 1}", f"{plan.label}, window", rounds.latency(at))
        for at, plan in enumerate(plans)
    ]
    if bench.plan.pts_version != "1.1":
        stimulus = judged.plan.stimulus
        kept.append(add_on(bench, stimulus))
        what = "4 KiB writes" if stimulus == bench.stimulus() else judged.plan.label
        drifted = drift(rounds.mean(judged.index, "lat_us_mean"), kept[-1], what)
        if drifted is not None:
            bench.warn(drifted)
    places = {key: place for place, key in enumerate(cells(bench).cells)}
    tables = _tables(rounds, places)
    written = places.get(TRACKED)
    return Findings(
        results=LatencyResults(
            attained=rounds.attained,
            art_ms_rnd_4kib_write=_ms(mean(bench, rounds, TRACKED, "lat_us_mean")),
            mrt_ms_rnd_4kib_write=(
                None if written is None else _ms(rounds.maximum(written, "lat_us_max"))
            ),
            art_ms_rnd_4kib_read=_ms(mean(bench, rounds, (100, 4 * KIB), "lat_us_mean")),
        ),
        tables=tables,
        histograms=kept,
    )


def add_on(bench: Bench, stimulus: Stimulus) -> Histogram:
    """Apply a stimulus for 20 minutes and keep every response time (since version 2.0)."""
    bench.restart_point()
    with bench.phase("histogram", cells=1):
        limit = bench.plan.time.histogram(HISTOGRAM_S, stimulus)
        cell = bench.measure(stimulus, limit, label=name(stimulus))
    return histogram("response_time", f"Response time, {name(stimulus)}", cell.latency)


def drift(window_us: float | None, after: Histogram, what: str) -> str | None:
    """Return a warning if the histogram has another mean than the window; else None."""
    if not window_us or not after.count:
        return None
    mean_us = after.sum_ns / after.count * 1e-3
    change = mean_us / window_us - 1.0
    if abs(change) <= DRIFT:
        return None
    return (
        f"the mean response time of {what} was {window_us * 1e-3:.4g} ms in the window and "
        f"{mean_us * 1e-3:.4g} ms in the histogram after it ({change:+.1%}): the drive was still "
        "changing"
    )


def _tables(rounds: Rounds, places: dict[Key, int]) -> list[Table]:
    sizes = sorted({size for _, size in places})
    mixes = sorted({read_pct for read_pct, _ in places})

    def grid(identity: str, title: str, unit: str, of: Callable[[int], float | None]) -> Table:
        return table(
            identity,
            title,
            unit,
            **by_mix(sizes, mixes),
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
            name=identity,
            title=title,
            unit=unit,
            **by_mix(sizes, mixes),
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
    fixes_load=True,
    load=SINGLE_LOAD,
    virtual_base="full",
    options=(BLOCK_SIZES, MIXES),
    matrix={"E": CELLS, "C": CELLS},
)
