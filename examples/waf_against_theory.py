"""Write amplification of four victim policies, measured and predicted.

One die of 1024 blocks of 32 pages, one block kept erased. The prediction is a formula that knows
nothing of the simulator; the simulator knows no formula.
"""

import opennandlab as onl
from opennandlab import theory

PAGES_PER_BLOCK = 32
DEVICE = {
    "nand": {
        "channels": 1,
        "dies_per_channel": 1,
        "planes_per_die": 1,
        "blocks_per_plane": 1024,
        "pages_per_block": PAGES_PER_BLOCK,
    },
    "ftl": {"gc_reserve_blocks": 1},
}
# No clock: only what is written matters. Ten overwrites are discarded, ten are measured.
WORK = {
    "pattern": "random",
    "timed": False,
    "total": {"drive_writes": 10},
    "precondition": [{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 10}],
}
POLICIES = {
    "random": theory.random_victim,
    "d_choices": lambda spare: theory.d_choices(PAGES_PER_BLOCK, spare, 10),
    "fifo": theory.fifo,
    "greedy": lambda spare: theory.greedy(PAGES_PER_BLOCK, spare),
}

print("policy       OP  S_eff  theory  measured   error")
for over_provisioning in (0.07, 0.28):
    for policy, formula in POLICIES.items():
        changes = {"ftl.over_provisioning_pct": over_provisioning, "ftl.gc_policy": policy}
        device = onl.load_device(DEVICE, changes)
        measured = onl.benchmark(device, WORK, seed=42).metrics["waf"]
        # The block that is always kept erased is no spare area: formulas get the effective factor.
        spare = device.effective["spare_factor_effective"]
        expected = formula(spare)
        print(
            f"{policy:10} {over_provisioning:4.0%}  {spare:.3f}  {expected:6.3f}  {measured:8.3f}"
            f"  {measured / expected - 1:+6.2%}"
        )
