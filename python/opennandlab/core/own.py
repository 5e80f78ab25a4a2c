"""Names in device files that lead out of the package: what they stand for is put in their place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.policies import placer, plugins, source
from opennandlab.policies import policy as policies


def with_names(document: dict[str, Any]) -> tuple[dict[str, Any], policies.Policy | None]:
    """Return a device in which names of the user's own stand for what they lead to.

    Raises:
        ConfigError: for a name that leads to nothing.
    """
    kind = _kind(document.get("reliability"))
    if source.is_name(kind):
        document = document | {"reliability": model(str(kind))}
    ftl = document.get("ftl")
    if isinstance(ftl, Mapping) and "placement" in ftl:
        ftl = {**ftl, "placement": placer.resolved(ftl["placement"])}
        document = document | {"ftl": ftl}
    chosen = ftl.get("gc_policy") if isinstance(ftl, Mapping) else None
    given = {"kind": chosen} if isinstance(chosen, str) else chosen
    if not isinstance(given, Mapping):
        return document, None
    record, policy = policies.resolved(given)
    if policy is None:
        return document, None
    return document | {"ftl": {**document["ftl"], "gc_policy": record}}, policy


def with_records(document: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a device in which names of the user's own are recorded, and run by nobody.

    Returns:
        The device, and the names by key.

    Raises:
        ConfigError: for a name that leads to no source.
    """
    named: dict[str, str] = {}
    kind = _kind(document.get("reliability"))
    if source.is_name(kind):
        named["reliability"] = str(kind)
        document = {key: value for key, value in document.items() if key != "reliability"}
    ftl = document.get("ftl")
    if not isinstance(ftl, Mapping):
        return document, named
    ftl = dict(ftl)
    if "gc_policy" in ftl:
        ftl["gc_policy"] = policies.recorded(ftl["gc_policy"])
        named |= _name_in(ftl["gc_policy"], policies.KEY)
    if "placement" in ftl:
        ftl["placement"] = placer.recorded(ftl["placement"])
        by = ftl["placement"].get("by") if isinstance(ftl["placement"], Mapping) else None
        named |= _name_in(by, placer.KEY)
    return document | {"ftl": ftl}, named


def _name_in(record: object, key: str) -> dict[str, str]:
    name = record.get("name") if isinstance(record, Mapping) else None
    return {} if name is None else {key: str(name)}


def texts(value: object) -> Iterator[str]:
    """Yield all texts in a value of YAML, but for keys.

    >>> list(texts({"a": ["b", {"c": "d"}], "e": 1}))
    ['b', 'd']
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from texts(inner)


def namings(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a device file where code may be named, and no others.

    >>> list(namings({"name": "a:b", "ftl": {"gc_policy": "my:Greedy"}, "reliability": "tlc"}))
    ['tlc', 'my:Greedy']
    """
    ftl = document.get("ftl")
    inner = ftl if isinstance(ftl, Mapping) else {}
    yield from texts([document.get("reliability"), inner.get("gc_policy"), inner.get("placement")])


def with_registered(document: dict[str, Any], error: ConfigError) -> dict[str, Any] | None:
    """Return a device that the core has refused for a name that some package has registered.

    None where that is not what it was refused for.

    Raises:
        ConfigError: when two packages have registered the name.
    """
    if "unknown variant" not in error.message:
        return None
    if error.path == "reliability":
        plugin = plugins.find("reliability", str(_kind(document["reliability"])), error.path)
        return None if plugin is None else document | {"reliability": plugin.object}
    if error.path != policies.KEY:
        return None
    given = document["ftl"]["gc_policy"]
    plugin = plugins.find("policies", str(_kind(given)), error.path)
    if plugin is None:
        return None
    rest = given if isinstance(given, Mapping) else {}
    return document | {"ftl": {**document["ftl"], "gc_policy": {**rest, "kind": plugin.object}}}


def _kind(value: object) -> object:
    return value.get("kind") if isinstance(value, Mapping) else value


def model(name: str) -> dict[str, Any]:
    """Return the section `reliability` that an object of somebody's own stands for.

    Raises:
        ConfigError: for a name that leads to nothing.
    """
    found = source.taken(name, "reliability", "reliability")[1]
    return plugins.mapping(found, name, "reliability")
