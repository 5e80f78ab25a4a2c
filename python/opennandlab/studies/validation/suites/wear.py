"""Wear: how erase counts spread without leveling, and what leveling can and cannot do.

Erase counts include everything since the drive was new, so these runs start from one sequential
fill and measure long spans: the variance of a renewal process is proportional to its mean only
after many renewals (with n erases a block the error is about 1/n of one erase squared; at 4096
blocks the sampling error of a variance is 2.2 %).

Sources: those of `theory.wear`; Y. Li, P. Lee, J. Lui, arXiv:1303.4816 (2013), for the price of
leveling.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from opennandlab.studies.validation.case import (
    Case,
    Document,
    Effort,
    Kind,
    Miss,
    Relation,
    Run,
    lookup,
    quotient,
)
from opennandlab.studies.validation.devices import Log, overwrites
from opennandlab.theory.wear import variance_to_mean_greedy, variance_to_mean_random

SUITE = "wear"
BLOCK = 64
SPARE_FACTOR = 0.10
# Erases by which a block may lag behind the mean before static leveling moves its data.
THRESHOLD = 20
STATIC_SHARE = 0.5
# Blocks that fail come out of the spare ones: more of them.
FAILING_SPARE_FACTOR = 0.30

Setting = str | dict[str, Any]


# Recorded error of the renewal counts, by the blocks of full and quick.
VICTIMS = "live pages of victims differ; the formula takes one number for all"
RENEWAL_ERROR = {4096: 0.08, 1024: 0.043}
_case = partial(Case, suite=SUITE)


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick (1024 blocks, one seed), or full (4096 blocks, three seeds).

    Example:
        >>> [case.suite for case in cases(Effort.QUICK)][0]
        'wear'
    """
    is_quick = effort is Effort.QUICK
    blocks = 1024 if is_quick else 4096
    return [*_spread(blocks), *_among_erased(), *_static_data(blocks), *_failures(blocks)]


def _spread(blocks: int) -> Iterator[Case]:
    """No leveling: turns for FIFO, Poisson counts for random, renewal counts for greedy."""
    log = Log.with_spare(blocks, BLOCK, SPARE_FACTOR)
    yield _case(
        name="fifo-turns",
        title="Under FIFO blocks take turns: erase counts differ by at most one",
        source="definition of the policy",
        runs=(_run(log, "fifo", drive_writes=20.0),),
        quantity="metrics.wear.max - metrics.wear.min",
        measure=_span,
        expected=1.0,
        tolerance=0.0,
        kind=Kind.EXACT,
        formula="max - min <= 1",
        relation=Relation.AT_MOST,
    )
    wide = Log.with_spare(blocks, BLOCK, 0.20)
    yield _case(
        name="random-poisson",
        title="Random victims: erase counts are Poisson, their variance is their mean",
        source="independent picks",
        runs=(_run(wide, "random", drive_writes=20.0),),
        quantity="metrics.wear.stddev^2 / metrics.wear.mean",
        measure=_variance_to_mean,
        expected=variance_to_mean_random(),
        kind=Kind.SAMPLED,
        **_of_variance(blocks),
        formula="variance / mean = 1",
    )
    yield _case(
        name="greedy-renewal",
        title="Greedy, uniform writes: erase counts are a renewal process with little spread",
        source="Cox 1962; Van Houdt 2013",
        runs=(_run(log, "greedy", drive_writes=50.0),),
        quantity="metrics.wear.stddev^2 / metrics.wear.mean",
        measure=_variance_to_mean,
        expected=partial(variance_to_mean_greedy, BLOCK, log.spare_factor),
        formula="variance / mean = sum i^-2 / (sum 1/i)^2, i = j+1..b,"
        " j = floor(mean live pages of a victim)",
        miss=Miss(VICTIMS, RENEWAL_ERROR[blocks]),
    )


def _of_variance(blocks: int) -> dict[str, Any]:
    """Return the accepted error of a variance over so many blocks, and why."""
    error = 4.0 * math.sqrt(2.0 / blocks)
    return {"tolerance": error, "sample": f"a variance over {blocks} blocks, 4 standard errors"}


def _among_erased() -> Iterator[Case]:
    """Open the least worn erased block: useless among one, strong among many."""
    for reserve in (1, 32):
        # The effect depends on the share of blocks that wait erased: 32 of 1024, at both efforts.
        log = Log.with_spare(1024, BLOCK, SPARE_FACTOR, reserve)
        runs = (
            _run(log, "greedy", drive_writes=50.0),
            _run(log, "greedy", drive_writes=50.0, wear="dynamic"),
        )
        is_alone = reserve == 1
        yield _case(
            name=f"dynamic-reserve{reserve}",
            title="Opening the least worn of R erased blocks, 1024 in all: nothing for R = 1, a"
            " spread cut to a third for R = 32",
            source="definition" if is_alone else "independent simulation, sd 3.9 to 1.3",
            runs=runs,
            quantity="metrics.wear.stddev / the same without leveling",
            measure=quotient("metrics.wear.stddev"),
            expected=1.0 if is_alone else 0.45,
            tolerance=0.0,
            kind=Kind.EXACT if is_alone else Kind.ORDER,
            formula="the only erased block is also the least worn"
            if is_alone
            else "sd with / sd without <= 0.45",
            relation=Relation.EQUAL if is_alone else Relation.AT_MOST,
        )


