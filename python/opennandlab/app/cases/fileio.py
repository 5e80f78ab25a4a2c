"""Small file work: sequential and random reads of a file, then durable direct writes likewise.

Sizes as in the description of PCMark for Android Storage: a file of 32 MiB, requests of 2 MiB in
order and of 4 KiB at random; 16 MiB are written, each write direct and synchronised.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from opennandlab.app.cases.base import KIB, MIB, OneFile
from opennandlab.app.ops import AnyOp, Evict, Fsync, Mode, Read, Write

FILE = "file.bin"
LARGE, SMALL = 2 * MIB, 4 * KIB


class FileIo(OneFile):
    """See the file."""

    name = "fileio"
    file, piece_bytes = FILE, LARGE
    SIZES: ClassVar = {"file_bytes": 32 * MIB, "written_bytes": 16 * MIB, "random_requests": 512}

    def before(self, index: int) -> Iterator[AnyOp]:
        """Yield the eviction."""
        del index
        yield Evict()

    def iteration(self, index: int) -> Iterator[AnyOp]:
        """Yield the four parts."""
        del index
        size, written = self.sizes["file_bytes"], self.sizes["written_bytes"]
        pages = max(1, size // SMALL)
        mode: Mode = "direct" if size % SMALL == 0 and written % SMALL == 0 else "buffered"
        for done in range(0, size, LARGE):
            yield Read(file=FILE, off=done, len=min(LARGE, size - done), hint="sequential")
        for _ in range(self.sizes["random_requests"]):
            yield Read(file=FILE, off=self.draw.below(pages) * SMALL, len=SMALL, hint="random")
        for done in range(0, min(size, written), LARGE):
            yield Write(file=FILE, off=done, len=min(LARGE, written - done, size - done), mode=mode)
            yield Fsync(file=FILE)
        for _ in range(self.sizes["random_requests"]):
            yield Write(file=FILE, off=self.draw.below(pages) * SMALL, len=SMALL, mode=mode)
            yield Fsync(file=FILE)
