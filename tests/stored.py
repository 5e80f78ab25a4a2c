"""Entries for the tests of the store: small, and each made from a number alone."""

from __future__ import annotations

import hashlib
from typing import Any

from opennandlab.base.canonical import digest
from opennandlab.store import Entry, key_of

POLICIES = ("greedy", "fifo", "random")


def entry(number: int = 0, **changes: Any) -> Entry:
    """Return a finished point: seeds 0 to 4 of one setting follow each other."""
    group, seed = divmod(number, 5)
    settings = {"device": {"ftl": {"gc_policy": POLICIES[group % 3], "op": group}}}
    document = {"schema": "opennandlab.test/1", "seed": seed, "metrics": {"waf": 1 + number / 8}}
    document["digest"] = digest(document)
    parts: dict[str, Any] = {
        "key": key_of("benchmark", settings, seed, 9),
        "verb": "benchmark",
        "seed": seed,
        "settings": settings,
        "coordinates": {"ftl.gc_policy": POLICIES[group % 3], "ftl.op": group / 10},
        "metrics": {"waf": 1 + number / 8, "iops.read": 10.0, "iops.total": 100.0 * (number + 1)},
        "document": document,
        "error": None,
        "wall_s": 0.5,
        "program": "1.0",
        "model_version": 9,
        "created": f"2026-01-02T03:{number // 60 % 60:02}:{number % 60:02}Z",
        "host": "here",
        "sweep": "first",
    }
    return Entry(**(parts | changes))


def failed(number: int = 0, **changes: Any) -> Entry:
    """Return the same point, failed."""
    return entry(number, **({"document": None, "metrics": {}, "error": "it broke"} | changes))


def key(number: int) -> str:
    """Return some key that no entry has."""
    return hashlib.sha256(b"other %d" % number).hexdigest()
