"""Zones: a host that writes them in order and resets them has a drive that moves nothing.

What is written once and erased as a whole costs itself: the drive's write amplification is 1, and a
reset erases the blocks of the zone and no others. What the host amplifies with a log of its own on
zones is what a conventional drive with one open block amplifies with the same policy and spare
area, and follows the same closed forms. A host that writes open zones in turn waits for the dies
that they share, as in a list of times without a drive.

Sources: arithmetic of the definitions in the NVM Express Zoned Namespace Command Set Specification;
the formulas of `theory.uniform`; the list of `theory.zones`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from opennandlab.studies.validation.case import Case, Document, Effort, Kind, Run, lookup
from opennandlab.studies.validation.devices import PAGE_BYTES, bench
from opennandlab.studies.validation.suites.waf_uniform import FORMULAS, SOURCES
from opennandlab.theory.waf import uniform_formula
from opennandlab.theory.zones import ZoneDies, lockstep_ns

SUITE = "zones"
SOURCE = "definition (ZNS Command Set Specification 1.1)"
BLOCKS, PAGES = 2, 256
# Channels, dies per channel, allocation, and the share of a zone that can be written.
SHAPES = (
    ("dies", 2, 2, None, 1.0),
    ("superblocks", 4, 1, "superblock", 1.0),
    ("capacity", 2, 2, None, 0.75),
)
# Policy of the host, and the spare factor of its log.
RECLAIMS = (("greedy", 0.10), ("greedy", 0.20), ("fifo", 0.10), ("fifo", 0.20))
RECLAIM_PAGES = 128
# 700 us to program, and 5.12 us to transfer, a page: `config init`.
TURN_TIMING = {"t_program_us": 700, "bus_mt_s": 800}
ADJACENT = tuple(range(14))
# Drawn once from 112 zones; they begin at dies 1 8 12 6 1 8 0 15 15 9 12 3 0 4 of 16.
DRAWN = (17, 72, 108, 102, 97, 8, 32, 15, 63, 57, 60, 83, 48, 100)
# Channels, dies, dies of a zone (0: all), stagger, open zones, queue depth.
TURNS = (
    ("same-die", 8, 16, 0, False, DRAWN, 8),
    ("staggered", 8, 16, 0, True, DRAWN, 8),
    ("staggered-adjacent", 8, 16, 0, True, ADJACENT, 8),
    ("staggered-qd1", 8, 16, 0, True, DRAWN, 1),
    ("staggered-qd32", 8, 16, 0, True, DRAWN, 32),
    ("staggered-32-dies", 8, 32, 0, True, DRAWN, 8),
    ("staggered-one-channel", 1, 4, 0, True, DRAWN[:6], 4),
    ("narrow", 8, 16, 4, False, DRAWN, 8),
    ("narrow-staggered", 8, 16, 4, True, DRAWN, 8),
    ("narrow-adjacent", 8, 16, 4, False, ADJACENT, 8),
)  # fmt: skip
TURN_PAGES = 512
_case = partial(Case, suite=SUITE)


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick, or with and without a clock and more zones.

    Example:
        >>> {case.suite for case in cases(Effort.QUICK)}
        {'zones'}
    """
    if effort is Effort.QUICK:
        return [*_log(timed=False), *_reclaim(512), *_turns(128)]
    return [*_log(timed=False), *_log(timed=True), *_reclaim(2048), *_turns(TURN_PAGES)]


