"""`config init`: a device or workload file to begin with, every key with what it means.

```yaml
# yaml-language-server: $schema=device.schema.json     editors complete and check by it
nand:
  # Channels: independent buses.
  channels: 8
  # Power of … Left out: not known.
  # energy:                                            a key that is not set
```
What is set is what the device has that it is made from, so the file means the same. What
follows from the cell type is shown but not set: with another type it would be another.
"""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from opennandlab.base.errors import ConfigError, legible
from opennandlab.base.files import check_writable, write_atomically
from opennandlab.base.keys import Key, keys
from opennandlab.base.plain import leaves
from opennandlab.base.schema import Kind
from opennandlab.base.schema import schema as schema_of
from opennandlab.core.config import DeviceConfig, WorkloadConfig

WIDTH = 92
# Order of the sections: as a command meets them, from the flash out.
SECTIONS = ("name", "nand", "controller", "ftl", "ecc", "reliability", "power", "host")
MODELINE = "# yaml-language-server: $schema="


def text(document: DeviceConfig | WorkloadConfig, *, schema: str | None) -> str:
    """Return a file that means what a document says.

    Args:
        document: Where the values come from.
        schema: Path or address of the schema, for editors; None for no such line.
    """
    kind: Kind = "device" if isinstance(document, DeviceConfig) else "workload"
    lines = [] if schema is None else [f"{MODELINE}{schema}"]
    lines += [f"# A {kind}, made from `{legible(document.name)}`."]
    if kind == "device":
        lines += [
            "# A key that is left out has the default of the cell type, or is off;",
            "# `opennandlab config show FILE` says what follows from the file.",
        ]
    values = document.to_dict()
    found = list(keys(kind))
    tops = [key for key in found if "." not in key.path]
    if kind == "device":
        tops.sort(key=lambda key: SECTIONS.index(key.path) if key.path in SECTIONS else 99)
    follows = _follows(document)
    for top in tops:
        lines += ["", *_lines(top, found, values, follows, 0)]
    return "\n".join(lines) + "\n"


def save(text: str, path: Path, kind: Kind, beside: Path | None) -> list[Path]:
    """Write a file, and its schema next to it; nothing that is there is replaced.

    Args:
        text: Content of the file.
        path: The file.
        kind: What it is.
        beside: Where the schema goes; None for nowhere. One that is there already is left alone.

    Returns:
        The files that were written.

    Raises:
        ConfigError: when the file exists.
        OutputError: when it cannot be written, and why.
    """
    if os.path.lexists(path):
        raise ConfigError("file", f"{path} exists and is not replaced; accepted: another name")
    check_writable(path)
    written = []
    if beside is not None and not os.path.lexists(beside):
        schema = json.dumps(schema_of(kind), indent=2, ensure_ascii=False) + "\n"
        write_atomically(beside, schema.encode())
        written.append(beside)
    write_atomically(path, text.encode())
    return [path, *written]


def _follows(document: DeviceConfig | WorkloadConfig) -> set[str]:
    """Return the keys of a device whose values follow from its cell type."""
    if not isinstance(document, DeviceConfig):
        return set()
    found = {path for path, _ in leaves(document.to_dict())}

    def is_below(path: str, ones: Iterable[str]) -> bool:
        return any(path == one or path.startswith(f"{one}.") for one in ones)

    return {
        path
        for path in found
        if is_below(path, document.sources) and not is_below(path, document.given)
    }


def _lines(
    key: Key, found: list[Key], values: Mapping[str, Any], follows: set[str], depth: int
) -> Iterator[str]:
    """Yield the lines of a key, and of those inside."""
    name, indent = key.path.rpartition(".")[2], "  " * depth
    value = values.get(name)
    told = key.text
    # A choice of few words that the text does not name.
    if key.words and len(key.words) <= 8 and not all(word in told for word in key.words):
        words = [word for word in key.words if word not in {"true", "false"}]
        told += f" One of: {', '.join(words)}." if words else ""
    for line in textwrap.wrap(told, WIDTH - len(indent), break_on_hyphens=False):
        yield f"{indent}# {line}"
    if value is None:
        yield f"{indent}# {name}:"
        return
    inside = [one for one in found if one.path.rpartition(".")[0] == key.path]
    if isinstance(value, Mapping) and inside and set(value) <= {_last(one) for one in inside}:
        inner = [line for one in inside for line in _lines(one, found, value, follows, depth + 1)]
        is_set = any(not line.lstrip().startswith("#") for line in inner)
        yield from (f"{indent}{name}:" if is_set else f"{indent}# {name}:", *inner)
    elif key.path in follows:
        yield f"{indent}# {name}: {flow(value)}"
    else:
        yield f"{indent}{name}: {flow(value)}"


def _last(key: Key) -> str:
    return key.path.rpartition(".")[2]


def flow(value: object) -> str:
    """Return a value on one line; JSON is YAML."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str) and value.replace("_", "").replace("-", "").isalnum():
        # What YAML would take for something else is quoted, and so are numbers.
        plain = value.lower() not in {"none", "null", "true", "false", "yes", "no", "on", "off"}
        return value if plain and value[0].isalpha() else json.dumps(value)
    return json.dumps(value, ensure_ascii=False)
