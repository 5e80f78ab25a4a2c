"""Numbers and sizes as a person would write them; what is not known has a sign."""

from __future__ import annotations

import math

# Fewer digits than this and the drift of a WAF between runs would not show.
DIGITS = 4
# The least number that has a thousand when it is rounded to these digits.
THOUSAND = 999.95
NOTHING = "-"


def number(value: object) -> str:
    """Write a number to four digits, as a person would; counts keep all of theirs, thousands apart.

    >>> number(7.5974321), number(4618.3), number(262144), number(1.5e-16), number(None)
    ('7.597', '4 618', '262 144', '1.5e-16', '-')
    >>> number(999.97), number(1e300), number(0.9299999999999999)
    ('1 000', '1e+300', '0.93')
    """
    if value is None:
        return NOTHING
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) or (value == int(value) and abs(value) < 1e15):
        return f"{int(value):,}".replace(",", " ")
    if THOUSAND <= abs(value) < 1e15:
        return f"{round(value):,}".replace(",", " ")
    return f"{value:.{DIGITS}g}"


def size(count: float | None) -> str:
    """Write a byte count with a binary unit.

    >>> size(32 * 2**30), size(1000)
    ('32 GiB', '1000 B')
    """
    if count is None:
        return NOTHING
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:.{DIGITS}g} {unit}"
