"""Fits the presets of the state model: `tlc`, `mlc` and `qlc`.

Usage: `python tools/fit_states.py [tlc] [mlc] [qlc]` prints the constants of
crates/sim/src/reliability/state_presets.rs and how far the model then is from its target;
`--check` fits nothing and prints the distances of the constants that are built in.

**TLC**: Kim, Choi and Min, FAST 2019, as the core has it (`kind: kim`). The largest error counts,
weighted by how much is accepted: 7 % at the nine published points and in the first day, 9 % of what
an hour to a day alone adds, 13 % on a grid of 500 to 5000 cycles, an hour to a year, 100 to 1000
reads per page. What a mean error rate cannot tell is not fitted: the erased state, the coupling of
neighbours, the reference temperature.

**MLC**: what reads add, as the core has it (`kind: read_disturb`; Cai et al., DSN 2015), 30 % being
accepted; and four error rates that are assumed. Data sheets of planar MLC promise 3000 cycles and
a year with 40 bits corrected in 1 KiB, which is an error rate of 1.3e-3 at an UBER of 1e-15
(computed): the worse page is led to two thirds of it, so the mean to 6e-4. That without a year it
is 2e-4, on fresh flash 3e-5 and after 8000 cycles 8e-4 is assumed. The shape of charge loss is the
slow part of TLC.

**QLC**: two error rates that are assumed. A fresh page must be read at once by an LDPC code of rate
0.9 (hard decisions fail from about 4e-3 on), and after 1000 cycles and a year at 30 degrees with
soft decisions (they fail from about 1.3e-2 on, and a year adds a third to the worst page at its
best levels): 2.5e-3 and 7e-3 without ageing.

The search is the downhill simplex of J. Nelder and R. Mead, Computer Journal 7, 1965, in
logarithms of the parameters, restarted until it stands still. It asks the *installed* package, so
that what is fitted is what is shipped. A minute on one core.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opennandlab.reliability import Model, load_model

Floats = NDArray[np.float64]
# Cycles, hours at 40 degrees, reads per page.
Stress = tuple[float, float, float]
# A year at 30 degrees in hours at 40, by 1.1 eV.
YEAR_H = 8760.0 / 3.84
RESTARTS, STEPS = 8, 2000
DIGITS = 4


@dataclass(frozen=True)
class Claim:
    """Error rates that a cell is led to."""

    title: str
    stresses: Sequence[Stress]
    target: Callable[[Floats, Floats, Floats], Floats]
    """Error rate at each stress."""
    accepted: float
    """Relative error that counts as 1."""
    is_added: bool = False
    """Whether what time and reads add is looked at, without the rest."""

    def errors(self, model: Model) -> Floats:
        """Return the logarithm of model over target at each stress."""
        cycles, hours, reads = np.array(self.stresses, float).T
        ours = model.rber(cycles, hours, reads=reads)
        target = self.target(cycles, hours, reads)
        if self.is_added:
            rest = np.zeros_like(cycles)
            ours = ours - model.rber(cycles)
            target = target - self.target(cycles, rest, rest)
        logs: Floats = np.log(np.maximum(ours, 1e-300) / target)
        return logs


@dataclass(frozen=True)
class Cell:
    """A preset, where its search begins, and what it is led to."""

    start: dict[str, float]
    claims: Sequence[Claim]
    fixed: dict[str, float]
    worst: float
    """Error that is promised at the points of the first claim."""


def published(name: str) -> Callable[[Floats, Floats, Floats], Floats]:
    """Return the error rate of a formula model."""

    def rber(cycles: Floats, hours: Floats, reads: Floats) -> Floats:
        return load_model(name).rber(cycles, hours, reads=reads)

    return rber


def assumed(values: dict[Stress, float]) -> Callable[[Floats, Floats, Floats], Floats]:
    """Return error rates by stress."""

    def rber(cycles: Floats, hours: Floats, reads: Floats) -> Floats:
        return np.array([values[stress] for stress in zip(cycles, hours, reads, strict=True)])

    return rber


WORN = (500, 1000, 1500, 3000, 5000)
MLC: dict[Stress, float] = {
    (0, 0, 0): 3e-5,
    (3000, 0, 0): 2e-4,
    (8000, 0, 0): 8e-4,
    (3000, YEAR_H, 0): 6e-4,
}
QLC: dict[Stress, float] = {(0, 0, 0): 2.5e-3, (1000, 0, 0): 7e-3}
CELLS = {
    "tlc": Cell(
        {
            "sigma": 0.1756,
            "wear_cycles": 4820.0,
            "wear_exponent": 1.607,
            "retention_shift": 0.05865,
            "retention_time_h": 12.88,
            "early_shift": 0.02,
            "early_time_h": 0.1,
            "retention_profile": 1.364,
            "read_shift": 0.3795,
            "read_exponent": 0.909,
            "read_wear_exponent": 0.2819,
        },
        [
            Claim(
                "published points",
                [
                    *((cycles, 0, 0) for cycles in (0, *WORN)),
                    (3000, 720, 0),
                    (3000, 8760, 0),
                    (3000, 0, 1000),
                    *((cycles, hours, 0) for cycles in (1000, 3000) for hours in (1, 3, 24)),
                ],
                published("kim"),
                0.07,
            ),
            # Wear hides it at more cycles.
            Claim(
                "added by time",
                [(1000, hours, 0) for hours in (1, 3, 24)],
                published("kim"),
                0.09,
                is_added=True,
            ),
            Claim(
                "grid",
                [
                    *((c, hours, 0) for c in WORN for hours in (1, 3, 8, 24, 72, 168, 720, 2160)),
                    *((cycles, 8760, 0) for cycles in WORN),
                    *((c, 0, reads) for c in WORN for reads in (100, 200, 300, 500, 700, 1000)),
                ],
                published("kim"),
                0.13,
            ),
        ],
        {},
        0.10,
    ),
    "mlc": Cell(
        {
            "sigma": 0.13,
            "wear_cycles": 6000.0,
            "wear_exponent": 1.3,
            "retention_shift": 0.03,
            "read_shift": 0.3,
            "read_exponent": 0.6,
            "read_wear_exponent": 0.1,
        },
        [
            Claim("assumed", list(MLC), assumed(MLC), 0.05),
            Claim(
                "added by reads",
                [
                    (cycles, 0, reads)
                    for cycles in (2000, 3000, 5000, 8000, 15_000)
                    for reads in (100, 250, 500, 1000)
                ],
                published("read_disturb"),
                0.30,
                is_added=True,
            ),
        ],
        {"early_shift": 0.0},
        0.10,
    ),
    "qlc": Cell(
        {"sigma": 0.18, "wear_cycles": 1600.0},
        [Claim("assumed", list(QLC), assumed(QLC), 0.05)],
        {},
        0.10,
    ),
}


def model_of(name: str, parameters: dict[str, float]) -> Model:
    """Return the preset with these parameters."""
    return load_model({"kind": "states", "preset": name, **CELLS[name].fixed, **parameters})


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


def fit(name: str) -> dict[str, float]:
    """Return the fitted parameters of a cell, rounded."""
    cell = CELLS[name]

    def named(logs: Floats) -> dict[str, float]:
        return dict(zip(cell.start, np.exp(logs).tolist(), strict=True))

    def cost(logs: Floats) -> float:
        # The worst weighted error, smoothed so that the simplex finds its way.
        model = model_of(name, named(logs))
        weighted = [claim.errors(model) / claim.accepted for claim in cell.claims]
        return float((np.abs(np.concatenate(weighted)) ** 12).sum() ** (1 / 12))

    logs = np.log(list(cell.start.values()))
    for _ in range(RESTARTS):
        logs = simplex(cost, logs, STEPS)
    return {key: float(f"{value:.{DIGITS}g}") for key, value in named(logs).items()}


def report(name: str, parameters: dict[str, float]) -> bool:
    """Print the errors at every point; return whether the promise of the cell holds."""
    model = model_of(name, parameters)
    for claim in CELLS[name].claims:
        off = np.expm1(claim.errors(model)) * 100
        print(f"{name}, {claim.title}: worst {max(off.min(), off.max(), key=abs):+.1f} %")
        for (cycles, hours, reads), error in zip(claim.stresses, off, strict=True):
            print(f"  {cycles:5d} cycles {hours:5.0f} h {reads:5d} reads: {error:+5.1f} %")
    worst = float(np.abs(np.expm1(CELLS[name].claims[0].errors(model))).max())
    return worst < CELLS[name].worst and math.isfinite(worst)


def main() -> int:
    """Fit, or check what is built in; print constants and errors."""
    names = [name for name in sys.argv[1:] if name in CELLS] or list(CELLS)
    is_good = True
    for name in names:
        built_in = load_model(name).parameters
        parameters = {key: float(built_in[key]) for key in CELLS[name].start}
        if "--check" not in sys.argv[1:]:
            parameters = fit(name)
            print(f"const {name.upper()}: Constants {{")
            for key, value in parameters.items():
                print(f"    {key}: {value},")
            print("}")
        is_good &= report(name, parameters)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
