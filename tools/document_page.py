"""Writes the reference page of a document from its JSON schema: one table for each record.

Keys that a document has only at times are marked; what a key holds is linked to its own table.
"""

from __future__ import annotations

import re
from typing import Any

Schema = dict[str, Any]

WORDS = {
    "integer": "integer",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
    "null": "null",
    "object": "mapping",
    "array": "list",
}


def document_page(schema: Schema, notice: str) -> str:
    """Return the page: the document first, then its parts in the order in which they appear.

    Args:
        schema: As `opennandlab.documents.schema` makes it.
        notice: Line that says that the page is generated.
    """
    name = schema["properties"]["schema"]["enum"][-1]
    lines = [f"# The document `{name}`", "", notice, "", schema["description"], ""]
    lines += ["A key marked *optional* is absent if it has no value.", ""]
    lines += _table(schema)
    for name in _order(schema):
        part = schema["$defs"][name]
        lines += [f"## {name}", "", part["description"], "", *_table(part)]
    return "\n".join(lines).rstrip() + "\n"


def _order(schema: Schema) -> list[str]:
    """Return the names of the parts, each after the first that refers to it."""
    found: list[str] = []
    waiting = _references(schema)
    while waiting:
        name = waiting.pop(0)
        if name not in found:
            found.append(name)
            waiting = [*_references(schema["$defs"][name]), *waiting]
    return found


def _references(part: Schema) -> list[str]:
    kept = {key: value for key, value in part.items() if key != "$defs"}
    return re.findall(r"'#/\$defs/(\w+)'", str(kept))


def _table(part: Schema) -> list[str]:
    if "prefixItems" in part:
        rows = [
            f"| `{item['title']}` | {_type(item)} | {_cell(item)} |" for item in part["prefixItems"]
        ]
        return ["| column | type | meaning |", "|---|---|---|", *rows, ""]
    required = part.get("required", ())
    rows = [
        f"| `{key}` | {_type(value)}{'' if key in required else ', optional'} | {_cell(value)} |"
        for key, value in part.get("properties", {}).items()
    ]
    return ["| key | type | meaning |", "|---|---|---|", *rows, ""] if rows else []


def _type(value: Schema) -> str:
    """Return what a key holds, in a few words."""
    if "anyOf" in value:
        options = [_type(option) for option in value["anyOf"]]
        numbers = [one for one in options if one != "integer" or "number" not in options]
        text = " or ".join(dict.fromkeys(numbers))
    elif "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        text = f"[{name}](#{name.lower()})"
    elif "enum" in value:
        text = " or ".join(f"`{one}`" for one in value["enum"])
    elif value.get("items"):
        text = f"list of {_type(value['items'])}"
    elif value.get("additionalProperties"):
        text = f"mapping to {_type(value['additionalProperties'])}"
    elif value.get("maxProperties") == 0:
        text = "`{}`"
    else:
        text = WORDS.get(value.get("type", ""), "anything")
    return text


def _cell(value: Schema) -> str:
    return str(value.get("description", "")).replace("|", "\\|")
