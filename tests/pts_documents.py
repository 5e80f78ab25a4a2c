"""Documents of the standard tests for tests of their reports: small, made up, always the same.

The shapes are those of real drives (small random writes are slow, a full drive is slower than an
empty one), the numbers are not: nothing here was measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from opennandlab.canonical import digest
from opennandlab.stats.steady import steady_state

GIB = 1 << 30
CAPACITY = 32 * GIB
CELL_COLUMNS = [
    "phase", "round", "rw_pct", "block_bytes", "threads", "queue_depth", "label", "start_s",
    "seconds", "ios", "iops", "read_iops", "write_iops", "mb_s", "read_mb_s", "write_mb_s",
    "lat_us_mean", "lat_us_p50", "lat_us_p99", "lat_us_p999", "lat_us_p9999", "lat_us_p99999",
    "lat_us_max", "written_bytes", "waf", "cpu_pct",
]  # fmt: skip
MIXES = [100, 95, 65, 50, 35, 5, 0]
BLOCKS = [1048576, 131072, 65536, 32768, 16384, 8192, 4096, 512]


class Recorder:
    """Collects the phases and cells of a run, and its clock."""

    def __init__(self) -> None:
        """Begin with an empty drive at time zero."""
        self.now_s = 0.0
        self.written = 0
        self.phases: list[dict[str, Any]] = []
        self.rows: list[list[Any]] = []

    def phase(
        self,
        name: str,
        *,
        round: int | None = None,  # noqa: A002 (the name in the document)
        seconds: float = 0.0,
    ) -> None:
        """Open a phase."""
        self.phases.append(
            {
                "name": name, "index": len(self.phases), "round": round, "start_s": self.now_s,
                "end_s": self.now_s + seconds, "written_bytes": self.written,
            }
        )  # fmt: skip
        self.now_s += seconds

    def cell(  # noqa: PLR0913 (a row of the document)
        self,
        iops: float,
        *,
        read_pct: int = 0,
        block: int | None = 4096,
        threads: int = 4,
        depth: int = 32,
        label: str = "",
        seconds: float = 0.5,
        waf: float | None = 2.5,
        cpu_pct: float | None = None,
    ) -> None:
        """Add a cell to the open phase."""
        size = block or 7818
        ios = round(iops * seconds)
        mean = 1e6 * threads * depth / iops
        reads = read_pct / 100
        mb_s = iops * size * 1e-6
        self.written += round(ios * (1 - reads) * size)
        phase = self.phases[-1]
        tails = {0.5: 0.9, 0.99: 2.2, 0.999: 3.5, 0.9999: 6.0, 0.99999: 9.0}
        lat = [mean * f if ios * (1 - q) >= 10 else None for q, f in tails.items()]
        self.rows.append(
            [
                phase["index"], phase["round"], read_pct, block, threads, depth,
                label or f"RND {size / 1024:g} KiB {read_pct}/{100 - read_pct}", self.now_s,
                seconds, ios, iops, iops * reads, iops * (1 - reads), mb_s, mb_s * reads,
                mb_s * (1 - reads), mean, *lat, mean * 12, self.written, waf, cpu_pct,
            ]
        )  # fmt: skip
        self.now_s += seconds
        phase["end_s"] = self.now_s
        phase["written_bytes"] = self.written

    def cells(self, column: str, **wanted: Any) -> list[float]:
        """Return a column of the cells that have these values."""
        place = CELL_COLUMNS.index(column)
        return [
            row[place]
            for row in self.rows
            if all(row[CELL_COLUMNS.index(key)] == value for key, value in wanted.items())
        ]


def header(**changes: Any) -> dict[str, Any]:
    """Return a header, with changes."""
    return {
        "pts_version": "2.0.2",
        "profile": "E",
        "conformance": "scaled",
        "deviations": ["cells of 0.5 s instead of 60 s (time base scaled)"],
        "target": {
            "kind": "sim",
            "name": "sim:tlc_standard",
            "device": {
                "vendor": "opennandlab", "model": "tlc_standard", "firmware": "model 7",
                "serial_sha256": None, "capacity_bytes": CAPACITY, "sector_bytes": 512,
                "nand_type": "TLC", "interface": "NVMe", "config": {"ftl": {}},
                "config_sha256": "ab" * 32, "over_provisioning_ratio": 0.0737,
            },
            "platform": {"simulator_version": "0.1.0", "model_version": 7},
        },
        "time_base": {
            "name": "scaled", "clock": "virtual",
            "cell": {"seconds": 0.2, "ios": 2000, "seconds_max": 60, "ramp_ratio": 0.02},
            "gap": {"capacities": 0.5},
        },
        "seed": 42,
        "cache": {"asked": "disabled", "state": "disabled"},
        "data": "random",
        "active_range": {"share": 1.0, "amount_bytes": None, "segments": None},
        "threads": 4,
        "queue_depth": 32,
        "align": 4096,
        "purge": {"method": "erase of all blocks", "is_purge": True, "note": ""},
        "wipc": {
            "pattern": "sequential", "block_bytes": 131072, "capacities": 2.0,
            "bytes": 2 * CAPACITY, "passes": 2.0,
        },
        "oio_throttle": None,
        "interrupted": False,
        "temperature_c": None,
        **changes,
    }  # fmt: skip


def steady(  # noqa: PLR0913 (the parts of an entry)
    values: list[float], *, metric: str = "iops", read_pct: int = 0, block: int | None = 4096,
    label: str = "RND 4 KiB 0/100", group: str | None = None, last: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the entry of a tracking variable; `last` ends the window where others hold it up."""
    reached = next(
        (count for count in range(5, len(values) + 1) if steady_state(values[:count]).steady), None
    )
    last = last or reached or len(values)
    rule = steady_state(values[:last]).to_dict()
    attained = rule.pop("steady")
    return {
        "tracking": {"metric": metric, "rw_pct": read_pct, "block_bytes": block, "label": label},
        **({"group": group} if group else {}),
        "values_by_round": [[number, value] for number, value in enumerate(values, 1)],
        "attained": attained,
        "round": last,
        "rounds": len(values),
        "rounds_max": 25,
        "window": list(range(last - 4, last + 1)),
        "values": values[last - 5 : last],
        **rule,
    }


