"""FEMU 99ce4fb with `femu_mode=3`: a drive of zones, `zns/zns.c`.

A zone is a chunk of each plane of each die of some channels; here it is a block of each die, whose
planes work together. The flash beyond the zones is a block of each die.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.foreign.table import Found, Values

PAGE_BYTES = 16 << 10


def _size(text: str) -> int:
    """Read bytes: a whole number, or one with K, M, G or T.

    >>> _size("16M")
    16777216
    """
    found = re.fullmatch(r"([0-9]{1,12})([KMGT]?)", text.upper())
    if found is None:
        raise ValueError("bytes, or a number with K, M, G or T")
    return int(found.group(1)) << 10 * "-KMGT".index(found.group(2) or "-")


def _zone_cells(text: str) -> int:
    """Read the type of the cells: one that has times in FEMU."""
    if text in {"1", "3", "4"}:
        return int(text)
    raise ValueError("1, 3 or 4 (SLC, TLC, QLC)")


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


def _zone_pages(values: Values) -> int:
    return zones(values).pages


def _zone_blocks(values: Values) -> int:
    return zones(values).count + 1


def _zone_spare(values: Values) -> float:
    return 1 / zones(values).count


def _zone_mapping(values: Values) -> Found:
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
