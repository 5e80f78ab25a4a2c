"""Superblocks over N dies, and parity of their rows.

A superblock is a block of (N - 1) b k data units where a row holds parity, so greedy collection
follows its formula for blocks of that size; every N-th program is parity, so N - 1 of N dies are
what a sequential writer gets. A page that a die cannot give is read from the other N - 1.

Sources: the formula of greedy collection (Bux & Iliadis 2010; Desnoyers 2014) at the spare factor
of the data pages; the rest is arithmetic of the geometry.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from opennandlab.studies.validation.case import Case, Document, Effort, Kind, Run, lookup
from opennandlab.studies.validation.devices import (
    BENCH_TIMING,
    PAGE_BYTES,
    Log,
    bench,
    overwrites,
    timed,
)
from opennandlab.studies.validation.suites.waf_uniform import FORMULAS, SOURCES
from opennandlab.theory.waf import uniform_formula

SUITE = "superblocks"
GEOMETRY = "arithmetic of the geometry"
# tR, and a page on the bus, in microseconds.
SENSE_US, TRANSFER_US = float(BENCH_TIMING["t_read_us"]), 10.0
BCH = {"algorithm": "bch", "bch_m": 8, "bch_t": 4}
PROGRAM_US = float(BENCH_TIMING["t_program_us"])
_case = partial(Case, suite=SUITE)


@dataclass(frozen=True)
class Shape:
    """Superblocks with parity under uniform random writes.

    Example:
        >>> round(Shape(8, 32, 1, 0.25).spare_factor, 4)
        0.0857
    """

    dies: int
    """N."""
    pages: int
    """b, pages of a block of a die."""
    units: int
    """k, map units of a page."""
    op_ratio: float
    """OP with parity pages counted: raw pages / U - 1."""

    @property
    def data_units(self) -> int:
        """Data units of a superblock: (N - 1) b k."""
        return (self.dies - 1) * self.pages * self.units

    @property
    def spare_factor(self) -> float:
        """S_data = 1 - U / (T (N - 1) / N)."""
        return 1.0 - self.dies / ((self.dies - 1) * (1.0 + self.op_ratio))

    @property
    def name(self) -> str:
        """What `--case` takes."""
        return f"greedy-N{self.dies}-b{self.pages}-k{self.units}-op{self.op_ratio:g}"


# N, b, k, OP: the WAF of data is 5.863, 6.883, 5.935 and 8.162.
SHAPES = (
    Shape(8, 32, 1, 0.25),
    Shape(16, 16, 1, 0.15),
    Shape(8, 16, 4, 0.25),
    Shape(32, 8, 2, 0.10),
)
# Channels and dies of each: the dies of a row share buses or do not.
TOPOLOGIES = ((4, 1), (2, 2), (1, 4), (4, 2))


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick, or every shape with three seeds.

    Example:
        >>> case = cases(Effort.FULL)[0]
        >>> case.name, round(case.expected_value, 2)
        ('greedy-N8-b32-k1-op0.25', 5.86)
    """
    if effort is Effort.QUICK:
        return [
            *_waf_cases(512, SHAPES[:1]),
            *_bandwidth_cases((4,)),
            *_rebuild_cases(TOPOLOGIES[:2]),
        ]
    return [
        *_waf_cases(1024, SHAPES),
        *_bandwidth_cases((2, 4, 8)),
        *_rebuild_cases(TOPOLOGIES),
        *_loss_cases(),
        *_member_cases(),
    ]


def _device(channels: int, dies_per_channel: int) -> dict[str, Any]:
    """Return a bench with one group of superblocks, whose rows hold parity."""
    device = bench(channels, dies_per_channel)
    device["ftl"]["allocation"] = "superblock"
    device["ftl"]["parity"] = {"kind": "die_stripe"}
    return device


def _without_parity(device: dict[str, Any]) -> dict[str, Any]:
    return {**device, "ftl": {**device["ftl"], "parity": "none"}}


