"""Waits for work of other threads in which Ctrl-C is heard at once.

Python looks for signals between instructions and when a signal ends a wait of its main thread. One
that comes as the wait begins, or that another thread takes, ends nothing: without a limit it would
be heard when the work is done.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import TypeVar

LOOK_S = 0.1
T = TypeVar("T")


def result(future: Future[T]) -> T:
    """Return what work gave, or raise its error.

    Args:
        future: The work.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(1) as pool:
    ...     result(pool.submit(max, 2, 3))
    3
    """
    for _ in ended((future,)):
        pass
    return future.result()


def ended(futures: Iterable[Future[T]]) -> Iterator[Future[T]]:
    """Yield all work, each when it is done.

    Args:
        futures: The work, in any order.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as pool:
    ...     sorted(done.result() for done in ended([pool.submit(abs, -3), pool.submit(abs, 2)]))
    [2, 3]
    """
    left = set(futures)
    while left:
        done, left = wait(left, timeout=LOOK_S, return_when=FIRST_COMPLETED)
        yield from done
