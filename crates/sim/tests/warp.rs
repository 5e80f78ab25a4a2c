//! Age that was set, beside age that was written: wear, blocks that failed, room that is left.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::workload::StepsConfig as Steps;

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
