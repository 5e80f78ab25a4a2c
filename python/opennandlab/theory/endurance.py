"""How long a drive lasts: terabytes written, drive writes per day, and limits of its class.

Wear efficiency is mean erase count / maximum erase count at the end of life: a drive dies with its
most worn block, so uneven wear wastes the rest. Decimal units: 1 TB = 10^12 bytes.

Sources: JEDEC JESD218 (endurance requirements; UBER) and JESD219 (workloads); the class limits are
those of JESD218, recalled and not checked against the paid text.
"""

from __future__ import annotations

from dataclasses import dataclass

from opennandlab.theory._check import (
    require_at_least,
    require_positive,
    require_share,
)

DAYS_PER_YEAR = 365.0


@dataclass(frozen=True)
class DriveClass:
    """What a class of drives must meet.

    Example:
        >>> DRIVE_CLASSES["client"].uber_max
        1e-15
    """

    uber_max: float
    """Uncorrectable data errors per bit read, at most."""
    functional_failure_max: float
    """Share of drives that may fail within the rated life, at most."""
    hours_per_day: float
    """Powered and writing."""
    retention_days: float
    """Data kept without power at the end of life."""
    retention_celsius: float
    """At this temperature."""


# JESD218, as generally quoted: 8 h a day and one year at 30 C; 24 h a day and three months at 40 C.
DRIVE_CLASSES: dict[str, DriveClass] = {
    "client": DriveClass(1e-15, 0.03, 8.0, 365.0, 30.0),
    "enterprise": DriveClass(1e-16, 0.03, 24.0, 91.0, 40.0),
}


def tbw_bytes(
    physical_bytes: float, pe_cycles: float, waf: float, wear_efficiency: float = 1.0
) -> float:
    """Return the bytes that a host can write until the most worn block is at its limit.

    Args:
        physical_bytes: capacity of all good blocks.
        pe_cycles: program/erase cycles that a block stands.
        waf: pages programmed per host page.
        wear_efficiency: mean / maximum erase count at the end of life, above 0, at most 1.

    Returns:
        `physical capacity * P/E limit * wear efficiency / WAF`, in bytes.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        JESD218 usage; conservation of pages.

    Example:
        >>> tbw_bytes(1.024e12, 3000, 2.0) / 1e12
        1536.0
    """
    physical = require_positive("physical_bytes", physical_bytes)
    cycles = require_positive("pe_cycles", pe_cycles)
    amplification = require_at_least("waf", waf, 1.0)
    efficiency = require_positive("wear_efficiency", wear_efficiency)
    require_share("wear_efficiency", efficiency)
    return physical * cycles * efficiency / amplification


def drive_writes_per_day(tbw: float, user_bytes: float, years: float) -> float:
    """Return DWPD: full overwrites per day that use up the endurance in the warranty time.

    Args:
        tbw: bytes that the host can write, see `tbw_bytes`.
        user_bytes: capacity that the host can address.
        years: warranty time.

    Returns:
        `TBW / (user capacity * 365 * years)`.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        The definition in general use.

    Example:
        >>> round(drive_writes_per_day(1536e12, 960e9, 5), 3)
        0.877
    """
    written = require_positive("tbw", tbw)
    capacity = require_positive("user_bytes", user_bytes)
    return written / (capacity * DAYS_PER_YEAR * require_positive("years", years))


def lifetime_days(tbw: float, bytes_per_day: float) -> float:
    """Return the days until the endurance is used up at a steady rate.

    Args:
        tbw: bytes that the host can write, see `tbw_bytes`.
        bytes_per_day: bytes that the host writes a day.

    Returns:
        Days.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        The definition.

    Example:
        >>> lifetime_days(1536e12, 1e12)
        1536.0
    """
    return require_positive("tbw", tbw) / require_positive("bytes_per_day", bytes_per_day)


def meets_class(uber: float, drive_class: str) -> bool:
    """Return whether an uncorrectable bit error rate is good enough for a class of drives.

    Args:
        uber: uncorrectable data errors per bit read.
        drive_class: `client` or `enterprise`.

    Returns:
        True when it does not exceed the class limit.

    Raises:
        ValueError: when the class is unknown or the rate is not a probability.

    Source:
        JESD218.

    Example:
        >>> meets_class(5e-16, "client"), meets_class(5e-16, "enterprise")
        (True, False)
    """
    if drive_class not in DRIVE_CLASSES:
        message = f"drive_class is {drive_class!r}; accepted: {', '.join(DRIVE_CLASSES)}"
        raise ValueError(message)
    return require_share("uber", uber) <= DRIVE_CLASSES[drive_class].uber_max
