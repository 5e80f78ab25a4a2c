"""The server: binds its address, says where it is, and ends without leaving anything half done."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn

from opennandlab.base.errors import ConfigError, WriteError
from opennandlab.ui.application import make
from opennandlab.ui.guard import TOKEN_CHARS_MIN, Door, is_loopback

PORT = 8765
# How long connections may take to end before they are cut.
GRACE_S = 2
BACKLOG = 128
# Clients at a time; others are told to come again. A page needs 6, and one for what changes.
CONNECTIONS_MAX = 256


class Server(uvicorn.Server):
    """A server whose streams of events end when it is told to end."""

    def __init__(self, config: uvicorn.Config, end: Callable[[], None], begin: Callable[[], None]):
        """Take what ends the streams, and what is done once it answers."""
        super().__init__(config)
        self._end = end
        self._begin = begin

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        self._begin()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End on Ctrl-C and SIGTERM."""
        self._end()
        super().handle_exit(sig, frame)


def door_of(host: str, port: int, token: str | None) -> Door:
    """Return under which names a server is asked.

    Raises:
        ConfigError: for an address of other machines without a token, and for a short token.
    """
    if token is not None and (len(token) < TOKEN_CHARS_MIN or not token.isprintable()):
        raise ConfigError(
            "--token",
            f"has {len(token)} characters; accepted: {TOKEN_CHARS_MIN} or more, printable",
        )
    if token is None and not is_loopback(host):
        raise ConfigError(
            "--host", f"`{host}` may be reached by other machines; accepted: with --token TEXT, or "
            "--token auto for one that is made up"
        )  # fmt: skip
    return Door(host, port, token)


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        ConfigError: for an address that is not of this machine.
        WriteError: for a port that is taken.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise ConfigError("--host", f"`{host}` is not an address of this machine") from error
    family, kind, protocol, _, address = found[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        if error.errno == errno.EADDRINUSE:
            raise WriteError(
                f"port {port} of {host} is taken, perhaps by another `opennandlab ui`; accepted: "
                "--port N for another, --port 0 for a free one"
            ) from error
        if error.errno == errno.EACCES:
            raise ConfigError("--port", f"{port} is not for everybody; accepted: 1024 or more") \
                from error  # fmt: skip
        raise ConfigError("--host", f"`{host}`: {error.strerror or error}") from error
    return made


def serve(  # noqa: PLR0913 (what a server consists of)
    store: Path,
    listening: socket.socket,
    door: Door,
    *,
    jobs: int | None = None,
    files: Path | None = None,
    ready: Callable[[str], None],
) -> None:
    """Answer until Ctrl-C or SIGTERM; what runs then is stopped, and what is done is kept.

    Args:
        store: Folder of the store.
        listening: From `bound`.
        door: From `door_of`, with the port of the socket.
        jobs: Points at a time; None for all cores.
        files: Where device files may lie that a page names; None for the working folder.
        ready: Told the address as soon as it answers.
    """
    app = make(store, door, jobs, files)
    config = uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        lifespan="on",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_S,
        ws="none",
        limit_concurrency=CONNECTIONS_MAX,
    )
    server = Server(config, app.state.place.watch.end, lambda: ready(door.url))
    # The signal that ended it is raised again when all is closed.
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])


def show(url: str) -> bool:
    """Open a page in a browser, where there is a screen for one; return whether there is."""
    has_screen = sys.platform in {"darwin", "win32"} or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )
    if has_screen:
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
    return has_screen
