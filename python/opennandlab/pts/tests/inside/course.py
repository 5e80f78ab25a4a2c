"""Writes from a purge to the steady end: what `skew` and `fill` have in common.

The course is cut into 25 pieces of equal bytes, of which the last five are what counts:

    fill | first minute | piece 1 … 20 | 21 22 23 24 25 |
                          past           rate = bytes over time, WAF = programmed over written

On a real drive every piece is timed. A simulated drive writes most bytes without a clock, which
changes nothing in its flash, and in simulated time the end of each of the last five pieces alone:
first a part that is not measured, because buffers and collections under way begin empty there, then
one that is. WAF counts all bytes of the five. Whether the end is steady, the five-point rule of the
specification says, applied to the rates of the five pieces. `until steady` asks it after each piece
from the fifth on (then every piece is timed), and ends there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.record import Cell
from opennandlab.stats.steady import WINDOW_ROUNDS, SteadyState, steady_state
from opennandlab.targets.base import ActiveRange, Limit, Stimulus

PIECES = 25
# Of the unit in simulated time at the end of a piece: what is not measured, and what is.
SETTLE, TIMED = 0.01, 0.02
# The first minute of a simulated drive is shorter: it is much smaller than a real one.
FIRST, FIRST_S = 0.03, 60.0
SMALL, LARGE = 4096, 512 << 10
ALIGN = 4096
FILLS = ("sequential", "shuffled", "none")
UNTIL = ("written", "steady")
# A course of a smoke test is shorter by as much.
SMOKE = 0.2
ROUNDING_PCT = 1e-9


@dataclass(frozen=True)
class Course:
    """What is written.

    Args:
        group: Name of the point.
        stimulus: The writes.
        unit_bytes: What counts as one write of it: the range.
        writes: How often so much is written.
        fill: One of `FILLS`, over the same range.
        until: One of `UNTIL`.
        timed: What a simulated drive does in simulated time: the `end` of the last five pieces;
            the end of `each`, and all of these five; or `all`.
        window: Such an end, in units.
    """

    group: str
    stimulus: Stimulus
    unit_bytes: int
    writes: float
    fill: str = "sequential"
    until: str = "written"
    timed: str = "end"
    window: float = SETTLE + TIMED


@dataclass
class End:
    """What came of it.

    Args:
        first_mb_s: Rate of the first minute.
        pieces: The cells that were timed.
        last: All cells of the pieces that count, timed or not.
        writes: Units written, the fill left out.
    """

    first_mb_s: float | None = None
    pieces: list[Cell] = field(default_factory=list)
    last: list[Cell] = field(default_factory=list)
    writes: float = 0.0

    @property
    def verdict(self) -> SteadyState:
        """The five-point rule on the rates of the last pieces."""
        return steady_state([cell.measurement.mb_s for cell in self.pieces])

    @property
    def mb_s(self) -> float | None:
        """Bytes of the last pieces that were timed over their time."""
        window = [cell.measurement for cell in self.pieces[-WINDOW_ROUNDS:]]
        seconds = sum(one.seconds for one in window)
        total = sum(one.writes.bytes + one.reads.bytes for one in window)
        return total * 1e-6 / seconds if seconds > 0 else None

    @property
    def waf(self) -> float | None:
        """Bytes programmed over bytes written in the last pieces; None where it is unknown."""
        return waf_of(self.last)

    @property
    def excursion_pct(self) -> float | None:
        """Spread of the last rates in percent of their mean."""
        return _pct(self.verdict.excursion, self.verdict.average)

    @property
    def slope_pct(self) -> float | None:
        """Change of the line through them, in percent of their mean."""
        return _pct(self.verdict.slope_excursion, self.verdict.average)


def waf_of(cells: list[Cell]) -> float | None:
    """Return bytes programmed over bytes written; None where a cell does not tell."""
    programmed = [cell.measurement.inside.get("nand_bytes_written") for cell in cells]
    known = [float(one) for one in programmed if one is not None]
    written = sum(cell.measurement.written_bytes for cell in cells)
    # A counter that does not move while the host writes counts something else.
    if not written or len(known) < len(cells) or sum(known) <= 0.0:
        return None
    return sum(known) / written


def whole(count: float) -> int:
    """Return whole requests of 4 KiB, at least one."""
    return max(int(count) // ALIGN, 1) * ALIGN


def writes_of(bench: Bench, asked: float, usual: float) -> float:
    """Return how often to write: what was asked, or the usual times, fewer in a smoke test."""
    if asked:
        return asked
    return usual * SMOKE if bench.plan.time.name == "smoke" else usual


def prepare(bench: Bench, group: str, how: str, part: ActiveRange) -> None:
    """Write a range once, as `how` says."""
    if how == "none":
        return
    is_shuffled = how == "shuffled"
    stimulus = bench.stimulus(
        pattern="shuffled" if is_shuffled else "sequential",
        block_bytes=SMALL if is_shuffled else LARGE,
        threads=bench.plan.threads if is_shuffled else 1,
        active_range=part,
    )
    limit = Limit(bytes=whole(bench.plan.time.capacity_bytes * part.share))
    with bench.phase("fill", group=group, cells=1):
        bench.measure(stimulus, limit, label=f"{how} fill", is_measured=False)


def run(bench: Bench, course: Course) -> End:
    """Purge, fill, and write to the end."""
    bench.purge(group=course.group)
    prepare(bench, course.group, course.fill, course.stimulus.active_range)
    return write(bench, course)


def write(bench: Bench, course: Course) -> End:
    """Write to the end, from whatever the drive holds."""
    return _Writing(bench, course).run()


class _Writing:
    """The writes of a course, and how far they are."""

    def __init__(self, bench: Bench, course: Course) -> None:
        self._bench, self._course = bench, course
        self._next = course.stimulus
        self._start_bytes = bench.written_bytes
        self._is_virtual = bench.plan.time.is_virtual
        self._end = End()

    @property
    def _done(self) -> int:
        return self._bench.written_bytes - self._start_bytes

    def run(self) -> End:
        course, end = self._course, self._end
        piece = course.unit_bytes * course.writes / PIECES
        with self._bench.phase("first", group=course.group, cells=1):
            end.first_mb_s = self._first(piece).measurement.mb_s
        with self._bench.phase("write", group=course.group):
            for number in range(1, PIECES + 1):
                self._piece(number, piece * number - self._done)
                if course.until == "steady" and end.verdict.steady:
                    break
        end.writes = self._done / course.unit_bytes
        return end

    def _first(self, piece: float) -> Cell:
        share = FIRST * self._course.unit_bytes if self._is_shortened else piece
        limit = Limit(bytes=whole(min(share, piece)), seconds_max=FIRST_S)
        return self._write(limit, is_measured=True)

    @property
    def _is_shortened(self) -> bool:
        return self._is_virtual or self._bench.plan.time.name != "full"

    def _piece(self, number: int, left: float) -> None:
        """Write what is left of a piece; nothing where the first minute was longer."""
        course, end = self._course, self._end
        is_until_steady = course.until == "steady"
        is_last = number > PIECES - WINDOW_ROUNDS
        counts = is_until_steady or is_last or course.timed != "end"
        if left < ALIGN:
            return
        cells: list[Cell] = []
        ramp, timed = 0.0, left
        is_whole = course.timed == "all" or (course.timed == "each" and is_last)
        if self._is_virtual and not is_whole:
            timed = min(course.window * course.unit_bytes, left) if counts else 0.0
            ramp = SETTLE / course.window
            if left - timed >= ALIGN:
                cells.append(self._write(Limit(bytes=whole(left - timed)), is_measured=False))
        if timed:
            limit = Limit(bytes=whole(timed), ramp_ratio=ramp)
            cells.append(self._write(limit, is_measured=True))
            end.pieces.append(cells[-1])
        if is_until_steady:
            end.last = [*end.last, *cells][-2 * WINDOW_ROUNDS :]
        elif is_last:
            end.last += cells

    def _write(self, limit: Limit, *, is_measured: bool) -> Cell:
        cell = self._bench.measure(
            self._next, limit, label=self._course.group, is_measured=is_measured
        )
        if self._next.pattern == "sequential":
            self._next = replace(self._next, start_bytes=cell.measurement.end_bytes)
        return cell


def over(share: float, part: ActiveRange) -> ActiveRange:
    """Return a part of a range in one piece."""
    return replace(part, share=share)


def _pct(value: float | None, mean: float | None) -> float | None:
    if value is None or not mean:
        return None
    share = 100.0 * value / mean
    # Rates that are equal differ by the rounding of their quotients.
    return share if share > ROUNDING_PCT else 0.0
