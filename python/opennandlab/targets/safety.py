"""The gate before every real device: all that speaks against writing to it.

Refused is the rule. A device passes when nobody uses it, it holds nothing that anybody could miss,
and the user has named it twice: by its path, and by its serial number or the last part of its
path. All objections are listed at once. `force` overrules only a partition table or a file-system
signature; what is mounted, in use, part of an array or the disk of `/` stays refused.

    not a block device, no medium, a partition, read-only
    mounted (or a partition of it), holds `/`, swap
    holders: device mapper, LVM, RAID, loop device; member of an array by its signature
    partition table or file-system signature                              <- unless `force`
    in use (exclusive open fails, or a process has it open for writing)
    no consent, or consent for another device
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from opennandlab.targets.base import TargetError
from opennandlab.targets.block import Block, rated_bytes, read_block
from opennandlab.targets.consent import Consent
from opennandlab.targets.probe import Probe
from opennandlab.targets.usage import (
    device_node,
    loops_over_devices,
    swap_names,
    unescaped,
    use_by_writers,
)

# What sequential writes of 128 KiB reach, MB/s by transport; assumed, for estimates of time only.
FILL_MB_S = {"nvme": 1000.0, "sata": 400.0, "sas": 800.0, "usb": 200.0}
FILL_MB_S_OTHER = 200.0
FILL_MB_S_ROTATIONAL = 150.0


@dataclass(frozen=True)
class Work:
    """What a test will do to a device, for the plan.

    Args:
        fill_bytes: Written sequentially, as fast as the device can.
        seconds: Time of everything that is measured or idle.
        bytes_per_s: Rate at which measured parts write, at most; None when unknown.
    """

    fill_bytes: int = 0
    seconds: float = 0.0
    bytes_per_s: float | None = None


@dataclass(frozen=True)
class Plan:
    """Everything that would happen to a device; nothing has happened.

    Args:
        block: The device.
        objections: Why it is refused; empty when it is not.
        purge: How it would be purged: one line for each way, in order of preference.
        fill_bytes: Bytes of preconditioning.
        written_bytes: Bytes in all, as an estimate.
        seconds: Time in all, as an estimate.
        rated_bytes: What the drive may be written in its life; None when unknown.
    """

    block: Block
    objections: tuple[str, ...]
    purge: tuple[str, ...]
    fill_bytes: int
    written_bytes: float
    seconds: float
    rated_bytes: float | None

    @property
    def endurance_ratio(self) -> float | None:
        """Part of the drive's life that the test would use up; None when unknown."""
        return self.written_bytes / self.rated_bytes if self.rated_bytes else None

    def to_dict(self) -> dict[str, Any]:
        """Return the plan for JSON."""
        return {
            "device": {
                "path": self.block.path,
                "model": self.block.model,
                "serial": self.block.serial,
                "capacity_bytes": self.block.size_bytes,
                "sector_bytes": self.block.sector_bytes,
                "transport": self.block.transport,
            },
            "refused": list(self.objections),
            "purge": list(self.purge),
            "fill_bytes": self.fill_bytes,
            "written_bytes": round(self.written_bytes),
            "seconds": round(self.seconds, 1),
            "endurance_ratio": self.endurance_ratio,
        }

    def lines(self) -> list[str]:
        """Return what is to be said of the device, without bytes and times of the work."""
        life = self.endurance_ratio
        return [
            self.block.title(),
            *(f"refused: {reason}" for reason in self.objections),
            *(f"purge, choice {place}: {way}" for place, way in enumerate(self.purge, 1)),
            "share of the rated endurance: "
            + ("unknown" if life is None else f"at most {life * 100:.2g} %"),
        ]


def make_plan(path: str, consent: Consent, work: Work, probe: Probe | None = None) -> Plan:
    """Return what a test would do to a device, whether or not that is allowed.

    Raises:
        TargetError: when the path is not a block device.
    """
    from opennandlab.targets.purge import ways

    probe = probe or Probe()
    block = known_block(path, probe)
    rate = FILL_MB_S.get(block.transport or "", FILL_MB_S_OTHER)
    if block.is_rotational and block.transport != "virtio":
        rate = FILL_MB_S_ROTATIONAL
    measured = work.seconds * (work.bytes_per_s if work.bytes_per_s is not None else rate * 1e6)
    return Plan(
        block=block,
        objections=tuple(objections(block, consent, probe)),
        purge=tuple(way.describe() for way in ways(block, probe)),
        fill_bytes=work.fill_bytes,
        written_bytes=work.fill_bytes + measured,
        seconds=work.fill_bytes / (rate * 1e6) + work.seconds,
        rated_bytes=rated_bytes(block, probe),
    )


def known_block(path: str, probe: Probe) -> Block:
    """Read a block device.

    Raises:
        TargetError: when the path is not a block device.
    """
    try:
        block = read_block(path, probe)
    except OSError as error:
        raise TargetError(f"{path}: {error.strerror or error}") from error
    if block is None:
        raise TargetError(f"{path}: no block device; a regular file is named file:{path}")
    return block


