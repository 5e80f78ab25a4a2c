"""Tasks on threads: each once, placed by key, within slots and memory, and Ctrl-C heard at once."""

from __future__ import annotations

import queue
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opennandlab.base.campaign import Ended, Memory, Pool, Stopped, Task, Watcher

MEMORY = 100
# What a task does, and what it needs of the memory: more than there is, too.
KINDS = ("value", "error", "stopped", "watched")
TASKS = st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from([0, 1, 40, 60, 250])))


class Seen:
    """Makes tasks, and holds their runs against the limits."""

    def __init__(self, slots: int, seed: int) -> None:
        self.slots = slots
        self.begun: Counter[int] = Counter()
        self._chance = random.Random(seed)  # noqa: S311 (a test)
        self._lock = threading.Lock()
        self._needs: list[int] = []
        self.is_closed = False
        self.faults: list[str] = []

    def task(self, key: int, kind: str, need: int) -> Task[int, int]:
        pause_s = self._chance.choice([0.0, 0.0, 0.0005, 0.002])

        def run(watch: Watcher) -> int:
            self._enter(key, need)
            try:
                time.sleep(pause_s)
                if kind == "error":
                    raise ValueError(key)
                if kind == "stopped":
                    raise KeyboardInterrupt
                if kind == "watched":
                    watch(0.5)
                return key * key
            finally:
                with self._lock:
                    self._needs.remove(need)

        return Task(key, run, need)

    def _enter(self, key: int, need: int) -> None:
        with self._lock:
            self.begun[key] += 1
            self._needs.append(need)
            if len(self._needs) > self.slots:
                self.faults.append(f"{len(self._needs)} tasks at a time")
            if sum(self._needs) > MEMORY and len(self._needs) > 1:
                self.faults.append(f"tasks of {self._needs} bytes at a time")
            if self.is_closed:
                self.faults.append(f"{key} began after the end")


def check(ended: Ended[int, int], kind: str) -> None:
    if kind == "error":
        with pytest.raises(ValueError, match=str(ended.key)):
            ended.result()
    elif kind == "stopped":
        with pytest.raises(KeyboardInterrupt):
            ended.result()
    else:
        assert ended.result() == ended.key**2


@given(TASKS, st.integers(1, 4), st.integers(0, 3), st.integers(0, 1 << 16))
@settings(max_examples=60, deadline=None)
def test_each_task_ends_once_and_is_had_in_the_order_given(
    kinds: list[tuple[str, int]], slots: int, ahead: int, seed: int
) -> None:
    seen, yielded = Seen(slots, seed), 0
    taken = 0

    def tasks() -> Iterator[Task[int, int]]:
        nonlocal taken
        for key, (kind, need) in enumerate(kinds):
            taken += 1
            assert taken - yielded <= slots + ahead
            yield seen.task(key, kind, need)

    with closing(Pool[int, int](slots, MEMORY)) as pool:
        for ended in pool.in_order(tasks(), ahead):
            assert ended.key == yielded
            check(ended, kinds[ended.key][0])
            yielded += 1
        assert pool.running() == {}
    assert yielded == len(kinds)
    assert seen.begun == Counter(range(len(kinds)))
    assert seen.faults == []


@given(TASKS, st.integers(1, 4), st.integers(0, 10), st.integers(0, 1 << 16))
@settings(max_examples=60, deadline=None)
def test_a_pool_that_is_closed_in_the_middle_has_doubled_nothing_and_begins_nothing(
    kinds: list[tuple[str, int]], slots: int, wanted: int, seed: int
) -> None:
    seen, pool = Seen(slots, seed), Pool[int, int](slots, MEMORY)
    found: list[int] = []
    for key, (kind, need) in enumerate(kinds):
        pool.submit(seen.task(key, kind, need))
    while len(found) < min(wanted, len(kinds)):
        for ended in pool.wait():
            check(ended, kinds[ended.key][0])
            found.append(ended.key)
    pool.close()
    seen.is_closed = True
    assert pool.running() == {}
    assert len(found) == len(set(found)) <= seen.begun.total()
    assert set(seen.begun.values()) <= {1}
    with pytest.raises(RuntimeError):
        pool.submit(seen.task(len(kinds), "value", 0))
    assert seen.faults == []


def test_tasks_are_had_as_they_end_with_what_they_raised() -> None:
    first_ended = threading.Event()

    def last(_: Watcher) -> int:
        assert first_ended.wait(30)
        return 1

    def first(_: Watcher) -> int:
        raise ValueError("as it is")

    with closing(Pool[str, int](2)) as pool:
        pool.submit(Task("last", last))
        pool.submit(Task("first", first))
        (ended,) = pool.wait(30)
        assert ended.key == "first"
        with pytest.raises(ValueError, match="as it is"):
            ended.result()
        first_ended.set()
        assert [(ended.key, ended.result()) for ended in pool.wait(30)] == [("last", 1)]
        assert pool.wait(0) == []


