"""Rounds of cells until the steady state, and what counts of them.

A round runs every cell once. After the fifth and each later round the five-point rule is applied to
all tracked values; the first round at which it holds for all of them at once is x, and the
*measurement window* is rounds x-4 to x. After the last allowed round the window is its last five,
and the document states that the steady state was not attained. Rounds before the window were
preconditioning, and stay in the record: which rounds count is decided afterwards.

A drive that has spare area left answers as fast in every round, and so is steady by the rule, long
before it is what it will be. So each tracked value also says whether the drive *collected* in every
round of the window: the value is that of a steady drive only where it did, or where there is
nothing to collect.

The reported value of a cell is the mean over the five rounds of the window. Its percentiles are
those of all requests in the window together, its maximum is the largest of the window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TypeVar

from opennandlab.documents import pts
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.record import Cell
from opennandlab.pts.bench.time_base import MINUTE_S
from opennandlab.pts.bench.words import name
from opennandlab.stats.histogram import Histogram
from opennandlab.stats.steady import WINDOW_ROUNDS, SteadyState, steady_state
from opennandlab.targets.base import Limit, Stimulus

Key = TypeVar("Key")


@dataclass(frozen=True)
class CellPlan:
    """One cell of a round.

    Args:
        stimulus: What to do.
        limit: For how long.
        label: Its name in tables.
    """

    stimulus: Stimulus
    limit: Limit
    label: str


@dataclass(frozen=True)
class Tracking:
    """A value that must be steady.

    Args:
        metric: Column of the cells, such as `iops`.
        index: Place of the cell in the round, from 0.
        plan: That cell.
    """

    metric: str
    index: int
    plan: CellPlan

    def record(self) -> pts.Tracking:
        """Return the record of the document."""
        block = self.plan.stimulus.block_bytes
        return pts.Tracking(
            metric=self.metric,
            rw_pct=self.plan.stimulus.read_pct,
            block_bytes=block if isinstance(block, int) else None,
            label=self.plan.label,
        )


@dataclass(frozen=True)
class Collected:
    """What collections did in a round.

    Args:
        blocks: Blocks that every pool of the drive has reclaimed at least; under random requests
            those alone from which data had to be moved. None where the target does not tell.
        erases: Blocks that all pools have reclaimed, dead ones among them.
    """

    blocks: int | None
    erases: int

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> Collected:
        """Return the sums over cells."""
        inside = [cell.measurement.inside for cell in cells]
        found = [one.get("reclaims") for one in inside]
        known = [int(one) for one in found if one is not None]
        erases = sum(int(one.get("collections") or 0) for one in inside)
        return cls(sum(known) if known and len(known) == len(found) else None, erases)


@dataclass
class Rounds:
    """Rounds that were run, and what the rule says of them.

    Args:
        tracked: What must be steady.
        rounds_max: Rounds after which the search ends.
        group: Part of the test with a purge of its own; empty for the only one.
        is_range_small: Whether all that the test may write fits into the spare area of the drive,
            so that blocks are dead by the time they are collected.
        cells: Cells by round, in their order.
        verdicts: The rule after the last round, one per tracked value.
        collected: What collections did in each round.
        is_longer: Whether rounds went on after the rule held, until the drive collected.
        may_lose: Whether rounds count in which reads gave no data.
        lost: Whether reads of a round did, by round.
    """

    tracked: Sequence[Tracking]
    rounds_max: int
    group: str = ""
    is_range_small: bool = False
    cells: list[list[Cell]] = field(default_factory=list)
    verdicts: list[SteadyState] = field(default_factory=list)
    collected: list[Collected] = field(default_factory=list)
    is_longer: bool = False
    may_lose: bool = False
    lost: list[bool] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Rounds that were run."""
        return len(self.cells)

    @property
    def attained(self) -> bool:
        """Whether every tracked value is steady in the last five rounds."""
        return bool(self.verdicts) and all(verdict.steady for verdict in self.verdicts)

    @property
    def window(self) -> list[int]:
        """Numbers of the last five rounds, fewer if there are fewer."""
        return list(range(max(1, self.count - WINDOW_ROUNDS + 1), self.count + 1))

    def add(self, cells: list[Cell], all_cells: Sequence[Cell]) -> None:
        """Take a round, its cells that may be tracked and all of them, and apply the rule."""
        self.cells.append(cells)
        self.collected.append(Collected.of(all_cells))
        self.lost.append(any(cell.lost_pages for cell in all_cells))
        self.verdicts = [self.judged(tracking) for tracking in self.tracked]

    def values(self, tracking: Tracking) -> list[float]:
        """Return a tracked value, round by round; NaN where it was not measured."""
        found = (cells[tracking.index].value(tracking.metric) for cells in self.cells)
        return [math.nan if value is None else value for value in found]

    def judged(self, tracking: Tracking) -> SteadyState:
        """Apply the rule to a tracked value.

        A cell of fewer requests than were outstanding has measured how its queue fills: to the rule
        it is one that was not measured. A window with reads that gave no data is not steady.
        """
        shorts = (cells[tracking.index].is_short for cells in self.cells)
        verdict = steady_state(
            [
                math.nan if is_short else value
                for value, is_short in zip(self.values(tracking), shorts, strict=True)
            ]
        )
        if verdict.steady and not self.may_lose and any(self.lost[-WINDOW_ROUNDS:]):
            return replace(verdict, steady=False, reason="lost reads")
        return verdict

    def collection(self, tracking: Tracking) -> pts.Collection:
        """Return whether the drive collected in every round of the window."""
        if tracking.plan.stimulus.read_pct >= 100:
            return "not_applicable"
        window = self.collected[-WINDOW_ROUNDS:]
        if any(one.blocks is None for one in window):
            return "unknown"
        if all(one.blocks for one in window):
            return "seen"
        if self.is_range_small and all(one.erases for one in window):
            return "not_applicable"
        return "none"

    @property
    def is_without_collection(self) -> bool:
        """Whether a tracked value has a window in which the drive did not collect."""
        return any(self.collection(tracking) == "none" for tracking in self.tracked)

    def windowed(self, index: int) -> list[Cell]:
        """Return one cell of the round, in each round of the window."""
        return [self.cells[number - 1][index] for number in self.window]

    def mean(self, index: int, metric: str) -> float | None:
        """Return the mean of a value over the window; None where a round has counted nothing."""
        window = self.windowed(index)
        return mean([cell.value(metric) if cell.measurement.ios else None for cell in window])

    def maximum(self, index: int, metric: str) -> float | None:
        """Return the largest value of the window."""
        found = [cell.value(metric) for cell in self.windowed(index)]
        return max((value for value in found if value is not None), default=None)

    def minimum(self, index: int, metric: str) -> float | None:
        """Return the least value of the window."""
        found = [cell.value(metric) for cell in self.windowed(index)]
        return min((value for value in found if value is not None), default=None)

    def latency(self, index: int) -> Histogram:
        """Return all response times of a cell in the window."""
        return Histogram.merged([cell.latency for cell in self.windowed(index)])

    def records(self) -> list[pts.Steady]:
        """Return the entries of `steady_state`, one per tracked value."""
        return [
            self._entry(tracking, verdict)
            for tracking, verdict in zip(self.tracked, self.verdicts, strict=True)
        ]

    def _entry(self, tracking: Tracking, verdict: SteadyState) -> pts.Steady:
        values = [value if math.isfinite(value) else None for value in self.values(tracking)]
        return pts.Steady(
            tracking=tracking.record(),
            values_by_round=[pts.RoundValue(*pair) for pair in enumerate(values, start=1)],
            attained=self.attained,
            round=self.count if self.attained else None,
            rounds=self.count,
            rounds_max=self.rounds_max,
            window=self.window,
            values=values[-WINDOW_ROUNDS:],
            **asdict(verdict),
            collection=self.collection(tracking),
            group=self.group or None,
        )


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean; None without values or where one is missing."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None


