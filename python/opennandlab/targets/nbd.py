"""An export of an NBD server through fio's nbd engine: `nbd+unix:///EXPORT?socket=PATH`.

Size, block size and abilities come from a handshake of our own (fixed newstyle, NBD_OPT_INFO, and
NBD_OPT_EXPORT_NAME for servers that do not know it); then fio connects, once for each thread.

Source: the NBD protocol document of the NetworkBlockDevice project, sections "Newstyle
negotiation", "Option types" and "Transmission flags".
"""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from opennandlab.targets.base import CacheState, Purge, TargetError
from opennandlab.targets.consent import NONE, Consent
from opennandlab.targets.fio.job import Place, trim_text
from opennandlab.targets.fio.runner import Fio, Terms
from opennandlab.targets.fio.target import PROGRESS_S, FioTarget

ANSWER_S = 10.0
PORT = 10809
# Strings and numbers of the protocol document.
HELLO = b"NBDMAGIC"
OPTION = b"IHAVEOPT"
OPTION_REPLY = 0x0003E889045565A9
REQUEST = 0x25609513
FIXED_NEWSTYLE, NO_ZEROES = 1, 2
EXPORT_NAME, ABORT, INFO = 1, 2, 6
ACK, INFO_REPLY, FIRST_ERROR = 1, 3, 1 << 31
UNSUPPORTED, UNKNOWN = FIRST_ERROR + 1, FIRST_ERROR + 6
INFO_EXPORT, INFO_BLOCK_SIZE = 0, 3
DISCONNECT = 2
REPLY_BYTES_MAX = 1 << 20


@dataclass(frozen=True)
class Address:
    """Where an export is.

    Args:
        uri: As fio takes it.
        export: Its name; empty for the server's default.
        socket: Path of the Unix socket; None for TCP.
        host: Name or address, for TCP.
        port: For TCP.
    """

    uri: str
    export: str
    socket: str | None
    host: str = ""
    port: int = PORT


@dataclass(frozen=True)
class Export:
    """What a server says of an export.

    Args:
        size_bytes: Its capacity.
        flags: Transmission flags.
        block_bytes_min: Smallest request; 1 where the server does not say.
    """

    size_bytes: int
    flags: int
    block_bytes_min: int = 1

    @property
    def is_read_only(self) -> bool:
        """Transmission flag 1."""
        return bool(self.flags & 1 << 1)

    @property
    def can_trim(self) -> bool:
        """Transmission flag 5."""
        return bool(self.flags & 1 << 5)


class NbdTarget(FioTarget):
    """An NBD export.

    Args:
        uri: `nbd+unix:///EXPORT?socket=PATH` or `nbd://HOST[:PORT]/EXPORT`.
        consent: Its contents are lost, which needs consent.
        folder: Where job files and outputs go; see `FioTarget`.
        fio: The binary; None to look for it.

    Raises:
        TargetError: when the export cannot be reached, written, or may not be.
    """

    kind: ClassVar[str] = "nbd"

    def __init__(
        self,
        uri: str,
        *,
        consent: Consent = NONE,
        folder: Path | None = None,
        fio: Fio | None = None,
    ) -> None:
        """Ask the server."""
        self.address = parse_address(uri)
        self.export = negotiate(self.address)
        if self.export.is_read_only:
            raise TargetError(f"{uri}: the export is read-only")
        if not consent.destructive:
            raise TargetError(f"{uri}: all its data would be lost: --destructive allows that")
        super().__init__(uri, folder=folder, fio=fio)
        self.capacity_bytes = self.export.size_bytes
        self.sector_bytes = max(512, self.export.block_bytes_min)

    def facts(self) -> dict[str, Any]:
        """Return what the server says, and what is known of the machine."""
        return {
            "device": {
                "vendor": None,
                "model": f"NBD export {self.address.export!r}",
                "firmware": None,
                "serial_sha256": None,
                "capacity_bytes": self.capacity_bytes,
                "sector_bytes": self.sector_bytes,
                "nand_type": None,
                "interface": "nbd",
                "can_trim": self.export.can_trim,
            },
            "platform": {**self.platform(), "driver": "fio nbd", "scheduler": None},
        }

    def set_cache(self, *, enabled: bool) -> CacheState:
        """Change nothing: the protocol has no setting for it."""
        del enabled
        return "unknown"

    def purge(self) -> Purge:
        """Trim the whole export; where it cannot be trimmed, write zeros, which is no purge."""
        place = self.place()
        if not self.export.can_trim:
            return self.write_zeros()
        files = self.files("trim")
        files.job.write_text(trim_text(place), encoding="utf-8")
        self.fio_output(files, Terms(status_s=PROGRESS_S))
        return Purge(
            "trim of the whole export", is_purge=True, note="what a trim erases is up to the server"
        )

    def place(self) -> Place:
        """Return the export, if it is still there with its size."""
        if negotiate(self.address) != self.export:
            raise TargetError(f"{self.name}: the export is another one than at the start")
        options = (("uri", self.address.uri),)
        return Place("nbd", options, self.capacity_bytes, self.sector_bytes)


