"""Steady state as a report shows it: convergence from round 1 on, the window, the determination.

The window plot has the five points, their mean, the 90 % and 110 % guides and the *fitted* line;
the table holds what the rule compared. The 90 % and 110 % lines are a guide: the rule limits the
spread between the largest and the smallest value, so one point may lie outside.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from opennandlab.documents import pts
from opennandlab.reports import words
from opennandlab.reports.figure.model import Axis, Plot, Series
from opennandlab.reports.model import Item, Section, Table
from opennandlab.reports.pts.source import Measured
from opennandlab.reports.pts.verdict import decision, why_not
from opennandlab.stats.steady import WINDOW_ROUNDS, steady_state

GREY = -1
ROUNDING = 1e-9
# What the rule computed of a window.
NUMBERS = (
    "average", "excursion", "excursion_allowed", "slope", "intercept", "slope_excursion",
    "slope_allowed",
)  # fmt: skip


def sections(measured: Measured, title: str = "Steady state") -> Iterator[Section]:
    """Yield the section on steady state, where a variable was tracked."""
    if measured.steady:
        shown = tuple(items(measured.steady))
        yield Section("steady-state", title, shown, lead(measured.steady))


def items(states: Sequence[pts.Steady], name: str = "") -> Iterator[Item]:
    """Yield plots and table of some tracking variables; `name` sets their ids apart."""
    for place, steady in enumerate(states):
        yield from _of_variable(steady, place, f"-{name}" if name else "", len(states))


def name(steady: pts.Steady, place: int) -> str:
    """Return what a tracking variable is called."""
    known = steady.tracking.label or (
        f"{words.block(steady.tracking.block_bytes)} {words.mix(steady.tracking.rw_pct)}"
        if steady.tracking.rw_pct is not None
        else f"variable {place + 1}"
    )
    label = words.metric(steady.tracking.metric)[0]
    group = f"{steady.group}: " if steady.group and steady.group not in known else ""
    return f"{group}{label.split(',')[0]} of {known}"


def verdict(steady: pts.Steady) -> str:
    """Return what came of it, in a few words."""
    found = decision(steady)
    if steady.holds:
        window = steady.window
        return found + (f" in rounds {window[0]}–{window[-1]} of {steady.rounds}" if window else "")
    reason = why_not(steady)
    rounds = "1 round" if steady.rounds == 1 else f"{steady.rounds} rounds"
    return f"{found} after {rounds}" + (f" ({reason})" if reason else "")


def tracked_plot(steady: pts.Steady, place: int, suffix: str = "") -> Plot:
    """Return the tracked value against the round, from round 1 on."""
    label, factor = words.metric(steady.tracking.metric)
    lines = [
        Series(
            name(steady, place),
            [float(number) for number, _ in _by_round(steady)],
            [value * factor for _, value in _by_round(steady)],
            colour=0,
        )
    ]
    if steady.known:
        lines.append(
            Series(
                "measurement window",
                [float(number) for number in steady.window],
                [value * factor for value in steady.known],
                draw="points",
                colour=1,
            )
        )
    return Plot(
        f"tracked{suffix}",
        f"Tracked variable: {name(steady, place)}",
        round_axis([number for number, _ in _by_round(steady)]),
        Axis(label, zero=True),
        tuple(lines),
    )


def convergence(
    cells: Sequence[pts.Cell],
    metric: str,
    *,
    title: str,
    name: str = "convergence",
    split: str = "block_bytes",
) -> Plot | None:
    """Return a metric against the round, one series for each value of `split`.

    Args:
        cells: The cells to show, of any rounds.
        metric: Name of a number of a cell.
        title: Heading of the plot.
        name: Its id.
        split: What distinguishes the series: `block_bytes`, `rw_pct` or `queue_depth`.
    """
    label, factor = words.metric(metric)
    groups: dict[float | None, list[tuple[float, float | None]]] = {}
    for cell in cells:
        if cell.round is not None:
            found = cell.number(metric)
            point = (float(cell.round), None if found is None else found * factor)
            groups.setdefault(cell.number(split), []).append(point)
    write = WRITTEN.get(split, _depth)
    order = sorted(groups, key=lambda at: -1.0 if at is None else at)
    series = tuple(
        Series(write(at), [x for x, _ in groups[at]], [y for _, y in groups[at]]) for at in order
    )
    rounds = [cell.round for cell in cells if cell.round is not None]
    plot = Plot(
        name,
        title,
        round_axis(rounds),
        Axis(label, zero=True),
        series,
        ordered=len(series) > 2,
    )
    return plot if plot.drawable else None


def _depth(queue_depth: float | None) -> str:
    return "?" if queue_depth is None else f"QD {queue_depth:g}"


# How the values that distinguish series are written.
WRITTEN = {"block_bytes": words.block, "rw_pct": words.mix}


def round_axis(rounds: Sequence[int]) -> Axis:
    """Return the axis of rounds, whose ticks are whole numbers."""
    last = max(rounds, default=1)
    first = min(rounds, default=1)
    step = max(1, -(-(last - first) // 12))
    return Axis("round", ticks=tuple((float(r), str(r)) for r in range(first, last + 1, step)))


def lead(states: Sequence[pts.Steady]) -> str:
    """Return what came of some tracking variables, and the rule."""
    if not states:
        return ""
    found = [f"{name(steady, place)}: {verdict(steady)}." for place, steady in enumerate(states)]
    rule = (
        "Steady is: over five rounds the values spread by at most 20 % of their mean, and the "
        "line fitted to them changes by at most 10 % of it."
    )
    return " ".join([*found, rule])


def _of_variable(steady: pts.Steady, place: int, suffix: str, count: int) -> Iterator[Item]:
    if count > 1:
        suffix += f"-{place + 1}"
    if _by_round(steady):
        yield tracked_plot(steady, place, suffix)
    if steady.known:
        yield _window_plot(steady, place, suffix)
        yield _determination(steady, place, suffix)


def _by_round(steady: pts.Steady) -> list[tuple[int, float]]:
    return [(one.round, one.value) for one in steady.values_by_round if one.value is not None]


def _line(steady: pts.Steady) -> dict[str, float | None]:
    """Return what the rule computed: as stated, and from the values where it is not."""
    values = [float(value) for value in steady.known]
    again = steady_state(values).to_dict() if len(values) == WINDOW_ROUNDS else {}
    stated = {key: getattr(steady, key) for key in NUMBERS}
    found = {key: again.get(key) if one is None else float(one) for key, one in stated.items()}
    # Below this share of the mean is the rounding of the sums, not the drive.
    least = ROUNDING * abs(found["average"] or 0.0)
    return {key: 0.0 if one is not None and abs(one) < least else one for key, one in found.items()}


def _digits(mean: float | None) -> int:
    """Return the decimals of five digits of a mean: what differs from it is written with as many.

    >>> _digits(54.83), _digits(0.4366), _digits(229043.0), _digits(None)
    (3, 5, 0, 3)
    """
    return max(0, 4 - math.floor(math.log10(abs(mean)))) if mean else 3


def _window_plot(steady: pts.Steady, place: int, suffix: str) -> Plot:
    label, factor = words.metric(steady.tracking.metric)
    found = _line(steady)
    rounds = [float(number) for number in steady.window]
    ends = [rounds[0], rounds[-1]]
    lines = []
    average, slope, intercept = found["average"], found["slope"], found["intercept"]
    if average is not None:
        mean = average * factor
        lines += [
            Series("mean", ends, [mean, mean], draw="line", colour=2),
            Series("110 % of the mean", ends, [1.1 * mean] * 2, draw="dashed", colour=GREY),
            Series("90 % of the mean", ends, [0.9 * mean] * 2, draw="dashed", colour=GREY),
        ]
    if slope is not None and intercept is not None:
        fitted = [(intercept + slope * step) * factor for step in (0, len(rounds) - 1)]
        lines.append(Series("fitted line", ends, fitted, draw="line", colour=1))
    values = [value * factor for value in steady.known]
    lines.append(Series(name(steady, place), rounds, values, draw="points", colour=0))
    return Plot(
        f"window{suffix}",
        f"Steady-state window: {name(steady, place)}",
        Axis("round", ticks=tuple((number, f"{number:g}") for number in rounds)),
        Axis(label),
        tuple(lines),
        f"Steady state {verdict(steady)}.",
    )


# Next to the rule of the specification: whether a simulated drive had to collect meanwhile.
COLLECTED = {
    "seen": "yes", "none": "no", "not_applicable": "not needed", "unknown": "unknown",
}  # fmt: skip


def _determination(steady: pts.Steady, place: int, suffix: str) -> Table:
    label, factor = words.metric(steady.tracking.metric)
    found = {key: None if value is None else value * factor for key, value in _line(steady).items()}
    average = found["average"]

    def share(key: str) -> str:
        value = found[key]
        return f"{value / average * 100:.2f} %" if value is not None and average else words.NOTHING

    def holds(measured: str, allowed: str) -> str:
        left, right = found[measured], found[allowed]
        if left is None or right is None:
            return words.NOTHING
        return "yes" if left <= right * (1 + 1e-9) else "no"

    rows: list[tuple[float | str | None, ...]] = [
        ("Mean of the window", average, "", "", ""),
        (
            "Spread, largest less smallest",
            found["excursion"],
            share("excursion"),
            found["excursion_allowed"],
            holds("excursion", "excursion_allowed"),
        ),
        (
            "Change of the fitted line",
            found["slope_excursion"],
            share("slope_excursion"),
            found["slope_allowed"],
            holds("slope_excursion", "slope_allowed"),
        ),
    ]
    if steady.collection:
        rows.append(
            ("Garbage collected in each round", COLLECTED.get(steady.collection, ""), "", "", "")
        )
    return Table(
        f"determination{suffix}",
        f"Steady-state determination: {name(steady, place)}",
        (f"{label}", "measured", "of the mean", "allowed", "holds"),
        tuple(rows),
        _formula(steady, found, label),
        digits=_digits(average),
    )


def _formula(steady: pts.Steady, found: dict[str, float | None], label: str) -> str:
    slope, intercept = found["slope"], found["intercept"]
    if slope is None or intercept is None:
        return ""
    at_zero = intercept - slope * steady.window[0]
    sign = "+" if at_zero >= 0 else "−"
    digits = _digits(found["average"])
    # The line runs over several rounds: its slope has a digit more.
    slope_text = f"{slope:.{digits + 1}f}" if slope else "0"
    line = f"{slope_text} · R {sign} {abs(at_zero):.{digits}f}".replace("-", "−")
    return f"Fitted line: {label} = {line}, where R is the round."
