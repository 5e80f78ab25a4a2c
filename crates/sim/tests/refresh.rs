//! Refresh against closed forms: how often data moves, and what that adds to the writes.
//!
//! A pool whose data fills n closed blocks refreshes each once per `after_days`, so over a time T
//! it refreshes `n T / after_days` of them, to within one where they closed evenly. The open block
//! is never moved.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::testing::{merge, metrics, number, run};
use opennandlab_sim::timed::Observation;
use opennandlab_sim::units::Ns;
use serde_json::{json, Value};

const PAGES: u32 = 32;
/// 8.64 s.
const AFTER_DAYS: f64 = 1e-4;
const AFTER_S: f64 = AFTER_DAYS * 86_400.0;

/// Two dies of 40 blocks of 32 pages, with options.
fn device(options: &Value) -> Value {
    let mut document = json!({
        "nand": {"channels": 2, "dies_per_channel": 1, "planes_per_die": 1, "blocks_per_plane": 40,
                 "pages_per_block": PAGES},
        "ftl": {"over_provisioning_pct": 0.5, "refresh": {"after_days": AFTER_DAYS}},
    });
    merge(&mut document, options);
    document
}

/// Both forms of collection, on either back end and in superblocks.
fn makes() -> Vec<(&'static str, Value)> {
    let steps = json!({"collection": "steps", "write_frontiers": "host_gc"});
    let mut wide = steps.clone();
    wide["allocation"] = json!("superblock");
    vec![
        ("whole, plain", json!({})),
        ("whole, full", json!({"controller": {"scheduler": "priority"}})),
        ("whole, apart", json!({"ftl": {"write_frontiers": "host_gc"}})),
        (
            "whole, hot and cold",
            json!({"ftl": {"write_frontiers": {"kind": "hot_cold", "fraction": 0.5}}}),
        ),
        ("whole, superblocks", json!({"ftl": {"allocation": "superblock"}})),
        ("steps", json!({"ftl": steps, "controller": {"scheduler": "priority"}})),
        ("steps, in order", json!({"ftl": steps})),
        ("steps, superblocks", json!({"ftl": wide, "controller": {"scheduler": "priority"}})),
    ]
}

/// Poisson commands of a page for so long, on a drive that was filled in order.
fn load(read_pct: u32, iops: f64, seconds: f64) -> Value {
    json!({"pattern": "random", "read_pct": read_pct, "block_size_bytes": 4096,
           "queue_depth": {"arrival": "poisson", "iops": iops},
           "total": {"ios": (iops * seconds) as u64},
           "precondition": [{"kind": "sequential_fill"}]})
}

/// Pools, their blocks of data that are closed after a fill, and the pages of a block.
fn closed_blocks(device: &Value) -> (f64, f64, f64) {
    let config = DeviceConfig::resolve(&device.to_string()).expect("a device");
    let geometry = config.geometry();
    let pools = f64::from(geometry.die_count);
    let pages = f64::from(geometry.pages_per_block);
    // The block of the last pages is not closed before another is needed.
    let of_pool = (f64::from(config.logical_pages()) / pools / pages).ceil() - 1.0;
    (pools, of_pool, pages)
}

#[test]
fn a_drive_that_is_only_read_moves_all_its_data_once_per_age() {
    for (name, options) in makes() {
        let device = device(&options);
        let metrics = metrics(&device, &load(100, 20.0, 12.0 * AFTER_S));
        let (pools, of_pool, pages) = closed_blocks(&device);
        let periods = number(&metrics, "/duration_s") / AFTER_S;
        let blocks = number(&metrics, "/refresh/blocks");
        // Two kinds of data lie in two open blocks, and fill blocks that others left in part.
        let slack = if name.contains("hot") { 1.0 + periods } else { 1.0 };
        let gap = (blocks / pools - of_pool * periods).abs();
        assert!(gap <= slack, "{name}: {blocks} blocks, {of_pool} x {periods} x {pools} pools");
        let programs = number(&metrics, "/programs/refresh");
        assert_eq!(metrics["programs"]["refresh"], metrics["reads"]["refresh"], "{name}");
        assert_eq!(metrics["erases"]["refresh"], metrics["refresh"]["blocks"], "{name}");
        if !name.contains("hot") {
            assert!((programs - blocks * pages).abs() < 0.5, "{name}: every block is full");
            assert_eq!(metrics["erases"]["gc"], 0, "{name}");
        }
        assert_eq!(metrics["refresh"]["by_rber"], 0, "{name}");
    }
}

