"""The figures of the tutorials: for each slide one figure with all values, and one table.

Everything else that the documents hold is in their own report, `opennandlab report suite.json`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from opennandlab.documents import pts
from opennandlab.documents.pts_results import SaturationResults
from opennandlab.reports import words
from opennandlab.reports.figure.model import Axis, Plot, Series
from opennandlab.reports.model import Badge, Cell, Chapter, Facts, Headline, Report, Section, Table
from opennandlab.reports.pts import course, header
from opennandlab.reports.pts.course import Course
from opennandlab.reports.pts.source import Measured
from opennandlab.reports.pts.verdict import SMALL_RANGE, fits_into_spare

# Parts of the response times of the latency test: table of the document -> its name.
PARTS = {"art": "mean", "p99": "99 %", "p999": "99.9 %", "p9999": "99.99 %", "mrt": "longest"}
LOADS = {"100/0": "reads", "0/100": "writes"}


def report(chapters: Sequence[Chapter], left_out: Mapping[str, str], of: Measured) -> Report:
    """Return the page of the slides.

    Args:
        chapters: One for each slide.
        left_out: Slides that this target cannot have, and why.
        of: One of the documents, for the names of target and tool.
    """
    warnings = tuple(f"{name} was left out: {reason}" for name, reason in left_out.items())
    title = f"{chapters[0].title} of {header.subject(of)}"
    if len(chapters) > 1:
        title = f"Figures of the tutorials, of {header.subject(of)}"
    lead = "One parameter is varied in each figure; everything else is equal."
    return Report(title, lead, tuple(chapters), warnings, header.foot(of))


def chapter(  # noqa: PLR0913 (all by name)
    *,
    name: str,
    title: str,
    measured: Sequence[Measured],
    labels: Sequence[str],
    varied: pts.Varied,
    note: str = "",
) -> Chapter:
    """Return the chapter of a slide: a figure and a table.

    Args:
        name: Name of the slide.
        title: Title of the slide.
        measured: Its documents.
        labels: What to call them.
        varied: What was varied.
        note: A sentence for the page.
    """
    is_wsat = measured[0].test == "wsat"
    plot = _saturation(measured, labels) if is_wsat else _response(measured, labels)
    table = _levels(measured, labels, title) if is_wsat else _times(measured, labels, title)
    first = measured[0]
    values = ", ".join(labels)
    what = f"Varied: {varied.key} = {', '.join(varied.values)}. {note}".strip()
    stated = list(dict.fromkeys(one.verdict.word for one in measured))
    # The parameter itself may be a key.
    keys = [header.changes(one) for one in measured]
    changed = header.changed_keys([key for key in keys[0] if all(key in some for some in keys)])
    return Chapter(
        id=name,
        title=title,
        subtitle=f"{first.title} · {header.subject(first)} · {header.profile(first)}",
        headlines=tuple(_headlines(measured, labels)),
        facts=_common(measured),
        badges=(
            Badge(f"{len(measured)} values"),
            *([Badge(changed)] if changed else []),
            *(Badge(one.verdict.text, one.verdict.kind) for one in _each(measured, stated)),
        ),
        deviations=tuple(
            text
            for text in header.deviations(first)
            if all(text in header.deviations(one) for one in measured)
        ),
        warnings=tuple(
            f"{label}: {one.verdict.text}"
            for label, one in zip(labels, measured, strict=True)
            if one.verdict.word in {"partial", "not steady", "unknown"}
        ),
        sections=(Section("figure", f"{title}: {values}", (plot, table), what),),
        brief=f"{title}: {values}. {header.brief(first)}",
        test=first.test,
    )


def _each(measured: Sequence[Measured], stated: Sequence[str]) -> Iterator[Measured]:
    """Yield a document for each verdict."""
    for word in stated:
        yield next(one for one in measured if one.verdict.word == word)


def _common(measured: Sequence[Measured]) -> Facts:
    """Return the facts of the header in which all runs agree, without those of one run."""
    own = {"Digest", "Created", "Duration", "Written", "Configuration", "Steady state"}
    pairs = [{pair for _, group in header.facts(one) for pair in group} for one in measured]
    shared = set.intersection(*pairs)
    groups = (
        (name, tuple(pair for pair in rows if pair in shared and pair[0] not in own))
        for name, rows in header.facts(measured[0])
    )
    return tuple((name, rows) for name, rows in groups if rows)


def _headlines(measured: Sequence[Measured], labels: Sequence[str]) -> Iterator[Headline]:
    for one, label in zip(measured, labels, strict=True):
        found = one.results
        if isinstance(found, SaturationResults) and found.steady_iops is not None:
            yield Headline(f"{label}, at the end", words.value(found.steady_iops, 0), "IOPS")
        elif (time_ms := _number(one, "art", "100/0")) is not None:
            yield Headline(f"{label}: 4 KiB reads, mean", words.value(time_ms * 1e3), "µs")


def _saturation(measured: Sequence[Measured], labels: Sequence[str]) -> Plot:
    cells = [one.in_phase("wsat") for one in measured]
    across = course.by_written([cell for some in cells for cell in some])
    lines = [
        Course(label, some, "iops", draw="line") for label, some in zip(labels, cells, strict=True)
    ]
    return course.plot("slide", "IOPS against what was written (TGBW)", across, lines)


def _levels(measured: Sequence[Measured], labels: Sequence[str], title: str) -> Table:
    heads = (
        title.lower(), "fresh, IOPS", "at the end, IOPS", "end / fresh", "end / first row",
        "ART, ms", "WAF at the end", "drive fills", "verdict",
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    base: float | None = None
    for one, label in zip(measured, labels, strict=True):
        found = one.results
        if not isinstance(found, SaturationResults):
            rows.append((label, *(None for _ in heads[2:]), one.verdict.word))
            continue
        base = found.steady_iops if base is None else base
        against = found.steady_iops / base if base and found.steady_iops is not None else None
        cells = one.in_phase("wsat")
        time_us = cells[-1].lat_us_mean if cells else None
        rows.append(
            (
                label,
                _whole(found.fob_iops),
                _whole(found.steady_iops),
                found.steady_ratio,
                against,
                None if time_us is None else time_us * 1e-3,
                found.waf_end,
                found.drive_fills,
                one.verdict.word,
            )
        )
    note = "ART is that of the last minute; the end is the window, as the test defines it."
    small = [
        label
        for one, label in zip(measured, labels, strict=True)
        if fits_into_spare(one.document.steady_state)
    ]
    if small:
        note += f" {', '.join(small)}: {SMALL_RANGE}"
    return Table("values", "By value", heads, tuple(rows), note)


def _whole(value: float | None) -> float | None:
    return None if value is None else round(value)


def _response(measured: Sequence[Measured], labels: Sequence[str]) -> Plot:
    places = [float(place) for place in range(len(PARTS))]
    ticks = tuple(zip(places, PARTS.values(), strict=True))
    lines = [
        Series(
            f"{what}, {label}",
            places,
            [_number(one, part, column) for part in PARTS],
            colour=colour,
            stroke=run,
        )
        for colour, (column, what) in enumerate(LOADS.items())
        for run, (one, label) in enumerate(zip(measured, labels, strict=True))
    ]
    return Plot(
        "slide", "Response times of random 4 KiB requests",
        Axis("of the requests of the window", ticks=ticks),
        Axis("response time, ms", "log"), tuple(lines),
    )  # fmt: skip


def _times(measured: Sequence[Measured], labels: Sequence[str], title: str) -> Table:
    heads = (title.lower(), "4 KiB", *(f"{name}, ms" for name in PARTS.values()), "verdict")
    rows = tuple(
        (label, what, *(_number(one, part, column) for part in PARTS), one.verdict.word)
        for column, what in LOADS.items()
        for one, label in zip(measured, labels, strict=True)
    )
    return Table("values", "By value", heads, rows)


def _number(measured: Measured, table: str, column: str) -> float | None:
    """Return a response time in ms of random 4 KiB requests."""
    block = measured.table(table)
    if block is None or "4" not in block.rows or column not in block.columns:
        return None
    found = block.values[block.rows.index("4")][block.columns.index(column)]
    return None if isinstance(found, str) else found
