"""What all documents have in common: how a mapping becomes a record and back, and what errors say.

A *document* is JSON that one program writes and another reads. Each kind is declared once, as
classes of this room; schema, reference page, types and errors follow from the declaration.

```text
file ──json──► mapping ──read()──► Record ──plain()──► mapping ──json──► file
                  └ an error names the key, what stands there, and what is accepted
```

Rules of all records:

* A field without a default is always in the document; where its type has `None`, that is `null`.
* A field with the default `None` is absent from the document when it is `None`.
* Keys stand in the order of declaration.
* Within one version of a schema keys are only ever added. `made` is for what this program made
  itself and accepts no key that is not declared; `read` is for files, which a newer build may have
  written: it leaves unknown keys out and names them. A file that was edited is found by its digest.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from opennandlab.base.errors import DocumentError

# More unknown keys than this are no newer version of a document.
UNKNOWN_MAX = 1000
# How values are called in errors, by the name that the decoder gives their type.
WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "null": "null",
    "array": "a list",
    "object": "a mapping",
}

BOUNDS = {">=": "at least", "<=": "at most", ">": "above", "<": "below"}

# msgspec prepares a class when it is first decoded, and two threads that do so at the same time
# crash the interpreter. Decoding holds the GIL in any case, so the lock costs no speed.
DECODING = threading.Lock()

# JSON whose keys another schema declares, such as the resolved device.
JsonObject = dict[str, Any]
# A number that keeps the form in which it was written: 65 stays 65, and 65.0 stays 65.0.
Number = int | float


class Record(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A mapping with fixed keys, part of a document."""


