"""Rows as Markdown tables, for the validation page and for terminals without colours.

One table per suite and title: the columns are what is claimed, who says so, what the formula gives,
what came out per seed, the worst error, what was accepted, and the command that repeats it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from opennandlab.validation.case import Relation, Row

HEADER = "| case | claim | source | expected | measured, per seed | error | tolerance | command |"
RULE = "|---|---|---|---|---|---|---|---|"
FAILED = "**failed**"


def render(rows: Iterable[Row], page: str = "", order: Sequence[str] = ()) -> str:
    """Return all rows as Markdown, grouped by suite and title.

    Args:
        rows: in any order; groups appear in the order of their first rows.
        page: what this function gave before; suites that have no rows now are kept from it.
        order: names of suites; those that are not among them come last.

    Returns:
        The text, ending with a line break.

    Example:
        >>> print(render([]), end="")
        0 of 0 cases passed.
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
    passed = sum(f"{FAILED} |" not in text for text in of_cases)
    total = f"{passed} of {len(of_cases)} cases passed.\n"
    return "\n".join([*(sections[suite] for suite in names), total])


def _sections(page: str) -> dict[str, str]:
    """Return the part of each suite of a page, without the line that counts them all."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for text in page.splitlines():
        if text.startswith("### "):
            lines = found.setdefault(text.removeprefix("### "), [])
        if not text.endswith("cases passed."):
            lines.append(text)
    return {suite: "\n".join(kept).rstrip() + "\n" for suite, kept in found.items()}


def line(row: Row) -> str:
    """Return one row of a table.

    Args:
        row: the row.

    Returns:
        Markdown without a line break.

    Example:
        >>> from opennandlab.validation import Log, formula_case
        >>> case = formula_case(Log.with_spare(4096, 64, 0.2), "fifo")
        >>> "2.693" in line(case.row([[{"metrics": {"waf": 2.69}}]]))
        True
    """
    case = row.case
    bound = "" if case.relation is Relation.EQUAL else f"{case.relation.value} "
    cells = (
        case.name,
        f"{case.quantity}: {case.formula}",
        f"{case.source} ({case.kind.value})",
        bound + number(row.expected),
        row.problem or ", ".join(map(number, row.measured)),
        share(row.error) + ("" if row.passed else f" {FAILED}"),
        share(case.tolerance).lstrip("+") if case.tolerance else "none",
        f"`{case.command}`",
    )
    return "| " + " | ".join(map(_escaped, cells)) + " |"


def number(value: float) -> str:
    """Return a value with four significant digits, whole numbers in full.

    Args:
        value: the value.

    Returns:
        Text.

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

    Args:
        value: the error.

    Returns:
        Text.

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


def summary(rows: Sequence[Row]) -> str:
    """Return one line per suite: cases, failures, and the worst error of each kind.

    Args:
        rows: the rows.

    Returns:
        Text with line breaks.

    Example:
        >>> summary([])
        ''
    """
    lines = []
    for suite in dict.fromkeys(row.case.suite for row in rows):
        members = [row for row in rows if row.case.suite == suite]
        failed = [row.case.name for row in members if not row.passed]
        state = "all passed" if not failed else f"failed: {', '.join(failed)}"
        lines.append(f"{suite}: {len(members)} cases, {state}")
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
