"""IOPS: 8 block sizes by 7 mixes, as tables, plots over the block size, columns and surface."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from opennandlab.documents import pts
from opennandlab.reports import words
from opennandlab.reports.figure.model import Axis, Plot, Relief, Scale, Series, Shape
from opennandlab.reports.model import Item, Section, Table
from opennandlab.reports.pts import response, steady, tables
from opennandlab.reports.pts.source import Measured

SHAPES: tuple[tuple[str, Shape, Scale, str], ...] = (
    ("3d-surface-log", "surface", "log", "3-D surface, log scale"),
    ("3d-columns", "columns", "linear", "3-D columns"),
    ("3d-surface", "surface", "linear", "3-D surface"),
)
# Below such a ratio of the largest value to the smallest a log scale shows nothing more.
LOG_RATIO_MIN = 20.0
Grid = dict[tuple[float | None, float | None], float]


def sections(measured: Measured) -> Iterator[Section]:
    """Yield what a report of the IOPS test shows."""
    cells = tables.window_cells(measured)
    grid = tables.mean_grid(cells, "iops")
    items: list[Item] = [table for table in _tables(measured, cells) if table]
    items += reliefs(grid, z="IOPS", subject="IOPS")
    items += over_block_size(
        grid, label="IOPS", subject="IOPS", ends=tables.extremes(cells, "iops")
    )
    yield Section("iops", "IOPS by block size and mix", tuple(items))
    writes, what = most_written(measured)
    rounds = steady.convergence(
        writes, "iops", title=f"Steady-state convergence: IOPS of {what}, all block sizes"
    )
    yield from steady.sections(measured)
    if rounds:
        note = "All rounds from the first on; nothing is discarded."
        yield Section("convergence", "Convergence", (rounds,), note)
    if measured.histograms:
        shown = tuple(response.items(response.of_test(measured)))
        yield Section("histograms", "Response times of what was tracked", shown)


def most_written(measured: Measured) -> tuple[list[pts.Cell], str]:
    """Return the cells of all rounds with the fewest reads, and what they are."""
    cells = [cell for cell in measured.cells if cell.phase in {"round", ""}]
    least = min((cell.rw_pct for cell in cells if cell.rw_pct is not None), default=0)
    what = "writes (0/100)" if least == 0 else words.mix(least)
    return [cell for cell in cells if cell.rw_pct == least], what


GRIDS = (
    ("iops", "iops", "IOPS, mean of the window", 1.0),
    ("mb_s", "mb_s", "Throughput, mean of the window, MB/s", 1.0),
    ("art", "lat_us_mean", "Mean response time (ART), mean of the window, ms", 1e-3),
)


def _tables(measured: Measured, cells: Sequence[pts.Cell]) -> Iterator[Table | None]:
    """Yield IOPS, MB/s and ART, as the document states them or from its cells; and the spread."""
    for name, metric, title, factor in GRIDS:
        stated = measured.table(name)
        yield (
            tables.of_block(stated)
            if stated
            else tables.grid_table(
                tables.mean_grid(cells, metric, factor), name=name, title=title,
                digits=3 if name == "art" else 1,
            )
        )  # fmt: skip
    yield tables.spread(cells, "iops", "spread")


def over_block_size(
    grid: Grid, *, label: str, subject: str, ends: tuple[Grid, Grid] | None = None
) -> list[Plot]:
    """Return values over the block size, one series for each mix, in linear and log.

    Args:
        grid: Means.
        label: Label of the axis of values.
        subject: For the titles.
        ends: The least and the greatest of what each mean is of, drawn as error bars.
    """
    sizes = sorted({size for size, _ in grid if size is not None})
    mixes = sorted({read for _, read in grid if read is not None})
    if len(sizes) < 2 or not mixes:
        return []
    ticks = tuple((size / 1024, words.kib(size)) for size in sizes)
    series = tuple(
        Series(
            words.mix(read),
            [size / 1024 for size in sizes],
            [grid.get((size, read)) for size in sizes],
            low=[ends[0].get((size, read)) for size in sizes] if ends else (),
            high=[ends[1].get((size, read)) for size in sizes] if ends else (),
        )
        for read in mixes
    )
    note = "One series for each read / write mix."
    note += " Upright lines reach from the least to the greatest round." if ends else ""
    axis = Axis("block size, KiB", "log", ticks)
    return [
        Plot(
            f"by-block-size-{scale}",
            f"{subject} against block size, {scale} scale",
            axis,
            Axis(label, scale, zero=scale == "linear"),
            series,
            note,
            ordered=True,
        )
        for scale in ("log", "linear")
    ]


def reliefs(grid: Grid, *, z: str, subject: str) -> list[Relief]:
    """Return a grid as columns and as a surface, where it is worth it on a log scale too."""
    sizes = sorted({size for size, _ in grid if size is not None})
    mixes = sorted({read for _, read in grid if read is not None})
    if len(sizes) < 2 or len(mixes) < 2:
        return []
    values = tuple(tuple(grid.get((size, read)) for read in mixes) for size in sizes)
    is_wide = min(grid.values()) > 0 and max(grid.values()) > LOG_RATIO_MIN * min(grid.values())
    return [
        Relief(
            name,
            f"{subject}: {what}",
            "read / write mix, %",
            "block size, KiB",
            Axis(z, scale, zero=scale == "linear"),
            tuple(map(words.mix, mixes)),
            tuple(map(words.kib, sizes)),
            values,
            shape,
        )
        for name, shape, scale, what in SHAPES
        if scale == "linear" or is_wide
    ]


def renamed(found: list[Relief], prefix: str) -> list[Relief]:
    """Return reliefs with a prefix to their ids, for chapters that show several grids."""
    return [replace(relief, id=f"{prefix}-{relief.id}") for relief in found]
