//! All mechanisms at once, under random commands: every check of the run must pass.
//!
//! The run itself counts operations against the rules of the flash (order of programs, erases under
//! pending operations), sums the parts of every command, applies Little's law, and audits map, live
//! bits and out-of-band areas. `cargo test -- --ignored` runs 1 M commands on each of 20 seeds.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::rng::Rng;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::timed::Observation;
use opennandlab_sim::units::Ns;
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::{json, Value};

use crate::drawn;

/// Devices that together switch on every mechanism; contradictory ones are on different devices.
fn devices() -> Vec<(&'static str, Value)> {
    let nand = json!({
        "cell_type": "TLC", "channels": 2, "dies_per_channel": 2, "planes_per_die": 2,
        "blocks_per_plane": 48, "pages_per_block": 48, "multi_plane": true,
        "cache_commands": {"read": true, "program": true}, "max_pe_cycles": 3000,
        "timing": {"t_read_us": [50, 60, 75], "t_program_us": [400, 700, 1300],
                   "t_erase_us": 3000, "bus_mt_s": 800, "command_us": 0.3},
        "variation": {"die_stddev": 0.03, "block_stddev": 0.05},
        "wear_timing": {"program_slope": -0.2, "erase_slope": 1.0},
        "factory_bad_block_ratio": 0.01,
        "energy": {"read_uj": 1, "program_uj": 1, "erase_uj": 1},
    });
    let controller = json!({
        "scheduler": "priority", "suspend": {"program": true, "erase": true},
        "read_retry": {"step_count_max": 5, "rber_factor": 0.6, "remember": true},
        "ecc_decode": {"base_us": 5, "per_error_us": 0.7},
        "victim_us_per_block": 0.2, "blocked_reads_max": 8, "patrol": {"period_days": 1e-5},
    });
    let host = json!({
        "link": "pcie3x4", "protocol": {"kind": "nvme", "queues": 4}, "queue_depth_max": 64,
        "command_cost_us": {"read": 0.5, "write": 0.7, "trim": 0.4, "flush": 1.0}, "cores": 2,
        "jitter": {"kind": "lognormal", "sigma": 0.3},
        "write_cache": {"pages": 64, "policy": "two_q"},
        "read_cache": {"pages": 64, "policy": "clock"},
    });
    let steps = json!({"kind": "steps", "step_pages": 6, "soft_spare_blocks": 4,
                       "hard_spare_blocks": 2});
    let ftl = json!({
        "over_provisioning_pct": 0.6, "gc_reserve_blocks": 8, "write_frontiers": "host_gc",
        "collection": steps, "idle_collection": {"after_us": 200, "spare_blocks_goal": 5},
        "allocation": "dynamic", "slc_cache": {"kind": "dynamic", "min_erased_blocks": 3},
        "parity": {"stripe": 8}, "wear_leveling": {"kind": "static", "threshold": 5},
        "refresh": {"after_days": 1e-6, "at_rber": 1e-5},
    });
    let all = json!({"nand": nand, "controller": controller, "host": host, "ftl": ftl});
    let mut one_shot = all.clone();
    one_shot["nand"]["program"] = json!({"kind": "one_shot", "t_wordline_us": 1500});
    one_shot["ftl"]["slc_cache"] =
        json!({"kind": "static", "blocks_per_die": 4, "when_full": "fold"});
    one_shot["ftl"]["allocation"] = json!("PCD");
    let mut passes = all.clone();
    passes["nand"]["program"] = json!({"kind": "multi_pass", "passes_us": [600, 1200]});
    passes["ftl"]["slc_cache"] = json!("none");
    passes["ftl"]["compression"] = json!({"data": "file", "ratio": 0.55});
    passes["ftl"]["parity"] = json!("none");
    passes["host"]["write_cache"] = json!({"pages": 64, "policy": "lru", "mode": "write_through"});
    let mut copyback = all.clone();
    copyback["ftl"]["parity"] = json!("none");
    copyback["ftl"]["copyback"] = json!({"limit": 3});
    copyback["ftl"]["allocation"] = json!("DCP");
    copyback["host"]["link"] = json!("sata3");
    copyback["host"]["protocol"] = json!("sata_ncq");
    copyback["host"]["queue_depth_max"] = json!(32);
    let mut in_order = all.clone();
    in_order["controller"] = json!({"scheduler": "in_order", "patrol": {"period_days": 1e-5}});
    in_order["ftl"] = json!({"over_provisioning_pct": 0.4, "gc_reserve_blocks": 8,
                             "allocation": "CPD", "parity": {"stripe": 5},
                             "refresh": {"after_days": 1e-6}});
    // Planes that read by themselves, in blocks that span them and in blocks that do not.
    let mut planes = all.clone();
    planes["nand"]["independent_planes"] = json!(true);
    planes["ftl"]["map_unit_bytes"] = json!(2048);
    planes["ftl"]["parity"] = json!("none");
    let mut apart = planes.clone();
    apart["nand"]["multi_plane"] = json!(false);
    apart["nand"]["planes_per_die"] = json!(3);
    apart["nand"]["blocks_per_plane"] = json!(32);
    let mut ordered = in_order.clone();
    ordered["nand"]["independent_planes"] = json!(true);
    // A write buffer that programs every version.
    ordered["host"].as_object_mut().expect("a mapping").remove("write_cache");
    ordered["ftl"]["write_buffer_pages"] = json!(64);
    ordered["ftl"]["write_buffer_absorbs"] = json!(false);
    // Superblocks over two dies each, with parity; one-shot programs, units and a cache in them.
    let mut superblocks = all.clone();
    superblocks["ftl"]["allocation"] =
        json!({"kind": "superblock", "dies": 2, "bad_block": "remap"});
    superblocks["ftl"]["parity"] = json!({"kind": "die_stripe"});
    superblocks["ftl"]["over_provisioning_pct"] = json!(0.9);
    superblocks["ftl"]["map_unit_bytes"] = json!(2048);
    superblocks["nand"]["program"] = json!({"kind": "one_shot", "t_wordline_us": 1500});
    let failing = with_failures(&one_shot, 1e-4);
    // Holes, and collections in one piece.
    let mut holes = in_order.clone();
    holes["ftl"]["allocation"] = json!("superblock");
    holes["ftl"]["parity"] = json!({"kind": "die_stripe"});
    let mut whole = all.clone();
    whole["ftl"]["collection"] = json!("whole");
    whole["ftl"]["idle_collection"] = json!("none");
    vec![
        ("all", all),
        ("one_shot", one_shot),
        ("passes", passes),
        ("copyback", copyback),
        ("in_order", in_order),
        ("whole", whole),
        ("planes", planes),
        ("planes apart", apart),
        ("planes in order", ordered),
        ("failing members", with_failures(&superblocks, 2e-5)),
        ("superblocks", superblocks),
        ("failing", failing),
        ("holes in order", holes),
    ]
}

