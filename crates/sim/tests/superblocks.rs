//! Superblocks over dies, with parity and without: against a plain map, closed forms and drives
//! that do the same without them.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::ftl::{FlashSink, Ftl, Pending, Volatile};
use opennandlab_sim::rng::Rng;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::testing::{metrics, number, run, CheckedFlash, Oracle};
use opennandlab_sim::timed::Observation;
use opennandlab_sim::units::Lpn;
use serde_json::{json, Value};

/// A drive of `dies` dies on a channel each, with superblocks over all of them.
fn drive(dies: u32, blocks: u32, pages: u32, over_provisioning: f64, parity: bool) -> Value {
    let parity = if parity { json!({"kind": "die_stripe"}) } else { json!("none") };
    json!({
        "nand": {"cell_type": "TLC", "channels": dies, "dies_per_channel": 1, "planes_per_die": 1,
                 "blocks_per_plane": blocks, "pages_per_block": pages,
                 "timing": {"t_read_us": 50, "t_program_us": 600, "t_erase_us": 3000,
                            "bus_mt_s": 409.6}},
        "ftl": {"over_provisioning_pct": over_provisioning, "gc_reserve_blocks": dies,
                "allocation": "superblock", "parity": parity},
    })
}

/// A small drive of any make whose superblocks may have holes.
fn draw(rng: &mut Rng) -> Value {
    let dies = [2, 3, 4, 6][rng.below(4) as usize];
    let mut file = drive(dies, 12 + rng.below(30) as u32, 7 + rng.below(12) as u32, 0.3, true);
    let mut one_of = |values: &[Value]| values[rng.below(values.len() as u64) as usize].clone();
    file["nand"]["channels"] = json!(1);
    file["nand"]["dies_per_channel"] = json!(dies);
    file["nand"]["factory_bad_block_ratio"] = one_of(&[0.02, 0.1, 0.2].map(Value::from));
    file["nand"]["max_pe_cycles"] = one_of(&[9, 3000].map(Value::from));
    file["nand"]["planes_per_die"] = one_of(&[1, 2].map(Value::from));
    file["nand"]["multi_plane"] = json!(file["nand"]["planes_per_die"] == json!(2));
    file["nand"]["program"] =
        one_of(&[json!("page"), json!({"kind": "one_shot", "t_wordline_us": 2000})]);
    let group = one_of(&[json!("all"), json!(2)]);
    let bad_block = one_of(&[json!("shrink"), json!("remap")]);
    file["ftl"]["allocation"] =
        json!({"kind": "superblock", "dies": group, "bad_block": &bad_block});
    file["ftl"]["parity"] = one_of(&[json!("none"), json!({"kind": "die_stripe"})]);
    file["ftl"]["map_unit_bytes"] = one_of(&[4096, 2048].map(Value::from));
    file["ftl"]["over_provisioning_pct"] = json!(0.1 + 0.9 * rng.unit());
    let mut one_of = |values: &[Value]| values[rng.below(values.len() as u64) as usize].clone();
    file["ftl"]["gc_policy"] =
        one_of(&["greedy", "fifo", "random", "cost_benefit"].map(Value::from));
    file["ftl"]["gc_reserve_blocks"] = one_of(&[dies, 2 * dies].map(Value::from));
    file["ftl"]["write_frontiers"] = one_of(&["single", "host_gc"].map(Value::from));
    if bad_block == "remap" {
        file["ftl"]["metadata_share"] = one_of(&[0.0, 0.05, 0.3].map(Value::from));
    }
    if file["ftl"]["write_frontiers"] == "host_gc" {
        file["ftl"]["slc_cache"] = one_of(&[
            json!("none"),
            json!({"kind": "dynamic", "min_erased_blocks": 1}),
            json!({"kind": "static", "blocks_per_die": 2, "when_full": "fold"}),
        ]);
        file["ftl"]["collection"] = one_of(&[json!("whole"), json!("steps")]);
    }
    file
}

/// Devices that can work, of so many that are drawn.
fn drawn(cases: u64) -> Vec<(u64, DeviceConfig)> {
    let of_case = |case| {
        let file = draw(&mut Rng::stream(case, "superblocks"));
        Some((case, DeviceConfig::resolve(&file.to_string()).ok()?))
    };
    (0..cases).filter_map(of_case).collect()
}

