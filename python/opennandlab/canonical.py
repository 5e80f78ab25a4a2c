"""Documents as bytes: one canonical JSON form, its digest, and where two documents part ways.

Canonical: UTF-8, keys sorted, no spaces, shortest float text that reads back the same, and neither
NaN nor infinity. Two documents are equal exactly when their canonical bytes are.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from typing import Any

# Facts about one machine and one moment: outside the digest, so that a result made twice has one
# digest.
OUTSIDE_DIGEST = ("tool", "created", "run", "digest")


# Counters and seeds have 64 bits.
INTEGER_MAX = 1 << 64
# Ten times as deep as any document; what reads and writes JSON gives up at some hundreds.
DEPTH_MAX = 100


def canonical_json(document: object) -> str:
    """Return the one text of `document`.

    Raises:
        ValueError: for NaN and infinities, which JSON does not have.

    >>> canonical_json({"b": 1.0, "a": [None, "µ"]})
    '{"a":[null,"µ"],"b":1.0}'
    """
    return json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def deterministic_part(document: dict[str, Any]) -> dict[str, Any]:
    """Return `document` without what belongs to one machine and moment."""
    return {key: value for key, value in document.items() if key not in OUTSIDE_DIGEST}


def digest(document: dict[str, Any]) -> str:
    """Return the SHA-256, in hex, of the canonical deterministic part."""
    return hashlib.sha256(as_bytes(canonical_json(deterministic_part(document)))).hexdigest()


def as_bytes(text: str) -> bytes:
    r"""Return JSON text as UTF-8; half a surrogate pair becomes the escape that JSON has for it.

    >>> as_bytes('"\ud800"')
    b'"\\ud800"'
    """
    return text.encode(errors="backslashreplace")


def oddity(document: object, path: str = "") -> str | None:
    """Return where a document holds what neither digest nor table can: path and reason, or None.

    >>> oddity({"metrics": {"waf": float("inf")}})
    'metrics.waf: inf is not a finite number'
    """
    waiting: list[tuple[object, str, int]] = [(document, path, 0)]
    while waiting:
        value, place, depth = waiting.pop()
        reason = _odd(value, depth)
        if reason is not None:
            return f"{_short(place, 200) or '.'}: {reason}"
        if isinstance(value, dict):
            inner = [
                (one, f"{place}.{key}" if place else str(key), depth + 1)
                for key, one in value.items()
            ]
            waiting += reversed(inner)
        elif isinstance(value, list):
            inner = [(one, f"{place}[{index}]", depth + 1) for index, one in enumerate(value)]
            waiting += reversed(inner)
    return None


def _odd(value: object, depth: int) -> str | None:
    """Return what is odd about one value, but for what it holds."""
    if isinstance(value, str):
        return None if _is_text(value) else "text with half a surrogate pair"
    if isinstance(value, dict):
        if not all(_is_text(key) for key in value if isinstance(key, str)):
            return "text with half a surrogate pair"
    elif isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not a finite number"
    elif isinstance(value, int) and abs(value) > INTEGER_MAX:
        return "an integer beyond 2^64"
    if depth > DEPTH_MAX:
        return "nested too deeply"
    return None


def _is_text(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def first_difference(one: object, other: object, path: str = "") -> str | None:
    """Return the dotted path of the first difference in canonical order, or None.

    >>> first_difference({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}})
    'a.b[1]: 2 against 3'
    """
    found: Iterator[str | None] = iter(())
    if isinstance(one, dict) and isinstance(other, dict):
        found = (_at_key(key, one, other, path) for key in sorted(one.keys() | other.keys()))
    elif isinstance(one, list) and isinstance(other, list):
        pairs = enumerate(zip(one, other, strict=False))
        found = (first_difference(*pair, f"{path}[{index}]") for index, pair in pairs)
    inner = next((difference for difference in found if difference is not None), None)
    if inner is not None:
        return inner
    # By text, because 1 == 1.0 == True in Python while the bytes differ.
    left, right = canonical_json(one), canonical_json(other)
    if left == right:
        return None
    if isinstance(one, list) and isinstance(other, list):
        return f"{path}: {len(one)} entries against {len(other)}"
    return f"{path or '.'}: {_short(left)} against {_short(right)}"


def _at_key(key: str, one: dict[str, Any], other: dict[str, Any], path: str) -> str | None:
    inner = f"{path}.{key}" if path else str(key)
    if key not in one or key not in other:
        return f"{inner}: only in the {'first' if key in one else 'second'}"
    return first_difference(one[key], other[key], inner)


def readable_json(document: object, indent: int = 0) -> str:
    """Return JSON for human readers: one key a line, lists of plain values on one line.

    >>> print(readable_json({"a": [1, 2], "b": {}}))
    {
      "a": [1, 2],
      "b": {}
    }
    """
    inner = "  " * (indent + 1)
    if isinstance(document, dict) and document:
        rows = (
            f"{inner}{json.dumps(str(key), ensure_ascii=False)}: {readable_json(value, indent + 1)}"
            for key, value in document.items()
        )
        return "{\n" + ",\n".join(rows) + "\n" + "  " * indent + "}"
    if isinstance(document, list) and any(isinstance(item, dict | list) for item in document):
        rows = (inner + readable_json(item, indent + 1) for item in document)
        return "[\n" + ",\n".join(rows) + "\n" + "  " * indent + "]"
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def _short(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
