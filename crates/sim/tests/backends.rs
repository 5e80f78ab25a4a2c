//! Two back ends, one behaviour: where the plain one can do it, the full one does the same.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::timed::Observation;
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::{json, Value};

fn run(device: &Value, workload: &Value, breakdown: bool) -> Value {
    let device = DeviceConfig::resolve(&device.to_string()).expect("a device");
    let mut simulation = Simulation::new(device, 7);
    let space = simulation.space();
    let workload = WorkloadConfig::resolve(&workload.to_string(), space).expect("a workload");
    simulation.observe(Observation { breakdown, ..Observation::default() });
    simulation.begin(workload.job(space, 7));
    while !simulation.advance(1 << 40).finished {}
    simulation.outcome()
}

fn device(channels: u32, dies_per_channel: u32) -> Value {
    json!({
        "nand": {"channels": channels, "dies_per_channel": dies_per_channel, "planes_per_die": 1,
                 "blocks_per_plane": 40, "pages_per_block": 64,
                 "timing": {"t_program_us": [400, 700, 1300]}},
        "ftl": {"over_provisioning_pct": 0.2, "gc_reserve_blocks": 4},
    })
}

fn mix(queue_depth: u32) -> Value {
    json!({
        "name": "mix", "pattern": "random", "read_pct": 30, "trim_pct": 3,
        "block_size_bytes": {"512": 1, "4096": 6, "16384": 2}, "queue_depth": queue_depth,
        "total": {"drive_writes": 3}, "precondition": [{"kind": "sequential_fill", "fills": 1}],
    })
}

#[test]
fn the_full_back_end_equals_the_plain_one_where_both_apply() {
    for (channels, dies) in [(1, 1), (1, 4), (2, 2), (4, 1)] {
        for queue_depth in [1, 8, 64] {
            let (device, mut workload) = (device(channels, dies), mix(queue_depth));
            for active_range_pct in [100, 2] {
                // On a few pages many reads come while theirs is being written.
                workload["active_range_pct"] = json!(active_range_pct);
                let plain = run(&device, &workload, false);
                let mut full = run(&device, &workload, true);
                assert_eq!(full["checks"]["passed"], true, "{}", full["checks"]);
                let metrics = full["metrics"].as_object_mut().expect("metrics");
                metrics.remove("breakdown");
                metrics.remove("activity");
                metrics.remove("latency_by_collection");
                let shortest = &plain["metrics"]["latency_us"]["read"]["min"];
                let is_met = shortest.as_f64() == Some(0.0);
                assert!(is_met || active_range_pct == 100 || queue_depth == 1, "{shortest}");
                let case = format!("{channels} x {dies}, QD {queue_depth}, {active_range_pct} %");
                assert_eq!(plain["metrics"], full["metrics"], "{case}");
            }
        }
    }
}
