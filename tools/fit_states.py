"""Fits the TLC preset of the state model to the published model of 72-layer TLC.

Usage: `python tools/fit_states.py` prints the constants of
crates/sim/src/reliability/state_presets.rs and how far the model then is from the target;
`--check` fits nothing and prints the distances of the constants that are built in.

Target: Kim, Choi and Min, FAST 2019, as the core has it (`kind: kim`). The largest error counts,
weighted by how much is accepted: 7 % at the nine published points, 13 % on a grid of 500 to 5000
cycles, a day to a year, 100 to 1000 reads per page. What a mean error rate cannot tell is not
fitted: the erased state, the coupling of neighbours, the reference temperature.

The search is the downhill simplex of J. Nelder and R. Mead, Computer Journal 7, 1965, in
logarithms of the parameters, restarted until it stands still. It asks the *installed* package, so
that what is fitted is what is shipped. A minute on one core.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from opennandlab.reliability import load_model

Floats = NDArray[np.float64]

START = {
    "sigma": 0.1756,
    "wear_cycles": 4820.0,
    "wear_exponent": 1.607,
    "retention_shift": 0.05865,
    "retention_time_h": 12.88,
    "retention_profile": 1.364,
    "read_shift": 0.3795,
    "read_exponent": 0.909,
    "read_wear_exponent": 0.2819,
}
# Cycles, hours, reads.
POINTS = [
    *((cycles, 0, 0) for cycles in (0, 500, 1000, 1500, 3000, 5000)),
    (3000, 720, 0),
    (3000, 8760, 0),
    (3000, 0, 1000),
]
CYCLES = (500, 1000, 1500, 3000, 5000)
GRID = [
    *((cycles, hours, 0) for cycles in CYCLES for hours in (24, 72, 168, 720, 2160, 8760)),
    *((cycles, 0, reads) for cycles in CYCLES for reads in (100, 200, 300, 500, 700, 1000)),
]
POINT_ERROR, GRID_ERROR = 0.07, 0.13
RESTARTS, STEPS = 6, 1200
DIGITS = 4


def errors(parameters: dict[str, float], stresses: Sequence[tuple[int, int, int]]) -> Floats:
    """Return the logarithm of model over target at each stress."""
    cycles, hours, reads = np.array(stresses, float).T
    ours = load_model({"kind": "states", **parameters}).rber(cycles, hours, reads=reads)
    return np.log(ours / load_model("kim").rber(cycles, hours, reads=reads))


def cost(logs: Floats) -> float:
    """Return the worst weighted error, smoothed so that the simplex finds its way."""
    parameters = dict(zip(START, np.exp(logs).tolist(), strict=True))
    weighted = np.concatenate(
        [errors(parameters, POINTS) / POINT_ERROR, errors(parameters, GRID) / GRID_ERROR]
    )
    return float((np.abs(weighted) ** 12).sum() ** (1 / 12))


def simplex(function: Callable[[Floats], float], start: Floats, steps: int) -> Floats:
    """Return where a function is smallest near the start."""
    corners = [start, *(start + 0.05 * unit for unit in np.eye(len(start)))]
    values = [function(corner) for corner in corners]
    for _ in range(steps):
        order = np.argsort(values)
        corners, values = [corners[i] for i in order], [values[i] for i in order]
        centre = np.mean(corners[:-1], axis=0)
        away = centre - corners[-1]
        tried = {factor: centre + factor * away for factor in (1.0, 2.0, -0.5)}
        found = function(tried[1.0])
        best = (found, 1.0)
        if found < values[0]:
            best = min(best, (function(tried[2.0]), 2.0))
        elif found >= values[-2]:
            best = min(best, (function(tried[-0.5]), -0.5))
        if best[0] < values[-1]:
            values[-1], corners[-1] = best[0], tried[best[1]]
        else:
            corners = [corners[0], *((corner + corners[0]) / 2 for corner in corners[1:])]
            values = [values[0], *(function(corner) for corner in corners[1:])]
    return corners[int(np.argmin(values))]


def fit() -> dict[str, float]:
    """Return the fitted parameters, rounded."""
    logs = np.log(list(START.values()))
    for _ in range(RESTARTS):
        logs = simplex(cost, logs, STEPS)
    return {
        name: float(f"{value:.{DIGITS}g}")
        for name, value in zip(START, np.exp(logs).tolist(), strict=True)
    }


def report(parameters: dict[str, float]) -> None:
    """Print the errors at every point."""
    for title, stresses in (("published points", POINTS), ("grid", GRID)):
        off = np.expm1(errors(parameters, stresses)) * 100
        print(f"{title}: worst {max(off.min(), off.max(), key=abs):+.1f} %")
        for (cycles, hours, reads), error in zip(stresses, off, strict=True):
            print(f"  {cycles:5d} cycles {hours:5d} h {reads:5d} reads: {error:+5.1f} %")


def main() -> int:
    """Fit, or check what is built in; print constants and errors."""
    built_in = load_model("tlc").parameters
    parameters = {name: float(built_in[name]) for name in START}
    if "--check" not in sys.argv[1:]:
        parameters = fit()
        for name, value in parameters.items():
            print(f"const {name.upper()}: f64 = {value};")
    report(parameters)
    # The promise of the state model, in per cent.
    worst = float(np.abs(np.expm1(errors(parameters, POINTS))).max())
    return 0 if worst < 0.10 and math.isfinite(worst) else 1


if __name__ == "__main__":
    sys.exit(main())
