//! What stands between host and flash, end to end: a link that is full carries its rate, a core
//! that is busy serves one command per cost, a throttle lets its budget through.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::{json, Value};

/// Metrics of a workload on a drive of 16 dies that is faster than the host interface in question.
fn run(host: &Value, workload: &Value) -> Value {
    let file = json!({
        "nand": {"channels": 16, "dies_per_channel": 1, "planes_per_die": 1, "blocks_per_plane": 64,
                 "pages_per_block": 64,
                 "timing": {"t_read_us": 5, "t_program_us": 50, "t_erase_us": 500,
                            "bus_mt_s": 2000}},
        "ftl": {"over_provisioning_pct": 0.28, "gc_reserve_blocks": 32},
        "host": host,
    });
    let device = DeviceConfig::resolve(&file.to_string()).expect("a device");
    let mut simulation = Simulation::new(device, 42);
    let space = simulation.space();
    let mut keys = workload.clone();
    keys["precondition"] = json!([{"kind": "sequential_fill"}]);
    let workload = WorkloadConfig::resolve(&keys.to_string(), space).expect("a workload");
    simulation.begin(workload.job(space, 42));
    while !simulation.advance(100_000).finished {}
    let mut outcome = simulation.outcome();
    assert_eq!(outcome["checks"]["passed"], true, "{}", outcome["checks"]);
    outcome["metrics"].take()
}

fn megabytes(metrics: &Value, kind: &str) -> f64 {
    metrics["throughput_mb_s"][kind].as_f64().expect("a rate")
}

fn large(read_pct: u32) -> Value {
    json!({"pattern": "sequential", "read_pct": read_pct, "block_size_bytes": "128KiB",
           "queue_depth": 16, "total": {"ios": 3000}})
}

#[test]
fn a_full_link_carries_its_rate() {
    // 128 KiB and 256 B of frames per command.
    let share = 131_072.0 / (131_072.0 + 256.0);
    for (link, rate) in [("sata2", 300.0), ("sata3", 600.0), ("pcie1x1", 250.0)] {
        let read = megabytes(&run(&json!({"link": link}), &large(100)), "read");
        assert!((read / (rate * share) - 1.0).abs() < 0.005, "{link}: {read}");
    }
    let free = megabytes(&run(&json!({}), &large(100)), "read");
    assert!(free > 2000.0, "the drive itself is faster: {free}");
}

#[test]
fn two_published_rates_give_the_cost_of_a_command_and_of_a_kib() {
    // The Intel DC S3700: 75 000 reads of 4 KiB a second, 47 500 of 8 KiB.
    let (small, large) = (1e6 / 75_000.0, 1e6 / 47_500.0);
    let per_kib = (large - small) / 4.0;
    for cores in [1, 2] {
        let share = f64::from(cores);
        let cost = json!({"read": (small - 4.0 * per_kib) * share, "per_kib": per_kib * share});
        for (kib, rate) in [(4, 75_000.0), (8, 47_500.0), (16, 1e6 / (large + 8.0 * per_kib))] {
            let reads = json!({"read_pct": 100, "block_size_bytes": kib * 1024, "queue_depth": 32,
                               "total": {"ios": 30_000}});
            let metrics = run(&json!({"command_cost_us": cost, "cores": cores}), &reads);
            let iops = metrics["iops"]["read"].as_f64().expect("a rate");
            assert!((iops / rate - 1.0).abs() < 0.002, "{kib} KiB, {cores} cores: {iops}");
        }
    }
}

#[test]
fn duplex_decides_whether_directions_share() {
    let custom = |duplex: &str| json!({"kind": "custom", "mb_s": 250, "duplex": duplex});
    let total =
        |duplex: &str| megabytes(&run(&json!({"link": custom(duplex)}), &large(50)), "total");
    let (half, full) = (total("half"), total("full"));
    assert!((half / 250.0 - 1.0).abs() < 0.005, "{half}");
    // Two wires: up to twice that, less while one direction has nothing to carry.
    assert!(full > 1.6 * half && full < 2.0 * half, "{half} {full}");
}

#[test]
fn a_busy_core_serves_one_command_per_cost() {
    let reads = json!({"read_pct": 100, "queue_depth": 32, "total": {"ios": 20_000}});
    for (cores, cost, rate) in [(1, 10.0, 100_000.0), (2, 10.0, 200_000.0), (4, 8.0, 500_000.0)] {
        let host = json!({"cores": cores, "command_cost_us": {"read": cost}});
        let iops = run(&host, &reads)["iops"]["read"].as_f64().expect("a rate");
        assert!((iops / rate - 1.0).abs() < 0.005, "{cores} cores: {iops}");
    }
}

#[test]
fn protocols_hold_no_more_commands_than_they_may() {
    let reads = json!({"read_pct": 100, "queue_depth": 200, "total": {"ios": 20_000}});
    let iops = |host: &Value| run(host, &reads)["iops"]["read"].as_f64().expect("a rate");
    let one = iops(&json!({"protocol": "emmc"}));
    let queue = iops(&json!({"protocol": {"kind": "emmc", "command_queue": true}}));
    let ncq = iops(&json!({"protocol": "sata_ncq"}));
    let free = iops(&json!({}));
    // One command at a time takes its read and its transfer: 5 us and 4096 + 224 B at 2000 MB/s.
    assert!(one < 1e6 / 5.0 && one > 1e6 / 8.0, "{one}");
    assert!(queue > 5.0 * one && (queue / ncq - 1.0).abs() < 1e-9 && free > ncq, "{queue} {free}");
}

