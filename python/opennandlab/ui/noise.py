"""Numbers of a comparison relative to the first run, as a drawing with the band of chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from opennandlab.base.words import number
from opennandlab.comparing.chance import Noise
from opennandlab.comparing.side import Side

COLOURS = 8
# The drawing: pixels of a row, and where the axis is.
ROW, LEFT, RIGHT, HEAD = 24, 168, 328, 30
ROWS_MAX = 24


@dataclass(frozen=True)
class Bar:
    """A number of a comparison as a row of the drawing.

    Args:
        y: Middle of the row.
        label: What it is.
        band: Left end and width of the noise.
        dots: Position and colour of each run, and its value in words.
    """

    y: float
    label: str
    band: tuple[float, float]
    dots: tuple[tuple[float, int, str], ...]


@dataclass(frozen=True)
class Factors:
    """Runs relative to the first, a row for each number, over an axis of factors."""

    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]
    names: tuple[tuple[int, str], ...]
    height: int


def factors(side: Side, found: Noise, paths: Sequence[str]) -> Factors | None:
    """Return the main numbers of a comparison as a drawing; None where nothing is relative."""
    names = side.comparison.names
    rows = []
    for path in paths:
        row = side.comparison.metrics[path]
        first = row.values[0]
        others = [
            (value / first, place) for place, value in enumerate(row.values)
            if value is not None and first and value / first > 0
        ]  # fmt: skip
        if len(others) > 1:
            rows.append((path, row, others))
    rows = rows[:ROWS_MAX]
    if not rows:
        return None
    reach = max(abs(math.log2(ratio)) for _, _, others in rows for ratio, _ in others)
    reach = min(max(reach * 1.1, 0.3), 12.0)

    def at(ratio: float) -> float:
        share = max(-1.0, min(1.0, math.log2(ratio) / reach))
        return LEFT + (RIGHT - LEFT) * (1 + share) / 2

    bars = []
    for index, (path, row, others) in enumerate(rows):
        ratio = min(found.of(path), 0.999)
        left, right = at(1 - ratio), at(1 / (1 - ratio))
        label = row.label or path
        dots = tuple(
            (at(one), place % COLOURS, f"{names[place]}: {label} {number(row.values[place])}")
            for one, place in others
        )
        bars.append(Bar(HEAD + ROW * (index + 0.5), label, (left, right - left), dots))
    return Factors(
        tuple(bars), tuple((at(one), text) for one, text in _ticks(reach)),
        tuple((place % COLOURS, name) for place, name in enumerate(names)), HEAD + ROW * len(rows),
    )  # fmt: skip


def _ticks(reach: float) -> list[tuple[float, str]]:
    """Return the ticks of an axis of factors; `reach`: its doublings to both sides.

    >>> [text for _, text in _ticks(0.5)], [text for _, text in _ticks(2.5)]
    (['-20 %', 'same', '+25 %'], ['÷4', '÷2', 'same', '×2', '×4'])
    """
    if reach < 1:
        ends = (0.8, 1.25) if reach > 0.33 else (0.9, 1.1)
        texts = [f"{100 * (one - 1):+.0f} %" for one in ends]
        return [(ends[0], texts[0]), (1.0, "same"), (ends[1], texts[1])]
    step = max(1, math.ceil(reach / 3))
    powers = [step * one for one in range(-3, 4) if abs(step * one) <= reach]
    return [
        (2.0**one, "same" if one == 0 else f"{'×' if one > 0 else '÷'}{2 ** abs(one)}")
        for one in powers
    ]
