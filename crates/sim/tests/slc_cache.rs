//! A cache of single-bit blocks of a fixed part and of erased blocks up to a limit: how much it
//! takes, what folding costs, and what is refused.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::ftl::{FlashSink, Ftl};
use opennandlab_sim::nand::{CellMode, Media};
use opennandlab_sim::op::Source;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::testing::{number, CheckedFlash};
use opennandlab_sim::units::Lpn;
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::{json, Value};

/// 22 rows of 4 KiB at one bit per cell, in each of two dies.
const BLOCK_OF_EACH_DIE: u64 = 2 * 22 * 4096;

fn device(cache: &Value) -> Value {
    json!({
        "nand": {"cell_type": "TLC", "channels": 2, "dies_per_channel": 1, "planes_per_die": 1,
                 "blocks_per_plane": 60, "pages_per_block": 66, "page_size_bytes": 4096},
        "ftl": {"over_provisioning_pct": 0.4, "gc_reserve_blocks": 4, "write_frontiers": "host_gc",
                "collection": {"kind": "steps"},
                "idle_collection": {"after_us": 100, "spare_blocks_goal": 4}, "slc_cache": cache},
    })
}

struct Bare {
    ftl: Ftl,
    flash: CheckedFlash,
}

impl Bare {
    fn new(cache: &Value) -> Self {
        let config = DeviceConfig::resolve(&device(cache).to_string()).expect("a device");
        let media = Media::new(config.geometry(), &[0, 0], 1);
        let ftl = Ftl::new(&config.ftl, &config.pool_setup(1), &media);
        Self { ftl, flash: CheckedFlash::of_device(&config, media) }
    }

    /// Writes a page; whether it went to a block of one bit per cell.
    fn write(&mut self, lpn: u32) -> bool {
        self.ftl.write(&mut self.flash, Lpn(lpn)).expect("room");
        let ppn = self.ftl.find(Lpn(lpn)).expect("it was written");
        let media = self.flash.media();
        media.mode(media.geometry().block_of(ppn)) == CellMode::Slc
    }
}

#[test]
fn an_empty_drive_takes_the_fixed_part_and_the_limit_and_then_writes_densely() {
    for (fixed, dynamic) in [(3, 5), (2, 0), (0, 7)] {
        let mut drive = Bare::new(&json!({
            "kind": "hybrid", "static_bytes": fixed * BLOCK_OF_EACH_DIE,
            "dynamic_bytes_max": dynamic * BLOCK_OF_EACH_DIE, "fold": "idle",
        }));
        let cached = (0..2000).take_while(|&lpn| drive.write(lpn)).count() as u64;
        assert_eq!(cached * 4096, (fixed + dynamic) * BLOCK_OF_EACH_DIE, "{fixed} + {dynamic}");
        assert!((2000..2500).all(|lpn| !drive.write(lpn)), "no pause, and so no block is free");
        drive.ftl.audit(drive.flash.media()).expect("the tables agree");
    }
}

#[test]
fn a_drive_that_folds_when_full_writes_every_page_twice() {
    let mut drive = Bare::new(&json!({
        "kind": "hybrid", "static_bytes": 2 * BLOCK_OF_EACH_DIE,
        "dynamic_bytes_max": 4 * BLOCK_OF_EACH_DIE,
    }));
    let pages = drive.ftl.figures().logical_pages();
    let fills = 4;
    for lpn in (0..fills).flat_map(|_| 0..pages) {
        assert!(drive.write(lpn), "all writes pass the cache");
    }
    let programs = drive.ftl.figures().counters().programs;
    let host = u64::from(fills * pages);
    assert_eq!(programs[Source::Host as usize], host);
    // All but what is cached has been folded; overwritten in order, closed blocks die whole.
    let in_cache = 2 * 6 * 22;
    let folded = programs[Source::Fold as usize];
    assert!((host - 2 * in_cache..=host).contains(&folded), "{folded} of {host}");
    assert_eq!(programs[Source::Gc as usize], 0);
    drive.ftl.audit(drive.flash.media()).expect("the tables agree");
}

#[test]
fn guests_give_way_when_the_drive_fills_up() {
    // The limit is more than the spare blocks: a full drive keeps what `min_erased_blocks` leaves.
    let mut drive = Bare::new(&json!({
        "kind": "hybrid", "dynamic_bytes_max": 50 * BLOCK_OF_EACH_DIE, "fold": "full",
    }));
    let pages = drive.ftl.figures().logical_pages();
    let mut cached = 0;
    for lpn in (0..3).flat_map(|_| 0..pages) {
        cached += u32::from(drive.write(lpn));
    }
    assert!(cached > pages, "{cached} of {} writes", 3 * pages);
    drive.ftl.audit(drive.flash.media()).expect("the tables agree");
}

