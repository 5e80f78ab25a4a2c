"""Refresh and patrol reads: how often data is moved and read when nobody asks.

Drives whose age limit is minutes instead of months, so that many periods pass in a run. An idle
drive moves all its data once per limit, in each form of collection; light writes pay what renewal
theory says; a block that is read is moved after so many reads. A patrol reads every page once in
its period, and evenly: what a few host reads wait for it would be more if it came in bunches.

Sources: those of `theory.background`; the rest is arithmetic of the geometry.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from opennandlab.studies.validation.case import Case, Document, Effort, Miss, Run, lookup
from opennandlab.studies.validation.devices import BENCH_TIMING, bench, poisson, timed
from opennandlab.theory.background import (
    DAY_S,
    patrol_reads_per_s,
    patrol_wait_us,
    refresh_pages_per_s,
    refresh_share,
)

SUITE = "refresh"
DIES = 2
BLOCKS = 128
PAGES_PER_BLOCK = 64
# Of 128 blocks; one more erased than a victim of superblocks may take.
OP_RATIO = 0.3
AFTER_S = 60.0
# Periods of an idle drive; pages that are written to others.
PERIODS, WRITES = 12.0, 20_000
# tR, and a page on the bus.
READ_US = float(BENCH_TIMING["t_read_us"]) + 10.0
# A step at a time where nothing else waits, host and moved pages apart.
STEPS = {"collection": "steps", "write_frontiers": "host_gc"}
FORMS: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
    ("whole", {}, {}),
    ("priority", {}, {"scheduler": "priority"}),
    ("steps", STEPS, {"scheduler": "priority"}),
    ("superblocks", {"allocation": "superblock"}, {}),
)
# Drive writes within an age limit.
LOADS = (0.02, 0.1, 0.3)
# Read errors of a block: this much per read of each of its pages.
DISTURB = 1e-7
# Reads of each page after which a block errs too much, and the recorded error of moves per read.
READS_BEFORE = {32: 0.0, 100: -0.10}
CLASSES = "reads of a block count in classes a fourth of an octave wide: 100 as the next, 107.6"
# Of a drive in order: dozens of moves of each block.
ROUNDS = 2560
_case = partial(Case, suite=SUITE)


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick (one form, one load), or all with three seeds.

    Example:
        >>> [case.name for case in cases(Effort.QUICK)][:2]
        ['idle-whole', 'light-whole-x0.1']
    """
    if effort is Effort.QUICK:
        forms = FORMS[:1]
        return [*_idle(forms), *_light(forms, LOADS[1:2]), *_patrol(forms), *_spread((1,))]
    light = [FORMS[0], *FORMS[2:]]
    return [
        *_idle(FORMS),
        *_light(light, LOADS),
        *_read_often(),
        *_patrol(FORMS),
        *_spread((1, 4)),
    ]


def _device(ftl: dict[str, Any], controller: dict[str, Any], dies: int = DIES) -> dict[str, Any]:
    device = bench(dies, 1, blocks_per_die=BLOCKS)
    device["ftl"] |= {"over_provisioning_pct": OP_RATIO, **ftl}
    device["controller"] = dict(controller)
    return device


def _logical_pages(dies: int = DIES) -> int:
    return int(dies * BLOCKS * PAGES_PER_BLOCK / (1.0 + OP_RATIO))


