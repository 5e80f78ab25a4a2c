"""Sweeps on Dask: the same digests as here, whatever is killed, and each point once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from opennandlab.store import Store
from opennandlab.sweeps import cluster
from opennandlab.sweeps.definition import Sweep
from opennandlab.sweeps.engine import EngineError, Threads
from opennandlab.sweeps.runner import Run

ASKED = {
    "name": "kills",
    "device": {"nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
                        "blocks_per_plane": 64, "pages_per_block": 64,
                        "max_pe_cycles": 1_000_000_000}},
    "workload": {"pattern": "random", "total": {"drive_writes": 400}, "timed": False},
    "grid": {"ftl.gc_policy": ["greedy", "fifo"], "ftl.over_provisioning_pct": "0.2:0.4:3"},
    "seeds": 4,
}  # fmt: skip
LOOPBACK = ("--host", "127.0.0.1", "--no-dashboard")


class Machines:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        self.folder = folder
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start("dask_scheduler", "--port", "0")

    def _start(self, module: str, *more: str) -> subprocess.Popen[bytes]:
        named = ("--scheduler-file", str(self.file))
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{module}", *LOOPBACK, *named, *more],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder,
        )  # fmt: skip

    def add_worker(self) -> None:
        self.workers.append(self._start("dask_worker", "--no-nanny", "--nthreads", "1"))

    def address(self, workers: int) -> str:
        """Wait until all are there."""
        import json

        from distributed import Client

        deadline = time.monotonic() + 60
        while not self.file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        address = str(json.loads(self.file.read_text())["address"])
        with Client(address, timeout=30, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=60)
        return address

    def end(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait(20)


@pytest.fixture
def machines(tmp_path) -> Iterator[Machines]:
    found = Machines(tmp_path)
    try:
        yield found
    finally:
        found.end()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> dict[str, str]:
    """Digests of a run in threads."""
    with Store.open(tmp_path_factory.mktemp("here")) as store:
        Run(Sweep.of(ASKED), store).to_the_end(Threads(2))
        return digests(store)


def digests(store: Store) -> dict[str, str]:
    return {entry.key: str((entry.document or {})["digest"]) for entry in store.entries()}


def test_a_cluster_of_ones_own_gives_the_same_digests(tmp_path, undisturbed):
    with Store.open(tmp_path) as store:
        rows = Run(Sweep.of(ASKED), store).to_the_end(cluster.Cluster(None, 2))
        assert len(rows) == 24
        assert digests(store) == undisturbed


def test_killed_workers_lose_no_point_and_run_none_twice_into_the_store(
    tmp_path, machines, undisturbed
):
    for _ in range(3):
        machines.add_worker()
    address = machines.address(3)
    with Store.open(tmp_path / "kept") as store:
        engine = cluster.Cluster(address, None)

        def disturb(state) -> None:
            # Two of three workers die on the way, and one comes back.
            if state.done >= 4 * (2 - len(alive)) and alive:
                alive.pop().send_signal(signal.SIGKILL)
                machines.add_worker()

        alive = machines.workers[:2]
        rows = Run(Sweep.of(ASKED), store, watch=disturb).to_the_end(engine)
        assert not alive
        assert [row.error for row in rows] == [None] * 24
        assert digests(store) == undisturbed


def test_a_lost_scheduler_ends_the_sweep_and_the_next_one_goes_on(tmp_path, machines, undisturbed):
    machines.add_worker()
    address = machines.address(1)
    with Store.open(tmp_path / "kept") as store:

        def disturb(state) -> None:
            if state.done >= 5:
                machines.scheduler.send_signal(signal.SIGKILL)

        run = Run(Sweep.of(ASKED), store, watch=disturb)
        with pytest.raises(EngineError, match="away"):
            run.to_the_end(cluster.Cluster(address, None))
        there = digests(store)
        assert 5 <= len(there) < 24
        assert there.items() <= undisturbed.items()
        again = Run(Sweep.of(ASKED), store)
        assert again.known_count == len(there)
        again.to_the_end(Threads(2))
        assert digests(store) == undisturbed


def test_a_point_that_kills_its_worker_again_and_again_has_failed(tmp_path, monkeypatch):
    run_of = cluster._remote

    def deadly(payload):
        if payload["settings"]["device"]["ftl"]["over_provisioning_pct"] == 0.3:
            os._exit(9)
        return run_of(payload)

    monkeypatch.setattr(cluster, "_remote", deadly)
    asked = {**ASKED, "grid": {"ftl.over_provisioning_pct": [0.2, 0.3, 0.4]}, "seeds": 1}
    with Store.open(tmp_path) as store:
        rows = Run(Sweep.of(asked), store).to_the_end(cluster.Cluster(None, 2))
    assert [row.error is None for row in rows] == [True, False, True]
    assert "its worker died" in str(rows[1].error)


def test_nobody_at_the_address_is_told():
    with pytest.raises(EngineError, match="no scheduler answers"):
        cluster.Cluster("tcp://127.0.0.1:9", None)
