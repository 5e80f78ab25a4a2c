"""From a document to the chapter that shows it: one module for each family of tests.

A view is a function `sections(measured)` that yields sections; `VIEWS` says which test it is for. A
test without a view of its own is shown by its tables, its cells over time and its steady state.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from opennandlab.documents.pts import is_of_power
from opennandlab.documents.pts_origin import method
from opennandlab.documents.record import JsonObject
from opennandlab.reports.figure.model import Plot
from opennandlab.reports.model import Badge, Chapter, Item, Section
from opennandlab.reports.pts import (
    closed_loop,
    demand,
    header,
    hir,
    inside,
    iops,
    latency,
    loads,
    stability,
    steady,
    surface,
    tables,
    throughput,
    wsat,
    xsr,
)
from opennandlab.reports.pts.drive import power_text
from opennandlab.reports.pts.headline import headlines
from opennandlab.reports.pts.source import Measured, read
from opennandlab.reports.summary import gathered

View = Callable[[Measured], Iterator[Section]]


def generic(measured: Measured) -> Iterator[Section]:
    """Yield what can be shown of a test without a view of its own."""
    found = tuple(tables.of_blocks(measured))
    if found:
        yield Section("tables", "Tables", found)
    yield from steady.sections(measured)


VIEWS: dict[str, View] = {
    "iops": iops.sections,
    "throughput": throughput.sections,
    "latency": latency.sections,
    "wsat": wsat.sections,
    "hir": hir.sections,
    "xsr": xsr.sections,
    "dirth": demand.sections,
    "ecw": demand.sections,
    "surface": surface.sections,
    "stability": stability.sections,
    "consistency": stability.consistency,
    "independence": loads.independence,
    "composite": loads.composite,
    "rw_ratio": loads.rw_ratio,
    "block_size": loads.block_size,
    "scalability": loads.scalability,
    "pathological": loads.pathological,
    "access_time": loads.access_time,
    "position": loads.position,
    "burst": loads.burst,
    "skew": inside.skew,
    "fill": inside.fill,
    "zones": inside.zones,
    "load": inside.load,
    "identify": inside.identify,
}


def chapter(document: JsonObject, name: str, complaints: list[str] | None = None) -> Chapter:
    """Return the chapter of a document.

    Args:
        document: As in the file, whole or damaged.
        name: What to call it where it has no name: the file.
        complaints: What was wrong with the file.
    """
    return chapter_of(read(document, name, complaints))


def chapter_of(measured: Measured) -> Chapter:
    """Return the chapter of a document that was read."""
    view = VIEWS.get(measured.test, generic)
    sections = list(view(measured))
    shown = {item.id for section in sections for item in section.items}
    tails = tuple(one for one in tables.of_tails(measured.document) if one.id not in shown)
    if tails:
        sections.append(Section("percentiles", "Percentiles", tails))
    watts = tuple(tables.of_block(one) for one in measured.document.tables if is_of_power(one.id))
    if watts:
        text = power_text(measured.header)
        sections.append(Section("power", "Power", watts, f"{text[:1].upper()}{text[1:]}."))
    if repeats := tuple(tables.of_repeats(measured.document)):
        sections.append(Section("repeats", "Repeated runs", repeats))
    if not any(section.id == "results" for section in sections):
        sections += tables.results(measured)
    stated = measured.verdict
    return Chapter(
        id=re.sub(r"[^a-z0-9]+", "-", f"{measured.test or 'test'}".lower()).strip("-") or "test",
        title=measured.title,
        subtitle=header.subtitle(measured),
        verdict=Badge(stated.text, stated.kind),
        reason=stated.reason,
        headlines=headlines(measured.document),
        facts=header.facts(measured),
        badges=header.badges(measured),
        deviations=header.deviations(measured),
        standard="the whole test" if method(measured.test) else "the specification",
        warnings=(
            *gathered(filter(None, measured.document.warnings)),
            *closed_loop.note(measured.document),
        ),
        missing=measured.missing + tuple(_empty(sections)),
        sections=tuple(_unique(sections)),
        brief=header.brief(measured),
        test=measured.test,
    )


def _empty(sections: list[Section]) -> Iterator[str]:
    """Yield the plots that have nothing to draw, and the sections without content."""
    for section in sections:
        if not section.items:
            yield f"nothing to show under “{section.title}”"
        for item in section.items:
            if isinstance(item, Plot) and not item.drawable:
                yield f"no values for the plot “{item.title}”"


def _unique(sections: list[Section]) -> Iterator[Section]:
    """Yield the sections without what cannot be drawn; ids are made unique within the chapter."""
    seen: dict[str, int] = {}

    def named(item: Item) -> Item:
        seen[item.id] = seen.get(item.id, 0) + 1
        count = seen[item.id]
        return item if count == 1 else replace(item, id=f"{item.id}-{count}")

    for section in sections:
        items = tuple(
            named(item) for item in section.items if not isinstance(item, Plot) or item.drawable
        )
        if items:
            yield replace(section, items=items)
