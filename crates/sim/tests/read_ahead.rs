//! Reading ahead, end to end: what hits cost, how fast one reader gets, and who notices nothing.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::testing;
use opennandlab_sim::timed::Observation;
use serde_json::{json, Value};

/// Two channels of 409.6 MB/s with eight dies each: tR 50 us, 10 us for a page.
fn device() -> Value {
    json!({
        "nand": {"channels": 2, "dies_per_channel": 8, "planes_per_die": 1, "blocks_per_plane": 32,
                 "pages_per_block": 64,
                 "timing": {"t_read_us": 50, "t_program_us": 600, "t_erase_us": 3000,
                            "bus_mt_s": 409.6}},
        "ftl": {"over_provisioning_pct": 0.3, "gc_reserve_blocks": 16},
        "host": {"read_ahead_bytes": "512KiB"},
    })
}

fn run(device: &Value, workload: &Value) -> Value {
    let observation = Observation { breakdown: true, ..Observation::default() };
    testing::run(device, workload, observation).outcome()["metrics"].take()
}

/// Reads at queue depth 1 of a filled drive.
fn reads(pattern: &str, bytes: u64, ios: u64) -> Value {
    json!({"pattern": pattern, "read_pct": 100, "block_size_bytes": bytes, "queue_depth": 1,
           "total": {"ios": ios}, "precondition": [{"kind": "sequential_fill"}]})
}

fn link(mb_s: f64) -> Value {
    json!({"kind": "custom", "mb_s": mb_s, "duplex": "full"})
}

#[test]
fn a_hit_takes_the_command_and_the_link_only() {
    let mut file = device();
    file["host"]["link"] = link(1000.0);
    file["host"]["command_cost_us"] = json!(5);
    let metrics = run(&file, &reads("sequential", 4096, 5000));
    let latency = &metrics["latency_us"]["read"];
    assert_eq!(latency["min"], json!(9.096), "{latency}");
    let mean = latency["mean"].as_f64().expect("a mean");
    assert!((mean - (9.096 + 2.0 * 60.0 / 5000.0)).abs() < 1e-9, "{latency}");
    // The first two come from the flash; all others were fetched, and each once.
    assert_eq!(latency["max"], json!(69.096), "{latency}");
    let pages = &metrics["host_pages"];
    assert_eq!(pages["read_ahead_hits"], 4998, "{pages}");
    assert_eq!(metrics["reads"]["host"].as_u64(), pages["read_ahead"].as_u64().map(|all| all + 2));
    assert_eq!(pages["read_ahead"], 4998 + 128, "{pages}");
}

#[test]
fn one_reader_gets_the_rate_of_the_link_or_of_the_back_end() {
    let mut file = device();
    for bytes in [4096, 131_072] {
        for (mb_s, expected) in [(200.0, 200.0), (500.0, 500.0), (3000.0, 819.2)] {
            file["host"]["link"] = link(mb_s);
            let metrics = run(&file, &reads("sequential", bytes, 80_000_000 / bytes));
            let rate = metrics["throughput_mb_s"]["read"].as_f64().expect("a rate");
            assert!((rate / expected - 1.0).abs() < 0.01, "{bytes}: {rate} against {expected}");
        }
    }
}

#[test]
fn random_reads_notice_nothing() {
    // So few that no two of them follow each other by chance.
    let mut file = device();
    file["host"]["link"] = link(1000.0);
    let with = run(&file, &reads("random", 4096, 500));
    file["host"]["read_ahead_bytes"] = Value::Null;
    let without = run(&file, &reads("random", 4096, 500));
    assert_eq!(with["latency_us"], without["latency_us"]);
    assert_eq!(with["host_pages"]["read_ahead"], 0);
    assert_eq!(without["host_pages"].get("read_ahead"), None, "{}", without["host_pages"]);
}

