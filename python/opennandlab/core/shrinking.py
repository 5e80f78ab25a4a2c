"""A drive of fewer pages a block that represents a whole one, and the workload that fits it.

    shrink(device, workload, n) ──► device / n, workload / n, what that loses

Dies, times of pages, the number of superblocks, reserve, over-provisioning and depth stay: so do
write amplification and rates. Whatever counts pages or bytes of the drive, and whatever has a
period that its writes fill, is divided. An erase takes `1 / n` of its time and of its energy, since
it frees `1 / n` of the pages: so watts are those of the whole drive. The keys are the rows of the
tables below.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.core.config import DeviceConfig, Source, WorkloadConfig, load_workload
from opennandlab.core.traces import check_without_traces

PAGES = "nand.pages_per_block"
BUFFER = "ftl.write_buffer_pages"
METADATA = "ftl.metadata_share"
# Bits of a cell, so pages of a word line.
BITS = {"SLC": 1, "MLC": 2, "TLC": 3, "QLC": 4}
# Counts; at least 1.
COUNTS = (
    "ftl.mapping.cache_bytes", "ftl.slc_cache.static_bytes", "ftl.slc_cache.dynamic_bytes_max",
    "host.read_cache.pages", "power.checkpoint_interval_units",
)  # fmt: skip
# Times, periods and budgets.
AMOUNTS = (
    "nand.timing.t_erase_us", "nand.slc_timing.t_erase_us", "nand.energy.erase_uj",
    "controller.patrol.period_days",
    "ftl.refresh.after_days", "host.throttle.wear.tbw_tb", "host.throttle.wear.burst_gb",
)  # fmt: skip
# Buffers, which keep a row and the outstanding requests: measured, two rows hide that rows wait for
# their slowest die, and a third of one delays single writes for milliseconds.
BUFFERS = (BUFFER, "host.write_cache.pages")
# Sizes that must be divided without a rest, of the device and of a pattern.
ZONES = ("ftl.mapping.zone_bytes", "ftl.mapping.zone_capacity_bytes")
PATTERN_ZONES = ("zone_bytes", "capacity_bytes")
# Of a workload: where whole numbers and where other amounts are.
TOTALS = ("ios", "bytes")
# `auto`: word lines of a block and superblocks that must be left. Measured: with fewer of one the
# erase of a block, with fewer of the other the reserve takes another share.
WORD_LINES_MIN, SUPERBLOCKS_MIN = 11, 256
RANKS_MAX = 1 << 16
AUTO = "auto"
LOST = (
    "not seen in a shrunk drive: tails that erases make, and bursts as long as a superblock",
    "times until the drive is full or steady are divided too, as totals of the workload are",
)


@dataclass(frozen=True)
class Shrunk:
    """A device and a workload of one n-th of the size.

    Args:
        device: The device; its name is that of the whole one.
        workload: The workload, resolved for it.
        divisor: The divisor.
        notes: What that loses.
    """

    device: DeviceConfig
    workload: WorkloadConfig
    divisor: int
    notes: tuple[str, ...]


def shrink(device: DeviceConfig, workload: Source, divisor: int | str) -> Shrunk:
    """Return a device of fewer pages a block and the workload for it.

    Args:
        device: The whole device.
        workload: The workload of the whole device.
        divisor: By what; `auto` for the largest that keeps rates within 3 %.

    Raises:
        ConfigError: for a divisor that breaks word lines or zones, with the largest good one; for
            a tenant with a trace.

    >>> from opennandlab.core.config import load_device
    >>> found = shrink(load_device("micron_7450_max_800gb"), "W2", 64)
    >>> found.device["nand.pages_per_block"], found.device["nand.timing.t_erase_us"]
    (33, 156.25)
    """
    given = workload if isinstance(workload, WorkloadConfig) else load_workload(workload, device)
    check_without_traces(given, "a shrunk drive, which has fewer addresses")
    asked = given.to_dict()
    exact = [*_exact(device), *_zones_of(asked)]
    count = _divisor(device, divisor, exact)
    if count == 1:
        return Shrunk(device, load_workload(asked, device), 1, ())
    smaller = device.replace(_changes(device, count, _outstanding(asked)))
    _divide(asked, count)
    notes = (*_told(device, asked), *_of_size(device, smaller, count), *LOST)
    return Shrunk(smaller, load_workload(asked, smaller), count, notes)


def asked_divisor(text: str) -> int | str:
    """Return what `--shrink` asks for.

    Raises:
        ConfigError: for another text.

    >>> asked_divisor("auto"), asked_divisor("64")
    ('auto', 64)
    """
    if text == AUTO:
        return text
    if text.isascii() and text.isdigit() and len(text) < 9 and int(text) >= 1:
        return int(text)
    raise ConfigError("--shrink", f"`{text[:40]}` is not valid; accepted: auto, 1 or more")


def divisors(device: DeviceConfig, exact: Mapping[str, int] | None = None) -> list[int]:
    """Return what a device can be divided by, from 1 up.

    Args:
        device: The device.
        exact: Further sizes that must be divided without a rest.
    """
    lines = word_lines(device)
    sizes = list((exact or {}).values())
    return [n for n in range(1, lines + 1) if lines % n == 0 and not any(s % n for s in sizes)]


def word_lines(device: DeviceConfig) -> int:
    """Return the word lines of a block, the pages if the cell has none.

    >>> from opennandlab.core.config import load_device
    >>> word_lines(load_device("micron_7450_max_800gb"))
    704
    """
    pages, bits = int(device[PAGES]), BITS[str(device["nand.cell_type"])]
    return pages // bits if pages % bits == 0 else pages


def _divisor(device: DeviceConfig, asked: int | str, exact: list[tuple[str, int]]) -> int:
    """Return a divisor that was asked for, if it is good."""
    good = divisors(device, dict(exact))
    if asked == AUTO:
        if blocks(device) < SUPERBLOCKS_MIN:
            return 1
        lines = word_lines(device)
        return max((n for n in good if lines // n >= WORD_LINES_MIN), default=1)
    if not isinstance(asked, int) or isinstance(asked, bool) or asked < 1:
        raise ConfigError("shrink", f"`{asked}` is not valid; accepted: auto, 1 or more")
    if asked in good:
        return asked
    lines = word_lines(device)
    if lines % asked:
        why = f"{lines} word lines a block are not a multiple of it"
    else:
        key, size = next(row for row in exact if row[1] % asked)
        why = f"{key} of {size} is not a multiple of it"
    below = max(n for n in good if n <= asked)
    raise ConfigError("shrink", f"{asked}: {why}; accepted: {below}, the largest good one below")


def blocks(device: DeviceConfig) -> int:
    """Return the superblocks of a device, the blocks of a die if it has none."""
    shape = device.effective.get("superblocks")
    return int(shape["count"] if shape is not None else device.effective["blocks_per_die"])


def _value(device: DeviceConfig, path: str) -> Any:  # noqa: ANN401 (any value)
    try:
        return device[path]
    except (KeyError, TypeError):
        return None


def _exact(device: DeviceConfig) -> Iterator[tuple[str, int]]:
    for path in ZONES:
        if (size := _value(device, path)) is not None:
            yield path, int(size)


def _zones_of(workload: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the sizes of zones of patterns, in requests where requests must fit."""
    for one in (workload, *(workload.get("tenants") or ())):
        pattern = one.get("pattern")
        request = one.get("block_size_bytes")
        for key in PATTERN_ZONES:
            if isinstance(pattern, Mapping) and (size := pattern.get(key)) is not None:
                # Requests of one size fill a zone; of several, the core refuses misfits.
                unit = request if isinstance(request, int) and size % request == 0 else 1
                yield f"workload.pattern.{key}", int(size) // unit


