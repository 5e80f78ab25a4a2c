"""What is written: each atomic unit says whose it is, and which write of it.

```text
unit   header 88 · body                                                       little endian
header "ONLREC" 1 1 · campaign u64 · unit u64 · version u32 · cycle u32 · worker u32 · flags u32
       · worker sequence u64 · issue sequence u64 · units u32 · index u32 · issued ns u64
       · version before u32 · 0 u32 · CRC-32 of the body u32 · CRC-32 of the header u32
body   drawn from campaign, unit and version: it cannot be compressed, and is known again
```
A unit whose sectors are of several writes of the same unit, each whole, is torn.
"""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MAGIC: Final = b"ONLREC\x01\x01"
HEADER: Final = struct.Struct("<8sQQIIIIQQIIQIIII")
HEADER_BYTES: Final = HEADER.size
CRC: Final = struct.Struct("<I")
SECTOR_BYTES: Final = 512
# Answers as the judge of the core takes them.
EMPTY, DATA, TORN, ERROR, GARBAGE = range(5)
Reading = tuple[int, int, int]


@dataclass(frozen=True)
class Write:
    """A write of one unit.

    Args:
        unit: Index of the unit.
        version: Number of the write among those of the unit.
        cycle: Number of the cut that follows.
        worker: The worker that wrote it.
        worker_sequence: Number of the request among those of the worker.
        issue_sequence: Number of the request among all.
        units: Units of the request.
        index: Place in the request.
        issued_ns: When it was issued.
        before: The version that it overwrites.
        is_forced: Force unit access.
    """

    unit: int
    version: int
    cycle: int = 0
    worker: int = 0
    worker_sequence: int = 0
    issue_sequence: int = 0
    units: int = 1
    index: int = 0
    issued_ns: int = 0
    before: int = 0
    is_forced: bool = False


def content(campaign: int, write: Write, unit_bytes: int) -> bytes:
    """Return the bytes of a unit.

    Args:
        campaign: Number of the campaign.
        write: The write that the unit holds.
        unit_bytes: Size of a unit, at least 512.
    """
    body = body_of(campaign, write.unit, write.version, unit_bytes)
    head = HEADER.pack(
        MAGIC, campaign, write.unit, write.version, write.cycle, write.worker,
        int(write.is_forced), write.worker_sequence, write.issue_sequence, write.units,
        write.index, write.issued_ns, write.before, 0, zlib.crc32(body), 0,
    )[:-4]  # fmt: skip
    return head + CRC.pack(zlib.crc32(head)) + body


def body_of(campaign: int, unit: int, version: int, unit_bytes: int) -> bytes:
    """Return the body of a write of a unit."""
    seed = (campaign << 64) | (unit << 32) | version
    return random.Random(seed).randbytes(unit_bytes - HEADER_BYTES)  # noqa: S311 (no secret)


def read(campaign: int, unit: int, found: bytes, known: Mapping[int, bytes]) -> Reading:
    """Say what a unit holds.

    Args:
        campaign: Its number.
        unit: Which was read.
        found: Its bytes.
        known: By version, the bytes of the writes that may be there in part; may be empty.

    Returns:
        Kind, unit and version, as the judge takes them. What another campaign has left is version
        0: older than everything.
    """
    if not any(found):
        return EMPTY, unit, 0
    fields = HEADER.unpack_from(found)
    head = found[: HEADER_BYTES - 4]
    if fields[0] == MAGIC and CRC.unpack_from(found, HEADER_BYTES - 4)[0] == zlib.crc32(head):
        its_campaign, its_unit, version, body_crc = fields[1], fields[2], fields[3], fields[14]
        if zlib.crc32(found[HEADER_BYTES:]) == body_crc:
            if its_campaign != campaign:
                return DATA, unit, 0
            return DATA, its_unit, version
    newest = _newest_part(found, known)
    return (GARBAGE, unit, 0) if newest is None else (TORN, unit, newest)


def _newest_part(found: bytes, known: Mapping[int, bytes]) -> int | None:
    """Return the newest write of which a sector is there, if every sector is of some write."""
    versions = {0: bytes(len(found)), **known}
    parts = set()
    for first in range(0, len(found), SECTOR_BYTES):
        sector = found[first : first + SECTOR_BYTES]
        fitting = [it for it, whole in versions.items() if whole[first : first + 512] == sector]
        if not fitting:
            return None
        parts.add(max(fitting))
    return max(parts)
