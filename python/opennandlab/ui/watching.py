"""Tells when the store has changed: one look for all pages, several times a second, while any asks.

SQLite counts the changes that other connections make (`PRAGMA data_version`): to read this number
costs microseconds, so a page is told of a new point long before a second has passed.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from opennandlab.base.errors import OpenNandLabError, StoreError
from opennandlab.store import Store

POLL_S = 0.2
# Pages that listen at once; a browser opens six for one server at most.
LISTENERS_MAX = 64
# A line that keeps a connection alive, and finds that its reader left.
HEARTBEAT_S = 15.0
# How often something is told that the time alone changes, such as what is left of it.
MOVING_S = 1.0
# How long a page waits for a writer of a store without a log.
TIMEOUT_S = 2.0


def opened(place: Path) -> Store:
    """Open the store for one answer.

    Raises:
        StoreError: when it is gone, or cannot be used.
    """
    return Store.open(place, create=False, timeout_s=TIMEOUT_S)


class Watch:
    """The store, as far as it changes.

    Args:
        place: Its folder.
    """

    def __init__(self, place: Path) -> None:
        """Look at nothing yet."""
        self.place = place
        self.trouble = ""
        self.count = 0
        self.is_over = False
        self._listeners: set[asyncio.Event] = set()
        self._store: Store | None = None
        self._seen: tuple[Any, ...] = ()
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @contextlib.contextmanager
    def listening(self) -> Any:  # noqa: ANN401 (a context manager of an event)
        """Be told of changes until the end of the block.

        Yields:
            An event that is set whenever something has changed; None where too many listen.
        """
        if len(self._listeners) >= LISTENERS_MAX:
            yield None
            return
        event = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._listeners.add(event)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())
        try:
            yield event
        finally:
            self._listeners.discard(event)

    def tell(self) -> None:
        """Wake all who listen."""
        for event in self._listeners:
            event.set()

    def tell_safely(self) -> None:
        """Wake all who listen, from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            with contextlib.suppress(RuntimeError):  # it closes just now
                self._loop.call_soon_threadsafe(self.tell)

    def end(self) -> None:
        """Let all connections end."""
        self.is_over = True
        self.tell()

    async def _look(self) -> None:
        """Look at the store while anybody listens."""
        try:
            while self._listeners and not self.is_over:
                if await asyncio.to_thread(self._has_changed):
                    self.count += 1
                    self.tell()
                await asyncio.sleep(POLL_S)
        finally:
            self._close()

    def _has_changed(self) -> bool:
        before, trouble = self._seen, self.trouble
        try:
            self._seen, self.trouble = self._state(), ""
        except OpenNandLabError as error:
            self._close()
            self._seen, self.trouble = (), str(error)
        return self._seen != before or self.trouble != trouble

    def _state(self) -> tuple[Any, ...]:
        """Return what is different after each change."""
        if self._store is None:
            self._store = opened(self.place)
        file = self._store.file
        try:
            found = file.stat()
        except OSError as error:
            raise StoreError(f"{file}: it is gone: {error.strerror or error}") from error
        mark = (found.st_dev, found.st_ino)
        if self._seen and self._seen[:2] != mark:
            # Another file has its name now.
            self._close()
            self._store = opened(self.place)
        return (*mark, self._store.state())

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None


Events = tuple[list[tuple[str, str]], bool]


async def stream(watch: Watch, made: Callable[[], Events]) -> AsyncIterator[str]:
    """Yield events as a browser reads them: at first, and after each change.

    Args:
        watch: Watch of the store.
        made: Returns the events of now, kind and JSON, and whether the time alone changes them. It
            may take its time: it is asked again after twice as long at the earliest.
    """
    with watch.listening() as event:
        if event is None:
            yield "event: full\ndata: {}\n\n"
            return
        while not watch.is_over:
            event.clear()
            began = time.monotonic()
            found, is_moving = await asyncio.to_thread(made)
            for kind, data in found:
                yield f"event: {kind}\ndata: {data}\n\n"
            await asyncio.sleep(2.0 * (time.monotonic() - began))
            try:
                await asyncio.wait_for(event.wait(), MOVING_S if is_moving else HEARTBEAT_S)
            except asyncio.TimeoutError:
                yield ": still here\n\n"
