"""Reliability: the simulator's error accounting against the binomial tail of the code.

The raw bit error rate is pinned by an equal floor and ceiling of the wear curve, so that each row
tests the code alone; one row ages a small drive by sequential fills and tests the wear curve
itself. Uncorrectable reads are drawn at random when frequent, so their tolerance follows from how
many were expected.

Two more rows wear a drive that reads by a published model of 72-layer TLC: once by the formula
itself, once by the threshold-voltage states that were fitted to it. Reads by page type, by recovery
step and bit by bit are in `recovery`; what time and reads add, and cells at the end of their rated
life, in `published_cells`.

Sources: those of `theory.reliability`; JEDEC JESD218 for UBER; B. Kim, J. Choi, S. Min, "Design
Tradeoffs for SSD Reliability", FAST 2019.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from opennandlab.studies.validation.case import Case, Document, Effort, Kind, Run, lookup
from opennandlab.studies.validation.devices import PAGE_BYTES, Log, untimed_reads
from opennandlab.studies.validation.suites import published_cells, recovery
from opennandlab.theory.reliability import PageCode, WeibullRber

SUITE = "reliability"
LOG = Log.with_spare(256, 64, 0.10)
SHORT = PageCode(PAGE_BYTES, 223, 32, 4)
LONG = PageCode(PAGE_BYTES, 15823, 560, 40)
# Corrects the 62 errors of a codeword at 2000 cycles and never fails there.
STRONG = PageCode(PAGE_BYTES, 14983, 1400, 100)
# Name, code, m, t, raw bit error rate, reads, accepted error of the uncorrectable read rate: about
# four standard errors of the number of failures.
ROWS: tuple[tuple[str, PageCode, int, int, float, int, float], ...] = (
    ("bch255-t4-1e-4", SHORT, 8, 4, 1e-4, 100_000, 1e-6),
    ("bch255-t4-1e-3", SHORT, 8, 4, 1e-3, 4_000_000, 0.06),
    ("bch255-t4-5e-3", SHORT, 8, 4, 5e-3, 1_000_000, 0.005),
    ("bch16383-t40-2e-3", LONG, 14, 40, 2e-3, 1_000_000, 0.015),
)
QUICK_ROWS = (0, 2)
# Accepted error of what is computed, not drawn.
COMPUTED = 1e-6


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick, or all rows with three seeds.

    Example:
        >>> cases(Effort.FULL)[0].name
        'bch255-t4-1e-4-uncorrectable'
    """
    rows = [ROWS[place] for place in QUICK_ROWS] if effort is Effort.QUICK else ROWS
    return [*(case for row in rows for case in _rows(*row)), *_of_cells()]


def _of_cells() -> list[Case]:
    return [_aged(), *_published(), *published_cells.cases(), *recovery.cases()]


def _rows(  # noqa: PLR0913, PLR0917 - the columns of a table
    name: str, code: PageCode, m: int, t: int, rber: float, reads: int, tolerance: float
) -> Iterator[Case]:
    run = Run(_device(m, t, {"rber_floor": rber, "rber_ceil": rber}), untimed_reads(reads))
    title = f"Error correction by BCH, n = {code.data_bits + code.parity_bits}, t = {t}"
    figures = (
        (
            "uncorrectable",
            "metrics.uncorrectable_read_rate",
            partial(code.failure, rber),
            tolerance,
            "1 - product (1 - P(X > t)) over the codewords of the page",
        ),
        (
            "uber",
            "metrics.uber",
            partial(code.uber, rber),
            1e-6,
            "sum P(X > t) over the codewords / user bits of the page",
        ),
        (
            "corrected",
            "metrics.ecc_correction_rate_pct",
            partial(_percent, code, rber),
            1e-6,
            "100 x sum E[X; X <= t] over the codewords",
        ),
    )
    for figure, path, expected, accepted, formula in figures:
        yield Case(
            suite=SUITE,
            name=f"{name}-{figure}",
            title=title,
            source="JESD218" if figure == "uber" else "bounded-distance decoding, binomial errors",
            runs=(run,),
            quantity=path,
            expected=expected,
            tolerance=accepted,
            kind=Kind.SAMPLED if accepted > COMPUTED else Kind.FORMULA,
            sample=f"{reads} reads, 4 standard errors" if accepted > COMPUTED else "",
            formula=f"{formula}, X ~ Binomial(n, {rber:g})",
        )


def _aged() -> Case:
    """Wear a drive evenly, then read: corrected bits must follow the wear curve."""
    workload = untimed_reads(100_000, (1000, 1000))

    def measure(documents: Sequence[Document]) -> float:
        return lookup(documents[0], "metrics.ecc_correction_rate_pct") / _percent(
            SHORT, WeibullRber().at(lookup(documents[0], "metrics.wear.mean"))
        )

    return Case(
        suite=SUITE,
        name="weibull-wear",
        title="Corrected bits of an evenly worn drive follow the Weibull curve of its erase count",
        source="our fit through four published points",
        runs=(Run(_device(8, 4, {"max_pe_cycles": 3000}), workload),),
        quantity="metrics.ecc_correction_rate_pct / its formula at metrics.wear.mean",
        measure=measure,
        expected=1.0,
        # One erase more or less moves the curve by 0.3 % there.
        tolerance=0.005,
        formula="RBER(PE) = floor + (ceiling - floor) (1 - exp(-(PE / scale)^shape))",
    )


def _published() -> Iterator[Case]:
    """Wear drives that read by published flash: corrected bits follow its error rate."""
    workload = untimed_reads(100_000, (1000, 1000))

    def measure(documents: Sequence[Document]) -> float:
        return lookup(documents[0], "metrics.ecc_correction_rate_pct") / _percent(
            STRONG, _kim(lookup(documents[0], "metrics.wear.mean"))
        )

    # One erase more or less moves the formula by 0.1 %; the states are fitted within 5 %, and a
    # block of 64 pages has more lower pages than others.
    for kind, tolerance, of, fitted in (
        ("kim", 0.005, Kind.FORMULA, ""),
        ("states", 0.06, Kind.RATE, published_cells.FITTED),
    ):
        device = _device(14, 100, {})
        device["reliability"] = {"kind": kind}
        yield Case(
            suite=SUITE,
            name=f"{kind}-wear",
            title="Corrected bits of an evenly worn drive follow a published error rate",
            source="Kim, Choi, Min, FAST 2019 (constants quoted, form recalled)",
            runs=(Run(device, workload),),
            quantity="metrics.ecc_correction_rate_pct / its formula at metrics.wear.mean",
            measure=measure,
            expected=1.0,
            tolerance=tolerance,
            kind=of,
            fitted=fitted,
            formula="RBER(PE) = 1.48e-3 + 3.90e-10 PE^2.05",
        )


def _kim(pe_cycles: float) -> float:
    """Return the wear term of the published model."""
    return float(1.48e-3 + 3.90e-10 * pe_cycles**2.05)


def _device(m: int, t: int, nand: dict[str, Any]) -> dict[str, Any]:
    device = LOG.device("fifo")
    device["nand"] |= {"oob_size_bytes": 1024, **nand}
    device["ecc"] = {"algorithm": "bch", "bch_m": m, "bch_t": t}
    return device


def _percent(code: PageCode, rber: float) -> float:
    return 100.0 * code.corrected_bits_mean(rber)
