"""From wear to raw bit errors to codewords that a t-error-correcting code cannot correct.

Raw bit errors follow a Weibull curve between a floor and a ceiling; errors in a codeword are taken
as independent, so their number is binomial. Measured flash is overdispersed (errors cluster in
weak pages), which makes real codeword failures more likely than these. Probabilities are summed in
logarithms: 1e-300 is as exact as 0.5.

Sources: the Weibull parameters are our fit, exact at the three published points RBER(500) =
4.12e-6, RBER(1500) = 3.24e-4, RBER(3000) = 9.87e-4 for TLC; UBER as in JEDEC JESD218 and N. Mielke
et al., "Bit error rate in NAND flash memories", IRPS 2008; overdispersion: V. Taranalli, H.
Uchikawa, P. Siegel, "Channel models for multi-level cell flash memories", 2016.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from opennandlab.theory._check import (
    require_at_least,
    require_count,
    require_open_share,
    require_positive,
    require_share,
)
from opennandlab.theory._solve import find_root


@dataclass(frozen=True)
class WeibullRber:
    """Raw bit error rate against wear, `floor + (ceiling - floor) (1 - exp(-(PE / scale)^shape))`.

    Example:
        >>> f"{WeibullRber().at(1500):.2e}"
        '3.24e-04'
    """

    floor: float = 1e-8
    """RBER of a new block; assumed, far below the published points."""
    ceiling: float = 9.8786e-4
    """RBER that wear tends to."""
    scale: float = 1873.64
    """P/E cycles at which 63 % of the rise is reached."""
    shape: float = 4.14829
    """Weibull exponent."""

    def __post_init__(self) -> None:
        """Refuse parameters that describe no curve."""
        require_share("floor", self.floor)
        require_share("ceiling", self.ceiling)
        require_positive("scale", self.scale)
        require_positive("shape", self.shape)
        if self.floor > self.ceiling:
            message = f"floor {self.floor} is above ceiling {self.ceiling}"
            raise ValueError(message)

    def at(self, pe_cycles: float) -> float:
        """Return the raw bit error rate after a number of program/erase cycles.

        Args:
            pe_cycles: at least 0.

        Returns:
            Bit errors per bit read.

        Raises:
            ValueError: when the number of cycles is negative.

        Source:
            See the head of the file.
        """
        wear = require_at_least("pe_cycles", pe_cycles, 0.0) / self.scale
        return self.floor - (self.ceiling - self.floor) * math.expm1(-(wear**self.shape))


def log_codeword_failure(codeword_bits: int, correctable: int, rber: float) -> float:
    """Return the natural logarithm of the probability that a codeword has too many errors.

    Args:
        codeword_bits: n, data and parity.
        correctable: t, errors that the code corrects.
        rber: probability that a bit is wrong, 0 to 1.

    Returns:
        `ln P(X > t)`, X binomial (n, RBER); minus infinity when it cannot happen.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Bounded-distance decoding, for example S. Lin and D. Costello, "Error Control Coding".

    Example:
        >>> round(log_codeword_failure(255, 4, 1e-3), 3)
        -11.867
    """
    bits = require_count("codeword_bits", codeword_bits, 1)
    corrects = require_count("correctable", correctable, 0)
    rate = require_share("rber", rber)
    if corrects >= bits or rate == 0.0:
        return -math.inf
    if rate == 1.0:
        return 0.0
    if corrects + 1 >= bits * rate:
        return min(0.0, _log_sum(bits, rate, corrects + 1, 1))
    # Most words fail: sum the few that do not, downwards from t.
    log_success = min(_log_sum(bits, rate, corrects, -1), 0.0)
    return math.log(-math.expm1(log_success)) if log_success < 0.0 else -math.inf


def codeword_failure(codeword_bits: int, correctable: int, rber: float) -> float:
    """Return the probability that a codeword has more errors than the code corrects.

    Args:
        codeword_bits: n, data and parity.
        correctable: t, errors that the code corrects.
        rber: probability that a bit is wrong, 0 to 1.

    Returns:
        `P(X > t)`, X binomial (n, RBER).

    Raises:
        ValueError: when an argument is out of range.

    Source:
        As `log_codeword_failure`.

    Example:
        >>> f"{codeword_failure(255, 4, 1e-3):.3e}"
        '7.017e-06'
    """
    return math.exp(log_codeword_failure(codeword_bits, correctable, rber))


def page_failure(codeword_failure_probability: float, codewords: int) -> float:
    """Return the probability that at least one of the codewords of a page fails.

    Args:
        codeword_failure_probability: of one codeword, 0 to 1.
        codewords: codewords in the page.

    Returns:
        `1 - (1 - p)^c`, without cancellation.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Independent codewords.

    Example:
        >>> f"{page_failure(codeword_failure(255, 4, 1e-3), 147):.2e}"
        '1.03e-03'
    """
    probability = require_share("codeword_failure_probability", codeword_failure_probability)
    count = require_count("codewords", codewords, 1)
    if probability == 1.0:
        return 1.0
    return -math.expm1(count * math.log1p(-probability))


def corrected_bits_mean(codeword_bits: int, correctable: int, rber: float) -> float:
    """Return the mean number of bit errors that decoding one codeword corrects.

    Args:
        codeword_bits: n, data and parity.
        correctable: t, errors that the code corrects.
        rber: probability that a bit is wrong, 0 to 1.

    Returns:
        `E[X; X <= t] = n p P(Y <= t - 1)`, Y binomial (n - 1, p): errors of words that are not
        decoded do not count.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        `k C(n, k) = n C(n - 1, k - 1)`.

    Example:
        >>> round(corrected_bits_mean(255, 4, 1e-3), 5)
        0.25496
    """
    bits = require_count("codeword_bits", codeword_bits, 1)
    corrects = require_count("correctable", correctable, 0)
    mean = bits * require_share("rber", rber)
    if corrects == 0:
        return 0.0
    if bits == 1:
        return mean
    return mean * -math.expm1(log_codeword_failure(bits - 1, corrects - 1, rber))


def uber(codeword_failure_probability: float, data_bits: int) -> float:
    """Return the uncorrectable bit error rate: data errors per bit read, not per read.

    Args:
        codeword_failure_probability: of one codeword, 0 to 1.
        data_bits: user bits of a codeword.

    Returns:
        `P / data bits`; a failed codeword counts as one data error.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        JESD218; Mielke et al. 2008.

    Example:
        >>> f"{uber(codeword_failure(255, 4, 1e-3), 223):.3e}"
        '3.147e-08'
    """
    probability = require_share("codeword_failure_probability", codeword_failure_probability)
    return probability / require_count("data_bits", data_bits, 1)


@dataclass(frozen=True)
class PageCode:
    """A page cut into codewords of a t-error-correcting code, the last one shortened to the rest.

    Example:
        >>> page = PageCode(page_bytes=4096, data_bits=223, parity_bits=32, correctable=4)
        >>> page.codewords, f"{page.failure(1e-3):.4e}"
        (147, '1.0294e-03')
    """

    page_bytes: int
    """User data of the page."""
    data_bits: int
    """Data bits of a full codeword."""
    parity_bits: int
    """Parity bits of every codeword."""
    correctable: int
    """t, errors that a codeword corrects."""

    def __post_init__(self) -> None:
        """Refuse lengths that describe no page."""
        require_count("page_bytes", self.page_bytes, 1)
        require_count("data_bits", self.data_bits, 1)
        require_count("parity_bits", self.parity_bits, 0)
        require_count("correctable", self.correctable, 0)

    @property
    def codewords(self) -> int:
        """Codewords of the page, `ceil(8 page_bytes / data_bits)`."""
        return -(-8 * self.page_bytes // self.data_bits)

    @property
    def _lengths(self) -> tuple[tuple[int, int], ...]:
        """Lengths in bits, each with the number of codewords that have it."""
        full = self.codewords - 1
        rest = 8 * self.page_bytes - full * self.data_bits
        return ((self.data_bits + self.parity_bits, full), (rest + self.parity_bits, 1))

    def failure(self, rber: float) -> float:
        """Return the probability that the page cannot be read.

        Args:
            rber: probability that a bit is wrong, 0 to 1.

        Returns:
            `1 - product of (1 - p)` over the codewords.

        Raises:
            ValueError: when the rate is out of range.
        """
        failures = [
            (codeword_failure(bits, self.correctable, rber), count) for bits, count in self._lengths
        ]
        if any(failure >= 1.0 and count for failure, count in failures):
            return 1.0
        logs = (count * math.log1p(-failure) for failure, count in failures if count)
        return -math.expm1(math.fsum(logs))

    def uber(self, rber: float) -> float:
        """Return uncorrectable data errors per bit read, each failed codeword being one.

        Args:
            rber: probability that a bit is wrong, 0 to 1.

        Returns:
            Mean failed codewords / user bits of the page.

        Raises:
            ValueError: when the rate is out of range.
        """
        failed = [
            count * codeword_failure(bits, self.correctable, rber) for bits, count in self._lengths
        ]
        return math.fsum(failed) / (8 * self.page_bytes)

    def corrected_bits_mean(self, rber: float) -> float:
        """Return the mean number of bit errors corrected in one read of the page.

        Args:
            rber: probability that a bit is wrong, 0 to 1.

        Returns:
            Sum of `corrected_bits_mean` over the codewords.

        Raises:
            ValueError: when the rate is out of range.
        """
        return math.fsum(
            count * corrected_bits_mean(bits, self.correctable, rber)
            for bits, count in self._lengths
        )

    def worst_errors_mean(self, rber: float) -> float:
        """Return the mean number of errors of the worst codeword, of pages that can be read.

        Args:
            rber: probability that a bit is wrong, 0 to 1.

        Returns:
            `sum over e < t of 1 - F(e) / F(t)`, F(e) the probability that no codeword has more
            than e errors; t where hardly any page can be read.

        Raises:
            ValueError: when the rate is out of range.

        Example:
            >>> round(PageCode(4096, 223, 32, 4).worst_errors_mean(1e-3), 3)
            2.285
        """
        logs = [self._log_at_most(errors, rber) for errors in range(self.correctable + 1)]
        if logs[-1] == -math.inf:
            return float(self.correctable)
        return math.fsum(-math.expm1(log - logs[-1]) for log in logs[:-1])

    def _log_at_most(self, errors: int, rber: float) -> float:
        """Return ln of the probability that no codeword has more than a number of errors."""
        failures = [(codeword_failure(bits, errors, rber), count) for bits, count in self._lengths]
        if any(failure >= 1.0 for failure, _ in failures):
            return -math.inf
        return math.fsum(count * math.log1p(-failure) for failure, count in failures if count)


def rber_for_failure(codeword_bits: int, correctable: int, probability: float) -> float:
    """Return the raw bit error rate at which codewords fail with a given probability.

    Args:
        codeword_bits: n, data and parity.
        correctable: t, below n.
        probability: wanted P(X > t), 0 to 1 exclusive.

    Returns:
        The RBER.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        The inverse of `codeword_failure`, which grows with the RBER.

    Example:
        >>> f"{rber_for_failure(2047, 29, 1e-3):.2e}"
        '7.78e-03'
    """
    wanted = math.log(require_open_share("probability", probability))
    if require_count("correctable", correctable, 0) >= codeword_bits:
        message = f"a code of {codeword_bits} bits that corrects {correctable} errors never fails"
        raise ValueError(message)

    def excess(log_rate: float) -> float:
        value = log_codeword_failure(codeword_bits, correctable, math.exp(log_rate))
        # The search needs finite values; no wanted logarithm is as low.
        return max(value, -1e6) - wanted

    return math.exp(find_root(excess, math.log(1e-300), math.log(1.0 - 1e-12), 1e-13))


def _log_sum(bits: int, rate: float, first: int, direction: int) -> float:
    """Return ln of the sum of binomial probabilities from `first` away from the mean.

    Args:
        bits: n.
        rate: p, above 0 and below 1.
        first: The first number of errors, on the side of the mean to which the sum goes.
        direction: 1 for `first` and more errors, -1 for `first` and fewer.
    """
    log_ratio = math.log(rate) - math.log1p(-rate)
    log_first = (
        math.lgamma(bits + 1)
        - math.lgamma(first + 1)
        - math.lgamma(bits - first + 1)
        + first * math.log(rate)
        + (bits - first) * math.log1p(-rate)
    )
    odds = math.exp(log_ratio)
    total = term = 1.0
    count = first
    # Terms only get smaller; the rest is below the last digit of the sum.
    while 0 <= count + direction <= bits and term > 1e-17 * total:
        following = count + direction
        term *= (
            (bits - count) / following * odds
            if direction > 0
            else count / ((bits - following) * odds)
        )
        total += term
        count = following
    return log_first + math.log(total)
