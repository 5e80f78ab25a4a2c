"""Equations of a drive in steady state, from the rates of its data sheet.

    rated rates ──► word-line time, programs for each page of the host, space for data

Uniform random writes of a map unit in large blocks, collected greedily:

    t = row k e / S                      a word line on all dies, in the time of a sequential write
    A = S / (k R (1 + c))                all programs over those of the host
    c = rho g p s tR / t + t_erase / (t n)        reads and erases of collections over programs
    a = -G ln(1 - 1 / G), G = A k        space for data over the capacity

with S and R the sequential and the random rate, k the share of a row that holds data of the host or
moved data, G what collection makes of host data, and s the share of pages sensed for a move.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from opennandlab.base.errors import ConfigError
from opennandlab.theory.uniform import lambert_w0

UNIT_BYTES = 4096
# The slowest die of a row decides: 3 % among dies and as much among blocks.
EVENNESS = 0.94
# Reads of collections that no program hides, of two drives alike.
READ_SHARE = 0.75
# Measured over rated, of two drives: 1.04 and 1.04 sequential, 1.10 and 1.14 random.
SEQUENTIAL, SEQUENTIAL_RANGE = 1.04, (1.0, 1.08)
RANDOM, RANDOM_RANGE = 1.12, (1.0, 1.25)
ROUNDS_MAX = 200
ALPHA_RANGE = (1.03, 2.5)


@dataclass(frozen=True)
class Flash:
    """What the equations need to know of the flash.

    Args:
        dies: D.
        planes: p, that work together.
        pages: g, of a word line.
        page_bytes: P.
        read_us: tR, mean of the page types.
        erase_us: Erase time of a block; 0 leaves erases out.
        word_lines: Of a block.
        metadata: Share of a row for the drive itself.
        parity: Share of a row.
        evenness: e.
    """

    dies: int
    planes: int
    pages: int
    page_bytes: int
    read_us: float
    erase_us: float
    word_lines: int
    metadata: float
    parity: float = 0.0
    evenness: float = EVENNESS

    @property
    def row_bytes(self) -> int:
        """Bytes of a word line on all planes of all dies."""
        return self.dies * self.planes * self.pages * self.page_bytes

    @property
    def data_share(self) -> float:
        """Share of a row for data, k."""
        return (1.0 - self.metadata) * (1.0 - self.parity)


@dataclass(frozen=True)
class Solution:
    """What follows from the rates.

    Args:
        wordline_us: t.
        collecting: c.
        programs: A, all programs over those of the host.
        alpha: Space for data over the capacity.
    """

    wordline_us: float
    collecting: float
    programs: float
    alpha: float


def wordline_us(flash: Flash, sequential: float) -> float:
    """Return the time of a word line that gives a rate, in bytes a second."""
    return 1e6 * flash.row_bytes * flash.data_share * flash.evenness / sequential


def collecting(flash: Flash, wordline: float, programs: float) -> float:
    """Return c, the time of reads and erases over that of programs."""
    amplified = max(programs * flash.data_share, 1.0)
    valid = 1.0 - 1.0 / amplified
    sensed: float = 1.0 - (1.0 - valid) ** (flash.page_bytes / UNIT_BYTES)
    reads = READ_SHARE * flash.planes * flash.pages * sensed * flash.read_us / wordline
    return reads + flash.erase_us / (wordline * flash.word_lines)


def programs(flash: Flash, sequential: float, random: float) -> tuple[float, float]:
    """Return A and c that give a random rate, by fixed point."""
    wordline = wordline_us(flash, sequential)
    share, cost = sequential / (flash.data_share * random), 0.0
    found = share
    for _ in range(ROUNDS_MAX):
        cost = collecting(flash, wordline, found)
        before, found = found, share / (1.0 + cost)
        if abs(found / before - 1.0) < 1e-12:
            break
    return found, cost


def alpha_of(amplified: float) -> float:
    """Return the space for data over the capacity at which greedy collection amplifies so.

    The exact inverse of `amplified`.

    >>> round(alpha_of(1.8), 4)
    1.4597
    """
    return -amplified * math.log1p(-1.0 / amplified)


def amplified_of(alpha: float) -> float:
    """Return `alpha / (alpha + W(-alpha exp(-alpha)))`, what greedy collection makes of data.

    >>> round(amplified_of(alpha_of(1.8)), 9)
    1.8
    """
    return alpha / (alpha + lambert_w0(-alpha * math.exp(-alpha)))


def separated(alpha: float, share: float) -> float:
    """Return the space for data over what is written, if a static share is kept apart in full.

    >>> [round(amplified_of(separated(1.4635, share)), 3) for share in (0.2, 0.4, 0.6, 0.8)]
    [1.586, 1.385, 1.197, 1.043]
    """
    return (alpha - share) / (1.0 - share)


def solve(flash: Flash, sequential: float, random: float) -> Solution:
    """Return what follows from the rates, in bytes a second.

    Raises:
        ConfigError: for rates that no over-provisioning gives.
    """
    found, cost = programs(flash, sequential, random)
    amplified = found * flash.data_share
    least, most = (amplified_of(alpha) for alpha in reversed(ALPHA_RANGE))
    arithmetic = (
        f"{sequential / 1e6:.4g} MB/s over {random / 1e6:.4g} MB/s, over {1 + cost:.4g} for reads "
        f"and erases of collections, are {amplified:.4g} pages written for one of the host"
    )
    if not least <= amplified <= most:
        low, high = ALPHA_RANGE
        if least <= amplified / 1000 <= most:
            arithmetic += ", right for a rate in thousands"
        raise ConfigError(
            "--rand-write",
            f"{arithmetic}; accepted: {least:.3g} to {most:.3g}, which {high} to {low} times the "
            "capacity for data give",
        )
    return clamped(flash, sequential, random)


def clamped(flash: Flash, sequential: float, random: float) -> Solution:
    """Return what follows from the rates, with the nearest space for data that a drive may have."""
    found, cost = programs(flash, sequential, random)
    low, high = ALPHA_RANGE
    alpha = min(max(alpha_of(max(found * flash.data_share, 1.0 + 1e-9)), low), high)
    return Solution(wordline_us(flash, sequential), cost, found, alpha)


def rate_at(flash: Flash, sequential: float, alpha: float) -> Solution:
    """Return the solution of a given space for data: for sheets that rate an empty drive."""
    found = amplified_of(alpha) / flash.data_share
    wordline = wordline_us(flash, sequential)
    return Solution(wordline, collecting(flash, wordline, found), found, alpha)
