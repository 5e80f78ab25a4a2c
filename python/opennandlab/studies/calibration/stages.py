"""The order of a fit: each key first by the cells that determine it, then all by all.

    t_wl by sequential writes ──► space by WAF or fills ──► reads ──► zones ──► load ──► all

A stage runs its own cells only, so the last one begins near the minimum and takes few runs of all.
Policies are compared by whole fits: see `variants`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opennandlab.studies.calibration import search
from opennandlab.studies.calibration.cells import Target
from opennandlab.studies.calibration.keys import Key
from opennandlab.studies.calibration.loads import FIRST_MINUTE, LOAD, SEQUENTIAL, ZONES
from opennandlab.studies.calibration.objective import Fixed, Objective, OfLoads

# Runs of the cells of a stage, for each key.
RUNS_PER_KEY = 24
Which = Callable[[Target], bool]


def _pattern(*names: str) -> Which:
    return lambda one: one.load is not None and one.load.pattern in names


def _is_space(one: Target) -> bool:
    is_part = one.load is not None and one.load.share < 1
    return (one.column == "waf" or is_part) and not _pattern(ZONES, LOAD)(one)


def _is_reads(one: Target) -> bool:
    is_few = one.load is not None and (one.load.read_pct >= 100 or not one.load.is_saturated)
    return (one.column == "r50" and is_few) or one.read_pct >= 100


# Name, beginnings of keys, and the cells that determine them.
STAGES: Sequence[tuple[str, tuple[str, ...], Which]] = (
    ("sequential", ("nand.program.", "nand.timing.t_program"),
     _pattern(SEQUENTIAL, FIRST_MINUTE)),
    ("space", ("ftl.over_provisioning", "ftl.metadata_share", "nand.blocks_per_plane"), _is_space),
    ("reads", ("nand.timing.t_read", "nand.timing.bus_mt_s"), _is_reads),
    ("zones", ("nand.pages_per_block",), _pattern(ZONES)),
    ("load", ("controller.suspend.", "controller.write_starvation_us"), _pattern(LOAD)),
)  # fmt: skip


def staged(
    keys: Sequence[Key],
    fitted: Sequence[Target],
    model: OfLoads,
    fixed: Mapping[str, Any],
    watch: Callable[[str], None] = lambda _: None,
) -> tuple[list[Key], int]:
    """Return keys that start where their own cells lead, and how many runs that took.

    Args:
        keys: The free keys.
        fitted: Cells that take part in the fit.
        model: What runs them.
        fixed: Keys that are set, by path.
        watch: Told the name of each stage.
    """  # fmt: skip
    values = {key.path: key.value(key.place(key.start)) for key in keys}
    runs = 0
    for name, beginnings, which in STAGES:
        own = [key for key in keys if key.path.startswith(beginnings)]
        cells = [one for one in fitted if which(one) and one.weight]
        is_all = len(own) == len(keys) and len(cells) == len(fitted)
        if not own or len(cells) < len(own) or is_all:
            continue
        watch(name)
        own = [replace(key, start=float(values[key.path])) for key in own]
        rest = {path: value for path, value in values.items() if path not in {k.path for k in own}}
        part = Fixed(model.part(cells), {**fixed, **rest})
        objective = Objective(own, cells, set(), part, RUNS_PER_KEY * len(own))
        place = [key.place(key.start) for key in own]
        objective.residuals([np.array(place)])
        search.refine(objective, RUNS_PER_KEY * len(own))
        runs += objective.runs
        if objective.best is not None:
            values |= objective.values(objective.best)
    return [replace(key, start=float(values[key.path])) for key in keys], runs
