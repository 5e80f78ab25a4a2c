"""Where codes reach a frame error rate, and how far that is from the limit of the channel.

Between two points that were simulated the logarithm of the rate is taken as straight, over the
logarithm of the RBER or over Eb/N0 in dB. Beyond the points no rate is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from opennandlab.ecc.bounds import Limits
from opennandlab.ecc.drawn import DrawnCurve, DrawnPoint
from opennandlab.reports.model import Cell, Headline, Table

# The frame error rate that pages state, unless another one is asked for.
TARGET = 1e-3
# Cards of a page of several curves; the table has them all.
CARDS_MAX = 6
# Of a point without errors, or the first one: worse channels were not simulated.
BOUND = " or a worse channel"
# Points this close are hardly distinguished by counted errors.
NEAR = 0.05


@dataclass(frozen=True)
class Reach:
    """Where a curve reaches a frame error rate.

    Args:
        curve: The curve.
        target: The frame error rate.
        x: The point, RBER or Eb/N0 in dB; None if no point shows it.
        least: The simulated point with the least rate; None if all are bounds.
        is_bound: Whether the target is reached there or at a worse channel: that point has no
            error, or is the worst of all that were simulated.
    """

    curve: DrawnCurve
    target: float
    x: float | None
    least: DrawnPoint | None
    is_bound: bool = False

    @classmethod
    def of(cls, curve: DrawnCurve, target: float) -> Reach:
        """Find the point at which a curve reaches a rate."""
        is_rber = curve.x == "rber"
        axis = "rber" if is_rber else "ebn0_db"
        worst_first = sorted(curve.points, key=lambda one: one.x, reverse=is_rber)
        known = [one for one in worst_first if not one.is_bound and one.fer > 0.0]
        least = min(known, key=lambda one: one.fer, default=None)
        if known and known[0].fer <= target and known[0] is worst_first[0]:
            return cls(curve, target, known[0].x, least, is_bound=True)
        x = straight([(one.x, one.fer) for one in known], target, axis)
        if x is not None:
            return cls(curve, target, x, least)
        for one in worst_first:
            if one.is_bound and one.high is not None and one.high <= target:
                return cls(curve, target, one.x, least, is_bound=True)
        return cls(curve, target, None, least)

    @property
    def limits(self) -> Limits | None:
        """The limits of the channel at the rate of the code; None if they are not known."""
        document = self.curve.document
        if document is None:
            return None
        found = Limits(document.channel_settings, document.rate)
        return found if found.are_known else None

    @property
    def gap(self) -> str:
        """How far the Shannon limit is, in words; empty if it is not known."""
        limits = self.limits
        if limits is None or self.x is None:
            return ""
        most = "at most " if self.is_bound else ""
        if limits.is_rber:
            return f"{most}{limits.capacity_x / self.x:.3g} times"
        return f"{most}{self.x - limits.capacity_x:.2f} dB"

    def at(self, x: float) -> str:
        """Write a point with its kind."""
        is_rber = self.curve.x == "rber"
        written = _written(x, is_rber=is_rber)
        return f"an RBER of {written}" if is_rber else f"an Eb/N0 of {written} dB"

    @property
    def text(self) -> str:
        """The result, as a sentence without its end."""
        rate = f"a frame error rate of {self.target:g}"
        if self.x is None:
            if self.least is None:
                return f"{self.curve.name}: too few frames to show whether it reaches {rate}"
            said = f"{self.curve.name} does not reach {rate} at any point that was simulated"
            return f"{said}: the least rate is {self.least.fer:.2g}, at {self.at(self.least.x)}"
        reached = f"{self.curve.name} reaches {rate} at {self.at(self.x)}"
        reached += BOUND if self.is_bound else ", between two points that were simulated"
        limits = self.limits
        if limits is None:
            return reached
        below = f"{self.gap} below" if limits.is_rber else f"{self.gap} from"
        limit = self.at(limits.capacity_x)
        return f"{reached}; that is {below} the Shannon limit of its rate, {limit}"


def straight(pairs: Sequence[tuple[float, float]], rate: float, axis: str) -> float | None:
    """Return the place at which straight lines on logarithmic axes have a rate; None for none.

    >>> round(straight([(1e-3, 1e-6), (1e-2, 1e-2)], 1e-4, "rber"), 9)
    0.003162278
    >>> straight([(1.0, 1e-2), (2.0, 1e-4)], 1e-3, "ebn0_db")
    1.5
    >>> straight([(1.0, 1e-2), (2.0, 1e-4)], 1e-5, "ebn0_db")
    """
    known = [(x, fer) for x, fer in pairs if fer > 0]
    for (x, fer), (next_x, next_fer) in pairwise(known):
        if not min(fer, next_fer) <= rate <= max(fer, next_fer) or fer == next_fer:
            continue
        share = math.log(rate / fer) / math.log(next_fer / fer)
        if axis == "rber" and x > 0:
            return math.exp(math.log(x) + share * math.log(next_x / x))
        return x + share * (next_x - x)
    return None


def lead(found: Sequence[Reach]) -> str:
    """Return the points that curves reach, as sentences; of many only the best."""
    if len(found) == 1:
        return f"{found[0].text if _is_curve(found[0]) else _alone(found[0])}."
    reached = [one for one in found if one.x is not None]
    missed = len(found) - len(reached)
    target = f"a frame error rate of {found[0].target:g}"
    if not reached:
        return f"No code reaches {target} at a point that was simulated."
    # A bound cannot be ranked below a point.
    if any(one.is_bound for one in reached):
        text = f"{len(reached)} of {len(found)} codes reach {target}"
        return f"{text}; some by bounds alone, so that none is called best."
    best = max(reached, key=lambda one: (one.x or 0.0) * (1 if one.curve.x == "rber" else -1))
    near = sum(abs((one.x or 0.0) / (best.x or 1.0) - 1.0) < NEAR for one in reached) - 1
    rest = ""
    if near:
        rest += f" {near} of the others {'is' if near == 1 else 'are'} within {NEAR:.0%} of it."
    if missed:
        rest += f" {missed} of them do not reach it at any point that was simulated."
    return f"The best of {len(found)} codes, {best.text}.{rest}"


def headlines(found: Sequence[Reach]) -> tuple[Headline, ...]:
    """Return the numbers of one curve as cards; of several the point of each."""
    is_rber = found[0].curve.x == "rber"
    unit, what = ("", "RBER") if is_rber else ("dB", "Eb/N0")
    if len(found) > 1:
        reached = [one for one in found if one.x is not None]
        return tuple(
            Headline(
                f"{what}: {one.curve.name}{BOUND * one.is_bound}",
                _written(one.x or 0.0, is_rber=is_rber),
                unit,
            )
            for one in reached[:CARDS_MAX]
        )
    [one] = found
    if not _is_curve(one):
        return ()
    name = f"{what} at a frame error rate of {one.target:g}"
    cards = [
        Headline(name, "not reached" if one.least else "not known")
        if one.x is None
        else Headline(name + BOUND * one.is_bound, _written(one.x, is_rber=is_rber), unit)
    ]
    limits, document = one.limits, one.curve.document
    if limits is not None and document is not None:
        best = limits.best_x(document.code_bits, document.info_bits, one.target)
        cards += [
            Headline("best code of its length, about", _written(best, is_rber=is_rber), unit),
            Headline("Shannon limit of its rate", _written(limits.capacity_x, is_rber=is_rber),
                     unit),
            Headline("gap to the Shannon limit", one.gap or "not known"),
        ]  # fmt: skip
    return tuple(cards)


def _is_curve(one: Reach) -> bool:
    return len(one.curve.points) > 1


def _alone(one: Reach) -> str:
    """Return the rate at the single point of a curve."""
    [point] = one.curve.points
    place = f"{one.curve.name} at {one.at(point.x)}"
    if point.is_bound:
        return f"{place}: no error, a frame error rate of less than {point.high or 1:.2g}"
    ends = "" if point.low is None else f" (95 %: {point.low:.3g} to {point.high:.3g})"
    return f"{place}: a frame error rate of {point.fer:.3g}{ends}"


def table(found: Sequence[Reach]) -> Table:
    """Return where each curve reaches the target, a row for each."""
    is_rber = found[0].curve.x == "rber"
    what = "RBER" if is_rber else "Eb/N0, dB"
    rows: list[tuple[Cell, ...]] = []
    for one in found:
        missed = "not reached" if one.least else "not known"
        x = missed if one.x is None else _written(one.x, is_rber=is_rber)
        limits, document = one.limits, one.curve.document
        rows.append((
            one.curve.name, None if document is None else float(document.rate),
            f"{x}{BOUND}" if one.is_bound else x,
            None if limits is None else _written(limits.capacity_x, is_rber=is_rber),
            one.gap or None,
        ))  # fmt: skip
    heads = ("code", "rate", f"{what} at {found[0].target:g}", f"Shannon limit, {what}", "gap")
    return Table("reached", f"Where each reaches a frame error rate of {found[0].target:g}",
                 heads, tuple(rows))  # fmt: skip


def _written(x: float, *, is_rber: bool) -> str:
    return f"{x:#.3g}" if is_rber else f"{x:.2f}"
