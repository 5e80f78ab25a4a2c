"""Hot and cold pages: 20 % of the pages take 80 % of the writes, by open blocks and victim policy.

Exact or mean-field where a theory exists (one open block; two pools that never mix; pages that are
never rewritten), simulated references elsewhere. What must come out besides the numbers: in one log
skew makes things worse; separation helps; with separation greedy is no longer the best policy.
With separate open blocks the rule among equals matters: the references take the block that reached
its count last; taking the one that did so first gives 1 to 4 % less.

Sources: those of `theory.hot_cold` and `theory.mean_field`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any

from opennandlab.studies.validation.case import (
    Case,
    Document,
    Effort,
    Kind,
    Measure,
    Relation,
    Run,
    lookup,
    quotient,
)
from opennandlab.studies.validation.devices import Log, overwrites
from opennandlab.theory.hot_cold import fifo_classes, fifo_zipf, spare_factor_with_static, two_pools
from opennandlab.theory.mean_field import d_choices_hot_cold
from opennandlab.theory.uniform import greedy
from opennandlab.theory.waf import CHOICES_OF_GREEDY

SUITE = "waf_hot_cold"
FRACTION, SHARE, BLOCK = 0.2, 0.8, 64
SPARE_FACTORS = (0.07 / 1.07, 0.20)
PATTERN = {"kind": "hot_cold", "fraction": FRACTION, "share": SHARE}
TEN_CHOICES = {"kind": "d_choices", "d": 10}
HOST_GC = "host_gc"
ORACLE = {"kind": "hot_cold", "fraction": FRACTION}
SOURCE = "Van Houdt, Performance Evaluation 2013"
SIMULATED = "independent simulation, 16384 blocks of 64 pages"
_case = partial(Case, suite=SUITE, quantity="metrics.waf")

# Columns without a closed form: policy, open blocks, value at S_f 0.0654 and at 0.20.
REFERENCES: tuple[tuple[str, Any, str, Any, tuple[float, float]], ...] = (
    ("greedy-host_gc", "greedy", "host and collected pages apart", HOST_GC, (7.363, 2.852)),
    ("d10-host_gc", TEN_CHOICES, "host and collected pages apart", HOST_GC, (7.064, 2.680)),
    ("greedy-apart", "greedy", "hot and cold pages apart, by an oracle", ORACLE, (7.004, 2.599)),
    ("d10-apart", TEN_CHOICES, "hot and cold pages apart, by an oracle", ORACLE, (5.664, 2.208)),
)


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick (4096 blocks, one spare factor), or full (16384 blocks, three seeds).

    Example:
        >>> {case.suite for case in cases(Effort.QUICK)}
        {'waf_hot_cold'}
    """
    if effort is Effort.QUICK:
        return [*_columns(4096, SPARE_FACTORS[1:]), *_relations(4096, 0.20), *_static(2048)]
    return [
        *_columns(16384, SPARE_FACTORS),
        *(case for spare in SPARE_FACTORS for case in _relations(16384, spare)),
        *_static(4096),
        *_zipf(4096),
    ]


def _columns(blocks: int, spares: tuple[float, ...]) -> Iterator[Case]:
    for spare in spares:
        log = Log.with_spare(blocks, BLOCK, spare)
        yield from _one_log(log)
        yield _two_pools(log)
        for name, policy, words, frontiers, values in REFERENCES:
            yield _case(
                name=f"{name}-S{spare:.4f}",
                title=f"WAF with {words}, 20 % of the pages taking 80 % of the writes",
                source=SIMULATED,
                runs=(_run(log, policy, frontiers),),
                expected=values[SPARE_FACTORS.index(spare)],
                tolerance=0.02,
                kind=Kind.REFERENCE,
                formula="none; simulated separately",
            )


def _one_log(log: Log) -> Iterator[Case]:
    """One open block: FIFO exactly, d-choices and greedy by the two-dimensional mean field."""
    spare = log.spare_factor
    pages, writes = (FRACTION, 1.0 - FRACTION), (SHARE, 1.0 - SHARE)
    formulas: tuple[tuple[str, Any, Callable[[], float], str, str], ...] = (
        (
            "fifo",
            "fifo",
            partial(fifo_classes, pages, writes, spare),
            "A = sum r_k / (1 - exp(-(r_k/f_k) a/A))",
            "Desnoyers 2014",
        ),
        (
            "d10",
            TEN_CHOICES,
            partial(_mean_field, spare, 10.0),
            "mean field over (hot, cold) live pages of a block, d = 10",
            SOURCE,
        ),
        (
            "greedy",
            "greedy",
            partial(_mean_field, spare, CHOICES_OF_GREEDY),
            "the same mean field for many choices",
            SOURCE,
        ),
    )
    for name, policy, expected, formula, source in formulas:
        yield _case(
            name=f"{name}-single-S{spare:.4f}",
            title="WAF of one log with one open block, 20 % of the pages taking 80 % of the writes",
            source=source,
            runs=(_run(log, policy, "single"),),
            expected=expected,
            tolerance=0.01,
            formula=formula,
        )


