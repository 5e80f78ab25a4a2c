"""Throughput as AndroBench describes it: sequential and random reads and writes, a part each.

An iteration is one of four parts, in turn: sequential read, sequential write, random read, random
write; writes are synchronised at their end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from opennandlab.app.cases.base import KIB, MIB, OneFile
from opennandlab.app.ops import AnyOp, Evict, Fsync, Read, Write

FILE = "rates.bin"
LARGE, SMALL = 256 * KIB, 4 * KIB


class Rates(OneFile):
    """See the file."""

    name = "rates"
    file, piece_bytes = FILE, LARGE
    SIZES: ClassVar = {"file_bytes": 32 * MIB, "random_requests": 1024}
    PARTS = ("sequential read", "sequential write", "random read", "random write")

    def amount(self, part: int) -> float:
        """Return the megabytes of a part."""
        if part < 2:
            return self.sizes["file_bytes"] / 1e6
        return self.sizes["random_requests"] * SMALL / 1e6

    def before(self, index: int) -> Iterator[AnyOp]:
        """Yield the eviction."""
        del index
        yield Evict()

    def iteration(self, index: int) -> Iterator[AnyOp]:
        """Yield one part."""
        size = self.sizes["file_bytes"]
        if index % len(self.PARTS) < 2:
            requests = [(done, min(LARGE, size - done)) for done in range(0, size, LARGE)]
        else:
            pages = max(1, size // SMALL)
            count = self.sizes["random_requests"]
            requests = [(self.draw.below(pages) * SMALL, SMALL) for _ in range(count)]
        if index % 2 == 0:
            for offset, length in requests:
                yield Read(file=FILE, off=offset, len=length)
            return
        for offset, length in requests:
            yield Write(file=FILE, off=offset, len=length)
        yield Fsync(file=FILE)
