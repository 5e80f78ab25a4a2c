"""The logs of a simulated drive after a run, as `measured.ocp` reads them; and their limits.

The latency monitor of OCP counts slow commands in four buckets, which begin at limits A to D. A
limit is a multiple of 5 ms, from 5 to 1280 ms.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from opennandlab import _core
from opennandlab.base.canonical import as_bytes, readable_json
from opennandlab.base.errors import ConfigError
from opennandlab.base.files import write_atomically
from opennandlab.documents.ocp import OCP_SCHEMA, DeviceLogs, OcpDocument
from opennandlab.documents.record import plain
from opennandlab.measured.ocp import changes, logs_of

STEP_MS, CODE_MAX = 5, 255
# The first values of the specification.
LIMITS_MS = (30, 100, 155, 235)
ACCEPTED = (
    "accepted: four multiples of 5 ms from 5 to 1280 in ascending order, such as 30,100,155,235"
)


def codes_of(limits_ms: Sequence[float]) -> tuple[int, ...]:
    """Return limits as the drive keeps them: x stands for (x + 1) times 5 ms.

    Raises:
        ConfigError: for limits that the specification does not have.

    >>> codes_of(LIMITS_MS)
    (5, 19, 30, 46)
    """
    try:
        codes = [ms / STEP_MS - 1 for ms in limits_ms]
        is_right = all(code in range(CODE_MAX + 1) for code in codes)
    except TypeError:
        codes, is_right = [], False
    if not is_right or len(codes) != 4 or sorted(set(codes)) != codes:
        raise ConfigError("ocp_thresholds", f"`{limits_ms}` are not valid; {ACCEPTED}")
    return tuple(map(int, codes))


def parse_limits(text: str | None) -> tuple[int, ...]:
    """Return the limits of a text in milliseconds, by default those of the specification.

    Raises:
        ConfigError: for other text.
    """
    if text is None:
        return LIMITS_MS
    if not re.fullmatch(r"\d{1,5}(,\d{1,5}){3}", text):
        raise ConfigError("ocp_thresholds", f"`{text}` is not valid; {ACCEPTED}")
    limits = tuple(map(int, text.split(",")))
    codes_of(limits)
    return limits


def logs_of_drive(core: _core.Drive) -> DeviceLogs:
    """Return the logs of a drive, whose slow commands were counted if that was asked for."""
    text = json.dumps({"schema": OCP_SCHEMA, "after": json.loads(core.logs())})
    return logs_of(text.encode(), "the simulated drive")


def document_of(logs: DeviceLogs, source: Sequence[str]) -> OcpDocument:
    """Return the document of the logs of a drive.

    Args:
        logs: Logs after its run.
        source: Names of the device and of the workload or test.
    """
    return OcpDocument(
        schema=OCP_SCHEMA,
        origin="simulated",
        source=list(source),
        before=None,
        after=logs,
        change=changes(None, logs),
    )


def save(document: OcpDocument, path: Path) -> None:
    """Write the document: all of it, or nothing.

    Raises:
        OutputError: with the reason.
    """
    write_atomically(path, as_bytes(readable_json(plain(document)) + "\n"))
