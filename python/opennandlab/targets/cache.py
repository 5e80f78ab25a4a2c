"""A drive's own volatile write cache: set, then read back. What cannot be read is `unknown`.

    NVMe   feature 6 (volatile write cache) where the controller has one (VWC bit 0)
    ATA    hdparm -W
    else   the kernel's `cache_type` (SCSI mode page, virtio)

When none of these works, the kernel's view in `queue/write_cache` is reported as it is: "write
through" means that the drive announced no volatile cache.
"""

from __future__ import annotations

import re

from opennandlab.targets.base import CacheState
from opennandlab.targets.block import Block
from opennandlab.targets.probe import Probe
from opennandlab.targets.purge import nvme_controller

SETTING_S_MAX = 60.0


def set_cache(block: Block, probe: Probe, *, enabled: bool) -> CacheState:
    """Ask for a state and return the one that the drive has then."""
    if block.transport == "nvme" and probe.has("nvme"):
        return _nvme(block, probe, enabled=enabled)
    if block.transport == "sata" and probe.has("hdparm"):
        return _ata(block, probe, enabled=enabled)
    return _sysfs(block, probe, enabled=enabled)


def _nvme(block: Block, probe: Probe, *, enabled: bool) -> CacheState:
    controller = nvme_controller(block, probe)
    if "vwc" in controller and not int(controller["vwc"]) & 1:
        return "absent"
    value = f"--value={int(enabled)}"
    probe.act("nvme", "set-feature", block.node, "--feature-id=6", value, seconds_max=SETTING_S_MAX)
    answer = probe.ask("nvme", "get-feature", block.node, "--feature-id=6")
    # `get-feature:0x06 (Volatile Write Cache), Current value:0x00000001`
    found = re.search(r"Current value:\s*(0x[0-9a-fA-F]+|\d+)", answer.text) if answer else None
    if found is None:
        return "unknown"
    return "enabled" if int(found[1], 0) & 1 else "disabled"


def _ata(block: Block, probe: Probe, *, enabled: bool) -> CacheState:
    probe.act("hdparm", f"-W{int(enabled)}", block.node, seconds_max=SETTING_S_MAX)
    answer = probe.ask("hdparm", "-W", block.node)
    # ` write-caching =  0 (off)`
    found = re.search(r"write-caching\s*=\s*([01])", answer.text) if answer else None
    if found is None:
        return "unknown"
    return "enabled" if found[1] == "1" else "disabled"


def _sysfs(block: Block, probe: Probe, *, enabled: bool) -> CacheState:
    here = f"/sys/class/block/{block.name}"
    disks = f"{here}/device/scsi_disk"
    places = [f"{disks}/{name}/cache_type" for name in probe.names(disks)]
    for place in (*places, f"{here}/cache_type"):
        if probe.text(place) is not None:
            probe.write(place, "write back" if enabled else "write through")
            return _state(probe.text(place))
    return _state(probe.text(f"{here}/queue/write_cache"))


def _state(text: str | None) -> CacheState:
    if text is None:
        return "unknown"
    if text.startswith("write back"):
        return "enabled"
    return "disabled" if text.startswith(("write through", "none")) else "unknown"
