"""A comparison as CSV: one row for each number, with all its digits."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from opennandlab.base.files import no_formula, write_atomically
from opennandlab.documents.comparison import Comparison

HEADS = ("path", "number", "better", "best", "worst")


def write(found: Comparison, paths: Sequence[str], path: Path) -> None:
    """Write rows: values, deltas, ends of intervals, errors against what was measured.

    Args:
        found: The comparison.
        paths: Its rows, in order.
        path: The file.

    Raises:
        OutputError: when it cannot be written, and why.
    """
    write_atomically(path, text(found, paths).encode())


def text(found: Comparison, paths: Sequence[str]) -> str:
    """Return the CSV, RFC 4180 with lines that end as those of Unix; what is not known is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [no_formula(name) for name in found.names]
    parts = (names, [f"delta_pct {it}" for it in names[1:]], [f"low {it}" for it in names])
    errors = _errors(found)
    writer.writerow(
        [
            *(*HEADS, *(it for part in parts for it in part)),
            *(f"high {it}" for it in names),
            *(f"{head} {name}" for name in errors for head in ("ratio", "error_pct")),
        ]
    )
    blank = [None] * len(names)
    for key in paths:
        row = found.metrics[key]
        marked = [
            "; ".join(name for at, name in enumerate(names) if row.mark(at) == kind)
            for kind in ("best", "worst")
        ]
        writer.writerow(
            [
                *map(no_formula, (key, row.label or key, row.better or "", *marked)),
                *row.values,
                *row.delta_pct[1:],
                *(row.low or blank),
                *(row.high or blank),
                *(it for cells in errors.values() for it in cells.get(key, (None, None))),
            ]
        )
    return out.getvalue()


def _errors(found: Comparison) -> dict[str, dict[str, tuple[float, float]]]:
    """Return ratio and error against what was measured, by simulated document and path."""
    return {
        one.simulated: {
            f"{table.table}[{cell.row}, {cell.column}]": (cell.ratio, cell.error_pct)
            for table in one.tables
            for cell in table.cells
        }
        for one in found.errors or ()
    }
