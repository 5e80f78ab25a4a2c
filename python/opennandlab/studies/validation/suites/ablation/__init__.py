"""Mechanisms: each switched on next to the same drive without it, and what that must change.

    flash        planes, registers, wordlines, times that differ        `flash`
    scheduling   who goes first on a die, suspension, collection         `scheduling`
    translation  where pages go and how often they are written           `translation`
    host         link, queues, arbitration, caches, throttles            `host`

Every row names two devices that differ in the keys of one mechanism, and what the difference must
be, computed from their configuration. The drives are small and their times round, so that the
reader can do the sum.
"""

from __future__ import annotations

from opennandlab.studies.validation.case import Case, Effort
from opennandlab.studies.validation.suites.ablation import flash, host, scheduling, translation

__all__ = ["PARTS", "cases"]

PARTS = (flash, scheduling, translation, host)


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick (one seed) or full (three); the drives are small in both.

    Example:
        >>> len({case.name for case in cases(Effort.QUICK)}) > 40
        True
    """
    del effort
    return [case for part in PARTS for case in part.cases()]
