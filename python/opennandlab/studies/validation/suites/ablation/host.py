"""What stands between host and flash: each limit is a rate, each cache a share.

See docs/host.md for the parts. Flash is made faster than the limit in question, or slower where a
cache is to hide it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from opennandlab.studies.validation.case import Case, Document, Kind, Relation, lookup, quotient
from opennandlab.studies.validation.devices import PAGE_BYTES, bench, timed
from opennandlab.studies.validation.suites.ablation.row import (
    READ,
    READ_RATE,
    READ_US,
    WRITE,
    WRITE_RATE,
    Device,
    Workload,
    compared,
    one_die,
    row,
    vary,
)
from opennandlab.theory.closed_loop import busy_dies

YEAR_S = 365.25 * 86_400
FRAMES = 256
LARGE = 131_072
# Of one die: 64 blocks of 64 pages, over-provisioned by a quarter.
LOGICAL_PAGES = math.floor(64 * 64 / 1.25)
# Heat: share of the rate when hot; degrees Celsius; kelvin per watt; watts.
SLOW, AMBIENT, RESISTANCE, IDLE_W, ACTIVE_W = 0.3, 35.0, 10.0, 1.0, 6.0


def cases() -> list[Case]:
    """Return the rows of the host interface.

    Example:
        >>> {"link-sata2", "queues-sata_ncq", "thermal"} <= {case.name for case in cases()}
        True
    """
    return [
        *_link(),
        *_queues(),
        *_processor(),
        *_arbitration(),
        *_write_cache(),
        *_read_cache(),
        *_throttles(),
    ]


def _fast() -> Device:
    times = {"t_read_us": 5, "t_program_us": 50, "t_erase_us": 500, "bus_mt_s": 2000}
    return bench(16, 1, timing=times)


def _link() -> Iterator[Case]:
    """Fill a wire."""
    reads = timed("sequential", 16, 3000, page_bytes=LARGE)
    for link, rate in (("sata2", 300.0), ("pcie1x1", 250.0)):
        yield row(
            name=f"link-{link}",
            title="A full link carries its payload rate",
            runs=compared(((_fast(), reads), (vary(_fast(), {"host.link": link}), reads))),
            quantity=f"read throughput on, MB/s; {link}",
            measure=lambda documents: lookup(documents[1], READ_RATE),
            expected=rate * LARGE / (LARGE + FRAMES),
            tolerance=0.005,
            formula="rate * 128 KiB / (128 KiB + 256 B of frames)",
        )


def _queues() -> Iterator[Case]:
    """Hold no more commands than the protocol allows."""
    dies = 8
    off = vary(bench(dies, 1), {"host.protocol": "emmc"})
    reads = timed("random", 64, 40_000)
    for protocol in (
        "sata_ncq",
        "ufs",
        {"kind": "emmc", "command_queue": True},
    ):
        name = protocol if isinstance(protocol, str) else "emmc_queue"
        yield row(
            name=f"queues-{name}",
            title="The protocol's queue decides how many dies a deep host keeps busy",
            runs=compared(((off, reads), (vary(off, {"host.protocol": protocol}), reads))),
            quantity=f"read throughput, {name} (32 commands) / eMMC (one), {dies} dies, 64"
            " outstanding",
            measure=quotient(READ_RATE),
            expected=lambda: busy_dies(dies, 32),
            tolerance=0.02,
            formula="B(D, 32) / 1: mean busy dies with 32 and with 1 command",
            source="exact Markov chain; Little's law",
        )


def _processor() -> Iterator[Case]:
    """Keep the cores busy."""
    reads = timed("random", 32, 20_000)
    for cores in (1, 2):
        keys = {"host.command_cost_us": {"read": 10.0}, "host.cores": cores}
        yield row(
            name=f"cores-{cores}",
            title="Busy cores serve one command per cost each",
            runs=compared(((_fast(), reads), (vary(_fast(), keys), reads))),
            quantity=f"IOPS on, {cores} cores of 10 us",
            measure=lambda documents: lookup(documents[1], "metrics.iops.read"),
            expected=cores / 10e-6,
            tolerance=0.005,
            formula="cores / cost",
        )


def _sharing() -> Workload:
    greedy = {"read_pct": 100, "queue_depth": 64, "block_size_bytes": PAGE_BYTES}
    return {
        "total": {"ios": 30_000},
        "precondition": [{"kind": "sequential_fill"}],
        "tenants": [
            {"name": "a", "priority": "high", "weight": 1, **greedy},
            {"name": "b", "priority": "low", "weight": 1, **greedy},
        ],
    }


def _arbitration() -> Iterator[Case]:
    """Let two hosts that never run empty take turns."""

    def drive(arbitration: object) -> Device:
        protocol = {"kind": "nvme", "arbitration": arbitration}
        return vary(_fast(), {"host.protocol": protocol, "host.queue_depth_max": 8})

    off = drive("round_robin")
    on = drive({"kind": "weighted_round_robin", "high": 5, "low": 2})
    runs = ((off, _sharing()), (on, _sharing()))

    def share(documents: Sequence[Document]) -> float:
        rows = documents[1]["metrics"]["tenants"]
        first, second = (float(each["iops"]["total"]) for each in rows)
        return first / second

    yield row(
        name="weights",
        title="Weighted arbitration shares the drive by its weights",
        runs=compared(runs),
        quantity="rate of the high class / of the low one, weights 5 and 2",
        measure=share,
        expected=2.5,
        tolerance=0.02,
        formula="5 / 2",
        source="NVM Express base specification",
    )
    yield row(
        name="fairness",
        title="Weighted arbitration shares the drive by its weights",
        runs=compared(runs),
        quantity="Jain's index on / off",
        measure=quotient("metrics.fairness.jain_index"),
        expected=7.0**2 / (2 * (5.0**2 + 2.0**2)),
        tolerance=0.01,
        formula="(5 + 2)^2 / (2 (5^2 + 2^2)), over 1",
        source="Jain, Chiu and Hawe 1984",
    )


def _write_cache() -> Iterator[Case]:
    """Hide tPROG until the cache is full."""
    off = one_die(t_erase_us=1)
    on = vary(off, {"host.write_cache": {"pages": 256, "policy": "fifo"}})
    short, longer = (timed("sequential", 1, ios, 0.0) for ios in (100, 3000))
    yield row(
        name="write-cache-burst",
        title="A write cache hides tPROG until it is full, then lets through what the flash takes",
        runs=compared(((off, short), (on, short))),
        quantity="mean write latency on / off, burst of 100 pages, cache of 256",
        measure=quotient(f"{WRITE}.mean"),
        expected=0.01,
        tolerance=0.0,
        formula="at most 1 %: nothing waits for the flash",
        kind=Kind.ORDER,
        relation=Relation.AT_MOST,
    )
    yield row(
        name="write-cache-steady",
        title="A write cache hides tPROG until it is full, then lets through what the flash takes",
        runs=compared(((off, longer), (on, longer))),
        quantity="write throughput on / off, 3000 pages of which 256 wait at the end",
        measure=quotient(WRITE_RATE),
        expected=3000 / (3000 - 256),
        tolerance=0.02,
        formula="n / (n - cache)",
    )
    flushed = {**longer, "flush_every": 1}
    yield row(
        name="flush",
        title="A flush waits for all that was written before it",
        runs=compared(((off, longer), (on, flushed))),
        quantity="latency of a flush after each write on, over that of a write without cache",
        measure=lambda documents: (
            lookup(documents[1], "metrics.latency_us.flush.mean")
            / lookup(documents[0], f"{WRITE}.mean")
        ),
        expected=1.0,
        tolerance=0.02,
        formula="tPROG + x, for both",
    )
    forced = {**longer, "fua_pct": 100}
    yield row(
        name="fua",
        title="A forced write waits for its own page",
        runs=compared(((off, longer), (on, forced))),
        quantity="mean write latency on, all forced / off",
        measure=quotient(f"{WRITE}.mean"),
        expected=1.0,
        tolerance=0.02,
        formula="tPROG + x, for both",
    )


def _read_cache() -> Iterator[Case]:
    """Keep pages that are read again."""
    pages, theta = 300, 0.9
    off = one_die()
    on = vary(off, {"host.read_cache": {"pages": pages, "policy": "lru"}})
    reads = timed("random", 1, 60_000)
    reads["pattern"] = {"kind": "zipf", "theta": theta}

    def expected() -> float:
        return che_hit_ratio([rank**-theta for rank in range(1, LOGICAL_PAGES + 1)], pages)

    yield row(
        name="read-cache",
        title="A read cache of least recently used pages hits as often as Che's approximation says",
        runs=compared(((off, reads), (on, reads))),
        quantity=f"1 - mean read latency on / off; {pages} pages, zipf {theta}",
        measure=lambda documents: 1.0 - quotient(f"{READ}.mean")(documents),
        expected=expected,
        tolerance=0.02,
        formula="sum p (1 - exp(-p T)), T from sum (1 - exp(-p T)) = pages",
        source="Che, Tung and Wang 2002",
    )


def che_hit_ratio(popularity: list[float], capacity: int) -> float:
    """Return the share of requests that an LRU cache serves, by Che's approximation.

    Args:
        popularity: weight of each page; any scale.
        capacity: pages of the cache, fewer than there are.

    Returns:
        Hits over requests.

    Source:
        H. Che, Y. Tung, Z. Wang, "Hierarchical Web caching systems: modeling, design and
        experimental results", IEEE JSAC 20, 2002: a page stays for a characteristic time T that
        is the same for all.

    Example:
        >>> round(che_hit_ratio([1.0] * 400, 100), 3)
        0.25
    """
    total = sum(popularity)
    shares = [weight / total for weight in popularity]
    low, high = 0.0, 1e3 * len(shares)
    for _ in range(60):
        middle = (low + high) / 2
        if sum(-math.expm1(-share * middle) for share in shares) < capacity:
            low = middle
        else:
            high = middle
    return sum(-share * math.expm1(-share * low) for share in shares)


def _throttles() -> Iterator[Case]:
    """Slow the drive down for its life, and for its temperature."""
    budget_mb_s = 2.0
    wear = {"tbw_tb": budget_mb_s * 1e-6 * YEAR_S, "years": 1, "burst_gb": 0}
    writes = timed("sequential", 4, 10_000, 0.0)
    writes["total"] = {"ios": 3000}
    off = one_die()
    yield row(
        name="wear-budget",
        title="A wear budget holds the mean write rate",
        runs=compared(((off, writes), (vary(off, {"host.throttle.wear": wear}), writes))),
        quantity="write throughput on, MB/s; budget 2 MB/s",
        measure=lambda documents: lookup(documents[1], WRITE_RATE),
        expected=budget_mb_s,
        tolerance=0.01,
        formula="TBW / years",
    )
    off, on, reads = heated()
    hot = AMBIENT + RESISTANCE * ACTIVE_W
    cool = AMBIENT + RESISTANCE * (IDLE_W + SLOW * (ACTIVE_W - IDLE_W))
    heating, cooling = math.log((hot - 70) / (hot - 75)), math.log((75 - cool) / (70 - cool))
    yield row(
        name="thermal",
        title="A hot drive alternates between its two rates",
        runs=compared(((off, reads), (on, reads))),
        quantity="read throughput on / off",
        measure=quotient(READ_RATE),
        expected=(heating + SLOW * cooling) / (heating + cooling),
        tolerance=0.02,
        formula="(a + r b) / (a + b): a, b = ln of the temperature ratios of heating and cooling",
        source="one thermal resistance and time constant",
    )


def heated() -> tuple[Device, Device, Workload]:
    """Return a die, the same with a thermal throttle, and reads that heat it.

    Returns:
        Without, with, and the workload.

    Example:
        >>> heated()[1]["host"]["throttle"]["thermal"]["resume_c"]
        70.0
    """
    thermal = {
        "ambient_c": AMBIENT,
        "c_per_w": RESISTANCE,
        "time_constant_s": 0.2,
        "idle_w": IDLE_W,
        "active_w": ACTIVE_W,
        "active_mb_s": PAGE_BYTES / READ_US,
        "throttle_c": 75.0,
        "resume_c": 70.0,
        "throttle_ratio": SLOW,
        "start_c": 70.0,
    }
    reads = timed("sequential", 4, 1)
    reads["total"] = {"seconds": 5.0}
    off = one_die()
    return off, vary(off, {"host.throttle.thermal": thermal}), reads
