"""Ctrl-C and SIGTERM, heard once, and also where Python drops them.

What a handler raises while an object is taken away, in a callback of a weak reference, or inside a
library that catches everything, is gone: the program goes on as if nobody had asked. So the handler
notes that it was asked, and long work looks there between two of its parts. A signal right behind
another means the same, and would break off the tidying up: each thread of a parent that dies tells
its child.
"""

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

State = TypeVar("State")

# Signals that come in this time are one.
TOGETHER_S = 1.0

_asked = threading.Event()
_raised = {"at_s": float("-inf")}


def end(number: int, frame: FrameType | None) -> None:
    """Handle a signal that asks the program to end.

    Raises:
        KeyboardInterrupt: unless one was raised just before.
    """
    now = time.monotonic()
    if now - _raised["at_s"] >= TOGETHER_S:
        _raised["at_s"] = now
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
