"""The reference pages of tools/generate.py, on a schema small enough to check by eye."""

from __future__ import annotations

from scripts import load_tool

generate = load_tool("generate")

SCHEMA = {
    "description": "A device file.",
    "properties": {
        "name": {"description": "What it is\ncalled.", "type": ["string", "null"]},
        "nand": {"$ref": "#/$defs/Nand", "description": "The flash.", "default": {"dies": 2}},
        "policy": {
            "description": "How it picks.",
            "anyOf": [{"type": "string"}, {"$ref": "#/$defs/Policy"}],
            "default": {"kind": "greedy"},
        },
        "steps": {"description": "In turn.", "type": "array", "items": {"$ref": "#/$defs/Policy"}},
    },
    "required": ["nand"],
    "$defs": {
        "Nand": {
            "properties": {
                "dies": {"description": "How many.", "type": "integer", "minimum": 1, "default": 2},
                "cell": {"description": "Bits.", "enum": ["SLC", "TLC"], "default": "TLC"},
            }
        },
        "Policy": {
            "oneOf": [
                {"description": "The best.", "properties": {"kind": {"const": "greedy"}}},
                {
                    "description": "The best of `d`.",
                    "properties": {
                        "kind": {"const": "d_choices"},
                        "d": {"description": "Blocks | drawn.", "type": "integer", "default": 10},
                    },
                },
            ]
        },
    },
}

PAGE = """\
# Device file

<!-- Written by tools/generate.py; edit the declarations, then run `make generate`. -->

A device file.

| key | takes | default | meaning |
|---|---|---|---|
| `name` | text | none | What it is called. |
| `nand` | mapping | required | The flash. |
| `policy` | one of `greedy` `d_choices` | `{"kind": "greedy"}` | How it picks. |
| `steps` | list | none | In turn. |

## `nand`

The flash.

| key | takes | default | meaning |
|---|---|---|---|
| `dies` | integer ≥ 1 | `2` | How many. |
| `cell` | one of `SLC` `TLC` | `"TLC"` | Bits. |

## `policy`

How it picks.

| kind | meaning | parameters |
|---|---|---|
| `greedy` | The best. |  |
| `d_choices` | The best of `d`. | `d` (integer; `10`): Blocks \\| drawn. |

## `steps`

In turn.

| kind | meaning | parameters |
|---|---|---|
| `greedy` | The best. |  |
| `d_choices` | The best of `d`. | `d` (integer; `10`): Blocks \\| drawn. |
"""


def test_a_page_shows_every_key_of_the_schema():
    assert generate.schema_page(SCHEMA, "Device file") == PAGE


def test_unknown_arguments_are_refused(capsys):
    assert generate.main(["--chek"]) == 2
    assert "usage" in capsys.readouterr().err
