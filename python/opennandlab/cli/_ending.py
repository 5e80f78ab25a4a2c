"""Ctrl-C and SIGTERM, heard also where Python drops them.

What a handler raises while an object is taken away, in a callback of a weak reference, or inside a
library that catches everything, is gone: the program goes on as if nobody had asked. So the handler
notes that it was asked, and long work looks there between two of its parts.
"""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

State = TypeVar("State")

_asked = threading.Event()


def end(number: int, frame: FrameType | None) -> None:
    """Handle a signal that asks the program to end.

    Raises:
        KeyboardInterrupt: always.
    """
    _asked.set()
    signal.default_int_handler(number, frame)


def hear() -> None:
    """Be called by long work between two of its parts.

    Raises:
        KeyboardInterrupt: when a signal came that nobody has heard.
    """
    if _asked.is_set():
        _asked.clear()
        raise KeyboardInterrupt


def hearing(watch: Callable[[State], None] | None) -> Callable[[State], None]:
    """Return a watcher that hears before it tells another, if there is one."""

    def told(state: State) -> None:
        hear()
        if watch is not None:
            watch(state)

    return told
