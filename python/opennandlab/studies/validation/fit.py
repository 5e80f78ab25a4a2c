"""Constants that make a simulated table resemble a measured one: a search that needs no gradient.

Each constant in turn is raised and lowered by a factor; what lowers the loss stays. When a whole
turn brings nothing, the factor's distance from one is halved. Simple, deterministic, and enough for
the handful of constants that a table of a drive can tell apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

Constants = Mapping[str, float]


def log_loss(measured: Sequence[float], simulated: Sequence[float]) -> float:
    """Return the mean square of the logarithms of simulated over measured.

    Args:
        measured: figures above 0.
        simulated: ours, in the same order.

    Returns:
        The loss.

    Example:
        >>> log_loss([1.0, 4.0], [2.0, 2.0]) == math.log(2.0) ** 2
        True
    """
    pairs = zip(measured, simulated, strict=True)
    return math.fsum(math.log(ours / theirs) ** 2 for theirs, ours in pairs) / len(measured)


def descend(
    start: Constants,
    loss: Callable[[Constants], float],
    step: float = 0.25,
    step_min: float = 0.03,
    fixed: Sequence[str] = (),
) -> tuple[dict[str, float], float]:
    """Search for the constants of the least loss.

    Args:
        start: first guess, every constant above 0.
        loss: called with all constants; its minimum is sought.
        step: first relative change, above 0.
        step_min: the search ends below this relative change.
        fixed: names that are left as they are.

    Returns:
        The constants and their loss.

    Example:
        >>> best, loss = descend({"a": 1.0}, lambda it: (it["a"] - 3.0) ** 2, step_min=0.001)
        >>> abs(best["a"] - 3.0) < 0.01
        True
    """
    best, least = dict(start), loss(start)
    while step >= step_min:
        has_moved = False
        for name in start:
            if name in fixed:
                continue
            for factor in (1.0 + step, 1.0 / (1.0 + step)):
                trial = best | {name: best[name] * factor}
                found = loss(trial)
                if found < least:
                    best, least, has_moved = trial, found, True
                    break
        if not has_moved:
            step /= 2.0
    return best, least
