"""What can be read of a damaged document: a record all the same, and what was lost of it.

```text
mapping ──readable()──► record, with stand-ins for what was lost
                    └─► problems: each place, what stands there, what is accepted
```
A value that may be null becomes null, text becomes empty, a list keeps the entries that are whole.
A number has no stand-in that could not be taken for a measurement: without it, its row or its entry
of a list is left out, and a part that may be null is null. Only at a fixed place, such as a key of
the header, it becomes 0 or False; who shows it must ask whether it was lost.

Keys that are not declared are left out silently: a newer build may have added them.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin

import msgspec

from opennandlab.documents.record import (
    Kind,
    Problem,
    Record,
    Row,
    converted,
    problem_of,
)

Place = tuple[str | int, ...]
# A record, or what a field of one may be.
Annotation: TypeAlias = Any
# Of numbers and truth values, at fixed places.
ZEROS: dict[Any, object] = {int: 0, float: 0.0, bool: False}


class _LostError(Exception):
    """Something was lost that nothing can stand for."""


def readable(value: object, kind: type[Kind]) -> tuple[Kind, list[Problem]]:
    """Return as much of a document as can be read, and what was lost.

    Args:
        value: JSON, parsed; it is not changed.
        kind: The record that it must be.
    """
    lost: list[Problem] = []
    return _part(value, kind, (), lost, is_fixed=True), lost


def nothing(kind: type[Kind]) -> Kind:
    """Return what stands for a part that was lost whole: null, empty or zero.

    >>> nothing(int), nothing(list[str])
    (0, [])
    """
    found: Kind = _stand_in(kind, is_fixed=True)
    return found


def _part(
    value: object, kind: Annotation, place: Place, lost: list[Problem], *, is_fixed: bool
) -> Any:  # noqa: ANN401 (what the annotation says)
    try:
        return converted(value, kind)
    except msgspec.ValidationError as error:
        refusal = error
    except RecursionError:
        refusal = msgspec.ValidationError("nested too deeply")
    options = _options(kind)
    may_be_null = type(None) in options
    shape = next((one for one in options if _fits(value, one)), None)
    try:
        if shape is not None:
            return _inside(value, shape, place, lost, is_fixed=is_fixed and not may_be_null)
        problem = problem_of(refusal, value, kind)
        lost.append(Problem((*place, *problem.place), problem.message))
        return _stand_in(kind, is_fixed=is_fixed)
    except _LostError:
        if may_be_null:
            return None
        raise


def _inside(
    value: Any,  # noqa: ANN401 (a list or mapping)
    kind: Annotation,
    place: Place,
    lost: list[Problem],
    *,
    is_fixed: bool,
) -> object:
    """Return a list or a mapping of the right shape without what cannot be read."""
    inner = get_args(kind)
    if isinstance(value, Mapping) and not inner:
        return _record(value, kind, place, lost, is_fixed=is_fixed)
    entries = value.items() if isinstance(value, Mapping) else enumerate(value)
    may_lack = isinstance(value, Mapping) or _is_record(inner[0])
    found = {}
    for key, one in entries:
        try:
            found[key] = _part(one, inner[-1], (*place, key), lost, is_fixed=False)
        except _LostError:  # noqa: PERF203 (each entry may be lost)
            if not may_lack:
                raise
    return found if isinstance(value, Mapping) else list(found.values())


def _record(
    value: Mapping[str, object],
    kind: type[Record],
    place: Place,
    lost: list[Problem],
    *,
    is_fixed: bool,
) -> Record:
    found = {}
    for field in msgspec.structs.fields(kind):
        name, here = field.name, (*place, field.name)
        try:
            if name in value:
                found[name] = _part(value[name], field.type, here, lost, is_fixed=is_fixed)
            elif field.required:
                lost.append(Problem(here, "missing"))
                found[name] = _stand_in(field.type, is_fixed=is_fixed)
        except _LostError:
            if not is_fixed:
                raise
            found[name] = _stand_in(field.type, is_fixed=True)
    return kind(**found)


def _stand_in(kind: Annotation, *, is_fixed: bool) -> Any:  # noqa: ANN401 (as declared)
    """Return what stands for a value that was lost.

    Raises:
        _LostError: for a number or truth value that is not at a fixed place.
    """
    options = _options(kind)
    if type(None) in options:
        return None
    option = options[0]
    if option in ZEROS:
        if not is_fixed:
            raise _LostError
        return ZEROS[option]
    if get_origin(option) is Literal:
        return get_args(option)[0]
    if not _is_record(option):
        return (get_origin(option) or option)()
    fields = [field for field in msgspec.structs.fields(option) if field.required]
    return option(**{field.name: _stand_in(field.type, is_fixed=is_fixed) for field in fields})


def _options(kind: Annotation) -> tuple[Any, ...]:
    """Return what a value may be, without limits of numbers."""
    found = get_args(kind) if get_origin(kind) in {Union, types.UnionType} else (kind,)
    return tuple(one.__origin__ if hasattr(one, "__metadata__") else one for one in found)


def _fits(value: object, kind: Annotation) -> bool:
    """Return whether a value is a list or mapping whose entries can be read one by one."""
    origin: object = get_origin(kind)
    if isinstance(value, Mapping):
        return origin is dict or (_is_record(kind) and not issubclass(kind, Row))
    return isinstance(value, list) and origin is list


def _is_record(kind: Annotation) -> bool:
    return isinstance(kind, type) and issubclass(kind, Record | Row)
