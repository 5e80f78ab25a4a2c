"""Product presets against what is published of their drives: figures, errors, and what is missing.

The figures are data of `validation.drives`. A preset is simulated with a fraction of its blocks per
plane: same dies, blocks of the same size, and the same shares of spare area and cache. Most cells
are predictions; a cell that fixed a key is no evidence, and one outside the goal of its kind is a
known miss that names what is missing. `--write docs/presets.md` writes the tables into that page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opennandlab.studies.validation.case import (
    Case,
    Document,
    Effort,
    Measure,
    Miss,
    Relation,
    Run,
    lookup,
    read,
)
from opennandlab.studies.validation.devices import shrunk
from opennandlab.studies.validation.drives import (
    BEYOND_MB_S,
    CACHE_GB,
    CACHE_MB_S,
    CACHED,
    DIRTY,
    DRIVES,
    FOLDED_MB_S,
    FRESH,
    IOPS,
    MB_S,
    MEAN_US,
    P999_US,
    RANDOM,
    READ,
    STEADY,
    WATTS,
    Cell,
)

SUITE = "presets"
KIB = 1024
SIZES = {"KiB": KIB, "MiB": KIB * KIB}
CLIFF_UNITS = (CACHE_GB, CACHE_MB_S, BEYOND_MB_S, FOLDED_MB_S)
# The part of the space that is read from the cache, and how much of the whole is written for it.
CACHED_RANGE_PCT = 2.0
CACHED_DRIVE_WRITES = 0.08
# Random units after a fill. The 3 of 16 GB are those of the talk on eMMC.
RANDOM_DRIVE_WRITES = {DIRTY: 0.19, STEADY: 4.0}
# Of these so much in simulated time: collections in steps are then where they stay.
TIMED_DRIVE_WRITES = 0.02
# Shares of the drive over which rates beyond the cache are taken: while a cache that is folded
# next to the host is, and behind that; before the end, blocks run out.
BEYOND, FOLDED = (0.2, 0.4), (0.6, 0.8)


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick (figures of empty drives with one request size), or all.

    Returns:
        The cases, one seed each.

    Example:
        >>> len(cases(Effort.QUICK)) < len(cases(Effort.FULL))
        True
    """
    if effort is Effort.FULL:
        return [case for name in DRIVES for case in _cases(name)]
    return [
        _case(name, cell)
        for name, drive in DRIVES.items()
        for cell in drive.cells
        if cell.state == FRESH and cell.pattern == RANDOM
    ]


def device(preset: str, shrink: int | None = None) -> dict[str, Any]:
    """Return a preset with fewer blocks per plane, as it is simulated here.

    Args:
        preset: its name, one of `DRIVES`.
        shrink: what blocks are divided by; that of the drive if not given.

    Returns:
        The device. Its blocks do not wear out, as they would in what would be years.

    Example:
        >>> device("nvme_gen4_tlc")["nand"]["blocks_per_plane"]
        170
    """
    return shrunk(preset, "blocks_per_plane", shrink or DRIVES[preset].shrink)


def cell_run(preset: str, cell: Cell, shrink: int | None = None) -> Run:
    """Return the simulation of a cell.

    Args:
        preset: name of the preset.
        cell: the cell.
        shrink: what blocks are divided by; that of the drive if not given.
    """
    number, unit = cell.size.split()
    block_bytes = int(number) * SIZES[unit]
    # One write over the whole drive gives all figures about its cache and its mean.
    is_whole = cell.unit in CLIFF_UNITS or (cell.unit == MB_S and unit == "MiB")
    workload: dict[str, Any] = {
        "pattern": cell.pattern,
        "read_pct": 100 if cell.operation == READ else 0,
        "block_size_bytes": block_bytes,
        "queue_depth": cell.depth,
        "total": {"drive_writes": 1} if is_whole else {"ios": _ios(cell, block_bytes)},
        "precondition": _way_to(cell),
    }
    if is_whole:
        workload["samples"] = 500
    if cell.state == CACHED:
        workload["active_range_pct"] = CACHED_RANGE_PCT
    return Run(device(preset, shrink), workload)


