"""How numbers, sizes, times and mixes are written in a report: one place, so that pages agree."""

from __future__ import annotations

import math
import re

from opennandlab.base.words import number

NOTHING = "n/a"
# By the code of a device (PRE_EOL_INFO of JESD84-B51, bPreEOLInfo of JESD220).
RESERVES = {1: "below 80 % used", 2: "80 % used", 3: "90 % used"}

__all__ = [
    "NOTHING", "RESERVES", "binary", "block", "byte_unit", "capacity", "file_name", "kib",
    "life_used", "metric", "mix", "number", "padded", "span",
    "time_unit", "value",
]  # fmt: skip


def value(amount: object, digits: int | None = None) -> str:
    """Write a cell of a table.

    Args:
        amount: A number, words, or None.
        digits: Decimals; None for four digits in all.

    >>> value(49053.42, 1), value(0.19, 2), value(1929.3), value(None), value("never")
    ('49 053.4', '0.19', '1 929', 'n/a', 'never')
    >>> value(0.19), value(213.96), value(12.0)
    ('0.1900', '214.0', '12')
    """
    if amount is None:
        return NOTHING
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        return str(amount)
    if isinstance(amount, float) and not math.isfinite(amount):
        return number(amount) if digits is None else NOTHING
    if digits is None:
        return number(amount) if amount == int(amount) else padded(amount)
    return f"{amount:,.{digits}f}".replace(",", " ")


def padded(amount: float, digits: int = 4) -> str:
    """Write a number to so many digits, zeros at its end too; thousands apart.

    >>> padded(1.0), padded(1929.3), padded(0.00012346), padded(1.5e-16), padded(52345.6)
    ('1.000', '1 929', '0.0001235', '1.500e-16', '52 346')
    >>> padded(1.0, 3)
    '1.00'
    """
    if abs(amount) >= 999.95:
        return f"{amount:,.0f}".replace(",", " ") if abs(amount) < 1e15 else number(amount)
    return f"{amount:#.{digits}g}"


def block(size_bytes: float | None) -> str:
    """Write a block size in KiB, as the standard does up to 1024 KiB.

    >>> block(512), block(4096), block(1048576), block(None)
    ('0.5 KiB', '4 KiB', '1024 KiB', 'mixed sizes')
    """
    return "mixed sizes" if size_bytes is None else f"{size_bytes / 1024:g} KiB"


def kib(size_bytes: float | None) -> str:
    """Write a block size as a bare number of KiB."""
    return "mixed" if size_bytes is None else f"{size_bytes / 1024:g}"


def mix(read_pct: float | None) -> str:
    """Write a mix as reads / writes.

    >>> mix(65.0), mix(None)
    ('65/35', '?')
    """
    return "?" if read_pct is None else f"{read_pct:g}/{100 - read_pct:g}"


def capacity(size_bytes: float | None) -> str:
    """Write a capacity in decimal units, as drives are sold, with the binary ones behind.

    >>> capacity(34359738368)
    '34.36 GB (32 GiB)'
    """
    if size_bytes is None:
        return NOTHING
    return f"{_scaled(size_bytes, 1000, ('B', 'kB', 'MB', 'GB', 'TB'))} ({binary(size_bytes)})"


def binary(size_bytes: float | None) -> str:
    """Write a byte count with a binary unit."""
    if size_bytes is None:
        return NOTHING
    return _scaled(size_bytes, 1024, ("B", "KiB", "MiB", "GiB", "TiB"))


def _scaled(count: float, base: int, units: tuple[str, ...]) -> str:
    size = float(count)
    unit = units[0]
    for unit in units:
        if abs(size) < base or unit == units[-1]:
            break
        size /= base
    return f"{size:.4g} {unit}"


def span(seconds: float | None) -> str:
    """Write a length of time.

    >>> span(0.2), span(75), span(15300), span(0.0004)
    ('200 ms', '75 s', '4 h 15 min', '400 µs')
    """
    if seconds is None:
        return NOTHING
    if 0 < abs(seconds) < 1e-3:
        return f"{seconds * 1e6:.4g} µs"
    if 0 < abs(seconds) < 1:
        return f"{seconds * 1e3:.4g} ms"
    if abs(seconds) < 600:
        return f"{seconds:.4g} s"
    whole = round(seconds / 60)
    return f"{whole} min" if whole < 60 else f"{whole // 60} h {whole % 60:02d} min"


def time_unit(seconds: float) -> tuple[str, float]:
    """Return the unit in which a span of this length is drawn, and its length in seconds."""
    if seconds < 0.5:
        return "ms", 1e-3
    if seconds < 600:
        return "s", 1.0
    if seconds < 6 * 3600:
        return "min", 60.0
    return "h", 3600.0


def byte_unit(count: float) -> tuple[str, float]:
    """Return the decimal unit in which so many bytes are drawn, and its size in bytes."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= 2 * size:
            return unit, size
    return "kB", 1e3


# Metrics of cells: what a plot calls them, and the factor from the document's unit to that one.
METRICS = {
    "iops": ("IOPS", 1.0),
    "read_iops": ("read IOPS", 1.0),
    "write_iops": ("write IOPS", 1.0),
    "mb_s": ("MB/s", 1.0),
    "read_mb_s": ("MB/s read", 1.0),
    "write_mb_s": ("MB/s written", 1.0),
    "lat_us_mean": ("ART, ms", 1e-3),
    "lat_us_p50": ("median response time, ms", 1e-3),
    "lat_us_p99": ("99 % response time, ms", 1e-3),
    "lat_us_p999": ("99.9 % response time, ms", 1e-3),
    "lat_us_p9999": ("99.99 % response time, ms", 1e-3),
    "lat_us_p99999": ("99.999 % response time, ms", 1e-3),
    "lat_us_max": ("MRT, ms", 1e-3),
    "waf": ("WAF", 1.0),
    "cpu_pct": ("CPU, %", 1.0),
}


def metric(name: str) -> tuple[str, float]:
    """Return label and factor of a metric; an unknown one speaks for itself."""
    return METRICS.get(name, (name or "value", 1.0))


def life_used(code: int | None) -> str:
    """Write the share of its life that an eMMC or a UFS device estimates, by its code.

    >>> life_used(3), life_used(11), life_used(None)
    ('20 to 30 %', 'exceeded', 'unknown')
    """
    if code is None:
        return "unknown"
    return "exceeded" if code > 10 else f"{10 * (code - 1)} to {10 * code} %"


def file_name(name: str) -> str:
    """Return a name as a file may be called.

    >>> file_name("a/b c"), file_name("..")
    ('a-b-c', 'table')
    """
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")[:80] or "table"