def _failures(blocks: int) -> Iterator[Case]:
    """Share of erases and of programs that fail."""
    log = Log.with_spare(blocks, BLOCK, FAILING_SPARE_FACTOR)
    title = "Operations fail as often as their probability says"
    for kind, probability in (("erase", 4e-3), ("program", 5e-5)):
        run = _run(log, "greedy", drive_writes=40.0)
        nand = {**run.device["nand"], "failures": {kind: probability}}
        # Erases that failed are counted apart; a failed program is one of those of padding.
        done: tuple[str, ...] = ("gc_cycles", "failures.erase")
        if kind == "program":
            done = ("programs.host", "programs.gc", "programs.pad")
        yield _case(
            name=f"failures-{kind}",
            title=title,
            source="binomial",
            runs=(Run({**run.device, "nand": nand}, run.workload),),
            quantity=f"metrics.failures.{kind} / ({' + '.join(done)})",
            measure=partial(_share_failed, kind, done),
            expected=probability,
            tolerance=0.15,
            sample="a binomial count of 700, 4 standard errors (1024 blocks: 2)",
            formula=f"nand.failures.{kind} = {probability:g}",
        )


def _share_failed(kind: str, done: Sequence[str], documents: Sequence[Document]) -> float:
    tries = sum(lookup(documents[0], f"metrics.{name}") for name in done)
    failed: float = lookup(documents[0], f"metrics.failures.{kind}")
    return failed / tries


def _static_data(blocks: int) -> Iterator[Case]:
    """Half of the pages are never rewritten: only moving them helps, at a price."""
    log = Log.with_spare(blocks, BLOCK, SPARE_FACTOR)
    active = 100.0 * (1.0 - STATIC_SHARE)
    static_wear = {"kind": "static", "threshold": THRESHOLD}
    dynamic = _run(log, "greedy", drive_writes=50.0, wear="dynamic", active_range_pct=active)
    levelled = _run(log, "greedy", drive_writes=50.0, wear=static_wear, active_range_pct=active)
    held = STATIC_SHARE * log.logical_pages / (log.blocks * log.pages_per_block)
    title = "Static data: choosing among erased blocks cannot help, moving the data can"
    yield _case(
        name="static-data-dynamic-min",
        title=title,
        runs=(dynamic,),
        quantity="metrics.wear.min",
        expected=0.0,
        tolerance=0.0,
        kind=Kind.EXACT,
        formula="blocks with static data are never erased",
    )
    yield _case(
        name="static-data-dynamic-spread",
        title=title,
        source="two-point distribution",
        runs=(dynamic,),
        quantity="metrics.wear.stddev / metrics.wear.mean",
        measure=_relative_spread,
        expected=math.sqrt(held / (1.0 - held)),
        formula=f"sd / mean = sqrt(p / (1-p)), p = s U / T = {held:.3f} of the blocks",
    )
    yield _case(
        name="static-data-levelled-lag",
        title=title,
        source="definition of the threshold",
        runs=(levelled,),
        quantity="metrics.wear.mean - metrics.wear.min",
        measure=_lag,
        expected=float(THRESHOLD),
        kind=Kind.ORDER,
        formula=f"no block lags more than {THRESHOLD} erases behind the mean",
        relation=Relation.AT_MOST,
    )
    yield _case(
        name="static-data-levelled-price",
        title=title,
        source="Li, Lee & Lui 2013 (the trade-off)",
        runs=(dynamic, levelled),
        quantity="metrics.waf / the same without moving static data",
        measure=quotient("metrics.waf"),
        expected=1.06,
        tolerance=0.0,
        kind=Kind.ORDER,
        formula="WAF grows by a few percent: about share of static blocks / threshold",
        relation=Relation.AT_MOST,
    )


def _run(
    log: Log,
    policy: str,
    drive_writes: float,
    wear: Setting = "none",
    active_range_pct: float = 100.0,
) -> Run:
    workload = overwrites("random", drive_writes, 0.0, active_range_pct=active_range_pct)
    return Run(log.device(policy, wear=wear), workload)


def _wear(document: Document, key: str) -> float:
    return lookup(document, f"metrics.wear.{key}")


def _span(documents: Sequence[Document]) -> float:
    return _wear(documents[0], "max") - _wear(documents[0], "min")


def _lag(documents: Sequence[Document]) -> float:
    return _wear(documents[0], "mean") - _wear(documents[0], "min")


def _variance_to_mean(documents: Sequence[Document]) -> float:
    return _wear(documents[0], "stddev") ** 2 / _wear(documents[0], "mean")


def _relative_spread(documents: Sequence[Document]) -> float:
    return _wear(documents[0], "stddev") / _wear(documents[0], "mean")
