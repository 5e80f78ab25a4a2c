"""The document `opennandlab.ocp/1`: logs of a drive, as nvme-cli names them, and what follows.

`smart_log` is the SMART / Health Information log of NVMe, `smart_add_log` log C0h and
`latency_monitor_log` log C3h of the Open Compute Project. Their keys are those of `nvme smart-log`,
`nvme ocp smart-add-log --output-format-version=2` and `nvme ocp latency-monitor-log`, so that one
reader takes the logs of simulated and of real drives. A figure that is not known is `null`.
"""

from __future__ import annotations

from typing import Final, Literal

from opennandlab.documents.record import JsonObject, Number, Record

OCP_SCHEMA: Final = "opennandlab.ocp/1"


class DeviceLogs(Record, frozen=True, kw_only=True):
    """Logs of a drive at one moment; `null` for one that was not read.

    Args:
        smart_log: SMART / Health Information (02h): counts of the host.
        smart_add_log: OCP SMART / Health Information Extended (C0h): counts of the flash.
        latency_monitor_log: OCP Latency Monitor (C3h): slow commands; times in minutes and
            milliseconds, stamps in milliseconds of its clock.
    """

    smart_log: JsonObject | None
    smart_add_log: JsonObject | None
    latency_monitor_log: JsonObject | None


NO_LOGS: Final = DeviceLogs(smart_log=None, smart_add_log=None, latency_monitor_log=None)


class LogChange(Record, frozen=True, kw_only=True):
    """Counts between two moments, or since the counters began.

    Args:
        media_bytes_written: Bytes that the flash programmed; `null` if unknown.
        host_bytes_written: Bytes that hosts wrote: data units of 512 000 bytes; `null` if unknown.
        waf: Write amplification: their quotient; `null` if unknown.
        waf_range: Least and greatest value, since data units are whole; the greatest is `null`
            after one unit.
        counters: Change of each counter of log C0h; `null` for one that fell or is unknown.
        unknown: Why a figure is `null`, by its name; of counters only those that fell.
    """

    media_bytes_written: int | None
    host_bytes_written: int | None
    waf: Number | None
    waf_range: list[Number | None] | None
    counters: dict[str, int | None]
    unknown: dict[str, str]


class DriveLogs(Record, frozen=True, kw_only=True):
    """Logs before and after a test.

    Args:
        before: Logs before; `null` if there are none.
        after: Logs after it.
        change: Counts between the two; without logs before since the counters began.
    """

    before: DeviceLogs | None
    after: DeviceLogs
    change: LogChange


class OcpDocument(Record, frozen=True, kw_only=True):
    """Logs of a drive.

    Args:
        schema: Kind and version of the document.
        origin: `simulated`, or `files` that were read.
        source: The device and the workload of a simulated drive, or names of files.
        before: Logs before; `null` if there are none.
        after: Logs after, or of the one moment.
        change: Counts between the two; without logs before since the counters began.
    """

    schema: Literal["opennandlab.ocp/1"]
    origin: Literal["simulated", "files"]
    source: list[str]
    before: DeviceLogs | None
    after: DeviceLogs
    change: LogChange
