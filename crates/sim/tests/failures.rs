//! Programs and erases that fail, in whole runs: how many, what they cost, and how it ends.
//!
//! That no acknowledged data is lost is held by the oracle: the drives of `ftl_oracle` and
//! `ftl_steps` are drawn with failures too.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::testing::{merge, metrics, number};
use serde_json::{json, Value};

/// Two dies of 512 blocks of 32 pages.
fn device(failures: &Value) -> Value {
    json!({
        "nand": {"cell_type": "TLC", "channels": 2, "dies_per_channel": 1, "planes_per_die": 1,
                 "blocks_per_plane": 512, "pages_per_block": 32, "max_pe_cycles": 3000,
                 "failures": failures},
        "ftl": {"over_provisioning_pct": 0.5, "gc_reserve_blocks": 2},
        "ecc": {"algorithm": "none"},
    })
}

fn writes(drive_writes: u32) -> Value {
    json!({"pattern": "random", "read_pct": 0, "block_size_bytes": 4096, "queue_depth": 1,
           "timed": false, "total": {"drive_writes": drive_writes}})
}

/// Binomial counts, within 4.5 standard deviations.
fn expect(found: f64, tries: f64, probability: f64) {
    let mean = tries * probability;
    let limit = 4.5 * (mean * (1.0 - probability)).sqrt();
    assert!((found - mean).abs() < limit, "{found} failed, {mean} +- {limit} expected");
    assert!(mean > 50.0, "{mean} are too few to tell");
}

#[test]
fn as_many_erases_fail_as_their_probability_says() {
    for (erase, growth) in [(4e-3, 1.0), (2e-3, 1.0)] {
        let failures = json!({"erase": erase, "growth": growth});
        let done = metrics(&device(&failures), &writes(40));
        let failed = number(&done, "/failures/erase");
        let erased = number(&done, "/gc_cycles");
        expect(failed, erased + failed, erase);
        assert_eq!(number(&done, "/retired_blocks").to_bits(), failed.to_bits());
        assert_eq!(number(&done, "/failures/program").to_bits(), 0_f64.to_bits());
    }
}

#[test]
fn as_many_programs_fail_as_their_probability_says() {
    let done = metrics(&device(&json!({"program": 1.5e-4})), &writes(40));
    let failed = number(&done, "/failures/program");
    let programs = ["host", "gc", "pad"].map(|it| number(&done, &format!("/programs/{it}")));
    expect(failed, programs.iter().sum(), 1.5e-4);
    // Each program that fails is one that holds nothing.
    assert_eq!(number(&done, "/programs/pad").to_bits(), failed.to_bits());
    // The last ones may wait to be emptied.
    let retired = number(&done, "/retired_blocks");
    assert!(retired <= failed && retired > failed - 6.0, "{retired} retired, {failed} failed");
}

#[test]
fn infants_are_gone_after_their_cycles() {
    let blocks = 1024.0;
    for (ratio, cycles) in [(0.08, 10), (0.12, 4)] {
        let infant = json!({"infant": {"ratio": ratio, "cycles": cycles}});
        let done = metrics(&device(&infant), &writes(60));
        let [erase, program] =
            ["erase", "program"].map(|it| number(&done, &format!("/failures/{it}")));
        // Every block has been erased more often than its defect could wait.
        let least = number(&metrics(&device(&json!({})), &writes(60)), "/wear/min");
        assert!(least > f64::from(cycles), "{least} erases of the least worn block");
        expect(erase + program, blocks, ratio);
        // Half of them each way.
        let limit = 4.5 * (0.25 * (erase + program)).sqrt();
        assert!((erase - program).abs() / 2.0 < limit, "{erase} erases, {program} programs");
        let retired = number(&done, "/retired_blocks");
        assert!(retired <= erase + program && retired > erase + program - 6.0, "{retired}");
        // None is left to fail.
        let later = metrics(&device(&infant), &writes(90));
        let failed = number(&later, "/failures/erase") + number(&later, "/failures/program");
        assert_eq!(failed.to_bits(), (erase + program).to_bits());
    }
}

#[test]
fn infants_fail_in_simulated_time_as_without() {
    let mut file = device(&json!({"infant": {"ratio": 0.08, "cycles": 4}}));
    file["nand"]["blocks_per_plane"] = json!(96);
    let mut workload = writes(12);
    let untimed = metrics(&file, &workload);
    workload["timed"] = json!(true);
    let timed = metrics(&file, &workload);
    for key in ["/failures/erase", "/failures/program", "/retired_blocks", "/waf"] {
        assert_eq!(number(&timed, key).to_bits(), number(&untimed, key).to_bits(), "{key}");
    }
    assert!(number(&timed, "/retired_blocks") > 5.0);
}

#[test]
fn wear_makes_operations_fail_more_often() {
    let rate = |growth: f64| {
        let mut file = device(&json!({"erase": 2e-4, "growth": growth}));
        file["nand"]["max_pe_cycles"] = json!(60);
        let done = metrics(&file, &writes(30));
        number(&done, "/failures/erase")
    };
    let (even, growing) = (rate(1.0), rate(100.0));
    assert!(growing > 3.0 * even.max(5.0), "{growing} against {even} without growth");
}

