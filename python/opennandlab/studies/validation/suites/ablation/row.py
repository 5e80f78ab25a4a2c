"""What all parts of the suite share: devices that differ in named keys, and rows that compare them.

off = small()                                 a device without the mechanism
on = vary(off, {"nand.multi_plane": True})    the same with it
row(runs=compared(((off, work), (on, work))))  what changes, against what must change
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

from opennandlab.studies.validation.case import Case, Document, Measure, Run, lookup
from opennandlab.studies.validation.devices import PAGE_BYTES, bench, timed

SUITE = "ablation"
# Times of `devices.BENCH_TIMING`, in us: tR, tPROG, tBERS, and the transfer of a page of 4096 B.
SENSE, PROGRAM, ERASE, TRANSFER = 50.0, 600.0, 3500.0, 10.0
READ_US, WRITE_US = SENSE + TRANSFER, PROGRAM + TRANSFER

WRITE_RATE = "metrics.throughput_mb_s.write"
READ_RATE = "metrics.throughput_mb_s.read"
READ = "metrics.latency_us.read"
WRITE = "metrics.latency_us.write"

Device = dict[str, Any]
Workload = dict[str, Any]


def vary(document: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a device or workload with some keys set.

    Args:
        document: the file, as a mapping.
        keys: dotted path and value of each.

    Example:
        >>> vary({"nand": {"channels": 8}}, {"nand.channels": 1, "ftl.copyback": {"limit": 3}})
        {'nand': {'channels': 1}, 'ftl': {'copyback': {'limit': 3}}}
    """
    copy = deepcopy(dict(document))
    for path, value in keys.items():
        *sections, key = path.split(".")
        place = copy
        for section in sections:
            place = place.setdefault(section, {})
        place[key] = deepcopy(value)
    return copy


def one_die(**keys: float) -> Device:
    """Return a drive of one die of 64 blocks of 64 pages, with some times changed.

    Args:
        keys: keys of `nand.timing`.

    Example:
        >>> one_die(t_erase_us=1)["nand"]["timing"]["t_erase_us"]
        1
    """
    return bench(1, 1, timing=keys)


def steady_writes(ios: int, depth: int | Mapping[str, Any] = 4) -> Workload:
    """Return random page writes on a drive that was filled and then overwritten four times.

    Args:
        ios: requests.
        depth: requests outstanding, or an arrival process.

    Example:
        >>> len(steady_writes(100)["precondition"])
        2
    """
    workload = timed("random", depth, ios, 0.0)
    workload["precondition"] = [
        {"kind": "sequential_fill"},
        {"kind": "workload", "drive_writes": 4.0},
    ]
    return workload


def mixed(reader: Mapping[str, Any], writer: Mapping[str, Any], seconds: float) -> Workload:
    """Return a reader on the first half of a filled drive and a sequential writer on the other.

    Args:
        reader: keys of the tenant that reads.
        writer: keys of the one that writes.
        seconds: simulated time.

    Example:
        >>> [each["name"] for each in mixed({}, {}, 1.0)["tenants"]]
        ['reader', 'writer']
    """
    reads = {"name": "reader", "read_pct": 100, "range_pct": [0, 50], **reader}
    writes = {
        "name": "writer",
        "pattern": "sequential",
        "read_pct": 0,
        "range_pct": [50, 100],
        **writer,
    }
    return {
        "total": {"seconds": seconds},
        "precondition": [{"kind": "sequential_fill"}],
        "tenants": [{"block_size_bytes": PAGE_BYTES, **tenant} for tenant in (reads, writes)],
    }


row = partial(Case, suite=SUITE, source="from the configuration")
"""A case of the suite."""


def compared(devices: Sequence[tuple[Device, Workload]]) -> tuple[Run, ...]:
    """Return the runs of a row: without the mechanism first, then with it."""
    return tuple(Run(device, workload) for device, workload in devices)


def difference(path: str) -> Measure:
    """Return a measure: a number with the mechanism less the same without it.

    Args:
        path: dotted path.

    Example:
        >>> difference("x")([{"x": 2.0}, {"x": 3.0}])
        1.0
    """

    def measure(documents: Sequence[Document]) -> float:
        off, on = (lookup(document, path) for document in documents)
        return on - off

    return measure


def per_event_us(events: str) -> Measure:
    """Return a measure: time saved by the mechanism for each of some events, in microseconds.

    Args:
        events: dotted path of their count, read with the mechanism on.

    Example:
        >>> runs = [{"metrics": {"duration_s": 3}, "n": 4}, {"metrics": {"duration_s": 1}, "n": 4}]
        >>> per_event_us("n")(runs)
        500000.0
    """

    def measure(documents: Sequence[Document]) -> float:
        off, on = (lookup(document, "metrics.duration_s") for document in documents)
        return (off - on) * 1e6 / lookup(documents[1], events)

    return measure
