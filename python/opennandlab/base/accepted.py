"""What may stand at a key, in a few words, from the JSON schema of the core.

The core says what it met; where its parser says no more than "expected value", these words say what
it would have taken. No key is declared here.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]
# The type of a schema -> what a device file holds there.
TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "a mapping of keys to values",
    "string": "text",
}


def accepted(schema: Schema, path: str) -> str | None:
    """Return what a schema takes at a dotted path; None where it does not know the path.

    >>> kinds = {"oneOf": [{"const": "retire"}, {"const": "ignore"}]}
    >>> accepted({"properties": {"wear_out": kinds}}, "wear_out")
    '`retire`, `ignore`'
    """
    here = schema
    for part in path.split("."):
        inner = _resolved(schema, here).get("properties", {}).get(part)
        if inner is None:
            return None
        here = inner
    words = list(dict.fromkeys(_words(schema, here)))
    return ", ".join(words) or None


def _words(schema: Schema, node: Schema) -> list[str]:
    node = _resolved(schema, node)
    kind = node.get("properties", {}).get("kind", {}).get("const")
    if kind is not None or "const" in node:
        return [f"`{node.get('const', kind)}`"]
    if "enum" in node:
        return [f"`{value}`" for value in node["enum"]]
    choices = [*node.get("oneOf", []), *node.get("anyOf", [])]
    if choices:
        return [word for choice in choices for word in _words(schema, choice)]
    types = node.get("type", [])
    return [TYPES.get(name, name) for name in ([types] if isinstance(types, str) else types)]


def _resolved(schema: Schema, node: Schema) -> Schema:
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    return node
