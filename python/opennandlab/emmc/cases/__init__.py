"""The table of conformance cases: one file per chapter of the standard, in its order.

A chapter is a module with a `GROUP`; a new one is a file here and a name in `CHAPTERS`.
"""

from __future__ import annotations

from importlib import import_module

from opennandlab.emmc.card import Card
from opennandlab.emmc.case import Case

CHAPTERS = (
    "identification", "registers", "switching", "transfer", "reliable", "erasing", "protection",
    "caching", "packing", "interrupt", "background", "power", "booting", "replay", "queueing",
)  # fmt: skip


def cases() -> list[Case[Card]]:
    """Return all cases, in the order in which they run."""
    modules = (import_module(f"{__name__}.{chapter}") for chapter in CHAPTERS)
    return [case for module in modules for case in module.GROUP.cases]
