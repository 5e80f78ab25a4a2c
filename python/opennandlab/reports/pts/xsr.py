"""The report of cross stimulus recovery: sequential writes, random ones, sequential ones again.

Throughput and response times of the three groups against time and against the written bytes. Each
plot of throughput has three lines to compare with: 90 % of group 1, the rate of the drive before it
had anything to collect ("without history"), and the rate of its link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from msgspec import UnsetType

from opennandlab.documents import pts
from opennandlab.documents.pts_results import CrossResults
from opennandlab.reports import words
from opennandlab.reports.figure.model import Mark, Plot, Scale
from opennandlab.reports.model import Item, Section, Table
from opennandlab.reports.pts import course, tables
from opennandlab.reports.pts.course import Across, Course
from opennandlab.reports.pts.source import Measured

# A link further above the rates than this would leave them at the bottom of the plot.
LINK_SHOWN = 2.0
GROUP = re.compile(r"group\D*(\d+)")


def sections(measured: Measured) -> Iterator[Section]:
    """Yield what a report of the cross stimulus recovery test shows."""
    cells = [cell for cell in measured.cells if GROUP.search(cell.label)]
    items: list[Item] = list(tables.of_blocks(measured)) or list(_groups(measured))
    yield Section("groups", "Groups", tuple(items), _recovery(measured))
    numbers = sorted({_group(cell) for cell in cells})
    plots = [
        _throughput(measured, cells, numbers, "all groups", "tp-all"),
        replace(
            _throughput(measured, cells, numbers, "all groups, log scale", "tp-all-log", "log"),
            note="On a log scale the random writes of group 2 have a height.",
        ),
    ]
    if measured.capacity_bytes:
        across = course.by_fills(measured.capacity_bytes)
        plots.append(
            replace(
                _throughput(
                    measured, cells, numbers, "all groups", "tp-fills", "log", across=across
                ),
                title="Throughput against drive fills, log scale",
                note="Groups are as wide as what they wrote, however long that took.",
            )
        )
    for first in numbers[:-1]:
        pair = [first, first + 1]
        names = f"groups {first} and {first + 1}"
        plots.append(_throughput(measured, cells, pair, names, f"tp-{first}-{first + 1}"))
    yield Section(
        "throughput", "Throughput against time and drive fills", tuple(plots), _baseline(measured)
    )
    yield Section("response", "Response time against time", tuple(_responses(cells, numbers)))


def _baseline(measured: Measured) -> str:
    """Return a sentence on the line "without history" and the rate of the link."""
    new, link = without_history(measured), link_mb_s(measured)
    if new is None:
        return ""
    text = (
        f"“Without history” ({words.value(new)} MB/s) is the mean of the first eighth of group 1, "
        "when the purged drive has nothing to collect: a medium without erases would stay there."
    )
    carried = f" The link of the device file carries {words.value(link)} MB/s." if link else ""
    return text + carried


def _group(cell: pts.Cell) -> int:
    """Return the number of the group that the label of a cell names; 0 if it names none."""
    found = GROUP.search(cell.label)
    return int(found.group(1)) if found else 0


def _courses(cells: Sequence[pts.Cell], numbers: Sequence[int], metric: str) -> list[Course]:
    """Return a line of a metric for each of some groups."""
    found = []
    for number in numbers:
        members = [cell for cell in cells if _group(cell) == number]
        if members:
            found.append(Course(members[0].label, members, metric, draw="line", colour=number - 1))
    return found


def _throughput(  # noqa: PLR0913, PLR0917 (half of them rarely)
    measured: Measured,
    cells: Sequence[pts.Cell],
    numbers: Sequence[int],
    what: str,
    name: str,
    scale: Scale = "linear",
    *,
    across: Across | None = None,
) -> Plot:
    """Return the throughput of some groups, with the lines to compare it with.

    Args:
        measured: The document.
        cells: Cells of all groups.
        numbers: Groups that are drawn.
        what: Their name in the title.
        name: Id of the plot.
        scale: Of the throughput.
        across: The other axis; None for time.
    """
    shown = [cell for cell in cells if _group(cell) in numbers]
    found = measured.results
    reference = found.reference_mb_s if isinstance(found, CrossResults) else None
    marks: tuple[Mark, ...] = ()
    if reference is not None:
        text = f"90 % of group 1: {words.value(0.9 * reference)}"
        marks = (Mark("y", 0.9 * reference, text),)
    new = without_history(measured)
    if new is not None:
        marks += (Mark("y", new, f"without history: {words.value(new)}"),)
    link = link_mb_s(measured)
    if link is not None and new is not None and link <= LINK_SHOWN * new:
        marks += (Mark("y", link, f"link: {words.value(link)}"),)
    return course.plot(
        name, f"Throughput against time: {what}", across or course.by_time(shown),
        _courses(cells, numbers, "mb_s"), scale=scale, marks=marks,
    )  # fmt: skip


def without_history(measured: Measured) -> float | None:
    """Return MB/s of the drive before it has a history: the mean of group 1's first eighth.

    What comes after is the price of erasing and moving, which only flash has: a medium that can be
    written in place would stay at this rate, or at that of its link.
    """
    cells = [cell for cell in measured.cells if GROUP.search(cell.label) and _group(cell) == 1]
    first = cells[: max(1, len(cells) // 8)]
    return sum(float(cell.mb_s) for cell in first) / len(first) if first else None


def link_mb_s(measured: Measured) -> float | None:
    """Return the rate of the link where the device file states a number; else None."""
    config = measured.header.target.device.config or {}
    host = config.get("host")
    link = host.get("link") if isinstance(host, dict) else None
    rate = link.get("mb_s") if isinstance(link, dict) else None
    share = link.get("efficiency") if isinstance(link, dict) else None
    if not isinstance(rate, int | float):
        return None
    return float(rate) * (float(share) if isinstance(share, int | float) else 1.0)


def _responses(cells: Sequence[pts.Cell], numbers: Sequence[int]) -> Iterator[Plot]:
    """Yield mean and longest response time of the groups."""
    for name, metric, text in (
        ("art", "lat_us_mean", "Mean response time (ART)"),
        ("mrt", "lat_us_max", "Longest response time (MRT)"),
    ):
        yield course.plot(
            name, f"{text} against time", course.by_time(cells), _courses(cells, numbers, metric),
            scale="log",
        )  # fmt: skip


def _groups(measured: Measured) -> Iterator[Table]:
    """Yield the throughput by group, for a document without that table."""
    found = measured.results
    groups = found.groups if isinstance(found, CrossResults) else []
    rows = tuple((one.label, one.mb_s_min, one.mb_s_mean, one.mb_s_max) for one in groups)
    if rows:
        heads = ("group", "min", "mean", "max")
        yield Table("mb_s", "Throughput by group, MB/s", heads, rows, digits=1)


def _recovery(measured: Measured) -> str:
    """Return when group 3 recovered, by both measures; empty if the document lacks it."""
    found = measured.results
    if not isinstance(found, CrossResults) or not measured.has("results", "recovery_s"):
        return ""
    return " ".join(filter(None, (_ours(found), _to_mean(found))))


def _ours(found: CrossResults) -> str:
    seconds = found.recovery_s
    what = "five samples in a row at 90 % of the mean of the last eighth of group 1"
    if seconds is None:
        return f"By our measure, {what}, group 3 never recovered."
    return (
        f"By our measure, {what}, group 3 recovered {_after(seconds, found.recovery_drive_fills)}."
    )


def _to_mean(found: CrossResults) -> str:
    """Return the measure of published implementations; empty if the document lacks it."""
    seconds, fills = found.to_mean_s, found.to_mean_drive_fills
    if isinstance(seconds, UnsetType) or isinstance(fills, UnsetType):
        return ""
    what = (
        "By that of published implementations of PTS 2.0, the first minute at or above the mean of "
        "group 1"
    )
    if not isinstance(found.group_1_mb_s, UnsetType) and found.group_1_mb_s is not None:
        what += f" ({words.value(found.group_1_mb_s)} MB/s)"
    return f"{what}, it {'never did' if seconds is None else f'did {_after(seconds, fills)}'}."


def _after(seconds: float, fills: float | None) -> str:
    if seconds == 0:
        return "at once"
    return f"after {words.span(seconds)}" + (
        f" and {words.value(fills)} drive fills" if fills is not None else ""
    )