#[test]
fn light_writes_have_the_amplification_of_the_load_and_of_refresh() {
    for (name, options) in makes() {
        let device = device(&options);
        let metrics = metrics(&device, &load(0, 4.0, 30.0 * AFTER_S));
        let config = DeviceConfig::resolve(&device.to_string()).expect("a device");
        let (pools, _, pages) = closed_blocks(&device);
        let host = number(&metrics, "/programs/host");
        let written = host / number(&metrics, "/duration_s") * AFTER_S;
        // A page that is written lies in an open block for some time, and is young for a whole
        // period: half of the writes of a period, and half of each open block, move no page.
        let live = f64::from(config.logical_pages()) - written / 2.0 - pools * pages / 2.0;
        let expected = live * number(&metrics, "/duration_s") / AFTER_S / host;
        let share = number(&metrics, "/programs/refresh") / host;
        assert!((share / expected - 1.0).abs() < 0.03, "{name}: {share}, expected {expected}");
        let moved = number(&metrics, "/programs/gc") + number(&metrics, "/programs/refresh");
        let waf = number(&metrics, "/waf");
        assert!((waf - 1.0 - moved / host).abs() < 1e-9, "{name}: {waf}");
    }
}

#[test]
fn a_busy_drive_is_refreshed_too_and_not_all_at_once() {
    for (name, options) in makes() {
        let device = device(&options);
        let mut load = load(100, 1.0, 1.0);
        load["queue_depth"] = json!(64);
        load["total"] = json!({"ios": 50_000});
        let mut device = device.clone();
        device["nand"]["timing"] = json!({"t_read_us": 1000});
        let metrics = metrics(&device, &load);
        let seconds = number(&metrics, "/duration_s");
        let blocks = number(&metrics, "/refresh/blocks") / closed_blocks(&device).0;
        // One block of each pool in a second, once one is a second late; more in idle time, since
        // the commands wait for the refresh of one pool while the other is idle. Three become due
        // in a second.
        assert!(seconds > 8.0, "{name}: {seconds}");
        assert!(
            blocks > 0.5 * (seconds - 2.0) && blocks < 2.3 * seconds,
            "{name}: {blocks} in {seconds}"
        );
    }
}

#[test]
fn a_block_that_is_read_often_is_refreshed_before_it_errs_more() {
    // A block errs `factor x pages` per read of each of its pages; 16 reads of each are too many.
    let options = json!({
        "nand": {"channels": 1, "max_pe_cycles": 3000,
                 "stress": {"count_reads": true}},
        "reliability": {"kind": "read_disturb", "factor": 1e-7, "exponent": 1e-9,
                        "pages_per_block": PAGES},
        "ecc": {"algorithm": "none"},
        "ftl": {"refresh": {"after_days": null, "at_rber": 16.0 * 1e-7 * f64::from(PAGES)}},
    });
    let rounds = 100.0;
    for (name, more) in makes() {
        let mut options = options.clone();
        merge(&mut options, &more);
        let device = device(&options);
        let config = DeviceConfig::resolve(&device.to_string()).expect("a device");
        let pages = f64::from(config.logical_pages());
        let reads = json!({
            "pattern": "sequential", "read_pct": 100, "block_size_bytes": 4096, "queue_depth": 1,
            "total": {"ios": (rounds * pages) as u64},
            "precondition": [{"kind": "sequential_fill", "fills": 3}]});
        let found = metrics(&device, &reads);
        let most = number(&found, "/raw_errors/reads_per_page_max");
        // A block is found in round 17 and has moved before round 18 is over, or in the one behind
        // it: reads of pages that are being moved come from memory, and the host goes on meanwhile.
        // The open block of a host that only reads stays where it is.
        let own_block = name.contains("apart") || name.contains("steps");
        let range = if own_block { 0.9 * rounds..=rounds } else { 16.0..=19.0 };
        assert!(range.contains(&most), "{name}: {most}");
        let (pools, of_pool, _) = closed_blocks(&device);
        let blocks = number(&found, "/refresh/by_rber");
        let times = |reads: f64, open: f64| (rounds / reads).floor() * pools * (of_pool + open);
        let range = times(18.0, 0.0)..=times(16.0, 1.0);
        assert!(range.contains(&blocks), "{name}: {blocks}, expected {range:?}");
        assert_eq!(found["refresh"]["by_age"], 0, "{name}");
        let mut without = device.clone();
        without["ftl"]["refresh"] = json!("none");
        let without = metrics(&without, &reads);
        assert!(without.get("refresh").is_none() && without["erases"].get("refresh").is_none());
        let most = number(&without, "/raw_errors/reads_per_page_max");
        assert!((most - rounds).abs() < 1.0, "{name}: {most} without refresh");
    }
}

