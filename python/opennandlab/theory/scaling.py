"""How performance scales: one figure for five mixes, units added, mixes predicted, blocks resized.

The SNIA NAND performance tutorial (L. Smith, 2009) compares devices by the root mean square of
their rates at 100/0, 75/25, 50/50, 25/75 and 0/100 reads to writes, plots it against the number of
devices, plain and normalised, gives it per watt, and plots 75/25 rates against block size. It
states no formulas; those here are ours, the plainest that give its units.

A rate is MB/s (10^6 bytes) or IOPS; each function keeps the unit it is given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from opennandlab.theory._check import (
    require_at_least,
    require_count,
    require_positive,
    require_share,
)

# 512 B to 1 MiB in powers of two.
BLOCK_SIZES = tuple(512 << power for power in range(12))


def rms(rates: Sequence[float]) -> float:
    """Return the root mean square of rates, each mix counting alike.

    Args:
        rates: one rate per mix, at least one.

    Returns:
        `sqrt(sum(x^2) / m)`, in the unit of the rates.

    Raises:
        ValueError: when there is no rate, or one is negative or infinite.

    Source:
        The tutorial's "RMS" of IOPS and of bandwidth; mean square not weighted.

    Example:
        >>> rms([3.0, 4.0, 5.0])
        4.08248290463863
    """
    values = [require_at_least("rate", rate, 0.0) for rate in rates]
    if not values:
        raise ValueError("rates is empty; accepted: at least one rate")
    return math.sqrt(math.fsum(value * value for value in values) / len(values))


def normalised_rms(rates: Sequence[float], rates_of_one: Sequence[float]) -> float:
    """Return the RMS of several units in multiples of that of one.

    Args:
        rates: the mixes of k units together.
        rates_of_one: the same mixes of one unit.

    Returns:
        `RMS(k) / RMS(1)`; k when units do not hinder each other.

    Raises:
        ValueError: when the numbers of mixes differ, or one unit has no rate.

    Source:
        The tutorial's "normalised RMS v scale".

    Example:
        >>> normalised_rms([300.0, 150.0], [100.0, 50.0])
        3.0
    """
    if len(rates) != len(rates_of_one):
        message = f"rates has {len(rates)} mixes and rates_of_one {len(rates_of_one)}; "
        raise ValueError(message + "accepted: the same mixes for both")
    return rms(rates) / require_positive("RMS of one unit", rms(rates_of_one))


def scaling_efficiency(rates: Sequence[float], rates_of_one: Sequence[float], units: int) -> float:
    """Return which share of k times one unit is reached.

    Args:
        rates: the mixes of k units together.
        rates_of_one: the same mixes of one unit.
        units: k.

    Returns:
        `RMS(k) / (k RMS(1))`; 1 when units do not hinder each other.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Definition of parallel efficiency, applied to the tutorial's normalised RMS.

    Example:
        >>> scaling_efficiency([300.0, 150.0], [100.0, 50.0], 4)
        0.75
    """
    return normalised_rms(rates, rates_of_one) / require_count("units", units, 1)


def rms_per_watt(rates: Sequence[float], watts: float) -> float:
    """Return the RMS of the mixes per watt.

    Args:
        rates: one rate per mix.
        watts: mean power over the same mixes.

    Returns:
        Rate per watt.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        The tutorial's "K-IOPS (RMS) / watt".

    Example:
        >>> rms_per_watt([24.0, 24.0], 8.0)
        3.0
    """
    return rms(rates) / require_positive("watts", watts)


def mixed_rate(read_share: float, read_rate: float, write_rate: float) -> float:
    """Return the rate of a mix when reads and writes only take turns.

    Args:
        read_share: r, share of the bytes (for MB/s) or of the requests (for IOPS) that read.
        read_rate: rate at 100/0.
        write_rate: rate at 0/100.

    Returns:
        `1 / (r / B_R + (1 - r) / B_W)`, the weighted harmonic mean.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Times add: a unit of the mix takes r of the time of a read and 1 - r of that of a write.

    Example:
        >>> mixed_rate(0.5, 300.0, 100.0)
        150.0
    """
    share = require_share("read_share", read_share)
    reads = share / require_positive("read_rate", read_rate)
    return 1.0 / (reads + (1.0 - share) / require_positive("write_rate", write_rate))


def mixed_efficiency(rate: float, read_share: float, read_rate: float, write_rate: float) -> float:
    """Return how a measured mix compares with reads and writes taking turns.

    Args:
        rate: the measured rate of the mix.
        read_share: r.
        read_rate: measured rate at 100/0.
        write_rate: measured rate at 0/100.

    Returns:
        Measured over `mixed_rate`. Below 1 reads and writes collide; above 1 they overlap.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        The tutorial's "read/write collisions", put as a number.

    Example:
        >>> mixed_efficiency(120.0, 0.5, 300.0, 100.0)
        0.8
    """
    measured = require_at_least("rate", rate, 0.0)
    return measured / mixed_rate(read_share, read_rate, write_rate)


def block_size_mb_s(page_mb_s: float, block_bytes: int, page_bytes: int) -> float:
    """Return the useful bandwidth of requests of one size when whole pages are moved.

    Args:
        page_mb_s: bandwidth of the same mix in whole pages.
        block_bytes: request size, aligned.
        page_bytes: p.

    Returns:
        `B bs / (p ceil(bs / p))`: full for multiples of the page, in proportion below it.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Whole pages are the least that moves. A write of part of a page costs a read more in a drive
        that merges it with the rest; that is left out.

    Example:
        >>> block_size_mb_s(400.0, 1024, 4096), block_size_mb_s(400.0, 6144, 4096)
        (100.0, 300.0)
    """
    rate = require_positive("page_mb_s", page_mb_s)
    block = require_count("block_bytes", block_bytes, 1)
    page = require_count("page_bytes", page_bytes, 1)
    return rate * block / (page * -(-block // page))


def block_size_iops(page_mb_s: float, block_bytes: int, page_bytes: int) -> float:
    """Return the requests per second that `block_size_mb_s` means.

    Args:
        page_mb_s: bandwidth of the same mix in whole pages.
        block_bytes: request size, aligned.
        page_bytes: p.

    Returns:
        Requests per second: constant below the page, in inverse proportion above it.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        As `block_size_mb_s`.

    Example:
        >>> block_size_iops(400.0, 512, 4000), block_size_iops(400.0, 8000, 4000)
        (100000.0, 50000.0)
    """
    return block_size_mb_s(page_mb_s, block_bytes, page_bytes) * 1e6 / block_bytes


@dataclass(frozen=True)
class ScalingPoint:
    """Rates of some units at one mix and size.

    Args:
        units: Number of units.
        read_share: Share of the requests that read.
        block_bytes: Request size.
        iops: Requests a second, of all units.
        mb_s: MB of 10^6 bytes a second.
    """

    units: int
    read_share: float
    block_bytes: int
    iops: float
    mb_s: float


@dataclass(frozen=True)
class ScalingSweep:
    """All points of a sweep.

    Args:
        units: Numbers of units, ascending.
        sizes: Request sizes in bytes, ascending.
        points: The rates, by units, then size, then mix.
        queue_depth: Requests outstanding of each unit.
    """

    units: tuple[int, ...]
    sizes: tuple[int, ...]
    points: tuple[ScalingPoint, ...]
    queue_depth: int

    def rates(self, units: int, block_bytes: int) -> list[float]:
        """Return the IOPS of the five mixes."""
        return [
            one.iops for one in self.points if (one.units, one.block_bytes) == (units, block_bytes)
        ]

    def rms(self, units: int, block_bytes: int) -> float:
        """Return the root mean square of the five mixes, in requests a second."""
        return rms(self.rates(units, block_bytes))

    def normalised(self, units: int, block_bytes: int) -> float:
        """Return the RMS over that of the fewest units, times their number."""
        least = self.units[0]
        return self.rms(units, block_bytes) / self.rms(least, block_bytes) * least
