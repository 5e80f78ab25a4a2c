"""The protocol of NBD as far as we speak it: addresses, the handshake, one sector.

Size, block size and abilities come from a handshake (fixed newstyle, NBD_OPT_INFO, and
NBD_OPT_EXPORT_NAME for servers that do not know it). `ExportSector` enters the transmission phase
to read and write the first sector.

Source: the NBD protocol document of the NetworkBlockDevice project, sections "Newstyle
negotiation", "Option types", "Transmission flags" and "Request types".
"""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import parse_qs, quote, unquote, urlsplit

from opennandlab.targets.base import TargetError
from opennandlab.targets.fio.marker import Sector
from opennandlab.targets.names import printable

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
READ, WRITE, FLUSH, TRIM = 0, 1, 3, 4
# Flag of a request: done only when it is durable.
FUA = 1
SIMPLE_REPLY = 0x67446698
# A name, an address of IPv4, or one of IPv6 without a zone.
HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")


class AnswerError(OSError):
    """A request that the server answered with an error; the connection stays."""


@dataclass(frozen=True)
class Address:
    """Where an export is.

    Args:
        uri: As the user gave it.
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

    def plain_uri(self, socket_name: str) -> str:
        """Return the address made of safe letters, with a link of this name for the socket."""
        export = quote(self.export, safe="")
        if self.socket is not None:
            return f"nbd+unix:///{export}?socket={socket_name}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"nbd://{host}:{self.port}/{export}"


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
    def can_flush(self) -> bool:
        """Transmission flag 2."""
        return bool(self.flags & 1 << 2)

    @property
    def can_trim(self) -> bool:
        """Transmission flag 5."""
        return bool(self.flags & 1 << 5)


def parse_address(uri: str) -> Address:
    """Read an address.

    Raises:
        TargetError: with the two forms that are accepted.
    """
    wanted = "accepted: nbd+unix:///EXPORT?socket=PATH and nbd://HOST[:PORT]/EXPORT"
    if not uri.isprintable() or set(uri) & set(" $#;"):
        raise TargetError(
            f"{uri!a}: spaces, `$`, `#`, `;` and marks that cannot be printed are written as "
            f"%20, %24, %23, %3B …; {wanted}"
        )
    try:
        parts = urlsplit(uri)
        port = parts.port or PORT
        export = unquote(parts.path.removeprefix("/"), errors="strict")
        sockets = parse_qs(parts.query, errors="strict").get("socket", [])
    except ValueError as error:
        raise TargetError(f"{uri}: {error}; {wanted}") from error
    if not "".join([export, *sockets]).isprintable():
        raise TargetError(f"{uri}: control characters cannot be used; {wanted}")
    if parts.scheme == "nbd+unix":
        if len(sockets) != 1 or parts.netloc:
            raise TargetError(f"{uri}: names no socket; {wanted}")
        return Address(uri, export, sockets[0])
    host = parts.hostname or ""
    if parts.scheme == "nbd" and HOST.fullmatch(host):
        return Address(uri, export, None, host, port)
    raise TargetError(f"{uri}: this is not the address of an export; {wanted}")


def negotiate(address: Address) -> Export:
    """Ask a server for an export, and leave.

    Raises:
        TargetError: when it cannot be reached, is not an NBD server, or has no such export.
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
    offered = _greeted(link)
    name = export.encode()
    if offered & FIXED_NEWSTYLE:
        wish = struct.pack(">I", len(name)) + name + struct.pack(">HH", 1, INFO_BLOCK_SIZE)
        link.sendall(OPTION + struct.pack(">II", INFO, len(wish)) + wish)
        found = _info(link, export)
        if found is not None:
            with suppress(OSError):  # the server may have gone by now
                link.sendall(OPTION + struct.pack(">II", ABORT, 0))
            return found
    found = _entered(link, export, offered)
    with suppress(OSError):
        link.sendall(_request(DISCONNECT, 0))
    return found


def _greeted(link: socket.socket) -> int:
    """Take the server's greeting and answer it; return what it offers."""
    if _take(link, 16) != HELLO + OPTION:
        raise EOFError("what answers there is not an NBD server of the newstyle")
    offered: int = struct.unpack(">H", _take(link, 2))[0]
    link.sendall(struct.pack(">I", offered & (FIXED_NEWSTYLE | NO_ZEROES)))
    return offered


def _entered(link: socket.socket, export: str, offered: int) -> Export:
    """Enter the transmission phase."""
    name = export.encode()
    link.sendall(OPTION + struct.pack(">II", EXPORT_NAME, len(name)) + name)
    try:
        size, flags = struct.unpack(">QH", _take(link, 10))
    except EOFError as error:
        raise EOFError(f"the server has no export {export!r}") from error
    if not offered & NO_ZEROES:
        _take(link, 124)
    return Export(size, flags)


