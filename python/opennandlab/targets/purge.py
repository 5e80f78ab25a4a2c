"""Ways to bring a drive into the state in which nothing was ever written, the best first.

    NVMe format with user-data erase, NVMe sanitize with block erase
    ATA secure erase (never when frozen), SCSI format
    discard of the whole range
    zeros over the whole range                                 <- no purge, and reported so

A way is offered only when its tool is installed and the drive states that it can. The first that
succeeds is used; one that fails is reported and the next is tried, but nothing is tried after a
sanitize that failed or does not end: the drive refuses all else then. NVMe format and sanitize may
reach beyond the namespace: they are offered only when the controller has no other one.

Sources: NVM Express base specification (Format NVM: OACS bit 1, SES 1 = user data erase, FNA bit 0
= formats all namespaces; Sanitize: SANICAP bit 1 = block erase, sanitize action 2; log 81h),
ATA/ATAPI command set (security feature set), manual pages of nvme-cli, hdparm, sg3_utils and
util-linux; of nvme-cli 1.5 to 3.0 also the code.
"""

from __future__ import annotations

import json
import re
import struct
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from opennandlab.targets.base import Purge, Step, TargetError, Watcher
from opennandlab.targets.block import Block
from opennandlab.targets.probe import Answer, Probe

# The longest that a drive may take to erase itself; large hard disks take that long.
ERASE_S_MAX = 24 * 3600.0
# A password that lives for the length of one erase.
PASSWORD = "opennandlab"  # noqa: S105 (nothing is protected by it)
SANITIZE_POLL_S = 2.0
# Sanitize Status log page: SPROG, SSTAT, SCDW10, and the seconds that an overwrite and a block
# erase are expected to take, all ones where the drive does not say.
SANITIZE_LOG, SANITIZE_LOG_BYTES = 0x81, 512
LINE = re.compile(
    r"^\s*(?:(\*)$|([0-9a-f]{4,8}):((?: [0-9a-f]{2}){0,16}))", re.MULTILINE | re.IGNORECASE
)
# Longer than any log that is read here.
DUMP_BYTES_MAX = 1 << 16
PROGRESS_WHOLE, NOT_SAID = 1 << 16, 0xFFFFFFFF
# States of SSTAT; 0 is a drive that was never sanitized.
DONE, UNDER_WAY, FAILED, DONE_KEPT = range(1, 5)
# A sanitize whose log shows no progress for so long, or four times what the drive expects, is given
# up (assumed: drives take seconds to minutes); so is one whose log is not read so often in a row.
STILL_S_MAX = 3600.0
UNREAD_MAX = 15
# The first version of nvme-cli whose `format` waits 10 s for a change of mind, unless by --force.
FORCE_SINCE = (1, 10)


class PurgeError(TargetError):
    """One way did not work."""


@dataclass(frozen=True)
class Way(ABC):
    """One way to purge a device.

    Args:
        block: The device.
        probe: How tools are reached.
    """

    # Whether its tool opens the device exclusively, which nobody else may have open then.
    needs_free: ClassVar[bool] = True
    block: Block
    probe: Probe

    @abstractmethod
    def describe(self) -> str:
        """Return the commands, for a plan."""

    @abstractmethod
    def do(self, watch: Watcher | None = None) -> Purge:
        """Purge.

        Args:
            watch: Called while it waits for the drive, where that states how far it is.

        Raises:
            PurgeError: when the drive or the tool refuses.
            TargetError: when the drive is left in a state in which no other way works.
        """

    def call(self, *command: str) -> Answer:
        """Run a command to its end.

        Raises:
            PurgeError: with what it said.
        """
        answer = self.probe.act(*command, seconds_max=ERASE_S_MAX)
        if answer.code:
            said = (answer.errors or answer.text).strip()[-300:]
            raise PurgeError(f"`{' '.join(command)}` failed ({answer.code}): {said}")
        return answer


class NvmeFormat(Way):
    """Format NVM with user-data erase; the LBA format stays."""

    needs_free = False

    def describe(self) -> str:
        """See `Way`."""
        return " ".join(self._command())

    def do(self, watch: Watcher | None = None) -> Purge:
        """See `Way`."""
        del watch
        self.call(*self._command())
        return Purge("NVMe format, user data erase (SES 1)", is_purge=True)

    def _command(self) -> tuple[str, ...]:
        # What it asks is what the gate has asked; the device stays held by us meanwhile.
        version = _version(self.probe)
        force = ("--force",) if version is None or version >= FORCE_SINCE else ()
        return ("nvme", "format", self.block.node, "--ses=1", *force)