def _closed_pages(dies: int = DIES) -> int:
    """Pages in closed blocks of a drive that was filled in order: the last block stays open."""
    pools = _logical_pages(dies) / dies / PAGES_PER_BLOCK
    return dies * (-int(-pools // 1) - 1) * PAGES_PER_BLOCK


def _per_second(path: str, documents: Sequence[Document]) -> float:
    return lookup(documents[0], path) / lookup(documents[0], "metrics.duration_s")


def _per_host_page(documents: Sequence[Document]) -> float:
    programs = [lookup(documents[0], f"metrics.programs.{key}") for key in ("refresh", "host")]
    return programs[0] / programs[1]


def _idle(forms: Sequence[tuple[str, dict[str, Any], dict[str, Any]]]) -> Iterator[Case]:
    days = AFTER_S / DAY_S
    for name, ftl, controller in forms:
        device = _device({**ftl, "refresh": {"after_days": days}}, controller)
        ios = 5.0 * PERIODS * AFTER_S
        yield _case(
            name=f"idle-{name}",
            title="A drive that is hardly read moves all its data once per age limit",
            runs=(Run(device, timed("random", poisson(5.0), int(ios))),),
            quantity="metrics.programs.refresh / metrics.duration_s",
            measure=partial(_per_second, "metrics.programs.refresh"),
            expected=partial(refresh_pages_per_s, _closed_pages(), days),
            # One block more or less of each pool, of 98 in 12 periods, and as much of the time.
            tolerance=0.003,
            formula=f"U / T, U = {_closed_pages()} pages in closed blocks, T = {AFTER_S:g} s",
        )


def _light(
    forms: Sequence[tuple[str, dict[str, Any], dict[str, Any]]], loads: Sequence[float]
) -> Iterator[Case]:
    for name, ftl, controller in forms:
        device = _device({**ftl, "refresh": {"after_days": AFTER_S / DAY_S}}, controller)
        for load in loads:
            iops = load * _logical_pages() / AFTER_S
            workload = timed("random", poisson(iops), WRITES, 0.0)
            workload["precondition"] = [{"kind": "sequential_fill"}]
            yield _case(
                name=f"light-{name}-x{load:g}",
                title="What refresh adds to the write amplification of a drive that is written"
                " lightly",
                runs=(Run(device, workload),),
                quantity="metrics.programs.refresh / host",
                measure=_per_host_page,
                expected=partial(refresh_share, load),
                tolerance=0.03,
                sample="the time of 20 000 Poisson writes, 4 standard errors",
                formula=f"1 / (e^x - 1), x = {load:g} drive writes per age limit",
                source="renewal theory, Cox 1962",
            )


def _read_often() -> Iterator[Case]:
    for reads, late in READS_BEFORE.items():
        # Between two counts, so that which of them is the first above does not matter.
        limit = (reads - 0.5) * DISTURB * PAGES_PER_BLOCK
        device = _device({"refresh": {"after_days": None, "at_rber": limit}}, {}, dies=1)
        device["nand"] |= {"max_pe_cycles": 3000, "stress": {"count_reads": True}}
        device["reliability"] = {
            "kind": "read_disturb",
            "factor": DISTURB,
            "exponent": 1e-9,
            "pages_per_block": PAGES_PER_BLOCK,
        }
        # A block that is moved is read from memory, which does not disturb it: reads come seldom.
        workload = timed("sequential", poisson(5.0), ROUNDS * _logical_pages(1))
        # Blocks that were never erased do not err.
        workload["precondition"] = [{"kind": "sequential_fill", "fills": 3}]
        yield _case(
            name=f"reads-{reads}",
            title="A block is moved when its pages have been read so often that it errs too much",
            runs=(Run(device, workload),),
            quantity="metrics.refresh.by_rber / metrics.reads.host",
            measure=_found_per_read,
            expected=1.0 / (reads * PAGES_PER_BLOCK),
            miss=Miss(CLASSES, late) if late else None,
            formula=f"1 / (k b), k = {reads} reads of each of b = {PAGES_PER_BLOCK} pages",
        )


def _found_per_read(documents: Sequence[Document]) -> float:
    return lookup(documents[0], "metrics.refresh.by_rber") / lookup(
        documents[0], "metrics.reads.host"
    )


def _patrol(forms: Sequence[tuple[str, dict[str, Any], dict[str, Any]]]) -> Iterator[Case]:
    days = AFTER_S / DAY_S
    for name, ftl, controller in forms:
        device = _device(ftl, {**controller, "patrol": {"period_days": days}})
        ios = 5.0 * PERIODS * AFTER_S
        yield _case(
            name=f"patrol-{name}",
            title="A patrol reads every page of closed blocks once in its period",
            runs=(Run(device, timed("random", poisson(5.0), int(ios))),),
            quantity="metrics.patrol.reads / metrics.duration_s",
            measure=partial(_per_second, "metrics.patrol.reads"),
            expected=partial(patrol_reads_per_s, _closed_pages(), days),
            # A read left for the next turn here and there.
            tolerance=2e-4,
            formula=f"{_closed_pages()} pages in closed blocks / {AFTER_S:g} s",
        )


def _spread(counts: Sequence[int]) -> Iterator[Case]:
    """A few Poisson reads meet a patrol that comes every 100 us."""
    interval_us, iops, ios = 100.0, 200.0, 100_000
    for dies in counts:
        pages = _closed_pages(dies)
        days = pages * interval_us * 1e-6 / DAY_S
        device = _device({}, {"patrol": {"period_days": days}}, dies)
        yield _case(
            name=f"patrol-evenly-{dies}",
            title="Patrol reads come evenly: a host read waits for half of one, if it meets one",
            runs=(Run(device, timed("random", poisson(iops), ios)),),
            quantity="metrics.latency_us.read.mean - tR - x",
            measure=_wait_us,
            expected=partial(patrol_wait_us, READ_US, interval_us, dies, iops),
            tolerance=0.04 if dies > 1 else 0.02,
            sample="a mean of 100 000 waits, 4 standard errors",
            formula=f"((s^2 / 2 + s w) / (d D) + w) / (1 - L s / D), w = L s^2 / (2 D),"
            f" s = tR + x = {READ_US:g} us, d = {interval_us:g} us, D = {dies}, L = {iops:g} / s",
            source="residual time of a fixed service",
        )


def _wait_us(documents: Sequence[Document]) -> float:
    return lookup(documents[0], "metrics.latency_us.read.mean") - READ_US
