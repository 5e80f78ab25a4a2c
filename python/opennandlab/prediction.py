"""What theory expects of a device before anything is run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def predicted_waf(device: Mapping[str, Any], effective: Mapping[str, Any]) -> float | None:
    """Return the WAF of uniform random page writes in steady state, where a closed form exists.

    Args:
        device: The resolved device.
        effective: What follows from it; the effective spare factor decides.

    Returns:
        The prediction to 6 digits (so that no library's last bit reaches a digest), or None.
    """
    from opennandlab.theory.waf import POLICIES, predict_waf

    policy = device["ftl"]["gc_policy"]
    parameters = dict(policy) if isinstance(policy, Mapping) else {"kind": policy}
    kind = parameters.pop("kind")
    spare = float(effective["spare_factor_effective"])
    if kind not in POLICIES or not 0.0 < spare < 1.0:
        return None
    value = predict_waf(kind, parameters, int(device["nand"]["pages_per_block"]), spare)
    return None if value is None else float(f"{value:.6g}")