def check(block: Block, consent: Consent, probe: Probe) -> None:
    """Let a device pass or refuse it.

    Raises:
        TargetError: with all objections.
    """
    found = objections(block, consent, probe)
    if found:
        raise TargetError(f"{block.title()}: refused: " + "; ".join(found))


def objections(block: Block, consent: Consent, probe: Probe) -> list[str]:
    """Return everything that speaks against writing to a device; nothing means that it may be."""
    return [
        *_of_the_device(block),
        *_of_mounts(block, probe),
        *_of_holders(block, probe),
        *_of_contents(block, consent, probe),
        *_of_use(block, probe),
        *_of_consent(block, consent),
    ]


def _of_the_device(block: Block) -> list[str]:
    found = []
    if block.size_bytes <= 0:
        found.append("it has no capacity (no medium?)")
    if block.is_partition:
        found.append("it is a partition; a test needs a whole drive")
    if block.read_only:
        found.append("it is read-only")
    return found


def _of_mounts(block: Block, probe: Probe) -> list[str]:
    """Find mounts of the device, its partitions and what is built on them, and swap."""
    found = []
    family = _with_holders(block, probe)
    numbers = {probe.text(f"/sys/class/block/{name}/dev") for name in family}
    for line in (probe.text("/proc/self/mountinfo") or "").splitlines():
        fields, _, rest = line.partition(" - ")
        parts, source = fields.split(), unescaped([*rest.split(), "", ""][1])
        if len(parts) < 5:
            continue
        # btrfs and ZFS show numbers of their own; then the source names the device.
        if parts[2] in numbers or _names(source) & {*family}:
            where = unescaped(parts[4])
            found.append("it holds the root file system" if where == "/" else f"mounted at {where}")
    if any(_names(name) & {*family} for name in swap_names(probe)):
        found.append("it is used as swap")
    return list(dict.fromkeys(found))


def _of_holders(block: Block, probe: Probe) -> list[str]:
    held = _with_holders(block, probe)[len(block.family) :]
    return [f"held by {', '.join(held)} (LVM, RAID, mapper or loop device)"] if held else []


def _of_contents(block: Block, consent: Consent, probe: Probe) -> list[str]:
    """Look for signatures on the device and its partitions."""
    found, soft = [], []
    if block.partitions:
        soft.append(f"it has partitions ({', '.join(block.partitions)})")
    for name in block.family:
        path = block.node if name == block.name else device_node(name)
        answer = probe.ask("blkid", "--probe", "--output", "export", path)
        if answer is None:
            soft.append("blkid is not installed: signatures cannot be looked for")
            break
        # 2: nothing was found. 8: two signatures that contradict each other.
        if answer.code == 2:
            continue
        keys = dict(line.split("=", 1) for line in answer.text.splitlines() if "=" in line)
        kind = keys.get("TYPE", "")
        if kind.endswith("_member"):
            found.append(f"{name} is a member of an array or pool ({kind})")
        elif kind:
            soft.append(f"{name} holds a file system ({kind})")
        elif "PTTYPE" in keys:
            soft.append(f"{name} holds a partition table ({keys['PTTYPE']})")
        elif answer.code:
            soft.append(f"blkid cannot tell what {name} holds (status {answer.code})")
    return found if consent.force else found + [f"{text}; --force overrules this" for text in soft]


def _of_use(block: Block, probe: Probe) -> list[str]:
    reason = probe.in_use(block.node)
    found = [] if reason is None else [reason]
    for name in block.family:
        node = probe.status(block.node if name == block.name else device_node(name))
        found += [] if node is None else use_by_writers(node, probe)
    return list(dict.fromkeys(found))


def _of_consent(block: Block, consent: Consent) -> list[str]:
    if not consent.destructive:
        return ["all its data would be lost: --destructive allows that"]
    short = PurePosixPath(block.path).name
    accepted = {short, block.name} | ({block.serial} if block.serial else set())
    named = f"--i-know {short}" + (" (or its serial number)" if block.serial else "")
    if consent.i_know is None:
        return [f"name it once more: {named}"]
    if consent.i_know not in accepted:
        return [f"--i-know {consent.i_know} is another device; this one is {named}"]
    return []


def _with_holders(block: Block, probe: Probe) -> list[str]:
    """Return the device, its partitions, and all that is built on them, by the kernel's names."""
    found = list(block.family)
    for name in found:  # grows while it is read
        holders = probe.names(f"/sys/class/block/{name}/holders")
        # A loop device is listed as a holder nowhere, and its partitions hold it as it does.
        for holder in (*holders, *loops_over_devices([name], probe), *_parts(name, probe)):
            if holder not in found:
                found.append(holder)
    return found


def _names(source: str) -> set[str]:
    """Return the kernel's names that `/dev/NAME` may stand for; none of what is not a device."""
    if not source.startswith("/dev/"):
        return set()
    return {source.removeprefix("/dev/").replace("/", "!"), PurePosixPath(source).name}


def _parts(name: str, probe: Probe) -> list[str]:
    """Return the partitions of a device, by the kernel's names."""
    here = f"/sys/class/block/{name}"
    return [
        entry for entry in probe.names(here) if probe.text(f"{here}/{entry}/partition") is not None
    ]
