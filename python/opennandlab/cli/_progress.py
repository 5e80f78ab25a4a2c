"""How long work shows that it is alive: a line that is redrawn, or one every ten seconds.

```text
stderr is a terminal ──► one line, ten times a second, gone at the end
a file, a pipe, a job's log ──► a whole line every 10 s, kept
--quiet ──► nothing
```
The clock is an argument, so that tests need none.
"""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

from opennandlab.base import logs
from opennandlab.cli import _streams as streams

if TYPE_CHECKING:
    from rich.console import Console

DRAWN_EVERY_S = 0.1
LOGGED_EVERY_S = 10.0

State = TypeVar("State")
Clock = Callable[[], float]


# A share below this foretells nothing.
SHARE_MIN = 0.01


class Pace:
    """The time that is left, in proportion to what was done since the first call.

    >>> times = iter([0.0, 2.0, 5.0])
    >>> pace = Pace(clock=lambda: next(times))
    >>> pace.left(100, 1100), pace.left(101, 1100), pace.left(600, 1100)
    ('', '', '5 s left')
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        """Take the clock."""
        self._clock = clock
        self._first: tuple[float, float] | None = None

    def left(self, done: float, total: float) -> str:
        """Return the time that is left, as words; nothing before it can be known."""
        now_s = self._clock()
        began_s, known = self._first = self._first or (now_s, done)
        share = (done - known) / (total - known) if total > known else 0.0
        if share < SHARE_MIN:
            return ""
        return f"{streams.duration((now_s - began_s) * (1.0 - share) / share)} left"


class Shown(Generic[State]):
    """A watcher that states how far a run is.

    Args:
        watch: Says it.
        clear: Takes the line away, so that something else can be printed.
    """

    def __init__(
        self, watch: Callable[[State], None], clear: Callable[[], None] = lambda: None
    ) -> None:
        """Take both."""
        self._watch = watch
        self.clear = clear

    def __call__(self, state: State) -> None:
        """Say how far the run is, if it is time to."""
        self._watch(state)


@contextlib.contextmanager
def shown(
    text: Callable[[State], str],
    *,
    quiet: bool,
    clock: Clock = time.monotonic,
    is_last: Callable[[State], bool] | None = None,
) -> Iterator[Shown[State] | None]:
    """Yield a watcher that states how far a run is; None if there is no caller for it.

    Args:
        text: One line about a state, without its end. Called only when a line is due.
        quiet: Whether nothing is said.
        clock: Seconds, from any beginning.
        is_last: Whether a state is worth a line at once, because no other follows it.
    """
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _drawn(streams.stderr()) as (draw, clear):
            say: Callable[[State], None] = _paced(
                lambda state: draw(text(state)), DRAWN_EVERY_S, 0.0, clock, is_last
            )
            # The line goes; a log keeps one every ten seconds.
            keep: Callable[[State], None] = _paced(
                lambda state: logs.spoken(text(state)), LOGGED_EVERY_S, LOGGED_EVERY_S, clock, None
            )

            def both(state: State) -> None:
                say(state)
                keep(state)

            yield Shown(both, clear)
    else:
        yield Shown(
            _paced(
                lambda state: streams.note(text(state)), LOGGED_EVERY_S, LOGGED_EVERY_S, clock, None
            )
        )


def _paced(
    say: Callable[[State], None],
    every_s: float,
    first_s: float,
    clock: Clock,
    is_last: Callable[[State], bool] | None,
) -> Callable[[State], None]:
    """Return a watcher that says something when it is due, not at each call."""
    due = clock() + first_s

    def watch(state: State) -> None:
        nonlocal due
        now = clock()
        if now >= due or (is_last is not None and is_last(state)):
            due = now + every_s
            say(state)

    return watch


@contextlib.contextmanager
def _drawn(console: "Console") -> Iterator[tuple[Callable[[str], None], Callable[[], None]]]:
    """Yield what replaces the line, cut at the end where it does not fit, and what removes it."""
    from rich.live import Live
    from rich.text import Text

    with Live(Text(""), console=console, auto_refresh=False, transient=True) as live:

        def draw(line: str) -> None:
            live.start()
            live.update(Text(line, style="cyan", no_wrap=True, overflow="ellipsis"), refresh=True)

        yield draw, live.stop
