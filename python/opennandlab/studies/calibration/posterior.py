"""Knowledge after a fit: weights of variants, quantiles of keys, bands of held-out cells.

The variance of a log is noise^2 (1 %) + model^2, the model's by kind of figure, since models miss
tails by more than rates: 8 %, counted as one figure, and the residuals of the best variant.
Variants weigh exp(-chi^2 / 2), and around each of them keys are normal in their logs with the
covariance of the best one (Laplace), that of the Fisher information.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from opennandlab.documents import calibration as records
from opennandlab.studies.calibration.cells import Target
from opennandlab.studies.calibration.keys import Key
from opennandlab.studies.calibration.objective import Array, Objective
from opennandlab.studies.calibration.sensitivity import Sensitivity

NOISE, MODEL = 0.01, 0.08
# Quantiles, and the share of held-out cells that their band should hold at least.
LOW, MIDDLE, HIGH = 0.05, 0.5, 0.95
COVERAGE_MIN = 0.7
NORMAL = NormalDist()
HALVINGS = 60


@dataclass
class Variant:
    """A combination of values, and its fit.

    Args:
        choice: Keys that were chosen among values.
        objective: The search.
        weight: Its worth, of 1.
        chi2: Sum of squares over the variance.
    """

    choice: dict[str, Any]
    objective: Objective
    weight: float = 0.0
    chi2: float = math.inf


def weighed(variants: Sequence[Variant], targets: Sequence[Target]) -> Array:
    """Set the weights of variants; return the standard deviation of the log of each cell."""
    deviations = np.full(len(targets), math.hypot(NOISE, MODEL))
    sums = [_chi2(one.objective, deviations) for one in variants]
    best = variants[int(np.argmin(sums))].objective
    kinds = np.array([one.kind for one in targets])
    for kind in dict.fromkeys(kinds):
        which = best.counts & (kinds == kind)
        squares = MODEL**2
        if best.best_residuals is not None:
            squares += float(np.sum(best.best_residuals[which] ** 2))
        deviations[kinds == kind] = math.hypot(
            NOISE, math.sqrt(squares / (1 + np.count_nonzero(which)))
        )
    for one in variants:
        one.chi2 = _chi2(one.objective, deviations)
    least = min(one.chi2 for one in variants)
    for one in variants:
        one.weight = math.exp((least - one.chi2) / 2) if math.isfinite(least) else 1.0
    whole = math.fsum(one.weight for one in variants)
    for one in variants:
        one.weight /= whole
    return deviations


def _chi2(objective: Objective, deviations: Array) -> float:
    if objective.best_residuals is None:
        return math.inf
    return float(np.sum(objective.weighted(objective.best_residuals / deviations) ** 2))


def told(variants: Sequence[Variant]) -> list[records.Variant] | None:
    """Return variants as a document has them; None for a single one without a choice."""
    if not any(one.choice for one in variants):
        return None
    found = []
    for one in variants:
        place = one.objective.best
        found.append(
            records.Variant(
                choice=one.choice,
                values=None if place is None else list(one.objective.values(place).values()),
                rms_pct=one.objective.rms_pct(),
                chi2=None if place is None else one.chi2,
                weight=one.weight,
            )
        )
    return found


def quantiles(
    at: int, key: Key, variants: Sequence[Variant], judged: Sensitivity
) -> tuple[float, float, float] | None:
    """Return the 5, 50 and 95 % quantiles of a key; None where the data do not limit it."""
    error = judged.keys[at].standard_error
    if error is None or judged.keys[at].verdict in {"flat", "at a bound"}:
        return None
    middles = [
        (float(key.value(float(one.objective.best[at]))), one.weight)
        for one in variants
        if one.objective.best is not None
    ]
    if any(value <= 0 for value, _ in middles):
        return None
    parts = [(math.log(value), error, weight) for value, weight in middles]
    low, middle, high = (math.exp(quantile(parts, share)) for share in (LOW, MIDDLE, HIGH))
    return max(low, key.low), middle, min(high, key.high)


def quantile(parts: Sequence[tuple[float, float, float]], share: float) -> float:
    """Return a quantile of a mixture of normal laws: mean, deviation and weight of each.

    >>> round(quantile([(0.0, 1.0, 1.0)], 0.95), 4), round(quantile([(1.0, 1e-9, 1.0)], 0.5), 4)
    (1.6449, 1.0)
    """
    ends = [(mean, 8 * deviation + 1e-12) for mean, deviation, weight in parts if weight > 0]
    low, high = min(one - width for one, width in ends), max(one + width for one, width in ends)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = math.fsum(
            weight * NORMAL.cdf((middle - mean) / max(deviation, 1e-12))
            for mean, deviation, weight in parts
        )
        low, high = (middle, high) if below < share else (low, middle)
    return (low + high) / 2


def predicted(
    targets: Sequence[Target], variants: Sequence[Variant], deviations: Array, judged: Sensitivity
) -> records.Posterior:
    """Return the bands of the cells that took no part in the fit.

    Args:
        targets: All cells.
        variants: The fits, weighed.
        deviations: Of the logs of all cells.
        judged: The keys, by the best fit.
    """
    spread: Array = np.einsum("ij,jk,ik->i", judged.slopes, judged.covariance, judged.slopes)
    known = [one for one in variants if one.objective.best_residuals is not None]
    bands = []
    for at, target in enumerate(targets):
        if known[0].objective.counts[at]:
            continue
        width = math.sqrt(float(deviations[at]) ** 2 + float(spread[at]))
        parts = [
            (math.log(target.value) + float(_residuals(one)[at]), width, one.weight)
            for one in known
        ]
        low, high = (math.exp(quantile(parts, share)) for share in (LOW, HIGH))
        bands.append(
            records.Band(
                row=target.row, column=target.column, measured=target.value, low=low, high=high,
                is_inside=low <= target.value <= high,
            )
        )  # fmt: skip
    share = sum(one.is_inside for one in bands) / len(bands) if bands else None
    return records.Posterior(
        noise_pct=100 * NOISE,
        model_pct={
            one.kind: 100 * math.sqrt(float(deviations[at]) ** 2 - NOISE**2)
            for at, one in enumerate(targets)
        },
        bands=bands,
        coverage_pct=None if share is None else 100 * share,
        is_too_sure=share is not None and share < COVERAGE_MIN,
    )


def _residuals(variant: Variant) -> Array:
    found = variant.objective.best_residuals
    assert found is not None  # noqa: S101 (those without were left out)
    return found


def said(choice: Mapping[str, Any]) -> str:
    """Return a combination in words.

    >>> said({"ftl.gc_policy": "greedy", "a.b": 3})
    'gc_policy greedy, b 3'
    """
    return ", ".join(f"{path.rpartition('.')[2]} {value}" for path, value in choice.items())
