"""A synthetic benchmark beside the applications: one file written, rewritten and read in order.

An iteration writes the file from its start and rewrites it, with an fsync after each, and reads it
after an eviction. The response time of an iteration covers all three.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from opennandlab.app.cases.base import KIB, MIB, OneFile, file_of
from opennandlab.app.ops import AnyOp, Evict, Fsync, Read, Write

FILE = "iozone.tmp"


class Iozone(OneFile):
    """Writing, rewriting and reading one file in order."""

    name = "iozone"
    file, piece_bytes = FILE, 0
    SIZES: ClassVar = {"file_bytes": 16 * MIB, "record_bytes": 4 * KIB}

    def iteration(self, index: int) -> Iterator[AnyOp]:
        """Yield a write, a rewrite and a read of the file."""
        del index
        size, record = self.sizes["file_bytes"], self.sizes["record_bytes"]
        yield from file_of(FILE, size, record)
        yield Fsync(file=FILE)
        for start in range(0, size, record):
            yield Write(file=FILE, off=start, len=min(record, size - start))
        yield Fsync(file=FILE)
        yield Evict(file=FILE)
        for start in range(0, size, record):
            yield Read(file=FILE, off=start, len=min(record, size - start))
