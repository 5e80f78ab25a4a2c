"""The report of any document: the page of its family, or its numbers as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opennandlab.base.errors import OpenNandLabError
from opennandlab.documents.app import AppDocument
from opennandlab.documents.ecc import CodeComparison, CurveDocument
from opennandlab.documents.fleet import FleetDocument
from opennandlab.documents.power_loss import PowerDocument
from opennandlab.documents.record import JsonObject, read
from opennandlab.documents.result import ResultDocument
from opennandlab.ecc import charts
from opennandlab.ecc.drawn import of_document
from opennandlab.reports import app, fleet, plot, power
from opennandlab.reports.figure.model import Plot
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
        if kind in MAKERS:
            return MAKERS[kind](document, name)
    except (OpenNandLabError, *DAMAGE) as error:
        made = _numbers(document, name)
        text = f"the page of its family cannot be made of this document: {error}"
        return Report(made.title, made.lead, made.chapters, (text,), made.foot, made.kind)
    return _numbers(document, name)


def _result(document: JsonObject, name: str) -> Report:
    del name
    return plot.report(read(document, ResultDocument)[0])


def _test(document: JsonObject, name: str) -> Report:
    chapter = views.chapter(document, name)
    return Report(chapter.title, "", (chapter,))


def _curve(document: JsonObject, name: str) -> Report:
    curve = read(document, CurveDocument)[0]
    return page_of(name, "", [_curves([curve])])


def _codes(document: JsonObject, name: str) -> Report:
    comparison = read(document, CodeComparison)[0]
    return page_of(name, "", [_curves(comparison.curves)])


def _curves(curves: Any) -> Plot:  # noqa: ANN401 (documents)
    return charts.plot([of_document(curve) for curve in curves])


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


MAKERS: dict[str, Callable[[JsonObject, str], Report]] = {
    "result": _result,
    "pts": _test,
    "ecc-curve": _curve,
    "ecc-comparison": _codes,
    "app": lambda document, _: app.report(read(document, AppDocument)[0]),
    "fleet": lambda document, _: fleet.report(read(document, FleetDocument)[0]),
    "power": lambda document, _: power.report(read(document, PowerDocument)[0]),
}
