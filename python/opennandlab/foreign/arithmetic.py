"""Numbers of C headers: decimal literals, + - * / and parentheses, KB, MB and GB, names of others.

No text of a file is ever run, a small parser reads it. Whole numbers stay whole, and are divided
as C divides them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

# Tokens of a text, and names inside of names.
TOKENS_MAX = 200
DEPTH_MAX = 20
LARGEST = 1 << 64
TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\.\d*|\.\d+|\d+)(?P<suffix>[uUlLfF]*)(?!\w)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<sign>[-+*/()]))"
)
UNITS = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
ACCEPTED = "numbers, + - * / ( ), KB( ), MB( ), GB( ), and names of such"

Number = int | Fraction


class Arithmetic:
    """The value of one text.

    Args:
        text: Of it.
        look_up: Gives the value of a name; raises `ValueError` for one that has none.
    """

    def __init__(self, text: str, look_up: Callable[[str], Number]) -> None:
        """Cut the text into tokens."""
        self.look_up = look_up
        self.tokens: list[re.Match[str]] = []
        place = 0
        text = text.strip()
        while place < len(text):
            found = TOKEN.match(text, place)
            if found is None or len(self.tokens) >= TOKENS_MAX:
                raise ValueError(ACCEPTED)
            self.tokens.append(found)
            place = found.end()
        self.place = 0
        self.depth = 0

    def value(self) -> Number:
        """Return the value.

        Raises:
            ValueError: with the accepted form.
        """
        found = self._sum()
        if self.place < len(self.tokens):
            raise ValueError(ACCEPTED)
        return found

    def _next(self) -> re.Match[str] | None:
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def _takes(self, signs: str) -> str:
        found = self._next()
        sign = found.group("sign") if found else None
        if not sign or sign not in signs:
            return ""
        self.place += 1
        return sign

    def _sum(self) -> Number:
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise ValueError(f"parentheses up to {DEPTH_MAX} deep")
        found = self._product()
        while sign := self._takes("+-"):
            other = self._product()
            found = self._bounded(found + other if sign == "+" else found - other)
        self.depth -= 1
        return found

    def _product(self) -> Number:
        found: Number = self._one()
        while sign := self._takes("*/"):
            other: Number = self._one()
            if sign == "*":
                found = self._bounded(found * other)
            elif other == 0:
                raise ValueError("no division by 0")
            elif isinstance(found, int) and isinstance(other, int):
                quotient = abs(found) // abs(other)
                found = quotient if (found < 0) == (other < 0) else -quotient
            else:
                found = Fraction(found) / other
        return found

    def _one(self) -> Number:
        token = self._next()
        if token is None:
            raise ValueError(ACCEPTED)
        self.place += 1
        if sign := token.group("sign"):
            if sign in "+-":
                self.depth += 1
                if self.depth > DEPTH_MAX:
                    raise ValueError(f"signs up to {DEPTH_MAX} in a row")
                found = self._one()
                self.depth -= 1
                return found if sign == "+" else -found
            if sign == "(":
                return self._closed()
            raise ValueError(ACCEPTED)
        if name := token.group("name"):
            if name in UNITS and self._takes("("):
                return self._bounded(UNITS[name] * self._closed())
            return self.look_up(name)
        text = token.group("number")
        if len(text) > 24:
            raise ValueError("numbers of up to 24 digits")
        return Fraction(text) if "." in text else int(text)

    def _closed(self) -> Number:
        found = self._sum()
        if not self._takes(")"):
            raise ValueError(ACCEPTED)
        return found

    @staticmethod
    def _bounded(found: Number) -> Number:
        if not -LARGEST <= found <= LARGEST:
            raise ValueError("numbers up to 2^64")
        return found


def evaluated(text: str, names: Callable[[str], str | None]) -> Number:
    """Return the value of a text.

    Args:
        text: Such as `NAND_CHANNELS * KB(32)`.
        names: Gives the text of a name; None for one that there is not.

    Raises:
        ValueError: with the accepted form.

    >>> evaluated("(FLASH * 2) / 3", {"FLASH": "KB(32ull)"}.get)
    21845
    """
    return _evaluated(text, names, (), [0])


def _evaluated(
    text: str, names: Callable[[str], str | None], inside: tuple[str, ...], steps: list[int]
) -> Number:
    def look_up(name: str) -> Number:
        steps[0] += 1
        found = names(name)
        if found is None:
            raise ValueError(f"{ACCEPTED}; `{name}` is none")
        if name in inside or len(inside) >= DEPTH_MAX or steps[0] > TOKENS_MAX:
            raise ValueError(f"names that do not lead to themselves, as `{name}` does")
        return _evaluated(found, names, (*inside, name), steps)

    return Arithmetic(text, look_up).value()
