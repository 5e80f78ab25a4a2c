"""Where pages go and how often they are written: orders, single-bit cache, compression, parity.

Sequential writes to an empty drive move no page, so what the host waits for is a sum of programs.
"""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.studies.validation.case import Case, increment_ratio, lookup, quotient
from opennandlab.studies.validation.devices import PAGE_BYTES, bench, timed
from opennandlab.studies.validation.suites.ablation.row import (
    PROGRAM,
    READ,
    SENSE,
    TRANSFER,
    WRITE_RATE,
    WRITE_US,
    Device,
    compared,
    one_die,
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
            name=f"order-{order}" if pages == 2 else f"order-{order}-4",
            title="The order of allocation decides what a small read finds side by side",
            runs=compared(((base, reads), (vary(base, {"ftl.allocation": order}), reads))),
            quantity=f"read latency with {order} / with CDP, {pages} pages, two channels, dies,"
            " planes",
            measure=quotient(f"{READ}.mean"),
            expected=(SENSE + count * TRANSFER) / (SENSE + striped[pages] * TRANSFER),
            tolerance=0.005,
            formula="(tR + c x) / (tR + c' x), c transfers on the busiest channel",
        )


def _dynamic() -> Iterator[Case]:
    """Write where nobody waits."""
    dies, depth = 8, 8
    off = bench(dies, 1)
    writes = timed("random", depth, 20_000, 0.0)
    yield row(
        name="dynamic",
        title="Dynamic allocation keeps every die busy with writes",
        runs=compared(((off, writes), (vary(off, {"ftl.allocation": "dynamic"}), writes))),
        quantity=f"write throughput on / off, {depth} random writes outstanding on {dies} dies",
        measure=quotient(WRITE_RATE),
        expected=lambda: min(depth, dies) / busy_dies(dies, depth),
        tolerance=0.02,
        formula="min(q, D) / B(D, q)",
        source="exact Markov chain",
    )


def cached(when_full: str) -> Device:
    """Return a die with a single-bit cache of 200 pages.

    Args:
        when_full: `fold` or `direct`.

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
        name="slc-burst",
        title="A single-bit cache takes a burst at its own speed",
        runs=compared(((off, burst), (fold, burst))),
        quantity=f"write throughput on / off, burst of {CACHE - SLC_PAGES} pages",
        measure=quotient(WRITE_RATE),
        expected=WRITE_US / (SLC_PROGRAM + TRANSFER),
        tolerance=0.01,
        formula="(tPROG + x) / (tPROG of one bit + x)",
    )
    short, longer = (timed("sequential", 4, CACHE + pages, 0.0) for pages in (400, 1400))
    moved = SLC_READ + 2 * TRANSFER + PROGRAM
    slc_page = SLC_PROGRAM + TRANSFER + SLC_ERASE / SLC_PAGES
    for name, device, page_us, formula in (
        ("fold", fold, slc_page + moved, "tPROG' + x + tBERS'/b' + tR' + 2 x + tPROG, ' one bit"),
        ("direct", direct, WRITE_US, "tPROG + x"),
    ):
        yield row(
            name=f"slc-cliff-{name}",
            title="Behind the cache stands a cliff: folding costs more than writing at full"
            " density",
            runs=compared(((device, short), (device, longer))),
            quantity=f"time per page beyond the cache, us; when_full: {name}",
            measure=lambda documents: (
                increment_ratio("metrics.duration_s", "metrics.host_pages.written")(documents) * 1e6
            ),
            expected=page_us,
            tolerance=0.02,
            formula=formula,
        )
    yield row(
        name="slc-length",
        title="The burst is as long as the cache: blocks times a third of their pages",
        runs=compared(((fold, short), (fold, longer))),
        quantity="pages written less pages folded",
        measure=lambda documents: (
            lookup(documents[1], "metrics.programs.host")
            - lookup(documents[1], "metrics.programs.fold")
        ),
        expected=float(CACHE),
        tolerance=0.02,
        formula="blocks * pages / 3, of which one or two blocks are being folded",
    )


def _compression() -> Iterator[Case]:
    """Halve the data."""
    off = one_die()
    on = vary(off, {"ftl.compression": {"data": "file", "ratio": 0.5}})
    writes = timed("sequential", 16, 3000, 0.0)
    runs = ((off, writes), (on, writes))
    yield row(
        name="compression-waf",
        title="Compressed data is written less than once, and as much faster",
        runs=compared(runs),
        quantity="WAF on / off, ratio 0.5",
        measure=quotient("metrics.waf"),
        expected=0.5,
        tolerance=0.002,
        formula="ratio",
    )
    yield row(
        name="compression-rate",
        title="Compressed data is written less than once, and as much faster",
        runs=compared(runs),
        quantity="write throughput on / off",
        measure=quotient(WRITE_RATE),
        expected=2.0,
        tolerance=0.01,
        formula="1 / ratio: tPROG and x are those of a flash page",
    )


def _parity() -> Iterator[Case]:
    """One page in eight is parity."""
    stripe = 8
    off = one_die()
    on = vary(off, {"ftl.parity": {"stripe": stripe}})
    writes = timed("sequential", 4, 2800, 0.0)
    runs = ((off, writes), (on, writes))
    yield row(
        name="parity-waf",
        title="Parity costs a page of each stripe",
        runs=compared(runs),
        quantity="WAF on / off, stripes of 8",
        measure=quotient("metrics.waf"),
        expected=stripe / (stripe - 1),
        tolerance=0.01,
        formula="N / (N - 1)",
    )
    yield row(
        name="parity-write",
        title="Parity costs a page of each stripe",
        runs=compared(runs),
        quantity="write throughput on / off",
        measure=quotient(WRITE_RATE),
        expected=(stripe - 1) / stripe,
        tolerance=0.01,
        formula="(N - 1) / N",
    )
