"""What a drive does when nobody asks: refresh by age, patrol reads, and how long decoding takes.

A drive that is idle writes all its data once per age limit. A page that the host rewrites now and
then is refreshed only if it survives so long: each copy of it lives until it is overwritten, after
an exponential time, or until the limit, whichever is first. Patrol reads come at even times, so
what a host read meets of them follows from the mean of a fixed service time. The iterations of an
LDPC decoder follow from density evolution, written here with whole distributions in numpy and
without the simulator's code.

Sources: renewal theory, D. Cox, "Renewal Theory", 1962; density evolution: T. Richardson and R.
Urbanke, IEEE Trans. Information Theory 47, 2001; of min-sum with a factor: J. Chen and M.
Fossorier, IEEE Communications Letters 6, 2002.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from opennandlab.theory._check import (
    require_at_least,
    require_count,
    require_open_share,
    require_positive,
)

DAY_S = 86_400.0
# The decoder of the package: LLRs in thirds, messages of 8 bits of which 42 is the largest, and
# three quarters of the least magnitude.
LLR_UNITS = 3.0
LLR_MAX = 127
MESSAGE_MAX = 42
# Words of which fewer than this share are wrong are decoded.
DONE = 1e-9

Shares = npt.NDArray[np.float64]


def refresh_pages_per_s(live_pages: float, after_days: float) -> float:
    """Return how many pages a drive moves that is left alone.

    Args:
        live_pages: pages that hold data.
        after_days: age at which a block is moved.

    Returns:
        `U / T`, pages a second.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Everything is moved once per age limit.

    Example:
        >>> refresh_pages_per_s(864_000, 10.0)
        1.0
    """
    age_s = DAY_S * require_positive("after_days", after_days)
    return require_at_least("live_pages", live_pages, 0.0) / age_s


def refresh_share(drive_writes_per_age: float) -> float:
    """Return what refresh adds to the write amplification of uniform random writes.

    Args:
        drive_writes_per_age: x, drive writes of the host within an age limit.

    Returns:
        `1 / (e^x - 1)` pages moved per page that the host writes. For small x this is `1 / x -
        1/2`: everything once per age limit, but for what was written within half of it.

    Raises:
        ValueError: when the argument is not positive.

    Source:
        A copy lives for min(exponential, T); of copies the share `e^-x` ends in a refresh. Without
        collections, which make data young too.

    Example:
        >>> round(refresh_share(0.1), 3), round(refresh_share(1.0), 3)
        (9.508, 0.582)
    """
    return 1.0 / math.expm1(require_positive("drive_writes_per_age", drive_writes_per_age))


def patrol_reads_per_s(pages: float, period_days: float) -> float:
    """Return how many pages a patrol reads.

    Args:
        pages: pages in closed blocks.
        period_days: time for all of them.

    Returns:
        `pages / period`, reads a second.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Definition.

    Example:
        >>> patrol_reads_per_s(1_728_000, 10.0)
        2.0
    """
    period_s = DAY_S * require_positive("period_days", period_days)
    return require_at_least("pages", pages, 0.0) / period_s


def patrol_wait_us(
    service_us: float, interval_us: float, dies: int = 1, iops: float = 0.0
) -> float:
    """Return what a host read waits on average, for patrol reads above all.

    Args:
        service_us: a read of a page, s.
        interval_us: from one patrol read of the drive to the next, d, at least s.
        dies: D, over which host reads are spread; the patrol is on one of them at a time.
        iops: L, Poisson reads of the host a second; few.

    Returns:
        `s^2 / (2 d D)` and a little for host reads. One that comes while the patrol is on its die,
        with probability `s / d / D`, waits for half of a read. Were patrol reads bunched, k at a
        time, it would be k times as much.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Poisson arrivals see time averages. The mean work that a die has to do is `s^2 / 2` times
        the rate of arrivals, and s times the wait of each; a patrol read waits for host reads.

    Example:
        >>> patrol_wait_us(60.0, 100.0), round(patrol_wait_us(60.0, 100.0, iops=200.0), 2)
        (18.0, 18.8)
    """
    service = require_positive("service_us", service_us)
    interval = require_at_least("interval_us", interval_us, service)
    count = require_count("dies", dies, 1)
    rate = require_at_least("iops", iops, 0.0) * 1e-6 / count
    busy = rate * service
    if busy >= 1.0:
        message = f"iops is {iops}; accepted: below what the dies can read"
        raise ValueError(message)
    of_host = busy * service / 2.0
    beside = (service * service / 2.0 + service * of_host) / interval
    return (beside / count + of_host) / (1.0 - busy)


@dataclass(frozen=True)
class LayeredMinSum:
    """The shape of a code whose block rows are the layers of a normalised min-sum decoder.

    Columns of information have one weight, those of parity two, but for the first of three.

    Example:
        >>> code = LayeredMinSum(info_blocks=128, rows=14, block_bits=256)
        >>> round(code.iterations_mean(3e-3), 2)
        3.02
    """

    info_blocks: int
    """Blocks of information."""
    rows: int
    """Block rows."""
    block_bits: int
    """Bits of a block."""
    weight: int = 4
    """Ones in a column of information."""

    def __post_init__(self) -> None:
        """Refuse what is not a code."""
        require_count("info_blocks", self.info_blocks, 1)
        require_count("rows", self.rows, 2)
        require_count("block_bits", self.block_bits, 1)
        require_count("weight", self.weight, 2)

    @property
    def code_bits(self) -> int:
        """Bits of a codeword."""
        return (self.info_blocks + self.rows) * self.block_bits

    def wrong_bits(self, rber: float, iterations: int) -> list[float]:
        """Return the share of wrong bits after each iteration, from hard decisions.

        Args:
            rber: probability that a bit is read wrongly, 0 to 1 exclusive.
            iterations: the most that are made.

        Returns:
            One share for each iteration, until no word is wrong any more.

        Raises:
            ValueError: when an argument is out of range.

        Source:
            See the head of the file.
        """
        rate = require_open_share("rber", rber)
        # Halves away from zero; LLRs of error rates below 0.5 are positive.
        size = min(math.floor(abs(math.log((1.0 - rate) / rate)) * LLR_UNITS + 0.5), LLR_MAX)
        channel = np.zeros(2 * LLR_MAX + 1)
        channel[LLR_MAX + size] += 1.0 - rate
        channel[LLR_MAX - size] += rate
        edges = self.info_blocks * self.weight + 2 * self.rows + 1
        degree = edges / self.rows
        of_info = self.info_blocks * self.weight / edges
        nothing = np.zeros(2 * MESSAGE_MAX + 1)
        nothing[MESSAGE_MAX] = 1.0
        layers = np.tile(nothing, (self.rows, 1))
        shares: list[float] = []
        for _ in range(require_count("iterations", iterations, 1)):
            for row in range(self.rows):
                others = (layers.sum(axis=0) - layers[row]) / (self.rows - 1)
                info = _sum_with(channel, others, self.weight - 1)
                parity = _sum_with(channel, others, 1)
                layers[row] = _answer(of_info, info, parity, degree - 1.0)
            mean = layers.mean(axis=0)
            wrong = [_wrong(_sum_with(channel, mean, count)) for count in (self.weight, 2)]
            blocks = self.info_blocks + self.rows
            shares.append((self.info_blocks * wrong[0] + self.rows * wrong[1]) / blocks)
            if shares[-1] * self.code_bits < DONE:
                break
        return shares

    def iterations_mean(self, rber: float, words: int = 1, iterations_max: int = 20) -> float:
        """Return the mean iterations of the slowest of some words, of those that are decoded.

        Args:
            rber: probability that a bit is read wrongly, 0 to 1 exclusive.
            words: words that are decoded side by side.
            iterations_max: iterations after which the decoder gives up.

        Returns:
            `1 + sum of P(not done after i)`, bits taken as independent.

        Raises:
            ValueError: when an argument is out of range.

        Source:
            See the head of the file.
        """
        bits = self.code_bits * require_count("words", words, 1)
        shares = self.wrong_bits(rber, iterations_max)
        left = [-math.expm1(bits * math.log1p(-min(share, 0.5))) for share in shares]
        never = left[-1] if len(left) == iterations_max else 0.0
        if never > 1.0 - 1e-6:
            return float(iterations_max)
        waits = (max(share - never, 0.0) for share in left[: iterations_max - 1])
        return 1.0 + math.fsum(waits) / (1.0 - never)


def _sum_with(channel: Shares, message: Shares, count: int) -> Shares:
    """Return the distribution of the channel's LLR and so many messages; zero is in the middle."""
    total = channel
    for _ in range(count):
        total = np.convolve(total, message)
    return total


