"""The store of runs: points by key, added in transactions by any number of processes.

```text
Entry ──add──► runs.db ──┬─ known(keys)   what need not be run again
                         ├─ rows(where)   a table of many points; no document is unpacked
                         └─ entry(key)    one point, whole: settings and document
```
A store knows nothing of what was run. Of a key it has one entry: one that is done is never
replaced, one that failed is replaced by one that is done.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import Any

from opennandlab.base.errors import StoreError
from opennandlab.documents.record import JsonObject, shown
from opennandlab.store import membership, remarks, writing
from opennandlab.store.database import TIMEOUT_S, Database, scalar
from opennandlab.store.entry import KEY, Added, Entry, refuse_odd
from opennandlab.store.means import Means, means
from opennandlab.store.membership import KeptSweep, Member, Outcome
from opennandlab.store.packing import DAMAGE, Row, packed, unpacked
from opennandlab.store.place import database, where_store
from opennandlab.store.query import Query
from opennandlab.store.remarks import Remark
from opennandlab.store.rows import Rows
from opennandlab.store.unfinished import Unfinished

# Fewer digits would often stand for several points.
DIGITS_MIN = 4
KEY_DIGITS = 64
WHOLE = (
    f"SELECT {writing.COLUMNS}, coordinates.json, names.json, vector, packed, checksum "
    "FROM point "
    "LEFT JOIN coordinates ON coordinates.id = point.coordinates "
    "LEFT JOIN numbers ON numbers.point = point.id LEFT JOIN names ON names.id = numbers.names "
    "LEFT JOIN content ON content.point = point.id "
)


@dataclass(frozen=True)
class Names:
    """What points of a store may be filtered and ordered by.

    Args:
        verbs: What was run.
        sweeps: Names of sweeps, the newest first.
        coordinates: What was varied in any of them.
        metrics: The metrics of any of them.
        tags: The tags of any of them.
    """

    verbs: list[str]
    sweeps: list[str]
    coordinates: list[str]
    metrics: list[str]
    tags: list[str]


class Store:
    """A store of runs; a context manager that closes it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store.open(folder) as store:
    ...     store.known(["00" * 32]), len(store)
    ({}, 0)
    """

    def __init__(self, database: Database) -> None:
        """Take an open file; `Store.open` finds it."""
        self._database = database
        self.unfinished = Unfinished(database.file.parent)

    @classmethod
    def open(
        cls, path: str | Path | None = None, *, create: bool = True, timeout_s: float = TIMEOUT_S
    ) -> Store:
        """Open a store, or make one.

        Args:
            path: Its folder, or its file; None for the usual place (`where_store`).
            create: Make it where there is none.
            timeout_s: How long to wait while another process writes, s.

        Raises:
            StoreError: when it cannot be used, and why.
        """
        return cls(Database(database(where_store(path)), create=create, timeout_s=timeout_s))

    @property
    def path(self) -> Path:
        """The folder of the store."""
        return self._database.file.parent

    @property
    def file(self) -> Path:
        """The file of the store."""
        return self._database.file

    def close(self) -> None:
        """Close the store."""
        self._database.close()

    def __enter__(self) -> Store:  # noqa: PYI034 (`Self` is not in Python 3.10)
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the store."""
        self.close()

    def __len__(self) -> int:
        """Return the number of points."""
        with self._database.reading() as connection:
            return int(scalar(connection, "SELECT count(*) FROM point"))

    def __repr__(self) -> str:
        """Name the file."""
        return f"<Store {self.file}>"

    def known(self, keys: Iterable[str]) -> dict[str, bool]:
        """Return for each point whether the store has it.

        Args:
            keys: Whole keys.

        Returns:
            Key to whether it is done: False for one that failed. Unknown keys are absent.
        """
        found: dict[str, bool] = {}
        with self._database.reading() as connection:
            for piece in writing.pieces(keys):
                query = (
                    f"SELECT key, error IS NULL FROM point WHERE key IN ({writing.marks(piece)})"
                )
                found |= {key: bool(done) for key, done in connection.execute(query, piece)}
        return found

    def outcomes(self, keys: Iterable[str]) -> dict[str, Outcome]:
        """Return numbers and errors of points, without their documents.

        Args:
            keys: Whole keys; unknown ones are absent from what is returned.

        Raises:
            StoreError: where one of them is damaged.
        """
        with self._database.reading() as connection:
            try:
                return membership.outcomes(connection, list(keys))
            except DAMAGE as error:
                raise self._database.damaged(str(error)) from error

    def note_sweep(self, name: str, definition: JsonObject, members: Sequence[Member]) -> None:
        """Keep which points a sweep has and how it calls them, instead of those that it had.

        Args:
            name: Name of the sweep.
            definition: What was asked for.
            members: Key and coordinates of each point, in the order of the sweep.
        """
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        with self._database.writing() as connection:
            membership.note(connection, name, now, definition, members)

    def sweeps(self) -> list[KeptSweep]:
        """Return the sweeps that were run into the store, the newest first."""
        with self._database.reading() as connection:
            try:
                return membership.kept(connection)
            except DAMAGE as error:
                raise self._database.damaged(str(error)) from error

    def members(self, name: str) -> list[Member]:
        """Return key and coordinates of the points of a sweep, in its order.

        Raises:
            StoreError: for a sweep that was never run into this store.
        """
        with self._database.reading() as connection:
            try:
                found = membership.members(connection, name)
            except DAMAGE as error:
                raise self._database.damaged(str(error)) from error
        if found is None:
            known = ", ".join(sweep.name for sweep in self.sweeps()) or "none yet"
            raise StoreError(f"no sweep `{name}` in {self.path}; accepted: {known}")
        return found

    def add(self, entries: Sequence[Entry]) -> Added:
        """Add points in one transaction: all of them, or none where one is refused.

        New keys are inserted. A failed point is replaced by one that is done, or that failed later.
        A point that is done and comes again must have the same digest.

        Raises:
            StoreError: when one is no valid entry, or differs from what the store has: then the run
                is not deterministic, or the program changed without a new version of the model.
            StoreWriteError: when the store cannot be written, such as on a full disk.
        """
        rows = [_row(entry) for entry in entries]
        with self._database.writing() as connection:
            writer = writing.Writer(connection)
            for row in rows:
                writer.put(row)
        self.unfinished.drop(entry.key for entry in entries)
        return writer.added

    def entry(self, key: str) -> Entry:
        """Return one point, whole.

        Args:
            key: The key, or its first digits (at least 4) where these are of one point.

        Raises:
            StoreError: when there is none, or several, or it is damaged.
        """
        with self._database.reading() as connection:
            whole = self._whole_key(connection, key)
            row = connection.execute(f"{WHOLE} WHERE point.key = ?", (whole,)).fetchone()
        return self._entry(row)

    def entries(self, where: Sequence[str] = ()) -> Iterator[Entry]:
        """Yield the points that conditions hold for, whole, the newest first.

        One at a time: all of them may be more than the memory.

        Raises:
            StoreError: for an invalid condition, and for a point that is damaged.
        """
        for key in self.keys(where):
            with self._database.reading() as connection:
                row = connection.execute(f"{WHOLE} WHERE point.key = ?", (key,)).fetchone()
            if row is not None:  # another process may have removed it meanwhile
                yield self._entry(row)

    def keys(self, where: Sequence[str] = ()) -> list[str]:
        """Return the keys of the points that conditions hold for, the newest first.

        Raises:
            StoreError: for an invalid condition.
        """
        with self._database.reading() as connection:
            return Query(connection, self._database.damaged, where).keys()

    def rows(
        self,
        *,
        where: Sequence[str] = (),
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        order: str | None = None,
        first: int = 0,
    ) -> Rows:
        """Return a table of points; no document is unpacked.

        Args:
            where: Conditions, which all must hold, such as `verb=benchmark`, `waf>=2`,
                `ftl.over_provisioning_pct<0.2`. A point without that value does not hold.
            columns: Names of columns, coordinates and metrics; None for all that the points have.
                `program` and `model_version` are added where they differ among the rows.
            limit: At most so many rows; None for all.
            order: Name of the value that they are ordered by, `-` before it for falling; None for
                the newest first.
            first: How many are skipped before the first row.

        Raises:
            StoreError: for an invalid condition, and for a name that no point has.
        """
        with self._database.reading() as connection:
            query = Query(connection, self._database.damaged, where)
            return query.rows(columns, limit, order, first=first)

    def names(self, where: Sequence[str] = ()) -> Names:
        """Return what points may be filtered and ordered by.

        Args:
            where: Conditions; with `sweep=NAME` the coordinates are those that points have in it.

        Raises:
            StoreError: for an invalid condition.
        """
        with self._database.reading() as connection:
            query = Query(connection, self._database.damaged, where)
            verbs = connection.execute("SELECT DISTINCT verb FROM point ORDER BY verb")
            sweeps = connection.execute("SELECT name FROM sweep ORDER BY created DESC, name")
            return Names(
                verbs=[str(row[0]) for row in verbs],
                sweeps=[str(row[0]) for row in sweeps],
                coordinates=query.coordinate_names,
                metrics=query.metric_names,
                tags=remarks.names(connection),
            )

    def remarks(self, keys: Iterable[str]) -> dict[str, Remark]:
        """Return tags and notes of points.

        Args:
            keys: Whole keys; those without a tag or note are absent from the result.
        """
        with self._database.reading() as connection:
            return remarks.of(connection, list(keys))

    def remark(
        self,
        keys: Iterable[str],
        *,
        tags: Iterable[str] | None = None,
        add: Iterable[str] = (),
        note: str | None = None,
    ) -> None:
        """Tag points and keep a note on them; documents and numbers do not change.

        Args:
            keys: Whole keys of points of the store.
            tags: The tags that they get instead of theirs; None leaves these.
            add: Tags that they get in addition.
            note: A text of at most 2000 characters; empty for none. None leaves theirs.

        Raises:
            StoreError: for an unknown point, and for a tag or a note that is not accepted.
        """
        whole = list(dict.fromkeys(keys))
        given = None if tags is None else remarks.checked(tags, note)
        if not whole:
            return
        with self._database.writing() as connection:
            known = self.known(whole)
            if missing := [key for key in whole if key not in known]:
                raise StoreError(f"no point has the key {shown(missing[0])}")
            remarks.prepare(connection)
            old = remarks.of(connection, whole)
            remarks.put(connection, (
                (key, Remark(
                    remarks.checked([*(before.tags if given is None else given), *add], note),
                    before.note if note is None else note,
                ))
                for key in whole for before in [old.get(key, Remark())]
            ))  # fmt: skip

    def state(self) -> int:
        """Return a number that changes whenever another process has changed the store."""
        with self._database.lock, self._database.told():
            return int(scalar(self._database.connection, "PRAGMA data_version"))

    def means(
        self, metrics: Sequence[str], by: Sequence[str], *, where: Sequence[str] = ()
    ) -> Means:
        """Return the means of metrics over seeds, with 95 % intervals.

        Args:
            metrics: Names of metrics.
            by: Names of coordinates or columns: a row for each of their values. Where points that
                differ in more than the seed would share a row, columns are added.
            where: Conditions that the points hold.

        Raises:
            StoreError: for an invalid condition, and for a name that no point has.
        """
        with self._database.reading() as connection:
            return means(Query(connection, self._database.damaged, where), metrics, by)

    def merge(self, other: str | Path) -> Added:
        """Add all points of another store, and its sweeps, in one transaction.

        Of a sweep that both have, what ours was last asked for stays.

        Args:
            other: Its folder, or its file. It is not changed.

        Raises:
            StoreError: when it is no store, is damaged, or has another document for a key.
        """
        source = database(Path(other))
        if source.exists() and source.samefile(self.file):
            raise StoreError(f"{source}: the same store; accepted: another one")
        with Store(Database(source, create=False)) as theirs:
            theirs.check()
            with self._database.writing() as connection:
                writer = writing.Writer(connection)
                for row in theirs._whole_rows():
                    writer.put(row)
                membership.merge(connection, theirs.sweeps(), theirs.members)
                self._merge_remarks(connection, theirs)
        return writer.added

    def _merge_remarks(self, connection: sqlite3.Connection, theirs: Store) -> None:
        """Take the remarks of another store on points that have none here."""
        with theirs._database.reading() as other:
            found = remarks.of(other)
        if found:
            remarks.prepare(connection)
            ours = remarks.of(connection, list(found))
            remarks.put(connection, [it for it in found.items() if it[0] not in ours])

    def check(self) -> None:
        """Look at every page of the file.

        Raises:
            StoreError: when it is damaged.
        """
        with self._database.reading() as connection:
            found = scalar(connection, "PRAGMA quick_check(1)")
        if found != "ok":
            raise self._database.damaged(str(found))

    def _whole_rows(self) -> Iterator[Row]:
        """Yield all points as they are kept, in the order in which they were added.

        Raises:
            StoreError: for the first that is damaged.
        """
        with self._database.reading() as connection:
            for found in connection.execute(f"{WHOLE} ORDER BY point.id"):
                yield self._row(found)

    def remove(self, keys: Iterable[str]) -> int:
        """Remove points; return how many there were.

        Args:
            keys: Whole keys; those that are unknown are skipped.
        """
        with self._database.writing() as connection:
            whole = list(keys)
            count = writing.remove(connection, whole)
            remarks.put(connection, [(key, Remark()) for key in whole])
        self._database.shrink()
        return count

    def whole_key(self, key: str) -> str:
        """Return the key that begins so.

        Raises:
            StoreError: when there is none, or there are several.
        """
        with self._database.reading() as connection:
            return self._whole_key(connection, key)

    def _whole_key(self, connection: sqlite3.Connection, key: str) -> str:
        digits = key.lower()
        is_hex = set(digits) <= set("0123456789abcdef")
        if not is_hex or not DIGITS_MIN <= len(digits) <= KEY_DIGITS:
            raise StoreError(
                f"the key {shown(key)} is not valid; accepted: {DIGITS_MIN} to {KEY_DIGITS} hex "
                "digits"
            )
        query = "SELECT key FROM point WHERE key >= ? AND key < ? ORDER BY key LIMIT 4"
        found = [row[0] for row in connection.execute(query, (digits, digits + "g"))]
        if not found:
            raise StoreError(f"no point in {self.path} has a key that begins with {digits}")
        if len(found) > 1:
            names = ", ".join(str(one)[: len(digits) + 4] for one in found[:3])
            more = " …" if len(found) > 3 else ""
            raise StoreError(f"several points begin with {digits}: {names}{more}; give more digits")
        return str(found[0])

    def _entry(self, found: tuple[Any, ...]) -> Entry:
        row = self._row(found)
        try:
            return unpacked(row)
        except DAMAGE as error:
            raise self._database.damaged(f"the point {str(found[0])[:12]}…: {error}") from error

    def _row(self, found: tuple[Any, ...]) -> Row:
        *fields, coordinates, names, vector, content, checksum = found
        row = Row(tuple(fields), coordinates, names, vector, content)
        try:
            is_whole = row.checksum == checksum and KEY.fullmatch(fields[0]) is not None
        except DAMAGE:  # a part of it is missing, or of another type
            is_whole = False
        if not is_whole:
            raise self._database.damaged(f"the point {str(fields[0])[:12]}… is not as it was kept")
        return row


def open_store(path: str | Path | None = None, *, create: bool = True) -> Store:
    """Open the store of runs, or make it; to be closed, or used in a `with` block.

    Args:
        path: Its folder; None for `$OPENNANDLAB_STORE`, else `./.opennandlab` if it exists, else
            `opennandlab` in the data folder of the user.
        create: Make it where there is none.

    Raises:
        StoreError: when it cannot be used, and why.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, open_store(folder) as store:
    ...     len(store.rows(where=["verb=benchmark"]))
    0
    """
    return Store.open(path, create=create)


def _row(entry: Entry) -> Row:
    refuse_odd(entry)
    try:
        return packed(entry)
    except DAMAGE as error:
        raise StoreError(f"{entry.key[:12]}…: cannot be kept as JSON: {error}") from error
