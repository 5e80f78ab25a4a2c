"""The report of `validate`: verdicts, errors as shares of the accepted ones, all cases by suite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opennandlab.base.words import number
from opennandlab.documents.validation import CaseRow, ValidationDocument
from opennandlab.reports.figure.model import Axis, Mark, Plot, Series
from opennandlab.reports.model import Badge, Cell, Chapter, Headline, Kind, Report, Section, Table

# The order of verdicts, and their words on the page.
VERDICTS = {"passed": "passed", "fitted": "fitted, no evidence", "known miss": "known miss",
            "failed": "failed"}  # fmt: skip
# A share of the accepted error beyond this has its place at the end of the axis.
SHARE_MAX = 3.0
# Of more cases than these, those of a suite are folded; of more suites the figure is tall.
FOLDED_MIN, TALL_MIN = 40, 8


def report(document: ValidationDocument) -> Report:
    """Return the report of a validation."""
    rows = document.rows
    count = {one: sum(_verdict(row) == one for row in rows) for one in VERDICTS}
    misses = [row for row in rows if _verdict(row) in {"failed", "known miss"}]
    sections = [Section("suites", "Suites", (shares(rows), suites(rows)))]
    if misses:
        sections.append(Section("misses", "Outside of the accepted error", (missed(misses),)))
    sections += [
        Section(f"suite-{name}", name, (cases(name, own),), folded=len(rows) > FOLDED_MIN)
        for name, own in _by_suite(rows)
    ]
    chapter = Chapter(
        id="validation",
        title="Closed forms, published values and simulation",
        verdict=_badge(document, count),
        reason=_reason(count, len(rows)),
        headlines=(
            Headline("passed", number(count["passed"])),
            Headline("known misses", number(count["known miss"])),
            Headline("failed", number(count["failed"])),
            Headline("fitted, no evidence", number(count["fitted"])),
        ),
        sections=tuple(sections),
        test="validation",
    )
    names = len(list(_by_suite(rows)))
    lead = f"{number(len(rows))} cases of {names} suite{'s' * (names != 1)}, from closed forms to "
    lead += "published measurements"
    return Report("Validation", lead, (chapter,), kind="a validation")


def _badge(document: ValidationDocument, count: dict[str, int]) -> Badge:
    if not document.partial and count["known miss"] and not count["failed"]:
        return Badge("KNOWN MISSES", "warning")
    return Badge.of_outcome(passed=document.passed, partial=bool(document.partial))


def _reason(count: dict[str, int], cases: int) -> str:
    outside = count["failed"] + count["known miss"]
    if not outside:
        return f"all {number(cases)} cases are within their accepted error"
    return (
        f"{number(outside)} of {number(cases)} cases are outside of their accepted error: "
        f"{number(count['failed'])} failed, and of {number(count['known miss'])} it is known what "
        "the model lacks"
    )


def _verdict(row: CaseRow) -> str:
    """Return the verdict of a case; earlier versions have only whether it passed."""
    return row.verdict or ("passed" if row.passed else "failed")


def _by_suite(rows: Sequence[CaseRow]) -> Iterator[tuple[str, list[CaseRow]]]:
    for name in dict.fromkeys(row.suite for row in rows):
        yield name, [row for row in rows if row.suite == name]


def _share(row: CaseRow) -> float | None:
    """Return the error over the accepted one on its side; None if it is no number."""
    error = None if row.error is None else float(row.error)
    if error is None:
        return None
    low, high = map(float, row.accepted or (-row.tolerance, row.tolerance))
    limit = high if error > 0 else -low
    if error == 0:
        return 0.0
    return abs(error) / limit if limit > 0 else None


def shares(rows: Sequence[CaseRow]) -> Plot:
    """Return the errors of all cases as shares of the accepted ones, a row for each suite."""
    names = [name for name, _ in _by_suite(rows)]
    places = {name: float(len(names) - at) for at, name in enumerate(names)}
    beyond = 0
    series = []
    for at, (verdict, word) in enumerate(VERDICTS.items()):
        own = [(share, places[row.suite]) for row in rows
               if _verdict(row) == verdict and (share := _share(row)) is not None]  # fmt: skip
        beyond += sum(share > SHARE_MAX for share, _ in own)
        if own:
            series.append(
                Series(word, [min(share, SHARE_MAX) for share, _ in own], [y for _, y in own],
                       "points", colour=(0, 4, 5, 1)[at], marks=["full"] * len(own))
            )  # fmt: skip
    left = (
        f" {beyond} of more than {SHARE_MAX:g} {'is' if beyond == 1 else 'are'} drawn at its end."
    )
    left *= bool(beyond)
    return Plot(
        "shares",
        "Errors of all cases, as shares of what is accepted",
        Axis("error / accepted error", zero=True),
        Axis("suite", ticks=tuple((place, name) for name, place in places.items()),
             ends=(0.4, len(names) + 0.6), decades=len(names)),
        tuple(series),
        f"Left of 1 a case is within its accepted error.{left}",
        marks=(Mark("x", 1.0, "accepted"),),
        is_tall=len(names) > TALL_MIN,
    )  # fmt: skip


def suites(rows: Sequence[CaseRow]) -> Table:
    """Return the verdicts of each suite."""
    found = []
    for name, own in _by_suite(rows):
        verdicts = [_verdict(row) for row in own]
        worst = max((share for row in own if (share := _share(row)) is not None), default=None)
        found.append((name, str(len(own)), *(str(verdicts.count(one)) for one in VERDICTS), worst))
    heads = ("suite", "cases", *VERDICTS, "largest error / accepted")
    return Table("suites", "Verdicts by suite", heads, tuple(found))


def missed(rows: Sequence[CaseRow]) -> Table:
    """Return the cases that are outside, and what the model lacks."""
    found = tuple((f"{row.suite}: {row.case}", _told(row)) for row in rows)
    tones: tuple[Kind, ...] = tuple(
        "bad" if _verdict(row) == "failed" else "warning" for row in rows
    )
    return Table("misses", "Failed and known misses", ("case", "why"), found, wraps=True,
                 tones=tones)  # fmt: skip


def _told(row: CaseRow) -> str:
    lacks = row.problem or row.mechanism or row.title
    return (
        f"{_verdict(row).upper()}. {lacks[:1].upper()}{lacks[1:]}. Expected {_expected(row)}, "
        f"measured {_measured(row)}: {_percent(row.error)} where {_accepted(row)} are accepted."
    )


def cases(name: str, rows: Sequence[CaseRow]) -> Table:
    """Return the cases of a suite."""
    heads = ("case", "expected", "measured", "error", "accepted", "verdict")
    found: list[tuple[Cell, ...]] = [
        (row.case, _expected(row), _measured(row), _percent(row.error), _accepted(row),
         _verdict(row))
        for row in rows
    ]  # fmt: skip
    titles = "; ".join(dict.fromkeys(row.title for row in rows))
    return Table(f"cases-{name}", "Cases", heads, tuple(found), f"{titles}.")


def _expected(row: CaseRow) -> str:
    bound = "" if row.relation == "=" else f"{row.relation} "
    return f"{bound}{number(row.expected)}"


def _measured(row: CaseRow) -> str:
    return ", ".join(map(number, row.measured)) or "-"


def _percent(share: object) -> str:
    return f"{100 * share:+.2f} %" if isinstance(share, int | float) else "-"


def _accepted(row: CaseRow) -> str:
    low, high = row.accepted or (-row.tolerance, row.tolerance)
    if low == high == 0:
        return "none"
    return f"±{100 * high:.3g} %" if low == -high else f"{_percent(low)} to {_percent(high)}"
