//! Draws small devices of every make, for the tests that run next to a plain map.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::rng::Rng;
use serde_json::{json, Value};

fn one_of(rng: &mut Rng, values: &[Value]) -> Value {
    values[rng.below(values.len() as u64) as usize].clone()
}

/// A device of up to four dies that can work; with `options`, of every make, and with `in_steps`,
/// one that can collect in steps.
pub fn draw_device(rng: &mut Rng, options: bool, in_steps: bool) -> DeviceConfig {
    loop {
        let mut device = draw_plain(rng, in_steps);
        if options {
            draw_options(rng, &mut device);
        }
        draw_refresh(rng, &mut device);
        draw_parts(rng, &mut device);
        draw_placement(rng, &mut device);
        if let Ok(config) = DeviceConfig::resolve(&device.to_string()) {
            return config;
        }
    }
}

fn draw_plain(rng: &mut Rng, in_steps: bool) -> Value {
    let policies = [
        json!("greedy"),
        json!("cost_benefit"),
        json!({"kind": "cost_benefit", "age": "since_invalidation"}),
        json!("fifo"),
        json!("random"),
        json!({"kind": "d_choices", "d": 1 + rng.below(12)}),
        json!({"kind": "windowed_greedy", "window_blocks": 1 + rng.below(40)}),
    ];
    let wear =
        [json!("none"), json!("dynamic"), json!({"kind": "static", "threshold": 1 + rng.below(8)})];
    let frontiers =
        [json!("host_gc"), json!("single"), json!({"kind": "hot_cold", "fraction": 0.3})];
    json!({
        "nand": {
            "channels": 1 + rng.below(2), "dies_per_channel": 1 + rng.below(2),
            "planes_per_die": 1, "blocks_per_plane": 8 + rng.below(24),
            "pages_per_block": (one_of(rng, &[4, 7, 16, 64, 100].map(Value::from))),
            "max_pe_cycles": if rng.below(3) == 0 { 4 + rng.below(12) } else { 3000 },
            "factory_bad_block_ratio": (one_of(rng, &[0.0, 0.1].map(Value::from))),
        },
        "ftl": {
            "over_provisioning_pct": 0.1 + rng.unit(),
            "gc_policy": (one_of(rng, &policies)),
            "write_frontiers": (one_of(rng, &frontiers[..if in_steps { 1 } else { 3 }])),
            "wear_leveling": (one_of(rng, &wear)),
            "gc_reserve_blocks": 1 + rng.below(8),
        },
    })
}

/// Refresh in half of the drives, by age in days that a test counts through; from a copy, so that
/// what is drawn after it stays what it was.
fn draw_refresh(rng: &mut Rng, device: &mut Value) {
    let mut own = rng.clone();
    if own.below(2) == 0 {
        let after_days = 0.05 + own.unit();
        device["ftl"]["refresh"] = json!({"after_days": after_days, "at_rber": 1e-3});
    }
}

/// Pages of SLC flash that are programmed in parts, in half of the drives with small map units,
/// without what that does not go with; from a copy, as above.
fn draw_parts(rng: &mut Rng, device: &mut Value) {
    let mut own = rng.clone();
    let units = 4096 / device["ftl"]["map_unit_bytes"].as_u64().unwrap_or(4096);
    if units <= 1 || own.below(2) == 0 {
        return;
    }
    device["nand"]["cell_type"] = json!("SLC");
    device["nand"]["multi_plane"] = json!(false);
    device["nand"]["program"] = json!("page");
    device["nand"]["partial_programs"] = json!(2 + own.below(units - 1));
    device["nand"]["program_disturb"] = json!(0.5);
    device["ftl"]["slc_cache"] = json!("none");
    device["ftl"]["compression"] = json!("none");
    if device["ftl"]["allocation"].is_object() {
        device["ftl"]["allocation"] = json!("dynamic");
    }
}

/// Placement handles in half of the drives that they go with; from a copy, as above.
fn draw_placement(rng: &mut Rng, device: &mut Value) {
    let mut own = rng.clone();
    let isolation = one_of(&mut own, &["initially", "persistently"].map(Value::from));
    let kind = match own.below(4) {
        0 => json!({"kind": "fdp", "handles": 2 + own.below(4), "isolation": isolation}),
        1 => json!({"kind": "streams", "count": 1 + own.below(3)}),
        _ => return,
    };
    let mut placed = device.clone();
    placed["ftl"]["placement"] = kind;
    if DeviceConfig::resolve(&placed.to_string()).is_ok() {
        *device = placed;
    }
}

/// Superblocks over the dies: what they do not go with is left out.
fn draw_superblocks(rng: &mut Rng, device: &mut Value) {
    let number = |device: &Value, key: &str| device["nand"][key].as_u64().expect("a number");
    let dies = number(device, "channels") * number(device, "dies_per_channel");
    let group = if rng.below(2) == 0 { dies } else { 1 + rng.below(dies) };
    let bad_block = one_of(rng, &["shrink", "remap"].map(Value::from));
    device["ftl"]["allocation"] =
        json!({"kind": "superblock", "dies": group, "bad_block": bad_block});
    device["ftl"]["copyback"] = json!("none");
    device["ftl"]["compression"] = json!("none");
    device["ftl"]["gc_reserve_blocks"] = json!(group * (1 + rng.below(8)));
    let has_parity = group > 1 && rng.below(2) == 0;
    device["ftl"]["parity"] =
        if has_parity { json!({"kind": "die_stripe"}) } else { json!("none") };
    device["nand"]["multi_plane"] = json!(number(device, "planes_per_die") > 1);
}

