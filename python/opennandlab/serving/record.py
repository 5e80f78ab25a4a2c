"""Records of requests in formats of other programs.

The core writes lines of `seq,conn,op,flags,off,len,t_arrive,t_target,t_reply`: bytes, and
nanoseconds since the server began. The ending of the file's name chooses another form: `.iolog` for
fio (version 3 of its I/O logs), `.blkparse` for the text of blkparse, one line for the arrival and
one for the end of each request. fio has no word for force unit access: there a `datasync` follows
the write.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SECTOR_BYTES = 512
NS_PER_US = 1000
NS_PER_S = 1_000_000_000
FUA = 1
NO_HOLE = 2


def rewrite(path: Path, suffix: str) -> None:
    """Turn a record into the form that an ending stands for; `.csv` and others stay as they are."""
    form = {".iolog": as_iolog, ".blkparse": as_blkparse}.get(suffix)
    if form is None:
        return
    with path.open(encoding="ascii") as lines, tempfile.TemporaryFile("w+") as other:
        other.writelines(form(lines))
        other.seek(0)
        lines.close()
        with path.open("w", encoding="ascii") as target:
            target.writelines(other)


def _rows(lines: Iterable[str]) -> Iterator[tuple[str, int, int, int, int, int]]:
    """Yield operation, flags, offset, length, arrival and target of each request."""
    for line in lines:
        if not line.startswith("seq,"):
            _, _, op, *numbers = line.split(",")
            flags, offset, length, arrival, target, _ = map(int, numbers)
            yield op, flags, offset, length, arrival, target


def as_iolog(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of an I/O log of fio for those of a record.

    >>> record = ["0,0,write,1,4096,512,2000500,2100500,2100900", "1,0,flush,0,0,0,9000000,1,1"]
    >>> print("".join(as_iolog(record)), end="")
    fio version 3 iolog
    0 drive add
    0 drive open
    2000 drive write 4096 512
    2000 drive datasync 0 0
    9000 drive sync 0 0
    9000 drive close
    """
    yield "fio version 3 iolog\n0 drive add\n0 drive open\n"
    last = 0
    for op, flags, offset, length, arrival, _ in _rows(lines):
        last = arrival // NS_PER_US
        name = {"read": "read", "write": "write", "cache": "read", "flush": "sync"}.get(op)
        if op in {"trim", "write_zeroes"}:
            name = "write" if op == "write_zeroes" and flags & NO_HOLE else "trim"
        if name is not None:
            yield f"{last} drive {name} {offset} {length}\n"
        if name == "write" and flags & FUA:
            yield f"{last} drive datasync 0 0\n"
    yield f"{last} drive close\n"


def as_blkparse(lines: Iterable[str]) -> Iterator[str]:
    """Yield the text of blkparse for the lines of a record: `Q` at arrival, `C` at the end.

    >>> print("".join(as_blkparse(["0,0,write,1,4096,512,2000500,2100500,2100900"])), end="")
      0,0    0        1     0.002000500     0  Q WFS 8 + 1 [serve]
      0,0    0        2     0.002100500     0  C WFS 8 + 1 [0]
    """
    number = 0
    for op, flags, offset, length, arrival, target in _rows(lines):
        kind = {"read": "R", "cache": "RA", "write": "W", "trim": "D", "flush": "FN"}.get(op)
        if op == "write_zeroes":
            kind = "W" if flags & NO_HOLE else "D"
        if kind is None:
            continue
        kind += "FS" if flags & FUA and kind == "W" else ""
        first, limit = offset // SECTOR_BYTES, -(-(offset + length) // SECTOR_BYTES)
        place = "" if op == "flush" else f"{first} + {limit - first} "
        for action, time, name in (("Q", arrival, "serve"), ("C", target, "0")):
            number += 1
            seconds = f"{time // NS_PER_S:5d}.{time % NS_PER_S:09d}"
            yield f"  0,0    0 {number:8d} {seconds}     0  {action} {kind} {place}[{name}]\n"
