//! Decoding that takes its time by what there is to correct, end to end.
//!
//! One die, one page at a time: a read takes tR, its transfer, and the decoding that follows; what
//! a retry takes comes with the decoding that failed before it. Times follow from formulas and from
//! tables of our own, and are met to the nanosecond.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::testing;
use opennandlab_sim::timed::Observation;
use serde_json::{json, Value};

/// tR 50 us, 10 us for a page of 4 KiB, and this raw bit error rate on unworn flash.
fn device(rber: f64, ecc: &Value, controller: &Value) -> Value {
    json!({
        "nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1, "blocks_per_plane": 64,
                 "pages_per_block": 64, "oob_size_bytes": 1024,
                 "timing": {"t_read_us": 50, "t_program_us": 600, "t_erase_us": 3000,
                            "bus_mt_s": 409.6}},
        "ftl": {"over_provisioning_pct": 0.3},
        "ecc": ecc, "controller": controller,
        "reliability": {"kind": "power_law", "floor": rber},
    })
}

/// One codeword a page, of 33408 bits.
fn bch() -> Value {
    json!({"algorithm": "bch", "bch_m": 16, "bch_t": 40})
}

fn ldpc() -> Value {
    json!({"algorithm": "ldpc", "ldpc_code": "nand-4k-r090"})
}

/// Random reads at queue depth 1 of a filled drive; on the full back end if it is watched.
fn reads(device: &Value, is_watched: bool) -> Value {
    let workload = json!({
        "pattern": "random", "read_pct": 100, "block_size_bytes": 4096, "queue_depth": 1,
        "total": {"ios": 300}, "precondition": [{"kind": "sequential_fill"}]});
    let observation = Observation { breakdown: is_watched, ..Observation::default() };
    testing::run(device, &workload, observation).outcome()["metrics"].take()
}

/// The latency of every read, on both back ends.
fn latency_us(device: &Value) -> f64 {
    let (metrics, watched) = (reads(device, false), reads(device, true));
    let latency = &metrics["latency_us"]["read"];
    assert_eq!(latency, &watched["latency_us"]["read"]);
    assert_eq!(latency["min"], latency["max"], "{latency}");
    latency["min"].as_f64().expect("a latency")
}

#[test]
fn bch_takes_a_base_and_a_time_for_each_error() {
    let decode = json!({"ecc_decode": {"base_us": 3, "per_error_us": 0.5}});
    for (rber, errors) in [(0.0, 0.0), (1e-4, 3.3408), (3e-4, 10.0224)] {
        let found = latency_us(&device(rber, &bch(), &decode));
        let expected = 60.0 + 3.0 + 0.5 * errors;
        assert!((found - expected).abs() < 1e-3, "{rber}: {found} instead of {expected}");
    }
    let device = device(3e-4, &bch(), &decode);
    let parts = &reads(&device, true)["breakdown"]["read"]["bands"][0]["parts_us"];
    assert_eq!(parts["ecc"], 8.011, "{parts}");
}

#[test]
fn ldpc_takes_its_iterations() {
    let rows = json!([[1e-3, 2, null, null], [5e-3, 4.5, null, null]]);
    let decode =
        |us: f64| json!({"ecc_decode": {"base_us": 1, "per_iteration_us": us, "iterations": rows}});
    let found = |rber: f64, us: f64| latency_us(&device(rber, &ldpc(), &decode(us)));
    for us in [0.8, 4.0] {
        assert!((found(5e-3, us) - found(1e-3, us) - 2.5 * us).abs() < 1e-9);
        assert!((found(2e-3, us) - (61.0 + 2.625 * us)).abs() < 1e-9);
    }
    // Without rows they follow from the error rate; the decoder itself takes 1.91 and 2.88, see the
    // tests of `ecc::ldpc::evolution`.
    let computed = json!({"ecc_decode": {"per_iteration_us": 1}});
    let found = |rber: f64| latency_us(&device(rber, &ldpc(), &computed)) - 60.0;
    let (few, many) = (found(1e-3), found(3e-3));
    assert!((few - 1.968).abs() < 2e-3 && (many - 3.019).abs() < 3e-3, "{few} {many}");
}

#[test]
fn decodings_that_fail_hold_the_die_and_take_as_long_as_giving_up() {
    // 334 errors are never corrected, a hundredth of them always.
    let controller = json!({
        "read_retry": {"step_count_max": 2, "rber_factor": 0.01, "setup_us": 2},
        "ecc_decode": {"base_us": 3, "per_error_us": 0.5}});
    let device = device(1e-2, &bch(), &controller);
    let metrics = reads(&device, true);
    let once = 50.0 + 10.0;
    let failed = 3.0 + 40.0 * 0.5;
    let expected = once + failed + 2.0 + once + 3.0 + 3.3408 * 0.5;
    let latency = &metrics["latency_us"]["read"];
    let found = latency["max"].as_f64().expect("a latency");
    assert!((found - expected).abs() < 1e-3, "{latency} instead of {expected}");
    assert_eq!(latency["min"], latency["max"]);
    let parts = &metrics["breakdown"]["read"]["bands"][0]["parts_us"];
    assert_eq!(parts["retry"], 75.0, "{parts}");
}

#[test]
fn soft_decisions_take_their_own_time_and_giving_up_the_most() {
    // Hard decisions never decode this, three reads always.
    let controller = json!({
        "soft_read": {"reads": [3], "setup_us": 0},
        "ecc_decode": {"per_iteration_us": 1, "iterations_max": 12, "soft_factor": 2,
                       "iterations": [[1e-2, 12, 4, null]]}});
    let ecc = json!({"algorithm": "ldpc", "ldpc_code": "nand-4k-r090",
                     "fer_table": [[1e-3, 0.1, 1e-9, null], [1e-2, 1, 1e-8, null]]});
    // Three senses and transfers, one decoding that gives up, one of four iterations.
    assert!(
        (latency_us_full(&device(1e-2, &ecc, &controller)) - (180.0 + 12.0 + 8.0)).abs() < 1e-9
    );
}