#[test]
fn units_of_a_page_are_sensed_once() {
    let mut file = device();
    file["nand"]["page_size_bytes"] = json!(16384);
    file["ftl"]["map_unit_bytes"] = json!(4096);
    // 16 dies of 50 us for four units would do 327 000 units a second, their buses 200 000; with a
    // sense for each unit it were 16 / 60 us = 267 000 and a quarter of them is left for others.
    let metrics = run(&file, &reads("sequential", 4096, 20_000));
    let activity = &metrics["activity"];
    let senses = activity["die_busy_ratio"].as_f64().expect("a share")
        * 16.0
        * metrics["duration_s"].as_f64().expect("a time")
        / 50e-6;
    assert!((senses / 5000.0 - 1.0).abs() < 0.02, "{senses} senses for 5000 pages");
}

#[test]
fn every_tenant_has_a_stream() {
    let tenant = |name: &str, from: u32| {
        json!({"name": name, "pattern": "sequential", "read_pct": 100, "queue_depth": 1,
               "range_pct": [from, from + 50]})
    };
    let mut file = device();
    let workload = |tenants: Value| {
        json!({"tenants": tenants, "total": {"ios": 8000},
               "precondition": [{"kind": "sequential_fill"}]})
    };
    file["host"]["link"] = link(200.0);
    let both = run(&file, &workload(json!([tenant("one", 0), tenant("two", 50)])));
    let hits = both["host_pages"]["read_ahead_hits"].as_u64().expect("a count");
    assert_eq!(hits, 8000 - 4, "{}", both["host_pages"]);
}

#[test]
fn every_mechanism_beside_it_keeps_its_checks() {
    let workload = |seed: u32| {
        json!({"pattern": "sequential", "read_pct": 80, "trim_pct": 3, "queue_depth": 1 + seed * 5,
               "block_size_bytes": {"512": 1, "4096": 4, "16384": 1}, "total": {"ios": 10_000},
               "flush_every": 200,
               "precondition": [{"kind": "sequential_fill"},
                                {"kind": "workload", "drive_writes": 1}]})
    };
    for seed in 0..3 {
        let mut file = device();
        file["ecc"] = json!({"algorithm": "bch"});
        file["controller"] = json!({"scheduler": "priority", "suspend": {}, "ecc_decode_us": 3,
                                    "read_retry": {"step_count_max": 5}});
        file["nand"]["planes_per_die"] = json!(2);
        file["nand"]["multi_plane"] = json!(true);
        file["nand"]["independent_planes"] = json!(seed != 1);
        file["nand"]["page_size_bytes"] = json!(8192);
        file["ftl"]["map_unit_bytes"] = json!(4096);
        file["ftl"]["write_frontiers"] = json!("host_gc");
        file["ftl"]["collection"] = json!({"kind": "steps", "step_pages": 4});
        file["host"]["write_cache"] = json!({"pages": 64, "policy": "lru"});
        if seed == 2 {
            file["host"]["read_cache"] = json!({"pages": 64, "policy": "lru"});
        }
        let metrics = run(&file, &workload(seed));
        let pages = &metrics["host_pages"];
        assert!(pages["read_ahead_hits"].as_u64() > Some(100), "{pages}");
    }
}

#[test]
fn windows_that_hold_no_page_are_refused() {
    let mut file = device();
    for (bytes, words) in [(json!(2048), "4096, a page"), (json!("2GiB"), "1073741824")] {
        file["host"]["read_ahead_bytes"] = bytes;
        let error = DeviceConfig::resolve(&file.to_string()).expect_err("out of range");
        assert_eq!(error.path, "host.read_ahead_bytes");
        assert!(error.message.contains(words), "{error}");
    }
}

/// Data that was fetched ahead and could not be corrected was handed to the reader without a word.
#[test]
fn what_is_lost_when_it_is_fetched_is_lost_when_it_is_asked_for() {
    let mut file = device();
    file["nand"]["rber_floor"] = json!(0.02);
    file["nand"]["rber_ceil"] = json!(0.03);
    file["ecc"] = json!({"algorithm": "bch", "bch_m": 14, "bch_t": 4});
    let found = run(&file, &reads("sequential", 4096, 500));
    let lost = &found["lost_reads"];
    assert_eq!((&lost["commands"], &lost["command_share"]), (&json!(500), &json!(1.0)), "{lost}");
    assert_eq!(lost["latency_us"]["served"], Value::Null, "{lost}");
    assert_eq!(lost["latency_us"]["lost"], found["latency_us"]["read"], "{lost}");
}
