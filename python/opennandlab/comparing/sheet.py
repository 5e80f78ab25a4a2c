"""A comparison as CSV: one row for each number, with all its digits."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from opennandlab.documents.comparison import Comparison
from opennandlab.files import write_atomically

HEADS = ("path", "number", "better", "best", "worst")


def write(found: Comparison, paths: Sequence[str], path: Path) -> None:
    """Write rows of a comparison: values of all documents, then deltas and ends of intervals.

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
    names = found.names
    parts = (names, [f"delta_pct {it}" for it in names[1:]], [f"low {it}" for it in names])
    writer.writerow([*HEADS, *(it for part in parts for it in part), *(f"high {n}" for n in names)])
    blank = [None] * len(names)
    for key in paths:
        row = found.metrics[key]
        marked = [
            "; ".join(name for at, name in enumerate(names) if row.mark(at) == kind)
            for kind in ("best", "worst")
        ]
        writer.writerow(
            [
                *(key, row.label or key, row.better or "", *marked, *row.values),
                *row.delta_pct[1:],
                *(row.low or blank),
                *(row.high or blank),
            ]
        )
    return out.getvalue()
