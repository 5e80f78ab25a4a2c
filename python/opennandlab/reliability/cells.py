"""A chip in the laboratory: wordlines programmed, stressed and read cell by cell.

The cells are the core's; here the counts of parts are added and compared with expected ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

from opennandlab import _core
from opennandlab.base.errors import ConfigError
from opennandlab.base.plain import to_json
from opennandlab.reliability.model import REFERENCE_C, Source, load_model

# Counts agree with their expected values within this number of standard deviations.
Z_MAX = 4.5
WORDLINES_MAX = 1_000_000
# Wordlines of a block, counted between two calls of `progress`.
PART = 8


@dataclass(frozen=True)
class CellsPage:
    """Pages of one type, counted."""

    page_type: str
    """Name of the page type."""
    bits: int
    """Bits that were read."""
    errors: int
    """Bits that were read wrong."""
    expected: float
    """Mean of the errors, given the states and neighbours of these cells."""
    z: float
    """How many standard deviations the errors are from that mean."""
    cells: float
    """Error rate of cells with random data and random neighbours."""
    plain: float
    """Error rate of the model, whose states are normal."""
    ones: int
    """Bits that were read as 1."""
    changed: tuple[int, ...]
    """Bits that differ between two neighbouring offsets."""
    information: tuple[tuple[int, float, float], ...]
    """Reads, and their information about a bit: of these cells, of the model."""


@dataclass(frozen=True)
class Valley:
    """Where a level was found to be best; offsets from its default in gaps."""

    level: int
    """The level, from 1."""
    page_type: str
    """Page type that it belongs to."""
    best: float
    """Where the states are equally dense."""
    found: float
    """Mean of what the wordlines gave."""
    sd: float | None
    """Standard deviation of it; none of one wordline."""
    excess: float
    """Mean excess of the error rate of the page over that at `best`."""
    excess_max: float
    """The largest of any wordline."""


@dataclass(frozen=True)
class CellsCount:
    """Counts of all page types and levels."""

    wordlines: int
    pages: tuple[CellsPage, ...]
    valleys: tuple[Valley, ...]

    @property
    def agrees(self) -> bool:
        """Whether all page types have as many errors as expected."""
        return all(abs(page.z) <= Z_MAX for page in self.pages)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "agrees": self.agrees}


def count_cells(  # noqa: PLR0913 - a stress has four parts, an experiment as many
    model: Source = "tlc",
    *,
    pe_cycles: float = 0.0,
    retention_h: float = 0.0,
    temperature_c: float = REFERENCE_C,
    reads: float = 0.0,
    wordlines: int = 64,
    page_bytes: int = 16_384,
    seed: int = 42,
    data: str = "random",
    open_block: bool = False,
    levels: str = "default",
    offsets: Sequence[float] = (),
    valleys: bool = False,
    information: bool = False,
    cells: Mapping[str, Any] | None = None,
    progress: Callable[[int], None] | None = None,
) -> CellsCount:
    """Program wordlines, stress them, read them, and count.

    Args:
        model: A model with states, as for `load_model`.
        pe_cycles: Program/erase cycles of the block.
        retention_h: Hours since programming.
        temperature_c: Temperature during these hours, degrees Celsius.
        reads: Reads of the block since then, per page.
        wordlines: How many are read.
        page_bytes: Bytes of a page.
        seed: Seed of data and cells.
        data: `random`, `zeros` or `ones`, before the randomiser.
        open_block: Whether each wordline is the last that is programmed in its block.
        levels: `default` or `best`.
        offsets: Further reads with all levels moved by each of these, gaps, rising.
        valleys: Whether each valley is searched for.
        information: Whether that of 1, 3 and 7 reads is computed.
        cells: Keys of `nand.cells`.
        progress: Called with the wordlines that are done.

    Raises:
        ConfigError: for a model without states, or a value out of range.

    >>> counted = count_cells("tlc", pe_cycles=3000, wordlines=8)
    >>> counted.agrees, counted.pages[2].bits
    (True, 1048576)
    """
    if not 1 <= wordlines <= WORDLINES_MAX:
        raise ConfigError("wordlines", f"{wordlines} is out of range; accepted: 1 to 1000000")
    _check(dict(cells or {}), offsets, valleys=valleys, plain=data == "random", is_open=open_block)
    text = to_json(load_model(model).parameters)
    point = (float(pe_cycles), float(retention_h), float(temperature_c), float(reads))
    plan = to_json({
        "cells": dict(cells or {}), "seed": seed, "bytes": page_bytes, "data": data,
        "open": open_block, "levels": levels, "offsets": [float(one) for one in offsets],
        "valleys": valleys,
    })  # fmt: skip
    analytic = json.loads(_core.cells_analytic(text, point, plan, information))
    parts = []
    for first in range(0, wordlines, PART):
        count = min(PART, wordlines - first)
        parts.append(json.loads(_core.cells_counted(text, point, plan, first, count)))
        if progress is not None:
            progress(first + count)
    pages = zip(analytic, *(part["pages"] for part in parts), strict=True)
    found = zip(*(part["valleys"] for part in parts), strict=True)
    return CellsCount(wordlines, tuple(map(_page, pages)), tuple(map(_valley, found)))


def _check(
    cells: dict[str, Any], offsets: Sequence[float], *, valleys: bool, plain: bool, is_open: bool
) -> None:
    """Refuse keys without effect, and valleys without levels to compare with."""
    if "blocks" in cells:
        raise ConfigError("cells.blocks", "is a key of drives; accepted: omitted")
    if len(offsets) == 1:
        raise ConfigError("offsets", "one has no other to compare with; accepted: 2 or more")
    if valleys and (is_open or not (plain or cells.get("randomiser") != "none")):
        message = (
            "compare with the best levels of cells with random data and neighbours; accepted: "
            "random data or a randomiser, and no open block"
        )
        raise ConfigError("valleys", message)


def _page(rows: Sequence[dict[str, Any]]) -> CellsPage:
    """Return the sum of the counts of a page type; the first row is of its analytic rates."""
    known, *counts = rows
    bits, errors, expected, variance, ones = (
        sum(row[name] for row in counts)
        for name in ("bits", "errors", "expected", "variance", "ones")
    )
    return CellsPage(
        page_type=known["page_type"],
        bits=bits,
        errors=errors,
        expected=expected,
        z=_z(errors, expected, variance),
        cells=known["cells"],
        plain=known["plain"],
        ones=ones,
        changed=tuple(map(sum, zip(*(row["changed"] for row in counts), strict=True))),
        information=tuple(
            (row["reads"], row["cells"], row["plain"]) for row in known["information"]
        ),
    )


def _z(errors: int, expected: float, variance: float) -> float:
    """Return the distance in standard deviations, by roots, for few errors too (Anscombe, 1948)."""
    low = 1e-300
    narrower = math.sqrt(max(expected, low) / max(variance, low))
    return 2.0 * (math.sqrt(errors + 0.375) - math.sqrt(expected + 0.375)) * narrower


def _valley(rows: Sequence[dict[str, Any]]) -> Valley:
    found = [value for row in rows for value in row["found"]]
    excess = [value for row in rows for value in row["excess"]]
    return Valley(
        level=rows[0]["level"],
        page_type=rows[0]["page_type"],
        best=rows[0]["best"],
        found=fmean(found),
        sd=stdev(found) if len(found) > 1 else None,
        excess=fmean(excess),
        excess_max=max(excess),
    )
