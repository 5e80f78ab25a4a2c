"""Cells of a test as the rows of a table: what repeats is one row, of rounds the last five.

A row is a cell of a phase. Its figures are those of all its cells together: requests over seconds,
the mean of all response times, joules over seconds. One that a cell lacks is unknown.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from opennandlab.documents import pts

# Rounds that count: the window of the steady state, attained or not.
WINDOW_ROUNDS: Final = 5
# Figures whose ratios are compared, and their names.
COMPARED: Final = (
    ("iops", "IOPS"),
    ("lat_us_mean", "mean response time"),
    ("lat_us_max", "longest response time"),
    ("power_w", "W"),
)


@dataclass
class CellRow:
    """Cells that make a row.

    Args:
        phase: Part of the test they belong to.
        group: Part of the phase with a separate purge; mostly empty.
        cells: The cells.
    """

    phase: str
    group: str
    cells: list[pts.Cell] = field(default_factory=list)

    @property
    def label(self) -> str:
        """Its name in tables."""
        return self.cells[0].label

    @property
    def seconds(self) -> float:
        """Measured time of all cells."""
        return math.fsum(cell.seconds for cell in self.cells)

    def per_second(self, column: str) -> float | None:
        """Return a rate or a power over all cells; None where one lacks it, or without time."""
        parts = [(cell.number(column), cell.seconds) for cell in self.cells]
        return _weighted(parts)

    def figure(self, column: str) -> float | None:
        """Return a column of `COMPARED` over all cells."""
        if column == "lat_us_max":
            found = [cell.number(column) for cell in self.cells]
            known = [value for value in found if value is not None]
            return max(known) if known and len(known) == len(found) else None
        if column == "lat_us_mean":
            return _weighted([(cell.number(column), cell.ios) for cell in self.cells])
        return self.per_second(column)


def rows_of(phases: Sequence[pts.Phase], cells: Sequence[pts.Cell]) -> list[CellRow]:
    """Return the rows of a document in the order of their first cells."""
    starts = [phase.start_s for phase in phases]
    placed = []
    last: dict[tuple[str, str], int] = {}
    for cell in cells:
        at = bisect_right(starts, cell.start_s) - 1
        name, group = (phases[at].name, phases[at].group or "") if at >= 0 else (cell.phase, "")
        placed.append((cell, name, group))
        last[name, group] = max(last.get((name, group), 0), cell.round or 0)
    rows: dict[tuple[object, ...], CellRow] = {}
    for cell, name, group in placed:
        if cell.round is not None and cell.round <= last[name, group] - WINDOW_ROUNDS:
            continue
        load = (cell.block_bytes, cell.rw_pct, cell.threads, cell.queue_depth)
        key = (name, group, cell.phase, cell.label, *load)
        rows.setdefault(key, CellRow(cell.phase, group)).cells.append(cell)
    return list(rows.values())


def row_names(rows: Sequence[CellRow], *, with_phase: bool = False) -> Iterator[str]:
    """Yield names of rows: labels, with group and phase where others have the same label.

    Args:
        rows: The rows.
        with_phase: Whether all names have the phase.
    """
    labels = [row.label for row in rows]
    taken: dict[str, int] = {}
    for row in rows:
        name = row.label
        if with_phase or labels.count(name) > 1:
            more = [word for word in (row.group, row.phase) if word and word not in name]
            name = f"{name} ({', '.join(more)})" if more else name
        taken[name] = taken.get(name, 0) + 1
        yield name if taken[name] == 1 else f"{name}, {taken[name]}"


def ratios(documents: Sequence[pts.PtsDocument], names: Sequence[str]) -> list[pts.Table]:
    """Return a table for each document but the first: its figures over those of the first, by cell.

    Args:
        documents: Documents of one test.
        names: What each is called, such as its state.
    """
    found = [
        dict(zip(row_names(rows), rows, strict=True))
        for rows in (rows_of(one.phases, one.cells.rows) for one in documents)
    ]
    tables: list[pts.Table] = []
    for name, other in zip(names[1:], found[1:], strict=True):
        shared = [cell for cell in found[0] if cell in other]
        tables.append(
            pts.Table(
                id=f"ratios-{len(tables) + 1}",
                title=f"{name} / {names[0]}, by cell",
                unit="ratio",
                row_label="Cell",
                column_label="",
                rows=shared,
                columns=[text for _, text in COMPARED],
                values=[
                    [
                        _ratio(other[cell].figure(column), found[0][cell].figure(column))
                        for column, _ in COMPARED
                    ]
                    for cell in shared
                ],
            )
        )
    return tables


def _ratio(value: float | None, base: float | None) -> float | None:
    return None if value is None or not base else value / base


def _weighted(parts: Sequence[tuple[float | None, float]]) -> float | None:
    """Return the weighted mean; None where a value is missing, or without weight."""
    total = math.fsum(weight for _, weight in parts)
    if total <= 0 or any(value is None for value, _ in parts):
        return None
    return math.fsum((value or 0.0) * weight for value, weight in parts) / total
