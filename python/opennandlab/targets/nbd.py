"""An export of an NBD server through fio's nbd engine: `nbd+unix:///EXPORT?socket=PATH`.

What the server says comes from a handshake of our own (`nbd_wire`); then fio connects, once for
each thread, to an address that we made of safe letters, through a link to the socket.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from opennandlab.documents import pts_header
from opennandlab.targets.base import CacheState, Purge, TargetError
from opennandlab.targets.consent import NONE, Consent
from opennandlab.targets.fio.job import Place, trim_text
from opennandlab.targets.fio.runner import Fio, Terms
from opennandlab.targets.fio.target import PROGRESS_S, FioTarget
from opennandlab.targets.nbd_wire import (
    Address,
    Export,
    ExportSector,
    negotiate,
    parse_address,
)


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
        self.address, self.export = checked_export(uri, consent)
        super().__init__(uri, folder=folder, fio=fio)
        self.capacity_bytes = self.export.size_bytes
        self.sector_bytes = max(512, self.export.block_bytes_min)
        try:
            self._checked = self._proven_place()
        except BaseException:
            self.close()
            raise

    def facts(self) -> pts_header.Target:
        """Return what the server says, and what is known of the machine."""
        return pts_header.Target(
            kind=self.kind,
            name=self.name,
            device=pts_header.DeviceFacts(
                vendor=None,
                model=f"NBD export {self.address.export!r}",
                firmware=None,
                serial_sha256=None,
                capacity_bytes=self.capacity_bytes,
                sector_bytes=self.sector_bytes,
                nand_type=None,
                interface="nbd",
                can_trim=self.export.can_trim,
            ),
            platform={**self.platform(), "driver": "fio nbd", "scheduler": None},
        )

    def sector(self) -> ExportSector:
        """Return the export through connections of our own."""
        return ExportSector(self.address, self.sector_bytes)

    @property
    def layer(self) -> str:
        """What requests go through on their way."""
        way = "a local socket" if self.address.socket is not None else "TCP"
        return f"NBD export over {way}; what is behind it the server does not tell"

    def set_cache(self, *, enabled: bool) -> CacheState:
        """Change nothing: the protocol has no setting for it."""
        del enabled
        return "unknown"

    def purge(self) -> Purge:
        """Trim the whole export; where it cannot be trimmed, write zeros, which is not a purge."""
        place = self.place()
        if not self.export.can_trim:
            return self.write_zeros()
        files = self.files("trim")
        self.write_job(files, trim_text(place))
        self.fio_output(files, Terms(status_s=PROGRESS_S))
        return Purge(
            "trim of the whole export", is_purge=True, note="what a trim erases is up to the server"
        )

    def trim(self, offset: int, length: int) -> None:
        """Trim bytes of the export through a connection of its own.

        Raises:
            TargetError: when the server cannot.
        """
        if not self.export.can_trim:
            raise TargetError(f"{self.name}: the server cannot trim")
        try:
            self.sector().trim(offset, length)
        except OSError as error:
            raise TargetError(f"{self.name}: trim failed: {error.strerror or error}") from error

    def place(self) -> Place:
        """Return the export, if it is still there with its size."""
        if negotiate(self.address) != self.export:
            raise TargetError(f"{self.name}: the export is another one than at the start")
        return self._checked

    def _proven_place(self) -> Place:
        socket = self.address.socket
        link = "" if socket is None else self.linked("socket", socket).name
        options = (("uri", self.address.plain_uri(link)),)
        place = Place("nbd", options, self.capacity_bytes, self.sector_bytes)
        return self.proven([place])


def checked_export(uri: str, consent: Consent) -> tuple[Address, Export]:
    """Ask the server for an export, and refuse one that must not be written.

    Raises:
        TargetError: when the export cannot be reached, written, or may not be.
    """
    address = parse_address(uri)
    if address.socket is not None:
        # One socket for us and for fio, even when a link to it is changed meanwhile.
        address = replace(address, socket=os.path.realpath(address.socket))
    export = negotiate(address)
    if export.is_read_only:
        raise TargetError(f"{uri}: the export is read-only")
    if not consent.destructive:
        raise TargetError(f"{uri}: all its data would be lost: --destructive allows that")
    return address, export
