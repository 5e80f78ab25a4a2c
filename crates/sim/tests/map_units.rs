//! Map units smaller than a page: what they cost and save, against closed forms.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::ftl::{Ftl, Setting};
use opennandlab_sim::nand::Media;
use opennandlab_sim::op::Source;
use opennandlab_sim::rng::Rng;
use opennandlab_sim::testing::{metrics, number, CheckedFlash};
use opennandlab_sim::units::Lpn;
use serde_json::{json, Value};

/// Metrics of a workload on a drive of one die with pages of 16 KiB, after a fill where `is_full`.
fn run(unit_bytes: Option<u64>, is_full: bool, mut workload: Value) -> Value {
    let mut file = json!({
        "nand": {"cell_type": "TLC", "channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
                 "blocks_per_plane": 64, "pages_per_block": 64, "page_size_bytes": 16384,
                 "timing": {"t_read_us": 50, "t_program_us": 600, "t_erase_us": 3000,
                            "bus_mt_s": 2000}},
        "ftl": {"over_provisioning_pct": 0.28, "gc_reserve_blocks": 2},
    });
    if let Some(unit_bytes) = unit_bytes {
        file["ftl"]["map_unit_bytes"] = json!(unit_bytes);
    }
    if is_full {
        workload["precondition"] = json!([{"kind": "sequential_fill", "fills": 1}]);
    }
    metrics(&file, &workload)
}

#[test]
fn a_program_takes_the_units_of_a_page() {
    let writes = |bytes: u64| {
        json!({"pattern": "random", "block_size_bytes": bytes, "queue_depth": 16,
               "total": {"ios": 800}})
    };
    // The data of a page cross the bus at 2 GB/s, then it is programmed.
    let per_page_us = 600.0 + 16384.0 / 2000.0;
    for (unit_bytes, units) in [(None, 1.0), (Some(8192), 2.0), (Some(4096), 4.0)] {
        let found = run(unit_bytes, false, writes(unit_bytes.unwrap_or(16384).min(4096)));
        let rate = number(&found, "/iops/total");
        let expected = units * 1e6 / per_page_us;
        assert!((rate / expected - 1.0).abs() < 0.02, "{unit_bytes:?}: {rate}, not {expected}");
    }
    let whole = run(Some(4096), false, writes(16384));
    assert!((number(&whole, "/waf") - 1.0).abs() < 1e-12);
    let rate = number(&whole, "/iops/total");
    assert!((rate * per_page_us * 1e-6 - 1.0).abs() < 0.02, "{rate} writes of a page");
}

#[test]
fn a_page_is_sensed_once_for_a_command_and_only_its_units_cross_the_bus() {
    let mean_us = |unit_bytes: Option<u64>, bytes: u64| {
        let reads = json!({"pattern": "random", "read_pct": 100, "block_size_bytes": bytes,
                           "queue_depth": 1, "total": {"ios": 500}});
        number(&run(unit_bytes, true, reads), "/latency_us/read/mean")
    };
    let unit_us = 4096.0 / 2000.0;
    let (page, quarter) = (mean_us(Some(4096), 16384), mean_us(Some(4096), 4096));
    assert!((page - mean_us(None, 16384)).abs() < 0.01, "a page of units: {page}");
    assert!((mean_us(None, 4096) - page).abs() < 0.01, "without units a part costs a page");
    assert!((page - quarter - 3.0 * unit_us).abs() < 0.01, "{page} {quarter}");
}

/// Four dies with a channel each: what was written together is read from as few dies as it was put
/// on, one page after the other.
#[test]
fn a_die_that_is_chosen_takes_as_many_pages_as_are_asked_for() {
    let mean_us = |allocation: Value, bytes: u64| {
        let file = json!({
            "nand": {"cell_type": "TLC", "channels": 4, "dies_per_channel": 1, "planes_per_die": 1,
                     "blocks_per_plane": 64, "pages_per_block": 64, "page_size_bytes": 16384,
                     "timing": {"t_read_us": 50, "t_program_us": 600, "t_erase_us": 3000,
                                "bus_mt_s": 2000}},
            "ftl": {"over_provisioning_pct": 0.28, "map_unit_bytes": 4096,
                    "allocation": allocation},
        });
        let reads = json!({"pattern": "random", "read_pct": 100, "block_size_bytes": bytes,
                           "queue_depth": 1, "total": {"ios": 500},
                           "precondition": [{"kind": "sequential_fill", "fills": 1}]});
        number(&metrics(&file, &reads), "/latency_us/read/mean")
    };
    let pages = |count: u32| json!({"kind": "dynamic", "pages": count});
    let (unit_us, page_us) = (50.0 + 4096.0 / 2000.0, 50.0 + 16384.0 / 2000.0);
    for (allocation, bytes, expected) in [
        (json!("dynamic"), 16384, unit_us),
        (pages(1), 16384, page_us),
        (pages(1), 32768, page_us),
        (pages(2), 16384, page_us),
        (pages(2), 32768, 2.0 * page_us),
    ] {
        let found = mean_us(allocation.clone(), bytes);
        assert!((found - expected).abs() < 0.01, "{bytes} bytes, {allocation}: {found} us");
    }
}

