"""Policies of the user's own: what may be one, how it is recorded, and how a drive asks it.

```text
--set ftl.gc_policy=module:name ─┐                ┌─ class: one object for each pool
device file, sweep ──────────────┼─► Policy ──────┼─ object with choose(pool), or a function
onl.benchmark(gc_policy=…) ──────┘   │            └─ native function: numba, ctypes
                                     └─► {kind: python, name, source_sha256, parameters}
```
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from opennandlab.base.errors import ConfigError
from opennandlab.policies import native, source

KEY = "ftl.gc_policy"
GROUP = "policies"
ACCEPTED = (
    "an object or a class with `choose(pool)`, a function of a pool, or a native function "
    "(numba.cfunc, ctypes)"
)


class Asking(Protocol):
    """A drive of the core."""

    def consult(self, name: str, make: Callable[[int, int, int], Any]) -> None:
        """Ask Python for victims."""

    def consult_native(self, name: str, address: int, owner: object) -> None:
        """Ask a native function for victims."""


@dataclass(frozen=True)
class Policy:
    """A policy that was found, and runs.

    Args:
        thing: The object, class or function.
        name: How it is recorded.
        sha256: SHA-256 of its source; None if it has no source.
        parameters: Keyword arguments of the class.
        is_object: `name` does not lead back to it.
    """

    thing: Any = field(repr=False)
    name: str
    sha256: str | None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    is_object: bool = False

    def record(self) -> dict[str, Any]:
        """Return what stands for it in a resolved device."""
        found: dict[str, Any] = {
            "kind": "python", "name": self.name, "source_sha256": self.sha256,
        }  # fmt: skip
        if self.parameters:
            found["parameters"] = dict(self.parameters)
        return found | ({"object": True} if self.is_object else {})

    def attach(self, core: Asking) -> None:
        """Let a drive ask it.

        Raises:
            Exception: whatever the constructor of a class raises.
        """
        address = native.address_of(self.thing)
        if address is not None:
            core.consult_native(self.name, address, self.thing)
        else:
            core.consult(self.name, self._made)

    def _made(self, die: int, block_count: int, pages_per_block: int) -> Any:  # noqa: ANN401
        """Return what the core calls for a pool, with its arrays."""
        # Numerics are loaded for policies alone, not by whoever reads a device.
        from opennandlab.policies.pool import Pool, made

        pool = Pool(die, block_count, pages_per_block)
        thing = self.thing
        if inspect.isclass(thing):
            try:
                thing = thing(**self.parameters)
            except Exception as error:
                note = f"in the policy `{self.name}`, made for die {die}"
                error.__notes__ = [note]  # type: ignore[attr-defined, unused-ignore]
                raise
        return made(getattr(thing, "choose", thing), pool)


def resolved(given: Mapping[str, Any]) -> tuple[dict[str, Any], Policy | None]:
    """Return what is to stand for `ftl.gc_policy`, and the policy if that is the user's own.

    Args:
        given: `{kind: name, parameters…}` as in a device file.

    Raises:
        ConfigError: for a name that leads to no policy, and parameters that it does not take.
    """
    kind = given.get("kind")
    parameters = {key: value for key, value in given.items() if key != "kind"}
    if kind == "python":
        return _again(given)
    if not source.is_name(kind):
        return dict(given), None
    policy = named(str(kind), parameters)
    return policy.record(), policy


def recorded(given: object) -> object:
    """Return the record of a policy that is named, of which nothing is run; else what was given.

    Raises:
        ConfigError: for a name that leads to no source.
    """
    kind = given.get("kind") if isinstance(given, Mapping) else given
    if not source.is_name(kind):
        return given
    rest = given if isinstance(given, Mapping) else {}
    parameters = {key: value for key, value in rest.items() if key != "kind"}
    return {"kind": "python"} | source.record(str(kind), KEY, parameters)


def named(name: str, parameters: Mapping[str, Any], recorded: object = source.TYPED) -> Policy:
    """Return the policy of a name.

    Args:
        name: `module:name` or `path/file.py:name`.
        parameters: Keyword arguments of the class.
        recorded: The SHA-256 next to a recorded name.

    Raises:
        ConfigError: as `resolved` says.
    """
    found, thing = source.taken(name, GROUP, KEY, recorded)
    policy = Policy(thing, name, found.sha256, dict(parameters))
    _check(policy)
    return policy


def given(thing: Any) -> Policy:  # noqa: ANN401 (anything may be handed over)
    """Return the policy that somebody handed over as an object, a class, a function or a name.

    Raises:
        ConfigError: for what cannot be asked.
    """
    if isinstance(thing, str):
        source.trust([thing])
        return named(thing, {})
    name, is_lasting = source.name_of(thing)
    # The class of compiled code is that of its compiler.
    is_bare = native.address_of(thing) is not None and not hasattr(thing, "__wrapped__")
    sha256 = None if is_bare else source.hash_of(thing)
    is_lasting = is_lasting and source.leads_back(name, GROUP)
    policy = Policy(thing, name, sha256, is_object=not is_lasting)
    _check(policy)
    if is_lasting and sha256 is not None:
        source.admit([(name, sha256)])
    return policy


def _again(record: Mapping[str, Any]) -> tuple[dict[str, Any], Policy | None]:
    """Return the policy of a resolved device, if its source is still the one that is recorded."""
    name, sha256 = str(record.get("name")), record.get("source_sha256")
    if record.get("object"):
        return dict(record), None
    parameters = record.get("parameters") or {}
    if not isinstance(parameters, Mapping):
        return dict(record), None  # the core says what is accepted
    policy = named(name, parameters, sha256)
    return policy.record(), policy


def _check(policy: Policy) -> None:
    """Refuse what cannot be asked, and unknown parameters."""
    thing = policy.thing
    address = native.address_of(thing)
    is_class = inspect.isclass(thing)
    if address is not None:
        native.check(thing, policy.name)
    elif not callable(getattr(thing, "choose", None if is_class else thing)):
        raise ConfigError(
            KEY, f"`{policy.name}` ({type(thing).__name__}) cannot be asked; accepted: {ACCEPTED}"
        )
    if not is_class:
        if policy.parameters:
            names = ", ".join(policy.parameters)
            message = f"`{policy.name}` is not a class and takes no parameters: {names}"
            raise ConfigError(KEY, message)
        return
    try:
        inspect.signature(thing).bind(**policy.parameters)
    except TypeError as error:
        raise ConfigError(
            KEY,
            f"`{policy.name}`: {error}; accepted: the keyword arguments of "
            f"{thing.__name__}{inspect.signature(thing)}",
        ) from error
    except ValueError:  # no signature is known: its constructor will say
        return
