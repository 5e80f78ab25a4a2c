"""One more bit per cell: the same drive with SLC, MLC, TLC and QLC flash.

A device is a mapping with the keys of a device file; what it leaves out follows the cell type.
Capacity is kept equal here, so only the cells differ. The defaults of TLC and QLC times are
assumed, as `device.origin` tells.
"""

import opennandlab as onl

TOPOLOGY = {
    "channels": 4,
    "dies_per_channel": 2,
    "planes_per_die": 1,
    "blocks_per_plane": 128,
    "pages_per_block": 64,
}
WORK = {
    "pattern": "random",
    "read_pct": 70,
    "queue_depth": 16,
    "total": {"ios": 40_000},
    "precondition": [{"kind": "sequential_fill"}, {"kind": "workload", "until": "steady"}],
}

print("cells     WAF    IOPS  read p50 us  read p99 us  rated cycles")
for cell_type in ("SLC", "MLC", "TLC", "QLC"):
    device = onl.load_device(
        {"nand": {"cell_type": cell_type, **TOPOLOGY}, "ftl": {"over_provisioning_pct": 0.28}}
    )
    metrics = onl.benchmark(device, WORK, seed=42).metrics
    read = metrics["latency_us"]["read"]
    print(
        f"{cell_type}    {metrics['waf']:7.3f}  {metrics['iops']['total']:6.0f}"
        f"  {read['p50']:11.0f}  {read['p99']:11.0f}  {device['nand.max_pe_cycles']:12}"
    )

print(
    "\nQLC program time:", device["nand.timing.t_program_us"], "us,", device.origin("nand.timing")
)
try:
    device.replace({"nand.cell_type": "PLC"})
except onl.ConfigError as error:
    print("PLC:", error.path, "is refused")
