"""Outputs of fio with keys removed and units changed, and logs of it that are damaged.

Figures agree, or a doubt is said.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from newer import FIO
from parts import Bases, Made, damaged, dumped

VERSIONS = ("fio-2.0.10", "fio-2.1.14", "fio-2.2.10", "fio-2.19", "fio-2.99", "fio-3.1", "fio-3.17",
            "fio-3.42", "fio-9", "3.33", None)  # fmt: skip
COUNTED = ("io_bytes", "bw", "bw_bytes", "iops", "runtime", "total_ios")
OPTIONS = ("bs", "rw", "iodepth", "numjobs", "ioengine", "rwmixread")
VALUES = ("4k", "16k", "randread", "randwrite", "randrw", "8", "1", "psync", "x")


def measured_by_fio(rng: random.Random, bases: Bases) -> Made:
    """Output of fio of which keys are removed, or stand in other units or for another load."""
    del bases
    document = json.loads(json.dumps(rng.choice(_outputs())))
    for _ in range(rng.choice((1, 1, 2, 3))):
        job = rng.choice(document["jobs"])
        name = rng.choice(("read", "write"))
        side = job[name] if isinstance(job.get(name), dict) else {}
        rng.choice(CHANGES)(rng, document, job, side)
    return ("pts", "import", "f.json", "--output", "out.json"), {"f.json": dumped(document)}


def _outputs() -> list[Any]:
    folder = Path(__file__).parent / ".." / "fio"
    names = ("mixed.json", "plain.json", "plus.json", "unlike.json")
    return [FIO, *(json.loads((folder / name).read_bytes()) for name in names)]


Part = dict[str, Any]


def _without(rng: random.Random, document: Part, job: Part, side: Part) -> None:
    part = rng.choice((side, side, job, document))
    removed = sorted(set(part) - {"jobs", "read", "write"})
    if removed:
        del part[rng.choice(removed)]


def _version(rng: random.Random, document: Part, job: Part, side: Part) -> None:
    del job, side
    document["fio version"] = rng.choice(VERSIONS)


def _unit(rng: random.Random, document: Part, job: Part, side: Part) -> None:
    del document, job
    key = rng.choice(COUNTED)
    if isinstance(side.get(key), int | float):
        side[key] = type(side[key])(side[key] * rng.choice((1024, 1 / 1024, 1000, 0.001, 2)))


def _of_old(rng: random.Random, document: Part, job: Part, side: Part) -> None:
    """Let the names of times be those of versions that counted microseconds."""
    del rng, document, job
    for key in ("slat", "clat", "lat"):
        if f"{key}_ns" in side:
            side[key] = side.pop(f"{key}_ns")


def _load(rng: random.Random, document: Part, job: Part, side: Part) -> None:
    del document, side
    job.setdefault("job options", {})[rng.choice(OPTIONS)] = rng.choice(VALUES)


def _time(rng: random.Random, document: Part, job: Part, side: Part) -> None:
    del document, job
    if isinstance(side.get("lat_ns"), dict):
        side["lat_ns"][rng.choice(("mean", "max", "N"))] = rng.choice((0, 1, 10**9, 5e5, None))


def _side(rng: random.Random, document: Part, job: Part, side: Part) -> None:
    del document
    job[rng.choice(("read", "write"))] = rng.choice(({}, None, side, [side]))


CHANGES: tuple[Callable[[random.Random, Part, Part, Part], None], ...] = (
    *(_without, _without, _version, _unit, _unit, _of_old, _load, _time, _side),
)


def agreement(path: Path) -> Iterator[str]:
    """Yield where figures of an import do not agree with each other, and nothing says so.

    Rate times bytes of a request is the throughput, and rate times response time is the number of
    requests in flight, which is what the label says.
    """
    if not path.is_file():
        return
    document = json.loads(path.read_bytes())
    said = "\n".join(document["warnings"])
    columns, rows = document["cells"]["columns"], document["cells"]["rows"]
    for row in (dict(zip(columns, one, strict=True)) for one in rows):
        label = row["label"].removeprefix("RND ").removeprefix("SEQ ")
        if "uncertain" in label:
            continue
        iops, mean = row["iops"], row["lat_us_mean"]
        rate = iops * row["block_bytes"] / 1e6
        if not math.isclose(rate, row["mb_s"], rel_tol=0.02):
            yield f"{label}: {iops} IOPS of {row['block_bytes']} B are not {row['mb_s']} MB/s"
        parts = (row["read_iops"] or 0) + (row["write_iops"] or 0)
        if row["read_iops"] is not None and not math.isclose(parts, iops, rel_tol=0.02):
            yield f"{label}: {row['read_iops']} and {row['write_iops']} are not {iops} IOPS"
        if mean is not None and row["threads"] and row["queue_depth"]:
            flying, most = iops * mean * 1e-6, row["threads"] * row["queue_depth"]
            if not 0.45 * most <= flying <= 1.06 * most:
                yield f"{label}: {flying:.4g} requests in flight of {most}"
        if mean is None and "response times" not in said:
            yield f"{label}: no mean, and nothing says so"


NUMBERS_IN_LOGS = ("", "-1", "nan", "inf", "1e400", "1.5", "0x10", "x", "9" * 30, str(2**63), "٣",
                   "0", "1", "99999999999999", "\x1b[31m", "7" * 5000)  # fmt: skip
LOGS = ("a_iops.1.log", "a_bw.1.log", "a_lat.1.log", "a_clat.2.log", "a_slat.1.log",
        "a_clat_hist.1.log", "a.log", "a.json")  # fmt: skip


def series_of_fio(rng: random.Random, bases: Bases) -> Made:
    """Logs, histograms, statuses and terse output of fio, damaged; alone or several together."""
    del bases
    names = rng.sample(LOGS, rng.choice((1, 1, 2, 3)))
    files = {name: _spoiled(rng, _series(rng, name)) for name in names}
    if rng.random() < 0.5:
        asked = [f"--file={name}" for name in names]
        column = rng.choice(("iops", "clat_us_p99", "2", "x"))
        more = rng.choice(
            ((), ("--direction", "all"), ("--direction", "read"), ("--column", column))
        )
        return ("pts", "steady-state", *asked, *more), files
    more = rng.choice(((), ("--unit", "lat_us"), ("--block-size", "4KiB"), ("--test", "wsat"),
                       ("--capacity", "1GiB"), ("--allow-cut",)))  # fmt: skip
    return ("pts", "import", *names, *more, "--output", "out.json"), files


def _series(rng: random.Random, name: str) -> bytes:
    times = [(at + 1) * 500 + rng.choice((0, 0, 1)) for at in range(rng.choice((1, 5, 40)))]
    if name.endswith(".json"):
        folder = Path(__file__).parent / ".." / "fio"
        return (folder / rng.choice(("status.json", "terse.txt"))).read_bytes()
    if "hist" in name:
        bins = rng.choice((29, 1856, 1216, 30))
        rows = [
            [ms, rng.choice((0, 1)), 4096, *(rng.choice((0, 0, 3)) for _ in range(bins))]
            for ms in times
        ]
    else:
        more = rng.choice(((), (0,), ("0x0001",), (8192, 0), (8192, 0, 5)))
        rows = [
            [ms, rng.choice((1, 100, 5000)), rng.choice((0, 0, 1)), rng.choice((0, 4096)), *more]
            for ms in times
        ]
    return "".join(", ".join(map(str, row)) + "\n" for row in rows).encode()


def _spoiled(rng: random.Random, raw: bytes) -> bytes:
    how = rng.randrange(4)
    if how == 0 or rng.random() < 0.3:
        return raw
    if how == 1:
        return damaged(rng, raw)
    if how == 2:
        return raw[: rng.randrange(len(raw) + 1)]
    mark = rng.choice((",", ";"))
    fields = raw.decode(errors="replace").split(mark)
    fields[rng.randrange(len(fields))] = rng.choice(NUMBERS_IN_LOGS)
    return mark.join(fields).encode()


MAKERS = (measured_by_fio, series_of_fio)
