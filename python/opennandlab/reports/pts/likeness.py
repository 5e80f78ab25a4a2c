"""The numbers of documents of a test, and how a run stands against another in a sentence."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from opennandlab.documents.pts import Steady, Table
from opennandlab.reports.pts.source import Measured

UNSTEADY = "did not attain steady state"
WHY = "numbers of a drive on its way"


def unsteady(measured: Sequence[Measured], names: Sequence[str]) -> list[str]:
    """Return a sentence for each run whose numbers are those of a drive on its way."""
    pairs = zip(names, measured, strict=True)
    return [f"{name} {UNSTEADY}: {WHY}" for name, one in pairs if one.attained is False]


def numbers_of(measured: Measured) -> Iterator[tuple[str, float | None]]:
    """Yield every number that a document states, by its path: results, tables, steady values."""
    for key, found in measured.figures.items():
        if not isinstance(found, bool | str):
            yield f"results.{key}", _float(found)
    for block in measured.tables:
        for row, values in zip(block.rows, block.values, strict=True):
            for column, value in zip(block.columns, values, strict=True):
                if not isinstance(value, str):
                    yield f"{block.id}[{row}, {column}]", _float(value)
    for steady in measured.steady:
        yield steady_path(steady), _float(steady.average)


def steady_path(steady: Steady) -> str:
    """Return the path of a tracked value."""
    metric = steady.tracking.metric
    group = f"{steady.group}." if steady.group else ""
    return f"steady_state.{group}{steady.tracking.label or metric}.{metric}"


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


# What a run is judged by, most telling first: table, what it is of, whether more is better.
JUDGED = (
    ("iops", "IOPS", True), ("mb_s", "MB/s", True), ("throughput", "MB/s", True),
    ("art", "ART", False), ("block_size", "values", True),
)  # fmt: skip


def summary(measured: Sequence[Measured], names: Sequence[str]) -> list[str]:
    """Return for each run but the first how it stands against it, in one sentence."""
    return [
        sentence
        for name, one in list(zip(names, measured, strict=True))[1:]
        if (sentence := _against(names[0], measured[0], name, one))
    ]


def _against(first_name: str, first: Measured, name: str, one: Measured) -> str:
    """Return the ratio of a run to the first: middle, worst and best over the cells of a table."""
    for table, of, is_more_better in JUDGED:
        ratios = _ratios(first.table(table), one.table(table))
        if not ratios:
            continue
        order = sorted(ratios, key=lambda pair: pair[1], reverse=not is_more_better)
        middle = statistics.median(ratio for _, ratio in ratios)
        worst, best = order[0], order[-1]
        if worst[1] == best[1] == 1.0:
            where = f"in all {len(ratios)} cells" if len(ratios) > 1 else f"at {best[0]}"
            return f"{name} has the same {of} as {first_name}, {where}."
        if len(ratios) == 1:
            return f"{name} has {_times(middle)} the {of} of {first_name}, at {best[0]}."
        better = "" if is_more_better else " (less is better)"
        return (
            f"{name} has {_times(middle)} the {of} of {first_name}{better}, in the median of "
            f"{len(ratios)} cells: at best {_times(best[1])} ({best[0]}), at worst "
            f"{_times(worst[1])} ({worst[0]})."
        )
    pairs = [
        (other.tracking.label or other.tracking.metric, other.average / mine.average)
        for mine, other in zip(first.steady, one.steady, strict=False)
        if mine.average and other.average is not None
    ]
    shown = "; ".join(f"{label}: {_times(ratio)}" for label, ratio in pairs)
    return f"{name} against {first_name}, steady state: {shown}." if shown else ""


def _ratios(first: Table | None, other: Table | None) -> list[tuple[str, float]]:
    """Return the ratio of each cell that both have, with the names of its row and column."""
    if first is None or other is None:
        return []
    known = {
        (row, column): value
        for row, values in zip(other.rows, other.values, strict=True)
        for column, value in zip(other.columns, values, strict=True)
    }
    found = []
    for row, values in zip(first.rows, first.values, strict=True):
        for column, value in zip(first.columns, values, strict=True):
            against = known.get((row, column))
            if isinstance(value, str) or isinstance(against, str) or not value or against is None:
                continue
            unit = " KiB" if first.row_label.endswith("(KiB)") else ""
            found.append((f"{row}{unit}, {column}", against / value))
    return found


def _times(ratio: float) -> str:
    return f"{ratio:.3g} ×" if ratio < 100 else f"{ratio:.0f} ×"