class NvmeSanitize(Way):
    """Sanitize with block erase, and wait for it.

    The log is read as bytes: as JSON nvme-cli has its state as a sentence.
    """

    needs_free = False

    def describe(self) -> str:
        """See `Way`."""
        return f"nvme sanitize {self.block.node} --sanact=2, then wait for its log"

    def do(self, watch: Watcher | None = None) -> Purge:
        """See `Way`."""
        self.call("nvme", "sanitize", self.block.node, "--sanact=2")
        progress, still_s, unread = -1, 0.0, 0
        for number in range(1, int(ERASE_S_MAX / SANITIZE_POLL_S)):
            self.probe.wait(SANITIZE_POLL_S)
            log = _sanitize_log(self.block, self.probe)
            if log is not None and log.state in {DONE, DONE_KEPT}:
                kept = "the drive kept what it erased allocated" if log.state == DONE_KEPT else ""
                return Purge("NVMe sanitize, block erase", is_purge=True, note=kept)
            if log is not None and log.state == FAILED:
                raise self._trouble(
                    "its sanitize failed, and it refuses all else until one succeeds: nothing else "
                    "was tried"
                )
            unread = 0 if log is not None and log.state == UNDER_WAY else unread + 1
            if unread >= UNREAD_MAX:
                state = "cannot be read" if log is None else f"has the state {log.state}"
                raise self._trouble(
                    f"a sanitize was begun, and its log {state}; accepted: 1 to 4 in page 81h"
                )
            if log is None or unread:
                continue
            still_s = still_s + SANITIZE_POLL_S if log.progress == progress else 0.0
            progress = log.progress
            if watch is not None:
                watch(Step(progress / PROGRESS_WHOLE, number * SANITIZE_POLL_S))
            if still_s >= max(STILL_S_MAX, 4.0 * log.expected_s):
                break
        raise self._trouble(
            f"its sanitize stands at {100 * progress / PROGRESS_WHOLE:.0f} % since "
            f"{still_s / 60:.0f} minutes, and it refuses all else until that ends"
        )

    def _trouble(self, what: str) -> TargetError:
        return TargetError(f"{self.block.node}: {what} (`nvme sanitize-log` shows its state)")


