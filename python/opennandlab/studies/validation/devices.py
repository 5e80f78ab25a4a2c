"""Devices and workloads for validation, as the plain mappings that users write in YAML.

Two shapes. A *log* is one die, so one pool: N blocks of b pages of which R are always kept erased,
run untimed; every formula of write amplification is about this. A *bench* is a few dies with short
times, run timed. Logical pages are set to the page: the over-provisioning ratio is chosen half a
page off a whole number, so that rounding in `U = floor(T / (1 + OP))` cannot matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opennandlab.base.files import read_yaml
from opennandlab.core.config import PRESETS
from opennandlab.theory.waf import spare_factor_effective

PAGE_BYTES = 4096
# tR 50 us and 10 us of transfer for 4096 bytes: the round numbers of queueing examples.
BENCH_TIMING = {"t_read_us": 50, "t_program_us": 600, "t_erase_us": 3500, "bus_mt_s": 409.6}
# Blocks must outlive the validation of wear; no formula here knows about blocks taken out of use.
ENDURANCE = 1_000_000


def unworn(preset: str) -> dict[str, Any]:
    """Return a preset whose blocks neither wear out nor fail, as they would in what would be years.

    Args:
        preset: its name.

    Example:
        >>> unworn("emmc_16gb")["nand"]["max_pe_cycles"]
        1000000
    """
    drive: dict[str, Any] = read_yaml(PRESETS / f"{preset}.yaml")
    drive["nand"]["max_pe_cycles"] = ENDURANCE
    drive["nand"].pop("failures", None)
    drive["ftl"].setdefault("gc_policy", "greedy")
    return drive


def shrunk(preset: str, key: str, divisor: int) -> dict[str, Any]:
    """Return `unworn` with a smaller drive: fewer blocks in a plane, or pages in a block.

    Args:
        preset: its name.
        key: of `nand`, what is divided; the cache of single bits shrinks with it.
        divisor: by what.

    Example:
        >>> shrunk("emmc_16gb", "blocks_per_plane", 16)["nand"]["blocks_per_plane"]
        141
    """
    drive = unworn(preset)
    drive["nand"][key] //= divisor
    cache = drive["ftl"].get("slc_cache")
    if isinstance(cache, dict):
        for size in ("static_bytes", "dynamic_bytes_max"):
            cache[size] //= divisor
    return drive


@dataclass(frozen=True)
class Log:
    """One pool of blocks, and how many pages of it the host sees.

    Example:
        >>> log = Log.with_spare(blocks=1024, pages_per_block=64, spare_factor=0.1)
        >>> round(log.spare_factor, 4), round(log.spare_factor_nominal, 4)
        (0.1, 0.1009)
    """

    blocks: int
    """N."""
    pages_per_block: int
    """b."""
    logical_pages: int
    """U."""
    reserve: int = 1
    """R, blocks that are always kept erased."""

    @classmethod
    def with_spare(
        cls, blocks: int, pages_per_block: int, spare_factor: float, reserve: int = 1
    ) -> Log:
        """Return the log whose effective spare factor is nearest to a wanted one.

        Args:
            blocks: N.
            pages_per_block: b.
            spare_factor: S_eff, the reserve left out.
            reserve: R.
        """
        logical = round((1.0 - spare_factor) * (blocks - reserve) * pages_per_block)
        return cls(blocks, pages_per_block, logical, reserve)

    @classmethod
    def with_op(cls, blocks: int, pages_per_block: int, op_ratio: float, reserve: int = 1) -> Log:
        """Return the log with a given over-provisioning, `(T - U) / U`.

        Args:
            blocks: N.
            pages_per_block: b.
            op_ratio: OP.
            reserve: R.
        """
        logical = int(blocks * pages_per_block / (1.0 + op_ratio))
        return cls(blocks, pages_per_block, logical, reserve)

    @property
    def spare_factor(self) -> float:
        """S_eff: what every formula is evaluated at."""
        return spare_factor_effective(
            self.blocks * self.pages_per_block,
            self.logical_pages,
            self.reserve,
            self.pages_per_block,
        )

    @property
    def spare_factor_nominal(self) -> float:
        """S_f with the reserve counted as spare."""
        return 1.0 - self.logical_pages / (self.blocks * self.pages_per_block)

    def device(
        self,
        policy: str | Mapping[str, Any],
        frontiers: str | Mapping[str, Any] = "single",
        wear: str | Mapping[str, Any] = "none",
    ) -> dict[str, Any]:
        """Return the device file of the log.

        Args:
            policy: `ftl.gc_policy`.
            frontiers: `ftl.write_frontiers`.
            wear: `ftl.wear_leveling`.

        Returns:
            The device, one die.
        """
        physical = self.blocks * self.pages_per_block
        return {
            "nand": {
                "cell_type": "TLC",
                "channels": 1,
                "dies_per_channel": 1,
                "planes_per_die": 1,
                "blocks_per_plane": self.blocks,
                "pages_per_block": self.pages_per_block,
                "page_size_bytes": PAGE_BYTES,
                "max_pe_cycles": ENDURANCE,
                "timing": dict(BENCH_TIMING),
            },
            "ftl": {
                "over_provisioning_pct": physical / (self.logical_pages + 0.5) - 1.0,
                "gc_policy": policy if isinstance(policy, str) else dict(policy),
                "gc_reserve_blocks": self.reserve,
                "write_frontiers": frontiers if isinstance(frontiers, str) else dict(frontiers),
                "wear_leveling": wear if isinstance(wear, str) else dict(wear),
            },
            "ecc": {"algorithm": "none"},
        }


def overwrites(
    pattern: str | Mapping[str, Any] = "random",
    measured: float = 10.0,
    discarded: float = 20.0,
    **keys: Any,  # noqa: ANN401 - keys of a workload file, whatever they hold
) -> dict[str, Any]:
    """Return the untimed workload of the write-amplification tables.

    Args:
        pattern: where writes go.
        measured: overwrites of the whole logical space that are measured.
        discarded: overwrites after the sequential fill that are not; 0 for none.
        keys: further keys of the workload file.

    Example:
        >>> overwrites()["precondition"][1]["drive_writes"]
        20.0
    """
    steps: list[dict[str, Any]] = [{"kind": "sequential_fill"}]
    if discarded:
        steps.append({"kind": "workload", "drive_writes": discarded})
    return {
        "pattern": pattern if isinstance(pattern, str) else dict(pattern),
        "read_pct": 0,
        "block_size_bytes": PAGE_BYTES,
        "timed": False,
        "total": {"drive_writes": measured},
        "precondition": steps,
        **keys,
    }


def overwrites_with_trims(
    trim_share: float, target: str, pattern: str | Mapping[str, Any] = "random"
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return two untimed workloads with trims, whose difference is the steady state.

    The drive is filled and no more, so the passage to the steady mapped share happens in the
    measured part. Two runs of one seed start alike; what the longer one adds is free of the
    passage, without a rule that states when it ends.

    Args:
        trim_share: q, share of the requests that trim.
        target: `any` or `mapped`.
        pattern: where requests go.

    Example:
        >>> [work["total"]["drive_writes"] for work in overwrites_with_trims(0.1, "any")]
        [10.0, 30.0]
    """
    keys = {"trim_pct": 100.0 * trim_share, "trim_target": target}
    passage, longer = (overwrites(pattern, length, 0.0, **keys) for length in (10.0, 30.0))
    return passage, longer