#[test]
fn health_follows_the_spare_blocks_down_to_the_end() {
    let file = device(&json!({"erase": 4e-3}));
    let fresh = metrics(&file, &writes(1));
    assert_eq!(number(&fresh, "/health/critical_warning").to_bits(), 0_f64.to_bits());
    assert!(number(&fresh, "/health/available_spare_pct") > 95.0);
    let used = metrics(&file, &writes(40));
    let spare = number(&used, "/health/available_spare_pct");
    let share = 1.0 - number(&used, "/retired_blocks") / 340.0;
    assert!((spare / 100.0 - share).abs() < 0.1, "{spare} % of the spare blocks, {share} left");
    let end = metrics(&file, &writes(400));
    assert_eq!(number(&end, "/health/available_spare_pct").to_bits(), 0_f64.to_bits());
    // Without a code, reads fail too: that is bit 4.
    assert_eq!(number(&end, "/health/critical_warning") as u32 & !4, 9);
    assert!(number(&end, "/host_pages/rejected") > 0.0, "the drive is read-only");
    let written = number(&end, "/host_bytes_written");
    let units = number(&end, "/health/data_units_written");
    assert!((units - written / 512_000.0).abs() <= 1.0, "{units} units, {written} bytes");
}

/// Timed writes to a device, with collections whole and, with these keys of the FTL as well, in
/// steps: every check passes, and programs and erases fail in both.
fn fails_in_simulated_time(mut file: Value, beside: &Value) {
    file["nand"]["blocks_per_plane"] = json!(96);
    let mut workload = writes(6);
    workload["timed"] = json!(true);
    workload["queue_depth"] = json!(8);
    let fails = |file: &Value| {
        let done = metrics(file, &workload);
        number(&done, "/failures/program") > 0.0 && number(&done, "/failures/erase") > 0.0
    };
    assert!(fails(&file));
    let steps = json!({"ftl": {"write_frontiers": "host_gc", "collection": "steps"},
                       "controller": {"scheduler": "priority"}});
    merge(&mut file, &steps);
    merge(&mut file["ftl"], beside);
    assert!(fails(&file));
}

#[test]
fn failures_in_simulated_time_pass_every_check() {
    fails_in_simulated_time(device(&json!({"program": 2e-4, "erase": 2e-3})), &json!({}));
}

#[test]
fn failures_that_eat_the_spare_blocks_at_once_are_refused() {
    for (failures, words) in [
        (json!({"program": 0.9}), "in one use of 32 programs"),
        (json!({"erase": 1.0}), "0 to below 1"),
        (json!({"growth": 0.5}), "1 or more"),
        (json!({"infant": {"ratio": 0.5, "cycles": 10}}), "can spare"),
        (json!({"infant": {"ratio": 0.0, "cycles": 10}}), "above 0, below 1"),
        (json!({"infant": {"ratio": 0.01, "cycles": 0}}), "1 to 1e6"),
        (json!({"infant": {"ratio": 0.01}}), "cycles"),
    ] {
        let error = DeviceConfig::resolve(&device(&failures).to_string()).expect_err("refused");
        assert!(error.to_string().contains(words), "{error}");
    }
}

/// The device of `device` as superblocks over four dies.
fn superblocks(failures: &Value) -> Value {
    let mut file = device(failures);
    file["nand"]["dies_per_channel"] = json!(2);
    file["nand"]["blocks_per_plane"] = json!(256);
    file["ftl"]["allocation"] = json!({"kind": "superblock", "bad_block": "remap"});
    file["ftl"]["gc_reserve_blocks"] = json!(8);
    file
}

/// Probability that a Poisson variable is at most so large.
fn poisson_at_most(mean: f64, limit: u32) -> f64 {
    let mut term = (-mean).exp();
    let mut sum = term;
    for count in 1..=limit {
        term *= mean / f64::from(count);
        sum += term;
    }
    sum
}

/// A failed member is replaced from the spare blocks of its die; when there are none a superblock
/// is given up and leaves one on each other die. So as many superblocks are lost as blocks on the
/// die that has lost most: the largest of four Poisson variables, within probabilities of 1e-6.
#[test]
fn superblocks_are_lost_as_fast_as_the_worst_die_loses_blocks() {
    for (failures, key, ends) in [
        (json!({"erase": 1.2e-3}), "erase", 4.0),
        (json!({"program": 4e-5}), "program", 4.0 * 32.0),
    ] {
        let probability = failures[key].as_f64().expect("a number");
        let done = metrics(&superblocks(&failures), &writes(60));
        let failed = number(&done, &format!("/failures/{key}"));
        let mean = number(&done, "/gc_cycles") * ends * probability;
        assert!((failed - mean).abs() < 4.5 * mean.sqrt() && mean > 50.0, "{failed} of {mean}");
        let lost = number(&done, "/retired_blocks") as u32;
        let at_most = |limit: u32| poisson_at_most(mean / 4.0, limit).powi(4);
        let shares = [at_most(lost.saturating_sub(1)), 1.0 - at_most(lost)];
        assert!(shares.iter().all(|&share| share < 1.0 - 1e-6), "{lost} lost, {failed} failed");
        assert!(f64::from(lost) < 0.5 * failed, "{lost} lost, {failed} failed");
    }
}

#[test]
fn failing_members_in_simulated_time_pass_every_check() {
    let file = superblocks(&json!({"program": 1e-4, "erase": 2e-3}));
    let parity = json!({"parity": {"kind": "die_stripe"}, "over_provisioning_pct": 0.3});
    fails_in_simulated_time(file, &parity);
}
