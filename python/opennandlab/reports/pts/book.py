"""From files to one report: a document is a chapter, a suite one for each of its documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from opennandlab.errors import ResultError
from opennandlab.reports.pts import header, source, views
from opennandlab.reports.pts.model import Chapter, Report
from opennandlab.reports.pts.source import Measured


@dataclass(frozen=True)
class Book:
    """A report with the documents behind it.

    Args:
        report: What is drawn.
        measured: The documents of its chapters, in their order.
        warnings: Files that could not be used, and why.
    """

    report: Report
    measured: tuple[Measured, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Found:
    """A document on disk."""

    path: Path
    document: dict[str, Any]
    complaints: list[str]


def open_book(paths: Sequence[Path]) -> Book:
    """Read documents and suites, and make their report.

    Args:
        paths: Files; each a document of a test, or a suite that names such documents beside it.

    Raises:
        ResultError: when none of them can be drawn, and why.
    """
    warnings: list[str] = []
    found = [one for path in paths for one in _documents(path, warnings)]
    measured = [source.read(one.document, one.path.stem, one.complaints) for one in found]
    drawn = [(one, chapter) for one, chapter in zip(measured, map(views.chapter_of, measured),
             strict=True)]  # fmt: skip
    kept = []
    for place, (one, chapter) in enumerate(drawn):
        if chapter.sections:
            kept.append((one, chapter))
        else:
            warnings.append(f"{found[place].path}: nothing of it can be drawn")
    if not kept:
        raise ResultError("; ".join(warnings) or "nothing to draw")
    chapters = _told_apart([chapter for _, chapter in kept], [one.name for one, _ in kept])
    return Book(
        Report(_title(chapters), _lead(chapters), chapters, tuple(warnings), foot(kept[0][0])),
        tuple(one for one, _ in kept),
        tuple(warnings),
    )


def foot(measured: Measured) -> str:
    """Return the line below everything."""
    made = header.tool(measured)
    digest = f", digest {measured.digest}" if measured.digest else ""
    return f"Measured by {made}{digest}. {header.CLAIM}"


def _documents(path: Path, warnings: list[str]) -> Iterator[_Found]:
    try:
        document, complaints = source.load(path)
    except ResultError as error:
        warnings.append(str(error))
        return
    kind = source.family(document)
    if kind == "pts":
        yield _Found(path, document, complaints)
    elif kind == "suite":
        warnings.extend(f"{path}: {text}" for text in complaints)
        yield from _of_suite(path, document, warnings)
    else:
        warnings.append(f"{path}: {_foreign(document, kind)}")


def _foreign(document: dict[str, Any], kind: str) -> str:
    if not kind:
        return "no document of opennandlab: it has no `schema` of ours"
    return f"holds `{document.get('schema')}`; accepted: {source.SCHEMA} and {source.SUITE_SCHEMA}"


def _of_suite(path: Path, suite: dict[str, Any], warnings: list[str]) -> Iterator[_Found]:
    names = suite.get("documents")
    listed = list(names.values()) if isinstance(names, dict) else source.as_list(names)
    if not listed:
        warnings.append(f"{path}: names no documents")
    for entry in listed:
        name = entry.get("file") if isinstance(entry, dict) else entry
        # A name beside the suite, never a path that leads elsewhere.
        if not isinstance(name, str) or not name or PurePath(name).name != name:
            warnings.append(f"{path}: {source.plain(entry)[:60]} is no name of a file beside it")
            continue
        beside = path.parent / (name if name.endswith(".json") else f"{name}.json")
        yield from _documents(beside, warnings)


def _told_apart(chapters: Sequence[Chapter], names: Sequence[str]) -> tuple[Chapter, ...]:
    """Return the chapters with ids of their own; equal titles get the names of their documents."""
    titles = [chapter.title for chapter in chapters]
    count: dict[str, int] = {}
    found = []
    for chapter, name in zip(chapters, names, strict=True):
        count[chapter.id] = count.get(chapter.id, 0) + 1
        number = count[chapter.id]
        own = chapter.id if number == 1 else f"{chapter.id}-{number}"
        is_alone = titles.count(chapter.title) == 1
        title = chapter.title if is_alone else f"{chapter.title}: {name}"
        found.append(replace(chapter, id=own, title=title))
    return tuple(found)


def _title(chapters: Sequence[Chapter]) -> str:
    if len(chapters) == 1:
        return chapters[0].title
    targets = list(dict.fromkeys(chapter.subtitle for chapter in chapters))
    return f"Standard tests of {targets[0]}" if len(targets) == 1 else "Standard tests"


def _lead(chapters: Sequence[Chapter]) -> str:
    if len(chapters) == 1:
        return ""
    return f"{len(chapters)} tests: {', '.join(chapter.title for chapter in chapters)}."
