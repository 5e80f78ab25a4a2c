"""Which points conditions hold for, and their values: two passes, so that few are read whole.

What all points share is read first: coordinates, which the seeds of a point have in common, and the
names of metrics. Then the points are passed through once: conditions on columns are SQL, one on a
coordinate was examined once for all seeds, one on a metric is one number at a known place. Only of
those that are left, and within the limit, the values are read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any

from opennandlab.store import remarks
from opennandlab.store.conditions import Condition, resolved, unknown
from opennandlab.store.entry import Scalar
from opennandlab.store.packing import (
    DAMAGE,
    NUMBER,
    coordinates_of,
    names_of,
    numbers_of,
    seed_kept,
)
from opennandlab.store.rows import Rows
from opennandlab.store.writing import PIECE, marks

# Column of a table of points -> how it is found.
COLUMNS = {
    "key": "point.key",
    "verb": "point.verb",
    "sweep": "point.sweep",
    "seed": "point.seed",
    "status": "CASE WHEN point.error IS NULL THEN 'done' ELSE 'failed' END",
    "wall_s": "point.wall_s",
    "created": "point.created",
    "program": "point.program",
    "model_version": "point.model_version",
    "host": "point.host",
    "error": "point.error",
    "digest": "point.digest",
    "settings": "point.settings",
    "caution": (
        "CASE WHEN point.error IS NULL AND (point.verb LIKE 'pts.%' OR point.verb = 'chain') "
        "THEN caution((SELECT packed FROM content WHERE content.point = point.id)) END"
    ),
    **remarks.FOUND,
}
# Columns of a table only if a point has such a value.
RARE = ("caution", *remarks.FOUND)
# What stands before coordinates and metrics, and after them.
HEAD = ("key", "verb", "sweep", "seed", "status")
TAIL = ("digest", "wall_s", "created", "program", "model_version", "host", "error")
# Points that differ in these must not be taken for like ones.
ORIGINS = ("program", "model_version")

# Columns whose values are texts; the others are numbers.
NUMBERS = ("seed", "wall_s", "model_version")

JOIN = "JOIN numbers ON numbers.point = point.id"
SWEEP_NAME = "(SELECT name FROM sweep WHERE sweep.id = member.sweep)"
NEWEST = "point.created DESC, point.id DESC"
NO_PLACE = -1

Test = Callable[[Any], bool]
# What it is known by, what its coordinates are known by, number of the names, metrics, columns that
# were asked for.
Found = tuple[Any, ...]
FIRST_FIELD = 4


@dataclass
class Filter:
    """Conditions on coordinates, columns and metrics.

    Args:
        coordinates: Coordinates that fulfil all conditions on coordinates.
        sql: Conditions on columns.
        given: Values of the conditions on columns.
        metrics: Name and test of each condition on metrics.
    """

    coordinates: set[int | str]
    sql: list[str] = field(default_factory=list)
    given: list[Scalar] = field(default_factory=list)
    metrics: list[tuple[str, Test]] = field(default_factory=list)

    @property
    def is_all(self) -> bool:
        """Whether there are none but on coordinates."""
        return not self.sql and not self.metrics


@dataclass(frozen=True)
class Order:
    """What points are ordered by.

    Args:
        name: A column, a coordinate or a metric; None for the newest first.
        falling: From the greatest.
    """

    name: str | None
    falling: bool = False

    @property
    def sql(self) -> str:
        """The order of a query; the newest first where that does not decide."""
        if self.name not in COLUMNS:
            return NEWEST
        column = COLUMNS[self.name]
        return f"{column} IS NULL, {column} {'DESC' if self.falling else 'ASC'}, {NEWEST}"


@dataclass(frozen=True)
class Source:
    """Which points are examined.

    Args:
        points: What stands after `FROM`.
        number: What a row is known by.
        coordinates: What its coordinates are known by.
        known: All coordinates: how they are known, and JSON.
        columns: How columns are found.
    """

    points: str = "point"
    number: str = "point.id"
    coordinates: str = "point.coordinates"
    known: str = "SELECT id, json FROM coordinates ORDER BY id"
    columns: Mapping[str, str] = field(default_factory=lambda: COLUMNS)

    @classmethod
    def of_sweep(cls, sweep: int) -> Source:
        """Return the points of a sweep, with the coordinates that they have in it."""
        return cls(
            points=f"member JOIN point ON point.key = member.key AND member.sweep = {sweep}",
            number="member.place",
            coordinates="member.coordinates",
            known=f"SELECT DISTINCT coordinates, coordinates FROM member WHERE sweep = {sweep}",
            columns=COLUMNS | {"sweep": SWEEP_NAME},
        )


class Query:
    """What is asked of one state of a store."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        damaged: Callable[[str], Exception],
        where: Sequence[str] = (),
    ) -> None:
        """Read what all points share.

        Args:
            connection: Connection of the store.
            damaged: Makes the error for content that no store writes.
            where: Conditions, which all must hold. With `sweep=NAME` the points of a sweep that was
                run into this store have the coordinates that they have in it.
        """
        self.connection = connection
        self.damaged = damaged
        self.where = [Condition.parse(text) for text in where]
        self.source = Source()
        run = connection.execute
        for condition in self.where:
            if condition.name == "sweep" and condition.sign == "=":
                name = condition.value if isinstance(condition.value, str) else condition.text_value
                found = run("SELECT id FROM sweep WHERE name = ?", (name,)).fetchone()
                if found is not None:
                    self.source = Source.of_sweep(int(found[0]))
        try:
            self.coordinates = {
                known: coordinates_of(text) for known, text in run(self.source.known)
            }
            self.layouts = {
                number: {name: place for place, name in enumerate(names_of(text))}
                for number, text in run("SELECT id, json FROM names ORDER BY id")
            }
        except DAMAGE as error:
            raise damaged(str(error)) from error
        self.coordinate_names = _merged(self.coordinates.values())
        self.metric_names = _merged(self.layouts.values())

    def named(self, name: str) -> str:
        """Return the name that is meant.

        Raises:
            StoreError: for one that no point has, and which there are.
        """
        known = (*self.coordinate_names, *self.metric_names, *COLUMNS)
        found = name if name in COLUMNS else resolved(name, known)
        # A store without points has no names: nothing is asked of nothing.
        if found is None and (self.coordinates or self.layouts):
            raise unknown(name, known)
        return found or name

    def rows(
        self,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        order: str | None = None,
        *,
        also: Sequence[str] = (),
        first: int = 0,
    ) -> Rows:
        """Return the values of the points that all conditions hold for, and some more."""
        wanted = None if columns is None else list(dict.fromkeys(map(self.named, columns)))
        by = Order(None)
        if order is not None:
            by = Order(self.named(order.removeprefix("-")), falling=order.startswith("-"))
        try:
            chosen = self._filter([*self.where, *map(Condition.parse, also)])
            numbers, matched = self._numbers(chosen, by, limit, first)
            fields = [name for name in COLUMNS if wanted is None or name in (*wanted, *ORIGINS)]
            needs_metrics = wanted is None or any(self._kind(name) == "metric" for name in wanted)
            found = list(self._read(numbers, fields, with_metrics=needs_metrics))
            if wanted is None:
                wanted = self._all_columns(found)
            else:
                wanted += [name for name in _differing(found, fields) if name not in wanted]
            return Rows(
                columns=wanted,
                rows=self._values(wanted, fields, found),
                matched=matched,
                coordinates=tuple(name for name in wanted if self._kind(name) == "coordinate"),
                metrics=tuple(name for name in wanted if self._kind(name) == "metric"),
            )
        except DAMAGE as error:
            raise self.damaged(str(error)) from error

    def keys(self) -> list[str]:
        """Return the keys of the points that all conditions hold for."""
        return list(dict.fromkeys(str(row[0]) for row in self.rows(["key"]).rows))

    def _kind(self, name: str) -> str:
        if name in COLUMNS:
            return "field"
        return "coordinate" if name in self.coordinate_names else "metric"

    def _filter(self, where: Sequence[Condition]) -> Filter:
        chosen = Filter(set(self.coordinates))
        for condition in where:
            if condition.name == remarks.NAME:
                text, given = remarks.sql(condition)
                chosen.sql.append(text)
                chosen.given += given
                continue
            name = self.named(condition.name)
            kind = self._kind(name)
            if kind == "metric" or name in NUMBERS:
                condition.of_number(name)
            if kind == "field":
                text, given = _sql(name, self.source.columns[name], condition)
                chosen.sql.append(text)
                chosen.given += given
            elif kind == "coordinate":
                chosen.coordinates.intersection_update(
                    number
                    for number, values in self.coordinates.items()
                    if name in values and condition.holds(values[name])
                )
            else:
                chosen.metrics.append((name, condition.test_of_numbers()))
        return chosen

    def _numbers(
        self, chosen: Filter, order: Order, limit: int | None, first: int
    ) -> tuple[list[int], int]:
        """Return the points that are wanted, by number and in order, and how many there were."""
        last = None if limit is None else first + limit
        if order.name is not None and order.name not in COLUMNS:
            numbers, matched = self._ordered(chosen, order)
            return numbers[first:last], matched
        found = self._matching(chosen, order.sql)
        numbers = [one[0] for one in islice(found, last)]
        matched = len(numbers)
        if last is not None and matched == last:
            if chosen.is_all and len(chosen.coordinates) == len(self.coordinates):
                query = f"SELECT count(*) FROM {self.source.points}"
                matched = int(self.connection.execute(query).fetchone()[0])
            else:
                matched += sum(1 for _ in found)
        return numbers[first:], matched

    def _ordered(self, chosen: Filter, order: Order) -> tuple[list[int], int]:
        """Return points by a coordinate or metric; those without one come last."""
        name = str(order.name)
        values: list[Scalar]
        is_metric = self._kind(name) == "metric"
        found = list(self._matching(chosen, NEWEST, with_metrics=is_metric))
        if is_metric:
            values = self._metric(name, found)
        else:
            values = [self.coordinates[one[1]].get(name) for one in found]
        places = [place for place, value in enumerate(values) if value is not None]
        # Python's order is stable in both directions: the newest stays first among equals.
        places.sort(key=lambda place: _rank(values[place]), reverse=order.falling)
        places += [place for place, value in enumerate(values) if value is None]
        return [found[place][0] for place in places], len(found)

    def _metric(self, name: str, found: Sequence[Found]) -> list[Scalar]:
        """Return one metric of points; None where they do not have it."""
        places = {
            number: layout[name] * NUMBER.size
            for number, layout in self.layouts.items()
            if name in layout
        }
        number_at = NUMBER.unpack_from
        return [number_at(one[3], places[one[2]])[0] if one[2] in places else None for one in found]

    def _matching(
        self, chosen: Filter, order: str, *, with_metrics: bool = False
    ) -> Iterator[Found]:
        """Yield what is known of the points that conditions hold for."""
        with_metrics = with_metrics or bool(chosen.metrics)
        metrics = "numbers.names, numbers.vector" if with_metrics else "0, x''"
        where = f"WHERE {' AND '.join(chosen.sql)}" if chosen.sql else ""
        query = (
            f"SELECT {self.source.number}, {self.source.coordinates}, {metrics} "
            f"FROM {self.source.points} {JOIN if with_metrics else ''} {where} ORDER BY {order}"
        )
        allowed = chosen.coordinates
        plans: dict[int, list[tuple[int, Test]]] = {}
        number_at = NUMBER.unpack_from
        for one in self.connection.execute(query, chosen.given):
            if one[1] not in allowed:
                continue
            if chosen.metrics:
                plan = plans.get(one[2])
                if plan is None:
                    plan = plans[one[2]] = _plan(self.layouts[one[2]], chosen.metrics)
                for place, test in plan:
                    if place < 0 or not test(number_at(one[3], place)[0]):
                        break
                else:
                    yield one
            else:
                yield one

    def _read(
        self, numbers: Sequence[int], fields: Sequence[str], *, with_metrics: bool
    ) -> Iterator[Found]:
        """Yield the points with these numbers, and their columns, in this order."""
        metrics = "numbers.names, numbers.vector" if with_metrics else "0, x''"
        source = self.source
        columns = "".join(f", {source.columns[name]}" for name in fields)
        for start in range(0, len(numbers), PIECE):
            piece = numbers[start : start + PIECE]
            query = (
                f"SELECT {source.number}, {source.coordinates}, {metrics}{columns} "
                f"FROM {source.points} {JOIN if with_metrics else ''} "
                f"WHERE {source.number} IN ({marks(piece)})"
            )
            found = {one[0]: one for one in self.connection.execute(query, piece)}
            yield from (found[number] for number in piece)

    def _all_columns(self, found: Sequence[Found]) -> list[str]:
        used = {one[1] for one in found}
        coordinates = _merged(it for known, it in self.coordinates.items() if known in used)
        metrics = _merged(self.layouts[one] for one in sorted({it[2] for it in found}))
        first = FIRST_FIELD + list(COLUMNS).index(RARE[0])
        noted = [name for place, name in enumerate(RARE, first)
                 if any(one[place] is not None for one in found)]  # fmt: skip
        names = (*HEAD, *coordinates, *metrics, *TAIL, *noted)
        return list(dict.fromkeys(names))

    def _values(
        self, wanted: Sequence[str], fields: Sequence[str], found: Sequence[Found]
    ) -> list[list[Scalar]]:
        """Return the values of columns, in runs of one kind: fields, coordinates, metrics."""
        rows: list[list[Scalar]] = [[] for _ in found]
        for kind, group in groupby(wanted, self._kind):
            names = list(group)
            if kind == "field":
                places = [FIRST_FIELD + fields.index(name) for name in names]
                for row, one in zip(rows, found, strict=True):
                    row.extend([one[place] for place in places])
            elif kind == "coordinate":
                shared = {
                    number: [values.get(name) for name in names]
                    for number, values in self.coordinates.items()
                }
                for row, one in zip(rows, found, strict=True):
                    row.extend(shared[one[1]])
            else:
                _add_metrics(rows, found, names, self.layouts)
        if "seed" in wanted:
            place = wanted.index("seed")
            for row in rows:
                seed = row[place]
                row[place] = int(seed) if isinstance(seed, str) else seed
        return rows


