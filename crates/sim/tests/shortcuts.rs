//! What is certain to happen next happens without an event. Where every operation is watched
//! nothing is left out, and the results are the same.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::rng::Rng;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::timed::Observation;
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::{json, Value};

/// A drive with a write buffer and superblocks over all dies.
fn draw(rng: &mut Rng) -> Value {
    let mut one_of = |values: &[Value]| values[rng.below(values.len() as u64) as usize].clone();
    let planes = one_of(&[1, 2, 4].map(Value::from));
    let dies = [2, 4][usize::from(one_of(&[json!(0), json!(1)]) == 1)];
    let mut file = json!({
        "nand": {
            "cell_type": "TLC", "channels": 2, "dies_per_channel": dies / 2,
            "planes_per_die": planes,
            "multi_plane": planes != 1, "blocks_per_plane": one_of(&[24, 40].map(Value::from)),
            "pages_per_block": 24, "page_size_bytes": 16384,
            "program": one_of(&[json!("page"), json!({"kind": "one_shot", "t_wordline_us": 900})]),
            "independent_planes": one_of(&[true, false].map(Value::from)),
            "timing": {"t_read_us": 40, "t_program_us": 300, "t_erase_us": 2000, "bus_mt_s": 1200},
        },
        "ftl": {
            "over_provisioning_pct": one_of(&[0.3, 0.7].map(Value::from)),
            "gc_reserve_blocks": dies, "write_frontiers": "host_gc", "map_unit_bytes": 4096,
            "allocation": {"kind": "superblock", "dies": "all", "bad_block": "remap"},
            "metadata_share": one_of(&[0.0, 0.04].map(Value::from)),
            "write_buffer_pages": one_of(&[3, 16, 64, 500].map(Value::from)),
            "write_buffer_absorbs": one_of(&[true, false].map(Value::from)),
            "collection": one_of(&[json!("steps"),
                json!({"kind": "steps", "soft_spare_blocks": 1}),
                json!({"kind": "bursts", "superblocks": 0.3})]),
            "slc_cache": one_of(&[json!("none"), json!("none"),
                json!({"kind": "dynamic", "min_erased_blocks": 2}),
                json!({"kind": "static", "blocks_per_die": 2})]),
            "refresh": one_of(&[json!("none"), json!({"after_days": 90}),
                json!({"after_days": 1e-6})]),
        },
        "controller": {
            "scheduler": one_of(&[json!("priority"), json!("out_of_order"), json!("in_order")]),
        },
        "host": {
            "link": one_of(&[json!("pcie4x4"), json!("sata3"), json!("ideal")]),
            "command_cost_us": one_of(&[json!(4), json!({"write": 2, "per_kib": 0.1, "move": 3}),
                json!(0)]),
            "cores": one_of(&[1, 2].map(Value::from)),
            "command_overhead_us": one_of(&[json!(3), json!(0.001), json!(8)]),
        },
    });
    let after_us = one_of(&[20, 200].map(Value::from));
    let idle = json!({"after_us": after_us, "spare_blocks_goal": 4});
    file["ftl"]["idle_collection"] = one_of(&[json!("none"), idle]);
    if file["ftl"]["collection"]["kind"] == "bursts" {
        file["ftl"]["slc_cache"] = json!("none");
    }
    file
}

/// The metrics of a run, but for those that only a watched one has.
fn run(config: DeviceConfig, workload: &Value, breakdown: bool) -> Value {
    let mut simulation = Simulation::new(config, 7);
    let space = simulation.space();
    let workload = WorkloadConfig::resolve(&workload.to_string(), space).expect("a workload");
    simulation.observe(Observation { breakdown, ..Observation::default() });
    simulation.begin(workload.job(space, 7));
    while !simulation.advance(1 << 40).finished {}
    let mut outcome = simulation.outcome();
    assert_eq!(outcome["checks"]["passed"], true, "{}", outcome["checks"]);
    let metrics = outcome["metrics"].as_object_mut().expect("metrics");
    metrics.remove("breakdown");
    metrics.remove("latency_by_collection");
    outcome["metrics"].take()
}

#[test]
fn shortcuts_leave_what_events_leave() {
    let mut compared = 0;
    for case in 0..48 {
        let mut rng = Rng::stream(case, "shortcuts");
        let file = draw(&mut rng);
        let config = || DeviceConfig::resolve(&file.to_string());
        if config().is_err() {
            continue;
        }
        let (read_pct, depth) = ([0, 0, 40][rng.below(3) as usize], 1 + 4 * (case / 4 % 4 / 3));
        let workload = json!({
            "name": "mix", "pattern": "random", "read_pct": read_pct, "queue_depth": depth,
            "block_size_bytes": {"512": 1, "4096": 6, "16384": 1}, "total": {"ios": 6000},
            "precondition": [{"kind": "sequential_fill", "fills": 1}],
        });
        let [short, long] =
            [false, true].map(|watched| run(config().expect("a device"), &workload, watched));
        assert!(short == long, "case {case}: {file} {workload}\n{short}\n{long}");
        compared += 1;
    }
    assert!(compared > 24, "{compared} devices can be");
}
