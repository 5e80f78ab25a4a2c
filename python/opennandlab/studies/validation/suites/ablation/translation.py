"""Where pages go and how often they are written: orders, single-bit cache, compression, parity.

Sequential writes to an empty drive move no page, so what the host waits for is a sum of programs.
"""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.studies.validation.case import Case, increment_ratio, lookup
from opennandlab.studies.validation.devices import PAGE_BYTES, bench, timed
from opennandlab.studies.validation.suites.ablation.row import (
    PROGRAM,
    READ,
    SENSE,
    TRANSFER,
    WRITE_RATE,
    WRITE_US,
    Device,
    one_die,
    ratio,
    row,
    vary,
)
from opennandlab.theory.closed_loop import busy_dies

# A single-bit cache of ten blocks of a third of 60 pages; its times in us.
SLC_BLOCKS, SLC_PAGES = 10, 20
SLC_READ, SLC_PROGRAM, SLC_ERASE = 25.0, 200.0, 1500.0
CACHE = SLC_BLOCKS * SLC_PAGES


def cases() -> list[Case]:
    """Return the rows of the FTL.

    Returns:
        The cases.

    Example:
        >>> {"order-DCP", "slc-burst", "parity-write"} <= {case.name for case in cases()}
        True
    """
    return [*_orders(), *_dynamic(), *_slc_cache(), *_compression(), *_parity()]


def _orders() -> Iterator[Case]:
    """Read two and four pages at a time on two channels of two dies of two planes."""
    base = vary(
        bench(2, 2, blocks_per_die=32), {"nand.planes_per_die": 2, "nand.multi_plane": True}
    )
    # Transfers one after the other on a channel, by order and pages of a request.
    transfers = {("DCP", 2): 2, ("PCD", 2): 2, ("PDC", 4): 4, ("PCD", 4): 2}
    striped = {2: 1, 4: 2}
    for (order, pages), count in transfers.items():
        reads = timed("sequential", 1, 1000, page_bytes=pages * PAGE_BYTES)
        yield row(
            f"order-{order}" if pages == 2 else f"order-{order}-4",
            "The order of allocation decides what a small read finds side by side",
            ((base, reads), (vary(base, {"ftl.allocation": order}), reads)),
            f"read latency with {order} / with CDP, {pages} pages, two channels, dies, planes",
            ratio(f"{READ}.mean"),
            (SENSE + count * TRANSFER) / (SENSE + striped[pages] * TRANSFER),
            0.005,
            "(tR + c x) / (tR + c' x), c transfers on the busiest channel",
        )


def _dynamic() -> Iterator[Case]:
    """Write where nobody waits."""
    dies, depth = 8, 8
    off = bench(dies, 1)
    writes = timed("random", depth, 20_000, 0.0)
    yield row(
        "dynamic",
        "Dynamic allocation keeps every die busy with writes",
        ((off, writes), (vary(off, {"ftl.allocation": "dynamic"}), writes)),
        f"write throughput on / off, {depth} random writes outstanding on {dies} dies",
        ratio(WRITE_RATE),
        lambda: min(depth, dies) / busy_dies(dies, depth),
        0.02,
        "min(q, D) / B(D, q)",
        source="exact Markov chain",
    )


def cached(when_full: str) -> Device:
    """Return a die with a single-bit cache of 200 pages.

    Args:
        when_full: `fold` or `direct`.

    Returns:
        The device.

    Example:
        >>> cached("fold")["ftl"]["slc_cache"]["blocks_per_die"]
        10
    """
    device = vary(
        one_die(),
        {
            "nand.pages_per_block": 60,
            "nand.slc_timing": {
                "t_read_us": SLC_READ,
                "t_program_us": SLC_PROGRAM,
                "t_erase_us": SLC_ERASE,
            },
            "ftl.write_frontiers": "host_gc",
            "ftl.gc_reserve_blocks": 2,
            "ftl.slc_cache": {
                "kind": "static",
                "blocks_per_die": SLC_BLOCKS,
                "when_full": when_full,
            },
        },
    )
    device["ftl"]["over_provisioning_pct"] = 0.6
    return device