#[test]
fn superblocks_of_every_make_agree_with_a_plain_map() {
    let (mut uneven, mut retired, mut parities, mut records) = (0, 0, 0, 0);
    for (case, config) in drawn(400) {
        let media = config.fresh_media(case);
        uneven += u32::from(media.is_uneven());
        let mut ftl = Ftl::new(&config.ftl, &config.pool_setup(case), &media);
        let mut flash = CheckedFlash::of_device(&config, media);
        let (mut oracle, mut rng) = (Oracle::default(), Rng::stream(case, "commands"));
        let pages = u64::from(ftl.figures().logical_pages());
        let mut is_worn_out = false;
        for write in 0..pages + 3000 {
            let lpn = Lpn(if write < pages { write as u32 } else { rng.below(pages) as u32 });
            match rng.below(30) {
                0 if write > pages => oracle.trim(&mut ftl, &mut flash, lpn),
                1 => ftl.complete(&mut flash, Pending::Units),
                _ => is_worn_out |= oracle.write(&mut ftl, &mut flash, lpn).is_err(),
            }
        }
        oracle.check(&ftl, &flash);
        let counters = *ftl.figures().counters();
        assert!(
            !is_worn_out || counters.retired_blocks > 0 || config.nand.max_pe_cycles == Some(9)
        );
        retired += counters.retired_blocks;
        parities += counters.programs[5];
        records += counters.programs[8];
        // Down as numbers and back.
        let media = flash.media().clone();
        let setup = config.pool_setup(case);
        let again =
            Ftl::restore(&config.ftl, &setup, &media, (&ftl.save().0, &Volatile::default()));
        let again = again.unwrap_or_else(|error| panic!("case {case}: {error}"));
        assert_eq!(json!(again.save().0), json!(ftl.save().0), "case {case}");
    }
    assert!(uneven > 50 && retired > 50 && parities > 1000, "{uneven} {retired} {parities}");
    assert!(records > 1000, "{records}");
}

#[test]
fn timed_superblocks_of_every_make_keep_the_rules() {
    let commands = json!({
        "pattern": {"kind": "hot_cold", "fraction": 0.2, "share": 0.8}, "read_pct": 40,
        "trim_pct": 5, "flush_every": 100, "block_size_bytes": {"512": 1, "4096": 6, "32768": 2},
        "queue_depth": 24, "total": {"ios": 3000}, "precondition": [{"kind": "sequential_fill"}],
    });
    let (mut runs, mut rebuilt) = (0, 0);
    for (case, config) in drawn(160) {
        let mut rng = Rng::stream(case, "controller");
        let mut file = config.to_json();
        file["nand"]["max_pe_cycles"] = json!(3000);
        file["controller"]["scheduler"] =
            json!(["in_order", "out_of_order", "priority"][case as usize % 3]);
        if rng.below(2) == 0 {
            let die = rng.below(u64::from(config.flash_geometry().die_count));
            let at_s = 0.2 * rng.unit();
            file["nand"]["faults"] = json!([{"kind": "die_lost", "die": die, "at_s": at_s}]);
        }
        if rng.below(2) == 0 {
            file["host"]["write_cache"] = json!({"pages": 64, "policy": "lru"});
        }
        if file["controller"]["scheduler"] == "priority" {
            file["controller"]["suspend"] = json!({"program": true, "erase": true});
        }
        let found =
            run(&file, &commands, Observation { breakdown: true, ..Observation::default() });
        assert_eq!(found.outcome()["checks"]["passed"], true, "case {case}: {file}");
        // As bytes and back.
        let again = Simulation::from_image(&found.image(), 1).expect("an image");
        assert_eq!(again.image(), found.image(), "case {case}");
        runs += 1;
        if case % 4 == 0 {
            // Reads that fail by the dozen; rows give them back while others of theirs fail too.
            file["nand"]["rber_floor"] = json!(2e-3);
            file["nand"]["rber_ceil"] = json!(2.1e-3);
            file["nand"]["faults"] = json!([]);
            file["ftl"]["slc_cache"] = json!("none");
            let found =
                run(&file, &commands, Observation { breakdown: true, ..Observation::default() });
            let metrics = &found.outcome()["metrics"];
            rebuilt += metrics["recovery"]["rebuilt"].as_u64().unwrap_or(0);
        }
    }
    assert!(rebuilt > 100, "{rebuilt} pages were rebuilt");
    assert!(runs > 60, "{runs} of 160 can work");
}

