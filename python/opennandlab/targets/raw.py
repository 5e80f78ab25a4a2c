"""A real target as bytes, read and written by this program itself: for data, not for speed.

It is behind the same gates as the targets that fio measures: a file that holds something, a
device and an export need consent, and a device is held alone. Requests go around the page cache
(direct I/O), because a cache of the system would answer for the drive.

A request that the drive answers with an error is a `RequestError`: it is a property of the drive,
and the next request may work. A drive that is gone is a `TargetError`.
"""

from __future__ import annotations

import errno
import mmap
import os
from abc import ABC, abstractmethod
from pathlib import Path

from opennandlab.base.errors import ConfigError
from opennandlab.targets.base import TargetError
from opennandlab.targets.file import direct_bytes, opened_file
from opennandlab.targets.names import check_name, same_file
from opennandlab.targets.nbd import checked_export
from opennandlab.targets.nbd_wire import AnswerError, Link
from opennandlab.targets.opening import Request, file_parts
from opennandlab.targets.probe import Probe
from opennandlab.targets.safety import check, known_block

# The largest request.
REQUEST_BYTES_MAX = 1 << 20
# Errors with which a drive or the layer above answers one request.
OF_REQUEST = {
    errno.EIO,
    errno.ENOSPC,
    errno.EINVAL,
    errno.ENODATA,
    errno.EILSEQ,
    errno.EREMOTEIO,
    errno.ETIMEDOUT,
}


class RequestError(Exception):
    """A request that was answered with an error."""


class Raw(ABC):
    """A target as bytes.

    Args:
        name: As the user named it.
        capacity_bytes: Bytes that it claims to have.
        sector_bytes: Offsets and lengths are multiples of it.
    """

    def __init__(self, name: str, capacity_bytes: int, sector_bytes: int) -> None:
        """Know the size."""
        self.name = name
        self.capacity_bytes = capacity_bytes
        self.sector_bytes = sector_bytes

    @abstractmethod
    def read(self, offset: int, length: int) -> bytes:
        """Return bytes, at most `REQUEST_BYTES_MAX` of them.

        Raises:
            RequestError: when the target answers with an error.
            TargetError: when it is gone.
        """

    @abstractmethod
    def write(self, offset: int, data: bytes) -> None:
        """Write bytes; raises as `read`."""

    @abstractmethod
    def flush(self) -> None:
        """Make all writes durable; raises as `read`."""

    @abstractmethod
    def close(self) -> None:
        """Let it go."""


class RawHandle(Raw):
    """A file or device through a handle for direct I/O.

    Args:
        name: As the user named it.
        held: Handle that keeps others out; `close` closes it too.
        capacity_bytes: Its size.
        sector_bytes: Its smallest request.

    Raises:
        TargetError: when it cannot be opened for direct I/O.
    """

    def __init__(self, name: str, held: int, capacity_bytes: int, sector_bytes: int) -> None:
        """Open it once more, for direct I/O."""
        super().__init__(name, capacity_bytes, sector_bytes)
        self._held = held
        try:
            # By the handle, not by the name: another file may have got that meanwhile.
            place = f"/proc/self/fd/{held}"
            self._handle = os.open(place, os.O_RDWR | os.O_DIRECT | os.O_CLOEXEC)
        except OSError as error:
            raise TargetError(f"{name}: direct I/O: {error.strerror or error}") from error
        # A mapping begins at a page, as direct I/O wants it.
        self._buffer = mmap.mmap(-1, REQUEST_BYTES_MAX)
        self._is_open = True

    def read(self, offset: int, length: int) -> bytes:
        """See `Raw`."""
        with memoryview(self._buffer) as whole, whole[:length] as part:
            done = self._done(os.preadv, part, offset)
            if done != length:
                raise RequestError(f"{done} of {length} bytes were read")
            return bytes(part)

    def write(self, offset: int, data: bytes) -> None:
        """See `Raw`."""
        with memoryview(self._buffer) as whole, whole[: len(data)] as part:
            part[:] = data
            done = self._done(os.pwritev, part, offset)
        if done != len(data):
            raise RequestError(f"{done} of {len(data)} bytes were written")

    def flush(self) -> None:
        """See `Raw`."""
        try:
            os.fsync(self._handle)
        except OSError as error:
            raise self._meant(error) from error

    def close(self) -> None:
        """Let it go; it may be called twice."""
        if self._is_open:
            self._is_open = False
            os.close(self._handle)
            os.close(self._held)
            self._buffer.close()

    def _done(self, call: object, part: memoryview, offset: int) -> int:
        try:
            return int(call(self._handle, [part], offset))  # type: ignore[operator]
        except OSError as error:
            raise self._meant(error) from error

    def _meant(self, error: OSError) -> Exception:
        if error.errno in OF_REQUEST:
            return RequestError(error.strerror or str(error))
        return TargetError(f"{self.name}: {error.strerror or error}")