def _slc_cache() -> Iterator[Case]:
    """Write into single-bit blocks, and past their end."""
    fold, direct = cached("fold"), cached("direct")
    off = vary(fold, {"ftl.slc_cache": "none"})
    burst = timed("sequential", 4, CACHE - SLC_PAGES, 0.0)
    yield row(
        "slc-burst",
        "A single-bit cache takes a burst at its own speed",
        ((off, burst), (fold, burst)),
        f"write throughput on / off, burst of {CACHE - SLC_PAGES} pages",
        ratio(WRITE_RATE),
        WRITE_US / (SLC_PROGRAM + TRANSFER),
        0.01,
        "(tPROG + x) / (tPROG of one bit + x)",
    )
    short, longer = (timed("sequential", 4, CACHE + pages, 0.0) for pages in (400, 1400))
    moved = SLC_READ + 2 * TRANSFER + PROGRAM
    slc_page = SLC_PROGRAM + TRANSFER + SLC_ERASE / SLC_PAGES
    for name, device, page_us, formula in (
        ("fold", fold, slc_page + moved, "tPROG' + x + tBERS'/b' + tR' + 2 x + tPROG, ' one bit"),
        ("direct", direct, WRITE_US, "tPROG + x"),
    ):
        yield row(
            f"slc-cliff-{name}",
            "Behind the cache stands a cliff: folding costs more than writing at full density",
            ((device, short), (device, longer)),
            f"time per page beyond the cache, us; when_full: {name}",
            lambda documents: (
                increment_ratio("metrics.duration_s", "metrics.host_pages.written")(documents) * 1e6
            ),
            page_us,
            0.02,
            formula,
        )
    yield row(
        "slc-length",
        "The burst is as long as the cache: blocks times a third of their pages",
        ((fold, short), (fold, longer)),
        "pages written less pages folded",
        lambda documents: (
            lookup(documents[1], "metrics.programs.host")
            - lookup(documents[1], "metrics.programs.fold")
        ),
        float(CACHE),
        0.02,
        "blocks * pages / 3, of which one or two blocks are being folded",
    )


def _compression() -> Iterator[Case]:
    """Halve the data."""
    off = one_die()
    on = vary(off, {"ftl.compression": {"data": "file", "ratio": 0.5}})
    writes = timed("sequential", 16, 3000, 0.0)
    runs = ((off, writes), (on, writes))
    yield row(
        "compression-waf",
        "Compressed data is written less than once, and as much faster",
        runs,
        "WAF on / off, ratio 0.5",
        ratio("metrics.waf"),
        0.5,
        0.002,
        "ratio",
    )
    yield row(
        "compression-rate",
        "Compressed data is written less than once, and as much faster",
        runs,
        "write throughput on / off",
        ratio(WRITE_RATE),
        2.0,
        0.01,
        "1 / ratio: tPROG and x are those of a flash page",
    )


def _parity() -> Iterator[Case]:
    """One page in eight is parity."""
    stripe = 8
    off = one_die()
    on = vary(off, {"ftl.parity": {"stripe": stripe}})
    writes = timed("sequential", 4, 2800, 0.0)
    runs = ((off, writes), (on, writes))
    yield row(
        "parity-waf",
        "Parity costs a page of each stripe",
        runs,
        "WAF on / off, stripes of 8",
        ratio("metrics.waf"),
        stripe / (stripe - 1),
        0.01,
        "N / (N - 1)",
    )
    yield row(
        "parity-write",
        "Parity costs a page of each stripe",
        runs,
        "write throughput on / off",
        ratio(WRITE_RATE),
        (stripe - 1) / stripe,
        0.01,
        "(N - 1) / N",
    )
