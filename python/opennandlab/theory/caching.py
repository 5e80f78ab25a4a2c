"""Hit rate of a cache of map entries that drops the least recently used, by Che's approximation.

A cache of C entries holds those that were asked for within its characteristic time t, in requests:
the time in which C different entries are asked for. Under independent references entry i, asked for
with probability p_i, is in the cache with probability `1 - exp(-p_i t)`, so

    sum_i (1 - exp(-p_i t)) = C,     hit rate = sum_i p_i (1 - exp(-p_i t))

The error is that t is taken for a constant; it vanishes as the cache grows, and is below a
thousandth from some hundred entries on.

Sources: H. Che, Y. Tung, Z. Wang, "Hierarchical web caching systems: modeling, design and
experimental results", IEEE JSAC 20(7), 2002; C. Fricker, P. Robert, J. Roberts, "A versatile and
accurate approximation for LRU cache performance", ITC 24, 2012, which states why it is so good.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from opennandlab.theory._check import require_count
from opennandlab.theory._solve import find_root

EXPONENT_MAX = 20.0
PAGES_MAX = 1 << 32
# What is asked for less often than once in e^700 requests counts for nothing.
LOG_TIME_MAX = 700.0


def zipf_popularity(pages: int, exponent: float) -> npt.NDArray[np.float64]:
    """Return how often each of some pages is asked for when popularity is `rank ** -exponent`.

    Args:
        pages: U, a count.
        exponent: 0 is uniform, 0.99 the usual choice.

    Returns:
        p_i by rank, the most popular first; float64, (pages,), sum 1.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        The definition.

    Example:
        >>> zipf_popularity(3, 1.0).round(4).tolist()
        [0.5455, 0.2727, 0.1818]
    """
    count = require_count("pages", pages, 1, PAGES_MAX)
    if not 0.0 <= exponent <= EXPONENT_MAX:
        message = f"exponent is {exponent}; accepted: 0 to {EXPONENT_MAX:g}"
        raise ValueError(message)
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def che_hit_rate(
    popularity: Sequence[float] | npt.NDArray[np.float64], cache_entries: int
) -> float:
    """Return the hit rate of an LRU cache under independent references.

    Args:
        popularity: p_i, how often each entry is asked for, or any multiple of it; float64,
            (entries,), none negative. Entries that are never asked for count for nothing.
        cache_entries: C, entries that the cache holds.

    Returns:
        Hits per lookup in steady state, 0 to 1; 1 where all entries that are asked for fit.

    Raises:
        ValueError: when there is no popularity, or an argument is out of range.

    Source:
        Che, Tung, Wang 2002.

    Example:
        >>> round(che_hit_rate([1.0] * 1000, 250), 6)
        0.25
        >>> round(che_hit_rate(zipf_popularity(65_536, 0.99), 4096), 4)
        0.6633
    """
    held = require_count("cache_entries", cache_entries, 0)
    asked = _popularity(popularity)
    if held >= asked.size:
        return 1.0
    if held == 0:
        return 0.0

    def excess(log_time: float) -> float:
        return float(-np.expm1(-asked * math.exp(log_time)).sum()) - held

    # Each term is at most p_i t, so t is at least C; and t grows until the rarest are there too.
    low = math.log(held)
    high = low + 1.0
    while excess(high) < 0.0:
        if high == LOG_TIME_MAX:
            return 1.0
        high = min(high + 1.0 + 0.5 * (high - low), LOG_TIME_MAX)
    time = math.exp(find_root(excess, low, high, 1e-13))
    return float(np.dot(asked, -np.expm1(-asked * time)))


def che_hit_rate_zipf(logical_pages: int, exponent: float, cache_entries: int) -> float:
    """Return the hit rate of an LRU cache when popularity is `rank ** -exponent`.

    Args:
        logical_pages: U, a count.
        exponent: 0 is uniform, where the hit rate is `C / U`.
        cache_entries: C, entries that the cache holds.

    Returns:
        Hits per lookup in steady state, 0 to 1.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Che, Tung, Wang 2002.

    Example:
        >>> round(che_hit_rate_zipf(32_768, 1.2, 1024), 4)
        0.8236
    """
    held = require_count("cache_entries", cache_entries, 0)
    popularity = zipf_popularity(logical_pages, exponent)
    if exponent == 0.0:
        return min(1.0, held / logical_pages)
    return che_hit_rate(popularity, held)


def _popularity(values: Sequence[float] | npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the shares of the entries that are asked for at all."""
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or not np.all((found >= 0.0) & (found < math.inf)):
        message = "popularity must be a list of finite numbers, none negative"
        raise ValueError(message)
    largest = float(found.max(initial=0.0))
    if largest == 0.0:
        message = "popularity has no entry that is asked for"
        raise ValueError(message)
    # Divided twice: the sum of very large numbers is none.
    shares = found[found > 0.0] / largest
    return np.asarray(shares / shares.sum(), dtype=np.float64)
