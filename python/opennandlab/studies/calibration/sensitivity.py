"""Which keys the data determine: slopes, Fisher information, standard errors, correlations.

With J the slopes d log figure / d log key of the fitted cells and s the standard deviation of a
cell, the information on the logs of the keys is F = J'J / s^2, and F^-1 is the least covariance of
any unbiased estimate (Cramer and Rao). s is that of the residuals, sqrt(sum r^2 / (cells - keys)),
and at least half a percent: published figures are rounded, and simulated ones differ with the seed.

Slopes of runs that scatter are themselves uncertain: of the root mean square of a key's slopes, the
part that noise alone would give is taken off, and all of its slopes shrink by that ratio.

| verdict | means |
|---|---|
| at a bound | the best value is the least or the greatest that was tried |
| flat | its standard error exceeds 10 % even if all other keys were known |
| correlated | it exceeds 10 % only since other keys are not known |
| determined | it does not |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from opennandlab.documents.calibration import Verdict
from opennandlab.studies.calibration.keys import Key
from opennandlab.studies.calibration.objective import Array

NOISE_MIN = 0.005
WEAK = 0.10
# Directions in which all cells together change less than this for a step of 1 say nothing.
RESPONSE_MIN = 1e-4
BOUND = 1e-3
# A log known no better than this is not limited by the data.
ERROR_MAX = 1.0


@dataclass(frozen=True)
class Known:
    """What the data say of one key.

    Args:
        sensitivity: Root mean square of its slopes.
        standard_error: Standard error of its log; None where nothing limits it.
        verdict: In a word.
        partner: Place of the key with which it is correlated most; None for a single key.
        correlation: With that.
    """

    sensitivity: float
    standard_error: float | None
    verdict: Verdict
    partner: int | None
    correlation: float | None


@dataclass(frozen=True)
class Sensitivity:
    """What the data say of all keys.

    Args:
        slopes: d log figure / d log key, float64, (cells, keys).
        keys: One for each key.
        correlations: Correlations of the estimates, float64, (keys, keys).
        directions: Response and weights, the strongest first.
        covariance: Of the logs of the estimates, float64, (keys, keys).
    """

    slopes: Array
    keys: list[Known]
    correlations: Array
    directions: list[tuple[float, Array]]
    covariance: Array


def judged(  # noqa: PLR0913, PLR0917 (what is known at the end of a search)
    keys: Sequence[Key],
    place: Array,
    slopes: Array,
    residuals: Array,
    weighted: Callable[[Array], Array],
    slope_noise: Array | None = None,
    noise_min: float = NOISE_MIN,
    count: int | None = None,
) -> Sensitivity:
    """Return which keys the data determine, and how well.

    Args:
        keys: What was fitted.
        place: The best place.
        slopes: d log figure / d place, float64, (cells, keys).
        residuals: At the best place.
        weighted: Returns the rows of the fitted cells, times the roots of their weights.
        slope_noise: Standard deviation of a slope of each key; None for none.
        noise_min: Standard deviation of a cell, at least.
        count: Rows that are independent of each other; None for all.
    """
    scales = np.array([_scale(key, at) for key, at in zip(keys, place, strict=True)])
    logs = slopes * scales
    fitted = weighted(logs)
    cells, number = fitted.shape
    freedom = max((count or cells) - number, 1)
    noise = max(math.sqrt(float(np.sum(weighted(residuals) ** 2)) / freedom), noise_min)
    strengths = np.sqrt(np.mean(fitted**2, axis=0))
    if slope_noise is not None:
        left = np.maximum(strengths**2 - (slope_noise * scales) ** 2, 0.0)
        fitted = fitted * np.sqrt(left) / np.maximum(strengths, RESPONSE_MIN)
        strengths = np.sqrt(left)
    values, vectors = np.linalg.eigh(fitted.T @ fitted / cells)
    responses = np.sqrt(np.maximum(values, 0.0))[::-1]
    vectors = vectors[:, ::-1]
    covariance = _covariance(responses, vectors, noise / math.sqrt(cells))
    deviations = np.sqrt(np.diag(covariance))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlations = np.where(
            np.outer(deviations, deviations) > 0,
            covariance / np.outer(deviations, deviations),
            np.eye(number),
        )
    correlations = np.clip(correlations, -1.0, 1.0)
    found = [
        _known(at, float(place[at]), float(strengths[at]), deviations, correlations, noise, cells)
        for at in range(number)
    ]
    order = [(float(responses[at]), vectors[:, at]) for at in range(number)]
    return Sensitivity(logs, found, correlations, order, covariance)


def _scale(key: Key, place: float) -> float:
    """Return d place / d log value; of a value of 0, d place for all of the range."""
    if key.is_log:
        return 1.0 / math.log(key.high / key.low)
    value = float(key.value(place))
    return abs(value) / (key.high - key.low) if value else 1.0


def _covariance(responses: Array, vectors: Array, noise: float) -> Array:
    """Return the inverse of the information; directions without any have a very large variance."""
    known = np.maximum(responses, RESPONSE_MIN)
    found: Array = (vectors * (noise / known) ** 2) @ vectors.T
    return found


def _known(  # noqa: PLR0913, PLR0917 (figures of one key)
    at: int,
    place: float,
    strength: float,
    deviations: Array,
    correlations: Array,
    noise: float,
    cells: int,
) -> Known:
    alone = noise / (max(strength, RESPONSE_MIN) * math.sqrt(cells))
    error = float(deviations[at])
    others = [one for one in range(len(deviations)) if one != at]
    partner = max(others, key=lambda one: abs(correlations[at, one]), default=None)
    verdict: Verdict = "determined"
    if place <= BOUND or place >= 1 - BOUND:
        verdict = "at a bound"
    elif alone > WEAK:
        verdict = "flat"
    elif error > WEAK:
        verdict = "correlated"
    return Known(
        sensitivity=strength,
        standard_error=error if strength > RESPONSE_MIN and error <= ERROR_MAX else None,
        verdict=verdict,
        partner=partner,
        correlation=None if partner is None else float(correlations[at, partner]),
    )