class Link:
    """A connection to an export, for one request at a time; it belongs to one thread.

    Args:
        address: Address of the export.

    Raises:
        OSError: when it cannot be reached, or leaves the protocol; calls raise it too.
    """

    def __init__(self, address: Address) -> None:
        """Connect, and enter the transmission phase."""
        with ExitStack() as stack:
            try:
                self._link = stack.enter_context(_connected(address))
                self.export = _entered(self._link, address.export, _greeted(self._link))
            except (EOFError, struct.error) as error:
                raise OSError(5, str(error)) from error
            self._stack = stack.pop_all()

    def read(self, offset: int, length: int) -> bytes:
        """Read bytes."""
        self._ask(READ, length, offset)
        return self._taken(length)

    def write(self, offset: int, data: bytes, *, is_forced: bool = False) -> None:
        """Write bytes; forced ones are durable when the server has answered."""
        self._ask(WRITE, len(data), offset, data, FUA if is_forced else 0)

    def trim(self, offset: int, length: int) -> None:
        """Trim bytes."""
        self._ask(TRIM, length, offset)

    def flush(self) -> None:
        """Make durable what was acknowledged."""
        self._ask(FLUSH, 0, 0)

    def close(self) -> None:
        """Leave."""
        with suppress(OSError):
            self._link.sendall(_request(DISCONNECT, 0))
        self._stack.close()

    def _ask(self, kind: int, length: int, offset: int, data: bytes = b"", flags: int = 0) -> None:
        head = struct.pack(">IHHQQI", REQUEST, flags, kind, 0, offset, length)
        try:
            _call(self._link, head + data)
        except EOFError as error:
            raise OSError(5, str(error)) from error

    def _taken(self, length: int) -> bytes:
        try:
            return _take(self._link, length)
        except EOFError as error:
            raise OSError(5, str(error)) from error


class ExportSector(Sector):
    """The first sector of an export, through a connection for each access.

    Args:
        address: Where the export is.
        size_bytes: Length of the sector.
    """

    def __init__(self, address: Address, size_bytes: int) -> None:
        """Know the address."""
        super().__init__(size_bytes)
        self._address = address

    def read(self) -> bytes:
        """See `Sector`."""
        with self._transmission() as (link, _):
            _call(link, _request(READ, self.size_bytes))
            return _take(link, self.size_bytes)

    def write(self, content: bytes) -> None:
        """See `Sector`."""
        with self._transmission() as (link, export):
            _call(link, _request(WRITE, len(content)) + content)
            if export.can_flush:
                _call(link, _request(FLUSH, 0))

    def pieces(self, offsets: Sequence[int], size_bytes: int) -> Iterator[bytes]:
        """See `Sector`."""
        with self._transmission() as (link, _):
            for offset in offsets:
                _call(link, _request(READ, size_bytes, offset))
                yield _take(link, size_bytes)

    def trim(self, offset: int, length: int) -> None:
        """Trim bytes anywhere in the export.

        Raises:
            OSError: with what the server answers.
        """
        with self._transmission() as (link, _):
            _call(link, _request(TRIM, length, offset))

    @contextmanager
    def _transmission(self) -> Iterator[tuple[socket.socket, Export]]:
        try:
            with _connected(self._address) as link:
                offered = _greeted(link)
                export = _entered(link, self._address.export, offered)
                yield link, export
                with suppress(OSError):
                    link.sendall(_request(DISCONNECT, 0))
        except (EOFError, struct.error) as error:
            raise OSError(5, str(error)) from error


def _request(kind: int, length: int, offset: int = 0) -> bytes:
    """Return the head of a request."""
    return struct.pack(">IHHQQI", REQUEST, 0, kind, 0, offset, length)


def _call(link: socket.socket, request: bytes) -> None:
    """Send a request and take the head of its reply."""
    link.sendall(request)
    magic, error, _cookie = struct.unpack(">IIQ", _take(link, 16))
    if magic != SIMPLE_REPLY:
        raise EOFError("the server's reply does not follow the protocol")
    if error:
        raise AnswerError(error, f"the server answers with error {error}")


def _info(link: socket.socket, export: str) -> Export | None:
    """Read the replies to NBD_OPT_INFO; None when the server does not know it."""
    size = flags = 0
    block = 1
    while True:
        magic, option, kind, length = struct.unpack(">QIII", _take(link, 20))
        if magic != OPTION_REPLY or option != INFO or length > REPLY_BYTES_MAX:
            raise EOFError("the server's answer does not follow the protocol")
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
            said = printable(data.decode("utf-8", errors="replace")[:200])
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