def _ios(cell: Cell, block_bytes: int) -> int:
    if block_bytes > 16 * KIB:
        # Writes to a full drive go far beyond what its cache has permanently.
        return 10_000 if cell.state == FRESH or cell.operation == READ else 100_000
    if cell.state == DIRTY:
        return 100_000
    if cell.state == STEADY:
        return 20_000 if cell.depth == 1 else 500_000
    return 10_000 if cell.depth == 1 else 100_000


def _way_to(cell: Cell) -> list[dict[str, Any]]:
    if cell.state == FRESH:
        return []
    if cell.state == CACHED:
        return [{"kind": "workload", "drive_writes": CACHED_DRIVE_WRITES}]
    if cell.state in RANDOM_DRIVE_WRITES:
        untimed = RANDOM_DRIVE_WRITES[cell.state] - TIMED_DRIVE_WRITES
        return [
            {"kind": "sequential_fill"},
            {"kind": "workload", "drive_writes": untimed},
            {"kind": "workload", "drive_writes": TIMED_DRIVE_WRITES, "timed": True},
        ]
    return [{"kind": "sequential_fill", "fills": 2}]


def _cases(preset: str) -> Iterator[Case]:
    return (_case(preset, cell) for cell in DRIVES[preset].cells)


def _case(preset: str, cell: Cell) -> Case:
    notes = [cell.request]
    if cell.relation is Relation.AT_LEAST:
        notes.append("nothing published; at least what the preset gave before")
    drive = DRIVES[preset]
    return Case(
        suite=SUITE,
        name=f"{preset}-{cell.name}",
        title=f"{drive.title}" + (f": blocks / {drive.shrink}" if drive.shrink > 1 else ""),
        source=cell.source,
        runs=(cell_run(preset, cell),),
        quantity=cell.unit,
        measure=_measure(cell, drive.shrink),
        expected=cell.published,
        tolerance=0.0 if cell.relation is Relation.AT_LEAST else cell.tolerance,
        kind=cell.kind,
        relation=cell.relation,
        fitted=cell.fitted,
        miss=Miss(cell.lacks, cell.missed) if cell.lacks else None,
        formula="; ".join(notes),
        seeds=(1,),
    )


def _measure(cell: Cell, shrink: int) -> Measure:
    def cache(documents: Sequence[Document]) -> float:
        value = cliff(documents[0])[cell.unit]
        return _rounded(value * shrink * 1e-9 if cell.unit == CACHE_GB else value)

    if cell.unit in CLIFF_UNITS:
        return cache
    paths = {
        IOPS: f"metrics.iops.{cell.operation}",
        MB_S: f"metrics.throughput_mb_s.{cell.operation}",
        MEAN_US: f"metrics.latency_us.{cell.operation}.mean",
        P999_US: f"metrics.latency_us.{cell.operation}.p999",
        WATTS: "metrics.power.mean_w",
    }
    plain = read(paths[cell.unit])
    return lambda documents: _rounded(plain(documents))


def _rounded(value: float) -> float:
    """Four digits: rates of a million are shown in full."""
    return float(f"{value:.4g}")


def cliff(document: Document) -> Mapping[str, float]:
    """Return what a sequential write over an empty drive says of its cache.

    The cache ends where the rate first falls below the mean of the rates before and beyond.

    Args:
        document: result of the write.

    Returns:
        By unit: bytes cached of the simulated drive, and the rates before, beyond and far beyond
        in MB/s.
    """
    series = document["series"]
    written: Sequence[float] = series["drive_writes"]
    rates: Sequence[float] = series["throughput_mb_s"]
    times: Sequence[float] = series["t_s"]
    capacity = lookup(document, "effective.logical_bytes")

    def rate(window: tuple[float, float]) -> float:
        inside = [place for place, share in enumerate(written) if window[0] <= share <= window[1]]
        first, last = inside[0], inside[-1]
        return (written[last] - written[first]) * capacity / (times[last] - times[first]) * 1e-6

    beyond, folded = rate(BEYOND), rate(FOLDED)
    # The first interval is shorter by what the write buffer takes.
    into = rates[len(rates) // 50]
    end = next(k for k, rate in enumerate(rates) if rate < 0.5 * (into + beyond))
    cached = written[end] * capacity
    return {CACHE_GB: cached, CACHE_MB_S: into, BEYOND_MB_S: beyond, FOLDED_MB_S: folded}
