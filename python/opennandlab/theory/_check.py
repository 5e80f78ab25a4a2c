"""Refusals with the offending value in them: every public function checks what it is given.

A closed form evaluated outside its range returns a plausible number that is wrong, so each formula
states its range here, once, and callers see the value and what would have been accepted.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import SupportsIndex

# More of anything than there is; every product of it with a rate is a number.
COUNT_MAX = 10**18


def require_open_share(name: str, value: float) -> float:
    """Return a share strictly between 0 and 1; raise `ValueError` for anything else."""
    return _accepted(
        name, value, "a number greater than 0 and less than 1", lambda it: 0.0 < it < 1.0
    )


def require_share(name: str, value: float) -> float:
    """Return a share from 0 to 1, both included; raise `ValueError` for anything else."""
    return _accepted(name, value, "a number from 0 to 1", lambda it: 0.0 <= it <= 1.0)


def require_positive(name: str, value: float) -> float:
    """Return a finite number greater than 0; raise `ValueError` for anything else."""
    return _accepted(name, value, "a finite number greater than 0", lambda it: 0.0 < it < math.inf)


def require_at_least(name: str, value: float, minimum: float) -> float:
    """Return a finite number not below a minimum; raise `ValueError` for anything else."""
    accepted = f"a finite number of at least {minimum}"
    return _accepted(name, value, accepted, lambda it: minimum <= it < math.inf)


def require_count(name: str, value: SupportsIndex, minimum: int, maximum: int | None = None) -> int:
    """Return a whole number in a range.

    Args:
        name: what the value is called in the message.
        value: the count; any integer type, no float.
        minimum: the smallest accepted value.
        maximum: the largest accepted value; None for `COUNT_MAX`.

    Returns:
        The count as a Python int.

    Raises:
        ValueError: when it is not an integer or is outside.
    """
    limit = "" if maximum is None else f" and at most {maximum}"
    message = f"{name} is {value!r}; accepted: an integer of at least {minimum}{limit}"
    if isinstance(value, bool):
        raise ValueError(message)  # noqa: TRY004 - one kind of error for every refusal
    try:
        count = operator.index(value)
    except TypeError:
        raise ValueError(message) from None
    if count < minimum or (maximum is not None and count > maximum):
        raise ValueError(message)
    if count > COUNT_MAX:
        message = f"{name} is {value}; accepted: an integer of at most 10^18"
        raise ValueError(message)
    return count


def _accepted(
    name: str, value: float, accepted: str, is_accepted: Callable[[float], bool]
) -> float:
    """Return a number that is accepted.

    Raises:
        ValueError: with name, value and accepted values.
    """
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        message = f"{name} is {value!r}; accepted: a number"
        raise ValueError(message) from None
    if not is_accepted(number):
        message = f"{name} is {value}; accepted: {accepted}"
        raise ValueError(message)
    return number
