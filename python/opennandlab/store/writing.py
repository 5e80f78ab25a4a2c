"""Rows into the tables of a store, inside a transaction that the caller has begun."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from opennandlab.base.errors import StoreError
from opennandlab.store.database import scalar
from opennandlab.store.entry import Added
from opennandlab.store.packing import FIELDS, Row

# Values in one query; SQLite takes 999 in its oldest builds.
PIECE = 500
COLUMNS = ", ".join(FIELDS)
INSERT = (
    f"INSERT INTO point ({COLUMNS}, coordinates, checksum) "
    f"VALUES ({', '.join('?' * (len(FIELDS) + 2))})"
)
TABLES = (("point", "id"), ("numbers", "point"), ("content", "point"))
# Texts that many points share, and the column that has their number.
SHARED = {"coordinates": ("point", "coordinates"), "names": ("numbers", "names")}


class Writer:
    """Adds rows in one transaction, and counts what became of them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Begin with nothing added."""
        self.connection = connection
        self.added = Added()
        self._numbers: dict[tuple[str, str], int] = {}

    def put(self, row: Row) -> None:
        """Insert an entry, or do what the one that is there asks for.

        Raises:
            StoreError: when that one is done and has another document.
        """
        new = row.by_name()
        query = "SELECT id, digest, error, created FROM point WHERE key = ?"
        old = self.connection.execute(query, (new["key"],)).fetchone()
        if old is None:
            self._insert(row)
            self.added = replace(self.added, new=self.added.new + 1)
            return
        number, digest, error, created = old
        if error is None and new["error"] is None and digest != new["digest"]:
            raise unlike(new["key"], digest, new["digest"])
        if error is None or (new["error"] is not None and new["created"] <= created):
            self.added = replace(self.added, known=self.added.known + 1)
            return
        delete(self.connection, [number])
        self._insert(row)
        self.added = replace(self.added, replaced=self.added.replaced + 1)

    def _insert(self, row: Row) -> None:
        run = self.connection.execute
        coordinates = self._shared("coordinates", row.coordinates)
        names = self._shared("names", row.names)
        number = run(INSERT, (*row.fields, coordinates, row.checksum)).lastrowid
        run("INSERT INTO numbers VALUES (?, ?, ?)", (number, names, row.vector))
        run("INSERT INTO content VALUES (?, ?)", (number, row.packed))

    def _shared(self, table: str, text: str) -> int:
        """Return the number of a text that many points share."""
        known = self._numbers.get((table, text))
        if known is not None:
            return known
        query = f"SELECT id FROM {table} WHERE json = ?"
        found = scalar(self.connection, query, text)
        if found is None:
            query = f"INSERT INTO {table} (json) VALUES (?)"
            found = self.connection.execute(query, (text,)).lastrowid
        self._numbers[table, text] = int(found)
        return int(found)


def unlike(key: str, ours: object, theirs: object) -> StoreError:
    """Return the error for two documents of one point."""
    return StoreError(
        f"the point {key[:12]}… is stored with the digest {str(ours)[:12]}… and was added "
        f"with {str(theirs)[:12]}…: the run is not deterministic, or the program changed without "
        "a new version of the model; nothing was added (`runs rm` removes the stored one)"
    )


def remove(connection: sqlite3.Connection, keys: Iterable[str]) -> int:
    """Remove points by their whole keys; return how many there were."""
    count = 0
    for piece in pieces(keys):
        query = f"SELECT id FROM point WHERE key IN ({marks(piece)})"
        numbers = [row[0] for row in connection.execute(query, piece)]
        count += len(numbers)
        delete(connection, numbers)
    if count:
        for table, (user, column) in SHARED.items():
            used = f"SELECT {column} FROM {user}"
            connection.execute(f"DELETE FROM {table} WHERE id NOT IN ({used})")
    return count


def delete(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Delete the rows of points."""
    for table, column in TABLES:
        query = f"DELETE FROM {table} WHERE {column} = ?"
        connection.executemany(query, [(number,) for number in numbers])


def pieces(keys: Iterable[str]) -> Iterator[list[str]]:
    """Yield keys in lists that one query takes."""
    whole = list(keys)
    return (whole[start : start + PIECE] for start in range(0, len(whole), PIECE))


def marks(values: Sequence[object]) -> str:
    """Return a question mark for each value."""
    return ", ".join("?" * len(values))
