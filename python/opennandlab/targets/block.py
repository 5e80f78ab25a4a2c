"""What a block device is, read from /sys and, where they are installed, from tools.

Every field may be unknown: a report prints it as such. The serial number is kept here for the
safety gate and leaves only as a hash.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from typing import Any

from opennandlab.documents.health import LifeEstimates
from opennandlab.targets.names import printable
from opennandlab.targets.probe import Probe

_HEX = re.compile(r"0[xX][0-9a-fA-F]{1,8}")
SECTOR = 512  # The unit of /sys/class/block/*/size, whatever the device's own is.


@dataclass(frozen=True)
class Block:
    """A block device.

    Args:
        path: As the user named it.
        node: Where it is without links: what every tool is given, so that a link that is changed
            meanwhile leads none of them to another device.
        name: The kernel's name, such as `nvme0n1`.
        size_bytes: Its capacity.
        sector_bytes: Its logical block size.
        read_only: Whether the kernel refuses writes.
        is_partition: Whether it is a part of another one.
        partitions: Kernel's names of its partitions.
        vendor: Maker.
        model: Name of the product.
        firmware: Revision.
        serial: Serial number; never printed into a report.
        transport: `nvme`, `sata`, `sas`, `usb`, `virtio` …
        is_rotational: Whether it is said to spin.
        driver: The kernel's driver.
        scheduler: I/O scheduler in use.
    """

    path: str
    node: str
    name: str
    size_bytes: int
    sector_bytes: int
    read_only: bool
    is_partition: bool
    partitions: tuple[str, ...]
    vendor: str | None
    model: str | None
    firmware: str | None
    serial: str | None
    transport: str | None
    is_rotational: bool | None
    driver: str | None
    scheduler: str | None

    @property
    def family(self) -> tuple[str, ...]:
        """The device and its partitions, by the kernel's names."""
        return (self.name, *self.partitions)

    @property
    def serial_sha256(self) -> str | None:
        """The serial number, made unreadable."""
        return hashlib.sha256(self.serial.encode()).hexdigest() if self.serial else None

    def title(self) -> str:
        """Return what a user recognises the device by."""
        known = [part for part in (self.vendor, self.model) if part]
        serial = f", serial {self.serial}" if self.serial else ", serial unknown"
        size = f"{self.size_bytes / 1e9:.1f} GB"
        return f"{self.path}: {' '.join(known) or 'unknown model'}{serial}, {size}"


def read_block(path: str, probe: Probe) -> Block | None:
    """Read what is known of a block device; None when the path is something else.

    Raises:
        OSError: when there is nothing at that path.
    """
    node = os.path.realpath(path)
    name = probe.kernel_name(node)
    if name is None:
        return None
    here = f"/sys/class/block/{name}"
    listed = _lsblk(node, probe)

    def first(*places: str, key: str = "") -> str | None:
        for place in places:
            if text := probe.text(f"{here}/{place}"):
                return printable(text)
        found = listed.get(key)
        return printable(str(found)) or None if found else None

    scheduler = probe.text(f"{here}/queue/scheduler") or ""
    rotational = probe.number(f"{here}/queue/rotational")
    return Block(
        path=path,
        node=node,
        name=name,
        size_bytes=(probe.number(f"{here}/size") or 0) * SECTOR,
        sector_bytes=probe.number(f"{here}/queue/logical_block_size") or SECTOR,
        read_only=probe.number(f"{here}/ro") != 0,
        is_partition=probe.text(f"{here}/partition") is not None,
        partitions=tuple(
            entry
            for entry in probe.names(here)
            if probe.text(f"{here}/{entry}/partition") is not None
        ),
        vendor=first("device/vendor", key="vendor"),
        model=first("device/model", key="model"),
        firmware=first("device/firmware_rev", "device/rev", key="rev"),
        serial=first("device/serial", "serial", key="serial"),
        transport=_transport(name, listed),
        is_rotational=None if rotational is None else bool(rotational),
        driver=_driver(here, probe),
        scheduler=scheduler.partition("[")[2].partition("]")[0] or scheduler or None,
    )


