"""Charts of models: RBER over whatever varies, the page's table, and the states of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opennandlab.reliability.model import Model, StatesUnderStress, load_model
from opennandlab.reliability.page_table import PAGE
from opennandlab.reports.figure.model import Axis, Plot, Series

LABELS = {
    "pe_cycles": "P/E cycles",
    "retention_h": "hours since programming",
    "temperature_c": "temperature, °C",
    "reads": "reads per page of the block",
    "page_type": "page",
}
UNITS = {"pe_cycles": "P/E", "retention_h": "h", "temperature_c": "°C", "reads": "reads"}
# More lines than colours cannot be told apart.
LINES_MAX = 6


def rber_chart(rows: Sequence[dict[str, Any]], title: str = "Raw bit error rate") -> Plot:
    """Return RBER over the stress with most values, one line for each combination of the others.

    Args:
        rows: One mapping per point: stresses, `page_type` and `rber`.
        title: Of the chart.

    Returns:
        The chart; at most six lines, spread evenly over the combinations.
    """
    values = {name: sorted({row[name] for row in rows}) for name in UNITS}
    x = max(values, key=lambda name: len(values[name]))
    others = [name for name in LABELS if name != x and len({row[name] for row in rows}) > 1]
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in others), []).append(row)
    keys = list(groups)
    if len(keys) > LINES_MAX:
        places = np.linspace(0, len(keys) - 1, LINES_MAX).round().astype(int)
        keys = [keys[place] for place in places]
    lines = tuple(
        Series(
            ", ".join(_label(name, value) for name, value in zip(others, key, strict=True))
            or "mean",
            [row[x] for row in groups[key]],
            [row["rber"] for row in groups[key]],
            "line",
        )
        for key in keys
    )
    left = len(groups) - len(keys)
    note = f"{left} of {len(groups)} combinations are not drawn." if left else ""
    return Plot("rber", title, Axis(LABELS[x]), Axis("RBER", "log"), lines, note)


def page_chart() -> Plot:
    """Return the rows of the OpenNANDLab 2.0 page and every model over P/E cycles."""
    cycles = np.linspace(0, 5000, 101)
    lines = [Series("the page", list(map(float, PAGE)), list(PAGE.values()), "points")]
    lines += [
        Series(name, cycles.tolist(), load_model(name).rber(cycles).tolist(), "line")
        for name in ("weibull", "kim", "tlc")
    ]
    title = "RBER against P/E cycles"
    return Plot("table", title, Axis("P/E cycles"), Axis("RBER", "log"), tuple(lines))


def states_chart(model: Model, stresses: dict[str, dict[str, float]], title: str) -> Plot:
    """Return the voltage distributions of a cell under several stresses, with the default levels.

    Args:
        model: A model with states.
        stresses: Name of a line to stress.
        title: Of the chart.

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
