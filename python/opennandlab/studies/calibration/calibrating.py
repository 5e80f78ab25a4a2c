"""A calibration: each variant is fitted, and the best one told."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from opennandlab import _core
from opennandlab.base.errors import ResultError
from opennandlab.base.threads import cores
from opennandlab.core.config import Source
from opennandlab.core.run import SEED
from opennandlab.documents import calibration as records
from opennandlab.studies.calibration import posterior, search
from opennandlab.studies.calibration.cells import Target
from opennandlab.studies.calibration.conditions import Asked
from opennandlab.studies.calibration.journal import Journal
from opennandlab.studies.calibration.objective import (
    Array,
    Fixed,
    Objective,
    OfLoads,
    OfSizes,
    Progress,
    start,
)
from opennandlab.studies.calibration.planning import Calibration, Free, Plan, To, plan
from opennandlab.studies.calibration.posterior import Variant
from opennandlab.studies.calibration.stages import staged
from opennandlab.studies.calibration.telling import NO_FIT_PCT, told
from opennandlab.studies.sweeps.engine import Threads

Watch = Callable[[Progress], None]
# A median error near one of these factors, within this log, is one of units.
UNITS, UNIT_OFF = (1000.0, 1024.0), 0.35


def calibrate(  # noqa: PLR0913 (all but three by name)
    device: Source,
    to: To,
    free: Free = (),
    *,
    hold_out: str | float | None = None,
    runs: int | None = None,
    starts: int | None = None,
    seed: int = SEED,
    asked: Asked | None = None,
    jobs: int | None = None,
    progress: Watch | None = None,
    weights: str | None = None,
    force: bool = False,
) -> Calibration:
    """Fit keys of a device file to a measured document.

    Args:
        device: Preset name, path, mapping or `DeviceConfig`.
        to: A document of IOPS, throughput, latency, skew, fill, zones or load, or a CSV of cells:
            path, `reference:NAME`, or the document; several of one drive too.
        free: Keys to fit, `KEY`, `KEY=LOW:HIGH` or `KEY=ONE,OTHER`; or keys with bounds, or a list
            of values. None: the device is compared with the document as it is.
        hold_out: Cells that take no part in the fit: a share, or names; None for a quarter.
        runs: Runs of each start, about; None for 40 per key.
        starts: Starts of the search at most. None for 4, and one of cells that are single runs.
        seed: Seed of all randomness.
        asked: Conditions of cells that differ from those of the document.
        jobs: Runs at a time; None for all cores.
        progress: Called with the progress.
        weights: Weights of kinds of figures, such as `waf=3,p99.9=0`.
        force: Take cells that are uncertain, as they are labelled.

    Returns:
        The fitted device and its document; after Ctrl-C the best, as partial.

    Raises:
        ConfigError: for a key, bounds or a device that is invalid.
        ResultError: for a document without common cells.

    One key does not make this small drive the measured one:

    >>> table = {"nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
    ...                   "blocks_per_plane": 64, "pages_per_block": 32}}
    >>> small = Asked(requests=50, amount_bytes=2 << 20)
    >>> found = calibrate(table, "reference:client_2013_latency", ["nand.timing.t_read_us=20:200"],
    ...                   hold_out=0, asked=small)
    >>> found.document.keys[0].verdict
    'flat'

    >>> found = calibrate(table, "reference:client_2013_latency", asked=small)
    >>> found.document.runs, found.document.fitted.count, found.document.held_out
    (1, 9, None)
    """
    found = plan(
        device, to, free, hold_out=hold_out, runs=runs, starts=starts, seed=seed, asked=asked,
        weights=weights, force=force,
    )  # fmt: skip
    return run(found, jobs=jobs, watch=progress)


def run(
    wanted: Plan,
    *,
    jobs: int | None = None,
    journal: Path | None = None,
    watch: Watch | None = None,
    command: str = "",
) -> Calibration:
    """Carry a plan out.

    Args:
        wanted: The plan.
        jobs: Runs at a time; None for all cores.
        journal: Where runs are kept until the end; None for nowhere.
        watch: Called with the progress.
        command: What ran it.

    Raises:
        ConfigError: for the journal of another calibration or process, or one that is damaged.
        ResultError: for a device that cannot run the cells.
        KeyboardInterrupt: on Ctrl-C before the device was run once.
    """
    began = time.monotonic()
    kept = Journal(journal, wanted.sha256)
    engine = Threads(jobs or cores())
    model = _model(wanted, engine, kept)
    most = (wanted.runs_max * wanted.starts_max + 1) * len(wanted.choices)
    base = Objective(wanted.keys, wanted.targets, wanted.held, model, most, watch)
    model.tick = base.tell
    is_partial = False
    first: Array | None = None
    slopes: search.Slopes | None = None
    variants: list[Variant] = []
    try:
        first = start(base, model)
        checked(wanted.targets, first)
        best = _searched(wanted, model, base, variants)
        best.stage = "sensitivity"
        slopes = slopes_at_best(best) if wanted.keys else None
    except KeyboardInterrupt:
        if first is None:
            raise
        for one in variants:
            one.objective.choose()
        is_partial = True
    finally:
        engine.close()
        kept.close(is_done=slopes is not None or not wanted.keys)
    runs = _runs(variants, base)
    if all(one.objective.best is None for one in variants):
        variants = [Variant({}, base)]
    facts = records.CalibrationRun(
        version=_core.version(), wall_s=round(time.monotonic() - began, 3),
        known=model.known_count, command=command,
    )  # fmt: skip
    return told(
        wanted, variants, first, slopes, facts, runs, is_partial=is_partial,
        warnings=_unsteady(model),
    )  # fmt: skip


def _runs(variants: Sequence[Variant], base: Objective) -> int:
    """Return the runs of all variants so far."""
    counts = (one.objective.before + one.objective.runs for one in variants)
    return max(counts, default=base.runs)


def _searched(
    wanted: Plan, model: OfSizes | OfLoads, base: Objective, variants: list[Variant]
) -> Objective:
    """Fit all choices into `variants`; return the best one, with the runs of all before it."""
    runs = base.runs if wanted.choices != [{}] else 0
    for choice in wanted.choices:
        base.before = runs
        runs += _fit(wanted, model, base, choice, variants)
    best = _best(wanted, variants)
    best.before = runs - best.runs
    if isinstance(model, OfLoads) and wanted.keys and (best.rms_pct() or 0.0) > NO_FIT_PCT:
        # Nothing fits near where the keys began: then the whole range is searched.
        search.find(best, wanted.runs_max, wanted.seed)
        runs = _runs(variants, base)
        best = _best(wanted, variants)
        best.before = runs - best.runs
    return best


def _unsteady(model: OfSizes | OfLoads) -> list[str]:
    names = sorted(model.unsteady) if isinstance(model, OfLoads) else []
    return [f"{name}: the WAF still moved at the end of its writes" for name in names]


def _best(wanted: Plan, variants: Sequence[Variant]) -> Objective:
    posterior.weighed(variants, wanted.targets)
    return max(variants, key=lambda one: one.weight).objective


def _model(wanted: Plan, engine: Threads, kept: Journal) -> OfSizes | OfLoads:
    """Return what runs the cells."""
    document = wanted.measured.document
    device = wanted.conditions.applied(wanted.given)
    if document is None:
        return OfLoads(device, wanted.seed, engine, kept, targets=wanted.targets,
                       limits=wanted.limits)  # fmt: skip
    return OfSizes(device, wanted.seed, engine, kept, question=wanted.conditions.question,
                   test=document.test, smaller=wanted.conditions.smaller)  # fmt: skip


def _fit(
    wanted: Plan,
    model: OfSizes | OfLoads,
    base: Objective,
    choice: dict[str, Any],
    variants: list[Variant],
) -> int:
    """Fit the keys with others set; add the variant, and return its runs."""
    keys, runs = wanted.keys, 0
    if isinstance(model, OfLoads) and keys:
        counted = [one for one in wanted.targets if one.name not in wanted.held]
        model.tick = base.tell
        keys, runs = staged(keys, counted, model, choice, base.enter)
    objective = base.again(keys, Fixed(model, choice), runs)
    model.tick = objective.tell
    variants.append(Variant(choice, objective))
    try:
        start(objective, model)
    except ResultError:
        if len(wanted.choices) == 1:
            raise
        return runs + objective.runs
    if not keys:
        objective.choose()
    elif isinstance(model, OfLoads) and wanted.starts_max == 1:
        search.refine(objective, wanted.runs_max)
    else:
        search.find(objective, wanted.runs_max, wanted.seed, wanted.starts_max)
    return runs + objective.runs


def checked(targets: Sequence[Target], first: Array) -> None:
    """Refuse figures that are a thousand times too large or small: another unit.

    Raises:
        ResultError: with the kind of figure and the factor.
    """
    kinds: dict[str, list[float]] = {}
    for one, residual in zip(targets, first, strict=True):
        kind = "latency" if one.kind.startswith("p") else one.kind
        kinds.setdefault(kind, []).append(float(residual))
    for kind, residuals in kinds.items():
        middle = statistics.median(residuals)
        if any(abs(abs(middle) - math.log(unit)) < UNIT_OFF for unit in UNITS):
            factor = math.exp(abs(middle))
            way = "above" if middle < 0 else "below"
            raise ResultError(
                f"{kind}: the measurement is {factor:.0f} times {way} what the "
                "device gives: is a unit wrong by a factor of 1000 or 1024? accepted: MB/s of "
                "10^6 bytes, "
                "us, and the units of the table"
            )


def slopes_at_best(objective: Objective) -> search.Slopes | None:
    """Return d log figure / d place at the best place; None where the device cannot be run."""
    if objective.best is None or objective.best_residuals is None:
        return None
    # Differences may find something better still; slopes are those of where they were taken.
    place, residuals = objective.best.copy(), objective.best_residuals
    found = search.slopes_at(objective, place, residuals)
    objective.best, objective.best_residuals = place, residuals
    return found
