"""Who goes first on a die: order of service, priorities, suspension, collection next to the host.

Most rows put Poisson reads so thin that they never meet next to a writer that never pauses, on one
die. Then a read finds the die in a random moment of its round, and its wait is the residual of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opennandlab.studies.validation.case import Case, Document, Kind, Relation, lookup, quotient
from opennandlab.studies.validation.devices import bench, poisson, timed
from opennandlab.studies.validation.suites.ablation.row import (
    ERASE,
    PROGRAM,
    READ,
    READ_RATE,
    READ_US,
    SENSE,
    TRANSFER,
    WRITE,
    WRITE_US,
    Device,
    Workload,
    compared,
    mixed,
    one_die,
    row,
    steady_writes,
    vary,
)
from opennandlab.theory.closed_loop import busy_dies

SUSPEND, RESUME = 20.0, 20.0
# Reads per second: too few to meet each other.
THIN = 40.0
DEPTH = 8
STARVATION = 10_000.0


def cases() -> list[Case]:
    """Return the rows of the scheduler.

    Example:
        >>> {"in-order", "suspend-mean", "steps-p999"} <= {case.name for case in cases()}
        True
    """
    return [*_order(), *_priority(), *_suspend(), *_steps(), *_idle()]


def _order() -> Iterator[Case]:
    """One queue for all dies, against one for each."""
    dies, depth = 8, 32
    free = bench(dies, 1)
    reads = timed("random", depth, 60_000)
    yield row(
        name="in-order",
        title="In one queue for all dies, a busy die holds up the others",
        runs=compared(((vary(free, {"controller.scheduler": "in_order"}), reads), (free, reads))),
        quantity=f"read throughput out of order / in order, {dies} dies, depth {depth}",
        measure=quotient(READ_RATE),
        expected=lambda: busy_dies(dies, depth) / strict_busy_dies(dies),
        tolerance=0.02,
        formula="B(D, q) / Q(D), Q(D) = sum over k of D! / ((D - k)! D^k)",
        source="exact Markov chain; birthday problem",
    )


def strict_busy_dies(dies: int) -> float:
    """Return the mean number of busy dies when one queue serves all of them in order.

    With a fixed service time, operations start in groups: draws of a die until one repeats, which
    must wait for the end of the service and then begins the next group.

    Args:
        dies: dies with a channel each, drawn with equal chance.

    Returns:
        Q(D), the mean number of draws before the first repeat.

    Example:
        >>> strict_busy_dies(2)
        1.5
    """
    mean, chance = 0.0, 1.0
    for drawn in range(dies):
        mean += chance
        chance *= 1.0 - (drawn + 1) / dies
    return mean


def _rounds(keys: dict[str, object] | None = None, erase_us: float = 1.0) -> Device:
    """Return a die with the priority scheduler and an erase time."""
    return vary(one_die(t_erase_us=erase_us), {"controller.scheduler": "priority", **(keys or {})})


def _thin_reads(seconds: float) -> Workload:
    return mixed({"queue_depth": poisson(THIN)}, {"queue_depth": DEPTH}, seconds)


def _priority() -> Iterator[Case]:
    """Reads before writes, and how long writes let that happen."""
    off = one_die(t_erase_us=1)
    runs = (
        (off, _thin_reads(100.0)),
        (
            _rounds({"controller.scheduler": {"kind": "priority", "write_starvation_us": 1e6}}),
            _thin_reads(100.0),
        ),
    )
    yield row(
        name="priority-read",
        title="With priorities a read waits for the operation under way, not for all that came"
        " before",
        runs=compared(runs),
        quantity=f"mean read latency on / off, {DEPTH} writes outstanding",
        measure=quotient(f"{READ}.mean"),
        expected=(WRITE_US / 2 + READ_US) / ((DEPTH - 1) * WRITE_US + WRITE_US / 2 + READ_US),
        tolerance=0.02,
        formula="(s/2 + r) / ((q - 1) s + s/2 + r), s = tPROG + x, r = tR + x",
        source="residual of a fixed service time",
    )
    crowd = mixed({"queue_depth": 16}, {"queue_depth": 1}, 20.0)
    bound = _rounds(
        {"controller.scheduler": {"kind": "priority", "write_starvation_us": STARVATION}}
    )
    yield row(
        name="priority-write",
        title="What reads win, writes lose: a write waits for its bound when reads never end",
        runs=compared(((off, crowd), (bound, crowd))),
        quantity="mean write latency on, us; 16 reads outstanding",
        measure=lambda documents: lookup(documents[1], f"{WRITE}.mean"),
        expected=STARVATION + READ_US / 2 + WRITE_US,
        tolerance=0.01,
        formula="write_starvation + r/2 + tPROG + x",
    )


def _suspend() -> Iterator[Case]:
    """Interrupt programs and erases for reads."""
    off = _rounds()
    on = vary(off, {"controller.suspend": {"suspend_us": SUSPEND, "resume_us": RESUME}})
    reads = _thin_reads(400.0)
    wait = SUSPEND + RESUME
    moments = (
        (PROGRAM - wait, SUSPEND),
        (wait, wait / 2),
        (TRANSFER, TRANSFER / 2 + SUSPEND),
    )
    mean = sum(share * time for share, time in moments) / WRITE_US
    yield row(
        name="suspend-mean",
        title="A read that may suspend waits for the suspension instead of tPROG",
        runs=compared(((off, reads), (on, reads))),
        quantity="mean read latency on / off, writes without end",
        measure=quotient(f"{READ}.mean"),
        expected=(mean + READ_US) / (WRITE_US / 2 + READ_US),
        tolerance=0.02,
        formula="((tPROG - w) s + w w/2 + x (x/2 + s)) / (tPROG + x) + r, over (tPROG + x)/2 + r;"
        " s = suspend, w = suspend + resume",
    )
    yield row(
        name="suspend-p999",
        title="A read that may suspend waits for the suspension instead of tPROG",
        runs=compared(((off, reads), (on, reads))),
        quantity="p99.9 of read latency on / off",
        measure=quotient(f"{READ}.p999"),
        expected=(wait + 2 * READ_US) / (0.998 * WRITE_US + READ_US),
        tolerance=0.0,
        formula="at most (w + 2 r) / (0.998 (tPROG + x) + r): two reads seldom meet",
        kind=Kind.ORDER,
        relation=Relation.AT_MOST,
    )
    programs = _rounds({"controller.suspend": {"erase": False}}, ERASE)
    both = _rounds({"controller.suspend": {}}, ERASE)
    yield row(
        name="suspend-erase",
        title="Suspending erases takes tBERS out of the tail",
        runs=compared(((programs, reads), (both, reads))),
        quantity="p99.9 of read latency, erases suspended too / programs only",
        measure=quotient(f"{READ}.p999"),
        expected=(wait + 2 * READ_US) / (0.95 * ERASE),
        tolerance=0.0,
        formula="at most (w + 2 r) / (0.95 tBERS): an erase is under way 8 % of the time",
        kind=Kind.ORDER,
        relation=Relation.AT_MOST,
    )


def stepped(keys: dict[str, object] | None = None) -> Device:
    """Return a die that collects in steps of one page.

    Args:
        keys: dotted path and value of keys that differ.

    Example:
        >>> stepped()["ftl"]["collection"]["step_pages"]
        1
    """
    return vary(
        one_die(),
        {
            "ftl.write_frontiers": "host_gc",
            "ftl.gc_reserve_blocks": 2,
            "controller.scheduler": "priority",
            "ftl.collection": {"kind": "steps", "step_pages": 1},
            **(keys or {}),
        },
    )


def _steps() -> Iterator[Case]:
    """Collect a page at a time between the writes of the host."""
    on = stepped()
    off = vary(on, {"ftl.collection": "whole"})
    writes = steady_writes(30_000, poisson(150.0))

    def live(documents: Sequence[Document]) -> float:
        """Return the latency in whole collections of the run without steps."""
        off, on = documents
        moved = lookup(off, "metrics.gc_pages_moved") / lookup(off, "metrics.gc_cycles")
        collection = moved * (SENSE + 2 * TRANSFER + PROGRAM) + ERASE
        return lookup(on, f"{WRITE}.p999") / collection

    yield row(
        name="steps-p999",
        title="Collection in steps lets writes pass between its pages",
        runs=compared(((off, writes), (on, writes))),
        quantity="p99.9 of write latency on, in mean collections of the run without",
        measure=live,
        expected=0.5,
        tolerance=0.0,
        formula="at most half a collection: tBERS, a step and the writes that meet",
        kind=Kind.ORDER,
        relation=Relation.AT_MOST,
    )


def _idle() -> Iterator[Case]:
    """Pauses are used to erase ahead."""
    off = stepped()
    on = vary(off, {"ftl.idle_collection": {"after_us": 1000, "spare_blocks_goal": 8}})
    # Eight blocks of 64 pages: a burst of four fits them and leaves what starts no step. Nothing
    # was collected ahead of the first one.
    burst = 4 * 64
    first, bursts = (steady_writes(ios, 1) for ios in (burst, 40 * burst))
    for workload in (first, bursts):
        workload["idle"] = {"busy": {"ios": burst}, "idle_ms": 2000}

    def later(documents: Sequence[Document]) -> float:
        sums = [
            lookup(document, f"{WRITE}.mean") * lookup(document, "metrics.host_pages.written")
            for document in documents
        ]
        return (sums[1] - sums[0]) / (39 * burst)

    yield row(
        name="idle-burst",
        title="After a pause the drive writes as fast as an empty one, if it collects while idle",
        runs=compared(((on, first), (on, bursts))),
        quantity="mean write latency on, us; bursts of 256 writes but the first",
        measure=later,
        expected=WRITE_US,
        tolerance=0.01,
        formula="tPROG + x",
    )
    yield row(
        name="idle-cost",
        title="After a pause the drive writes as fast as an empty one, if it collects while idle",
        runs=compared(((off, bursts), (on, bursts))),
        quantity="mean write latency off / on",
        measure=quotient(f"{WRITE}.mean", inverse=True),
        expected=1.5,
        tolerance=0.0,
        formula="at least 1.5: every written page moves more than one other (WAF above 2)",
        kind=Kind.ORDER,
        relation=Relation.AT_LEAST,
    )
