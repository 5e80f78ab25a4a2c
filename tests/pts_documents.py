"""Documents of the standard tests for tests of their reports: small, made up, always the same.

The shapes are those of real drives (small random writes are slow, a full drive is slower than an
empty one), the numbers are not: nothing here was measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from fake_target import FakeTarget
from opennandlab.documents.pts import PtsDocument
from opennandlab.documents.record import plain
from opennandlab.pts import TESTS, Settings, run_test
from places import FOLDER
from pts_recorder import (
    BLOCKS,
    CAPACITY,
    CELL_COLUMNS,
    MIXES,
    Recorder,
    base_iops,
    document,
    header,
    histogram,
    steady,
    table,
    wobble,
)


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
        results={
            "attained": attained, "iops_rnd_4kib_write": values[1][0],
            "iops_rnd_4kib_65_35": values[1][4], "iops_rnd_4kib_read": values[1][6],
            "waf_rnd_4kib_write": 2.5,
        },
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


def settings_of(test: str, time_base: str = "smoke") -> Settings:
    """Return the settings of a test, with what it cannot be without."""
    options = {"capture": str(FOLDER / "saved" / "capture.json")} if test == "rwsw" else {}
    return Settings(time_base=time_base, options=options)  # type: ignore[arg-type]


@cache
def _ran(test: str) -> PtsDocument:
    return run_test(TESTS[test], FakeTarget(), settings=settings_of(test))


def ran(test: str) -> dict[str, Any]:
    """Return what a test finds on the drive of formulas."""
    return plain(_ran(test))


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
    **{name: partial(ran, name) for name in ("skew", "fill", "zones", "load", "identify")},
    **{name: partial(ran, name) for name in ("access_time", "position", "burst")},
}