/// A device whose programs and erases fail, in steps and with a cache.
fn with_failures(device: &Value, program: f64) -> Value {
    let mut failing = device.clone();
    failing["nand"]["failures"] = json!({"program": program, "erase": 1e-3, "growth": 10});
    failing
}

/// A patrol that reads the drive every 8.6 s would be nearly all of a long run.
fn with_rare_patrol(mut device: Value) -> Value {
    if device["controller"]["patrol"].is_object() {
        device["controller"]["patrol"]["period_days"] = json!(1e-2);
    }
    device
}

fn commands(ios: u64) -> Value {
    json!({
        "name": "torture", "pattern": {"kind": "hot_cold", "fraction": 0.2, "share": 0.8},
        "read_pct": 40, "trim_pct": 5, "flush_every": 500, "fua_pct": 3,
        "block_size_bytes": {"512": 1, "4096": 6, "16384": 2, "131072": 1},
        "queue_depth": 48, "total": {"ios": ios},
        "precondition": [{"kind": "sequential_fill", "fills": 1}],
    })
}

/// Whether the map of a device is one of pages in RAM.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Maps {
    Pages,
    Otherwise,
}

/// A device of which everything is drawn: geometry, map, blocks, caches, schedulers, host.
pub(crate) fn draw_everything(rng: &mut Rng, maps: Maps) -> Value {
    loop {
        let in_steps = rng.below(2) == 0;
        let mut device = drawn::draw_device(rng, true, in_steps).to_json();
        if rng.below(4) > 0 {
            device["nand"]["max_pe_cycles"] = json!(1_000_000);
        }
        if in_steps {
            device["ftl"]["collection"] = json!({"kind": "steps", "step_pages": 1 + rng.below(20),
                "soft_spare_blocks": 2 + rng.below(3), "hard_spare_blocks": 1 + rng.below(2)});
            // Not drawn, so that the other draws stay what they are.
            let has_soft = device["ftl"]["collection"]["soft_spare_blocks"] == 4;
            if has_soft && device["ftl"]["slc_cache"]["kind"] == "none" {
                device["ftl"]["collection"] = json!({"kind": "bursts", "superblocks": 0.5});
            }
        }
        let mut maybe = |section: &str, key: &str, value: Value| {
            if rng.below(3) == 0 {
                device[section][key] = value;
            }
        };
        maybe("ftl", "idle_collection", json!({"after_us": 200, "spare_blocks_goal": 3}));
        maybe("ftl", "write_buffer_pages", json!(64));
        maybe("ftl", "write_buffer_absorbs", json!(false));
        maybe("ftl", "fill_timeout_us", json!(500));
        maybe("ftl", "coalesce_bytes", json!(32768));
        maybe("ftl", "refresh", json!({"after_days": 2e-5}));
        maybe("nand", "cache_commands", json!({"read": true, "program": true}));
        maybe("nand", "variation", json!({"die_stddev": 0.03, "block_stddev": 0.05}));
        maybe("nand", "wear_timing", json!({"program_slope": -0.2, "erase_slope": 1.0}));
        maybe("nand", "energy", json!({"read_uj": 1, "program_uj": 1, "erase_uj": 1}));
        maybe("nand", "stress", json!({"count_reads": true}));
        maybe("nand", "error_spread", json!({"block_cv": 0.3}));
        maybe("controller", "scheduler", json!("priority"));
        maybe("controller", "suspend", json!({"program": true, "erase": true}));
        let remember = json!({"step_count_max": 5, "rber_factor": 0.6, "remember": true});
        maybe("controller", "read_retry", remember);
        maybe("controller", "ecc_decode_us", json!(5));
        maybe("controller", "victim_us_per_block", json!(0.2));
        maybe("controller", "patrol", json!({"period_days": 1e-4}));
        maybe("host", "link", json!("pcie3x4"));
        maybe("host", "protocol", json!({"kind": "nvme", "queues": 4}));
        maybe("host", "jitter", json!({"kind": "lognormal", "sigma": 0.3}));
        maybe("host", "command_cost_us", json!({"read": 0.5, "write": 0.7, "flush": 1.0}));
        maybe("host", "write_cache", json!({"pages": 64, "policy": "two_q"}));
        maybe("host", "read_cache", json!({"pages": 64, "policy": "clock"}));
        maybe("host", "read_ahead_bytes", json!(65536));
        maybe("host", "power_loss_protected", json!(true));
        let folds = device["ftl"]["idle_collection"].is_object()
            && device["ftl"]["slc_cache"]["kind"] == "hybrid";
        if folds && rng.below(2) == 0 {
            device["ftl"]["slc_cache"]["fold"] = json!("idle");
            device["ftl"]["slc_cache"]["fold_beside"] = json!(0.5);
        }
        let pads = !device["ftl"]["fill_timeout_us"].is_null()
            && device["host"]["power_loss_protected"].is_null();
        if pads && rng.below(2) == 0 {
            device["ftl"]["writes_complete"] = json!("programmed");
        }
        if maps == Maps::Otherwise {
            drawn::draw_mapping(rng, &mut device);
        }
        // Not drawn, so that the other draws stay what they are.
        if device["nand"]["variation"].is_object() {
            device["controller"]["blocked_reads_max"] = json!(4);
        }
        let has_cost = device["host"]["command_cost_us"].is_object();
        if has_cost && device["ftl"]["collection"]["kind"].is_string() {
            device["host"]["command_cost_us"]["move"] = json!(2);
        }
        // The largest command must fit.
        let fits = |it: &DeviceConfig| it.effective()["logical_bytes"].as_u64() >= Some(1 << 18);
        if DeviceConfig::resolve(&device.to_string()).is_ok_and(|it| fits(&it)) {
            return device;
        }
    }
}

