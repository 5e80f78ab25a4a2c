"""How long a run is likely to take, before it begins: from what it writes, and what a write costs.

    precondition, total ──► pages without a clock, in order and at random, and timed requests
                                      │ costs of each, measured
                          seconds of processor time: at least, at most

Steps until the steady state end between the windows that must agree and their limit. Rests, and
runs for a number of seconds, are left out: such a run takes longer than the forecast.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.core.config import DeviceConfig, ReplayConfig, WorkloadConfig
from opennandlab.core.shrinking import AUTO, LOST, shrink

UNIT_BYTES = 4096
# Processor time of 4 KiB, in seconds: untimed in order, untimed at random, and of a timed request.
# Measured on the presets nvme_gen4_tlc (5 ns, 178 ns at WAF 5.4, 1.6 us at WAF 8.1) and
# micron_7450_max_800gb (2 ns, 139 ns at WAF 1.0, 0.8 us), on a machine that others used too.
IN_ORDER_S, AT_RANDOM_S, TIMED_S = 5e-9, 2e-7, 1e-6
# Runs that may take longer than this deserve a word, in seconds.
LONG_S = 60.0


def expected_s(device: DeviceConfig, workload: Mapping[str, Any]) -> tuple[float, float]:
    """Return the processor time that a run takes at least, and at most.

    Args:
        device: The device.
        workload: The resolved workload.
    """
    capacity = int(device.effective["logical_bytes"])
    least = most = _measured_s(workload, capacity)
    for step in workload.get("precondition") or ():
        fills, cost = float(step.get("fills", 0)), AT_RANDOM_S
        if fills:
            cost = IN_ORDER_S
        elif step.get("until") == "steady":
            fills = step["windows"] * step["window_drive_writes"]
        else:
            fills = step.get("drive_writes") or 0.0
        each = capacity / UNIT_BYTES * (TIMED_S if step.get("timed") else cost)
        least += fills * each
        most += max(fills, step.get("max_drive_writes") or 0.0) * each
    return least, most


def _measured_s(workload: Mapping[str, Any], capacity: int) -> float:
    total, request = workload.get("total") or {}, workload.get("block_size_bytes")
    count = total.get("bytes") or capacity * (total.get("drive_writes") or 0.0)
    units = count / UNIT_BYTES
    if total.get("ios"):
        units = total["ios"] * (max(request / UNIT_BYTES, 1.0) if isinstance(request, int) else 1.0)
    return float(units * (TIMED_S if workload.get("timed") else AT_RANDOM_S))


def hint(
    device: DeviceConfig, workload: WorkloadConfig | ReplayConfig
) -> tuple[float, float, str] | None:
    """Return the seconds of a long run, at least and at most, and the offer of a smaller drive.

    Args:
        device: The whole device.
        workload: Its workload.

    Returns:
        None for a short run, and for a drive that cannot be divided.

    >>> from opennandlab.core.config import load_device, load_workload
    >>> small = load_device("tlc_standard")
    >>> hint(small, load_workload("W2", small)) is None
    True
    """
    least, most = expected_s(device, workload.to_dict())
    if most < LONG_S or not isinstance(workload, WorkloadConfig):
        return None
    try:
        divisor = shrink(device, workload, AUTO).divisor
    except ConfigError:
        return None
    if divisor == 1:
        return None
    text = (
        f"--shrink {AUTO} runs 1/{divisor} of the drive and of the workload, with rates and WAF "
        f"within 3 %; {LOST[0]}"
    )
    return least, most, text
