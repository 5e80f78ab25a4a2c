"""Reads of a worn and baked drive: page types, recovery steps, and decoding bit by bit.

The threshold-voltage states are computed here once more, from their published constants but with
the error function of `math` and levels found by bisection, so that nothing is shared with the core
but the numbers of the preset. Codes fail by the binomial tail of `theory.reliability`.

    states under stress ─► rate of each page type and retry step ─► P(page fails) at each rung
                 │                                                         │
         raw_errors.page_types                                     recovery.retry, uncorrectable

Rows belong to the suite `reliability`. Sources: those of the states (docs/reliability.md); bounded-
distance decoding of binomial errors; JEDEC JESD218 for UBER.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from opennandlab.studies.validation.case import Case, Document, Run, lookup
from opennandlab.studies.validation.devices import PAGE_BYTES, Log, untimed_reads
from opennandlab.theory.reliability import PageCode

SUITE = "reliability"
LOG = Log.with_spare(256, 64, 0.10)
TYPES = ("lower", "middle", "upper")
# Read levels of each page type of the code 1-2-4, lowest first.
LEVELS = ((3,), (1, 5), (0, 2, 4, 6))
STRESS = {"retention_h": 2190.0, "temperature_c": 40.0, "reads": 50.0}
CYCLES_RATED, STEPS, HORIZON_H = 3000.0, 3, 8760.0
# n = 16383, t = 100: pages of each type need other steps.
CODE = PageCode(PAGE_BYTES, 14983, 1400, 100)
READS = 300_000
BOLTZMANN_EV_K = 8.617333262e-5


@dataclass(frozen=True)
class Cell:
    """Normal states of a TLC cell; voltages in gaps."""

    mean: tuple[float, ...]
    sigma: tuple[float, ...]

    def best_levels(self) -> tuple[float, ...]:
        """Return where neighbouring states are equally dense.

        Returns:
            Voltages, lowest first.
        """
        return tuple(self._crossing(state) for state in range(len(self.mean) - 1))

    def _crossing(self, state: int) -> float:
        def density(at: float, which: int) -> float:
            z = (at - self.mean[which]) / self.sigma[which]
            return -0.5 * z * z - math.log(self.sigma[which])

        low, high = self.mean[state], self.mean[state + 1]
        for _ in range(80):
            middle = 0.5 * (low + high)
            if density(middle, state) > density(middle, state + 1):
                low = middle
            else:
                high = middle
        return 0.5 * (low + high)

    def rber(self, page_type: int, levels: Sequence[float]) -> float:
        """Return the share of the bits of a page type that is read wrong.

        Args:
            page_type: 0 for the lower page.
            levels: all seven read levels.

        Returns:
            Bit errors per bit read.
        """
        own = [levels[level] for level in LEVELS[page_type]]
        wrong = 0.0
        for state, (mean, sigma) in enumerate(zip(self.mean, self.sigma, strict=True)):
            home = sum(level < state for level in LEVELS[page_type])
            edges = [-math.inf, *own, math.inf]
            for region in range(len(own) + 1):
                if (region - home) % 2:
                    wrong += _between(
                        (edges[region] - mean) / sigma, (edges[region + 1] - mean) / sigma
                    )
        return wrong / len(self.mean)


def _between(low: float, high: float) -> float:
    """Probability of a standard normal number between two; from the nearer tail."""
    if low > 0.0:
        return 0.5 * (math.erfc(low / math.sqrt(2.0)) - math.erfc(high / math.sqrt(2.0)))
    return 0.5 * (math.erfc(-high / math.sqrt(2.0)) - math.erfc(-low / math.sqrt(2.0)))


def cell(
    keys: Mapping[str, Any],
    cycles: float,
    retention_h: float = 0.0,
    temperature_c: float = 40.0,
    reads: float = 0.0,
) -> Cell:
    """Return the states of a TLC cell under stress.

    Args:
        keys: constants of the states.
        cycles: program/erase cycles.
        retention_h: hours since programming.
        temperature_c: degrees Celsius during them.
        reads: per page of the block.

    Example:
        >>> round(cell(_keys(), 3000, 8760).mean[7], 3)
        5.581
    """
    target = [float(keys["erased_mean"]), *(float(state) for state in range(7))]
    centre = sum(target) / 8
    variance = sum((mean - centre) ** 2 for mean in target) / 8
    sigma = math.sqrt(keys["sigma"] ** 2 + keys["interference_ratio"] ** 2 * variance)
    sigma *= math.sqrt(1.0 + (cycles / keys["wear_cycles"]) ** keys["wear_exponent"])
    kelvin, reference = temperature_c + 273.15, keys["reference_c"] + 273.15
    energy = keys["activation_energy_ev"] / BOLTZMANN_EV_K
    hours = retention_h * math.exp(energy * (1.0 / reference - 1.0 / kelvin))
    down = _down(keys, hours)
    up = keys["read_shift"] * (reads / 1000.0) ** keys["read_exponent"]
    up *= (1.0 + cycles / keys["wear_cycles"]) ** keys["read_wear_exponent"]
    mean = [
        at + up / 2**state
        if state < 2
        else at - down * ((state - 1) / 6.0) ** keys["retention_profile"]
        for state, at in enumerate(target)
    ]
    widths = [sigma * keys["erased_sigma_ratio"], *([sigma] * 7)]
    return Cell(tuple(mean), tuple(widths))


def _down(keys: Mapping[str, Any], hours: float) -> float:
    """How far the highest state has sunk: a slow and a fast part."""
    slow = keys["retention_shift"] * math.log1p(hours / keys["retention_time_h"])
    return float(slow + keys["early_shift"] * math.log1p(hours / keys["early_time_h"]))


def _hours_until(keys: Mapping[str, Any], shift: float) -> float:
    """Return when the highest state has sunk so far, by halving the horizon."""
    low, high = 0.0, HORIZON_H
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _down(keys, middle) < shift else (low, middle)
    return high


@cache
def _keys() -> dict[str, Any]:
    from opennandlab.reliability import load_model

    return load_model("tlc").parameters


@cache
def _rates(cycles: float) -> tuple[tuple[float, ...], ...]:
    """By page type: the raw bit error rate of the first read and of each retry step."""
    keys = _keys()
    page = cell(keys, cycles, **STRESS)
    whole = _down(keys, HORIZON_H)
    ages = [_hours_until(keys, whole * step / STEPS) for step in range(1, STEPS + 1)]
    levels = [cell(keys, 0.0).best_levels()]
    levels += [cell(keys, CYCLES_RATED, age).best_levels() for age in ages]
    return tuple(tuple(page.rber(index, at) for at in levels) for index in range(len(TYPES)))


def _beyond(cycles: float, step: int) -> float:
    """Share of page reads that need more than a recovery step; page types alike in number."""
    shares = []
    for rates in _rates(cycles):
        failures = [CODE.failure(rate) for rate in rates[: step + 1]]
        shares.append(min(failures))
    return sum(shares) / len(shares)


def cases() -> Iterator[Case]:
    """Yield the rows of reads under stress.

    Example:
        >>> next(cases()).name
        'stressed-lower'
    """
    yield from _page_types()
    yield from _steps()
    yield from _bit_true()


def _page_types() -> Iterator[Case]:
    for index, name in enumerate(TYPES):

        def measure(documents: Sequence[Document], index: int = index, name: str = name) -> float:
            cycles = lookup(documents[0], "metrics.wear.mean")
            seen = lookup(documents[0], f"metrics.raw_errors.page_types.{name}.rber")
            return seen / _rates(cycles)[index][0]

        yield Case(
            suite=SUITE,
            name=f"stressed-{name}",
            title="Raw bit errors of each page type of a worn drive, three months later",
            source="threshold-voltage states, computed again",
            runs=(Run(_device(), stressed_reads()),),
            quantity=f"metrics.raw_errors.page_types.{name}.rber / its formula at the mean wear",
            measure=measure,
            expected=1.0,
            # Blocks differ by one erase, which moves rates by 3e-4.
            tolerance=1e-3,
            formula=f"normal states at {STRESS['retention_h']:g} h, {STRESS['reads']:g} reads",
        )


def _steps() -> Iterator[Case]:
    for step in range(STEPS + 1):

        def measure(documents: Sequence[Document], step: int = step) -> float:
            document = documents[0]
            counts = [*document["metrics"]["recovery"]["retry"]]
            beyond = sum(counts[step:]) + lookup(document, "metrics.recovery.uncorrectable")
            share = beyond / sum(document["metrics"]["reads"].values())
            return float(share) / _beyond(lookup(document, "metrics.wear.mean"), step)

        share = _beyond(2000.0, step)
        yield Case(
            suite=SUITE,
            name=f"beyond-step-{step}",
            title="Page reads by recovery step, when the steps are level offsets of the states",
            source="states computed again; tail of the binomial distribution",
            runs=(Run(_device(retry=True), stressed_reads()),),
            quantity=f"share of reads that need more than step {step} / its formula",
            measure=measure,
            expected=1.0,
            # And one erase more or less.
            tolerance=4.5 * math.sqrt((1.0 - share) / (share * READS)) + 2e-3,
            sample=f"{READS} reads, 4.5 standard errors",
            formula="mean over page types of min over steps of P(page fails at the step's rate)",
        )


# Name, m, t, the page's code, raw bit error rate, reads: hundreds of codewords are lost.
DECODED: tuple[tuple[str, int, int, PageCode, float, int], ...] = (
    ("bch255-t4", 8, 4, PageCode(PAGE_BYTES, 223, 32, 4), 2e-3, 60_000),
    ("bch8191-t8", 13, 8, PageCode(PAGE_BYTES, 8087, 104, 8), 4e-4, 60_000),
    ("bch16383-t40", 14, 40, PageCode(PAGE_BYTES, 15823, 560, 40), 1.7e-3, 60_000),
)


def _bit_true() -> Iterator[Case]:
    for name, m, t, code, rber, reads in DECODED:
        device = LOG.device("fifo")
        device["nand"] |= {"oob_size_bytes": 1024, "rber_floor": rber, "rber_ceil": rber}
        device["ecc"] = {"algorithm": "bch", "bch_m": m, "bch_t": t, "fidelity": "bit_true"}
        lost = code.uber(rber) * 8 * PAGE_BYTES * reads
        yield Case(
            suite=SUITE,
            name=f"bit-true-{name}",
            title="UBER of a drive that encodes, harms and decodes, beside the exact tail",
            source="JESD218; bounded-distance decoding, binomial errors",
            runs=(Run(device, stressed_reads(reads=reads, fills=1)),),
            quantity="metrics.uber",
            measure=_observed,
            expected=partial(code.uber, rber),
            tolerance=4.5 / math.sqrt(lost),
            sample=f"{lost:.0f} codewords lost, 4.5 standard errors",
            formula=f"sum P(X > {t}) over the codewords / user bits, X ~ Binomial(n, {rber:g})",
        )


def _observed(documents: Sequence[Document]) -> float:
    method = documents[0]["metrics"]["uber_method"]
    if method != "observed":
        message = f"UBER is {method}, not observed"
        raise ValueError(message)
    return lookup(documents[0], "metrics.uber")


def _device(*, retry: bool = False) -> dict[str, Any]:
    device = LOG.device("fifo")
    # Pages of a block by three: every type as often as another.
    device["nand"] |= {
        "pages_per_block": 63,
        "oob_size_bytes": 1024,
        "max_pe_cycles": int(CYCLES_RATED),
        "stress": STRESS,
    }
    device["ecc"] = {"algorithm": "bch", "bch_m": 14, "bch_t": CODE.correctable}
    device["reliability"] = {"kind": "states"}
    if retry:
        device["controller"] = {"read_retry": {"step_count_max": STEPS, "horizon_h": HORIZON_H}}
    return device


def stressed_reads(reads: int = READS, fills: int = 1000) -> dict[str, Any]:
    """Return a workload of untimed random reads of a drive that was filled `fills` times."""
    return untimed_reads(reads, (fills, fills) if fills > 1 else (fills,))
