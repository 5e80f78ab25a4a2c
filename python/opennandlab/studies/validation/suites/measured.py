"""Three enterprise drives against what others measured on them: rates, WAF and tails.

    skews, states, fills, zones, loads ──► one run each ──► measured next to predicted

The figures are of `validation.measured`. A preset is simulated with fewer pages in its blocks
(`core.shrinking`): dies, superblocks by number and all shares stay, and so does whatever depends on
them. A figure that fixed a key is no evidence, and one outside the goal of its kind is a known miss
that names what is missing. `--write docs/measured-drives.md` writes the tables into that page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from statistics import fmean
from typing import Any

from opennandlab.core.config import DeviceConfig, load_device
from opennandlab.core.shrinking import shrink
from opennandlab.measured.published import figures
from opennandlab.studies.validation.case import (
    Case,
    Document,
    Effort,
    Kind,
    Measure,
    Miss,
    Run,
    lookup,
    read,
)
from opennandlab.studies.validation.devices import unworn
from opennandlab.studies.validation.measured import (
    DRIVES,
    SOLIDIGM,
    Drive,
    Fill,
    Load,
    Skew,
    State,
    Zones,
    fills,
    loads,
    skews,
    states,
    zones,
)

SUITE = "measured"
SOURCE = "SSD-iq [1]"
RATED = "rated [2]"
MIB, GIB = 1 << 20, 1 << 30
UNIT_BYTES, ZONE_WRITE_BYTES = 4096, 512 * 1024
# Half of it changes rates by 1 %, WAF by 0.3 %.
SHRINK = 32
# Of all writes before what counts, the last are timed: buffers and collections are where they stay.
TIMED_DRIVE_WRITES = 0.02
FILL: Mapping[str, Any] = {"kind": "sequential_fill"}
# A probe of reads and writes in equal parts, and what writes next to it.
PROBE_PER_S, PROBE_WRITES_PER_S, LOAD_READ_PCT = 10_000, 5_000, 1
# Six threads of 64 outstanding.
LOAD_DEPTH = 384
LOAD_IOS = 1_500_000
# Below it a zone or a number of open zones counts as too small or too large.
PLATEAU = 0.9
QUICK = "read-iops"
RATE, WAF = "metrics.throughput_mb_s.write", "metrics.waf"
MB_S = read(RATE)
SIMPLE_TABLE = "first minute, and rated reads"
RANDOM_TABLE = "steady random writes of 4 KiB"
FILL_TABLE = "uniform writes to a part of the drive"
ZONE_TABLE = "zones, trimmed and written from end to end"
LOAD_TABLE = "latency against load"
PERCENTILES = {"p50": "p50", "p99": "p99", "p999": "p99.9"}


FITTED: Mapping[str, str] = {
    "7450-first-minute-mb-s": "nand.program.t_wordline_us",
    "7450-fill-745-waf": "nand.blocks_per_plane",
    "7450-zones-1x16384-waf": "ftl.metadata_share",
    "7450-load-10-read-p99": "controller.suspend.suspend_us",
    "7450-read-iops": "host.command_cost_us",
    "7450pro-read-iops": "host.command_cost_us",
    "p5520-uniform-mb-s": "nand.program.t_wordline_us",
    "p5520-uniform-after-sequential-waf": "nand.blocks_per_plane",
    "p5520-zones-edge": "nand.pages_per_block",
    "p5520-load-10-read-p99": "nand.timing.bus_mt_s",
    "p5520-read-iops": "host.command_cost_us",
}
"""Cases by name, and the key that each fixed."""

CHOSEN: Mapping[str, str] = {
    "7450-zipf-1-mb-s": "ftl.write_buffer_absorbs",
    "p5520-zipf-1-mb-s": "ftl.write_buffer_absorbs",
    "p5520-static-0.8-mb-s": "ftl.gc_policy",
}
"""Cases by name, and the key for which each decided among a few values."""

MISSES: Mapping[str, Mapping[str, float]] = {
    "no steady state when it was measured: the rate was still falling": {
        "7450-hot-0.05-0.95-mb-s": 0.529,
        "p5520-static-0.9-mb-s": 4.317,
    },
    "the order in which 93 zones were drawn, not published: it moves figures by a tenth": {
        "7450-zones-2x8192-waf": -0.037,
        "7450-zones-8x8192-waf": 0.031,
        "7450-zones-32x8192-waf": 0.044,
        "7450-zones-16x8192-waf": 0.088,
    },
    "how victims are chosen, not published": {
        "7450-zones-1x1086-waf": -0.090,
        "7450-zones-1x1024-waf": -0.0375,
        "7450pro-zones-1x1086-mb-s": 0.151,
        "7450pro-static-0.8-mb-s": -0.264,
        "p5520-zones-1x4096-mb-s": -0.178,
        "p5520-zones-1x2048-mb-s": -0.164,
        "p5520-zones-1x1086-mb-s": 0.373,
        "p5520-zones-1x1024-mb-s": 0.451,
        "p5520-zones-1x8192-mb-s": 0.354,
        "p5520-zones-2x8192-mb-s": 0.387,
        "p5520-zones-4x8192-mb-s": 1.070,
        "p5520-zones-8x8192-mb-s": 1.829,
        "p5520-zones-16x8192-mb-s": 1.717,
        "p5520-zipf-0.8-in-order-waf": -0.163,
    },
    "bursts of collections, in which the drive also holds writes back": {
        "7450-load-40-read-p99": -0.414,
        "7450-load-40-read-p999": -0.908,
        "7450-load-40-write-p99": -0.999,
        "7450-load-60-read-p99": -0.940,
        "7450-load-60-read-p999": -0.938,
        "7450-load-60-write-p99": -0.999,
        "7450-load-70-read-p50": -0.330,
        "7450-load-70-read-p99": -0.416,
        "7450-load-70-read-p999": -0.546,
        "7450-load-70-write-p99": -0.999,
        "7450pro-load-10-write-p99": -0.976,
        "7450pro-load-40-read-p50": -0.327,
        "7450pro-load-40-read-p99": -0.844,
        "7450pro-load-40-read-p999": -0.945,
        "7450pro-load-40-write-p99": -0.999,
        "7450pro-load-60-read-p50": -0.941,
        "7450pro-load-60-read-p99": -0.942,
        "7450pro-load-60-read-p999": -0.937,
        "7450pro-load-60-write-p50": -0.999,
        "7450pro-load-60-write-p99": -0.999,
        "7450pro-load-70-read-p99": -0.458,
        "7450pro-load-70-read-p999": -0.556,
        "7450pro-load-70-write-p50": -0.999,
        "7450pro-load-70-write-p99": -0.872,
    },
    "a limit of 117 000 writes/s with reads; alone they were 159 000": {
        "7450-load-100-read-p50": 0.266,
        "7450-load-100-read-p99": -0.432,
        "7450-load-100-read-p999": -0.553,
        "7450-load-100-write-p50": -0.998,
        "7450-load-100-write-p99": -0.998,
        "7450-load-120-read-p99": -0.452,
        "7450-load-120-read-p999": -0.576,
        "7450-load-120-write-p50": -0.998,
        "7450-load-120-write-p99": -0.997,
        "7450-load-200-iops": 0.367,
        "7450-load-200-read-p99": -0.403,
        "7450-load-200-read-p999": 1.710,
        "7450-load-200-write-p99": 1.668,
    },
    "erases as long as those of the drive: of a smaller one they are shorter": {
        "p5520-load-120-read-p999": -0.810,
        "p5520-load-200-read-p999": -0.829,
    },
    "queues of a saturated drive, in which its reads wait too": {
        "p5520-load-120-read-p50": -0.341,
        "p5520-load-120-read-p99": -0.784,
        "p5520-load-120-write-p50": 14.818,
        "p5520-load-120-write-p99": 2.498,
        "p5520-load-200-read-p50": -0.592,
        "p5520-load-200-read-p99": -0.817,
        "p5520-load-200-write-p50": 1.020,
        "p5520-load-200-write-p99": 2.220,
    },
    "room before saturation: the model is slower under uniform writes, so its buffer is full": {
        "p5520-load-100-write-p99": 50.3,
    },
    "reads that meet a program: twice as many as dies are busy": {
        "p5520-load-40-read-p50": -0.327,
    },
    "what a buffered write waits for, though the buffer has room": {
        "7450-load-10-write-p99": -0.457,
        "p5520-load-10-write-p99": -0.708,
        "p5520-load-40-write-p99": -0.841,
        "p5520-load-60-write-p99": -0.803,
        "p5520-load-70-write-p99": -0.811,
    },
}
"""What the model lacks, and the recorded error of each case outside its goal that lacks it."""


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick (rated reads), or all.

    Returns:
        The cases, one seed each.

    Example:
        >>> len(cases(Effort.QUICK)) < len(cases(Effort.FULL))
        True
    """
    found = [figure.case for figure in _figures()]
    if effort is Effort.FULL:
        return found
    return [case for case in found if case.name.endswith(QUICK)]


