"""A small copy of a drive that a campaign of power cuts can run: of one that it would refuse, too.

```text
preset ─► no blocks that fail, no holes ─► fewer dies and blocks, same spare factor ─► capacitors
```
Each change is reported, and recorded in the document of the campaign.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from opennandlab.core.by_hand import overruled
from opennandlab.core.config import DeviceConfig
from opennandlab.reliability.scaling import scaled, with_reserve
from opennandlab.studies.power.study import PROGRAM_MW

# Pages of flash of the copy, about, and its dies: enough for requests to wait for each other.
PAGES: Final = 1 << 15
DIES: Final = 4
# Programs that save the map units of running requests and of moved pages. The memory of presets
# with capacitors held 629 such units at most, and a program saves all units of a page, four of
# 4 KiB in one of 16 KiB: 512 programs save more.
PROGRAMS: Final = 512
# Capacitors are rarely built without a margin: assumed.
MARGIN: Final = 2.0


def fitted(whole: DeviceConfig, pages: int = PAGES) -> tuple[DeviceConfig, list[str]]:
    """Return a small copy of a drive that can be cut, and the changes, in words.

    Args:
        whole: The drive.
        pages: The most physical pages of the copy, if one so small is possible.

    Raises:
        ConfigError: for a drive of which no such copy is possible.

    Example:
        >>> from opennandlab.core.config import load_device
        >>> small, changes = fitted(load_device("micron_7450_max_800gb"))
        >>> small["host.power_loss_protected"], len(changes)
        (True, 2)
    """
    changes = []
    device = whole
    if device.get("nand.failures") is not None:
        device = device.replace({"nand.failures": None})
        changes.append("blocks do not fail")
    if device["nand.factory_bad_block_ratio"] > 0:
        device = device.replace({"nand.factory_bad_block_ratio": 0.0})
        changes.append("no block is bad from the factory")
    small = scaled(device, pages, dies=DIES)
    before, after = (int(one.effective["physical_pages"]) for one in (device, small))
    if after < before:
        dies = int(small.effective["die_count"])
        changes.append(
            f"{after} pages of flash on {dies} {'dies' if dies > 1 else 'die'} instead of {before}"
        )
    reserved = with_reserve(small, device)
    if reserved is not small:
        small = reserved
        changes.append(f"{small['ftl.gc_reserve_blocks']} erased blocks in reserve")
    if small.get("host.power_loss_protected") and not _has_capacitors(small):
        energy = MARGIN * _energy_mj(small)
        small = small.replace({"power.plp": {"kind": "capacitor", "energy_mj": energy}})
        changes.append(f"capacitors of {energy:g} mJ, {MARGIN:g} times what its memory takes")
    return small, changes + overruled(whole, small.to_dict(), "a small copy of the drive is cut")


def _has_capacitors(device: DeviceConfig) -> bool:
    plp = device.get("power.plp")
    return isinstance(plp, Mapping) and plp.get("kind") == "capacitor"


def _energy_mj(device: DeviceConfig) -> float:
    """Return an energy that saves the memory, in millijoules: programs x power x tPROG.

    A program for each map unit of a full write buffer is more than that buffer takes.
    """
    times = device["nand.timing.t_program_us"]
    longest_us = float(max(times) if isinstance(times, tuple) else times)
    programs = int(device["ftl.write_buffer_pages"]) + PROGRAMS
    return round(programs * PROGRAM_MW * longest_us * 1e-6, 3)
