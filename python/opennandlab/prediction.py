"""What theory expects of a device and a workload before anything is run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opennandlab.config import map_unit_bytes

# Without a workload: uniform random writes of single pages.
UNIFORM: Mapping[str, Any] = {"pattern": {"kind": "random"}}


def predicted_waf(
    device: Mapping[str, Any],
    effective: Mapping[str, Any],
    workload: Mapping[str, Any] = UNIFORM,
) -> float | None:
    """Return the WAF in steady state, where a closed form exists.

    Args:
        device: The resolved device.
        effective: What follows from it; the effective spare factor decides.
        workload: The resolved workload; uniform random page writes by default.

    Returns:
        The prediction to 6 digits (so that no library's last bit reaches a digest), or None.
    """
    from opennandlab.theory.waf import POLICIES, Traffic, predict_waf

    page_bytes = map_unit_bytes(device)
    # Tenants mix patterns and ranges: no closed form is known for that.
    is_mixed = "trace" in workload or bool(workload.get("tenants"))
    if is_mixed or not _is_whole_pages(workload, page_bytes):
        return None
    kind, pattern = _kind(workload.get("pattern", "random"))
    # Parity of rows and the drive's own records are programmed beside the data.
    superblocks = effective.get("superblocks")
    programs = superblocks["pages"] / superblocks["data_pages"] if superblocks else 1.0
    if kind == "sequential":
        return float(f"{programs:.6g}")
    policy, parameters = _kind(device["ftl"]["gc_policy"])
    spare = float(effective["spare_factor_effective"])
    aligned = workload.get("block_size_bytes", page_bytes) == page_bytes
    whole = workload.get("active_range_pct", 100) == 100
    buffered = device["ftl"].get("write_buffer_pages", 0) or _has_write_back(device)
    known = policy in POLICIES and kind in {"random", "hot_cold"}
    frontiers = _kind(device["ftl"].get("write_frontiers", "single"))[0]
    # The oracle of such a drive takes the first addresses for hot.
    known = known and not (pattern.get("shuffle") and frontiers == "hot_cold")
    if not (known and aligned and whole and not buffered and 0.0 < spare < 1.0):
        return None
    changing = 100.0 - float(workload.get("read_pct", 0))
    if changing <= 0:
        return None
    traffic = Traffic(
        pattern=kind,
        frontiers=frontiers,
        trim_share=float(workload.get("trim_pct", 0)) / changing,
        trim_target=workload.get("trim_target", "any"),
        **({key: pattern[key] for key in ("fraction", "share")} if kind == "hot_cold" else {}),
    )
    pages_per_block = int(
        superblocks["data_pages"] if superblocks else effective["pages_per_block"]
    )
    try:
        value = predict_waf(policy, parameters, pages_per_block, spare, traffic)
    except ValueError:  # outside the range of the formula, such as more trims than writes
        return None
    return None if value is None else float(f"{value * programs:.6g}")


def fills(workload: Mapping[str, Any]) -> bool:
    """Tell whether the preconditioning of a workload writes the whole space."""
    return any(_kind(step)[0] == "sequential_fill" for step in workload.get("precondition", ()))


def _has_write_back(device: Mapping[str, Any]) -> bool:
    """Tell whether a write cache of the host interface absorbs rewrites."""
    cache = (device.get("host") or {}).get("write_cache") or {}
    return bool(cache.get("enabled", True) and cache.get("mode") == "write_back")


def _is_whole_pages(workload: Mapping[str, Any], page_bytes: int) -> bool:
    """Tell whether every request covers whole pages, so that none is programmed for a part."""
    sizes = workload.get("block_size_bytes", page_bytes)
    steps = [sizes] if isinstance(sizes, int) else [int(size) for size in sizes]
    align = workload.get("align_bytes")
    return all(step % page_bytes == 0 for step in (*steps, *([align] if align else [])))


def _kind(value: object) -> tuple[str, dict[str, Any]]:
    """Split `{kind: d_choices, d: 3}` into name and parameters."""
    if isinstance(value, Mapping):
        parameters = dict(value)
        return str(parameters.pop("kind")), parameters
    return str(value), {}
