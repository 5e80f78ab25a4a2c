"""Means over seeds: one row for each setting, with the interval in which the mean of all seeds is.

Only points that differ in nothing but the seed are averaged. Where others would share a row, the
columns that distinguish them are added, and said: another coordinate, the version of the program or
of the model, the sweep they came from, or else the hash of their settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opennandlab.base.errors import StoreError
from opennandlab.stats.groups import Mean, kept_apart
from opennandlab.store.entry import Scalar
from opennandlab.store.query import Query
from opennandlab.store.rows import Rows

if TYPE_CHECKING:
    import pandas as pd

# Points that are alike in these differ in nothing but the seed.
IDENTITY = ("verb", "settings", "model_version", "program")
SPEC = re.compile(r"\s*(.+?)(?:\s+by\s+(.+?))?\s*", re.DOTALL)
ACCEPTED = "METRIC[,METRIC…] [by NAME[,NAME…]], such as `waf,iops by ftl.gc_policy`"
PARTS = ("", ".low", ".high", ".count")


@dataclass(frozen=True)
class Group:
    """A row: points that differ in the seed alone.

    Args:
        values: Values of the columns `by`.
        means: Means of the metrics; None where no point has it.
        points: Points that were averaged.
    """

    values: tuple[Scalar, ...]
    means: tuple[Mean | None, ...]
    points: int


@dataclass(frozen=True)
class Means:
    """A table of means.

    Args:
        by: Columns that distinguish the rows.
        added: Those of them that were not requested, without which unlike points would be averaged.
        metrics: Names of the metrics.
        groups: The rows, in the order of their values.
        failed: Points that the conditions hold for and that failed.
    """

    by: list[str]
    added: list[str]
    metrics: list[str]
    groups: list[Group]
    failed: int

    def rows(self) -> Rows:
        """Return it flat: `by`, then mean, ends of the interval and count of each metric."""
        columns = [*self.by, *(name + part for name in self.metrics for part in PARTS)]
        rows: list[list[Scalar]] = []
        for group in self.groups:
            row = list(group.values)
            for mean in group.means:
                row += _flat(mean)
            rows.append(row)
        return Rows(columns, rows, len(rows))

    def frame(self) -> pd.DataFrame:
        """Return `rows` as a data frame of pandas, or of polars where only that is installed.

        Raises:
            ImportError: when neither is installed.
        """
        return self.rows().frame()


def split(text: str) -> tuple[list[str], list[str]]:
    """Return metrics and columns of a description of a table; none of what it does not name.

    Raises:
        StoreError: for anything else.

    >>> split("waf, iops by ftl.gc_policy"), split("waf"), split("")
    ((['waf', 'iops'], ['ftl.gc_policy']), (['waf'], []), ([], []))
    """
    if not text.strip():
        return [], []
    match = SPEC.fullmatch(text)
    found = match.groups() if match else ("",)
    parts = [re.split(r"\s*,\s*", part) if part is not None else [] for part in found]
    if len(parts) != 2 or not all(
        name and not re.search(r"\s", name) for part in parts for name in part
    ):
        raise StoreError(f"the table `{text}` is not valid; accepted: {ACCEPTED}")
    return parts[0], parts[1]


def means(query: Query, metrics: Sequence[str], by: Sequence[str]) -> Means:
    """Return the means of metrics over the seeds of each setting.

    Raises:
        StoreError: for a name that no point has, and for an invalid condition.
    """
    wanted = list(dict.fromkeys(map(query.named, metrics)))
    asked = list(dict.fromkeys(map(query.named, by)))
    coordinates = [name for name in query.coordinate_names if name not in asked]
    candidates = ["verb", *coordinates, "model_version", "program", "sweep", "settings"]
    names = list(dict.fromkeys([*asked, *candidates, *IDENTITY, *wanted]))
    points = [
        point
        for point in query.rows(names, also=["status=done"])
        if any(point[name] is not None for name in wanted)
    ]
    added = _added(points, asked, [name for name in candidates if name not in asked])
    columns = [*asked, *added]
    groups = _grouped(points, columns)
    return Means(
        by=columns,
        added=added,
        metrics=wanted,
        groups=[
            Group(
                values=values,
                means=tuple(_mean(point[name] for point in groups[values]) for name in wanted),
                points=len(groups[values]),
            )
            for values in sorted(groups, key=lambda values: [_rank(value) for value in values])
        ],
        failed=query.rows(["key"], limit=0, also=["status=failed"]).matched,
    )


def _added(
    points: Sequence[Mapping[str, Scalar]], asked: Sequence[str], candidates: Iterable[str]
) -> list[str]:
    """Return the columns without which a group would have points that are unlike."""
    added: list[str] = []
    mixed = [group for group in _grouped(points, asked).values() if _is_mixed(group)]
    for name in candidates:
        if any(_tells_apart(group, name) for group in mixed):
            added.append(name)
            parts = [part for group in mixed for part in _grouped(group, [name]).values()]
            mixed = [part for part in parts if _is_mixed(part)]
    return added


def _is_mixed(points: Sequence[Mapping[str, Scalar]]) -> bool:
    """Return whether points differ in more than the seed."""
    return len(_grouped(points, IDENTITY)) > 1


def _tells_apart(points: Sequence[Mapping[str, Scalar]], name: str) -> bool:
    """Return whether points have unlike values of a name."""
    return len({kept_apart(point[name]) for point in points}) > 1


def _grouped(
    points: Iterable[Mapping[str, Scalar]], names: Sequence[str]
) -> dict[tuple[Scalar, ...], list[Mapping[str, Scalar]]]:
    groups: dict[tuple[Scalar, ...], list[Mapping[str, Scalar]]] = {}
    for point in points:
        groups.setdefault(tuple(kept_apart(point[name]) for name in names), []).append(point)
    return groups


def _mean(values: Iterable[Scalar]) -> Mean | None:
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    return Mean.of(numbers) if numbers else None


def _flat(mean: Mean | None) -> list[Scalar]:
    """Return mean, ends of the interval and count; there is no interval of one seed."""
    if mean is None:
        return [None] * len(PARTS)
    is_known = mean.half is not None
    low, high = (mean.low, mean.high) if is_known else (None, None)
    return [mean.mean, low, high, mean.count]


def _rank(value: Scalar) -> tuple[int, float, str]:
    """Return what values are ordered by: numbers, then texts, then nothing."""
    if isinstance(value, int | float):
        return (0, value, "")
    return (2, 0.0, "") if value is None else (1, 0.0, str(value))
