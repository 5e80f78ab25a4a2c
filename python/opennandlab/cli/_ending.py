"""Ctrl-C and SIGTERM: raised when they come, and once more where long work looks.

Python drops an exception that a handler raises inside `__del__`, a callback of a weak reference, or
a library that catches everything: the program would continue. So the handler also notes the signal,
and long work calls `raise_if_asked` between two of its parts, which raises once for each note.
"""

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import TypeVar

State = TypeVar("State")

# Signals within this time are one: when a parent dies, each of its threads signals the child, and a
# second exception would break off the tidying up. Such signals come within milliseconds; a user who
# presses Ctrl-C again because the first was not enough waits longer.
TOGETHER_S = 1.0


@dataclass
class _Asked:
    noted: threading.Event = field(default_factory=threading.Event)
    raised_at_s: float = float("-inf")


_asked = _Asked()


def on_signal(number: int, frame: FrameType | None) -> None:
    """Handle a signal that asks the program to end.

    Raises:
        KeyboardInterrupt: unless one was raised within `TOGETHER_S`.
    """
    now = time.monotonic()
    if now - _asked.raised_at_s >= TOGETHER_S:
        _asked.raised_at_s = now
        _asked.noted.set()
        signal.default_int_handler(number, frame)


def raise_if_asked() -> None:
    """Raise, between two parts of long work, if a signal came since the last call.

    It raises also if the exception of the handler arrived: no caller can know that.

    Raises:
        KeyboardInterrupt: once after each signal.
    """
    if _asked.noted.is_set():
        _asked.noted.clear()
        raise KeyboardInterrupt


def raising(watch: Callable[[State], None] | None) -> Callable[[State], None]:
    """Return a watcher that calls `raise_if_asked`, and then `watch` if there is one."""

    def watched(state: State) -> None:
        raise_if_asked()
        if watch is not None:
            watch(state)

    return watched
