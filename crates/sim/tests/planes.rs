//! Planes that read independently, against closed forms.
//!
//! With `P` planes, a sense of `tR`, a transfer of `x` and command cycles of `c`, a die whose
//! planes always have reads waiting serves `P / (c + tR + x)` reads a second, until its channel is
//! busy all the time: `1 / (c + x)`. Dies that share a channel multiply the first, not the second.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::rng::Rng;
use opennandlab_sim::testing::run;
use opennandlab_sim::timed::Observation;
use opennandlab_sim::units::Ns;
use serde_json::{json, Value};

/// A drive of one die with four planes: tR 50 us, 10 us for a page. The host's data fills 84 of 128
/// blocks, so equally many in each plane.
fn device() -> Value {
    json!({
        "nand": {"cell_type": "TLC", "channels": 1, "dies_per_channel": 1, "planes_per_die": 4,
                 "blocks_per_plane": 32, "pages_per_block": 64, "independent_planes": true,
                 "timing": {"t_read_us": 50, "t_program_us": 600, "t_erase_us": 3000,
                            "bus_mt_s": 409.6}},
        "ftl": {"over_provisioning_pct": 0.5239, "gc_reserve_blocks": 2},
        "ecc": {"algorithm": "none"},
    })
}

/// What a run gives, and its timeline.
fn outcome(device: &Value, workload: &Value) -> (Value, Value) {
    let observation = Observation {
        breakdown: true,
        timeline: Some((Ns(0), Ns(1_000_000))),
        ..Observation::default()
    };
    let simulation = run(device, workload, observation);
    (simulation.outcome(), simulation.timeline().expect("a timeline"))
}

fn metrics(device: &Value, workload: &Value) -> Value {
    outcome(device, workload).0["metrics"].take()
}

/// Random reads of `bytes` on a filled drive.
fn reads(bytes: u64, depth: u64, ios: u64) -> Value {
    json!({"pattern": "random", "read_pct": 100, "block_size_bytes": bytes, "queue_depth": depth,
           "total": {"ios": ios}, "precondition": [{"kind": "sequential_fill"}]})
}

/// Reads per second of a workload.
fn rate(device: &Value, workload: &Value) -> f64 {
    metrics(device, workload)["iops"]["read"].as_f64().expect("a rate")
}

fn expect(measured: f64, form: f64) {
    assert!((measured / form - 1.0).abs() < 0.01, "{measured} against {form}");
}

#[test]
fn a_die_serves_its_planes_side_by_side_until_its_channel_is_full() {
    let mut file = device();
    let deep = reads(4096, 512, 200_000);
    for multi_plane in [false, true] {
        file["nand"]["multi_plane"] = json!(multi_plane);
        expect(rate(&file, &deep), 4.0 / 60e-6);
    }
    file["nand"]["timing"]["command_us"] = json!(2);
    expect(rate(&file, &deep), 4.0 / 62e-6);
    file["nand"]["timing"]["t_read_us"] = json!(20);
    expect(rate(&file, &deep), 1.0 / 12e-6);
    // With cache reads a plane senses while its register leaves.
    file["nand"]["timing"] = json!({"t_read_us": 50, "bus_mt_s": 409.6});
    file["nand"]["cache_commands"] = json!({"read": true});
    expect(rate(&file, &deep), 4.0 / 50e-6);
    // Without independence the die is one server.
    file["nand"]["cache_commands"] = json!({});
    file["nand"]["independent_planes"] = json!(false);
    file["nand"]["multi_plane"] = json!(false);
    expect(rate(&file, &deep), 1.0 / 60e-6);
}

