"""What other packages bring: names that may stand where a built-in name may stand.

A package registers objects as entry points, in its `pyproject.toml`:

    [project.entry-points."opennandlab.policies"]
    lazy = "my_package.policies:Lazy"

Built-in names win. A name that two packages register is refused where it is used, with both.
Nothing of a package is imported before one of its names is used.
"""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.policies import source

# What may be registered -> the group of entry points.
GROUPS = {
    kind: f"opennandlab.{kind}"
    for kind in ("policies", "workloads", "traces", "codes", "reliability")
}


@dataclass(frozen=True)
class Plugin:
    """A name that a package registers.

    Args:
        kind: One of `GROUPS`.
        name: What users type.
        package: Who registers it.
        version: Version of that package.
        object: Where it leads, as `module:name`.
    """

    kind: str
    name: str
    package: str
    version: str
    object: str

    def load(self) -> Any:  # noqa: ANN401 (whatever it is)
        """Import the object.

        Raises:
            ConfigError: when it cannot be imported.
        """
        with source.allow_code():
            return source.taken(self.object, self.kind, self.kind)[1]


def installed(kind: str) -> list[Plugin]:
    """Return what is registered of a kind, by name; nothing is imported."""
    found = [
        Plugin(
            kind,
            point.name,
            "?" if point.dist is None else point.dist.name,
            "?" if point.dist is None else point.dist.version,
            point.value.replace(" ", ""),
        )
        for point in importlib.metadata.entry_points(group=GROUPS[kind])
    ]
    return sorted(set(found), key=lambda it: (it.name, it.package, it.object))


def find(kind: str, name: str, key: str) -> Plugin | None:
    """Return what is registered under a name that is not built in; None where nothing is.

    Raises:
        ConfigError: when two packages have registered it.
    """
    found = [plugin for plugin in installed(kind) if plugin.name == name]
    if len(found) > 1:
        packages = " and ".join(f"{it.package} {it.version} ({it.object})" for it in found)
        raise ConfigError(
            key, f"`{name}` is registered twice, by {packages}; accepted: module:name, to choose"
        )
    if not found:
        return None
    if source.is_trusted(name):
        source.trust([found[0].object])
    return found[0]


def named(kind: str, name: object, key: str) -> tuple[str, Any] | None:
    """Return the object of a name that is not built in, and its name as `module:name`.

    Args:
        kind: One of `GROUPS`.
        name: A registered name, `module:name` or `path/file.py:name`.
        key: Where it stands.

    Returns:
        None where nothing has this name.

    Raises:
        ConfigError: when it leads to nothing, or cannot be imported.
    """
    if not isinstance(name, str):
        return None
    if not source.is_name(name):
        plugin = find(kind, name, key)
        if plugin is None:
            return None
        name = plugin.object
    return name, source.taken(name, kind, key)[1]


def mapping(thing: Any, name: str, key: str, *arguments: object) -> dict[str, Any]:  # noqa: ANN401
    """Return the keys that an object stands for: it is a mapping, or gives one when called.

    Raises:
        ConfigError: when it is neither.
    """
    found = thing(*arguments) if callable(thing) else thing
    if not isinstance(found, dict):
        kind = type(found).__name__
        raise ConfigError(
            key, f"`{name}` is {kind}; accepted: a mapping, or a function that returns one"
        )
    return dict(found)
