"""d-choices with one open block under hot and cold writes: the mean field in two dimensions.

State: the share p(i, j) of blocks with i live hot and j live cold pages. A block is collected once
per unit of time on average; a hot page dies at rate `g r / f`, a cold one at `g (1-r) / (1-f)`.
With V_k the share of blocks with at least k live pages, the victim has `k = i + j` of them with
probability `V_k^d - V_(k+1)^d`; it comes back full, its fresh pages hot with probability r.

    level b  n(i) -> p(i, b-i) -> ... pages die ... -> level 0;   victims' live pages go back into n

Pages only die, so for a trial (n, g) the levels are solved from the top, one monotone equation
each. For given g, n is the fixed point of what comes back; g is the root of "live pages per block
= b rho", between the random victim (A = 1/S_f) and the empty one (A = 1).

Source: B. Van Houdt, "Performance of garbage collection algorithms for flash-based solid state
drives with hot/cold data", Performance Evaluation 70 (2013); the solution by levels is ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from opennandlab.theory._check import require_at_least, require_count, require_open_share
from opennandlab.theory._solve import find_root, fixed_point
from opennandlab.theory.uniform import d_choices

Array = npt.NDArray[np.float64]

# The two-dimensional state grows with the square of the block.
PAGES_PER_BLOCK_LIMIT = 512
# Accuracy of a composition, whose sum is 1, and of the live pages and the rate at the balance.
ITERATION_LIMIT = 2000
TOLERANCE = 1e-9
# Accuracy of the mass of a level, of which b + 1 are solved from the sum of those above.
LEVEL_TOLERANCE = 1e-13
# The mass of a level is sought above this part of the possible one; without such a mass, 0 is it.
LEAST_MASS = 1e-15
# Step of the search for rates on both sides of the balance.
RATE_STEP = 0.1


def d_choices_hot_cold(
    pages_per_block: int, spare_factor: float, choices: float, fraction: float, share: float
) -> float:
    """Return the WAF of d-choices with one open block when hot pages take most of the writes.

    Args:
        pages_per_block: b, 1 to 512.
        spare_factor: S_f, 0 to 1 exclusive.
        choices: d, at least 1; a few thousand are greedy.
        fraction: f, share of the logical pages that are hot, 0 to 1 exclusive.
        share: r, share of the writes that they receive, 0 to 1 exclusive.

    Returns:
        `A = b / (b - mean live pages of a victim)`.

    Raises:
        ValueError: when an argument is out of range.
        ArithmeticError: when the fixed point is not reached (skews beyond 10000 to 1).

    Source:
        Van Houdt, Performance Evaluation 70 (2013).

    Example:
        >>> round(d_choices_hot_cold(16, 0.2, 10, 0.2, 0.8), 2)
        2.79
    """
    model = _Model(
        block=require_count("pages_per_block", pages_per_block, 1, PAGES_PER_BLOCK_LIMIT),
        rho=1.0 - require_open_share("spare_factor", spare_factor),
        choices=require_at_least("choices", choices, 1.0),
        fraction=require_open_share("fraction", fraction),
        share=require_open_share("share", share),
    )
    if model.choices == 1.0:
        return 1.0 / spare_factor
    return max(1.0, 1.0 / (_balanced_rate(model, spare_factor) * model.rho))


def _balanced_rate(model: _Model, spare_factor: float) -> float:
    """Return the g at which blocks hold `b rho` live pages on average.

    Skew makes one log a little worse than uniform writes: start there and walk to a sign change.
    """
    balance = _Balance(model)
    slowest, fastest = spare_factor / model.rho, 1.0 / model.rho
    known = fastest / d_choices(model.block, spare_factor, model.choices)
    while abs(balance.excess(known)) > TOLERANCE * balance.mean_live:
        trial = known * (1.0 + RATE_STEP if balance.excess(known) > 0.0 else 1.0 - RATE_STEP)
        trial = min(max(trial, slowest), fastest)
        if trial == known:
            return known
        if (balance.excess(trial) > 0.0) != (balance.excess(known) > 0.0):
            return find_root(balance.excess, known, trial, TOLERANCE)
        known = trial
    return known


class _Balance:
    """Live pages against the death rate g, each computed once.

    The fixed point of each rate is sought from that of the rate before, which is near.
    """

    def __init__(self, model: _Model) -> None:
        self.mean_live = model.block * model.rho
        self._model = model
        self._composition = model.start()
        self._known: dict[float, float] = {}

    def excess(self, rate: float) -> float:
        """Return the mean live pages of a block at a rate, less the `b rho` that it must hold."""
        if rate not in self._known:
            self._composition = fixed_point(
                lambda trial: self._model.step(trial, rate)[0],
                self._composition,
                TOLERANCE,
                ITERATION_LIMIT,
            )
            freed = self._model.step(self._composition, rate)[1]
            self._known[rate] = freed / rate - self.mean_live
        return self._known[rate]


@dataclass(frozen=True)
class _Model:
    """One set of parameters; `step` maps a trial composition of new blocks to the next one.

    Args:
        block: b, pages of a block.
        rho: Share of the physical pages that are live, `1 - S_f`.
        choices: d.
        fraction: f.
        share: r.
    """

    block: int
    rho: float
    choices: float
    fraction: float
    share: float
    fresh: list[Array] = field(init=False, repr=False)
    """fresh[m]: probability that h of m host pages are hot; float64, (m + 1,)."""

    def __post_init__(self) -> None:
        fresh = [np.ones(1)]
        for _ in range(self.block):
            fresh.append(np.convolve(fresh[-1], [1.0 - self.share, self.share]))
        object.__setattr__(self, "fresh", fresh)

    def start(self) -> Array:
        """Return a first guess, new blocks as hot as the writes; float64, (b + 1,)."""
        return self.fresh[self.block]

    def step(self, composition: Array, rate: float) -> tuple[Array, float]:
        """Return the composition of the next new blocks, and the pages that a collection frees."""
        heat_hot = rate * self.share / self.fraction
        heat_cold = rate * (1.0 - self.share) / (1.0 - self.fraction)
        inflow = composition
        following = np.zeros(self.block + 1)
        freed, missing = 0.0, 1.0
        for level in range(self.block, -1, -1):
            hot = np.arange(level + 1, dtype=np.float64)
            deaths = heat_hot * hot + heat_cold * (level - hot)
            if level == 0:
                following += float(inflow[0]) * self.fresh[self.block]
                freed += self.block * float(inflow[0])
                break
            mass, collection_rate = self._solve_level(inflow, deaths, missing)
            missing = max(missing - mass, 0.0)
            blocks = inflow / (deaths + collection_rate)
            victims = blocks * collection_rate
            following += np.convolve(victims, self.fresh[self.block - level])
            freed += (self.block - level) * float(victims.sum())
            inflow = (blocks * heat_hot * hot)[1:] + (blocks * heat_cold * (level - hot))[:-1]
        return following, freed

    def _solve_level(self, inflow: Array, deaths: Array, missing: float) -> tuple[float, float]:
        """Return the mass of one level and the rate at which its blocks are collected.

        Args:
            inflow: Blocks that enter the level per unit of time, by hot pages; float64, (k + 1,).
            deaths: Rate at which they lose a page; float64, (k + 1,).
            missing: 1 - V_(k+1), the share of blocks that this level and those below must fill.
        """

        def collection_rate(mass: float) -> float:
            # (V_k^d - V_(k+1)^d) / (V_k - V_(k+1)) without cancellation.
            present = 1.0 - missing + mass
            top = self.choices * math.log(present) if present > 0.0 else -math.inf
            gap = self.choices * math.log1p(-mass / present) if mass < present else -math.inf
            return math.exp(top) * -math.expm1(gap) / mass

        def excess(mass: float) -> float:
            return float(np.sum(inflow / (deaths + collection_rate(mass)))) - mass

        low = missing * LEAST_MASS
        # A `missing` this small has no smaller mass that is a float, and no effect.
        if missing <= 1e-300 or not np.any(inflow > 0.0) or excess(low) <= 0.0:
            # The limit of the rate for a mass of 0: the derivative of V^d.
            return 0.0, self.choices * (1.0 - missing) ** (self.choices - 1.0)
        if excess(missing) >= 0.0:
            return missing, collection_rate(missing)
        mass = find_root(excess, low, missing, LEVEL_TOLERANCE)
        return mass, collection_rate(mass)
