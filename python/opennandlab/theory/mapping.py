"""Write amplification of drives that map blocks and merge: block maps, BAST and FAST.

All closed forms are for single pages written at random, uniformly, to D full blocks of data of b
pages, in the steady state; a merge programs b pages. On a drive of many dies D and the log blocks L
are those of one die.

**Block map.** Each write copies its block: b programs.

**BAST.** A log block serves one block of data. A block of data is without one until its next write,
which takes one by merging another. Let m be the merges per write; then `WAF = 1 + b m`. A log block
lasts until it is the oldest or is full, so with N a Poisson variable of mean x, the age of the
oldest in writes per block,

    first in, first out   E[min(N, b)] / (E[min(N, b)] + P(N < b)) = L / D
                          m = 1 / (E[min(N, b)] + P(N < b))
    least recently used   m = (1 - p) / (1 - p^b),  p = L / D

Where log blocks do not fill, both are `m = 1 - L / D`; with a log block for each block of data,
`m = 1 / b`.

**FAST.** All blocks of data share a log of L blocks, recycled oldest first, a *period* of b writes
each. The times of recycling do not depend on what is written, so each block of data can be looked
at alone. A page that is written in a period and not in the L - 1 that follow is live when the block
that holds it is recycled: then its block of data is merged, and has no page in the log any more.
With v the probability that a page is not written in a period, S(t) the probability that a page does
not cause a merge in the t periods after one,

    S(t) = 1 for t < L,     S(t) = S(t - 1) - (1 - v) v^(L-1) S(t - L)

since what ends at t was written L periods ago, and not since. The b pages of a block are alike, so
the mean number of periods between two merges is `E[T] = sum over t of S(t)^b`, and
`WAF = 1 + D / E[T]`. With `v = 1 - 1/D` a block is left unwritten in a period exactly as often as
it is; what is neglected is that b writes are b, not a Poisson number. Against simulations the error
is below 0.5 %, from 2 blocks of data on.

Sources: J. Kim, J. M. Kim, S. Noh, S. Min, Y. Cho, "A space-efficient flash translation layer for
CompactFlash systems", IEEE Trans. Consumer Electronics 48(2), 2002 (BAST); S. Lee, D. Park, T.
Chung, D. Lee, S. Park, H. Song, "A log buffer-based flash translation layer using fully-associative
sector translation", ACM Trans. Embedded Computing Systems 6(3), 2007 (FAST). The formulas are ours.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from opennandlab.theory._check import require_count
from opennandlab.theory._solve import find_root

Replacement = Literal["fifo", "lru"]
REPLACEMENTS: tuple[Replacement, ...] = ("fifo", "lru")
COUNT_MAX = 1 << 32
# What the tail of a sum may be off, relative to the sum.
TAIL = 1e-13
# A chance that a log block fills that is none.
ROUNDING = 1e-14


def waf_block_mapping(pages_per_block: int, pages_per_request: int = 1) -> float:
    """Return the WAF of a drive that maps blocks alone.

    Args:
        pages_per_block: b.
        pages_per_request: consecutive pages of a request, which lie in one block; at most b.

    Returns:
        `b / pages`: each request rewrites its block, with one erase.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        The definition; example 1 of the SNIA tutorial of 2009 (L. Smith).

    Example:
        >>> waf_block_mapping(64), waf_block_mapping(64, 64)
        (64.0, 1.0)
    """
    block = require_count("pages_per_block", pages_per_block, 1, COUNT_MAX)
    return block / require_count("pages_per_request", pages_per_request, 1, block)


def waf_bast(
    data_blocks: int, log_blocks: int, pages_per_block: int, replacement: Replacement = "fifo"
) -> float:
    """Return the WAF of BAST under uniform random writes of single pages.

    Every merge is counted as full. Of small blocks some are merged in part, those whose log has
    nothing but their first pages in order: that saves about `1 / b^2` of the programs.

    Args:
        data_blocks: D, full blocks of data.
        log_blocks: L; more than D change nothing.
        pages_per_block: b.
        replacement: which log block is merged when another block needs one: `fifo`, the one that
            was opened first, or `lru`, the one that was written longest ago.

    Returns:
        `1 + b m`, `1 + b (1 - L / D)` where log blocks do not fill; two erases a merge.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Kim et al. 2002 for the scheme; the formula is derived above.

    Example:
        >>> waf_bast(256, 8, 64), round(waf_bast(64, 32, 16), 6), round(waf_bast(16, 14, 4), 3)
        (63.0, 9.0, 2.103)
    """
    data = require_count("data_blocks", data_blocks, 1, COUNT_MAX)
    logs = min(require_count("log_blocks", log_blocks, 1, COUNT_MAX), data)
    block = require_count("pages_per_block", pages_per_block, 1, 1 << 20)
    if replacement not in REPLACEMENTS:
        message = f"replacement is {replacement!r}; accepted: {', '.join(REPLACEMENTS)}"
        raise ValueError(message)
    if logs == data:
        return 2.0
    share = logs / data
    if replacement == "lru":
        return 1.0 + block * (1.0 - share) / -math.expm1(block * math.log(share))

    def excess(age: float) -> float:
        served, spared = _served(block, age)
        return served - share * (served + spared)

    high = share / (1.0 - share)
    if _served(block, high)[1] > 1.0 - ROUNDING:
        return 1.0 + block * (1.0 - share)
    while excess(high) < 0.0:
        high *= 2.0
    served, spared = _served(block, find_root(excess, 0.0, high))
    return 1.0 + block / (served + spared)


def _served(block: int, mean: float) -> tuple[float, float]:
    """Return `E[min(N, b)]` and `P(N < b)` of a Poisson variable."""
    numbers = np.arange(block, dtype=np.float64)
    logs = np.concatenate([[0.0], np.cumsum(np.log(numbers[1:]))])
    chances = np.exp(numbers * math.log(max(mean, 1e-300)) - mean - logs)
    below = min(float(chances.sum()), 1.0)
    return float(np.dot(numbers, chances)) + block * (1.0 - below), below


def waf_fast(data_blocks: int, log_blocks: int, pages_per_block: int) -> float:
    """Return the WAF of FAST under uniform random writes of single pages.

    Args:
        data_blocks: D, full blocks of data.
        log_blocks: L, log blocks of random writes; that of sequential writes is not among them.
        pages_per_block: b.

    Returns:
        `1 + D / E[T]`: each block of data is merged once in E[T] periods of b writes.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Lee et al. 2007 for the scheme; the formula is derived above.

    Example:
        >>> [round(waf_fast(*it), 2) for it in ((256, 8, 64), (1024, 64, 64), (512, 16, 32))]
        [23.11, 13.76, 17.17]
    """
    data = require_count("data_blocks", data_blocks, 1, 1 << 24)
    logs = require_count("log_blocks", log_blocks, 1, 1 << 24)
    block = require_count("pages_per_block", pages_per_block, 1, 1 << 20)
    # One block of data: it is written in every period, but its pages are not.
    unwritten = 1.0 - 1.0 / data if data > 1 else (1.0 - 1.0 / block) ** block
    ending = (1.0 - unwritten) * unwritten ** (logs - 1)
    periods = _mean_periods(ending, logs, block)
    return 1.0 if periods == math.inf else 1.0 + data / periods


def _mean_periods(ending: float, logs: int, block: int) -> float:
    """Return `sum over t of S(t)^b` for `S(t) = S(t - 1) - ending S(t - L)`."""
    survivors = np.ones(logs)
    total, rate = float(logs), -1.0
    while True:
        # A round of L periods at a time: each looks back at the round before.
        following = survivors[-1] - ending * np.cumsum(survivors)
        following = np.maximum(following, 0.0)
        terms = following**block
        total += float(terms.sum())
        last = float(following[-1])
        if last == 0.0 or float(terms[-1]) * logs < TAIL * total * 1e-3:
            return total
        # After some rounds the same share ends in every period, and the rest is geometric.
        before, rate = rate, ending * float(following[0]) / last
        if abs(rate - before) <= TAIL * rate:
            end = -math.expm1(block * math.log1p(-rate))
            return total + float(terms[-1]) * (1.0 - end) / end if end > 0.0 else math.inf
        survivors = following
