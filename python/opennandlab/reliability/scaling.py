"""Drives of fewer dies and blocks that wear as a whole one does.

```text
whole ─► 64 to 512 blocks of a die, 1 die or more ─► those of the same spare factor ─► the largest
         short blocks, if all of these are far too large                               that fits
```
Dies are alike and so are blocks, so fewer of them show the same wear, error rates and shares.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from functools import partial

from opennandlab.base.errors import ConfigError
from opennandlab.core.config import DeviceConfig

# Sizes are tried in this order: blocks of a die; beyond the last, dies are added.
BLOCKS: tuple[int, ...] = (64, 128, 256, 512)
# A scaled drive has the spare factor of the whole one to this, so the same write amplification.
SPARE_TOLERANCE = 0.02
# Beyond so many times the pages asked for, blocks are shortened.
FAR_TOO_LARGE = 8
# Short blocks: of a pool, and the pages that they have at least.
SHORT_BLOCKS, LENGTH_MIN = (256, 512), 16
# What keeps the write amplification of whole drives: dies, and pages of a block.
DIES_MIN, UNITS_MIN = 4, 512
BITS = {"SLC": 1, "MLC": 2, "TLC": 3, "QLC": 4}
# Keys of an SLC cache that are bytes.
CACHE_SIZES = ("static_bytes", "dynamic_bytes_max")


def scaled(whole: DeviceConfig, pages_max: float, *, dies: int = 1) -> DeviceConfig:
    """Return the drive with fewer dies and blocks: the largest of so many pages, if there is one.

    Args:
        whole: The drive.
        pages_max: Physical pages that it should have at most.
        dies: Dies that it should have at least, if the whole one has as many: a power of two.

    Only drives with the spare factor of the whole one count, since that decides their wear. Where
    they are all far too large, blocks are shortened, and the spare area is made to fit.
    """
    if whole.effective["physical_pages"] <= pages_max:
        return whole
    tried = _tried(whole, _sizes(whole))
    found = [one for one in tried if _has_spare_of(one, whole) and _dies(one) >= dies]
    fitting = [one for one in found if pages_of(one) <= pages_max]
    if fitting or (found and pages_of(found[0]) <= FAR_TOO_LARGE * pages_max):
        return fitting[-1] if fitting else found[0]
    tried = _tried(whole, _sizes(whole, short_on=min(dies, _dies(whole))))
    short = [one for one in map(partial(_with_spare_of, whole), tried) if one is not None]
    fitting = [one for one in short if pages_of(one) <= pages_max]
    return (fitting[-1:] or short[:1] or found[:1] or [whole])[0]


def pages_of(device: DeviceConfig) -> int:
    """Return the physical pages of a drive."""
    return int(device.effective["physical_pages"])


def same_blocks(whole: DeviceConfig, pages_max: float) -> DeviceConfig | None:
    """Return the largest drive whose write amplification is that of the whole one.

    It has the spare factor to the page, 256 blocks of a die or more, of their whole length or of
    at least `UNITS_MIN` pages, and on at least `DIES_MIN` dies, over which large requests spread.

    Args:
        whole: The drive.
        pages_max: Physical pages that it should have at most.

    Returns:
        The drive; None if each such drive has more pages.
    """
    count = min(DIES_MIN, _dies(whole))
    sizes: list[dict[str, int]] = []
    while count <= _dies(whole):
        sizes += _sizes(whole, short_on=count)
        count *= 2
    least = min(UNITS_MIN, _units_of_block(whole))
    good = [one for one in _tried(whole, sizes) if _units_of_block(one) >= least]
    made = (_with_spare_of(whole, one) for one in good if pages_of(one) <= pages_max)
    return max(filter(None, made), key=pages_of, default=None)


def _units_of_block(device: DeviceConfig) -> int:
    """Return the pages that are collected at once: of a block, or of a superblock."""
    shape = device.effective.get("superblocks")
    planes, blocks = int(device["nand.planes_per_die"]), int(device["nand.blocks_per_plane"])
    count = _dies(device) * planes * blocks if shape is None else int(shape["count"])
    return pages_of(device) // count


def with_reserve(small: DeviceConfig, whole: DeviceConfig) -> DeviceConfig:
    """Return a scaled drive with the erased blocks that a mount after a cut needs.

    That is one more for each pool than a drive that is never cut needs: it closes the open blocks,
    and collects next to them. The spare factor stays that of the whole drive, if it can.
    """
    frontiers = small.to_dict()["ftl"]["write_frontiers"]
    needed = _dies(small) * (3 if frontiers["kind"] == "hot_cold" else 2)
    if small.effective["reserve_blocks"] >= needed:
        return small
    made = small.replace({"ftl.gc_reserve_blocks": needed})
    return _with_spare_of(whole, made) or made


def _dies(device: DeviceConfig) -> int:
    return int(device["nand.channels"]) * int(device["nand.dies_per_channel"])


def _tried(whole: DeviceConfig, sizes: Iterable[dict[str, int]]) -> list[DeviceConfig]:
    """Return the drives of these sizes that there can be, smallest first."""
    made: list[DeviceConfig] = []
    for changes in sizes:
        # Too few blocks for its reserve, its cache or its stripes.
        with contextlib.suppress(ConfigError):
            made.append(whole.replace(changes))
    return sorted(made, key=pages_of)


def _has_spare_of(small: DeviceConfig, whole: DeviceConfig) -> bool:
    spare, asked = (one.effective["spare_factor_effective"] for one in (small, whole))
    return bool(abs(spare / asked - 1.0) <= SPARE_TOLERANCE)


def _with_spare_of(whole: DeviceConfig, small: DeviceConfig) -> DeviceConfig | None:
    """Return the small drive with as many logical pages as give it the spare factor, if it can."""
    key = "ftl.over_provisioning_pct"
    spare, asked = (one.effective["spare_factor_effective"] for one in (small, whole))
    ratio = (1.0 + float(small[key])) * (1.0 - spare) / (1.0 - asked)
    try:
        made = small.replace({key: ratio - 1.0})
    except ConfigError:
        return None
    return made if _has_spare_of(made, whole) else None


def _sizes(whole: DeviceConfig, *, short_on: int = 0) -> Iterator[dict[str, int]]:
    """Yield topologies of fewer dies and blocks, with as much less of what is stated in bytes.

    With `short_on`, of so many dies, as many blocks as pools have planes or more, and short ones.
    """
    channels, dies = int(whole["nand.channels"]), int(whole["nand.dies_per_channel"])
    planes, blocks = int(whole["nand.planes_per_die"]), int(whole["nand.blocks_per_plane"])
    pages = int(whole["nand.pages_per_block"])
    document = whole.to_dict()["ftl"]
    cache, buffer = document.get("slc_cache"), int(document["write_buffer_pages"])
    counts, lengths = BLOCKS, [pages]
    if short_on:
        # Parts of whole wordlines.
        bits = BITS[str(whole["nand.cell_type"])]
        parts = (pages // part for part in range(1, pages + 1) if pages % part == 0)
        counts = SHORT_BLOCKS
        lengths = [part for part in parts if part % bits == 0 and part >= LENGTH_MIN] or lengths
    die_count = short_on or 1
    while die_count <= (short_on or channels * dies):
        for die_blocks, length in itertools.product(counts, lengths):
            of_plane = die_blocks if short_on else max(1, die_blocks // planes)
            if of_plane > blocks:
                continue
            used = min(channels, die_count)
            share = die_count * of_plane * length / (channels * dies * blocks * pages)
            changes = {
                "nand.channels": used,
                "nand.dies_per_channel": die_count // used,
                "nand.blocks_per_plane": of_plane,
            }
            if short_on:
                changes["nand.pages_per_block"] = length
            if buffer:
                changes["ftl.write_buffer_pages"] = max(1, int(share * buffer))
            if isinstance(cache, dict):
                sizes = (key for key in CACHE_SIZES if key in cache)
                changes |= {f"ftl.slc_cache.{key}": int(share * cache[key]) for key in sizes}
            yield changes
        die_count *= 2
