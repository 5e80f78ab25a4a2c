"""Eight numbers of a drive in a minute: large and small requests, deep and shallow, both ways.

    SEQ1M Q8T1   sequential, 1 MiB, 8 outstanding     what a data sheet calls throughput
    SEQ1M Q1T1   the same, 1 outstanding              a large copy
    RND4K Q32T1  random, 4 KiB, 32 outstanding        what a data sheet calls IOPS
    RND4K Q1T1   the same, 1 outstanding              how long one small request takes

The names and cells are those that popular disk benchmarks agree on. All requests go to one range at
the start of the target, which is written first unless all of it was, so that reads find data. Reads
come before writes, and small writes before large ones.
A cell is run several times; a run ends when it has moved as many bytes as the range has, or at a
limit of time. Such a short test shows caches and the state that the drive is in: no steady state is
waited for unless it is asked for (`Prepare`), and an unknown state is reported as unknown.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from opennandlab.base.errors import ConfigError
from opennandlab.stats.steady import steady_state
from opennandlab.targets.base import (
    ActiveRange,
    Limit,
    Measurement,
    Pattern,
    Step,
    Stimulus,
    Target,
    TargetError,
    Watcher,
)

Prepare = Literal["none", "fill", "steady"]
Op = Literal["read", "write"]

MIB = 1 << 20
# The range holds the requests of the deepest sequential cell.
SIZE_MIN = 8 * MIB
# A round of the way to steady state overwrites this share of the drive.
ROUND_SHARE = 0.5
ROUNDS_MAX = 25
ROUND_IOS = 20_000
# Requests of preconditioning, as in the standard tests.
FILL_BYTES = 128 << 10


@dataclass(frozen=True)
class Cell:
    """A row of the test.

    Args:
        name: As it is shown.
        pattern: Sequential or random.
        block_bytes: Size of its requests.
        queue_depth: Requests outstanding, of one thread.
    """

    name: str
    pattern: Pattern
    block_bytes: int
    queue_depth: int

    def stimulus(self, op: Op, share: float) -> Stimulus:
        """Return its requests, in a part of the target from the start."""
        return Stimulus(
            self.pattern,
            read_pct=100.0 if op == "read" else 0.0,
            block_bytes=self.block_bytes,
            queue_depth=self.queue_depth,
            active_range=ActiveRange(share=share),
        )


CELLS = (
    Cell("SEQ1M Q8T1", "sequential", MIB, 8),
    Cell("SEQ1M Q1T1", "sequential", MIB, 1),
    Cell("RND4K Q32T1", "random", 4096, 32),
    Cell("RND4K Q1T1", "random", 4096, 1),
)
OPS: tuple[Op, ...] = ("read", "write")


@dataclass(frozen=True)
class Settings:
    """How the test is run.

    Args:
        size_bytes: The range; None for 1 GiB, or the whole of a smaller target.
        runs: Runs of each cell.
        seconds: Maximum time of a run, seconds.
        prepare: Treatment of the whole target before: none; it is filled; it is filled and
            written at random until the five-point rule of the standard tests holds.
        seed: Decides the addresses.
    """

    size_bytes: int | None = None
    runs: int = 5
    seconds: float = 5.0
    prepare: Prepare = "none"
    seed: int = 42

    def range_bytes(self, capacity_bytes: int) -> int:
        """Return the range in whole MiB.

        Raises:
            ConfigError: when the target is too small for it.
        """
        room = capacity_bytes // MIB * MIB
        wanted = min(1 << 30, room) if self.size_bytes is None else self.size_bytes
        if wanted % MIB or not SIZE_MIN <= wanted <= room:
            raise ConfigError(
                "size",
                f"`{wanted}` bytes; accepted: whole MiB, from {SIZE_MIN} to {room} bytes, which "
                "is what the target has",
            )
        return wanted


@dataclass(frozen=True)
class State:
    """The drive's state before the test, as far as it is known.

    Args:
        name: `fresh`, `filled`, `steady` or `unknown`.
        why: How that is known, or why it is not.
    """

    name: str
    why: str


@dataclass
class Row:
    """The measurements of a cell in one direction.

    Args:
        cell: The cell.
        op: Whether it reads or writes.
        runs: One measurement each.
    """

    cell: Cell
    op: Op
    runs: list[Measurement] = field(default_factory=list)

    @property
    def ranked(self) -> list[Measurement]:
        """The runs from the slowest to the fastest."""
        return sorted(self.runs, key=lambda run: run.mb_s)

    def best(self, key: Callable[[Measurement], float]) -> float:
        """Return a figure of the fastest run."""
        return key(self.ranked[-1])

    def median(self, key: Callable[[Measurement], float]) -> float:
        """Return the median of a figure."""
        return statistics.median(key(run) for run in self.runs)


@dataclass
class Quick:
    """The result, as far as the test got.

    Args:
        range_bytes: Part of the target in use, from its start.
        state: State of the drive before the test.
        rows: Those that have at least one run.
        is_cut: Whether it was interrupted.
        written_bytes: By the test, all in all.
    """

    range_bytes: int
    state: State
    rows: list[Row] = field(default_factory=list)
    is_cut: bool = False
    written_bytes: int = 0


@dataclass(frozen=True)
class Stage:
    """How far the test is.

    Args:
        text: The step.
        fraction: Share of the whole test, 0 to 1; None while the drive is prepared.
    """

    text: str
    fraction: float | None


Watch = Callable[[Stage], None]


@dataclass(frozen=True)
class Plan:
    """What a test would do.

    Args:
        range_bytes: Part of the target in use.
        prepare_bytes: Written to prepare the target, at most.
        write_bytes_max: Written in the range, at most.
        seconds_max: Time of all runs at most, without the preparation.
    """

    range_bytes: int
    prepare_bytes: int
    write_bytes_max: int
    seconds_max: float


def make_plan(settings: Settings, capacity_bytes: int) -> Plan:
    """Return what a test would do to a target of some size.

    Raises:
        ConfigError: when the range does not fit.
    """
    size = settings.range_bytes(capacity_bytes)
    capacities = {"none": 0.0, "fill": 1.0, "steady": 1.0 + ROUNDS_MAX * ROUND_SHARE}
    runs = settings.runs * len(CELLS)
    return Plan(
        range_bytes=size,
        prepare_bytes=round(capacities[settings.prepare] * capacity_bytes),
        write_bytes_max=size * (runs + (settings.prepare == "none")),
        seconds_max=settings.seconds * runs * len(OPS),
    )


def run_quick(target: Target, settings: Settings, watch: Watch | None = None) -> Quick:
    """Run the test; after Ctrl-C, return the runs until then.

    Raises:
        ConfigError: when the range does not fit, or the target cannot take these requests.
        TargetError: when the target fails.
    """
    size = settings.range_bytes(target.capacity_bytes)
    # Half a byte more: a share of the capacity is a binary fraction that is cut to bytes.
    share = min((size + 0.5) / target.capacity_bytes, 1.0)
    for cell in CELLS:
        for op in OPS:
            target.check(cell.stimulus(op, share))
    found = Quick(size, State("unknown", "the test was interrupted before it began"))
    tell = watch or _nobody
    try:
        found.state = _prepared(target, settings, found, tell)
        if settings.prepare == "none":
            tell(Stage("writing the range", 0.0))
            fill = Stimulus(
                "sequential",
                block_bytes=MIB,
                queue_depth=8,
                active_range=ActiveRange(share=share),
            )
            _run(target, fill, Limit(bytes=size), settings.seed, found, is_measured=False)
        _measure(target, settings, share, found, tell)
    except KeyboardInterrupt:
        found.is_cut = True
    return found


def _measure(target: Target, settings: Settings, share: float, found: Quick, tell: Watch) -> None:
    count = len(OPS) * len(CELLS) * settings.runs
    done = 0
    for op in OPS:
        # Large writes tidy a drive up: they do not leave the state that was found.
        for cell in CELLS if op == "read" else reversed(CELLS):
            row = Row(cell, op)
            for number in range(settings.runs):
                text = f"{cell.name} {op}, run {number + 1} of {settings.runs}"
                stimulus = cell.stimulus(op, share)
                limit = Limit(bytes=found.range_bytes, seconds_max=settings.seconds)
                watch = _watcher(text, done, count, tell)
                seed = settings.seed + done
                row.runs.append(_run(target, stimulus, limit, seed, found, watch=watch))
                if number == 0:
                    found.rows.append(row)
                    found.rows.sort(key=lambda row: (OPS.index(row.op), CELLS.index(row.cell)))
                done += 1


def _watcher(text: str, done: int, count: int, tell: Watch) -> Watcher:
    def watch(step: Step) -> None:
        tell(Stage(text, (done + (step.fraction or 0.0)) / count))

    return watch


def _run(  # noqa: PLR0913 (of the target's own)
    target: Target,
    stimulus: Stimulus,
    limit: Limit,
    seed: int,
    found: Quick,
    *,
    is_measured: bool = True,
    watch: Watcher | None = None,
) -> Measurement:
    seed %= 1 << 64
    measured = target.run(stimulus, limit, seed=seed, is_measured=is_measured, watch=watch)
    found.written_bytes += measured.written_bytes
    return measured


def _prepared(target: Target, settings: Settings, found: Quick, tell: Watch) -> State:
    """Prepare the whole target, and return its state."""
    if settings.prepare == "none":
        return known_state(target)
    fill = Stimulus("sequential", block_bytes=FILL_BYTES, queue_depth=32)
    limit = Limit(bytes=target.capacity_bytes)
    watch = _preparing("filling the target", tell)
    _run(target, fill, limit, settings.seed, found, is_measured=False, watch=watch)
    if settings.prepare == "fill":
        return State("filled", "written once from end to end, by this test")
    write = Stimulus("random", queue_depth=32)
    rates: list[float] = []
    for number in range(ROUNDS_MAX):
        watch = _preparing(f"on the way to steady state, round {number + 1}", tell)
        bulk = Limit(bytes=round(target.capacity_bytes * ROUND_SHARE))
        seed = settings.seed + number
        if target.is_virtual:
            _run(target, write, bulk, seed, found, is_measured=False, watch=watch)
            bulk = Limit(ios=ROUND_IOS)
        rates.append(_run(target, write, bulk, seed, found, watch=watch).iops)
        if steady_state(rates).steady:
            return State(
                "steady", f"filled, then random 4 KiB writes, steady after {number + 1} rounds"
            )
    raise TargetError(f"{target.name}: not steady after {ROUNDS_MAX} rounds of random writes")


def _preparing(text: str, tell: Watch) -> Watcher:
    def watch(step: Step) -> None:
        share = "" if step.fraction is None else f", {step.fraction:.0%}"
        tell(Stage(f"{text}{share}", None))

    return watch


def known_state(target: Target) -> State:
    """Return the state of a target that was opened just now, as far as it is known."""
    if target.kind == "sim":
        return State("fresh", "nothing was written before this test")
    imprint = target.imprint()
    if imprint is None:
        return State("unknown", "this kind of target does not tell")
    share = f"{imprint.written_share:.0%} of 128 places hold data"
    return State("unknown", f"{share}; how they were written is not known")


def _nobody(_stage: Stage) -> None:
    """Watch nothing."""
