"""Errors of a simulated drive against a measured one: a table, a map, and both figures of each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from opennandlab.documents.agreement import Agreement
from opennandlab.documents.comparison import Deviation
from opennandlab.reports.figure.model import Axis, Plot, Relief, Series
from opennandlab.reports.model import Cell, Item, Table

# Steps of the map, in percent: the least that needs at most a dozen.
BANDS = (1.0, 2.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0)
BANDS_MAX = 12
ALIKE = "In brackets: no difference, the 95 % intervals of repeated runs meet."
SIMULATED, MEASURED = "simulated", "measured"


def note(other: str = SIMULATED, measured: str = MEASURED) -> str:
    """Say what an error is.

    >>> note()
    'Error: 100 (simulated / measured - 1).'
    """
    return f"Error: 100 ({other} / {measured} - 1)."


def sides(one: Deviation) -> tuple[str, str]:
    """Return what both sides are called: the documents by name where both were measured."""
    return (one.simulated, one.measured) if one.both_measured else (SIMULATED, MEASURED)


def summary(
    found: Sequence[Agreement],
    identity: str = "agreement",
    names: tuple[str, str] = (SIMULATED, MEASURED),
) -> Table:
    """Return count, median, RMS and worst error of some tables."""
    heads = ("table", "cells", "median |error|, %", "RMS error, %", "worst, %", "at")
    rows = tuple(
        (one.title, str(one.count), one.median_pct, one.rms_pct, one.worst_pct, one.worst)
        for one in found
    )
    kind = SIMULATED if names[0] == SIMULATED else MEASURED
    return Table(identity, f"{kind.capitalize()} against measured", heads, rows, note(*names))


def items(
    found: Agreement,
    prefix: str = "",
    of: str = "",
    names: tuple[str, str] = (SIMULATED, MEASURED),
) -> Iterator[Item]:
    """Yield errors by cell as a table and as a map, and a plot of both figures.

    Args:
        found: The errors.
        prefix: Prefix of the names of the items, where a page has several.
        of: Which cells these are, where that is not all of a table.
        names: What both sides are called.
    """
    title = f"{found.title}, {of}" if of else found.title
    rows = list(dict.fromkeys(one.row for one in found.cells))
    # Of a part of a table the first row may lack some.
    columns = sorted(dict.fromkeys(one.column for one in found.cells), key=_reads)
    errors = {(one.row, one.column): float(one.error_pct) for one in found.cells}
    alike = {(one.row, one.column) for one in found.cells if one.is_apart is False}
    grid: tuple[tuple[Cell, ...], ...] = tuple(
        (row, *(f"({text})" if (row, column) in alike else text
                for column in columns for text in [_signed(errors.get((row, column)))]))
        for row in rows
    )  # fmt: skip
    name = f"{prefix}{found.table}"
    said = note(*names) + (f" {ALIKE}" if alike else "")
    yield Table(f"error-{name}", f"{title}: error, %", ("cell", *columns), grid, said)
    if len(rows) > 1 and len(columns) > 1:
        sizes: tuple[tuple[float | None, ...], ...] = tuple(
            tuple(_size(errors.get((row, column))) for column in columns) for row in rows
        )
        yield Relief(
            f"map-{name}",
            f"{title}: error without its sign, %",
            "reads / writes, %" if all(_reads(one) or one == "0/100" for one in columns) else "",
            "block size, KiB" if all(one.replace(".", "").isdigit() for one in rows) else "",
            Axis("error, %", zero=True),
            tuple(columns),
            tuple(rows),
            sizes,
            "bands",
            _band(errors.values()),
        )
    yield _both(found, name, title, names)


def _both(found: Agreement, name: str, title: str, names: tuple[str, str]) -> Plot:
    other, reference = names
    measured = [float(one.measured) for one in found.cells]
    ends = [min(measured), max(measured)]
    return Plot(
        f"both-{name}",
        f"{title}: {other} against {reference}, {found.unit}",
        Axis(f"{reference}, {found.unit}", "log"),
        Axis(f"{other}, {found.unit}", "log"),
        (
            Series("equal", ends, ends, "line", colour=-1, quiet=True),
            Series("cells", measured, [float(one.simulated) for one in found.cells], "points"),
        ),
    )  # fmt: skip


def _band(errors: Iterable[float]) -> float:
    top = max((abs(one) for one in errors), default=1.0)
    return next((one for one in BANDS if top / one <= BANDS_MAX), math.ceil(top / BANDS_MAX))


def _reads(column: str) -> float:
    """Return the reads of a column such as 65/35; 0 for others, which keep their order."""
    reads, slash, writes = column.partition("/")
    return float(reads) if slash and reads.isdigit() and writes.isdigit() else 0.0


def _size(error: float | None) -> float | None:
    return None if error is None else abs(error)


def _signed(error: float | None) -> str:
    return "" if error is None else f"{error:+.1f}".replace("-", "\N{MINUS SIGN}")
