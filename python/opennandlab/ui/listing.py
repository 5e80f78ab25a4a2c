"""The screen Runs: points of the store as a table, filtered, ordered and paged by the store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from opennandlab.base.errors import StoreError
from opennandlab.base.words import number
from opennandlab.reports.runs import shown
from opennandlab.store import Names, Store
from opennandlab.store.conditions import resolved, value_of
from opennandlab.store.entry import Scalar
from opennandlab.store.shown import MAIN, shortened

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

ROWS_PER_PAGE = 50
# Coordinates that have a column each, at most; the others share one.
COORDINATES_MAX = 5
# Metrics that have columns, at most: if the user chose none, and as chosen.
METRICS_MAX, CHOSEN_MAX = 3, 12
# Names whose conditions are chosen from menus.
MENUS = ("status", "sweep", "verb")
# The largest page number that is read, so that the number of its first row is a small integer.
PAGE_MAX = 10_000_000


@dataclass(frozen=True)
class TableQuery:
    """The query of a page of the table.

    Args:
        where: Conditions as they were typed.
        menus: Chosen values of the menus, by name.
        order: Name of the value that rows are ordered by, `-` before it for descending order.
        show: Metrics that have columns.
        page: From 1.
    """

    where: tuple[str, ...] = ()
    menus: Mapping[str, str] = field(default_factory=dict)
    order: str = ""
    show: tuple[str, ...] = ()
    page: int = 1

    @classmethod
    def of(cls, parameters: QueryParams) -> TableQuery:
        """Read the query of an address; unknown keys are ignored."""
        menus = {name: parameters.get(name, "") for name in MENUS}
        page = parameters.get("page", "1")
        return cls(
            where=tuple(text for text in parameters.getlist("where") if text.strip()),
            menus={name: value for name, value in menus.items() if value},
            order=parameters.get("order", "").strip(),
            show=tuple(dict.fromkeys(filter(None, parameters.getlist("show"))))[:CHOSEN_MAX],
            page=min(int(page), PAGE_MAX) if page.isascii() and page.isdigit() else 1,
        )

    @property
    def conditions(self) -> list[str]:
        """All conditions, as the store reads them."""
        return [*(equals(name, value) for name, value in self.menus.items()), *self.where]

    @property
    def rows_before(self) -> int:
        """How many rows the earlier pages have."""
        return (self.page - 1) * ROWS_PER_PAGE

    def parameters(self, **changes: object) -> dict[str, object]:
        """Return the parameters of the address of this page, with changes."""
        own: dict[str, object] = {
            **self.menus, "where": list(self.where), "order": self.order, "show": list(self.show),
            "page": self.page if self.page > 1 else None,
        }  # fmt: skip
        return own | changes


@dataclass(frozen=True)
class Column:
    """A column of the table.

    Args:
        name: Name of the value that rows are ordered by; empty if they cannot be.
        head: Text of the head.
        is_number: Whether the cells are aligned to the right.
        sorted: `ascending` or `descending` if rows are ordered by this column, else empty.
        order: Order that a click on the head asks for.
    """

    name: str
    head: str
    is_number: bool = False
    sorted: str = ""
    order: str = ""


@dataclass(frozen=True)
class Listed:
    """A point in the table."""

    key: str
    status: str
    verb: str
    sweep: str
    seed: str
    created: str
    cells: tuple[str, ...]
    error: str
    label: str


@dataclass(frozen=True)
class Listing:
    """A page of the table.

    Args:
        query: The query that the page answers.
        names: Names that conditions and columns may have.
        columns: Coordinates and metrics.
        rows: Points of the page.
        matched: Points on all pages.
        error: Why the query is invalid; empty if it is valid.
    """

    query: TableQuery
    names: Names
    columns: tuple[Column, ...] = ()
    rows: tuple[Listed, ...] = ()
    matched: int = 0
    error: str = ""

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return max(1, -(-self.matched // ROWS_PER_PAGE))

    @property
    def first(self) -> int:
        """Number of the first row."""
        return self.query.rows_before + 1


def listing(store: Store, query: TableQuery) -> Listing:
    """Return a page of the table; an invalid condition gives an empty page with an error.

    Raises:
        StoreError: for a store that cannot be used.
    """
    names = store.names()
    try:
        found = store.rows(
            where=query.conditions,
            limit=ROWS_PER_PAGE,
            first=query.rows_before,
            order=query.order or None,
        )
    except StoreError as error:
        # Either the query or the store is wrong: a store that is sound answers an empty query.
        store.rows(limit=0)
        return Listing(query, names, error=str(error))
    metrics = _metrics(found.metrics, query.show)
    short = shortened([*found.coordinates, *metrics])
    columns = _columns(found.coordinates, metrics, short)
    return Listing(
        query,
        names,
        tuple(_ordered(column, query.order) for column in columns),
        tuple(
            _listed(row, _cells(row, found.coordinates, metrics, short), found.coordinates, short)
            for row in found
        ),
        found.matched,
    )


def _columns(
    coordinates: Sequence[str], metrics: Sequence[str], short: Mapping[str, str]
) -> list[Column]:
    rest = coordinates[COORDINATES_MAX:]
    return [
        *(Column(name, short[name]) for name in coordinates[:COORDINATES_MAX]),
        *([Column("", "also varied")] if rest else []),
        *(Column(name, MAIN.get(name, short[name]), is_number=True) for name in metrics),
    ]


def _cells(
    row: Mapping[str, Scalar],
    coordinates: Sequence[str],
    metrics: Sequence[str],
    short: Mapping[str, str],
) -> list[str]:
    """Return the texts of a row, one for each of `_columns`."""
    rest = coordinates[COORDINATES_MAX:]
    varied = [f"{short[name]}={shown(row[name])}" for name in rest if row[name] is not None]
    return [
        *(shown(row[name]) for name in coordinates[:COORDINATES_MAX]),
        *([" ".join(varied)] if rest else []),
        *(number(row[name]) for name in metrics),
    ]


def _listed(
    row: Mapping[str, Scalar],
    cells: Sequence[str],
    coordinates: Sequence[str],
    short: Mapping[str, str],
) -> Listed:
    varied = [f"{short[name]} {shown(row[name])}" for name in coordinates if row[name] is not None]
    seed = "" if row["seed"] is None else str(row["seed"])
    return Listed(
        key=str(row["key"]),
        status=str(row["status"]),
        verb=str(row["verb"]),
        sweep=str(row["sweep"] or ""),
        seed=seed,
        created=str(row["created"]),
        cells=tuple(cells),
        error=str(row["error"] or ""),
        label=", ".join([str(row["verb"]), *varied, *([f"seed {seed}"] if seed else [])]),
    )


def _metrics(known: Sequence[str], chosen: Sequence[str]) -> list[str]:
    """Return the metrics that have columns: the chosen ones, else the first of the main ones."""
    if chosen:
        found = [resolved(name, known) for name in chosen]
        return list(dict.fromkeys(name for name in found if name is not None))
    return [name for name in MAIN if name in known][:METRICS_MAX] or list(known)[:METRICS_MAX]


def _ordered(column: Column, order: str) -> Column:
    """Return a column with the order of the rows, if it is by this column, and that of a click."""
    if not column.name:
        return column
    descending = f"-{column.name}"
    if order == descending:
        return replace(column, sorted="descending", order=column.name)
    if order == column.name:
        return replace(column, sorted="ascending", order=descending)
    # Numbers begin with the greatest.
    return replace(column, order=descending if column.is_number else column.name)


def fixed(order: str) -> dict[str, Column]:
    """Return the columns that every point has, by name."""
    heads = {"status": "status", "verb": "verb", "sweep": "sweep", "seed": "seed",
             "created": "age"}  # fmt: skip
    return {
        name: _ordered(Column(name, head, is_number=name in {"seed", "created"}), order)
        for name, head in heads.items()
    }


def equals(name: str, value: object) -> str:
    """Return the condition that a name has a value, as a user types it.

    >>> equals("sweep", "study"), equals("sweep", "12"), equals("ftl.op", 0.5)
    ('sweep=study', 'sweep="12"', 'ftl.op=0.5')
    """
    if not isinstance(value, str):
        return f"{name}={json.dumps(value)}"
    is_plain = value.strip() == value and value and value_of(value) == value and value[0] != "="
    return f"{name}={value}" if is_plain else f"{name}={json.dumps(value)}"
