"""Documents as JSON: other values of YAML and Python are converted, or refused with their path."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeGuard

from opennandlab.base.canonical import INTEGER_MAX, oddity
from opennandlab.base.errors import ConfigError


def to_json(document: object) -> str:
    """Return a document as JSON for the core; numpy scalars become numbers, tuples lists.

    Raises:
        ConfigError: with the dotted path, for a value that JSON or the core cannot hold: NaN, an
            infinity, an integer beyond 2^64, half a surrogate pair, a date or another type, a key
            that is no text or number, keys that are equal as text, a cycle.
    """
    try:
        return json.dumps(_plain(document, ""), allow_nan=False)
    except RecursionError as error:
        raise ConfigError(".", "nested too deeply, or containing itself") from error


def _plain(value: object, path: str) -> object:
    # Values of most leaves first: asking whether something is a `Mapping` takes long.
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(path, f"`{value}` is not a finite number")
    if isinstance(value, int) and abs(value) > INTEGER_MAX:
        raise ConfigError(path, "an integer beyond 2^64; accepted: smaller ones")
    if isinstance(value, str) and oddity(value):
        raise ConfigError(
            path, f"`{value}` holds half a surrogate pair; accepted: whole characters"
        )
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        keys = [_key(key, path) for key in value]
        if len(set(keys)) < len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ConfigError(path or ".", f"the key `{twice}` is given twice, as text and number")
        return {
            key: _plain(inner, f"{path}.{key}" if path else key)
            for key, inner in zip(keys, value.values(), strict=True)
        }
    if isinstance(value, list | tuple):
        return [_plain(inner, f"{path}[{index}]") for index, inner in enumerate(value)]
    if hasattr(value, "item"):  # a numpy scalar
        return _plain(value.item(), path)
    raise ConfigError(path, f"`{value}` ({type(value).__name__}) is neither number nor text")


def _key(key: object, path: str) -> str:
    """Return a key as text.

    Raises:
        ConfigError: for one that is neither text nor number, and for half a surrogate pair.
    """
    if isinstance(key, str | bool | int | float):
        text = str(key)
        if not oddity(text):
            return text
    raise ConfigError(path or ".", f"the key `{key}` is not usable; accepted: text")


def frozen(value: Any) -> Any:  # noqa: ANN401 (as varied as JSON)
    """Return a copy that cannot be changed: mappings read-only, lists as tuples."""
    if isinstance(value, dict):
        return MappingProxyType({key: frozen(inner) for key, inner in value.items()})
    if isinstance(value, list):
        return tuple(frozen(inner) for inner in value)
    return value


def thawed(value: Any) -> Any:  # noqa: ANN401 (as varied as JSON)
    """Return a copy that may be changed: mappings as dicts, lists and tuples as lists."""
    if isinstance(value, Mapping):
        return {key: thawed(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [thawed(inner) for inner in value]
    return value


def leaves(document: object, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (dotted path, value) for every value that is not a mapping.

    >>> list(leaves({"a": {"b": 1, "c": [2]}}))
    [('a.b', 1), ('a.c', [2])]
    """
    if isinstance(document, Mapping) and document:
        for key, value in document.items():
            yield from leaves(value, f"{path}.{key}" if path else str(key))
    else:
        yield path, document


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether a value is a number; `True` and `False` are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)
