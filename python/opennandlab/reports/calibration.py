"""The report of a calibration: what was fitted, how well, and what the data say of each key.

Without keys it is that of a model against a drive: the errors alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.documents.agreement import Agreement, CellError
from opennandlab.documents.calibration import CalibrationDocument
from opennandlab.measured.agreement import summed
from opennandlab.reports import agreement
from opennandlab.reports.figure.model import Axis, Plot, Series
from opennandlab.reports.model import (
    Badge,
    Cell,
    Chapter,
    Headline,
    Item,
    Report,
    Section,
    Table,
    page_of,
)

LEAD = (
    "A standard error is the least that the fitted cells allow (Fisher information). Flat: more "
    "than 10 % even if the other keys were known. Correlated: more than 10 % only since they are "
    "not. Ambiguous: starts of the search ended at different values."
)


def report(document: CalibrationDocument) -> Report:
    """Return the report of a document."""
    held, is_fit = document.held_out, document.verdict is not None
    parts: list[tuple[str, str, tuple[Item, ...], str]] = [
        ("errors", "Errors", (errors(document), *_bands(document), *_errors(document)), ""),
        ("conditions", "How cells were run", (_conditions(document),), ""),
    ]
    if is_fit:
        parts[1:1] = [
            ("sensitivity", "Influence of the keys on the cells", tuple(_tells(document)), ""),
            ("search", "The search", (_search(document), *_starts(document)), ""),
        ]
        parts.insert(0, ("keys", "Keys", (keys(document), *choices(document)), LEAD))
    which = "RMS error, fitted" if is_fit else "RMS error"
    headlines = [Headline(which, f"{document.fitted.rms_pct:.1f}", "%")]
    if held is not None:
        headlines.append(Headline("RMS error, held out", f"{held.rms_pct:.1f}", "%"))
    headlines.append(Headline("runs", str(document.runs)))
    chapter = Chapter(
        id="calibration",
        title=f"{document.device}, {'fitted to' if is_fit else 'against'} {document.measured.name}",
        subtitle=subtitle(document),
        verdict=Badge("INTERRUPTED", "warning") if document.partial else None,
        headlines=tuple(headlines),
        warnings=tuple(document.warnings),
        sections=tuple(Section(key, title, items, lead) for key, title, items, lead in parts),
        test="calibration",
    )
    foot = f"opennandlab {document.run.version}, digest {document.digest[:16]}"
    return Report(chapter.title, "", (chapter,), (), foot, "calibration")


def subtitle(document: CalibrationDocument) -> str:
    """Return a line on what was done."""
    measured = document.measured
    source = f", {measured.source}" if measured.source else ""
    count, keys = document.fitted.count, len(document.keys)
    cells = f"{count} cell{'s' * (count != 1)} of {measured.test}{source}"
    return (
        f"{keys} key{'s' * (keys != 1)} to {cells}"
        if document.verdict is not None
        else f"as it is, against {cells}"
    )


def cells(document: CalibrationDocument) -> Agreement:
    """Return the errors of all cells, fitted or not, by size and reads."""
    fitted, held = document.fitted, document.held_out
    if held is None:
        return fitted
    found = [*fitted.cells, *held.cells]
    if all(one.row.replace(".", "").isdigit() for one in found):
        found.sort(key=lambda one: (_size(one.row), _reads(one)))
    return summed(fitted.table, fitted.title, fitted.unit, found)


def _size(row: str) -> float:
    return float(row)


def _reads(cell: CellError) -> float:
    return float(cell.column.partition("/")[0])


def drawn(document: CalibrationDocument) -> Report:
    """Return the page of a figure: the errors of all cells, and both figures of each."""
    figures = [item for item in agreement.items(cells(document)) if not isinstance(item, Table)]
    return page_of(f"{document.device} and {document.measured.name}", "", figures)


def keys(document: CalibrationDocument) -> Table:
    """Return the keys with values and what is known of them."""
    heads = ("key", "before", "fitted", "range", "standard error, %", "sensitivity", "verdict")
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            one.key, f"{one.start:.6g}", f"{one.value:.6g}", f"{one.low:g} to {one.high:g}",
            None if one.standard_error_pct is None else f"{one.standard_error_pct:.2g}",
            f"{one.sensitivity:.3f}", one.verdict,
        )
        for one in document.keys
    )  # fmt: skip
    return Table("keys", "Keys", heads, rows, _pairs(document))


def brief(document: CalibrationDocument) -> Table:
    """Return the keys as a terminal has room for them."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            one.key, f"{one.start:.6g}", f"{one.value:.6g}",
            None if one.p5 is None or one.p95 is None else f"{one.p5:.4g} to {one.p95:.4g}",
            one.verdict,
        )
        for one in document.keys
    )  # fmt: skip
    heads = ("key", "before", "fitted", "90 %", "verdict")
    return Table("keys", "Keys", heads, rows, _pairs(document))


