"""Rates of sweeps: points per second on one core and on two, what a point costs beside its run.

    python benches/sweep.py [points] [drive_writes]

Untimed random overwrites of drives of 128 MiB, one of a thousand over-provisionings each, into a
new store each time; then the same sweep again, of which nothing has to be run.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import opennandlab as onl
from opennandlab.store import Store
from opennandlab.studies.sweeps.definition import Sweep
from opennandlab.studies.sweeps.engine import Threads
from opennandlab.studies.sweeps.runner import Run

DEVICE = {
    "nand": {"channels": 2, "dies_per_channel": 1, "blocks_per_plane": 128, "pages_per_block": 128}
}


def asked(points: int, drive_writes: float) -> Sweep:
    """Return a sweep of so many points."""
    work = {
        "pattern": "random",
        "precondition": [{"kind": "sequential_fill", "fills": 1}],
        "total": {"drive_writes": drive_writes},
        "timed": False,
    }
    grid = {"ftl.over_provisioning_pct": f"0.1:0.4:{points}"}
    return Sweep.of({"device": DEVICE, "workload": work, "grid": grid})


def swept(wanted: Sweep, folder: Path, jobs: int) -> float:
    """Return how long a sweep takes on so many cores: also what keeps its points runs on these."""
    usable = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, usable[:jobs])
    try:
        return _timed(wanted, folder, jobs)
    finally:
        os.sched_setaffinity(0, usable)


def _timed(wanted: Sweep, folder: Path, jobs: int) -> float:
    began = time.perf_counter()
    with Store.open(folder) as store:
        engine = Threads(jobs)
        onl.set_threads(1)  # a single point at a time would have its drive use all cores
        Run(wanted, store).to_the_end(engine)
    return time.perf_counter() - began


def alone(wanted: Sweep, count: int) -> float:
    """Return how long one of some points takes by itself; they are spread over all of them."""
    onl.set_threads(1)
    some = wanted.cells[:: max(1, len(wanted.cells) // count)]
    settings = [cell.settings for cell in some if cell.settings is not None]
    began = time.perf_counter()
    for each in settings:
        device = onl.load_device(each["device"])
        onl.benchmark(device, onl.load_workload(each["workload"], device))
    onl.set_threads(None)
    return (time.perf_counter() - began) / len(settings)


def main() -> None:
    """Measure, and print."""
    points = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    wanted = asked(points, float(sys.argv[2]) if len(sys.argv) > 2 else 4.0)
    own_s = alone(wanted, min(points, 200))
    with tempfile.TemporaryDirectory() as folder:
        one_s = swept(wanted, Path(folder) / "one", 1)
        two_s = swept(wanted, Path(folder) / "two", 2)
        again_s = swept(wanted, Path(folder) / "two", 2)
    print(f"{points} points, {1e3 * own_s:.2f} ms each by itself")
    print(f"one core   {one_s:7.2f} s  {1e3 * (one_s / points - own_s):6.2f} ms more each")
    print(f"two cores  {two_s:7.2f} s  {one_s / two_s:6.2f} times as fast")
    print(f"again      {again_s:7.2f} s")


if __name__ == "__main__":
    main()
