"""Figures of very many points, drawn with fewer: what a browser shows at once, and a person reads.

Neighbours along the axis are drawn as one point at their mean, and its bar goes from the least to
the greatest value (or end of an interval) among them: no extreme is hidden. Lines beyond the first
ones are left out, since a reader cannot distinguish so many. A note below the figure states what
was done.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from opennandlab.reports.figure.model import Number, Plot, Series
from opennandlab.reports.model import Table

LINES_MAX = 40


def thinned(plot: Plot, points_max: int) -> Plot:
    """Return a plot with at most about so many points; the plot itself where it has no more.

    Args:
        plot: The plot.
        points_max: Points that are drawn of all series together.
    """
    colours = list(dict.fromkeys(one.colour for one in plot.series if not one.is_key))
    kept = set(colours[:LINES_MAX])
    series = [one for one in plot.series if one.is_key or one.colour in kept]
    drawn = [one for one in series if not one.is_key]
    total, notes = sum(len(one.x) for one in drawn), []
    if len(colours) > LINES_MAX:
        notes.append(f"The first {LINES_MAX} of {len(colours)} lines are drawn.")
    if total > points_max and drawn:
        most = max(2, points_max // len(drawn))
        is_log = plot.x.scale == "log"
        series = [one if one.is_key else _binned(one, most, is_log=is_log) for one in series]
        notes.append(
            f"{total} points are drawn as {sum(len(one.x) for one in series if not one.is_key)}: "
            "each is the mean of neighbours along the axis, and its bar goes from the least to the "
            "greatest of them. Fewer points, such as those of a condition, are drawn one by one."
        )
    if not notes:
        return plot
    ticks = plot.x.ticks[:: max(1, len(plot.x.ticks) // LINES_MAX)]
    note = " ".join([*([plot.note] if plot.note else []), *notes])
    return replace(plot, series=tuple(series), note=note, x=replace(plot.x, ticks=ticks))


def cut(table: Table, rows_max: int) -> Table:
    """Return a table with at most so many rows, and a note where some are left out."""
    if len(table.rows) <= rows_max:
        return table
    said = f"The first {rows_max} of {len(table.rows)} rows; `runs table --csv` has all of them."
    tones = table.tones[:rows_max]
    return replace(
        table, rows=table.rows[:rows_max], tones=tones, note=f"{table.note} {said}".strip()
    )


def _binned(series: Series, most: int, *, is_log: bool) -> Series:
    """Return a series whose neighbours are one point each; short ones as they are."""
    count = len(series.x)
    if count <= most:
        return series
    edges = [place * count // most for place in range(most + 1)]
    spans = [range(low, high) for low, high in pairwise(edges)]
    x = [_middle([series.x[at] for at in span], is_log=is_log) for span in spans]
    y = [_middle([series.y[at] for at in span], is_log=False) for span in spans]
    ends = {
        name: [_end([*_at(values, span), *_at(series.y, span)], is_high=name == "high")
               for span in spans]
        for name, values in (("low", series.low), ("high", series.high))
    }  # fmt: skip
    if series.draw in {"dashed", "line", "steps"}:
        return replace(series, x=x, y=y, low=(), high=(), texts=(), marks=())
    return replace(series, x=x, y=y, low=ends["low"], high=ends["high"], texts=(), marks=())


def _at(values: Sequence[Number], span: range) -> list[Number]:
    return [values[at] for at in span] if values else []


def _middle(values: Sequence[Number], *, is_log: bool) -> Number:
    found = [value for value in values if value is not None]
    if not found:
        return None
    if is_log:
        return math.exp(math.fsum(map(math.log, found)) / len(found))
    return math.fsum(found) / len(found)


def _end(values: Sequence[Number], *, is_high: bool) -> Number:
    found = [value for value in values if value is not None]
    return (max(found) if is_high else min(found)) if found else None
