//! What the controller has in its memory: reads of pages that are still being written, and writes
//! whose program unit a die takes later.

// Simulated times are whole nanoseconds: they are met exactly.
#![allow(clippy::float_cmp)]

use std::sync::Arc;

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::testing::{merge, metrics, number, run};
use opennandlab_sim::timed::Observation;
use opennandlab_sim::workload::trace::{Trace, TraceOptions};
use opennandlab_sim::workload::ReplayConfig;
use serde_json::{json, Value};

/// One die: tR 60 us, tPROG 700 us, 10 us for 4 KiB on the bus.
fn device(more: &Value) -> Value {
    let mut device = json!({
        "nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1, "blocks_per_plane": 64,
                 "pages_per_block": 64,
                 "timing": {"t_read_us": 60, "t_program_us": 700, "t_erase_us": 3000,
                            "bus_mt_s": 409.6}},
        "ftl": {"over_provisioning_pct": 0.3},
        "ecc": {"algorithm": "none"},
    });
    merge(&mut device, more);
    device
}

/// Metrics of requests in columns: arrival in ns, disk, sector, sectors, 1 to read.
fn replay(device: &Value, requests: &str) -> Value {
    let config = DeviceConfig::resolve(&device.to_string()).expect("a device");
    let mut simulation = Simulation::new(config, 7);
    let space = simulation.space();
    let trace = Trace::read(&mut requests.as_bytes(), "requests", &TraceOptions::default());
    let replay = ReplayConfig::resolve(r#"{"precondition": []}"#, space).expect("a replay");
    let job = replay.job(Arc::new(trace.expect("well formed")), space).expect("it fits");
    simulation.begin(job);
    while !simulation.advance(1 << 20).finished {}
    let outcome = simulation.outcome();
    assert_eq!(outcome["checks"]["passed"], true, "{}", outcome["checks"]);
    outcome["metrics"].clone()
}

/// A read right behind the write of its page took 670 us, and with the scheduler `priority` 605 us,
/// although it counted as served from memory: it waited for its turn on the die that programmed.
#[test]
fn a_read_right_behind_its_write_takes_no_flash_time() {
    let both = "0 0 0 8 0\n1000 0 0 8 1\n";
    for more in [
        json!({}),
        json!({"controller": {"scheduler": "out_of_order"}}),
        json!({"controller": {"scheduler": "in_order"}}),
        json!({"controller": {"scheduler": "priority"}}),
        json!({"controller": {"scheduler": "priority", "suspend": {"program": true}}}),
        json!({"nand": {"cache_commands": {"program": true}}}),
    ] {
        let found = replay(&device(&more), both);
        assert_eq!(number(&found, "/latency_us/read/max"), 0.0, "{more}");
        assert_eq!(number(&found, "/latency_us/write/max"), 710.0, "{more}");
        // Behind a write that waits for another one, too.
        let found = replay(&device(&more), "0 0 8 8 0\n1000 0 0 8 0\n2000 0 0 8 1\n");
        assert_eq!(number(&found, "/latency_us/read/max"), 0.0, "{more}");
        // What is on the flash comes from there.
        let found = replay(&device(&more), "0 0 0 8 0\n711000 0 0 8 1\n");
        assert_eq!(number(&found, "/latency_us/read/max"), 70.0, "{more}");
        // A new write of another page is no reason to find the old one in memory.
        let found = replay(&device(&more), "0 0 0 8 0\n711000 0 8 8 0\n712000 0 0 8 1\n");
        assert!(number(&found, "/latency_us/read/max") > 69.0, "{more}");
    }
    let link = json!({"host": {"link": {"kind": "custom", "mb_s": 1000}}});
    let found = replay(&device(&link), both);
    assert_eq!(number(&found, "/latency_us/read/max"), 4.096);
    let counted = json!({"controller": {"scheduler": "priority"}});
    let found = replay(&device(&counted), both);
    assert_eq!(found["activity"]["memory_reads"], 1);
}

/// Data that moves inside the die is in no memory of the controller.
#[test]
fn a_page_that_is_copied_inside_its_die_is_not_in_memory() {
    let copying = json!({"ftl": {"copyback": {"limit": 3}}});
    let load = json!({"pattern": "random", "read_pct": 60, "queue_depth": 8,
                      "total": {"drive_writes": 1}, "active_range_pct": 20,
                      "precondition": [{"kind": "sequential_fill"},
                                       {"kind": "workload", "drive_writes": 1}]});
    let found = metrics(&device(&copying), &load);
    assert!(number(&found, "/copyback_pages") > 100.0, "{found}");
}

/// Pages of 16 KiB, four units each: 20 us on the bus, 500 us to program.
fn units(more: &Value) -> Value {
    let mut file = device(&json!({
        "nand": {"page_size_bytes": 16384, "timing": {"t_program_us": 500, "bus_mt_s": 819.2}},
        "ftl": {"map_unit_bytes": 4096},
    }));
    merge(&mut file, more);
    file
}

/// Four writes took 0, 0, 0 and 520 us: the last one waited for the program of all four.
#[test]
fn the_write_that_fills_a_program_unit_completes_in_memory_too() {
    let write = |index: u64| format!("{} 0 {} 8 0\n", index * 100_000, index * 8);
    let of = |count: u64| replay(&units(&json!({})), &(0..count).map(write).collect::<String>());
    assert_eq!(number(&of(4), "/latency_us/write/max"), 0.0);
    assert_eq!(number(&of(7), "/latency_us/write/max"), 0.0);
    // The die programs the first unit until 820 us, and takes the second one then; its last write
    // came at 700 us.
    assert_eq!(number(&of(8), "/latency_us/write/max"), 120.0);
    let whole = replay(&units(&json!({})), "0 0 0 32 0\n");
    assert_eq!(number(&whole, "/latency_us/write/max"), 0.0);
    let late = json!({"ftl": {"writes_complete": "programmed", "fill_timeout_us": 100_000}});
    let late = replay(&units(&late), &(0..4).map(write).collect::<String>());
    assert_eq!(number(&late, "/latency_us/write/min"), 520.0);
}

#[test]
fn a_flush_and_a_forced_write_wait_for_the_program_that_is_under_way() {
    for more in [json!({}), json!({"controller": {"scheduler": "priority"}})] {
        let mut load = json!({"pattern": "sequential", "block_size_bytes": 4096, "queue_depth": 1,
                              "flush_every": 4, "total": {"ios": 400}});
        let found = metrics(&units(&more), &load);
        assert_eq!(number(&found, "/waf"), 1.0, "{more}");
        for key in ["min", "max"] {
            assert_eq!(number(&found, &format!("/latency_us/flush/{key}")), 520.0, "{more}");
        }
        assert_eq!(number(&found, "/latency_us/write/max"), 0.0, "{more}");
        load["block_size_bytes"] = json!(16384);
        load["flush_every"] = Value::Null;
        load["fua_pct"] = json!(100);
        let found = metrics(&units(&more), &load);
        assert_eq!(number(&found, "/latency_us/write/min"), 520.0, "{more}");
    }
}

/// The drive takes writes no faster than its die programs: memory holds one unit next to it.
#[test]
fn writes_in_memory_wait_for_their_die() {
    for depth in [1, 16] {
        let load = json!({"pattern": "random", "block_size_bytes": 4096, "queue_depth": depth,
                          "total": {"ios": 4000}});
        let rate = number(&metrics(&units(&json!({})), &load), "/iops/total");
        assert!((rate / (4.0 * 1e6 / 520.0) - 1.0).abs() < 0.01, "{depth}: {rate}");
    }
}

/// Four writes are outstanding, and behind each four of them comes a flush: it finds three under
/// way on the only die, 710 us each. It took no time unless the run was watched.
#[test]
fn a_flush_without_a_write_buffer_waits_for_the_writes_before_it() {
    let load = json!({"pattern": "sequential", "block_size_bytes": 4096, "queue_depth": 4,
                      "flush_every": 4, "total": {"ios": 400}});
    let of = |breakdown| {
        let observation = Observation { breakdown, ..Observation::default() };
        run(&device(&json!({})), &load, observation).outcome()["metrics"].clone()
    };
    let found = of(false);
    assert_eq!(number(&found, "/latency_us/flush/min"), 2130.0);
    assert_eq!(number(&found, "/latency_us/flush/max"), 2130.0);
    let watched = of(true);
    for key in ["/latency_us/flush", "/latency_us/write", "/duration_s"] {
        assert_eq!(watched.pointer(key), found.pointer(key), "{key}");
    }
}
