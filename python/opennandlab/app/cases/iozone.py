"""A synthetic benchmark beside the applications: one file written, rewritten and read in order.

An iteration writes the file from its start, rewrites it, synchronised at the end of each, and reads
it after an eviction; its response is that of all three.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from opennandlab.app.cases.base import KIB, MIB, OneFile, file_of
from opennandlab.app.ops import AnyOp, Evict, Fsync, Read, Write


class Iozone(OneFile):
    """See the file."""

    name = "iozone"
    file, piece_bytes = "iozone.tmp", 0
    SIZES: ClassVar = {"file_bytes": 16 * MIB, "record_bytes": 4 * KIB}

    def iteration(self, index: int) -> Iterator[AnyOp]:
        """Yield write, rewrite and read."""
        del index
        size, record = self.sizes["file_bytes"], self.sizes["record_bytes"]
        yield from file_of("iozone.tmp", size, record)
        yield Fsync(file="iozone.tmp")
        for done in range(0, size, record):
            yield Write(file="iozone.tmp", off=done, len=min(record, size - done))
        yield Fsync(file="iozone.tmp")
        yield Evict(file="iozone.tmp")
        for done in range(0, size, record):
            yield Read(file="iozone.tmp", off=done, len=min(record, size - done))
