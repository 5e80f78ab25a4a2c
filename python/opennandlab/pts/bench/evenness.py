"""How even a series of samples is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# A sample below this share of the mean counts as a break.
BREAK_SHARE = 0.5


@dataclass(frozen=True)
class Figures:
    """How even samples are; None where there is nothing to say.

    Args:
        samples: How many.
        iops_mean: Mean.
        cv: Coefficient of variation: standard deviation over mean.
        iops_min: The least.
        iops_max: The most.
        min_to_mean: The least over the mean.
        share_below_half: Share of the samples below half of the mean.
    """

    samples: int = 0
    iops_mean: float | None = None
    cv: float | None = None
    iops_min: float | None = None
    iops_max: float | None = None
    min_to_mean: float | None = None
    share_below_half: float | None = None


def evenness(values: Sequence[float]) -> Figures:
    """Return mean, coefficient of variation, extremes and breaks of samples of equal length.

    >>> evenness([90.0, 110.0]).cv
    0.1
    """
    if not values:
        return Figures()
    average = math.fsum(values) / len(values)
    variance = math.fsum((value - average) ** 2 for value in values) / len(values)
    return Figures(
        samples=len(values),
        iops_mean=average,
        cv=math.sqrt(variance) / average if average else None,
        iops_min=min(values),
        iops_max=max(values),
        min_to_mean=min(values) / average if average else None,
        share_below_half=sum(value < BREAK_SHARE * average for value in values) / len(values),
    )
