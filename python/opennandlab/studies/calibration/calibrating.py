"""A calibration from document and device file to fitted values and their document."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

from opennandlab import _core
from opennandlab.base.canonical import as_bytes, canonical_json, digest
from opennandlab.base.errors import ConfigError, ResultError
from opennandlab.base.threads import cores
from opennandlab.core.config import DeviceConfig, Source, load_device, read_device
from opennandlab.core.run import SEED
from opennandlab.documents import calibration as records
from opennandlab.documents import pts
from opennandlab.documents.agreement import Agreement
from opennandlab.documents.pts import PtsDocument
from opennandlab.documents.record import made, plain
from opennandlab.documents.saved import ForeignError, read_document, refuse_edited
from opennandlab.measured.agreement import cell, summed
from opennandlab.studies.calibration import ends, filing, search, sensitivity
from opennandlab.studies.calibration.cells import Target, held_out, table_of, targets, uncertain
from opennandlab.studies.calibration.conditions import Asked, Conditions, conditions
from opennandlab.studies.calibration.journal import Journal
from opennandlab.studies.calibration.keys import Key, keys_of, parse
from opennandlab.studies.calibration.objective import (
    Array,
    Objective,
    Progress,
    Simulated,
    rms_pct,
    start,
)  # fmt: skip
from opennandlab.studies.sweeps.engine import Threads

RUNS_PER_KEY = 40
STARTS = 4
STARTS_MAX = 100
Watch = Callable[[Progress], None]
# `KEY` or `KEY=LOW:HIGH` of each key that is fitted, or bounds by key.
Free = Sequence[str] | Mapping[str, tuple[float, float] | None]


@dataclass(frozen=True)
class Calibration:
    """A device whose keys were fitted.

    Args:
        document: What came out, with errors and sensitivities.
        device: The fitted device.
        text: Its file, with provenance in comments.
    """

    document: records.CalibrationDocument
    device: DeviceConfig
    text: str


@dataclass(frozen=True)
class Plan:
    """All that a calibration depends on, checked; nothing has run.

    Args:
        source: The device, as it was named.
        given: The device, as its file has it.
        device: The same, resolved.
        document: What was measured.
        targets: Its cells.
        held: Names of those that are held out.
        keys: What is fitted.
        conditions: How cells are run.
        runs_max: Runs of each start at most, about.
        seed: Seed of all randomness.
        starts_max: Starts of the search at most.
    """

    source: Any
    given: dict[str, Any]
    device: DeviceConfig
    document: PtsDocument
    targets: list[Target]
    held: set[str]
    keys: list[Key]
    conditions: Conditions
    runs_max: int
    seed: int
    starts_max: int = STARTS

    @property
    def sha256(self) -> str:
        """SHA-256 of all inputs of the runs."""
        parts = {
            "device": self.given, "question": self.conditions.question,
            "blocks": self.conditions.blocks, "seed": self.seed, "held": sorted(self.held),
            "keys": [asdict(key) for key in self.keys], "document": self.document.digest,
            "model": _core.model_version(), "runs": self.runs_max,
            "starts": self.starts_max,
        }  # fmt: skip
        return hashlib.sha256(as_bytes(canonical_json(parts))).hexdigest()


def plan(  # noqa: PLR0913 (all but three by name)
    device: Source,
    to: str | Path | PtsDocument,
    free: Free = (),
    *,
    hold_out: str | float | None = None,
    runs: int | None = None,
    starts: int = STARTS,
    seed: int = SEED,
    asked: Asked | None = None,
    overrides: Mapping[str, Any] | None = None,
    force: bool = False,
) -> Plan:
    """Return a calibration that is checked and has not begun.

    Args:
        device: Preset name, path, mapping or `DeviceConfig`.
        to: A document of IOPS, throughput or latency: path, `reference:NAME`, or the document.
        free: Keys to fit, `KEY` or `KEY=LOW:HIGH`; or keys with bounds. None: the device is held
            against the document as it is, and no cell is held out.
        hold_out: Cells that take no part in the fit: a share, or names; None for a quarter.
        runs: Runs of each start, about; None for 40 per key.
        starts: Starts of the search at most; fewer where two end equally well.
        seed: Seed of all randomness.
        asked: How cells are run, where that is not as the document says.
        overrides: Keys of the device that are set before.
        force: Take cells that are uncertain, as they are labelled.

    Raises:
        ConfigError: for a key, bounds or a device that cannot be.
        ResultError: for a document without common cells, or with uncertain ones.
    """
    if isinstance(seed, bool) or not 0 <= seed < 1 << 64:
        raise ConfigError("seed", f"`{seed}` is not a valid seed; accepted: 0 to 2^64 - 1")
    resolved = load_device(device, overrides)
    given = dict(resolved.to_dict() if overrides or isinstance(device, DeviceConfig)
                 else read_device(device))  # fmt: skip
    document = to if isinstance(to, PtsDocument) else read_measured(to)
    doubts = uncertain(document, force=force)
    found = targets(document)
    if not 1 <= starts <= STARTS_MAX:
        raise ConfigError("--starts", f"{starts} is refused; accepted: 1 to {STARTS_MAX}")
    keys: list[Key] = []
    held: set[str] = set()
    if free:
        keys = keys_of(parse(free) if not isinstance(free, Mapping) else free, resolved)
        held = held_out(found, None if hold_out is None else str(hold_out), seed)
    elif hold_out is not None or runs is not None:
        what = "--hold-out" if hold_out is not None else "--runs"
        raise ConfigError(what, "is of a fit, and no key is free; accepted: with --free KEY")
    if len(found) - len(held) < len(keys):
        raise ConfigError(
            "--free", f"{len(keys)} keys and {len(found) - len(held)} cells to fit; accepted: as "
            "many cells, or more"
        )  # fmt: skip
    where = conditions(
        document, found, resolved, given, asked or Asked(), [key.path for key in keys]
    )
    where.warnings[:0] = doubts
    source = given if overrides or isinstance(device, DeviceConfig) else device
    runs_max = runs or max(RUNS_PER_KEY * len(keys), search.runs_of_polish(len(keys)) + 20)
    if not keys:
        runs_max = starts = 1
    return Plan(source, given, resolved, document, found, held, keys, where, runs_max, seed, starts)


def read_measured(to: str | Path) -> PtsDocument:
    """Return a measured document: a file, or `reference:NAME`.

    Raises:
        ResultError: for what is none.
    """
    from opennandlab.measured import reference
    from opennandlab.measured.importing import of_fio
    from opennandlab.measured.published import PREFIX

    if str(to).startswith(PREFIX):
        return reference(str(to))
    path = Path(to)
    imported = of_fio(path)
    if imported is not None:
        return imported
    try:
        content = read_document(path, [pts.SCHEMA])
    except ForeignError:
        raise
    except ResultError as error:
        if not path.is_file():
            raise
        raise ResultError(f"{error}; `pts import` makes one of a table as CSV") from None
    refuse_edited(path, content)
    return pts.from_file(content)[0]


def calibrate(  # noqa: PLR0913 (all but three by name)
    device: Source,
    to: str | Path | PtsDocument,
    free: Free = (),
    *,
    hold_out: str | float | None = None,
    runs: int | None = None,
    starts: int = STARTS,
    seed: int = SEED,
    asked: Asked | None = None,
    jobs: int | None = None,
    progress: Watch | None = None,
    force: bool = False,
) -> Calibration:
    """Fit keys of a device file to a measured document.

    Args:
        device: Preset name, path, mapping or `DeviceConfig`.
        to: A document of IOPS, throughput or latency: path, `reference:NAME`, or the document.
        free: Keys to fit, `KEY` or `KEY=LOW:HIGH`; or keys with bounds. None: the device is held
            against the document as it is.
        hold_out: Cells that take no part in the fit: a share, or names; None for a quarter.
        runs: Runs of each start, about; None for 40 per key.
        starts: Starts of the search at most; fewer where two end equally well.
        seed: Seed of all randomness.
        asked: How cells are run, where that is not as the document says.
        jobs: Runs at a time; None for all cores.
        progress: Told how far it is.
        force: Take cells that are uncertain, as they are labelled.

    Returns:
        The fitted device with its document; on Ctrl-C the best so far, marked as partial.

    Raises:
        ConfigError: for a key, bounds or a device that cannot be.
        ResultError: for a document without common cells.

    One key does not make this small drive the measured one, and what is left is more than it moves:

    >>> table = {"nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
    ...                   "blocks_per_plane": 64, "pages_per_block": 32}}
    >>> small = Asked(requests=50, amount_bytes=2 << 20)
    >>> found = calibrate(table, "reference:client_2013_latency", ["nand.timing.t_read_us=20:200"],
    ...                   hold_out=0, asked=small)
    >>> found.document.keys[0].verdict
    'flat'

    Without keys the cells are run once:

    >>> found = calibrate(table, "reference:client_2013_latency", asked=small)
    >>> found.document.runs, found.document.fitted.count, found.document.held_out
    (1, 9, None)
    """
    found = plan(
        device, to, free, hold_out=hold_out, runs=runs, starts=starts, seed=seed, asked=asked,
        force=force,
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
        watch: Told how far it is.
        command: What ran it.

    Raises:
        ConfigError: for the journal of another calibration or process, or one that is damaged.
        ResultError: for a device that cannot run the cells.
        KeyboardInterrupt: on Ctrl-C before the device was run once.
    """
    began = time.monotonic()
    kept = Journal(journal, wanted.sha256)
    engine = Threads(jobs or cores())
    model = Simulated(
        device=wanted.conditions.applied(wanted.given),
        question=wanted.conditions.question,
        test=wanted.document.test,
        seed=wanted.seed,
        engine=engine,
        journal=kept,
    )
    most = wanted.runs_max * wanted.starts_max
    objective = Objective(wanted.keys, wanted.targets, wanted.held, model, most, watch)
    model.tick = objective.tell
    is_partial = False
    first: Array | None = None
    slopes: search.Slopes | None = None
    try:
        first = start(objective, model)
        if wanted.keys:
            search.find(objective, wanted.runs_max, wanted.seed, wanted.starts_max)
            objective.stage = "sensitivity"
            slopes = slopes_at_best(objective)
    except KeyboardInterrupt:
        if first is None:
            raise
        objective.choose()
        is_partial = True
    finally:
        engine.close()
        kept.close(is_done=slopes is not None or not wanted.keys)
    wall_s = time.monotonic() - began
    facts = records.CalibrationRun(
        version=_core.version(), wall_s=round(wall_s, 3), known=model.known_count, command=command
    )
    return told(wanted, objective, first, slopes, facts, is_partial=is_partial)


