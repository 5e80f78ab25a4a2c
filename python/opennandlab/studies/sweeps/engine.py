"""Where points run: in threads of this process, or on the workers of a Dask cluster.

    submit(point) ──► slot ──► run_point ──► wait(): Done     document and numbers, or an error
                                   │
    close(): what runs is thrown away, what is done was handed out

Engines run a point at least once; the store makes it once in effect. A simulation gives up the
interpreter's lock while it runs, so threads use all cores.
"""

from __future__ import annotations

import socket
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from opennandlab import _core
from opennandlab.base.campaign import Pool, Stopped, Task, Watcher
from opennandlab.base.errors import CodeError, OpenNandLabError
from opennandlab.base.threads import cores, set_threads
from opennandlab.core.memory import available_bytes
from opennandlab.documents.record import JsonObject
from opennandlab.store.unfinished import Unfinished
from opennandlab.studies.sweeps.point import Point
from opennandlab.studies.sweeps.verbs import VERBS

# Memory that is left to the rest of the machine.
SPARE_MEMORY_SHARE = 0.1
# How long a thread may keep the interpreter from another that comes back from its simulation: of
# 7 ms that a short point takes, 1 is Python's.
SWITCH_S = 0.00005
# Short points are taken together: waking up for each of them would stop the others each time.
GATHER_S = 0.02
# How long a point may take to end when it is told to, before code of the user's own is interrupted.
GRACE_S = 0.5
# How long a point is tried before its time is estimated from the part that is done.
PILOT_S = 10.0


class EngineError(OpenNandLabError):
    """An engine that cannot continue, such as a scheduler that is away; what is done is kept."""


@dataclass(frozen=True)
class Done:
    """What became of a point.

    Args:
        key: Key of the point.
        document: What it gave; None where it failed.
        metrics: The numbers of the document by name.
        error: Why it failed; None where it did not.
        wall_s: How long it took.
        host: The machine that ran it.
        program: Version of the program that ran it.
        is_refused: Nobody allowed the code that it names, or it is not the code that was recorded.
    """

    key: str
    document: JsonObject | None
    metrics: Mapping[str, float]
    error: str | None
    wall_s: float
    host: str
    program: str
    is_refused: bool = False


class Engine(ABC):
    """Runs points, several at a time."""

    # How many at a time.
    slots: int
    # Points that are there for each slot, those that run among them.
    ahead: int = 2

    @abstractmethod
    def submit(self, point: Point) -> None:
        """Take a point; it runs as soon as there is a slot."""

    @abstractmethod
    def wait(self, timeout_s: float) -> list[Done]:
        """Return the points that ended since, after a while none.

        Raises:
            EngineError: when nothing more will end.
        """

    @abstractmethod
    def running(self) -> Mapping[str, float | None]:
        """Return what share is done of each running point, by key; None if that is not known."""

    @abstractmethod
    def close(self) -> None:
        """Throw away what runs; returns as soon as nothing does."""


def run_point(  # noqa: PLR0913 (a point in parts, as it is sent to workers)
    verb: str,
    key: str,
    settings: JsonObject,
    seed: int | None,
    watch: Watcher,
    *,
    unfinished: Unfinished | None = None,
) -> Done:
    """Run one point; whatever goes wrong with it is its result.

    Args:
        verb: What is run.
        key: Key of the point.
        settings: Settings of the point.
        seed: Seed of the point.
        watch: Called with the progress.
        unfinished: Where verbs that can go on leave what they have; None for nowhere.

    Raises:
        Stopped: as soon as `watch` raises it.
    """
    began = time.perf_counter()
    document: JsonObject | None = None
    metrics: dict[str, float] = {}
    error: str | None = None
    is_refused = False
    try:
        chosen = VERBS[verb]
        if unfinished is not None and chosen.is_resumable:
            with unfinished.held(key) as place:
                document = chosen.run(settings, seed, watch, place)
        else:
            document = chosen.run(settings, seed, watch)
        metrics = chosen.metrics(document)
    except KeyboardInterrupt as end:  # what verbs make of `Stopped`
        raise Stopped from end
    except OpenNandLabError as problem:
        document, error, is_refused = None, str(problem), isinstance(problem, CodeError)
    except MemoryError:
        document, error = None, "out of memory"
    except Exception as problem:  # noqa: BLE001 (one bad point must not end the others)
        document, error = None, f"{type(problem).__name__}: {problem}"
    wall_s = time.perf_counter() - began
    host = socket.gethostname()
    return Done(key, document, metrics, error, wall_s, host, _core.version(), is_refused)


