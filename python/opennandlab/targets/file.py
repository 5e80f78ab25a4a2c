"""A regular file as a target, through fio and the file system: the safe way to try a real drive.

What is measured is the drive below *and* the file system's part; direct I/O leaves the page cache
out. A file has no write cache that we could set. Its purge gives the blocks back to the file system
and takes new ones; nothing is ever sent to the device below, so it is not a purge as the test
specification means it.

    file:PATH             a file that exists; its contents are lost, which needs consent
    file:PATH?size=1GiB   made with this size where there is none
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from opennandlab.base.lock import lock
from opennandlab.documents import pts_header
from opennandlab.targets.base import CacheState, Purge, TargetError
from opennandlab.targets.consent import NONE, Consent
from opennandlab.targets.fio.job import Place
from opennandlab.targets.fio.marker import HeldSector
from opennandlab.targets.fio.runner import Fio
from opennandlab.targets.fio.target import ENGINES, FioTarget
from opennandlab.targets.host import file_system_of, scheduler_of
from opennandlab.targets.names import NOT_REGULAR, check_name, same_file
from opennandlab.targets.probe import Probe
from opennandlab.targets.usage import use_of_file

# The smallest file: one request of 1 MiB for each of two threads.
SIZE_MIN = 2 << 20
# linux/falloc.h: FALLOC_FL_PUNCH_HOLE with FALLOC_FL_KEEP_SIZE.
PUNCH_HOLE_KEEP_SIZE = 3
# linux/fs.h: FS_IOC_GETVERSION, which writes an int although it is declared with a long.
GET_GENERATION = 0x80087601
# File systems that live in memory: direct I/O is accepted there and means nothing.
MEMORY = {"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"}


class FileTarget(FioTarget):
    """A regular file.

    Args:
        path: Path of the file.
        size_bytes: Size of a file to be made; for one that exists, None or its own size.
        consent: Needed when the file holds something.
        folder: Where job files and outputs go; see `FioTarget`.
        fio: The binary; None to look for it.
        probe: What is asked about the system; tests show another one.

    Raises:
        TargetError: when the file must not be used, or cannot be.
    """

    kind: ClassVar[str] = "file"

    def __init__(  # noqa: PLR0913 (all but two by name)
        self,
        path: Path,
        size_bytes: int | None = None,
        *,
        consent: Consent = NONE,
        folder: Path | None = None,
        fio: Fio | None = None,
        probe: Probe | None = None,
    ) -> None:
        """Check, make and lock the file."""
        self.path = path.absolute()
        check_name(str(path))
        self._file = opened_file(self.path, size_bytes, consent, probe or Probe())
        try:
            super().__init__(f"file:{path}", folder=folder, fio=fio)
            self.capacity_bytes = os.fstat(self._file.handle).st_size
            self.sector_bytes = direct_bytes(self.path)
            self.link = self.linked("target", self.path)
            places = [self._place(engine) for engine in ENGINES]
            self._checked = self.proven(places)
        except BaseException:
            self._file.undo()
            self.close()
            raise
        self.engine = self._checked.engine
        self.file_system = file_system_of(self.path)
        self.route.device = self.path.stat().st_dev
        if self.file_system in MEMORY:
            self.deviations.append(
                f"the file lies in memory ({self.file_system}): no drive is measured"
            )

    def facts(self) -> pts_header.Target:
        """Return path, size, file system and what is known of the machine."""
        return pts_header.Target(
            kind=self.kind,
            name=self.name,
            device=pts_header.DeviceFacts(
                vendor=None,
                model=f"file on {self.file_system}",
                path=str(self.path),
                file_system=self.file_system,
                firmware=None,
                serial_sha256=None,
                capacity_bytes=self.capacity_bytes,
                sector_bytes=self.sector_bytes,
                nand_type=None,
                interface=None,
            ),
            platform={
                **self.platform(),
                "driver": f"fio {self.engine}",
                "scheduler": scheduler_of(self.path.stat().st_dev),
            },
        )

    def sector(self) -> HeldSector:
        """Return the file through the handle that is held open."""
        return HeldSector(self._file.handle, self.sector_bytes)

    def identity(self) -> str:
        """Return inode and generation: a new file may get the inode of one that was removed.

        Numbers of devices may differ after the system was started again. A file system without
        generations may number its files again with each mount: then nothing is known.
        """
        generation = bytearray(8)
        try:
            fcntl.ioctl(self._file.handle, GET_GENERATION, generation)
        except OSError:
            return ""
        inode = os.fstat(self._file.handle).st_ino
        return f"{inode}:{int.from_bytes(generation, sys.byteorder)}"

    @property
    def layer(self) -> str:
        """What requests go through on their way."""
        return f"file on {self.file_system}"

    def set_cache(self, *, enabled: bool) -> CacheState:
        """Change nothing: the cache belongs to the device below."""
        del enabled
        return "unknown"

    def purge(self) -> Purge:
        """Give all blocks back to the file system and take as many again."""
        self.place()
        try:
            _empty(self._file.handle, self.capacity_bytes)
            _allocate(self._file.handle, self.capacity_bytes)
            os.fsync(self._file.handle)
        except OSError as error:
            raise TargetError(f"{self.name}: purge failed: {_reason(error)}") from error
        return Purge(
            method="blocks of the file given back and taken anew",
            is_purge=False,
            note="the device below the file system was not purged",
        )

    def trim(self, offset: int, length: int) -> None:
        """Give blocks back to the file system, which may tell the device, and take them again.

        Raises:
            TargetError: when the file system cannot.
        """
        try:
            punch(self._file.handle, offset, length)
            os.posix_fallocate(self._file.handle, offset, length)
        except OSError as error:
            raise TargetError(f"{self.name}: trim failed: {_reason(error)}") from error

    def place(self) -> Place:
        """Return the file, if it is still the one that is held open."""
        try:
            found = self.link.stat()
            is_same = same_file(found, os.fstat(self._file.handle))
        except OSError as error:
            # A link to the file may lie next to the job files.
            folder = Path(self.folder)
            what = "the file" if folder.is_dir() else f"the folder of the run {folder}"
            raise TargetError(f"{self.name}: {what} is gone: {_reason(error)}") from error
        if not is_same or found.st_size != self.capacity_bytes:
            raise TargetError(f"{self.name}: the file was replaced or resized by another program")
        return self._checked

    def _place(self, engine: str) -> Place:
        filename = ("filename", self.link.name)
        return Place(engine, (filename,), self.capacity_bytes, self.sector_bytes)

    def close(self) -> None:
        """Unlock the file, which stays."""
        self._file.close()
        super().close()


@dataclass
class OpenedFile:
    """A file that is held open, for us alone among our kind.

    Args:
        path: Path of the file.
        handle: Open for reading and writing; -1 once it is closed.
        was_there: Whether the user had it before.
        was_empty: Whether it held nothing.
    """

    path: Path
    handle: int
    was_there: bool
    was_empty: bool

    def undo(self) -> None:
        """Leave things as they were: what the user had stays, with its links and its mode."""
        with contextlib.suppress(OSError):
            if not self.was_there and same_file(os.fstat(self.handle), self.path.lstat()):
                self.path.unlink()
            elif self.was_there and self.was_empty:
                os.ftruncate(self.handle, 0)

    def close(self) -> None:
        """Let it go; it may be called twice."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1