/// Amplification of greedy collection under uniform random writes: of data, and with parity.
fn greedy(dies: u32, pages: u32, units: u32, spare_factor: f64) -> (f64, f64) {
    let (blocks, reserve) = (256, 1);
    let good = f64::from(blocks) / f64::from(blocks - reserve);
    let mut file = drive(dies, blocks, pages, good / (1.0 - spare_factor) - 1.0, true);
    file["ftl"]["map_unit_bytes"] = json!(4096 / units);
    let work = json!({
        "pattern": "random", "block_size_bytes": 4096 / units, "timed": false,
        "total": {"drive_writes": 4},
        "precondition": [{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 7}],
    });
    let found = metrics(&file, &work);
    let programs = |source: &str| number(&found, &format!("/programs/{source}"));
    let data = (programs("host") + programs("gc")) / programs("host");
    assert!(
        (number(&found, "/waf") / (data + programs("parity") / programs("host")) - 1.0).abs()
            < 1e-9
    );
    (data, number(&found, "/waf"))
}

#[test]
fn greedy_collection_is_that_of_a_block_of_the_data_dies() {
    // Mean field of blocks of `units (dies - 1) pages` units; every dies-th program is parity.
    for (dies, pages, units, spare_factor, waf) in
        [(8, 32, 1, 0.0857, 5.863), (16, 16, 1, 0.0725, 6.883), (8, 16, 4, 0.0857, 5.935)]
    {
        let (data, all) = greedy(dies, pages, units, spare_factor);
        assert!((data / waf - 1.0).abs() < 0.02, "{dies} dies: {data}, not {waf}");
        let share = f64::from(dies) / f64::from(dies - 1);
        assert!((all / data / share - 1.0).abs() < 2e-3, "{dies} dies: {all} of {data}");
    }
}

#[test]
fn a_row_of_n_dies_is_as_fast_as_its_data() {
    // Writes of whole rows' data, deep enough that every die always has a program waiting.
    for dies in [2_u32, 4, 8] {
        let work = json!({"pattern": "sequential", "block_size_bytes": 4096, "queue_depth": 256,
                          "total": {"ios": 5000 * dies}});
        let rate = |parity| {
            let found = metrics(&drive(dies, 256, 64, 0.5, parity), &work);
            number(&found, "/iops/write")
        };
        // 600 us to program, 10 us to transfer.
        let bound = f64::from(dies) / 610e-6;
        assert!((rate(false) / bound - 1.0).abs() < 0.005, "{} of {bound}", rate(false));
        let bound = f64::from(dies - 1) / 610e-6;
        assert!((rate(true) / bound - 1.0).abs() < 0.005, "{} of {bound}", rate(true));
    }
}

/// Reads of a page each, one at a time, on a filled drive.
fn reads(ios: u64) -> Value {
    json!({"pattern": "random", "read_pct": 100, "block_size_bytes": 4096, "queue_depth": 1,
           "total": {"ios": ios}, "precondition": [{"kind": "sequential_fill"}]})
}