#[test]
fn caches_that_cannot_be_are_refused_with_the_arithmetic() {
    let huge = 61 * BLOCK_OF_EACH_DIE;
    for (cache, path, words) in [
        (json!({"kind": "hybrid"}), "ftl.slc_cache", "a block of each die at one bit"),
        (json!({"kind": "hybrid", "dynamic_bytes_max": huge}), "ftl.slc_cache", "1.081e7"),
        (
            json!({"kind": "hybrid", "static_bytes": 40 * BLOCK_OF_EACH_DIE}),
            "ftl.slc_cache.static_bytes",
            "40 cache",
        ),
        (
            json!({"kind": "hybrid", "static_bytes": 1 << 20, "fold": "idle", "fold_beside": 9}),
            "ftl.slc_cache.fold_beside",
            "0 to 8",
        ),
        (
            json!({"kind": "hybrid", "static_bytes": 1 << 20, "fold_beside": 0.5}),
            "ftl.slc_cache.fold_beside",
            "accepted: 0, or fold idle",
        ),
        (
            json!({"kind": "hybrid", "static_bytes": 1 << 20, "max_pe_cycles": 0}),
            "ftl.slc_cache.max_pe_cycles",
            "1 or more",
        ),
    ] {
        let error = DeviceConfig::resolve(&device(&cache).to_string()).expect_err("a refusal");
        assert_eq!(error.path, path, "{cache}: {}", error.message);
        assert!(error.message.contains(words), "{cache}: {}", error.message);
    }
    let mut file = device(&json!({"kind": "hybrid", "static_bytes": 1 << 20, "fold": "both"}));
    file["ftl"]["idle_collection"] = Value::Null;
    let error = DeviceConfig::resolve(&file.to_string()).expect_err("a refusal");
    assert_eq!(error.path, "ftl.slc_cache.fold");
    assert!(error.message.contains("no pauses"), "{}", error.message);
}

#[test]
fn a_full_cache_is_folded_beside_the_host_in_the_ratio_asked_for() {
    for ratio in [0.25, 0.5, 2.0] {
        let mut drive = Bare::new(&json!({
            "kind": "hybrid", "static_bytes": 2 * BLOCK_OF_EACH_DIE, "fold": "idle",
            "dynamic_bytes_max": 6 * BLOCK_OF_EACH_DIE, "fold_beside": ratio,
        }));
        let cached = (0..2000).take_while(|&lpn| drive.write(lpn)).count() as u32;
        assert_eq!(cached, 2 * 8 * 22, "as without folding");
        // Until all is folded, so many pages go past the cache.
        let past = (f64::from(cached) / ratio) as u32;
        // Each of two dies in whole blocks of both: 66 pages past it, and 22 of the cache.
        let slack = 2.0 * (66.0 * ratio + 22.0);
        let mut folded = 0;
        for (written, lpn) in (1..).zip(cached + 1..cached + 1 + past + 2 * 66) {
            let is_cached = drive.write(lpn);
            folded = drive.ftl.figures().counters().programs[Source::Fold as usize];
            // Without time, the cache takes writes again when all is folded.
            assert!(!is_cached || folded + 44 >= u64::from(cached), "{folded} of {cached}");
            let owed = (ratio * f64::from(written)).min(f64::from(cached));
            let is_paced = (folded as f64 - owed).abs() <= slack;
            assert!(is_paced, "{folded} of {owed} after {written}");
        }
        assert_eq!(folded, u64::from(cached), "all of it");
        assert!(drive.write(0), "the cache is open again");
        drive.ftl.audit(drive.flash.media()).expect("the tables agree");
    }
}

#[test]
fn writes_beside_folding_share_the_time_of_the_die_and_a_pause_opens_the_cache_again() {
    let (ratio, bus_us, read_us, slc_us, tlc_us) = (0.5, 5.0, 20.0, 100.0, 500.0);
    let mut file = device(&json!({
        "kind": "hybrid", "static_bytes": 2 * BLOCK_OF_EACH_DIE, "fold": "idle",
        "dynamic_bytes_max": 30 * BLOCK_OF_EACH_DIE, "fold_beside": ratio,
    }));
    file["nand"]["timing"] = json!({"t_read_us": 50, "t_program_us": tlc_us, "t_erase_us": 1000,
                                    "bus_mt_s": 4096.0 / bus_us});
    file["nand"]["slc_timing"] = json!({"t_read_us": read_us, "t_program_us": slc_us,
                                        "t_erase_us": 1000, "bus_mt_s": 4096.0 / bus_us});
    let config = DeviceConfig::resolve(&file.to_string()).expect("a device");
    let mut simulation = Simulation::new(config, 42);
    let mut write = |pages: u64, idle: Value| {
        let work = json!({"pattern": "sequential", "block_size_bytes": 4096, "queue_depth": 8,
                          "total": {"ios": pages}, "idle": idle});
        let space = simulation.space();
        let work = WorkloadConfig::resolve(&work.to_string(), space).expect("a workload");
        simulation.begin(work.job(space, 42));
        while !simulation.advance(1 << 40).finished {}
        let found = simulation.outcome();
        assert_eq!(found["checks"]["passed"], true, "{}", found["checks"]);
        found["metrics"].clone()
    };
    let cached = 2 * 32 * 22;
    let fast = number(&write(cached, Value::Null), "/duration_s");
    let each = fast * 1e6 / (cached as f64) * 2.0;
    assert!((each / (bus_us + slc_us) - 1.0).abs() < 0.01, "{each} us a page and die");
    let slow = write(1000, Value::Null);
    // A page of the host, and half a page that is read, crosses the bus twice and is programmed;
    // an erase for each 22 of them.
    let folding = read_us + 2.0 * bus_us + tlc_us + 1000.0 / 22.0;
    let expected = bus_us + tlc_us + ratio * folding;
    let each = number(&slow, "/duration_s") * 1e6 / 1000.0 * 2.0;
    assert!((each / expected - 1.0).abs() < 0.05, "{each} us, not {expected}");
    let folded = number(&slow, "/programs/fold");
    assert!((folded / 500.0 - 1.0).abs() < 0.1, "{folded}");
    // In a pause the rest is folded, and what comes then goes to the cache.
    let after = write(900, json!({"busy": {"ios": 100}, "idle_ms": 2000}));
    let rest = cached as f64 - folded;
    assert!((number(&after, "/programs/fold") - rest).abs() < 0.1 * rest, "{}", after["programs"]);
    let latency = number(&after, "/latency_us/write/p50");
    assert!((latency / (4.0 * (bus_us + slc_us)) - 1.0).abs() < 0.05, "{latency}");
}

