"""The report of a device image: how the wear of a drive is spread over its blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opennandlab.base.words import number
from opennandlab.documents.wear import DriveWear
from opennandlab.reports.figure.model import Axis, Plot, Series
from opennandlab.reports.model import Chapter, Headline, Item, Report, Section, Table

BARS = 60
# Of blocks of one bit per cell over those of full density: assumed, as `ftl.slc_cache` does.
SLC_FACTOR = 10
UNKNOWN = "unknown"
# Bars that have a number each.
TICKS_MAX = 16
SHARES = (0.0, 0.01, 0.1, 0.5, 0.9, 0.99, 1.0)


@dataclass(frozen=True)
class Rating:
    """Blocks of one rating.

    Args:
        name: Which blocks.
        blocks: How many; joined ones count as one.
        cycles: Their rated program/erase cycles; None if not known.
        note: How that is known.
    """

    name: str
    blocks: int
    cycles: float | None
    note: str


def report(
    name: str, device: Mapping[str, Any], effective: Mapping[str, Any], wear: DriveWear
) -> Report:
    """Return the report of a drive.

    Args:
        name: What the drive is called.
        device: Its resolved configuration.
        effective: What follows from it.
        wear: How worn it is.
    """
    ratings = ratings_of(device, effective, wear)
    items: tuple[Item, ...] = (histogram(wear), shares(wear))
    items += (rated_table(ratings),) if len(ratings) > 1 else ()
    # One mean over blocks of unlike rating is a share of none of them.
    rated = ratings[0].cycles if len(ratings) == 1 else None
    chapter = Chapter(
        "wear", name, f"{wear.blocks} good blocks",
        headlines=headlines(wear, rated),
        sections=(Section("wear", "Erase counts", items),), test="wear",
    )  # fmt: skip
    lead = (
        "How often the blocks of a simulated drive were erased since the factory. Blocks that are "
        "erased together, of joined planes or of a superblock, count as one."
    )
    return Report(f"Wear of {name}", lead, (chapter,), (), "", "device image")


def ratings_of(
    device: Mapping[str, Any], effective: Mapping[str, Any], wear: DriveWear
) -> list[Rating]:
    """Return the blocks of each rating: those of full density, and the static SLC cache.

    Args:
        device: The resolved configuration.
        effective: What follows from it.
        wear: How worn the drive is.
    """
    cycles = device["nand"].get("max_pe_cycles")
    shape = effective.get("superblocks")
    static = int(effective["slc_cache_blocks"]) // (int(shape["dies"]) if shape else 1)
    if not static:
        return [Rating("all", wear.blocks, cycles, "nand.max_pe_cycles")]
    own = device["ftl"]["slc_cache"].get("max_pe_cycles")
    return [
        Rating("full density", wear.blocks - static, cycles, "nand.max_pe_cycles"),
        Rating(
            "static SLC cache", static,
            *((own, "ftl.slc_cache.max_pe_cycles") if own is not None else
              (None if cycles is None else SLC_FACTOR * cycles, "ten times the above: assumed")),
        ),
    ]  # fmt: skip


def rated_table(ratings: Sequence[Rating]) -> Table:
    """Return the blocks of each rating; which of the erase counts are theirs is not known.

    Args:
        ratings: Several.
    """
    rows = tuple((one.name, one.blocks, one.cycles, UNKNOWN, one.note) for one in ratings)
    note = (
        "Erase counts are kept of all blocks together, so the share of the rating that the blocks "
        "of each have used is not known."
    )
    heads = ("blocks", "number", "rated P/E cycles", "mean erase count", "rating from")
    return Table("ratings", "Blocks by their rating", heads, rows, note)


def headlines(wear: DriveWear, rated: float | None) -> tuple[Headline, ...]:
    """Return the cards: what is not known is left out."""
    mean, most = wear.erase_count_mean, wear.erase_count_max
    found = [Headline("largest erase count", number(most))]
    if mean is not None:
        found.insert(0, Headline("mean erase count", number(mean)))
        found.append(Headline("standard deviation", number(deviation(wear, mean))))
    if mean and most:
        found.append(Headline("mean / largest", number(mean / most)))
    if mean is not None and rated:
        found.append(
            Headline(f"of {number(rated)} rated P/E cycles", number(100 * mean / rated), "%")
        )
    found.append(Headline("erased blocks", number(wear.free_blocks)))
    return tuple(found)


def deviation(wear: DriveWear, mean: float) -> float:
    """Return the standard deviation of the erase counts over the blocks.

    >>> worn = DriveWear(blocks=4, erase_count_mean=3.0, erase_count_max=5, free_blocks=0,
    ...                  erase_counts=((1, 2), (5, 2)))
    >>> deviation(worn, 3.0)
    2.0
    """
    squares = math.fsum(blocks * (count - mean) ** 2 for count, blocks in wear.erase_counts)
    return math.sqrt(squares / wear.blocks)


def histogram(wear: DriveWear) -> Plot:
    """Return how many blocks have which erase count, in bars of equal whole widths."""
    counts = wear.erase_counts
    first, last = (counts[0][0], counts[-1][0]) if counts else (0, 0)
    width = -(-(last - first + 1) // BARS)
    bars = [0.0] * -(-(last - first + 1) // width)
    for count, blocks in counts:
        bars[(count - first) // width] += blocks
    # A count has its place in the middle of its bar.
    edges: list[float | None] = [first + width * place - 0.5 for place in range(len(bars) + 1)]
    series = [Series("blocks", edges, [*bars, 0.0], draw="area", colour=0)]
    # A bar of one count has its number below it, not its edges.
    ticks = tuple((float(count), str(count)) for count in range(first, last + 1))
    named = ticks if width == 1 and len(ticks) <= TICKS_MAX else ()
    mean = wear.erase_count_mean
    if mean is not None and len(counts) > 1:
        ends: list[float | None] = [0.0, max(bars)]
        series.append(Series(f"mean, {number(mean)}", [mean, mean], ends, draw="dashed", colour=-1))
    each = f"; each bar is {width} counts wide" if width > 1 else ""
    note = f"Good blocks by how often they were erased since the factory{each}."
    return Plot(
        "wear", "Wear over blocks", Axis("erase count of a block", ticks=named),
        Axis("blocks", zero=True), tuple(series), note,
    )  # fmt: skip


def shares(wear: DriveWear) -> Table:
    """Return the erase count that no more than a share of the blocks exceeds."""
    rows = (
        tuple((f"{share * 100:.0f} %", at(wear, share)) for share in SHARES) if wear.blocks else ()
    )
    note = "The erase count that this share of the good blocks has, or less."
    return Table("shares", "Erase counts by share of the blocks", ("blocks", "erases"), rows, note)


def at(wear: DriveWear, share: float) -> int:
    """Return the erase count that `share` of the blocks do not exceed: of 0 the smallest.

    >>> worn = DriveWear(blocks=4, erase_count_mean=3.0, erase_count_max=5, free_blocks=0,
    ...                  erase_counts=((1, 2), (5, 2)))
    >>> at(worn, 0.0), at(worn, 0.5), at(worn, 0.51)
    (1, 1, 5)
    """
    left = share * wear.blocks
    for count, blocks in wear.erase_counts:
        left -= blocks
        if left <= 0.0:
            return count
    return wear.erase_count_max