fn run(name: &str, device: &Value, ios: u64, seed: u64) -> Value {
    let resolved = DeviceConfig::resolve(&device.to_string())
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut simulation = Simulation::new(resolved, seed);
    let space = simulation.space();
    let workload = WorkloadConfig::resolve(&commands(ios).to_string(), space);
    let workload = workload.unwrap_or_else(|error| panic!("{name}: {error}"));
    let timeline = Some((Ns(1_000_000), Ns(2_000_000)));
    simulation.observe(Observation { breakdown: true, timeline, ..Observation::default() });
    simulation.begin(workload.job(space, seed));
    // A million operations of the flash in which no command is begun are a drive that hangs.
    let mut before = None;
    loop {
        let progress = simulation.advance(1 << 20);
        if progress.finished {
            break;
        }
        let here = Some((progress.stage_index, progress.host_ios));
        assert!(here != before, "{name}, seed {seed}: no command continues: {progress:?}");
        before = here;
    }
    let outcome = simulation.outcome();
    // A drive that wears out before the measured part has nothing to check.
    if !outcome["metrics"].is_null() {
        assert_eq!(outcome["checks"]["passed"], true, "{name}, seed {seed}: {}", outcome["checks"]);
    }
    outcome
}

/// A microjoule for each page, whatever joins, fails or is padded: but for the program units that
/// are in progress on each of four dies, at most three open blocks of 3 x 2 pages, at either end.
fn programs_have_the_energy_of_their_pages(name: &str, metrics: &Value) {
    let pages = metrics["nand_bytes_written"].as_f64().expect("bytes") / 4096.0;
    let joules = &metrics["power"]["joules"];
    let measured = joules["programs"].as_f64().expect("joules") * 1e6;
    assert!((measured - pages).abs() <= 2.0 * 4.0 * 18.0, "{name}: {measured} of {pages} pages");
    assert!(joules["array_reads"].as_f64() > Some(0.0), "{name}: {joules}");
    assert!(joules["erases"].as_f64() > Some(0.0), "{name}: {joules}");
}

