"""The report of a fleet: spread of its numbers, outliers, what failed, each device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opennandlab.documents.fleet import FleetDocument
from opennandlab.reports.figure.model import Axis, Mark, Plot, Series
from opennandlab.reports.model import Badge, Cell, Chapter, Headline, Item, Report, Section, Table
from opennandlab.stats.outliers import NORMAL_DEVIATION, SCORE_MIN
from opennandlab.store.shown import shortened

TITLE = "A fleet of drives"
WORDS = {"passed": "passed", "failed": "failed", "not_run": "not run"}
# Pieces of a list of devices that are shown.
PIECES_MAX = 4
OUTLIERS_NOTE = (
    f"Outliers are {SCORE_MIN:g} or more modified standard deviations from the median "
    f"({NORMAL_DEVIATION:g} (value - median) / median absolute deviation)."
)


def report(document: FleetDocument) -> Report:
    """Return the report of a document."""
    name = str(document.fleet["name"])
    parts: list[tuple[str, str, tuple[Item, ...]]] = [
        ("verdicts", "Verdicts", tuple(verdicts(document))),
        ("spread", "Spread", (spread(document), *_plots(document))),
        ("outliers", "Outliers", tuple(outliers(document))),
        ("failures", "Failures", tuple(failures(document))),
        ("devices", "Devices", (devices(document),)),
        ("times", "Times", tuple(times(document))),
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


def verdicts(document: FleetDocument) -> Iterator[Table]:
    """Yield what became of the devices, stage by stage; devices of one verdict share a row."""
    if all(row.verdict is None for row in document.rows):
        return
    found: dict[tuple[str, str, str], list[int]] = {}
    for row in document.rows:
        key = (row.label, WORDS[row.outcome], row.note or "")
        found.setdefault(key, []).append(row.device)
    rows = tuple(
        (ranges(devices), str(len(devices)), label, verdict, note or "-")
        for (label, verdict, note), devices in found.items()
    )
    heads = ("device", "count", "stage", "verdict", "note")
    yield Table("verdicts", "Stage by stage", heads, rows)


def stages(document: FleetDocument, chosen: Sequence[int]) -> Table:
    """Return each stage of some devices: its verdict, and why it failed or what is to be known."""
    rows = tuple(
        (str(row.device), row.label, WORDS[row.outcome], row.error or row.note or "-")
        for device in chosen
        for row in document.rows
        if row.device == device
    )
    return Table("stages", "Stages", ("device", "stage", "verdict", "why, note"), rows)


def ranges(devices: Sequence[int]) -> str:
    """Return indices in few words; of many pieces only the first.

    >>> ranges([0, 1, 2, 5, 7, 8]), ranges(range(0, 64, 2))
    ('0-2, 5, 7-8', '0, 2, 4, 6, …')
    """
    pieces: list[list[int]] = []
    for device in sorted(devices):
        if pieces and device == pieces[-1][1] + 1:
            pieces[-1][1] = device
        else:
            pieces.append([device, device])
    words = [f"{low}-{high}" if high > low else str(low) for low, high in pieces]
    return ", ".join([*words[:PIECES_MAX], *["…"] * (len(words) > PIECES_MAX)])


def times(document: FleetDocument) -> Iterator[Table]:
    """Yield when the suites of targets began and ended."""
    ran = document.run.times
    if not ran:
        return
    first = {one.device: one for one in reversed(ran)}
    last_s = max(one.began_s for one in first.values())
    is_at_once = last_s < min(one.ended_s for one in first.values())
    word = "before the first ended" if is_at_once else "some after others had ended"
    many = f"{len(first)} devices began within {last_s:.3g} s, {word}" if len(first) > 1 else ""
    rows = tuple((str(it.device), it.suite, it.began_s, it.ended_s) for it in ran)
    heads = ("device", "suite", "began, s", "ended, s")
    yield Table("times", "When they ran", heads, rows, many)


def spread(document: FleetDocument) -> Table:
    """Return the spread of the main numbers."""
    heads: tuple[str, ...] = ("suite, number", "devices", "min", "median", "mean", "max", "sd")
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (f"{row.suite}: {row.metric}", str(row.count), row.min, row.median, row.mean, row.max,
         row.sd)
        for row in document.summary
    )  # fmt: skip
    if any(row.outliers for row in document.summary):
        heads += ("outliers",)
        counts = (str(len(row.outliers) or "-") for row in document.summary)
        rows = tuple((*cells, count) for cells, count in zip(rows, counts, strict=True))
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
    found: dict[tuple[str, str], list[int]] = {}
    for row in document.rows:
        if row.error is not None and row.outcome == "failed":
            found.setdefault((row.label, row.error), []).append(row.device)
    rows = tuple(
        (f"device{'s' * (len(devices) > 1)} {ranges(devices)}, {label}", error)
        for (label, error), devices in found.items()
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
        (row.device, row.label, metric): value
        for row in document.rows
        for metric, value in row.metrics.items()
    }
    rows = tuple(
        (
            str(one.index),
            *(_cell(one.drawn.get(key)) for key in keys),
            *(found.get((one.index, suite, metric)) for suite, metric in wanted),
            str(one.seed),
        )
        for one in document.devices
    )
    # One suite needs no name, and keys are known by their last words.
    is_one = len({suite for suite, _ in wanted}) == 1
    names = (metric if is_one else f"{suite}: {metric}" for suite, metric in wanted)
    heads = ("device", *shortened(keys).values(), *names, "seed")
    return Table("devices", "Devices", heads, rows)


def _plots(document: FleetDocument) -> Iterator[Plot]:
    suites = dict.fromkeys(row.suite for row in document.summary)
    for place, suite in enumerate(suites, 1):
        row = next(row for row in document.summary if row.suite == suite)
        values = sorted(
            one.metrics[row.metric]
            for one in document.rows
            if one.label == suite and row.metric in one.metrics
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
            caption=f"Share of devices whose {row.metric} of the suite {suite} is at or below a "
            f"value; each mark is one of {len(values)} devices, the upright line the median.",
        )


def _cell(value: object) -> Cell:
    return value if isinstance(value, float | int | str) or value is None else str(value)
