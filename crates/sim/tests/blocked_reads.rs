//! Firmware that waits for reads whose die programs or erases: what it loses, and when it loses
//! nothing.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::testing::{metrics, number};
use serde_json::{json, Value};

const DIES: f64 = 64.0;
const COST_US: f64 = 10.0;
const READ_US: f64 = 50.0;
const PROGRAM_US: f64 = 500.0;
const COMMANDS: u32 = 200_000;

/// A drive of 64 dies, each with a channel of its own, whose processor limits reads.
fn device(blocked_reads_max: Option<u32>) -> Value {
    json!({
        "nand": {"channels": 64, "dies_per_channel": 1, "planes_per_die": 1, "blocks_per_plane": 32,
                 "pages_per_block": 32,
                 "timing": {"t_read_us": READ_US, "t_program_us": PROGRAM_US, "t_erase_us": 1000,
                            "bus_mt_s": 400}},
        "ftl": {"over_provisioning_pct": 0.5},
        "controller": {"scheduler": "out_of_order", "blocked_reads_max": blocked_reads_max},
        "host": {"command_cost_us": COST_US},
        "ecc": {"algorithm": "none"},
    })
}

fn load(read_pct: f64, depth: u32) -> Value {
    json!({"pattern": "random", "read_pct": read_pct, "block_size_bytes": 4096,
           "queue_depth": depth, "total": {"ios": COMMANDS},
           "precondition": [{"kind": "sequential_fill"}]})
}

fn us_per_command(blocked_reads_max: Option<u32>, work: &Value) -> f64 {
    let found = metrics(&device(blocked_reads_max), work);
    1e6 * number(&found, "/duration_s") / f64::from(COMMANDS)
}

/// Three writes in a thousand: mostly a program is over before the next. While it lasts, each read
/// goes to its die with a probability of 1/64; the first that does waits for the rest of it, and
/// the processor with it, until the page is there.
#[test]
fn a_read_that_meets_a_program_costs_what_is_left_of_it() {
    let work = load(99.7, 32);
    let bus = 1e6 * 4096.0 / 400e6;
    let busy = PROGRAM_US + bus;
    let lost: f64 = (1..100)
        .map(f64::from)
        .take_while(|&k| k * COST_US < busy)
        .map(|k| (1.0 - 1.0 / DIES).powf(k - 1.0) / DIES * (busy - k * COST_US + READ_US + bus))
        .sum();
    let found = us_per_command(Some(1), &work) - us_per_command(None, &work);
    let expected = 0.003 * lost;
    assert!((found / expected - 1.0).abs() < 0.1, "{found} us a command, expected {expected}");
}

#[test]
fn more_reads_that_may_wait_cost_less() {
    let work = load(70.0, 64);
    let [one, four, any] = [Some(1), Some(4), None].map(|most| us_per_command(most, &work));
    assert!(one > 1.5 * four && four > 1.05 * any, "{one}, {four}, {any} us a command");
}

#[test]
fn reads_alone_writes_alone_and_single_commands_lose_nothing() {
    for work in [load(100.0, 64), load(0.0, 16), load(50.0, 1)] {
        let [with, without] = [Some(1), None].map(|most| us_per_command(most, &work));
        assert_eq!(with.to_bits(), without.to_bits(), "{work}");
    }
}

#[test]
fn what_is_out_of_range_is_refused() {
    let error = DeviceConfig::resolve(&device(Some(0)).to_string()).expect_err("refused");
    assert_eq!(error.path, "controller.blocked_reads_max");
}
