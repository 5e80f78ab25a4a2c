"""What a channel allows at a point: capacity, the best code of a length, bounded distance.

```text
settings of a channel, point ──► P(output | bit) ──► C and V ──► the point at which C is the rate
                                                             └─► FER of the best code, about
```
Of states of unequal width that are seen exactly nothing is said: they have no table.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import Any

from opennandlab import _core
from opennandlab.theory.coding import (
    gaussian_information,
    information_density,
    normal_approximation,
)

# Between these every limit is: RBER as logarithms, and Eb/N0 in dB.
RBER_MIN, RBER_MAX = 1e-9, 0.4999
EBN0_MIN, EBN0_MAX = -2.0, 40.0
# Halvings that leave twelve digits.
HALVINGS = 48


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the channel itself is: without what decoders believe, and one name for each.

    >>> plain_settings({"kind": "sensing", "reads": 1, "llr_rber": 1e-3})
    {'kind': 'bsc'}
    """
    found = {key: value for key, value in settings.items() if key != "llr_rber"}
    is_single = found.get("kind") == "sensing" and found.get("reads") == 1
    if is_single and not {"thresholds", "spacing"} & found.keys():
        found = {key: value for key, value in found.items() if key != "reads"} | {"kind": "bsc"}
    return found


class Limits:
    """The limits of a channel for codes of a rate.

    Args:
        settings: Settings of the channel, as documents state them.
        rate: Information bits per sent bit.

    >>> f"{Limits({'kind': 'bsc'}, 0.9).capacity_x:.5f}"
    '0.01299'
    """

    def __init__(self, settings: Mapping[str, Any], rate: float) -> None:
        """Keep what the channel is."""
        self._settings = plain_settings(settings)
        self._is_even = self._settings.get("sigma_ratio", 1.0) == 1.0
        self.kind = str(self._settings["kind"])
        self.rate = rate

    @property
    def are_known(self) -> bool:
        """Whether there is a table of outputs, or a closed form."""
        return self.kind != "unquantised" or self._is_even

    @property
    def is_rber(self) -> bool:
        """Whether points are raw bit error rates, rather than Eb/N0 in dB."""
        return self.kind != "awgn"

    def information(self, x: float) -> tuple[float, float]:
        """Return C in bits and V in bits squared at a point."""
        if self.kind == "awgn":
            return gaussian_information(math.sqrt(0.5 / (self.rate * 10 ** (x / 10))))
        if self.kind == "unquantised":
            return gaussian_information(-1.0 / NormalDist().inv_cdf(x))
        if self.kind == "bsc" and self._is_even:
            return information_density([[1.0 - x, x], [x, 1.0 - x]])
        # A single read between states of unequal width errs more on one bit than on the other.
        spec = {"reads": 1, **self._settings, "kind": "sensing"}
        table = json.loads(_core.ecc_llr_table(json.dumps(spec), x))
        return information_density(table["probabilities"])

    def hard_rber(self, x: float) -> float | None:
        """Return the probability of a wrong hard decision; None where it depends on the bit."""
        if self.kind == "awgn":
            return NormalDist().cdf(-math.sqrt(2.0 * self.rate * 10 ** (x / 10)))
        return x if self._is_even else None

    @property
    def capacity_x(self) -> float:
        """The worst point at which codes of this rate exist: where C is the rate."""
        return self._where(lambda x: self.information(x)[0] > self.rate)

    def best(self, code_bits: int, info_bits: int, x: float) -> float:
        """Return how often the best code fails at a point, about: the normal approximation."""
        return normal_approximation(code_bits, info_bits, *self.information(x))

    def best_x(self, code_bits: int, info_bits: int, fer: float) -> float:
        """Return the point at which the best code has a frame error rate, about."""
        return self._where(lambda x: self.best(code_bits, info_bits, x) < fer)

    def bounded_distance(self, code_bits: int, correctable: int, x: float) -> float | None:
        """Return `P(X > t)`, X the number of wrong hard decisions; None where bits differ."""
        rber = self.hard_rber(x)
        return None if rber is None else _core.ecc_tail(code_bits, correctable, rber)

    def _where(self, is_good: Callable[[float], bool]) -> float:
        """Return the point between good and bad ones."""
        if self.is_rber:
            good, bad = math.log(RBER_MIN), math.log(RBER_MAX)
        else:
            good, bad = EBN0_MAX, EBN0_MIN
        for _ in range(HALVINGS):
            middle = 0.5 * (good + bad)
            if is_good(math.exp(middle) if self.is_rber else middle):
                good = middle
            else:
                bad = middle
        return math.exp(good) if self.is_rber else good
