"""Policies that tests hand to drives: sound ones, and one for each way to be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from opennandlab.policies import State

__opennandlab__ = {
    "policies": [
        "Greedy",
        "ByRank",
        "CostBenefit",
        "Weighted",
        "first",
        "ready",
        "nothing",
        "Unmade",
        "opened",
        "erased",
        "bad",
        "none",
        "half",
        "yes",
        "beyond",
        "negative",
        "huge",
        "raises",
        "opens",
        "writes",
        "endless",
        "fullest",
    ]
}


class Greedy:
    """The emptiest block; of equals the one that the built-in policy takes."""

    def choose(self, pool: Any) -> Any:
        return pool.order[pool.live[pool.order].argmin()]


class ByRank:
    """The same by ranks, from all blocks, as native code does it."""

    def choose(self, pool: Any) -> int:
        live = pool.live.tolist()
        rank = pool.rank.tolist()
        candidates = np.flatnonzero(pool.states == State.CLOSED).tolist()
        return int(min(candidates, key=lambda block: (live[block], rank[block])))


class CostBenefit:
    """The built-in policy of this name, with its score and its ties."""

    def choose(self, pool: Any) -> Any:
        blocks = np.sort(pool.order)
        used = pool.live[blocks] / pool.pages_per_block
        weight = np.full(used.size, 1e30)
        np.divide(1.0 - used, 2.0 * used, out=weight, where=used > 0)
        return blocks[(weight * (pool.age[blocks] + 1)).argmax()]


class Weighted:
    """A policy with parameters: live pages, less for blocks that were erased seldom."""

    def __init__(self, weight: float = 0.0, *, keep: int = 0) -> None:
        self.weight = weight
        self.keep = keep

    def choose(self, pool: Any) -> Any:
        score = pool.live[pool.order] + self.weight * pool.erase_counts[pool.order]
        return pool.order[score.argmin()]


def first(pool: Any) -> Any:
    """The block that stands first in the order."""
    return pool.order[0]


ready = Greedy()
nothing = 3


class Unmade:
    """Cannot be made."""

    def __init__(self) -> None:
        raise RuntimeError("not today")

    def choose(self, pool: Any) -> int:
        return 0


def _of(state: State) -> Any:
    def choose(pool: Any) -> int:
        found = np.flatnonzero(pool.states == state)
        return int(found[0] if found.size else pool.order[0])

    return choose


# Those who do not find such a block choose as the built-in policy does.
opened = _of(State.OPEN)
erased = _of(State.ERASED)
bad = _of(State.BAD)


def none(pool: Any) -> None:
    """Return nothing."""


def half(pool: Any) -> float:
    return 0.5


def yes(pool: Any) -> bool:
    return True


def beyond(pool: Any) -> int:
    return int(pool.block_count)


def negative(pool: Any) -> int:
    return -1


def huge(pool: Any) -> int:
    return 10**30


def raises(pool: Any) -> int:
    table: dict[int, int] = {}
    return table[pool.die]


def opens(pool: Any) -> int:
    with Path("no/such/file").open(encoding="utf-8") as file:
        return int(file.read())


def writes(pool: Any) -> int:
    pool.live[0] = 0
    return 0


def endless(pool: Any) -> int:
    while True:
        pass


def fullest(pool: Any) -> Any:
    return pool.order[pool.live[pool.order].argmax()]