def _changes(device: DeviceConfig, count: int, outstanding: int) -> dict[str, Any]:
    """Return the keys of a device that are divided, and their values."""
    found: dict[str, Any] = {PAGES: int(device[PAGES]) // count}
    for path in COUNTS:
        if value := _value(device, path):
            found[path] = max(1, int(value) // count)
    for path in AMOUNTS:
        if (value := _value(device, path)) is not None:
            found[path] = value / count
    for path, size in _exact(device):
        found[path] = size // count
    shape, share = device.effective.get("superblocks"), _value(device, METADATA)
    if shape and share:
        # Records take whole word lines of a die, of which a block now has few: the nearest number.
        slots = word_lines(device) // count * int(shape["dies"])
        found[METADATA] = (round(share * slots) + 0.01) / slots
    # A row is filled while one is programmed, in the buffer or by requests that wait.
    row = row_units(device)
    least = max(row, outstanding, 2 * row - outstanding)
    for path in BUFFERS:
        if value := _value(device, path):
            found[path] = min(int(value), max(int(value) // count, least))
    return found


def row_units(device: DeviceConfig) -> int:
    """Return the map units of a word line of all dies.

    >>> from opennandlab.core.config import load_device
    >>> row_units(load_device("micron_7450_max_800gb"))
    768
    """
    nand = device["nand"]
    planes = nand["planes_per_die"] if nand["multi_plane"] else 1
    unit = _value(device, "ftl.map_unit_bytes") or nand["page_size_bytes"]
    pages = int(device.effective["die_count"]) * int(planes) * BITS[str(nand["cell_type"])]
    return math.ceil(pages * int(nand["page_size_bytes"]) / int(unit))


def _outstanding(workload: Mapping[str, Any]) -> int:
    """Return the requests that may be outstanding; 0 for those of an open loop."""
    loads = workload.get("tenants") or (workload,)
    depths = [one.get("queue_depth", 0) for one in loads]
    return sum(depth for depth in depths if isinstance(depth, int))


def _divide(workload: dict[str, Any], count: int) -> None:
    """Divide what a workload asks for."""
    for one in (workload, *(workload.get("tenants") or ())):
        for pattern in (one.get("pattern"), (_mapping(one.get("pattern")) or {}).get("updates")):
            if isinstance(pattern, dict):
                _divide_pattern(pattern, count)
        idle = _mapping(one.get("idle"))
        if idle:
            idle["idle_ms"] /= count
        for amounts in (_mapping(one.get("total")), _mapping((idle or {}).get("busy"))):
            _divide_amounts(amounts, count)
    for step in workload.get("precondition") or ():
        _divide_amounts(step, count)
    for place in (_mapping(workload.get("placement")) or {}).get("ranges") or ():
        _divide_amounts(place, count)


def _divide_pattern(pattern: dict[str, Any], count: int) -> None:
    if pattern.get("kind") == "zipf":
        ranks = pattern.get("ranks_per_place", 1) * count
        if ranks > RANKS_MAX:
            raise ConfigError(
                "shrink", f"{count}: a Zipf law has at most {RANKS_MAX} ranks per place"
            )
        pattern["ranks_per_place"] = ranks
    for key in PATTERN_ZONES:
        if pattern.get(key) is not None:
            pattern[key] //= count


def _divide_amounts(amounts: dict[str, Any] | None, count: int) -> None:
    if amounts is None:
        return
    for key in TOTALS:
        if isinstance(amounts.get(key), int):
            amounts[key] = max(1, amounts[key] // count)
    if isinstance(amounts.get("seconds"), (int, float)):
        amounts["seconds"] /= count


def _mapping(value: object) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def _of_size(device: DeviceConfig, smaller: DeviceConfig, count: int) -> Iterator[str]:
    """Yield what short blocks do, and a buffer above its share: dies run ahead of slow blocks."""
    if (lines := word_lines(smaller)) < WORD_LINES_MIN:
        yield (
            f"blocks keep {lines} word lines: below {WORD_LINES_MIN} the write amplification "
            "falls, by a tenth from 8 to 4 on a drive without superblocks"
        )
    if (kept := int(_value(smaller, BUFFER) or 0)) > int(_value(device, BUFFER) or 0) // count:
        yield f"{BUFFER} keeps {kept}: rates after a fill, with much spare, are up to 3 % high"


def _told(device: DeviceConfig, workload: Mapping[str, Any]) -> Iterator[str]:
    """Yield what of these two in particular is not as in the whole drive."""
    if _value(device, "nand.failures") is not None:
        yield "nand.failures are those of each operation, and a block has fewer"
    if _value(device, "host.throttle.thermal") is not None:
        yield "host.throttle.thermal keeps its time constant, so a shorter run heats less"
    loads = workload.get("tenants") or (workload,)
    if any(isinstance(one.get("queue_depth"), Mapping) for one in loads):
        yield "requests arrive as often as before: an open loop meets the same rates"