def document(  # noqa: PLR0913 (the parts of a document)
    test: str,
    title: str,
    recorder: Recorder,
    *,
    steady_states: list[dict[str, Any]],
    results: dict[str, Any] | None = None,
    tables: list[dict[str, Any]] | None = None,
    head: dict[str, Any] | None = None,
    **parts: Any,
) -> dict[str, Any]:
    """Return a whole document with its digest."""
    made = {
        "schema": "opennandlab.pts/1",
        "tool": {"name": "opennandlab", "version": "0.1.0", "commit": "abc1234"},
        "test": test,
        "title": title,
        "name": f"{test} of sim:tlc_standard",
        "header": head or header(),
        "phases": recorder.phases,
        "cells": {"columns": CELL_COLUMNS, "rows": recorder.rows},
        "steady_state": steady_states,
        "results": results or {},
        "tables": tables or [],
        **parts,
    }
    made["digest"] = digest(made)
    return made


def wobble(step: int, size: float = 0.02) -> float:
    """Return a factor near one that looks like noise and is none."""
    return 1 + size * math.sin(step * 2.399 + step * step * 0.7)


def base_iops(read_pct: int, block: int) -> float:
    """Return the IOPS of a made-up drive."""
    reads, pages = read_pct / 100, max(block / 4096, 1)
    read_s, write_s = 7e-6 * (0.55 + 0.45 * pages), 42e-6 * (0.4 + 0.6 * pages)
    mixed = 1 + 0.5 * reads * (1 - reads)
    penalty = 1.3 if block < 4096 and read_pct < 100 else 1.0
    return 1 / ((reads * read_s + (1 - reads) * write_s * penalty) * mixed)


