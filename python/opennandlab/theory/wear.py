"""How evenly a drive without wear leveling wears: the spread of erase counts under uniform writes.

A block's erases form a renewal process, so over long spans `variance / mean` of the counts tends to
the squared coefficient of variation of the time between two erases of one block.

    random   every erase picks any block: Poisson, ratio 1
    greedy   a block must lose its pages one by one, from b to j: a sum of exponential waits, ratio
    << 1 fifo     blocks take turns: counts differ by at most 1

Sources: D. R. Cox, "Renewal Theory" (1962), section 4.2; the waits from Van Houdt, SIGMETRICS 2013.
"""

from __future__ import annotations

import math

from opennandlab.theory._check import require_at_least, require_count, require_positive
from opennandlab.theory.uniform import greedy


def variance_to_mean_random() -> float:
    """Return variance / mean of erase counts for random victims: Poisson counts.

    Returns:
        1.

    Source:
        Independent uniform picks.

    Example:
        >>> variance_to_mean_random()
        1.0
    """
    return 1.0


def variance_to_mean_greedy(pages_per_block: int, spare_factor: float) -> float:
    """Return variance / mean of erase counts for greedy collection of uniform writes.

    Args:
        pages_per_block: b.
        spare_factor: S_f, 0 to 1 exclusive.

    Returns:
        `sum i^-2 / (sum 1/i)^2`, i from j + 1 to b, j the whole part of the mean live pages of a
        victim, `b (1 - 1/A)`. The wait of a block that is already at the level of the victims is
        left out, hence a value some percent from a measured one.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Renewal theory on the waits of Van Houdt 2013.

    Example:
        >>> round(variance_to_mean_greedy(64, 0.1), 3)
        0.072
    """
    block = require_count("pages_per_block", pages_per_block, 1)
    live_mean = block * (1.0 - 1.0 / greedy(block, spare_factor))
    level = min(math.floor(live_mean), block - 1)
    steps = range(level + 1, block + 1)
    mean = math.fsum(1.0 / live for live in steps)
    return math.fsum(1.0 / (live * live) for live in steps) / (mean * mean)


def mean_erases(drive_writes: float, waf: float, spare_factor: float) -> float:
    """Return how often an average block is erased by a number of full-capacity overwrites.

    Args:
        drive_writes: host writes, in logical capacities.
        waf: pages programmed per host page.
        spare_factor: S_f, 0 to 1 exclusive.

    Returns:
        `drive_writes * A * U / T`: each block is erased once per b pages programmed.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Conservation of pages in the steady state.

    Example:
        >>> mean_erases(10, 4.0, 0.2)
        32.0
    """
    writes = require_positive("drive_writes", drive_writes)
    require_at_least("waf", waf, 1.0)
    return writes * waf * (1.0 - spare_factor)


def static_share_stddev(span: float, static_share: float) -> float:
    """Return the standard deviation of erase counts when some blocks hold data that never moves.

    Args:
        span: erase count of the blocks that are rewritten, all taken as equal.
        static_share: share of the blocks that are never erased, 0 to 1.

    Returns:
        `span * sqrt(s (1 - s))`; half the span for half the blocks. Levelling that only chooses
        among erased blocks cannot change it.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Two-point distribution. For the trade-off that levelling then faces: Y. Li, P. Lee, J. Lui,
        "Stochastic modeling of large-scale solid-state storage systems", arXiv:1303.4816.

    Example:
        >>> static_share_stddev(100.0, 0.5)
        50.0
    """
    require_at_least("span", span, 0.0)
    if not 0.0 <= static_share <= 1.0:
        message = f"static_share is {static_share}; accepted: a number from 0 to 1"
        raise ValueError(message)
    return span * math.sqrt(static_share * (1.0 - static_share))
