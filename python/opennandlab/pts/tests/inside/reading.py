"""The properties of a drive that follow from the six cells.

With S the sequential rate, R2 to R5 those of random cells, and G what collection makes of data:

    S / R2 = G (1 + c)       c: time of reads and erases of collections over that of programs
    a = -G ln(1 - 1/G)       space for data over the capacity; G from the counter of the flash, else
                             from cells 2 and 3 together, in which c goes with the pages sensed
    sigma = ln(R4 / R4_greedy) / ln(R4_ideal / R4_greedy)

Ideal separation takes static data out of the log: G of (a - s) / (1 - s). Greedy is a drive that is
simulated (`reference`). A cell that was not steady gives no figure.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from opennandlab.documents.pts_inside import IdentifyPoint, Reading
from opennandlab.pts.tests.inside.reference import POLICIES, Ratio
from opennandlab.stats.steady import WINDOW_ROUNDS
from opennandlab.theory.uniform import fifo

STATIC = 0.6
# Sigma below these is the word; above them data are separated, or if it is nearly that of a
# simulated drive that chooses by cost and benefit (0.5 to 0.8, by the space).
MOVED = -0.15
POLICY = (
    (MOVED, "housekeeping moves static data"),
    (0.15, "greedy"),
    (0.6, "age counts or streams mix"),
)
NEARLY, SEPARATED = 0.85, "separated"
WEAR_LEVELING = "static wear leveling"
# If ideal and greedy differ by less, static data show nothing.
SPAN_MIN = 0.2
# A rate keeps falling if a fifth of the cell has less than this part of the one before.
FALLING = 0.95
# A piece is slow below this part of its neighbours.
DIP = 0.8
# The step of an SLC cache: rate before over after it. A single piece may be a write buffer.
STEP, STEP_OF_ONE = 1.2, 2.0
# Space for data that is looked for, as of drives on sale.
ALPHA_RANGE, ALPHA_STEPS = (1.03, 2.5), 1470
# Class prior of c where all pages are sensed: 0.17 and 0.25 of the two drives that were measured.
COST, COST_ERROR, RATE_ERROR = 0.2, 0.06, 0.02
BY_RATES = "by rates of cells 1 to 3; pages of 16 KiB and a class prior for c"
BOUND = "unknown: cell 1 is slower than the programs of cell 2: its one request bounds it"
# Rates agree to some percent; below this c cannot be.
COST_MIN = -0.02
# Assumed without a counter for G: units of the map in a page of the flash.
UNITS_OF_PAGE = 4
# Of drives of TLC, where the dies are not known: least time of a word line; and of any, in us.
WORDLINE_US_MIN, ERASE_US_MIN = 1200.0, 3000.0
# Loads of more than this part of cell 2's rate are near saturation.
NEAR = 0.7
JUMP, BURST_US = 3.0, 1000.0
Rows = Iterator[Reading]


@dataclass(frozen=True)
class Known:
    """Facts that are not from the cells.

    Args:
        row_bytes: A word line on all dies, of a simulated drive; None of a real one.
        evenness: Part of a row's rate that the slowest die leaves.
        share: Part of the capacity that is in use.
    """

    row_bytes: int | None = None
    evenness: float = 1.0
    share: float = 1.0


@dataclass(frozen=True)
class Space:
    """How much room collections have.

    Args:
        alpha: Space for data over the range in use; None if unknown.
        cost: c; None if unknown.
        by_rates: Alpha by cells 2 and 3 alone.
        meaning: Its source.
        is_bound: Whether cell 1 is slower than the flash: then c would be below 0.
    """

    alpha: float | None = None
    cost: float | None = None
    by_rates: float | None = None
    meaning: str = ""
    is_bound: bool = False


def rates_of(points: list[IdentifyPoint]) -> dict[int, float]:
    """Return the steady rates by cell; nothing of a cell that has none."""
    return {one.cell: one.mb_s for one in points if one.mb_s and one.pattern != "load"}


def amplified(alpha: float) -> float:
    """Return how far greedy collection amplifies data in large blocks."""
    return fifo(1.0 - 1.0 / alpha)


def ideal(alpha: float, static: float) -> float:
    """Return the same if a static share has left the log.

    >>> [round(ideal(1.4635, share), 3) for share in (0.2, 0.4, 0.6, 0.8)]
    [1.586, 1.385, 1.197, 1.043]
    """
    return amplified((alpha - static) / (1.0 - static))


def space_of(points: list[IdentifyPoint]) -> Space:
    """Return alpha and c, by the counter of the flash if there is one."""
    rate, waf = rates_of(points), {one.cell: one.waf for one in points if one.waf}
    if 1 not in rate or 2 not in rate:
        return Space(meaning="unknown: takes steady cells 1 and 2")
    share = rate[1] / rate[2]
    by_rates = _by_rates(share, rate[1] / rate[3]) if 3 in rate and share > 1.0 else None
    if waf.get(1) and waf.get(2):
        made = waf[2] / waf[1]
        if made > 1.0:
            alpha = -made * math.log1p(-1.0 / made)
            cost, source = share / made - 1.0, "by the WAF of cells 1 and 2"
            if cost < COST_MIN:
                return Space(alpha, meaning=source, is_bound=True)
            return Space(alpha, cost, by_rates, source)
        return Space(None, None, by_rates, "unknown: cell 2 amplifies no more than cell 1")
    if by_rates is None:
        return Space(
            meaning=f"unknown: no WAF, and {_why(points, 3) or 'cell 2 is as fast as cell 1'}"
        )
    return Space(by_rates, share / amplified(by_rates) - 1.0, by_rates, BY_RATES)


def _by_rates(whole: float, half: float) -> float:
    """Return the alpha at which one cost of collecting explains both rates best.

    The cost goes with the pages sensed, `1 - (1/G)^4` of those of a block. Rates of half of the
    range show it badly (2 % of a rate are 0.1 of it), so that the class prior counts too.

    Args:
        whole: Sequential over uniform rate, above 1.
        half: The same where half of the range is in use.
    """

    def miss(alpha: float) -> float:
        made, less = amplified(alpha), amplified(2.0 * alpha)
        cost = (whole / made - 1.0) / (1.0 - made**-UNITS_OF_PAGE)
        found = less * (1.0 + cost * (1.0 - less**-UNITS_OF_PAGE))
        return (math.log(found / half) / RATE_ERROR) ** 2 + ((cost - COST) / COST_ERROR) ** 2

    low, high = ALPHA_RANGE
    tried = (low + (high - low) * part / ALPHA_STEPS for part in range(ALPHA_STEPS + 1))
    return min(tried, key=miss)


def slc_step(rates: list[float]) -> int | None:
    """Return after how many equal pieces a rate steps down; None if it does not.

    The split of the pieces that leaves least variance, if the rates on its sides differ.

    >>> slc_step([9.0] * 5 + [3.0] * 20), slc_step([3.0] * 25)
    (5, None)
    """
    best: tuple[float, int] | None = None
    for at in range(1, len(rates)):
        sides = (rates[:at], rates[at:])
        means = [sum(side) / len(side) for side in sides]
        left = sum(
            (value - mean) ** 2 for side, mean in zip(sides, means, strict=True) for value in side
        )
        least = STEP if at > 1 else STEP_OF_ONE
        if means[0] > least * means[1] and (best is None or left < best[0]):
            best = (left, at)
    return None if best is None else best[1]


def sigma_of(static: float, alpha: float, greedy: float) -> float | None:
    """Return how far static data are kept apart: 0 as under greedy, 1 ideally.

    Args:
        static: Rate of cell 4 over that of cell 2.
        alpha: Space for data over the range.
        greedy: What `static` is under greedy.
    """
    span = math.log(amplified(alpha) / ideal(alpha, STATIC) / greedy)
    return math.log(static / greedy) / span if span >= SPAN_MIN else None


def policy_of(sigma: float, separated: float) -> str:
    """Return the choice of victims by sigma.

    Args:
        sigma: Of the drive.
        separated: Of a drive of the same space that chooses by cost and benefit.

    >>> [policy_of(it, 0.8) for it in (-0.2, 0.01, 0.48, 0.7)][1:]
    ['greedy', 'age counts or streams mix', 'separated']
    """
    found = next((word for limit, word in POLICY if sigma < limit), SEPARATED)
    return SEPARATED if sigma > POLICY[1][0] and sigma >= NEARLY * separated else found


def at_end(point: IdentifyPoint) -> float | None:
    """Return the mean of the last five rates of a cell, steady or not; None without five."""
    last = point.rates_mb_s[-WINDOW_ROUNDS:]
    return sum(last) / len(last) if len(last) == WINDOW_ROUNDS and all(last) else None


def dips(rates: list[float]) -> int:
    """Return how many pieces in the second half of a cell are much slower than both neighbours.

    A drive that moves cold blocks as soon as wear differs too much does so in bursts.

    >>> dips([90.0] * 20 + [50.0, 90.0, 90.0, 50.0, 90.0])
    2
    """
    half = rates[len(rates) // 2 :]
    trios = zip(half, half[1:], half[2:], strict=False)
    return sum(one < DIP * min(before, after) for before, one, after in trios)


def is_falling(rates: list[float]) -> bool:
    """Return whether the last fifth of a cell is slower than the one before."""
    fifth = len(rates) // 5
    last, before = rates[-fifth:], rates[-2 * fifth : -fifth]
    return fifth > 0 and sum(last) < FALLING * sum(before)


def readings(
    points: list[IdentifyPoint], space: Space, known: Known, policy: tuple[float | None, str]
) -> Rows:
    """Yield the properties by the first four cells; `policy` is sigma and its word."""
    rate = rates_of(points)
    yield from _sequential(points, known)
    share = rate[1] / rate[2] if 1 in rate and 2 in rate and not space.is_bound else None
    meaning = BOUND if space.is_bound else _why(points, 1, 2) or "of rates 1 and 2"
    yield _row("amplification A (1 + c)", share, "", meaning)
    alpha = space.alpha
    yield _row("space for data, alpha", alpha and alpha * known.share, "", space.meaning)
    if space.by_rates is not None and space.meaning.startswith("by the WAF"):
        by_rates = space.by_rates * known.share
        yield _row("alpha without WAF", by_rates, "", BY_RATES)
    meaning = space.meaning if space.cost is None else "reads and erases over programs"
    meaning = BOUND if space.is_bound else meaning
    yield _row("cost of collecting, c", space.cost, "", meaning)
    yield _row("static data, sigma", policy[0], "", policy[1])
    point = _cell(points, 4)
    if point is not None:
        bursts = dips(point.rates_mb_s)
        meaning = f"of the pieces of cell 4: {WEAR_LEVELING}" if bursts else "none in cell 4"
        yield _row("slow bursts", bursts, "", meaning)


def policy(
    points: list[IdentifyPoint], space: Space, ratio: Ratio | None
) -> tuple[float | None, str]:
    """Return sigma and its word; None and the reason if it is unknown."""
    point, rate = _cell(points, 4), rates_of(points)
    last = None if point is None else at_end(point)
    if point is None or last is None or 2 not in rate or space.alpha is None or ratio is None:
        return None, f"unknown: {_why(points, 2, 4) or 'takes alpha'}"
    writes = point.drive_writes or 0.0
    greedy, other = (ratio(name, point.pattern, writes) for name in POLICIES)
    sigma = sigma_of(last / rate[2], space.alpha, greedy)
    separated = sigma_of(other, space.alpha, greedy)
    if sigma is None or separated is None:
        return None, "unknown: with so much space greedy is nearly ideal"
    if sigma < MOVED and is_falling(point.rates_mb_s):
        return sigma if 4 in rate else None, f"{WEAR_LEVELING}: the rate keeps falling"
    if 4 in rate:
        return sigma, policy_of(sigma, separated)
    if dips(point.rates_mb_s):
        return None, f"{WEAR_LEVELING}: the rate drops in bursts"
    return None, f"unknown: {_why(points, 4)}"


def _cell(points: list[IdentifyPoint], number: int) -> IdentifyPoint | None:
    return next((one for one in points if one.cell == number), None)


def hot_data(points: list[IdentifyPoint], ratio: Ratio | None) -> Rows:
    """Yield the separation of hot data by cell 5."""
    point, rate = _cell(points, 5), rates_of(points)
    if point is None or 5 not in rate or 2 not in rate or ratio is None:
        yield _row("hot data", None, "", f"unknown: {_why(points, 2, 5) or 'takes alpha'}")
        return
    share, writes = rate[5] / rate[2], point.drive_writes or 0.0
    greedy, age = (ratio(name, point.pattern, writes) for name in POLICIES)
    meaning = f"over uniform; greedy {greedy:.2f}, cost_benefit {age:.2f}"
    yield _row("hot data", share, "", meaning)


def _sequential(points: list[IdentifyPoint], known: Known) -> Rows:
    """Yield sequential rate, SLC cache and time of a word line by cell 1."""
    point = _cell(points, 1)
    if point is None:
        return
    rates = [one or 0.0 for one in point.rates_mb_s]
    at = slc_step(rates)
    yield _row("sequential rate, S", point.mb_s, "MB/s", point.note or "the last fifth of cell 1")
    if at is None:
        yield _row("SLC cache", None, "", "no step in cell 1: none was seen")
    else:
        size = at / len(rates) * point.region_bytes * 1e-9
        meaning = f"{sum(rates[:at]) / at:.4g} MB/s before the step"
        yield _row("SLC cache", size, "GB", meaning)
    time = wordline_us(points, known)
    meaning = "from S and the dies of the device file"
    if time is None:
        meaning = "unknown: takes S, its WAF, and the dies of the drive (`calibrate`)"
    yield _row("time of a word line", time, "us", meaning)


def wordline_us(points: list[IdentifyPoint], known: Known) -> float | None:
    """Return the time of a word line on all dies that gives the sequential rate."""
    point = _cell(points, 1)
    if point is None or known.row_bytes is None or not point.mb_s or not point.waf:
        return None
    return known.row_bytes / point.waf * known.evenness / point.mb_s


def scheduler(points: list[IdentifyPoint], wordline_us: float | None) -> Rows:
    """Yield how reads are scheduled, by the two loads of cell 6."""
    limit = NEAR * rates_of(points).get(2, 0.0)
    found = [one for one in points if one.pattern == "load" and one.mb_s]
    loads = sorted((one for one in found if (one.mb_s or 0.0) < limit), key=lambda it: it.rate or 0)
    if not loads or loads[0].read_us_p99 is None:
        why = "too few reads" if loads else "no load is below saturation"
        yield _row("scheduler", None, "", f"unknown: {why}")
        return
    low, p50, p99 = loads[0], loads[0].read_us_p50 or 0.0, loads[0].read_us_p99
    yield _row("idle path", p50, "us", "p50 of the reads at the lower load")
    limit = WORDLINE_US_MIN if wordline_us is None else 0.7 * wordline_us
    if p99 >= limit:
        yield _row("suspension", None, "", "none: reads wait for whole programs")
    else:
        yield _row("suspension", p99 - p50, "us", "programs are suspended within so much")
    if low.read_us_p999 is not None:
        waits = low.read_us_p999 >= ERASE_US_MIN
        word = "not suspended, or bursts" if waits else "suspended"
        yield _row("erases", low.read_us_p999, "us", f"p99.9 of the reads: {word}")
    high = loads[1] if len(loads) > 1 else None
    if high is None or high.read_us_p999 is None or low.read_us_p999 is None:
        return
    jump = high.read_us_p999 / low.read_us_p999
    word = "suspensions have a limit, or writes overtake" if jump > JUMP else "no limit is seen"
    yield _row("p99.9 at the higher load", jump, "x", word)
    if high.write_us_p99 is not None:
        word = "collection in bursts" if high.write_us_p99 >= BURST_US else "no bursts"
        yield _row("p99 of writes there", high.write_us_p99, "us", word)


LEFT = "definition of age; reserve against metadata; planes against dies; superblock (`pts zones`)"


def left_open(rows: list[Reading]) -> Reading:
    """Return the properties that stay in the band."""
    unknown = [row.name for row in rows if row.meaning.startswith("unknown")]
    return _row("left open", None, "", "; ".join([*unknown, LEFT]))


def _why(points: list[IdentifyPoint], *cells: int) -> str:
    """Return why a cell of these has no rate; empty where all have one."""
    found = {one.cell: one for one in points}
    for cell in cells:
        if cell not in found:
            return f"cell {cell} was not measured"
        if not found[cell].mb_s:
            return f"cell {cell}: {found[cell].note}"
    return ""


def _row(name: str, value: float | None, unit: str, meaning: str) -> Reading:
    return Reading(name=name, value=value, unit=unit, meaning=meaning)