def cells_of_round(bench: Bench, plans: list[CellPlan]) -> list[Cell]:
    """Run the cells of a round, in their order; each leaves the drive as its minute would.

    One that was too slow to end before its minute did lasts a whole one in the rounds that follow.
    """
    cells = []
    for at, plan in enumerate(plans):
        cell = bench.measure(plan.stimulus, plan.limit, label=plan.label, writes_rest=True)
        if (cell.measurement.elapsed_s or 0.0) >= MINUTE_S:
            plans[at] = replace(plan, limit=bench.plan.time.whole(plan.limit))
        cells.append(cell)
    return cells


def cells_of(
    bench: Bench, phase: str, stimuli: Mapping[Key, Stimulus], *, group: str = ""
) -> dict[Key, Cell]:
    """Run a phase with a cell for each stimulus, in their order."""
    bench.restart_point()
    with bench.phase(phase, group=group, cells=len(stimuli)):
        return {
            key: bench.measure(one, bench.plan.time.cell(one), label=f"{group} {name(one)}".strip())
            for key, one in stimuli.items()
        }


def until_steady(  # noqa: PLR0913 (all but three by name)
    bench: Bench,
    run_round: Callable[[int], list[Cell]],
    tracked: Sequence[Tracking],
    *,
    phase: str = "round",
    group: str = "",
    cells: int | None = None,
    is_over: Callable[[], bool] = lambda: False,
    must_collect: bool = False,
    rounds_max: int | None = None,
) -> Rounds:
    """Run rounds until the tracked values are steady, or there have been enough.

    Args:
        bench: Where the steps are done.
        run_round: Runs one round, given its number, and returns the cells that may be tracked.
        tracked: What must be steady, by its place in what `run_round` returns.
        phase: Name of the rounds in the record.
        group: Part of the test with a purge of its own.
        cells: Cells in a round, for the progress line.
        is_over: Asked after each round: whether something else ends the search.
        must_collect: Whether rounds go on until the drive collected in all of the window, too.
        rounds_max: After how many rounds the search ends; None for that of the plan.
    """
    rounds = Rounds(tracked, rounds_max or bench.plan.rounds_max, group, bench.is_range_small)
    rounds.may_lose = bench.plan.settings.allow_lost
    bench.progress.rounds_max = rounds.rounds_max
    bench.tell(None)
    key = f"{phase}/{group}"
    for number in range(1, rounds.rounds_max + 1):
        bench.restart_point()
        before = len(bench.record.cells)
        with bench.phase(phase, number, group=group, cells=cells):
            tracked_cells = run_round(number)
            # All that was done in the round, gaps and writes before cells too.
            rounds.add(tracked_cells, bench.record.cells[before:])
        bench.record.steady[key] = rounds.records()
        bench.tell(next((v for v in rounds.verdicts if not v.steady), rounds.verdicts[0]))
        is_early = must_collect and rounds.is_without_collection
        if is_over() or (rounds.attained and not is_early):
            break
        rounds.is_longer |= rounds.attained
    _warn_of_doubts(bench, rounds, tracked)
    bench.progress.rounds_max = None
    return rounds


