"""Time: queues, closed loops, one shared channel, striping, saturation.

Reads sense for 50 us on their die and transfer for 10 us unless a row says otherwise. Random reads
come as a Poisson stream (M/D/1) or with a fixed number outstanding (exact Markov chain); striped
runs are exact to the nanosecond; where a die count shares one channel, values without a closed
form were simulated separately. Little's law must hold in every closed loop.

Sources: those of `theory.queueing`, `theory.closed_loop` and `theory.bandwidth`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial

from opennandlab.studies.validation.case import Case, Document, Effort, Kind, Relation, Run, lookup
from opennandlab.studies.validation.devices import PAGE_BYTES, bench, poisson, timed
from opennandlab.theory.bandwidth import (
    TUTORIAL_DIES,
    FlashChannel,
    serial_read_ns,
    striped_program_ns,
    striped_read_ns,
)
from opennandlab.theory.closed_loop import SharedChannel, busy_dies
from opennandlab.theory.queueing import DeterministicQueue

SUITE = "timing"
SENSE_US, TRANSFER_US = 50.0, 10.0
SERVICE_US = SENSE_US + TRANSFER_US
LATENCY = "metrics.latency_us.read"
# Percentile key, probability, tolerance with a million requests.
PERCENTILES: tuple[tuple[str, float, float], ...] = (
    ("p50", 0.50, 0.01),
    ("p90", 0.90, 0.015),
    ("p99", 0.99, 0.03),
    ("p999", 0.999, 0.05),
)
MILLION = 1_000_000
_case = partial(Case, suite=SUITE)


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick (one seed, a load or depth of each kind), or everything with three seeds.

    Example:
        >>> any(case.kind is Kind.EXACT for case in cases(Effort.QUICK))
        True
    """
    if effort is Effort.QUICK:
        return [
            *_one_die(0.6),
            *_own_channels(8, 8),
            *_shared_channel((1, 2, 16)),
            *_striped(),
            *_saturated(50_000),
        ]
    return [
        *(case for load in (0.3, 0.6, 0.8, 0.9) for case in _one_die(load)),
        *_many_dies(0.6),
        *(case for depth in (1, 2, 8, 32) for case in _own_channels(8, depth)),
        *_own_channels(2, 5),
        *_own_channels(4, 16),
        *_shared_channel((1, 2, 4, 16)),
        *_shared_open_loop(),
        *_striped(),
        *_saturated(200_000),
    ]


def _one_die(load: float) -> Iterator[Case]:
    """Poisson reads on one die: M/D/1, at load 0.9 with doubled tolerances."""
    queue = DeterministicQueue(SERVICE_US, load)
    run = Run(bench(1, 1), timed("random", poisson(load / SERVICE_US * 1e6), 2 * MILLION))
    yield from _queue_rows(queue, run, "one-die", "One die, Poisson reads: response times of M/D/1")


def _many_dies(load: float) -> Iterator[Case]:
    """Eight dies with a channel each, reads on random dies: eight such queues."""
    queue = DeterministicQueue(SERVICE_US, load)
    run = Run(bench(8, 1), timed("random", poisson(8 * load / SERVICE_US * 1e6), 2 * MILLION))
    title = "Eight dies without a shared bus are eight M/D/1 queues"
    yield from _queue_rows(queue, run, "eight-dies", title)


def _queue_rows(queue: DeterministicQueue, run: Run, name: str, title: str) -> Iterator[Case]:
    doubled = 2.0 if queue.load > 0.85 else 1.0
    yield _case(
        name=f"{name}-load{queue.load:g}-mean",
        title=title,
        runs=(run,),
        quantity=f"{LATENCY}.mean",
        expected=queue.response_us_mean,
        tolerance=0.01 * doubled,
        formula="s + rho s / (2 (1 - rho))",
        source="Pollaczek-Khinchine; Kleinrock 1975",
    )
    for key, probability, tolerance in PERCENTILES:
        yield _case(
            name=f"{name}-load{queue.load:g}-{key}",
            title=title,
            runs=(run,),
            quantity=f"{LATENCY}.{key}",
            expected=partial(queue.response_us_quantile, probability),
            tolerance=tolerance * doubled,
            formula="P(W<=t) = (1-rho) sum (-lambda (t-ks))^k / k! exp(lambda (t-ks)), inverted",
            source="Erlang 1909",
            sample=_beyond(probability),
        )


def _beyond(probability: float) -> str:
    """Return the sample of a quantile: what is beyond it, in bursts of a queue."""
    reads = 2 * MILLION
    return f"{round((1.0 - probability) * reads)} of {reads} reads lie beyond, in bursts"