#[test]
fn a_wear_budget_is_kept() {
    // 50 MB/s, half of what the drive could do, without a burst saved up.
    let host = |bytes: &str| {
        json!({"throttle": {"wear": {"tbw_tb": 1577.88, "years": 1, "burst_gb": 0,
                                     "bytes": bytes}}})
    };
    let writes = json!({"queue_depth": 16, "total": {"ios": 40_000}});
    let metrics = run(&host("host"), &writes);
    assert!((megabytes(&metrics, "write") / 50.0 - 1.0).abs() < 0.01, "{metrics}");
    let metrics = run(&host("nand"), &writes);
    let waf = metrics["waf"].as_f64().expect("written");
    assert!(waf > 1.1, "{waf}");
    let nand = waf * megabytes(&metrics, "write");
    assert!((nand / 50.0 - 1.0).abs() < 0.02, "{nand}");
    // Reads are free of it.
    let reads = run(&host("host"), &large(100));
    assert!(megabytes(&reads, "read") > 2000.0);
}

#[test]
fn a_hot_drive_slows_down() {
    // So small a drive that it is hot within milliseconds.
    let thermal = json!({"c_per_w": 10, "time_constant_s": 0.02, "active_mb_s": 1000,
                         "throttle_ratio": 0.2});
    let reads = json!({"pattern": "sequential", "read_pct": 100, "block_size_bytes": "128KiB",
                       "queue_depth": 16, "total": {"seconds": 1}});
    let cool = megabytes(&run(&json!({}), &reads), "read");
    let hot = megabytes(&run(&json!({"throttle": {"thermal": thermal}}), &reads), "read");
    // Between the slow rate and that of the power which holds 70 to 75 degrees: 2.5 to 3 of 5 W
    // above idle, of 1000 MB/s.
    assert!(cool > 2000.0 && hot > 200.0 && hot < 620.0, "{cool} {hot}");
}

/// Metrics of reads one at a time, whose time is `rest` next to the firmware's.
fn reads_one_by_one(host: &Value, ios: u32) -> Value {
    run(host, &json!({"read_pct": 100, "queue_depth": 1, "total": {"ios": ios}}))
}

#[test]
fn firmware_times_that_vary_are_lognormal_around_the_same_mean() {
    // Standard normal quantiles of the percentiles that metrics give.
    const QUANTILES: [(&str, f64, f64); 4] = [
        ("p50", 0.5, 0.0),
        ("p90", 0.9, 1.281_552),
        ("p99", 0.99, 2.326_348),
        ("p999", 0.999, 3.090_232),
    ];
    let ios = 60_000;
    for (sigma, keys, firmware) in [
        (0.3_f64, json!({"command_overhead_us": 40}), 40.0),
        (0.5, json!({"command_cost_us": 30}), 30.0),
        // One factor for both, so the sum varies as one.
        (0.2, json!({"command_overhead_us": 10, "command_cost_us": {"read": 20}}), 30.0),
    ] {
        let mut varied = keys.clone();
        varied["jitter"] = json!({"kind": "lognormal", "sigma": sigma});
        let [constant, varied] = [&keys, &varied].map(|host| reads_one_by_one(host, ios));
        let of = |metrics: &Value, key: &str| {
            metrics["latency_us"]["read"][key].as_f64().expect("a latency")
        };
        let mean = of(&constant, "mean");
        let rest = mean - firmware;
        let stddev = firmware * (sigma * sigma).exp_m1().sqrt();
        let error = stddev / f64::from(ios).sqrt();
        let found = of(&varied, "mean");
        assert!((found - mean).abs() < 4.5 * error, "sigma {sigma}: {found} against {mean}");
        for (key, share, z) in QUANTILES {
            let expected = firmware * (sigma * z - sigma * sigma / 2.0).exp();
            // Standard error of a sample quantile, sqrt(p (1 - p) / n) / density; bins of the
            // histogram are up to 1.6 % wide.
            let density = (-z * z / 2.0).exp() / (std::f64::consts::TAU.sqrt() * sigma * expected);
            let error = (share * (1.0 - share) / f64::from(ios)).sqrt() / density;
            let found = of(&varied, key) - rest;
            let limit = 4.5 * error + 0.016 * (expected + rest);
            assert!((found - expected).abs() < limit, "sigma {sigma}, {key}: {found}, {expected}");
        }
    }
}

#[test]
fn cores_are_as_busy_with_times_that_vary() {
    let reads = json!({"read_pct": 100, "queue_depth": 32, "total": {"ios": 40_000}});
    let host = json!({"command_cost_us": 10, "jitter": {"kind": "lognormal", "sigma": 0.4}});
    let iops = run(&host, &reads)["iops"]["read"].as_f64().expect("a rate");
    // A core that is never idle: n commands take n times the mean, within its standard error.
    let error = (0.4_f64.powi(2).exp_m1() / 40_000.0).sqrt();
    assert!((iops / 100_000.0 - 1.0).abs() < 4.5 * error + 1e-3, "{iops}");
}
