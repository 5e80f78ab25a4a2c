"""The numbers of a figure as a table, for pages without scripts and for CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opennandlab.reports.figure.model import Figure, Plot, Relief, Series, Stack
from opennandlab.reports.model import Table


def table_of(figure: Figure, rows_max: int = 60) -> Table:
    """Return the numbers of a figure as a table.

    Args:
        figure: The figure.
        rows_max: The most rows of a plot, whose positions are thinned evenly, with the first and
            the last; a relief and a stack keep all rows.
    """
    if isinstance(figure, Relief):
        rows = tuple((name, *row) for name, row in zip(figure.rows, figure.values, strict=True))
        return Table(
            figure.id, f"{figure.title}, {figure.z.label}", (figure.y, *figure.columns), rows,
            span=figure.x,
        )  # fmt: skip
    if isinstance(figure, Stack):
        parts = [part.values for part in figure.parts]
        rows = tuple((name, *values) for name, *values in zip(figure.rows, *parts, strict=True))
        heads = ("", *(part.name for part in figure.parts))
        return Table(figure.id, f"{figure.title}, {figure.x.label}", heads, rows)
    return _of_plot(figure, rows_max)


def _of_plot(plot: Plot, rows_max: int) -> Table:
    named = [line for line in plot.series if not line.is_key]
    lines = [line for line in named if not line.quiet] or named
    columns = [column for line in lines for column in _columns(line)]
    places = sorted({x for _, column in columns for x in column})
    kept = _evenly(places, rows_max)
    names = dict(plot.x.ticks)
    rows = tuple(
        (names.get(place, place), *(column.get(place) for _, column in columns)) for place in kept
    )
    heads = (plot.x.label, *(name for name, _ in columns))
    note = f"{len(kept)} of {len(places)} positions" if len(kept) < len(places) else ""
    return Table(plot.id, f"{plot.title}, {plot.y.label}", heads, rows, note)


def _columns(line: Series) -> Iterator[tuple[str, dict[float, float | None]]]:
    """Yield the heads and values by position of a line, and of its error bars or its band."""
    ends = ((", low", line.low), (", high", line.high))
    for suffix, values in ends if line.draw == "band" else (("", line.y), *ends):
        if values or not suffix:
            pairs = zip(line.x, values, strict=False)
            yield line.name + suffix, {x: y for x, y in pairs if x is not None}


def _evenly(places: Sequence[float], count_max: int) -> list[float]:
    """Return at most `count_max` of the places, evenly, the first and the last among them."""
    if len(places) <= count_max:
        return list(places)
    step = (len(places) - 1) / (count_max - 1)
    return [places[round(index * step)] for index in range(count_max)]
