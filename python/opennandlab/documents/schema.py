"""JSON schemas of the documents, from their declarations.

Descriptions are the docstrings: the sentence of a class, and under `Args` one for each field.
`FAMILIES` has one row per kind of document; `config schema` prints its schema, and
`tools/generate.py` writes its reference page.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from inspect import cleandoc
from typing import Any

import msgspec

from opennandlab.base.schema import Kind
from opennandlab.base.schema import schema as schema_of_files
from opennandlab.documents.app import AppDocument
from opennandlab.documents.calibration import CalibrationDocument
from opennandlab.documents.capture import CaptureDocument
from opennandlab.documents.comparison import Comparison
from opennandlab.documents.ecc import CodeComparison, CurveDocument
from opennandlab.documents.emmc import EmmcDocument
from opennandlab.documents.fleet import FleetDocument
from opennandlab.documents.life import DriveLifeTest, LifeTest
from opennandlab.documents.ocp import OcpDocument
from opennandlab.documents.power_endurance import EnduranceDocument
from opennandlab.documents.power_files import FilesDocument
from opennandlab.documents.power_loss import PowerDocument
from opennandlab.documents.pts import PtsDocument, SuiteDocument
from opennandlab.documents.pts_results import RESULTS
from opennandlab.documents.record import JsonObject
from opennandlab.documents.result import EMPTY_SECTIONS, ResultDocument
from opennandlab.documents.served import ServedDocument
from opennandlab.documents.validation import ValidationDocument

# Name of the schema -> the record of the whole document.
FAMILIES: dict[str, type] = {
    "result": ResultDocument,
    "compare": Comparison,
    "pts": PtsDocument,
    "suite": SuiteDocument,
    "ecc-curve": CurveDocument,
    "ecc-comparison": CodeComparison,
    "life": LifeTest,
    "drive-life": DriveLifeTest,
    "validation": ValidationDocument,
    "served": ServedDocument,
    "app": AppDocument,
    "emmc": EmmcDocument,
    "fleet": FleetDocument,
    "ocp": OcpDocument,
    "power": PowerDocument,
    "power-files": FilesDocument,
    "calibration": CalibrationDocument,
    "power-endurance": EnduranceDocument,
    "capture": CaptureDocument,
}

KINDS: tuple[Kind, ...] = ("device", "workload", "replay")
TEMPLATE = "#/$defs/{name}"


def schemas() -> dict[str, Callable[[], JsonObject]]:
    """Return what makes each schema, by name: of files, as the core declares them, and documents.

    >>> list(schemas())[:4]
    ['device', 'workload', 'replay', 'result']
    """
    found: dict[str, Callable[[], JsonObject]] = {}
    for kind in KINDS:
        found[kind] = partial(lambda kind: dict(schema_of_files(kind)), kind)
    return {**found, **{family: partial(schema, family) for family in FAMILIES}}


def schema(family: str) -> JsonObject:
    """Return the JSON schema (draft 2020-12) of a family of documents."""
    kind = FAMILIES[family]
    results = list(dict.fromkeys(RESULTS.values())) if family == "pts" else []
    _, definitions = msgspec.json.schema_components([kind, *results], ref_template=TEMPLATE)
    for found in _records(kind, *results):
        _describe(definitions[found.__name__], found)
    if family == "pts":
        # The test decides which one it is; a run that was cut has none.
        names = [one.__name__ for one in results]
        options: list[JsonObject] = [{"$ref": TEMPLATE.format(name=name)} for name in names]
        definitions["Results"]["maxProperties"] = 0
        options.append({"$ref": TEMPLATE.format(name="Results")})
        definitions[kind.__name__]["properties"]["results"] |= {"anyOf": options}
        definitions[kind.__name__]["properties"]["results"].pop("$ref", None)
    if family == "result":
        empty = {"type": "object", "maxProperties": 0}
        for name in EMPTY_SECTIONS:
            part = definitions[kind.__name__]["properties"][name]
            part["anyOf"] = [empty if one == {"type": "null"} else one for one in part["anyOf"]]
    root = definitions.pop(kind.__name__)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


def described(kind: type) -> tuple[str, dict[str, str]]:
    """Return what a docstring says of a class, and of each field under `Args`.

    Raises:
        KeyError: when a field has no description.
    """
    fields: dict[str, str] = {}
    text = ""
    for base in reversed(kind.__mro__):
        text, _, rest = cleandoc(base.__doc__ or "").partition("\nArgs:\n")
        found = re.findall(r"^    (\w+): (.*(?:\n        .*)*)", rest, re.MULTILINE)
        fields |= {name: re.sub(r"\s+", " ", words) for name, words in found}
    names: tuple[str, ...] = kind.__struct_fields__  # type: ignore[attr-defined]
    return text.strip(), {name: fields[name] for name in names}


def _records(*kinds: type) -> list[type]:
    """Return all records and rows that documents are made of."""
    found: list[type] = []

    def visit(part: Any) -> None:  # noqa: ANN401 (any description of a type)
        if isinstance(part, msgspec.inspect.StructType):
            if part.cls in found:
                return
            found.append(part.cls)
            for field in part.fields:
                visit(field.type)
        for name in ("types", "item_types"):
            for inner in getattr(part, name, ()):
                visit(inner)
        for name in ("item_type", "key_type", "value_type"):
            if hasattr(part, name):
                visit(getattr(part, name))

    for kind in kinds:
        visit(msgspec.inspect.type_info(kind))
    return found


def _describe(definition: JsonObject, kind: type) -> None:
    text, fields = described(kind)
    definition["description"] = text
    if "prefixItems" in definition:
        items = zip(definition["prefixItems"], fields.items(), strict=True)
        definition["prefixItems"] = [
            {"title": name, **item, "description": words} for item, (name, words) in items
        ]
        return
    required = definition.get("required", ())
    for name, part in definition["properties"].items():
        inner = part if name in required else _optional(part, may_be_null=_may_be_null(kind, name))
        definition["properties"][name] = {**inner, "description": fields[name]}


def _optional(part: JsonObject, *, may_be_null: bool) -> JsonObject:
    """Return the schema of a key that is absent where it has no value."""
    inner = {key: value for key, value in part.items() if key != "default"}
    if may_be_null:
        return inner
    options = [one for one in inner.pop("anyOf", ()) if one != {"type": "null"}]
    if len(options) == 1:
        return {**inner, **options[0]}
    return {**inner, "anyOf": options} if options else inner


def _may_be_null(kind: type, name: str) -> bool:
    """Return whether an optional key may also stand there with `null`."""
    field = next(one for one in msgspec.structs.fields(kind) if one.name == name)
    return field.default is msgspec.UNSET
