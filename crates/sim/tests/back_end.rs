//! A mechanism switched on by itself has its effect: the device runs on the back end that knows it.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::{json, Value};

/// MB/s of sequential writes of 128 KiB to an empty drive of two dies, bound by their programs.
fn write_mb_s(change: impl Fn(&mut Value)) -> f64 {
    let mut file = json!({
        "nand": {"cell_type": "TLC", "channels": 2, "dies_per_channel": 1, "planes_per_die": 2,
                 "blocks_per_plane": 64, "pages_per_block": 64,
                 "timing": {"t_read_us": 50, "t_program_us": 600, "t_erase_us": 3000,
                            "bus_mt_s": 2000}},
        "ftl": {"over_provisioning_pct": 0.28, "gc_reserve_blocks": 4},
    });
    change(&mut file);
    let device = DeviceConfig::resolve(&file.to_string()).expect("a device");
    let mut simulation = Simulation::new(device, 42);
    let space = simulation.space();
    let workload = json!({"pattern": "sequential", "block_size_bytes": "128KiB",
                          "queue_depth": 4, "total": {"ios": 100}});
    let workload = WorkloadConfig::resolve(&workload.to_string(), space).expect("a workload");
    simulation.begin(workload.job(space, 42));
    while !simulation.advance(100_000).finished {}
    let outcome = simulation.outcome();
    assert_eq!(outcome["checks"]["passed"], true, "{}", outcome["checks"]);
    outcome["metrics"]["throughput_mb_s"]["write"].as_f64().expect("a rate")
}

#[test]
fn planes_that_work_together_double_the_rate() {
    let apart = write_mb_s(|_| ());
    let together = write_mb_s(|file| file["nand"]["multi_plane"] = json!(true));
    assert!((together / apart / 2.0 - 1.0).abs() < 0.05, "{apart} {together}");
}

#[test]
fn a_cache_of_one_bit_per_cell_is_faster_than_three() {
    let native = write_mb_s(|_| ());
    let cached = write_mb_s(|file| {
        file["nand"]["slc_timing"] = json!({"t_program_us": 200});
        file["ftl"]["write_frontiers"] = json!("host_gc");
        file["ftl"]["slc_cache"] = json!({"kind": "dynamic", "min_erased_blocks": 4});
    });
    assert!(cached > 2.5 * native && cached < 3.1 * native, "{native} {cached}");
}