def by_wait(pool: Pool[int, bool], task: Task[int, bool]) -> None:
    pool.submit(task)
    while True:
        pool.wait()


def in_order(pool: Pool[int, bool], task: Task[int, bool]) -> None:
    for _ in pool.in_order([task]):
        pass


@pytest.mark.parametrize("run", [by_wait, in_order])
def test_an_interrupt_that_another_thread_takes_ends_the_wait(
    run: Callable[[Pool[int, bool], Task[int, bool]], None],
) -> None:
    over = threading.Event()

    def work(_: Watcher) -> bool:
        signal.raise_signal(signal.SIGINT)  # in this thread, which the main one does not see
        return over.wait(30)

    with closing(Pool[int, bool](1)) as pool:
        try:
            with pytest.raises(KeyboardInterrupt):
                run(pool, Task(0, work))
            assert list(pool.running()) == [0]
        finally:
            over.set()


@given(st.integers(1, 30), st.integers(1, 4), st.data())
@settings(max_examples=30, deadline=None)
def test_an_interrupt_leaves_the_first_results_whole(
    count: int, slots: int, data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, count - 1))
    found: list[int] = []

    def task(key: int) -> Task[int, int]:
        def run(_: Watcher) -> int:
            if key == cut:
                signal.raise_signal(signal.SIGINT)
            return key

        return Task(key, run)

    pool = Pool[int, int](slots)
    ended = pool.in_order(map(task, range(count)), ahead=slots)
    with pytest.raises(KeyboardInterrupt):
        found.extend(one.result() for one in ended)
    pool.close()
    assert found == list(range(len(found)))
    assert len(found) <= cut + 1
    assert pool.running() == {}


def test_what_runs_hears_of_the_end_and_what_does_not_listen_is_interrupted() -> None:
    began = queue.SimpleQueue[str]()
    ends: dict[str, type[BaseException]] = {}

    def listening(watch: Watcher) -> None:
        began.put("listening")
        try:
            while True:
                watch(0.25)
                time.sleep(0.001)
        except BaseException as error:
            ends["listening"] = type(error)
            raise

    def deaf(_: Watcher) -> None:
        began.put("deaf")
        try:
            while True:
                pass
        except BaseException as error:
            ends["deaf"] = type(error)
            raise

    pool = Pool[str, None](2)
    for task in (Task("listening", listening), Task("deaf", deaf), Task("late", listening)):
        pool.submit(task)
    assert {began.get(timeout=30), began.get(timeout=30)} == {"listening", "deaf"}
    while pool.running() != {"listening": 0.25, "deaf": None}:
        time.sleep(0.001)
    pool.close(grace_s=0.05)
    assert ends == {"listening": Stopped, "deaf": KeyboardInterrupt}
    assert began.empty()
    assert pool.wait(0) == []


def test_two_tasks_of_one_key_are_refused() -> None:
    with closing(Pool[int, int](2)) as pool:
        twins = pool.in_order(Task(key, lambda _: 0) for key in (0, 1, 0))
        with pytest.raises(ValueError, match="two tasks have the key 0"):
            list(twins)


def test_a_pool_that_is_stopped_waits_for_nothing() -> None:
    over = threading.Event()
    pool = Pool[int, bool](1)
    pool.submit(Task(0, lambda _: over.wait(30)))
    pool.submit(Task(1, lambda _: over.wait(30)))
    while not pool.running():
        time.sleep(0.001)
    pool.stop()
    assert list(pool.running()) == [0]
    over.set()
    pool.close()
    assert pool.wait(0) == []


def test_tasks_that_fit_run_beside_each_other_and_a_large_one_alone() -> None:
    memory, seen = Memory(100), queue.SimpleQueue[int]()
    release = threading.Event()

    def take(need: int) -> None:
        with memory.taken(need):
            seen.put(need)
            assert release.wait(60)

    small = [threading.Thread(target=take, args=(need,)) for need in (40, 50)]
    for thread in small:
        thread.start()
    assert sorted([seen.get(timeout=60), seen.get(timeout=60)]) == [40, 50]
    large = threading.Thread(target=take, args=(500,))
    large.start()
    with pytest.raises(queue.Empty):
        seen.get(timeout=0.1)
    release.set()
    assert seen.get(timeout=60) == 500
    for thread in (*small, large):
        thread.join(60)
    memory.end()
    with pytest.raises(Stopped), memory.taken(1):
        pass
