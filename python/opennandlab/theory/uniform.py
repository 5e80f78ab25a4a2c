"""Write amplification under uniform random writes, one formula per victim policy.

The drive is a log of blocks of `b` pages. `S_f = (T - U) / T` is the spare factor (T physical
pages, without the blocks that are always kept erased; U logical pages), `rho = U / T = 1 - S_f`. A
victim's live pages are copied, so `A = b / (b - live pages of a victim)`. All formulas are limits
for many blocks; host writes and collected pages may share one open block or have one each, the
value is the same (Van Houdt 2013). Left out: cost-benefit and windowed greedy, for which nobody
has a closed form.

Sources: J. Menon, "A performance comparison of RAID-5 and log-structured arrays" (1995);
J. T. Robinson (1996) and P. Desnoyers, SYSTOR 2012, for first in, first out;
W. Bux and I. Iliadis, Performance Evaluation 67 (2010) and P. Desnoyers, ACM TOS 10 (2014), for
greedy; B. Van Houdt, "A mean field model for a class of garbage collection algorithms", SIGMETRICS
2013.
"""

from __future__ import annotations

import math

import numpy as np

from opennandlab.theory._check import require_at_least, require_count, require_open_share
from opennandlab.theory._solve import find_root

PAGES_PER_BLOCK_LIMIT = 1 << 20


def random_victim(spare_factor: float) -> float:
    """Return the WAF when every closed block is equally likely to be the victim.

    Args:
        spare_factor: S_f, 0 to 1 exclusive.

    Returns:
        `A = 1 / S_f`, for blocks of any size: a random block holds the mean share of live pages.

    Raises:
        ValueError: when the spare factor is out of range.

    Source:
        B. Van Houdt, SIGMETRICS 2013 (d = 1).

    Example:
        >>> random_victim(0.125)
        8.0
    """
    return 1.0 / require_open_share("spare_factor", spare_factor)


def lambert_w0(argument: float) -> float:
    """Return the principal branch of Lambert's W, the w >= -1 with `w exp(w) = argument`.

    Args:
        argument: at least -1/e.

    Returns:
        W0(argument).

    Raises:
        ValueError: below -1/e.

    Source:
        Halley's iteration, Corless et al., "On the Lambert W function" (1996).

    Example:
        >>> round(lambert_w0(math.e), 12)
        1.0
    """
    argument = require_at_least("argument", argument, -math.exp(-1.0))
    branch_distance = math.e * argument + 1.0
    if branch_distance <= 0.0:
        return -1.0
    if argument < 0.0:
        root = math.sqrt(2.0 * branch_distance)
        guess = -1.0 + root - root * root / 3.0 + 11.0 / 72.0 * root**3
    else:
        guess = math.log1p(argument)
    for _ in range(60):
        growth = math.exp(guess)
        error = guess * growth - argument
        slope = growth * (guess + 1.0)
        if slope == 0.0:
            break
        change = error / (slope - (guess + 2.0) * error / (2.0 * guess + 2.0))
        guess -= change
        if abs(change) <= 1e-16 * (1.0 + abs(guess)):
            break
    return guess


def fifo(spare_factor: float) -> float:
    """Return the WAF when the oldest block is the victim (a circular log).

    Args:
        spare_factor: S_f, 0 to 1 exclusive.

    Returns:
        `A = a / (a + W0(-a exp(-a)))` with `a = T / U`; independent of the block size. With
        `L = a / A = a + W0` this says `L = a (1 - exp(-L))`, on which two Newton steps restore the
        digits that the sum loses when a is close to 1.

    Raises:
        ValueError: when the spare factor is out of range.

    Source:
        Menon 1995; Robinson 1996; P. Desnoyers, "Analytic modeling of SSD write performance",
        SYSTOR 2012.

    Example:
        >>> round(fifo(0.1), 3)
        5.179
    """
    spare_factor = require_open_share("spare_factor", spare_factor)
    ratio = 1.0 / (1.0 - spare_factor)
    op_ratio = spare_factor / (1.0 - spare_factor)
    life = ratio + lambert_w0(-ratio * math.exp(-ratio))
    for _ in range(2):
        death = -math.expm1(-life)
        error = (life - death) - op_ratio * death
        life -= error / (death - op_ratio * (1.0 - death))
    return max(1.0, ratio / life)


def greedy(pages_per_block: int, spare_factor: float) -> float:
    """Return the WAF when the block with the fewest live pages is the victim.

    Args:
        pages_per_block: b, a count.
        spare_factor: S_f, 0 to 1 exclusive.

    Returns:
        `A = c / rho` with `c = (b rho - j) / ((b - j) - j (H_b - H_j))`, where H are harmonic
        numbers and j is the only integer with `0 <= x <= c / j`, `x = 1 - c (H_b - H_j)`: j is the
        level at which blocks are collected, x the share of blocks waiting there. `A = 1` if `rho
        H_b <= 1`.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Bux & Iliadis 2010; Desnoyers 2014; the limit d to infinity of Van Houdt 2013.

    Example:
        >>> round(greedy(16, 0.1), 3)
        3.981
    """
    level, intensity, _ = greedy_level(pages_per_block, spare_factor)
    rho = 1.0 - spare_factor
    return 1.0 if level == 0 else intensity / rho


