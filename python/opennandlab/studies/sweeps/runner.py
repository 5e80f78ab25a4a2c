"""Runs a sweep: what the store knows is not run again, what is new is kept as soon as it is there.

    cells x seeds ──► keys ──► Store.known ──► engine ──► Store.add, in small batches
                        ▲                                   │
                        └──── more seeds, where the rule of `seeds` wants them

Only this process writes the store. Ctrl-C throws away what runs and keeps the rest; the same sweep
goes on from there.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Protocol

from opennandlab import _core
from opennandlab.base import logs
from opennandlab.base.errors import InternalError
from opennandlab.documents.record import JsonObject
from opennandlab.store import Entry, Outcome
from opennandlab.studies.sweeps.definition import Cell, Sweep
from opennandlab.studies.sweeps.engine import Done, Engine, EngineError
from opennandlab.studies.sweeps.point import Point, Scalar

# Finished points are written when so many wait, or the first of them so long.
BATCH, BATCH_S = 64, 0.5
POLL_S = 0.1


class Keeper(Protocol):
    """What a sweep needs of a store."""

    def add(self, entries: Sequence[Entry]) -> object:
        """Keep finished points."""

    def note_sweep(
        self, name: str, definition: JsonObject, members: Sequence[tuple[str, Mapping[str, Scalar]]]
    ) -> None:
        """Keep which points a sweep has."""

    def outcomes(self, keys: Iterable[str]) -> Mapping[str, Outcome]:
        """Return numbers and errors of points that are there."""

    def entry(self, key: str) -> Entry:
        """Return a point that is there, whole."""


class NoStore:
    """A store that does not exist, for a sweep whose cost alone is asked for."""

    def add(self, entries: Sequence[Entry]) -> object:
        """Refuse points."""
        raise InternalError(f"{len(entries)} points of a sweep that stores nothing")

    def note_sweep(
        self, name: str, definition: JsonObject, members: Sequence[tuple[str, Mapping[str, Scalar]]]
    ) -> None:
        """Refuse a sweep."""
        reason = f"`{name}`, {len(members)} points of {list(definition)}, is not to be stored"
        raise InternalError(reason)

    def outcomes(self, keys: Iterable[str]) -> Mapping[str, Outcome]:
        """Return that no point is there."""
        del keys
        return {}

    def entry(self, key: str) -> Entry:
        """Refuse, since no point is there."""
        raise KeyError(key)


@dataclass(frozen=True)
class Progress:
    """How far a sweep is.

    Args:
        done: Points that are there, those that were known among them.
        known: Those that were there before.
        failed: Those that failed, among the done.
        total: All, as far as is known: a rule for seeds may want more.
        running: Share that is done of each running point.
        elapsed_s: Since the sweep began.
        failed_known: Points that had failed before, among the known.
    """

    done: int
    known: int
    failed: int
    total: int
    running: Sequence[float | None]
    elapsed_s: float
    failed_known: int = 0

    @property
    def eta_s(self) -> float | None:
        """Seconds that are left at the speed so far; None before anything is known.

        Points that failed say nothing of how long the others take.
        """
        running = sum(share or 0.0 for share in self.running)
        made = self.done - self.known - (self.failed - self.failed_known) + running
        if made <= 0 or self.elapsed_s < 1.0:
            return None
        return max(0.0, self.elapsed_s / made * (self.total - self.done - running))


@dataclass(frozen=True)
class Row:
    """A point of a sweep, as a table shows it."""

    key: str
    coordinates: Mapping[str, Scalar]
    seed: int | None
    metrics: Mapping[str, float]
    error: str | None
    was_known: bool


@dataclass
class _State:
    """A cell, and what is there of it."""

    cell: Cell
    points: list[Point] = field(default_factory=list)
    rows: dict[str, Row] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        return len(self.rows) == len(self.points)

    @property
    def values(self) -> list[Mapping[str, float]]:
        return [self.rows[point.key].metrics for point in self.points if point.key in self.rows]

    @property
    def has_failed(self) -> bool:
        return any(row.error is not None for row in self.rows.values())


class Run:
    """One run of a sweep.

    Args:
        sweep: What is wanted.
        store: Where points are kept.
        watch: Called with the progress, several times a second.
        retry: Whether points that failed before are run again.
    """

    def __init__(
        self,
        sweep: Sweep,
        store: Keeper,
        *,
        watch: Callable[[Progress], None] | None = None,
        retry: bool = False,
    ) -> None:
        """Resolve all points and look up which are known; nothing runs.

        Raises:
            ConfigError: for a sweep without one point that can be run.
        """
        self.sweep = sweep
        self._store = store
        self._watch = watch
        self._retry = retry
        self._states = [_State(cell) for cell in sweep.cells]
        self._of_key: dict[str, list[_State]] = {}
        self._waiting: deque[Point] = deque()
        self._fresh: list[Entry] = []
        self._fresh_since = 0.0
        self._done_count = self._known_count = self._failed_count = self._failed_known_count = 0
        self._began = time.monotonic()
        self._extend(self._states)

    @property
    def missing(self) -> list[Point]:
        """The points that have to be run, as far as is known now."""
        return list(self._waiting)

    @property
    def known_count(self) -> int:
        """How many points were there before."""
        return self._known_count

    @property
    def count(self) -> int:
        """How many points there are, as far as is known now."""
        return len(self._of_key)

    @property
    def rows(self) -> list[Row]:
        """All points that are there, in the order of the sweep."""
        return [
            state.rows[point.key]
            for state in self._states
            for point in state.points
            if point.key in state.rows
        ]

    def _note_members(self) -> None:
        """Let the store know which points this sweep has, and what was varied in each."""
        members = [
            (point.key, state.cell.coordinates) for state in self._states for point in state.points
        ]
        self._store.note_sweep(self.sweep.name, self.sweep.document, members)

    def to_the_end(self, engine: Engine) -> list[Row]:
        """Run what is missing, and return all rows.

        Raises:
            EngineError: when the engine cannot continue; what is done is kept.
            KeyboardInterrupt: on Ctrl-C, when what is done is kept.
        """
        running = 0
        try:
            self._note_members()  # for those who look while it runs, or after it was killed
            while self._waiting or running:
                while self._waiting and running < engine.slots * engine.ahead:
                    engine.submit(self._waiting.popleft())
                    running += 1
                found = engine.wait(POLL_S)
                running -= len(found)
                for done in found:
                    self._take(done)
                self._keep(is_last=not (self._waiting or running))
                self._tell(engine)
        finally:
            engine.close()
            self._keep(is_last=True)
            self._note_members()
        return self.rows

    def _take(self, done: Done) -> None:
        if done.program != _core.version():
            raise EngineError(
                f"{done.host} runs version {done.program} of the program, this is version "
                f"{_core.version()}; accepted: the same on all machines"
            )
        states = self._of_key[done.key]
        point = next(point for point in states[0].points if point.key == done.key)
        self._fresh_since = self._fresh_since or time.monotonic()
        self._fresh.append(_entry(self.sweep, point, done))
        said = "done" if done.error is None else f"failed: {done.error}"
        where = ", ".join(f"{key} = {value}" for key, value in point.coordinates.items())
        logs.info("sweep", f"{where}, seed {point.seed}: {said}", key=point.key, seed=point.seed)
        self._fill(point, done.metrics, done.error, was_known=False)
        self._extend([state for state in states if state.is_whole and not state.has_failed])

    def _extend(self, states: Sequence[_State]) -> None:
        """Add the seeds that cells still need; those that are known need no run."""
        while states:
            added = {id(state): self._next_points(state) for state in states}
            points = [point for found in added.values() for point in found]
            found = self._store.outcomes({point.key for point in points}) if points else {}
            for state in states:
                for point in added[id(state)]:
                    self._place(state, point, found.get(point.key))
            states = [
                state
                for state in states
                if added[id(state)] and state.is_whole and not state.has_failed
            ]

    def _next_points(self, state: _State) -> list[Point]:
        if state.cell.settings is None:
            return [] if state.points else [self._impossible(state)]
        wanted = self.sweep.seeds.wanted(state.values) if self.sweep.seeds.is_random else 1
        return [self.sweep.point(state.cell, at) for at in range(len(state.points), wanted)]

    def _impossible(self, state: _State) -> Point:
        """Return a point that stands for a combination that is invalid."""
        settings = {"request": dict(self.sweep.request), "changes": dict(self.sweep.changes)}
        settings["coordinates"] = dict(state.cell.coordinates)
        return Point(self.sweep.verb.name, settings, None, state.cell.coordinates)

    def _place(self, state: _State, point: Point, known: Outcome | None) -> None:
        state.points.append(point)
        twins = self._of_key.setdefault(point.key, [])
        twins.append(state)
        if len(twins) > 1:
            if point.key in twins[0].rows:
                state.rows[point.key] = twins[0].rows[point.key]
        elif known is not None and (known.error is None or not self._retry):
            self._known_count += 1
            self._fill(point, known.metrics, known.error, was_known=True)
        elif state.cell.problem is not None:
            done = Done(point.key, None, {}, state.cell.problem, 0.0, "", _core.version())
            self._fill(point, {}, done.error, was_known=False)
            self._fresh.append(_entry(self.sweep, point, done))
        else:
            self._waiting.append(point)

    def _fill(
        self, point: Point, metrics: Mapping[str, float], error: str | None, *, was_known: bool
    ) -> None:
        """Put what became of a point into all cells that have it."""
        self._done_count += 1
        self._failed_count += error is not None
        self._failed_known_count += was_known and error is not None
        for state in self._of_key[point.key]:
            state.rows[point.key] = Row(
                point.key, state.cell.coordinates, point.seed, metrics, error, was_known=was_known
            )

    def _keep(self, *, is_last: bool) -> None:
        is_due = len(self._fresh) >= BATCH or time.monotonic() - self._fresh_since > BATCH_S
        if self._fresh and (is_due or is_last):
            entries, self._fresh, self._fresh_since = self._fresh, [], 0.0
            self._store.add(entries)

    def _tell(self, engine: Engine) -> None:
        if self._watch is None:
            return
        running = list(engine.running().values())
        elapsed_s = time.monotonic() - self._began
        counts = (self._done_count, self._known_count, self._failed_count, self.count)
        self._watch(Progress(*counts, running, elapsed_s, self._failed_known_count))


def _entry(sweep: Sweep, point: Point, done: Done) -> Entry:
    return Entry(
        key=point.key,
        verb=point.verb,
        seed=point.seed,
        settings=point.settings,
        coordinates=point.coordinates,
        metrics=done.metrics,
        document=done.document,
        error=done.error,
        wall_s=done.wall_s,
        program=done.program,
        model_version=_core.model_version(),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        host=done.host,
        sweep=sweep.name,
    )