@cache
def device(drive: Drive) -> DeviceConfig:
    """Return the preset of a drive, whole, with blocks that do not wear out.

    Args:
        drive: one of `DRIVES`.

    Example:
        >>> device(DRIVES[0])["nand.pages_per_block"]
        2112
    """
    return load_device(unworn(drive.preset), dict(drive.changes))


def run_of(drive: Drive, workload: Mapping[str, Any]) -> Run:
    """Return a workload of a whole drive on a smaller one.

    Args:
        drive: one of `DRIVES`.
        workload: of the whole drive.

    Example:
        >>> run_of(DRIVES[0], {"total": {"drive_writes": 1}}).device["nand"]["pages_per_block"]
        66
    """
    small = shrink(device(drive), dict(workload), SHRINK)
    return Run(small.device.to_dict(), small.workload.to_dict())


def skew_run(drive: Drive, skew: Skew) -> Run:
    """Return random writes with a skew; the middle of the last fifth is in simulated time."""
    workload = {
        "pattern": dict(skew.pattern),
        "block_size_bytes": UNIT_BYTES,
        "queue_depth": 512,
        "precondition": _settled([FILL], 0.9 * skew.drive_writes),
        "total": {"drive_writes": 0.1},
    }
    return run_of(drive, workload)


def zones_run(drive: Drive, asked: Zones) -> Run:
    """Return writes to zones of an empty drive, one request outstanding: four drive writes.

    In one piece, since a step that begins would leave the open zones half written.
    """
    whole_writes = SHRINK * ZONE_WRITE_BYTES
    workload = {
        "pattern": {
            "kind": "log_zones",
            "zone_bytes": round(asked.mib * MIB / whole_writes) * whole_writes,
            "open": asked.open,
        },
        "block_size_bytes": ZONE_WRITE_BYTES,
        "queue_depth": 1,
        "total": {"drive_writes": 4},
    }
    return run_of(drive, workload)


