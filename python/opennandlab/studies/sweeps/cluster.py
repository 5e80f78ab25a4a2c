"""Points on the workers of a Dask cluster: many processes, many machines.

    client ──submit──► scheduler ──► worker: run_point ──► result ──► client ──► store

Workers return results and write nothing: only the client writes the store, which may lie on a disk
of its own. A result is taken as soon as it is there and then released: results that the client
still refers to are computed again when their worker is lost. A point whose worker dies runs on
another one. Where that happens three times, it is under suspicion, for Dask blames all points of a
worker: suspects run when nothing else is in progress, each alone, and the one that takes three
workers with it has failed. A scheduler that is lost ends the sweep; the same command goes on from
the store.

A scheduler carries out what it is sent: it belongs on the loopback address, or behind TLS.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import re
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError
from typing import Any

from opennandlab import _core
from opennandlab.base.errors import ConfigError
from opennandlab.base.threads import cores, set_threads
from opennandlab.policies.source import admit, admitted
from opennandlab.studies.sweeps.engine import Done, Engine, EngineError, run_point
from opennandlab.studies.sweeps.point import Point

CONNECT_S = 10.0
# Own workers that all died, and did not start again in this time, are replaced.
REPLACE_S = 30.0
# Workers that a point may take with it before it has failed.
LOST_WORKERS_MAX = 3
LOOPBACK = "127.0.0.1"
ADDRESS = re.compile(r"(tcp|tls|ucx)://[^\s/]+:\d{1,5}")


def check_address(address: str) -> None:
    """Refuse a text that is no address of a scheduler.

    Raises:
        ConfigError: for it, with an accepted form.
    """
    if not ADDRESS.fullmatch(address):
        raise ConfigError(
            "--scheduler", f"`{address}` is refused; accepted: for example tcp://127.0.0.1:8786"
        )


class Cluster(Engine):
    """Workers of a Dask cluster: one that runs already, or one that is started for the sweep."""

    def __init__(self, address: str | None, jobs: int | None) -> None:
        """Connect to a scheduler, or start workers on this machine.

        Args:
            address: Address of the scheduler, such as `tcp://127.0.0.1:8786`; None for own workers.
            jobs: Points at a time; None for all that the workers take.

        Raises:
            ConfigError: where Dask is not installed.
            EngineError: if there is no answer.
        """
        distributed = _library()
        if address is not None:
            check_address(address)
        self._done: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._futures: dict[str, Any] = {}
        self._sent: dict[str, Point] = {}
        # Points that may have killed workers, the one that runs alone, and those that wait for it.
        self._suspects: deque[Point] = deque()
        self._alone: str | None = None
        self._held: deque[Point] = deque()
        self._own = None
        try:
            if address is None:
                with _without_ctrl_c():
                    self._own = distributed.LocalCluster(
                        n_workers=jobs or cores(), threads_per_worker=1, host=LOOPBACK,
                        dashboard_address=None, silence_logs=logging.CRITICAL,
                    )  # fmt: skip
            self._client: Any = distributed.Client(
                self._own or address, timeout=CONNECT_S, set_as_default=False
            )
        except (OSError, TimeoutError, ValueError) as error:
            raise EngineError(f"no scheduler answers at {address}: {error}") from error
        threads = self._client.nthreads()
        if not threads:
            self.close()
            raise EngineError(
                f"the scheduler at {address} has no workers; start some with dask worker"
            )
        self.slots = min(jobs or 1 << 30, sum(threads.values()))
        self._seen_at_s = time.monotonic()

    def submit(self, point: Point) -> None:
        """Send a point to the scheduler, or let it wait while another one runs alone."""
        if self._alone is None:
            self._send(point)
        else:
            self._held.append(point)

    def _send(self, point: Point) -> None:
        self._sent[point.key] = point
        # A name of its own, since the scheduler may still know the other as failed.
        name = f"opennandlab-{point.key}" + ("-alone" if point.key == self._alone else "")
        future = self._client.submit(
            _remote, _parts(point), admitted(), key=name, pure=False, retries=0
        )
        self._futures[point.key] = future
        future.add_done_callback(lambda ended, key=point.key: self._done.put((key, ended)))

    def wait(self, timeout_s: float) -> list[Done]:
        """Return the points that ended since."""
        if not self._futures:
            self._send_waiting()
        try:
            ended = [self._done.get(timeout=timeout_s)]
        except queue.Empty:
            if self._futures and self._client.status not in {"running", "connecting"}:
                raise EngineError("the scheduler cannot be reached") from None
            self._replace_workers()
            return []
        while not self._done.empty():
            ended.append(self._done.get())
        found = [self._taken(key, future) for key, future in ended if key in self._futures]
        for key, future in ended:
            self._futures.pop(key, None)
            self._sent.pop(key, None)
            future.release()
        return [done for done in found if done is not None]

    def _replace_workers(self) -> None:
        """Start workers of one's own if none is left: on a busy machine a restart may fail."""
        now = time.monotonic()
        if self._own is None or self._client.nthreads():
            self._seen_at_s = now
        elif now - self._seen_at_s >= REPLACE_S:
            self._own.scale(0)
            self._own.scale(self.slots)
            self._seen_at_s = now + CONNECT_S

    def _send_waiting(self) -> None:
        """Send what waited, now that nothing is in progress: all held points, or one suspect."""
        self._alone = None
        while self._held:
            self._send(self._held.popleft())
        if not self._futures and self._suspects:
            point = self._suspects.popleft()
            self._alone = point.key
            self._send(point)

    def running(self) -> Mapping[str, float | None]:
        """Return the points that were sent; how far they are stays on the workers."""
        return dict.fromkeys(list(self._futures)[: self.slots])

    def close(self) -> None:
        """Cancel what is in progress, and stop workers of one's own."""
        futures = list(self._futures.values())
        self._futures.clear()
        if futures and self._client.status == "running":
            self._client.cancel(futures, force=True)
        self._client.close(timeout=2)
        if self._own is not None:
            self._own.close(timeout=5)

    def _taken(self, key: str, future: Any) -> Done | None:  # noqa: ANN401 (without types)
        """Return what became of a point; None for one that becomes a suspect."""
        try:
            # A result that was lost with its worker is computed again, and waited for.
            error = future.exception()
            if error is None:
                found: Done = future.result()
                return found
        except (OSError, CancelledError) as lost:
            raise EngineError(f"the scheduler cannot be reached ({lost})") from lost
        if type(error).__name__ == "KilledWorker":
            if key != self._alone:
                self._suspects.append(self._sent[key])
                return None
            text = f"its worker died {LOST_WORKERS_MAX} times"
        else:
            text = f"{type(error).__name__}: {error}"
        return Done(key, None, {}, text, 0.0, "", _core.version())


def _parts(point: Point) -> dict[str, Any]:
    """Return what a worker needs of a point."""
    return {
        "verb": point.verb, "key": point.key, "settings": point.settings, "seed": point.seed,
    }  # fmt: skip


def _remote(point: Mapping[str, Any], known: list[tuple[str, str]]) -> Done:
    """Run a point on a worker, with the code that was run where it comes from."""
    set_threads(1)
    admit(known)
    return run_point(**point, watch=lambda _: None)


@contextlib.contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Start processes that Ctrl-C on the terminal does not reach: they are ended by this one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _library() -> Any:  # noqa: ANN401 (not installed for all)
    # A worker that dies with a point is bad luck; the third one states that it is the point.
    os.environ.setdefault(
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", str(LOST_WORKERS_MAX - 1)
    )
    # What it has to say of lost connections is said here in a sentence.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        import distributed
    except ImportError as error:
        raise ConfigError(
            "--engine", "dask is not installed: pip install 'opennandlab[cluster]'"
        ) from error
    return distributed
