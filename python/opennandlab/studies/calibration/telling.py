"""What a calibration found, as its document and the fitted file."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

import numpy as np
from msgspec import structs

from opennandlab.base.canonical import digest
from opennandlab.base.errors import ResultError
from opennandlab.core.config import load_device
from opennandlab.documents import calibration as records
from opennandlab.documents.agreement import Agreement
from opennandlab.documents.record import made, plain
from opennandlab.measured.agreement import cell, summed
from opennandlab.studies.calibration import ends, filing, posterior, search, sensitivity
from opennandlab.studies.calibration.objective import Array, Objective, rms_pct
from opennandlab.studies.calibration.planning import Calibration, Plan
from opennandlab.studies.calibration.posterior import Variant

# A best fit with a larger RMS error is none.
NO_FIT_PCT = 15.0
# What simulated cells scatter by with the seed: 0.2 to 1.5 %.
SCATTER = 0.01


def told(  # noqa: PLR0913, PLR0917 (what a document consists of)
    wanted: Plan,
    variants: Sequence[Variant],
    first: Array,
    slopes: search.Slopes | None,
    facts: records.CalibrationRun,
    runs: int,
    *,
    is_partial: bool,
    warnings: list[str],
) -> Calibration:
    """Return the document of a calibration; `runs` are those of all variants."""
    deviations = posterior.weighed(variants, wanted.targets)
    best = max(variants, key=lambda one: one.weight)
    objective = best.objective
    place, residuals = objective.best, objective.best_residuals
    if place is None or residuals is None:
        raise ResultError("no run of the device completed")
    values = {**best.choice, **objective.values(place)}
    device = load_device(wanted.given, values)
    counts = objective.counts
    judged, known, said = _judged(wanted, variants, objective, first, slopes, deviations)
    warnings = [*wanted.conditions.warnings, *warnings, *said]
    verdict = _verdict(wanted, objective)
    warnings += _unsure(wanted, variants, known, verdict)
    held_out = _agreement(wanted, residuals, ~counts)
    fitted = _agreement(wanted, residuals, counts)
    if fitted is None:
        raise ResultError("no cell was fitted")
    document = records.CalibrationDocument(
        schema=records.CALIBRATION_SCHEMA,
        device=wanted.device.name,
        config=device.to_dict(),
        conditions=wanted.conditions.record(),
        measured=_measured(wanted),
        keys=[_key(wanted, at, values, judged, variants) for at in range(len(wanted.keys))],
        fitted=fitted,
        held_out=held_out,
        fitted_before=rms_pct(first[counts], objective.weights[counts]) or 0.0,
        held_out_before=rms_pct(first[~counts], objective.weights[~counts]),
        verdict=verdict,
        variants=posterior.told(variants),
        posterior=known,
        **_of_keys(wanted, judged, counts),
        starts=ends.told(objective),
        steps=[records.Step(run=at, rms_pct=rms, stage=it) for at, rms, it in objective.steps],
        runs=runs,
        optimiser=f"CMA-ES (cma {_cma()}), then Gauss-Newton" if wanted.keys else "none",
        seed=wanted.seed,
        partial=is_partial,
        warnings=warnings,
        run=facts,
        digest="",
    )  # fmt: skip
    whole = made(plain(document), records.CalibrationDocument)
    whole = structs.replace(whole, digest=digest(plain(whole)))
    remarks = {key.key: _said(key, whole) for key in whole.keys}
    remarks |= {path: _chosen(path, variants) for path in best.choice}
    return Calibration(whole, device, filing.text_of(wanted.source, values, remarks, _head(whole)))


def _judged(  # noqa: PLR0913, PLR0917 (what a judgement takes)
    wanted: Plan,
    variants: Sequence[Variant],
    objective: Objective,
    first: Array,
    slopes: search.Slopes | None,
    deviations: Array,
) -> tuple[sensitivity.Sensitivity | None, records.Posterior | None, list[str]]:
    """Return what the data determine, the bands of held-out cells, and warnings."""
    place, residuals = objective.best, objective.best_residuals
    if slopes is None or place is None or residuals is None:
        return None, None, []
    weighted, least, count = _alike(wanted, objective, deviations)
    judged = sensitivity.judged(
        objective.keys, place, slopes.slopes, residuals, weighted, slopes.noise, least, count
    )
    judged, said = ends.doubted(judged, objective)
    said = [*said, *ends.untold(judged, objective, first)]
    return judged, posterior.predicted(wanted.targets, variants, deviations, judged), said


def _of_keys(wanted: Plan, judged: sensitivity.Sensitivity | None, counts: Array) -> dict[str, Any]:
    """Return correlations, directions and sensitivities of a document; empty if unknown."""
    if judged is None:
        return {"correlations": [], "directions": [], "sensitivities": []}
    directions = [
        records.Direction(response=response, weights=weights.tolist())
        for response, weights in judged.directions
    ]
    cells = [
        records.CellSensitivity(
            cell=f"{one.row}, {one.column}", is_held_out=not counts[at],
            slopes=judged.slopes[at].tolist(),
        )
        for at, one in enumerate(wanted.targets)
    ]  # fmt: skip
    return {
        "correlations": judged.correlations.tolist(),
        "directions": directions,
        "sensitivities": cells,
    }


def _alike(
    wanted: Plan, objective: Objective, deviations: Array
) -> tuple[Callable[[Array], Array], float, int | None]:
    """Return weights of rows by which all scatter alike, the least scatter, and the cells.

    Rate and WAF of one run scatter together, so that all figures of a run count as one.
    """
    if wanted.measured.document is not None:
        return objective.weighted, sensitivity.NOISE_MIN, None
    fitted = [one.row for one, counts in zip(wanted.targets, objective.counts, strict=True)
              if counts]  # fmt: skip
    figures = [max(fitted.count(one.row), 1) for one in wanted.targets]
    shares = deviations / np.min(deviations) * np.sqrt(figures)
    least = math.hypot(posterior.NOISE, SCATTER)
    return lambda rows: objective.weighted((rows.T / shares).T), least, len(set(fitted))


def _verdict(wanted: Plan, objective: Objective) -> Literal["fits", "no variant fits"] | None:
    if not wanted.is_fit:
        return None
    return "fits" if (objective.rms_pct() or 0.0) <= NO_FIT_PCT else "no variant fits"


def _unsure(
    wanted: Plan,
    variants: Sequence[Variant],
    known: records.Posterior | None,
    verdict: str | None,
) -> list[str]:
    """Return warnings of a fit that is none, was cut, or is too sure."""
    found = []
    if verdict == "no variant fits":
        found.append(
            f"no variant fits: the RMS error of the best exceeds {NO_FIT_PCT:g} %, so the device "
            "lacks what the drive has, or the table is of another one"
        )
    if any(one.objective.is_cut for one in variants):
        found.append(
            f"the search ended at --runs ({wanted.runs_max}) before it had come to its end: more "
            "may find better"
        )
    if known is not None and known.is_too_sure:
        found.append(
            f"too sure: {known.coverage_pct:.0f} % of the held-out cells are within their bands of "
            "90 %; what the model lacks is not in these"
        )
    return found


def _measured(wanted: Plan) -> records.MeasuredFacts:
    found = wanted.measured
    return records.MeasuredFacts(
        name=found.name,
        test=found.test,
        source="; ".join(found.sources) or None,
        digest=found.digest,
        metric=found.table[0],
        cells=len(wanted.targets),
    )


def _agreement(wanted: Plan, residuals: Array, which: Array) -> Agreement | None:
    found = [one for one in zip(wanted.targets, residuals, which, strict=True) if one[2]]
    if wanted.measured.document is not None:
        found.sort(key=lambda one: (one[0].block_bytes, one[0].read_pct))
    cells = [
        cell(one.row, one.column, one.value, one.value * float(np.exp(residual)))
        for one, residual, _ in found
    ]
    weights = [one.weight for one, _, _ in found]
    return summed(*wanted.measured.table, cells, weights) if cells else None


def _chosen(path: str, variants: Sequence[Variant]) -> str:
    """Return the comment of a key that was chosen among values."""
    shares: dict[str, float] = {}
    for one in variants:
        value = str(one.choice[path])
        shares[value] = shares.get(value, 0.0) + one.weight
    told = ", ".join(f"{value} {100 * share:.1f} %" for value, share in shares.items())
    return f"Chosen; probability: {told}."


def _key(
    wanted: Plan,
    at: int,
    values: Mapping[str, Any],
    judged: sensitivity.Sensitivity | None,
    variants: Sequence[Variant],
) -> records.FittedKey:
    key = wanted.keys[at]
    spread = posterior.quantiles(at, key, variants, judged) if judged is not None else None
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
        p5=spread and spread[0],
        p50=spread and spread[1],
        p95=spread and spread[2],
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
