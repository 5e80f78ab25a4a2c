"""The ECC lab: Shannon limits, LLR tables, the exact tail, and Monte Carlo against both.

Limits and tables are compared with values of an independent numerical integration, printed to four
digits; frame error rates of BCH codes with the binomial tail of `theory.reliability`, which shares
no code with the core; LDPC codes with recorded curves of other people's decoders where these lie
next to the working folder, since they are not ours to bring along.

Sources: C. Shannon, "A mathematical theory of communication", 1948; bounded-distance decoding, for
example S. Lin and D. Costello, "Error Control Coding"; recorded curves: AFF3CT error rate
references.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from opennandlab.studies.validation.case import Case, Document, Effort, Kind, Run, lookup, read
from opennandlab.theory.reliability import codeword_failure

SUITE = "ecc"
MATRICES = Path("..") / "shared" / "ecc" / "h"
# Code rate and name, then the highest RBER for 1, 3, 7 reads and unquantised.
LIMITS: tuple[tuple[float, str, tuple[float, float, float, float]], ...] = (
    (1 / 2, "1/2", (0.11003, 0.14213, 0.15047, 0.15344)),
    (5 / 6, "5/6", (0.02462, 0.03934, 0.04361, 0.04508)),
    (0.9, "0.9", (0.012987, 0.022414, 0.025287, 0.026265)),
    (0.95, "0.95", (0.005607, 0.010608, 0.012223, 0.012767)),
)
READS = ("1", "3", "7", "unquantised")
# At RBER 5e-3: reads, positive LLRs, mutual information.
TABLES: tuple[tuple[int, tuple[float, ...], float], ...] = (
    (1, (5.293,), 0.954585),
    (3, (1.685, 7.443), 0.975352),
    (7, (0.741, 2.384, 4.651, 9.374), 0.978920),
)
# Code, sent bits, t, RBER of the exact tail.
TAILS: tuple[tuple[str, int, int, float], ...] = (
    ("bch:m=8,t=4", 255, 4, 1e-4),
    ("bch:m=8,t=4", 255, 4, 1e-3),
    ("bch:m=13,t=8,data_bits=4096", 4200, 8, 1e-4),
    ("bch:m=14,t=40,data_bits=8192", 8752, 40, 1e-3),
)
# Code, sent bits, t, RBER at which failures are met.
COUNTED: tuple[tuple[str, int, int, float], ...] = (
    ("bch:m=8,t=4", 255, 4, 5e-3),
    ("bch:m=13,t=8,data_bits=4096", 4200, 8, 1e-3),
    ("bch:m=14,t=40,data_bits=8192", 8752, 40, 3.5e-3),
)
ERRORS = 1000
_case = partial(Case, suite=SUITE)
# Matrix, channel, decoder, point, recorded frame error rate of about 100 errors.
RECORDED: tuple[tuple[str, str, dict[str, Any], float, float], ...] = (
    ("WIMAX_480_576", "awgn", {"algorithm": "layered-spa", "iterations": 40}, 4.0, 6.0e-3),
    ("WIFI_540_648", "awgn", {"algorithm": "layered-spa", "iterations": 10}, 4.0, 9.0e-3),
    (
        *("WIFI_540_648", "awgn"),
        {"algorithm": "layered-nms", "iterations": 10, "scale": 1.0},
        *(4.0, 3.6e-2),
    ),
    ("WIMAX_288_576", "awgn", {"algorithm": "flooding-spa", "iterations": 100}, 2.0, 1.7e-2),
    (
        *("WIMAX_288_576", "bsc"),
        {"algorithm": "layered-nms", "iterations": 100, "scale": 0.825},
        *(0.06, 1.2e-2),
    ),
)


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick, or all rows with three seeds.

    Example:
        >>> cases(Effort.FULL)[0].name
        'limit-1/2-reads1'
    """
    if effort is Effort.QUICK:
        return [*_limits(LIMITS[2:3]), *_tables(TABLES[1:2]), *_tails(), *_counted(COUNTED[:2])]
    found = [*_limits(LIMITS), *_tables(TABLES), *_tails(), *_counted(COUNTED), *_strata()]
    if MATRICES.is_dir():
        found.extend(_recorded())
    return found


def _limits(rows: Sequence[tuple[float, str, tuple[float, float, float, float]]]) -> Iterator[Case]:
    for rate, name, values in rows:
        for reads, value in zip(READS, values, strict=True):
            yield _case(
                name=f"limit-{name}-reads{reads}",
                title="The highest raw bit error rate at which a code of a rate can exist",
                source="Shannon 1948; integrated independently, to four digits",
                runs=_asked({"ask": "limits", "rate": rate}),
                quantity=f"limits.{reads}",
                measure=read(reads),
                expected=value,
                # The last printed digit may be off by one half.
                tolerance=2.1e-4,
                formula=f"I(bit; {reads} reads) = {name}",
            )