#[test]
fn a_part_of_a_unit_is_merged_with_the_rest() {
    let writes = json!({"pattern": "random", "block_size_bytes": 512, "queue_depth": 1,
                        "total": {"ios": 500}});
    let found = run(Some(4096), true, writes);
    assert!((number(&found, "/reads/merge") - 500.0).abs() < 1e-9, "{}", found["reads"]);
    assert!((number(&found, "/waf") - 8.0).abs() < 0.01, "{}", found["waf"]);
}

/// Metrics of writes of 4 KiB with a flush behind each, or with force unit access, on a drive with
/// pages of 16 KiB and units of 4 KiB that takes so many planes, and wordlines of three pages, in
/// one program.
fn flushed(changes: &Value, workload: &Value) -> Value {
    let mut file = json!({
        "nand": {"cell_type": "TLC", "channels": 2, "dies_per_channel": 2, "planes_per_die": 2,
                 "blocks_per_plane": 64, "pages_per_block": 60, "page_size_bytes": 16384},
        "ftl": {"over_provisioning_pct": 0.28, "map_unit_bytes": 4096, "gc_reserve_blocks": 8},
    });
    for (path, value) in changes.as_object().expect("a mapping") {
        let (section, key) = path.split_once('.').expect("a dotted path");
        file[section][key] = value.clone();
    }
    let mut work = json!({"pattern": "random", "block_size_bytes": 4096, "total": {"ios": 300}});
    for (key, value) in workload.as_object().expect("a mapping") {
        work[key] = value.clone();
    }
    metrics(&file, &work)
}

#[test]
fn a_unit_and_a_flush_cost_a_program_unit() {
    let one_shot = json!({"kind": "one_shot", "t_wordline_us": 2000});
    for (changes, units) in [
        (json!({}), 4.0),
        (json!({"nand.multi_plane": true}), 8.0),
        (json!({"nand.program": one_shot}), 12.0),
        (json!({"nand.multi_plane": true, "nand.program": one_shot}), 24.0),
    ] {
        for workload in [
            json!({"flush_every": 1}),
            json!({"fua_pct": 100}),
            json!({"flush_every": 1, "timed": false}),
        ] {
            let found = flushed(&changes, &workload);
            let waf = number(&found, "/waf");
            assert!((waf / units - 1.0).abs() < 1e-12, "{changes} {workload}: {waf}");
        }
        let mut protected = changes.clone();
        protected["host.power_loss_protected"] = json!(true);
        let found = flushed(&protected, &json!({"flush_every": 1}));
        assert!((number(&found, "/waf") - 1.0).abs() < 1e-12, "{changes}");
    }
}

#[test]
fn a_flush_waits_until_its_unit_is_programmed() {
    let program_us = |metrics: &Value| number(metrics, "/latency_us/flush/p50");
    let found = flushed(&json!({"nand.timing": {"t_program_us": 700}}), &json!({"flush_every": 1}));
    assert!(program_us(&found) >= 700.0, "{}", found["latency_us"]);
    let kept = json!({"host.power_loss_protected": true});
    let found = flushed(&kept, &json!({"flush_every": 1}));
    assert!(program_us(&found) < 1.0, "{}", found["latency_us"]);
}

/// Write amplification of greedy collection, and the share of a victim's pages that it senses.
fn greedy(units: u32, spare_factor: f64) -> (f64, f64) {
    let (blocks, pages, reserve) = (512, 64, 2);
    let good = f64::from(blocks) / f64::from(blocks - reserve);
    let file = json!({
        "nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
                 "blocks_per_plane": blocks, "pages_per_block": pages, "page_size_bytes": 4096},
        "ftl": {"over_provisioning_pct": good / (1.0 - spare_factor) - 1.0,
                "gc_reserve_blocks": reserve, "map_unit_bytes": 4096 / units},
    });
    let config = DeviceConfig::resolve(&file.to_string()).expect("a device");
    let media = Media::new(config.geometry(), &[0], 1);
    let mut ftl = Ftl::new(&config.ftl, &config.pool_setup(1), &media);
    let mut flash = CheckedFlash::of_device(&config, media);
    let mut rng = Rng::stream(1, "units");
    let logical = ftl.figures().logical_pages();
    let mut write = |ftl: &mut Ftl, count: u32| {
        for _ in 0..count {
            let lpn = Lpn(rng.below(u64::from(logical)) as u32);
            ftl.write(&mut flash, lpn).expect("room");
        }
        (*ftl.figures().counters(), flash.senses())
    };
    let (before, senses_before) = write(&mut ftl, 8 * logical);
    let (after, senses) = write(&mut ftl, 6 * logical);
    let total = |counts: &[u64]| counts.iter().sum::<u64>() as f64;
    let programs = total(&after.programs) - total(&before.programs);
    let erases = total(&after.erases) - total(&before.erases);
    let share = (senses - senses_before) as f64 / (erases * f64::from(pages));
    (programs / f64::from(6 * logical), share)
}

