"""Short names that distinguish files: what all paths share is left out.

runs/a/iops.json    runs/b/iops.json       ──►  a        b
w2-greedy.json      w2-fifo.json           ──►  w2-greedy  w2-fifo
x/one/iops.json     y/one/latency.json     ──►  x/one/iops  y/one/latency
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

# Where a shared beginning or end of names may be cut.
BORDER = re.compile(r"(?<=[-_./ =,])")


def names_of(files: Sequence[str]) -> list[str]:
    """Return names that distinguish files; a file that is given twice has numbers.

    >>> names_of(["a/w2-greedy.json", "a/w2-fifo.json"])
    ['w2-greedy', 'w2-fifo']
    >>> names_of(["a/iops.json", "b/iops.json"]), names_of(["x/a/iops.json", "x/b/other.json"])
    (['a', 'b'], ['iops', 'other'])
    >>> names_of(["a.json", "a.json"])
    ['#1 a', '#2 a']
    """
    parts = [_parts(name) for name in files]
    stems = [one[-1] for one in parts]
    if len(set(stems)) == len(stems):
        return stems
    # Folders that all share say nothing, nor does the name of the file where it is always the same.
    while all(len(one) > 1 for one in parts) and len({one[0] for one in parts}) == 1:
        parts = [one[1:] for one in parts]
    while all(len(one) > 1 for one in parts) and len({one[-1] for one in parts}) == 1:
        parts = [one[:-1] for one in parts]
    found = ["/".join(one) for one in parts]
    if len(set(found)) == len(found):
        return found
    return [f"#{place + 1} {stem}" for place, stem in enumerate(stems)]


def by_keys(names: Sequence[str]) -> tuple[str, list[str]] | None:
    """Return the keys that all names set, and the values of each name; None for other names.

    >>> by_keys(["op=0.2, depth=1", "op=0.3, depth=4"]), by_keys(["op=0.2", "greedy"])
    (('op, depth', ['0.2, 1', '0.3, 4']), None)
    """
    parts = [[one.partition("=") for one in name.split(", ")] for name in names]
    keys = [[key for key, _, _ in one] for one in parts]
    if any(one != keys[0] for one in keys) or not all(sign for one in parts for _, sign, _ in one):
        return None
    return ", ".join(keys[0]), [", ".join(value for _, _, value in one) for one in parts]


def folded(names: Sequence[str], chars_max: int) -> list[str] | None:
    """Return names of at most so many characters that still differ; None where that fails.

    What all of them begin or end with is replaced by `…`.

    >>> folded(["drive-writes-greedy-op7", "drive-writes-fifo-op7"], 10)
    ['…greedy…', '…fifo…']
    >>> folded(["a", "b"], 10), folded(["x" * 20 + "1", "x" * 20 + "2"], 10)
    (['a', 'b'], None)
    """
    if all(width(name) <= chars_max for name in names):
        return list(names)
    pieces = [BORDER.split(name) for name in names]
    begin = _shared(pieces)
    end = _shared([one[begin:][::-1] for one in pieces])
    found = []
    for one in pieces:
        middle = "".join(one[begin : len(one) - end])
        found.append(f"{'…' if begin else ''}{middle.rstrip('-_./ =,')}{'…' if end else ''}")
    fits = all(width(name) <= chars_max for name in found)
    return found if fits and len(set(found)) == len(found) else None


def letters(count: int) -> list[str]:
    """Return so many letters: `A` to `Z`, then `AA`.

    >>> letters(28)[0], letters(28)[25:]
    ('A', ['Z', 'AA', 'AB'])
    """
    found = []
    for place in range(count):
        text, rest = "", place + 1
        while rest:
            rest, letter = divmod(rest - 1, 26)
            text = chr(ord("A") + letter) + text
        found.append(text)
    return found


def width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    from unicodedata import combining, east_asian_width

    if text.isascii():
        return len(text)
    return sum(
        0 if combining(one) else 2 if east_asian_width(one) in {"W", "F"} else 1 for one in text
    )


def _parts(name: str) -> list[str]:
    """Return folders and stem of a path."""
    parts = [part for part in name.replace(os.sep, "/").split("/") if part not in {"", "."}]
    if parts and "." in parts:
        parts = [part for part in parts if part != "."]
    stem = parts[-1] if parts else name
    return [*parts[:-1], stem.removesuffix(".json") or stem]


def _shared(lists: Sequence[Sequence[str]]) -> int:
    """Return how many first pieces all share; the last piece of each stays."""
    count = 0
    for together in zip(*(one[:-1] for one in lists), strict=False):
        if len(set(together)) > 1:
            break
        count += 1
    return count
