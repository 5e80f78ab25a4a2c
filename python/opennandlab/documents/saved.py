"""Documents on disk: JSON of ours, whole and unedited, or refused with the reason.

The `schema` of a file, such as `opennandlab.result/1`, names its kind. Its keys are declared in
`documents`; this file has the rules that all kinds have in common.
"""

from __future__ import annotations

import errno
import json
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, TypeVar

from opennandlab.base.canonical import digest, oddity
from opennandlab.base.errors import DocumentError, ResultError
from opennandlab.base.files import read_bytes
from opennandlab.documents.record import JsonObject, read, shown

# Larger files are no documents: those of the longest tests have a tenth. As values, a text takes up
# to twenty times its size of memory.
BYTES_MAX = 64 << 20
# `run.json` has a kilobyte for each test.
MOMENTS_BYTES_MAX = 1 << 20

# How schemas of what commands print begin, and where their documents are.
PRINTED = "opennandlab.cli."
SAVED_BY = {
    "reliability life": "`runs show KEY --output FILE` saves the document of each drive of the "
    "sample, from the store that keeps them",
    "sweep": "`runs show KEY --output FILE` saves the document of a point, and `--plot` draws them",
}
# The first bytes of a device image, which is none.
IMAGE = b"ONLIMAGE"

Kind = TypeVar("Kind")


class ForeignError(ResultError):
    """A document of a schema that is not accepted.

    Args:
        message: The file, its schema, and what is accepted.
        schema: Its schema.
    """

    def __init__(self, message: str, schema: str) -> None:
        """Keep the schema next to the message."""
        super().__init__(message)
        self.schema = schema


def read_content(path: Path, accepted: str) -> bytes:
    """Return the bytes of what may be a document: all verbs read them here, up to one limit.

    Args:
        path: The file.
        accepted: What it may hold, in words.

    Raises:
        ResultError: when it cannot be read, is larger than any document, or is a device image.
    """
    try:
        raw = read_bytes(path, BYTES_MAX)
    except OSError as error:
        hint = f"; accepted: {accepted}" if error.errno == errno.EFBIG else ""
        raise ResultError(f"{path}: {error.strerror or error}{hint}") from error
    if raw.startswith(IMAGE):
        hint = "`report` draws its wear, `--state image:FILE` begins a run with it"
        raise ResultError(f"{path}: a device image, and no document: {hint}; accepted: {accepted}")
    return raw


def refuse_odd(path: Path, document: object) -> None:
    """Refuse JSON with values that no digest, table or terminal can hold.

    Raises:
        ResultError: with the path of the value.
    """
    if odd := oddity(document):
        accepted = "finite numbers of 64 bits, text that UTF-8 can carry"
        raise ResultError(f"{path}: damaged: {odd}; accepted: {accepted}")


def read_document(path: Path, accepted: Sequence[str]) -> JsonObject:
    """Return the document of a file as plain JSON.

    Args:
        path: The file.
        accepted: Schemas that it may have.

    Raises:
        ResultError: when the file is damaged, foreign or newer than this build, and why.
    """
    wanted = ", ".join(accepted)
    raw = read_content(path, wanted)
    try:
        document = json.loads(raw, object_pairs_hook=_each_once)
    except (ValueError, RecursionError) as error:
        raise ResultError(f"{path}: damaged: {_flaw(raw, error)}; accepted: {wanted}") from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(schema, str) or not schema.startswith("opennandlab."):
        if isinstance(document, dict) and "fio version" in document:
            raise ResultError(f"{path}: JSON of fio: `pts import` makes a document of it")
        found = "no `schema` of ours" if schema is None else f"the `schema` {shown(schema)}"
        raise ResultError(f"{path}: has {found}; accepted: {wanted}")
    if schema not in accepted:
        if schema.startswith(PRINTED):
            raise _printed(path, schema, wanted)
        hint = _of_version(schema, accepted)
        raise ForeignError(f"{path}: holds `{schema}`; accepted: {wanted}{hint}", schema)
    refuse_odd(path, document)
    return dict(document)


def _printed(path: Path, schema: str, wanted: str) -> ForeignError:
    """Return the error for what a command printed with `--json` and does not save."""
    command = schema.removeprefix(PRINTED).partition("/")[0].replace(".", " ")
    hint = SAVED_BY.get(command, "its --output or --plot, where it has one, saves what can be used")
    text = f"{path}: `{schema}` is what `{command} --json` prints, and no document; {hint}"
    return ForeignError(f"{text}; accepted: {wanted}", schema)


def _of_version(schema: str, accepted: Collection[str]) -> str:
    """Return what to do with a document of another version; nothing for another kind.

    >>> _of_version("opennandlab.pts/2", ["opennandlab.pts/1"])
    ': use the newer version'
    """
    name, _, number = schema.partition("/")
    known = [one.partition("/")[2] for one in accepted if one.partition("/")[0] == name]
    if not known:
        return ""
    if number.isascii() and number.isdigit() and int(number[:9]) < min(map(int, known)):
        return ": an older version of opennandlab made it, and only that reads it"
    return ": use the newer version"


def _each_once(pairs: list[tuple[str, Any]]) -> JsonObject:
    """Return an object of JSON; a reader that takes the first of two values would see another."""
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {shown(twice)} is given twice")
    return found


def read_moments(path: Path) -> JsonObject:
    """Return the runs that a `run.json` lists by name; nothing for any other file."""
    try:
        found = json.loads(read_bytes(path, MOMENTS_BYTES_MAX))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and oddity(found) is None else {}


def _flaw(raw: bytes, error: Exception) -> str:
    """Return why bytes are no JSON document."""
    if not raw.strip():
        return "empty"
    if isinstance(error, UnicodeDecodeError):
        return (
            f"no complete JSON document (byte {error.start} is not {error.encoding.upper()} text)"
        )
    if isinstance(error, RecursionError):
        return "no complete JSON document (nested too deeply)"
    return f"no complete JSON document ({error})"


def typed(path: Path, document: JsonObject, kind: type[Kind]) -> Kind:
    """Return a document as declared.

    Raises:
        DocumentError: with file, path, value and what is accepted.
    """
    try:
        return read(document, kind)[0]
    except DocumentError as error:
        raise damaged(path, error) from None


def damaged(path: Path, error: DocumentError) -> DocumentError:
    """Return an error with the name of the file."""
    return DocumentError(f"{path}: damaged: {error.path}", error.message)


def refuse_edited(path: Path, document: JsonObject) -> None:
    """Refuse a document whose numbers were changed after it was written.

    Raises:
        ResultError: when it states a digest that its content does not have.
    """
    stated = document.get("digest")
    if isinstance(stated, str) and stated != digest(document):
        raise ResultError(
            f"{path}: damaged or edited: the content does not match its digest {stated[:12]}…"
        )