def fill_run(drive: Drive, fill: Fill) -> Run:
    """Return uniform writes to a part of the drive, the rest empty: five times its size."""
    share = min(fill.gib * GIB / drive.capacity_bytes, 1.0)
    workload = {
        "pattern": "random",
        "block_size_bytes": UNIT_BYTES,
        "queue_depth": 512,
        "active_range_pct": 100.0 * share,
        "precondition": _settled([], 4.8 * share),
        "total": {"drive_writes": 0.2 * share},
    }
    return run_of(drive, workload)


def state_run(drive: Drive, state: State) -> Run:
    """Return writes whose last drive write counts, not in simulated time."""
    workload = {
        "pattern": dict(state.pattern),
        "block_size_bytes": UNIT_BYTES,
        "queue_depth": 512,
        "timed": False,
        "precondition": [
            *([FILL] if state.is_filled else []),
            {"kind": "workload", "drive_writes": state.drive_writes - 1.0},
        ],
        "total": {"drive_writes": 1},
    }
    return run_of(drive, workload)


def load_run(drive: Drive, load: Load) -> Run:
    """Return a probe next to writes at a fixed rate, after a fill and three overwrites.

    Where the model does not keep up, what the hosts of the load may have outstanding is.
    """
    writes = load.k_writes * 1000 - PROBE_WRITES_PER_S
    asked = max(1, round(writes / (1.0 - LOAD_READ_PCT / 100.0)))
    depth: Any = _poisson(asked) if load.k_writes <= drive.keeps_up_to else LOAD_DEPTH
    workload = {
        "pattern": "random",
        "block_size_bytes": UNIT_BYTES,
        "precondition": _settled([FILL], 3.0),
        "tenants": [
            {"name": "probe", "read_pct": 50, "queue_depth": _poisson(PROBE_PER_S)},
            {"name": "load", "read_pct": LOAD_READ_PCT, "queue_depth": depth},
        ],
        "total": {"ios": LOAD_IOS * SHRINK},
    }
    return run_of(drive, workload)


def _poisson(iops: int) -> dict[str, Any]:
    return {"arrival": "poisson", "iops": iops}


