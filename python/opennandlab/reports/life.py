"""The report of life tests: error rates against the limit of the class, wear, what corrected pages.

Both kinds have one page: the test by the models, and that of a simulated drive.
"""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.base.words import number
from opennandlab.documents.life import DriveCuts, DriveLifeTest, LifeTest
from opennandlab.reports.figure.model import Axis, Mark, Plot, Series
from opennandlab.reports.model import Badge, Cell, Chapter, Headline, Item, Report, Section, Table

Life = LifeTest | DriveLifeTest
# What only one of both kinds of document has, as (name, value) of its rows.
Rows = list[tuple[Cell, ...]]


def report(document: Life) -> Report:
    """Return the report of a life test."""
    parts: list[tuple[str, str, tuple[Item, ...]]] = [
        ("rates", "Data errors against the limit", (rates(document), rate_rows(document))),
        ("pages", "Types of pages", tuple(pages(document))),
        ("life", "The life", (life(document),)),
    ]
    if isinstance(document, DriveLifeTest):
        parts.insert(2, ("recovery", "What corrected the pages", (recovery(document),)))
        if document.cuts is not None:
            parts.append(("cuts", "Power cuts", (cuts(document.cuts),)))
    chapter = Chapter(
        id="life",
        title=_name(document),
        subtitle=subtitle(document),
        verdict=Badge.of_outcome(passed=document.passed),
        reason=reason(document),
        headlines=tuple(_headlines(document)),
        warnings=tuple(document.warnings or ()),
        sections=tuple(Section(key, title, items) for key, title, items in parts if items),
        test="life",
    )
    foot = f"seed {document.seed}"
    return Report("A life test after JESD218", chapter.title, (chapter,), (), foot, "a life test")


def _name(document: Life) -> str:
    return document.device if isinstance(document, DriveLifeTest) else f"model {document.model}"


def subtitle(document: Life) -> str:
    """Return a line on the test."""
    how = "under power" if document.refreshes is not None else "without power"
    by = "a simulated drive" if isinstance(document, DriveLifeTest) else "means of the models"
    return (
        f"class {document.drive_class}: {document.tbw_tb:.4g} TB written, then "
        f"{number(document.retention_h)} h {how} at {document.retention_c:g} °C; {by}"
    )


def reason(document: Life) -> str:
    """Return the reason of the verdict."""
    faults = 0
    if isinstance(document, DriveLifeTest):
        if document.worn_out:
            return "the drive took no more writes before it had taken all of them"
        faults = document.cuts.faulty_cuts if document.cuts else 0
    times = document.uber / document.uber_max
    limit = f"the limit of {document.uber_max:g}"
    said = (
        f"an UBER of {document.uber:.2g}, {number(float(f'{times:.2g}'))} times {limit}"
        if times >= 1.0
        else f"an UBER of {document.uber:.2g} is within {limit}"
    )
    return f"{said}; {number(faults)} cuts showed a fault" if faults else said


def _headlines(document: Life) -> Iterator[Headline]:
    yield Headline("data errors per bit read (UBER)", f"{document.uber:.2g}")
    yield Headline("limit of the class", f"{document.uber_max:g}")
    yield Headline("raw bit error rate", f"{document.rber:.3g}")
    yield Headline("P/E cycles, of those rated",
                   f"{100 * document.pe_cycles / document.pe_cycles_rated:.0f}", "%")  # fmt: skip


def _seen(document: Life) -> tuple[str, float]:
    """Return the word for the counted errors, and their rate."""
    if isinstance(document, DriveLifeTest):
        return "counted", document.uber_observed
    return "drawn", document.uber_drawn


def rates(document: Life) -> Plot:
    """Return the rates of data errors over the limit; none that was counted is an upper bound."""
    word, rate = _seen(document)
    has_errors = rate > 0.0
    counted = (
        Series(f"{word}, with 95 % interval", [2.0], [rate], "points", low=[document.uber_low],
               high=[document.uber_high], marks=("full",), legend="")
        if has_errors
        else Series(f"no error {word}: 95 % upper bound", [2.0], [document.uber_high], "bounds",
                    legend="")
    )  # fmt: skip
    return Plot(
        "uber",
        "Data errors per bit read, and the limit of the class",
        Axis(
            "",
            ticks=((1.0, "by the model"), (2.0, word if has_errors else f"none {word}")),
            ends=(0.5, 2.5),
        ),
        Axis("UBER", "log", decades=16),
        (
            Series("by the model", [1.0], [document.uber], "points", marks=("full",), legend=""),
            counted,
        ),
        f"{document.bits_to_show:.2g} bits without an error would show the limit with 95 % "
        f"confidence; {document.bits_read:.2g} were read. The bar is a 95 % interval.",
        marks=(Mark("y", document.uber_max, f"limit {document.uber_max:g}"),),
    )


