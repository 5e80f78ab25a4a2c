"""Where points run: in threads of this process, or on the workers of a Dask cluster.

    submit(point) ──► slot ──► run_point ──► wait(): Done     document and numbers, or an error
                                   │
    close(): what is under way is thrown away, what is done was handed out

Engines run a point at least once; the store makes it once in effect. A simulation gives up the
interpreter's lock while it runs, so threads use all cores.
"""

from __future__ import annotations

import contextlib
import ctypes
import queue
import socket
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from opennandlab import _core
from opennandlab.base.errors import CodeError, OpenNandLabError
from opennandlab.base.threads import cores, set_threads
from opennandlab.core.memory import available_bytes
from opennandlab.documents.record import JsonObject
from opennandlab.store.unfinished import Unfinished
from opennandlab.studies.sweeps.point import Point
from opennandlab.studies.sweeps.verb import Stopped, Watcher
from opennandlab.studies.sweeps.verbs import VERBS

# Memory that is left to the rest of the machine.
SPARE_MEMORY_SHARE = 0.1
# How long a thread may keep the interpreter from another that comes back from its simulation: of
# 7 ms that a short point takes, 1 is Python's.
SWITCH_S = 0.00005
# Short points are taken together: whoever wakes up for each of them stops the others each time.
GATHER_S = 0.02
# How long a point may take to end when it is told to, before code of the user's own is interrupted.
GRACE_S = 0.5
# How long a point is tried before its time is estimated from the part that is done.
PILOT_S = 10.0


class EngineError(OpenNandLabError):
    """An engine that cannot go on, such as a scheduler that is away; what is done is kept."""


@dataclass(frozen=True)
class Done:
    """What became of a point.

    Args:
        key: Of the point.
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
    def under_way(self) -> Mapping[str, float | None]:
        """Return what share is done of each running point, by key; None where nobody knows."""

    @abstractmethod
    def close(self) -> None:
        """Throw away what is under way; returns as soon as it is."""


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
        key: Of the point.
        settings: Of the point.
        seed: Of the point.
        watch: Told how far it is.
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
    """Return what points may take of the memory; None where nobody knows what there is."""
    free = available_bytes()
    return None if free is None else int(free * (1.0 - SPARE_MEMORY_SHARE))


class Memory:
    """What points that run beside each other may take of the memory.

    Args:
        bytes_max: All together, bytes; None where nobody knows what there is.
    """

    def __init__(self, bytes_max: int | None) -> None:
        """Begin with all of it."""
        self._free = bytes_max
        self._users = 0
        self._is_over = False
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def taken(self, need: int) -> Iterator[None]:
        """Wait until there is room for a point; one that needs more than there is runs alone.

        Raises:
            Stopped: when `end` was called meanwhile.
        """
        if self._free is None:
            yield
            return
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or not self._users or need <= self._room)
            if self._is_over:
                raise Stopped
            self._free, self._users = self._room - need, self._users + 1
        try:
            yield
        finally:
            with self._changed:
                self._free, self._users = self._room + need, self._users - 1
                self._changed.notify_all()

    @property
    def _room(self) -> int:
        return self._free or 0

    def end(self) -> None:
        """Let nobody wait any longer."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()


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
        self._memory = Memory(_spare_bytes())
        self._pool = ThreadPoolExecutor(slots, thread_name_prefix="point")
        self._done: queue.SimpleQueue[Done] = queue.SimpleQueue()
        self._running: dict[str, float | None] = {}
        self._threads: dict[str, int] = {}
        self._is_over = threading.Event()
        self._interval_s = sys.getswitchinterval()
        if slots > 1:
            sys.setswitchinterval(SWITCH_S)
        set_threads(1 if slots > 1 else None)

    def submit(self, point: Point) -> None:
        """Take a point."""
        self._pool.submit(self._run, point)

    def wait(self, timeout_s: float) -> list[Done]:
        """Return the points that ended since."""
        try:
            found = [self._done.get(timeout=timeout_s)]
        except queue.Empty:
            return []
        time.sleep(GATHER_S)
        while not self._done.empty():
            found.append(self._done.get())
        return found

    def under_way(self) -> Mapping[str, float | None]:
        """Return what share is done of each running point."""
        return dict(self._running)

    def close(self) -> None:
        """Stop what runs: within a slice of a simulation, a fiftieth of a second."""
        self._is_over.set()
        self._memory.end()
        self._pool.shutdown(wait=False, cancel_futures=True)
        ends = time.monotonic() + GRACE_S
        while self._threads:
            time.sleep(0.005)
            if time.monotonic() > ends:
                _interrupt(list(self._threads.values()))
                ends = time.monotonic() + GRACE_S
        self._pool.shutdown(wait=True)
        sys.setswitchinterval(self._interval_s)
        set_threads(None)

    def _run(self, point: Point) -> None:
        def watch(share: float | None) -> None:
            if self._is_over.is_set():
                raise Stopped
            self._running[point.key] = share

        self._threads[point.key] = threading.get_ident()
        try:
            with self._memory.taken(_need_bytes(point)):
                watch(None)
                done = run_point(**payload(point), watch=watch, unfinished=self._unfinished)
            self._done.put(done)
        except Stopped:
            pass
        finally:
            self._threads.pop(point.key, None)
            self._running.pop(point.key, None)


def _interrupt(threads: Sequence[int]) -> None:
    """Press Ctrl-C in threads: a policy of the user's own may be in a loop without an end."""
    for thread in threads:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt)
        )


def payload(point: Point) -> dict[str, Any]:
    """Return what a worker elsewhere needs of a point."""
    return {
        "verb": point.verb, "key": point.key, "settings": point.settings, "seed": point.seed,
    }  # fmt: skip


def _need_bytes(point: Point) -> int:
    """Return the memory of a point; one whose drive cannot be says so when it runs."""
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

    Policies in Python are slower than what they stand beside, by a factor that only they know.
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
            share = engine.under_way().get(points[0].key)
            if elapsed_s > limit_s:
                return elapsed_s / share if share else None
        return time.perf_counter() - began
    finally:
        engine.close()
