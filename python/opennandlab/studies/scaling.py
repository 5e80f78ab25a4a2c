"""One sweep of units, mixes and request sizes: how the root mean square of five mixes scales.

```text
unit = a channel with one die, a namespace, a queue and a stream of random numbers
k units: a drive of k channels ─► steady state of random 4 KiB ─► 5 mixes x 12 sizes from there
```
The units of a drive share its host: link, processors, caches. Without a cap there they do not
hinder each other, and the RMS of k units is k times that of one; with one, the sweep shows from how
many units on, and at which sizes, the cap decides.

Source: SNIA NAND performance tutorial, L. Smith, 2009: "RMS v scale", and its three surfaces over
units, mix and block size. The state of the drive and the number of requests are ours.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from opennandlab.base.errors import ConfigError
from opennandlab.core.config import DeviceConfig, load_device
from opennandlab.core.run import Simulation
from opennandlab.theory.bandwidth import MIXES
from opennandlab.theory.scaling import BLOCK_SIZES, ScalingPoint, ScalingSweep

UNITS: Final = (1, 2, 4, 8)
UNITS_MAX: Final = 64
# A die is shortened to this number of blocks a plane, which the time to the steady state needs.
BLOCKS_MAX: Final = 64
# Of the fewest units, each: as many requests as move these bytes, within two limits. More units run
# for the same time: a common count of requests would end when the fast units have served theirs.
MOVED_BYTES, REQUESTS_MIN, REQUESTS_MAX = 64 << 20, 1024, 8192
QUEUE_DEPTH: Final = 8


def sweep(
    device: DeviceConfig,
    *,
    units: Sequence[int] = UNITS,
    sizes: Sequence[int] = BLOCK_SIZES,
    seed: int = 42,
    watch: Callable[[str, float], None] | None = None,
) -> ScalingSweep:
    """Measure units, mixes and sizes.

    Args:
        device: A unit is one die of it, shortened, behind what its host has.
        units: Numbers of units.
        sizes: Request sizes in bytes.
        seed: Seed of all randomness.
        watch: Receives the present cells, and the share of the whole that is done.

    Raises:
        ConfigError: for units or sizes out of range, and a device that has no such units.
    """
    counts, blocks = tuple(sorted(set(units))), tuple(sorted(set(sizes)))
    if not counts or counts[0] < 1 or counts[-1] > UNITS_MAX:
        raise ConfigError("units", f"`{list(units)}`; accepted: whole numbers, 1 to {UNITS_MAX}")
    if not blocks or any(size < 512 or size % 512 or size > 1 << 20 for size in blocks):
        message = f"`{list(sizes)}`; accepted: multiples of 512 bytes up to 1 MiB"
        raise ConfigError("sizes", message)
    drives = {count: units_of(device, count) for count in counts}
    whole = sum(counts) * (1 + len(blocks))
    done = 0
    points: list[ScalingPoint] = []
    took_s: dict[tuple[float, int], float] = {}
    for count, drive in drives.items():
        state = _steady(drive, seed)
        done += count
        for size in blocks:
            if watch is not None:
                watch(f"{count} units, {size / 1024:g} KiB", done / whole)
            for share in MIXES:
                cell = (share, size)
                found, took_s[cell] = _measured(state, count, cell, took_s.get(cell))
                points.append(found)
            done += count
    return ScalingSweep(counts, blocks, tuple(points), QUEUE_DEPTH)


def units_of(device: DeviceConfig, count: int) -> DeviceConfig:
    """Return a drive of some units: a die and a namespace on a channel each.

    Raises:
        ConfigError: for a device whose dies are no units.
    """
    changed = copy.deepcopy(device.to_dict())
    if changed["host"].get("namespaces"):
        raise ConfigError("host.namespaces", "the device has its own; accepted: one without")
    nand = changed["nand"]
    nand |= {"channels": count, "dies_per_channel": 1}
    nand["blocks_per_plane"] = min(nand["blocks_per_plane"], BLOCKS_MAX)
    changed["ftl"].pop("gc_reserve_blocks", None)
    if count > 1:
        rows = [{"name": f"unit{at}", "channels": [at]} for at in range(count)]
        changed["host"]["namespaces"] = rows
    return load_device(changed)


def _steady(drive: DeviceConfig, seed: int) -> Simulation:
    """Return a drive in the steady state of random writes of 4 KiB."""
    made = Simulation(drive, seed)
    made.precondition([{"kind": "sequential_fill", "fills": 1}])
    made.run({"pattern": "random", "total": {"drive_writes": 4}, "timed": False})
    return made


def _measured(
    state: Simulation, count: int, cell: tuple[float, int], seconds: float | None
) -> tuple[ScalingPoint, float]:
    """Run one cell on a copy of the drive; return its rates and how long it took.

    Args:
        state: The drive.
        count: Its units.
        cell: Share of reads, and request size.
        seconds: Length of the cell; None for a number of requests.
    """
    read_share, size = cell
    drive = copy.deepcopy(state)
    requests = min(REQUESTS_MAX, max(REQUESTS_MIN, MOVED_BYTES // size))
    tenant: Mapping[str, Any] = {
        "queue_depth": QUEUE_DEPTH, "read_pct": 100 * read_share, "block_size_bytes": size,
        "pattern": "random",
    }  # fmt: skip
    total = {"ios": requests * count} if seconds is None else {"seconds": seconds}
    work: dict[str, Any] = {"total": total, "precondition": []}
    if count == 1:
        work |= tenant
    else:
        work["tenants"] = [
            {**tenant, "name": f"unit{at}", "namespace": f"unit{at}"} for at in range(count)
        ]
    metrics = drive.run(work).content.metrics
    if metrics is None or metrics.duration_s is None:
        raise ConfigError("sizes", f"no request of {size} bytes was served by the drive")
    iops = metrics.iops.total or 0.0
    return ScalingPoint(count, read_share, size, iops, iops * size / 1e6), metrics.duration_s