#[test]
fn the_ceiling_of_a_drive_is_its_planes_or_its_channels() {
    let mut file = device();
    file["nand"]["channels"] = json!(2);
    file["nand"]["dies_per_channel"] = json!(2);
    file["nand"]["multi_plane"] = json!(true);
    file["nand"]["page_size_bytes"] = json!(16384);
    file["ftl"]["map_unit_bytes"] = json!(4096);
    // 4 dies of 4 planes, 4 KiB in 10 us: the planes would do 267 000, the channels do 200 000.
    expect(rate(&file, &reads(4096, 1024, 200_000)), f64::min(16.0 / 60e-6, 2.0 / 10e-6));
    // Half the dies and eight times the bus: now the planes are the limit, for single units and for
    // whole pages of four.
    file["nand"]["timing"]["bus_mt_s"] = json!(8.0 * 409.6);
    file["nand"]["dies_per_channel"] = json!(1);
    expect(rate(&file, &reads(4096, 1024, 400_000)), 8.0 / 51.25e-6);
    expect(rate(&file, &reads(16384, 1024, 400_000)), 8.0 / 55e-6);
}

#[test]
fn a_single_command_takes_as_long_as_before() {
    // One page; four pages in four planes; the four units of a page, which join in one sense; four
    // planes of four units each.
    for (page, unit, bytes) in
        [(4096, 4096, 4096), (4096, 4096, 16384), (16384, 4096, 16384), (16384, 4096, 65536)]
    {
        let mut file = device();
        file["nand"]["multi_plane"] = json!(true);
        file["nand"]["page_size_bytes"] = json!(page);
        if unit < page {
            file["ftl"]["map_unit_bytes"] = json!(unit);
        }
        let workload = json!({
            "pattern": "sequential", "read_pct": 100, "block_size_bytes": bytes, "queue_depth": 1,
            "total": {"ios": 500}, "precondition": [{"kind": "sequential_fill"}],
        });
        let apart = metrics(&file, &workload)["latency_us"].clone();
        file["nand"]["independent_planes"] = json!(false);
        let joined = metrics(&file, &workload)["latency_us"].clone();
        assert_eq!(apart, joined, "{page} {unit} {bytes}");
        let transfers = f64::from(bytes) / 409.6;
        assert_eq!(apart["read"]["max"].as_f64(), Some(50.0 + transfers), "{apart}");
    }
}

#[test]
fn writes_and_collections_take_the_whole_die_as_before() {
    let workload = json!({
        "pattern": "random", "queue_depth": 8, "total": {"ios": 5000},
        "precondition": [{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 2}],
    });
    for multi_plane in [false, true] {
        let mut file = device();
        file["nand"]["multi_plane"] = json!(multi_plane);
        let apart = metrics(&file, &workload);
        file["nand"]["independent_planes"] = json!(false);
        let together = metrics(&file, &workload);
        for key in ["latency_us", "iops", "waf", "elapsed_s"] {
            assert_eq!(apart[key], together[key], "{key}, joined: {multi_plane}");
        }
        assert!(apart["waf"].as_f64() > Some(1.1), "{}", apart["waf"]);
    }
}

/// A drive of any make whose planes read by themselves.
fn draw(rng: &mut Rng) -> Value {
    let mut one_of = |values: &[Value]| values[rng.below(values.len() as u64) as usize].clone();
    let flag = [json!(true), json!(false)];
    let suspend = json!({"program": true, "erase": true, "reads_per_suspend_max": 3});
    let collection = [json!("whole"), json!({"kind": "steps", "step_pages": 3})];
    let mut file = device();
    file["nand"]["planes_per_die"] = one_of(&[2, 3, 4].map(Value::from));
    file["nand"]["dies_per_channel"] = one_of(&[1, 2].map(Value::from));
    file["nand"]["multi_plane"] = one_of(&flag);
    file["nand"]["page_size_bytes"] = json!(16384);
    file["nand"]["timing"]["t_read_us"] = one_of(&[json!(50), json!([40, 60, 90])]);
    file["nand"]["timing"]["command_us"] = one_of(&[json!(0), json!(0.3)]);
    file["nand"]["cache_commands"] = json!({"read": one_of(&flag), "program": one_of(&flag)});
    file["nand"]["program"] = one_of(&[
        json!("page"),
        json!({"kind": "one_shot", "t_wordline_us": 1500}),
        json!({"kind": "multi_pass", "passes_us": [500, 900]}),
    ]);
    file["ftl"]["map_unit_bytes"] = one_of(&[4096, 8192, 16384].map(Value::from));
    file["ftl"]["allocation"] = one_of(&["CDP", "PDC", "dynamic"].map(Value::from));
    file["ftl"]["collection"] = one_of(&collection);
    file["ftl"]["write_frontiers"] = json!("host_gc");
    file["ftl"]["gc_reserve_blocks"] = json!(4);
    file["controller"] = one_of(&[
        json!({"scheduler": "in_order"}),
        json!({"scheduler": "out_of_order"}),
        json!({"scheduler": "priority"}),
        json!({"scheduler": "priority", "suspend": suspend}),
        json!({"scheduler": {"kind": "priority", "write_starvation_us": 100}, "suspend": suspend}),
    ]);
    file["host"]["write_cache"] = one_of(&[json!("none"), json!({"pages": 64, "policy": "lru"})]);
    file
}

