"""JSON that was cut off or damaged: the longest beginning that makes sense, with its ends closed.

A file that stops in the middle of a row keeps all whole rows before it:

```text
{"cells": {"rows": [[1, 2], [3,        ──►   {"cells": {"rows": [[1, 2], [3]]}}
```
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

OBJECT, COLON, COMMA = "{", ":", ","
CLOSERS = {OBJECT: "}", "[": "]"}
# Whole numbers from here on do not fit into arrays of 64 bits, nor do those of so many digits.
WHOLE_LIMIT = 1 << 63
DIGITS_MAX = 24
# A string, a bracket, a comma or colon, or a number or word; blanks are skipped.
TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+)', re.DOTALL)


def salvage(raw: bytes) -> tuple[Any, list[str]]:
    """Parse JSON, or as much of its beginning as there is.

    Args:
        raw: Content of a file.

    Returns:
        The value (None where nothing can be made of it), and what was wrong.
    """
    complaints: list[str] = []
    text = raw.decode("utf-8-sig", errors="replace")
    if "\N{REPLACEMENT CHARACTER}" in text:
        complaints.append("the file holds bytes that are not UTF-8 text")
    odd: list[str] = []
    numbers = _Numbers(odd)
    try:
        value = numbers.loads(text)
    except RecursionError:
        return None, ["nested too deeply"]
    except ValueError as error:
        place = getattr(error, "pos", len(text))
        # The message of the parser names line and column.
        complaints.append(f"the file is damaged or cut off ({error}); what follows is lost")
        try:
            value = numbers.loads(closed(text[:place]))
        except (ValueError, RecursionError):
            return None, complaints
    if odd:
        many = "1 number is" if len(odd) == 1 else f"{len(odd)} numbers are"
        complaints.append(f"{many} {', '.join(sorted(set(odd)))}")
    return value, complaints


@dataclass(frozen=True)
class _Numbers:
    """Numbers of JSON: finite and of at most 64 bits; others are null and noted in `odd`."""

    odd: list[str]

    def loads(self, text: str) -> Any:  # noqa: ANN401 (any JSON)
        self.odd.clear()
        return json.loads(
            text, parse_constant=self.odd.append, parse_int=self._whole, parse_float=self._real
        )

    def _whole(self, text: str) -> int | None:
        if len(text) < DIGITS_MAX and abs(number := int(text)) < WHOLE_LIMIT:
            return number
        self.odd.append(text if len(text) < DIGITS_MAX else "too large")
        return None

    def _real(self, text: str) -> float | None:
        number = float(text)
        if math.isfinite(number):
            return number
        self.odd.append(text if len(text) < DIGITS_MAX else "too large")
        return None


def closed(text: str) -> str:
    """Return the longest beginning of `text` that can be closed, closed.

    >>> closed('{"a": [1, 2], "b": [3, {"c": 4, "d')
    '{"a": [1, 2], "b": [3, {"c": 4}]}'
    """
    stack: list[str] = []
    best = (0, "")
    # What an object waits for: a key, its colon, or the value.
    waits: list[str] = []
    place = 0
    while match := TOKEN.match(text, place):
        token, place = match.group(1), match.end()
        if token in CLOSERS:
            stack.append(token)
            waits.append("key" if token == OBJECT else "value")
        elif token in CLOSERS.values():
            if not stack or CLOSERS[stack[-1]] != token:
                break
            stack.pop()
            waits.pop()
            _value_is_over(waits, stack)
        elif token == COLON:
            waits[-1:] = ["value"] if stack else []
            continue
        elif token == COMMA:
            continue
        elif waits and waits[-1] == "key":
            waits[-1] = "colon"
            continue
        else:
            # A number or word at the very end may be cut off itself.
            if place == len(text) and not token.startswith('"'):
                break
            _value_is_over(waits, stack)
        best = (place, "".join(stack))
    end, opened = best
    return text[:end] + "".join(CLOSERS[one] for one in reversed(opened))


def _value_is_over(waits: list[str], stack: list[str]) -> None:
    if stack and stack[-1] == OBJECT:
        waits[-1] = "key"
