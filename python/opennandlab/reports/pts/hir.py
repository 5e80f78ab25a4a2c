"""Host idle recovery: what pauses between writes give back, and how long it lasts without them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from opennandlab.reports import words
from opennandlab.reports.figure.model import Axis, Mark, Plot, Series
from opennandlab.reports.model import Item, Section, Table
from opennandlab.reports.pts import course, steady, tables
from opennandlab.reports.pts.course import Course
from opennandlab.reports.pts.source import CellRow, Measured, as_dict, as_list, as_number

WAIT = re.compile(r"wait\D*(\d+)\s*(\w*)")
PARTS = {"active": "part 1: writes and idle", "return": "part 2: writes only"}


def sections(measured: Measured) -> Iterator[Section]:
    """Yield what a report of the host idle recovery test shows."""
    segments = [cell for cell in measured.cells if WAIT.search(cell.label)]
    baseline = as_number(measured.results.get("baseline_iops"))
    items: list[Item] = [*_segments_table(measured)]
    items += _bars(measured)
    yield Section("recovery", "Recovery by wait state", tuple(items), LEAD)
    yield Section("time", "IOPS against time", tuple(_courses(segments, baseline)))
    yield from steady.sections(measured, "Preconditioning, random 4 KiB writes")


LEAD = (
    "Part 1 of a segment alternates writes with idle time, part 2 writes without a pause. Wait "
    "state n idles n times as long as it writes. Gain is part 1, return ratio part 2, over the "
    "steady state."
)


def _wait(cell: CellRow) -> tuple[int, str]:
    found = WAIT.search(cell.label)
    return (int(found.group(1)), found.group(2)) if found else (0, "")


def _segments(measured: Measured) -> list[tuple[str, dict[str, float | None]]]:
    keys = ("idle_s", "part1_iops", "part2_iops", "gain", "return_ratio")
    found = []
    for entry in map(as_dict, as_list(measured.results.get("segments"))):
        wait = as_number(entry.get("wait_state"))
        if wait is not None:
            found.append((f"{wait:g}", {key: as_number(entry.get(key)) for key in keys}))
    return found


def _segments_table(measured: Measured) -> Iterator[Table]:
    rows = tuple(
        (name, words.span(row["idle_s"]), row["part1_iops"], row["gain"], row["part2_iops"],
         row["return_ratio"])
        for name, row in _segments(measured)
    )  # fmt: skip
    if rows:
        heads = ("wait state", "idle between writes", "IOPS, part 1", "gain", "IOPS, part 2",
                 "return ratio")  # fmt: skip
        yield Table("segments", "Recovery by wait state", heads, rows)
    else:
        yield from tables.of_blocks(measured)


def _bars(measured: Measured) -> Iterator[Plot]:
    segments = _segments(measured)
    if not segments:
        return
    places = [float(place) for place in range(len(segments))]
    ticks = tuple((place, name) for place, (name, _) in zip(places, segments, strict=True))
    axis = Axis("wait state", ticks=ticks)
    gains = [
        Series(
            name,
            places,
            [row[key] for _, row in segments],
            draw="bars",
            texts=[f"{words.value(row[key], 2)}×" for _, row in segments],
        )
        for name, key in (
            ("recovery gain, part 1 / steady", "gain"),
            ("return ratio, part 2 / steady", "return_ratio"),
        )
    ]
    yield Plot(
        "gain",
        "Recovery gain and return ratio",
        axis,
        Axis("ratio to the steady state", zero=True),
        tuple(gains),
        marks=(Mark("y", 1.0, ""),),
    )


def _courses(cells: Sequence[CellRow], baseline: float | None) -> Iterator[Plot]:
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
