"""Points as a table: columns by name, one row per point; frames, Arrow and HTML of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opennandlab.base.frames import frame_of
from opennandlab.store.entry import Scalar

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# Rows that a notebook shows; `frame()` has all.
HTML_ROWS_MAX = 50


@dataclass(frozen=True)
class Rows:
    """A table of points.

    Args:
        columns: Names.
        rows: One list per point, in the order of the columns; None where a point has no such value.
        matched: Points that the conditions hold for; more than `rows` where these were limited.
        coordinates: The columns that are coordinates.
        metrics: The columns that are metrics.
    """

    columns: list[str]
    rows: list[list[Scalar]]
    matched: int
    coordinates: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Scalar]]:
        """Yield each row by name."""
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def column(self, name: str) -> list[Scalar]:
        """Return the values of a column.

        Raises:
            KeyError: for a name that is no column.
        """
        if name not in self.columns:
            raise KeyError(name)
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def frame(self) -> pd.DataFrame:
        """Return a data frame of pandas, or of polars where only that is installed.

        Raises:
            ImportError: when neither is.
        """
        return frame_of({name: self.column(name) for name in self.columns})

    def arrow(self) -> pa.Table:
        """Return a table of Arrow (needs pyarrow: the extra `parquet`).

        A column that holds both numbers and texts becomes text.

        Raises:
            ImportError: when pyarrow is not installed.
        """
        try:
            import pyarrow as pa
        except ImportError:
            raise ImportError(
                "Arrow and Parquet need pyarrow: pip install 'opennandlab[parquet]'"
            ) from None
        return pa.table({name: _uniform(self.column(name)) for name in self.columns})

    def _repr_html_(self) -> str:
        from html import escape

        def cell(value: Scalar) -> str:
            text = f"{value:.6g}" if isinstance(value, float) else str(value)
            return f"<td>{'' if value is None else escape(text)}</td>"

        shown = self.rows[:HTML_ROWS_MAX]
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in shown)
        count = f"{len(shown)} of {self.matched}" if len(shown) < self.matched else str(len(shown))
        return f"<table><tr>{head}</tr>{body}</table><p>{count} points</p>"


def _uniform(values: Sequence[Scalar]) -> list[Scalar]:
    """Return values of one type: numbers as floating point where one is, else texts.

    >>> _uniform([1, 2.5, None]), _uniform([1, "a"]), _uniform([2**64, 1])
    ([1.0, 2.5, None], ['1', 'a'], ['18446744073709551616', '1'])
    """
    kinds = {type(value) for value in values if value is not None}
    is_large = int in kinds and any(
        isinstance(value, int) and not -(2**63) <= value < 2**63 for value in values
    )
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in values]
    if len(kinds) > 1 or is_large:
        return [None if value is None else str(value) for value in values]
    return list(values)
