"""Points as lines across an axis for each key, for more keys than a plot can show.

The drawing is plain SVG, which needs no script: an axis for each key that differs, and the number
at the right. A value of a key leads to the drawing of its points alone. In a narrow window the axes
are below each other, from the least value at the left to the greatest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

from opennandlab.base.plain import is_number
from opennandlab.base.words import number
from opennandlab.reports.runs import shown
from opennandlab.stats.groups import grouped
from opennandlab.store import Store
from opennandlab.store.entry import Scalar
from opennandlab.store.shown import MAIN, shortened
from opennandlab.studies.sweeps.drawing import Point
from opennandlab.ui.sweeping import WIDE, level

AXES_MAX, LINES_MAX, TICKS_MAX = 10, 400, 9
TOP, BOTTOM, WIDTH, SIDE = 56.0, 330.0, 960.0, 84.0
# Below the numbers of a key, points that do not have it.
NONE_GAP = 30.0
# Letters of a label that fit between two axes; heads have two rows, and so more room if these are
# far apart.
LETTERS_MAX, HEAD_LETTERS_MAX = 18, 40
LETTER = 7.0
# The same in a narrow window: from the top to the first axis, and to the next one; ends of axes.
DOWN_TOP, DOWN_STEP, LEFT, RIGHT = 26.0, 132.0, 14.0, 346.0


@dataclass(frozen=True)
class Tick:
    """A value on an axis: its position, its text, and the value of its points."""

    y: float
    text: str
    value: Scalar = None


@dataclass(frozen=True)
class Upright:
    """An axis: its position, its key, its head and its values."""

    x: float
    name: str
    head: str
    ticks: tuple[Tick, ...]


@dataclass(frozen=True)
class Level:
    """An axis in a narrow window: its height, its key, its head and its values from the left."""

    y: float
    name: str
    head: str
    ticks: tuple[tuple[float, str, Scalar], ...]


@dataclass(frozen=True)
class Parallel:
    """A drawing of parallel coordinates.

    Args:
        axes: The keys, and the number last.
        lines: For each group of seeds its path, its colour from 0, and its values in words.
        note: The part that is left out; empty for none.
        ends: The least and the greatest value of the number.
        levels: The axes in a narrow window.
        falls: The path of each line there.
    """

    axes: tuple[Upright, ...]
    lines: tuple[tuple[str, int, str], ...]
    note: str
    ends: tuple[str, str]
    levels: tuple[Level, ...]
    falls: tuple[str, ...]


def parallel(store: Store, where: Sequence[str], metric: str) -> Parallel | None:
    """Return points of a store as parallel coordinates; None without a key that differs.

    Args:
        store: The store.
        where: Conditions that the points hold.
        metric: The number that lines end at and are coloured by.

    Raises:
        StoreError: for an invalid condition, and for a name that no point has.
    """
    known = store.names(where).coordinates
    columns = [*known, metric]
    rows = [row for row in store.rows(where=[*where, "status=done"], columns=columns)
            if isinstance(row[metric], float)]  # fmt: skip
    varied = [name for name in known if len({_kind(row[name]) for row in rows}) > 1]
    points = [
        Point({name: row[name] for name in varied[:AXES_MAX]}, {metric: float(row[metric] or 0.0)})
        for row in rows
    ]  # fmt: skip
    if not varied or not points:
        return None
    groups = grouped(points)
    drawn = groups[:LINES_MAX]
    means = [group.means[metric].mean for group in drawn]
    places, uprights = _axes(varied[:AXES_MAX], [group.coordinates for group in drawn])
    low, high = min(means), max(means)
    is_log = low > 0 and high > WIDE * low
    at = _scale(low, high, is_log=is_log)
    ticks = tuple(Tick(at(one), number(one)) for one in dict.fromkeys((low, high)))
    last = Upright(WIDTH - SIDE, metric, MAIN.get(metric, _cut(metric)), ticks)
    short = shortened(varied)
    lines, falls = [], []
    for group, mean in zip(drawn, means, strict=True):
        ys = [place(group.coordinates[name]) for name, place in places.items()]
        path = [(axis.x, y) for axis, y in zip((*uprights, last), (*ys, at(mean)), strict=True)]
        falls.append(_fall([_across(y) for _, y in path]))
        said = ", ".join(f"{short[name]} {shown(group.coordinates[name])}" for name in places)
        lines.append((_path(path), level(mean, low, high, is_log=is_log),
                      f"{said}: {last.head} {number(mean)}"))  # fmt: skip
    left = [
        *([f"{LINES_MAX} of {number(len(groups))} lines"] if len(groups) > LINES_MAX else []),
        *([f"{AXES_MAX} of {len(varied)} keys"] if len(varied) > AXES_MAX else []),
    ]
    note = f"shown: {', '.join(left)}" if left else ""
    axes = (*uprights, last)
    heads = [*(short[name] for name in places), last.head]
    levels = tuple(
        _level(at, axis, head) for at, (axis, head) in enumerate(zip(axes, heads, strict=True))
    )
    ends = (number(low), number(high))
    return Parallel(axes, tuple(lines), note, ends, levels, tuple(falls))


def _axes(
    names: Sequence[str], coordinates: Sequence[Mapping[str, Scalar]]
) -> tuple[dict[str, Callable[[Scalar], float]], list[Upright]]:
    """Return for each key where a value is, and its axis."""
    short = shortened(names)
    step = (WIDTH - 2 * SIDE) / len(names)
    places: dict[str, Callable[[Scalar], float]] = {}
    uprights = []
    for index, name in enumerate(names):
        values = list(dict.fromkeys(one[name] for one in coordinates))
        numbers = sorted({float(one) for one in values if is_number(one)})
        has_none = None in values
        if numbers and all(is_number(one) or one is None for one in values):
            low, high = numbers[0], numbers[-1]
            scale = _scale(low, high, is_log=low > 0 and high > WIDE * low,
                           bottom=BOTTOM - NONE_GAP * has_none)  # fmt: skip
            places[name] = _of_number(scale)
            values = [*numbers, *([None] if has_none else [])]
        else:
            rows = {_kind(one): float(row) for row, one in enumerate(values)}
            places[name] = _of_word(rows, _scale(0.0, len(values) - 1.0, is_log=False))
        every = -(-len(values) // TICKS_MAX)
        ticks = (Tick(places[name](one), _cut(shown(one) or "none"), one)
                 for one in dict.fromkeys([*values[::every], values[-1]]))  # fmt: skip
        head = _cut(short[name], min(HEAD_LETTERS_MAX, max(LETTERS_MAX, int(1.6 * step / LETTER))))
        uprights.append(Upright(SIDE + index * step, name, head, tuple(ticks)))
    return places, uprights


def _of_number(scale: Callable[[float], float]) -> Callable[[Scalar], float]:
    return lambda value: BOTTOM if value is None else scale(float(value))


def _of_word(
    rows: Mapping[tuple[str, Scalar], float], scale: Callable[[float], float]
) -> Callable[[Scalar], float]:
    return lambda value: scale(rows[_kind(value)])


def _scale(
    low: float, high: float, *, is_log: bool, bottom: float = BOTTOM
) -> Callable[[float], float]:
    """Return where a value is between the ends of an axis, the greatest on top."""

    def share(value: float) -> float:
        if high <= low:
            return 0.5
        return log(value / low) / log(high / low) if is_log else (value - low) / (high - low)

    return lambda value: bottom - share(value) * (bottom - TOP)


def _path(points: Sequence[tuple[float, float]]) -> str:
    """Return a curve that is level at each axis, so that lines can be followed."""
    (x, y), *_ = points
    parts = [f"M{x:.1f} {y:.1f}"]
    for (left, first), (right, last) in pairwise(points):
        middle = (left + right) / 2
        parts.append(f"C{middle:.1f} {first:.1f} {middle:.1f} {last:.1f} {right:.1f} {last:.1f}")
    return "".join(parts)


def _across(y: float) -> float:
    """Return the place in a narrow window of a height on an upright axis."""
    return LEFT + (BOTTOM - y) / (BOTTOM - TOP) * (RIGHT - LEFT)


def _level(at: int, axis: Upright, head: str) -> Level:
    """Return an axis as it is in a narrow window; its texts are as long as their distance."""
    places = sorted({_across(tick.y) for tick in axis.ticks})
    gap = min((right - left for left, right in pairwise(places)), default=RIGHT - LEFT)
    ticks = tuple(
        (_across(tick.y), _cut(tick.text, max(2, int(gap / LETTER))), tick.value)
        for tick in axis.ticks
    )
    return Level(DOWN_TOP + at * DOWN_STEP, axis.name, _cut(head, HEAD_LETTERS_MAX), ticks)


def _fall(places: Sequence[float]) -> str:
    """Return a curve from axis to axis in a narrow window, upright at each."""
    x, y = places[0], DOWN_TOP
    parts = [f"M{x:.1f} {y:.1f}"]
    for following in places[1:]:
        middle, end = y + DOWN_STEP / 2, y + DOWN_STEP
        parts.append(
            f"C{x:.1f} {middle:.1f} {following:.1f} {middle:.1f} {following:.1f} {end:.1f}"
        )
        x, y = following, end
    return "".join(parts)


def _kind(value: Scalar) -> tuple[str, Scalar]:
    return (type(value).__name__ if isinstance(value, bool) else "", value)


def _cut(text: str, letters: int = LETTERS_MAX) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1]}…"
