"""The report of a calibration: what was fitted, how well, and what the data say of each key."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.documents.agreement import Agreement
from opennandlab.documents.calibration import CalibrationDocument
from opennandlab.reports import agreement
from opennandlab.reports.figure.model import Axis, Plot, Series
from opennandlab.reports.model import Badge, Cell, Chapter, Headline, Item, Report, Section, Table

LEAD = (
    "A standard error is the least that the fitted cells allow (Fisher information). Flat: more "
    "than 10 % even if the other keys were known. Correlated: more than 10 % only since they are "
    "not. Ambiguous: starts of the search ended at different values."
)


def report(document: CalibrationDocument) -> Report:
    """Return the report of a document."""
    held = document.held_out
    parts: list[tuple[str, str, tuple[Item, ...], str]] = [
        ("keys", "Keys", (keys(document),), LEAD),
        ("errors", "Errors", (errors(document), *_errors(document)), ""),
        ("sensitivity", "What the cells tell of the keys", tuple(_tells(document)), ""),
        ("search", "The search", (_search(document), *_starts(document)), ""),
        ("conditions", "How cells were run", (_conditions(document),), ""),
    ]
    headlines = [Headline("RMS error, fitted", f"{document.fitted.rms_pct:.1f}", "%")]
    if held is not None:
        headlines.append(Headline("RMS error, held out", f"{held.rms_pct:.1f}", "%"))
    headlines.append(Headline("runs", str(document.runs)))
    chapter = Chapter(
        id="calibration",
        title=f"{document.device}, fitted to {document.measured.name}",
        subtitle=subtitle(document),
        verdict=Badge("INTERRUPTED", "warning") if document.partial else None,
        headlines=tuple(headlines),
        warnings=tuple(document.warnings),
        sections=tuple(Section(key, title, items, lead) for key, title, items, lead in parts),
        test="calibration",
    )
    foot = f"opennandlab {document.run.version}, digest {document.digest[:16]}"
    return Report(chapter.title, "", (chapter,), (), foot, "a calibration")


def subtitle(document: CalibrationDocument) -> str:
    """Return a line on what was done."""
    measured = document.measured
    source = f", {measured.source}" if measured.source else ""
    return f"{len(document.keys)} keys to {document.fitted.count} cells of {measured.test}{source}"


def keys(document: CalibrationDocument) -> Table:
    """Return the keys with values and what is known of them."""
    heads = ("key", "before", "fitted", "range", "standard error, %", "sensitivity", "verdict",
             "most correlated with")  # fmt: skip
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            one.key, f"{one.start:.6g}", f"{one.value:.6g}", f"{one.low:g} to {one.high:g}",
            None if one.standard_error_pct is None else f"{one.standard_error_pct:.2g}",
            f"{one.sensitivity:.3f}", one.verdict,
            "" if one.partner is None or one.correlation is None
            else f"{one.partner} ({one.correlation:+.2f})",
        )
        for one in document.keys
    )  # fmt: skip
    return Table("keys", "Keys", heads, rows)


def brief(document: CalibrationDocument) -> Table:
    """Return the keys as a terminal has room for them."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            one.key, f"{one.start:.6g}", f"{one.value:.6g}",
            None if one.standard_error_pct is None else f"{one.standard_error_pct:.2g}",
            one.verdict,
        )
        for one in document.keys
    )  # fmt: skip
    pairs = dict.fromkeys(
        tuple(sorted((one.key, one.partner)))
        for one in document.keys
        if one.verdict == "correlated" and one.partner is not None
    )
    note = "; ".join(f"only together: {one} and {other}" for one, other in pairs)
    return Table("keys", "Keys", ("key", "before", "fitted", "± %", "verdict"), rows, note)


def errors(document: CalibrationDocument) -> Table:
    """Return the errors before and after."""
    heads = ("cells", "number", "RMS before, %", "RMS, %", "median, %", "worst, %", "at")
    rows = [_row("fitted", document.fitted, document.fitted_before)]
    if document.held_out is not None:
        rows.append(_row("held out", document.held_out, document.held_out_before))
    return Table("errors", "Simulated against measured", heads, tuple(rows), agreement.NOTE)


def _row(name: str, found: Agreement, before: float | None) -> tuple[Cell, ...]:
    return (
        name, str(found.count), before, found.rms_pct, found.median_pct, found.worst_pct,
        found.worst,
    )  # fmt: skip


def _errors(document: CalibrationDocument) -> Iterator[Item]:
    yield from agreement.items(document.fitted, "fitted-", "fitted cells")
    if document.held_out is not None:
        yield from agreement.items(document.held_out, "held-out-", "held-out cells")


def _tells(document: CalibrationDocument) -> Iterator[Item]:
    names = [one.key for one in document.keys]
    if document.correlations:
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (name, *(f"{value:+.2f}" for value in row))
            for name, row in zip(names, document.correlations, strict=True)
        )
        yield Table("correlations", "Correlation of the estimates", ("", *names), rows)
    if document.directions:
        rows = tuple(
            (
                f"{one.response:.4f}",
                ", ".join(
                    f"{weight:+.2f} {name}"
                    for name, weight in sorted(
                        zip(names, one.weights, strict=True), key=lambda pair: -abs(pair[1])
                    )
                    if abs(weight) >= 0.1
                ),
            )
            for one in document.directions
        )
        note = "A response near 0 is a combination of keys that these cells cannot tell."
        yield Table(
            "directions", "Combinations of keys", ("response", "combination"), rows, note,
            wraps=True,
        )  # fmt: skip
    if document.sensitivities:
        rows = tuple(
            (
                one.cell + (" (held out)" if one.is_held_out else ""),
                *(f"{value:+.3f}" for value in one.slopes),
            )
            for one in document.sensitivities
        )
        title = "d log figure / d log key"
        yield Table("sensitivities", title, ("cell", *names), rows)


def _search(document: CalibrationDocument) -> Plot:
    runs = [float(one.run) for one in document.steps] + [float(document.runs)]
    best = [float(one.rms_pct) for one in document.steps]
    best.append(best[-1] if best else 0.0)
    return Plot(
        "search",
        "RMS error of the fitted cells by run, best so far, %",
        Axis("run", zero=True),
        Axis("RMS error, %", "log"),
        (Series("best so far", runs, best, "steps"),),
    )


def _starts(document: CalibrationDocument) -> Iterator[Table]:
    """Yield where the starts led, if there were several."""
    if document.starts:
        heads = ("start", "until run", "RMS, %", *(one.key for one in document.keys))
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (str(number), str(one.runs), one.rms_pct, *(f"{value:.6g}" for value in one.values))
            for number, one in enumerate(document.starts, 1)
        )
        yield Table("starts", "Where each start led", heads, rows)


def _conditions(document: CalibrationDocument) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (key.replace("_", " "), "as declared" if value is None else str(value))
        for key, value in document.conditions.items()
    ]
    rows += [
        ("optimiser", document.optimiser), ("seed", str(document.seed)),
        ("command", document.run.command or "from Python"),
    ]  # fmt: skip
    return Table("conditions", "Conditions", ("", "value"), tuple(rows), wraps=True)
