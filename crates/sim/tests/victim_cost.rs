//! Choosing a victim takes time: a drive that its collections bound slows down by the victims of a
//! host write, times the blocks that are looked at, times the time for each.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::testing::{metrics, number};
use serde_json::{json, Value};

/// A die of 128 blocks of 32 pages; `keys` by path.
fn device(keys: &[(&str, Value)]) -> Value {
    let mut file = json!({
        "nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1, "blocks_per_plane": 128,
                 "pages_per_block": 32},
        "ftl": {"over_provisioning_pct": 0.25, "gc_reserve_blocks": 2},
        "controller": {}, "ecc": {"algorithm": "none"},
    });
    for (path, value) in keys {
        let (section, key) = path.split_once('.').expect("a section and a key");
        file[section][key] = value.clone();
    }
    file
}

/// Random writes, one after the other, so the host waits for every collection.
fn writes() -> Value {
    json!({"pattern": "random", "block_size_bytes": 4096, "queue_depth": 1,
           "total": {"drive_writes": 3},
           "precondition": [{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 3}]})
}

/// Microseconds that each victim costs, next to a drive where choosing takes no time.
fn us_per_victim(keys: &[(&str, Value)], us_per_block: f64) -> f64 {
    let free = metrics(&device(keys), &writes());
    let mut file = device(keys);
    file["controller"]["victim_us_per_block"] = json!(us_per_block);
    let slow = metrics(&file, &writes());
    for key in ["/gc_cycles", "/gc_pages_moved", "/waf"] {
        assert_eq!(number(&free, key).to_bits(), number(&slow, key).to_bits(), "{key}");
    }
    let time = number(&slow, "/duration_s") - number(&free, "/duration_s");
    1e6 * time / number(&free, "/gc_cycles")
}

#[test]
fn each_victim_costs_the_blocks_that_its_policy_looks_at() {
    for (policy, blocks) in [
        (json!("fifo"), 1.0),
        (json!("random"), 1.0),
        (json!({"kind": "d_choices", "d": 10}), 10.0),
        (json!({"kind": "windowed_greedy", "window_blocks": 30}), 30.0),
        // All blocks but the two erased ones of the reserve: the open block is full by then.
        (json!("greedy"), 126.0),
        (json!("cost_benefit"), 126.0),
    ] {
        for us in [0.5, 20.0] {
            let found = us_per_victim(&[("ftl.gc_policy", policy.clone())], us) / us;
            assert!((found - blocks).abs() < 1e-3 * blocks, "{policy}, {us} us: {found} blocks");
        }
    }
}

#[test]
fn the_time_of_a_host_write_grows_by_the_victims_that_it_needs() {
    let keys = [("ftl.gc_policy", json!({"kind": "d_choices", "d": 8}))];
    let free = metrics(&device(&keys), &writes());
    let mut file = device(&keys);
    file["controller"]["victim_us_per_block"] = json!(50);
    let slow = metrics(&file, &writes());
    let mean = |it: &Value| number(it, "/latency_us/write/mean");
    let victims = number(&free, "/gc_cycles") / number(&free, "/latency_us/write/count");
    let grown = mean(&slow) - mean(&free);
    let expected = victims * 8.0 * 50.0;
    assert!((grown / expected - 1.0).abs() < 2e-3, "{grown} us, expected {expected}");
}

#[test]
fn collections_in_steps_pay_too() {
    let keys = [
        ("ftl.gc_policy", json!({"kind": "d_choices", "d": 20})),
        ("ftl.collection", json!("steps")),
        ("ftl.write_frontiers", json!("host_gc")),
        ("ftl.gc_reserve_blocks", json!(3)),
    ];
    let free = metrics(&device(&keys), &writes());
    let mut file = device(&keys);
    file["controller"]["victim_us_per_block"] = json!(50);
    let slow = metrics(&file, &writes());
    // Where steps fall depends on time, so the amplification may differ a little.
    let time = |it: &Value| number(it, "/duration_s");
    let moves = 1e-6 * 20.0 * 50.0 * number(&slow, "/gc_cycles");
    let grown = time(&slow) - time(&free) * number(&slow, "/waf") / number(&free, "/waf");
    assert!((grown / moves - 1.0).abs() < 0.1, "{grown} s, expected {moves}");
}

#[test]
fn no_time_is_no_key_and_costs_nothing() {
    let with_zero = [("controller.victim_us_per_block", json!(0))];
    let [plain, zero] = [&[][..], &with_zero[..]].map(|keys| metrics(&device(keys), &writes()));
    assert_eq!(plain, zero);
    let negative = device(&[("controller.victim_us_per_block", json!(-1))]);
    let error = DeviceConfig::resolve(&negative.to_string()).expect_err("refused");
    assert_eq!(error.path, "controller.victim_us_per_block");
    assert!(error.message.contains("0 to 1e6"), "{error}");
}
