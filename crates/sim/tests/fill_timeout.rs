//! Program units that are padded after a while, against Poisson arrivals.
//!
//! A program unit of k map units is programmed when k units have come, or when the timeout `t` has
//! passed since its first. With Poisson arrivals of rate `r` the units of the host in it are
//! `min(k, 1 + N)`, N ~ Poisson(r t), so its write amplification is `k / (1 + sum P(N >= i))`, i
//! from 1 to k - 1.

use opennandlab_sim::device::DeviceConfig;
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
