"""Some cells of a standard test on a simulated drive, briefly: what a fit asks hundreds of times.

```text
purge ─► sequential fill ─► random writes ─► cell, cell, …     in the order of the test
          1 x, no clock      of the range,    requests that count, and before them as many
                             no clock         as fill the queue
```
There are no rounds and no steady-state rule: the drive is brought to where rounds would end by
writes without a clock, and each cell is as long as its requests. On `client_sata_2013` the 56 cells
of IOPS take half a second where the test takes a minute and a half.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from opennandlab.documents.record import JsonObject
from opennandlab.errors import ConfigError
from opennandlab.pts.plan import seed_of
from opennandlab.targets.base import ActiveRange, Limit, Stimulus
from opennandlab.targets.simulated import SimulatedTarget

SCHEMA = "opennandlab.cells/1"
# Of large requests fewer count: so many bytes, but several times what is outstanding.
CELL_BYTES_MAX = 32 << 20
TURNS_MIN = 4
FILL_BLOCK_BYTES = 128 << 10
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
        requests: Requests of a cell that count, fewer of large ones.
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
        ConfigError: for a device that cannot be, or cells that it cannot do.
        TargetError: when the drive fails.
    """
    target = SimulatedTarget(dict(device), seed=seed)
    try:
        if question.cache is not None:
            target.set_cache(enabled=question.cache)
        _prepare(target, question, seed)
        rows = []
        for place, (size, read_pct) in enumerate(question.cells):
            if watch is not None:
                watch((place + 1) / (len(question.cells) + 1))
            rows.append(_cell(target, question, size, read_pct, seed))
        return {"schema": SCHEMA, "cells": rows}
    finally:
        target.close()


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
        raise ConfigError("amount_share", "more is tested than the drive has; accepted: less")
    return ActiveRange(question.share, amount_bytes, segments)


def _prepare(target: SimulatedTarget, question: Question, seed: int) -> None:
    target.purge()
    whole = ActiveRange(question.share)
    fill = Stimulus("sequential", block_bytes=FILL_BLOCK_BYTES, active_range=whole)
    size = int(question.share * target.capacity_bytes)
    target.run(fill, Limit(bytes=size), seed=seed_of(seed, "cells", "fill"), is_measured=False)
    if question.settle <= 0:
        return
    part = _range(target, question)
    size = int(question.settle * (part.amount_bytes or size)) // 4096 * 4096
    writes = Stimulus("random", block_bytes=4096, active_range=part)
    if question.pattern == "sequential":
        writes = fill
    limit = Limit(bytes=max(size, 4096))
    target.run(writes, limit, seed=seed_of(seed, "cells", "settle"), is_measured=False)


def _cell(
    target: SimulatedTarget, question: Question, size: int, read_pct: float, seed: int
) -> JsonObject:
    stimulus = Stimulus(
        "sequential" if question.pattern == "sequential" else "random",
        read_pct=read_pct,
        block_bytes=size,
        threads=question.threads,
        queue_depth=question.queue_depth,
        active_range=_range(target, question),
    )
    queued = stimulus.outstanding
    count = max(TURNS_MIN * queued, min(question.requests, CELL_BYTES_MAX // size))
    limit = Limit(ios=count + queued, ramp_ratio=queued / (count + queued))
    done = target.run(stimulus, limit, seed=seed_of(seed, "cells", size, read_pct))
    mean_ns = done.latency.mean_ns
    return {
        "block_bytes": size,
        "read_pct": read_pct,
        "iops": done.iops,
        "mb_s": done.mb_s,
        "lat_us_mean": None if mean_ns is None else mean_ns * 1e-3,
        "waf": done.inside.get("waf"),
    }
