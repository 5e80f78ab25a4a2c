"""Logs of jobs in the form of fio: `ms, value, direction, bs, 0`.

| file | value | a line for |
|---|---|---|
| `_bw` | KiB/s | each window, or each request |
| `_iops` | requests a second | each window, or each request |
| `_lat`, `_clat`, `_slat` | mean response time in ns; `slat` is 0 | each window, or each request |
| `_clat_hist` | counts of 1,856 buckets | each window of `log_hist_msec` |

Windows are those of `log_avg_msec`; without it there is a line for each request, with its offset
where `log_offset` asks for it.

Source: `flush_samples`, `flush_hist_samples` in `iolog.c`, `__add_samples` in `stat.c`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from opennandlab.measured.fio.output import BITS, BUCKETS, SIDES, options
from opennandlab.measured.fio.plan import MS, Process

# A request as the core keeps it.
REQUEST = np.dtype(
    [("at", "<u8"), ("latency", "<u8"), ("offset", "<u8"), ("bytes", "<u4"), ("kind", "<u4")]
)
Requests = npt.NDArray[np.void]


def logs(process: Process, row: Mapping[str, Any], requests: Requests) -> dict[str, list[str]]:
    """Return the logs of a process: the lines of each file, by its name.

    Args:
        process: It.
        row: Its row of the core.
        requests: Its requests, if they were kept.
    """
    job = process.job
    ended_ns = row["ended_ns"] - row["epoch_ns"]
    found: dict[str, list[str]] = {}
    for name, prefix in job.logs().items():
        if name == "hist":
            found |= _named(process, prefix, {"clat_hist": _histograms(process, requests)})
        elif not job.log_ms:
            found |= _named(process, prefix, _each(process, name, requests))
        elif name == "lat":
            series = _series(row, job.log_ms * MS)
            mean = list(_windows(process, series, ended_ns, "lat"))
            zero = list(_windows(process, series, ended_ns, "slat"))
            found |= _named(process, prefix, {"lat": mean, "clat": mean, "slat": zero})
        else:
            series = _series(row, job.window_ms(name, of_log=True) * MS)
            found |= _named(
                process, prefix, {name: list(_windows(process, series, ended_ns, name))}
            )
    return found


def _named(
    process: Process, prefix: str | None, files: Mapping[str, list[str]]
) -> dict[str, list[str]]:
    """Return logs by the names of their files."""
    given = options(process)
    mode = process.job.values.get("rw", ("read", ""))[0]
    usual = f"{mode}-iodepth-{given['iodepth']}-numjobs-{given['numjobs']}"
    head = PurePath(prefix).name if prefix else usual
    tail = f".{process.number}" if process.job.values.get("per_job_logs", True) else ""
    return {f"{head}_{name}{tail}.log": lines for name, lines in files.items()}


def _series(row: Mapping[str, Any], length: int) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(one for one in row["series"] if one["ns"] == length)
    return found


def _windows(
    process: Process, series: Mapping[str, Any], ended_ns: int, name: str
) -> Iterator[str]:
    """Yield a line for each window and direction with requests.

    The last window is often not whole: fio leaves its rates out, and so does this unless it is the
    only one. Lines of windows have no block size, as in fio.
    """
    length = series["ns"]
    which = process.job.values.get("log_window_value", "avg")
    is_rate = name in {"bw", "iops"} and len(series["index"]) > 1
    for place, index in enumerate(series["index"]):
        end = min((index + 1) * length, ended_ns)
        if end % length and is_rate:
            continue
        for direction, side in enumerate(SIDES):
            count, bytes_, total, most = series[side][place]
            if not count:
                continue
            span = max(end - index * length, 1)
            value: object = {
                "bw": bytes_ * 10**9 // span // 1024, "iops": count * 10**9 // span,
                "lat": total // count, "slat": 0,
            }[name]  # fmt: skip
            if name == "lat" and which in {"max", "1"}:
                value = most
            elif name == "lat" and which == "both":
                value = f"{value}, {most}"
            yield f"{-(-end // MS)}, {value}, {direction}, 0, 0"


def _each(process: Process, name: str, requests: Requests) -> dict[str, list[str]]:
    """Return the logs that have a line for each request."""
    at = (requests["at"] // MS).tolist()
    latency = requests["latency"].tolist()
    sizes, kinds = requests["bytes"].tolist(), requests["kind"].tolist()
    rest: Sequence[str] = [", 0"] * len(at)
    if process.job.values.get("log_offset"):
        rest = [f", {offset}, 0" for offset in requests["offset"].tolist()]
    values: dict[str, list[int]]
    if name == "lat":
        values = {"lat": latency, "clat": latency, "slat": [0] * len(at)}
    elif name == "iops":
        values = {"iops": [1] * len(at)}
    else:
        pairs = zip(sizes, latency, strict=True)
        values = {"bw": [size * 1_000_000 // max(time, 1) for size, time in pairs]}
    return {
        kind: [
            f"{time}, {one}, {direction}, {size}{end}"
            for time, one, direction, size, end in zip(at, column, kinds, sizes, rest, strict=True)
        ]
        for kind, column in values.items()
    }


def _histograms(process: Process, requests: Requests) -> list[str]:
    """Return the counts of the buckets in each window, coarser by a power of two if asked for."""
    values = process.job.values
    length = (values.get("log_hist_msec") or process.job.log_ms or 500) * MS
    coarse = 1 << values.get("log_hist_coarseness", 0)
    places = buckets(requests["latency"])
    windows = np.maximum(requests["at"].astype(np.int64) - 1, 0) // length
    lines = []
    for window in np.unique(windows):
        for direction in range(len(SIDES)):
            mask = (windows == window) & (requests["kind"] == direction)
            if not mask.any():
                continue
            counts = np.bincount(places[mask], minlength=BUCKETS).reshape(-1, coarse).sum(axis=1)
            size = process.spec["sizes"][direction]["max"]
            end = (int(window) + 1) * length // MS
            lines.append(f"{end}, {direction}, {size}, {', '.join(map(str, counts))}")
    return lines


def buckets(ns: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Return the bucket of each response time.

    >>> buckets(np.array([100, 128, 1000, 25_000_000], dtype=np.uint64)).tolist()
    [100, 128, 317, 1247]
    """
    whole = ns.astype(np.int64)
    # The exponent of a float is that of the number below 2^53.
    shift = np.maximum(np.frexp(whole.astype(np.float64))[1] - 1 - BITS, 0)
    found = (shift.astype(np.int64) << BITS) + (whole >> shift)
    return np.asarray(np.minimum(found, BUCKETS - 1), dtype=np.int64)
