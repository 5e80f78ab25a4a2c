//! One FTL, two executors: the same commands leave the same drive, however they are run and sliced.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::{json, Value};

fn device(policy: &Value, frontiers: &str, wear: &Value, buffer_pages: u32) -> Value {
    json!({
        "nand": {"channels": 2, "dies_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 40,
                 "pages_per_block": 64},
        "ftl": {"over_provisioning_pct": 0.2, "gc_policy": policy, "write_frontiers": frontiers,
                "wear_leveling": wear, "write_buffer_pages": buffer_pages, "gc_reserve_blocks": 4},
    })
}

fn run(device: &Value, workload: &Value, slice: u64) -> Simulation {
    let device = DeviceConfig::resolve(&device.to_string()).expect("a device");
    let mut simulation = Simulation::new(device, 7);
    let space = simulation.space();
    let workload = WorkloadConfig::resolve(&workload.to_string(), space).expect("a workload");
    simulation.begin(workload.job(space, 7));
    while !simulation.advance(slice).finished {}
    simulation
}

/// A mix of everything: sizes from a sector to 128 KiB, reads, trims, after a fill.
fn mix(timed: bool) -> Value {
    json!({
        "name": "mix", "pattern": {"kind": "hot_cold", "fraction": 0.2, "share": 0.8},
        "read_pct": 20, "trim_pct": 5,
        "block_size_bytes": {"512": 1, "4096": 6, "8192": 2, "131072": 1},
        "queue_depth": 8, "timed": timed, "total": {"drive_writes": 6},
        "precondition": [{"kind": "sequential_fill", "fills": 1, "timed": timed}],
    })
}

fn every_device() -> Vec<Value> {
    let policies = [
        json!("greedy"),
        json!("fifo"),
        json!("random"),
        json!("cost_benefit"),
        json!({"kind": "cost_benefit", "age": "since_invalidation"}),
        json!({"kind": "d_choices", "d": 4}),
        json!({"kind": "windowed_greedy", "window_blocks": 8}),
    ];
    let mut devices = Vec::new();
    for policy in &policies {
        for frontiers in ["single", "host_gc"] {
            devices.push(device(policy, frontiers, &json!("dynamic"), 0));
        }
        devices.push(device(policy, "single", &json!({"kind": "static", "threshold": 3}), 0));
        devices.push(device(policy, "single", &json!("none"), 100));
    }
    devices.extend(devices_with_options());
    devices
}

/// Drives of the makes whose decisions do not depend on time.
fn devices_with_options() -> impl Iterator<Item = Value> {
    let cache = json!({"slc_cache": {"kind": "static", "blocks_per_die": 3, "when_full": "fold"}});
    let options = [
        json!({"allocation": "DCP"}),
        json!({"allocation": "PCD", "copyback": {"limit": 2}}),
        json!({"parity": {"stripe": 7}}),
        json!({"compression": {"data": "file", "ratio": 0.6}}),
        json!({"map_unit_bytes": 1024}),
        json!({"map_unit_bytes": 512, "allocation": "PDC", "slc_cache": {"kind": "dynamic"}}),
        cache,
        json!({"slc_cache": {"kind": "dynamic"}, "parity": {"stripe": 5}}),
    ];
    let makes = options.into_iter().flat_map(|option| [(option.clone(), false), (option, true)]);
    makes.map(|(option, multi_plane)| {
        let mut device = device(&json!("greedy"), "host_gc", &json!("dynamic"), 0);
        for (key, value) in option.as_object().expect("a mapping") {
            device["ftl"][key] = value.clone();
        }
        device["nand"]["planes_per_die"] = json!(2);
        device["nand"]["multi_plane"] = json!(multi_plane);
        device["nand"]["blocks_per_plane"] = json!(if multi_plane { 40 } else { 20 });
        device
    })
}

#[test]
fn both_executors_leave_the_same_drive() {
    for device in every_device() {
        let untimed = run(&device, &mix(false), 1 << 40);
        let timed = run(&device, &mix(true), 1 << 40);
        assert!(untimed.image() == timed.image(), "the drives differ: {device}");
        let (untimed, timed) = (untimed.outcome(), timed.outcome());
        for figure in ["waf", "programs", "erases", "reads", "wear", "host_pages"] {
            assert_eq!(untimed["metrics"][figure], timed["metrics"][figure], "{figure}: {device}");
        }
    }
}

