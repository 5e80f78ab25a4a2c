//! Collections in steps keep pace with the host, whatever the amplification.
//!
//! With v of b pages live in a victim, the host gets b - v pages for v moves. A drive that moves
//! v / (b - v) pages for each page of the host serves every write in about the mean time; one that
//! moves a whole victim while a write waits takes v times as long for it.

use opennandlab_sim::testing::{metrics, number};
use serde_json::{json, Value};

const T_READ_US: f64 = 50.0;
const T_PROGRAM_US: f64 = 600.0;
const T_ERASE_US: f64 = 3000.0;

/// One die of 128 blocks of 64 pages, seven of eight of which the host fills.
fn device(collection: &Value) -> Value {
    json!({
        "nand": {"cell_type": "TLC", "channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
                 "blocks_per_plane": 128, "pages_per_block": 64,
                 "timing": {"t_read_us": T_READ_US, "t_program_us": T_PROGRAM_US,
                            "t_erase_us": T_ERASE_US, "bus_mt_s": 400}},
        "ftl": {"over_provisioning_pct": 0.14, "gc_reserve_blocks": 1,
                "write_frontiers": "host_gc", "collection": collection},
        "controller": {"scheduler": "priority"},
        "ecc": {"algorithm": "none"},
    })
}

fn writes(depth: u32) -> Value {
    json!({"pattern": "random", "read_pct": 0, "block_size_bytes": 4096, "queue_depth": depth,
           "total": {"drive_writes": 3},
           "precondition": [{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 4},
                            {"kind": "workload", "drive_writes": 1, "timed": true}]})
}

#[test]
fn no_write_waits_for_a_whole_victim() {
    let steps = json!({"kind": "steps", "step_pages": 1, "soft_spare_blocks": 1});
    let whole = metrics(&device(&json!("whole")), &writes(1));
    let amplification = number(&whole, "/waf");
    assert!(amplification > 4.0, "the test is of a drive that moves much: {amplification}");
    let victim = number(&whole, "/latency_us/write/max");
    assert!(victim > 45.0 * (T_READ_US + T_PROGRAM_US), "a whole victim takes {victim} us");
    for depth in [1, 4, 16] {
        let paced = metrics(&device(&steps), &writes(depth));
        let waf = number(&paced, "/waf");
        assert!((waf / amplification - 1.0).abs() < 0.03, "{depth}: {waf}, {amplification}");
        let [mean, p99, longest] =
            ["mean", "p99", "max"].map(|it| number(&paced, &format!("/latency_us/write/{it}")));
        assert!(p99 < 4.0 * mean, "{depth} outstanding: 99 % {p99} us, mean {mean} us");
        // Outstanding writes wait for each other too.
        let limit = mean + 0.5 * f64::from(depth) * victim;
        assert!(longest < limit, "{depth} outstanding: {longest} us, at most {limit} us");
    }
}