def iops(*, attained: bool = True) -> dict[str, Any]:
    """Return a document of the IOPS test."""
    recorder = Recorder()
    recorder.phase("purge")
    recorder.written = 2 * CAPACITY
    recorder.phase("wipc", seconds=70.0)
    rounds = 8
    for number in range(1, rounds + 1):
        recorder.phase("round", round=number)
        fade = 1 + (0.9 if attained else 0.9 * (rounds - number)) * math.exp(-number / 1.6)
        fade *= 1 if attained else 1 + 0.1 * (rounds - number)
        for place, read_pct in enumerate(MIXES):
            for index, block in enumerate(BLOCKS):
                noise = wobble(number * 56 + place * 8 + index)
                writes = 1 - read_pct / 100
                found = base_iops(read_pct, block) * (1 + (fade - 1) * writes) * noise
                recorder.cell(found, read_pct=read_pct, block=block)
    tracked = [
        (0, 4096, "RND 4 KiB 0/100"),
        (65, 65536, "RND 64 KiB 65/35"),
        (100, 1048576, "RND 1024 KiB 100/0"),
    ]
    states = [
        steady(
            recorder.cells("iops", rw_pct=read_pct, block_bytes=block),
            read_pct=read_pct, block=block, label=label, last=rounds,
        )
        for read_pct, block, label in tracked
    ]  # fmt: skip
    window = range(rounds - 4, rounds + 1)
    values = [
        [
            sum(recorder.cells("iops", rw_pct=m, block_bytes=b, round=r)[0] for r in window) / 5
            for m in reversed(MIXES)
        ]
        for b in reversed(BLOCKS)
    ]
    table = {
        "id": "iops",
        "title": "IOPS, mean of the window",
        "unit": "IOPS",
        "row_label": "Block size (KiB)",
        "column_label": "R/W mix (%)",
        "rows": [f"{block / 1024:g}" for block in reversed(BLOCKS)],
        "columns": [f"{m}/{100 - m}" for m in reversed(MIXES)],
        "values": values,
    }
    return document(
        "iops", "IOPS", recorder, steady_states=states, tables=[table],
        results={"rounds": rounds, "steady_iops_4k_write": states[0]["average"]},
    )  # fmt: skip


def throughput() -> dict[str, Any]:
    """Return a document of the throughput test."""
    recorder = Recorder()
    states = []
    for block in (1048576, 131072):
        recorder.phase("purge")
        recorder.phase("wipc", seconds=60.0)
        for number in range(1, 6):
            recorder.phase("round", round=number)
            for read_pct, mb_s in ((100, 532.6), (0, 241.5)):
                found = mb_s * 1e6 / block * wobble(number + read_pct)
                label = f"SEQ {block / 1024:g} KiB {read_pct}/{100 - read_pct}"
                recorder.cell(found, read_pct=read_pct, block=block, threads=1, label=label)
        written = recorder.cells("write_mb_s", block_bytes=block, rw_pct=0)
        size = f"{block / 1024:g} KiB"
        states.append(
            steady(written, metric="write_mb_s", block=block, label=f"SEQ {size} 0/100", group=size)
        )
    return document("throughput", "Throughput", recorder, steady_states=states)


