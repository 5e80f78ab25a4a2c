"""What may be chance: how far two runs of one setting differ by their seeds.

The store has other seeds of the compared settings: their spread, relative to the mean and pooled
over the settings, gives the difference that two runs have by chance at the level of 5 % (least
significant difference). Without other seeds differences below `ASSUMED` are taken for noise.
Numbers with an interval keep it, and runs of one drive, load and seed have no chance between them
(`side.is_drawn`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from msgspec import structs

from opennandlab.comparing.rows import ASSUMED, with_chance
from opennandlab.comparing.side import Side
from opennandlab.stats.student import quantile
from opennandlab.store import Entry, Store
from opennandlab.store.conditions import equals
from opennandlab.store.entry import settings_hash


@dataclass(frozen=True)
class Noise:
    """By how much runs differ by chance.

    Args:
        ratios: Relative least significant difference of each number, from other seeds.
        seeds: Runs that this is from.
    """

    ratios: Mapping[str, float] = field(default_factory=dict)
    seeds: int = 0

    def of(self, path: str) -> float:
        """Return the relative difference below which two values are alike."""
        return self.ratios.get(path, ASSUMED)

    @property
    def text(self) -> str:
        """Which differences are coloured, as a sentence."""
        if self.ratios:
            return (
                f"Coloured: best and worst, where they differ by more than chance (5 % level), by "
                f"the spread over {self.seeds} runs of these settings with other seeds."
            )
        return (
            f"The store has no other seeds of these settings, so it is not known what is chance: "
            f"only differences of more than {100 * ASSUMED:.0f} % are coloured."
        )


def noise(store: Store, entries: Sequence[Entry], paths: Sequence[str]) -> Noise:
    """Return by how much runs like these differ by chance.

    Args:
        store: Where their other seeds are.
        entries: The runs that are compared.
        paths: The numbers.
    """
    kinds = {(settings_hash(it.settings), it.verb, it.program, it.model_version) for it in entries}
    known = set(store.names().metrics).intersection(paths)
    squares = dict.fromkeys(known, 0.0)
    freedom = dict.fromkeys(known, 0)
    count = 0
    for settings, verb, program, model in kinds:
        where = [equals("settings", settings), equals("verb", verb), equals("program", program),
                 f"model_version={model}", "status=done"]  # fmt: skip
        rows = store.rows(where=where, columns=["key", *known])
        values = {name: dict(zip(rows.column("key"), rows.column(name), strict=True))
                  for name in known}  # fmt: skip
        seeds = set(rows.column("key"))
        count += len(seeds) if len(seeds) > 1 else 0
        for name, by_key in values.items():
            found = [one for one in by_key.values() if isinstance(one, float)]
            mean = sum(found) / len(found) if found else 0.0
            if len(found) > 1 and mean:
                squares[name] += sum((one / mean - 1.0) ** 2 for one in found)
                freedom[name] += len(found) - 1
    return Noise(
        {
            name: quantile(0.95, freedom[name]) * math.sqrt(2.0 * squares[name] / freedom[name])
            for name in known if freedom[name]
        },
        count,
    )  # fmt: skip


def without(side: Side, found: Noise) -> Side:
    """Return a comparison in which noise is neither best nor worst."""
    metrics = {
        path: row if row.chance_pct is None else with_chance(row, found.of(path))
        for path, row in side.comparison.metrics.items()
    }
    comparison = structs.replace(side.comparison, metrics=metrics)
    return replace(side, comparison=comparison, seeds=found.seeds)
