"""What theory expects of a device and a workload before anything is run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from opennandlab import _core
from opennandlab.config import DeviceConfig, map_unit_bytes, set_path
from opennandlab.errors import ConfigError
from opennandlab.plain import to_json

MAP_ENTRY_BYTES = 4
# Patterns that hardly ever write a page right behind the one before it.
SCATTERED = ("random", "hot_cold", "zipf")
# From so many blocks on it changes less than a percent that the last is not a whole one.
DATA_BLOCKS_MIN = 100
# Zipf writes have a class for each page: beyond this the sum takes longer than many a run.
ZIPF_PAGES_MAX = 1 << 20
# A curve of some fifty of them takes a second for so many.
ZIPF_CURVE_PAGES_MAX = 1 << 16
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
    # Tenants mix patterns and ranges: no closed form is known for that.
    is_mixed = "trace" in workload or bool(workload.get("tenants"))
    if is_mixed or not _is_whole_pages(workload, map_unit_bytes(device)):
        return None
    scheme, parameters = mapping_of(device)
    # A drive with zones moves nothing.
    if scheme == "zoned":
        return 1.0
    # For programs of map pages no closed form is known.
    if scheme == "page" or (scheme == "dftl" and _fits(parameters, effective)):
        return _collecting_waf(device, effective, workload)
    return None if scheme == "dftl" else _merging_waf(device, effective, workload)


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
    is_long = _kind(work.get("pattern", "random"))[0] == "zipf"
    if is_long and int(device.effective["logical_pages"]) > ZIPF_CURVE_PAGES_MAX:
        return None
    return predicted_waf(device.to_dict(), device.effective, work)


def _collecting_waf(
    device: Mapping[str, Any], effective: Mapping[str, Any], workload: Mapping[str, Any]
) -> float | None:
    """Return the WAF of a map of pages in memory, whose blocks are collected."""
    from opennandlab.theory.waf import POLICIES, Traffic, predict_waf

    page_bytes = map_unit_bytes(device)
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
    known = policy in POLICIES and kind in SCATTERED
    if kind == "zipf" and (
        int(effective["logical_pages"]) > ZIPF_PAGES_MAX or workload.get("trim_pct")
    ):
        return None
    frontiers = _frontiers(device, workload, pattern)
    # The oracle of such a drive takes the first addresses for hot.
    known = known and not (pattern.get("shuffle") and frontiers == "hot_cold")
    if frontiers is None or not (
        known and aligned and whole and not buffered and 0.0 < spare < 1.0
    ):
        return None
    changing = 100.0 - float(workload.get("read_pct", 0))
    if changing <= 0:
        return None
    traffic = Traffic(
        pattern=kind,
        frontiers=frontiers,
        trim_share=float(workload.get("trim_pct", 0)) / changing,
        trim_target=workload.get("trim_target", "any"),
        **_skew(kind, pattern, effective),
    )
    pages_per_block = int(
        superblocks["data_pages"] if superblocks else effective["pages_per_block"]
    )
    try:
        value = predict_waf(policy, parameters, pages_per_block, spare, traffic)
    except ValueError:  # outside the range of the formula, such as more trims than writes
        return None
    return None if value is None else float(f"{value * programs:.6g}")


def _skew(kind: str, pattern: Mapping[str, Any], effective: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the formulas must know of a pattern that is not uniform."""
    if kind == "hot_cold":
        return {key: pattern[key] for key in ("fraction", "share")}
    if kind == "zipf":
        pages = int(effective["logical_pages"])
        return {"exponent": float(pattern["theta"]), "logical_pages": pages}
    return {}


