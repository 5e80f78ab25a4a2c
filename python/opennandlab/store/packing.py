"""Entries as rows of the store, and back.

Metrics are a row of 64-bit numbers; their names, the same for thousands of points, are kept once.
So are coordinates, which the seeds of a point share. Settings and document are compressed as one
text: most documents repeat their settings, which then cost almost nothing.

A checksum covers all of an entry. It is checked when one entry is read whole, not for tables of
many points.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from opennandlab.base.canonical import as_bytes, digest
from opennandlab.documents.record import JsonObject
from opennandlab.documents.saved import BYTES_MAX
from opennandlab.store.entry import Entry, Scalar, settings_hash

# A document of 11 KB: level 3 takes 0.2 ms and leaves 43 %, level 9 takes 0.55 ms and leaves 40 %.
LEVEL = 3
# The largest integer of SQLite; seeds have a bit more.
INTEGER_MAX = (1 << 63) - 1
NUMBER = struct.Struct("<d")
SMOKE = "smoke: not a result"

# Columns of `point` that are not numbers of other rows, in the order of `Row.fields`.
FIELDS = (
    *("key", "verb", "seed", "sweep", "settings", "digest", "error", "wall_s", "program"),
    *("model_version", "created", "host"),
)
# Exceptions of damaged content while it is unpacked.
DAMAGE = (
    *(ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError),
    *(zlib.error, struct.error),
)


@dataclass(frozen=True)
class Row:
    """An entry as it is kept.

    Args:
        fields: Values of the columns in `FIELDS`.
        coordinates: JSON of the coordinates.
        names: JSON of the names of the metrics.
        vector: The metrics, 64-bit floats, little endian.
        packed: Settings and document, compressed JSON.
    """

    fields: tuple[Any, ...]
    coordinates: str
    names: str
    vector: bytes
    packed: bytes

    @property
    def checksum(self) -> int:
        """CRC-32 of all of it."""
        head = json.dumps([*self.fields, self.coordinates, self.names])
        return zlib.crc32(self.packed, zlib.crc32(self.vector, zlib.crc32(head.encode())))

    def by_name(self) -> dict[str, Any]:
        """Return the columns of `point` by name."""
        return dict(zip(FIELDS, self.fields, strict=True))


def packed(entry: Entry) -> Row:
    """Return the row of an entry.

    Raises:
        ValueError: for a document that JSON cannot hold.
    """
    names = list(entry.metrics)
    fields = (
        entry.key,
        entry.verb,
        seed_kept(entry.seed),
        _text(entry.sweep),
        settings_hash(entry.settings),
        None if entry.document is None else digest_of(entry.document),
        _text(entry.error),
        float(entry.wall_s),
        entry.program,
        entry.model_version,
        entry.created,
        _text(entry.host),
    )
    content = {"settings": entry.settings, "document": entry.document}
    return Row(
        fields,
        json.dumps(dict(entry.coordinates), separators=(",", ":")),
        json.dumps(names, separators=(",", ":")),
        struct.pack(f"<{len(names)}d", *entry.metrics.values()),
        zlib.compress(_dumped(content), LEVEL),
    )


def unpacked(row: Row) -> Entry:
    """Return the entry of a row.

    Raises:
        ValueError: or another exception of `DAMAGE`, for damaged content.
    """
    kept = row.by_name()
    content = json.loads(_inflated(row.packed))
    document: JsonObject | None = content["document"]
    return Entry(
        key=kept["key"],
        verb=kept["verb"],
        seed=None if kept["seed"] is None else int(kept["seed"]),
        settings=dict(content["settings"]),
        coordinates=coordinates_of(row.coordinates),
        metrics=dict(zip(names_of(row.names), numbers_of(row.vector), strict=True)),
        document=document,
        error=kept["error"],
        wall_s=float(kept["wall_s"]),
        program=str(kept["program"]),
        model_version=int(kept["model_version"]),
        created=str(kept["created"]),
        host=str(kept["host"]),
        sweep=kept["sweep"],
    )


def caution(packed: bytes) -> str | None:
    """Return why the numbers of a point are no measurement; None if they are one, or damaged.

    Args:
        packed: Its settings and document; the document, which may be long, is not parsed.
    """
    try:
        text = _inflated(packed).decode()
        settings, _ = json.JSONDecoder().raw_decode(text, text.index("{", 1))
    except DAMAGE:
        return None
    return SMOKE if is_smoke(settings) else None


def is_smoke(settings: object) -> bool:
    """Return whether settings, or those of a stage in them, have the time base of a smoke test."""
    if isinstance(settings, list):
        return any(map(is_smoke, settings))
    if not isinstance(settings, dict):
        return False
    base = settings.get("time_base")
    name = base.get("name") if isinstance(base, dict) else base
    return name == "smoke" or any(map(is_smoke, settings.values()))


def digest_of(document: JsonObject) -> str:
    """Return the digest that a document states; if it states none, the one it has."""
    stated = document.get("digest")
    return stated if isinstance(stated, str) and stated else digest(document)


def coordinates_of(text: str) -> dict[str, Scalar]:
    """Return coordinates of their JSON; damaged JSON raises an exception of `DAMAGE`."""
    return dict(json.loads(text).items())


def names_of(text: str) -> list[str]:
    """Return names of metrics of their JSON; damaged JSON raises an exception of `DAMAGE`."""
    names = json.loads(text)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError("names that are not text")
    return names


def numbers_of(vector: bytes) -> Sequence[float]:
    """Return the metrics of their bytes; a damaged length raises an exception of `DAMAGE`."""
    return struct.unpack(f"<{len(vector) // NUMBER.size}d", vector)


def seed_kept(seed: int | None) -> int | str | None:
    """Return a seed as SQLite keeps it: beyond 63 bits as text.

    >>> seed_kept(42), seed_kept(2**64 - 1)
    (42, '18446744073709551615')
    """
    return seed if seed is None or abs(seed) <= INTEGER_MAX else str(seed)


def _inflated(content: bytes) -> bytes:
    """Return decompressed bytes, at most `BYTES_MAX` of them."""
    unpacker = zlib.decompressobj()
    text = unpacker.decompress(content, BYTES_MAX)
    if not unpacker.eof:
        raise ValueError("a text that was cut off")
    return text


def _dumped(content: object) -> bytes:
    """Return JSON of at most `BYTES_MAX` bytes."""
    try:
        text = msgspec.json.encode(content)
    except (UnicodeEncodeError, OverflowError, msgspec.MsgspecError):
        # Half a surrogate pair, or an integer beyond 64 bits.
        text = as_bytes(json.dumps(content, ensure_ascii=False, allow_nan=False))
    if len(text) > BYTES_MAX:
        raise ValueError(f"{len(text)} bytes of settings and document; accepted: {BYTES_MAX}")
    return text


def _text(text: str | None) -> str | None:
    """Return text that SQLite takes: half a surrogate pair becomes its escape."""
    return None if text is None else as_bytes(text).decode()
