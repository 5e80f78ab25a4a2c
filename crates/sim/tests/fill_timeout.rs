//! Program units that are padded after a while, against Poisson arrivals.
//!
//! A program unit of k map units is programmed when k units have come, or when the timeout `t` has
//! passed since its first. With Poisson arrivals of rate `r` the units of the host in it are
//! `min(k, 1 + N)`, N ~ Poisson(r t), so its write amplification is `k / (1 + sum P(N >= i))`, i
//! from 1 to k - 1.
//!
//! Writes that complete when they are programmed wait for that: for the unit to be full, or for the
//! timeout. Under the same arrivals `n` writes of a unit are there until the next comes, so their
//! mean wait is `sum i P(N >= i) / r / (1 + sum P(N >= i))`, i from 1 to k - 1.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::testing::{metrics, number};
use serde_json::{json, Value};

const UNITS: u32 = 4;
const WRITES_PER_S: f64 = 200.0;

fn device(timeout_us: f64) -> Value {
    json!({
        "nand": {"cell_type": "TLC", "channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
                 "blocks_per_plane": 1024, "pages_per_block": 128, "page_size_bytes": 16384},
        "ftl": {"over_provisioning_pct": 0.28, "map_unit_bytes": 4096,
                "fill_timeout_us": timeout_us},
        "ecc": {"algorithm": "none"},
    })
}

fn writes(count: u32) -> Value {
    json!({"pattern": "random", "read_pct": 0, "block_size_bytes": 4096,
           "queue_depth": {"arrival": "poisson", "iops": WRITES_PER_S}, "total": {"ios": count}})
}

/// `P(N >= i)` of a Poisson count with this mean.
fn at_least(i: u32, mean: f64) -> f64 {
    let mut term = (-mean).exp();
    let mut below = 0.0;
    for k in 0..i {
        below += term;
        term *= mean / f64::from(k + 1);
    }
    1.0 - below
}

#[test]
fn units_are_padded_as_the_arrivals_say() {
    // So few that nothing is collected: moved units would fill up those of the host.
    for timeout_us in [500.0, 5000.0, 20_000.0] {
        let mean = WRITES_PER_S * timeout_us * 1e-6;
        let units: f64 = 1.0 + (1..UNITS).map(|i| at_least(i, mean)).sum::<f64>();
        let form = f64::from(UNITS) / units;
        let waf = number(&metrics(&device(timeout_us), &writes(80_000)), "/waf");
        assert!((waf / form - 1.0).abs() < 0.01, "{timeout_us} us: {waf} against {form}");
    }
}

/// The device, with programs that are short beside what is measured, and writes that wait for them.
fn waiting(timeout_us: f64) -> Value {
    let mut file = device(timeout_us);
    file["nand"]["timing"] = json!({"t_program_us": PROGRAM_US, "bus_mt_s": 1638.4});
    file["ftl"]["writes_complete"] = json!("programmed");
    file
}

const PROGRAM_US: f64 = 20.0;
/// A page of 16 KiB at 1638.4 MB/s.
const TRANSFER_US: f64 = 10.0;

#[test]
fn writes_wait_for_their_program_as_long_as_the_arrivals_say() {
    for timeout_us in [500.0, 5000.0, 20_000.0] {
        let mean = WRITES_PER_S * timeout_us * 1e-6;
        let units: f64 = 1.0 + (1..UNITS).map(|i| at_least(i, mean)).sum::<f64>();
        let waits: f64 = (1..UNITS).map(|i| f64::from(i) * at_least(i, mean)).sum();
        let form = waits / WRITES_PER_S * 1e6 / units;
        let found = metrics(&waiting(timeout_us), &writes(80_000));
        let found = number(&found, "/latency_us/write/mean") - PROGRAM_US - TRANSFER_US;
        assert!((found / form - 1.0).abs() < 0.01, "{timeout_us} us: {found} against {form}");
    }
}