def mapping_of(device: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return how a resolved device maps, `page` by default, and the parameters of that.

    Args:
        device: The resolved device.
    """
    return _kind(device["ftl"].get("mapping", "page"))


def has_write_buffer(device: Mapping[str, Any]) -> bool:
    """Tell whether writes of a resolved device are answered from a memory, volatile or not."""
    cache = (device.get("host") or {}).get("write_cache") or {}
    return bool(device["ftl"].get("write_buffer_pages") or cache.get("enabled"))


def _fits(parameters: Mapping[str, Any], effective: Mapping[str, Any]) -> bool:
    """Tell whether a cached map is in memory as a whole, so that none of it is ever written."""
    return int(parameters["cache_bytes"]) >= MAP_ENTRY_BYTES * int(effective["logical_pages"])


def _merging_waf(
    device: Mapping[str, Any], effective: Mapping[str, Any], workload: Mapping[str, Any]
) -> float | None:
    """Return the WAF of a map of blocks with log blocks or without, by their own formulas.

    Each die has its blocks of data, the last of which may be a part of one, and its log blocks.
    """
    from opennandlab.theory.mapping import waf_block_mapping

    scheme, _ = mapping_of(device)
    page_bytes, dies = map_unit_bytes(device), int(effective["die_count"])
    pages_per_block, logical = int(effective["pages_per_block"]), int(effective["logical_pages"])
    size = workload.get("block_size_bytes", page_bytes)
    kind, pattern = _kind(workload.get("pattern", "random"))
    is_known = (
        "superblocks" not in effective
        and not workload.get("trim_pct")
        and workload.get("read_pct", 0) < 100
        and workload.get("active_range_pct", 100) == 100
        and not (device["ftl"].get("write_buffer_pages", 0) or _has_write_back(device))
        and isinstance(size, int)
    )
    if not is_known:
        return None
    if kind == "sequential":
        # A request that ends with the space, and in FAST more than one page of a die, so that the
        # log block of sequential writes takes it.
        is_long = scheme != "fast" or size >= 2 * dies * page_bytes
        return 1.0 if is_long and logical * page_bytes % size == 0 else None
    # Popularity that falls with the address writes the first pages of a block behind each other.
    is_ordered = kind == "zipf" and not pattern.get("shuffle", True)
    if size != page_bytes or kind not in SCATTERED or is_ordered:
        return None
    if scheme == "block":
        return waf_block_mapping(pages_per_block)
    return _logged_waf(device, effective) if kind == "random" else None


def _logged_waf(device: Mapping[str, Any], effective: Mapping[str, Any]) -> float | None:
    """Return the WAF of single pages at random on a drive with log blocks."""
    from opennandlab.theory.mapping import waf_bast, waf_fast

    scheme, parameters = mapping_of(device)
    dies, block = int(effective["die_count"]), int(effective["pages_per_block"])
    data_blocks, rest = divmod(-(-int(effective["logical_pages"]) // dies), block)
    log_blocks = int(parameters["log_blocks"]) // dies
    if log_blocks < 1 or (rest and data_blocks < DATA_BLOCKS_MIN):
        return None
    data_blocks += rest > 0
    if scheme == "bast":
        value = waf_bast(data_blocks, log_blocks, block, parameters.get("replacement", "fifo"))
    else:
        value = waf_fast(data_blocks, log_blocks, block)
    return float(f"{value:.6g}")


def fills(workload: Mapping[str, Any]) -> bool:
    """Tell whether the preconditioning of a workload writes the whole space."""
    return any(_kind(step)[0] == "sequential_fill" for step in workload.get("precondition", ()))


def _frontiers(
    device: Mapping[str, Any], workload: Mapping[str, Any], pattern: Mapping[str, Any]
) -> str | None:
    """Return which writes share an open block, or None if the formulas know no such division."""
    plain = _kind(device["ftl"].get("write_frontiers", "single"))[0]
    placement, parameters = _kind(device["ftl"].get("placement", "none"))
    if placement == "none" or parameters.get("handles") == 1:
        return plain
    stays = parameters.get("isolation") == "persistently"
    ids = workload.get("placement")
    if ids is None:
        return plain if stays else "host_gc"
    is_oracle = ids["by"] == "hot_cold" and ids["fraction"] == pattern.get("fraction")
    return "hot_cold" if stays and plain == "single" and is_oracle else None


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
