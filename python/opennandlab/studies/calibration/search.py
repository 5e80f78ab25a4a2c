"""The search for the best keys: CMA-ES over the whole range, then Gauss-Newton where it led.

```text
start ──► search: generations of CMA-ES ──► polish: differences, damped steps ──┐
     ▲    until they bring little           until they bring little             │
     └──────── again from the best place, while runs are left ◄─────────────────┘
```
All of it is done from several starts, that of the device file and others that are drawn, until two
of them have ended equally well: a minimum that one start finds may be the wrong one.

CMA-ES (N. Hansen, 2016, arXiv:1604.00772; package `cma`) needs no gradient and gets over noise and
several minima. Near the best place the residuals are nearly linear in the keys, and a step of
Gauss-Newton with the damping of Marquardt (1963) finds what hundreds of further draws would.
Nothing here depends on the clock or on the number of cores.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opennandlab.base.extras import need
from opennandlab.studies.calibration.keys import Key
from opennandlab.studies.calibration.objective import Array, Objective, is_as_good

# First standard deviation of each search, of a range of 1; later ones begin at the best place.
SIGMAS = (0.25, 0.08, 0.25, 0.08)
# The search ends when so many generations brought less than this share of the loss.
PATIENCE = 10
# Places that are drawn for each further start.
DRAWS = 16
GAIN_MIN = 0.05
# What stands for the loss of a device that is invalid.
LOSS_MAX = 1e6
# Polishing.
TURNS_MAX = 8
POLISH_GAIN_MIN = 0.005
# Steps that are tried in each turn: damping, and how far a key may move. Far from the minimum a key
# may seem to do nothing, so that the step without a limit would go to the other end of its range.
Step = tuple[float, float]
STEPS: tuple[Step, ...] = ((1e-6, 1.0), (1e-4, 0.3), (1e-2, 0.1), (1e-1, 0.03))
# Where a run takes long.
FEW_STEPS = STEPS[:1] + STEPS[2:3]
# Keys are moved by so much for a difference: relative, or of the range.
DIFFERENCE = 0.03
# By so much where differences of that would be those of chance: of a slope this share is noise.
WIDE_DIFFERENCE = 0.3
# Where figures scatter by a percent.
LARGE_DIFFERENCE = 0.12
NOISY = 0.3
GRID = 9


def runs_of_polish(keys: int) -> int:
    """Return how many runs polishing and the last differences take at most."""
    return TURNS_MAX * (keys + len(STEPS)) + 2 * keys


def find(objective: Objective, runs_max: int, seed: int, starts_max: int = 1) -> None:
    """Search; the best place is in the objective.

    Args:
        objective: With the start known.
        runs_max: Runs of each start, the last differences among them.
        seed: Decides every draw.
        starts_max: Starts at most; no further one when two have ended equally well.

    Raises:
        MissingError: for several keys without the package that searches.
    """
    if len(objective.keys) > 1:
        need("fit")
    for number in range(starts_max):
        ends = objective.runs + runs_max if number else runs_max
        if number:
            objective.stage = f"start {number + 1}"
            objective.residuals([_far(objective, np.random.default_rng([seed, number]))])
        _find(objective, ends, seed + len(SIGMAS) * number)
        objective.end()
        losses = sorted(objective.loss(end.residuals) for end in objective.ends)
        if len(losses) > 1 and is_as_good(losses[1], losses[0]):
            break
    objective.choose()


def refine(objective: Objective, runs_max: int) -> None:
    """Step towards the minimum from the start; the best place is in the objective.

    Args:
        objective: With the start known.
        runs_max: Runs in all.
    """
    polish(objective, runs_max, FEW_STEPS, LARGE_DIFFERENCE)
    objective.choose()


def _far(objective: Objective, draw: np.random.Generator) -> Array:
    """Return the place, of some that are drawn, that is furthest from where starts have ended."""
    places: Array = draw.uniform(0.0, 1.0, (DRAWS, len(objective.keys)))
    known = np.array([end.place for end in objective.ends])
    gaps = np.abs(places[:, None, :] - known[None, :, :]).sum(axis=2).min(axis=1)
    found: Array = places[int(np.argmax(gaps))]
    return found


def _find(objective: Objective, runs_max: int, seed: int) -> None:
    """Search from one start, until so many runs are used up in all."""
    if len(objective.keys) == 1:
        # CMA-ES is not made for one dimension; a line is searched by a grid.
        objective.stage = "search"
        objective.residuals([np.array([at]) for at in np.linspace(0, 1, GRID)])
        polish(objective, runs_max)
        return
    for place, sigma in enumerate(SIGMAS):
        before = objective.best_loss
        left = runs_max - runs_of_polish(len(objective.keys)) - objective.runs
        is_cut = False
        if left > 0:
            objective.stage = "search"
            is_cut = _evolve(objective, left, seed + place, sigma)
        polish(objective, runs_max)
        objective.is_cut |= is_cut
        if objective.best_loss == 0 or (place and objective.best_loss > (1 - GAIN_MIN) * before):
            return


def _evolve(objective: Objective, runs: int, seed: int, sigma: float) -> bool:
    """Draw generations until they bring little; return whether the runs were used up before."""
    import cma

    draw = np.random.default_rng(seed)
    options: dict[str, Any] = {
        "bounds": [0, 1],
        "randn": lambda *shape: draw.standard_normal(shape),
        # Its own seed would be that of numpy as a whole.
        "seed": math.nan,
        "verbose": -9,
        "verb_log": 0,
    }
    first = objective.best if objective.best is not None else np.full(len(objective.keys), 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        strategy = cma.CMAEvolutionStrategy(np.clip(first, 0.02, 0.98), sigma, options)
    ends = objective.runs + runs
    history = [objective.best_loss]
    while not strategy.stop() and objective.runs + strategy.popsize <= ends:
        places = [np.asarray(one, dtype=np.float64) for one in strategy.ask()]
        losses = [min(objective.loss(one), LOSS_MAX) for one in objective.residuals(places)]
        strategy.tell(places, losses)
        history.append(objective.best_loss)
        if len(history) > PATIENCE and history[-1] > (1 - GAIN_MIN) * history[-1 - PATIENCE]:
            return False
    return not strategy.stop()


def polish(
    objective: Objective,
    runs_max: int,
    tried: Sequence[Step] = STEPS,
    difference: float = DIFFERENCE,
) -> None:
    """Step towards the minimum from the best place, until that brings little.

    Args:
        objective: With a place known.
        runs_max: Runs in all, those of the last differences among them.
        tried: Steps of each turn.
        difference: How far keys are moved for a difference.
    """
    objective.stage, objective.is_cut = "polish", False
    number = len(objective.keys)
    for _ in range(TURNS_MAX):
        if objective.runs + number + len(tried) + 2 * number > runs_max:
            objective.is_cut = True
            return
        before = objective.best_loss
        if objective.best is None or objective.best_residuals is None or before == 0:
            return
        place, residuals = objective.best, objective.best_residuals
        slopes = differences(objective, place, residuals, difference)
        if slopes is None:
            return
        steps = _steps(objective.weighted(slopes), objective.weighted(residuals), place, tried)
        objective.residuals([np.clip(place + step, 0.0, 1.0) for step in steps])
        if objective.best_loss > (1 - POLISH_GAIN_MIN) * before:
            return


def _steps(slopes: Array, residuals: Array, place: Array, tried: Sequence[Step]) -> list[Array]:
    """Return steps of Gauss-Newton; keys at a bound do not move beyond it."""
    pull = slopes.T @ residuals
    is_stuck = ((place <= 0) & (pull > 0)) | ((place >= 1) & (pull < 0))
    free = ~is_stuck & (np.abs(slopes).sum(axis=0) > 0)
    found = []
    for damping, limit in tried:
        step = np.zeros_like(place)
        if free.any():
            part = slopes[:, free]
            square = part.T @ part
            damped = square + damping * np.diag(np.diag(square))
            moved = -np.linalg.lstsq(damped, part.T @ residuals, rcond=1e-12)[0]
            step[free] = np.clip(moved, -limit, limit)
        found.append(step)
    return found


@dataclass(frozen=True)
class Slopes:
    """How residuals change with each coordinate.

    Args:
        slopes: d residual / d place, float64, (cells, keys).
        noise: Standard deviation of a slope of each key, from how the runs scatter.
    """

    slopes: Array
    noise: Array


def slopes_at(objective: Objective, place: Array, residuals: Array) -> Slopes | None:
    """Return slopes by differences to both sides; None where unknown.

    What a drive gives may jump with every change of a key, when collections begin elsewhere: the
    values of both sides are then off the line through the middle. Where that would be taken for a
    slope, wider differences are.

    Args:
        objective: What is asked.
        place: Where.
        residuals: What is there.
    """
    found = None
    for step in (DIFFERENCE, WIDE_DIFFERENCE):
        sides = _differences(objective, place, residuals, step, is_central=True)
        if sides is None:
            return found
        slopes, squares, widths = sides
        if found is None:
            scatter = math.sqrt(sum(squares) / len(squares)) if squares else 0.0
        noise = np.array([math.sqrt(2) * scatter / width for width in widths])
        found = Slopes(slopes, noise)
        strengths = np.sqrt(np.mean(slopes[objective.counts] ** 2, axis=0))
        if not (noise > NOISY * strengths).any():
            break
    return found


def differences(
    objective: Objective, place: Array, residuals: Array, step: float = DIFFERENCE
) -> Array | None:
    """Return how residuals change with each coordinate, by differences to one side; None: unknown.

    Args:
        objective: What is asked.
        place: Where.
        residuals: What is there.
        step: How far keys are moved.
    """
    found = _differences(objective, place, residuals, step, is_central=False)
    return None if found is None else found[0]


def _differences(
    objective: Objective, place: Array, residuals: Array, step: float, *, is_central: bool
) -> tuple[Array, list[float], list[float]] | None:
    """Return slopes, squares of how far figures are off lines, and how far apart sides are."""
    moved: list[tuple[int, Array]] = []
    for at, key in enumerate(objective.keys):
        sides = _sides(key, float(place[at]), step)
        for side in sides if is_central else sides[:1]:
            other = place.copy()
            other[at] = side
            moved.append((at, other))
    found = objective.residuals([other for _, other in moved])
    slopes = np.zeros((residuals.size, len(objective.keys)))
    squares: list[float] = []
    widths: list[float] = []
    for at, key in enumerate(objective.keys):
        here = [
            (_exact(key, float(other[at])), one)
            for (index, other), one in zip(moved, found, strict=True)
            if index == at and one is not None
        ]
        middle = (_exact(key, float(place[at])), residuals)
        slope = _slope(here, middle)
        if slope is None:
            return None
        slopes[:, at] = slope
        ends = [one for one, _ in ([*here, middle] if len(here) < 2 else here)]
        widths.append(max(abs(ends[0] - ends[1]), 1e-9))
        if len(here) == 2 and not key.is_integer:
            squares.append(_scatter(here, middle, objective.counts))
    return slopes, squares, widths


def _scatter(
    sides: Sequence[tuple[float, Array]], here: tuple[float, Array], counts: Array
) -> float:
    """Return the variance of a figure, from how far the middle is off the line of both sides."""
    (one, first), (other, second) = sides
    share = (here[0] - one) / (other - one)
    off = here[1] - (first + share * (second - first))
    return float(np.mean(off[counts] ** 2)) / (1 + share**2 + (1 - share) ** 2)


def _slope(sides: Sequence[tuple[float, Array]], here: tuple[float, Array]) -> Array | None:
    known = [*sides, here] if len(sides) < 2 else list(sides)
    if len(known) < 2:
        return None
    (one, first), (other, second) = known[0], known[1]
    return (first - second) / (one - other) if one != other else np.zeros_like(first)


def _exact(key: Key, place: float) -> float:
    """Return the place of the value that is run."""
    return key.place(float(key.value(place)))


def _sides(key: Key, place: float, difference: float) -> list[float]:
    """Return the places on both sides, towards the middle first."""
    value = float(key.value(place))
    if key.is_integer:
        step = max(1.0, round(difference * value))
        up, down = (key.place(one) if key.low <= one <= key.high else -1.0
                    for one in (value + step, value - step))  # fmt: skip
    else:
        if key.is_log:
            width = math.log(1 + difference) / math.log(key.high / key.low)
        else:
            width = max(difference * abs(value) / (key.high - key.low), difference)
        up, down = place + width, place - width
    sides = [down, up] if place > 0.5 else [up, down]
    return [side for side in sides if 0 <= side <= 1]
