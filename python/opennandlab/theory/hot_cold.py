"""Write amplification when some pages are written more often than others, as far as it is exact.

A class k holds the share f_k of the logical pages and receives the share r_k of the writes,
uniformly inside the class. One circular log (first in, first out) is exact for any classes; two
pools that never mix reduce to the uniform formulas of each pool; pages never rewritten can be
taken out of the sum. With `a = T / U`, `S_f = 1 - 1/a`. The one-log d-choices model is in
`mean_field`.

Sources: P. Desnoyers, ACM TOS 10 (2014); R. Stoica and A. Ailamaki, "Improving flash write
performance by using update frequency", VLDB 2013; B. Van Houdt, Performance Evaluation 70 (2013).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from opennandlab.theory._check import (
    require_count,
    require_open_share,
    require_positive,
    require_share,
)
from opennandlab.theory._solve import find_minimum, find_root

SUM_TOLERANCE = 1e-9


def fifo_classes(
    page_shares: Sequence[float] | npt.NDArray[np.float64],
    write_shares: Sequence[float] | npt.NDArray[np.float64],
    spare_factor: float,
) -> float:
    """Return the WAF of one circular log for any classes of pages; exact.

    A page of class k survives one turn of the log, `a / A` logical capacities of host writes, with
    probability `exp(-(r_k / f_k) a / A)`, and every survivor is written again.

    Args:
        page_shares: f_k, shares of the logical pages; float64, (classes,), sum 1.
        write_shares: r_k, shares of the writes; float64, (classes,), sum 1; 0 for
            pages that are never rewritten.
        spare_factor: S_f, 0 to 1 exclusive.

    Returns:
        The root of `A = sum_k r_k / (1 - exp(-(r_k / f_k) a / A))`; a class that is never written
        contributes its limit `f_k A / a`.

    Raises:
        ValueError: when shares do not match, are out of range or do not sum to 1.

    Source:
        Desnoyers 2014; Robinson 1996 for one class.

    Example:
        >>> round(fifo_classes([0.2, 0.8], [0.8, 0.2], 0.2), 3)
        3.034
    """
    ratio = 1.0 / (1.0 - require_open_share("spare_factor", spare_factor))
    pages = _shares("page_shares", page_shares)
    writes = _shares("write_shares", write_shares)
    if pages.shape != writes.shape:
        message = f"page_shares has {pages.size} classes, write_shares {writes.size}"
        raise ValueError(message)
    if np.any((pages == 0.0) & (writes > 0.0)):
        message = "a class with writes has no pages: its page share is 0"
        raise ValueError(message)
    held = pages > 0.0
    pages, heat = pages[held], writes[held] / pages[held]

    def excess(life: float) -> float:
        # sum f x / (1 - exp(-x)) grows from 1 with the life of the log, x = life r / f.
        age = heat * life
        written = np.where(age > 0.0, age / -np.expm1(-np.maximum(age, 1e-300)), 1.0)
        return float(np.dot(pages, written)) - ratio

    high = 1.0
    while excess(high) < 0.0:
        high *= 2.0
        if high > 1e300:
            message = "no page is ever rewritten in the limit: the log cannot reclaim anything"
            raise ValueError(message)
    return max(1.0, ratio / find_root(excess, 0.0, high))


def fifo_zipf(logical_pages: int, exponent: float, spare_factor: float) -> float:
    """Return the WAF of one circular log when page popularity is `k^-exponent` by rank; exact.

    Args:
        logical_pages: U, a count; the ranks are 1 to U, placed anywhere.
        exponent: 0 is uniform, 0.99 the usual choice.
        spare_factor: S_f, 0 to 1 exclusive.

    Returns:
        `fifo_classes` with one class per page.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Desnoyers 2014, classes of one page each.

    Example:
        >>> round(fifo_zipf(1000, 0.0, 0.1), 3)
        5.179
    """
    count = require_count("logical_pages", logical_pages, 1, 1 << 32)
    if not 0.0 <= exponent <= 20.0:
        message = f"exponent is {exponent}; accepted: 0 to 20"
        raise ValueError(message)
    writes = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    return fifo_classes(np.full(count, 1.0 / count), writes / writes.sum(), spare_factor)


@dataclass(frozen=True)
class PoolSplit:
    """Two pools that never mix, with the best division of the spare pages between them.

    Example:
        >>> PoolSplit(waf=2.0, hot_waf=1.5, cold_waf=4.0, hot_spare_share=0.5).hot_spare_share
        0.5
    """

    waf: float
    """Pages programmed per host write, both pools together."""
    hot_waf: float
    """WAF of the pool of hot pages."""
    cold_waf: float
    """WAF of the pool of cold pages."""
    hot_spare_share: float
    """Share of all spare pages that the hot pool holds."""


def two_pools(
    uniform_waf: Callable[[float], float], spare_factor: float, fraction: float, share: float
) -> PoolSplit:
    """Return the best that two separate pools can do, one for hot pages and one for cold.

    Inside a pool writes are uniform, so each pool follows the uniform formula at its own spare
    factor; the spare pages are divided so that `r A_hot + (1 - r) A_cold` is least.

    Args:
        uniform_waf: WAF of uniform writes as a function of the spare factor, such as `fifo`.
        spare_factor: S_f of the whole drive, 0 to 1 exclusive.
        fraction: f, share of the logical pages that are hot, 0 to 1 exclusive.
        share: r, share of the writes that they receive, 0 to 1 exclusive.

    Returns:
        The optimum and how it divides the spare pages.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Desnoyers 2014; Stoica & Ailamaki 2013.

    Example:
        >>> from opennandlab.theory import greedy
        >>> round(two_pools(lambda spare: greedy(64, spare), 0.2, 0.2, 0.8).waf, 3)
        1.936
    """
    spare = require_open_share("spare_factor", spare_factor)
    fraction = require_open_share("fraction", fraction)
    share = require_open_share("share", share)

    def pools(hot_spare_share: float) -> tuple[float, float]:
        hot_spare = spare * hot_spare_share
        cold_spare = spare * (1.0 - hot_spare_share)
        hot_pages, cold_pages = (1.0 - spare) * fraction, (1.0 - spare) * (1.0 - fraction)
        return (
            uniform_waf(hot_spare / (hot_spare + hot_pages)),
            uniform_waf(cold_spare / (cold_spare + cold_pages)),
        )

    def combined(hot_spare_share: float) -> float:
        hot, cold = pools(hot_spare_share)
        return share * hot + (1.0 - share) * cold

    best = find_minimum(combined, 1e-6, 1.0 - 1e-6)
    hot, cold = pools(best)
    return PoolSplit(combined(best), hot, cold, best)


def spare_factor_with_static(spare_factor: float, static_share: float) -> float:
    """Return the spare factor that the rewritten pages see when the others are never rewritten.

    Blocks that hold only static pages are never worth collecting, so they leave the log: both T and
    U shrink by the static pages.

    Args:
        spare_factor: S_f of the whole drive, 0 to 1 exclusive.
        static_share: s, share of the logical pages that are never rewritten, 0 to 1, below 1.

    Returns:
        `S_f' = 1 - (1 - s) / (a - s)` with `a = T / U`.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Desnoyers 2014 (static data); follows from the definitions.

    Example:
        >>> round(spare_factor_with_static(0.1, 0.5), 4)
        0.1818
    """
    ratio = 1.0 / (1.0 - require_open_share("spare_factor", spare_factor))
    static = require_share("static_share", static_share)
    if static == 1.0:
        message = "static_share is 1; accepted: less than 1, some page must be rewritten"
        raise ValueError(message)
    return 1.0 - (1.0 - static) / (ratio - static)


def _shares(
    name: str, values: Sequence[float] | npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    shares = np.asarray(values, dtype=np.float64)
    if shares.ndim != 1 or shares.size == 0 or not np.all(shares >= 0.0):
        message = f"{name} must be a list of shares, none negative"
        raise ValueError(message)
    total = require_positive(f"the sum of {name}", float(shares.sum()))
    if abs(total - 1.0) > SUM_TOLERANCE:
        message = f"{name} sums to {total}; accepted: 1 within {SUM_TOLERANCE}"
        raise ValueError(message)
    return shares