/// Ways to map, and one by one where a command waits for the map: others then pass it.
fn mapped_devices() -> Vec<(Value, u64)> {
    let mappings = [
        (json!({"kind": "dftl", "cache_bytes": 8192}), 1),
        (json!({"kind": "dftl", "cache_bytes": 16384, "replacement": "slru"}), 1),
        (json!("block"), 8),
        (json!({"kind": "bast", "log_blocks": 8, "replacement": "lru"}), 8),
        (json!({"kind": "fast", "log_blocks": 8}), 8),
    ];
    let with = |(mapping, depth): (Value, u64)| {
        let mut device = device(&json!("greedy"), "single", &json!("dynamic"), 0);
        device["ftl"]["mapping"] = mapping;
        (device, depth)
    };
    mappings.into_iter().map(with).collect()
}

#[test]
fn both_executors_map_alike() {
    for (device, depth) in mapped_devices() {
        let commands = |timed| {
            let mut commands = mix(timed);
            commands["queue_depth"] = json!(depth);
            commands["total"] = json!({"drive_writes": 2});
            commands
        };
        let untimed = run(&device, &commands(false), 1 << 40);
        let timed = run(&device, &commands(true), 1 << 40);
        assert!(untimed.image() == timed.image(), "the drives differ: {device}");
        let loaded = Simulation::from_image(&timed.image(), 7).expect("an image");
        assert!(loaded.image() == timed.image(), "the image of a loaded drive differs: {device}");
        let (untimed, timed) = (untimed.outcome(), timed.outcome());
        for figure in ["waf", "programs", "erases", "reads", "wear", "host_pages", "mapping"] {
            assert_eq!(untimed["metrics"][figure], timed["metrics"][figure], "{figure}: {device}");
        }
        for outcome in [untimed, timed] {
            assert_eq!(outcome["checks"]["passed"], true, "{}: {device}", outcome["checks"]);
        }
    }
}

#[test]
fn every_check_passes() {
    for device in every_device() {
        for timed in [false, true] {
            let outcome = run(&device, &mix(timed), 1 << 40).outcome();
            assert_eq!(outcome["checks"]["passed"], true, "{}: {device}", outcome["checks"]);
        }
    }
}

#[test]
fn slices_change_nothing() {
    let device = device(&json!("greedy"), "single", &json!("dynamic"), 0);
    for timed in [false, true] {
        let whole = run(&device, &mix(timed), 1 << 40).outcome();
        for slice in [1, 97, 10_000] {
            assert_eq!(run(&device, &mix(timed), slice).outcome(), whole, "slices of {slice}");
        }
    }
}

#[test]
fn an_image_gives_the_drive_back() {
    for device in every_device() {
        let used = run(&device, &mix(false), 1 << 40);
        let image = used.image();
        let loaded = Simulation::from_image(&image, 7).expect("an image that was just made");
        loaded.audit().expect("the audit passes");
        assert!(loaded.image() == image, "the image of a loaded drive differs: {device}");
    }
}

#[test]
fn damaged_images_are_refused_with_a_reason() {
    let device = device(&json!("greedy"), "single", &json!("dynamic"), 0);
    let image = run(&device, &mix(false), 1 << 40).image();
    let refusal = |bytes: &[u8]| {
        Simulation::from_image(bytes, 1).err().map(|error| error.to_string()).expect("a refusal")
    };
    assert!(refusal(b"").contains("not a device image"));
    assert!(refusal(b"PK\x03\x04 something else altogether, of some length")
        .contains("not a device image"));
    assert!(refusal(&image[..image.len() - 1]).contains("cut off"));
    let mut newer = image.clone();
    newer[8] = 9;
    assert!(refusal(&newer).contains("format 9 is newer"));
    for place in [24, image.len() / 2, image.len() - 1] {
        let mut flipped = image.clone();
        flipped[place] ^= 0x10;
        assert!(refusal(&flipped).contains("damaged"), "a bit flipped at {place}");
    }
}

/// Of empty blocks the latest used to go first: the earliest were never erased, and wear spread.
#[test]
fn sequential_overwrites_wear_evenly_under_every_policy() {
    for policy in ["greedy", "fifo", "cost_benefit"] {
        let device = device(&json!(policy), "single", &json!("dynamic"), 0);
        let workload = json!({"name": "seq", "pattern": "sequential", "timed": false,
                              "total": {"drive_writes": 60}});
        let wear = run(&device, &workload, 1 << 40).outcome()["metrics"]["wear"].clone();
        let span = wear["max"].as_f64().expect("a count") - wear["min"].as_f64().expect("a count");
        assert!(span <= 3.0, "{policy}: {wear}");
    }
}
