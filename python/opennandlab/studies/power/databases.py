"""An SQLite database that is written, with a log of its commits outside, and what a crash left.

Each row is committed by itself, and noted when the commit came back: that is what the disk owes,
if the mode of the database says so. Rows are numbered, and their text follows from the number, so
a row that is there can be distinguished from one that should be.

SQLite documents that in rollback mode with `synchronous=FULL` the deletion of the journal may not
survive a loss of power, since the directory is not synced: the last transaction is rolled back on a
perfect disk. `EXTRA` syncs it (PRAGMA synchronous). So a lost last commit of that mode is told as
semantics of the application, and not as a fault of the disk.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

NAME: Final = "rows.db"
# What SQLite keeps next to a database; the shared memory of a write-ahead log is built again.
BESIDE: Final = ("", "-journal", "-wal")
TEXT_BYTES: Final = 200


@dataclass(frozen=True)
class Mode:
    """How a database keeps its promises.

    Args:
        name: As in documents.
        journal: Value of PRAGMA journal_mode.
        synchronous: Value of PRAGMA synchronous.
        may_lose_last: A perfect disk may lose the last commit.
    """

    name: str
    journal: str
    synchronous: str
    may_lose_last: bool = False


MODES: Final = (
    Mode("WAL/FULL", "wal", "full"),
    Mode("DELETE/FULL", "delete", "full", may_lose_last=True),
    Mode("DELETE/EXTRA", "delete", "extra"),
)


@dataclass(frozen=True)
class Commit:
    """A commit that came back.

    Args:
        row: Its row.
        at_ns: When it came back, on the monotonic clock.
    """

    row: int
    at_ns: int


def text_of(row: int) -> str:
    """Return the text of a row.

    >>> len(text_of(7)), text_of(7) == text_of(7)
    (200, True)
    """
    return random.Random(f"row {row}").randbytes(TEXT_BYTES // 2).hex()  # noqa: S311 (no secret)


def write(
    folder: Path, mode: Mode, rows: int, watch: Callable[[int], None] | None = None
) -> list[Commit]:
    """Write a database, row by row.

    Args:
        folder: On the disk.
        mode: Mode of the database.
        rows: How many.
        watch: Told the rows so far.
    """
    commits = []
    with closing(sqlite3.connect(folder / NAME, isolation_level=None)) as database:
        database.execute(f"PRAGMA journal_mode={mode.journal}").fetchall()
        database.execute(f"PRAGMA synchronous={mode.synchronous}").fetchall()
        database.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
        for row in range(1, rows + 1):
            database.execute("INSERT INTO rows VALUES (?, ?)", (row, text_of(row)))
            commits.append(Commit(row, time.monotonic_ns()))
            if watch is not None:
                watch(row)
    return commits


@dataclass(frozen=True)
class Verdict:
    """What a crash left of a database.

    Args:
        outcome: `ok`, `lost_last`, `lost`, `corrupt` or `unopenable`.
        rows: Rows that are there; 0 where it cannot be opened.
        owed: Rows whose commit came back before the cut.
        why: In words; empty where all is well.
    """

    outcome: str
    rows: int
    owed: int
    why: str = ""


def judge(folder: Path, commits: Sequence[Commit], cut_ns: int) -> Verdict:
    """Open what was left of a database, and hold it against its commits.

    Args:
        folder: With the database and what belongs to it; it is changed, as SQLite recovers.
        commits: In their order.
        cut_ns: When the power failed, on the clock of the commits.
    """
    owed = sum(commit.at_ns <= cut_ns for commit in commits)
    path = folder / NAME
    if not path.exists():
        return Verdict("unopenable", 0, owed, "there is no such file")
    try:
        with closing(sqlite3.connect(path)) as database:
            problems = [row[0] for row in database.execute("PRAGMA integrity_check(1)")]
            rows = database.execute("SELECT id, text FROM rows ORDER BY id").fetchall()
    except sqlite3.Error as error:
        is_early = owed == 0 and "no such table" in str(error)
        outcome = "corrupt" if "malformed" in str(error) else "unopenable"
        return Verdict("ok" if is_early else outcome, 0, owed, "" if is_early else str(error))
    if problems != ["ok"]:
        return Verdict("corrupt", len(rows), owed, str(problems[0]).splitlines()[0])
    for place, (row, text) in enumerate(rows, 1):
        if row != place or text != text_of(row):
            return Verdict("corrupt", len(rows), owed, f"row {place} is not as it was written")
    missing = owed - len(rows)
    if missing <= 0:
        return Verdict("ok", len(rows), owed)
    outcome = "lost_last" if missing == 1 else "lost"
    return Verdict(outcome, len(rows), owed, f"{missing} of {owed} commits that came back are gone")
