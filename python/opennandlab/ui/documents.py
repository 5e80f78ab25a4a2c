"""The report of any document: the page of its family, or its numbers as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opennandlab.base.errors import OpenNandLabError
from opennandlab.core.loading import KINDS, loaded, made_report
from opennandlab.documents.record import JsonObject
from opennandlab.reports.model import Report, Table, page_of
from opennandlab.reports.pts import views
from opennandlab.store.entry import numbers
from opennandlab.store.packing import DAMAGE

ROWS_MAX = 200


def report_of(document: JsonObject, name: str) -> Report:
    """Return the report of a document; of one that no family draws, its numbers.

    Args:
        document: The whole document.
        name: What to call it where it does not say.
    """
    schema = document.get("schema")
    kind = str(schema).removeprefix("opennandlab.").partition("/")[0]
    try:
        if kind == "pts":
            return _test(document, name)
        made = made_report(loaded(document)) if schema in KINDS else None
        if made is not None:
            return made
    except (OpenNandLabError, *DAMAGE) as error:
        made = _numbers(document, name)
        text = f"the page of its family cannot be made of this document: {error}"
        return Report(made.title, made.lead, made.chapters, (text,), made.foot, made.kind)
    return _numbers(document, name)


def _test(document: JsonObject, name: str) -> Report:
    chapter = views.chapter(document, name)
    return Report(chapter.title, "", (chapter,))


def _numbers(document: JsonObject, name: str) -> Report:
    """Return the numbers of a document, a table for each of its parts."""
    parts: dict[str, Mapping[str, Any]] = {}
    for key, value in document.items():
        if isinstance(value, Mapping):
            parts[key] = value
        elif not isinstance(value, list):
            parts.setdefault("document", {})
            parts["document"] = {**parts["document"], key: value}
    tables = [
        Table(key, key.replace("_", " ").capitalize(), ("name", "value"), tuple(rows[:ROWS_MAX]))
        for key, part in parts.items()
        if (rows := list(numbers(part)))
    ]
    return page_of(name, "", tables)