def temperature_c(block: Block, probe: Probe) -> float | None:
    """Return the drive's temperature as the kernel's hwmon has it; None when it has none."""
    for place in (f"/sys/class/block/{block.name}/device", "/sys/class/nvme/" + _nvme(block.name)):
        for base in (place, f"{place}/hwmon"):
            for entry in probe.names(base):
                if not entry.startswith("hwmon"):
                    continue
                milli = probe.number(f"{base}/{entry}/temp1_input")
                if milli is not None:
                    return milli * 1e-3
    return None


def life_estimates(block: Block, probe: Probe) -> LifeEstimates | None:
    """Return the life that an eMMC or UFS device estimates, by sysfs; None for other devices.

    A code that the standards do not define is unknown, as is 0.
    """
    device = f"/sys/class/block/{block.name}/device"

    def codes(path: str, most: int) -> list[int | None]:
        words = (probe.text(f"{device}/{path}") or "").split()
        found = [int(word, 16) if _HEX.fullmatch(word) else 0 for word in words]
        return [code if 0 < code <= most else None for code in found] or [None]

    if block.name.startswith("mmcblk"):
        life = [*codes("life_time", 11), None]
        return LifeEstimates(
            kind="emmc",
            pre_eol_info=codes("pre_eol_info", 3)[0],
            device_life_time_est_typ_a=life[0],
            device_life_time_est_typ_b=life[1],
            write_booster_life_time_est=None,
        )
    # Logical unit, target, host, controller.
    health, attributes = (f"../../../{name}" for name in ("health_descriptor", "attributes"))
    if not probe.names(f"{device}/{health}"):
        return None
    return LifeEstimates(
        kind="ufs",
        pre_eol_info=codes(f"{health}/eol_info", 3)[0],
        device_life_time_est_typ_a=codes(f"{health}/life_time_estimation_a", 11)[0],
        device_life_time_est_typ_b=codes(f"{health}/life_time_estimation_b", 11)[0],
        write_booster_life_time_est=codes(f"{attributes}/wb_life_time_est", 11)[0],
    )


def rated_bytes(block: Block, probe: Probe) -> float | None:
    """Estimate what the drive may be written in its life.

    NVMe drives say how much of their endurance is used and how much was written; the quotient is
    known to the whole percent, so it means something only once a few percent are used.
    """
    answer = probe.ask("smartctl", "--json", "-A", block.node)
    if answer is None:
        return None
    try:
        log = json.loads(answer.text)["nvme_smart_health_information_log"]
        used = float(log["percentage_used"])
        # NVM Express base specification, SMART log: units of 1000 x 512 bytes.
        written = float(log["data_units_written"]) * 512_000
    except (ValueError, KeyError, TypeError):
        return None
    return written / used * 100.0 if used >= 2 else None


def _lsblk(path: str, probe: Probe) -> dict[str, Any]:
    columns = "NAME,VENDOR,MODEL,REV,SERIAL,TRAN"
    answer = probe.ask("lsblk", "--json", "--nodeps", "--output", columns, path)
    if answer is None or answer.code:
        return {}
    try:
        (row,) = json.loads(answer.text)["blockdevices"]
    except (ValueError, KeyError, TypeError):
        return {}
    return row if isinstance(row, dict) else {}


def _transport(name: str, listed: dict[str, Any]) -> str | None:
    if listed.get("tran"):
        return str(listed["tran"])
    for prefix, kind in (("nvme", "nvme"), ("vd", "virtio"), ("mmcblk", "mmc"), ("loop", "loop")):
        if name.startswith(prefix):
            return kind
    return None


def _driver(here: str, probe: Probe) -> str | None:
    for line in (probe.text(f"{here}/device/uevent") or "").splitlines():
        if line.startswith("DRIVER="):
            return line.partition("=")[2]
    return None


def _nvme(name: str) -> str:
    """Return the controller of a namespace: `nvme0` of `nvme0n1`."""
    found = re.match(r"nvme\d+", name)
    return found[0] if found else name
