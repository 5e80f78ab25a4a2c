"""The logs of an NVMe drive, by nvme-cli: what its flash has programmed, its health, slow commands.

nvme-cli is asked for JSON, never for text; a log that the drive or the installed version does not
have is unknown. Times in these logs are those of the drive, which begin and end inside it: they
never equal those of the host.
"""

from __future__ import annotations

from opennandlab.base.errors import ResultError
from opennandlab.documents.ocp import DeviceLogs
from opennandlab.measured.ocp import count, joined, logs_of
from opennandlab.targets.block import Block
from opennandlab.targets.probe import Probe

# Name of a log -> the words of nvme-cli.
COMMANDS = {
    "smart_log": ("smart-log",),
    "smart_add_log": ("ocp", "smart-add-log"),
    "latency_monitor_log": ("ocp", "latency-monitor-log"),
}


def device_logs(block: Block, probe: Probe) -> DeviceLogs:
    """Return the logs of a drive; those that it does not have are None.

    Args:
        block: The drive.
        probe: Access to the system.
    """
    found = (_read(block, probe, name) for name in COMMANDS)
    return joined((block.node, logs) for logs in found if logs is not None)


def programmed_bytes(block: Block, probe: Probe) -> tuple[int | None, str]:
    """Return the bytes that the flash of a drive has programmed, or None and why not.

    Args:
        block: The drive.
        probe: Access to the system.
    """
    if block.transport != "nvme":
        return None, "only NVMe drives have a log of what their flash programs (OCP log 0xC0)"
    if not probe.has("nvme"):
        return None, "nvme-cli is not installed (Debian: apt install nvme-cli)"
    logs = _read(block, probe, "smart_add_log")
    written = None if logs is None else count((logs.smart_add_log or {})[WRITTEN])
    if written is None:
        return None, (
            "the drive has no OCP log (0xC0) of what its flash programs, or nvme-cli is older "
            "than 2.0"
        )
    return written, ""


WRITTEN = "physical_media_units_written"


def _read(block: Block, probe: Probe, name: str) -> DeviceLogs | None:
    """Return one log; None if it cannot be read, or is another one."""
    answer = probe.ask("nvme", *COMMANDS[name], block.node, "--output-format=json")
    if answer is None or answer.code:
        return None
    try:
        logs = logs_of(answer.text.encode(), block.node)
    except ResultError:
        return None
    return logs if getattr(logs, name) is not None else None
