"""Saves a drive again and again while it is served.

A save begins a period after the begin of the last one, and never while that one is still at work.
One that fails is tried again after the period, and why is known (`Saver.problem`): the image from
before stays as it is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Saver:
    """A thread that saves.

    Args:
        period_s: Seconds from the begin of a save to that of the next.
        save: Saves; returns what kept it from that.
        problem: What kept the last save from being done, if anything.
    """

    period_s: float
    save: Callable[[], str | None]
    problem: str | None = field(init=False, default=None)
    _ends: threading.Event = field(init=False, default_factory=threading.Event)
    _thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        """Begin with the first period."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Begin no save any more, and wait for the last one."""
        self._ends.set()
        self._thread.join()

    def _run(self) -> None:
        wait_s = self.period_s
        while not self._ends.wait(wait_s):
            begun = time.monotonic()
            self.problem = self.save()
            wait_s = max(0.0, begun + self.period_s - time.monotonic())
