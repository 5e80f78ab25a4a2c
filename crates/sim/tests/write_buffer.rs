//! Writes of a part of a page: the write buffer takes them at once, and the flash is read only for
//! what the host has not written by the time a page leaves.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::testing::{metrics, number};
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::{json, Value};

const READ_US: f64 = 50.0;

/// Metrics of a workload on a filled drive with pages of 16 KiB.
fn run(buffer_pages: u32, workload: Value) -> Value {
    run_with(&json!({"write_buffer_pages": buffer_pages}), workload)
}

/// The same with these keys of the FTL.
fn run_with(keys: &Value, mut workload: Value) -> Value {
    let mut file = json!({
        "nand": {"cell_type": "TLC", "channels": 2, "dies_per_channel": 1, "planes_per_die": 1,
                 "blocks_per_plane": 64, "pages_per_block": 64, "page_size_bytes": 16384,
                 "timing": {"t_read_us": READ_US, "t_program_us": 600, "t_erase_us": 3000,
                            "bus_mt_s": 2000}},
        "ftl": {"over_provisioning_pct": 0.28},
        "host": {"command_overhead_us": 5},
    });
    for (key, value) in keys.as_object().expect("keys") {
        file["ftl"][key] = value.clone();
    }
    workload["precondition"] = json!([{"kind": "sequential_fill", "fills": 1}]);
    metrics(&file, &workload)
}

/// Random writes of so many bytes at a rate that leaves the drive idle.
fn calm(bytes: u64, count: u64) -> Value {
    json!({"pattern": "random", "block_size_bytes": bytes,
           "queue_depth": {"arrival": "poisson", "iops": 200}, "total": {"ios": count}})
}

#[test]
fn a_part_of_a_page_takes_no_longer_than_the_page() {
    let latency = |bytes| number(&run(64, calm(bytes, 600)), "/latency_us/write/p50");
    let (part, page) = (latency(4096), latency(16384));
    assert!((part - page).abs() < 1.0, "{part} and {page} us");
    // Without a buffer, the command waits for the read and for the program.
    let written = number(&run(0, calm(4096, 600)), "/latency_us/write/p50");
    assert!(written > part + READ_US + 600.0 - 1.0, "{written} us");
}

#[test]
fn parts_that_complete_each_other_cost_no_read() {
    let writes = json!({"pattern": "sequential", "block_size_bytes": 4096, "queue_depth": 1,
                        "total": {"ios": 4000}});
    let found = run(16, writes);
    assert!(number(&found, "/reads/merge") < 0.5, "{}", found["reads"]);
    assert!((number(&found, "/programs/host") - 1000.0).abs() < 0.5, "8 wait before and after");
}

#[test]
fn a_buffer_that_does_not_absorb_programs_every_version() {
    // Writes to two pages: all are rewrites of one of the 8 that wait.
    let hot = json!({"pattern": "random", "block_size_bytes": 16384, "active_range_pct": 0.065,
                     "queue_depth": 1, "total": {"ios": 4000}});
    for is_timed in [true, false] {
        let mut workload = hot.clone();
        workload["timed"] = json!(is_timed);
        let absorbs = |absorbs: bool| {
            let keys = json!({"write_buffer_pages": 16, "write_buffer_absorbs": absorbs});
            run_with(&keys, workload.clone())
        };
        let (kept, sent) = (absorbs(true), absorbs(false));
        assert!(number(&kept, "/host_pages/absorbed") > 3990.0, "{}", kept["host_pages"]);
        assert!(number(&sent, "/host_pages/absorbed") < 0.5, "{}", sent["host_pages"]);
        let programs = number(&sent, "/programs/host");
        assert!((3992.0..=4008.0).contains(&programs), "{programs}");
    }
}

#[test]
fn a_part_that_stays_alone_costs_one_read_when_it_leaves() {
    // One of 4096 pages is written again while it is one of the last 8 with a chance of 0.002.
    let found = run(16, calm(4096, 1000));
    let left = 1000.0 - 8.0 - number(&found, "/host_pages/absorbed");
    assert!((number(&found, "/reads/merge") - left).abs() < 0.5, "{} {left}", found["reads"]);
    assert!(number(&found, "/host_pages/absorbed") < 10.0, "{}", found["host_pages"]);
}

