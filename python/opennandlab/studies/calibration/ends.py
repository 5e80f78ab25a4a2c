"""Whether a search has found one set of keys, or several that fit as well.

Standard errors hold for one minimum. A key that they call determined is ambiguous when a device
with another value of it fits as well: one where another start of the search ended, or any other
that was run. Where no other start ended equally well, the next best one speaks against the best:
nobody has found that twice. Values differ when they are further apart than 10 % and three standard
errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from opennandlab.documents.calibration import Start
from opennandlab.studies.calibration.keys import Key
from opennandlab.studies.calibration.objective import Array, End, Objective, is_as_good, rms_pct
from opennandlab.studies.calibration.sensitivity import WEAK, Known, Sensitivity

ERRORS = 3.0
# A fit whose RMS error is not less than before by this share has brought nothing.
GAIN_MIN = 0.01
# Below such a slope, d log figure / d log key, cells hardly change: 1 % for 10 % of the key.
RESPONSE_MIN = 0.1


def doubted(judged: Sensitivity, objective: Objective) -> tuple[Sensitivity, list[str]]:
    """Return what the data say with the keys that are ambiguous, and warnings of them.

    Args:
        judged: What they say of the best minimum.
        objective: The search that led there.
    """
    keys, warnings = list(judged.keys), []
    for at, (key, known) in enumerate(zip(objective.keys, judged.keys, strict=True)):
        rival = _rival(objective, at, known) if known.verdict == "determined" else None
        if rival is not None:
            keys[at] = replace(known, verdict="ambiguous")
            warnings.append(_told(objective, key, at, rival))
    ends = _sorted(objective)
    if len(ends) > 1 and not _is_confirmed(objective, ends):
        warnings.append(
            f"only one of {len(ends)} starts led to the best minimum (RMS errors "
            f"{', '.join(f'{_rms(objective, one):.2f}' for one in ends)} %), so there may be a "
            "better one: try more --runs or --starts"
        )
    return replace(judged, keys=keys), warnings


def why_flat(sensitivity: float, error: float | None) -> str:
    """Say what makes a key flat: cells that do not follow it, or that are not met well enough."""
    if error is None or sensitivity < RESPONSE_MIN:
        return "the fitted cells hardly change with it, so its value here says nothing of the drive"
    return (
        f"the errors of the fitted cells leave it a standard error of {100 * error:.2g} %, even if "
        "the other keys were known; its value here is not determined"
    )


def untold(judged: Sensitivity, objective: Objective, first: Array) -> list[str]:
    """Return warnings of keys that the cells do not tell, and of a fit that brought nothing.

    Args:
        judged: What the data say.
        objective: The search, at its best place.
        first: Residuals of the device before.
    """
    warnings = [
        f"{key.path} is flat: {why_flat(known.sensitivity, known.standard_error)}"
        for key, known in zip(objective.keys, judged.keys, strict=True)
        if known.verdict == "flat"
    ]
    before, after = rms_pct(first[objective.counts]), objective.rms_pct()
    if before and after is not None and after > (1.0 - GAIN_MIN) * before:
        warnings.append(
            f"the fit is no better than the device was: RMS error {after:.3g} %, before "
            f"{before:.3g} %; other keys, or wider bounds, may fit the cells"
        )
    return warnings


def told(objective: Objective) -> list[Start] | None:
    """Return the starts as a document has them, in order; None for one."""
    if len(objective.ends) < 2:
        return None
    return [
        Start(
            runs=one.runs,
            rms_pct=_rms(objective, one),
            values=list(objective.values(one.place).values()),
        )
        for one in objective.ends
    ]


def _sorted(objective: Objective) -> list[End]:
    return sorted(objective.ends, key=lambda one: objective.loss(one.residuals))


def _is_confirmed(objective: Objective, ends: list[End]) -> bool:
    losses = [objective.loss(one.residuals) for one in ends]
    return len(ends) > 1 and is_as_good(losses[1], losses[0])


def _rivals(objective: Objective) -> Iterator[End]:
    """Yield what speaks against the best end."""
    ends = _sorted(objective)
    least = objective.loss(ends[0].residuals)
    if not _is_confirmed(objective, ends):
        yield from ends[1:2]
    for one in (*ends[1:], *objective.seen):
        if is_as_good(objective.loss(one.residuals), least):
            yield one


def _rival(objective: Objective, at: int, known: Known) -> End | None:
    """Return what differs most in a key; None where nothing differs by so much."""
    key, best = objective.keys[at], float(_sorted(objective)[0].place[at])
    limit = max(WEAK, ERRORS * (known.standard_error or 0.0))
    found = max(
        _rivals(objective), key=lambda one: _apart(key, best, float(one.place[at])), default=None
    )
    if found is None or _apart(key, best, float(found.place[at])) <= limit:
        return None
    return found


def _told(objective: Objective, key: Key, at: int, rival: End) -> str:
    best = _sorted(objective)[0]
    values = [key.value(float(one.place[at])) for one in (best, rival)]
    errors = [_rms(objective, one) for one in (best, rival)]
    return (
        f"{key.path}: {values[0]:g} (RMS error {errors[0]:.2f} %) or {values[1]:g} "
        f"({errors[1]:.2f} %, with other values of the other keys)"
    )


def _apart(key: Key, place: float, other: float) -> float:
    one, two = float(key.value(place)), float(key.value(other))
    if one > 0 and two > 0:
        return abs(math.log(one / two))
    return abs(one - two) / (key.high - key.low)


def _rms(objective: Objective, end: End) -> float:
    residuals: Array = end.residuals[objective.counts]
    return rms_pct(residuals) or 0.0