/// Lets time pass; returns the flash operations.
fn idle(drive: &mut Simulation, seconds: f64) -> u64 {
    drive.begin_idle(Ns((seconds * 1e9).round() as u64));
    loop {
        let progress = drive.advance(100_000);
        if progress.finished {
            drive.audit().expect("the audit passes");
            return progress.flash_ops;
        }
    }
}

fn filled(options: &Value) -> Simulation {
    let device = DeviceConfig::resolve(&device(options).to_string()).expect("a device");
    let mut drive = Simulation::new(device, 42);
    let limit = json!({"bytes": drive.space().logical_bytes});
    let cell = json!({"pattern": "sequential", "block_bytes": 131_072, "is_measured": false,
                      "limit": limit});
    drive.begin_cell(&cell.to_string(), 1).expect("a cell");
    while !drive.advance(100_000).finished {}
    drive
}

#[test]
fn the_clock_goes_on_from_one_idle_time_to_the_next() {
    for (name, options) in makes() {
        let (mut one, mut many) = (filled(&options), filled(&options));
        let (pools, of_pool, pages) = closed_blocks(&device(&options));
        // Each page is read and programmed, and each block is erased.
        let of_block = 2.0 * pages + 1.0;
        let expected = 3.0 * pools * of_pool * of_block;
        let at_once = idle(&mut one, 3.0 * AFTER_S) as f64;
        let in_parts = (0..30).map(|_| idle(&mut many, 0.1 * AFTER_S)).sum::<u64>() as f64;
        if !name.contains("hot") {
            assert!((at_once - expected).abs() <= pools * of_block, "{name}: {at_once}");
        }
        // A step that would begin after the end of one time is taken in the next.
        assert!((at_once - in_parts).abs() <= pools * of_block, "{name}: {at_once}, {in_parts}");
        // A checkpoint keeps the clock and what is due.
        let mut again = Simulation::from_checkpoint(&one.checkpoint()).expect("a checkpoint");
        idle(&mut one, 0.7 * AFTER_S);
        idle(&mut again, 0.7 * AFTER_S);
        assert!(one.checkpoint() == again.checkpoint(), "{name}");
    }
}

#[test]
fn nothing_becomes_due_without_a_clock() {
    let writes = json!({"pattern": "random", "read_pct": 0, "block_size_bytes": 4096,
                        "timed": false, "total": {"drive_writes": 5}});
    let simulation = run(&device(&json!({})), &writes, Observation::default());
    let metrics = simulation.outcome()["metrics"].take();
    assert_eq!(metrics["refresh"], json!({"blocks": 0, "by_age": 0, "by_rber": 0}));
    assert_eq!(metrics["programs"]["refresh"], 0);
}