#[test]
fn every_mechanism_at_once_passes_every_check() {
    for (name, device) in devices() {
        let metrics = run(name, &device, 20_000, 1)["metrics"].take();
        assert_eq!(metrics["uncorrectable_reads"], 0, "{name}");
        programs_have_the_energy_of_their_pages(name, &metrics);
        assert!(metrics["refresh"]["by_age"].as_u64() > Some(0), "{name}: {}", metrics["refresh"]);
        let activity = &metrics["activity"];
        if !name.ends_with("order") {
            assert!(activity["suspensions"].as_u64() > Some(0), "{name}: {activity}");
        }
        if name != "planes apart" {
            assert!(activity["multi_plane_ops"].as_u64() > Some(0), "{name}: {activity}");
        }
    }
}

#[test]
fn watching_changes_nothing_and_slices_change_nothing() {
    for (name, device) in devices() {
        let resolved = DeviceConfig::resolve(&device.to_string()).expect("a device");
        let outcome = |slice: u64| {
            let mut simulation = Simulation::new(resolved.clone(), 3);
            let space = simulation.space();
            let workload = WorkloadConfig::resolve(&commands(3000).to_string(), space);
            simulation.begin(workload.expect("a workload").job(space, 3));
            while !simulation.advance(slice).finished {}
            (simulation.outcome(), simulation.image())
        };
        assert!(outcome(1 << 40) == outcome(97), "{name}");
    }
}

#[test]
fn devices_drawn_at_random_pass_every_check() {
    let mut rng = Rng::stream(7, "everything");
    for seed in 0..150 {
        let device = draw_everything(&mut rng, Maps::Pages);
        run(&device.to_string(), &device, 3000, seed);
    }
}

#[test]
#[ignore = "twenty million commands; some minutes"]
fn a_million_commands_on_devices_drawn_at_random() {
    for seed in 0..20 {
        let device = draw_everything(&mut Rng::stream(seed, "everything"), Maps::Pages);
        let device = with_rare_patrol(device);
        run(&device.to_string(), &device, 1_000_000, seed);
    }
}

#[test]
fn devices_of_every_map_pass_every_check() {
    let mut rng = Rng::stream(7, "every map");
    for seed in 0..150 {
        let device = draw_everything(&mut rng, Maps::Otherwise);
        run(&device.to_string(), &device, 3000, seed);
    }
}

#[test]
#[ignore = "twenty million commands; some minutes"]
fn a_million_commands_on_devices_of_every_map() {
    // `CASE=12` runs one of them.
    let only: Option<u64> = std::env::var("CASE").ok().and_then(|case| case.parse().ok());
    for seed in (0..20).filter(|seed| only.is_none_or(|only| only == *seed)) {
        let device = draw_everything(&mut Rng::stream(seed, "every map"), Maps::Otherwise);
        let device = with_rare_patrol(device);
        eprintln!("seed {seed}: {device}");
        run(&device.to_string(), &device, 1_000_000, seed);
    }
}

#[test]
#[ignore = "twenty million commands; a few minutes"]
fn a_million_commands_on_twenty_seeds() {
    for (name, device) in devices() {
        for seed in 0..20 {
            run(name, &device, 1_000_000 / 6 + 1, seed);
        }
    }
    let (name, device) = &devices()[0];
    for seed in 100..120 {
        run(name, device, 1_000_000, seed);
    }
}
