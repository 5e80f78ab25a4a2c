"""Runs the tasks of a campaign on threads: points of a sweep, lives of a drive, frames of a code.

    submit(task) ──► slot and memory ──► task.run(watch) ──► wait(): Ended, a value or an error
                                              │
    stop(): waiting tasks never run, running ones must end;  close(): waits for these

The core gives up the interpreter's lock while it simulates, so threads use all cores. A result is
placed by the key of its task, so nothing depends on which task ends first.

Every wait has a limit: Python looks for signals between instructions and when a signal ends a wait
of its main thread. A signal that comes as the wait begins, or that another thread takes, ends no
wait, and Ctrl-C would have no effect until the work is done.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar, cast

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
# Takes the share that is done, None if it is not known; raises `Stopped` to end the run.
Watcher = Callable[[float | None], None]

# The longest wait without a look for Ctrl-C.
LOOK_S = 0.1
# How often `close` looks whether all has ended.
CLOSE_LOOK_S = 0.005


class Stopped(KeyboardInterrupt):
    """Ends a run in the middle, as Ctrl-C does."""


@dataclass(frozen=True)
class Task(Generic[K, T]):
    """One thing to run.

    Args:
        key: Differs from the keys of the other tasks of a pool.
        run: Runs the task. Its argument raises `Stopped` as soon as the pool is stopped.
        need_bytes: Memory of the task; 0 for little.
    """

    key: K
    run: Callable[[Watcher], T]
    need_bytes: int = 0


@dataclass(frozen=True)
class Ended(Generic[K, T]):
    """A task that has ended.

    Args:
        key: Key of the task.
        value: Result of the task.
        error: Exception that ended the task; None if it has a result.
    """

    key: K
    value: T | None = None
    error: BaseException | None = None

    def result(self) -> T:
        """Return the result of the task, or raise its exception."""
        if self.error is not None:
            raise self.error
        return cast("T", self.value)


class Memory:
    """The memory of the tasks that run at the same time.

    Args:
        bytes_max: Memory of all of them together, bytes; None for no limit.
    """

    def __init__(self, bytes_max: int | None) -> None:
        """Begin with all memory free."""
        self._free: float = math.inf if bytes_max is None else bytes_max
        self._users = 0
        self._is_over = False
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def taken(self, need: int) -> Iterator[None]:
        """Wait until there is room for a task; a task that needs more than the limit runs alone.

        Raises:
            Stopped: when `end` was called meanwhile.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or not self._users or need <= self._free)
            if self._is_over:
                raise Stopped
            self._free, self._users = self._free - need, self._users + 1
        try:
            yield
        finally:
            with self._changed:
                self._free, self._users = self._free + need, self._users - 1
                self._changed.notify_all()

    def end(self) -> None:
        """Let no task wait any longer."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()


class Pool(Generic[K, T]):
    """Threads that run tasks.

    Args:
        slots: Tasks at a time.
        memory_bytes: Memory of the running tasks together; None for no limit.

    >>> pool = Pool(2)
    >>> tasks = (Task(base, lambda _, base=base: base**2) for base in (3, 4, 5))
    >>> [ended.result() for ended in pool.in_order(tasks)]
    [9, 16, 25]
    >>> pool.close()
    """

    def __init__(self, slots: int, memory_bytes: int | None = None) -> None:
        """Start no thread yet; each starts when it is needed."""
        self.slots = slots
        self._memory = Memory(memory_bytes)
        self._pool = ThreadPoolExecutor(slots, thread_name_prefix="task")
        self._ended: queue.SimpleQueue[Ended[K, T]] = queue.SimpleQueue()
        self._keys: set[K] = set()
        self._shares: dict[K, float | None] = {}
        self._threads: dict[K, int] = {}
        self._is_over = threading.Event()

    def submit(self, task: Task[K, T]) -> None:
        """Add a task, which runs as soon as a slot and its memory are free.

        Raises:
            ValueError: for a second task with the same key.
        """
        if task.key in self._keys:
            message = f"two tasks have the key {task.key!r}"
            raise ValueError(message)
        self._keys.add(task.key)
        self._pool.submit(self._run, task)

    def wait(self, timeout_s: float = LOOK_S) -> list[Ended[K, T]]:
        """Return the tasks that ended since the last call, in order; none after the timeout."""
        found = []
        with contextlib.suppress(queue.Empty):
            found.append(self._ended.get(timeout=timeout_s))
            while True:
                found.append(self._ended.get_nowait())
        return found

    def in_order(self, tasks: Iterable[Task[K, T]], ahead: int = 0) -> Iterator[Ended[K, T]]:
        """Run tasks, and yield them in the order given, each when it and all before have ended.

        Args:
            tasks: Taken when they are about to run. The pool has no others meanwhile.
            ahead: Tasks that may have begun before their turn, in addition to one for each slot.
        """
        left = iter(tasks)
        order: deque[K] = deque()
        ended_by_key: dict[K, Ended[K, T]] = {}
        while True:
            for task in islice(left, self.slots + ahead - len(order)):
                self.submit(task)
                order.append(task.key)
            if not order:
                return
            while order[0] not in ended_by_key:
                ended_by_key |= {ended.key: ended for ended in self.wait()}
            yield ended_by_key.pop(order.popleft())

    def running(self) -> Mapping[K, float | None]:
        """Return what share is done of each running task, by key; None if that is not known."""
        return dict(self._shares)

    def stop(self) -> None:
        """Begin no more tasks, and end the running ones, without waiting for them."""
        self._is_over.set()
        self._memory.end()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def close(self, grace_s: float | None = None) -> None:
        """Stop, and wait until nothing runs.

        Args:
            grace_s: How long a task may take to end before it is interrupted; None for no limit.
        """
        self.stop()
        stopped_at = time.monotonic()
        while self._threads:
            time.sleep(CLOSE_LOOK_S)
            if grace_s is not None and time.monotonic() > stopped_at + grace_s:
                _interrupt(list(self._threads.values()))
                stopped_at = time.monotonic()
        self._pool.shutdown(wait=True)

    def _run(self, task: Task[K, T]) -> None:
        def watch(share: float | None) -> None:
            if self._is_over.is_set():
                raise Stopped
            self._shares[task.key] = share

        self._threads[task.key] = threading.get_ident()
        try:
            with self._memory.taken(task.need_bytes):
                watch(None)
                ended = Ended(task.key, task.run(watch))
        except BaseException as error:  # noqa: BLE001 (raised again by `result`)
            ended = Ended(task.key, error=error)
        finally:
            self._threads.pop(task.key, None)
            self._shares.pop(task.key, None)
        if not self._is_over.is_set():
            self._ended.put(ended)


def _interrupt(threads: Sequence[int]) -> None:
    """Raise KeyboardInterrupt in threads: the user's code may be in an endless loop."""
    for thread in threads:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt)
        )