def _two_pools(log: Log) -> Case:
    """Two drives, one for each class, with the spare pages divided as theory says is best."""
    uniform = partial(greedy, BLOCK)
    split = two_pools(uniform, log.spare_factor, FRACTION, SHARE)
    spare_pages = (log.blocks - log.reserve) * BLOCK - log.logical_pages
    runs = []
    for fraction, spare_share in (
        (FRACTION, split.hot_spare_share),
        (1.0 - FRACTION, 1.0 - split.hot_spare_share),
    ):
        pool_pages = fraction * log.logical_pages + spare_share * spare_pages
        blocks = max(round(pool_pages / BLOCK), 1)
        pool = Log(blocks + 1, BLOCK, round(fraction * log.logical_pages))
        runs.append(Run(pool.device("greedy"), overwrites()))

    def measure(documents: Sequence[Document]) -> float:
        hot, cold = (lookup(document, "metrics.waf") for document in documents)
        return SHARE * hot + (1.0 - SHARE) * cold

    return _case(
        name=f"greedy-two_pools-S{log.spare_factor:.4f}",
        title="Two pools that never mix, greedy, spare pages divided for the least WAF",
        source="Desnoyers 2014; Stoica & Ailamaki 2013",
        runs=tuple(runs),
        quantity="r metrics.waf of the hot pool + (1-r) metrics.waf of the cold pool",
        measure=measure,
        expected=split.waf,
        tolerance=0.015,
        formula="min over the split of r A(S_hot) + (1-r) A(S_cold); hot pool holds "
        f"{split.hot_spare_share:.1%} of the spare pages",
    )


def _relations(blocks: int, spare: float) -> Iterator[Case]:
    """Say the same as the numbers, as relations that hold at any size."""
    log = Log.with_spare(blocks, BLOCK, spare)
    uniform = Run(log.device("greedy"), overwrites())
    single = _run(log, "greedy", "single")
    split = _run(log, "greedy", HOST_GC)
    apart = _run(log, "greedy", ORACLE)
    apart_log = Log.with_spare(blocks, BLOCK, spare, reserve=2)
    ten_split, ten_apart = _run(log, TEN_CHOICES, HOST_GC), _run(log, TEN_CHOICES, ORACLE)
    at_least, at_most = Relation.AT_LEAST, Relation.AT_MOST
    rows = (
        ("skew-is-worse-in-one-log", (uniform, single), at_least, "one log: skewed >= uniform"),
        ("separation-helps", (single, split), at_most, "host/GC apart <= one open block"),
        ("d10-beats-greedy-host_gc", (split, ten_split), at_most, "host/GC apart: d=10 <= greedy"),
        ("d10-beats-greedy-apart", (apart, ten_apart), at_most, "hot/cold apart: d=10 <= greedy"),
    )
    for name, runs, relation, words in rows:
        yield _relation(f"{name}-S{spare:.4f}", runs, words, relation)
    yield _case(
        name=f"greedy-apart-is-uniform-S{spare:.4f}",
        title="Greedy with hot and cold pages in separate open blocks lands on its uniform value",
        source=SOURCE,
        runs=(apart,),
        expected=partial(greedy, BLOCK, apart_log.spare_factor),
        tolerance=0.01,
        formula="greedy, uniform writes, same spare factor",
    )


def _relation(name: str, runs: tuple[Run, ...], words: str, relation: Relation) -> Case:
    measure: Measure = quotient("metrics.waf")
    return _case(
        name=name,
        title="What skew and separation do to greedy and to ten choices",
        source=SOURCE,
        runs=runs,
        quantity="metrics.waf, second / first",
        measure=measure,
        expected=1.0,
        tolerance=0.003,
        kind=Kind.ORDER,
        formula=words,
        relation=relation,
    )


def _static(blocks: int) -> Iterator[Case]:
    """Pages that are never rewritten leave the log together with their blocks."""
    for static_share in (0.3, 0.6):
        log = Log.with_spare(blocks, BLOCK, 0.10)
        reduced = spare_factor_with_static(log.spare_factor, static_share)
        workload = overwrites(
            active_range_pct=100.0 * (1.0 - static_share), discarded=10.0, measured=5.0
        )
        yield _case(
            name=f"greedy-static{static_share:g}-S0.1000",
            title="Never rewritten pages drop out of the formula",
            source="Desnoyers 2014",
            runs=(Run(log.device("greedy"), workload),),
            expected=partial(greedy, BLOCK, reduced),
            tolerance=0.01,
            formula=f"greedy at S' = 1 - (1-s)/(a-s) = {reduced:.4f}, s = {static_share:g}",
        )


def _zipf(blocks: int) -> Iterator[Case]:
    """FIFO is exact for any popularity, so it checks the Zipf generator page by page."""
    for theta in (0.6, 0.99):
        log = Log.with_spare(blocks, BLOCK, 0.20)
        yield _case(
            name=f"fifo-zipf{theta:g}-S0.2000",
            title="One circular log under Zipf writes, every page a class of its own",
            source="Desnoyers 2014",
            runs=(Run(log.device("fifo"), overwrites({"kind": "zipf", "theta": theta})),),
            expected=partial(fifo_zipf, log.logical_pages, theta, log.spare_factor),
            tolerance=0.01,
            formula="A = sum r_k / (1 - exp(-r_k U a/A)), r_k ~ k^-theta",
        )


def _run(log: Log, policy: str | dict[str, Any], frontiers: str | dict[str, Any]) -> Run:
    if frontiers == ORACLE:
        # One collection can fill both open blocks, so this needs two erased ones.
        log = Log.with_spare(log.blocks, BLOCK, log.spare_factor, reserve=2)
    return Run(log.device(policy, frontiers), overwrites(PATTERN))


@cache
def _mean_field(spare: float, choices: float) -> float:
    return d_choices_hot_cold(BLOCK, spare, choices, FRACTION, SHARE)
