"""The form New run: its fields are made from the schemas of device and workload.

Further ones come from what a verb declares: see `verbs`.

A field has the value of the preset as its placeholder, with where that comes from; what is typed
takes its place. A mapping that is on or off as a whole is one field, written as YAML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opennandlab.base.schema import Schema, resolved, schema, variants
from opennandlab.base.units import unit
from opennandlab.core.config import DeviceConfig, load_device, read_workload

# Order of the sections: what is varied most comes first.
SECTIONS = {
    "nand": "Flash", "ftl": "Translation layer", "controller": "Controller",
    "ecc": "Error correction", "host": "Host interface", "reliability": "Reliability model",
    "power": "Loss of power",
}  # fmt: skip
WORKLOAD = "workload"
# Shown without opening a section.
MAIN = (
    "nand.channels", "nand.dies_per_channel", "nand.blocks_per_plane", "nand.pages_per_block",
    "nand.cell_type", "ftl.over_provisioning_pct", "ftl.gc_policy", "workload.pattern",
    "workload.read_pct", "workload.block_size_bytes", "workload.queue_depth", "workload.total",
    "workload.timed", "workload.precondition",
)  # fmt: skip
ASIDE = {"name", "workload.name"}
RANGE = re.compile(r"(-?\d[\d.e+-]*) to (-?\d[\d.e+-]*)")


@dataclass(frozen=True)
class Choice:
    """A value that a field takes, and what it means."""

    value: str
    text: str


@dataclass(frozen=True)
class Field:
    """A key of a device or workload.

    Args:
        path: Dotted; of a workload, after `workload.`.
        kind: `number`, `choice`, `flag` or `text`.
        usual: The value of the preset, as it would be typed.
        source: Where that comes from.
        unit: Its unit; empty for none.
        about: What it is.
        low: The least that is accepted; None for no bound.
        high: The most.
        choices: What it takes.
    """

    path: str
    kind: str
    usual: str
    source: str = ""
    unit: str = ""
    about: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[Choice, ...] = ()

    @property
    def id(self) -> str:
        """Id of the element of the field."""
        return "f-" + self.path.replace(".", "-")

    @property
    def label(self) -> tuple[str, str]:
        """The path of the field before its last part, and the last part."""
        head, dot, last = self.path.rpartition(".")
        return head + dot, last

    @property
    def accepted(self) -> str:
        """The range of the field in words; empty if the schema has none."""
        low, high = (None if end is None else f"{end:g}" for end in (self.low, self.high))
        if low and high:
            return f"{low} to {high}"
        return f"from {low}" if low else f"up to {high}" if high else ""


@dataclass(frozen=True)
class Section:
    """Fields that belong together."""

    name: str
    title: str
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Form:
    """The fields of what can be set.

    Args:
        main: Those that are shown at once.
        sections: The others.
    """

    main: tuple[Field, ...]
    sections: tuple[Section, ...]

    @property
    def paths(self) -> list[str]:
        """All keys."""
        return [one.path for one in (*self.main, *(f for s in self.sections for f in s.fields))]


def form(device: str | None, workload: str | None, own: Sequence[Field] = ()) -> Form:
    """Return the form of a verb.

    Args:
        device: What it begins with; None for a verb without.
        workload: The same.
        own: Further fields of the verb, which come first.

    Raises:
        ConfigError: for an invalid name.
    """
    found = [] if device is None else [*_of_device(load_device(device))]
    found += [] if workload is None else [*_of_workload(read_workload(workload))]
    by_path = {one.path: one for one in found}
    titles = {**SECTIONS, WORKLOAD: "Workload"}
    return Form(
        (*own, *(by_path[path] for path in MAIN if path in by_path)),
        tuple(
            Section(name, title, fields)
            for name, title in titles.items()
            if (fields := tuple(
                one for one in found
                if one.path.split(".")[0] == name and one.path not in MAIN
            ))
        ),
    )  # fmt: skip


def _of_device(device: DeviceConfig) -> Iterator[Field]:
    values = device.to_dict()
    whole = schema("device")
    for part in SECTIONS:
        node = whole["properties"][part]
        for path, inner in _leaves(node, part, whole):
            usual = _at(values, path)
            source = "" if usual is None else device.origin(_origin_key(path, usual))
            yield _field(path, inner, whole, typed(usual), source)


def _of_workload(values: Mapping[str, Any]) -> Iterator[Field]:
    whole = schema("workload")
    for key, node in whole["properties"].items():
        for path, inner in _leaves(node, f"{WORKLOAD}.{key}", whole):
            if path in ASIDE:
                continue
            given = _at(values, path.partition(".")[2])
            usual = inner.get("default") if given is None else given
            source = "" if given is None else "the workload"
            yield _field(path, inner, whole, typed(usual), source)


def _leaves(node: Schema, path: str, whole: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the fields of a node: mappings that are always there are opened."""
    inner = resolved(node, whole)
    if inner.get("type") == "object" and "maxProperties" not in inner and "properties" in inner:
        for key, one in inner["properties"].items():
            yield from _leaves(one, f"{path}.{key}", whole)
    else:
        yield path, inner


