"""How numbers of a table are written: which mark parts decimals, and which thousands.

`1,306` is 1306 in one country and 1.306 in another. In a table whose columns are parted by commas a
comma in quotes marks thousands. Elsewhere the table itself must tell, by a number that can only be
read in one way, such as `2455,25` or `55,340.5`; where it does not, nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# Marks of thousands that are none of decimals: spaces, narrow and protected ones too, apostrophes.
SPACED = re.compile("\\d{1,3}(?:[ \u00a0\u202f'\u2019]\\d{3})+(?:[.,]\\d+)?")
SPACES = re.compile("[ \u00a0\u202f'\u2019]")
BY_COMMAS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
BY_DOTS = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?")
COMMA_DECIMALS = re.compile(r"\d+,\d+|\d{1,3}(?:\.\d{3})+,\d+")
DOT_DECIMALS = re.compile(r"\d+\.\d+|\d{1,3}(?:,\d{3})+\.\d+")


class Ambiguous(ValueError):  # noqa: N818 (told as the reason of another error)
    """A number that may be read in two ways."""


def decimal_mark(texts: Iterable[str], *, parted_by_commas: bool) -> str | None:
    """Return the mark of decimals of a table; None where it does not tell.

    >>> decimal_mark(["1.306,5", "55.340"], parted_by_commas=False)
    ','
    >>> decimal_mark(["1,306", "55340"], parted_by_commas=False) is None
    True
    """
    if parted_by_commas:
        return "."
    found = {mark for text in texts if (mark := _told(_unspaced(text.strip())))}
    return found.pop() if len(found) == 1 else None


def _told(text: str) -> str | None:
    """Return the mark of decimals that one number tells."""
    if COMMA_DECIMALS.fullmatch(text) and not BY_COMMAS.fullmatch(text):
        return ","
    if DOT_DECIMALS.fullmatch(text) and not BY_DOTS.fullmatch(text):
        return "."
    return None


def number(text: str, mark: str | None) -> float:
    """Return the number of a text.

    Args:
        text: As it stands in the table.
        mark: Of decimals; None where the table does not tell.

    Raises:
        Ambiguous: for a number that may be read in two ways.
        ValueError: for what is no number.

    >>> number("55.340", ","), number("1,306.5", "."), number("1 306,5", ","), number("1e3", None)
    (55340.0, 1306.5, 1306.5, 1000.0)
    """
    said = _unspaced(text.strip())
    if mark == ",":
        if "." in said and not BY_DOTS.fullmatch(said):
            raise ValueError(text)
        return float(said.replace(".", "").replace(",", "."))
    if mark is None and (BY_COMMAS.fullmatch(said) or BY_DOTS.fullmatch(said)):
        whole = said.replace(",", "").replace(".", "")
        raise Ambiguous(f"may be {whole}, or have decimals")
    if "," in said:
        if not BY_COMMAS.fullmatch(said):
            raise ValueError(text)
        said = said.replace(",", "")
    return float(said)


def _unspaced(text: str) -> str:
    return SPACES.sub("", text) if SPACED.fullmatch(text) else text
