//! Pages of SLC flash that are programmed in parts: what a flush costs then, against exact values.
//!
//! ```text
//! k units in a page, NOP k    each unit and flush: one transfer of a unit, one tPROG; no padding
//! NOP 2, k = 4                two programs of a page, the second padded: 2 of 4 units, WAF 2
//! ```

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::testing::{metrics, number, run};
use opennandlab_sim::timed::Observation;
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::{json, Value};

const UNITS: u32 = 4;
const UNIT_US: f64 = 5.0;
const PROGRAM_US: f64 = 200.0;
const COMMAND_US: f64 = 0.25;

/// A die of pages of 8 KiB with four units each, and a bus of 409.6 MB/s.
fn device(programs: Option<u32>) -> Value {
    let mut file = json!({
        "nand": {"cell_type": "SLC", "channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
                 "blocks_per_plane": 64, "pages_per_block": 64, "page_size_bytes": 8192,
                 "timing": {"t_read_us": 25, "t_program_us": PROGRAM_US, "t_erase_us": 2000,
                            "bus_mt_s": 409.6, "command_us": COMMAND_US}},
        "ftl": {"over_provisioning_pct": 0.28, "gc_reserve_blocks": 2, "map_unit_bytes": 2048},
        "ecc": {"algorithm": "none"},
    });
    if let Some(programs) = programs {
        file["nand"]["partial_programs"] = json!(programs);
    }
    file
}

/// Writes of units, one after the other.
fn writes(count: u32, changes: &Value) -> Value {
    let mut work = json!({"pattern": "random", "block_size_bytes": 2048, "queue_depth": 1,
                          "total": {"ios": count}});
    for (key, value) in changes.as_object().expect("a mapping") {
        work[key] = value.clone();
    }
    work
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found}, not {expected}");
}

#[test]
fn with_a_program_for_each_unit_a_flush_pads_nothing() {
    let count = 50 * UNITS;
    let one_us = UNIT_US + COMMAND_US + PROGRAM_US;
    // The last unit of a page completes it without a flush, so three of four are parts.
    let parts = f64::from(count) * f64::from(UNITS - 1) / f64::from(UNITS);
    let durable = metrics(&device(Some(UNITS)), &writes(count, &json!({"fua_pct": 100})));
    close(number(&durable, "/waf"), 1.0);
    close(number(&durable, "/programs/pad"), 0.0);
    close(number(&durable, "/partial_programs"), parts);
    close(number(&durable, "/duration_s"), f64::from(count) * one_us * 1e-6);
    for figure in ["mean", "p50", "max"] {
        let found = number(&durable, &format!("/latency_us/write/{figure}"));
        assert!((found / one_us - 1.0).abs() < 1e-3, "{figure}: {found}, not {one_us}");
    }
    let flushed = metrics(&device(Some(UNITS)), &writes(2 * count, &json!({"flush_every": 1})));
    close(number(&flushed, "/waf"), 1.0);
    close(number(&flushed, "/partial_programs"), parts);
    // A write that completes a page waits for its program, and the flush behind it for nothing.
    close(number(&flushed, "/duration_s"), f64::from(count) * one_us * 1e-6);
    let instant = json!({"flush_every": 1, "timed": false});
    let instant = metrics(&device(Some(UNITS)), &writes(2 * count, &instant));
    close(number(&instant, "/partial_programs"), parts);
    close(number(&instant, "/waf"), 1.0);
}

#[test]
fn the_last_program_that_a_page_takes_is_padded() {
    let count = 240;
    for (programs, waf) in [(None, 4.0), (Some(2), 2.0), (Some(3), 4.0 / 3.0), (Some(4), 1.0)] {
        let found = metrics(&device(programs), &writes(count, &json!({"fua_pct": 100})));
        close(number(&found, "/waf"), waf);
        let parts = found.get("partial_programs").and_then(Value::as_u64);
        let per_page = programs.map(|programs| u64::from(programs - 1));
        let pages = u64::from(count) / u64::from(programs.unwrap_or(1));
        assert_eq!(parts, per_page.map(|parts| parts * pages), "{programs:?}");
        // The padded units cross the bus with the last one; each write takes one program.
        let transfers = f64::from(count) * waf * UNIT_US;
        let others = f64::from(count) * (COMMAND_US + PROGRAM_US);
        close(number(&found, "/duration_s"), (transfers + others) * 1e-6);
    }
}

#[test]
fn units_that_come_together_are_programmed_together() {
    // A flush behind every two units: two programs of a page, each with a transfer of two units.
    let count = 200;
    let flushed = writes(count / 2 * 3, &json!({"flush_every": 2}));
    let found = metrics(&device(Some(UNITS)), &flushed);
    close(number(&found, "/waf"), 1.0);
    close(number(&found, "/partial_programs"), f64::from(count) / 4.0);
    let pair_us = 2.0 * UNIT_US + COMMAND_US + PROGRAM_US;
    close(number(&found, "/duration_s"), f64::from(count) / 2.0 * pair_us * 1e-6);
}

