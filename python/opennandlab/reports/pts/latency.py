"""Latency: response times at one outstanding request, three block sizes by three mixes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from opennandlab.documents.pts_origin import is_own_matrix
from opennandlab.reports.model import Item, Section
from opennandlab.reports.pts import iops, response, steady, tables
from opennandlab.reports.pts.source import Measured


def sections(measured: Measured) -> Iterator[Section]:
    """Yield what a report of the latency test shows."""
    cells = [cell for cell in tables.window_cells(measured) if cell.phase in {"round", ""}]
    means = tables.mean_grid(cells, "lat_us_mean", 1e-3)
    tops = tables.mean_grid(cells, "lat_us_max", 1e-3, largest=True)
    items: list[Item] = list(tables.of_blocks(measured))
    if not items:
        made = (
            tables.grid_table(means, name="art", title="Mean response time (ART), ms", digits=3),
            tables.grid_table(tops, name="mrt", title="Longest response time (MRT), ms", digits=3),
        )
        items = [table for table in made if table]
    yield Section("latency", "Response times by block size and mix", tuple(items))
    solid: list[Item] = []
    for name, grid in (("ART", means), ("MRT", tops)):
        columns = iops.reliefs(grid, z=f"{name}, ms", subject=name)[:1]
        solid.extend(iops.renamed(columns, name.lower()))
    yield Section("latency-3d", "Mean and longest response time, 3-D", tuple(solid))
    writes, what = iops.most_written(measured)
    plots = [
        steady.convergence(writes, metric, title=title, name=name)
        for metric, title, name in (
            ("lat_us_mean", f"Steady-state convergence: ART of {what}", "convergence-art"),
            ("lat_us_max", f"Convergence: MRT of {what}", "convergence-mrt"),
        )
    ]
    yield Section("convergence", "Convergence", tuple(plot for plot in plots if plot))
    yield from steady.sections(measured)
    yield from _histograms(measured)


def _histograms(measured: Measured) -> Iterator[Section]:
    """Yield the response times of all cells of the window, then those of the writes after it."""
    window = [one for one in measured.histograms if one.id.startswith("window_")]
    after = [one for one in measured.histograms if one not in window]
    whole = response.of_test(measured)
    if window:
        drawn, what = [one for one in window if DRAWN in one.title], "the 4 KiB cells"
        if is_own_matrix(measured.header):
            labels = {one.tracking.label for one in measured.steady}
            drawn = [one for one in window if one.title.removesuffix(", window") in labels]
            what = "what was tracked"
        drawn = drawn or window
        group = replace(whole, histograms=window, suffix="-window", drawn=drawn)
        shown = response.items(group)
        note = (
            f"All requests of the five rounds; histograms are drawn of {what}. Means are over all "
            "requests, those of the tables above over the means of the rounds."
        )
        yield Section("window", "Response times of the window", tuple(shown), note)
    if after:
        shown = response.items(replace(whole, histograms=after))
        yield Section("histogram", "Response time histogram, after the steady state", tuple(shown))


# Of the cells of the window those whose histograms are drawn.
DRAWN = " 4 KiB "
