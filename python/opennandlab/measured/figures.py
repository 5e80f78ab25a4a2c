"""Numbers of a table as they are written: the decimal mark, and the thousands separator.

`1,306` is 1306 in one country and 1.306 in another. In a table whose columns are separated by
commas, a comma in quotes separates thousands. In other tables the mark follows from a number that
can be read in only one way, such as `2455,25` or `55,340.5`; without such a one nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# Separators of thousands that are no decimal marks: spaces (narrow and no-break too), apostrophes.
SPACED = re.compile("\\d{1,3}(?:[ \u00a0\u202f'\u2019]\\d{3})+(?:[.,]\\d+)?")
SPACES = re.compile("[ \u00a0\u202f'\u2019]")
BY_COMMAS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
BY_DOTS = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?")
COMMA_DECIMALS = re.compile(r"\d+,\d+|\d{1,3}(?:\.\d{3})+,\d+")
DOT_DECIMALS = re.compile(r"\d+\.\d+|\d{1,3}(?:,\d{3})+\.\d+")


class Ambiguous(ValueError):  # noqa: N818 (the reason of another error)
    """A number that may be read in two ways."""


def decimal_mark(texts: Iterable[str], *, parted_by_commas: bool) -> str | None:
    """Return the decimal mark of a table; None if it does not follow from its numbers.

    Args:
        texts: Its numbers, as they are written.
        parted_by_commas: Whether its columns are separated by commas.

    >>> decimal_mark(["1.306,5", "55.340"], parted_by_commas=False)
    ','
    >>> decimal_mark(["1,306", "55340"], parted_by_commas=False) is None
    True
    """
    if parted_by_commas:
        return "."
    found = {mark for text in texts if (mark := _mark_of(_unspaced(text.strip())))}
    return found.pop() if len(found) == 1 else None


def _mark_of(text: str) -> str | None:
    """Return the decimal mark of a number that can be read in only one way; None for others."""
    if COMMA_DECIMALS.fullmatch(text) and not BY_COMMAS.fullmatch(text):
        return ","
    if DOT_DECIMALS.fullmatch(text) and not BY_DOTS.fullmatch(text):
        return "."
    return None


def number(text: str, mark: str | None) -> float:
    """Return the number of a text.

    Args:
        text: The number as the table has it.
        mark: The decimal mark; None if the table does not decide it.

    Raises:
        Ambiguous: for a number that may be read in two ways.
        ValueError: for what is no number.

    >>> number("55.340", ","), number("1,306.5", "."), number("1 306,5", ","), number("1e3", None)
    (55340.0, 1306.5, 1306.5, 1000.0)
    """
    digits = _unspaced(text.strip())
    if mark == ",":
        if "." in digits and not BY_DOTS.fullmatch(digits):
            raise ValueError(text)
        return float(digits.replace(".", "").replace(",", "."))
    if mark is None and (BY_COMMAS.fullmatch(digits) or BY_DOTS.fullmatch(digits)):
        whole = digits.replace(",", "").replace(".", "")
        raise Ambiguous(f"may be {whole}, or have decimals")
    if "," in digits:
        if not BY_COMMAS.fullmatch(digits):
            raise ValueError(text)
        digits = digits.replace(",", "")
    return float(digits)


def _unspaced(text: str) -> str:
    return SPACES.sub("", text) if SPACED.fullmatch(text) else text
