"""Placers that tests name: sound ones, and one for each way to be wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

__opennandlab__ = {
    "policies": [
        "HotCold",
        "BySource",
        "large",
        "beyond",
        "few",
        "half",
        "raises",
    ]
}


class HotCold:
    """The first pages are hot, as a workload with `placement: {by: hot_cold}` has it."""

    handles = 2

    def __init__(self, limit: int = 500) -> None:
        self.limit = limit

    def place(self, lpns: Any, sizes: Any, sources: Any) -> Any:
        return (lpns >= self.limit).astype(int)


class BySource:
    """Each host has an id of its own."""

    def place(self, lpns: Any, sizes: Any, sources: Any) -> Any:
        return sources


def large(lpns: Any, sizes: Any, sources: Any) -> Any:
    """Large writes are kept apart."""
    return np.where(sizes > 1, 1, 0)


def beyond(lpns: Any, sizes: Any, sources: Any) -> Any:
    return lpns


def few(lpns: Any, sizes: Any, sources: Any) -> Any:
    return [0]


def half(lpns: Any, sizes: Any, sources: Any) -> Any:
    return np.full(lpns.shape, 0.5)


def raises(lpns: Any, sizes: Any, sources: Any) -> Any:
    raise ValueError("no idea")
