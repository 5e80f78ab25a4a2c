//! Cells on whole drives: limits, purges, idle time, and states that go on as if nothing had been.
//!
//! Outcomes are compared as JSON, drives as checkpoints: byte by byte.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::testing::merge;
use opennandlab_sim::units::Ns;
use opennandlab_sim::workload::WorkloadConfig;
use serde_json::{json, Value};

/// Four dies of 64 blocks of 32 pages, with some options.
fn device(options: &Value) -> DeviceConfig {
    let mut document = json!({
        "nand": {"channels": 2, "dies_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 64,
            "pages_per_block": 32, "cell_type": "TLC"},
        "ftl": {"over_provisioning_pct": 0.28},
    });
    merge(&mut document, options);
    DeviceConfig::resolve(&document.to_string())
        .unwrap_or_else(|error| panic!("{options}: {error}"))
}

fn drive(options: &Value) -> Simulation {
    Simulation::new(device(options), 42)
}

fn finish(drive: &mut Simulation, slice: u64) {
    while !drive.advance(slice).finished {}
}

fn run(drive: &mut Simulation, spec: &Value, seed: u64) -> Value {
    drive.begin_cell(&spec.to_string(), seed).unwrap_or_else(|error| panic!("{spec}: {error}"));
    finish(drive, 100_000);
    let outcome = drive.cell();
    assert_eq!(outcome["failures"], json!([]), "{spec}");
    assert_eq!(outcome["complete"], true, "{spec}");
    outcome
}

/// Fails with the keys at which outcomes differ.
fn assert_same(told: &Value, one: &[Value], other: &[Value]) {
    for (step, (one, other)) in one.iter().zip(other).enumerate() {
        let Value::Object(keys) = one else { panic!("an outcome is a mapping") };
        let differing: Vec<_> = keys.iter().filter(|&(key, value)| other[key] != *value).collect();
        let text = format!("{differing:?}");
        assert!(one == other, "{told}, step {step}: {}", &text[..text.len().min(1000)]);
    }
}

fn idle(drive: &mut Simulation, seconds: f64) {
    drive.begin_idle(Ns((seconds * 1e9) as u64));
    finish(drive, 100_000);
}

/// Written once in order, then overwritten at random, without a clock.
fn fill(drive: &mut Simulation, seed: u64) {
    let bytes = drive.space().logical_bytes;
    run(
        drive,
        &json!({"pattern": "sequential", "block_bytes": 131_072, "is_measured": false,
        "limit": {"bytes": bytes}}),
        seed,
    );
    run(drive, &json!({"is_measured": false, "limit": {"bytes": bytes / 2}}), seed);
}

fn mixed(ios: u64) -> Value {
    json!({"read_pct": 50, "block_bytes": [[512, 1], [4096, 6], [16384, 2]], "threads": 2,
        "queue_depth": 8, "limit": {"ios": ios, "ramp_ratio": 0.1}})
}

