//! One run of a small drive, for counting instructions: `slope KIND DRIVE_WRITES`.
//!
//! Random 4 KiB on 2 channels of 2 dies, 64 blocks of 32 pages, seed 7. `tools/slopes.py` runs it
//! under callgrind with two lengths: the difference has no start-up in it.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::{json, Value};

/// `untimed`; `timed`, on the plain back end; `full`, on the other one.
fn drive(kind: &str) -> Value {
    let mut ftl = json!({"over_provisioning_pct": 0.28, "gc_reserve_blocks": 2});
    if kind == "full" {
        ftl["collection"] = json!({"kind": "steps"});
        ftl["write_frontiers"] = json!("host_gc");
    }
    json!({
        "nand": {"channels": 2, "dies_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 64,
                 "pages_per_block": 32},
        "ftl": ftl,
    })
}

fn main() {
    let mut words = std::env::args().skip(1);
    let kind = words.next().expect("untimed, timed or full");
    let count: f64 = words.next().and_then(|it| it.parse().ok()).expect("drive writes");
    let read_pct = if kind == "untimed" { 0 } else { 30 };
    let workload = json!({
        "name": "slope", "pattern": "random", "timed": kind != "untimed", "queue_depth": 4,
        "read_pct": read_pct, "total": {"drive_writes": count},
        "precondition": [{"kind": "sequential_fill"}],
    });
    let device = DeviceConfig::resolve(&drive(&kind).to_string()).expect("a device");
    let mut simulation = Simulation::new(device, 7);
    let space = simulation.space();
    let workload = WorkloadConfig::resolve(&workload.to_string(), space).expect("a workload");
    simulation.begin(workload.job(space, 7));
    while !simulation.advance(u64::MAX).finished {}
}
