"""Conditions on points: `ftl.over_provisioning_pct<0.2`, `verb=benchmark`, `waf>=2`.

A name is a column of every point (`verb`, `seed`, `status` …), else a coordinate, else a metric.
A metric of several parts stands for its total (`iops` for `iops.total`), and the last words of a
name for the whole of it, where only one name ends so.
"""

from __future__ import annotations

import difflib
import json
import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from opennandlab.base.errors import StoreError
from opennandlab.base.plain import is_number
from opennandlab.store.entry import Scalar

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
CONDITION = re.compile(r"\s*([^\s<>=!]+)\s*(<=|>=|!=|==|=|<|>)(.*)", re.DOTALL)
ACCEPTED = "NAME=VALUE, NAME!=VALUE, or a number after <, <=, > or >="
# Part of a metric that stands for all of it.
TOTAL = "total"
SHOWN_MAX = 12


@dataclass(frozen=True)
class Condition:
    """A condition on one name.

    Args:
        name: As it was typed.
        sign: One of `COMPARE`.
        value: What is compared with.
        text: The condition as it was typed.
    """

    name: str
    sign: str
    value: Scalar
    text: str

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read a condition.

        Raises:
            StoreError: for anything else.

        >>> Condition.parse("waf>=2").value, Condition.parse("ftl.gc_policy = greedy").value
        (2, 'greedy')
        """
        match = CONDITION.fullmatch(text)
        # A sign too many, as in `waf=>2`: a text that begins so is written in quotes.
        if match is None or match.group(3).strip()[:1] in {"", "<", ">", "=", "!"}:
            raise StoreError(f"the condition `{text}` is not valid; accepted: {ACCEPTED}")
        name, sign, value = match.group(1), match.group(2), match.group(3).strip()
        return cls(name, "=" if sign == "==" else sign, value_of(value), text)

    def of_number(self, name: str) -> None:
        """Refuse what no number can be.

        Raises:
            StoreError: for text.
        """
        if isinstance(self.value, bool | str):
            raise StoreError(
                f"the condition `{self.text}` is not valid: `{name}` is a number; "
                "accepted: a number, or null, after =, !=, <, <=, > or >="
            )

    def holds(self, found: Scalar) -> bool:
        """Return whether it holds for a value; unlike kinds are unequal, and in no order.

        >>> Condition.parse("x<2").holds(1.5), Condition.parse("x!=2").holds("a")
        (True, True)
        """
        wanted = self.value
        if is_number(found) and is_number(wanted):
            return COMPARE[self.sign](found, wanted)
        # Digits may be the name of something: 7450 is a model.
        if isinstance(found, str) and not isinstance(wanted, str):
            wanted = self.text_value
        if isinstance(found, str) and isinstance(wanted, str):
            return COMPARE[self.sign](found, wanted)
        is_same = type(found) is type(wanted) and found == wanted
        return {"=": is_same, "!=": not is_same}.get(self.sign, False)

    def test_of_numbers(self) -> Callable[[float], bool]:
        """Return the same as `holds`, for numbers alone and faster.

        >>> Condition.parse("waf>=2").test_of_numbers()(2.5)
        True
        """
        wanted = self.value
        if not isinstance(wanted, int | float) or isinstance(wanted, bool):
            return self.holds
        # The sides are changed, so that the number that is known comes first.
        turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(self.sign, self.sign)
        return partial(COMPARE[turned], wanted)

    @property
    def text_value(self) -> str:
        """The value as it was typed."""
        match = CONDITION.fullmatch(self.text)
        return "" if match is None else match.group(3).strip()


def value_of(text: str) -> Scalar:
    """Return what a value means: a number, `true`, `false`, `null`, or else text.

    >>> value_of("0.07"), value_of("1e3"), value_of("true"), value_of("greedy"), value_of('"1"')
    (0.07, 1000.0, True, 'greedy', '1')
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    is_kept = isinstance(value, str | bool | int) or value is None
    is_finite = isinstance(value, float) and math.isfinite(value)
    return value if is_kept or is_finite else text


def resolved(name: str, known: Sequence[str]) -> str | None:
    """Return the name that is meant; None where none is, or several could be.

    >>> resolved("iops", ["iops.read", "iops.total"]), resolved("p99", ["lat.p99", "waf"])
    ('iops.total', 'lat.p99')
    """
    if name in known:
        return name
    if f"{name}.{TOTAL}" in known:
        return f"{name}.{TOTAL}"
    ending = [one for one in known if one.endswith(f".{name}")]
    return ending[0] if len(ending) == 1 else None


def unknown(name: str, known: Iterable[str]) -> StoreError:
    """Return the error for a name that no point has."""
    names = list(dict.fromkeys(known))
    if several := [one for one in names if one.endswith(f".{name}") or one.startswith(f"{name}.")]:
        return StoreError(f"`{name}` could be {_listed(several)}; accepted: the whole name")
    near = difflib.get_close_matches(name, names, 1, cutoff=0.6)
    meant = f"; did you mean `{near[0]}`?" if near else ""
    return StoreError(f"no point has `{name}`; accepted: {_listed(names)}{meant}")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN_MAX} more" if len(names) > SHOWN_MAX else ""
    return ", ".join(names[:SHOWN_MAX]) + more


def equals(name: str, value: object) -> str:
    """Return the condition that a name has a value, as a user types it.

    >>> equals("sweep", "study"), equals("sweep", "12"), equals("ftl.op", 0.5)
    ('sweep=study', 'sweep="12"', 'ftl.op=0.5')
    >>> equals("sweep", "<b>")
    'sweep="<b>"'
    """
    if not isinstance(value, str):
        return f"{name}={json.dumps(value)}"
    # A text that begins with a sign would be read as one.
    begins_plain = value[:1] not in {"", "<", ">", "=", "!"}
    is_plain = value.strip() == value and value_of(value) == value and begins_plain
    return f"{name}={value}" if is_plain else f"{name}={json.dumps(value)}"
