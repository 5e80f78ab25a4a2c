//! Mechanisms that are asked for alone do something: each of these keys once changed nothing,
//! because the device ran on the plain back end or an operation started before its partner came.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::{json, Value};

/// Metrics of a workload on a die of two planes with these keys.
fn run(keys: &[(&str, Value)], workload: &Value) -> Value {
    let mut device = json!({
        "nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 2, "blocks_per_plane": 32,
                 "pages_per_block": 64,
                 "timing": {"t_read_us": 50, "t_program_us": 600, "t_erase_us": 3500,
                            "bus_mt_s": 409.6}},
        "ftl": {"over_provisioning_pct": 0.5, "write_frontiers": "host_gc",
                "gc_reserve_blocks": 2},
        "controller": {},
        "ecc": {"algorithm": "none"},
    });
    for (path, value) in keys {
        let (section, key) = path[1..].split_once('/').expect("a section and a key");
        device[section][key] = value.clone();
    }
    let device = DeviceConfig::resolve(&device.to_string()).expect("a device");
    let mut simulation = Simulation::new(device, 42);
    let space = simulation.space();
    let workload = WorkloadConfig::resolve(&workload.to_string(), space).expect("a workload");
    simulation.begin(workload.job(space, 42));
    while !simulation.advance(100_000).finished {}
    let mut outcome = simulation.outcome();
    assert_eq!(outcome["checks"]["passed"], true, "{}", outcome["checks"]);
    outcome["metrics"].take()
}

#[test]
fn a_mechanism_alone_gets_the_full_back_end() {
    let writes = json!({"queue_depth": 4, "total": {"ios": 200}});
    assert!(run(&[], &writes).get("activity").is_none(), "nothing is asked for");
    for (path, value) in [
        ("/nand/multi_plane", json!(true)),
        ("/ftl/collection", json!("steps")),
        ("/ftl/copyback", json!({"limit": 3})),
        ("/ftl/slc_cache", json!({"kind": "static", "blocks_per_die": 2})),
        ("/ftl/parity", json!({"stripe": 4})),
        ("/ftl/compression", json!({"data": "file", "ratio": 0.5})),
    ] {
        let value = if path == "/ftl/collection" { json!({"kind": value}) } else { value };
        assert!(run(&[(path, value)], &writes).get("activity").is_some(), "{path}");
    }
}

#[test]
fn a_read_of_two_planes_is_one_operation_on_an_idle_die() {
    let reads = json!({"pattern": "sequential", "read_pct": 100, "block_size_bytes": 8192,
                       "queue_depth": 1, "total": {"ios": 100},
                       "precondition": [{"kind": "sequential_fill"}]});
    let metrics = run(&[("/nand/multi_plane", json!(true))], &reads);
    // tR once, two transfers.
    assert_eq!(metrics["latency_us"]["read"]["mean"], json!(70.0), "{}", metrics["latency_us"]);
}

#[test]
fn one_step_at_a_time_whatever_the_scheduler() {
    let writes = json!({"queue_depth": {"arrival": "poisson", "iops": 100}, "total": {"ios": 5000},
                        "precondition": [{"kind": "sequential_fill"},
                                         {"kind": "workload", "drive_writes": 3}]});
    let steps = json!({"kind": "steps", "step_pages": 1});
    let metrics = run(&[("/ftl/collection", steps)], &writes);
    // A tenth of the time of a collection of about 30 pages: no write met more than a few moves.
    let p90 = metrics["latency_us"]["write"]["p90"].as_f64().expect("writes");
    assert!(p90 < 0.1 * 30.0 * 670.0, "{p90}");
}
