"""Cells by states in a drive: what time and reads add, and whether codes hold at the end of life.

A small drive is worn by sequential fills and read under a stress. What time adds to TLC in the
first day is compared with the published formula, what reads add to MLC against published slopes;
MLC and QLC after their rated cycles and a year on the shelf against the limit of JESD218.

Sources: B. Kim, J. Choi, S. Min, "Design Tradeoffs for SSD Reliability", FAST 2019 (constants
quoted, form recalled); Y. Cai et al., "Read Disturb Errors in MLC NAND Flash Memory", DSN 2015
(recalled); JEDEC JESD218 (recalled).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from opennandlab.studies.validation.case import Case, Document, Kind, Miss, Relation, Run, lookup
from opennandlab.studies.validation.devices import Log, untimed_reads

SUITE = "reliability"
# As many pages of each type, for two, three and four bits.
LOG = Log.with_spare(64, 60, 0.10)
FILLS_MAX = 1000
# Hours, and the P/E cycles at which time is examined: wear hides it at more.
HOURS, YOUNG = (1, 3, 24), 1000
# P/E cycles and errors per read of a block, Cai et al.; pages of a block are assumed.
SLOPES = ((2000, 1.00e-9), (8000, 7.50e-9))
READS_PER_PAGE, PAGES = (100, 1000), 256
POWER = "states rise by a power of the reads, where the published errors grow in proportion"
DISTURB_MISSES = {(2000, 1000): 0.1787, (8000, 1000): -0.1514}
# Mean error rate of MLC after 3000 cycles and a year at 70 degrees, over that of new cells.
HOT = {"retention_h": 8760, "temperature_c": 70}
HOT_FACTOR = 20_000
FLOOR = (
    "new cells of the preset have an error rate of 3e-5, the tails of widths fitted to worn ones; "
    "the factor alone does not say how much of it is wear and how much is time"
)
# What the constants of the states were fitted to.
FITTED = "reliability.preset"
CLIENT = {"retention_h": 8760, "temperature_c": 30}
SOFT = {"read_retry": {"step_count_max": 8}, "soft_read": {"reads": [3, 7]}}


def cases() -> Iterator[Case]:
    """Yield the rows.

    Example:
        >>> next(cases()).name
        'states-1h'
    """
    yield from (_early(hours) for hours in HOURS)
    yield from (_disturb(*row, reads) for row in SLOPES for reads in READS_PER_PAGE)
    yield _hot()
    yield from _end_of_life()


def _hot() -> Case:
    def measure(documents: Sequence[Document]) -> float:
        new, old = (lookup(one, "metrics.raw_errors.rber") for one in documents)
        return old / new

    code = {"algorithm": "bch", "bch_m": 14, "bch_t": 100}
    new, old = (_device("mlc", code, 4096, stress) for stress in ({}, HOT))
    return Case(
        suite=SUITE,
        name="mlc-3000pe-year-70c",
        title="What cycles and a hot year multiply the error rate of MLC by, by states",
        source="a published surface of planar MLC, of which only this factor is quoted",
        runs=(Run(new, _reading(1)), Run(old, _reading(3000))),
        quantity="metrics.raw_errors.rber after 3000 cycles and the year / of new cells",
        measure=measure,
        expected=HOT_FACTOR,
        kind=Kind.RATE,
        miss=Miss(FLOOR, -0.9766),
        seeds=(1,),
        formula="about 20 000",
    )


def _early(hours: int) -> Case:
    def measure(documents: Sequence[Document]) -> float:
        cycles = lookup(documents[0], "metrics.wear.mean")
        return _added(documents) / float(6.28e-5 * cycles**0.14 * hours**0.54)

    return Case(
        suite=SUITE,
        name=f"states-{hours}h",
        title="What the first day adds to the error rate of TLC, by states",
        source="Kim, Choi, Min, FAST 2019 (constants quoted, form recalled)",
        runs=_runs("tlc", YOUNG, {"retention_h": hours}),
        quantity="metrics.raw_errors.rber with less without time / its formula",
        measure=measure,
        expected=1.0,
        tolerance=0.10,
        kind=Kind.RATE,
        fitted=FITTED,
        formula=f"6.28e-5 PE^0.14 t^0.54, t = {hours} h",
    )


def _disturb(cycles: int, slope: float, reads: int) -> Case:
    def measure(documents: Sequence[Document]) -> float:
        return _added(documents) / (slope * reads * PAGES)

    return Case(
        suite=SUITE,
        name=f"mlc-{cycles}pe-{reads}-reads",
        title="What reads add to the error rate of MLC, by states",
        source="Cai et al., DSN 2015 (recalled)",
        runs=_runs("mlc", cycles, {"reads": reads}),
        quantity="metrics.raw_errors.rber with less without reads / its formula",
        measure=measure,
        expected=1.0,
        kind=Kind.RATE,
        fitted=FITTED,
        miss=Miss(POWER, DISTURB_MISSES[cycles, reads]) if reads == READS_PER_PAGE[-1] else None,
        seeds=(1,),
        formula=f"{slope:.2e} a read of the block x {reads} x {PAGES} pages",
    )


def _end_of_life() -> Iterator[Case]:
    one = partial(
        Case,
        suite=SUITE,
        title="Cells after their rated cycles and a year at 30 degrees: UBER",
        source="JESD218, client (recalled)",
        quantity="metrics.uber",
        expected=1e-15,
        tolerance=0.0,
        relation=Relation.AT_MOST,
    )
    bch = {"algorithm": "bch", "bch_m": 14, "bch_t": 40}
    ldpc = {"algorithm": "ldpc", "ldpc_code": "nand-4k-r090"}
    tlc = {"kind": "states", "preset": "tlc", "gray_code": "2-3-2"}
    yield one(
        name="mlc-3000pe-bch40",
        runs=(Run(_device("mlc", bch, 1024, CLIENT), _reading(3000)),),
        formula="40 bits a KiB are enough, as data sheets of planar MLC promise",
    )
    yield one(
        name="tlc-3000pe-ldpc",
        runs=(Run(_device(tlc, ldpc, 4096, CLIENT) | {"controller": SOFT}, _reading(3000)),),
        formula="LDPC of rate 0.9 with retries and soft decisions is enough",
    )
    yield one(
        name="qlc-1000pe-ldpc",
        runs=(Run(_device("qlc", ldpc, 4096, CLIENT) | {"controller": SOFT}, _reading(1000)),),
        formula="LDPC of rate 0.9 with retries and soft decisions is enough",
    )


def _added(documents: Sequence[Document]) -> float:
    rested, stressed = (lookup(one, "metrics.raw_errors.rber") for one in documents)
    return stressed - rested


def _runs(cell: str, cycles: int, stress: Mapping[str, float]) -> tuple[Run, Run]:
    """A worn drive, read without and with the stress."""
    code = {"algorithm": "bch", "bch_m": 14, "bch_t": 100}
    both = (_device(cell, code, 4096, one) for one in ({}, stress))
    rested, stressed = (Run(device, _reading(cycles)) for device in both)
    return rested, stressed


def _device(
    cell: str | dict[str, Any], code: dict[str, Any], page_bytes: int, stress: Mapping[str, float]
) -> dict[str, Any]:
    device = LOG.device("fifo")
    device["nand"] |= {
        "page_size_bytes": page_bytes,
        "oob_size_bytes": 1024,
        "stress": dict(stress),
    }
    device["ecc"] = code
    device["reliability"] = {"kind": "states", "preset": cell} if isinstance(cell, str) else cell
    return device


def _reading(cycles: int) -> dict[str, Any]:
    """Fill the drive until its blocks have seen so many cycles, and read it."""
    fills = round(cycles * LOG.blocks * LOG.pages_per_block / LOG.logical_pages)
    parts = [FILLS_MAX] * (fills // FILLS_MAX) + [fills % FILLS_MAX]
    return untimed_reads(20_000, parts)
