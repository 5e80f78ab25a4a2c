"""Whether documents of a test may be compared, and by how much their numbers differ.

Over-provisioning decides the speed of random writes more than anything else, so it is looked at
first; then everything in the header that the standard fixes. What differs is a reason not to
compare; what only clouds the deltas is a warning.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence

from opennandlab.documents.comparison import SCHEMA, Comparison, Row
from opennandlab.documents.pts import Table
from opennandlab.documents.pts_header import Header, Wipc
from opennandlab.documents.record import JsonObject
from opennandlab.documents.record import plain as plain_json
from opennandlab.errors import ResultError
from opennandlab.reports import words
from opennandlab.reports.pts.source import Measured, plain
from opennandlab.versions import difference

# Rounding of capacities to whole blocks moves the spare area of equal drives by less than this.
SPARE_TOLERANCE_RATIO = 1e-3
# What must be equal: the words for it, and where it stands in the header.
PARAMETERS: tuple[tuple[str, Callable[[Header], object]], ...] = (
    ("profile", lambda header: header.profile),
    ("version of the specification", lambda header: header.pts_version),
    ("time base", lambda header: header.time_base.name),
    ("clock", lambda header: header.time_base.clock),
    ("write cache", lambda header: header.cache.state),
    ("active range", lambda header: plain_json(header.active_range)),
    ("threads", lambda header: header.threads),
    ("queue depth", lambda header: header.queue_depth),
    ("workload-independent preconditioning", lambda header: _wipc(header.wipc)),
    ("limit of outstanding requests", lambda header: header.oio_throttle),
    ("data pattern", lambda header: header.data),
    ("purge", lambda header: header.purge and header.purge.is_purge),
    ("options of the test", lambda header: header.options),
)
UNSTEADY = "did not attain steady state"


def compare(measured: Sequence[Measured], names: Sequence[str]) -> Comparison:
    """Put documents side by side.

    Args:
        measured: Two or more of the same test; the first is what the others are measured against.
        names: What to call them.

    Raises:
        ResultError: for fewer than two, and for different tests, of which nothing can be compared.
    """
    if len(measured) < 2:
        raise ResultError("compare needs two documents or more")
    tests = {one.test for one in measured}
    if len(tests) > 1:
        shown = ", ".join(
            f"{name} is of `{one.test}`" for name, one in zip(names, measured, strict=True)
        )
        raise ResultError(f"different tests cannot be compared: {shown}")
    first, rest = (names[0], measured[0]), list(zip(names[1:], measured[1:], strict=True))
    reasons = [text for other in rest for text in _objections(*first, *other)]
    reasons += [text for pair in [first, *rest] for text in _unsteady(*pair)]
    warnings = [text for pair in [first, *rest] for text in _worth(*pair)]
    warnings += [text for other in rest for text in _doubts(*first, *other)]
    warnings += [
        f"{name}: {text}"
        for name, one in [first, *rest]
        for text in (*one.document.warnings, *one.missing)
    ]
    rows = _deltas([dict(numbers_of(one)) for one in measured])
    versions = [_model_version(one) for one in measured]
    models = [
        difference(versions, rows, place, same_settings=_is_same_run(measured[0], one))
        for place, one in enumerate(measured)
    ]
    return Comparison(
        schema=SCHEMA,
        test=measured[0].test,
        names=list(names),
        like=not reasons,
        reasons=reasons,
        warnings=warnings,
        models=[found for found in models if found] or None,
        metrics=rows,
    )


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
        metric = steady.tracking.metric
        group = f"{steady.group}." if steady.group else ""
        label = steady.tracking.label or metric
        yield f"steady_state.{group}{label}.{metric}", _float(steady.average)


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


def delta_pct(first: float | None, value: float | None) -> float | None:
    """Return the change against the first in percent; None where it cannot be said."""
    if first is None or value is None:
        return None
    if first == value:
        return 0.0
    change = (value / first - 1.0) * 100.0 if first else None
    return change if change is not None and math.isfinite(change) else None


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
            return f"{name} has the same {of} as {first_name}, in all {len(ratios)} cells."
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


def _deltas(flat: list[dict[str, float | None]]) -> dict[str, Row]:
    paths = list(dict.fromkeys(path for one in flat for path in one))
    return {
        path: Row(
            values=[one.get(path) for one in flat],
            delta_pct=[delta_pct(flat[0].get(path), one.get(path)) for one in flat],
        )
        for path in paths
    }


def _objections(one_name: str, one: Measured, other_name: str, other: Measured) -> Iterator[str]:
    """Yield why two documents must not be compared, the spare area first."""
    spares = _spare(one), _spare(other)
    if not _close(*spares):
        yield (
            f"different over-provisioning: {one_name} has {_percent(spares[0])}, {other_name} has "
            f"{_percent(spares[1])} over its active range: it decides the speed of writes more "
            "than anything else"
        )
    for what, parameter in PARAMETERS:
        left, right = parameter(one.header), parameter(other.header)
        if left != right:
            yield (
                f"different {what}: {one_name} has {_shown(left)}, {other_name} has {_shown(right)}"
            )


def _worth(name: str, one: Measured) -> Iterator[str]:
    """Say of a run that is a smoke, or was cut, that its numbers are no measurements."""
    if one.verdict.word in {"smoke", "partial"}:
        yield f"{name}: {one.verdict.text}"


def _unsteady(name: str, one: Measured) -> Iterator[str]:
    if one.attained is False:
        yield f"{name} {UNSTEADY}: its numbers are those of a drive on its way"


def _doubts(one_name: str, one: Measured, other_name: str, other: Measured) -> Iterator[str]:
    """Yield what a reader of the deltas should know."""
    if one.capacity_bytes != other.capacity_bytes:
        yield (
            f"different capacities: {one_name} has {words.capacity(one.capacity_bytes)}, "
            f"{other_name} has {words.capacity(other.capacity_bytes)}"
        )
    seeds = one.header.seed, other.header.seed
    if seeds[0] != seeds[1]:
        both = " and ".join(map(plain, seeds))
        yield f"different seeds ({both}): small deltas may be chance"
    versions = _version(one), _version(other)
    models = _model_version(one), _model_version(other)
    # Of two known versions of the model the comparison says more than this.
    if versions[0] != versions[1] and (None in models or models[0] == models[1]):
        yield (
            f"made by different versions ({versions[0]} and {versions[1]}): the numbers may differ "
            "for that alone"
        )
    for name, each in ((one_name, one), (other_name, other)):
        if each.header.interrupted:
            yield f"{name} was interrupted and resumed"


def _spare(measured: Measured) -> float | None:
    """Return the spare area over the active range: raw / (user × share) − 1."""
    ratio = measured.header.target.device.over_provisioning_ratio
    if ratio is None:
        return None
    return (1 + ratio) / (measured.header.active_range.share or 1.0) - 1


def _close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(1 + one, 1 + other, rel_tol=SPARE_TOLERANCE_RATIO)


def _wipc(wipc: Wipc | None) -> JsonObject | None:
    """Return of the preconditioning what does not follow from the capacity of the drive."""
    if wipc is None:
        return None
    return {
        "pattern": wipc.pattern,
        "block_bytes": wipc.block_bytes,
        "capacities": wipc.capacities,
        "passes": wipc.passes,
    }


def _shown(value: object) -> str:
    if value is None or value == "":
        return "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} {plain(found)}" for key, found in value.items()) or "none"
    return f"`{plain(value)}`"


def _percent(ratio: float | None) -> str:
    return "an unknown share" if ratio is None else f"{ratio:.2%}"


def _model_version(measured: Measured) -> int | None:
    """Return the version of the model behind a simulated drive; None for other targets."""
    version = measured.header.target.platform.get("model_version")
    return version if isinstance(version, int) and not isinstance(version, bool) else None


def _is_same_run(one: Measured, other: Measured) -> bool:
    """Tell whether drive, procedure and seed are equal."""
    drives = [each.header.target.device.config_sha256 for each in (one, other)]
    return (
        drives[0] is not None
        and drives[0] == drives[1]
        and one.header.seed == other.header.seed
        and all(value(one.header) == value(other.header) for _, value in PARAMETERS)
    )


def _version(measured: Measured) -> str:
    platform = measured.header.target.platform
    parts = [
        f"{key.removesuffix('_version')} {plain(platform[key])}"
        for key in ("simulator_version", "model_version", "fio_version")
        if platform.get(key) is not None
    ]
    tool = measured.document.tool
    return ", ".join(parts) or (tool.version if tool else "unknown")
