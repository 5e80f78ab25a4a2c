"""What a real eMMC says of itself: read by mmc-utils, nothing is written.

Two commands of `mmc` are known here, and no others: `extcsd read` (CMD8) and `status get` (CMD13).
The device may be mounted; what is no eMMC is refused: other disks, SD cards, partitions, boot and
RPMB devices, which are parts of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from opennandlab.emmc import registers as at
from opennandlab.emmc.case import NotTold
from opennandlab.emmc.cases.registers import fields
from opennandlab.targets.base import TargetError
from opennandlab.targets.block import Block
from opennandlab.targets.probe import Answer, Probe
from opennandlab.targets.safety import known_block

TOOL = "mmc"
# What is called, and nothing else.
READING = (("extcsd", "read"), ("status", "get"))
# Fields that mmc-utils calls by other names than the standard, in one version or another.
NAMES = {
    "HPI_FEATURE": "HPI_FEATURES",
    "BOOT_SIZE_MULTI": "BOOT_SIZE_MULT",
    "RPMB_SIZE": "RPMB_SIZE_MULT",
    "CARD_TYPE": "DEVICE_TYPE",
}
# Printed as something else than what the field holds: tasks, KiB.
OTHERWISE = {"CMDQ_DEPTH", "CACHE_SIZE"}
# `[NAME: 0x01]` or `[NAME]: 0x01`, and the same with a decimal number.
FIELD = re.compile(
    r"\[(?P<name>[A-Za-z][A-Za-z0-9_]*)(?:\s*:\s*(?P<inside>0[xX][0-9a-fA-F]+|\d{1,20}))?\]"
    r"(?:\s*:\s*(?P<behind>0[xX][0-9a-fA-F]+|\d{1,20}))?"
)
# The first line: `Extended CSD rev 1.8 (MMC 5.1)`.
HEAD = re.compile(r"Extended CSD rev 1\.(\d{1,3})\b")
STATUS = re.compile(r"SEND_STATUS response:\s*(0[xX][0-9a-fA-F]+)")
TEXT_MAX = 1 << 20


@dataclass(frozen=True)
class Facts:
    """What a device and its tools tell.

    Args:
        path: As the user named it.
        size_bytes: As the kernel has it.
        fields: Fields of the extended CSD by the name of the standard.
        status: R1 of CMD13; None where the tool does not ask for it.
        csd: As the kernel read it; None where it does not tell.
    """

    path: str
    size_bytes: int
    fields: Mapping[str, int]
    status: int | None
    csd: bytes | None

    def field(self, name: str) -> int:
        """Return a field.

        Raises:
            NotTold: where it was not printed.
        """
        if name not in self.fields:
            raise NotTold(f"{TOOL} does not print {name}")
        return self.fields[name]

    @property
    def standard(self) -> str:
        """The revision of the standard that the device follows."""
        return at.REVISIONS.get(self.fields.get("EXT_CSD_REV", -1), "unknown")


def check_device(path: str, probe: Probe) -> Block:
    """Let a device pass if it is an eMMC as a whole.

    Raises:
        TargetError: with everything that speaks against it.
    """
    block = known_block(path, probe)
    kind = probe.text(f"/sys/class/block/{block.name}/device/type")
    found = []
    part = re.fullmatch(r"(mmcblk\d+)(boot\d+|rpmb|gp\d+)", block.name)
    if part:
        found.append(f"it is a part of {part[1]}")
    elif block.is_partition:
        found.append("it is a partition; name the whole device")
    elif not block.name.startswith("mmcblk"):
        found.append("it is not an mmc device")
    elif kind != "MMC":
        found.append(f"it is not an eMMC: the kernel calls it {kind or 'nothing'}")
    if found:
        raise TargetError(f"{path}: refused: " + "; ".join(found))
    return block


def read_facts(path: str, probe: Probe | None = None) -> Facts:
    """Ask a device.

    Raises:
        TargetError: when it is refused, or `mmc` is missing or fails.
    """
    probe = probe or Probe()
    block = check_device(path, probe)
    if not probe.has(TOOL):
        raise TargetError(
            f"{path}: `{TOOL}` is not installed: it asks the device for its registers "
            "(package mmc-utils)"
        )
    text = _ask(block, probe, *READING[0])
    found = parse_ext_csd(text)
    if "EXT_CSD_REV" not in found:
        raise TargetError(f"{path}: what `{TOOL} extcsd read` prints is not understood")
    answer = _answer(block, probe, *READING[1])
    status = STATUS.search(answer.text[:TEXT_MAX]) if answer.code == 0 else None
    return Facts(
        path=path,
        size_bytes=block.size_bytes,
        fields=found,
        status=int(status[1], 16) if status else None,
        csd=_register(probe.text(f"/sys/class/block/{block.name}/device/csd")),
    )


def parse_ext_csd(text: str) -> dict[str, int]:
    """Return the fields that `mmc extcsd read` prints, by the names of the standard.

    Lines that are not understood, fields that the standard does not have, and numbers that a field
    has no room for are left out; of a field that is printed twice the first counts.

    >>> parse_ext_csd("HPI Features [HPI_FEATURE: 0x01]: implementation based on CMD13")
    {'HPI_FEATURES': 1}
    """
    sizes = {row["name"].upper(): (row["name"], row["bytes"]) for row in fields()}
    found: dict[str, int] = {}
    head = HEAD.search(text[:TEXT_MAX])
    if head:
        found["EXT_CSD_REV"] = int(head[1])
    for name, value in _printed(text[:TEXT_MAX]):
        known = sizes.get(NAMES.get(name, name).upper())
        if known is None or known[0] in OTHERWISE or value >= 1 << 8 * known[1]:
            continue
        found.setdefault(known[0], value)
    return found


def _printed(text: str) -> Iterator[tuple[str, int]]:
    for line in text.splitlines():
        for match in FIELD.finditer(line):
            value = match["inside"] or match["behind"]
            if value is not None:
                name = match["name"].upper().removeprefix("EXT_CSD_")
                yield name, int(value, 0 if value[:2].lower() == "0x" else 10)


def _answer(block: Block, probe: Probe, *command: str) -> Answer:
    return probe.ask(TOOL, *command, block.node) or Answer(127, "", "it is gone")


def _ask(block: Block, probe: Probe, *command: str) -> str:
    answer = _answer(block, probe, *command)
    if answer.code:
        reason = answer.errors.strip().splitlines()
        raise TargetError(
            f"{block.path}: `{TOOL} {' '.join(command)}` failed with status {answer.code}"
            + (f": {reason[-1][:200]}" if reason else "")
        )
    return answer.text


def _register(text: str | None) -> bytes | None:
    """Return a register of 16 bytes that the kernel prints in hex."""
    if text is None or not re.fullmatch(r"[0-9a-fA-F]{32}", text):
        return None
    return bytes.fromhex(text)
