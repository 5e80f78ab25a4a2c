"""Whether anything in a simulated drive makes its operations differ in time by themselves.

A drive whose times are all constants answers in a few discrete latencies and sums of them, by what
commands wait for. A histogram of it shows spikes, where that of a real drive is smooth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SOURCES = (
    "(page types, nand.variation, wear, suspension, read retry, host.jitter, collection in steps "
    "or while idle)"
)
CONSTANT_TIMES = (
    f"The device has no source of variation {SOURCES}: each operation takes a constant time, and "
    "response times differ only by what requests wait for."
)


def note(device: Mapping[str, Any] | None) -> str:
    """Return a sentence for next to a histogram of latencies, empty where none is due.

    Args:
        device: A resolved device; None for a drive that is not simulated.

    Returns:
        The sentence, with a space before it.
    """
    return "" if device is None or varies(device) else f" {CONSTANT_TIMES}"


def varies(device: Mapping[str, Any]) -> bool:
    """Return whether a resolved device has a source of variation in its times.

    >>> varies({"host": {"jitter": {"kind": "lognormal", "sigma": 0.3}}})
    True
    >>> varies({"nand": {"timing": {"t_read_us": 60.0, "t_program_us": [400.0, 400.0]}}})
    False
    """
    nand, ftl = _part(device, "nand"), _part(device, "ftl")
    controller, host = _part(device, "controller"), _part(device, "host")
    timing = _part(nand, "timing")
    by_page_type = any(_differs(timing.get(key)) for key in ("t_read_us", "t_program_us"))
    in_steps = _part(ftl, "collection").get("kind") == "steps"
    while_idle = ftl.get("idle_collection", "none") != "none"
    return (
        by_page_type
        or in_steps
        or while_idle
        or any(
            section.get(key) is not None
            for section, key in (
                (nand, "variation"),
                (nand, "wear_timing"),
                (controller, "suspend"),
                (controller, "read_retry"),
                (controller, "soft_read"),
                (host, "jitter"),
            )
        )
    )


def _part(whole: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a section; an empty one where a damaged document has something else."""
    found = whole.get(key)
    return found if isinstance(found, Mapping) else {}


def _differs(times: object) -> bool:
    return isinstance(times, list) and any(one != times[0] for one in times)
