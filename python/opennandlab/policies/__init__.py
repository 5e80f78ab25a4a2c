"""Policies of your own: which block is collected next, decided in Python or by native code.

class Greedy:
    def choose(self, pool):
        return pool.order[pool.live[pool.order].argmin()]

onl.benchmark("tlc_standard", "W2", gc_policy=Greedy)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opennandlab.policies.native import FUNCTION, SIGNATURE

if TYPE_CHECKING:
    from opennandlab.policies.pool import NO_RANK, Pool, State

__all__ = ["FUNCTION", "NO_RANK", "SIGNATURE", "Pool", "State"]


def __getattr__(name: str) -> object:
    """Load numerics when they are asked for."""
    if name in {"NO_RANK", "Pool", "State"}:
        from opennandlab.policies import pool

        return getattr(pool, name)
    raise AttributeError(f"module `opennandlab.policies` has no `{name}`")