#[test]
fn patrol_reads_every_page_once_in_its_period_evenly() {
    let patrol = json!({"ftl": {"refresh": "none"},
                        "controller": {"patrol": {"period_days": AFTER_DAYS}}});
    let units = json!({"nand": {"page_size_bytes": 16384}, "ftl": {"map_unit_bytes": 4096}});
    let more = makes().into_iter().chain([("units of a page", units)]);
    for (name, mut options) in more {
        merge(&mut options, &patrol);
        let device = device(&options);
        let mut load = load(100, 20.0, 12.0 * AFTER_S);
        load["block_size_bytes"] = json!(4096);
        let metrics = metrics(&device, &load);
        let (pools, of_pool, pages) = closed_blocks(&device);
        let seconds = number(&metrics, "/duration_s");
        let reads = number(&metrics, "/patrol/reads");
        let expected = pools * of_pool * pages * seconds / AFTER_S;
        // One page of the flash at a time.
        assert!((reads - expected).abs() <= 4.0, "{name}: {reads}, expected {expected}");
        assert_eq!(metrics["reads"]["refresh"], metrics["patrol"]["reads"], "{name}");
        assert_eq!(metrics["programs"]["refresh"], 0, "{name}");
    }
}

#[test]
fn patrol_finds_what_the_host_does_not_read() {
    // Every block is read once per page in a period, and 4 reads of each page are too many (class 1
    // stands for 4.4). The host reads one page in one block.
    let options = json!({
        "nand": {"channels": 1, "stress": {"count_reads": true}},
        "controller": {"patrol": {"period_days": AFTER_DAYS}},
        "reliability": {"kind": "read_disturb", "factor": 1e-7, "exponent": 1e-9,
                        "pages_per_block": PAGES},
        "ecc": {"algorithm": "none"},
        "ftl": {"refresh": {"after_days": null, "at_rber": 4.2 * 1e-7 * f64::from(PAGES)}},
    });
    let device = device(&options);
    let mut load = load(100, 0.5, 40.0 * AFTER_S);
    load["active_range_pct"] = json!(1);
    load["precondition"] = json!([{"kind": "sequential_fill", "fills": 3}]);
    let metrics = metrics(&device, &load);
    let periods = number(&metrics, "/duration_s") / AFTER_S;
    let (_, of_pool, _) = closed_blocks(&device);
    let blocks = number(&metrics, "/refresh/by_rber");
    // Found in the fifth period, between the first and the last page of a block.
    let range = of_pool * (periods / 5.0).floor()..=(of_pool + 1.0) * periods / 4.0;
    assert!(range.contains(&blocks), "{blocks} blocks, expected {range:?}");
}

#[test]
fn patrol_goes_on_where_it_was() {
    let options = json!({"ftl": {"refresh": "none"},
                         "controller": {"patrol": {"period_days": AFTER_DAYS}}});
    let (mut one, mut many) = (filled(&options), filled(&options));
    let (pools, of_pool, pages) = closed_blocks(&device(&options));
    let at_once = idle(&mut one, AFTER_S);
    // Pauses shorter than the time between two reads.
    let in_parts: u64 = (0..10_000).map(|_| idle(&mut many, 1e-4 * AFTER_S)).sum();
    let expected = (pools * of_pool * pages) as u64;
    assert!(
        at_once.abs_diff(expected) <= 1 && in_parts.abs_diff(expected) <= 1,
        "{at_once}, {in_parts}, {expected}"
    );
    let mut again = Simulation::from_checkpoint(&one.checkpoint()).expect("a checkpoint");
    assert_eq!(idle(&mut one, 0.4 * AFTER_S), idle(&mut again, 0.4 * AFTER_S));
    assert!(one.checkpoint() == again.checkpoint());
}

#[test]
fn contradictions_are_refused_with_the_reason() {
    for (refresh, path, words) in [
        (json!({}), "ftl.refresh", "at least one of them"),
        (json!({"after_days": 0}), "ftl.refresh.after_days", "1e-6 to 36500"),
        (json!({"at_rber": 0.5}), "ftl.refresh.at_rber", "below 0.5"),
        (json!("weekly"), "ftl.refresh", "weekly"),
    ] {
        let json = json!({"ftl": {"refresh": refresh}}).to_string();
        let error = DeviceConfig::resolve(&json).expect_err(&json);
        assert!(error.path == path && error.message.contains(words), "{error}");
    }
    let json = json!({"controller": {"patrol": {"period_days": -1}}}).to_string();
    let error = DeviceConfig::resolve(&json).expect_err(&json);
    assert!(
        error.path == "controller.patrol.period_days" && error.message.contains("1e-6 to 36500")
    );
}
