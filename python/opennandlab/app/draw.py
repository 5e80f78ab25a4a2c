"""Random choices of scripts: named streams of one seed, so that no case disturbs another."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Draw:
    """A named stream of random choices.

    Args:
        seed: Seed of the run.
        name: Name of the stream.

    >>> Draw(42, "web").below(1000) == Draw(42, "web").below(1000)
    True
    """

    def __init__(self, seed: int, name: str) -> None:
        """Seed it."""
        word = hashlib.sha256(f"{seed}/{name}".encode()).digest()
        self._random = random.Random(int.from_bytes(word[:8], "little"))  # noqa: S311 (no secret)

    def below(self, limit: int) -> int:
        """Return a whole number from 0 to below `limit`."""
        return int(self._random.random() * limit)

    def between(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return the items in random order (Fisher and Yates)."""
        found = list(items)
        for last in range(len(found) - 1, 0, -1):
            other = self.below(last + 1)
            found[last], found[other] = found[other], found[last]
        return found

    def lognormal(self, median: int, cap: int) -> int:
        """Return a size with this median: the logarithm is normal, of deviation 1, up to `cap`."""
        normal = sum(self._random.random() for _ in range(12)) - 6.0
        return max(1, min(cap, int(median * math.exp(normal))))

    def text(self, length: int) -> str:
        """Return letters and blanks."""
        letters = "etaoin shrdlucmfwypvbgkqjxz"
        return "".join(letters[self.below(len(letters))] for _ in range(length))

    def bytes(self, count: int) -> bytes:
        """Return random bytes."""
        return self._random.randbytes(count)