def _tables(rows: Sequence[tuple[int, tuple[float, ...], float]]) -> Iterator[Case]:
    for reads, llrs, information in rows:
        question = {"ask": "llr_table", "rber": 5e-3, "reads": reads}
        shared: dict[str, Any] = {
            "source": "integrated independently, to four digits",
            "runs": _asked(question),
        }
        for place, llr in enumerate(llrs):
            yield _case(
                **shared,
                name=f"llr-reads{reads}-bin{place}",
                title="LLRs of sensed cells at RBER 5e-3, thresholds of most information",
                quantity=f"llrs[{(reads + 1) // 2 + place}]",
                measure=partial(_entry, (reads + 1) // 2 + place),
                expected=llr,
                # Thresholds of the reference stand on a grid of 2e-4.
                tolerance=1e-3,
                formula="ln P(bin | 0) / P(bin | 1)",
            )
        yield _case(
            **shared,
            name=f"information-reads{reads}",
            title="Mutual information of sensed cells at RBER 5e-3",
            quantity="mutual_information",
            measure=read("mutual_information"),
            expected=information,
            tolerance=1e-6,
            formula="max over thresholds of I(bit; bin)",
        )


def _entry(place: int, documents: Sequence[Document]) -> float:
    return float(documents[0]["llrs"][place])


def _tails() -> Iterator[Case]:
    for row in TAILS:
        yield _failures(
            "tail",
            row,
            method="analytic",
            title="Frame error rate of bounded-distance decoding, exact",
            source="binomial errors; summed in logarithms by `theory`",
            # What logarithms leave of a double.
            tolerance=1e-8,
        )


def _counted(rows: Sequence[tuple[str, int, int, float]]) -> Iterator[Case]:
    for row in rows:
        yield _failures(
            "counted",
            row,
            method="monte_carlo",
            max_frames=10**7,
            title="Frame error rate of the BCH decoder, counted",
            tolerance=4.0 / math.sqrt(ERRORS),
            kind=Kind.SAMPLED,
            sample=f"{ERRORS} frame errors, 4 standard errors",
        )


def _strata() -> Iterator[Case]:
    for row in TAILS[:1] + TAILS[2:3]:
        yield _failures(
            "strata",
            row,
            method="importance_sampling",
            max_frames=10**6,
            title="Frame error rate of the BCH decoder, by importance sampling",
            # Every word beyond t errors is lost, so counting adds no error; strata left out do.
            tolerance=0.005,
        )


def _failures(
    kind_of_row: str,
    row: tuple[str, int, int, float],
    *,
    method: str,
    max_frames: int | None = None,
    source: str = "bounded-distance decoding, binomial errors",
    **rest: Any,  # noqa: ANN401 (fields of a case)
) -> Case:
    """Return a row on how often more than t of n bits are wrong."""
    code, bits, t, rber = row
    question: dict[str, Any] = {
        "ask": "curve", "code": code, "channel": "bsc", "points": [rber],
    }  # fmt: skip
    if max_frames is not None:
        question |= {"errors": ERRORS, "max_frames": max_frames}
    return _case(
        name=f"{kind_of_row}-n{bits}-t{t}-{rber:g}",
        runs=_asked({**question, "method": method}),
        quantity="fer",
        measure=read("points.0.fer"),
        expected=partial(codeword_failure, bits, t, rber),
        formula=f"P(X > {t}), X ~ Binomial({bits}, {rber:g})",
        source=source,
        **rest,
    )


def _recorded() -> Iterator[Case]:
    for matrix, channel, decoder, x, fer in RECORDED:
        settings = "-".join(str(value) for value in decoder.values())
        yield _case(
            name=f"recorded-{matrix}-{settings}-{channel}-{x:g}",
            title="Frame error rates of LDPC decoders, recorded by others",
            source="AFF3CT error rate references",
            runs=_asked(
                {
                    "ask": "curve",
                    "code": f"ldpc:{MATRICES / matrix}.alist",
                    "channel": channel,
                    "decoder": decoder,
                    "points": [x],
                    "errors": 200,
                    "max_frames": 10**6,
                    "method": "monte_carlo",
                }
            ),
            quantity="log10 fer",
            measure=_logarithm,
            expected=math.log10(fer),
            # A factor of 1.35, or about 0.05 dB.
            tolerance=math.log10(1.35) / -math.log10(fer),
            formula=f"recorded: {fer:g} at {x:g}",
            kind=Kind.SAMPLED,
            sample="about 100 recorded and 200 counted errors: a factor of 1.35, 2.5 sigma",
        )


def _logarithm(documents: Sequence[Document]) -> float:
    return math.log10(lookup(documents[0], "points.0.fer"))


def _asked(question: dict[str, Any]) -> tuple[Run]:
    return (Run({"ecc_lab": question}, {}),)
