"""Uniform random overwrites: every victim policy against its formula, at S_eff.

The grid is spare factor x policy x pages per block; besides, what a reserve of erased blocks costs,
windowed greedy between its two limits, separate open blocks, and the order of the policies.

Sources: those of `theory.uniform`; X.-Y. Hu et al., "Write amplification analysis in flash-based
solid state drives", SYSTOR 2009, for windowed greedy (its values here are simulated, nobody has a
formula).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

from opennandlab.studies.validation.case import Case, Effort, Kind, Relation, Run, quotient
from opennandlab.studies.validation.devices import Log, overwrites
from opennandlab.theory.waf import CHOICES_DEFAULT, uniform_formula

SUITE = "waf_uniform"

FORMULAS = {
    "random": "A = 1/S_f",
    "fifo": "A = a / (a + W0(-a e^-a)), a = T/U",
    "greedy": "A = c/rho, c = (b rho - j) / ((b-j) - j (H_b - H_j)), 0 <= 1 - c (H_b - H_j) <= c/j",
    "d_choices": "A = b / (b - sum F_i^d), 1 - F_i^d = g i (F_i - F_i+1)",
}
SOURCES = {
    "random": "Van Houdt 2013 (d = 1)",
    "fifo": "Menon 1995; Robinson 1996; Desnoyers 2012",
    "greedy": "Bux & Iliadis 2010; Desnoyers 2014",
    "d_choices": "Van Houdt 2013",
}
TITLE = "WAF of uniform random writes follows the formula of the victim policy"

# Relative error; random victims spread most.
TOLERANCES = {"random": 0.015, "fifo": 0.01, "greedy": 0.01, "d_choices": 0.01}
# 7 % over-provisioning is a spare factor of 6.54 %.
SPARE_FACTORS = (0.05, 0.07 / 1.07, 0.10, 0.15, 0.20, 0.28)
# Policy, pages per block, d.
COLUMNS: tuple[tuple[str, int, int], ...] = (
    ("fifo", 64, 0),
    ("greedy", 16, 0),
    ("greedy", 64, 0),
    ("greedy", 128, 0),
    ("greedy", 256, 0),
    ("d_choices", 64, 2),
    ("d_choices", 64, 3),
    ("d_choices", 64, 10),
    ("random", 64, 0),
    # Small blocks are full or empty as victims: the rare paths of collection.
    ("random", 8, 0),
)
QUICK_CELLS: tuple[tuple[float, tuple[str, int, int]], ...] = (
    (0.07 / 1.07, ("fifo", 64, 0)),
    (0.07 / 1.07, ("greedy", 64, 0)),
    (0.07 / 1.07, ("d_choices", 64, 10)),
    (0.20, ("greedy", 16, 0)),
    (0.20, ("greedy", 256, 0)),
    (0.20, ("d_choices", 64, 2)),
    (0.20, ("random", 64, 0)),
    (0.28, ("random", 8, 0)),
)
# Policies from best to worst under uniform writes, at 64 pages per block.
ORDER: tuple[tuple[str, int], ...] = (
    ("greedy", 0),
    ("d_choices", 10),
    ("d_choices", 3),
    ("d_choices", 2),
    ("random", 0),
)
# Measured WAF of two policies may touch where their formulas nearly do.
ORDER_SLACK = 0.003
_case = partial(Case, suite=SUITE, quantity="metrics.waf")


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick, or the whole grid with three seeds.

    Example:
        >>> len(cases(Effort.QUICK)) < len(cases(Effort.FULL))
        True
    """
    if effort is Effort.QUICK:
        grid = [
            formula_case(Log.with_spare(2048 if block < 256 else 1024, block, spare), policy, d)
            for spare, (policy, block, d) in QUICK_CELLS
        ]
        return [
            *grid,
            *_separate_cases(blocks=2048, kinds=(("greedy", 0),)),
            *_reserve_cases((8,)),
            *_windowed_cases(shares=(0.05,)),
            *_order_cases(spares=(0.20,), blocks=2048, seeds=(1,)),
        ]
    return [
        *_grid(),
        *_separate_cases(blocks=4096, kinds=(("greedy", 0), ("d_choices", 10))),
        *_reserve_cases((1, 8, 32)),
        *_windowed_cases(shares=(0.01, 0.05, 0.10)),
        *_order_cases(spares=SPARE_FACTORS, blocks=4096, seeds=(1, 2, 3)),
    ]


def formula_case(log: Log, policy: str, choices: float = CHOICES_DEFAULT) -> Case:
    """Return the case of one policy on one log under uniform random writes.

    Args:
        log: the pool of blocks.
        policy: `random`, `fifo`, `greedy` or `d_choices`.
        choices: d of d_choices.

    Raises:
        ValueError: when the policy has no closed form.

    Example:
        >>> case = formula_case(Log.with_spare(4096, 64, 0.1), "greedy")
        >>> round(case.expected_value, 3)
        4.821
    """
    formula = uniform_formula(policy, log.pages_per_block, choices)
    return _case(
        name=f"{_label(policy, choices)}-b{log.pages_per_block}-S{log.spare_factor:.4f}",
        title=TITLE,
        source=SOURCES[policy],
        runs=(_run(log, policy, choices),),
        expected=partial(formula, log.spare_factor),
        tolerance=tolerance(log, policy),
        formula=FORMULAS[policy],
    )


