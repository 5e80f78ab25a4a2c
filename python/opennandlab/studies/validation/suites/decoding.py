"""Decoding that takes its time: by errors with BCH, by iterations with LDPC.

One die, one read at a time: tR, a transfer, and the decoding. The errors of the worst codeword
follow from binomial tails, summed in `theory.reliability`, which shares no code with the core;
iterations follow from density evolution as `theory.background` has it, and are compared with the
decoder itself, which the ECC lab runs on random words.

Sources: those of `theory.reliability` and `theory.background`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from opennandlab.studies.validation.case import Case, Document, Effort, Kind, Miss, Run, lookup
from opennandlab.studies.validation.devices import BENCH_TIMING, PAGE_BYTES, bench, timed
from opennandlab.theory.background import LayeredMinSum
from opennandlab.theory.reliability import PageCode

SUITE = "decoding"
# tR, and a page on the bus.
READ_US = float(BENCH_TIMING["t_read_us"]) + 10.0
BASE_US, ERROR_US, ITERATION_US = 3.0, 0.5, 4.0
# Name, m, t, codewords of a page; raw bit error rates.
BCH: tuple[tuple[str, int, int, PageCode, tuple[float, ...]], ...] = (
    ("bch255-t4", 8, 4, PageCode(PAGE_BYTES, 223, 32, 4), (1e-5, 1e-4, 5e-4)),
    ("bch16383-t40", 14, 40, PageCode(PAGE_BYTES, 15823, 560, 40), (1e-4, 1e-3, 2e-3)),
    ("bch65535-t40", 16, 40, PageCode(PAGE_BYTES, 64895, 640, 40), (1e-4, 3e-4)),
)
# Name, shape, words of a page of 4 KiB; raw bit error rates.
LDPC: tuple[tuple[str, LayeredMinSum, int, tuple[float, ...]], ...] = (
    ("nand-4k-r090", LayeredMinSum(128, 14, 256), 1, (1e-3, 3e-3, 6e-3)),
    ("nand-1k-r0889", LayeredMinSum(128, 16, 64), 4, (1e-3, 3e-3, 6e-3)),
    ("nand-2k-r0933", LayeredMinSum(128, 9, 128), 2, (5e-4, 2e-3, 3.5e-3)),
)
BINOMIAL = "bounded-distance decoding, binomial errors"
EVOLUTION = "density evolution, Richardson & Urbanke 2001; Chen & Fossorier 2002"
_case = partial(Case, suite=SUITE, quantity="metrics.latency_us.read.min")


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick, or all codes and rates with three seeds.

    Example:
        >>> case = cases(Effort.FULL)[0]
        >>> case.name, round(case.expected_value, 3)
        ('bch255-t4-1e-05', 63.156)
    """
    if effort is Effort.QUICK:
        return [*_bch(BCH[:1]), *_ldpc(LDPC[1:2]), *_retried()]
    return [*_bch(BCH), *_ldpc(LDPC), *_counted(), *_retried(), *_saturated()]


def _device(rber: float, ecc: dict[str, Any], controller: dict[str, Any]) -> dict[str, Any]:
    device = bench(1, 1)
    device["nand"]["oob_size_bytes"] = 2048
    device["ecc"] = ecc
    device["controller"] = controller
    device["reliability"] = {"kind": "power_law", "floor": rber}
    return device


def _of_bch(m: int, t: int) -> dict[str, Any]:
    return {"algorithm": "bch", "bch_m": m, "bch_t": t}


def _of_ldpc(name: str) -> dict[str, Any]:
    # No frame error rates of some codes were measured: here hardly any word fails.
    rows = [[1e-4, 1e-12, None, None], [1e-2, 1e-9, None, None]]
    return {"algorithm": "ldpc", "ldpc_code": name, "fer_table": rows}


# Density evolution counts too many iterations; recorded errors at the rates of the first code.
GROUPS = "density evolution takes bits as independent, which are wrong in groups"
DECODER_ERRORS = (0.0, 0.056, 0.077)
BY_ERRORS = {"ecc_decode": {"base_us": BASE_US, "per_error_us": ERROR_US}}
BY_ITERATIONS = {"ecc_decode": {"base_us": BASE_US, "per_iteration_us": ITERATION_US}}