def latency() -> dict[str, Any]:
    """Return a document of the latency test, whose 99.999 % percentiles were not measured."""
    recorder = Recorder()
    recorder.phase("purge")
    recorder.phase("wipc", seconds=60.0)
    for number in range(1, 7):
        recorder.phase("round", round=number)
        for read_pct in (100, 65, 0):
            for block in (8192, 4096, 512):
                art_us = (140 + (100 - read_pct)) * max(block / 4096, 1) * wobble(number, 0.01)
                recorder.cell(1e6 / art_us, read_pct=read_pct, block=block, threads=1, depth=1)
    recorder.phase("histogram")
    recorder.cell(5000.0, threads=1, depth=1, seconds=4.0)
    arts = recorder.cells("lat_us_mean", rw_pct=0, block_bytes=4096)[:6]
    mixes, sizes = [0, 65, 100], [512, 4096, 8192]
    tables = [
        {
            "id": name, "title": title, "unit": "ms", "row_label": "Block size (KiB)",
            "column_label": "R/W mix (%)", "rows": [f"{size / 1024:g}" for size in sizes],
            "columns": [f"{mix}/{100 - mix}" for mix in mixes],
            "values": [
                [
                    None if name == "p99999"
                    else recorder.cells(column, rw_pct=mix, block_bytes=size)[4] * 1e-3
                    for mix in mixes
                ]
                for size in sizes
            ],
        }
        for name, title, column in (
            ("art", "Mean response time (ART)", "lat_us_mean"),
            ("mrt", "Longest response time (MRT)", "lat_us_max"),
            ("p99999", "99.999 % of the requests are faster", "lat_us_p99999"),
        )
    ]  # fmt: skip
    return document(
        "latency", "Latency", recorder, steady_states=[steady(arts, metric="lat_us_mean")],
        tables=tables, histograms=[histogram("response_time", "Response time", 20000)],
    )  # fmt: skip


def histogram(name: str, title: str, count: int, median_us: float = 180.0) -> dict[str, Any]:
    """Return response times that are log-normal, in bins 2 % wide."""
    values = [round(median_us * 1000 * 1.02**step) for step in range(-60, 140)]
    weights = [math.exp(-0.5 * (step / 26) ** 2) for step in range(-60, 140)]
    counts = [round(count * weight / sum(weights)) for weight in weights]
    pairs = [(ns, found) for ns, found in zip(values, counts, strict=True) if found]
    return {
        "id": name, "title": title, "count": sum(found for _, found in pairs),
        "ns": [ns for ns, _ in pairs], "counts": [found for _, found in pairs],
        "sum_ns": float(sum(ns * found for ns, found in pairs)), "max_ns": pairs[-1][0] + 999,
    }  # fmt: skip


def wsat() -> dict[str, Any]:
    """Return a document of the write saturation test."""
    recorder = Recorder()
    recorder.phase("purge")
    values = []
    for number in range(1, 8):
        recorder.phase("wsat", round=number)
        for step in range(10):
            age = (number - 1) * 10 + step
            speed = 25000 + 62000 / (1 + math.exp((age - 12) / 2.5))
            recorder.cell(speed * wobble(age), seconds=60.0, waf=1 + 2.2 * (1 - math.exp(-age / 9)))
        values.append(recorder.rows[-1][CELL_COLUMNS.index("iops")])
    return document(
        "wsat", "Write saturation", recorder, steady_states=[steady(values)],
        head=header(wipc=None), histograms=[histogram("response_time", "Response time", 200000)],
        results={
            "attained": True, "ended_by": "steady_state", "fob_iops": 87000.0,
            "steady_iops": 25000.0, "steady_ratio": 0.287, "cliff_minutes": 13.0,
            "cliff_drive_fills": 7.6,
        },
    )  # fmt: skip


def hir() -> dict[str, Any]:
    """Return a document of the host idle recovery test."""
    recorder = Recorder()
    recorder.phase("purge")
    for number in range(1, 7):
        recorder.phase("precondition", round=number)
        recorder.cell(25000 * (1 + math.exp(-number)) * wobble(number, 0.01))
    values = recorder.cells("iops")
    segments = []
    for place, wait in enumerate((1, 2, 3, 5, 10), 1):
        start = recorder.now_s
        gain = 1 + 0.28 * wait**0.6
        for part, factor in (("active", gain), ("return", 1.03)):
            recorder.phase("segment")
            for step in range(12):
                fall = (gain - 1) * math.exp(-step) if part == "return" else 0.0
                label = f"wait {wait} {part}"
                recorder.cell(25000 * (factor + fall) * wobble(step + wait), seconds=5, label=label)
                recorder.now_s += 5.0 * wait if part == "active" else 0.0
        segments.append(
            {
                "segment": place, "wait_state": wait, "idle_s": 5.0 * wait,
                "part1_iops": 25000 * gain, "part2_iops": 26000.0, "gain": gain,
                "return_ratio": 1.04, "start_s": start, "end_s": recorder.now_s,
            }
        )  # fmt: skip
    return document(
        "hir", "Host idle recovery", recorder, steady_states=[steady(values)],
        head=header(wipc=None), results={"baseline_iops": 25000.0, "segments": segments},
    )  # fmt: skip


