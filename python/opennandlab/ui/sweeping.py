"""The screen Sweep: how far one is, and its points as a map of what was varied.

```text
members (what it has) ──┐
points (what is there) ─┼──► cells: mean over seeds, count, failures ──► tables, coloured by value
what its worker says ───┘
```
Whoever runs the sweep, the store has its members from the start, so what is missing is known. A
sweep of another process is timed by the ages of its points.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opennandlab.base.errors import StoreError
from opennandlab.base.plain import is_number
from opennandlab.base.words import number
from opennandlab.reports.runs import shown, told
from opennandlab.stats.groups import Mean
from opennandlab.store import KeptSweep, Store
from opennandlab.store.conditions import equals
from opennandlab.store.entry import Scalar
from opennandlab.store.membership import Member
from opennandlab.store.shown import shortened
from opennandlab.studies.sweeps.verbs import VERBS
from opennandlab.ui.jobs import Job
from opennandlab.ui.pages import address, span

# Of a larger map only the first parts are shown: nobody reads more, and a browser gets slow.
COLUMNS_MAX, ROWS_MAX, SLICES_MAX = 60, 200, 24
LEVELS = 10
# Values over more than this ratio are coloured by their logarithm.
WIDE = 100.0
FAILURES_MAX = 50
# Without a new point for so long, or so many times the usual, a sweep may have been stopped.
QUIET_S, QUIET_POINTS = 30.0, 5.0
# How long a first point may take before anything is said of it.
FIRST_S = 60.0


@dataclass(frozen=True)
class View:
    """What the map shows.

    Args:
        metric: The number.
        x: Key along the columns; None where nothing was varied.
        y: Key down the rows; None for one row.
    """

    metric: str
    x: str | None
    y: str | None


@dataclass(frozen=True)
class Square:
    """A cell of the map.

    Args:
        id: Id of its element.
        text: What stands in it.
        level: Its colour, from 0; None for none.
        state: `waiting`, `part`, `done` or `failed`.
        label: What it is, in words.
        sweep: Its sweep.
        pairs: Its keys and values.
    """

    id: str
    text: str
    level: int | None
    state: str
    label: str
    sweep: str = ""
    pairs: tuple[tuple[str, Scalar], ...] = ()

    @property
    def link(self) -> str:
        """Where its points are."""
        return address("/", sweep=self.sweep, where=[equals(*pair) for pair in self.pairs])

    @property
    def brief(self) -> list[Any]:
        """What of it changes."""
        return [self.text, self.level, self.state, self.label]


@dataclass(frozen=True)
class Slice:
    """One table of the map: rows over columns, for one value of all other keys."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Square, ...]], ...]


@dataclass(frozen=True)
class Failure:
    """A point that failed."""

    key: str
    where: str
    seed: str
    error: str


@dataclass(frozen=True)
class Progress:
    """How far a sweep is.

    Args:
        state: `queued`, `running`, `outside`, `quiet`, `done`, `stopped` or `failed`.
        done: Points that are there, failed ones among them.
        failed: Those that failed.
        total: All, as far as is known.
        text: The same in words.
        note: What a reader must know.
    """

    state: str
    done: int
    failed: int
    total: int
    text: str
    note: str

    @property
    def is_active(self) -> bool:
        """Whether more may come."""
        return self.state in {"queued", "running", "outside"}

    @property
    def can_stop(self) -> bool:
        """Whether it was started here and has not ended."""
        return self.state in {"queued", "running"}


