"""The board and the way to a drive: what decides a real measurement besides the drive.

```text
board, BIOS, governor ─ /sys/class/dmi/id, cpufreq
drive ─► … ─► PCI device: ids, driver, NUMA node, link as it is and at most; SATA: speed and limit
```
A fact that the system does not have is `unknown`. Nothing here is personal: serial numbers and
identifiers of the board are left out.
"""

from __future__ import annotations

from pathlib import Path

from opennandlab.targets.probe import Probe

UNKNOWN = "unknown"
DMI = "sys/class/dmi/id"
CPUS = "sys/devices/system/cpu"


def board_facts(probe: Probe) -> dict[str, str]:
    """Return board, BIOS and frequency governor of this machine."""
    cpus = (name for name in probe.names(CPUS) if name[3:].isdigit())
    governors = {probe.text(f"{CPUS}/{name}/cpufreq/scaling_governor") for name in cpus}
    return {
        "board": _joined(probe, ("board_vendor", "board_name")),
        "bios": _joined(probe, ("bios_vendor", "bios_version", "bios_date")),
        "governor": ", ".join(sorted(filter(None, governors))) or UNKNOWN,
    }


def path_facts(name: str, probe: Probe) -> tuple[dict[str, str], str | None]:
    """Return the controller of a block device and its link, and a warning of a slow link.

    Args:
        name: The kernel's name, such as `nvme0n1`.
        probe: The system.
    """
    place = _pci(name, probe)
    ids = [_hex(probe, f"{place}/{key}") for key in ("vendor", "device")] if place else []
    now, most = _pci_link(probe, place) if place else (None, None)
    sata = _sata_link(name, probe)
    if sata is not None:
        now, most = sata
    node = probe.number(f"{place}/numa_node") if place else None
    facts = {
        "controller": ":".join(filter(None, ids)) or UNKNOWN,
        "controller_driver": Path(probe.link(f"{place}/driver")).name or UNKNOWN,
        "link": now or UNKNOWN,
        "link_max": most or UNKNOWN,
        # The kernel has -1 where there is no choice of nodes.
        "numa_node": UNKNOWN if node is None or node < 0 else str(node),
    }
    if now and most and _is_below(now, most):
        return facts, f"the link runs at {now}, and could at {most}: rates may be those of the link"
    return facts, None


def _joined(probe: Probe, names: tuple[str, ...]) -> str:
    found = [probe.text(f"{DMI}/{name}") for name in names]
    return " ".join(filter(None, found)) or UNKNOWN


def _folder(name: str, probe: Probe) -> Path:
    return (probe.root / "sys/class/block" / name).resolve()


def _pci(name: str, probe: Probe) -> str | None:
    """Return the nearest PCI device above a block device, below the root."""
    root = probe.root.resolve()
    for place in _folder(name, probe).parents:
        if place == root or not place.is_relative_to(root):
            return None
        inside = str(place.relative_to(root))
        if all(_hex(probe, f"{inside}/{key}") for key in ("vendor", "device", "class")):
            return inside
    return None


def _hex(probe: Probe, path: str) -> str | None:
    """Return the digits of a file that holds a number like 0x144d."""
    text = probe.text(path) or ""
    return text[2:] if text.startswith("0x") else None


def _pci_link(probe: Probe, place: str) -> tuple[str | None, str | None]:
    found = []
    for when in ("current", "max"):
        speed = probe.text(f"{place}/{when}_link_speed")
        width = probe.text(f"{place}/{when}_link_width")
        is_known = speed and width and speed[0].isdigit() and width != "0"
        found.append(f"{speed} x{width}" if is_known else None)
    return found[0], found[1]


def _sata_link(name: str, probe: Probe) -> tuple[str | None, str | None] | None:
    """Return the speeds of the SATA port of a drive; None for other drives."""
    ports = [part[3:] for part in _folder(name, probe).parts if part.startswith("ata")]
    if not ports or not ports[0].isdigit():
        return None
    place = f"sys/class/ata_link/link{ports[0]}"
    found = [probe.text(f"{place}/{key}") for key in ("sata_spd", "hw_sata_spd_limit")]
    now, most = (text if text and text[0].isdigit() else None for text in found)
    return now, most


def _is_below(now: str, most: str) -> bool:
    """Whether a link is slower or narrower than it could be.

    >>> _is_below("8.0 GT/s PCIe x4", "16.0 GT/s PCIe x4"), _is_below("6.0 Gbps", "6.0 Gbps")
    (True, False)
    """
    found = []
    for text in (now, most):
        speed, _, width = text.partition(" ")
        lanes = width.rpartition("x")[2]
        found.append((_number(speed), _number(lanes) if lanes.isdigit() else 1.0))
    return any(one < other for one, other in zip(*found, strict=True))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
