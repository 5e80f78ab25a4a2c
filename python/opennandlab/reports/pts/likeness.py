"""Whether documents of a test may be compared, and by how much their numbers differ.

Over-provisioning decides the speed of random writes more than anything else, so it is looked at
first; then everything in the header that the standard fixes. What differs is a reason not to
compare; what only clouds the deltas is a warning.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from opennandlab.documents.comparison import SCHEMA, Comparison, Row
from opennandlab.errors import ResultError
from opennandlab.reports import words
from opennandlab.reports.pts.source import Measured, as_dict, as_number, as_text, plain

# Rounding of capacities to whole blocks moves the spare area of equal drives by less than this.
SPARE_TOLERANCE_RATIO = 1e-3
# What must be equal: the words for it, and where it stands in the header.
PARAMETERS = (
    ("profile", ("profile",)),
    ("version of the specification", ("pts_version",)),
    ("time base", ("time_base", "name")),
    ("clock", ("time_base", "clock")),
    ("write cache", ("cache", "state")),
    ("active range", ("active_range",)),
    ("threads", ("threads",)),
    ("queue depth", ("queue_depth",)),
    ("workload-independent preconditioning", ("wipc",)),
    ("limit of outstanding requests", ("oio_throttle",)),
    ("data pattern", ("data",)),
    ("purge", ("purge", "is_purge")),
    ("options of the test", ("options",)),
)
UNSTEADY = "did not attain steady state"
# Of the preconditioning, what does not follow from the capacity of the drive.
WIPC_KEYS = ("pattern", "block_bytes", "capacities", "passes")


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
    warnings = [text for other in rest for text in _doubts(*first, *other)]
    warnings += [
        f"{name}: {text}" for name, one in [first, *rest] for text in (*one.warnings, *one.missing)
    ]
    return Comparison(
        schema=SCHEMA,
        test=measured[0].test,
        names=list(names),
        like=not reasons,
        reasons=reasons,
        warnings=warnings,
        metrics=_deltas([dict(numbers_of(one)) for one in measured]),
    )


def numbers_of(measured: Measured) -> Iterator[tuple[str, float | None]]:
    """Yield every number that a document states, by its path: results, tables, steady values."""
    for key, found in measured.results.items():
        if not isinstance(found, bool) and (found is None or as_number(found) is not None):
            yield f"results.{key}", as_number(found)
    for block in measured.blocks:
        for row, values in zip(block.rows, block.values, strict=True):
            for column, value in zip(block.columns, values, strict=True):
                if not isinstance(value, str):
                    yield f"{block.id}[{row}, {column}]", value
    for steady in measured.steady:
        label = steady.label or steady.metric
        group = f"{steady.group}." if steady.group else ""
        yield f"steady_state.{group}{label}.{steady.metric}", steady.numbers["average"]


def delta_pct(first: float | None, value: float | None) -> float | None:
    """Return the change against the first in percent; None where it cannot be said."""
    if first is None or value is None:
        return None
    if first == value:
        return 0.0
    change = (value / first - 1.0) * 100.0 if first else None
    return change if change is not None and math.isfinite(change) else None


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
    for what, path in PARAMETERS:
        left, right = _at(one, path), _at(other, path)
        if left != right:
            yield (
                f"different {what}: {one_name} has {_shown(left)}, {other_name} has {_shown(right)}"
            )


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
    seeds = one.header.get("seed"), other.header.get("seed")
    if seeds[0] != seeds[1]:
        both = " and ".join(map(plain, seeds))
        yield f"different seeds ({both}): small deltas may be chance"
    versions = _version(one), _version(other)
    if versions[0] != versions[1]:
        yield (
            f"made by different versions ({versions[0]} and {versions[1]}): the numbers may differ "
            "for that alone"
        )
    for name, each in ((one_name, one), (other_name, other)):
        if each.header.get("interrupted") is True:
            yield f"{name} was interrupted and resumed"


def _spare(measured: Measured) -> float | None:
    """Return the spare area over the active range: raw / (user × share) − 1."""
    device = as_dict(measured.target.get("device"))
    ratio = as_number(device.get("over_provisioning_ratio"))
    share = as_number(as_dict(measured.header.get("active_range")).get("share"))
    if ratio is None:
        return None
    return (1 + ratio) / (share or 1.0) - 1


def _close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(1 + one, 1 + other, rel_tol=SPARE_TOLERANCE_RATIO)


def _at(measured: Measured, path: Sequence[str]) -> object:
    """Return a parameter; what a document does not say is None."""
    value: object = measured.header
    for key in path:
        value = as_dict(value).get(key)
    if path == ("wipc",) and isinstance(value, dict):
        return {key: value.get(key) for key in WIPC_KEYS}
    return {} if path == ("options",) and value is None else value


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} {plain(found)}" for key, found in value.items()) or "none"
    return f"`{plain(value)}`"


def _percent(ratio: float | None) -> str:
    return "an unknown share" if ratio is None else f"{ratio:.2%}"


def _version(measured: Measured) -> str:
    platform = as_dict(measured.target.get("platform"))
    parts = [
        f"{key.removesuffix('_version')} {plain(platform[key])}"
        for key in ("simulator_version", "model_version", "fio_version")
        if platform.get(key) is not None
    ]
    return ", ".join(parts) or as_text(measured.tool.get("version")) or "unknown"
