"""Addresses that fio cannot draw: drawn here, carried out by fio.

fio's own `random_distribution=zipf` is no Zipf law over the drive. It sends a rank through a hash
and takes the remainder by the number of blocks, so that ranks share a block and about 1/e of the
blocks are never touched (fio 3.33, lib/zipf.c); ranks are not known beforehand, and exponent 1 is
not accepted. Zones that are trimmed before they are written, and a shuffled pass that several
threads share, it does not have at all. So the core draws the requests, as it does for a simulated
drive, and fio replays them without delays:

    core ── lines ──► one Unix socket for each thread ──► fio: read_iolog, read_iolog_chunked
              └─ trims ──► the target itself

The log never ends, or after as many requests as the leg has. fio reads ahead what it needs in a
second or less; while it does, that thread submits nothing (about 1 us a request).

Three things fio 3.33 must be helped with. It leaves trims out of a log, so a zone is trimmed here
when the first of its lines is sent, which is before its first write by what fio reads ahead. Jobs
must be processes: with `thread=1` it crashes. And at the end of a log it leaves without waiting for
what is in progress; a pause of 1 us behind the last request (`thinktime_blocks`) makes it wait.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from opennandlab import _core
from opennandlab.targets.base import Stimulus, TargetError
from opennandlab.targets.mixture import Drawn, sources
from opennandlab.targets.spec import stream_spec

# Requests drawn at once, for each thread.
CHUNK = 4096
# Bytes that a socket holds where zones are trimmed: they should not be trimmed long before.
AHEAD_BYTES = 4608
# How soon a thread notices that fio never came.
POLL_S = 0.05
HEAD = "fio version 2 iolog\n{name} add\n{name} open\n"
ENDLESS = 1 << 62


def is_streamed(stimulus: Stimulus) -> bool:
    """Whether the requests of a stimulus are drawn here."""
    is_law = stimulus.skew is not None or stimulus.logs is not None
    return is_law or stimulus.pattern == "shuffled" or bool(stimulus.streams)


def drawn(stimulus: Stimulus, capacity_bytes: int, seed: int) -> Sequence[_core.Stream | Drawn]:
    """Return the requests of each thread."""
    if stimulus.streams:
        return sources(stimulus, capacity_bytes, seed)
    spec = stream_spec(stimulus)
    return [_core.Stream(spec, capacity_bytes, seed, one) for one in range(stimulus.threads)]


def count_of(stimulus: Stimulus, ios: int, total_bytes: int) -> int:
    """Return how many requests each thread has, trims left out; endless ones without a limit.

    Args:
        stimulus: What is drawn.
        ios: Requests of all threads; 0 for no limit.
        total_bytes: Their bytes, in place of `ios`; 0 for no limit.
    """
    size = stimulus.block_bytes
    if not isinstance(size, int) and not stimulus.streams:
        raise TargetError("skewed requests of several sizes cannot be carried out through fio")
    wanted = ios or ceil(total_bytes / _mean(size))
    if not wanted:
        return ENDLESS
    if stimulus.logs is not None and stimulus.queue_depth > 1:
        raise TargetError("zones are written with one request outstanding through fio")
    return ceil(wanted / stimulus.threads)


def _mean(sizes: int | tuple[tuple[int, float], ...]) -> float:
    """Return the mean size of requests."""
    if isinstance(sizes, int):
        return sizes
    return sum(size * weight for size, weight in sizes) / sum(weight for _, weight in sizes)


def end_lines(stimulus: Stimulus, count: int) -> list[tuple[str, str | int]]:
    """Return what makes fio wait for all requests in progress behind the last line of a log."""
    if count == ENDLESS or stimulus.queue_depth == 1:
        return []
    return [
        ("thinktime", 1),
        ("thinktime_blocks", count),
        ("thinktime_blocks_type", "issue"),
    ]


@dataclass(frozen=True)
class Source:
    """What the threads of a job draw from.

    Args:
        streams: One for each thread.
        count: Requests of each, trims left out.
        name: Name of the file in the lines.
        trim: Trims bytes of the target from an offset on.
        trims: Whether there is anything to trim.
    """

    streams: Sequence[_core.Stream | Drawn]
    count: int
    name: str
    trim: Callable[[int, int], None]
    trims: bool = False


@contextlib.contextmanager
def served(folder: Path, stem: str, source: Source) -> Iterator[list[str]]:
    """Serve streams as long as the block lasts.

    Args:
        folder: Where the sockets are.
        stem: Begin of their names.
        source: What is served.

    Yields:
        Names of the sockets in the folder.

    Raises:
        TargetError: at the end, when a trim failed.
    """
    over = threading.Event()
    failures: list[BaseException] = []
    names = [f"{stem}-{index}.sock" for index in range(len(source.streams))]
    workers = []
    with contextlib.ExitStack() as stack:
        # A path of a socket may have about 100 bytes: through the handle it is always short.
        handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        stack.callback(os.close, handle)
        try:
            for socket_name, stream in zip(names, source.streams, strict=True):
                door = stack.enter_context(socket.socket(socket.AF_UNIX))
                door.bind(f"/proc/self/fd/{handle}/{socket_name}")
                stack.callback((folder / socket_name).unlink, missing_ok=True)
                door.listen(1)
                door.settimeout(POLL_S)
                work = _Worker(door, stream, source, over, failures)
                workers.append(threading.Thread(target=work.run, daemon=True))
        except OSError as error:
            raise TargetError(f"no socket can be made in {folder}: {error.strerror}") from error
        for worker in workers:
            worker.start()
        try:
            yield names
        finally:
            over.set()
            for worker in workers:
                worker.join()
            if failures:
                raise TargetError(f"a zone cannot be trimmed: {failures[0]}") from failures[0]


@dataclass
class _Worker:
    """Serves one thread of fio."""

    door: socket.socket
    stream: _core.Stream | Drawn
    source: Source
    over: threading.Event
    failures: list[BaseException]

    def run(self) -> None:
        """Send the lines to the first who comes, as fast as they are taken."""
        while not self.over.is_set():
            try:
                peer, _ = self.door.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            with peer, contextlib.suppress(ConnectionError):
                peer.settimeout(POLL_S)
                if self.source.trims:
                    peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, AHEAD_BYTES)
                try:
                    self._serve(peer)
                except (TargetError, TimeoutError) as error:
                    # fio ends with its log; what failed is said then.
                    self.failures.append(error)
            return

    def _serve(self, peer: socket.socket) -> None:
        name = self.source.name
        self._send(peer, HEAD.format(name=name).encode())
        left = self.source.count
        while left > 0 and not self.over.is_set():
            lines = self.stream.lines(name, min(CHUNK, left))
            trim = f"{name} trim ".encode()
            if trim not in lines:
                self._send(peer, lines)
                left -= min(CHUNK, left)
                continue
            for line in lines.splitlines(keepends=True):
                if line.startswith(trim):
                    offset, length = line[len(trim) :].split()
                    self.source.trim(int(offset), int(length))
                elif left > 0:
                    self._send(peer, line)
                    left -= 1

    def _send(self, peer: socket.socket, lines: bytes) -> None:
        """Send all of it, unless it is over: a stopped fio takes nothing and need not close."""
        view = memoryview(lines)
        while view and not self.over.is_set():
            try:
                sent = peer.send(view)
            except TimeoutError:
                continue
            view = view[sent:]
