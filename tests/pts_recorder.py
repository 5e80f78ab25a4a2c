"""What documents of the standard tests are made of: a recorder of cells, headers, steady states."""

from __future__ import annotations

import math
from typing import Any, get_args

import msgspec

from opennandlab.base.canonical import digest
from opennandlab.documents.partial import nothing
from opennandlab.documents.pts import Percentiles
from opennandlab.documents.pts_results import RESULTS
from opennandlab.documents.record import Record
from opennandlab.stats.steady import steady_state

GIB = 1 << 30
CAPACITY = 32 * GIB
CELL_COLUMNS = [
    "phase", "round", "rw_pct", "block_bytes", "threads", "queue_depth", "label", "start_s",
    "seconds", "ios", "iops", "read_iops", "write_iops", "mb_s", "read_mb_s", "write_mb_s",
    "lat_us_mean", "lat_us_p50", "lat_us_p99", "lat_us_p999", "lat_us_p9999", "lat_us_p99999",
    "lat_us_max", "written_bytes", "waf", "cpu_pct", "power_w", "j_per_gb", "iops_per_w", "at_s",
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
                phase["name"], phase["round"], read_pct, block, threads, depth,
                label or f"RND {size / 1024:g} KiB {read_pct}/{100 - read_pct}", self.now_s,
                seconds, ios, iops, iops * reads, iops * (1 - reads), mb_s, mb_s * reads,
                mb_s * (1 - reads), mean, *lat, mean * 12, self.written, waf, cpu_pct,
                *[None] * 4,
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
            "gap": {"seconds": None, "bytes": None, "capacities": 0.5},
        },
        "seed": 42,
        "cache": {"asked": "disabled", "state": "disabled"},
        "data": "random",
        "active_range": {"share": 1.0, "amount_bytes": None, "segments": None},
        "threads": 4,
        "queue_depth": 32,
        "align_bytes": 4096,
        "purge": {"method": "erase of all blocks", "is_purge": True, "note": ""},
        "wipc": {
            "pattern": "sequential", "block_bytes": 131072, "capacities": 2.0,
            "bytes": 2 * CAPACITY, "passes": 2.0, "threads": 1, "queue_depth": 32,
        },
        "oio_throttle": None,
        "options": {},
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
    attained = rule["steady"]
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
        "tool": {
            "version": "0.1.0", "commit": "abc1234", "python": "3.12", "os": "Linux",
            "cpu": "x86_64", "cpus": 2,
        },
        "test": test,
        "title": title,
        "name": f"{test} of sim:tlc_standard",
        "header": head or header(),
        "phases": recorder.phases,
        "cells": {"columns": CELL_COLUMNS, "rows": recorder.rows},
        "steady_state": steady_states,
        "results": complete(RESULTS[test], results or {}),
        "tables": tables or [],
        "histograms": [],
        "warnings": [],
        "partial": False,
        **parts,
    }  # fmt: skip
    made["digest"] = digest(made)
    return made


def complete(kind: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return what a record says in JSON: what is given, null, and else nothing of its type."""
    found = {}
    for field in msgspec.structs.fields(kind):
        inner = [one for one in get_args(field.type) if isinstance(one, type)]
        value = given.get(field.name)
        if isinstance(value, list) and inner and issubclass(inner[0], Record):
            found[field.name] = [complete(inner[0], one) for one in value]
        elif field.name in given:
            found[field.name] = value
        elif field.required and type(None) in inner:
            found[field.name] = None
        elif field.required:
            found[field.name] = msgspec.to_builtins(nothing(field.type))
    return found


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
        "latency_us": dict.fromkeys(Percentiles.__struct_fields__),
    }  # fmt: skip


def table(  # noqa: PLR0913, PLR0917 (the parts of a table)
    name: str, title: str, unit: str, heads: list[str], rows: dict[str, list[float]],
          row_label: str = "", column_label: str = "") -> dict[str, Any]:  # fmt: skip
    """Return a table of a document."""
    return {
        "id": name, "title": title, "unit": unit, "row_label": row_label,
        "column_label": column_label, "rows": list(rows), "columns": heads,
        "values": list(rows.values()),
    }  # fmt: skip
