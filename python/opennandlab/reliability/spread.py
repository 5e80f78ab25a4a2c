"""Codewords that fail when pages differ: beta-binomial errors in place of binomial ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opennandlab import _core
from opennandlab.base.errors import ConfigError


def codeword_failure(
    codeword_bits: int, correctable: int, rber: ArrayLike, cv: float = 0.0
) -> NDArray[np.float64]:
    """Return the probability that a codeword has more errors than its code corrects.

    Args:
        codeword_bits: n, data and parity; below 2^32.
        correctable: t, errors that the code corrects; below 2^32.
        rber: Mean raw bit error rate of pages, 0 to 0.5.
        cv: Relative standard deviation of the error rates of pages; 0: all are equal.

    Returns:
        `P(X > t)`, X beta-binomial; `float64`, in the shape of `rber`.

    Raises:
        ConfigError: for a value out of range.

    Source:
        V. Taranalli, H. Uchikawa, P. Siegel, "Channel models for multi-level cell flash memories",
        2016.

    >>> [f"{codeword_failure(255, 4, 1e-3, cv):.3g}" for cv in (0, 0.1, 0.5)]
    ['7.02e-06', '7.67e-06', '3.6e-05']
    """
    for name, value in (("codeword_bits", codeword_bits), ("correctable", correctable)):
        if not 0 <= value < 2**32:
            raise ConfigError(name, f"{value} is not usable; accepted: 0 to 2^32 - 1")
    means = np.asarray(rber, float)
    refused = means[~((means >= 0.0) & (means <= 0.5))]
    if refused.size:
        raise ConfigError("rber", f"{refused[0]:g} is not usable; accepted: 0 to 0.5")
    values = _core.beta_binomial_tail(codeword_bits, correctable, means.ravel().tolist(), float(cv))
    return np.array(values, float).reshape(means.shape)