def xsr() -> dict[str, Any]:
    """Return a document of the cross stimulus recovery test."""
    recorder = Recorder()
    recorder.phase("purge")
    groups = (("SEQ 1024 KiB", 1048576, 480.0), ("RND 8 KiB", 8192, 90.0),
              ("SEQ 1024 KiB", 1048576, 470.0))  # fmt: skip
    for number, (name, block, mb_s) in enumerate(groups, 1):
        recorder.phase("group")
        for step in range(30):
            bend = {1: 1.0, 2: 1 + 3 * math.exp(-step / 3), 3: 1 - 0.7 * math.exp(-step / 6)}
            found = mb_s * bend[number] * wobble(step) * 1e6 / block
            label = f"group {number}: {name} 0/100"
            recorder.cell(found, block=block, threads=1, seconds=60.0, label=label)
    results = {
        "groups": [
            {"group": number, "label": f"group {number}: {name} 0/100", "mb_s_min": 0.7 * mb_s,
             "mb_s_mean": mb_s, "mb_s_max": 1.1 * mb_s}
            for number, (name, _, mb_s) in enumerate(groups, 1)
        ],
        "reference_mb_s": 480.0, "recovery_s": None,
    }  # fmt: skip
    return document(
        "xsr", "Cross stimulus recovery", recorder, steady_states=[], results=results,
        head=header(wipc=None, threads=1),
    )  # fmt: skip


def dirth(test: str = "dirth", block: int | None = 8192, read_pct: int = 65) -> dict[str, Any]:
    """Return a document of a demand intensity test."""
    recorder = Recorder()
    recorder.phase("purge")
    for number in range(1, 7):
        recorder.phase("precondition", round=number)
        speed = 30000 * (1 + math.exp(-number)) * wobble(number, 0.01)
        recorder.cell(speed, block=block, threads=32, label="OLTP 0/100")
    first = recorder.cells("iops")
    steps = [1, 2, 4, 6, 8, 16, 32]
    for number in range(1, 6):
        recorder.phase("round", round=number)
        recorder.phases[-1]["name"] = "prewrite"
        recorder.cell(30000 * wobble(number), block=block, threads=32, label="pre-write")
        recorder.phase("round", round=number)
        pairs = sorted(((t, q) for t in steps for q in steps), key=lambda p: (-p[0] * p[1], -p[0]))
        for threads, depth in pairs:
            total = threads * depth
            speed = 90000 * total / (total + 24) * wobble(number + total, 0.01)
            load = min(100.0, 2 + 3.0 * threads)
            recorder.cell(speed, read_pct=read_pct, block=block, threads=threads, depth=depth,
                          label=f"TC {threads} QD {depth}", cpu_pct=load)  # fmt: skip
    second = recorder.cells("iops", threads=32, queue_depth=32, rw_pct=read_pct)
    points = []
    for name, threads, depth in (("MaxIOPS", 8, 32), ("MinIOPS", 1, 1), ("MidIOPS", 4, 6)):
        total = threads * depth
        speed = 90000 * total / (total + 24)
        recorder.phase("point")
        recorder.cell(speed, read_pct=read_pct, block=block, threads=threads, depth=depth,
                      label=name, seconds=10.0)  # fmt: skip
        points.append(
            {"name": name, "threads": threads, "queue_depth": depth, "iops": speed,
             "lat_us_mean": 1e6 * total / speed, "target_iops": None, "note": ""}
        )  # fmt: skip
    label = "OLTP 0/100"
    return document(
        test, "Demand intensity" if test == "dirth" else "Enterprise composite workload", recorder,
        steady_states=[
            steady(first, block=block, label=label),
            steady(second, read_pct=read_pct, block=block, label="TC 32 QD 32"),
        ],
        head=header(wipc=None, threads=32), results={"points": points},
        histograms=[
            histogram(f"{prefix}{name.lower()}", f"{title}{name}", 200000, 150.0 * (place + 1))
            for prefix, title in (("", ""), ("prewrite_", "Writes before "))
            for place, name in enumerate(("MaxIOPS", "MinIOPS", "MidIOPS"))
        ],
    )  # fmt: skip