def opened_file(path: Path, size_bytes: int | None, consent: Consent, probe: Probe) -> OpenedFile:
    """Refuse a file, or open it, made or filled to its size where it held nothing.

    Raises:
        TargetError: when the file must not be used, or cannot be.
    """
    found = _found(path, size_bytes, probe)
    if found is not None and found.st_size:
        _check_existing(path, found.st_size, size_bytes, consent)
        return _locked(path, found)
    if size_bytes is None:
        what = "there is no such file" if found is None else "the file is empty"
        raise TargetError(f"file:{path}: {what}; file:{path}?size=1GiB makes one")
    opened = _locked(path, found)
    try:
        _allocate(opened.handle, size_bytes)
    except BaseException as error:  # also Ctrl-C
        opened.undo()
        opened.close()
        if isinstance(error, OSError):
            raise TargetError(
                f"file:{path}: {size_bytes} bytes cannot be taken: {_reason(error)}"
            ) from error
        raise
    return opened


def _found(path: Path, size_bytes: int | None, probe: Probe) -> os.stat_result | None:
    """Return what is at a path, None for nothing; refuse what nobody may overwrite."""
    if size_bytes is not None and size_bytes < SIZE_MIN:
        raise TargetError(f"file:{path}: {size_bytes} bytes are too few; at least 2 MiB")
    try:
        found = path.stat()
    except FileNotFoundError:
        found = None
    except OSError as error:
        raise TargetError(f"file:{path}: {_reason(error)}") from error
    if found is not None and not stat.S_ISREG(found.st_mode):
        raise TargetError(f"file:{path}: {NOT_REGULAR}")
    if found is not None:
        reasons = use_of_file(found, probe)
        if reasons:
            raise TargetError(f"file:{path}: refused: {'; '.join(reasons)}")
    return found


