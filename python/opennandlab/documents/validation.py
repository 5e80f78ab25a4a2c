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
        kind: What stands behind the expected value, which decides what error is accepted:
            `formula`, `simulated reference`, `exact`, `order relation`, `sampled`, `data sheet`,
            `measured rate`, `measured WAF`, `measured WAF by state`, `measured edge`, `measured
            count`, `measured percentile` or `measured tail`.
        relation: How the measured value must lie to the expected one: `=`, `<=` or `>=`.
        expected: What it must be; `null` where it cannot be computed.
        measured: One value per seed; `null` for one that is not a number.
        seeds: Seeds of the runs.
        error: Error of the worst seed: relative, absolute where the expected value is 0, and 0 on
            the right side of a bound; `null` where nothing could be measured.
        tolerance: Largest accepted error.
        accepted: Accepted errors, from and to; absent in documents of earlier versions, like the
            verdict.
        passed: Whether the verdict is `passed`.
        verdict: `passed`: every seed is within; `known miss`: outside, as far as recorded, and
            what the model lacks is named; `failed`; `fitted`: within, but the figure fixed a key,
            so that it is no evidence.
        mechanism: Of a known miss what the model lacks.
        known_range: Of a known miss errors, from and to, at which it is still this one.
        fitted: Key of the device that was fitted to the figure; absent where none was.
        sample: Size of the sample that the accepted error follows from, of `sampled` ones.
        caution: Of earlier versions: how the set-up of the case biases the figure.
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
    accepted: list[Number] | None = None
    passed: bool
    verdict: str | None = None
    mechanism: str | None = None
    known_range: list[Number] | None = None
    fitted: str | None = None
    sample: str | None = None
    caution: str | None = None
    problem: str
    command: str


class ValidationDocument(Record, frozen=True, kw_only=True):
    """What `validate` found.

    Args:
        schema: Kind and version of the document.
        partial: The run was interrupted; absent otherwise.
        passed: Whether all cases ran, and none failed or is a known miss.
        case_count: Cases that ran.
        known_miss_count: Known misses among them; absent in documents of earlier versions, like
            the next two.
        passed_count: Those that passed.
        fitted_count: Those within their goal that fixed a key: not passed, failed, or known misses.
        failed_count: Those that failed.
        rows: One per case.
    """

    schema: Literal["opennandlab.validation/1"]
    partial: bool | None = None
    passed: bool
    case_count: int
    known_miss_count: int | None = None
    passed_count: int | None = None
    fitted_count: int | None = None
    failed_count: int
    rows: list[CaseRow]
