"""Sweeps on Dask: the same digests as here, whatever is killed, and each point once."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

from kills import ASKED as KILLED
from kills import digests, disturbed
from machines import Machines

pytest.importorskip("distributed")

import opennandlab as onl
from opennandlab.store import Store
from opennandlab.studies.sweeps import cluster
from opennandlab.studies.sweeps.definition import Sweep
from opennandlab.studies.sweeps.engine import EngineError, Threads
from opennandlab.studies.sweeps.runner import Run

ASKED = {**KILLED, "seeds": 4}


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


def test_a_cluster_of_ones_own_gives_the_same_digests(tmp_path, undisturbed):
    with Store.open(tmp_path) as store:
        rows = Run(Sweep.of(ASKED), store).to_the_end(cluster.Cluster(None, 2))
        assert len(rows) == 24
        assert digests(store) == undisturbed


@pytest.mark.always
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

    def deadly(payload, known):
        if payload["settings"]["device"]["ftl"]["over_provisioning_pct"] == 0.3:
            os._exit(9)
        return run_of(payload, known)

    monkeypatch.setattr(cluster, "_remote", deadly)
    share = [0.2, 0.22, 0.24, 0.3, 0.34, 0.36, 0.38, 0.4]
    asked = {**ASKED, "grid": {"ftl.over_provisioning_pct": share}, "seeds": 1}
    with Store.open(tmp_path) as store:
        rows = Run(Sweep.of(asked), store).to_the_end(cluster.Cluster(None, 2))
    failed = [row for row in rows if row.error is not None]
    assert [row.coordinates["ftl.over_provisioning_pct"] for row in failed] == [0.3]
    assert "its worker died" in str(failed[0].error)


def test_workers_that_all_died_and_did_not_come_back_are_replaced(
    tmp_path, monkeypatch, undisturbed
):
    """A sweep waited for ever on a busy machine, where Dask gives up starting a worker again."""
    monkeypatch.setattr(cluster, "REPLACE_S", 0.0)
    engine = cluster.Cluster(None, 2)
    engine._own.scale(0)
    while engine._client.nthreads():
        time.sleep(0.05)
    with Store.open(tmp_path) as store:
        Run(Sweep.of(ASKED), store).to_the_end(engine)
        assert digests(store) == undisturbed


def test_workers_run_the_code_that_was_allowed_and_no_other(tmp_path, monkeypatch):
    """A worker is a process that has allowed nothing: it gets what its client ran, by hash."""
    (tmp_path / "mine.py").write_text(
        '__opennandlab__ = {"policies": ["First"]}\n'
        "class First:\n    def choose(self, pool):\n"
        "        return pool.order[pool.closed_at[pool.order].argmin()]\n"
    )
    monkeypatch.chdir(tmp_path)
    asked = {**ASKED, "grid": {"ftl.gc_policy": ["greedy", "mine:First"]}, "seeds": 1}
    with Store.open(tmp_path / "store") as store:
        with onl.allow_code():
            run = Run(Sweep.of(asked), store)
        rows = run.to_the_end(cluster.Cluster(None, 1))
    assert [row.error for row in rows] == [None, None]
    assert rows[0].metrics["waf"] != rows[1].metrics["waf"]


def test_nobody_at_the_address_is_told(monkeypatch):
    # Nothing listens there, so the library asks again and again until the time is over.
    monkeypatch.setattr(cluster, "CONNECT_S", 1.0)
    with pytest.raises(EngineError, match="no scheduler answers"):
        cluster.Cluster("tcp://127.0.0.1:9", None)


def test_a_sweep_survives_the_death_of_each_of_its_processes(tmp_path):
    roles = ["worker", "client", "scheduler"]
    found = disturbed(tmp_path, seed=1, roles=roles, seeds=4)
    assert dict(found.kills) == dict.fromkeys(roles, 1)
    assert found.digests == found.undisturbed
