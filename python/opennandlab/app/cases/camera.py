"""Taking a photo: a file that is synchronised, a thumbnail that is not, and one commit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from opennandlab.app.cases.base import KIB, MIB, Case, file_of
from opennandlab.app.ops import AnyOp, Dirsync, Fsync, Mkdir, Sql, Txn

DB = "media.db"
TABLES = (
    "CREATE TABLE files(id INTEGER PRIMARY KEY, path TEXT, size INTEGER)",
    "CREATE TABLE thumbnails(id INTEGER PRIMARY KEY, path TEXT)",
)
PIECE = 128 * KIB


class Camera(Case):
    """See the file."""

    name = "camera"
    SIZES: ClassVar = {
        "photo_bytes_min": 2 * MIB,
        "photo_bytes_max": 4 * MIB,
        "thumbnail_bytes": 12 * KIB,
    }

    def bytes(self, iterations: int) -> int:
        """Return all photos at their largest."""
        one = self.sizes["photo_bytes_max"] + self.sizes["thumbnail_bytes"] + 4096
        return iterations * one + (1 << 20)

    def setup(self) -> Iterator[AnyOp]:
        """Yield directories and tables."""
        yield Mkdir(path="photos")
        yield Mkdir(path="thumbnails")
        for text in TABLES:
            yield Sql(db=DB, stmt=text)

    def iteration(self, index: int) -> Iterator[AnyOp]:
        """Yield one photo."""
        photo, thumbnail = f"photos/{index:05d}.jpg", f"thumbnails/{index:05d}.jpg"
        high = max(self.sizes["photo_bytes_min"], self.sizes["photo_bytes_max"])
        size = self.draw.between(self.sizes["photo_bytes_min"], high)
        yield from file_of(photo, size, PIECE)
        yield Fsync(file=photo)
        yield Dirsync(path="photos")
        yield from file_of(thumbnail, self.sizes["thumbnail_bytes"], PIECE)
        yield Txn(db=DB, stmts=(
            ("INSERT INTO files VALUES(?, ?, ?)", (index, photo, size)),
            ("INSERT INTO thumbnails VALUES(?, ?)", (index, thumbnail)),
        ))  # fmt: skip