def tolerance(log: Log, policy: str) -> float:
    """Return the accepted relative error of a WAF, which the size of the log decides.

    Args:
        log: the pool of blocks.
        policy: the victim policy.

    Returns:
        1 %, for small or tight logs more: the formulas are limits for many blocks.

    Example:
        >>> tolerance(Log.with_spare(512, 64, 0.1), "greedy")
        0.015
    """
    accepted = TOLERANCES.get(policy, 0.01)
    if log.blocks < 1024:
        accepted = max(accepted, 0.015)
    if log.spare_factor < 0.02:
        accepted = max(accepted, 0.02)
    return accepted


def _grid() -> Iterator[Case]:
    for spare in SPARE_FACTORS:
        for policy, block, d in COLUMNS:
            yield formula_case(Log.with_spare(4096, block, spare), policy, d)


def _separate_cases(blocks: int, kinds: tuple[tuple[str, int], ...]) -> Iterator[Case]:
    """Host and collected pages apart: the same value as one open block."""
    log = Log.with_spare(blocks, 64, 0.10)
    for policy, d in kinds:
        formula = uniform_formula(policy, 64, d or CHOICES_DEFAULT)
        yield _case(
            name=f"{_label(policy, d)}-b64-S0.1000-host_gc",
            title="Separate open blocks for host and collected pages change nothing for uniform"
            " writes",
            source="Van Houdt 2013",
            runs=(_run(log, policy, d, frontiers="host_gc"),),
            expected=partial(formula, log.spare_factor),
            tolerance=0.01,
            formula=f"{FORMULAS[policy]}, as with one open block",
        )


def _reserve_cases(reserves: tuple[int, ...]) -> Iterator[Case]:
    """Blocks that stay erased are no spare space: the formula holds at S_eff."""
    for reserve in reserves:
        log = Log.with_op(1024, 256, 0.07, reserve)
        yield _case(
            name=f"greedy-b256-op0.07-reserve{reserve}",
            title="Erased blocks held in reserve act as a smaller spare factor"
            " (1024 x 256 pages, OP 7 %)",
            source="definition; Desnoyers 2014",
            runs=(_run(log, "greedy"),),
            expected=partial(uniform_formula("greedy", 256), log.spare_factor),
            tolerance=0.01,
            formula=f"greedy at S_eff = 1 - U / ((N - R) b) = {log.spare_factor:.5f}",
        )


def _windowed_cases(shares: tuple[float, ...]) -> Iterator[Case]:
    """Best of the oldest blocks: no formula, but both limits have one."""
    log = Log.with_spare(4096, 64, 0.10)
    simulated = {0.01: 5.129, 0.05: 5.022, 0.10: 4.945}
    for share in shares:
        window = round(4096 * share)
        run = _run(log, {"kind": "windowed_greedy", "window_blocks": window})
        yield _case(
            name=f"windowed_greedy-{window}-b64-S0.1000",
            title="Windowed greedy at S_f 0.10, 4096 blocks",
            source="policy: Hu et al. 2009; value: independent simulation",
            runs=(run,),
            expected=simulated[share],
            tolerance=0.02,
            kind=Kind.REFERENCE,
            formula="none; simulated separately with 4096 blocks",
        )
        for limit, relation in (("greedy", Relation.AT_LEAST), ("fifo", Relation.AT_MOST)):
            yield _case(
                name=f"windowed_greedy-{window}-against-{limit}",
                title="Windowed greedy lies between greedy (window of all) and FIFO (window of 1)",
                source="Hu et al. 2009",
                runs=(_run(log, limit), run),
                quantity=f"metrics.waf / metrics.waf of {limit}",
                measure=quotient("metrics.waf"),
                expected=1.0,
                tolerance=ORDER_SLACK,
                kind=Kind.ORDER,
                formula=f"A(windowed) {relation.value} A({limit})",
                relation=relation,
            )


def _order_cases(spares: tuple[float, ...], blocks: int, seeds: tuple[int, ...]) -> Iterator[Case]:
    """More choice is never worse; a full turn of the log beats three choices."""
    pairs = [*pairwise(ORDER), (("greedy", 0), ("fifo", 0))]
    pairs.append((("fifo", 0), ("d_choices", 3)))
    for spare in spares:
        log = Log.with_spare(blocks, 64, spare)
        for (better, d_better), (worse, d_worse) in pairs:
            first, second = _label(better, d_better), _label(worse, d_worse)
            yield _case(
                name=f"{first}-before-{second}-S{spare:.4f}",
                title="Order of the victim policies under uniform writes, 64 pages per block",
                source="Van Houdt 2013; Desnoyers 2014",
                runs=(_run(log, better, d_better), _run(log, worse, d_worse)),
                quantity=f"metrics.waf of {second} / metrics.waf of {first}",
                measure=quotient("metrics.waf"),
                expected=1.0,
                tolerance=ORDER_SLACK,
                kind=Kind.ORDER,
                formula=f"A({first}) <= A({second})",
                seeds=seeds,
                relation=Relation.AT_LEAST,
            )


def _run(
    log: Log, policy: str | Mapping[str, Any], choices: float = 0, frontiers: str = "single"
) -> Run:
    chosen = {"kind": "d_choices", "d": int(choices)} if policy == "d_choices" else policy
    return Run(log.device(chosen, frontiers), overwrites())


def _label(policy: str, choices: float) -> str:
    return f"d{choices:g}" if policy == "d_choices" else policy
