"""Maps of blocks that merge, and a map in the flash that is cached.

All on one die of D blocks of data, all full, with L log blocks of b pages. Block maps, BAST and
FAST have closed forms for random writes of single pages, and merge nothing but whole blocks where
writes are in order. A DFTL has the hit rate of its cache, sums that must agree, and, with the whole
map in the cache, the write amplification of a smaller drive.

Sources: Kim et al. 2002 (BAST), Lee et al. 2007 (FAST), Gupta, Kim, Urgaonkar 2009 (DFTL), Che,
Tung, Wang 2002 (LRU); formulas in `theory.mapping` and `theory.caching`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from opennandlab.studies.validation.case import (
    Case,
    Document,
    Effort,
    Kind,
    Measure,
    Relation,
    Run,
    lookup,
    read,
)
from opennandlab.studies.validation.devices import PAGE_BYTES, Log, overwrites
from opennandlab.studies.validation.suites.superblocks import data_waf
from opennandlab.theory.caching import che_hit_rate_zipf
from opennandlab.theory.mapping import Replacement, waf_bast, waf_block_mapping, waf_fast

SUITE = "mapping"
WAF = "metrics.waf"
ERASES = "metrics.erases.gc / programs.host"
ENTRY_BYTES = 4
# Blocks next to those of data and the log: to merge into, for sequential writes, always erased.
BESIDE = 4
# Requests of whole parts of blocks.
LONG_BYTES = 131_072
MAPS = "definition; SNIA tutorial 2009, example 1"
BAST, FAST, DFTL = "Kim et al. 2002", "Lee et al. 2007", "Gupta et al. 2009"
CHE = "Che et al. 2002"
_exact = partial(Case, suite=SUITE, tolerance=0.0, kind=Kind.EXACT)
_case = partial(Case, suite=SUITE)


@dataclass(frozen=True)
class Shape:
    """D blocks of data, L log blocks, b pages.

    Example:
        >>> Shape(256, 8, 64).name
        'D256-L8-b64'
    """

    data: int
    """D."""
    logs: int
    """L."""
    pages: int
    """b."""

    @property
    def name(self) -> str:
        """What `--case` takes."""
        logs = f"-L{self.logs}" if self.logs else ""
        return f"D{self.data}{logs}-b{self.pages}"

    def device(self, mapping: str | Mapping[str, Any]) -> dict[str, Any]:
        """Return one die whose blocks of data are all full."""
        log = Log(self.data + self.logs + BESIDE, self.pages, self.data * self.pages)
        return mapped(log, mapping)


@dataclass(frozen=True)
class Cache:
    """A map of U entries, C of them in RAM, and how requests choose.

    Example:
        >>> round(Cache(65_536, 4_096, 0.99).hit_rate, 4)
        0.6633
    """

    pages: int
    """U."""
    entries: int
    """C."""
    exponent: float
    """Popularity is the rank to the power of minus this; 0 is uniform."""

    @property
    def name(self) -> str:
        """What `--case` takes."""
        how = f"zipf{self.exponent:g}" if self.exponent else "uniform"
        return f"{how}-U{self.pages}-C{self.entries}"

    @property
    def pattern(self) -> str | dict[str, Any]:
        """Pattern of the workload."""
        return {"kind": "zipf", "theta": self.exponent} if self.exponent else "random"

    @property
    def hit_rate(self) -> float:
        """By the formula."""
        return che_hit_rate_zipf(self.pages, self.exponent, self.entries)

    def device(self, **keys: object) -> dict[str, Any]:
        """Return a DFTL with such a cache: one die, a tenth of over-provisioning."""
        block = 64
        log = Log(round(1.1 * self.pages / block) + 8, block, self.pages)
        dftl = {"kind": "dftl", "cache_bytes": ENTRY_BYTES * self.entries, **keys}
        return mapped(log, dftl)


# WAF 63.00 and 9.00; the last fills log blocks, the one before takes more than it has blocks.
BAST_SHAPES = (Shape(256, 8, 64), Shape(64, 32, 16), Shape(64, 60, 16))
# And what a simulation of the scheme alone gave.
FAST_SHAPES = (
    (Shape(256, 8, 64), 23.1),
    (Shape(1024, 8, 64), 44.5),
    (Shape(1024, 64, 64), 13.76),
    (Shape(512, 16, 32), 17.17),
)
BLOCK_SHAPES = (Shape(256, 0, 64), Shape(512, 0, 16))
CACHES = (
    Cache(65_536, 16_384, 0.0),
    Cache(65_536, 4_096, 0.99),
    Cache(262_144, 8_192, 0.99),
    Cache(65_536, 16_384, 0.8),
    Cache(32_768, 1_024, 1.2),
)


def mapped(log: Log, mapping: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return a log that is mapped in some way.

    Args:
        log: blocks and logical pages.
        mapping: `ftl.mapping`.

    Returns:
        The device, one die.

    Example:
        >>> mapped(Log(72, 16, 1024), "block")["ftl"]["mapping"]
        {'kind': 'block'}
    """
    device = log.device("greedy")
    device["ftl"]["mapping"] = {"kind": mapping} if isinstance(mapping, str) else dict(mapping)
    return device


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick, or every shape and cache with three seeds.

    Example:
        >>> case = next(case for case in cases(Effort.FULL) if case.name.startswith("fast"))
        >>> case.name, round(case.expected_value, 2)
        ('fast-D256-L8-b64', 23.11)
    """
    if effort is Effort.QUICK:
        return [
            *_block_cases(BLOCK_SHAPES[:1]),
            *_bast_cases(BAST_SHAPES[:2]),
            *_fast_cases(FAST_SHAPES[:1]),
            *_in_order_cases(Shape(256, 8, 64)),
            *_hit_cases(CACHES[:2]),
            *_identity_cases(CACHES[1]),
            *_whole_cases(16_384),
        ]
    return [
        *_block_cases(BLOCK_SHAPES),
        *_bast_cases(BAST_SHAPES),
        *_fast_cases(FAST_SHAPES),
        *_dies_cases(Shape(256, 8, 64), 4),
        *_in_order_cases(Shape(256, 8, 64)),
        *_hit_cases(CACHES),
        *_segmented_cases(CACHES[1]),
        *_identity_cases(CACHES[1]),
        *_whole_cases(65_536),
    ]


def _writes(shape: Shape) -> dict[str, Any]:
    # Merges are drawn one by one: 400,000 writes leave a spread of some tenths of a percent.
    return overwrites("random", max(6.0, 400_000 / (shape.data * shape.pages)), 2.0)


def _in_order() -> dict[str, Any]:
    return overwrites("sequential", 3.0, 0.0, block_size_bytes=LONG_BYTES)


def _block_cases(shapes: Sequence[Shape]) -> Iterator[Case]:
    for shape in shapes:
        runs = (Run(shape.device("block"), _writes(shape)),)
        quantities: tuple[tuple[str, str, str, Measure, float], ...] = (
            ("block", "a block of programs", WAF, read(WAF), waf_block_mapping(shape.pages)),
            ("block-erases", "an erase", ERASES, ratio("erases.gc", "programs.host"), 1.0),
        )
        for name, cost, quantity, measure, expected in quantities:
            yield _case(
                name=f"{name}-{shape.name}",
                title="A random page costs a block of programs and an erase",
                source=MAPS,
                runs=runs,
                quantity=quantity,
                measure=measure,
                expected=expected,
                # Writes to pages 0 and 1 of a block in a row share a rewrite: one in D b^2.
                tolerance=1e-4,
                formula=cost,
            )


def _bast_cases(shapes: Sequence[Shape]) -> Iterator[Case]:
    replacements: tuple[Replacement, ...] = ("fifo", "lru")
    for shape in shapes:
        fills = shape.logs > shape.data / 2
        for replacement in replacements:
            mapping = {"kind": "bast", "log_blocks": shape.logs, "replacement": replacement}
            yield _case(
                name=f"bast-{replacement}-{shape.name}",
                title="BAST merges a block for each write that finds no log block",
                source=BAST,
                runs=(Run(shape.device(mapping), _writes(shape)),),
                quantity=WAF,
                expected=partial(waf_bast, shape.data, shape.logs, shape.pages, replacement),
                tolerance=0.01,
                formula="1 + b m, m of log blocks that fill" if fills else "1 + b (1 - L/D)",
            )
        yield _exact(
            name=f"bast-erases-{shape.name}",
            title="A full merge erases two blocks, another one",
            runs=(Run(shape.device({"kind": "bast", "log_blocks": shape.logs}), _writes(shape)),),
            quantity="metrics.erases.gc - 2 full - partial - switch",
            measure=_unexplained_erases,
            expected=0.0,
            formula="0",
            source=BAST,
        )


def _fast_cases(shapes: Sequence[tuple[Shape, float]]) -> Iterator[Case]:
    for shape, simulated in shapes:
        runs = (Run(shape.device({"kind": "fast", "log_blocks": shape.logs}), _writes(shape)),)
        yield _case(
            name=f"fast-{shape.name}",
            title="FAST merges the blocks with a live page in the oldest log block",
            source=f"{FAST}; formula derived in theory.mapping",
            runs=runs,
            quantity=WAF,
            expected=partial(waf_fast, shape.data, shape.logs, shape.pages),
            tolerance=0.01,
            formula="1 + D / E[T]",
        )
        yield _case(
            name=f"fast-{shape.name}-simulated",
            title="FAST beside a simulation of the scheme alone",
            source=FAST,
            runs=runs,
            quantity=WAF,
            expected=simulated,
            tolerance=0.02,
            kind=Kind.REFERENCE,
            formula="another program",
        )


def _dies_cases(shape: Shape, dies: int) -> Iterator[Case]:
    """Each die has its blocks of data and its share of the log blocks."""
    for kind, formula in (("bast", waf_bast), ("fast", waf_fast)):
        device = shape.device({"kind": kind, "log_blocks": dies * shape.logs})
        device["nand"]["channels"] = dies
        device["ftl"]["gc_reserve_blocks"] = dies
        # A quarter of a page a die: the logical pages are whole blocks of each.
        blocks = device["nand"]["blocks_per_plane"]
        pages = shape.data * shape.pages
        device["ftl"]["over_provisioning_pct"] = blocks * shape.pages / (pages + 0.5 / dies) - 1.0
        yield _case(
            name=f"{kind}-{shape.name}-dies{dies}",
            title="Dies merge for themselves, each with its share of the log blocks",
            source={"bast": BAST, "fast": FAST}[kind],
            runs=(Run(device, _writes(shape)),),
            quantity=WAF,
            expected=partial(formula, shape.data, shape.logs, shape.pages),
            tolerance=0.01,
            formula="that of one die",
        )


def _in_order_cases(shape: Shape) -> Iterator[Case]:
    schemes: dict[str, dict[str, Any]] = {
        "block": {"kind": "block"},
        "bast": {"kind": "bast", "log_blocks": shape.logs},
        "fast": {"kind": "fast", "log_blocks": shape.logs},
    }
    for name, mapping in schemes.items():
        runs = (Run(shape.device(mapping), _in_order()),)
        source = {"block": MAPS, "bast": BAST, "fast": FAST}[name]
        yield _exact(
            name=f"{name}-in-order",
            title="Overwrites in order, 128 KiB each, copy nothing",
            runs=runs,
            quantity=WAF,
            measure=read(WAF),
            expected=1.0,
            formula="1",
            source=source,
        )
        yield _exact(
            name=f"{name}-in-order-merges",
            title="Overwrites in order merge by switching alone",
            runs=runs,
            quantity="metrics.mapping.merges.switch b / programs.host - full - partial",
            measure=partial(_switches, shape.pages),
            expected=1.0,
            formula="1: one for each block",
            source=source,
        )


def _hit_cases(caches: Sequence[Cache]) -> Iterator[Case]:
    for cache in caches:
        # The cache begins with the last pages of the fill: a thousandth of so many reads.
        reads = overwrites(cache.pattern, 0.0, 0.0, read_pct=100, total={"ios": 4_000_000})
        yield _hit_case(cache, "reads", reads)
        yield _hit_case(cache, "writes", overwrites(cache.pattern, 16.0, 4.0))


def _hit_case(cache: Cache, name: str, workload: dict[str, Any]) -> Case:
    return _case(
        name=f"dftl-{name}-{cache.name}",
        title="The hit rate of the cached map",
        source=CHE,
        runs=(Run(cache.device(), workload),),
        quantity="metrics.mapping.hit_rate",
        expected=partial(_hit_rate, cache),
        tolerance=0.01,
        formula="sum p (1 - e^(-p t)), sum (1 - e^(-p t)) = C",
    )


def _hit_rate(cache: Cache) -> float:
    return cache.hit_rate


def _segmented_cases(cache: Cache) -> Iterator[Case]:
    yield _case(
        name=f"dftl-slru-{cache.name}",
        title="Keeping what was asked for twice gains hits, where popularity stays",
        source="Karedla et al. 1994",
        runs=(Run(cache.device(replacement="slru"), overwrites(cache.pattern, 16.0, 4.0)),),
        quantity="metrics.mapping.hit_rate",
        expected=partial(_hit_rate, cache),
        tolerance=0.0,
        kind=Kind.ORDER,
        formula="that of LRU",
        relation=Relation.AT_LEAST,
    )


def _identity_cases(cache: Cache) -> Iterator[Case]:
    for name, batch in (("batch", True), ("single", False)):
        device = cache.device(batch_evict=batch)
        runs = (Run(device, overwrites(cache.pattern, 4.0, 1.0)),)
        sums: tuple[tuple[str, str, Measure], ...] = (
            ("reads", "metrics.reads.map - misses - updates - moves", _unexplained_reads),
            ("programs", "metrics.programs.map - updates - moves", _unexplained_programs),
            (
                "pages",
                "nand_bytes_written / page - programs, host + gc + map + …",
                _unexplained_pages,
            ),
        )
        for part, quantity, measure in sums:
            yield _exact(
                name=f"dftl-{part}-{name}",
                title="Every operation of the map has a reason",
                runs=runs,
                quantity=quantity,
                measure=measure,
                expected=0.0,
                formula="0",
                source=DFTL,
            )


def _whole_cases(pages: int) -> Iterator[Case]:
    block = 64
    cache = Cache(pages, pages, 0.0)
    device = cache.device()
    blocks = device["nand"]["blocks_per_plane"]
    map_blocks = map_blocks_of(pages, block, blocks * block / pages)
    log = Log(blocks - map_blocks, block, pages)
    work = overwrites("random", 8.0, 4.0)
    yield _case(
        name=f"dftl-whole-U{pages}",
        title="With the whole map in the cache, a drive whose space is smaller by the map",
        source=DFTL,
        runs=(Run(log.device("greedy"), work), Run(device, work)),
        quantity=f"(programs host + gc) / host, over that of page with {map_blocks} blocks fewer",
        measure=_data_quotient,
        expected=1.0,
        tolerance=1e-3,
        formula="1",
    )
    yield _exact(
        name=f"dftl-blocks-U{pages}",
        title="Blocks of the map: its pages with the drive's spare share, one open, one to collect"
        " into",
        runs=(Run(device, work),),
        quantity="metrics.mapping.blocks",
        measure=read("metrics.mapping.blocks"),
        expected=float(map_blocks),
        formula="4 U / page, times T / U, in blocks, and two",
        source=DFTL,
    )


def map_blocks_of(pages: int, pages_per_block: int, spare: float) -> int:
    """Return how many blocks a die sets apart for its map.

    Args:
        pages: U.
        pages_per_block: b.
        spare: T / U.

    Example:
        >>> map_blocks_of(65_536, 64, 1.1)
        4
    """
    map_pages = -(-pages * ENTRY_BYTES // PAGE_BYTES)
    return math.ceil(map_pages * spare / pages_per_block) + 2


def ratio(above: str, below: str) -> Measure:
    """Return a measure that divides two metrics of a result.

    Args:
        above: dotted path below `metrics`.
        below: another.

    Example:
        >>> ratio("a", "b")([{"metrics": {"a": 1, "b": 2}}])
        0.5
    """

    def measure(documents: Sequence[Document]) -> float:
        numbers = (lookup(documents[0], f"metrics.{name}") for name in (above, below))
        return next(numbers) / next(numbers)

    return measure


def _unexplained_erases(documents: Sequence[Document]) -> float:
    full, part, switch = _merges(documents)
    return lookup(documents[0], "metrics.erases.gc") - 2.0 * full - part - switch


def _switches(pages: int, documents: Sequence[Document]) -> float:
    full, part, switch = _merges(documents)
    return switch * pages / lookup(documents[0], "metrics.programs.host") - full - part


def _merges(documents: Sequence[Document]) -> tuple[float, float, float]:
    path = "metrics.mapping.merges"
    full, part, switch = (
        lookup(documents[0], f"{path}.{kind}") for kind in ("full", "partial", "switch")
    )
    return full, part, switch


def _unexplained_reads(documents: Sequence[Document]) -> float:
    mapping = documents[0]["metrics"]["mapping"]
    read_first = mapping["misses"] - mapping["unwritten"]
    again = mapping["reads"]["update"] + mapping["reads"]["moved"]
    return lookup(documents[0], "metrics.reads.map") - float(read_first + again)


def _unexplained_programs(documents: Sequence[Document]) -> float:
    programs = documents[0]["metrics"]["mapping"]["programs"]
    counted = lookup(documents[0], "metrics.programs.map")
    return counted - float(programs["update"] + programs["moved"])


def _unexplained_pages(documents: Sequence[Document]) -> float:
    metrics = documents[0]["metrics"]
    return float(metrics["nand_bytes_written"] / PAGE_BYTES - sum(metrics["programs"].values()))


def _data_quotient(documents: Sequence[Document]) -> float:
    page, dftl = (data_waf([document]) for document in documents)
    return dftl / page