#[test]
fn greedy_collection_is_that_of_a_block_of_as_many_units() {
    // Mean field of blocks of 64 pages: amplification, and which pages of a victim hold a live unit
    // where these are a random subset of its units.
    for (units, waf, share) in [(1, 4.821, 0.7926), (2, 4.992, 0.9611), (4, 5.083, 0.9986)] {
        let (found_waf, found_share) = greedy(units, 0.10);
        assert!((found_waf / waf - 1.0).abs() < 0.02, "{units} units: {found_waf}, not {waf}");
        assert!((found_share / share - 1.0).abs() < 0.02, "{units}: {found_share}, not {share}");
    }
}

#[test]
fn pages_that_a_die_takes_are_a_number_of_them() {
    for pages in [0, 1025] {
        let file = json!({"ftl": {"allocation": {"kind": "dynamic", "pages": pages}}});
        let error = DeviceConfig::resolve(&file.to_string()).expect_err("refused");
        assert_eq!(error.path, "ftl.allocation.pages");
        assert!(error.message.contains("accepted: 1 to 1024"), "{error}");
    }
}

#[test]
fn units_that_do_not_fit_are_refused_with_the_arithmetic() {
    for (ftl, path, words) in [
        (json!({"map_unit_bytes": 256}), "ftl.map_unit_bytes", "from 512 to the 4096"),
        (json!({"map_unit_bytes": 8192}), "ftl.map_unit_bytes", "from 512 to 4096"),
        (json!({"map_unit_bytes": 3000}), "ftl.map_unit_bytes", "power of two"),
        (json!({"map_unit_bytes": 512, "parity": {"stripe": 4}}), "ftl.map_unit_bytes", "parity"),
        (json!({"map_unit_bytes": 512, "copyback": {}}), "ftl.map_unit_bytes", "copyback"),
    ] {
        let file = json!({"ftl": ftl});
        let error = DeviceConfig::resolve(&file.to_string()).expect_err("a refusal");
        assert_eq!(error.path, path, "{ftl}");
        assert!(error.message.contains(words), "{ftl}: {}", error.message);
    }
    let file = json!({"nand": {"pages_per_block": 20_000}, "ftl": {"map_unit_bytes": 512}});
    let error = DeviceConfig::resolve(&file.to_string()).expect_err("a refusal");
    assert!(error.message.contains("would hold 160000 map units"), "{}", error.message);
}

/// The last pages that a collection moves, and what the host wrote last, wait for the rest of their
/// program unit: where the power may fail, those units are completed before the victim is erased.
#[test]
fn a_block_is_erased_when_newer_data_of_it_is_sure_to_reach_the_flash() {
    let file = json!({
        "nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
                 "blocks_per_plane": 64, "pages_per_block": 64, "page_size_bytes": 16384},
        "ftl": {"over_provisioning_pct": 0.28, "gc_reserve_blocks": 2, "map_unit_bytes": 4096,
                "write_frontiers": "host_gc"},
    });
    let config = DeviceConfig::resolve(&file.to_string()).expect("a device");
    let media = Media::new(config.geometry(), &[0], 1);
    let mut ftl = Ftl::new(&config.ftl, &config.pool_setup(1), &media);
    let mut flash = CheckedFlash::of_device(&config, media);
    ftl.set(Setting::Cuts(true));
    flash.expect_cuts(&config);
    let mut rng = Rng::stream(1, "cuts");
    let logical = u64::from(ftl.figures().logical_pages());
    for _ in 0..4 * logical {
        ftl.write(&mut flash, Lpn(rng.below(logical) as u32)).expect("room");
    }
    let programs = ftl.figures().counters().programs;
    let padded = programs[Source::Pad as usize] as f64 / programs.iter().sum::<u64>() as f64;
    // About half a page of four units for each victim of 256.
    assert!(padded > 0.0 && padded < 0.02, "{padded}");
}
