"""One finished point: what a store keeps, and the key that states which point it is.

A *point* is a verb, its resolved settings and a seed. The key is the SHA-256 of these and of the
version of the model, so one point has one key wherever it was run. `coordinates` say what was
varied, for people, and do not enter the key.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from opennandlab.base.canonical import as_bytes, canonical_json
from opennandlab.base.errors import StoreError
from opennandlab.documents.record import JsonObject, shown

Scalar = str | int | float | bool | None
KEY = re.compile("[0-9a-f]{64}")
# The part of settings that names files on one machine: their content decides, not their place.
PATHS = "paths"
# Names of what is varied and measured stand in tables and conditions.
NAME_CHARS_MAX = 500


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One finished point.

    Args:
        key: 64 hex digits; equal keys are the same point.
        verb: What was run: `benchmark`, `replay`, `pts.iops`, `ecc.curve` …
        seed: Seed of all randomness; None where there is none.
        settings: Resolved: all that the result depends on but the seed. What stands under `paths`
            (files, by role) is not part of the key.
        coordinates: What was varied, by dotted key.
        metrics: Numbers of the document by dotted name.
        document: The whole document; None for a point that failed.
        error: Why the point failed; None when it is done.
        wall_s: Wall time, s.
        program: Version of the program; `unknown` for documents that do not say.
        model_version: Version of the model; 0 for documents that do not say.
        created: When, ISO 8601, UTC.
        host: Name of the machine; empty when not known.
        sweep: Name of the sweep it came from.
    """

    key: str
    verb: str
    seed: int | None
    settings: JsonObject
    coordinates: Mapping[str, Scalar]
    metrics: Mapping[str, float]
    document: JsonObject | None
    error: str | None
    wall_s: float
    program: str
    model_version: int
    created: str
    host: str
    sweep: str | None

    @property
    def done(self) -> bool:
        """Whether the point has a document."""
        return self.error is None


@dataclass(frozen=True)
class Added:
    """What became of entries that were added.

    Args:
        new: Keys that the store did not have.
        replaced: Failed points that are done now, or failed again.
        known: Points that were there already, with the same document.
    """

    new: int = 0
    replaced: int = 0
    known: int = 0

    @property
    def total(self) -> int:
        """All entries that were given."""
        return self.new + self.replaced + self.known


def key_of(verb: str, settings: JsonObject, seed: int | None, model_version: int) -> str:
    """Return the key of a point.

    >>> one, other = ({"device": "a", "paths": {"trace": name}} for name in ("x", "y"))
    >>> key_of("replay", one, 42, 9) == key_of("replay", other, 42, 9)
    True
    """
    identity = {
        "verb": verb,
        "settings": without_paths(settings),
        "seed": seed,
        "model_version": model_version,
    }
    return hashlib.sha256(as_bytes(canonical_json(identity))).hexdigest()


def settings_hash(settings: JsonObject) -> str:
    """Return 16 hex digits that are equal for points which differ in nothing but the seed."""
    return hashlib.sha256(as_bytes(canonical_json(without_paths(settings)))).hexdigest()[:16]


def without_paths(settings: JsonObject) -> JsonObject:
    """Return settings without the places of files."""
    return {name: part for name, part in settings.items() if name != PATHS}


def numbers(document: object, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield the finite numbers of a document by dotted path; lists are left out.

    >>> dict(numbers({"waf": 2.0, "wear": {"mean": 1}, "ok": True, "name": "x", "list": [1]}))
    {'waf': 2.0, 'wear.mean': 1.0}
    """
    if isinstance(document, Mapping):
        for key, value in document.items():
            yield from numbers(value, f"{path}.{key}" if path else str(key))
    elif isinstance(document, int | float) and not isinstance(document, bool):
        with contextlib.suppress(OverflowError):  # an integer beyond 1e308
            value = float(document)
            if math.isfinite(value):
                yield path, value


def refuse_odd(entry: Entry) -> None:
    """Refuse an entry that a store could not give back as it is.

    Raises:
        StoreError: naming the entry, the part, the value and what is accepted.
    """
    if not isinstance(entry.key, str) or not KEY.fullmatch(entry.key):
        raise StoreError(f"the key {shown(entry.key)} is not valid; accepted: 64 hex digits")
    problem = _oddity(entry)
    if problem is not None:
        raise StoreError(f"{entry.key[:12]}…: {problem}")


def _oddity(entry: Entry) -> str | None:
    """Return what is odd about the parts of an entry; None where nothing is."""
    if (entry.error is None) == (entry.document is None):
        has = "neither a document nor" if entry.error is None else "both a document and"
        return f"has {has} an error; accepted: one of them"
    for kind, values in (("metric", entry.metrics), ("coordinate", entry.coordinates)):
        for name, value in values.items():
            if len(name) > NAME_CHARS_MAX:
                return (
                    f"the name of a {kind} has {len(name)} characters; accepted: {NAME_CHARS_MAX}"
                )
            if isinstance(value, float) and not math.isfinite(value):
                return f"the {kind} `{name}` is {value}; accepted: a finite number"
    numbers = (int, float)
    for name, number in (*entry.metrics.items(), ("wall_s", entry.wall_s)):
        if type(number) not in numbers or not math.isfinite(number):
            return f"the metric `{name}` is {shown(number)}; accepted: a finite number"
    return None
