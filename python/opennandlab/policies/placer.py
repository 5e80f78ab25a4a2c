"""Placement ids from Python: which open block each write of the host goes to.

    class HotFirst:
        def place(self, lpns, sizes, sources):
            return (lpns >= 1000).astype(int)

A drive with `ftl.placement` has ids; `by` names who gives them, in place of the workload.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from opennandlab.base.errors import ConfigError, PolicyError
from opennandlab.policies import source

KEY = "ftl.placement"
GROUP = "policies"
ACCEPTED = "an object or a class with `place(lpns, sizes, sources)`, or such a function"
# Keys of a placement; whatever is next to them are parameters of a class.
OWN_KEYS = {"kind", "handles", "isolation"}
HANDLES = 2


class Placed(Protocol):
    """A drive of the core."""

    def place_by(self, name: str, ask: Callable[[bytes, bytes, bytes], bytes]) -> None:
        """Let Python give writes their ids."""


@dataclass(frozen=True)
class Placer:
    """Who gives writes their ids.

    Args:
        thing: The object, class or function.
        name: `module:name`.
        sha256: SHA-256 of its source.
        parameters: Keyword arguments of the class.
    """

    thing: Any = field(repr=False)
    name: str
    sha256: str
    parameters: Mapping[str, Any]

    def record(self) -> dict[str, Any]:
        """Return what stands for it in a resolved device."""
        found: dict[str, Any] = {"name": self.name, "source_sha256": self.sha256}
        return found | ({"parameters": dict(self.parameters)} if self.parameters else {})

    def attach(self, core: Placed, ids: int) -> None:
        """Let a drive of so many ids ask it.

        Raises:
            Exception: whatever the constructor of a class raises.
        """
        thing = self.thing
        if inspect.isclass(thing):
            try:
                thing = thing(**self.parameters)
            except Exception as error:
                error.__notes__ = [  # type: ignore[attr-defined, unused-ignore]
                    f"in the policy `{self.name}`, made to place writes"
                ]
                raise
        core.place_by(self.name, _asking(getattr(thing, "place", thing), self.name, ids))


def _asking(
    place: Any,  # noqa: ANN401 (anything that can be called)
    name: str,
    ids: int,
) -> Callable[[bytes, bytes, bytes], bytes]:
    """Return what the core calls with a batch of writes."""
    import numpy as np

    def ask(lpns: bytes, sizes: bytes, sources: bytes) -> bytes:
        given = (
            np.frombuffer(lpns, np.uint32),
            np.frombuffer(sizes, np.uint32),
            np.frombuffer(sources, np.uint8),
        )
        try:
            found = np.asarray(place(*given))
        except Exception as error:
            error.__notes__ = [  # type: ignore[attr-defined, unused-ignore]
                f"in the policy `{name}`, asked where {len(given[0])} writes go"
            ]
            raise
        if found.shape != given[0].shape or not np.issubdtype(found.dtype, np.integer):
            raise PolicyError(
                f"the policy `{name}` returned {found.dtype} of shape {found.shape} for "
                f"{len(given[0])} writes; accepted: an integer for each"
            )
        wrong = np.flatnonzero((found < 0) | (found >= ids))
        if wrong.size:
            place_of = int(wrong[0])
            raise PolicyError(
                f"the policy `{name}` gave page {given[0][place_of]} the id {found[place_of]}; "
                f"accepted: 0 to {ids - 1}, the ids of ftl.placement"
            )
        return found.astype(np.uint8).tobytes()

    return ask


def resolved(given: object) -> object:
    """Return what is to stand for `ftl.placement`.

    Args:
        given: As in a device file: `module:name`, `{kind: module:name, handles: N, …}`, or a
            placement whose `by` is a name, or a mapping of `kind` and parameters.

    Raises:
        ConfigError: for a name that leads to nothing that can place.
    """
    chosen = {"kind": given} if isinstance(given, str) else given
    if not isinstance(chosen, Mapping):
        return given
    if source.is_name(chosen.get("kind")):
        parameters = {key: value for key, value in chosen.items() if key not in OWN_KEYS}
        placer = named(str(chosen["kind"]), parameters)
        own = {key: chosen[key] for key in ("handles", "isolation") if key in chosen}
        handles = getattr(placer.thing, "handles", HANDLES)
        return {"kind": "fdp", "handles": handles, **own, "by": placer.record()}
    by = chosen.get("by")
    by = {"kind": by} if isinstance(by, str) else by
    if isinstance(by, Mapping) and "name" not in by:
        parameters = {key: value for key, value in by.items() if key != "kind"}
        return {**chosen, "by": named(str(by.get("kind")), parameters).record()}
    return given


def recorded(given: object) -> object:
    """Return what is to stand for `ftl.placement` where nothing of it is run.

    Raises:
        ConfigError: for a name that leads to no source.
    """
    chosen = {"kind": given} if isinstance(given, str) else given
    if not isinstance(chosen, Mapping):
        return given
    if source.is_name(chosen.get("kind")):
        own = {key: value for key, value in chosen.items() if key in OWN_KEYS and key != "kind"}
        rest = {key: value for key, value in chosen.items() if key not in OWN_KEYS}
        named_by = source.record(str(chosen["kind"]), KEY, rest)
        return {"kind": "fdp", "handles": HANDLES, **own, "by": named_by}
    by = chosen.get("by")
    by = {"kind": by} if isinstance(by, str) else by
    if isinstance(by, Mapping) and "name" not in by:
        rest = {key: value for key, value in by.items() if key != "kind"}
        return {**chosen, "by": source.record(str(by.get("kind")), KEY, rest)}
    return given


def named(name: str, parameters: Mapping[str, Any], recorded: object = source.TYPED) -> Placer:
    """Return the placer of a name.

    Raises:
        ConfigError: for a name that leads to nothing that can place, another source than the one
            that is recorded, and parameters that the class does not take.
    """
    found, thing = source.taken(name, GROUP, KEY, recorded)
    is_class = inspect.isclass(thing)
    if not callable(getattr(thing, "place", None if is_class else thing)):
        kind = type(thing).__name__
        raise ConfigError(KEY, f"`{name}` ({kind}) cannot be asked; accepted: {ACCEPTED}")
    if parameters and not is_class:
        names = ", ".join(parameters)
        raise ConfigError(KEY, f"`{name}` is not a class and takes no parameters: {names}")
    if is_class:
        try:
            inspect.signature(thing).bind(**parameters)
        except TypeError as error:
            raise ConfigError(KEY, f"`{name}`: {error}") from error
    return Placer(thing, name, found.sha256, dict(parameters))


def attach(core: Placed, placement: Mapping[str, Any]) -> None:
    """Let a drive ask whom its resolved `ftl.placement` names, if it names anybody.

    Raises:
        ConfigError: as `named`.
    """
    by = placement.get("by")
    if by is not None:
        ids = placement["handles"] if placement["kind"] == "fdp" else placement["count"] + 1
        placer = named(by["name"], by.get("parameters") or {}, by.get("source_sha256"))
        placer.attach(core, int(ids))