def _own_channels(dies: int, depth: int) -> Iterator[Case]:
    """Keep a fixed number outstanding on dies with a channel each: the exact chain."""
    run = Run(bench(dies, 1), timed("random", depth, MILLION))
    busy = cache(partial(busy_dies, dies, depth))
    tolerance = 0.001 if depth == 1 else 0.01
    title = "Closed loop on dies with a channel each: throughput and latency of the exact chain"
    name = f"closed-D{dies}-q{depth}"
    yield _case(
        name=f"{name}-iops",
        title=title,
        runs=(run,),
        quantity="metrics.iops.read",
        expected=lambda: busy() / SERVICE_US * 1e6,
        tolerance=tolerance,
        formula="B / s, B mean busy dies of the chain on sorted queue lengths",
        source="exact Markov chain, our derivation",
    )
    yield _case(
        name=f"{name}-latency",
        title=title,
        runs=(run,),
        quantity=f"{LATENCY}.mean",
        expected=lambda: depth * SERVICE_US / busy(),
        tolerance=tolerance,
        formula="q s / B",
        source="exact Markov chain, our derivation",
    )
    yield _little(name, run, depth)


def _shared_channel(depths: tuple[int, ...]) -> Iterator[Case]:
    """Eight dies on one channel: exact for one and two outstanding, simulated for more."""
    channel = SharedChannel(8, SENSE_US, TRANSFER_US)
    simulated = {4: 51.66, 16: 93.65}
    title = "Closed loop on eight dies that share one channel"
    for depth in depths:
        run = Run(bench(1, 8), timed("random", depth, MILLION))
        is_exact = depth in {1, 2}
        yield replace(
            _case(
                name=f"shared-q{depth}-iops",
                title=title,
                runs=(run,),
                quantity="metrics.iops.read",
                expected=partial(_kiops_as_iops, channel, depth)
                if is_exact
                else simulated[depth] * 1e3,
                tolerance=0.001 if depth == 1 else 0.01,
                formula="1 / (p (tR+x) + x (1-p)/(2-p) + tR (1-p)^2/(2-p)), p = 1/D"
                if depth == 2
                else "1 / (tR + x)"
                if depth == 1
                else "none; simulated separately",
                source="renewal argument" if is_exact else "independent simulation",
            ),
            kind=Kind.FORMULA if is_exact else Kind.REFERENCE,
        )
        yield _little(f"shared-q{depth}", run, depth)
    yield replace(
        _case(
            name="shared-limit",
            title=title,
            runs=(Run(bench(1, 8), timed("random", 256, MILLION)),),
            quantity="metrics.iops.read",
            expected=channel.kiops_limit * 1e3,
            tolerance=1e-6,
            formula="throughput <= min(1/x, D / (tR+x))",
            source="flow limit",
        ),
        kind=Kind.ORDER,
        relation=Relation.AT_MOST,
    )


def _shared_open_loop() -> Iterator[Case]:
    """Load the same eight dies with Poisson arrivals; values simulated separately."""
    for kiops, mean, p99 in ((50, 83.45, 219.0), (80, 130.0, 434.0)):
        run = Run(bench(1, 8), timed("random", poisson(kiops * 1e3), 2 * MILLION))
        for key, value, tolerance, sample in (
            ("mean", mean, 0.01, ""),
            ("p99", p99, 0.03, _beyond(0.99)),
        ):
            case = _case(
                name=f"shared-open-{kiops}k-{key}",
                title="Poisson reads on eight dies that share one channel",
                runs=(run,),
                quantity=f"{LATENCY}.{key}",
                expected=value,
                tolerance=tolerance,
                formula="none; simulated separately",
                source="independent simulation",
                sample=sample,
            )
            yield case if sample else replace(case, kind=Kind.REFERENCE)