def slopes_at_best(objective: Objective) -> search.Slopes | None:
    """Return d log figure / d place at the best place; None where the device cannot be run."""
    if objective.best is None or objective.best_residuals is None:
        return None
    # Differences may find something better still; slopes are those of where they were taken.
    place, residuals = objective.best.copy(), objective.best_residuals
    found = search.slopes_at(objective, place, residuals)
    objective.best, objective.best_residuals = place, residuals
    return found


def told(  # noqa: PLR0913 (what a document consists of)
    wanted: Plan,
    objective: Objective,
    first: Array,
    slopes: search.Slopes | None,
    facts: records.CalibrationRun,
    *,
    is_partial: bool,
) -> Calibration:
    """Return the document of a calibration."""
    place, residuals = objective.best, objective.best_residuals
    if place is None or residuals is None:
        raise ResultError("no run of the device came to its end")
    values = objective.values(place)
    device = load_device(wanted.given, values)
    counts = objective.counts
    judged, warnings = None, list(wanted.conditions.warnings)
    if slopes is not None:
        judged = sensitivity.judged(
            wanted.keys, place, slopes.slopes, residuals, counts, slopes.noise
        )
        judged, said = ends.doubted(judged, objective)
        warnings += [*said, *ends.untold(judged, objective, first)]
    errors = {flag: _agreement(wanted, residuals, counts == flag) for flag in (True, False)}
    fitted = errors[True]
    if fitted is None:
        raise ResultError("no cell was fitted")
    document = records.CalibrationDocument(
        schema=records.CALIBRATION_SCHEMA,
        device=wanted.device.name,
        config=device.to_dict(),
        conditions=wanted.conditions.record(),
        measured=_measured(wanted),
        keys=[_key(wanted, at, values, judged) for at in range(len(wanted.keys))],
        fitted=fitted,
        held_out=errors[False],
        fitted_before=rms_pct(first[counts]) or 0.0,
        held_out_before=rms_pct(first[~counts]),
        correlations=[] if judged is None else judged.correlations.tolist(),
        directions=[] if judged is None else [
            records.Direction(response=response, weights=weights.tolist())
            for response, weights in judged.directions
        ],
        sensitivities=[] if judged is None else [
            records.CellSensitivity(
                cell=f"{one.row}, {one.column}", is_held_out=not counts[at],
                slopes=judged.slopes[at].tolist(),
            )
            for at, one in enumerate(wanted.targets)
        ],
        starts=ends.told(objective),
        steps=[
            records.Step(run=run, rms_pct=rms, stage=stage) for run, rms, stage in objective.steps
        ],
        runs=objective.runs,
        optimiser=f"CMA-ES (cma {_cma()}), then Gauss-Newton" if wanted.keys else "none",
        seed=wanted.seed,
        partial=is_partial,
        warnings=warnings,
        run=facts,
        digest="",
    )  # fmt: skip
    whole = made(plain(document), records.CalibrationDocument)
    whole = structs.replace(whole, digest=digest(plain(whole)))
    text = filing.text_of(
        wanted.source, values, {key.key: _said(key, whole) for key in whole.keys}, _head(whole)
    )
    return Calibration(whole, device, text)