@dataclass(frozen=True)
class Screen:
    """The whole screen."""

    sweep: KeptSweep
    view: View
    keys: tuple[str, ...]
    metrics: tuple[str, ...]
    slices: tuple[Slice, ...]
    cut: str
    legend: tuple[str, str] | None
    failures: tuple[Failure, ...]
    progress: Progress
    only: str | None

    @property
    def squares(self) -> Iterator[Square]:
        """All cells."""
        return (cell for part in self.slices for _, cells in part.rows for cell in cells)

    @property
    def event(self) -> dict[str, Any]:
        """What changes while it runs, as JSON."""
        return {
            "progress": {
                "state": self.progress.state, "done": self.progress.done,
                "failed": self.progress.failed, "total": self.progress.total,
                "text": self.progress.text, "note": self.progress.note,
                "stop": self.progress.can_stop, "active": self.progress.is_active,
            },
            "cells": {cell.id: cell.brief for cell in self.squares},
            "legend": self.legend,
            "failures": [
                [one.key, one.where, one.seed, one.error] for one in self.failures
            ],
        }  # fmt: skip


@dataclass(frozen=True)
class _Row:
    key: str
    coordinates: tuple[Scalar, ...]
    seed: str
    value: float | None
    error: str | None
    created: str


def screen(store: Store, name: str, asked: Mapping[str, str], job: Job | None) -> Screen:
    """Return the screen of a sweep.

    Args:
        store: The store.
        name: Name of the sweep.
        asked: `metric`, `x` and `y`, as far as they were chosen.
        job: Its worker, where it was started here.

    Raises:
        StoreError: for a sweep that was never run into this store.
    """
    return Board(name, asked).look(store, job)


class Board:
    """A sweep that is examined again and again: only points that are new since are read.

    Args:
        name: Name of the sweep.
        asked: `metric`, `x` and `y`, as far as they were chosen.
    """

    def __init__(self, name: str, asked: Mapping[str, str]) -> None:
        """Know nothing yet."""
        self.name = name
        self.asked = asked
        self._condition = equals("sweep", name)
        self._begin("", [])

    def _begin(self, created: str, members: Sequence[Member]) -> None:
        """Forget the points: the sweep was begun again, or one was removed."""
        self._created = created
        self._members = members
        self._keys = tuple(dict.fromkeys(key for _, one in members for key in one))
        self._metrics: tuple[str, ...] = ()
        self._rows: dict[tuple[Any, ...], _Row] = {}
        self._cells = _cells(self._keys, members)

    def look(self, store: Store, job: Job | None) -> Screen:
        """Return the screen of now.

        Args:
            store: The store.
            job: Its worker, where it was started here.

        Raises:
            StoreError: for a sweep that was never run into this store.
        """
        sweep = next((one for one in store.sweeps() if one.name == self.name), None)
        if sweep is None or sweep.created != self._created:
            self._begin("" if sweep is None else sweep.created, store.members(self.name))
        if sweep is None:
            raise StoreError(f"no sweep `{self.name}`")
        verb = VERBS.get(str(sweep.definition.get("run", "")))
        usual = [verb.metric, *verb.columns] if verb is not None else []
        self._metrics = (
            self._metrics or store.rows(where=[self._condition, "status=done"], limit=1).metrics
        )
        known = self._metrics
        metrics = tuple(dict.fromkeys([*(one for one in usual if one in known), *known]))
        view = _view(self._keys, self._members, self.asked, metrics or (*usual[:1], "waf"))
        metric = view.metric if view.metric in known else None
        self._read(
            store, metric, since=max((row.created for row in self._rows.values()), default="")
        )
        if len(self._rows) != sweep.done + sweep.failed:
            # Points were removed, or came with times of long ago.
            self._begin(sweep.created, self._members)
            self._metrics = known
            self._read(store, metric, since="")
        rows = list(self._rows.values())
        values = [mean.mean for cell in self._cells.values() if (mean := cell.mean) is not None]
        squares = _coloured(self._cells, self.name, view.metric, values)
        slices, cut = _slices(self._keys, self._members, view, squares)
        failures = [_failure(row, self._keys) for row in rows if row.error is not None]
        return Screen(
            sweep=sweep,
            view=view,
            keys=self._keys,
            metrics=metrics or (view.metric,),
            slices=slices,
            cut=cut,
            legend=(number(min(values)), number(max(values))) if values else None,
            failures=tuple(failures[:FAILURES_MAX]),
            progress=progress(sweep, len(self._members), rows, job),
            only=rows[0].key if len(self._members) == 1 and rows else None,
        )

    def _read(self, store: Store, metric: str | None, since: str) -> None:
        """Put points into their cells, those of a time and later."""
        where = [self._condition, *([f"created>={since}"] if since else [])]
        for row in _rows(store, where, self._keys, metric):
            place = tuple(map(_kind, row.coordinates))
            if self._rows.get((row.key, place)) == row or place not in self._cells:
                continue
            self._rows[row.key, place] = row
            self._cells[place].put(row)


