"""One file written in eight ways, an iteration each, in turn: the cost of durable writes.

The ways are those that Mobibench documents: buffered, O_SYNC, fsync after each write, O_DIRECT,
O_SYNC with O_DIRECT, and through a mapping: left alone, synchronised without and with waiting.
Writing at random places or in order is the size `random` (1 or 2).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from opennandlab.app.cases.base import KIB, MIB, OneFile
from opennandlab.app.ops import MODES, AnyOp, Fsync, Mode, Write

FILE = "mobibench.bin"
# The value of the size `random` for writes at random places.
RANDOM = 1


class Way(NamedTuple):
    """The mode in which a file is written, and whether an fsync follows each write."""

    mode: Mode
    is_synchronised: bool


WAYS = (
    Way("buffered", is_synchronised=True),
    *(Way(mode, is_synchronised=False) for mode in MODES),
)


class Modes(OneFile):
    """Rewriting one file in eight ways."""

    name = "modes"
    file, piece_bytes = FILE, 128 * KIB
    SIZES: ClassVar = {"file_bytes": 4 * MIB, "record_bytes": 4 * KIB, "random": RANDOM}
    PARTS = tuple("fsync" if way.is_synchronised else way.mode for way in WAYS)

    def amount(self, part: int) -> float:
        """Return the megabytes of the file."""
        del part
        record = self.sizes["record_bytes"]
        return self.sizes["file_bytes"] // record * record / 1e6

    def iteration(self, index: int) -> Iterator[AnyOp]:
        """Yield a rewrite of the whole file in one of the ways."""
        way = WAYS[index % len(WAYS)]
        size, record = self.sizes["file_bytes"], self.sizes["record_bytes"]
        places = list(range(size // record))
        if self.sizes["random"] == RANDOM:
            places = self.draw.shuffled(places)
        for place in places:
            yield Write(file=FILE, off=place * record, len=record, mode=way.mode)
            if way.is_synchronised:
                yield Fsync(file=FILE)