def bench(
    channels: int,
    dies_per_channel: int,
    page_bytes: int = PAGE_BYTES,
    timing: Mapping[str, float] | None = None,
    blocks_per_die: int = 64,
) -> dict[str, Any]:
    """Return a small device for timed runs.

    Args:
        channels: channels.
        dies_per_channel: dies on each.
        page_bytes: page size.
        timing: keys of `nand.timing` that differ from 50 / 600 / 3500 us and 409.6 MB/s.
        blocks_per_die: blocks, of 64 pages.

    Returns:
        The device: greedy, one open block, no error correction, no limit on the queue.

    Example:
        >>> bench(8, 1)["nand"]["channels"]
        8
    """
    return {
        "nand": {
            "cell_type": "TLC",
            "channels": channels,
            "dies_per_channel": dies_per_channel,
            "planes_per_die": 1,
            "blocks_per_plane": blocks_per_die,
            "pages_per_block": 64,
            "page_size_bytes": page_bytes,
            "max_pe_cycles": ENDURANCE,
            "timing": {**BENCH_TIMING, **(timing or {})},
        },
        "ftl": {
            "over_provisioning_pct": 0.25,
            "gc_policy": "greedy",
            "gc_reserve_blocks": channels * dies_per_channel,
            "write_frontiers": "single",
            "wear_leveling": "none",
            "write_buffer_pages": 0,
        },
        "ecc": {"algorithm": "none"},
    }


def timed(
    pattern: str,
    queue_depth: int | Mapping[str, Any],
    ios: int,
    read_pct: float = 100.0,
    page_bytes: int = PAGE_BYTES,
) -> dict[str, Any]:
    """Return a timed workload of whole pages on a filled device.

    Args:
        pattern: `random` or `sequential`.
        queue_depth: requests outstanding, or an arrival process.
        ios: requests.
        read_pct: 100 for reads, 0 for writes.
        page_bytes: size of each request.

    Returns:
        The workload. Writes start from an empty device, so that no collection disturbs them.

    Example:
        >>> timed("random", 8, 1000)["total"]
        {'ios': 1000}
    """
    fill = [{"kind": "sequential_fill"}] if read_pct else []
    return {
        "pattern": pattern,
        "read_pct": read_pct,
        "block_size_bytes": page_bytes,
        "queue_depth": queue_depth if isinstance(queue_depth, int) else dict(queue_depth),
        "timed": True,
        "total": {"ios": ios},
        "precondition": fill,
    }


def untimed_reads(count: int, fills: Sequence[int] = ()) -> dict[str, Any]:
    """Return untimed random reads of a drive that was filled in order before.

    Args:
        count: reads.
        fills: how often, in as many steps; once if none is given.

    Example:
        >>> untimed_reads(100, (2,))["precondition"]
        [{'kind': 'sequential_fill', 'fills': 2}]
    """
    steps = [{"kind": "sequential_fill", "fills": part} for part in fills]
    return {
        "pattern": "random",
        "read_pct": 100,
        "block_size_bytes": PAGE_BYTES,
        "timed": False,
        "total": {"ios": count},
        "precondition": steps or [{"kind": "sequential_fill"}],
    }


def poisson(iops: float) -> dict[str, Any]:
    """Return the arrival process of an open loop.

    Args:
        iops: requests per second.

    Returns:
        Value of `queue_depth`.

    Example:
        >>> poisson(10000.0)["arrival"]
        'poisson'
    """
    return {"arrival": "poisson", "iops": iops}
