//! Caches, flush commands and force unit access on a drive: both executors leave the same mapping,
//! every page is accounted for, and what a flush promises holds.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::{json, Value};

fn device(host: &Value, write_buffer_pages: u32) -> DeviceConfig {
    let file = json!({
        "nand": {"channels": 2, "dies_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 64,
                 "pages_per_block": 32, "timing": {"t_read_us": 50, "t_program_us": 500}},
        "ftl": {"over_provisioning_pct": 0.28, "gc_reserve_blocks": 8,
                "write_buffer_pages": write_buffer_pages},
        "host": host,
    });
    DeviceConfig::resolve(&file.to_string()).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The outcome of a workload, and the drive as bytes.
fn run(host: &Value, write_buffer_pages: u32, workload: &Value) -> (Value, Vec<u8>) {
    let mut simulation = Simulation::new(device(host, write_buffer_pages), 42);
    let space = simulation.space();
    let workload = WorkloadConfig::resolve(&workload.to_string(), space)
        .unwrap_or_else(|error| panic!("{workload}: {error}"));
    simulation.begin(workload.job(space, 42));
    while !simulation.advance(100_000).finished {}
    let outcome = simulation.outcome();
    assert_eq!(outcome["checks"]["passed"], true, "{}", outcome["checks"]);
    (outcome, simulation.image())
}

fn mixed(keys: &Value) -> Value {
    let mut workload = json!({
        "pattern": {"kind": "hot_cold", "fraction": 0.1, "share": 0.9},
        "read_pct": 40, "trim_pct": 5, "block_size_bytes": {"2048": 1, "4096": 4, "16384": 1},
        "queue_depth": 8, "total": {"ios": 30_000}, "samples": 10,
        "precondition": [{"kind": "sequential_fill"}],
    });
    for (key, value) in keys.as_object().expect("a mapping") {
        workload[key] = value.clone();
    }
    workload
}

#[test]
fn both_executors_leave_the_same_mapping_with_every_cache() {
    let durable = json!({"flush_every": 97, "fua_pct": 10});
    let policies = ["fifo", "lru", "clock", "two_q"];
    let backs = policies.map(|policy| json!({"write_cache": {"pages": 64, "policy": policy}}));
    let mut hosts = backs.to_vec();
    hosts.push(json!({"write_cache": {"pages": 64, "mode": "write_through"},
                      "read_cache": {"pages": 50, "policy": "two_q"}}));
    hosts.push(json!({"write_cache": {"pages": 64, "enabled": false}}));
    for host in hosts {
        let (timed, timed_image) = run(&host, 0, &mixed(&durable));
        let mut keys = durable.clone();
        keys["timed"] = json!(false);
        let (untimed, untimed_image) = run(&host, 0, &mixed(&keys));
        // Timed, commands overlap, but they are carried out in the same order.
        assert!(timed_image == untimed_image, "{host}");
        assert_eq!(timed["metrics"]["host_pages"], untimed["metrics"]["host_pages"], "{host}");
        assert_eq!(timed["metrics"]["programs"], untimed["metrics"]["programs"], "{host}");
    }
}

#[test]
fn a_fifo_cache_of_the_host_is_the_write_buffer_of_the_ftl() {
    let workload = mixed(&json!({}));
    let (one, _) = run(&json!({"write_cache": {"pages": 32, "policy": "fifo"}}), 0, &workload);
    let (other, _) = run(&json!({}), 32, &workload);
    assert_eq!(one["metrics"], other["metrics"]);
}

#[test]
fn a_flush_after_every_write_makes_a_cache_as_slow_as_none() {
    // One write at a time; with the flush it takes what a write without cache takes.
    let keys = json!({"read_pct": 0, "trim_pct": 0, "queue_depth": 1, "block_size_bytes": 4096,
                      "total": {"ios": 2000}, "pattern": "random"});
    let host = json!({"write_cache": {"pages": 16}});
    let mut durable = keys.clone();
    durable["flush_every"] = json!(1);
    durable["total"] = json!({"ios": 4000});
    let flushed = run(&host, 0, &mixed(&durable)).0["metrics"].take();
    let through = run(&json!({}), 0, &mixed(&keys)).0["metrics"].take();
    let cached = run(&host, 0, &mixed(&keys)).0["metrics"].take();
    let rate = |metrics: &Value, kind: &str| metrics["iops"][kind].as_f64().expect("a rate");
    let expected = rate(&through, "write");
    assert!((rate(&flushed, "write") / expected - 1.0).abs() < 0.05, "{}", flushed["iops"]);
    assert!((rate(&flushed, "flush") / expected - 1.0).abs() < 0.05, "{}", flushed["iops"]);
    assert!(rate(&cached, "write") > 1.5 * expected, "{} {expected}", cached["iops"]);
    // Half of the commands are flushes, each of one page; the first finds 8 of the fill, too.
    let absorbed = flushed["host_pages"]["absorbed"].as_u64().expect("a count");
    assert_eq!(flushed["host_pages"]["flushed"], 2007 - absorbed);
    assert_eq!(flushed["host_pages"]["flush_commands"], 2000);
    let p50 = |kind: &str| flushed["latency_us"][kind]["p50"].as_f64().expect("samples");
    assert!(p50("write") < 1.0 && p50("flush") > 500.0, "{}", flushed["latency_us"]);
}

#[test]
fn forced_writes_bypass_the_cache() {
    let keys = json!({"read_pct": 0, "trim_pct": 0, "queue_depth": 4, "fua_pct": 100});
    let (forced, _) = run(&json!({"write_cache": {"pages": 64}}), 0, &mixed(&keys));
    let (through, _) = run(
        &json!({}),
        0,
        &mixed(&json!({"read_pct": 0, "trim_pct": 0,
                                                            "queue_depth": 4})),
    );
    let mean = |outcome: &Value| {
        outcome["metrics"]["latency_us"]["write"]["mean"].as_f64().expect("samples")
    };
    // The same commands; only the last 32 pages of the fill found a cache to wait in.
    assert!((mean(&forced) / mean(&through) - 1.0).abs() < 0.02);
    assert!(forced["metrics"]["host_pages"]["absorbed"].as_u64() <= Some(32));
    assert_eq!(forced["metrics"]["host_pages"]["fua_commands"], 30_000);
    assert!(!forced["warnings"].to_string().contains("no effect"), "a cache makes them of use");
    let (idle, _) = run(&json!({}), 0, &mixed(&json!({"fua_pct": 50, "flush_every": 100})));
    let warnings = idle["warnings"].to_string();
    assert!(warnings.contains("force unit access had no effect"), "{warnings}");
    assert!(warnings.contains("flush commands had no effect"), "{warnings}");
}

#[test]
fn a_read_cache_hits_as_often_as_its_share() {
    // Uniform reads of a drive of known size: a cache of a quarter of the range hits a quarter.
    let mut workload = mixed(&json!({"pattern": "random", "read_pct": 100, "trim_pct": 0,
                                     "block_size_bytes": 4096, "active_range_pct": 10,
                                     "total": {"ios": 60_000}}));
    let pages = device(&json!({}), 0).logical_pages() / 10;
    let host = json!({"read_cache": {"pages": pages / 4}});
    let (outcome, _) = run(&host, 0, &workload);
    let hits = outcome["metrics"]["host_pages"]["read_cache_hits"].as_f64().expect("a count");
    assert!((hits / 60_000.0 - 0.25).abs() < 0.01, "{hits}");
    assert!(outcome["metrics"]["reads"]["host"].as_f64().expect("a count") + hits > 59_999.0);
    // Writes make the copies stale: they are never served afterwards.
    workload["read_pct"] = json!(50);
    let (outcome, _) = run(&host, 0, &workload);
    let hits = outcome["metrics"]["host_pages"]["read_cache_hits"].as_f64().expect("a count");
    assert!(hits / 30_000.0 < 0.25, "{hits}");
}
