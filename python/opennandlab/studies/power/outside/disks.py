"""Disks that can be written from several sides at once: exports of NBD, NVMe over TCP, devices.

A link belongs to one thread. When the power goes, its calls end with an `OSError`; what was under
way is then open, and nobody is told more.
"""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from opennandlab.base.errors import ConfigError
from opennandlab.targets import nvme_wire
from opennandlab.targets.base import TargetError
from opennandlab.targets.block import Block
from opennandlab.targets.consent import Consent
from opennandlab.targets.device import BLKDISCARD
from opennandlab.targets.nbd_wire import Link as NbdLink
from opennandlab.targets.nbd_wire import negotiate, parse_address
from opennandlab.targets.opening import Request
from opennandlab.targets.probe import Probe
from opennandlab.targets.safety import check, known_block

REQUEST_BYTES_MAX: Final = 1 << 20


class Link(Protocol):
    """A connection to a disk."""

    def read(self, offset: int, length: int) -> bytes:
        """Read bytes.

        Raises:
            OSError: what the disk says.
        """

    def write(self, offset: int, data: bytes, *, is_forced: bool = False) -> None:
        """Write bytes; forced ones are on the flash when this returns.

        Raises:
            OSError: what the disk says.
        """

    def trim(self, offset: int, length: int) -> None:
        """Trim bytes.

        Raises:
            OSError: what the disk says.
        """

    def flush(self) -> None:
        """Make durable what was acknowledged.

        Raises:
            OSError: what the disk says.
        """

    def close(self) -> None:
        """End the connection."""


class Disk(Protocol):
    """A disk that may lose its power."""

    name: str
    can_trim: bool
    # What was not answered when the power went, a host sends again.
    resends: bool

    def connect(self) -> Link:
        """Return a new connection.

        Raises:
            OSError: when there is none.
            TargetError: when another disk is there.
        """

    def capacity_bytes(self) -> int:
        """Return the present size of the disk.

        Raises:
            OSError: when it does not answer.
            TargetError: when another disk is there.
        """

    def unsafe_shutdowns(self) -> int | None:
        """Return how often the drive states that it has lost its power; None where it does not say.

        Raises:
            OSError: when it does not answer.
        """

    def facts(self) -> dict[str, object]:
        """Return the facts of the device."""


class NbdDisk:
    """An export of an NBD server.

    Args:
        uri: `nbd+unix:///EXPORT?socket=PATH` or `nbd://HOST[:PORT]/EXPORT`.
        consent: Its contents are lost, which needs consent.

    Raises:
        TargetError: when it cannot be reached, written, or may not be.
    """

    resends = False

    def __init__(self, uri: str, consent: Consent) -> None:
        """Ask the server."""
        self.name = uri
        self._address = parse_address(uri)
        export = negotiate(self._address)
        if export.is_read_only:
            raise TargetError(f"{uri}: the export is read-only")
        if not export.can_flush:
            raise TargetError(
                f"{uri}: the server accepts no flushes, so the drive can promise nothing"
            )
        if not consent.destructive:
            raise TargetError(f"{uri}: all its data would be lost: --destructive allows that")
        self.can_trim = export.can_trim
        self._size = export.size_bytes

    def connect(self) -> Link:
        """Return a new connection."""
        return NbdLink(self._address)

    def capacity_bytes(self) -> int:
        """Return its size, as the server says now."""
        link = NbdLink(self._address)
        link.close()
        return link.export.size_bytes

    def unsafe_shutdowns(self) -> None:
        """NBD has no logs."""

    def facts(self) -> dict[str, object]:
        """Return the facts that the server states."""
        return {"target": self.name, "interface": "nbd", "capacity_bytes": self._size}


class NvmeDisk:
    """A namespace of NVMe over TCP.

    Args:
        uri: `nvme+tcp://HOST[:PORT]/NQN`.
        consent: Its contents are lost, which needs consent.

    Raises:
        TargetError: when it cannot be reached, written, or may not be.
    """

    resends = True

    def __init__(self, uri: str, consent: Consent) -> None:
        """Ask the drive."""
        self.name = uri
        self._address = nvme_wire.parse_address(uri)
        try:
            link = self.connect()
        except OSError as error:
            raise TargetError(f"{uri}: {error.strerror or error}") from error
        link.close()
        if link.is_read_only:
            raise TargetError(f"{uri}: the namespace is write protected")
        if not consent.destructive:
            raise TargetError(f"{uri}: all its data would be lost: --destructive allows that")
        self._first, self.can_trim = link, link.can_trim

    def connect(self) -> nvme_wire.Link:
        """Return a new association."""
        return nvme_wire.patient(self._address)

    def capacity_bytes(self) -> int:
        """Return its size, as the drive says now."""
        link = self.connect()
        link.close()
        if (link.serial, link.model) != (self._first.serial, self._first.model):
            raise TargetError(f"{self.name}: this is another drive than before")
        return link.size_bytes

    def unsafe_shutdowns(self) -> int:
        """Return what its log of health says."""
        link = self.connect()
        try:
            return link.unsafe_shutdowns()
        finally:
            link.close()

    def facts(self) -> dict[str, object]:
        """Return what the drive says of itself; of the serial number a hash."""
        link = self._first
        return {
            "target": self.name,
            "interface": "nvme-tcp",
            "model": link.model,
            "firmware": link.firmware,
            "serial_sha256": hashlib.sha256(link.serial.encode()).hexdigest(),
            "capacity_bytes": link.size_bytes,
        }