def prepared() -> tuple[Recorder, list[dict[str, Any]]]:
    """Return a recorder after preconditioning, and its steady state."""
    recorder = Recorder()
    recorder.phase("purge")
    for number in range(1, 7):
        recorder.phase("precondition", round=number)
        recorder.cell(25000 * (1 + math.exp(-number)) * wobble(number, 0.01))
    return recorder, [steady(recorder.cells("iops"))]


def table(  # noqa: PLR0913, PLR0917 (the parts of a table)
    name: str, title: str, unit: str, heads: list[str], rows: dict[str, list[float]],
          row_label: str = "", column_label: str = "") -> dict[str, Any]:  # fmt: skip
    """Return a table of a document."""
    return {
        "id": name, "title": title, "unit": unit, "row_label": row_label,
        "column_label": column_label, "rows": list(rows), "columns": heads,
        "values": list(rows.values()),
    }  # fmt: skip


def surface() -> dict[str, Any]:
    """Return a document of the IOPS surface."""
    recorder, states = prepared()
    recorder.phase("surface")
    for read_pct in range(100, -1, -10):
        for power in range(11, -1, -1):
            recorder.cell(base_iops(read_pct, 512 << power), read_pct=read_pct, block=512 << power)
    return document("surface", "IOPS surface", recorder, steady_states=states)


def stability() -> dict[str, Any]:
    """Return a document of the stability run."""
    recorder, states = prepared()
    recorder.phase("stability")
    start = recorder.now_s
    recorder.cell(25000.0, seconds=120.0)
    rows = [
        ["stability", start + second + 1, 25000 * wobble(second, 0.2), 102.4, 5120.0, 61000.0, None]
        for second in range(120)
    ]
    samples = {
        "columns": ["phase", "end_s", "iops", "mb_s", "lat_us_mean", "lat_us_max", "written_bytes"],
        "rows": rows,
    }
    return document(
        "stability", "Stability", recorder, steady_states=states, samples=samples,
        results={"iops_mean": 25000.0, "cv": 0.14},
        histograms=[histogram("response_time", "R", 900)],
    )  # fmt: skip


def independence() -> dict[str, Any]:
    """Return a document of workload independence, of a drive that drops by 90 %."""
    recorder = Recorder()
    recorder.phase("purge")
    for number, (name, block, mb_s) in enumerate(
        (("SEQ 128 KiB", 131072, 172.5), ("RND 4 KiB", 4096, 9.1), ("SEQ 128 KiB", 131072, 16.8)), 1
    ):
        recorder.phase("group")
        label = f"group {number}: {name} 0/100"
        recorder.cell(mb_s * 1e6 / block, block=block, threads=1, label=label)
    return document(
        "independence", "Workload independence", recorder, steady_states=[],
        results={"first_mb_s": 172.5, "third_mb_s": 16.8, "drop_pct": 90.26},
    )  # fmt: skip


def composite() -> dict[str, Any]:
    """Return a document of the composite workloads."""
    recorder, states = prepared()
    rows = {name: [1e3 * k, 2e3 * k, 5e3 * k] for k, name in enumerate(("File server", "Web"), 1)}
    made = table("iops", "IOPS", "IOPS", ["1", "8", "64"], rows, "Workload", "Queue depth")
    return document("composite", "Composites", recorder, steady_states=states, tables=[made])


