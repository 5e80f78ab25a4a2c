//! What the options of the FTL cost and win, against figures that can be computed by hand.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::ftl::Ftl;
use opennandlab_sim::nand::Media;
use opennandlab_sim::rng::Rng;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::testing::CheckedFlash;
use opennandlab_sim::units::Lpn;
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::{json, Value};

/// A drive of two dies with 100 blocks of 60 pages, and these keys besides.
fn device(nand: &Value, ftl: &Value) -> Value {
    let mut device = json!({
        "nand": {"channels": 2, "dies_per_channel": 1, "planes_per_die": 1,
                 "blocks_per_plane": 100, "pages_per_block": 60},
        "ftl": {"over_provisioning_pct": 0.25, "write_frontiers": "host_gc",
                "gc_reserve_blocks": 2},
    });
    for (section, keys) in [("nand", nand), ("ftl", ftl)] {
        for (key, value) in keys.as_object().expect("a mapping") {
            device[section][key] = value.clone();
        }
    }
    device
}

/// The metrics of a pattern on a drive, after the preconditioning that is asked for.
fn measure(device: &Value, pattern: &str, drive_writes: f64, precondition: &Value) -> Value {
    let config = DeviceConfig::resolve(&device.to_string()).expect("a device");
    let mut simulation = Simulation::new(config, 7);
    let space = simulation.space();
    let workload = json!({"name": "test", "pattern": pattern, "timed": false,
                          "total": {"drive_writes": drive_writes}, "precondition": precondition});
    let workload = WorkloadConfig::resolve(&workload.to_string(), space).expect("a workload");
    simulation.begin(workload.job(space, 7));
    while !simulation.advance(1 << 40).finished {}
    let outcome = simulation.outcome();
    assert_eq!(outcome["checks"]["passed"], true, "{}", outcome["checks"]);
    outcome["metrics"].clone()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

fn none() -> Value {
    json!({})
}

#[test]
fn compressed_data_is_written_less_than_once() {
    let random = device(&none(), &json!({"compression": {"data": "random"}}));
    let waf = measure(&random, "sequential", 4.0, &json!([]))["waf"].clone();
    assert_eq!(waf, json!(1.0));
    let file = device(&none(), &json!({"compression": {"data": "file", "ratio": 0.5}}));
    let metrics = measure(&file, "sequential", 4.0, &json!([]));
    assert!((number(&metrics["waf"]) - 0.5).abs() < 1e-4, "{}", metrics["waf"]);
    // Steady random writes: with the spare area of 1 - 0.8 / 2 collections move little, and what
    // they move is compressed too.
    let steady = json!([{"kind": "sequential_fill", "fills": 1}]);
    let plain = number(&measure(&device(&none(), &none()), "random", 8.0, &steady)["waf"]);
    let packed = number(&measure(&file, "random", 8.0, &steady)["waf"]);
    assert!(plain > 1.8 && packed < 0.65, "{plain} plain, {packed} compressed");
}

#[test]
fn parity_costs_its_share_of_the_programs() {
    let striped = device(&none(), &json!({"parity": {"stripe": 6}}));
    let metrics = measure(&striped, "sequential", 10.0, &json!([]));
    let programs = &metrics["programs"];
    // Die 0: ten stripes of six. Die 1: parity after four pages, then nine stripes, then one page
    // that closes the last of them with six data pages.
    let expected = (10.0 + 10.0) / (50.0 + 50.0);
    let share = number(&programs["parity"]) / number(&programs["host"]);
    assert!((share - expected).abs() < 2e-3, "{share}, not {expected}");
}

/// The share of collected pages that moved inside their die.
fn copied_share(nand: &Value, limit: u32) -> f64 {
    let device = device(nand, &json!({"copyback": {"limit": limit}}));
    let config = DeviceConfig::resolve(&device.to_string()).expect("a device");
    let setup = config.pool_setup(7);
    let media = Media::new(setup.geometry, &[0, 0], 7);
    let mut ftl = Ftl::new(&config.ftl, &setup, &media);
    let mut flash = CheckedFlash::of_device(&config, media);
    let mut rng = Rng::stream(7, "case");
    let pages = ftl.figures().logical_pages();
    for write in 0..10 * pages {
        let lpn = if write < pages { write } else { rng.below(u64::from(pages)) as u32 };
        ftl.write(&mut flash, Lpn(lpn)).expect("room");
    }
    let counters = ftl.figures().counters();
    counters.copyback_pages as f64 / (counters.programs[1] + counters.programs[2]) as f64
}

#[test]
fn copies_inside_the_die_follow_planes_and_limit() {
    // One plane: every page may be copied until its block has made as many copies as are allowed.
    let one_plane = copied_share(&none(), 255);
    assert!(one_plane > 0.99, "{one_plane}");
    let limited = copied_share(&none(), 1);
    assert!(limited > 0.2 && limited < 0.8, "{limited}");
    // Two planes in one block: pages are taken so that most find their plane.
    let joined = copied_share(&json!({"planes_per_die": 2, "multi_plane": true}), 255);
    assert!(joined > 0.8, "{joined}");
    // Blocks in one of two planes: about every second victim lies in the plane of the open block.
    let apart = copied_share(&json!({"planes_per_die": 2, "blocks_per_plane": 50}), 255);
    assert!(apart > 0.35 && apart < joined, "{apart}");
}

#[test]
fn a_cache_takes_a_burst_and_folds_what_does_not_fit() {
    // Ten blocks of a third of 60 pages on each of two dies: 400 pages.
    let cache = |when_full: &str| {
        device(
            &none(),
            &json!({"slc_cache":
            {"kind": "static", "blocks_per_die": 10, "when_full": when_full}}),
        )
    };
    let pages = 400.0;
    let logical = number(&json!(DeviceConfig::resolve(&cache("fold").to_string())
        .expect("a device")
        .logical_pages()));
    let burst = measure(&cache("fold"), "sequential", pages / logical, &json!([]));
    assert_eq!(burst["programs"]["fold"], 0, "{}", burst["programs"]);
    // A whole drive through the cache: all but what stays in it is written twice, once folded.
    let whole = measure(&cache("fold"), "sequential", 1.0, &json!([]));
    let folded = number(&whole["programs"]["fold"]);
    assert!((folded - (logical - pages)).abs() <= 40.0, "{folded} of {logical}");
    // Without folding the cache fills once, and the rest goes past it.
    let direct = measure(&cache("direct"), "sequential", 1.0, &json!([]));
    assert_eq!(direct["waf"], json!(1.0), "{}", direct["programs"]);
}

#[test]
fn a_dynamic_cache_gives_its_blocks_back_when_the_drive_fills() {
    let cache = device(
        &none(),
        &json!({"slc_cache": {"kind": "dynamic", "min_erased_blocks": 4, "when_full": "direct"}}),
    );
    // A third of the space fits the erased blocks at a third of their density.
    let little = measure(&cache, "sequential", 0.3, &json!([]));
    assert_eq!(little["programs"]["fold"], 0, "{}", little["programs"]);
    // A full drive has no room for single-bit blocks: they were folded on the way.
    let full = measure(&cache, "sequential", 1.0, &json!([]));
    let (folded, host) = (number(&full["programs"]["fold"]), number(&full["programs"]["host"]));
    assert!(folded > 0.2 * host && folded < 0.6 * host, "{folded} of {host}");
    let steady = json!([{"kind": "sequential_fill", "fills": 1}]);
    let random = measure(&cache, "random", 5.0, &steady);
    assert!(number(&random["waf"]) < 3.0, "{}", random["waf"]);
}

#[test]
fn dynamic_allocation_takes_turns_when_loads_are_equal() {
    let turns = device(&none(), &json!({"allocation": "dynamic"}));
    let metrics = measure(&turns, "sequential", 3.0, &json!([]));
    assert_eq!(metrics["waf"], json!(1.0));
    let steady = json!([{"kind": "sequential_fill", "fills": 1}]);
    let fixed = number(&measure(&device(&none(), &none()), "random", 10.0, &steady)["waf"]);
    let free = number(&measure(&turns, "random", 10.0, &steady)["waf"]);
    assert!((free / fixed - 1.0).abs() < 0.05, "{free} dynamic, {fixed} striped");
}

#[test]
fn copies_inside_the_die_are_refused_where_wordlines_are_programmed_together() {
    for program in [
        json!({"kind": "one_shot", "t_wordline_us": 900}),
        json!({"kind": "multi_pass", "passes_us": [600, 1200]}),
    ] {
        let file = json!({"nand": {"program": program}, "ftl": {"copyback": {}}});
        let error = DeviceConfig::resolve(&file.to_string()).expect_err("cannot be");
        assert_eq!(error.path, "ftl.copyback");
        assert!(error.message.contains("accepted: none, or nand.program page"), "{error}");
    }
}