#[test]
fn units_that_waited_for_the_fill_timeout_are_programmed_in_parts() {
    // A unit in 100 s, which waits 1 ms: each is programmed alone.
    let rare = json!({"queue_depth": {"arrival": "poisson", "iops": 0.01}});
    let mut file = device(Some(UNITS));
    file["ftl"]["fill_timeout_us"] = json!(1000);
    let found = metrics(&file, &writes(400, &rare));
    close(number(&found, "/waf"), 1.0);
    close(number(&found, "/partial_programs"), 300.0);
    file["nand"]["partial_programs"] = json!(2);
    let found = metrics(&file, &writes(400, &rare));
    close(number(&found, "/waf"), 2.0);
}

#[test]
fn a_part_is_read_from_the_flash_and_what_came_after_it_from_memory() {
    let config = DeviceConfig::resolve(&device(Some(UNITS)).to_string()).expect("a device");
    let mut simulation = Simulation::new(config, 42);
    let run = |count: u32, changes: Value, simulation: &mut Simulation| {
        let mut work = writes(count, &changes);
        work["pattern"] = json!("sequential");
        carry_out(simulation, &work)
    };
    // A unit of the eleventh page is on the flash; the next one, a rewrite of the first, is not.
    run(41, json!({"fua_pct": 100}), &mut simulation);
    run(1, json!({}), &mut simulation);
    let found = run(41, json!({"read_pct": 100}), &mut simulation);
    close(number(&found, "/activity/memory_reads"), 1.0);
    close(number(&found, "/duration_s"), 40.0 * (COMMAND_US + 25.0 + UNIT_US) * 1e-6);
}

#[test]
fn each_further_program_raises_the_errors_of_what_a_page_holds() {
    let (rate, share) = (1e-5, 0.4);
    // Over the units of a page, the programs behind them: 3, 2, 1, 0 with NOP 4 and one unit at a
    // time; 1, 1, 0, 0 with two units at a time; 1, 0 and two of padding with NOP 2; none without
    // flushes. The last unit of a page needs none, so parts are as many as the first three.
    for (programs, each, behind) in [
        (4, json!({"fua_pct": 100}), 1.5),
        (4, json!({"fua_pct": 100, "block_size_bytes": 4096}), 0.5),
        (2, json!({"fua_pct": 100}), 0.5),
        (4, json!({}), 0.0),
    ] {
        for timed in [true, false] {
            let mut file = device(Some(programs));
            for (key, value) in
                [("rber_floor", rate), ("rber_ceil", rate), ("program_disturb", share)]
            {
                file["nand"][key] = json!(value);
            }
            file["ecc"] = json!({"algorithm": "bch"});
            let config = DeviceConfig::resolve(&file.to_string()).expect("a device");
            let mut simulation = Simulation::new(config, 42);
            let mut work = writes(2000, &each);
            (work["pattern"], work["timed"]) = (json!("sequential"), json!(timed));
            carry_out(&mut simulation, &work);
            // As read now, by a checkpoint and by an image.
            let mut others = [
                Simulation::from_checkpoint(&simulation.checkpoint()).expect("its own"),
                Simulation::from_image(&simulation.image(), 42).expect("its own"),
            ];
            let drives = others.iter_mut().chain([&mut simulation]);
            for drive in drives {
                let mut reads = writes(2000, &json!({"read_pct": 100}));
                (reads["pattern"], reads["timed"]) = (json!("sequential"), json!(timed));
                let found = carry_out(drive, &reads);
                let found = number(&found, "/raw_errors/rber");
                let expected = rate * (1.0 + share * behind);
                assert!((found / expected - 1.0).abs() < 1e-9, "{programs} {each}: {found:e}");
            }
        }
    }
}

#[test]
fn collected_data_is_disturbed_no_more() {
    let (mut file, mut load) = busy(Some(4));
    file["nand"]["rber_floor"] = json!(1e-5);
    file["nand"]["rber_ceil"] = json!(1e-5);
    file["ecc"] = json!({"algorithm": "bch"});
    load["fua_pct"] = json!(100);
    let mut found = Vec::new();
    for share in [0.0, 1.0] {
        file["nand"]["program_disturb"] = json!(share);
        found.push(number(&metrics(&file, &load), "/raw_errors/rber"));
    }
    // Nothing but the rates differs: programs of the host are disturbed, those of collections not.
    assert!(found[1] > 1.05 * found[0] && found[1] < 2.5 * found[0], "{found:?}");
}

/// A drive and a load with collections in steps, flushes, force unit access, reads and trims.
fn busy(programs: Option<u32>) -> (Value, Value) {
    let mut file = device(programs);
    file["nand"]["channels"] = json!(2);
    file["nand"]["cache_commands"] = json!({"read": true, "program": true});
    file["ftl"]["write_frontiers"] = json!("host_gc");
    file["ftl"]["collection"] = json!("steps");
    file["ftl"]["gc_reserve_blocks"] = json!(4);
    file["ftl"]["fill_timeout_us"] = json!(300);
    file["controller"] = json!({"scheduler": "priority",
                                "suspend": {"suspend_us": 5, "resume_us": 5}});
    let load = json!({"pattern": "random", "read_pct": 30, "trim_pct": 5, "fua_pct": 20,
                      "flush_every": 7, "block_size_bytes": {"512": 1, "2048": 4, "8192": 2},
                      "queue_depth": 6, "total": {"ios": 30_000},
                      "precondition": [{"kind": "sequential_fill"}]});
    (file, load)
}

