"""Kills workers, clients and schedulers of one sweep at random until it is done all the same.

```text
seed ──► who, when ──► kill -9 ──► a new worker | the same command again | a new scheduler
                                             │
                    the store ◄── sweep ◄────┘       next to it: a run in threads, undisturbed
```
A sweep that ends before it was disturbed often enough gets more seeds, and goes on in its store.

    .venv/bin/python tests/kills.py --count 20 --seed 1
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from machines import Machines
from opennandlab.store import Store
from opennandlab.studies.sweeps.definition import Sweep
from opennandlab.studies.sweeps.engine import Threads
from opennandlab.studies.sweeps.runner import Run

WORKERS = 2
ROLES = ("worker", "client", "scheduler")
# A little longer than a client takes to begin, so that most kills meet points in progress.
PAUSE_S = (0.5, 5.0)
SEEDS = 20
# Far more than the sweep takes by itself: what hangs is a finding.
END_S = 900
ASKED: dict[str, Any] = {
    "name": "kills",
    "device": {"nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
                        "blocks_per_plane": 64, "pages_per_block": 64,
                        "max_pe_cycles": 1_000_000_000}},
    "workload": {"pattern": "random", "total": {"drive_writes": 400}, "timed": False},
    "grid": {"ftl.gc_policy": ["greedy", "fifo"], "ftl.over_provisioning_pct": "0.2:0.4:3"},
}  # fmt: skip


@dataclass
class Disturbed:
    """What came of a sweep that was disturbed.

    Args:
        digests: Of each point of the store, by key.
        kills: How often each role was killed.
        undisturbed: The digests of the same sweep in threads.
        counts: Points that the store had after each kill.
    """

    digests: dict[str, str] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)
    undisturbed: dict[str, str] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)


def digests(store: Store) -> dict[str, str]:
    """Return the digest of each point that is done."""
    return {
        entry.key: str((entry.document or {}).get("digest", entry.error))
        for entry in store.entries()
    }


def disturbed(folder: Path, *, seed: int, roles: list[str], seeds: int) -> Disturbed:
    """Run a sweep on a cluster, and kill one after the other; return what is in the store.

    Args:
        folder: Where all files lie.
        seed: Of the moments.
        roles: Who is killed, in this order.
        seeds: Seeds of each of the six combinations, and so many more when they are done too soon.
    """
    chance = random.Random(seed)  # noqa: S311 (a test)
    found = Disturbed()
    left, more = list(roles), seeds
    deadline = time.monotonic() + END_S
    while True:
        _written(folder, seeds)
        _until_done(folder, left, chance, found, deadline)
        if not left:
            break
        seeds += more
    with Store.open(folder / "kept", create=False) as store:
        found.digests = digests(store)
    with Store.open(folder / "undisturbed") as store:
        Run(Sweep.of({**ASKED, "seeds": seeds}), store).to_the_end(Threads(2))
        found.undisturbed = digests(store)
    return found


def _written(folder: Path, seeds: int) -> None:
    (folder / "sweep.yaml").write_text(json.dumps({**ASKED, "seeds": seeds}), encoding="utf-8")


def _until_done(
    folder: Path, left: list[str], chance: random.Random, found: Disturbed, deadline: float
) -> None:
    """Run the sweep to its end; `left` loses those who were killed."""
    machines = _machines(folder)
    client = _client(folder, machines)
    try:
        while client.poll() is None or client.returncode != 0:
            assert time.monotonic() < deadline, "the sweep hangs"
            if client.poll() is not None:  # it lost its scheduler, and said so
                assert client.returncode == 3, client.returncode
                client = _client(folder, machines)
            if not left:
                time.sleep(0.05)
                continue
            _pause(client, chance.uniform(*PAUSE_S))
            if client.poll() == 0:
                break
            role = left.pop(0)
            found.kills[role] += 1
            if role == "client":
                client.kill()
                client.wait(20)
                client = _client(folder, machines)
            elif role == "worker":
                machines.kill_worker(chance.randrange(len(machines.workers)))
                machines.add_worker()
            else:
                machines.scheduler.kill()
                machines.end()
                client.wait(60)
                machines = _machines(folder)
                client = _client(folder, machines)
            with Store.open(folder / "kept") as store:
                found.counts.append(len(store))
    finally:
        client.kill()
        client.wait(20)
        machines.end()


def _pause(client: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        client.wait(seconds)
    except subprocess.TimeoutExpired:
        return


def _machines(folder: Path) -> Machines:
    (folder / "scheduler.json").unlink(missing_ok=True)
    machines = Machines(folder)
    for _ in range(WORKERS):
        machines.add_worker()
    return machines


def _client(folder: Path, machines: Machines) -> subprocess.Popen[bytes]:
    address = machines.address(1)
    return subprocess.Popen(
        [sys.executable, "-m", "opennandlab", "sweep", "sweep.yaml", "--engine", "dask",
         "--scheduler", address, "--store", "kept", "--quiet"],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def main() -> int:
    """Disturb a sweep, compare, and print."""
    parser = argparse.ArgumentParser(description="Kill the parts of a sweep at random.")
    parser.add_argument("--count", type=int, default=20, help="kills")
    parser.add_argument("--seed", type=int, default=1, help="of who is killed, and when")
    asked = parser.parse_args()
    chance = random.Random(f"{asked.seed}/roles")  # noqa: S311 (a test)
    roles = [chance.choice(ROLES) for _ in range(asked.count)]
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        found = disturbed(Path(folder), seed=asked.seed, roles=roles, seeds=SEEDS)
        seconds = time.monotonic() - began
    kills = ", ".join(f"{role} {found.kills[role]}" for role in ROLES)
    missing = found.undisturbed.keys() - found.digests.keys()
    differing = [k for k, v in found.digests.items() if found.undisturbed.get(k) != v]
    lines = (
        f"{sum(found.kills.values())} kills ({kills}) in {seconds:.0f} s",
        f"points after each: {' '.join(map(str, found.counts))}",
        f"{len(found.digests)} points, {len(missing)} lost, {len(differing)} of another digest",
    )
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if missing or differing else 0


if __name__ == "__main__":
    sys.exit(main())
