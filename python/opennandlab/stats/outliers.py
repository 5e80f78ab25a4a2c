"""Outliers by the modified z-score: far from the median, in units of the median deviation.

Source: B. Iglewicz, D. Hoaglin, "How to Detect and Handle Outliers", 1993.
"""

from __future__ import annotations

from typing import Final

# From this score on, either way, a value is an outlier.
SCORE_MIN: Final = 3.5
# Median absolute deviation of a normal distribution, in standard deviations.
NORMAL_DEVIATION: Final = 0.6745


def modified_score(value: float, median: float, deviation: float) -> float | None:
    """Return the modified z-score of a value.

    Args:
        value: The value.
        median: Median of all values.
        deviation: Median of the distances of all values from their median.

    Returns:
        About the number of standard deviations from the median; None if the deviation is 0: more
        than half of the values are equal, and any other one is far from them.

    >>> modified_score(100.0, 3.0, 1.0), modified_score(4.0, 3.0, 0.0)
    (65.4265, None)
    """
    return NORMAL_DEVIATION * (value - median) / deviation if deviation else None
