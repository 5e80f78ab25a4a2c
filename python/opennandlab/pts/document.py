"""The document of a test: everything that was measured, from which every report is drawn.

Its schema is `opennandlab.pts/1`. Two documents of a simulated drive with equal settings are equal
byte by byte, so what belongs to one machine and moment is left out of them and stands in `run.json`
beside them. Documents of real drives carry it themselves.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import platform
import sys
from pathlib import Path
from typing import Any

from opennandlab import _core
from opennandlab.canonical import digest, readable_json
from opennandlab.files import write_atomically
from opennandlab.pts.engine import Bench
from opennandlab.pts.record import COLUMNS, Cell
from opennandlab.stats.histogram import Histogram

SCHEMA = "opennandlab.pts/1"
SUITE_SCHEMA = "opennandlab.suite/1"
# The first line of a journal has some 2 KiB.
HEAD_BYTES_MAX = 1 << 20


def table(  # noqa: PLR0913 (all by name)
    name: str,
    title: str,
    unit: str,
    *,
    row_label: str,
    column_label: str,
    rows: list[str],
    columns: list[str],
    values: list[list[float | None]],
) -> dict[str, Any]:
    """Return a table of the document."""
    return {
        "id": name,
        "title": title,
        "unit": unit,
        "row_label": row_label,
        "column_label": column_label,
        "rows": rows,
        "columns": columns,
        "values": values,
    }


def histogram(name: str, title: str, latency: Histogram, **more: object) -> dict[str, Any]:
    """Return a histogram of the document, with the percentiles that its count supports."""
    return {
        "id": name,
        "title": title,
        "count": latency.count,
        **latency.to_dict(),
        "latency_us": latency.percentiles_us(),
        **more,
    }


def samples_of(cells: list[Cell]) -> dict[str, Any] | None:
    """Return the pieces in time of cells that were sampled; None without any."""
    rows = []
    for cell in cells:
        start_s, written = cell.start_s, cell.written_bytes - cell.measurement.written_bytes
        before = 0.0
        share = cell.stimulus.read_pct / 100
        for sample in cell.measurement.samples:
            seconds = sample.end_s - before
            before = sample.end_s
            # Samples count requests of both kinds: what was written follows from the mix.
            written += round(sample.bytes * (1 - share))
            rows.append(
                [
                    cell.phase,
                    start_s + sample.end_s,
                    sample.ios / seconds if seconds > 0 else None,
                    sample.bytes * 1e-6 / seconds if seconds > 0 else None,
                    sample.latency_us_mean,
                    sample.latency_us_max,
                    written,
                ]
            )
    columns = ["phase", "end_s", "iops", "mb_s", "lat_us_mean", "lat_us_max", "written_bytes"]
    return {"columns": columns, "rows": rows} if rows else None


def build(
    bench: Bench, outcome: dict[str, Any] | None, *, name: str, interrupted: bool = False
) -> dict[str, Any]:
    """Return the document of a test.

    Args:
        bench: The bench with its record.
        outcome: What the procedure returned; None for a run that was cut.
        name: Of the run.
        interrupted: Whether a real drive was measured in more than one go.
    """
    record, plan = bench.record, bench.plan
    found = outcome or {}
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "test": plan.test.name,
        "title": plan.test.title,
        "name": name,
        "header": _header(bench, interrupted=interrupted),
        "phases": [
            {
                "name": phase.name,
                "index": index,
                "round": phase.round,
                "start_s": phase.start_s,
                "end_s": bench.clock_s if phase.end_s is None else phase.end_s,
                "written_bytes": phase.written_bytes,
                **({"group": phase.group} if phase.group else {}),
            }
            for index, phase in enumerate(record.phases)
        ],
        "cells": {"columns": list(COLUMNS), "rows": [cell.row() for cell in record.cells]},
        "steady_state": [entry for entries in record.steady.values() for entry in entries],
        "results": found.get("results", {}),
        "tables": found.get("tables", []),
        "histograms": found.get("histograms", []),
        "warnings": _warnings(bench),
        "partial": outcome is None,
    }
    samples = samples_of(record.cells)
    if samples:
        document["samples"] = samples
    document = finite(document)
    document["digest"] = digest(document)
    if not plan.time.is_virtual:
        document.update(moment(bench.progress.elapsed_s))
    return document


def moment(wall_s: float) -> dict[str, Any]:
    """Return what belongs to this machine and moment."""
    now = dt.datetime.now(dt.timezone.utc)
    return {
        "tool": tool(),
        "created": now.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "run": {"wall_s": round(wall_s, 3)},
    }


def tool() -> dict[str, Any]:
    """Return what made a document."""
    return {
        "version": _core.version(),
        "commit": _core.commit(),
        "python": platform.python_version(),
        "os": f"{platform.system()} {platform.release()}",
        "cpu": platform.machine(),
        "cpus": len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count(),
    }


def save(document: dict[str, Any], folder: Path) -> Path:
    """Write a document into the output directory of its run: all of it, or nothing.

    Raises:
        OutputError: with the reason.
    """
    path = folder / f"{document['name']}.json"
    write_atomically(path, to_bytes(document))
    return path


def to_bytes(document: dict[str, Any]) -> bytes:
    """Return the content of the file of a document."""
    return (readable_json(document) + "\n").encode()


def load_finished(folder: Path, name: str, settings_sha256: str) -> dict[str, Any] | None:
    """Return the document of a run with these settings that is done; None when it is not."""
    try:
        with (folder / f"{name}.journal.jsonl").open("rb") as stream:
            head = json.loads(stream.readline(HEAD_BYTES_MAX))
        document: dict[str, Any] = json.loads((folder / f"{name}.json").read_bytes())
        if not isinstance(head, dict) or not isinstance(document, dict):
            return None
        if head.get("settings_sha256") != settings_sha256 or document.get("partial", True):
            return None
        return document if document.get("digest") == digest(document) else None
    except (OSError, ValueError, RecursionError):
        return None


def save_run(folder: Path, name: str, wall_s: float) -> None:
    """Add a line about this machine and moment to `run.json`."""
    path = folder / "run.json"
    try:
        runs = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        runs = {}
    if not isinstance(runs, dict):
        runs = {}
    runs[name] = moment(wall_s)
    write_atomically(path, (readable_json(runs) + "\n").encode())


def finite(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    """Return JSON in which what is no number is null.

    >>> finite({"a": [1.0, float("nan")]})
    {'a': [1.0, None]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def conformance(bench: Bench) -> str:
    """Return `partial` when a step was left out, `scaled` when one was shortened, or `full`."""
    record, plan = bench.record, bench.plan
    left_out = (
        record.purge is None
        or not record.purge["is_purge"]
        or record.cache == "unknown"
        or bool(record.cells_left_out)
        or (plan.test.wipc and plan.wipc_capacities == 0)
    )
    if left_out:
        return "partial"
    return "full" if plan.time.name == "full" else "scaled"


def _header(bench: Bench, *, interrupted: bool) -> dict[str, Any]:
    plan, record = bench.plan, bench.record
    part = plan.active_range
    temperatures = record.temperatures_c
    return {
        "pts_version": plan.pts_version,
        "profile": plan.profile,
        "conformance": conformance(bench),
        "deviations": [*_deviations(bench), *(["interrupted and resumed"] if interrupted else [])],
        "target": bench.facts,
        "time_base": plan.time.describe(),
        "seed": plan.settings.seed,
        "cache": {
            "asked": "enabled" if plan.cache_enabled else "disabled",
            "state": record.cache,
        },
        "data": plan.settings.data,
        "active_range": {
            "share": part.share,
            "amount_bytes": part.amount_bytes,
            "segments": part.segments if part.amount_bytes is not None else None,
        },
        "threads": plan.threads,
        "queue_depth": plan.queue_depth,
        "align_bytes": None,
        "purge": record.purge,
        "wipc": record.wipc,
        "oio_throttle": plan.settings.oio,
        "options": dict(plan.options),
        "interrupted": interrupted,
        "temperature_c": [min(temperatures), max(temperatures)] if temperatures else None,
    }


def _deviations(bench: Bench) -> list[str]:
    """Return what deviates from the profile, what the target forced included."""
    plan, record = bench.plan, bench.record
    found = list(plan.deviations)
    asked = "enabled" if plan.cache_enabled else "disabled"
    if record.cache == "absent" and plan.cache_enabled:
        found.append("the drive has no volatile write cache to enable")
    elif record.cache not in {asked, "absent"}:
        found.append(f"write cache {record.cache} (asked: {asked})")
    if record.purge is not None and not record.purge["is_purge"]:
        found.append(f"{record.purge['method']} is not a purge")
    if plan.time.name != "full":
        found.append(f"durations by the time base `{plan.time.name}`")
    # What a real target could not do as it was asked: fio says so.
    found += bench.target.deviations
    return [*found, *record.cells_left_out]


def _warnings(bench: Bench) -> list[str]:
    record = bench.record
    groups = {key: entries for key, entries in record.steady.items() if entries}
    missed = [
        f"steady state NOT ATTAINED after {entries[0]['rounds']} rounds"
        + (f" ({entries[0]['group']})" if entries[0].get("group") else "")
        for entries in groups.values()
        if not entries[0]["attained"]
    ]
    return [*record.warnings, *missed]
