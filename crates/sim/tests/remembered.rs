//! Read retry that remembers the last good step of each block, end to end.
//!
//! A block is a Markov chain: its state is the step that its reads begin with, and each read of a
//! page, of a type drawn evenly, moves it to the step that corrected the page. From the error rate
//! of each step, which the result states, follow the share of reads in each state and the senses of
//! a read. The drive must have the same.

use opennandlab_ecc::{Bch, PageCode};
use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::testing;
use opennandlab_sim::timed::Observation;
use serde_json::{json, Value};

const STEPS: usize = 5;

/// A drive of TLC by states whose data is this old, with a code that corrects so many bits.
fn device(retention_h: f64, bch_t: u32, remember: bool) -> Value {
    json!({
        "nand": {"channels": 1, "dies_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 24,
                 "pages_per_block": 96, "oob_size_bytes": 1024, "max_pe_cycles": 3000,
                 "stress": {"retention_h": retention_h, "temperature_c": 40},
                 "timing": {"t_read_us": 50, "t_program_us": 600, "t_erase_us": 3000,
                            "bus_mt_s": 409.6}},
        "ftl": {"over_provisioning_pct": 0.5},
        "ecc": {"algorithm": "bch", "bch_m": 16, "bch_t": bch_t},
        "reliability": {"kind": "states"},
        "controller": {"read_retry": {"step_count_max": STEPS, "setup_us": 2,
                                      "remember": remember}},
    })
}

fn reads(device: &Value) -> Value {
    let workload = json!({
        "pattern": "random", "read_pct": 100, "block_size_bytes": 4096, "queue_depth": 1,
        "total": {"ios": 60_000}, "precondition": [{"kind": "sequential_fill"}]});
    let observation = Observation { breakdown: true, ..Observation::default() };
    testing::run(device, &workload, observation).outcome()["metrics"].take()
}

/// Failure probability of each step, by page type.
fn failures(metrics: &Value, bch_t: u32) -> Vec<Vec<f64>> {
    let code = Bch::new(16, bch_t, None).expect("a code");
    let page = PageCode::new(Box::new(code), 4096).expect("a page");
    let types = metrics["raw_errors"]["page_types"].as_object().expect("page types");
    let of = |row: &Value| {
        let rates = row["rber_by_step"].as_array().expect("rates");
        rates
            .iter()
            .map(|rate| page.page_failure_probability(rate.as_f64().expect("a rate")))
            .collect()
    };
    types.values().map(of).collect()
}

/// Where a read ends that begins with a step, and what it takes: step (none: lost), probability,
/// senses.
fn read(failure: &[f64], start: usize) -> Vec<(Option<usize>, f64, f64)> {
    let order = std::iter::once(start).chain((0..failure.len()).filter(|&step| step != start));
    let (mut left, mut ends) = (1.0_f64, Vec::new());
    for (senses, step) in (1..).zip(order) {
        let after = left.min(failure[step]);
        ends.push((Some(step), left - after, f64::from(senses)));
        left = after;
    }
    ends.push((None, left, failure.len() as f64));
    ends
}

/// Senses of a read in the long run; without memory each begins with the default levels.
fn senses(failures: &[Vec<f64>], remembers: bool) -> f64 {
    let mut shares = vec![0.0; failures[0].len()];
    shares[0] = 1.0;
    let mut mean = 0.0;
    for _ in 0..2000 {
        let mut next = vec![0.0; shares.len()];
        mean = 0.0;
        for (start, share) in shares.iter().enumerate() {
            for failure in failures {
                for (end, probability, senses) in read(failure, start) {
                    let weight = share * probability / failures.len() as f64;
                    mean += weight * senses;
                    next[if remembers { end.unwrap_or(start) } else { 0 }] += weight;
                }
            }
        }
        shares = next;
    }
    mean
}

fn measured(metrics: &Value) -> f64 {
    let number = |path| testing::number(metrics, path);
    1.0 + number("/activity/retry_steps") / number("/reads/host")
}

#[test]
fn reads_take_the_senses_of_the_chain_of_their_block() {
    for (retention_h, bch_t) in [(8760.0, 60), (8760.0, 120), (8760.0, 200), (500.0, 90)] {
        let [with, without] =
            [true, false].map(|remember| reads(&device(retention_h, bch_t, remember)));
        let failures = failures(&with, bch_t);
        for (metrics, remembers) in [(&with, true), (&without, false)] {
            let (found, expected) = (measured(metrics), senses(&failures, remembers));
            let is_met = (found / expected - 1.0).abs() < 0.01;
            assert!(is_met, "{retention_h} h, t = {bch_t}: {found} instead of {expected}");
        }
    }
}

#[test]
fn a_remembered_step_costs_its_setup_and_is_counted() {
    let metrics = reads(&device(8760.0, 200, true));
    let count = metrics["recovery"]["remembered"].as_u64().expect("a count");
    assert!(count > 59_000 && count < 60_000, "{count}");
    // tR, its transfer, and what sets the levels: half of the reads take no more.
    let median = testing::number(&metrics, "/latency_us/read/p50");
    assert!((median - 62.0).abs() < 0.05, "{median}");
    let without = reads(&device(8760.0, 200, false));
    assert_eq!(without["recovery"].get("remembered"), None);
    let mut absent = device(8760.0, 200, false);
    absent["controller"]["read_retry"].as_object_mut().expect("keys").remove("remember");
    assert_eq!(without, reads(&absent));
}

#[test]
fn an_erase_forgets() {
    let workload = json!({
        "pattern": "random", "read_pct": 50, "block_size_bytes": 4096, "queue_depth": 4,
        "total": {"ios": 60_000}, "precondition": [{"kind": "sequential_fill"}]});
    let metrics = testing::metrics(&device(8760.0, 200, true), &workload);
    let number = |path| testing::number(&metrics, path);
    let reads = number("/reads/host") + number("/reads/gc");
    let at_default = reads - number("/recovery/remembered");
    let erases = number("/erases/gc");
    // Two of three page types need a step: the first retried read of a block after an erase is
    // the 1.5th on average. Without erases there would be 72 such reads.
    let expected = 1.5 * (erases + 48.0);
    assert!((at_default / expected - 1.0).abs() < 0.1, "{at_default} instead of {expected}");
    assert!(erases > 300.0, "{erases}");
}

#[test]
fn bit_true_reads_are_refused() {
    let mut file = device(8760.0, 40, true);
    file["ecc"]["fidelity"] = json!("bit_true");
    let error = DeviceConfig::resolve(&file.to_string()).expect_err("refused");
    assert_eq!(error.path, "controller.read_retry.remember");
    assert!(error.message.contains("accepted: false, or ecc.fidelity table"), "{error}");
}
