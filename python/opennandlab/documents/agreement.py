"""How far a simulated drive is from a measured one, cell by cell: part of other documents."""

from __future__ import annotations

from opennandlab.documents.record import Number, Record


class CellError(Record, frozen=True, kw_only=True):
    """A figure that both have.

    Args:
        row: Row of the table.
        column: Column of the table.
        measured: What was measured.
        simulated: What the simulated drive gives.
        ratio: Simulated over measured.
        error_pct: The same as a deviation: 100 (ratio - 1).
        is_apart: Whether the 95 % intervals of repeated runs are apart; absent where neither of
            both was repeated.
    """

    row: str
    column: str
    measured: Number
    simulated: Number
    ratio: Number
    error_pct: Number
    is_apart: bool | None = None


class Agreement(Record, frozen=True, kw_only=True):
    """The figures of a table that both have.

    Args:
        table: Its id.
        title: Its title.
        unit: Unit of the figures.
        count: Figures that both have; those that are 0 in one of them are left out.
        median_pct: Median of the errors without their signs.
        rms_pct: Root of the mean square of the errors.
        worst_pct: The error that is largest without its sign.
        worst: The cell that has it: row and column.
        cells: All of them.
    """

    table: str
    title: str
    unit: str
    count: int
    median_pct: Number
    rms_pct: Number
    worst_pct: Number
    worst: str
    cells: list[CellError]
