"""Noise of a comparison, and a drawing of the rest.

Two runs of one setting differ by their seeds. The store has other seeds of the compared settings:
their spread, relative to the mean and pooled over the settings, gives the difference that two runs
have by chance at the level of 5 % (least significant difference). A smaller one is not coloured.
Without other seeds, differences below `ASSUMED` are taken for noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from opennandlab.base.words import number
from opennandlab.comparing.rows import extremes
from opennandlab.comparing.side import Side
from opennandlab.documents.comparison import Row
from opennandlab.stats.student import quantile
from opennandlab.store import Entry, Store
from opennandlab.store.entry import settings_hash
from opennandlab.ui.listing import equals

# Differences of two single runs that are taken for noise where no other seed says more, a ratio:
# assumed, about twice the spread of rates and WAF over seeds on small drives.
ASSUMED = 0.05
COLOURS = 8
# The drawing: pixels of a row, and where the axis is.
ROW, LEFT, RIGHT, HEAD = 24, 168, 328, 30
ROWS_MAX = 24


@dataclass(frozen=True)
class Noise:
    """By how much runs differ by chance.

    Args:
        ratios: Relative least significant difference of each number, from other seeds.
        seeds: Runs that this is from.
    """

    ratios: Mapping[str, float]
    seeds: int

    def of(self, path: str) -> float:
        """Return the relative difference below which two values are alike."""
        return self.ratios.get(path, ASSUMED)

    @property
    def text(self) -> str:
        """Which differences are coloured, as a sentence."""
        if self.ratios:
            return (
                f"Coloured is what differs by more than chance (5 % level), by the spread over "
                f"{self.seeds} runs of these settings with other seeds."
            )
        return (
            f"The store has no other seeds of these settings, so it is not known what is chance: "
            f"only differences of more than {100 * ASSUMED:.0f} % are coloured."
        )


def noise(store: Store, entries: Sequence[Entry], paths: Sequence[str]) -> Noise:
    """Return by how much runs like these differ by chance.

    Args:
        store: Where their other seeds are.
        entries: The runs that are compared.
        paths: The numbers.
    """
    kinds = {(settings_hash(it.settings), it.verb, it.program, it.model_version) for it in entries}
    known = set(store.names().metrics).intersection(paths)
    squares = dict.fromkeys(known, 0.0)
    freedom = dict.fromkeys(known, 0)
    count = 0
    for settings, verb, program, model in kinds:
        where = [equals("settings", settings), equals("verb", verb), equals("program", program),
                 f"model_version={model}", "status=done"]  # fmt: skip
        rows = store.rows(where=where, columns=["key", *known])
        values = {name: dict(zip(rows.column("key"), rows.column(name), strict=True))
                  for name in known}  # fmt: skip
        seeds = set(rows.column("key"))
        count += len(seeds) if len(seeds) > 1 else 0
        for name, by_key in values.items():
            found = [one for one in by_key.values() if isinstance(one, float)]
            mean = sum(found) / len(found) if found else 0.0
            if len(found) > 1 and mean:
                squares[name] += sum((one / mean - 1.0) ** 2 for one in found)
                freedom[name] += len(found) - 1
    return Noise(
        {
            name: quantile(0.95, freedom[name]) * math.sqrt(2.0 * squares[name] / freedom[name])
            for name in known if freedom[name]
        },
        count,
    )  # fmt: skip


def without(side: Side, found: Noise) -> Side:
    """Return a comparison in which noise is neither best nor worst."""
    metrics = {path: _plain(row, found.of(path)) for path, row in side.comparison.metrics.items()}
    return replace(side, comparison=structs.replace(side.comparison, metrics=metrics))


def _plain(row: Row, ratio: float) -> Row:
    if row.low is not None or row.high is not None:
        return row
    low, high = (
        [None if one is None else one + sign * abs(one) * ratio / 2 for one in row.values]
        for sign in (-1, 1)
    )
    best, worst = extremes(row.values, low, high, row.better)
    return structs.replace(row, best=best, worst=worst)


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
