"""Host idle recovery: what pauses between writes give back, and how long it lasts without them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from opennandlab.documents import pts
from opennandlab.documents.pts_results import IdleResults, IdleSegment
from opennandlab.reports import words
from opennandlab.reports.figure.model import Axis, Mark, Plot, Series
from opennandlab.reports.model import Item, Section, Table
from opennandlab.reports.pts import course, steady, tables
from opennandlab.reports.pts.course import Course
from opennandlab.reports.pts.source import Measured

WAIT = re.compile(r"wait\D*(\d+)\s*(\w*)")
PARTS = {"active": "part 1: writes and idle", "return": "part 2: writes only"}


def sections(measured: Measured) -> Iterator[Section]:
    """Yield what a report of the host idle recovery test shows."""
    segments = [cell for cell in measured.cells if WAIT.search(cell.label)]
    found = measured.results
    baseline = found.baseline_iops if isinstance(found, IdleResults) else None
    waits = found.segments if isinstance(found, IdleResults) else []
    items: list[Item] = [_segments_table(waits), _bars(waits)] if waits else []
    items = items or list(tables.of_blocks(measured))
    yield Section("recovery", "Recovery by wait state", tuple(items), LEAD)
    yield Section("time", "IOPS against time", tuple(_courses(segments, baseline)))
    yield from _preconditioning(measured, baseline)


LEAD = (
    "Part 1 of a segment alternates writes with idle time, part 2 writes without a pause. Wait "
    "state n idles n times as long as it writes. Gain is part 1, return ratio part 2, over the "
    "steady state. Part 1 over the writes without pauses before it (the part 2 of the segment "
    "above, at first the steady state) is free of what the rate still fell meanwhile."
)


def _preconditioning(measured: Measured, baseline: float | None) -> Iterator[Section]:
    """Yield the samples before the pauses, against time and what was written, and their rule."""
    samples = [cell for cell in measured.in_phase("precondition") if cell.round is not None]
    marks = (Mark("y", baseline, f"steady state: {words.value(baseline)}"),) if baseline else ()
    plots = [
        course.plot(
            f"precondition-{name}", f"Preconditioning: IOPS of the samples against {against}",
            across, [Course("IOPS", samples, "iops")], marks=marks,
        )
        for name, against, across in (
            ("time", "time", course.by_time(samples, 0.0)),
            ("tgbw", "what was written", course.by_written(samples)),
        )
        if samples
    ]  # fmt: skip
    for section in steady.sections(measured, "Preconditioning, random 4 KiB writes"):
        yield replace(section, items=(*plots, *section.items))


def _wait(cell: pts.Cell) -> tuple[int, str]:
    found = WAIT.search(cell.label)
    return (int(found.group(1)), found.group(2)) if found else (0, "")


def _segments_table(segments: Sequence[IdleSegment]) -> Table:
    rows = tuple(
        (f"{one.wait_state:g}", words.span(one.idle_s), one.part1_iops, one.gain, one.gain_before,
         one.part2_iops, one.return_ratio)
        for one in segments
    )  # fmt: skip
    heads = ("wait state", "idle between writes", "IOPS, part 1", "gain",
             "over the writes before", "IOPS, part 2", "return ratio")  # fmt: skip
    return Table("segments", "Recovery by wait state", heads, rows)


def _bars(segments: Sequence[IdleSegment]) -> Plot:
    places = [float(place) for place in range(len(segments))]
    names = [f"{one.wait_state:g}" for one in segments]
    series = tuple(
        Series(name, places, values, draw="bars", texts=[f"{words.value(v, 2)}×" for v in values])
        for name, values in (
            ("recovery gain, part 1 / steady", [one.gain for one in segments]),
            ("return ratio, part 2 / steady", [one.return_ratio for one in segments]),
        )
    )
    return Plot(
        "gain",
        "Recovery gain and return ratio",
        Axis("wait state", ticks=tuple(zip(places, names, strict=True))),
        Axis("ratio to the steady state", zero=True),
        series,
        marks=(Mark("y", 1.0, ""),),
    )


def _courses(cells: Sequence[pts.Cell], baseline: float | None) -> Iterator[Plot]:
    across = course.by_time(cells)
    marks = (Mark("y", baseline, f"steady state: {words.value(baseline)}"),) if baseline else ()
    waits = sorted({_wait(cell)[0] for cell in cells})
    lines = [
        Course(f"wait state {wait}", [cell for cell in cells if _wait(cell)[0] == wait], "iops")
        for wait in waits
    ]
    yield course.plot("iops-time", "IOPS against time, all wait states", across, lines, marks=marks)
    for wait in waits:
        mine = [cell for cell in cells if _wait(cell)[0] == wait]
        parts = dict.fromkeys(_wait(cell)[1] for cell in mine)
        yield course.plot(
            f"iops-time-{wait}",
            f"Wait state {wait}: IOPS against time",
            course.by_time(mine),
            [
                Course(PARTS.get(part, part), [c for c in mine if _wait(c)[1] == part], "iops")
                for part in parts
            ],
            marks=marks,
        )