def _warn_of_doubts(bench: Bench, rounds: Rounds, tracked: Sequence[Tracking]) -> None:
    for tracking, verdict in zip(tracked, rounds.verdicts, strict=True):
        if verdict.reason == "invalid":
            bench.warn(
                f"{tracking.metric} of {tracking.plan.label} is zero in the last rounds, was not "
                "measured, or is of fewer requests than outstanding; that is not steady"
            )
        if rounds.attained and rounds.collection(tracking) == "none":
            time = bench.plan.time
            ways = [
                *(["--cell-seconds"] if time.has_cells else []),
                *([] if time.name == "full" else ["--time-base full"]),
            ]
            advice = f"; give it longer cells ({', '.join(ways)})" if ways else ""
            bench.warn(
                f"{tracking.plan.label} is steady by the rule, but the drive did not collect in "
                f"every round of the window: this is not its steady state{advice}"
            )


def write_to_steady(
    bench: Bench, stimulus: Stimulus, label: str, *, phase: str = "precondition", group: str = ""
) -> Rounds:
    """Apply a stimulus to the steady state of its IOPS: rounds of 30 minutes and a sample.

    Before a test, where a drive is only to be brought to that state, scaled rounds go on until it
    collects, too.

    Returns:
        The rounds; their only cell is the sample, of one minute.
    """
    limit = bench.plan.time.cell(stimulus)
    gap = bench.plan.time.gap(stimulus)

    def run_round(_: int) -> list[Cell]:
        bench.measure(stimulus, gap, label=label, part="gap")
        return [bench.measure(stimulus, limit, label=label)]

    tracked = [Tracking("iops", 0, CellPlan(stimulus, limit, label))]
    plan = bench.plan
    most = None
    if phase == "precondition":
        most = plan.time.precondition_rounds(plan.settings.ss_max_rounds, plan.rounds_max)
    rounds = until_steady(
        bench,
        run_round,
        tracked,
        phase=phase,
        group=group,
        cells=2,
        must_collect=phase == "precondition" and plan.time.waits_for_collection,
        rounds_max=most,
    )
    if rounds.is_longer:
        plan.time.note_longer()
    plan.time.note_precondition_rounds(rounds.count, plan.rounds_max)
    return rounds


def prepare_steady(bench: Bench, group: str = "") -> Rounds:
    """Purge, fill twice, and write random 4 KiB to the steady state."""
    bench.purge(group=group)
    bench.precondition(group=group)
    stimulus = bench.stimulus(block_bytes=4096)
    return write_to_steady(bench, stimulus, "RND 4 KiB 0/100", group=group)
