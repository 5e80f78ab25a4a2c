"""The screen Runs: points of the store as a table, filtered, ordered and paged by the store."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING

from opennandlab.base.errors import StoreError
from opennandlab.base.plain import is_number
from opennandlab.base.words import NOTHING, number
from opennandlab.reports.runs import shown
from opennandlab.store import Names, Rows, Store
from opennandlab.store.conditions import equals, resolved
from opennandlab.store.entry import Scalar
from opennandlab.store.remarks import Remark
from opennandlab.store.shown import MAIN, shortened

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

ROWS_PER_PAGE = 50
# Coordinates that have a column each, at most; the others share one.
COORDINATES_MAX = 5
# Metrics that have columns, at most: if the user chose none, and as chosen.
METRICS_MAX, CHOSEN_MAX = 3, 40
# Metrics that the column picker has boxes for, next to the main ones; others are typed.
PICKED = (
    "latency_us.all.mean", "latency_us.all.p50", "latency_us.all.p999", "latency_us.read.p99",
    "latency_us.write.p99", "iops.read", "iops.write", "predicted_waf", "gc_cycles",
    "gc_pages_moved", "wear.mean", "wear.max", "lifetime_days", "tbw_tb", "uber", "frames",
    "average_1", "steady",
)  # fmt: skip
# Names whose conditions are chosen from menus.
MENUS = ("status", "sweep", "verb", "tag")
# Columns of every point that can be shown, and their heads; the last ones only when chosen.
FIXED = {"seed": "seed", "tags": "tags", "sweep": "sweep", "verb": "verb", "created": "time, UTC",
         "wall_s": "took, s", "note": "note", "host": "machine", "program": "version"}  # fmt: skip
USUAL = ("seed", "tags", "sweep", "verb", "created")
# Values by which rows can be grouped.
GROUPS = ("sweep", "verb")
# Spaces as wide as a digit and as a decimal point.
DIGIT, POINT = "\u2007", "\u2008"
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
        columns: Other columns that were chosen; empty for the usual ones.
        group: Value that rows are grouped by; empty for none.
    """

    where: tuple[str, ...] = ()
    menus: Mapping[str, str] = field(default_factory=dict)
    order: str = ""
    show: tuple[str, ...] = ()
    page: int = 1
    columns: tuple[str, ...] = ()
    group: str = ""

    @classmethod
    def of(cls, parameters: QueryParams) -> TableQuery:
        """Read the query of an address; unknown keys are ignored."""
        menus = {name: parameters.get(name, "") for name in MENUS}
        return cls(
            where=tuple(text for text in parameters.getlist("where") if text.strip()),
            menus={name: value for name, value in menus.items() if value},
            order=parameters.get("order", "").strip(),
            show=tuple(dict.fromkeys(filter(None, parameters.getlist("show"))))[:CHOSEN_MAX],
            page=_page(parameters.get("page", "1")),
            columns=tuple(dict.fromkeys(filter(None, parameters.getlist("col"))))[:CHOSEN_MAX],
            group=group if (group := parameters.get("group", "")) in GROUPS else "",
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
            "page": self.page if self.page > 1 else None, "col": list(self.columns),
            "group": self.group,
        }  # fmt: skip
        return own | changes

    def shows(self, name: str) -> bool:
        """Return whether a column is shown that is no metric."""
        return name in (self.columns or USUAL) or (not self.columns and name not in FIXED)


def _page(text: str) -> int:
    # `int` refuses numbers of thousands of digits.
    is_number = text.isascii() and text.isdigit() and len(text) < 20
    return max(1, min(int(text), PAGE_MAX)) if is_number else 1


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


NO_REMARK = Remark()


@dataclass(frozen=True)
class Listed:
    """A point in the table.

    Args:
        key: Its key.
        values: Its columns that every point has, by name.
        cells: Texts of metrics and coordinates, one for each column of the page.
        label: Its name in words.
        group: Value that it is grouped by.
        remark: Its tags and note.
    """

    key: str
    values: Mapping[str, str]
    cells: tuple[str, ...]
    label: str
    group: str
    remark: Remark = NO_REMARK


