"""Runs a script in a directory: files by the system's calls, databases by Python's `sqlite3`.

```text
op ──► path below the directory ──► open file, kept ──► read, write, fsync …
                                └─► connection, kept ──► execute, commit
```
What is written is cut from a pool of random bytes, made once of the seed, at a place that follows
from the number of the operation: nothing is drawn while the clock runs. Evictions are carried out
between iterations and close all files and databases, so that nobody's cache answers.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from opennandlab.app import ops
from opennandlab.app.draw import Draw
from opennandlab.app.requests import Moved
from opennandlab.base.errors import ConfigError, WriteError
from opennandlab.base.scratch import MARK

POOL_BYTES: Final = 4 << 20
POOL_PAGE: Final = 4096
LARGEST: Final = 64 << 20
HANDLES_MAX: Final = 64
DROP_CACHES: Final = Path("/proc/sys/vm/drop_caches")
JOURNALS: Final = ("truncate", "delete", "persist", "wal")
SYNCS: Final = ("full", "extra", "normal")
EVICTIONS: Final = ("drop_caches", "dontneed")
HINTS: Final = {
    "normal": "POSIX_FADV_NORMAL",
    "random": "POSIX_FADV_RANDOM",
    "sequential": "POSIX_FADV_SEQUENTIAL",
}
# Operations on files whose time counts as access; databases' pages are not seen here.
SYNCED: Final = (ops.Fsync, ops.Fdatasync)
MEASURED: Final = (ops.Read, ops.Write, ops.Append, *SYNCED)
Eviction = Literal["drop_caches", "dontneed"]


@dataclass(frozen=True)
class Profile:
    """Settings of SQLite: how it makes a transaction durable.

    Args:
        journal: `truncate`, `delete`, `persist` or `wal`.
        sync: `full`, `extra` or `normal`.
        page_bytes: Page size of a database.

    Raises:
        ConfigError: for anything else.
    """

    journal: str = "truncate"
    sync: str = "full"
    page_bytes: int = 4096

    def __post_init__(self) -> None:
        """Check the words."""
        if self.journal not in JOURNALS:
            raise ConfigError("journal", f"`{self.journal}`; accepted: {', '.join(JOURNALS)}")
        if self.sync not in SYNCS:
            raise ConfigError("sync", f"`{self.sync}`; accepted: {', '.join(SYNCS)}")
        if self.page_bytes not in {1 << power for power in range(9, 17)}:
            message = f"`{self.page_bytes}`; accepted: powers of two from 512 to 65536"
            raise ConfigError("page", message)


@dataclass(frozen=True)
class Marked:
    """An iteration that was run.

    Args:
        case: Its case.
        index: Its number, from 0.
        begin_ns: When it began, by the monotonic clock.
        end_ns: When it ended.
    """

    case: str
    index: int
    begin_ns: int
    end_ns: int


def chosen_eviction(wanted: str = "auto") -> Eviction:
    """Return how pages leave the cache: as root for the whole machine, else file by file.

    Raises:
        ConfigError: for an unknown way, or one that this user may not take.
    """
    may_drop = os.access(DROP_CACHES, os.W_OK)
    if wanted == "auto":
        return "drop_caches" if may_drop else "dontneed"
    if wanted == "dontneed":
        return "dontneed"
    if wanted != "drop_caches":
        raise ConfigError("evict", f"`{wanted}`; accepted: auto, {', '.join(EVICTIONS)}")
    if not may_drop:
        raise ConfigError("evict", "only root may drop caches; accepted: auto, dontneed")
    return "drop_caches"


class Executor:
    """Runs operations below a directory.

    Args:
        root: The directory, which exists.
        profile: Settings of databases.
        seed: Seed of what is written.
        compress_ratio: Share of the bytes that a compressor could take away, 0 to below 1.
        eviction: How pages leave the cache.
        clock: Nanoseconds of a monotonic clock.

    `moved` counts reads and writes of files in iterations; the time of syncs is added to theirs.
    """

    def __init__(  # noqa: PLR0913 (half of them by name)
        self,
        root: Path,
        profile: Profile,
        seed: int,
        *,
        compress_ratio: float = 0.0,
        eviction: Eviction = "dontneed",
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """Make the pool."""
        self._root = root
        self._profile = profile
        self._eviction = eviction
        self._clock = clock
        self._pool = memoryview(pool(seed, compress_ratio))
        self._count = 0
        self.moved = Moved()
        self._handles: dict[tuple[str, bool], int] = {}
        self._databases: dict[str, sqlite3.Connection] = {}

    def run(self, script: Iterable[ops.AnyOp]) -> Iterator[Marked]:
        """Run a script; yield each iteration when it has ended.

        Raises:
            ConfigError: for a path that leaves the directory, or marks that do not match.
            WriteError: when an operation fails, and which.
        """
        begun: tuple[str, int, int] | None = None
        for op in script:
            if isinstance(op, ops.Begin):
                begun = (op.case, op.i, self._clock())
            elif isinstance(op, ops.End):
                now = self._clock()
                if begun is None or begun[:2] != (op.case, op.i):
                    raise ConfigError("script", f"end of {op.case} {op.i} without its begin")
                yield Marked(op.case, op.i, begun[2], now)
                begun = None
            elif begun is not None and isinstance(op, MEASURED):
                start = self._clock()
                self._carry_out(op)
                took = self._clock() - start
                length = 0 if isinstance(op, SYNCED) else op.len
                self.moved += Moved(int(length > 0), length, took, took)
            else:
                self._carry_out(op)

    def close(self) -> None:
        """Close all files and databases."""
        for handle in self._handles.values():
            with contextlib.suppress(OSError):
                os.close(handle)
        self._handles.clear()
        for database in self._databases.values():
            with contextlib.suppress(sqlite3.Error):
                database.close()
        self._databases.clear()

    def _carry_out(self, op: ops.AnyOp) -> None:
        self._count += 1
        try:
            self._do(op)
        except (OSError, sqlite3.Error) as error:
            line = next(ops.lines([op]))
            short = line if len(line) < 120 else line[:117] + "…"
            raise WriteError(f"operation {self._count}, {short}: {error}") from error

    def _do(self, op: ops.AnyOp) -> None:  # noqa: C901, PLR0912 (one branch for each operation)
        match op:
            case ops.Mkdir():
                self._path(op.path).mkdir(parents=True, exist_ok=True)
            case ops.Create():
                self._forget(op.file)
                os.ftruncate(self._open(op.file, os.O_CREAT), 0)
            case ops.Write():
                self._write(op)
            case ops.Append():
                handle = self._open(op.file, os.O_CREAT)
                self._put(handle, os.fstat(handle).st_size, op.len)
            case ops.Read():
                self._read(op)
            case ops.Fsync():
                os.fsync(self._open(op.file))
            case ops.Fdatasync():
                os.fdatasync(self._open(op.file))
            case ops.Dirsync():
                handle = os.open(self._path(op.path), os.O_RDONLY | os.O_DIRECTORY)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)
            case ops.Rename():
                self._forget(op.file)
                self._forget(op.to)
                self._path(op.file).replace(self._path(op.to))
            case ops.Unlink():
                self._forget(op.file)
                self._path(op.file).unlink()
            case ops.Truncate():
                os.ftruncate(self._open(op.file), op.len)
            case ops.Fallocate():
                os.posix_fallocate(self._open(op.file, os.O_CREAT), 0, op.len)
            case ops.Sql():
                self._database(op.db).execute(op.stmt, op.params).fetchall()
            case ops.Txn():
                self._transaction(op)
            case ops.Walk():
                for folder, _, names in os.walk(self._path(op.path)):
                    for name in names:
                        (Path(folder) / name).stat()
            case ops.Think():
                time.sleep(op.us / 1e6)
            case ops.Evict():
                self._evict(op.file)
            case ops.Begin() | ops.End():
                raise ConfigError("script", "a mark is not an operation")

    def _path(self, name: str) -> Path:
        """Return a path of a script, which must stay below the directory."""
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
            raise ConfigError("script", f"`{name}` leaves the directory of the run")
        return self._root / path

    def _open(self, name: str, flags: int = 0, *, direct: bool = False) -> int:
        key = (name, direct)
        if key not in self._handles:
            if len(self._handles) >= HANDLES_MAX:
                os.close(self._handles.pop(next(iter(self._handles))))
            # Not through a link, which would lead somewhere else.
            flags |= os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_DIRECT if direct else 0)
            self._handles[key] = os.open(self._path(name), flags, 0o600)
        return self._handles[key]

    def _forget(self, name: str) -> None:
        for key in ((name, False), (name, True)):
            if key in self._handles:
                os.close(self._handles.pop(key))

    def _data(self, length: int) -> memoryview:
        """Return bytes of the pool, from a page of it that follows from the operation."""
        first = (self._count * 2654435761 % (POOL_BYTES // POOL_PAGE)) * POOL_PAGE
        return self._pool[first : first + min(length, POOL_BYTES)]

    def _put(self, handle: int, offset: int, length: int) -> None:
        while length:
            piece = self._data(length)
            done = os.pwrite(handle, piece, offset)
            offset, length = offset + done, length - done

    def _write(self, op: ops.Write) -> None:
        if op.mode.startswith("mmap"):
            self._write_mapped(op)
            return
        is_direct = "direct" in op.mode
        handle = self._open(op.file, os.O_CREAT, direct=is_direct)
        if not is_direct:
            self._put(handle, op.off, op.len)
        else:
            if op.len > LARGEST:
                raise ConfigError("script", f"a direct write of {op.len} bytes: at most {LARGEST}")
            with mmap.mmap(-1, max(op.len, 1)) as aligned:  # O_DIRECT wants aligned memory
                for done in range(0, op.len, POOL_BYTES):
                    piece = self._data(min(op.len - done, POOL_BYTES))
                    aligned[done : done + len(piece)] = bytes(piece)
                os.pwrite(handle, aligned, op.off)
        if "sync" in op.mode:
            os.fdatasync(handle)

    def _write_mapped(self, op: ops.Write) -> None:
        handle = self._open(op.file, os.O_CREAT)
        end = op.off + op.len
        if os.fstat(handle).st_size < end:
            os.ftruncate(handle, end)
        first = op.off // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
        with mmap.mmap(handle, end - first, offset=first) as mapped:
            piece = self._data(op.len)
            mapped[op.off - first : op.off - first + len(piece)] = bytes(piece)
            if op.mode == "mmap_sync":
                mapped.flush()
        if op.mode == "mmap_async":
            with contextlib.suppress(AttributeError):
                os.posix_fadvise(handle, op.off, op.len, os.POSIX_FADV_DONTNEED)

    def _read(self, op: ops.Read) -> None:
        is_direct = "direct" in op.mode
        handle = self._open(op.file, direct=is_direct)
        if is_direct:
            self._read_direct(handle, op)
            return
        if op.hint != "normal" and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(handle, op.off, op.len, getattr(os, HINTS[op.hint]))
        for done in range(0, op.len, LARGEST):
            os.pread(handle, min(LARGEST, op.len - done), op.off + done)

    def _read_direct(self, handle: int, op: ops.Read) -> None:
        with mmap.mmap(-1, max(min(op.len, LARGEST), 1)) as aligned:
            for done in range(0, op.len, LARGEST):
                piece = memoryview(aligned)[: min(LARGEST, op.len - done)]
                os.preadv(handle, [piece], op.off + done)
                piece.release()

    def _database(self, name: str) -> sqlite3.Connection:
        if name not in self._databases:
            path = self._path(name)
            if path.is_symlink():
                raise ConfigError("script", f"`{name}` is a link")
            database = sqlite3.connect(path, isolation_level=None)
            self._databases[name] = database
            database.execute(f"PRAGMA page_size = {self._profile.page_bytes}")
            database.execute(f"PRAGMA journal_mode = {self._profile.journal}").fetchall()
            database.execute(f"PRAGMA synchronous = {self._profile.sync}")
        return self._databases[name]

    def _transaction(self, op: ops.Txn) -> None:
        database = self._database(op.db)
        database.execute("BEGIN IMMEDIATE")
        for statement, values in op.stmts:
            database.execute(statement, values)
        database.execute("COMMIT")

    def _evict(self, name: str | None) -> None:
        """Write back what is dirty and drop it."""
        if self._eviction == "drop_caches":
            self.close()
            os.sync()
            DROP_CACHES.write_text("1\n")
            return
        if name is None:
            self.close()
            files = [path for path in self._root.rglob("*")
                     if path.is_file() and path.name != MARK]  # fmt: skip
        else:
            self._forget(name)
            files = [self._path(name)]
        for path in files:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                os.fsync(handle)
                if hasattr(os, "posix_fadvise"):
                    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(handle)


def pool(seed: int, compress_ratio: float) -> bytes:
    """Return the bytes that are written: random, with zeros at the end of each 4 KiB for a ratio.

    The pool is followed by itself, so that a piece may begin anywhere in it.

    Raises:
        ConfigError: for a ratio out of range.
    """
    if not 0.0 <= compress_ratio < 1.0:
        raise ConfigError("compress_ratio", f"`{compress_ratio}`; accepted: 0 to below 1")
    random = bytearray(Draw(seed, "content").bytes(POOL_BYTES))
    zeros = int(POOL_PAGE * compress_ratio)
    if zeros:
        for page in range(POOL_PAGE, POOL_BYTES + 1, POOL_PAGE):
            random[page - zeros : page] = bytes(zeros)
    return bytes(random) * 2
