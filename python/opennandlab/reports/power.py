"""The report of power cuts: broken guarantees, their rates, costs; and the study of options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from opennandlab.base.words import number
from opennandlab.documents.power_loss import PowerDocument
from opennandlab.reports import words
from opennandlab.reports.figure.model import Axis, Plot, Series
from opennandlab.reports.model import Badge, Cell, Chapter, Headline, Report, Section, Table

if TYPE_CHECKING:
    from opennandlab.studies.power.study import Found

# A shorter time counts as at once.
AT_ONCE_MS = 0.01

GUARANTEES = {
    "G1": "flushed writes are there",
    "G2": "acknowledged writes are there (with capacitors)",
    "G3": "a write under way is old or new",
    "G4": "no unit is torn",
    "G5": "no data of another address",
    "G6": "no damaged data without an error",
    "G7": "what was not written is untouched",
    "G8": "what follows a flush implies what it covers",
    "G9": "the drive comes back, in time, and answers twice alike",
    "G10": "writes survive in their order (where that is promised)",
}


def report(document: PowerDocument) -> Report:
    """Return the report of a campaign."""
    sections = [
        Section("moments", "Where the power was cut", tuple(aims(document))),
        Section("classes", "Faults", (classes(document),)),
        Section("guarantees", "Guarantees", (guarantees(document),)),
        Section("drive", "The drive", (drive(document),)),
    ]
    if document.evidence:
        found = Section("evidence", "Evidence", (*moments(document), evidence(document)))
        sections.insert(0, found)
    chapter = Chapter(
        id="power",
        title=str(document.device.get("name") or document.device.get("target") or "A drive"),
        subtitle=subtitle(document),
        verdict=Badge.of_outcome(passed=document.passed, partial=document.partial),
        reason=reason(document),
        headlines=(
            Headline("cuts", number(document.cuts)),
            Headline("cuts with the most frequent fault", number(worst(document))),
            Headline("mean time to ready", f"{document.recovery_us.mean / 1000:.1f}", "ms"),
            Headline("longest time to ready", f"{document.recovery_us.max / 1000:.1f}", "ms"),
        ),
        warnings=(changed(document),) if document.changed else (),
        sections=tuple(sections),
        test="power",
    )
    foot = f"opennandlab {document.run.version}, digest {document.digest}"
    return Report("Power cuts", chapter.title, (chapter,), (), foot, "power cuts")


def subtitle(document: PowerDocument) -> str:
    """Return a line on the campaign."""
    given = document.settings
    claims = ", ".join(given["claims"]) or "nothing beyond the common guarantees"
    return f"{document.cuts} cuts; workloads {', '.join(given['workloads'])}; promised: {claims}"


def changed(document: PowerDocument) -> str:
    """Return how the drive differs from the one that was named."""
    return "a copy of the drive: " + "; ".join(document.changed)


def worst(document: PowerDocument) -> int:
    """Return how many cuts showed the most frequent class."""
    return max((one.cuts for one in document.classes.values()), default=0)


def reason(document: PowerDocument) -> str:
    """Return the reason of the verdict."""
    if document.errors and document.smart is None:
        return f"requests failed before the power was cut: {document.errors[0]}"
    if document.errors:
        return f"the simulator contradicts itself: {document.errors[0]}"
    if document.classes:
        return "found: " + ", ".join(document.classes)
    if document.none_below is None:
        return ""
    return (
        f"no fault; with 95 % confidence fewer than {document.none_below:.3g} of 1,000 cuts "
        "show one"
    )


def classes(document: PowerDocument) -> Table:
    """Return the classes that were found."""
    heads = ("class", "cuts", "per 1,000", "95 % from", "to", "first cut")
    rows: list[tuple[Cell, ...]] = [
        (name, str(one.cuts), one.per_1000, one.low, one.high, str(one.first_cycle))
        for name, one in document.classes.items()
    ]
    return Table("classes", "Classes of faults", heads, tuple(rows) or (("none",) + ("-",) * 5,))


def guarantees(document: PowerDocument) -> Table:
    """Return the guarantees, and after how many cuts each was broken."""
    rows = tuple(
        (name, GUARANTEES[name], str(count)) for name, count in document.violations.items()
    )
    note = "Cuts after which each was broken."
    return Table("guarantees", "Guarantees", ("guarantee", "promise", "cuts"), rows, note)


def evidence(document: PowerDocument) -> Table:
    """Return some faults, and how to find each again."""
    rows = tuple(
        (
            one.class_name, one.guarantee, one.workload, one.at, f"{one.life}/{one.cut}",
            "-" if one.unit is None else str(one.unit), one.found or "-",
        )
        for one in document.evidence
    )  # fmt: skip
    heads = ("class", "guarantee", "workload", "aimed at", "life/cut", "unit", "found")
    note = "Again: opennandlab power replay FILE --life LIFE"
    if document.smart is None:
        note = "Logs and contents are in the folder `evidence`."
    return Table("evidence", "Some of them", heads, rows, note)


def moments(document: PowerDocument) -> Iterator[Plot]:
    """Yield when the power was cut before each fault of the evidence, by class."""
    names = list(dict.fromkeys(one.class_name for one in document.evidence))
    if not names:
        return
    unit, size = words.time_unit(max(one.cut_ns for one in document.evidence) * 1e-9)
    series = []
    for place, name in enumerate(names, 1):
        times = sorted(one.cut_ns * 1e-9 / size for one in document.evidence
                       if one.class_name == name)  # fmt: skip
        series.append(
            Series(name, times, [float(place)] * len(times), "points", marks=["full"] * len(times))
        )
    ticks = tuple((float(place), name) for place, name in enumerate(names, 1))
    yield Plot(
        "moments",
        "Faults over the moment of the cut",
        Axis(f"time of the cut since the drive was ready, {unit}", zero=True),
        Axis("class of the fault", ticks=ticks, ends=(0.5, len(names) + 0.5)),
        tuple(replace(line, legend="") for line in series),
        f"The {len(document.evidence)} faults that the document keeps as evidence; the table has "
        "how many cuts showed each class.",
    )  # fmt: skip


def aims(document: PowerDocument) -> Iterator[Plot | Table]:
    """Yield how many cuts were aimed at each moment; without a fault, what that shows of each."""
    found = {name: count for name, count in (document.aimed or {}).items() if count}
    if not found:
        return
    is_clean = not document.classes
    bounds = {name: 3000 / count for name, count in found.items()}
    places = {name: float(len(found) - at) for at, name in enumerate(found)}
    values = bounds if is_clean else {name: float(count) for name, count in found.items()}
    yield Plot(
        "aims",
        "Cuts with a fault that these cuts leave possible, by moment"
        if is_clean
        else "Cuts by the moment at which they were aimed",
        Axis("at most, per 1,000 cuts (95 %)" if is_clean else "cuts", zero=True),
        Axis("aimed at", ticks=tuple((at, name) for name, at in places.items()),
             ends=(0.5, len(found) + 0.5), decades=len(found)),
        (Series("upper bound" if is_clean else "cuts", [values[name] for name in found],
                list(places.values()), "points", marks=["full"] * len(found)),),
        "No fault was found. Bounds follow from the cuts of each moment, by the rule of three; of "
        f"all {number(document.cuts)} cuts it is {document.none_below:.3g} per 1,000."
        if is_clean and document.none_below else "",
    )  # fmt: skip
    heads = ("aimed at", "cuts", *(["at most, per 1,000"] if is_clean else []))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (name, str(count), *([bounds[name]] if is_clean else [])) for name, count in found.items()
    )
    yield Table("aims-table", "Cuts by moment", heads, rows)


def drive(document: PowerDocument) -> Table:
    """Return the counts of the drive, and its costs."""
    smart, cost, recovery = document.smart, document.cost, document.recovery_us
    rows: list[tuple[Cell, ...]] = []
    if smart is not None:
        rows += [
            ("unsafe shutdowns", str(smart.unsafe_shutdowns)),
            ("times that capacitors did not last, and the drive knew",
             str(smart.capacitor_failures)),
            ("interrupted pages that could not be read", str(smart.torn_pages)),
            ("earlier pages damaged / kept", f"{smart.damaged_pages} / {smart.protected_pages}"),
            ("erases interrupted and done again", str(smart.half_erased_blocks)),
            ("pages saved by capacitors", str(smart.saved_pages)),
            ("most pages in memory at a cut", str(smart.memory_pages_max)),
            ("pages copied or left empty to keep earlier ones safe", str(cost.guard_pages)),
            ("write amplification, records and those included", cost.waf),
            ("recoveries compared with a full scan", str(document.audits)),
        ]  # fmt: skip
    rows += [
        ("time to ready, mean / longest (ms)",
         f"{recovery.mean / 1000:.2f} / {recovery.max / 1000:.2f}"),
        ("requests that were acknowledged", number(cost.requests)),
        ("units read after cuts", number(document.pages_checked)),
        ("mean time to acknowledge a write (µs)", cost.ack_us),
    ]  # fmt: skip
    if cost.flush_us is not None:
        rows.append(("mean time to acknowledge a flush (µs)", cost.flush_us))
    return Table("drive", "What the drive counted", ("", ""), tuple(rows))


def plot(found: Sequence[Found]) -> Plot:
    """Return the rate of the fault that each weak option must show, with its interval."""
    series = []
    for place, one in enumerate(found, 1):
        shown = [one.document.classes[name] for name in one.row.must
                 if name in one.document.classes]  # fmt: skip
        if shown:
            rate, name = shown[0], f"{place}  {one.row.option}: {one.row.value}"
            series.append(
                Series(name, [float(place)], [rate.per_1000], "points", low=[rate.low],
                       high=[rate.high], marks=("full",))
            )  # fmt: skip
    return Plot(
        "weak",
        "Cuts with the fault that each weak option must show, per 1,000",
        _rows_axis(found),
        Axis("cuts per 1,000", zero=True),
        tuple(series),
        note="With intervals of 95 % (Wilson).",
    )


def bounds(found: Sequence[Found]) -> Plot:
    """Return the upper bounds of the rates of strong options, by the number of cuts."""
    values = [one.document.none_below for one in found]
    places = [float(place) for place in range(1, len(found) + 1)]
    return Plot(
        "strong",
        "Where no fault was found: the rate is below, per 1,000",
        _rows_axis(found),
        Axis("cuts per 1,000", zero=True),
        (Series("95 % bound (rule of three)", places, values, "bounds"),),
    )


def costs(found: Sequence[Found]) -> tuple[Plot, ...]:
    """Return what each option costs: latency, write amplification, energy of capacitors."""
    places = [float(place) for place in range(1, len(found) + 1)]

    def drawn(
        name: str, title: str, label: str, values: Sequence[float | None], note: str = ""
    ) -> Plot:
        def of(*, weak: bool) -> list[float | None]:
            pairs = zip(found, values, strict=True)
            return [value if one.row.is_weak is weak else None for one, value in pairs]

        series = (
            Series("no fault expected", places, of(weak=False), "points"),
            Series("weak", places, of(weak=True), "points"),
        )
        return Plot(name, title, _rows_axis(found), Axis(label, zero=True), series, note=note)

    costs = [one.document.cost for one in found]
    flushes = [_ms(one.flush_us) for one in costs]
    energies = [one.energy_mj for one in found]
    return (
        drawn("latency", "Mean time to acknowledge a written unit, in ms", "ms",
              [_ms(one.ack_us) for one in costs]),
        # Marks on the line of zero would be cut in half.
        drawn("flush", "Mean time to acknowledge a flush, in ms", "ms",
              [None if ms is None or ms < AT_ONCE_MS else ms for ms in flushes],
              f"Rows without a mark: below {AT_ONCE_MS} ms."),
        drawn("waf", "Write amplification, records and copies included", "WAF",
              [one.waf for one in costs]),
        drawn("energy", "Energy that would save all that memory held at most, in mJ", "mJ",
              [energy or None for energy in energies],
              "With copies of collections, which need no saving. Rows without a mark: nothing."),
    )  # fmt: skip


def _ms(us: float | None) -> float | None:
    return None if us is None else us / 1000


def _rows_axis(found: Sequence[Found]) -> Axis:
    ticks = tuple((float(place), str(place)) for place in range(1, len(found) + 1))
    return Axis("row of the table of options", ticks=ticks)


def outcomes(found: Sequence[Found]) -> tuple[Table, ...]:
    """Return what each option showed as lines: first those that must show a fault."""
    tables = []
    for name, title, weak in (
        ("weak", "Options that must show a fault", True),
        ("strong", "Options that must show none", False),
    ):
        rows = tuple(
            (place, shown, verdict)
            for (place, _, shown, verdict), one in zip(_fault_rows(found), found, strict=True)
            if one.row.is_weak is weak
        )
        heads = ("option", "faults per 1,000 cuts (95 % interval)", "verdict")
        note = "Faults per 1,000 cuts, with their 95 % interval."
        tables.append(Table(name, title, heads, rows, note, wraps=True))
    return tuple(tables)


def shown_faults(found: Sequence[Found]) -> Table:
    """Return a row for each option: what it must show, and what it showed."""
    heads = ("option", "must show", "faults per 1,000 cuts (95 % interval)", "verdict")
    return Table("options", "Faults", heads, tuple(_fault_rows(found)))


def cost_rows(found: Sequence[Found]) -> Table:
    """Return a row for each option: what it cost."""
    heads = ("option", "write (ms)", "flush (ms)", "WAF", "all in memory (mJ)")
    note = (
        "Write, flush: mean time until it is acknowledged. All in memory: energy that saves the "
        "most that memory held; copies of collections in it need no saving."
    )
    return Table("costs", "Costs", heads, tuple(_cost_rows(found)), note)


def _fault_rows(found: Sequence[Found]) -> Iterator[tuple[Cell, ...]]:
    for place, one in enumerate(found, 1):
        shown = ", ".join(
            f"{name} {_rate(each.per_1000)} ({_rate(each.low)} to {_rate(each.high)})"
            for name, each in one.document.classes.items()
        )
        yield (
            _named(place, one),
            ", ".join(one.row.must) or "none",
            shown or f"none (below {_rate(one.document.none_below or 0.0)})",
            "as it must be" if not one.problems else "; ".join(one.problems),
        )


def _rate(per_1000: float) -> str:
    return "1000" if per_1000 >= 999.5 else f"{per_1000:.3g}"


def _cost_rows(found: Sequence[Found]) -> Iterator[tuple[Cell, ...]]:
    for place, one in enumerate(found, 1):
        cost = one.document.cost
        yield (
            _named(place, one), _ms(cost.ack_us), _ms(cost.flush_us), cost.waf, one.energy_mj,
        )  # fmt: skip


def _named(place: int, one: Found) -> str:
    return f"{place}  {one.row.option}: {one.row.value}"


def study(found: Sequence[Found], cuts: int) -> Report:
    """Return the page on which option prevents which fault, and what that costs."""
    bad = [one for one in found if one.problems]
    sections = (
        Section("faults", "Which faults weak options show", (plot(found), bounds(found))),
        Section("costs", "What options cost", costs(found)),
        Section("options", "Every option", (shown_faults(found), cost_rows(found))),
    )
    chapter = Chapter(
        id="study",
        title="Which option prevents which fault",
        subtitle=f"{cuts} cuts for each row",
        verdict=Badge.of_outcome(passed=not bad),
        reason=f"{len(bad)} of {len(found)} rows are not as they must be"
        if bad
        else "every weak option shows its fault, and no strong one shows any",
        headlines=(
            Headline("options with a value", str(len(found))),
            Headline("cuts", number(sum(one.document.cuts for one in found))),
        ),
        sections=sections,
        test="power",
    )
    foot = f"opennandlab {found[0].document.run.version}" if found else ""
    return Report("Power cuts", "options", (chapter,), (), foot, "power cuts")
