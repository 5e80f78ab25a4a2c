"""Closed loops: q requests always outstanding, random dies, fixed service time.

Dies with a channel of their own, started together, stay in step: in every slot each busy die
completes one request and each completed request is replaced by one on a die drawn at random. The
queue lengths, sorted, are a Markov chain on the partitions of q into at most D parts.

    slot   queues 3 1 0 0  --serve-->  2 0 0 0  --add-->  3 0 0 0 | 2 1 0 0  --add--> ...

Adding the replacements one at a time keeps the chain sparse: a request joins a queue of a given
length with the probability (number of such queues) / D. So mean busy dies B is exact; throughput
is B / s and mean latency q s / B. Several dies on one channel have a closed form for one and two
requests only.

Sources: our derivation; J. W. S. Wong and others treat the exponential case, whose product form
(J. R. Jackson 1963; W. J. Gordon and G. F. Newell 1967) is `exponential_busy_dies`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from opennandlab.theory._check import require_count, require_positive
from opennandlab.theory._solve import fixed_point

# Partitions of one total: 8 dies reach a depth of 67, 12 dies 53, 16 dies 50.
STATE_LIMIT = 160_000
SLOT_LIMIT = 20_000
TOLERANCE = 1e-11

Places = npt.NDArray[Any]
Shares = npt.NDArray[np.float64]


def busy_dies(dies: int, queue_depth: int) -> float:
    """Return the mean number of busy dies of a closed loop on dies with a channel each; exact.

    Args:
        dies: D.
        queue_depth: q, requests always outstanding.

    Returns:
        B. One request: 1; two: `2 - 1/D`; two dies: `2 - 1/q`; many requests: D.

    Raises:
        ValueError: when an argument is out of range, or the chain has too many states to solve.

    Source:
        See the head of the file.

    Example:
        >>> round(busy_dies(8, 8), 3)
        4.947
    """
    die_count = require_count("dies", dies, 1)
    depth = require_count("queue_depth", queue_depth, 1)
    if die_count == 1:
        return 1.0
    state_count = partition_count(depth, die_count)
    if state_count > STATE_LIMIT:
        message = (
            f"queue depth {depth} on {die_count} dies has {state_count} states; "
            f"accepted: up to {STATE_LIMIT}"
        )
        raise ValueError(message)
    return _Chain(die_count, depth).busy_mean()


def partition_count(total: int, parts_max: int) -> int:
    """Return in how many ways a total splits into at most so many parts, order ignored.

    Args:
        total: the number to split, at least 0.
        parts_max: at least 1.

    Returns:
        The number of states of the closed-loop chain.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        L. Euler's recurrence by largest part (conjugate partitions).

    Example:
        >>> partition_count(5, 2)
        3
    """
    whole = require_count("total", total, 0, 1 << 20)
    ways = [1] + [0] * whole
    for part in range(1, min(require_count("parts_max", parts_max, 1), whole) + 1):
        for reached in range(part, whole + 1):
            ways[reached] += ways[reached - part]
    return ways[whole]


def exponential_busy_dies(dies: int, queue_depth: int) -> float:
    """Return the mean number of busy dies if service times were exponential instead of fixed.

    Args:
        dies: D.
        queue_depth: q.

    Returns:
        `D q / (D + q - 1)`.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Gordon & Newell 1967: all compositions of q are equally likely.

    Example:
        >>> round(exponential_busy_dies(8, 8), 3)
        4.267
    """
    die_count = require_count("dies", dies, 1)
    depth = require_count("queue_depth", queue_depth, 1)
    return die_count * depth / (die_count + depth - 1)


@dataclass(frozen=True)
class SharedChannel:
    """D dies on one channel: a read senses on its die, waits for the channel, then transfers.

    The die is held until its transfer ends; the channel serves in order of readiness.

    Example:
        >>> round(SharedChannel(dies=8, sense_us=50.0, transfer_us=10.0).kiops(1), 3)
        16.667
    """

    dies: int
    """D."""
    sense_us: float
    """tR, in microseconds."""
    transfer_us: float
    """x, in microseconds."""

    def __post_init__(self) -> None:
        """Refuse what is not a channel."""
        require_count("dies", self.dies, 1)
        require_positive("sense_us", self.sense_us)
        require_positive("transfer_us", self.transfer_us)

    @property
    def kiops_limit(self) -> float:
        """Thousand reads per second that no queue depth exceeds, `min(1/x, D / (tR + x))`."""
        service = self.sense_us + self.transfer_us
        return 1e3 * min(1.0 / self.transfer_us, self.dies / service)

    def kiops(self, queue_depth: int) -> float:
        """Return thousand random reads per second of a closed loop.

        Args:
            queue_depth: q, 1 or 2.

        Returns:
            q = 1: `1 / (tR + x)`. q = 2, for `tR >= x`: the inverse of
            `p (tR + x) + x (1 - p) / (2 - p) + tR (1 - p)^2 / (2 - p)`, p = 1/D.

        Raises:
            ValueError: for other depths, and for q = 2 with `tR < x`: no closed form.

        Source:
            Renewal argument over the events "same die", "other die".
        """
        depth = require_count("queue_depth", queue_depth, 1, 2)
        sense, transfer = self.sense_us, self.transfer_us
        if depth == 1:
            return 1e3 / (sense + transfer)
        if sense < transfer:
            message = (
                f"sense_us {sense} is below transfer_us {transfer}: no closed form for depth 2"
            )
            raise ValueError(message)
        same = 1.0 / self.dies
        between = same * (sense + transfer) + (1.0 - same) / (2.0 - same) * (
            transfer + sense * (1.0 - same)
        )
        return 1e3 / between


class _Chain:
    """The chain on queue lengths: the states of each total, and how one more request joins.

    A state is a row of D queue lengths, falling. `joins[n]` lists (source, target, probability)
    from the states of n requests to those of n + 1; only the last D totals can occur while
    requests join.
    """

    def __init__(self, dies: int, depth: int) -> None:
        self.depth = depth
        self.least = max(0, depth - dies)
        self.joins: dict[int, tuple[Places, Places, Shares]] = {}
        # Rows are found again by a random weighting of their numbers: a collision has odds of 1e-8.
        weights = np.random.default_rng(0).integers(1, 1 << 62, dies, dtype=np.uint64)
        states = np.zeros((1, dies), dtype=np.uint64)
        served_keys: dict[int, Places] = {}
        for total in range(depth):
            if total >= self.least:
                served_keys[total] = states @ weights
            states, joins = _join(states, weights)
            if total >= self.least:
                self.joins[total] = joins
        self.sizes = {total: keys.size for total, keys in served_keys.items()} | {
            depth: states.shape[0]
        }
        self.busy = np.count_nonzero(states, axis=1)
        left = np.where(states > 0, states - np.uint64(1), np.uint64(0)) @ weights
        self.served = np.empty(self.busy.size, dtype=np.int64)
        for total, keys in served_keys.items():
            leaving = self.busy == depth - total
            self.served[leaving] = np.searchsorted(keys, left[leaving])

    def busy_mean(self) -> float:
        """Return the stationary mean number of busy dies."""
        start = np.full(self.busy.size, 1.0 / self.busy.size)
        share = fixed_point(self._slot, start, TOLERANCE, SLOT_LIMIT)
        return math.fsum(share * self.busy)

    def _slot(self, share: Shares) -> Shares:
        """Serve one request per busy die, then let as many join, one at a time."""
        joining: Shares = np.zeros(self.sizes[self.least], dtype=np.float64)
        for total in range(self.least, self.depth):
            leaving = self.busy == self.depth - total
            joining = joining + _summed(self.served[leaving], share[leaving], joining.size)
            source, target, weight = self.joins[total]
            joining = _summed(target, joining[source] * weight, self.sizes[total + 1])
        return joining


def _summed(places: Places, shares: Shares, size: int) -> Shares:
    """Return the sum of the shares that go to each place; float64, (size,)."""
    return np.asarray(np.bincount(places, weights=shares, minlength=size), dtype=np.float64)


def _join(states: Places, weights: Places) -> tuple[Places, tuple[Places, Places, Shares]]:
    """Return the states with one request more, sorted by key, and how the given ones lead there."""
    rows: list[Places] = []
    sources: list[Places] = []
    chances: list[Shares] = []
    dies = states.shape[1]
    for die in range(dies):
        # A request joins the first of equal queues: the row keeps falling, each way counts once.
        first = np.ones(states.shape[0], dtype=bool)
        if die:
            first = states[:, die - 1] > states[:, die]
        source = np.flatnonzero(first)
        row = states[source]
        chances.append(np.count_nonzero(row == row[:, die : die + 1], axis=1) / dies)
        row[:, die] += np.uint64(1)
        rows.append(row)
        sources.append(source)
    candidates = np.concatenate(rows)
    _, chosen, target = np.unique(candidates @ weights, return_index=True, return_inverse=True)
    return candidates[chosen], (np.concatenate(sources), target, np.concatenate(chances))