def found(document: CalibrationDocument) -> Iterator[Table]:
    """Yield the tables of a fit as a terminal has room for them."""
    if document.keys:
        yield brief(document)
    yield from choices(document)
    yield errors(document)


def choices(document: CalibrationDocument) -> Iterator[Table]:
    """Yield the combinations of the keys that were chosen among values, the best first."""
    rows = sorted(document.variants or (), key=lambda one: -float(one.weight))
    if rows:
        heads = (*(path.rpartition(".")[2] for path in rows[0].choice), "RMS, %", "probability, %")
        yield Table(
            "variants", "Choices", heads,
            tuple(
                (*map(str, one.choice.values()), one.rms_pct, f"{100 * float(one.weight):.1f}")
                for one in rows
            ),
        )  # fmt: skip


def _bands(document: CalibrationDocument) -> Iterator[Table]:
    """Yield the bands of the held-out cells."""
    known = document.posterior
    if known is not None and known.bands:
        heads = ("cell", "figure", "measured", "5 %", "95 %", "inside")
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (
                one.row, one.column, f"{one.measured:.4g}", f"{one.low:.4g}", f"{one.high:.4g}",
                "yes" if one.is_inside else "no",
            )
            for one in known.bands
        )  # fmt: skip
        title = f"Bands of held-out cells: {known.coverage_pct or 0:.0f} % inside"
        yield Table("bands", title, heads, rows)


def _pairs(document: CalibrationDocument) -> str:
    """Return which keys are known only together."""
    pairs = dict.fromkeys(
        tuple(sorted((one.key, one.partner)))
        for one in document.keys
        if one.verdict == "correlated" and one.partner is not None
    )
    return "; ".join(f"only together: {one} and {other}" for one, other in pairs)


def errors(document: CalibrationDocument) -> Table:
    """Return the errors before and after."""
    if document.verdict is None:
        return agreement.summary([document.fitted], "errors")
    heads = ("cells", "number", "RMS before, %", "RMS, %", "median, %", "worst, %", "at")
    rows = [_row("fitted", document.fitted, document.fitted_before)]
    if document.held_out is not None:
        rows.append(_row("held out", document.held_out, document.held_out_before))
    return Table("errors", "Simulated against measured", heads, tuple(rows), agreement.note())


def by_cell(document: CalibrationDocument) -> Table:
    """Return the errors of all cells, fitted or not, as a table of sizes by mixes."""
    return next(item for item in agreement.items(cells(document)) if isinstance(item, Table))


def _row(name: str, found: Agreement, before: float | None) -> tuple[Cell, ...]:
    return (
        name, str(found.count), before, found.rms_pct, found.median_pct, found.worst_pct,
        found.worst,
    )  # fmt: skip


def _errors(document: CalibrationDocument) -> Iterator[Item]:
    if not document.keys:
        yield from agreement.items(document.fitted)
        return
    yield from agreement.items(document.fitted, "fitted-", "fitted cells")
    if document.held_out is not None:
        yield from agreement.items(document.held_out, "held-out-", "held-out cells")


def _tells(document: CalibrationDocument) -> Iterator[Item]:
    names = [one.key for one in document.keys]
    # One key has neither correlations nor combinations.
    if document.correlations and len(names) > 1:
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (name, *(f"{value:+.2f}" for value in row))
            for name, row in zip(names, document.correlations, strict=True)
        )
        yield Table("correlations", "Correlation of the estimates", ("key", *names), rows)
    if document.directions and len(names) > 1:
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
                *(f"{round(value, 3) + 0.0:+.3f}" for value in one.slopes),
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
