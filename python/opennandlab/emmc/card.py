"""A simulated card as a host controller sees it, and the sequences that every driver has."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opennandlab import _core
from opennandlab.emmc import registers as at
from opennandlab.emmc.registers import SECTOR

if TYPE_CHECKING:
    from opennandlab.core.config import DeviceConfig

# The address that the host gives the card, in bits 31 to 16 of arguments.
RCA = 1 << 16
# Voltages of a host of 3.3 V, and access by sectors.
OCR = 0x40FF8080
SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class Answer:
    """What a card answered to a command.

    Args:
        response: R1 or OCR as a number, CID or CSD as bytes; None where there is none.
        data: What came on the data lines.
        busy_ns: From the command until the card was ready, in nanoseconds.
    """

    response: int | bytes | None
    data: bytes = b""
    busy_ns: int = 0

    @property
    def status(self) -> int:
        """R1; 0 where the card did not answer with it."""
        return self.response if isinstance(self.response, int) else 0

    @property
    def errors(self) -> str:
        """The names of the bits that are set, `none`, or `no response`."""
        return "no response" if self.response is None else at.errors_of(self.status)

    @property
    def state(self) -> str:
        """The state in which the command came."""
        return "no response" if self.response is None else at.state_of(self.status)


def pattern(sector: int, count: int = 1, tag: object = "") -> bytes:
    """Return the data of sectors that can be distinguished from all others.

    >>> len(pattern(7, 2)), pattern(7) == pattern(8), pattern(7, tag=1) == pattern(7)
    (1024, False, False)
    """
    texts = (f"{tag}:{place}".encode() for place in range(sector, sector + count))
    return b"".join(hashlib.sha256(text).digest() * (SECTOR // 32) for text in texts)


class Card:
    """A card of a simulated drive, as new.

    Args:
        device: The drive.
        seed: Seed of its randomness, and serial number of the card.
        options: `standard` (`4.51`, `5.0`, `5.1`), `hpi` (`cmd12`, `cmd13`), `cache_kib`,
            `user_bytes_max`, `boot_size_mult`, `rpmb_size_mult`, `bkops_kib`, `rpmb_counter`.

    Raises:
        ConfigError: for a drive that cannot be an eMMC, and for options that are not valid.

    >>> import opennandlab as onl
    >>> card = Card(onl.load_device("emmc_16gb"))
    >>> card.start()
    >>> card.write(8, pattern(8, 4)).errors, card.read(8, 4) == pattern(8, 4)
    ('none', True)
    """

    def __init__(
        self, device: DeviceConfig, seed: int = 42, options: Mapping[str, Any] | None = None
    ) -> None:
        """Build the card and switch it on."""
        self.core = _core.Emmc(device.core, seed, json.dumps(dict(options or {})))
        found: dict[str, Any] = json.loads(self.core.status())
        self.user_sectors: int = found["user_sectors"]
        self.boot_sectors: int = found["boot_sectors"]
        self.rpmb_sectors: int = found["rpmb_sectors"]
        self.is_by_sector: bool = found["is_by_sector"]
        self.cache_sectors: int = found["cache_sectors"]

    # What the wires do.

    def command(
        self,
        index: int,
        argument: int = 0,
        data: bytes = b"",
        *,
        blocks: int = 1,
        wait: bool = True,
    ) -> Answer:
        """Send a command, and by default wait until the card is ready again.

        Args:
            index: 0 to 63.
            argument: 32 bits.
            data: Blocks that follow, for a command that brings data.
            blocks: How many the host takes of a read without end or of a boot.
            wait: False to return at once; `wait` then lets time pass.
        """
        response, found, busy_ns = self.core.command(index, argument, data, blocks)
        if wait:
            self.core.wait(self.core.busy_ns())
        return Answer(response, found, busy_ns)

    def send(self, data: bytes, *, wait: bool = True) -> int:
        """Send blocks to a card that takes data; return how long it is busy, in nanoseconds."""
        busy_ns = self.core.send(data)
        if wait:
            self.core.wait(self.core.busy_ns())
        return busy_ns

    def wait(self, ns: int) -> None:
        """Let time pass, in nanoseconds."""
        self.core.wait(ns)

    def ready(self) -> int:
        """Wait until the card is not busy; return how long that took, in nanoseconds."""
        busy_ns = self.core.busy_ns()
        self.core.wait(busy_ns)
        return busy_ns

    @property
    def state(self) -> str:
        """The state of the card, also where no response tells it."""
        return self.core.state()

    # Sequences.

    def identify(self) -> Answer:
        """Go from power to stand-by; return the answer to CMD3."""
        self.wait(SECOND_NS)
        self.command(1, OCR)
        self.command(2)
        return self.command(3, RCA)

    def start(self) -> None:
        """Go from power to the transfer state."""
        self.identify()
        self.command(7, RCA)

    def restart(self) -> None:
        """Switch off and on, and go to the transfer state."""
        self.core.power_cycle()
        self.start()

    def reset(self) -> None:
        """Send CMD0, and go to the transfer state."""
        self.command(0)
        self.start()

    def status(self) -> Answer:
        """Ask for the status: CMD13."""
        return self.command(13, RCA)

    def ext_csd(self) -> bytes:
        """Return the extended CSD: CMD8."""
        return self.command(8).data

    def get(self, index: int, count: int = 1) -> int:
        """Return a field of the extended CSD."""
        return at.number(self.ext_csd(), index, count)

    def switch(self, index: int, value: int, access: int = 3) -> str:
        """Write a byte of the extended CSD; return the errors that CMD13 tells of it."""
        self.command(6, access << 24 | index << 16 | value << 8)
        return self.status().errors

    def address(self, sector: int) -> int:
        """Return the argument that names a sector."""
        return sector if self.is_by_sector else sector * SECTOR

    def write(
        self, sector: int, data: bytes, *, reliable: bool = False, wait: bool = True
    ) -> Answer:
        """Write blocks: CMD23 and CMD25."""
        self.command(23, len(data) // SECTOR | (at.RELIABLE if reliable else 0))
        return self.command(25, self.address(sector), data, wait=wait)

    def read(self, sector: int, count: int = 1) -> bytes:
        """Read blocks: CMD23 and CMD18."""
        self.command(23, count)
        return self.command(18, self.address(sector)).data

    def erase(self, first: int, last: int, argument: int) -> Answer:
        """Select from the first to the last sector, and erase: CMD35, CMD36, CMD38."""
        self.command(35, self.address(first))
        self.command(36, self.address(last))
        return self.command(38, argument)

    def partition(self, number: int) -> str:
        """Choose what is accessed: 0 user, 1 and 2 boot, 3 RPMB; return the errors."""
        kept = self.get(at.PARTITION_CONFIG) & ~7
        return self.switch(at.PARTITION_CONFIG, kept | number)
