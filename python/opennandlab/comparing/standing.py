"""How each document compares with the first, in a sentence: what differs by more than chance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from opennandlab.base.words import number
from opennandlab.comparing.rows import may_be_chance
from opennandlab.comparing.words import change
from opennandlab.documents.comparison import Comparison, Row

# Of numbers that are better, or worse, the sentence names this many, the largest first.
NAMED_MAX = 3


def standing(found: Comparison, paths: Sequence[str]) -> list[str]:
    """Return a sentence for each document but the first, if there is something to report of it.

    Args:
        found: The comparison.
        paths: The rows that are ranked, those of its table.
    """
    rows = [row for path in paths if (row := found.metrics[path]).better is not None]
    said = [[*_parts(rows, place), *alone(found, place)] for place in range(1, len(found.names))]
    return [
        f"{name} against {found.names[0]}: {'; '.join(parts)}."
        for name, parts in zip(found.names[1:], said, strict=True)
        if parts
    ]


def alone(found: Comparison, place: int) -> Iterator[str]:
    """Yield how many numbers of a document and of the first only one of the two has."""
    rows = found.metrics.values()
    for one, other in ((0, place), (place, 0)):
        count = sum(it.values[one] is not None and it.values[other] is None for it in rows)
        if count:
            yield f"{count} number{'s' if count > 1 else ''} only in {found.names[one]}"


def _parts(rows: Sequence[Row], place: int) -> Iterator[str]:
    """Yield the numbers that are better, those that are worse, and whether others may be chance."""
    apart: dict[str, list[tuple[float, str]]] = {"better": [], "worse": []}
    chance = equal = False
    for row in rows:
        first, value, delta = row.values[0], row.values[place], row.delta_pct[place]
        if first is None or value is None:
            continue
        # What was 0 has no change in percent.
        is_new = delta is None and first != value
        text = f"{number(first)} to {number(value)}" if is_new else change(first, value, delta or 0)
        if may_be_chance(row, place):
            chance = True
        elif text == "0.0 %":
            equal = True
        else:
            way = "better" if (value < first) == (row.better == "lower") else "worse"
            # Behind the last comma of a label is its unit.
            name = (row.label or "").rpartition(", ")[0] or row.label
            size = math.inf if delta is None else abs(delta)
            apart[way].append((size, f"{name} ({text})"))
    for way, found in apart.items():
        if found:
            named = [text for _, text in sorted(found, key=lambda one: -one[0])[:NAMED_MAX]]
            rest = len(found) - len(named)
            yield f"{way} in {', '.join(named)}" + (f" and {rest} more" if rest else "")
    is_apart = any(apart.values())
    if chance:
        yield "the rest is within chance" if is_apart else "no difference beyond chance"
    elif equal and not is_apart:
        yield "no difference"
