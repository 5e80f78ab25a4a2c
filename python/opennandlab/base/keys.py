"""The keys of device and workload files, as their schemas declare them.

```text
schema ──► Key: dotted path, what it means, its default, the words that it takes
```
A key that takes a mapping leads on to the keys inside; where it may be one of several kinds, these
are its words, and what a kind has of its own is left to the reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from opennandlab.base.schema import Kind, Schema, kind_of, resolved, schema, variants

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
    whole = schema(kind)
    yield from _keys(whole, whole, "", {}, 0)


def _keys(node: Schema, whole: Schema, path: str, defaults: object, depth: int) -> Iterator[Key]:
    for name, given in node.get("properties", {}).items():
        part = resolved(given, whole)
        options = list(variants(part, whole))
        default = defaults.get(name) if isinstance(defaults, dict) else None
        default = part.get("default") if default is None else default
        section = next((it for it in options if it.get("properties") and not kind_of(it)), None)
        words = tuple(dict.fromkeys(word for option in options for word in _words(option)))
        here = f"{path}{name}"
        text = " ".join(str(part.get("description", "")).split())
        yield Key(here, text, default, words, section is not None)
        if section is not None and depth < DEPTH_MAX:
            yield from _keys(section, whole, f"{here}.", default, depth + 1)


def _words(option: Schema) -> list[str]:
    kind = kind_of(option)
    found = [kind, option.get("const"), *option.get("enum", [])]
    if option.get("type") == "boolean":
        found += ["true", "false"]
    return [one for one in found if isinstance(one, str)]
