"""The report of a fleet: spread of its numbers, outliers, what failed, each device."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.documents.fleet import FleetDocument
from opennandlab.reports.figure.model import Axis, Mark, Plot, Series
from opennandlab.reports.model import Badge, Cell, Chapter, Headline, Item, Report, Section, Table
from opennandlab.stats.outliers import NORMAL_DEVIATION, SCORE_MIN

TITLE = "A fleet of drives"
OUTLIERS_NOTE = (
    f"Outliers are {SCORE_MIN:g} or more modified standard deviations from the median "
    f"({NORMAL_DEVIATION:g} (value - median) / median absolute deviation)."
)


def report(document: FleetDocument) -> Report:
    """Return the report of a document."""
    name = str(document.fleet["name"])
    parts: list[tuple[str, str, tuple[Item, ...]]] = [
        ("spread", "Spread", (spread(document), *_plots(document))),
        ("outliers", "Outliers", tuple(outliers(document))),
        ("failures", "Failures", tuple(failures(document))),
        ("devices", "Devices", (devices(document),)),
    ]
    outlying = {one.device for row in document.summary for one in row.outliers}
    chapter = Chapter(
        id="fleet",
        title=name,
        subtitle=subtitle(document),
        verdict=Badge.of_outcome(passed=document.passed, partial=document.partial),
        reason=f"{document.failed} of {len(document.rows)} failed" if document.failed else "",
        headlines=(
            Headline("devices", str(len(document.devices))),
            Headline("failed", str(document.failed)),
            Headline("devices with outliers", str(len(outlying))),
        ),
        sections=tuple(Section(key, title, items) for key, title, items in parts if items),
        test="fleet",
    )
    foot = f"opennandlab {document.run.version}, digest {document.digest}"
    return Report(TITLE, lead=chapter.title, chapters=(chapter,), foot=foot, kind="a fleet")


def subtitle(document: FleetDocument) -> str:
    """Return the number of devices, their kind and the suites, in a line."""
    suites = ", ".join(document.fleet["suites"])
    count, device = len(document.devices), document.fleet.get("device")
    kind = f" of {device}" if isinstance(device, str) else ""
    return f"{count} device{'s' * (count != 1)}{kind}: {suites}"


def spread(document: FleetDocument) -> Table:
    """Return the spread of the main numbers."""
    heads = ("suite, number", "devices", "min", "median", "mean", "max", "sd", "outliers")
    rows = tuple(
        (
            f"{row.suite}: {row.metric}",
            str(row.count),
            row.min,
            row.median,
            row.mean,
            row.max,
            row.sd,
            str(len(row.outliers) or "-"),
        )
        for row in document.summary
    )
    return Table("spread", "Over the devices", heads, rows)


def outliers(document: FleetDocument) -> Iterator[Table]:
    """Yield the devices that are far from the others, with the command that runs one again."""
    rows: list[tuple[Cell, ...]] = [
        (str(one.device), f"{row.suite}: {row.metric}", one.value, row.median, one.score)
        for row in document.summary
        for one in row.outliers
    ]
    if rows:
        heads = ("device", "number", "value", "median", "score")
        note = f"{OUTLIERS_NOTE} {_again(document)}"
        yield Table("outliers", "Far from the others", heads, tuple(rows), note)


def failures(document: FleetDocument) -> Iterator[Table]:
    """Yield the suites that failed, with their errors and the command that runs one again."""
    rows = tuple(
        (f"device {row.device}, {row.suite}", row.error)
        for row in document.rows
        if row.error is not None
    )
    if rows:
        heads = ("device, suite", "why")
        yield Table("failures", "Failed", heads, rows, _again(document), wraps=True)


def _again(document: FleetDocument) -> str:
    return f"To run one again: {document.run.command} --only DEVICE"


def devices(document: FleetDocument) -> Table:
    """Return the drawn keys and the main numbers of each device."""
    keys = list(dict.fromkeys(key for one in document.devices for key in one.drawn))
    wanted = [(row.suite, row.metric) for row in document.summary]
    found = {
        (row.device, row.suite, metric): value
        for row in document.rows
        for metric, value in row.metrics.items()
    }
    rows = tuple(
        (
            str(one.index),
            str(one.seed),
            *(_cell(one.drawn.get(key)) for key in keys),
            *(found.get((one.index, suite, metric)) for suite, metric in wanted),
        )
        for one in document.devices
    )
    heads = ("device", "seed", *keys, *(f"{suite}: {metric}" for suite, metric in wanted))
    return Table("devices", "Devices", heads, rows)


def _plots(document: FleetDocument) -> Iterator[Plot]:
    suites = dict.fromkeys(row.suite for row in document.summary)
    for place, suite in enumerate(suites, 1):
        row = next(row for row in document.summary if row.suite == suite)
        values = sorted(
            one.metrics[row.metric]
            for one in document.rows
            if one.suite == suite and row.metric in one.metrics
        )
        if len(values) < 2:
            continue
        shares = [(at + 0.5) / len(values) for at in range(len(values))]
        yield Plot(
            f"spread-{place}",
            f"{suite}: {row.metric}, share of devices at or below",
            Axis(row.metric),
            Axis("share of devices", zero=True),
            (Series(suite, values, shares, "points"),),
            marks=(Mark("x", row.median, "median"),),
        )


def _cell(value: object) -> Cell:
    return value if isinstance(value, float | int | str) or value is None else str(value)