def _bch(codes: Sequence[tuple[str, int, int, PageCode, tuple[float, ...]]]) -> Iterator[Case]:
    for name, m, t, code, rates in codes:
        for rber in rates:
            run = Run(_device(rber, _of_bch(m, t), BY_ERRORS), timed("random", 1, 1000))
            yield _case(
                name=f"{name}-{rber:g}",
                title="A decoded read takes longer by a time for each error of its worst codeword",
                runs=(run,),
                expected=partial(_bch_us, code, rber),
                # Whole nanoseconds.
                tolerance=1e-5,
                formula=f"tR + x + {BASE_US:g} us + {ERROR_US:g} us x sum over e < t of"
                f" 1 - F(e) / F(t), {code.codewords} codewords, RBER {rber:g}",
                source=BINOMIAL,
            )


def _bch_us(code: PageCode, rber: float) -> float:
    return READ_US + BASE_US + ERROR_US * code.worst_errors_mean(rber)


def _ldpc_run(name: str, rber: float) -> Run:
    return Run(_device(rber, _of_ldpc(name), BY_ITERATIONS), timed("random", 1, 1000))


def _iterations(documents: Sequence[Document]) -> float:
    shortest = lookup(documents[0], "metrics.latency_us.read.min")
    return (shortest - READ_US - BASE_US) / ITERATION_US


def _ldpc(
    codes: Sequence[tuple[str, LayeredMinSum, int, tuple[float, ...]]],
) -> Iterator[Case]:
    for name, shape, words, rates in codes:
        for rber in rates:
            yield _case(
                name=f"{name}-{rber:g}",
                title="A read takes longer by the iterations of its slowest codeword",
                runs=(_ldpc_run(name, rber),),
                quantity=f"(metrics.latency_us.read.min - tR - x - base) / {ITERATION_US:g} us",
                measure=_iterations,
                expected=partial(shape.iterations_mean, rber, words),
                # The core computes at steps of 2 % of the error rate, and takes lines in between.
                tolerance=2e-3,
                formula=f"1 + sum over i of P(a word of {words} is not done after i),"
                f" RBER {rber:g}",
                source=EVOLUTION,
            )


def _counted() -> Iterator[Case]:
    """The decoder itself, of codes that fill a page with one word."""
    name, rates = LDPC[0][0], LDPC[0][3]
    for rber, error in zip(rates, DECODER_ERRORS, strict=True):
        question = {
            "ask": "curve",
            "code": name,
            "channel": "bsc",
            "points": [rber],
            "max_frames": 400,
            "method": "monte_carlo",
        }
        yield _case(
            name=f"{name}-{rber:g}-decoder",
            title="Iterations by density evolution are those of the decoder, 2 to 9 % high",
            runs=(_ldpc_run(name, rber), Run({"ecc_lab": question}, {})),
            quantity="iterations of the drive / iterations_mean of the ECC lab",
            measure=_against_decoder,
            expected=1.0,
            formula="1",
            source="layered min-sum, 400 random words",
            kind=Kind.REFERENCE,
            miss=Miss(GROUPS, error) if error else None,
        )


def _against_decoder(documents: Sequence[Document]) -> float:
    return _iterations(documents) / lookup(documents[1], "points.0.iterations_mean")


def _retried() -> Iterator[Case]:
    """328 errors of a page are never decoded, a hundredth of them always."""
    name, m, t, code, _ = BCH[2]
    rber, factor, setup_us = 1e-2, 0.01, 2.0
    retry = {"step_count_max": 2, "rber_factor": factor, "setup_us": setup_us}
    device = _device(rber, _of_bch(m, t), {**BY_ERRORS, "read_retry": retry})
    mean = code.worst_errors_mean(rber * factor)
    yield _case(
        name=f"{name}-retried",
        title="A decoding that fails takes as long as giving up, before the retry",
        runs=(Run(device, timed("random", 1, 1000)),),
        expected=2.0 * (READ_US + BASE_US) + t * ERROR_US + setup_us + ERROR_US * mean,
        tolerance=1e-5,
        formula="2 (tR + x + base) + t per_error + setup + worst errors of the retry x per_error",
        source=BINOMIAL,
    )


def _saturated() -> Iterator[Case]:
    """The die goes on while its page is decoded."""
    name, m, t, _, rates = BCH[1]
    device = _device(rates[-1], _of_bch(m, t), BY_ERRORS)
    yield _case(
        name=f"{name}-deep",
        title="Decoding adds to latency, not to the time of a die: reads are pipelined",
        runs=(Run(device, timed("random", 8, 20_000)),),
        quantity="metrics.iops.read",
        expected=1e6 / READ_US,
        tolerance=2e-3,
        formula="1 / (tR + x), 8 outstanding",
        source="definition",
    )
