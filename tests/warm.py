"""The command without its start: a process that has imported everything forks for each call.

```text
a test, or the shell of a page ─► client `opennandlab` ─► server ─fork─► the command
                                    words, folder, environment, streams ─►
                                    ◄─ how it ended        signals ─►
```
Four fifths of a short command are imports. The client is a script of that name, in a folder of its
own, so that it may stand in a `PATH`. Its command has the same words, folder, environment, umask
and streams as one that was started, runs `opennandlab.__main__` from its first line, and ends as
an interpreter does; signals go to it, and its exit code or signal comes back. Where the environment
is another than that of the server, which imported under it, the client becomes the installed
command itself. Tests of the start, of closed streams and of groups of processes call `COMMAND`.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import marshal
import os
import pkgutil
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# What a shell, a test and a console that is made at each call may set.
FREE = {
    "PATH",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "_",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "PYTEST_CURRENT_TEST",
}
# What verbs import, next to the package, when they draw, serve and print.
LIBRARIES = (
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "rich.console",
    "rich.progress",
    "rich.table",
    "rich.text",
    "sqlite3",
    "uvicorn",
)
OTHER_ENVIRONMENT = 1 << 20
CLIENT = """#!{python} -IS
import _signal, _socket, marshal, os, sys
mask = os.umask(0)
os.umask(mask)
words = marshal.dumps((sys.argv, os.getcwd(), dict(os.environb), mask))
server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
server.connect({socket!r})
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
server.sendmsg([len(words).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGUSR1, _signal.SIGUSR2):
    _signal.signal(number, lambda number, frame: server.send(bytes([number])))
server.sendall(words)
# A signal that comes right before the call is heard when it returns.
server.settimeout(1)
told = None
while told is None:
    try:
        told = server.recv(4)
    except TimeoutError:
        pass
if not told:
    sys.exit("the warm server has ended")
end = int.from_bytes(told, "big", signed=True)
if end == {other}:
    os.execv({command!r}, [{command!r}, *sys.argv[1:]])
if end < 0:
    if end != -_signal.SIGKILL:
        _signal.signal(-end, _signal.SIG_DFL)
    os.kill(os.getpid(), -end)
os._exit(end)
"""


@contextlib.contextmanager
def commands(installed: Path) -> Iterator[Path]:
    """Serve the installed command; give the client that takes its place.

    Args:
        installed: The command `opennandlab`, next to the interpreter that runs it.
    """
    if not hasattr(os, "pidfd_open"):  # Linux
        yield installed
        return
    with (
        tempfile.TemporaryDirectory(prefix="onl-") as folder,
        socket.socket(socket.AF_UNIX) as listener,
    ):
        place = str(Path(folder, "socket"))
        listener.bind(place)
        # Clients wait here while the server imports.
        listener.listen(64)
        client = Path(folder, installed.name)
        text = CLIENT.format(
            python=sys.executable, socket=place, command=str(installed), other=OTHER_ENVIRONMENT
        )
        client.write_text(text, encoding="utf-8")
        client.chmod(0o755)
        command = [sys.executable, __file__, str(listener.fileno()), str(installed)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, pass_fds=[listener.fileno()]
        ) as server:
            # Now a server that dies leaves no client waiting; leaving closes its stdin and ends it.
            listener.close()
            yield client
            server.stdin.close()  # type: ignore[union-attr]


class Server:
    """Forks a command for each client; of what it has imported nothing is run in itself."""

    def __init__(self, listener: socket.socket, installed: str) -> None:
        self.listener = listener
        self.installed = installed
        self.environment = dict(os.environb)
        # Process -> its client, both ways.
        self.clients: dict[int, socket.socket] = {}
        self.processes: dict[socket.socket, tuple[int, int]] = {}

    def serve(self) -> bool:
        """Return False when the tests have ended, and True in every process that shall run."""
        while True:
            waiting = [0, self.listener, *self.clients, *self.processes]
            for ready in select.select(waiting, [], [])[0]:
                if ready == 0:
                    return False
                if ready is self.listener:
                    if self._begin(self.listener.accept()[0]):
                        return True
                elif ready in self.clients:
                    self._end(ready)
                elif ready in self.processes:
                    self._hear(ready)

    def _begin(self, client: socket.socket) -> bool:
        """Start what a client asks for; return whether this is the process that does it."""
        size, streams, _, _ = socket.recv_fds(client, 4, 3)
        words = client.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
        arguments, folder, environment, mask = marshal.loads(words)  # noqa: S302 (our own client)
        pid = 0
        if self._differs(environment):
            client.send(struct.pack("!i", OTHER_ENVIRONMENT))
            client.close()
        elif pid := os.fork():
            watched = os.pidfd_open(pid)
            self.clients[watched] = client
            self.processes[client] = (pid, watched)
        else:
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            for held in (self.listener, client, *self.clients.values()):
                held.close()
            for held in (*self.clients, *streams):
                os.close(held)
            os.chdir(folder)
            os.umask(mask)
            _become([self.installed, *arguments[1:]], environment)
            return True
        for stream in streams:
            os.close(stream)
        return False

    def _differs(self, environment: dict[bytes, bytes]) -> bool:
        both = environment.keys() | self.environment.keys()
        differing = {name for name in both if environment.get(name) != self.environment.get(name)}
        return not differing <= {name.encode() for name in FREE}

    def _hear(self, client: socket.socket) -> None:
        """Pass signals on; a client that is gone was killed, and so is its command."""
        pid, _ = self.processes[client]
        numbers = client.recv(16)
        if not numbers:
            del self.processes[client]
        for number in numbers or [signal.SIGKILL]:
            os.kill(pid, number)

    def _end(self, watched: int) -> None:
        """Tell a client how its command ended."""
        client = self.clients.pop(watched)
        pid, _ = self.processes.pop(client, (0, 0))
        end = os.waitstatus_to_exitcode(os.waitpid(pid or -1, 0)[1])
        with contextlib.suppress(OSError):
            client.send(struct.pack("!i", end))
        client.close()
        os.close(watched)


def _become(arguments: list[str], environment: dict[bytes, bytes]) -> None:
    """Make this process what an interpreter is that was just started."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environb.clear()
    os.environb.update(environment)
    sys.argv = arguments
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        before: Any = getattr(sys, f"__{name}__")
        stream = open(  # noqa: SIM115 (as long as the process)
            number,
            "w" if number else "r",
            encoding=before.encoding,
            errors=before.errors,
            closefd=False,
            buffering=1 if number == 2 or (number and os.isatty(number)) else -1,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _leave(code: object) -> None:
    """End as an interpreter does, but take nothing apart: half the time of a short command."""
    if isinstance(code, int):
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    raise SystemExit(code)


def _import_all() -> None:
    import opennandlab
    from opennandlab import cli

    for module in pkgutil.walk_packages(opennandlab.__path__, "opennandlab."):
        if not module.name.endswith(("__main__", ".worker")):
            importlib.import_module(module.name)
    for name in LIBRARIES:
        importlib.import_module(name)
    for verb in cli.VERBS:
        cli._verb(verb)
    # No collection of a child need look at, and so copy, what was there before it.
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    # Ctrl-C is for pytest, which then ends this server.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    served = Server(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
    _import_all()
    if served.serve():
        from opennandlab.__main__ import main

        try:
            main()
        except SystemExit as end:
            _leave(end.code)