def _measured(wanted: Plan) -> records.MeasuredFacts:
    document = wanted.document
    imported = document.header.imported
    return records.MeasuredFacts(
        name=document.name,
        test=document.test,
        source=imported.source if imported else None,
        digest=document.digest,
        metric=table_of(document).id,
        cells=len(wanted.targets),
    )


def _agreement(wanted: Plan, residuals: Array, which: Array) -> Agreement | None:
    table = table_of(wanted.document)
    found = sorted(
        zip(wanted.targets, residuals, which, strict=True),
        key=lambda one: (one[0].block_bytes, one[0].read_pct),
    )
    cells = [
        cell(one.row, one.column, one.value, one.value * float(np.exp(residual)))
        for one, residual, is_in in found
        if is_in
    ]
    return summed(table.id, table.title, table.unit, cells) if cells else None


def _key(
    wanted: Plan, at: int, values: Mapping[str, float], judged: sensitivity.Sensitivity | None
) -> records.FittedKey:
    key = wanted.keys[at]
    known = judged.keys[at] if judged is not None else None
    error = known.standard_error if known else None
    partner = known.partner if known else None
    return records.FittedKey(
        key=key.path,
        start=key.start,
        value=values[key.path],
        low=key.low,
        high=key.high,
        scale="log" if key.is_log else "linear",
        is_integer=key.is_integer,
        sensitivity=known.sensitivity if known else 0.0,
        standard_error_pct=None if error is None else 100 * error,
        verdict=known.verdict if known else "unknown",
        partner=None if partner is None else wanted.keys[partner].path,
        correlation=known.correlation if known else None,
    )


