"""What the best code of a length and rate could do: capacity, dispersion, normal approximation.

A channel with equally likely bits enters as the mean C and the variance V of its information
density `i = log2 P(y | x) / P(y)`. No code of rate R > C works at any length; of n bits the best
one fails about as often as the approximation says, which is close for n of 200 and more and frame
error rates down to 1e-6 or so. Beyond it is the trend, not a bound: a real code of the same length
can lie to either side of it by a small factor.

Sources: C. Shannon, "A mathematical theory of communication", 1948; Y. Polyanskiy, H. V. Poor, S.
Verdu, "Channel coding rate in the finite blocklength regime", IEEE Trans. Inf. Theory 56 (2010),
equation 223 with the term of half a logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from opennandlab.theory._check import require_count, require_positive, require_share

# Integrals over a Gaussian: so many standard deviations to either side, in so many steps.
REACH, STEPS = 10.0, 4000


def binary_entropy(probability: float) -> float:
    """Return the entropy of a binary choice.

    Args:
        probability: of one of the two, 0 to 1.

    Returns:
        `-p log2 p - (1 - p) log2 (1 - p)`, bits.

    Raises:
        ValueError: when the probability is none.

    Source:
        Shannon (1948).

    Example:
        >>> round(binary_entropy(0.11), 4)
        0.4999
    """
    p = require_share("probability", probability)
    return 0.0 - sum(share * math.log2(share) for share in (p, 1.0 - p) if share > 0.0)


def information_density(probabilities: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return mean and variance of the information of an output about an equally likely bit.

    Args:
        probabilities: of each output, once if the bit is 0 and once if it is 1.

    Returns:
        C in bits, and V in bits squared.

    Raises:
        ValueError: when there are not two lists of one length.

    Source:
        Polyanskiy, Poor and Verdu (2010), equations 2 and 55.

    Example:
        >>> mean, variance = information_density([[0.89, 0.11], [0.11, 0.89]])
        >>> round(mean, 4), round(variance, 4)
        (0.5001, 0.8907)
    """
    table = np.array(probabilities, dtype=np.float64)
    if table.ndim != 2 or len(table) != 2:
        message = "probabilities must be two lists of one length"
        raise ValueError(message)
    whole = table.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        density = np.where(table > 0.0, np.log2(table / whole), 0.0)
    mean = float((table * density).sum() / 2.0)
    return mean, float((table * (density - mean) ** 2).sum() / 2.0)


def gaussian_information(sigma: float) -> tuple[float, float]:
    """Return the same for two levels at +1 and -1 under Gaussian noise that is seen exactly.

    Args:
        sigma: standard deviation of the noise, above 0.

    Returns:
        C in bits, and V in bits squared.

    Raises:
        ValueError: when sigma is not positive.

    Source:
        Polyanskiy, Poor and Verdu (2010), section IV; `i = 1 - log2 (1 + exp(-L))`, where
        `L = 2 (1 + sigma z) / sigma^2` and z is normal.

    Example:
        >>> [round(value, 4) for value in gaussian_information(1.0)]
        [0.4859, 0.6597]
    """
    width = require_positive("sigma", sigma)
    z = np.linspace(-REACH, REACH, STEPS + 1)
    weight = np.exp(-0.5 * z * z)
    weight /= weight.sum()
    density = 1.0 - np.logaddexp(0.0, -2.0 * (1.0 + width * z) / width**2) / math.log(2.0)
    mean = float((weight * density).sum())
    return mean, float((weight * (density - mean) ** 2).sum())


def normal_approximation(
    code_bits: int, info_bits: int, capacity: float, dispersion: float
) -> float:
    """Return how often the best code of a length and rate fails, about.

    Args:
        code_bits: n, sent bits of a word.
        info_bits: k, information bits of it, at most n.
        capacity: C, bits.
        dispersion: V, bits squared.

    Returns:
        `Q((n C - k + log2(n) / 2) / sqrt(n V))`.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Polyanskiy, Poor and Verdu (2010), equation 223.

    Example:
        >>> capacity, dispersion = information_density([[0.89, 0.11], [0.11, 0.89]])
        >>> f"{normal_approximation(2000, 885, capacity, dispersion):.2e}"
        '2.13e-03'
    """
    bits = require_count("code_bits", code_bits, 1)
    sent = require_count("info_bits", info_bits, 0, bits)
    mean = require_share("capacity", min(capacity, 1.0))
    margin = bits * mean - sent + 0.5 * math.log2(bits)
    if dispersion <= 0.0:
        return 0.0 if margin > 0.0 else 1.0
    return 0.5 * math.erfc(margin / math.sqrt(2.0 * bits * dispersion))