def greedy_level(pages_per_block: int, spare_factor: float) -> tuple[int, float, float]:
    """Return where greedy collects: the level j, the intensity c and the waiting share x.

    Args:
        pages_per_block: b, a count.
        spare_factor: S_f, 0 to 1 exclusive.

    Returns:
        `(j, c, x)` as in `greedy`. In units of the mean time between two erases of a block, a block
        with i live pages loses the next one after a mean of `c / i`, down to j.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Van Houdt, SIGMETRICS 2013, the limit of many choices.

    Example:
        >>> greedy_level(64, 0.1)[0]
        51
    """
    block = require_count("pages_per_block", pages_per_block, 1, PAGES_PER_BLOCK_LIMIT)
    rho = 1.0 - require_open_share("spare_factor", spare_factor)
    levels = np.arange(block, dtype=np.float64)
    # H_b - H_j = 1/(j+1) + ... + 1/b, summed from the small end to keep the digits.
    tails = np.cumsum(1.0 / np.arange(block, 0, -1, dtype=np.float64))[::-1]
    intensities = (block * rho - levels) / ((block - levels) - levels * tails)
    waiting = 1.0 - intensities * tails
    with np.errstate(divide="ignore"):
        excess = np.where(levels > 0.0, waiting - intensities / levels, -np.inf)
    violation = np.maximum(np.maximum(-waiting, excess), 0.0)
    violation[intensities <= 0.0] = np.inf
    level = int(np.argmin(violation))
    return level, float(intensities[level]), float(max(waiting[level], 0.0))


def d_choices(pages_per_block: int, spare_factor: float, choices: float) -> float:
    """Return the WAF when the best of d randomly drawn blocks is the victim.

    With F_i the share of blocks that have at least i live pages, the stationary state solves
    `1 - F_i^d = g i (F_i - F_(i+1))`, `F_(b+1) = 0`, `g = (b - sum F_i^d) / (b rho)`. Summed over
    i the equations say `sum F_i = b rho`, so for a trial g they are solved from i = b downwards,
    each a monotone equation of one unknown, and g is the root of that sum. Works in `1 - F_i`,
    because for many choices all the action is at F_i close to 1.

    Args:
        pages_per_block: b, a count.
        spare_factor: S_f, 0 to 1 exclusive.
        choices: d, at least 1; 1 is `random_victim`, many approach `greedy`.

    Returns:
        `A = b / (b - sum F_i^d) = 1 / (g rho)`.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        B. Van Houdt, SIGMETRICS 2013.

    Example:
        >>> round(d_choices(64, 0.1, 10), 3)
        5.0
    """
    block = require_count("pages_per_block", pages_per_block, 1, PAGES_PER_BLOCK_LIMIT)
    spare_factor = require_open_share("spare_factor", spare_factor)
    choices = require_at_least("choices", choices, 1.0)
    rho = 1.0 - spare_factor
    spare_pages = block * spare_factor

    def excess(rate: float) -> float:
        return math.fsum(missing_shares(block, rate, choices)) - spare_pages

    # No victim is worse than a random one (A = 1/S_f) nor better than an empty one (A = 1).
    slowest, fastest = spare_factor / rho * (1.0 - 1e-9), 1.0 / rho
    if excess(fastest) <= 0.0:
        return 1.0
    rate = find_root(excess, slowest, fastest)
    return max(1.0, 1.0 / (rate * rho))


def missing_shares(pages_per_block: int, rate: float, choices: float) -> list[float]:
    """Return `1 - F_i` for i = b down to 1 in the d-choices mean field at a given page death rate.

    Args:
        pages_per_block: b, a count.
        rate: g, deaths of a live page per mean time between two erases of a block.
        choices: d, at least 1.

    Returns:
        The shares of blocks with fewer than i live pages, b values, i falling.

    Source:
        Van Houdt, SIGMETRICS 2013, solved from the fullest level downwards.

    Example:
        >>> [round(share, 6) for share in missing_shares(1, 1.0, 1.0)]
        [0.5]
    """
    shares: list[float] = []
    missing = 1.0
    for live in range(pages_per_block, 0, -1):
        missing = _missing_share(missing, rate * live, choices)
        shares.append(missing)
    return shares


def _missing_share(missing_above: float, flow: float, choices: float) -> float:
    """Return the y in [0, above] with `1 - (1-y)^d = flow (above - y)`.

    The left side less the right is increasing and concave in y, so Newton's steps from any point
    left of the root approach it from the left and never pass it.
    """
    share = max(0.0, missing_above - 1.0 / flow)
    for _ in range(200):
        # A share of 1 has the logarithm minus infinity; rounding can reach it.
        log_present = math.log1p(-share) if share < 1.0 else -math.inf
        taken = -math.expm1(choices * log_present)
        value = taken - flow * (missing_above - share)
        slope = choices * math.exp((choices - 1.0) * log_present) + flow
        step = -value / slope
        share = min(share + step, missing_above)
        if step <= 1e-16 * missing_above:
            break
    return share
