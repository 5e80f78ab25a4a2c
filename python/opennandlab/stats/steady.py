"""Steady state by the five-point rule of the SNIA Performance Test Specification.

Over the last five rounds, y0 to y4 with mean m, the tracked value is steady when

* its spread max - min is at most 20 % of m (the *excursion*), and
* the least-squares line through the five points changes by at most 10 % of m between the first and
  the last of them (the *slope excursion*, four times the slope).

Equality passes. Nothing is rounded before it is compared; the comparison allows for the last digits
of floating point, so that the sum of 0.1 five times behaves like 0.5.

Source: SNIA SSS PTS 2.0.2, definition of steady state; "five-point formula, 20 % excursion, 10 %
slope" of the SNIA PTS tutorial, E. Kim and E. Ho, 2013.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

WINDOW_ROUNDS = 5
EXCURSION_RATIO_MAX = 0.20
SLOPE_RATIO_MAX = 0.10
# Relative; of numbers that are equal but for their binary fractions.
EQUAL_RATIO = 1e-9


@dataclass(frozen=True)
class SteadyState:
    """The rule applied to a window, in the unit of the tracked value.

    Args:
        steady: Whether both conditions hold.
        reason: `steady`, `insufficient`, `invalid`, `excursion`, `slope` or `excursion and slope`.
        average: Mean of the window; None with fewer than five usable values.
        excursion: Largest value less smallest.
        slope: Slope of the fitted line, per round.
        intercept: Intercept of the fitted line, at the first round of the window.
        slope_excursion: Change of the fitted line over the window, without sign.
        excursion_allowed: 20 % of the mean.
        slope_allowed: 10 % of the mean.
    """

    steady: bool
    reason: str
    average: float | None = None
    excursion: float | None = None
    slope: float | None = None
    intercept: float | None = None
    slope_excursion: float | None = None
    excursion_allowed: float | None = None
    slope_allowed: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a mapping, for JSON."""
        return asdict(self)


# Sums of five are finite.
VALUE_MAX = 1e300


def steady_state(values: Sequence[float]) -> SteadyState:
    """Apply the rule to the last five of `values`, one per round.

    >>> steady_state([5300, 5200, 5050, 4900, 4770]).reason
    'slope'
    >>> steady_state([1100, 900, 1000, 900, 1100]).steady  # a spread of exactly 20 %
    True
    """
    if len(values) < WINDOW_ROUNDS:
        return SteadyState(steady=False, reason="insufficient")
    window = [float(value) for value in values[-WINDOW_ROUNDS:]]
    if not all(abs(value) <= VALUE_MAX for value in window):
        return SteadyState(steady=False, reason="invalid")
    average = math.fsum(window) / WINDOW_ROUNDS
    excursion = max(window) - min(window)
    # Least squares at the abscissas -2 to 2, whose squares sum to 10.
    slope = math.fsum([-2 * window[0], -window[1], window[3], 2 * window[4]]) / 10
    slope_excursion = (WINDOW_ROUNDS - 1) * abs(slope)
    allowed = (EXCURSION_RATIO_MAX * average, SLOPE_RATIO_MAX * average)
    if average <= 0:
        reason = "invalid"
    else:
        broken = [
            name
            for name, found, limit in (
                ("excursion", excursion, allowed[0]),
                ("slope", slope_excursion, allowed[1]),
            )
            if found > limit * (1 + EQUAL_RATIO)
        ]
        reason = " and ".join(broken) or "steady"
    return SteadyState(
        steady=reason == "steady",
        reason=reason,
        average=average,
        excursion=excursion,
        slope=slope,
        intercept=average - 2 * slope,
        slope_excursion=slope_excursion,
        excursion_allowed=allowed[0],
        slope_allowed=allowed[1],
    )