#[test]
fn a_read_beyond_what_is_buffered_asks_the_flash_too() {
    // As many reads as writes of a few pages: those of the other half of a page go to the flash.
    let mixed = |bytes| {
        json!({"pattern": "random", "read_pct": 50, "block_size_bytes": bytes, "queue_depth": 1,
               "active_range_pct": 0.25, "total": {"ios": 2000}})
    };
    let (parts, pages) = (run(64, mixed(8192)), run(64, mixed(16384)));
    assert!(number(&parts, "/reads/host") > number(&pages, "/reads/host"));
    assert!(number(&parts, "/host_pages/buffer_read") > 100.0, "{}", parts["host_pages"]);
}

/// Mean latency of reads of whole pages of the flash, whose units four hosts wrote in turn, each in
/// order of address in a quarter of the drive.
fn reads_after_four_writers(coalesce_bytes: Option<u64>) -> f64 {
    let mut file = json!({
        "nand": {"cell_type": "TLC", "channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
                 "blocks_per_plane": 64, "pages_per_block": 64, "page_size_bytes": 16384,
                 "timing": {"t_read_us": READ_US, "t_program_us": 600, "t_erase_us": 3000,
                            "bus_mt_s": 1638.4}},
        "ftl": {"over_provisioning_pct": 1.0, "map_unit_bytes": 4096, "write_buffer_pages": 64},
    });
    file["ftl"]["coalesce_bytes"] = json!(coalesce_bytes);
    let device = DeviceConfig::resolve(&file.to_string()).expect("a device");
    let mut simulation = Simulation::new(device, 42);
    let writer = |first: u32| {
        json!({"name": format!("from {first} %"), "pattern": "sequential",
               "block_size_bytes": 4096, "queue_depth": 1, "range_pct": [first, first + 25]})
    };
    let tenants = [0, 25, 50, 75].map(writer);
    let quarter = simulation.space().logical_bytes / 4 / 4096;
    let writes = json!({"total": {"ios": quarter}, "tenants": tenants});
    let reads = json!({"pattern": "sequential", "read_pct": 100, "block_size_bytes": 16384,
                       "queue_depth": 1, "total": {"ios": quarter / 32}});
    let mut found = Value::Null;
    for work in [writes, reads] {
        let space = simulation.space();
        let work = WorkloadConfig::resolve(&work.to_string(), space).expect("a workload");
        simulation.begin(work.job(space, 42));
        while !simulation.advance(1 << 40).finished {}
        found = simulation.outcome();
        assert_eq!(found["checks"]["passed"], true, "{}", found["checks"]);
    }
    number(&found["metrics"], "/latency_us/read/mean")
}

#[test]
fn neighbours_that_leave_the_buffer_together_share_a_page_of_the_flash() {
    // Four units of a page: one sense and four transfers, or four senses of which each but the
    // last lies next to the transfer of the one before.
    let transfer_us = 2.5;
    let together_us = READ_US + 4.0 * transfer_us;
    let apart = reads_after_four_writers(None);
    let pairs = reads_after_four_writers(Some(8192));
    let together = reads_after_four_writers(Some(16384));
    assert!(apart > 3.9 * READ_US, "{apart}");
    assert!(pairs > 1.9 * READ_US && pairs < 2.5 * READ_US, "{pairs}");
    assert!((together / together_us - 1.0).abs() < 0.01, "{together} against {together_us}");
}

#[test]
fn stretches_that_hold_no_two_units_are_refused() {
    for (bytes, words) in [
        (4096_u64, "4096 holds no two map units of 4096 bytes; accepted: omitted"),
        (12_288, "12288 is out of range; accepted: a power of two from 1024"),
        (512, "512 is out of range"),
    ] {
        let file = json!({"ftl": {"coalesce_bytes": bytes, "write_buffer_pages": 64}});
        let error = DeviceConfig::resolve(&file.to_string()).expect_err(words);
        assert_eq!(error.path, "ftl.coalesce_bytes", "{error}");
        assert!(error.message.contains(words), "{error}");
    }
}