def _rows(
    store: Store, where: Sequence[str], keys: Sequence[str], metric: str | None
) -> list[_Row]:
    """Return the points that are there."""
    columns = ["key", "seed", "error", "created", *([metric] if metric else [])]
    try:
        found = store.rows(where=where, columns=[*columns, *keys])
    except StoreError:
        # No point is there yet, so the store does not know the names of what is varied.
        found = store.rows(where=where, columns=["key", "seed", "error", "created"])
    return [
        _Row(
            str(row["key"]),
            tuple(row.get(key) for key in keys),
            "" if row["seed"] is None else str(row["seed"]),
            value if isinstance(value := row.get(metric or ""), float) else None,
            None if row["error"] is None else str(row["error"]),
            str(row["created"]),
        )
        for row in found
    ]


def _view(
    keys: Sequence[str],
    members: Sequence[Member],
    asked: Mapping[str, str],
    metrics: Sequence[str],
) -> View:
    """Return what is shown where not all of it was chosen: the longest key goes along."""
    counts = {key: len({_kind(one.get(key)) for _, one in members}) for key in keys}
    numeric = {
        key: counts[key] if all(is_number(one.get(key)) for _, one in members) else 0
        for key in keys
    }
    metric = asked.get("metric", "")
    x = asked.get("x", "")
    y = asked.get("y", "")
    if x not in keys:
        free = [key for key in keys if key != y] or list(keys)
        x = max(free, key=lambda key: (numeric[key] > 1, counts[key]), default="")
    if y not in keys or y == x:
        free = [key for key in keys if key != x]
        y = max(free, key=lambda key: counts[key], default="")
    return View(metric if metric in metrics else metrics[0], x or None, y or None)


@dataclass
class _Cell:
    """A combination, as far as it is there."""

    id: str
    pairs: tuple[tuple[str, Scalar], ...]
    total: int = 0
    rows: dict[str, _Row] = field(default_factory=dict)
    _mean: Mean | None = None
    _is_old: bool = False

    def put(self, row: _Row) -> None:
        """Take a point, in place of one that failed before."""
        self.rows[row.key] = row
        self._is_old = True

    @property
    def failed(self) -> int:
        return sum(row.error is not None for row in self.rows.values())

    @property
    def mean(self) -> Mean | None:
        if self._is_old:
            values = [row.value for row in self.rows.values() if row.value is not None]
            self._mean, self._is_old = Mean.of(values) if values else None, False
        return self._mean


def _cells(keys: Sequence[str], members: Sequence[Member]) -> dict[tuple[Any, ...], _Cell]:
    """Return all combinations by their values, empty."""
    found: dict[tuple[Any, ...], _Cell] = {}
    for _, coordinates in members:
        values = tuple(coordinates.get(key) for key in keys)
        place = tuple(map(_kind, values))
        if place not in found:
            pairs = ((key, one) for key, one in zip(keys, values, strict=True) if one is not None)
            found[place] = _Cell(f"m{len(found)}", tuple(pairs))
        found[place].total += 1
    return found


