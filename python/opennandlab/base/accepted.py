"""What may stand at a key, in a few words, from the JSON schema of the core.

The core says what it met; where its parser says no more than "expected value", these words say what
it would have taken. No key is declared here.
"""

from __future__ import annotations

from opennandlab.base.schema import Schema, kind_of, resolved, variants

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
        inner = resolved(here, schema).get("properties", {}).get(part)
        if inner is None:
            return None
        here = inner
    words = [word for form in variants(here, schema) for word in _words(form)]
    return ", ".join(dict.fromkeys(words)) or None


def _words(form: Schema) -> list[str]:
    word = form.get("const", kind_of(form))
    if word is not None:
        return [f"`{word}`"]
    if "enum" in form:
        return [f"`{value}`" for value in form["enum"]]
    types = form.get("type", [])
    return [TYPES.get(name, name) for name in ([types] if isinstance(types, str) else types)]
