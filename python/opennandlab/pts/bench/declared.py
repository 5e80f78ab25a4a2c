"""The speed of a simulated drive by its device file, estimated before anything is run.

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
    """Return the time in which a drive reclaims a full block; 0 if unknown.

    Each page of the block is read and programmed on its own, and the block is erased. Under the map
    `fast` each page of a log block may belong to another block, and each of these is merged.
    """
    if "nand" not in config:
        return 0.0
    pages = int(config["nand"].get("pages_per_block", 0))
    page_us = _mean_us(config, "t_read_us") + _mean_us(config, "t_program_us")
    block_us = pages * page_us + _mean_us(config, "t_erase_us")
    merges = pages if mapping_of(config)[0] == "fast" else 1
    return block_us * merges * 1e-6


def has_buffer(config: Mapping[str, Any], *, cache_enabled: bool) -> bool:
    """Return whether writes are answered from a buffer, the volatile write cache on or off."""
    is_protected = bool(_host(config).get("power_loss_protected"))
    return "ftl" in config and has_write_buffer(config) and (cache_enabled or is_protected)


def is_throttled(config: Mapping[str, Any]) -> bool:
    """Return whether heat or a wear budget of the preceding minutes may slow the drive down."""
    return any((_host(config).get("throttle") or {}).values())


def least_write_s(config: Mapping[str, Any], *, cache_enabled: bool) -> float:
    """Return the time of a single write of 4 KiB without collection; infinite if unknown.

    Without a buffer a write takes a program. With a buffer it takes the time of the answer, but no
    less than the dies need on average for 4 KiB if all of them program: only a write into an SLC
    cache takes less, for a while.
    """
    program_us = _mean_us(config, "t_program_us")
    if not program_us:
        return math.inf
    if not has_buffer(config, cache_enabled=cache_enabled):
        return program_us * 1e-6
    floor_us = _program_floor_us(config["nand"], program_us)
    return float(max(_buffered_answer_us(config), floor_us)) * 1e-6


def _buffered_answer_us(config: Mapping[str, Any]) -> float:
    """Return the time of the answer from a buffer: command, data in the firmware, and link.

    An estimate: the link's time per command, which the simulator adds, is left out.
    """
    host = _host(config)
    cost, link = host.get("command_cost_us") or {}, host.get("link")
    overhead = host.get("command_overhead_us", 0.0)
    if not isinstance(overhead, dict):
        overhead = {"write": overhead}
    answer_us = 0.0
    for times in (overhead, cost):
        answer_us += times.get("write", 0.0)
        answer_us += REQUEST_BYTES / 1024 * (times.get("per_kib") or {}).get("write", 0.0)
    if isinstance(link, dict):
        # 1 MB/s is 1 byte per microsecond.
        answer_us += REQUEST_BYTES / (link["mb_s"] * link["efficiency"])
    return float(answer_us)


def _program_floor_us(nand: Mapping[str, Any], program_us: float) -> float:
    """Return the time of 4 KiB at the rate of all dies that program together."""
    planes = nand["planes_per_die"] if nand["multi_plane"] else 1
    parallel_bytes = nand["channels"] * nand["dies_per_channel"] * planes * nand["page_size_bytes"]
    return float(program_us * REQUEST_BYTES / parallel_bytes)


def _host(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the section `host`; empty without one."""
    return config.get("host") or {}


def _mean_us(config: Mapping[str, Any], key: str) -> float:
    """Return a time of the flash, the mean over the kinds of pages; 0 if unknown."""
    timing = (config.get("nand") or {}).get("timing") or {}
    value = timing.get(key) or 0.0
    return sum(value) / len(value) if isinstance(value, list) else float(value)