def slots_for(need_bytes: int, jobs: int | None) -> int:
    """Return how many points can run at a time.

    Args:
        need_bytes: What each of them takes of the memory, bytes; 0 where it is nothing to speak of.
        jobs: What the user asked for; None for all cores.
    """
    wanted, free = jobs or cores(), _spare_bytes()
    return max(1, min(wanted, free // need_bytes)) if need_bytes and free is not None else wanted


def _spare_bytes() -> int | None:
    """Return what points may take of the memory; None if it is unknown."""
    free = available_bytes()
    return None if free is None else int(free * (1.0 - SPARE_MEMORY_SHARE))


class Threads(Engine):
    """Threads of this process."""

    ahead = 8

    def __init__(self, slots: int, unfinished: Unfinished | None = None) -> None:
        """Start none yet; each is started when it is needed.

        Args:
            slots: Points at a time. With more than one, each drive takes one thread for itself.
            unfinished: Where verbs that can go on leave what they have; None for nowhere.
        """
        self.slots = slots
        self._unfinished = unfinished
        self._pool: Pool[str, Done] = Pool(slots, _spare_bytes())
        self._interval_s = sys.getswitchinterval()
        if slots > 1:
            sys.setswitchinterval(SWITCH_S)
        set_threads(1 if slots > 1 else None)

    def submit(self, point: Point) -> None:
        """Take a point."""
        parts = (point.verb, point.key, point.settings, point.seed)
        run = partial(run_point, *parts, unfinished=self._unfinished)
        self._pool.submit(Task(point.key, run, _need_bytes(point)))

    def wait(self, timeout_s: float) -> list[Done]:
        """Return the points that ended since."""
        found = self._pool.wait(timeout_s)
        if found:
            time.sleep(GATHER_S)
            found += self._pool.wait(0)
        return [ended.result() for ended in found]

    def running(self) -> Mapping[str, float | None]:
        """Return what share is done of each running point."""
        return self._pool.running()

    def close(self) -> None:
        """Stop what runs: within a slice of a simulation, a fiftieth of a second."""
        self._pool.close(GRACE_S)
        sys.setswitchinterval(self._interval_s)
        set_threads(None)


def _need_bytes(point: Point) -> int:
    """Return the memory of a point; one whose drive cannot be states this when it runs."""
    try:
        return memory_bytes([point])
    except OpenNandLabError:
        return 0


def memory_bytes(points: Sequence[Point]) -> int:
    """Return the memory of the largest of some points."""
    return max((VERBS[point.verb].memory_bytes(point.settings) for point in points), default=0)


@dataclass(frozen=True)
class Cost:
    """What points of one kind take: those without code of the user's own, or those of a policy.

    Args:
        of: The policy; empty for those without.
        count: How many there are.
        first_s: What the first of them takes; None where nothing can be told.
    """

    of: str
    count: int
    first_s: float | None


def costs(points: Sequence[Point]) -> list[Cost]:
    """Return what points take, by the first of each kind: it runs and is thrown away.

    Policies in Python are slower than what they stand next to, by a factor that only they know.
    """
    kinds: dict[str, list[Point]] = {}
    for point in points:
        kinds.setdefault(_policy(point), []).append(point)
    return [Cost(name, len(found), pilot_s(found)) for name, found in kinds.items()]


def _policy(point: Point) -> str:
    """Return the name of a policy of the user's own; empty for a built-in one."""
    ftl = point.settings.get("device", {}).get("ftl", {})
    policy = ftl.get("gc_policy", {})
    return str(policy.get("name", "")) if isinstance(policy, Mapping) else ""


def pilot_s(points: Sequence[Point], limit_s: float = PILOT_S) -> float | None:
    """Return how long the first of some points takes, as far as can be told within a limit.

    It runs and is thrown away. None where there is no point, or nothing can be told.
    """
    if not points:
        return None
    engine = Threads(1)
    began = time.perf_counter()
    try:
        engine.submit(points[0])
        while not engine.wait(0.05):
            elapsed_s = time.perf_counter() - began
            share = engine.running().get(points[0].key)
            if elapsed_s > limit_s:
                return elapsed_s / share if share else None
        return time.perf_counter() - began
    finally:
        engine.close()
