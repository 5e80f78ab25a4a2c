"""How the cells of a measured document are run: what its header says, what is asked, what is left.

A large device is simulated with fewer pages in its blocks (`core.shrinking`), or with fewer blocks
per plane where that is impossible: dies and all shares stay, so its rates do. What a test wrote to
a
part of the drive becomes the same share of the smaller one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.core.config import DeviceConfig, load_device
from opennandlab.core.overrides import set_path
from opennandlab.core.shrinking import AUTO, shrink
from opennandlab.documents.pts import PtsDocument
from opennandlab.documents.pts_header import Header
from opennandlab.pts.bench.cells import REQUESTS_MAX
from opennandlab.studies.calibration.cells import Target
from opennandlab.studies.calibration.loads import PLAIN, Load

# Blocks are left out above this size of the flash.
RAW_BYTES_MAX = 16 << 30
BLOCKS_MIN = 64
# Reserve and open blocks stay as many: more blocks stand for a drive where they would change its
# spare factor, and with it write amplification, by more than this.
SPARE_TOLERANCE = 0.05
BLOCKS = "nand.blocks_per_plane"
BUFFER_KEYS = ("ftl.write_buffer_pages", "host.write_cache")
# Test -> profile -> threads, queue depth, where the document does not say.
LOADS = {
    "iops": {"C": (2, 16), "E": (4, 32)},
    "throughput": {"C": (1, 32), "E": (1, 32)},
    "latency": {"C": (1, 1), "E": (1, 1)},
}
PROFILE = "E"
CACHES = {"C": True, "E": False}


@dataclass(frozen=True)
class Asked:
    """The wishes besides keys; None for what the document says, or the default.

    Args:
        threads: Threads (TC).
        queue_depth: Requests outstanding per thread (QD).
        share: Part of the capacity that is used.
        amount_bytes: What of it is tested, in segments.
        cache: Whether the volatile write cache is on.
        requests: Requests of a cell at least.
        requests_max: Requests of a cell at most.
        settle: Random writes before the first cell, in sizes of the range.
        blocks: Blocks per plane that are simulated; 0 for all.
        shrink: Divisor of the pages of a block, where `blocks` is not given.
    """

    threads: int | None = None
    queue_depth: int | None = None
    share: float | None = None
    amount_bytes: int | None = None
    cache: bool | None = None
    requests: int = 2000
    requests_max: int = REQUESTS_MAX
    settle: float = 2.0
    blocks: int | None = None
    shrink: int | str = AUTO


@dataclass(frozen=True)
class Conditions:
    """How cells are run.

    Args:
        question: The settings of `pts.cells`.
        blocks: Blocks per plane; None for those of the file.
        blocks_of: Blocks per plane of the file.
        shrink: Divisor of the pages of a block.
        warnings: What was assumed.
    """

    question: dict[str, Any]
    blocks: int | None
    blocks_of: int
    shrink: int | str = 1
    warnings: list[str] = field(default_factory=list)

    def applied(self, device: dict[str, Any]) -> dict[str, Any]:
        """Return the device as it is run."""
        if self.blocks is None:
            return device
        found: dict[str, Any] = load_copy(device)
        set_path(found, BLOCKS, self.blocks)
        return found

    def smaller(self, device: DeviceConfig) -> DeviceConfig:
        """Return a device as it is run, with fewer pages in its blocks."""
        return device if self.shrink == 1 else shrink(device, PLAIN, self.shrink).device

    def record(self) -> dict[str, Any]:
        """Return the record of the document."""
        rest = {key: value for key, value in self.question.items() if key != "cells"}
        return {**rest, "shrink": self.shrink,
                "blocks_per_plane": self.blocks or self.blocks_of,
                "blocks_per_plane_of_the_file": self.blocks_of}  # fmt: skip


def load_copy(device: dict[str, Any]) -> dict[str, Any]:
    """Return a mapping that shares nothing that is changed with another."""
    return {key: dict(value) if isinstance(value, dict) else value for key, value in device.items()}


def conditions(  # noqa: PLR0913, PLR0917 (the measurement, on what, and how)
    document: PtsDocument,
    targets: Sequence[Target],
    device: DeviceConfig,
    given: dict[str, Any],
    asked: Asked,
    free: Sequence[str],
) -> Conditions:
    """Return how the cells of a document are run on a device.

    Args:
        document: The measurement.
        targets: Its cells.
        device: The device, resolved.
        given: The device, as its file has it.
        asked: The wishes.
        free: Keys that are fitted.

    Raises:
        ConfigError: for conditions that contradict each other.
    """
    head, warnings = document.header, []
    profile = head.profile if head.profile in CACHES else None
    usual = LOADS[document.test][profile or PROFILE]
    threads = asked.threads or head.threads or usual[0]
    depth = asked.queue_depth or head.queue_depth or usual[1]
    if (asked.threads or head.threads) is None or (asked.queue_depth or head.queue_depth) is None:
        warnings.append(f"threads and queue depth are assumed: {threads} and {depth}")
    capacity = head.target.device.capacity_bytes or int(device.effective["logical_bytes"])
    amount = _amount(asked.amount_bytes, head.active_range.amount_bytes, capacity)
    share = head.active_range.share if asked.share is None else asked.share
    if asked.share is None and amount is None and _is_unknown(document, "active range"):
        warnings.append("the range that was tested is assumed: all of the drive")
    if _is_unknown(document, "pattern"):
        assumed = "sequential" if document.test == "throughput" else "random"
        warnings.append(f"the pattern is assumed: {assumed}")
    cache = _cache(asked, head)
    divisor, told = _divisor(device, asked)
    warnings += told
    blocks = None if divisor != 1 else _blocks(device, given, asked.blocks, free)
    if blocks is not None and asked.blocks:
        warnings += _told_of_spare(device, given, blocks)
    if cache is False and not device.to_dict()["host"].get("power_loss_protected"):
        _refuse_buffer_keys(free)
    question = {
        "cells": [[one.block_bytes, one.read_pct] for one in targets],
        "pattern": "sequential" if document.test == "throughput" else "random",
        "threads": threads,
        "queue_depth": depth,
        "share": float(share),
        "amount_share": None if amount is None else amount / capacity,
        "cache": cache,
        "requests": asked.requests,
        "requests_max": asked.requests_max,
        "settle": asked.settle,
    }
    return Conditions(question, blocks, int(device[BLOCKS]), divisor, warnings)


def _amount(asked: int | None, measured: int | None, capacity: int) -> int | None:
    """Return the bytes that were tested; None for all of the range."""
    if asked is not None and asked <= 0:
        raise ConfigError("--ar-amount", f"{asked} bytes are too few to test; accepted: above 0")
    amount = measured if asked is None else asked
    if (amount or 0) > capacity:
        raise ConfigError("--ar-amount", f"{amount} bytes are more than the drive has ({capacity})")
    return amount


def _divisor(device: DeviceConfig, asked: Asked) -> tuple[int | str, list[str]]:
    """Return the divisor of the pages of a block, and what that loses."""
    is_large = int(device.effective["raw_bytes"]) > RAW_BYTES_MAX
    if asked.blocks is not None or (asked.shrink == AUTO and not is_large):
        return 1, []
    found = shrink(device, PLAIN, asked.shrink)
    return (1 if found.divisor == 1 else asked.shrink), told_of(found.divisor, found.notes)


def told_of(divisor: int, notes: Sequence[str]) -> list[str]:
    """Return the warning of a shrunk drive."""
    if divisor == 1:
        return []
    return [f"blocks have 1/{divisor} of their pages (--shrink 1 for all): {'; '.join(notes)}"]


def conditions_of_loads(loads: Sequence[Load], device: DeviceConfig, asked: Asked) -> Conditions:
    """Return how cells that are single runs are run.

    Args:
        loads: The cells.
        device: The device, resolved.
        asked: The wishes.

    Raises:
        ConfigError: for what only a table of sizes and mixes has, and cells that cannot be run.
    """
    plain = Asked(shrink=asked.shrink, requests=asked.requests, requests_max=asked.requests_max)
    if asked != plain:
        names = (one.name for one in fields(Asked))
        name = next(one for one in names if getattr(asked, one) != getattr(plain, one))
        message = "is of tables of sizes and mixes: here each cell has its own; accepted: without"
        raise ConfigError(f"--{name}", message)
    runs = [one.run(device, *limits(asked)) for one in loads]
    question = {
        "cells": [one.load.name for one in runs], "requests": asked.requests,
        "requests_max": asked.requests_max,
    }  # fmt: skip
    divisor = max(one.divisor for one in runs)
    notes = list(dict.fromkeys(note for one in runs for note in one.notes))
    return Conditions(question, None, int(device[BLOCKS]), divisor, told_of(divisor, notes))


def limits(asked: Asked) -> tuple[int | str, int, int]:
    """Return divisor, and requests of a cell at least and at most."""
    return asked.shrink, asked.requests, asked.requests_max


def _cache(asked: Asked, head: Header) -> bool | None:
    """Return whether the write cache is on: as asked, as measured, or as the profile has it."""
    if asked.cache is not None:
        return asked.cache
    if head.cache.state in {"enabled", "disabled"}:
        return head.cache.state == "enabled"
    return CACHES.get(head.profile or "")


def _is_unknown(document: PtsDocument, what: str) -> bool:
    found = document.header.imported
    return found is not None and what in found.unknown


def _blocks(
    device: DeviceConfig, given: dict[str, Any], asked: int | None, free: Sequence[str]
) -> int | None:
    """Return the blocks per plane that are simulated; None for all."""
    whole = int(device[BLOCKS])
    if asked is not None:
        if BLOCKS in free:
            raise ConfigError("--blocks", f"{BLOCKS} is fitted; accepted: one of the two")
        if asked > whole:
            raise ConfigError("--blocks", f"{asked} is more than the device has; accepted: {whole}")
        return asked or None
    raw = int(device.effective["raw_bytes"])
    if BLOCKS in free or raw <= RAW_BYTES_MAX:
        return None
    blocks = max(BLOCKS_MIN, math.ceil(whole * RAW_BYTES_MAX / raw))
    while blocks < whole and not _stands_for(device, given, blocks):
        blocks *= 2
    return blocks if blocks < whole else None


def _stands_for(device: DeviceConfig, given: dict[str, Any], blocks: int) -> bool:
    """Whether a device of fewer blocks can be, and has about the spare factor of the whole."""
    try:
        return abs(_spare_of(given, blocks) / _spare(device) - 1.0) <= SPARE_TOLERANCE
    except ConfigError:
        return False


def _spare(device: DeviceConfig) -> float:
    return float(device.effective["spare_factor_effective"])


def _spare_of(given: dict[str, Any], blocks: int) -> float:
    smaller = load_copy(given)
    set_path(smaller, BLOCKS, blocks)
    return _spare(load_device(smaller))


def _told_of_spare(device: DeviceConfig, given: dict[str, Any], blocks: int) -> list[str]:
    """Return a warning where fewer blocks that were asked for have another spare factor."""
    if _stands_for(device, given, blocks):
        return []
    text = (
        f"{blocks} blocks per plane have a spare factor of {_spare_of(given, blocks):.3g}, the "
        f"whole device {_spare(device):.3g}: collections cost more or less than there"
    )
    return [text]


def _refuse_buffer_keys(free: Sequence[str]) -> None:
    """Refuse to fit a write buffer that the cells run without.

    Raises:
        ConfigError: with the key.
    """
    for key in free:
        if key.startswith(BUFFER_KEYS):
            message = "the cells are run with the write cache off, where it has no effect; accepted"
            raise ConfigError(f"--free {key}", f"{message}: a document of cells with the cache on")
