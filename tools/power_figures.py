"""Figures of docs/power-loss.md: what an interrupted program does, and what weak options show."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

from opennandlab.base.files import write_atomically
from opennandlab.reports.figure import static
from opennandlab.reports.figure.model import Axis, Mark, Plot, Series
from opennandlab.reports.power import plot
from opennandlab.studies.power.study import run

# As in `crates/sim/src/power_loss/physics.rs`.
NOMINAL_RBER: Final = 1e-4
DAMAGED_RBER: Final = 5e-2
CORRECTABLE_RBER: Final = 8e-3
SPREAD: Final = 0.3
STEPS: Final = 100


def program(path: Path) -> None:
    """Draw error rates against how much of a program was done when the power went."""
    shares = [step / STEPS for step in range(STEPS + 1)]

    def under_way(share: float) -> float:
        return 0.5 * math.exp(share * math.log(NOMINAL_RBER / 0.5))

    def earlier(share: float) -> float | None:
        rate = DAMAGED_RBER * 4.0 * share * (1.0 - share)
        return rate if rate > 0.0 else None

    def band(name: str, rates: list[float | None], colour: int) -> tuple[Series, Series]:
        factor = 10.0**SPREAD
        low = [None if rate is None else rate / factor for rate in rates]
        high = [None if rate is None else min(rate * factor, 0.5) for rate in rates]
        return (
            Series(f"{name}, spread", shares, high, "band", colour, quiet=True, low=low, high=high),
            Series(name, shares, rates, "line", colour),
        )

    drawn = Plot(
        "program",
        "Raw bit error rate after a cut, by how much of the program was done",
        Axis("share of the program that was done"),
        Axis("raw bit error rate", "log"),
        (
            *band("the page in progress", [under_way(share) for share in shares], 0),
            *band("an earlier page of its wordline", [earlier(share) for share in shares], 1),
        ),
        marks=(Mark("y", CORRECTABLE_RBER, "the code corrects below"),),
    )
    write_atomically(path, static.svg([drawn]).encode())


def study(path: Path) -> None:
    """Run the study of options, and draw how often each weak one shows its fault."""
    write_atomically(path, static.svg([plot(list(run(jobs=2)))]).encode())