def _differing(found: Sequence[Found], fields: Sequence[str]) -> list[str]:
    """Return which of program and version of the model differ among points."""
    places = [(name, FIRST_FIELD + fields.index(name)) for name in ORIGINS]
    return [name for name, place in places if len({one[place] for one in found}) > 1]


def _add_metrics(
    rows: list[list[Scalar]],
    found: Sequence[Found],
    names: Sequence[str],
    layouts: dict[int, dict[str, int]],
) -> None:
    plans: dict[int, list[int]] = {}
    for row, one in zip(rows, found, strict=True):
        plan = plans.get(one[2])
        if plan is None:
            layout = layouts[one[2]]
            plan = plans[one[2]] = [layout.get(name, NO_PLACE) for name in names]
        numbers = numbers_of(one[3])
        row += [None if place == NO_PLACE else numbers[place] for place in plan]


def _plan(layout: Mapping[str, int], metrics: Sequence[tuple[str, Test]]) -> list[tuple[int, Test]]:
    """Return where metrics stand in a row of numbers, in bytes; below 0 where they do not."""
    return [(layout.get(name, NO_PLACE) * NUMBER.size, test) for name, test in metrics]


def _sql(name: str, column: str, condition: Condition) -> tuple[str, list[Scalar]]:
    """Return a condition on a column as SQL, and its values."""
    sign, value = condition.sign, condition.value
    if name == "key" and sign in {"=", "!="}:
        # A key may be given by its first digits.
        digits = condition.text_value.lower()
        return f"(substr({column}, 1, {len(digits)}) {sign} ?)", [digits]
    given: Scalar = condition.text_value
    if value is None:
        given = None
    elif name in NUMBERS:
        given = seed_kept(value) if isinstance(value, int) else value
    elif isinstance(value, str):
        given = value
    operator = {"=": "IS", "!=": "IS NOT"}.get(sign, sign)
    return f"({column} {operator} ?)", [given]


def _rank(value: Scalar) -> tuple[int, float, str]:
    """Return what values are ordered by: numbers before texts."""
    if isinstance(value, int | float):
        return (0, value, "")
    return (1, 0.0, str(value))


def _merged(parts: Iterable[Iterable[str]]) -> list[str]:
    """Return the names of all parts, in the order in which they first come."""
    return list(dict.fromkeys(name for part in parts for name in part))