def _settled(before: Sequence[Mapping[str, Any]], drive_writes: float) -> list[dict[str, Any]]:
    # Whatever hosts share the drive later.
    writes = {"kind": "workload", "requests": "workload"}
    return [
        *map(dict, before),
        {**writes, "drive_writes": drive_writes - TIMED_DRIVE_WRITES},
        {**writes, "drive_writes": TIMED_DRIVE_WRITES, "timed": True},
    ]


@dataclass(frozen=True)
class _Figure:
    """What becomes a case: a rate in MB/s unless it says otherwise."""

    drive: Drive
    name: str
    table: str
    claim: str
    runs: tuple[Run, ...]
    published: float
    quantity: str = "MB/s"
    measure: Measure = MB_S
    kind: Kind = Kind.RATE
    source: str = SOURCE

    @property
    def case(self) -> Case:
        name = f"{self.drive.short}-{self.name}"
        lacks = (Miss(text, it[name]) for text, it in MISSES.items() if name in it)
        return Case(
            suite=SUITE,
            name=name,
            title=f"{self.drive.title}: {self.table}",
            source=self.source,
            runs=self.runs,
            quantity=self.quantity,
            measure=lambda documents: float(f"{self.measure(documents):.4g}"),
            expected=self.published,
            kind=self.kind,
            # Within one.
            tolerance=1.0 / self.published if self.kind is Kind.COUNT else None,
            formula=self.claim,
            fitted=FITTED.get(name) or CHOSEN.get(name, ""),
            miss=next(lacks, None),
            seeds=(1,),
        )


def _figures() -> Iterator[_Figure]:
    for drive in DRIVES:
        yield from _simple(drive)
        for skew in skews(drive):
            claim = f"{skew.name}, {skew.drive_writes:g} drive writes"
            runs = (skew_run(drive, skew),)
            yield _Figure(drive, f"{skew.name}-mb-s", RANDOM_TABLE, claim, runs, skew.mb_s)
        yield from (_states() if drive is SOLIDIGM else _fills(drive))
        yield from _zones(drive)
        yield from _loads(drive)


def _simple(drive: Drive) -> Iterator[_Figure]:
    request = {"pattern": "random", "block_size_bytes": UNIT_BYTES, "queue_depth": 512}

    def run(total: dict[str, Any], **keys: object) -> tuple[Run, ...]:
        return (run_of(drive, {**request, **keys, "total": total}),)

    minute = [FILL, {"kind": "workload", "drive_writes": TIMED_DRIVE_WRITES, "timed": True}]
    yield _Figure(
        drive, "first-minute-mb-s", SIMPLE_TABLE, "random writes of 4 KiB after a fill",
        run({"drive_writes": 0.1}, precondition=minute),
        figures(f"{drive.short}_skew")["uniform"]["first minute MB/s"],
    )  # fmt: skip
    if drive is not SOLIDIGM:
        in_order = {"pattern": "sequential", "queue_depth": 1, "block_size_bytes": ZONE_WRITE_BYTES}
        yield _Figure(
            drive, "sequential-mb-s", SIMPLE_TABLE, "writes of 512 KiB, one outstanding, empty",
            run({"drive_writes": 0.2}, **in_order),
            figures(f"{drive.short}_sequential", "mb_s")["512"]["0"],
        )  # fmt: skip
    yield _Figure(
        drive, "read-iops", SIMPLE_TABLE, "random reads of 4 KiB, 512 outstanding",
        run({"ios": 300_000 * SHRINK}, read_pct=100, precondition=[FILL]),
        figures(f"{drive.short}_rated", "iops")["4"]["100"],
        quantity="IOPS", measure=read("metrics.iops.read"),
        kind=Kind.DATA_SHEET, source=RATED,
    )  # fmt: skip


def _states() -> Iterator[_Figure]:
    for state in states():
        claim = f"{state.name.replace('-', ' ')}, {state.drive_writes:g} drive writes"
        yield _Figure(
            SOLIDIGM, f"{state.name}-waf", "WAF by initial state", claim,
            (state_run(SOLIDIGM, state),), state.waf,
            quantity="WAF", measure=read(WAF), kind=Kind.STATE_WAF,
        )  # fmt: skip


def _fills(drive: Drive) -> Iterator[_Figure]:
    for fill in fills(drive):
        yield from _written(drive, FILL_TABLE, fill_run(drive, fill), fill)


