"""How fast the store of runs is: adding, listing, filtering, averaging and merging.

    python benches/store.py [POINTS] [METRICS] [FOLDER]

Points are those of a grid of three policies with five seeds each; every one has the document of a
real run on a small drive, with its own numbers in it. Times are of the processor, the best of three
but for adding and merging.
"""

from __future__ import annotations

import hashlib
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import opennandlab as onl
from opennandlab.documents.record import JsonObject
from opennandlab.reports.output import write
from opennandlab.store import Entry, Store, key_of
from opennandlab.studies.sweeps.drawing import IDENTITY, of_rows

SMALL = {
    "nand": {"channels": 2, "dies_per_channel": 1, "blocks_per_plane": 64, "pages_per_block": 32},
    "ftl": {"over_provisioning_pct": 0.28},
}
SHORT = {"name": "short", "pattern": "random", "read_pct": 50, "total": {"ios": 20_000}}
BATCH = 20
PLOTTED = 1000


def entries(document: JsonObject, first: int, last: int, metrics: int) -> Iterator[Entry]:
    """Yield points; equal numbers are equal points."""
    names = ["waf", *(f"latency_us.write.p{place}" for place in range(metrics - 1))]
    for number in range(first, last):
        group, seed = divmod(number, 5)
        draw = random.Random(number)  # noqa: S311 (numbers, no secrets)
        values = [draw.random() * 5 for _ in names]
        policy = ("greedy", "fifo", "random")[group % 3]
        coordinates = {"ftl.gc_policy": policy, "ftl.over_provisioning_pct": group // 3 / 1e5}
        settings = {"device": document["device"] | coordinates, "workload": document["workload"]}
        own = document | {"seed": seed, "warnings": [str(value) for value in values[:5]]}
        own["digest"] = hashlib.sha256(repr(values).encode()).hexdigest()
        yield Entry(
            key=key_of("benchmark", settings, seed, 1),
            verb="benchmark",
            seed=seed,
            settings=settings,
            coordinates=coordinates,
            metrics=dict(zip(names, values, strict=True)),
            document=own,
            error=None,
            wall_s=1.0,
            program="1",
            model_version=1,
            created=f"2026-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z",
            host="here",
            sweep="bench",
        )


def fill(place: Path, points: Iterator[Entry]) -> tuple[float, float]:
    """Add points in batches; return processor and wall time of all of them, s."""
    cpu = wall = 0.0
    with Store.open(place) as store:
        while batch := [point for _, point in zip(range(BATCH), points, strict=False)]:
            begin, at = time.perf_counter(), time.process_time()
            store.add(batch)
            cpu, wall = cpu + time.process_time() - at, wall + time.perf_counter() - begin
    return cpu, wall


def told(what: str, act: Callable[[], object], times: int = 3) -> None:
    """Print the processor time of something, the best of some, and the wall time of that one."""
    best = (float("inf"), 0.0)
    for _ in range(times):
        begin, at = time.perf_counter(), time.process_time()
        act()
        best = min(best, (time.process_time() - at, time.perf_counter() - begin))
    print(f"{what:50} {best[0]:8.3f} s  ({best[1]:.3f} s of wall time)", flush=True)


def main() -> None:
    """Print a line for each."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    metrics = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    document = onl.benchmark(SMALL, SHORT).document
    with tempfile.TemporaryDirectory(dir=sys.argv[3] if len(sys.argv) > 3 else None) as name:
        folder = Path(name)
        half = count // 2
        cpu, wall = fill(folder / "a", entries(document, 0, half, metrics))
        each = 1e3 / half
        print(f"adding, batches of {BATCH}, each: {cpu * each:.3f} ms ({wall * each:.3f} ms wall)")
        fill(folder / "b", entries(document, half, count, metrics))
        with Store.open(folder / "a") as store:
            told(f"merging {half} into {half}", lambda: store.merge(folder / "b"), 1)
            size = store.file.stat().st_size
            print(f"{count} points of {metrics} metrics: {size / count:.0f} bytes each", flush=True)
            newest = {"limit": 20}
            told("list, the newest 20", lambda: store.rows(**newest))
            told("list --where waf>=4.5", lambda: store.rows(where=["waf>=4.5"], **newest))
            both = ["ftl.gc_policy=greedy", "waf>=4.5"]
            told(
                "list --where gc_policy=greedy, waf>=4.5", lambda: store.rows(where=both, **newest)
            )
            told("list --where seed=1", lambda: store.rows(where=["seed=1"], **newest))
            told("list --order waf", lambda: store.rows(order="waf", **newest))
            told("table 'waf by gc_policy,op', five seeds each", lambda: averaged(store))
            told("all values of all points", store.rows)
            keys = [point.key for point in entries(document, 0, 10_000, metrics)]
            told("known, 10 000 keys", lambda: store.known(keys))
            told("entry", lambda: store.entry(keys[77]))
            told("plot of 1,000 points, SVG", lambda: drawn(store, folder / "plot.svg"))
            told("plot of 1,000 points, HTML page", lambda: drawn(store, folder / "plot.html"))


def averaged(store: Store) -> None:
    """Average one metric over the seeds of all settings."""
    store.means(["waf"], ["ftl.gc_policy", "ftl.over_provisioning_pct"])


def drawn(store: Store, path: Path) -> None:
    """Draw some of the points, as `runs plot` does."""
    where = ["status=done"]
    rows = store.rows(where=where, limit=PLOTTED)
    kinds = store.rows(where=where, limit=PLOTTED, columns=IDENTITY)
    write(of_rows(rows, kinds, {"y": "waf"}).report, path)


if __name__ == "__main__":
    main()
