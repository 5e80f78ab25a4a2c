"""What the device file of a simulated drive says of its speed, before anything is run.

A plan needs it: some steps last as long as the drive takes for a block, a test in which the drive
answers too many requests is cut short unless the user says otherwise, and cells of a drive that
gets hot are not shorter than minutes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from opennandlab.targets.base import Target
from opennandlab.theory.prediction import has_write_buffer, mapping_of

REQUEST_BYTES = 4096


def config_of(target: Target) -> Mapping[str, Any]:
    """Return the device of a simulated drive as it was declared; empty for a real one."""
    return target.facts().device.config or {}


def reclaim_s(config: Mapping[str, Any]) -> float:
    """Return the time in which a drive reclaims a full block; 0 where unknown.

    A page of the block is read and programmed, each for itself, and the block is erased. Under the
    map `fast` a log block has pages of as many blocks, each of which is merged.
    """
    if "nand" not in config:
        return 0.0
    pages = int(config["nand"].get("pages_per_block", 0))
    page_us = _mean_us(config, "t_read_us") + _mean_us(config, "t_program_us")
    block_us = pages * page_us + _mean_us(config, "t_erase_us")
    merges = pages if mapping_of(config)[0] == "fast" else 1
    return block_us * merges * 1e-6


def has_buffer(config: Mapping[str, Any], *, cache_enabled: bool) -> bool:
    """Tell whether writes are answered from a buffer, the volatile write cache on or off."""
    is_safe = bool((config.get("host") or {}).get("power_loss_protected"))
    return "ftl" in config and has_write_buffer(config) and (cache_enabled or is_safe)


def is_throttled(config: Mapping[str, Any]) -> bool:
    """Tell whether a drive slows down by what it did in the minutes before: heat, a wear budget."""
    throttle = (config.get("host") or {}).get("throttle") or {}
    return any(throttle.values())


def least_write_s(config: Mapping[str, Any], *, cache_enabled: bool) -> float:
    """Return the time of a write of 4 KiB alone where nothing is collected; infinite if unknown.

    From a buffer that of its command and of the link, but no less than all dies together take to
    program 4 KiB: into an SLC cache it takes less for a while.
    """
    program_us = _mean_us(config, "t_program_us")
    if not program_us:
        return math.inf
    if not has_buffer(config, cache_enabled=cache_enabled):
        return program_us * 1e-6
    host = config.get("host") or {}
    cost, link = host.get("command_cost_us") or {}, host.get("link")
    answer_us = host.get("command_overhead_us", 0.0) + cost.get("write", 0.0)
    answer_us += REQUEST_BYTES / 1024 * (cost.get("per_kib") or {}).get("write", 0.0)
    if isinstance(link, dict):
        answer_us += REQUEST_BYTES / (link["mb_s"] * link["efficiency"])
    nand = config["nand"]
    planes = nand["planes_per_die"] if nand["multi_plane"] else 1
    at_once = nand["channels"] * nand["dies_per_channel"] * planes * nand["page_size_bytes"]
    return float(max(answer_us, program_us * REQUEST_BYTES / at_once)) * 1e-6


def _mean_us(config: Mapping[str, Any], key: str) -> float:
    """Return a time of the flash, the mean over the kinds of pages; 0 where unknown."""
    timing = (config.get("nand") or {}).get("timing") or {}
    value = timing.get(key) or 0.0
    return sum(value) / len(value) if isinstance(value, list) else float(value)