def rw_ratio() -> dict[str, Any]:
    """Return a document of the analysis of read/write ratios."""
    recorder, states = prepared()
    heads = ["100/0", "75/25", "50/50", "25/75", "0/100"]
    rows = {"4": [9e4, 5e4, 4e4, 3e4, 2.5e4], "128": [4e3, 2e3, 1.5e3, 1.2e3, 1e3]}
    sides = ("Block size (KiB)", "R/W mix (%)")
    tables = [
        table("iops", "IOPS", "IOPS", heads, rows, *sides),
        table("mixed_efficiency", "Measured over harmonic prediction", "ratio", heads,
              {"4": [1.0, 0.9, 0.87, 0.93, 1.0]}, *sides),
    ]  # fmt: skip
    results = {"curves": [{"block_bytes": 4096, "rms_iops": 52000.0, "rms_mb_s": 213.0}]}
    return document("rw_ratio", "Read/write ratio", recorder, steady_states=states, tables=tables,
                    results=results)  # fmt: skip


def block_size() -> dict[str, Any]:
    """Return a document of the analysis of block sizes."""
    recorder, states = prepared()
    recorder.phase("blocks")
    for power in range(11, -1, -1):
        recorder.cell(base_iops(75, 512 << power), read_pct=75, block=512 << power)
    return document("block_size", "Block size", recorder, steady_states=states,
                    results={"read_pct": 75})  # fmt: skip


def scalability() -> dict[str, Any]:
    """Return a document of the analysis of scalability."""
    recorder, states = prepared()
    steps = [
        {"dies": dies, "normalised_iops": dies**0.95, "normalised_mb_s": dies**0.9,
         "efficiency_iops": dies**-0.05, "efficiency_mb_s": dies**-0.1}
        for dies in (1, 2, 4, 8)
    ]  # fmt: skip
    return document("scalability", "Scalability", recorder, steady_states=states,
                    results={"steps": steps})  # fmt: skip


def pathological() -> dict[str, Any]:
    """Return a document of the pathological write condition."""
    recorder, _ = prepared()
    cases = [("baseline", 25e3, 3.1), ("half the range", 52e3, 1.6), ("sequential", 88e3, 1.0)]
    states = [
        steady([speed * wobble(k) for k in range(6)], label=name, group=name)
        for name, speed, _ in cases
    ]
    found = [
        {"name": name, "iops_4kib": speed, "waf": waf, "ratio": speed / 25e3}
        for name, speed, waf in cases
    ]
    return document("pathological", "Pathological write condition", recorder, steady_states=states,
                    results={"cases": found})  # fmt: skip


def consistency() -> dict[str, Any]:
    """Return a document of the consistency variant."""
    recorder = Recorder()
    runs = []
    for label, speed in (("default", 25000.0), ("+25 % OP", 41000.0)):
        recorder.phase("purge")
        recorder.phase("consistency")
        for step in range(60):
            fall = 1 + 2.5 / (1 + math.exp((step - 15) / 3))
            recorder.cell(speed * fall * wobble(step, 0.1), label=label, seconds=1.0)
        runs.append({"label": label, "samples": 7, "iops_mean": speed, "cv": 0.07})
    return document("consistency", "Consistency", recorder, steady_states=[],
                    results={"runs": runs})  # fmt: skip


MAKERS: dict[str, Callable[[], dict[str, Any]]] = {
    "iops": iops,
    "throughput": throughput,
    "latency": latency,
    "wsat": wsat,
    "hir": hir,
    "xsr": xsr,
    "dirth": dirth,
    "ecw": lambda: dirth("ecw", None, 40),
    "surface": surface,
    "stability": stability,
    "consistency": consistency,
    "independence": independence,
    "composite": composite,
    "rw_ratio": rw_ratio,
    "block_size": block_size,
    "scalability": scalability,
    "pathological": pathological,
}
