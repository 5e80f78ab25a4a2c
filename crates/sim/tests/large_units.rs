//! Map units of several pages: the pages of as many planes, as if they were one.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::testing::{metrics, number};
use serde_json::{json, Value};

/// A drive whose dies have so many planes with pages of so many KiB; blocks of 2 MiB for each die
/// and plane of the larger page.
fn device(planes: u32, page_kib: u64, unit_kib: Option<u64>) -> Value {
    let mut file = json!({
        "nand": {"cell_type": "QLC", "channels": 2, "dies_per_channel": 1,
                 "planes_per_die": planes, "multi_plane": planes > 1,
                 "blocks_per_plane": 48, "pages_per_block": 32, "page_size_bytes": page_kib << 10,
                 "timing": {"t_read_us": 80, "t_program_us": 900, "t_erase_us": 8000,
                            "bus_mt_s": 1200, "command_us": 0.3}},
        "ftl": {"over_provisioning_pct": 0.28, "gc_reserve_blocks": 4},
    });
    if let Some(unit_kib) = unit_kib {
        file["ftl"]["map_unit_bytes"] = json!(unit_kib << 10);
    }
    file
}

fn writes(bytes: u64) -> Value {
    json!({"pattern": "random", "read_pct": 30, "block_size_bytes": bytes, "queue_depth": 8,
           "total": {"ios": 6000}, "precondition": [{"kind": "sequential_fill", "fills": 1}]})
}

/// A page of 64 KiB in one plane is what four planes with pages of 16 KiB are to units of 64 KiB,
/// whatever is written: also parts of units, which are merged with the rest.
#[test]
fn a_unit_of_several_pages_is_one_page_of_as_many_planes() {
    for (planes, unit_kib, wide_planes) in [(4, 64, 1), (4, 32, 2), (2, 32, 1)] {
        for bytes in [4096, 65536] {
            let large = metrics(&device(planes, 16, Some(unit_kib)), &writes(bytes));
            let wide = metrics(&device(wide_planes, unit_kib, None), &writes(bytes));
            assert_eq!(large, wide, "{planes} planes, {unit_kib} KiB");
            if bytes < unit_kib << 10 {
                assert!(number(&large, "/reads/merge") > 0.0);
            }
        }
    }
}

/// The data of all planes cross the bus, then one program takes them, in an idle drive.
#[test]
fn a_unit_takes_the_bus_for_each_page_and_the_array_once() {
    let mut file = device(4, 16, Some(64));
    file["nand"]["channels"] = json!(1);
    let mean_us = |read_pct: u32, kind: &str| {
        let workload = json!({"pattern": "random", "read_pct": read_pct,
                              "block_size_bytes": 65536, "queue_depth": 1, "total": {"ios": 40},
                              "precondition": [{"kind": "sequential_fill", "fills": 1}]});
        number(&metrics(&file, &workload), &format!("/latency_us/{kind}/min"))
    };
    let transfer_us = 4.0 * 16384.0 / 1200.0;
    for (found, array_us) in [(mean_us(100, "read"), 80.0), (mean_us(0, "write"), 900.0)] {
        let expected = array_us + transfer_us + 0.3;
        assert!((found - expected).abs() < 0.01, "{found}, not {expected}");
    }
}

#[test]
fn what_planes_have_is_added_up() {
    let mut file = device(4, 16, Some(64));
    file["nand"]["factory_bad_block_ratio"] = json!(0.01);
    file["nand"]["blocks_per_plane"] = json!(1000);
    file["nand"]["energy"] = json!({"read_uj": 1, "program_uj": 1, "erase_uj": 1});
    let config = DeviceConfig::resolve(&file.to_string()).expect("a device");
    let effective = config.effective();
    assert_eq!(effective["raw_bytes"], 2 * 4 * 1000 * 32 * 16384_u64);
    assert_eq!(effective["planes_per_row"], 4);
    // 1 - 0.99^4 of 2000 wide blocks.
    assert_eq!(effective["bad_blocks"], 78);
    let workload = json!({"pattern": "random", "block_size_bytes": 65536, "queue_depth": 4,
                          "total": {"ios": 1000}});
    let found = metrics(&file, &workload);
    // A microjoule for each of four pages of a unit.
    let joules = number(&found, "/power/joules/programs");
    assert!((joules - 4.0 * 1000.0e-6).abs() < 1e-9, "{joules}");
}

#[test]
fn units_that_planes_cannot_hold_are_refused_with_the_arithmetic() {
    let apart = |planes: u32| {
        let mut file = device(planes, 16, Some(32));
        file["nand"]["multi_plane"] = json!(false);
        file
    };
    for (file, words) in [
        (device(2, 16, Some(64)), "65536 bytes are 4 pages of 16384"),
        (device(2, 16, Some(64)), "writes 2 that nand.multi_plane joins, which 4 does not divide"),
        (device(6, 16, Some(64)), "from 512 to 32768"),
        (device(3, 16, Some(32)), "from 512 to 16384"),
        (apart(4), "writes 1 at a time, which 2 does not divide"),
        (device(4, 16, Some(48)), "a power of two from 512"),
    ] {
        let error = DeviceConfig::resolve(&file.to_string()).expect_err("cannot be");
        assert_eq!(error.path, "ftl.map_unit_bytes");
        assert!(error.message.contains(words), "{error}");
    }
}
