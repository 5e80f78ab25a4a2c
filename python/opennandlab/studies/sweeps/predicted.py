"""The closed form along an axis: what theory says of a point with one number changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from opennandlab import _core
from opennandlab.base.errors import ConfigError
from opennandlab.base.plain import to_json
from opennandlab.core.config import DeviceConfig
from opennandlab.core.overrides import set_path
from opennandlab.theory.prediction import predicted_waf

# A curve of some fifty of them takes a second for so many.
ZIPF_CURVE_PAGES_MAX = 1 << 16


def predicted_at(settings: Mapping[str, Any], key: str, value: float) -> float | None:
    """Return the WAF in steady state of a point of `benchmark` with one number changed.

    Code that the settings name is not run: what it does has no closed form.

    Args:
        settings: `device` and `workload`, both resolved.
        key: Dotted path in the device, or after `workload.` in the workload.
        value: The number there.

    Returns:
        None where there is no such drive, and where no closed form is known.
    """
    head, _, rest = key.partition(".")
    part, path = ("workload", rest) if head == "workload" else ("device", key)
    document = deepcopy(dict(settings))
    try:
        set_path(document[part], path, value)
        device = DeviceConfig(_core.Device(to_json(document["device"])))
        workload = _core.Workload(to_json(document["workload"]), device.core)
    except (ConfigError, KeyError, TypeError):
        return None
    work = json.loads(workload.json())
    pattern = work.get("pattern")
    is_long = (pattern["kind"] if isinstance(pattern, dict) else pattern) == "zipf"
    if is_long and int(device.effective["logical_pages"]) > ZIPF_CURVE_PAGES_MAX:
        return None
    return predicted_waf(device.to_dict(), device.effective, work)