#[test]
fn parts_keep_the_rules_of_the_flash_under_load() {
    for buffer_pages in [0, 32] {
        let mut last = f64::INFINITY;
        for programs in [None, Some(2), Some(3), Some(4)] {
            let (mut file, load) = busy(programs);
            file["ftl"]["write_buffer_pages"] = json!(buffer_pages);
            // The run fails when an operation breaks the rules of the flash.
            let found = metrics(&file, &load);
            let waf = number(&found, "/waf");
            assert!(waf < last, "{programs:?}: {waf}, with one program less {last}");
            last = waf;
            assert!(number(&found, "/gc_cycles") > 100.0, "{found}");
        }
    }
}

#[test]
fn a_drive_that_never_has_to_program_parts_is_the_one_without() {
    let load = json!({"pattern": "random", "read_pct": 30, "block_size_bytes": 4096,
                      "queue_depth": 4, "total": {"ios": 5000},
                      "precondition": [{"kind": "sequential_fill"}]});
    let mut with = run(&device(Some(3)), &load, Observation::default()).outcome();
    let without = run(&device(None), &load, Observation::default()).outcome();
    let metrics = with["metrics"].as_object_mut().expect("a mapping");
    assert_eq!(metrics.remove("partial_programs"), Some(json!(0)));
    assert_eq!(with, without);
}

#[test]
fn a_checkpoint_knows_the_parts_and_an_image_takes_the_page_as_worn() {
    let file = device(Some(UNITS));
    let start = |count: u32| {
        let device = DeviceConfig::resolve(&file.to_string()).expect("a device");
        let mut simulation = Simulation::new(device, 42);
        carry_out(&mut simulation, &writes(count, &json!({"fua_pct": 100})));
        simulation
    };
    // One unit of a page of four was programmed; three more writes need no padding.
    let mut exact = Simulation::from_checkpoint(&start(41).checkpoint()).expect("its own");
    let three = writes(3, &json!({"fua_pct": 100}));
    let found = carry_out(&mut exact, &three);
    assert_eq!([&found["programs"]["pad"], &found["partial_programs"]], [&json!(0), &json!(2)]);
    let mut image = Simulation::from_image(&start(41).image(), 42).expect("its own");
    let found = carry_out(&mut image, &three);
    assert_eq!([&found["programs"]["pad"], &found["partial_programs"]], [&json!(2), &json!(2)]);
}

/// Metrics of a workload on a drive as it is.
fn carry_out(simulation: &mut Simulation, work: &Value) -> Value {
    let space = simulation.space();
    let work = WorkloadConfig::resolve(&work.to_string(), space).expect("a workload");
    simulation.begin(work.job(space, 42));
    while !simulation.advance(1 << 40).finished {}
    let mut outcome = simulation.outcome();
    assert_eq!(outcome["checks"]["passed"], true, "{}", outcome["checks"]);
    outcome["metrics"].take()
}

#[test]
fn what_pages_cannot_do_is_refused_with_the_values() {
    for (path, value, words) in [
        (
            "/nand/partial_programs",
            json!(1),
            "1 with 4 map units in a page; accepted: omitted, or 2 to 4",
        ),
        ("/nand/partial_programs", json!(5), "5 with 4 map units"),
        ("/nand/cell_type", json!("TLC"), "4 with nand.cell_type TLC"),
        ("/ftl/map_unit_bytes", json!(8192), "below the 8192 of nand.page_size_bytes"),
        ("/ftl/compression", json!({"data": "file", "ratio": 0.5}), "ftl.compression none"),
        ("/ftl/allocation", json!("superblock"), "another ftl.allocation"),
    ] {
        let mut file = device(Some(UNITS));
        let (section, key) = path[1..].split_once('/').expect("a section and a key");
        file[section][key] = value;
        let error = DeviceConfig::resolve(&file.to_string()).expect_err(path);
        assert_eq!(error.path, "nand.partial_programs", "{error}");
        assert!(error.message.contains(words), "{error}");
    }
    for (programs, share, words) in [
        (None, 0.5, "without nand.partial_programs"),
        (Some(2), 100.5, "100.5 is out of range"),
        (Some(2), -1.0, "0 to 100"),
    ] {
        let mut file = device(programs);
        file["nand"]["program_disturb"] = json!(share);
        let error = DeviceConfig::resolve(&file.to_string()).expect_err(words);
        assert_eq!(error.path, "nand.program_disturb", "{error}");
        assert!(error.message.contains(words), "{error}");
    }
    let mut file = device(Some(UNITS));
    file["nand"]["planes_per_die"] = json!(2);
    file["nand"]["multi_plane"] = json!(true);
    let error = DeviceConfig::resolve(&file.to_string()).expect_err("joined planes");
    assert!(error.message.contains("nand.multi_plane true, which joins pages"), "{error}");
}
