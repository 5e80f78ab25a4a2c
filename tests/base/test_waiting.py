"""Waits in which Ctrl-C is heard, also where another thread takes the signal."""

import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from opennandlab.base.waiting import ended, result


@pytest.mark.parametrize("wait", [result, lambda work: list(ended([work]))])
def test_an_interrupt_that_another_thread_takes_ends_the_wait(
    wait: Callable[[Future[bool]], object],
) -> None:
    begun, over = threading.Event(), threading.Event()

    def work() -> bool:
        assert begun.wait(30)
        signal.raise_signal(signal.SIGINT)  # in this thread, which the main one does not see
        return over.wait(30)

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)

        def begin_and_wait() -> None:
            begun.set()
            wait(future)

        with pytest.raises(KeyboardInterrupt):
            begin_and_wait()
        assert not future.done()
        over.set()
        assert result(future)


def test_work_is_had_as_it_ends_with_its_error() -> None:
    first_ended = threading.Event()

    def last() -> int:
        assert first_ended.wait(30)
        return 1

    def first() -> int:
        raise ValueError("as it is")

    with ThreadPoolExecutor(2) as pool:
        works = [pool.submit(last), pool.submit(first)]
        there = ended(works)
        assert next(there) is works[1]
        with pytest.raises(ValueError, match="as it is"):
            result(works[1])
        first_ended.set()
        assert [work.result() for work in there] == [1]
