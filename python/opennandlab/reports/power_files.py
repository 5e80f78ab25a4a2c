"""The report of losses of power under a file system: what each mode of a database lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opennandlab.base.words import number
from opennandlab.documents.power_files import FilesCell, FilesDocument
from opennandlab.reports.figure.model import Axis, Plot, Series
from opennandlab.reports.model import Badge, Cell, Chapter, Headline, Report, Section, Table

VARIANTS = {
    "prefix": "keeps the first of the writes that were not flushed",
    "subset": "keeps any of the writes that were not flushed",
    "torn": "keeps any of these writes, torn between atomic units",
    "torn_below": "keeps any of these writes, torn inside an atomic unit",
    "flush_ignored": "flushes of the last moments before the cut are ignored",
    "paired_page": "a unit that was flushed shortly before the cut is damaged",
}


def report(document: FilesDocument) -> Report:
    """Return the report of a campaign."""
    sections = [
        Section("losses", "What was lost", (losses(document), plot(document.cells))),
        Section("variants", "What the disk keeps at a cut", (variants(document),)),
        Section("recordings", "Recorded requests", (recordings(document),)),
    ]
    if document.evidence:
        sections.append(Section("evidence", "Examples", (evidence(document),)))
    kept = sum(group.ok for group in document.cells if group.honest)
    chapter = Chapter(
        id="files",
        title="A database on a file system, cut from power",
        subtitle=subtitle(document),
        verdict=Badge.of_outcome(passed=document.passed, partial=document.partial),
        reason=reason(document),
        headlines=(
            Headline("cuts", number(sum(group.cuts for group in document.cells))),
            Headline("honest disks, all commits intact", number(kept)),
        ),
        sections=tuple(sections),
        test="power files",
    )
    foot = f"opennandlab {document.run.version}, digest {document.digest}"
    return Report("Power cuts", "databases on crash images", (chapter,), (), foot, "power files")


def subtitle(document: FilesDocument) -> str:
    """Return a line on file system, commits and cuts."""
    settings = document.settings
    return (
        f"SQLite on {settings.file_system}, {settings.rows} commits, {settings.cuts} cuts each; "
        f"atomic unit {settings.atomic_bytes} bytes"
    )


def reason(document: FilesDocument) -> str:
    """Return the reason of the verdict."""
    for group in document.cells:
        if group.reading == "contradiction":
            return f"an honest disk lost what it owed: {group.mode}, {group.variant}"
    others = [group for group in document.cells if not group.honest]
    faults = sum(group.reading == "fault" for group in others)
    return (
        "honest disks lost nothing that they owed; a fault is visible in "
        f"{faults} of {len(others)} combinations of a database with another disk"
    )


def losses(document: FilesDocument) -> Table:
    """Return the table of losses, a row for each mode of the database and variant of the disk."""
    rows: list[tuple[Cell, ...]] = [
        (
            group.mode, group.variant, "yes" if group.honest else "no", str(group.cuts),
            str(group.ok), str(group.lost_last), str(group.lost), str(group.corrupt),
            str(group.unopenable), str(group.unclean), group.reading,
        )
        for group in document.cells
    ]  # fmt: skip
    heads = (
        "database", "disk keeps", "honest", "cuts", "intact", "last commit lost", "more lost",
        "corrupt", "cannot be opened", "file system damaged", "verdict",
    )  # fmt: skip
    return Table("losses", "Databases and disks", heads, tuple(rows))


def summary(document: FilesDocument) -> Table:
    """Return the table of losses in fewer columns, for a terminal."""
    rows: list[tuple[Cell, ...]] = [
        (
            group.mode, group.variant, str(group.ok), str(group.lost_last), str(group.lost),
            str(group.corrupt + group.unopenable), group.reading,
        )
        for group in document.cells
    ]  # fmt: skip
    heads = (
        "database", "disk keeps", "intact", "last lost", "more lost", "damaged", "verdict",
    )  # fmt: skip
    note = "Cuts with all commits; without the last; without more; database damaged or unopenable."
    return Table("summary", "Databases and disks", heads, tuple(rows), note)


def plot(groups: Sequence[FilesCell]) -> Plot:
    """Return the share of cuts after which a commit was missing, by disk and mode."""
    modes = list(dict.fromkeys(group.mode for group in groups))
    names = list(dict.fromkeys(group.variant for group in groups))
    places = {name: float(place) for place, name in enumerate(names)}
    return Plot(
        "missing",
        "Cuts after which a commit was missing, or more, in percent",
        Axis("", ticks=tuple((place, name) for name, place in places.items())),
        Axis("cuts, percent", zero=True),
        tuple(_bars(mode, groups, places) for mode in modes),
    )


def _bars(mode: str, groups: Sequence[FilesCell], places: Mapping[str, float]) -> Series:
    """Return the bars of a mode, in percent, with their intervals."""
    own = [group for group in groups if group.mode == mode]
    return Series(
        mode,
        [places[group.variant] for group in own],
        [group.per_1000 / 10 for group in own],
        "bars",
        low=[group.low / 10 for group in own],
        high=[group.high / 10 for group in own],
    )


def variants(document: FilesDocument) -> Table:
    """Return the table of the variants and their meaning."""
    rows = tuple((name, VARIANTS[name]) for name in document.settings.variants)
    return Table("variants", "Variants", ("variant", "meaning"), rows)


def recordings(document: FilesDocument) -> Table:
    """Return the table of the requests that the drive got while each database was written."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            recording.mode, str(recording.rows), str(recording.writes), str(recording.flushes),
            str(recording.trims), recording.bytes / 1e6, recording.seconds,
        )
        for recording in document.recordings
    )  # fmt: skip
    heads = ("database", "commits", "writes", "flushes", "trims", "MB", "seconds")
    return Table("recordings", "Requests recorded per database mode", heads, rows)


def evidence(document: FilesDocument) -> Table:
    """Return the table of examples: cuts after which a commit was missing."""
    rows = tuple(
        (
            cut.mode, cut.variant, str(cut.cut), cut.outcome, f"{cut.rows} of {cut.owed}", cut.why,
        )
        for cut in document.evidence
    )  # fmt: skip
    heads = ("database", "disk keeps", "cut", "outcome", "commits found", "why")
    return Table("evidence", "Cuts with losses", heads, rows, wraps=True)
