"""Scanning media: a walk over the tree, the head of each file, and a row for each, 50 a commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from opennandlab.app.cases.base import KIB, MIB, Case, file_of
from opennandlab.app.ops import AnyOp, Evict, Mkdir, Read, Sql, Txn, Walk

DB = "media.db"
TABLE = "CREATE TABLE files(path TEXT PRIMARY KEY, size INTEGER, title TEXT)"
UPSERT = "INSERT OR REPLACE INTO files VALUES(?, ?, ?)"
HEAD, PIECE, PER_COMMIT, PER_FOLDER = 64 * KIB, 128 * KIB, 50, 40


class MediaScan(Case):
    """See the file."""

    name = "mediascan"
    SIZES: ClassVar = {"files": 200, "file_bytes_max": MIB}

    def __init__(self, seed: int, sizes: Mapping[str, int]) -> None:
        """Draw the sizes of the files."""
        super().__init__(seed, sizes)
        high = self.sizes["file_bytes_max"]
        low = min(high, 16 * KIB)
        self._lengths = [self.draw.between(low, high) for _ in range(self.sizes["files"])]

    def bytes(self, iterations: int) -> int:
        """Return all files, and the database."""
        del iterations
        return sum(self._lengths) + 8192 * len(self._lengths) + (1 << 20)

    def setup(self) -> Iterator[AnyOp]:
        """Yield the tree."""
        yield Mkdir(path="media")
        yield Sql(db=DB, stmt=TABLE)
        for number, length in enumerate(self._lengths):
            if number % PER_FOLDER == 0:
                yield Mkdir(path=_folder(number))
            yield from file_of(_file(number), length, PIECE)

    def before(self, index: int) -> Iterator[AnyOp]:
        """Yield the eviction."""
        del index
        yield Evict()

    def iteration(self, index: int) -> Iterator[AnyOp]:
        """Yield one scan."""
        yield Walk(path="media")
        rows: list[tuple[str, tuple[int | str | None, ...]]] = []
        for number, length in enumerate(self._lengths):
            yield Read(file=_file(number), off=0, len=min(HEAD, length))
            rows.append((UPSERT, (_file(number), length, f"{index} {self.draw.text(30)}")))
            if len(rows) == PER_COMMIT or number == len(self._lengths) - 1:
                yield Txn(db=DB, stmts=tuple(rows))
                rows.clear()


def _folder(number: int) -> str:
    return f"media/{number // PER_FOLDER:03d}"


def _file(number: int) -> str:
    return f"{_folder(number)}/{number:05d}.mp3"
