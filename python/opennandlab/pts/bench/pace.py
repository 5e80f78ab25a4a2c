"""How fast a simulated drive is, and how fast it is simulated here: tried on a small copy of it.

    drive ──► fewer blocks, the same dies ──► fill, random writes ──► each load of a test, briefly
                                                    │                        │
                                         time of a byte without      requests a second,
                                         a clock                     time of a request

A rehearsal answers with these rates, so that it forecasts what the test takes of this machine's
processor; other work on it is not counted. What the copy cannot have, since it has fewer blocks, is
a matter of state: its collections are those of a drive that was written all over at random.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.pts.bench import declared
from opennandlab.targets.base import (
    ActiveRange,
    Limit,
    Pattern,
    Stimulus,
    Target,
    TargetError,
)

# Blocks of a die of the copy: the first number that its spare area allows.
POOL_BLOCKS = (96, 192, 384, 768)
# Of a trial.
TRIAL_IOS, TRIAL_BYTES, TRIAL_TURNS = 6000, 256 << 20, 4
TRIAL_RAMP = 0.25
# Of the copy that is written at random before a test that leaves nothing to collect.
SMALL_RANGE = 0.02
# Writes of its two states.
FILL = Stimulus("sequential", block_bytes=128 << 10)
SCATTER = Stimulus("random", block_bytes=4096)


@dataclass(frozen=True)
class Rate:
    """What a load gave.

    Args:
        iops: Requests of all kinds a second of the drive's time.
        request_s: Processor time that simulating one takes here, seconds.
    """

    iops: float
    request_s: float


@dataclass
class Pace:
    """Rates of the loads of a drive, each tried once.

    Args:
        trial: The copy.
        byte_s: By pattern, the processor time of writing a byte without a clock, in seconds.
        fills: By pattern, how often the copy is written before loads of that pattern.
        reclaim_bytes: What the drive writes while every pool reclaims a block.
        cache_enabled: Whether its write cache is on.
        rates: Those that were tried.
        state: The writes that the copy had last.
    """

    trial: Target
    byte_s: Mapping[Pattern, float]
    fills: Mapping[Pattern, float]
    reclaim_bytes: float
    cache_enabled: bool
    rates: dict[tuple[Any, ...], Rate] = field(default_factory=dict)
    state: Stimulus = SCATTER

    @classmethod
    def of(cls, target: Target, *, cache_enabled: bool, is_range_small: bool) -> Pace | None:
        """Try a small copy of a simulated drive; None for a disc, an array or a drive too small.

        Args:
            target: The drive, which is not touched.
            cache_enabled: Whether the write cache is on.
            is_range_small: Whether a test leaves nothing to collect.
        """
        config = declared.config_of(target)
        trial = _copy(target, config) if "nand" in config else None
        if trial is None:
            return None
        trial.set_cache(enabled=cache_enabled)
        fills: dict[Pattern, float] = {
            "sequential": 2.0,
            "random": SMALL_RANGE if is_range_small else 1.0,
        }
        try:
            byte_s = {
                one.pattern: _time_writes(trial, one, fills[one.pattern]) for one in (FILL, SCATTER)
            }
        except TargetError:
            return None
        return cls(trial, byte_s, fills, _reclaim_bytes(config), cache_enabled)

    def rate(self, stimulus: Stimulus) -> Rate | None:
        """Return the rate of a load; None where the copy cannot do it."""
        if stimulus.is_counted:
            return None
        key = (
            stimulus.pattern, stimulus.read_pct, stimulus.block_bytes, stimulus.outstanding,
            stimulus.rate_per_s, stimulus.streams,
        )  # fmt: skip
        if key not in self.rates:
            found = self._tried(stimulus)
            if found is None:
                return None
            self.rates[key] = found
        return self.rates[key]

    def untimed_s(self, stimulus: Stimulus, count: int) -> float:
        """Return the seconds that writing bytes without a clock takes here."""
        return count * self.byte_s.get(stimulus.pattern, self.byte_s["random"])

    def _tried(self, stimulus: Stimulus) -> Rate | None:
        block = stimulus.block_bytes
        size = block if isinstance(block, int) else max(one for one, _ in block)
        ios = max(min(TRIAL_IOS, TRIAL_BYTES // size), TRIAL_TURNS * stimulus.outstanding)
        asked = replace(
            stimulus,
            active_range=ActiveRange(),
            zones=(),
            skew=None,
            logs=None,
            start_bytes=0,
            beside=(),
        )
        kind = stimulus.pattern if stimulus.pattern in self.fills else "random"
        # Several streams share the open blocks, which die together only where the same wrote them.
        streams = replace(asked, read_pct=0) if kind == "sequential" else SCATTER
        began = time.process_time()
        try:
            if streams != self.state:
                # Data of other loads would have to be collected first.
                self.trial.purge()
                self.trial.set_cache(enabled=self.cache_enabled)
                _time_writes(self.trial, replace(streams, pattern="sequential"), 1.0)
                _time_writes(self.trial, streams, self.fills[kind])
                self.state, began = streams, time.process_time()
            found = self.trial.run(asked, Limit(ios=ios, ramp_ratio=TRIAL_RAMP), seed=1)
        except (ConfigError, TargetError):
            return None
        if not found.ios or not found.seconds:
            return None
        return Rate(found.ios / found.seconds, (time.process_time() - began) / ios)


def _copy(target: Target, config: Mapping[str, Any]) -> Target | None:
    """Return a drive with as few blocks as its spare area allows; None without one."""
    from opennandlab.targets.simulated import SimulatedTarget

    if not isinstance(target, SimulatedTarget):
        return None
    for blocks in POOL_BLOCKS:
        try:
            return target.sibling(_smaller(config, blocks))
        except ConfigError:  # noqa: PERF203 (too few to collect, or to cache: the next number)
            continue
    return None


def _smaller(config: Mapping[str, Any], pool_blocks: int) -> dict[str, Any]:
    """Return a flash drive with this number of blocks a die, and caches of the same share."""
    found: dict[str, Any] = copy.deepcopy(dict(config))
    nand, ftl = found["nand"], found["ftl"]
    blocks = min(-(-pool_blocks // nand["planes_per_die"]), nand["blocks_per_plane"])
    share = blocks / nand["blocks_per_plane"]
    nand["blocks_per_plane"] = blocks
    cache = ftl.get("slc_cache") or {}
    for key in ("static_bytes", "dynamic_bytes_max"):
        if isinstance(cache, dict) and isinstance(cache.get(key), int):
            cache[key] = int(cache[key] * share)
    if isinstance(reserve := ftl.get("gc_reserve_blocks"), int):
        ftl["gc_reserve_blocks"] = max(int(reserve * share), 1)
    return found


def _time_writes(trial: Target, stimulus: Stimulus, fills: float) -> float:
    """Write without a clock; return the processor time of a byte, in seconds."""
    count = int(fills * trial.capacity_bytes) // 4096 * 4096
    began = time.process_time()
    trial.run(stimulus, Limit(bytes=count), seed=1, is_measured=False)
    return (time.process_time() - began) / count


def _reclaim_bytes(config: Mapping[str, Any]) -> float:
    """Return the bytes of a block of every die: what a drive writes to reclaim as much."""
    nand = config["nand"]
    planes = nand["planes_per_die"] if nand.get("multi_plane") else 1
    block = nand["pages_per_block"] * nand["page_size_bytes"] * planes
    return float(nand["channels"] * nand["dies_per_channel"] * block)
