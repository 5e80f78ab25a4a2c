"""The cells of a matrix on a bench, and which of them decide about the steady state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opennandlab.base.units import kib, mix
from opennandlab.pts.bench import matrix
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.matrix import Matrix
from opennandlab.pts.bench.plan import Option
from opennandlab.pts.bench.rounds import CellPlan, Rounds, Tracking
from opennandlab.pts.bench.words import name

# Percent of reads, and block size.
Key = tuple[int, int]
BLOCK_SIZES = Option(
    matrix.SIZES,
    "",
    "Other block sizes, by commas, such as 4k,12k,1m.",
    accepted=matrix.SIZES_ACCEPTED,
    reader=matrix.sizes,
)
MIXES = Option(
    matrix.MIXES,
    "",
    "Other mixes, in percent of reads, by commas, such as 100,70,0.",
    accepted=matrix.MIXES_ACCEPTED,
    reader=matrix.mixes,
)
# The largest step from one block size to the next in the matrix of the specification. Behind writes
# that are larger yet, it takes much of a minute until data are as scattered as small ones leave.
STEP_MAX = 8


def cells(bench: Bench) -> Matrix:
    """Return the matrix of the test without the sizes that the target cannot do."""
    plan = bench.plan
    sizes = tuple(size for size in plan.matrix.sizes if size >= plan.sector_bytes)
    for size in plan.matrix.sizes:
        if size not in sizes:
            bench.leave_out(f"no {kib(size)} KiB: the sectors have {plan.sector_bytes} B")
    return Matrix(sizes, plan.matrix.mixes)


def cell_plans(bench: Bench) -> list[CellPlan]:
    """Return the random cells of a round in their order.

    The first writes of a round find a drive that was filled in order, or has made room while it was
    read: a scaled cell would end before it is used up.
    """
    time = bench.plan.time
    plans = []
    # The last size that was written, in the round before for the first cell.
    own = cells(bench)
    before, has_rested = own.sizes[-1], True
    for read_pct, size in own.cells:
        stimulus = bench.stimulus(read_pct=read_pct, block_bytes=size)
        limit = time.cell(stimulus)
        if read_pct < 100:
            limit = time.whole(limit) if has_rested or before > STEP_MAX * size else limit
            before = size
        has_rested = read_pct >= 100
        plans.append(CellPlan(stimulus, limit, name(stimulus)))
    return plans


def tracking(
    bench: Bench, plans: Sequence[CellPlan], metric: str, wanted: Sequence[Key]
) -> list[Tracking]:
    """Return what must be steady: the cells that the specification names, or those in their place.

    Args:
        bench: Where a stand-in is noted.
        plans: Cells of `cell_plans`.
        metric: Column of the cells.
        wanted: Cells that the specification tracks.
    """
    own = cells(bench)
    places = {key: place for place, key in enumerate(own.cells)}
    missed: dict[Key, list[str]] = {}
    for read_pct, size in wanted:
        missing = missed.setdefault(own.nearest(read_pct, size), [])
        if (read_pct, size) not in places:
            missing.append(name(bench.stimulus(read_pct=read_pct, block_bytes=size)))
    found = [Tracking(metric, places[key], plans[places[key]]) for key in missed]
    for one, missing in zip(found, missed.values(), strict=True):
        if missing:
            verb = "is" if len(missing) == 1 else "are"
            bench.leave_out(
                f"steady state judged by {one.plan.label}: {' and '.join(missing)}, which the "
                f"specification tracks, {verb} not in the matrix"
            )
    return found


def by_mix(sizes: Sequence[int], mixes: Sequence[float]) -> dict[str, Any]:
    """Return the heads of a table of block sizes by mixes, for `table` and `mean_table`."""
    return {
        "row_label": "Block size (KiB)",
        "column_label": "R/W mix (%)",
        "rows": [kib(size) for size in sizes],
        "columns": [mix(read_pct) for read_pct in mixes],
    }


def mean(bench: Bench, rounds: Rounds, key: Key, metric: str) -> float | None:
    """Return the mean of a cell over the window; None for one that is not in the matrix."""
    found = cells(bench).cells
    return rounds.mean(found.index(key), metric) if key in found else None