@dataclass(frozen=True)
class Listing:
    """A page of the table.

    Args:
        query: The query that the page answers.
        names: Names that conditions and columns may have.
        columns: Metrics and coordinates.
        fixed: Columns that every point has, as far as they are shown.
        rows: Points of the page.
        matched: Points on all pages.
        verb: Column of the verb, next to the run, where points of several are shown.
        picks: Boxes of the column picker: name, text, and whether it is shown; metrics, then
            others.
        error: Why the query is invalid; empty if it is valid.
    """

    query: TableQuery
    names: Names
    columns: tuple[Column, ...] = ()
    fixed: tuple[Column, ...] = ()
    rows: tuple[Listed, ...] = ()
    matched: int = 0
    verb: Column | None = None
    picks: tuple[tuple[tuple[str, str, bool], ...], ...] = ((), ())
    error: str = ""

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return max(1, -(-self.matched // ROWS_PER_PAGE))

    @property
    def first(self) -> int:
        """Number of the first row."""
        return self.query.rows_before + 1

    @property
    def width(self) -> int:
        """Number of columns next to those of the choice and the run."""
        return len(self.columns) + len(self.fixed) + (self.verb is not None)

    @property
    def groups(self) -> list[tuple[str, list[Listed]]]:
        """Neighbouring rows of one group each; one group without a name if none was asked for."""
        return [(name, list(rows)) for name, rows in groupby(self.rows, lambda row: row.group)]


def listing(store: Store, query: TableQuery, limit: int = ROWS_PER_PAGE) -> Listing:
    """Return a page of the table; an invalid condition gives an empty page with an error.

    Args:
        store: The store.
        query: Conditions, order, columns and page.
        limit: Rows at most.

    Raises:
        StoreError: for a store that cannot be used.
    """
    names = store.names()
    try:
        found = store.rows(
            where=query.conditions,
            limit=limit,
            first=query.rows_before,
            order=query.order or query.group or None,
        )
    except StoreError as error:
        # Either the query or the store is wrong: a store that is sound answers an empty query.
        store.rows(limit=0)
        return Listing(query, names, error=str(error))
    metrics = _metrics(found.metrics, query.show)
    coordinates = [name for name in found.coordinates if query.shows(name)]
    short = shortened([*found.coordinates, *metrics])
    numeric = {
        name for name in coordinates[:COORDINATES_MAX]
        if all(row[name] is None or is_number(row[name]) for row in found)
    }  # fmt: skip
    grid = _grid(found, metrics, coordinates, short, numeric)
    remarks = store.remarks(str(row["key"]) for row in found)
    is_mixed = len({row["verb"] for row in found}) > 1
    fixed = {
        name: _ordered(Column(name, head, is_number=name in {"seed", "wall_s"}), query.order)
        for name, head in FIXED.items()
        if query.shows(name) and name != query.group
    }
    return Listing(
        query,
        names,
        tuple(
            _ordered(column, query.order)
            for column in _columns(metrics, coordinates, short, numeric)
        ),
        tuple(one for name, one in fixed.items() if name != "verb" or not is_mixed),
        tuple(
            replace(
                _listed(row, cells, found.coordinates, short, query.group),
                remark=remarks.get(str(row["key"]), NO_REMARK),
            )
            for row, cells in zip(found, grid, strict=True)
        ),
        found.matched,
        fixed.get("verb") if is_mixed else None,
        _picks(query, found, metrics, short),
    )


def _picks(
    query: TableQuery, found: Rows, metrics: Sequence[str], short: Mapping[str, str]
) -> tuple[tuple[tuple[str, str, bool], ...], ...]:
    """Return the boxes of the column picker: metrics, then coordinates and fixed columns."""
    main = [name for name in MAIN if name in found.metrics]
    offered = dict.fromkeys([*main, *metrics, *(one for one in PICKED if one in found.metrics)])
    others = {name: short[name] for name in found.coordinates} | FIXED
    return (
        tuple((name, MAIN.get(name, name), name in metrics) for name in offered),
        tuple((name, text, query.shows(name)) for name, text in others.items()),
    )


def _columns(
    metrics: Sequence[str],
    coordinates: Sequence[str],
    short: Mapping[str, str],
    numeric: Container[str],
) -> list[Column]:
    rest = coordinates[COORDINATES_MAX:]
    return [
        *(Column(name, MAIN.get(name, short[name]), is_number=True) for name in metrics),
        *(Column(name, short[name], name in numeric) for name in coordinates[:COORDINATES_MAX]),
        *([Column("", "also varied")] if rest else []),
    ]


def _grid(
    found: Rows,
    metrics: Sequence[str],
    coordinates: Sequence[str],
    short: Mapping[str, str],
    numeric: Container[str],
) -> list[tuple[str, ...]]:
    """Return the texts of all rows, one for each of `_columns`."""
    first, rest = coordinates[:COORDINATES_MAX], coordinates[COORDINATES_MAX:]
    columns = [aligned([number(row[name]) for row in found]) for name in metrics]
    columns += [
        aligned(texts) if name in numeric else texts
        for name in first for texts in [[shown(row[name]) for row in found]]
    ]  # fmt: skip
    if rest:
        columns.append([
            " ".join(f"{short[name]}={shown(row[name])}" for name in rest if row[name] is not None)
            for row in found
        ])  # fmt: skip
    return list(zip(*columns, strict=True)) if columns else [()] * len(found)


def aligned(texts: Sequence[str]) -> list[str]:
    """Return numbers whose points are below each other when they end at the right.

    Powers of ten stay as they are: the place of their points has no meaning.

    >>> [one.replace(DIGIT, "_").replace(POINT, ",") for one in aligned(["2.04", "13", "3.5"])]
    ['2.04', '13,__', '3.5_']
    """
    decimals = [len(text.partition(".")[2]) for text in texts]
    width = max((n for n, text in zip(decimals, texts, strict=True) if "e" not in text), default=0)
    return [
        text if "e" in text or text == NOTHING else
        text + POINT * (width > 0 and "." not in text) + DIGIT * (width - count)
        for text, count in zip(texts, decimals, strict=True)
    ]  # fmt: skip


def _listed(
    row: Mapping[str, Scalar],
    cells: tuple[str, ...],
    coordinates: Sequence[str],
    short: Mapping[str, str],
    group: str,
) -> Listed:
    varied = [f"{short[name]} {shown(row[name])}" for name in coordinates if row[name] is not None]
    values = {
        name: "" if row.get(name) is None else number(row[name]) if name == "wall_s"
        else str(row[name])
        for name in (*FIXED, "status", "error")
    }  # fmt: skip
    seed = values["seed"]
    return Listed(
        key=str(row["key"]),
        values=values,
        cells=cells,
        label=", ".join([values["verb"], *varied, *([f"seed {seed}"] if seed else [])]),
        group=values[group] if group else "",
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
    # Numbers begin with the greatest, and times with the latest.
    is_falling = column.is_number or column.name == "created"
    return replace(column, order=descending if is_falling else column.name)