/// Devices with every option that keeps a state of its own.
fn options() -> Vec<Value> {
    let mut all = vec![json!({})];
    for policy in ["cost_benefit", "fifo", "random", "d_choices"] {
        all.push(json!({"ftl": {"gc_policy": policy}}));
    }
    all.push(json!({"ftl": {"gc_policy": {"kind": "windowed_greedy", "window_blocks": 8}}}));
    all.push(json!({"ftl": {"gc_policy": {"kind": "cost_benefit", "age": "since_invalidation"}}}));
    all.push(json!({"ftl": {"write_buffer_pages": 64}}));
    for policy in ["fifo", "lru", "clock", "two_q"] {
        all.push(json!({"host": {"write_cache": {"pages": 64, "policy": policy},
            "read_cache": {"pages": 64, "policy": policy}}}));
    }
    let host_gc = |mut ftl: Value| {
        ftl["write_frontiers"] = json!("host_gc");
        json!({ "ftl": ftl })
    };
    all.extend([
        json!({"host": {"write_cache": {"pages": 64, "mode": "write_through"}}}),
        json!({"ftl": {"wear_leveling": "dynamic"}}),
        json!({"ftl": {"wear_leveling": {"kind": "static", "threshold": 2}}}),
        host_gc(json!({"slc_cache": {"kind": "static", "blocks_per_die": 4}})),
        host_gc(json!({"slc_cache": {"kind": "dynamic", "when_full": "fold"}})),
        host_gc(
            json!({"slc_cache": {"kind": "static", "blocks_per_die": 4}, "collection": "steps",
            "idle_collection": {"after_us": 100, "spare_blocks_goal": 4}}),
        ),
        json!({"ftl": {"parity": {"stripe": 8}}}),
        json!({"ftl": {"compression": {"data": "file", "ratio": 0.6}}}),
        json!({"ftl": {"allocation": "dynamic"}}),
        json!({"ftl": {"allocation": {"kind": "dynamic", "pages": 3}}}),
        json!({"ftl": {"copyback": {"limit": 2}}}),
        host_gc(json!({"collection": "steps"})),
        host_gc(json!({"collection": "steps", "allocation": "dynamic", "wear_leveling": "static",
            "idle_collection": {"after_us": 50, "spare_blocks_goal": 5},
            "write_buffer_pages": 32})),
        json!({"ftl": {"write_frontiers": {"kind": "hot_cold", "fraction": 0.1}}}),
        json!({"host": {"throttle": {"wear": {"tbw_tb": 2000, "years": 1, "burst_gb": 0.01},
            "thermal": {"c_per_w": 5, "time_constant_s": 0.5, "throttle_c": 45, "resume_c": 43,
                "active_w": 9, "idle_w": 1, "active_mb_s": 50, "throttle_ratio": 0.5}}}}),
        json!({"controller": {"read_retry": {}}, "nand": {"rber_floor": 2e-3, "rber_ceil": 4e-3},
            "host": {"command_cost_us": 3, "link": "sata3"}}),
        json!({"nand": {"stress": {"count_reads": true}, "rber_floor": 1e-4},
            "ftl": {"refresh": {"at_rber": 2e-4}}, "reliability": "kim"}),
        json!({"nand": {"stress": {"retention_h": 9000}, "oob_size_bytes": 1024},
            "ecc": {"algorithm": "bch", "bch_m": 16, "bch_t": 60}, "reliability": "states",
            "controller": {"read_retry": {"step_count_max": 5, "remember": true}}}),
        json!({"nand": {"variation": {"die_stddev": 0.02, "block_stddev": 0.05}}}),
    ]);
    all
}

#[test]
fn cells_go_on_from_a_checkpoint_as_if_nothing_had_been() {
    for options in options() {
        let mut live = drive(&options);
        fill(&mut live, 1);
        run(&mut live, &mixed(3000), 2);
        let state = live.checkpoint();
        let mut restored = Simulation::from_checkpoint(&state)
            .unwrap_or_else(|error| panic!("{options}: {error}"));
        assert!(restored.checkpoint() == state, "{options}: the state is not what was stored");
        for (step, drive) in [(0, &mut live), (1, &mut restored)] {
            assert_eq!(drive.audit(), Ok(()), "{options} {step}");
        }
        let go_on = |drive: &mut Simulation| {
            let first = run(drive, &mixed(2000), 3);
            idle(drive, 0.05);
            let second = run(
                drive,
                &json!({"pattern": "sequential", "block_bytes": 65_536,
                "threads": 2, "queue_depth": 4, "limit": {"seconds": 0.02},
                "sample_s": 0.005}),
                4,
            );
            let third = run(drive, &json!({"is_measured": false, "limit": {"ios": 3000}}), 5);
            let fourth = run(drive, &mixed(1000), 6);
            [first, second, third, fourth]
        };
        let (here, there) = (go_on(&mut live), go_on(&mut restored));
        assert_same(&options, &here, &there);
        assert!(live.checkpoint() == restored.checkpoint(), "{options}: the drives differ");
    }
}

/// Jobs draw on where the drive was, without a seed of their own for its chances.
#[test]
fn jobs_go_on_from_a_checkpoint_as_if_nothing_had_been() {
    for options in options() {
        let mut live = drive(&options);
        let job = |drive: &mut Simulation, seed: u64| {
            let workload = json!({"name": "go on", "pattern": "random", "read_pct": 70,
                                  "queue_depth": 8, "total": {"ios": 4000},
                                  "precondition": [{"kind": "sequential_fill"}]});
            let workload = WorkloadConfig::resolve(&workload.to_string(), drive.space());
            let job = workload.expect("a workload").job(drive.space(), seed);
            drive.begin(job);
            while !drive.advance(1 << 40).finished {}
            drive.outcome()["metrics"].take()
        };
        job(&mut live, 3);
        let mut restored = Simulation::from_checkpoint(&live.checkpoint()).expect("a state");
        assert_eq!(job(&mut live, 4), job(&mut restored, 4), "{options}");
    }
}

