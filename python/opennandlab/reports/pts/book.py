"""From files to one report: a document is a chapter, a suite one for each of its documents.

Files may come in any order, as a shell lists them: documents that a suite names stand in its order
and once, whether they are given next to it or not, and `run.json` is read where it is, for dates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from opennandlab.base.errors import ResultError
from opennandlab.documents.partial import readable
from opennandlab.documents.pts import SCHEMA, SUITE_SCHEMA, PtsDocument, SuiteDocument, to_json
from opennandlab.documents.record import JsonObject
from opennandlab.measured.importing import Wanted, of_fio
from opennandlab.reports import words
from opennandlab.reports.model import Chapter, Report
from opennandlab.reports.pts import header, overlay, source, views
from opennandlab.reports.pts.source import Measured

# A test of a real drive keeps job files and output of fio in this folder next to its document.
FIO_FOLDER = "fio"


@dataclass(frozen=True)
class Book:
    """A report with the documents behind it.

    Args:
        report: What is drawn.
        measured: The document of each chapter; None for a chapter that compares others.
        warnings: Files that could not be used, and why.
    """

    report: Report
    measured: tuple[Measured | None, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Found:
    """A document on disk."""

    path: Path
    document: JsonObject
    complaints: list[str]
    # Parameter and value, where a suite varied one.
    varied: tuple[str, str] | None = None


def open_book(paths: Sequence[Path], wanted: Wanted | None = None) -> Book:
    """Read documents and suites, and make their report.

    Args:
        paths: Files; each a document of a test, or a suite that names such documents next to it; or
            folders of them.
        wanted: Which jobs are taken of outputs of fio.

    Raises:
        ResultError: when none of them can be drawn, and why.
    """
    warnings: list[str] = []
    found = list(_all(in_folders(paths), warnings, wanted))
    measured = [_read(one) for one in found]
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
    sweeps = tuple(_sweeps(found, measured))
    chapters = _told_apart([chapter for _, chapter in kept], _names([one for one, _ in kept]))
    return Book(
        Report(
            _title([one for one, _ in kept], chapters),
            _lead(chapters, header.common([one for one, _ in kept])),
            (*sweeps, *chapters),
            tuple(warnings),
            header.foot(kept[0][0]),
        ),
        (*(None for _ in sweeps), *(one for one, _ in kept)),
        tuple(warnings),
    )


def of_document(document: PtsDocument) -> Report:
    """Return the report of one document, as its file alone would give it."""
    measured = source.read(to_json(document), document.name)
    chapter = views.chapter_of(measured)
    return Report(
        _title([measured], [chapter]), _lead([chapter]), (chapter,), (), header.foot(measured)
    )


def in_folders(paths: Sequence[Path]) -> list[Path]:
    """Return the files of folders: the suite, or all documents below that have none."""
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        below = sorted(one for one in path.iterdir() if one.is_dir() and one.name != FIO_FOLDER)
        inside = [path, *below]
        here = []
        for folder in inside:
            suite = folder / "suite.json"
            names = sorted(one for one in folder.glob("*.json") if one.name != "run.json")
            here += [suite] if suite.is_file() else names
        if not here:
            raise ResultError(f"{path}: no JSON document in this folder")
        found += here
    return found


def documents(
    paths: Sequence[Path], warnings: list[str], wanted: Wanted | None = None
) -> list[Measured]:
    """Return the documents that files hold or name, each once.

    Args:
        paths: Files; each a document of a test, or a suite that names such documents next to it.
        warnings: Takes what could not be used, and why.
        wanted: Which jobs are taken of outputs of fio.
    """
    return [_read(one) for one in _all(paths, warnings, wanted)]


def _read(found: _Found) -> Measured:
    moment = source.moment_of(found.path, found.document)
    return source.read(found.document, found.path.stem, found.complaints, moment)


@dataclass(frozen=True)
class _File:
    """A file that was given, read as far as that works."""

    path: Path
    document: JsonObject
    complaints: list[str]


def _all(paths: Sequence[Path], warnings: list[str], wanted: Wanted | None) -> Iterator[_Found]:
    """Yield the documents of all files, each once."""
    loaded = [_load(path, warnings, wanted) for path in dict.fromkeys(paths)]
    files = [one for one in loaded if one is not None]
    suites: dict[Path, int] = {}
    for place, one in enumerate(files):
        if source.family(one.document) == "suite":
            suites |= dict.fromkeys((one.path.resolve(), *_members(one)), place)
    shown: set[Path] = set()
    dates: list[str] = []
    for one in files:
        if source.moments(one.document):
            dates.append(f"{one.path}: holds the dates of runs; give the documents beside it")
            continue
        # The first of a suite that is met stands for all of it.
        whole = files[suites[one.path.resolve()]] if one.path.resolve() in suites else one
        for found in _documents(whole, warnings):
            if found.path.resolve() not in shown:
                shown.add(found.path.resolve())
                yield found
    if not shown:
        warnings += dates


def _load(path: Path, warnings: list[str], wanted: Wanted | None) -> _File | None:
    try:
        imported = of_fio(path, wanted)
        if imported is not None:
            return _File(path, to_json(imported), [])
        return _File(path, *source.load(path))
    except ResultError as error:
        warnings.append(str(error))
        return None


def _members(suite: _File) -> Iterator[Path]:
    """Yield the files that a suite names, where they is."""
    names = suite.document.get("documents")
    for name in names if isinstance(names, list) else []:
        if isinstance(name, str) and PurePath(name).name == name:
            yield suite.path.with_name(f"{name.removesuffix('.json')}.json").resolve()


def _documents(file: _File, warnings: list[str]) -> Iterator[_Found]:
    path, document, complaints = file.path, file.document, file.complaints
    kind = source.family(document)
    if kind == "pts":
        yield _Found(path, document, complaints)
    elif kind == "suite":
        warnings.extend(f"{path}: {text}" for text in complaints)
        yield from _of_suite(path, document, warnings)
    else:
        warnings.append(f"{path}: {_foreign(document, kind)}")


def _foreign(document: JsonObject, kind: str) -> str:
    if "fio version" in document:
        return "JSON of fio: `pts import` makes a document of it"
    if not kind:
        return "no document of opennandlab: it has no `schema` of ours"
    return f"holds `{document.get('schema')}`; accepted: {SCHEMA} and {SUITE_SCHEMA}"


def _of_suite(path: Path, document: JsonObject, warnings: list[str]) -> Iterator[_Found]:
    suite, lost = readable(document, SuiteDocument)
    warnings.extend(f"{path}: {one.path}: {one.message}" for one in lost)
    if not suite.documents:
        warnings.append(f"{path}: names no documents")
    for name, reason in suite.left_out.items():
        warnings.append(f"{path}: {name} was left out: {reason}")
    varied = suite.varied
    pairs = zip(varied.documents, varied.values, strict=False) if varied else ()
    values = {name: (varied.key, value) for name, value in pairs} if varied else {}
    for name in filter(None, suite.documents):
        # A name next to the suite, never a path that leads elsewhere.
        if PurePath(name).name != name:
            warnings.append(f"{path}: {name[:60]} is not the name of a file next to it")
            continue
        stem = name.removesuffix(".json")
        file = _load(path.parent / f"{stem}.json", warnings, None)
        if file is not None and source.family(file.document) == "suite":
            # One that names itself would never end.
            warnings.append(f"{file.path}: a suite within a suite; accepted: documents of tests")
            continue
        for one in _documents(file, warnings) if file is not None else ():
            if suite.digests.get(stem, one.document.get("digest")) != one.document.get("digest"):
                warnings.append(f"{one.path}: not the document that the suite was made with")
            yield replace(one, varied=values.get(stem))


def _sweeps(found: Sequence[_Found], measured: Sequence[Measured]) -> Iterator[Chapter]:
    """Yield a chapter that draws the documents of a varied parameter above one another."""
    pairs = [(one.varied, each) for one, each in zip(found, measured, strict=True) if one.varied]
    for key in dict.fromkeys(varied[0] for varied, _ in pairs):
        values = [(varied[1], each) for varied, each in pairs if varied[0] == key]
        if len(values) > 1 and len({each.test for _, each in values}) == 1:
            yield overlay.sweep([each for _, each in values], [value for value, _ in values], key)


def _names(measured: Sequence[Measured]) -> list[str]:
    """Return what distinguishes documents: their load, where they have one each, or their names."""
    loads = [str(one.header.options.get("pattern", "")) for one in measured]
    own = [f"{one.test} {load}" for one, load in zip(measured, loads, strict=True)]
    return [
        load if load and own.count(f"{one.test} {load}") == 1 else one.name
        for one, load in zip(measured, loads, strict=True)
    ]


def _told_apart(chapters: Sequence[Chapter], names: Sequence[str]) -> tuple[Chapter, ...]:
    """Return the chapters with ids of their own; equal ones get the names of their documents."""
    titles = [chapter.title for chapter in chapters]
    is_named = len(set(names)) == len(names)
    taken: set[str] = set()
    found = []
    for chapter, name in zip(chapters, names, strict=True):
        number = 1
        own = chapter.id
        while own in taken:
            number += 1
            is_first = is_named and number == 2
            own = words.file_name(name) if is_first else f"{chapter.id}-{number}"
        taken.add(own)
        is_alone = titles.count(chapter.title) == 1
        title = chapter.title if is_alone else f"{chapter.title}: {name}"
        found.append(replace(chapter, id=own, title=title))
    return tuple(found)


def _title(measured: Sequence[Measured], chapters: Sequence[Chapter]) -> str:
    if len(chapters) == 1:
        return chapters[0].title
    targets = list(dict.fromkeys(map(header.subject, measured)))
    return f"Standard tests of {targets[0]}" if len(targets) == 1 else "Standard tests"


def _lead(chapters: Sequence[Chapter], common: str = "") -> str:
    if len(chapters) == 1:
        return ""
    words_of = [one.verdict.text for one in chapters if one.verdict is not None]
    counts = ", ".join(f"{words_of.count(text)} × {text}" for text in dict.fromkeys(words_of))
    told = f"{len(chapters)} documents, a chapter each: {counts}."
    return f"{common}. {told}" if common else told
