"""FEMU 99ce4fb with `femu_mode=3`: a drive of zones, `zns/zns.c`.

A zone is a chunk of each plane of each die of some channels; here it is a block of each die, whose
planes work together. The flash beyond the zones is a block of each die.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.foreign.table import ERROR_FREE, Field, Found, Rule, Values, plain, whole

PAGE_BYTES = 16 << 10
FREE_BUS_MT_S = 1e6
# Read, program of a unit of as many pages as a cell has bits, erase, in ns (zns.h, nand.h).
CELLS = {
    1: ("SLC", 4_000, 75_000, 2_000_000),
    3: ("TLC", 32_000, 937_500, 3_000_000),
    4: ("QLC", 85_000, 12_196_000, 3_000_000),
}


def size(text: str) -> int:
    """Read bytes: a whole number, or one with K, M, G or T.

    Raises:
        ValueError: for anything else.

    >>> size("16M")
    16777216
    """
    found = re.fullmatch(r"([0-9]{1,12})([KMGT]?)", text.upper())
    if found is None:
        raise ValueError("bytes, or a number with K, M, G or T")
    return int(found.group(1)) << 10 * "-KMGT".index(found.group(2) or "-")


def cells(text: str) -> int:
    """Read the type of the cells.

    Raises:
        ValueError: for one without times in FEMU.
    """
    if text in {"1", "3", "4"}:
        return int(text)
    raise ValueError("1, 3 or 4 (SLC, TLC, QLC)")


COUNT = whole(1, 255)
LIMIT = whole(0, 2**32 - 1)
# Of these none has a key here, and each that is above 0 changes figures.
LOUD = "zns_num_conv_zones zns_zrwa_size zns_zrwafg_size zns_zrwa_num zns_zd_ext_size zns_zasl_bs"
FIELDS = {
    "zns_num_ch": Field("", COUNT, 2),
    "zns_num_lun": Field("", COUNT, 4),
    "zns_num_plane": Field("", whole(1, 8), 2),
    "zns_num_blk": Field("", COUNT, 32),
    "zns_flash_type": Field("", cells, 4),
    "zns_max_active": Field("zones", LIMIT, 0),
    "zns_max_open": Field("zones", LIMIT, 0),
    "zns_zone_cap": Field("B", size, 0),
    "zns_chnls_per_zone": Field("", LIMIT, 0),
    "zns_cross_zone_read": Field("", plain),
    **{name: Field("", size, 0) for name in LOUD.split()},
}


@dataclass(frozen=True)
class Zones:
    """Zones on the flash."""

    pages: int
    bytes: int
    count: int
    is_wide: bool


def zones(values: Values) -> Zones:
    """Return the zones, as `zns_init_params` has them.

    Raises:
        ConfigError: for a drive smaller than a zone, and zones of no whole pages of each die.
    """
    channels, planes = values["zns_num_ch"], values["zns_num_plane"]
    dies = channels * values["zns_num_lun"]
    space = values["devsz_mb"] << 20
    chunk = space // PAGE_BYTES // (dies * values["zns_num_blk"])
    across = values["zns_chnls_per_zone"] or channels
    if channels % across:
        across = channels  # as there
    zone = across * values["zns_num_lun"] * planes * chunk * PAGE_BYTES
    pages = across * chunk // channels
    if zone == 0 or pages * dies * planes * PAGE_BYTES != zone or space < zone:
        message = f"{values['devsz_mb']} MiB make no zones of whole pages on {dies} dies"
        raise ConfigError("devsz_mb", f"{message} with {values['zns_num_blk']} blocks")
    return Zones(pages, zone, space // zone, across == channels)


def _mapping(values: Values) -> Found:
    found = zones(values)
    made: dict[str, Any] = {"kind": "zoned", "zone_bytes": found.bytes}
    opened = min(values["zns_max_open"] or found.count, found.count)
    active = min(values["zns_max_active"] or found.count, found.count)
    made |= {"open_zones_max": min(opened, active), "active_zones_max": active}
    if 0 < values["zns_zone_cap"] < found.bytes:
        made["zone_capacity_bytes"] = values["zns_zone_cap"]
    note = f"{found.count} zones of {found.bytes} B"
    if found.is_wide:
        return Found(made, kind="converted", note=note)
    return Found(made, note=f"{note}; on all channels here, on some there")


def _cells(place: int) -> Any:  # noqa: ANN401 (a rule)
    return lambda values: CELLS[values["zns_flash_type"]][place]


def _program(values: Values) -> Found:
    kind = values["zns_flash_type"]
    note = f"of {kind} pages at a time there, a share of it for each here"
    time = CELLS[kind][2] / 1000 / kind
    return Found(time, kind="converted" if kind == 1 else "approximated", note=note)


def _above_0(name: str) -> Any:  # noqa: ANN401 (a rule)
    return lambda values: Found(figures=values[name] > 0)


RULES = (
    Rule("femu_mode", "", "exact", "zones"),
    Rule("zns_num_ch", "nand.channels", "exact", value=lambda values: values["zns_num_ch"]),
    Rule("zns_num_lun", "nand.dies_per_channel", "exact",
         value=lambda values: values["zns_num_lun"]),
    Rule("zns_num_plane", "nand.planes_per_die", "exact",
         value=lambda values: values["zns_num_plane"]),
    Rule("(planes)", "nand.multi_plane", "exact", "programmed together",
         lambda values: values["zns_num_plane"] > 1),
    Rule("(pages of 16 KiB)", "nand.page_size_bytes", "exact", value=lambda _: PAGE_BYTES),
    Rule("devsz_mb zns_num_blk", "nand.pages_per_block", "converted", "a zone over all planes",
         lambda values: zones(values).pages),
    Rule("(zones)", "nand.blocks_per_plane", "converted", "one more than zones",
         lambda values: zones(values).count + 1),
    Rule("(zones)", "ftl.over_provisioning_pct", "converted", "one block of each plane",
         lambda values: 1 / zones(values).count),
    Rule("zns_flash_type", "nand.cell_type", "exact", value=_cells(0)),
    Rule("(table of cells)", "nand.timing.t_read_us", "exact",
         value=lambda values: _cells(1)(values) / 1000),
    Rule("(table of cells)", "nand.timing.t_program_us", "approximated", value=_program),
    Rule("(table of cells)", "nand.timing.t_erase_us", "exact",
         value=lambda values: _cells(3)(values) / 1000),
    Rule("(transfers)", "nand.timing.bus_mt_s", "exact", "they take no time",
         lambda _: FREE_BUS_MT_S),
    Rule("zns_chnls_per_zone zns_max_active zns_max_open zns_zone_cap", "ftl.mapping",
         "approximated", value=_mapping),
    Rule("pcie_bandwidth_mbps", "host.link", "converted",
         value=lambda values: {"kind": "custom", "mb_s": values["pcie_bandwidth_mbps"]}
         if values["pcie_bandwidth_mbps"] else "ideal"),
    Rule("fw_cpu_ns", "host.command_cost_us", "approximated", "of one core",
         lambda values: Found(values["fw_cpu_ns"] / 1000,
                              kind="" if values["fw_cpu_ns"] else "exact")),
    *ERROR_FREE,
    *(Rule(name, "", "dropped", "not here", _above_0(name)) for name in LOUD.split()),
    Rule("zns_cross_zone_read", "", "dropped", "reads may cross zones here"),
)  # fmt: skip