def uniform(shape: Shape, blocks: int) -> tuple[Log, Run]:
    """Return uniform random writes on superblocks with parity.

    Args:
        shape: the superblocks.
        blocks: how many.

    Returns:
        The log of data units that they are, and the simulation.

    Example:
        >>> log, run = uniform(Shape(8, 32, 1, 0.25), 512)
        >>> log.pages_per_block, run.device["nand"]["channels"]
        (224, 8)
    """
    log = Log.with_spare(blocks, shape.data_units, shape.spare_factor)
    device = _device(shape.dies, 1)
    device["nand"] |= {"blocks_per_plane": blocks, "pages_per_block": shape.pages}
    device["ftl"] |= {
        "over_provisioning_pct": blocks * shape.data_units / (log.logical_pages + 0.5) - 1.0,
        "gc_reserve_blocks": shape.dies,
        "map_unit_bytes": PAGE_BYTES // shape.units,
    }
    return log, Run(device, overwrites(block_size_bytes=PAGE_BYTES // shape.units))


def _waf_cases(blocks: int, shapes: Sequence[Shape]) -> Iterator[Case]:
    for shape in shapes:
        log, run = uniform(shape, blocks)
        waf = partial(uniform_formula("greedy", shape.data_units), log.spare_factor)
        share = shape.dies / (shape.dies - 1)
        yield _case(
            name=shape.name,
            title="Greedy collection of superblocks with parity is that of blocks of their data",
            source=SOURCES["greedy"],
            runs=(run,),
            quantity="(programs host + gc) / host",
            measure=data_waf,
            expected=waf,
            tolerance=0.01,
            formula=f"{FORMULAS['greedy']}, b = (N - 1) b k = {shape.data_units}, "
            f"S_data = {log.spare_factor:.4f}",
        )
        yield _case(
            name=f"{shape.name}-flash",
            title="Every N-th program is parity",
            source=SOURCES["greedy"],
            runs=(run,),
            quantity="metrics.waf",
            expected=partial(_scaled, waf, share),
            tolerance=0.01,
            formula=f"the same x N / (N - 1) = {share:.4f}",
        )


def _scaled(waf: partial[float], share: float) -> float:
    return waf() * share


def data_waf(documents: Sequence[Document]) -> float:
    """Return the programs of data over those of the host.

    Args:
        documents: a result.

    Returns:
        Host and moved units programmed for each of the host.

    Example:
        >>> data_waf([{"metrics": {"programs": {"host": 2, "gc": 3}}}])
        2.5
    """
    host, moved = (lookup(documents[0], f"metrics.programs.{key}") for key in ("host", "gc"))
    return (host + moved) / host


def _bandwidth_cases(counts: Sequence[int]) -> Iterator[Case]:
    for dies in counts:
        # Deep enough that each die always has a program waiting; a fresh drive.
        workload = timed("sequential", 64 * dies, 2000 * dies, read_pct=0.0)
        for parity in (False, True):
            busy = dies - 1 if parity else dies
            device = _device(dies, 1)
            if not parity:
                device = _without_parity(device)
            yield _case(
                name=f"sequential-N{dies}-{'parity' if parity else 'plain'}",
                title="A fresh drive writes sequentially with the bandwidth of its data dies",
                source=GEOMETRY,
                runs=(Run(device, workload),),
                quantity="metrics.iops.write",
                expected=busy * 1e6 / (PROGRAM_US + TRANSFER_US),
                tolerance=0.005,
                formula=f"{busy} / (tPROG + x) of {dies} dies",
            )


def _rebuild_cases(topologies: Sequence[tuple[int, int]]) -> Iterator[Case]:
    for channels, dies_per_channel in topologies:
        dies = channels * dies_per_channel
        device = _device(channels, dies_per_channel)
        device["nand"]["faults"] = [{"kind": "die_lost", "die": 0, "at_s": 0}]
        device["ecc"] = dict(BCH)
        runs = (Run(device, timed("random", 1, 4000)),)
        # Die 0 is on bus 0: a bus has all its dies in the row, but for that one.
        transfers = dies_per_channel if channels > 1 else dies_per_channel - 1
        yield _case(
            name=f"rebuild-{channels}x{dies_per_channel}",
            title="A page of a lost die takes a sense, and the transfers on the busiest bus",
            source=GEOMETRY,
            runs=runs,
            quantity="metrics.latency_us.read.max",
            expected=SENSE_US + transfers * TRANSFER_US,
            tolerance=0.0,
            kind=Kind.EXACT,
            formula=f"tR + {transfers} x: {dies - 1} reads in parallel, {channels} buses",
        )
        yield _case(
            name=f"lost-die-{channels}x{dies_per_channel}",
            title="A drive with parity of rows loses a die and no data",
            source=GEOMETRY,
            runs=runs,
            quantity="metrics.uncorrectable_reads",
            expected=0.0,
            tolerance=0.0,
            kind=Kind.EXACT,
            formula="no read is uncorrectable",
        )


def _loss_cases() -> Iterator[Case]:
    # Some percent of the pages cannot be corrected, at any wear.
    device = _device(4, 1)
    device["nand"] |= {"rber_floor": 2e-3, "rber_ceil": 2.1e-3}
    device["ecc"] = dict(BCH)
    workload = timed("random", 16, 500_000)
    failing_us = SENSE_US + TRANSFER_US
    yield _case(
        name="failed-read-4x1",
        title="A page that cannot be corrected is read, then the others of its row",
        source=GEOMETRY,
        runs=(Run(device, timed("random", 1, 20_000)),),
        quantity="metrics.latency_us.read.max",
        expected=2.0 * failing_us,
        tolerance=0.0,
        kind=Kind.EXACT,
        formula="2 (tR + x): each of the others on a bus of its own",
    )
    yield _case(
        name="two-members-N4",
        title="A row loses data when two of its members fail: C(N, 2) p^2 in the limit",
        source="binomial",
        runs=(Run(_without_parity(device), workload), Run(device, workload)),
        quantity="uncorrectable reads with parity / p (1 - (1 - p)^(N-1)), p without",
        measure=_loss_quotient,
        expected=1.0,
        tolerance=0.15,
        sample="some 1000 losses, 4.5 standard errors",
        formula="1",
    )


def _loss_quotient(documents: Sequence[Document]) -> float:
    """Return the losses of a drive with parity over what those of one without let expect."""
    plain, paired = (lookup(document, "metrics.uncorrectable_reads") for document in documents)
    reads = lookup(documents[0], "metrics.reads.host")
    p = plain / reads
    return paired / reads / (p * (1.0 - (1.0 - p) ** 3))


def _member_cases() -> Iterator[Case]:
    """Blocks that fail come out of the spare ones of their die, until it has none."""
    dies, pages = 4, 32
    # Erases of a superblock, and programs between two of them.
    for kind, probability, ends in (("erase", 4e-3, 1), ("program", 1.25e-4, pages)):
        device = bench(2, 2, blocks_per_die=2048)
        device["nand"] |= {"pages_per_block": pages, "failures": {kind: probability}}
        device["ftl"] |= {
            "allocation": {"kind": "superblock", "bad_block": "remap"},
            "over_provisioning_pct": 0.8,
            "gc_reserve_blocks": 2 * dies,
        }
        yield _case(
            name=f"members-{kind}",
            title="A drive loses as many superblocks as the die with most failures loses blocks",
            source="largest of Poisson variables",
            runs=(Run(device, overwrites("random", 60.0, 0.0)),),
            quantity="metrics.retired_blocks / sum over k of 1 - P(X <= k)^N",
            measure=partial(_lost_quotient, dies, probability * ends),
            expected=1.0,
            tolerance=0.15,
            sample="the largest of 4 Poisson variables of some 400, 4 standard errors",
            formula=f"1, N = {dies}, X ~ Poisson(collections x {probability * ends:g})",
        )


def _lost_quotient(dies: int, failures: float, documents: Sequence[Document]) -> float:
    """Return the superblocks lost over the mean of the largest number of a die."""
    mean = lookup(documents[0], "metrics.gc_cycles") * failures
    lost = lookup(documents[0], "metrics.retired_blocks")
    return lost / largest_poisson(mean, dies)


def largest_poisson(mean: float, count: int) -> float:
    """Return the mean of the largest of some Poisson variables.

    Args:
        mean: of each.
        count: how many.

    Returns:
        `sum over k of 1 - P(X <= k)^N`.

    Example:
        >>> round(largest_poisson(400.0, 1), 6), round(largest_poisson(400.0, 4))
        (400.0, 421)
    """
    at_most, total = 0.0, 0.0
    for number in range(int(mean + 40.0 * math.sqrt(mean) + 40.0)):
        at_most += math.exp(number * math.log(mean) - mean - math.lgamma(number + 1))
        total += 1.0 - min(at_most, 1.0) ** count
    return total
