"""The screen Runs: points of the store as a table, filtered, ordered and paged by the store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opennandlab.base.errors import StoreError
from opennandlab.base.words import number
from opennandlab.reports.runs import shown
from opennandlab.store import Names, Store
from opennandlab.store.conditions import resolved, value_of
from opennandlab.store.entry import Scalar
from opennandlab.store.shown import MAIN, shortened

ROWS_PER_PAGE = 50
# Coordinates that have columns of their own, and metrics where none were chosen.
COORDINATES_MAX, METRICS_MAX = 5, 3
CHOSEN_MAX = 12
# Conditions that are menus.
MENUS = ("status", "sweep", "verb")
PAGE_MAX = 10_000_000


@dataclass(frozen=True)
class Asked:
    """What a page of the table was asked for.

    Args:
        where: Conditions as they were typed.
        menus: Values of those that are menus, by name.
        order: Name of the value that rows are ordered by, `-` before it for falling.
        show: Metrics that have columns.
        page: From 1.
    """

    where: tuple[str, ...] = ()
    menus: Mapping[str, str] = field(default_factory=dict)
    order: str = ""
    show: tuple[str, ...] = ()
    page: int = 1

    @classmethod
    def of(cls, query: Any) -> Asked:  # noqa: ANN401 (a multi-dict)
        """Read a query; what is none of it is passed over."""
        menus = {name: query.get(name, "") for name in MENUS}
        page = query.get("page", "1")
        return cls(
            where=tuple(text for text in query.getlist("where") if text.strip()),
            menus={name: value for name, value in menus.items() if value},
            order=query.get("order", "").strip(),
            show=tuple(dict.fromkeys(filter(None, query.getlist("show"))))[:CHOSEN_MAX],
            page=min(int(page), PAGE_MAX) if page.isascii() and page.isdigit() else 1,
        )

    @property
    def conditions(self) -> list[str]:
        """All conditions, as the store reads them."""
        return [*(equals(name, value) for name, value in self.menus.items()), *self.where]

    def query(self, **changes: object) -> dict[str, object]:
        """Return the query of this page with some changes."""
        own: dict[str, object] = {
            **self.menus, "where": list(self.where), "order": self.order, "show": list(self.show),
            "page": self.page if self.page > 1 else None,
        }  # fmt: skip
        return own | changes


@dataclass(frozen=True)
class Column:
    """A column of the table.

    Args:
        name: What it is ordered by; empty for one that is not.
        head: How it is called.
        is_number: Whether its cells stand on the right.
        sorted: `ascending`, `descending` or empty.
        order: What a click orders by.
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
    """A page of the table."""

    asked: Asked
    names: Names
    columns: tuple[Column, ...] = ()
    rows: tuple[Listed, ...] = ()
    matched: int = 0
    problem: str = ""

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return max(1, -(-self.matched // ROWS_PER_PAGE))

    @property
    def first(self) -> int:
        """Number of the first row."""
        return (self.asked.page - 1) * ROWS_PER_PAGE + 1


def listing(store: Store, asked: Asked) -> Listing:
    """Return a page of the table; a condition that is none is its problem.

    Raises:
        StoreError: for a store that cannot be used.
    """
    names = store.names()
    try:
        found = store.rows(
            where=asked.conditions,
            limit=ROWS_PER_PAGE,
            first=(asked.page - 1) * ROWS_PER_PAGE,
            order=asked.order or None,
        )
    except StoreError as error:
        # Either the question or the store is wrong: the store answers a plain question.
        store.rows(limit=0)
        return Listing(asked, names, problem=str(error))
    coordinates = found.coordinates[:COORDINATES_MAX]
    rest = found.coordinates[COORDINATES_MAX:]
    metrics = _metrics(found.metrics, asked.show)
    short = shortened([*found.coordinates, *metrics])
    columns = [
        *(Column(name, short[name]) for name in coordinates),
        *([Column("", "also varied")] if rest else []),
        *(Column(name, MAIN.get(name, short[name]), is_number=True) for name in metrics),
    ]
    rows = []
    for row in found:
        cells = [shown(row[name]) for name in coordinates]
        if rest:
            said = [f"{short[name]}={shown(row[name])}" for name in rest
                    if row[name] is not None]  # fmt: skip
            cells.append(" ".join(said))
        cells += [number(row[name]) for name in metrics]
        rows.append(_listed(row, cells, found.coordinates, short))
    return Listing(
        asked,
        names,
        tuple(_ordered(column, asked.order) for column in columns),
        tuple(rows),
        found.matched,
    )


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
    """Return the metrics that have columns: those that were chosen, or people ask for first."""
    if chosen:
        found = [resolved(name, known) for name in chosen]
        return list(dict.fromkeys(name for name in found if name is not None))
    return [name for name in MAIN if name in known][:METRICS_MAX] or list(known)[:METRICS_MAX]


def _ordered(column: Column, order: str) -> Column:
    """Return a column that says how it is ordered, and what a click on it asks for."""
    if not column.name:
        return column
    is_by = order.removeprefix("-") == column.name
    is_falling = order.startswith("-")
    sorted_ = ("descending" if is_falling else "ascending") if is_by else ""
    # Numbers begin with the greatest.
    first = f"-{column.name}" if column.is_number else column.name
    other = column.name if is_falling else f"-{column.name}"
    return Column(column.name, column.head, column.is_number, sorted_, other if is_by else first)


def fixed(order: str) -> dict[str, Column]:
    """Return the columns that every point has, by name."""
    heads = {"status": "status", "verb": "verb", "sweep": "sweep", "seed": "seed",
             "created": "age"}  # fmt: skip
    return {
        name: _ordered(Column(name, head, is_number=name in {"seed", "created"}), order)
        for name, head in heads.items()
    }


def equals(name: str, value: object) -> str:
    """Return the condition that a name has a value, as it is typed.

    >>> equals("sweep", "study"), equals("sweep", "12"), equals("ftl.op", 0.5)
    ('sweep=study', 'sweep="12"', 'ftl.op=0.5')
    """
    if not isinstance(value, str):
        return f"{name}={json.dumps(value)}"
    is_plain = value.strip() == value and value and value_of(value) == value and value[0] != "="
    return f"{name}={value}" if is_plain else f"{name}={json.dumps(value)}"
