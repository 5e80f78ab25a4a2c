"""A point: one thing to run, and the key that is the same wherever it is asked for.

The key is the hash of what is run, of its resolved settings, its seed and the version of the model:
all that the numbers depend on, and nothing else. Two points with one key are one point, so a sweep
that is asked for again finds its points in the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from opennandlab import _core
from opennandlab.documents.record import JsonObject
from opennandlab.store.entry import PATHS, Scalar, key_of

__all__ = ["PATHS", "Point", "Scalar"]


@dataclass(frozen=True)
class Point:
    """One thing to run.

    Args:
        verb: What is run, such as `benchmark` or `ecc.curve`.
        settings: All that the result depends on but the seed, every default filled in. What
            stands under `paths` (files, by role) is not part of the key.
        seed: Seed of all randomness; None where there is none.
        coordinates: What was varied, by dotted key: for tables and plots, not part of the key.
    """

    verb: str
    settings: JsonObject
    seed: int | None
    coordinates: Mapping[str, Scalar] = field(default_factory=dict)

    @cached_property
    def key(self) -> str:
        """SHA-256 of what decides the result, in hex.

        >>> one, other = ({"device": "a", "paths": {"trace": name}} for name in ("x", "y"))
        >>> Point("replay", one, 42).key == Point("replay", other, 42).key
        True
        """
        return key_of(self.verb, self.settings, self.seed, _core.model_version())
