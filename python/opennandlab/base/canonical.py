"""Documents as bytes: one canonical JSON form, its digest, and where two documents part ways.

Canonical: UTF-8, keys sorted, no spaces, shortest float text that reads back the same, and neither
NaN nor infinity. Two documents are equal exactly when their canonical bytes are.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import deque
from collections.abc import Iterable, Iterator
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
    if not isinstance(document, dict | list):
        reason = _odd(document)
        return reason and f"{path or '.'}: {reason}"
    waiting: deque[tuple[dict[Any, Any] | list[Any], str, int]] = deque([(document, path, 0)])
    while waiting:
        node, place, depth = waiting.popleft()
        if depth > DEPTH_MAX:
            return f"{_short(place)}: nested too deeply"
        pairs: Iterable[tuple[Any, Any]] = (
            node.items() if isinstance(node, dict) else enumerate(node)
        )
        for key, value in pairs:
            if reason := _odd(key):
                return f"{_short(place, 200) or '.'}: {reason}"
            reason = _odd(value)
            if reason is None and not isinstance(value, dict | list):
                continue
            inner = f"{place}[{key}]" if isinstance(node, list) else f"{place}.{key}".lstrip(".")
            if reason is not None:
                return f"{_short(inner, 200)}: {reason}"
            waiting.append((value, inner, depth + 1))
    return None


def _odd(value: object) -> str | None:
    """Return what is odd about a value that holds no others."""
    if isinstance(value, str):
        return None if _is_text(value) else "text with half a surrogate pair"
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{value} is not a finite number"
    if isinstance(value, int) and abs(value) > INTEGER_MAX:
        return "an integer beyond 2^64"
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
