"""Which way to map for which workload: five schemes on one drive, and the pathological condition.

The drive has four dies of 288 blocks, 256 of them for data; what is left is spare area for `page`
and `dftl`, log blocks for `bast` and `fast`. One command is under way at a time. At the end, large
sequential requests on a drive that was written in order, and on one that was overwritten at random:
the pathological condition of the SNIA tutorial on NAND performance of 2009.
"""

from typing import Any

import opennandlab as onl

Job = tuple[onl.DeviceConfig, dict[str, Any]]
DEVICE = {
    "nand": {
        "channels": 4,
        "dies_per_channel": 1,
        "planes_per_die": 1,
        "blocks_per_plane": 288,
        "pages_per_block": 64,
    },
    "ftl": {"over_provisioning_pct": 0.125, "gc_reserve_blocks": 4},
    "ecc": {"algorithm": "none"},
}
SCHEMES: dict[str, dict[str, Any]] = {
    "page": {"kind": "page"},
    "dftl": {"kind": "dftl", "cache_bytes": "16KiB"},  # a sixteenth of the map
    "block": {"kind": "block"},
    "bast": {"kind": "bast", "log_blocks": 112},
    "fast": {"kind": "fast", "log_blocks": 112},
}
LARGE, SMALL = "128KiB", "4KiB"
SEQUENTIAL: dict[str, Any] = {"pattern": "sequential", "block_size_bytes": LARGE}
RANDOM: dict[str, Any] = {"pattern": "random", "block_size_bytes": SMALL}
TRAFFIC: dict[str, dict[str, Any]] = {
    "sequential, 128 KiB": SEQUENTIAL,
    "random, 4 KiB": RANDOM,
    "Zipf 0.99, 4 KiB": {"pattern": {"kind": "zipf", "theta": 0.99}},
    "hot and cold, 4 KiB": {"pattern": {"kind": "hot_cold", "shuffle": True}},
    "mixed, of two hosts": {
        **RANDOM,
        "tenants": [
            {"name": "large", **SEQUENTIAL, "range_pct": [0, 50]},
            {"name": "small", **RANDOM, "range_pct": [50, 100]},
        ],
    },
}
# Beside two hosts too, small random writes.
RANDOM_WRITES = {"kind": "workload", "drive_writes": 2, "requests": "workload"}
AGED = [{"kind": "sequential_fill"}, RANDOM_WRITES]
STATES = {"in order": AGED[:1], "at random": AGED}


def writes(scheme: str, name: str) -> Job:
    """Return device and workload of a row; two overwrites come before what is measured."""
    large = TRAFFIC[name] is SEQUENTIAL
    total = {"drive_writes": 2} if large else {"ios": 20_000}
    return onl.load_device(DEVICE, {"ftl.mapping": SCHEMES[scheme]}), {
        **TRAFFIC[name],
        "total": total,
        "precondition": AGED,
    }


def after(scheme: str, state: str, direction: str) -> Job:
    """Return device and workload of large sequential requests on a drive that was written so."""
    tenant = {"name": "large", **SEQUENTIAL, "read_pct": 100 if direction == "read" else 0}
    return onl.load_device(DEVICE, {"ftl.mapping": SCHEMES[scheme]}), {
        **RANDOM,  # what preconditioning writes
        "tenants": [tenant],
        "total": {"bytes": "128MiB"},
        "precondition": STATES[state],
    }


def row(result: onl.Result) -> dict[str, float]:
    """Return what the tables show of a run."""
    metrics = result.metrics
    written = metrics["host_bytes_written"]
    commands = metrics["latency_us"]["write"]["count"]
    return {
        "waf": metrics["waf"],
        "erases": sum(metrics["erases"].values()) / (written / 2**20),
        "mean": metrics["latency_us"]["write"]["mean"],
        "p99": metrics["latency_us"]["write"]["p99"],
        "map": metrics["reads"].get("map", 0) / commands,
    }


def main() -> None:
    """Print a table for each workload, then one of the pathological condition."""
    for name in TRAFFIC:
        print(f"{name:28}    WAF  erases/MiB    mean us     p99 us  map reads/command")
        for scheme in SCHEMES:
            found = row(onl.benchmark(*writes(scheme, name), seed=42))
            print(
                f"  {scheme:26} {found['waf']:6.2f}  {found['erases']:10.2f}  {found['mean']:9.0f}"
                f"  {found['p99']:9.0f}  {found['map']:17.2f}"
            )
        print()
    print("128 KiB in order, MB/s      ", *(f"{way:>9}" for way in ("read", "", "write", "")))
    print("the drive was written       ", *(f"{state:>9}" for state in (*STATES, *STATES)))
    for scheme in SCHEMES:
        rates = [
            onl.benchmark(*after(scheme, state, way), seed=42).metrics["throughput_mb_s"][way]
            for way in ("read", "write")
            for state in STATES
        ]
        print(f"  {scheme:26}", *(f"{rate:9.2f}" for rate in rates))


if __name__ == "__main__":
    main()
