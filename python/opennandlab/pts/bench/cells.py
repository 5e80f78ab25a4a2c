"""Some cells of a standard test on a simulated drive, briefly: what a fit asks hundreds of times.

```text
purge ─► sequential fill ─► random writes ─► cell, cell, …     in the order of the test
          1 x, no clock      of the range,    requests that count, and before them as many
                             no clock         as fill the queue
```
There are no rounds and no steady-state rule: the drive is brought to where rounds would end by
writes without a clock. On `client_sata_2013` the 56 cells of IOPS take half a second where the test
takes a minute and a half.

**How long a cell of writes is.** Where what is tested does not fit into the spare area, the drive
collects all the time, and a cell that ends before it has is that of the blocks that stood erased.
The unit is a row, a block of every pool (a die, or a group of superblocks): a row is filled and
reclaimed by units / WAF writes, WAF being that of the writes before the first cell.

    pools 1 ─► 16 rows, 2 ─► 8, 4 and more ─► 4      each pool is somewhere else in its block
    before them, not counted: the queue, the write buffer, and a row

So a cell takes `reclaims x units / (WAF x units of a request x share of writes)` requests, and one
that would take more than `requests_max` is refused with this arithmetic, as is one in which nothing
was collected. Where all that is tested fits into the spare area, blocks are dead by the time they
are reclaimed (SNIA PTS-C of 8 GiB): those cells are as long as their requests, and no collection
is to be seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.base.units import kib, mix
from opennandlab.core.config import DeviceConfig, map_unit_bytes
from opennandlab.documents.record import JsonObject
from opennandlab.pts.bench.plan import seed_of
from opennandlab.pts.bench.time_base import PAGE_BYTES
from opennandlab.targets.base import ActiveRange, Limit, Stimulus, TargetError
from opennandlab.targets.simulated import SimulatedTarget

SCHEMA = "opennandlab.cells/1"
# Of large requests fewer count: so many bytes, but several times what is outstanding.
CELL_BYTES_MAX = 32 << 20
TURNS_MIN = 4
FILL_BLOCK_BYTES = 128 << 10
# Blocks that a drive of one pool reclaims in a cell, and each pool of one of many, at least.
RECLAIMS = 16
RECLAIMS_MIN = 4
# Requests of a cell, at most: some minutes.
REQUESTS_MAX = 20_000_000
Watch = Callable[[float | None], None]


@dataclass(frozen=True)
class Question:
    """What is measured of a drive.

    Args:
        cells: Size in bytes and percent of reads of each, in order.
        pattern: `random` or `sequential`.
        threads: Threads (TC).
        queue_depth: Requests outstanding per thread (QD).
        share: Part of the capacity that is used.
        amount_share: Part of the capacity that is tested, in segments; None for all of `share`.
        segments: How many.
        cache: Whether the volatile write cache is on; None for what the device declares.
        requests: Requests of a cell that count at least, fewer of large ones.
        requests_max: Requests of a cell at most; one that needs more is refused.
        settle: Random writes before the first cell, in sizes of the range.
    """

    cells: tuple[tuple[int, float], ...]
    pattern: str = "random"
    threads: int = 1
    queue_depth: int = 1
    share: float = 1.0
    amount_share: float | None = None
    segments: int = 64
    cache: bool | None = None
    requests: int = 2000
    requests_max: int = REQUESTS_MAX
    settle: float = 2.0

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Question:
        """Return a question from JSON."""
        cells = tuple((int(size), float(read_pct)) for size, read_pct in given["cells"])
        return cls(**{**given, "cells": cells})


def measured(
    device: Mapping[str, Any], question: Question, seed: int, watch: Watch | None = None
) -> JsonObject:
    """Return what a drive gives in each cell.

    Args:
        device: The drive, as in its file.
        question: What is measured.
        seed: Decides all addresses.
        watch: Told what share is done; what it raises ends the run.

    Raises:
        ConfigError: for a device that is invalid, or cells that it cannot do.
        TargetError: when the drive fails.
    """
    target = SimulatedTarget(dict(device), seed=seed)
    try:
        if question.cache is not None:
            target.set_cache(enabled=question.cache)
        collecting = _prepare(target, question, seed)
        rows = []
        for place, (size, read_pct) in enumerate(question.cells):
            if watch is not None:
                watch((place + 1) / (len(question.cells) + 1))
            rows.append(_cell(target, question, collecting, size, read_pct, seed))
        return {"schema": SCHEMA, "cells": rows}
    finally:
        target.close()


@dataclass(frozen=True)
class Collecting:
    """What a drive collects while it is written.

    Args:
        pools: Dies, or groups of superblocks, that collect for themselves.
        row: Map units of a block of each of them.
        unit_bytes: A map unit.
        buffer: Map units of the write buffer.
        waf: Write amplification of the writes before the first cell.
    """

    pools: int
    row: int
    unit_bytes: int
    buffer: int
    waf: float

    @property
    def reclaims(self) -> int:
        """Blocks that every pool reclaims in a cell."""
        return max(RECLAIMS_MIN, math.ceil(RECLAIMS / self.pools))

    def requests(self, units: float, stimulus: Stimulus) -> int:
        """Return the requests of a cell that write so many units.

        Args:
            units: Map units.
            stimulus: The cell, which writes something.
        """
        size = stimulus.block_bytes if isinstance(stimulus.block_bytes, int) else PAGE_BYTES
        each = max(1.0, size / self.unit_bytes)
        return math.ceil(units / each / (1.0 - stimulus.read_pct / 100))

    def arithmetic(self, stimulus: Stimulus) -> str:
        """Return in words how many requests a cell takes."""
        size = stimulus.block_bytes
        return (
            f"{self.reclaims} x {self.row} units of {self.unit_bytes} B to reclaim, by WAF "
            f"{self.waf:.3g}, requests of {size} B and {100 - stimulus.read_pct:g} % writes"
        )


def _collecting(target: SimulatedTarget, question: Question, waf: float) -> Collecting | None:
    """Return what a drive collects; None where what is tested fits into the spare area."""
    effective = target.device.effective
    unit_bytes = map_unit_bytes(target.device.to_dict())
    filled = question.share * target.capacity_bytes
    part = _range(target, question).amount_bytes or filled
    spare = effective["spare_factor_effective"] * effective["physical_pages"] * unit_bytes
    if part <= spare + target.capacity_bytes - filled:
        return None
    pools, row = reclaimed(target.device)
    config = target.device.to_dict()
    return Collecting(pools, row, unit_bytes, buffered(config), max(waf, 1.0))


def reclaimed(device: DeviceConfig) -> tuple[int, int]:
    """Return how many pools collect for themselves, and the map units of a block of each.

    >>> from opennandlab.core.config import load_device
    >>> reclaimed(load_device("micron_7450_max_800gb"))
    (1, 519888)
    """
    effective = device.effective
    superblocks = effective.get("superblocks")
    pools = superblocks["groups"] if superblocks else effective["die_count"]
    block = superblocks["data_pages"] if superblocks else effective["pages_per_block"]
    return int(pools), int(pools * block)


def buffered(config: Mapping[str, Any]) -> int:
    """Return the map units of all write buffers of a device."""
    buffer = int(config["ftl"].get("write_buffer_pages") or 0)
    return buffer + int((config["host"].get("write_cache") or {}).get("pages") or 0)


def _range(target: SimulatedTarget, question: Question) -> ActiveRange:
    if question.amount_share is None:
        return ActiveRange(question.share)
    # Whole MiB in each segment, so that the largest requests have room.
    segments, unit = question.segments, 1 << 20
    amount = int(question.amount_share * target.capacity_bytes) // (segments * unit)
    segments = (
        segments if amount else max(1, int(question.amount_share * target.capacity_bytes) // unit)
    )
    amount_bytes = max(amount, 1) * segments * unit
    if amount_bytes > question.share * target.capacity_bytes:
        raise ConfigError(
            "amount_share", "the amount to test is larger than the drive; accepted: less"
        )
    return ActiveRange(question.share, amount_bytes, segments)


def _prepare(target: SimulatedTarget, question: Question, seed: int) -> Collecting | None:
    """Bring the drive to where cells begin; return what it collects then, if it does."""
    target.purge()
    whole = ActiveRange(question.share)
    fill = Stimulus("sequential", block_bytes=FILL_BLOCK_BYTES, active_range=whole)
    size = int(question.share * target.capacity_bytes)
    target.run(fill, Limit(bytes=size), seed=seed_of(seed, "cells", "fill"), is_measured=False)
    if question.settle <= 0:
        return _collecting(target, question, 1.0)
    part = _range(target, question)
    size = int(question.settle * (part.amount_bytes or size)) // 4096 * 4096
    writes = Stimulus("random", block_bytes=4096, active_range=part)
    if question.pattern == "sequential":
        writes = fill
    limit = Limit(bytes=max(size, 4096))
    done = target.run(writes, limit, seed=seed_of(seed, "cells", "settle"), is_measured=False)
    return _collecting(target, question, float(done.inside["waf"] or 1.0))


def _cell(  # noqa: PLR0913, PLR0917 (where, what, and how long)
    target: SimulatedTarget,
    question: Question,
    collecting: Collecting | None,
    size: int,
    read_pct: float,
    seed: int,
) -> JsonObject:
    stimulus = Stimulus(
        "sequential" if question.pattern == "sequential" else "random",
        read_pct=read_pct,
        block_bytes=size,
        threads=question.threads,
        queue_depth=question.queue_depth,
        active_range=_range(target, question),
    )
    ramp = stimulus.outstanding
    count = max(TURNS_MIN * ramp, min(question.requests, CELL_BYTES_MAX // size))
    is_collecting = collecting is not None and read_pct < 100
    if collecting is not None and is_collecting:
        ramp += collecting.requests(collecting.buffer + collecting.row / collecting.waf, stimulus)
        units = collecting.reclaims * collecting.row / collecting.waf
        count = max(count, collecting.requests(units, stimulus))
    if count + ramp > question.requests_max and collecting is not None:
        raise ConfigError(
            f"cell {kib(size)}:{mix(read_pct)}",
            f"takes {count + ramp} requests ({collecting.arithmetic(stimulus)}); accepted: at most "
            f"{question.requests_max}: larger --requests-max, or a device of fewer "
            "nand.pages_per_block",
        )
    limit = Limit(ios=count + ramp, ramp_ratio=ramp / (count + ramp))
    done = target.run(stimulus, limit, seed=seed_of(seed, "cells", size, read_pct))
    lost = done.inside.get("lost_read_pages")
    if lost:
        raise TargetError(
            f"{target.name}: data lost: {lost} pages that the cell {kib(size)}:{mix(read_pct)} "
            "read could not be corrected by any step of recovery, so its figures are "
            "meaningless; accepted: a device that keeps its data"
        )
    if is_collecting and not done.inside["collections"]:
        raise ConfigError(
            f"cell {kib(size)}:{mix(read_pct)}",
            f"nothing was collected in {done.ios} requests, so the figures are those of "
            f"erased blocks; accepted: longer --settle (now {question.settle:g} range sizes)",
        )
    mean_ns = done.latency.mean_ns
    return {
        "block_bytes": size,
        "read_pct": read_pct,
        "iops": done.iops,
        "mb_s": done.mb_s,
        "lat_us_mean": None if mean_ns is None else mean_ns * 1e-3,
        "waf": done.inside.get("waf"),
    }
