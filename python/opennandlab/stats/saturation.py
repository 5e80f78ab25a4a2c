"""Levels of a curve of write saturation: a new drive, its end as one, and the last.

The level of the new drive (FOB) is the mean over the first 1 % of the capacity, or over the first
piece if that is more; the *write cliff* is the first piece below 90 % of it; the end is the mean of
the last tenth. These are of the implementation, not of SNIA SSS PTS.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

FOB_FILLS = 0.01
CLIFF_SHARE = 0.9
LAST_SHARE = 0.1


def new_level(rates: Sequence[float], written: Sequence[float], capacity: float) -> float:
    """Return the rate of the new drive.

    Args:
        rates: One for each piece.
        written: Bytes written until the end of each.
        capacity: Of the drive, in bytes.

    >>> new_level([5.0, 3.0, 1.0], [1.0, 2.0, 4.0], 200.0)
    4.0
    """
    new = [
        rate for rate, bytes_ in zip(rates, written, strict=True) if bytes_ <= FOB_FILLS * capacity
    ]
    return statistics.fmean(new or rates[:1])


def cliff(rates: Sequence[float], level: float | None) -> int | None:
    """Return the first piece that is below the level of the new drive; None without one."""
    below = (at for at, rate in enumerate(rates) if level and rate < CLIFF_SHARE * level)
    return next(below, None)


def last_level(rates: Sequence[float]) -> float:
    """Return the mean of the last tenth, of one piece at least."""
    return statistics.fmean(rates[-max(1, round(LAST_SHARE * len(rates))) :])
