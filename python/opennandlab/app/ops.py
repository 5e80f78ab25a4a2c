"""The operations of a script: one JSON line each, which names the operation in `op`.

Paths are relative to the directory of the run and must stay below it. Lengths and offsets are in
bytes. What is written is drawn from the seed of the run and is not part of a script.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal

import msgspec

from opennandlab.documents.record import Record

Value = int | str | None
# How bytes reach the file: as usual, O_SYNC, O_DIRECT, both, or through a mapping of the file that
# is left alone, or synchronised without or with waiting.
Mode = Literal["buffered", "sync", "direct", "sync_direct", "mmap", "mmap_async", "mmap_sync"]
MODES: Final[tuple[Mode, ...]] = (
    "buffered", "sync", "direct", "sync_direct", "mmap", "mmap_async", "mmap_sync",
)  # fmt: skip


class Op(Record, frozen=True, kw_only=True, tag_field="op"):
    """One operation."""


class Mkdir(Op, frozen=True, kw_only=True, tag="mkdir"):
    """Make a directory, which may be there."""

    path: str


class Create(Op, frozen=True, kw_only=True, tag="create"):
    """Make an empty file, or empty one."""

    file: str


class Write(Op, frozen=True, kw_only=True, tag="write"):
    """Write at an offset."""

    file: str
    off: int
    len: int
    mode: Mode = "buffered"


class Append(Op, frozen=True, kw_only=True, tag="append"):
    """Write at the end."""

    file: str
    len: int


class Read(Op, frozen=True, kw_only=True, tag="read"):
    """Read at an offset; `hint` tells the kernel what comes."""

    file: str
    off: int
    len: int
    hint: Literal["normal", "random", "sequential"] = "normal"
    mode: Mode = "buffered"


class Fsync(Op, frozen=True, kw_only=True, tag="fsync"):
    """Wait until a file is durable."""

    file: str


class Fdatasync(Op, frozen=True, kw_only=True, tag="fdatasync"):
    """Wait until the data of a file is durable."""

    file: str


class Dirsync(Op, frozen=True, kw_only=True, tag="dirsync"):
    """Wait until the entries of a directory are durable."""

    path: str


class Rename(Op, frozen=True, kw_only=True, tag="rename"):
    """Rename a file over another."""

    file: str
    to: str


class Unlink(Op, frozen=True, kw_only=True, tag="unlink"):
    """Remove a file."""

    file: str


class Truncate(Op, frozen=True, kw_only=True, tag="truncate"):
    """Cut a file, or lengthen it by a hole."""

    file: str
    len: int


class Fallocate(Op, frozen=True, kw_only=True, tag="fallocate"):
    """Allocate the first bytes of a file."""

    file: str
    len: int


class Sql(Op, frozen=True, kw_only=True, tag="sql"):
    """Execute one statement and fetch all its rows."""

    db: str
    stmt: str
    params: tuple[Value, ...] = ()


class Txn(Op, frozen=True, kw_only=True, tag="txn"):
    """Execute statements as one transaction: one commit."""

    db: str
    stmts: tuple[tuple[str, tuple[Value, ...]], ...]


class Walk(Op, frozen=True, kw_only=True, tag="walk"):
    """List a tree of directories and ask for the size of every file."""

    path: str


class Think(Op, frozen=True, kw_only=True, tag="think"):
    """The user thinks."""

    us: int


class Evict(Op, frozen=True, kw_only=True, tag="evict"):
    """Make the next read of a file, or of all files of the run, reach the device."""

    file: str | None = None


class Begin(Op, frozen=True, kw_only=True, tag="begin"):
    """An iteration of a case begins."""

    case: str
    i: int


class End(Op, frozen=True, kw_only=True, tag="end"):
    """It ends: what the user waits for is done."""

    case: str
    i: int


AnyOp = (
    Mkdir | Create | Write | Append | Read | Fsync | Fdatasync | Dirsync | Rename | Unlink
    | Truncate | Fallocate | Sql | Txn | Walk | Think | Evict | Begin | End
)  # fmt: skip


def lines(ops: Iterable[AnyOp]) -> Iterator[str]:
    """Yield the JSON line of each operation, without its end.

    >>> list(lines([Append(file="photo.jpg", len=131072)]))
    ['{"op":"append","file":"photo.jpg","len":131072}']
    """
    for op in ops:
        yield msgspec.json.encode(op).decode()
