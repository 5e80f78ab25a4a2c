"""A stimulus in the words of the core, which draws requests for simulated drives and for fio."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from opennandlab.targets.base import Limit, Stimulus


def cell_spec(
    stimulus: Stimulus, limit: Limit, sample_s: float | None, *, is_measured: bool
) -> str:
    """Return the words of the core for a stimulus and its limit."""
    document = asdict(stimulus)
    return json.dumps(
        {
            **_declared(document),
            "limit": asdict(limit),
            "sample_s": sample_s,
            "is_measured": is_measured,
        }
    )


def stream_spec(stimulus: Stimulus) -> str:
    """Return the words of the core for a stimulus of which only the commands are wanted."""
    return json.dumps({**_declared(asdict(stimulus)), "limit": {"ios": 1}})


def _declared(stimulus: dict[str, Any]) -> dict[str, Any]:
    """Return a stimulus as the core declares it: data are a matter of the device."""
    left_out = {
        "data",
        "streams",
        "is_counted",
        *(key for key in ("skew", "logs", "rate_per_s") if stimulus[key] is None),
    }
    document = {key: value for key, value in stimulus.items() if key not in left_out}
    if stimulus["skew"] and stimulus["skew"]["ranks_per_place"] == 1:
        document["skew"] = {k: v for k, v in stimulus["skew"].items() if k != "ranks_per_place"}
    document["beside"] = [_declared(other) for other in stimulus["beside"]]
    return document
