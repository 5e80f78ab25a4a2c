"""The document `opennandlab.compare/1`: results or documents of one test side by side."""

from __future__ import annotations

from typing import Final, Literal

from opennandlab.documents.record import Number, Record

SCHEMA: Final = "opennandlab.compare/1"


class Row(Record, frozen=True, kw_only=True):
    """One figure in all documents.

    Args:
        values: The figure in each; `null` where one lacks it.
        delta_pct: Against the first, in percent; `null` where one side is missing or the first is
            zero.
    """

    values: list[Number | None]
    delta_pct: list[Number | None]


class Comparison(Record, frozen=True, kw_only=True):
    """Documents side by side.

    Args:
        schema: Kind and version of the document.
        test: Name of the standard test; absent for results.
        names: What the documents are called.
        like: Whether they may be compared.
        reasons: Why they may not.
        warnings: What a reader of the deltas should know.
        metrics: Figures by dotted path.
    """

    schema: Literal["opennandlab.compare/1"]
    test: str | None = None
    names: list[str]
    like: bool
    reasons: list[str]
    warnings: list[str]
    metrics: dict[str, Row]
