"""Throughput: sequential MB/s of one or two block sizes, each with its own steady state."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.documents import pts
from opennandlab.reports import words
from opennandlab.reports.figure.model import Axis, Plot, Series
from opennandlab.reports.model import Item, Section
from opennandlab.reports.pts import steady, tables
from opennandlab.reports.pts.source import Measured


def sections(measured: Measured) -> Iterator[Section]:
    """Yield what a report of the throughput test shows."""
    cells = [cell for cell in measured.cells if cell.block_bytes is not None]
    sizes = sorted({cell.block_bytes or 0 for cell in cells}, reverse=True)
    stated = measured.table("throughput") or measured.table("mb_s")
    windows = [cell for size in sizes for cell in _window(measured, size)]
    table = (
        tables.of_block(stated)
        if stated
        else tables.grid_table(
            tables.mean_grid(windows, "mb_s"), name="throughput", digits=1,
            title="Throughput, mean of the window, MB/s",
        )
    )  # fmt: skip
    items: list[Item] = [table] if table else []
    if windows:
        items.append(_bars(windows))
    yield Section("throughput", "Throughput", tuple(items))
    plots = [
        steady.convergence(
            [cell for cell in cells if cell.block_bytes == size],
            "mb_s",
            title=f"Steady-state convergence: {words.block(size)}, reads and writes",
            name=f"convergence-{words.kib(size)}",
            split="rw_pct",
        )
        for size in sizes
    ]
    yield Section(
        "convergence", "Convergence", tuple(plot for plot in plots if plot),
        "Every block size is purged, preconditioned and brought to its steady state by itself.",
    )  # fmt: skip
    yield from steady.sections(measured)


def _window(measured: Measured, size: float) -> list[pts.Cell]:
    """Return the cells of a block size within its own window."""
    mine = [cell for cell in measured.cells if cell.block_bytes == size]
    rounds = {
        number
        for one in measured.steady
        if one.tracking.block_bytes == size
        for number in one.window
    }
    return [cell for cell in mine if cell.round in rounds] if rounds else mine


def _bars(cells: list[pts.Cell]) -> Plot:
    grid = tables.mean_grid(cells, "mb_s")
    sizes = sorted({size for size, _ in grid if size is not None})
    mixes = sorted({read for _, read in grid if read is not None})
    places = [float(place) for place in range(len(mixes))]
    series = tuple(
        Series(
            words.block(size),
            places,
            [grid.get((size, read)) for read in mixes],
            draw="bars",
            texts=[words.value(grid.get((size, read)), 1) for read in mixes],
        )
        for size in sizes
    )
    ticks = tuple((place, words.mix(read)) for place, read in zip(places, mixes, strict=True))
    return Plot(
        "throughput-2d",
        "Throughput against read / write mix",
        Axis("read / write mix, %", ticks=ticks),
        Axis("MB/s", zero=True),
        series,
    )