class AtaErase(Way):
    """SECURITY ERASE UNIT, behind a password that the erase takes away again."""

    def describe(self) -> str:
        """See `Way`."""
        return "; ".join(" ".join(command) for command in self._commands())

    def do(self, watch: Watcher | None = None) -> Purge:
        """See `Way`."""
        del watch
        lock, erase = self._commands()
        self.call(*lock)
        try:
            self.call(*erase)
        except PurgeError:
            # A drive that keeps the password would lock itself at the next start.
            self.probe.act(
                *("hdparm", "--user-master", "u", "--security-disable", PASSWORD, self.block.node),
                seconds_max=60.0,
            )
            raise
        return Purge("ATA security erase", is_purge=True)

    def _commands(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        start = ("hdparm", "--user-master", "u")
        return (
            (*start, "--security-set-pass", PASSWORD, self.block.node),
            (*start, "--security-erase", PASSWORD, self.block.node),
        )


class ScsiFormat(Way):
    """FORMAT UNIT."""

    def describe(self) -> str:
        """See `Way`."""
        return f"sg_format --format {self.block.node}"

    def do(self, watch: Watcher | None = None) -> Purge:
        """See `Way`."""
        del watch
        self.call("sg_format", "--format", self.block.node)
        return Purge("SCSI format unit", is_purge=True)


class Discard(Way):
    """Discard the whole range."""

    def describe(self) -> str:
        """See `Way`."""
        return f"blkdiscard {self.block.node}"

    def do(self, watch: Watcher | None = None) -> Purge:
        """See `Way`."""
        del watch
        self.call("blkdiscard", self.block.node)
        note = "the drive may erase what was discarded later, while a test runs"
        return Purge("discard of the whole range", is_purge=True, note=note)


def ways(block: Block, probe: Probe) -> list[Way]:
    """Return the ways that a device and the installed tools offer, the best first.

    Zeros are not among them: `device` writes them when all of these fail.
    """
    found: list[Way] = []
    if block.transport == "nvme" and probe.has("nvme"):
        found += _nvme_ways(block, probe)
    if block.transport == "sata" and ata_erase_state(block, probe) == "ready":
        found.append(AtaErase(block, probe))
    if block.transport == "sas" and probe.has("sg_format"):
        found.append(ScsiFormat(block, probe))
    discards = probe.number(f"/sys/class/block/{block.name}/queue/discard_max_bytes")
    if discards and probe.has("blkdiscard"):
        found.append(Discard(block, probe))
    return found


def ata_erase_state(block: Block, probe: Probe) -> str:
    """Return `ready`, or why ATA secure erase cannot be used, such as `frozen` or `locked`.

    hdparm lists each flag on a line below "Security:", with a leading "not" where it is not set.
    """
    answer = probe.ask("hdparm", "-I", block.node)
    if answer is None or answer.code:
        return "unknown"
    section = answer.text.partition("Security:")[2].partition("Logical Unit")[0]
    state = {
        words[-1]: "not" not in words[:-1]
        for words in (line.split() for line in section.splitlines())
        if words
    }
    if not state.get("supported"):
        return "not supported"
    for obstacle in ("frozen", "locked", "enabled"):
        if state.get(obstacle):
            return obstacle
    return "ready" if all(key in state for key in ("frozen", "locked", "enabled")) else "unknown"


def nvme_controller(block: Block, probe: Probe) -> dict[str, Any]:
    """Return what `nvme id-ctrl` says; nothing when it says nothing."""
    return _json(probe.ask("nvme", "id-ctrl", block.node, "--output-format=json"))


def _nvme_ways(block: Block, probe: Probe) -> list[Way]:
    controller = nvme_controller(block, probe)
    found = re.match(r"nvme\d+", block.name)
    # Of a drive with several controllers there are also its paths, such as nvme0c0n1, which are
    # no namespaces.
    siblings = [
        name
        for name in probe.names("/sys/class/block")
        if found and re.fullmatch(found[0] + r"n\d+", name) and name != block.name
    ]
    if siblings or (controller.get("nn", 1) != 1 and _has_other_namespaces(block, probe)):
        return []
    offered: list[Way] = []
    if int(controller.get("oacs", 0)) & 2 and _keeps_format(controller, block, probe):
        offered.append(NvmeFormat(block, probe))
    if int(controller.get("sanicap", 0)) & 2:
        offered.append(NvmeSanitize(block, probe))
    return offered


def _keeps_format(controller: dict[str, Any], block: Block, probe: Probe) -> bool:
    """Return whether a format leaves the size of sectors.

    Where a drive formats all namespaces at once, nvme-cli asks for the first LBA format, not for
    the one in use.
    """
    if not int(controller.get("fna", 0)) & 1:
        return True
    answer = _json(probe.ask("nvme", "id-ns", block.node, "--output-format=json"))
    in_use = answer.get("flbas")
    # FLBAS: bits 3:0 and, of more than 16 formats, 6:5.
    return isinstance(in_use, int) and in_use & 0x6F == 0


def _has_other_namespaces(block: Block, probe: Probe) -> bool:
    """Ask the controller; what cannot be read counts as yes."""
    answer = _json(probe.ask("nvme", "list-ns", block.node, "--all", "--output-format=json"))
    listed = answer.get("nsid_list")
    return not (isinstance(listed, list) and len(listed) == 1)


@dataclass(frozen=True)
class _SanitizeLog:
    """What log page 81h says: a state, progress in 65536ths, and what is expected of an erase."""

    state: int
    progress: int
    expected_s: float


def _sanitize_log(block: Block, probe: Probe) -> _SanitizeLog | None:
    """Return the log; None where it cannot be read."""
    size = (f"--log-id={SANITIZE_LOG}", f"--log-len={SANITIZE_LOG_BYTES}")
    answer = probe.ask("nvme", "get-log", block.node, *size)
    log = b"" if answer is None or answer.code else dumped(answer.text)
    if len(log) != SANITIZE_LOG_BYTES:
        return None
    progress, status, _, _, expected_s = struct.unpack_from("<HHIII", log)
    return _SanitizeLog(status & 7, progress, 0.0 if expected_s == NOT_SAID else expected_s)


def dumped(text: str) -> bytes:
    r"""Return the bytes of a hex dump, without rows whose offset leaves a gap.

    From 3.0 on nvme-cli writes `*` for rows that repeat the one before.

    >>> dumped('0000: 01 02 "..\n0002: ff "."')
    b'\x01\x02\xff'
    >>> dumped('0000: 01 02 "..\n*\n0006:\n')
    b'\x01\x02\x01\x02\x01\x02'
    """
    found = row = b""
    is_repeated = False
    for star, offset, digits in LINE.findall(text):
        if star:
            is_repeated = True
            continue
        place = int(offset, 16)
        if is_repeated and row and place <= DUMP_BYTES_MAX:
            found += row * ((place - len(found)) // len(row))
        is_repeated = False
        if place == len(found):
            row = bytes.fromhex(digits)
            found += row
    return found


def _version(probe: Probe) -> tuple[int, ...] | None:
    """Return the version of nvme-cli; None where it does not say."""
    answer = probe.ask("nvme", "version")
    found = re.search(r"\bversion (\d+)\.(\d+)", answer.text) if answer is not None else None
    return None if found is None else tuple(map(int, found.groups()))


def _json(answer: Answer | None) -> dict[str, Any]:
    if answer is None or answer.code:
        return {}
    try:
        document = json.loads(answer.text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
