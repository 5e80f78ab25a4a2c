"""Jobs of fio as cells of a test: what was asked for, checked against what came out.

A job is a cell: its size, mix, pattern, threads and depth are those of its options, as far as its
figures agree. Processes of one job that fio lists one by one are joined.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from opennandlab.base.errors import ResultError
from opennandlab.base.units import kib, mix
from opennandlab.documents import pts
from opennandlab.measured.document import QUANTILES, Cell
from opennandlab.measured.fio import checks
from opennandlab.measured.fio.options import Load, load, number_of
from opennandlab.measured.fio.record import ALL_CLIENTS, Latency, Record, legible, of_job
from opennandlab.measured.fio.times import spans, staggered
from opennandlab.stats.histogram import BEYOND_MIN, PERCENTILES

JOBS_MAX = 100_000
SECTOR_BYTES = 512


class _Key(NamedTuple):
    """What the processes of one job have in common."""

    host: str
    name: str
    group: int | None
    options: str


@dataclass(frozen=True)
class Job:
    """A job of fio, or several processes of one.

    Args:
        where: File and name, for messages.
        is_random: Whether requests are at random places; None where fio does not say.
        threads: Processes; None where fio does not say.
        queue_depth: Requests outstanding in each; None where fio does not say.
        cell: What it measured.
        notes: What a reader of its figures should know.
        is_told: Whether threads and depth are as fio says, not as the user does.
        host: Of the client that ran it; empty without a server.
        name: Its name.
        options: As it was asked for; None where fio wrote none.
    """

    where: str
    is_random: bool | None
    threads: int | None
    queue_depth: int | None
    cell: Cell
    notes: tuple[str, ...]
    is_told: bool = True
    host: str = ""
    name: str = ""
    options: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Told:
    """What the user says of jobs of which fio does not; None for nothing.

    Args:
        is_random: Whether requests are at random places.
        threads: Processes.
        queue_depth: Requests outstanding in each.
    """

    is_random: bool | None = None
    threads: int | None = None
    queue_depth: int | None = None


def is_output(document: object) -> bool:
    """Return whether JSON is an output of fio."""
    return (
        isinstance(document, dict)
        and "fio version" in document
        and bool({"jobs", "client_stats"} & document.keys())
    )


def jobs(document: Mapping[str, Any], file: str, told: Told) -> tuple[list[Job], list[str]]:
    """Return the jobs of an output, and why others of it are refused.

    Args:
        document: The output.
        file: Its name, for messages.
        told: What the user states where fio does not.

    Raises:
        ResultError: when it holds no jobs, or lacks what all outputs have.
    """
    found = document.get("jobs") or document.get("client_stats")
    if not isinstance(found, list) or not found or len(found) > JOBS_MAX:
        raise ResultError(f"{file}: `jobs` holds no jobs; accepted: the JSON output of fio")
    groups = _groups(document, found, file)
    ran = {
        host: spans({key: parts for key, parts in groups.items() if key.host == host})
        for host in {key.host for key in groups}
    }
    taken, refused = [], []
    for key, parts in groups.items():
        host, name = key.host, key.name
        beside = [
            other.name for other, span in ran[host].items()
            if other != key and key in ran[host] and span.shares(ran[host][key])
        ]  # fmt: skip
        where = f"{file}: {f'host {host}, ' if host else ''}job `{name}`"
        if any(other != key and other[:2] == key[:2] for other in groups):
            where += f" of group {key.group}"
        try:
            taken.append(_job(where, parts, legible(document["fio version"]), told, beside))
        except ValueError as error:
            refused.append(f"{where}: {error}")
    return taken, refused


def _groups(
    document: Mapping[str, Any], found: Sequence[Any], file: str
) -> dict[_Key, list[Record]]:
    """Return the processes of each job.

    Raises:
        ResultError: for one that lacks what all outputs have.
    """
    groups: dict[_Key, list[Record]] = {}
    is_shared = _shared(found)
    for place, job in enumerate(found, 1):
        if not isinstance(job, dict):
            raise ResultError(
                f"{file}: job {place} is not a mapping; accepted: the JSON output of fio"
            )
        try:
            record = of_job(document, job)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            name = f"{file}: job `{str(job.get('jobname', place))[:60]}`"
            raise ResultError(
                f"{name} lacks an expected value, or has it in another form ({_reason(error)}); "
                "accepted: the output of `fio --output-format=json+`, or json"
            ) from error
        if is_shared:
            record = replace(record, host=f"{record.host}, port {legible(job.get('port'))}")
        # One job given twice, behind a `stonewall`, is two runs: the second has another group.
        asked = json.dumps(record.options, sort_keys=True)
        groups.setdefault(_Key(record.host, record.name, record.group, asked), []).append(record)
    if any(key.name != ALL_CLIENTS for key in groups):
        groups = {key: parts for key, parts in groups.items() if key.name != ALL_CLIENTS}
    if "client_stats" in document:
        groups = {key: _last(parts) for key, parts in groups.items()}
    return groups


def _shared(found: Sequence[Any]) -> bool:
    """Return whether several clients of a server are on one host, so that their ports matter."""
    clients = {(str(job.get("hostname")), str(job.get("port"))) for job in found
               if isinstance(job, dict) and job.get("jobname") != ALL_CLIENTS}  # fmt: skip
    return len(clients) > len({host for host, _ in clients})


def _last(parts: Sequence[Record]) -> list[Record]:
    """Return the last status of each process: a server lists all of them in one document.

    There are `numjobs` processes, or one entry for all (`group_reporting`).
    """
    options = parts[0].options
    if options is None:
        return list(parts)
    is_group = options.get("group_reporting", "0") != "0"
    count = 1 if is_group else number_of(options.get("numjobs", "1")) or len(parts)
    totals = [sum(side.ios for side in part.sides.values()) for part in parts]
    is_growing = all(new >= old for old, new in zip(totals, totals[count:], strict=False))
    return list(parts[-count:] if is_growing and len(parts) % count == 0 else parts)


def _reason(error: Exception) -> str:
    return f"nothing is called {error}" if isinstance(error, KeyError) else str(error)


def _job(
    where: str, parts: Sequence[Record], version: str, told: Told, beside: Sequence[str]
) -> Job:
    """Return the cell of a job.

    Args:
        where: File and name, for messages.
        parts: Its processes.
        version: Version of fio.
        told: What the user states where fio does not.
        beside: Names of jobs that ran at the same time.

    Raises:
        ValueError: for one that failed, measured nothing, or is no load of a test.
    """
    failed = next((part.error for part in parts if part.error), 0)
    if failed:
        raise ValueError(f"ended with an error ({failed}); accepted: jobs that were completed")
    asked = load(parts[0].options)
    found = checks.figures(parts)
    if not found.seconds or not found.ios:
        raise ValueError("completed no request; accepted: jobs that measured something")
    notes = list(_notes(parts, found, version))
    threads = len(parts) if asked.processes is None else max(len(parts), asked.processes)
    depth = asked.depth
    if all(part.is_alone for part in parts):
        if depth is not None and depth > 1:
            notes.append(f"iodepth is {depth}, and each request was the only one in flight: QD 1")
        depth = 1
    known = threads if asked.processes is not None or len(parts) > 1 else None
    label = (found.processes or known, depth)
    if asked.is_random is None:
        asked = replace(asked, is_random=told.is_random)
    known = told.threads if label[0] is None else known
    depth = told.queue_depth if depth is None else depth
    doubts = tuple(checks.doubts(found, asked, known, depth))
    if (label[0] or 1) > 1 and (reason := staggered(parts)):
        doubts += (reason,)
    if beside:
        more = f" and {len(beside) - 1} more" if len(beside) > 1 else ""
        doubts += (f"job `{beside[0][:60]}`{more} ran at the same time",)
    made = _made(where, asked, found, (found.processes or known, depth), doubts, notes)
    first = parts[0]
    return replace(made, is_told=None not in label, host=first.host, name=first.name,
                   options=first.options)  # fmt: skip


def _notes(parts: Sequence[Record], found: checks.Figures, version: str) -> Iterator[str]:
    """Yield what a version does not say, and what is left out."""
    if parts[0].options is None:
        yield (
            f"{version} wrote no options here: size and mix are those of the figures, the pattern "
            "is unknown"
        )
    if not all(side.is_counted for side in found.sides.values()):
        yield f"{version} does not count requests: they are its IOPS x run time"
    yield from dict.fromkeys(side.odd for side in found.sides.values() if side.odd)
    if "mixed" in found.sides:
        yield "reads and writes are not distinguished (unified_rw_reporting)"
    syncs = sum(part.syncs for part in parts)
    if syncs:
        yield f"response times of {syncs} flushes are left out"
    both = [one for side in found.sides.values() for one in (side.lat, side.clat) if one]
    if others := sorted({place for one in both for place in one.others}):
        yield f"percentiles without a table are left out: {_listed(others)}"
    if found.latency("lat") is None:
        yield "fio kept no response times (lat): mean and maximum are left out"


def _listed(places: Sequence[float]) -> str:
    """Return percentiles, those below p90 by their number, as fio states so many of them."""
    low = sum(place < 90 for place in places)
    named = [f"p{place:g}" for place in places[low:]]
    return ", ".join(named + [f"{low} below p90"] * bool(low))


def _made(  # noqa: PLR0913, PLR0917 (a cell in parts)
    where: str,
    asked: Load,
    found: checks.Figures,
    outstanding: tuple[int | None, int | None],
    doubts: tuple[str, ...],
    notes: list[str],
) -> Job:
    read_pct = asked.read_pct
    if found.read_pct is not None and not checks.is_mix(found, asked):
        read_pct = round(found.read_pct, 1)
    if read_pct is None:
        raise ValueError(
            "neither options nor figures show its mix of reads and writes; accepted: outputs "
            "with separate reads and writes, or with the options of the job"
        )
    size = _size(asked, found, notes)
    latency = {kind: found.latency(kind) for kind in ("lat", "clat")}
    figures = _figures(found, latency, notes)
    row = _row(asked, found, (size, read_pct), outstanding, figures, doubts)
    bins = next((one.bins for one in latency.values() if one and one.bins.count), None)
    lat = latency["lat"]
    if bins is not None and (lat is None or not lat.bins.count):
        notes.append("the histogram is of completion latency (clat): fio kept no bins of lat")
    cell = Cell(size, read_pct, figures, () if row is None else (row,), bins, doubts)
    if row is None:
        notes.append("its row of cells is left out, which needs separate reads and writes")
    return Job(where, asked.is_random, *outstanding, cell, tuple(notes))


def _size(asked: Load, found: checks.Figures, notes: list[str]) -> int:
    """Return the bytes of a request: as asked for, else the mean.

    Of whole IOPS the mean is known within a range, which is narrow enough to hold one power of two.
    """
    if asked.sizes is not None and checks.is_size(found, asked):
        return asked.sizes[0]
    whole = round(found.size / SECTOR_BYTES) * SECTOR_BYTES
    sides = [side for name, side in found.sides.items() if name != "trim"]
    if not all(side.is_counted for side in sides):
        least = sum(side.bytes for side in sides) / sum(side.ios + side.seconds for side in sides)
        power = 1 << int(math.log2(max(found.size, 1)))
        known = f"IOPS are whole numbers: a request has {least:.0f} to {found.size:.0f} B"
        if power >= max(least, SECTOR_BYTES):
            notes.append(f"{known}, filed under {kib(power)} KiB")
            return power
        notes.append(known)
    lost = 1024 / found.ios / found.size if found.size else 0.0
    is_whole = whole and abs(found.size / whole - 1) <= checks.SIZE_TOLERANCE + lost
    return whole if is_whole else max(1, round(found.size))


def _figures(
    found: checks.Figures, latency: Mapping[str, Latency | None], notes: list[str]
) -> dict[str, float | None]:
    """Return the figures of a cell by the columns of tables."""
    data = [side for name, side in found.sides.items() if name != "trim"]
    figures: dict[str, float | None] = {
        "iops": found.ios / found.seconds,
        "mb_s": sum(side.bytes for side in data) / found.seconds * 1e-6,
    }
    directions = [name for name in found.sides if name != "trim"]
    thin = False
    for kind, both in latency.items():
        if both is None:
            continue
        figures |= {f"{kind}_us_mean": both.mean_ns * 1e-3, f"{kind}_us_max": both.max_ns * 1e-3}
        named = {"": both}
        if not both.bins.count and len(directions) > 1:
            apart = {name: found.latency(kind, name) for name in directions}
            named = {f"_{name}": one for name, one in apart.items() if one is not None}
        for name, one in named.items():
            stated = _percentiles(one)
            thin = thin or any(one.stated.get(key) and not stated[key] for key in QUANTILES)
            figures |= {f"{kind}_us_{key}{name}": value for key, value in stated.items()}
        if "" not in named and any(one.stated for one in named.values()):
            notes.append(
                f"percentiles of {kind} of reads and writes are given separately: fio kept no bins"
            )
        if any(one.is_lost for one in named.values()):
            notes.append(
                f"percentiles of {kind} are left out: those of several processes cannot be joined "
                "without bins (json+), and fio joins them with group_reporting"
            )
    if thin:
        notes.append("percentiles with fewer than ten requests beyond them are left out")
    return figures


def _percentiles(latency: Latency) -> dict[str, float | None]:
    """Return percentiles in microseconds, of bins or as fio states them; None with few beyond."""
    if latency.bins.count:
        found = latency.bins.percentiles_us()
        return {name: found[name] for name in QUANTILES}
    return {
        name: latency.stated[name] * 1e-3
        if name in latency.stated and latency.samples * (1 - PERCENTILES[name]) >= BEYOND_MIN - 0.01
        else None
        for name in QUANTILES
    }


def _row(  # noqa: PLR0913, PLR0917 (a row in parts)
    asked: Load,
    found: checks.Figures,
    place: tuple[int, float],
    outstanding: tuple[int | None, int | None],
    figures: Mapping[str, float | None],
    doubts: Sequence[str],
) -> pts.Cell | None:
    """Return the row of a cell; None where reads and writes are not distinguished."""
    size, read_pct = place
    sides = {name: found.sides[name] for name in ("read", "write", "mixed") if name in found.sides}
    if "mixed" in sides:
        if read_pct not in {0.0, 100.0}:
            return None
        sides = {"read" if read_pct else "write": sides["mixed"]}
    ios = {name: sides[name].ios if name in sides else 0 for name in ("read", "write")}
    moved = {name: sides[name].bytes if name in sides else 0 for name in ("read", "write")}
    seconds = found.seconds
    order = {True: "RND ", False: "SEQ ", None: ""}[asked.is_random]
    label = f"{order}{kib(size)} KiB {mix(read_pct)}"
    if (doubts or None in outstanding) and found.in_flight is not None:
        label += f", L {found.in_flight:.3g}"
    label += ", uncertain" if doubts else ""
    is_mix = asked.sizes is not None and asked.sizes[0] != asked.sizes[1]
    return pts.Cell(
        phase="imported",
        round=None,
        rw_pct=read_pct,
        block_bytes=None if is_mix else size,
        threads=outstanding[0],
        queue_depth=outstanding[1],
        label=label,
        start_s=0.0,
        seconds=seconds,
        ios=found.ios,
        iops=found.ios / seconds,
        read_iops=ios["read"] / seconds,
        write_iops=ios["write"] / seconds,
        mb_s=figures["mb_s"] or 0.0,
        read_mb_s=moved["read"] / seconds * 1e-6,
        write_mb_s=moved["write"] / seconds * 1e-6,
        lat_us_mean=figures.get("lat_us_mean"),
        **{f"lat_us_{name}": figures.get(f"lat_us_{name}") for name in QUANTILES},
        lat_us_max=figures.get("lat_us_max"),
        written_bytes=moved["write"],
        waf=None,
        cpu_pct=None,
    )
