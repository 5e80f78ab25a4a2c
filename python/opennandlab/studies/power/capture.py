"""What a served drive was told, with the bytes: the file that `serve --record-data` writes.

```text
head    "ONLCAPT" 1 · capacity u64 · unit bytes u64                                little endian
entry   kind u8 · command u8 · flags u16 · errno u32 · sequence u64 · offset u64
        · length u32 · connection u32 · time u64 [· bytes of a write]
```
Entries are in the order in which the drive was told and was done. A file that was cut off is good
up to its last whole entry; what follows is left out, and said.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from opennandlab.base.errors import ResultError

MAGIC: Final = b"ONLCAPT\x01"
HEAD: Final = struct.Struct("<8sQQ")
ENTRY: Final = struct.Struct("<BBHIQQIIQ")
BEGUN, ANSWERED, POWER_OFF, POWER_ON = 1, 2, 3, 4
WRITE, FLUSH, TRIM, WRITE_ZEROES = 1, 3, 4, 6
FUA: Final = 1


@dataclass
class Request:
    """A write, a flush, a trim or zeros.

    Args:
        command: `WRITE`, `FLUSH`, `TRIM` or `WRITE_ZEROES`.
        is_forced: Force unit access.
        offset: First byte.
        length: Bytes.
        data: Data of a write.
        begun: Its place among all entries when the drive was told.
        begun_ns: The time of that, on the monotonic clock of the machine.
        answered: Its place when the drive was done; None where it never was.
        answered_ns: The time of that.
    """

    command: int
    is_forced: bool
    offset: int
    length: int
    data: bytes
    begun: int
    begun_ns: int
    answered: int | None = None
    answered_ns: int | None = None


@dataclass
class Capture:
    """A file, read.

    Args:
        capacity_bytes: Capacity of the drive.
        unit_bytes: Its map unit.
        requests: In the order in which they were begun.
        times_ns: By place of an entry, its time.
        is_whole: Whether the file ends with a whole entry.
    """

    capacity_bytes: int
    unit_bytes: int
    requests: list[Request] = field(default_factory=list)
    times_ns: list[int] = field(default_factory=list)
    is_whole: bool = True


def read(path: Path) -> Capture:
    """Read a file.

    Raises:
        ResultError: when it cannot be read, or is none.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ResultError(f"{path}: {error.strerror or error}") from error
    if len(content) < HEAD.size or not content.startswith(MAGIC):
        raise ResultError(f"{path}: is not a record with data; accepted: of `serve --record-data`")
    _, capacity, unit = HEAD.unpack_from(content)
    capture = Capture(capacity, unit)
    under_way: dict[int, Request] = {}
    place = HEAD.size
    while place + ENTRY.size <= len(content):
        kind, command, flags, _, sequence, offset, length, _, time = ENTRY.unpack_from(
            content, place
        )
        end = place + ENTRY.size
        number = len(capture.times_ns)
        if kind == BEGUN:
            data = b""
            if command == WRITE:
                data = content[end : end + length]
                end += length
                if len(data) < length:
                    break
            request = Request(command, bool(flags & FUA), offset, length, data, number, time)
            under_way[sequence] = request
            capture.requests.append(request)
        elif kind == ANSWERED:
            done = under_way.pop(sequence, None)
            if done is not None:
                done.answered, done.answered_ns = number, time
        elif kind in {POWER_OFF, POWER_ON}:
            under_way.clear()
        else:
            raise ResultError(f"{path}: entry {number} is of kind {kind}; accepted: 1 to 4")
        capture.times_ns.append(time)
        place = end
    capture.is_whole = place == len(content)
    return capture
