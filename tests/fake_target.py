"""A drive of formulas, for tests of the standard tests: quick, and known in closed form.

Requests are served by 32 units. A random write takes 60 µs times the write amplification
`1 + 3 (1 - exp(-2 d))`, where the dirt `d` is what was written at random, in capacities; sequential
writes wear it off. Idle time buys free blocks, into which writes go at the speed of a new drive.
Ten in a thousand requests take three times as long as the others, one ten times. A seed moves all
of it by half a percent, so that another seed gives another document.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

from opennandlab.documents import pts_header
from opennandlab.stats.histogram import Histogram
from opennandlab.targets.base import (
    CacheState,
    Limit,
    Measurement,
    Purge,
    Requests,
    Sample,
    Step,
    Stimulus,
    Target,
    Watcher,
)

UNITS = 32
READ_US, WRITE_US, PAGE = 50.0, 60.0, 4096
IDLE_BYTES_PER_S = 50e6


class FakeTarget(Target):
    """The drive of formulas."""

    kind = "sim"
    is_virtual = True

    def __init__(self, capacity_bytes: int = 64 << 20, sector_bytes: int = 512) -> None:
        self.name = "fake:formulas"
        self.capacity_bytes = capacity_bytes
        self.sector_bytes = sector_bytes
        self.config: dict[str, Any] = {"nand": {"channels": 2, "dies_per_channel": 2}, "ftl": {}}
        self.units = UNITS
        self.dirt = self.credit_bytes = 0.0
        self.calls = 0
        self.states = 0
        self.is_closed = False
        self.asked: list[tuple[Stimulus, Limit, int]] = []

    def facts(self) -> pts_header.Target:
        device = pts_header.DeviceFacts(
            vendor="opennandlab",
            model="formulas",
            firmware="1",
            serial_sha256=None,
            capacity_bytes=self.capacity_bytes,
            sector_bytes=self.sector_bytes,
            nand_type="TLC",
            interface="ideal",
            config=self.config,
            config_sha256=hashlib.sha256(b"formulas").hexdigest(),
            over_provisioning_ratio=0.07,
        )
        platform = {"simulator_version": "0", "model_version": "fake"}
        return pts_header.Target(kind=self.kind, name=self.name, device=device, platform=platform)

    def set_cache(self, *, enabled: bool) -> CacheState:
        return "enabled" if enabled else "disabled"

    def purge(self) -> Purge:
        self.calls += 1
        self.dirt = self.credit_bytes = 0.0
        return Purge("erase of all blocks", is_purge=True)

    def run(  # noqa: PLR0913
        self,
        stimulus: Stimulus,
        limit: Limit,
        *,
        seed: int,
        sample_s: float | None = None,
        is_measured: bool = True,
        watch: Watcher | None = None,
    ) -> Measurement:
        self.calls += 1
        self.asked.append((stimulus, limit, seed))
        if watch is not None:
            watch(Step(0.5, 0.0))
        size = _mean_size(stimulus)
        waf = self._waf(stimulus)
        per_io_us = self._service_us(stimulus, size, waf) * (1 + _noise(seed))
        busy = min(stimulus.outstanding, self.units)
        iops = busy * 1e6 / per_io_us
        ios, seconds = _until(limit, iops, size)
        elapsed = seconds
        ramp = int(ios * limit.ramp_ratio)
        counted = max(ios - ramp, 1)
        seconds *= counted / ios
        reads = round(counted * stimulus.read_pct / 100)
        written = round((ios - ios * stimulus.read_pct / 100) * size)
        latency_us = stimulus.outstanding / iops * 1e6
        self._wear(stimulus, written)
        samples: list[Sample] = []
        if sample_s is not None:
            for index in range(int(elapsed / sample_s + 1e-9)):
                wave = 1 + 0.02 * math.sin(index)
                part = round(iops * sample_s * wave)
                mean = latency_us / wave
                samples.append(
                    Sample((index + 1) * sample_s, part, round(part * size), mean, 10 * mean)
                )
        span = self.capacity_bytes * stimulus.active_range.share / stimulus.threads
        end = (stimulus.start_bytes + ios * size / stimulus.threads) % span
        return Measurement(
            seconds=seconds,
            elapsed_s=elapsed if is_measured else None,
            reads=_requests(reads, size, latency_us),
            writes=_requests(counted - reads, size, latency_us),
            written_bytes=written,
            end_bytes=int(end) // PAGE * PAGE,
            samples=tuple(samples),
            inside={"nand_bytes_written": round(written * waf)},
        )

    def sibling(self, config: dict[str, Any]) -> FakeTarget:
        dies = config["nand"]["channels"] * config["nand"]["dies_per_channel"]
        other = FakeTarget(self.capacity_bytes * dies // 4, self.sector_bytes)
        other.config, other.units = config, UNITS * dies // 4
        return other

    def idle(self, seconds: float) -> None:
        self.calls += 1
        self.credit_bytes = min(
            self.credit_bytes + seconds * IDLE_BYTES_PER_S, 0.05 * self.capacity_bytes
        )

    def checkpoint(self) -> bytes | None:
        self.states += 1
        return json.dumps([self.dirt, self.credit_bytes]).encode()

    def restore(self, state: bytes) -> None:
        self.dirt, self.credit_bytes = json.loads(state)

    def close(self) -> None:
        self.is_closed = True

    def _waf(self, stimulus: Stimulus) -> float:
        if stimulus.pattern == "sequential" or self.credit_bytes > 0:
            return 1.0 + self.dirt * (stimulus.pattern == "sequential") * 0.5
        spare = 3.0 * stimulus.active_range.share
        return 1.0 + spare * (1 - math.exp(-2 * self.dirt))

    def _service_us(self, stimulus: Stimulus, size: float, waf: float) -> float:
        pages = max(size / PAGE, 1.0)
        share = stimulus.read_pct / 100
        return pages * (share * READ_US + (1 - share) * WRITE_US * waf) + 5.0

    def _wear(self, stimulus: Stimulus, written: int) -> None:
        fills = written / self.capacity_bytes
        self.credit_bytes = max(self.credit_bytes - written, 0.0)
        if stimulus.pattern == "random":
            self.dirt = min(self.dirt + fills, 4.0)
        else:
            self.dirt *= math.exp(-2 * fills)


def _mean_size(stimulus: Stimulus) -> float:
    if isinstance(stimulus.block_bytes, int):
        return float(stimulus.block_bytes)
    total = sum(weight for _, weight in stimulus.block_bytes)
    return sum(size * weight for size, weight in stimulus.block_bytes) / total


def _until(limit: Limit, iops: float, size: float) -> tuple[int, float]:
    """Return requests and seconds at which a limit is reached."""
    ios = max(limit.ios, math.ceil(limit.bytes / size), math.ceil(limit.seconds * iops), 1)
    if limit.seconds_max is not None:
        ios = max(1, min(ios, math.floor(limit.seconds_max * iops)))
    return ios, ios / iops


def _noise(seed: int) -> float:
    return (seed % 1009 / 1009 - 0.5) * 0.01


def _requests(ios: int, size: float, latency_us: float) -> Requests:
    slow, slowest = ios // 100, ios // 1000
    usual = latency_us / (0.989 + 0.01 * 3 + 0.001 * 10)
    bins = [
        (round(usual * 900), (ios - slow - slowest) // 2),
        (round(usual * 1100), (ios - slow - slowest + 1) // 2),
        (round(usual * 3000), slow),
        (round(usual * 10000), slowest),
    ]
    return Requests(ios, round(ios * size), Histogram.of_bins(bins))