def _magnitudes(shares: Shares, limit: int) -> tuple[Shares, Shares]:
    """Return P(magnitude >= m), and P of the right less the wrong sign there, m = 0 to a limit."""
    middle = len(shares) // 2
    right, wrong = shares[middle:].copy(), shares[middle::-1].copy()
    # Neither right nor wrong.
    right[0] = wrong[0] = 0.0
    reaches = np.cumsum((right + wrong)[::-1])[::-1]
    leads = np.cumsum((right - wrong)[::-1])[::-1]
    reaches[0] += shares[middle]
    return reaches[: limit + 1], leads[: limit + 1]


def _answer(of_info: float, info: Shares, parity: Shares, others: float) -> Shares:
    """Return what a check sends back: three quarters of the least magnitude of the others."""
    limit = 4 * MESSAGE_MAX // 3
    of_both = [_magnitudes(shares, limit) for shares in (info, parity)]
    reaches, leads = (
        of_info * of_both[0][place] + (1.0 - of_info) * of_both[1][place] for place in (0, 1)
    )
    # P(no magnitude is less than m), and the lead of an even number of wrong signs there.
    all_reach = np.append(np.clip(reaches, 0.0, 1.0) ** others, 0.0)
    all_lead = np.append(np.clip(leads, 0.0, 1.0) ** others, 0.0)
    least, lead = -np.diff(all_reach), -np.diff(all_lead)
    sizes = 3 * np.arange(limit + 1) // 4
    message = np.zeros(2 * MESSAGE_MAX + 1)
    np.add.at(message, MESSAGE_MAX + sizes, np.maximum(0.5 * (least + lead), 0.0))
    np.add.at(message, MESSAGE_MAX - sizes, np.maximum(0.5 * (least - lead), 0.0))
    whole: Shares = message / message.sum()
    return whole


def _wrong(shares: Shares) -> float:
    """Return the probability of a negative sum, half of it for zero."""
    middle = len(shares) // 2
    return float(shares[:middle].sum() + 0.5 * shares[middle])
