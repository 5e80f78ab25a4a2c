"""The report of losses of power under a file system: what each mode of a database lost."""

from __future__ import annotations

from collections.abc import Sequence

from opennandlab.base.words import number
from opennandlab.documents.power_files import FilesCell, FilesDocument
from opennandlab.reports.figure.model import Axis, Plot, Series
from opennandlab.reports.model import Badge, Cell, Chapter, Headline, Report, Section, Table

VARIANTS = {
    "prefix": "the first of what was not flushed",
    "subset": "any of what was not flushed",
    "torn": "any of it, torn between atomic units",
    "torn_below": "any of it, torn inside an atomic unit",
    "flush_ignored": "flushes of the last moments ignored",
    "paired_page": "a unit that was flushed shortly before is damaged",
}


def report(document: FilesDocument) -> Report:
    """Return the report of a campaign."""
    sections = [
        Section("cells", "What was lost", (cells(document), plot(document.cells))),
        Section("variants", "What the disk makes of a cut", (variants(document),)),
        Section("recordings", "What was recorded", (recordings(document),)),
    ]
    if document.evidence:
        sections.append(Section("evidence", "Evidence", (evidence(document),)))
    verdict = Badge("PASSED", "good") if document.passed else Badge("FAILED", "bad")
    if document.partial:
        verdict = Badge("INTERRUPTED", "warning")
    chapter = Chapter(
        id="files",
        title="A database on a file system, cut from power",
        subtitle=subtitle(document),
        verdict=verdict,
        reason=reason(document),
        headlines=(
            Headline("cuts", number(sum(one.cuts for one in document.cells))),
            Headline("kept all, honest disks", number(_kept(document))),
        ),
        sections=tuple(sections),
        test="power files",
    )
    foot = f"opennandlab {document.run.version}, digest {document.digest}"
    return Report(
        "Cut from power", "databases on crash images", (chapter,), (), foot, "power files"
    )


def subtitle(document: FilesDocument) -> str:
    """Return a line on what was done."""
    given = document.settings
    return (
        f"SQLite on {given['file_system']}, {given['rows']} commits, {given['cuts']} cuts each; "
        f"atomic unit {given['atomic_bytes']} bytes"
    )


def reason(document: FilesDocument) -> str:
    """Return why the verdict is what it is."""
    bad = [one for one in document.cells if one.reading == "contradiction"]
    if bad:
        return f"an honest disk lost what it owed: {bad[0].mode}, {bad[0].variant}"
    faults = sum(one.reading == "fault" for one in document.cells)
    return (
        f"honest disks lost nothing that they owed; {faults} of "
        f"{sum(not one.honest for one in document.cells)} cells of others show a fault"
    )


def cells(document: FilesDocument) -> Table:
    """Return a row for each mode and variant."""
    rows: list[tuple[Cell, ...]] = [
        (
            one.mode, one.variant, "yes" if one.honest else "no", str(one.cuts), str(one.ok),
            str(one.lost_last), str(one.lost), str(one.corrupt), str(one.unopenable),
            str(one.unclean), one.reading,
        )
        for one in document.cells
    ]  # fmt: skip
    heads = (
        "database", "disk keeps", "honest", "cuts", "all there", "last commit lost", "more lost",
        "corrupt", "cannot be opened", "file system damaged", "reading",
    )  # fmt: skip
    return Table("cells", "Databases and disks", heads, tuple(rows))


def summary(document: FilesDocument) -> Table:
    """Return the same in columns that a terminal has room for."""
    rows: list[tuple[Cell, ...]] = [
        (
            one.mode, one.variant, str(one.ok), str(one.lost_last), str(one.lost),
            str(one.corrupt + one.unopenable), one.reading,
        )
        for one in document.cells
    ]  # fmt: skip
    heads = ("database", "disk keeps", "all", "last", "more", "bad", "reading")
    note = "Cuts with all commits; last commit lost; more lost; database damaged or not opened."
    return Table("summary", "Databases and disks", heads, tuple(rows), note)


def plot(found: Sequence[FilesCell]) -> Plot:
    """Return how often something was missing, by disk and mode."""
    modes = list(dict.fromkeys(one.mode for one in found))
    names = list(dict.fromkeys(one.variant for one in found))
    places = [float(place) for place in range(len(names))]
    series = []
    for mode in modes:
        own = [one for one in found if one.mode == mode]
        at = [places[names.index(one.variant)] for one in own]
        series.append(
            Series(
                mode,
                at,
                [one.per_1000 / 10 for one in own],
                "bars",
                low=[one.low / 10 for one in own],
                high=[one.high / 10 for one in own],
            )
        )
    return Plot(
        "missing",
        "Cuts after which a commit was missing, or more, in percent",
        Axis("", ticks=tuple(zip(places, names, strict=True))),
        Axis("cuts, percent", zero=True),
        tuple(series),
    )


def variants(document: FilesDocument) -> Table:
    """Return what each variant is."""
    rows = tuple((name, VARIANTS[name]) for name in document.settings["variants"])
    return Table("variants", "Variants", ("disk keeps", "what that is"), rows)


def recordings(document: FilesDocument) -> Table:
    """Return what the drive was told."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            one.mode, str(one.rows), str(one.writes), str(one.flushes), str(one.trims),
            one.bytes / 1e6, one.seconds,
        )
        for one in document.recordings
    )  # fmt: skip
    heads = ("database", "commits", "writes", "flushes", "trims", "MB", "seconds")
    return Table("recordings", "Records", heads, rows)


def evidence(document: FilesDocument) -> Table:
    """Return some cuts, and what was missing."""
    rows = tuple(
        (one.mode, one.variant, str(one.cut), one.outcome, f"{one.rows} of {one.owed}", one.why)
        for one in document.evidence
    )
    heads = ("database", "disk keeps", "cut", "outcome", "commits there", "why")
    return Table("evidence", "Some of them", heads, rows, wraps=True)


def _kept(document: FilesDocument) -> int:
    return sum(one.ok for one in document.cells if one.honest)
