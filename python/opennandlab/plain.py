"""Values as JSON has them: what else YAML and Python know is turned, or refused by its path."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from opennandlab.canonical import INTEGER_MAX, oddity
from opennandlab.errors import ConfigError


def to_json(document: object) -> str:
    """Return JSON for the core; YAML knows types that it does not.

    Raises:
        ConfigError: for dates, NaN, infinities and cycles, with their dotted path.
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
        raise ConfigError(path, f"`{value}` holds half a surrogate pair; accepted: whole letters")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {
            _key(key, path): _plain(inner, f"{path}.{key}" if path else str(key))
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(inner, f"{path}[{index}]") for index, inner in enumerate(value)]
    if hasattr(value, "item"):  # a numpy scalar
        return _plain(value.item(), path)
    raise ConfigError(path, f"`{value}` ({type(value).__name__}) is neither number nor text")


def _key(key: object, path: str) -> str:
    """Return a key as text; lists and mappings are values, not keys."""
    if isinstance(key, str | bool | int | float):
        text = str(key)
        if not oddity(text):
            return text
    raise ConfigError(path or ".", f"the key `{key}` is not usable; accepted: text")


def frozen(value: Any) -> Any:  # noqa: ANN401 (as varied as JSON)
    """Return what JSON gives as what nobody can change."""
    if isinstance(value, dict):
        return MappingProxyType({key: frozen(inner) for key, inner in value.items()})
    if isinstance(value, list):
        return tuple(frozen(inner) for inner in value)
    return value


def thawed(value: Any) -> Any:  # noqa: ANN401 (as varied as JSON)
    """Return mappings and lists that may be changed freely."""
    if isinstance(value, Mapping):
        return {key: thawed(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [thawed(inner) for inner in value]
    return value
