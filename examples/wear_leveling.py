"""Half of a drive never changes: what each kind of wear leveling makes of it.

The whole drive is filled once, then random writes go to the first half of it. Nobody rewrites the
other half, so its blocks are never erased, whatever order erased blocks are opened in. Only static
leveling moves them, and pays for it in writes.
"""

import opennandlab as onl

DEVICE = {
    "nand": {
        "channels": 1,
        "dies_per_channel": 1,
        "planes_per_die": 1,
        "blocks_per_plane": 512,
        "pages_per_block": 64,
    },
    "ftl": {"over_provisioning_pct": 0.12, "gc_reserve_blocks": 8},
}
WORK = {
    "pattern": "random",
    "active_range_pct": 50,
    "timed": False,
    "total": {"drive_writes": 100},
    "precondition": [{"kind": "sequential_fill"}],
}
LEVELING = {
    "none": "none",
    "dynamic": "dynamic",
    "static, 50": {"kind": "static", "threshold": 50},
    "static, 10": {"kind": "static", "threshold": 10},
}

print("leveling      WAF   min   mean    max  stddev  pages moved for it")
for name, leveling in LEVELING.items():
    device = onl.load_device(DEVICE, {"ftl.wear_leveling": leveling})
    metrics = onl.benchmark(device, WORK, seed=42).metrics
    wear = metrics["wear"]
    print(
        f"{name:10} {metrics['waf']:6.3f}  {wear['min']:4}  {wear['mean']:5.1f}  {wear['max']:5}"
        f"  {wear['stddev']:6.2f}  {metrics['programs']['wear']:18}"
    )
