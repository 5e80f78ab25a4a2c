"""The report of endurance and retention: limits of the classes, survival, devices that failed."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.documents.power_endurance import EnduranceCell, EnduranceDocument
from opennandlab.reports.figure.model import Axis, Mark, Plot, Series
from opennandlab.reports.model import Badge, Cell, Chapter, Headline, Report, Section, Table
from opennandlab.summary import number


def report(document: EnduranceDocument) -> Report:
    """Return the report of a campaign."""
    lead = " ".join(f"Warning: {text}." for text in document.warnings)
    tables = (limits(document), retention(document))
    sections = [Section("limits", "Limits of the classes", tables, lead)]
    if len(document.settings["ages"]) > 1:
        sections.append(Section("survival", "Survival", (survival(document),)))
    sections.append(Section("rates", "Errors that the code did not correct", (rates(document),)))
    if document.cuts is not None:
        sections.append(Section("cuts", "Cut from power", (cuts(document),)))
    if document.verdicts:
        sections.append(Section("devices", "Devices that failed", (devices(document),)))
    verdict = Badge("PASSED", "good") if document.passed else Badge("FAILED", "bad")
    if document.partial:
        verdict = Badge("INTERRUPTED", "warning")
    chapter = Chapter(
        id="endurance",
        title=str(document.fleet["name"]),
        subtitle=subtitle(document),
        verdict=verdict,
        reason=reason(document),
        headlines=(
            Headline("devices", str(len(document.devices))),
            Headline("devices that failed", str(len({one.device for one in document.verdicts}))),
        ),
        sections=tuple(sections),
        test="power endurance",
    )
    foot = f"opennandlab {document.run.version}, digest {document.digest}"
    title = "Endurance and retention"
    return Report(title, "after JESD218", (chapter,), (), foot, "power endurance")


def subtitle(document: EnduranceDocument) -> str:
    """Return a line on what was done."""
    given, count = document.settings, len(document.devices)
    ages = ", ".join(f"{age:g}" for age in given["ages"])
    return (
        f"{count} device{'s' * (count != 1)}; classes {', '.join(given['classes'])}; "
        f"{', '.join(given['variants'])}; {ages} rated TBW"
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
    if document.cuts is not None and document.cuts.failed:
        return f"{document.cuts.failed} devices showed faults after cuts from power"
    return "every cell is within the limits of its class"


def limits(document: EnduranceDocument) -> Table:
    """Return a row for each cell: functional failures and errors against the limits."""
    rows: list[tuple[Cell, ...]] = [
        (
            f"{one.drive_class}, {one.variant}, {one.age:g}",
            f"{one.failed} of {one.devices}",
            f"{one.ffr:.1%} ({one.ffr_low:.1%} to {one.ffr_high:.1%})",
            f"{one.ffr_max:.0%}",
            str(one.uber_failed),
            "-" if one.uber is None else f"{one.uber:.2g}",
            f"{one.uber_max:.0e}",
            _verdict(one),
        )
        for one in document.cells
    ]
    heads = (
        "class, variant, rated TBW", "failed", "FFR (95 %)", "FFR at most", "beyond UBER",
        "UBER, mean", "UBER at most", "verdict",
    )  # fmt: skip
    note = "FFR: share of devices that took no more writes. Active use is at room temperature."
    return Table("limits", "Functional failures and UBER", heads, tuple(rows), note)


def summary(document: EnduranceDocument) -> Table:
    """Return the same in columns that a terminal has room for."""
    rows: list[tuple[Cell, ...]] = [
        (
            f"{one.drive_class}, {one.variant}, {one.age:g}", f"{one.failed}/{one.devices}",
            f"to {one.ffr_high:.1%}", str(one.uber_failed),
            "-" if one.uber is None else f"{one.uber:.1e}", _verdict(one),
        )
        for one in document.cells
    ]  # fmt: skip
    heads = ("class, variant, rated TBW", "failed", "FFR (95 %)", "beyond", "UBER", "verdict")
    note = "Beyond: devices whose rate of uncorrectable errors is above that of their class."
    return Table("summary", "Functional failures and UBER", heads, tuple(rows), note)


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
    """Return what the classes ask for."""
    known = {
        "client": ("1 year at 30 C", "3 %", "1e-15", "40 C, 8 h a day"),
        "enterprise": ("3 months at 40 C", "3 %", "1e-16", "55 C, 24 h a day"),
    }
    rows = tuple((name, *known[name]) for name in document.settings["classes"])
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
    for drive_class in document.settings["classes"]:
        for variant in document.settings["variants"]:
            own = [
                one
                for one in document.cells
                if (one.drive_class, one.variant) == (drive_class, variant) and one.devices
            ]
            alive = [100.0 * (1 - (one.failed + one.uber_failed) / one.devices) for one in own]
            name = f"{drive_class}, {variant}"
            yield Series(name, [0.0, *(one.age for one in own)], [100.0, *alive], "dots")


def cuts(document: EnduranceDocument) -> Table:
    """Return what cuts from power showed."""
    found = document.cuts
    if found is None:
        return Table("cuts", "Cuts", ("",), ())
    share = f"{found.failed} of {found.devices} ({found.low:.1%} to {found.high:.1%})"
    rows: list[tuple[Cell, ...]] = [
        ("cuts", number(found.cuts)),
        ("devices with a fault (95 %)", share),
        *((f"devices with {name}", str(count)) for name, count in found.classes.items()),
        ("write amplification, records and recoveries included", found.waf),
        ("scale", found.scale),
    ]
    note = "On fresh drives, in the options that they have."
    return Table("cuts", "Cuts from power", ("", ""), tuple(rows), note)


def devices(document: EnduranceDocument) -> Table:
    """Return devices that failed anything: class by device."""
    drawn = {one.index: one.drawn for one in document.devices}
    rows = tuple(
        (
            f"device {one.device}", one.drive_class, one.variant, f"{one.age:g}", one.verdict,
            one.why, ", ".join(f"{key} {value}" for key, value in drawn[one.device].items()) or "-",
        )
        for one in document.verdicts
    )  # fmt: skip
    heads = ("device", "class", "variant", "rated TBW", "verdict", "why", "drew")
    return Table("devices", "Failures", heads, rows, wraps=True)