/// Reads behind a fill met the drive folding its cache, and there was no way to let it finish.
#[test]
fn a_drive_that_rests_until_idle_has_folded_its_cache_before_it_is_read() {
    let mut file = device(&json!({
        "kind": "hybrid", "static_bytes": 3 * BLOCK_OF_EACH_DIE,
        "dynamic_bytes_max": 9 * BLOCK_OF_EACH_DIE, "fold": "idle",
    }));
    file["nand"]["timing"] =
        json!({"t_read_us": 50, "t_program_us": 600, "t_erase_us": 3000, "bus_mt_s": 409.6});
    file["nand"]["slc_timing"] = json!({"t_read_us": 50, "t_program_us": 200, "t_erase_us": 3000});
    file["ecc"] = json!({"algorithm": "none"});
    let after = |rest: Value| {
        let mut steps = vec![json!({"kind": "sequential_fill", "timed": true})];
        steps.extend(rest.as_array().expect("steps").iter().cloned());
        let workload = json!({"pattern": "random", "read_pct": 100, "queue_depth": 1,
                              "total": {"ios": 400}, "precondition": steps});
        let config = DeviceConfig::resolve(&file.to_string()).expect("a device");
        let mut simulation = Simulation::new(config, 7);
        let workload = WorkloadConfig::resolve(&workload.to_string(), simulation.space());
        simulation.begin(workload.expect("a workload").job(simulation.space(), 7));
        while !simulation.advance(1000).finished {}
        let outcome = simulation.outcome();
        assert_eq!(outcome["checks"]["passed"], true, "{}", outcome["checks"]);
        outcome
    };
    let mean_us = |outcome: &Value| number(outcome, "/metrics/latency_us/read/mean");
    let folded = |outcome: &Value| number(outcome, "/metrics/programs/fold");
    let busy = after(json!([]));
    assert!(mean_us(&busy) > 61.0 && folded(&busy) > 0.0, "{}", busy["metrics"]);
    let rested = after(json!([{"kind": "rest", "until": "idle"}]));
    assert_eq!((mean_us(&rested), folded(&rested)), (60.0, 0.0), "{}", rested["metrics"]);
    let record = &rested["state"]["steps"][1];
    let seconds = number(record, "/rest_s");
    assert_eq!(record["step"], "rest until idle");
    assert!(seconds > 0.0 && seconds < 10.0, "{record}");
    // As long in seconds is enough too, and half of it is not.
    let half = after(json!([{"kind": "rest", "seconds": seconds / 2.0}]));
    assert!(folded(&half) > 0.0, "{}", half["metrics"]);
    let whole = after(json!([{"kind": "rest", "seconds": seconds}]));
    assert_eq!(whole["state"]["steps"][1]["rest_s"], record["rest_s"]);
    assert_eq!((mean_us(&whole), folded(&whole)), (60.0, 0.0));
}

#[test]
fn a_rest_is_of_a_length_or_until_idle() {
    let config = DeviceConfig::resolve("{}").expect("the default");
    for (step, path) in [
        (json!({"kind": "rest"}), "precondition[0]"),
        (json!({"kind": "rest", "seconds": 1, "until": "idle"}), "precondition[0]"),
        (json!({"kind": "rest", "seconds": 0}), "precondition[0].seconds"),
    ] {
        let workload = json!({"total": {"ios": 1}, "precondition": [step]});
        let error = WorkloadConfig::resolve(&workload.to_string(), config.space());
        assert_eq!(error.expect_err("refused").path, path, "{workload}");
    }
}