class RawExport(Raw):
    """An NBD export through a connection of our own.

    Args:
        name: As the user named it.
        link: The connection; it is closed at the end.
        sector_bytes: Smallest request.
    """

    def __init__(self, name: str, link: Link, sector_bytes: int) -> None:
        """Know the connection."""
        super().__init__(name, link.export.size_bytes, sector_bytes)
        self._link = link

    def read(self, offset: int, length: int) -> bytes:
        """See `Raw`."""
        try:
            return self._link.read(offset, length)
        except OSError as error:
            raise self._meant(error) from error

    def write(self, offset: int, data: bytes) -> None:
        """See `Raw`."""
        try:
            self._link.write(offset, data)
        except OSError as error:
            raise self._meant(error) from error

    def flush(self) -> None:
        """See `Raw`; a server that cannot flush has nothing to make durable."""
        try:
            if self._link.export.can_flush:
                self._link.flush()
        except OSError as error:
            raise self._meant(error) from error

    def close(self) -> None:
        """Leave the server."""
        self._link.close()

    def _meant(self, error: OSError) -> Exception:
        reason = error.strerror or str(error)
        if isinstance(error, AnswerError):
            return RequestError(reason)
        return TargetError(f"{self.name}: {reason}")


def open_raw(request: Request) -> Raw:
    """Open a real target for its bytes.

    Raises:
        TargetError: when it is refused, and why.
        ConfigError: for a text that names no target, and for a simulated drive.
    """
    refuse_simulated(request)
    consent = request.consent
    if request.kind == "nbd":
        address, export = checked_export(request.text, consent)
        try:
            link = Link(address)
        except OSError as error:
            raise TargetError(f"{request.text}: {error.strerror or error}") from error
        return RawExport(request.text, link, max(512, export.block_bytes_min))
    if request.kind == "device":
        return _device(request)
    path, size_bytes = file_parts(request.text)
    check_name(str(path))
    path = path.absolute()
    opened = opened_file(path, size_bytes, consent, Probe())
    try:
        sector_bytes = direct_bytes(path)
        return RawHandle(request.text, opened.handle, os.fstat(opened.handle).st_size, sector_bytes)
    except BaseException:
        opened.undo()
        opened.close()
        raise


def refuse_simulated(request: Request) -> None:
    """Refuse a target without data.

    Raises:
        ConfigError: with the accepted ones.
    """
    if request.kind == "sim":
        raise ConfigError(
            "target",
            f"`{request.text}` holds no data, only their places; accepted: file:PATH[?size=1GiB], "
            "/dev/…, nbd+unix:///EXPORT?socket=PATH (`serve` makes a simulated drive one)",
        )
    if request.overrides:
        raise ConfigError("set", f"changes simulated drives only, not {request.text}")


def _device(request: Request) -> Raw:
    probe = Probe()
    check_name(request.text)
    block = known_block(request.text, probe)
    check(block, request.consent, probe)
    try:
        held = probe.hold(block.node)
    except OSError as error:
        raise TargetError(f"{request.text}: cannot be held: {error.strerror or error}") from error
    try:
        is_same = same_file(os.fstat(held), Path(block.node).stat())
        if is_same and probe.kernel_name(held) == block.name:
            return RawHandle(request.text, held, block.size_bytes, block.sector_bytes)
    except BaseException:
        probe.release(held)
        raise
    probe.release(held)
    raise TargetError(f"{request.text}: this is no longer the device that was checked")
