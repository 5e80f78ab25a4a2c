"""What a policy sees of a pool of blocks (a die) when it chooses a victim.

The arrays are made once for a pool and brought up to date before each call: whoever wants to keep
what stands in them copies it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

# The rank of a block that is no candidate.
NO_RANK = 2**63 - 1


class State(IntEnum):
    """What a block is used for: the numbers in `Pool.states`."""

    ERASED = 0
    OPEN = 1
    CLOSED = 2
    BAD = 3
    VICTIM = 4
    ERASING = 5
    CACHED = 6
    FAILED = 7
    MAP = 8


class Pool:
    """A pool of blocks: those of a die, or superblocks of a group of dies.

    Blocks are numbered inside the pool, from 0. Arrays are read-only and have an entry for each
    block, but for `order`.

    Args:
        die: The number of the pool.
        block_count: Blocks, bad ones included.
        pages_per_block: Pages of a block.

    Attributes:
        live: Live pages, uint32.
        erase_counts: How often each block was erased, uint32.
        closed_at: `now` when each block was written to its end last, uint64; 0 before that.
        states: What each block is used for, as numbers of `State`, uint8.
        rank: Of candidates with equally many live pages, the built-in `greedy` takes the one with
            the lowest rank, int64; `NO_RANK` for blocks that are no candidates.

    >>> pool = Pool(die=0, block_count=4, pages_per_block=64)
    >>> pool.live.dtype.name, pool.live.flags.writeable, pool.order.size
    ('uint32', False, 0)
    """

    def __init__(self, die: int, block_count: int, pages_per_block: int) -> None:
        """Make the arrays, with nothing in them yet."""
        self.die = die
        self.block_count = block_count
        self.pages_per_block = pages_per_block
        kinds = (np.uint64, np.uint32, np.uint32, np.uint64, np.int64, np.uint8, np.uint32)
        counts = (2, *[block_count] * 6)
        # Memory that lives as long as anybody examines it, and that only the core writes to.
        self._memory = tuple(
            bytearray(count * np.dtype(kind).itemsize)
            for kind, count in zip(kinds, counts, strict=True)
        )
        arrays: list[npt.NDArray[Any]] = [
            np.frombuffer(memory, dtype=kind)
            for memory, kind in zip(self._memory, kinds, strict=True)
        ]
        for array in arrays:
            array.flags.writeable = False
        self._head: npt.NDArray[np.uint64] = arrays[0]
        self.live: npt.NDArray[np.uint32] = arrays[1]
        self.erase_counts: npt.NDArray[np.uint32] = arrays[2]
        self.closed_at: npt.NDArray[np.uint64] = arrays[3]
        self.rank: npt.NDArray[np.int64] = arrays[4]
        self.states: npt.NDArray[np.uint8] = arrays[5]
        self._order: npt.NDArray[np.uint32] = arrays[6]

    @property
    def now(self) -> int:
        """Pages that the host has written to the drive so far, the clock of `closed_at`."""
        return int(self._head[0])

    @property
    def order(self) -> npt.NDArray[np.uint32]:
        """The candidates; of those with equally many live pages, `greedy` takes the first."""
        return self._order[: int(self._head[1])]

    @property
    def age(self) -> npt.NDArray[np.uint64]:
        """Pages that the host has written since each block was closed."""
        age: npt.NDArray[np.uint64] = self._head[0] - self.closed_at
        return age

    def __repr__(self) -> str:
        """Name the pool."""
        return f"<Pool of die {self.die}: {self.block_count} blocks>"


class Made(NamedTuple):
    """What the core calls, with what, and the memory of its arrays."""

    choose: Any
    pool: Pool
    head: bytearray
    live: bytearray
    erase_counts: bytearray
    closed_at: bytearray
    rank: bytearray
    states: bytearray
    order: bytearray


def made(choose: object, pool: Pool) -> Made:
    """Return what the core needs to ask `choose`."""
    return Made(choose, pool, *pool._memory)  # noqa: SLF001 (written by the core alone)
