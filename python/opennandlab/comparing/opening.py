"""What was named on a command line, as subjects of a comparison: files, folders, keys of a store.

A name that is no file and has 4 to 64 hex digits is the key of a point in a store of runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opennandlab.base.errors import DocumentError, ResultError, StoreError, inert
from opennandlab.base.files import is_there
from opennandlab.comparing import families
from opennandlab.comparing.model import Family
from opennandlab.comparing.naming import names_of
from opennandlab.comparing.side import Subject, refuse_mixed
from opennandlab.documents import pts
from opennandlab.documents.record import JsonObject
from opennandlab.documents.saved import damaged, read_document, refuse_edited
from opennandlab.measured import reference
from opennandlab.measured.importing import Wanted, of_fio
from opennandlab.measured.published import PREFIX
from opennandlab.reports.pts import source
from opennandlab.store import Store
from opennandlab.store.entry import Entry

KEY = re.compile("[0-9a-fA-F]{4,64}")
KEY_DIGITS = 12
# Next to the documents of a test, and none themselves.
ASIDE = {"run.json", "suite.json"}


@dataclass(frozen=True)
class _Named:
    """One document before it is read.

    Args:
        text: What it is called in messages.
        kind: What its `schema` says, such as `pts`; empty for nothing of ours.
        read: Returns it as its family takes it.
        entry: The point, of what comes from a store.
    """

    text: str
    kind: str
    read: Callable[[Family, str], Any]
    entry: Entry | None = None


def opened(
    given: Sequence[str], store: Path | None = None, wanted: Wanted | None = None
) -> tuple[Family, list[Subject]]:
    """Read what was named.

    Args:
        given: Files, folders with one document, and keys of points.
        store: The store that keys are of; None for the usual place.
        wanted: Which jobs are taken of outputs of fio.

    Raises:
        ResultError: for a file that is damaged or foreign, and for different families.
        StoreError: for a store that cannot be used, a key that it does not have, and a point that
            failed.
    """
    return _subjects([_named(text, store, wanted) for text in given])


def points(entries: Sequence[Entry]) -> tuple[Family, list[Subject]]:
    """Return points of a store as subjects; nothing is read from files.

    Raises:
        ResultError: for a document of no family that is compared, and for different families.
        StoreError: for a point that failed.
    """
    return _subjects([_of_entry(entry) for entry in entries])


def _subjects(found: Sequence[_Named]) -> tuple[Family, list[Subject]]:
    """Read documents of one family.

    Raises:
        ResultError: for what is none, and for different families.
    """
    for one in found:
        if one.kind not in families.HOMES:
            raise ResultError(
                f"{one.text}: holds {f'a document `{one.kind}`' if one.kind else 'no document'}; "
                f"accepted: {', '.join(families.SCHEMAS)}"
            )
    kinds = [families.of_kind(one.kind) for one in found]
    refuse_mixed([one.text for one in found], kinds)
    names, sources = _names(found)
    return kinds[0], [
        Subject(inert(part), inert(text), document, one.entry)
        for one, name, text in zip(found, names, sources, strict=True)
        for part, document in kinds[0].parts(one.read(kinds[0], name), name)
    ]


def _named(text: str, store: Path | None, wanted: Wanted | None) -> _Named:
    if text.startswith(PREFIX):
        whole = pts.to_json(reference(text))
        return _Named(text, "pts", lambda family, name: family.opened(whole, name))
    path = Path(text)
    if KEY.fullmatch(text) and not is_there(path):
        return _point(text, store)
    path = _document_in(path)
    foreign = of_fio(path, wanted)
    if foreign is not None:
        imported = pts.to_json(foreign)
        return _Named(str(path), "pts", lambda family, name: family.opened(imported, name))
    document, complaints = source.load(path)
    kind = source.family(document)

    def read(family: Family, name: str) -> Any:  # noqa: ANN401 (of any family)
        if kind == "pts":
            # Of a test as much is compared as can be read.
            moment = source.moment_of(path, document)
            return source.read(document, name, complaints, moment)
        whole = read_document(path, families.SCHEMAS)
        refuse_edited(path, whole)
        try:
            return family.opened(whole, name)
        except DocumentError as error:
            raise damaged(path, error) from None

    if kind not in families.HOMES or (complaints and kind != "pts"):
        read_document(path, families.SCHEMAS)
    return _Named(str(path), kind, read)


def _point(key: str, store: Path | None) -> _Named:
    try:
        with Store.open(store, create=False) as open_store:
            entry = open_store.entry(key)
    except StoreError as error:
        raise StoreError(f"{key}: no such file, and as the key of a point: {error}") from error
    return _of_entry(entry)


def _of_entry(entry: Entry) -> _Named:
    if entry.document is None:
        raise StoreError(
            f"the point {entry.key[:KEY_DIGITS]} has no document, it failed: {entry.error}"
        )
    document: JsonObject = entry.document
    text = f"the point {entry.key[:KEY_DIGITS]}"

    def read(family: Family, name: str) -> Any:  # noqa: ANN401 (of any family)
        try:
            return family.opened(document, name)
        except DocumentError as error:
            raise damaged(Path(text), error) from None

    return _Named(text, source.family(document), read, entry)


def _document_in(path: Path) -> Path:
    """Return a file, or the one document in a folder.

    Raises:
        ResultError: for a folder with none or several, naming them.
    """
    if not path.is_dir():
        return path
    found = sorted(one for one in path.glob("*.json") if one.name not in ASIDE)
    if len(found) == 1:
        return found[0]
    names = ", ".join(one.name for one in found[:8]) or "none"
    raise ResultError(f"{path}: a folder; accepted: one document, of which it has {names}")


def _names(found: Sequence[_Named]) -> tuple[list[str], list[str]]:
    """Return short names, and where each comes from; points are called by what was varied."""
    entries = [one.entry for one in found if one.entry is not None]
    values = [{**entry.coordinates, "seed": entry.seed} for entry in entries]
    keys = list(dict.fromkeys(key for one in values for key in one))
    varied = [key for key in keys if len({repr(one.get(key)) for one in values}) > 1]
    # A value that is a word states what it is; a number needs its name.
    words = len(varied) == 1 and all(isinstance(one.get(varied[0]), str) for one in values)
    texts = {
        entry.key: ", ".join(
            f"{key.rpartition('.')[2]}={one[key]}" for key in varied if one.get(key) is not None
        )
        for entry, one in zip(entries, values, strict=True)
    }
    is_told = len(set(texts.values())) == len(entries) and all(texts.values())
    files = iter(names_of([one.text for one in found if one.entry is None]))
    names, sources = [], []
    for one in found:
        if one.entry is None:
            names.append(next(files))
            sources.append(one.text)
        else:
            key = one.entry.key[:KEY_DIGITS]
            said = texts[one.entry.key]
            names.append((said.partition("=")[2] if words else said) if is_told else key)
            sources.append(" ".join(filter(None, [key, texts[one.entry.key]])))
    return names, sources