#[test]
fn slices_of_any_size_give_the_same_bytes() {
    for options in [json!({}), options().pop().expect("some")] {
        let outcomes: Vec<Value> = [1, 97, 1_000_000]
            .iter()
            .map(|&slice| {
                let mut drive = drive(&options);
                fill(&mut drive, 1);
                drive.begin_cell(&mixed(500).to_string(), 7).expect("a cell");
                finish(&mut drive, slice);
                drive.cell()
            })
            .collect();
        assert_same(&options, &outcomes[..1], &outcomes[1..2]);
        assert_same(&options, &outcomes[..1], &outcomes[2..]);
    }
}

#[test]
fn a_purged_drive_is_a_fresh_one_but_for_its_wear() {
    for mut options in options() {
        // Which of the erased blocks is opened depends on wear, unless nothing levels it.
        if options["ftl"]["wear_leveling"].is_null() {
            merge(&mut options, &json!({"ftl": {"wear_leveling": "none"}}));
        }
        let (mut fresh, mut used) = (drive(&options), drive(&options));
        fill(&mut used, 9);
        run(&mut used, &mixed(3000), 9);
        let erased = used.purge();
        assert!(erased >= 64, "{options}: {erased} blocks were erased");
        assert_eq!((used.mapped_pages(), used.audit()), (0, Ok(())), "{options}");
        assert_eq!(used.purge(), 0, "{options}: a second purge finds nothing");
        // Where wear decides (leveling, timing, errors) only the statistics are the same.
        let text = options.to_string();
        let wear_counts =
            ["wear_leveling", "read_retry", "throttle"].iter().any(|it| text.contains(it));
        let go_on = |drive: &mut Simulation| {
            let bytes = drive.space().logical_bytes;
            run(
                drive,
                &json!({"pattern": "sequential", "block_bytes": 131_072,
                "is_measured": false, "limit": {"bytes": bytes}}),
                1,
            );
            let untimed = run(
                drive,
                &json!({"is_measured": false,
                "limit": {"bytes": 2 * bytes}}),
                2,
            );
            [untimed, run(drive, &mixed(2000), 3)]
        };
        let (new, again) = (go_on(&mut fresh), go_on(&mut used));
        if wear_counts {
            let written = |outcome: &Value| {
                outcome["flash"]["nand_bytes_written"].as_f64().expect("a number")
            };
            let ratio = written(&new[0]) / written(&again[0]);
            assert!((ratio - 1.0).abs() < 0.02, "{options}: {ratio}");
        } else {
            assert_same(&options, &new, &again);
        }
        assert_eq!(used.audit(), Ok(()), "{options}");
    }
}

#[test]
fn limits_hold_and_samples_sum_to_what_was_measured() {
    let mut drive = drive(&json!({}));
    fill(&mut drive, 1);
    let outcome = run(
        &mut drive,
        &json!({"queue_depth": 16, "limit": {"seconds": 0.05},
        "sample_s": 0.004}),
        2,
    );
    assert_eq!(outcome["seconds"], 0.05);
    assert!(outcome["elapsed_s"].as_f64().expect("a time") >= 0.05);
    let sum = |key: &str| -> u64 {
        let column = outcome["samples"][key].as_array().expect("a column");
        column.iter().filter_map(Value::as_u64).sum()
    };
    assert_eq!(outcome["samples"]["end_s"].as_array().map(Vec::len), Some(13));
    assert_eq!(json!(sum("ios")), outcome["writes"]["ios"]);
    assert_eq!(json!(sum("bytes")), outcome["writes"]["bytes"]);
    assert_eq!(json!(sum("sum_ns")), outcome["writes"]["sum_ns"]);
    let counts = outcome["writes"]["counts"].as_array().expect("bins");
    let counted: u64 = counts.iter().filter_map(Value::as_u64).sum();
    assert_eq!(json!(counted), outcome["writes"]["ios"]);
    // What was drained is written and not counted.
    let written = outcome["written_bytes"].as_u64().expect("bytes");
    assert_eq!(written, outcome["writes"]["bytes"].as_u64().expect("bytes") + 16 * 4096);
    let counted = run(&mut drive, &mixed(1000), 3);
    let ios = |kind: &str| counted[kind]["ios"].as_u64().expect("a count");
    assert_eq!(ios("reads") + ios("writes"), 900);
    assert_eq!(counted["ramp_ios"], 100);
    let bytes = run(&mut drive, &json!({"limit": {"bytes": 40_960}}), 4);
    assert_eq!(bytes["writes"]["ios"], 10);
    let capped = run(&mut drive, &json!({"limit": {"ios": 1_000_000, "seconds_max": 0.01}}), 5);
    assert_eq!(capped["seconds"], 0.01);
}