def _coloured(
    cells: Mapping[tuple[Any, ...], _Cell], sweep: str, metric: str, values: Sequence[float]
) -> dict[tuple[Any, ...], Square]:
    """Return the cells of the map, coloured between the least and the greatest mean."""
    low, high = (min(values), max(values)) if values else (0.0, 0.0)
    is_log = low > 0 and high > WIDE * low
    short = shortened([key for cell in cells.values() for key, _ in cell.pairs])
    found = {}
    for place, cell in cells.items():
        mean, there, failed = cell.mean, len(cell.rows), cell.failed
        state = "waiting" if not there else "done" if there == cell.total else "part"
        if failed:
            state = "failed"
        counts = f"{there} of {cell.total} points"
        if failed:
            counts += f", {failed} failed"
        said = f"{metric} {told(mean)}, " if mean is not None else ""
        if mean is not None:
            text = _brief(mean.mean)
        else:
            text = "✕" if failed else "·" if not there else "–"
        colour = None if mean is None else level(mean.mean, low, high, is_log=is_log)
        words = ", ".join(f"{short[key]} {shown(value)}" for key, value in cell.pairs)
        label = f"{words}: {said}{counts}" if words else f"{said}{counts}"
        found[place] = Square(cell.id, text, colour, state, label, sweep, cell.pairs)
    return found


def level(value: float, low: float, high: float, *, is_log: bool) -> int:
    """Return the colour of a value.

    >>> level(1.0, 1.0, 3.0, is_log=False), level(3.0, 1.0, 3.0, is_log=False)
    (0, 9)
    """
    if high <= low:
        return LEVELS // 2
    share = math.log(value / low) / math.log(high / low) if is_log else (value - low) / (high - low)
    return min(LEVELS - 1, int(share * LEVELS))


