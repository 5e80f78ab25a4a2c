"""A test without its drive: every step is noted, none is done.

The procedure runs against a target that answers at once with constant figures, so that the steady
state is attained after five rounds, or against one that never gets steady. The two give what a test
writes and how long it takes at least and at most, from the procedure itself and so without a second
description of it.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace
from typing import Any

from opennandlab import _core
from opennandlab.base.errors import ConfigError
from opennandlab.documents import pts_header
from opennandlab.pts.bench import declared
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.pace import Pace
from opennandlab.pts.bench.plan import Plan
from opennandlab.pts.bench.test import Test
from opennandlab.stats.histogram import Histogram
from opennandlab.targets import mixture
from opennandlab.targets.base import (
    CacheState,
    Limit,
    Measurement,
    Purge,
    Requests,
    Stimulus,
    Target,
    TargetError,
    Watcher,
)
from opennandlab.targets.fio import job
from opennandlab.targets.spec import stream_spec

# What is assumed of a drive of which nothing is known: requests per second of small blocks, and
# 10^6 bytes per second of large ones.
ASSUMED_IOPS = 50_000.0
ASSUMED_MB_S = 500.0
# Response time of a simulated drive with nothing else to do, from a write buffer and from flash.
ASSUMED_BUFFERED_S, ASSUMED_FLASH_S = 20e-6, 500e-6
# fio's start and end, of each stimulus of a real drive (fio 3.33: 0.2 s, and a busy machine).
FIO_START_S = 0.25


# Work of a page that is written or read, in requests; without a clock it is half as much.
PAGE_BYTES = 16384
UNTIMED_SHARE = 0.5


@dataclass
class Stretch:
    """A phase of a rehearsal.

    Args:
        name: Name of the phase.
        round: Its number; None outside rounds.
        costs: Work of each of its cells; see `outlook`.
        written_bytes: Bytes written.
        seconds: Device time, on the assumed drive.
    """

    name: str
    round: int | None
    costs: list[float]
    written_bytes: int
    seconds: float

    @property
    def work(self) -> float:
        """Work of all its cells."""
        return sum(self.costs)

    def done(self, cell: int, fraction: float) -> float:
        """Return the work that is done when a part of a cell is, which is counted from 1."""
        at = min(cell, len(self.costs))
        return sum(self.costs[: at - 1]) + fraction * self.costs[at - 1] if at else 0.0


@dataclass
class Rehearsal:
    """What a test would do.

    Args:
        steps: Purges, cells and idle times.
        phases: Name of each kind of phase, and how many cells there are in it.
        written_bytes: Bytes written.
        seconds: Device time, on the assumed drive, or at the rates of its copy.
        stretches: Its phases, in order.
        is_virtual: Whether the drive is simulated, and its time passes at another pace.
        here_s: Seconds that pass here; None where that is unknown.
    """

    steps: int = 0
    phases: dict[str, list[int]] = field(default_factory=dict)
    written_bytes: int = 0
    seconds: float = 0.0
    stretches: list[Stretch] = field(default_factory=list)
    is_virtual: bool = False
    here_s: float | None = None

    @property
    def work(self) -> float:
        """Work of all phases."""
        return sum(stretch.work for stretch in self.stretches)

    def of_phase(self, name: str) -> tuple[int, float]:
        """Return bytes written and device time of all phases of a name."""
        found = [stretch for stretch in self.stretches if stretch.name == name]
        return sum(one.written_bytes for one in found), sum(one.seconds for one in found)


@dataclass
class _Run:
    """What one run of a stand asked for, or two together."""

    cost: float
    written_bytes: int
    seconds: float

    def __add__(self, other: _Run) -> _Run:
        return _Run(
            self.cost + other.cost,
            self.written_bytes + other.written_bytes,
            self.seconds + other.seconds,
        )


@dataclass
class _Total:
    """What was asked of a stand and its siblings."""

    runs: int = 0
    written_bytes: int = 0
    seconds: float = 0.0
    log: list[_Run] = field(default_factory=list)
    checked: set[Stimulus] = field(default_factory=set)
    # Seconds that the runs take here, and whether each of them is known.
    here_s: float = 0.0
    is_known: bool = True


class _Stand(Target):
    """A target that does nothing, at once."""

    def __init__(self, like: Target, *, is_steady: bool, pace: Pace | None = None) -> None:
        self.kind = like.kind  # type: ignore[misc]
        self.is_virtual = like.is_virtual  # type: ignore[misc]
        self.name = like.name
        self.capacity_bytes, self.shrink = like.capacity_bytes, like.shrink
        self.sector_bytes = like.sector_bytes
        self.is_steady = is_steady
        self.like = like
        self.is_buffered = False
        self.pace = pace
        self.total = _Total()

    def facts(self) -> pts_header.Target:
        return self.like.facts()

    def sibling(self, config: dict[str, Any]) -> Target:
        stand = _Stand(self.like, is_steady=self.is_steady, pace=self.pace)
        dies = (
            target["nand"]["channels"] * target["nand"]["dies_per_channel"]
            for target in (config, self.facts().device.config or config)
        )
        stand.capacity_bytes = int(self.like.capacity_bytes * next(dies) / next(dies))
        stand.total = self.total
        return stand

    def set_cache(self, *, enabled: bool) -> CacheState:
        self.is_buffered = declared.has_buffer(declared.config_of(self), cache_enabled=enabled)
        return "enabled" if enabled else "disabled"

    def purge(self) -> Purge:
        return Purge("rehearsed", is_purge=True)

    def run(  # noqa: PLR0913 (all but two by name)
        self,
        stimulus: Stimulus,
        limit: Limit,
        *,
        seed: int,
        sample_s: float | None = None,
        is_measured: bool = True,
        watch: Watcher | None = None,
    ) -> Measurement:
        del seed, sample_s, watch
        total = self.total
        total.runs += 1
        if stimulus not in total.checked:
            total.checked.add(stimulus)
            if stimulus.streams:
                mixture.sources(stimulus, self.capacity_bytes, 0)
            if self.is_virtual:
                self._check(stimulus)
            else:
                self._check_layout(stimulus)
        size = _mean_bytes(stimulus)
        rate = self.pace.rate(stimulus) if self.pace is not None else None
        iops = self._assumed_iops(stimulus, size) if rate is None else rate.iops
        seconds = max(limit.seconds, limit.ios / iops, limit.bytes / (iops * size))
        if self.pace is not None and limit.reclaims and stimulus.read_pct < 100:
            needed = limit.reclaims * self.pace.reclaim_bytes / (1 - stimulus.read_pct / 100)
            seconds = max(seconds, needed / (iops * size))
        if limit.seconds_max is not None:
            seconds = min(seconds, limit.seconds_max)
        ios = max(1, round(seconds * iops))
        if limit.bytes and seconds * iops * size >= limit.bytes:
            ios = max(1, round(limit.bytes / size))
        reads = round(ios * stimulus.read_pct / 100)
        written = round((ios - reads) * size)
        total.written_bytes += written
        elapsed_s = seconds + (0.0 if self.is_virtual else FIO_START_S)
        total.seconds += elapsed_s
        share = 1.0 if is_measured else UNTIMED_SHARE
        work = ios + share * ios * size / PAGE_BYTES if self.like.is_virtual else elapsed_s
        total.log.append(_Run(work, written, elapsed_s))
        if not is_measured and self.pace is not None:
            total.here_s += self.pace.untimed_s(stimulus, round(ios * size))
        elif rate is not None:
            total.here_s += ios * rate.request_s
        else:
            total.is_known = False
        # Never steady: cells differ by a factor of up to 11, without any order or period.
        chance = zlib.crc32(str(total.runs).encode()) % 101 / 10
        window = seconds if self.is_steady else seconds * (1 + chance)
        return Measurement(
            seconds=window,
            elapsed_s=seconds,
            reads=_requests(reads, size, window),
            writes=_requests(ios - reads, size, window),
            written_bytes=written,
        )

    def _assumed_iops(self, stimulus: Stimulus, size: float) -> float:
        iops = min(ASSUMED_IOPS, ASSUMED_MB_S * 1e6 / size)
        if not self.is_virtual:
            return iops
        # One request at a time keeps no drive busy, and a minute of it costs little.
        alone_s = ASSUMED_BUFFERED_S if self.is_buffered else ASSUMED_FLASH_S
        return min(iops, stimulus.outstanding / alone_s)

    def _check(self, stimulus: Stimulus) -> None:
        """Refuse what the drive would, such as a range without room for all its requests."""
        try:
            _core.Stream(stream_spec(stimulus), self.capacity_bytes // 4096 * 4096, 0, 0)
        except ConfigError as error:
            share, threads = stimulus.active_range.share, stimulus.threads
            raise ConfigError(
                error.path,
                f"{error.message} (active range {100 * share:.3g} % of {self.capacity_bytes} B, "
                f"{threads} thread{'' if threads == 1 else 's'}, {stimulus.pattern})",
            ) from error
        self.like.check(stimulus)

    def _check_layout(self, stimulus: Stimulus) -> None:
        """Refuse what fio could not do, before a purge has cost the data."""
        place = job.Place("none", (), self.capacity_bytes, self.sector_bytes)
        try:
            job.layout(place, stimulus)
        except TargetError as error:
            raise ConfigError("target", str(error)) from error

    def idle(self, seconds: float) -> None:
        self.total.seconds += seconds
        if self.total.log:
            self.total.log[-1].seconds += seconds
            # Idle time of a simulated drive takes none.
            self.total.log[-1].cost += 0.0 if self.like.is_virtual else seconds

    def close(self) -> None:
        """Hold nothing."""


def rehearse(
    test: Test, plan: Plan, target: Target, *, is_steady: bool, pace: Pace | None = None
) -> Rehearsal:
    """Return what a test does at least (`is_steady`), or at most.

    Args:
        test: The test.
        plan: With all defaults filled in.
        target: The drive, which is not touched.
        is_steady: Whether it is steady after five rounds, or never.
        pace: Rates of a simulated drive; without them the time that passes here is unknown.
    """
    stand = _Stand(target, is_steady=is_steady, pace=pace)
    # What is rehearsed is not noted as done.
    bench = Bench(stand, replace(plan, time=replace(plan.time)))
    test.run(bench)
    total = stand.total
    here_s: float | None = total.seconds
    if target.is_virtual:
        here_s = total.here_s if pace is not None and total.is_known else None
    done = Rehearsal(
        written_bytes=total.written_bytes,
        seconds=total.seconds,
        is_virtual=target.is_virtual,
        here_s=here_s,
    )
    log = iter(total.log)
    for phase in bench.record.phases:
        runs = []
        for cell in range(1, phase.cells + 1):
            runs.append(next(log))
            if cell in phase.rests:
                runs[-1] += next(log)
        done.stretches.append(
            Stretch(
                phase.name,
                phase.round,
                [run.cost for run in runs],
                sum(run.written_bytes for run in runs),
                sum(run.seconds for run in runs),
            )
        )
        row = done.phases.setdefault(phase.name, [0, 0])
        row[0] += 1
        row[1] += phase.cells
    done.steps = bench.steps
    return done


def _mean_bytes(stimulus: Stimulus) -> float:
    if isinstance(stimulus.block_bytes, int):
        return float(stimulus.block_bytes)
    weights = sum(weight for _, weight in stimulus.block_bytes)
    return sum(size * weight for size, weight in stimulus.block_bytes) / weights


def _requests(ios: int, size: float, seconds: float) -> Requests:
    latency = Histogram.of_bins([(max(1, round(seconds / max(ios, 1) * 1e9)), ios)])
    return Requests(ios, round(ios * size), latency)
