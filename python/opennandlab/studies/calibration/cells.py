"""The cells of a measured document that a fit compares, and those that it holds out."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from opennandlab.base.errors import ResultError
from opennandlab.documents.pts import PtsDocument, Table
from opennandlab.studies.calibration.loads import FIGURES, Load

# Test -> table, figure of `pts.cells`, and its factor to the unit of the table.
COMPARED = {
    "iops": ("iops", "iops", 1.0),
    "throughput": ("throughput", "mb_s", 1.0),
    "latency": ("art", "lat_us_mean", 1e-3),
}
HOLD_OUT = 0.25


@dataclass(frozen=True)
class Target:
    """A measured figure.

    Args:
        row: Row of the table.
        column: Column of the table.
        block_bytes: Size of a request.
        read_pct: Reads in percent.
        value: The measurement, in the unit of the table.
        weight: How much its square counts in the loss.
        load: The writes, of a cell that is a single run.
        where: Its place in a file.
    """

    row: str
    column: str
    block_bytes: int
    read_pct: float
    value: float
    weight: float = 1.0
    load: Load | None = None
    where: str = ""

    @property
    def kind(self) -> str:
        """Kind of figure, by which it counts: `rate`, `waf`, `p50` and so on."""
        return "rate" if self.load is None else FIGURES[self.column][1]

    @property
    def name(self) -> str:
        """Name on the command line: `4:0/100`."""
        return f"{self.row}:{self.column}"


def table_of(document: PtsDocument) -> Table:
    """Return the table that is compared.

    Raises:
        ResultError: for a document of a test that has none.
    """
    if document.test not in COMPARED:
        raise ResultError(
            f"{document.name}: no common cell: it is of the test `{document.test}`; accepted: "
            f"documents of {', '.join(COMPARED)}"
        )
    wanted = COMPARED[document.test][0]
    found = next((one for one in document.tables if one.id == wanted), None)
    if found is None:
        raise ResultError(
            f"{document.name}: no common cell: it has no table `{wanted}`; accepted: a document of "
            f"{document.test} with it"
        )
    return found


def uncertain(document: PtsDocument, *, force: bool) -> list[str]:
    """Return warnings of cells that are uncertain: they fail a check of the import.

    Args:
        document: The measurement.
        force: Take them, as they are labelled.

    Raises:
        ResultError: for a document with such cells, unless they are forced.
    """
    found = document.header.imported
    told = [
        f"{one.row}:{one.column} is uncertain: {'; '.join(one.reasons)}"
        for one in (found and found.uncertain) or []
    ]
    if told and not force:
        more = f" (and {len(told) - 1} cells more)" if len(told) > 1 else ""
        raise ResultError(
            f"{document.name}: cell {told[0]}{more}; accepted: cells whose figures are those of "
            "their load, or --force"
        )
    left = "; left out, its size is not a multiple of 512 B"
    return [
        f"cell {text}{left if _place(*text.partition(' ')[0].split(':')) is None else ''}"
        for text in told
    ]


def targets(document: PtsDocument) -> list[Target]:
    """Return the figures of a document that can be compared, in the order of its test.

    Each cell leaves its traces for the next: IOPS and latency go by mixes, reads first, and within
    by sizes, large first; throughput by sizes.

    Raises:
        ResultError: when there are none.
    """
    table = table_of(document)
    found = []
    for row, values in zip(table.rows, table.values, strict=True):
        for column, value in zip(table.columns, values, strict=True):
            place = _place(row, column)
            if place is None or isinstance(value, str) or value is None:
                continue
            if math.isfinite(value) and value > 0:
                found.append(Target(row, column, *place, float(value)))
    if not found:
        raise ResultError(
            f"{document.name}: no common cell: no row of `{table.id}` is a size in KiB with a "
            "figure above 0 in a column such as 65/35; accepted: a table of sizes by mixes"
        )
    if document.test == "throughput":
        return sorted(found, key=lambda one: (-one.block_bytes, -one.read_pct))
    return sorted(found, key=lambda one: (-one.read_pct, -one.block_bytes))


def _place(row: str, column: str) -> tuple[int, float] | None:
    reads, slash, writes = column.partition("/")
    try:
        size, read_pct = float(row) * 1024, float(reads)
        is_mix = slash and math.isclose(read_pct + float(writes), 100)
    except ValueError:
        return None
    if not is_mix or size != int(size) or size < 512 or size % 512:
        return None
    return int(size), read_pct


def held_out(names: Sequence[str], asked: str | None, seed: int) -> set[str]:
    """Return the names of the cells that take no part in the fit.

    Args:
        names: Of all cells.
        asked: A share, or names such as `4:0/100,8:100/0`; None for a quarter.
        seed: Decides which.

    Raises:
        ResultError: for what is neither, and where nothing would be left to fit.
    """
    text = str(HOLD_OUT) if asked is None else asked.strip()
    if ":" in text or set(names) & {one.strip() for one in text.split(",")}:
        chosen = {one.strip() for one in text.split(",")}
        unknown = sorted(chosen - set(names))
        if unknown:
            raise ResultError(
                f"--hold-out: no cell is called `{unknown[0]}`; accepted: names such as {names[0]}"
            )
    else:
        try:
            share = float(text)
        except ValueError:
            share = -1.0
        if not 0 <= share < 1:
            raise ResultError(
                f"--hold-out: `{text}` is neither a share nor a name; accepted: a share from 0 to "
                f"below 1, or names "
                f"such as {names[0]}"
            )
        chosen = _spread(names, share, seed)
    if len(chosen) >= len(names):
        raise ResultError("--hold-out: no cell is left to fit; accepted: fewer")
    return chosen


def _spread(names: Sequence[str], share: float, seed: int) -> set[str]:
    """Return a share of names, one drawn from each stretch of equal length."""
    count = round(share * len(names))
    if not count:
        return set()
    draw = random.Random(f"{seed}/hold-out")  # noqa: S311 (nobody guesses it)
    edges = [round(place * len(names) / count) for place in range(count + 1)]
    return {names[draw.randrange(low, high)] for low, high in pairwise(edges)}
