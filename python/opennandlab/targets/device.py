"""A whole block device through fio: everything on it is lost.

The safety gate (`safety`) comes first, and the device stays open exclusively until `close`, so that
nothing can be mounted from it meanwhile; only tools that purge it need it free for their time.
"""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path
from typing import ClassVar

from opennandlab.documents import pts_header
from opennandlab.documents.ocp import DeviceLogs
from opennandlab.targets import cache
from opennandlab.targets.base import CacheState, Purge, TargetError
from opennandlab.targets.block import life_estimates, read_block, temperature_c
from opennandlab.targets.consent import NONE, Consent
from opennandlab.targets.fio.job import Place
from opennandlab.targets.fio.marker import HeldSector
from opennandlab.targets.fio.runner import Fio
from opennandlab.targets.fio.target import ENGINES, FioTarget
from opennandlab.targets.machine import path_facts
from opennandlab.targets.names import check_name, same_file
from opennandlab.targets.ocp import device_logs, programmed_bytes
from opennandlab.targets.probe import Probe
from opennandlab.targets.purge import PurgeError, ata_erase_state, ways
from opennandlab.targets.safety import check, known_block

# linux/fs.h: two numbers of 64 bits, where from and how many bytes.
BLKDISCARD = 0x1277


class DeviceTarget(FioTarget):
    """A whole block device.

    Args:
        path: Such as `/dev/nvme0n1`.
        consent: What the user agreed to lose; nothing is opened for writing without it.
        folder: Where job files and outputs go; see `FioTarget`.
        fio: The binary; None to look for it.
        probe: What is asked about the system; tests show another one.

    Raises:
        TargetError: when the gate refuses it, with every objection, or when fio cannot read it.
    """

    kind: ClassVar[str] = "device"

    def __init__(
        self,
        path: str,
        *,
        consent: Consent = NONE,
        folder: Path | None = None,
        fio: Fio | None = None,
        probe: Probe | None = None,
    ) -> None:
        """Pass the gate, then hold the device."""
        self.path = path
        self.probe = probe or Probe()
        self._held: int | None = None
        self._counts: bool | None = None
        check_name(path)
        self.block = known_block(path, self.probe)
        check(self.block, consent, self.probe)
        super().__init__(path, folder=folder, fio=fio)
        self.capacity_bytes = self.block.size_bytes
        self.sector_bytes = self.block.sector_bytes
        try:
            self._hold()
            self.link = self.linked("target", self.block.node)
            self._same_device()
            places = [self._place(engine) for engine in ENGINES]
            self._checked = self.proven(places)
        except BaseException:
            self.close()
            raise
        self.engine = self._checked.engine
        self.path_facts, slow = path_facts(self.block.name, self.probe)
        self.warnings = (*self.warnings, *([slow] if slow else []))
        self.route.device = Path(self.block.node).stat().st_rdev
        self.has_logs = self.block.transport == "nvme" and self.probe.has("nvme")
        self.programmed_bytes()

    def facts(self) -> pts_header.Target:
        """Return what is known of the drive, its serial number as a hash, and of the machine."""
        block = self.block
        return pts_header.Target(
            kind=self.kind,
            name=self.name,
            device=pts_header.DeviceFacts(
                vendor=block.vendor,
                model=block.model,
                firmware=block.firmware,
                serial_sha256=block.serial_sha256,
                capacity_bytes=block.size_bytes,
                sector_bytes=block.sector_bytes,
                nand_type=None,
                interface=block.transport,
                life=life_estimates(block, self.probe),
            ),
            platform={
                **self.platform(),
                **self.path_facts,
                "driver": f"{block.driver or 'unknown'}, fio {self.engine}",
                "scheduler": block.scheduler,
            },
        )

    def sector(self) -> HeldSector:
        """Return the device through the handle that holds it."""
        return HeldSector(self._handle, self.sector_bytes)

    @property
    def layer(self) -> str:
        """What requests go through on their way."""
        return f"raw block device, driver {self.block.driver or 'unknown'}"

    def set_cache(self, *, enabled: bool) -> CacheState:
        """Set the drive's volatile write cache and read it back; see `cache`."""
        self._same_device()
        return cache.set_cache(self.block, self.probe, enabled=enabled)

    def purge(self) -> Purge:
        """Use the first way that works; zeros when none does, which is reported as no purge."""
        self._same_device()
        failures = []
        frozen = (
            self.block.transport == "sata" and ata_erase_state(self.block, self.probe) == "frozen"
        )
        if frozen:
            failures.append("ATA secure erase: the drive is frozen (a suspend and resume thaws it)")
        for way in ways(self.block, self.probe):
            if way.needs_free:
                self._release()
            try:
                done = way.do(self.purge_watch)
            except PurgeError as error:
                failures.append(str(error))
                continue
            finally:
                if way.needs_free:
                    self._hold()
            self._same_device()
            note = "; ".join([done.note, *failures] if done.note else failures)
            return Purge(done.method, done.is_purge, note)
        self._same_device()
        zeros = self.write_zeros()
        return Purge(zeros.method, zeros.is_purge, "; ".join([zeros.note, *failures]))

    def inside(self) -> dict[str, float | int | None]:
        """Return the drive's temperature, where the kernel knows it."""
        degrees = temperature_c(self.block, self.probe)
        return {} if degrees is None else {"temperature_c": degrees}

    def programmed_bytes(self) -> int | None:
        """Return what the drive's own log says of its flash; see `ocp`."""
        if self._counts is False:
            return None
        found, self.waf_missing = programmed_bytes(self.block, self.probe)
        # Asked once where there is nothing: the answer will not change.
        self._counts = found is not None
        return found

    def device_logs(self) -> DeviceLogs:
        """Return the logs of the drive; see `ocp`."""
        return device_logs(self.block, self.probe)

    def trim(self, offset: int, length: int) -> None:
        """Discard bytes through the handle that holds the device.

        Raises:
            TargetError: when the device cannot, or is not held.
        """
        try:
            fcntl.ioctl(self._handle, BLKDISCARD, struct.pack("QQ", offset, length))
        except OSError as error:
            raise TargetError(f"{self.path}: discard failed: {error.strerror or error}") from error

    def place(self) -> Place:
        """Return the device, if it is still the one that passed the gate."""
        self._same_device()
        return self._checked

    def close(self) -> None:
        """Let go of the device."""
        self._release()
        super().close()

    def _place(self, engine: str) -> Place:
        filename = ("filename", self.link.name)
        return Place(engine, (filename,), self.capacity_bytes, self.sector_bytes)

    def _hold(self) -> None:
        """Open the device for us alone, if it still is the one that passed the gate."""
        try:
            self._held = self.probe.hold(self.block.node)
        except OSError as error:
            raise TargetError(
                f"{self.path}: cannot be opened exclusively: {error.strerror or error}"
            ) from error
        if self.probe.kernel_name(self._held) != self.block.name:
            raise TargetError(f"{self.path}: this is no longer the device that was checked")

    @property
    def _handle(self) -> int:
        if self._held is None:
            raise TargetError(f"{self.path}: it is not opened exclusively")
        return self._held

    def _release(self) -> None:
        if self._held is not None:
            self.probe.release(self._held)
            self._held = None

    def _same_device(self) -> None:
        """Raise `TargetError` when the device is gone, or is another one under the same name."""
        try:
            now = read_block(self.path, self.probe)
            opened = self.link.stat()
        except OSError as error:
            raise TargetError(f"{self.path}: the device is gone: {error.strerror}") from error
        was = self.block
        is_same = now is not None and (
            (now.name, now.serial, now.size_bytes, now.sector_bytes)
            == (was.name, was.serial, was.size_bytes, was.sector_bytes)
        )
        # What fio will open is what we hold.
        if self._held is not None:
            is_same = is_same and same_file(opened, os.fstat(self._held))
        if not is_same:
            raise TargetError(f"{self.path}: this is no longer the device that was checked")
