"""Proof that fio opens the target that was checked: what it reads is what we wrote.

Random bytes are written into the first sector through our own handle, fio must read the same, and
then the sector gets back what it held. Another file or device that a name led fio to does not hold
them, whatever the reason. All this happens after the consent to lose the contents.
"""

from __future__ import annotations

import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

from opennandlab.targets.base import TargetError

# Nobody finds 32 random bytes elsewhere by chance; a pattern of fio has at most 512.
MARKER_BYTES = 32


class Sector(ABC):
    """The first sector of a target, reached without fio.

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


@contextmanager
def marked(name: str, sector: Sector) -> Iterator[bytes]:
    """Hold a marker in the first sector; yield the bytes that repeat there.

    Args:
        name: Of the target, for errors.
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
