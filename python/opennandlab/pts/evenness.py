"""How even a series of samples is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

# A sample below this share of the mean counts as a break.
BREAK_SHARE = 0.5


def evenness(values: Sequence[float]) -> dict[str, Any]:
    """Return mean, coefficient of variation, extremes and breaks of samples of equal length.

    >>> evenness([90.0, 110.0])["cv"]
    0.1
    """
    if not values:
        empty = (
            "samples",
            "iops_mean",
            "cv",
            "iops_min",
            "iops_max",
            "min_to_mean",
            "share_below_half",
        )
        return {**dict.fromkeys(empty), "samples": 0}
    average = math.fsum(values) / len(values)
    variance = math.fsum((value - average) ** 2 for value in values) / len(values)
    return {
        "samples": len(values),
        "iops_mean": average,
        "cv": math.sqrt(variance) / average if average else None,
        "iops_min": min(values),
        "iops_max": max(values),
        "min_to_mean": min(values) / average if average else None,
        "share_below_half": sum(value < BREAK_SHARE * average for value in values) / len(values),
    }
