"""Numbers side by side: values, deltas against the first, and which is best and worst.

Best and worst are named if the direction is known and they can be distinguished: the difference is
more than rounding and chance, and intervals do not overlap. Documents that are as good as the best
are named with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import structs

from opennandlab.comparing.model import Better, Number
from opennandlab.documents.comparison import Row, delta_pct

# Values that differ by less have a delta that is written as 0.0 %.
ROUNDING_RATIO = 5e-4
# Differences of two single runs that are taken for chance if no other seeds show more, a ratio:
# assumed, about twice the spread of rates and WAF over seeds on small drives.
ASSUMED = 0.05


def rows(numbers: Sequence[Mapping[str, Number]]) -> dict[str, Row]:
    """Return a row for each number that any document has, by path."""
    paths = merged([list(one) for one in numbers])
    return {path: row([one.get(path) for one in numbers]) for path in paths}


def with_chance(row: Row, chance: float) -> Row:
    """Return a row in which chance is neither best nor worst.

    Args:
        row: The row.
        chance: Relative difference below which two of its values may be chance.
    """
    drawn = structs.replace(row, chance_pct=100.0 * chance)
    low, high = _ends(drawn)
    best, worst = extremes(row.values, low, high, row.better)
    return structs.replace(drawn, best=best, worst=worst)


def without_ends(row: Row) -> Row:
    """Return a row of equal runs, of which any difference is one of the programs."""
    blank = [None] * len(row.values)
    best, worst = extremes(row.values, blank, blank, row.better)
    return structs.replace(row, low=None, high=None, best=best, worst=worst)


def without_rank(row: Row) -> Row:
    """Return a row of which nothing is called best or worst."""
    return structs.replace(row, better=None, best=None, worst=None)


def may_be_chance(row: Row, place: int) -> bool:
    """Return whether a value differs from the first by what chance or their intervals explain."""
    first, value = row.values[0], row.values[place]
    if first is None or value is None or _is_rounding(first, value):
        return False
    ends = [_interval(*one) for one in zip(row.values, *_ends(row), strict=True)]
    return not _apart(row.values, ends, 0, place)


def _ends(row: Row) -> tuple[list[float | None], list[float | None]]:
    """Return the ends of the intervals of values, those that chance gives them at least."""
    blank = [None] * len(row.values)
    low, high = list(row.low or blank), list(row.high or blank)
    if row.chance_pct is None:
        return low, high
    for place, value in enumerate(row.values):
        if value is not None:
            half = abs(value) * row.chance_pct / 200
            least, most = low[place], high[place]
            low[place] = value - half if least is None else min(least, value - half)
            high[place] = value + half if most is None else max(most, value + half)
    return low, high


def main_paths(numbers: Sequence[Mapping[str, Number]], paths: Sequence[str]) -> list[str]:
    """Return which of the paths are shown without `--all`."""
    main = {path for one in numbers for path, number in one.items() if number.is_main}
    return [path for path in paths if path in main]


def merged(lists: Sequence[Sequence[str]]) -> list[str]:
    """Return all names in an order in which each list's is kept, as far as they agree.

    >>> merged([["a", "c"], ["a", "b", "c"], ["c", "d"]])
    ['a', 'b', 'c', 'd']
    """
    found = list(lists[0])
    for names in lists[1:]:
        known = set(found)
        if known.issuperset(names):
            continue
        at = 0
        for name in names:
            if name in known:
                at = found.index(name) + 1
            else:
                found.insert(at, name)
                at += 1
    return found


def row(numbers: Sequence[Number | None]) -> Row:
    """Return one number in all documents; None for those that lack it."""
    first = next(number for number in numbers if number is not None)
    values = [number.value if number else None for number in numbers]
    low = [number.low if number else None for number in numbers]
    high = [number.high if number else None for number in numbers]
    has_interval = any(one is not None for one in (*low, *high))
    best, worst = extremes(values, low, high, first.better)
    return Row(
        label=first.label,
        better=first.better,
        values=values,
        delta_pct=[delta_pct(values[0], value) for value in values],
        low=low if has_interval else None,
        high=high if has_interval else None,
        best=best,
        worst=worst,
    )


def extremes(
    values: Sequence[float | None],
    low: Sequence[float | None],
    high: Sequence[float | None],
    better: Better | None,
) -> tuple[list[int] | None, list[int] | None]:
    """Return the places of the best and the worst, with those that are as good or bad.

    None if no direction is known or best and worst cannot be distinguished, and for more than half
    of the documents: a mark that most have distinguishes none.

    >>> nothing = [None] * 4
    >>> extremes([2.0, 1.0, 3.0, 2.5], nothing, nothing, "lower")
    ([1], [2])
    >>> extremes([2.0, 2.0, 3.0, 3.0], nothing, nothing, "higher")
    ([2, 3], [0, 1])
    >>> extremes([2.0, 2.0, 2.0, 3.0], nothing, nothing, "lower")
    (None, [3])
    >>> extremes([2.0, 1.9, 3.0], [1.8, 1.7, 2.9], [2.1, 2.1, 3.1], "lower")
    (None, [2])
    """
    known = [
        place for place, value in enumerate(values) if value is not None and math.isfinite(value)
    ]
    if better is None or len(known) < 2:
        return None, None
    ends = [_interval(*one) for one in zip(values, low, high, strict=True)]

    def order(place: int) -> float:
        return values[place] or 0.0

    least, most = min(known, key=order), max(known, key=order)
    if not _apart(values, ends, least, most):
        return None, None
    like_least, like_most = (
        {place for place in known if not _apart(values, ends, place, end)} for end in (least, most)
    )
    found = [
        sorted(places) if 2 * len(places) <= len(known) else None
        for places in (like_least - like_most, like_most - like_least)
    ]
    return (found[0], found[1]) if better == "lower" else (found[1], found[0])


def _interval(
    value: float | None, low: float | None, high: float | None
) -> tuple[float, float] | None:
    if value is None:
        return None
    return value if low is None else low, value if high is None else high


def _apart(
    values: Sequence[float | None],
    ends: Sequence[tuple[float, float] | None],
    one: int,
    other: int,
) -> bool:
    """Return whether two values differ by more than rounding, and their intervals do not meet."""
    first, second = values[one], values[other]
    mine, theirs = ends[one], ends[other]
    if first is None or second is None or mine is None or theirs is None:
        return False
    if _is_rounding(first, second):
        return False
    return mine[1] < theirs[0] or theirs[1] < mine[0]


def _is_rounding(first: float, second: float) -> bool:
    """Return whether two values are equal as a table writes them."""
    is_close = math.isclose(first, second, rel_tol=ROUNDING_RATIO)
    return is_close or f"{first:.4g}" == f"{second:.4g}"
