"""From a data sheet to the keys of a device, each with where its value comes from.

Sheet ──► dies, planes, times: Plan ──► Solution ──► keys, origins ──► DeviceConfig
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.core.config import DeviceConfig, load_device
from opennandlab.foreign.conversion import nested
from opennandlab.studies.rating.equations import (
    RANDOM,
    SEQUENTIAL,
    UNIT_BYTES,
    Flash,
    Solution,
    rate_at,
    solve,
    wordline_us,
)
from opennandlab.studies.rating.sheet import DAYS, Sheet

# Bytes of a die that is assumed, and those of others that are tried.
DIE_BYTES, DIE_RANGE = 64 << 30, (4 << 30, 256 << 30)
RAW_SHARE = 1.07
DIES = sorted(n * (1 << power) for n in (1, 3) for power in range(10))
PLANES, PAGE_BYTES, WORD_LINES = 4, 16384, 704
WORDLINE_US_RANGE = (300.0, 10_000.0)
SUPERBLOCKS_MIN = 256
METADATA, METADATA_RANGE = 0.0385, (0.02, 0.04)
RESERVE, FRONTIERS = 1, 2
BUS_MT_S, BUS_RANGE = 1600.0, (1200.0, 2400.0)
OOB = 5 / 32
ERASE_US, ERASE_RANGE = 10_000.0, (5_000.0, 15_000.0)
CORES, WRITE_COST_US, OVERHEAD_US = 4, 4.0, 3.0
# Measured at low load over typical, of two drives: reads 65 of 80 and 70 of 75 us, writes 9 and 8
# of 15 us.
READ_LATENCY, WRITE_LATENCY = 0.87, 0.57
READ_US_RANGE = (25.0, 90.0)
HEADROOM = 1.2
PROGRAM_MW = 66.0
# Places of the map, and raw over user capacity of any variant, for which they must do.
PLACES_MAX, RAW_SHARE_MAX = 1 << 32, 2.0
# A drive is written through more often than class priors of cells allow: a warning from there.
CYCLES_MUCH = 3.0
TRANSFER_NJ_PER_KIB = 80.0
ENDURANCE_MARGIN = 1.4
# Space for data of drives rated empty, which is that of their class.
FRESH_ALPHA, FRESH_RANGE = 1.17, (1.07, 1.28)
# Drive writes a day -> space for data of drives rated so.
ALPHA_BY_DAY = {1: (1.12, 1.30), 3: (1.35, 1.60)}


@dataclass(frozen=True)
class Cell:
    """Assumptions about a type of cells.

    Args:
        pages: Of a word line.
        wordline_us: Time of a word line, from and to.
        read_us: tR.
        cycles: Rated, for sheets without an endurance.
    """

    pages: int
    wordline_us: tuple[float, float]
    read_us: float
    cycles: int


# Of TLC by two drives; the others are assumed.
CELLS = {
    "MLC": Cell(2, (0.8e3, 2.2e3), 45.0, 10_000),
    "TLC": Cell(3, (1.2e3, 3.2e3), 50.0, 3_000),
    "QLC": Cell(4, (3.0e3, 9.0e3), 80.0, 1_000),
}


@dataclass(frozen=True)
class Plan:
    """A sheet with the flash that it was given.

    Args:
        sheet: The sheet.
        flash: The flash; its word line takes the time of the solution.
        solution: What the equations make of the rates.
        overhead_us: Of a command.
        told: Where values come from, by key.
        warnings: What does not fit together.
        random: kR, measured over rated random writes.
        policy: Garbage collection.
    """

    sheet: Sheet
    flash: Flash
    solution: Solution
    overhead_us: float
    told: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    random: float = RANDOM
    policy: str = "greedy"

    @property
    def sequential_rate(self) -> float:
        """S."""
        return SEQUENTIAL * self.sheet.seq_write

    @property
    def random_rate(self) -> float:
        """R that the equations give, in bytes a second."""
        found = self.solution
        share = self.flash.data_share * found.programs * (1.0 + found.collecting)
        return self.sequential_rate / share


def planned(sheet: Sheet, link_bytes_s: float) -> Plan:
    """Return the flash and the solution of a sheet, by the closed form.

    Args:
        sheet: The sheet, checked.
        link_bytes_s: What its link carries.

    Raises:
        ConfigError: for what no flash gives, with the arithmetic.
    """
    told: dict[str, str] = {}
    warnings: list[str] = []
    cell = CELLS[sheet.cell]
    overhead = _overhead(sheet, link_bytes_s, told)
    flash = Flash(
        1, PLANES, cell.pages, PAGE_BYTES, cell.read_us, ERASE_US, WORD_LINES, METADATA
    )  # fmt: skip
    flash = _dies(flash, sheet)
    read_us = _read_us(flash, sheet, overhead, link_bytes_s, told, warnings)
    flash = replace(flash, read_us=read_us)
    while superblocks(flash, sheet.capacity_bytes * RAW_SHARE) < SUPERBLOCKS_MIN:
        flash = replace(flash, word_lines=flash.word_lines // 2)
    flash = _addressable(flash, sheet)
    solution = solved(flash, sheet, RANDOM)
    warnings += _of_life(sheet, solution)
    return Plan(sheet, flash, solution, overhead, told, tuple(warnings))


def _addressable(flash: Flash, sheet: Sheet) -> Flash:
    """Return the flash with blocks short enough for the map, whose places are powers of two."""
    units = flash.pages * flash.planes * PAGE_BYTES // UNIT_BYTES
    blocks = flash.dies * superblocks(flash, sheet.capacity_bytes * RAW_SHARE_MAX)
    places = 1 << (units * flash.word_lines - 1).bit_length()
    if blocks * places <= PLACES_MAX:
        return flash
    return replace(flash, word_lines=places // 2 // units // 32 * 32)


def solved(flash: Flash, sheet: Sheet, random: float, alpha: float = FRESH_ALPHA) -> Solution:
    """Return the solution for kR; of a sheet that rates an empty drive, for a space for data."""
    rate = SEQUENTIAL * sheet.seq_write
    if sheet.state == "fresh":
        return rate_at(flash, rate, alpha)
    return solve(flash, rate, random * sheet.rand_write * UNIT_BYTES)


def _dies(flash: Flash, sheet: Sheet) -> Flash:
    """Return the flash with a number of dies that gives a usual time of a word line."""
    raw = RAW_SHARE * sheet.capacity_bytes
    rate = SEQUENTIAL * sheet.seq_write
    low, high = CELLS[sheet.cell].wordline_us
    times = {n: wordline_us(replace(flash, dies=n), rate) for n in DIES}
    first = next(n for n in DIES if n * DIE_BYTES >= raw)
    usual = [n for n in DIES if DIE_RANGE[0] <= raw / n <= DIE_RANGE[1]]
    good = [n for n in usual if low <= times[n] <= high]
    # Nearest to dies of the assumed size; else the time that is least out of range.
    if good:
        found = min(good, key=lambda n: abs(DIES.index(n) - DIES.index(first)))
    else:
        found = min(usual, key=lambda n: max(low / times[n], times[n] / high))
    least, most = WORDLINE_US_RANGE
    if not least <= times[found] <= most:
        raise ConfigError(
            "--seq-write",
            f"{sheet.seq_write / 1e6:.5g} MB/s on {usual[0]} to {usual[-1]} dies are word lines of "
            f"{times[usual[0]]:.4g} to {times[usual[-1]]:.4g} us; accepted: {least:g} to {most:g}",
        )
    return replace(flash, dies=found)


def _overhead(sheet: Sheet, link_bytes_s: float, told: dict[str, str]) -> float:
    key = "host.command_overhead_us"
    if sheet.write_latency_us is None:
        told[key] = "assumed"
        return OVERHEAD_US
    told[key] = f"solved from --write-latency-us: {WRITE_LATENCY} of it, less cost and link"
    link = 1e6 * UNIT_BYTES / (link_bytes_s * sheet.link_efficiency)
    return max(0.0, WRITE_LATENCY * sheet.write_latency_us - WRITE_COST_US - link)


def _read_us(  # noqa: PLR0913, PLR0917 (each part of the time of a read)
    flash: Flash, sheet: Sheet, overhead: float, link_bytes_s: float,
    told: dict[str, str], warnings: list[str],
) -> float:  # fmt: skip
    key = "nand.timing.t_read_us"
    low, high = READ_US_RANGE
    if sheet.read_latency_us is None:
        found = CELLS[sheet.cell].read_us
        told[key] = f"class prior, {low:g} to {high:g}"
    else:
        moved = UNIT_BYTES * (1 + OOB) / BUS_MT_S
        link = 1e6 * UNIT_BYTES / (link_bytes_s * sheet.link_efficiency)
        parts = overhead + command_us(sheet) + moved + link
        whole = READ_LATENCY * sheet.read_latency_us
        found = min(max(whole - parts, low), high)
        if found != whole - parts:
            warnings.append(
                f"--read-latency-us: {READ_LATENCY} x {sheet.read_latency_us:g} less {parts:.4g} "
                f"is {whole - parts:.4g} us; flash has {low:g} to {high:g}, so {found:g}"
            )
        told[key] = (
            f"solved from --read-latency-us: {READ_LATENCY} of it, {whole:.4g}, less {parts:.4g} "
            f"for overhead, command, bus and link; {low:g} to {high:g}"
        )
    needed = HEADROOM * sheet.rand_read
    if flash.dies * flash.planes * 1e6 / found < needed:
        found = max(low, flash.dies * flash.planes * 1e6 / needed)
        told[key] = f"solved from --rand-read: {HEADROOM} times as many on all planes"
    reached = flash.dies * flash.planes * 1e6 / found
    moved_rate = channels(flash) * BUS_MT_S * 1e6 / (UNIT_BYTES * (1 + OOB))
    for name, rate in (("the planes", reached), ("the buses", moved_rate)):
        if rate < sheet.rand_read:
            warnings.append(
                f"--rand-read: {name} do {rate:.4g} reads of 4 KiB a second, the sheet "
                f"{sheet.rand_read:.6g}"
            )
    return found


def _of_life(sheet: Sheet, solution: Solution) -> list[str]:
    day = sheet.writes_a_day
    usual = CELLS[sheet.cell].cycles
    if day is not None:
        worn = day * DAYS * sheet.years * solution.programs / solution.alpha
        if worn > CYCLES_MUCH * usual:
            text = (
                f"{day:.3g} drive writes a day for {sheet.years:g} years at this amplification "
                f"take {worn:.0f} cycles; {sheet.cell} usually has {usual}: one does not fit"
            )
            return [text]
    found = ALPHA_BY_DAY.get(round(day)) if day is not None else None
    if day is None or found is None or found[0] <= solution.alpha <= found[1]:
        return []
    text = (
        f"space for data is {solution.alpha:.4g} times the capacity; drives of {day:.3g} writes a "
        f"day have {found[0]} to {found[1]}: one of the two does not fit"
    )
    return [text]


def command_us(sheet: Sheet) -> float:
    """Return the cost of a read on a core, which limits reads to the rate of the sheet."""
    return CORES * 1e6 / sheet.rand_read


def channels(flash: Flash) -> int:
    """Return the channels, up to eight.

    >>> channels(Flash(12, 4, 3, 16384, 50, 0, 704, 0.03))
    6
    """
    return max(n for n in range(1, 9) if flash.dies % n == 0)


def superblocks(flash: Flash, data_bytes: float) -> int:
    """Return the superblocks for data, with metadata, reserve and open ones."""
    size = flash.row_bytes * flash.word_lines * (1.0 - flash.metadata)
    return round(data_bytes / size + RESERVE + FRONTIERS / 2)


def device_of(plan: Plan, name: str) -> tuple[DeviceConfig, dict[str, Any], dict[str, str]]:
    """Return the device of a plan, its keys, and their origins.

    Raises:
        ConfigError: where the core refuses it.
    """
    rows = [*_flash_rows(plan), *_drive_rows(plan)]
    keys = {path: value for path, value, _ in rows}
    origins = {path: plan.told.get(path, text) for path, _, text in rows}
    # The space of the host is exact: half a unit off, so that rounding cannot matter.
    over = "ftl.over_provisioning_pct"
    units = plan.sheet.capacity_bytes // UNIT_BYTES
    first = load_device(nested({"name": name, **keys, over: 1.0}))
    keys[over] = int(first.effective["physical_pages"]) / (units + 0.5) - 1.0
    origins[over] = f"solved from --capacity: {plan.sheet.capacity_bytes} B of the host, exact"
    device = load_device(nested({"name": name, **keys}))
    return device, keys, origins


def _flash_rows(plan: Plan) -> list[tuple[str, Any, str]]:
    flash, sheet, found = plan.flash, plan.sheet, plan.solution
    count = superblocks(flash, found.alpha * sheet.capacity_bytes)
    width = channels(flash)
    source = "--rand-write and --seq-write" if sheet.state == "steady" else ""
    space = f"solved from {source}" if source else "class prior of drives rated empty"
    low, high = FRESH_RANGE
    data = f"{found.alpha:.5g} times the capacity for data"
    return [
        ("nand.cell_type", sheet.cell, "rated"),
        ("nand.channels", width, "assumed"),
        ("nand.dies_per_channel", flash.dies // width,
         f"assumed: {flash.dies} dies, so that a word line takes a usual time"),
        ("nand.planes_per_die", flash.planes, "class prior, 2 to 6"),
        ("nand.multi_plane", True, "class prior"),
        ("nand.independent_planes", True, "assumed"),
        ("nand.page_size_bytes", flash.page_bytes, "class prior"),
        ("nand.pages_per_block", flash.word_lines * flash.pages,
         "class prior, 1000 to 5000: no sheet tells the size of a superblock"),
        ("nand.blocks_per_plane", count,
         f"{space}: {data}" + ("" if source else f", {low} to {high}")),
        ("nand.max_pe_cycles", _cycles(plan, count), _cycles_told(plan)),
        ("nand.program.kind", "one_shot", "class prior"),
        ("nand.program.t_wordline_us", round(found.wordline_us, 3),
         f"solved from --seq-write, measured {SEQUENTIAL} times that"),
        ("nand.timing.t_read_us", round(flash.read_us, 3), "assumed"),
        ("nand.timing.t_erase_us", ERASE_US,
         f"class prior, {ERASE_RANGE[0]:g} to {ERASE_RANGE[1]:g}"),
        ("nand.timing.bus_mt_s", BUS_MT_S,
         f"class prior, {BUS_RANGE[0]:g} to {BUS_RANGE[1]:g}"),
        ("nand.variation", {"die_stddev": 0.03, "block_stddev": 0.03}, "assumed"),
    ]  # fmt: skip


def _drive_rows(plan: Plan) -> list[tuple[str, Any, str]]:
    flash, sheet = plan.flash, plan.sheet
    low, high = METADATA_RANGE
    policy = "given" if sheet.policy else "assumed: not in sheets; the other is in the band"
    return [
        *_power_rows(plan),
        ("ftl.map_unit_bytes", UNIT_BYTES, "class prior"),
        ("ftl.over_provisioning_pct", None, ""),
        ("ftl.gc_policy", plan.policy, policy),
        ("ftl.allocation", {"kind": "superblock", "dies": "all", "bad_block": "remap"}, "assumed"),
        ("ftl.metadata_share", flash.metadata, f"class prior, {low} to {high}"),
        ("ftl.write_frontiers", "host_gc", "assumed"),
        ("ftl.gc_reserve_blocks", flash.dies, "assumed: a superblock"),
        ("ftl.write_buffer_pages", 8192, "class prior, 2048 to 16384"),
        ("ftl.write_buffer_absorbs", False, "class prior"),
        ("ftl.collection", {"kind": "steps", "soft_spare_blocks": 1}, "assumed"),
        ("controller.scheduler", {"kind": "priority", "write_starvation_us": 1e6}, "assumed"),
        ("controller.suspend", {"suspend_us": 100.0, "suspend_count_max": 64},
         "class prior, 50 to 100"),
        ("host.link", {"kind": sheet.link, "efficiency": round(sheet.link_efficiency, 3)}, "rated"),
        ("host.power_loss_protected", True, "class prior"),
        ("host.command_cost_us", {"read": round(command_us(sheet), 3), "write": _write_cost(sheet)},
         "read solved from --rand-read; write "
         + ("assumed" if sheet.state == "steady" else "solved from --rand-write")),
        ("host.cores", CORES, "assumed"),
        ("host.command_overhead_us", round(plan.overhead_us, 3), "assumed"),
    ]  # fmt: skip


def _write_cost(sheet: Sheet) -> float:
    """Return the cost of a write: random writes of an empty drive give it alone."""
    if sheet.state == "fresh":
        return round(CORES * 1e6 / (RANDOM * sheet.rand_write), 3)
    return WRITE_COST_US


def _cycles(plan: Plan, count: int) -> int:
    day = plan.sheet.writes_a_day
    if day is None:
        return CELLS[plan.sheet.cell].cycles
    raw = count * plan.flash.row_bytes * plan.flash.word_lines
    written = day * DAYS * plan.sheet.years * plan.solution.programs * plan.sheet.capacity_bytes
    return round(ENDURANCE_MARGIN * written / raw)


def _cycles_told(plan: Plan) -> str:
    if plan.sheet.writes_a_day is None:
        return "class prior of the cells"
    source = "--dwpd" if plan.sheet.dwpd is not None else "--tbw"
    return f"solved from {source}: {ENDURANCE_MARGIN} times what it needs at this amplification"


def _power_rows(plan: Plan) -> list[tuple[str, Any, str]]:
    """Return power, if the sheet has it.

    Raises:
        ConfigError: where the flash alone takes more.
    """
    sheet, time = plan.sheet, plan.solution.wordline_us
    if sheet.active_w is None or sheet.idle_w is None:
        return []
    a_plane = PROGRAM_MW * 1e-3 / plan.flash.planes
    program_uj = a_plane * time / plan.flash.pages
    page_uj = program_uj + TRANSFER_NJ_PER_KIB * 1e-3 * plan.flash.page_bytes / 1024
    pages = plan.sequential_rate / plan.flash.data_share / plan.flash.page_bytes
    flash_w = pages * page_uj * 1e-6
    left = sheet.active_w - sheet.idle_w - flash_w
    if left < 0:
        raise ConfigError(
            "--active-w",
            f"{sheet.active_w:g} W less {sheet.idle_w:g} W idle and {flash_w:.3g} W of "
            f"{pages:.4g} programs a second of {page_uj:.4g} uJ leave {left:.3g} W; accepted: "
            f"{sheet.active_w - left:.3g} W or more",
        )
    per_kib = 1e9 * left / (plan.sequential_rate / 1024)
    told = "assumed: 20 mA at 3.3 V of a die that works"
    return [
        ("nand.energy.read_uj", round(PROGRAM_MW * 1e-3 * plan.flash.read_us, 3), told),
        ("nand.energy.program_uj", round(program_uj, 3), told),
        ("nand.energy.erase_uj", round(a_plane * ERASE_US, 3), told),
        ("nand.energy.transfer_nj_per_kib", TRANSFER_NJ_PER_KIB, "assumed: 10 pJ a bit"),
        ("nand.energy.idle_mw", 0.033, "assumed: 10 uA at 3.3 V"),
        ("controller.power.idle_w", sheet.idle_w, "rated"),
        ("controller.power.host_nj_per_kib", round(per_kib, 1),
         f"solved from --active-w: less {sheet.idle_w:g} W idle and {flash_w:.3g} W of the flash"),
    ]  # fmt: skip
