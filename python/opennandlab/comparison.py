"""Comparing results honestly: like with like, or not at all.

Over-provisioning decides WAF more than any policy does, and an empty drive is faster than it stays.
So results of drives with another spare factor, or measured from another state, are refused; `force`
compares them nevertheless and keeps the objection in the output.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from opennandlab.cautions import is_fresh, is_session
from opennandlab.documents.comparison import SCHEMA, Comparison, Row
from opennandlab.documents.record import JsonObject, plain
from opennandlab.documents.result import Origin, ResultDocument
from opennandlab.errors import ResultError
from opennandlab.result import Result
from opennandlab.summary import number, state_text
from opennandlab.versions import difference

# Rounding of capacities to whole blocks moves the spare factor of equal drives by less than this.
SPARE_TOLERANCE_RATIO = 1e-3


class UnlikeError(ResultError):
    """Results that must not be compared.

    Args:
        reasons: One sentence each.
    """

    def __init__(self, reasons: list[str]) -> None:
        """Keep the reasons apart."""
        super().__init__("; ".join(reasons))
        self.reasons = reasons


def compare(
    results: list[Result], names: list[str] | None = None, *, force: bool = False
) -> JsonObject:
    """Put results side by side; the document of `side_by_side` as plain JSON."""
    return plain(side_by_side(results, names, force=force))


def side_by_side(
    results: list[Result], names: list[str] | None = None, *, force: bool = False
) -> Comparison:
    """Put results side by side.

    Args:
        results: Two or more; the first is what the others are measured against.
        names: What to call them; by place otherwise.
        force: Compare unlike things too; the reasons against it stay in the output.

    Raises:
        UnlikeError: for unlike things, unless forced.
    """
    if len(results) < 2 or not all(isinstance(result, Result) for result in results):
        raise ResultError("compare needs two results or more; accepted: what `onl.load` returns")
    documents = [result.content for result in results]
    names = names or [f"#{index + 1}" for index in range(len(results))]
    reasons = [
        text
        for name, document in zip(names[1:], documents[1:], strict=True)
        for text in _objections(names[0], documents[0], name, document)
    ]
    if reasons and not force:
        raise UnlikeError(reasons)
    warnings = [
        text
        for name, document in zip(names[1:], documents[1:], strict=True)
        for text in _doubts(names[0], documents[0], name, document)
    ]
    rows = _deltas([result.metrics for result in results])
    versions = [document.model_version for document in documents]
    models = [
        difference(versions, rows, place, same_settings=_is_same_run(documents[0], document))
        for place, document in enumerate(documents)
    ]
    return Comparison(
        schema=SCHEMA,
        names=names,
        like=not reasons,
        reasons=reasons,
        warnings=warnings,
        models=[found for found in models if found] or None,
        metrics=rows,
    )


def _objections(
    one_name: str, one: ResultDocument, other_name: str, other: ResultDocument
) -> Iterator[str]:
    """Yield why two results must not be compared."""
    spares = [document.effective.spare_factor_effective for document in (one, other)]
    ratios = [document.device["ftl"].get("over_provisioning_pct") for document in (one, other)]
    if ratios[0] != ratios[1] or not _close(spares[0], spares[1]):
        yield (
            f"different over-provisioning: {one_name} has {number(ratios[0])} (effective spare "
            f"factor {number(spares[0])}), {other_name} has {number(ratios[1])} (effective spare "
            f"factor {number(spares[1])}): it decides WAF more than anything else"
        )
    if _how_reached(one) != _how_reached(other):
        fresh = is_fresh(one) or is_fresh(other)
        why = ": fresh out of the box against steady" if fresh else ""
        yield (
            f"different state{why}: {one_name} was measured from `{state_text(one.state)}`, "
            f"{other_name} from `{state_text(other.state)}`"
        )


def _doubts(
    one_name: str, one: ResultDocument, other_name: str, other: ResultDocument
) -> Iterator[str]:
    """Yield what a reader of the deltas should know."""
    if _without_precondition(one.workload) != _without_precondition(other.workload):
        yield f"different workloads: the deltas of {other_name} show the workload, not the drive"
    if one.seed != other.seed:
        yield (
            f"different seeds ({one.seed} and {other.seed}): small deltas may be chance; "
            "run both with the same seed, or several"
        )
    if _origin(one) == "image" and one.state.origin != other.state.origin:
        yield "different device images: see to it that both were made in the same way"
    for name, document in ((one_name, one), (other_name, other)):
        if document.partial:
            yield f"{name} is partial: its run was interrupted"
        if not document.checks.passed:
            yield f"{name} failed its self-checks"
        if document.tool.dirty is True:
            yield (
                f"{name} comes from a build whose sources were changed after commit "
                f"{document.tool.commit}: another build of that commit may give other numbers"
            )


def _deltas(metrics: list[JsonObject]) -> dict[str, Row]:
    flat = [dict(_numbers(one)) for one in metrics]
    paths = list(dict.fromkeys(path for one in flat for path in one))
    return {
        path: Row(
            values=[one.get(path) for one in flat],
            delta_pct=[_delta_pct(flat[0].get(path), one.get(path)) for one in flat],
        )
        for path in paths
    }


def _numbers(metrics: object, path: str = "") -> Iterator[tuple[str, float | None]]:
    if isinstance(metrics, dict):
        for key, value in metrics.items():
            yield from _numbers(value, f"{path}.{key}" if path else str(key))
    elif isinstance(metrics, list):
        # Tenants: by name, so that their order does not matter.
        for row in metrics:
            if isinstance(row, dict) and "name" in row:
                yield from _numbers(row, f"{path}.{row['name']}")
    elif metrics is None or (isinstance(metrics, int | float) and not isinstance(metrics, bool)):
        yield path, metrics


def _delta_pct(first: float | None, value: float | None) -> float | None:
    if first is None or value is None:
        return None
    if first == value:
        return 0.0
    return (value / first - 1.0) * 100.0 if first else None


def _close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=SPARE_TOLERANCE_RATIO)


def _how_reached(document: ResultDocument) -> object:
    """Return what was asked for; what was observed on the way may differ between policies."""
    origin = document.state.origin
    session = origin.session if isinstance(origin, Origin) else None
    steps = session and session.steps
    return _origin(document), steps, document.workload.get("precondition")


def _origin(document: ResultDocument) -> str:
    if is_session(document):
        return "session"
    origin = document.state.origin
    return "image" if isinstance(origin, Origin) else origin


def _is_same_run(one: ResultDocument, other: ResultDocument) -> bool:
    """Tell whether a difference of the numbers can only come from the program."""
    return (one.device, one.workload, one.seed) == (other.device, other.workload, other.seed)


def _without_precondition(workload: JsonObject) -> JsonObject:
    return {key: value for key, value in workload.items() if key not in {"precondition", "name"}}
