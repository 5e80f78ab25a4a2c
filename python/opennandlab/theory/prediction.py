"""What theory expects of a device and a workload before anything is run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opennandlab.documents.metrics import Metrics
    from opennandlab.theory.waf import Traffic

MAP_ENTRY_BYTES = 4
# What whole pages start at, where alignment is `natural`.
NATURAL_BYTES = 4096
# Of the space, in percent.
WHOLE = 100
# Patterns that hardly ever write a page right behind the one before it.
SCATTERED = ("random", "hot_cold", "zipf")
# Blocks of a pool, and the spare ones where writes have several open blocks, from which on the
# formulas, which know no end of blocks, hold within 3 %.
BLOCKS_MIN, SPARE_BLOCKS_MIN = 64, 20
# From so many blocks on it changes less than a percent that the last is not a whole one.
DATA_BLOCKS_MIN = 100
# Zipf writes have a class for each page: beyond this the sum takes longer than many a run.
ZIPF_PAGES_MAX = 1 << 20
# Without a workload: uniform random writes of single pages.
UNIFORM: Mapping[str, Any] = {"pattern": {"kind": "random"}}


class NoFormulaError(ValueError):
    """No closed form describes a drive under a workload; the message is the reason."""


# Keys that a formula knows, or whose value has no part in the WAF. Any other key that is not off
# makes it another drive: what is added to the model has no formula until it has a line here.
ANY: frozenset[str] = frozenset()
DEVICE_KNOWN: Mapping[str, Mapping[str, Collection[str]]] = {
    "ftl": {
        **dict.fromkeys(
            ("allocation", "copyback", "gc_policy", "gc_reserve_blocks", "gc_trigger_free_pct",
             "map_unit_bytes", "mapping", "metadata_share", "over_provisioning_pct", "parity",
             "placement", "write_buffer_absorbs", "write_frontiers"), ANY,
        ),
        # Blocks whose collection is in progress take spare area: 4 % with 256 blocks a die.
        "collection": ("whole",),
        "wear_leveling": ("dynamic",),
        "writes_complete": ("in_memory",),
    },
    "nand": dict.fromkeys(
        ("blocks_per_plane", "cache_commands", "cell_type", "channels", "dies_per_channel",
         "energy", "error_spread", "independent_planes", "max_pe_cycles", "multi_plane",
         "oob_size_bytes", "page_size_bytes", "pages_per_block", "planes_per_die", "program",
         "rber_ceil", "rber_floor", "slc_timing", "stress", "timing", "variation", "wear_out",
         "wear_timing"), ANY,
    ),
    "host": dict.fromkeys(
        ("command_cost_us", "command_overhead_us", "cores", "jitter", "link",
         "power_loss_protected", "protection", "protocol", "queue_depth_max", "read_ahead_bytes",
         "read_cache", "throttle", "turnaround_us"), ANY,
    ),
    "controller": dict.fromkeys(
        ("blocked_reads_max", "ecc_decode", "ecc_decode_us", "patrol", "power", "read_retry",
         "scheduler", "soft_read", "suspend", "victim_us_per_block"), ANY,
    ),
}  # fmt: skip
SECTIONS_KNOWN = (*DEVICE_KNOWN, "ecc", "reliability", "name")
WORKLOAD_KNOWN: Mapping[str, Collection[str]] = dict.fromkeys(
    ("align_bytes", "block_size_bytes", "min_size_bytes", "name", "pattern", "placement",
     "precondition", "queue_depth", "read_pct", "samples", "timed", "total", "trim_pct",
     "trim_target"), ANY,
)  # fmt: skip
OFF: tuple[object, ...] = (None, False, 0, "none", {"kind": "none"}, [], {})


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
    try:
        return closed_form_waf(device, effective, workload)
    except NoFormulaError:
        return None


def why_no_formula(
    device: Mapping[str, Any],
    effective: Mapping[str, Any],
    workload: Mapping[str, Any] = UNIFORM,
) -> str:
    """Return what of a drive or workload no closed form knows; empty where one describes it.

    Args:
        device: The resolved device.
        effective: What follows from it.
        workload: The resolved workload; uniform random page writes by default.
    """
    try:
        closed_form_waf(device, effective, workload)
    except NoFormulaError as reason:
        return str(reason)
    return ""


def closed_form_waf(
    device: Mapping[str, Any], effective: Mapping[str, Any], workload: Mapping[str, Any]
) -> float:
    """Return the WAF in steady state.

    Args:
        device: The resolved device.
        effective: What follows from it; the effective spare factor decides.
        workload: The resolved workload.

    Raises:
        NoFormulaError: with the key that no closed form knows.
    """
    _refuse_unknown(device, workload)
    if not _is_whole_pages(workload, _unit_bytes(effective)):
        raise NoFormulaError("requests of parts of a page")
    if workload.get("read_pct", 0) + workload.get("trim_pct", 0) >= WHOLE:
        raise NoFormulaError("a workload that writes nothing")
    if _kind(workload.get("pattern", "random"))[0] == "sequential" and workload.get("read_pct"):
        raise NoFormulaError("sequential writes with reads between them")
    scheme, parameters = mapping_of(device)
    if scheme == "zoned":
        # A drive with zones moves nothing; what it programs next to the data, all programs have.
        return _rounded(programs_per_page(effective))
    if scheme == "page" or (scheme == "dftl" and _fits(parameters, effective)):
        return _collecting_waf(device, effective, workload)
    if scheme == "dftl":
        raise NoFormulaError("ftl.mapping: programs of map pages")
    return _merging_waf(device, effective, workload)


def has_lost_blocks(device: Mapping[str, Any], metrics: Metrics | None) -> bool:
    """Return whether blocks were retired, so that less is spare than a formula was given.

    Args:
        device: The resolved device.
        metrics: What was measured; those retired before it have reached the rated cycles.
    """
    if metrics is None:
        return False
    nand = device["nand"]
    is_worn = nand["wear_out"] == "retire" and metrics.wear.max >= nand["max_pe_cycles"]
    return bool(metrics.retired_blocks) or is_worn


def _refuse_unknown(device: Mapping[str, Any], workload: Mapping[str, Any]) -> None:
    """Raise for a key that is on and that no formula knows."""
    # Tenants mix patterns and ranges; a trace has none that is known.
    for key in ("trace", "tenants"):
        if workload.get(key):
            raise NoFormulaError(f"workload.{key}")
    for section, values in device.items():
        if section not in SECTIONS_KNOWN and values not in OFF:
            raise NoFormulaError(section)
        for key, value in values.items() if section in DEVICE_KNOWN else ():
            is_through = key == "write_cache" and not _has_write_back(device)
            if not (is_through or _is_known(value, DEVICE_KNOWN[section].get(key))):
                raise NoFormulaError(f"{section}.{key}")
    for key, value in workload.items():
        is_whole = key == "active_range_pct" and value == WHOLE
        if not (is_whole or _is_known(value, WORKLOAD_KNOWN.get(key))):
            raise NoFormulaError(f"workload.{key}")


def _is_known(value: object, kinds: Collection[str] | None) -> bool:
    if value in OFF or kinds is ANY:
        return True
    return kinds is not None and _kind(value)[0] in kinds


def programs_per_page(effective: Mapping[str, Any]) -> float:
    """Return the programs per page of data: parity and the drive's own records next to it.

    Args:
        effective: What follows from a device.
    """
    if superblocks := effective.get("superblocks"):
        return float(superblocks["pages"] / superblocks["data_pages"])
    return 1.0 / (1.0 - float(effective["parity_share"]))


def _collecting_waf(
    device: Mapping[str, Any], effective: Mapping[str, Any], workload: Mapping[str, Any]
) -> float:
    """Return the WAF of a map of pages in memory, whose blocks are collected."""
    from opennandlab.theory.waf import POLICIES, predict_waf

    kind, _ = _kind(workload.get("pattern", "random"))
    programs = programs_per_page(effective)
    if kind == "sequential":
        return _rounded(programs)
    policy, parameters = policy_of(device)
    page_bytes = _unit_bytes(effective)
    if policy not in POLICIES:
        raise NoFormulaError(f"ftl.gc_policy: {policy}")
    if workload.get("block_size_bytes", page_bytes) != page_bytes:
        raise NoFormulaError("requests of several pages")
    traffic = _traffic(device, effective, workload)
    superblocks = effective.get("superblocks")
    pages_per_block = round(
        superblocks["data_pages"] if superblocks else effective["pages_per_block"] / programs
    )
    spare = _spare_factor(effective, is_single=traffic.frontiers == "single")
    try:
        value = predict_waf(policy, parameters, pages_per_block, spare, traffic)
    except ValueError as error:  # outside the range of the formula, such as more trims than writes
        raise NoFormulaError(str(error)) from error
    if value is None:
        what = f"{policy} under {kind} writes, open blocks {traffic.frontiers}"
        raise NoFormulaError(what + (", with trims" if traffic.trim_share else ""))
    return _rounded(value * programs)


def _traffic(
    device: Mapping[str, Any], effective: Mapping[str, Any], workload: Mapping[str, Any]
) -> Traffic:
    """Return what the formulas know of a workload."""
    from opennandlab.theory.waf import Traffic

    kind, pattern = _kind(workload.get("pattern", "random"))
    if kind not in SCATTERED:
        raise NoFormulaError(f"workload.pattern: {kind}")
    if kind == "zipf" and int(effective["logical_pages"]) > ZIPF_PAGES_MAX:
        raise NoFormulaError(f"zipf writes of more than {ZIPF_PAGES_MAX} pages")
    frontiers = _frontiers(device, workload, pattern)
    # The oracle of such a drive takes the first addresses for hot.
    if frontiers is None or (pattern.get("shuffle") and frontiers == "hot_cold"):
        raise NoFormulaError("ftl.placement")
    return Traffic(
        pattern=kind,
        frontiers=frontiers,
        trim_share=float(workload.get("trim_pct", 0)) / (WHOLE - workload.get("read_pct", 0)),
        trim_target=workload.get("trim_target", "any"),
        **_skew(kind, pattern, effective),
    )


def _spare_factor(effective: Mapping[str, Any], *, is_single: bool) -> float:
    """Return the effective spare factor, where a pool has as many blocks as the formulas need."""
    superblocks, spare = effective.get("superblocks"), float(effective["spare_factor_effective"])
    blocks = int(effective["blocks_per_die"])
    if superblocks:
        blocks = superblocks["count"] // superblocks["groups"]
    if not 0.0 < spare < 1.0 or blocks < BLOCKS_MIN:
        raise NoFormulaError(f"{blocks} blocks in a pool, of which a formula needs {BLOCKS_MIN}")
    if not is_single and spare * blocks < SPARE_BLOCKS_MIN:
        raise NoFormulaError(f"{spare * blocks:.1f} spare blocks in a pool with several open ones")
    return spare


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


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


def policy_of(device: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return how a resolved device chooses its victims, and the parameters of that.

    Args:
        device: The resolved device.
    """
    return _kind(device["ftl"]["gc_policy"])


