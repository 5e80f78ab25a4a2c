"""Documents as users wrote them: comments above keys, and lists that the core would take."""

from __future__ import annotations

import re
from collections.abc import Mapping

from opennandlab.base.errors import ConfigError


def comments(text: str) -> dict[str, str]:
    r"""Return the comment right above each inner key of a block-style YAML text, by dotted path.

    A comment above a top-level key is the heading of its section, and is left out.

    >>> comments("nand:\n  # Datasheet, page 3.\n  channels: 4\n  dies_per_channel: 2\n")
    {'nand.channels': 'Datasheet, page 3.'}
    """
    found: dict[str, str] = {}
    parents: list[tuple[int, str]] = []
    above: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            above.append(stripped.lstrip("# "))
            continue
        key = re.match(r"( *)([\w-]+):(?: |$)", line)
        if key:
            depth = len(key.group(1))
            parents = [parent for parent in parents if parent[0] < depth] + [(depth, key.group(2))]
            if above and len(parents) > 1:
                found[".".join(name for _, name in parents)] = " ".join(above)
        above = []
    return found


def refuse_lists(given: object, resolved: object, path: str = "") -> None:
    """Refuse a list in place of a mapping: the core would take its items as values in order.

    Args:
        given: A document, or a part of it.
        resolved: What the core made of it.
        path: Dotted path of the part.

    Raises:
        ConfigError: with the path of the first such list.
    """
    if given is None or isinstance(given, str | int | float):
        return
    if isinstance(given, list) and isinstance(resolved, Mapping):
        raise ConfigError(path, "a list was given; accepted: a mapping of keys to values")
    if isinstance(given, Mapping) and isinstance(resolved, Mapping):
        for key, value in given.items():
            refuse_lists(value, resolved.get(str(key)), f"{path}.{key}" if path else str(key))
    elif isinstance(given, list) and isinstance(resolved, list):
        for index, (one, other) in enumerate(zip(given, resolved, strict=False)):
            refuse_lists(one, other, f"{path}[{index}]")
