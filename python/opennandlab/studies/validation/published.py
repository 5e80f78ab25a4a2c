"""Tables that others measured on drives, as data, and how far a simulated table is from one.

    CLIENT_IOPS ...   figures of the SNIA PTS tutorial, E. Kim and E. Ho, 2013
    DRIVES_2009       figures of the SNIA NAND performance tutorial, L. Smith, 2009

Both tutorials keep quiet about which drives they measured. Errors are relative: simulated over
measured, less one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PTS_TUTORIAL = "SNIA PTS tutorial, E. Kim and E. Ho, 2013"
NAND_TUTORIAL = "SNIA NAND performance tutorial, L. Smith, 2009"

READ_PCTS = (0, 5, 35, 50, 65, 95, 100)
"""Shares of reads in percent: columns of the IOPS table.

The tutorial prints the columns 65/35 and 35/65 in each other's place: only when they are exchanged
do figures grow with the share of reads, and is the loss per change of direction the same for both.
"""

CLIENT_IOPS: Mapping[float, tuple[float, ...]] = {
    0.5: (49053.4, 32137.8, 21205.1, 21452.2, 22868.5, 45001.1, 112880.9),
    4: (62079.1, 27433.1, 18450.9, 18515.8, 19760.5, 37734.1, 70630.4),
    8: (32683.6, 16954.9, 11394.2, 11547.9, 11968.9, 22078.8, 45403.6),
    16: (16306.5, 10776.8, 7430.6, 7536.9, 7756.2, 12587.9, 26747.9),
    32: (8137.5, 6903.3, 4821.4, 4894.0, 5156.5, 7500.5, 15215.7),
    64: (4070.8, 4097.6, 2980.1, 3044.3, 3218.5, 4650.9, 8169.2),
    128: (2034.1, 2113.2, 1830.5, 1912.9, 2034.1, 2827.4, 4224.2),
    1024: (253.4, 263.6, 293.6, 317.5, 352.9, 474.9, 540.6),
}
"""Random I/O per second of a client drive, by block size in KiB and share of reads."""

CLIENT_MB_S = {"write": 241.5, "read": 532.6}
"""Sequential throughput of the same drive in requests of 1 MiB."""

LATENCY_READ_PCTS = (0, 65, 100)

CLIENT_LATENCY_MS: Mapping[float, tuple[float, float, float]] = {
    0.5: (0.20, 0.24, 0.13),
    4: (0.19, 0.24, 0.14),
    8: (0.29, 0.42, 0.19),
}
"""Mean response time with one request outstanding, by block size in KiB and share of reads."""


@dataclass(frozen=True)
class Drive2009:
    """What is published of a drive of 2009, root mean squares over five mixes.

    Example:
        >>> DRIVES_2009["sata_b_2009"].mb_s
        208.0
    """

    k_iops: float
    mb_s: float


DRIVES_2009: Mapping[str, Drive2009] = {
    "sata_a_2009": Drive2009(8.0, 56.0),
    "sata_b_2009": Drive2009(27.0, 208.0),
    "pci_c_2009": Drive2009(88.0, 743.0),
}
"""By preset. The tutorial names neither request sizes nor queue depths."""

MIXES_2009 = (100, 75, 50, 25, 0)
"""Shares of reads in percent of the 2009 tutorial."""


def root_mean_square(values: Sequence[float]) -> float:
    """Return the root of the mean square.

    Args:
        values: at least one number.

    Returns:
        The root.

    Example:
        >>> root_mean_square([3.0, 4.0, 5.0]) == math.sqrt(50.0 / 3.0)
        True
    """
    return math.sqrt(math.fsum(value * value for value in values) / len(values))


@dataclass(frozen=True)
class Errors:
    """How far a simulated table is from a measured one.

    Example:
        >>> Errors.between([1.0, 2.0], [1.1, 1.6]).worst
        -0.2
    """

    mean: float
    """Mean of the signed relative errors."""
    rms: float
    """Root mean square of the relative errors."""
    worst: float
    """The one of the largest size, with its sign."""

    @classmethod
    def between(cls, measured: Sequence[float], simulated: Sequence[float]) -> Errors:
        """Compare cell by cell.

        Args:
            measured: the published figures, none of them zero.
            simulated: ours, in the same order.

        Returns:
            The errors.

        Raises:
            ValueError: when the tables differ in length or are empty.
        """
        if len(measured) != len(simulated) or not measured:
            raise ValueError(f"tables of {len(measured)} and {len(simulated)} cells")
        pairs = zip(measured, simulated, strict=True)
        errors = [round(ours / theirs - 1.0, 12) for theirs, ours in pairs]
        return cls(math.fsum(errors) / len(errors), root_mean_square(errors), max(errors, key=abs))
