"""The power switch of a served drive: a socket that takes one word a line, and answers with JSON.

```text
off ──► connections end, what is not on the flash is gone          {"ready_ms": …}
on ───► the drive mounts, then clients may connect again           {"ready_ms": …}
cut ──► off, then on
```
`ready_ms` is how long the drive takes from power to ready, in this server's time; `on` answers when
that is over. A word that does not fit gives `{"error": …}`, and changes nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from opennandlab.base.errors import ConfigError, OpenNandLabError, OutputError

WORDS: Final = ("off", "on", "cut")
LINE_BYTES_MAX: Final = 64
ANSWER_S: Final = 60.0
# Who connects and says no word is let go, and keeps nobody else waiting.
WORD_S: Final = 10.0
NS_PER_S: Final = 1e9


@dataclass
class Switch:
    """The switch of a drive.

    Args:
        path: Where the socket is made.
        off: Cuts the power; returns nanoseconds from power to ready.
        on: Lets clients connect again.

    Raises:
        OutputError: when the socket cannot be made.
    """

    path: Path
    off: Callable[[], int]
    on: Callable[[], None]
    _listener: socket.socket = field(init=False)
    _thread: threading.Thread = field(init=False)
    _ready_ns: int = field(init=False, default=0)
    _turning: threading.Lock = field(init=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Listen, for the owner alone."""
        self._listener = _listening(self.path)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Take the socket away."""
        self.path.unlink(missing_ok=True)
        # Wakes who waits for a client.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(timeout=1.0)

    def _serve(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(link,), daemon=True).start()

    def _answer(self, link: socket.socket) -> None:
        with link, contextlib.suppress(OSError):
            link.settimeout(WORD_S)
            word = link.makefile("rb").readline(LINE_BYTES_MAX).decode("ascii", "replace")
            with self._turning:
                done = self._done(word.strip())
            link.sendall(json.dumps(done).encode() + b"\n")

    def _done(self, word: str) -> dict[str, Any]:
        try:
            if word not in WORDS:
                raise ConfigError("power", f"`{word}`; accepted: {', '.join(WORDS)}")
            if word in {"off", "cut"}:
                self._ready_ns = self.off()
            if word in {"on", "cut"}:
                time.sleep(self._ready_ns / NS_PER_S)
                self.on()
        except OpenNandLabError as error:
            return {"error": str(error)}
        return {"ready_ms": self._ready_ns / 1e6}


def ask(path: Path, word: str, limit_s: float = ANSWER_S) -> dict[str, Any]:
    """Turn the switch of a served drive.

    Args:
        path: Its socket.
        word: `off`, `on` or `cut`.
        limit_s: Time until an answer.

    Returns:
        `ready_ms`: from power to ready.

    Raises:
        ConfigError: when the server refuses.
        OutputError: if there is no answer.
    """
    try:
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(limit_s)
            link.connect(os.fspath(path))
            link.sendall(word.encode() + b"\n")
            answer = json.loads(link.makefile("rb").readline())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no answer"
        raise OutputError(f"{path}: {reason}; is a drive served with --power-socket?") from error
    if "error" in answer:
        raise ConfigError("power", str(answer["error"]).removeprefix("power: "))
    return dict(answer)


def _listening(path: Path) -> socket.socket:
    with contextlib.suppress(OSError):
        if stat.S_ISSOCK(path.lstat().st_mode) and not _answers(path):
            path.unlink()
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        listener.bind(os.fspath(path))
        listener.listen()
    except OSError as error:
        listener.close()
        raise OutputError(f"cannot listen on {path}: {error.strerror or error}") from error
    finally:
        os.umask(before)
    return listener


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as link:
        try:
            link.connect(os.fspath(path))
        except OSError:
            return False
    return True
