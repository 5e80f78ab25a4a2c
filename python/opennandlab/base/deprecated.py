"""Old names: accepted with a warning until the version that refuses them.

`NAMES` is the one table. A row stays for at least one minor version, and leaves with the major
version that it names; docs/stability.md has the promise. Readers ask here only for a name that they
do not know, so that names in use cost nothing.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import import_module


class Deprecated(FutureWarning):
    """An old name was used; the command line shows this in a line."""

    is_told = True


@dataclass(frozen=True)
class Old:
    """An old name.

    Args:
        new: The name that takes its place.
        since: Version that renamed it.
        until: Version that refuses the old name.
    """

    new: str
    since: str
    until: str


# Kind -> old name -> its row. Commands are written as they are typed (`runs old`), options behind
# their command (`benchmark --old`), keys of device files by their dotted path.
NAMES: dict[str, dict[str, Old]] = {
    "command": {},
    "option": {},
    "key": {},
    "suite": {"power": Old("energy", "1.0", "2.0")},
    "name": {},
}


def current(kind: str, name: str) -> str:
    """Return the name in use for one that may be old, with a warning if it is.

    Args:
        kind: A row of `NAMES`.
        name: The name.
    """
    old = NAMES[kind].get(name)
    if old is None:
        return name
    text = f"{kind} `{name}` is called `{old.new}` since {old.since}; {old.until} will refuse it"
    warnings.warn(Deprecated(text), stacklevel=3)
    return old.new


def public(name: str) -> object:
    """Return the object that an old name of the package meant.

    Args:
        name: A name that the package does not have.

    Raises:
        AttributeError: if it never had it.
    """
    known = current("name", name)
    if known == name:
        raise AttributeError(f"module `opennandlab` has no `{name}`")
    return getattr(import_module("opennandlab"), known)