/// Planes, striping, copyback, single-bit blocks, parity, compression and map units, in any mix.
/// Every fourth drive has superblocks.
fn draw_options(rng: &mut Rng, device: &mut Value) {
    let orders = ["CDP", "CPD", "DCP", "DPC", "PCD", "PDC", "dynamic", "dynamic"];
    device["ftl"]["allocation"] = json!(orders[rng.below(8) as usize]);
    let planes = 1 + rng.below(3);
    device["nand"]["planes_per_die"] = json!(planes);
    device["nand"]["multi_plane"] = json!(planes > 1 && rng.below(2) == 0);
    // From a copy, so that what is drawn after it stays what it was.
    let is_apart = planes > 1 && rng.clone().below(2) == 0;
    device["nand"]["independent_planes"] = json!(is_apart);
    device["nand"]["cell_type"] = one_of(rng, &["MLC", "TLC", "QLC"].map(Value::from));
    if rng.below(3) == 0 {
        device["ftl"]["copyback"] = json!({"limit": 1 + rng.below(3)});
    } else if rng.below(2) == 0 {
        device["ftl"]["parity"] = json!({"stripe": 2 + rng.below(9)});
    }
    if rng.below(3) == 0 {
        let ratio = 0.2 + 0.8 * rng.unit();
        device["ftl"]["compression"] = json!({"data": "file", "ratio": ratio});
    }
    if rng.below(3) == 0 {
        device["ftl"]["map_unit_bytes"] = json!(4096 >> rng.below(4));
    } else if planes == 2 && rng.clone().below(2) == 0 {
        // From a copy, as above; refused, and drawn again, where planes are not joined.
        device["ftl"]["map_unit_bytes"] = json!(8192);
    }
    if rng.below(3) == 0 {
        device["nand"]["program"] = json!({"kind": "one_shot", "t_wordline_us": 2000});
    }
    let when_full = one_of(rng, &["direct", "fold"].map(Value::from));
    match rng.below(4) {
        0 => {
            device["ftl"]["write_frontiers"] = json!("host_gc");
            device["ftl"]["slc_cache"] = json!({
                "kind": "hybrid", "min_erased_blocks": rng.below(5),
                "max_pe_cycles": 3 + rng.below(40),
                "static_bytes": rng.below(2) * (rng.below(4) << 20),
                "dynamic_bytes_max": rng.below(4) << 20,
            });
        }
        1 => {
            device["ftl"]["write_frontiers"] = json!("host_gc");
            device["ftl"]["slc_cache"] = json!({
                "kind": "static", "blocks_per_die": 2 + rng.below(5), "when_full": when_full,
                "max_pe_cycles": 3 + rng.below(40),
            });
        }
        2 => {
            device["ftl"]["write_frontiers"] = json!("host_gc");
            device["ftl"]["slc_cache"] = json!({
                "kind": "dynamic", "min_erased_blocks": rng.below(5), "when_full": when_full,
            });
        }
        _ => {}
    }
    if rng.below(4) == 0 {
        draw_superblocks(rng, device);
    }
    if rng.clone().below(3) == 0 {
        // From a copy, as above.
        let probability = |rng: &mut Rng| 0.02 * rng.unit() * rng.unit();
        let mut own = rng.clone();
        device["nand"]["failures"] = json!({
            "program": probability(&mut own), "erase": probability(&mut own),
            "growth": 1 + own.below(20),
        });
        if own.below(3) == 0 {
            let (ratio, cycles) = (0.001 + 0.05 * own.unit(), 1 + own.below(8));
            device["nand"]["failures"]["infant"] = json!({"ratio": ratio, "cycles": cycles});
        }
    }
}

/// Gives a device a way to map that is not by pages in RAM, and takes away what does not go with
/// it; it may be refused all the same.
#[allow(dead_code)] // not every test that draws devices maps otherwise
pub fn draw_mapping(rng: &mut Rng, device: &mut Value) {
    let pools = 1 + rng.below(4);
    let log_blocks = pools * (1 + rng.below(3));
    let replacement = ["fifo", "lru"][rng.below(2) as usize];
    let cache = ["lru", "slru"][rng.below(2) as usize];
    let mapping = match rng.below(4) {
        0 => json!({"kind": "dftl", "cache_bytes": 512 << rng.below(4), "replacement": cache,
                    "batch_evict": rng.below(2) == 0}),
        1 => json!("block"),
        2 => json!({"kind": "bast", "log_blocks": log_blocks, "replacement": replacement}),
        _ => json!({"kind": "fast", "log_blocks": log_blocks}),
    };
    device["ftl"]["over_provisioning_pct"] = json!(0.3 + rng.unit());
    device["ftl"]["parity"] = json!("none");
    if mapping["kind"] == "dftl" {
        // Map pages are small units, so that there are many.
        device["ftl"]["map_unit_bytes"] = json!(512);
        device["nand"]["max_pe_cycles"] = json!(1_000_000);
        device["nand"]["partial_programs"] = Value::Null;
        if rng.below(2) == 0 {
            device["ftl"]["map_checkpoint"] =
                json!({"every_writes": 1 + rng.below(50), "pages": 1 + rng.below(20)});
        }
    } else {
        device["nand"]["program"] = json!("page");
        device["nand"].as_object_mut().expect("an object").remove("failures");
        let off = [
            ("copyback", "none"),
            ("slc_cache", "none"),
            ("refresh", "none"),
            ("write_frontiers", "single"),
            ("wear_leveling", "dynamic"),
            ("collection", "whole"),
            ("idle_collection", "none"),
        ];
        for (key, value) in off {
            device["ftl"][key] = json!(value);
        }
    }
    device["ftl"]["mapping"] = mapping;
}
