"""The JSON schemas of device, workload and replay files, and how one finds a part of them.

The core declares each key once; what shows keys, checks a value or makes a form reads them here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal

from opennandlab import _core

Kind = Literal["device", "workload", "replay"]
Schema = Mapping[str, Any]


@cache
def schema(kind: Kind) -> Schema:
    """Return the schema of a kind of file."""
    texts = {
        "device": _core.device_schema,
        "workload": _core.workload_schema,
        "replay": _core.replay_schema,
    }
    found: Schema = json.loads(texts[kind]())
    return found


def resolved(node: Schema, whole: Schema) -> Schema:
    """Return a part with the definition that it refers to; its own words win.

    Args:
        node: The part.
        whole: The schema that it is of.

    >>> resolved({"$ref": "#/$defs/a", "default": 1}, {"$defs": {"a": {"default": 0, "type": "b"}}})
    {'default': 1, 'type': 'b'}
    """
    found = dict(node)
    while "$ref" in found:
        target = whole["$defs"][found.pop("$ref").rpartition("/")[2]]
        found = {**target, **found}
    return found


def variants(node: Schema, whole: Schema) -> Iterator[Schema]:
    """Yield the forms that a value may have, those of choices within choices too.

    >>> [one["type"] for one in variants({"anyOf": [{"type": "null"}, {"type": "number"}]}, {})]
    ['null', 'number']
    """
    inner = resolved(node, whole)
    choices = [*inner.get("oneOf", []), *inner.get("anyOf", [])]
    for one in choices:
        yield from variants(one, whole)
    if not choices:
        yield inner


def kind_of(node: Schema) -> str | None:
    """Return the `kind` of a mapping that is one of several; None for others."""
    constant = node.get("properties", {}).get("kind", {}).get("const")
    return None if constant is None else str(constant)