#[test]
fn a_write_by_itself_waits_for_the_timeout_and_four_for_each_other() {
    let program_us = PROGRAM_US + TRANSFER_US;
    for (depth, latency_us) in [(1, 700.0 + program_us), (4, program_us)] {
        let load = json!({"pattern": "random", "block_size_bytes": 4096, "queue_depth": depth,
                          "total": {"ios": 400}});
        let found = metrics(&waiting(700.0), &load);
        let mean = number(&found, "/latency_us/write/mean");
        assert!((mean / latency_us - 1.0).abs() < 1e-9, "{depth}: {mean}");
        assert!((number(&found, "/waf") - f64::from(4 / depth)).abs() < 1e-12);
        // In memory they complete at once.
        let mut file = waiting(700.0);
        file["ftl"]["writes_complete"] = json!("in_memory");
        let found = number(&metrics(&file, &load), "/latency_us/write/min");
        assert!(found < 1e-9, "{depth}: {found}");
    }
}

#[test]
fn pages_of_a_write_buffer_keep_their_slots_until_they_are_programmed() {
    // Eight slots: four pages wait, four are on their way. The ninth write needs a slot of one
    // that leaves, which is programmed with the three that leave after it, or by the timeout.
    let mut file = waiting(700.0);
    file["ftl"]["write_buffer_pages"] = json!(8);
    let load = json!({"pattern": "sequential", "block_size_bytes": 4096, "queue_depth": 1,
                      "total": {"ios": 400}});
    let found = metrics(&file, &load);
    assert!((number(&found, "/waf") - 1.0).abs() < 0.02, "{found}");
    // The flash takes a page of four units in the time of one program, and the buffer evens out
    // nothing over so many writes.
    let seconds = 100.0 * (PROGRAM_US + TRANSFER_US) * 1e-6;
    let duration = number(&found, "/duration_s");
    assert!((duration / seconds - 1.0).abs() < 0.05, "{duration} against {seconds}");
}

/// A read that has to evict a changed entry of the map waits for its map page to be taken, not for
/// the other seven that share its program unit: nobody might ever write those.
#[test]
fn commands_wait_for_no_program_unit_of_the_map() {
    let mut file = waiting(700.0);
    file["nand"]["page_size_bytes"] = json!(4096);
    file["nand"]["blocks_per_plane"] = json!(64);
    file["ftl"]["map_unit_bytes"] = json!(512);
    file["ftl"]["mapping"] = json!({"kind": "dftl", "cache_bytes": 1024});
    let load = json!({"pattern": "random", "read_pct": 50, "block_size_bytes": 512,
                      "total": {"ios": 4000},
                      "precondition": [{"kind": "sequential_fill"}]});
    let [late, early] = ["programmed", "in_memory"].map(|complete| {
        file["ftl"]["writes_complete"] = json!(complete);
        metrics(&file, &load)
    });
    for (metrics, name) in [(&late, "programmed"), (&early, "in_memory")] {
        assert_eq!(number(metrics, "/latency_us/all/count") as u32, 4000, "{name}");
        assert!(number(metrics, "/programs/map") > 500.0, "{name}");
    }
    // Reads wait for nothing that a write in memory does not wait for.
    let reads = [&late, &early].map(|metrics| number(metrics, "/latency_us/read/max"));
    assert!(reads[0] < 700.0, "a read waited for a timeout: {reads:?}");
}

#[test]
fn writes_that_could_wait_for_ever_are_refused() {
    let mut file = waiting(700.0);
    file["ftl"]["fill_timeout_us"] = Value::Null;
    let error = DeviceConfig::resolve(&file.to_string()).expect_err("no timeout");
    assert_eq!(error.path, "ftl.writes_complete");
    assert!(error.message.contains("without ftl.fill_timeout_us"), "{error}");
    let mut file = waiting(700.0);
    file["host"] = json!({"power_loss_protected": true});
    let error = DeviceConfig::resolve(&file.to_string()).expect_err("capacitors");
    assert!(error.message.contains("accepted: in_memory"), "{error}");
}

#[test]
fn capacitors_pad_nothing() {
    let mut file = device(500.0);
    file["host"] = json!({"power_loss_protected": true});
    let waf = number(&metrics(&file, &writes(4000)), "/waf");
    assert!((waf - 1.0).abs() < 1e-3, "{waf}");
}

#[test]
fn timeouts_of_nothing_are_refused() {
    for timeout_us in [0.0, -1.0, 2e9] {
        let error = DeviceConfig::resolve(&device(timeout_us).to_string()).expect_err("refused");
        assert!(error.to_string().contains("above 0, at most 1e9"), "{error}");
    }
}
