"""Ways to bring a drive into the state in which nothing was ever written, the best first.

    NVMe format with user-data erase, NVMe sanitize with block erase
    ATA secure erase (never when frozen), SCSI format
    discard of the whole range
    zeros over the whole range                                 <- no purge, and reported so

A way is offered only when its tool is installed and the drive says that it can. The first that
succeeds is used; one that fails is reported and the next is tried, but nothing is tried after a
drive stopped answering. NVMe format and sanitize may reach beyond the namespace: they are offered
only when the controller has no other one.

Sources: NVM Express base specification (Format NVM: OACS bit 1, SES 1 = user data erase; Sanitize:
SANICAP bit 1 = block erase, sanitize action 2; status log SSTAT), ATA/ATAPI command set (security
feature set), manual pages of nvme-cli, hdparm, sg3_utils and util-linux.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from opennandlab.targets.base import Purge, TargetError
from opennandlab.targets.block import Block
from opennandlab.targets.probe import Answer, Probe

# The longest that a drive may take to erase itself; large hard disks take that long.
ERASE_S_MAX = 24 * 3600.0
# A password that lives for the length of one erase.
PASSWORD = "opennandlab"  # noqa: S105 (nothing is protected by it)
SANITIZE_POLL_S = 2.0


class PurgeError(TargetError):
    """One way did not work."""


@dataclass(frozen=True)
class Way(ABC):
    """One way to purge a device.

    Args:
        block: The device.
        probe: How tools are reached.
    """

    block: Block
    probe: Probe

    @abstractmethod
    def describe(self) -> str:
        """Return the commands, for a plan."""

    @abstractmethod
    def do(self) -> Purge:
        """Purge.

        Raises:
            PurgeError: when the drive or the tool refuses.
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

    def describe(self) -> str:
        """See `Way`."""
        return " ".join(self._command())

    def do(self) -> Purge:
        """See `Way`."""
        self.call(*self._command())
        return Purge("NVMe format, user data erase (SES 1)", is_purge=True)

    def _command(self) -> tuple[str, ...]:
        return ("nvme", "format", self.block.node, "--ses=1")


class NvmeSanitize(Way):
    """Sanitize with block erase, and wait for it."""

    def describe(self) -> str:
        """See `Way`."""
        return f"nvme sanitize {self.block.node} --sanact=2, then wait for its log"

    def do(self) -> Purge:
        """See `Way`."""
        self.call("nvme", "sanitize", self.block.node, "--sanact=2")
        for _ in range(int(ERASE_S_MAX / SANITIZE_POLL_S)):
            self.probe.wait(SANITIZE_POLL_S)
            answer = self.probe.ask("nvme", "sanitize-log", self.block.node, "--output-format=json")
            status = _sanitize_status(_json(answer))
            if status == 1:
                return Purge("NVMe sanitize, block erase", is_purge=True)
            if status == 3:
                raise PurgeError("NVMe sanitize ended with a failure")
        raise PurgeError("NVMe sanitize did not end")


class AtaErase(Way):
    """SECURITY ERASE UNIT, behind a password that the erase takes away again."""

    def describe(self) -> str:
        """See `Way`."""
        return "; ".join(" ".join(command) for command in self._commands())

    def do(self) -> Purge:
        """See `Way`."""
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

    def do(self) -> Purge:
        """See `Way`."""
        self.call("sg_format", "--format", self.block.node)
        return Purge("SCSI format unit", is_purge=True)


class Discard(Way):
    """Discard the whole range."""

    def describe(self) -> str:
        """See `Way`."""
        return f"blkdiscard {self.block.node}"

    def do(self) -> Purge:
        """See `Way`."""
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
    siblings = [
        name
        for name in probe.names("/sys/class/block")
        if found and re.fullmatch(found[0] + r"(c\d+)?n\d+", name) and name != block.name
    ]
    if siblings or (controller.get("nn", 1) != 1 and _has_other_namespaces(block, probe)):
        return []
    offered: list[Way] = []
    if int(controller.get("oacs", 0)) & 2:
        offered.append(NvmeFormat(block, probe))
    if int(controller.get("sanicap", 0)) & 2:
        offered.append(NvmeSanitize(block, probe))
    return offered


def _has_other_namespaces(block: Block, probe: Probe) -> bool:
    """Ask the controller; what cannot be read counts as yes."""
    answer = _json(probe.ask("nvme", "list-ns", block.node, "--all", "--output-format=json"))
    listed = answer.get("nsid_list")
    return not (isinstance(listed, list) and len(listed) == 1)


def _sanitize_status(log: dict[str, Any]) -> int | None:
    """Return SSTAT bits 2:0: 1 done, 2 in progress, 3 failed; None when unread.

    nvme-cli puts the log under the device's name in some versions.
    """
    for part in (log, *(value for value in log.values() if isinstance(value, dict))):
        if "sstat" in part:
            status = part["sstat"]
            if isinstance(status, dict):
                status = status.get("status", 0)
            try:
                return int(status) & 7
            except (TypeError, ValueError):
                return None
    return None


def _json(answer: Answer | None) -> dict[str, Any]:
    if answer is None or answer.code:
        return {}
    try:
        document = json.loads(answer.text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