fn latency_us_full(device: &Value) -> f64 {
    let metrics = reads(device, true);
    metrics["latency_us"]["read"]["max"].as_f64().expect("a latency")
}

#[test]
fn a_base_alone_is_the_constant() {
    let mut drives = Vec::new();
    let calm = device(2e-4, &bch(), &json!({}));
    let mut ahead = calm.clone();
    ahead["host"] = json!({"read_ahead_bytes": "64KiB", "link": "sata3"});
    let retry = json!({"read_retry": {"step_count_max": 3, "rber_factor": 0.8},
                       "scheduler": "priority", "suspend": {}});
    let mut failing = device(1.1e-3, &bch(), &retry);
    failing["nand"]["dies_per_channel"] = json!(4);
    failing["nand"]["planes_per_die"] = json!(2);
    failing["nand"]["independent_planes"] = json!(true);
    let mut rows = failing.clone();
    rows["nand"]["multi_plane"] = json!(true);
    rows["ftl"] = json!({"over_provisioning_pct": 0.5, "allocation": "superblock",
                         "parity": {"kind": "die_stripe"}});
    drives.extend([calm, ahead, failing, rows]);
    let workload = json!({
        "pattern": "sequential", "read_pct": 70, "block_size_bytes": 8192, "queue_depth": 4,
        "total": {"ios": 3000}, "precondition": [{"kind": "sequential_fill"}]});
    for drive in drives {
        let metrics = |form: Value| {
            let mut drive = drive.clone();
            for (key, value) in form.as_object().expect("keys") {
                drive["controller"][key] = value.clone();
            }
            let observation = Observation { breakdown: true, ..Observation::default() };
            testing::run(&drive, &workload, observation).outcome()["metrics"].take()
        };
        let constant = metrics(json!({"ecc_decode_us": 7}));
        let based = metrics(json!({"ecc_decode": {"base_us": 7, "per_error_us": 0}}));
        assert_eq!(constant, based, "{drive}");
        assert_ne!(constant["latency_us"], metrics(json!({}))["latency_us"]);
    }
}

#[test]
fn what_does_not_fit_is_refused_with_what_is_accepted() {
    let decode = |decode: Value| json!({"ecc_decode": decode});
    let good = json!({"per_iteration_us": 1});
    for (ecc, controller, path, words) in [
        (
            bch(),
            json!({"ecc_decode_us": 5, "ecc_decode": {"per_error_us": 1}}),
            "controller.ecc_decode",
            "one of them",
        ),
        (bch(), decode(json!({"per_error_us": -1})), "controller.ecc_decode.per_error_us", "1e6"),
        (bch(), decode(json!({"base_us": 2e6})), "controller.ecc_decode.base_us", "0 to 1e6"),
        (bch(), decode(json!({})), "controller.ecc_decode.per_error_us", "missing"),
        (
            bch(),
            decode(json!({"per_error_us": 1, "iterations_max": 8})),
            "controller.ecc_decode.iterations_max",
            "per_error_us, or ecc.algorithm ldpc",
        ),
        (ldpc(), decode(json!({"per_error_us": 1})), "controller.ecc_decode.per_error_us", "bch"),
        (ldpc(), decode(json!({})), "controller.ecc_decode.per_iteration_us", "missing"),
        (
            ldpc(),
            decode(json!({"per_iteration_us": 1, "iterations_max": 0})),
            "controller.ecc_decode.iterations_max",
            "1 to 1000",
        ),
        (
            ldpc(),
            decode(json!({"per_iteration_us": 1, "soft_factor": 0})),
            "controller.ecc_decode.soft_factor",
            "0.01 to 100",
        ),
        (
            ldpc(),
            decode(json!({"per_iteration_us": 1, "iterations": []})),
            "controller.ecc_decode.iterations",
            "after 1 reads",
        ),
        (
            ldpc(),
            decode(json!({"per_iteration_us": 1, "iterations": [[1e-3, 21, null, null]]})),
            "controller.ecc_decode.iterations",
            "1 to iterations_max = 20",
        ),
        (
            ldpc(),
            json!({"soft_read": {"reads": [7]},
                   "ecc_decode": {"per_iteration_us": 1, "iterations": [[1e-3, 2, 2, null]]}}),
            "controller.ecc_decode.iterations",
            "after 7 reads",
        ),
        (
            ldpc(),
            decode(json!({"per_iteration_us": 1, "iterations": [[0.9, 2, 2, null]]})),
            "controller.ecc_decode.iterations",
            "to 0.5",
        ),
        (
            json!({"algorithm": "none"}),
            decode(good),
            "controller.ecc_decode",
            "ecc.algorithm bch or ldpc",
        ),
    ] {
        let file = device(1e-4, &ecc, &controller).to_string();
        let error = DeviceConfig::resolve(&file).expect_err(words);
        assert_eq!(error.path, path, "{error}");
        assert!(error.message.contains(words), "{error}");
    }
    let file = device(1e-4, &ldpc(), &json!({"ecc_decode": {"per_iteration_us": 1}}));
    let config = DeviceConfig::resolve(&file.to_string()).expect("a device");
    let again = DeviceConfig::resolve(&config.to_json().to_string()).expect("a device");
    assert_eq!(config, again);
    assert_eq!(config.to_json()["controller"]["ecc_decode"]["iterations_max"], 20);
}
