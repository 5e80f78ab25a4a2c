"""A drive that can be cut from power, made of one that is too large for it or refused.

```text
preset ─► no blocks that fail, no holes ─► fewer dies and blocks, same spare factor ─► capacitors
```
Everything that is changed is said, and stands in the document of the campaign.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from opennandlab.base.plain import thawed
from opennandlab.core.by_hand import overruled
from opennandlab.core.config import DeviceConfig
from opennandlab.reliability.drive_life import scaled, with_reserve
from opennandlab.studies.power.study import PROGRAM_MW

# Pages of flash of the copy, about, and its dies: enough for them to wait for each other.
PAGES: Final = 1 << 15
DIES: Final = 4
# Map units of requests and of pages that are moved; a program saves a page of them, so this is more
# than the 629 that the memory of presets with capacitors held at most.
UNDER_WAY: Final = 512
# Capacitors are rarely built without a margin: assumed.
MARGIN: Final = 2.0


def fitted(whole: DeviceConfig, pages: int = PAGES) -> tuple[DeviceConfig, list[str]]:
    """Return a small copy of a drive that can be cut, and what was changed, in words.

    Args:
        whole: The drive.
        pages: Physical pages of the copy, at most, if there is such a one.

    Raises:
        ConfigError: for a drive that cannot be so.

    Example:
        >>> from opennandlab.core.config import load_device
        >>> small, changes = fitted(load_device("micron_7450_max_800gb"))
        >>> small["host.power_loss_protected"], len(changes)
        (True, 2)
    """
    told = []
    device = whole
    if device.to_dict()["nand"].get("failures") is not None:
        device = device.replace({"nand.failures": None})
        told.append("blocks do not fail")
    if device["nand.factory_bad_block_ratio"] > 0:
        device = device.replace({"nand.factory_bad_block_ratio": 0.0})
        told.append("no block is bad from the factory")
    small = scaled(device, pages, dies=DIES)
    before, after = (int(one.effective["physical_pages"]) for one in (device, small))
    if after < before:
        dies = int(small.effective["die_count"])
        told.append(
            f"{after} pages of flash on {dies} {'dies' if dies > 1 else 'die'} instead of {before}"
        )
    reserved = with_reserve(small, device)
    if reserved is not small:
        small = reserved
        told.append(f"{small['ftl.gc_reserve_blocks']} erased blocks in reserve")
    if small.to_dict()["host"].get("power_loss_protected") and not _has_capacitors(small):
        energy = MARGIN * _energy_mj(small)
        small = small.replace({"power.plp": {"kind": "capacitor", "energy_mj": energy}})
        told.append(f"capacitors of {energy:g} mJ, {MARGIN:g} times what its memory takes")
    return small, told + overruled(whole, small.to_dict(), "a small copy of the drive is cut")


def _has_capacitors(device: DeviceConfig) -> bool:
    plp = (device.to_dict().get("power") or {}).get("plp")
    return isinstance(plp, Mapping) and plp.get("kind") == "capacitor"


def _energy_mj(device: DeviceConfig) -> float:
    """Energy that programs what memory may hold, in millijoules: pages x power x tPROG.

    Memory holds a full write buffer, and what is under way.
    """
    times = thawed(device["nand.timing"])["t_program_us"]
    longest_us = float(max(times) if isinstance(times, list) else times)
    units = int(device["ftl.write_buffer_pages"]) + UNDER_WAY
    return round(units * PROGRAM_MW * longest_us * 1e-6, 3)