class DeviceDisk:
    """A whole block device, after the checks of the standard tests.

    Args:
        path: Such as `/dev/nvme0n1`.
        consent: What may be lost, and which device is meant.
        probe: What is asked about the system.

    Raises:
        TargetError: with every objection.
    """

    # The kernel does, where the transport of the device states this.
    resends = False

    def __init__(self, path: str, consent: Consent, probe: Probe | None = None) -> None:
        """Pass the gate."""
        self.name = path
        self._probe = probe or Probe()
        self._block = known_block(path, self._probe)
        check(self._block, consent, self._probe)
        queue = self._probe.text(f"/sys/class/block/{self._block.name}/queue/discard_max_bytes")
        self.can_trim = bool(queue and queue != "0")

    def connect(self) -> Link:
        """Open the device, if it is the one that was checked."""
        self._same()
        return DeviceLink(Path(self._block.node))

    def capacity_bytes(self) -> int:
        """Return its size, as the kernel says now."""
        return self._same().size_bytes

    def unsafe_shutdowns(self) -> None:
        """Its logs are not read."""

    def facts(self) -> dict[str, object]:
        """Return what is known of it; of the serial number a hash."""
        block = self._block
        return {
            "target": self.name,
            "interface": block.transport,
            "model": block.model,
            "firmware": block.firmware,
            "serial_sha256": block.serial_sha256,
            "capacity_bytes": block.size_bytes,
        }

    def _same(self) -> Block:
        """Return the device that is there now, if it is the one that was checked."""
        try:
            found = known_block(self.name, self._probe)
        except TargetError as error:
            raise OSError(6, str(error)) from error
        if (found.serial, found.model) != (self._block.serial, self._block.model):
            raise TargetError(f"{self.name}: this is another drive than the one that was named")
        return found


class DeviceLink:
    """A block device, opened past the cache of the kernel.

    Args:
        path: Path of the device.

    Raises:
        OSError: when it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        """Open it."""
        self._handle = os.open(path, os.O_RDWR | os.O_DIRECT | os.O_CLOEXEC)
        # Direct requests need memory at the border of a page.
        self._memory = mmap.mmap(-1, REQUEST_BYTES_MAX)

    def read(self, offset: int, length: int) -> bytes:
        """Read bytes."""
        found = bytearray()
        while len(found) < length:
            part = min(length - len(found), REQUEST_BYTES_MAX)
            count = os.preadv(self._handle, [memoryview(self._memory)[:part]], offset + len(found))
            if count <= 0:
                raise OSError(5, "the device ends early")
            found += self._memory[:count]
        return bytes(found)

    def write(self, offset: int, data: bytes, *, is_forced: bool = False) -> None:
        """Write bytes."""
        self._memory[: len(data)] = data
        flags = os.RWF_DSYNC if is_forced else 0
        view = memoryview(self._memory)[: len(data)]
        if os.pwritev(self._handle, [view], offset, flags) < len(data):
            raise OSError(5, "the device accepted only a part")

    def trim(self, offset: int, length: int) -> None:
        """Trim bytes."""
        fcntl.ioctl(self._handle, BLKDISCARD, struct.pack("=QQ", offset, length))

    def flush(self) -> None:
        """Make durable what was acknowledged: the kernel sends a flush to the device."""
        os.fsync(self._handle)

    def close(self) -> None:
        """Close it."""
        with suppress(OSError):
            os.close(self._handle)


def opened(text: str, consent: Consent) -> Disk:
    """Return the disk of a target.

    Raises:
        ConfigError: for a text that is neither a device nor an export.
        TargetError: when it is refused, and why.
    """
    if text.startswith(nvme_wire.SCHEME):
        return NvmeDisk(text, consent)
    kind = Request(text).kind
    if kind == "device":
        return DeviceDisk(text, consent)
    if kind == "nbd":
        return NbdDisk(text, consent)
    accepted = (
        "accepted: /dev/…, nbd+unix:///EXPORT?socket=PATH, nbd://HOST[:PORT]/EXPORT, "
        "nvme+tcp://HOST[:PORT]/NQN"
    )
    raise ConfigError("--target", f"the power of `{text}` cannot be cut; {accepted}")
