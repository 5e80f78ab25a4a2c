"""Keys of a device that were set by hand (`--set`), and warnings if they have no effect.

A verb may run another device than the given one: a life test keeps data as its class requires, a
test of profile E switches the write cache off. Such a verb calls `overruled` and prints the
warnings, so that no `--set` is lost in silence. A key of a file describes the drive, and is no
request of this run: it counts only if it was set by hand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from opennandlab.base.plain import thawed
from opennandlab.core.config import BY_HAND, DeviceConfig


def is_set(device: DeviceConfig, path: str) -> bool:
    """Return whether a key was set by hand, alone or as part of a mapping.

    >>> from opennandlab.core.config import load_device
    >>> device = load_device("tlc_standard", {"nand.stress.retention_h": 720})
    >>> is_set(device, "nand.stress.retention_h"), is_set(device, "nand.stress.reads")
    (True, False)
    """
    parts = path.split(".")
    return any(
        device.given.get(".".join(parts[:count])) == BY_HAND for count in range(1, len(parts) + 1)
    )


def overruled(device: DeviceConfig, by: Mapping[str, Any], why: str) -> list[str]:
    """Return a warning for each key that was set by hand and differs in the device that is run.

    Args:
        device: The given device.
        by: The device that is run, resolved, or sections of it.
        why: The reason for the difference, written behind a colon.

    >>> from opennandlab.core.config import load_device
    >>> device = load_device("tlc_standard", {"nand.wear_out": "retire"})
    >>> overruled(device, {"nand": {"wear_out": "ignore"}}, "written to the rated cycles")
    ['--set nand.wear_out=retire has no effect, it is ignore here: written to the rated cycles']
    """
    told = []
    for path in (path for path, said in device.given.items() if said == BY_HAND):
        if path.partition(".")[0] not in by:
            continue
        own, other = _at(device.to_dict(), path), _at(by, path)
        if own != other:
            told.append(
                f"--set {path}={_text(own)} has no effect, it is {_text(other)} here: {why}"
            )
    return told


def _at(document: Mapping[str, Any], path: str) -> object:
    """Return the value at a dotted path, as plain JSON; None where there is none."""
    value: Any = document
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return thawed(value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
