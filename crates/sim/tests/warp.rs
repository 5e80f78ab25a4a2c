//! Age that was set, next to age that was written: wear, blocks that failed, room that is left.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::workload::{StepsConfig as Steps, WorkloadConfig};

/// A 16 GB eMMC, 1/64 of it, whose blocks fail often enough to be counted.
fn device(more: &str) -> DeviceConfig {
    let json = format!(
        r#"{{"nand": {{"channels": 1, "dies_per_channel": 4, "planes_per_die": 1,
        "blocks_per_plane": 144, "pages_per_block": 128, "page_size_bytes": 4096,
        "max_pe_cycles": 3000, "failures": {{"program": 2e-6, "erase": 1e-4, "growth": 10}}}},
        "ftl": {{"over_provisioning_pct": 0.3 {more}}}}}"#
    );
    DeviceConfig::resolve(&json).expect("a device")
}

/// The mean erase count of the good blocks, how many they are, and how many of them are erased.
fn wear(simulation: &Simulation) -> [f64; 3] {
    let wear = simulation.wear();
    ["erase_count_mean", "blocks", "free_blocks"].map(|name| wear[name].as_f64().expect("a number"))
}

#[test]
fn a_warped_drive_is_as_worn_as_one_that_was_written() {
    for more in
        ["", r#", "allocation": {"kind": "superblock", "dies": "all", "bad_block": "remap"}"#]
    {
        let mut written = Simulation::new(device(more), 3);
        let steps =
            Steps::resolve(r#"{"precondition": [{"kind": "sequential_fill", "fills": 30}]}"#)
                .expect("steps");
        written.begin(steps.job(written.space(), 3));
        while !written.advance(1_000_000).finished {}
        written.purge();
        let found = wear(&written);
        assert!(wear(&Simulation::new(device(more), 3))[1] > found[1], "{more}: no block failed");

        let mut warped = Simulation::new(device(more), 3);
        warped.warp(found[0], 0.1, 3).expect("a fresh drive");
        warped.audit().expect("tables agree");
        for (set, real) in wear(&warped).into_iter().zip(found) {
            assert!((set / real - 1.0).abs() < 0.05, "{more}: {:?} for {found:?}", wear(&warped));
        }
        assert_eq!(warped.mapped_pages(), 0);
    }
}

/// Untimed random writes behind these steps: the drive afterwards, the outcome of its last job.
fn after(more: &str, steps: &str, drive_writes: f64) -> (Simulation, serde_json::Value) {
    let mut drive = Simulation::new(device(more), 3);
    let json = format!(
        r#"{{"name": "test", "timed": false, "total": {{"drive_writes": {drive_writes}}},
        "precondition": [{steps}]}}"#
    );
    let workload = WorkloadConfig::resolve(&json, drive.space()).expect("a workload");
    let job = workload.job(drive.space(), 3);
    drive.check_ages(&job).expect("a map of pages");
    drive.begin(job);
    while !drive.advance(1_000_000).finished {}
    let outcome = drive.outcome();
    drive.audit().expect("tables agree");
    (drive, outcome)
}

