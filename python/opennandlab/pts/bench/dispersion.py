"""How far the rounds of the window lie apart: the least and the greatest value of each cell.

A mean over five rounds says nothing of their spread, and the rule limits only what is tracked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opennandlab.documents.pts import Table
from opennandlab.pts.bench.document import table
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.rounds import CellPlan, Rounds
from opennandlab.stats.steady import EXCURSION_RATIO_MAX

Extremes = tuple[float | None, float | None]


def extremes(rounds: Rounds, index: int, metric: str) -> Extremes:
    """Return the least and the greatest value of a cell in the window; None where one lacks it."""
    found = [cell.value(metric) for cell in rounds.windowed(index)]
    known = [value for value in found if value is not None]
    return (min(known), max(known)) if known and len(known) == len(found) else (None, None)


def warn_of_other_cells(
    bench: Bench, rounds: Rounds, plans: Sequence[CellPlan], metric: str
) -> None:
    """Warn where rounds of the window lie far apart, though the test was steady by the rule.

    The five-point rule allows tracked values 20 %; it knows nothing of the other cells. A smoke
    measures none of them.

    Args:
        bench: Where that is noted.
        rounds: Those of the test.
        plans: Cells of a round.
        metric: Column of the cells.
    """
    if not rounds.attained or bench.plan.time.name == "smoke":
        return
    apart = {}
    for at, plan in enumerate(plans):
        least, greatest = extremes(rounds, at, metric)
        average = rounds.mean(at, metric)
        if least is not None and greatest is not None and average:
            apart[plan.label] = (greatest - least) / average
    far = {label: share for label, share in apart.items() if share > EXCURSION_RATIO_MAX}
    if not far:
        return
    label, most = max(far.items(), key=lambda one: one[1])
    bench.warn(
        f"{len(far)} of {len(plans)} cells change by more than {100 * EXCURSION_RATIO_MAX:.0f} % "
        f"of their mean within the window, most of all {label} ({100 * most:.0f} %): the steady "
        "state is that of the tracked values"
    )


def mean_table(
    places: Sequence[Sequence[tuple[Rounds, int]]],
    metric: str,
    *,
    factor: float = 1.0,
    **parts: Any,  # noqa: ANN401 (those of `table`)
) -> Table:
    """Return a table of means over the window, with the least and the greatest round of each.

    Args:
        places: For each row the rounds and the place in them of each cell.
        metric: Column of the cells.
        factor: From the unit of the cells to that of the table.
        **parts: Of `table`, all but the values.
    """

    def scaled(value: float | None) -> float | None:
        return None if value is None else value * factor

    ends = [[extremes(rounds, at, metric) for rounds, at in row] for row in places]
    return table(
        **parts,
        values=[[scaled(rounds.mean(at, metric)) for rounds, at in row] for row in places],
        low=[[scaled(low) for low, _ in row] for row in ends],
        high=[[scaled(high) for _, high in row] for row in ends],
    )