def _turns(pages: int) -> Iterator[Case]:
    """A host that writes some zones in turn, a number of pages to each."""
    for name, channels, dies, zone_dies, stagger, zones, depth in TURNS:
        drive = ZoneDies(channels, dies, 700_000, 5_120, zone_dies)
        begins = drive.begins(zones, stagger=stagger)
        span = zone_dies or dies
        covering = -(-(max(zones) + 1) * span // dies) + span
        device = bench(channels, dies // channels, timing=TURN_TIMING, blocks_per_die=2 * covering)
        device["nand"]["pages_per_block"] = pages // span
        mapping = {"kind": "zoned", "zone_bytes": pages * PAGE_BYTES, "stagger": stagger}
        mapping |= {"zone_dies": span, "open_zones_max": 14, "active_zones_max": 14}
        device["ftl"] |= {"over_provisioning_pct": 0.6, "mapping": mapping}
        steps = [{"do": "write", "zone": zone} for zone in zones]
        workload = {
            "pattern": {"kind": "zone_actions", "steps": steps},
            "queue_depth": depth,
            "block_size_bytes": PAGE_BYTES,
            "total": {"ios": len(zones) * pages},
        }
        share = f"zones on {span} of them" if zone_dies else "zones on all of them"
        yield _case(
            name=f"turn-{name}",
            title="Open zones that are written in turn share dies as a list of times says",
            source="theory.zones, our derivation",
            runs=(Run(device, workload),),
            quantity="metrics.throughput_mb_s.write",
            expected=partial(_rate, drive, begins, depth, pages),
            tolerance=0.001,
            formula=f"{len(zones)} open, QD {depth}, {dies} dies, {share}, "
            + ("staggered" if stagger else "not staggered"),
        )


def _rate(drive: ZoneDies, begins: Sequence[int], depth: int, pages: int) -> float:
    """Return MB/s of a host that writes pages to zones in turn."""
    seconds = lockstep_ns(drive, begins, depth, pages) * 1e-9
    return len(begins) * pages * PAGE_BYTES * 1e-6 / seconds


def _reclaim(zones: int) -> Iterator[Case]:
    """A host that reclaims the zones of its log, about so many."""
    device = bench(2, 2, blocks_per_die=zones + 32)
    device["nand"]["pages_per_block"] = RECLAIM_PAGES // 4
    device["ftl"] |= {
        "over_provisioning_pct": 0.03,
        "mapping": {
            "kind": "zoned",
            "zone_bytes": RECLAIM_PAGES * PAGE_BYTES,
            "open_zones_max": 1,
            "active_zones_max": 1,
        },
    }
    for policy, spare in RECLAIMS:
        workload = {
            "pattern": {"kind": "host_log", "live_share": 1 - spare, "reclaim": policy},
            "timed": False,
            "block_size_bytes": PAGE_BYTES,
            "precondition": [{"kind": "workload", "drive_writes": 20.0}],
            "total": {"drive_writes": 10.0},
        }
        run = Run(device, workload)
        yield _case(
            name=f"host-{policy}-{spare:.2f}",
            title="A host that reclaims zones amplifies as a drive that collects blocks",
            source=SOURCES[policy],
            runs=(run,),
            quantity="metrics.zones.host_waf",
            expected=partial(uniform_formula(policy, RECLAIM_PAGES), spare),
            tolerance=0.02,
            formula=f"{FORMULAS[policy]}; zones of {RECLAIM_PAGES} pages, S_f {spare:g}",
        )
        yield _case(
            name=f"drive-{policy}-{spare:.2f}",
            title="The drive below such a host amplifies nothing",
            source=SOURCE,
            runs=(run,),
            quantity="metrics.waf",
            expected=1.0,
            tolerance=0.0,
            kind=Kind.EXACT,
            formula="1",
        )


def _log(*, timed: bool) -> Iterator[Case]:
    for name, channels, dies, allocation, share in SHAPES:
        device, zone = _device(channels, dies, allocation, share)
        workload = {
            "pattern": {
                "kind": "log_zones",
                "zone_bytes": zone,
                "capacity_bytes": int(zone * share),
                "open": 4,
            },
            "timed": timed,
            "queue_depth": 8,
            "block_size_bytes": PAGE_BYTES,
            "total": {"drive_writes": 5.0},
        }
        run = Run(device, workload)
        ending = "timed" if timed else "untimed"
        yield _case(
            name=f"log-{name}-{ending}",
            title="A log of zones is programmed once",
            source=SOURCE,
            runs=(run,),
            quantity="metrics.waf",
            expected=1.0,
            tolerance=0.0,
            kind=Kind.EXACT,
            formula="1",
        )
        yield _case(
            name=f"resets-{name}-{ending}",
            title="A reset erases the blocks of its zone",
            source=SOURCE,
            runs=(run,),
            quantity="metrics.erases.gc / metrics.zones.resets",
            measure=_erased,
            # Superblocks count as one block of the drive.
            expected=BLOCKS * (1.0 if allocation else channels * dies) * _used(share),
            tolerance=0.0,
            kind=Kind.EXACT,
            formula="blocks of a zone",
        )


def _used(share: float) -> float:
    """Return the share of the blocks of a zone that hold its capacity."""
    return -(-share * BLOCKS // 1.0) / BLOCKS


def _device(
    channels: int, dies: int, allocation: str | None, share: float
) -> tuple[dict[str, Any], int]:
    """Return a bench with zones, and the bytes of a zone."""
    device = bench(channels, dies, blocks_per_die=128)
    device["nand"]["pages_per_block"] = PAGES
    zone = BLOCKS * PAGES * channels * dies * PAGE_BYTES
    device["ftl"] |= {
        "over_provisioning_pct": 0.1,
        "mapping": {
            "kind": "zoned",
            "zone_bytes": zone,
            "zone_capacity_bytes": int(zone * share),
            "open_zones_max": 4,
            "active_zones_max": 8,
        },
    }
    if allocation:
        device["ftl"]["allocation"] = allocation
    return device, zone


def _erased(documents: Sequence[Document]) -> float:
    """Return the blocks that a reset erased."""
    erased = lookup(documents[0], "metrics.erases.gc")
    return erased / lookup(documents[0], "metrics.zones.resets")