#[test]
fn a_lost_die_is_read_from_the_others_in_parallel() {
    // tR 50 us and 10 us for a page: a sense, and the transfers on the busiest of the buses that
    // the other dies of the row are on.
    for (channels, dies_per_channel, transfers) in [(4, 1, 1.0), (2, 2, 2.0), (1, 4, 3.0)] {
        let mut file = drive(4, 64, 32, 0.3, true);
        file["nand"]["channels"] = json!(channels);
        file["nand"]["dies_per_channel"] = json!(dies_per_channel);
        file["nand"]["faults"] = json!([{"kind": "die_lost", "die": 1, "at_s": 0}]);
        let found = metrics(&file, &reads(4000));
        let latency = |key: &str| number(&found, &format!("/latency_us/read/{key}"));
        assert!((latency("max") - (50.0 + 10.0 * transfers)).abs() < 1e-9, "{found}");
        assert!((latency("min") - 60.0).abs() < 1e-9, "{found}");
        // No data is lost; one page of four was on the die.
        assert!(number(&found, "/uncorrectable_reads") < 0.5, "{found}");
        let share = number(&found, "/recovery/rebuilt") / 4000.0;
        assert!((share - 0.25).abs() < 4.5 * (0.25_f64 * 0.75 / 4000.0).sqrt(), "{share}");
        // Without parity these reads fail.
        file["ftl"]["parity"] = json!("none");
        let found = metrics(&file, &reads(4000));
        let share = number(&found, "/uncorrectable_reads") / 4000.0;
        assert!((share - 0.25).abs() < 4.5 * (0.25_f64 * 0.75 / 4000.0).sqrt(), "{share}");
        // So they do in a drive without superblocks, and only once the die is lost.
        file["ftl"]["allocation"] = json!("CDP");
        let alone = number(&metrics(&file, &reads(4000)), "/uncorrectable_reads") / 4000.0;
        assert!((alone - 0.25).abs() < 4.5 * (0.25_f64 * 0.75 / 4000.0).sqrt(), "{alone}");
        file["nand"]["faults"][0]["at_s"] = json!(0.12);
        let half = number(&metrics(&file, &reads(4000)), "/uncorrectable_reads") / 4000.0;
        // The first 2000 reads of 60 us pass.
        assert!(half > 0.1 && half < 0.16, "{half}");
    }
}

#[test]
fn a_drive_without_a_die_reads_nothing() {
    let mut file = drive(1, 64, 32, 0.3, false);
    file["nand"]["faults"] = json!([{"kind": "die_lost", "die": 0, "at_s": 0}]);
    let found = metrics(&file, &reads(500));
    assert!((number(&found, "/uncorrectable_reads") - 500.0).abs() < 0.5, "{found}");
    assert!((number(&found, "/uncorrectable_read_rate") - 1.0).abs() < 1e-9, "{found}");
}

#[test]
fn a_drive_goes_on_without_a_die() {
    let work = json!({
        "pattern": "random", "read_pct": 50, "block_size_bytes": 4096, "queue_depth": 16,
        "total": {"drive_writes": 2},
        "precondition": [{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 2}],
    });
    let mut file = drive(4, 64, 32, 0.3, true);
    file["nand"]["faults"] = json!([{"kind": "die_lost", "die": 2, "at_s": 0.5}]);
    let found = metrics(&file, &work);
    assert!(number(&found, "/uncorrectable_reads") < 0.5, "{found}");
    assert!(number(&found, "/recovery/rebuilt") > 1000.0, "{found}");
    assert!(number(&found, "/programs/gc") > 1000.0, "{found}");
    // A second die: rows with two members lost are lost.
    file["nand"]["faults"] = json!([{"kind": "die_lost", "die": 2, "at_s": 0.5},
                                    {"kind": "die_lost", "die": 0, "at_s": 1}]);
    assert!(number(&metrics(&file, &work), "/uncorrectable_reads") > 1000.0);
}

#[test]
fn a_row_loses_data_when_two_of_its_members_fail() {
    // Some percent of the pages cannot be corrected.
    let mut file = drive(4, 64, 32, 0.3, false);
    file["nand"]["rber_floor"] = json!(2e-3);
    file["nand"]["rber_ceil"] = json!(2.1e-3);
    let ios = 200_000.0;
    let lost = |file: &Value| number(&metrics(file, &reads(ios as u64)), "/uncorrectable_reads");
    let p = lost(&file) / ios;
    assert!(p > 0.01 && p < 0.1, "{p}");
    file["ftl"]["parity"] = json!({"kind": "die_stripe"});
    // A page that fails is read, then the others of its row, each on a bus of its own.
    let found = metrics(&file, &reads(20_000));
    assert!((number(&found, "/latency_us/read/max") - 120.0).abs() < 1e-9, "{found}");
    assert!((number(&found, "/latency_us/read/p50") - 60.0).abs() < 0.1, "{found}");
    let expected = p * (1.0 - (1.0 - p).powi(3));
    let found = lost(&file) / ios;
    // p is itself a measurement, and enters about squared.
    let sigma = (expected / ios).sqrt() + 2.0 * expected / p * (p / ios).sqrt();
    assert!((found - expected).abs() < 4.5 * sigma, "{found}, not {expected}");
}

