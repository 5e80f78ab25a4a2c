"""NVMe over TCP as far as we speak it: a host of one namespace, without kernel and privileges.

```text
ICReq ─► Connect of queue 0 ─► enable ─► identify ─► Connect of queue 1 ─► read, write, flush, trim
```
A queue is a connection, and has one command at a time; a link is an association of two queues, and
belongs to one thread. Data that fits goes in the capsule, else when the controller asks for it.

Source: NVM Express TCP Transport Specification 1.0, section 3; NVM Express Base Specification 2.0,
sections 3.1 (properties), 5 (admin commands), 6 (fabrics); NVM Command Set Specification 1.0.
"""

from __future__ import annotations

import re
import socket
import struct
import time
import uuid
from contextlib import ExitStack
from dataclasses import dataclass
from errno import EBUSY, ECONNRESET, EINVAL, EIO, EPROTO
from typing import Final
from urllib.parse import urlsplit

from opennandlab.targets.base import TargetError
from opennandlab.targets.nbd_wire import HOST, AnswerError

SCHEME: Final = "nvme+tcp://"
ANSWER_S: Final = 10.0
PORT: Final = 4420
POLL_S: Final = 0.01
# Types of PDUs.
ASKS, ASKED, COMMAND, COMPLETION, TO_DRIVE, TO_HOST, READY = 0, 1, 4, 5, 6, 7, 9
IS_LAST, IS_SUCCESS = 4, 8
PDU_BYTES_MAX: Final = 1 << 24
HEAD: Final = struct.Struct("<BBBBI")
INITIALIZE: Final = struct.Struct("<BBBBIHBBI112x")
DATA: Final = struct.Struct("<HHII4x")
# Opcode, descriptor of data, number, namespace (of fabrics the type), length and place of the data,
# and dwords 10 to 15.
ENTRY: Final = struct.Struct("<BBHI24xI3xB24s")
SGL: Final = 0x40
IN_CAPSULE, BY_TRANSPORT = 0x01, 0x5A
FABRICS, IDENTIFY, GET_LOG = 0x7F, 0x06, 0x02
PROPERTY_SET, CONNECT, PROPERTY_GET = 0, 1, 4
WRITE, READ, FLUSH, MANAGE = 0x01, 0x02, 0x00, 0x09
FORCED: Final = 1 << 30
DEALLOCATE: Final = 1 << 2
CONFIGURATION, STATUS = 0x14, 0x1C
# Entries of 64 and 16 bytes, pages of 4 KiB, the NVM command set, enabled.
ENABLED: Final = 6 << 16 | 4 << 20 | 1
SHUTS_DOWN: Final = 1 << 14
IS_READY: Final = 1
SHUTDOWN: Final = 3 << 2
SHUT_DOWN: Final = 2 << 2
DYNAMIC: Final = 0xFFFF
ENTRIES: Final = 32
NAMESPACE: Final = 1
EVERY_NAMESPACE: Final = 0xFFFF_FFFF
HEALTH: Final = 2
# Data that fits into a capsule of the admin queue, and into any page of a log or of identify.
ADMIN_BYTES: Final = 8192
PAGE_BYTES: Final = 4096
BUSY: Final = 0x181
STATUS_BITS: Final = 0x7FF


@dataclass(frozen=True)
class Address:
    """Where a subsystem is.

    Args:
        uri: As the user gave it.
        host: Name or address.
        port: Its port.
        nqn: Qualified name of the subsystem.
    """

    uri: str
    host: str
    port: int
    nqn: str


def parse_address(uri: str) -> Address:
    """Read an address, as `serve --nvme` prints it.

    Raises:
        TargetError: with the form that is accepted.

    >>> parse_address("nvme+tcp://127.0.0.1:4420/nqn.2014-08.org.example:a").nqn
    'nqn.2014-08.org.example:a'
    """
    wanted = f"accepted: {SCHEME}HOST[:PORT]/NQN"
    try:
        parts = urlsplit(uri)
        port = parts.port or PORT
    except ValueError as error:
        raise TargetError(f"{uri!a}: {error}; {wanted}") from error
    host, nqn = parts.hostname or "", uri.partition("://")[2].partition("/")[2]
    if not (uri.startswith(SCHEME) and HOST.fullmatch(host) and re.fullmatch(r"nqn\.[!-~]+", nqn)):
        raise TargetError(f"{uri!a}: this is not the address of a subsystem; {wanted}")
    return Address(uri, host, port, nqn)


