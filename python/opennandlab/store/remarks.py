"""Tags and a note of points: the reader's remarks, kept apart from the measured values.

The table is made with the first remark, which makes the store one of version 2; a store without any
stays as older programs read it, and has an empty table in memory while it is open.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from opennandlab.base.errors import StoreError
from opennandlab.documents.record import shown
from opennandlab.store.conditions import Condition
from opennandlab.store.database import REMARKED, REMARKS
from opennandlab.store.entry import Scalar
from opennandlab.store.writing import marks, pieces

NAME = "tag"
TAG = re.compile(r"[^\s,;\"'<>=!]{1,40}")
TAGS_MAX = 20
NOTE_CHARS_MAX = 2000
# How a query finds them.
FOUND = {
    name: f"(SELECT nullif({name}, '') FROM remark WHERE remark.key = point.key)"
    for name in ("tags", "note")
}


@dataclass(frozen=True)
class Remark:
    """The remarks of a reader on a point.

    Args:
        tags: Words, in the order in which they were given.
        note: A text; empty for none.
    """

    tags: tuple[str, ...] = ()
    note: str = ""


def checked(tags: Iterable[str], note: str | None) -> tuple[str, ...]:
    """Return tags without repetition.

    Raises:
        StoreError: for a tag or a note that is not accepted.
    """
    found = tuple(dict.fromkeys(tags))
    for tag in found:
        # Control and format characters hide, or reverse the letters next to them.
        if not TAG.fullmatch(tag) or not tag.isprintable():
            raise StoreError(
                f"the tag {shown(tag)} is not valid; accepted: 1 to 40 characters that can be "
                "printed, without spaces, commas, quotes, < > = and !"
            )
    if len(found) > TAGS_MAX:
        raise StoreError(f"{len(found)} tags; accepted: {TAGS_MAX} for each point")
    is_long = note is not None and len(note) > NOTE_CHARS_MAX
    if note is not None and (is_long or any("\ud800" <= one <= "\udfff" for one in note)):
        raise StoreError(
            f"the note has {len(note)} characters; accepted: {NOTE_CHARS_MAX}, as Unicode"
        )
    return found


def prepare(connection: sqlite3.Connection) -> None:
    """Make the table inside a transaction, unless it is there."""
    connection.execute("DROP TABLE IF EXISTS temp.remark")
    query = "SELECT count(*) FROM main.sqlite_master WHERE name = 'remark'"
    if not connection.execute(query).fetchone()[0]:
        connection.execute(REMARKS)
        connection.execute(f"PRAGMA user_version = {REMARKED}")


def of(connection: sqlite3.Connection, keys: Sequence[str] | None = None) -> dict[str, Remark]:
    """Return the remarks on points, of all without keys; those without any are absent."""
    found: dict[str, Remark] = {}
    for piece in [[]] if keys is None else pieces(keys):
        where = f"WHERE key IN ({marks(piece)})" if piece else ""
        for key, tags, note in connection.execute(f"SELECT * FROM remark {where}", piece):
            found[key] = Remark(tuple(str(tags).split()), str(note))
    return found


def put(connection: sqlite3.Connection, remarks: Iterable[tuple[str, Remark]]) -> None:
    """Keep remarks, instead of those that there are; an empty one removes."""
    for key, one in remarks:
        connection.execute("DELETE FROM remark WHERE key = ?", (key,))
        if one != Remark():
            row = (key, " ".join(one.tags), one.note)
            connection.execute("INSERT INTO remark VALUES (?, ?, ?)", row)


def names(connection: sqlite3.Connection) -> list[str]:
    """Return all tags of a store, by name."""
    rows = connection.execute("SELECT DISTINCT tags FROM remark")
    return sorted({tag for row in rows for tag in str(row[0]).split()})


def sql(condition: Condition) -> tuple[str, list[Scalar]]:
    """Return `tag=NAME` or `tag!=NAME` as SQL, and its values.

    Raises:
        StoreError: for another sign.
    """
    if condition.sign not in {"=", "!="}:
        raise StoreError(f"the condition `{condition.text}` is not valid; accepted: tag=NAME")
    text = condition.value if isinstance(condition.value, str) else condition.text_value
    sign = ">" if condition.sign == "=" else "="
    return f"(instr(' ' || coalesce({FOUND['tags']}, '') || ' ', ?) {sign} 0)", [f" {text} "]