def _striped() -> Iterator[Case]:
    """All pages asked for at once: the makespan is known to the nanosecond."""
    sense, program, transfer = 50_000, 600_000, 10_000
    pages = 240
    shapes: tuple[tuple[str, int, int, float, Callable[[], int], str], ...] = (
        (
            "read-D4",
            4,
            pages,
            100.0,
            partial(striped_read_ns, pages, 4, sense, transfer),
            "k (tR+x) + (D-1) x",
        ),
        (
            "read-D8",
            8,
            pages,
            100.0,
            partial(striped_read_ns, pages, 8, sense, transfer),
            "tR + n x",
        ),
        (
            "program-D8",
            8,
            pages,
            0.0,
            partial(striped_program_ns, pages, 8, program, transfer),
            "k (x+tPROG) + (D-1) x",
        ),
        (
            "program-D80",
            80,
            pages,
            0.0,
            partial(striped_program_ns, pages, 80, program, transfer),
            "n x + tPROG",
        ),
        (
            "serial-read",
            4,
            1,
            100.0,
            partial(serial_read_ns, pages, sense, transfer),
            "n (tR+x) at queue depth 1",
        ),
    )
    for name, dies, depth, read_pct, expected, formula in shapes:
        yield Case(
            suite=SUITE,
            name=f"striped-{name}",
            title="Striped over the dies of one channel, all issued at once: exact to the"
            " nanosecond",
            source="flow of pages over a shared bus",
            runs=(Run(bench(1, dies), timed("sequential", depth, pages, read_pct)),),
            quantity="metrics.duration_s, in whole ns",
            measure=_duration_ns,
            expected=partial(_as_float, expected),
            tolerance=0.0,
            kind=Kind.EXACT,
            formula=formula,
            seeds=(1,),
        )


def _saturated(ios: int) -> Iterator[Case]:
    """Give always enough work: array and bus decide the rate."""
    page = 16384
    wide = {"t_read_us": 50.0, "t_program_us": 600.0, "bus_mt_s": 1200.0}
    channel = FlashChannel(page, 1200.0, 4, sense_us=50.0, program_us=600.0)
    slow = FlashChannel(page, 400.0, 4, sense_us=50.0)
    rows = (
        ("read-array", wide, 100.0, channel.read_mb_s(), "D p / (tR + x)"),
        ("read-bus", {**wide, "bus_mt_s": 400.0}, 100.0, slow.read_mb_s(), "p / x"),
        ("program", wide, 0.0, channel.program_mb_s(), "D p / (tPROG + x)"),
    )
    for name, timing, read_pct, expected, formula in rows:
        blocks = -(-2 * ios // (4 * 64))
        workload = timed("sequential", 64, ios, read_pct, page)
        yield _case(
            name=f"saturated-{name}",
            title="Saturated channel: four dies, pages of 16 KiB",
            runs=(Run(bench(1, 4, page, timing, blocks), workload),),
            quantity=f"metrics.throughput_mb_s.{'read' if read_pct else 'write'}",
            expected=expected,
            tolerance=0.005,
            formula=formula,
            source="flow of pages over a shared bus",
        )
    for cell in ("slc", "mlc"):
        yield from _tutorial(cell)


def _tutorial(cell: str) -> Iterator[Case]:
    """Fill and read one die of the tutorial."""
    die = replace(TUTORIAL_DIES[cell], page_bytes=PAGE_BYTES, bus_mb_s=409.6)
    times = {"t_read_us": die.sense_us, "t_program_us": die.program_us, "t_erase_us": die.erase_us}
    for name, read_pct, expected, formula in (
        ("read", 100.0, die.mb_s(1.0), "p / (tR + x)"),
        ("write", 0.0, die.mb_s(0.0), "p / (x + tPROG + tBERS / b)"),
    ):
        workload = timed("sequential", 1, 20_000, read_pct)
        workload["precondition"] = [{"kind": "sequential_fill", "fills": 2}]
        yield _case(
            name=f"tutorial-{cell}-{name}",
            title=f"One {cell.upper()} die of the 2009 SNIA tutorial, 4096 B pages in 10 us",
            runs=(Run(bench(1, 1, timing=times), workload),),
            quantity=f"metrics.throughput_mb_s.{name}",
            expected=expected,
            tolerance=0.005,
            formula=formula,
            source="SNIA tutorial 2009",
        )


def _little(name: str, run: Run, depth: int) -> Case:
    def measure(documents: Sequence[Document]) -> float:
        rate = lookup(documents[0], "metrics.iops.read")
        return rate * lookup(documents[0], f"{LATENCY}.mean") * 1e-6 / depth

    return Case(
        suite=SUITE,
        name=f"{name}-little",
        title="Little's law: throughput x mean latency = requests outstanding",
        source="Little 1961",
        runs=(run,),
        quantity=f"metrics.iops.read x {LATENCY}.mean / q",
        measure=measure,
        expected=1.0,
        tolerance=1e-3,
        formula="1",
    )


def _duration_ns(documents: Sequence[Document]) -> float:
    return float(round(lookup(documents[0], "metrics.duration_s") * 1e9))


def _kiops_as_iops(channel: SharedChannel, depth: int) -> float:
    return channel.kiops(depth) * 1e3


def _as_float(function: Callable[[], int]) -> float:
    return float(function())
