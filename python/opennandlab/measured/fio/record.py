"""What a job of fio measured, in one form for all versions: bytes, seconds and nanoseconds.

| fio | fact |
|---|---|
| before 2.1.14 | no `total_ios`: requests are IOPS x run time |
| before 2.2.6 | `iops` is cut to a whole number |
| 2.2.12 to 2.19 | bins of JSON+ stand under their number, with `FIO_IO_U_PLAT_BITS` |
| before 2.21 | `io_bytes` is in KiB; later in bytes, with `io_kbytes` next to it |
| before 2.99 | `slat`, `clat`, `lat` in microseconds; later `slat_ns`, `clat_ns`, `lat_ns` |
| before 2.3, 3.2, 3.4, 3.8 | no `job options`, `bw_bytes`, `sync`, `job_runtime` |
| 3.1 to 3.12 | with `lat_percentiles` the percentiles of `lat` stand under `clat_ns` |
| before 3.18 | no `N` next to a mean: requests are `total_ios` |

Source: `stat.c` of fio at the tags fio-2.0.10 to fio-3.42. The unit of `io_bytes` must also follow
from `bw` (KiB/s in all versions) and `runtime` (ms in all): where version and figures disagree, the
figures count, and it is said.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opennandlab.measured.document import QUANTILES
from opennandlab.stats.histogram import PERCENTILES, Histogram

VERSION = re.compile(r"fio-(\d+)\.(\d+)(?:\.(\d+))?")
NUMBER_MAX = 1 << 63
# `io_bytes` must be `bw` x `runtime` within this share, and what `bw` lost by rounding down.
TOLERANCE = 0.02
# `iops` must be requests over `runtime` within this share.
RATE_TOLERANCE = 1e-3
SIDES = ("read", "write", "trim", "mixed")
# From here on `io_bytes` is in bytes.
BYTES_SINCE = (2, 21, 0)
# Bins are numbers of bins where this states how many bits of a value they keep.
BITS = "FIO_IO_U_PLAT_BITS"
# Percentiles that tables have, by percent.
PLACES = {round(100 * PERCENTILES[name], 6): name for name in QUANTILES}
# The entry of a server for all its clients together, and what an entry has of its client.
ALL_CLIENTS = "All clients"
CLIENT = ("hostname", "port")
# Between these, percentiles of `lat` stand under `clat_ns`.
MISPLACED = ((3, 1, 0), (3, 13, 0))


@dataclass(frozen=True)
class Latency:
    """Response times of one direction.

    Args:
        samples: How many there are.
        mean_ns: Their mean.
        max_ns: The longest.
        stated: Percentiles that fio states, by the names of `stats.histogram`, in ns.
        bins: All of them, as far as fio kept bins; mean and maximum are those above.
        is_lost: Whether fio states percentiles of parts, which cannot be joined.
        others: Percentiles that fio states and no table has, in percent.
    """

    samples: int
    mean_ns: float
    max_ns: float
    stated: Mapping[str, float]
    bins: Histogram
    is_lost: bool = False
    others: frozenset[float] = frozenset()


@dataclass(frozen=True)
class Side:
    """Requests of one direction, of one process or of several that fio joined.

    Args:
        ios: Requests.
        bytes: Bytes.
        seconds: Time in which they came about.
        lat: Response times from submission to completion; None where fio kept none.
        clat: Response times from when the kernel had the request; None where fio kept none.
        is_counted: Whether fio states the requests; else they follow from its IOPS.
        doubt: Why bytes or response times are not sure; empty where they are.
        odd: Where version and figures disagree on the unit; empty elsewhere.
    """

    ios: int
    bytes: int
    seconds: float
    lat: Latency | None
    clat: Latency | None
    is_counted: bool = True
    doubt: str = ""
    odd: str = ""


@dataclass(frozen=True)
class Record:
    """A job of fio.

    Args:
        name: Its name.
        host: Of the client that ran it; empty without a server.
        error: fio's error number; 0 for none.
        options: As they were given, those of the section `global` too; None where fio does not
            write those of the job: before 2.3, and for all clients of a server together.
        sides: By `read`, `write`, `trim` and `mixed`, those that exist.
        syncs: Flushes.
        runtime_s: Run times of all processes together; None before fio 3.8.
        is_alone: Whether every request was the only one in flight.
        group: Number of its group, which `stonewall` and `new_group` begin; None for none.
        start_s: When it was begun; None before fio 3.36.
    """

    name: str
    host: str
    error: int
    options: Mapping[str, str] | None
    sides: Mapping[str, Side]
    syncs: int
    runtime_s: float | None
    is_alone: bool
    group: int | None
    start_s: float | None


def version_of(document: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """Return the version of fio that wrote a document; None where it says none.

    >>> version_of({"fio version": "fio-2.1.11"}), version_of({"fio version": "fio-3.33-2-g1a"})
    ((2, 1, 11), (3, 33, 0))
    """
    found = VERSION.match(str(document.get("fio version", "")))
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None


def of_job(document: Mapping[str, Any], job: Mapping[str, Any]) -> Record:
    """Read one job of a document.

    Raises:
        KeyError, TypeError, ValueError: for a figure that is missing, or is none.
    """
    version = version_of(document)
    options = _options(document, job)
    is_moved = (
        version is not None
        and MISPLACED[0] <= version < MISPLACED[1]
        and (options or {}).get("lat_percentiles", "0") != "0"
    )
    sync = job.get("sync") or {}
    levels = job.get("iodepth_level") or {}
    runtime = job.get("job_runtime")
    return Record(
        name=legible(job.get("jobname", "")),
        host=legible(job.get("hostname", "")),
        error=int(job.get("error", 0)),
        options=options,
        sides={name: of_side(_moved(job[name]) if is_moved else job[name], version)
               for name in SIDES if isinstance(job.get(name), dict)},
        syncs=int(sync.get("total_ios", 0)),
        runtime_s=None if runtime is None else _number("job_runtime", runtime) * 1e-3,
        is_alone=float(levels.get("1", 0)) >= 99.9
        and not any(float(share) for level, share in levels.items() if level != "1"),
        group=int(job["groupid"]) if "groupid" in job else None,
        start_s=_number("job_start", job["job_start"]) * 1e-3 if "job_start" in job else None,
    )  # fmt: skip


def _options(document: Mapping[str, Any], job: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the options of a job; None where fio wrote none.

    A section without lines of its own has no `job options` where `global options` has them all. Of
    several clients of a server these are a list, with the host and the port of each.
    """
    own, common = job.get("job options"), document.get("global options")
    is_server = "client_stats" in document
    if is_server and isinstance(common, list) and all(isinstance(one, dict) for one in common):
        client = [job.get(key) for key in CLIENT]
        common = next((one for one in common if [one.get(key) for key in CLIENT] == client), None)
    if not (isinstance(own or {}, dict) and isinstance(common or {}, dict)):
        raise TypeError("its options are not a mapping")
    is_sum = is_server and job.get("jobname") == ALL_CLIENTS
    if own is None and (not common or is_sum):
        return None
    return {
        legible(key): legible(value)
        for part in (common or {}, own or {})
        for key, value in part.items()
        if part is own or key not in CLIENT
    }