#[test]
fn reads_of_nothing_end_although_no_time_passes() {
    let mut drive = drive(&json!({}));
    let outcome = run(&mut drive, &json!({"read_pct": 100, "limit": {"seconds": 1}}), 1);
    assert_eq!((&outcome["is_standstill"], &outcome["seconds"]), (&json!(true), &json!(0.0)));
    let outcome = run(&mut drive, &json!({"read_pct": 100, "limit": {"ios": 1000}}), 1);
    assert_eq!(
        (&outcome["is_standstill"], &outcome["reads"]["ios"]),
        (&json!(false), &json!(1000))
    );
}

#[test]
fn idle_time_makes_room_and_costs_what_is_done() {
    let options = json!({"ftl": {"write_frontiers": "host_gc", "collection": "steps",
        "slc_cache": {"kind": "dynamic"},
        "idle_collection": {"after_us": 1000, "spare_blocks_goal": 6}}});
    let burst = json!({"queue_depth": 8, "limit": {"ios": 400}});
    let speed = |pause: f64| {
        let mut drive = drive(&options);
        fill(&mut drive, 1);
        run(&mut drive, &json!({"queue_depth": 8, "limit": {"ios": 4000}}), 2);
        idle(&mut drive, pause);
        assert_eq!(drive.audit(), Ok(()));
        run(&mut drive, &burst, 3)["seconds"].as_f64().expect("a time")
    };
    let [none, short, long, years] = [0.0, 0.05, 10.0, 1e8].map(speed);
    assert!(short < none && long < 0.95 * none, "{none} {short} {long}");
    assert_eq!(long.to_bits(), years.to_bits(), "once all is done nothing more happens");
}

#[test]
fn a_hot_drive_cools_while_idle() {
    let throttle = json!({"host": {"throttle": {"thermal": {"c_per_w": 5, "time_constant_s": 0.5,
        "throttle_c": 45, "resume_c": 43, "active_w": 9, "idle_w": 1, "active_mb_s": 20,
        "throttle_ratio": 0.2}}}});
    let work = json!({"pattern": "sequential", "block_bytes": 65_536, "queue_depth": 8,
        "limit": {"ios": 20}});
    let mut drive = drive(&throttle);
    let cool = run(&mut drive, &work, 1)["seconds"].as_f64();
    run(
        &mut drive,
        &json!({"pattern": "sequential", "block_bytes": 65_536, "queue_depth": 8,
        "limit": {"seconds": 5}}),
        1,
    );
    let state = drive.checkpoint();
    let hot = run(&mut drive, &work, 1)["seconds"].as_f64();
    assert!(hot > cool.map(|cool| 1.5 * cool), "{hot:?} {cool:?}");
    let mut drive = Simulation::from_checkpoint(&state).expect("a state");
    idle(&mut drive, 60.0);
    let rested = run(&mut drive, &work, 1)["seconds"].as_f64();
    assert!(rested < hot.map(|hot| 0.8 * hot), "{rested:?} {hot:?}");
}

#[test]
fn settings_change_only_where_they_can() {
    let mut drive = drive(&json!({"ftl": {"write_buffer_pages": 64}}));
    run(&mut drive, &json!({"is_measured": false, "limit": {"ios": 100}}), 1);
    assert!(drive.mapped_pages() < 100, "some pages wait in the buffer");
    drive.reconfigure(device(&json!({}))).expect("the buffer can be switched off");
    let outcome = run(&mut drive, &json!({"read_pct": 100, "limit": {"ios": 500}}), 2);
    assert_eq!(outcome["waiting_pages"], 0);
    assert_eq!(drive.audit(), Ok(()));
    let compressed = json!({"ftl": {"compression": {"data": "file", "ratio": 0.5}}});
    let error = drive.reconfigure(device(&compressed)).expect_err("it holds data");
    assert_eq!(error.path, "ftl.compression");
    drive.purge();
    drive.reconfigure(device(&compressed)).expect("it is empty");
    fill(&mut drive, 3);
    assert_eq!(drive.audit(), Ok(()));
    drive.purge();
    assert!(drive.reconfigure(device(&json!({"ftl": {"gc_policy": "fifo"}}))).is_err());
}

#[test]
fn checkpoints_that_are_none_are_refused() {
    let mut drive = drive(&json!({}));
    fill(&mut drive, 1);
    let state = drive.checkpoint();
    assert!(Simulation::from_checkpoint(&drive.image()).is_err());
    assert!(Simulation::from_image(&state, 1).is_err());
    assert!(Simulation::from_checkpoint(&state[..state.len() - 4]).is_err());
    let mut damaged = state.clone();
    damaged[state.len() / 2] ^= 1;
    assert!(Simulation::from_checkpoint(&damaged).is_err());
}

