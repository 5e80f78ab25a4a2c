"""A target reached without fio: proof that fio opens what was checked, and what it holds.

What fio reads must be what we wrote.
Random bytes are written into the first sector through our own handle, fio must read the same, and
then the sector gets back what it held. Another file or device that a name led fio to does not hold
them, whatever the reason. All this happens after the consent to lose the contents.
"""

from __future__ import annotations

import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from opennandlab.targets.base import TargetError

# Pieces of a target that are examined, and the size of one.
PIECES, PIECE_BYTES = 128, 4096
# Nobody finds 32 random bytes elsewhere by chance; a pattern of fio has at most 512.
MARKER_BYTES = 32


class Sector(ABC):
    """The first sector of a target, and pieces of it anywhere, reached without fio.

    Args:
        size_bytes: Its length, a multiple of 512.
    """

    def __init__(self, size_bytes: int) -> None:
        """Know the length."""
        self.size_bytes = size_bytes

    @abstractmethod
    def read(self) -> bytes:
        """Return what it holds."""

    @abstractmethod
    def write(self, content: bytes) -> None:
        """Write it, so that another opener reads it."""

    @abstractmethod
    def pieces(self, offsets: Sequence[int], size_bytes: int) -> Iterator[bytes]:
        """Yield what the target holds at each of some places."""


class HeldSector(Sector):
    """The first sector of a file or device that is held open.

    Args:
        handle: Open for reading and writing.
        size_bytes: Length of the sector.
    """

    def __init__(self, handle: int, size_bytes: int) -> None:
        """Know the handle."""
        super().__init__(size_bytes)
        self._handle = handle

    def read(self) -> bytes:
        """See `Sector`."""
        return os.pread(self._handle, self.size_bytes, 0)

    def write(self, content: bytes) -> None:
        """See `Sector`."""
        if os.pwrite(self._handle, content, 0) != len(content):
            raise OSError(5, os.strerror(5))
        os.fsync(self._handle)

    def pieces(self, offsets: Sequence[int], size_bytes: int) -> Iterator[bytes]:
        """See `Sector`; nothing stays in the page cache, which writes would have to clear."""
        os.posix_fadvise(self._handle, 0, 0, os.POSIX_FADV_RANDOM)
        for offset in offsets:
            yield os.pread(self._handle, size_bytes, offset)
            os.posix_fadvise(self._handle, offset, size_bytes, os.POSIX_FADV_DONTNEED)


def written_share(sector: Sector, range_bytes: int) -> float:
    """Return the part of pieces all over a range, from the start, that hold anything but zeros.

    Raises:
        OSError: when it cannot be read.
    """
    stride = range_bytes / PIECES
    # In the middle of each part, so that a range at the start has its share of them.
    offsets = [
        int((number + 0.5) * stride) // PIECE_BYTES * PIECE_BYTES for number in range(PIECES)
    ]
    return sum(any(piece) for piece in sector.pieces(offsets, PIECE_BYTES)) / PIECES


@contextmanager
def marked(name: str, sector: Sector) -> Iterator[bytes]:
    """Hold a marker in the first sector; yield the bytes that repeat there.

    Args:
        name: Name of the target, for errors.
        sector: Where.

    Raises:
        TargetError: when the sector cannot be read or written.
    """
    marker = secrets.token_bytes(MARKER_BYTES)
    try:
        before = sector.read()
        if len(before) != sector.size_bytes:
            raise TargetError(f"{name}: its first {sector.size_bytes} bytes cannot be read")
        try:
            sector.write(marker * (sector.size_bytes // MARKER_BYTES))
            yield marker
        finally:
            sector.write(before)
    except OSError as error:
        raise TargetError(
            f"{name}: its first sector cannot be written: {error.strerror or error}"
        ) from error
