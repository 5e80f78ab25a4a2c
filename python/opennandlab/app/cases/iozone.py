"""A synthetic benchmark next to the applications: a file in six phases, as IOzone names them.

Phases in turn: write, rewrite, read, reread, random read, random write. A phase is 64 iterations,
each a slice of the file, so that each slice has its rate; in random phases a slice has as many
records, of any place. Phases that write end with an fsync, in the time of their last slice. The
file leaves the cache before the first read and before random reads, and stays for the reread.

`iozone_direct` does the same past the cache (O_DIRECT), so that each record is a request of the
drive; through the cache the writes of a small file reach the drive only at the fsync of a phase,
and a reread never does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from opennandlab.app.cases.base import KIB, MIB, OneFile
from opennandlab.app.ops import AnyOp, Append, Create, Evict, Fsync, Mode, Read, Write

FILE = "iozone.tmp"
WRITING, REWRITING, READING, REREADING, RANDOM_READING, RANDOM_WRITING = range(6)
READS = (READING, REREADING, RANDOM_READING)
BLOCK = 4 * KIB


class Iozone(OneFile):
    """See the file."""

    name = "iozone"
    file, piece_bytes = FILE, 0
    SIZES: ClassVar = {"file_bytes": 16 * MIB, "record_bytes": 4 * KIB}
    PARTS = ("write", "rewrite", "read", "reread", "random read", "random write")
    SLICES = 64
    SCATTERED = ("random read", "random write")
    MODE: ClassVar[Mode] = "buffered"

    def amount(self, part: int) -> float:
        """Return the megabytes of a slice."""
        del part
        return self.sizes["file_bytes"] / self.SLICES / 1e6

    def before(self, index: int) -> Iterator[AnyOp]:
        """Yield what begins a phase: a new file, or its eviction."""
        phase, at = self._place(index)
        if at:
            return
        if phase == WRITING:
            yield Create(file=FILE)
        elif phase in {READING, RANDOM_READING}:
            yield Evict(file=FILE)
        if phase in {RANDOM_READING, RANDOM_WRITING}:
            self._order = self.draw.shuffled(self._starts())

    def iteration(self, index: int) -> Iterator[AnyOp]:
        """Yield a slice of a phase."""
        phase, at = self._place(index)
        size, record = self.sizes["file_bytes"], self.sizes["record_bytes"]
        # O_DIRECT takes whole blocks of the file system only.
        mode = self.MODE if (size | record) % BLOCK == 0 else "buffered"
        starts = self._order if phase in {RANDOM_READING, RANDOM_WRITING} else self._starts()
        first, limit = (len(starts) * place // self.SLICES for place in (at, at + 1))
        for start in starts[first:limit]:
            length = min(record, size - start)
            if phase == WRITING and mode == "buffered":
                yield Append(file=FILE, len=length)
            elif phase in READS:
                yield Read(file=FILE, off=start, len=length, mode=mode)
            else:
                yield Write(file=FILE, off=start, len=length, mode=mode)
        if at == self.SLICES - 1 and phase not in READS:
            yield Fsync(file=FILE)

    def _place(self, index: int) -> tuple[int, int]:
        """Return phase and slice of an iteration."""
        return index // self.SLICES % len(self.PARTS), index % self.SLICES

    def _starts(self) -> list[int]:
        return list(range(0, self.sizes["file_bytes"], self.sizes["record_bytes"]))


class IozoneDirect(Iozone):
    """The same past the cache of the machine."""

    name = "iozone_direct"
    MODE: ClassVar[Mode] = "direct"