def _field(path: str, node: Schema, whole: Schema, usual: str, source: str) -> Field:
    kinds = node.get("type")
    kinds = set(kinds if isinstance(kinds, list) else [kinds]) - {"null"}
    about = " ".join(str(node.get("description", "")).split())
    choices = tuple(_choices(node, whole))
    low, high = node.get("minimum", node.get("exclusiveMinimum")), node.get("maximum")
    if kinds == {"boolean"}:
        kind = "flag"
    elif kinds and kinds <= {"integer", "number"}:
        kind = "number"
        told = RANGE.search(about)
        if told and (low in {None, 0} and high is None):
            low, high = float(told.group(1)), float(told.group(2).rstrip("."))
    else:
        kind = "choice" if choices and _is_closed(node, whole) else "text"
    # Of workloads these are percent, of devices ratios.
    is_percent = path.startswith(f"{WORKLOAD}.") and path.endswith("_pct")
    shown = "%" if is_percent else unit(path)
    if low == 0 and high is None:
        low = None
    return Field(path, kind, usual, source.rstrip("."), shown, about, low, high, choices)


def _choices(node: Schema, whole: Schema) -> Iterator[Choice]:
    """Yield the words that a value may be, and the kinds of mappings that words stand for."""
    seen = set()
    found: list[tuple[str, str]] = []
    for one in variants(node, whole):
        about = " ".join(str(one.get("description", "")).split())
        if "const" in one:
            found.append((str(one["const"]), about))
        found += [(str(word), "") for word in one.get("enum", [])]
        kind = one.get("properties", {}).get("kind", {})
        if "const" in kind:
            others = [key for key in one["properties"] if key != "kind"]
            rest = f" Takes {', '.join(others)}." if others else ""
            found.append((str(kind["const"]), about + rest))
    for value, about in sorted(found, key=lambda pair: not pair[1]):
        if value not in seen and value not in {"True", "False"}:
            seen.add(value)
            yield Choice(value, about)


def _is_closed(node: Schema, whole: Schema) -> bool:
    """Return whether a value is one of some words, and nothing else."""
    return all(
        "const" in one or "enum" in one or one.get("type") == "null"
        for one in variants(node, whole)
    )


def _at(document: Any, path: str) -> Any:  # noqa: ANN401 (a value of a document)
    for key in path.split("."):
        if not isinstance(document, Mapping):
            return None
        document = document.get(key)
    return document


def _origin_key(path: str, value: object) -> str:
    """Return the leaf whose origin is told: of a mapping, its kind."""
    return f"{path}.kind" if isinstance(value, Mapping) and "kind" in value else path


def typed(value: object) -> str:
    """Return a value as it would be typed.

    >>> typed(0.07), typed({"kind": "greedy"}), typed([{"a": 1}]), typed(None), typed(True)
    ('0.07', 'greedy', '[{"a": 1}]', '', 'true')
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and set(value) == {"kind"}:
        return str(value["kind"])
    return json.dumps(value, ensure_ascii=False, default=dict)
