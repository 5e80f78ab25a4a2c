"""Looking at photos: a query, twelve thumbnails, one photo, and a cache of decoded thumbnails.

Nothing is durable. All is read from the device: the page cache is dropped before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from opennandlab.app.cases.base import KIB, MIB, Case, file_of
from opennandlab.app.ops import AnyOp, Append, Create, Evict, Mkdir, Read, Sql, Txn

DB, DECODED = "media.db", "decoded.cache"
PIECE = 128 * KIB
THUMBNAILS, ROWS, DECODED_BYTES = 12, 40, 160 * KIB


class Gallery(Case):
    """See the file."""

    name = "gallery"
    SIZES: ClassVar = {"photos": 48, "photo_bytes": 3 * MIB, "thumbnail_bytes": 12 * KIB}

    def bytes(self, iterations: int) -> int:
        """Return photos, thumbnails and what iterations append."""
        one = self.sizes["photo_bytes"] + self.sizes["thumbnail_bytes"] + 4096
        return self.sizes["photos"] * one + iterations * DECODED_BYTES + (1 << 20)

    def setup(self) -> Iterator[AnyOp]:
        """Yield photos, thumbnails and the database."""
        yield Mkdir(path="photos")
        yield Mkdir(path="thumbnails")
        yield Sql(db=DB, stmt="CREATE TABLE files(id INTEGER PRIMARY KEY, path TEXT, size INTEGER)")
        for number in range(self.sizes["photos"]):
            yield from file_of(_photo(number), self.sizes["photo_bytes"], PIECE)
            yield from file_of(_thumbnail(number), self.sizes["thumbnail_bytes"], PIECE)
        insert = "INSERT INTO files VALUES(?, ?, ?)"
        size = self.sizes["photo_bytes"]
        rows = tuple(
            (insert, (number, _photo(number), size)) for number in range(self.sizes["photos"])
        )
        yield Txn(db=DB, stmts=rows)
        yield Create(file=DECODED)

    def before(self, index: int) -> Iterator[AnyOp]:
        """Yield the eviction."""
        del index
        yield Evict()

    def iteration(self, index: int) -> Iterator[AnyOp]:
        """Yield one look."""
        del index
        count = self.sizes["photos"]
        first = self.draw.below(count)
        query = "SELECT * FROM files WHERE id >= ? ORDER BY id LIMIT ?"
        yield Sql(db=DB, stmt=query, params=(first, ROWS))
        for number in self.draw.shuffled(range(count))[:THUMBNAILS]:
            size = self.sizes["thumbnail_bytes"]
            yield Read(file=_thumbnail(number), off=0, len=size, hint="random")
        photo = _photo(self.draw.below(count))
        for done in range(0, self.sizes["photo_bytes"], PIECE):
            length = min(PIECE, self.sizes["photo_bytes"] - done)
            yield Read(file=photo, off=done, len=length, hint="sequential")
        yield Append(file=DECODED, len=DECODED_BYTES)


def _photo(number: int) -> str:
    return f"photos/{number:05d}.jpg"


def _thumbnail(number: int) -> str:
    return f"thumbnails/{number:05d}.jpg"
