"""What flash itself can do: planes, registers, wordlines, times that differ.

One die, or one channel, does one thing over and over, so the time of each piece of work is a sum of
tR, tPROG, tBERS and transfers x; what a mechanism wins or costs is a quotient of two such sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opennandlab.studies.validation.case import Case, Document, lookup, quotient
from opennandlab.studies.validation.devices import bench, timed
from opennandlab.studies.validation.suites.ablation.row import (
    ERASE,
    PROGRAM,
    READ,
    READ_RATE,
    READ_US,
    SENSE,
    TRANSFER,
    WRITE,
    WRITE_RATE,
    WRITE_US,
    compared,
    difference,
    one_die,
    per_event_us,
    row,
    steady_writes,
    vary,
)
from opennandlab.theory.reliability import PageCode

PAGE_TYPES = (40.0, 60.0, 110.0)
RETRY_RBER, RETRY_FACTOR = 2.5e-3, 0.6


def cases() -> list[Case]:
    """Return the rows of the flash.

    Example:
        >>> {"planes-2", "copyback"} <= {case.name for case in cases()}
        True
    """
    return [
        *_planes(),
        *_independent(),
        *_dies(),
        *_cache_commands(),
        *_wordlines(),
        *_copyback(),
        *_page_times(),
        *_read_retry(),
        *_variation(),
        *_wear(),
    ]


def _planes() -> Iterator[Case]:
    """Planes program together; the bus carries their pages one after the other."""
    for planes, dies in ((2, 1), (4, 1), (4, 32)):
        off = bench(1, dies, blocks_per_die=64 // planes)
        off["nand"]["planes_per_die"] = planes
        on = vary(off, {"nand.multi_plane": True})
        writes = timed("sequential", 4 * planes * dies, 2000 * dies, 0.0)
        rate = min(dies * planes / (PROGRAM + planes * TRANSFER), 1 / TRANSFER)
        single = min(dies / WRITE_US, 1 / TRANSFER)
        yield row(
            name=f"planes-{planes}" if dies == 1 else "planes-bus",
            title="Multi-plane programs multiply the write bandwidth until the bus is full",
            runs=compared(((off, writes), (on, writes))),
            quantity=f"write throughput on / off, {planes} planes, {dies} dies on a channel",
            measure=quotient(WRITE_RATE),
            expected=rate / single,
            tolerance=0.01,
            formula="min(D P p / (tPROG + P x), p / x), over the same with P = 1",
        )


def _independent() -> Iterator[Case]:
    """Planes that read by themselves multiply random reads, one after the other on the bus."""
    for planes in (2, 4, 8):
        off = bench(1, 1, blocks_per_die=128 // planes)
        off["nand"].update({"planes_per_die": planes, "multi_plane": True})
        on = vary(off, {"nand.independent_planes": True})
        reads = timed("random", 512, 200_000)
        yield row(
            name=f"independent-{planes}",
            title="Planes that read independently multiply random reads until the bus is full",
            runs=compared(((off, reads), (on, reads))),
            quantity=f"random read throughput on / off, {planes} planes",
            measure=quotient(READ_RATE),
            expected=min(planes / READ_US, 1 / TRANSFER) * READ_US,
            tolerance=0.01,
            formula="min(P / (tR + x), 1 / x) (tR + x)",
        )


def _dies() -> Iterator[Case]:
    """Dies sense side by side and share the bus."""
    reads = timed("sequential", 64, 4000)
    for dies, expected in ((4, 4.0), (16, READ_US / TRANSFER)):
        yield row(
            name=f"dies-{dies}",
            title="Dies on a channel sense side by side until the bus is full",
            runs=compared(((bench(1, 1), reads), (bench(1, dies), reads))),
            quantity=f"read throughput of {dies} dies / of one",
            measure=quotient(READ_RATE),
            expected=expected,
            tolerance=0.01,
            formula="min(D p / (tR + x), p / x) / (p / (tR + x))",
        )


def _cache_commands() -> Iterator[Case]:
    """A second register lets the bus work while the array does."""
    for name, read_pct, keys, path in (
        ("read", 100.0, {"t_read_us": 20.0}, READ_RATE),
        ("program", 0.0, {"t_program_us": 20.0}, WRITE_RATE),
    ):
        off = one_die(**keys)
        work = timed("sequential", 8, 3000, read_pct)
        yield row(
            name=f"cache-{name}",
            title="Cache commands hide the shorter of array time and transfer behind the longer",
            runs=compared(((off, work), (vary(off, {f"nand.cache_commands.{name}": True}), work))),
            quantity=f"{name} throughput on / off, array 20 us, transfer 10 us",
            measure=quotient(path),
            expected=(20.0 + TRANSFER) / max(20.0, TRANSFER),
            tolerance=0.005,
            formula="(t + x) / max(t, x)",
        )


def _wordlines() -> Iterator[Case]:
    """Program the three pages of a TLC wordline by themselves, at once, in two passes."""
    work = timed("sequential", 12, 3000, 0.0)
    pages = one_die()
    pages["nand"]["pages_per_block"] = 66
    at_once = vary(pages, {"nand.program": {"kind": "one_shot", "t_wordline_us": 1200.0}})
    passes = {"kind": "multi_pass", "passes_us": [500.0, 700.0]}
    in_passes = vary(pages, {"nand.program": passes})
    yield row(
        name="one-shot",
        title="A one-shot program writes the pages of a wordline in one tPROG",
        runs=compared(((pages, work), (at_once, work))),
        quantity="write throughput on / off, three pages in 1200 us",
        measure=quotient(WRITE_RATE),
        expected=3 * WRITE_US / (1200.0 + 3 * TRANSFER),
        tolerance=0.005,
        formula="3 (tPROG + x) / (t_wordline + 3 x)",
    )
    yield row(
        name="multi-pass",
        title="Programs in passes send the data anew for each pass",
        runs=compared(((at_once, work), (in_passes, work))),
        quantity="write throughput of passes of 500 and 700 us / of one shot of 1200 us",
        measure=quotient(WRITE_RATE),
        expected=(1200.0 + 3 * TRANSFER) / (1200.0 + 6 * TRANSFER),
        tolerance=0.005,
        formula="(t + 3 x) / (t + 2 * 3 x)",
    )


def _copyback() -> Iterator[Case]:
    """Moved pages stay in the die."""
    off = one_die()
    on = vary(off, {"ftl.copyback": {"limit": 255}})
    yield row(
        name="copyback",
        title="Copyback saves both transfers of every moved page",
        runs=compared(((off, steady_writes(20_000)), (on, steady_writes(20_000)))),
        quantity="time saved per moved page, us",
        measure=per_event_us("metrics.gc_pages_moved"),
        expected=2 * TRANSFER,
        tolerance=0.01,
        formula="2 x",
    )


def _page_times() -> Iterator[Case]:
    """Command cycles, and page types."""
    for name, read_pct, path in (("read", 100.0, READ), ("program", 0.0, WRITE)):
        off, work = one_die(), timed("sequential", 1, 2000, read_pct)
        yield row(
            name=f"command-{name}",
            title="Command and address cycles add their bus time to every operation",
            runs=compared(((off, work), (vary(off, {"nand.timing.command_us": 0.4}), work))),
            quantity=f"latency of a {name} on - off, us",
            measure=difference(f"{path}.mean"),
            expected=0.4,
            tolerance=0.001,
            formula="command_us",
        )
    mean = sum(PAGE_TYPES) / len(PAGE_TYPES)
    plain = one_die(t_read_us=mean)
    plain["nand"]["pages_per_block"] = 66
    typed = vary(plain, {"nand.timing.t_read_us": list(PAGE_TYPES)})
    reads = timed("random", 1, 30_000)
    runs = ((plain, reads), (typed, reads))
    yield row(
        name="page-types-mean",
        title="Page types move single reads, not their mean",
        runs=compared(runs),
        quantity="mean read latency on / off, tR 40, 60, 110 us against 70 us",
        measure=quotient(f"{READ}.mean"),
        expected=1.0,
        tolerance=0.005,
        formula="mean tR + x, for both",
    )
    yield row(
        name="page-types-tail",
        title="Page types move single reads, not their mean",
        runs=compared(runs),
        quantity="p99 of read latency on - off, us",
        measure=difference(f"{READ}.p99"),
        expected=PAGE_TYPES[2] - mean,
        tolerance=0.02,
        formula="slowest tR - mean tR",
    )
    slow = (300.0, 600.0, 1200.0)
    plain = one_die(t_program_us=sum(slow) / 3)
    plain["nand"]["pages_per_block"] = 66
    typed = vary(plain, {"nand.timing.t_program_us": list(slow)})
    writes = timed("sequential", 1, 3300, 0.0)
    yield row(
        name="page-types-program",
        title="The write rate follows the mean tPROG of the page types",
        runs=compared(((plain, writes), (typed, writes))),
        quantity="write throughput on / off, tPROG 300, 600, 1200 us against 700 us",
        measure=quotient(WRITE_RATE),
        expected=1.0,
        tolerance=0.001,
        formula="mean tPROG + x, for both",
    )


def _read_retry() -> Iterator[Case]:
    """At this error rate BCH (255, 223) fails to correct every twelfth page at once."""
    code = PageCode(page_bytes=4096, data_bits=223, parity_bits=32, correctable=4)
    steps = sum(code.failure(RETRY_RBER * RETRY_FACTOR**step) for step in range(5))
    bch = {"algorithm": "bch", "bch_m": 8, "bch_t": 4}
    off = vary(one_die(), {"nand.rber_floor": RETRY_RBER, "nand.rber_ceil": RETRY_RBER, "ecc": bch})
    retry = {"step_count_max": 5, "rber_factor": RETRY_FACTOR, "setup_us": 2.0}
    on = vary(off, {"controller.read_retry": retry})
    reads = timed("random", 1, 200_000)
    yield row(
        name="retry-latency",
        title="A page is sensed and transferred again for each step at which the code still fails",
        runs=compared(((off, reads), (on, reads))),
        quantity="mean read latency on - off, us",
        measure=difference(f"{READ}.mean"),
        expected=steps * (SENSE + 2.0 + TRANSFER),
        tolerance=0.04,
        formula="(tR + setup + x) sum over steps of P(page fails at rber * 0.6^k)",
        source="tail of the binomial distribution",
        sample="200 000 reads, 5 standard errors",
    )


def _variation() -> Iterator[Case]:
    """Blocks differ by a tenth of tR."""
    off = bench(1, 1, blocks_per_die=2048)
    off["nand"]["pages_per_block"] = 16
    on = vary(off, {"nand.variation.block_stddev": 0.1})
    reads = timed("random", 1, 60_000)

    def spread(documents: Sequence[Document]) -> float:
        off_us, on_us = (
            lookup(document, f"{READ}.p90") - lookup(document, f"{READ}.p50")
            for document in documents
        )
        return (on_us - off_us) / SENSE

    yield row(
        name="variation",
        title="Process variation spreads latencies like the times of blocks",
        runs=compared(((off, reads), (on, reads))),
        quantity="(p90 - p50) of read latency on - off, in tR; block_stddev 0.1",
        measure=spread,
        expected=1.2816 * 0.1,
        tolerance=0.1,
        formula="z(0.9) * 0.1",
        source="normal distribution",
        sample="a quantile of 1600 blocks, 4 standard errors",
    )


def _wear() -> Iterator[Case]:
    """Erases take longer on worn blocks."""
    rated = 100
    off = vary(one_die(), {"nand.max_pe_cycles": rated, "nand.wear_out": "ignore"})
    on = vary(off, {"nand.wear_timing": {"program_slope": 0.0, "erase_slope": 1.0}})
    work = timed("sequential", 1, 6400, 0.0)
    work["precondition"] = [{"kind": "sequential_fill", "fills": 125}]

    def erase_us(documents: Sequence[Document]) -> float:
        worn = lookup(documents[1], "metrics.wear.mean") / rated
        return -per_event_us("metrics.gc_cycles")(documents) / worn

    yield row(
        name="wear-erase",
        title="tBERS grows linearly with the cycles of a block",
        runs=compared(((off, work), (on, work))),
        quantity="time added to an erase at the rated cycles, us; slope 1",
        measure=erase_us,
        expected=ERASE,
        tolerance=0.02,
        formula="erase_slope * tBERS * cycles / rated cycles",
    )
