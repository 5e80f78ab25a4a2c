"""The file of a store: made, opened, checked cheaply, written in transactions, and its errors told.

```text
runs.db  point ─┬─ coordinates   what was varied: one row for all seeds of it
                ├─ numbers ── names   the metrics of a point as one row of numbers, and their names
                └─ content       settings and document, packed
```
What SQLite promises, nobody here repeats: a transaction is there whole or not at all, also after
`kill -9`, and two processes that write wait for each other. The file has a log next to it (WAL), so
that one process reads while another writes; on a file system of several machines, where the log's
index could not be shared, it has a rollback journal instead.

On opening, only what costs no time is checked: the header, the version, the tables; and SQLite
compares the length. Other damage is met where it is read, and told.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from opennandlab.base import files
from opennandlab.base.errors import OutputError, StoreError, StoreWriteError
from opennandlab.store.packing import caution
from opennandlab.store.place import holders, is_network

# "ONLr": how a file of ours is known among those of other programs.
APPLICATION_ID = 0x4F4E4C72
# Of the tables below. A store of a greater version than that with remarks is refused.
VERSION = 1
TABLES = """
CREATE TABLE coordinates (id INTEGER PRIMARY KEY, json TEXT NOT NULL UNIQUE);
CREATE TABLE names (id INTEGER PRIMARY KEY, json TEXT NOT NULL UNIQUE);
CREATE TABLE point (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  verb TEXT NOT NULL,
  seed,
  sweep TEXT,
  coordinates INTEGER NOT NULL,
  settings TEXT NOT NULL,
  digest TEXT,
  error TEXT,
  wall_s REAL NOT NULL,
  program TEXT NOT NULL,
  model_version INTEGER NOT NULL,
  created TEXT NOT NULL,
  host TEXT NOT NULL,
  checksum INTEGER NOT NULL
);
CREATE INDEX point_created ON point (created);
CREATE TABLE numbers (point INTEGER PRIMARY KEY, names INTEGER NOT NULL, vector BLOB NOT NULL);
CREATE TABLE content (point INTEGER PRIMARY KEY, packed BLOB NOT NULL);
CREATE TABLE sweep (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, created TEXT NOT NULL, definition TEXT NOT NULL
);
CREATE TABLE member (
  sweep INTEGER, place INTEGER, key TEXT NOT NULL, coordinates TEXT NOT NULL,
  PRIMARY KEY (sweep, place)
) WITHOUT ROWID;
"""
# With the first remark of a reader on a point comes a table, and another version.
REMARKED = 2
REMARKS = (
    "CREATE TABLE remark (key TEXT PRIMARY KEY, tags TEXT NOT NULL, note TEXT NOT NULL) "
    "WITHOUT ROWID"
)
# How long a writer waits for another.
TIMEOUT_S = 10.0
RETRY_S = 0.01
LOG_SUFFIX = "-wal"

FULL = ("disk is full",)
BUSY = ("is locked",)
FORBIDDEN = ("readonly database", "access permission denied", "authorization denied")
CLOSED = ("closed database",)


class Database:
    """An open file of a store.

    Args:
        file: Where it is.
        create: Make it where there is none.
        timeout_s: How long to wait for another writer, s.

    Raises:
        StoreError: for a file that cannot be used, and why.
    """

    def __init__(self, file: Path, *, create: bool, timeout_s: float = TIMEOUT_S) -> None:
        """Open and check."""
        self.file = file
        self.timeout_s = timeout_s
        self.lock = threading.RLock()
        self._depth = 0
        is_there = files.is_there(file)
        if file.is_symlink() and not (is_there and file.stat().st_size):
            # A store of somebody else would make a file wherever that leads.
            raise StoreError(f"{file}: a broken link; accepted: a store of runs")
        if not is_there and not create:
            raise StoreError(f"no store of runs in {file.parent}: nothing was kept there yet")
        if not is_there:
            _make_folder(file.parent)
        self.read_only = is_there and not (
            os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)
        )
        with self.told():
            self.connection = self._connected(is_there=is_there)
            try:
                self._prepare(create=create)
            except BaseException:
                self.connection.close()
                raise

    def _connected(self, *, is_there: bool) -> sqlite3.Connection:
        mode = "mode=rw" if is_there else "mode=rwc"
        if self.read_only:
            # Without a right to write, the log cannot be shared; where there is none, all is in
            # the file, which then is read as if nobody wrote.
            has_log = files.is_there(self.file.with_name(self.file.name + LOG_SUFFIX))
            mode = "mode=ro" if has_log else "immutable=1"
        return sqlite3.connect(
            f"{self.file.absolute().as_uri()}?{mode}",
            uri=True,
            timeout=self.timeout_s,
            isolation_level=None,
            check_same_thread=False,
        )

    def _prepare(self, *, create: bool) -> None:
        run = self.connection.execute
        run("PRAGMA trusted_schema = OFF")
        run("PRAGMA cell_size_check = ON")
        self.connection.create_function("caution", 1, caution, deterministic=True)
        if self._is_empty():
            if not create or self.read_only:
                raise StoreError(f"{self.file}: an empty file; accepted: a store of runs")
            self._create()
        self._check()
        has_log = run("PRAGMA journal_mode").fetchone()[0] == "wal"
        if has_log and not self.read_only and is_network(self.file.parent):
            # It was made on a disk of one machine, and moved.
            has_log = run("PRAGMA journal_mode = DELETE").fetchone()[0] == "wal"
        # With a log, what is lost at a power cut is the last transactions, never the file.
        run(f"PRAGMA synchronous = {'NORMAL' if has_log else 'FULL'}")

    def _is_empty(self) -> bool:
        run = self.connection.execute
        count = run("SELECT count(*) FROM sqlite_master").fetchone()[0]
        marks = [run(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
        return not any((count, *marks))

    def _create(self) -> None:
        """Make the tables; of two processes that do, the second finds them made."""
        run = self.connection.execute
        run("PRAGMA auto_vacuum = INCREMENTAL")
        mode = "DELETE" if is_network(self.file.parent) else "WAL"
        self._patiently(f"PRAGMA journal_mode = {mode}")
        self._patiently("BEGIN IMMEDIATE")
        try:
            if self._is_empty():
                for statement in filter(str.strip, TABLES.split(";")):
                    run(statement)
                run(f"PRAGMA application_id = {APPLICATION_ID}")
                run(f"PRAGMA user_version = {VERSION}")
            run("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def _patiently(self, statement: str) -> None:
        """Run what does not wait by itself while another process makes the same file."""
        until = time.monotonic() + self.timeout_s
        while True:
            try:
                self.connection.execute(statement)
            except sqlite3.OperationalError as error:
                if not _means(error, BUSY) or time.monotonic() > until:
                    raise
            else:
                return
            time.sleep(RETRY_S)

    def _check(self) -> None:
        """Refuse what is foreign, newer, or damaged so that it shows at once."""
        run = self.connection.execute
        found = run("PRAGMA application_id").fetchone()[0]
        version = run("PRAGMA user_version").fetchone()[0]
        if found != APPLICATION_ID:
            raise StoreError(
                f"{self.file}: a database of another program (application_id {found:#x}); "
                "accepted: a store of runs"
            )
        if version > REMARKED:
            raise StoreError(
                f"{self.file}: a store of version {version}; accepted: up to {REMARKED}: "
                "use the newer version of opennandlab that made it"
            )
        if version < 1:
            raise self.damaged(f"a store of version {version}")
        has_remarks = version == REMARKED
        wanted = _schema() | ({"remark": REMARKS} if has_remarks else {})
        if dict(run("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")) != wanted:
            raise self.damaged("its tables are not those of a store")
        if not has_remarks:
            # Queries find none.
            run("PRAGMA temp_store = MEMORY")
            run(REMARKS.replace("TABLE", "TEMP TABLE", 1))

    @contextlib.contextmanager
    def told(self) -> Iterator[None]:
        """Turn what SQLite and damaged content raise into a sentence.

        Raises:
            StoreError: with file and reason.
        """
        try:
            yield
        except sqlite3.Error as error:
            raise self._said(error) from error
        except UnicodeDecodeError as error:
            raise self.damaged("text that is not UTF-8") from error

    def _said(self, error: sqlite3.Error) -> StoreError:
        """Return what an error of SQLite means for its reader."""
        kind, reason = StoreError, ""
        if _means(error, FULL):
            kind = StoreWriteError
            reason = "the disk is full; nothing of this was kept, what was there before is whole"
        elif _means(error, BUSY):
            by = " and ".join(holders(self.file)) or "another process"
            kind = StoreWriteError
            reason = (
                f"{by} has been writing to it for {self.timeout_s:g} s; nothing of this was kept: "
                "try again"
            )
        elif _means(error, ("disk i/o error",)):
            kind, reason = StoreWriteError, f"the disk cannot be read or written ({error})"
        elif _means(error, FORBIDDEN):
            reason = "no permission to write it"
        elif _means(error, ("unable to open",)):
            reason = self._hindrance()
        elif _means(error, CLOSED):
            reason = "the store was closed"
        elif _means(error, ("not a database",)):
            reason = "not a database; accepted: a store of runs"
        return kind(f"{self.file}: {reason}") if reason else self.damaged(str(error))

    def _hindrance(self) -> str:
        """Return why the file cannot be opened, which SQLite does not tell."""
        if self.file.is_dir():
            return "a folder; accepted: a store of runs"
        for place, right in ((self.file.parent, os.X_OK), (self.file, os.R_OK)):
            if files.is_there(place) and not os.access(place, right):
                return "no permission to read it"
        if not os.access(self.file.parent, os.W_OK):
            return f"no permission to write in {self.file.parent}"
        return "cannot be opened"

    def damaged(self, reason: str) -> StoreError:
        """Return the error for content that no store writes."""
        return StoreError(f"{self.file}: damaged: {reason}")

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Look at one state of the store, whatever others write meanwhile."""
        with self.lock, self.told():
            if self._depth:
                yield self.connection
                return
            self.connection.execute("BEGIN")
            self._depth += 1
            try:
                yield self.connection
            finally:
                self._depth -= 1
                self._roll_back()

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Change the store: all of it, or nothing where something is raised."""
        with self.lock, self.told():
            if self.read_only:
                raise OutputError(f"{self.file}: no permission to write it")
            self.connection.execute("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise
            finally:
                self._depth -= 1

    def shrink(self) -> None:
        """Give back the room of what was removed."""
        with self.lock, self.told():
            # A script, because it runs to its end: each step of this pragma gives one page back.
            self.connection.executescript("PRAGMA incremental_vacuum")

    def _roll_back(self) -> None:
        # After a full disk SQLite has rolled back by itself; a closed file has nothing to undo.
        with contextlib.suppress(sqlite3.Error):
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the file; the log is folded into it where nobody else has it open."""
        with self.lock, contextlib.suppress(sqlite3.Error):
            self.connection.close()


@cache
def _schema() -> dict[str, str]:
    """Return the text of each table as SQLite keeps it."""
    with contextlib.closing(sqlite3.connect(":memory:")) as made:
        made.executescript(TABLES)
        return dict(made.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"cannot make a store in {folder}: {reason}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"cannot make a store in {folder}: permission denied")


def _means(error: sqlite3.Error, words: tuple[str, ...]) -> bool:
    text = str(error).lower()
    return any(word in text for word in words)


def scalar(connection: sqlite3.Connection, query: str, *given: object) -> Any:  # noqa: ANN401
    """Return the one value of a query; None where there is no row."""
    row = connection.execute(query, given).fetchone()
    return None if row is None else row[0]
