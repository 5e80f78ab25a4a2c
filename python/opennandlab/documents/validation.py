"""The document `opennandlab.validation/1`: claims with sources, and what the simulator gave."""

from __future__ import annotations

from typing import Final, Literal

from opennandlab.documents.record import Number, Record

SCHEMA: Final = "opennandlab.validation/1"


class CaseRow(Record, frozen=True, kw_only=True):
    """A claim, and what came out.

    Args:
        suite: Suite that the case belongs to.
        case: Its name.
        title: What is claimed.
        source: Where the claim comes from.
        quantity: What is measured.
        formula: The formula in words, or the origin of the number.
        kind: What stands behind the expected value: `formula`, `simulated reference`,
            `published measurement`, `exact` or `order relation`.
        relation: How the measured value must lie to the expected one: `=`, `<=` or `>=`.
        expected: What it must be; `null` where it cannot be computed.
        measured: One value per seed; `null` for one that is not a number.
        seeds: Seeds of the runs.
        error: Error of the worst seed: relative, absolute where the expected value is 0, and 0 on
            the right side of a bound; `null` where nothing could be measured.
        tolerance: Accepted size of the error.
        passed: Whether every seed lies within the tolerance.
        problem: Why it could not be measured, or which self-check failed; empty if all went well.
        command: What runs this case alone.
    """

    suite: str
    case: str
    title: str
    source: str
    quantity: str
    formula: str
    kind: str
    relation: str
    expected: Number | None
    measured: list[Number | None]
    seeds: list[int]
    error: Number | None
    tolerance: Number
    passed: bool
    problem: str
    command: str


class ValidationDocument(Record, frozen=True, kw_only=True):
    """What `validate` found.

    Args:
        schema: Kind and version of the document.
        partial: The run was interrupted; absent otherwise.
        passed: Whether all cases ran and passed.
        case_count: Cases that ran.
        failed_count: Those among them that failed.
        rows: One per case.
    """

    schema: Literal["opennandlab.validation/1"]
    partial: bool | None = None
    passed: bool
    case_count: int
    failed_count: int
    rows: list[CaseRow]
