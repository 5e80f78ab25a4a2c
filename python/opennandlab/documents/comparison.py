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


class ModelDifference(Record, frozen=True, kw_only=True):
    """A document that another version of the model made than the first.

    Args:
        place: Which of the documents it is, from 0.
        versions: Model version of the first and of this one.
        changes: Versions that lie between, each with what it changed.
        same_settings: Whether device, workload and seed are those of the first.
        number_count: Numbers that both have.
        changed: Paths of those that differ, largest change first; `metrics` has their values.
        one_sided: Paths of numbers that only one of both has.
    """

    place: int
    versions: list[int]
    changes: dict[str, str]
    same_settings: bool
    number_count: int
    changed: list[str]
    one_sided: list[str]


class Comparison(Record, frozen=True, kw_only=True):
    """Documents side by side.

    Args:
        schema: Kind and version of the document.
        test: Name of the standard test; absent for results.
        names: What the documents are called.
        like: Whether they may be compared.
        reasons: Why they may not.
        warnings: What a reader of the deltas should know.
        models: Documents of other model versions than the first; absent where there are none.
        metrics: Figures by dotted path.
    """

    schema: Literal["opennandlab.compare/1"]
    test: str | None = None
    names: list[str]
    like: bool
    reasons: list[str]
    warnings: list[str]
    models: list[ModelDifference] | None = None
    metrics: dict[str, Row]
