"""Rounds on the shrunk simulation, until it does what the equations promise.

    t <- t S' / S        A <- A (R' S / R S')^0.7, later by secant in logarithms

with S' and R' as simulated: the equations leave out what only a run has, such as waits for the
slowest die of a row and buffers that run empty. Another number of blocks draws other dies, which
moves both rates alike, by some 2 % with 16 dies: so their ratio finds A, which stays once it is
right, and in the last round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.core.run import benchmark
from opennandlab.core.shrinking import AUTO, shrink
from opennandlab.studies.rating.equations import ALPHA_RANGE, UNIT_BYTES, alpha_of
from opennandlab.studies.rating.planning import Plan, device_of

ROUNDS_MAX, TOLERANCE = 4, 0.01
# A rate goes with the 1.2th to 1.8th power of the amplification: a first step.
STEP, STEP_RANGE = 0.7, (0.5, 0.9)
FILL = {"kind": "sequential_fill"}
SEQUENTIAL_RUN: dict[str, Any] = {
    "name": "sequential", "pattern": "sequential", "block_size_bytes": 128 << 10,
    "queue_depth": 32, "total": {"drive_writes": 0.5},
}  # fmt: skip
UNIFORM_RUN: dict[str, Any] = {
    "name": "uniform", "pattern": "random", "block_size_bytes": UNIT_BYTES, "queue_depth": 512,
    "precondition": [
        FILL,
        {"kind": "workload", "drive_writes": 3.9},
        {"kind": "workload", "drive_writes": 0.1, "timed": True},
    ],
    "total": {"drive_writes": 0.4},
}  # fmt: skip


@dataclass(frozen=True)
class Round:
    """One round of simulations.

    Args:
        wordline_us: t.
        alpha: Space for data over the capacity.
        sequential_mb_s: S'.
        uniform_mb_s: R'.
        waf: A'.
    """

    wordline_us: float
    alpha: float
    sequential_mb_s: float
    uniform_mb_s: float
    waf: float


@dataclass(frozen=True)
class Fitted:
    """The plan after its rounds.

    Args:
        plan: The plan.
        rounds: The rounds, in order; the last with the plan as it is.
        shrink: Divisor of the drives.
        is_met: Whether both rates came within 1 %.
    """

    plan: Plan
    rounds: tuple[Round, ...]
    shrink: int
    is_met: bool


def fitted(
    plan: Plan, divisor: int | str = AUTO, seed: int = 42,
    watch: Callable[[Round], None] = lambda _: None,
) -> Fitted:  # fmt: skip
    """Return the plan whose simulation has the rates of its sheet.

    Args:
        plan: Of the closed form.
        divisor: What drives are divided by.
        seed: Of all randomness.
        watch: Called after each round.

    Raises:
        ConfigError: for a divisor that is not good.
    """
    rounds: list[Round] = []
    wanted = plan.sequential_rate / 1e6, plan.random_rate / 1e6
    is_steady = plan.sheet.state == "steady"
    while True:
        now, count = simulated(plan, divisor, seed)
        rounds.append(now)
        watch(now)
        off = now.sequential_mb_s / wanted[0], now.uniform_mb_s / wanted[1] if is_steady else 1.0
        is_met = all(abs(one - 1.0) <= TOLERANCE for one in off)
        if is_met or len(rounds) == ROUNDS_MAX:
            return Fitted(_as_simulated(plan, now), tuple(rounds), count, is_met)
        plan = _stepped(plan, rounds, off, is_steady=is_steady)


def simulated(plan: Plan, divisor: int | str, seed: int) -> tuple[Round, int]:
    """Return what a plan does when it is simulated, and the divisor of its drive."""
    sequential, _, _ = _run(plan, SEQUENTIAL_RUN, divisor, seed)
    uniform, waf, count = _run(plan, UNIFORM_RUN, divisor, seed)
    found = plan.solution
    return Round(found.wordline_us, found.alpha, sequential, uniform, waf), count


def uniform_mb_s(plan: Plan, divisor: int | str, seed: int) -> float:
    """Return the simulated rate of random writes."""
    return _run(plan, UNIFORM_RUN, divisor, seed)[0]


def _run(
    plan: Plan, work: Mapping[str, Any], divisor: int | str, seed: int
) -> tuple[float, float, int]:
    """Return rate and write amplification of a workload, and the divisor of the drive."""
    smaller = shrink(device_of(plan, "rated")[0], work, divisor)
    metrics = benchmark(smaller.device, smaller.workload, seed=seed).metrics
    return float(metrics["throughput_mb_s"]["write"]), float(metrics["waf"]), smaller.divisor


def _as_simulated(plan: Plan, now: Round) -> Plan:
    """Return the plan with the cost of collecting that its rates have: c = S / (k A R) - 1."""
    share = plan.flash.data_share * plan.solution.programs
    cost = max(now.sequential_mb_s / (share * now.uniform_mb_s) - 1.0, 0.0)
    return replace(plan, solution=replace(plan.solution, collecting=cost))


def _stepped(plan: Plan, rounds: list[Round], off: tuple[float, float], *, is_steady: bool) -> Plan:
    """Return the plan of the next round."""
    now, share = rounds[-1], plan.flash.data_share
    solution = replace(plan.solution, wordline_us=now.wordline_us * off[0])
    ratio = off[1] / off[0]
    if is_steady and abs(ratio - 1.0) > TOLERANCE and len(rounds) < ROUNDS_MAX - 1:
        programs = plan.solution.programs * ratio ** _power(rounds)
        low, high = ALPHA_RANGE
        alpha = min(max(alpha_of(max(programs * share, 1.0 + 1e-9)), low), high)
        solution = replace(solution, programs=programs, alpha=alpha)
    return replace(plan, solution=solution)


def _power(rounds: list[Round]) -> float:
    """Return by what power of the rate the amplification moves: of the last two rounds."""
    if len(rounds) < 2:
        return STEP
    ratios = [one.uniform_mb_s / one.sequential_mb_s for one in rounds[-2:]]
    moved = math.log(ratios[1] / ratios[0])
    if abs(moved) < TOLERANCE:
        return STEP
    low, high = STEP_RANGE
    return min(max(-math.log(rounds[-1].waf / rounds[-2].waf) / moved, low), high)


def refused_unless_good(divisor: str) -> int | str:
    """Return what `--shrink` asks for.

    Raises:
        ConfigError: for another text.
    """
    if divisor == AUTO:
        return divisor
    if divisor.isascii() and divisor.isdigit() and int(divisor[:9]) >= 1 and len(divisor) < 9:
        return int(divisor)
    raise ConfigError("--shrink", f"`{divisor[:40]}` is not valid; accepted: auto, 1 or more")