#[test]
fn drives_of_every_make_keep_the_rules() {
    let commands = json!({
        "pattern": {"kind": "hot_cold", "fraction": 0.2, "share": 0.8}, "read_pct": 60,
        "trim_pct": 5, "block_size_bytes": {"512": 1, "4096": 6, "16384": 2, "131072": 1},
        "queue_depth": 24, "total": {"ios": 2000},
        "precondition": [{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 1}],
    });
    let mut rng = Rng::stream(1, "planes");
    let mut runs = 0;
    for case in 0..240 {
        let file = draw(&mut rng);
        if DeviceConfig::resolve(&file.to_string()).is_ok() {
            // The run itself counts violations, sums parts and audits the map.
            let metrics = metrics(&file, &commands);
            assert!(metrics["iops"]["read"].as_f64() > Some(0.0), "case {case}: {file}");
            runs += 1;
        }
    }
    assert!(runs > 80, "{runs} of 240 can work");
}

#[test]
fn planes_and_parts_are_accounted_for() {
    let (outcome, timeline) = outcome(&device(), &reads(4096, 256, 100_000));
    // Each plane senses for 50 of 60 us; the channel carries four transfers of 10.
    let activity = &outcome["metrics"]["activity"];
    expect(activity["die_busy_ratio"].as_f64().expect("a share"), 50.0 / 60.0);
    expect(activity["channel_busy_ratio"].as_f64().expect("a share"), 40.0 / 60.0);
    // No two senses of a plane overlap.
    let events = timeline["traceEvents"].as_array().expect("events");
    let mut ends = [0.0; 4];
    let mut spans = 0;
    for event in events.iter().filter(|event| event["ph"] == "X" && event["pid"] == 5) {
        let plane = event["tid"].as_u64().expect("a plane") as usize;
        let number = |key: &str| event[key].as_f64().expect("a number");
        assert!(number("ts") >= ends[plane], "{event}");
        ends[plane] = number("ts") + number("dur");
        spans += 1;
    }
    assert!((60..=68).contains(&spans), "{spans} senses in a millisecond");
}

#[test]
fn reads_of_other_planes_overtake_only_reads() {
    // In order, a read whose plane is busy holds up the drive. Pages that follow each other lie in
    // four planes where blocks span them, and else in one.
    let mut file = device();
    file["controller"] = json!({"scheduler": "in_order"});
    let workload = json!({"pattern": "sequential", "read_pct": 100, "queue_depth": 16,
                          "total": {"ios": 4000}, "precondition": [{"kind": "sequential_fill"}]});
    let mut rate = |multi_plane: bool| {
        file["nand"]["multi_plane"] = json!(multi_plane);
        rate(&file, &workload)
    };
    expect(rate(true), 4.0 / 60e-6);
    // But for the first page of each block of 64, which lies in another plane than the last.
    expect(rate(false), 64.0 / 63.0 / 60e-6);
}
