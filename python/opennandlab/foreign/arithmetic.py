"""Numbers of C headers: decimal literals, + - * / and parentheses, KB, MB and GB, names of others.

No text of a file is ever run, a small parser reads it. Whole numbers stay whole, and are divided
as C divides them.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from fractions import Fraction

# Tokens of a text, and names inside of names.
TOKENS_MAX = 200
DEPTH_MAX = 20
DIGITS_MAX = 24
LARGEST = 1 << 64
TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\.\d*|\.\d+|\d+)(?P<suffix>[uUlLfF]*)(?!\w)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<sign>[-+*/()]))"
)
UNITS = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
ACCEPTED = "numbers, + - * / ( ), KB( ), MB( ), GB( ), and names of such"
Number = int | Fraction


def evaluated(text: str, names: Callable[[str], str | None]) -> Number:
    """Return the value of a text.

    Args:
        text: Such as `NAND_CHANNELS * KB(32)`.
        names: Gives the text of a name; None for one that does not exist.

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

    parser = _Parser(text.strip(), look_up)
    found = parser.sum(0, 0)
    if parser.tokens:
        raise ValueError(ACCEPTED)
    return found


class _Parser:
    def __init__(self, text: str, look_up: Callable[[str], Number]) -> None:
        self.look_up = look_up
        # Reversed: the next is the last.
        self.tokens: list[re.Match[str]] = []
        place = 0
        while place < len(text):
            found = TOKEN.match(text, place)
            if found is None or len(self.tokens) >= TOKENS_MAX:
                raise ValueError(ACCEPTED)
            self.tokens.append(found)
            place = found.end()
        self.tokens.reverse()

    def sum(self, rank: int, depth: int) -> Number:
        """Return the value of what follows, as far as signs bind as fast as `rank` or faster."""
        if depth > DEPTH_MAX:
            raise ValueError(f"parentheses and signs up to {DEPTH_MAX} deep")
        found = self.one(depth)
        while self.tokens and (sign := self.tokens[-1].group("sign")) in SIGNS:
            of_sign, combined = SIGNS[sign]
            if of_sign < rank:
                break
            self.tokens.pop()
            found = _bounded(combined(found, self.sum(of_sign + 1, depth)))
        return found

    def one(self, depth: int) -> Number:
        if not self.tokens:
            raise ValueError(ACCEPTED)
        number, _, name, sign = self.tokens.pop().groups()
        if number:
            if len(number) > DIGITS_MAX:
                raise ValueError(f"numbers of up to {DIGITS_MAX} digits")
            return Fraction(number) if "." in number else int(number)
        if name:
            if name in UNITS and self.tokens and self.tokens[-1].group("sign") == "(":
                self.tokens.pop()
                return _bounded(UNITS[name] * self.closed(depth))
            return self.look_up(name)
        if sign in "+-":
            found = self.sum(2, depth + 1)
            return -found if sign == "-" else found
        if sign == "(":
            return self.closed(depth)
        raise ValueError(ACCEPTED)

    def closed(self, depth: int) -> Number:
        found = self.sum(0, depth + 1)
        if not self.tokens or self.tokens.pop().group("sign") != ")":
            raise ValueError(ACCEPTED)
        return found


def _divided(one: Number, other: Number) -> Number:
    if other == 0:
        raise ValueError("no division by 0")
    quotient = Fraction(one) / other
    return int(quotient) if isinstance(one, int) and isinstance(other, int) else quotient


def _bounded(found: Number) -> Number:
    if not -LARGEST <= found <= LARGEST:
        raise ValueError("numbers up to 2^64")
    return found


# Rank (the higher binds first) and operation.
SIGNS: dict[str, tuple[int, Callable[[Number, Number], Number]]] = {
    "+": (0, operator.add),
    "-": (0, operator.sub),
    "*": (1, operator.mul),
    "/": (1, _divided),
}