#[test]
fn a_superblock_of_one_die_is_a_block() {
    let work = json!({
        "pattern": "random", "read_pct": 30, "queue_depth": 8, "total": {"ios": 4000},
        "precondition": [{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 2}],
    });
    let mut file = drive(2, 64, 32, 0.2, false);
    file["ftl"]["gc_reserve_blocks"] = json!(4);
    file["controller"] = json!({"scheduler": "priority"});
    file["ftl"]["allocation"] = json!({"kind": "superblock", "dies": 1});
    let one = metrics(&file, &work);
    file["ftl"]["allocation"] = json!("CDP");
    let plain = metrics(&file, &work);
    for key in ["latency_us", "iops", "waf", "programs", "reads", "erases"] {
        assert_eq!(one[key], plain[key], "{key}");
    }
    assert!(number(&one, "/waf") > 1.1);
}

#[test]
fn superblocks_that_cannot_be_are_refused_with_the_arithmetic() {
    let superblock = |dies: u32| json!({"kind": "superblock", "dies": dies});
    for (nand, ftl, path, words) in [
        (json!({}), json!({"allocation": superblock(3)}), "ftl.allocation.dies", "5 groups and 1"),
        (json!({}), json!({"allocation": superblock(0)}), "ftl.allocation.dies", "0 dies"),
        (json!({}), json!({"allocation": superblock(32)}), "ftl.allocation.dies", "drive of 16"),
        (json!({}), json!({"allocation": {"kind": "superblok"}}), "ftl.allocation", "superblok"),
        (json!({}), json!({"allocation": "superblock"}), "nand.multi_plane", "dies of 2 planes"),
        (
            json!({"planes_per_die": 1}),
            json!({"allocation": superblock(1), "parity": {"kind": "die_stripe"}}),
            "ftl.parity",
            "leaves 0 for data",
        ),
        (json!({}), json!({"parity": {"kind": "die_stripe"}}), "ftl.parity", "superblock"),
        (
            json!({"planes_per_die": 1}),
            json!({"allocation": "superblock", "parity": {"stripe": 4}}),
            "ftl.parity",
            "die_stripe",
        ),
        (
            json!({"planes_per_die": 1}),
            json!({"allocation": "superblock", "copyback": {}}),
            "ftl.copyback",
            "inside its die",
        ),
        (
            json!({"planes_per_die": 1}),
            json!({"allocation": "superblock", "gc_reserve_blocks": 20}),
            "ftl.gc_reserve_blocks",
            "1 superblocks of 16 and 4 blocks",
        ),
        (
            json!({"planes_per_die": 1, "pages_per_block": 65_535, "page_size_bytes": 16384,
                   "dies_per_channel": 4, "blocks_per_plane": 64}),
            json!({"allocation": "superblock", "map_unit_bytes": 1024}),
            "ftl.allocation.dies",
            "at most 16777216 (here up to 16 dies)",
        ),
        (
            json!({"planes_per_die": 1, "factory_bad_block_ratio": 0.01}),
            json!({"allocation": "superblock", "wear_leveling": "static"}),
            "ftl.allocation.bad_block",
            "accepted: remap",
        ),
        (
            json!({"faults": [{"kind": "die_lost", "die": 16, "at_s": 0}]}),
            json!({}),
            "nand.faults[0].die",
            "accepted: 0 to 15",
        ),
        (
            json!({"faults": [{"kind": "die_lost", "die": 1, "at_s": -1}]}),
            json!({}),
            "nand.faults[0].at_s",
            "0 to 1e9",
        ),
    ] {
        let file = json!({"nand": nand, "ftl": ftl});
        let error = DeviceConfig::resolve(&file.to_string()).expect_err("a refusal");
        assert_eq!(error.path, path, "{file}: {error}");
        assert!(error.message.contains(words), "{file}: {error}");
    }
}