def rate_rows(document: Life) -> Table:
    """Return the same as a table."""
    word, rate = _seen(document)
    if isinstance(document, DriveLifeTest):
        what, count, mean = "pages lost", document.uncorrectable, document.uncorrectable_expected
    else:
        what, count, mean = "data errors", document.errors_drawn, document.errors_expected
    rows: Rows = [
        (f"UBER, {word}", f"{rate:.3g} ({document.uber_low:.3g} to {document.uber_high:.3g})"),
        ("UBER by the model", f"{document.uber:.3g}"),
        ("limit of the class", f"{document.uber_max:g}"),
        (f"{what}, {word} / expected", f"{number(count)} / {number(mean)}"),
        ("bits read back", f"{document.bits_read:.3g}"),
        ("bits without an error that show the limit", f"{document.bits_to_show:.3g}"),
    ]
    if isinstance(document, DriveLifeTest):
        rows.append(("how the model's UBER was found", document.uber_method))
        if document.margin is not None:
            rows.append(("factor that the raw bit error rate may grow by",
                         number(document.margin)))  # fmt: skip
    else:
        rows.append(("probability that a codeword cannot be decoded",
                     f"{document.codeword_failure:.3g}"))  # fmt: skip
    return Table("rates", "Rates", ("number", "value"), tuple(rows))


def pages(document: Life) -> Iterator[Item]:
    """Yield raw bit error rates by type of page; of a drive also by step of read retry."""
    if not isinstance(document, DriveLifeTest):
        if document.rber_by_page:
            rows = tuple((name, f"{rate:.3g}") for name, rate in document.rber_by_page.items())
            yield Table("pages", "Raw bit error rates", ("type of page", "RBER"), rows)
        return
    if not document.page_types:
        return
    steps = {name: list(one.rber_by_step or [one.rber])
             for name, one in document.page_types.items()}  # fmt: skip
    if max(map(len, steps.values())) > 1:
        yield Plot(
            "steps",
            "Raw bit error rate over the steps of read retry",
            Axis("step of read retry; 0: the default levels"),
            Axis("RBER", "log"),
            tuple(
                Series(name, [float(at) for at in range(len(found))], found)
                for name, found in steps.items()
            ),
        )
    heads = ("type of page", "reads", "RBER", "UBER")
    yield Table("pages", "Errors by type of page", heads, tuple(
        (name, number(one.reads), f"{one.rber:.3g}", f"{one.uber:.3g}")
        for name, one in document.page_types.items()
    ))  # fmt: skip


def recovery(document: DriveLifeTest) -> Table:
    """Return how many page reads each step corrected."""
    found = document.recovery
    counted = [
        ("first read", found.first_read),
        *((f"read retry, step {at}", count) for at, count in enumerate(found.retry, 1)),
        ("default levels", found.default_levels),
        ("search for the best levels", found.calibrated),
        *((f"soft decoding, {reads} reads", count) for reads, count in found.soft.items()),
        ("parity over dies", found.rebuilt),
        ("nothing: data lost", found.uncorrectable),
    ]
    rows = tuple(
        (name, number(count), f"{100 * count / document.pages_read:.3g}")
        for name, count in counted
        if count is not None
    )
    return Table("recovery", "Page reads by what corrected them",
                 ("corrected by", "pages", "%"), rows)  # fmt: skip


def life(document: Life) -> Table:
    """Return what the drive went through."""
    rows: Rows = [
        ("written by the host (TB)", document.tbw_tb),
        ("write amplification", document.waf),
        ("P/E cycles, mean", document.pe_cycles),
        ("P/E cycles, rated", document.pe_cycles_rated),
    ]
    if isinstance(document, DriveLifeTest):
        rows += [
            ("P/E cycles, least / most worn block",
             f"{number(document.pe_cycles_min)} / {number(document.pe_cycles_max)}"),
            ("drive writes", document.drive_writes),
            ("workload", document.workload or "random"),
            ("drive is larger than what was simulated by", document.scale),
        ]  # fmt: skip
    else:
        rows.append(("where the write amplification is from", document.waf_source))
    kept = "age of the data" if document.refreshes is not None else "without power"
    rows += [
        (f"{kept}, hours at °C", f"{number(document.retention_h)} at {document.retention_c:g}"),
        ("bake of equal effect, hours at °C",
         f"{number(document.bake_h)} at {document.bake_c:g}"),
    ]  # fmt: skip
    if document.refreshes is not None:
        rows.append(("P/E cycles by refresh", document.refreshes))
    return Table("life", "What the drive went through", ("condition", "value"), tuple(rows))


def cuts(found: DriveCuts) -> Table:
    """Return what power cuts did."""
    rows: Rows = [
        ("cuts", number(found.cuts)),
        ("cuts with a fault", number(found.faulty_cuts)),
        *((f"of these: {name}", number(one.cuts)) for name, one in found.faults.items()),
        ("units read behind them", number(found.pages_checked)),
        ("pages under way that cannot be read", number(found.torn_pages)),
        ("earlier pages damaged / kept",
         f"{number(found.damaged_pages)} / {number(found.protected_pages)}"),
        ("time to ready, mean / longest (ms)",
         f"{number(found.ready_ms_mean)} / {number(found.ready_ms_max)}"),
    ]  # fmt: skip
    return Table("cuts", "Power cuts", ("number", "value"), tuple(rows))