def collects(device: Mapping[str, Any]) -> bool:
    """Return whether the WAF follows from how a resolved device collects, not from its merges."""
    return mapping_of(device)[0] in {"page", "dftl"}


def has_write_buffer(device: Mapping[str, Any]) -> bool:
    """Return whether writes of a resolved device are answered from a memory, volatile or not."""
    cache = (device.get("host") or {}).get("write_cache") or {}
    return bool(device["ftl"].get("write_buffer_pages") or cache.get("enabled"))


def _fits(parameters: Mapping[str, Any], effective: Mapping[str, Any]) -> bool:
    """Return whether a cached map is in memory as a whole, so that none of it is ever written."""
    return int(parameters["cache_bytes"]) >= MAP_ENTRY_BYTES * int(effective["logical_pages"])


def _merging_waf(
    device: Mapping[str, Any], effective: Mapping[str, Any], workload: Mapping[str, Any]
) -> float:
    """Return the WAF of a map of blocks with log blocks or without, by their own formulas.

    Each die has its blocks of data, the last of which may be a part of one, and its log blocks.
    """
    from opennandlab.theory.mapping import waf_block_mapping

    scheme, _ = mapping_of(device)
    page_bytes, dies = _unit_bytes(effective), int(effective["die_count"])
    pages_per_block, logical = int(effective["pages_per_block"]), int(effective["logical_pages"])
    size = workload.get("block_size_bytes", page_bytes)
    kind, pattern = _kind(workload.get("pattern", "random"))
    if "superblocks" in effective or programs_per_page(effective) != 1.0:
        raise NoFormulaError(f"ftl.mapping: {scheme} with superblocks or parity")
    if workload.get("trim_pct"):
        raise NoFormulaError(f"ftl.mapping: {scheme} with trims")
    if not isinstance(size, int):
        raise NoFormulaError("requests of several sizes")
    if kind == "sequential":
        # A request that ends with the space, and in FAST more than one page of a die, so that the
        # log block of sequential writes takes it.
        is_long = scheme != "fast" or size >= 2 * dies * page_bytes
        if is_long and logical * page_bytes % size == 0:
            return 1.0
        raise NoFormulaError(f"ftl.mapping: {scheme} under sequential requests of this size")
    # Popularity that falls with the address writes the first pages of a block behind each other.
    is_ordered = kind == "zipf" and not pattern.get("shuffle", True)
    if size == page_bytes and kind in SCATTERED and not is_ordered:
        if scheme == "block":
            return float(waf_block_mapping(pages_per_block))
        if kind == "random":
            return _logged_waf(device, effective)
    raise NoFormulaError(f"ftl.mapping: {scheme} under {kind} requests of {size} bytes")