/// A drive whose data stays where it is while it ages is that of the writes: its wear, the blocks
/// that it lost, its write amplification; and what it counts is not those writes.
#[test]
fn an_aged_drive_with_data_is_as_one_that_was_written() {
    let fill = r#"{"kind": "sequential_fill"}"#;
    let writes = |count| format!(r#"{{"kind": "workload", "drive_writes": {count}}}"#);
    for more in ["", r#", "wear_leveling": {"kind": "static", "threshold": 30}"#] {
        let (written, last) = after(more, &format!("{fill}, {}", writes(40)), 6.0);
        let found = wear(&written);
        // Four drive writes behind the age, and the six that are measured, add to it.
        let waf = |of: &serde_json::Value| of["metrics"]["waf"].as_f64().expect("a number");
        let mean = found[0] - 10.0 * waf(&last) / 1.3;
        let age = format!(r#"{{"kind": "age", "pe_cycles": {mean}, "spread_ratio": 0.05}}"#);
        // The blocks that failed are emptied and retired by the writes that follow.
        for steps in [
            format!("{fill}, {}, {age}, {}", writes(4), writes(4)),
            format!("{age}, {fill}, {}", writes(4)),
        ] {
            let (mut aged, outcome) = after(more, &steps, 6.0);
            let [count, blocks, _] = wear(&aged);
            assert!((count / found[0] - 1.0).abs() < 0.05, "{steps}: {count} for {found:?}");
            assert!((blocks / found[1] - 1.0).abs() < 0.02, "{steps}: {blocks} for {found:?}");
            assert!((waf(&outcome) / waf(&last) - 1.0).abs() < 0.03, "{steps}");
            let records = outcome["state"]["steps"].as_array().expect("steps");
            let step = records.iter().find(|it| it["failed_blocks"].is_u64()).expect("one of age");
            assert!(step["waf"].is_null() && step["host_bytes_written"] == 0, "{step}");
            assert!(step["failed_blocks"].as_u64() > Some(3), "{step}");
            assert_eq!(aged.mapped_pages(), written.mapped_pages());
            aged.purge();
            aged.audit().expect("tables agree");
        }
    }
}

/// Blocks at their rated cycles are taken out of use as they are needed, or stay.
#[test]
fn a_drive_at_the_end_of_its_life_refuses_writes_or_goes_on() {
    let steps = r#"{"kind": "sequential_fill"}, {"kind": "age", "pe_cycles": 3000}"#;
    for steps in [steps, r#"{"kind": "age", "pe_cycles": 4000}"#] {
        let (drive, outcome) = after("", steps, 3.0);
        assert!(outcome["metrics"]["host_pages"]["rejected"].as_u64() > Some(0), "{steps}");
        assert_eq!(outcome["state"]["worn_out"], true);
        let warned = outcome["warnings"].to_string();
        assert!(warned.contains("wear_out"), "{warned}");
        drop(drive);
    }
}

#[test]
fn maps_whose_blocks_have_places_age_before_they_are_written() {
    let json = r#"{"nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
        "blocks_per_plane": 64, "pages_per_block": 64}, "ftl": {"mapping": {"kind": "block"},
        "over_provisioning_pct": 0.28}}"#;
    let job = |drive: &Simulation, steps: &str| {
        let json = format!(
            r#"{{"name": "test", "timed": false, "total": {{"ios": 100}},
            "pattern": "sequential", "precondition": [{steps}]}}"#
        );
        WorkloadConfig::resolve(&json, drive.space()).expect("a workload").job(drive.space(), 3)
    };
    let mut drive = Simulation::new(DeviceConfig::resolve(json).expect("a device"), 3);
    let (age, fill) = (r#"{"kind": "age", "pe_cycles": 9}"#, r#"{"kind": "sequential_fill"}"#);
    let first = job(&drive, &format!("{age}, {fill}"));
    drive.check_ages(&first).expect("nothing is written");
    let refused = drive.check_ages(&job(&drive, &format!("{fill}, {age}"))).map_err(|it| it.path);
    assert_eq!(refused, Err("precondition[1]".to_owned()));
    drive.begin(first);
    while !drive.advance(1_000_000).finished {}
    drive.audit().expect("tables agree");
    assert!(wear(&drive)[0] >= 9.0);
    assert!(drive.check_ages(&job(&drive, age)).is_err());
}

#[test]
fn a_warp_is_one_of_a_seed_and_of_an_empty_drive() {
    let image = |seed| {
        let mut drive = Simulation::new(device(""), 3);
        drive.warp(500.0, 0.2, seed).expect("a fresh drive");
        drive.image()
    };
    assert!(image(1) == image(1) && image(1) != image(2));
    let mut drive = Simulation::new(device(""), 3);
    for (cycles, spread, path) in
        [(-1.0, 0.0, "warp.cycles"), (f64::NAN, 0.0, "warp.cycles"), (1.0, 2.0, "warp.spread")]
    {
        assert_eq!(drive.warp(cycles, spread, 1).map_err(|it| it.path), Err(path.to_owned()));
    }
    let steps = Steps::resolve(r#"{"precondition": [{"kind": "sequential_fill", "fills": 1}]}"#)
        .expect("steps");
    drive.begin(steps.job(drive.space(), 3));
    while !drive.advance(1_000_000).finished {}
    assert!(drive.warp(1.0, 0.0, 1).is_err());
}