def parse_address(uri: str) -> Address:
    """Read an address.

    Raises:
        TargetError: with the two forms that are accepted.
    """
    wanted = "accepted: nbd+unix:///EXPORT?socket=PATH and nbd://HOST[:PORT]/EXPORT"
    if re.search(r"[\s$]", uri):
        raise TargetError(f"{uri!r}: spaces and `$` must be written as %20 and %24; {wanted}")
    try:
        parts = urlsplit(uri)
        port = parts.port or PORT
    except ValueError as error:
        raise TargetError(f"{uri}: {error}; {wanted}") from error
    export = unquote(parts.path.removeprefix("/"))
    if parts.scheme == "nbd+unix":
        sockets = parse_qs(parts.query).get("socket", [])
        if len(sockets) != 1 or parts.netloc:
            raise TargetError(f"{uri}: names no socket; {wanted}")
        return Address(uri, export, sockets[0])
    if parts.scheme == "nbd" and parts.hostname:
        return Address(uri, export, None, parts.hostname, port)
    raise TargetError(f"{uri}: is no address of an export; {wanted}")


def negotiate(address: Address) -> Export:
    """Ask a server for an export, and leave.

    Raises:
        TargetError: when it cannot be reached, is no NBD server, or has no such export.
    """
    try:
        with _connected(address) as link:
            return _asked(link, address.export)
    except (OSError, EOFError, struct.error) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise TargetError(f"{address.uri}: {reason}") from error


@contextmanager
def _connected(address: Address) -> Iterator[socket.socket]:
    if address.socket is None:
        link = socket.create_connection((address.host, address.port), ANSWER_S)
    else:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with link:
        link.settimeout(ANSWER_S)
        if address.socket is not None:
            link.connect(address.socket)
        yield link


def _asked(link: socket.socket, export: str) -> Export:
    """Hold the negotiation."""
    if _take(link, 16) != HELLO + OPTION:
        raise EOFError("what answers there is no NBD server of the newstyle")
    (offered,) = struct.unpack(">H", _take(link, 2))
    link.sendall(struct.pack(">I", offered & (FIXED_NEWSTYLE | NO_ZEROES)))
    name = export.encode()
    if offered & FIXED_NEWSTYLE:
        wish = struct.pack(">I", len(name)) + name + struct.pack(">HH", 1, INFO_BLOCK_SIZE)
        link.sendall(OPTION + struct.pack(">II", INFO, len(wish)) + wish)
        found = _info(link, export)
        if found is not None:
            with suppress(OSError):  # the server may have gone by now
                link.sendall(OPTION + struct.pack(">II", ABORT, 0))
            return found
    link.sendall(OPTION + struct.pack(">II", EXPORT_NAME, len(name)) + name)
    try:
        size, flags = struct.unpack(">QH", _take(link, 10))
    except EOFError as error:
        raise EOFError(f"the server has no export {export!r}") from error
    if not offered & NO_ZEROES:
        _take(link, 124)
    with suppress(OSError):
        link.sendall(struct.pack(">IHHQQI", REQUEST, 0, DISCONNECT, 0, 0, 0))
    return Export(size, flags)


def _info(link: socket.socket, export: str) -> Export | None:
    """Read the replies to NBD_OPT_INFO; None when the server does not know it."""
    size = flags = 0
    block = 1
    while True:
        magic, option, kind, length = struct.unpack(">QIII", _take(link, 20))
        if magic != OPTION_REPLY or option != INFO or length > REPLY_BYTES_MAX:
            raise EOFError("the server's answer is none of the protocol")
        data = _take(link, length)
        if kind == ACK:
            return Export(size, flags, block)
        if kind == INFO_REPLY and length >= 2:
            (what,) = struct.unpack(">H", data[:2])
            if what == INFO_EXPORT:
                size, flags = struct.unpack(">QH", data[2:])
            elif what == INFO_BLOCK_SIZE:
                block = struct.unpack(">III", data[2:])[0]
        elif kind == UNSUPPORTED:
            return None
        elif kind == UNKNOWN:
            raise EOFError(f"the server has no export {export!r}")
        elif kind >= FIRST_ERROR:
            said = data.decode("utf-8", errors="replace")[:200]
            raise EOFError(
                f"the server refuses export {export!r}: error {kind - FIRST_ERROR} {said}"
            )


def _take(link: socket.socket, count: int) -> bytes:
    """Read exactly so many bytes."""
    parts = bytearray()
    while len(parts) < count:
        part = link.recv(count - len(parts))
        if not part:
            raise EOFError("the server closed the connection")
        parts += part
    return bytes(parts)