def _moved(side: Mapping[str, Any]) -> dict[str, Any]:
    """Return a direction with the percentiles of `lat` where they belong."""
    shares = ("percentile", "bins")
    found = {key: side["clat_ns"][key] for key in shares if key in side["clat_ns"]}
    clat = {key: value for key, value in side["clat_ns"].items() if key not in shares}
    return {**side, "clat_ns": clat, "lat_ns": {**found, **side["lat_ns"]}}


def legible(value: object) -> str:
    """Return a text without halves of surrogate pairs, which no terminal shows."""
    return str(value).encode(errors="replace").decode()


def _number(name: str, value: Any) -> float:  # noqa: ANN401 (of JSON)
    """Return a number that is not below 0.

    Raises:
        ValueError: for what is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name}: {str(value)[:40]!r} is not a number")
    if not 0 <= value < NUMBER_MAX:
        raise ValueError(f"{name}: {value:.4g} is below 0 or beyond 2^63")
    return value


def of_side(
    side: Mapping[str, Any],
    version: tuple[int, int, int] | None,
    kinds: Sequence[str] = ("lat", "clat"),
) -> Side:
    """Read one direction of a job.

    Args:
        side: It, as it stands in the document.
        version: Version of fio; None for an unknown one.
        kinds: Which response times are read.

    Raises:
        KeyError, TypeError, ValueError: for a figure that is missing, or is none.
    """
    seconds = _number("runtime", side["runtime"]) * 1e-3
    if 0 < seconds < 1e-3:
        raise ValueError(f"runtime: {side['runtime']:.4g} is below 1 ms")
    is_counted = "total_ios" in side
    ios = round(
        _number("total_ios", side["total_ios"])
        if is_counted
        else _number("iops", side["iops"]) * seconds
    )
    unit, doubt, odd = _unit(side, version) if ios else (1, "", "")
    if is_counted and "iops" in side and not doubt:
        doubt = _rate_doubt(ios, _number("iops", side["iops"]), seconds)
    lat, clat = (_latency(side, kind, ios) if kind in kinds else None for kind in ("lat", "clat"))
    counts = [
        (kind, one.samples) for kind, one in (("lat", lat), ("clat", clat)) if one is not None
    ]
    for kind, count in counts:
        # Means of directions are joined by how many response times each has.
        if abs(count - ios) > TOLERANCE * ios + 1 and not doubt:
            doubt = f"{kind} has {count} response times of {ios} requests"
    return Side(
        ios=ios,
        bytes=round(_number("io_bytes", side["io_bytes"]) * unit),
        seconds=seconds,
        lat=lat,
        clat=clat,
        is_counted=is_counted,
        doubt=doubt,
        odd=odd,
    )


def _rate_doubt(ios: int, iops: float, seconds: float) -> str:
    """Return why a rate is not that of its requests; it is cut to a whole number before 2.2.6."""
    if abs(iops * seconds - ios) <= RATE_TOLERANCE * ios + seconds:
        return ""
    rate = f"{ios / seconds:.6g}" if seconds else "unknown"
    return f"iops is {iops:.6g}, that of {ios} requests in {seconds:.6g} s is {rate}"


def _unit(side: Mapping[str, Any], version: tuple[int, int, int] | None) -> tuple[int, str, str]:
    """Return the unit of `io_bytes` in bytes, a doubt, and where version and figures disagree."""
    told = None
    if "io_kbytes" in side or "bw_bytes" in side:
        told = 1
    elif version is not None:
        told = 1 if version >= BYTES_SINCE else 1024
    figure = _number("io_bytes", side["io_bytes"])
    seconds = _number("runtime", side["runtime"]) * 1e-3
    rate = side.get("bw_bytes")
    low = _number("bw", side.get("bw", 0)) * 1024 if rate is None else _number("bw_bytes", rate)
    lost = 1024 if rate is None else 1
    fits = [
        unit
        for unit in (1, 1024)
        if low * seconds * (1 - TOLERANCE) <= (figure + (unit > 1)) * unit
        and figure * unit <= (low + lost) * seconds * (1 + TOLERANCE)
    ]
    if told in fits:
        return told or 1, "", ""
    said = "unknown" if version is None else ".".join(map(str, version[: 3 if version[2] else 2]))
    if len(fits) == 1:
        name = "bytes" if fits[0] == 1 else "KiB"
        return fits[0], "", f"fio {said}: `io_bytes` is in {name}, by its bw and runtime"
    if told is None:
        raise ValueError(
            "io_bytes may be bytes or KiB: the version of fio is unknown, and bw and runtime fit "
            f"{'both' if fits else 'neither'}"
        )
    if not low and "bw" not in side:
        return told, "", ""
    text = f"io_bytes is {figure * told:.4g} B, bw x runtime {low * seconds:.4g} B"
    return told, text, ""


def _latency(side: Mapping[str, Any], name: str, ios: int) -> Latency | None:
    """Return the response times of a name, without or with `_ns`; None where fio kept none."""
    factor = 1 if f"{name}_ns" in side else 1000
    found = side.get(f"{name}_ns", side.get(name))
    if found is None or not ios:
        return None
    mean = _number(f"{name}: mean", found["mean"]) * factor
    most = _number(f"{name}: max", found["max"]) * factor
    samples = int(_number(f"{name}: N", found["N"])) if "N" in found else ios if most else 0
    if not samples:
        return None
    if mean > most:
        raise ValueError(f"{name}: the mean is above the maximum")
    bins = Histogram.of_bins(_bins(found.get("bins") or {}, factor))
    if bins.count:
        # A bin stands for its middle, which may be beyond the longest.
        bins = Histogram(bins.ns, bins.counts, mean * bins.count, round(most))
    stated = {
        round(float(share), 6): _number("percentile", ns) * factor
        for share, ns in (found.get("percentile") or {}).items()
    }
    named = {PLACES[place]: ns for place, ns in stated.items() if place in PLACES}
    # Until 3.4 fio fills its list with `0.00`.
    others = frozenset(stated.keys() - PLACES.keys() - {0.0})
    return Latency(samples, mean, most, named, bins, others=others)


def _bins(bins: Mapping[str, Any], factor: int) -> list[tuple[int, int]]:
    """Return the middle of each bin in ns, and its count."""
    bits = bins.get(BITS)
    pairs = [(int(key), int(count)) for key, count in bins.items() if not key.startswith("FIO")]
    for one in zip(*pairs, strict=True):
        if min(one) < 0 or max(one) >= NUMBER_MAX:
            raise ValueError("a time or a count of the bins is below 0 or beyond 2^63")
    if bits is not None:
        return [(round(middle(place, int(bits)) * factor), count) for place, count in pairs]
    return pairs if factor == 1 else [(place * factor, count) for place, count in pairs]


def middle(place: int, bits: int) -> float:
    """Return the value that a bin of fio stands for: exact until 2^(bits+1), then its middle.

    >>> middle(100, 6), middle(128, 6), middle(191, 6)
    (100, 129.0, 255.0)
    """
    if not 0 < bits < 32 or place >> bits > 64:
        raise ValueError(f"bin {place} of {bits} bits is none of fio's")
    if place < 2 << bits:
        return place
    width = 1 << ((place >> bits) - 1)
    return (width << bits) + (place % (1 << bits) + 0.5) * width


def joined(parts: Sequence[Latency | None]) -> Latency | None:
    """Return response times of several directions or processes; None where some are unknown.

    Bins join them all; percentiles that fio states cannot be joined.
    """
    given = [part for part in parts if part is not None]
    if not given or len(given) < len(parts):
        return None
    samples = sum(part.samples for part in given)
    has_bins = all(part.bins.count for part in given)
    return Latency(
        samples=samples,
        mean_ns=math.fsum(part.mean_ns * part.samples for part in given) / samples,
        max_ns=max(part.max_ns for part in given),
        stated=given[0].stated if len(given) == 1 else {},
        bins=Histogram.merged(part.bins for part in given) if has_bins else Histogram.empty(),
        is_lost=not has_bins
        and (given[0].is_lost if len(given) == 1 else any(part.stated for part in given)),
        others=frozenset().union(*(part.others for part in given)),
    )
