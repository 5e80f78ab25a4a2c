"""The report of endurance and retention: limits of the classes, survival, devices that failed."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.base.words import number
from opennandlab.documents.power_endurance import (
    EnduranceCell,
    EnduranceCuts,
    EnduranceDocument,
    EndurancePair,
)
from opennandlab.reports.figure.model import Axis, Mark, Plot, Series
from opennandlab.reports.model import Badge, Cell, Chapter, Headline, Report, Section, Table


def report(document: EnduranceDocument) -> Report:
    """Return the report of a campaign."""
    tables = (limits(document), retention(document))
    sections = [Section("limits", "Limits of the classes", tables)]
    if len(document.settings.ages) > 1:
        sections.append(Section("survival", "Survival", (survival(document),)))
    sections.append(Section("rates", "Errors that the code did not correct", (rates(document),)))
    if is_cut(document):
        shown = [cuts(document), costs(document), struck(document)]
        if any(one.faults for _, one in _with_cuts(document)):
            shown.insert(1, faults(document))
        sections.append(Section("cuts", "Power cuts while they age", tuple(shown)))
    if document.verdicts:
        sections.append(Section("devices", "Devices that failed", (devices(document),)))
    chapter = Chapter(
        id="endurance",
        title=str(document.fleet["name"]),
        subtitle=subtitle(document),
        verdict=Badge.of_outcome(passed=document.passed, partial=document.partial),
        reason=reason(document),
        headlines=(
            Headline("devices", str(len(document.devices))),
            Headline("devices that failed", str(len({one.device for one in document.verdicts}))),
        ),
        warnings=tuple(document.warnings),
        sections=tuple(sections),
        test="power endurance",
    )
    foot = f"opennandlab {document.run.version}, digest {document.digest}"
    title = "Endurance and retention"
    return Report(title, "after JESD218", (chapter,), (), foot, "power endurance")


def subtitle(document: EnduranceDocument) -> str:
    """Return a line on what was done."""
    given, count = document.settings, len(document.devices)
    ages = ", ".join(f"{age:g}" for age in given.ages)
    return (
        f"{count} device{'s' * (count != 1)}; classes {', '.join(given.classes)}; "
        f"{', '.join(given.variants)}; {ages} rated TBW"
    )


def reason(document: EnduranceDocument) -> str:
    """Return why the verdict is what it is."""
    bad = [one for one in document.cells if not one.passed and one.devices]
    if bad:
        one = bad[0]
        why = (
            f"{one.uber_failed} of {one.devices} devices are beyond an UBER of {one.uber_max:g}"
            if one.uber_failed
            else f"{one.failed} of {one.devices} devices failed"
        )
        return f"{one.drive_class}, {one.variant}, {one.age:g} rated TBW: {why}"
    for name, cut in _with_cuts(document):
        if cut.faulty:
            kinds = ", ".join(cut.faults)
            return f"{name}: {cut.faulty} of {cut.devices} devices show faults after cuts: {kinds}"
        if not cut.passed and cut.devices:
            return f"{name}: beyond the limits of the class with power cuts"
    return "every cell is within the limits of its class"


def limits(document: EnduranceDocument) -> Table:
    """Return a row for each cell: functional failures and errors against the limits."""
    rows: list[tuple[Cell, ...]] = [
        (
            f"{one.drive_class}, {one.variant}, {one.age:g}",
            f"{one.failed} of {one.devices}",
            f"{100 * one.ffr:.1f} % ({100 * one.ffr_low:.1f} % to {100 * one.ffr_high:.1f} %)"
            if one.devices
            else "-",
            str(one.uber_failed),
            "-" if one.uber is None else f"{one.uber:.2g}",
            _verdict(one),
        )
        for one in document.cells
    ]
    heads = (
        "class, variant, rated TBW", "failed", "FFR (95 %)", "beyond UBER", "UBER, mean",
        "verdict",
    )  # fmt: skip
    note = "FFR: share of devices that took no more writes. Active use is at room temperature."
    return Table("limits", "Functional failures and UBER", heads, tuple(rows), note)


def summary(document: EnduranceDocument) -> Table:
    """Return the same in columns that a terminal has room for."""
    rows: list[tuple[Cell, ...]] = [
        (
            f"{one.drive_class}, {one.variant}, {one.age:g}", f"{one.failed}/{one.devices}",
            _ffr(one), str(one.uber_failed),
            "-" if one.uber is None else f"{one.uber:.1e}", _verdict(one),
        )
        for one in document.cells
    ]  # fmt: skip
    heads = ("class, variant, rated TBW", "failed", "FFR (95 %)", "beyond", "UBER", "verdict")
    note = "Beyond: devices whose rate of uncorrectable errors is above that of their class."
    return Table("summary", "Functional failures and UBER", heads, tuple(rows), note)


def _ffr(one: EnduranceCell) -> str:
    if not one.devices:
        return "-"
    low = f"{one.ffr_low:.1%} " if one.failed else ""
    return f"{low}to {one.ffr_high:.1%}"


def _verdict(one: EnduranceCell) -> str:
    if not one.devices:
        return "not run"
    return "passed" if one.passed else "failed"


def rates(document: EnduranceDocument) -> Table:
    """Return what was read, what was lost, and what that shows."""
    rows: list[tuple[Cell, ...]] = [
        (
            f"{one.drive_class}, {one.variant}, {one.age:g}", str(one.uecc),
            f"{one.bits_read:.3g}",
            "-" if one.uber_low is None else f"{one.uber_low:.2g} to {one.uber_high:.2g}",
            one.tbw_tb, one.waf, one.pe_cycles, one.scale,
        )
        for one in document.cells
    ]  # fmt: skip
    heads = (
        "class, variant, rated TBW", "pages lost", "bits read", "UBER seen (95 %)", "TBW (TB)",
        "WAF", "P/E cycles", "scale",
    )  # fmt: skip
    note = (
        "Scale: physical pages of the whole drive over those that were simulated. Means of devices."
    )
    return Table("rates", "Read back", heads, tuple(rows), note)


def retention(document: EnduranceDocument) -> Table:
    """Return the requirements of the classes."""
    known = {
        "client": ("1 year at 30 °C", "3 %", "1e-15", "40 °C, 8 h a day"),
        "enterprise": ("3 months at 40 °C", "3 %", "1e-16", "55 °C, 24 h a day"),
    }
    rows = tuple((name, *known[name]) for name in document.settings.classes)
    heads = ("class", "without power", "FFR at most", "UBER at most", "active use (not modelled)")
    return Table("classes", "What the classes ask for (JESD218)", heads, rows)


def survival(document: EnduranceDocument) -> Plot:
    """Return the share of devices within all limits, by what was written."""
    return Plot(
        "survival",
        "Devices that took the writes and are within their UBER, in percent",
        Axis("written, in rated TBW", zero=True),
        Axis("devices, percent", zero=True),
        tuple(_survival(document)),
        marks=(Mark("x", 1.0, "rated"),),
    )


def _survival(document: EnduranceDocument) -> Iterator[Series]:
    for drive_class in document.settings.classes:
        for variant in document.settings.variants:
            own = [
                one
                for one in document.cells
                if (one.drive_class, one.variant) == (drive_class, variant) and one.devices
            ]
            alive = [100.0 * (1 - (one.failed + one.uber_failed) / one.devices) for one in own]
            name, ages = f"{drive_class}, {variant}", [0.0, *(one.age for one in own)]
            yield Series(name, ages, [100.0, *alive], "dots")
            both = [one.cuts for one in own if one.cuts is not None and one.cuts.devices]
            if both and len(both) == len(own):
                alive = [100.0 * (1 - (it.failed + it.uber_failed) / it.devices) for it in both]
                yield Series(f"{name}, with cuts", ages, [100.0, *alive], "dots")


def is_cut(document: EnduranceDocument) -> bool:
    """Return whether devices were cut from power."""
    return any(one.cuts is not None for one in document.cells)


def _with_cuts(document: EnduranceDocument) -> Iterator[tuple[str, EnduranceCuts]]:
    for one in document.cells:
        if one.cuts is not None:
            yield f"{one.drive_class}, {one.variant}, {one.age:g}", one.cuts


def cuts(document: EnduranceDocument) -> Table:
    """Return what power cuts showed: a row for each cell."""
    rows: list[tuple[Cell, ...]] = [
        (
            name, number(one.cuts), f"{one.faulty} of {one.devices}",
            f"{one.low:.1%} to {one.high:.1%}", f"{one.failed} / {one.uber_failed}",
            "-" if one.ready_ms_mean is None else f"{one.ready_ms_mean:.3g}",
            "-" if not one.devices else "passed" if one.passed else "failed",
        )
        for name, one in _with_cuts(document)
    ]  # fmt: skip
    heads = (
        "class, variant, rated TBW", "cuts each", "with a fault", "95 %", "worn / UBER",
        "ready (ms)", "verdict",
    )  # fmt: skip
    note = (
        "Devices of which a cut showed a fault, that took no more writes, and that are beyond "
        "their UBER."
    )
    return Table("cuts", "Power cuts while they age", heads, tuple(rows), note)


def costs(document: EnduranceDocument) -> Table:
    """Return what cuts change, device by device."""
    rows: list[tuple[Cell, ...]] = [
        (
            name, what, "-" if pair is None else f"{pair.without:.4g}",
            "-" if pair is None else f"{pair.with_cuts:.4g}", _ratio(pair),
        )
        for name, one in _with_cuts(document)
        for what, pair in (("WAF", one.waf), ("P/E cycles", one.pe_cycles), ("UBER", one.uber))
    ]  # fmt: skip
    heads = ("class, variant, rated TBW", "number", "without", "with cuts", "ratio (95 %)")
    note = (
        "The same devices with the same seeds; geometric means. What hosts write between cuts is "
        "on top of the TBW."
    )
    return Table("costs", "With cuts against without", heads, tuple(rows), note)


def _ratio(pair: EndurancePair | None) -> str:
    if pair is None:
        return "-"
    if pair.low is None:
        return f"{pair.ratio:.4g}"
    return f"{pair.ratio:.4g} ({pair.low:.4g} to {pair.high:.4g})"


def faults(document: EnduranceDocument) -> Table:
    """Return the classes of faults that cuts showed, and at what age first."""
    rows: list[tuple[Cell, ...]] = [
        (
            name, kind.replace("_", " "), f"{fault.devices} of {one.devices}", str(fault.cuts),
            f"{fault.first_age:.3g}", f"{fault.first_pe_cycles:.4g}",
        )
        for name, one in _with_cuts(document)
        for kind, fault in one.faults.items()
    ]  # fmt: skip
    heads = (
        "class, variant, rated TBW", "fault", "devices", "cuts", "first at rated TBW",
        "P/E cycles then",
    )  # fmt: skip
    return Table("faults", "Faults that cuts showed", heads, tuple(rows))


def struck(document: EnduranceDocument) -> Table:
    """Return the requests, pages and erases that cuts hit."""
    rows: list[tuple[Cell, ...]] = [
        (
            name, number(one.requests), number(one.torn_pages), number(one.half_erased_blocks),
            number(one.damaged_pages),
            "-" if one.ready_ms_max is None else f"{one.ready_ms_max:.3g}",
        )
        for name, one in _with_cuts(document)
    ]  # fmt: skip
    heads = (
        "class, variant, rated TBW", "requests", "pages torn", "erases cut", "pages damaged",
        "longest start (ms)",
    )  # fmt: skip
    note = "Over all devices and cuts. Damaged: finished before, by a later pass of their wordline."
    return Table("struck", "What the cuts struck", heads, tuple(rows), note)


def devices(document: EnduranceDocument) -> Table:
    """Return devices that failed anything: class by device."""
    drawn = {one.index: one.drawn for one in document.devices}
    rows = tuple(
        (
            f"device {one.device}",
            f"{one.drive_class}, {one.variant}, {one.age:g} TBW{', cut' * one.with_cuts}",
            one.verdict.replace("_", " "), one.why,
            ", ".join(f"{key} {value}" for key, value in drawn[one.device].items()) or "-",
        )
        for one in document.verdicts
    )  # fmt: skip
    heads = ("device", "class, variant, rated TBW", "verdict", "why", "drew")
    return Table("devices", "Failures", heads, rows)