def _brief(value: float) -> str:
    """Return a number in few letters; all have three digits but whole numbers.

    >>> _brief(8.3164), _brief(1.9973), _brief(3.0), _brief(123456.0), _brief(1.5e-9)
    ('8.32', '2.00', '3', '123k', '1.50e-09')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size <= abs(value) < 1e12:
            return f"{value / (1e3 if letter == 'k' else size):.3g}{letter}"
    if abs(value) >= 1000 or value.is_integer():
        return f"{value:.3g}" if abs(value) >= 1e12 else f"{value:.0f}"
    return f"{value:#.3g}".rstrip(".")


def _slices(
    keys: Sequence[str],
    members: Sequence[Member],
    view: View,
    squares: Mapping[tuple[Any, ...], Square],
) -> tuple[tuple[Slice, ...], str]:
    """Return the tables of the map, and what of it is left out."""
    rest = [key for key in keys if key not in {view.x, view.y}]
    order: dict[tuple[Any, ...], None] = {}
    columns: dict[Any, str] = {}
    rows: dict[Any, str] = {}
    for _, one in members:
        order[tuple(_kind(one.get(key)) for key in rest)] = None
        columns[_kind(one.get(view.x or ""))] = _said(one.get(view.x or ""))
        rows[_kind(one.get(view.y or ""))] = _said(one.get(view.y or ""))
    short = shortened(keys)
    shown_columns, shown_rows = list(columns)[:COLUMNS_MAX], list(rows)[:ROWS_MAX]
    found = []
    for values in list(order)[:SLICES_MAX]:
        fixed: dict[str | None, Any] = dict(zip(rest, values, strict=True))
        table = []
        for row in shown_rows:
            cells = []
            for column in shown_columns:
                at = {**fixed, view.x: column, view.y: row}
                square = squares.get(tuple(at[key] for key in keys))
                cells.append(square or Square("", "", None, "none", "not in this sweep"))
            table.append((rows[row], tuple(cells)))
        title = ", ".join(
            f"{short[key]} {_said(value[1])}" for key, value in zip(rest, values, strict=True)
        )
        found.append(Slice(title, tuple(columns[one] for one in shown_columns), tuple(table)))
    parts = [
        f"{least} of {len(all_)} {what}"
        for what, all_, least in (
            ("columns", columns, COLUMNS_MAX),
            ("rows", rows, ROWS_MAX),
            ("tables", order, SLICES_MAX),
        )
        if len(all_) > least
    ]
    return tuple(found), f"shown: {', '.join(parts)}" if parts else ""


def _failure(row: _Row, keys: Sequence[str]) -> Failure:
    short = shortened(keys)
    pairs = zip(keys, row.coordinates, strict=True)
    where = ", ".join(f"{short[key]} {shown(one)}" for key, one in pairs if one is not None)
    return Failure(row.key, where, row.seed, row.error or "")


def progress(sweep: KeptSweep, members: int, rows: Sequence[_Row], job: Job | None) -> Progress:
    """Return how far a sweep is, by its worker, or by what is there."""
    failed = sum(row.error is not None for row in rows)
    done, total = len(rows), members
    if job is not None and job.is_active:
        said = job.progress
        total = max(total, int(said.get("total") or 0))
        if job.state == "queued":
            return Progress("queued", done, failed, total, "waits for the sweep before it", "")
        done = max(done, min(int(said.get("done") or 0), total))
        running = [share for share in said.get("running") or [] if share is not None]
        parts = [counted(done, total)]
        if total - done <= len(running) and running:
            parts.append(f"{100 * sum(running) / len(running):.0f} % of what runs")
        if said.get("eta_s") is not None:
            parts.append(f"{span(said['eta_s'])} left")
        return Progress("running", done, failed, total, " · ".join(parts), "")
    if done >= total:
        state = "failed" if failed == total and total else "done"
        return Progress(state, done, failed, total, f"{counted(done, total)} · finished", "")
    if job is not None:
        note = job.message or "The same sweep goes on where it was."
        return Progress(
            "failed" if job.state == "failed" else "stopped", done, failed, total,
            f"{counted(done, total)} · {job.state}", note,
        )  # fmt: skip
    return _outside(sweep, done, failed, total, rows)


def elsewhere(store: Store, sweep: KeptSweep) -> Progress:
    """Return the progress of a sweep that was not started here, by the ages of its points."""
    columns = ["key", "seed", "error", "created"]
    found = store.rows(where=[equals("sweep", sweep.name)], columns=columns)
    rows = [
        _Row(str(row["key"]), (), "", None, None if row["error"] is None else str(row["error"]),
             str(row["created"]))
        for row in found
    ]  # fmt: skip
    return progress(sweep, sweep.points, rows, None)


def _outside(
    sweep: KeptSweep, done: int, failed: int, total: int, rows: Sequence[_Row]
) -> Progress:
    """Return how far a sweep of another process is, by the ages of its points."""
    now = dt.datetime.now(dt.timezone.utc)
    began = _time(sweep.created)
    fresh = [made for row in rows if (made := _time(row.created)) and began and made >= began]
    elapsed = (now - began).total_seconds() if began else 0.0
    quiet = (now - max(fresh)).total_seconds() if fresh else elapsed
    each = (elapsed - quiet) / len(fresh) if fresh and began else 0.0
    text = counted(done, total)
    if quiet > max(QUIET_S, QUIET_POINTS * (each if fresh else FIRST_S)):
        note = f"No new point for {span(quiet)}: it may have been stopped, and can go on."
        return Progress("quiet", done, failed, total, f"{text} · incomplete", note)
    if fresh and elapsed > 1.0:
        text += f" · about {span(each * (total - done))} left"
    note = "Another process runs it: stop it there."
    return Progress("outside", done, failed, total, text, note)


def counted(done: int, total: int) -> str:
    """Return how many points are there; a share is never rounded up to all of them."""
    share = 100 if done >= total else int(100 * done / max(1, total))
    return f"{number(done)} of {number(total)} points · {share} %"


def _time(text: str) -> dt.datetime | None:
    try:
        found = dt.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=dt.timezone.utc)


def _kind(value: Scalar) -> tuple[str, Scalar]:
    """Return a value that is unlike one of another type: 1 is not true."""
    return ("bool" if isinstance(value, bool) else "", value)


def _said(value: Any) -> str:  # noqa: ANN401 (a value of a key)
    return shown(value)