def _said(key: records.FittedKey, document: records.CalibrationDocument) -> str:
    """Return the comment of a key."""
    measured = document.measured
    error = key.standard_error_pct
    sure = "not limited by the data" if error is None else f"standard error {error:.2g} %"
    if key.verdict == "correlated" and key.partner:
        sure += f", only together with {key.partner}"
    return (
        f"Fitted to {document.fitted.count} cells of {measured.name} ({measured.test}), "
        f"{key.start:g} before; {sure}; {key.verdict}."
    )


def _head(document: records.CalibrationDocument) -> list[str]:
    """Return the lines at the top of the file."""
    measured, fitted, held = document.measured, document.fitted, document.held_out
    apart = []
    if held is not None:
        before = document.held_out_before or 0.0
        apart = [f"of {held.count} held out {held.rms_pct:.2f} %, before {before:.2f} %"]
    cut = " (interrupted: the best so far)" if document.partial else ""
    after = f"RMS error of {fitted.count} fitted cells {fitted.rms_pct:.2f} %"
    lines = [
        f"{document.device}, calibrated by opennandlab {document.run.version}{cut}",
        f"to {measured.name}, {measured.test}, digest {measured.digest[:16]}",
        *([f"measured: {measured.source}"] if measured.source else []),
        f"{after}, before {document.fitted_before:.2f} %",
        *apart,
        f"{document.runs} runs, seed {document.seed}, {document.optimiser}",
        *([f"by: {document.run.command}"] if document.run.command else []),
    ]  # fmt: skip
    return [*lines, ""]


def _cma() -> str:
    try:
        return version("cma")
    except PackageNotFoundError:
        return "unknown"
