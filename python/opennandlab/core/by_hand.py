"""Keys of a device that were set by hand (`--set`), and what to tell where they are without effect.

A verb may run another device than the one it was given: a life test keeps data as its class says, a
test of profile E switches the write cache off. Whoever does so asks `overruled` and warns of what
it tells, so that no `--set` is lost without a word. A key of a file says what the drive is like,
and is no wish of this run: it counts only where it was set by hand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from opennandlab.base.plain import thawed
from opennandlab.core.config import BY_HAND, DeviceConfig


def is_set(device: DeviceConfig, path: str) -> bool:
    """Tell whether a key was set by hand, by itself or as part of what was.

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
    """Return what to tell of keys that were set by hand and are other ones in what is run.

    Args:
        device: The device that was asked for.
        by: The device that is run, resolved, or sections of it.
        why: Why it is another one, to stand behind a colon.

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
