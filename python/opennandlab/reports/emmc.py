"""The report of conformance cases: how many hold, those that do not, and all of them by chapter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opennandlab.documents.emmc import EmmcDocument, EmmcRow
from opennandlab.reports.model import Badge, Chapter, Headline, Kind, Report, Section, Table

TITLE = "An eMMC, command by command"
TONES: dict[str, Kind] = {"passed": "good", "failed": "bad", "skipped": "plain"}
HEADS = ("case", "what was done, and found")


def report(document: EmmcDocument) -> Report:
    """Return the report of a document."""
    chapter = Chapter(
        id="emmc",
        title=document.target.name,
        verdict=Badge.of_outcome(passed=document.passed, partial=document.partial),
        reason=reason(document),
        headlines=(
            Headline("passed", str(document.passed_count)),
            Headline("failed", str(document.failed_count)),
            Headline("skipped", str(document.skipped_count)),
        ),
        sections=tuple(_sections(document)),
        test="emmc",
    )
    foot = f"opennandlab {document.run.version}, digest {document.digest}"
    return Report(TITLE, subtitle(document), (chapter,), (), foot, "an eMMC")


def subtitle(document: EmmcDocument) -> str:
    """Return a line on what was checked."""
    target = document.target
    kind = "simulated card" if target.kind == "sim" else "device, read only"
    return f"{kind} of {target.standard}, {target.user_bytes / 1e9:.2f} GB"


def reason(document: EmmcDocument) -> str:
    """Return how many cases hold, as a sentence."""
    parts = [
        f"{count} {verdict}"
        for count, verdict in (
            (document.passed_count, "passed"),
            (document.failed_count, "failed"),
            (document.skipped_count, "skipped"),
        )
        if count
    ]
    return f"{len(document.rows)} cases: {', '.join(parts) or 'none was run'}"


def failures(document: EmmcDocument) -> Table | None:
    """Return the cases that failed, if there are any."""
    rows = [row for row in document.rows if row.verdict == "failed"]
    return _table("failures", "Failed", rows) if rows else None


def groups(document: EmmcDocument) -> Table:
    """Return how many cases of each chapter hold."""
    names = dict.fromkeys(row.id.partition(".")[0] for row in document.rows)
    rows = []
    for name in names:
        own = [row.verdict for row in document.rows if row.id.partition(".")[0] == name]
        counts = [str(own.count(verdict)) for verdict in ("passed", "failed", "skipped")]
        rows.append((name, *counts))
    return Table("chapters", "Cases by chapter", ("chapter", "passed", "failed", "skipped"),
                 tuple(rows))  # fmt: skip


def told(row: EmmcRow) -> str:
    """Return what was done and found, with verdict and clause, as sentences."""
    if row.verdict == "skipped":
        found = f"{row.found[:1].upper()}{row.found[1:]}."
    elif row.verdict == "passed":
        found = f"As expected: {row.found}."
    else:
        found = f"Expected: {row.expected}. Found: {row.found}."
    return f"{row.verdict.upper()}. {row.does} {found} [{row.clause}]"


def _sections(document: EmmcDocument) -> Iterator[Section]:
    yield Section("chapters", "Chapters", (groups(document),))
    failed = failures(document)
    if failed is not None:
        yield Section("failures", "Failures", (failed,))
    for name in dict.fromkeys(row.id.partition(".")[0] for row in document.rows):
        own = [row for row in document.rows if row.id.partition(".")[0] == name]
        # What failed is above: the list of the others would bury it.
        yield Section(name, name, (_table(f"cases-{name}", "Cases", own),), folded=True)


def _table(name: str, title: str, rows: Sequence[EmmcRow]) -> Table:
    cells = tuple((row.id, told(row)) for row in rows)
    tones = tuple(TONES[row.verdict] for row in rows)
    return Table(name, title, HEADS, cells, wraps=True, tones=tones)
