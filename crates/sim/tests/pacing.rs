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

/// With one write outstanding, one write waits for each burst, and the host writes the pages that
/// the burst has freed before the next.
#[test]
fn a_burst_holds_one_write_back_for_all_the_victims_that_it_empties() {
    let whole = metrics(&device(&json!("whole")), &writes(1));
    let times = number(&whole, "/latency_us/write/mean") / number(&whole, "/waf");
    for (blocks, short, long) in [(2.0, "p99", "p999"), (0.25, "p90", "p99")] {
        let bursts = json!({"kind": "bursts", "superblocks": blocks});
        let found = metrics(&device(&bursts), &writes(1));
        let waf = number(&found, "/waf");
        // A victim has (waf - 1) / waf of its pages live and gives back the others.
        let victims = blocks * waf;
        let page = T_READ_US + T_PROGRAM_US + 20.0;
        let burst = victims * ((waf - 1.0) / waf * 64.0 * page + T_ERASE_US);
        let of = |key: &str| number(&found, &format!("/latency_us/write/{key}"));
        assert!(of(short) < 10.0 * T_PROGRAM_US, "{blocks}: {}", of(short));
        let ratio = of(long) / burst;
        assert!((0.8..1.5).contains(&ratio), "{blocks}: {} us, {burst} us", of(long));
        assert!((of("mean") / waf / times - 1.0).abs() < 0.03, "{blocks}: {}", of("mean"));
    }
}

/// A core that moves as slowly as this decides the rate; one that is faster than the flash changes
/// nothing, since commands go first.
#[test]
fn moved_units_take_the_core_that_commands_leave() {
    let of = |cost: f64, depth| {
        let mut file = device(&json!({"kind": "steps", "step_pages": 1, "soft_spare_blocks": 1}));
        file["host"] = json!({"command_cost_us": {"write": 100, "move": cost}});
        metrics(&file, &writes(depth))
    };
    let free = of(0.0, 1);
    assert_eq!(free["latency_us"], of(200.0, 1)["latency_us"]);
    for depth in [1, 8] {
        let slow = of(3000.0, depth);
        let writes = number(&slow, "/latency_us/write/count");
        let core = 100.0 + 3000.0 * number(&slow, "/gc_pages_moved") / writes;
        let each = number(&slow, "/duration_s") * 1e6 / writes;
        assert!(
            (each / core - 1.0).abs() < 0.01,
            "{depth}: {each} us a write, {core} us of the core"
        );
    }
}

/// Superblocks over four dies of two planes, 256 rows of 32 units, behind a write buffer.
fn superblocks() -> Value {
    let mut file = device(&json!({"kind": "steps", "soft_spare_blocks": 1}));
    file["nand"]["channels"] = json!(2);
    file["nand"]["dies_per_channel"] = json!(2);
    file["nand"]["planes_per_die"] = json!(2);
    file["nand"]["multi_plane"] = json!(true);
    file["nand"]["page_size_bytes"] = json!(16384);
    file["nand"]["blocks_per_plane"] = json!(64);
    file["nand"]["pages_per_block"] = json!(256);
    file["ftl"]["map_unit_bytes"] = json!(4096);
    file["ftl"]["allocation"] = json!("superblock");
    file["ftl"]["over_provisioning_pct"] = json!(0.2);
    file["ftl"]["gc_reserve_blocks"] = json!(4);
    file["ftl"]["write_buffer_pages"] = json!(128);
    file
}

#[test]
fn no_write_waits_for_a_whole_superblock() {
    let paced = metrics(&superblocks(), &writes(32));
    let amplification = number(&paced, "/waf");
    assert!(amplification > 2.5, "the test is of a drive that moves much: {amplification}");
    // A row of 32 units and the moves that win it: all dies program at the same time.
    let row = amplification * (T_READ_US + T_PROGRAM_US) + T_ERASE_US;
    let of = |key: &str| number(&paced, &format!("/latency_us/write/{key}"));
    assert!(of("p999") < 4.0 * row, "99.9 % {} us, a row takes {row} us", of("p999"));
    let victim = 256.0 * (1.0 - 1.0 / amplification) * (T_READ_US + T_PROGRAM_US);
    assert!(of("p9999") < 0.5 * victim, "{} us, a victim takes {victim} us", of("p9999"));
}

/// Untimed writes leave no room behind; the first timed ones do not wait for that.
#[test]
fn superblocks_have_room_when_a_timed_stage_begins() {
    let mut workload = writes(32);
    workload["total"] = json!({"ios": 4000});
    workload["precondition"] =
        json!([{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 4}]);
    let first = metrics(&superblocks(), &workload);
    let longest = number(&first, "/latency_us/write/max");
    // Half of the live pages of a victim, of 256 rows.
    let victim = 0.5 * 128.0 * (T_READ_US + T_PROGRAM_US);
    assert!(longest < victim, "{longest} us, half a victim takes {victim} us");
}

/// Where blocks of the cache hold all the room there is, collections would win none, whatever they
/// moved: these blocks are folded.
#[test]
fn a_full_cache_is_folded_when_a_timed_stage_begins() {
    let mut file = superblocks();
    file["ftl"]["slc_cache"] =
        json!({"kind": "hybrid", "static_bytes": 0, "dynamic_bytes_max": 600_000_000});
    let mut workload = writes(1);
    workload["total"] = json!({"ios": 10});
    workload["precondition"] = json!([{"kind": "sequential_fill"}]);
    let done = metrics(&file, &workload);
    assert!(number(&done, "/wear/max") < 20.0, "{}", done["wear"]);
}
