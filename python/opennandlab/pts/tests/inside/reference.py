"""A drive of known policy with the spare area of another, to compare rates with.

Write amplification under static data has no closed form: after some drive writes it still depends
on how many there were, and goes up and down with the spare area. So a small drive of superblocks
with separate open blocks for the host and for moved pages is written in the same way, without a
clock. Its size does not matter: from 0.3 to 1.2 GB and 24 to 48 pages a block the ratios of greedy
agreed within 0.02 (0.03 near 1.28).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from opennandlab.pts.tests.inside import course
from opennandlab.pts.tests.inside.skew import patterns
from opennandlab.stats.steady import WINDOW_ROUNDS
from opennandlab.targets.base import Limit, Stimulus
from opennandlab.targets.simulated import SimulatedTarget
from opennandlab.theory.uniform import fifo

DEVICE = {
    "nand": {
        "cell_type": "TLC",
        "channels": 1,
        "dies_per_channel": 2,
        "planes_per_die": 4,
        "multi_plane": True,
        "page_size_bytes": 16384,
        "pages_per_block": 24,
        "blocks_per_plane": 264,
        "max_pe_cycles": 1_000_000,
    },
    "ftl": {
        "map_unit_bytes": 4096,
        "allocation": {"kind": "superblock", "dies": "all"},
        "write_frontiers": "host_gc",
        "gc_reserve_blocks": 2,
    },
}
POLICIES = ("greedy", "cost_benefit")
# Of the writes, as in a course.
LAST = WINDOW_ROUNDS / course.PIECES
# Policy, pattern, writes of the range -> rate over uniform.
Ratio = Callable[[str, str, float], float]


def ratio_at(alpha: float) -> Ratio:
    """Return the rates over that of uniform writes at a space for data over the capacity.

    A rate goes with 1 / WAF here: what reads and erases of collections cost is taken as the same.
    """

    @cache
    def ratio(policy: str, pattern: str, writes: float) -> float:
        return fifo(1.0 - 1.0 / alpha) / _waf(alpha, policy, pattern, writes)

    return ratio


def _waf(alpha: float, policy: str, pattern: str, writes: float) -> float:
    over = alpha - 1.0
    spare = _drive(over, policy).device.effective["spare_factor_effective"]
    # The reserve is no space for data: its blocks are added.
    drive = _drive(alpha * (1.0 + over) * (1.0 - spare) - 1.0, policy)
    size = course.whole(drive.capacity_bytes)
    fill = Stimulus("sequential", block_bytes=course.LARGE)
    drive.run(fill, Limit(bytes=size), seed=0, is_measured=False)
    stimulus = patterns(pattern)[0].applied(Stimulus())
    waf = 1.0
    for seed, share in enumerate((1.0 - LAST, LAST)):
        limit = Limit(bytes=course.whole(share * writes * size))
        waf = float(drive.run(stimulus, limit, seed=seed, is_measured=False).inside["waf"] or 1.0)
    return waf


def _drive(over_provisioning: float, policy: str) -> SimulatedTarget:
    return SimulatedTarget(
        DEVICE, {"ftl.over_provisioning_pct": over_provisioning, "ftl.gc_policy": policy}
    )
