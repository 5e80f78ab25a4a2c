"""What is known of a drive from its own file, to stand next to what a test finds out from outside.

Nothing of it is known of a real drive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from opennandlab.core.config import described_device, map_unit_bytes
from opennandlab.pts.bench.engine import Bench
from opennandlab.theory.prediction import programs_per_page
from opennandlab.theory.waf import predict_waf


@dataclass(frozen=True)
class Inside:
    """A simulated drive by its device file.

    Args:
        pages_per_block: Pages for data of what is collected at once.
        spare_factor: Part of the flash beyond the user capacity, its reserve left out.
        programs: Pages programmed per page for data, where nothing is moved.
        superblock_bytes: What fills together: a superblock, or one of each group of dies, or the
            open blocks of all dies where each has its own.
        raw_bytes: All of the flash.
        unit_bytes: What the map knows the place of.
    """

    pages_per_block: int
    spare_factor: float
    programs: float
    superblock_bytes: int
    raw_bytes: int
    unit_bytes: int

    def waf(self, share: float, block_bytes: int) -> float | None:
        """Return the closed form of greedy for uniform writes to a share of the user capacity.

        The pages that are not in use are spare: S = 1 - share (1 - S_eff). A write of less than a
        unit of the map programs a whole one.
        """
        spare = 1.0 - share * (1.0 - self.spare_factor)
        if not 0.0 < spare < 1.0:
            return None
        found = predict_waf("greedy", None, self.pages_per_block, spare)
        # To 6 digits, so that no library's last bit reaches a digest.
        if found is None:
            return None
        whole = max(1.0, self.unit_bytes / block_bytes)
        return float(f"{found * self.programs * whole:.6g}")


def inside_of(bench: Bench) -> Inside | None:
    """Return the facts of a whole simulated drive from its file; None of a real one."""
    config = bench.facts.device.config
    if not isinstance(config, Mapping) or "blocks_per_plane" not in config.get("nand", {}):
        return None
    found, part = of_config(config), bench.target.shrink
    whole = found.superblock_bytes * part, found.raw_bytes * part
    return replace(found, superblock_bytes=whole[0], raw_bytes=whole[1])


def of_config(config: Mapping[str, Any]) -> Inside:
    """Return what a resolved device file says."""
    device = described_device(dict(config))[0]
    effective, page_bytes = device.effective, map_unit_bytes(device.to_dict())
    superblocks = effective.get("superblocks")
    programs = programs_per_page(effective)
    data = superblocks["data_pages"] if superblocks else effective["pages_per_block"] / programs
    return Inside(
        pages_per_block=round(data),
        spare_factor=float(effective["spare_factor_effective"]),
        programs=programs,
        superblock_bytes=_together(effective) * page_bytes,
        raw_bytes=int(effective["raw_bytes"]),
        unit_bytes=page_bytes,
    )


def _together(effective: Mapping[str, Any]) -> int:
    """Return the pages that are open for the host at once and fill in turn."""
    superblocks = effective.get("superblocks")
    if superblocks:
        return int(superblocks["pages"]) * int(superblocks["groups"])
    return int(effective["pages_per_block"]) * int(effective["die_count"])
