"""A report on logarithmic scales: every axis of values that can have one, for those who ask for it.

What has a linear and a logarithmic form in the report keeps the logarithmic one. Bars keep theirs,
for their length is their value, and so does what is zero or below somewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from opennandlab.reports.figure.model import Plot, Relief
from opennandlab.reports.model import Chapter, Item, Report

LINEAR, LOG = ", linear scale", ", log scale"


def logarithmic(report: Report) -> Report:
    """Return a report whose axes of values are logarithmic where they can be."""
    return replace(report, chapters=tuple(map(_chapter, report.chapters)))


def _chapter(chapter: Chapter) -> Chapter:
    sections = tuple(
        replace(section, items=tuple(_items(section.items))) for section in chapter.sections
    )
    return replace(chapter, sections=sections)


def _items(items: Sequence[Item]) -> list[Item]:
    titles = {item.title for item in items}
    return [
        _scaled(item)
        for item in items
        if item.title.removesuffix(LINEAR) + LOG not in titles or item.title.endswith(LOG)
    ]


def _scaled(item: Item) -> Item:
    if isinstance(item, Plot) and item.y.scale == "linear" and _is_positive(item):
        axis = replace(item.y, scale="log", zero=False)
        return replace(item, y=axis, title=item.title.removesuffix(LINEAR) + LOG)
    if isinstance(item, Relief) and item.z.scale == "linear" and min(item.cells, default=0.0) > 0:
        axis = replace(item.z, scale="log", zero=False)
        return replace(item, z=axis, title=item.title + LOG, band=None)
    return item


def _is_positive(plot: Plot) -> bool:
    if any(line.draw in {"bars", "area"} for line in plot.series) or plot.y.ticks:
        return False
    return all(y is None or y > 0 for line in plot.series for y in line.y)