/// Mean length of a cell that ends with its `n`-th block reclaimed in every pool.
fn reclaims(drive: &mut Simulation, pattern: &str, count: u64, seed: u64) -> Value {
    run(
        drive,
        &json!({"pattern": pattern, "block_bytes": 16_384, "queue_depth": 8,
            "limit": {"reclaims": count, "seconds_max": 1000.0}}),
        seed,
    )
}

#[test]
fn reclaimed_blocks_end_a_cell_in_every_pool() {
    let mut drive = drive(&json!({}));
    fill(&mut drive, 1);
    let outcome = reclaims(&mut drive, "random", 5, 2);
    assert_eq!(outcome["reclaims"], 5, "it ends with the pool that comes last");
    let erases = outcome["flash"]["erases"]["gc"].as_u64().unwrap();
    assert!((20..=60).contains(&erases), "four pools of 5 and what the faster ones had: {erases}");
    // Twice as many take twice as long, but for what the last pool adds.
    let long = reclaims(&mut drive, "random", 50, 3)["seconds"].as_f64().unwrap();
    let short = reclaims(&mut drive, "random", 25, 4)["seconds"].as_f64().unwrap();
    assert!((1.6..2.4).contains(&(long / short)), "{long} against {short}");
}

#[test]
fn dead_blocks_count_in_sequential_cells_only() {
    let mut one = drive(&json!({}));
    let bytes = one.space().logical_bytes;
    for _ in 0..2 {
        run(
            &mut one,
            &json!({"pattern": "sequential", "block_bytes": 131_072, "is_measured": false,
                "limit": {"bytes": bytes}}),
            1,
        );
    }
    // Overwritten in order, blocks are dead when they are reclaimed: nothing is moved.
    let sequential = reclaims(&mut one, "sequential", 4, 5);
    assert_eq!(sequential["reclaims"], 4);
    assert_eq!(sequential["flash"]["programs"]["gc"], Value::Null);
    // The first victims of random writes are dead ones left behind; they do not count.
    let random = reclaims(&mut one, "random", 1, 6);
    assert_eq!(random["reclaims"], 1);
    assert!(random["flash"]["programs"]["gc"].as_u64() > Some(0));
    assert!(random["flash"]["erases"]["gc"].as_u64() > Some(16), "{}", random["flash"]);
}

#[test]
fn a_drive_that_never_collects_ends_by_time() {
    let mut drive = drive(&json!({}));
    let spec = json!({"block_bytes": 4096, "limit": {"reclaims": 1, "seconds_max": 0.25}});
    let outcome = run(&mut drive, &spec, 1);
    assert_eq!((&outcome["reclaims"], &outcome["seconds"]), (&json!(0), &json!(0.25)));
    for limit in [json!({"reclaims": 1}), json!({"reclaims": 1, "seconds": 1.0})] {
        let error = drive.begin_cell(&json!({"limit": limit}).to_string(), 1).unwrap_err();
        assert!(error.to_string().contains("seconds_max"), "{error}");
    }
    let limit = json!({"reclaims": 1, "ios": 5, "seconds_max": 1.0});
    let untimed = json!({"is_measured": false, "limit": limit});
    assert!(drive.begin_cell(&untimed.to_string(), 1).is_err());
}

#[test]
fn cells_are_equally_fast_where_writes_choose_their_die() {
    let options = json!({
        "nand": {"channels": 4, "dies_per_channel": 4},
        "ftl": {"allocation": "dynamic", "collection": "steps", "write_frontiers": "host_gc",
            "write_buffer_pages": 64},
        "controller": {"scheduler": "priority"},
        "host": {"command_cost_us": {"read": 1, "write": 580}},
    });
    let mut drive = drive(&options);
    fill(&mut drive, 1);
    let bytes = drive.space().logical_bytes;
    run(&mut drive, &json!({"is_measured": false, "limit": {"bytes": bytes * 3}}), 2);
    // A die with a collection in progress when a cell ends continues it in the next, although no
    // write asks for it.
    let spec = json!({"block_bytes": 16_384, "queue_depth": 16, "limit": {"seconds": 1.0}});
    let ios: Vec<f64> = (3..13)
        .map(|seed| run(&mut drive, &spec, seed)["writes"]["ios"].as_f64().unwrap())
        .collect();
    let (least, most) = ios.iter().fold((f64::MAX, 0.0_f64), |(a, b), &x| (a.min(x), b.max(x)));
    assert!(least > 0.99 * most, "{ios:?}");
}
