"""Changes of a document by dotted paths: `--set`, axes of sweeps, `overrides` of load functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opennandlab.base.deprecated import NAMES, current
from opennandlab.base.errors import ConfigError
from opennandlab.base.files import parse_yaml
from opennandlab.core.coded import PROPERTIES, of_fragment

# Two ratios have keys that end in `_pct`; these names, which state the unit, are accepted for them.
# So are the names that device trees have.
RATIOS = {
    f"ftl.{name}_ratio": f"ftl.{name}_pct" for name in ("over_provisioning", "gc_trigger_free")
} | {f"ecc.{name}": f"ecc.{key}" for name, key in PROPERTIES.items()}


def parse_overrides(assignments: list[str]) -> dict[str, Any]:
    """Read `key=value` texts of the command line; values as YAML types them.

    Raises:
        ConfigError: for text without `=`, and for a key that is not a dotted path.

    >>> parse_overrides(["ftl.gc_policy=greedy", "nand.channels=4"])
    {'ftl.gc_policy': 'greedy', 'nand.channels': 4}
    """
    overrides: dict[str, Any] = {}
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        path = path.strip()
        if not equals or not path or not all(path.split(".")):
            raise ConfigError(".", f"--set {assignment}: accepted: dotted.key=value")
        overrides[path] = parse_yaml(text, f"--set {path}")
    return overrides


def changes_by_path(changes: object) -> Mapping[str, Any]:
    """Return changes by dotted path.

    Raises:
        ConfigError: for anything that is not a mapping.
    """
    if not isinstance(changes, Mapping):
        raise ConfigError(".", f"`{changes}` are not changes; accepted: dotted path to value")
    return {
        known_path(path) if isinstance(path, str) else path: value
        for path, value in changes.items()
    }


def known_path(path: str) -> str:
    """Return the path by which the core knows a key."""
    return current("key", RATIOS.get(path, path))


def set_path(document: dict[str, Any], path: str, value: object) -> None:
    """Set the value at a dotted path, making mappings on the way.

    A name on the way stands for its mapping: `gc_policy: d_choices` and `ftl.gc_policy.d=3` give
    `{kind: d_choices, d: 3}`.

    Raises:
        ConfigError: when the path leads through a number or a list.

    >>> document = {"ftl": {"gc_policy": "d_choices"}}
    >>> set_path(document, "ftl.gc_policy.d", 3)
    >>> document
    {'ftl': {'gc_policy': {'kind': 'd_choices', 'd': 3}}}
    """
    if not isinstance(path, str):
        raise ConfigError(".", f"`{path}` is not a key; accepted: a dotted path as text")
    *parents, last = known_path(path).split(".")
    here = document
    for part in parents:
        inner = here.get(part)
        if inner is None:
            inner = {}
        elif isinstance(inner, str):
            inner = {"kind": inner}
        elif not isinstance(inner, dict):
            raise ConfigError(path, f"`{part}` is `{inner}`, which has no keys inside")
        here[part] = inner
        here = inner
    here[last] = value
    rename_ratios(document)


def rename_ratios(document: dict[str, Any]) -> None:
    """Give ratios the keys that the core reads; see `RATIOS`. A text as `ecc` is a device tree's.

    Raises:
        ConfigError: when a device has both names of one.
    """
    if isinstance(document.get("ecc"), str):
        document["ecc"] = of_fragment(document["ecc"])
    for path in (*RATIOS, *NAMES["key"]):
        section, _, name = path.partition(".")
        found = document.get(section)
        if isinstance(found, dict) and name in found:
            key = known_path(path).removeprefix(f"{section}.")
            if key in found:
                raise ConfigError(path, f"`{key}` is given too; accepted: one of the two")
            found[key] = found.pop(name)