class Queue:
    """A connection that is a queue.

    Args:
        address: Of the subsystem.
        number: 0 is the queue of the administrator.
        controller: Whose queue it is; `DYNAMIC` makes one.
        host_id: Who asks; the same for all queues of an association.

    Raises:
        OSError: when it cannot be reached, refuses or leaves the protocol; calls raise it too.
    """

    def __init__(
        self, address: Address, number: int, controller: int = DYNAMIC, host_id: bytes = bytes(16)
    ) -> None:
        """Connect."""
        self.capsule_bytes = ADMIN_BYTES
        self._number = 0
        self._socket = socket.create_connection((address.host, address.port), ANSWER_S)
        with ExitStack() as stack:
            stack.callback(self._socket.close)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.sendall(INITIALIZE.pack(ASKS, 0, 128, 0, 128, 0, 0, 0, 0))
            kind, _, rest = self._pdu()
            if kind != ASKED or len(rest) != INITIALIZE.size - HEAD.size:
                raise OSError(EPROTO, "what answers there is not a controller of NVMe over TCP")
            self._part_bytes = max(PAGE_BYTES, struct.unpack_from("<I", rest, 4)[0])
            name = f"nqn.2014-08.org.nvmexpress:uuid:{uuid.UUID(bytes=host_id)}"
            names = (address.nqn.encode(), name.encode())
            data = struct.pack("<16sH238x256s256s256x", host_id, controller, *names)
            words = struct.pack("<HHH18x", 0, number, ENTRIES - 1)
            self.controller = self.ask(FABRICS, CONNECT, words, data)[0] & 0xFFFF
            stack.pop_all()

    def ask(
        self, opcode: int, namespace: int, words: bytes = b"", data: bytes = b"", wanted: int = 0
    ) -> tuple[int, bytes]:
        """Carry out a command.

        Args:
            opcode: Its opcode.
            namespace: Its namespace; of fabrics the type of the command.
            words: Dwords from 10 on, little endian.
            data: To the controller.
            wanted: Bytes that come from it.

        Returns:
            The first two dwords of the completion, and the data.

        Raises:
            AnswerError: when the controller answers with an error.
            OSError: when the connection ends.
        """
        self._number = (self._number + 1) & 0x7FFF
        inside = data if len(data) <= self.capsule_bytes else b""
        place = IN_CAPSULE if inside else BY_TRANSPORT
        entry = ENTRY.pack(opcode, SGL, self._number, namespace, len(data) or wanted, place, words)
        head = HEAD.pack(COMMAND, 0, 72, 72 if inside else 0, 72 + len(inside))
        self._socket.sendall(head + entry + inside)
        try:
            return self._answer(data, bytearray(wanted))
        except (struct.error, ValueError) as error:
            raise OSError(EPROTO, f"the controller leaves the protocol: {error}") from error

    def _answer(self, data: bytes, found: bytearray) -> tuple[int, bytes]:
        while True:
            kind, flags, rest = self._pdu()
            if kind == COMPLETION:
                first, number, field = struct.unpack("<Q4xHH", rest)
                self._check(number)
                status = field >> 1 & STATUS_BITS
                if status:
                    raise AnswerError(EBUSY if status == BUSY else EIO, _said(status))
                return first, bytes(found)
            number, tag, offset, length = DATA.unpack_from(rest)
            self._check(number)
            if kind == READY:
                self._send(tag, offset, data[offset : offset + length])
            elif kind == TO_HOST:
                part = rest[DATA.size :]
                if len(part) != length or offset + length > len(found):
                    raise ValueError(f"{len(part)} bytes for {length} at {offset}")
                found[offset : offset + length] = part
                if flags & IS_SUCCESS:
                    return 0, bytes(found)
            else:
                raise ValueError(f"a PDU of type {kind}")

    def _check(self, number: int) -> None:
        if number != self._number:
            raise ValueError(f"a reply to command {number}, which was not sent")

    def _send(self, tag: int, offset: int, data: bytes) -> None:
        """Send the data that the controller is ready for."""
        for first in range(0, len(data), self._part_bytes):
            part = data[first : first + self._part_bytes]
            flags = IS_LAST if first + len(part) == len(data) else 0
            head = HEAD.pack(TO_DRIVE, flags, 24, 24, 24 + len(part))
            place = DATA.pack(self._number, tag, offset + first, len(part))
            self._socket.sendall(head + place + part)

    def _pdu(self) -> tuple[int, int, bytes]:
        """Return type and flags of the next PDU, and the bytes behind its first 8."""
        kind, flags, _, _, length = HEAD.unpack(self._take(HEAD.size))
        if not HEAD.size <= length <= PDU_BYTES_MAX:
            raise OSError(EPROTO, f"a PDU of {length} bytes")
        return kind, flags, self._take(length - HEAD.size)

    def _take(self, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            part = self._socket.recv(min(count - len(parts), 1 << 20))
            if not part:
                raise ConnectionResetError(ECONNRESET, "the controller closed the connection")
            parts += part
        return bytes(parts)

    def close(self) -> None:
        """Leave."""
        self._socket.close()


def _said(status: int) -> str:
    return f"the drive answers with status {status >> 8}/{status & 0xFF:02x}h"


class Link:
    """An association with a drive: its facts, and one request at a time.

    Args:
        address: Of the subsystem.

    Raises:
        OSError: when it cannot be reached, refuses or leaves the protocol; calls raise it too.
    """

    def __init__(self, address: Address) -> None:
        """Connect, and enable the controller."""
        host = uuid.uuid4().bytes
        with ExitStack() as stack:
            self._admin = Queue(address, 0, host_id=host)
            stack.callback(self._admin.close)
            self._configure(ENABLED)
            self._await(IS_READY, IS_READY)
            about = self._identify(1, 0)
            self.serial, self.model, self.firmware = (
                about[first:end].decode("ascii", "replace").strip()
                for first, end in ((4, 24), (24, 64), (64, 72))
            )
            shift, self._in_capsule = about[77], struct.unpack_from("<I", about, 1792)[0] * 16 - 64
            self.has_cache, self.can_trim = bool(about[525] & 1), bool(about[520] & 4)
            self.transfer_bytes = PAGE_BYTES << min(shift, 8) if shift else PAGE_BYTES << 8
            found = self._identify(0, NAMESPACE)
            blocks, form = int.from_bytes(found[:8], "little"), found[26] & 15
            self.block_bytes = 1 << found[128 + 4 * form + 2]
            self.size_bytes, self.is_read_only = blocks * self.block_bytes, bool(found[99] & 1)
            self._queue = Queue(address, 1, self._admin.controller, host)
            self._queue.capsule_bytes = self._in_capsule
            stack.callback(self._queue.close)
            self._stack = stack.pop_all()

    def read(self, offset: int, length: int) -> bytes:
        """Read bytes."""
        found = bytearray()
        for first in range(0, length, self.transfer_bytes):
            count = min(length - first, self.transfer_bytes)
            found += self._queue.ask(
                READ, NAMESPACE, self._range(offset + first, count), wanted=count
            )[1]
        return bytes(found)

    def write(self, offset: int, data: bytes, *, is_forced: bool = False) -> None:
        """Write bytes; forced ones are durable when the drive has answered."""
        for first in range(0, len(data), self.transfer_bytes):
            part = data[first : first + self.transfer_bytes]
            words = self._range(offset + first, len(part), FORCED if is_forced else 0)
            self._queue.ask(WRITE, NAMESPACE, words, part)

    def trim(self, offset: int, length: int) -> None:
        """Trim bytes."""
        first, count = self._blocks(offset, length)
        part = struct.pack("<IIQ", 0, count, first)
        self._queue.ask(MANAGE, NAMESPACE, struct.pack("<II16x", 0, DEALLOCATE), part)

    def flush(self) -> None:
        """Make durable acknowledged writes."""
        self._queue.ask(FLUSH, NAMESPACE, bytes(24))

    def log(self, page: int, length: int, namespace: int = EVERY_NAMESPACE) -> bytes:
        """Return the first bytes of a log."""
        words = struct.pack("<I20x", page | (length // 4 - 1) << 16)
        return self._admin.ask(GET_LOG, namespace, words, wanted=length)[1]

    def unsafe_shutdowns(self) -> int:
        """Return how often the drive has lost its power, by its log of health."""
        return int.from_bytes(self.log(HEALTH, 512)[144:160], "little")

    def shut_down(self) -> None:
        """Announce that power goes away, and wait until the drive allows it."""
        self._configure(ENABLED | SHUTS_DOWN)
        self._await(SHUTDOWN, SHUT_DOWN)

    def close(self) -> None:
        """Leave."""
        self._stack.close()

    def _configure(self, value: int) -> None:
        self._admin.ask(FABRICS, PROPERTY_SET, struct.pack("<IIQ8x", 0, CONFIGURATION, value))

    def _await(self, mask: int, value: int) -> None:
        deadline = time.monotonic() + ANSWER_S
        words = struct.pack("<II16x", 0, STATUS)
        while self._admin.ask(FABRICS, PROPERTY_GET, words)[0] & mask != value:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the controller is not ready within {ANSWER_S:g} s")
            time.sleep(POLL_S)

    def _identify(self, kind: int, namespace: int) -> bytes:
        words = struct.pack("<I20x", kind)
        return self._admin.ask(IDENTIFY, namespace, words, wanted=PAGE_BYTES)[1]

    def _blocks(self, offset: int, length: int) -> tuple[int, int]:
        if offset % self.block_bytes or length % self.block_bytes:
            raise OSError(EINVAL, f"{length} bytes at {offset}: blocks have {self.block_bytes}")
        return offset // self.block_bytes, length // self.block_bytes

    def _range(self, offset: int, length: int, flags: int = 0) -> bytes:
        first, count = self._blocks(offset, length)
        return struct.pack("<QI12x", first, count - 1 | flags)


def patient(address: Address) -> Link:
    """Return a link; while all controllers are taken, wait: hosts that left are noticed soon.

    Raises:
        OSError: as for a link.
    """
    deadline = time.monotonic() + ANSWER_S
    while True:
        try:
            return Link(address)
        except AnswerError as error:
            if error.errno != EBUSY or time.monotonic() > deadline:
                raise
        time.sleep(POLL_S)
