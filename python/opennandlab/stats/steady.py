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


def explanation(verdict: SteadyState, values: Sequence[float]) -> str:
    """Return why values are steady or not, with the figures that decide.

    Args:
        verdict: What `steady_state` gave for them.
        values: One per round.

    >>> values = [0.0, 0.0, 0.0, 0.0, 0.0]
    >>> explanation(steady_state(values), values)
    'the mean of the last five values is 0, and the rule needs one above 0'
    >>> explanation(steady_state([1.0, 2.0]), [1.0, 2.0])
    '2 values, and the rule needs 5'
    """
    if verdict.reason == "insufficient":
        count = "1 value" if len(values) == 1 else f"{len(values)} values"
        return f"{count}, and the rule needs {WINDOW_ROUNDS}"
    window = values[-WINDOW_ROUNDS:]
    bad = [at for at, value in enumerate(window, 1) if not abs(value) <= VALUE_MAX]
    if bad:
        places = " and ".join(map(str, bad))
        what = "missing" if any(math.isnan(window[at - 1]) for at in bad) else "too large"
        return f"of the last five values number {places} {'is' if len(bad) == 1 else 'are'} {what}"
    if verdict.average is None or verdict.average <= 0:
        return (
            f"the mean of the last five values is {verdict.average or 0:.6g}, and the rule needs "
            "one above 0"
        )
    checks = (
        ("largest less smallest", verdict.excursion, verdict.excursion_allowed, "20 %"),
        ("the change of the fitted line", verdict.slope_excursion, verdict.slope_allowed, "10 %"),
    )
    broken = [
        f"{what} is {found:.6g}, above {share} of the mean, {limit:.6g}"
        for what, found, limit, share in checks
        if found is not None and limit is not None and found > limit * (1 + EQUAL_RATIO)
    ]
    return "; ".join(broken) or "excursion and slope are within what is allowed"
