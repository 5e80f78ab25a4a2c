"""The IOPS surface of the SNIA NAND performance tutorial: block size by mix, as relief and map.

The map goes in bands of equal height, as in the tutorial, whose example steps by 500 IOPS; the step
is chosen so that a dozen bands or so reach the top of what was measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from opennandlab.documents import pts
from opennandlab.reports import words
from opennandlab.reports.figure.model import Axis, Relief
from opennandlab.reports.figure.scale import nice_ticks
from opennandlab.reports.model import Section
from opennandlab.reports.pts import iops, steady, tables
from opennandlab.reports.pts.source import Measured

PREPARATION = {"precondition", "gap", "wipc", "prewrite", "fill"}


def sections(measured: Measured) -> Iterator[Section]:
    """Yield what a report of the surface shows."""
    cells = measured_cells(measured)
    grid = tables.mean_grid(cells, "iops")
    shown = sorted(
        iops.reliefs(grid, z="IOPS", subject="IOPS"), key=lambda relief: relief.shape, reverse=True
    )
    yield Section("surface", "IOPS surface", tuple(shown), CONDITIONS)
    yield Section("map", "Colour map", tuple(_map(grid)))
    stated = tuple(tables.of_blocks(measured))
    made = tables.grid_table(grid, name="iops", title="IOPS", digits=1)
    yield Section("tables", "Tables", stated or ((made,) if made else ()))
    plots = iops.over_block_size(grid, label="IOPS", subject="IOPS")
    yield Section("curves", "IOPS against block size", tuple(plots))
    yield from preconditioning(measured)


CONDITIONS = (
    "Random requests, sustained, at the threads, queue depth and preconditioning of the header."
)


def measured_cells(measured: Measured) -> tuple[pts.Cell, ...]:
    """Return the cells that are no preparation."""
    return tuple(cell for cell in measured.cells if cell.phase not in PREPARATION)


def preconditioning(measured: Measured) -> Iterator[Section]:
    """Yield how the drive came to its steady state before the measurement."""
    items = list(steady.items(measured.steady))
    if items:
        lead = steady.lead(measured.steady)
        yield Section("preconditioning", "Preconditioning", tuple(items), lead)


def _map(grid: iops.Grid) -> Iterator[Relief]:
    sizes = sorted({size for size, _ in grid if size is not None})
    mixes = sorted({read for _, read in grid if read is not None})
    if len(sizes) < 2 or len(mixes) < 2:
        return
    top = max(grid.values())
    steps = nice_ticks(0.0, max(top, 1e-9) / 2)
    band = steps[1] if len(steps) > 1 else max(top, 1.0)
    linear = Relief(
        "map",
        f"IOPS by block size and mix, in bands of {words.number(float(f'{band:.9g}'))} IOPS",
        "read / write mix, %",
        "block size, KiB",
        Axis("IOPS", zero=True),
        tuple(map(words.mix, mixes)),
        tuple(map(words.kib, sizes)),
        tuple(tuple(grid.get((size, read)) for read in mixes) for size in sizes),
        "bands",
        band,
    )
    yield linear
    if min(grid.values()) > 0 and top > iops.LOG_RATIO_MIN * min(grid.values()):
        title = "IOPS by block size and mix, in bands of 1, 2 and 5"
        yield replace(linear, id="map-log", title=title, z=Axis("IOPS", "log"), band=None)
