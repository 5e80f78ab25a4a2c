"""Root and minimum by bracketing, and the stationary distribution of a map by mixing.

Invariant: a root or minimum is inside the bracket that the caller proved, so every formula built
on these has one answer for every legal input; no tuning, no starting guess. A stationary
distribution is reached by plain steps if need be; mixing only makes it sooner.

Sources: T. R. Chandrupatla, "A new hybrid quadratic/bisection algorithm", Advances in Engineering
Software 28 (1997); J. Kiefer, "Sequential minimax search for a maximum" (1953); D. G. Anderson,
"Iterative procedures for nonlinear integral equations", J. ACM 12 (1965).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Shares = npt.NDArray[np.float64]

MIXING_DEPTH = 25
STEP_LIMIT = 400
GOLDEN_RATIO = (math.sqrt(5.0) - 1.0) / 2.0


def find_root(
    function: Callable[[float], float], low: float, high: float, tolerance: float = 1e-14
) -> float:
    """Return where a continuous function changes sign between two points.

    Args:
        function: a continuous function whose values at the two ends differ in sign, or vanish.
        low: one end of the bracket.
        high: the other end.
        tolerance: accepted width of the final bracket, relative to the root.

    Returns:
        The root.

    Raises:
        ValueError: when the values at the ends have the same sign.

    Source:
        Chandrupatla (1997).
    """
    newest, previous = high, low
    value, value_previous = function(newest), function(previous)
    if value == 0.0:
        return newest
    if value_previous == 0.0:
        return previous
    if (value > 0.0) == (value_previous > 0.0):
        message = f"no sign change: f({low})={value_previous}, f({high})={value}"
        raise ValueError(message)
    step = 0.5
    for _ in range(STEP_LIMIT):
        trial = newest + step * (previous - newest)
        value_trial = function(trial)
        if (value_trial > 0.0) == (value > 0.0):
            third, value_third = newest, value
        else:
            third, value_third = previous, value_previous
            previous, value_previous = newest, value
        newest, value = trial, value_trial
        best = newest if abs(value) < abs(value_previous) else previous
        width = abs(previous - newest)
        margin = (2.0 * math.ulp(abs(best)) + 0.5 * tolerance * abs(best)) / max(width, 5e-324)
        if margin >= 0.5 or value == 0.0:
            return best
        step = _next_step((newest, previous, third), (value, value_previous, value_third))
        step = min(max(step, margin), 1.0 - margin)
    return best


def _next_step(points: tuple[float, float, float], values: tuple[float, float, float]) -> float:
    """Return the relative step: inverse quadratic where that is safe, else one half."""
    (a, b, c), (value_a, value_b, value_c) = points, values
    place = (a - b) / (c - b) if c != b else math.inf
    share = (value_a - value_b) / (value_c - value_b) if value_c != value_b else math.inf
    is_smooth = 1.0 - math.sqrt(max(0.0, 1.0 - place)) < share < math.sqrt(max(0.0, place))
    if not is_smooth:
        return 0.5
    first = value_a / (value_b - value_a) * value_c / (value_b - value_c)
    second = (c - a) / (b - a) * value_a / (value_c - value_a) * value_b / (value_c - value_b)
    return first + second


def find_minimum(
    function: Callable[[float], float], low: float, high: float, tolerance: float = 1e-9
) -> float:
    """Return where a function with one valley is smallest.

    Args:
        function: unimodal between the two points.
        low: lower end.
        high: upper end.
        tolerance: accepted width of the final bracket, absolute.

    Returns:
        The place of the minimum.

    Source:
        Golden section, Kiefer (1953).
    """
    left = high - GOLDEN_RATIO * (high - low)
    right = low + GOLDEN_RATIO * (high - low)
    value_left, value_right = function(left), function(right)
    while high - low > tolerance:
        if value_left < value_right:
            high, right, value_right = right, left, value_left
            left = high - GOLDEN_RATIO * (high - low)
            value_left = function(left)
        else:
            low, left, value_left = left, right, value_right
            right = low + GOLDEN_RATIO * (high - low)
            value_right = function(right)
    return 0.5 * (low + high)


def fixed_point(
    step: Callable[[Shares], Shares], start: Shares, tolerance: float, step_limit: int
) -> Shares:
    """Return the distribution that a map leaves as it is.

    Args:
        step: maps shares that sum to 1 to shares that sum to 1; float64, (states,).
        start: first guess.
        tolerance: accepted sum of the absolute changes in one step.
        step_limit: steps before giving up.

    Returns:
        The shares; float64, (states,).

    Raises:
        ArithmeticError: when the limit is reached.

    Source:
        Anderson (1965). A mixed guess that is worse than its predecessors is dropped for a plain
        step, which conserves shares and cannot run away.
    """
    point = start
    points: list[Shares] = []
    errors: list[Shares] = []
    best = math.inf
    for _ in range(step_limit):
        following = step(point)
        error = following - point
        size = float(np.sum(np.abs(error)))
        if size < tolerance:
            return following
        if size > 2.0 * best:
            points, errors, best = [], [], math.inf
        best = min(best, size)
        points, errors = [*points[-MIXING_DEPTH:], point], [*errors[-MIXING_DEPTH:], error]
        point = np.maximum(_mixed(points, errors), 0.0)
        point /= point.sum()
    message = f"no stationary distribution after {step_limit} steps, last change {size:.3g}"
    raise ArithmeticError(message)


def _mixed(points: list[Shares], errors: list[Shares]) -> Shares:
    """Return the next point: the combination of recent steps whose linearised error is least.

    Gram-Schmidt on the moves of the error, newest first; moves that add nothing new are left out.
    Plain sums instead of matrix routines: those differ between machines and, for such slim
    matrices, lose more to their threads than they gain.
    """
    error = errors[-1].copy()
    result: Shares = points[-1] + error
    basis: list[tuple[Shares, Shares]] = []
    for newer in range(len(points) - 1, 0, -1):
        move = errors[newer] - errors[newer - 1]
        shift = points[newer] - points[newer - 1] + move
        length = _length(move)
        for direction, effect in basis:
            share = _inner(direction, move)
            move -= share * direction
            shift -= share * effect
        rest = _length(move)
        if rest <= 1e-10 * length:
            continue
        direction, effect = move / rest, shift / rest
        basis.append((direction, effect))
        share = _inner(direction, error)
        error -= share * direction
        result -= share * effect
    return result


def _inner(left: Shares, right: Shares) -> float:
    return float(np.sum(left * right))


def _length(vector: Shares) -> float:
    return math.sqrt(_inner(vector, vector))