def objections(
    path: Path, size_bytes: int | None, consent: Consent, probe: Probe | None = None
) -> list[str]:
    """Return what speaks against using a file, as far as looking at it tells; for plans."""
    path = path.absolute()
    try:
        found = _found(path, size_bytes, probe or Probe())
    except TargetError as error:
        return [str(error).removeprefix(f"file:{path}: ").removeprefix("refused: ")]
    if found is None or not found.st_size:
        return []
    return _of_contents(found.st_size, size_bytes, consent)


def _of_contents(held_bytes: int, size_bytes: int | None, consent: Consent) -> list[str]:
    """Find what speaks against a file that holds something."""
    found = []
    if not consent.destructive:
        found.append(f"holds {held_bytes} bytes, which would be lost; --destructive allows that")
    if size_bytes is not None and size_bytes != held_bytes:
        found.append(
            f"exists with {held_bytes} bytes, not {size_bytes}; "
            "leave the size away, or remove the file"
        )
    if held_bytes < SIZE_MIN:
        found.append(f"{held_bytes} bytes are too few; at least 2 MiB")
    return found


def _check_existing(path: Path, held_bytes: int, size_bytes: int | None, consent: Consent) -> None:
    """Refuse a file that holds something, unless that may be lost and it fits."""
    for reason in _of_contents(held_bytes, size_bytes, consent):
        raise TargetError(f"file:{path}: {reason}")


def _allocate(handle: int, size_bytes: int) -> None:
    """Take all blocks now, so that none is missing in the middle of a test."""
    free = os.fstatvfs(handle)
    if free.f_bavail * free.f_frsize < size_bytes:
        # Asking first: taking all that is left would disturb others.
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.posix_fallocate(handle, 0, size_bytes)


def _empty(handle: int, size_bytes: int) -> None:
    """Give all blocks back, and keep the size: a file that gets no new ones is a target still."""
    try:
        punch(handle, 0, size_bytes)
    except OSError as error:
        if error.errno not in {errno.EOPNOTSUPP, errno.ENOSYS}:
            raise
        os.ftruncate(handle, 0)
        os.ftruncate(handle, size_bytes)


def punch(handle: int, offset: int, length: int) -> None:
    """Make a hole in a file; Python has no call for it.

    Raises:
        OSError: as the file system answers.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    size = ctypes.c_int64
    if libc.fallocate(handle, PUNCH_HOLE_KEEP_SIZE, size(offset), size(length)):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _locked(path: Path, found: os.stat_result | None) -> OpenedFile:
    """Open a file as it was found, or a new one, and keep others of us out of it."""
    # A new one exclusively: not through a link to nothing, not a file that came meanwhile.
    how = os.O_CREAT | os.O_EXCL if found is None else 0
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | how, 0o600)
    except FileExistsError as error:
        reason = "it is a link to nothing" if path.is_symlink() else "somebody else made it"
        raise TargetError(f"file:{path}: cannot be made: {reason}") from error
    except OSError as error:
        what = "made" if found is None else "opened"
        raise TargetError(f"file:{path}: cannot be {what}: {_reason(error)}") from error
    opened = OpenedFile(path, handle, found is not None, found is None or found.st_size == 0)
    reason = "another run is using it" if lock(handle) is False else ""
    now = os.fstat(handle)
    if found is not None and (not same_file(found, now) or found.st_size != now.st_size):
        reason = reason or "somebody else is changing it"
    if reason:
        opened.close()
        raise TargetError(f"file:{path}: {reason}")
    return opened


def direct_bytes(path: Path) -> int:
    """Return the smallest direct read that the file system takes.

    Raises:
        TargetError: when it takes none: then the page cache would be measured.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECT)
    except OSError as error:
        raise TargetError(
            f"file:{path}: this file system refuses direct I/O ({_reason(error)}): the page cache "
            "would be measured, not a drive"
        ) from error
    try:
        for size in (512, 4096):
            # A mapping begins at a page, as direct I/O wants it.
            with mmap.mmap(-1, size) as buffer, contextlib.suppress(OSError):
                if os.preadv(handle, [buffer], size) == size:
                    return size
    finally:
        os.close(handle)
    raise TargetError(f"file:{path}: neither 512 nor 4096 bytes can be read by direct I/O")


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
