"""Values as JSON has them: what else YAML and Python know is turned, or refused by its path."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeGuard

from opennandlab.base.canonical import INTEGER_MAX, oddity
from opennandlab.base.errors import ConfigError


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


def comments(text: str) -> dict[str, str]:
    r"""Return the comment right above each key of a block-style YAML text, by dotted path.

    >>> comments("nand:\n  # Datasheet, page 3.\n  channels: 4\n  dies_per_channel: 2\n")
    {'nand.channels': 'Datasheet, page 3.'}
    """
    found: dict[str, str] = {}
    parents: list[tuple[int, str]] = []
    above: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            above.append(stripped.lstrip("# "))
            continue
        key = re.match(r"( *)([\w-]+):(?: |$)", line)
        if key:
            depth = len(key.group(1))
            parents = [parent for parent in parents if parent[0] < depth] + [(depth, key.group(2))]
            if above and len(parents) > 1:
                found[".".join(name for _, name in parents)] = " ".join(above)
        above = []
    return found


def refuse_lists(given: object, resolved: object, path: str = "") -> None:
    """Refuse lists where keys belong: the core would take them as values in order."""
    if given is None or isinstance(given, str | int | float):
        return
    if isinstance(given, list) and isinstance(resolved, Mapping):
        raise ConfigError(path, "a list was given; accepted: a mapping of keys to values")
    if isinstance(given, Mapping) and isinstance(resolved, Mapping):
        for key, value in given.items():
            refuse_lists(value, resolved.get(str(key)), f"{path}.{key}" if path else str(key))
    elif isinstance(given, list) and isinstance(resolved, list):
        for index, (one, other) in enumerate(zip(given, resolved, strict=False)):
            refuse_lists(one, other, f"{path}[{index}]")


def is_number(value: object) -> TypeGuard[int | float]:
    """Tell whether a value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)
