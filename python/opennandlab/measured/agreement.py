"""Errors of a simulated drive against a measured one, cell by cell.

An error is 100 (simulated / measured - 1). Median and RMS are over the cells of one table; a cell
that one of the two lacks, or that is not above 0, has no error.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence

from opennandlab.documents.agreement import Agreement, CellError
from opennandlab.documents.pts import Table


def agreements(measured: Sequence[Table], simulated: Sequence[Table]) -> Iterator[Agreement]:
    """Yield the errors of each table that both have cells of.

    Of IOPS and MB/s, which follow from each other, only the first. Completion latency, where that
    is all that was measured, is compared with the response time.

    Args:
        measured: Tables of the document that was imported.
        simulated: Tables of the other.
    """
    others = {table.id: table for table in simulated}
    names = {table.id for table in measured}
    for table in measured:
        if table.id == "mb_s" and "iops" in names:
            continue
        bare = table.id.removeprefix("clat_")
        other = others.get(table.id) or (others.get(bare) if bare not in names else None)
        cells = list(_errors(table, other)) if other is not None else []
        if cells:
            yield summed(table.id, table.title, table.unit, cells)


def summed(
    table: str,
    title: str,
    unit: str,
    cells: Sequence[CellError],
    weights: Sequence[float] | None = None,
) -> Agreement:
    """Return the errors of cells with their median, RMS and worst; at least one cell.

    Args:
        table: Id of their table.
        title: Its title.
        unit: Unit of the figures.
        cells: The cells.
        weights: How much the square of each counts; None for all alike.

    >>> cells = [cell("4", name, 100.0, value) for name, value in (("a", 103.0), ("b", 96.0))]
    >>> found = summed("iops", "IOPS", "IOPS", cells)
    >>> found.count, round(found.rms_pct, 6), found.worst, round(found.worst_pct, 6)
    (2, 3.535534, '4, b', -4.0)
    """
    errors = [float(one.error_pct) for one in cells]
    shares = weights if weights and any(weights) else [1.0] * len(errors)
    squares = [share * error * error for share, error in zip(shares, errors, strict=True)]
    worst = max(cells, key=lambda one: abs(one.error_pct))
    return Agreement(
        table=table,
        title=title,
        unit=unit,
        count=len(cells),
        median_pct=statistics.median(map(abs, errors)),
        rms_pct=math.sqrt(math.fsum(squares) / math.fsum(shares)),
        worst_pct=worst.error_pct,
        worst=f"{worst.row}, {worst.column}",
        cells=list(cells),
    )


def cell(
    row: str, column: str, measured: float, simulated: float, *, is_apart: bool | None = None
) -> CellError:
    """Return the error of a figure; both are above 0."""
    ratio = simulated / measured
    return CellError(
        row=row,
        column=column,
        measured=measured,
        simulated=simulated,
        ratio=ratio,
        error_pct=100 * (ratio - 1),
        is_apart=is_apart,
    )


def _errors(measured: Table, simulated: Table) -> Iterator[CellError]:
    mine, theirs = _ends(measured), _ends(simulated)
    found = {
        (row, column): value
        for row, values in zip(simulated.rows, simulated.values, strict=True)
        for column, value in zip(simulated.columns, values, strict=True)
    }
    for row, values in zip(measured.rows, measured.values, strict=True):
        for column, value in zip(measured.columns, values, strict=True):
            place = (row, column)
            other = found.get(place)
            if isinstance(value, str) or isinstance(other, str):
                continue
            if value is None or other is None or not value > 0 or not other > 0:
                continue
            ratio = float(other) / float(value)
            low, high = mine.get(place, (value, value))
            least, most = theirs.get(place, (other, other))
            is_apart = None
            if place in mine or place in theirs:
                is_apart = bool(high < least or most < low)
            if math.isfinite(ratio):
                yield cell(row, column, float(value), float(other), is_apart=is_apart)


def _ends(table: Table) -> dict[tuple[str, str], tuple[float, float]]:
    """Return the interval of each cell that has one."""
    if table.low is None or table.high is None:
        return {}
    return {
        (row, column): (float(low), float(high))
        for row, least, most in zip(table.rows, table.low, table.high, strict=True)
        for column, low, high in zip(table.columns, least, most, strict=True)
        if low is not None and high is not None
    }
