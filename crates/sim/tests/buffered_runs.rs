//! Runs that pass a write buffer as a whole leave what their pages leave one by one.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use serde_json::{json, Value};

fn cell(drive: &mut Simulation, spec: &Value, seed: u64) -> Value {
    drive.begin_cell(&spec.to_string(), seed).unwrap_or_else(|error| panic!("{spec}: {error}"));
    while !drive.advance(100_000).finished {}
    let outcome = drive.cell();
    assert_eq!(outcome["failures"], json!([]), "{spec}");
    outcome
}

/// With requests of a page, 1024 of them are fewer than wait in the buffer, and each goes by
/// itself; with larger ones they pass it as a run. To the end of the drive's life.
#[test]
fn runs_pass_the_write_buffer_as_pages_do() {
    for absorbs in [true, false] {
        for pe_cycles in [3000, 4] {
            let file = json!({
                "nand": {"channels": 2, "dies_per_channel": 1, "planes_per_die": 1,
                    "blocks_per_plane": 100, "pages_per_block": 64, "max_pe_cycles": pe_cycles},
                "ftl": {"over_provisioning_pct": 0.28, "allocation": "superblock",
                    "write_buffer_pages": 2060, "write_buffer_absorbs": absorbs},
            });
            let config = || DeviceConfig::resolve(&file.to_string()).expect("a device");
            let mut drives = [Simulation::new(config(), 3), Simulation::new(config(), 3)];
            let bytes = drives[0].space().logical_bytes;
            let mut is_worn_out = false;
            for turn in 0..24 {
                let seed = 5 + turn;
                let [one, other] = [0, 1].map(|place| {
                    let spec = json!({"pattern": "sequential", "is_measured": false,
                        "block_bytes": 4096 << (2 * place),
                        "start_bytes": turn % 3 * 49_152, "limit": {"bytes": bytes}});
                    cell(&mut drives[place], &spec, seed)
                });
                is_worn_out |= one["is_worn_out"] == true;
                for key in ["is_worn_out", "written_bytes", "flash", "reclaims", "waiting_pages"] {
                    assert_eq!(one[key], other[key], "{key}, turn {turn}: {file}");
                }
                // What waits leaves in the same order.
                let random = json!({"is_measured": false, "limit": {"ios": 300 + turn}});
                let [one, other] = drives.each_mut().map(|drive| cell(drive, &random, seed));
                assert!(one == other, "turn {turn}: {one}\n{other}");
                if is_worn_out {
                    break;
                }
            }
            assert_eq!(is_worn_out, pe_cycles == 4);
            let [one, other] = drives.each_ref().map(|drive| (drive.wear(), drive.mapped_pages()));
            assert!(one == other, "{file}");
            for drive in &drives {
                assert_eq!(drive.audit(), Ok(()));
            }
        }
    }
}
