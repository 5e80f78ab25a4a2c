"""Exact intervals of counts of rare events."""

from __future__ import annotations

import math
from statistics import NormalDist

# Two-sided, as everywhere in this package.
CONFIDENCE = 0.95
# Above this number of events the approximation of Wilson and Hilferty has five digits.
EXACT_EVENTS_MAX = 200


def poisson_interval(events: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the exact interval of the mean of a Poisson variable of which one value was seen.

    Args:
        events: The value.
        confidence: Two-sided, 0 to 1.

    Returns:
        Lower and upper end; above 200 events to five digits.

    Source:
        F. Garwood, "Fiducial limits for the Poisson distribution", Biometrika 28, 1936; E. Wilson
        and M. Hilferty, "The distribution of chi-square", PNAS 17, 1931.

    >>> [round(end, 3) for end in poisson_interval(0)], [round(e, 3) for e in poisson_interval(10)]
    ([0.0, 3.689], [4.795, 18.39])
    """
    tail = (1.0 - confidence) / 2.0
    if events > EXACT_EVENTS_MAX:
        score = NormalDist().inv_cdf(1.0 - tail)

        def root(count: float, sign: float) -> float:
            base = 1.0 - 1.0 / (9.0 * count) + sign * score / (3.0 * math.sqrt(count))
            return count * base * base * base

        return root(float(events), -1.0), root(events + 1.0, 1.0)
    low = 0.0 if events == 0 else _mean_where(events - 1, 1.0 - tail)
    return low, _mean_where(events, tail)


def _mean_where(count: int, probability: float) -> float:
    """Return the mean at which `P(X <= count)`, which falls with it, has a given value."""
    low, high = 0.0, 10.0 * (count + 5.0)
    for _ in range(100):
        middle = 0.5 * (low + high)
        log_terms = [k * math.log(middle) - math.lgamma(k + 1) - middle for k in range(count + 1)]
        if math.fsum(map(math.exp, log_terms)) > probability:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
