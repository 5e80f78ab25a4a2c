"""Charts of models: RBER over a stress, the table of the benchmark page, and cell states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from opennandlab.reliability.code_limit import CodeLimit
from opennandlab.reliability.model import Model, StatesUnderStress, load_model
from opennandlab.reliability.page_table import PAGE
from opennandlab.reports.figure import colours
from opennandlab.reports.figure.model import Axis, Draw, Mark, Number, Plot, Series

LABELS = {
    "pe_cycles": "P/E cycles",
    "retention_h": "hours since programming",
    "temperature_c": "temperature, °C",
    "reads": "reads per page of the block",
    "page_type": "page",
}
UNITS = {"pe_cycles": "P/E", "retention_h": "h", "temperature_c": "°C", "reads": "reads"}
# Models beside the page: its own curve, measured flash, and the states fitted to it. Those left out
# of `page_table` lie on the curve of `kim`, or between its ends.
PAGE_MODELS = ("weibull", "kim", "tlc")
RBER_AXIS = Axis("raw bit error rate (RBER)", "log")
# More lines than these cannot be distinguished.
LINES_MAX = 12
# Bands around more lines than these hide them.
BANDS_MAX = 6
# Marks a limit that is extrapolated below the first point of the table of a code.
EXTRAPOLATED = "*"
# Stresses whose largest value is more than this multiple of the least lie on a logarithmic axis.
LINEAR_RATIO_MAX = 100.0
# A limit further from the curves would leave most of the figure empty.
LIMIT_DISTANCE_DECADES = 1.0

# One value for each stress that varies, in the order of their names.
Key = tuple[Any, ...]


class Look(NamedTuple):
    """Places of a line in the palette and in the list of strokes."""

    colour: int
    stroke: int


def rber_chart(
    rows: Sequence[dict[str, Any]],
    title: str = "Raw bit error rate",
    limit: CodeLimit | None = None,
    cv: float = 0.0,
) -> Plot:
    """Return RBER over the stress with most values, one line for each combination of the others.

    Each stress has a colour; if several page types are drawn too, each of these has a stroke.

    Args:
        rows: One mapping per point: stresses, `page_type` and `rber`.
        title: Title of the chart.
        limit: Error rates that a code corrects, drawn as level lines.
        cv: Relative standard deviation of the error rates of pages, as a band around each line.

    Returns:
        The chart; at most twelve lines, spread evenly over the combinations.
    """
    values = {name: sorted({row[name] for row in rows}) for name in UNITS}
    x = max(values, key=lambda name: len(values[name]))
    others = [name for name in LABELS if name != x and len({row[name] for row in rows}) > 1]
    groups: dict[Key, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in others), []).append(row)
    keys = _drawn_keys(list(groups))
    has_bands = cv > 0.0 and len(keys) <= BANDS_MAX
    lines = [
        line
        for key, look in zip(keys, _looks(others, keys), strict=True)
        for line in _lines(groups[key], x, _named(others, key), look, cv if has_bands else 0.0)
    ]
    notes = []
    if len(keys) < len(groups):
        notes.append(f"{len(groups) - len(keys)} of {len(groups)} combinations are not drawn.")
    if cv > 0.0 and not has_bands:
        notes.append(f"Bands around {len(keys)} lines would hide them and are left out.")
    marks, beyond = _limits(limit, [row["rber"] for row in rows])
    is_wide = values[x][0] > 0.0 and values[x][-1] > LINEAR_RATIO_MAX * values[x][0]
    is_extrapolated = any(mark.text.endswith(EXTRAPOLATED) for mark in marks)
    return Plot(
        "rber",
        title,
        Axis(LABELS[x], "log" if is_wide else "linear"),
        RBER_AXIS,
        (*lines, *_legend(has_bands=has_bands, is_extrapolated=is_extrapolated)),
        " ".join([*notes, *beyond]),
        tuple(marks),
        # If a single stress has colours, they follow its values.
        ordered=len([name for name in others if name != "page_type"]) == 1 and len(keys) > 2,
        is_tall=True,
    )


def _drawn_keys(keys: list[Key]) -> list[Key]:
    """Return the keys of the lines that are drawn, spread evenly over all."""
    if len(keys) <= LINES_MAX:
        return keys
    places = np.linspace(0, len(keys) - 1, LINES_MAX).round().astype(int)
    return [keys[place] for place in places]


def _legend(*, has_bands: bool, is_extrapolated: bool) -> Iterator[Series]:
    """Yield series without values, which explain bands and marks in the legend."""
    nothing: list[Number] = [None]
    if has_bands:
        yield Series(
            "± one standard deviation of pages", nothing, nothing, "band", -1,
            low=nothing, high=nothing, is_key=True,
        )  # fmt: skip
    if is_extrapolated:
        yield Series(
            f"{EXTRAPOLATED} table of the code, extrapolated", nothing, nothing, "points", -1,
            marks=["none"], is_key=True,
        )  # fmt: skip


def _named(others: Sequence[str], key: Key) -> str:
    """Return the name of a line: its value of each stress that varies."""
    named = zip(others, key, strict=True)
    return ", ".join(_label(name, value) for name, value in named) or "mean"


def _looks(others: Sequence[str], keys: Sequence[Key]) -> list[Look]:
    """Return the look of each line."""
    if len(others) == 1:
        return [Look(at, 0) for at in range(len(keys))]
    if "page_type" not in others:
        return [Look(at, at // len(colours.NAMED)) for at in range(len(keys))]
    place = others.index("page_type")
    stresses = list(dict.fromkeys(key[:place] + key[place + 1 :] for key in keys))
    pages = list(dict.fromkeys(key[place] for key in keys))
    return [
        Look(stresses.index(key[:place] + key[place + 1 :]), pages.index(key[place]))
        for key in keys
    ]


def _lines(
    rows: Sequence[dict[str, Any]], x: str, name: str, look: Look, cv: float
) -> Iterator[Series]:
    """Yield the line of a combination, and the band around it."""
    places, rates = [row[x] for row in rows], [row["rber"] for row in rows]
    # A line of one point would not be seen.
    draw: Draw = "line" if len(rows) > 1 else "dots"
    yield Series(name, places, rates, draw, look.colour, stroke=look.stroke)
    if cv > 0.0:
        low = [max(rate * (1.0 - cv), 0.0) or None for rate in rates]
        high = [min(rate * (1.0 + cv), 0.5) for rate in rates]
        yield Series(
            f"{name}, band", places, rates, "band", look.colour, low=low, high=high, legend=""
        )


def _limits(limit: CodeLimit | None, rates: Sequence[float]) -> tuple[list[Mark], list[str]]:
    """Return the limits of a code: near the curves as level lines, others as notes."""
    if limit is None:
        return [], []
    at = f"UBER {limit.uber_max:g}, {limit.drive_class}"
    known = [(limit.rber, at + EXTRAPOLATED * limit.is_extrapolated)]
    if limit.correctable_rber is not None:
        known.append((limit.correctable_rber, "t of n bits wrong"))
    marks, notes = [], []
    away = 10**LIMIT_DISTANCE_DECADES
    positive = [rate for rate in rates if rate > 0.0] or [limit.rber]
    for value, text in known:
        if min(positive) / away <= value <= max(positive) * away:
            marks.append(Mark("y", value, text))
        else:
            notes.append(f"Beyond the axis: {text}, at RBER {value:.3g}.")
    return marks, notes


def page_chart() -> Plot:
    """Return the rows of the OpenNANDLab 2.0 page and three models over P/E cycles."""
    cycles = np.linspace(0, 5000, 101)
    lines = [Series("the page", list(map(float, PAGE)), list(PAGE.values()), "points")]
    lines += [
        Series(name, cycles.tolist(), load_model(name).rber(cycles).tolist(), "line")
        for name in PAGE_MODELS
    ]
    title = "RBER against P/E cycles"
    return Plot("table", title, Axis("P/E cycles"), Axis("RBER", "log"), tuple(lines))


def states_chart(model: Model, stresses: dict[str, dict[str, float]], title: str) -> Plot:
    """Return the voltage distributions of a cell under several stresses, with the default levels.

    Args:
        model: A model with states.
        stresses: The stress of each line, by name of the line.
        title: Title of the chart.

    Returns:
        The chart; read levels are drawn as ticks of the x axis.
    """
    found = {name: model.states(**stress) for name, stress in stresses.items()}
    first = next(iter(found.values()))
    low = min(states.mean[0] - 3 * states.sigma[0] for states in found.values())
    high = max(states.mean[-1] + 4 * states.sigma[-1] for states in found.values())
    volts = np.linspace(low, high, 1200)
    lines = tuple(
        Series(name, volts.tolist(), _density(states, volts), "line")
        for name, states in found.items()
    )
    ticks = tuple((float(level), f"{index}") for index, level in enumerate(first.default_levels, 1))
    return Plot(
        "states",
        title,
        Axis("threshold voltage; read levels are numbered", ticks=ticks),
        Axis("share of cells, per gap", zero=True),
        lines,
    )


def _density(
    states: StatesUnderStress, volts: np.ndarray[Any, np.dtype[np.float64]]
) -> list[float]:
    z = (volts[:, None] - states.mean) / states.sigma
    density = np.exp(-0.5 * z * z) / (states.sigma * np.sqrt(2 * np.pi))
    total: list[float] = density.mean(axis=1).tolist()
    return total


def _label(name: str, value: object) -> str:
    return f"{value} page" if name == "page_type" else f"{value:g} {UNITS[name]}"
