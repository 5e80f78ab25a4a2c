"""How many threads a simulated drive takes; no result depends on it."""

import os

from opennandlab import _core
from opennandlab.base.errors import ConfigError

THREADS_MAX = 1024


def cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1


def set_threads(count: int | None) -> None:
    """Let untimed writes of drives that are made from now on take several threads.

    Preconditioning and untimed workloads are divided by die; a drive of one die takes one thread.
    No result depends on the number.

    Args:
        count: Threads of a drive, 1 to 1024; None: the cores of this process, the default.

    Raises:
        ConfigError: for another number.

    >>> set_threads(2)
    """
    if count is not None and not 1 <= count <= THREADS_MAX:
        message = f"{count} is not a valid number of threads; accepted: 1 to {THREADS_MAX}"
        raise ConfigError("threads", message)
    _core.set_threads(count or 0)
