"""The keys of device and workload files, as their schemas declare them.

```text
schema ──► Key: dotted path, what it means, its default, the words that it takes
```
A key that takes a mapping leads on to the keys inside; where it may be one of several kinds, these
are its words, and what a kind has of its own is left to the reference.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from opennandlab import _core

Kind = Literal["device", "workload"]
Schema = dict[str, Any]
# Mappings in mappings of a device file go no deeper.
DEPTH_MAX = 6


@dataclass(frozen=True)
class Key:
    """A key of a file.

    Args:
        path: Dotted path.
        text: What it means, with its unit.
        default: What it is when left out; None where there is nothing then.
        words: The words that it takes; empty for numbers and mappings.
        is_section: Whether it holds a mapping with keys of its own.
    """

    path: str
    text: str
    default: object
    words: tuple[str, ...] = ()
    is_section: bool = False


def keys(kind: Kind) -> Iterator[Key]:
    """Yield the keys of a kind of file in the order of the schema, each section before its keys.

    >>> found = {key.path: key for key in keys("device")}
    >>> "fifo" in found["ftl.gc_policy"].words, found["nand.channels"].default
    (True, 8)
    """
    text = _core.device_schema() if kind == "device" else _core.workload_schema()
    schema: Schema = json.loads(text)
    yield from _keys(schema, schema.get("$defs", {}), "", {}, 0)


def _keys(
    schema: Schema, definitions: Schema, path: str, defaults: object, depth: int
) -> Iterator[Key]:
    for name, given in schema.get("properties", {}).items():
        part = _resolved(given, definitions)
        options = list(_options(part, definitions))
        default = defaults.get(name) if isinstance(defaults, dict) else None
        default = part.get("default") if default is None else default
        section = next((it for it in options if it.get("properties") and not _kind(it)), None)
        words = tuple(dict.fromkeys(word for option in options for word in _words(option)))
        here = f"{path}{name}"
        text = " ".join(str(part.get("description", "")).split())
        yield Key(here, text, default, words, section is not None)
        if section is not None and depth < DEPTH_MAX:
            yield from _keys(section, definitions, f"{here}.", default, depth + 1)


def _resolved(schema: Schema, definitions: Schema) -> Schema:
    """Return a schema with what it refers to; its own words win."""
    reference = str(schema.get("$ref", ""))
    if not reference:
        return schema
    return {**_resolved(definitions[reference.rpartition("/")[2]], definitions), **schema}


def _options(schema: Schema, definitions: Schema) -> Iterator[Schema]:
    """Yield what a key takes one of; itself, if it is no choice."""
    options = schema.get("oneOf", []) + schema.get("anyOf", [])
    for option in options:
        yield from _options(_resolved(option, definitions), definitions)
    if not options:
        yield schema


def _kind(schema: Schema) -> str | None:
    """Return the name of a kind, where a mapping is one of several."""
    constant = schema.get("properties", {}).get("kind", {}).get("const")
    return None if constant is None else str(constant)


def _words(option: Schema) -> list[str]:
    kind = _kind(option)
    found = [kind, option.get("const"), *option.get("enum", [])]
    if option.get("type") == "boolean":
        found += ["true", "false"]
    return [one for one in found if isinstance(one, str)]
