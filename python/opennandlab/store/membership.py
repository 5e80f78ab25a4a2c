"""Which points a sweep has: one point may belong to several, with other coordinates in each.

What a sweep varied decides how its points are called in a table: the same point is one of twelve
over-provisionings here, and one of four policies there. So names are kept by sweep, next to the
points; a sweep that is asked for again replaces what it had.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from opennandlab.documents.record import JsonObject
from opennandlab.store.entry import Scalar
from opennandlab.store.packing import coordinates_of, names_of, numbers_of
from opennandlab.store.writing import marks, pieces

Member = tuple[str, Mapping[str, Scalar]]


@dataclass(frozen=True)
class Outcome:
    """What became of a point, without its document.

    Args:
        metrics: Its numbers by name.
        error: Why it failed; None where it did not.
    """

    metrics: Mapping[str, float]
    error: str | None


@dataclass(frozen=True)
class KeptSweep:
    """A sweep that was run into a store.

    Args:
        name: Name of the sweep.
        created: When it was last run, ISO 8601, UTC.
        points: How many points it has.
        done: Those that are done, of these.
        failed: Those that failed.
        definition: What was asked for, with the keys of a sweep file.
    """

    name: str
    created: str
    points: int
    done: int
    failed: int
    definition: JsonObject


def note(
    connection: sqlite3.Connection,
    name: str,
    created: str,
    definition: JsonObject,
    members: Sequence[Member],
) -> None:
    """Keep which points a sweep has, instead of those that it had."""
    run = connection.execute
    run("INSERT OR IGNORE INTO sweep (name, created, definition) VALUES (?, '', '')", (name,))
    number = run("SELECT id FROM sweep WHERE name = ?", (name,)).fetchone()[0]
    text = json.dumps(definition, separators=(",", ":"))
    run("UPDATE sweep SET created = ?, definition = ? WHERE id = ?", (created, text, number))
    run("DELETE FROM member WHERE sweep = ?", (number,))
    connection.executemany(
        "INSERT INTO member VALUES (?, ?, ?, ?)",
        [
            (number, place, key, json.dumps(dict(coordinates), separators=(",", ":")))
            for place, (key, coordinates) in enumerate(members)
        ],
    )


def merge(
    connection: sqlite3.Connection,
    others: Sequence[KeptSweep],
    members_of: Callable[[str], list[Member]],
) -> None:
    """Keep the sweeps of another store whose names are not taken."""
    ours = {sweep.name for sweep in kept(connection)}
    for other in others:
        if other.name not in ours:
            note(connection, other.name, other.created, other.definition, members_of(other.name))


def outcomes(connection: sqlite3.Connection, keys: Sequence[str]) -> dict[str, Outcome]:
    """Return what became of points; unknown ones are absent."""
    found: dict[str, Outcome] = {}
    known: dict[str, list[str]] = {}
    for piece in pieces(keys):
        query = (
            "SELECT key, error, json, vector FROM point JOIN numbers ON numbers.point = point.id "
            f"JOIN names ON names.id = numbers.names WHERE key IN ({marks(piece)})"
        )
        for key, error, text, vector in connection.execute(query, piece):
            if text not in known:
                known[text] = names_of(text)
            metrics = dict(zip(known[text], numbers_of(vector), strict=True))
            found[key] = Outcome(metrics, error)
    return found


def members(connection: sqlite3.Connection, name: str) -> list[Member] | None:
    """Return the points of a sweep, in its order; None for a sweep that was never run."""
    row = connection.execute("SELECT id FROM sweep WHERE name = ?", (name,)).fetchone()
    if row is None:
        return None
    query = "SELECT key, coordinates FROM member WHERE sweep = ? ORDER BY place"
    return [(key, coordinates_of(text)) for key, text in connection.execute(query, row)]


def kept(connection: sqlite3.Connection) -> list[KeptSweep]:
    """Return all sweeps, the newest first."""
    query = (
        "SELECT name, sweep.created, count(member.key), count(point.key), "
        "count(point.error), definition FROM sweep "
        "LEFT JOIN member ON member.sweep = sweep.id LEFT JOIN point ON point.key = member.key "
        "GROUP BY sweep.id ORDER BY sweep.created DESC, name"
    )
    return [
        KeptSweep(name, created, points, there - failed, failed, _definition(definition))
        for name, created, points, there, failed, definition in connection.execute(query)
    ]


def _definition(text: str) -> JsonObject:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise TypeError("a sweep that is not a mapping")
    return found