class Row(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A list with fixed places, part of a document."""


Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Problem:
    """What is wrong at one place of a document.

    Args:
        place: The keys and positions that lead there.
        message: What stands there and what is accepted.
        unknown: Whether it is only a key that is not declared.
    """

    place: tuple[str | int, ...]
    message: str
    unknown: bool = False

    @property
    def path(self) -> str:
        """The place as text, such as `state.steps[0].waf`."""
        return path_text(self.place)


def converted(value: object, kind: type[Kind]) -> Kind:
    """Return JSON, parsed, as a record; raises what msgspec raises."""
    with DECODING:
        return msgspec.convert(value, kind)


def decoded(text: str, kind: type[Kind]) -> Kind:
    """Return JSON text as a record; raises what msgspec raises."""
    with DECODING:
        return msgspec.json.decode(text, type=kind)


def plain(record: object) -> JsonObject:
    """Return a record as JSON: mappings, lists and plain values."""
    found: JsonObject = msgspec.to_builtins(record)
    return found


def made(value: object, kind: type[Kind], place: tuple[str | int, ...] = ()) -> Kind:
    """Return what this program made as the record it must be.

    Raises:
        DocumentError: with path, value and what is accepted; also for keys that are not declared.
    """
    try:
        return converted(value, kind)
    except msgspec.ValidationError as error:
        raise _error(problem_of(error, value, kind), place) from None
    except RecursionError:
        raise DocumentError(path_text(place), "nested too deeply") from None


def read(
    value: object, kind: type[Kind], place: tuple[str | int, ...] = ()
) -> tuple[Kind, list[str]]:
    """Return what a file holds as a record, and the paths of the keys that were left out.

    Args:
        value: JSON, parsed; it is not changed.
        kind: What it must be.
        place: Where it stands in its document.

    Raises:
        DocumentError: with path, value and what is accepted.
    """
    unknown: list[str] = []
    while True:
        try:
            return converted(value, kind), unknown
        except msgspec.ValidationError as error:
            problem = problem_of(error, value, kind)
        except RecursionError:
            raise DocumentError(path_text(place), "nested too deeply") from None
        if not problem.unknown or len(unknown) >= UNKNOWN_MAX:
            raise _error(problem, place)
        unknown.append(path_text((*place, *problem.place)))
        value = _without(value, problem.place)


def number_paths(kind: object) -> Iterator[str]:
    """Yield the dotted paths of numbers that a record may have, `*` for the keys of a mapping.

    Args:
        kind: The record, or the description of a type that msgspec gives. Lists are left out.
    """
    found = kind if isinstance(kind, msgspec.inspect.Type) else msgspec.inspect.type_info(kind)
    parts: list[tuple[str, msgspec.inspect.Type]] = []
    if isinstance(found, msgspec.inspect.IntType | msgspec.inspect.FloatType):
        yield ""
    elif isinstance(found, msgspec.inspect.UnionType):
        yield from dict.fromkeys(path for one in found.types for path in number_paths(one))
    elif isinstance(found, msgspec.inspect.DictType):
        parts = [("*", found.value_type)]
    elif isinstance(found, msgspec.inspect.StructType):
        parts = [(field.encode_name, field.type) for field in found.fields]
    for name, inner in parts:
        yield from (f"{name}.{path}" if path else name for path in number_paths(inner))


def problem_of(error: msgspec.ValidationError, value: object, kind: type[Any]) -> Problem:
    """Return what a refusal of the decoder means: where, what stands there, what is accepted."""
    text, _, at = str(error).partition(" - at `")
    place = tuple(_places(at.rstrip("`").removeprefix("$"), value, kind, str(error)))
    if missing := re.fullmatch(r"Object missing required field `(.*)`", text):
        name = missing.group(1)
        return Problem((*place, name), f"missing; accepted: {_accepted(value, kind, place, name)}")
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", text):
        return Problem((*place, unknown.group(1)), "not a known key", unknown=True)
    if wrong := re.fullmatch(r"Expected `([^`]*)`, got `[^`]*`", text):
        found = shown(_at(value, place))
        return Problem(place, f"{found} is not valid; accepted: {_words(wrong.group(1))}")
    if short := re.fullmatch(r"Expected `array` of (.*), got (\d+)", text):
        count = int(short.group(2))
        entries = "1 entry" if count == 1 else f"{count} entries"
        return Problem(place, f"has {entries}; accepted: {_bound(short.group(1))}")
    return Problem(place, f"{shown(_at(value, place))} {_refused(text)}")


def _refused(text: str) -> str:
    """Return the words for a value of the right type that the decoder does not take.

    >>> _refused("Expected `int` >= 0")
    'is out of range; accepted: at least 0'
    """
    if bound := re.fullmatch(r"Expected `(?:int|float)` ([<>]=?) (\S+)", text):
        accepted = f"{BOUNDS[bound.group(1)]} {float(bound.group(2)):.15g}"
        return f"is out of range; accepted: {accepted}"
    if text.startswith("Invalid enum value"):
        return "is not known here"
    return f"is not valid: {text}"


def shown(value: object, limit: int = 40) -> str:
    """Write a value on one line, shortened, for an error.

    >>> shown("x"), shown([1, 2]), shown(None)
    ('`"x"`', '`[1, 2]`', '`null`')
    """
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return f"`{text if len(text) <= limit else text[: limit - 1] + '…'}`"


def path_text(place: tuple[str | int, ...]) -> str:
    """Return a place as text.

    >>> path_text(("state", "steps", 0, "waf"))
    'state.steps[0].waf'
    """
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return "".join(parts).removeprefix(".")


def _error(problem: Problem, place: tuple[str | int, ...]) -> DocumentError:
    return DocumentError(path_text((*place, *problem.place)), problem.message)


def _places(at: str, value: object, kind: type[Any], message: str) -> Iterator[str | int]:
    """Yield the keys of a path; where the decoder says only `[...]`, find the key by trial."""
    place: tuple[str | int, ...] = ()
    for name, index in re.findall(r"\.(\w+)|\[([^\]]*)\]", at):
        part: str | int = name
        if index == "...":
            part = _culprit(value, place, kind, message)
        elif not name:
            part = int(index)
        place = (*place, part)
        yield part


def _culprit(value: object, place: tuple[str | int, ...], kind: type[Any], message: str) -> str:
    """Return the key of a mapping whose value the decoder refuses with this message."""
    node = _at(value, place)
    keys = list(node) if isinstance(node, Mapping) else []
    refusals = ((key, _refusal(_with(value, place, {key: node[key]}), kind)) for key in keys)
    return next((str(key) for key, found in refusals if found == message), "?")


def _refusal(value: object, kind: type[Any]) -> str:
    """Return what the decoder says against a value; nothing when it takes it."""
    try:
        converted(value, kind)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def _accepted(value: object, kind: type[Any], place: tuple[str | int, ...], name: str) -> str:
    """Return what a key that is missing accepts: what the decoder says of a value of no type."""
    node = _at(value, place)
    inner = {**node, name: 1j} if isinstance(node, Mapping) else {name: 1j}
    refusal = _refusal(_with(value, place, inner), kind)
    found = re.search(r"Expected `([^`]*)`, got `complex`", refusal)
    return _words(found.group(1)) if found else "a value"


def _bound(length: str) -> str:
    """Return the words for a length that the decoder accepts.

    >>> _bound("at least length 26"), _bound("length 2"), _bound("length 1 to 3")
    ('at least 26', 'exactly 2', '1 to 3')
    """
    bound = length.replace("length ", "")
    return f"exactly {bound}" if bound.isdigit() else bound


def _words(types: str) -> str:
    """Return the words for `int | null`.

    >>> _words("int | float | null")
    'a number or null'
    """
    names = types.split(" | ")
    words = [WORDS.get(name, name) for name in names if name != "int" or "float" not in names]
    return " or ".join(dict.fromkeys(words))


def _at(value: Any, place: tuple[str | int, ...]) -> Any:  # noqa: ANN401 (any JSON)
    try:
        for part in place:
            value = value[part]
    except (KeyError, IndexError, TypeError):
        return None
    return value


def _with(value: Any, place: tuple[str | int, ...], inner: object) -> Any:  # noqa: ANN401
    """Return a copy of JSON with something else at a place."""
    if not place:
        return inner
    first, *rest = place
    copy: Any = dict(value) if isinstance(value, Mapping) else list(value)
    copy[first] = _with(value[first], tuple(rest), inner)
    return copy


def _without(value: object, place: tuple[str | int, ...]) -> object:
    """Return a copy of JSON without the key at a place."""
    node = _at(value, place[:-1])
    rest = {key: item for key, item in node.items() if key != place[-1]}
    return _with(value, place[:-1], rest)
