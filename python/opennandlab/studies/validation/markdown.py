"""Rows as Markdown tables, for the validation page and for terminals without colours.

A line that counts the verdicts, known misses first, then one table per suite and title: what is
claimed, who states this, what is expected, what came out per seed, the worst error, what errors are
accepted, the verdict, and the command that repeats it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from opennandlab.studies.validation.case import Case, Relation, Row, Verdict

HEADS = ("case", "claim", "source", "expected", "measured, per seed", "error", "accepted")
HEADER = "| " + " | ".join((*HEADS, "verdict", "command")) + " |"
RULE = "|---|---|---|---|---|---|---|---|---|"


def render(rows: Iterable[Row], page: str = "", order: Sequence[str] = ()) -> str:
    """Return all rows as Markdown, grouped by suite and title.

    Args:
        rows: in any order; groups appear in the order of their first rows.
        page: what this function gave before; suites that have no rows now are kept from it.
        order: names of suites; those that are not among them come last.

    Example:
        >>> print(render([]), end="")
        0 known misses, 0 failed, 0 passed of 0 cases.
    """
    listed = list(rows)
    sections = _sections(page)
    for suite in dict.fromkeys(row.case.suite for row in listed):
        members = [row for row in listed if row.case.suite == suite]
        parts = [f"### {suite}\n"]
        for title in dict.fromkeys(row.case.title for row in members):
            group = [row for row in members if row.case.title == title]
            parts.append(f"{title}.\n")
            parts.append("\n".join([HEADER, RULE, *map(line, group)]) + "\n")
        sections[suite] = "\n".join(parts)
    places = {suite: place for place, suite in enumerate(order)}
    names = sorted(sections, key=lambda suite: places.get(suite, len(places)))
    lines = [text for suite in names for text in sections[suite].splitlines()]
    of_cases = [text for text in lines if text.startswith("| ") and text != HEADER]
    found = [_verdict(text) for text in of_cases]
    return "\n".join([f"{head_line(found)}.\n", *(sections[suite] for suite in names)])


def head_line(found: Sequence[Verdict]) -> str:
    """Return the counts of verdicts in words, known misses first.

    Args:
        found: one verdict a case.

    Example:
        >>> head_line([Verdict.PASSED, Verdict.KNOWN_MISS, Verdict.FITTED])
        '1 known miss, 0 failed, 1 passed, 1 fitted (no evidence) of 3 cases'
    """
    misses, fitted = found.count(Verdict.KNOWN_MISS), found.count(Verdict.FITTED)
    counts = [
        f"{misses} known miss" + ("" if misses == 1 else "es"),
        f"{found.count(Verdict.FAILED)} failed",
        f"{found.count(Verdict.PASSED)} passed",
        *([f"{fitted} fitted (no evidence)"] if fitted else []),
    ]
    return f"{', '.join(counts)} of {len(found)} case" + ("" if len(found) == 1 else "s")


def _verdict(text: str) -> Verdict:
    """Return the verdict of a line of a table."""
    return Verdict(text.rstrip(" |").rsplit(" | ", 2)[1].strip("*"))


def _sections(page: str) -> dict[str, str]:
    """Return the part of each suite of a page, without the line before them."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for text in page.splitlines():
        if text.startswith("### "):
            lines = found.setdefault(text.removeprefix("### "), [])
        lines.append(text)
    return {suite: "\n".join(kept).rstrip() + "\n" for suite, kept in found.items()}


def line(row: Row) -> str:
    """Return one row of a table.

    Example:
        >>> from opennandlab.studies.validation import Log, formula_case
        >>> case = formula_case(Log.with_spare(4096, 64, 0.2), "fifo")
        >>> "2.693" in line(case.row([[{"metrics": {"waf": 2.69}}]]))
        True
    """
    case = row.case
    bound = "" if case.relation is Relation.EQUAL else f"{case.relation.value} "
    cells = (
        case.name,
        f"{case.quantity}: " + "; ".join((case.formula, *remarks(case))),
        f"{case.source} ({case.kind.value})",
        bound + number(row.expected),
        row.problem or ", ".join(map(number, row.measured)),
        share(row.error),
        goal(case) + _known(row),
        row.verdict.value if row.verdict is Verdict.PASSED else f"**{row.verdict.value}**",
        f"`{case.command}`",
    )
    return "| " + " | ".join(map(_escaped, cells)) + " |"


def _known(row: Row) -> str:
    """Return the errors at which a known miss is still this one."""
    if row.verdict is not Verdict.KNOWN_MISS or row.case.miss is None:
        return ""
    return "; known at " + " to ".join(map(share, row.case.miss.range))


def remarks(case: Case) -> list[str]:
    """Return the conditions of a case, which its claim needs."""
    notes = (
        ("**fitted**: ", f"`{case.fitted}`" if case.fitted else ""),
        ("missing: ", case.miss.mechanism if case.miss else ""),
        ("sample: ", case.sample),
    )
    return [label + text for label, text in notes if text]


def goal(case: Case) -> str:
    """Return the errors that pass.

    Example:
        >>> from opennandlab.studies.validation import Log, formula_case
        >>> goal(formula_case(Log.with_spare(4096, 64, 0.2), "fifo"))
        '1.00 %'
    """
    low, high = case.accepted
    if low != -high:
        return f"{share(low)} to {share(high)}"
    return share(high).lstrip("+") if high else "none"


def number(value: float) -> str:
    """Return a value with four significant digits, whole numbers in full.

    Example:
        >>> number(4.82133), number(1290000.0), number(7.0168e-6)
        ('4.821', '1290000', '7.017e-06')
    """
    if not math.isfinite(value):
        return "none"
    if value == round(value) and abs(value) >= 1000.0:
        return f"{value:.0f}"
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.5g}"


def share(value: float) -> str:
    """Return a relative error in percent, signed.

    Example:
        >>> share(0.00123), share(-0.02), share(0.0)
        ('+0.12 %', '-2.00 %', '0 %')
    """
    if not math.isfinite(value):
        return "none"
    if value == 0.0:
        return "0 %"
    percent = 100.0 * value
    return f"{percent:+.2f} %" if abs(percent) >= 0.01 else f"{percent:+.1g} %"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
