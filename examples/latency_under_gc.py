"""Write latency against load, on a drive from its box and on one in use.

Writes arrive at random times (an open loop), whether or not the drive keeps up. In use, some of
them find their die collecting: the median does not show it, the tail does.
"""

import opennandlab as onl

DEVICE = {
    "nand": {
        "channels": 8,
        "dies_per_channel": 1,
        "planes_per_die": 1,
        "blocks_per_plane": 128,
        "pages_per_block": 64,
    },
    "ftl": {"over_provisioning_pct": 0.28, "gc_reserve_blocks": 8},
}
STATES = {
    "fresh": [],
    "in use": [{"kind": "sequential_fill", "fills": 2}, {"kind": "workload", "drive_writes": 3}],
}

print("state   writes/s   mean ms    p50 ms    p99 ms  p99.9 ms")
for state, precondition in STATES.items():
    for iops in (250, 1000, 2000):
        work = {
            "pattern": "random",
            "queue_depth": {"arrival": "poisson", "iops": iops},
            "total": {"ios": 30_000},
            "precondition": precondition,
        }
        latency = onl.benchmark(DEVICE, work, seed=42).metrics["latency_us"]["write"]
        cells = (latency[key] / 1000 for key in ("mean", "p50", "p99", "p999"))
        print(f"{state:7} {iops:8}", *(f"{cell:9.2f}" for cell in cells))
