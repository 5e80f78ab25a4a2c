//! Drives that wear out while they are measured: writes are refused, which is a number in the
//! result and never a failed self-check.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::{json, Value};

/// Runs a workload on a drive as it is and gives its result.
fn run(drive: &mut Simulation, workload: &Value, seed: u64) -> Value {
    let space = drive.space();
    let config = WorkloadConfig::resolve(&workload.to_string(), space).expect("a workload");
    drive.begin(config.job(space, seed));
    while !drive.advance(10_000).finished {}
    drive.outcome()
}

fn drive(device: &Value, seed: u64) -> Simulation {
    Simulation::new(DeviceConfig::resolve(&device.to_string()).expect("a device"), seed)
}

/// A drive that wore out had pages on their way out of the write buffer that waited for an erase.
/// They were refused without freeing their slots, so commands that waited for a slot were never
/// served: `1401 issued, 1397 served`, and Little's law was off by `Some(0.48)`.
#[test]
fn a_worn_out_drive_serves_every_command_that_waits_for_its_write_buffer() {
    let device = json!({
        "nand": {"cell_type": "TLC", "channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
                 "blocks_per_plane": 64, "pages_per_block": 12, "max_pe_cycles": 5},
        "ftl": {"over_provisioning_pct": 0.28, "write_frontiers": "host_gc",
                "write_buffer_pages": 8, "collection": {"kind": "steps"}},
    });
    let open = json!({"arrival": "poisson", "iops": 3000});
    for (queue_depth, trim_pct) in [(json!(4), 0), (open, 0), (json!(16), 20)] {
        for seed in 1..6 {
            let workload = json!({
                "name": "w", "pattern": "random", "total": {"drive_writes": 20},
                "trim_pct": trim_pct, "queue_depth": queue_depth, "flush_every": 50,
                "precondition": [{"kind": "sequential_fill", "fills": 1}],
            });
            let result = run(&mut drive(&device, seed), &workload, seed);
            assert_eq!(result["state"]["worn_out"], true, "seed {seed}: it must wear out");
            let checks = &result["checks"];
            assert_eq!(checks["failures"], json!([]), "seed {seed}, {queue_depth}, {trim_pct} %");
            assert_eq!(checks["issued"], checks["served"], "seed {seed}");
            assert_eq!(checks["passed"], true, "seed {seed}");
        }
    }
}

/// Writes that a worn-out drive refused counted as written: WAF was 0.0 with 4096 bytes and no
/// program, and 1860 pages were written by 1859 programs.
#[test]
fn refused_writes_are_not_written() {
    let device = json!({
        "nand": {"cell_type": "MLC", "channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
                 "blocks_per_plane": 64, "pages_per_block": 24, "max_pe_cycles": 5},
        "ftl": {"over_provisioning_pct": 0.2},
    });
    let cases: [(bool, u64); 5] =
        [(false, 4096), (true, 4096), (false, 16_384), (true, 16_384), (true, 6144)];
    for (timed, block_size) in cases {
        let mut drive = drive(&device, 42);
        let fill = json!({"name": "fill", "pattern": "sequential", "timed": false,
                          "total": {"drive_writes": 2}});
        run(&mut drive, &fill, 1);
        let random = json!({"name": "w", "pattern": "random", "timed": timed,
                            "block_size_bytes": block_size, "total": {"drive_writes": 1.5}});
        let page_count = |result: &Value, key: &str| {
            result["metrics"]["host_pages"][key].as_u64().expect("a count")
        };
        let mut has_died = false;
        for round in 0..8 {
            let result = run(&mut drive, &random, 2 + round);
            let metrics = &result["metrics"];
            let bytes = metrics["host_bytes_written"].as_u64().expect("bytes");
            let programs = metrics["programs"]["host"].as_u64().expect("a count");
            let case = format!("timed {timed}, {block_size} bytes, round {round}: {metrics}");
            assert_eq!(page_count(&result, "written"), programs, "{case}");
            assert!(bytes <= programs * 4096, "{case}");
            if block_size.is_multiple_of(4096) {
                assert_eq!(bytes, programs * 4096, "{case}");
            }
            assert_eq!(metrics["waf"].is_null(), programs == 0, "{case}");
            assert_eq!(result["checks"]["failures"], json!([]), "{case}");
            has_died |= page_count(&result, "rejected") > 0;
        }
        assert!(has_died, "the drive must wear out");
    }
}
