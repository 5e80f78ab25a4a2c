"""A measured cell of writes that look into an FTL, and the run that represents it.

    cell ──► workload of the whole device ──► shrink ──► lengths by the shrunk device ──► figures

Each cell is a single run: a fill, then writes until two windows of half the range differ by less
than 1 % in WAF. Skewed writes go through such windows long before they are steady, so they take as
many drive writes as in the tests (5, static 6). Half a drive write more, one if skewed, gives the
WAF. At last, in simulated time, comes a part that does not count (write buffers, outstanding
requests, a row of blocks), and a window in which the drive reclaims 16 rows. A row is a block of
every pool; the WAF is taken as 1 there, so lengths are upper ends. The rate of writes is that of
the window times its WAF over the WAF before: victims differ too much for a window of 16.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.core.config import DeviceConfig, map_unit_bytes
from opennandlab.core.shrinking import AUTO, shrink
from opennandlab.pts.bench.cells import RECLAIMS, RECLAIMS_MIN, buffered, reclaimed

MIB = 1 << 20
SMALL, LARGE = 4096, 512 << 10
PLAIN: Mapping[str, Any] = {"pattern": "random", "total": {"ios": 1 << 30}}
FILL: Mapping[str, Any] = {"kind": "sequential_fill"}
# Windows that must agree, in drive writes, and drive writes at most.
WINDOW, AGREE, SETTLE_MAX = 0.5, 0.01, 6.0
# Drive writes of skewed cells before those that count, and by how much windows differ by chance.
SKEWED, MOVED = {"zipf": 5.0, "static": 6.0, "hot": 5.0}, 0.03
# Drive writes to zones before the window, and in it: their WAF seems steady far too early.
ZONE_WRITES, ZONE_COUNTED = 3.5, 0.5
# The first minute of writes after a fill, in drive writes: as `pts skew` has it.
FIRST = 0.03
# A probe of reads and writes in equal parts; reads of the load in percent, and its outstanding
# requests on a saturated drive.
PROBE_PER_S, LOAD_READ_PCT, LOAD_DEPTH = 10_000, 1, 384
# Reads of a probe that p99.9 needs.
PROBE_READS = 16_000
# Reads that count, over the outstanding requests.
READ_TURNS = 40
ZONES, LOAD, SEQUENTIAL, FIRST_MINUTE = "zones", "load", "sequential", "first"
COUNTED = {FIRST_MINUTE: FIRST, ZONES: ZONE_COUNTED}


def _hot(fraction: float, share: float) -> dict[str, Any]:
    return {"kind": "hot_cold", "fraction": fraction, "share": share, "shuffle": True}


# Pattern -> its numbers, each above 0 and at most this; and the pattern of a workload.
Law = Callable[..., dict[str, Any]]
LAWS: Mapping[str, tuple[tuple[float, ...], Law]] = {
    SEQUENTIAL: ((), lambda: {"kind": "sequential"}),
    FIRST_MINUTE: ((), lambda: {"kind": "random"}),
    "uniform": ((), lambda: {"kind": "random"}),
    ZONES: ((), lambda: {"kind": "log_zones"}),
    LOAD: ((), lambda: {"kind": "random"}),
    "zipf": ((10.0,), lambda theta: {"kind": "zipf", "theta": theta}),
    "static": ((1.0,), lambda still: _hot(round(1.0 - still, 9), 1.0)),
    "hot": ((1.0, 1.0), _hot),
}
ACCEPTED = "sequential, uniform, zipf:THETA, static:SHARE, hot:PART:SHARE, zones, load"
# Columns of measured figures: where a result has them, and by which weight they count.
FIGURES: Mapping[str, tuple[str, str]] = {
    "mb_s": ("throughput_mb_s.total", "rate"),
    "waf": ("waf", "waf"),
    **{
        f"{side[0]}{share}": (f"latency_us.{side}.p{share.replace('.', '')}", f"p{share}")
        for side in ("read", "write")
        for share in ("50", "99", "99.9")
    },
}


def pattern_of(text: str) -> str:
    """Return a pattern as it is written here.

    Raises:
        ValueError: for one that is none.

    >>> pattern_of("zipf:0.80"), pattern_of("hot:0.1:0.9")
    ('zipf:0.8', 'hot:0.1:0.9')
    """
    name, *words = text.strip().split(":")
    tops, _ = LAWS.get(name, ((), None))
    known = name in LAWS and len(words) == len(tops)
    if not known or not all(re.fullmatch(r"[0-9]{1,2}(\.[0-9]{1,9})?", word) for word in words):
        raise ValueError(f"`{text[:40]}` is not a pattern; accepted: {ACCEPTED}")
    values = [float(word) for word in words]
    for value, top in zip(values, tops, strict=True):
        if not 0 < value <= top or (name != "zipf" and value == 1):
            raise ValueError(f"`{text[:40]}` is out of range; accepted: {ACCEPTED}")
    return ":".join([name, *(f"{value:g}" for value in values)])


@dataclass(frozen=True)
class Load:
    """The writes while a figure was measured.

    Args:
        pattern: As `pattern_of` returns it.
        share: Part of the capacity in use, the rest empty.
        zone_bytes: Size of zones that are trimmed and written from end to end.
        open: Zones that are written in turn.
        rate: Writes a second, those of the probe among them.
        probe: Requests a second of the probe, of which half are writes.
        block_bytes: Size of a request.
        queue_depth: Requests outstanding; of a load on a saturated drive.
        read_pct: Reads in percent.
        is_saturated: Whether writes of a load wait for the drive.
    """

    pattern: str
    share: float = 1.0
    zone_bytes: int | None = None
    open: int = 1
    rate: float | None = None
    probe: float = PROBE_PER_S
    block_bytes: int = SMALL
    queue_depth: int = 512
    read_pct: float = 0.0
    is_saturated: bool = False

    @property
    def name(self) -> str:
        """Name in tables and on the command line."""
        text = self.pattern
        if self.zone_bytes is not None:
            text += f" {self.open} x {self.zone_bytes / MIB:g} MiB"
        if self.rate is not None:
            text += f" {self.rate:g}/s"
        if self.share < 1:
            text += f" {100 * self.share:.4g} %"
        if self.read_pct:
            text += f" {self.block_bytes // 1024} KiB {self.read_pct:g}/{100 - self.read_pct:g}"
        return text

    @property
    def settles(self) -> bool:
        """Whether writes come to a steady state before it counts."""
        return self.pattern not in {SEQUENTIAL, FIRST_MINUTE} and self.read_pct < 100

    @property
    def counted(self) -> int:
        """Windows before the last one that give the WAF."""
        if not self.settles or self.read_pct or self.rate is not None or self.pattern == ZONES:
            return 0
        return 2 if self.pattern.partition(":")[0] in SKEWED else 1

    def run(
        self,
        device: DeviceConfig,
        divisor: int | str = AUTO,
        requests: int = 2000,
        requests_max: int = 20_000_000,
    ) -> Run:
        """Return the run that represents the cell.

        Args:
            device: The whole device.
            divisor: Its divisor.
            requests: Requests that count at least.
            requests_max: Most requests.

        Raises:
            ConfigError: for a device that cannot run it, or takes more requests.
        """  # fmt: skip
        if divisor == AUTO:
            # Zones become whole requests of the smaller drive; they do not decide its size.
            divisor = shrink(device, PLAIN, AUTO).divisor
        draft = shrink(device, self._whole(int(divisor)), divisor)
        small, asked = draft.device, draft.workload.to_dict()
        pools, row = reclaimed(small)
        unit = map_unit_bytes(small.to_dict())
        outstanding = self.queue_depth if self.rate is None else LOAD_DEPTH
        before = buffered(small.to_dict()) + outstanding * max(1, self.block_bytes // unit) + row
        logical = int(small.effective["logical_pages"])
        for step in asked["precondition"]:
            if step.get("timed"):
                step["drive_writes"] = before / logical
        reclaims = max(RECLAIMS_MIN, math.ceil(RECLAIMS / pools))
        count = self._requests(reclaims * row, unit, requests)
        if count > requests_max:
            raise ConfigError(
                f"cell {self.name}",
                f"takes {count} requests ({reclaims} x {row} units of {unit} B to reclaim); "
                f"accepted: at most {requests_max}: larger --requests-max, or a device of fewer "
                "nand.pages_per_block",
            )
        asked["total"] = {"ios": count}
        if self.pattern in COUNTED:
            asked["total"] = {"drive_writes": COUNTED[self.pattern]}
        return Run(self, small, asked, row, draft.divisor, draft.notes)

    def _whole(self, divisor: int) -> dict[str, Any]:
        """Return the workload of the whole device, but for its lengths."""
        name, *words = self.pattern.split(":")
        pattern = LAWS[name][1](*map(float, words))
        if self.zone_bytes is not None:
            each = max(1, round(self.zone_bytes / divisor / self.block_bytes))
            pattern |= {"zone_bytes": each * divisor * self.block_bytes, "open": self.open}
        steps: list[dict[str, Any]] = []
        if self.share >= 1 and name not in {SEQUENTIAL, ZONES}:
            steps.append(dict(FILL))
        writes = {"kind": "workload", "requests": "workload"}
        fixed = SKEWED.get(name, ZONE_WRITES if name == ZONES else None)
        if fixed is not None:
            steps.append({**writes, "drive_writes": fixed})
        elif self.settles:
            steps.append({
                **writes, "until": "steady", "window_drive_writes": WINDOW * self.share,
                "windows": 2, "tolerance_ratio": AGREE, "max_drive_writes": SETTLE_MAX - WINDOW,
            })  # fmt: skip
        steps += self.counted * [{**writes, "drive_writes": WINDOW * self.share}]
        if self.settles or name == SEQUENTIAL:
            steps.append({**writes, "timed": True, "drive_writes": 0.01})
        found: dict[str, Any] = {
            "pattern": pattern, "block_size_bytes": self.block_bytes,
            "active_range_pct": 100 * self.share, "precondition": steps, "total": {"ios": 1 << 30},
        }  # fmt: skip
        if self.rate is None:
            return found | {"queue_depth": self.queue_depth, "read_pct": self.read_pct}
        beside = (self.rate - self.probe / 2) / (1 - LOAD_READ_PCT / 100)
        depth = self.queue_depth if self.is_saturated else _poisson(beside)
        return found | {"tenants": [
            {"name": "probe", "read_pct": 50, "queue_depth": _poisson(self.probe)},
            {"name": LOAD, "read_pct": LOAD_READ_PCT, "queue_depth": depth},
        ]}  # fmt: skip

    def _requests(self, units: int, unit: int, least: int) -> int:
        """Return how many requests count."""
        if self.read_pct >= 100:
            return max(least, READ_TURNS * self.queue_depth)
        writes = math.ceil(units / max(1.0, self.block_bytes / unit))
        if self.rate is None:
            return max(least, math.ceil(writes / (1 - self.read_pct / 100)))
        probe = self.probe / 2
        requests = (self.rate + probe) / probe * PROBE_READS
        return max(least, math.ceil(requests), math.ceil(writes * (1 + probe / self.rate)))


def _poisson(iops: float) -> dict[str, Any]:
    return {"arrival": "poisson", "iops": max(1.0, iops)}


@dataclass(frozen=True)
class Run:
    """A cell on a shrunk device.

    Args:
        load: The cell.
        device: The device.
        workload: The workload.
        row: Map units of a block of every pool.
        divisor: Divisor of the device.
        notes: What that loses.
    """

    load: Load
    device: DeviceConfig
    workload: dict[str, Any]
    row: int
    divisor: int
    notes: tuple[str, ...]


def figures(load: Load, row: int, document: Mapping[str, Any]) -> list[float | None]:
    """Return the figures of a result in the order of `FIGURES`, and 1 if the cell was steady.

    Args:
        load: What ran.
        row: Map units of a block of every pool.
        document: The result.

    Raises:
        ConfigError: for a cell of writes in which no block of every pool was closed.
    """
    metrics = document["metrics"]
    programs = sum(metrics["programs"].values())
    if load.read_pct < 100 and load.pattern != FIRST_MINUTE and programs < row:
        raise ConfigError(
            f"cell {load.name}",
            f"{programs} units were programmed and a superblock has {row}, so none was closed: the "
            "figures are those of buffers and erased blocks; accepted: longer cells",
        )
    source = metrics
    if load.rate is not None:
        source = next(one for one in metrics["tenants"] if one["name"] == "probe")
    found = [
        _at(metrics if weight in {"rate", "waf"} else source, path)
        for path, weight in FIGURES.values()
    ]
    if load.rate is not None:
        found[0] = _at(metrics, "throughput_mb_s.write")
    steps = document["state"]["steps"]
    is_steady = all(step.get("steady", True) for step in steps)
    wafs = [float(step["waf"]) for step in steps[-1 - load.counted : -1]] if load.counted else []
    if wafs and found[0] is not None and found[1]:
        mean = math.fsum(wafs) / len(wafs)
        found[:2] = found[0] * found[1] / mean, mean
        is_steady &= max(wafs) <= (1 + MOVED) * min(wafs)
    return [*found, float(is_steady)]


def _at(metrics: Mapping[str, Any], path: str) -> float | None:
    here: Any = metrics
    for part in path.split("."):
        here = here.get(part) if isinstance(here, Mapping) else None
    return None if here is None else float(here)
