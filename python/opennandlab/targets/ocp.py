"""The bytes that the flash of an NVMe drive has programmed, by the log of the Open Compute Project.

Log 0xC0 (OCP Datacenter NVMe SSD specification, "SMART / Health Information Extended") begins with
the *physical media units written*: bytes written to the media, also by the drive itself, as a
little-endian number of 128 bits. Its last 16 bytes are a GUID, which distinguishes it from other
logs of the same number. All versions of `nvme get-log` print the log as a hex dump:

    0000: 00 50 0f 91 2a 08 00 00 00 00 00 00 00 00 00 00 ".P..*..........."
"""

from __future__ import annotations

import re

from opennandlab.targets.block import Block
from opennandlab.targets.probe import Probe

LOG_ID, LOG_BYTES = 0xC0, 512
# AFD514C97C6F4F9CA4F2BFEA2810AFC5, as the log has it.
GUID = bytes.fromhex("c5af1028eabff2a49c4f6f7cc914d5af")
LINE = re.compile(
    r"^\s*(?:(\*)$|([0-9a-f]{4,8}):((?: [0-9a-f]{2}){0,16}))", re.MULTILINE | re.IGNORECASE
)
# Longer than any log that is read here.
DUMP_BYTES_MAX = 1 << 16


def programmed_bytes(block: Block, probe: Probe) -> tuple[int | None, str]:
    """Return the bytes that the flash of a drive has programmed, or None and why not.

    Args:
        block: The drive.
        probe: Access to the system.
    """
    if block.transport != "nvme":
        return None, "only NVMe drives have a log of what their flash programs (OCP log 0xC0)"
    answer = probe.ask(
        "nvme", "get-log", block.node, f"--log-id={LOG_ID}", f"--log-len={LOG_BYTES}"
    )
    if answer is None:
        return None, "nvme-cli is not installed (Debian: apt install nvme-cli)"
    log = dumped(answer.text)
    if answer.code or len(log) != LOG_BYTES or log[-len(GUID) :] != GUID:
        return None, "the drive has no OCP log (0xC0) of what its flash programs"
    return int.from_bytes(log[:16], "little"), ""


def dumped(text: str) -> bytes:
    r"""Return the bytes of a hex dump, without rows whose offset leaves a gap.

    From 3.0 on nvme-cli writes `*` for rows that repeat the one before.

    >>> dumped('0000: 01 02 "..\n0002: ff "."')
    b'\x01\x02\xff'
    >>> dumped('0000: 01 02 "..\n*\n0006:\n')
    b'\x01\x02\x01\x02\x01\x02'
    """
    found = row = b""
    is_repeated = False
    for star, offset, digits in LINE.findall(text):
        if star:
            is_repeated = True
            continue
        place = int(offset, 16)
        if is_repeated and row and place <= DUMP_BYTES_MAX:
            found += row * ((place - len(found)) // len(row))
        is_repeated = False
        if place == len(found):
            row = bytes.fromhex(digits)
            found += row
    return found