def _written(drive: Drive, table: str, run: Run, asked: Fill | Zones) -> Iterator[_Figure]:
    """Yield the rate, and the WAF if it is known."""
    rate, waf = MB_S, read(WAF)
    if table == ZONE_TABLE:
        rate, waf = steady_mb_s, lambda documents: _steady(documents)[1]
    yield _Figure(drive, f"{asked.name}-mb-s", table, asked.claim, (run,), asked.mb_s, measure=rate)
    if asked.waf is not None:
        yield _Figure(
            drive, f"{asked.name}-waf", table, asked.claim, (run,), asked.waf,
            quantity="WAF", measure=waf, kind=Kind.WAF,
        )  # fmt: skip


def _zones(drive: Drive) -> Iterator[_Figure]:
    listed = zones(drive)
    for one in listed:
        yield from _written(drive, ZONE_TABLE, zones_run(drive, one), one)
    size = max(one.mib for one in listed if one.open > 1)
    yield _zone_edge(drive, [one for one in listed if one.open == 1])
    yield _zone_count(drive, [one for one in listed if one.mib == size])


def _zone_edge(drive: Drive, curve: list[Zones]) -> _Figure:
    curve.sort(key=lambda one: one.mib)

    def edge(rates: Sequence[float]) -> float:
        rated = zip(curve, rates, strict=True)
        return float(max(one.mib for one, rate in rated if rate < PLATEAU * max(rates)))

    return _Figure(
        drive, "zones-edge", ZONE_TABLE, "largest zone that is slower than 0.9 of the best",
        tuple(zones_run(drive, one) for one in curve), edge([one.mb_s for one in curve]),
        quantity="MiB", measure=_of_rates(edge), kind=Kind.EDGE,
    )  # fmt: skip


def _zone_count(drive: Drive, curve: list[Zones]) -> _Figure:
    curve.sort(key=lambda one: one.open)

    def count(rates: Sequence[float]) -> float:
        rated = zip(curve, rates, strict=True)
        fast = takewhile(lambda it: it[1] >= PLATEAU * rates[0], rated)
        return float(max(one.open for one, _ in fast))

    return _Figure(
        drive, "zones-count", ZONE_TABLE, "most open zones that are as fast as one",
        tuple(zones_run(drive, one) for one in curve), count([one.mb_s for one in curve]),
        quantity="zones", measure=_of_rates(count), kind=Kind.COUNT,
    )  # fmt: skip


def _of_rates(value: Callable[[Sequence[float]], float]) -> Measure:
    return lambda documents: value([steady_mb_s([document]) for document in documents])


def _loads(drive: Drive) -> Iterator[_Figure]:
    for load in loads(drive):
        name, rate, run = (
            f"load-{load.k_writes}",
            f"{load.k_writes} 000 writes/s",
            load_run(drive, load),
        )
        yield _Figure(
            drive, f"{name}-iops", LOAD_TABLE, f"{rate} asked for", (run,), load.achieved,
            quantity="writes/s", measure=read("metrics.iops.write"),
        )  # fmt: skip
        for (operation, key), microseconds in load.us.items():
            yield _Figure(
                drive, f"{name}-{operation}-{key}", LOAD_TABLE,
                f"a {operation} of the probe at {rate}", (run,), microseconds,
                quantity=f"{PERCENTILES[key]} us", measure=probe(operation, key),
                kind=Kind.TAIL if key == "p999" else Kind.PERCENTILE,
            )  # fmt: skip


def _steady(documents: Sequence[Document]) -> tuple[float, float]:
    """Return rate in MB/s and WAF of the last fifth of a run."""
    series = documents[0]["series"]
    written, times = series["drive_writes"], series["t_s"]
    start = next(k for k, share in enumerate(written) if share >= 0.8 * written[-1])
    capacity = lookup(documents[0], "effective.logical_bytes")
    rate = (written[-1] - written[start]) * capacity * 1e-6 / (times[-1] - times[start])
    return rate, fmean(series["waf"][start + 1 :])


def steady_mb_s(documents: Sequence[Document]) -> float:
    """Return the rate of the last fifth of a run."""
    return _steady(documents)[0]


def probe(operation: str, percentile: str) -> Measure:
    """Return a measure of the probe's latency.

    Args:
        operation: `read` or `write`.
        percentile: one of `PERCENTILES`.

    Returns:
        The measure, in microseconds.
    """

    def measure(documents: Sequence[Document]) -> float:
        tenants: Sequence[Document] = documents[0]["metrics"]["tenants"]
        probe = next(tenant for tenant in tenants if tenant["name"] == "probe")
        return lookup(probe, f"latency_us.{operation}.{percentile}")

    return measure