def _logged_waf(device: Mapping[str, Any], effective: Mapping[str, Any]) -> float:
    """Return the WAF of single pages at random on a drive with log blocks."""
    from opennandlab.theory.mapping import waf_bast, waf_fast

    scheme, parameters = mapping_of(device)
    dies, block = int(effective["die_count"]), int(effective["pages_per_block"])
    data_blocks, rest = divmod(-(-int(effective["logical_pages"]) // dies), block)
    log_blocks = int(parameters["log_blocks"]) // dies
    if log_blocks < 1 or (rest and data_blocks < DATA_BLOCKS_MIN):
        raise NoFormulaError(f"ftl.mapping: {scheme} with so few blocks of a die")
    data_blocks += rest > 0
    if scheme == "bast":
        value = waf_bast(data_blocks, log_blocks, block, parameters.get("replacement", "fifo"))
    else:
        value = waf_fast(data_blocks, log_blocks, block)
    return _rounded(value)


def fills(workload: Mapping[str, Any]) -> bool:
    """Return whether the preconditioning of a workload writes the whole space."""
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
    """Return whether a write cache of the host interface absorbs rewrites."""
    cache = (device.get("host") or {}).get("write_cache") or {}
    return bool(cache.get("enabled", True) and cache.get("mode") == "write_back")


def _unit_bytes(effective: Mapping[str, Any]) -> int:
    """Return the unit of the map of a device, in bytes."""
    return int(effective["logical_bytes"]) // int(effective["logical_pages"])


def _is_whole_pages(workload: Mapping[str, Any], page_bytes: int) -> bool:
    """Return whether every request covers whole pages, so that none is programmed for a part."""
    sizes = workload.get("block_size_bytes", page_bytes)
    steps = [sizes] if isinstance(sizes, int) else [int(size) for size in sizes]
    align = workload.get("align_bytes")
    align = NATURAL_BYTES if align == "natural" else align
    return all(step % page_bytes == 0 for step in (*steps, *([align] if align else [])))


def _kind(value: object) -> tuple[str, dict[str, Any]]:
    """Split `{kind: d_choices, d: 3}` into name and parameters."""
    if isinstance(value, Mapping):
        parameters = dict(value)
        return str(parameters.pop("kind")), parameters
    return str(value), {}
